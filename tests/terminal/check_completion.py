#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The completions in a real bash; those of PowerShell as text, since there is no PowerShell here."""
import re
import shutil
import subprocess
import sys

import cli

ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_ortscope
((${#COMPREPLY[@]})) && printf '%s\\n' "${COMPREPLY[@]}"
"""


def complete(options, *words):
    """What bash offers for the last word."""
    result = subprocess.run(["bash", "--norc", "-c", ASK, "bash", "completion.bash", "ortscope", *words],
                            cwd=options.work, env=cli.environment(), capture_output=True, text=True,
                            timeout=60)
    assert not result.stderr, result.stderr
    return sorted(result.stdout.split("\n")[:-1])


def options_of(options, command):
    """As the help lists them."""
    text = cli.run(options, ["help", command]).stdout.decode()
    listed = text.split("\nOptions:\n")[1].split("\nExamples:\n")[0]
    return sorted("--" + name for name in re.findall(r"^  (?:-.,|   ) --([a-z-]+)", listed, re.M))


def bash(options, checker):
    script = options.work / "completion.bash"
    script.write_bytes(cli.run(options, ["completion", "bash"]).stdout)
    check = subprocess.run(["bash", "-n", script], capture_output=True, text=True, timeout=60)
    checker.true("bash reads it", check.returncode == 0 and not check.stderr, check.stderr)
    names = cli.commands(options)
    checker.true("commands", set(names) <= set(complete(options, "")), complete(options, ""))
    for name in names:
        if "on Windows" not in names[name]:
            offered = complete(options, name, "--")
            checker.true(f"options of {name}", offered == options_of(options, name),
                         (offered, options_of(options, name)))
    timelines = sorted(p.name for p in options.work.glob("*.ortl"))
    for words, expected in {
            ("su",): ["summary"],
            ("summary", ""): timelines,
            ("summary", "diff_o"): ["diff_old.ortl"],
            ("diff", "diff_old.ortl", "diff_n"): ["diff_new.ortl"],
            ("import", ""): ["cut.etl", "recording.etl"],
            ("ops", "--by", ""): ["node", "provider", "thread", "type"],
            ("ops", "x.ortl", "--by", "p"): ["provider"],
            ("ops", "--by", "=", "t"): ["thread", "type"],
            ("ops", "--by", "="): ["node", "provider", "thread", "type"],
            ("ops", "--limit", ""): [],
            ("summary", "--warmup", ""): ["auto"],
            ("summary", "--color", ""): ["always", "auto", "never"],
            ("export", "x.ortl", "--format", "c"): ["chrome", "csv"],
            ("export", "x.ortl", "-f", "par"): ["parquet"],
            ("export", "x.ortl", "-o", "completion"): ["completion.bash"],
            ("export", "x.ortl", "--table", "a"): ["allocs"],
            ("help", "vers"): ["version"],
            ("completion", ""): ["bash", "powershell"],
            ("no-such-command", ""): []}.items():
        checker.true(" ".join(words), complete(options, *words) == expected,
                     complete(options, *words))


def brackets_left(script):
    """Brackets that stay open outside of strings and comments; None where one closes too much."""
    script = re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"", "''", script)
    script = re.sub(r"#[^\n]*", "", script)
    pairs, open_ones = {")": "(", "}": "{", "]": "["}, []
    for c in script:
        if c in "({[":
            open_ones.append(c)
        elif c in pairs and (not open_ones or open_ones.pop() != pairs[c]):
            return None
    return open_ones


def powershell(options, checker):
    script = cli.run(options, ["completion", "powershell"]).stdout.decode()
    checker.true("brackets", brackets_left(script) == [], brackets_left(script))
    checker.true("ASCII: a profile may be in any encoding", script.isascii())
    for name, usage in cli.commands(options).items():
        checker.true(f"{name} is offered", f", @('{name}', '" in script)
        listed = re.search(rf"\$options\['{name}'\] = @\((.*?)\n    \)\n", script, re.S).group(1)
        offered = sorted(re.findall(r"@\('(--[a-z-]+)', '", listed))
        if "on Windows" not in usage:
            checker.true(f"options of {name}", offered == options_of(options, name), offered)
    checker.true("values", all(f"@('{word}', '{word}')" in script
                               for word in ("auto", "parquet", "provider", "never")))


def main():
    options, checker = cli.begin(), cli.Checker()
    if shutil.which("bash"):
        bash(options, checker)
    powershell(options, checker)
    return checker.end()


sys.exit(main())
