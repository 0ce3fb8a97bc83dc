#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What an operator of the program's own takes from the C API's allocators is its run's: by
AllocatorAlloc, straight through the functions in the allocator's struct, and from the session's
allocator; launched, and in a session that was there before us. Through such an operator also run
kernels of a DLL that is no runtime, as a provider's are."""
import collections

import harness as h
from test_alloc import ALLOCATED, RELEASED, check_pairs, check_sums, of_version, recorded
from test_odd_targets import Talking


def custom_operator(checker, version):
    """An operator of the program's own: what it takes, by whichever way, is its run's."""
    size, runs = 10000, 5

    def command(taken, *more):
        return [h.BIN + "/odd_custom_op.exe", h.dll(version),
                "build/integration/models/taker.onnx", runs, taken, *more]

    def check(name, timeline, plain):
        rows, less = ([(r["run"], r["allocations"], r["allocated_bytes"], r["frees"],
                        r["freed_bytes"]) for r in t.rows("run_memory")] for t in (timeline, plain))
        checker.equal(name + ": each run took and released what the operator did",
                      [(a[0],) + tuple(x - y for x, y in zip(a[1:], b[1:]))
                       for a, b in zip(rows, less)],
                      [(run, 3, 6 * size, 3, 6 * size) for run in range(1, runs + 1)])
        checker.true(name + ": all three at once are the most that it held",
                     {r["peak_bytes"] - 6 * size for r in timeline.rows("run_memory")} <= {0, 4},
                     timeline.rows("run_memory")[:1])

    plain, _ = recorded(checker, "none", command(0))
    timeline, report = recorded(checker, "stats", command(size))
    checker.equal("it ran", report["computed"], runs)
    check("stats", timeline, plain)
    timeline, _ = recorded(checker, "all", command(size), "--alloc", "all")
    check("all", timeline, plain)
    check_pairs(checker, "all", timeline)
    check_sums(checker, "all", timeline)
    kernels = {r["kernel"]: r["op_type"] for r in timeline.rows("kernel")}
    checker.equal("every one is told once, as that operator's",
                  collections.Counter((kernels.get(r["kernel"]), r["bytes"], r["action"])
                                      for r in timeline.rows("alloc") if r["bytes"] >= size),
                  {("Taker", n * size, action): runs for n in (1, 2, 3)
                   for action in (ALLOCATED, RELEASED)})
    target = Talking(checker, "target", command(size, "wait"))
    pid = int(target.answer(r"pid (\d+)"))
    trace = checker.folder + "/attached.ortl"
    collector = h.attach(checker.folder, "attach", pid, trace, "-q", "--alloc", "all")
    target.tell("go")
    checker.equal("attached: both end well", (target.finish(), collector.wait()), (0, 0))
    check("attached", h.load(trace), plain)


def provider_rows(timeline):
    """Rows of the provider's kernel and of the operator's own, in that order."""
    kernels = timeline.rows("kernel")
    inner = [k for k in kernels if k["kernel_class"] == "onnxruntime::cuda::Probe"]
    outer = [k for k in kernels if k["op_type"] == "Taker" and k not in inner]
    return inner, outer


def check_submits(checker, name, trace, timeline):
    """What a provider of a device does is over when it is submitted: file, text and JSON say so of its kernel alone."""
    inner, outer = provider_rows(timeline)
    checker.equal(name + ": the provider's name", (inner[0]["provider"], outer[0]["provider"]),
                  ("CUDAExecutionProvider", "CPUExecutionProvider"))
    checker.equal(name + ": whose times are of submissions", (inner[0]["submits"], outer[0]["submits"]), (1, 0))
    ops = h.ask("ops", trace)
    times = {"CUDAExecutionProvider": "submission", "CPUExecutionProvider": "execution"}
    checker.equal(name + ": ops --json", {op["provider"]: op["time"] for op in ops["ops"]}, times)
    checker.equal(name + ": ops --json of both", ops["all"]["time"], "mixed")
    session = h.summary(trace)["sessions"][0]
    checker.equal(name + ": summary --json", {op["provider"]: op["time"] for op in session["ops"]}, times)
    checker.equal(name + ": placement", {p["provider"]: p["time"] for p in session["placement"]}, times)
    checker.true(name + ": and a note", any("submission time" in note for note in session["ops_notes"]),
                 session["ops_notes"])
    for command, label in (("ops", "CUDA, submits"), ("summary", "submission time")):
        text = h.ortscope(checker.folder, "%s-%s" % (command, name), command, trace).out
        lines = [line for line in text.splitlines() if label in line]
        checker.true("%s: %s as text" % (name, command), lines and not any("CPU, submits" in line for line in lines),
                     text)


