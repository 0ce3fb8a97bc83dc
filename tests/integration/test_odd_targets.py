#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Programs that do one unusual thing each (programs/odd_*.c): they go on as if ortscope were not
there, and what can be recorded is.

Every program gets the test's folder as its last argument, by which one that hangs is found."""
import collections
import os
import re
import signal
import subprocess

import harness as h

MODEL = "build/integration/models/absent.onnx"
SPAWNS = 5
# CreateProcess may wait once for an ortscope that does not answer (3 s); what five times 3 s would be
# is not allowed, beyond what they take on this machine when ortscope answers.
SPAWNS_MS = 10000


def program(name):
    return "%s/%s.exe" % (h.BIN, name)


def under_run(checker, name, *command):
    """Runs the command under ortscope: the exit code, its output and the timeline."""
    trace = "%s/%s.ortl" % (checker.folder, name)
    done = h.ortscope(checker.folder, name, "run", "-o", trace, "--", *command, checker.folder)
    if done.code is None:
        raise h.Failure("%s: the program hangs" % name)
    return done, h.load(trace)


class Talking:
    """A program that is told what to do by lines on its standard input."""

    def __init__(self, checker, name, command):
        self.program = h.Program(checker.folder, name, command + [checker.folder],
                                 stdin=subprocess.PIPE)

    def answer(self, pattern, number=1):
        """Waits for the pattern's numberth match in the output; returns its groups."""
        found = h.wait_until(lambda: re.findall(pattern, self.program.out)[number - 1:],
                             "waiting for '%s' number %d" % (pattern, number),
                             program=self.program)
        return found[0]

    def tell(self, line):
        self.program.process.stdin.write(line.encode() + b"\n")
        self.program.process.stdin.flush()

    def finish(self):
        """Ends its input; the exit code."""
        self.program.process.stdin.close()
        return self.program.wait()


def check_whole(checker, what, timeline):
    checker.equal("%s: the file is whole, nothing lost" % what,
                  (timeline.damage, h.lost(timeline)), (None, 0))


# ----------------------------------------------------------------------------- ONNX Runtime itself


def output_without_a_value(checker):
    """an optional output that the model leaves out: typed as a tensor, but there is none"""
    for version in ("1.15.0", "1.23.2", "1.30.0"):
        done, timeline = under_run(checker, version, program("odd_runs"), h.dll(version), MODEL, 3)
        checker.equal("%s: ends with its code, outputs had no value" % version,
                      (done.code, done.out.strip()), (6, "runs 3 with a value 0"))
        check_whole(checker, version, timeline)
        checker.equal("%s: its runs" % version,
                      [(r["run"], r["status"]) for r in timeline.rows("run")],
                      [(1, 0), (2, 0), (3, 0)])
        checker.equal("%s: nothing is made up about the output" % version,
                      [(t["name"], t["onnx_type"], t["element_type"], t["dims"])
                       for t in timeline.rows("tensor")], [("out", 0, 0, "")])


def outputs_of_runs(timeline):
    """Each run's status and the dimensions of its output, in order."""
    dims = {t["shape"]: t["dims"] for t in timeline.rows("tensor")}
    return [(r["status"] != 0, dims.get(r["outputs"]))
            for r in sorted(timeline.rows("run"), key=lambda row: row["begin"])]


def outputs_of_bindings_are_asked_for_once(checker):
    """runs with a binding ask ORT for its outputs only after the program has changed them"""
    parts = [("same", 50, 0, 1), ("longer", 50, 0, 1), ("own", 50, 0, 1), ("cleared", 50, 0, 1),
             ("three", 2, 0, 1), ("five", 2, 2, 0)]
    seen = [(False, "3")] * 50 + [(False, "5")] * 50 + [(False, "2")] * 100
    seen += [(False, "1,3")] * 2 + [(True, None)] * 2
    for version in ("1.15.0", h.NEWEST):
        command = [program("odd_binding"), h.dll(version), "build/integration/models/pick.onnx",
                   "build/integration/models/count.onnx"]
        expected = ["%s %d %d %d" % part for part in parts]
        done, timeline = under_run(checker, version, *command)
        checker.equal(version + ": asked once per change", (done.code, done.out.splitlines()),
                      (0, expected))
        check_whole(checker, version, timeline)
        checker.equal(version + ": every run has its outputs", outputs_of_runs(timeline), seen)

        target = Talking(checker, "attached-" + version, command + ["wait"])
        pid = int(target.answer(r"pid (\d+)"))
        trace = "%s/attached-%s.ortl" % (checker.folder, version)
        collector = h.attach(checker.folder, "attach-" + version, pid, trace)
        target.tell("go")
        checker.equal(version + " attached: both end well", (target.finish(), collector.wait()),
                      (0, 0))
        checker.equal(version + " attached: asked once per change",
                      target.program.out.splitlines()[2:], expected)
        checker.equal(version + " attached: every run has its outputs",
                      outputs_of_runs(h.load(trace)), seen)


