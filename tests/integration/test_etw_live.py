#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""--etw and --no-hooks: the real ONNX Runtime's events through a simulated event tracing (tests/sim), and
what becomes of refusals, overload, and sessions that nobody stopped. Without the simulation Wine's functions
answer, which do nothing."""
import collections
import re

import harness as h
import sim_etw

VERSIONS = ["1.15.0", "1.20.1", "1.30.0"]
NAME_THE_SESSION = ["1.23.2", "1.30.0"]
VERSION = "1.23.2"
RUNS = 25
SLACK_NS = 5_000_000  # of two clocks that are compared; never close to it
BY_EVENTS = 3  # run.call
NO_ROOM, TOO_SLOW = 5, 9  # lost.cause
KEYWORDS = 0x400000000101
ORT = (sim_etw.ORT_PROVIDER, 5, KEYWORDS)


def node(version=VERSION, *more):
    return h.node_arguments(version, "--runs", RUNS, *more)


def messages(timeline):
    return " ".join(row["message"] for row in timeline.rows("log"))


def print_delay(timeline):
    """Measured, never asserted: how late the events came. The simulation's own flushing is in it."""
    said = re.search(r"Event tracing's events came after [^)]*\)[^)]*\)[^)]*\)", messages(timeline))
    print("    " + (said.group(0) if said else "no delays told"))


def our_sessions(machine):
    return [name for name in machine.sessions() if name.startswith("ortscope-")]


class Waiting:
    """A program on the machine that has its sessions, and runs them when told to."""

    def __init__(self, machine, name, *more, version=VERSION):
        base = "%s/%s" % (machine.folder, name)
        self.go, self.stop, pid_file = (base + e for e in (".go", ".stop", ".pid"))
        self.program = machine.start(name, h.node_arguments(
            version, "--pid-file", pid_file, "--go-file", self.go, *more))
        self.pid = h.read_pid(pid_file, self.program)
        self.machine = machine

    def watch(self, name, *options, word="watching"):
        trace = "%s/%s.ortl" % (self.machine.folder, name)
        collector = self.machine.start(
            name, [h.ORTSCOPE, "attach", self.pid, "-q", "-o", trace, *options])
        h.wait_until(lambda: "%s process %d" % (word, self.pid) in collector.err,
                     "attach of " + name, program=collector)
        collector.trace = trace
        return collector


# ------------------------------------------------------------------------- the same by both ways


def by_thread(timeline):
    threads = {}
    for run in sorted(timeline.rows("run"), key=lambda r: r["begin"]):
        threads.setdefault(run["thread"], []).append(run)
    return threads


def compare_sessions(checker, version, pairs):
    """Run by run the same session, whatever its number in the file, and the same number within it."""
    same = {(o["session"], i["session"]) for o, i in pairs}
    checker.equal(version + ": three sessions, each is one of the other file's",
                  [len(same), len({o for o, _ in same}), len({i for _, i in same})], [3, 3, 3])
    checker.equal(version + ": the number of each run in its session", [i["run"] for _, i in pairs],
                  [o["run"] for o, _ in pairs])


def events_equal_rings(checker):
    """one program, seen by the rings and by events alone: the same runs, one inside the other"""
    for version in VERSIONS:
        with sim_etw.Machine(checker, version) as machine:
            target = Waiting(machine, "node-" + version, "--runs", RUNS, "--mixed", version=version)
            rings = target.watch("rings-" + version, "--ops", "off", word="armed")
            events = target.watch("events-" + version, "--no-hooks", "--etw", "ort")
            listens = [p for s in machine.sessions().values() for p in s["providers"]
                       if p["provider"] == sim_etw.ORT_PROVIDER]
            checker.equal(version + ": what is asked of ORT",
                          [(p["level"], p["any"]) for p in listens], [(5, KEYWORDS)])
            h.touch(target.go)
            checker.equal(version + ": the program ends well", target.program.wait(), 0)
            checker.equal(version + ": both captures end well", (rings.wait(), events.wait()), (0, 0))
            compare(checker, version, h.load(rings.trace), h.load(events.trace))
            checker.equal(version + ": no session is left", our_sessions(machine), [])


