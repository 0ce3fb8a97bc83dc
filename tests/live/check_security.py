# SPDX-License-Identifier: MIT
"""Every way in that should be closed: without a token, with a wrong one, from another host's page,
with broken or oversized requests and frames. After each the server still answers."""
import contextlib
import json
import os
import sys

import client as live
import served
import shapes

JSON = {"Content-Type": "application/json"}


def all_paths():
    return [(path, method.upper()) for path, item in shapes.DOCUMENT["paths"].items()
            for method in item if path != "/ws/metrics"]


def stream_status(client, **options):
    try:
        client.stream(**options).close()
        return 101
    except live.Refused as refused:
        return refused.args[0]


def check_tokens(c, client):
    wrong = ["", "x", "0" * 48, client.control_token[:-1], client.control_token + "0",
             client.control_token[:-1] + ("0" if client.control_token[-1] != "0" else "1"),
             client.control_token.upper() + "A"]
    for token in wrong:
        for path, method in all_paths():
            status, headers, body = client.ask(method, path, "{}" if method == "POST" else None,
                                               token=token, headers=JSON)
            c.equal("%s %s with %r" % (method, path, token[:8]), status, 401)
            c.true("no data", b"captures" not in body and b"error" in body, body[:100])
            c.equal("how to", headers.get("WWW-Authenticate"), "Bearer")
        c.equal("WebSocket with %r" % token[:8], stream_status(client, token=token), 401)
    c.equal("in the query", client.ask("GET", "/metrics?token=" + client.read_token, token="")[0], 200)
    c.equal("wrong in the query", client.ask("GET", "/metrics?token=" + "1" * 48, token="")[0], 401)
    c.equal("other scheme", client.ask("GET", "/metrics", token="", headers={
        "Authorization": "Basic " + client.control_token})[0], 401)


def check_read_token(c, client):
    for path in shapes.get_paths():
        c.equal("reading " + path, client.ask("GET", path, token=client.read_token)[0], 200)
    c.equal("told so", client.json("/api/v1/metrics/current", token=client.read_token)["control"],
            False)
    c.equal("no control", client.control(token=client.read_token, action="pause")[0], 403)
    c.equal("the stream", stream_status(client, token=client.read_token), 101)
    c.equal("control", client.control(action="pause")[0], 200)
    c.equal("a form", client.ask("POST", "/api/v1/control", '{"action": "pause"}', headers={
        "Content-Type": "application/x-www-form-urlencoded"})[0], 400)


def check_hosts(c, client):
    port = client.port
    for host in ("evil.example", "evil.example:%d" % port, "127.0.0.1", "127.0.0.1:1",
                 "127.0.0.1:%d.evil.example" % port, "localhost.:%d" % port, ""):
        for path in ("/", "/api/v1/sessions", "/metrics"):
            c.equal("Host %r: %s" % (host, path), client.ask("GET", path, headers={"Host": host})[0],
                    403)
        c.equal("stream, Host %r" % host, stream_status(client, headers={"Host": host}), 403)
    for host in ("localhost:%d" % port, "LOCALHOST:%d" % port, "[::1]:%d" % port):
        c.equal("Host %r" % host, client.ask("GET", "/api/v1/sessions", headers={"Host": host})[0], 200)
    for origin in ("http://evil.example", "null", "https://127.0.0.1:%d" % port, "http://127.0.0.1",
                   "http://127.0.0.1:%d.evil.example" % port, "http://127.0.0.1:%d/" % port, ""):
        c.equal("Origin %r" % origin, client.ask("GET", "/api/v1/sessions", headers={
            "Origin": origin})[0], 403)
        c.equal("control, Origin %r" % origin, client.control(
            headers={"Origin": origin}, action="pause")[0], 403)
        c.equal("stream, Origin %r" % origin, stream_status(client, headers={"Origin": origin}), 403)
    own = {"Origin": "http://" + client.name}
    c.equal("its own page", client.ask("GET", "/api/v1/sessions", headers=own)[0], 200)
    c.equal("its own page's stream", stream_status(client, headers=own), 101)


