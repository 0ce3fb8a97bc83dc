#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The parts of a session's creation. ORT's own log tells the truth: load_log.exe turns each line
into a call that is recorded too, so that a part must begin between two certain lines, on one clock
and whatever the machine does meanwhile."""
import itertools
import os

import harness as h

LOAD_LOG = h.BIN + "/load_log.exe"
RUNNER = h.BIN + "/model_runner.exe"
VERSIONS = ["1.15.0", "1.17.3", "1.20.1", "1.23.2", "1.30.0"]
REC = h.PICTURE_MODELS + "/rec.onnx"
SILERO = h.PICTURE_MODELS + "/silero_v5.onnx"  # subgraphs: weights are saved several times
SMALL = "build/integration/models/%s.onnx"
READING, OPTIMISING, WEIGHTS = 1, 2, 3
EVENTS, FUNCTIONS = 1, 3  # phase.source
EVENTS_SESSION = 8  # session.source


def load_log(checker, name, version, *more):
    """Runs load_log under ortscope; the error codes that it printed and the timeline."""
    trace = "%s/%s.ortl" % (checker.folder, name)
    program = h.ortscope(checker.folder, name, "run", "-o", trace, "--", LOAD_LOG, "--dll",
                         h.dll(version), *more)
    checker.equal(name + ": the program ends well", (program.code, program.err[-300:]
                                                     if program.code else ""), (0, ""))
    timeline = h.load(trace)
    checker.equal(name + ": nothing is lost", h.lost(timeline), 0)
    return [int(code) for code in program.out.split()], timeline


def by_session(timeline):
    """Sessions in the order of their beginning, each with its parts in the order of theirs."""
    parts = {}
    for row in timeline.rows("phase"):
        parts.setdefault(row["session"], []).append(row)
    sessions = sorted(timeline.rows("session"), key=lambda row: row["time"])
    return [(s, sorted(parts.get(s["session"], []), key=lambda row: row["begin"]))
            for s in sessions]


def lines_within(timeline, session):
    """(time, line) of ORT's log while this session was created. One thread tells them all, so the
    file has them in order; sorting keeps the order of those at the same time."""
    end = session["time"] + session["load"]
    return sorted(((row["time"], row["log_id"]) for row in timeline.rows("env")
                   if row["action"] == 0 and session["time"] <= row["time"] <= end),
                  key=lambda line: line[0])


# ---------------------------------------------------------------------------------- checks


def gaps_of(session, parts):
    """Nanoseconds between call, parts and the call's end, if there are any: each of them ends at
    the very tick at which the next begins."""
    ends = [session["time"]] + [p["begin"] + p["duration"] for p in parts]
    begins = [p["begin"] for p in parts] + [session["time"] + session["load"]]
    gaps = [begin - end for begin, end in zip(begins, ends)]
    return gaps if any(gaps) else []


def what_is_wrong(session, parts):
    """None if the three parts are the creation: one after the other, no more and no less."""
    if [(p["phase"], p["source"]) for p in parts] != [
            (READING, FUNCTIONS), (OPTIMISING, FUNCTIONS), (WEIGHTS, FUNCTIONS)]:
        return parts
    return gaps_of(session, parts) or [p for p in parts if p["duration"] <= 0] or None


def check_whole(checker, what, session, parts):
    return checker.equal(what + ": three parts are the creation", what_is_wrong(session, parts),
                         None)


def check_boundary(checker, what, before, lines, line):
    """A part ends just before ORT logs `line` for the first time, and after the line before."""
    at = next((i for i, (_, text) in enumerate(lines) if text == line), 0)
    if not checker.true("%s: ORT has logged '%s'" % (what, line), at, (len(lines), lines[:3])):
        return
    end = before["begin"] + before["duration"]
    checker.true("%s: part %d ends between two lines" % (what, before["phase"]),
                 lines[at - 1][0] <= end <= lines[at][0], (lines[at - 1], end, lines[at]))
    print("         '%s' came %.1f us later" % (line, (lines[at][0] - end) / 1e3))


def check_against_log(checker, what, timeline, session, parts):
    if not check_whole(checker, what, session, parts):
        return
    lines = lines_within(timeline, session)
    check_boundary(checker, what, parts[0], lines, "Initializing session.")
    check_boundary(checker, what, parts[1], lines, "Saving initialized tensors.")
    done = [time for time, text in lines if text == "Session successfully initialized."]
    checker.true(what + ": it is ready in the last part",
                 len(done) == 1 and done[0] >= parts[2]["begin"], done)


# ---------------------------------------------------------------------------------- tests


def phases_agree_with_the_log(checker):
    """models from files and with subgraphs, five versions"""
    for version in VERSIONS:
        codes, timeline = load_log(checker, version, version, REC, SILERO)
        sessions = by_session(timeline)
        checker.equal(version + ": both sessions", (codes, len(sessions)), ([0, 0], 2))
        for name, (session, parts) in zip(["rec", "silero"], sessions):
            check_against_log(checker, "%s %s" % (version, name), timeline, session, parts)


def phases_of_models_in_memory(checker):
    """models given as bytes"""
    for version in (VERSIONS[0], VERSIONS[-1]):
        _, timeline = load_log(checker, version, version, "--bytes", REC)
        session, parts = by_session(timeline)[0]
        checker.equal(version + ": from bytes", session["source"], 1)
        check_against_log(checker, version, timeline, session, parts)


def failed_sessions_tell_what_was_over(checker):
    """a session that fails has the parts that it had left behind"""
    models = [SMALL % name for name in ("garbage", "unknown", "kernelless", "affine")]
    for version in (VERSIONS[0], VERSIONS[-1]):
        codes, timeline = load_log(checker, version, version, *models)
        sessions = by_session(timeline)
        checker.equal(version + ": three fail", [code != 0 for code in codes],
                      [True, True, True, False])
        checker.equal(version + ": their parts",
                      [[p["phase"] for p in parts] for _, parts in sessions],
                      [[], [], [READING], [READING, OPTIMISING, WEIGHTS]])
        session, parts = sessions[2]
        checker.true(version + ": reading ends before the session fails",
                     parts and session["time"] < parts[0]["begin"] + parts[0]["duration"] <
                     session["time"] + session["load"], (session, parts))


def a_session_made_inside_another(checker):
    """each of the two has its own parts, and the inner one is seen at all"""
    for version in (VERSIONS[0], VERSIONS[-1]):
        codes, timeline = load_log(checker, version, version, "--inside", SMALL % "affine", REC)
        sessions = by_session(timeline)
        if not checker.equal(version + ": both are seen", (codes, [s["model"] for s, _ in sessions]),
                             ([0, 0], [REC, SMALL % "affine"])):
            continue
        (outer, outer_parts), (inner, inner_parts) = sessions
        check_against_log(checker, version + " outer", timeline, outer, outer_parts)
        check_whole(checker, version + " inner", inner, inner_parts)
        checker.true(version + ": the inner one lies in the outer one's last part",
                     outer_parts[2]["begin"] <= inner["time"] and inner["time"] + inner["load"] <=
                     outer["time"] + outer["load"])
        checker.equal(version + ": both end", len(timeline.rows("session_end")), 2)


def sessions_in_parallel(checker):
    """threads that create sessions at the same time do not mix them up"""
    for version in (VERSIONS[0], VERSIONS[-1]):
        trace = "%s/%s.ortl" % (checker.folder, version)
        program = h.ortscope(
            checker.folder, version, "run", "-o", trace, "--", RUNNER, "--dll", h.dll(version),
            "--workers", 4, "--sessions", 6, "--model", h.PICTURE_MODELS + "/cls.onnx", "--input",
            "x=float:1,3,48,192", "--output", "softmax_0.tmp_0", "--model", SMALL % "pick",
            "--input", "I=int64:3:2", "--output", "picked")
        checker.equal(version + ": the program ends well", program.code, 0)
        timeline = h.load(trace)
        sessions = by_session(timeline)
        wrong = [what_is_wrong(*one) for one in sessions if what_is_wrong(*one)]
        checker.equal(version + ": parts of all 24", (len(sessions), wrong[:2]), (24, []))


def runtime_without_a_c_api(checker):
    """ORT inside a module that does not export its API: its own events tell when it begins"""
    for version, phases in ((VERSIONS[0], [OPTIMISING, WEIGHTS]),
                            (VERSIONS[-1], [READING, OPTIMISING, WEIGHTS])):
        hidden, trace = ["%s/%s.%s" % (checker.folder, version, end) for end in ("dll", "ortl")]
        with open(os.path.join(h.ROOT, h.dll(version)), "rb") as real:
            image = real.read().replace(b"OrtGetApiBase\0", b"OrtGetApiBasX\0")
        with open(os.path.join(h.ROOT, hidden), "wb") as copy:
            copy.write(image)
        program = h.ortscope(
            checker.folder, version, "run", "-o", trace, "--", RUNNER, "--dll", hidden, "--model",
            REC, "--input", "x=float:1,3,48,64", "--output", "softmax_11.tmp_0")
        checker.equal(version + ": the program ends well", program.code, 0)
        sessions = by_session(h.load(trace))
        if not checker.equal(version + ": the session is told by events",
                             [s["source"] for s, _ in sessions], [EVENTS_SESSION]):
            continue
        session, parts = sessions[0]
        checker.equal(version + ": its parts", [(p["phase"], p["source"]) for p in parts],
                      [(p, EVENTS if p == READING else FUNCTIONS) for p in phases])
        checker.equal(version + ": one after the other", gaps_of(session, parts), [])


def attached_before_the_sessions(checker):
    """a program that has loaded the runtime long ago"""
    for version in (VERSIONS[0], VERSIONS[-1]):
        prefix = "%s/%s" % (checker.folder, version)
        program = h.Program(checker.folder, version, [
            LOAD_LOG, "--dll", h.dll(version), "--pid-file", prefix + ".pid", "--go-file",
            prefix + ".go", REC])
        pid = h.read_pid(prefix + ".pid", program)
        collector = h.attach(checker.folder, version + "-attach", pid, prefix + ".ortl")
        h.touch(prefix + ".go")
        checker.equal(version + ": both end well", (program.wait(), collector.wait()), (0, 0))
        timeline = h.load(prefix + ".ortl")
        session, parts = by_session(timeline)[0]
        check_against_log(checker, version, timeline, session, parts)


def attached_and_detached_all_the_while(checker):
    """we come and go while two threads make one session after the other"""
    version, prefix = h.NEWEST, checker.folder + "/target"
    target = h.Program(checker.folder, "target", [
        RUNNER, "--dll", h.dll(version), "--workers", 2, "--sessions", 10**6, "--pid-file",
        prefix + ".pid", "--go-file", prefix + ".go", "--model", SMALL % "pick", "--input",
        "I=int64:3:2", "--output", "picked"])
    pid = h.read_pid(prefix + ".pid", target)
    h.touch(prefix + ".go")
    made, wrong = 0, []
    for i in itertools.count():
        if i >= 8 and made > 50 or i == 60:  # a busy machine may need more than eight times
            break
        trace = "%s/%d.ortl" % (checker.folder, i)
        collector = h.attach(checker.folder, "attach-%d" % i, pid, trace, "--duration", "1s")
        collector.wait()
        for session, parts in by_session(h.load(trace)):
            if session["source"] == 0:  # not found, but seen from its begin to its end
                made += 1
                wrong += [what_is_wrong(session, parts)] if what_is_wrong(session, parts) else []
    checker.equal("the program goes on", target.poll(), None)
    target.kill()
    checker.true("sessions were made meanwhile: %d" % made, made > 50, made)
    checker.equal("each has its parts", wrong[:2], [])


if __name__ == "__main__":
    h.run_tests("loading", [phases_agree_with_the_log, phases_of_models_in_memory,
                            failed_sessions_tell_what_was_over, a_session_made_inside_another,
                            sessions_in_parallel, runtime_without_a_c_api,
                            attached_before_the_sessions,
                            attached_and_detached_all_the_while])
