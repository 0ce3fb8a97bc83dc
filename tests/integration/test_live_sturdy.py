#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The live view when things go wrong around it: the target is killed, the browser is killed, a client
is suspended, the disk gets full, clients come and go, ortscope itself is killed. Nothing hangs,
nothing grows, and the file is good."""
import contextlib
import os
import signal
import subprocess
import sys
import threading

import harness as h
import looping
from test_live import capture_of, opened, runs_of

for folder in ("tests/live", "tests/browser"):
    sys.path.insert(0, os.path.join(h.ROOT, folder))
import browser  # noqa: E402

GROWTH_KIB = 32 << 10  # of ortscope's memory over some rounds; histories fill meanwhile

OTHER_FILES = 8  # that Wine's own services may open meanwhile

# A client that reads what comes, until it is stopped from outside. Its room is small, so that the
# server notices soon.
READER = """
import socket, sys
plain = socket.create_connection
def small(address, timeout):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(address)
    return s
socket.create_connection = small
sys.path.insert(0, %r)
import client
stream = client.Client(open(sys.argv[1]).read()).stream("hz=60")
while True:
    stream.message()
    print("one", flush=True)
"""


def wine_servers():
    """Linux PIDs of the Wine server of our prefix."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open("/proc/%s/comm" % entry) as file:
                is_server = file.read().startswith("wineserver")
            with open("/proc/%s/environ" % entry, "rb") as file:
                if is_server and b"WINEPREFIX=" + os.fsencode(h.wine_prefix()) in file.read().split(b"\0"):
                    found.append(int(entry))
    return found


class Watched:
    """A looping program with `attach --live`, and a client once there are runs."""

    def __init__(self, c, *more, name="attach"):
        self.target = looping.Looping(c, "target-" + name)
        self.trace = "%s/%s.ortl" % (c.folder, name)
        self.capture = h.attach(c.folder, name, self.target.pid, self.trace, "--live", "--no-open",
                                *more)
        self.client = opened(self.capture)
        self.pid = h.linux_pids("ortscope.exe", self.trace)[0]
        self.await_runs(20)

    def await_runs(self, least):
        h.wait_until(lambda: self.client.json("/api/v1/metrics/current")["captures"] and
                     runs_of(capture_of(self.client)) > least, "runs in the live view",
                     program=self.capture)

    def more_runs(self):
        self.await_runs(runs_of(capture_of(self.client)) + 10)

    def threads(self):
        return len(os.listdir("/proc/%d/task" % self.pid))

    def files(self):
        """Its own, and those that Wine's server holds: most of a program's handles have one there."""
        return sum(len(os.listdir("/proc/%d/fd" % pid)) for pid in [self.pid] + wine_servers())

    def memory_kib(self):
        with open("/proc/%d/status" % self.pid) as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def settle(self, threads, files):
        """Until everything that a client had was given back. A sampling thread of Wine's or a file may come
        and go: what counts is that it is not more."""
        h.wait_until(lambda: self.threads() <= threads and self.files() <= files + OTHER_FILES,
                     "threads and files as before (%d, %d)" % (threads, files), program=self.capture)

    def finish(self, c):
        c.equal("detach", self.client.control(action="detach")[0], 200)
        c.equal("ortscope ends", self.capture.wait(), 0)
        self.target.finish(c)
        self.check_file(c)

    def check_file(self, c):
        c.equal("the file is whole", h.load(self.trace).damage, None)
        c.true("and has the runs", h.summary(self.trace)["sessions"][0]["runs"] > 20)


def last_message(stream):
    last = None
    try:
        while True:
            last = stream.message()["captures"][0]
    except (EOFError, ConnectionResetError):
        return last


def target_killed(c):
    """the target is killed: clients are told, with the last figures, which are the file's"""
    for how in ("Linux", "TerminateProcess"):
        w = Watched(c, name=how)
        stream = w.client.stream("hz=10")
        stream.message()
        if how == "Linux":
            os.kill(w.target.linux_pid(), signal.SIGKILL)
        else:
            h.run(c.folder, "taskkill", ["taskkill", "/F", "/PID", str(w.target.pid)])
        last = last_message(stream)
        c.equal("%s: ortscope ends" % how, w.capture.wait(), 0)
        w.target.program.wait()
        c.equal("it is told", (last["state"], last["failure"], last["processes"][0]["state"]),
                ("ended", None, "exited"))
        c.true("the summary is printed", "Next: ortscope" in w.capture.err, w.capture.err[-300:])
        w.check_file(c)
        c.equal("runs: live and file", runs_of(last),
                sum(s["runs"] for s in h.summary(w.trace)["sessions"]))


