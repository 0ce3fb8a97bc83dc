#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Slow runs of a real program that the test itself causes, and whether the summary names the cause.

The machine may be as busy as it likes: whatever else is slow is not looked at, and what a test causes
goes on until it is far above the rest.
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import time

import harness as h

UNEVEN = "tests/integration/programs/uneven.js"
BASE = [1, 3, 48, 192]
CORES = min(len(os.sched_getaffinity(0)), 8)
MOST_BUSY = 128 * CORES  # processes that take the processors


class Uneven:
    """uneven.js under `ortscope run`."""

    def __init__(self, checker, plan, *options, model=h.PICTURE_MODELS + "/cls.onnx"):
        self.folder = checker.folder
        self.trace = checker.folder + "/uneven.ortl"
        self.files = {name: "%s/%s" % (checker.folder, name) for name in ("plan", "report", "progress")}
        with open(os.path.join(h.ROOT, self.files["plan"]), "w") as file:
            json.dump(plan, file)
        arguments = [h.ORTSCOPE, "run", "-o", self.trace, "--quiet"] + list(options)
        arguments += ["--", h.NODE, UNEVEN, "--ort", "build/targets/ort-" + h.NEWEST, "--model", model]
        for name, path in self.files.items():
            arguments += ["--" + name, path]
        self.program = h.Program(checker.folder, "uneven", arguments)

    def progress(self):
        """Finished runs, and the milliseconds of the last one."""
        try:
            with open(os.path.join(h.ROOT, self.files["progress"])) as file:
                words = file.read().split()
        except OSError:
            return 0, 0.0
        return (int(words[0]), float(words[1])) if len(words) == 2 else (0, 0.0)

    def wait_for_runs(self, count):
        h.wait_until(lambda: self.progress()[0] >= count, "%d runs" % count, program=self.program)

    def finish(self, checker):
        """The runs of each step as (first, last), and the session of the summary."""
        checker.equal("exit code", self.program.wait(), 0)
        with open(os.path.join(h.ROOT, self.files["report"])) as file:
            steps = [(step["first"], step["last"]) for step in json.load(file)]
        return steps, h.summary(self.trace)["sessions"][0]

    def text(self, *more):
        done = subprocess.run(h.reader_command() + ["summary", self.trace, *more], cwd=h.ROOT,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=h.TIMEOUT,
                              check=True)
        return re.sub(r"\s+", " ", done.stdout.decode("utf-8"))


def outliers_of(uneven, factor=3):
    """All of them by run; the summary has the first ones only."""
    return {o["run"]: o for o in h.ask("runs", uneven.trace, "--outliers", str(factor))["outliers"]}


def kinds(outlier):
    return [c["cause"] for c in outlier["causes"]] if outlier else None


def check_sums(checker, session):
    sums = [sum(c["share"] for c in o["causes"]) + o["unexplained_share"] for o in session["outliers"]]
    checker.true("shares add up to 1", all(abs(s - 1) < 0.01 for s in sums), sums[:5])
    told = sum(g["runs"] for g in session["outlier_causes"]["groups"])
    checker.equal("each outlier is in one group", told, session["outlier_causes"]["runs"])


# --------------------------------------------------------------------------------------- new shapes


def new_shapes(checker):
    """inputs that are new and larger than all before make slow runs, for which the arena grows"""
    plan = [{"dims": BASE, "runs": 120}]
    for batch in (32, 64, 128):
        plan += [{"dims": [batch] + BASE[1:], "runs": 1}, {"dims": BASE, "runs": 40}]
    # Without counters: on a busy machine they would say, rightly, that these runs mostly wait for a core.
    uneven = Uneven(checker, plan, "--counters", "off")
    steps, session = uneven.finish(checker)
    outliers = outliers_of(uneven)
    new = [steps[i][0] for i in (1, 3, 5)]
    for run in new:
        checker.true("run %d: the input is new" % run, "new_shape" in (kinds(outliers.get(run)) or []),
                     outliers.get(run))
    checker.true("only those are", [run for run, o in outliers.items() if "new_shape" in kinds(o)] == new,
                 {run: kinds(o) for run, o in outliers.items()})
    grown = {row["run"]: row["grown_bytes"] for row in h.load(uneven.trace).rows("run_memory")
             if row["grown_bytes"] > 0}
    checker.true("the arena grew in one of them", any(run in grown for run in new), grown)
    text = uneven.text()
    checker.true("the text names it", " new input shape" in text, text[:2000])
    check_sums(checker, session)


