# SPDX-License-Identifier: MIT
"""What the live view costs and how late it is: node running PaddleOCR's classifier under Wine, `attach --live`
with counters at 100 Hz and messages at 10 Hz: ten clients of the WebSocket for what it costs, the page in
Chromium and one client for how late it is.

Late is a run from its end, as the hook noted it, to the moment at which somebody has it, both by the clock
of this machine (`last_run.end_utc_ms`). "Newest run": of each message the newest run in it, so what
somebody sees is so old; its aim is 100 ms. "Every run" adds the wait for the next message, which is up to
100 ms at 10 Hz whatever anybody does. A client has a message when its last byte was read; the page has it
after the frame in which its gauge shows the message's number of runs. Beside it a program that does nothing
but sleep tells how late this machine wakes anybody up: nothing can be earlier than that.

What the server costs the target is measured with the target on a processor of its own and everything else
on the others: what ten clients take of the same processor would be their cost, not the server's. The Wine server,
which stands for Windows' kernel, goes before everything else meanwhile: the target waits for it several times a run,
and no program keeps a kernel from answering another one. Each round has every state, recording without --live twice:
what these two differ by is how exact the ratios are.

    bench_live.py clients FILE COUNT SECONDS    clients of the server whose address the file has; tell what they got
    bench_live.py timer SECONDS                 how late a sleep of 10 ms ends, in ms, and when that was
"""
import json
import os
import selectors
import statistics
import subprocess
import sys
import time

from bench_sample import linux_pid, wait_for, wine_server

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[1:1] = [os.path.join(ROOT, "tests", "live"), os.path.join(ROOT, "tests", "browser")]
import browser  # noqa: E402
import client as live  # noqa: E402

CLIENTS = 10
ROUNDS = 8
GAP_MS = 200  # between two messages that are meant to come every 100 ms
PAGE_SCRIPT = """(() => {
const bench = window.bench = {ages: [], gaps: [], messages: 0, frames: 0, longFrames: [], unseen: 0};
const shownRuns = () => Number((document.querySelector('[data-gauge=throughput] .more')?.textContent ?? '')
    .split(';').at(-1).replace(/\\D/g, ''));
let before = 0, frame = 0;
window.WebSocket = class extends WebSocket {
    constructor(...given) {
        super(...given);
        this.addEventListener('message', (e) => {
            const now = performance.now(), sessions = JSON.parse(e.data).captures.flatMap((c) => c.sessions);
            if (before && now - before > GAP_MS) bench.gaps.push(now - before);
            before = now;
            bench.messages++;
            const newest = Math.max(...sessions.map((s) => s.last_run?.end_utc_ms ?? 0));
            const runs = sessions.reduce((sum, s) => sum + s.runs, 0);
            requestAnimationFrame(() => {
                const after = new MessageChannel();
                after.port1.onmessage = () => {
                    if (shownRuns() < runs) bench.unseen++;
                    else if (newest) bench.ages.push(Date.now() - newest);
                };
                after.port2.postMessage(0);
            });
        });
    }
};
const tick = (now) => {
    if (frame && now - frame > 100) bench.longFrames.push([now - frame, performance.timeOrigin + now]);
    frame = now;
    bench.frames++;
    requestAnimationFrame(tick);
};
requestAnimationFrame(tick);
})()""".replace("GAP_MS", str(GAP_MS))


# ------------------------------------------------------------------------------------- the ten clients

