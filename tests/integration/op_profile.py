# SPDX-License-Identifier: MIT
"""What ortscope saw of each operator against what ORT's own profiler wrote about the same work in
another process: the same nodes, as often, with times that put the heavy ones in the same order.
Shared by test_operators.py and all_versions.py.

On the times. ORT's profiler rounds to microseconds and inflates each operator: by a microsecond or
two on Windows, by 10 to 100 under Wine, where its allocations cost more than a small operator, and
the machine may be busy. So the typical time of a node is the shortest of many, equal times share a
rank, and a comparison that fails is made again, both sides, a few times at most, alone and together
with those before. What is compared is total time, since ORT's spans of Loop, If and Scan contain those
inside.
"""
import collections
import glob
import json
import os

import harness as h

RUNNER = h.BIN + "/model_runner.exe"
RUNNERS = {"1.22.0": h.BIN + "/dxcore/model_runner.exe"}  # needs what Wine lacks: stub_dxcore.c
RUNS = 60
RANK_WANTED = 0.9  # Spearman, over the 30 heaviest nodes
ATTEMPTS = 6
FLAG_LOADING, FLAG_AMBIGUOUS, FLAG_FAILED = 1, 2, 4
C_API, STRUCTURES = 1, 2  # who tells a kernel's identity

REAL, SMALL = h.PICTURE_MODELS, "build/integration/models"
CLASSES = ["softmax_0.tmp_0"]

# Name: file, inputs, outputs.
SPECS = {
    # Eight lines at once: operators of some length, which tells heavy and light ones apart.
    "cls": (REAL + "/cls.onnx", ["x=float:8,3,48,192"], CLASSES),
    "det": (REAL + "/det.onnx", ["x=float:1,3,96,64"], ["sigmoid_0.tmp_0"]),
    "rec": (REAL + "/rec.onnx", ["x=float:1,3,48,64"], ["softmax_11.tmp_0"]),
    # An If around everything else: the sample rate chooses the branch.
    "silero_v5": (REAL + "/silero_v5.onnx",
                  ["input=float:1,512", "state=float:2,1,128", "sr=int64::16000"],
                  ["output", "stateN"]),
    # For many runs, and for sessions by the hundred.
    "cls_1": (REAL + "/cls.onnx", ["x=float:1,3,48,192"], CLASSES),
    "affine": (SMALL + "/affine.onnx", ["X=float:2,4", "S=float:2,3"], ["Y", "Z"]),
    "branches": (SMALL + "/branches.onnx", ["X=float:384,256"], ["Y"]),
    # Five turns, with an If in each; six rows.
    "loop": (SMALL + "/loop.onnx", ["X=float:2,4", "M=int64::5"], ["Y", "all"]),
    "scan": (SMALL + "/scan.onnx", ["H=float:4", "X=float:6,4"], ["last", "rows"]),
    "pick": (SMALL + "/pick.onnx", ["I=int64:3:2"], ["picked"]),
}
MODELS = ["cls", "det", "rec", "silero_v5"]


def arguments(version, models, *more, runs=RUNS):
    """Paths and switches for model_runner; the models come last."""
    words = [RUNNERS.get(version, RUNNER), "--dll", h.dll(version), "--runs", runs] + list(more)
    for name in models:
        path, inputs, outputs = SPECS[name]
        words += ["--model", path]
        for text in inputs:
            words += ["--input", text]
        for text in outputs:
            words += ["--output", text]
    return words


# ---------------------------------------------------------------------------------- both sides


def calls_of(times):
    return collections.Counter({node: len(spans) for node, spans in times.items()})


def typical(times):
    """The shortest: whatever disturbs an execution only makes it longer."""
    return collections.Counter({node: min(spans) for node, spans in times.items()})


def profile_of(checker, version, name, attempt=0):
    """The file that ORT wrote in profiled()."""
    prefix = "%s/profile-%s-%d-%s" % (checker.folder, name, attempt, version)
    files = glob.glob(os.path.join(h.ROOT, prefix) + "_*.json")
    checker.equal("%s: ORT wrote one profile" % name, len(files), 1)
    return files[0]


def node_events(path):
    """(node, event) of each execution that a profile has."""
    end = "_kernel_time"
    with open(path, encoding="utf-8") as file:
        return [(event["name"][:-len(end)], event) for event in json.load(file)
                if event["cat"] == "Node" and event["name"].endswith(end)]


def times_of(events):
    """Microseconds of each execution by node."""
    times = collections.defaultdict(list)
    for node, event in events:
        times[node].append(event["dur"])
    return times


