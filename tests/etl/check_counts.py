# SPDX-License-Identifier: MIT
"""check_counts.py ORTSCOPE [EMULATOR...]: `ortscope import --json` against the expected contents of
real recordings (../shared/data/etl beside the project). Exit code 77, "skipped", where they are
missing."""
import json
import subprocess
import sys

import recordings

HEADER_ONLY = {"buffers": ["count", "by_type", "by_flag", "by_cpu", "seq_in_file_order", "seq_min", "seq_max"],
               "events": ["total", "by_header", "filetime_min", "filetime_max", "ts_min", "ts_max",
                          "distinct_pids", "distinct_tids", "user_bytes", "non_monotonic_within_buffer",
                          "non_monotonic_per_cpu_file_order", "channels", "event_header_flags",
                          "with_activity_id"]}
# With an emulator each start takes long; the code is the same.
EMULATED = {"empty", "hw3d_trace", "perfview_gcevents", "perfview_net.4.5.2.x64", "sawbuck_image_data_32_v2",
            "truncated_mid_buffer", "compressed_truncated", "tx_BondEtwSample"}
# Not recordings at all: refused with a sentence, whatever a more patient parser finds in them.
REFUSED = {"empty", "forty_bytes", "random_64k", "zeros_64k"}


def count_of(text):
    """The expected files write Python's own notation."""
    return None if text == "None" else "variable" if "var" in text else text


def schemas(document):
    found = {}
    for event in document["tracelogging"]["events"]:
        fields = tuple((f["name"], f["intype"], f["outtype"], count_of(str(f["count"]))) for f in event["fields"])
        key = (event["provider"], event["name"], fields)
        found[key] = found.get(key, 0) + event["count"]
    return found


def compare(name, got, want, problems):
    def same(what, a, b):
        if a != b:
            problems.append(f"{name}: {what}: {a!r}, expected {b!r}")

    same("file_size", got["file_size"], want["file_size"])
    same("logfile_header", got["logfile_header"], want["logfile_header"])
    same("clock", got["clock"], want["clock"])
    same("lost_events", got["lost_events"], want["logfile_header"]["EventsLost"])
    for part, keys in HEADER_ONLY.items():
        for key in keys:
            same(f"{part}.{key}", got[part][key], want[part][key])
    for key in ("extended_items", "by_key", "by_guid", "first_event_timestamp"):
        same(key, got[key], want[key])
    same("by_provider", sum(p["count"] for p in got["events"]["by_provider"]),
         want["events"]["total"] - sum(n for k, n in want["by_key"].items() if k.startswith("type")))
    for key in ("decoded_ok", "errors", "residual_bytes"):
        same("tracelogging." + key, got["tracelogging"][key], want["tracelogging"][key])
    same("tracelogging.events", schemas(got), schemas(want))
    same("provider_traits", sorted(map(tuple, got["provider_traits"])), sorted(map(tuple, want["provider_traits"])))
    same("damage", got["error_count"] > 0, want["error_count"] > 0)


def main():
    command = sys.argv[2:] + [sys.argv[1]]
    problems, checked = [], 0
    for name, path, expected in recordings.all_with_expectations():
        if sys.argv[2:] and name not in EMULATED:
            continue
        run = subprocess.run(command + ["import", "--json", path], capture_output=True, timeout=300)
        if name in REFUSED:
            if run.returncode != 1 or b"no recording" not in run.stderr:
                problems.append(f"{name}: not refused as it should be: {run.returncode} {run.stderr!r}")
        elif run.returncode != 0:
            problems.append(f"{name}: exit code {run.returncode}: {run.stderr.decode(errors='replace')}")
        else:
            compare(name, json.loads(run.stdout), expected, problems)
        checked += 1
    for problem in problems:
        print(problem[:2000])
    print(f"{checked} recordings, {len(problems)} differences")
    sys.exit(1 if problems or not checked else 0)


if __name__ == "__main__":
    main()
