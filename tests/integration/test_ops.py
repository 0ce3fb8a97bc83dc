#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Operators: for real models and every version at hand, launched and attached, what ortscope saw of
each node equals what ORT's own profiler wrote about the same work in another process. Outputs are
bit-identical with and without us, nothing is lost, self times fit into their run.

How well the times agree with ORT's is printed, and only required to be no nonsense: its profiler
inflates small operators, and the machine may be busy."""
import collections
import glob
import json
import os
import statistics

import harness as h

RUNNER = h.BIN + "/model_runner.exe"
VERSIONS = ["1.15.0", "1.17.0", "1.17.3", "1.20.1", "1.23.2", "1.30.0"]
ATTACHED = ["1.15.0", "1.23.2", "1.30.0"]
RUNS = 12
RANKS = []  # agreement with ORT's profile, one per model, version and way in
FLAG_LOADING, FLAG_AMBIGUOUS, FLAG_FAILED = 1, 2, 4

MODELS = {
    "cls": (["x=float:1,3,48,192"], ["softmax_0.tmp_0"]),
    "det": (["x=float:1,3,96,64"], ["sigmoid_0.tmp_0"]),
    "rec": (["x=float:1,3,48,64"], ["softmax_11.tmp_0"]),
    # An If around everything else: the sample rate chooses the branch.
    "silero_v5": (["input=float:1,512", "state=float:2,1,128", "sr=int64::16000"],
                  ["output", "stateN"]),
}

# Small ones, for sessions by the hundred.
SMALL = {
    "affine": (["X=float:2,4", "S=float:2,3"], ["Y", "Z"]),
    "pick": (["I=int64:3:2"], ["picked"]),
}


def arguments(version, models, *more):
    """Paths and switches for model_runner; the models come last."""
    words = [RUNNER, "--dll", h.dll(version), "--runs", RUNS] + list(more)
    for name in models:
        inputs, outputs = (SMALL if name in SMALL else MODELS)[name]
        folder = "build/integration/models" if name in SMALL else h.PICTURE_MODELS
        words += ["--model", "%s/%s.onnx" % (folder, name)]
        for text in inputs:
            words += ["--input", text]
        for text in outputs:
            words += ["--output", text]
    return words


# ---------------------------------------------------------------------------------- both sides


def calls_of(times):
    return collections.Counter({node: len(spans) for node, spans in times.items()})


def typical(times):
    """The median, since a busy machine makes any one execution arbitrarily long."""
    return collections.Counter({node: statistics.median(spans) for node, spans in times.items()})


def profiled(checker, version, name):
    """Calls and typical time per node as ORT's profiler tells."""
    prefix = "%s/profile-%s-%s" % (checker.folder, name, version)
    program = h.run(checker.folder, "profile-" + name, arguments(version, [name], "--profile", prefix))
    checker.equal("%s: the profiled program ends well" % name, program.code, 0)
    files = glob.glob(os.path.join(h.ROOT, prefix) + "_*.json")
    checker.equal("%s: ORT wrote one profile" % name, len(files), 1)
    with open(files[0], encoding="utf-8") as file:
        events = json.load(file)
    times, end = collections.defaultdict(list), "_kernel_time"
    for event in events:
        if event["cat"] == "Node" and event["name"].endswith(end):
            times[event["name"][:-len(end)]].append(event["dur"])
    return calls_of(times), typical(times)


def self_times(ops):
    """Own nanoseconds of each op: those of the kernels inside it, on its thread, taken away."""
    own = {}
    for thread in {op["thread"] for op in ops}:
        stack = []
        mine = [i for i, op in enumerate(ops) if op["thread"] == thread]
        mine.sort(key=lambda i: (ops[i]["begin"], -ops[i]["duration"], ops[i]["depth"]))
        for i in mine:
            own[i] = ops[i]["duration"]
            while stack and ops[stack[-1]]["depth"] >= ops[i]["depth"]:
                stack.pop()
            if stack:
                own[stack[-1]] -= ops[i]["duration"]
            stack.append(i)
    return own


def of_runs(timeline):
    """Ops that are inference, not loading."""
    return [op for op in timeline.rows("op") if not op["flags"] & FLAG_LOADING]


