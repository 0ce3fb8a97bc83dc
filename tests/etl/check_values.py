# SPDX-License-Identifier: MIT
"""check_values.py ETL_DUMP [EMULATOR...]: what is decoded from real recordings, value by value,
against what other decoders (two of them, and PerfView on Windows) made of the same bytes. Exit code
77, "skipped", where the recordings are missing."""
import base64
import collections
import json
import re
import subprocess
import sys

import recordings

GROUPS = {"EventTraceEvent": 0, "DiskIO": 1, "PageFault": 2, "Process": 3, "FileIO": 4, "Thread": 5, "Tcplp": 6,
          "Registry": 9, "PerfInfo": 15, "Image": 20, "StackWalk": 24}
# A user with a NULL pointer in front: by the documented rule no SID follows, and the rest shifts.
SYNTHETIC_SIDS = {"ProcessStart32bitsV1", "ProcessStart32bitsV2", "ProcessStart32bitsV3", "ProcessStartV2"}

problems = []


def same(what, got, want):
    if got != want:
        problems.append(f"{what}: {str(got)[:700]}, expected {str(want)[:700]}")


class Dumper:
    def __init__(self, command):
        self.command = command

    def lines(self, *args, stdin=""):
        run = subprocess.run(self.command + list(args), input=stdin.encode(), capture_output=True, timeout=280)
        if run.returncode:
            sys.exit(f"etl_dump {args}: {run.stderr.decode(errors='replace')}")
        for line in run.stdout.decode("utf-8").splitlines():
            yield json.loads(line)


def check_kernel(dumper, name):
    """Counts of each kind, the first ones with all their fields, sums over all."""
    want = recordings.load("expected", f"kernel_{name}.json")
    counts, sums, threads, found = collections.Counter(), collections.Counter(), set(), {}
    processes = collections.OrderedDict()
    wanted = {(key, s["ts"], s["cpu"]) for key, group in want["samples"].items() for s in group}
    for e in dumper.lines(recordings.unpack(name)):
        if "name" not in e:
            continue
        key, fields = e["name"], e["fields"]
        counts[key] += 1
        if (key, e["ts"], e["cpu"]) in wanted:
            found.setdefault((key, e["ts"], e["cpu"]), []).append((e["pid"], e["tid"], fields))
        kind = key.rsplit("/", 1)[0]
        if kind == "PerfInfo/SampleProf":
            sums["samples"] += 1
            sums["samples_idle"] += fields["ThreadId"] == 0
            sums["samples_dpc_or_isr"] += fields["Reserved"] & 3 != 0
        elif kind == "StackWalk/Stack":
            sums["stack_frames"] += len(fields["Stack"])
        elif kind in ("DiskIO/Read", "DiskIO/Write"):
            sums["disk_%s_bytes" % kind.split("/")[1].lower()] += fields["TransferSize"]
        elif kind == "PageFault/HardFault":
            sums["hardfault_bytes"] += fields["ByteCount"]
        elif kind in ("Thread/Start", "Thread/DCStart"):
            threads.add(fields["TThreadId"])
        if kind in ("Process/Start", "Process/End", "Process/DCStart", "Process/DCEnd"):
            p = processes.setdefault(fields["ProcessId"], {"sid": fields["UserSID"], **fields})
            p.setdefault("seen", []).append(kind.split("/")[1])
    for key, count in want["counts"].items():
        same(f"{name}: number of {key}", counts[key], count)
    for key, group in want["samples"].items():
        for s in group:
            got = found.get((key, s["ts"], s["cpu"]), [])
            if (s["hdr_pid"], s["hdr_tid"], s["fields"]) not in got:
                problems.append(f"{name}: {key} at {s['ts']}: {got}, expected {s}")
    for key, value in want["aggregates"].items():
        if key in sums:
            same(f"{name}: {key}", sums[key], value)
    if any("Thread/DCStart" in k for k in want["counts"]) and "synth" not in name:
        same(f"{name}: threads", len(threads), want["distinct_threads_started"])
    if "synth" not in name:
        for p in want["processes"]:
            got = processes.get(p["pid"], {})
            same(f"{name}: process {p['pid']}",
                 (got.get("ParentId"), got.get("SessionId"), got.get("ImageFileName"), got.get("CommandLine"),
                  got.get("sid"), sorted(got.get("seen", []))),
                 (p["ppid"], p["session"], p["image"], p["cmd"], p["sid"], sorted(p["seen"])))