def check_headers(c, client):
    for path in ("/", "/api/v1/sessions", "/api/v1/nothing"):
        headers = client.ask("GET", path)[1]
        policy = headers.get("Content-Security-Policy", "")
        c.true("policy of " + path, "default-src 'none'" in policy and "unsafe" not in policy and
               "*" not in policy, policy)
        c.equal("no sniffing", headers.get("X-Content-Type-Options"), "nosniff")
        c.equal("no referrer", headers.get("Referrer-Policy"), "no-referrer")
        c.true("no other origin", "Access-Control-Allow-Origin" not in headers)
    status, headers, body = client.ask("GET", "/", token="")
    c.true("the page needs no token", status == 200 and b"<" in body, status)
    for path in ("/../../etc/passwd", "/..%2f..%2fetc/passwd", "/%00", "/app.js%00.html",
                 "/CMakeLists.txt", "/%2e%2e/src/live.c"):
        c.true("no file: " + path, client.ask("GET", path)[0] in (400, 401, 403, 404))


def check_broken(c, client):
    good = b"GET /api/v1/sessions HTTP/1.1\r\nHost: " + client.name.encode() + b"\r\n"
    token = b"Authorization: Bearer " + client.control_token.encode() + b"\r\n"
    requests = [
        b"", b"\r\n", b"\0" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\xff\xfe" * 2000,
        b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n\r\n",
        good + token + b"X: " + b"b" * 9000 + b"\r\n\r\n",
        good + b"".join(b"X%d: y\r\n" % i for i in range(500)) + token + b"\r\n",
        good + b": no name\r\n\r\n", good + b"Content-Length: -5\r\n\r\n",
        good + b"Content-Length: 99999999999999999999\r\n\r\n",
        b"POST /api/v1/control HTTP/1.1\r\nHost: " + client.name.encode() + b"\r\n" + token +
        b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /api/v1/control HTTP/1.1\r\nHost: " + client.name.encode() + b"\r\n" + token +
        b"Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{",
        b"GET /api/v1/sessions?%zz&token=%4 HTTP/1.1\r\nHost: " + client.name.encode() + b"\r\n\r\n",
    ]
    for request in requests:
        answer = client.raw(request)
        c.true("refused: %r" % request[:40], not answer.startswith(b"HTTP/1.1 200"), answer[:60])
    # Exactly what is read of it: with more, the server's end of the connection may overtake its answer.
    for header, status in ((good + token + b"X: " + b"b" * 6000 + b"\r\n\r\n", b"200"),
                           ((good + token + b"X: " + b"b" * 9000)[:8192], b"431")):
        c.equal("a header of %d bytes" % len(header), client.raw(header).split(b" ")[1:2], [status])
    c.equal("a body too large", client.ask("POST", "/api/v1/control", " " * 5000, headers=JSON)[0], 413)
    # A wish that could be read, but is not all that was announced.
    head = served.post(client, client.control_token, "Content-Length: 40")
    c.equal("half a body", client.raw(head + b'{"action": "pause"}').split(b" ")[1:2], [b"400"])
    # It has a body, which is not awaited: whose eight bytes came would be told 426.
    draft = good.replace(b"/api/v1/sessions", b"/ws/metrics") + token + b"Upgrade: websocket\r\n" \
        b"Connection: Upgrade\r\nSec-WebSocket-Key1: 1\r\nSec-WebSocket-Key2: 2\r\n\r\n"
    c.equal("a WebSocket of an old draft", served.dripped(client, draft, b"x", .5).split(b" ")[1:2], [b"400"])
    for body in (b"", b"{", b"[]", b"{}x", b'{"action": "pause"', b'{"action": {"a": 1}}', b"\xff",
                 b'{"action": "\\u0000"}', b'{"action": "mark", "text": "' + b"x" * 201 + b'"}',
                 b'{"action":1e999}', b'{"action": "speed", "speed": NaN}'):
        c.equal("body %r" % body[:30], client.ask("POST", "/api/v1/control", body, headers=JSON)[0], 400)
    c.equal("it still answers", client.ask("GET", "/api/v1/sessions")[0], 200)


def check_frames(c, client):
    def ends(what, *arguments, **options):
        stream = client.stream("hz=60")
        try:
            stream.send(*arguments, **options)
        except OSError:
            pass
        c.true("the connection ends: " + what, stream.ends())
        stream.close()

    ends("no JSON", b"hello")
    ends("out of range", b'{"hz": 1000}')
    ends("too long", b" " * 2000)
    ends("binary", b"{}", opcode=2)
    ends("no whole message", b"{}", final=False)
    ends("an unknown opcode", b"{}", opcode=11)
    ends("two gigabytes", b"{}", claim=(1 << 31) + 5)
    ends("100 MB", b"{}", claim=100 << 20)
    ends("half the address space", b"{}", claim=(1 << 63) - 1)
    ends("close", b"", opcode=8)
    stream = client.stream("hz=60")
    stream.socket.sendall(b"\x81")  # half a head, then gone
    stream.close()
    c.equal("it still answers", client.ask("GET", "/api/v1/sessions")[0], 200)


