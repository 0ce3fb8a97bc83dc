#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The dashboard as it is: `ortscope serve` of the gold timelines, its own page in a browser. Arguments:
ortscope, gold_maker, a folder to work in, words of test names."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

import browser
import checks
from dashboard_page import HOSTILE, SETTLED, value

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))
import certificates  # noqa: E402
import client as live  # noqa: E402
from ports import free_port  # noqa: E402


class Served:
    """An ortscope that serves a file; its addresses are in `client`."""

    def __init__(self, ortscope, file, log, *options, authority=None, environment=None):
        """environment: it may open a browser, and has these variables for it."""
        with open(log, "wb") as out:
            self.process = subprocess.Popen([ortscope, "serve", *([] if environment else ["--no-open"]),
                                             *options, file], stdout=out, stderr=out,
                                            stdin=subprocess.DEVNULL,
                                            env=dict(os.environ, **(environment or {})))
        end = time.monotonic() + browser.LIMIT
        while not live.address_of(pathlib.Path(log).read_text()):
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError("no address: " + pathlib.Path(log).read_text())
            time.sleep(.05)
        self.client = live.Client(pathlib.Path(log).read_text(), authority=authority)
        self.base = f"{self.client.scheme}://{self.client.name}"
        self.url = f"{self.base}/?token={self.client.control_token}"

    def capture(self):
        return self.client.json("/api/v1/metrics/current")["captures"][0]

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(browser.LIMIT)


