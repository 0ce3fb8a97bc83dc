# SPDX-License-Identifier: MIT
"""What is in an answer is what was asked for: spans, steps, windows, rates of messages. The recording's own
rows, as `ortscope export` tells them, are what answers are held against."""
import collections
import csv
import io
import json
import os
import subprocess
import sys

import client as live
import served

STEPS = (0.1, 1, 10)


class Run:
    def __init__(self, row):
        self.session, self.run = int(row["session"]), int(row["run"])
        self.begin, self.end = int(row["begin_ns"]), int(row["begin_ns"]) + int(row["duration_ns"])
        self.failed = row["status_code"] != "0"
        self.us = (self.end - self.begin) / 1000


def runs_of(text):
    return [Run(row) for row in csv.DictReader(io.StringIO(text.decode()))]


def exported(client, query=""):
    return runs_of(client.ask("GET", "/api/v1/export?format=csv&table=runs" + query)[2])


def check_history(c, client, runs):
    end = client.json("/api/v1/metrics/current")["captures"][0]["time_s"]

    def ask(step, begin, to):
        answer = client.json("/api/v1/metrics/history?from=%r&to=%r&step=%r" % (begin, to, step))
        what = "step %r, %r to %r" % (step, begin, to)
        times = answer["time_s"]
        c.equal(what + ": the step", answer["step_s"], step)
        c.true(what + ": all within", times and times[0] > begin - step - 1e-6 and times[-1] <= to + 1e-6,
               (times[:1], times[-1:]))
        c.true(what + ": step by step", all(abs(b - a - step) < 1e-6 for a, b in zip(times, times[1:])))
        c.true(what + ": columns of one length", all(len(column) == len(times) for s in answer["sessions"]
                                                     for column in s.values() if isinstance(column, list)))
        return answer

    def counts(answer, column="runs"):
        return {s["session"]: sum(s[column]) for s in answer["sessions"]}

    for step in STEPS:
        whole = ask(step, 0, end)
        c.equal("step %r: the newest moment" % step, whole["now_s"], end)
        wanted = {s: 0 for s in counts(whole)}
        failed = dict(wanted)
        for run in runs:
            wanted[run.session] += 1
            failed[run.session] += run.failed
        c.equal("step %r: all runs" % step, counts(whole), wanted)
        c.equal("step %r: those that failed" % step, counts(whole, "failed_runs"), failed)
        at = step * (int(end / 2 / step) or 1)
        if at > end:
            continue
        first, second = ask(step, 0, at - step / 2), ask(step, at + step / 4, end)
        c.equal("step %r: nothing twice" % step, second["time_s"][0] - first["time_s"][-1] > step / 2, True)
        parts = [counts(first), counts(second)]
        c.equal("step %r: the parts are the whole" % step, {s: sum(p[s] for p in parts) for s in wanted}, wanted)
        c.equal("step %r: runs count where they end" % step, parts[0], {
            s: sum(r.session == s and r.end < round(at * 1e9) for r in runs) for s in wanted})
        for s in whole["sessions"]:  # of those that did not fail
            c.true("throughput", all(abs(rate - (n - f) / step) < 0.006 for rate, n, f in zip(
                s["throughput_per_s"], s["runs"], s["failed_runs"])))
    c.equal("a step that is not kept", client.json("/api/v1/metrics/history?from=0&step=5")["step_s"], 1)
    if end < 2:
        return
    back = client.json("/api/v1/metrics/history?from=-2&to=-1&step=0.1")
    c.true("counted from the end", end - 2.1 < back["time_s"][0] <= end - 2 + 1e-6 and
           back["time_s"][-1] <= end - 1 + 1e-6, (end, back["time_s"]))


def check_timeline(c, client, runs):
    last = max(r.end for r in runs) / 1e9
    for begin, end in ((0, 0.5), (last / 3, last / 2), (last / 2, last / 2 + 0.001), (last - 0.1, last + 1)):
        answer = client.json("/api/v1/timeline?from=%r&to=%r" % (begin, end))
        got = sorted((r["session"], r["run"]) for r in answer["runs"])
        wanted = sorted((r.session, r.run) for r in runs if r.begin < end * 1e9 and r.end > begin * 1e9)
        c.equal("runs from %r to %r" % (begin, end), got, wanted)


def check_distribution(c, client, runs):
    now = client.json("/api/v1/metrics/current")["captures"][0]["time_s"] * 1e9
    for session in {r.session for r in runs}:
        good = [r for r in runs if r.session == session and not r.failed]
        for window in (0.1, 1, 5, 60):
            answer = client.json("/api/v1/metrics/distribution?session=%d&window=%r&bins=7" % (session, window))
            wanted = sum(r.end >= now - window * 1e9 for r in good)
            c.equal("%r s of session %d" % (window, session), (answer["window_s"], answer["runs"]), (window, wanted))
            c.equal("all of them are in bins", sum(answer["count"]), wanted)
            c.true("at most so many bins", len(answer["count"]) <= 7, len(answer["count"]))
            slowest = max((r.us for r in good if r.end >= now - window * 1e9), default=0)
            width = answer["to_us"][0] - answer["from_us"][0] if wanted else 0
            c.true("the last ends with the slowest of them", not wanted or
                   slowest <= answer["to_us"][-1] + 0.001 <= max(slowest, answer["from_us"][-1] + width) + 0.002,
                   (slowest, answer["to_us"]))


