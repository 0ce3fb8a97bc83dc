# SPDX-License-Identifier: MIT
"""A machine with event tracing (tests/sim/README.md tells what it does and what it does not).

    with Machine(checker) as machine:
        program = machine.run("trace", [h.ORTSCOPE, "run", "--etw", ...])   # and what it starts
        app = machine.start("app", [...])                                  # the same, not waited for
        machine.set(deny=1)
        machine.sessions()

Whatever is started by run() and start(), and all children of it, see the machine's sessions; other
programs see Wine's functions, which do nothing. The machine ends with the block, its sessions with it.
"""
import contextlib
import os

import harness as h

TOOL = h.BIN + "/sim/sim_etw.exe"
RECORDER = h.BIN + "/etw_recorder.exe"
ORT_PROVIDER = "3a26b1ff-7484-7484-7484-15261f42614d"
ORT_LOG_PROVIDER = "929dd115-1ecb-4cb5-b060-ebd4983c421d"


def on_qpc(timeline, run):
    """A run's begin and end on the machine's clock."""
    anchor = timeline.rows("clock")[0]
    begin = anchor["qpc"] * 100 + run["begin"] - anchor["time"]  # Wine: 10 MHz
    return begin, begin + run["duration"]


class Machine:
    def __init__(self, checker, name="machine"):
        self.checker = checker
        self.folder = checker.folder
        self.name = "%s.%s" % (checker.name[:40], name)
        self.calls = 0

    def __enter__(self):
        self.host = h.Program(self.folder, "sim_etw_host", [TOOL, "host", self.name])
        h.wait_until(lambda: "ready" in self.host.out, "the machine's start", program=self.host)
        return self

    def __exit__(self, kind, value, trace):
        self._tool("end")
        self.checker.equal("the simulated machine ends", self.host.wait(), 0)

    def _tool(self, command, *more):
        """Asking twice does no harm but for events; the tool itself is not what is tested."""
        for _ in range(1 if command == "kernel" else 3):
            self.calls += 1
            program = h.run(self.folder, "sim_etw_%d" % self.calls,
                            [TOOL, command, self.name, *more])
            if program.code == 0:
                return program
            print("    sim_etw %s ended with %s: %s" % (command, program.code, program.err))
        raise h.Failure("sim_etw %s ended with %s: %s" % (command, program.code, program.err))

    def arguments(self, arguments):
        """The command line that runs a program on this machine; the exit code passes through."""
        return [TOOL, "run", self.name] + list(arguments)

    def start(self, name, arguments):
        return h.Program(self.folder, name, self.arguments(arguments))

    def run(self, name, arguments, timeout=h.TIMEOUT):
        program = self.start(name, arguments)
        program.code = program.wait(timeout)
        return program

    def set(self, **settings):
        self._tool("set", *[word for pair in settings.items() for word in map(str, pair)])

    def status(self):
        return h.report_of(self._tool("status").out)[0]

    def sessions(self):
        """As Windows lists them: one that was stopped is gone, also while its reader (or, where that was
        killed, the host) has not let go of it yet."""
        return {s["name"]: s for s in self.status()["sessions"] if s["state"] != "draining"}

    def kernel(self, text):
        """Events of the kernel's from a script (tests/sim/README.md)."""
        path = "%s/kernel_%d.txt" % (self.folder, self.calls)
        with open(os.path.join(h.ROOT, path), "w") as file:
            file.write(text)
        self._tool("kernel", path)

    def record(self, name, *providers, options=()):
        """A session of etw_recorder's, once it has everything enabled. See Recorder."""
        return Recorder(self, name, providers, options)


class Recorder:
    """Providers are (GUID, level, keywords). end() gives its report: events by name, losses."""

    def __init__(self, machine, name, providers, options):
        self.until = "%s/%s.until" % (machine.folder, name)
        with contextlib.suppress(FileNotFoundError):  # of a session before
            os.unlink(os.path.join(h.ROOT, self.until))
        words = [RECORDER, name, *options, "--until", self.until]
        words += [str(word) for provider in providers for word in provider]
        self.program = machine.start(name, words)
        h.wait_until(lambda: "recording" in self.program.out or "error" in self.program.out,
                     "session " + name, program=self.program)

    def end(self):
        h.touch(self.until)
        self.code = self.program.wait()
        return h.report_of(self.program.out)[0]

