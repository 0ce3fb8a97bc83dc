#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Launchers: the program that uses ONNX Runtime is a child, a grandchild, or the child of a process
that was attached."""
import harness as h
import test_driver


def children(checker):
    """a child is followed, also one that its parent starts suspended; not with --no-children"""
    for switch in ("--spawn", "--spawn-suspended"):
        trace = "%s/%s.ortl" % (checker.folder, switch.strip("-"))
        program = h.ortscope(checker.folder, switch, "run", "-o", trace, "--",
                             *h.driver_arguments("1.20.1", switch, "--exit-code", 12))
        checker.equal("%s: exit code" % switch, program.code, 12)
        documents = {d["role"]: d for d in h.report_of(program.out)}
        timeline = h.load(trace)
        checker.equal("%s: the file is whole, nothing lost" % switch,
                      (timeline.damage, h.lost(timeline)), (None, 0))
        rows = {p["pid"]: p for p in timeline.rows("process")}
        parent, child = documents["parent"]["pid"], documents["driver"]["pid"]
        if not checker.equal("%s: parent and child" % switch, set(rows), {parent, child}):
            continue
        checker.equal("%s: how they came" % switch, (rows[parent]["how"], rows[child]["how"]),
                      (0, 2))
        checker.equal("%s: whose child it is" % switch, rows[child]["parent"],
                      rows[parent]["process"])
        checker.equal("%s: both exit codes" % switch,
                      sorted(p["exit_code"] for p in timeline.rows("process_end")), [12, 12])
        test_driver.compare_sessions(checker, test_driver.Seen(timeline).sessions(),
                                     test_driver.expected_sessions(documents["driver"]))
    trace = checker.folder + "/none.ortl"
    program = h.ortscope(checker.folder, "none", "run", "--no-children", "-o", trace, "--",
                         *h.driver_arguments("1.20.1", "--spawn", "--exit-code", 12))
    timeline = h.load(trace)
    checker.equal("--no-children: only the parent, no runs",
                  (program.code, len(timeline.rows("process")), len(timeline.rows("run"))),
                  (12, 1, 0))


def grandchildren(checker):
    """a launcher that starts a launcher that starts the program"""
    trace = checker.folder + "/run.ortl"
    arguments = h.driver_arguments("1.20.1", "--spawn", "--exit-code", 12)
    arguments[0] = arguments[0].replace("/", "\\")  # cmd takes a slash for a switch
    program = h.ortscope(checker.folder, "run", "run", "-o", trace, "--", "cmd", "/c", *arguments)
    checker.equal("exit code", program.code, 12)
    timeline = h.load(trace)
    checker.equal("each has the one before as its parent",
                  [(p["process"], p["parent"], p["how"]) for p in timeline.rows("process")],
                  [(1, 0, 0), (2, 1, 2), (3, 2, 2)])
    reports = {d["role"]: d for d in h.report_of(program.out)}
    test_driver.compare_sessions(checker, test_driver.Seen(timeline).sessions(),
                                 test_driver.expected_sessions(reports["driver"]))


def child_of_an_attached_process(checker):
    """a process is attached and starts the real program afterwards"""
    trace, pid_file, go_file = (checker.folder + "/attach" + e for e in (".ortl", ".pid", ".go"))
    parent = h.Program(checker.folder, "parent", h.driver_arguments(
        "1.30.0", "--spawn", "--go-first", "--pid-file", pid_file, "--go-file", go_file,
        "--exit-code", 4))
    collector = h.attach(checker.folder, "attach", h.read_pid(pid_file, parent), trace)
    h.touch(go_file)
    checker.equal("the program ends with its own code", parent.wait(), 4)
    checker.equal("attach ends well", collector.wait(), 0)
    timeline = h.load(trace)
    checker.equal("parent and child", [p["how"] for p in timeline.rows("process")], [1, 2])
    reports = {d["role"]: d for d in h.report_of(parent.out)}
    test_driver.compare_sessions(checker, test_driver.Seen(timeline).sessions(),
                                 test_driver.expected_sessions(reports["driver"]))


TESTS = [children, grandchildren, child_of_an_attached_process]

if __name__ == "__main__":
    h.run_tests("test_children", TESTS)
