#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Facts about the machine, against what Linux says of it; devices by keys in Wine's registry."""
import glob
import os

import harness as h

CLASS = r"HKLM\SYSTEM\CurrentControlSet\Control\Class"
COMPUTE = CLASS + r"\{f01a9d53-3ff6-48d2-9f97-c8a7004be10c}"
DISPLAY = CLASS + r"\{4d36e968-e325-11ce-bfc1-08002be10318}\7777"
ADAPTER = r"HKLM\SOFTWARE\Microsoft\DirectX\{00000000-1111-2222-3333-444444444444}"
BIOS = r"HKLM\HARDWARE\DESCRIPTION\System\BIOS"  # Wine makes it anew at each start


def record(checker, name):
    trace = "%s/%s.ortl" % (checker.folder, name)
    program = h.ortscope(checker.folder, name, "run", "-o", trace, "--quiet", "--counters", "off",
                         "--", h.NODE, "-e", "0")
    checker.equal("%s: exit code" % name, program.code, 0)
    return trace, h.summary(trace)["machine"]


def cpuinfo(key):
    with open("/proc/cpuinfo") as file:
        return [line.split(":", 1)[1].strip() for line in file if line.split("\t")[0].strip() == key]


def linux_caches():
    """(level, holds, bytes) of the caches that Linux tells, each once; None if it does not."""
    found = {}
    for folder in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/cache/index*"):
        facts = {}
        for name in ("level", "type", "size", "shared_cpu_list"):
            try:
                with open(os.path.join(folder, name)) as file:
                    facts[name] = file.read().strip()
            except OSError:
                return None
        holds = {"Data": "data", "Instruction": "instructions", "Unified": "both"}[facts["type"]]
        size = int(facts["size"].rstrip("K")) * 1024
        found[(facts["level"], holds, facts["shared_cpu_list"])] = (int(facts["level"]), holds, size)
    return sorted(found.values()) or None


def as_linux_says(checker):
    """processor, cores, caches, memory and Wine itself"""
    trace, machine = record(checker, "plain")
    processor = machine["processor"]
    checker.equal("name", processor["name"], " ".join(cpuinfo("model name")[0].split()))
    checker.equal("threads", processor["threads"], os.cpu_count())
    cores = len(set(zip(cpuinfo("physical id"), cpuinfo("core id"))))
    if cores:
        checker.equal("cores", processor["cores"], cores)
    flags = cpuinfo("flags")[0].split()
    for name in ("avx2", "fma", "f16c", "avx512f", "avx512_vnni"):
        checker.equal(name, name in (processor["instructions"] or []), name in flags)
    checker.equal("steady ticks", processor["steady_ticks"], "nonstop_tsc" in flags
                  and "constant_tsc" in flags)
    caches = linux_caches()
    if caches:
        checker.equal("caches", sorted((c["level"], c["holds"], c["bytes"])
                                       for c in processor["caches"] for _ in range(c["count"])), caches)
    with open("/proc/meminfo") as file:
        total = int(file.readline().split()[1]) * 1024
    checker.true("memory", abs(machine["memory"]["bytes"] - total) < total / 1000,
                 (machine["memory"], total))
    checker.equal("virtual machine", machine["hypervisor"] is not None, "hypervisor" in flags)
    checker.true("Wine is named", machine["wine"], machine)
    checker.equal("Windows", machine["os"]["version"], "10.0.18362")
    checker.equal("what Wine does not tell", (machine["power"]["plan"], machine["npus"]), (None, []))
    rows = h.load(trace).rows("fact")
    checker.equal("each fact is told once", len({(r["about"], r["number"], r["name"]) for r in rows}),
                  len(rows))
    text = h.ortscope(checker.folder, "text", "summary", trace)
    checker.true("text", "\nMachine: " in text.out and "under Wine " + machine["wine"] in text.out,
                 text.out[:600])


def registry(checker, *lines):
    for i, (key, value, kind, data) in enumerate(lines):
        done = h.run(checker.folder, "reg%d" % i, ["reg.exe", "add", key, "/f", "/v", value, "/t", kind,
                                                   "/d", data])
        checker.equal("%s is set" % value, done.code, 0)


def devices(checker):
    """a GPU, an NPU and a maker that only the registry knows; texts that no terminal should see"""
    try:
        registry(checker,
                 (DISPLAY, "DriverDesc", "REG_SZ", "Pretended 9000"),
                 (DISPLAY, "DriverVersion", "REG_SZ", "31.0.15.3623"),
                 (DISPLAY, "HardwareInformation.qwMemorySize", "REG_BINARY", "0000000006000000"),
                 (COMPUTE + r"\0000", "DriverDesc", "REG_SZ", "Pretended\tNPU " + "x" * 300),
                 (COMPUTE + r"\0000", "ProviderName", "REG_SZ", "漢字 GmbH"),
                 (COMPUTE + r"\0000", "DriverVersion", "REG_DWORD", "7"),
                 (ADAPTER, "Description", "REG_SZ", "Pretended 9000"),
                 (ADAPTER, "AdapterLuid", "REG_QWORD", "53666"),
                 (BIOS, "SystemManufacturer", "REG_SZ", "Pretended Inc."),
                 (BIOS, "SystemProductName", "REG_SZ", "System Product Name"))
        _, machine = record(checker, "devices")
    finally:
        for i, key in enumerate((DISPLAY, COMPUTE, ADAPTER)):
            h.run(checker.folder, "clean%d" % i, ["reg.exe", "delete", key, "/f"])
    gpu = [g for g in machine["gpus"] if g["name"] == "Pretended 9000"]
    checker.equal("GPU", [(g["driver"], g["memory_bytes"], g["adapter"]) for g in gpu],
                  [("31.0.15.3623", 6 << 32, "luid_0x00000000_0x0000D1A2_phys_0")])
    npu = machine["npus"][0]
    checker.true("a long name is cut", npu["name"].startswith("Pretended NPU xxx")
                 and 100 < len(npu["name"]) < 200, npu)
    checker.equal("a version that is a number is none", (npu["driver"], npu["driver_vendor"]),
                  (None, "漢字 GmbH"))
    checker.equal("maker; the firmware's placeholder is no model",
                  (machine["manufacturer"], machine["model"]), ("Pretended Inc.", None))


if __name__ == "__main__":
    h.run_tests("test_facts", [as_linux_says, devices])
