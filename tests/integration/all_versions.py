#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""scripts/test --all-versions: every version of ONNX Runtime in scripts/targets.lock, launched and
attached: what ortscope saw of each operator of four models against ORT's own profile
(op_profile.py), and from 1.25 on what the execution-provider shim tells, as one table. Takes
minutes; says how far it is. With words, only versions that contain one of them."""
import collections
import os
import re
import subprocess
import sys

import harness as h
from op_profile import MODELS, attach, compare, compare_shim, launch

WAYS = collections.OrderedDict([("launched", launch), ("attached", attach)])
SHIM_SINCE = [1, 25]
ROWS = []


def parts(version):
    return [int(part) for part in version.split(".")]


def versions():
    with open(os.path.join(h.ROOT, "scripts/targets.lock"), encoding="utf-8") as file:
        found = re.findall(r"^onnxruntime-node@(\d+(?:\.\d+)+) ", file.read(), re.M)
    return sorted(found, key=parts)


def kernels_of(version):
    """How many kernel classes there are, and which way finds them."""
    for preset in ("linux", "linux-asan"):
        program = os.path.join(h.BUILD, preset, "bin/test_op_scan_real")
        if os.path.exists(program):
            break
    done = subprocess.run([program, os.path.join(h.BUILD, "targets"), version], check=False,
                          stdout=subprocess.PIPE, timeout=h.TIMEOUT)
    found = re.search(r"(\d+) kernel classes \(RTTI (\d+), anchor (\d+)", done.stdout.decode())
    if not found:
        return "?", "?"
    count, by_rtti, by_anchor = map(int, found.groups())
    ways = [way for way, number in (("names", by_rtti), ("literal", by_anchor)) if number]
    return count, "+".join(ways) if by_rtti in (0, count) else "they disagree"


def one_version(checker, version):
    subprocess.run([os.path.join(h.ROOT, "scripts/targets"), version], check=True, timeout=900,
                   stdin=subprocess.DEVNULL)
    good, seen, has_shim = collections.Counter(), {}, parts(version) >= SHIM_SINCE
    for name in MODELS:
        try:
            for way, function in WAYS.items():
                failures = checker.failures
                seen[name, way] = compare(checker, version, name, function)
                good[way] += checker.failures == failures
            good["shim"] += has_shim and compare_shim(checker, version, name)
        except Exception as error:  # the other models and versions are to be tried too
            checker.true("%s %s: %r" % (version, name, error), False)
    launched = [seen[key] for key in seen if key[1] == "launched"]
    ROWS.append([version, *kernels_of(version)] +
                ["%d of %d" % (good[way], len(MODELS)) if way != "shim" or has_shim else "-"
                 for way in (*WAYS, "shim")] +
                [sum(c.nodes for c in launched), sum(c.executions for c in launched),
                 "%.3f" % min((c.rank for c in seen.values()), default=0),
                 "ok" if checker.failures == 0 else "WRONG"])


def print_table():
    titles = ["version", "kernels", "found by", *WAYS, "shim", "nodes", "executions", "least rank",
              "verdict"]
    rows = [titles] + [[str(cell) for cell in row] for row in ROWS]
    widths = [max(len(row[i]) for row in rows) for i in range(len(titles))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip(), flush=True)


def of_version(version):
    def test(checker):
        one_version(checker, version)
    test.__name__ = version
    test.__doc__ = "%s of %s" % (version, ", ".join(MODELS))
    return test


if __name__ == "__main__":
    h.Checker.quiet = True
    try:
        h.run_tests("all_versions", [of_version(version) for version in versions()])
    finally:
        print_table()
