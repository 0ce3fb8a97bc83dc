# SPDX-License-Identifier: MIT
"""What the end-to-end tests share: where things are, running Windows programs, leaving nothing
behind, and saying what was checked.

A test is a function that takes a Checker; run_tests() runs those that match the command line's
words, prints a line per check, and ends with 0, 1 or 77 (what is needed is not there).
Paths given to Windows programs are relative to the root of the repository, where they run.
"""
import atexit
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import ortl

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build")
BIN = os.path.relpath(os.environ.get("ORTSCOPE_BIN", BUILD + "/windows/bin"), ROOT)
ORTSCOPE = BIN + "/ortscope.exe"
DRIVER = BIN + "/ort_driver.exe"
NODE = "build/targets/node/node.exe"
CLASSIFY = "tests/integration/programs/classify.js"
PICTURE_MODELS = "build/targets/models"
VERSIONS = ["1.15.0", "1.17.0", "1.20.1", "1.23.2", "1.30.0"]
NEWEST = VERSIONS[-1]
SKIPPED = 77
TIMEOUT = 300  # seconds for any one program; never decides a test but for hanging
FOREVER = 3600  # seconds that a program goes on which is told to stop

_running = []


# ------------------------------------------------------------------------------------- processes


class Program:
    """A Windows program under scripts/wine, in a process group of its own, with its output in
    files (a pipe would stay open as long as any Wine process holds it)."""

    def __init__(self, folder, name, arguments, stdin=None):
        self.arguments = [str(a) for a in arguments]
        self.out_path = os.path.join(ROOT, folder, name + ".out")
        self.err_path = os.path.join(ROOT, folder, name + ".err")
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(
                [os.path.join(ROOT, "scripts/wine")] + self.arguments, cwd=ROOT,
                stdin=stdin or subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
                env=dict(os.environ, COLUMNS="1000"))  # no sentence is broken into lines
        _running.append(self)

    def wait(self, timeout=TIMEOUT):
        """Exit code (low 8 bits), or None if it had to be killed."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            code = None
        if self in _running:
            _running.remove(self)
        return code

    def poll(self):
        return self.process.poll()

    def kill(self):
        """Ends the script and whatever it started. For cleaning up, not for testing."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
        if self in _running:
            _running.remove(self)

    def interrupt(self):
        """Ctrl+C, as scripts/wine passes it on."""
        self.process.send_signal(signal.SIGINT)

    @property
    def out(self):
        return _read_text(self.out_path)

    @property
    def err(self):
        return _read_text(self.err_path)


