# SPDX-License-Identifier: MIT
"""Clients that come and go two hundred times, that stop reading, that ask for long answers while the end
comes: nothing is held, nothing grows, nobody waits. Where there are no bounds in figures, what is
waited for has a generous limit, and what it took is printed."""
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time

import client as live
import served

ROUNDS = 200
GROWTH_KIB = 16 << 10  # of the memory between the rounds; a leak of a message a round is more
OPERATORS = 3000000
SLOW_OPERATORS = 200000  # the system keeps less than their answers have
LATE_BYTES = 192 << 10  # 64 KiB here, what the client's side takes, and the message under way


def resources(process):
    """Threads and open files of the server."""
    folder = "/proc/%d/" % process.pid
    return len(os.listdir(folder + "task")), len(os.listdir(folder + "fd"))


def settle(process, before, what="threads and files as before"):
    """Until there are no more than before; one of the requests before may have been on its way out."""
    served.until(lambda: all(now <= then for now, then in zip(resources(process), before)),
                 "%s: %r, now %r" % (what, before, resources(process)))


def memory_kib(process):
    with open("/proc/%d/status" % process.pid) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


@contextlib.contextmanager
def serving(ortscope, recording, *options):
    """(client, process); ended by the caller or here, with exit code 0."""
    messages = recording + ".err"
    # The address sanitizer keeps what was freed: that is no growth of ours.
    env = dict(os.environ, ASAN_OPTIONS="quarantine_size_mb=1:" + os.environ.get("ASAN_OPTIONS", ""))
    with open(messages, "wb") as err:
        process = subprocess.Popen([ortscope, "serve", recording, "--no-open", *options],
                                   stdin=subprocess.DEVNULL, stderr=err, env=env)
    try:
        yield served.started(process, messages), process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(live.TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError("the server did not end")
        if code != 0:
            raise AssertionError("serve ended with %d: %s" % (code, served.read(messages)))


def check_reconnects(c, ortscope, recording):
    with serving(ortscope, recording, "--speed", "max") as (client, process):
        served.wait_for_state(client, "ended")

        def rounds():
            for i in range(ROUNDS):
                stream = client.stream_when_room("hz=60")
                stream.message()
                if i % 2:
                    stream.send(b"", opcode=8)  # as browsers go; the others are just gone
                stream.close()
                if i % 8 == 0:
                    client.json("/api/v1/sessions")
        before = resources(process)
        rounds()
        settle(process, before)
        first = memory_kib(process)
        rounds()
        settle(process, before)
        grown = memory_kib(process) - first
        c.true("memory after %d more" % ROUNDS, grown < GROWTH_KIB, "%d KiB more" % grown)
        print("%d reconnects: %d KiB more than after the first %d" % (ROUNDS, grown, ROUNDS))


def deaf_stream(client):
    """One that never reads, with little room on its side."""
    plain = socket.create_connection

    def small(address, timeout):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(timeout)
        s.connect(address)
        return s
    socket.create_connection = small
    try:
        return client.stream("hz=60")
    finally:
        socket.create_connection = plain


def check_deaf(c, ortscope, recording):
    """A client that stops reading loses its place, and the others notice nothing."""
    with serving(ortscope, recording, "--speed", "0.1") as (client, process):
        other = client.stream("hz=60")
        other.message()
        before = resources(process)
        begin = time.monotonic()
        deaf = [deaf_stream(client) for _ in range(3)]
        served.until(lambda: resources(process) > before, "the deaf ones to be there")
        numbers = [other.message()["utc_ms"] for _ in range(100)]
        c.equal("others go on", numbers, sorted(numbers))
        reading = threading.Event()

        def read_on():
            with contextlib.suppress(OSError, EOFError):
                while not reading.is_set():
                    other.message()
        thread = threading.Thread(target=read_on)
        thread.start()
        settle(process, before, "the places of the deaf ones")
        print("deaf clients were put out after %.0f s" % (time.monotonic() - begin))
        reading.set()
        thread.join()
        c.equal("the others still are served", client.ask("GET", "/api/v1/sessions")[0], 200)
        for stream in deaf:
            stream.close()
        other.close()


def check_late(c, ortscope, recording):
    """Who reads slowly gets the newest, not what has piled up: little is kept for a client on the way."""
    with serving(ortscope, recording, "--speed", "0.1") as (client, _):
        late, other = deaf_stream(client), client.stream("hz=60")
        late.message()
        sizes = [len(json.dumps(other.message())) for _ in range(200)]
        now = other.message()["utc_ms"]
        kept = 0
        while True:
            length, message = late.sized_message()
            if message["utc_ms"] >= now:
                break
            kept += length
        print("messages of %d KiB were made meanwhile, %d KiB of them kept" % (sum(sizes) >> 10, kept >> 10))
        c.true("not all are kept", kept < LATE_BYTES, kept)
        c.true("more could have been", sum(sizes) > 2 * LATE_BYTES, sum(sizes))
        late.close()
        other.close()


def check_end_with_deaf(c, ortscope, recording):
    """The end does not wait for those who do not read."""
    with serving(ortscope, recording, "--speed", "0.1") as (client, process):
        deaf = [deaf_stream(client) for _ in range(3)]
        other = client.stream("hz=60")
        for _ in range(60):
            other.message()
        begin = time.monotonic()
        process.send_signal(signal.SIGTERM)
        c.true("the other one is told the end", other.ends())
        c.equal("it ends", process.wait(live.TIMEOUT), 0)
        print("the end with deaf clients took %.1f s" % (time.monotonic() - begin))
        for stream in deaf:
            stream.close()


def check_slow(c, ortscope, recording):
    """Who reads slowly keeps nobody out: not by the page, for which no token is needed, not by long
    answers, not by exports, of which there are eight at once."""
    export = "/api/v1/export?format=ortl"
    with serving(ortscope, recording, "--speed", "max") as (client, _):
        served.wait_for_state(client, "ended")
        served.check_slow(c, client, "/uPlot.iife.min.js")
        served.check_slow(c, client, export, client.read_token)
        # For one alone that would be fast enough.
        served.check_slow(c, client, "/api/v1/timeline?from=0&to=1e9", client.read_token, bytes_per_s=4000)
        served.until(lambda: client.ask("GET", export)[0] == 200, "an export")
        # One more than there are places, since the export before may keep its own a moment longer.
        with served.slow_readers(client, export, client.read_token, 9, 1000) as readers:
            for reader in readers:
                c.true("its answer", select.select([reader], [], [], live.TIMEOUT)[0])
            c.equal("one more export", client.ask("GET", export)[0], 503)
            c.equal("others are answered", client.ask("GET", "/api/v1/sessions")[0], 200)
            begin = time.monotonic()
            served.until(lambda: client.ask("GET", export)[0] == 200, "the places of the slow ones")
            print("slow exports were put out after %.0f s" % (time.monotonic() - begin))


def check_far_seek(c, ortscope, recording):
    """While a replay reads up to where it was sent it tells how far it is, and can be sent elsewhere."""
    with serving(ortscope, recording, "--speed", "0.1") as (client, _):
        stream = client.stream("hz=60")
        end = stream.message()["captures"][0]["duration_s"]
        c.equal("seek", client.control(action="seek", to_s=end)[0], 200)
        times = []
        while not times or times[-1] < end:
            times.append(stream.message()["captures"][0]["time_s"])
        between = [t for t in times if 1 < t < end]
        print("a seek over %.0f s: told %d times in between" % (end, len(set(between))))
        c.true("times in between", between, times[:20])
        c.true("never back", times == sorted(times), times[:20])
        stream.close()


def check_end_with_long_answers(c, ortscope, recording):
    got = {}
    with serving(ortscope, recording, "--speed", "0.1") as (client, process):
        def ask(path):
            got[path] = client.raw(("GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n" % (
                path, client.name, client.control_token)).encode(), most=1 << 40)
        paths = ["/api/v1/export?format=chrome", "/api/v1/export?format=speedscope",
                 "/api/v1/timeline?from=0&to=1e9"]
        idle = len(os.listdir("/proc/%d/fd" % process.pid))
        threads = [threading.Thread(target=ask, args=(path,)) for path in paths]
        for thread in threads:
            thread.start()
        served.until(lambda: len(os.listdir("/proc/%d/fd" % process.pid)) >= idle + len(paths),
                     "the requests")
        begin = time.monotonic()
        process.send_signal(signal.SIGTERM)
        c.equal("it ends", process.wait(live.TIMEOUT), 0)
        print("the end with three long answers took %.1f s" % (time.monotonic() - begin))
        for thread in threads:
            thread.join()
    for path, answer in got.items():
        whole = answer.endswith(b"\r\n0\r\n\r\n")
        print("%s: %d bytes, %s" % (path, len(answer), "whole" if whole else "cut"))


def check_log(c, ortscope, folder, recording):
    log = os.path.join(folder, "new.jsonl")
    with contextlib.suppress(FileNotFoundError):
        os.remove(log)
    with serving(ortscope, recording, "--audit", log) as (client, _):
        for _ in range(3):
            client.control(action="rates", hz=20)
    c.equal("its owner's only", os.stat(log).st_mode & 0o777, 0o600)
    lines = served.read(log)
    c.true("whole lines", lines.count("\n") == 3 and lines.endswith("\n"), lines)
    with serving(ortscope, recording, "--audit", "/dev/full") as (client, _):
        for _ in range(3):
            c.equal("actions go on", client.control(action="rates", hz=20)[0], 200)
    c.equal("told once", served.read(recording + ".err").count("not logged from now on"), 1)
    done = subprocess.run([ortscope, "serve", recording, "--no-open", "--audit", folder + "/none/x"],
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=live.TIMEOUT, check=False)
    c.true("a log that can't be is refused", done.returncode != 0 and b"none/x" in done.stderr, done.stderr)


def main():
    ortscope, maker, folder, view_maker = sys.argv[1:]
    c = served.Checks()
    served.make_files(maker, folder)
    recording = os.path.join(folder, "ops.ortl")
    check_log(c, ortscope, folder, recording)
    check_reconnects(c, ortscope, recording)
    check_deaf(c, ortscope, os.path.join(folder, "basic.ortl"))
    check_late(c, ortscope, os.path.join(folder, "basic.ortl"))
    check_end_with_deaf(c, ortscope, os.path.join(folder, "basic.ortl"))
    slow = os.path.join(folder, "slow.ortl")
    subprocess.run([view_maker, "ortl", slow, str(SLOW_OPERATORS)], check=True, stdout=subprocess.DEVNULL)
    check_slow(c, ortscope, slow)
    os.remove(slow)
    large = os.path.join(folder, "large.ortl")
    subprocess.run([view_maker, "ortl", large, str(OPERATORS)], check=True, stdout=subprocess.DEVNULL)
    check_far_seek(c, ortscope, large)
    check_end_with_long_answers(c, ortscope, large)
    os.remove(large)
    c.end()


if __name__ == "__main__":
    main()
