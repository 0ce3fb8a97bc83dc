#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs every case of tests/gold/cases and compares stdout, stderr and exit code byte by byte.

A case is a folder: `cmd` (arguments, one a line), `stdout`, `stderr` (absent: empty), `exit`
(absent: 0). A file with the suffix .windows or .linux is for that system only. JSON documents are
parsed as well, and those of `summary --json` must have exactly the documented keys. With --bless
the expectations are written instead of compared.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

CASES = pathlib.Path(__file__).resolve().parent / "cases"

LATENCY = ["min", "mean", "stddev", "p50", "p90", "p95", "p99", "p99_9", "max", "first", "jitter"]
SUMMARY_KEYS = {
    "": ["schema_version", "ortscope_version", "target", "runtime", "duration_s", "lost_events",
         "overhead", "sessions", "process", "devices"],
    "target": ["pid", "program", "exit_code"],
    "runtime": ["version", "module"],
    "overhead": ["per_run_ns", "share"],
    "process": ["cpu_percent", "peak_rss_bytes"],
    "sessions": ["id", "model", "providers", "load_ms", "runs", "failed_runs", "throughput_per_s",
                 "latency_us", "ops", "memory", "batch", "outliers"],
    "sessions.latency_us": LATENCY,
    "sessions.memory": ["arena_bytes", "peak_bytes", "growth_bytes_per_run"],
    "sessions.batch": ["size", "runs", "p50_us", "per_sample_us"],
}


def key_errors(value, path=""):
    """Objects whose keys are not the documented ones."""
    if isinstance(value, list):
        return [e for item in value for e in key_errors(item, path)]
    if not isinstance(value, dict):
        return []
    errors = []
    if list(value) != SUMMARY_KEYS.get(path):
        errors.append(f"keys of {path or 'the document'} are {list(value)}")
    for key, item in value.items():
        errors += key_errors(item, f"{path}.{key}" if path else key)
    return errors


def reject_constant(name):
    raise ValueError(f"{name} is not JSON")


def json_errors(arguments, stdout):
    try:
        document = json.loads(stdout, parse_constant=reject_constant)
    except (ValueError, UnicodeDecodeError) as error:
        return [f"stdout is no JSON: {error}"]
    if document.get("schema_version") != 1:
        return ["schema_version is not 1"]
    return key_errors(document) if arguments[0] == "summary" else []


def expectation(case, name, platform, default):
    for path in (case / f"{name}.{platform}", case / name):
        if path.exists():
            return path.read_bytes()
    return default


def bless(case, name, platform, actual, default):
    special = case / f"{name}.{platform}"
    path = special if special.exists() else case / name
    if actual == default and path != special:
        path.unlink(missing_ok=True)
    elif not path.exists() or path.read_bytes() != actual:
        path.write_bytes(actual)
        print(f"blessed {path.relative_to(CASES)}")


def without_offsets(text):
    """Where a file is damaged moves with the size of its header; what is said about it does not."""
    return re.sub(rb"at byte \d+", b"at byte N", text)


def run_case(case, options):
    arguments = (case / "cmd").read_text().splitlines()
    # C.UTF-8 so that messages of the system are the same everywhere
    environment = dict(os.environ, LC_ALL="C.UTF-8", WINEDEBUG="-all")
    result = subprocess.run(options.emulator + [options.ortscope] + arguments, cwd=options.work,
                            env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                            timeout=120)
    actual = {"stdout": without_offsets(result.stdout), "stderr": without_offsets(result.stderr),
              "exit": b"%d\n" % result.returncode}
    errors = []
    for name, default in (("stdout", b""), ("stderr", b""), ("exit", b"0\n")):
        if options.bless:
            bless(case, name, options.platform, actual[name], default)
        elif expectation(case, name, options.platform, default) != actual[name]:
            errors.append(f"{name} differs; it is now:\n" +
                          actual[name].decode("utf-8", "replace")[:4000])
    if "--json" in arguments and result.returncode == 0:
        errors += json_errors(arguments, result.stdout)
    return errors


class KeptWarm:
    """Keeps Wine's server alive between the cases: a Windows program that waits for our end. Only
    once it runs may the cases start, or Wine's services would hold the pipes of the first one."""

    def __init__(self, emulator):
        self.waiting = emulator and subprocess.Popen(
            emulator + ["cmd", "/c", "echo ready& set /p x="], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if self.waiting:
            self.waiting.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.waiting:
            self.waiting.communicate(b"\n", timeout=60)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ortscope", required=True)
    parser.add_argument("--maker", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--platform", choices=["linux", "windows"], required=True)
    parser.add_argument("--bless", action="store_true")
    parser.add_argument("emulator", nargs="*")
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    subprocess.run(options.emulator + [options.maker], cwd=options.work, check=True, timeout=120)
    cases = sorted(p.parent for p in CASES.glob("*/cmd"))
    failed = 0
    with KeptWarm(options.emulator):
        for case in cases:
            errors = run_case(case, options)
            failed += bool(errors)
            for error in errors:
                print(f"FAIL {case.name}: {error}")
    print(f"{len(cases)} cases, {failed} failed")
    return 1 if failed or not cases else 0


sys.exit(main())