class Tests(checks.Tests):
    ortscope = maker = ""

    def prepare(self):
        subprocess.run([self.maker], cwd=self.folder, check=True)

    @contextlib.contextmanager
    def served(self, name, *options, **more):
        served = Served(self.ortscope, str(self.folder / name), self.folder / "serve.log", *options, **more)
        try:
            yield served
            self.server_ends()
        finally:
            served.stop()

    def open(self, served, **more):
        page = self.browser.page(**more)
        page.goto(served.url)
        page.wait_for(SETTLED)
        return page

    def until(self, page, condition, what):
        end = time.monotonic() + browser.LIMIT
        while not condition():
            page.evaluate("0")
            self.ok(time.monotonic() < end, f"waited in vain for {what}")

    def quiet(self, page, served):
        self.equal(page.unexpected(), [], "errors")
        foreign = [r for r in page.requests + page.sockets
                   if not r.startswith((served.base + "/", served.base.replace("http", "ws") + "/"))]
        self.equal(foreign, [], "foreign requests")

    def test_numbers_are_those_of_the_api_and_the_summary(self):
        for name in ("ops.ortl", "basic.ortl", "counters.ortl"):
            with self.served(name, "--speed", "max") as served:
                page = self.open(served)
                page.wait_for("!document.querySelector('#summary').hidden")
                capture = served.capture()
                answer = subprocess.run([self.ortscope, "summary", "--json", str(self.folder / name)],
                                        capture_output=True, check=True)
                file = {s["id"]: s for s in json.loads(answer.stdout)["sessions"]}
                for s in capture["sessions"]:
                    shown = page.text(f"#sum-runs-{s['session']}").split(", ")[0]
                    self.equal(int(shown.replace(",", "")), s["runs"], "runs")
                    if s["session"] in file:  # those whose creation failed are told elsewhere there
                        self.equal(s["runs"], file[s["session"]]["runs"], "runs in the summary")
                    total = s["total"]["latency_us"]
                    if total:
                        self.equal(page.text(f"#sum-latency-{s['session']}"),
                                   ", ".join(value(total[p]) for p in ("p50", "p95", "p99")))
                if len(capture["sessions"]) == 1 and capture["sessions"][0]["window"]["latency_us"]:
                    for which in ("p50", "p95", "p99"):
                        self.equal(page.text(f"#gauge-{which}"),
                                   value(capture["sessions"][0]["window"]["latency_us"][which]))
                self.equal(page.text("#gauge-failures"), str(sum(s["failed_runs"] for s in capture["sessions"])))
                self.quiet(page, served)

    def test_operators_are_those_of_the_api(self):
        with self.served("ops.ortl", "--speed", "max") as served:
            page = self.open(served)
            page.wait_for("document.querySelector('#timeline-number').innerText.includes('operators')")
            answer = served.client.json("/api/v1/timeline")
            self.ok(f"{len(answer['ops']['kernel'])} operators" in page.text("#timeline-number"),
                    page.text("#timeline-number"))
            ops = served.client.json("/api/v1/ops?by=type&limit=30")
            page.wait_for(f"document.querySelectorAll('#ops tbody tr').length === {len(ops['ops'])}")
            self.ok(page.texts("#ops tbody tr")[0].strip().startswith(ops["ops"][0]["op_type"]), page.texts("#ops tbody tr")[0])

    def test_what_an_operator_reads_and_feeds(self):
        with self.served("edges.ortl", "--speed", "max") as served:
            page = self.open(served)
            page.evaluate("(() => { const s = document.querySelector('#session'); s.value = '1'; "
                          "s.dispatchEvent(new Event('change')); })()")
            page.wait_for("document.querySelector('#timeline-number').innerText.includes('of session 1 · 7 operators')")
            page.evaluate("document.querySelector('#timeline').focus()")
            told = []
            for _ in "ABCDEFG":
                page.press("n")
                told.append(page.text("#timeline-details").split(" · ")[4:])
            self.equal(told, [["reads inputs and constants only", "feeds B, C"], ["reads A", "feeds D"], ["reads A", "feeds D"],
                              ["reads B, C", "feeds E, F"], ["reads D"], ["reads D"], []])
            self.quiet(page, served)

    def test_over_tls_by_the_file_that_is_opened(self):
        made = certificates.Certificates(str(self.folder / "certificates"))
        programs, told = self.folder / "programs", self.folder / "opened"
        programs.mkdir(exist_ok=True)
        told.unlink(missing_ok=True)
        (programs / "xdg-open").write_text(f"#!/bin/sh\necho \"$1\" > '{told}.new'; mv '{told}.new' '{told}'\n")
        (programs / "xdg-open").chmod(0o755)
        environment = {"PATH": f"{programs}:{os.environ['PATH']}", "DISPLAY": ":77", "HOME": str(self.folder)}
        with self.served("ops.ortl", "--speed", "max", *made.options("ec"), authority=made["ec.pem"],
                         environment=environment) as served:
            page = self.browser.page()
            page.call("Security.setIgnoreCertificateErrors", ignore=True)
            self.until(page, told.exists, "the start of the browser")
            page.goto(told.read_text().strip())
            page.wait_for(f"location.href === {json.dumps(served.base + '/')}")
            page.wait_for(SETTLED)
            page.wait_for("document.querySelector('#timeline-number').innerText.includes('operators')")
            self.equal([s.split("?")[0] for s in page.sockets], [f"wss://{served.client.name}/ws/metrics"])
            self.equal(page.errors, [], "errors")

    def test_devices_and_power_are_shown(self):
        with self.served("counters.ortl", "--speed", "max") as served:
            page = self.open(served)
            page.wait_for("!document.querySelector('#panel-gpu .plot').closest('[hidden]')")
            page.wait_for("!document.querySelector('#panel-power .plot').closest('[hidden]')")
            page.wait_for("!document.querySelector('#panel-npu .plot').closest('[hidden]')")

    def test_a_replay_obeys(self):
        with self.served("basic.ortl", "--speed", "0.1") as served:
            page = self.open(served)
            page.click("#pause")
            self.until(page, lambda: served.capture()["state"] == "paused", "the pause")
            page.wait_for("document.querySelector('#pause').innerText === 'Resume'")
            page.click("#pause")
            self.until(page, lambda: served.capture()["state"] == "playing", "the replay")
            page.evaluate("(() => { const s = document.querySelector('#seek'); s.value = 6; "
                          "s.dispatchEvent(new Event('change')); })()")
            self.until(page, lambda: served.capture()["time_s"] >= 6, "the other moment")
            page.evaluate("(() => { const s = document.querySelector('#speed'); s.value = '100'; "
                          "s.dispatchEvent(new Event('change')); })()")
            self.until(page, lambda: served.capture()["state"] == "ended", "the end")
            page.wait_for("document.querySelector('#state').innerText.includes('has ended')")
            self.quiet(page, served)

    def test_the_file_can_be_had(self):
        with self.served("ops.ortl", "--speed", "max") as served:
            page = self.open(served)
            size = page.evaluate("fetch(document.querySelector('#file').href).then((a) => a.arrayBuffer())"
                                 ".then((b) => b.byteLength)")
            self.equal(size, os.path.getsize(self.folder / "ops.ortl"))

    def test_the_end_is_shown_whole(self):
        """Tables, summary and gauges are those of the same moment, however suddenly it ends."""
        with self.served("basic.ortl", "--speed", "0.5") as served:
            page = self.open(served)
            page.evaluate("window.asked = performance.getEntriesByType('resource').length")
            # Right after the tables came: the next ones would be asked for in a second.
            page.wait_for("performance.getEntriesByType('resource').length > window.asked")
            self.server_ends()
            served.process.terminate()
            page.wait_for("document.querySelector('#state').innerText.includes('has ended; this is')")
            in_all = page.text("#gauges").split(" runs in all")[0].split("; ")[-1]
            table = sum(int(row.split("\t")[1].replace(",", "")) for row in page.texts("#sessions tbody tr"))
            self.equal(table, int(in_all.replace(",", "")), "runs")
            self.ok(table > 0, "some were replayed")
            self.equal(page.evaluate("document.querySelector('#export').disabled"), True)

    def test_a_restarted_ortscope_is_found_with_its_new_token(self):
        port = str(free_port())  # not the usual one, which another test may take meanwhile
        with self.served("ops.ortl", "--speed", "max", "--port", port) as served:
            page = self.open(served)
        with self.served("ops.ortl", "--speed", "max", "--port", port) as served:
            page.wait_for("!document.querySelector('#token-form').hidden")
            page.click("#token")
            page.type(served.client.control_token)
            page.press("Enter")
            page.wait_for("document.querySelector('#token-form').hidden && "
                          "document.querySelector('#state').innerText.includes('has ended')")

    def test_hostile_names_are_inert(self):
        self.ok(HOSTILE, "see check_dashboard.py for names made for a page")
        for name in ("hostile.ortl", "odd_ops.ortl", "odd_memory.ortl", "odd.ortl"):
            with self.served(name, "--speed", "max") as served:
                page = self.open(served, width=400)
                page.wait_for("!document.querySelector('#summary').hidden")
                self.equal(page.sideways(), 0, name)
                self.quiet(page, served)


if __name__ == "__main__":
    Tests.ortscope, Tests.maker = (str(pathlib.Path(a).resolve()) for a in sys.argv[1:3])
    work = pathlib.Path(sys.argv[3])
    work.mkdir(parents=True, exist_ok=True)
    sys.exit(checks.run(Tests, work.resolve(), sys.argv[4:]))
