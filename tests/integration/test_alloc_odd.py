#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Allocations of programs that do what few do: run out of memory, keep everything, give arenas back,
share them."""
import collections

import harness as h
from test_alloc import RUNS, VERSIONS, alloc_runner, check_pairs, check_sums, model_runner, recorded


def out_of_memory(checker):
    """exceptions that fly through allocators leave no trace in what is counted afterwards"""
    for version in VERSIONS:
        timeline, report = recorded(checker, version, [
            h.BIN + "/odd_memory.exe", h.dll(version), "build/integration/models/zeros.onnx", 10],
            "--alloc", "all")
        checker.equal(version + ": the program saw what it should",
                      (report["good"], report["failed"]), (5, 5))
        checker.equal(version + ": runs with enough memory took their output, others nothing",
                      {r["run"]: (r["allocations"], r["allocated_bytes"])
                       for r in timeline.rows("run_memory")},
                      {run: (1, 400) for run in (2, 4, 6, 8, 10)})
        left = check_pairs(checker, version, timeline)
        checker.equal(version + ": nothing is left", list(left.values())[:2], [])


def overfull(checker):
    """a program that keeps more outputs than addresses can be followed: no run's peak is made up"""
    words = model_runner("1.23.2", 40000, "--keep", "--model", "build/integration/models/loop.onnx",
                         "--input", "X=float:2,4", "--input", "M=int64::5", "--output", "Y",
                         "--output", "all")
    timeline, _ = recorded(checker, "overfull", words, "--ops", "off", "--ring-size", "16384")
    rows = timeline.rows("run_memory")
    usual = rows[99]
    checker.true("a run never has all at once that it takes",
                 0 < usual["peak_bytes"] < usual["allocated_bytes"], usual)
    checker.equal("every other run has the same peak, or it is not known",
                  collections.Counter(r["peak_bytes"] for r in rows[100:]).keys() -
                  {usual["peak_bytes"], -1}, set())
    checker.true("as of the last ones", rows[-1]["peak_bytes"] == -1, rows[-1])
    run_peak = h.summary("%s/overfull.ortl" % checker.folder)["sessions"][0]["memory"]["run_peak_bytes"]
    checker.equal("the summary has the peaks that are known", run_peak,
                  max(r["peak_bytes"] for r in rows))


def shrinking(checker):
    """arenas that give back after each run what they do not use: that is no release of the program's"""
    for version in ("1.15.0", "1.20.1", "1.30.0"):
        words = alloc_runner(version, "shrink")
        words[words.index("1,3,48,192")] = "4,3,48,192"  # more than the first region of an arena has
        words[words.index(RUNS)] = 100
        timeline, _ = recorded(checker, version, words, "--alloc", "all", "--ring-size", "16384")
        memory = h.summary("%s/%s.ortl" % (checker.folder, version))["sessions"][0]["memory"]
        checker.true(version + ": runs make it grow, then it shrinks",
                     timeline.rows("run_memory")[-1]["grown_bytes"] > 0 and
                     timeline.rows("memory")[-1]["shrinks"] >= 50, timeline.rows("memory")[-1:])
        left = check_pairs(checker, version, timeline)
        checker.equal(version + ": nothing is left", list(left.values())[:2], [])
        check_sums(checker, version, timeline)
        checker.equal(version + ": no run releases more than it took",
                      [r for r in timeline.rows("run_memory") if r["frees"] > r["allocations"]][:2], [])
        checker.equal(version + ": it is steady", memory["growth"]["verdict"], "steady")


def shared(checker):
    """two sessions in the environment's arena, one keeps its outputs: that is not told of the other"""
    for version in ("1.15.0", "1.23.2", "1.30.0"):
        timeline, report = recorded(checker, version, [
            h.BIN + "/odd_memory.exe", h.dll(version), "build/integration/models/zeros.onnx", 200, "shared"],
            "--alloc", "all")
        checker.equal(version + ": all runs are good", (report["good"], report["failed"]), (200, 0))
        summary = h.summary("%s/%s.ortl" % (checker.folder, version))
        memory = [s["memory"] for s in summary["sessions"]]
        checker.equal(version + ": nothing is said about growth",
                      [m["growth"]["bytes_per_run"] for m in memory], [None] * 2)
        checker.equal(version + ": what the first one had alone is not what it has",
                      [(m["arena_bytes"], m["in_use_bytes"]) for m in memory], [(None, None)] * 2)
        checker.equal(version + ": each run has what it took, and nothing about what others hold",
                      {(r["allocations"], r["allocated_bytes"], r["live_bytes"])
                       for r in timeline.rows("run_memory")[10:]}, {(1, 400, -1)})
        states = timeline.rows("memory")
        checker.equal(version + ": the arena's state is no session's",
                      [row["session"] for row in states[-1:]], [0])
        checker.true(version + ": and there", states[-1]["in_use_bytes"] >= 100 * 400, states[-1:])
        checker.equal(version + ": it is told once", summary["shared_arenas"],
                      {"count": 1, "held_bytes": states[-1]["held_bytes"],
                       "in_use_bytes": states[-1]["in_use_bytes"]})


TESTS = [out_of_memory, overfull, shrinking, shared]

if __name__ == "__main__":
    h.run_tests("test_alloc_odd", TESTS)