def browser_killed(c):
    """a browser that watches is killed, again and again: what it had is given back"""
    if not browser.find():
        print("    skipped: chromium is not installed (scripts/setup does that)")
        return
    w = Watched(c)
    before, memory = (w.threads(), w.files()), []
    for _ in range(4):
        with browser.Browser() as b:
            page = b.page(width=1280, height=2000)
            page.goto("http://%s/?token=%s" % (w.client.name, w.client.control_token))
            page.wait_for("document.querySelector('#state').innerText.includes('Attached and armed')")
            page.wait_for("!!document.querySelector('#charts').dataset.time")
            os.killpg(b._process.pid, signal.SIGKILL)
        w.settle(*before)
        w.more_runs()
        memory.append(w.memory_kib())
    c.true("memory stays", memory[-1] - memory[0] < GROWTH_KIB, memory)
    w.finish(c)


class Listener(threading.Thread):
    """A client that reads all the time."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.stream, self.times, self.last = client.stream("hz=60"), [], None
        self.start()

    def run(self):
        with contextlib.suppress(EOFError, ConnectionResetError):
            while True:
                self.last = self.stream.message()["captures"][0]
                self.times.append(self.last["time_s"])

    def more(self, count, program):
        goal = len(self.times) + count
        h.wait_until(lambda: len(self.times) >= goal, "%d more messages" % count, program=program)


@contextlib.contextmanager
def suspended_client(c, w):
    """A process that reads the stream and is then stopped."""
    reader = subprocess.Popen([sys.executable, "-c", READER % os.path.join(h.ROOT, "tests/live"),
                               w.capture.err_path], stdout=subprocess.PIPE)
    try:
        c.equal("it reads", reader.stdout.readline(), b"one\n")
        os.kill(reader.pid, signal.SIGSTOP)
        yield
    finally:
        reader.kill()
        reader.wait()


def client_suspended(c):
    """a client is suspended: others go on, its place is given back, and the end does not wait for it"""
    w = Watched(c)
    other = Listener(w.client)
    other.more(1, w.capture)
    before, memory = (w.threads(), w.files()), w.memory_kib()
    with suspended_client(c, w):
        other.more(60, w.capture)
        w.settle(*before)
        other.more(60, w.capture)
        c.equal("the other one's time goes on", other.times, sorted(other.times))
        c.true("nothing was kept for it", w.memory_kib() - memory < GROWTH_KIB, w.memory_kib() - memory)
    with suspended_client(c, w):
        c.equal("detach", w.client.control(action="detach")[0], 200)
        c.equal("ortscope ends while one is suspended", w.capture.wait(), 0)
    other.join(h.TIMEOUT)
    c.equal("the other one is told the end", other.last["state"], "ended")
    w.target.finish(c)
    w.check_file(c)


def disk_full(c):
    """the disk gets full: clients and standard error are told, the program goes on, the file can be read"""
    trace, stop = (c.folder + "/run" + e for e in (".ortl", ".stop"))
    h.run(c.folder, "server", ["cmd", "/c", "exit"])  # Wine's server has no such limit
    os.environ["ORTSCOPE_WINE_WRAPPER"] = "env --ignore-signal=XFSZ prlimit --fsize=1000000"
    try:
        program = h.Program(c.folder, "run", [
            h.ORTSCOPE, "run", "-q", "--live", "--no-open", "-o", trace, "--"] + h.node_arguments(
                looping.VERSION, "--stop-file", stop, "--seconds", h.FOREVER, "--exit-code", 5))
    finally:
        del os.environ["ORTSCOPE_WINE_WRAPPER"]
    client = opened(program)
    h.wait_until(lambda: client.json("/api/v1/metrics/current")["captures"] and
                 capture_of(client)["state"] == "ended", "the end of the recording", program=program)
    last = capture_of(client)
    c.true("clients are told why", "run.ortl" in (last["failure"] or ""), last["failure"])
    c.true("standard error too", last["failure"] in program.err, program.err[-400:])
    c.true("the last figures stay", runs_of(last) > 0, last["sessions"])
    c.equal("nothing more can be done", client.control(action="mark", text="x")[0], 409)
    c.equal("the program still runs", len(h.linux_pids("node.exe", stop)) >= 1, True)
    h.touch(stop)
    c.equal("exit code 1", program.wait(), 1)
    c.true("what was written can be read", len(h.load(trace).rows("run")) > 0)


def reconnects(c):
    """twenty clients come and go, twice: threads, files and memory stay"""
    w = Watched(c)
    before, memory = (w.threads(), w.files()), []
    for _ in range(2):
        for i in range(20):
            stream = w.client.stream_when_room("hz=60")
            stream.message()
            if i % 2:
                stream.send(b"", opcode=8)
            stream.close()
        w.settle(*before)
        memory.append(w.memory_kib())
    c.true("memory stays", memory[1] - memory[0] < GROWTH_KIB, memory)
    w.finish(c)


def ortscope_killed(c):
    """ortscope is killed while it shows: the target finishes as if nothing had been, the file can be read"""
    w = Watched(c)
    stream = w.client.stream("hz=60")
    stream.message()
    h.wait_until(lambda: h.load(w.trace).rows("run"), "runs in the file", program=w.capture)
    os.kill(w.pid, signal.SIGKILL)
    w.capture.wait()
    c.true("the connection ends", stream.ends())
    w.target.more_runs(50)
    report = w.target.finish(c)
    alone = h.run(c.folder, "alone", h.node_arguments(looping.VERSION, "--runs", report["runs"]))
    c.equal("outputs are as ever", report["output_hash"], h.report_of(alone.out)[0]["output_hash"])
    timeline = h.load(w.trace)
    c.equal("the file ends where it was", timeline.damage, "the file has no end mark")
    c.true("and can be read", len(timeline.rows("run")) > 0)


def rates(c):
    """the counters' rate is changed while it records"""
    w = Watched(c, "--max-overhead", "100")  # nothing else changes it
    c.equal("as asked for", capture_of(w.client)["rates"]["counters_hz"], 50)

    def interval(source="process"):
        told = w.client.json("/api/v1/system")["sources"]
        return [s["interval_ms"] for s in told if s["source"] == source]
    c.equal("refused", [w.client.control(action="rates", counters_hz=hz)[0] for hz in (0, 1001, "x")],
            [400] * 3)
    c.equal("slower", w.client.control(action="rates", counters_hz=4)[0], 200)
    c.equal("it is told", capture_of(w.client)["rates"], {"hz": 10, "counters_hz": 4})
    h.wait_until(lambda: interval() == [250], "the slower pace", program=w.capture)
    c.equal("both rates", w.client.control(action="rates", counters_hz=5, hz=20)[0], 200)
    c.equal("both are told", capture_of(w.client)["rates"], {"hz": 20, "counters_hz": 5})
    h.wait_until(lambda: interval() == [200], "the other pace", program=w.capture)
    w.finish(c)
    rows = h.load(w.trace).rows("sampling")
    asked = [row["interval_us"] for row in rows if row["source"] == "process" and row["reason"] == 4]
    c.equal("both changes are in the file", asked, [250000, 200000])


