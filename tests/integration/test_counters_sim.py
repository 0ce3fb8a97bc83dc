#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Counters of devices that are not there: pdh.dll and nvml.dll are stand-ins (tests/sim)."""
import harness as h
from counter_runs import Busy, Counters, known, with_stand_ins

FAST = ["--max-overhead", "100"]
CARD = "luid_0x00000000_0x0000D1A2_phys_0"
NPU = "luid_0x00000000_0x00014F1D_phys_0"

PDH = r"""
# A machine with a GPU, an NPU, an energy meter and a thermal zone.
counter "\Processor Information(*)\% Processor Utility" rate
refuse "\Processor Information(*)\% Processor Time" 0xC0000BB9
counter "\GPU Engine(*)\Utilization Percentage" rate
counter "\GPU Adapter Memory(*)\Dedicated Usage"
counter "\Energy Meter(*)\Power"
counter "\Energy Meter(*)\Energy"
counter "\Thermal Zone Information(*)\High Precision Temperature"
counter "\Thermal Zone Information(*)\% Passive Limit"
counter "\Thermal Zone Information(*)\Throttle Reasons"
counter "\Processor Information(*)\% Performance Limit"
counter "\GPU Adapter Memory(*)\Shared Usage"

set "\Processor Information(*)\% Processor Utility" 0,0 25
set "\Processor Information(*)\% Processor Utility" 0,1 130.5
set "\Processor Information(*)\% Processor Utility" _Total 77.75
set "\GPU Engine(*)\Utilization Percentage" pid_4_CARD_eng_0_engtype_3D 20
set "\GPU Engine(*)\Utilization Percentage" pid_8_CARD_eng_0_engtype_3D 30
set "\GPU Engine(*)\Utilization Percentage" pid_4_CARD_eng_1_engtype_Copy 45
set "\GPU Engine(*)\Utilization Percentage" pid_4_NPU_eng_0_engtype_Neural 60
set "\GPU Adapter Memory(*)\Dedicated Usage" CARD 1000000000
set "\Energy Meter(*)\Power" RAPL_Package0_PKG 15000
set "\Energy Meter(*)\Energy" RAPL_Package0_PKG 1000000000000
set "\Thermal Zone Information(*)\High Precision Temperature" \_TZ.TZ00 3182
set "\Thermal Zone Information(*)\% Passive Limit" \_TZ.TZ00 100
set "\Thermal Zone Information(*)\Throttle Reasons" \_TZ.TZ00 0
set "\Processor Information(*)\% Performance Limit" 0,1 100
set "\GPU Adapter Memory(*)\Shared Usage" CARD 70000000

at 4
set "\GPU Engine(*)\Utilization Percentage" pid_9_CARD_eng_0_engtype_3D 40
set "\GPU Adapter Memory(*)\Dedicated Usage" CARD 3000000000
set "\Energy Meter(*)\Energy" RAPL_Package0_PKG 2000000000000
status "\Thermal Zone Information(*)\High Precision Temperature" \_TZ.TZ00 0x800007D1
set "\Thermal Zone Information(*)\% Passive Limit" \_TZ.TZ00 60
set "\Thermal Zone Information(*)\Throttle Reasons" \_TZ.TZ00 1
set "\Processor Information(*)\% Performance Limit" 0,1 75
at 7
gone "\GPU Engine(*)\Utilization Percentage" pid_9_CARD_eng_0_engtype_3D
gone "\GPU Engine(*)\Utilization Percentage" pid_4_NPU_eng_0_engtype_Neural
at 9
collect 0x800007D5
at 11
collect 0
set "\Energy Meter(*)\Power" RAPL_Package0_PKG 99000
""".replace("CARD", CARD).replace("NPU", NPU)


