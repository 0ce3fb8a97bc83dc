#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Counters of real processes under Wine, against what Linux and the program itself say."""
import contextlib
import glob
import os
import re

import harness as h
from counter_runs import Busy, Counters, known, last


TICK_US = 1000000 // os.sysconf("SC_CLK_TCK")


def stat_us(path):
    """User and kernel time of a process or thread."""
    with open(path) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * TICK_US


def linux_cpu_us(pid):
    return stat_us("/proc/%d/stat" % pid)


def linux_threads_us(pid, count):
    """Of the busiest threads."""
    times = []
    for path in glob.glob("/proc/%d/task/*/stat" % pid):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            times.append(stat_us(path))
    return sorted(times, reverse=True)[:count]


def linux_cores_us():
    """What all cores have done, without idling."""
    with open("/proc/stat") as file:
        fields = [int(f) for f in file.readline().split()[1:]]
    return (sum(fields) - fields[3] - fields[4]) * TICK_US


def linux_status(pid, key):
    with open("/proc/%d/status" % pid) as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    raise h.Failure("no %s in /proc" % key)


def near(actual, expected, share, least):
    return actual is not None and abs(actual - expected) <= max(expected * share, least)


def sampled_us(counters, about, ended=True):
    """By process or thread, the busiest first."""
    times = {}
    for name in ("cpu_user", "cpu_kernel"):
        for counter in counters.all(name=name, about=about, process=1):
            if not ended and counter["values"][-1:] and counter["values"][-1][1] is None:
                continue
            times[counter["number"]] = times.get(counter["number"], 0) + (last(counter) or 0)
    return sorted(times.values(), reverse=True)


BUSY_THREADS = 4  # the main one and three workers, which stay


def agree(busy):
    """Both sides say the same, within 3 %: asked of Linux before and after the file was read, so
    that neither the program's idling nor a slow machine matters. What was compared, or None."""
    before = linux_cpu_us(busy.linux_pid), linux_threads_us(busy.linux_pid, BUSY_THREADS)
    counters = Counters(h.load(busy.trace))
    process = sampled_us(counters, 1)
    threads = sampled_us(counters, 2, ended=False)[:BUSY_THREADS]
    after = linux_cpu_us(busy.linux_pid), linux_threads_us(busy.linux_pid, BUSY_THREADS)

    def within(low, value, high):  # two numbers in ticks on either side
        return low * 0.97 - 2 * TICK_US <= value <= high * 1.03 + 2 * TICK_US
    if (len(process) == 1 and within(before[0], process[0], after[0])
            and len(threads) == len(before[1]) == len(after[1]) == BUSY_THREADS
            and all(within(b, t, a) for b, t, a in zip(before[1], threads, after[1]))):
        return process[0], threads
    return None


def processor_and_memory(checker):
    """processor time, memory and threads of a busy program agree with Linux within 3 %"""
    cores_before = linux_cores_us()
    busy = Busy(checker, ["--max-overhead", "100"], "--cpu-ms", 4000, "--mb", 200, "--workers", 3)
    peak = linux_status(busy.linux_pid, "VmHWM") * 1024
    threads = linux_status(busy.linux_pid, "Threads")
    process_us, threads_us = h.wait_until(
        lambda: agree(busy), "the sampled processor time becomes that of Linux",
        program=busy.program)
    checker.true("processor time is Linux's within 3 %", process_us > 0, process_us)
    checker.true("that of the busiest threads too", threads_us[-1] > 100000, threads_us)
    linux_us = linux_cpu_us(busy.linux_pid)
    # It asked before it began to wait, which costs something as well.
    checker.true("the program says much the same", process_us * 0.8 <= busy.report["cpu_us"]
                 <= linux_us + 2 * TICK_US, (busy.report, process_us))
    counters = busy.finish(checker)
    sampled = sampled_us(counters, 1)[0]
    checker.true("at the end it is no less", linux_us * 0.97 <= sampled, (sampled, linux_us))
    cores_us = linux_cores_us() - cores_before
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
    check_threads(checker, counters, process_us, cores_us)
    check_summary(checker, busy, counters)


def check_threads(checker, counters, process_us, cores_us):
    of_threads = counters.all(about=2, process=1, name="cpu_user")
    checker.true("each thread has a counter", len(of_threads) >= 4, len(of_threads))
    cores = counters.all(about=3, name="cpu_user")
    checker.equal("each core has a counter", sorted(c["number"] for c in cores),
                  list(range(os.cpu_count())))
    used = sum(last(c) - known(c)[0] for name in ("cpu_user", "cpu_kernel")
               for c in counters.all(about=3, name=name))
    # Sampling began after the first and ended before the second look at Linux's own.
    checker.true("the cores did what the process did, and no more than Linux says",
                 process_us * 0.9 < used <= cores_us * 1.03 + 100000, (process_us, used, cores_us))


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