class Idle:
    """A program that has ONNX Runtime and does nothing."""

    def __init__(self, c, name):
        base = "%s/%s" % (c.folder, name)
        self.go, pid_file = base + ".go", base + ".pid"
        self.program = h.Program(c.folder, name, h.driver_arguments(
            looping.VERSION, "--iterations", 1, "--go-file", self.go, "--pid-file", pid_file,
            "--exit-code", 5))
        self.pid = h.read_pid(pid_file, self.program)

    def finish(self, c):
        h.touch(self.go)
        c.equal("it ends with its own code", self.program.wait(), 5)


def captures_at_once(c):
    """serve alone: ten at once and no more, each once; a place is free again when its capture has ended"""
    targets = [Idle(c, "idle-%d" % i) for i in range(11)]
    server = h.Program(c.folder, "serve", [h.ORTSCOPE, "serve", "--no-open"])
    client = opened(server)

    def shown():
        return {x["capture"]: x for x in client.json("/api/v1/metrics/current")["captures"]}

    def attach(target):
        status, body = client.control(action="attach", pid=target.pid)
        return status, body.get("capture", body.get("error", {}).get("message", ""))

    def end(number):
        c.equal("detach", client.control(action="detach", capture=number)[0], 200)
        h.wait_until(lambda: shown()[number]["state"] == "ended", "the end", program=server)
    c.equal("ten at once", [attach(t) for t in targets[:10]], [(200, i + 1) for i in range(10)])
    status, why = attach(targets[3])
    c.true("not twice", status == 409 and "already" in why, (status, why))
    status, why = attach(targets[10])
    c.true("an eleventh is refused", status == 409 and "10 processes" in why, (status, why))
    number, paths = 10, [x["file"] for x in shown().values()]
    for _ in range(8):  # more than ten in its life, more than sixteen to be looked at
        end(number)
        status, number = attach(targets[10] if number % 2 == 0 else targets[9])
        c.equal("room again", status, 200)
        paths.append(shown()[number]["file"])
    numbers = sorted(shown())
    c.equal("the oldest that had ended made room", numbers, list(range(1, 10)) + list(range(12, 19)))
    c.equal("gone is gone", client.ask("GET", "/api/v1/ops?capture=10")[0], 404)
    c.equal("no file was written twice", len(set(paths)), len(paths))
    server.interrupt()
    c.equal("Ctrl+C ends it", server.wait(), 0)
    for target in targets:
        target.finish(c)
    for path in paths:
        c.equal("a whole file: " + path, h.load(path).damage, None)
        os.remove(os.path.join(h.ROOT, path))


TESTS = [target_killed, browser_killed, client_suspended, disk_full, reconnects, ortscope_killed, rates,
         captures_at_once]

if __name__ == "__main__":
    h.run_tests("test_live_sturdy", TESTS)
