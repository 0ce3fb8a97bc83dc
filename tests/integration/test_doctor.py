#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`ortscope doctor`: what works under Wine, with stand-ins of libraries, and what is broken."""
import json
import os
import shutil

import harness as h
from counter_runs import with_stand_ins
from looping import Looping

ESSENTIAL = {"injection", "output"}


def doctor(checker, name, *more, binary=h.ORTSCOPE):
    program = h.run(checker.folder, name, [binary, "doctor", "--json"] + list(more))
    checker.true("%s: JSON" % name, program.out.startswith("{"), (program.out[:300], program.err))
    document = json.loads(program.out)
    checker.equal("%s: the exit code says whether it is good" % name, program.code,
                  0 if document["good"] else 1)
    return document, {s["source"]: s for s in document["sources"]}


def states(sources):
    return {name: source["state"] for name, source in sources.items()}


def plain(checker):
    """under Wine: the way in, counters of processes, output and clock work; devices are not here"""
    document, sources = doctor(checker, "plain")
    checker.equal("good", document["good"], True)
    for name in ("injection", "operators", "ORT's events", "processes", "threads", "cores", "output",
                 "paths", "console", "programs"):
        checker.equal(name, sources[name]["state"], "works")
    for name in ("core clocks", "GPU", "NPU", "NVIDIA (nvml)", "energy meters", "heat", "QNN",
                 "ETW kernel", "ETW ort"):
        checker.equal(name, (sources[name]["state"], sources[name]["fix"]), ("not here", None))
    checker.equal("essential", {n for n, s in sources.items() if s["essential"]}, ESSENTIAL)
    checker.true("what Wine does not tell is named", "io_reads" in sources["processes"]["what"]
                 and "context_switches" in sources["threads"]["what"], sources["processes"])
    checker.true("the hook is named", sources["injection"]["what"].endswith("ortscope_hook.dll"))
    checker.true("the clock was measured", "ppm" in sources["clock"]["what"], sources["clock"])
    text = h.ortscope(checker.folder, "text", "doctor")
    checker.equal("text: exit code", text.code, 0)
    lines = text.out.splitlines()
    checker.equal("text: header", lines[0].split(), ["source", "state", "what"])
    checker.true("text: every source has a line", all(
        any(line.startswith(name) for line in lines) for name in sources), text.out)
    left = [n for n in os.listdir(h.ROOT) if n.startswith("ortscope-doctor")]
    checker.equal("no file is left", left, [])


def a_process(checker):
    """a process that can be attached, one that is, ones that can't be"""
    target = Looping(checker)
    _, sources = doctor(checker, "good", str(target.pid))
    checker.equal("target", sources["target"]["state"], "works")
    checker.true("its runtime is named", "onnxruntime.dll" in sources["target"]["what"],
                 sources["target"])
    checker.equal("what to do", sources["target"]["fix"], "ortscope attach %d" % target.pid)
    document, _ = doctor(checker, "listed")
    checker.equal("it is among the programs", [p["pid"] for p in document["programs"]
                                               if p["pid"] == target.pid and p["can_attach"]], [target.pid])
    collector = h.attach(checker.folder, "attach", target.pid, checker.folder + "/attach.ortl")
    document, sources = doctor(checker, "attached", str(target.pid))
    checker.true("who is attached is told", sources["target"]["state"] == "missing"
                 and "ortscope detach %d" % target.pid in sources["target"]["what"], sources["target"])
    collector.interrupt()
    checker.equal("the recording went on", collector.wait(), 0)
    target.finish(checker)
    for who, words in (("999999", "there is no process 999999"), ("nosuch.exe", "no process is called"),
                       ("4294967296", "there is no process")):
        document, sources = doctor(checker, "none", who)
        checker.true(who, not document["good"] and words in sources["target"]["what"],
                     sources["target"])