class Reader:
    """One client; the first of them looks into the messages."""

    def __init__(self, client, looks):
        self.stream, self.looks = client.stream(), looks
        self.stream.socket.settimeout(None)
        self.times, self.newest, self.every, self.last_run = [], [], [], {}

    def read(self):
        part = self.stream.socket.recv(1 << 20)
        if not part:
            raise SystemExit("a client was disconnected")
        self.stream.rest += part
        now = time.time()
        while self._whole():
            opcode, data = self.stream.frame()
            if opcode == 9:
                self.stream.send(data, opcode=10)  # who answers no ping is disconnected
            elif opcode == 1:
                self.times.append(now)
                if self.looks:
                    self._look(json.loads(data), now * 1000)

    def _whole(self):
        rest = self.stream.rest
        if len(rest) < 2:
            return False
        length, head = rest[1] & 127, 2
        if length > 125:
            head = 4 if length == 126 else 10
            length = int.from_bytes(rest[2:head], "big")
        return len(rest) >= head + length

    def _look(self, message, now_ms):
        ends = []
        for capture in message["captures"]:
            for session in capture["sessions"]:
                last = session["last_run"]
                if not last:
                    continue
                ends.append(last["end_utc_ms"])
                offset = last["end_utc_ms"] - last["begin_s"] * 1e3 - last["duration_us"] / 1e3
                seen, recent = self.last_run.get(session["session"]), session["recent_runs"]
                if seen is not None:
                    self.every += [now_ms - offset - begin * 1e3 - took / 1e3 for run, begin, took in zip(
                        recent["run"], recent["begin_s"], recent["duration_us"]) if run > seen]
                self.last_run[session["session"]] = last["run"]
        if ends:
            self.newest.append(now_ms - max(ends))


def read_with_clients(path, count, seconds):
    with open(path, encoding="utf-8") as file:
        client = live.Client(file.read())
    readers = [Reader(client, i == 0) for i in range(int(count))]
    ready = selectors.DefaultSelector()
    for reader in readers:
        ready.register(reader.stream.socket, selectors.EVENT_READ, reader)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        for key, _ in ready.select(0.2):
            key.data.read()
    gaps = [(b - a) * 1000 for r in readers for a, b in zip(r.times, r.times[1:]) if b - a > GAP_MS / 1000]
    print(json.dumps({"newest": readers[0].newest, "every": readers[0].every, "gaps": gaps,
                      "messages": [len(r.times) for r in readers]}))


def watch_timer(seconds):
    end, lates = time.monotonic() + float(seconds), []
    while time.monotonic() < end:
        begin = time.monotonic()
        time.sleep(0.01)
        lates.append(((time.monotonic() - begin) * 1000 - 10, time.time() * 1000))
    print(json.dumps(lates))


# --------------------------------------------------------------------------------------- the capture

def beside(*words):
    return subprocess.Popen([sys.executable, os.path.abspath(__file__), *map(str, words)],
                            stdout=subprocess.PIPE, text=True)


def told_by(process):
    return json.loads(process.communicate(timeout=60)[0])


class Capture:
    """`attach` to the target, with --live or without, for so long."""

    def __init__(self, wine, ortscope, pid, path, seconds, is_live):
        self.path, self.messages = path, path + ".err"
        with open(self.messages, "wb") as err:
            self.process = subprocess.Popen(
                [wine, ortscope, "attach", pid, "-q", "--hz", "100", "-o", path, "--duration",
                 "%ds" % seconds, *(["--live", "--no-open"] if is_live else [])],
                stdout=subprocess.DEVNULL, stderr=err)
        self.linux_pid = wait_for(lambda: os.path.exists(path) and linux_pid("ortscope.exe", path))
        self.client = live.Client(wait_for(self.address)) if is_live else None

    def address(self):
        with open(self.messages, encoding="utf-8") as file:
            text = file.read()
        return text if live.address_of(text) else None

    def processor_seconds(self):
        """Exact, of all threads that there are (those that ended meanwhile are not in it)."""
        folder, total = "/proc/%d/task" % self.linux_pid, 0
        for thread in os.listdir(folder):
            try:
                with open("%s/%s/schedstat" % (folder, thread)) as file:
                    total += int(file.read().split()[0])
            except OSError:
                pass
        return total / 1e9

    def megabytes(self):
        with open("/proc/%d/status" % self.linux_pid) as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) * 1024 / 1e6

    def clients(self, count, seconds):
        return beside("clients", self.messages, count, seconds)


def cost_of(target, capture, seconds, clients):
    """Shares of a core and runs a second while so many clients read."""
    readers = capture.clients(clients, seconds + 3) if clients else None
    time.sleep(2)
    cpu, runs, begin = capture.processor_seconds(), target.runs(), time.monotonic()
    time.sleep(seconds)
    cpu, runs, took = capture.processor_seconds() - cpu, target.runs() - runs, time.monotonic() - begin
    if readers:
        readers.communicate(timeout=60)
    capture.process.wait(120)
    return cpu / took * 100, runs / took


