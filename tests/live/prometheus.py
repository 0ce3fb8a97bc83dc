# SPDX-License-Identifier: MIT
"""Debian's Prometheus and promtool (build/deps/src/prometheus), and samples of the text format."""
import contextlib
import json
import os
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import client as live
from ports import free_port
import served
import shapes

PROGRAMS = os.path.join(shapes.ROOT, "build/deps/src/prometheus")
SAMPLE = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(,|$)')
ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def promtool(*arguments, text=None):
    """(exit code, what it said)"""
    done = subprocess.run([os.path.join(PROGRAMS, "promtool"), *arguments], input=text,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=live.TIMEOUT)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def samples(exposition):
    """{(name, frozenset of labels): value} of a text that is UTF-8; ValueError at what is none."""
    found = {}
    for line in exposition.decode("utf-8").split("\n"):
        if not line or line.startswith("#"):
            continue
        name, inside, value = SAMPLE.match(line).groups()
        labels, at = [], 0
        while inside and at < len(inside):
            label = LABEL.match(inside, at)
            labels.append((label[1], re.sub(r"\\.", lambda m: ESCAPES[m[0]], label[2])))
            at = label.end()
        key = name, frozenset(labels)
        if key in found:
            raise ValueError("twice: %r" % (key,))
        found[key] = float(value)
    return found


class Prometheus:
    def __init__(self, port):
        self.port = port

    def ask(self, path, **query):
        url = "http://127.0.0.1:%d/api/v1/%s?%s" % (self.port, path, urllib.parse.urlencode(
            query, doseq=True))
        try:
            with urllib.request.urlopen(url, timeout=live.TIMEOUT) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:  # its body says what is wrong
            return json.load(error)

    def query(self, expression):
        """A list of (labels, value); an AssertionError where it does not take the expression."""
        answer = self.ask("query", query=expression)
        if answer["status"] != "success":
            raise AssertionError("%s: %s" % (expression, answer))
        return [(r["metric"], float(r["value"][1])) for r in answer["data"]["result"]]

    def value(self, expression):
        """Of an expression with one result; None where there is none yet."""
        found = self.query(expression)
        return found[0][1] if len(found) == 1 else None

    def is_ready(self):
        try:
            return self.ask("query", query="up")["status"] == "success"
        except (OSError, ValueError):
            return False


@contextlib.contextmanager
def started(folder, config):
    port = free_port()
    log = os.path.join(folder, "prometheus.log")
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [os.path.join(PROGRAMS, "prometheus"), "--config.file=" + config,
             "--storage.tsdb.path=" + os.path.join(folder, "tsdb"),
             "--web.listen-address=127.0.0.1:%d" % port, "--log.level=warn"],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        server = Prometheus(port)
        served.until(lambda: server.is_ready() or process.poll() is not None, "Prometheus")
        if process.poll() is not None:
            raise AssertionError(served.read(log))
        yield server
    finally:
        process.terminate()
        process.wait(live.TIMEOUT)
