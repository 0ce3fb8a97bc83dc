# SPDX-License-Identifier: MIT
"""The operator timeline of the dashboard."""
import threading

import dashboard_page
import scripted_server as scripted

# Drawings that the canvas makes of many steps which all come before its next frame.
FRAMES_OF_A_HUNDRED_STEPS = """new Promise((done) => {
    const c = document.querySelector('#timeline');
    const later = (action) => requestAnimationFrame(() => requestAnimationFrame(action));
    later(() => {
        const before = Number(c.dataset.frames);
        for (let i = 0; i < 100; i++) c.dispatchEvent(new KeyboardEvent('keydown', {key: i % 2 ? 'ArrowLeft' : '+'}));
        later(() => done(Number(c.dataset.frames) - before));
    });
})"""


class Operators(dashboard_page.Tests):
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
            self.ok(near[0] > 0 and near[1] < whole[1], near)

            def dragged():
                left, top, width, _ = page.box("#timeline")
                page.drag(left + width / 2, top + 60, left + width / 2 - 200, top + 60)
                return self.view(page)[0] > near[0]
            self.until(page, dragged)
            moved = self.view(page)
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
            self.ok(halved[1] - halved[0] < whole[1] - whole[0], halved)
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
            first, second = (self.told_by(page, "n") for _ in range(2))
            self.ok("/features/" in first and "/features/" in second and first != second, [first, second])

    def test_keys_go_on_into_the_next_thread(self):
        """Two operators on each of three threads."""
        answer = scripted.timeline(6)
        answer["ops"].update(thread=[1, 1, 2, 2, 3, 3], begin_us=[0, 10, 1, 11, 2, 12], duration_us=[5] * 6,
                             kernel=[0, 1, 2, 3, 4, 1])
        script = scripted.Script()
        script.timeline = lambda query: answer
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#timeline-number", "6 operators")
            page.evaluate("document.querySelector('#timeline').focus()")
            types = [self.told_by(page, key).split(" · ")[0] for key in "nnnnnnn" + "pppppp"]
            there = ["Conv", "Mul", "Clip", "Add", "Div", "Mul"]
            self.equal(types, there + ["Mul"] + there[-2::-1] + ["Conv"])
            self.choose(page, "#type", "Mul")  # past a thread without any
            page.press("Escape")
            told = [self.told_by(page, "n") for _ in range(2)]
            self.ok("thread 1" in told[0] and "thread 3" in told[1], told)

    def test_what_feeds_what_is_shown_by_pointer_and_keyboard(self):
        """A feeds B and C, both feed D; twice, as in a loop. E is of a recording that does not know."""
        kernels = [{"kernel": i + 7, "node": name, "op_type": "Type" + name, "domain": "ai.onnx", "submits": False,
                    "provider": "CPUExecutionProvider", "producers": producers}
                   for i, (name, producers) in enumerate([("A", []), ("B", [0]), ("C", [0]), ("D", [1, 2]), ("E", None)])]
        order = [0, 1, 2, 3, 0, 1, 2, 3, 4]
        answer = scripted.timeline(len(order))
        answer["kernels"] = kernels
        answer["ops"].update(kernel=order, begin_us=[10 * i for i in range(9)], duration_us=[9] * 9)
        script = scripted.Script()
        script.timeline = lambda query: answer
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#timeline-number", "9 operators")
            page.evaluate("document.querySelector('#timeline').focus()")
            told = [self.told_by(page, "n") for _ in order]
            self.ok(told[0].endswith("reads inputs and constants only · feeds B, C"), told[0])
            self.ok(told[1].endswith("reads A · feeds D"), told[1])
            self.ok(told[3].endswith("reads B, C"), told[3])
            self.ok(told[7].endswith("reads B, C"), told[7])
            self.ok("reads" not in told[8] and "feeds" not in told[8], told[8])
            self.equal(self.linked(page), 0, "of one that is not known")
            page.press("p")  # the second D
            self.equal(self.linked(page), 2, "drawn")
            steps = [self.told_by(page, key) for key in "uudd"]
            self.equal([t.split(" · ")[0] for t in steps], ["TypeC", "TypeA", "TypeB", "TypeD"])
            self.ok("from 40.00 µs" in steps[1], "the second A: " + steps[1])
            self.ok("from 70.00 µs" in steps[3], "the second D: " + steps[3])
            page.press("Escape")
            self.equal(self.linked(page), 0, "with none chosen")

            def hover():  # the first of nine bars
                left, top, width, _ = page.box("#timeline")
                page.mouse("mouseMoved", left + width / 40, top + 55)
                return "feeds B, C" in page.text("#tip")
            self.until(page, hover)
            self.equal(self.linked(page), 2, "under the pointer")

    def test_what_is_told_of_an_operator_fits_a_window_that_shrinks(self):
        with self.server() as server:
            page = self.open(server)
            page.evaluate("document.querySelector('#timeline').focus()")
            for _ in range(200):
                page.press("n")
            self.ok("/features/" in page.text("#tip"), page.text("#tip"))
            page.call("Emulation.setDeviceMetricsOverride", width=400, height=900, deviceScaleFactor=1, mobile=False)
            page.wait_for("innerWidth === 400 && document.querySelector('#timeline').clientWidth < 400")
            self.view(page)
            self.equal(page.sideways(), 0, "pixels too wide")
            self.ok(not page.evaluate("document.querySelector('#tip').hidden"), "it is still told")

    def linked(self, page):
        self.view(page)
        return int(page.evaluate("document.querySelector('#timeline').dataset.linked"))

    def test_filters_leave_only_what_they_name(self):
        with self.server() as server:
            page = self.open(server)
            self.choose(page, "#type", "MatMul")
            page.evaluate("document.querySelector('#timeline').focus()")
            for _ in range(5):
                told = self.told_by(page, "n")
                self.ok(told.startswith("MatMul"), told)
            self.choose(page, "#type", "")
            self.choose(page, "#provider", "CUDA")
            told = self.told_by(page, "n")
            self.ok("CUDA" in told, told)
            self.ok("provider change" in page.text("#timeline-number"), page.text("#timeline-number"))

    def test_a_filter_stays_over_inferences_without_what_it_names(self):
        script = scripted.Script()

        def without(query):  # every second inference has no MatMul, which is what the other provider does
            run = int(query.get("run", 500))
            return scripted.timeline(229, run, scripted.OP_TYPES if run % 2 == 0 else scripted.OP_TYPES[:8])
        script.timeline = without
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#timeline-number", "run 500 of session 1")
            self.choose(page, "#type", "MatMul")
            self.choose(page, "#provider", "CUDA")
            for run in (499, 498):
                page.click("#run-before")
                self.wait_text(page, "#timeline-number", f"run {run} of session 1")
                self.equal(page.evaluate("['type', 'provider'].map((i) => document.getElementById(i).value)"),
                           ["MatMul", "CUDA"])
            page.evaluate("document.querySelector('#timeline').focus()")
            self.ok(self.told_by(page, "n").startswith("MatMul"), page.text("#timeline-details"))

    def test_changes_of_the_provider_are_marked(self):
        """Twenty operators, every fifth on another provider: a wedge where one begins and where it ends."""
        def few(_):
            answer = scripted.timeline(20)
            answer["ops"]["kernel"] = [8 if i % 5 == 2 else 1 for i in range(20)]
            return answer
        script = scripted.Script()
        script.timeline = few
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#timeline-number", "8 provider changes")
            wedges = "Number(document.querySelector('#timeline').dataset.wedges)"
            page.wait_for(wedges + " === 8")
            page.evaluate("document.querySelector('#timeline').focus()")
            for _ in range(12):
                page.press("+")
            page.wait_for(wedges + " < 8")  # those beside are not drawn
            page.press("0")
            page.wait_for(wedges + " === 8")

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

    def test_outliers_that_come_do_not_take_a_button_away(self):
        listed = "document.querySelector('.outliers').innerText"
        with self.server() as server:
            page = self.open(server)

            def held():  # what is above may still grow and move it
                left, top, width, height = page.box(".outliers button")
                page.mouse("mouseMoved", left + width / 2, top + height / 2)
                return page.evaluate("document.querySelector('.outliers button').matches(':hover')") and (left + width / 2, top + height / 2)
            places = []
            self.until(page, lambda: places.append(held()) or places[-1])
            at = places[-1]
            page.mouse("mousePressed", *at, button="left", clickCount=1, buttons=1)
            server.script.outlier_runs.append(590)
            self.wait_text(page, "#panel-latency .legend", "outliers\n4")
            page.mouse("mouseReleased", *at, button="left", clickCount=1)
            self.wait_text(page, "#timeline-number", "run 441 of session 1")
            page.mouse("mouseMoved", 2, 2)
            page.wait_for(listed + ".includes('run 590')")
            page.evaluate("document.querySelector('.outliers button').focus()")
            server.script.outlier_runs.append(591)
            self.wait_text(page, "#panel-latency .legend", "outliers\n5")
            self.equal(page.evaluate("document.activeElement.innerText.split(':')[0]"), "run 590", "the keyboard's place")
            page.evaluate("document.activeElement.blur()")
            page.wait_for(listed + ".includes('run 591')")

    def slow_timeline(self, script):
        """From now on answers wait: [queries that came], an event that lets them go."""
        came, go = [], threading.Event()

        def slow(query):
            came.append(query)
            go.wait(60)
            answer = scripted.timeline(229, int(query.get("run", 500)))
            answer["runs"][0]["session"] = int(query.get("session") or 1)
            return answer
        script.timeline = slow
        return came, go

    def test_what_is_chosen_while_another_is_read_comes_next(self):
        with self.server() as server:
            page = self.open(server)
            self.wait_text(page, "#timeline-number", "run 500 of session 1")
            came, go = self.slow_timeline(server.script)
            self.until(page, lambda: came)  # the newest one, as every second
            page.click("#run-before")
            go.set()
            self.wait_text(page, "#timeline-number", "run 499 of session 1")
            came, go = self.slow_timeline(server.script)
            for run, button in ((441, 1), (230, 2)):  # the second while the first is read
                page.click(f".outliers li:nth-child({button}) button")
                self.until(page, lambda: came)
            page.evaluate("""window.told = ''; new MutationObserver(() => {
                window.told += document.querySelector('#timeline-number').innerText; }).observe(
                document.querySelector('#timeline-number'), {childList: true})""")
            go.set()
            self.wait_text(page, "#timeline-number", "run 230 of session 1")
            self.ok("run 441" not in page.evaluate("window.told"), "what nobody wanted any more")

    def test_another_session_comes_though_the_one_before_is_still_read(self):
        script = scripted.Script()
        script.document["captures"][0]["sessions"].append(scripted.session(2, "rec.onnx", 15000.0))
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#timeline-number", "run 500 of session 1")
            came, go = self.slow_timeline(script)
            self.until(page, lambda: came)
            page.click("#zoom-in")  # looked into, so that it would stay
            self.choose(page, "#session", "2")
            go.set()
            self.wait_text(page, "#timeline-number", "of session 2")

    def test_an_inference_between_memory_and_file_is_asked_for_again(self):
        script, refused = scripted.Script(), []

        def late(query):
            if query.get("run") == "499" and len(refused) < 2:
                refused.append(query)
                return None
            return scripted.timeline(229, int(query.get("run", 500)))
        script.timeline = late
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#timeline-number", "run 500")
            page.expect("404")
            page.click("#run-before")
            self.wait_text(page, "#timeline-number", "run 499")
            self.equal(len(refused), 2)

    def test_another_session_comes_at_once_however_far_one_has_zoomed(self):
        script = scripted.two_sessions()
        with self.server(script=script) as server:
            page = self.open(server)
            page.evaluate("""window.said = ''; new MutationObserver(() => {
                window.said += document.querySelector('#timeline-missing').innerText; }).observe(
                document.querySelector('#timeline-missing'), {childList: true, subtree: true})""")
            page.click("#zoom-in")
            for session in "212":
                self.choose(page, "#session", session)
                self.wait_text(page, "#timeline-number", f"of session {session}")
                page.click("#zoom-in")
            self.equal(page.evaluate("window.said"), "", "said in between")
            self.quiet(page, server)

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
            # What the canvas itself did: as many bars as pixels, and one drawing for any number of steps in a frame.
            self.view(page)
            drawn, width = page.evaluate("(({dataset, clientWidth}) => [Number(dataset.bars), clientWidth])"
                                         "(document.querySelector('#timeline'))")
            self.ok(500 < drawn <= width, f"{drawn} bars on {width} pixels")
            frames = page.evaluate(FRAMES_OF_A_HUNDRED_STEPS)
            self.equal(frames, 1, "drawings of a hundred steps within a frame")

    def test_only_threads_on_the_screen_are_drawn(self):
        """Three thousand threads: a canvas no higher than its box, and bars of what is seen of them only."""
        def many(_):
            answer = scripted.timeline(10000)
            answer["ops"]["thread"] = [i % 3000 for i in range(10000)]
            return answer
        script = scripted.Script()
        script.timeline = many
        facts = ("(({dataset, height, parentElement: p}) => ({bars: Number(dataset.bars), height, whole: p.clientHeight}))"
                 "(document.querySelector('#timeline'))")
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#timeline-number", "10,000 operators")
            self.view(page)
            shown = page.evaluate(facts)
            self.ok(shown["whole"] > 3000 * 40 and shown["height"] <= 460, shown)
            self.ok(20 < shown["bars"] < 80, shown)  # some ten threads with three or four bars each
            page.evaluate("document.querySelector('.canvas-box').scrollTop = 1000 * 48")
            self.view(page)

            def hovered():
                left, top, width, height = page.box("#timeline")
                for y in range(60, 110, 12):
                    for x in range(2, int(width), 8):
                        page.mouse("mouseMoved", left + x, top + y)
                        if not page.evaluate("document.querySelector('#tip').hidden"):
                            return True
                return False
            self.until(page, hovered)
            thread = int(page.text("#tip").split("thread ")[1].split()[0].rstrip(","))
            self.ok(995 <= thread <= 1010, f"thread {thread} under the pointer after scrolling")
            self.quiet(page, server)
