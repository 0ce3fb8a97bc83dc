#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""DuckDB, which we did not write, reads the Parquet files: it must find the rows of the CSV in them,
value by value, and the counts and latencies of `summary --json`. Of generated timelines, or of those
that --files names. Exit code 77: DuckDB is not here."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

TABLES = ["runs", "ops", "allocs", "counters", "sched", "memory", "sessions"]


def ask(options, questions):
    result = subprocess.run(
        ["node", str(pathlib.Path(__file__).with_name("duckdb_answers.mjs")), options.duckdb],
        input="\n".join(questions), capture_output=True, text=True, timeout=300)
    if result.returncode:
        sys.exit(f"DuckDB: {result.stderr[-2000:]}")
    return json.loads(result.stdout)


def export(options, *arguments):
    subprocess.run([options.ortscope, "export", *arguments, "-q"], cwd=options.work, check=True,
                   stderr=subprocess.DEVNULL, timeout=300)


class Questions:
    """SQL and what is to come back."""

    def __init__(self):
        self.sql, self.expected = [], []

    def add(self, sql, check, what):
        self.sql.append(sql)
        self.expected.append((check, what))


def types_of(path):
    """Columns and types as the Parquet file tells them, for reading the CSV by."""
    return f"DESCRIBE SELECT * FROM read_parquet('{path}')"


def compare_tables(options, files, q):
    """Every cell of the Parquet files against those of the CSV."""
    pairs = []
    for name in files:
        stem = name.removesuffix(".ortl")
        export(options, name, "-f", "json", "-o", f"{options.work}/{stem}.json")
        document = json.loads(pathlib.Path(f"{options.work}/{stem}.json").read_text())
        for table in TABLES:
            # Tables without rows are asked about once, and of every real capture.
            if not document[table] and table != "runs" and name != "no_ort.ortl" and \
                    not options.files:
                continue
            base = f"{options.work}/{stem}.{table}"
            export(options, name, "-f", "parquet", "-t", table, "-o", f"{base}.parquet")
            export(options, name, "-f", "csv", "-t", table, "-o", f"{base}.csv")
            pairs.append((base, "parquet"))
            if name == "ops.ortl":
                export(options, name, "-f", "parquet", "-t", table, "-o", f"{base}.z.parquet",
                       "--gzip")
                pairs.append((base, "z.parquet"))
    types = ask(options, [types_of(f"{base}.parquet") for base, _ in pairs])
    for (base, form), described in zip(pairs, types):
        columns = ", ".join(f"'{row[0]}': '{row[1]}'" for row in described)
        csv = (f"read_csv('{base}.csv', header=true, auto_detect=false, delim=',', quote='\"', "
               f"escape='\"', nullstr='', columns={{{columns}}}, strict_mode=false, "
               f"parallel=false)")
        parquet = f"read_parquet('{base}.{form}')"
        q.add(f"SELECT (SELECT count(*) FROM {csv}) - (SELECT count(*) FROM {parquet})",
              lambda rows: rows == [["0"]], f"{base}.{form}: count of rows")
        q.add(f"SELECT count(*) FROM (SELECT * FROM {csv} EXCEPT ALL SELECT * FROM {parquet})",
              lambda rows: rows == [["0"]], f"{base}.{form}: rows of the CSV are missing")


def compare_groups_and_parts(options, q):
    """Several row groups in a file, and one table in several files."""
    subprocess.run([options.large_maker, "groups.ortl", "150000"], cwd=options.work, check=True)
    for form, more in (("csv", []), ("parquet", []), ("z.parquet", ["--gzip"])):
        export(options, "groups.ortl", "-f", form.split(".")[-1], "-t", "ops", "-o",
               f"groups.{form}", *more)
    export(options, "groups.ortl", "-f", "parquet", "-t", "ops", "-o", "part.parquet",
           "--split-size", "2MB")
    whole = f"read_parquet('{options.work}/groups.parquet')"
    q.add(f"SELECT count(DISTINCT row_group_id) FROM parquet_metadata('{options.work}/"
          f"groups.parquet')", lambda rows: rows == [["3"]], "row groups of 150,000 rows")
    q.add(f"SELECT count(*) FROM {whole} WHERE begin_ns >= 40000000",
          lambda rows: 0 < int(rows[0][0]) < 150000, "a query that skips row groups")
    sums = "count(*), sum(duration_ns), sum(begin_ns), count(DISTINCT node), count(run)"
    csv = f"read_csv('{options.work}/groups.csv', header=true)"
    for other in (f"read_parquet('{options.work}/groups.z.parquet')",
                  f"read_parquet('{options.work}/part.*.parquet')", csv):
        q.add(f"SELECT (SELECT ({sums})::VARCHAR FROM {whole}) = "
              f"(SELECT ({sums})::VARCHAR FROM {other})",
              lambda rows: rows == [[True]], f"sums of {other}")
    q.add(f"SELECT count(*) FROM (SELECT run, node, begin_ns, duration_ns FROM {csv} EXCEPT ALL "
          f"SELECT run, node, begin_ns, duration_ns FROM {whole})",
          lambda rows: rows == [["0"]], "rows of the CSV in row groups")
    parts = sorted(pathlib.Path(options.work).glob("part.*.parquet"))
    if len(parts) < 3 or any(p.stat().st_size > 2_500_000 for p in parts):
        sys.exit(f"FAIL parts: {[(p.name, p.stat().st_size) for p in parts]}")


