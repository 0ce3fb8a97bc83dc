#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Exports of a large timeline take no more memory than those of a small one, and nest."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import chrome_reader

FORMATS = ["chrome", "perfetto", "csv", "parquet", "speedscope"]


def peak_kb(options, name, form):
    """The most memory that an export held, of a process that does nothing else."""
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
            "stdout=subprocess.DEVNULL); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    table = ["-t", "ops"] if form in ("csv", "parquet") else []
    return int(subprocess.run(
        [sys.executable, "-c", code, options.ortscope, "export", name, "-f", form, "-o", "-", *table],
        cwd=options.work, check=True, capture_output=True, timeout=900).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ortscope", required=True)
    parser.add_argument("--maker", required=True)
    parser.add_argument("--work", required=True)
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    failed = 0
    for name, operators in (("small.ortl", 400_000), ("large.ortl", 2_000_000),
                            ("some.ortl", 20_000)):
        subprocess.run([options.maker, name, str(operators)], cwd=options.work, check=True)
    for form in FORMATS:
        small, large = (peak_kb(options, n, form) for n in ("small.ortl", "large.ortl"))
        print(f"{form}: {small} kB for 400,000 operators, {large} kB for 2,000,000")
        # A fixed part is allowed for what a library keeps; five times the rows would be far more.
        if large > small * 1.15 + 4096:
            failed += 1
            print(f"FAIL {form} takes memory by the number of rows")
    text = subprocess.run([options.ortscope, "export", "some.ortl", "-f", "chrome", "-o", "-"],
                          cwd=options.work, check=True, capture_output=True).stdout
    trace = chrome_reader.Trace(text)
    errors = trace.check()
    ops = sum(e["cat"] == "op" for s in trace.slices.values() for _, _, e in s)
    if errors or ops != 20_000 or not trace.finishes:
        failed += 1
        print(f"FAIL {ops} operators, {len(trace.finishes)} arrows, {errors[:5]}")
    (pathlib.Path(options.work) / "large.ortl").unlink()
    return 1 if failed else 0


sys.exit(main())
