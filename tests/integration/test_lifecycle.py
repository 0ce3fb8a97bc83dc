#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Coming and going: attach and detach on a running program, programs that never or only briefly use
ONNX Runtime, Ctrl+C, --duration, and refusals with their exit codes."""
import os
import struct

import harness as h
import test_driver
from looping import VERSION, Looping, counted


def footprint(checker, target):
    """Threads and handles as Windows counts them, megabytes of address space as Linux does."""
    facts = h.run(checker.folder, "facts", [h.BIN + "/process_facts.exe", target.pid])
    _, threads, handles = facts.out.split()
    with open("/proc/%d/status" % target.linux_pid()) as file:
        size = [line.split()[1] for line in file if line.startswith("VmSize:")][0]
    return int(threads), int(handles), int(size) // 1024


def numbered_without_gaps(timeline):
    runs = {}
    for row in timeline.rows("run"):
        runs.setdefault(row["session"], []).append(row["run"])
    return {s: sorted(n) for s, n in runs.items()}


# ------------------------------------------------------------------------------ attach and detach


def attach_and_detach_twenty_times(checker):
    """a running node never notices twenty attaches and detaches"""
    target = Looping(checker)
    sizes, recorded, between = [], 0, 0
    for i in range(20):
        trace = "%s/%02d.ortl" % (checker.folder, i)
        collector = h.attach(checker.folder, "attach-%02d" % i, target.pid, trace, "--quiet",
                             "--ring-size", 8192)
        first = target.count()
        target.more_runs(5)
        between += target.count() - first
        # Every other time the command that attached ends it, else another one.
        if i % 2:
            collector.interrupt()
        else:
            detach = h.ortscope(checker.folder, "detach-%02d" % i, "detach", target.pid)
            if detach.code != 0:
                checker.equal("detach %d" % i, (detach.code, detach.err[-300:]), (0, ""))
        code = collector.wait()
        if code != 0:
            checker.equal("attach %d ends well" % i, (code, collector.err[-300:]), (0, ""))
        timeline = h.load(trace)
        if timeline.damage or h.lost(timeline):
            checker.equal("file %d is whole" % i, (timeline.damage, h.lost(timeline)), (None, 0))
        recorded += len(timeline.rows("run"))
        for session, numbers in numbered_without_gaps(timeline).items():
            if numbers != list(range(1, len(numbers) + 1)):
                checker.equal("runs of file %d" % i, numbers, "no gaps")
        target.more_runs(2)
        sizes.append(footprint(checker, target))
    print("    threads, handles, MB of address space after each round:", sizes)
    report = target.finish(checker)
    checker.true("each time runs were recorded, never more than were made",
                 between - 20 <= recorded <= report["runs"], (between, recorded, report["runs"]))
    # What stays behind each time would be 15 more at the end, whatever the program does meanwhile.
    threads, handles, megabytes = ((min(column[-4:]), max(column[1:5])) for column in zip(*sizes))
    checker.true("threads do not grow", threads[0] <= threads[1], sizes)
    checker.true("handles do not grow", handles[0] <= handles[1], sizes)
    # A channel that stayed mapped would show as 16 MB each time; Wine's own heaps take 64 MB at once.
    checker.true("no memory stays behind", megabytes[0] <= megabytes[1] + 130, sizes)
    alone = h.run(checker.folder, "alone", h.node_arguments(VERSION, "--runs", report["runs"]))
    checker.equal("outputs are bit-identical to those of a run alone",
                  report["output_hash"], h.report_of(alone.out)[0]["output_hash"])


def attach_and_detach_under_load(checker):
    """eight threads in every call while ortscope comes and goes: they get what they get alone"""
    pid_file, counter = (checker.folder + "/driver" + e for e in (".pid", ".count"))
    arguments = h.driver_arguments(VERSION, "--exit-code", 6, "--iterations", 1500)
    alone = h.run(checker.folder, "alone", arguments)
    driver = h.Program(checker.folder, "driver",
                       arguments + ["--pid-file", pid_file, "--counter", counter])
    pid, rounds = h.read_pid(pid_file, driver), 0
    while driver.poll() is None:
        trace, before = "%s/%d.ortl" % (checker.folder, rounds), counted(counter)
        collector = h.Program(checker.folder, "attach-%d" % rounds,
                              [h.ORTSCOPE, "attach", pid, "-o", trace, "--quiet"])
        h.wait_until(lambda: "armed" in collector.err or collector.poll() is not None, "armed")
        armed = counted(counter)
        h.wait_until(lambda: counted(counter) >= armed + 200 or driver.poll() is not None, "runs")
        at_least = counted(counter) - armed - 64  # some began before, or end after
        if collector.poll() is None:
            collector.interrupt()
        code = collector.wait()
        if driver.poll() is not None:
            break  # it may have ended before, while or after we came
        timeline = h.load(trace)
        recorded, made = len(timeline.rows("run")), counted(counter) - before
        if code or timeline.damage or h.lost(timeline) or not at_least <= recorded <= made + 64:
            checker.equal("round %d" % rounds,
                          (code, timeline.damage, h.lost(timeline), at_least, recorded, made), "ok")
        rounds += 1
    checker.true("%d rounds" % rounds, rounds > 0)
    checker.equal("the driver ends with its own code", driver.wait(), 6)
    checker.true("it did and got exactly the same, outputs to the bit",
                 test_driver.without_pid(h.report_of(driver.out)[0])
                 == test_driver.without_pid(h.report_of(alone.out)[0]))


def second_attach_is_refused(checker):
    """a process that is attached already is refused, and the first goes on"""
    target = Looping(checker)
    trace = checker.folder + "/first.ortl"
    first = h.attach(checker.folder, "first", target.pid, trace)
    second = h.ortscope(checker.folder, "second", "attach", target.pid, "-o",
                        checker.folder + "/second.ortl")
    checker.true("the second is refused with a sentence", second.code not in (0, None)
                 and "already" in second.err, (second.code, second.err[-300:]))
    armed = target.count()
    target.more_runs(5)
    report = target.finish(checker)
    checker.equal("the first ends well", first.wait(), 0)
    recorded = len(h.load(trace).rows("run"))
    checker.true("and holds every run since", recorded >= report["runs"] - armed,
                 (recorded, report["runs"], armed))


def attached_before_the_runtime_comes(checker):
    """attached first, then the runtime is loaded, unloaded and loaded again"""
    trace, pid_file, go_file = (checker.folder + "/attach" + e for e in (".ortl", ".pid", ".go"))
    driver = h.Program(checker.folder, "driver", h.driver_arguments(
        "1.17.0", "--unload", "--go-first", "--pid-file", pid_file, "--go-file", go_file,
        "--exit-code", 4))
    collector = h.attach(checker.folder, "attach", h.read_pid(pid_file, driver), trace)
    h.touch(go_file)
    checker.equal("the driver ends with its own code", driver.wait(), 4)
    checker.equal("attach ends well", collector.wait(), 0)
    seen = test_driver.check_all(checker, trace, h.report_of(driver.out)[0], code=4)
    checker.equal("both unloads are told", len(seen.timeline.rows("module_end")), 2)


def listing(checker):
    """list tells who uses which runtime, and who is attached"""
    target = Looping(checker)
    collector = None
    for attached in (False, True):
        if attached:
            collector = h.attach(checker.folder, "attach", target.pid, checker.folder + "/a.ortl")
        program = h.ortscope(checker.folder, "list-%d" % attached, "list", "--json")
        rows = h.report_of(program.out)[0]["processes"]
        row = [r for r in rows if r["pid"] == target.pid]
        if checker.equal("the process is listed once", len(row), 1):
            checker.equal("with its version", str(row[0]["ort_version"]).startswith(VERSION), True)
            checker.equal("attached", row[0]["attached_by_pid"] is not None, attached)
    target.finish(checker)
    checker.equal("attach ends well", collector.wait(), 0)


# ------------------------------------------------------------------------------ ways of stopping


def ctrl_c(checker):
    """Ctrl+C on attach leaves a whole file and a summary; the target goes on"""
    target = Looping(checker)
    trace = checker.folder + "/attach.ortl"
    collector = h.attach(checker.folder, "attach", target.pid, trace)
    target.more_runs(10)
    collector.interrupt()
    checker.equal("attach ends with 0", collector.wait(), 0)
    timeline = h.load(trace)
    checker.equal("the file is whole", timeline.damage, None)
    checker.true("and holds the runs", len(timeline.rows("run")) >= 10)
    checker.true("the summary is on standard error", "p99" in collector.err, collector.err[-400:])
    checker.equal("nothing on standard output", collector.out, "")
    checker.equal("the process is told as detached",
                  [p["reason"] for p in timeline.rows("process_end")], [1])
    target.more_runs(3)
    target.finish(checker)


def ctrl_c_on_run(checker):
    """the first Ctrl+C on run waits for the program, the second leaves it running"""
    trace, stop, pid_file, report_file = (checker.folder + "/run" + e
                                          for e in (".ortl", ".stop", ".pid", ".json"))
    program = h.Program(checker.folder, "run", [h.ORTSCOPE, "run", "-o", trace, "--"]
                        + h.node_arguments(VERSION, "--seconds", h.FOREVER, "--stop-file", stop,
                                           "--pid-file", pid_file, "--report", report_file))
    h.read_pid(pid_file, program)
    program.interrupt()
    h.wait_until(lambda: "again" in program.err, "the word after the first", program=program)
    program.interrupt()
    checker.equal("ortscope ends with 0", program.wait(), 0)
    timeline = h.load(trace)
    checker.equal("the file is whole", timeline.damage, None)
    checker.equal("the process is told as left",
                  [p["reason"] for p in timeline.rows("process_end")], [1])
    checker.equal("the program still runs", len(h.linux_pids("node.exe", stop)), 1)
    h.touch(stop)
    h.wait_until(lambda: os.path.exists(os.path.join(h.ROOT, report_file)), "its report")


def duration(checker):
    """--duration ends the capture by itself"""
    target = Looping(checker)
    trace = checker.folder + "/attach.ortl"
    collector = h.attach(checker.folder, "attach", target.pid, trace, "--duration", "2s", "--quiet")
    checker.equal("attach ends with 0", collector.wait(), 0)
    checker.equal("no summary with --quiet", "p99" in collector.err, False)
    timeline = h.load(trace)
    checker.equal("the file is whole", timeline.damage, None)
    span = max(r["begin"] for r in timeline.rows("run")) / 1e9
    checker.true("runs over about two seconds", span > 0.5, span)
    target.more_runs(3)
    target.finish(checker)


def target_exits_at_once(checker):
    """a target that ends at once, without and with ONNX Runtime"""
    trace = checker.folder + "/never.ortl"
    program = h.ortscope(checker.folder, "never", "run", "-o", trace, "--",
                         *h.driver_arguments(None, "--never", "--exit-code", 9))
    checker.equal("its exit code passes through", program.code, 9)
    timeline = h.load(trace)
    checker.equal("the file is whole", timeline.damage, None)
    checker.equal("it has the process and no runtime",
                  (len(timeline.rows("process")), timeline.rows("module")), (1, []))
    summary = h.summary(trace)
    checker.equal("the summary has no session", (summary["sessions"], summary["runtime"]), ([], []))
    checker.equal("and the exit code", summary["target"]["exit_code"], 9)
    trace = checker.folder + "/cmd.ortl"
    program = h.ortscope(checker.folder, "cmd", "run", "-o", trace, "--", "cmd", "/c", "exit", "3")
    checker.equal("cmd /c exit 3", program.code, 3)


def default_file_name(checker):
    """without -o the file is ortscope-<program>-<pid>.ortl in the current folder"""
    before = set(os.listdir(h.ROOT))
    program = h.ortscope(checker.folder, "run", "run", "--",
                         *h.driver_arguments(None, "--never", "--exit-code", 9))
    report = h.report_of(program.out)[0]
    made = [name for name in set(os.listdir(h.ROOT)) - before if name.endswith(".ortl")]
    for name in made:
        os.remove(os.path.join(h.ROOT, name))
    checker.equal("the file", made, ["ortscope-ort_driver-%d.ortl" % report["pid"]])
    checker.equal("standard output is the program's alone", len(h.report_of(program.out)), 1)


def standard_handles(checker):
    """standard input and output are the target's, and ortscope adds nothing to them"""
    text = "first line\nsecond \u00e4\u00f6\u00fc line\n"
    path = os.path.join(h.ROOT, checker.folder, "input")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    code = "process.stdin.on('data',d=>require('fs').writeSync(1,d));" \
           "process.stdin.on('end',()=>process.exitCode=11)"
    with open(path, "rb") as file:
        program = h.Program(checker.folder, "run", [h.ORTSCOPE, "run", "-o", checker.folder
                                                    + "/run.ortl", "--", h.NODE, "-e", code],
                            stdin=file)
        checker.equal("exit code", program.wait(), 11)
    checker.equal("what went in came out", program.out, text)


