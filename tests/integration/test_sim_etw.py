#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The simulation of event tracing (tests/sim): ONNX Runtime's real events in a simulated session,
live and in a file, and the behaviour that Windows documents."""
import collections

import harness as h
import sim_etw

RUNS = 25
VERSIONS = ["1.15.0", "1.20.1", "1.30.0"]
ORT = (sim_etw.ORT_PROVIDER, 5, 0)


def node(version, *more):
    return h.node_arguments(version, "--runs", RUNS, *more)


def test_ort_live_and_file(checker):
    """Two sessions, one read live, one into a file: both have every run, `import` finds them."""
    for version in VERSIONS:
        with sim_etw.Machine(checker, version) as machine:
            trace = "%s/%s.etl" % (checker.folder, version)
            live = machine.record("live", ORT)
            filed = machine.record("filed", ORT, options=["--file", trace])
            program = machine.run("node-" + version, node(version))
            report = h.report_of(program.out)[0]
            checker.equal(version + ": the program is not disturbed", (program.code, report["runs"]),
                          (0, RUNS))
            seen = live.end()
            names = collections.Counter(seen["names"])
            checker.equal(version + ": runs in the live session",
                          (names["EvaluationStart"], names["EvaluationStop"]), (RUNS, RUNS))
            checker.equal(version + ": sessions", names["SessionCreation"], 1)
            checker.equal(version + ": one header, nothing lost, in order, ended well",
                          [seen[k] for k in ("headers", "lost", "unordered", "stopped", "processed")],
                          [1, 0, 0, 0, 0])
            filed.end()
            check_file(checker, version, trace)
            checker.equal(version + ": no session is left", machine.sessions(), {})


def check_file(checker, version, trace):
    ortl = trace[:-4] + ".ortl"
    done = h.ortscope(checker.folder, "import-" + version, "import", trace, "-o", ortl)
    checker.equal(version + ": the file can be imported", done.code, 0)
    summary = h.summary(ortl)
    runs = sum(s["runs"] for s in summary.get("sessions", []))
    checker.equal(version + ": runs in the file", runs, RUNS)


def test_ortscope_beside(checker):
    """ortscope records the program while a session listens to ORT: both see every run."""
    with sim_etw.Machine(checker) as machine:
        trace = checker.folder + "/node.ortl"
        live = machine.record("live", ORT)
        program = machine.run("ortscope", [h.ORTSCOPE, "run", "-q", "-o", trace, "--", *node("1.23.2")])
        checker.equal("the exit code passes through", program.code, 0)
        timeline = h.load(trace)
        checker.equal("runs that ortscope saw", len(timeline.rows("run")), RUNS)
        checker.equal("nothing was lost", h.lost(timeline), 0)
        seen = live.end()
        checker.equal("runs in the session", [seen["names"].get("EvaluationStart"),
                                              seen["names"].get("EvaluationStop")], [RUNS, RUNS])


TESTS = [test_ort_live_and_file, test_ortscope_beside]

if __name__ == "__main__":
    h.run_tests("sim_etw", TESTS)
