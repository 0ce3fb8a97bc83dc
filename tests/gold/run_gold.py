#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs every case of tests/gold/cases and compares stdout, stderr and exit code byte by byte.

A case is a folder: `cmd` (arguments, one a line), `stdout`, `stderr` (absent: empty), `exit`
(absent: 0). A file with the suffix .windows or .linux is for that system only. JSON documents are
parsed as well, and those of `summary`, `ops` and `timeline` must have exactly the documented keys.
With --bless the expectations are written instead of compared.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "terminal"))
import cli  # noqa: E402

CASES = pathlib.Path(__file__).resolve().parent / "cases"

LATENCY = ["min", "mean", "stddev", "p50", "p90", "p95", "p99", "p99_9", "max", "first", "jitter"]
MACHINE_DEVICE = ["name", "driver", "driver_date", "driver_vendor", "hardware", "adapter",
                  "memory_bytes"]
THREAD_TIMES = ["on_cpu_us", "ready_us", "preempted_us", "waiting_us", "unknown_us", "switches",
                "samples", "sampled_us"]
OUTLIER = ["session", "run", "begin_s", "latency_us", "usual_us", "causes", "unexplained_share"]
OUTLIER_CAUSE = ["cause", "share", "measured", "who", "session", "bytes", "faults", "idle_us",
                 "clock_percent", "excess_us"]

