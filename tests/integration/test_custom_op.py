#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What an operator of the program's own takes from the C API's allocators is its run's: by
AllocatorAlloc, straight through the functions in the allocator's struct, and from the session's
allocator; launched, and in a session that was there before us."""
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


TESTS = [of_version(custom_operator, v) for v in ("1.15.0", "1.20.1", "1.30.0")]

if __name__ == "__main__":
    h.run_tests("test_custom_op", TESTS)
