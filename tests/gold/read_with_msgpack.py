# SPDX-License-Identifier: MIT
"""Reads a timeline with nothing but a MessagePack library; written from docs/timeline-format.md.

read_with_msgpack.py FILE prints one line for the header, one per row, one for the end, in the form
of timeline_tool.
"""
import struct
import sys
import zlib

import msgpack


def signed(value):
    return (value + 2**63) % 2**64 - 2**63


def column_values(column, rows, encoding, unsigned):
    if isinstance(column, int):
        values = [column] * rows
    elif len(column) == 2 and isinstance(column[0], list):
        lengths, column = column
        if len(lengths) != len(column) or min(lengths) < 1 or sum(lengths) != rows:
            raise ValueError("stretches that are not %d rows" % rows)
        values, total = [], 0
        for length, number in zip(lengths, column):
            total = total + number if encoding == "delta" else number
            values += [total] * length
    else:
        if len(column) != rows:
            raise ValueError("a column of %d values in a block of %d rows" % (len(column), rows))
        values, total = [], 0
        for number in column:
            total = total + number if encoding == "delta" else number
            values.append(total)
    if unsigned and min(values) < 0:
        raise ValueError("a negative number in a column without sign")
    return [v % 2**64 if unsigned else signed(v) for v in values]


def block_checksum(kind, meta, columns):
    numbers = struct.pack("<QQ", meta["rows"], meta.get("first", 0))
    return zlib.crc32(kind.encode() + numbers + columns)


class Timeline:
    def __init__(self, data):
        unpacker = msgpack.Unpacker(raw=False, strict_map_key=False, max_buffer_size=2**31 - 1)
        unpacker.feed(data)
        self.header = unpacker.unpack()
        end = unpacker.tell()
        if next(iter(self.header.items())) != ("magic", "ortl") or self.header["version"] != 1:
            raise ValueError("not a timeline of version 1")
        if "crc" in self.header and zlib.crc32(data[: end - 9]) != self.header["crc"]:
            raise ValueError("the header's checksum does not fit")
        self.strings = [""]
        self.rows = []  # (kind, [(column, value, text or None), ...])
        self.complete = False
        blocks = []  # what an index should say
        while True:
            begin = end
            try:
                block = unpacker.unpack()
            except msgpack.OutOfData:
                return
            end = unpacker.tell()
            kind, meta, columns = block[0], block[1], block[2:]
            if kind == "end":
                if end - begin != 21 or end != len(data):
                    raise ValueError("the end mark is not 21 bytes at the end of the file")
                self.complete = True
                continue
            if block_checksum(kind, meta, data[end - meta["bytes"] : end]) != meta["crc"]:
                raise ValueError("the checksum of the block at %d does not fit" % begin)
            if kind == "index":
                self.check_index(meta["rows"], columns, blocks)
                continue
            blocks.append((kind, begin, meta["rows"]) + self.take_block(kind, meta, columns))

    # Returns the block's first and last time.
    def take_block(self, kind, meta, columns):
        if kind == "string":
            if meta["first"] != len(self.strings) or len(columns[0]) != meta["rows"]:
                raise ValueError("strings out of order")
            self.strings += columns[0]
            return (0, -1)
        names = self.header["kinds"].get(kind)
        if names is None:
            return (0, -1)
        decoded = []
        for (name, kind_of_value), column in zip(names, columns):
            encoding = self.header["types"].get(kind_of_value)
            if encoding in ("plain", "delta"):
                values = column_values(column, meta["rows"], encoding, kind_of_value == "u64")
                decoded.append((name, kind_of_value, values))
        for row in range(meta["rows"]):
            values = [(n, v[row], self.text(v[row]) if t == "str" else None) for n, t, v in decoded]
            self.rows.append((kind, values))
        times = [v for _, t, v in decoded if t == "time"]
        return (min(times[0]), max(times[0])) if times else (0, -1)

    def text(self, number):
        return self.strings[number] if 0 <= number < len(self.strings) else ""

    def check_index(self, count, columns, blocks):
        kinds = columns[0]
        numbers = [
            column_values(column, count, encoding, False)
            for column, encoding in zip(columns[1:], ("delta", "plain", "delta", "delta"))
        ]
        if list(zip(kinds, *numbers)) != blocks:
            raise ValueError("the index does not say what is in the file")


def quoted(text):
    text = text.split("\0")[0]
    out = ""
    for byte in text.encode():
        plain = 0x20 <= byte < 0x7F and byte not in b'"\\'
        out += chr(byte) if plain else "\\x%02x" % byte
    return '"%s"' % out


def lines(timeline):
    header = timeline.header
    yield "header ortscope=%s start_utc_ns=%d os=%s cpu=%s cpu_count=%d" % (
        quoted(header.get("ortscope", "")),
        header.get("start_utc_ns", 0),
        quoted(header.get("os", "")),
        quoted(header.get("cpu", "")),
        header.get("cpu_count", 0),
    )
    for kind, values in timeline.rows:
        line = kind
        for name, value, text in values:
            line += " %s=%d" % (name, value)
            if text is not None:
                line += ":" + quoted(text)
        yield line
    yield "complete" if timeline.complete else "incomplete"


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        for text in lines(Timeline(file.read())):
            print(text)
