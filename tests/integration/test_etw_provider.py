#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The provider Ortscope with the real runtime, in simulated sessions (tests/sim): what a recording has
is what the ring's file has; levels and keywords; listeners who come late; losses; armed again."""
import collections
import os

import harness as h
import sim_etw
from op_profile import RUNS, arguments

OWN = "937d0347-fd00-5fd6-2307-1209bfa3e656"
COLLECTOR = "23e2a315-0a45-5112-7437-24d5b63b8d89"
VERSION = "1.23.2"
EVERYTHING = (OWN, 5, 0)
ROOMY = ["--buffers", "256", "32", "512"]


class Filed:
    """A session into a file, and the timeline that `import` makes of it."""

    def __init__(self, checker, machine, name, *providers, buffers=ROOMY):
        self.checker, self.name = checker, name
        self.etl = "%s/%s.etl" % (checker.folder, name)
        self.session = machine.record(name, *providers, options=["--file", self.etl, *buffers])

    def end(self):
        self.told = self.session.end()
        ortl = self.ortl = self.etl[:-4] + ".ortl"
        done = h.ortscope(self.checker.folder, "import-" + self.name, "import", "-q", self.etl, "-o", ortl)
        self.checker.equal(self.name + ": the recording can be imported", done.code, 0)
        return h.load(ortl)


def by_number(timeline, kind, column):
    return {row[kind]: row[column] for row in timeline.rows(kind)}


def runs_of(timeline):
    models = by_number(timeline, "session", "model")
    shapes = collections.defaultdict(list)
    for t in timeline.rows("tensor"):
        shapes[t["shape"]].append((t["index"], t["name"], t["element_type"], t["dims"]))
    return collections.Counter(
        (models.get(r["session"]), r["run"], r["thread"], r["call"], r["status"], r["in_flight"],
         tuple(sorted(shapes[r["inputs"]])), tuple(sorted(shapes[r["outputs"]])))
        for r in timeline.rows("run"))


def ops_of(timeline):
    kernels = {k["kernel"]: (k["node"], k["op_type"], k["provider"]) for k in timeline.rows("kernel")}
    return collections.Counter((kernels.get(o["kernel"]), o["run"], o["thread"], o["depth"], o["flags"])
                               for o in timeline.rows("op"))


def plain(timeline, kind, *columns):
    return collections.Counter(tuple(row[c] for c in columns) for row in timeline.rows(kind))


def compare(checker, what, ring, etw):
    """The same rows, but for times: both take them from the same ticks, by different clock readings."""
    checker.equal(what + ": runs and their shapes", runs_of(etw), runs_of(ring))
    checker.equal(what + ": operators", ops_of(etw), ops_of(ring))
    for kind, columns in (
            ("session", ("model", "status", "source", "graph", "options", "providers", "thread")),
            ("module", ("path", "version", "build", "hooked", "refused")),
            ("session_end", ("thread",)),
            ("phase", ("phase", "source")),
            ("kernel_shape", ("parameter_bytes", "activation_bytes", "output_bytes")),
            ("kernel_end", ()),
            ("allocator", ("type", "source", "name", "allocator_class")),
            ("alloc", ("thread", "action", "address", "bytes", "run", "flags")),
            ("memory", ("run", "held_bytes", "in_use_bytes", "allocations")),
            ("run_memory", ("run", "allocated_bytes", "freed_bytes", "allocations", "frees")),
            ("ort_event", ("name", "fields", "thread"))):
        checker.equal("%s: %s rows" % (what, kind), plain(etw, kind, *columns), plain(ring, kind, *columns))
    checker.equal(what + ": nothing was lost", (h.lost(ring), h.lost(etw)), (0, 0))
    spans = [sum(r["duration"] for r in t.rows("run")) for t in (ring, etw)]
    checker.true(what + ": durations have the same scale", spans[0] / 2 < spans[1] < spans[0] * 2, spans)


