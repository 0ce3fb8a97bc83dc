#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Allocations: what ortscope counts equals what ORT's own AllocatorGetStats tells the program about
the same runs (1.23 and later), and holds together by itself in every version: each release has its
allocation, the sums fit, nothing is left when the sessions are gone. Outputs are bit-identical, and
after a detach the runtime's read-only data are what they were."""
import collections
import os

import harness as h

RUNNER = h.BIN + "/model_runner.exe"
ALLOC_RUNNER = h.BIN + "/alloc_runner.exe"
VERSIONS = ["1.15.0", "1.17.0", "1.17.3", "1.20.1", "1.23.2", "1.30.0"]
TOLD = ["1.23.2", "1.30.0"]  # those in which ORT tells the program its statistics
NAMED = ["1.17.3", "1.20.1", "1.23.2", "1.30.0"]  # those whose classes have names
ALLOCATED, RELEASED, RESERVED = 0, 1, 2
LOADING, AMBIGUOUS, FAILED = 1, 2, 4
C_API, CPU_ARENA, NO_ARENA = 1, 2, 3
BY_OBJECT = 3  # allocator.source
RUNS = 6
OUTPUT_BYTES = 8  # cls: two classes of float32

STATE = {"NumAllocs": "allocations", "NumReserves": "reserves",
         "NumArenaExtensions": "extensions", "NumArenaShrinkages": "shrinks",
         "InUse": "in_use_bytes", "TotalAllocated": "held_bytes", "MaxInUse": "peak_bytes",
         "MaxAllocSize": "largest_bytes"}


def alloc_runner(version, *more):
    return [ALLOC_RUNNER, h.dll(version), h.PICTURE_MODELS + "/cls.onnx", "x", "softmax_0.tmp_0",
            "1,3,48,192", RUNS] + list(more)


def model_runner(version, runs, *more):
    return [RUNNER, "--dll", h.dll(version), "--runs", runs] + list(more)


CLS = ["--model", h.PICTURE_MODELS + "/cls.onnx", "--input", "x=float:1,3,48,192", "--output",
       "softmax_0.tmp_0"]
SMALL = ["--model", "build/integration/models/affine.onnx", "--input", "X=float:2,4", "--input",
         "S=float:2,3", "--output", "Y", "--output", "Z"]


def recorded(checker, name, words, *options):
    trace = "%s/%s.ortl" % (checker.folder, name)
    program = h.ortscope(checker.folder, "run-" + name, "run", "-q", "-o", trace, *options, "--",
                         *words)
    checker.equal(name + ": the exit code passes through", program.code, 0)
    timeline = h.load(trace)
    checker.equal(name + ": the file is whole, nothing was lost, nothing refused",
                  (timeline.damage, h.lost(timeline),
                   [row["message"] for row in timeline.rows("log")
                    if "recorded" in row["message"]]), (None, 0, []))
    return timeline, h.report_of(program.out)[0]


# ----------------------------------------------------------------------------- what must hold


def check_pairs(checker, name, timeline, whole=True):
    """Goes through what happened to each address; returns what is left at the end."""
    # Where classes have no names, what is no arena is known by the first object of it. Other threads
    # may be in the middle of their sessions then, and release what was given out before.
    late = {r["allocator"] for r in timeline.rows("allocator")
            if r["type"] == NO_ARENA and r["source"] == BY_OBJECT}
    events = collections.defaultdict(list)
    for row in timeline.rows("alloc"):
        events[row["address"]].append(row)
    wrong, left = [], {}
    for address, rows in events.items():
        rows.sort(key=lambda row: row["time"])
        held = None
        for row in rows:
            if row["action"] == RELEASED:
                known = held or (whole and row["allocator"] not in late)
                if known and row["bytes"] != (held["bytes"] if held else None):
                    wrong.append(("released", row, held))
                held = None
            elif held:
                wrong.append(("given out twice", row, held))
            else:
                held = row
        if held:
            left[address] = held
    checker.equal(name + ": every release has its allocation, with its size", wrong[:2], [])
    return left


