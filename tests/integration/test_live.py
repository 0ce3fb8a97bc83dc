# SPDX-License-Identifier: MIT
"""The live view while a real program runs: the figures move, agree with the file, and clients can
do what they may."""
import os
import sys
import threading
import time

import harness as h
import looping

sys.path.insert(0, os.path.join(h.ROOT, "tests/live"))
import certificates  # noqa: E402
import client as live  # noqa: E402
import served  # noqa: E402
import shapes  # noqa: E402


def opened(program, **about):
    h.wait_until(lambda: live.address_of(program.err), "address of the live view", program=program)
    return live.Client(program.err, **about)


def capture_of(client, number=0):
    return client.json("/api/v1/metrics/current")["captures"][number]


def runs_of(capture):
    return sum(s["runs"] for s in capture["sessions"])


def attach_moves(c):
    """attach --live: figures move with the program, and at the end they are the file's."""
    target = looping.Looping(c)
    trace = c.folder + "/attach.ortl"
    capture = h.attach(c.folder, "attach", target.pid, trace, "--live", "--no-open")
    client = opened(capture)
    h.wait_until(lambda: client.json("/api/v1/metrics/current")["captures"] and
                 runs_of(capture_of(client)) > 20, "runs in the live view", program=capture)
    first = runs_of(capture_of(client))
    target.more_runs(50)
    h.wait_until(lambda: runs_of(capture_of(client)) >= first + 40, "more runs", program=capture)
    current = capture_of(client)
    c.equal("it records", (current["mode"], current["state"]), ("live", "recording"))
    c.equal("nothing is missing", (current["lost_events"], current["dropped_rows"]), (0, 0))
    c.equal("one session", len(current["sessions"]), 1)
    session = current["sessions"][0]
    c.true("latency of the window", session["window"]["latency_us"]["p50"] > 0)
    timeline = client.json("/api/v1/timeline")
    c.true("operators of a run", len(timeline["ops"]["kernel"]) > 100,
           len(timeline["ops"]["kernel"]))
    c.equal("from memory", timeline["source"], "memory")
    old = client.json("/api/v1/timeline?session=%d&run=%d" % (
        session["session"], timeline["runs"][0]["run"]))
    c.equal("the same run again", old["ops"]["kernel"], timeline["ops"]["kernel"])
    for path in shapes.get_paths():
        problems = shapes.check_get(client, path)
        c.equal("as documented: " + path, problems, [])

    stream = client.stream("hz=60")
    numbers = [m["captures"][0]["time_s"] for m in (stream.message() for _ in range(10))]
    c.true("messages go on", numbers == sorted(numbers) and numbers[-1] > numbers[0], numbers)

    c.equal("a mark", client.control(action="mark", text="here")[0], 200)
    h.wait_until(lambda: client.json("/api/v1/metrics/history")["marks"], "the mark",
                 program=capture)
    c.equal("seeking is for recordings", client.control(action="seek", to_s=1)[0], 409)
    c.equal("pause", client.control(action="pause")[0], 200)
    c.equal("it is paused", capture_of(client)["state"], "paused")
    c.equal("resume", client.control(action="resume")[0], 200)
    c.equal("detach", client.control(action="detach")[0], 200)
    last = None
    try:
        while True:
            last = stream.message()["captures"][0]
    except (EOFError, ConnectionResetError):
        pass
    c.equal("ortscope ends", capture.wait(), 0)
    target.finish(c)
    c.equal("the last message says so", last["state"], "ended")
    summary = h.summary(trace)
    c.equal("runs: live and file", runs_of(last), sum(s["runs"] for s in summary["sessions"]))
    whole, file = last["sessions"][0]["total"]["latency_us"], summary["sessions"][0]["latency_us"]
    for name in ("min", "p50", "p95", "p99", "max"):
        c.true("%s: live and file" % name, abs(whole[name] - file[name]) <= 0.002 * file[name] + 0.01,
               (whole[name], file[name]))
    marks = [row["text"] for row in h.load(trace).rows("mark")]
    c.equal("the mark is in the file", marks, ["here"])


