# SPDX-License-Identifier: MIT
"""Where the live view listens, by which names it is asked for, whose tokens count, and how the browser
learns the address."""
import os
import re
import shutil
import socket
import stat
import sys

import certificates
import served

CONTROL, READ = "c" * 32, "Read_token-0123456789abcdef0123456789" + "x" * 91


def check_refusals(c, ortscope, recording, made):
    tls = made.options("ec")

    def refused(options, code, *words):
        served.refused(c, ortscope, recording, options, code, *words)

    for address in ("0.0.0.0", "[::]", "::", "192.168.1.5", "fe80::1", "[::ffff:127.0.0.1]", "128.0.0.1"):
        refused(["--listen", address], 2, "--tls-cert", "--tls-key", "ssh -L")
    for address in ("", "example.com", "1.2.3", "1.2.3.4.5", "256.1.1.1", "127.0.0.1:80", "1.2.3.4s", "[", "[]",
                    "::1,0.0.0.0", "0.0.0.0,127.0.0.1", "127.0.0.1 ", "[::1", ":" * 60, "0x7f.0.0.1", "+"):
        refused(["--listen", address], 2, "--listen takes")
        refused(["--listen", address, "--host", "x", *tls], 2, "--listen takes")
    for address in ("0.0.0.0", "[::]"):
        refused(["--listen", address, *tls], 2, "--host")
    refused(["--listen", "203.0.113.77", *tls], 1, "203.0.113.77", "does not have")
    for name in ("", "a b", "a/b", "http://a", "a:", "a:b", "a:123456", "[::1", "::1", "a,b", "a" * 254, "é",
                 "a:1:2", "[x]", "a\r\nb"):
        refused(["--host", name], 2, "--host takes")
    refused([word for i in range(17) for word in ("--host", "h%d" % i)], 2, "--host")


def check_names(c, ortscope, recording, made):
    tls = made.options("rsa")
    about = {"authority": made["rsa.pem"]}
    with served.serve(ortscope, recording, "--host", "lab.example", "--host", "10.1.2.3:8443", "--host",
                      "far.example:443", *tls, connect_to="127.0.0.1", **about) as client:
        c.equal("the address", (client.scheme, client.host), ("https", "lab.example"))
        port = client.port

        def ask(host, origin=None):
            headers = {"Host": host, **({"Origin": origin} if origin else {})}
            return client.ask("GET", "/api/v1/sessions", headers=headers)[0]

        for host in ("lab.example:%d", "LAB.example:%d", "127.0.0.1:%d", "localhost:%d", "[::1]:%d"):
            c.equal(host, ask(host % port), 200)
            c.equal("Origin " + host, ask(host % port, "https://" + host % port), 200)
            c.equal("http Origin " + host, ask(host % port, "http://" + host % port), 403)
        for host in ("10.1.2.3:8443", "far.example"):
            c.equal(host, ask(host), 200)
        for host in ("lab.example", "lab.example:1", "10.1.2.3:%d" % port, "far.example:443", "evil.example",
                     "evil.example:%d" % port, "lab.example:%d.evil.example" % port, "0.0.0.0:%d" % port,
                     "127.0.0.2:%d" % port, ""):
            c.equal("not " + host, ask(host), 403)
        try:
            socket.create_connection(("127.0.0.2", port), 120).close()
            c.true("one address only", False)
        except ConnectionRefusedError:
            pass


def check_addresses(c, ortscope, recording, made):
    tls, about = made.options("ec"), {"authority": made["ec.pem"]}
    with served.serve(ortscope, recording, "--listen", "127.0.0.2", authority=None) as client:
        c.equal("another loopback address takes no TLS", (client.scheme, client.host), ("http", "127.0.0.2"))
        c.equal("it answers", client.ask("GET", "/api/v1/sessions")[0], 200)
    with served.serve(ortscope, recording, "--listen", "0.0.0.0", "--host", "localhost", *tls,
                      **about) as client:
        c.equal("the name is announced", client.host, "localhost")
        for at in ("127.0.0.1", "127.0.0.2"):
            client.at = at
            c.equal("every address: " + at, client.ask("GET", "/api/v1/sessions")[0], 200)
    if not has_v6():
        print("no IPv6 here: [::1] and [::] were not tried")
        return
    with served.serve(ortscope, recording, "--listen", "[::1]") as client:
        c.equal("IPv6", (client.scheme, client.host), ("http", "[::1]"))
        c.equal("it answers", client.ask("GET", "/api/v1/sessions")[0], 200)
        c.true("its stream", client.stream().message()["captures"])
    with served.serve(ortscope, recording, "--listen", "::", "--host", "localhost", *tls, **about) as client:
        for at in ("127.0.0.1", "::1"):
            client.at = at
            c.equal("both kinds: " + at, client.ask("GET", "/api/v1/sessions")[0], 200)


def has_v6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


