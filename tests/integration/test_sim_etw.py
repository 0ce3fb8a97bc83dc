#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The simulation of event tracing (tests/sim): ONNX Runtime's real events in a simulated session,
live and in a file, and the behaviour that Windows documents."""
import collections
import os

import harness as h
import sim_etw
from looping import counter_text
from op_profile import RUNS, arguments

NODE_RUNS = 25
VERSIONS = ["1.15.0", "1.20.1", "1.30.0"]
ORT = (sim_etw.ORT_PROVIDER, 5, 0)


def node(version, *more):
    return h.node_arguments(version, "--runs", NODE_RUNS, *more)


def test_ort_live_and_file(checker):
    """Two sessions, one read live, one into a file: both have every run, `import` finds them."""
    with sim_etw.Machine(checker) as machine:
        for version in VERSIONS:
            check_version(checker, machine, version)
        checker.equal("no session is left", machine.sessions(), {})


def check_version(checker, machine, version):
    trace = "%s/%s.etl" % (checker.folder, version)
    live = machine.record("live " + version, ORT)
    filed = machine.record("filed " + version, ORT, options=["--file", trace])
    program = machine.run("runner-" + version, arguments(version, ["affine"]))
    checker.equal(version + ": the program is not disturbed", program.code, 0)
    seen = live.end()
    names = collections.Counter(seen["names"])
    checker.equal(version + ": runs in the live session",
                  (names["EvaluationStart"], names["EvaluationStop"]), (RUNS, RUNS))
    checker.equal(version + ": sessions", names["SessionCreation"], 1)
    checker.equal(version + ": one header, nothing lost, in order, ended well",
                  [seen[k] for k in ("headers", "lost", "unordered", "stopped", "processed")],
                  [1, 0, 0, 0, 0])
    filed.end()
    check_file(checker, version, trace, RUNS)


def check_file(checker, what, trace, runs):
    ortl = trace[:-4] + ".ortl"
    done = h.ortscope(checker.folder, "import", "import", trace, "-o", ortl)
    checker.equal(what + ": the file can be imported", done.code, 0)
    told = h.summary(ortl).get("sessions", [])
    checker.equal(what + ": runs in the file", sum(s["runs"] for s in told), runs)


def test_ortscope_beside(checker):
    """ortscope records the program while a session listens to ORT: both see every run."""
    with sim_etw.Machine(checker) as machine:
        trace, filed = checker.folder + "/node.ortl", checker.folder + "/both.etl"
        live = machine.record("live", ORT, options=["--file", filed, "--live"])
        program = machine.run("ortscope", [h.ORTSCOPE, "run", "-q", "-o", trace, "--", *node("1.23.2")])
        checker.equal("the exit code passes through", program.code, 0)
        timeline = h.load(trace)
        checker.equal("runs that ortscope saw", len(timeline.rows("run")), NODE_RUNS)
        checker.equal("nothing was lost", h.lost(timeline), 0)
        seen = live.end()
        check_file(checker, "live and into a file", filed, NODE_RUNS)
        checker.equal("runs in the session", [seen["names"].get("EvaluationStart"),
                                              seen["names"].get("EvaluationStop")], [NODE_RUNS] * 2)


def finished(counter):
    return counter_text(counter) if os.path.exists(os.path.join(h.ROOT, counter)) else 0


def test_attach_and_interrupt(checker):
    """A program on the machine is attached to; Ctrl+C reaches what `sim_etw run` has started."""
    with sim_etw.Machine(checker) as machine:
        base = checker.folder + "/node"
        program = machine.start("node", h.node_arguments("1.20.1", "--pid-file", base + ".pid", "--stop-file",
                                                         base + ".stop", "--counter", base + ".count"))
        pid = h.read_pid(base + ".pid", program)
        collector = machine.start("attach", [h.ORTSCOPE, "attach", pid, "-q", "-o", base + ".ortl"])
        h.wait_until(lambda: "armed process %d" % pid in collector.err, "attach", program=collector)
        runs = finished(base + ".count")
        h.wait_until(lambda: finished(base + ".count") > runs + 1, "runs", program=program)
        state = machine.record("late", (sim_etw.ORT_PROVIDER, 5, 1), options=["--capture"]).end()
        checker.equal("ORT tells a session that comes late what is there",
                      state["names"].get("SessionCreation_CaptureState"), 1)
        collector.interrupt()
        checker.equal("ortscope ends", collector.wait(), 0)
        checker.true("runs were recorded", len(h.load(base + ".ortl").rows("run")) > 0)
        h.touch(base + ".stop")
        checker.equal("the program goes on to its end", program.wait(), 0)


DRIVER = "802ec45a-1e99-4b83-9920-87c98277ba9d"  # Microsoft-Windows-DxgKrnl: its events come from a driver
KERNEL = """
thread worker node.exe 0
thread helper node.exe 1
cswitch -9000 0 worker 0 2 0
cswitch -8000 0 helper worker 5 6
ready -7500 0 worker
cswitch -7000 0 worker helper 1 30
profile -6500 0 worker 0x180001000
hardfault -6000 0 worker 4096 200
diskread -5500 0 worker 8192 300
diskwrite -5000 0 helper 512 100
dpc -4500 0 20
isr -4000 0 5
process node node.exe
event -3000 1 %s 178 1 1 0 0x8000 node worker 0102
event -2000 1 %s 999 1 1 9 0x8000 node worker
""" % ((DRIVER,) * 2)


def test_kernel(checker):
    """A system logger beside ORT's provider: the processes that are there, and scripted events."""
    with sim_etw.Machine(checker) as machine:
        trace, pid_file = checker.folder + "/kernel.etl", checker.folder + "/pid"
        stop_file, counter = checker.folder + "/stop", checker.folder + "/counter"
        program = machine.start("node", h.node_arguments("1.23.2", "--pid-file", pid_file,
                                                         "--go-file", pid_file, "--stop-file", stop_file,
                                                         "--counter", counter))
        pid = h.read_pid(pid_file, program)
        session = machine.record("system", ORT, (DRIVER, 4, 0x8000), options=["--file", trace, "--flags", "0x1002977"])
        machine.kernel(KERNEL)
        runs = finished(counter)
        h.wait_until(lambda: finished(counter) > runs + 1, "runs", program=program)
        h.touch(stop_file)
        checker.equal("the program ends", program.wait(), 0)
        session.end()
        ortl = checker.folder + "/kernel.ortl"
        done = h.ortscope(checker.folder, "import", "import", trace, "-o", ortl)
        checker.equal("the file can be imported", done.code, 0)
        timeline = h.load(ortl)
        checker.true("a driver's event by its level", "\n       1  {%s}" % DRIVER in done.out or
                     "\n       1  Microsoft-Windows-DxgKrnl" in done.out, done.out)
        counts = {kind: len(timeline.rows(kind)) for kind in ("sched", "ready", "profile", "fault",
                                                              "disk", "interrupt")}
        checker.equal("scripted events", counts, {"sched": 3, "ready": 1, "profile": 1, "fault": 1,
                                                  "disk": 2, "interrupt": 2})
        checker.true("the process is known", pid in [p["pid"] for p in timeline.rows("process")],
                     timeline.rows("process"))
        checker.true("its runs are there", len(timeline.rows("run")) > 0)
        checker.true("its library is an image",
                     any("onnxruntime.dll" in i["path"].lower() for i in timeline.rows("image")))


