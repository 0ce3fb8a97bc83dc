#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The scripts that everything else stands on: scripts/wine, targets, and the counting of tests."""
import os
import subprocess

import harness as h

WINE = os.path.join(h.ROOT, "scripts/wine")
CASES = """<testsuite>
<testcase name="unity" status="run"><system-out>a:1:x:PASS
5 Tests 0 Failures 2 Ignored
OK</system-out></testcase>
<testcase name="unity_failed" status="fail"><system-out>b:1:y:FAIL: because
4 Tests 1 Failures 0 Ignored
FAIL</system-out></testcase>
<testcase name="crashed" status="fail"><system-out>nothing to say</system-out></testcase>
<testcase name="script" status="fail"><system-out>t: 3 tests, 9 checks, 4 failed
failed: one, two</system-out></testcase>
<testcase name="skipped" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
<testcase name="missing" status="notrun"><skipped message="Unable to find executable"/></testcase>
</testsuite>"""


def call(*arguments, text=""):
    return subprocess.run(arguments, cwd=h.ROOT, input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=h.TIMEOUT, check=False,
                          universal_newlines=True)


def wine_passes_through(checker):
    """scripts/wine hands on standard input, output, arguments and the exit code"""
    checker.equal("exit code", call(WINE, "cmd", "/c", "exit 7").returncode, 7)
    echo = "fs.writeSync(1, process.argv[1] + fs.readFileSync(0))"
    done = call(WINE, h.NODE, "-e", echo, "two words", text="line\n")
    checker.equal("arguments, input and output", (done.returncode, done.stdout),
                  (0, "two wordsline\n"))
    done = call(WINE)
    checker.equal("without a program: usage", (done.returncode, done.stderr[:5]), (2, "usage"))


def targets_refuses(checker):
    """scripts/targets takes nothing that is not pinned, and says how to pin it"""
    done = call("scripts/targets", "0.0.1")
    checker.equal("exit code", done.returncode, 1)
    checker.true("the way out is named", "scripts/targets --lock 0.0.1" in done.stderr,
                 done.stderr)


def counts(checker):
    """cases are counted one by one; a crash and a missing program are failures"""
    report = os.path.join(h.ROOT, checker.folder, "junit.xml")
    with open(report, "w", encoding="utf-8") as file:
        file.write(CASES)
    done = call("/usr/bin/python3", "scripts/ctest_counts.py", report)
    lines = done.stdout.splitlines()
    checker.equal("passed, failed, skipped", lines[:1], ["7 5 3"])
    checker.true("what failed is shown", any("b:1:y:FAIL: because" in line for line in lines),
                 done.stdout)
    checker.true("what passed is not", ":PASS" not in done.stdout, done.stdout)


TESTS = [wine_passes_through, targets_refuses, counts]

if __name__ == "__main__":
    h.run_tests("test_scripts", TESTS)
