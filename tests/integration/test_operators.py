#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Operators: for real models, launched and attached, what ortscope saw of each node equals what ORT's
own profiler wrote about the same work (op_profile.py). Here the oldest and the newest version, and
one that is attached to; all_versions.py does it for every version. Outputs are bit-identical with
and without us, nothing is lost, self times fit into their run. Then threads, sessions that come and
go, and the modes."""
import collections
import json
import os
import re
import statistics

import harness as h
from op_profile import (FLAG_AMBIGUOUS, MODELS, RUNS, arguments, attach, calls_of, compare, launch,
                        of_runs, operators_of_run, per_node, profile_of, profiled)

VERSIONS = ["1.15.0", "1.30.0"]
ATTACHED = ["1.23.2"]


def launched(checker, version):
    for name in MODELS:
        compare(checker, version, name, launch)


def attached(checker, version):
    for name in MODELS:
        compare(checker, version, name, attach)


# ---------------------------------------------------------------------------------- threads


def watched(checker, name, words):
    """The file of a program, and its report, which is that of the program alone."""
    trace = "%s/%s.ortl" % (checker.folder, name)
    alone = h.run(checker.folder, "alone-" + name, words)
    program = h.ortscope(checker.folder, "run-" + name, "run", "-q", "-o", trace, "--ring-size", "8192", "--",
                         *words)
    checker.equal(name + ": the exit code passes through", program.code, 0)
    report = h.report_of(program.out)[0]
    checker.equal(name + ": outputs are bit-identical", report["output_hash"],
                  h.report_of(alone.out)[0]["output_hash"])
    timeline = h.load(trace)
    checker.equal(name + ": nothing was lost", h.lost(timeline), 0)
    return timeline, report


def other_threads(checker):
    """inter-op threads and RunAsync: one run at a time, so each operator has its run"""
    version = "1.23.2"
    calls = calls_of(profiled(checker, version, "cls_1")[0])
    for name, more in (("inter", ["--inter", 2]), ("async", ["--async", "--threads", 2])):
        timeline, _ = watched(checker, name, arguments(version, ["cls_1"], *more))
        checker.equal(name + ": each node ran as often as ORT says", calls_of(per_node(timeline)), calls)
        checker.equal(name + ": every operator has its run",
                      [op for op in of_runs(timeline) if op["flags"] or not op["run"]][:2], [])


def crowded(checker):
    """four threads in one session at the same time"""
    version = "1.23.2"
    calls = calls_of(profiled(checker, version, "cls_1")[0])
    for name, more in (("run", []), ("async", ["--async", "--threads", 2])):
        timeline, _ = watched(checker, name, arguments(version, ["cls_1"], "--workers", 4, *more))
        expected = collections.Counter({node: 4 * count for node, count in calls.items()})
        checker.equal(name + ": each node ran four times as often", calls_of(per_node(timeline)), expected)
        flagged = [op for op in of_runs(timeline) if op["flags"] & FLAG_AMBIGUOUS]
        checker.equal(name + ": an operator without a run is marked, one with it is not",
                      [op for op in of_runs(timeline)
                       if bool(op["run"]) == bool(op["flags"] & FLAG_AMBIGUOUS)][:2], [])
        checker.equal(name + ": the session is known all the same",
                      {op["session"] for op in of_runs(timeline)}, {1})
        if name == "run":
            checker.equal("run: none is ambiguous", len(flagged), 0)


def op_types(checker, version, name):
    """The operator type of each node as ORT's profile has it."""
    with open(profile_of(checker, version, name), encoding="utf-8") as file:
        return {event["name"].replace("_kernel_time", ""): event["args"]["op_name"]
                for event in json.load(file) if event["cat"] == "Node"}


def plain(node):
    """Generated names end in numbers that differ from load to load of a model."""
    return node.rstrip("0123456789")


def expected_of(checker, version, name, runs):
    """What one session of this model executes in so many runs: node, type, how often."""
    calls, types = calls_of(profiled(checker, version, name)[0]), op_types(checker, version, name)
    found = collections.Counter()
    for node, count in calls.items():
        found[plain(node), types[node]] += count // RUNS * runs
    return frozenset(found.items())


def executed(timeline):
    """The same for each session of a file. A kernel of another session has no type."""
    kernels = {k["kernel"]: (plain(k["node"]), k["op_type"], k["session"])
               for k in timeline.rows("kernel")}
    found = collections.defaultdict(collections.Counter)
    for op in of_runs(timeline):
        node, op_type, session = kernels[op["kernel"]]
        found[op["session"]][node, op_type if session == op["session"] else None] += 1
    return collections.Counter(frozenset(calls.items()) for calls in found.values())


