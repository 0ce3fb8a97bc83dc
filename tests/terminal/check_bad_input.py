#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every command that reads a file against every kind of bad file, and every command that writes one
against every reason why it can't: exit code and message."""
import gzip
import os
import re
import resource
import stat
import subprocess
import sys
import zipfile
import zlib

import cli

FILE, OUT = "<file>", "<out>"

# What reads a timeline; what prints to standard output has no OUT.
READERS = {
    "summary": ["summary", FILE],
    "summary --json": ["summary", "--json", FILE],
    "summary --csv": ["summary", "--csv", FILE],
    "ops": ["ops", FILE],
    "ops --json": ["ops", "--json", FILE],
    "runs": ["runs", FILE],
    "runs --csv": ["runs", "--csv", FILE],
    "runs --outliers": ["runs", "--outliers", "1.001", FILE],
    "timeline": ["timeline", FILE, "--session", "1", "--run", "1"],
    "diff OLD": ["diff", FILE, "ops.ortl"],
    "diff NEW": ["diff", "ops.ortl", FILE],
    "diff --json": ["diff", "--json", "ops.ortl", FILE],
    "dump": ["dump", FILE],
    "dump --json": ["dump", "--json", FILE],
    "export chrome": ["export", FILE, "-f", "chrome", "-o", "-"],
    "export csv": ["export", FILE, "-f", "csv", "-o", "-"],
    "export json": ["export", FILE, "-f", "json", "-o", OUT],
    "export perfetto": ["export", FILE, "-f", "perfetto", "-o", OUT],
    "export parquet": ["export", FILE, "-f", "parquet", "-o", OUT],
    "export speedscope": ["export", FILE, "-f", "speedscope", "-o", OUT],
    "report": ["report", FILE, "-o", OUT],
    "report to stdout": ["report", FILE, "-o", "-"],
    "report --compare": ["report", "ops.ortl", "--compare", FILE, "-o", OUT],
}
# Read one too, as if it happened now: only for files that they refuse.
SERVE = ["serve", "--no-open", FILE]
TOP = ["top", "--once", FILE]
IMPORT = ["import", "-q", FILE, "-o", OUT]

PROFILE = (b'[\n{"cat" : "Session","pid" :1,"tid" :2,"dur" :418,"ts" :3,"ph" : "X","name" :'
           b'"model_loading_uri","args" : {}},\n')

# First bytes of files that are something else, and what is said of them.
FOREIGN = {
    "text": (b"Hello, world.\n", "it is text"),
    "page": (b"<!doctype html><html></html>", "it is a web page"),
    "profile": (PROFILE, "it is ONNX Runtime's own profile"),
    "trace": (b'{"traceEvents": []}', "it is a trace for Chrome or Perfetto"),
    "ours": (b'{\n  "schema_version": 1\n}', "it is JSON that ortscope has printed"),
    "json": (b'{"a": 1}', "it is JSON"),
    "gzip": (gzip.compress(b"x"), "it is compressed by gzip"),
    "zip": (None, "it is a ZIP archive"),
    "parquet": (b"PAR1xxxxxxxxxxxx", "it is a Parquet file"),
    "program": (b"MZ\x90\0" + bytes(64), "it is a program or library of Windows"),
    "model": (b"\x08\x07\x12\x07pytorch\x1a\x051.0.0:", "it is an ONNX model"),
    "noise": (bytes((i * 89 + 31) & 255 for i in range(5000)), ""),
}


def newer_version(good):
    """The same file with version 2 in its header, and a checksum that fits."""
    changed = good.replace(b"\xa7version\x01", b"\xa7version\x02", 1)
    at = changed.index(b"\xa3crc")
    number = zlib.crc32(changed[:at]).to_bytes(4, "big")
    width = changed[at + 4]
    assert changed != good and width == 0xce, "the header is not as it was"
    return changed[:at + 5] + number + changed[at + 9:]


def without_end(good):
    """A file as it is while it is written: whole blocks, no index and no end."""
    link = int.from_bytes(good[-8:], "big")
    assert good[-21:-8].startswith(b"\x92\xa3end"), "the end mark is not as it was"
    return good[:link]