def performance_counters(checker):
    """cores, engines, memory, energy and heat; instances that come and go; gaps"""
    binary = with_stand_ins(checker, pdh=PDH)
    busy = Busy(checker, FAST, "--cpu-ms", 10, binary=binary)
    busy.wait_for("the last line of the script",
                  lambda c: 99 in c.values(source="pdh", name="power"))
    counters = busy.finish(checker)

    def values(name, **more):
        return counters.values(source="pdh", name=name, **more)

    checker.equal("a core", values("utility", about=3, number=1)[:2], [None, 130.5])
    checker.equal("all cores", values("utility", about=0)[:2], [None, 77.75])
    checker.equal("the GPU: sum over processes, greatest over engines",
                  values("gpu_utilization", subject=CARD), [None, 50, 90, 50, None, 50])
    checker.equal("one engine", values("engine_utilization", subject=CARD + "_eng_1_Copy"),
                  [None, 45, None, 45])
    checker.equal("the NPU disappears", values("npu_utilization", subject=NPU), [None, 60, None])
    checker.equal("memory of the GPU", values("memory_dedicated", subject=CARD),
                  [1e9, 3e9, None, 3e9])
    checker.equal("power", values("power"), [15, None, 99])
    checker.equal("energy", values("energy"), [3600, 7200, None, 7200])
    checker.equal("a status is no value", values("temperature"), [45.05, None])
    checker.equal("throttling", (values("passive_limit"), values("throttle_reasons"),
                                 values("performance_limit", about=3, number=1)),
                  ([100, 60, None, 60], [0, 1, None, 1], [100, 75, None, 75]))
    checker.equal("shared memory of the GPU", values("memory_shared", subject=CARD),
                  [7e7, None, 7e7])
    checker.true("what is missing is named", "GPU Process Memory" in counters.remarks(),
                 counters.remarks())
    checker.equal("a refused counter is not there", counters.all(name="busy"), [])
    devices = h.summary(busy.trace)["devices"]
    checker.equal("JSON: devices", [(d["kind"], d["name"], d["utilization_max_percent"])
                                    for d in devices], [("gpu", CARD, 90), ("npu", NPU, 60)])
    energy = h.summary(busy.trace)["energy"]
    checker.equal("JSON: energy", [(m["source"], m["meter"], m["joules"]) for m in energy],
                  [("pdh", "RAPL_Package0_PKG", 3600)])
    checker.equal("JSON: heat", h.summary(busy.trace)["heat"], [
        {"source": "pdh", "zone": "\\_TZ.TZ00", "temperature_max_c": 45.05,
         "passive_limit_min_percent": 60, "throttle_reasons": 1}])
    text = h.ortscope(checker.folder, "summary", "summary", busy.trace)
    checker.true("text", "Throttled by thermal zone \\_TZ.TZ00 to 60 %" in text.out
                 and "NPU %s: 60.0 %% busy" % NPU in text.out, text.out[:1500])
    checker.true("the process is counted beside it",
                 max(counters.values(name="working_set", process=1), key=lambda v: v or 0) > 1e6)


NVML = """
device 0 "NVIDIA Pretended 4090"
device 1 "NVIDIA Pretended T4"
process 0 node.exe
set 0 utilization 10
set 0 memory_utilization 5
set 0 memory_total 24000000000
set 0 memory_used 1000000000
set 0 power 100000
set 0 energy 5000000
set 0 temperature 50
set 0 clock_graphics 2100
set 0 throttle 0
set 0 process_utilization 33
set 0 process_memory 0xffffffffffffffff
set 1 utilization 70
set 1 power 30000
at 3
set 0 utilization 90
set 0 memory_used 9000000000
set 0 energy 5250000
set 0 throttle 4
error 1 power 10
at 4
set 1 power 31000
at 5
lost 0 15
at 8
set 1 power 32000
"""