def _read_text(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().replace("\r\n", "\n")


def run(folder, name, arguments, timeout=TIMEOUT):
    for _ in range(3):
        program = Program(folder, name, arguments)
        program.code = program.wait(timeout)
        if not _wine_failed(program):
            break
        print("         Wine did not start %s; once more" % name, flush=True)
    return program


def _wine_failed(program):
    """Wine 8 ends a program in some thousands in its first moments, without a word: who started it gets
    error 1359. Our reading commands never fail without a word, and those that record leave a file then."""
    if program.code == 1 and "(Windows error 1359)" in program.err:
        return True
    words = program.arguments
    if program.code != 1 or words[0] != ORTSCOPE or program.out or program.err:
        return False
    if words[1:2] not in (["run"], ["attach"]):
        return True
    return "-o" in words and not os.path.exists(os.path.join(ROOT, words[words.index("-o") + 1]))


def ortscope(folder, name, *arguments, timeout=TIMEOUT):
    return run(folder, name, [ORTSCOPE] + list(arguments), timeout)


def wine_prefix():
    return os.environ.get("ORTSCOPE_WINEPREFIX", os.path.join(BUILD, "wineprefix"))


def linux_pids(executable, word):
    """Linux PIDs of Windows programs by file name that have `word` in their command line. Only those
    of our prefix: another copy of the repository may run the same test at the same time."""
    found = []
    prefix = b"WINEPREFIX=" + os.fsencode(wine_prefix())
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/cmdline" % entry, "rb") as file:
                parts = file.read().decode("utf-8", "replace").split("\0")
            with open("/proc/%s/environ" % entry, "rb") as file:
                ours = prefix in file.read().split(b"\0")
        except OSError:
            continue
        first = parts[0].replace("\\", "/").rsplit("/", 1)[-1].lower()
        if ours and first == executable.lower() and any(word in part for part in parts[1:]):
            found.append(int(entry))
    return found


def wait_until(condition, what, timeout=TIMEOUT, program=None):
    """The condition's value once it is true. Fails when it never becomes true, or when `program`
    ends first."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if program is not None and program.poll() is not None:
            value = condition()
            if value:
                return value
            raise Failure("%s: the program ended with %s first; %s"
                          % (what, program.poll(), program.err[-600:]))
        if time.monotonic() > end:
            raise Failure("%s: nothing within %d s" % (what, timeout))
        time.sleep(0.02)


def _end_everything():
    for program in list(_running):
        program.kill()
    if _session is not None:
        # The last to leave stops the Wine server: be it, unless another test still runs.
        _session.close()
        subprocess.run([os.path.join(ROOT, "scripts/wine"), "cmd", "/c", "exit"], cwd=ROOT,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=TIMEOUT, check=False)


_session = None


def _hold_wine():
    """Keeps the Wine server for the whole test: starting it for each program takes a second."""
    global _session
    _session = open(wine_prefix() + ".users", "a")
    fcntl.flock(_session, fcntl.LOCK_SH)
    atexit.register(_end_everything)


# --------------------------------------------------------------------------------- the programs


def dll(version):
    return "build/targets/ort-%s/onnxruntime.dll" % version


def driver_arguments(version, *more):
    arguments = [DRIVER, "--models", "build/integration/models"]
    if version:
        arguments += ["--dll", dll(version)]
    return arguments + [str(m) for m in more]


def node_arguments(version, *more):
    return [NODE, CLASSIFY, "--ort", "build/targets/ort-" + version, "--models",
            PICTURE_MODELS] + [str(m) for m in more]


def report_of(text):
    """The JSON documents in a program's output; a driver's report spans several lines."""
    decoder, documents, at = json.JSONDecoder(), [], text.find("{")
    while at >= 0:
        document, at = decoder.raw_decode(text, at)
        documents.append(document)
        at = text.find("{", at)
    return documents


def touch(path):
    with open(os.path.join(ROOT, path), "w"):
        pass


def read_pid(path, program):
    full = os.path.join(ROOT, path)
    wait_until(lambda: os.path.exists(full), "waiting for " + path, program=program)
    with open(full) as file:
        return int(file.read())


def attach(folder, name, pid, trace, *more):
    """Starts `ortscope attach` and returns once it says that it is armed."""
    program = Program(folder, name, [ORTSCOPE, "attach", pid, "-o", trace] + list(more))
    wait_until(lambda: "armed process %d" % pid in program.err, "attach to %d" % pid,
               program=program)
    return program


# ------------------------------------------------------------------------------ reading results


def load(trace):
    return ortl.load(os.path.join(ROOT, trace))


def reader_command():
    """The native ortscope where it was built, else the Windows one."""
    native = os.path.join(BUILD, "linux/bin/ortscope")
    return [native] if os.path.exists(native) else [os.path.join(ROOT, "scripts/wine"), ORTSCOPE]


def ask(command, trace, *more):
    """What a reading command says, as JSON."""
    done = subprocess.run(reader_command() + [command, "--json", trace, *more], cwd=ROOT,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=TIMEOUT, check=False)
    if done.returncode != 0:
        raise Failure("%s of %s failed with %d: %s" % (
            command, trace, done.returncode, done.stderr.decode("utf-8", "replace")))
    return json.loads(done.stdout.decode("utf-8"))


def summary(trace):
    return ask("summary", trace)


def dump(trace):
    return ask("dump", trace)["rows"]


def lost(timeline):
    return sum(row["events"] for row in timeline.rows("lost"))


def check_shapes_told_once(checker, timeline):
    members = {}
    for row in timeline.rows("tensor"):
        members.setdefault(row["shape"], []).append(
            (row["index"], row["name"], row["onnx_type"], row["element_type"], row["dims"]))
    sets = [(row["session"], row["direction"], tuple(sorted(members.get(row["shape"], []))))
            for row in timeline.rows("shape") if row["session"]]  # not the kernels' own
    twice = {s for s in sets if sets.count(s) > 1}
    checker.equal("each set of shapes is told once", list(twice)[:3], [])


def check_intercepted(checker, timeline):
    wrong = [(m["hooked"], m["refused"]) for m in timeline.rows("module")
             if m["hooked"] < 40 or m["refused"]]
    told = [row["message"] for row in timeline.rows("log") if "intercepted" in row["message"]]
    checker.equal("every function was intercepted", (wrong, told), ([], []))


# --------------------------------------------------------------------------------------- checks


class Failure(Exception):
    pass


class Checker:
    quiet = False  # say only what fails

    def __init__(self, name, folder):
        self.name = name
        self.folder = folder
        self.failures = 0
        self.failed = []  # what they were
        self.checks = 0

    def true(self, what, condition, detail=""):
        self.checks += 1
        if not condition:
            self.failures += 1
            self.failed.append("%s: %s%s" % (self.name, what, ": " + _cut(detail) if detail else ""))
        if not condition or not self.quiet:
            print("    %s %s%s" % ("ok  " if condition else "FAIL", what,
                                   "" if condition or not detail else ": " + str(detail)), flush=True)
        return bool(condition)

    def equal(self, what, actual, expected):
        return self.true(what, actual == expected,
                         "got %s, expected %s" % (_short(actual), _short(expected)))


def _cut(value, most=600):
    text = str(value)
    return text if len(text) <= most else text[:most] + "..."


def _short(value):
    return _cut(repr(value))


def _leftovers(word):
    names = ("ort_driver.exe", "node.exe", "ortscope.exe", "odd_runs.exe", "odd_thread_ends.exe",
             "odd_image.exe", "odd_rehook.exe", "odd_last_thread.exe", "odd_spawns.exe",
             "odd_binding.exe", "odd_compile.exe", "odd_custom_op.exe", "odd_guarded.exe", "odd_memory.exe", "load_log.exe",
             "model_runner.exe", "alloc_runner.exe", "sim_etw.exe",
             "etw_recorder.exe", "qnn_teller.exe", "guarded_spawn.exe", "etw_behaviour.exe", "etw_limits.exe", "etw_storm.exe")
    return [(name, pid) for name in names for pid in linux_pids(name, word)]


def _check_nothing_left(checker):
    # A process that was ended may take a moment to go.
    end = time.monotonic() + 60
    while _leftovers(checker.folder) and time.monotonic() < end:
        time.sleep(0.05)
    left = _leftovers(checker.folder)
    for _, pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    checker.equal("no process is left behind", left, [])


def _run_one(topic, test):
    folder = "build/integration/%s/%s" % (topic, test.__name__)
    shutil.rmtree(os.path.join(ROOT, folder), ignore_errors=True)
    os.makedirs(os.path.join(ROOT, folder))
    checker = Checker(test.__name__, folder)
    start = time.monotonic()
    print("%s: %s" % (test.__name__, (test.__doc__ or "").strip().split("\n")[0]), flush=True)
    try:
        test(checker)
    except Failure as failure:
        checker.true(str(failure), False)
    except Exception as error:  # a broken test must not hide the others
        import traceback
        traceback.print_exc(file=sys.stdout)
        checker.true("the test itself: %r" % error, False)
    for program in list(_running):
        checker.true("a program had to be ended: " + " ".join(program.arguments)[:200], False)
        program.kill()
    _check_nothing_left(checker)
    print("    %.1f s" % (time.monotonic() - start), flush=True)
    return checker


def missing():
    """What the tests need and is not there, as a sentence, or None."""
    needed = [ORTSCOPE, BIN + "/ortscope_hook.dll", DRIVER, NODE] + [dll(v) for v in VERSIONS]
    needed += [PICTURE_MODELS + "/cls.onnx"]
    absent = [path for path in needed if not os.path.exists(os.path.join(ROOT, path))]
    if not absent:
        return None
    return "%s is not there: scripts/build makes the programs, scripts/targets fetches the rest" % (
        ", ".join(absent))


def run_tests(topic, tests):
    absent = missing()
    if absent:
        print("skipped: " + absent)
        sys.exit(SKIPPED)
    words = sys.argv[1:]
    _hold_wine()
    subprocess.run([sys.executable, os.path.join(ROOT, "tests/integration/programs/make_models.py"),
                    os.path.join(BUILD, "integration/models")], check=True)
    checkers = [_run_one(topic, test) for test in tests
                if not words or any(word in test.__name__ for word in words)]
    failed = [c.name for c in checkers if c.failures]
    print("%s: %d tests, %d checks, %d failed" % (topic, len(checkers),
                                                  sum(c.checks for c in checkers),
                                                  sum(c.failures for c in checkers)))
    # Once more, where output that was cut still has it.
    for text in [text for c in checkers for text in c.failed][:20]:
        print("    FAIL " + _cut(text, 300))
    if failed:
        print("failed: " + ", ".join(failed))
    sys.exit(1 if failed or not checkers else 0)
