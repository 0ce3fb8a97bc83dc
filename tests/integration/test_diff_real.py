#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`ortscope diff` on recordings of the real runtime: the same program twice, a recording against
itself, a larger input, other options and another version of ONNX Runtime."""
import json
import re

import harness as h

RUNNER = h.BIN + "/model_runner.exe"
MODEL = h.PICTURE_MODELS + "/cls.onnx"


def record(checker, name, runs, batch=1, version="1.23.2", threads=1):
    trace = "%s/%s.ortl" % (checker.folder, name)
    program = h.ortscope(checker.folder, "run-" + name, "run", "-q", "-o", trace, "--", RUNNER,
                         "--dll", h.dll(version), "--runs", runs, "--threads", threads, "--model",
                         MODEL, "--input", "x=float:%d,3,48,192" % batch, "--output",
                         "softmax_0.tmp_0")
    checker.equal(name + ": the program ends well", program.code, 0)
    return trace


def diff(checker, name, old, new, *more):
    program = h.ortscope(checker.folder, name, "diff", *more, old, new)
    return program.code, program.out


def a_recording_against_itself(checker):
    trace = record(checker, "itself", 60)
    code, out = diff(checker, "diff-itself", trace, trace, "--json", "--fail-if", "p50>10000%",
                     "--fail-if", "memory_growth>1GB")
    document = json.loads(out)
    checker.true("never a regression", code in (0, 11))
    checker.true("neither better nor worse", document["verdict"] in ("same", "inconclusive"))
    checker.equal("nothing differs", document["differences"], [])
    session = document["sessions"][0]
    checker.equal("matched by model", session["model"], "cls.onnx")
    checker.equal("the typical run takes as long",
                  session["metrics"]["latency"]["change_percent"]["value"], 0)
    checker.true("operators are matched", len(session["nodes"]) > 50 and all(
        op["old"]["value"] == op["new"]["value"] and op["old_calls_per_run"] > 0
        for op in session["nodes"]))
    checker.equal("so is memory", session["metrics"]["memory_peak"]["change"]["value"], 0)


def the_same_program_twice(checker):
    """Two starts on a busy machine may differ, but not by ten times."""
    traces = [record(checker, "twice-%d" % i, 100) for i in range(2)]
    code, out = diff(checker, "diff-twice", *traces, "--json", "--fail-if", "p50>900%",
                     "--fail-if", "memory_peak>50%")
    document = json.loads(out)
    checker.true("no regression", code in (0, 11))
    checker.true("the peak of memory is the same",
                 abs(document["sessions"][0]["metrics"]["memory_peak"]["change_percent"]["value"])
                 < 20)
    checker.equal("no other operators", [op for op in document["sessions"][0]["nodes"]
                                         if not op["old_calls_per_run"]
                                         or not op["new_calls_per_run"]], [])


def a_larger_input_is_a_regression(checker):
    """Sixteen times the work. On a machine whose load changes meanwhile runs hang together: then the
    answer is inconclusive, and more runs are needed."""
    code = None
    for attempt in range(5):
        old = record(checker, "small-%d" % attempt, 100 << attempt)
        new = record(checker, "large-%d" % attempt, 100 << attempt, batch=16)
        code, out = diff(checker, "diff-larger-%d" % attempt, old, new, "--fail-if", "p50>50%",
                         "--fail-if", "op:Conv>50%")
        checker.true("never called fine", code in (10, 11))
        if code == 10:
            break
    checker.equal("a regression", code, 10)
    checker.true("the condition is told", re.search(r"p50>50%: regression in cls.onnx, \+\d", out))
    checker.true("so is the other input",
                 "x 1x3x48x192 float32 \u2192 x 16x3x48x192 float32" in out)
    code, markdown = diff(checker, "diff-markdown", old, new, "--markdown")
    checker.equal("without conditions the exit code is 0", code, 0)
    checker.true("a table for a pull request", "| p50 |" in markdown and "`cls.onnx`" in markdown)


def what_else_differs_is_named(checker):
    old = record(checker, "old", 30)
    new = record(checker, "new", 30, version="1.30.0", threads=2)
    code, out = diff(checker, "diff-other", old, new)
    checker.equal("no condition, no failure", code, 0)
    checker.true("the runtime", "ONNX Runtime: 1.23.2 \u2192 1.30.0" in out)
    checker.true("the option", "intra_op_threads: 1 \u2192 2" in out)


def tokens_are_found_by_shapes_alone(checker):
    """A cache that grows in the real runtime, after prompts of 7 and 30."""
    trace = checker.folder + "/tokens.ortl"
    program = h.ortscope(checker.folder, "run-tokens", "run", "-q", "-o", trace, "--", h.NODE,
                         "tests/integration/programs/generate.js", "--ort",
                         "build/targets/ort-1.23.2", "--model",
                         "build/integration/models/decoder.onnx", "--prompts", "7,30", "--tokens",
                         20)
    checker.equal("the program ends well", program.code, 0)
    summary = h.ortscope(checker.folder, "summary-tokens", "summary", "--json", trace)
    session = json.loads(summary.out)["sessions"][0]
    found = session["generation"]
    checker.equal("sequences, steps, tokens",
                  [found and found[key] for key in ("sequences", "steps", "tokens")], [2, 40, 42])
    rows = sorted(h.load(trace).rows("run"), key=lambda row: row["begin"])
    prompts = [rows[0]["duration"] / 1e3, rows[21]["duration"] / 1e3]
    checker.true("the first token came with the prompt's run",
                 abs(found["first_token_us"]["max"] - max(prompts)) < 1, (found, prompts))
    text = h.ortscope(checker.folder, "text-tokens", "summary", trace).out
    checker.true("in the text", "generation: 42 tokens in 2 sequences" in text)


if __name__ == "__main__":
    h.run_tests("diff", [a_recording_against_itself, the_same_program_twice,
                         a_larger_input_is_a_regression, what_else_differs_is_named,
                         tokens_are_found_by_shapes_alone])
