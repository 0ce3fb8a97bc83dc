# SPDX-License-Identifier: MIT
"""How the dashboard says how things stand: losses, ends, a server that goes, hangs, comes back."""
import dashboard_page
import scripted_server as scripted
from dashboard_page import value


class States(dashboard_page.Tests):
    def test_the_banner_tells_of_losses_and_ends(self):
        with self.server() as server:
            page = self.open(server)
            capture = server.script.document["captures"][0]
            self.wait_text(page, "#state", "Attached and armed: recording node.exe (pid 220).")
            capture["lost_events"] = 1234
            self.wait_text(page, "#notes", "1,234 events dropped")
            self.equal(page.evaluate("document.querySelector('#summary').hidden"), True)
            server.script.change(lambda c: (c.update(state="ended"), c["processes"][0].update(state="exited", exit_code=3)))
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

    def test_a_process_that_is_gone_is_not_called_armed(self):
        """A launcher that failed, and what it launched: that goes on, then is left, then one is all that is told."""
        def put(launcher, child):
            def change(capture):
                first = dict(capture["processes"][0], pid=1, program="launcher.exe", state=launcher, exit_code=3)
                capture["processes"] = [first, dict(first, process=2, pid=2, program="child.exe", state=child, exit_code=None)]
            return change
        with self.server() as server:
            page, script = self.open(server), server.script
            script.change(put("exited", "running"))
            self.shows(page, "#state", "Attached and armed: recording child.exe (pid 2).")
            self.wait_text(page, "#notes .bad", "launcher.exe (pid 1) ended with code 3")
            self.ok("more process" not in page.text("#notes"), page.text("#notes"))
            self.equal([page.text("#program"), page.text("#target").split(" · ")[0]], ["child.exe", "pid 2"])
            script.change(put("exited", "detached"))
            self.wait_text(page, "#state", "Detached from child.exe (pid 2), which goes on.")
            self.wait_text(page, "#notes", "launcher.exe (pid 1) ended with code 3")
            script.change(put("running", "running"))
            self.shows(page, "#state", "Attached and armed: recording launcher.exe (pid 1).")
            self.wait_text(page, "#notes", "1 more process")
            script.change(lambda c: c.update(processes=[
                dict(c["processes"][0], pid=i, state="exited" if i > 1 else "running", exit_code=0) for i in range(1, 8)]))
            self.wait_text(page, "#notes", "launcher.exe (pid 7) ended with code 0 · 3 more processes ended")
            self.quiet(page, server)

    def test_a_process_that_is_only_watched_is_not_called_armed(self):
        with self.server() as server:
            server.script.change(lambda c: c["processes"][0].update(how="watched"))
            page = self.open(server)
            self.wait_text(page, "#state", "Watching node.exe (pid 220) from outside (--no-hooks)")
            self.quiet(page, server)

    def test_a_server_that_comes_back_is_found(self):
        with self.server() as server:
            page = self.open(server)
            port, shown = server.port, page.text("#gauge-p50")
        for _ in range(3):
            self.wait_text(page, "#state", "does not answer")
            self.equal(page.text("#gauge-p50"), shown, "the last data")
            with self.server(port=port) as server:
                self.wait_text(page, "#state", "Attached and armed")

    def having(self, operators):
        """A script whose newest inference, always run 500, has so many operators."""
        script = scripted.Script()
        script.timeline = lambda query: scripted.timeline(operators, int(query.get("run", 500))) if operators else None
        script.ops.update({} if operators else {"calls": 0, "ops": []})
        return script

    def test_another_ortscope_brings_its_own_operators(self):
        """Each with one inference of the same number; the one before was looked at, into, or chosen."""
        with self.server(script=self.having(229)) as server:
            page, port = self.open(server), server.port
            self.wait_text(page, "#timeline-number", "run 500 of session 1 · 229 operators")
        with self.server(script=self.having(100), port=port):
            self.wait_text(page, "#timeline-number", "run 500 of session 1 · 100 operators")
            page.evaluate("document.querySelector('#timeline').focus()")
            page.press("n")
            page.click("#zoom-in")
        with self.server(script=self.having(57), port=port):
            self.wait_text(page, "#timeline-number", "run 500 of session 1 · 57 operators")
            self.ok(page.evaluate("document.querySelector('#tip').hidden"), "nothing is told of one that is gone")
            page.click("#run-before")
            self.wait_text(page, "#timeline-number", "run 499 of session 1")
        with self.server(script=self.having(31), port=port):
            self.wait_text(page, "#timeline-number", "run 500 of session 1 · 31 operators")
            self.equal(page.attribute("#run-latest", "aria-pressed"), "true")
        with self.server(script=self.having(0), port=port):
            self.wait_text(page, "#timeline-missing", "No operators yet.")
            self.equal(page.text("#timeline-number"), "")
            page.wait_for("document.querySelector('#timeline').dataset.bars === '0'")

    def test_another_rate_leaves_the_chosen_inference(self):
        with self.server() as server:
            page, script = self.open(server), server.script
            self.choose(page, "#rate", "30")
            page.click("#run-before")
            self.wait_text(page, "#timeline-number", "run 499 of session 1")
            sockets = len(script.sockets)
            self.choose(page, "#rate", "")  # which only another connection has
            self.until(page, lambda: len(script.sockets) > sockets)
            seen = len(page.requests)
            self.until(page, lambda: sum("/ops?" in r for r in page.requests[seen:]) >= 2)
            self.ok("run 499 of session 1" in page.text("#timeline-number"), page.text("#timeline-number"))
            page.evaluate("localStorage.clear()")

    def test_another_token_can_be_given(self):
        with self.server() as server:
            page = self.open(server)
            port = server.port
        with self.server(port=port, token="other"):
            self.wait_text(page, "#state", "ortscope refuses the token of this page.")
            self.wait_text(page, "#notes", "The numbers are those of 1:00")
            page.click("#token")
            page.type("other")
            page.press("Enter")
            self.wait_text(page, "#state", "Attached and armed")
            page.wait_for("document.querySelector('#token-form').hidden")

    def test_a_stream_that_falls_silent_is_opened_anew(self):
        with self.server() as server:
            page = self.open(server)
            shown, before = page.text("#gauge-p50"), len(server.script.sockets)
            server.script.silent = True  # the connection stays
            self.wait_text(page, "#state", "Nothing was heard from ortscope for 5 s; trying again.")
            self.equal(page.text("#gauge-p50"), shown, "the last data")
            self.until(page, lambda: len(server.script.sockets) > before)
            server.script.silent = False
            self.wait_text(page, "#state", "Attached and armed")

    def test_a_server_that_hangs_is_given_up_and_found_again(self):
        with self.server() as server:
            page = self.open(server)
            server.script.stuck = server.script.silent = True  # also whoever asks waits
            self.wait_text(page, "#state", "Nothing was heard from ortscope")
            sockets = len(page.sockets)
            self.until(page, lambda: len(page.sockets) > sockets)  # it does not wait for ever either
            server.script.stuck = server.script.silent = False
            self.wait_text(page, "#state", "Attached and armed")

    def test_a_recording_that_fails_is_told(self):
        with self.server() as server:
            page = self.open(server)

            def fail(capture):
                capture.update(state="ended", failure="Cannot write to \"x.ortl\": the disk is full.")
                capture["processes"][0]["state"] = "detached"
            server.script.change(fail)
            self.wait_text(page, "#state", "Recording node.exe (pid 220) failed: Cannot write to \"x.ortl\": the "
                           "disk is full. The numbers are the last ones.")
            self.equal(page.attribute("#banner", "class"), "banner bad")
            self.wait_text(page, "#summary", "500")
            self.quiet(page, server)

    def test_the_token_does_not_stay_in_the_address(self):
        with self.server() as server:
            page = self.open(server)
            self.equal(page.evaluate("location.href"), server.base + "/")

    def end(self, script, runs):
        """The capture ends and ortscope with it: one message, then it waits for what is asked."""
        def last(capture):
            capture.update(state="ended", time_s=61.0)
            capture["processes"][0].update(state="exited", exit_code=0)
            capture["sessions"][0]["runs"] = runs
        script.ops = dict(script.ops, calls=998877)
        script.more_runs = 50
        script.change(last)
        script.ending = True

    def test_the_end_of_ortscope_is_shown_whole(self):
        with self.server() as server:
            page, script = self.open(server), server.script
            self.ok(page.attribute("#file", "href"), "a link while it is there")
            self.end(script, 777)
            self.until(page, lambda: script.left)  # the page asked for what it wanted, and went
            self.equal(page.text("#sum-runs-1"), "777")
            self.ok("777" in page.text("#sessions"), "runs in the table are those of the summary")
            self.ok("998,877" in page.text("#ops-number"), page.text("#ops-number"))
            self.ok("621" in page.text("#panel-distribution .legend"), "the distribution is that of the end")
            self.equal(page.attribute("#charts", "data-time"), "61", "the charts reach the end")
            self.wait_text(page, "#notes", "ortscope has ended too")
            self.equal(page.evaluate("['export', 'format'].map((i) => document.getElementById(i).disabled)"), [True, True])
            self.equal(page.attribute("#file", "href"), None, "no link that leads nowhere")
            self.equal(page.text("#file"), "ortscope-node-220.ortl")
            self.wait_text(page, "#state", "node.exe (pid 220) has ended with code 0.")
            script.ending = False  # and another one comes
            server.script.change(lambda c: (c.update(state="recording"), c["processes"][0].update(state="running")))
            self.wait_text(page, "#state", "Attached and armed")
            page.wait_for("!document.querySelector('#export').disabled && document.querySelector('#file').href")

    def test_another_window_after_the_end_shows_what_is_there(self):
        with self.server() as server:
            page, script = self.open(server), server.script
            self.end(script, 777)
            self.until(page, lambda: script.left)
        before = page.evaluate("document.querySelector('#charts').dataset.from")
        for window, begin in (("10", "51"), ("30", "31"), ("0", before)):  # nobody is left to be asked
            self.choose(page, "#window", window)
            page.wait_for(f"document.querySelector('#charts').dataset.from === '{begin}'")
            self.equal(page.attribute("#charts", "data-time"), "61")
        page.evaluate("localStorage.clear()")

    def test_a_paused_page_keeps_the_end_for_later(self):
        with self.server() as server:
            page, script = self.open(server), server.script
            page.click("#pause")
            before = page.text("#sessions")
            self.end(script, 777)
            self.until(page, lambda: script.left)
            self.equal(page.text("#sessions"), before, "it stands still")
        page.click("#pause")  # nobody is left to be asked
        self.wait_text(page, "#sessions", "777")
        self.ok("998,877" in page.text("#ops-number"), page.text("#ops-number"))

    def test_ortscope_may_end_in_the_middle(self):
        with self.server() as server:
            page, script = self.open(server), server.script
            script.ending = True
            self.until(page, lambda: script.left)
            self.wait_text(page, "#state", "ortscope has ended; this is what it told last.")
            self.wait_text(page, "#notes", "The numbers are those of 1:00")