def compare(checker, version, rings, events):
    print_delay(events)
    checker.equal(version + ": nothing lost", (h.lost(rings), h.lost(events)), (0, 0))
    checker.equal(version + ": runs", (len(rings.rows("run")), len(events.rows("run"))), (RUNS, RUNS))
    checker.equal(version + ": who tells", {r["call"] for r in events.rows("run")}, {BY_EVENTS})
    outer, inner = by_thread(rings), by_thread(events)
    checker.equal(version + ": runs of each thread", {t: len(r) for t, r in inner.items()},
                  {t: len(r) for t, r in outer.items()})
    pairs = [(o, i) for thread, runs in outer.items() for o, i in zip(runs, inner.get(thread, []))]
    spans = [(sim_etw.on_qpc(rings, o), sim_etw.on_qpc(events, i)) for o, i in pairs]
    outside = [(o, i) for o, i in spans if i[0] < o[0] - SLACK_NS or i[1] > o[1] + SLACK_NS]
    checker.equal(version + ": each lies in the call that made it", outside[:2], [])
    checker.equal(version + ": status of each", [i["status"] for _, i in pairs],
                  [o["status"] for o, _ in pairs])
    checker.true(version + ": almost all of each call is the run",
                 sum(i["duration"] for _, i in pairs) > sum(o["duration"] for o, _ in pairs) / 2,
                 spans[:3])
    if version in NAME_THE_SESSION:
        compare_sessions(checker, version, pairs)
    checker.equal(version + ": nothing of ORT's log", [r for r in events.rows("ort_event")
                                                       if "Log" in r["name"]], [])


def launched(checker):
    """a program that is launched and watched from outside only"""
    with sim_etw.Machine(checker) as machine:
        trace = checker.folder + "/a.ortl"
        program = machine.run("a", [h.ORTSCOPE, "run", "-q", "--no-hooks", "--etw", "-o", trace, "--",
                                    *node(VERSION, "--exit-code", 7)])
        checker.equal("the exit code passes through", program.code, 7)
        timeline = h.load(trace)
        runs = timeline.rows("run")
        checker.equal("runs", ([r["run"] for r in runs], {r["call"] for r in runs}),
                      (list(range(1, RUNS + 1)), {BY_EVENTS}))
        checker.equal("the session", [(s["source"], s["status"]) for s in timeline.rows("session")],
                      [(8, 0)])
        checker.equal("the runtime", [m["version"] for m in timeline.rows("module")], [VERSION])
        checker.equal("no operators from outside", timeline.rows("op"), [])
        print_delay(timeline)
        mine = {r["process"] for r in timeline.rows("process")}
        checker.equal("threads and images of the program alone",
                      ({r["process"] for r in timeline.rows("thread") + timeline.rows("image")} - mine),
                      set())
        checker.equal("nothing was lost", h.lost(timeline), 0)


def beside_the_hooks(checker):
    """where the hook is, no run is told twice"""
    with sim_etw.Machine(checker) as machine:
        trace = checker.folder + "/a.ortl"
        program = machine.run("a", [h.ORTSCOPE, "run", "-q", "--etw", "all", "-o", trace, "--", *node()])
        checker.equal("the program ends well", program.code, 0)
        timeline = h.load(trace)
        checker.equal("runs", len(timeline.rows("run")), RUNS)
        checker.equal("by the hook", [r for r in timeline.rows("run") if r["call"] == BY_EVENTS], [])
        checker.equal("one session", len(timeline.rows("session")), 1)
        checker.true("events came", re.search("handed over [1-9]", messages(timeline)),
                     messages(timeline))


KERNEL = """base now
thread app node.exe 0
thread other etw_recorder.exe 0
cswitch -900 0 app 0 2 0
cswitch -700 0 other app 1 32
cswitch -500 0 0 other 5 15
cswitch -300 0 app 0 2 0
profile -200 0 app 0x7ff800001234
profile -190 0 other 0x7ff800005678
hardfault -150 0 app 4096 50
diskread -100 0 app 8192 60
ready -50 0 app
"""


def what_the_kernel_tells(checker):
    """switches, samples, faults and transfers of the program; of others only who took the processor"""
    with sim_etw.Machine(checker) as machine:
        other = machine.record("other", ORT)
        target = Waiting(machine, "node", "--runs", RUNS)
        events = target.watch("events", "--etw", "kernel,ort", word="armed")
        machine.kernel(KERNEL)
        h.touch(target.go)
        checker.equal("the program ends well", target.program.wait(), 0)
        checker.equal("the capture ends well", events.wait(), 0)
        other.end()
        timeline = h.load(events.trace)
        mine = timeline.rows("process")[0]["process"]
        names = {r["process"]: r["program"] for r in timeline.rows("bystander")}
        switches = sorted(timeline.rows("sched"), key=lambda r: r["time"])
        checker.equal("who takes the processor, and who has it taken away",
                      [(r["old_process"], r["new_process"] in (mine, 0) or names.get(r["new_process"]),
                        r["state"]) for r in switches],
                      [(0, True, 2), (mine, "etw_recorder.exe", 1), (0, True, 2)])
        checker.equal("samples of the program alone",
                      [(r["process"], r["address"]) for r in timeline.rows("profile")],
                      [(mine, 0x7ff800001234)])
        checker.equal("faults and transfers",
                      [[(r["process"], r["bytes"]) for r in timeline.rows(kind)]
                       for kind in ("fault", "disk")], [[(mine, 4096)], [(mine, 8192)]])
        checker.equal("who woke it is known", [(r["process"], r["by_process"])
                                               for r in timeline.rows("ready")], [(mine, mine)])
        checker.equal("no one else's name", set(names.values()) - {"etw_recorder.exe"}, set())
        checker.equal("threads and images of the program alone",
                      {r["process"] for r in timeline.rows("thread") + timeline.rows("image")}, {mine})
        checker.equal("runs, once", len(timeline.rows("run")), RUNS)
        checker.equal("nothing was lost", h.lost(timeline), 0)


