#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The harness itself: that it sees what other tests rely on not being there."""
import http.server
import pathlib
import sys
import tempfile
import threading

import browser as b
import checks
from page_scripts import POOR_CONTRAST

PAGE = """<!doctype html><title>t</title><h1>Hello</h1>
<button id="one" onclick="this.textContent = 'clicked'">press</button>
<input id="two" onkeydown="if (event.key === 'Enter') this.value += '!'">
<div id="wide" style="display: none; width: 3000px">wide</div>
<p id="scheme">light</p>
<style>@media (prefers-color-scheme: dark) { #scheme { color: rgb(1, 2, 3) } }</style>"""


class Tests(checks.Tests):
    def open(self, html):
        path = pathlib.Path(self.folder) / "page.html"
        path.write_text(html)
        page = self.browser.page()
        page.goto(path)
        return page

    def test_a_quiet_page_is_quiet(self):
        page = self.open(PAGE)
        self.equal(page.text("h1"), "Hello")
        self.equal(page.errors, [])
        self.equal(page.foreign_requests(), [])
        self.equal(page.sideways(), 0)

    def test_errors_are_seen(self):
        page = self.open(PAGE + "<script>console.error('bad'); throw new Error('worse')</script>")
        page.expect("bad", "worse")
        page.evaluate("0")
        self.ok(any("bad" in e for e in page.errors), page.errors)
        self.ok(any("worse" in e for e in page.errors), page.errors)

    def test_a_dialog_is_an_error_and_stops_nothing(self):
        page = self.open(PAGE + "<script>alert('boo')</script>")
        page.expect("boo")
        self.equal(page.text("h1"), "Hello")
        self.ok(any("boo" in e for e in page.errors), page.errors)

    def test_requests_are_seen(self):
        page = self.open(PAGE + "<script>fetch('http://example.invalid/x').catch(() => {})</script>"
                         "<img src='other.png'>")
        page.expect("ERR_FILE_NOT_FOUND", "ERR_NAME_NOT_RESOLVED")
        self.ok(any("example.invalid" in r for r in page.foreign_requests()), page.requests)
        self.ok(any("other.png" in r for r in page.foreign_requests()), page.requests)

    def test_policy_breaches_are_errors(self):
        page = self.open("<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\">"
                         "<img src='http://example.invalid/x.png'>")
        page.expect("Content Security Policy")
        page.evaluate("0")
        self.ok(any("Content Security Policy" in e for e in page.errors), page.errors)

    def test_mouse_and_keyboard_reach_the_page(self):
        page = self.open(PAGE)
        page.click("#one")
        self.equal(page.text("#one"), "clicked")
        page.press("Tab")
        self.equal(page.focused(), "input#two")
        page.type("abc")
        page.press("Enter")
        self.equal(page.evaluate("document.querySelector('#two').value"), "abc!")

    def test_width_scheme_and_print(self):
        page = self.open(PAGE)
        color = "getComputedStyle(document.querySelector('#scheme')).color"
        self.equal(page.evaluate(color), "rgb(0, 0, 0)")
        page.media("dark")
        self.equal(page.evaluate(color), "rgb(1, 2, 3)")
        page.resize(400)
        self.equal(page.evaluate("innerWidth"), 400)
        page.evaluate("document.querySelector('#wide').style.display = 'block'")
        self.ok(page.sideways() > 2000, page.sideways())
        self.ok(page.pdf().startswith(b"%PDF-"), "a PDF")
        path = pathlib.Path(self.folder) / "shot.png"
        page.screenshot(path)
        self.ok(path.read_bytes().startswith(b"\x89PNG"), "a PNG")

    def test_what_moves_away_is_clicked_all_the_same(self):
        page = self.open(PAGE + """<button id="other" onclick="this.textContent = 'hit'">other</button><script>
            const one = document.getElementById('one');
            one.addEventListener('mousemove', () => { one.style.marginLeft = '300px'; }, {once: true});
            one.addEventListener('mousedown', () => { one.style.marginTop = '300px'; }, {once: true});</script>""")
        page.click("#one")
        self.equal(page.text("#one"), "clicked")
        self.equal(page.text("#other"), "other")

    def test_a_page_that_was_closed_is_gone(self):
        before = len(self.browser.pages())
        page = self.open(PAGE)
        self.equal(len(self.browser.pages()), before + 1)
        page.close()
        self.equal(len(self.browser.pages()), before)

    def test_poor_contrast_is_seen(self):
        page = self.open("<body style='background: #fff'><p style='color: #777'>grey</p><p style='color: #767676'>ok</p>"
                         "<p style='color: rgb(0 0 0 / 30%)'>faint</p><button style='border: 1px solid #ccc'>b</button>")
        self.equal([p.split(" of ")[0] for p in page.evaluate(f"({POOR_CONTRAST})()")],
                   ['text "grey"', 'text "faint"', "the edge"])

    def test_a_local_server_can_be_reached(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(PAGE.encode())

            def log_message(self, *_):
                pass
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            page = self.browser.page()
            page.goto(f"http://127.0.0.1:{server.server_port}/")
            self.equal(page.text("h1"), "Hello")
            server.shutdown()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(checks.run(Tests, folder, sys.argv[1:]))
