#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ort_driver against every version: it calls every run and session path from eight threads,
failing calls among them. What the file says must be what the driver did, exactly: sessions, their
options, providers and failures, runs by call, status, message, inputs and outputs, environments."""
import collections
import json
import os

import harness as h

MESSAGE = 400  # characters that are compared: longer texts may be cut
BEFORE_ATTACH = 7
CPU = "CPUExecutionProvider"
GRAPHS = {"path": "affine_graph", "bytes": "counts_graph", "path-prepacked": "pick_graph",
          "bytes-prepacked": "pieces_graph", "one-thread": "affine_graph",
          "editor-path": "affine_graph", "editor-bytes": "counts_graph"}


def message(text):
    return (text or "")[:MESSAGE]


def normal_path(path):
    return (path or "").replace("\\", "/").lower()


def tensors(listed, call):
    """Order counts for Run; a binding has none of its own, and an empty one is as good as none."""
    if listed is None or (call == 1 and not listed):
        return None
    listed = [tuple(t) for t in listed]
    return tuple(sorted(listed) if call == 1 else listed)


# ----------------------------------------------------------------------- what the driver says


def expected_runs(session, after_go):
    runs = collections.Counter()
    for group in session["runs"]:
        if after_go and group["early"]:
            continue
        key = (group["call"], group["status"], message(group["message"]),
               tensors(group["inputs"], group["call"]), tensors(group["outputs"], group["call"]))
        runs[key] += group["count"]
    return runs


def expected_options(session):
    # The last setting of a key counts.
    return dict(line.split("=", 1) for line in session["options"])


def expected_providers(session):
    # ORT itself adds the CPU provider at the end where the program has not.
    appended = session["providers"]
    return appended if CPU in appended else appended + [CPU]


def expected_sessions(report, after_go=False):
    """One comparable value per session that ortscope can have seen."""
    out = []
    for runtime in report["runtimes"]:
        for session in runtime["sessions"]:
            runs = expected_runs(session, after_go)
            early = after_go and session["early"]
            if early and not runs:
                continue  # neither its creation nor a run of it was seen
            entry = {"version": runtime["version"], "source": session["source"],
                     "status": session["status"], "model": normal_path(session["model"]),
                     "model_bytes": session["model_bytes"], "message": message(session["message"]),
                     "options": expected_options(session),
                     "providers": expected_providers(session),
                     "released": session["released"], "runs": runs}
            if early:
                entry.update(source=BEFORE_ATTACH, model="", model_bytes=0, options={},
                             providers=[])
            out.append(entry)
    return out


# ------------------------------------------------------------------------- what the file says


class Seen:
    def __init__(self, timeline):
        self.timeline = timeline
        self.versions = {m["module"]: m["version"] for m in timeline.rows("module")}
        self.ended = {row["session"] for row in timeline.rows("session_end")}
        self.messages = {(row["session"], row["run"]): row for row in timeline.rows("log")
                         if row["session"] and row["run"]}
        self.shapes = collections.defaultdict(dict)
        for row in timeline.rows("tensor"):
            self.shapes[row["shape"]][row["index"]] = (row["name"], row["onnx_type"],
                                                       row["element_type"], row["dims"])
        self.sets = {row["shape"]: row for row in timeline.rows("shape")}
        self.runs = collections.defaultdict(list)
        for row in timeline.rows("run"):
            self.runs[row["session"]].append(row)

    def tensors(self, shape, call, direction):
        if shape == 0:
            return None
        row = self.sets[shape]
        members = self.shapes[shape]
        assert row["direction"] == direction and sorted(members) == list(range(row["tensors"]))
        return tensors([members[i] for i in sorted(members)], call)

    def run_groups(self, session):
        groups = collections.Counter()
        for row in self.runs[session]:
            log = self.messages.get((session, row["run"]))
            text = message(log["message"]) if log else ""
            call = row["call"]
            groups[(call, row["status"], text, self.tensors(row["inputs"], call, 0),
                    self.tensors(row["outputs"], call, 1))] += 1
        return groups

    def sessions(self):
        out = []
        for row in self.timeline.rows("session"):
            options = dict(line.split("=", 1) for line in row["options"].split("\n") if line)
            out.append({"version": self.versions[row["module"]], "source": row["source"],
                        "status": row["status"], "model": normal_path(row["model"]),
                        "model_bytes": row["model_bytes"], "message": message(row["message"]),
                        "options": options,
                        "providers": [p for p in row["providers"].split(",") if p],
                        "released": row["session"] in self.ended,
                        "runs": self.run_groups(row["session"])})
        return out


# ------------------------------------------------------------------------------------ comparing


def comparable(session):
    runs = sorted(([list(key), count] for key, count in session["runs"].items()), key=repr)
    return json.dumps(dict(session, runs=runs), sort_keys=True)


def explain(actual, expected):
    """The difference of two sessions, field by field."""
    lines = []
    for field in expected:
        if field == "runs":
            for key in (actual["runs"] - expected["runs"]):
                lines.append("      file only:   %d x %s" % (actual["runs"][key], key))
            for key in (expected["runs"] - actual["runs"]):
                lines.append("      driver only: %d x %s" % (expected["runs"][key], key))
        elif actual[field] != expected[field]:
            lines.append("      %s: file %r, driver %r" % (field, actual[field], expected[field]))
    return lines[:12]


def compare_sessions(checker, actual, expected):
    left = collections.Counter(map(comparable, actual))
    right = collections.Counter(map(comparable, expected))
    same = checker.true("%d sessions with %d runs: all as the driver made them"
                        % (len(expected), sum(sum(s["runs"].values()) for s in expected)),
                        left == right, "%d sessions differ" % sum((left - right).values()))
    if same:
        return
    identity = lambda s: (s["version"], s["options"].get("ortscope.test_id", ""), s["source"],
                          s["status"], s["model"], s["model_bytes"])
    by_identity = {identity(s): s for s in expected if comparable(s) in (right - left)}
    for session in [s for s in actual if comparable(s) in (left - right)][:5]:
        other = by_identity.pop(identity(session), None)
        print("      in the file: %s" % (identity(session),))
        for line in explain(session, other) if other else ["      the driver made no such one"]:
            print(line)
    for key in list(by_identity)[:5]:
        print("      missing in the file: %s" % (key,))


def check_runs(checker, seen, threads):
    """What must hold for run rows whatever the driver did."""
    timeline = seen.timeline
    numbers = all(sorted(r["run"] for r in rows) == list(range(1, len(rows) + 1))
                  for rows in seen.runs.values())
    checker.true("runs of a session are numbered from 1 without gaps", numbers)
    most = threads * 4  # each thread has at most four asynchronous runs under way
    flights = [r["in_flight"] for r in timeline.rows("run")]
    checker.true("runs in flight are between 1 and %d" % most,
                 all(1 <= f <= most for f in flights), sorted(set(flights)))
    alone = [s["session"] for s in timeline.rows("session") if "test_id=t" in s["options"]]
    sync = [r["in_flight"] for s in alone for r in seen.runs[s]
            if all(x["call"] != 2 for x in seen.runs[s])]
    checker.true("a session of one thread has one run in flight", all(f == 1 for f in sync),
                 sorted(set(sync)))
    checker.true("every run took time", all(r["duration"] > 0 for r in timeline.rows("run")))
    batches = [(s["batch"], seen.shapes[s["shape"]]) for s in timeline.rows("shape")]
    wrong = [b for b in batches if b[0] != batch_of(b[1])]
    checker.equal("the batch size is the first dimension", wrong[:3], [])


def batch_of(members):
    for index in sorted(members):
        dims = members[index][3]
        if members[index][1] == 1 and dims:
            return int(dims.split(",")[0])
    return -1


def check_order(checker, seen):
    """A session is there before its first run begins, and its last run ends before it goes."""
    slack = 1000000  # ns: two cores may read slightly different ticks
    ends = {row["session"]: row["time"] for row in seen.timeline.rows("session_end")}
    wrong = []
    for row in seen.timeline.rows("session"):
        for run in seen.runs[row["session"]]:
            late = run["begin"] + run["duration"] > ends.get(row["session"], 1 << 62) + slack
            soon = row["source"] != BEFORE_ATTACH and run["begin"] + slack < row["time"]
            if late or soon:
                wrong.append((row["session"], row["time"], run["begin"]))
    checker.equal("runs lie between creation and release of their session", wrong[:3], [])


def check_hashes(checker, seen):
    hashes = collections.defaultdict(set)
    for row in seen.timeline.rows("session"):
        if row["status"] == 0 and row["source"] in (1, 3, 6):
            hashes[row["model_bytes"]].add(row["model_hash"])
    checker.true("equal bytes have one hash, different ones another",
                 all(len(h_) == 1 for h_ in hashes.values())
                 and len(set.union(*hashes.values())) == len(hashes) if hashes else True, hashes)


def check_envs(checker, seen, report, after_go=False):
    made, released = collections.Counter(), 0
    for runtime in report["runtimes"]:
        released += runtime["env_releases"]
        released -= runtime["env_releases_early"] if after_go else 0
        for env in runtime["envs"]:
            if not (after_go and env["early"]):
                made[(runtime["version"], env["log_id"], env["status"])] += 1
    rows = seen.timeline.rows("env")
    checker.equal("environments created", collections.Counter(
        (seen.versions[r["module"]], r["log_id"], r["status"]) for r in rows if r["action"] == 0),
        made)
    checker.equal("environments released", sum(r["action"] == 1 for r in rows), released)


def check_phases(checker, timeline):
    """However a session was made: its parts are what it took to load, or it failed in one."""
    wrong = []
    for session in timeline.rows("session"):
        parts = sorted((p["begin"], p["phase"], p["duration"]) for p in timeline.rows("phase")
                       if p["session"] == session["session"])
        phases, took = [p[1] for p in parts], sum(p[2] for p in parts)
        inexact = 20000 + session["load"] // 1000
        if session["status"] or session["source"] == BEFORE_ATTACH:
            good = phases in ([], [1], [1, 2])
        else:
            good = phases == [1, 2, 3] and abs(took - session["load"]) <= inexact
        if not good:
            wrong.append((session, parts))
    checker.equal("every session's parts are its creation", wrong[:2], [])


def check_all(checker, trace, report, after_go=False, code=None):
    timeline = h.load(trace)
    checker.equal("the file is whole", timeline.damage, None)
    checker.equal("nothing was lost", h.lost(timeline), 0)
    checker.equal("the process is the driver", [p["pid"] for p in timeline.rows("process")],
                  [report["pid"]])
    if code is not None:
        checker.equal("the file has the exit code, all 32 bits",
                      [p["exit_code"] & 0xffffffff for p in timeline.rows("process_end")], [code])
    checker.equal("one module row per load", [m["version"] for m in sorted(
        timeline.rows("module"), key=lambda m: m["module"])],
        [r["version"] for r in report["runtimes"]])
    h.check_intercepted(checker, timeline)
    h.check_shapes_told_once(checker, timeline)
    seen = Seen(timeline)
    compare_sessions(checker, seen.sessions(), expected_sessions(report, after_go))
    check_runs(checker, seen, report["threads"])
    check_order(checker, seen)
    check_hashes(checker, seen)
    check_envs(checker, seen, report, after_go)
    check_phases(checker, timeline)
    return seen


def has_operators(seen, session, used, stray):
    """Its own or, on threads of a pool and with other sessions at work, some that are nobody's for sure."""
    runs = [run for run in seen.runs[session["session"]] if run["status"] == 0]
    pooled = [run for run in runs if run["call"] == 2 or "execution_mode=1" in session["options"]]
    return session["session"] in used or not runs or any(
        run["begin"] <= begin <= run["begin"] + run["duration"] for run in pooled for begin in stray)