def proxy_before_the_runtime(checker):
    """a DLL that exports OrtGetApiBase and loads the real runtime inside it"""
    done, timeline = under_run(checker, "run", program("odd_runs"), h.BIN + "/odd_proxy.dll", MODEL,
                               4, h.dll(h.NEWEST))
    checker.equal("ends with its code", (done.code, done.out.strip()),
                  (6, "runs 4 with a value 0"))
    check_whole(checker, "run", timeline)
    checker.equal("the real runtime is the only module",
                  [m["version"] for m in timeline.rows("module")], [h.NEWEST])
    checker.equal("its runs are recorded", len(timeline.rows("run")), 4)
    told = [row["message"] for row in timeline.rows("log")]
    checker.true("the file says that the proxy is not recorded",
                 any("is not itself a runtime" in text for text in told), told)


def sessions_released_as_threads_end(checker):
    """more threads than rings, each of which releases its session in its last moments"""
    threads, runs = 90, 20
    done, timeline = under_run(checker, "run", program("odd_thread_ends"), h.dll("1.20.1"), MODEL,
                               threads, runs)
    checker.equal("ends with its code", (done.code, done.out.strip()),
                  (6, "released at the end of a thread: %d" % threads))
    check_whole(checker, "run", timeline)
    checker.equal("all sessions", len(timeline.rows("session")), threads + 1)
    of_session = collections.Counter(row["session"] for row in timeline.rows("run"))
    checker.equal("all runs, each with its session", sorted(of_session.values()),
                  [1] * threads + [runs])
    checker.equal("every session's end",
                  len({row["session"] for row in timeline.rows("session_end")}), threads + 1)
    kernels = {row["kernel"]: row["session"] for row in timeline.rows("kernel")}
    ended = {row["kernel"] for row in timeline.rows("kernel_end")}
    checker.equal("every kernel's end", len(set(kernels) - ended), 0)
    checker.equal("operators are of kernels of their session",
                  [op for op in timeline.rows("op") if kernels[op["kernel"]] != op["session"]][:2],
                  [])


# --------------------------------------------------------------------------- processes and threads


def hooked_over(checker):
    """somebody patches CreateProcessW over our jump; then we leave and come again"""
    target = Talking(checker, "target", [program("odd_rehook")])
    pid = int(target.answer(r"pid (\d+)"))
    children = 0
    for i in (1, 2):
        trace = "%s/%d.ortl" % (checker.folder, i)
        collector = h.attach(checker.folder, "attach-%d" % i, pid, trace)
        if i == 1:
            target.tell("over")
            target.answer("hooked over")
        for _ in range(2):
            target.tell("spawn")
            children += 1
            target.answer("child good", children)
        left = h.ortscope(checker.folder, "detach-%d" % i, "detach", pid)
        checker.equal("attach %d: both end well" % i, (left.code, collector.wait()), (0, 0))
        target.tell("spawn")
        children += 1
        target.answer("child good", children)
        timeline = h.load(trace)
        check_whole(checker, "attach %d" % i, timeline)
        checker.equal("attach %d: the children are followed" % i,
                      [p["how"] for p in timeline.rows("process")], [1, 2, 2])
    checker.equal("no call came back to its own hook", target.finish(), 5)


def held_inside(checker):
    """A thread that was stopped inside the hook when the capture ended may hold a lock of ours: no
    new capture begins before it is out. Where a thread stops is chance, so there are a few attempts."""
    target = Talking(checker, "target", [program("odd_held"), h.dll("1.30.0"), MODEL])
    pid = int(target.answer(r"pid (\d+)"))
    for i in range(1, 9):
        first = h.attach(checker.folder, "attach-%d" % i, pid, "%s/%d.ortl" % (checker.folder, i), "--alloc", "all")
        target.tell("hold")
        checker.equal("attempt %d: the thread is held" % i, target.answer("holds|never inside", i), "holds")
        left = h.ortscope(checker.folder, "detach-%d" % i, "detach", pid)
        checker.equal("attempt %d: both end well" % i, (left.code, first.wait()), (0, 0))
        second = h.ortscope(checker.folder, "again-%d" % i, "attach", pid, "--duration", "100ms", "-o",
                            "%s/again-%d.ortl" % (checker.folder, i))
        target.tell("go")
        target.answer("goes on, was held 1 times", i)
        if second.code:
            break
    checker.equal("a capture while it is held is refused", second.code, 1)
    checker.true("and the reason is told", "was stopped inside the hook" in second.err, second.err)
    trace = checker.folder + "/third.ortl"
    third = h.ortscope(checker.folder, "third", "attach", pid, "--duration", "300ms", "-o", trace)
    checker.equal("afterwards one begins as ever", third.code, 0)
    timeline = h.load(trace)
    check_whole(checker, "afterwards", timeline)
    checker.true("with runs and operators", timeline.rows("run") and timeline.rows("op"))
    checker.equal("the program ends as it would", target.finish(), 5)