def check_sessions(checker, version, names, runs, count, timeline):
    """`count` sessions of the models in turn, each with its own nodes and all of them ended."""
    expected = collections.Counter()
    for name in set(names):
        expected[expected_of(checker, version, name, runs)] = count // len(names) * names.count(name)
    found = executed(timeline)
    checker.equal(version + ": every session executed the nodes of its model and no others",
                  [dict(kind) for kind in found if kind not in expected][:1], [])
    checker.equal(version + ": as many sessions of each model as were made",
                  sorted(found.values()), sorted(expected.values()))
    ended = {k["kernel"] for k in timeline.rows("kernel_end")}
    known = {k["kernel"] for k in timeline.rows("kernel")}
    checker.equal(version + ": every kernel's end was seen", len(known - ended), 0)
    checker.equal(version + ": and every session's", len(timeline.rows("session_end")), count)


def come_and_go(checker):
    """sessions of three models, a large one too, made, run and released by four threads"""
    version, names, runs, sessions = "1.15.0", ["affine", "cls_1", "pick", "affine"], 2, 12
    words = arguments(version, names, "--workers", 4, "--sessions", sessions)
    words[words.index("--runs") + 1] = runs
    check_sessions(checker, version, names, runs, 4 * sessions, watched(checker, version, words)[0])


def usual_growth(sizes):
    """From round to round, the first left out."""
    return statistics.median(b - a for a, b in zip(sizes[1:], sizes[2:]))


def a_thousand_sessions(checker):
    """made, run and released by four threads: identities are right and no memory is kept"""
    names, runs, sessions, rounds = ["affine", "pick"], 2, 32, 8
    for version in ("1.23.2", "1.30.0"):
        words = arguments(version, names, "--workers", 4, "--sessions", sessions, "--rounds", rounds)
        words[words.index("--runs") + 1] = runs
        timeline, report = watched(checker, version, words)
        check_sessions(checker, version, names, runs, 4 * sessions * rounds, timeline)
        texts = collections.defaultdict(set)
        for event in timeline.rows("ort_event"):
            texts[event["name"]].add(re.sub(r"(Duration\w*)=\d+", r"\1", event["fields"]))
        checker.equal(version + ": ORT's events have as many texts as there are models, not sessions",
                      {name: len(found) for name, found in texts.items() if len(found) > 2 * len(names)}, {})
        private, others = zip(*report["memory"])
        print("         %s: private %.1f MB, other heaps %.1f KB; after the first round %+.1f KB, "
              "%+.1f KB" % (version, private[-1] / 1e6, others[-1] / 1e3,
                            (private[-1] - private[1]) / 1e3, (others[-1] - others[1]) / 1e3),
              flush=True)
        # 128 sessions a round: a single kernel entry (200 bytes) kept of each would be 25 KB. How many
        # are there at once is up to the threads, so a round may need more than those before.
        checker.true(version + ": our heap does not grow", usual_growth(others) < 4096, others)
        checker.true(version + ": nor does the process", usual_growth(private) < 1 << 16, private)


def modes(checker):
    """--ops off and --ops sample:3"""
    for mode, expected in (("off", set()), ("sample:3", set(range(1, RUNS + 1, 3)))):
        trace = "%s/%s.ortl" % (checker.folder, mode.replace(":", "-"))
        program = h.ortscope(checker.folder, "run-" + mode[:3], "run", "-q", "--ops", mode, "-o", trace,
                             "--", *arguments("1.23.2", ["cls_1"]))
        checker.equal(mode + ": the exit code passes through", program.code, 0)
        timeline = h.load(trace)
        checker.equal(mode + ": runs with operators", {op["run"] for op in of_runs(timeline)},
                      expected)
        checker.equal(mode + ": all runs are there", len(timeline.rows("run")), RUNS)
    trace = checker.folder + "/crowded.ortl"
    words = arguments("1.23.2", ["cls_1"], "--workers", 4, "--async", "--threads", 2)
    program = h.ortscope(checker.folder, "run-crowded", "run", "-q", "--ops", "sample:3", "-o", trace,
                         "--ring-size", "8192", "--", *words)
    checker.equal("crowded: the exit code passes through", program.code, 0)
    timeline = h.load(trace)
    checker.equal("crowded: nothing was lost", h.lost(timeline), 0)
    checker.equal("crowded: all runs are there", len(timeline.rows("run")), 4 * RUNS)
    ops = of_runs(timeline)
    checker.equal("crowded: operators with a run are those of samples",
                  {op["run"] % 3 for op in ops if op["run"]} - {1}, set())
    checker.equal("crowded: the others are marked",
                  [op for op in ops if bool(op["run"]) == bool(op["flags"] & FLAG_AMBIGUOUS)][:2], [])
    samples = sum(run["run"] % 3 == 1 for run in timeline.rows("run"))
    checker.true("crowded: no operator of a sample is missing", len(ops) >= samples * operators_of_run("1.23.2"),
                 (len(ops), samples))
    told = h.ask("ops", trace)["all"]
    checker.equal("crowded: what may lack some is not compared with the time of runs",
                  (told["ambiguous"] > 0, told["share_of_run_time"] is None), (True, True))
    program = h.ortscope(checker.folder, "wrong", "run", "--ops", "most", "--", "x")
    checker.true("another word is refused, with those that exist",
                 program.code == 2 and "sample:N" in program.err, (program.code, program.err))