# --------------------------------------------------------------------------------------- refusals


def refusals(checker):
    """each refusal has a sentence and its exit code, and leaves no file"""
    text_file = checker.folder + "/text.exe"
    with open(os.path.join(h.ROOT, text_file), "w") as file:
        file.write("this is no program\n" * 50)
    short_pe = checker.folder + "/pe32.exe"
    with open(os.path.join(h.ROOT, short_pe), "wb") as file:
        file.write(pe_header(0x14C))
    arm_pe = checker.folder + "/arm64.exe"
    with open(os.path.join(h.ROOT, arm_pe), "wb") as file:
        file.write(pe_header(0xAA64))
    trace = checker.folder + "/refused.ortl"
    cases = [
        ("no such process", ["attach", "999996", "-o", trace], (3,)),
        ("no process of that name", ["attach", "no-such-program.exe", "-o", trace], (3,)),
        ("no such program", ["run", "-o", trace, "--", "no-such-program.exe"], (3,)),
        ("a text file", ["run", "-o", trace, "--", text_file], (5,)),
        ("a 32-bit program", ["run", "-o", trace, "--", short_pe], (5,)),
        ("an ARM64 program", ["run", "-o", trace, "--", arm_pe], (5,)),
        ("run without a program", ["run"], (2,)),
        ("attach without a target", ["attach"], (2,)),
        ("an unknown option", ["run", "--no-such-option", "--", "cmd"], (2,)),
        ("an unknown command", ["frobnicate"], (2,)),
        ("a bad duration", ["attach", "999996", "--duration", "soon"], (2,)),
        ("detach from nobody", ["detach", "999996"], (3,)),
        ("a file that cannot be written",
         ["run", "-o", checker.folder + "/no-such-folder/x.ortl", "--", "cmd", "/c", "exit", "0"],
         (1,)),
    ]
    for i, (what, arguments, codes) in enumerate(cases):
        program = h.ortscope(checker.folder, "case-%02d" % i, *arguments)
        sentence = program.err.strip()
        checker.true("%s: exit code %s and a sentence" % (what, codes[0]),
                     program.code in codes and len(sentence) > 20 and "\0" not in sentence,
                     (program.code, sentence[-300:]))
        checker.true("%s: no file" % what, not os.path.exists(os.path.join(h.ROOT, trace)))
        if os.path.exists(os.path.join(h.ROOT, trace)):
            os.remove(os.path.join(h.ROOT, trace))


