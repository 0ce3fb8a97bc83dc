#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Reads the JUnit file that ctest wrote; prints "PASSED FAILED SKIPPED" and what failed.

A Unity program and a script of tests/integration count by their own cases, so that a case that
was ignored shows as skipped; a program that failed without saying so (a crash, a time limit)
counts as one failure more.
"""
import re
import sys
import xml.etree.ElementTree as xml

UNITY = re.compile(r"^(\d+) Tests (\d+) Failures (\d+) Ignored\s*$", re.MULTILINE)
SCRIPT = re.compile(r"^\w+: (\d+) tests, \d+ checks, \d+ failed\s*$", re.MULTILINE)
SCRIPT_FAILED = re.compile(r"^failed: (.+)$", re.MULTILINE)
WENT_WELL = re.compile(r"^ +ok |.*:PASS\s*$")
SKIPPED_ON_PURPOSE = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION", "Disabled")
WENT_WRONG = re.compile(r"^ +FAIL |.*:FAIL[: ]")
MOST_LINES = 80
MOST_FAILURES = 10
MOST_COLUMNS = 400


def count(case):
    """(passed, failed, skipped) of one test program."""
    status = case.get("status")
    if status in ("notrun", "disabled"):
        reason = case.find("skipped")
        message = reason.get("message", "") if reason is not None else ""
        on_purpose = status == "disabled" or any(word in message for word in SKIPPED_ON_PURPOSE)
        return (0, 0, 1) if on_purpose else (0, 1, 0)
    ok = status == "run"
    output = case.findtext("system-out") or ""
    unity = UNITY.findall(output)
    script = SCRIPT.findall(output)
    if unity:
        total, failed, ignored = (sum(int(one[i]) for one in unity) for i in range(3))
    elif script:
        names = ", ".join(SCRIPT_FAILED.findall(output))
        total, failed, ignored = int(script[-1]), len(names.split(", ")) if names else 0, 0
    else:
        return (1, 0, 0) if ok else (0, 1, 0)
    if not ok and failed == 0:
        return (total - ignored, 1, ignored)
    return (total - failed - ignored, failed, ignored)


def main():
    passed = failed = skipped = 0
    report = []
    for case in xml.parse(sys.argv[1]).getroot().iter("testcase"):
        p, f, s = count(case)
        passed, failed, skipped = passed + p, failed + f, skipped + s
        if f:
            lines = (case.findtext("system-out") or "(no output)").splitlines()
            lines = [line[:MOST_COLUMNS] for line in lines if not WENT_WELL.match(line)]
            # First of all what failed, since whoever shows this may cut it.
            report.append(f"--- {case.get('name')} failed:")
            report += ["    " + line.strip() for line in lines if WENT_WRONG.match(line)][:MOST_FAILURES]
            report.append(f"--- {case.get('name')}: the end of its output without what passed:")
            report += ["    " + line for line in lines[-MOST_LINES:]]
    print(passed, failed, skipped)
    if report:
        print("\n".join(report))


main()