# ------------------------------------------------------------------------- as documented


def behave(checker, machine, program, *cases):
    """The checks that a program of ours makes itself."""
    done = machine.run("-".join((program,) + cases), [h.BIN + "/%s.exe" % program, *cases])
    for line in done.out.splitlines():
        if line.startswith("# "):
            print("    " + line)
        elif line.startswith(("ok ", "FAIL ")):
            checker.true(line.split(" ", 1)[1], line.startswith("ok "))
    checker.equal("%s %s ends" % (program, " ".join(cases)), done.code, 9 if "left" in cases else 0)


def test_behaviour(checker):
    """Filters, callbacks, losses, delivery, contents, errors, limits, the kernel's lists."""
    checker.quiet = True
    with sim_etw.Machine(checker) as machine:
        behave(checker, machine, "etw_behaviour")
        behave(checker, machine, "etw_limits", "errors", "event_ids", "limit", "kernel")
        behave(checker, machine, "etw_limits", "left")
        behave(checker, machine, "etw_limits", "stale")
        checker.equal("no session is left", machine.sessions(), {})
        before = {}
        for setting, value, case in (("deny", 1, "denied"), ("deny_system", 1, "user"),
                                     ("backlog", 2, "backlog"), ("stuck_callbacks", 1, "stuck")):
            machine.set(**before, **{setting: value})
            before = {setting: 0}
            behave(checker, machine, "etw_limits", case)


def test_storm(checker):
    """Writers of several processes, losses counted exactly; writers and readers that are killed."""
    with sim_etw.Machine(checker) as machine:
        behave(checker, machine, "etw_storm")
        checker.equal("no session is left", machine.sessions(), {})


TESTS = [test_behaviour, test_storm, test_attach_and_interrupt, test_kernel, test_ort_live_and_file, test_ortscope_beside]

if __name__ == "__main__":
    h.run_tests("sim_etw", TESTS)
