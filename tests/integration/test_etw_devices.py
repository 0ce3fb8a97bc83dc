#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What devices tell by event tracing, through the simulation (tests/sim): measurements of the QNN provider, made
up by a program from ONNX Runtime's sources, and packets of the graphics kernel, from a script. Up to the
summary, its JSON and the exports, live and from a recording."""
import struct

import harness as h
import sim_etw
from counter_runs import Counters

TELLER = h.BIN + "/qnn_teller.exe"
LANES = {  # subject: unit, values
    "execute: Accelerator (execute) time": ("s", [0.0031, 0.0033]),
    "node: Conv_1": ("cycles", [6000, 7000]),
    "node: Conv_1 ": ("s", [0.0000125, 0.0000125]),  # the same node, another unit
    "execute: DDR read": ("B", [65536, 65536]),
    "execute: Number of HVX threads used": ("1", [4, 4]),
}


def check_lanes(checker, what, timeline):
    counters = Counters(timeline)
    for subject, (unit, values) in LANES.items():
        checker.equal("%s: %s in %s" % (what, subject.strip(), unit),
                      counters.values(source="qnn", subject=subject.strip(), unit=unit, about=4), values)
    checker.equal(what + ": nothing else", len(counters.all(source="qnn")), len(LANES))
    checker.equal(what + ": the runs around them", len(timeline.rows("run")), 2)
    checker.equal(what + ": nothing of the log", [r for r in timeline.rows("log")
                                                  if "secret" in r["message"]], [])


def words_of(program):
    """What it printed, wherever lines were broken."""
    return " ".join(program.out.split())


def check_reports(checker, what, trace):
    told = {(m["what"], m["unit"]): m for m in h.summary(trace)["npu_measurements"]}
    for subject, (unit, values) in LANES.items():
        m = told.get((subject.strip(), unit)) or {}
        checker.true("%s: JSON: %s in %s" % (what, subject.strip(), unit),
                     m.get("count") == 2 and abs(m["sum"] - sum(values)) < 1e-9
                     and abs(m["mean"] - sum(values) / 2) < 1e-9 and abs(m["min"] - min(values)) < 1e-9
                     and abs(m["max"] - max(values)) < 1e-9 and m["source"] == "qnn", m)
    checker.equal(what + ": JSON: no more", len(told), len(LANES))
    text = words_of(h.ortscope(checker.folder, "summary", "summary", trace))
    for line in ("NPU execute: Accelerator (execute) time: 3.200 ms in the mean of 2, at most 3.300 ms",
                 "NPU node: Conv_1: 6,500 cycles in the mean of 2, at most 7,000 cycles",
                 "NPU execute: DDR read: 65.54 kB in the mean of 2"):
        checker.true("%s: text: %s" % (what, line), line in text, text)


def qnn(checker):
    """measurements of an NPU: lanes with units, in the file, the summary and its JSON"""
    with sim_etw.Machine(checker) as machine:
        filed = machine.record("filed", (sim_etw.ORT_PROVIDER, 5, 0x101),
                               options=["--file", checker.folder + "/qnn.etl"])
        everything = machine.record("everything", (sim_etw.ORT_PROVIDER, 0, 0))
        trace = checker.folder + "/live.ortl"
        program = machine.run("live", [h.ORTSCOPE, "run", "-q", "--no-hooks", "--etw", "ort", "-o", trace,
                                       "--", TELLER, 2])
        checker.equal("the program was asked for its measurements", program.code, 0)
        names = everything.end()["names"]
        filed.end()
        checker.equal("there was more to be had", (names.get("QNNProfilingEvent"),
                                                   names.get("ONNXRuntimeLogEvent")), (12, 2))
        live = h.load(trace)
        checker.equal("neither the log nor details came", [r["level"] for r in live.rows("ort_event")
                                                           if r["name"] == "QNNProfilingEvent"], [5] * 10)
        check_lanes(checker, "live", live)
        check_reports(checker, "live", trace)
        imported = checker.folder + "/imported.ortl"
        done = h.ortscope(checker.folder, "import", "import", "-q", checker.folder + "/qnn.etl", "-o", imported)
        checker.equal("the recording can be imported", done.code, 0)
        check_lanes(checker, "imported", h.load(imported))
        check_reports(checker, "imported", imported)


# -------------------------------------------------------------------------------------------- GPU

DRIVER = "802ec45a-1e99-4b83-9920-87c98277ba9d"  # Microsoft-Windows-DxgKrnl
CONTEXT = 0xFFFFA00012340000
QUEUED, DONE, ENGINE_HAS, ENGINE_DID = 178, 180, 175, 177


def packet(us, event, sequence, process):
    """A line of the script: an event as the driver writes it."""
    fields = {QUEUED: struct.pack("<QII", CONTEXT, 0, sequence),
              DONE: struct.pack("<QII", CONTEXT, 0, sequence),
              ENGINE_HAS: struct.pack("<QQIQI", CONTEXT, CONTEXT + 64, 0, 99, sequence),
              ENGINE_DID: struct.pack("<QIQI", CONTEXT, 0, 99, sequence)}[event]
    return "event %d 0 %s %d 1 0 0 1 %s 1 %s\n" % (us, DRIVER, event, process, (fields + bytes(8)).hex())


SCRIPT = "process app qnn_teller.exe\n" + "".join([
    packet(1000, QUEUED, 1, "app"), packet(1100, QUEUED, 2, "app"),
    packet(2000, ENGINE_HAS, 1, "4"), packet(2100, ENGINE_HAS, 2, "4"),
    packet(5000, ENGINE_DID, 1, "4"),  # 3 ms
    packet(5100, DONE, 1, "4"),  # 4.1 ms
    packet(7000, ENGINE_DID, 2, "4"),  # 2 ms behind the first
    packet(7100, DONE, 2, "4")])  # 6 ms


def gpu(checker):
    """packets of the graphics kernel: how many, how long queued, how long an engine had them"""
    with sim_etw.Machine(checker) as machine:
        trace = checker.folder + "/gpu.ortl"
        program = machine.start("gpu", [h.ORTSCOPE, "run", "-q", "--no-hooks", "--etw", "gpu", "-o", trace,
                                        "--", TELLER, 1])
        h.wait_until(lambda: "watching process" in program.err, "the capture", program=program)
        begin = h.wait_until(lambda: h.load(trace).rows("clock"), "the file's clock", program=program)
        machine.kernel("base %d\n%s" % (begin[0]["qpc"], SCRIPT))
        # The program waits for somebody who asks for measurements: now it may end.
        asker = machine.record("asker", (sim_etw.ORT_PROVIDER, 5, 0x100))
        checker.equal("the program ends well", program.wait(), 0)
        asker.end()
        timeline = h.load(trace)
        counters = Counters(timeline)
        last = {name: counters.values(source="etw", name=name, process=1)[-1:]
                for name in ("gpu_packets", "gpu_packet_time", "gpu_engine_time")}
        checker.equal("packets, time in queues, time on engines", last,
                      {"gpu_packets": [2], "gpu_packet_time": [0.0101], "gpu_engine_time": [0.005]})
        checker.equal("JSON", h.summary(trace)["gpu_use"],
                      [{"process": 1, "packets": 2, "queued_s": 0.0101, "engine_s": 0.005}])
        text = words_of(h.ortscope(checker.folder, "summary", "summary", trace))
        checker.true("text", "GPU packets of process 1: 2, engines worked 5.000 ms at them" in text, text)
        checker.equal("nothing was lost", h.lost(timeline), 0)


TESTS = [qnn, gpu]

if __name__ == "__main__":
    h.run_tests("etw_devices", TESTS)
