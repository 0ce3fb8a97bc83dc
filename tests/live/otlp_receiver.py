# SPDX-License-Identifier: MIT
"""An OTLP receiver over HTTP with JSON that is stricter than real ones: what the protocol does not have is
a mistake. https://opentelemetry.io/docs/specs/otlp/#otlphttp, opentelemetry/proto/metrics/v1. Each request gets
the next answer of a list, then the last one again and again."""
import json
import re
import socket
import threading

INT64 = re.compile(r"-?\d{1,19}")
CUMULATIVE = 2

# Members and what each must be; "?" behind a name: it may be missing.
SHAPES = {
    "request": {"resourceMetrics": ["resource_metrics"]},
    "resource_metrics": {"resource": "resource", "scopeMetrics": ["scope_metrics"]},
    "resource": {"attributes": ["attribute"]},
    "scope_metrics": {"scope": "scope", "metrics": ["metric"]},
    "scope": {"name": str, "version": str},
    "metric": {"name": str, "description": str, "unit?": str, "sum?": "sum", "gauge?": "gauge",
               "histogram?": "histogram"},
    "sum": {"aggregationTemporality": "cumulative", "isMonotonic": "true", "dataPoints": ["number"]},
    "gauge": {"dataPoints": ["number"]},
    "histogram": {"aggregationTemporality": "cumulative", "dataPoints": ["histogram_point"]},
    "number": {"attributes": ["attribute"], "startTimeUnixNano?": "time", "timeUnixNano": "time",
               "asInt?": "int64", "asDouble?": float},
    "histogram_point": {"attributes": ["attribute"], "startTimeUnixNano": "time", "timeUnixNano": "time",
                        "count": "int64", "sum": float, "bucketCounts": ["int64"],
                        "explicitBounds": [float]},
    "attribute": {"key": str, "value": "any_value"},
    "any_value": {"stringValue?": str, "intValue?": "int64"},
}


def _plain(value, wanted):
    if wanted is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if wanted is str:
        return isinstance(value, str)
    if wanted == "int64":
        return isinstance(value, str) and INT64.fullmatch(value) is not None
    if wanted == "time":
        return _plain(value, "int64") and 10 ** 18 < int(value) < 2 * 10 ** 18
    if wanted == "cumulative":
        return value == CUMULATIVE and not isinstance(value, bool)
    return value is True  # "true"


def problems(value, wanted="request", where="$"):
    """What is wrong with the shape of a document."""
    if isinstance(wanted, list):
        if not isinstance(value, list):
            return [where + ": no list"]
        return [p for i, item in enumerate(value) for p in problems(item, wanted[0], "%s[%d]" % (where, i))]
    if not isinstance(wanted, str) or wanted not in SHAPES:
        return [] if _plain(value, wanted) else ["%s: %r is no %s" % (where, value, wanted)]
    if not isinstance(value, dict):
        return [where + ": no object"]
    members = {name.rstrip("?"): kind for name, kind in SHAPES[wanted].items()}
    found = ["%s.%s: unknown" % (where, name) for name in value if name not in members]
    found += ["%s.%s: missing" % (where, name) for name in SHAPES[wanted]
              if not name.endswith("?") and name not in value]
    for name, kind in members.items():
        if name in value:
            found += problems(value[name], kind, "%s.%s" % (where, name))
    choices = [name for name in value if name + "?" in SHAPES[wanted] and name not in (
        "unit", "startTimeUnixNano")]
    if wanted in ("metric", "number", "any_value") and len(choices) != 1:
        found.append("%s: %d of the choices" % (where, len(choices)))
    return found


def metrics_of(document):
    return document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]


def points_of(metric):
    """(kind, {frozenset of attributes: point})"""
    kind = [k for k in ("sum", "gauge", "histogram") if k in metric][0]
    points = {}
    for point in metric[kind]["dataPoints"]:
        key = frozenset((a["key"], a["value"]["stringValue"]) for a in point["attributes"])
        if key in points or len(key) != len(point["attributes"]):
            raise AssertionError("twice: %s %s" % (metric["name"], key))
        points[key] = point
    return kind, points


def contradictions(document):
    """What is wrong with the numbers of a document that has the right shape."""
    found = []
    names = [m["name"] for m in metrics_of(document)]
    found += ["twice: " + name for name in names if names.count(name) > 1]
    for metric in metrics_of(document):
        kind, points = points_of(metric)
        if not points:
            found.append("no points: " + metric["name"])
        for point in points.values():
            if int(point.get("startTimeUnixNano", "1")) > int(point["timeUnixNano"]):
                found.append("begins after its end: " + metric["name"])
            if kind == "sum" and float(point.get("asInt", point.get("asDouble"))) < 0:
                found.append("below 0: " + metric["name"])
            if kind != "histogram":
                continue
            counts, bounds = [int(c) for c in point["bucketCounts"]], point["explicitBounds"]
            if len(counts) != len(bounds) + 1 or sum(counts) != int(point["count"]):
                found.append("buckets of " + metric["name"])
            if bounds != sorted(set(bounds)):
                found.append("bounds of " + metric["name"])
    return found


# ------------------------------------------------------------------------------------------ answers

def answer(status, body=b"{}", *headers, kind="application/json"):
    lines = ["HTTP/1.1 %d x" % status, "Content-Type: " + kind, "Content-Length: %d" % len(body), *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def partial(count, message):
    return answer(200, json.dumps({"partialSuccess": {
        "rejectedDataPoints": str(count), "errorMessage": message}}).encode())


HANG = object()  # takes everything and says nothing
CLOSE = object()  # goes before the request is read
DEAF = object()  # connects and reads nothing


class Receiver:
    def __init__(self, *answers):
        self.answers = list(answers) or [answer(200)]
        self.requests = []  # (first line, headers, body)
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(16)
        self.open = []
        self.lock = threading.Lock()
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        for connection in self.open:
            connection.close()

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.listener.getsockname()[1]

    def count(self):
        with self.lock:
            return len(self.requests)

    def documents(self):
        with self.lock:
            return [json.loads(body) for _, _, body in self.requests if body]

    def _serve(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._handle, args=(connection,), daemon=True).start()

    def _next(self, request):
        with self.lock:
            self.requests.append(request)
            return self.answers[min(len(self.requests), len(self.answers)) - 1]

    def _handle(self, connection):
        try:
            with self.lock:
                coming = self.answers[min(len(self.requests) + 1, len(self.answers)) - 1]
            if coming is CLOSE or coming is DEAF:
                self._next(("", {}, b""))
                if coming is DEAF:
                    self.open.append(connection)
                    return
            else:
                reply = self._next(self._read(connection))
                if reply is HANG:
                    self.open.append(connection)
                    return
                connection.sendall(reply)
            connection.close()
        except OSError:
            connection.close()

    @staticmethod
    def _read(connection):
        data = b""
        while b"\r\n\r\n" not in data:
            part = connection.recv(65536)
            if not part:
                raise OSError
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        while len(body) < int(headers["Content-Length"]):
            part = connection.recv(65536)
            if not part:
                raise OSError
            body += part
        return first, headers, body