PDH = r"""
counter "\Processor Information(*)\% Processor Utility" rate
counter "\GPU Engine(*)\Utilization Percentage" rate
counter "\Energy Meter(*)\Power"
refuse "\Thermal Zone Information(*)\High Precision Temperature" 0xC0000BB8
set "\Processor Information(*)\% Processor Utility" 0,0 25
set "\Processor Information(*)\% Processor Utility" 0,1 30
set "\GPU Engine(*)\Utilization Percentage" pid_4_luid_0x0_0xd1a2_phys_0_eng_0_engtype_3D 20
set "\GPU Engine(*)\Utilization Percentage" pid_4_luid_0x0_0x14f1d_phys_0_eng_0_engtype_Neural 60
set "\Energy Meter(*)\Power" RAPL_Package0_PKG 15000
"""
NVML = 'device 0 "NVIDIA Pretended 4090"\nset 0 utilization 10\n'


def with_devices(checker):
    """stand-ins of pdh.dll and nvml.dll: their devices work, a refused counter is not here"""
    binary = with_stand_ins(checker, pdh=PDH, nvml=NVML)
    _, sources = doctor(checker, "devices", binary=binary)
    wanted = {"core clocks": "2 cores", "GPU": "luid_0x0_0xd1a2_phys_0", "NPU":
              "luid_0x0_0x14f1d_phys_0", "NVIDIA (nvml)": "NVIDIA Pretended 4090",
              "energy meters": "RAPL_Package0_PKG"}
    for name, words in wanted.items():
        checker.true(name, sources[name]["state"] == "works" and words in sources[name]["what"],
                     sources[name])
    checker.equal("heat", sources["heat"]["state"], "not here")


def with_broken_libraries(checker):
    """a driver that does not start, a device that is lost, counters that do not come back"""
    binary = with_stand_ins(checker, nvml="init 9\n", pdh=PDH + "at 1\ncollect 0xC0000BBA\n")
    document, sources = doctor(checker, "errors", binary=binary)
    checker.true("NVML", sources["NVIDIA (nvml)"]["state"] == "missing"
                 and "NVML error 9" in sources["NVIDIA (nvml)"]["what"]
                 and "driver" in sources["NVIDIA (nvml)"]["fix"], sources["NVIDIA (nvml)"])
    checker.true("counters that can't be collected", sources["energy meters"]["state"] == "missing"
                 and "PDH status 0xC0000BBA" in sources["energy meters"]["what"]
                 and "lodctr" in sources["energy meters"]["fix"], sources["energy meters"])
    checker.equal("a recording is possible all the same", document["good"], True)
    binary = with_stand_ins(checker, nvml=NVML + "at 2\nlost 0 15\n", pdh=PDH + "delay 60000\n")
    _, sources = doctor(checker, "lost", binary=binary)
    checker.true("a lost device", "was lost (NVML error 15)" in sources["NVIDIA (nvml)"]["what"],
                 sources["NVIDIA (nvml)"])
    checker.equal("counters that hang", sources["processes"]["state"], "works")


def without_the_hook(checker):
    """no DLL, or another one under its name: exit code 1, and what to do"""
    folder = checker.folder + "/bin"
    os.makedirs(os.path.join(h.ROOT, folder))
    shutil.copy(os.path.join(h.ROOT, h.ORTSCOPE), os.path.join(h.ROOT, folder))
    for name, words in (("missing", "is missing"), ("other", "is not the DLL of this ortscope")):
        document, sources = doctor(checker, name, binary=folder + "/ortscope.exe")
        checker.true(name, not document["good"] and sources["injection"]["state"] == "missing"
                     and words in sources["injection"]["what"] and sources["injection"]["fix"],
                     sources["injection"])
        checker.equal("what needs it", states(sources)["operators"], "missing")
        shutil.copy(os.path.join(h.ROOT, h.BIN, "sim/nvml.dll"),
                    os.path.join(h.ROOT, folder, "ortscope_hook.dll"))


def a_folder_without_room(checker):
    """a current folder in which nothing can be made: exit code 1 and a sentence"""
    binary = "Z:" + os.path.join(h.ROOT, h.ORTSCOPE).replace("/", "\\")
    program = h.run(checker.folder, "proc", ["cmd", "/c", "cd /d Z:\\proc && " + binary + " doctor"])
    line = [l for l in program.out.splitlines() if l.startswith("output")]
    checker.true("output", program.code == 1 and line and " missing " in line[0], program.out)


if __name__ == "__main__":
    h.run_tests("test_doctor", [plain, a_process, with_devices, with_broken_libraries,
                                without_the_hook, a_folder_without_room])
