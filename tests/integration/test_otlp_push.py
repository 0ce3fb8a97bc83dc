# SPDX-License-Identifier: MIT
"""--otlp while a real program runs: what is pushed grows with it, the last push has the file's figures, and a
receiver that hangs delays nobody."""
import os
import sys

import harness as h
import looping

sys.path.insert(0, os.path.join(h.ROOT, "tests/live"))
import client as live  # noqa: E402
import otlp_receiver as otlp  # noqa: E402


def runs_in(document):
    return sum(int(point["asInt"]) for metric in otlp.metrics_of(document)
               if metric["name"] == "ortscope.runs" for point in otlp.points_of(metric)[1].values())


def newest_runs(receiver):
    documents = receiver.documents()
    return runs_in(documents[-1]) if documents else 0


def pushing(c, name, receiver, *more):
    trace, stop = "%s/%s.ortl" % (c.folder, name), "%s/%s.stop" % (c.folder, name)
    program = h.Program(c.folder, name, [
        h.ORTSCOPE, "run", "-q", "-o", trace, "--otlp", receiver.url, "--otlp-interval", "1s", *more,
        "--"] + h.node_arguments(looping.VERSION, "--stop-file", stop, "--seconds", h.FOREVER,
                                 "--exit-code", 5, "--counter", stop + ".count"))
    return program, trace, stop


def has_ended(receiver):
    return any(point["asInt"] == "0" for metric in otlp.metrics_of(receiver.documents()[-1])
               if metric["name"] == "ortscope.recording" for point in otlp.points_of(metric)[1].values())


def check_last(c, receiver, trace):
    h.wait_until(lambda: has_ended(receiver), "the last push")
    for document in receiver.documents():
        c.equal("shape", otlp.problems(document)[:5], [])
        c.equal("numbers", otlp.contradictions(document), [])
    sessions = h.summary(trace)["sessions"]
    c.equal("runs: pushed and file", newest_runs(receiver), sum(s["runs"] for s in sessions))
    metrics = {m["name"]: otlp.points_of(m)[1] for m in otlp.metrics_of(receiver.documents()[-1])}
    point, = metrics["ortscope.run_duration"].values()
    c.equal("counted: pushed and file", int(point["count"]), sessions[0]["runs"] - sessions[0]["failed_runs"])
    c.true("sum: pushed and file", abs(point["sum"] * 1e6 / int(point["count"]) - sessions[0]["latency_us"][
        "mean"]) < 0.01, (point["sum"], sessions[0]["latency_us"]))
    labels, = metrics["ortscope.runs"]
    c.true("whose", dict(labels)["program"] == "node.exe" and dict(labels)["model"].endswith(".onnx"), labels)
    for name in ("ortscope.operator_executions", "ortscope.core_cpu", "ortscope.runtime_info"):
        c.true("there is " + name, name in metrics, sorted(metrics))


def run_pushes(c):
    """run --otlp alone: no page, no address, the program's own exit code."""
    with otlp.Receiver() as receiver:
        program, trace, stop = pushing(c, "alone", receiver)
        h.wait_until(lambda: newest_runs(receiver) > 20, "runs in a push", program=program)
        h.touch(stop)
        c.equal("the program's own code", program.wait(), 5)
        c.true("nobody can ask", live.address_of(program.err) is None, program.err)
        check_last(c, receiver, trace)


def run_live_pushes(c):
    """run --live --otlp: both ways tell the same."""
    with otlp.Receiver() as receiver:
        program, trace, stop = pushing(c, "live", receiver, "--live", "--no-open")
        h.wait_until(lambda: live.address_of(program.err), "address of the live view", program=program)
        client = live.Client(program.err)
        h.wait_until(lambda: newest_runs(receiver) > 20, "runs in a push", program=program)
        state = client.json("/api/v1/metrics/current")["otlp"]
        c.equal("its state", (state["url"], state["failed_pushes"], state["error"]),
                (receiver.url + "/v1/metrics", 0, None))
        h.touch(stop)
        c.equal("the program's own code", program.wait(), 5)
        check_last(c, receiver, trace)


def receiver_hangs(c):
    """Neither the program nor the recording waits for a receiver that says nothing."""
    with otlp.Receiver(otlp.HANG) as receiver:
        program, trace, stop = pushing(c, "hangs", receiver)
        h.wait_until(lambda: receiver.count() >= 1, "the first push", program=program)
        counter = stop + ".count"
        h.wait_until(lambda: os.path.exists(os.path.join(h.ROOT, counter)) and looping.counter_text(
            counter) > 5, "runs", program=program)
        h.touch(stop)
        c.equal("the program's own code", program.wait(), 5)
        c.true("it is told", "the last push to " + receiver.url in program.err, program.err)
        c.true("the file is whole", h.summary(trace)["sessions"][0]["runs"] > 0)


if __name__ == "__main__":
    h.run_tests("test_otlp_push", [run_pushes, run_live_pushes, receiver_hangs])