def make_files(options):
    good = (options.work / "ops.ortl").read_bytes()
    (options.work / "empty.ortl").write_bytes(b"")
    (options.work / "newer.ortl").write_bytes(newer_version(good))
    (options.work / "growing.ortl").write_bytes(without_end(good))
    (options.work / "folder.ortl").mkdir()
    for name, (content, _) in FOREIGN.items():
        path = options.work / f"{name}.foreign"
        if content is None:
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("a", "b")
        else:
            path.write_bytes(content)


class Run:
    """One call: `arguments` with the file and an output that must not stay behind."""

    def __init__(self, options, arguments, file, **more):
        self.out = options.work / "out.tmp"
        self.out.unlink(missing_ok=True)
        words = {FILE: file, OUT: str(self.out)}
        self.result = cli.run(options, [words.get(a, a) for a in arguments], **more)
        self.code = self.result.returncode
        self.stderr = self.result.stderr.decode("utf-8", "replace")
        self.stdout = (self.result.stdout or b"").decode("utf-8", "replace")
        self.wrote = self.out.exists()

    def __str__(self):
        return f"exit code {self.code}, {self.stderr!r}, output {'there' if self.wrote else 'absent'}"


def is_refusal(run, pattern, code=1):
    """One sentence on standard error, nothing on standard output, no file."""
    return (run.code == code and not run.stdout and not run.wrote
            and re.fullmatch(r"ortscope: [^\n]+\n", run.stderr) and re.search(pattern, run.stderr))


def refused_files(options, checker, readers):
    bad = {"missing.ortl": 'Cannot open "missing.ortl": No such file or directory',
           "folder.ortl": 'Cannot open "folder.ortl": Is a directory',
           "empty.ortl": '"empty.ortl" is empty',
           "stump.ortl": '"stump.ortl" is too short',
           "newer.ortl": '"newer.ortl" has version 2 .* read it with a newer ortscope',
           "recording.etl": "event tracing .*`ortscope import` makes a timeline of it"}
    for name, (_, told) in FOREIGN.items():
        bad[f"{name}.foreign"] = f'"{name}.foreign" is not a timeline .*{told}'
    for what, arguments in dict(readers, serve=SERVE, top=TOP).items():
        for file, pattern in bad.items():
            run = Run(options, arguments, file)
            checker.true(f"{what} of {file}", is_refusal(run, pattern), run)
    del bad["newer.ortl"], bad["stump.ortl"], bad["recording.etl"]
    bad["ops.ortl"] = "it is a timeline of ortscope .*`ortscope summary` reads it"
    for file, pattern in bad.items():
        run = Run(options, IMPORT, file)
        pattern = pattern.replace("is not a timeline", "is no recording")
        checker.true(f"import of {file}", is_refusal(run, pattern.replace(" is empty", "")), run)
    # Nobody but root reads what nobody may read.
    (options.work / "secret.ortl").write_bytes(b"x")
    (options.work / "secret.ortl").chmod(0)
    if os.geteuid() != 0:
        for what, arguments in dict(readers, **{"import": IMPORT}).items():
            run = Run(options, arguments, "secret.ortl")
            checker.true(f"{what} of a forbidden file", is_refusal(run, "Permission denied"), run)


def damaged_files(options, checker, readers):
    """What can be read is shown, and that it is not all is said once."""
    for what, arguments in readers.items():
        for file, pattern in {"cut.ortl": "still being written, or was cut off",
                              "flipped.ortl": "is damaged",
                              "growing.ortl": "still being written, or its capture was cut off"}.items():
            if file == "flipped.ortl" and not what.startswith(("summary", "dump")):
                continue  # the others may not need the block that is damaged
            if file == "cut.ortl" and what == "timeline":
                continue  # its first run is not in there
            run = Run(options, arguments, file)
            # `export` says in the end where it wrote to
            lines = [line for line in run.stderr.splitlines() if "not whole" in line]
            checker.true(f"{what} of {file}", run.code == 0 and len(lines) == 1
                         and re.search(pattern, lines[0])
                         and (run.stdout or run.wrote or (file, what) == ("cut.ortl", "ops")), run)
    text = Run(options, ["summary", FILE], "growing.ortl").stdout
    checker.true("summary says so", " so far on " in text and "Not finished: " in text, text)