SUMMARY_KEYS = {
    "": ["schema_version", "ortscope_version", "target", "runtime", "machine", "duration_s",
         "lost_events", "overhead", "sessions", "shared_arenas", "process", "devices", "energy",
         "heat", "gpu_use", "npu_measurements", "threads", "messages", "ort_events"],
    "target": ["pid", "program", "exit_code"],
    "runtime": ["version", "module"],
    "machine": ["manufacturer", "model", "firmware", "hypervisor", "wine", "os", "processor",
                "memory", "gpus", "npus", "power"],
    "machine.os": ["name", "release", "version", "revision"],
    "machine.processor": ["name", "packages", "nodes", "cores", "performance_cores",
                          "efficiency_cores", "threads", "nominal_mhz", "instructions",
                          "steady_ticks", "caches"],
    "machine.processor.caches": ["level", "holds", "bytes", "line_bytes", "count"],
    "machine.memory": ["bytes", "commit_limit_bytes"],
    "machine.gpus": MACHINE_DEVICE,
    "machine.npus": MACHINE_DEVICE,
    "machine.power": ["plan", "source", "battery_percent"],
    "overhead": ["per_run_ns", "share"],
    "shared_arenas": ["count", "held_bytes", "in_use_bytes"],
    "process": ["cpu_percent", "peak_rss_bytes"],
    "devices": ["source", "kind", "name", "model", "driver", "utilization_percent", "utilization_max_percent",
                "memory_peak_bytes", "memory_total_bytes", "power_w", "power_max_w",
                "temperature_max_c", "throttled_by"],
    "energy": ["source", "meter", "integrated_from_power", "seconds", "joules", "joules_per_run",
               "runs_per_joule", "flop_per_joule", "co2_g"],
    "heat": ["source", "zone", "temperature_max_c", "passive_limit_min_percent",
             "throttle_reasons"],
    "gpu_use": ["process", "packets", "queued_s", "engine_s"],
    "npu_measurements": ["source", "process", "what", "unit", "count", "sum", "mean", "min", "max"],
    "sessions": ["id", "model", "providers", "load_ms", "runs", "failed_runs", "throughput_per_s",
                 "latency_us", "provider_devices", "loading", "placement", "ops", "fusion",
                 "ops_notes", "ops_runs", "memory", "machine", "flops_per_run", "flop_per_joule", "batch",
                 "stability", "concurrency", "generation", "shapes", "outlier_causes", "outliers"],
    "sessions.machine": ["covered_runs", "on_cpu_share", "ready_share", "preempted_share",
                         "waiting_share", "unknown_share", "switches_per_run", "preempted_by",
                         "waits", "page_faults_per_run", "hard_faults_per_run", "fault_source",
                         "disk_transfers_per_run", "disk_us_per_run", "clock_percent",
                         "clock_mhz", "gpu_percent", "npu_percent", "process_cpu_percent",
                         "gap_us"],
    "sessions.machine.preempted_by": ["program", "share"],
    "sessions.machine.waits": ["reason", "share"],
    "sessions.flop_per_joule": ["source", "meter", "value"],
    "threads": ["profile_interval_us", "idle", "list", "more", "left_out_rows"],
    "threads.idle": THREAD_TIMES,
    "threads.list": ["thread", "name", "pid", "program"] + THREAD_TIMES,
    "sessions.latency_us": LATENCY,
    "sessions.ops": ["node", "op_type", "op_type_source", "domain", "provider", "calls", "total_us",
                     "self_us", "mean_us", "share", "variation", "time"],
    "sessions.provider_devices": ["provider", "type", "vendor", "nodes"],
    "sessions.loading": ["total_ms", "read_ms", "optimise_ms", "kernels_ms", "first_run_ms",
                         "source", "same_model"],
    "sessions.loading.same_model": ["loads", "number", "first_ms", "later_median_ms"],
    "sessions.placement": ["provider", "nodes", "share", "time"],
    "sessions.memory": ["arena_bytes", "in_use_bytes", "peak_bytes", "growth_bytes_per_run",
                        "fragmentation_bytes", "fragmentation_share",
                        "fragmentation_at_peak_bytes", "fragmentation_at_peak_share",
                        "arena_grown_bytes", "arena_extensions", "allocated_bytes_per_run",
                        "allocations_per_run", "run_peak_bytes", "growth", "source", "notes"],
    "sessions.memory.allocated_bytes_per_run": ["mean", "p50", "max"],
    "sessions.memory.allocations_per_run": ["mean", "p50", "max"],
    "sessions.memory.growth": ["verdict", "bytes_per_run", "low", "high", "runs"],
    "messages": ["level", "source", "session", "first_run", "count", "text"],
    "sessions.batch": ["size", "runs", "p50_us", "per_sample_us", "peak_bytes",
                       "bytes_per_sample", "samples_per_mb"],
    "sessions.stability": ["warmup_runs", "left_out_runs", "drift_percent", "low", "high",
                           "verdict"],
    "sessions.concurrency": ["mean", "max"],
    "sessions.outlier_causes": ["factor", "usual_us", "runs", "explained_runs", "groups"],
    "sessions.outlier_causes.groups": ["cause", "who", "runs", "extra_us"],
    "sessions.outliers": OUTLIER,
    "sessions.outliers.causes": OUTLIER_CAUSE,
    "sessions.generation": ["sequences", "steps", "tokens", "tokens_per_s", "first_token_us",
                            "between_tokens_us", "step_run_us"],
    "sessions.generation.first_token_us": ["mean", "p50", "p90", "p95", "p99", "max"],
    "sessions.generation.between_tokens_us": ["mean", "p50", "p90", "p95", "p99", "max"],
    "sessions.generation.step_run_us": ["mean", "p50", "p90", "p95", "p99", "max"],
    "sessions.shapes": ["inputs", "runs", "p50_us", "p99_us"],
}
OPS_KEYS = {
    "": ["schema_version", "by", "sort", "session", "filter", "runs", "all", "ops", "more",
         "most_variable", "sessions", "other_threads", "lost_events"],
    "other_threads": ["idle_at_least_us", "idle_at_least_share", "threads"],
    "other_threads.threads": ["process", "thread", "cpu_at_most_us", "runs_cover_us"],
    "runs": ["count", "kept", "with_ops", "with_ops_us"],
    "all": ["calls", "failed", "ambiguous", "left_out", "not_told_apart", "self_us", "share_of_run_time", "time",
            "loading_calls", "loading_us"],
    "ops": ["node", "op_type", "domain", "provider", "session", "thread", "nodes", "calls", "failed",
            "ambiguous", "total_us", "self_us", "mean_us", "p50_us", "p95_us", "p99_us", "max_us",
            "share", "share_of_run_time", "flops_per_call", "gflops_per_s",
            "allocated_bytes_per_call", "allocations_per_call", "time", "loading_calls",
            "loading_us", "variation", "op_type_source"],
    "most_variable": ["session", "node", "op_type", "op_type_source", "domain", "provider", "calls",
                      "p50_us", "p99_us", "p99_by_p50", "variation"],
    "sessions": ["session", "runs", "left_out_runs", "runs_without_ops", "run_us", "busy_us",
                 "in_flight", "critical_path", "inter_op_threads", "provider_changes", "copies",
                 "fusion", "not_joined"],
    "sessions.in_flight": ["none_us", "one_us", "several_us", "parallel_share", "most"],
    "sessions.critical_path": ["based_on", "total_us", "gaps_us", "share", "executions", "heaviest"],
    "sessions.critical_path.heaviest": ["node", "op_type", "op_type_source", "domain", "provider",
                                        "executions", "total_us", "share"],
    "sessions.inter_op_threads": ["runs_cover_us", "busy_us", "idle_us", "idle_share", "threads"],
    "sessions.inter_op_threads.threads": ["thread", "runs", "busy_us"],
    "sessions.provider_changes": ["count", "per_run", "gap_us", "between"],
    "sessions.provider_changes.between": ["from", "to", "count", "gap_us"],
    "sessions.copies": ["to_host", "from_host", "to_host_us", "from_host_us", "us_per_run"],
    "sessions.not_joined": ["first", "second", "domain", "pairs", "pairs_with_fitting_shapes",
                            "calls", "first_us", "second_us", "second_share", "first_node",
                            "second_node"],
}
OP_KINDS = ["plain", "fused", "blocked", "reorder", "copy_to_host", "copy_from_host"]
for table in (SUMMARY_KEYS, OPS_KEYS):
    table["sessions.fusion"] = OP_KINDS
    for kind in OP_KINDS:
        table[f"sessions.fusion.{kind}"] = ["nodes", "calls", "self_us", "share"]
