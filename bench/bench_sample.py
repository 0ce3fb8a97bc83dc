# SPDX-License-Identifier: MIT
"""What sampling a process costs: ortscope's own counters of it and of the machine beside psutil
reading the same (processor times, memory, I/O, the cores, the machine's memory), in turn, of one
idle process. Both as processor time of the sampling process; what the Wine server does for it (on
Windows: the kernel, within the process's own time) is told apart.

    bench_sample.py PID HZ SECONDS     the psutil side: samples, processor seconds
"""
import json
import os
import re
import subprocess
import sys
import time

SECONDS = 5


def sample_with_psutil(pid, hz, seconds):
    import psutil
    process = psutil.Process(pid)
    begin, due, count = time.monotonic(), time.monotonic(), 0
    before = time.process_time()
    while time.monotonic() - begin < seconds:
        with process.oneshot():
            process.cpu_times(), process.memory_info(), process.io_counters(), process.num_threads()
        psutil.cpu_times(percpu=True), psutil.virtual_memory()
        count += 1
        due = max(due + 1 / hz, time.monotonic())
        time.sleep(max(0, due - time.monotonic()))
    print(count, time.process_time() - before)


def linux_pid(executable, word):
    for entry in os.listdir("/proc"):
        try:
            with open("/proc/%s/cmdline" % entry, "rb") as file:
                parts = file.read().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
        name = parts[0].replace("\\", "/").rsplit("/", 1)[-1].lower()
        if entry.isdigit() and name == executable and any(word in p for p in parts[1:]):
            return int(entry)
    return None


def wine_server():
    prefix = os.environ.get("ORTSCOPE_WINEPREFIX", os.path.join(
        os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build", "wineprefix"))
    for entry in os.listdir("/proc"):
        try:
            with open("/proc/%s/comm" % entry) as file:
                is_server = file.read().startswith("wineserver")
            with open("/proc/%s/environ" % entry, "rb") as file:
                is_ours = ("WINEPREFIX=%s\0" % prefix).encode() in file.read() + b"\0"
        except OSError:
            continue
        if is_server and is_ours:
            return int(entry)
    raise SystemExit("bench: no Wine server uses %s" % prefix)


def processor_seconds(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("bench: nothing within 60 s")
        time.sleep(0.05)
    return condition()


def sample_with_ortscope(wine, ortscope, windows_pid, folder, *options):
    """Shares of a core of ortscope.exe and of the Wine server meanwhile; samples a second."""
    trace = os.path.join(folder, "sample.ortl")
    program = subprocess.Popen([wine, ortscope, "attach", windows_pid, "-q", "-o", trace,
                                "--duration", "%ds" % (SECONDS + 3), *options],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid = wait_for(lambda: os.path.exists(trace) and linux_pid("ortscope.exe", trace))
    time.sleep(1)
    server = wine_server()
    before = processor_seconds(pid), processor_seconds(server)
    time.sleep(SECONDS)
    used, server_used = processor_seconds(pid) - before[0], processor_seconds(server) - before[1]
    program.wait(60)
    rows = subprocess.run([wine, ortscope, "dump", "--kind", "log,sampling", trace], check=True,
                          text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout
    asked = re.search(r"counters of process were asked (\d+) times", rows)
    times = [float(word) for word in re.findall(r"^ *([\d.]+)  sampling ", rows, re.M)]
    rate = int(asked.group(1)) / (times[-1] - times[0]) if asked else 0
    return used / SECONDS, server_used / SECONDS, rate


def bench_sample(row, wine, ortscope, node, busy, folder):
    report, stop = os.path.join(folder, "busy.json"), os.path.join(folder, "busy.stop")
    target = subprocess.Popen([wine, node, busy, "--report", report, "--stop-file", stop,
                               "--cpu-ms", "10"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: os.path.exists(report))
        windows_pid = str(json.load(open(report))["pid"])
        watch = wine, ortscope, windows_pid, folder
        idle, server_idle, _ = sample_with_ortscope(*watch, "--counters", "off")
        row("sampling an idle process (share of a core)", "ortscope / psutil")
        row("without counters", "%.2f %%" % (idle * 100))
        for hz in (100, 1000):
            ours, server, rate = sample_with_ortscope(
                *watch, "--counters", "process", "--hz", str(hz), "--max-overhead", "100")
            done = subprocess.run([sys.executable, os.path.abspath(__file__),
                                   str(linux_pid("node.exe", stop)), str(hz), str(SECONDS)],
                                  check=True, text=True, stdout=subprocess.PIPE)
            count, theirs = (float(word) for word in done.stdout.split())
            row("%d Hz; made %.0f / %.0f a second" % (hz, rate, count / SECONDS),
                "%.2f / %.2f %%" % ((ours - idle) * 100, theirs / SECONDS * 100))
            row("  and in the Wine server", "%.2f %%" % ((server - server_idle) * 100))
    finally:
        open(stop, "w").close()
        target.wait(60)


if __name__ == "__main__":
    sample_with_psutil(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