def check_sums(checker, name, timeline):
    """Rows of runs against the single allocations."""
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for row in timeline.rows("alloc"):
        if row["run"] and not row["flags"] & (LOADING | AMBIGUOUS):
            part = 2 if row["action"] == RELEASED else 0
            sums[(row["session"], row["run"])][part] += 1
            sums[(row["session"], row["run"])][part + 1] += row["bytes"]
    ended = {(r["session"], r["run"]) for r in timeline.rows("run")}
    sums = {key: value for key, value in sums.items() if key in ended}
    told = {(r["session"], r["run"]): [r["allocations"], r["allocated_bytes"], r["frees"],
                                       r["freed_bytes"]]
            for r in timeline.rows("run_memory") if r["run"]}
    checker.equal(name + ": what a run took is the sum of its allocations",
                  {k: (told.get(k), sums.get(k)) for k in told.keys() | sums.keys()
                   if told.get(k) != sums.get(k)}, {})
    check_peaks(checker, name, timeline)


def check_peaks(checker, name, timeline):
    checker.equal(name + ": a run's peak is not more than all that it took",
                  [r for r in timeline.rows("run_memory")
                   if not 0 <= r["peak_bytes"] <= r["allocated_bytes"]][:2], [])


def check_allocators(checker, name, timeline, kinds):
    known = {row["allocator"]: row for row in timeline.rows("allocator")}
    checker.equal(name + ": types of allocators", {row["type"] for row in known.values()}, kinds)
    used = {row["allocator"] for kind in ("alloc", "memory") for row in timeline.rows(kind)}
    checker.equal(name + ": every allocator is described", used - known.keys(), set())
    checker.equal(name + ": they allocate from the CPU's memory",
                  {row["name"] for row in known.values()}, {"Cpu"})


# --------------------------------------------------------------------------- against ORT itself


def states_of(timeline):
    return [{ours: row[ours] for ours in STATE.values()} for row in timeline.rows("memory")]


def told(state):
    return {ours: state[theirs] for theirs, ours in STATE.items()}


def as_ort_counts(checker, version):
    timeline, report = recorded(checker, "counts", alloc_runner(version))
    states = report["states"]
    checker.equal("ORT told the program its statistics", len(states), RUNS + 2)
    rows = timeline.rows("memory")
    checker.equal("after creation, after the first run and at the end the arena is as ORT says",
                  [states_of(timeline)[i] for i in (0, 1, -1)],
                  [told(states[i]) for i in (0, 1, -1)])
    checker.equal("these are told after no run, run 1 and no run",
                  [rows[i]["run"] for i in (0, 1, -1)], [0, 1, 0])
    checker.equal("each state that was told after a run is that run's",
                  [row["run"] for row, state in zip(rows, states_of(timeline))
                   if row["run"] and state != told(states[row["run"]])], [])
    runs = timeline.rows("run_memory")
    checker.equal("each run allocated as often as ORT counts",
                  [r["allocations"] for r in runs],
                  [b["NumAllocs"] - a["NumAllocs"] for a, b in zip(states, states[1:-1])])
    checker.equal("and grew the arena by as much",
                  [r["grown_bytes"] for r in runs],
                  [b["TotalAllocated"] - a["TotalAllocated"]
                   for a, b in zip(states, states[1:-1])])
    # ORT rounds each allocation up to 256 bytes, so what is in use is never less.
    checker.true("what a session holds is what ORT has in use, but for its rounding",
                 all(0 <= r["live_bytes"] <= s["InUse"] for r, s in zip(runs, states[1:])),
                 [(r["live_bytes"], s["InUse"]) for r, s in zip(runs, states[1:])])