def sampled(c):
    """--ops sample:100: most runs have no operators, and the newest inference that is shown is one that has."""
    target = looping.Looping(c)
    capture = h.attach(c.folder, "sampled", target.pid, c.folder + "/sampled.ortl", "--live", "--no-open", "--ops",
                       "sample:100")
    client = opened(capture)
    h.wait_until(lambda: client.json("/api/v1/metrics/current")["captures"] and
                 runs_of(capture_of(client)) > 110, "runs in the live view", program=capture)
    counts = []
    for _ in range(20):
        answer = client.json("/api/v1/timeline")
        counts.append((answer["source"], len(answer["ops"]["kernel"])))
        target.more_runs(15)
    c.true("operators each time", all(source == "memory" and ops > 100 for source, ops in counts), counts)
    capture.interrupt()
    c.equal("Ctrl+C ends it", capture.wait(), 0)
    target.finish(c)


def run_ends(c):
    """run --live: the program's exit code, and clients that stay: they are told the end."""
    trace = c.folder + "/run.ortl"
    stop = c.folder + "/stop"
    program = h.Program(c.folder, "run", [h.ORTSCOPE, "run", "-q", "--live", "--no-open", "-o",
                                          trace, "--"] + h.node_arguments(
        looping.VERSION, "--stop-file", stop, "--seconds", h.FOREVER, "--exit-code", 5))
    client = opened(program)
    h.wait_until(lambda: client.json("/api/v1/metrics/current")["captures"] and
                 runs_of(capture_of(client)) > 5, "runs in the live view", program=program)
    streams = [client.stream("hz=%d" % hz) for hz in (1, 10, 60)]
    for stream in streams:
        c.true("a message", stream.message()["captures"])
    h.touch(stop)
    c.equal("the program's own code", program.wait(), 5)
    c.true("every client was told the end", all(stream.ends() for stream in streams))
    c.true("the file is whole", h.summary(trace)["sessions"][0]["runs"] > 5)


def from_outside(c):
    """--no-hooks: the view says that nobody is inside, and why operators and arenas are missing."""
    target = looping.Looping(c)
    trace = c.folder + "/outside.ortl"
    capture = h.Program(c.folder, "outside", [h.ORTSCOPE, "attach", target.pid, "-q", "-o", trace, "--no-hooks",
                                              "--live", "--no-open"])
    client = opened(capture)
    h.wait_until(lambda: client.json("/api/v1/metrics/current")["captures"], "the capture", program=capture)
    h.wait_until(lambda: capture_of(client)["processes"], "the process", program=capture)
    c.equal("how", [p["how"] for p in capture_of(client)["processes"]], ["watched"])
    missing = {m["what"]: m for m in client.json("/api/v1/system")["missing"]}
    for what in ("operators", "arena"):
        c.true(what + ": why, and what would help", "--no-hooks" in missing[what]["why"] and
               missing[what]["command"] == "ortscope attach PID", missing[what])
    capture.interrupt()
    c.equal("Ctrl+C ends it", capture.wait(), 0)
    target.finish(c)
    c.true("the summary says it as well", "watched from outside" in h.ortscope(
        c.folder, "summary", "summary", trace).out)


def serve_attaches(c):
    """serve alone: processes are listed, two are attached to from there, each with its own file."""
    targets = [looping.Looping(c, name) for name in ("first", "second")]
    server = h.Program(c.folder, "serve", [h.ORTSCOPE, "serve", "--no-open", "--audit",
                                           c.folder + "/audit.jsonl"])
    client = opened(server)
    c.equal("nothing is recorded yet", client.json("/api/v1/metrics/current")["captures"], [])
    client.json("/api/v1/ops", 404)
    listed = {p["pid"]: p for p in client.json("/api/v1/processes")["processes"]}
    c.equal("as documented", shapes.check_get(client, "/api/v1/processes"), [])
    for i, target in enumerate(targets):
        c.true("process %d is listed" % i, listed.get(target.pid, {}).get("can_attach"), listed)
        status, body = client.control(action="attach", pid=target.pid)
        c.equal("attach", (status, body.get("capture")), (200, i + 1))
    c.equal("no such process", client.control(action="attach", pid=4294967294)[0], 404)
    for i in range(2):
        h.wait_until(lambda: runs_of(capture_of(client, i)) > 20, "runs of capture %d" % (i + 1),
                     program=server)
    files = [capture_of(client, i)["file"] for i in range(2)]
    c.equal("detach from one", client.control(action="detach", capture=1)[0], 200)
    h.wait_until(lambda: capture_of(client, 0)["state"] == "ended", "the end", program=server)
    before = runs_of(capture_of(client, 1))
    h.wait_until(lambda: runs_of(capture_of(client, 1)) > before, "the other goes on", program=server)
    targets[1].finish(c)  # its capture ends with it
    h.wait_until(lambda: capture_of(client, 1)["state"] == "ended", "the end", program=server)
    c.equal("it is told how", capture_of(client, 1)["processes"][0]["exit_code"], 5)
    told = [runs_of(capture_of(client, i)) for i in range(2)]
    server.interrupt()
    c.equal("Ctrl+C ends it", server.wait(), 0)
    targets[0].finish(c)
    for path, runs in zip(files, told):
        c.equal("live and file", sum(s["runs"] for s in h.summary(path)["sessions"]), runs)
        os.remove(os.path.join(h.ROOT, path))