def guarded_pages_and_many_slots(checker):
    """a program that can't read all of its own image, and has many thread-local slots"""
    target = Talking(checker, "target", [program("odd_guarded"), h.dll(h.NEWEST), MODEL])
    pid = int(target.answer(r"pid (\d+)"))
    target.tell("call")
    target.answer("last error 1234")
    collector = h.attach(checker.folder, "attach", pid, checker.folder + "/attach.ortl")
    target.tell("call")
    checker.equal("the last error stays the program's", target.answer(r"last error (\d+)", 2), "1234")
    checker.equal("both end well", (target.finish(), collector.wait()), (6, 0))
    check_whole(checker, "attach", h.load(checker.folder + "/attach.ortl"))


def last_thread_ends_the_process(checker):
    """nobody calls ExitProcess: the process is over when its own threads are, with their code"""
    done, timeline = under_run(checker, "run", program("odd_last_thread"))
    checker.equal("run: exit code", (done.code, [p["exit_code"] for p in timeline.rows(
        "process_end")]), (7, [7]))
    target = Talking(checker, "target", [program("odd_last_thread")])
    pid = int(target.answer(r"pid (\d+)"))
    trace = checker.folder + "/attach.ortl"
    collector = h.attach(checker.folder, "attach", pid, trace)
    checker.equal("attached: exit code", target.finish(), 7)
    checker.equal("attach ends well", collector.wait(), 0)
    timeline = h.load(trace)
    checker.equal("attached: exit code in the file",
                  [p["exit_code"] for p in timeline.rows("process_end")], [7])


def ortscope_stands_still(checker):
    """ortscope is stopped while the program starts children: they run, it hardly waits"""
    usual = Talking(checker, "usual", [h.ORTSCOPE, "run", "-o", checker.folder + "/usual.ortl", "--",
                                       program("odd_spawns")])
    usual.answer("ready")
    for i in range(1, SPAWNS + 1):
        usual.tell("spawn")
        usual.answer(r"spawn %d took (\d+) ms" % i)
    usual.finish()
    limit = SPAWNS_MS + 2 * sum(map(int, re.findall(r"took (\d+) ms", usual.program.out)))
    trace = checker.folder + "/run.ortl"
    target = Talking(checker, "run", [h.ORTSCOPE, "run", "-o", trace, "--", program("odd_spawns")])
    target.answer("ready")
    stopped = h.linux_pids("ortscope.exe", trace)[0]
    os.kill(stopped, signal.SIGSTOP)
    try:
        for i in range(1, SPAWNS + 1):
            target.tell("spawn")
            target.answer(r"spawn %d took (\d+) ms" % i)
    finally:
        os.kill(stopped, signal.SIGCONT)
    spawns = re.findall(r"took (\d+) ms code (\d+) pid (\d+)", target.program.out)
    checker.equal("every child ran", [code for _, code, _ in spawns], ["33"] * SPAWNS)
    took = [int(ms) for ms, _, _ in spawns]
    checker.true("CreateProcess took at most %d ms together" % limit, sum(took) <= limit, took)
    spawned = SPAWNS

    def followed():
        nonlocal spawned
        spawned += 1
        target.tell("spawn")
        target.answer(r"spawn %d took" % spawned)
        return len(h.load(trace).rows("process")) > 1

    h.wait_until(followed, "children are followed again", program=target.program)
    checker.equal("the program ends with its code", target.finish(), 5)
    timeline = h.load(trace)
    check_whole(checker, "run", timeline)
    told = {row["message"] for row in timeline.rows("log")}
    # Nobody waits for an answer about them; the first one's may have come late, but it came.
    missing = ["Child process %s is not followed: ortscope did not answer." % pid
               for _, _, pid in spawns[1:]]
    checker.true("the file says which children are missing", told >= set(missing), sorted(told))


TESTS = [output_without_a_value, outputs_of_bindings_are_asked_for_once, proxy_before_the_runtime,
         sessions_released_as_threads_end, hooked_over, held_inside,
         guarded_pages_and_many_slots, last_thread_ends_the_process, ortscope_stands_still]

if __name__ == "__main__":
    h.run_tests("test_odd_targets", TESTS)
