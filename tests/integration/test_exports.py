#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Real captures through every format of `export`, read by the foreign readers of tests/export: all
models at once on several threads, runs of one session that overlap, operators on other threads
than their run, RunAsync; and captures of one run, of failures only, of a program without ORT."""
import csv
import io
import json
import os
import subprocess
import sys

import harness as h
import op_profile

sys.path.insert(0, os.path.join(h.ROOT, "tests/export"))
import chrome_reader  # noqa: E402
import perfetto_reader  # noqa: E402


def record(checker, name, arguments, code=0):
    trace = "%s/%s.ortl" % (checker.folder, name)
    program = h.ortscope(checker.folder, "run-" + name, "run", "-q", "-o", trace, "--", *arguments)
    if code is not None:
        checker.equal(name + ": the program's exit code", program.code, code)
    return trace


def export(trace, *arguments):
    done = subprocess.run(h.reader_command() + ["export", trace, "-o", "-", *arguments], cwd=h.ROOT,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=h.TIMEOUT)
    if done.returncode:
        raise h.Failure("export %s: %s" % (arguments, done.stderr.decode("utf-8", "replace")))
    return done.stdout


def inside(slices):
    """(operators in their run, operators) of a thread that has runs. By their middles: times are
    rounded, so that a short operator at the edge may lie beside it."""
    runs = {(e["args"]["session"], e["args"]["run"]): (b, end) for b, end, e in slices
            if e["cat"] == "run"}
    ops = [(b, end, e) for b, end, e in slices if e["cat"] == "op" and "run" in e["args"]
           and (e["args"]["session"], e["args"]["run"]) in runs]
    good = sum(runs[e["args"]["session"], e["args"]["run"]][0] <= (b + end) / 2 <=
               runs[e["args"]["session"], e["args"]["run"]][1] for b, end, e in ops)
    return good, len(ops)


def check_parquet(checker, trace):
    """DuckDB finds in the Parquet files of all tables what CSV, summary and ops say."""
    reader = h.reader_command()
    if len(reader) > 1:
        print("         DuckDB was not asked: the native ortscope is not built", flush=True)
        return
    done = subprocess.run(
        [sys.executable, "-B", os.path.join(h.ROOT, "tests/export/check_parquet.py"), "--ortscope",
         reader[0], "--duckdb", os.path.join(h.BUILD, "targets/duckdb"), "--work",
         os.path.join(h.ROOT, checker.folder, "parquet"), "--files", os.path.join(h.ROOT, trace)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=h.TIMEOUT)
    print("         " + done.stdout.strip().replace("\n", "\n         "), flush=True)
    checker.true("DuckDB agrees", done.returncode in (0, 77), (done.stdout + done.stderr)[-2000:])


def check_formats(checker, trace):
    """Everything that is true of any capture; returns Chrome's slices."""
    rows = h.load(trace)
    runs, ops = rows.rows("run"), rows.rows("op")
    chrome = chrome_reader.Trace(export(trace, "-f", "chrome"))
    checker.equal("Chrome's JSON is sound", chrome.check()[:5], [])
    events = [e for s in chrome.slices.values() for _, _, e in s]
    checker.equal("operators", sum(e["cat"] == "op" for e in events), len(ops))
    on_sessions = sum(e["cat"] == "run" for place, s in chrome.slices.items()
                      if chrome.names[place].startswith("session ") for _, _, e in s)
    checker.equal("runs on the tracks of sessions", on_sessions, len(runs))
    perfetto = perfetto_reader.Trace(export(trace, "-f", "perfetto"))
    checker.equal("Perfetto's protobuf is sound", perfetto.check()[:5], [])
    checker.equal("slices in both", sum(len(s) for s in perfetto.slices.values()), len(events))
    checker.equal("arrows in both", set(perfetto.arrows_in), set(chrome.finishes))
    table = list(csv.DictReader(io.StringIO(export(trace, "-f", "csv").decode(), newline="")))
    checker.equal("durations in CSV", sorted(int(r["duration_ns"]) for r in table),
                  sorted(r["duration"] for r in runs))
    document = json.loads(export(trace, "-f", "json"))
    checker.equal("rows in JSON", (len(document["runs"]), len(document["ops"])),
                  (len(runs), len(ops)))
    check_parquet(checker, trace)
    flames = json.loads(export(trace, "-f", "speedscope"))
    checker.true("a flame graph", flames["profiles"])
    return chrome


def all_models(checker):
    """four models, two threads on each session"""
    trace = record(checker, "all", op_profile.arguments(
        "1.20.1", op_profile.MODELS, "--runs", 4, "--workers", 2))
    chrome = check_formats(checker, trace)
    good = total = 0
    for slices in chrome.slices.values():
        g, t = inside(slices)
        good, total = good + g, total + t
    checker.equal("operators lie in their runs", good, total)
    checker.true("some do", total > 0)


def other_threads(checker):
    """nodes in parallel on threads of ORT's: arrows lead there"""
    trace = record(checker, "inter", op_profile.arguments("1.20.1", ["cls_1", "silero_v5"],
                                                          "--runs", 4, "--inter", 2))
    checker.true("arrows to other threads", check_formats(checker, trace).finishes)


def asynchronous(checker):
    """RunAsync: runs that only the session's track has"""
    trace = record(checker, "async", op_profile.arguments("1.23.2", ["cls_1"], "--runs", 20,
                                                          "--threads", 2, "--async"))
    check_formats(checker, trace)


def one_run(checker):
    """one run; and bytes that go through a pipe of Windows unharmed"""
    trace = record(checker, "one", op_profile.arguments("1.30.0", ["affine"], "--runs", 1))
    check_formats(checker, trace)
    for form in ("perfetto", "parquet", "csv"):
        name = "%s/one.%s" % (checker.folder, form)
        done = h.ortscope(checker.folder, "file-" + form, "export", trace, "-f", form, "-q", "-o",
                          name)
        checker.equal(form + " into a file", done.code, 0)
        with open(os.path.join(h.ROOT, name), "rb") as file:
            written = file.read()
        piped = subprocess.run([os.path.join(h.ROOT, "scripts/wine"), h.ORTSCOPE, "export", trace,
                                "-f", form, "-o", "-"], cwd=h.ROOT, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               timeout=h.TIMEOUT).stdout
        checker.true(form + " through a pipe, under Wine", piped == written)
        checker.true(form + " as on Linux", export(trace, "-f", form) == written)


def failures_only(checker):
    """the model does not take this input"""
    words = [op_profile.RUNNER, "--dll", h.dll("1.20.1"), "--runs", 1, "--model",
             h.PICTURE_MODELS + "/cls.onnx", "--input", "x=float:1,3,47", "--output",
             "softmax_0.tmp_0"]
    trace = record(checker, "failed", words, code=None)
    check_formats(checker, trace)
    statuses = [row["status"] for row in h.load(trace).rows("run")]
    checker.true("it failed", statuses and all(statuses), statuses)


def without_ort(checker):
    """a program that never loads ONNX Runtime"""
    check_formats(checker, record(checker, "none", [h.NODE, "-e", "0"]))


if __name__ == "__main__":
    h.run_tests("export", [all_models, other_threads, asynchronous, one_run, failures_only, without_ort])
