#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ORT's own events, without an ETW session. In front of the ordinary runtime they add facts and no
run twice. A copy of the runtime in which OrtGetApiBase has another name is a module with ONNX Runtime
inside and no C API: nothing but events and kernels tells of its sessions and runs, and what they tell
must be what the C API's hooks tell of the same work."""
import collections
import os

import harness as h
from looping import counted
from op_profile import FLAG_LOADING, SMALL, arguments, of_runs, operators_of_run

VERSIONS = ["1.15.0", "1.17.3", "1.20.1", "1.23.2", "1.30.0"]
TELLS_SESSION = ("1.23.2", "1.30.0")  # with each run
RUNS = 12
BEFORE_ATTACH, BY_EVENTS, CALL_EVENTS = 7, 8, 3
UNKNOWN = "This runtime does not tell which session runs"


def hidden(version):
    """Path of the copy. The new name has the same place in the alphabet: the loader searches."""
    folder = os.path.join("build/integration/hidden", version)
    os.makedirs(os.path.join(h.ROOT, folder), exist_ok=True)
    source = os.path.dirname(os.path.join(h.ROOT, h.dll(version)))
    for name in os.listdir(source):
        link = os.path.join(h.ROOT, folder, name)
        if name.endswith(".dll") and name != "onnxruntime.dll" and not os.path.lexists(link):
            os.symlink(os.path.join(source, name), link)
    copy = folder + "/onnxruntime.dll"
    if not os.path.exists(os.path.join(h.ROOT, copy)):
        with open(os.path.join(h.ROOT, h.dll(version)), "rb") as file:
            image = file.read()
        assert image.count(b"OrtGetApiBase\0") == 1
        with open(os.path.join(h.ROOT, copy), "wb") as file:
            file.write(image.replace(b"OrtGetApiBase\0", b"OrtGetApiBasX\0"))
    return copy


def words_for(version, names, is_hidden, *more, runs=RUNS):
    words = arguments(version, names, *more)
    words[words.index("--runs") + 1] = runs
    if is_hidden:
        words[words.index("--dll") + 1] = hidden(version)
    return words


def launch(checker, name, words, *options):
    trace = "%s/%s.ortl" % (checker.folder, name)
    program = h.ortscope(checker.folder, name, "run", "-q", *options, "-o", trace, "--", *words)
    checker.equal(name + ": the exit code passes through", program.code, 0)
    timeline = h.load(trace)
    checker.equal(name + ": nothing was lost", h.lost(timeline), 0)
    return timeline, h.report_of(program.out)[0]


def operators(timeline):
    """Executions by who the kernel is and whether it was loading. Generated names end in numbers."""
    kernels = {k["kernel"]: (k["node"].rstrip("0123456789"), k["op_type"], k["domain"], k["opset"],
                             k["provider"], k["kernel_class"]) for k in timeline.rows("kernel")}
    return collections.Counter((kernels.get(op["kernel"]), op["flags"]) for op in timeline.rows("op"))


def fields_of(event):
    return dict(line.split("=", 1) for line in event["fields"].split("\n") if line)


# ------------------------------------------------------------------------- without a C API


def check_hidden(checker, what, timeline, version, source):
    module = timeline.rows("module")
    checker.equal(what + ": one runtime, with nothing intercepted",
                  [(m["version"], m["hooked"], m["refused"]) for m in module], [(version, 0, 0)])
    checker.true(what + ": its file is told", module[0]["path"].endswith("onnxruntime.dll"), module)
    checker.equal(what + ": all runs come from events",
                  {run["call"] for run in timeline.rows("run")}, {CALL_EVENTS})
    checker.equal(what + ": none of them failed", {run["status"] for run in timeline.rows("run")}, {0})
    checker.equal(what + ": how sessions were seen", {s["source"] for s in timeline.rows("session")},
                  {source})
    checker.equal(what + ": every operator has its run",
                  [op for op in of_runs(timeline) if op["flags"] or not op["run"]][:1], [])
    checker.equal(what + ": that allocations are missing is said",
                  sum("Allocations are not recorded" in row["message"] for row in timeline.rows("log")), 1)


