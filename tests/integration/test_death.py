#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Death and overload: the target or ortscope killed at any moment, crashes of every kind, more
threads than rings, a collector that stands still. The file is always good, the target never waits
and never notices."""
import os
import random
import signal

import harness as h
import test_driver
from looping import VERSION, Looping, counted, counter_text



def kill_target_at_random(checker):
    """the target is killed at random moments: the file holds what was published"""
    chance = random.Random(20)
    for i in range(8):
        trace, counter, pid_file = ("%s/%d%s" % (checker.folder, i, e)
                                    for e in (".ortl", ".count", ".pid"))
        go_file = "%s/%d.go" % (checker.folder, i)
        program = h.Program(checker.folder, "run-%d" % i, [
            h.ORTSCOPE, "run", "-o", trace, "--quiet", "--"] + h.driver_arguments(
                h.VERSIONS[i % len(h.VERSIONS)], "--loop-seconds", h.FOREVER, "--counter", counter,
                "--pid-file", pid_file, "--go-file", go_file, "--iterations", 50))
        pid = h.read_pid(pid_file, program)
        h.touch(go_file)
        goal = chance.randrange(1, 1500)
        h.wait_until(lambda: counted(counter) >= goal, "%d runs" % goal, program=program)
        by_linux = i % 2 == 0
        if by_linux:
            os.kill(h.linux_pids("ort_driver.exe", counter)[0], signal.SIGKILL)
        else:
            h.run(checker.folder, "taskkill-%d" % i, ["taskkill", "/F", "/PID", str(pid)])
        code = program.wait()
        made = counted(counter)
        timeline = h.load(trace)
        recorded = len(timeline.rows("run"))
        # A run is published before it is counted; each thread may have published one more (with
        # up to four asynchronous ones behind it).
        checker.true("killed by %s at %d runs: %d recorded" % (
            "Linux" if by_linux else "TerminateProcess", made, recorded),
            timeline.damage is None and made <= recorded <= made + 8 * 5 and h.lost(timeline) == 0
            and code == 0, (timeline.damage, h.lost(timeline), code))  # 0 is what both give here


def kill_ortscope(checker):
    """ortscope is killed: the target finishes as if nothing had been"""
    for i, how in enumerate(("attached", "launched")):
        report_file, counter = ("%s/%s%s" % (checker.folder, how, e) for e in (".json", ".count"))
        trace = "%s/%s.ortl" % (checker.folder, how)
        stop = "%s/%s.stop" % (checker.folder, how)
        more = ("--report", report_file, "--counter", counter, "--seconds", h.FOREVER, "--stop-file",
                stop, "--exit-code", 5, "--pid-file", checker.folder + "/%s.pid" % how)
        full = os.path.join(h.ROOT, report_file)
        count_path = os.path.join(h.ROOT, counter)
        if how == "attached":
            target = h.Program(checker.folder, "target", h.node_arguments(VERSION, *more))
            pid = h.read_pid(checker.folder + "/attached.pid", target)
            victim = h.attach(checker.folder, "attach", pid, trace)
        else:
            victim = h.Program(checker.folder, "run", [h.ORTSCOPE, "run", "-o", trace, "--"]
                               + h.node_arguments(VERSION, *more))
        h.wait_until(lambda: os.path.exists(count_path) and counter_text(counter) >= 30,
                     "30 runs", program=victim)
        at_death = counter_text(counter)
        os.kill(h.linux_pids("ortscope.exe", trace)[0], signal.SIGKILL)
        h.wait_until(lambda: counter_text(counter) >= at_death + 100, "%s: 100 runs more" % how)
        h.touch(stop)
        if how == "attached":
            checker.equal("attached: the target ends with its code", target.wait(), 5)
        h.wait_until(lambda: os.path.exists(full), "%s: the target's report" % how)
        victim.wait()
        with open(full) as file:
            report = h.report_of(file.read())[0]
        alone = h.run(checker.folder, "alone-" + how,
                      h.node_arguments(VERSION, "--runs", report["runs"]))
        checker.equal("%s: outputs are as ever" % how, report["output_hash"],
                      h.report_of(alone.out)[0]["output_hash"])
        timeline = h.load(trace)
        recorded = len(timeline.rows("run"))
        # Flushed at least every 250 ms, so up to that much is missing; whole blocks only.
        checker.true("%s: the file is readable: %d runs of %d at the kill" % (
            how, recorded, at_death), timeline.header.get("magic") == "ortl"
            and timeline.damage == "the file has no end mark"
            and recorded <= report["runs"], timeline.damage)


def attach_again_after_a_kill(checker):
    """after ortscope was killed the same target can be attached again"""
    target = Looping(checker)
    victim = h.attach(checker.folder, "victim", target.pid, checker.folder + "/victim.ortl")
    target.more_runs(3)
    os.kill(h.linux_pids("ortscope.exe", "victim.ortl")[0], signal.SIGKILL)
    victim.wait()
    target.more_runs(3)
    trace = checker.folder + "/again.ortl"
    again = h.attach(checker.folder, "again", target.pid, trace)
    armed = target.count()
    target.more_runs(10)
    report = target.finish(checker)
    checker.equal("the second attach ends well", again.wait(), 0)
    recorded = len(h.load(trace).rows("run"))
    checker.true("and holds every run since", report["runs"] - armed <= recorded,
                 (recorded, report["runs"], armed))


CRASHES = {"av": 0xC0000005, "abort": 3, "fastfail": 0xC0000409, "raise": 0xE0001234,
           "terminate": 77, "exit-thread": 77}


def crashes(checker):
    """a crash of each kind after half the work: the file holds exactly what was done"""
    for i, (kind, code) in enumerate(CRASHES.items()):
        version = h.VERSIONS[i % len(h.VERSIONS)]
        folder = "%s/%s" % (checker.folder, kind)
        os.makedirs(os.path.join(h.ROOT, folder))
        inner = h.Checker(checker.name, folder)
        trace = folder + "/run.ortl"
        program = h.ortscope(folder, "run", "run", "-o", trace, "--", *h.driver_arguments(
            version, "--crash", kind, "--exit-code", 77))
        inner.equal("%s: the exit code passes through" % kind, program.code, code & 255)
        test_driver.check_all(inner, trace, h.report_of(program.out)[0], code=code)
        checker.checks += inner.checks
        checker.failures += inner.failures


def crashes_in_the_middle(checker):
    """a crash while seven other threads are inside ONNX Runtime"""
    for i, (kind, code) in enumerate(CRASHES.items()):
        trace, counter = ("%s/%s%s" % (checker.folder, kind, e) for e in (".ortl", ".count"))
        program = h.ortscope(checker.folder, kind, "run", "-o", trace, "--", *h.driver_arguments(
            h.VERSIONS[-1 - i % len(h.VERSIONS)], "--crash", kind, "--crash-busy", "--counter",
            counter, "--exit-code", 77))
        made, timeline = counted(counter), h.load(trace)
        recorded = len(timeline.rows("run"))
        checker.true("%s: %d runs made, %d recorded, exit code %#x" % (kind, made, recorded, code),
                     program.code == code & 255 and timeline.damage is None
                     and h.lost(timeline) == 0 and made <= recorded <= made + 8 * 5
                     and [p["exit_code"] & 0xffffffff for p in timeline.rows("process_end")]
                     == [code],
                     (program.code, timeline.damage, timeline.rows("process_end")))


def more_threads_than_rings(checker):
    """100 threads for 64 rings: drops are counted, nothing waits, the program does the same"""
    trace = checker.folder + "/run.ortl"
    arguments = h.driver_arguments("1.20.1", "--threads", 100, "--iterations", 80)
    alone = h.run(checker.folder, "alone", arguments)
    program = h.ortscope(checker.folder, "run", "run", "-o", trace, "--", *arguments)
    report = h.report_of(program.out)[0]
    checker.true("it did and got exactly the same", test_driver.without_pid(report)
                 == test_driver.without_pid(h.report_of(alone.out)[0]))
    timeline = h.load(trace)
    made = sum(g["count"] for s in report["runtimes"][0]["sessions"] for g in s["runs"])
    recorded, lost = len(timeline.rows("run")), h.lost(timeline)
    checker.equal("the file is whole", timeline.damage, None)
    checker.true("%d runs made, %d recorded, %d events lost" % (made, recorded, lost),
                 0 < lost and recorded <= made <= recorded + lost)
    checker.equal("the only cause is the number of rings",
                  {row["cause"] for row in timeline.rows("lost")}, {1})
    checker.equal("the summary tells the loss", h.summary(trace)["lost_events"], lost)


def collector_stands_still(checker):
    """ortscope is stopped for a while: the target does not wait, and what was lost is counted"""
    stop, counter, trace, pid_file = (checker.folder + "/run" + e
                                      for e in (".stop", ".count", ".ortl", ".pid"))
    program = h.Program(checker.folder, "run", [h.ORTSCOPE, "run", "-o", trace, "--quiet", "--"]
                        + h.driver_arguments("1.15.0", "--threads", 1, "--loop-seconds", h.FOREVER,
                                             "--stop-file", stop, "--counter", counter,
                                             "--pid-file", pid_file))
    h.read_pid(pid_file, program)
    collector = h.linux_pids("ortscope.exe", trace)[0]
    os.kill(collector, signal.SIGSTOP)
    try:
        h.wait_until(lambda: counted(counter) > 15000, "15000 runs", program=program)
    finally:
        os.kill(collector, signal.SIGCONT)
    more = counted(counter) + 200
    h.wait_until(lambda: counted(counter) > more, "200 runs after it", program=program)
    h.touch(stop)
    checker.equal("the program ends well", program.wait(), 0)
    made, timeline = counted(counter), h.load(trace)
    recorded, lost = len(timeline.rows("run")), h.lost(timeline)
    checker.equal("the file is whole", timeline.damage, None)
    checker.true("%d runs made, %d recorded, %d events lost" % (made, recorded, lost),
                 0 < lost and recorded < made <= recorded + lost)
    checker.equal("the only cause is a full ring",
                  {row["cause"] for row in timeline.rows("lost")}, {0})
    checker.equal("the summary tells the loss", h.summary(trace)["lost_events"], lost)


TESTS = [kill_target_at_random, kill_ortscope, attach_again_after_a_kill, crashes,
         crashes_in_the_middle, more_threads_than_rings, collector_stands_still]

if __name__ == "__main__":
    h.run_tests("test_death", TESTS)