RUN_MACHINE = ["on_cpu_us", "ready_us", "preempted_us", "waiting_us", "unknown_us", "switches",
               "preempted_by", "waits", "other_threads", "page_faults", "hard_faults",
               "hard_fault_us", "fault_source", "disk_transfers", "disk_us", "clock_percent",
               "clock_mhz", "gpu_percent", "npu_percent", "process_cpu_percent", "gap_us",
               "thread_gap_us"]
TIMELINE_KEYS = {
    "": ["schema_version", "session", "run", "begin_s", "latency_us", "status", "thread", "memory",
         "machine", "thread_states", "ops", "more", "ambiguous", "left_out"],
    "machine": RUN_MACHINE,
    "machine.preempted_by": ["program", "us"],
    "machine.waits": ["reason", "us"],
    "machine.other_threads": ["threads", "on_cpu_us", "ready_us", "preempted_us", "waiting_us"],
    "thread_states": ["state", "begin_us", "duration_us", "cpu", "preempted_by", "reason"],
    "memory": ["allocations", "releases", "allocated_bytes", "released_bytes", "peak_bytes",
               "left_bytes"],
    "ops": ["node", "op_type", "op_type_source", "domain", "provider", "thread", "depth", "begin_us",
            "duration_us", "self_us", "allocations", "allocated_bytes", "failed", "time"],
}
CHANGE = ["unit", "old", "new", "change", "change_percent", "verdict"]
DIFF_METRICS = ["latency", "p50", "p90", "p95", "p99", "p99.9", "mean", "max", "throughput", "load",
                "memory_peak", "memory_growth"]