def traced(checker, machine, name, words, *options):
    trace = "%s/%s.ring.ortl" % (checker.folder, name)
    program = machine.run(name, [h.ORTSCOPE, "run", "-q", "-o", trace, *options, "--", *words])
    checker.equal(name + ": the exit code passes through", program.code, 0)
    return h.load(trace)


def test_same_as_the_ring(checker):
    """Everything, every allocation too; one thread, then operators on other threads."""
    with sim_etw.Machine(checker) as machine:
        for name, more in (("plain", []), ("inter", ["--inter", 2])):
            filed = Filed(checker, machine, "filed-" + name, EVERYTHING, (COLLECTOR, 5, 0))
            ring = traced(checker, machine, name, arguments(VERSION, ["cls_1"], *more), "--alloc", "all")
            etw = filed.end()
            compare(checker, name, ring, etw)
            checker.equal(name + ": runs", len(etw.rows("run")), RUNS)
            marks = [row["text"].split()[1] for row in etw.rows("mark")]
            checker.equal(name + ": the collector's marks", marks,
                          ["CaptureBegin", "TargetBegin", "TargetEnd", "CaptureEnd"])


def test_levels_and_keywords(checker):
    """Two sessions that want different things: each gets its own, neither sees a gap."""
    with sim_etw.Machine(checker) as machine:
        runs = Filed(checker, machine, "runs", (OWN, 4, 2))
        ops = Filed(checker, machine, "ops", (OWN, 5, 8))
        live = machine.record("live", (sim_etw.ORT_PROVIDER, 4, 0), options=ROOMY)
        errors = machine.record("errors", (OWN, 2, 0x3f), options=ROOMY)
        ring = traced(checker, machine, "node", arguments(VERSION, ["cls_1"]))
        runs, ops = runs.end(), ops.end()
        checker.equal("runs of the one", len(runs.rows("run")), RUNS)
        checker.equal("it has no operators, kernels, sessions",
                      [len(runs.rows(k)) for k in ("op", "kernel", "session")], [0, 0, 0])
        checker.equal("operators of the other", ops_of(ops), ops_of(ring))
        checker.equal("it has no runs", len(ops.rows("run")), 0)
        checker.equal("neither lost anything", (h.lost(runs), h.lost(ops)), (0, 0))
        names = live.end()["names"]
        checker.equal("who listens to ORT gets nothing of ours",
                      [n for n in ("Run", "Ops", "Kernel", "Session", "Clock") if n in names], [])
        names = errors.end()["names"]
        checker.equal("errors only: none of the others", [n for n in ("Run", "Session", "Ops") if n in names],
                      [])
        checker.true("but readings of the clock, which go with every level", names.get("Clock"), names)


LIVE = {  # session: what it asks for, what it must get of one program's events, what it must not get
    "ort all": ((sim_etw.ORT_PROVIDER, 5, 0), {"EvaluationStart": RUNS, "EvaluationStop": RUNS,
                                               "SessionCreation": 1}, []),
    "ort facts": ((sim_etw.ORT_PROVIDER, 4, 1), {"SessionCreation": 1},
                  ["EvaluationStart", "EvaluationStop", "RuntimePerf", "ProcessInfo"]),
    "ort log": ((sim_etw.ORT_PROVIDER, 5, 2), {"EvaluationStart": RUNS, "EvaluationStop": RUNS},
                ["SessionCreation", "SessionCreationStart", "RuntimePerf", "ProcessInfo"]),
    "ort errors": ((sim_etw.ORT_PROVIDER, 2, 0), {},
                   ["EvaluationStart", "SessionCreation", "SessionCreationStart"]),
    "own runs": ((OWN, 4, 2), {"Run": RUNS}, ["Session", "Module", "Kernel", "Ops", "RunMemory"]),
    "own kernels": ((OWN, 4, 8), {"Kernel": None}, ["Ops", "Run", "Session"]),
    "own operators": ((OWN, 5, 8), {"Kernel": None, "Ops": None}, ["Run", "Session", "RunMemory"]),
}