def launched(checker, version):
    for name in ("cls", "silero_v5"):
        plain, report = launch(checker, name + "-api", words_for(version, [name], False))
        seen, hidden_report = launch(checker, name + "-hidden", words_for(version, [name], True))
        checker.equal(name + ": outputs are the same", hidden_report["output_hash"],
                      report["output_hash"])
        check_hidden(checker, name, seen, version, BY_EVENTS)
        checker.equal(name + ": runs counted equal the program's", len(seen.rows("run")), RUNS)
        checker.equal(name + ": operators, their identities and calls are those of the C API's lane",
                      operators(seen), operators(plain))
        session, expected = seen.rows("session")[0], plain.rows("session")[0]
        checker.equal(name + ": graph and providers", (session["graph"], session["providers"]),
                      (expected["graph"], expected["providers"]))
        checker.equal(name + ": the model's file, where ORT tells it", session["model"],
                      name + ".onnx" if version in TELLS_SESSION else "")
        checker.true(name + ": loading has a length", 0 < session["load"], session)
        checker.equal(name + ": its end was seen", len(seen.rows("session_end")), 1)


def attached(checker, version):
    pid_file, go_file = checker.folder + "/target.pid", checker.folder + "/go"
    words = words_for(version, ["cls"], True, "--pid-file", pid_file, "--go-file", go_file)
    program = h.Program(checker.folder, "target", words)
    pid = h.read_pid(pid_file, program)
    trace = checker.folder + "/attached.ortl"
    collector = h.attach(checker.folder, "attach", pid, trace)
    h.touch(go_file)
    checker.equal("the program ends well", program.wait(), 0)
    checker.equal("so does attach", collector.wait(), 0)
    timeline = h.load(trace)
    check_hidden(checker, "attached", timeline, "", BEFORE_ATTACH)
    checker.equal("runs counted equal the program's", len(timeline.rows("run")), RUNS)
    checker.equal("each has all its operators",
                  set(collections.Counter(op["run"] for op in of_runs(timeline)).values()),
                  {operators_of_run(version)})
    checker.equal("what is not told is said", timeline.rows("session")[0]["message"][:len(UNKNOWN)],
                  "" if version in TELLS_SESSION else UNKNOWN)
    alone = h.run(checker.folder, "alone", words_for(version, ["cls"], True))
    checker.equal("outputs are the same", h.report_of(program.out)[0]["output_hash"],
                  h.report_of(alone.out)[0]["output_hash"])


def several(checker):
    """two sessions used by three threads at the same time"""
    for version in ("1.20.1", "1.30.0"):
        words = words_for(version, ["cls", "rec"], True, "--workers", 3)
        timeline, report = launch(checker, "several-" + version, words)
        checker.equal(version + ": runs counted equal the program's", len(timeline.rows("run")),
                      report["runs"])
        checker.equal(version + ": no session is said to be older than us",
                      {s["source"] for s in timeline.rows("session")}, {BY_EVENTS})
        checker.equal(version + ": and whether sessions can be told apart",
                      any(row["message"].startswith(UNKNOWN) for row in timeline.rows("log")),
                      version not in TELLS_SESSION)
        graphs = {s["session"]: (s["model"], s["message"][:len(UNKNOWN)])
                  for s in timeline.rows("session")}
        runs = collections.Counter(graphs[run["session"]] for run in timeline.rows("run"))
        half = report["runs"] // 2
        expected = {("cls.onnx", ""): half, ("rec.onnx", ""): half}
        if version not in TELLS_SESSION:
            expected = {("", UNKNOWN): report["runs"]}
        checker.equal(version + ": by session", dict(runs), expected)
        counts = collections.Counter((op["session"], op["run"]) for op in of_runs(timeline))
        checker.equal(version + ": two numbers of operators, that of each model",
                      len(set(counts.values())), 2)