def check_operators(checker, seen):
    """Of every session that ran something, whichever runtime it is of; each kernel is of that runtime."""
    sessions, ops = seen.timeline.rows("session"), seen.timeline.rows("op")
    used, stray = {op["session"] for op in ops}, [op["begin"] for op in ops if not op["session"]]
    modules = {s["session"]: s["module"] for s in sessions}
    checker.equal("every session that ran has operators",
                  [s for s in sessions if not has_operators(seen, s, used, stray)][:1], [])
    checker.equal("kernels are of their session's runtime",
                  [k for k in seen.timeline.rows("kernel") if k["session"] and
                   k["module"] != modules.get(k["session"])][:2], [])
    checker.equal("and operators of their kernel's session", len(wrongly_owned(seen.timeline)), 0)


def wrongly_owned(timeline):
    owners = {k["kernel"]: k["session"] for k in timeline.rows("kernel")}
    return [op for op in timeline.rows("op") if op["session"] and owners[op["kernel"]] not in (0, op["session"])]


def without_pid(report):
    """Everything that must be the same with and without ortscope."""
    runtimes = []
    for runtime in report["runtimes"]:
        sessions = sorted((dict(s, runs=sorted(s["runs"], key=repr)) for s in runtime["sessions"]),
                          key=lambda s: s["id"])
        runtimes.append(dict(runtime, sessions=sessions, envs=sorted(runtime["envs"], key=repr)))
    return dict(report, pid=0, runtimes=runtimes)