def every_allocation(checker, version):
    words = model_runner(version, RUNS, *CLS)
    alone = h.run(checker.folder, "alone", words)
    timeline, report = recorded(checker, "all", words, "--alloc", "all")
    checker.equal("outputs are bit-identical", report["output_hash"],
                  h.report_of(alone.out)[0]["output_hash"])
    left = check_pairs(checker, "all", timeline)
    checker.equal("nothing is left when the session is gone", list(left.values())[:2], [])
    check_sums(checker, "all", timeline)
    arenas = {r["allocator"] for r in timeline.rows("allocator") if r["type"] == CPU_ARENA}
    checker.equal("one arena, which is the session's",
                  [(r["session"], r["allocator_class"]) for r in timeline.rows("allocator")
                   if r["type"] == CPU_ARENA],
                  [(1, "onnxruntime::BFCArena" if version in NAMED else "")])
    allocations = [r for r in timeline.rows("alloc") if r["action"] != RELEASED]
    checker.equal("in runs the arena alone is asked",
                  {r["allocator"] for r in allocations if r["run"]}, arenas)
    # ORT releases the session's own inputs' copies and outputs outside: what it took stays ours.
    checker.true("each run took at least its output",
                 all(r["allocated_bytes"] >= OUTPUT_BYTES for r in timeline.rows("run_memory")) and
                 len(timeline.rows("run_memory")) == RUNS, timeline.rows("run_memory"))
    states = sorted(timeline.rows("memory"), key=lambda r: r["time"])  # told by two threads
    checker.equal("what runs took from the system is what the arena has grown by",
                  sum(r["grown_bytes"] for r in timeline.rows("run_memory")),
                  states[-1]["held_bytes"] - states[0]["held_bytes"])
    kernels = {k["kernel"]: k["session"] for k in timeline.rows("kernel")}
    first = [r for r in allocations if r["run"] == 1]
    checker.true("most of the first run's are an operator's",
                 sum(kernels.get(r["kernel"]) == 1 for r in first) > len(first) / 2,
                 collections.Counter(r["kernel"] for r in first))
    loading = [r for r in allocations if r["flags"] & LOADING]
    checker.true("weights are allocated while the session is loading",
                 sum(r["bytes"] for r in loading if r["allocator"] in arenas) > 10000,
                 len(loading))
    # 1.30 keeps the weights of this model in the mapped file and reserves what is left.
    reserved = sum(r["action"] == RESERVED for r in allocations)
    checker.equal("reserves as the arena counts them", reserved,
                  timeline.rows("memory")[-1]["reserves"])


def by_the_program(checker, version):
    """What the program takes through the C API: its own is told, an arena's is the arena's."""
    timeline, _ = recorded(checker, "api", alloc_runner(version, "api"), "--alloc", "all")
    own = [r["allocator"] for r in timeline.rows("allocator") if r["type"] == C_API]
    rows = [r for r in timeline.rows("alloc") if r["allocator"] in own]
    checker.equal("one allocator is the C API's own", len(own), 1)
    checker.equal("taken and released, with sizes, by nobody's run",
                  [(r["action"], r["bytes"], r["run"], r["flags"]) for r in rows if r["bytes"]],
                  [(ALLOCATED, n, 0, 0) for n in (1000, 2000, 3000)] +
                  [(RELEASED, n, 0, 0) for n in (1000, 2000, 3000)])
    arenas = {r["allocator"] for r in timeline.rows("allocator") if r["type"] == CPU_ARENA}
    checker.equal("from the session's allocator: told once, as the arena's",
                  [(r["action"], r["allocator"] in arenas) for r in timeline.rows("alloc")
                   if r["bytes"] == 5000], [(ALLOCATED, True), (RELEASED, True)])
    timeline, _ = recorded(checker, "api-stats", alloc_runner(version, "api"))
    checker.equal("by default nothing of that is told",
                  [r for r in timeline.rows("allocator") if r["type"] == C_API], [])


def without_arena(checker):
    """enable_cpu_mem_arena off: an allocator without one, no state"""
    for version in VERSIONS:
        timeline, report = recorded(checker, version, alloc_runner(version, "no-arena"), "--alloc",
                                    "all")
        checker.equal(version + ": ORT has no statistics either",
                      [s for s in report["states"] if s], [])
        checker.equal(version + ": no arena has a state", timeline.rows("memory"), [])
        check_allocators(checker, version, timeline, {NO_ARENA})
        # Without class names the allocator is found when the first session is there.
        check_pairs(checker, version, timeline, whole=version in NAMED)
        check_sums(checker, version, timeline)
        checker.true(version + ": each run took at least its output",
                     all(r["allocated_bytes"] >= OUTPUT_BYTES and r["live_bytes"] == -1
                         for r in timeline.rows("run_memory")) and
                     len(timeline.rows("run_memory")) == RUNS, timeline.rows("run_memory"))


# --------------------------------------------------------------------------------- at any time


class Target:
    """A running alloc_runner that answers between two runs."""

    def __init__(self, checker, version):
        self.pid_file = os.path.join(checker.folder, version + ".pid")
        self.program = h.Program(checker.folder, "target-" + version,
                                 alloc_runner(version, self.pid_file))
        self.pid = h.read_pid(self.pid_file, self.program)

    def ask(self):
        question = self.pid_file + ".ask"
        h.touch(question)
        h.wait_until(lambda: not os.path.exists(os.path.join(h.ROOT, question)), "an answer",
                     program=self.program)

    def stop(self):
        h.touch(self.pid_file + ".stop")
        return self.program.wait()