DIFF_OPS = ["node", "op_type", "op_type_source", "domain", "old_calls_per_run",
            "new_calls_per_run"] + CHANGE
DIFF_KEYS = {
    "": ["schema_version", "ortscope_version", "old", "new", "verdict", "confidence",
         "margin_percent", "differences", "sessions", "only_old", "only_new", "energy_per_run",
         "process_memory", "conditions", "exit_code"],
    "differences": ["model", "what", "old", "new", "caveat"],
    "sessions": ["model", "verdict", "old", "new", "metrics", "types", "nodes"],
    "sessions.metrics": DIFF_METRICS,
    "sessions.types": DIFF_OPS,
    "sessions.nodes": DIFF_OPS,
    "energy_per_run": ["source", "meter"] + CHANGE,
    "process_memory": CHANGE,
    "conditions": ["condition", "subject", "result", "unit", "limit", "value", "low", "high"],
}
for side in ("old", "new"):
    DIFF_KEYS[f"sessions.{side}"] = ["model", "sessions", "runs", "failed_runs", "warmup_runs"]
    DIFF_KEYS[f"only_{side}"] = ["model", "sessions", "runs"]
for metric in DIFF_METRICS:
    DIFF_KEYS[f"sessions.metrics.{metric}"] = CHANGE
for place in [f"sessions.metrics.{m}" for m in DIFF_METRICS] + [
        "sessions.types", "sessions.nodes", "energy_per_run", "process_memory"]:
    for part in ("old", "new", "change", "change_percent"):
        DIFF_KEYS[f"{place}.{part}"] = ["value", "low", "high"]
KEYS = {"summary": SUMMARY_KEYS, "ops": OPS_KEYS, "timeline": TIMELINE_KEYS, "diff": DIFF_KEYS}


def key_errors(value, keys, path=""):
    """Objects whose keys are not the documented ones."""
    if isinstance(value, list):
        return [e for item in value for e in key_errors(item, keys, path)]
    if not isinstance(value, dict):
        return []
    errors = []
    if list(value) != keys.get(path):
        errors.append(f"keys of {path or 'the document'} are {list(value)}")
    for key, item in value.items():
        errors += key_errors(item, keys, f"{path}.{key}" if path else key)
    return errors


def reject_constant(name):
    raise ValueError(f"{name} is not JSON")


def json_errors(arguments, stdout):
    try:
        document = json.loads(stdout, parse_constant=reject_constant)
    except (ValueError, UnicodeDecodeError) as error:
        return [f"stdout is no JSON: {error}"]
    if document.get("schema_version") != 1:
        return ["schema_version is not 1"]
    return key_errors(document, KEYS[arguments[0]]) if arguments[0] in KEYS else []


def expectation(case, name, platform, default):
    for path in (case / f"{name}.{platform}", case / name):
        if path.exists():
            return path.read_bytes()
    return default


def bless(case, name, platform, actual, default):
    special = case / f"{name}.{platform}"
    path = special if special.exists() else case / name
    if actual == default and path != special:
        path.unlink(missing_ok=True)
    elif not path.exists() or path.read_bytes() != actual:
        path.write_bytes(actual)
        print(f"blessed {path.relative_to(CASES)}")


def without_offsets(text):
    """Where a file is damaged moves with the size of its header; what is said about it does not."""
    return re.sub(rb"at byte \d+", b"at byte N", text)


def started(options, arguments, environment):
    """Wine 8 ends a program in some thousands in its first moments, without a word. Ours never fail
    without one, so such a one is started again."""
    for _ in range(3):
        result = subprocess.run(options.emulator + [options.ortscope] + arguments, cwd=options.work,
                                env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                                timeout=120)
        if not options.emulator or result.returncode != 1 or result.stdout or result.stderr:
            break
        print("Wine did not start " + " ".join(arguments), flush=True)
    return result