# ---------------------------------------------------------------------------------------- tests


def launched(checker, version, *more, code=300):
    arguments = h.driver_arguments(version, "--exit-code", code, *more)
    alone = h.run(checker.folder, "alone", arguments)
    checker.equal("alone it exits with its code", alone.code, code & 255)
    trace = checker.folder + "/run.ortl"
    program = h.ortscope(checker.folder, "run", "run", "-o", trace, "--", *arguments)
    checker.equal("under ortscope too", program.code, code & 255)
    report = h.report_of(program.out)[0]
    checker.true("it did and got exactly the same, outputs to the bit",
                 without_pid(report) == without_pid(h.report_of(alone.out)[0]))
    seen = check_all(checker, trace, report, code=code)
    check_operators(checker, seen)
    return seen


def attached(checker, version):
    trace, pid_file, go_file = (checker.folder + "/attach" + e for e in (".ortl", ".pid", ".go"))
    program = h.Program(checker.folder, "driver", h.driver_arguments(
        version, "--exit-code", 7, "--pid-file", pid_file, "--go-file", go_file))
    collector = h.attach(checker.folder, "attach", h.read_pid(pid_file, program), trace)
    h.touch(go_file)
    checker.equal("the driver exits with its code", program.wait(), 7)
    checker.equal("attach ends well", collector.wait(), 0)
    report = h.report_of(program.out)[0]
    seen = check_all(checker, trace, report, after_go=True, code=7)
    check_operators(checker, seen)
    before = [s for s in seen.timeline.rows("session") if s["source"] == BEFORE_ATTACH]
    names = {s["id"] for s in report["runtimes"][0]["sessions"] if s["early"]} & set(GRAPHS)
    checker.equal("sessions from before have their graph's name",
                  sorted(s["graph"] for s in before if s["graph"] in GRAPHS.values()),
                  sorted(GRAPHS[n] for n in names))