def attached(checker):
    """to a session that has run before: what it held is not known, and nothing is invented"""
    for version in ("1.15.0", "1.20.1", "1.30.0"):
        target = Target(checker, version)
        trace = "%s/%s.ortl" % (checker.folder, version)
        collector = h.attach(checker.folder, "attach-" + version, target.pid, trace, "-q",
                             "--alloc", "all")
        for _ in range(5):
            target.ask()
        detach = h.ortscope(checker.folder, "detach-" + version, "detach", target.pid)
        checker.equal(version + ": all end well", (detach.code, collector.wait(), target.stop()),
                      (0, 0, 0))
        timeline = h.load(trace)
        check_pairs(checker, version, timeline, whole=False)
        check_sums(checker, version, timeline)
        rows = timeline.rows("run_memory")
        checker.true(version + ": every run has a row, none says what the session holds",
                     len(rows) >= 4 and {r["live_bytes"] for r in rows} == {-1} and
                     {r["run"] for r in rows} == {r["run"] for r in timeline.rows("run")}, rows[:2])
        checker.true(version + ": the state of its arena is told all the same",
                     any(r["held_bytes"] > r["in_use_bytes"] > 0 for r in timeline.rows("memory")),
                     timeline.rows("memory")[:1])


def put_back(checker):
    """attached and detached five times: the runtime's read-only data are as before"""
    for version in ("1.15.0", "1.17.3", "1.30.0"):
        target = Target(checker, version)
        target.ask()
        for i in range(5):
            trace = "%s/%s-%d.ortl" % (checker.folder, version, i)
            collector = h.attach(checker.folder, "attach-%s-%d" % (version, i), target.pid,
                                 trace, "-q", "--ops", "off", "--alloc", ("all", "stats")[i % 2])
            target.ask()
            detach = h.ortscope(checker.folder, "detach-%s-%d" % (version, i), "detach",
                                target.pid)
            checker.equal("%s: detached" % version, (detach.code, collector.wait()), (0, 0))
            target.ask()
        checker.equal(version + ": the program ends well", target.stop(), 0)
        hashes = h.report_of(target.program.out)[0]["hashes"]
        checker.equal(version + ": it answered every time", len(hashes), 11)
        checker.equal(version + ": what is there without us never changes", len(set(hashes[::2])), 1)
        checker.equal(version + ": and is not what is there with us",
                      [x for x in hashes[1::2] if x == hashes[0]], [])


# -------------------------------------------------------------------------------------- threads


def crowded(checker):
    """eight threads in one session at the same time"""
    for version in ("1.17.3", "1.30.0"):
        words = model_runner(version, 20, "--workers", 8, *CLS)
        timeline, _ = recorded(checker, version, words, "--alloc", "all", "--ring-size", "8192")
        left = check_pairs(checker, version, timeline)
        checker.equal(version + ": nothing is left when the session is gone",
                      list(left.values())[:2], [])
        check_sums(checker, version, timeline)
        checker.equal(version + ": every run has a row",
                      {r["run"] for r in timeline.rows("run_memory")}, set(range(1, 161)))


def other_threads(checker):
    """inter-op threads and RunAsync: one run at a time, so each allocation has its run"""
    all_grown = 0  # how much is needed at once is up to the threads
    for name, more in (("inter", ["--inter", 2]), ("async", ["--async", "--threads", 2])):
        for version in ("1.20.1", "1.30.0"):
            what = "%s-%s" % (name, version)
            timeline, _ = recorded(checker, what, model_runner(version, RUNS, *more, *CLS),
                                   "--alloc", "all")
            check_pairs(checker, what, timeline)
            told_runs = {r["run"]: r["allocations"] for r in timeline.rows("run_memory")}
            single = collections.Counter(r["run"] for r in timeline.rows("alloc")
                                         if r["run"] and r["action"] != RELEASED)
            checker.equal(what + ": what a run took is the sum of its allocations", told_runs,
                          dict(single))
            checker.equal(what + ": every run has a row", set(told_runs), set(range(1, RUNS + 1)))
            check_peaks(checker, what, timeline)
            states = sorted(timeline.rows("memory"), key=lambda r: r["time"])  # of several rings
            held = [r["held_bytes"] for r in states]
            grown = sum(r["grown_bytes"] for r in timeline.rows("run_memory"))
            checker.equal(what + ": what runs took from the system is what the arena has grown by",
                          grown, held[-1] - held[0])
            all_grown += grown
    checker.true("some have made it grow", all_grown > 0)