def children_from_outside(checker):
    """without a hook, children are followed as event tracing tells of them"""
    with sim_etw.Machine(checker) as machine:
        trace, pid_file, go_file = (checker.folder + "/a" + e for e in (".ortl", ".pid", ".go"))
        program = machine.start("a", [
            h.ORTSCOPE, "run", "-q", "--no-hooks", "--etw", "-o", trace, "--",
            *h.driver_arguments(VERSION, "--spawn", "--pid-file", pid_file, "--go-file", go_file,
                                "--exit-code", 12)])
        child = h.read_pid(pid_file, program)
        h.wait_until(lambda: child in [p["pid"] for p in h.load(trace).rows("process")],
                     "the child in the file", program=program)
        h.touch(go_file)
        checker.equal("the exit code passes through", program.wait(), 12)
        timeline = h.load(trace)
        rows = timeline.rows("process")
        checker.equal("parent and child", [(p["process"], p["parent"], p["how"]) for p in rows],
                      [(1, 0, 4), (2, 1, 2)])
        modules = {m["module"]: m["process"] for m in timeline.rows("module")}
        sessions = {s["session"]: modules[s["module"]] for s in timeline.rows("session")}
        checker.equal("the runs are the child's", {sessions[r["session"]] for r in timeline.rows("run")},
                      {2})
        checker.equal("both ends", [p["exit_code"] for p in timeline.rows("process_end")], [12, 12])


def guarded_child(checker):
    """a child that nobody may write into: the hook can't enter, event tracing tells of its runs"""
    with sim_etw.Machine(checker) as machine:
        for name, options in (("with", ["--etw", "ort"]), ("without", [])):
            trace = "%s/%s.ortl" % (checker.folder, name)
            program = machine.run(name, [h.ORTSCOPE, "run", "-q", *options, "-o", trace, "--",
                                         h.BIN + "/guarded_spawn.exe", *node(VERSION, "--exit-code", 9)])
            checker.equal(name + ": the exit code passes through", program.code, 9)
            timeline = h.load(trace)
            checker.true(name + ": says why it is not followed", "is not followed" in messages(timeline)
                         and "denies access" in messages(timeline), messages(timeline))
            checker.equal(name + ": nothing was lost", h.lost(timeline), 0)
            if options:
                check_guarded(checker, timeline)
            else:
                checker.equal(name + ": the parent alone, no runs",
                              (len(timeline.rows("process")), len(timeline.rows("run"))), (1, 0))


def check_guarded(checker, timeline):
    rows = timeline.rows("process")
    checker.equal("parent and child", [(p["process"], p["parent"], p["how"]) for p in rows],
                  [(1, 0, 0), (2, 1, 2)])
    modules = {m["module"]: m["process"] for m in timeline.rows("module")}
    sessions = {s["session"]: modules.get(s["module"]) for s in timeline.rows("session")}
    checker.equal("its runs, by events", collections.Counter(
        (sessions.get(r["session"]), r["call"]) for r in timeline.rows("run")), {(2, BY_EVENTS): RUNS})
    checker.equal("no operators", timeline.rows("op"), [])
    checker.equal("both ends", [p["exit_code"] for p in timeline.rows("process_end")], [9, 9])


# --------------------------------------------------------------------------------------- overload


