#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Command lines are recorded only where the user asks for them."""
import os

import harness as h

WORD = "hush-hush-argument"


def record(checker, name, *options):
    """The bytes of a recording of node with a secret argument, and its process row."""
    trace = "%s/%s.ortl" % (checker.folder, name)
    h.ortscope(checker.folder, name, "run", "--quiet", "-o", trace, *options, "--", h.NODE, "-e", "1",
               WORD)
    with open(os.path.join(h.ROOT, trace), "rb") as file:
        return file.read(), h.load(trace).rows("process")[0]


def only_on_request(checker):
    """without --command-line no byte of an argument is in the file"""
    data, process = record(checker, "without")
    checker.true("no argument in the file", WORD.encode() not in data and not process["command_line"],
                 process)
    data, process = record(checker, "with", "--command-line")
    checker.true("the whole line in its process row",
                 WORD.encode() in data and process["command_line"].endswith(WORD), process)


if __name__ == "__main__":
    h.run_tests("test_command_lines", [only_on_request])