def per_node(timeline):
    nodes = {k["kernel"]: k["node"] for k in timeline.rows("kernel")}
    times = collections.defaultdict(list)
    for op in of_runs(timeline):
        times[nodes.get(op["kernel"], "kernel %d is unknown" % op["kernel"])].append(op["duration"])
    return calls_of(times), typical(times)


def spearman(ours, theirs, count=30):
    """Rank agreement over the nodes that are heaviest to us."""
    names = [name for name, _ in ours.most_common(count)]
    ranks = []
    for values in (ours, theirs):
        order = sorted(names, key=lambda name: -values[name])
        ranks.append({name: place for place, name in enumerate(order)})
    n = len(names)
    if n < 3:
        return 1.0
    return 1 - 6 * sum((ranks[0][x] - ranks[1][x]) ** 2 for x in names) / (n * (n * n - 1))


# ---------------------------------------------------------------------------------- checks


def check_fits(checker, what, timeline):
    ops = of_runs(timeline)
    own, sums = self_times(ops), collections.Counter()
    for i, op in enumerate(ops):
        sums[(op["session"], op["run"])] += own[i]
    checker.equal(what + ": no operator took less than nothing",
                  [ops[i] for i in own if own[i] < 0][:3], [])
    # Durations are rounded to nanoseconds one by one.
    over = [(r["run"], r["duration"], sums[(r["session"], r["run"])]) for r in timeline.rows("run")
            if sums[(r["session"], r["run"])] > r["duration"] + len(ops)]
    checker.equal(what + ": own times of a run's operators fit into it", over, [])


def check_identity(checker, what, timeline):
    kernels = timeline.rows("kernel")
    used = {op["kernel"] for op in of_runs(timeline)}
    checker.equal(what + ": kernels have node, type and provider",
                  [k for k in kernels if k["kernel"] in used and not (
                      k["node"] and k["op_type"] and k["provider"] == "CPUExecutionProvider" and
                      k["session"] and k["source"] in (1, 2) and k["submits"] == 0)][:2], [])
    shaped = {s["kernel"] for s in timeline.rows("kernel_shape") if s["inputs"] and s["outputs"]}
    checker.equal(what + ": every kernel's shapes are told", len(used - shaped), 0)


def check_trace(checker, what, trace, calls):
    timeline = h.load(trace)
    checker.equal(what + ": the file is whole", timeline.damage, None)
    checker.equal(what + ": nothing was lost", h.lost(timeline), 0)
    seen, times = per_node(timeline)
    checker.equal(what + ": each node ran as often as ORT says",
                  {n: (seen[n], calls[n]) for n in seen.keys() | calls.keys()
                   if seen[n] != calls[n]}, {})
    checker.equal(what + ": every operator has its run",
                  [op for op in of_runs(timeline) if op["flags"] or not op["run"]][:2], [])
    check_identity(checker, what, timeline)
    check_fits(checker, what, timeline)
    return times


def compare(checker, what, trace, alone, profile, program):
    calls, their_times = profile
    report = h.report_of(program.out)[0]
    checker.equal(what + ": outputs are bit-identical", report["output_hash"], alone["output_hash"])
    times = check_trace(checker, what, trace, calls)
    rank = spearman(times, their_times)
    print("         %s: %d nodes, %d executions, rank agreement with ORT's profile %.3f"
          % (what, len(calls), sum(calls.values()), rank), flush=True)
    RANKS.append(rank)


def launched(checker, version):
    for name in MODELS:
        profile = profiled(checker, version, name)
        alone = h.run(checker.folder, "alone-" + name, arguments(version, [name]))
        trace = "%s/%s.ortl" % (checker.folder, name)
        program = h.ortscope(checker.folder, "run-" + name, "run", "-q", "-o", trace, "--",
                             *arguments(version, [name]))
        checker.equal("%s: the exit code passes through" % name, program.code, 0)
        compare(checker, name, trace, h.report_of(alone.out)[0], profile, program)


