#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Kernels inside kernels, and kernels that throw. Loop with an If in each turn, and Scan. How often and how deep each node ran follows
from the model; the same by ORT's profile and, from 1.25 on, by the shim. Self and total times are worked out
again from the rows."""
import collections

import harness as h
import op_profile as ops
from test_tap import hidden

VERSIONS = ["1.15.0", "1.20.1", "1.23.2", "1.30.0"]
WITH_SHIM = ["1.30.0"]
RUNS = 20
# Type and depth of each node, and how often a run executes it: five turns of the Loop, two of them early, and
# six rows of the Scan.
LOOP = {("Loop", 0): 1, ("MatMul", 1): 5, ("Less", 1): 5, ("If", 1): 5, ("Relu", 2): 2, ("Tanh", 2): 3,
        ("Identity", 1): 5, ("Neg", 1): 5}
SCAN = {("Scan", 0): 1, ("Add", 1): 6, ("Tanh", 1): 6, ("Mul", 1): 6}


def captured(checker, version, name, mode, output_hash):
    what = "%s-%s-%s" % (version, name, mode)
    trace = "%s/%s.ortl" % (checker.folder, what)
    program = h.ortscope(checker.folder, "run-" + what, "run", "-q", "--ops", mode, "-o", trace, "--",
                         *ops.arguments(version, [name], runs=RUNS))
    checker.equal(what + ": exit code and outputs are the same",
                  (program.code, h.report_of(program.out)[0]["output_hash"]), (0, output_hash))
    return what, h.load(trace), trace


def depths(timeline):
    types = {k["kernel"]: k["op_type"] for k in timeline.rows("kernel")}
    return collections.Counter((types[op["kernel"]], op["depth"]) for op in ops.of_runs(timeline))


def totals(timeline):
    """Nanoseconds by node: all of it, and what is its own."""
    nodes = {k["kernel"]: k["node"] for k in timeline.rows("kernel")}
    rows, sums = ops.of_runs(timeline), collections.defaultdict(lambda: [0, 0])
    for i, own in ops.self_times(rows).items():
        one = sums[nodes[rows[i]["kernel"]]]
        one[0] += rows[i]["duration"]
        one[1] += own
    return dict(sums)


def check_containment(checker, what, timeline):
    """Whatever is inside lies between begin and end of one that is a level up; together they fit into it."""
    rows, outside, too_much = ops.of_runs(timeline), [], []
    inside = collections.Counter()
    for op in (op for op in rows if op["depth"]):
        around = [i for i, o in enumerate(rows) if o["run"] == op["run"] and o["depth"] == op["depth"] - 1 and
                  o["begin"] <= op["begin"] and op["begin"] + op["duration"] <= o["begin"] + o["duration"]]
        if len(around) != 1:
            outside.append((op, around))
        else:
            inside[around[0]] += op["duration"]
    too_much = [(rows[i], total) for i, total in inside.items() if total > rows[i]["duration"]]
    checker.equal(what + ": what is inside lies in one above", outside[:1], [])
    checker.equal(what + ": and together they take no longer", too_much[:1], [])


def nested(checker, name, expected):
    for version in VERSIONS:
        profile = ops.profiled(checker, version, name)[0]
        calls = {node: len(times) // ops.RUNS for node, times in profile.items()}
        alone = h.run(checker.folder, "alone-" + version, ops.arguments(version, [name], runs=RUNS))
        output_hash = h.report_of(alone.out)[0]["output_hash"]
        for mode in ["all"] + (["shim"] if version in WITH_SHIM else []):
            what, timeline, trace = captured(checker, version, name, mode, output_hash)
            ops.check_calls(checker, what, timeline, collections.Counter(
                {node: RUNS * count for node, count in calls.items()}))
            checker.equal(what + ": each as often and as deep as the model says", depths(timeline),
                          {key: RUNS * count for key, count in expected.items()})
            check_containment(checker, what, timeline)
            told = {row["node"]: [round(row["total_us"] * 1000), round(row["self_us"] * 1000)]
                    for row in h.ask("ops", trace, "--by", "node")["ops"]}
            checker.equal(what + ": ops tells the same self and total time", told, totals(timeline))
            checker.true(what + ": a node's own time is less where it has others inside",
                         all((own < total) == (node.split("_")[0] in ("loop", "if", "scan"))
                             for node, (total, own) in told.items()), told)


def loop(checker):
    """a Loop of five turns, an If in each"""
    nested(checker, "loop", LOOP)


def scan(checker):
    """a Scan over six rows"""
    nested(checker, "scan", SCAN)


THROWN_RUNS, PAUSE_MS = 5, 150
# Every second run fails, the last one too: what throws, and at which depth; the If around it ends by itself.
THROWN = {"zeros": {("ConstantOfShape", 0)}, "zeros_inside": {("If", 0), ("ConstantOfShape", 1)}}


def check_thrown(checker, what, timeline, expected):
    types = {k["kernel"]: k["op_type"] for k in timeline.rows("kernel")}
    runs = {run["run"]: run for run in timeline.rows("run")}
    failed = [op for op in timeline.rows("op") if op["flags"] & ops.FLAG_FAILED]
    checker.equal(what + ": each failed run has what failed, once, and no other run does",
                  sorted((op["run"], types[op["kernel"]], op["depth"]) for op in failed),
                  sorted((run, *kind) for run in runs if runs[run]["status"] for kind in expected))
    checker.equal(what + ": so many runs did fail", len([r for r in runs.values() if r["status"]]),
                  THROWN_RUNS - THROWN_RUNS // 2)
    checker.equal(what + ": it lies in its run, whenever it was told",
                  [(op, runs[op["run"]]) for op in failed if op["run"] in runs and not (
                      runs[op["run"]]["begin"] <= op["begin"] and op["begin"] + op["duration"] <=
                      runs[op["run"]]["begin"] + runs[op["run"]]["duration"])][:1], [])
    checker.equal(what + ": operators of good runs are as deep as ever",
                  {(types[op["kernel"]], op["depth"]) for op in ops.of_runs(timeline)} -
                  {("Less", 0)}, expected)


def thrown(checker):
    """kernels that leave by an exception, on the run's thread, by RunAsync and on inter-op threads"""
    ways = [(version, h.dll(version), mode) for version in ("1.15.0", "1.23.2", "1.30.0")
            for mode in ("run", "async", "inter") if (version, mode) != ("1.15.0", "async")]  # has no RunAsync
    ways += [("hidden-1.30.0", hidden("1.30.0"), mode) for mode in ("run", "async", "inter")]
    for name, dll, mode in ways:
        for model, expected in THROWN.items():
            what = "%s-%s-%s" % (name, mode, model)
            trace = "%s/%s.ortl" % (checker.folder, what)
            program = h.ortscope(checker.folder, what, "run", "-q", "-o", trace, "--", h.BIN + "/odd_memory.exe",
                                 dll, "%s/%s.onnx" % (ops.SMALL, model), THROWN_RUNS, mode, PAUSE_MS)
            checker.equal(what + ": the program saw what it should", (program.code, h.report_of(program.out)),
                          (0, [{"good": THROWN_RUNS // 2, "failed": THROWN_RUNS - THROWN_RUNS // 2}]))
            check_thrown(checker, what, h.load(trace), expected)


TESTS = [loop, scan, thrown]

if __name__ == "__main__":
    h.run_tests("test_op_nesting", TESTS)