def growing_file(options, checker):
    """A file that grows between two looks, as a capture writes it: more each time, never a failure."""
    good = (options.work / "basic.ortl").read_bytes()
    path = options.work / "live.ortl"
    seen = []
    for part in range(1, 6):
        path.write_bytes(good[:len(good) * part // 5])
        run = Run(options, ["runs", "--csv", FILE], "live.ortl")
        seen.append(run.stdout.count("\n"))
        checker.true(f"part {part} of 5", run.code == 0 and bool(run.stderr) == (part < 5), run)
    checker.true("it grows", seen == sorted(set(seen)) and seen[-1] > 4000, seen)


def no_such_session(options, checker):
    for arguments in (["summary", "--session", "99", FILE], ["ops", "--session", "99", FILE],
                      ["runs", "--session", "99", FILE],
                      ["runs", "--outliers", "--session", "99", FILE],
                      ["export", FILE, "-f", "csv", "--session", "99", "-o", OUT]):
        run = Run(options, arguments, "ops.ortl")
        checker.true(" ".join(arguments), is_refusal(run, 'ops.ortl" has no session 99'), run)
    for arguments, pattern in ((["--run", "99"], "has no run 99"),
                               (["--run", "1", "--session", "9"], "has no run 1 of session 9")):
        run = Run(options, ["timeline", FILE] + arguments, "ops.ortl")
        checker.true(f"timeline {arguments}", is_refusal(run, pattern), run)


def writers(readers):
    return {what: a for what, a in readers.items() if OUT in a}


def limit_files(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def full_disks(options, checker, readers):
    """What was begun is removed, by whatever the disk is full."""
    for what, arguments in writers(readers).items():
        file = "recording.etl" if what == "import" else "basic.ortl"
        whole = Run(options, arguments, file)
        checker.true(f"{what} with room", whole.code == 0 and whole.wrote, whole)
        for size in (0, 300, whole.out.stat().st_size - 1):  # at the begin, and at the very end
            run = Run(options, arguments, file, preexec_fn=limit_files(size))
            checker.true(f"{what} with {size} bytes at most",
                         is_refusal(run, "Cannot write to .*: File too large"), run)
        device = [a if a != OUT else "/dev/full" for a in arguments]
        run = Run(options, device, file)
        checker.true(f"{what} to /dev/full", is_refusal(run, "No space left on device"), run)
        checker.true("/dev/full is still there", stat.S_ISCHR(os.stat("/dev/full").st_mode))
    run = Run(options, ["export", FILE, "-f", "csv", "--split-size", "2kB", "-o", "part.csv"],
              "basic.ortl", preexec_fn=limit_files(1500))
    left = list(options.work.glob("part*"))
    checker.true("export in parts", run.code == 1 and not left, (run, left))
    for what, arguments in readers.items():
        if OUT in arguments:
            continue
        with open("/dev/full", "wb") as full:
            run = Run(options, arguments, "ops.ortl", stdout=full)
        checker.true(f"{what} > /dev/full", is_refusal(run, "could not be written: No space"), run)


def small_disk(options, checker):
    """A real file system that is too small, where we may make one."""
    folder = options.work / "small"
    folder.mkdir()
    script = ('mount -t tmpfs -o size=16k none "$0" || exit 77; "$1" export basic.ortl -f chrome -o '
              '"$0/x.json"; code=$?; ls "$0"; exit $code')
    result = subprocess.run(["unshare", "-rm", "sh", "-c", script, folder, options.ortscope],
                            cwd=options.work, env=cli.environment(), capture_output=True, timeout=300)
    if result.returncode == 77 or b"unshare" in result.stderr:
        print("no small disk could be made here")
        return
    checker.true("a small disk", result.returncode == 1 and not result.stdout
                 and b"No space left on device" in result.stderr, result)


def places_to_write(options, checker, readers):
    for what, arguments in writers(readers).items():
        file = "recording.etl" if what == "import" else "ops.ortl"
        for place, reason in {"nowhere/x": "No such file or directory",
                              "ops.ortl/x": "Not a directory",
                              "folder.ortl": "Is a directory"}.items():
            run = Run(options, [a if a != OUT else place for a in arguments], file)
            checker.true(f"{what} into {place}",
                         is_refusal(run, f'Cannot create "{place}": {reason}'), run)
        if os.geteuid() != 0:
            locked = options.work / "locked"
            locked.mkdir(exist_ok=True)
            locked.chmod(0o555)
            run = Run(options, [a if a != OUT else "locked/x" for a in arguments], file)
            checker.true(f"{what} into a locked folder", is_refusal(run, "Permission denied"), run)


def output_is_input(options, checker, readers):
    """Under its own name and others; the input stays as it was."""
    for what, arguments in writers(readers).items():
        file = "recording.etl" if what == "import" else "ops.ortl"
        before = (options.work / file).read_bytes()
        (options.work / "by_link").unlink(missing_ok=True)
        (options.work / "by_name").unlink(missing_ok=True)
        (options.work / "by_link").symlink_to(file)
        os.link(options.work / file, options.work / "by_name")
        for name in (file, "./" + file, "by_link", "by_name"):
            run = Run(options, [a if a != OUT else name for a in arguments], file)
            checker.true(f"{what} over {name}", is_refusal(run, "over", code=2), run)
        checker.true(f"{what}: the input", (options.work / file).read_bytes() == before)


def closed_pipes(options, checker, readers):
    for what, arguments in dict(readers, help=["help"], bash=["completion", "bash"]).items():
        if OUT in arguments:
            continue
        read_end, write_end = os.pipe()
        os.close(read_end)
        run = Run(options, arguments, "ops.ortl", stdout=write_end)
        os.close(write_end)
        checker.true(f"{what} | nobody", run.code == 0 and not run.stderr, run)


def wrong_words(options, checker):
    for arguments, pattern in {
            ("sumary", "x"): r"no command \"sumary\" \(did you mean `ortscope summary`\?\)",
            ("opss",): "did you mean `ortscope ops`",
            ("runs", "--slwest", "5", "x"): r"no option --slwest \(did you mean --slowest\?\)",
            ("summary", "--colour", "never", "x"): r"did you mean --color\?",
            ("summary", "--halp"): r"did you mean --help\?",
            ("summary", "--color", "blue", "x"): "auto, always or never",
            ("export", "x", "--format", "chrme"): "did you mean chrome",
            ("dump", "x", "--kind", "runn"): "did you mean run",
            ("completion", "fish"): "bash and powershell",
            ("summary",): "missing",
            ("summary", "a", "b"): "too many"}.items():
        run = Run(options, list(arguments), "")
        checker.true(" ".join(arguments), is_refusal(run, pattern, code=2), run)


def all_readers(options, checker):
    """The table holds every command that reads a file."""
    there = cli.commands(options)
    reading = {name for name, usage in there.items() if re.search(r"\bFILE\b|\bOLD\b", usage)}
    known = {arguments[0] for arguments in READERS.values()} | {"import", "serve", "top"}
    checker.true("every command that reads a file is in the table", reading == known,
                 reading ^ known)
    return READERS


def main():
    options, checker = cli.begin(), cli.Checker()
    make_files(options)
    readers = all_readers(options, checker)
    refused_files(options, checker, readers)
    damaged_files(options, checker, readers)
    growing_file(options, checker)
    no_such_session(options, checker)
    with_import = dict(readers, **{"import": IMPORT})
    full_disks(options, checker, with_import)
    small_disk(options, checker)
    places_to_write(options, checker, with_import)
    output_is_input(options, checker, with_import)
    closed_pipes(options, checker, readers)
    wrong_words(options, checker)
    return checker.end()


sys.exit(main())