# --------------------------------------------------------------------------------------------- idle


def idle(checker):
    """runs of a small model take longer after a second in which the program did something else"""
    small = {"dims": [1, 16], "type": "int64"}
    # How much a cold cache costs depends on the machine: twice the usual time is enough here, and
    # more is spoilt until most runs take that.
    for spoilt in (64, 256, 512):
        uneven = Uneven(checker, [dict(small, runs=1500), dict(small, runs=12, pause=700, spoil=spoilt),
                                  dict(small, runs=500)], "--counters", "off",
                        model="build/integration/models/counts.onnx")
        steps, _ = uneven.finish(checker)
        first, last = steps[1]
        found = outliers_of(uneven, 2)
        if sum(first <= run <= last for run in found) >= 9:
            break
    pauses = {run: c["idle_us"] for run, o in found.items() for c in o["causes"]
              if c["cause"] == "idle_before"}
    slow = [run for run in range(first, last + 1) if run in found]
    checker.true("most runs after a pause are slow", len(slow) >= 6, slow)
    checker.equal("because of the pause", [run for run in slow if run not in pauses], [])
    checker.true("which was 700 ms long", all(pauses[run] > 690000 for run in slow if run in pauses), pauses)
    others = {run: us for run, us in pauses.items() if not first <= run <= last}
    checker.true("no other run has that cause without a pause", all(us >= 200000 for us in others.values()),
                 others)
    text = uneven.text("--outliers", "2")
    checker.true("the text names it", " after more than 200 ms idle" in text, text[:2000])


# ------------------------------------------------------------------------------------------ starving


@contextlib.contextmanager
def busy_processes():
    """A list to which more() adds processes that do nothing but run. Each is a session of its own, so that
    the system gives it as much as the program and all its threads together."""
    started = []

    def more(count):
        for _ in range(count):
            # They end with us, whatever ends us.
            started.append(subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "sh", "-c", "while :; do :; done"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True))
        return len(started)
    try:
        yield more
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in started:
            process.wait()


def starve(uneven, more, usual_ms):
    """Takes the processors until the runs are far slower than usual, then for some seconds."""
    count = more(8 * CORES)
    slow = 0
    end = time.monotonic() + 6  # counters tell of whole seconds
    while slow < 40 or time.monotonic() < end:
        before, _ = uneven.progress()
        uneven.wait_for_runs(before + 1)
        after, ms = uneven.progress()
        if ms > 6 * usual_ms:
            slow += 1
        elif after % 10 == 0 and count < MOST_BUSY:
            count = more(4 * CORES)
    return count


def starved(checker):
    """while other processes take all processors, slow runs wait for one"""
    stop = checker.folder + "/starved"
    # A run must be longer than the time for which the system leaves a thread on its processor.
    long = {"dims": [1, 3, 48, 160]}
    uneven = Uneven(checker, [dict(long, runs=300), dict(long, runs=1500, until=stop),
                              dict(long, runs=60)], "--max-overhead", "100",
                    model=h.PICTURE_MODELS + "/rec.onnx")
    times = []
    while uneven.progress()[0] < 300:
        before, _ = uneven.progress()
        uneven.wait_for_runs(before + 1)
        times.append(uneven.progress()[1])
    usual_ms = sorted(times)[len(times) // 2]
    with busy_processes() as more:
        count = starve(uneven, more, usual_ms)
        h.touch(stop)
    steps, session = uneven.finish(checker)
    first, last = steps[1]
    print("    %d processes, runs %d to %d, usual %.3f ms" % (count, first, last, usual_ms), flush=True)
    slow = [o for run, o in outliers_of(uneven).items() if first <= run <= last]
    waiting = [o for o in slow if "waiting_for_core" in kinds(o)]
    checker.true("there are slow runs", len(slow) >= 20, len(slow))
    checker.true("most of them waited for a core", len(waiting) * 2 > len(slow),
                 [(o["run"], o["latency_us"], o["causes"]) for o in slow][:10])
    text = uneven.text()
    checker.true("the text names it", " waiting for a core" in text, text[:2000])
    check_sums(checker, session)


if __name__ == "__main__":
    h.run_tests("slow_runs", [new_shapes, idle, starved])