class Target:
    def __init__(self, command, folder):
        self.pid_file, self.counter, self.stop = (os.path.join(folder, n) for n in ("pid", "count", "stop"))
        self.process = subprocess.Popen([*command, "--seconds", "100000", "--pid-file", self.pid_file,
                                         "--counter", self.counter, "--stop-file", self.stop], cwd=ROOT,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(self.counter) and self.runs())
        with open(self.pid_file) as file:
            self.pid = file.read().strip()

    def runs(self):
        with open(self.counter) as file:
            return int(file.read().strip() or 0)

    def end(self):
        open(self.stop, "w").close()
        self.process.wait(60)


def median_latency(reader, path):
    summary = subprocess.run([reader, "summary", "--json", path], check=True, stdout=subprocess.PIPE)
    return json.loads(summary.stdout)["sessions"][0]["latency_us"]["p50"]


# -------------------------------------------------------------------------------------------- rows

def at(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def late(values):
    return "%.0f / %.0f / %.0f ms" % (at(values, 0.5), at(values, 0.99), max(values)) if values else "none"


def gap_words(gaps, count):
    return "%d of %d%s" % (len(gaps), count, ", %.0f ms" % max(gaps) if gaps else "")


def of_the_page(frames, timer):
    """Those frames in which the machine did not keep the timer waiting for half as long as well."""
    return [ms for ms, end in frames if not any(
        lateness > ms / 2 and end - ms - lateness <= when <= end + lateness for lateness, when in timer)]


def on_processors(numbers, *pids):
    for pid in pids:
        for thread in os.listdir("/proc/%d/task" % pid):
            os.sched_setaffinity(int(thread), numbers)


def bench_cost_apart(row, programs, target, folder, seconds):
    """The target on the first processor, all else on the others."""
    everywhere, first = os.sched_getaffinity(0), {min(os.sched_getaffinity(0))}
    node, server = linux_pid("node.exe", target.pid_file), wine_server()
    on_processors(first, node)
    on_processors(everywhere - first or first, os.getpid(), server)
    os.sched_setscheduler(server, os.SCHED_FIFO, os.sched_param(1))
    try:
        bench_cost(row, programs, target, folder, seconds)
    finally:
        os.sched_setscheduler(server, os.SCHED_OTHER, os.sched_param(0))
        on_processors(everywhere, node, os.getpid(), server)


WITHOUT, IDLE, CLIENTS_READ, AGAIN = STATES = (
    "without --live", "--live, no client", "--live, %d clients" % CLIENTS, "without --live, again")


def measure_state(programs, target, folder, seconds, state):
    wine, ortscope, reader = programs
    path = os.path.join(folder, "cost.ortl")
    capture = Capture(wine, ortscope, target.pid, path, seconds + 6, state in (IDLE, CLIENTS_READ))
    cpu, rate = cost_of(target, capture, seconds, CLIENTS if state == CLIENTS_READ else 0)
    latency = median_latency(reader, path)
    os.remove(path)
    return cpu, rate, latency


def compared(rounds, state, fact):
    """The median of the rounds, each compared with its own recording without --live, and their quartiles."""
    ratios = sorted(r[state][fact] / r[WITHOUT][fact] for r in rounds)
    low, middle, high = statistics.quantiles(ratios, n=4)
    return "%.3f (%.3f to %.3f)" % (middle, low, high)


def bench_cost(row, programs, target, folder, seconds):
    rounds = []
    for turn in range(ROUNDS):  # each state comes first as often as last
        order = [STATES[(turn + i) % len(STATES)] for i in range(len(STATES))]
        rounds.append({s: measure_state(programs, target, folder, seconds, s)
                       for s in (order if turn // len(STATES) % 2 == 0 else order[::-1])})
    cpu, rate = ({s: statistics.median(r[s][fact] for r in rounds) for s in STATES} for fact in (0, 1))
    for state in STATES[:3]:
        row("ortscope %s: share of a core, at runs/s" % state, "%.1f %%, %.0f" % (cpu[state], rate[state]))
    row("ortscope: what the server with %d clients adds" % CLIENTS,
        "%.1f %%" % statistics.median(r[CLIENTS_READ][0] - r[WITHOUT][0] for r in rounds), "5 %")
    row("target: %d rounds, each state / without --live" % ROUNDS, "median (quartiles)")
    for state in (AGAIN, IDLE, CLIENTS_READ):
        for fact, what in ((1, "runs/s"), (2, "run p50")):
            row("target, %s: %s" % (state, what), compared(rounds, state, fact), "" if state == AGAIN else "1")


def watch(capture, seconds):
    """Page and a client for so long: what the client, the page and the timer tell, memory of ortscope and of
    the page's scripts each second."""
    memory, heap = [], []
    with browser.Browser() as b:
        page = b.page()
        page.call("Network.disable")  # else each message is told to us as well
        page.call("Page.addScriptToEvaluateOnNewDocument", source=PAGE_SCRIPT)
        page.goto("http://%s/?token=%s" % (capture.client.name, capture.client.control_token))
        page.wait_for("bench.messages > 10")
        page.evaluate("Object.assign(bench, {ages: [], gaps: [], messages: 0, frames: 0, longFrames: []})")
        readers, timer = capture.clients(1, seconds), beside("timer", seconds)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            memory.append(capture.megabytes())
            heap.append(page.call("Runtime.getHeapUsage")["usedSize"] / 1e6)
            b.pump(1)
            time.sleep(max(0, min(1, end - time.monotonic())))
        seen = page.evaluate("bench")
        return told_by(readers), seen, told_by(timer), memory, heap


def stolen_seconds():
    """What other machines took of the processors that this one was to have, if it is a virtual one."""
    with open("/proc/stat") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def bench_live(row, programs, command, folder, seconds):
    target = Target(command, folder)
    try:
        bench_cost_apart(row, programs, target, folder, max(3, min(10, seconds / 30)))
        load = os.getloadavg()[0]
        capture = Capture(*programs[:2], target.pid, os.path.join(folder, "live.ortl"), seconds + 60, True)
        stolen = stolen_seconds()
        told, seen, timer, memory, heap = watch(capture, seconds)
        row("%d s with the page, load %.1f to %.1f" % (seconds, load, os.getloadavg()[0]), "p50 / p99 / max")
        row("this machine: a timer of 10 ms, late", late([ms for ms, _ in timer]))
        row("this machine: time of processors taken by others", "%.0f %%" % (
            (stolen_seconds() - stolen) / seconds / os.cpu_count() * 100))
        row("newest run, its end to the page", late(seen["ages"]), "100 ms")
        row("newest run, its end to a client", late(told["newest"]), "100 ms")
        row("every run, its end to a client (%d runs)" % len(told["every"]), late(told["every"]))
        row("page: messages more than %d ms after the one before" % GAP_MS,
            gap_words(seen["gaps"], seen["messages"]), "0")
        row("page: frames of more than 100 ms", gap_words([ms for ms, _ in seen["longFrames"]], seen["frames"]), "0")
        if seen["longFrames"]:
            row("page: those in which the timer was not late as well",
                gap_words(of_the_page(seen["longFrames"], timer), seen["frames"]), "0")
        row("client: messages a second", "%.1f" % (told["messages"][0] / seconds), "10")
        row("client: messages more than %d ms after the one before" % GAP_MS,
            gap_words(told["gaps"], sum(told["messages"])), "0")
        row("ortscope: memory after a tenth, half, all of the time", "%.1f / %.1f / %.1f MB" % tuple(
            memory[int(part * (len(memory) - 1))] for part in (0.1, 0.5, 1)), "flat")
        # It rises until it is tidied up: the lowest counts.
        row("page: its scripts' memory, least in quarters 2, 3, 4", "%.1f / %.1f / %.1f MB" % tuple(
            min(heap[len(heap) * i // 4:len(heap) * (i + 1) // 4]) for i in (1, 2, 3)), "flat")
        capture.client.control(action="detach")
        capture.process.wait(120)
    finally:
        target.end()


if __name__ == "__main__":
    {"clients": read_with_clients, "timer": watch_timer}[sys.argv[1]](*sys.argv[2:])
