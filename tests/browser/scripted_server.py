# SPDX-License-Identifier: MIT
"""A server that answers as docs/api.md says, with whatever a test wants: states of the dashboard that a
replay of a file can't show (a live capture, lost events, a target that is gone, another token)."""
import base64
import copy
import hashlib
import http.server
import json
import math
import pathlib
import socket
import socketserver
import struct
import sys
import threading
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))
from ports import free_port  # noqa: E402

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css",
         ".svg": "image/svg+xml"}
OP_TYPES = ["Conv", "Mul", "Clip", "Add", "Div", "ReorderInput", "ReorderOutput", "GlobalAveragePool",
            "MatMul", "Softmax"]


def latency(p50):
    return {"min": p50 * .9, "mean": p50 * 1.1, "stddev": p50 / 10, "p50": p50, "p90": p50 * 1.4,
            "p95": p50 * 1.5, "p99": p50 * 1.9, "p99_9": p50 * 3, "max": p50 * 5}


def session(number, model, p50=1822.4):
    return {"session": number, "process": 1, "model": model, "ended": False, "runs": 500 * number,
            "failed_runs": 0, "in_flight": number,
            "window": {"runs": 61, "failed_runs": 0, "throughput_per_s": 411.2 / number,
                       "in_flight_max": number + 1, "latency_us": latency(p50)},
            "total": {"throughput_per_s": 398.1, "latency_us": latency(p50 * 1.02)},
            "last_run": {"run": 500, "begin_s": 59.9, "duration_us": p50, "status": 0, "ops": 229},
            "recent_runs": {"run": [500], "begin_s": [59.9], "duration_us": [p50], "status": [0]},
            "memory": {"held_bytes": 3159000, "in_use_bytes": 549600, "peak_bytes": 1115000,
                       "run_allocated_bytes": 565800, "run_allocations": 2, "shared": False}}


def metrics():
    return {
        "schema_version": 1, "type": "metrics", "utc_ms": 1794842478123.4, "window_s": 5, "control": True,
        "captures": [{
            "capture": 1, "mode": "live", "state": "recording", "time_s": 60.0, "duration_s": None,
            "speed": None, "file": "ortscope-node-220.ortl", "file_bytes": 1234567, "lost_events": 0,
            "dropped_rows": 0, "overhead_per_run_us": 1.2, "rates": {"hz": 10, "counters_hz": 50},
            "processes": [{"process": 1, "pid": 220, "program": "C:\\x\\node.exe", "how": "attached",
                           "state": "running", "exit_code": None, "cpu_percent": 93.1, "working_set_bytes": 181600000,
                           "private_bytes": 150000000, "threads": 11}],
            "sessions": [session(1, "models\\cls.onnx")],
            "system": {"cpu_percent": 61.2,
                       "cores": [{"core": 0, "cpu_percent": 93}, {"core": 1, "cpu_percent": 29.4}],
                       "memory_available_bytes": 8e9, "memory_committed_bytes": 4e9, "gpus": [],
                       "npus": [], "power_w": None, "energy_j": None, "temperature_c": None,
                       "energy_per_inference_j": None}}]}


def counter(name, about, number, base, process=None, subject=None):
    """A counter of the history; its values move around `base`, None: it has none."""
    return {"counter": 1, "name": name, "unit": "", "about": about, "process": process, "number": number,
            "subject": subject, "base": base}


COUNTERS = [counter("cpu_percent", "core", 0, 80), counter("cpu_percent", "core", 1, 40),
            counter("cpu_percent", "process", None, 93, 1), counter("working_set", "process", None, 1.8e8, 1),
            counter("private", "process", None, 1.5e8, 1)]


def wave(times, base, swing, speed=1.0):
    return [base + swing * math.sin(t * speed) + (t * 7.919 % 1) * swing * .4 for t in times]


