#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Exports every timeline of the gold tests in every format and checks the result with readers that
know nothing of ortscope (chrome_reader.py, perfetto_reader.py, Python's csv, json and gzip), and
against what `dump` and `summary` say about the same file."""
import argparse
import csv
import gzip
import io
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys

import chrome_reader
import perfetto_reader

LATEST = 1 << 60


class Case:
    """One timeline and what is wrong with its exports."""

    def __init__(self, options, path):
        self.options, self.path, self.errors = options, path, []
        self.rows = {}
        for row in json.loads(self.run("dump", path, "--json"))["rows"]:
            self.rows.setdefault(row["kind"], []).append(row)

    def run(self, *arguments, code=0, **more):
        result = subprocess.run([self.options.ortscope, *map(str, arguments)],
                                cwd=self.options.work, stdin=subprocess.DEVNULL,
                                capture_output=True, timeout=300, **more)
        if result.returncode != code:
            self.errors.append(f"{arguments}: exit code {result.returncode}, "
                               f"{result.stderr.decode()}")
        # What reads only blocks that are good is whole, whatever else is damaged.
        damaged = self.path == "cut.ortl" or (self.path == "flipped.ortl" and "chrome" in arguments)
        if code == 0 and damaged and "--table" not in arguments and b"is not whole" not in result.stderr:
            self.errors.append(f"{arguments}: nothing is said about the damage")
        return result.stdout

    def export(self, *arguments, **more):
        return self.run("export", self.path, *arguments, "-o", "-", **more)

    def expect(self, what, actual, expected):
        if actual != expected:
            self.errors.append(f"{what}: {actual!r} instead of {expected!r}")


def sane(row):
    return row["begin_ns"] >= 0 and 0 <= row["duration_ns"] < LATEST - row["begin_ns"]


def check_chrome(case):
    trace = case.chrome = chrome_reader.Trace(case.export("--format", "chrome"))
    case.errors += trace.check()
    events = [e for slices in trace.slices.values() for _, _, e in slices]
    runs = case.rows.get("run", [])
    on_threads = sum(r["call"] != 2 and r["thread"] > 0 for r in runs)
    case.expect("slices of operators", sum(e.get("cat") == "op" for e in events),
                len(case.rows.get("op", [])))
    case.expect("slices of runs", sum(e.get("cat") == "run" for e in events),
                len(runs) + on_threads)
    on_sessions = sorted((e["args"]["session"], e["args"]["run"], b, end - b)
                         for place, slices in trace.slices.items()
                         if trace.names[place].startswith("session ")
                         for b, end, e in slices if e["cat"] == "run" and "run" in e["args"])
    expected = sorted((r["session"], r["run"], r["begin_ns"], r["duration_ns"]) for r in runs
                      if r["run"] > 0)
    if all(sane(r) for r in runs):
        case.expect("times of runs", on_sessions == expected, True)
    switches = [s for s in case.rows.get("sched", []) if s["new_thread"] != 0]
    turns = sum(e.get("cat") == "sched" for e in events)
    case.expect("turns on processors, but for the last ones",
                len(switches) - 64 <= turns <= len(switches) and bool(turns) == bool(switches), True)
    case.expect("instants", len(trace.instants), sum(
        len(case.rows.get(k, [])) for k in ("mark", "log", "ort_event", "lost")))


def check_perfetto(case):
    """The same slices, values, instants and arrows as in Chrome's JSON, track by track."""
    trace = perfetto_reader.Trace(case.export("--format", "perfetto"))
    case.errors += trace.check()
    mine = {trace.name_of(uuid): sorted((b, e, name, cat, notes.get("run"), notes.get("node"))
                                        for b, e, name, cat, notes in slices)
            for uuid, slices in trace.slices.items()}
    other = {case.chrome.names[place]: sorted((b, e, ev["name"], ev["cat"], ev["args"].get("run"),
                                               ev["args"].get("node")) for b, e, ev in slices)
             for place, slices in case.chrome.slices.items()}
    for name in mine.keys() | other.keys():
        if repr(mine.get(name)) != repr(other.get(name)):
            case.errors.append(f"Perfetto's track {name}: {repr(mine.get(name))[:200]} instead of "
                               f"{repr(other.get(name))[:200]}")
    case.expect("values of counters",
                sorted((trace.name_of(u), v) for u, v in trace.counters.items()),
                sorted((name, sorted(v, key=lambda x: x[0]))
                       for (_, name), v in case.chrome.counters.items()))
    case.expect("Perfetto's instants", len(trace.instants), len(case.chrome.instants))
    case.expect("Perfetto's arrows", set(trace.arrows_in), set(case.chrome.finishes))


def check_speedscope(case):
    document = json.loads(case.export("--format", "speedscope"))
    frames = document["shared"]["frames"]
    ops = json.loads(case.run("ops", case.path, "--json"))
    total = 0
    # What the published schema of the format demands.
    case.expect("the schema's name", document["$schema"],
                "https://www.speedscope.app/file-format-schema.json")
    case.expect("frames", all(isinstance(f["name"], str) for f in frames), True)
    for profile in document["profiles"]:
        case.expect("keys of a profile", set(profile), {
            "type", "name", "unit", "startValue", "endValue", "samples", "weights"})
        case.expect("type and unit", (profile["type"], profile["unit"]), ("sampled", "nanoseconds"))
        case.expect("samples and weights", len(profile["samples"]), len(profile["weights"]))
        case.expect("the end", sum(profile["weights"]), profile["endValue"] - profile["startValue"])
        case.expect("frames that are there",
                    all(0 <= f < len(frames) for s in profile["samples"] for f in s), True)
        total += profile["endValue"]
    case.expect("a profile", bool(document["profiles"]), True)
    if abs(total - (ops["all"]["self_us"] or 0) * 1000) > 1e-6 * total + 1000:
        case.errors.append(f"self time {total} ns, but `ops` says {ops['all']['self_us']} us")


def check_tables(case):
    kinds = {"runs": "run", "ops": "op", "allocs": "alloc", "counters": "sample", "sched": "sched",
             "memory": "run_memory", "sessions": "session"}
    document = json.loads(case.export("--format", "json"))
    for table, kind in kinds.items():
        case.expect(f"rows of {table} in JSON", len(document[table]), len(case.rows.get(kind, [])))
        if not document[table]:
            continue
        text = case.export("--format", "csv", "--table", table).decode()
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
        case.expect(f"rows of {table} in CSV", len(rows), len(case.rows.get(kind, [])))
        for line, obj in zip(rows, document[table]):
            same = {k: "" if v is None else str(v).lower() if isinstance(v, bool) else v
                    for k, v in obj.items()}
            for key, value in same.items():
                if (float(line[key]) if isinstance(value, float) else line[key]) != \
                        (value if isinstance(value, (str, float)) else str(value)):
                    case.errors.append(f"{table}.{key}: CSV {line[key]!r}, JSON {value!r}")
    only = json.loads(case.export("--format", "json", "--table", "runs"))
    case.expect("runs alone", only["runs"] == document["runs"], True)


def check_summary(case):
    """The runs of the CSV and what `summary` counts."""
    rows = list(csv.DictReader(io.StringIO(case.export("--format", "csv").decode(), newline="")))
    for session in json.loads(case.run("summary", case.path, "--json"))["sessions"]:
        mine = [r for r in rows if int(r["session"]) == session["id"]]
        good = sorted(int(r["duration_ns"]) for r in mine if r["status"] == "ok")
        case.expect("runs", len(mine), session["runs"])
        case.expect("failed runs", len(mine) - len(good), session["failed_runs"])
        if good and session["latency_us"]["p50"] is not None and min(good) >= 0:
            case.expect("min", good[0] / 1000, session["latency_us"]["min"])


def check_ranges(case):
    all_rows = list(csv.DictReader(io.StringIO(case.export("--format", "csv").decode(),
                                               newline="")))
    begins = sorted(int(r["begin_ns"]) for r in all_rows)
    if len(begins) < 2 or begins[0] < 0 or begins[-1] > 10**15:
        return
    middle = begins[len(begins) // 2]
    cut = f"{middle}ns"
    early, late = (list(csv.DictReader(io.StringIO(
        case.export("--format", "csv", side, cut).decode(), newline="")))
        for side in ("--to", "--from"))
    case.expect("rows before", len(early), sum(b < middle for b in begins))
    case.expect("rows after", len(late), sum(b >= middle for b in begins))
    for session in sorted({int(r["session"]) for r in all_rows})[:1]:
        if not any(s["session"] == session for s in case.rows.get("session", [])):
            continue
        trace = chrome_reader.Trace(case.export("--format", "chrome", "--session", session))
        case.errors += trace.check()
        case.expect("sessions", {e["args"]["session"] for s in trace.slices.values()
                                 for _, _, e in s if e["cat"] in ("run", "op")}, {session})


def check_gzip_and_parts(case):
    folder = pathlib.Path(case.options.work) / "parts"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    plain = case.export("--format", "csv")
    case.expect("gzip", gzip.decompress(case.export("--format", "csv", "--gzip")) == plain, True)
    case.run("export", case.path, "-f", "csv", "-o", folder / "x.csv", "--split-size", "2kB", "-q")
    parts = sorted(folder.glob("x.*.csv"))
    lines = [p.read_bytes().splitlines(keepends=True) for p in parts]
    case.expect("first part", parts[0].name, "x.001.csv")
    case.expect("parts together", b"".join(l for p in lines for l in p[1:]),
                b"".join(plain.splitlines(keepends=True)[1:]))
    case.expect("head of each part", {p[0] for p in lines}, {plain.splitlines(keepends=True)[0]})
    case.run("export", case.path, "-f", "chrome", "-o", folder / "y.json", "--split-size", "5kB",
             "--gzip", "-q")
    whole = chrome_reader.Trace(case.export("--format", "chrome"))
    count = 0
    for part in folder.glob("y.*.json"):
        trace = chrome_reader.Trace(gzip.decompress(part.read_bytes()))
        case.errors += [e for e in trace.check() if "arrow" not in e]
        count += sum(len(s) for s in trace.slices.values())
    case.expect("slices in parts", count, sum(len(s) for s in whole.slices.values()))


def no_room():
    """A disk that is full after 20 kB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def check_failures(options):
    case = Case(options, "basic.ortl")
    work = pathlib.Path(options.work)
    for arguments, code in ((["basic.ortl"], 2), (["basic.ortl", "-f", "word"], 2),
                            (["basic.ortl", "-f", "csv", "-t", "word"], 2),
                            (["basic.ortl", "-f", "chrome", "-t", "ops"], 2),
                            (["basic.ortl", "-f", "csv", "-o", "./basic.ortl"], 2),
                            (["basic.ortl", "-f", "csv", "-o", "many.ortl"], 2),
                            (["basic.ortl", "-f", "csv", "--session", "99", "-o", "-"], 1),
                            (["basic.ortl", "-f", "csv", "--from", "2", "--to", "1"], 2),
                            (["basic.ortl", "-f", "csv", "-o", "-", "--split-size", "1MB"], 2),
                            (["basic.ortl", "-f", "csv", "--split-size", "much"], 2),
                            (["basic.ortl", "-f", "csv", "-o", "no/such/folder.csv"], 1),
                            (["missing.ortl", "-f", "csv"], 1), (["text.txt", "-f", "csv"], 1)):
        before = sorted(work.iterdir())
        case.run("export", *arguments, code=code)
        case.expect(f"files after {arguments}", sorted(work.iterdir()), before)
    for name in ("chrome", "csv", "json", "parquet", "perfetto"):
        case.run("export", "basic.ortl", "-f", name, "-o", "full.out", "-q", code=1,
                 preexec_fn=no_room)
        case.expect(f"{name} on a full disk is left behind", (work / "full.out").exists(), False)
    case.run("export", "basic.ortl", "-f", "csv", "-q")
    case.expect("the name that is chosen", (work / "basic.csv").exists(), True)
    return case.errors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ortscope", required=True)
    parser.add_argument("--maker", required=True)
    parser.add_argument("--work", required=True)
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    subprocess.run([options.maker], cwd=options.work, check=True, timeout=120)
    # Context switches are in recordings of the system only.
    subprocess.run([options.ortscope, "import", "recording.etl", "-q", "-o", "recording.ortl"],
                   cwd=options.work, check=True, timeout=120)
    failed, count = 0, 0
    checks = [check_chrome, check_perfetto, check_speedscope, check_summary, check_ranges]
    for path in sorted(p.name for p in pathlib.Path(options.work).glob("*.ortl")):
        if path == "stump.ortl":
            continue
        case = Case(options, path)
        # `dump` reads from front to back and stops at damage, a table only its own blocks.
        more = [] if path == "flipped.ortl" else [check_tables]
        for check in checks + more + ([check_gzip_and_parts] if path == "ops.ortl" else []):
            check(case)
        count += 1
        failed += bool(case.errors)
        for error in case.errors[:20]:
            print(f"FAIL {path}: {error[:600]}")
    errors = check_failures(options)
    failed += bool(errors)
    for error in errors:
        print(f"FAIL failures: {error[:600]}")
    print(f"{count} timelines, {failed} failed")
    return 1 if failed or not count else 0


sys.exit(main())