def profiled(checker, version, name, attempt=0):
    """Microseconds of each execution by node as ORT's profiler tells, and the outputs' hash."""
    what = "profile-%s-%d" % (name, attempt)
    prefix = "%s/%s-%s" % (checker.folder, what, version)
    for old in glob.glob(os.path.join(h.ROOT, prefix) + "_*.json"):  # of the other way in
        os.remove(old)
    program = h.run(checker.folder, what, arguments(version, [name], "--profile", prefix))
    checker.equal("%s: the profiled program ends well" % name, program.code, 0)
    times = times_of(node_events(profile_of(checker, version, name, attempt)))
    return times, h.report_of(program.out)[0]["output_hash"]


def operators_of_run(version, _counts={}):
    """How many operators a run of the classifier executes, as ORT's own profile has it: how far the graph is
    rearranged depends on the processor (229 with AVX2, 235 with AVX-512)."""
    if version not in _counts:
        folder = "build/integration/operators_of_run"
        os.makedirs(os.path.join(h.ROOT, folder), exist_ok=True)
        prefix = "%s/%d-%s" % (folder, os.getpid(), version)
        program = h.run(folder, "%d-%s" % (os.getpid(), version),
                        arguments(version, ["cls_1"], "--profile", prefix, runs=1))
        [path] = glob.glob(os.path.join(h.ROOT, prefix) + "_*.json")
        assert program.code == 0, program.err
        _counts[version] = len(node_events(path))
        os.remove(path)
    return _counts[version]


def profiles(checker, version, names, runs):
    """The executions of several models as ORT's profiler tells them, {name: node_events()}, and the outputs'
    hash: all in one process."""
    prefix = "%s/profiles-%s" % (checker.folder, version)
    program = h.run(checker.folder, "profiles-" + version,
                    arguments(version, names, "--profile", prefix, runs=runs))
    checker.equal(version + ": the profiled program ends well", program.code, 0)
    events = {}
    for i, name in enumerate(names):
        files = glob.glob(os.path.join(h.ROOT, "%s-%d_*.json" % (prefix, i)))
        checker.equal("%s %s: ORT wrote one profile" % (version, name), len(files), 1)
        events[name] = node_events(files[0])
    return events, h.report_of(program.out)[0]["output_hash"]


class Part:
    """What a timeline has of one session."""

    def __init__(self, timeline, session):
        self.timeline, self.session, self.damage = timeline, session, timeline.damage

    def rows(self, kind):
        return [row for row in self.timeline.rows(kind) if row.get("session", self.session) == self.session]


def by_model(timeline, names):
    """The part of each model, if their sessions were created in this order."""
    sessions = sorted(row["session"] for row in timeline.rows("session"))
    return {name: Part(timeline, session) for name, session in zip(names, sessions)}


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
    """Nanoseconds of each execution by node."""
    nodes = {k["kernel"]: k["node"] for k in timeline.rows("kernel")}
    times = collections.defaultdict(list)
    for op in of_runs(timeline):
        times[nodes.get(op["kernel"], "kernel %d is unknown" % op["kernel"])].append(op["duration"])
    return times


def ranks_of(values, names):
    """From the heaviest on; equal values share the mean of their ranks."""
    order, ranks, at = sorted(names, key=lambda name: -values[name]), {}, 0
    while at < len(order):
        same = [name for name in order[at:] if values[name] == values[order[at]]]
        for name in same:
            ranks[name] = at + (len(same) - 1) / 2
        at += len(same)
    return [ranks[name] for name in names]


def with_places(values):
    """ReorderOutput nodes by their place instead of their name: ORT numbers them in the order of a table whose
    keys are addresses, so that a number is another node's in another process."""
    numbered = sorted((name for name in values if name.startswith("ReorderOutput")), key=lambda name: -values[name])
    places = {name: "ReorderOutput, heaviest but %d" % i for i, name in enumerate(numbered)}
    return collections.Counter({places.get(name, name): value for name, value in values.items()})


def spearman(ours, theirs, count=30):
    """Rank agreement over the nodes that are heaviest to us, from the times of each execution."""
    ours, theirs = with_places(typical(ours)), with_places(typical(theirs))
    names = [name for name, _ in ours.most_common(count)]
    if len(names) < 3:
        return 1.0
    a, b = ranks_of(ours, names), ranks_of(theirs, names)
    middle = (len(names) - 1) / 2
    spread = (sum((x - middle) ** 2 for x in a) * sum((y - middle) ** 2 for y in b)) ** 0.5
    return sum((x - middle) * (y - middle) for x, y in zip(a, b)) / spread if spread else 0.0


# ---------------------------------------------------------------------------------- checks


