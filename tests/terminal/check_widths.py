#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What the commands print on terminals: no line wider than they are, colours and Unicode only where
they belong, and at the end a command that works."""
import re
import shlex
import sys
import unicodedata

import cli

STYLE = re.compile(r"\x1b\[[0-9;]*m")


def columns(line):
    return sum(0 if unicodedata.combining(c) or c in "\u200b\u200c\u200d"
               else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in STYLE.sub("", line))


def on_terminal(*arguments, **environment):
    return cli.on_terminal(*arguments, **environment)[0].decode("utf-8").replace("\r\n", "\n")


def cases(options):
    """All that prints text, on all timelines that there are."""
    files = sorted(p.name for p in options.work.glob("*.ortl"))
    for name in files:
        for arguments in (["summary"], ["summary", "--all"], ["ops"], ["ops", "--by", "node"],
                          ["ops", "--by", "provider"], ["ops", "--by", "thread"],
                          ["ops", "--sort", "total"], ["ops", "--sort", "max"],
                          ["runs", "--limit", "0"], ["runs", "--slowest", "5"], ["runs", "--failed"],
                          ["runs", "--outliers"],
                          ["timeline", "--session", "1", "--run", "2"],
                          ["timeline", "--session", "1", "--run", "3", "--top", "3"], ["dump"]):
            yield arguments + [name]
        yield ["diff", "diff_old.ortl", name]
    yield ["diff", "diff_old.ortl", "diff_new.ortl", "--fail-if", "p99>5%", "--fail-if", "op:Conv>1%"]
    yield ["import", "recording.etl", "-o", "imported.tmp"]
    yield ["import", "cut.etl", "-o", "imported.tmp"]
    yield ["help"]
    for name in cli.commands(options):
        yield ["help", name]


def widths(options, checker):
    for arguments in cases(options):
        for width in (80, 132, 60):
            text = on_terminal(options, arguments, width)
            wide = [line for line in text.split("\n") if columns(line) > width]
            checker.true(f"{' '.join(arguments)} in {width} columns", text and not wide, wide[:3])
        if arguments[0] == "dump":
            continue  # into a pipe each row is a line
        result = cli.run(options, arguments)
        wide = [line for line in result.stdout.decode().split("\n") if columns(line) > 80]
        checker.true(f"{' '.join(arguments)} in a pipe", not wide, wide[:3])


def lines_are_whole(options, checker):
    """A terminal gets what a pipe of its width gets: nothing is lost by breaking lines."""
    for arguments in (["summary", "basic.ortl"], ["help", "diff"], ["diff", "diff_old.ortl",
                                                                    "diff_new.ortl"]):
        words = []
        for width in (80, 132, 60):
            text = STYLE.sub("", on_terminal(options, arguments, width))
            words.append(re.findall(r"[A-Za-z]{4,}", text))
        # names may be cut where there is less room, and columns left out
        checker.true(f"{arguments}: words", len(words[1]) >= len(words[0]) >= len(words[2]) * 0.95,
                     [len(w) for w in words])


def styles(options, checker):
    for arguments in (["summary", "basic.ortl"], ["ops", "ops.ortl"], ["runs", "basic.ortl"],
                      ["timeline", "ops.ortl", "--run", "5", "--session", "1"],
                      ["diff", "diff_old.ortl", "diff_new.ortl"], ["help", "ops"]):
        what = " ".join(arguments)
        colour = on_terminal(options, arguments, 80)
        checker.true(f"{what}: colour on a terminal", STYLE.search(colour), colour[:200])
        checker.true(f"{what}: every style ends", not re.search(
            r"\x1b\[[1-9][0-9]*m[^\x1b]*\x1b\[[1-9]|\x1b\[[1-9][0-9]*m[^\x1b]*\Z", colour), what)
        for name, changes in {"NO_COLOR": {"NO_COLOR": "1"}, "dumb": {"TERM": "dumb"}}.items():
            plain = on_terminal(options, arguments, 80, **changes)
            checker.true(f"{what}: {name}", "\x1b" not in plain)
            checker.true(f"{what}: {name} changes nothing else", plain == STYLE.sub("", colour))
        checker.true(f"{what}: --color never", "\x1b" not in on_terminal(
            options, arguments + ["--color", "never"], 80))
        piped = cli.run(options, arguments).stdout.decode()
        checker.true(f"{what}: none in a pipe", "\x1b" not in piped)
        forced = cli.run(options, arguments + ["--color=always"]).stdout.decode()
        checker.true(f"{what}: --color always", STYLE.sub("", forced) == piped and forced != piped)
        ascii_only = on_terminal(options, arguments, 80, LC_ALL="C")
        checker.true(f"{what}: ASCII by the locale", ascii_only.isascii())
        checker.true(f"{what}: --ascii", cli.run(options, arguments + ["--ascii"]).stdout.isascii())


def next_commands(options, checker):
    """The last line of each is a command that works."""
    for arguments in (["summary", "basic.ortl"], ["summary", "ops.ortl"], ["ops", "ops.ortl"],
                      ["ops", "--by", "node", "ops.ortl"], ["runs", "basic.ortl"],
                      ["runs", "--slowest", "3", "ops.ortl"], ["runs", "--outliers", "basic.ortl"],
                      ["timeline", "ops.ortl", "--run", "5", "--session", "1"],
                      ["diff", "diff_old.ortl", "diff_new.ortl"],
                      ["diff", "diff_new.ortl", "diff_new.ortl"],
                      ["diff", "diff_old.ortl", "ops.ortl"],
                      ["import", "recording.etl", "-o", "a name with blanks.ortl"]):
        text = cli.run(options, arguments).stdout.decode()
        found = re.search(r"\nNext: ortscope ([^#\n]*)(?:#[^\n]*)?\n(.*)\Z", text, re.S)
        checker.true(f"{' '.join(arguments)}: has one", found and not found.group(2), text[-200:])
        if not found:
            continue
        result = cli.run(options, shlex.split(found.group(1)))
        checker.true(f"{found.group(1)}: works", result.returncode == 0, result.stderr)


def helps(options, checker):
    for name, usage in cli.commands(options).items():
        text = cli.run(options, ["help", name]).stdout.decode()
        checker.true(f"help {name}: examples", "\nExamples:\n  " in text or "Windows only" in usage
                     or "on Windows" in usage, text)
        if "on Windows" not in usage:
            same = cli.run(options, [name, "--help"]).stdout.decode()
            checker.true(f"{name} --help", same == text)


def main():
    options, checker = cli.begin(), cli.Checker()
    styles(options, checker)
    next_commands(options, checker)
    helps(options, checker)
    lines_are_whole(options, checker)
    widths(options, checker)
    return checker.end()


sys.exit(main())