def compare_summary(options, files, q):
    for name in files:
        stem = name.removesuffix(".ortl")
        summary = json.loads(subprocess.run(
            [options.ortscope, "summary", name, "--json"], cwd=options.work, check=True,
            capture_output=True, timeout=300).stdout)
        runs = f"read_parquet('{options.work}/{stem}.runs.parquet')"
        for session in summary["sessions"]:
            where = f"session = {session['id']}"
            q.add(f"SELECT count(*), count(*) FILTER (status_code <> 0) FROM {runs} WHERE {where}",
                  lambda rows, s=session: rows == [[str(s["runs"]), str(s["failed_runs"])]],
                  f"{name}: runs of session {session['id']}")
            latency = session["latency_us"]
            if latency["p50"] is None:
                continue
            q.add(f"SELECT min(duration_ns) / 1000.0, max(duration_ns) / 1000.0, "
                  f"quantile_disc(duration_ns, 0.5) / 1000.0, avg(duration_ns) / 1000.0 "
                  f"FROM {runs} WHERE {where} AND status_code = 0",
                  lambda rows, l=latency: all(
                      abs(a - l[k]) <= 0.001 * abs(l[k]) + 0.001
                      for a, k in zip(rows[0], ("min", "max", "p50", "mean"))),
                  f"{name}: latency of session {session['id']} {latency}")


def compare_operators(options, files, q):
    for name in files:
        stem = name.removesuffix(".ortl")
        ops = json.loads(subprocess.run(
            [options.ortscope, "ops", name, "--json"], cwd=options.work, check=True,
            capture_output=True, timeout=300).stdout)
        if not ops["all"]["calls"] and not ops["all"]["loading_calls"]:
            continue
        q.add(f"SELECT count(*) FILTER (NOT is_loading), count(*) FILTER (is_loading) "
              f"FROM read_parquet('{options.work}/{stem}.ops.parquet')",
              lambda rows, a=ops["all"]: rows == [[str(a["calls"]), str(a["loading_calls"])]],
              f"{name}: executions of operators, {ops['all']}")


def compare_all(options, good, odd, q):
    compare_tables(options, good + odd, q)
    compare_summary(options, good, q)
    compare_operators(options, good, q)


def generated(options, q):
    subprocess.run([options.maker], cwd=options.work, check=True, timeout=120)
    compare_all(options, ["attached.ortl", "basic.ortl", "counters.ortl", "cut.ortl", "many.ortl",
                          "memory.ortl", "no_ort.ortl", "ops.ortl"],
                ["hostile.ortl", "odd.ortl", "odd_memory.ortl", "odd_ops.ortl"], q)
    compare_groups_and_parts(options, q)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ortscope", required=True)
    parser.add_argument("--maker")
    parser.add_argument("--large-maker")
    parser.add_argument("--files", nargs="*")
    parser.add_argument("--duckdb", required=True)
    parser.add_argument("--work", required=True)
    options = parser.parse_args()
    options.duckdb, options.work = (os.path.abspath(p) for p in (options.duckdb, options.work))
    if not shutil.which("node") or not os.path.exists(f"{options.duckdb}/node_modules"):
        print("SKIP: DuckDB is not here; scripts/targets duckdb fetches it from npm")
        return 77
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    q = Questions()
    if options.files:
        names = [os.path.basename(path) for path in options.files]
        for path, name in zip(options.files, names):
            shutil.copy(path, f"{options.work}/{name}")
        compare_all(options, names, [], q)
    else:
        generated(options, q)
    failed = 0
    for (check, what), rows in zip(q.expected, ask(options, q.sql)):
        if not check(rows):
            failed += 1
            print(f"FAIL {what}: DuckDB says {rows}")
    print(f"{len(q.sql)} questions to DuckDB, {failed} answers differ")
    return 1 if failed else 0


sys.exit(main())