def check_fits(checker, what, timeline):
    ops = of_runs(timeline)
    own, sums = self_times(ops), collections.Counter()
    for i, op in enumerate(ops):
        sums[(op["session"], op["run"])] += own[i]
    checker.equal(what + ": no operator took less than nothing",
                  [ops[i] for i in own if own[i] < 0][:3], [])
    over = [(r["run"], r["duration"], sums[(r["session"], r["run"])]) for r in timeline.rows("run")
            if sums[(r["session"], r["run"])] > r["duration"]]
    checker.equal(what + ": own times of a run's operators fit into it", over, [])


def check_identity(checker, what, timeline, version):
    kernels = timeline.rows("kernel")
    used = {op["kernel"] for op in of_runs(timeline)}
    source = C_API if int(version.split(".")[1]) >= 24 else STRUCTURES
    checker.equal(what + ": kernels have node, type and provider",
                  [k for k in kernels if k["kernel"] in used and not (
                      k["node"] and k["op_type"] and k["provider"] == "CPUExecutionProvider" and
                      k["session"] and k["source"] == source and k["submits"] == 0)][:2], [])
    shaped = {s["kernel"] for s in timeline.rows("kernel_shape") if s["inputs"] and s["outputs"]}
    checker.equal(what + ": every kernel's shapes are told", len(used - shaped), 0)


def check_calls(checker, what, timeline, calls):
    """Times of each execution by node, which are as many as they should be."""
    checker.equal(what + ": the file is whole", timeline.damage, None)
    checker.equal(what + ": nothing was lost", h.lost(timeline), 0)
    times = per_node(timeline)
    seen = calls_of(times)
    checker.equal(what + ": each node ran as often as ORT says",
                  {n: (seen[n], calls[n]) for n in seen.keys() | calls.keys()
                   if seen[n] != calls[n]}, {})
    checker.equal(what + ": every operator has its run",
                  [op for op in of_runs(timeline) if op["flags"] or not op["run"]][:2], [])
    check_fits(checker, what, timeline)
    return times


# ---------------------------------------------------------------------------------- ways in


def launch(checker, version, name, what, mode="all"):
    trace = "%s/%s.ortl" % (checker.folder, what)
    program = h.ortscope(checker.folder, "run-" + what, "run", "-q", "--ops", mode, "-o", trace,
                         "--", *arguments(version, [name]))
    checker.equal(what + ": the exit code passes through", program.code, 0)
    return program, trace


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


def attach(checker, version, name, what):
    program, collector, trace = start_and_attach(checker, what, arguments(version, [name]))
    checker.equal(what + ": the program ends well", program.wait(), 0)
    checker.equal(what + ": and so does ortscope", collector.wait(), 0)
    return program, trace


Comparison = collections.namedtuple("Comparison", "nodes executions rank")
_profiles = {}


def added(spans, more):
    for node, times in more.items():
        spans[node] += times
    return spans


def compare(checker, version, name, way):
    """Everything about one model, version and way in (launch or attach)."""
    best, all_ours, all_theirs = -1.0, collections.defaultdict(list), collections.defaultdict(list)
    for attempt in range(ATTEMPTS):
        what = "%s-%s-%d" % (name, way.__name__, attempt)
        if attempt or (version, name) not in _profiles:
            _profiles[version, name] = profiled(checker, version, name, attempt)
        theirs, output_hash = _profiles[version, name]
        program, trace = way(checker, version, name, what)
        checker.equal(what + ": outputs are bit-identical",
                      h.report_of(program.out)[0]["output_hash"], output_hash)
        calls = calls_of(theirs)
        timeline = h.load(trace)
        ours = check_calls(checker, what, timeline, calls)
        check_identity(checker, what, timeline, version)
        together = spearman(added(all_ours, ours), added(all_theirs, theirs))
        best = max(best, spearman(ours, theirs), together)
        if best >= RANK_WANTED:
            break
    checker.true("%s: heavy operators are heavy to ORT too" % name, best >= RANK_WANTED, best)
    print("         %s %s: %d nodes, %d executions, rank agreement with ORT's profile %.3f"
          % (version, what, len(calls), sum(calls.values()), best), flush=True)
    return Comparison(len(calls), sum(calls.values()), best)


def compare_shim(checker, version, name):
    """The shim's counts against ORT's profile; after compare(). True if it is there and right."""
    failures, what = checker.failures, name + "-shim"
    calls = calls_of(_profiles[version, name][0])
    _, trace = launch(checker, version, name, what, "shim")
    check_calls(checker, what, h.load(trace), calls)
    return checker.failures == failures