def provider_dll(checker, version):
    """Kernels in a DLL of their own, as CUDA's are: the runtime that is there speaks for them."""
    size, runs = 10000 if version == "1.30.0" else 0, 5  # its allocator's functions are 1.30's

    def command(*more):
        return [h.BIN + "/odd_custom_op.exe", h.dll(version), "build/integration/models/taker.onnx", runs, size,
                "provider:" + h.BIN + "/odd_provider.dll", *more]

    def check(name, timeline):
        inner, outer = provider_rows(timeline)
        checker.equal(name + ": the provider's kernel is one", (len(inner), len(outer)), (1, 1))
        for key in ("node", "op_type", "session", "module"):
            checker.equal(name + ": its " + key, inner[0][key], outer[0][key])
        shapes = {row["kernel"]: row for row in timeline.rows("kernel_shape")}
        for key in ("inputs", "outputs", "activation_bytes", "output_bytes"):
            checker.equal(name + ": its " + key, shapes[inner[0]["kernel"]][key], shapes[outer[0]["kernel"]][key])
        checker.true(name + ": and they are known", shapes[inner[0]["kernel"]]["inputs"])
        ops = collections.Counter((row["kernel"], row["depth"]) for row in timeline.rows("op"))
        checker.equal(name + ": it ran inside the operator",
                      (ops[inner[0]["kernel"], 1], ops[outer[0]["kernel"], 0]), (runs, runs))
        if not size:
            return
        devices = [row for row in timeline.rows("allocator") if row["allocator_class"] == "onnxruntime::CUDAAllocator"]
        checker.equal(name + ": the device's allocator", [row["name"] for row in devices], ["Cuda"])
        checker.equal(name + ": what was taken from it",
                      collections.Counter((row["allocator"], row["kernel"], row["bytes"], row["action"])
                                          for row in timeline.rows("alloc") if row["bytes"] == size),
                      {(devices[0]["allocator"], inner[0]["kernel"], size, action): runs
                       for action in (ALLOCATED, RELEASED)})

    timeline, report = recorded(checker, "launched", command(), "--alloc", "all")
    checker.equal("it ran", report["computed"], runs)
    check("launched", timeline)
    check_submits(checker, "launched", checker.folder + "/launched.ortl", timeline)
    checker.equal("nothing is said to be missing",
                  [row["message"] for row in timeline.rows("log") if "odd_provider" in row["message"]], [])
    target = Talking(checker, "target", command("wait"))
    pid = int(target.answer(r"pid (\d+)"))
    trace = checker.folder + "/attached.ortl"
    collector = h.attach(checker.folder, "attach", pid, trace, "-q", "--alloc", "all")
    target.tell("go")
    checker.equal("attached: both end well", (target.finish(), collector.wait()), (0, 0))
    check("attached", h.load(trace))
    check_submits(checker, "attached", trace, h.load(trace))


def provider_of_which(checker):
    """Two runtimes: nobody knows which one the provider works for, so neither is asked about it."""
    trace = checker.folder + "/two.ortl"
    program = h.ortscope(checker.folder, "two", "run", "-q", "-o", trace, "--alloc", "all", "--",
                         h.BIN + "/odd_custom_op.exe", h.dll("1.30.0"), "build/integration/models/taker.onnx", 5,
                         10000, "provider:" + h.BIN + "/odd_provider.dll", "also:" + h.dll("1.20.1"))
    checker.equal("the exit code passes through", program.code, 0)
    timeline = h.load(trace)
    inner, outer = provider_rows(timeline)
    checker.equal("the kernel is seen", (len(inner), len(outer)), (1, 1))
    checker.equal("as the operator that it is", inner[0]["op_type"], "Taker")
    checker.equal("its executions too", sum(row["kernel"] == inner[0]["kernel"] for row in timeline.rows("op")), 5)
    told = [row["message"] for row in timeline.rows("log") if "odd_provider.dll" in row["message"]]
    checker.equal("what is missing is said", sorted(m.split(" in ")[0] for m in told),
                  ["Allocations are not recorded", "Shapes of operators are not recorded"])


TESTS = [of_version(custom_operator, v) for v in ("1.15.0", "1.20.1", "1.30.0")]
TESTS += [of_version(provider_dll, v) for v in ("1.15.0", "1.30.0")] + [provider_of_which]

if __name__ == "__main__":
    h.run_tests("test_custom_op", TESTS)
