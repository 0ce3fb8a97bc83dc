# SPDX-License-Identifier: MIT
"""The live view over TLS: what is asked and answered is the same, wrong certificates are refused before
anybody can connect, broken handshakes disturb nobody."""
import contextlib
import os
import random
import socket
import ssl
import sys
import threading

import certificates
import client as live
import served
import shapes


def check_refusals(c, ortscope, recording, made):
    def refused(cert, key, code, *words):
        served.refused(c, ortscope, recording, ["--tls-cert", cert, "--tls-key", key], code, *words)

    made.make_encrypted()
    made.make_signed()
    made.make("ed", "-newkey", "ed25519")
    good, key = made["ec.pem"], made["ec.key"]
    for option, value in (("--tls-cert", good), ("--tls-key", key)):
        served.refused(c, ortscope, recording, [option, value], 2, "go together")
    refused(made["none.pem"], key, 3, "none.pem")
    refused(good, made["none.key"], 3, "none.key")
    refused(made.folder, key, 1, made.folder)
    refused(good, made["rsa.key"], 2, "does not belong", "rsa.key")
    refused(made["rsa.pem"], key, 2, "does not belong", "rsa.pem")
    refused(made["turned.pem"], made["signed.key"], 2, "first", "turned.pem")
    for name in ("pkcs8.key", "traditional.key"):
        refused(made["ec.pem" if name == "pkcs8.key" else "rsa.pem"], made[name], 2, "encrypted", name)
    refused(made["ed.pem"], made["ed.key"], 2, "RSA", "ed.pem")
    refused(key, key, 2, "no certificate", "ec.key")
    refused(good, good, 2, "no private key", "ec.pem")
    for name, data in (("empty", b""), ("text", b"hello\n"), ("binary", bytes(range(256))),
                       ("large", b"x" * 300000)):
        made.write(name, data)
        refused(made[name], key, 2, name)
        refused(good, made[name], 2, name)
    whole = made.read("ec.pem")
    made.write("cut.pem", whole[:len(whole) // 2] + b"\n-----END CERTIFICATE-----\n")
    refused(made["cut.pem"], key, 2, "cut.pem")
    whole = made.read("ec.key")
    made.write("cut.key", whole[:len(whole) // 2] + b"\n-----END PRIVATE KEY-----\n")
    refused(good, made["cut.key"], 2, "cut.key")
    made.write("half.pem", made.read("ec.pem") + made.read("cut.pem"))
    refused(made["half.pem"], key, 2, "half.pem")


def check_answers(c, client, recording):
    """All that there is without TLS."""
    for path in shapes.get_paths():
        c.equal(path, shapes.check_get(client, path), [])
    with open(recording, "rb") as file:
        c.equal("a download", client.ask("GET", "/api/v1/export?format=ortl")[2], file.read())
    status, headers, page = client.ask("GET", "/", token="")
    c.true("the page", status == 200 and b"<script" in page, status)
    c.true("its policy", "connect-src 'self'" in headers["Content-Security-Policy"], headers)
    c.true("a large answer", len(client.ask("GET", "/uPlot.iife.min.js")[2]) > 40000)
    stream = client.stream("hz=60")
    c.equal("a message", shapes.problems(stream.message(), shapes.schema_of(
        "/api/v1/metrics/current")), [])
    stream.send(b'{"window_s": 2}')
    served.until(lambda: stream.message()["window_s"] == 2, "the client's window")
    stream.close()
    c.equal("control", client.control(action="rates", hz=20)[0], 200)
    c.equal("no token", client.ask("GET", "/metrics", token="")[0], 401)
    for origin, status in (("https://" + client.name, 200), ("http://" + client.name, 403)):
        c.equal("from " + origin, client.ask("GET", "/metrics", headers={"Origin": origin})[0], status)


def check_protocol(c, client):
    with client.connect() as s:
        c.equal("TLS 1.2", s.version(), "TLSv1.2")
        c.true("a modern cipher", "ECDHE" in s.cipher()[0] and "GCM" in s.cipher()[0], s.cipher())

    def refused(what, **settings):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        tls.set_ciphers(settings.pop("ciphers", "ALL:@SECLEVEL=0"))
        for name, value in settings.items():
            setattr(tls, name, value)
        try:
            client.connect(tls).close()
            c.true(what, False, "it was taken")
        except (ssl.SSLError, ConnectionError) as error:
            c.true(what, "unrecognized" not in str(error), error)

    with contextlib.suppress(ssl.SSLError, ValueError):  # where Python's own TLS can still do that
        refused("TLS 1.1", minimum_version=ssl.TLSVersion.TLSv1, maximum_version=ssl.TLSVersion.TLSv1_1)
    for name in ("AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES128-SHA", "AES256-SHA"):
        refused(name, ciphers=name + ":@SECLEVEL=0", maximum_version=ssl.TLSVersion.TLSv1_2)
    stranger = ssl.create_default_context()
    try:
        client.connect(stranger).close()
        c.true("who does not know the certificate", False)
    except ssl.SSLError:
        pass


def hello_of():
    """The first bytes of a real client."""
    out = ssl.MemoryBIO()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return out.read()


def check_broken(c, client):
    hello = hello_of()
    alert = b"\x15\x03\x03\x00\x02\x01\x5a"  # a warning, which changes nothing
    requests = [
        b"GET / HTTP/1.1\r\nHost: " + client.name.encode() + b"\r\n\r\n", b"", b"\0", b"\0" * 5000,
        b"\x16", hello[:3], hello[:7], hello[:-1], hello + b"\0" * 5000, hello + hello, hello * 20,
        b"\x16\x03\x01\xff\xff" + b"a" * 65535, b"\x16\x03\x01\0\0" * 5000, alert * 20000,
        hello + alert * 20000, b"\x17\x03\x03\x00\x20" + b"b" * 32, b"\x16\x03\x03\x00\x04\x01\xff\xff\xff",
        b"\x80\x2e\x01\x00\x02" + b"c" * 44, b"\x14\x03\x03\x00\x01\x01" * 100,
    ]
    generator = random.Random(28)
    for _ in range(150):
        changed = bytearray(hello)
        for _ in range(generator.choice((1, 1, 2, 8))):
            changed[generator.randrange(5, len(changed))] = generator.randrange(256)
        requests.append(bytes(changed))
        cut = generator.randrange(len(hello))
        requests.append(b"\x16\x03\x01" + cut.to_bytes(2, "big") + hello[5:5 + cut])
    for request in requests:
        answer = client.raw(request)
        c.true("no page for %r" % request[:20], b"HTTP/1" not in answer, answer[:60])
    c.equal("it still answers", client.ask("GET", "/api/v1/sessions")[0], 200)


def check_after_handshake(c, client):
    """Broken records where a request was expected."""
    for data in (b"\x17\x03\x03\x00\x20" + b"x" * 32, b"\x16\x03\x03\x00\x04\0\0\0\0", b"junk" * 5000):
        with client.connect() as s:
            raw = socket.socket(fileno=os.dup(s.fileno()))
            with contextlib.suppress(OSError):
                raw.sendall(data)
            with contextlib.suppress(OSError):
                c.equal("no answer", s.recv(100), b"")
            raw.close()
    with client.connect() as s:  # a request without its end, then nothing
        s.sendall(b"GET / HTTP/1.1\r\nHost:")
    c.equal("it still answers", client.ask("GET", "/api/v1/sessions")[0], 200)


def check_silent(c, client):
    """Clients that stop in their handshake: others are answered, and they are not waited for for ever."""
    hello = hello_of()
    silent = [client.connect(plain=True) for _ in range(20)]
    for i, s in enumerate(silent):
        s.sendall(hello[:(0, 1, 5, 50, len(hello))[i % 5]])
    for _ in range(3):
        c.equal("others are answered", client.ask("GET", "/api/v1/sessions")[0], 200)
    for s in silent:
        with contextlib.suppress(ConnectionResetError):
            while s.recv(65536):  # those with a whole hello get the server's own
                pass
        s.close()


def check_many(c, client):
    """Ten at once, each with requests and a stream that it talks to while messages come."""
    problems = []

    def one(number):
        try:
            stream = client.stream("hz=60")
            for i in range(10):
                stream.send(b'{"window_s": %d}' % (1 + (number + i) % 9))
                stream.message()
                if client.ask("GET", "/api/v1/metrics/current")[0] != 200:
                    raise AssertionError("no answer")
            stream.close()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            problems.append("client %d: %r" % (number, error))

    threads = [threading.Thread(target=one, args=(i,)) for i in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    c.equal("ten at once", problems, [])


def main():
    ortscope, maker, folder = sys.argv[1:]
    c = served.Checks()
    served.make_files(maker, folder)
    recording = os.path.join(folder, "ops.ortl")
    made = certificates.Certificates(os.path.join(folder, "certificates"))
    check_refusals(c, ortscope, recording, made)
    for name, authority in (("rsa", "rsa"), ("ec", "ec"), ("signed", "authority")):
        with served.serve(ortscope, recording, "--speed", "max", *made.options(name),
                          authority=made[authority + ".pem"]) as client:
            served.wait_for_state(client, "ended")
            c.equal("the address", client.scheme, "https")
            check_answers(c, client, recording)
            check_many(c, client)
            check_protocol(c, client)
            if name != "signed":
                check_broken(c, client)
                check_after_handshake(c, client)
    with served.serve(ortscope, recording, *made.options("ec"), authority=made["ec.pem"]) as client:
        check_silent(c, client)
        served.check_silent(c, client)
        served.check_slow(c, client, "/uPlot.iife.min.js")
        served.check_slow(c, client, "/api/v1/export?format=ortl", client.read_token)
        served.check_slow_bodies(c, client)
        # It ends while these stay.
        kept = [client.connect(plain=True) for _ in range(5)] + [client.connect() for _ in range(2)]
        kept[0].sendall(hello_of()[:40])
        stream = client.stream()
        stream.message()
    c.true("the stream was ended", stream.ends())
    for s in kept:
        s.close()
    messages = served.read(os.path.join(folder, "serve.err"))
    c.equal("nothing but the addresses is printed", len(messages.strip().split("\n")), 2)
    c.end()


if __name__ == "__main__":
    main()