def start_and_attach(checker, name, words, *options):
    """A program whose sessions exist, with ortscope attached; returns both."""
    pid_file, go_file = (os.path.join(checker.folder, name + end) for end in (".pid", ".go"))
    program = h.Program(checker.folder, "target-" + name,
                        words[:1] + ["--pid-file", pid_file, "--go-file", go_file] + words[1:])
    pid = h.read_pid(pid_file, program)
    trace = "%s/%s.ortl" % (checker.folder, name)
    collector = h.attach(checker.folder, "attach-" + name, pid, trace, "-q", *options)
    h.touch(go_file)
    return program, collector, trace


def attached(checker, version):
    for name in MODELS:
        profile = profiled(checker, version, name)
        alone = h.run(checker.folder, "alone-" + name, arguments(version, [name]))
        program, collector, trace = start_and_attach(checker, name, arguments(version, [name]))
        checker.equal("%s: the program ends well" % name, program.wait(), 0)
        checker.equal("%s: and so does ortscope" % name, collector.wait(), 0)
        compare(checker, name, trace, h.report_of(alone.out)[0], profile, program)


# ---------------------------------------------------------------------------------- threads


def watched(checker, name, words):
    trace = "%s/%s.ortl" % (checker.folder, name)
    alone = h.run(checker.folder, "alone-" + name, words)
    program = h.ortscope(checker.folder, "run-" + name, "run", "-q", "-o", trace, "--", *words)
    checker.equal(name + ": the exit code passes through", program.code, 0)
    checker.equal(name + ": outputs are bit-identical",
                  h.report_of(program.out)[0]["output_hash"],
                  h.report_of(alone.out)[0]["output_hash"])
    timeline = h.load(trace)
    checker.equal(name + ": nothing was lost", h.lost(timeline), 0)
    return timeline


def other_threads(checker):
    """inter-op threads and RunAsync: one run at a time, so each operator has its run"""
    version = "1.23.2"
    calls, _ = profiled(checker, version, "cls")
    for name, more in (("inter", ["--inter", 2]), ("async", ["--async", "--threads", 2])):
        timeline = watched(checker, name, arguments(version, ["cls"], *more))
        checker.equal(name + ": each node ran as often as ORT says", per_node(timeline)[0], calls)
        checker.equal(name + ": every operator has its run",
                      [op for op in of_runs(timeline) if op["flags"] or not op["run"]][:2], [])


def crowded(checker):
    """four threads in one session at the same time"""
    version = "1.23.2"
    calls, _ = profiled(checker, version, "cls")
    for name, more in (("run", []), ("async", ["--async", "--threads", 2])):
        timeline = watched(checker, name, arguments(version, ["cls"], "--workers", 4, *more))
        expected = collections.Counter({node: 4 * count for node, count in calls.items()})
        checker.equal(name + ": each node ran four times as often", per_node(timeline)[0], expected)
        flagged = [op for op in of_runs(timeline) if op["flags"] & FLAG_AMBIGUOUS]
        checker.equal(name + ": an operator without a run is marked, one with it is not",
                      [op for op in of_runs(timeline)
                       if bool(op["run"]) == bool(op["flags"] & FLAG_AMBIGUOUS)][:2], [])
        checker.equal(name + ": the session is known all the same",
                      {op["session"] for op in of_runs(timeline)}, {1})
        if name == "run":
            checker.equal("run: none is ambiguous", len(flagged), 0)


def nodes_of(timeline):
    """The nodes that each session executed."""
    nodes = {k["kernel"]: (k["node"], k["session"]) for k in timeline.rows("kernel")}
    found = collections.defaultdict(collections.Counter)
    for op in of_runs(timeline):
        node, session = nodes[op["kernel"]]
        found[op["session"]][node] += 1
        if session != op["session"]:
            found[op["session"]]["a kernel of session %d" % session] += 1
    return found


def signature(calls):
    """Generated names end in numbers that differ from load to load of a model."""
    plain = collections.Counter()
    for node, count in calls.items():
        plain[node.rstrip("0123456789")] += count
    return frozenset(plain.items())


