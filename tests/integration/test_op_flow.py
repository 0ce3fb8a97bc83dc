#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How operators follow each other in real models, as `ortscope ops` tells it, worked out again here from
the rows: in flight, critical path, threads of inter-op. One after the other: never two at once. With two
streams on inter-op threads: two."""
import collections
import json
import os

import harness as h
from op_profile import arguments, of_runs

VERSION = "1.23.2"


def captured(checker, name, models, *more):
    """The file of model_runner, and what ops says about its sessions."""
    trace = "%s/%s.ortl" % (checker.folder, name)
    program = h.ortscope(checker.folder, "run-" + name, "run", "-q", "-o", trace, "--",
                         *arguments(VERSION, models, *more))
    checker.equal(name + ": the exit code passes through", program.code, 0)
    timeline = h.load(trace)
    checker.equal(name + ": nothing was lost", h.lost(timeline), 0)
    answer = h.ask("ops", trace)
    checker.equal(name + ": a session for each model", len(answer["sessions"]), len(models))
    return timeline, answer


def outermost(ops, run):
    """(begin, end, thread) of what lies inside nothing else, within the run."""
    found = []
    for thread in {op["thread"] for op in ops}:
        free, outer = run["begin"], None
        for op in sorted((op for op in ops if op["thread"] == thread),
                         key=lambda op: (op["begin"], op["depth"])):
            end = op["begin"] + op["duration"]
            if outer and op["depth"] > outer["depth"] and op["begin"] < outer["begin"] + outer["duration"]:
                continue
            outer = op
            begin = min(max(op["begin"], free), run["begin"] + run["duration"])
            free = max(min(end, run["begin"] + run["duration"]), begin)
            found.append((begin, free, thread))
    return found


def in_flight(spans, run):
    """Nanoseconds with none, one and several."""
    edges = sorted([(begin, 1) for begin, _, _ in spans] + [(end, -1) for _, end, _ in spans])
    times, now, count = [0, 0, 0], run["begin"], 0
    for at, change in edges + [(run["begin"] + run["duration"], 0)]:
        times[min(count, 2)] += at - now
        now, count = at, count + change
    return times


def path_of(spans):
    """Nanoseconds on the way back from the last end."""
    total, before = 0, None
    for begin, end, _ in sorted(spans, key=lambda span: (span[1], span[0]), reverse=True):
        if before is None or end <= before:
            total += end - begin
            before = begin
    return total


def worked_out(timeline, session):
    """The same from the rows: nanoseconds."""
    by_run = collections.defaultdict(list)
    for op in of_runs(timeline):
        if op["session"] == session:
            by_run[op["run"]].append(op)
    sums = collections.Counter()
    for run in timeline.rows("run"):
        if run["session"] != session:
            continue
        spans = outermost(by_run[run["run"]], run)
        times = in_flight(spans, run)
        sums.update(runs=1, none=times[0], one=times[1], several=times[2], run=run["duration"],
                    path=path_of(spans), busy=sum(end - begin for begin, end, _ in spans),
                    pool=sum(end - begin for begin, end, thread in spans if thread != run["thread"]))
    return sums


def check(checker, name, timeline, flow):
    sums = worked_out(timeline, flow["session"])
    told = flow["in_flight"]
    checker.equal(name + ": all runs are looked at", (flow["runs"], flow["left_out_runs"]),
                  (sums["runs"], 0))
    for what, value in (("none", told["none_us"]), ("one", told["one_us"]),
                        ("several", told["several_us"]), ("run", flow["run_us"]),
                        ("busy", flow["busy_us"]), ("path", flow["critical_path"]["total_us"]),
                        ("pool", flow["inter_op_threads"]["busy_us"])):
        checker.equal("%s: %s, to the nanosecond" % (name, what), round(value * 1000), sums[what])
    checker.equal(name + ": the path is told for what it is", flow["critical_path"]["based_on"],
                  "order of execution")


def sequential(checker):
    """one operator after the other, an If among them"""
    models = ["det", "rec", "cls_1", "silero_v5"]
    timeline, answer = captured(checker, "sequential", models)
    for name, flow in zip(models, answer["sessions"]):
        check(checker, name, timeline, flow)
        told = flow["in_flight"]
        checker.equal(name + ": never two at once", (told["several_us"], told["parallel_share"], told["most"]),
                      (0, 0, 1))
        checker.equal(name + ": no threads but the run's own", flow["inter_op_threads"]["threads"], [])
        checker.equal(name + ": the path is all of it", flow["critical_path"]["total_us"], told["one_us"])
        checker.equal(name + ": one provider", flow["provider_changes"]["count"], 0)
    cls = answer["sessions"][2]
    kernels = {k["kernel"]: k for k in timeline.rows("kernel")}
    executed = {op["kernel"] for op in of_runs(timeline) if op["session"] == cls["session"]}
    kinds = collections.Counter(
        "reorder" if kernels[k]["op_type"].startswith("Reorder") else
        "blocked" if kernels[k]["domain"] == "com.microsoft.nchwc" else "other" for k in executed)
    told = {kind: cls["fusion"][kind]["nodes"] for kind in ("reorder", "blocked")}
    checker.equal("cls: nodes in blocked layout, and those that change it", told,
                  {"reorder": kinds["reorder"], "blocked": kinds["blocked"]})
    checker.true("cls: there are some of both", min(told.values()) > 0, told)
    checker.true("cls: nodes vary, and have enough calls only with more than 100", not answer["most_variable"],
                 answer["most_variable"])


def print_figures(name, flow):
    print("         %s: several in flight %.2f %%, at most %d, path %.1f %%, threads %d, idle %.1f %%" % (
        name, flow["in_flight"]["parallel_share"] * 100, flow["in_flight"]["most"],
        flow["critical_path"]["share"] * 100, len(flow["inter_op_threads"]["threads"]),
        flow["inter_op_threads"]["idle_share"] * 100), flush=True)


def inter_op(checker):
    """inter-op threads without streams: a run goes to another thread, its operators follow each other"""
    models = ["det", "rec"]
    timeline, answer = captured(checker, "inter_op", models, "--inter", 4)
    for name, flow in zip(models, answer["sessions"]):
        check(checker, name, timeline, flow)
        print_figures(name, flow)
        checker.equal(name + ": never two at once", flow["in_flight"]["several_us"], 0)
        checker.true(name + ": all of it on threads of the pool",
                     flow["inter_op_threads"]["busy_us"] == flow["busy_us"] > 0, flow["inter_op_threads"])


def parallel(checker):
    """two streams on inter-op threads: two chains that have nothing to do with each other"""
    chains = [["matmul_left%d" % i for i in range(8)] + ["mul_Y"],
              ["sigmoid_right"] + ["matmul_right%d" % i for i in range(8)]]
    streams = "%s/streams.json" % checker.folder
    with open(os.path.join(h.ROOT, streams), "w", encoding="utf-8") as file:
        json.dump({"type": "DeviceBasedPartitioner", "streams": chains, "devices": ["0", "0"]}, file)
    timeline, answer = captured(checker, "parallel", ["branches"], "--inter", 4, "--streams", streams)
    flow = answer["sessions"][0]
    check(checker, "branches", timeline, flow)
    print_figures("branches", flow)
    checker.true("operators ran at the same time", flow["in_flight"]["parallel_share"] > 0,
                 flow["in_flight"])
    checker.equal("two of them", flow["in_flight"]["most"], 2)
    checker.true("the path is shorter than all operators together",
                 flow["critical_path"]["total_us"] < flow["busy_us"], flow["critical_path"])


TESTS = [sequential, inter_op, parallel]

if __name__ == "__main__":
    h.run_tests("test_op_flow", TESTS)
