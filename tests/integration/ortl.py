# SPDX-License-Identifier: MIT
"""Reads a timeline file with nothing but a plain MessagePack library (Debian's python3-msgpack).

load(path) gives a Timeline: header, damage (None or a sentence), and rows(kind): a list of dicts
with strings resolved. It follows docs/timeline-format.md and shares no code with ortscope.
"""
import msgpack


class Timeline:
    def __init__(self):
        self.header = {}
        self.damage = None
        self.kinds = {}
        self.strings = {0: ""}

    def rows(self, kind):
        return self.kinds.get(kind, [])


def _column(values, count, encoding):
    if not isinstance(values, list):
        return [values] * count
    if len(values) == 2 and isinstance(values[0], list):
        return [value for length, value in zip(values[0], _column(values[1], 0, encoding)) for _ in range(length)]
    if encoding != "delta":
        return values
    out, total = [], 0
    for value in values:
        total = (total + value + 2**63) % 2**64 - 2**63
        out.append(total)
    return out


def _block(timeline, block):
    kind, meta, columns = block[0], block[1], block[2:]
    if kind == "string":
        for i, text in enumerate(columns[0]):
            timeline.strings[meta["first"] + i] = text
        return
    described = timeline.header["kinds"].get(kind)
    if described is None:
        return
    count = meta["rows"]
    decoded = {}
    for (name, kind_of_value), values in zip(described, columns):
        encoding = timeline.header["types"][kind_of_value]
        decoded[name] = _column(values, count, encoding)
        if kind_of_value == "str":
            decoded[name] = [timeline.strings.get(i, "") for i in decoded[name]]
    rows = timeline.kinds.setdefault(kind, [])
    for i in range(count):
        rows.append({name: values[i] for name, values in decoded.items()})


def _unpacker(file):
    return msgpack.Unpacker(file, raw=False, strict_map_key=False, unicode_errors="replace",
                            max_buffer_size=1 << 30)


def flushes(path):
    """The timeline as it is after each flush, always the same object: a flush has the kinds in the order of the
    header."""
    timeline, last = Timeline(), None
    with open(path, "rb") as file:
        unpacker = _unpacker(file)
        timeline.header = next(unpacker)
        order = {kind: i for i, kind in enumerate(timeline.header["kinds"])}
        for block in unpacker:
            place = order.get(block[0], -1)  # strings come first
            if last is not None and place < last:
                yield timeline
            last = place
            if block[0] in order or block[0] == "string":
                _block(timeline, block)
    yield timeline


def load(path):
    timeline = Timeline()
    with open(path, "rb") as file:
        unpacker = _unpacker(file)
        ended = False
        try:
            timeline.header = next(unpacker)
            for block in unpacker:
                ended = block[0] == "end"
                _block(timeline, block)
        except StopIteration:
            timeline.damage = "the file is empty"
        except Exception as error:  # a cut or damaged file: what came before it counts
            timeline.damage = "unreadable: %r" % (error,)
        if not ended and timeline.damage is None:
            timeline.damage = "the file has no end mark"
    return timeline
