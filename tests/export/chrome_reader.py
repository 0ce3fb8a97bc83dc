# SPDX-License-Identifier: MIT
"""Reads Chrome's trace JSON as the "Trace Event Format" describes it, and says what is wrong with
it. Written from that description, with nothing of ours: times are taken as decimal text, since a
comparison of floating-point numbers would hide or invent overlaps."""
import collections
import decimal
import json

NEEDED = {"X": {"pid", "tid", "ts", "dur", "name"}, "M": {"pid", "name", "args"},
          "C": {"pid", "ts", "name", "args"}, "i": {"pid", "tid", "ts", "name", "s"},
          "s": {"pid", "tid", "ts", "id", "name", "cat"},
          "f": {"pid", "tid", "ts", "id", "name", "cat"}}


class Trace:
    def __init__(self, text):
        document = json.loads(text, parse_float=decimal.Decimal, parse_constant=self.refuse)
        self.errors = []
        self.slices = collections.defaultdict(list)  # (pid, tid): [(begin, end, event)]
        self.counters = collections.defaultdict(list)
        self.instants, self.starts, self.finishes = [], {}, {}
        self.names = {}
        self.processes = {}
        for event in document["traceEvents"]:
            self.take(event)

    @staticmethod
    def refuse(text):
        raise ValueError(f"{text} is not JSON")

    @staticmethod
    def ns(value):
        scaled = decimal.Decimal(value) * 1000
        assert scaled == scaled.to_integral_value(), f"{value} us is no whole nanosecond"
        return int(scaled)

    def take(self, event):
        phase = event["ph"]
        missing = NEEDED[phase] - event.keys()
        if missing:
            self.errors.append(f"{event} lacks {missing}")
            return
        place = event["pid"], event.get("tid")
        if phase == "X":
            begin = self.ns(event["ts"])
            self.slices[place].append((begin, begin + self.ns(event["dur"]), event))
            if event["dur"] < 0:
                self.errors.append(f"{event} ends before it begins")
        elif phase == "C":
            self.counters[event["pid"], event["name"]].append(
                (self.ns(event["ts"]), float(event["args"]["value"])))
        elif phase == "i":
            self.instants.append(event)
        elif phase == "M" and event["name"] == "thread_name":
            self.names[place] = event["args"]["name"]
        elif phase == "M" and event["name"] == "process_name":
            self.processes[event["pid"]] = event["args"]["name"]
        elif phase in "sf":
            ends = self.starts if phase == "s" else self.finishes
            if event["id"] in ends:
                self.errors.append(f"two arrows with the number {event['id']}")
            ends[event["id"]] = event

    def check(self):
        """Everything that a viewer needs; returns sentences."""
        errors = list(self.errors)
        for place, slices in self.slices.items():
            if place not in self.names:
                errors.append(f"track {place} has no name")
            if place[0] not in self.processes:
                errors.append(f"process {place[0]} has no name")
            errors += nesting_errors(place, slices)
        for number, finish in self.finishes.items():
            if number not in self.starts:
                errors.append(f"arrow {number} comes from nowhere")
            elif self.ns(self.starts[number]["ts"]) > self.ns(finish["ts"]):
                errors.append(f"arrow {number} goes back in time")
        for arrow in list(self.starts.values()) + list(self.finishes.values()):
            at = self.ns(arrow["ts"])
            if not any(b <= at <= e for b, e, _ in self.slices[arrow["pid"], arrow["tid"]]):
                errors.append(f"arrow {arrow['id']} hangs in the air")
        return errors


def nesting_errors(place, slices):
    errors, open_slices = [], []
    for begin, end, event in sorted(slices, key=lambda s: (s[0], -s[1])):
        while open_slices and open_slices[-1][1] <= begin:
            open_slices.pop()
        if open_slices and end > open_slices[-1][1]:
            errors.append(f"on track {place} {event['name']} at {begin} ns overlaps "
                          f"{open_slices[-1][2]['name']} without lying in it")
        open_slices.append((begin, end, event))
    # In the file an enclosing slice stands before what it encloses, also where both begin at once.
    for (b1, e1, _), (b2, e2, _) in zip(slices, slices[1:]):
        if b1 == b2 and e1 < e2 and e1 > b1:
            errors.append(f"on track {place} at {b1} ns the shorter of two slices comes first")
    return errors
