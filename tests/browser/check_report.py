#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`ortscope report` in a real browser: what it shows is what `summary --json` says, it asks nobody for
anything, and everything that can be pressed works."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

import checks

MOST_BYTES = 2_000_000
LARGE = 2_000_000  # operators
UNITS = {"ns": 1e-3, "µs": 1, "us": 1, "ms": 1e3, "s": 1e6, "min": 6e7, "h": 3.6e9,
         "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "runs/s": 1, "": 1}

# Text whose contrast to what lies behind it is below 4.5, as people with weak eyes need it.
CONTRAST = """(() => {
  const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number);
    return c.startsWith('color(srgb') ? [m[0] * 255, m[1] * 255, m[2] * 255, m[3] ?? 1] : [m[0], m[1], m[2], m[3] ?? 1]; };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const behind = (e) => { let list = []; for (; e; e = e.parentElement) list.push(parse(getComputedStyle(e).backgroundColor));
    return list.reverse().reduce((under, c) => over(c, under), [255, 255, 255, 1]); };
  const light = (c) => { const f = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!text || !e.getClientRects().length || e.closest('script, style, noscript, .op-name, [hidden]')) continue;
    const style = getComputedStyle(e), svg = e.namespaceURI.endsWith('svg');
    const back = behind(svg ? e.closest('div') : e), front = over(parse(svg ? style.fill : style.color), back);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) bad.push(`${e.tagName}.${e.className.baseVal ?? e.className}: ${e.textContent.slice(0, 30)} ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
  }
  return bad.slice(0, 10);
})()"""


def number(text):
    """"1.822 ms" in microseconds, "3.159 MB" in bytes, "1,200" as it is."""
    words = text.replace("\n", " ").replace("\xa0", " ").split()
    return float(words[0].replace(",", "")) * UNITS[words[1] if len(words) > 1 else ""]


class Tests(checks.Tests):
    options = None

    def prepare(self):
        work = pathlib.Path(self.folder)
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        for args in ([self.options.gold_maker], [self.options.maker, "busy.ortl"],
                     [self.options.maker, "hostile_page.ortl", "hostile"],
                     [self.options.maker, "wide.ortl", "wide"],
                     [self.options.large_maker, "large.ortl", str(LARGE)]):
            subprocess.run([os.path.abspath(args[0]), *args[1:]], cwd=work, check=True)

    def ortscope(self, *args):
        return subprocess.run([os.path.abspath(self.options.ortscope), *args], cwd=self.folder,
                              capture_output=True, timeout=600)

    def summary(self, name):
        return json.loads(self.ortscope("summary", "--json", name).stdout)

    def report(self, name, *args, page=None):
        out = f"{name}.html"
        done = self.ortscope("report", name, "-o", out, *args)
        self.equal(done.returncode, 0, f"report {name}: {done.stderr.decode()}")
        path = pathlib.Path(self.folder) / out
        page = page or self.browser.page()
        page.goto(path)
        page.wait_for("!!document.querySelector('#verdict')")
        return page, path

    def quiet(self, page, name):
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.equal(page.errors, [], f"{name}: errors")
        self.equal(page.foreign_requests(), [], f"{name}: requests")

    # ------------------------------------------------------------------------------- all timelines

    def test_every_timeline_opens_quietly_and_fits(self):
        names = sorted(p.name for p in pathlib.Path(self.folder).glob("*.ortl"))
        self.ok(len(names) > 15, names)
        for name in names:
            if name == "stump.ortl":
                continue  # not even a header: refused, see below
            page, path = self.report(name)
            self.quiet(page, name)
            self.ok(len(page.text("#verdict")) > 10, name)
            for width in (1280, 400):
                page.resize(width)
                page.wait_for("[...document.querySelectorAll('#session div')].every((e) => !e.redraw || e.clientWidth === e.drawnWidth)")
                self.equal(page.sideways(), 0, f"{name}: wider than {width} px by")
            self.quiet(page, name)
            self.ok(path.stat().st_size < MOST_BYTES, f"{name} makes {path.stat().st_size} bytes")
            page.close()

    def test_a_large_recording_makes_no_large_page(self):
        page, path = self.report("large.ortl")
        self.quiet(page, "large")
        print(f"  {LARGE} operators: {path.stat().st_size} bytes")
        self.ok(path.stat().st_size < MOST_BYTES, path.stat().st_size)
        self.ok("of 40,000 runs" in page.text("#left-out"), page.text("#left-out"))
        self.equal(page.text("[data-tile=runs] dd"), f"{self.summary('large.ortl')['sessions'][0]['runs']:,}")

    def test_what_is_too_much_for_a_page_is_left_out(self):
        page, path = self.report("wide.ortl")
        self.quiet(page, "wide")
        print(f"  20 sessions of 800 nodes: {path.stat().st_size} bytes")
        self.ok(1_000_000 < path.stat().st_size < MOST_BYTES, path.stat().st_size)
        self.ok("4 sessions with less time" in page.text("#left-out"), page.text("#left-out"))
        self.ok("only the longest operators are drawn" in page.text("#left-out"), page.text("#left-out"))
        self.ok("more operators are left out" in page.text("#operators"), page.text("#operators .note"))
        self.ok(page.count("#inference-chart .op") > 10, "some are drawn")

    def test_what_is_no_timeline_makes_no_page(self):
        for args in (["report", "stump.ortl", "-o", "no.html"], ["report", "missing.ortl", "-o", "no.html"],
                     ["report", "basic.ortl", "--compare", "missing.ortl", "-o", "no.html"],
                     ["report", "basic.ortl", "-o", "no-folder/no.html"]):
            done = self.ortscope(*args)
            self.equal((done.returncode, done.stdout), (1, b""), args)
            self.ok(done.stderr.startswith(b"ortscope: "), done.stderr)
            self.ok(not os.path.exists(os.path.join(self.folder, "no.html")), args)

    def test_a_page_on_standard_output_and_beside_the_file(self):
        done = self.ortscope("report", "basic.ortl", "-o", "-")
        self.ok(done.stdout.startswith(b"<!doctype html>"), done.stdout[:50])
        self.equal(done.stderr, b"")
        self.equal(self.ortscope("report", "basic.ortl").returncode, 0)
        self.equal(pathlib.Path(self.folder, "basic.html").read_bytes(), done.stdout)

    # ---------------------------------------------------------------------------------- numbers

    def same(self, text, wanted, what):
        if wanted is None:
            self.equal(text.split()[0], "–", what)
        else:
            self.ok(abs(number(text) - wanted) <= abs(wanted) * 6e-4 + 1e-3, f"{what}: {text} is not {wanted}")

    def test_numbers_are_those_of_the_summary(self):
        for name in ("busy.ortl", "basic.ortl", "ops.ortl", "memory.ortl", "counters.ortl"):
            summary = self.summary(name)
            page, _ = self.report(name)
            for session in summary["sessions"]:
                if len(summary["sessions"]) > 1:
                    page.click(f"[data-session='{session['id']}']")
                self.numbers_of(page, session, f"{name} session {session['id']}")
            overhead = page.text("[data-fact=overhead]")
            if summary["overhead"]["per_run_ns"] is not None:
                self.same(overhead.split(" a run")[0], summary["overhead"]["per_run_ns"] / 1e3, "overhead")
            lost = page.text("[data-fact=lost]")
            self.equal(lost == "none", summary["lost_events"] == 0, f"{name}: lost")
            page.close()

    def numbers_of(self, page, session, what):
        tiles = {"p50": session["latency_us"]["p50"], "p99": session["latency_us"]["p99"],
                 "max": session["latency_us"]["max"], "throughput": session["throughput_per_s"],
                 "runs": session["runs"]}
        for key, wanted in tiles.items():
            self.same(page.text(f"[data-tile={key}] dd"), wanted, f"{what}: {key}")
        for key, wanted in session["latency_us"].items():
            if wanted is not None:
                self.same(page.text(f"[data-latency={key}]"), wanted, f"{what}: {key}")
        for key in ("arena_bytes", "peak_bytes", "in_use_bytes"):
            if session["memory"][key] is not None:
                self.same(page.text(f"[data-tile={key}] dd"), session["memory"][key], f"{what}: {key}")
        if session["ops"]:
            page.click("[data-choice=node]")
            rows = page.evaluate("[...document.querySelectorAll('#op-table tbody tr')].map((r) => [...r.cells].map((c) => c.innerText))")
            for row, op in zip(rows, session["ops"]):
                self.equal(row[0], op["node"] or "(no name)", what)
                self.equal(int(row[3].replace(",", "")), op["calls"], what)
                self.same(row[4], op["self_us"], what)
                self.same(row[6], op["mean_us"], what)

    def test_the_histogram_counts_every_run(self):
        page, _ = self.report("busy.ortl")
        data = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
        for session in data["summary"]["sessions"]:
            extra = next(x for x in data["report"]["sessions"] if x["id"] == session["id"])
            self.equal(sum(extra["histogram"]["counts"]) + extra["histogram"]["beyond"],
                       session["runs"] - session["failed_runs"], "runs in the histogram")
        said = self.summary("busy.ortl")["sessions"]
        for session in said:
            session["outliers"] = []  # the page has its own choice of them
        self.equal(data["summary"]["sessions"], said)

    # ----------------------------------------------------------------------------- what can be pressed

    def column(self, page, index):
        return page.evaluate(f"[...document.querySelectorAll('#op-table tbody tr')].map((r) => r.cells[{index}].innerText)")

    def test_operators_can_be_sorted_and_filtered(self):
        page, _ = self.report("busy.ortl")
        page.click("[data-choice=node]")
        page.click("#op-more")
        self.equal(page.count("#op-table tbody tr"), 60)
        values = [number(v) for v in self.column(page, 4)]
        self.equal(values, sorted(values, reverse=True), "self time")
        page.click("[data-sort=name]")
        names = self.column(page, 0)
        self.equal(names[:3], ["block0/Add_2", "block0/Concat_5", "block0/Conv_0"])
        self.equal(page.attribute("#op-table th:first-child", "aria-sort"), "ascending")
        page.press("Enter")  # the button still has the keyboard
        self.equal(self.column(page, 0), names[::-1], "the other way round")
        page.click("#op-filter")
        page.type("conv block1")
        self.equal(sorted(self.column(page, 0)), ["block1/Conv_6"])
        self.ok("1 of 60" in page.text("#op-count"), page.text("#op-count"))
        page.type(" nothing")
        self.equal(page.count("#op-table"), 0)
        self.quiet(page, "sorting")

    def test_a_run_is_chosen_by_click(self):
        page, _ = self.report("busy.ortl")
        chosen = "Number(document.querySelector('[data-run-words]').dataset.runWords)"
        slowest = self.summary_slowest("busy.ortl")
        self.ok(page.evaluate(chosen) != slowest, "the median run is shown first")
        page.click(f".sample[data-run='{slowest}']")
        self.equal(page.evaluate(chosen), slowest)
        self.equal(page.attribute(f".chip[data-run='{slowest}']", "aria-pressed"), "true")
        self.equal(page.count(".sample.chosen"), 1)
        self.ok("Against the median run" in page.text("#inference"), "the slow operator is named")
        self.ok("block3/Conv_18" in page.text("#inference tbody tr:first-child"), page.text("#inference tbody"))
        page.evaluate("document.querySelector('.chip').focus()")
        page.press("Enter")
        self.ok(page.evaluate(chosen) != slowest, "by the keyboard")
        self.quiet(page, "choosing")

    def test_slow_runs_are_told_with_their_causes(self):
        page, _ = self.report("busy.ortl")
        told = json.loads(self.ortscope("runs", "busy.ortl", "--outliers", "--session", "1", "--json").stdout)
        wanted = {o["run"]: o for o in told["outliers"]}
        self.ok(len(wanted) > 5, f"there are some: {wanted}")
        rows = page.evaluate("[...document.querySelectorAll('#outliers tbody tr')].map((r) => [...r.cells].map((c) => c.innerText))")
        self.equal(sorted(int(r[0].replace(",", "")) for r in rows), sorted(wanted))
        for row in rows:
            outlier = wanted[int(row[0].replace(",", ""))]
            self.same(row[1], outlier["latency_us"], "latency")
            self.same(row[2], outlier["usual_us"], "usual")
            for cause in outlier["causes"]:
                self.ok(f"{cause['share'] * 100:.0f} %" in row[4], f"{row} against {cause}")
        self.ok("operator block3/Conv_18 slow" in page.text("#outliers"), page.text("#outliers .says"))
        self.ok("Conv_18" in page.text("#verdict"), page.text("#verdict"))
        self.equal(page.count(".outlier, .is-outlier"), len(wanted), "marks in the chart")
        page.click("#outliers button")
        chosen = page.evaluate("Number(document.querySelector('[data-run-words]').dataset.runWords)")
        self.equal(chosen, int(rows[0][0].replace(",", "")))

    def summary_slowest(self, name):
        runs = json.loads(self.ortscope("runs", name, "--slowest", "1", "--session", "1", "--json").stdout)
        return runs["runs"][0]["run"]

    def test_an_inference_can_be_zoomed(self):
        page, _ = self.report("busy.ortl")
        ops = "document.querySelectorAll('#inference-chart .op').length"
        self.equal(page.evaluate(ops), 60)
        page.click("#zoom-in")
        page.click("#zoom-in")
        self.ok(5 < page.evaluate(ops) < 30, page.evaluate(ops))
        page.click("#zoom-all")
        self.equal(page.evaluate(ops), 60)
        left, top, width, height = page.box("#inference-chart")
        page.drag(left + width * 0.5, top + height - 4, left + width * 0.6, top + height - 4)
        self.ok(3 < page.evaluate(ops) < 15, page.evaluate(ops))
        self.ok("to" in page.text("#zoom-range"), page.text("#zoom-range"))
        page.evaluate("document.querySelector('#inference-chart').focus()")
        page.press("0")
        self.equal(page.evaluate(ops), 60)
        page.press("+")
        self.ok(page.evaluate(ops) < 40, page.evaluate(ops))
        before = page.text("#zoom-range")
        page.press("ArrowRight")
        self.ok(page.text("#zoom-range") != before, before)
        page.press("0")
        left, top, width, height = page.box("#inference-chart")
        page.wheel(left + width / 2, top + height / 2, -300, ctrl=True)
        page.wait_for(f"{ops} < 60")
        page.press("0")
        page.click("#inference-chart .op")
        self.ok("block0/Conv_0" in page.text(".detail"), page.text(".detail"))
        self.quiet(page, "zooming")

    def test_the_keyboard_reaches_everything(self):
        page, _ = self.report("busy.ortl")
        seen = set()
        for _ in range(200):
            page.press("Tab")
            seen.add(page.evaluate("(() => { const e = document.activeElement; return e.id || e.dataset.sort || e.dataset.choice || e.dataset.session && 'session' || e.className })()"))
        for what in ("theme", "session", "chip", "zoom-in", "inference-chart", "type", "node", "op-filter", "share"):
            self.ok(what in seen, f"{what} is not reached: {seen}")

    # ---------------------------------------------------------------------------------- the look

    def test_light_and_dark_with_good_contrast(self):
        background = "getComputedStyle(document.body).backgroundColor"
        for name in ("busy.ortl", "counters.ortl", "machine.ortl"):
            page, _ = self.report(name)
            light = page.evaluate(background)
            self.equal(page.evaluate(CONTRAST), [], f"{name}: contrast in light")
            page.media("dark")
            page.wait_for("document.documentElement.dataset.theme === 'dark'")
            dark = page.evaluate(background)
            self.ok(light != dark, light)
            self.equal(page.evaluate(CONTRAST), [], f"{name}: contrast in dark")
            page.click("#theme")
            self.equal(page.evaluate(background), light, "the switch")
            page.click("#theme")
            self.equal(page.evaluate(background), dark, "and back")
            page.close()

    def test_it_prints_light(self):
        page, _ = self.report("busy.ortl", page=self.browser.page(scheme="dark"))
        pdf = page.pdf()
        self.ok(pdf.startswith(b"%PDF-") and len(pdf) > 20000, len(pdf))
        page.media("dark", "print")
        ink = page.evaluate("getComputedStyle(document.querySelector('#verdict')).color")
        self.equal(ink, "rgb(18, 22, 29)", "ink on paper")
        self.equal(page.evaluate("getComputedStyle(document.querySelector('.bar')).display"), "none")

    # ----------------------------------------------------------------------------------- hostile

    def test_hostile_names_are_inert(self):
        page, path = self.report("hostile_page.ortl")
        elements = "document.querySelectorAll('script, style, img, iframe, [onload], [onerror], [onmouseover]').length"
        self.equal(page.evaluate(elements), 3, "our own script, data and style")
        page.click("[data-choice=node]")
        for selector in ("[data-session='2']", ".chip", "#inference-chart .op"):
            page.click(selector)
        left, top, width, height = page.box("#inference-chart .op")
        page.mouse("mouseMoved", left + width / 2, top + height / 2)
        self.equal(page.evaluate("window.hacked"), None)
        self.equal(page.evaluate(elements), 3, "still")
        self.quiet(page, "hostile")
        self.ok("onerror=window.hacked" in page.evaluate("document.body.innerText"), "they are shown as they are")
        text = path.read_text()
        self.equal(text.count("</script>"), 2, "nothing ends the data early:")
        self.ok("'unsafe-inline'" not in text.split("<style>")[0] and "default-src 'none'" in text, "a strict policy")

    # -------------------------------------------------------------------------------- comparing

    def test_a_comparison_says_what_diff_says(self):
        page, _ = self.report("diff_new.ortl", "--compare", "diff_old.ortl")
        diff = json.loads(self.ortscope("diff", "diff_old.ortl", "diff_new.ortl", "--json").stdout)
        self.ok(page.count("#compare .card") >= len(diff["sessions"]), "a card for each model")
        self.equal(page.texts("#compare .card > h3:first-child .badge"), [g["verdict"] for g in diff["sessions"]])
        worse = next(g for g in diff["sessions"] if g["verdict"] == "worse")
        percent = worse["metrics"]["latency"]["change_percent"]["value"]
        self.ok(f"{abs(percent):.1f} %" in page.text("#verdict") and "slower" in page.text("#verdict"), page.text("#verdict"))
        self.quiet(page, "compare")
        page.resize(400)
        self.equal(page.sideways(), 0, "at 400 px")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("ortscope", "gold-maker", "maker", "large-maker", "work"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("words", nargs="*")
    Tests.options = parser.parse_args()
    sys.exit(checks.run(Tests, Tests.options.work, Tests.options.words))