def check_export(c, client, runs):
    last = max(r.end for r in runs) / 1e9
    for begin, end in ((0, 0.5), (last / 3, last / 2), (last, last + 1)):
        got = [(r.session, r.run) for r in exported(client, "&from=%r&to=%r" % (begin, end))]
        wanted = [(r.session, r.run) for r in runs
                  if round(begin * 1e9) <= r.begin < round(end * 1e9)]
        c.equal("rows from %r to %r" % (begin, end), sorted(got), sorted(wanted))


def operators_of(ortscope, recording):
    """How many of each session and run there are in a file."""
    dumped = subprocess.run([ortscope, "export", recording, "-f", "csv", "-t", "ops", "-o", "-"], check=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return collections.Counter((int(row["session"]), int(row["run"]))
                               for row in csv.DictReader(io.StringIO(dumped.stdout.decode())))


def check_old_runs(c, ortscope, maker, folder):
    """What memory has forgotten is read from the file, and is the same; that of no run is forgotten in part."""
    recording = os.path.join(folder, "old.ortl")
    subprocess.run([maker, "ortl", recording, "400000"], check=True, stdout=subprocess.DEVNULL)
    with served.serve(ortscope, recording, "--speed", "max") as client:
        served.wait_for_state(client, "ended")
        newest = client.json("/api/v1/timeline")
        c.equal("the newest", newest["source"], "memory")
        session = newest["runs"][0]["session"]
        old = client.json("/api/v1/timeline?session=%d&run=1" % session)
        c.equal("an old one", (old["source"], [r["run"] for r in old["runs"]]), ("file", [1]))
        wanted = operators_of(ortscope, recording)
        c.true("there are some", wanted[session, 1])
        last = newest["runs"][0]["run"]
        for run in sorted(set(range(1, 201)) | set(range(1, last + 1, last // 100 or 1))):
            answer = client.json("/api/v1/timeline?session=%d&run=%d" % (session, run))
            c.equal("operators of run %d, from %s" % (run, answer["source"]), len(answer["ops"]["kernel"]),
                    wanted[session, run])
    os.remove(recording)


# ------------------------------------------------------------------------------------------- messages

def span_of(stream, count):
    """Milliseconds between the first and the last of so many."""
    times = [stream.message()["utc_ms"] for _ in range(count)]
    return times[-1] - times[0]


def check_pace(c, ortscope, recording):
    """Never more messages than asked for: one a tick, so that N of them take more than N - 2 steps."""
    with served.serve(ortscope, recording, "--speed", "0.1", "--live-rate", "20") as client:
        for hz, count in ((60, 40), (10, 12), (1, 4)):
            stream = client.stream("hz=%d" % hz)
            took = span_of(stream, count)
            c.true("%d Hz" % hz, took >= (count - 2) * 1000 / hz * 0.98, "%d in %.0f ms" % (count, took))
            stream.close()
        free = client.stream()
        c.equal("the server's rate", free.message()["captures"][0]["rates"]["hz"], 20)
        bound = client.stream("hz=60")
        c.equal("another rate", client.control(action="rates", hz=1)[0], 200)
        served.until(lambda: free.message()["captures"][0]["rates"]["hz"] == 1, "the new rate")
        took = span_of(free, 4)
        c.true("who did not say follows", took >= 2000 * 0.98, took)
        c.equal("who did is asked", bound.message()["captures"][0]["rates"]["hz"], 60)
        for query in ("hz=0", "hz=61", "hz=x", "hz=nan", "window=0", "window=61", "window=", "hz=10&window=-1"):
            try:
                client.stream(query).close()
                c.true("refused: " + query, False)
            except live.Refused as refused:
                c.equal("refused: " + query, refused.args[0], 400)


def check_missing(c, client):
    """A source that is not there says why and which command helps."""
    missing = client.json("/api/v1/system")["missing"]
    c.true("something is missing in a recording without counters", missing)
    for entry in missing:
        c.true("%(what)s: a sentence" % entry, entry["why"].endswith("."), entry)
        c.true("%(what)s: a command" % entry, (entry["command"] or "").startswith("ortscope "), entry)
    c.true("a GPU is", "gpu" in [e["what"] for e in missing], json.dumps(missing))


def main():
    ortscope, maker, folder, view_maker = sys.argv[1:]
    c = served.Checks()
    served.make_files(maker, folder)
    for name in ("basic", "ops", "memory"):
        recording = os.path.join(folder, name + ".ortl")
        with served.serve(ortscope, recording, "--speed", "max") as client:
            served.wait_for_state(client, "ended")
            runs = exported(client)
            c.true("there are runs", runs)
            check_history(c, client, runs)
            check_timeline(c, client, runs)
            check_distribution(c, client, runs)
            check_export(c, client, runs)
            check_missing(c, client)
    check_old_runs(c, ortscope, view_maker, folder)
    check_pace(c, ortscope, os.path.join(folder, "basic.ortl"))
    c.end()


if __name__ == "__main__":
    main()