def with_slow(checker, name, mode, *more):
    """The file of 200 runs of cls, its runs, and how many operators each has."""
    trace = "%s/%s.ortl" % (checker.folder, name)
    words = arguments("1.23.2", ["cls_1"], *more)
    words[words.index("--runs") + 1] = 200
    program = h.ortscope(checker.folder, "run-" + name, "run", "-q", "--ops", mode, "-o", trace,
                         "--ring-size", "8192", "--", *words)
    checker.equal(name + ": the exit code passes through", program.code, 0)
    timeline = h.load(trace)
    checker.equal(name + ": nothing was lost", h.lost(timeline), 0)
    runs = timeline.rows("run")
    checker.equal(name + ": all runs are there", len(runs), 200)
    checker.true(name + ": every kernel has an identity",
                 len(timeline.rows("kernel")) >= operators_of_run("1.23.2"))
    return trace, runs, collections.Counter(op["run"] for op in of_runs(timeline))


def among_slowest(runs, millionths):
    """Those of which, when they ended, not more than that share of the runs had been as slow. An octave is cut
    into 128 parts; runs in one part are equally slow."""
    parts, chosen = [], set()
    for run in sorted(runs, key=lambda run: run["run"]):
        octave = run["duration"].bit_length() - 1
        parts.append(octave * 128 + (run["duration"] >> (octave - 7)) % 128)
        as_slow = sum(part >= parts[-1] for part in parts)
        if as_slow <= -(-len(parts) * millionths // 1000000):
            chosen.add(run["run"])
    return chosen


def left_out(checker):
    """Where runs overlap on other threads, what can't be assigned is missing from slow runs: that is said."""
    trace = checker.folder + "/left-out.ortl"
    words = arguments("1.23.2", ["cls_1"], "--workers", 4, "--async", "--threads", 2)
    program = h.ortscope(checker.folder, "run-left-out", "run", "-q", "--ops", "slow:1us", "-o", trace,
                         "--ring-size", "8192", "--", *words)
    checker.equal("left out: the exit code passes through", program.code, 0)
    timeline = h.load(trace)
    checker.equal("left out: nothing was lost", h.lost(timeline), 0)
    told = [m["text"] for m in h.summary(trace)["messages"] if "operators left out" in m["text"]]
    counts = [int(text.split()[0].replace(",", "")) for text in told]
    checker.equal("left out: together with those that are there it is all", sum(counts) + len(of_runs(timeline)),
                  len(timeline.rows("run")) * operators_of_run("1.23.2"))
    checker.equal("left out: the summary says how many", [count > 0 for count in counts], [True])
    told = h.ask("ops", trace)["all"]
    checker.equal("left out: so does ops, which does not compare what is there with the time of runs",
                  (told["left_out"], told["share_of_run_time"]), (sum(counts), None))


def slow(checker):
    """--ops slow: the operators of slow runs and of no others, on inter-op threads too"""
    for name, more in (("sequential", []), ("inter", ["--inter", 2])):
        # Whatever a run takes on this machine: about half of the runs take longer.
        _, runs, counts = with_slow(checker, name + "-none", "slow:1000s", *more)
        checker.equal(name + ": none is that slow", counts, {})
        limit = int(statistics.median(run["duration"] for run in runs) / 1000)
        trace, runs, counts = with_slow(checker, name, "slow:%dus" % limit, *more)
        expected = {run["run"]: operators_of_run("1.23.2") for run in runs if run["duration"] > limit * 1000}
        checker.equal(name + ": exactly the runs over the limit have operators, all of them", counts,
                      expected)
        session = h.summary(trace)["sessions"][0]
        note = "operators of %d of 200 runs kept: slower" % len(expected)
        checker.equal(name + ": the summary says so",
                      (session["ops_runs"], any(text.startswith(note) for text in session["ops_notes"])),
                      (len(expected), True))
        checker.equal(name + ": calls are those of these runs",
                      {op["calls"] for op in session["ops"]}, {len(expected)} if expected else set())
    for name, mode, millionths in (("percent", "slow:5%", 50000), ("plain", "slow", 10000)):
        _, runs, counts = with_slow(checker, name, mode)
        checker.equal(name + ": exactly the runs that were among the slowest until then, with all operators",
                      counts, {run: operators_of_run("1.23.2") for run in among_slowest(runs, millionths)})
    left_out(checker)
    program = h.ortscope(checker.folder, "wrong", "run", "--ops", "slow:50", "--", "x")
    checker.true("a limit without a unit is refused", program.code == 2 and "slow:TIME" in program.err,
                 (program.code, program.err))


def slow_at_the_end(checker):
    """--ops slow: a run that was under way when the recording ended has operators if it was slow until then"""
    pid_file, stop_file = (os.path.join(checker.folder, "target" + end) for end in (".pid", ".stop"))
    words = arguments("1.20.1", ["det"], "--workers", 2, "--stop-file", stop_file, "--pid-file", pid_file)
    program = h.Program(checker.folder, "target", words)
    pid = h.read_pid(pid_file, program)
    trace, cut = checker.folder + "/cut.ortl", set()
    for attempt in range(20):  # it may end between two runs, or before the first one
        collector = h.ortscope(checker.folder, "attach-%d" % attempt, "attach", pid, "-q", "-o", trace,
                               "--ops", "slow:1us", "--duration", "%dms" % (300 * (attempt + 1)))
        checker.equal("attach ends well", collector.code, 0)
        timeline = h.load(trace)
        ended = {(r["session"], r["run"]) for r in timeline.rows("run")}
        cut = {(op["session"], op["run"]) for op in of_runs(timeline)} - ended
        if cut and ended:
            break
    checker.true("the run that did not end has operators", cut)
    checker.equal("their time is not compared with that of the runs that did",
                  h.ask("ops", trace)["all"]["share_of_run_time"], None)
    collector = h.ortscope(checker.folder, "attach-fast", "attach", pid, "-q", "-o", trace, "--ops", "slow:1000s",
                           "--duration", "500ms")
    checker.equal("where nothing was slow there are none", (collector.code, of_runs(h.load(trace))), (0, []))
    h.touch(stop_file)
    checker.equal("the program ends well, all outputs equal", program.wait(), 0)


def again_and_again(checker):
    """attached five times to one running program: nothing is missed, nothing is left changed"""
    pid_file, stop_file = (os.path.join(checker.folder, "target" + end) for end in (".pid", ".stop"))
    words = arguments("1.20.1", ["cls_1"], "--stop-file", stop_file, "--pid-file", pid_file)
    program = h.Program(checker.folder, "target", words)
    pid = h.read_pid(pid_file, program)
    for i in range(5):
        trace, whole, ms = "%s/part-%d.ortl" % (checker.folder, i), [], 150
        while not whole and ms < 60000:  # until it has seen a run, however long that takes
            ms *= 2
            collector = h.ortscope(checker.folder, "attach-%d" % i, "attach", pid, "-q", "-o", trace,
                                   "--ring-size", "8192", "--duration", "%dms" % ms)
            checker.equal("part %d: attach ends well" % i, collector.code, 0)
            timeline = h.load(trace)
            counts = collections.Counter((op["session"], op["run"]) for op in of_runs(timeline))
            whole = [counts[(r["session"], r["run"])] for r in timeline.rows("run")]
        checker.true("part %d: runs have all their operators" % i,
                     whole and set(whole) == {operators_of_run("1.20.1")}, (len(whole), set(whole)))
    h.touch(stop_file)
    checker.equal("the program ends well, all outputs equal", program.wait(), 0)


def of_version(kind, version):
    def test(checker):
        kind(checker, version)
    test.__name__ = "%s_%s" % (kind.__name__, version.replace(".", "_"))
    test.__doc__ = "every model with ONNX Runtime %s, %s" % (version, kind.__name__)
    return test


TESTS = [of_version(launched, v) for v in VERSIONS] + [of_version(attached, v) for v in ATTACHED]
TESTS += [other_threads, crowded, come_and_go, a_thousand_sessions, modes, slow, slow_at_the_end,
          again_and_again]

if __name__ == "__main__":
    h.run_tests("test_operators", TESTS)
