# SPDX-License-Identifier: MIT
"""--otlp: what is pushed has the protocol's shape and the figures of /metrics; every way in which a receiver
can fail is counted, told once, and delays nothing."""
import json
import os
import subprocess
import sys
import time

import client as live
import otlp_receiver as otlp
import prometheus
import served

UNITS = {"s": "_seconds", "By": "_bytes", "W": "_watts", "J": "_joules", "Cel": "_celsius", "1": "_ratio"}
ENDS_WITHIN = 60  # seconds; the promise is two, on a machine that has time


def as_samples(document):
    """As samples of the text format, named by the rules that OpenTelemetry's collector goes by."""
    found = {}
    for metric in otlp.metrics_of(document):
        kind, points = otlp.points_of(metric)
        name = metric["name"].replace(".", "_") + UNITS.get(metric.get("unit"), "")
        for labels, point in points.items():
            if kind != "histogram":
                name_there = name + ("_total" if kind == "sum" else "")
                found[name_there, labels] = float(point.get("asInt", point.get("asDouble")))
                continue
            found[name + "_sum", labels] = point["sum"]
            found[name + "_count", labels] = float(point["count"])
            total = 0
            for bound, count in zip(["%g" % b for b in point["explicitBounds"]] + ["+Inf"],
                                    point["bucketCounts"]):
                total += int(count)
                found[name + "_bucket", labels | {("le", bound)}] = float(total)
    return found


def state(client):
    return client.json("/api/v1/metrics/current")["otlp"]


def served_with(ortscope, recording, receiver, *more):
    return served.serve(ortscope, recording, "--speed", "max", "--otlp", receiver.url, "--otlp-interval",
                        "1s", *more)


def messages(recording):
    return served.read(os.path.join(os.path.dirname(recording), "serve.err"))


def check_documents(c, ortscope, recording):
    with otlp.Receiver() as receiver:
        with served_with(ortscope, recording, receiver, "--otlp-header", "X-Scope-OrgID=team a",
                         "--otlp-header", "Authorization=Bearer x=y") as client:
            served.wait_for_state(client, "ended")
            begun = receiver.count()
            served.until(lambda: receiver.count() >= begun + 2, "two more pushes")
            text = client.ask("GET", "/metrics")[2]
            served.until(lambda: state(client)["pushes"] >= 2, "the count of pushes")
            told = state(client)
            c.equal("the state", (told["url"], told["failed_pushes"], told["rejected_points"],
                                  told["error"]), (receiver.url + "/v1/metrics", 0, 0, None))
            before = receiver.count()
        served.until(lambda: receiver.count() > before, "a last push at the end")
        first, headers, _ = receiver.requests[0]
        c.equal("request", first, "POST /v1/metrics HTTP/1.1")
        c.equal("headers", [headers.get(name) for name in (
            "Host", "Content-Type", "X-Scope-OrgID", "Authorization")],
            [receiver.url[7:], "application/json", "team a", "Bearer x=y"])
        for document in receiver.documents():
            c.equal("shape", otlp.problems(document)[:5], [])
            c.equal("numbers", otlp.contradictions(document), [])
        document = receiver.documents()[-1]
    resource = {a["key"]: a["value"] for a in document["resourceMetrics"][0]["resource"]["attributes"]}
    c.equal("who tells", sorted(resource), ["host.name", "os.type", "process.pid", "service.instance.id",
                                            "service.name", "service.version"])
    c.equal("by name", resource["service.name"], {"stringValue": "ortscope"})
    pushed, shown = as_samples(document), prometheus.samples(text)
    ours = {"ortscope_otlp_pushes_total"}
    c.equal("what /metrics does not have", [k for k in pushed if k not in shown], [])
    c.equal("what is not pushed", [k for k in shown if k not in pushed], [])
    c.equal("values", [(k, v, pushed[k]) for k, v in shown.items() if k in pushed and k[0] not in ours
                       and abs(v - pushed[k]) > 1e-9 * abs(v)], [])
    kinds = {m["name"]: otlp.points_of(m)[0] for m in otlp.metrics_of(document)}
    c.equal("kinds", [kinds[n] for n in ("ortscope.runs", "ortscope.run_duration",
                                         "ortscope.runs_in_flight")], ["sum", "histogram", "gauge"])


