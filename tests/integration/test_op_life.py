#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Operators of a program that was there before us: told at once when we come; not a byte of the
runtime is different when we have gone, however we go; a runtime that is unloaded under us is no
crash, and one that is loaded again is seen again."""
import os
import signal

import harness as h
from looping import Looping
from test_odd_targets import MODEL, Talking, program


def first_times(timeline):
    """When the last kernel was executed, named and given shapes for the first time; None: one of them
    never was."""
    known = {k["kernel"]: k["time"] for k in timeline.rows("kernel") if k["node"] and k["op_type"]}
    shaped, executed = {}, {}
    for row in timeline.rows("kernel_shape"):
        if row["inputs"] and row["outputs"]:
            shaped.setdefault(row["kernel"], row["time"])
    for row in timeline.rows("op"):
        executed.setdefault(row["kernel"], row["begin"] + row["duration"])
    if len(executed) != 229 or set(executed) - set(known) or set(executed) - set(shaped):
        return None
    return max(times[kernel] for kernel in executed for times in (known, shaped, executed))


def told_at_once(checker):
    """attach to a node that has run a session for a while: names, types and shapes with its first run"""
    target = Looping(checker)
    target.more_runs(200)
    trace = checker.folder + "/attach.ortl"
    collector = h.attach(checker.folder, "attach", target.pid, trace, "-q")
    target.more_runs(10)
    target.finish(checker)
    checker.equal("attach ends well", collector.wait(), 0)
    timeline = h.load(trace)
    last = first_times(timeline)
    if not checker.true("all 229 operators are told", last is not None):
        return
    print("         %.0f ms after the beginning of the attach, %.0f ms after its end"
          % (last / 1e6, (last - timeline.rows("process")[0]["time"]) / 1e6), flush=True)
    ends = sorted(run["begin"] + run["duration"] for run in timeline.rows("run"))
    # The run that was under way when we came has told some already.
    checker.true("before the first run is over", last <= ends[0], (last, ends[:3]))


class Watched(Talking):
    """odd_image: tells a hash of the runtime's code and read-only data."""

    def __init__(self, checker, version):
        super().__init__(checker, "target", [program("odd_image"), h.dll(version), MODEL])
        self.pid = int(self.answer(r"pid (\d+)"))
        self.said = {}

    def ask(self, line, pattern):
        """Tells it a line; what it answers."""
        self.said[pattern] = self.said.get(pattern, 0) + 1
        self.tell(line)
        return self.answer(pattern, self.said[pattern])

    def sum(self):
        return self.ask("sum", r"sum (\w+)")

    def run(self):
        self.ask("run", r"(ran)")


def attached(checker, target, name):
    trace = "%s/%s.ortl" % (checker.folder, name)
    return h.attach(checker.folder, name, target.pid, trace, "-q"), trace


def leave(checker, target, collector, name):
    """ortscope detach, from outside."""
    done = h.ortscope(checker.folder, "detach-" + name, "detach", target.pid)
    checker.equal(name + ": detach ends well", (done.code, collector.wait()), (0, 0))


def nothing_is_left_changed(checker):
    """code, vtables and page protection of the runtime, after detaching, again and again"""
    for version in ("1.15.0", "1.30.0"):
        target = Watched(checker, version)
        before = target.sum()
        for i in range(3):
            name = "%s-%d" % (version, i)
            collector, trace = attached(checker, target, name)
            checker.true(name + ": while we are there it is changed", target.sum() != before)
            target.run()
            if i < 2:
                leave(checker, target, collector, name)
            else:  # killed: nobody asks the hook to leave
                os.kill(h.linux_pids("ortscope.exe", trace)[0], signal.SIGKILL)
                collector.wait()
                h.wait_until(lambda: target.sum() == before, "waiting for the hook to leave")
            checker.equal(name + ": then it is as it was, to the byte", target.sum(), before)
            target.run()
            if i < 2:
                checker.equal(name + ": the operators of one run are there",
                              {op["run"] for op in h.load(trace).rows("op")}, {1})
        checker.equal(version + ": ends with its code", target.finish(), 7)


def unloaded_under_us(checker):
    """the runtime goes and comes back while we are attached"""
    target = Watched(checker, "1.23.2")
    collector, trace = attached(checker, target, "attach")
    for i in range(3):
        target.run()
        checker.equal("%d: it is really unloaded" % i, target.ask("unload", r"(unloaded|stays)"),
                      "unloaded")
        target.ask("load", r"(loaded)\n")
    changed = target.sum()
    target.run()
    leave(checker, target, collector, "attach")
    checker.true("the last one was intercepted, and is restored", target.sum() != changed)
    target.run()
    checker.equal("ends with its code", target.finish(), 7)
    timeline = h.load(trace)
    checker.equal("nothing was lost", h.lost(timeline), 0)
    sessions = {op["session"] for op in timeline.rows("op") if op["run"]}
    checker.equal("operators of each of the four sessions", len(sessions), 4)


TESTS = [told_at_once, nothing_is_left_changed, unloaded_under_us]

if __name__ == "__main__":
    h.run_tests("test_op_life", TESTS)
