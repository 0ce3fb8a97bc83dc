# SPDX-License-Identifier: MIT
"""Decodes a Perfetto trace with nothing but the wire format of Protocol Buffers and the field
numbers that Perfetto publishes (protos/perfetto/trace/**/*.proto), and says what is wrong with it.
A field that is not in the tables below is an error: we write only what is published."""
import collections
import struct

# message: {number: (name, type)}; a type is a message's name, or how a value is read.
MESSAGES = {
    "Trace": {1: ("packet", "TracePacket")},
    "TracePacket": {6: ("clock_snapshot", "ClockSnapshot"), 8: ("timestamp", "uint"),
                    10: ("trusted_packet_sequence_id", "uint"), 11: ("track_event", "TrackEvent"),
                    12: ("interned_data", "InternedData"), 13: ("sequence_flags", "uint"),
                    60: ("track_descriptor", "TrackDescriptor")},
    "ClockSnapshot": {1: ("clocks", "Clock")},
    "Clock": {1: ("clock_id", "uint"), 2: ("timestamp", "uint")},
    "TrackEvent": {3: ("category_iids", "uint"), 4: ("debug_annotations", "DebugAnnotation"),
                   9: ("type", "uint"), 10: ("name_iid", "uint"), 11: ("track_uuid", "uint"),
                   23: ("name", "text"), 44: ("double_counter_value", "double"),
                   47: ("flow_ids", "fixed64"), 48: ("terminating_flow_ids", "fixed64")},
    "DebugAnnotation": {1: ("name_iid", "uint"), 2: ("bool_value", "uint"),
                        4: ("int_value", "int"), 6: ("string_value", "text"),
                        17: ("string_value_iid", "uint")},
    "InternedData": {1: ("event_categories", "Interned"), 2: ("event_names", "Interned"),
                     3: ("debug_annotation_names", "Interned"),
                     29: ("debug_annotation_string_values", "Interned")},
    "Interned": {1: ("iid", "uint"), 2: ("text", "text")},
    "TrackDescriptor": {1: ("uuid", "uint"), 2: ("name", "text"),
                        3: ("process", "ProcessDescriptor"), 4: ("thread", "ThreadDescriptor"),
                        5: ("parent_uuid", "uint"), 8: ("counter", "CounterDescriptor")},
    "ProcessDescriptor": {1: ("pid", "int"), 6: ("process_name", "text")},
    "ThreadDescriptor": {1: ("pid", "int"), 2: ("tid", "int"), 5: ("thread_name", "text")},
    "CounterDescriptor": {3: ("unit", "uint")},
}
WIRE = {"uint": 0, "int": 0, "double": 1, "fixed64": 1}
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
CLEARED, NEEDS_STATE = 1, 2


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value, at
        assert shift < 70, "a number of more than ten bytes"


def decode(data, message):
    """{field: [values]} of a message; raises where it is none."""
    fields, result, at = MESSAGES[message], collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        assert tag >> 3 in fields, f"{message} has no field {tag >> 3}"
        name, kind = fields[tag >> 3]
        assert tag & 7 == WIRE.get(kind, 2), f"{message}.{name} has wire type {tag & 7}"
        if tag & 7 == 0:
            value, at = varint(data, at)
            value = value - (1 << 64) if kind == "int" and value >> 63 else value
        elif tag & 7 == 1:
            value = struct.unpack_from("<d" if kind == "double" else "<Q", data, at)[0]
            at += 8
        else:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, f"{message}.{name} is cut"
            value = value.decode("utf-8") if kind == "text" else decode(value, kind)
        result[name].append(value)
    return result


def one(message, name, default=None):
    values = message.get(name, [])
    assert len(values) <= 1, f"{name} is there twice"
    return values[0] if values else default


class Trace:
    """Slices, counters and instants by track, as Perfetto's own reader makes them: events in the
    order of time, those of the same time in the order of the file."""

    def __init__(self, data):
        self.errors, self.tracks, self.names = [], {}, collections.defaultdict(dict)
        self.slices = collections.defaultdict(list)  # uuid: [(begin, end, name, category, notes)]
        self.counters, self.instants = collections.defaultdict(list), []
        self.arrows_out, self.arrows_in, events = {}, {}, []
        for number, packet in enumerate(decode(data, "Trace")["packet"]):
            self.take(number, packet, events)
        events.sort(key=lambda e: (e[0], e[1]))
        self.open = collections.defaultdict(list)
        for time, _, event in events:
            self.play(time, event)
        self.errors += [f"{len(o)} slices of track {u} never end" for u, o in self.open.items() if o]

    def take(self, number, packet, events):
        if one(packet, "trusted_packet_sequence_id") != 1:
            self.errors.append(f"packet {number} has no sequence")
        if number == 0 and one(packet, "sequence_flags") != CLEARED:
            self.errors.append("the first packet does not start a sequence")
        for interned in packet.get("interned_data", []):
            for kind, entries in interned.items():
                for entry in entries:
                    self.names[kind][one(entry, "iid")] = one(entry, "text")
        for track in packet.get("track_descriptor", []):
            uuid, parent = one(track, "uuid"), one(track, "parent_uuid")
            if uuid in self.tracks:
                self.errors.append(f"track {uuid} is described twice")
            if parent is not None and parent not in self.tracks:
                self.errors.append(f"track {uuid} has an unknown parent")
            self.tracks[uuid] = track
        for event in packet.get("track_event", []):
            if one(packet, "sequence_flags") != NEEDS_STATE:
                self.errors.append(f"packet {number} does not say that it needs names")
            if one(event, "track_uuid") not in self.tracks:
                self.errors.append(f"packet {number} is on no known track")
            events.append((one(packet, "timestamp"), number, self.resolve(event)))

    def resolve(self, event):
        """Puts the texts in place of their numbers; they must have come before."""
        iid = one(event, "name_iid")
        event["text"] = self.names["event_names"][iid] if iid else one(event, "name")
        event["cat"] = [self.names["event_categories"][i] for i in event.get("category_iids", [])]
        event["notes"] = {}
        for note in event.get("debug_annotations", []):
            key = self.names["debug_annotation_names"][one(note, "name_iid")]
            text = one(note, "string_value_iid")
            event["notes"][key] = (
                self.names["debug_annotation_string_values"][text] if text is not None else
                one(note, "int_value", one(note, "string_value", one(note, "bool_value"))))
        return event

    def play(self, time, event):
        uuid, kind = one(event, "track_uuid"), one(event, "type")
        if (kind == COUNTER) != ("counter" in self.tracks[uuid]):
            self.errors.append(f"an event of type {kind} on track {uuid}")
        if kind == BEGIN:
            self.open[uuid].append((time, event))
        elif kind == END and self.open[uuid]:
            begin, opened = self.open[uuid].pop()
            self.slices[uuid].append((begin, time, opened["text"], opened["cat"][0],
                                      opened["notes"]))
        elif kind == END:
            self.errors.append(f"something ends on track {uuid} that never began")
        elif kind == INSTANT:
            self.instants.append((time, event["text"]))
        elif kind == COUNTER:
            self.counters[uuid].append((time, one(event, "double_counter_value")))
        for arrow in event.get("flow_ids", []):
            self.arrows_out[arrow] = time
        for arrow in event.get("terminating_flow_ids", []):
            self.arrows_in[arrow] = time

    def name_of(self, uuid):
        return one(self.tracks[uuid], "name", "")

    def check(self):
        errors = list(self.errors)
        for arrow, time in self.arrows_in.items():
            if self.arrows_out.get(arrow, time + 1) > time:
                errors.append(f"arrow {arrow} comes from nowhere or goes back in time")
        return errors
