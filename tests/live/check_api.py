# SPDX-License-Identifier: MIT
"""Every path of docs/openapi.json answers as documented, on recordings of the gold tests, and its
figures are those of `ortscope summary` and `ortscope ops`."""
import collections
import json
import os
import subprocess
import sys

import served
import shapes

OPTIONS = {"/api/v1/metrics/history": ["?from=0", "?from=-1&to=-0.5", "?step=1", "?session=1"],
           "/api/v1/metrics/current": ["?window=0.1", "?window=60"],
           "/api/v1/metrics/distribution": ["?session=1&bins=7", "?window=60"],
           "/api/v1/timeline": ["?from=0", "?session=1&run=2"],
           "/api/v1/ops": ["?by=node", "?by=type&session=1&limit=1"]}


def ask(ortscope, command, recording, *more):
    done = subprocess.run([ortscope, command, "--json", recording, *more], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)


def check_shapes(c, client, with_options):
    for path in shapes.get_paths():
        for query in [""] + (OPTIONS.get(path, []) if with_options else []):
            c.equal(path + query, shapes.check_get(client, path, query), [])
    stream = client.stream("hz=60")
    for _ in range(2):
        c.equal("a message", shapes.problems(stream.message(), shapes.schema_of(
            "/api/v1/metrics/current")), [])
    stream.send(b'{"hz": 20, "window_s": 2}')
    shapes_ok = [stream.message()["window_s"] for _ in range(3)]
    c.true("the client's window", 2 in shapes_ok or stream.message()["window_s"] == 2, shapes_ok)
    stream.close()


def check_refusals(c, client):
    error = {"$ref": "#/components/schemas/Error"}
    for path, status in (("/api/v1/metrics/history?from=x", 400), ("/api/v1/ops?by=colour", 400),
                         ("/api/v1/ops?session=99", 404), ("/api/v1/ops?capture=9", 404),
                         ("/api/v1/timeline?session=1&run=99999999", 404),
                         ("/api/v1/metrics/distribution?bins=1", 400), ("/api/v1/export", 400),
                         ("/api/v1/export?format=doc", 400), ("/api/v1/nothing", 404),
                         ("/api/v1/export?format=chrome&table=runs", 400),
                         ("/api/v1/metrics/current?window=0", 400), ("/api/v1/control", 405)):
        got, _, body = client.ask("GET", path)
        c.equal(path, got, status)
        c.equal(path + ": shape", shapes.problems(json.loads(body), error), [])
    c.equal("POST elsewhere", client.ask("POST", "/api/v1/ops", "{}")[0], 405)


def check_figures(c, client, ortscope, recording):
    wanted = {s["id"]: s for s in ask(ortscope, "summary", recording)["sessions"]}
    for session in client.json("/api/v1/metrics/current")["captures"][0]["sessions"]:
        summary = wanted[session["session"]]
        c.equal("runs", session["runs"], summary["runs"])
        c.equal("failed", session["failed_runs"], summary["failed_runs"])
        if not session["runs"]:
            continue
        for name in ("min", "p50", "p90", "p95", "p99", "p99_9", "max", "mean", "stddev"):
            got, told = session["total"]["latency_us"][name], summary["latency_us"][name]
            c.true(name, abs(got - told) <= 0.002 * told + 0.002, (got, told))
        got, told = session["total"]["throughput_per_s"], summary["throughput_per_s"]
        c.true("throughput", abs(got - told) <= 0.0001 * told + 0.005, (got, told))
        bins = client.json("/api/v1/metrics/distribution?session=%d" % session["session"])
        c.equal("all runs are in the bins", sum(bins["count"]),
                session["runs"] - session["failed_runs"])
        history = client.json("/api/v1/metrics/history?from=0&session=%d" % session["session"])
        c.equal("all runs are in the history", sum(history["sessions"][0]["runs"]), session["runs"])