def test_live_filters(checker):
    """Seven sessions that are read live: what is below the level or outside the keywords stays away."""
    with sim_etw.Machine(checker) as machine:
        sessions = {name: machine.record(name, wish, options=["--buffers", "64", "16", "256"])
                    for name, (wish, _, _) in LIVE.items()}
        ring = traced(checker, machine, "node", arguments(VERSION, ["cls_1"]))
        for name, (_, wanted, unwanted) in LIVE.items():
            told = sessions[name].end()
            names = told["names"]
            exact = {n: count for n, count in wanted.items() if count}
            checker.equal(name + ": comes", {n: names.get(n) for n in exact}, exact)
            checker.true(name + ": every kind of it", all(names.get(n) for n in wanted), names)
            checker.equal(name + ": stays away", {n: names[n] for n in unwanted if n in names}, {})
            checker.equal(name + ": nothing is lost", told["lost"], 0)
        checker.equal("the ring has all of it", (len(ring.rows("run")), h.lost(ring)), (RUNS, 0))


class Looping:
    """classify.js on the machine, until told to stop."""

    def __init__(self, checker, machine, name, before=()):
        base = "%s/%s" % (checker.folder, name)
        self.stop_file, self.counter, self.pid_file = (base + e for e in (".stop", ".count", ".pid"))
        for path in (self.stop_file, self.counter, self.pid_file):
            if os.path.exists(os.path.join(h.ROOT, path)):
                os.unlink(os.path.join(h.ROOT, path))
        self.program = machine.start(name, [*before, *h.node_arguments(
            VERSION, "--stop-file", self.stop_file, "--seconds", h.FOREVER, "--counter", self.counter,
            "--pid-file", self.pid_file)])
        self.pid = h.read_pid(self.pid_file, self.program)
        self.more_runs(3)

    def count(self):
        path = os.path.join(h.ROOT, self.counter)
        if not os.path.exists(path):
            return 0
        with open(path) as file:
            text = file.read().strip()
        return int(text) if text else 0

    def more_runs(self, number):
        goal = self.count() + number
        h.wait_until(lambda: self.count() >= goal, "%d more runs" % number, program=self.program)

    def finish(self, checker):
        h.touch(self.stop_file)
        checker.equal("the program ends well", self.program.wait(), 0)


def test_late_listener(checker):
    """Who begins to listen in the middle is told of modules, sessions, shapes and kernels."""
    with sim_etw.Machine(checker) as machine:
        trace = checker.folder + "/late.ring.ortl"
        target = Looping(checker, machine, "target", [h.ORTSCOPE, "run", "-q", "-o", trace, "--"])
        filed = Filed(checker, machine, "late", EVERYTHING)
        target.more_runs(20)
        etw = filed.end()
        target.more_runs(3)
        target.finish(checker)
        ring = h.load(trace)
        checker.true("runs were recorded, not from the first on",
                     len(etw.rows("run")) >= 10 and min(r["run"] for r in etw.rows("run")) > 1)
        for kind, columns in (("session", ("model", "graph", "options", "providers", "thread")),
                              ("module", ("path", "version", "hooked"))):
            checker.equal("the %s of the ring's file" % kind, plain(etw, kind, *columns),
                          plain(ring, kind, *columns))
        checker.equal("all runs are the ring's", runs_of(etw) - runs_of(ring), collections.Counter())
        checker.equal("all operators are the ring's, with their names", ops_of(etw) - ops_of(ring),
                      collections.Counter())
        loads = [[s["load"] for s in t.rows("session")] for t in (ring, etw)]
        checker.true("how long loading took is known", 0 < loads[0][0] / 2 < loads[1][0] < loads[0][0] * 2,
                     loads)
        checker.equal("nothing was lost", (h.lost(ring), h.lost(etw)), (0, 0))


