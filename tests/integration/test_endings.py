#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How captures end and fail: whose file is touched, whose exit code is told, who is left behind."""
import contextlib
import os
import shutil
import signal
import time

import harness as h
from looping import VERSION, Looping


def text_of(path):
    with open(os.path.join(h.ROOT, path)) as file:
        return file.read()


def write(path, text):
    with open(os.path.join(h.ROOT, path), "w") as file:
        file.write(text)


def refused_attach_keeps_the_file(checker):
    """an attach that fails leaves the file of an earlier capture alone"""
    alone = checker.folder + "/ortscope.exe"  # without its DLL
    shutil.copy(os.path.join(h.ROOT, h.ORTSCOPE), os.path.join(h.ROOT, alone))
    trace = checker.folder + "/precious.ortl"
    write(trace, "precious")
    target = Looping(checker)
    for name, arguments in (("attach", ["attach", target.pid, "-o", trace]),
                            ("run", ["run", "-o", trace, "--"]
                             + h.driver_arguments(None, "--never", "--exit-code", 9))):
        program = h.run(checker.folder, name, [alone] + arguments)
        checker.true("%s is refused with a sentence" % name, program.code not in (0, 9, None)
                     and "ortscope_hook.dll" in program.err, (program.code, program.err[-300:]))
        checker.equal("%s: the file is what it was" % name, text_of(trace), "precious")
    typo = checker.folder + "/no-such-folder/x.ortl"
    program = h.ortscope(checker.folder, "typo", "attach", target.pid, "-o", typo)
    checker.true("a file that can't be made is told before the process is touched",
                 program.code == 1 and "no-such-folder" in program.err
                 and "ortscope_hook.dll" not in loaded_modules(target), program.err[-300:])
    target.more_runs(3)
    target.finish(checker)


def loaded_modules(target):
    with open("/proc/%d/maps" % target.linux_pid()) as file:
        return file.read()


def file_fails_after_the_attach(checker):
    """no room for the file's first bytes: a running target goes on, a launched one never ran"""
    target = Looping(checker)
    program = h.ortscope(checker.folder, "attach", "attach", target.pid, "-o", "/dev/full")
    checker.true("attach: exit code 1 and a sentence", program.code == 1
                 and "/dev/full" in program.err, (program.code, program.err[-300:]))
    target.more_runs(3)
    trace = checker.folder + "/after.ortl"
    again = h.attach(checker.folder, "again", target.pid, trace)
    target.more_runs(3)
    target.finish(checker)
    checker.equal("and can be attached again", again.wait(), 0)
    program = h.ortscope(checker.folder, "run", "run", "-o", "/dev/full", "--",
                         *h.driver_arguments(None, "--never", "--exit-code", 9))
    checker.equal("run: exit code 1, the program never ran", (program.code, program.out), (1, ""))


def duration_of_run(checker):
    """run --duration ends the recording, then waits for the program and exits with its code"""
    trace, stop = (checker.folder + "/run" + e for e in (".ortl", ".stop"))
    program = h.Program(checker.folder, "run", [
        h.ORTSCOPE, "run", "-o", trace, "--duration", "1s", "--quiet", "--"] + h.node_arguments(
            VERSION, "--stop-file", stop, "--seconds", h.FOREVER, "--exit-code", 5))
    h.wait_until(lambda: "waiting for the program" in program.err, "the end of the recording",
                 program=program)
    timeline = h.load(trace)
    checker.equal("the file is whole while the program runs", timeline.damage, None)
    checker.equal("the process is told as left",
                  [p["reason"] for p in timeline.rows("process_end")], [1])
    h.touch(stop)
    checker.equal("ortscope exits with the program's code", program.wait(), 5)


def disk_gets_full(checker):
    """the disk gets full during run: told, the program finishes, exit code 1"""
    trace, stop, report_file = (checker.folder + "/run" + e for e in (".ortl", ".stop", ".json"))
    h.run(checker.folder, "server", ["cmd", "/c", "exit"])  # Wine's server has no such limit
    os.environ["ORTSCOPE_WINE_WRAPPER"] = "env --ignore-signal=XFSZ prlimit --fsize=1000000"
    try:
        program = h.Program(checker.folder, "run", [
            h.ORTSCOPE, "run", "-o", trace, "--quiet", "--"] + h.driver_arguments(
                VERSION, "--loop-seconds", h.FOREVER, "--stop-file", stop, "--report", report_file,
                "--exit-code", 5))
    finally:
        del os.environ["ORTSCOPE_WINE_WRAPPER"]
    h.wait_until(lambda: "waiting for the program" in program.err, "the end of the recording",
                 program=program)
    checker.true("the error is told at once", "run.ortl" in program.err.split("armed")[1]
                 .split("\n", 1)[1], program.err[-400:])
    checker.equal("the program still runs", len(h.linux_pids("ort_driver.exe", stop)), 1)
    h.touch(stop)
    checker.equal("exit code 1", program.wait(), 1)
    checker.true("what was written can be read", len(h.load(trace).rows("run")) > 0)


