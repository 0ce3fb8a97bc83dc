# SPDX-License-Identifier: MIT
"""Targets that run until told to stop, and how to learn from outside how far they are."""
import os
import struct

import harness as h

VERSION = "1.23.2"


def counted(path):
    """Finished runs from the driver's counter file."""
    with open(os.path.join(h.ROOT, path), "rb") as file:
        return struct.unpack("<q", file.read(8))[0]


def counter_text(path):
    """Finished runs from classify.js's counter file."""
    with open(os.path.join(h.ROOT, path)) as file:
        text = file.read().strip()
    return int(text) if text else 0


class Looping:
    """classify.js, running until told to stop."""

    def __init__(self, checker, name="target", version=VERSION, *more):
        base = "%s/%s" % (checker.folder, name)
        self.stop_file, self.counter, self.pid_file = (
            base + e for e in (".stop", ".count", ".pid"))
        self.program = h.Program(checker.folder, name, h.node_arguments(
            version, "--stop-file", self.stop_file, "--seconds", h.FOREVER, "--counter", self.counter,
            "--pid-file", self.pid_file, "--exit-code", 5, *more))
        self.pid = h.read_pid(self.pid_file, self.program)
        h.wait_until(self.count, "first run of " + name, program=self.program)

    def count(self):
        return counter_text(self.counter) if os.path.exists(
            os.path.join(h.ROOT, self.counter)) else 0

    def more_runs(self, number):
        goal = self.count() + number
        h.wait_until(lambda: self.count() >= goal, "%d more runs" % number, program=self.program)

    def finish(self, checker):
        h.touch(self.stop_file)
        checker.equal("the program ends with its own code", self.program.wait(), 5)
        return h.report_of(self.program.out)[0]

    def linux_pid(self):
        return h.linux_pids("node.exe", self.stop_file)[0]