def pe_header(machine):
    """The least that says: a program for this machine."""
    dos = b"MZ" + bytes(58) + struct.pack("<I", 64)
    optional = struct.pack("<H", 0x10B if machine == 0x14C else 0x20B) + bytes(238)
    coff = struct.pack("<4sHHIIIHH", b"PE\0\0", machine, 1, 0, 0, 0, len(optional), 0x0102)
    return dos + coff + optional + bytes(1024)


def several_of_that_name(checker):
    """a name that fits two processes is refused with their PIDs"""
    first, second = Looping(checker, "first"), Looping(checker, "second")
    program = h.ortscope(checker.folder, "attach", "attach", "node", "-o",
                         checker.folder + "/attach.ortl")
    checker.true("exit code 2 and both PIDs", program.code == 2
                 and str(first.pid) in program.err and str(second.pid) in program.err,
                 (program.code, program.err[-300:]))
    first.finish(checker)
    trace = checker.folder + "/one.ortl"
    one = h.Program(checker.folder, "one", [h.ORTSCOPE, "attach", "node", "-o", trace])
    h.wait_until(lambda: "armed process %d" % second.pid in one.err, "attach by name", program=one)
    second.more_runs(3)
    second.finish(checker)
    checker.equal("one of that name is attached", one.wait(), 0)
    checker.true("and its runs are there", len(h.load(trace).rows("run")) >= 3)


TESTS = [attach_and_detach_twenty_times, attach_and_detach_under_load, second_attach_is_refused,
         attached_before_the_runtime_comes, listing, ctrl_c, ctrl_c_on_run, duration,
         target_exits_at_once, default_file_name, standard_handles, refusals,
         several_of_that_name]

if __name__ == "__main__":
    h.run_tests("test_lifecycle", TESTS)
