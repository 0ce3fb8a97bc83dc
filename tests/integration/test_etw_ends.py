#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How a capture with --etw ends: its session is stopped on every way out, and where it could not be, by the
next ortscope. The real ONNX Runtime, a simulated event tracing (tests/sim)."""
import os
import signal

import harness as h
import sim_etw
from test_etw_live import Waiting, our_sessions

CLOSE, SIGN_OUT = 2, 5  # CTRL_*_EVENT


def ways_out(checker):
    """the session ends with the capture: by Ctrl+C, by the target's death"""
    with sim_etw.Machine(checker) as machine:
        target = Waiting(machine, "node", "--seconds", h.FOREVER)
        h.touch(target.go)
        first = target.watch("first", "--no-hooks", "--etw", "ort")
        second = target.watch("second", "--no-hooks", "--etw", "ort")
        checker.equal("two at once", len(our_sessions(machine)), 2)
        first.interrupt()
        checker.equal("Ctrl+C ends it well", first.wait(), 0)
        checker.equal("its session is gone, the other's is not", len(our_sessions(machine)), 1)
        os.kill(h.linux_pids("node.exe", target.go)[0], signal.SIGKILL)
        checker.equal("the target's death ends it well", second.wait(), 0)
        checker.equal("its session is gone too", our_sessions(machine), [])
        target.program.wait()
        for trace in (first.trace, second.trace):
            checker.equal("whole file", h.load(trace).damage, None)


def killed(checker):
    """an ortscope that was killed leaves its session; the next one stops it"""
    with sim_etw.Machine(checker) as machine:
        target = Waiting(machine, "node", "--seconds", h.FOREVER, "--stop-file",
                         checker.folder + "/node.stop")
        h.touch(target.go)
        first = target.watch("first", "--no-hooks", "--etw", "ort")
        for pid in h.linux_pids("ortscope.exe", first.trace):
            os.kill(pid, signal.SIGKILL)
        first.wait()
        left = our_sessions(machine)
        checker.equal("its session is left", len(left), 1)
        second = target.watch("second", "--no-hooks", "--etw", "ort")
        checker.true("the next one says that it stopped it",
                     "Stopped the event tracing session %s" % left[0] in second.err, second.err)
        checker.true("it is gone", left[0] not in machine.sessions())
        h.touch(target.stop)
        checker.equal("the program ends well", target.program.wait(), 0)
        checker.equal("the capture ends well", second.wait(), 0)
        checker.equal("no session is left", our_sessions(machine), [])


def endless(checker, machine, name):
    target = Waiting(machine, name, "--seconds", h.FOREVER, "--stop-file",
                     "%s/%s.stop" % (checker.folder, name))
    h.touch(target.go)
    return target


def closed(checker):
    """the console's window is closed, or the user signs out: the session is stopped, the file whole"""
    with sim_etw.Machine(checker) as machine:
        target = endless(checker, machine, "node")
        for name, event, options in (("closed", CLOSE, ["--no-hooks", "--etw", "ort"]),
                                     ("signed-out", SIGN_OUT, ["--etw", "ort"])):
            capture = target.watch(name, *options, word="watching" if "--no-hooks" in options else "armed")
            h.wait_until(lambda: h.load(capture.trace).rows("run"), "runs in the file", program=capture)
            [session] = our_sessions(machine)
            told = h.run(checker.folder, name + "-event", [
                h.BIN + "/console_event.exe", session.split("-")[1], event])
            checker.equal(name + ": ortscope is told", told.code, 0)
            checker.true(name + ": it ends", capture.wait() is not None)
            checker.equal(name + ": its session is gone", our_sessions(machine), [])
            timeline = h.load(capture.trace)
            checker.equal(name + ": the file is whole, to the end",
                          (timeline.damage, [p["reason"] for p in timeline.rows("process_end")],
                           h.lost(timeline)), (None, [1], 0))
            checker.true(name + ": event tracing came to its end",
                         "handed over" in " ".join(r["message"] for r in timeline.rows("log")))
        h.touch(target.stop)
        checker.equal("the program goes on to its own end", target.program.wait(), 0)


TESTS = [ways_out, killed, closed]

if __name__ == "__main__":
    h.run_tests("etw_ends", TESTS)