def check_counters_rise(c, ortscope, recording):
    """A replay that goes on: cumulative sums with the same begin."""
    with otlp.Receiver() as receiver:
        with served.serve(ortscope, recording, "--speed", "0.1", "--otlp", receiver.url,
                          "--otlp-interval", "1s") as client:
            served.wait_for_state(client, "ended")
        documents = receiver.documents()
    seen, begins = [], set()
    for document in documents:
        for metric in otlp.metrics_of(document):
            if metric["name"] == "ortscope.runs":
                points = otlp.points_of(metric)[1].values()
                seen.append(sum(int(p["asInt"]) for p in points))
                begins |= {p["startTimeUnixNano"] for p in points}
    c.true("counts rise", len(seen) > 2 and seen == sorted(seen) and seen[-1] > seen[0], seen)
    c.equal("from one begin on", len(begins), 1)


def check_answers(c, ortscope, recording):
    """One after the other; after each the next push comes."""
    good = otlp.answer(200)
    parts = [b'{"partialSuccess":', b'{"rejectedDataPoints": "2"}}', b""]
    chunked = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
               b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts))
    cases = [
        ("429", otlp.answer(429, b"", "Retry-After: 1"), 1, 0, "it answered 429"),
        ("502", otlp.answer(502), 1, 0, "it answered 502"),
        ("503", otlp.answer(503, b"x" * 100, kind="text/plain"), 1, 0, "it answered 503"),
        ("400", otlp.answer(400, b'{"code": 3, "message": "bad \\u001b[31m point"}'), 1, 0,
         "it answered 400: bad \x1b[31m point"),
        ("redirect", otlp.answer(307, b"", "Location: http://127.0.0.1:1/elsewhere"), 1, 0,
         "it answered 307 (redirects are not followed)"),
        ("garbage", b"\x00\xff\xfe garbage\r\n\r\n" * 20, 1, 0, "the answer is no HTTP"),
        ("an empty answer", b"", 1, 0, "the answer is no HTTP"),
        ("half a head", b"HTTP/1.1 200 OK\r\nContent-", 1, 0, "the answer is no HTTP"),
        ("closes", otlp.CLOSE, 1, 0, None),
        ("200 with garbage", otlp.answer(200, b"\xff\x00{{{"), 0, 0, None),
        ("200 of another type", otlp.answer(200, b"\x0a\x02", kind="application/x-protobuf"), 0, 0, None),
        ("200, huge", b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + b" " * 3000000, 0, 0,
         None),
        ("200, cut", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", 0, 0, None),
        ("a huge head", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 300000, 1, 0, None),
        ("partial", otlp.partial(7, "too old"), 0, 7, "it rejected 7 points: too old"),
        ("a warning", otlp.partial(0, "be quick"), 0, 0, "it rejected 0 points: be quick"),
        ("chunked", chunked, 0, 2, "it rejected 2 points"),
        ("no content", otlp.answer(204, b""), 0, 0, None),
    ]
    for name, reply, failed, rejected, error in cases:
        with otlp.Receiver(reply, good) as receiver, served_with(ortscope, recording, receiver) as client:
            served.until(lambda: state(client)["pushes"] >= 1, "%s: the first push" % name)
            told = state(client)
            if told["pushes"] == 1:  # else a later one has put another sentence
                c.true("%s: what is told" % name, (error in (told["error"] or "")) if error else
                       bool(told["error"]) == bool(failed), told)
            served.until(lambda: state(client)["pushes"] >= 2, "%s: the next push" % name)
            told = state(client)
            c.equal("%s: counts" % name, (told["failed_pushes"], told["rejected_points"]),
                    (failed, rejected))
            found = prometheus.samples(client.ask("GET", "/metrics")[2])
            c.equal("%s: in /metrics" % name, [found["ortscope_otlp_" + n, frozenset()] for n in (
                "failed_pushes_total", "rejected_points_total")], [failed, rejected])
        said = [line for line in messages(recording).splitlines() if "pushing to" in line]
        c.equal("%s: told once" % name, len(said), 1 if failed or error else 0)
        c.true("%s: nothing acts on the terminal" % name, "\x1b" not in messages(recording))


def check_when(c, ortscope, recording):
    """What is tried again soon, and what not before its time: nothing may come in a few seconds there."""
    for name, reply, interval, soon in (
            ("503", otlp.answer(503), "1h", True), ("a broken connection", otlp.CLOSE, "1h", True),
            ("429 with a time", otlp.answer(429, b"", "Retry-After: 2"), "1h", True),
            ("400", otlp.answer(400), "1h", False), ("500", otlp.answer(500), "1h", False),
            ("redirect", otlp.answer(301, b"", "Location: /"), "1h", False),
            ("503 with a long time", otlp.answer(503, b"", "Retry-After: 9999"), "1s", False)):
        with otlp.Receiver(reply, otlp.answer(200)) as receiver, served.serve(
                ortscope, recording, "--speed", "max", "--otlp", receiver.url, "--otlp-interval",
                interval) as client:
            served.until(lambda: state(client)["pushes"] >= 1, "%s: the first push" % name)
            if soon:
                served.until(lambda: receiver.count() >= 2, "%s: again" % name)
            else:
                time.sleep(3)
                c.equal("%s: not again" % name, (receiver.count(), state(client)["pushes"]), (1, 1))


def check_bad_ends(c, ortscope, recording):
    """A receiver that hangs, is deaf, or is not there delays the end by seconds at most."""
    for name, reply in (("hangs", otlp.HANG), ("deaf", otlp.DEAF), ("refuses", None)):
        with otlp.Receiver(reply) as receiver:
            if reply is None:
                receiver.listener.close()
                url = "http://127.0.0.1:%d/v1/metrics?key=secret" % prometheus.free_port()
            else:
                url = receiver.url
            with served.serve(ortscope, recording, "--speed", "max", "--otlp", url) as client:
                served.wait_for_state(client, "ended")
                if reply is None:
                    served.until(lambda: state(client)["failed_pushes"] >= 2, "it is tried again")
                else:
                    served.until(lambda: receiver.count() >= 1, "the first push")
                c.equal("%s: the page goes on" % name, client.ask("GET", "/")[0], 200)
                begin = time.monotonic()
            c.true("%s: it ends" % name, time.monotonic() - begin < ENDS_WITHIN)
        said = messages(recording)
        c.true("%s: the end is told" % name, "the last push to http://127.0.0.1:" in said, said)
        c.true("%s: nothing secret" % name, "secret" not in said, said)


def check_usage(c, ortscope, recording):
    for options, word in ((["--otlp", "https://127.0.0.1:4318"], "collector"),
                          (["--otlp", "http://me:pw@127.0.0.1:4318"], "--otlp-header"),
                          (["--otlp", "127.0.0.1:4318"], "http://127.0.0.1:4318"),
                          (["--otlp", "http://127.0.0.1", "--otlp-interval", "10ms"], "1s to 1h"),
                          (["--otlp", "http://127.0.0.1", "--otlp-header", "Host=x"], "Host"),
                          (["--otlp-interval", "10s"], "--otlp URL")):
        done = subprocess.run([ortscope, "serve", recording, "--no-open", *options], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=live.TIMEOUT)
        said = " ".join(done.stdout.decode().split())
        c.true("refused: %s" % options, done.returncode == 2 and word in said and "pw" not in said,
               (done.returncode, said))


def check_validator(c):
    """The receiver's own eyes: each of these is a mistake."""
    def document(point, kind="sum", **members):
        body = {"aggregationTemporality": 2, "isMonotonic": True, "dataPoints": [point], **members}
        return {"resourceMetrics": [{"resource": {"attributes": []}, "scopeMetrics": [
            {"scope": {"name": "x", "version": "1"}, "metrics": [
                {"name": "x", "description": "y", kind: body}]}]}]}
    now = str(1794842478 * 10 ** 9)
    good = {"attributes": [], "startTimeUnixNano": now, "timeUnixNano": now, "asInt": "3"}
    c.equal("a good one", otlp.problems(document(good)), [])
    for bad in ({**good, "asInt": 3}, {**good, "asDouble": 3.0}, {**good, "time_unix_nano": now},
                {**good, "timeUnixNano": int(now)}, {k: v for k, v in good.items() if k != "asInt"},
                {**good, "attributes": [{"key": "a", "value": {"stringValue": 3}}]}):
        c.true("a mistake: %s" % json.dumps(bad), otlp.problems(document(bad)))
    c.true("an enumeration's name", otlp.problems(document(
        good, aggregationTemporality="AGGREGATION_TEMPORALITY_CUMULATIVE")))


def main():
    ortscope, maker, folder = sys.argv[1:]
    c = served.Checks()
    served.make_files(maker, folder)
    check_validator(c)
    for name in ("fleet", "hostile", "odd", "many"):
        check_documents(c, ortscope, os.path.join(folder, name + ".ortl"))
    recording = os.path.join(folder, "fleet.ortl")
    check_usage(c, ortscope, recording)
    check_counters_rise(c, ortscope, recording)
    check_answers(c, ortscope, recording)
    check_when(c, ortscope, recording)
    check_bad_ends(c, ortscope, recording)
    c.end()


if __name__ == "__main__":
    main()
