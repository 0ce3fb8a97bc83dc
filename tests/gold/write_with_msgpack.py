# SPDX-License-Identifier: MIT
"""Writes a timeline with nothing but a MessagePack library; written from docs/timeline-format.md.

The file is one that ours never makes: columns in another order, unknown kinds and columns, other
type names and encodings, long forms of integers, extra keys. write(path) returns the lines that
timeline_tool must print for it.
"""
import struct
import zlib

import msgpack

TYPES = {"moment": "delta", "n": "plain", "step": "delta", "later": "xor"}
KINDS = {
    "gpu": [["device", "n"], ["watts", "step"]],
    "mark": [["text", "n"], ["color", "n"], ["time", "moment"]],
    "clock": [["ticks", "n"], ["time", "later"], ["utc", "step"]],
    "lost": [["events", "step"], ["process", "n"], ["time", "moment"], ["cause", "n"]],
}


def block(kind, rows, columns, first=None, **extra):
    packed = b"".join(columns)
    meta = dict(extra)
    meta["crc"] = zlib.crc32(kind.encode() + struct.pack("<QQ", rows, first or 0) + packed)
    meta["bytes"] = len(packed)
    meta["rows"] = rows
    if first is not None:
        meta["first"] = first
    head = msgpack.Packer().pack_array_header(2 + len(columns))
    return head + msgpack.packb(kind) + msgpack.packb(meta) + packed


def plain(values):
    return msgpack.packb(values)


def delta(values):
    out, before = [], 0
    for value in values:
        out.append((value - before + 2**63) % 2**64 - 2**63)
        before = value
    return msgpack.packb(out)


def stretches(lengths, values):
    return b"\x92" + msgpack.packb(lengths) + values


def wide(values):
    """Every number in nine bytes, which MessagePack allows."""
    mark = msgpack.Packer().pack_array_header(len(values))
    return mark + b"".join(b"\xd3" + struct.pack(">q", v) for v in values)


def write(path, with_index):
    header = {"magic": "ortl", "kinds": KINDS, "types": TYPES, "os": "some \u00e4 system",
              "notes": [None, True, 1.5, {"a": b"bytes"}], "version": 1, "cpu_count": 3}
    out = msgpack.packb(header)
    lines = ['header ortscope="" start_utc_ns=0 os="some \\xc3\\xa4 system" cpu="" cpu_count=3']
    index = []

    def put(kind, rows, columns, **more):
        nonlocal out
        index.append((kind, len(out), rows))
        out += block(kind, rows, columns, **more)

    put("string", 2, [msgpack.packb(["one", "z\u00fcri"])], first=1)
    times = [5, -(2**63), 2**63 - 1, 0]
    put("mark", 4, [plain([1, 2, 3, 0]), plain(7), delta(times)], comment={"nested": [1]})
    texts = ['1:"one"', '2:"z\\xc3\\xbcri"', '3:""', '0:""']
    lines += ["mark time=%d text=%s" % pair for pair in zip(times, texts)]
    put("gpu", 3, [plain([1, 1, 2]), plain(80)])
    put("not named in the header", 1, [msgpack.packb({"any": "thing"})])
    ticks = [2**64 - 1, 0, 2**63]
    put("clock", 3, [plain(ticks), plain([9, 9, 9]), delta([1, 0, 3])])
    lines += ["clock time=0 ticks=%d qpc=0 utc=%d" % (t, u) for t, u in zip(ticks, (1, 0, 3))]
    put("string", 1, [msgpack.packb(["three"])], first=3)
    put("lost", 2, [wide([5, 2]), plain(1), wide([100, -1]), plain([0, 3])])
    lines += ["lost process=1 time=100 cause=0 events=5", "lost process=1 time=99 cause=3 events=7"]
    put("lost", 5, [stretches([2, 3], wide([5, 2])), stretches([1, 1, 3], plain([1, 2, 1])), wide([1, 1, 1, 1, 1]),
                    stretches([5], plain([4]))])
    lines += ["lost process=%d time=%d cause=4 events=%d" % row for row in zip(
        (1, 2, 1, 1, 1), (1, 2, 3, 4, 5), (5, 5, 7, 7, 7))]
    put("mark", 1, [plain(3), plain(-1), plain(-5)])
    lines += ['mark time=-5 text=3:"three"']
    place = 0
    if with_index:
        place = len(out)
        kinds, offsets, rows = zip(*index)
        # No column here has the type "time", so first and last are 0 and -1 for all.
        out += block("index", len(index), [plain(list(kinds)), delta(offsets), plain(list(rows)),
                                           plain(0), plain(-1)])
    out += b"\x92\xa3end\x81\xa5index\xcf" + struct.pack(">Q", place)
    with open(path, "wb") as file:
        file.write(out)
    return lines + ["complete"]
