# SPDX-License-Identifier: MIT
"""Recordings of busy.js and their counters, with or without stand-ins for libraries (tests/sim)."""
import json
import os
import shutil

import harness as h

BUSY = "tests/integration/programs/busy.js"


def with_stand_ins(checker, **scripts):
    """An ortscope.exe with stand-ins beside it: pdh="..." is the script of pdh.dll."""
    folder = checker.folder + "/bin"
    os.makedirs(os.path.join(h.ROOT, folder), exist_ok=True)
    files = [h.ORTSCOPE, h.BIN + "/ortscope_hook.dll"]
    files += ["%s/sim/%s.dll" % (h.BIN, name) for name in scripts]
    for file in files:
        shutil.copy(os.path.join(h.ROOT, file), os.path.join(h.ROOT, folder))
    for name, script in scripts.items():
        with open(os.path.join(h.ROOT, folder, name + ".sim"), "w") as file:
            file.write(script)
    return folder + "/ortscope.exe"


class Busy:
    """busy.js under `ortscope run`; it has done its work and waits."""

    def __init__(self, checker, options, *more, binary=h.ORTSCOPE, name="busy"):
        self.trace, self.report_file, self.stop_file = (
            "%s/%s%s" % (checker.folder, name, e) for e in (".ortl", ".json", ".stop"))
        self.program = h.Program(checker.folder, name, [
            binary, "run", "-o", self.trace, "--quiet"] + list(options) + [
                "--", h.NODE, BUSY, "--report", self.report_file, "--stop-file", self.stop_file]
            + [str(m) for m in more])
        full = os.path.join(h.ROOT, self.report_file)
        h.wait_until(lambda: os.path.exists(full), "the report of busy.js", program=self.program)
        with open(full) as file:
            self.report = json.load(file)
        self.linux_pid = h.linux_pids("node.exe", self.stop_file)[0]

    def wait_for(self, what, condition):
        """Until the recording says so; its Counters."""
        def look():
            counters = Counters(h.load(self.trace))
            return counters if condition(counters) else None
        return h.wait_until(look, what, program=self.program)

    def finish(self, checker):
        h.touch(self.stop_file)
        checker.equal("exit code", self.program.wait(), 0)
        timeline = h.load(self.trace)
        checker.equal("the file is whole", timeline.damage, None)
        return Counters(timeline)


class Counters:
    """The counters of a timeline by what they are, with their values over time."""

    def __init__(self, timeline):
        self.timeline = timeline
        self.by_id = {row["counter"]: dict(row, values=[]) for row in timeline.rows("counter")}
        for row in timeline.rows("sample"):
            self.by_id[row["counter"]]["values"].append(
                (row["time"], row["value"] if row["known"] else None))

    def all(self, **wanted):
        return [c for c in self.by_id.values()
                if all(c[key] == value for key, value in wanted.items())]

    def one(self, **wanted):
        found = self.all(**wanted)
        if len(found) != 1:
            raise h.Failure("%d counters are %s" % (len(found), wanted))
        return found[0]

    def process(self, name):
        return self.one(name=name, about=1, process=1)

    def values(self, **wanted):
        """In units, None where it is not known; [] if there is no such counter."""
        return [None if value is None else value / c["per_unit"]
                for c in self.all(**wanted) for _, value in c["values"]]

    def remarks(self):
        return "\n".join(row["message"] for row in self.timeline.rows("log"))


def known(counter):
    return [value for _, value in counter["values"] if value is not None]


def last(counter):
    return (known(counter) or [None])[-1]
