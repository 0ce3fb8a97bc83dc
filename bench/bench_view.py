# SPDX-License-Identifier: MIT
"""What looking at a large recording costs: a generated timeline of ten million operators, natively,
and beside it what an ordinary script needs to load a tenth of that from ONNX Runtime's own profile.

Times are of the whole process, from its start to its end; of three, the fastest. "cpu" is its
processor time, which another program on the machine changes less. Memory is the most that the
process had resident at once (on Linux at least as much as this script, about 15 MB)."""
import os
import shutil
import subprocess
import time

OPERATORS = 10_000_000
ROUNDS = 3
PYTHON = "import json, sys; print(len(json.load(open(sys.argv[1]))))"
NODE = "console.log(JSON.parse(require('fs').readFileSync(process.argv[1], 'utf8')).length)"


class Cost:
    def __init__(self, command):
        """Runs it, counting what it writes."""
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.written = 0
        while True:
            piece = os.read(process.stdout.fileno(), 1 << 20)
            if not piece:
                break
            self.written += len(piece)
        self.message = process.stderr.read().decode("utf-8", "replace")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.code = process.returncode
        self.seconds = time.monotonic() - begin
        self.cpu = usage.ru_utime + usage.ru_stime
        self.megabytes = usage.ru_maxrss * 1024 / 1e6

    def words(self):
        return "%.2f s, cpu %.2f s, %.0f MB" % (self.seconds, self.cpu, self.megabytes)


def best(command):
    costs = [Cost(command) for _ in range(ROUNDS)]
    for cost in costs:
        if cost.code != 0:
            raise SystemExit("bench: %s failed: %s" % (command, cost.message))
    return min(costs, key=lambda cost: cost.seconds)


def load_words(command):
    cost = Cost(command)
    if cost.code == 0:
        return cost.words()
    too_long = "string longer than" in cost.message
    return "fails, more than a string holds" if too_long else "fails, exit code %d" % cost.code


def bench_view(row, programs, folder):
    ortscope, maker = (os.path.join(programs, name) for name in ("ortscope", "view_maker"))
    timeline, profile = (os.path.join(folder, name) for name in ("view.ortl", "profile.json"))
    subprocess.run([maker, "ortl", timeline, str(OPERATORS)], check=True)
    subprocess.run([maker, "ort-json", profile, str(OPERATORS // 10)], check=True)
    sizes = os.path.getsize(timeline), os.path.getsize(profile)
    row("10 million operators: ours, bytes an operator", "%.0f MB, %.1f" % (
        sizes[0] / 1e6, sizes[0] / OPERATORS))
    row("ortscope summary", best([ortscope, "summary", timeline]).words(), "1 s, 100 MB")
    row("ortscope ops", best([ortscope, "ops", timeline]).words())
    row("ortscope runs --slowest 10",
        best([ortscope, "runs", timeline, "--slowest", "10"]).words())
    for form, aim in (("chrome", "100 MB/s"), ("perfetto", "")):
        cost = Cost([ortscope, "export", timeline, "-f", form, "-o", "-"])
        if cost.code != 0:
            raise SystemExit("bench: exporting failed: " + cost.message)
        megabytes = cost.written / 1e6
        row("ortscope export -f %s: %.0f MB" % (form, megabytes), cost.words())
        row("ortscope export -f %s, by time / by cpu" % form, "%.0f / %.0f MB/s" % (
            megabytes / cost.seconds, megabytes / cost.cpu), aim)
    row("1 million operators: ORT's profile, bytes an operator", "%.0f MB, %.0f" % (
        sizes[1] / 1e6, sizes[1] / (OPERATORS / 10)))
    row("Python's json.load", load_words(["/usr/bin/python3", "-c", PYTHON, profile]))
    if shutil.which("node"):
        row("node's JSON.parse", load_words(["node", "--max-old-space-size=8192", "-e", NODE, profile]))
