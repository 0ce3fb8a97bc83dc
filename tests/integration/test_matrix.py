#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The real node.exe with every version of ONNX Runtime, launched and attached: runs counted equal
the runs that the program counted, outputs are bit-identical with and without us, and the exit code
passes through."""
import collections
import os

import harness as h

RUNS = 60
EXIT_CODE = 42


def plain_report(checker, version, *more):
    """What the program says when nobody watches it."""
    program = h.run(checker.folder, "plain-" + version,
                    h.node_arguments(version, "--runs", RUNS, "--exit-code", EXIT_CODE, *more))
    checker.equal("alone it exits with its code", program.code, EXIT_CODE)
    return h.report_of(program.out)[0]


def shapes_seen(timeline):
    """Runs per model file and input shape, as classify.js counts them."""
    models = {row["session"]: row["model"] for row in timeline.rows("session")}
    dims = {}
    for row in timeline.rows("tensor"):
        dims.setdefault(row["shape"], row["dims"])
    counts = collections.Counter()
    for row in timeline.rows("run"):
        model = models[row["session"]].replace("\\", "/").rsplit("/", 1)[-1]
        counts["%s:%s" % (model.rsplit(".", 1)[0], dims.get(row["inputs"], "?"))] += 1
    return dict(counts)


def check_trace(checker, trace, version, report):
    timeline = h.load(trace)
    checker.equal("the file is whole", timeline.damage, None)
    checker.equal("nothing was lost", h.lost(timeline), 0)
    checker.equal("runs counted equal the program's own count", len(timeline.rows("run")),
                  report["runs"])
    checker.equal("no run is told as failed", [r for r in timeline.rows("run") if r["status"]], [])
    checker.equal("the process is the program", [p["pid"] for p in timeline.rows("process")],
                  [report["pid"]])
    checker.equal("its exit code is in the file",
                  [p["exit_code"] for p in timeline.rows("process_end")], [EXIT_CODE])
    modules = timeline.rows("module")
    checker.equal("one runtime of this version", [m["version"] for m in modules], [version])
    h.check_intercepted(checker, timeline)
    h.check_shapes_told_once(checker, timeline)
    return timeline


def check_dump(checker, trace, timeline):
    """`dump` tells the same rows as an independent reader of the file."""
    ids = ("int", "id", "time", "dur")
    columns = {kind: {name: type_ for name, type_ in described}
               for kind, described in timeline.header["kinds"].items()}
    dumped = {}
    for row in h.dump(trace):
        dumped.setdefault(row.pop("kind"), []).append(row)
    for kind, rows in timeline.kinds.items():
        suffix = {name: "_ns" if type_ in ("time", "dur") else ""
                  for name, type_ in columns[kind].items()}
        expected = [{name + suffix[name]: value for name, value in row.items()
                     if columns[kind][name] in ids} for row in rows]
        actual = [{name: row[name] for name in expected[0]} for row in dumped.get(kind, [])]
        order = lambda row: sorted(row.items())
        checker.true("dump: %d %s rows" % (len(rows), kind),
                     sorted(actual, key=order) == sorted(expected, key=order))


def check_summary(checker, trace, version, report):
    summary = h.summary(trace)
    checker.equal("summary: version", [r["version"] for r in summary["runtime"]], [version])
    checker.equal("summary: runs", sum(s["runs"] for s in summary["sessions"]), report["runs"])
    checker.equal("summary: failed runs", sum(s["failed_runs"] for s in summary["sessions"]), 0)
    checker.equal("summary: lost events", summary["lost_events"], 0)
    checker.equal("summary: exit code", summary["target"]["exit_code"], EXIT_CODE)
    checker.equal("summary: process", summary["target"]["pid"], report["pid"])
    for session in summary["sessions"]:
        latency = session["latency_us"]
        ordered = [latency[k] for k in ("min", "p50", "p90", "p95", "p99", "p99_9", "max")]
        checker.true("summary: percentiles are in order",
                     ordered == sorted(ordered) and ordered[0] > 0, ordered)


def launched(checker, version, *more):
    alone = plain_report(checker, version, *more)
    trace = "%s/run-%s.ortl" % (checker.folder, version)
    arguments = h.node_arguments(version, "--runs", RUNS, "--exit-code", EXIT_CODE, *more)
    program = h.ortscope(checker.folder, "run-" + version, "run", "-o", trace, "--", *arguments)
    checker.equal("%s launched: the exit code passes through" % version, program.code, EXIT_CODE)
    report = h.report_of(program.out)[0]
    checker.equal("outputs are bit-identical", report["output_hash"], alone["output_hash"])
    timeline = check_trace(checker, trace, version, report)
    checker.equal("runs per model and shape", shapes_seen(timeline), report["counts"])
    checker.equal("it was launched", [p["how"] for p in timeline.rows("process")], [0])
    checker.equal("sessions", len(timeline.rows("session")),
                  len({key.split(":")[0] for key in report["counts"]}))
    check_summary(checker, trace, version, report)


def attached(checker, version):
    alone = plain_report(checker, version)
    trace = "%s/attach-%s.ortl" % (checker.folder, version)
    pid_file, go_file = (os.path.join(checker.folder, version + end) for end in (".pid", ".go"))
    program = h.Program(checker.folder, "target-" + version,
                        h.node_arguments(version, "--runs", RUNS, "--exit-code", EXIT_CODE,
                                         "--pid-file", pid_file, "--go-file", go_file))
    pid = h.read_pid(pid_file, program)
    collector = h.attach(checker.folder, "attach-" + version, pid, trace)
    h.touch(go_file)
    checker.equal("%s attached: the program exits with its code" % version, program.wait(),
                  EXIT_CODE)
    checker.equal("attach ends with 0 when the program has ended", collector.wait(), 0)
    report = h.report_of(program.out)[0]
    checker.equal("outputs are bit-identical", report["output_hash"], alone["output_hash"])
    timeline = check_trace(checker, trace, version, report)
    checker.equal("it was attached", [p["how"] for p in timeline.rows("process")], [1])
    checker.equal("the session was there before us",
                  [s["source"] for s in timeline.rows("session")], [7])
    check_summary(checker, trace, version, report)


def of_version(kind, version):
    def test(checker):
        kind(checker, version)
    test.__name__ = "%s_%s" % (kind.__name__, version.replace(".", "_"))
    test.__doc__ = "node with ONNX Runtime %s, %s" % (version, kind.__name__)
    return test


def mixed_sessions(checker):
    """three sessions and changing shapes in one program"""
    launched(checker, "1.23.2", "--mixed")
    trace = checker.folder + "/run-1.23.2.ortl"
    check_dump(checker, trace, h.load(trace))


TESTS = [of_version(kind, version) for version in h.VERSIONS for kind in (launched, attached)]
TESTS.append(mixed_sessions)

if __name__ == "__main__":
    h.run_tests("test_matrix", TESTS)
