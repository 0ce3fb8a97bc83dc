# SPDX-License-Identifier: MIT
"""Where the real recordings are, unpacked into the build folder where they are compressed."""
import json
import lzma
import os
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(os.path.dirname(ROOT), "shared", "data", "etl")
UNPACKED = os.path.join(ROOT, "build", "etl")


def need():
    """The folder with the recordings; ends the test as skipped where it is missing."""
    if not os.path.isdir(DATA):
        print(f"skipped: the recordings are not at {os.path.relpath(DATA, ROOT)}")
        sys.exit(77)
    return DATA


def unpack(name):
    """The path of NAME.etl, from NAME.etl.xz if that is what there is."""
    for folder in (DATA, os.path.join(DATA, "derived")):
        plain = os.path.join(folder, name + ".etl")
        if os.path.exists(plain):
            return plain
        if os.path.exists(plain + ".xz"):
            target = os.path.join(UNPACKED, name + ".etl")
            if not os.path.exists(target):
                os.makedirs(UNPACKED, exist_ok=True)
                partial = f"{target}.{os.getpid()}"
                with lzma.open(plain + ".xz") as packed, open(partial, "wb") as out:
                    shutil.copyfileobj(packed, out)
                os.replace(partial, target)
            return target
    return None


def load(*parts):
    with open(os.path.join(need(), *parts), encoding="utf-8") as file:
        return json.load(file)


def all_with_expectations():
    """(name, path, expected) of every recording that has an expected/NAME.json."""
    for folder in ("", "derived"):
        place = os.path.join(need(), "expected", folder)
        for entry in sorted(os.listdir(place)):
            name = entry[: -len(".json")]
            path = unpack(name) if entry.endswith(".json") else None
            if path:
                yield name, path, load("expected", folder, entry)
