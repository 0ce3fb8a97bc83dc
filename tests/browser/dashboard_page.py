# SPDX-License-Identifier: MIT
"""What tests of the dashboard's page share: how it is opened on a scripted server, and what is waited for."""
import contextlib
import json
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

    @contextlib.contextmanager
    def server(self, **more):
        with scripted.Server(self.folders, **more) as server:
            yield server
            self.server_ends()

    def open(self, server, width=1280, scheme="light"):
        page = self.browser.page(width=width, height=900, scheme=scheme)
        page.goto(server.url)
        page.wait_for(SETTLED)
        page.wait_for("!!document.querySelector('#panel-gpu code')")  # what is missing has its place
        return page

    def quiet(self, page, server):
        self.equal(page.unexpected(), [], "errors")
        foreign = [r for r in page.requests + page.sockets
                   if not r.startswith((server.base + "/", server.base.replace("http", "ws") + "/"))]
        self.equal(foreign, [], "foreign requests")

    def shows(self, page, selector, text):
        """Waits until an element has exactly this text: what is told together may come one after the other."""
        page.wait_for(f"document.querySelector({json.dumps(selector)})?.innerText === {json.dumps(text)}")

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

    def told_by(self, page, key):
        """What is told of the operator that a key goes to."""
        page.press(key)
        return page.text("#timeline-details")