def come_and_go(checker):
    """sessions of three models made, run and released 240 times by four threads"""
    for version in ("1.15.0", "1.30.0"):
        names, runs, sessions = ["affine", "cls", "pick", "affine"], 2, 60
        expected = set()
        for name in set(names):
            calls, _ = profiled(checker, version, name)
            expected.add(signature({node: count // RUNS * runs for node, count in calls.items()}))
        words = arguments(version, names, "--workers", 4, "--sessions", sessions)
        words[words.index("--runs") + 1] = runs
        timeline = watched(checker, "many-" + version, words)
        found = nodes_of(timeline)
        checker.equal(version + ": all sessions were seen", len(found), 4 * sessions)
        kinds = collections.Counter(signature(calls) for calls in found.values())
        checker.equal(version + ": each executed the nodes of its model and no others",
                      [dict(kind) for kind in kinds if kind not in expected][:1], [])
        checker.equal(version + ": as many sessions of each model as were made",
                      sorted(kinds.values()), [sessions, sessions, 2 * sessions])
        ended = {k["kernel"] for k in timeline.rows("kernel_end")}
        known = {k["kernel"] for k in timeline.rows("kernel")}
        checker.equal(version + ": every kernel's end was seen", len(known - ended), 0)


def modes(checker):
    """--ops off and --ops sample:3"""
    for mode, expected in (("off", set()), ("sample:3", {1, 4, 7, 10})):
        trace = "%s/%s.ortl" % (checker.folder, mode.replace(":", "-"))
        program = h.ortscope(checker.folder, "run-" + mode[:3], "run", "-q", "--ops", mode, "-o", trace,
                             "--", *arguments("1.23.2", ["cls"]))
        checker.equal(mode + ": the exit code passes through", program.code, 0)
        timeline = h.load(trace)
        checker.equal(mode + ": runs with operators", {op["run"] for op in of_runs(timeline)},
                      expected)
        checker.equal(mode + ": all runs are there", len(timeline.rows("run")), RUNS)
    program = h.ortscope(checker.folder, "wrong", "run", "--ops", "most", "--", "x")
    checker.true("another word is refused, with those that exist",
                 program.code == 2 and "sample:N" in program.err, (program.code, program.err))


def again_and_again(checker):
    """attached five times to one running program: nothing is missed, nothing is left changed"""
    words = arguments("1.20.1", ["cls"])
    words[words.index("--runs") + 1] = 3000
    pid_file = os.path.join(checker.folder, "target.pid")
    program = h.Program(checker.folder, "target", words[:1] + ["--pid-file", pid_file] + words[1:])
    pid = h.read_pid(pid_file, program)
    for i in range(5):
        trace = "%s/part-%d.ortl" % (checker.folder, i)
        collector = h.ortscope(checker.folder, "attach-%d" % i, "attach", pid, "-q", "-o", trace,
                               "--duration", "300ms")
        checker.equal("part %d: attach ends well" % i, collector.code, 0)
        timeline = h.load(trace)
        counts = collections.Counter((op["session"], op["run"]) for op in of_runs(timeline))
        whole = [counts[(r["session"], r["run"])] for r in timeline.rows("run")]
        checker.true("part %d: runs have all their operators" % i,
                     whole and set(whole) == {229}, (len(whole), set(whole)))
    checker.equal("the program ends well", program.wait(), 0)
    alone = h.run(checker.folder, "alone", words)
    checker.equal("outputs are bit-identical", h.report_of(program.out)[0]["output_hash"],
                  h.report_of(alone.out)[0]["output_hash"])


def ranks(checker):
    """over all models and versions of this run, heavy operators are heavy to ORT too"""
    if RANKS:
        print("         %d comparisons, rank agreement: median %.3f, least %.3f"
              % (len(RANKS), statistics.median(RANKS), min(RANKS)), flush=True)
        checker.true("the median agreement is no accident", statistics.median(RANKS) > 0.5, RANKS)


def of_version(kind, version):
    def test(checker):
        kind(checker, version)
    test.__name__ = "%s_%s" % (kind.__name__, version.replace(".", "_"))
    test.__doc__ = "every model with ONNX Runtime %s, %s" % (version, kind.__name__)
    return test


TESTS = [of_version(launched, v) for v in VERSIONS] + [of_version(attached, v) for v in ATTACHED]
TESTS += [other_threads, crowded, come_and_go, modes, again_and_again, ranks]

if __name__ == "__main__":
    h.run_tests("test_ops", TESTS)