def check_many(c, client):
    def opened():
        # Those that were closed just now may still count.
        served.until(lambda: stream_status(client) == 101, "room")
        return client.stream("hz=1")

    streams = []
    while len(streams) < 16:
        with contextlib.suppress(live.Refused):
            streams.append(opened())
    # A client counts a moment after it has been answered.
    served.until(lambda: stream_status(client) == 503, "no room for one more")
    c.equal("requests go on", client.ask("GET", "/api/v1/sessions")[0], 200)
    for stream in streams:
        c.equal("a message for each", stream.message()["type"], "metrics")
        stream.close()
    served.until(lambda: stream_status(client) == 101, "room again")
    served.check_silent(c, client)
    served.check_dripping(c, client)
    served.check_dripping_posts(c, client)
    served.check_slow_bodies(c, client)
    for _ in range(20):  # reconnects
        stream = client.stream_when_room("hz=60")
        stream.message()
        stream.close()
    # A client that never reads: the others get their messages.
    deaf, other = client.stream_when_room("hz=60"), client.stream_when_room("hz=60")
    numbers = [other.message()["utc_ms"] for _ in range(5)]
    c.equal("others go on", numbers, sorted(numbers))
    deaf.close()
    other.close()


def last_line(path):
    return json.loads(served.read(path).splitlines()[-1])


def check_audit_of_refusals(c, client, path):
    """Whoever tried: without a token, with a wrong one, from a page elsewhere, with too much."""
    def told(what, status, right, **options):
        # Of strangers only some lines a second are kept.
        def tried():
            c.equal(what, client.control(action="pause", **options)[0], status)
            line = last_line(path)
            return (line["status"], line["token"], line["action"]) == (status, right, None)
        client.control(action="rates", hz=10)
        served.until(tried, "the line of: " + what)

    told("no token", 401, "none", token="")
    told("a wrong token", 401, "none", token="0" * 48)
    told("another origin", 403, "control", headers={"Origin": "http://evil.example"})
    told("another host", 403, "read", token=client.read_token, headers={"Host": "evil.example"})
    told("too much", 413, "control", text="x" * 5000)
    told("only reading", 403, "read", token=client.read_token)
    client.control(action="speed", speed=2.5)
    c.equal("its speed", (last_line(path)["action"], last_line(path)["speed"]), ("speed", 2.5))
    client.control(action="seek", to_s=0.25)
    c.equal("its moment", (last_line(path)["action"], last_line(path)["to_s"]), ("seek", 0.25))
    before = len(served.read(path).splitlines())
    tries = 300
    for _ in range(tries):
        client.control(action="pause", token="")
    client.control(action="rates", hz=10)
    served.until(lambda: last_line(path)["token"] == "control", "the line")
    lines = [json.loads(line) for line in served.read(path).splitlines()[before:]]
    c.equal("all are counted", len(lines) - 1 + sum(e.get("left_out", 0) for e in lines), tries)


def check_audit(c, client, path):
    client.control(action="pause")
    client.control(token=client.read_token, action="resume")
    lines = [json.loads(line) for line in served.read(path).splitlines()]
    c.equal("what was done", [(e["action"], e["token"], e["status"]) for e in lines[-2:]],
            [("pause", "control", 200), (None, "read", 403)])
    c.true("no token in it", client.control_token not in served.read(path))


def main():
    ortscope, maker, folder = sys.argv[1:]
    c = served.Checks()
    served.make_files(maker, folder)
    audit = os.path.join(folder, "audit.jsonl")
    with served.serve(ortscope, os.path.join(folder, "ops.ortl"), "--speed", "max", "--audit",
                      audit) as client:
        served.wait_for_state(client, "ended")
        check_tokens(c, client)
        check_read_token(c, client)
        check_hosts(c, client)
        check_headers(c, client)
        check_broken(c, client)
        check_frames(c, client)
        check_many(c, client)
        check_audit(c, client, audit)
        check_audit_of_refusals(c, client, audit)
    c.end()


if __name__ == "__main__":
    main()
