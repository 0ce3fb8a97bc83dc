#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`ortscope report` without a browser, so that every build can be asked, those with sanitizers and those
under Wine too: the page's data is sound for every timeline, and no name gets out of it."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

SOME = ["basic.ortl", "busy.ortl", "counters.ortl", "hostile_page.ortl", "machine.ortl", "odd_ops.ortl"]
BEGIN, END = '<script type="application/json" id="data">', "</script>"


def run(options, *args):
    return subprocess.run([*options.emulator, os.path.abspath(options.ortscope), *args], cwd=options.work,
                          capture_output=True, timeout=600)


def make(options, *args):
    subprocess.run([*options.emulator, *args], cwd=options.work, check=True, timeout=600)


def errors_of(options, name):
    done = run(options, "report", name, "-o", "-")
    if done.returncode:
        return [f"exit code {done.returncode}: {done.stderr.decode(errors='replace')}"]
    page = done.stdout.decode("utf-8")
    data = page.split(BEGIN)[1].split(END)[0]
    errors = []
    if page.count(END) != 2 or "<" in data:
        errors.append("a name gets out of the data")
    if len(done.stdout) > 2_000_000:
        errors.append(f"{len(done.stdout)} bytes")
    told, said = json.loads(data), json.loads(run(options, "summary", "--json", name).stdout)
    shown = {s["id"]: s for s in told["summary"].pop("sessions")}
    for session in said.pop("sessions"):
        mine = shown.get(session["id"])
        if not mine and len(shown) < 16:
            errors.append(f"session {session['id']} is missing")
        for key in set(session) - {"ops", "ops_notes", "outliers"} if mine else ():
            if cut(mine[key]) != cut(session[key]):
                errors.append(f"session {session['id']}: {key} is {mine[key]}, not {session[key]}")
    for key in set(said) - {"threads"}:
        if cut(told["summary"][key]) != cut(said[key]):
            errors.append(f"{key} is not that of the summary")
    if not options.emulator and run(options, "report", name, "-o", "-").stdout != done.stdout:
        errors.append("made again it is another page")
    return errors


def cut(value):
    """Long texts are shortened in the page: the begin tells enough."""
    if isinstance(value, str):
        return value[:300]
    if isinstance(value, list):
        return [cut(v) for v in value]
    return {k: cut(v) for k, v in value.items()} if isinstance(value, dict) else value


def main():
    parser = argparse.ArgumentParser()
    for option in ("ortscope", "gold-maker", "maker", "work"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("emulator", nargs="*")
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    make(options, os.path.abspath(options.gold_maker))
    make(options, os.path.abspath(options.maker), "busy.ortl")
    make(options, os.path.abspath(options.maker), "hostile_page.ortl", "hostile")
    names = sorted(p.name for p in pathlib.Path(options.work).glob("*.ortl") if p.name != "stump.ortl")
    if options.emulator:  # each start takes long, and the code is the same
        names = [n for n in names if n in SOME]
    failed = 0
    for name in names:
        errors = errors_of(options, name)
        failed += bool(errors)
        for error in errors:
            print(f"FAIL {name}: {error}"[:2000])
    print(f"{len(names)} pages, {failed} failed")
    return 1 if failed or len(names) < len(SOME) else 0


sys.exit(main())