def overlapping(checker):
    """RunAsync on several threads: what can't be assigned to a run is in the mean, and in nothing else"""
    for version in ("1.20.1", "1.30.0"):
        words = model_runner(version, RUNS, "--async", "--workers", 4, "--threads", 2, *CLS)
        for attempt in range(20):  # until two runs were under way at once
            name = "%s-%d" % (version, attempt)
            timeline, _ = recorded(checker, name, words, "--alloc", "all")
            rows = timeline.rows("run_memory")
            if any(r["run"] == 0 and r["allocations"] for r in rows):
                break
        runs = len(timeline.rows("run"))
        single = [r for r in timeline.rows("alloc") if r["action"] != RELEASED and r["session"] == 1 and
                  not r["flags"] & LOADING and (r["run"] or r["flags"] & AMBIGUOUS)]
        checker.equal(version + ": rows with and without a run are all that was allocated",
                      (sum(r["allocations"] for r in rows), sum(r["allocated_bytes"] for r in rows)),
                      (len(single), sum(r["bytes"] for r in single)))
        memory = h.summary("%s/%s.ortl" % (checker.folder, name))["sessions"][0]["memory"]
        for what, key in (("allocated_bytes", "allocated_bytes_per_run"),
                          ("allocations", "allocations_per_run")):
            mean = sum(r[what] for r in rows) / runs
            told = memory[key]
            checker.true("%s: %s: the mean is that of all" % (version, key),
                         abs(told["mean"] - mean) <= 0.001, (told, mean))
            checker.equal("%s: %s: no number of single runs" % (version, key),
                          (told["p50"], told["max"]), (None, None))
        checker.equal(version + ": the summary says why",
                      (memory["run_peak_bytes"], ["overlapped" in note for note in memory["notes"]]),
                      (None, [True]))


def come_and_go(checker):
    """1200 sessions, more than arenas can be followed at once: none is missed, nothing is left"""
    for version in ("1.15.0", "1.23.2"):
        words = model_runner(version, 2, "--workers", 4, "--sessions", 300, *SMALL)
        timeline, _ = recorded(checker, version, words, "--alloc", "all", "--ring-size", "16384")
        sessions = {r["session"] for r in timeline.rows("session")}
        checker.equal(version + ": all sessions were seen", len(sessions), 1200)
        arenas = [r for r in timeline.rows("allocator") if r["type"] == CPU_ARENA]
        checker.equal(version + ": each has an arena of its own",
                      collections.Counter(r["session"] for r in arenas),
                      collections.Counter(sessions))
        checker.equal(version + ": no allocation is of an unknown allocator",
                      [r for r in timeline.rows("alloc") if not r["allocator"]][:2], [])
        left = check_pairs(checker, version, timeline)
        checker.equal(version + ": nothing is left", list(left.values())[:2], [])
        check_sums(checker, version, timeline)


def modes(checker):
    """off, stats, all, and a word that is none"""
    for mode, kinds in (("off", set()), ("stats", {"allocator", "memory", "run_memory"}),
                        ("all", {"allocator", "memory", "run_memory", "alloc"})):
        timeline, _ = recorded(checker, mode, model_runner("1.23.2", 2, *CLS), "--alloc", mode)
        checker.equal(mode + ": what is told", kinds, {
            kind for kind in ("allocator", "memory", "run_memory", "alloc") if timeline.rows(kind)})
    program = h.ortscope(checker.folder, "wrong", "run", "--alloc", "most", "--", "x")
    checker.true("another word is refused, with those that exist",
                 program.code == 2 and "off, stats or all" in program.err, program.err)


def of_version(kind, version):
    def test(checker):
        kind(checker, version)
    test.__name__ = "%s_%s" % (kind.__name__, version.replace(".", "_"))
    test.__doc__ = "ONNX Runtime %s" % version
    return test


TESTS = [of_version(as_ort_counts, v) for v in TOLD]
TESTS += [of_version(every_allocation, v) for v in VERSIONS]
TESTS += [of_version(by_the_program, v) for v in ("1.15.0", "1.20.1", "1.30.0")]
TESTS += [without_arena, attached, put_back, crowded, other_threads, overlapping,
          come_and_go, modes]

if __name__ == "__main__":
    h.run_tests("test_alloc", TESTS)