def nvidia(checker):
    """two GPUs, one of which is lost: values, what is not supported, summary and JSON"""
    binary = with_stand_ins(checker, nvml=NVML)
    busy = Busy(checker, FAST, "--cpu-ms", 10, binary=binary)
    busy.wait_for("the last line of the script",
                  lambda c: 32 in c.values(source="nvml", name="power", number=1))
    counters = busy.finish(checker)

    def values(name, number=0, **more):
        return counters.values(source="nvml", name=name, number=number, **more)

    checker.equal("utilisation, until it is lost", values("gpu_utilization"), [10, 90, None])
    checker.equal("memory", values("memory_used"), [1e9, 9e9, None])
    checker.equal("energy", values("energy"), [5000, 5250, None])
    checker.equal("throttling", values("throttle_reasons"), [0, 4, None])
    checker.equal("a clock that it tells", values("clock_graphics"), [2100, None])
    checker.equal("a clock that it does not support", values("clock_sm"), [None])
    checker.equal("share of the process", values("process_utilization", process=1), [33, None])
    checker.equal("memory of the process: not available", values("process_memory", process=1),
                  [None])
    checker.equal("the other one goes on; an error is a gap", values("power", 1),
                  [30, None, 31, 32])
    checker.equal("which energy is not supported", values("energy", 1), [None])
    checker.true("the loss is told", "NVIDIA Pretended 4090 was lost (NVML error 15)"
                 in counters.remarks(), counters.remarks())
    summary = h.summary(busy.trace)
    first, second = summary["devices"]
    checker.equal("JSON: devices", [(d["source"], d["kind"], d["name"]) for d in (first, second)],
                  [("nvml", "gpu", "NVIDIA Pretended 4090"), ("nvml", "gpu", "NVIDIA Pretended T4")])
    checker.equal("JSON: greatest", (first["utilization_max_percent"], first["memory_peak_bytes"],
                                     second["memory_peak_bytes"], second["power_max_w"]),
                  (90, 9000000000, None, 32))
    checker.equal("JSON: throttling", (first["throttled_by"], second["throttled_by"]),
                  (["power cap"], None))
    by_meter = {m["meter"]: m for m in summary["energy"]}
    checker.equal("JSON: energy by the device's own total",
                  (by_meter["NVIDIA Pretended 4090"]["joules"],
                   by_meter["NVIDIA Pretended 4090"]["integrated_from_power"]), (250, False))
    checker.true("JSON: energy from power where there is no total",
                 by_meter["NVIDIA Pretended T4"]["integrated_from_power"])
    text = h.ortscope(checker.folder, "summary", "summary", "--carbon-intensity", "400", busy.trace)
    checker.true("text", "GPU NVIDIA Pretended 4090: " in text.out and "was lost" in text.out
                 and "250 J, 0.02778 g of CO2" in text.out, text.out[:1200])


def last_device_lost(checker):
    """the only GPU is lost: that source ends, and says so; the others go on"""
    binary = with_stand_ins(checker, nvml='device 0 "NVIDIA Lonely"\nset 0 utilization 10\n'
                            "at 4\nlost 0 15\n")
    busy = Busy(checker, FAST, "--cpu-ms", 10, binary=binary)

    def end(counters):
        return [row for row in counters.timeline.rows("sampling") if row["source"] == "nvml"
                and row["reason"] == 3]
    counters = busy.wait_for("the source ends", end)
    ended_ns = end(counters)[0]["time"]
    busy.wait_for("others are asked after that", lambda c: any(
        time > ended_ns for counter in c.all(source="process") for time, _ in counter["values"]))
    counters = busy.finish(checker)
    checker.equal("until it was lost", counters.values(source="nvml", name="gpu_utilization"),
                  [10, None])
    checker.true("the loss is told", "NVIDIA Lonely was lost" in counters.remarks(),
                 counters.remarks())


ENERGY = 'device 0 "NVIDIA Pretended 4090"\nset 0 utilization 10\nset 0 energy 1000000\n' + "".join(
    "at %d\nset 0 energy %d\n" % (n, 1000000 + n * 5000) for n in range(2, 400))