def history(document, counters, marks, outlier_runs, query):
    capture = document["captures"][0]
    end = capture["time_s"]
    begin = max(0, float(query.get("from", end - 60)))
    times = [i / 10 for i in range(math.ceil(begin * 10 - 1e-6), int(end * 10) + 1)]
    sessions, outliers = [], []
    for s in capture["sessions"]:
        p50 = (s["window"]["latency_us"] or {"p50": 0})["p50"]
        same = [41] * len(times)
        sessions.append({
            "session": s["session"], "runs": same, "failed_runs": [0] * len(times), "in_flight_max": same,
            "throughput_per_s": wave(times, 411, 20), "mean_us": wave(times, p50, p50 / 20),
            "p50_us": wave(times, p50, p50 / 20), "p95_us": wave(times, p50 * 1.5, p50 / 10, .7),
            "p99_us": wave(times, p50 * 1.9, p50 / 8, .5), "max_us": wave(times, p50 * 2, p50 / 5),
            "held_bytes": [3159000] * len(times), "in_use_bytes": wave(times, 549600, 90000)})
        if s["ended"]:  # ten seconds ago
            for column in ("held_bytes", "in_use_bytes"):
                sessions[-1][column] = [v if t < end - 10 else None for t, v in zip(times, sessions[-1][column])]
        if times and times[-1] + .1 > end + 1e-6:  # a step that has just begun
            sessions[-1]["throughput_per_s"][-1] = 0
            for column in ("mean_us", "p50_us", "p95_us", "p99_us", "max_us"):
                sessions[-1][column][-1] = None
        outliers += [{"session": s["session"], "run": run, "begin_s": run / 10, "duration_us": p50 * 4}
                     for run in outlier_runs if run / 10 + p50 * 4e-6 >= begin]
    values = [dict({k: v for k, v in c.items() if k != "base"},
                   values=[None] * len(times) if c["base"] is None else wave(times, c["base"], c["base"] / 8))
              for c in counters]
    return {"schema_version": 1, "capture": 1, "step_s": .1, "from_s": begin, "to_s": end, "now_s": end, "time_s": times,
            "sessions": sessions, "counters": values,
            "marks": [m for m in marks if begin <= m["time_s"] <= end], "outliers": outliers}


def timeline(count, run=500, names=OP_TYPES):
    kernels = [{"kernel": i, "node": f"/features/{name}_{i}", "op_type": name, "domain": "ai.onnx",
                "provider": "CUDAExecutionProvider" if i == 8 else "CPUExecutionProvider",
                "submits": i == 8} for i, name in enumerate(names)]
    columns = {key: [] for key in ("run", "kernel", "thread", "begin_us", "duration_us", "depth", "failed")}
    at, seed = 1.0, 7
    for _ in range(count):
        seed = (seed * 1103515245 + 12345) % 2147483648
        length = 2 + seed % 1000 / 50
        row = (0, (seed >> 8) % len(kernels), 296, at, length, 0, False)
        for key, value in zip(columns, row):
            columns[key].append(value)
        at += length + .2
    return {"schema_version": 1, "capture": 1, "source": "memory", "begin_s": 12.0, "end_s": 12 + at / 1e6,
            "runs": [{"session": 1, "run": run, "thread": 296, "begin_us": 0, "duration_us": at, "status": 0,
                      "in_flight": 1}],
            "kernels": kernels, "ops": columns, "ops_left_out": 0}


def distribution(more, of):
    """Of a session, whose failed runs do not count."""
    count = [2, 9, 60, 229, 112, 18, 34, 40, 53, 8, 1, 5] if of["runs"] > of["failed_runs"] else []
    begin = [1400 + i * 150 for i in range(len(count))]
    return {"schema_version": 1, "capture": 1, "session": of["session"], "window_s": None, "runs": sum(count) + more if count else 0,
            "from_us": begin, "to_us": [b + 150 for b in begin], "count": count}


