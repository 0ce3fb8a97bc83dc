#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Four models with six versions of ONNX Runtime, launched and attached, and with the shim where there is one:
the nodes and how often each ran are those of ORT's own profile, self times fit into their runs, outputs are
bit-identical, and heavy operators are heavy to ORT too. A few runs of all models in one process, so that all of
it takes two minutes; all_versions.py does it for every version, with more runs."""
import collections

import harness as h
import op_profile as ops

VERSIONS = ["1.15.0", "1.17.0", "1.17.3", "1.20.1", "1.23.2", "1.30.0"]
WITH_SHIM = ["1.30.0"]
RUNS = 12
BLOCKED, CONTRIBUTED = "com.microsoft.nchwc", "com.microsoft"
# Operators of each model: domain and the opset with which ONNX has them as the model's opset does.
OPSETS = {"cls": 9, "det": 11, "rec": 9, "silero_v5": 16}
KNOWN = {"cls": {("Conv", BLOCKED): 1, ("FusedConv", CONTRIBUTED): 1, ("Gemm", ""): 9, ("Clip", ""): 6},
         "det": {("ConvTranspose", ""): 11, ("Clip", ""): 11, ("Resize", ""): 11},
         "rec": {("MatMul", ""): 9, ("FusedMatMul", CONTRIBUTED): 1, ("Concat", ""): 4},
         "silero_v5": {("If", ""): 16, ("LSTM", ""): 14, ("Relu", ""): 14}}


def launched(checker, what, words, mode):
    trace = "%s/%s.ortl" % (checker.folder, what)
    program = h.ortscope(checker.folder, "run-" + what, "run", "-q", "--ops", mode, "-o", trace, "--", *words)
    checker.equal(what + ": the exit code passes through", program.code, 0)
    return program, trace


def attached(checker, what, words, mode):
    program, collector, trace = ops.start_and_attach(checker, what, words, "--ops", mode)
    checker.equal(what + ": program and attach end well", (program.wait(), collector.wait()), (0, 0))
    return program, trace


def check_known(checker, what, part, name):
    """Domain and opset of some operators: the kernel's first one, which is not after the model's."""
    found = {(k["op_type"], k["domain"]): k["opset"] for k in part.rows("kernel")}
    checker.equal(what + ": domain and opset of some", {key: found.get(key) for key in KNOWN[name]}, KNOWN[name])
    checker.equal(what + ": no kernel is of a later opset than the model",
                  [k for k in part.rows("kernel") if not k["domain"] and not 1 <= k["opset"] <= OPSETS[name]][:1], [])


def calls_of_nodes(timeline):
    nodes = {k["kernel"]: k["node"] for k in timeline.rows("kernel")}
    return collections.Counter((op["session"], nodes[op["kernel"]]) for op in ops.of_runs(timeline))


def check_folding(checker, what, timeline, trace):
    """Constants that ORT folds while it creates a session: of its loading and of no run."""
    folded = [op for op in timeline.rows("op") if op["flags"] & ops.FLAG_LOADING]
    spans = [(s["time"], s["time"] + s["load"], s["thread"]) for s in timeline.rows("session")]
    checker.true(what + ": constants were folded", len(folded) > 50, len(folded))
    checker.equal(what + ": while a session was created, by the thread that did it, and in no run",
                  [op for op in folded if op["run"] or not any(
                      begin <= op["begin"] and op["begin"] + op["duration"] <= end and thread == op["thread"]
                      for begin, end, thread in spans)][:1], [])
    told = h.ask("ops", trace)["all"]
    checker.equal(what + ": ops counts them apart", (told["calls"], told["loading_calls"]),
                  (len(timeline.rows("op")) - len(folded), len(folded)))
    calls = calls_of_nodes(timeline)
    listed = [(session["id"], op["node"], op["calls"]) for session in h.summary(trace)["sessions"]
              for op in session["ops"]]
    checker.true(what + ": the summary lists operators", len(listed) > 12, listed)
    checker.equal(what + ": but none of those", [one for one in listed if calls[one[:2]] != one[2]][:2], [])


def check_rank(checker, version, name, way, part, events):
    """Heavy operators are heavy to ORT too. A few runs mostly show it; if not, more of them, again and again."""
    if ops.spearman(ops.per_node(part), ops.times_of(events)) < ops.RANK_WANTED:
        ops.compare(checker, version, name, {launched: ops.launch, attached: ops.attach}[way])
    else:
        checker.true("%s %s: heavy operators are heavy to ORT too" % (version, name), True)


def one_version(checker, version):
    events, output_hash = ops.profiles(checker, version, ops.MODELS, RUNS)
    calls = {name: ops.calls_of(ops.times_of(events[name])) for name in ops.MODELS}
    words = ops.arguments(version, ops.MODELS, runs=RUNS)
    ways = [(launched, "all"), (attached, "all")] + [(launched, "shim")] * (version in WITH_SHIM)
    for way, mode in ways:
        what = "%s-%s-%s" % (version, way.__name__, mode)
        program, trace = way(checker, what, words, mode)
        checker.equal(what + ": outputs are bit-identical", h.report_of(program.out)[0]["output_hash"],
                      output_hash)
        timeline = h.load(trace)
        parts = ops.by_model(timeline, ops.MODELS)
        checker.equal(what + ": a session for each model", list(parts), ops.MODELS)
        for name, part in parts.items():
            ops.check_calls(checker, "%s %s" % (what, name), part, calls[name])
            if mode == "all":
                ops.check_identity(checker, "%s %s" % (what, name), part, version)
                check_known(checker, "%s %s" % (what, name), part, name)
                check_rank(checker, version, name, way, part, events[name])
        if (way, mode) == (launched, "all"):
            check_folding(checker, what, timeline, trace)


def of_version(version):
    def test(checker):
        one_version(checker, version)
    test.__name__ = "models_" + version.replace(".", "_")
    test.__doc__ = "four models with ONNX Runtime %s, launched and attached" % version
    return test


TESTS = [of_version(version) for version in VERSIONS]

if __name__ == "__main__":
    h.Checker.quiet = True
    h.run_tests("test_op_versions", TESTS)
