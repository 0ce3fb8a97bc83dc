#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`ortscope top FILE` in a terminal (a pseudo terminal of the kernel's): what it shows, its keys, and that
the terminal is as it was on every way out. Arguments: ortscope, gold_maker, a folder to work in."""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import traceback

LIMIT = 60  # seconds; a guard against hanging
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
SHOW_CURSOR = b"\x1b[?25h"


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, *command, columns=120, rows=40):
        self.output = b""
        self.master, self.slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            command, stdin=self.slave, stdout=self.slave, stderr=self.slave, preexec_fn=self.own,
            env=dict(os.environ, TERM="xterm-256color", LANG="C.UTF-8", LC_ALL="C.UTF-8"))

    def own(self):
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, keys):
        os.write(self.master, keys)

    def wait_for_unread(self, count):
        """Until there are so many bytes that the program has not read; without a pause in between."""
        end = time.monotonic() + LIMIT
        while struct.unpack("i", fcntl.ioctl(self.slave, termios.FIONREAD, b"\0" * 4))[0] != count:
            assert time.monotonic() < end, f"{count} bytes that are not read: in vain"

    def pump(self, seconds=.05):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.output += os.read(self.master, 65536)
            except OSError:
                pass

    def frame(self):
        """The lines of the newest whole picture, without styles."""
        frames = self.output.split(b"\x1b[H")
        last = frames[-2] if len(frames) > 2 else b""
        text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", last).decode()
        return [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]

    def until(self, condition, what):
        end = time.monotonic() + LIMIT
        while not condition():
            gone = self.process.poll() is not None and not select.select([self.master], [], [], 0)[0]
            assert time.monotonic() < end and not gone, f"waited in vain for {what}; got {self.output[-3000:]!r}"
            self.pump()

    def shows(self, text):
        self.until(lambda: any(text in line for line in self.frame()), repr(text))

    def ended(self):
        """Its exit code, once it has ended and all that it wrote was read."""
        end = time.monotonic() + LIMIT
        while self.process.poll() is None or select.select([self.master], [], [], 0)[0]:
            assert time.monotonic() < end, "it does not end"
            self.pump()
        return self.process.returncode

    def check_restored(self):
        after = termios.tcgetattr(self.slave)
        assert after == self.before, "the terminal's settings are not as they were"
        assert self.output.count(ENTER) == self.output.count(LEAVE) > 0, self.output[-300:]
        tail = self.output[self.output.rindex(LEAVE):]
        assert ENTER not in tail and SHOW_CURSOR in self.output, self.output[-300:]

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


class Tests:
    def __init__(self, ortscope, maker, work):
        self.ortscope = str(pathlib.Path(ortscope).resolve())
        work = pathlib.Path(work)
        work.mkdir(parents=True, exist_ok=True)
        subprocess.run([str(pathlib.Path(maker).resolve())], cwd=work, check=True)
        self.basic, self.hostile = str(work / "basic.ortl"), str(work / "hostile.ortl")
        self.ops = str(work / "ops.ortl")
        self.open_terminals = []

    def top(self, *arguments, **size):
        terminal = Terminal(self.ortscope, "top", *arguments, **size)
        self.open_terminals.append(terminal)
        return terminal

    def close(self):
        for terminal in self.open_terminals:
            terminal.close()
        self.open_terminals.clear()

    def test_numbers_are_those_of_the_summary(self):
        answer = subprocess.run([self.ortscope, "summary", "--json", self.basic], capture_output=True, check=True)
        summary = json.loads(answer.stdout)
        t = self.top(self.basic, "--speed", "max")
        t.shows("the replay has ended")
        lines = t.frame()
        for s in summary["sessions"]:
            if not s["runs"]:
                continue
            row = next(line for line in lines if re.match(rf"\s+{s['id']}\s", line))
            assert f" {s['runs']:,} " in row, (s["runs"], row)
        t.send(b"q")
        assert t.ended() == 0
        t.check_restored()

    def test_keys_are_shown_and_work(self):
        t = self.top(self.basic, "--speed", "0.1")  # two minutes: it plays as long as this takes
        t.shows("q quit")
        t.send(b"p")
        t.shows("paused")
        t.send(b"p")
        t.shows("replaying")
        t.send(b"w")
        t.shows("last 30 s")
        t.send(b"+")
        t.shows("speed 0.2")
        t.send(b"\x1b[B\x1b[A\x1b[15~")  # arrows, and a key that means nothing
        t.send(b"q")
        assert t.ended() == 0
        t.check_restored()
        t = self.top(self.ops, "--speed", "max")
        t.shows("OPERATOR")
        t.send(b"n")
        t.shows("NODE")
        t.send(b"s")
        t.shows(">")
        t.send(b"q")
        assert t.ended() == 0
        t.check_restored()

    def test_many_arrows_at_once_do_not_quit(self):
        t = self.top(self.ops, "--speed", "0.1")
        t.shows("q quit")
        t.process.send_signal(signal.SIGSTOP)  # all of them are there when it looks
        t.send(b"\x1b[B" * 40)
        t.process.send_signal(signal.SIGCONT)
        t.send(b"p")
        t.shows("paused")
        t.send(b"q")
        assert t.ended() == 0
        t.check_restored()

    def test_an_arrow_in_two_parts_does_not_quit(self):
        def goes_on():
            t = self.top(self.ops, "--speed", "0.1")
            t.shows("q quit")
            t.process.send_signal(signal.SIGSTOP)
            t.send(b"\x1b")
            t.wait_for_unread(1)
            t.process.send_signal(signal.SIGCONT)
            t.wait_for_unread(0)  # it has taken the first part
            t.send(b"[Bp")
            t.until(lambda: t.process.poll() is not None or any("paused" in line for line in t.frame()), "an answer")
            stays = t.process.poll() is None
            t.send(b"q")
            assert t.ended() == 0
            t.check_restored()
            return stays
        # The second part may come too late on a machine that is busy, but not each time.
        assert any(goes_on() for _ in range(20)), "half an arrow is Escape"

    def test_escape_alone_quits(self):
        t = self.top(self.ops, "--speed", "0.1")
        t.shows("q quit")
        t.send(b"\x1b")
        assert t.ended() == 0
        t.check_restored()

    def test_every_way_out_restores_the_terminal(self):
        for number, code in ((signal.SIGTERM, None), (signal.SIGHUP, None), (signal.SIGQUIT, None),
                             (signal.SIGSEGV, -signal.SIGSEGV), (signal.SIGABRT, -signal.SIGABRT)):
            t = self.top(self.basic, "--speed", "0.1")
            t.shows("q quit")
            t.process.send_signal(number)
            got = t.ended()
            assert code is None or got == code, (number, got)
            t.check_restored()
        t = self.top(self.basic, "--speed", "0.1")
        t.shows("q quit")
        t.send(b"\x03")  # Ctrl+C
        assert t.ended() == 0
        t.check_restored()

    def test_a_stopped_one_gives_the_terminal_back_and_takes_it_again(self):
        # A shell with job control, which lets it go on as soon as it has stopped.
        t = Terminal("bash", "-c", 'set -m; "$@"; fg >/dev/null', "-", self.ortscope, "top", self.basic,
                     "--speed", "0.1")
        self.open_terminals.append(t)
        t.shows("q quit")
        t.send(b"\x1a")  # Ctrl+Z
        t.until(lambda: t.output.count(ENTER) == 2, "the screen again")
        assert t.output.count(LEAVE) == 1, t.output[-300:]
        t.send(b"q")
        assert t.ended() == 0
        t.check_restored()

    def test_another_size_is_used(self):
        t = self.top(self.ops, "--speed", "0.1")
        t.shows("q quit")
        t.resize(60, 12)
        t.process.send_signal(signal.SIGWINCH)
        t.until(lambda: len(t.frame()) == 12, "twelve lines")
        assert max(len(line) for line in t.frame()) <= 60, t.frame()
        t.send(b"q")
        assert t.ended() == 0

    def test_hostile_names_are_inert(self):
        t = self.top(self.hostile, "--speed", "max")
        t.shows("the replay has ended")
        t.send(b"q")
        assert t.ended() == 0
        allowed = rb"\x1b\[(H|K|J|2J|[0-9;]*m|\?1049[hl]|\?25[hl])"
        left = re.sub(allowed, b"", t.output)
        assert b"\x1b" not in left and b"\x07" not in left, left
        t.check_restored()

    def test_without_a_terminal_it_prints_once(self):
        done = subprocess.run([self.ortscope, "top", "--once", self.ops], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)
        assert done.returncode == 0, done
        assert "SESSION" in done.stdout and "OPERATOR" in done.stdout and "\x1b" not in done.stdout, done.stdout
        done = subprocess.run([self.ortscope, "top", self.ops], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)
        assert done.returncode == 2 and "--once" in done.stderr, done


def main():
    tests, failed = Tests(*sys.argv[1:4]), 0
    for name in [n for n in dir(tests) if n.startswith("test_")]:
        if sys.argv[4:] and not any(w in name for w in sys.argv[4:]):
            continue
        try:
            getattr(tests, name)()
            print("ok", name, flush=True)
        except Exception:  # whatever it was: it is told, and the others still run
            failed += 1
            print(f"FAIL {name}\n{traceback.format_exc()}", flush=True)
        finally:
            tests.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
