#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What `summary`, `timeline` and `ops` say about memory, loading and placement, against the same
numbers worked out here from the rows of the file; and programs that keep their results look like a
leak while others do not."""
import collections
import math
import statistics

import harness as h

RUNNER = h.BIN + "/model_runner.exe"
VERSIONS = ["1.15.0", "1.20.1", "1.30.0"]
CLS = ["--model", h.PICTURE_MODELS + "/cls.onnx", "--input", "x=float:1,3,48,192", "--output",
       "softmax_0.tmp_0"]
RELEASED = 1
LOADING, FAILED = 1, 4


def record(checker, name, version, runs, *more):
    """The path of a recording of model_runner, and its rows."""
    trace = "%s/%s.ortl" % (checker.folder, name)
    program = h.ortscope(checker.folder, "run-" + name, "run", "-q", "--alloc", "all", "-o", trace,
                         "--", RUNNER, "--dll", h.dll(version), "--runs", runs, *more, *CLS)
    checker.equal(name + ": the program ends well", program.code, 0)
    timeline = h.load(trace)
    checker.equal(name + ": the file is whole and nothing was lost",
                  (timeline.damage, h.lost(timeline)), (None, 0))
    return trace, timeline


def of_session(timeline, kind, session):
    return [row for row in timeline.rows(kind) if row["session"] == session]


# ----------------------------------------------------------------------- worked out once more


def states(timeline, session):
    """The first and the last state of the session's arena, and the one that first told its peak."""
    rows = sorted(of_session(timeline, "memory", session), key=lambda row: row["time"])
    peak = max(row["peak_bytes"] for row in rows)
    return rows[0], rows[-1], next(row for row in rows if row["peak_bytes"] == peak)


