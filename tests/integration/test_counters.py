#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Counters of real processes under Wine, against what Linux and the program itself say."""
import os
import re

import harness as h
from counter_runs import Busy, Counters, known, last


def linux_cpu_us(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000000 // os.sysconf("SC_CLK_TCK")


def linux_status(pid, key):
    with open("/proc/%d/status" % pid) as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    raise h.Failure("no %s in /proc" % key)


def near(actual, expected, share, least):
    return actual is not None and abs(actual - expected) <= max(expected * share, least)


def sampled_cpu_us(trace, about=1):
    """Of the process, or (about=2) of its threads."""
    if not os.path.exists(os.path.join(h.ROOT, trace)):
        return 0
    counters = Counters(h.load(trace))
    return sum(last(c) or 0 for name in ("cpu_user", "cpu_kernel")
               for c in counters.all(name=name, about=about, process=1))


def processor_and_memory(checker):
    """processor time, memory and threads of a busy program agree with Linux within 3 %"""
    busy = Busy(checker, ["--max-overhead", "100"], "--cpu-ms", 4000, "--mb", 200, "--workers", 3)
    linux_us, peak = linux_cpu_us(busy.linux_pid), linux_status(busy.linux_pid, "VmHWM") * 1024
    threads = linux_status(busy.linux_pid, "Threads")
    # 10 ms ticks of two numbers, and the first sample comes when the program has begun already.
    h.wait_until(lambda: near(sampled_cpu_us(busy.trace), linux_us, 0.03, 100000),
                 "the sampled processor time becomes that of Linux, %d us" % linux_us)
    h.wait_until(lambda: sampled_cpu_us(busy.trace, about=2) > linux_us * 0.7,
                 "its threads are seen too, of %d us" % linux_us)
    checker.true("the program says the same as Linux",
                 near(busy.report["cpu_us"], linux_us, 0.03, 100000), (busy.report, linux_us))
    counters = busy.finish(checker)
    sampled = last(counters.process("cpu_user")) + last(counters.process("cpu_kernel"))
    checker.true("processor time", near(sampled, linux_us, 0.06, 200000), (sampled, linux_us))
    for name in ("cpu_user", "cpu_kernel"):
        values = known(counters.process(name))
        checker.true("%s only grows" % name, len(values) > 3 and values == sorted(values))
    checker.true("peak memory", near(last(counters.process("peak_working_set")), peak, 0.03, 0),
                 (last(counters.process("peak_working_set")), peak))
    checker.true("working set", near(max(known(counters.process("working_set"))), peak, 0.1, 0))
    checker.true("private memory holds what the program holds",
                 busy.report["held"] <= max(known(counters.process("private"))) < 40 * peak)
    # Some that help to start the program may have been seen too.
    checker.true("threads", threads in known(counters.process("threads")),
                 (threads, known(counters.process("threads"))))
    checker.true("handles", 10 < max(known(counters.process("handles"))) < 10000)
    check_threads(checker, counters, sampled)
    check_summary(checker, busy, counters)


def check_threads(checker, counters, process_us):
    of_threads = counters.all(about=2, process=1, name="cpu_user")
    checker.true("each thread has a counter", len(of_threads) >= 4, len(of_threads))
    total = sum(last(c) or 0 for name in ("cpu_user", "cpu_kernel")
                for c in counters.all(about=2, process=1, name=name))
    # Threads that ended between two samples are missing.
    checker.true("the threads' processor time is that of the process",
                 process_us * 0.6 < total <= process_us + 200000, (total, process_us))
    # The main thread and a worker at least: one that ends soon may have its number used again.
    busiest = sorted(last(c) or 0 for c in of_threads)[-4:]
    checker.true("several of them worked", busiest[-2] > 50000, busiest)
    cores = counters.all(about=3, name="cpu_user")
    checker.equal("each core has a counter", sorted(c["number"] for c in cores),
                  list(range(os.cpu_count())))
    used = sum(last(c) - known(c)[0] for name in ("cpu_user", "cpu_kernel")
               for c in counters.all(about=3, name=name))
    checker.true("the cores did at least what the process did", used > process_us * 0.9,
                 (used, process_us))


def check_summary(checker, busy, counters):
    summary = h.summary(busy.trace)
    user, kernel = counters.process("cpu_user"), counters.process("cpu_kernel")
    end = [row["time"] for row in counters.timeline.rows("process_end")][0]
    first_ns = user["values"][0][0]
    expected = (last(user) - known(user)[0] + last(kernel) - known(kernel)[0]) * 1000 / (
        end - first_ns) * 100
    checker.true("summary: processor", near(summary["process"]["cpu_percent"], expected, 0, 0.01),
                 (summary["process"], expected))
    checker.equal("summary: memory", summary["process"]["peak_rss_bytes"],
                  max(known(counters.process("peak_working_set"))))


def not_told_is_null(checker):
    """what Wine does not tell is there as not known, and never as a number"""
    counters = Busy(checker, [], "--cpu-ms", 200).finish(checker)
    for name in ("page_faults", "context_switches", "hard_faults", "io_read", "io_written",
                 "io_reads", "io_writes"):
        checker.equal(name, [value for _, value in counters.process(name)["values"]], [None])
    checker.equal("of threads too", {value for c in counters.all(about=2, name="context_switches")
                                     for _, value in c["values"]}, {None})


def too_much_is_slowed_down(checker):
    """1000 Hz do not fit into 0.2 % of a core under Wine: slower, and the file says so"""
    busy = Busy(checker, ["--hz", "1000", "--max-overhead", "0.2"], "--cpu-ms", 1500)
    busy.wait_for("both are slowed down", lambda c: {"process", "system"} <= {
        row["source"] for row in c.timeline.rows("sampling") if row["reason"] == 1})
    counters = busy.finish(checker)
    paces = counters.timeline.rows("sampling")
    for source in ("process", "system"):
        of_source = [p for p in paces if p["source"] == source]
        checker.equal("%s: the wish is told first" % source,
                      (of_source[0]["interval_us"], of_source[0]["reason"]), (1000, 0))
        checker.true("%s: slowed down" % source, any(
            p["reason"] == 1 and p["interval_us"] > 1000 for p in of_source), of_source)
        checker.equal("%s: the end is told" % source,
                      (of_source[-1]["interval_us"], of_source[-1]["reason"]), (0, 3))
        asked = re.search(r"counters of %s were asked (\d+) times" % source, counters.remarks())
        seconds = (of_source[-1]["time"] - of_source[0]["time"]) / 1e9
        checker.true("%s: asked less often" % source, asked and 1 <= int(asked.group(1))
                     < 500 * seconds, (asked and asked.group(1), seconds))
    text = h.ortscope(checker.folder, "summary", "summary", busy.trace)
    checker.true("the summary tells", re.search(
        r"Counters, to keep within --max-overhead: .*system [0-9.]+/s of 1000/s", text.out),
                 text.out[:800])


def off_and_some(checker):
    """--counters off records none, a list only those"""
    counters = Busy(checker, ["--counters", "off"], "--cpu-ms", 10).finish(checker)
    checker.equal("off", (counters.by_id, counters.timeline.rows("sampling")), ({}, []))
    summary = h.summary(checker.folder + "/busy.ortl")
    checker.equal("summary", summary["process"], {"cpu_percent": None, "peak_rss_bytes": None})
    counters = Busy(checker, ["--counters", "process"], "--cpu-ms", 10, name="some").finish(checker)
    checker.equal("process", {c["source"] for c in counters.by_id.values()}, {"process"})


def nonsense_is_refused(checker):
    """numbers out of range and unknown sources: exit code 2 and a sentence, nothing started"""
    cases = [("--hz", "0", "1 to 1000"), ("--hz", "1001", "1 to 1000"), ("--hz", "x", "number"),
             ("--max-overhead", "0", "percent"), ("--max-overhead", "101", "percent"),
             ("--max-overhead", "1e2", "percent"), ("--max-overhead", "nan", "percent"),
             ("--counters", "process,gpu", "--counters takes"), ]
    for option, value, words in cases:
        program = h.ortscope(checker.folder, "refused", "run", option, value, "--", h.NODE, "-e",
                             "process.exit(9)")
        checker.true("%s %s" % (option, value), program.code == 2 and words in program.err,
                     (program.code, program.err[-300:]))


if __name__ == "__main__":
    h.run_tests("test_counters", [processor_and_memory, not_told_is_null, too_much_is_slowed_down,
                                  off_and_some, nonsense_is_refused])
