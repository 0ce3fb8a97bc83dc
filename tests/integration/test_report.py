#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Pages of real captures: PaddleOCR and Silero in the real runtime, failures only, no ORT. Below 2 MB, the
same under Wine and on Linux, and in a browser without an error or a request."""
import json
import os
import subprocess
import sys
import tempfile

import harness as h
import op_profile

sys.path.insert(0, os.path.join(h.ROOT, "tests/browser"))
import browser  # noqa: E402

MOST_BYTES = 2_000_000


def record(checker, name, arguments, code=0):
    trace = "%s/%s.ortl" % (checker.folder, name)
    program = h.ortscope(checker.folder, "run-" + name, "run", "-q", "-o", trace, "--", *arguments)
    if code is not None:
        checker.equal(name + ": the program's exit code", program.code, code)
    return trace


def read(trace, *arguments):
    return subprocess.run(h.reader_command() + list(arguments) + [trace], cwd=h.ROOT,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=h.TIMEOUT,
                          check=True).stdout


def look_at(checker, page_bytes, summary):
    """In a browser, where there is one."""
    if not browser.find():
        print("  no browser here: the page was not opened")
        return
    with tempfile.TemporaryDirectory() as folder, browser.Browser() as b:
        path = os.path.join(folder, "report.html")
        with open(path, "wb") as file:
            file.write(page_bytes)
        page = b.page(width=400)
        page.goto(path)
        page.wait_for("!!document.querySelector('#verdict')")
        checker.equal("errors on the page", page.errors, [])
        checker.equal("requests of the page", page.foreign_requests(), [])
        checker.equal("wider than 400 pixels by", page.sideways(), 0)
        for session in summary["sessions"]:
            if len(summary["sessions"]) > 1:
                page.click("[data-session='%d']" % session["id"])
            checker.equal("runs", page.text("[data-tile=runs] dd"), "{:,}".format(session["runs"]))
            if session["ops"]:
                checker.true("operators are drawn", page.count("#inference-chart .op") > 0)
        checker.equal("errors after that", page.errors, [])


def check_page(checker, trace):
    page = read(trace, "report", "-o", "-")
    summary = json.loads(read(trace, "summary", "--json"))
    checker.true("below 2 MB", len(page) < MOST_BYTES, len(page))
    print("  %d bytes, %d runs" % (len(page), sum(s["runs"] for s in summary["sessions"])))
    there = "%s/there.html" % checker.folder
    done = h.ortscope(checker.folder, "there", "report", trace, "-q", "-o", there)
    checker.equal("report under Wine", done.code, 0)
    with open(os.path.join(h.ROOT, there), "rb") as file:
        checker.true("the same page under Wine", file.read() == page)
    look_at(checker, page, summary)


def all_models(checker):
    """PaddleOCR's three and Silero, two threads on each session"""
    check_page(checker, record(checker, "all", op_profile.arguments(
        "1.20.1", op_profile.MODELS, "--runs", 30, "--workers", 2)))


def failures_only(checker):
    """the model does not take this input"""
    words = [op_profile.RUNNER, "--dll", h.dll("1.20.1"), "--runs", 1, "--model",
             h.PICTURE_MODELS + "/cls.onnx", "--input", "x=float:1,3,47", "--output",
             "softmax_0.tmp_0"]
    check_page(checker, record(checker, "failed", words, code=None))


def without_ort(checker):
    """a program that never loads ONNX Runtime"""
    check_page(checker, record(checker, "none", [h.NODE, "-e", "0"]))


if __name__ == "__main__":
    h.run_tests("report", [all_models, failures_only, without_ort])