def operators(names=OP_TYPES):
    return {"schema_version": 1, "capture": 1, "by": "type", "session": None, "calls": 114500,
            "self_us": 929000.1, "time": "execution", "more": 3,
            "ops": [{"node": None, "op_type": name, "domain": "ai.onnx" if i else "com.microsoft.nchwc",
                     "provider": "CPUExecutionProvider", "session": None, "nodes": 47,
                     "calls": 23500 - 2000 * i, "failed": 0, "total_us": 286900 / (i + 1),
                     "self_us": 286900 / (i + 1), "mean_us": 12.2, "max_us": 99, "share": .309 / (i + 1),
                     "time": "execution"}
                    for i, name in enumerate(names)]}


class Script:
    """What is answered; a test exchanges any of it while the page runs."""

    def __init__(self):
        self.document = metrics()
        self.counters = copy.deepcopy(COUNTERS)
        self.missing = [{"what": what, "why": f"No counter of the {what.upper()} came.",
                         "command": "ortscope doctor"} for what in ("gpu", "npu", "power")]
        self.timeline = lambda query: timeline(229, int(query.get("run", 500)))
        self.ops = operators()
        self.marks = []
        self.outlier_runs = [17, 230, 441]  # of each session
        self.refusal = ""   # why nothing can be done, else it is
        self.refuse = lambda control: self.refusal  # the same of one thing; may take its time
        self.silent = False  # connections stay, and nothing is sent
        self.stuck = False   # nobody is answered
        self.more_runs = 0  # than the distribution has otherwise
        self.processes = []
        self.can_attach = True  # whether this is `ortscope serve` on Windows
        self.ending = False  # the next message is the last one
        self.read_token = "looking"
        self.controls = []  # what was asked for
        self.sockets = []   # queries of the WebSockets
        self.messages = []  # what they sent
        self.exports = []   # queries
        self.left = 0       # sockets that the page closed after the last message

    def change(self, function):
        """Several facts at once: no message has one without the others."""
        document = copy.deepcopy(self.document)
        function(document["captures"][0])
        self.document = document

    def answer(self, name, query):
        captures = self.document["captures"]
        if name == "metrics/current":
            return self.document
        if name == "metrics/history":
            return history(self.document, self.counters, self.marks, self.outlier_runs, query)
        if name == "metrics/distribution":
            of = [s for c in captures for s in c["sessions"] if str(s["session"]) == query["session"]]
            return distribution(self.more_runs, of[0]) if of else None
        if name == "timeline":
            return self.timeline(query)
        if name == "ops":
            return self.ops
        if name == "sessions":
            return {"schema_version": 1, "captures": [
                {"capture": c["capture"], "sessions": [
                    {"session": s["session"], "providers": ["CPUExecutionProvider"], "load_ms": 79.1}
                    for s in c["sessions"]]} for c in captures]}
        if name == "system":
            return {"schema_version": 1, "capture": 1, "ortscope_version": "0.1.0",
                    "os": "Windows 10.0.19045", "cpu": "AMD EPYC", "cpu_count": 2, "facts": [],
                    "counters": [], "sources": [], "missing": self.missing}
        if name == "processes":
            return {"schema_version": 1, "supported": self.can_attach, "processes": self.processes}
        if name == "access":
            return {"schema_version": 1, "control": True, "read_token": self.read_token}
        return None


