#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The execution-provider shim: operators as ORT's own profiler tells them equal what the kernels'
vtables show and what ORT writes into its JSON profile. Programs get the same results, no file
appears, and where the shim could be noticed it is refused with a reason."""
import collections
import os

import harness as h
import op_profile as ops
import sim_etw
import test_driver as driver

VERSION = "1.30.0"
SHIM = 4  # source of a kernel's identity


RUNS = 12  # fewer than the times of operators would need


def arguments(models, *more, version=VERSION, runs=RUNS):
    words = ops.arguments(version, models, *more)
    words[words.index("--runs") + 1] = runs
    return words


def profiled(checker, name):
    """Calls of each node in RUNS runs, as ORT's own profiler counts them."""
    calls = ops.calls_of(ops.profiled(checker, VERSION, name)[0])
    return collections.Counter({node: n // ops.RUNS * RUNS for node, n in calls.items()})


def calls_of(timeline):
    return ops.calls_of(ops.per_node(timeline))


def watch(checker, name, words, mode="shim"):
    """Runs a program alone and under ortscope; returns the timeline."""
    files = set(os.listdir(h.ROOT))
    alone = h.run(checker.folder, "alone-" + name, words)
    trace = "%s/%s.ortl" % (checker.folder, name)
    program = h.ortscope(checker.folder, "run-" + name, "run", "-q", "--ops", mode, "-o", trace,
                         "--", *words)
    checker.equal(name + ": the exit code passes through", program.code, alone.code)
    checker.equal(name + ": outputs are bit-identical", output_hash(program), output_hash(alone))
    checker.equal(name + ": no file appears",
                  [f for f in set(os.listdir(h.ROOT)) - files if "profile" in f or ".json" in f], [])
    timeline = h.load(trace)
    checker.equal(name + ": the file is whole and nothing was lost",
                  (timeline.damage, h.lost(timeline)), (None, 0))
    return timeline


def output_hash(program):
    return h.report_of(program.out)[0]["output_hash"]


def remarks(timeline):
    return [row["message"] for row in timeline.rows("log") if row["level"] <= 3]


def nodes_at_depth(timeline):
    nodes = {k["kernel"]: k["node"] for k in timeline.rows("kernel")}
    return collections.Counter((nodes[op["kernel"]], op["depth"]) for op in ops.of_runs(timeline))


def output_shapes(timeline):
    """How often which outputs of which operator occur, where all are tensors. Generated names of
    nodes differ from load to load."""
    types = {k["kernel"]: k["op_type"] for k in timeline.rows("kernel")}
    members = collections.defaultdict(list)
    for row in timeline.rows("tensor"):
        members[row["shape"]].append((row["index"], row["onnx_type"], row["element_type"],
                                      row["dims"]))
    return collections.Counter(
        (types[s["kernel"]], tuple(sorted(members[s["outputs"]])))
        for s in timeline.rows("kernel_shape")
        if s["outputs"] and all(tensor[1] == 1 for tensor in members[s["outputs"]]))


def check_identity(checker, what, timeline):
    checker.equal(what + ": the shim says who a kernel is",
                  [k for k in timeline.rows("kernel") if not (
                      k["source"] == SHIM and k["node"] and k["op_type"] and k["session"] and
                      k["provider"] == driver.CPU)][:2], [])
    checker.equal(what + ": every operator has its run",
                  [op for op in ops.of_runs(timeline) if op["flags"] or not op["run"]][:2], [])


def check_memory(checker, what, timeline):
    """What kernels take is seldom told twice, and never more than the arena has."""
    rows = timeline.rows("kernel_memory")
    known = {k["kernel"] for k in timeline.rows("kernel")}
    checker.true(what + ": what kernels take from the arena is told, not at each execution",
                 0 < len(rows) < 4 * len(known), (len(rows), len(known)))
    checker.equal(what + ": it fits into the arena",
                  [r for r in rows if r["kernel"] not in known or not
                   r["change_bytes"] <= r["in_use_bytes"] <= r["held_bytes"]][:2], [])


def arena_of_profile(checker, name):
    """{node: [(run, change, in use, held)]} of ORT's own profile: those executions that take another amount
    than the one before. Nodes that run once in each run, and have a name of their own."""
    states = collections.defaultdict(list)
    for node, event in ops.node_events(ops.profile_of(checker, VERSION, name)):
        states[node].append(tuple(int(event["args"][key]) for key in (
            "mem_in_use_delta", "mem_bytes_in_use", "mem_arena_held")))
    return {node: [(i + 1, *now) for i, (before, now) in enumerate(zip([(0, 0, 0)] + several, several[:RUNS]))
                   if now[0] != before[0]]
            for node, several in states.items() if len(several) == ops.RUNS and not node.startswith("Reorder")}


def check_arena(checker, name, timeline):
    """Bytes of the arena after executions are, to the byte, those of ORT's JSON profile of other runs, once the first
    run is over: which free pieces an arena takes in that one depends on what came before."""
    expected = arena_of_profile(checker, name)
    nodes, told = {k["kernel"]: k["node"] for k in timeline.rows("kernel")}, {node: [] for node in expected}
    for row in timeline.rows("kernel_memory"):
        if nodes[row["kernel"]] in told:
            told[nodes[row["kernel"]]].append((row["run"], row["change_bytes"], row["in_use_bytes"],
                                               row["held_bytes"]))
    later = [node for node in expected if expected[node] and told[node] and
             min(expected[node][-1][0], told[node][-1][0]) > 1]
    checker.equal(name + ": what kernels take, and what the arena has then, is what ORT's profile says",
                  [(node, told[node][-1], expected[node][-1]) for node in later
                   if told[node][-1] != expected[node][-1]][:2], [])
    checker.true(name + ": of many nodes", len(later) > 30, (len(later), len(expected)))


def same_as_the_others(checker):
    """nodes, calls, nesting and shapes against the vtables; calls against ORT's JSON profile"""
    for name in ops.MODELS:
        words = arguments([name])
        profile = profiled(checker, name)
        shim, vtables = (watch(checker, "%s-%s" % (name, mode), words, mode)
                         for mode in ("shim", "all"))
        calls = calls_of(shim)
        checker.equal(name + ": each node ran as often as ORT's profile says", calls, profile)
        checker.equal(name + ": and as the vtables say", calls, calls_of(vtables))
        checker.equal(name + ": equally deep inside others", nodes_at_depth(shim),
                      nodes_at_depth(vtables))
        told, seen = output_shapes(shim), output_shapes(vtables)
        checker.equal(name + ": outputs of the same shapes", (seen - told, told - seen),
                      (collections.Counter(), collections.Counter()))
        checker.equal(name + ": of every node", sum(told.values()), len(profile))
        check_identity(checker, name, shim)
        ops.check_fits(checker, name, shim)
        check_memory(checker, name, shim)
        check_arena(checker, name, shim)
        checker.equal(name + ": nothing to remark", remarks(shim), [])
        checker.equal(name + ": the program's providers are told, not ours",
                      [s["providers"] for s in shim.rows("session")], [driver.CPU])


def sampled(checker):
    """--ops shim:3"""
    timeline = watch(checker, "third", arguments(["cls"]), "shim:3")
    counts = collections.Counter(op["run"] for op in ops.of_runs(timeline))
    checker.equal("every third run has its operators", counts,
                  dict.fromkeys((1, 4, 7, 10), ops.operators_of_run(VERSION)))
    checker.equal("all runs are there", len(timeline.rows("run")), RUNS)
    program = h.ortscope(checker.folder, "wrong", "run", "--ops", "shim:0", "--", "x")
    checker.true("no number is refused", program.code == 2 and "shim:N" in program.err, program.err)


def times(calls, factor):
    return collections.Counter({node: factor * count for node, count in calls.items()})


def other_threads(checker):
    """inter-op threads, RunAsync, four threads in one session"""
    calls = profiled(checker, "cls")
    for name, factor, more in (("inter", 1, ["--inter", 2]),
                               ("async", 1, ["--async", "--threads", 2]),
                               ("crowd", 4, ["--workers", 4])):
        timeline = watch(checker, name, arguments(["cls"], *more))
        checker.equal(name + ": each node ran as often as ORT says", calls_of(timeline),
                      times(calls, factor))
        check_identity(checker, name, timeline)


def run_options_of_the_program(checker):
    """an object for each thread; one object for eight threads"""
    calls = profiled(checker, "cls")
    for name, workers, more in (("own", 4, []), ("shared", 8, []),
                                ("shared", 2, ["--async", "--threads", 2])):
        what = "%s, %d threads%s" % (name, workers, more[:1])
        words = arguments(["cls"], "--run-options", name, "--workers", workers, *more)
        timeline = watch(checker, what.replace(" ", "-"), words)
        checker.equal(what + ": each node ran as often as it should", calls_of(timeline),
                      times(calls, workers))
        checker.equal(what + ": nothing to remark", remarks(timeline), [])


def run_options_sampled(checker):
    """--ops shim:5 where runs share one object; which run comes first is the program's matter"""
    for workers in (1, 8):
        what = "%d threads" % workers
        words = arguments(["cls"], "--run-options", "shared", "--workers", workers)
        timeline = watch(checker, what.replace(" ", "-"), words, "shim:5")
        counts = collections.Counter(op["run"] for op in ops.of_runs(timeline))
        due = {row["run"] for row in timeline.rows("run") if row["run"] % 5 == 1}
        checker.equal(what + ": a run has all its operators or none, and only if it is its turn",
                      {run: n for run, n in counts.items()
                       if n != ops.operators_of_run(VERSION) or run not in due}, {})
        told = [m for m in remarks(timeline) if "using the same run options" in m]
        checker.equal(what + ": a run without, whose turn it was, is remarked on",
                      len(told), 1 if due - counts.keys() else 0)
        if workers == 1:
            checker.equal(what + ": no other run is ever in the way", set(counts), due)


def node_program(checker):
    """the real node.exe, whose runs have options of their own"""
    words = h.node_arguments(VERSION, "--runs", 5)
    timeline = watch(checker, "node", words)
    checker.equal("all operators are there", len(ops.of_runs(timeline)), 5 * ops.operators_of_run(VERSION))
    checker.equal("nothing to remark", remarks(timeline), [])


def refused(checker):
    """where the shim could be noticed, and where it can't be"""
    prefix = checker.folder + "/profile"
    for name, version, more, word in (
            ("policy", VERSION, ["--policy", 1], "choose its execution providers"),
            ("profiling", VERSION, ["--profile", prefix], "ORT's own profiling"),
            ("full", VERSION, ["--entries", 200, "--profile", prefix], "more options than are kept"),
            ("old", "1.23.2", [], "needs ONNX Runtime 1.25")):
        timeline = watch(checker, name, arguments(["cls"], *more, version=version))
        checker.equal(name + ": runs are recorded", len(timeline.rows("run")), RUNS)
        checker.equal(name + ": operators are not", len(timeline.rows("op")), 0)
        checker.true(name + ": the reason is told once, and what to do instead",
                     len([m for m in remarks(timeline) if word in m and "--ops all" in m]) == 1,
                     remarks(timeline))


def providers_of(timeline):
    """As ORT itself tells them, by session."""
    rows = [row for row in timeline.rows("ort_event") if row["name"] == "SessionCreation"]
    return {row["session"]: row["fields"] for row in rows}


def other_sessions(checker):
    """a session whose providers ORT chooses has what it would have without us"""
    for policy in (0, 1, 2, 3):
        name = "policy-%d" % policy
        words = arguments(["cls_1", "cls_1"], "--policy", policy, "--policy-last", runs=1)
        timeline = watch(checker, name, words)
        told = providers_of(timeline)
        checker.equal(name + ": ORT tells of both sessions", len(told), 2)
        checker.equal(name + ": only the first one has our provider",
                      ["OrtscopeExecutionProvider" in told[s] for s in sorted(told)], [True, False])
        checker.equal(name + ": and its operators",
                      {op["session"] for op in ops.of_runs(timeline)}, {min(told)})


def telemetry(checker):
    """somebody else listens to ORT's own events, which name our provider: that is said"""
    words = arguments(["cls_1"], runs=1)
    with sim_etw.Machine(checker) as machine:
        for name, listens in (("nobody", False), ("somebody", True)):
            if listens:
                recorder = machine.record("telemetry", (sim_etw.ORT_PROVIDER, 5, 0x1))
            trace = "%s/%s.ortl" % (checker.folder, name)
            program = machine.run(name, [h.ORTSCOPE, "run", "-q", "--ops", "shim", "-o", trace, "--"] +
                                  words)
            checker.equal(name + ": it ends well", program.code, 0)
            timeline = h.load(trace)
            checker.equal(name + ": operators are there", len(ops.of_runs(timeline)),
                          ops.operators_of_run(VERSION))
            checker.equal(name + ": a remark only if it is so",
                          len([m for m in remarks(timeline) if "event tracing session listens" in m]),
                          int(listens))
        checker.true("which says the truth", recorder.end())


def quiet(checker):
    """no warning more in the program's log"""
    words = arguments(["cls"], "--log", 2)
    watch(checker, "log", words)
    alone, shim = (open(os.path.join(h.ROOT, checker.folder, "%s-log.err" % who)).read()
                   for who in ("alone", "run"))
    checker.equal("as many messages", shim.count("log "), alone.count("log "))


def attached(checker):
    """a session that exists is told to be without operators; one that comes later has them"""
    words = arguments(["cls"])
    program, collector, trace = ops.start_and_attach(checker, "before", words, "--ops", "shim")
    checker.equal("the program ends well", (program.wait(), collector.wait()), (0, 0))
    timeline = h.load(trace)
    checker.equal("no operators", len(timeline.rows("op")), 0)
    checker.true("and why", "made before ortscope came" in " ".join(remarks(timeline)),
                 remarks(timeline))
    words = arguments(["cls"], "--sessions", 3)
    program, collector, trace = ops.start_and_attach(checker, "after", words, "--ops", "shim")
    checker.equal("the program ends well", (program.wait(), collector.wait()), (0, 0))
    counts = collections.Counter((op["session"], op["run"]) for op in ops.of_runs(h.load(trace)))
    checker.equal("all runs of three sessions have their operators",
                  (len(counts), set(counts.values())), (3 * RUNS, {ops.operators_of_run(VERSION)}))


def left_and_back(checker):
    """we leave in the middle of the program's work, come back twice, and leave again"""
    for name, more, reason in (
            ("none", [], []),
            ("shared", ["--run-options", "shared"], ["their run options were made before"])):
        pid_file, stop_file = (os.path.join(checker.folder, name + end) for end in (".pid", ".stop"))
        words = arguments(["cls"], "--workers", 2, "--log", 1, "--stop-file", stop_file, *more)
        trace = "%s/%s-0.ortl" % (checker.folder, name)
        program = h.Program(checker.folder, "run-" + name,
                            [h.ORTSCOPE, "run", "-q", "--ops", "shim", "-o", trace, "--"] +
                            words[:1] + ["--pid-file", pid_file] + words[1:])
        pid = h.read_pid(pid_file, program)
        h.wait_until(lambda: program.err.count("Writing profiler data") > 9, "runs",
                     program=program)
        left = h.ortscope(checker.folder, "detach-" + name, "detach", pid)
        checker.equal(name + ": detach ends well", left.code, 0)
        traces = [trace]
        for i in (1, 2):
            traces.append("%s/%s-%d.ortl" % (checker.folder, name, i))
            before = program.err.count("Writing profiler data")
            collector = h.attach(checker.folder, "attach-%s-%d" % (name, i), pid, traces[i], "-q",
                                 "--ops", "shim", "--duration", "1s" if reason else "60s")
            if not reason:
                h.wait_until(lambda: program.err.count("Writing profiler data") > before + 4,
                             "runs in part %d" % i, program=program)
                h.ortscope(checker.folder, "detach-%s-%d" % (name, i), "detach", pid)
            checker.equal("%s, part %d: attach ends well" % (name, i), collector.wait(), 0)
        h.touch(stop_file)
        checker.equal(name + ": the program ends well, all outputs equal", program.wait(), 0)
        check_parts(checker, name, traces, reason, program.err.count("Writing profiler data"))


def check_parts(checker, name, traces, reason, profiled):
    """The first part always has operators; the later ones have, or the reason why not."""
    seen = 0
    for i, trace in enumerate(traces):
        timeline = h.load(trace)
        counts = collections.Counter((op["session"], op["run"]) for op in ops.of_runs(timeline))
        found = {counts[(r["session"], r["run"])] for r in timeline.rows("run")}
        seen += len(timeline.rows("run"))
        checker.true("%s, part %d: operators of its runs" % (name, i),
                     found <= {0} if i and reason else found == {ops.operators_of_run(VERSION)}, found)
        checker.equal("%s, part %d: remarks" % (name, i),
                      [m for m in remarks(timeline) if not any(word in m for word in reason)], [])
    # A run of either thread may have been under way whenever we came or left.
    checker.true(name + ": ORT's profiler is off while we are away",
                 0 < profiled <= seen + 2 * 2 * len(traces), (profiled, seen))


def environments(checker):
    """the environment is released and made again; sessions come and go in each"""
    words = arguments(["cls"], "--envs", 3, "--workers", 4, "--sessions", 5, runs=2)
    timeline = watch(checker, "envs", words)
    counts = collections.Counter((op["session"], op["run"]) for op in ops.of_runs(timeline))
    checker.equal("every run of every session has its operators",
                  (len(counts), set(counts.values())), (3 * 4 * 5 * 2, {ops.operators_of_run(VERSION)}))
    ended = {k["kernel"] for k in timeline.rows("kernel_end")}
    known = {k["kernel"]: k["session"] for k in timeline.rows("kernel")}
    checker.equal("kernels end with their sessions", len(known.keys() - ended), 0)
    checker.equal("no kernel belongs to two sessions",
                  [op for op in ops.of_runs(timeline) if known[op["kernel"]] != op["session"]][:2],
                  [])


def every_way(checker):
    """the driver with every way to make and run a session; two runtimes; unloaded and loaded"""
    for name, more in (("one", []), ("two", ["--two-copies", h.dll("1.15.0")]),
                       ("unloaded", ["--unload"])):
        words = h.driver_arguments(VERSION, "--exit-code", 300, *more)
        alone = h.run(checker.folder, "alone-" + name, words)
        trace = "%s/%s.ortl" % (checker.folder, name)
        program = h.ortscope(checker.folder, "run-" + name, "run", "-q", "--ops", "shim", "-o",
                             trace, "--", *words)
        checker.equal(name + ": the exit code passes through", program.code, 300 & 255)
        report = h.report_of(program.out)[0]
        checker.true(name + ": it did and got exactly the same, outputs to the bit",
                     driver.without_pid(report) == driver.without_pid(h.report_of(alone.out)[0]))
        seen = driver.check_all(checker, trace, report, code=300)
        used = {op["session"] for op in ops.of_runs(seen.timeline)}
        fine = [s["session"] for s in seen.timeline.rows("session")
                if seen.versions[s["module"]] == VERSION and s["status"] == 0 and any(
                    r["status"] == 0 for r in seen.runs[s["session"]])]
        told = {row["session"] for row in seen.timeline.rows("log") if row["level"] == 3}
        checker.equal(name + ": every session has operators, or a reason why not",
                      [s for s in fine if s not in used and s not in told], [])


TESTS = [same_as_the_others, sampled, other_threads, run_options_of_the_program,
         run_options_sampled, node_program, refused, other_sessions, telemetry, quiet, attached, left_and_back, environments,
         every_way]

if __name__ == "__main__":
    h.run_tests("test_shim", TESTS)
