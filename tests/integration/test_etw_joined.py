#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""--etw kernel and the hook's runs: what the kernel tells live is joined to the runs in which it happened.
The real ONNX Runtime, the simulated event tracing (tests/sim). The kernel's events are written when their run is
over and in the file, with times within it: no race decides."""
import harness as h
import sim_etw

VERSION = "1.23.2"
RUNS = 25
WAITS_FOR_USER = 6  # KWAIT_REASON: UserRequest
PARTS = ["on_cpu", "ready", "preempted", "waiting", "unknown"]


def around(timeline, run):
    """A script of what happened while a run, which is over, was under way. By tenths of it: its thread gets
    a processor before it, is preempted at 1 until 3, waits from 5, is ready at 6, goes on at 7."""
    begin, end = sim_etw.on_qpc(timeline, run)
    app, tenth = run["thread"], (end - begin) // 10_000  # microseconds
    lines = ["base %d" % (begin // 100), "thread other etw_recorder.exe 0"]
    for at, words in ((-1, "cswitch {} 0 {app} 0 2 0"),
                      (1, "cswitch {} 0 other {app} 1 32"),
                      (3, "cswitch {} 0 {app} other 5 15"),
                      (4, "hardfault {} 0 {app} 4096 5"),
                      (4, "diskread {} 0 {app} 8192 5"),
                      (5, "cswitch {} 0 0 {app} 5 %d" % WAITS_FOR_USER),
                      (6, "ready {} 0 {app}"),
                      (7, "cswitch {} 0 {app} 0 2 0"),
                      (12, "cswitch {} 0 0 {app} 5 %d" % WAITS_FOR_USER)):
        lines.append(words.format(at * tenth, app=app))
    return "\n".join(lines) + "\n", tenth


def run_to_script(timeline):
    """The longest run of those whose thread is known from well before; None: not yet."""
    runs, begins = timeline.rows("run"), {r["thread"]: r["time"] for r in timeline.rows("thread")}
    known = [r for r in runs
             if begins.get(r["thread"], r["begin"]) < r["begin"] - r["duration"] // 5]
    return max(known, key=lambda r: r["duration"]) if known and len(runs) >= RUNS else None


def check_run(checker, run, tenth):
    told = run["machine"]
    checker.equal("preempted, by whom, waiting, ready: as scripted",
                  (told["preempted_us"], told["preempted_by"], told["waits"], told["ready_us"]),
                  (2 * tenth, [{"program": "etw_recorder.exe", "us": 2 * tenth}],
                   [{"reason": "UserRequest", "us": tenth}], tenth))
    on_cpu = run["latency_us"] - 4 * tenth
    checker.true("all the rest on a processor",
                 abs(told["on_cpu_us"] - on_cpu) < 0.01 and told["unknown_us"] == 0, told)
    checker.equal("switches, faults, transfers",
                  (told["switches"], told["hard_faults"], told["fault_source"],
                   told["disk_transfers"]), (2, 1, "events", 1))


def check_sums(checker, runs, session):
    """Of the session's runs that the switches tell of; a neighbour may be among them."""
    parts = {p: sum(r["machine"][p + "_us"] for r in runs) for p in PARTS}
    time = sum(r["latency_us"] for r in runs)
    over = [r for r in runs
            if abs(sum(r["machine"][p + "_us"] for p in PARTS) - r["latency_us"]) > 0.01]
    checker.equal("the parts of each run are its time", over, [])
    told = session["machine"]
    checker.equal("the session: runs, who took the processor",
                  (told["covered_runs"], [p["program"] for p in told["preempted_by"]]),
                  (len(runs), ["etw_recorder.exe"]))
    checker.true("the session: shares", all(abs(told[p + "_share"] - parts[p] / time) < 0.001
                                            for p in PARTS), (told, parts, time))


def switches_within_a_run(checker):
    """what a run's thread did is told with the run and with its session"""
    with sim_etw.Machine(checker) as machine:
        other = machine.record("other", (sim_etw.ORT_PROVIDER, 5, 0x101))
        trace, stop, pid_file = (checker.folder + "/a" + e for e in (".ortl", ".stop", ".pid"))
        program = machine.start("a", [
            h.ORTSCOPE, "run", "-q", "--etw", "kernel,ort", "-o", trace, "--",
            *h.node_arguments(VERSION, "--mixed", "--pause", 20, "--pid-file", pid_file,
                              "--stop-file", stop)])
        h.read_pid(pid_file, program)
        h.wait_until(lambda: run_to_script(h.load(trace)), "runs in the file", program=program)
        timeline = h.load(trace)
        chosen = run_to_script(timeline)
        script, tenth = around(timeline, chosen)
        machine.kernel(script)
        h.touch(stop)
        checker.equal("the program ends well", program.wait(), 0)
        other.end()
        checker.equal("nothing was lost", h.lost(h.load(trace)), 0)
        runs = [r for r in h.ask("runs", trace)["runs"]
                if r["session"] == chosen["session"] and r["machine"]["on_cpu_us"] is not None]
        check_run(checker, [r for r in runs if r["run"] == chosen["run"]][0], tenth)
        check_sums(checker, runs, [s for s in h.summary(trace)["sessions"]
                                   if s["id"] == chosen["session"]][0])


TESTS = [switches_within_a_run]

if __name__ == "__main__":
    h.run_tests("etw_joined", TESTS)