def inter_op(checker):
    """all operators on inter-op threads, none on the run's own"""
    for version in VERSIONS:
        more = ["--inter", 2]
        plain, _ = launch(checker, "api-" + version, words_for(version, ["cls"], False, *more))
        seen, _ = launch(checker, "hidden-" + version, words_for(version, ["cls"], True, *more))
        check_hidden(checker, version, seen, version, BY_EVENTS)
        checker.equal(version + ": operators, their identities and calls are those of the C API's lane",
                      operators(seen), operators(plain))
        checker.equal(version + ": each run has as many",
                      set(collections.Counter(op["run"] for op in of_runs(seen)).values()),
                      {len(of_runs(seen)) // RUNS})
        checker.equal(version + ": its end was seen", len(seen.rows("session_end")), 1)
        sampled, _ = launch(checker, "sampled-" + version, words_for(version, ["cls"], True, *more),
                            "--ops", "sample:3")
        checker.equal(version + ": samples", {op["run"] for op in of_runs(sampled)}, {1, 4, 7, 10})
        both, report = launch(checker, "both-" + version, words_for(version, ["cls", "rec"], True, *more))
        counts = collections.Counter((op["session"], op["run"]) for op in of_runs(both))
        checker.equal(version + ": two sessions in turn: every operator has its run",
                      [op for op in of_runs(both) if op["flags"] or not op["run"]][:1], [])
        checker.equal(version + ": and every run all of its model's operators",
                      (len(counts), len(set(counts.values()))), (report["runs"], 2))


IDLE = 3100  # more sessions than are known at once


def never_run(checker):
    """thousands of sessions that were made and released, whose ends nothing tells, then one that runs"""
    for version in ("1.20.1", "1.30.0"):
        trace = "%s/%s.ortl" % (checker.folder, version)
        program = h.ortscope(checker.folder, version, "run", "-q", "-o", trace, "--", h.BIN + "/odd_runs.exe",
                             hidden(version), SMALL + "/absent.onnx", RUNS, "-", IDLE)
        checker.equal(version + ": the program's own code and words", (program.code, program.out.strip()),
                      (6, "runs %d with a value 0" % RUNS))
        timeline = h.load(trace)
        checker.equal(version + ": nothing was lost", h.lost(timeline), 0)
        checker.equal(version + ": all sessions were seen, the last one's runs are there",
                      (len([s for s in timeline.rows("session") if not s["message"]]),
                       [run["run"] for run in timeline.rows("run")]),
                      (IDLE + 1, list(range(1, RUNS + 1))))
        if version in TELLS_SESSION:
            checker.equal(version + ": as those of that session",
                          {run["session"] for run in timeline.rows("run")},
                          {max(s["session"] for s in timeline.rows("session"))})
        ended = [e["session"] for e in timeline.rows("session_end")]
        checker.true(version + ": those that gave way are the oldest",
                     len(ended) >= IDLE - 3072 and set(range(1, IDLE - 3072)) <= set(ended), ended[:40])


# The C API refuses these before ORT's own Run begins.
NEVER_BEGUN = ("intra op thread pool must have", "output name cannot be empty",
               "input name cannot be empty")


def failures(checker):
    """every way to run, from eight threads, failing calls among them"""
    for version in ("1.15.0", "1.23.2", "1.30.0"):
        words = h.driver_arguments(version)
        words[words.index("--dll") + 1] = hidden(version)
        timeline, report = launch(checker, "driver-" + version, words)
        expected = collections.Counter()
        for session in report["runtimes"][0]["sessions"]:
            for group in session["runs"]:
                if not (group["message"] or "").startswith(NEVER_BEGUN):
                    expected[group["status"]] += group["count"]
        seen = collections.Counter(run["status"] for run in timeline.rows("run"))
        checker.equal(version + ": runs by status equal the driver's", seen, expected)
        failed = {(r["session"], r["run"], r["status"]) for r in timeline.rows("run") if r["status"]}
        told = {(row["session"], row["run"], row["code"]) for row in timeline.rows("log") if row["run"]}
        checker.equal(version + ": each failure has a message", failed - told, set())


def unloaded(checker):
    """the runtime is unloaded and loaded again under us"""
    for version in ("1.20.1", "1.30.0"):
        words = h.driver_arguments(version, "--unload", "--threads", 2, "--iterations", 30)
        words[words.index("--dll") + 1] = hidden(version)
        timeline, report = launch(checker, "unload-" + version, words)
        good = sum(group["count"] for runtime in report["runtimes"] for session in runtime["sessions"]
                   for group in session["runs"] if not group["status"])
        checker.true(version + ": it was loaded more than once", len(report["runtimes"]) > 1, report)
        checker.equal(version + ": one module each, and its end",
                      (len(timeline.rows("module")), len(timeline.rows("module_end"))),
                      (len(report["runtimes"]), len(report["runtimes"])))
        checker.equal(version + ": successful runs equal the driver's",
                      len([run for run in timeline.rows("run") if not run["status"]]), good)


def again(checker):
    """attached, detached and killed in turn; the program does not notice"""
    base = checker.folder + "/target"
    words = h.driver_arguments("1.20.1", "--threads", 2, "--loop-seconds", h.FOREVER, "--exit-code", 5,
                               "--stop-file", base + ".stop", "--counter", base + ".count",
                               "--pid-file", base + ".pid")
    words[words.index("--dll") + 1] = hidden("1.20.1")
    program = h.Program(checker.folder, "target", words)
    pid = h.read_pid(base + ".pid", program)
    for i in range(4):
        trace = "%s/part-%d.ortl" % (checker.folder, i)
        collector = h.attach(checker.folder, "attach-%d" % i, pid, trace)
        goal = counted(base + ".count") + 500
        h.wait_until(lambda: counted(base + ".count") >= goal, "more runs", program=program)
        if i == 2:
            collector.kill()
            continue
        detach = h.ortscope(checker.folder, "detach-%d" % i, "detach", pid)
        checker.equal("part %d: detach and attach end well" % i, (detach.code, collector.wait()), (0, 0))
        timeline = h.load(trace)
        runs = [run for run in timeline.rows("run") if not run["status"]]
        with_operators = {(op["session"], op["run"]) for op in of_runs(timeline)}
        # Those of inter-op threads may belong to any of the runs under way.
        shared = [op["begin"] for op in of_runs(timeline) if not op["run"]]
        checker.true("part %d: hundreds of runs" % i, len(runs) > 300, len(runs))
        checker.equal("part %d: each with operators" % i,
                      [r for r in runs if (r["session"], r["run"]) not in with_operators and
                       not any(0 <= begin - r["begin"] <= r["duration"] for begin in shared)][:1], [])
    h.touch(base + ".stop")
    checker.equal("the program ends with its own code", program.wait(), 5)


# -------------------------------------------------------------------- the ordinary runtime


def facts(checker):
    """what the events add where the C API is seen, and that they add no run"""
    for version in VERSIONS:
        timeline, _ = launch(checker, "facts-" + version, words_for(version, ["cls"], False))
        checker.equal(version + ": no run is there twice",
                      [run["call"] for run in timeline.rows("run")], [0] * RUNS)
        events = collections.defaultdict(list)
        for event in timeline.rows("ort_event"):
            events[event["name"]].append(event)
        session = timeline.rows("session")[0]["session"]
        checker.equal(version + ": the version", fields_of(events["ProcessInfo"][0])["runtimeVersion"],
                      version)
        checker.equal(version + ": one creation, of this session",
                      [(e["session"], e["ort_session"]) for e in events["SessionCreation"]],
                      [(session, 1)])
        told = fields_of(events["SessionCreation"][0])
        checker.equal(version + ": graph and providers",
                      (told["modelGraphName"], told["executionProviderIds"]),
                      ("Model from PaddlePaddle.", "CPUExecutionProvider"))
        checker.equal(version + ": when its parts begin",
                      [name for name in ("ModelLoadStart", "ModelLoadEnd", "SessionCreationStart",
                                         "SessionCreation", "SessionCreationEnd") if name in events],
                      (["ModelLoadStart", "ModelLoadEnd"] if version == "1.30.0" else []) +
                      ["SessionCreationStart", "SessionCreation"] +
                      (["SessionCreationEnd"] if version == "1.30.0" else []))
        if version == "1.30.0":
            usage = fields_of(events["EpDeviceUsage"][0])
            checker.equal("EpDeviceUsage", (usage["executionProviderType"], usage["assignedNodeCount"]),
                          ("CPUExecutionProvider", str(operators_of_run(version))))
        checker.equal(version + ": the two events of each run are not among them",
                      [name for name in events if name.startswith("Evaluation")], [])


def compiled(checker):
    """a model that is compiled while a session runs: what is executed for it is loading, and not that session's"""
    for version in ("1.23.2", "1.30.0"):
        trace = "%s/%s.ortl" % (checker.folder, version)
        program = h.ortscope(checker.folder, version, "run", "-q", "--ring-size", "16384", "-o", trace, "--",
                             h.BIN + "/odd_compile.exe", h.dll(version), SMALL + "/absent.onnx", h.PICTURE_MODELS + "/cls.onnx", 5)
        report = h.report_of(program.out)[0]
        checker.equal(version + ": the program did its work", (program.code, report["compiled"]), (0, 5))
        timeline = h.load(trace)
        checker.equal(version + ": nothing was lost", h.lost(timeline), 0)
        types = {k["kernel"]: k["op_type"] for k in timeline.rows("kernel")}
        counts = collections.Counter((types[op["kernel"]], op["session"], op["flags"], op["run"] > 0)
                                     for op in timeline.rows("op"))
        checker.equal(version + ": what folds constants is loading, all else the session's",
                      counts, {("Optional", 1, 0, True): report["runs"], ("Cast", 0, FLAG_LOADING, False): 5})


def log(checker):
    """--ort-events log: ORT's log with the growth of arenas, and nothing of it in the program"""
    for version in ("1.17.3", "1.20.1", "1.30.0"):
        timeline, report = launch(checker, "log-" + version, words_for(version, ["cls"], False),
                                  "--ort-events", "log")
        lines = [fields_of(event)["message"] for event in timeline.rows("ort_event")
                 if event["name"] == "ONNXRuntimeLogEvent"]
        checker.true(version + ": arenas are told", any("BFCArena" in line for line in lines),
                     lines[:3])
        checker.equal(version + ": all runs", len(timeline.rows("run")), RUNS)
        plain = h.run(checker.folder, "plain-" + version, words_for(version, ["cls"], False))
        logged = [line for line in _program_lines(checker, "log-" + version)
                  if not line.startswith("ortscope:")]
        checker.equal(version + ": the program itself logs no more than before", logged,
                      plain.err.splitlines())
        checker.equal(version + ": outputs are the same", report["output_hash"],
                      h.report_of(plain.out)[0]["output_hash"])
    for version, expected in (("1.20.1", True), ("1.30.0", False)):
        base = "%s/late-%s" % (checker.folder, version)
        program = h.Program(checker.folder, "late-" + version, words_for(
            version, ["cls"], False, "--pid-file", base + ".pid", "--go-file", base + ".go"))
        pid = h.read_pid(base + ".pid", program)
        collector = h.attach(checker.folder, "attach-" + version, pid, base + ".ortl",
                             "--ort-events", "log")
        h.touch(base + ".go")
        checker.equal(version + ": program and attach end well", (program.wait(), collector.wait()),
                      (0, 0))
        timeline = h.load(base + ".ortl")
        refused = any("its log is not: turning it up could stop" in row["message"]
                      for row in timeline.rows("log"))
        lines = [e for e in timeline.rows("ort_event") if e["name"] == "ONNXRuntimeLogEvent"]
        checker.equal(version + ": in a running program, either refused or there",
                      (refused, not lines), (expected, expected))


def _program_lines(checker, name):
    with open(os.path.join(h.ROOT, checker.folder, name + ".err"), encoding="utf-8") as file:
        return file.read().splitlines()


def switched_off(checker):
    """--ort-events off, and a word that does not exist"""
    timeline, _ = launch(checker, "off", words_for("1.23.2", ["cls"], False), "--ort-events", "off")
    checker.equal("no events", timeline.rows("ort_event"), [])
    checker.equal("all runs", len(timeline.rows("run")), RUNS)
    timeline, _ = launch(checker, "off-hidden", words_for("1.23.2", ["cls"], True), "--ort-events",
                         "off")
    checker.equal("no runs without a C API", timeline.rows("run"), [])
    checker.true("and a row that says why", any("listening to its own events is off" in row["message"]
                                                for row in timeline.rows("log")), timeline.rows("log"))
    program = h.ortscope(checker.folder, "wrong", "run", "--ort-events", "some", "--", "x")
    checker.true("another word is refused, with those that exist",
                 program.code == 2 and "on, off or log" in program.err, (program.code, program.err))


def of_version(kind, version):
    def test(checker):
        kind(checker, version)
    test.__name__ = "%s_%s" % (kind.__name__, version.replace(".", "_"))
    test.__doc__ = "no C API, ONNX Runtime %s, %s" % (version, kind.__name__)
    return test


TESTS = [of_version(launched, v) for v in VERSIONS]
TESTS += [of_version(attached, v) for v in ("1.15.0", "1.20.1", "1.30.0")]
TESTS += [several, inter_op, never_run, failures, unloaded, again, facts, compiled, log, switched_off]

if __name__ == "__main__":
    h.run_tests("test_tap", TESTS)
