# SPDX-License-Identifier: MIT
"""`ortscope top` on real processes: the numbers that it prints are those of the file that it writes, whom it chooses
without being told, targets that end, and the screen itself in a terminal."""
import os
import re
import sys

import harness as h
import looping

sys.path.insert(0, os.path.join(h.ROOT, "tests/terminal"))
import check_top  # noqa: E402

NUMBER, USAGE = r"([\d,.]+)", 2
LONGER = "3600s"  # than any target here lives


def top(c, name, *arguments):
    return h.ortscope(c.folder, name, "top", *arguments)


def sessions_of(text):
    """Runs by session, of the table that top prints."""
    table = re.split(r"^ *OPERATOR ", text, flags=re.MULTILINE)[0]
    rows = re.findall(r"^ +(\d+)  (.+?) {2,}" + NUMBER + r" ", table, re.MULTILINE)
    return {int(session): int(runs.replace(",", "")) for session, _, runs in rows}


def check_numbers(c, program, trace):
    summary = h.summary(trace)
    wanted = {s["id"]: s["runs"] for s in summary["sessions"]}
    c.true("runs were seen", wanted and all(wanted.values()), wanted)
    c.equal("runs of top and summary", sessions_of(program.out), wanted)
    c.true("the program is named", "node.exe" in program.out, program.out[:300])
    calls = sum(1 for row in h.load(trace).rows("op") if row["run"])
    told = [int(n.replace(",", "")) for n in re.findall(
        r"^  \S.*? {2,}CPU {2,}" + NUMBER + r" ", program.out, re.MULTILINE)]
    c.true("operators of top and file", sum(told) == calls, (told, calls))
    c.true("it says where the file is", "recorded " in program.err and trace.split("/")[-1] in program.err, program.err)


def once(c):
    """By PID and by name, with and without a duration; the target goes on."""
    target = looping.Looping(c)
    for name, who, more in (("pid", target.pid, ()), ("name", "node.exe", ("--duration", "1s"))):
        trace = "%s/%s.ortl" % (c.folder, name)
        program = top(c, name, who, "--once", "-o", trace, *more)
        c.equal("top %s ends well" % name, program.code, 0)
        check_numbers(c, program, trace)
        target.more_runs(20)
    report = target.finish(c)
    c.true("the program did its work", report["runs"] > 40, report)


def whom(c):
    """Without an operand: nobody, the only one, one of two."""
    none = top(c, "none", "--once")
    c.true("nobody is there", none.code not in (0, None) and "No process uses ONNX Runtime now" in none.err,
           (none.code, none.err))
    first = looping.Looping(c, "first")
    trace = c.folder + "/only.ortl"
    only = top(c, "only", "--once", "-o", trace)
    c.equal("the only one is taken", only.code, 0)
    check_numbers(c, only, trace)
    second = looping.Looping(c, "second")
    both = top(c, "both", "--once", "-o", c.folder + "/both.ortl")
    c.true("of two it does not choose", both.code == USAGE and "2 processes use ONNX Runtime" in both.err,
           (both.code, both.err))
    c.true("no file is left", not os.path.exists(os.path.join(h.ROOT, c.folder, "both.ortl")))
    for target in (first, second):
        target.more_runs(5)
        target.finish(c)
    gone = top(c, "gone", first.pid, "--once", "-o", c.folder + "/gone.ortl")
    c.true("one that has ended is not found", gone.code not in (0, None) and gone.err.strip(), (gone.code, gone.err))


def ending(c):
    """A target that ends, and one that is killed, while top looks at it."""
    for name in ("ends", "killed"):
        target = looping.Looping(c, name)
        trace = "%s/%s.ortl" % (c.folder, name)
        program = h.Program(c.folder, "top-" + name, [h.ORTSCOPE, "top", target.pid, "--once", "--duration", LONGER,
                                                      "-o", trace])
        h.wait_until(lambda: "armed process" in program.err or os.path.exists(os.path.join(h.ROOT, trace)), "the attach",
                     program=program)
        target.more_runs(50)
        if name == "ends":
            target.finish(c)
        else:
            os.kill(target.linux_pid(), 9)
            target.program.wait()
        c.equal("top ends with it", program.wait(), 0)
        check_numbers(c, program, trace)
        c.true("and says how", re.search(r"ended with code %s\b" % ("5" if name == "ends" else r"\d+"), program.out),
               program.out[:300])


def screen(c):
    """In a terminal: it draws, obeys its keys, and leaves the target alone."""
    target = looping.Looping(c)
    trace = c.folder + "/screen.ortl"
    os.chdir(h.ROOT)
    terminal = check_top.Terminal(os.path.join(h.ROOT, "scripts/wine"), h.ORTSCOPE, "top", str(target.pid), "-o", trace)

    def seen():  # Wine's console draws what has changed, in its own way
        return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b" ", terminal.output).decode("utf-8", "replace")
    try:
        terminal.until(lambda: "SESSION" in seen() and "OPERATOR" in seen(), "tables")
        terminal.until(lambda: "Conv" in seen(), "operators")
        c.true("keys are told", "quit" in seen(), seen()[-600:])
        terminal.send(b"n")
        terminal.until(lambda: "p2o." in seen(), "nodes")
        c.true("n shows nodes", True)
        target.more_runs(20)
        terminal.send(b"q")
        c.equal("q ends it", terminal.ended(), 0)
    finally:
        terminal.close()
    c.true("the file has runs", h.summary(trace)["sessions"][0]["runs"] > 0)
    target.more_runs(10)
    target.finish(c)


if __name__ == "__main__":
    h.run_tests("test_top_real", [once, whom, ending, screen])