def children_outlive_the_program(checker):
    """the program ends before what it started: that is said, and recorded to its end"""
    trace, go_file, report = (checker.folder + "/run" + e for e in (".ortl", ".go", ".json"))
    arguments = h.driver_arguments("1.20.1", "--go-first", "--go-file", go_file, "--report", report)
    arguments[0] = arguments[0].replace("/", "\\")
    program = h.Program(checker.folder, "run", [h.ORTSCOPE, "run", "-o", trace, "--quiet", "--",
                                                "cmd", "/c", "start", "/b"] + arguments)
    h.wait_until(lambda: "still recorded" in program.err, "the word about children",
                 program=program)
    h.touch(go_file)
    checker.equal("it exits with the program's code", program.wait(), 0)
    timeline = h.load(trace)
    checker.true("the child's runs are there", len(timeline.rows("run")) > 0)
    checker.equal("said once", program.err.count("still recorded"), 1)
    checker.equal("all ended by themselves", {p["reason"] for p in timeline.rows("process_end")},
                  {0})


def until_they_rest(pids, seconds=0.3):
    """Until none of the processes' first threads has even wanted a processor for so long, or they are gone."""
    def wanted():
        told = []
        for pid in pids:
            with contextlib.suppress(OSError), open("/proc/%d/schedstat" % pid) as file:
                told.append(file.read())
        return told

    def rest():
        before = wanted()
        time.sleep(seconds)
        return wanted() == before
    h.wait_until(rest, "the processes rest")


def parent_dies_while_it_waits(checker):
    """a parent is killed while its suspended child waits for ortscope: the child runs"""
    trace, pid_file, go_file, report = (checker.folder + "/run" + e
                                        for e in (".ortl", ".pid", ".go", ".json"))
    parent = h.Program(checker.folder, "parent", h.driver_arguments(
        "1.20.1", "--spawn", "--go-first", "--pid-file", pid_file, "--go-file", go_file,
        "--report", report))
    collector = h.attach(checker.folder, "attach", h.read_pid(pid_file, parent), trace)
    linux_collector = h.linux_pids("ortscope.exe", trace)[0]
    linux_parent = h.linux_pids("ort_driver.exe", report)[0]
    os.kill(linux_collector, signal.SIGSTOP)
    try:
        h.touch(go_file)
        h.wait_until(lambda: len(h.linux_pids("ort_driver.exe", report)) == 2, "the child")
        # The request follows the creation, then the parent waits; one that has given up passes too.
        until_they_rest(h.linux_pids("ort_driver.exe", report))
        with contextlib.suppress(ProcessLookupError):
            os.kill(linux_parent, signal.SIGKILL)
        parent.wait()
    finally:
        os.kill(linux_collector, signal.SIGCONT)
    checker.equal("attach ends when the child has", collector.wait(), 0)
    checker.true("the child did its work", os.path.exists(os.path.join(h.ROOT, report)))
    timeline = h.load(trace)
    checker.equal("it was followed", [p["how"] for p in timeline.rows("process")], [1, 2])
    checker.true("its runs are there", len(timeline.rows("run")) > 0)


def ctrl_c_before_the_program_runs(checker):
    """Ctrl+C while the program is still suspended: it is ended, nothing stays behind"""
    for i in range(3):
        word = "%s/%d.ortl" % (checker.folder, i)
        program = h.Program(checker.folder, str(i), [h.ORTSCOPE, "run", "-o", word, "--quiet", "--"]
                            + h.driver_arguments(None, "--never", "--exit-code", 9, "--report",
                                                 checker.folder + "/%d.json" % i))
        h.wait_until(lambda: h.linux_pids("ort_driver.exe", "/%d.json" % i), "the program",
                     program=program)
        program.interrupt()
        code = program.wait()
        stopped = "before the program ran" in program.err
        print("    %s" % ("stopped in time" if stopped else "the program was faster"))
        checker.equal("exit code", code, 1 if stopped else 9)
        checker.equal("a file only if it ran", os.path.exists(os.path.join(h.ROOT, word)),
                      not stopped)


TESTS = [refused_attach_keeps_the_file, file_fails_after_the_attach, duration_of_run,
         disk_gets_full, children_outlive_the_program, parent_dies_while_it_waits,
         ctrl_c_before_the_program_runs]

if __name__ == "__main__":
    h.run_tests("test_endings", TESTS)