def two_sessions():
    """A script whose inferences are those of the session that is asked for."""
    def of_session(query):
        answer = timeline(229, int(query.get("run", 500)))
        answer["runs"][0]["session"] = int(query.get("session", 1))
        return answer
    script = Script()
    script.document["captures"][0]["sessions"].append(session(2, "rec.onnx", 15000.0))
    script.timeline = of_session
    return script


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, kind, body, headers=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def reply_json(self, status, value):
        self.reply(status, "application/json", json.dumps(value).encode())

    def begin(self):
        """Name and query of a request that may be answered; None: it was refused."""
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path.startswith(("/api/v1/", "/ws/")):
            given = self.headers.get("Authorization", "Bearer " + query.get("token", ""))
            reads = self.command == "GET" and given == "Bearer " + self.server.script.read_token
            if given != "Bearer " + self.server.token and not reads:
                self.close_connection = True
                self.reply_json(401, {"schema_version": 1,
                                      "error": {"status": 401, "message": "The token is wrong."}})
                return None
        return url.path, query

    def do_GET(self):
        while self.server.script.stuck and not self.server.stopped.wait(.05):
            pass
        begun = self.begin()
        if not begun:
            return
        path, query = begun
        script = self.server.script
        if path == "/ws/metrics":
            self.websocket(query)
        elif path == "/api/v1/export":
            script.exports.append(query)
            self.reply(200, "application/octet-stream", b"x",
                       [("Content-Disposition", "attachment; filename=x.bin")])
        elif path.startswith("/api/v1/"):
            answer = script.answer(path[len("/api/v1/"):], query)
            none = {"schema_version": 1, "error": {"status": 404, "message": "There is none."}}
            self.reply_json(200 if answer else 404, answer or none)
        else:
            self.file("index.html" if path == "/" else path.rsplit("/", 1)[-1])

    def do_POST(self):
        if self.begin():
            body = self.rfile.read(int(self.headers["Content-Length"]))
            script = self.server.script
            script.controls.append(json.loads(body))
            refusal = script.refuse(json.loads(body))
            if refusal:
                self.reply_json(409, {"schema_version": 1, "error": {"status": 409, "message": refusal}})
            else:
                self.reply_json(200, {"schema_version": 1, "ok": True, "capture": 1})

    def file(self, name):
        for folder in self.server.folders:
            path = pathlib.Path(folder) / name
            if path.is_file():
                self.reply(200, TYPES.get(path.suffix, "text/plain"), path.read_bytes(),
                           [("Content-Security-Policy", POLICY)])
                return
        self.reply(404, "text/plain", b"")

    def websocket(self, query):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.wfile.write((f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          f"Sec-WebSocket-Accept: {accept}\r\n\r\n").encode())
        self.close_connection = True
        self.server.script.sockets.append(query)
        listener = threading.Thread(target=self.listen, daemon=True)
        listener.start()
        try:
            while not self.server.stopped.wait(.1):
                script = self.server.script
                if script.silent:
                    continue
                last = script.ending
                body = json.dumps(dict(script.document, last=last)).encode()
                head = b"\x81" + (bytes([len(body)]) if len(body) < 126 else
                                  b"\x7e" + struct.pack(">H", len(body)) if len(body) < 65536 else
                                  b"\x7f" + struct.pack(">Q", len(body)))
                self.wfile.write(head + body)
                if last:
                    break
            listener.join()  # until the page has what it wants, and goes
            self.server.script.left += 1
        except OSError:
            pass  # the page has gone

    def listen(self):
        """Short messages of the page."""
        try:
            while True:
                head = self.rfile.read(2)
                if len(head) < 2:
                    return
                mask = self.rfile.read(4)
                body = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(head[1] & 127)))
                if head[0] & 15 == 8:
                    return
                if head[0] & 15 == 1:
                    self.server.script.messages.append(json.loads(body))
        except (OSError, ValueError):
            pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """with Server(folders) as server: page.goto(server.url)"""
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, folders, token="secret", port=0, script=None):
        super().__init__(("127.0.0.1", port or free_port()), Handler)  # it may be bound once more
        self.folders, self.token, self.script = folders, token, script or Script()
        self.stopped = threading.Event()
        self.connections = []
        self.port = self.server_address[1]
        self.base = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.base}/?token={token}"
        threading.Thread(target=self.serve_forever, args=(.05,), daemon=True).start()

    def get_request(self):
        connection, address = super().get_request()
        self.connections.append(connection)
        return connection, address

    def handle_error(self, *_):
        pass  # a browser that goes away in the middle of a request

    def __exit__(self, *_):
        self.stopped.set()
        self.shutdown()
        self.server_close()
        for connection in self.connections:  # those that were kept open too
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