def run_case(case, options):
    arguments = (case / "cmd").read_text().splitlines()
    # C.UTF-8 so that messages of the system are the same everywhere
    environment = dict(os.environ, LC_ALL="C.UTF-8", WINEDEBUG="-all")
    result = started(options, arguments, environment)
    actual = {"stdout": without_offsets(result.stdout), "stderr": without_offsets(result.stderr),
              "exit": b"%d\n" % result.returncode}
    errors = []
    for name, default in (("stdout", b""), ("stderr", b""), ("exit", b"0\n")):
        if options.bless:
            bless(case, name, options.platform, actual[name], default)
        elif expectation(case, name, options.platform, default) != actual[name]:
            errors.append(f"{name} differs; it is now:\n" +
                          actual[name].decode("utf-8", "replace")[:4000])
    if "--json" in arguments and result.returncode == 0:
        errors += json_errors(arguments, result.stdout)
    return errors


def on_terminal(options, arguments, **environment):
    """What the command prints on a terminal of 80 columns (Linux only)."""
    output, code = cli.on_terminal(options, arguments, **environment)
    return output if code == 0 else b""


def stream_errors(options):
    """Closed pipes, full disks, terminals."""
    errors = []
    command = options.emulator + [options.ortscope, "dump", "--json", "basic.ortl"]
    process = subprocess.Popen(command, cwd=options.work, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(100)
    process.stdout.close()
    complaint = process.stderr.read()
    if process.wait(timeout=60) != 0 or complaint:
        errors.append(f"a closed pipe: exit code {process.returncode}, {complaint}")
    if options.platform != "linux":
        return errors
    with open("/dev/full", "wb") as full:
        result = subprocess.run(command, cwd=options.work, stdout=full, stderr=subprocess.PIPE)
    if result.returncode != 1 or b"could not be written" not in result.stderr:
        errors.append(f"a full disk: exit code {result.returncode}, {result.stderr}")
    plain = on_terminal(options, ["summary", "basic.ortl"], LC_ALL="C", NO_COLOR="1")
    colour = on_terminal(options, ["summary", "basic.ortl"], LC_ALL="C.UTF-8")
    runs = on_terminal(options, ["runs", "basic.ortl"], LC_ALL="C.UTF-8", TERM="dumb")
    if b"Session 1" not in plain or b"\x1b" in plain or not plain.isascii():
        errors.append("NO_COLOR or an ASCII terminal is not respected")
    if b"\x1b[1mSession 1\x1b[0m" not in colour or "\u2588".encode() not in colour:
        errors.append("no colour or no Unicode on a terminal that has them")
    if runs.count(b"\n") != 54 or b"3,990 more runs" not in runs or b"\x1b" in runs:
        errors.append("`runs` on a terminal does not stop after 50")
    return errors


class KeptWarm:
    """Keeps Wine's server alive between the cases: a Windows program that waits for our end. Only
    once it runs may the cases start, or Wine's services would hold the pipes of the first one."""

    def __init__(self, emulator):
        self.waiting = emulator and subprocess.Popen(
            emulator + ["cmd", "/c", "echo ready& set /p x="], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if self.waiting:
            self.waiting.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.waiting:
            self.waiting.communicate(b"\n", timeout=60)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ortscope", required=True)
    parser.add_argument("--maker", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--platform", choices=["linux", "windows"], required=True)
    parser.add_argument("--bless", action="store_true")
    parser.add_argument("emulator", nargs="*")
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    subprocess.run(options.emulator + [options.maker], cwd=options.work, check=True, timeout=120)
    cases = sorted(p.parent for p in CASES.glob("*/cmd"))
    failed = 0
    with KeptWarm(options.emulator):
        for case in cases:
            errors = run_case(case, options)
            failed += bool(errors)
            for error in errors:
                print(f"FAIL {case.name}: {error}")
        errors = stream_errors(options)
        failed += bool(errors)
        for error in errors:
            print(f"FAIL streams: {error}")
    print(f"{len(cases)} cases, {failed} failed")
    return 1 if failed or not cases else 0


sys.exit(main())
