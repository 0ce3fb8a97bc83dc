# SPDX-License-Identifier: MIT
"""Processes that the dashboard offers to attach to."""
import threading

import dashboard_page
import scripted_server as scripted


def process(pid=4242, can_attach=True):
    return {"pid": pid, "name": "node.exe", "ort_version": "1.20.1", "ort_module": "x", "can_attach": can_attach,
            "why_not": None, "attached_by_pid": None}


class Attaching(dashboard_page.Tests):
    def test_without_a_capture_processes_are_offered(self):
        script = scripted.Script()
        script.document["captures"] = []
        script.processes = [process()]
        with self.server(script=script) as server:
            page = self.browser.page()
            page.goto(server.url)
            self.wait_text(page, "#processes", "4242")
            page.click("#processes button")
            self.until(page, lambda: script.controls)
            self.equal(script.controls[0], {"action": "attach", "pid": 4242})

    def test_a_second_process_can_be_attached(self):
        script = scripted.Script()
        script.processes = [process(220, can_attach=False), process()]
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

    def test_a_process_is_attached_once_however_often_it_is_pressed(self):
        """The first request takes its time, during which the list changes; a second one would be refused."""
        script, go = scripted.Script(), threading.Event()
        script.processes = [process()]
        script.change(lambda c: c.update(state="ended"))  # then the list is asked for every second

        def attach(_):
            if len(script.controls) > 1:
                return "It is attached to already."
            go.wait(60)
            script.processes = [process(can_attach=False)]
            return ""
        script.refuse = attach

        def press():
            left, top, width, height = page.box("#processes button")
            page.click_at(left + width / 2, top + height / 2)
            page.evaluate("0")
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#processes", "4242")
            page.click("#processes button")
            self.until(page, lambda: script.controls)
            press()
            script.processes = [process(), process(4343)]
            self.wait_text(page, "#processes", "4343")
            press()
            go.set()
            self.wait_text(page, "#processes", "Not possible")
            press()
            self.equal(script.controls, [{"action": "attach", "pid": 4242}])
            self.ok("already" not in page.text("#notes"), page.text("#notes"))
            script.processes = [process()]  # and one that failed is offered again
            page.expect("status of 409")
            self.shows(page, "#processes button", "Attach")
            page.click("#processes button")
            self.wait_text(page, "#notes", "It is attached to already.")
            page.wait_for("!document.querySelector('#processes button').disabled")

    def test_who_may_only_look_attaches_to_nothing(self):
        script = scripted.Script()
        script.document["control"] = False
        script.processes = [process()]
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