def check_ops(c, client, ortscope, recording):
    told = ask(ortscope, "ops", recording, "--by", "node", "--limit", "1000")["ops"]
    got = client.json("/api/v1/ops?by=node&limit=1000")["ops"]

    def key(row):
        return (row["session"], row["node"], row["op_type"], row["provider"], row["calls"],
                round(row["total_us"], 1), round(row["self_us"], 1), row["time"])

    mine, theirs = set(map(key, got)), set(map(key, told))
    c.equal("operators by node", (mine - theirs, theirs - mine), (set(), set()))
    # Two of its operators are handed to a device.
    told, got = ask(ortscope, "ops", recording, "--by", "type"), client.json("/api/v1/ops")
    c.equal("what all times are of", (got["time"], told["all"]["time"]), ("mixed", "mixed"))
    types = [{(row["op_type"], row["domain"], row["provider"], row["time"]) for row in answer["ops"]}
             for answer in (got, told)]
    c.equal("and those of types", *types)
    c.equal("submissions", sorted(row[0] for row in types[0] if row[-1] == "submission"), ["Conv", "Relu"])


def check_classes(c, client):
    """class_ops.ortl: types of which only the kernel's class is known say so, as in `ortscope ops`."""
    def type_of(row):
        return row["op_type"], row["op_type_source"], row["domain"]

    wanted = {("NchwcConv", "class", None): 2, ("MatMul", "class", None): 1, ("MatMul", "graph", "ai.onnx"): 1,
              (None, None, None): 1}
    c.equal("types by class, added up",
            {type_of(row): row["calls"] for row in client.json("/api/v1/ops")["ops"]}, wanted)
    kernels = client.json("/api/v1/timeline?session=1&run=1")["kernels"]
    c.equal("types by class, of a run", collections.Counter(map(type_of, kernels)), wanted)


def check_links(c, client):
    """Who feeds whom in edges.ortl, from memory (the newest run) and from the file (the first)."""
    whole = {"A": [], "B": ["A"], "C": ["A"], "D": ["B", "C"], "E": ["D"], "F": ["D"], "G": None}
    cases = [("session=1", "memory", whole), ("session=1&run=1", "file", whole),
             # one of its kernels is not known, so that only what is found counts; and names are a session's own
             ("session=2", "memory", {"A": None, "B": ["A"], "H": None})]
    for query, source, wanted in cases:
        answer = client.json("/api/v1/timeline?" + query)
        names = [k["node"] for k in answer["kernels"]]
        told = {k["node"]: k["producers"] and [names[p] for p in k["producers"]] for k in answer["kernels"]}
        c.equal("who feeds whom, %s" % query, (answer["source"], told), (source, wanted))
    both = client.json("/api/v1/timeline?from=4.2985")["kernels"]
    second = [i for i, k in enumerate(both) if k["kernel"] >= 11]
    c.true("nobody feeds another session", second and all(
        (p in second) == (i in second) for i, k in enumerate(both) for p in k["producers"] or []), both)


def check_export(c, client, recording):
    with open(recording, "rb") as file:
        whole = file.read()
    _, headers, body = client.ask("GET", "/api/v1/export?format=ortl")
    c.equal("the file itself", body, whole)
    c.equal("by its own name", headers["Content-Disposition"],
            'attachment; filename="%s"' % os.path.basename(recording))
    for export in ("chrome", "perfetto", "csv", "json", "parquet", "speedscope"):
        status, headers, body = client.ask("GET", "/api/v1/export?format=" + export)
        c.true("export " + export, status == 200 and len(body) > 20 and "attachment" in
               headers.get("Content-Disposition", ""), (status, headers))
    rows = client.ask("GET", "/api/v1/export?format=csv&table=runs&session=1")[2].splitlines()
    c.equal("a row a run", len(rows) - 1, [
        s["runs"] for s in client.json("/api/v1/sessions")["captures"][0]["sessions"]
        if s["session"] == 1][0])


