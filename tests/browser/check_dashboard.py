#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The dashboard's page against a scripted server: its numbers, its controls, its states, its manners.
Arguments: the folder of the page, that of uPlot's files, words of test names."""
import json
import pathlib
import sys
import tempfile
import time

import browser
import checks
import scripted_server as scripted

HOSTILE = "<img src=x onerror=\"window.hacked=1\">\"'&<script>window.hacked=2</script>\u202e"
SETTLED = "!!(document.querySelector('#charts').dataset.time && document.querySelector('#ops tbody'))"


def value(us):
    """Microseconds as the page shows them: four significant digits."""
    for limit, scale, unit in ((1e6, 1e6, "s"), (1e3, 1e3, "ms"), (1, 1, "µs")):
        if us >= limit:
            whole = len(str(int(us / scale)))
            return f"{us / scale:.{max(0, 4 - whole)}f} {unit}"
    return f"{us * 1000:.0f} ns"


class Tests(checks.Tests):
    folders = []

    def server(self, **more):
        return scripted.Server(self.folders, **more)

    def open(self, server, width=1280, scheme="light"):
        page = self.browser.page(width=width, height=900, scheme=scheme)
        page.goto(server.url)
        page.wait_for(SETTLED)
        page.wait_for("!!document.querySelector('#panel-gpu code')")  # what is missing has its place
        return page

    def quiet(self, page, server):
        self.equal(page.errors, [], "errors")
        foreign = [r for r in page.requests + page.sockets
                   if not r.startswith((server.base + "/", server.base.replace("http", "ws") + "/"))]
        self.equal(foreign, [], "foreign requests")

    def wait_text(self, page, selector, text):
        page.wait_for(f"document.querySelector({json.dumps(selector)})?.innerText.includes({json.dumps(text)})")

    def until(self, page, condition):
        """Waits for something outside of the page."""
        end = time.monotonic() + browser.LIMIT
        while not condition():
            page.evaluate("0")
            self.ok(time.monotonic() < end, "waited in vain")

    def choose(self, page, selector, option):
        """As a person does: the select changes and says so."""
        page.evaluate(f"(() => {{ const s = document.querySelector({json.dumps(selector)}); "
                      f"s.value = {json.dumps(option)}; s.dispatchEvent(new Event('change')); }})()")

    # ------------------------------------------------------------------------------------- numbers

    def test_gauges_show_the_api_s_numbers(self):
        with self.server() as server:
            page = self.open(server)
            s = server.script.document["captures"][0]["sessions"][0]
            for which in ("p50", "p95", "p99"):
                self.wait_text(page, f"#gauge-{which}", value(s["window"]["latency_us"][which]))
            self.equal(page.text("#gauge-throughput"), "411 /s")
            self.equal(page.text("#gauge-failures"), "0")
            self.equal(page.text("#gauge-in_flight"), "1")
            s["window"]["latency_us"] = scripted.latency(31415.9)
            s["failed_runs"], s["in_flight"], s["window"]["throughput_per_s"] = 12, 7, 12345.6
            self.wait_text(page, "#gauge-p50", "31.42 ms")
            self.wait_text(page, "#gauge-failures", "12")
            self.equal(page.text("#gauge-throughput"), "12,346 /s")
            self.equal(page.text("#gauge-in_flight"), "7")
            self.quiet(page, server)

    def test_charts_have_their_numbers_in_text(self):
        with self.server() as server:
            page = self.open(server)
            self.wait_text(page, "#panel-cpu .number", "process 93 % of a core, machine 61 %")
            self.wait_text(page, "#panel-memory .number", "process 181.6 MB")
            self.wait_text(page, "#panel-arenas .number", "held 3.159 MB, in use 549.6 kB")
            self.wait_text(page, "#panel-latency .number", "latest 1.822 ms")
            self.wait_text(page, "#panel-latency .legend", "outliers")
            self.wait_text(page, "#panel-distribution .number", "most between 1.850 ms and 2.000 ms")
            self.wait_text(page, "#panel-throughput .number", "now 411 /s")
            # Those that are not told again stay.
            page.wait_for("performance.getEntriesByType('resource').filter((e) => e.name.includes('history')).length > 2")
            self.wait_text(page, "#panel-latency .legend", "outliers\n3")
            self.wait_text(page, "#panel-distribution .legend", "571")
            server.script.more_runs = 1000
            self.wait_text(page, "#panel-distribution .legend", "1,571")

    def test_a_missing_source_says_so_and_what_helps(self):
        with self.server() as server:
            page = self.open(server)
            for what in ("gpu", "npu", "power"):
                self.wait_text(page, f"#panel-{what} .missing", f"No counter of the {what.upper()} came.")
                self.equal(page.text(f"#panel-{what} .missing code"), "ortscope doctor")
            server.script.counters.append(scripted.counter("gpu_utilization", "device", 0, 50, None, "luid_0"))
            server.script.counters.append(scripted.counter("power", "machine", None, 15, None, "package"))
            server.script.document["captures"][0]["system"].update(
                gpus=[{"device": 0, "name": "luid_0", "utilization_percent": 50.0, "memory_bytes": 2e9,
                       "power_w": None, "temperature_c": 61.0}], power_w=15.25, energy_per_inference_j=0.037)
            self.wait_text(page, "#panel-gpu .number", "50 %, 2.000 GB, 61 °C")
            self.wait_text(page, "#panel-power .number", "15.3 W, 37.00 mJ an inference")
            self.wait_text(page, "#panel-power .legend", "package")

    # ------------------------------------------------------------------------------------ controls

    def test_pause_stands_still_and_resume_goes_on(self):
        with self.server() as server:
            page = self.open(server)
            page.click("#pause")
            self.equal(page.text("#pause"), "Resume")
            self.wait_text(page, "#state", "the capture of node.exe (pid 220) goes on")
            before = page.text("#gauge-p50")
            server.script.document["captures"][0]["sessions"][0]["window"]["latency_us"] = scripted.latency(9e6)
            seen = len(page.frames)
            self.until(page, lambda: len(page.frames) >= seen + 10)  # messages come, and nothing moves
            self.equal(page.text("#gauge-p50"), before)
            page.click("#pause")
            self.wait_text(page, "#gauge-p50", "9.000 s")
            self.equal(server.script.controls, [], "what others were made to feel")

    def test_rate_and_window_are_asked_for(self):
        with self.server() as server:
            page = self.open(server)
            self.equal(server.script.sockets[0]["hz"], "10")
            self.choose(page, "#rate", "30")
            self.until(page, lambda: {"hz": 30} in server.script.messages)
            self.choose(page, "#window", "10")
            page.wait_for("performance.getEntriesByType('resource').some((e) => e.name.includes('history') "
                          "&& e.name.includes('from=50.000'))")

    def test_a_session_can_be_chosen(self):
        script = scripted.Script()
        script.document["captures"][0]["sessions"].append(scripted.session(2, "rec.onnx", 15000.0))
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#gauges", "slowest: rec.onnx")
            self.equal(page.text("#gauge-throughput"), "617 /s")
            self.choose(page, "#session", "1")
            self.wait_text(page, "#gauge-p50", "1.822 ms")
            self.wait_text(page, "#gauge-throughput", "411 /s")
            page.wait_for("performance.getEntriesByType('resource').some((e) => e.name.includes('/ops?') "
                          "&& e.name.includes('session=1'))")

    def test_light_and_dark(self):
        with self.server() as server:
            page = self.open(server, scheme="dark")
            self.equal(page.attribute("html", "data-theme"), "dark")
            page.click("#theme")
            self.equal(page.attribute("html", "data-theme"), "light")
            page.goto(server.base + "/")  # and it is remembered, as is the token
            page.wait_for(SETTLED)
            self.equal(page.attribute("html", "data-theme"), "light")
            page.evaluate("localStorage.clear()")

    def test_export_asks_for_the_chosen_format(self):
        with self.server() as server:
            page = self.open(server)
            page.call("Page.setDownloadBehavior", behavior="deny")
            self.choose(page, "#format", "csv:ops")
            page.click("#export")
            self.until(page, lambda: server.script.exports)
            self.equal(server.script.exports[0]["format"], "csv")
            self.equal(server.script.exports[0]["table"], "ops")
            self.ok("format=ortl" in page.attribute("#file", "href"), "a link to the file")

    def test_mark_and_detach_ask_first(self):
        with self.server() as server:
            page = self.open(server)
            page.click("#mark")
            page.wait_for("document.querySelector('#ask').open")
            page.type("warm")
            page.press("Enter")
            self.until(page, lambda: server.script.controls)
            self.equal(server.script.controls[0], {"action": "mark", "capture": 1, "text": "warm"})
            page.click("#detach")
            page.wait_for("document.querySelector('#ask').open")
            page.press("Escape")
            page.wait_for("!document.querySelector('#ask').open")
            page.click("#detach")
            page.wait_for("document.querySelector('#ask').open")
            page.click("#ask-yes")
            self.until(page, lambda: len(server.script.controls) >= 2)
            self.equal(server.script.controls[1], {"action": "detach", "capture": 1})

    def test_a_replay_is_paused_sped_up_and_moved(self):
        script = scripted.Script()
        script.document["captures"][0].update(mode="replay", state="playing", duration_s=120.0, speed=1)
        with self.server(script=script) as server:
            page = self.open(server)
            page.click("#pause")
            self.choose(page, "#speed", "10")
            page.evaluate("(() => { const s = document.querySelector('#seek'); s.focus(); s.value = 30; "
                          "s.dispatchEvent(new Event('change')); })()")
            self.until(page, lambda: len(script.controls) >= 3)
            self.equal(sorted(c["action"] for c in script.controls), ["pause", "seek", "speed"])
            self.ok({"action": "seek", "capture": 1, "to_s": 30} in script.controls, script.controls)
            script.document["captures"][0]["state"] = "paused"
            self.wait_text(page, "#state", "The replay is paused.")
            self.equal(page.text("#pause"), "Resume")

    def test_a_read_only_page_offers_no_control(self):
        script = scripted.Script()
        script.document["control"] = False
        with self.server(script=script) as server:
            page = self.open(server)
            self.equal(page.evaluate("['mark', 'detach'].map((i) => document.getElementById(i).hidden)"), [True, True])

    def test_without_a_capture_processes_are_offered(self):
        script = scripted.Script()
        script.document["captures"] = []
        script.processes = [{"pid": 4242, "name": "node.exe", "ort_version": "1.20.1", "ort_module": "x",
                             "can_attach": True, "why_not": None, "attached_by_pid": None}]
        with self.server(script=script) as server:
            page = self.browser.page()
            page.goto(server.url)
            self.wait_text(page, "#processes", "4242")
            page.click("#processes button")
            self.until(page, lambda: script.controls)
            self.equal(script.controls[0], {"action": "attach", "pid": 4242})

    # -------------------------------------------------------------------------------------- states

    def test_the_banner_tells_of_losses_and_ends(self):
        with self.server() as server:
            page = self.open(server)
            capture = server.script.document["captures"][0]
            self.wait_text(page, "#state", "Attached and armed: recording node.exe (pid 220).")
            capture["lost_events"] = 1234
            self.wait_text(page, "#notes", "1,234 events dropped")
            self.equal(page.evaluate("document.querySelector('#summary').hidden"), True)
            capture["processes"][0].update(state="exited", exit_code=3)
            capture["state"] = "ended"
            self.wait_text(page, "#state", "node.exe (pid 220) has ended with code 3. The numbers are the last ones.")
            self.wait_text(page, "#summary", "1,234")
            s = capture["sessions"][0]
            self.equal(page.text("#sum-runs-1"), "500")
            want = ", ".join(value(s["total"]["latency_us"][p]) for p in ("p50", "p95", "p99"))
            self.equal(page.text("#sum-latency-1"), want)
            self.equal(page.text("#gauge-p50"), value(s["window"]["latency_us"]["p50"]))
            self.quiet(page, server)
        self.wait_text(page, "#notes", "ortscope has ended too")  # that is no failure
        self.wait_text(page, "#state", "The numbers are the last ones.")
        self.equal(page.text("#sum-runs-1"), "500")

    def test_a_server_that_comes_back_is_found(self):
        with self.server() as server:
            page = self.open(server)
            port, shown = server.port, page.text("#gauge-p50")
        for _ in range(3):
            self.wait_text(page, "#state", "does not answer")
            self.equal(page.text("#gauge-p50"), shown, "the last data")
            with self.server(port=port) as server:
                self.wait_text(page, "#state", "Attached and armed")

    def test_a_silent_connection_is_given_up_and_made_again(self):
        with self.server() as server:
            page = self.open(server)
            shown, before = page.text("#gauge-p50"), len(server.script.sockets)
            server.script.silent = True
            self.wait_text(page, "#state", "No message for 10 seconds; connecting again.")
            self.equal(page.text("#gauge-p50"), shown, "the last data")
            self.until(page, lambda: len(server.script.sockets) > before)
            server.script.silent = False
            self.wait_text(page, "#state", "Attached and armed")

    def test_a_recording_that_fails_is_told(self):
        with self.server() as server:
            page = self.open(server)
            capture = server.script.document["captures"][0]
            capture.update(state="ended", failure="Cannot write to \"x.ortl\": the disk is full.")
            capture["processes"][0]["state"] = "detached"
            self.wait_text(page, "#state", "Recording node.exe (pid 220) failed: Cannot write to \"x.ortl\": the "
                           "disk is full. The numbers are the last ones.")
            self.equal(page.attribute("#banner", "class"), "banner bad")
            self.wait_text(page, "#summary", "500")
            self.quiet(page, server)

    def test_another_token_can_be_given(self):
        with self.server() as server:
            page = self.open(server)
            port = server.port
        with self.server(port=port, token="other"):
            self.wait_text(page, "#state", "The token is wrong.")
            page.click("#token")
            page.type("other")
            page.press("Enter")
            self.wait_text(page, "#state", "Attached and armed")
            self.equal(page.evaluate("document.querySelector('#token-form').hidden"), True)

    def test_the_token_does_not_stay_in_the_address(self):
        with self.server() as server:
            page = self.open(server)
            self.equal(page.evaluate("location.href"), server.base + "/")

    # --------------------------------------------------------------------------------- the timeline

    def view(self, page):
        """Begin and end of what the timeline shows, once the last input is drawn."""
        return [float(x) for x in page.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => "
            "done(document.querySelector('#timeline').dataset.view))))").split()]

    def test_zoom_and_pan(self):
        with self.server() as server:
            page = self.open(server)
            whole = self.view(page)

            def zoomed():  # what is above may still grow and move it
                left, top, width, height = page.box("#timeline")
                page.wheel(left + width / 2, top + height / 2, -300)
                return self.view(page) != whole
            self.until(page, zoomed)
            near = self.view(page)
            left, top, width, height = page.box("#timeline")
            self.ok(near[0] > 0 and near[1] < whole[1], near)
            page.drag(left + width / 2, top + 60, left + width / 2 - 200, top + 60)
            moved = self.view(page)
            self.ok(moved[0] > near[0], moved)
            self.ok(abs((moved[1] - moved[0]) - (near[1] - near[0])) < 1, "the same length")
            page.evaluate("document.querySelector('#timeline').focus()")
            page.press("ArrowLeft")
            back = self.view(page)
            self.ok(back[0] < moved[0], back)
            page.press("+")
            closer = self.view(page)
            self.ok(closer[1] - closer[0] < back[1] - back[0], closer)
            page.press("0")
            self.equal(self.view(page), whole)
            page.click("#zoom-in")
            halved = self.view(page)
            page.click("#zoom-fit")
            self.equal(self.view(page), whole)
            self.quiet(page, server)

    def test_an_operator_is_told_on_hover_and_by_keyboard(self):
        with self.server() as server:
            page = self.open(server)
            def hover():  # what is above may still grow and move it
                left, top, width, _ = page.box("#timeline")
                page.mouse("mouseMoved", left + width / 2, top + 55)
                return not page.evaluate("document.querySelector('#tip').hidden")
            self.until(page, hover)
            self.ok("thread 296" in page.text("#tip"), page.text("#tip"))
            page.mouse("mouseMoved", 2, 2)
            page.wait_for("document.querySelector('#tip').hidden")
            page.evaluate("document.querySelector('#timeline').focus()")
            first = page.evaluate("(document.querySelector('#timeline').dispatchEvent(new KeyboardEvent('keydown', "
                                  "{key: 'n'})), document.querySelector('#timeline-details').innerText)")
            second = page.evaluate("(document.querySelector('#timeline').dispatchEvent(new KeyboardEvent('keydown', "
                                   "{key: 'n'})), document.querySelector('#timeline-details').innerText)")
            self.ok("/features/" in first and "/features/" in second and first != second, [first, second])

    def test_filters_leave_only_what_they_name(self):
        with self.server() as server:
            page = self.open(server)
            self.choose(page, "#type", "MatMul")
            page.evaluate("document.querySelector('#timeline').focus()")
            for _ in range(5):
                told = page.evaluate("(document.querySelector('#timeline').dispatchEvent(new KeyboardEvent("
                                     "'keydown', {key: 'n'})), document.querySelector('#timeline-details').innerText)")
                self.ok(told.startswith("MatMul"), told)
            self.choose(page, "#type", "")
            self.choose(page, "#provider", "CUDA")
            told = page.evaluate("(document.querySelector('#timeline').dispatchEvent(new KeyboardEvent("
                                 "'keydown', {key: 'n'})), document.querySelector('#timeline-details').innerText)")
            self.ok("CUDA" in told, told)
            self.ok("provider change" in page.text("#timeline-number"), page.text("#timeline-number"))

    def test_an_inference_can_be_chosen(self):
        with self.server() as server:
            page = self.open(server)
            self.wait_text(page, "#timeline-number", "run 500 of session 1")
            page.click("#run-before")
            self.wait_text(page, "#timeline-number", "run 499 of session 1")
            self.equal(page.attribute("#run-latest", "aria-pressed"), "false")
            page.evaluate("(() => { const i = document.querySelector('#run'); i.value = 42; "
                          "i.dispatchEvent(new Event('change')); })()")
            self.wait_text(page, "#timeline-number", "run 42 of session 1")
            page.click("#run-latest")
            self.wait_text(page, "#timeline-number", "run 500 of session 1")
            page.click(".outliers button")
            self.wait_text(page, "#timeline-number", "run 441 of session 1")

    def test_ten_thousand_operators_are_as_many_bars_as_there_are_pixels(self):
        script = scripted.Script()
        script.timeline = lambda query: scripted.timeline(10000)
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#timeline-number", "10,000 operators")
            bars = page.evaluate("""(async () => {
                const {buildModel, visibleBars} = await import('/op_model.js');
                const {operatorsOf} = await import('/op_panel.js');
                const answer = await (await fetch('/api/v1/timeline', {headers: {Authorization: 'Bearer secret'}})).json();
                const model = buildModel(operatorsOf(answer)), row = model.rows[0];
                const count = (from, to) => { let n = 0; visibleBars(row, from, to, 1200, () => true, () => n++); return n; };
                return [count(0, model.end_ns), count(0, model.end_ns / 100), row.ops.length];
            })()""")
            self.ok(bars[0] <= 1200, f"{bars[0]} bars on 1200 pixels")
            self.ok(90 <= bars[1] <= 120, f"{bars[1]} bars in a hundredth")
            self.equal(bars[2], 10000)
            print("  one drawing of 10,000 operators took",
                  page.evaluate("document.querySelector('#timeline').dataset.drawMs"), "ms")

    # ------------------------------------------------------------------------------------- manners

    def test_hostile_names_are_inert(self):
        script = scripted.Script()
        capture = script.document["captures"][0]
        capture["file"] = capture["processes"][0]["program"] = capture["sessions"][0]["model"] = HOSTILE
        script.ops = scripted.operators([HOSTILE] * 3)
        script.timeline = lambda query: scripted.timeline(20, 500, [HOSTILE, HOSTILE + "2"])
        script.missing[0].update(why=HOSTILE, command=HOSTILE)
        script.counters.append(scripted.counter("npu_utilization", "device", 0, 50, None, HOSTILE))
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#ops", "onerror=")
            self.wait_text(page, "#panel-gpu .missing", "onerror=")
            self.wait_text(page, "#panel-npu .legend", "onerror=")
            self.wait_text(page, "#types", "onerror=")
            self.equal(page.evaluate("window.hacked"), None)
            self.equal(page.count("img"), 1, "images on the page")
            self.quiet(page, server)

    def test_nothing_is_wider_than_the_window(self):
        script = scripted.Script()
        script.document["captures"][0]["processes"][0]["program"] = "C:\\" + "very_long_name" * 12 + ".exe"
        script.document["captures"][0]["sessions"] += [
            scripted.session(2, "a" * 120 + ".onnx", 15000.0), scripted.session(3, "b.onnx", 2.0)]
        for width in (1280, 860, 400, 360):
            with self.server(script=script) as server:
                page = self.open(server, width=width)
                self.equal(page.sideways(), 0, f"at {width} pixels")
                script.document["captures"][0]["state"] = "ended"
                page.wait_for("!document.querySelector('#summary').hidden")
                self.equal(page.sideways(), 0, f"at {width} pixels, ended")
                script.document["captures"][0]["state"] = "recording"

    def test_everything_is_reached_by_keyboard(self):
        with self.server() as server:
            page = self.open(server)
            wanted = set(page.evaluate(
                "[...document.querySelectorAll('button, select, input, canvas[tabindex], a[href]')].filter((e) => "
                "e.offsetParent && !e.disabled).map((e) => e.tagName.toLowerCase() + (e.id ? '#' + e.id : ''))"))
            reached = set()
            for _ in range(len(wanted) + 12):
                page.press("Tab")
                reached.add(page.focused())
            self.equal(wanted - reached, set(), "not reached")

    def test_text_can_be_told_from_its_ground(self):
        contrast = """(() => {
            const css = (n) => getComputedStyle(document.documentElement).getPropertyValue(n).trim();
            const light = (hex) => { const c = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
                .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
            const ratio = (a, b) => { const [x, y] = [light(css(a)), light(css(b))].sort((m, n) => n - m);
                return (x + 0.05) / (y + 0.05); };
            const pairs = [['--text', '--page'], ['--text', '--card'], ['--muted', '--card'], ['--muted', '--page'],
                ['--bad', '--card'], ['--accent', '--accent-soft'], ['--accent', '--page'], ['--muted', '--good-soft'],
                ['--muted', '--warn-soft'], ['--muted', '--bad-soft'], ['--bad', '--good-soft']];
            return pairs.map(([a, b]) => [a, b, ratio(a, b)]).filter((p) => p[2] < 4.5);
        })()"""
        with self.server() as server:
            for scheme in ("light", "dark"):
                page = self.open(server, scheme=scheme)
                self.equal(page.evaluate(contrast), [], f"too little contrast, {scheme}")


if __name__ == "__main__":
    Tests.folders = [pathlib.Path(a) for a in sys.argv[1:3]]
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(checks.run(Tests, folder, sys.argv[3:]))
