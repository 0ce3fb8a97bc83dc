#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""docs/etw.md and docs/ortscope.wprp against docs/events.md, which a test of its own compares with the
schema: GUIDs made from the names, keywords, levels, the names that event tracing gets."""
import hashlib
import os
import re
import sys
import uuid
import xml.etree.ElementTree as ElementTree

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs")
RENAMED = {"Op": "Ops", "Alloc": "Allocs"}
ORT = "3a26b1ff-7484-7484-7484-15261f42614d"  # fixed, not made from its name
problems = []


def expect(what, actual, expected):
    if actual != expected:
        problems.append("%s: %r, expected %r" % (what, actual, expected))


def guid(name):
    space = bytes.fromhex("482c2db2c39047c887f81a15bfc130fb")
    digest = bytearray(hashlib.sha1(space + name.upper().encode("utf-16-be")).digest()[:16])
    digest[7] = digest[7] & 0x0F | 0x50
    return str(uuid.UUID(bytes_le=bytes(digest)))


def text(name):
    with open(os.path.join(DOCS, name), encoding="utf-8") as file:
        return file.read()


def schema():
    found = re.findall(r"^## \d+ (\w+)\n.*?Level (\d+), keyword 0x([0-9a-f]+)\.$", text("events.md"),
                       re.MULTILINE | re.DOTALL)
    return {RENAMED.get(n, n): (int(level), int(keyword, 16)) for n, level, keyword in found}


def check_page(events, every):
    page = text("etw.md")
    for name in ("Ortscope", "Ortscope-Collector"):
        expect(name + " in the page", "| `%s` | `%s` |" % (name, guid(name)) in page, True)
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| 0x([0-9a-f]+) \|", page, re.MULTILINE)
    expect("events in the page", {n: (int(level), int(k, 16)) for n, level, k in rows}, events)
    keywords = [int(k, 16) for k in re.findall(r"^\| 0x([0-9a-f]+) \|", page, re.MULTILINE)]
    expect("keywords in the page", sum(keywords), every)


def check_profile(events, every):
    root = ElementTree.parse(os.path.join(DOCS, "ortscope.wprp")).getroot()
    expect("root", root.tag, "WindowsPerformanceRecorder")
    providers = {p.get("Id"): p for p in root.iter("EventProvider")}
    ours, deepest = guid("Ortscope"), max(level for level, _ in events.values())
    expect("providers", {p.get("Name") for p in providers.values()}, {ours, guid("Ortscope-Collector"), ORT})
    for provider in providers.values():
        keywords = [int(k.get("Value"), 16) for k in provider.findall("Keywords/Keyword")]
        if provider.get("Name") == ours:
            expect("keywords of " + provider.get("Id"), keywords, [every])
            saved = [int(k.get("Value"), 16) for k in provider.findall("CaptureStateOnSave/Keyword")]
            expect("state of " + provider.get("Id"), saved, [every])
    expect("level", providers["Ortscope"].get("Level"), str(deepest))
    named = {p.get("Id") for p in root.iter() if p.tag.endswith(("Provider", "Collector")) and p.get("Id")}
    used = {p.get("Value") for p in root.iter() if p.tag.endswith(("ProviderId", "CollectorId"))}
    expect("what profiles refer to", used - named, set())
    expect("what no profile uses", named - used, set())
    profiles = {p.get("Id"): p for p in root.iter("Profile")}
    for name, profile in profiles.items():
        parts = (profile.get("Name"), profile.get("DetailLevel"), profile.get("LoggingMode"))
        expect("id of a profile", name, ".".join(parts))
        expect("base of " + name, profile.get("Base", name) in profiles, True)


def main():
    events = schema()
    every = 0
    for _, keyword in events.values():
        every |= keyword
    expect("events in the schema", len(events) > 20, True)
    check_page(events, every)
    check_profile(events, every)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