def named(value):
    """A struct or field list of etl_dump, [[name, value], ...], as the expectations write it."""
    def is_struct(v):
        return isinstance(v, list) and v and all(isinstance(m, list) and len(m) == 2 and isinstance(m[0], str) for m in v)
    return {m[0]: named(m[1]) for m in value} if is_struct(value) else value


def shortened(got, want):
    """Expectations cut long texts to 200 characters and "..."."""
    if isinstance(want, str) and want.endswith("...") and isinstance(got, str) and len(want) >= 200:
        return want if got.startswith(want[:-3].rstrip()) else got
    return got


def check_tracelogging(dumper):
    for name, wanted in recordings.load("expected", "tracelogging_values.json").items():
        got = collections.defaultdict(list)
        for e in dumper.lines(recordings.unpack(name)):
            if "event" in e:
                got[e["ts"], e["cpu"], e["event"]].append(e)
        for want in wanted:
            candidates = got[want["ts"], want["cpu"], want["event"]]
            if not candidates:
                problems.append(f"{name}: no {want['event']} at {want['ts']}")
                continue
            e = candidates.pop(0)
            for key in ("pid", "tid", "provider", "provider_name", "id", "channel", "level", "opcode", "activity",
                        "residual"):
                same(f"{name}: {want['event']} {key}", e[key], want[key])
            same(f"{name}: {want['event']} keyword", hex(e["keyword"]), want["keyword"])
            fields = [[f[0], shortened(named(f[1]), w[1])] for f, w in zip(e["fields"], want["fields"])]
            same(f"{name}: {want['event']} number of fields", len(e["fields"]), len(want["fields"]))
            same(f"{name}: {want['event']} fields", fields, want["fields"])


def number(value):
    return int(value, 16) if isinstance(value, str) and value.startswith("0x") else value


def check_vectors(dumper):
    """Payloads with the fields that the authors of other decoders found in them."""
    lines, wanted = [], []
    for v in recordings.load("vectors", "libtrace_kernel_payloads.json")["vectors"]:
        if v.get("skipped") or v["operation"] in ("Header", "DebuggerEnabled") or v["test"] in SYNTHETIC_SIDS:
            continue
        lines.append(f"{GROUPS[v['category']]} {v['opcode']} {v['version']} {v['pointer_size']} {v['payload_hex']}")
        wanted.append((v["test"], [(f[0], f[2]) for f in v["fields"]]))
    for v in recordings.load("vectors", "catapult_etw_payloads.json")["vectors"]:
        if v["class"] not in GROUPS:
            continue
        lines.append(f"{GROUPS[v['class']]} {v['op']} {v['ver']} {v['ptr']} {base64.b64decode(v['b64']).hex()}")
        wanted.append((f"catapult {v['class']} {v['op']} v{v['ver']}", list(v["fields"].items())))
    got = list(dumper.lines("--payloads", stdin="\n".join(lines) + "\n"))
    same("vectors", len(got), len(wanted))
    for e, (test, fields) in zip(got, wanted):
        for field, value in fields:
            same(f"{test}: {field}", e.get("fields", {}).get(field), number(value))
    return len(wanted)


def check_manifest(dumper):
    """Kernel-Process: nothing left over, and ends that agree with their starts."""
    for name in ("unknown_header_type", "perfview_net.4.5.2.x64"):
        starts, seen = {}, 0
        for e in dumper.lines(recordings.unpack(name)):
            if not e.get("name", "").startswith("KernelProcess/"):
                continue
            seen += 1
            fields = e["fields"]
            same(f"{name}: bytes left over in {e['name']}", e["residual"], 0)
            if "ProcessStart" in e["name"]:
                starts[fields["ProcessID"]] = fields
            elif "ProcessStop" in e["name"] and fields["ProcessID"] in starts:
                start = starts[fields["ProcessID"]]
                same(f"{name}: create time of {fields['ProcessID']}", fields["CreateTime"], start["CreateTime"])
                image = start["ImageName"].rsplit("\\", 1)[-1]
                same(f"{name}: image of {fields['ProcessID']}", fields["ImageName"], image[: len(fields["ImageName"])])
                same(f"{name}: sequence", fields.get("ProcessSequenceNumber"), start.get("ProcessSequenceNumber"))
        same(f"{name}: events of Kernel-Process", seen > 1, True)