def check_replay(c, ortscope, recording):
    """Speed, pause, seeking."""
    with served.serve(ortscope, recording, "--speed", "0.1") as client:
        schema = shapes.schema_of("/api/v1/control", "post")
        c.equal("pause", client.control(action="pause")[0], 200)
        served.wait_for_state(client, "paused")
        first = client.json("/api/v1/metrics/current")["captures"][0]
        status, body = client.control(action="seek", to_s=first["duration_s"])
        c.equal("seek", (status, shapes.problems(body, schema)), (200, []))
        served.wait_for_state(client, "ended")
        last = client.json("/api/v1/metrics/current")["captures"][0]
        c.true("all runs are there", sum(s["runs"] for s in last["sessions"]) > 0)
        c.equal("back", client.control(action="seek", to_s=0)[0], 200)
        served.wait_for_state(client, "paused")
        begin = client.json("/api/v1/metrics/current")["captures"][0]
        c.equal("none at the begin", sum(s["runs"] for s in begin["sessions"]), 0)
        c.equal("speed", client.control(action="speed", speed=0)[0], 200)
        c.equal("resume", client.control(action="resume")[0], 200)
        served.wait_for_state(client, "ended")
        for action in ("detach", "mark"):
            c.equal(action, client.control(action=action, text="x")[0], 409)
        c.equal("rates", client.control(action="rates", hz=30)[0], 200)
        c.equal("attach", client.control(action="attach", pid=1)[0], 409)
        for members in ({}, {"action": "dance"}, {"action": "speed"}, {"action": "speed",
                        "speed": 5000}, {"action": "rates", "hz": 0}, {"action": "seek"}):
            c.equal("refused: %r" % members, client.control(**members)[0], 400)
        c.equal("no such capture", client.control(action="pause", capture=7)[0], 404)


def check_streams(c, ortscope, recording):
    """Clients with the same wishes get the same messages; each its own where they differ."""
    with served.serve(ortscope, recording, "--speed", "0.5") as client:
        same = [client.stream("hz=20") for _ in range(3)]
        other = client.stream("hz=20&window=1", token=client.read_token)
        messages = [[stream.message() for _ in range(20)] for stream in same]
        c.true("they share messages", set.intersection(*(
            {m["utc_ms"] for m in list} for list in messages)), "not a single one")
        for list in messages:
            c.true("in order, no one twice", all(a["utc_ms"] <= b["utc_ms"] and a != b for a, b in zip(list, list[1:])))
        message = other.message()
        c.equal("its own window and right", (message["window_s"], message["control"]), (1, False))
        c.equal("those of the others", (messages[0][0]["window_s"], messages[0][0]["control"]), (5, True))
        same[0].send(json.dumps({"window_s": 2}).encode())
        served.until(lambda: same[0].message()["window_s"] == 2, "the new window")
        same[1].close()
        for stream in (same[0], same[2]):
            c.true("the others go on", stream.message()["captures"])


def main():
    ortscope, maker, folder = sys.argv[1:]
    c = served.Checks()
    served.make_files(maker, folder)
    for name in ("basic", "ops", "counters", "memory", "hostile", "odd_ops", "edges", "class_ops"):
        recording = os.path.join(folder, name + ".ortl")
        with served.serve(ortscope, recording, "--speed", "max") as client:
            served.wait_for_state(client, "ended")
            ordinary = name in ("basic", "ops", "memory")
            check_shapes(c, client, ordinary)
            if ordinary:
                check_figures(c, client, ortscope, recording)
            if name == "class_ops":
                check_classes(c, client)
            if name == "edges":
                check_links(c, client)
            if name == "ops":
                check_ops(c, client, ortscope, recording)
                check_export(c, client, recording)
                check_refusals(c, client)
    check_replay(c, ortscope, os.path.join(folder, "basic.ortl"))  # twelve seconds
    check_streams(c, ortscope, os.path.join(folder, "basic.ortl"))
    c.end()


if __name__ == "__main__":
    main()