def test_armed_again(checker):
    """One recording over two captures of the same process: registered, unregistered, registered."""
    with sim_etw.Machine(checker) as machine:
        target = Looping(checker, machine, "target")
        filed = Filed(checker, machine, "twice", EVERYTHING)
        rings = []
        for name in ("first", "second"):
            trace = "%s/%s.ring.ortl" % (checker.folder, name)
            attached = h.attach(checker.folder, name, target.pid, trace)
            target.more_runs(10)
            attached.interrupt()
            checker.equal(name + ": attach ends well", attached.wait(), 0)
            rings.append(h.load(trace))
            target.more_runs(3)
        etw = filed.end()
        target.finish(checker)
        checker.equal("the recording has the runs of both", len(etw.rows("run")),
                      sum(len(r.rows("run")) for r in rings))
        checker.equal("and their operators", len(etw.rows("op")), sum(len(r.rows("op")) for r in rings))
        checker.equal("nothing was lost", h.lost(etw), 0)


def test_full_buffers_are_told(checker):
    """A session that nobody reads fills up: the ring's file says how many events were not taken."""
    with sim_etw.Machine(checker) as machine:
        stale = machine.record("stale", EVERYTHING, options=["--buffers", "64", "2", "2", "--leave"])
        stale.end()
        ring = traced(checker, machine, "node", arguments(VERSION, ["cls_1"]))
        told = [row for row in ring.rows("log") if "not taken by event tracing" in row["message"]]
        checker.true("a remark tells of it", told, [r["message"] for r in ring.rows("log")])
        checker.equal("with the reason: no buffers", {row["code"] for row in told}, {8})
        checker.equal("the ring's own events are all there", (len(ring.rows("run")), h.lost(ring)), (RUNS, 0))


MISSING, BY_WINDOWS = 10, 5  # lost.cause


def test_gaps_are_losses(checker):
    """A file that can't keep up: what is missing by the events' numbers is told, in the summary too."""
    with sim_etw.Machine(checker) as machine:
        trace = checker.folder + "/gaps.ring.ortl"
        target = Looping(checker, machine, "target", [h.ORTSCOPE, "run", "-q", "-o", trace, "--"])
        filed = Filed(checker, machine, "gaps", EVERYTHING, buffers=["--buffers", "64", "4", "4"])
        target.more_runs(5)
        # What was there before is told in one go and may be too much already; nothing follows that.
        before = machine.sessions()["gaps"]["events_lost"]
        machine.set(hold_files=1)
        h.wait_until(lambda: machine.sessions()["gaps"]["events_lost"] > before + 50, "losses",
                     program=target.program)
        machine.set(hold_files=0)
        target.more_runs(20)
        etw = filed.end()
        target.finish(checker)
        ring = h.load(trace)
        lost, by_cause = filed.told["lost"], collections.Counter()
        for row in etw.rows("lost"):
            by_cause[row["cause"]] += row["events"]
        checker.equal("only what is missing, and what nobody could see missing",
                      set(by_cause) - {MISSING, BY_WINDOWS}, set())
        checker.true("what runs would have told shows by the numbers", by_cause[MISSING] > 20, by_cause)
        checker.equal("all that the session lost", sum(by_cause.values()), lost)
        checker.equal("of the recorded process", {row["process"] for row in etw.rows("lost")
                                                  if row["cause"] == MISSING},
                      {row["process"] for row in etw.rows("process")})
        numbers = sorted(r["run"] for r in etw.rows("run"))
        checker.true("runs are missing in the middle", numbers[-1] - numbers[0] + 1 > len(numbers),
                     (numbers[0], numbers[-1], len(numbers)))
        checker.equal("none is made up", runs_of(etw) - runs_of(ring), collections.Counter())
        checker.equal("the summary's JSON", h.summary(filed.ortl)["lost_events"], lost)
        text = h.ortscope(checker.folder, "summary", "summary", filed.ortl)
        checker.true("the summary", "%d" % by_cause[MISSING] in text.out.replace(",", ""), text.out)
        checker.equal("the ring lost nothing", h.lost(ring), 0)


TESTS = [test_same_as_the_ring, test_levels_and_keywords, test_live_filters, test_gaps_are_losses,
         test_late_listener, test_armed_again,
         test_full_buffers_are_told]

if __name__ == "__main__":
    h.run_tests("etw_provider", TESTS)
