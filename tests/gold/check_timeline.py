# SPDX-License-Identifier: MIT
"""The format against its documentation: check_timeline.py TIMELINE_TOOL DOCUMENT [--bless]

1. What our writer writes, a plain MessagePack library reads (read_with_msgpack.py) and sees the
   same rows as our reader; also when the file is cut.
2. What a plain MessagePack library writes (write_with_msgpack.py), our reader reads.
3. The table of kinds and the hex of the worked example in the document are what the writer makes;
   --bless puts the new ones into it (the remarks of the example are to be checked by hand).
Exit code 77: the Python module msgpack is not there.
"""
import os
import re
import subprocess
import sys
import tempfile

try:
    import msgpack
except ImportError:
    print("SKIP: the Python module msgpack is missing; install python3-msgpack.")
    sys.exit(77)

import read_with_msgpack
import write_with_msgpack

TOOL, DOCUMENT = sys.argv[1:3]
failures = 0


def tool(*args):
    done = subprocess.run([TOOL, *args], stdout=subprocess.PIPE, check=True, timeout=100)
    return done.stdout.decode().splitlines()


def compare(what, expected, got):
    global failures
    if expected == got:
        print("ok: %s (%d lines)" % (what, len(got)))
        return
    failures += 1
    print("FAILED: " + what)
    for a, b in zip(expected + [None] * len(got), got + [None] * len(expected)):
        if a != b:
            print("  expected: %s\n  got:      %s" % (a, b))
            return


def load(path):
    with open(path, "rb") as file:
        return file.read()


def check_ours_read_by_python(folder):
    path = os.path.join(folder, "sample.ortl")
    tool("sample", path)
    data = load(path)
    theirs = list(read_with_msgpack.lines(read_with_msgpack.Timeline(data)))
    compare("our file, read by Python", theirs, tool("print", path))
    cut = os.path.join(folder, "cut.ortl")
    unpacker = msgpack.Unpacker()
    unpacker.feed(data)
    unpacker.skip()
    for length in range(len(data) - 1, unpacker.tell(), -911):  # down to the header
        with open(cut, "wb") as file:
            file.write(data[:length])
        theirs = list(read_with_msgpack.lines(read_with_msgpack.Timeline(data[:length])))
        compare("our file cut at byte %d" % length, theirs, tool("print", cut))


def check_theirs_read_by_us(folder):
    path = os.path.join(folder, "python.ortl")
    for with_index in (True, False):
        expected = write_with_msgpack.write(path, with_index)
        compare("Python's file, read by us", expected, tool("print", path))
    # The index must be right as well: the Python reader checks each entry of it.
    write_with_msgpack.write(path, True)
    read_with_msgpack.Timeline(load(path))


HEX_LINE = re.compile(r"^    ([0-9a-f]{4})  ((?:[0-9a-f]{2} )*[0-9a-f]{2})(\s.*)?$")


def example_lines(text, data):
    """The document with the example's bytes taken from `data`."""
    places = [i for i, line in enumerate(text) if HEX_LINE.match(line)]
    lengths = [len(HEX_LINE.match(text[i]).group(2).split()) for i in places]
    # The first run of lines is the start of the file, the rest its end without a gap.
    split = next(n for n in range(1, len(places)) if places[n] != places[n - 1] + 1)
    at, made = 0, list(text)
    for n, (i, length) in enumerate(zip(places, lengths)):
        if n == split:
            at = len(data) - sum(lengths[split:])
        remark = (HEX_LINE.match(text[i]).group(3) or "").strip()
        made[i] = ("    %04x  %-40s  %s" % (at, data[at : at + length].hex(" "), remark)).rstrip()
        at += length
    return made


def kind_lines(text, kinds):
    """The document with the table of kinds taken from a header."""
    begin = text.index("Each kind with its columns, name and type:") + 1
    end = text.index("What the values say:")
    table = [""]
    for kind, columns in kinds.items():
        line = "    %-12s" % kind
        for n, column in enumerate(columns):
            word = " %s %s%s" % (*column, "," if n < len(columns) - 1 else "")
            if len(line + word) > 98:
                table.append(line)
                line = " " * 16
            line += word
        table.append(line)
    return text[:begin] + table + [""] + text[end:]


def check_document(folder):
    path = os.path.join(folder, "example.ortl")
    tool("example", path)
    data = load(path)
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read().splitlines()
    made = kind_lines(text, read_with_msgpack.Timeline(data).header["kinds"])
    made = example_lines(made, data)
    if "--bless" in sys.argv:
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write("\n".join(made) + "\n")
        print("blessed; check the numbers in the example's remarks by hand")
    else:
        compare("the document (else run this with --bless)", made, text)


with tempfile.TemporaryDirectory() as temporary:
    check_ours_read_by_python(temporary)
    check_theirs_read_by_us(temporary)
    check_document(temporary)
sys.exit(1 if failures else 0)
