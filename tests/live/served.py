# SPDX-License-Identifier: MIT
"""`ortscope serve` on a recording of the gold tests, and the checks' way of saying what was wrong."""
import contextlib
import os
import select
import socket
import subprocess
import sys
import threading
import time

import client as live


class Checks:
    def __init__(self):
        self.count = self.failed = 0

    def equal(self, what, actual, expected):
        self.true(what, actual == expected, "got %r, expected %r" % (actual, expected))

    def true(self, what, condition, detail=""):
        self.count += 1
        if not condition:
            self.failed += 1
            print("FAIL %s: %s" % (what, str(detail)[:600]), flush=True)

    def end(self):
        print("%d checks, %d failed" % (self.count, self.failed))
        sys.exit(1 if self.failed else 0)


def make_files(maker, folder):
    os.makedirs(folder, exist_ok=True)
    subprocess.run([maker], cwd=folder, check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def serve(ortscope, recording, *options, opens=False, environment=None, **about):
    """A client of a server that has told the whole recording; `about` is for live.Client."""
    folder = os.path.dirname(os.path.abspath(recording))
    messages = os.path.join(folder, "serve.err")
    with open(messages, "wb") as err:
        process = subprocess.Popen([ortscope, "serve", recording, *(() if opens else ("--no-open",)),
                                    *options], cwd=folder, stdin=subprocess.DEVNULL, stderr=err,
                                   env=dict(os.environ, **(environment or {})))
    try:
        yield started(process, messages, **about)
    finally:
        process.terminate()
        code = process.wait(live.TIMEOUT)
        if code != 0:
            raise AssertionError("serve ended with %d: %s" % (code, read(messages)))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def started(process, messages, **about):
    until(lambda: "live view: " in read(messages) and read(messages).endswith("\n") and
          (about.get("tokens") or live.address_of(read(messages))) or process.poll() is not None,
          "the server")
    if process.poll() is not None:
        raise AssertionError(read(messages))
    return live.Client(read(messages), **about)


def refused(c, ortscope, recording, options, code, *words):
    """It ends by itself, before anybody could ask it, and says why."""
    done = subprocess.run([ortscope, "serve", recording, "--no-open", *options], timeout=live.TIMEOUT,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    told = " ".join(done.stderr.decode().split())
    c.true("refused: %s" % (options,), done.returncode == code and all(w in told for w in words) and
           "live view:" not in told, (done.returncode, told))
    return told


def until(condition, what):
    end = time.monotonic() + live.TIMEOUT
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("nothing within %d s: %s" % (live.TIMEOUT, what))
        time.sleep(0.02)


def wait_for_state(client, state):
    until(lambda: client.json("/api/v1/metrics/current")["captures"][0]["state"] == state, state)


def is_open(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def check_silent(c, client, count=100, kept=20):
    """Many who connect and send nothing, or never come to the end of their request, keep nobody out: the
    newest few are waited for, the others are put out when more come, not after their ten seconds."""
    begin = time.monotonic()
    idle = []
    for i in range(count):
        idle.append(socket.create_connection((client.at, client.port), live.TIMEOUT))
        if i % 2:
            idle[-1].sendall(b"GET / HTT")
    last = time.monotonic()  # they would be put out after ten seconds in any case
    c.equal("asked among %d silent ones" % count, client.ask("GET", "/api/v1/sessions")[0], 200)
    answered = time.monotonic() - begin
    still = sum(map(is_open, idle))
    while still > kept and time.monotonic() - last < 8:  # the last ones may be on their way out
        time.sleep(0.05)
        still = sum(map(is_open, idle))
    print("%d silent connections: answered after %.1f s, %d of them are open" % (count, answered, still))
    c.true("no more than %d are waited for" % kept, still <= kept, still)
    for connection in idle:
        connection.close()


def slow_reader(client, path, token):
    """One who has asked, with so little room for the answer that the server soon has to wait."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    s.settimeout(live.TIMEOUT)
    s.connect((client.at, client.port))
    if client.tls:
        s = client.tls.wrap_socket(s, server_hostname=client.host.strip("[]"))
    s.sendall(("GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (
        path, client.name, "Authorization: Bearer %s\r\n" % token if token else "")).encode())
    s.setblocking(False)
    return s


@contextlib.contextmanager
def slow_readers(client, path, token, count, bytes_per_s):
    """So many, each of whom reads that fast."""
    readers = [slow_reader(client, path, token) for _ in range(count)]
    stop = threading.Event()

    def read():
        while not stop.wait(0.1):
            for reader in readers:
                with contextlib.suppress(OSError):
                    reader.recv(bytes_per_s // 10)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield readers
    finally:
        stop.set()
        thread.join()
        for reader in readers:
            reader.close()


def check_slow(c, client, path, token="", count=60, bytes_per_s=1000):
    """Many who take their answers slowly keep nobody out."""
    with slow_readers(client, path, token, count, bytes_per_s):
        begin = time.monotonic()
        answers = [client.ask("GET", "/api/v1/metrics/current")[0] for _ in range(20)]
        print("%d that read %s slowly: 20 answers after %.1f s" % (count, path, time.monotonic() - begin))
        c.equal("asked among %d that read %s slowly" % (count, path), set(answers), {200})


def check_dripping(c, client, count=60):
    """Many who have got their answer, an error, and go on sending a byte now and then keep nobody out."""
    check_sending_on(c, client, b"GET /api/v1/metrics/current HTTP/1.1\r\nHost: %s\r\n\r\n" %
                     client.name.encode(), count)


def post(client, token, *headers):
    """The head of a request that has a body."""
    return "\r\n".join(("POST /api/v1/control HTTP/1.1", "Host: " + client.name,
                         "Authorization: Bearer " + token, "Content-Type: application/json", *headers,
                         "", "")).encode()


def check_dripping_posts(c, client, count=60):
    """Who may only read is refused without being listened to, so that nobody else waits."""
    check_sending_on(c, client, post(client, client.read_token, "Content-Length: 4000"), count)


def check_sending_on(c, client, request, count):
    dripping = []
    for _ in range(count):
        dripping.append(socket.create_connection((client.at, client.port), live.TIMEOUT))
        dripping[-1].sendall(request)
    stop = threading.Event()

    def drip():
        while not stop.wait(0.1):
            for connection in dripping:
                with contextlib.suppress(OSError):
                    connection.send(b"x")

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        begin = time.monotonic()
        answers = [client.ask("GET", "/api/v1/metrics/current")[0] for _ in range(20)]
        print("%d that go on sending: 20 answers after %.1f s" % (count, time.monotonic() - begin))
        c.equal("asked among %d that go on sending" % count, set(answers), {200})
    finally:
        stop.set()
        thread.join()
        for connection in dripping:
            connection.close()


def dripped(client, head, byte, seconds=2.5):
    """What comes back for a body that comes a byte at a time, each far within the limit."""
    answer = b""
    with client.connect() as s:
        s.sendall(head)
        end = time.monotonic() + live.TIMEOUT
        while not select.select([s], [], [], seconds)[0]:
            if time.monotonic() > end:
                raise AssertionError("a body that never ends is still awaited")
            s.sendall(byte)
        with contextlib.suppress(ConnectionResetError):  # it has closed, and we sent one more
            while True:
                part = s.recv(65536)
                if not part:
                    break
                answer += part
    return answer


def check_slow_bodies(c, client):
    """Who may control has ten seconds for a body, however it comes."""
    chunked = "Transfer-Encoding: chunked"
    kinds = {"a body": (post(client, client.control_token, "Content-Length: 4000"), b" "),
             "the length of a chunk": (post(client, client.control_token, chunked), b"0"),
             "a chunk": (post(client, client.control_token, chunked) + b"f00\r\n", b" ")}
    got = {}

    def one(what, head, byte):
        begin = time.monotonic()
        try:
            got[what] = dripped(client, head, byte).split(b"\r\n")[0]
        except (AssertionError, OSError) as error:
            got[what] = error
        print("%s, byte by byte: ended after %.0f s" % (what, time.monotonic() - begin))

    threads = [threading.Thread(target=one, args=(what, *sent)) for what, sent in kinds.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for what in kinds:
        c.equal(what + " that takes too long", got[what], b"HTTP/1.1 408 Request Timeout")
    c.equal("the next one", client.control(action="rates", hz=10)[0], 200)