def energy_of_inferences(checker):
    """joules and FLOPs of real inferences, by a pretended meter: worked out again from the rows"""
    binary = with_stand_ins(checker, nvml=ENERGY)
    trace = checker.folder + "/energy.ortl"
    program = h.run(checker.folder, "energy", [
        binary, "run", "-o", trace, "--quiet"] + FAST + ["--"] + h.node_arguments(
            "1.23.2", "--runs", 300))
    checker.equal("exit code", program.code, 0)
    counters = Counters(h.load(trace))
    values = known(counters.one(source="nvml", name="energy"))
    joules = (values[-1] - values[0]) / 1000
    checker.true("the meter counted", joules > 0, values[:3])
    meter = h.summary(trace)["energy"][0]
    runs = len([r for r in counters.timeline.rows("run") if r["status"] == 0])
    checker.equal("runs", runs, 300)
    flops = sum(op["flops_per_call"] * op["calls"] for op in h.ask("ops", trace)["ops"]
                if op["flops_per_call"])
    checker.equal("whose, and what", (meter["source"], meter["meter"], meter["joules"]),
                  ("nvml", "NVIDIA Pretended 4090", joules))
    for key, expected in (("joules_per_run", joules / runs), ("runs_per_joule", runs / joules),
                          ("flop_per_joule", flops / joules)):
        checker.true(key, meter[key] and abs(meter[key] / expected - 1) < 1e-5, (meter, expected))
    text = h.ortscope(checker.folder, "summary", "summary", "--carbon-intensity", "400", trace)
    checker.true("text", " GFLOP a joule, " in text.out and " g of CO2" in text.out, text.out[:1500])


def nvidia_without_driver(checker):
    """the library is there, the driver is not: no counters, one remark, the capture goes on"""
    binary = with_stand_ins(checker, nvml="init 9\n")
    counters = Busy(checker, FAST, "--cpu-ms", 10, binary=binary).finish(checker)
    checker.equal("no counters", counters.all(source="nvml"), [])
    checker.true("told", "NVML error 9" in counters.remarks(), counters.remarks())


def slow_source(checker):
    """a collection of 150 ms at 10 Hz: that source slows down alone, and says so"""
    script = 'counter "\\Energy Meter(*)\\Power"\nset "\\Energy Meter(*)\\Power" A 1000\ndelay 150\n'
    binary = with_stand_ins(checker, pdh=script)
    busy = Busy(checker, ["--max-overhead", "20", "--counters", "pdh,process"], "--cpu-ms", 10,
                binary=binary)
    def slowed(counters):
        return [row for row in counters.timeline.rows("sampling") if row["source"] == "pdh"
                and row["reason"] == 1]
    counters = busy.wait_for("the source slows down", slowed)
    interval_us = slowed(counters)[-1]["interval_us"]
    # 150 ms at a fifth of a core are one in 750 ms.
    checker.true("to what the budget allows", interval_us >= 750000, interval_us)
    counters = busy.finish(checker)
    rows = counters.timeline.rows("sampling")
    checker.equal("the process's own counters were not slowed by it",
                  [r for r in rows if r["source"] == "process" and r["interval_us"] >= interval_us],
                  [])


def hanging_source(checker):
    """a collection that does not come back: the capture ends without it, and says so"""
    script = 'counter "\\Energy Meter(*)\\Power"\nset "\\Energy Meter(*)\\Power" A 1000\ndelay 60000\n'
    binary = with_stand_ins(checker, pdh=script)
    counters = Busy(checker, FAST, "--cpu-ms", 10, binary=binary).finish(checker)
    checker.true("told", "pdh did not come back" in counters.remarks(), counters.remarks())
    checker.true("other counters are there", counters.values(name="working_set", process=1))


if __name__ == "__main__":
    h.run_tests("test_counters_sim", [performance_counters, nvidia, last_device_lost,
                                      energy_of_inferences, nvidia_without_driver, slow_source,
                                      hanging_source])