def check_tokens(c, ortscope, recording, folder):
    path = os.path.join(folder, "tokens")

    def write(text):
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())

    for text, word in (
            ("", "no token"), ("\n# control: " + CONTROL + "\n", "no token"), ("control:\n", "too short"),
            ("control: " + CONTROL[1:], "too short"), ("read: " + "x" * 129, "too long"),
            ("read: %s x" % READ, "other characters"), ("read: " + "x" * 31 + "&", "other characters"),
            ("read: " + "é" * 32, "other characters"), (CONTROL, "names neither"),
            ("write: " + CONTROL, "names neither"), ("control " + CONTROL, "names neither"),
            ("read: %s\nread: %s\n" % (READ, CONTROL), "another line"),
            ("read: %s\ncontrol: %s\n" % (CONTROL, CONTROL), "the same token"),
            ("read: %s\n\0" % READ, "no token file"), ("#" * 5000, "no token file")):
        write(text)
        told = served.refused(c, ortscope, recording, ["--token-file", path], 2, word, path)
        c.true("no secret is told", CONTROL[1:] not in told and READ not in told, told)
    served.refused(c, ortscope, recording, ["--token-file", path + ".none"], 3, ".none")
    served.refused(c, ortscope, recording, ["--token-file", folder], 1, folder)

    write("\ufeff# for the fleet\r\n\r\ncontrol: %s  \r\nread:\t%s" % (CONTROL, READ))
    with served.serve(ortscope, recording, "--token-file", path, tokens=(CONTROL, READ)) as client:
        told = served.read(os.path.join(folder, "serve.err"))
        c.true("they are not printed", CONTROL not in told and READ not in told, told)
        c.equal("control", client.control(action="pause")[0], 200)
        c.equal("read", client.ask("GET", "/metrics", token=READ)[0], 200)
        c.equal("read is not control", client.control(token=READ, action="pause")[0], 403)
        for token in (CONTROL[1:], CONTROL + "c", READ[1:], READ + "x", "x" * 32, "x" * 4000):
            c.equal("wrong: %s" % token[:40], client.ask("GET", "/metrics", token=token)[0], 401)
        c.equal("in the query", client.ask("GET", "/metrics?token=" + READ, token="")[0], 200)
    write("read: " + READ)
    with served.serve(ortscope, recording, "--token-file", path, tokens=("", READ)) as client:
        c.equal("read alone", client.ask("GET", "/metrics", token=READ)[0], 200)
        c.equal("nobody controls", client.control(token=READ, action="pause")[0], 403)
        for header in ({}, {"Authorization": "Bearer "}):
            c.equal("not without a token", client.ask("GET", "/metrics", token="", headers=header)[0], 401)
        c.equal("nor with an empty one", client.ask("GET", "/metrics?token=", token="")[0], 401)


def check_browser(c, ortscope, recording, folder):
    """The token is in no command line; the file that the browser gets is its owner's alone, and goes."""
    home, programs, told = (os.path.join(folder, name) for name in ("home", "programs", "opened"))
    for path in (home, programs):
        os.makedirs(path, exist_ok=True)
    with open(os.path.join(programs, "xdg-open"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho call >> '%s.calls'\necho \"$@\" > '%s.new'\nmv '%s.new' '%s'\n" % (
            told, told, told, told))
    os.chmod(file.name, 0o755)
    for path in (told, told + ".calls"):
        if os.path.exists(path):
            os.remove(path)
    environment = {"HOME": home, "PATH": programs + ":" + os.environ["PATH"], "DISPLAY": ":77"}
    with served.serve(ortscope, recording, environment=environment) as client:
        c.equal("--no-open: it answers", client.ask("GET", "/api/v1/sessions")[0], 200)
    with served.serve(ortscope, recording, opens=True, environment=environment) as client:
        served.until(lambda: os.path.exists(told), "the browser's start")
        arguments = served.read(told).strip()
        c.true("a file of the user's", re.fullmatch(re.escape(home) + r"/ortscope-\w{6}\.html", arguments),
               arguments)
        c.equal("for nobody else", stat.S_IMODE(os.stat(arguments).st_mode), 0o600)
        url = "http://%s/?token=%s" % (client.name, client.control_token)
        c.true("it leads to the page", 'content="0; url=%s"' % url in served.read(arguments))
    c.equal("it is gone", os.listdir(home), [])
    c.equal("nobody was started with --no-open", served.read(told + ".calls"), "call\n")


def check_ports(c, ortscope, recording, folder):
    other = os.path.join(folder, "other")
    os.makedirs(other, exist_ok=True)
    copy = shutil.copy(recording, other)
    with served.serve(ortscope, recording) as first, served.serve(ortscope, copy) as second:
        c.true("9797 or one of the next", all(9797 <= x.port < 9797 + 64 for x in (first, second)),
               (first.port, second.port))
        c.true("each its own", first.port != second.port)
        for client in (first, second):
            c.equal("both answer", client.ask("GET", "/api/v1/sessions")[0], 200)
        served.refused(c, ortscope, recording, ["--port", str(first.port)], 1, "port %d" % first.port,
                       "another program", "--port")
    for rate in ("0", "61", "-1", "x"):
        served.refused(c, ortscope, recording, ["--live-rate", rate], 2, "--live-rate")
    for port in ("0", "65536", "x"):
        served.refused(c, ortscope, recording, ["--port", port], 2, "--port")


def main():
    ortscope, maker, folder = sys.argv[1:]
    c = served.Checks()
    served.make_files(maker, folder)
    recording = os.path.join(folder, "basic.ortl")
    made = certificates.Certificates(os.path.join(folder, "certificates"))
    check_refusals(c, ortscope, recording, made)
    check_names(c, ortscope, recording, made)
    check_addresses(c, ortscope, recording, made)
    check_tokens(c, ortscope, recording, folder)
    check_browser(c, ortscope, recording, folder)
    check_ports(c, ortscope, recording, folder)
    c.end()


if __name__ == "__main__":
    main()
