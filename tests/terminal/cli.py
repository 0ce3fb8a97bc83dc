# SPDX-License-Identifier: MIT
"""What the terminal tests share: options, the timelines of tests/gold, running the program."""
import argparse
import fcntl
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import termios

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Checker:
    def __init__(self):
        self.checks = self.failed = 0

    def true(self, what, good, told=""):
        self.checks += 1
        if not good:
            self.failed += 1
            print(f"FAIL {what}: {told}")

    def end(self):
        print(f"{self.checks} checks, {self.failed} failed")
        return 1 if self.failed or not self.checks else 0


def begin():
    """Parses the command line and makes the timelines. The options, with `work` as a path."""
    parser = argparse.ArgumentParser()
    for name in ("ortscope", "maker", "work"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    options.work = pathlib.Path(options.work).resolve()
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    options.ortscope = os.path.abspath(options.ortscope)
    subprocess.run([os.path.abspath(options.maker)], cwd=options.work, check=True, timeout=120)
    return options


def environment(**more):
    base = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM", "COLUMNS")}
    return dict(base, LC_ALL="C.UTF-8", **more)


def run(options, arguments, **more):
    settings = dict(cwd=options.work, env=environment(), stdin=subprocess.DEVNULL, timeout=120)
    if "stdout" not in more:
        settings.update(stdout=subprocess.PIPE)
    settings.update(stderr=subprocess.PIPE, **more)
    return subprocess.run([options.ortscope] + [str(a) for a in arguments], **settings)


def on_terminal(options, arguments, width=80, **changes):
    """What the command prints on a terminal of its own, messages among it, and its exit code."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    process = subprocess.Popen([options.ortscope] + arguments, cwd=options.work, stdin=slave,
                               stdout=slave, stderr=slave, env=environment() | changes)
    os.close(slave)
    output = b""
    try:
        while chunk := os.read(master, 65536):
            output += chunk
    except OSError:  # the other side was closed
        pass
    os.close(master)
    return output, process.wait(timeout=120)


def commands(options):
    """The names of all commands, with their usage."""
    text = run(options, ["help"]).stdout.decode()
    names = re.findall(r"^  (?!ortscope )([a-z]+) +[A-Z]", text, re.M)
    return {name: run(options, ["help", name]).stdout.decode().splitlines()[0] for name in names}
