# SPDX-License-Identifier: MIT
"""How late the events of a live session come: ortscope watches a program from outside (--no-hooks --etw ort) on
a simulated machine (tests/sim), and tells it itself. The simulation's own flushing is in it, and the load
of the machine; Windows' way of it is not."""
import json
import os
import re
import subprocess
import time

SECONDS = 15
RECORDINGS = 3


def recording(wine, tool, ortscope, name, trace, program):
    subprocess.run([wine, tool, "run", name, ortscope, "run", "-q", "--no-hooks", "--etw", "ort",
                    "-o", trace, "--", *program], check=True, timeout=600,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    dumped = subprocess.run([wine, ortscope, "dump", "--json", "--kind", "log", trace], check=True,
                            timeout=600, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = " ".join(row["message"] for row in json.loads(dumped.stdout)["rows"])
    return [float(v) for v in re.search(
        r"came after ([\d.]+) ms \(median\), ([\d.]+) ms \(p99\), ([\d.]+) ms \(max\)", text).groups()]


def bench_delay(row, wine, binaries, root, folder, node_command):
    tool, ortscope = os.path.join(binaries, "sim", "sim_etw.exe"), os.path.join(binaries, "ortscope.exe")
    name = "bench%d" % os.getpid()
    host = subprocess.Popen([wine, tool, "host", name], cwd=root, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)
    host.stdout.readline()
    try:
        for _ in range(RECORDINGS):
            before = os.getloadavg()[0]
            delays = recording(wine, tool, ortscope, name, os.path.join(folder, "delay.ortl"),
                               node_command("1.23.2", "--seconds", str(SECONDS), "--pause", "5"))
            row("events came after, median / p99 / max (load %.1f)" % before,
                "%.0f / %.0f / %.0f ms" % tuple(delays), "100 ms")
            time.sleep(1)
    finally:
        subprocess.run([wine, tool, "end", name], check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        host.wait(60)
