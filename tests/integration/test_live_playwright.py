# SPDX-License-Identifier: MIT
"""The dashboard driven by Playwright in Debian's chromium while a real program runs: node with PaddleOCR's three
models, `attach --live`. tests/browser/live.mjs does it and says what it checked: numbers on the page are the API's
and at the end the summary's, every control does what it says, and a killed target leaves the page standing."""
import json
import os
import shutil
import subprocess
import sys

import harness as h
import looping
import test_live

PLAYWRIGHT = os.path.join(h.BUILD, "targets/playwright")
CHROMIUM = os.environ.get("ORTSCOPE_CHROMIUM", "/usr/bin/chromium")
SCRIPT = os.path.join(h.ROOT, "tests/browser/live.mjs")
SCENARIO_LIMIT = 1500  # seconds, for what hangs


def drive(c, scenario, client, **more):
    """Runs a scenario on the live view of this client; each of its lines is a check."""
    options = {"scenario": scenario, "playwright": PLAYWRIGHT, "ortscope": h.reader_command()[-1],
               "folder": os.path.join(h.ROOT, c.folder),
               "url": "http://%s/?token=%s" % (client.name, client.control_token), **more}
    done = subprocess.run(["node", SCRIPT, json.dumps(options)], cwd=h.ROOT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SCENARIO_LIMIT, check=False)
    lines = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
    for line in lines:
        c.true(line["what"], line["ok"], line.get("detail", ""))
    c.equal("the browser's script ends well", (done.returncode, done.stderr.decode("utf-8", "replace")), (0, ""))
    c.true("it came to its end", lines and lines[-1]["what"] == "the scenario came to its end", lines[-1:])


def drive_capture(c, scenario, target, capture, trace):
    client = test_live.opened(capture)
    h.wait_until(lambda: client.json("/api/v1/metrics/current")["captures"] and
                 test_live.runs_of(test_live.capture_of(client)) > 50, "runs", program=capture)
    drive(c, scenario, client, trace=trace, target=target.linux_pid())


def start(c):
    target = looping.Looping(c, "target", looping.VERSION, "--mixed", "--pause", 10)
    trace = c.folder + "/page.ortl"
    return target, trace, h.attach(c.folder, "attach", target.pid, trace, "--live", "--no-open")


def whole(c):
    """Every number and every control, the detach by the page's own button, and the summary at the end."""
    target, trace, capture = start(c)
    drive_capture(c, "whole", target, capture, trace)
    c.equal("ortscope ends", capture.wait(), 0)
    target.finish(c)
    c.equal("one mark in the file", [row["text"] for row in h.load(trace).rows("mark")], ["warmed up"])


def killed(c):
    """The target is killed while the page is open: banner, last numbers and summary stay."""
    target, trace, capture = start(c)
    drive_capture(c, "killed", target, capture, trace)
    c.true("ortscope ends", capture.wait() is not None)
    target.program.wait()


def serve(c):
    """`serve` alone: two programs attached to, chosen and left by the page; the audit tells of each."""
    targets = [looping.Looping(c, name) for name in ("first", "second")]
    pids = [target.pid for target in targets]
    audit = c.folder + "/audit.jsonl"
    server = h.Program(c.folder, "serve", [h.ORTSCOPE, "serve", "--no-open", "--audit", audit])
    client = test_live.opened(server)
    drive(c, "serve", client, pids=pids)
    told = client.json("/api/v1/metrics/current")["captures"]
    server.interrupt()
    c.equal("Ctrl+C ends it", server.wait(), 0)
    for target in targets:
        target.more_runs(5)
        target.finish(c)
    with open(os.path.join(h.ROOT, audit), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    c.equal("the audit tells who was attached to and left",
            [(a["action"], a["pid"] or a["capture"], a["status"], a["token"]) for a in lines],
            [("attach", pids[0], 200, "control"), ("attach", pids[1], 200, "control"),
             ("detach", 1, 200, "control"), ("detach", 2, 200, "control")])
    c.true("and when, and from where", all(a["utc"].endswith("Z") and a["peer"].startswith("127.0.0.1") for a in lines), lines)
    for capture in told:
        c.equal("runs of capture %d and its file" % capture["capture"], test_live.runs_of(capture),
                sum(s["runs"] for s in h.summary(capture["file"])["sessions"]))
        os.remove(os.path.join(h.ROOT, capture["file"]))


if __name__ == "__main__":
    needed = [PLAYWRIGHT + "/node_modules/playwright-core", CHROMIUM, h.reader_command()[-1]]
    absent = [path for path in needed if not os.path.exists(path)] + ([] if shutil.which("node") else ["node"])
    if absent:
        print("skipped: %s is not there (scripts/setup, scripts/targets and scripts/build see to that)" % ", ".join(absent))
        sys.exit(h.SKIPPED)
    h.run_tests("test_live_playwright", [whole, killed, serve])
