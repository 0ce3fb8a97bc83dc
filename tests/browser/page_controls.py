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
            self.wait_text(page, "#gauges", "slowest: 2 rec.onnx")
            self.shows(page, "#gauge-throughput", "617 /s")
            self.choose(page, "#session", "1")
            self.wait_text(page, "#gauge-p50", "1.822 ms")
            self.wait_text(page, "#gauge-throughput", "411 /s")
            page.wait_for("performance.getEntriesByType('resource').some((e) => e.name.includes('/ops?') "
                          "&& e.name.includes('session=1'))")

    def test_a_choice_outlasts_a_moment_without_its_session(self):
        """A replay that is moved back begins with none; only the viewer, or another capture, chooses anew."""
        script = scripted.two_sessions()
        script.document["captures"][0].update(mode="replay", state="playing", duration_s=120.0, speed=1)
        chosen = "document.querySelector('#session').value"
        with self.server(script=script) as server:
            page = self.open(server)
            page.expect("status of 404")  # one that goes while it is asked for
            self.choose(page, "#session", "2")
            self.wait_text(page, "#timeline-number", "run 500 of session 2")
            page.click("#run-before")
            self.wait_text(page, "#timeline-number", "run 499 of session 2")
            both = script.document["captures"][0]["sessions"]
            for left, rate in (([], "–"), (both[:1], "411 /s")):
                script.change(lambda c: c.update(sessions=left))
                self.shows(page, "#gauge-throughput", rate)
                self.equal(page.text("#session option:checked"), "all")
                seen = len(page.requests)
                self.until(page, lambda: sum("/ops?" in r for r in page.requests[seen:]) >= 2)
                self.ok(not any("/timeline?" in r for r in page.requests[seen:]), "the one that is not there")
                script.change(lambda c: c.update(sessions=both))
                page.wait_for(chosen + " === '2'")
                self.shows(page, "#gauge-p50", "15.00 ms")
                self.ok("run 499 of session 2" in page.text("#timeline-number"), page.text("#timeline-number"))
                self.equal(page.attribute("#run-latest", "aria-pressed"), "false")
            self.choose(page, "#session", "")
            script.change(lambda c: c.update(sessions=[]))
            self.shows(page, "#gauge-throughput", "–")
            script.change(lambda c: c.update(sessions=both))
            self.shows(page, "#gauge-throughput", "617 /s")
            self.equal(page.evaluate(chosen), "")
            self.choose(page, "#session", "2")
            other = dict(script.document["captures"][0], capture=2)
            script.document = dict(script.document, captures=[other])
            page.wait_for("document.querySelector('#capture').value === '2' && " + chosen + " === ''")
            self.quiet(page, server)

    def test_a_session_is_shown_on_a_page_that_stands_still(self):
        script = scripted.two_sessions()
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#panel-throughput .legend", "rec.onnx")
            page.click("#pause")
            script.ops = dict(script.ops, calls=998877)
            self.choose(page, "#session", "2")
            self.wait_text(page, "#gauge-p50", "15.00 ms")
            self.wait_text(page, "#panel-throughput .legend", "runs a second")
            self.wait_text(page, "#timeline-number", "of session 2")
            self.wait_text(page, "#ops-number", "998,877")
            self.choose(page, "#window", "10")  # what it had before is asked for up to the moment at which it stands
            page.wait_for("document.querySelector('#charts').dataset.from === '50'")
            self.ok(any("from=50.000&to=60&" in r for r in page.requests), "as of then")
            self.equal(page.text("#pause"), "Resume")
            page.evaluate("localStorage.clear()")

    def test_a_capture_that_somebody_paused_is_resumed(self):
        script = scripted.Script()
        script.document["captures"][0]["state"] = "paused"
        with self.server(script=script) as server:
            page = self.open(server)
            self.shows(page, "#pause", "Resume")
            slowed = "Somebody slowed this page to one message a second; the capture of node.exe (pid 220) goes on."
            self.shows(page, "#state", slowed)
            script.document["captures"][0]["sessions"][0]["window"]["latency_us"] = scripted.latency(9e6)
            self.shows(page, "#gauge-p50", "9.000 s")  # and so it does
            page.click("#pause")
            self.until(page, lambda: script.controls)
            self.equal(script.controls, [{"action": "resume", "capture": 1}])
            script.document["captures"][0]["state"] = "recording"
            self.shows(page, "#pause", "Pause")
            self.wait_text(page, "#state", "Attached and armed")
            script.change(lambda c: c.update(state="paused"))
            script.document["control"] = False  # who may only look stops and moves the page
            self.shows(page, "#pause", "Pause")
            self.shows(page, "#state", slowed)
            page.click("#pause")
            self.shows(page, "#pause", "Resume")
            self.shows(page, "#state", "Paused: this page stands still, the capture of node.exe (pid 220) goes on.")
            self.equal(len(script.controls), 1)

    def test_who_may_only_look_stops_the_page_and_no_replay(self):
        script = scripted.Script()
        script.document["control"] = False
        script.document["captures"][0].update(mode="replay", state="playing", duration_s=120.0, speed=1)
        with self.server(script=script) as server:
            page = self.open(server)
            self.shows(page, "#state", "Replaying node.exe (pid 220).")
            page.click("#pause")
            self.shows(page, "#state", "Paused: this page stands still, the replay of node.exe (pid 220) goes on.")
            script.change(lambda c: c.update(state="paused"))
            self.shows(page, "#state", "The replay is paused.")
            script.change(lambda c: c.update(state="ended"))
            self.wait_text(page, "#state", "the replay of node.exe (pid 220) has ended meanwhile")
            page.click("#pause")
            self.shows(page, "#state", "The replay of node.exe (pid 220) has ended.")
            self.equal(script.controls, [], "what others were made to feel")

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

    def test_a_replay_moved_back_a_little_from_its_end_goes_on(self):
        script = scripted.Script()
        script.can_attach = False  # processes would be asked for again and again
        script.document["captures"][0].update(mode="replay", state="ended", time_s=60.0, duration_s=60.0, speed=1)
        with self.server(script=script) as server:
            page = self.open(server)

            def at_rest():  # once the end is there nothing is asked for any more
                asked, frames = len(page.requests), len(page.frames)
                self.until(page, lambda: len(page.frames) >= frames + 20)
                return len(page.requests) == asked
            self.until(page, at_rest)
            self.equal(page.attribute("#charts", "data-time"), "60")
            script.ops = dict(script.ops, calls=998877)
            script.timeline = lambda query: scripted.timeline(57, 499)
            script.change(lambda c: c.update(state="playing", time_s=59.8))
            page.wait_for("document.querySelector('#charts').dataset.time === '59.7'")
            self.wait_text(page, "#ops-number", "998,877")
            self.wait_text(page, "#timeline-number", "run 499 of session 1 · 57 operators")
            self.quiet(page, server)

    def test_a_speed_that_is_not_offered_is_shown(self):
        script = scripted.Script()
        script.document["captures"][0].update(mode="replay", state="playing", duration_s=120.0, speed=5)
        with self.server(script=script) as server:
            page = self.open(server)
            self.shows(page, "#speed option:checked", "5×")
            script.change(lambda c: c.update(speed=0))
            self.shows(page, "#speed option:checked", "max")
            script.change(lambda c: c.update(speed=2))
            self.shows(page, "#speed option:checked", "2×")
            self.equal(page.texts("#speed option"), ["0.1×", "0.5×", "1×", "2×", "5×", "10×", "100×", "max"])

    def test_the_position_is_moved_step_by_step_with_the_keyboard(self):
        script = scripted.Script()
        script.document["captures"][0].update(mode="replay", state="playing", duration_s=120.0, speed=1)
        with self.server(script=script) as server:
            page = self.open(server)
            page.evaluate("document.querySelector('#seek').focus()")
            for count in (1, 2, 3):
                page.press("ArrowRight")
                self.until(page, lambda: len(script.controls) == count)
            self.equal(page.focused(), "input#seek")
            self.equal([c["action"] for c in script.controls], ["seek"] * 3)
            script.document["captures"][0]["time_s"] = 90.0  # and what others do moves it
            page.wait_for("document.querySelector('#seek').valueAsNumber === 90")
            page.press(" ")
            self.until(page, lambda: script.controls[-1]["action"] == "pause")

    def test_a_read_only_page_offers_no_control(self):
        script = scripted.Script()
        script.document["control"] = False
        with self.server(script=script) as server:
            page = self.open(server)
            self.equal(page.evaluate("['mark', 'detach'].map((i) => document.getElementById(i).hidden)"), [True, True])
