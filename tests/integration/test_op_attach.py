#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Operators on threads that are not their run's (inter-op, RunAsync): whose they are when we come while
several sessions are running, and shapes that follow the inputs of each run."""
import collections
import os
import re
import signal

import harness as h
from op_profile import FLAG_AMBIGUOUS, SPECS, arguments, calls_of, of_runs, operators_of_run, profiled

MODES = {"run": [], "inter": ["--inter", 2], "async": ["--async", "--threads", 2]}
# A long run and many short ones: when we come the long one is under way.
SHORT, LONG = "cls_1", "det_large"
SPECS[LONG] = (SPECS["det"][0], ["x=float:1,3,480,480"], SPECS["det"][2])


class Running:
    """model_runner with several models, each on a thread and in a session of its own."""

    def __init__(self, checker, version, name, models, *more):
        self.base, self.count = "%s/%s" % (checker.folder, name), len(models)
        self.stop_file, pid_file = self.base + ".stop", self.base + ".pid"
        self.program = h.Program(checker.folder, name, arguments(
            version, models, "--workers", self.count, "--stop-file", self.stop_file, "--pid-file",
            pid_file, "--progress", self.base + ".runs", *more))
        self.pid = h.read_pid(pid_file, self.program)

    def done(self):
        paths = [os.path.join(h.ROOT, "%s.runs%d" % (self.base, i)) for i in range(self.count)]
        return [os.path.getsize(p) if os.path.exists(p) else 0 for p in paths]

    def more_runs(self, number):
        goals = [count + number for count in self.done()]
        h.wait_until(lambda: all(a >= b for a, b in zip(self.done(), goals)),
                     "%d more runs of each model" % number, program=self.program)

    def stop(self, collector):
        h.touch(self.stop_file)
        return self.program.wait(), collector.wait()


def nodes_of_run(checker, version, name):
    """How often each node is executed in one run, by ORT's own profiler."""
    calls = calls_of(profiled(checker, version, name)[0])
    runs = min(calls.values())
    return collections.Counter({node: count // runs for node, count in calls.items()})


def check_sessions(checker, what, timeline, expected):
    """Every kernel has the one session whose model it is of, every operator its kernel's."""
    kernels = {k["kernel"]: k for k in timeline.rows("kernel")}
    checker.equal(what + ": each kernel is told once, with a session",
                  (len(timeline.rows("kernel")), [k for k in kernels.values() if not k["session"]][:2]),
                  (len(kernels), []))
    nodes = collections.defaultdict(set)
    for kernel in kernels.values():
        nodes[kernel["session"]].add(kernel["node"])
    models = {session: [name for name, calls in expected.items() if set(calls) == found]
              for session, found in nodes.items()}
    checker.equal(what + ": the kernels of a session are those of one model",
                  sorted(models.values()), sorted([name] for name in expected))
    ops = of_runs(timeline)
    checker.equal(what + ": operators are of their kernel's session",
                  [op for op in ops if op["session"] != kernels[op["kernel"]]["session"]][:2], [])
    checker.equal(what + ": and certainly of their run",
                  [op for op in ops if op["flags"] & FLAG_AMBIGUOUS or not op["run"]][:2], [])
    return kernels, models, ops


def check_runs(checker, what, timeline, expected):
    kernels, models, ops = check_sessions(checker, what, timeline, expected)
    executed = collections.defaultdict(collections.Counter)
    for op in ops:
        executed[op["session"], op["run"]][kernels[op["kernel"]]["node"]] += 1
    runs = {(run["session"], run["run"]) for run in timeline.rows("run")}
    checker.true(what + ": several runs of both were seen",
                 all(sum(s == session for s, _ in runs) >= 3 for session in models), runs)
    wrong = {key: sum((executed[key] - expected[models[key[0]][0]]).values()) -
             sum((expected[models[key[0]][0]] - executed[key]).values())
             for key in runs if models.get(key[0]) and executed[key] != expected[models[key[0]][0]]}
    checker.equal(what + ": each run has exactly its model's operators", wrong, {})
    checker.equal(what + ": no operator without its run's row", set(executed) - runs, set())


def both_running(checker, version):
    # Smaller inputs go through the same nodes.
    expected = {name: nodes_of_run(checker, version, name) for name in (SHORT, "det")}
    for mode in ("inter", "async"):
        if mode == "async" and version == "1.15.0":
            continue  # it has no RunAsync
        what = "%s-%s" % (version, mode)
        target = Running(checker, version, what, [SHORT, LONG], *MODES[mode])
        target.more_runs(2)
        trace = checker.folder + "/%s.ortl" % what
        collector = h.attach(checker.folder, "attach-" + what, target.pid, trace, "-q", "--ring-size", 8192)
        target.more_runs(4)
        checker.equal(what + ": all end well", target.stop(collector), (0, 0))
        timeline = h.load(trace)
        checker.equal(what + ": nothing was lost", h.lost(timeline), 0)
        check_runs(checker, what, timeline, expected)


# ---------------------------------------------------------------------------------- shapes

VARIED = 70  # more sets of inputs than a kernel remembers


def first_dims(timeline):
    """By shape set: the first dimension of its first tensor."""
    return {t["shape"]: int(re.match(r"\d+", t["dims"]).group())
            for t in timeline.rows("tensor") if not t["index"] and t["dims"]}


def check_varied(checker, what, timeline, count):
    kernels = {op["kernel"] for op in of_runs(timeline)}
    runs = {run["run"]: run["inputs"] for run in timeline.rows("run")}
    checker.equal(what + ": the runs are there", sorted(runs), list(range(1, count + 1)))
    batches = first_dims(timeline)
    checker.equal(what + ": each run has inputs of its own kind",
                  [batches.get(runs[run]) for run in sorted(runs)],
                  [1 + i % VARIED for i in range(count)])
    told = {(row["kernel"], row["run_inputs"]): row for row in timeline.rows("kernel_shape")}
    checker.equal(what + ": each kernel's shapes are told for the inputs of each run",
                  [(kernel, run) for run in runs for kernel in kernels
                   if (kernel, runs[run]) not in told][:3], [])
    convolutions = {k["kernel"] for k in timeline.rows("kernel") if "Conv" in k["op_type"]} & kernels
    wrong = [row for row in told.values() if row["kernel"] in convolutions and
             {batches.get(row["inputs"]), batches.get(row["outputs"])} !=
             {batches.get(row["run_inputs"])}]
    checker.true(what + ": there are convolutions", convolutions)
    checker.equal(what + ": which have the batch of their run", wrong[:2], [])


def shapes_follow(checker, version):
    """one session, another batch in each run, and the same ones again"""
    count = VARIED + 10
    for mode, more in MODES.items():
        for ops in ("all", "shim") if version == h.NEWEST else ("all",):
            what = "%s-%s-%s" % (version, mode, ops)
            trace = checker.folder + "/%s.ortl" % what
            program = h.ortscope(checker.folder, what, "run", "-q", "--ops", ops, "-o", trace, "--",
                                 *arguments(version, [SHORT], *more, "--vary", VARIED, "--runs", count))
            checker.equal(what + ": it ends well", program.code, 0)
            check_varied(checker, what, h.load(trace), count)


def shapes_after_loss(checker):
    """nobody empties the rings while new kinds of inputs come: what was dropped is told later"""
    kinds = 6
    go_file, trace = (checker.folder + end for end in ("/target.go", "/trace.ortl"))
    target = Running(checker, h.NEWEST, "target", [SHORT], "--go-file", go_file, "--vary", kinds)
    collector = h.attach(checker.folder, "attach", target.pid, trace, "-q", "--ring-size", 128)
    stopped = h.linux_pids("ortscope.exe", trace)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    h.touch(go_file)
    target.more_runs(2 * kinds)
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    expected = operators_of_run(h.NEWEST)

    def complete():
        target.more_runs(10 * kinds)  # reading it takes the collector's processor
        timeline = h.load(trace)  # which still grows
        executed = {op["kernel"] for op in of_runs(timeline)}
        described = {row["shape"] for row in timeline.rows("tensor")}
        told = {(row["kernel"], row["run_inputs"]) for row in timeline.rows("kernel_shape")
                if {row["inputs"], row["outputs"]} <= described}
        inputs = {run["inputs"] for run in timeline.rows("run")[-kinds:]}
        return (len(executed), len(inputs)) == (expected, kinds) and all(
            (k, i) in told for k in executed for i in inputs)

    # An attempt that fails is followed by a pause, so it takes some runs.
    h.wait_until(complete, "each kernel's shapes for each kind of inputs", program=target.program)
    checker.equal("all end well", target.stop(collector), (0, 0))
    checker.true("events were lost", stopped and h.lost(h.load(trace)))


def flops_are_known(checker):
    """the sum over all runs, though each had other inputs"""
    trace = checker.folder + "/flops.ortl"
    program = h.ortscope(checker.folder, "flops", "run", "-q", "-o", trace, "--",
                         *arguments(h.NEWEST, [SHORT], "--vary", VARIED, "--runs", VARIED + 10))
    checker.equal("it ends well", program.code, 0)
    rows = {row["op_type"]: row for row in h.ask("ops", trace, "--by", "type")["ops"]}
    checker.true("those of convolutions", all(
        row["flops_per_call"] for name, row in rows.items() if "Conv" in name), rows)


def tests():
    def named(function, version):
        def test(checker):
            function(checker, version)
        test.__name__ = "%s_%s" % (function.__name__, version.replace(".", "_"))
        return test
    return ([named(both_running, v) for v in ("1.15.0", "1.17.3", "1.23.2", "1.30.0")] +
            [named(shapes_follow, v) for v in ("1.20.1", "1.30.0")] +
            [shapes_after_loss, flops_are_known])


if __name__ == "__main__":
    h.run_tests("test_op_attach", tests())
