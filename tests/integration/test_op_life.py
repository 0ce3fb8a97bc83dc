#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Operators of a program that was there before us: told at once when we come; not a byte of the
runtime is different when we have gone, however we go; a runtime that is unloaded under us is no
crash, and one that is loaded again is seen again."""
import collections
import os
import signal
import statistics

import harness as h
import ortl
from looping import Looping
from op_profile import operators_of_run
from test_odd_targets import MODEL, Talking, program

HALF_A_SECOND = 500 * 1000 * 1000  # nanoseconds
ATTACHES = 5  # of a set, whose median counts
SETS = 6


def first_times(timeline, version):
    """When the last kernel was executed, named and given shapes for the first time; None: one of them
    never was."""
    known = {k["kernel"]: k["time"] for k in timeline.rows("kernel") if k["node"] and k["op_type"]}
    shaped, executed = {}, {}
    for row in timeline.rows("kernel_shape"):
        if row["inputs"] and row["outputs"]:
            shaped.setdefault(row["kernel"], row["time"])
    for row in timeline.rows("op"):
        executed.setdefault(row["kernel"], row["begin"] + row["duration"])
    if len(executed) != operators_of_run(version) or set(executed) - set(known) or set(executed) - set(shaped):
        return None
    return max(times[kernel] for kernel in executed for times in (known, shaped, executed))


def told_in_file(trace, version):
    """Nanoseconds from the beginning of the attach until all was told, and until that was in the file, both
    by the timeline's own clock: the latest execution that was written with it is from shortly before."""
    for timeline in ortl.flushes(os.path.join(h.ROOT, trace)):
        last = first_times(timeline, version)
        if last:
            return last, max(op["begin"] + op["duration"] for op in timeline.rows("op"))
    return None


def told_after(checker, target, version, name):
    """One attach: nanoseconds until all was told, and until that was in the file."""
    trace = "%s/%s.ortl" % (checker.folder, name)
    collector = h.Program(checker.folder, name, [h.ORTSCOPE, "attach", target.pid, "-q", "-o", trace])
    h.wait_until(lambda: os.path.exists(os.path.join(h.ROOT, trace)) and first_times(h.load(trace), version),
                 "operators in the file", program=collector)
    leave(checker, target, collector, name)
    timeline = h.load(trace)
    ends = sorted(run["begin"] + run["duration"] for run in timeline.rows("run"))
    # The run that was under way when we came has told some already.
    first = first_times(timeline, version)
    checker.true("all operators are told before the first run is over", first <= ends[0], (first, ends[:3]))
    return told_in_file(trace, version)


def told_at_once(checker, version):
    """The one test that time decides: half a second is the promise. The median counts, so that neither a
    lucky attach nor an unlucky one does; the machine may be busy with something else for a while, so a set
    as a whole may be taken again."""
    operators_of_run(version)  # is found out with a program that shall not run beside an attach
    target = Looping(checker, version=version)
    target.more_runs(200)
    for i in range(SETS):
        told = [told_after(checker, target, version, "attach-%d-%d" % (i, j)) for j in range(ATTACHES)]
        medians = [statistics.median(times) for times in zip(*told)]
        print("         %s: all told after %.0f ms, in the file after %.0f ms, medians of %d, set %d"
              % (version, medians[0] / 1e6, medians[1] / 1e6, ATTACHES, i + 1), flush=True)
        if max(medians) <= HALF_A_SECOND:
            break
    target.finish(checker)
    checker.true("names, types and shapes are told within half a second of the beginning of the attach",
                 medians[0] <= HALF_A_SECOND, told)
    checker.true("and in the file by then", medians[1] <= HALF_A_SECOND, told)


def of_version(kind, version):
    def test(checker):
        kind(checker, version)
    test.__name__ = "%s_%s" % (kind.__name__, version.replace(".", "_"))
    test.__doc__ = "attach to a node that has run ONNX Runtime %s for a while: all is told at once" % version
    return test


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


def unloaded_under_us(checker, how="unload"):
    """the runtime goes and comes back while we are attached"""
    target = Watched(checker, "1.23.2")
    collector, trace = attached(checker, target, "attach")
    for i in range(3):
        target.run()
        checker.equal("%d: it is really unloaded" % i, target.ask(how, r"(unloaded|stays)"), "unloaded")
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
    modules = {s["session"]: s["module"] for s in timeline.rows("session")}
    checker.equal("and kernels of its own runtime", {k["session"]: k["module"] for k in timeline.rows("kernel")},
                  {session: modules[session] for session in sessions})
    checker.equal("each runtime's end is told, but the last one's", len(timeline.rows("module_end")), 3)


def forgotten_session(checker):
    """the runtime goes with a session that nobody has released"""
    unloaded_under_us(checker, "forget")


def at_many_places(checker):
    """a runtime that is unloaded and loaded elsewhere, again and again, while we are there or not: 844
    classes each time, more than there are places for all together"""
    target = Watched(checker, "1.30.0")
    for part in range(3):
        name = "part-%d" % part
        collector, trace = attached(checker, target, name)
        for _ in range(3):
            target.ask("unload", r"(unloaded|stays)")
            checker.equal(name + ": the place is kept", target.ask("block", r"blocked (\d)"), "1")
            target.ask("load", r"(loaded)\n")
            target.run()
        leave(checker, target, collector, name)
        timeline = h.load(trace)
        checker.equal(name + ": no remark", [row["message"] for row in timeline.rows("log")
                                            if row["level"] <= 3], [])
        counts = collections.Counter(op["session"] for op in timeline.rows("op") if op["run"])
        checker.equal(name + ": each session has all its operators",
                      (len(counts), len(set(counts.values()))), (3, 1))
        target.ask("unload", r"(unloaded|stays)")
        target.ask("block", r"blocked (\d)")
        target.ask("load", r"(loaded)\n")
    checker.equal("ends with its code", target.finish(), 7)


TESTS = [of_version(told_at_once, version) for version in ("1.15.0", "1.23.2", "1.30.0")]
TESTS += [nothing_is_left_changed, unloaded_under_us, forgotten_session, at_many_places]

if __name__ == "__main__":
    h.run_tests("test_op_life", TESTS)