def spread(values):
    ordered = sorted(values)
    return {"mean": round(statistics.fmean(values), 3), "p50": ordered[(len(values) + 1) // 2 - 1],
            "max": ordered[-1]}


def theil_sen(points):
    """Median of the slopes and the 95 % interval around it."""
    slopes = sorted((b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(points)
                    for b in points[i + 1:])
    n = len(points)
    reach = 1.959964 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = math.floor((len(slopes) - reach) / 2) - 1
    high = math.ceil((len(slopes) + reach) / 2)
    return [round(v, 3) for v in (statistics.median(slopes), slopes[low], slopes[high])]


def expected_growth(timeline, session):
    """Of what was counted run by run, or of the arena's states where nobody could count."""
    counted = [(row["run"], row["live_bytes"]) for row in of_session(timeline, "run_memory", session)
               if row["run"] and row["live_bytes"] >= 0]
    told = [(row["run"], row["in_use_bytes"]) for row in of_session(timeline, "memory", session)
            if row["run"]]
    points = told if len(told) >= len(counted) else counted
    if len(points) < 20:
        return {"bytes_per_run": None, "low": None, "high": None, "runs": 0}
    slope, low, high = theil_sen(points[len(points) // 2:])
    return {"bytes_per_run": slope, "low": low, "high": high,
            "runs": len(points) - len(points) // 2}


def expected_memory(timeline, session, runs):
    """What a session with one arena has in the summary, but for the verdict."""
    first, last, at_peak = states(timeline, session)
    rows = [row for row in of_session(timeline, "run_memory", session) if row["run"]]
    empty = [0] * (runs - len(rows))
    growth = expected_growth(timeline, session)
    return {
        "arena_bytes": last["held_bytes"],
        "in_use_bytes": last["in_use_bytes"],
        "peak_bytes": at_peak["peak_bytes"],
        "growth_bytes_per_run": growth["bytes_per_run"],
        "fragmentation_bytes": last["held_bytes"] - last["in_use_bytes"],
        "fragmentation_share": round(1 - last["in_use_bytes"] / last["held_bytes"], 6),
        "fragmentation_at_peak_bytes": at_peak["held_bytes"] - at_peak["peak_bytes"],
        "fragmentation_at_peak_share": round(1 - at_peak["peak_bytes"] / at_peak["held_bytes"], 6),
        "arena_grown_bytes": last["held_bytes"] - first["held_bytes"],
        "arena_extensions": last["extensions"] - first["extensions"],
        "allocated_bytes_per_run": spread([r["allocated_bytes"] for r in rows] + empty),
        "allocations_per_run": spread([r["allocations"] for r in rows] + empty),
        "run_peak_bytes": max(row["peak_bytes"] for row in rows),
        "growth": growth,
        "source": "arena",
        "notes": [],
    }


def check_memory(checker, name, trace, timeline, runs):
    session = h.summary(trace)["sessions"][0]
    memory = session["memory"]
    expected = expected_memory(timeline, session["id"], runs)
    verdict = memory["growth"].pop("verdict")
    for key in ("allocated_bytes_per_run", "allocations_per_run"):
        told, true = memory[key].pop("p50"), expected[key].pop("p50")
        checker.true("%s: the median of %s, to 0.1 %%" % (name, key),
                     abs(told - true) <= true * 0.001, (told, true))
    checker.equal(name + ": the summary's memory is that of the rows", memory, expected)
    return verdict


# ------------------------------------------------------------------------------------- tests


def numbers_are_those_of_the_rows(checker):
    for version in VERSIONS:
        trace, timeline = record(checker, version, version, 100)
        verdict = check_memory(checker, version, trace, timeline, 100)
        checker.equal(version + ": steady", verdict, "steady")


def results_that_are_kept_look_like_a_leak(checker):
    """the program never releases what it gets: 8 bytes a run"""
    for version in VERSIONS:
        trace, timeline = record(checker, version, version, 100, "--keep")
        verdict = check_memory(checker, version, trace, timeline, 100)
        growth = h.summary(trace)["sessions"][0]["memory"]["growth"]
        checker.equal(version + ": a leak of what it keeps",
                      (verdict, growth["bytes_per_run"], growth["low"], growth["high"]),
                      ("leak", 8, 8, 8))


def attached_to_a_session_from_before(checker):
    """nobody knows what it held; what its arena tells is there all the same"""
    for version in VERSIONS:
        trace, pid_file = ("%s/%s.%s" % (checker.folder, version, end) for end in ("ortl", "pid"))
        target = h.Program(checker.folder, "target-" + version, [
            RUNNER, "--dll", h.dll(version), "--runs", 200, "--pid-file", pid_file, "--go-file",
            pid_file + ".go"] + CLS)
        collector = h.attach(checker.folder, "attach-" + version, h.read_pid(pid_file, target), trace,
                             "-q")
        h.touch(pid_file + ".go")
        checker.equal(version + ": both end well", (target.wait(), collector.wait()), (0, 0))
        timeline = h.load(trace)
        check_memory(checker, version, trace, timeline, 200)
        loading = h.summary(trace)["sessions"][0]["loading"]
        checker.equal(version + ": how it was loaded is not known", set(loading.values()), {None})


def few_runs_tell_no_growth(checker):
    trace, _ = record(checker, "few", VERSIONS[-1], 10, "--keep")
    growth = h.summary(trace)["sessions"][0]["memory"]["growth"]
    checker.equal("too few", (growth["verdict"], growth["bytes_per_run"]), ("too_few_runs", None))


def allocations_of_one_run(checker):
    """timeline: sums of the run and of each operator; ops: means of all runs"""
    for version in VERSIONS:
        trace, timeline = record(checker, version, version, 30)
        rows = [r for r in timeline.rows("alloc") if r["run"] == 1 and not r["flags"] & FAILED]
        taken = [r for r in rows if r["action"] != RELEASED]
        shown = h.ask("timeline", trace, "--run", "1")
        checker.equal(version + ": allocations and their bytes",
                      (shown["memory"]["allocations"], shown["memory"]["allocated_bytes"]),
                      (len(taken), sum(r["bytes"] for r in taken)))
        by_kernel = collections.Counter()
        for row in taken:
            by_kernel[row["kernel"]] += row["bytes"]
        nodes = {r["kernel"]: r["node"] for r in timeline.rows("kernel")}
        expected = {nodes[k]: v for k, v in by_kernel.items() if k and v}
        checker.equal(version + ": what each operator allocated",
                      {op["node"]: op["allocated_bytes"] for op in shown["ops"]
                       if op["allocated_bytes"]}, expected)
        checker.true(version + ": most of it is allocated by operators",
                     sum(expected.values()) * 2 > sum(r["bytes"] for r in taken), expected)
        check_ops(checker, version, trace, timeline, nodes)


def check_ops(checker, name, trace, timeline, nodes):
    taken, calls = collections.Counter(), collections.Counter()
    for row in timeline.rows("alloc"):
        if row["kernel"] and row["action"] != RELEASED and not row["flags"] & (LOADING | FAILED):
            taken[nodes[row["kernel"]]] += row["bytes"]
    for row in timeline.rows("op"):
        if not row["flags"] & LOADING:
            calls[nodes[row["kernel"]]] += 1
    shown = {op["node"]: op["allocated_bytes_per_call"]
             for op in h.ask("ops", trace, "--by", "node")["ops"]}
    checker.equal(name + ": bytes a call of every node",
                  {node: shown[node] for node in calls
                   if abs(shown[node] - taken[node] / calls[node]) > 0.051}, {})


def loading_and_placement(checker):
    """a model that is loaded four times; which nodes run where"""
    for version in VERSIONS:
        trace, timeline = record(checker, version, version, 2, "--sessions", "4")
        shown = h.summary(trace)["sessions"]
        rows = sorted(timeline.rows("session"), key=lambda row: row["time"])
        loads = [row["load"] for row in rows]
        checker.equal(version + ": loads of the same model", [s["loading"]["same_model"] for s in shown],
                      [{"loads": 4, "number": i + 1, "first_ms": loads[0] / 1e6,
                        "later_median_ms": statistics.median(loads[1:]) / 1e6} for i in range(4)])
        checker.equal(version + ": the whole of it", [s["loading"]["total_ms"] for s in shown],
                      [load / 1e6 for load in loads])
        for session in shown:
            check_phases(checker, version, timeline, session)
            check_placement(checker, version, timeline, session)


def check_phases(checker, name, timeline, session):
    parts = collections.defaultdict(int)
    for row in of_session(timeline, "phase", session["id"]):
        parts[row["phase"]] += row["duration"]
    told = [session["loading"][key] for key in ("read_ms", "optimise_ms", "kernels_ms")]
    checker.equal("%s: phases of session %d" % (name, session["id"]), told,
                  [parts[i] / 1e6 if i in parts else None for i in (1, 2, 3)])


def check_placement(checker, name, timeline, session):
    kernels = {r["kernel"]: r for r in of_session(timeline, "kernel", session["id"])}
    ran = {kernels[r["kernel"]]["node"] for r in of_session(timeline, "op", session["id"])
           if not r["flags"] & LOADING}
    checker.equal("%s: placement of session %d" % (name, session["id"]), session["placement"],
                  [{"provider": "CPUExecutionProvider", "nodes": len(ran), "share": 1,
                    "time": "execution"}])


if __name__ == "__main__":
    h.run_tests("memory", [numbers_are_those_of_the_rows, results_that_are_kept_look_like_a_leak,
                           attached_to_a_session_from_before, few_runs_tell_no_growth, allocations_of_one_run, loading_and_placement])