def many_who_go_on(c):
    """Clients that were refused and never stop sending: nobody else waits for them."""
    server = h.Program(c.folder, "serve", [h.ORTSCOPE, "serve", "--no-open"])
    client = opened(server)
    served.check_dripping(c, client)
    served.check_dripping_posts(c, client)
    server.interrupt()
    c.equal("Ctrl+C ends it", server.wait(), 0)


def over_tls(c):
    """run --live and serve FILE with certificate and key: requests, a stream, many at once, broken
    handshakes; a wrong pair is refused before the program starts."""
    made = certificates.Certificates(os.path.join(h.ROOT, c.folder, "certificates"))
    trace, stop = c.folder + "/tls.ortl", c.folder + "/stop"
    node = h.node_arguments(looping.VERSION, "--stop-file", stop, "--seconds", h.FOREVER, "--exit-code", 5)
    run = [h.ORTSCOPE, "run", "-q", "--live", "--no-open", "-o", trace]
    wrong = h.Program(c.folder, "wrong", run + ["--tls-cert", made["ec.pem"], "--tls-key", made["rsa.key"],
                                                "--"] + node)
    c.equal("a wrong pair", wrong.wait(), 2)
    c.true("it says so", "does not belong" in " ".join(wrong.err.split()), wrong.err)
    c.true("nothing was started", not os.path.exists(trace))
    program = h.Program(c.folder, "run", run + made.options("rsa") + ["--"] + node)
    client = opened(program, authority=made["rsa.pem"])
    h.wait_until(lambda: client.json("/api/v1/metrics/current")["captures"] and
                 runs_of(capture_of(client)) > 5, "runs in the live view", program=program)
    stream = client.stream("hz=60")
    c.true("messages", all(stream.message()["captures"] for _ in range(5)))
    stream.close()
    h.touch(stop)
    c.equal("the program's own code", program.wait(), 5)

    server = h.Program(c.folder, "serve", [h.ORTSCOPE, "serve", trace, "--no-open", "--speed", "max"] +
                       made.options("ec"))
    client = opened(server, authority=made["ec.pem"])
    for path in shapes.get_paths():
        c.equal("as documented: " + path, shapes.check_get(client, path), [])
    with open(os.path.join(h.ROOT, trace), "rb") as file:
        c.equal("a download", client.ask("GET", "/api/v1/export?format=ortl")[2], file.read())
    c.true("no page without TLS", b"HTTP/1" not in client.raw(b"GET / HTTP/1.1\r\n\r\n"))
    silent = [client.connect(plain=True) for _ in range(5)]
    silent[0].sendall(b"\x16\x03\x01")
    problems = []

    def one():
        try:
            many = client.stream("hz=60")
            for _ in range(3):
                many.send(b'{"window_s": 3}')
                many.message()
            many.close()
        except Exception as error:  # noqa: BLE001 - told below
            problems.append(repr(error))

    threads = [threading.Thread(target=one) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    c.equal("ten at once, beside silent ones", problems, [])
    for s in silent:
        s.close()
    server.interrupt()
    c.equal("Ctrl+C ends it", server.wait(), 0)


if __name__ == "__main__":
    h.run_tests("test_live", [attach_moves, sampled, run_ends, from_outside, serve_attaches, many_who_go_on, over_tls])
