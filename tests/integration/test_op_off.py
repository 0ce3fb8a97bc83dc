#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runtimes in which kernels can't be found for sure: copies of the real DLL with a few bytes changed that only
we look at. Operators are off there, everything else is as always, and the summary says which module and why."""
import os
import struct
import subprocess

import harness as h
from op_profile import arguments

VERSION = "1.23.2"
RUNS = 5
LITERAL, CLASS = b"onnxruntime::OpKernel::ComputeAsync\0", b".?AVOpKernel@onnxruntime@@\0"
OF_ONE_KERNEL = b".?AVShape@onnxruntime@@\0"


def changed_copy(name, change):
    """Path of a copy of the runtime whose bytes went through `change`."""
    folder = os.path.join("build/integration/changed", name)
    source = os.path.dirname(os.path.join(h.ROOT, h.dll(VERSION)))
    os.makedirs(os.path.join(h.ROOT, folder), exist_ok=True)
    for file in os.listdir(source):
        link = os.path.join(h.ROOT, folder, file)
        if file.endswith(".dll") and file != "onnxruntime.dll" and not os.path.lexists(link):
            os.symlink(os.path.join(source, file), link)
    with open(os.path.join(h.ROOT, h.dll(VERSION)), "rb") as file:
        image = bytearray(file.read())
    change(image)
    with open(os.path.join(h.ROOT, folder, "onnxruntime.dll"), "wb") as file:
        file.write(image)
    return folder + "/onnxruntime.dll"


def replace_once(image, old, new):
    assert image.count(old) == 1 and len(old) == len(new), (old, image.count(old))
    at = image.index(old)
    image[at:at + len(old)] = new


def without_kernels(image):
    """Neither the class nor the literal has its name."""
    replace_once(image, LITERAL, LITERAL.replace(b"Async", b"Asynx"))
    replace_once(image, CLASS, CLASS.replace(b"OpKernel", b"OpKernex"))


def sections(image):
    """(address, size, place in the file) of each."""
    pe = struct.unpack_from("<I", image, 0x3c)[0]
    count, optional = (struct.unpack_from("<H", image, pe + at)[0] for at in (6, 20))
    for i in range(count):
        _, address, size, place = struct.unpack_from("<4I", image, pe + 24 + optional + 40 * i + 8)
        yield address, size, place


def with_contradiction(image):
    """The locator of one kernel class claims the older form (signature 0), which has no address of its own:
    C++ reads both, we take only the newer for sure. The literal still leads to the class."""
    at = image.index(OF_ONE_KERNEL) - 16  # TypeDescriptor: vtable, spare, name
    descriptor = next(at - place + address for address, size, place in sections(image)
                      if place <= at < place + size)
    found, start = [], 0
    while (start := image.find(struct.pack("<I", descriptor), start)) >= 0:
        begin, start = start - 12, start + 1  # CompleteObjectLocator: signature, offset, cdOffset, type, ..., self
        own = struct.unpack_from("<I", image, begin + 20)[0]
        if struct.unpack_from("<I", image, begin)[0] == 1 and any(
                own == begin - place + address for address, size, place in sections(image)):
            found.append(begin)
    assert len(found) == 1, found
    image[found[0]] = 0


def summary_text(trace):
    return subprocess.run(h.reader_command() + ["summary", trace], cwd=h.ROOT, check=True,
                          env=dict(os.environ, COLUMNS="1000"), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE).stdout.decode()


def off(checker, name, change, reason):
    """Everything but the operators, and the sentence."""
    dll = changed_copy(name, change)
    words = arguments(VERSION, ["cls_1", "silero_v5"], runs=RUNS)
    real = h.run(checker.folder, "real", words)
    words[words.index("--dll") + 1] = dll
    alone = h.run(checker.folder, "alone", words)
    trace = checker.folder + "/off.ortl"
    program = h.ortscope(checker.folder, "run", "run", "-q", "-o", trace, "--", *words)
    hashes = [h.report_of(one.out)[0]["output_hash"] for one in (real, alone, program)]
    checker.equal("exit code and outputs are the same",
                  ([one.code for one in (real, alone, program)], len(set(hashes))), ([0, 0, 0], 1))
    timeline = h.load(trace)
    checker.equal("all runs are there", len(timeline.rows("run")), 2 * RUNS)
    checker.equal("no operators are", [len(timeline.rows(kind)) for kind in ("op", "kernel")], [0, 0])
    told = [row["message"] for row in timeline.rows("log") if "Operators are not recorded" in row["message"]]
    checker.equal("the reason is told once", len(told), 1)
    if not told:
        return
    sentence = told[0]
    checker.true("which module and why", reason in sentence and
                 "changed\\%s\\onnxruntime.dll" % name in sentence.replace("/", "\\"), sentence)
    checker.true("the summary says it", sentence in summary_text(trace), summary_text(trace))
    checker.true("so does its JSON", sentence in str(h.summary(trace)).replace("\\\\", "\\"))


def no_kernels(checker):
    """neither the class nor the literal is there: no kernels were found"""
    off(checker, "none", without_kernels, "no kernels were found in this runtime")


def contradiction(checker):
    """the two ways to find kernels differ by one class: trust neither"""
    off(checker, "contradiction", with_contradiction, "contradict each other")


def hidden(checker):
    """no kernels and no C API either: only ORT's own events tell of its runs"""
    def change(image):
        without_kernels(image)
        replace_once(image, b"OrtGetApiBase\0", b"OrtGetApiBasX\0")  # as in test_tap.py
    off(checker, "hidden", change, "no kernels were found in this runtime")


def other_provider(checker):
    """a provider whose name is not of ORT's own kind, as plugins may have: its kernels are told like all others"""
    def change(image):
        replace_once(image, b"\0CPUExecutionProvider\0", b"\0Some other processor\0")
    words = arguments(VERSION, ["cls_1", "silero_v5"], runs=RUNS)
    words[words.index("--dll") + 1] = changed_copy("other", change)
    trace = checker.folder + "/other.ortl"
    program = h.ortscope(checker.folder, "other", "run", "-q", "-o", trace, "--", *words)
    checker.equal("the program ends well", program.code, 0)
    kernels = h.load(trace).rows("kernel")
    checker.true("operators of both models", len(kernels) > 200, len(kernels))
    checker.equal("each with its identity, from ORT's own structures",
                  [k for k in kernels if not (k["node"] and k["op_type"] and k["opset"] and k["source"] == 2)][:2], [])
    checker.equal("and the provider's name", {k["provider"] for k in kernels}, {"Some other processor"})


TESTS = [no_kernels, contradiction, hidden, other_provider]

if __name__ == "__main__":
    h.run_tests("test_op_off", TESTS)