def overload(checker):
    """too few buffers and a slow reader: what is missing was counted"""
    with sim_etw.Machine(checker) as machine:
        target = Waiting(machine, "node", "--seconds", h.FOREVER, "--stop-file",
                         checker.folder + "/node.stop")
        whole = machine.record("whole", ORT, options=["--buffers", "128", "64", "512"])
        rings = target.watch("rings", "--ops", "off", "--alloc", "off", word="armed")
        machine.set(consumer_delay=300)
        events = target.watch("events", "--no-hooks", "--etw", "ort", "--etw-buffers", "2")
        h.touch(target.go)
        [name] = our_sessions(machine)
        h.wait_until(lambda: machine.sessions()[name]["events_lost"], "losses", program=target.program)
        h.touch(target.stop)
        checker.equal("the program ends well", target.program.wait(), 0)
        made = h.report_of(target.program.out)[0]["runs"]
        checker.equal("the captures end well", (events.wait(), rings.wait()), (0, 0))
        timeline, told = h.load(events.trace), whole.end()
        written = told["events"] - told["headers"]
        checker.equal("the session beside it lost nothing", told["lost"], 0)
        lost = sum(r["events"] for r in timeline.rows("lost") if r["cause"] == NO_ROOM)
        seen = int(re.search(r"handed over (\d+) events", messages(timeline)).group(1))
        checker.true("some were lost", lost > 0, lost)
        checker.equal("seen and lost are what was written", seen + lost, written)
        checker.equal("no other loss", {r["cause"] for r in timeline.rows("lost")}, {NO_ROOM})
        truth = h.load(rings.trace)
        calls = [sim_etw.on_qpc(truth, run) for run in truth.rows("run")]
        runs = [sim_etw.on_qpc(timeline, run) for run in timeline.rows("run")]
        made_up = [r for r in runs if not any(c[0] - SLACK_NS <= r[0] and r[1] <= c[1] + SLACK_NS
                                              for c in calls)]
        checker.equal("no run is made up of two", (len(calls), made_up[:2]), (made, []))


# --------------------------------------------------------------------------------------- refusals


def refused(checker, machine, name, options, sentences):
    trace = "%s/%s.ortl" % (checker.folder, name)
    program = machine.run(name, [h.ORTSCOPE, "run", "-q", *options, "-o", trace, "--", *node()])
    checker.equal(name + ": the program ends well", program.code, 0)
    for sentence in sentences:
        checker.true("%s: says \"%s\"" % (name, sentence), sentence in program.err, program.err)
    timeline = h.load(trace)
    checker.equal(name + ": everything else is there",
                  (len(timeline.rows("run")), h.lost(timeline), len(timeline.rows("op")) > 0),
                  (RUNS, 0, True))
    checker.true(name + ": the file tells it too", sentences[0] in messages(timeline),
                 messages(timeline))
    checker.equal(name + ": no session is left", our_sessions(machine), [])
    return program


def without_rights(checker):
    """no rights: says which and how to get them, and goes on without"""
    with sim_etw.Machine(checker) as machine:
        machine.set(deny=1)
        refused(checker, machine, "none", ["--etw"],
                ["--etw kernel needs administrator rights",
                 "net localgroup \"Performance Log Users\" \"%USERNAME%\" /add"])
        machine.set(deny=0, deny_system=1)
        program = refused(checker, machine, "log-user", ["--etw", "kernel,ort"],
                          ["--etw kernel needs administrator rights"])
        checker.true("ort itself is allowed", "--etw ort needs" not in program.err, program.err)


def no_free_session(checker):
    """as many sessions as Windows allows"""
    with sim_etw.Machine(checker) as machine:
        other = machine.record("other", ORT)
        machine.set(sessions=1)
        refused(checker, machine, "full", ["--etw", "ort"],
                ["as many event tracing sessions as Windows allows"])
        other.end()


def not_there(checker):
    """where event tracing does nothing"""
    trace = checker.folder + "/a.ortl"
    program = h.ortscope(checker.folder, "a", "run", "-q", "--etw", "-o", trace, "--", *node())
    checker.equal("the program ends well", program.code, 0)
    checker.true("says so", "Event tracing (--etw) is not available here" in program.err, program.err)
    checker.equal("everything else is there", len(h.load(trace).rows("run")), RUNS)


def usage(checker):
    """what makes no sense is refused with what does"""
    for name, options, words in (
            ("word", ["--etw", "foo"], "some of kernel, ort, gpu"),
            ("nothing", ["--no-hooks", "--counters", "off"], "nothing to record; add --etw ort"),
            ("ops", ["--no-hooks", "--ops", "all"], "--no-hooks stays out of the process"),
            ("buffers", ["--etw", "ort", "--etw-buffers", "1"], "--etw-buffers takes 2 to 1024")):
        program = h.ortscope(checker.folder, name, "run", *options, "--", "none.exe")
        checker.true("%s: refused" % name, program.code == 2 and words in program.err, program.err)


TESTS = [events_equal_rings, launched, beside_the_hooks, what_the_kernel_tells, children_from_outside,
         guarded_child, overload, without_rights, no_free_session, not_there, usage]

if __name__ == "__main__":
    h.run_tests("etw_live", TESTS)
