# SPDX-License-Identifier: MIT
"""Manners of the dashboard: hostile names, widths, keyboard, contrast."""
import dashboard_page
import scripted_server as scripted
from dashboard_page import HOSTILE
from page_scripts import POOR_CONTRAST

# Lines of charts and strips of providers need 3 to 1 on their card, letters on bars 4.5.
LINES = """async () => {
    const {BARS, INK, PROVIDERS, css} = await import('/colours.js');
    const light = (hex) => { const c = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
        .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
    const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((m, n) => n - m); return (x + 0.05) / (y + 0.05); };
    const card = css('--card'), lines = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6', '--bad', '--muted'].map(css);
    return [...[...lines, ...PROVIDERS].filter((c) => ratio(c, card) < 3), ...BARS.filter((c) => ratio(c, INK) < 4.5)];
}"""


class Manners(dashboard_page.Tests):
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

    def test_what_has_the_keyboard_is_seen(self):
        """Each stop of the Tab key has a ring of two pixels that can be told from the page."""
        seen = """(() => { const e = document.activeElement, s = getComputedStyle(e);
            return e === document.body || (e.matches(':focus-visible') && s.outlineStyle !== 'none' &&
                parseFloat(s.outlineWidth) >= 2) ? '' : e.tagName + ' ' + e.id; })()"""
        with self.server() as server:
            page = self.open(server)
            for _ in range(40):
                page.press("Tab")
                self.equal(page.evaluate(seen), "", "without a ring")
            # The ring of the canvas would be cut by the box that scrolls, lay it outside.
            self.ok(page.evaluate("parseFloat(getComputedStyle(document.querySelector('#timeline')).outlineOffset) < 0 "
                                  "|| !document.querySelector('#timeline').matches(':focus')"), "the ring is cut")

    def test_tables_fit_into_a_narrow_window(self):
        script = scripted.Script()
        script.document["captures"][0]["sessions"].append(
            dict(scripted.session(2, "recognition.onnx", 15000.0), runs=123456, failed_runs=98765))
        with self.server(script=script) as server:
            page = self.open(server, width=400)
            page.wait_for("document.querySelectorAll('#sessions tbody tr').length === 2")
            # Which one fails is not told by its colour alone.
            shown = page.evaluate("[...document.querySelectorAll('#sessions td')].filter((e) => e.checkVisibility()).map((e) => e.innerText)")
            self.ok("98,765" in shown, shown)
            wide = page.evaluate("[...document.querySelectorAll('.scroll')].filter((e) => e.clientWidth && "
                                 "e.scrollWidth > e.clientWidth).map((e) => e.firstElementChild.id)")
            self.equal(wide, [], "tables that have to be moved sideways")
            small = page.evaluate("[...document.querySelectorAll('button, select, input')].filter((e) => "
                                  "e.checkVisibility() && Math.min(e.offsetWidth, e.offsetHeight) < 24).map((e) => e.id)")
            self.equal(small, [], "too small for a finger")

    def test_text_and_edges_can_be_told_from_their_ground(self):
        for scheme in ("light", "dark"):
            with self.server() as server:
                page = self.open(server, scheme=scheme)
                self.equal(page.evaluate(f"({POOR_CONTRAST})()"), [], f"too little contrast, {scheme}")
                server.script.change(lambda c: c.update(lost_events=12, state="ended", sessions=[
                    dict(c["sessions"][0], failed_runs=3)]))
                page.wait_for("!document.querySelector('#summary').hidden && !!document.querySelector('#sessions tr.bad')")
                self.equal(page.evaluate(f"({POOR_CONTRAST})()"), [], f"too little contrast at the end, {scheme}")
                poor = page.evaluate(f"({LINES})()")
                self.equal(poor, [], f"lines and bars, {scheme}")
                page.evaluate("document.querySelector('#ask').showModal()")
                self.equal(page.evaluate(f"({POOR_CONTRAST})()"), [], f"too little contrast of a question, {scheme}")
            self.wait_text(page, "#notes", "ortscope has ended too")
            self.equal(page.evaluate(f"({POOR_CONTRAST})()"), [], f"too little contrast when all is over, {scheme}")