def of_version(kind, version):
    def test(checker):
        kind(checker, version)
    test.__name__ = "%s_%s" % (kind.__name__, version.replace(".", "_"))
    test.__doc__ = "the driver with ONNX Runtime %s, %s" % (version, kind.__name__)
    return test


def other_seeds(checker):
    """other choices: more threads than rings need, one thread, other seeds"""
    for seed, threads in ((2, 1), (3, 24)):
        os.makedirs(os.path.join(h.ROOT, checker.folder, str(seed)))
        inner = h.Checker(checker.name, "%s/%d" % (checker.folder, seed))
        launched(inner, "1.20.1", "--seed", seed, "--threads", threads, "--iterations", 60)
        checker.failures += inner.failures
        checker.checks += inner.checks


def two_copies(checker):
    """two runtimes of different versions in one process, driven at the same time"""
    launched(checker, "1.15.0", "--two-copies", h.dll("1.30.0"))


def unloaded_and_loaded_again(checker):
    """the runtime is unloaded and loaded again"""
    for version in ("1.17.0", "1.23.2"):
        os.makedirs(os.path.join(h.ROOT, checker.folder, version))
        inner = h.Checker(checker.name, "%s/%s" % (checker.folder, version))
        seen = launched(inner, version, "--unload")
        inner.equal("both unloads are told", len(seen.timeline.rows("module_end")), 2)
        checker.failures += inner.failures
        checker.checks += inner.checks


def loaded_late(checker):
    """the runtime is loaded two seconds after the start"""
    launched(checker, "1.30.0", "--late", 2000)


TESTS = [of_version(kind, version) for version in h.VERSIONS for kind in (launched, attached)]
TESTS += [other_seeds, two_copies, unloaded_and_loaded_again, loaded_late]

if __name__ == "__main__":
    h.run_tests("test_driver", TESTS)
