# SPDX-License-Identifier: MIT
"""check_import.py ORTSCOPE [EMULATOR...]: the timelines of real recordings: sums over the rows that
the kernel's events became against the expected sums. Exit code 77, "skipped", where the recordings
are missing."""
import collections
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

import recordings

problems = []


def rows(command, path, kind):
    run = subprocess.run(command + ["dump", "--csv", "--kind", kind, path], capture_output=True, timeout=200, check=True)
    return list(csv.DictReader(io.StringIO(run.stdout.decode("utf-8"))))


def same(what, got, want):
    if got != want:
        problems.append(f"{what}: {got}, expected {want}")


def check(command, name, folder):
    want = recordings.load("expected", f"kernel_{name}.json")
    sums, counts = want["aggregates"], want["counts"]
    path = os.path.join(folder, name + ".ortl")
    subprocess.run(command + ["import", "--quiet", "-o", path, recordings.unpack(name)], timeout=200, check=True)
    profile, disk, fault = (rows(command, path, kind) for kind in ("profile", "disk", "fault"))
    same(f"{name}: samples", len(profile), sums["samples"])
    same(f"{name}: idle samples", sum(r["thread"] == "0" for r in profile), sums["samples_idle"])
    same(f"{name}: samples in interrupts", sum(r["flags"] != "0" for r in profile), sums["samples_dpc_or_isr"])
    same(f"{name}: samples of nobody", sum(r["process"] == "0" for r in profile) < len(profile) / 1000, True)
    for action, key in (("0", "disk_read_bytes"), ("1", "disk_write_bytes")):
        same(f"{name}: {key}", sum(int(r["bytes"]) for r in disk if r["action"] == action), sums[key])
    same(f"{name}: bytes read for faults", sum(int(r["bytes"]) for r in fault), sums["hardfault_bytes"])
    check_threads(command, path, name, profile, sums)
    threads = rows(command, path, "thread")
    for action, word in (("0", "Start"), ("1", "End"), ("2", "DCStart"), ("3", "DCEnd")):
        same(f"{name}: threads {word}", sum(r["action"] == action for r in threads),
             sum(n for key, n in counts.items() if key.startswith(f"Thread/{word}/")))
    names = {r["pid"]: r["program"] for r in rows(command, path, "bystander")}
    for p in want["processes"]:
        same(f"{name}: process {p['pid']}", names.get(str(p["pid"])), p["image"])


def check_threads(command, path, name, profile, sums):
    """Processor time by samples: the summary's threads against the expected sums and our own count."""
    run = subprocess.run(command + ["summary", "--json", path], capture_output=True, timeout=200, check=True)
    threads = json.loads(run.stdout.decode("utf-8"))["threads"]
    interval = threads["profile_interval_us"]
    same(f"{name}: interval", interval, 1000)
    same(f"{name}: idle", threads["idle"]["samples"], sums["samples_idle"])
    busy = sum(t["samples"] for t in threads["list"])
    same(f"{name}: samples of threads", busy, sums["samples"] - sums["samples_idle"])
    same(f"{name}: time of threads", round(sum(t["sampled_us"] for t in threads["list"])), round(busy * interval))
    # A thread's samples outside the life that the recording tells of belong to nobody's thread.
    count = collections.Counter((r["thread"], r["process"]) for r in profile if r["thread"] != "0")
    same(f"{name}: each thread", sorted((t["thread"], t["samples"]) for t in threads["list"]),
         sorted((int(thread), n) for (thread, _), n in count.items()))
    same(f"{name}: switches", {t["on_cpu_us"] for t in threads["list"]}, {None})


def main():
    recordings.need()
    command = sys.argv[2:] + [sys.argv[1]]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("perfview_net.4.5.2.x64", "perfview_net.4.5.x86"):
            check(command, name, folder)
    for problem in problems:
        print(problem)
    print(f"2 recordings, {len(problems)} differences")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
