# SPDX-License-Identifier: MIT
"""What the dashboard's controls do."""
import dashboard_page
import scripted_server as scripted
from dashboard_page import SETTLED, value


class Controls(dashboard_page.Tests):
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
            page.press(" ")  # on the button itself
            self.wait_text(page, "#gauge-p50", "9.000 s")
            page.evaluate("document.activeElement.blur()")
            page.press(" ")  # anywhere
            self.wait_text(page, "#state", "goes on")
            server.script.change(lambda c: (c.update(state="ended"), c["processes"][0].update(state="exited", exit_code=0)))
            self.wait_text(page, "#state", "has ended meanwhile")
            page.click("#pause")
            self.wait_text(page, "#state", "node.exe (pid 220) has ended with code 0.")
            self.equal(server.script.controls, [], "what others were made to feel")

    def test_rate_and_window_are_asked_for(self):
        with self.server() as server:
            page = self.open(server)
            self.ok("hz" not in server.script.sockets[0], "it is the server's")
            self.shows(page, "#rate option:checked", "auto, 10 Hz")
            server.script.change(lambda c: c["rates"].update(hz=25))
            self.shows(page, "#rate option:checked", "auto, 25 Hz")
            self.choose(page, "#rate", "30")
            self.until(page, lambda: {"hz": 30} in server.script.messages)
            self.choose(page, "#rate", "")
            self.until(page, lambda: len(server.script.sockets) > 1)
            self.ok("hz" not in server.script.sockets[1], "it is the server's again")
            self.wait_text(page, "#state", "Attached and armed")
            self.choose(page, "#rate", "30")
            self.until(page, lambda: server.script.messages.count({"hz": 30}) == 2)
            self.choose(page, "#window", "10")
            page.wait_for("performance.getEntriesByType('resource').some((e) => e.name.includes('history') "
                          "&& e.name.includes('from=50.000'))")
            page.wait_for("document.querySelector('#charts').dataset.from === '50'")  # and drawn
            self.choose(page, "#window", "0")
            page.wait_for("document.querySelector('#charts').dataset.from === '0'")
            page.goto(server.base + "/")  # both are remembered
            page.wait_for(SETTLED)
            self.equal(page.evaluate("[document.querySelector('#rate').value, document.querySelector('#window').value]"),
                       ["30", "0"])
            self.until(page, lambda: server.script.sockets[-1]["hz"] == "30")
            page.evaluate("localStorage.clear()")

    def test_a_session_can_be_chosen(self):
        script = scripted.Script()
        script.document["captures"][0]["sessions"].append(scripted.session(2, "rec.onnx", 15000.0))
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#gauges", "slowest: rec.onnx")
            self.shows(page, "#gauge-throughput", "617 /s")
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
            kinds = page.evaluate("[...document.querySelector('#format').options].map((o) => o.value.split(':')[0])")
            self.equal(set(kinds), {"ortl", "chrome", "perfetto", "csv", "json", "parquet", "speedscope"}, "formats")
            link = page.attribute("#file", "href")
            self.ok("format=ortl" in link, "a link to the file")
            # Browsers remember downloads: the token there may only read.
            self.equal(server.script.exports[0]["token"], server.script.read_token)
            self.ok(link.endswith("token=" + server.script.read_token), link)

    def test_mark_and_detach_ask_first(self):
        with self.server() as server:
            page = self.open(server)
            page.click("#mark")
            page.wait_for("document.querySelector('#ask').open")
            page.type("warm")
            page.press("Enter")
            self.until(page, lambda: server.script.controls)
            self.equal(server.script.controls.pop(), {"action": "mark", "capture": 1, "text": "warm"})
            for text, kept in (("yes", "yes"), ("", "mark")):
                page.click("#mark")
                page.wait_for("document.querySelector('#ask').open")
                page.type(text)
                page.press("Enter")
                self.until(page, lambda: server.script.controls)
                self.equal(server.script.controls.pop()["text"], kept)
            page.click("#detach")
            page.wait_for("document.querySelector('#ask').open")
            page.press("Escape")
            page.wait_for("!document.querySelector('#ask').open")
            page.click("#detach")
            page.wait_for("document.querySelector('#ask').open")
            page.click("#ask-yes")
            self.until(page, lambda: server.script.controls)
            self.equal(server.script.controls, [{"action": "detach", "capture": 1}])

    def test_what_could_not_be_done_stays_told(self):
        with self.server() as server:
            page = self.open(server)
            page.expect("status of 409")
            server.script.refusal = "The capture is ending."
            page.click("#mark")
            page.wait_for("document.querySelector('#ask').open")
            page.press("Enter")
            self.wait_text(page, "#notes", "The capture is ending.")
            seen = len(page.frames)
            self.until(page, lambda: len(page.frames) >= seen + 5)  # messages come, and it is still told
            self.wait_text(page, "#notes", "The capture is ending.")
            server.script.refusal = ""
            page.click("#mark")
            page.wait_for("document.querySelector('#ask').open")
            page.press("Enter")
            page.wait_for("!document.querySelector('#notes').innerText.includes('The capture is ending.')")

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

    def test_a_second_process_can_be_attached(self):
        script = scripted.Script()
        script.processes = [{"pid": pid, "name": "node.exe", "ort_version": "1.20.1", "ort_module": "x",
                             "can_attach": pid != 220, "why_not": None, "attached_by_pid": None}
                            for pid in (220, 4242)]
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#processes", "4242")  # beside a capture that goes on
            server.script.change(lambda c: c.update(state="ended"))
            self.wait_text(page, "#state", "has ended")
            script.processes = script.processes[1:]  # and it is still looked for others
            page.wait_for("document.querySelectorAll('#processes tbody tr').length === 1")
            page.click("#processes button")
            self.until(page, lambda: script.controls)
            self.equal(script.controls[0], {"action": "attach", "pid": 4242})

    def test_who_may_only_look_attaches_to_nothing(self):
        script = scripted.Script()
        script.document["control"] = False
        script.processes = [{"pid": 4242, "name": "node.exe", "ort_version": "1.20.1", "ort_module": "x",
                             "can_attach": True, "why_not": None, "attached_by_pid": None}]
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#processes", "4242")
            page.wait_for("document.querySelector('#processes button').disabled")

    def test_before_the_recording_begins_it_says_so(self):
        script = scripted.Script()
        document, script.document = script.document, dict(script.document, captures=[])
        script.can_attach = False  # `attach --live`, not `serve`
        with self.server(script=script) as server:
            page = self.browser.page()
            page.goto(server.url)
            self.wait_text(page, "#state", "Attaching: the recording is about to begin.")
            self.equal(page.evaluate("document.querySelector('#processes-card').hidden"), True)
            script.document = document
            self.wait_text(page, "#state", "Attached and armed")