def check_order(dumper):
    for name in ("synth_kernel_vectors_32", "synth_kernel_vectors_64"):
        want = recordings.load("expected", "derived", f"{name}.order.json")["events"]
        got = [(e["cpu"], e["ts"], e["group"], e["opcode"], e["version"])
               for e in dumper.lines(recordings.unpack(name), "--time")][1:]
        same(f"{name}: order", got, [tuple(w[1:6]) for w in want])
    for name in ("wrapped_circular", "tx_KernelNetwork", "perfview_net.4.5.2.x64", "compressed_truncated"):
        by_file = collections.Counter()
        for e in dumper.lines(recordings.unpack(name)):
            by_file[e["ts"], e["cpu"], e["opcode"], e["id"]] += 1
        by_time, last = collections.Counter(), None
        for e in dumper.lines(recordings.unpack(name), "--time"):
            by_time[e["ts"], e["cpu"], e["opcode"], e["id"]] += 1
            if last is not None and e["ts"] < last:
                problems.append(f"{name}: {e['ts']} after {last}")
                break
            last = e["ts"]
        same(f"{name}: the same events in both orders", by_time == by_file, True)


BASELINE = {"Process/DCStart": "Process/DCStart", "Process/Start": "Process/Start", "Process/Stop": "Process/End",
            "Process/DCStop": "Process/DCEnd", "Thread/DCStart": "Thread/DCStart", "Thread/Start": "Thread/Start",
            "Image/DCStart": "Image/DCStart", "Image/Load": "Image/Load", "Image/Unload": "Image/Unload",
            "DiskIO/Read": "DiskIO/Read", "DiskIO/Write": "DiskIO/Write", "PerfInfo/Sample": "PerfInfo/SampleProf",
            "Memory/HardFault": "PageFault/HardFault", "PageFault/HardPageFault": "PageFault/HardFault"}


def check_baseline(dumper, name):
    """PerfView on Windows: times in milliseconds, processors, names, of the first of each kind."""
    by_kind, frequency = collections.defaultdict(list), {}
    counts = collections.Counter()
    start = None
    for e in dumper.lines(recordings.unpack(name), "--time"):
        start = e["ts"] if start is None else start
        if "name" in e:
            kind = e["name"].rsplit("/", 1)[0]
            counts[kind] += 1
            by_kind[kind].append(e)
    frequency = recordings.load("expected", f"{name}.json")["logfile_header"]["PerfFreq"]
    checked = 0
    with open(f"{recordings.DATA}/baselines/{name}.baseline.txt", encoding="utf-8-sig") as file:
        for line in file:
            m = re.match(r"COUNT Windows Kernel/([\w/]+):(\d+)", line)
            # Of samples PerfView leaves out the idle ones.
            if m and m.group(1) in BASELINE and m.group(1) != "PerfInfo/Sample":
                same(f"{name}: PerfView's count of {m.group(1)}", counts[BASELINE[m.group(1)]], int(m.group(2)))
            m = re.match(r"EVENT ([\d,.]+): Windows Kernel/([\w/]+) PID=(-?\d+); TID=(-?\d+); .*?ProceNum=(\d+);(.*)", line)
            if not m or m.group(2) not in BASELINE:
                continue
            ms, cpu, rest = float(m.group(1).replace(",", "")), int(m.group(5)), m.group(6)
            image = re.search(r"ImageFileName=([^;]*);", rest)
            near = [e for e in by_kind[BASELINE[m.group(2)]]
                    if e["cpu"] == cpu and abs((e["ts"] - start) * 1000 / frequency - ms) < 0.0006
                    and (not image or e["fields"]["ImageFileName"] == image.group(1))]
            if not near:
                problems.append(f"{name}: PerfView saw {line[:200]}")
            checked += 1
    same(f"{name}: lines of the baseline", checked > 20, True)


def main():
    recordings.need()
    dumper = Dumper(sys.argv[2:] + [sys.argv[1]])
    for name in ("etwanalyzer_TraceLoggingTester", "perfview_net.4.5.2.x64", "perfview_net.4.5.x86",
                 "sawbuck_image_data_32_v0", "sawbuck_image_data_32_v2", "synth_kernel_vectors_32",
                 "synth_kernel_vectors_64"):
        check_kernel(dumper, name)
    check_tracelogging(dumper)
    vectors = check_vectors(dumper)
    check_manifest(dumper)
    check_order(dumper)
    for name in ("perfview_net.4.5.2.x64", "perfview_net.4.5.x86"):
        check_baseline(dumper, name)
    for problem in problems[:100]:
        print(problem)
    print(f"{vectors} payload vectors, {len(problems)} differences")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
