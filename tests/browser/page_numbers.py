# SPDX-License-Identifier: MIT
"""What the dashboard shows: numbers, charts, what is missing."""
import dashboard_page
import scripted_server as scripted
from dashboard_page import value

# A history of everything, asked at these moments of a capture: [whether something came, step, points].
GROWING_HISTORY = """async (moments) => {
    const {History} = await import('/history.js');
    let now_s;
    const get = async (name, {from, step}) => {
        const first = Math.max(Math.floor(from / step), Math.floor(now_s / step) - 2999), time_s = [];
        for (let i = first; i * step <= now_s; i++) time_s.push(i * step);
        return {step_s: step, time_s, sessions: [], counters: [], marks: [], outliers: []};
    };
    const history = new History(get), seen = [];
    history.reset(0);
    for (now_s of moments) {
        const asked = history.update(1, now_s), during = history.time.length;
        seen.push([await asked, history.step, history.time.length, during]);
    }
    return seen;
}"""
# Two requests, the second one queued, when another capture is shown: [captures asked for, what became of them].
HISTORY_OF_ANOTHER = """async () => {
    const {History} = await import('/history.js');
    const asked = [];
    const get = async (name, {capture}) => {
        asked.push(capture);
        await new Promise((done) => setTimeout(done, 50));
        return {step_s: 0.1, time_s: [capture], sessions: [], counters: [], marks: [], outliers: []};
    };
    const history = new History(get);
    const old = [history.update(1, 60), history.update(1, 60)];
    await new Promise((done) => setTimeout(done)); // the first one is under way
    history.reset(60);
    const came = await Promise.all([...old, history.update(2, 60)]);
    return [asked, came, history.time];
}"""
# Each of these answers has another session and another process: [most of both at once, what is left of them].
HISTORY_OF_MANY = """async (answers) => {
    const {History} = await import('/history.js');
    let now_s;
    const get = async (name, {from, step}) => {
        const time_s = [];
        for (let i = Math.ceil(from / step); i * step <= now_s; i++) time_s.push(i * step);
        const values = time_s.map(() => 1);
        return {step_s: step, time_s, marks: [], outliers: [], sessions: [{session: now_s, runs: values}],
                counters: [{name: 'private', about: 'process', process: now_s, values}]};
    };
    const history = new History(get), kept = (map, of) => [...map.values()].map((e) => e[of]);
    let most = 0;
    history.reset(10);
    for (now_s = 1; now_s <= answers; now_s++) {
        await history.update(1, now_s);
        most = Math.max(most, history.sessions.size, history.counters.size);
    }
    return [most, kept(history.sessions, 'session'), kept(history.counters, 'process')];
}"""


class Numbers(dashboard_page.Tests):
    def test_a_long_history_is_never_empty_and_keeps_its_newest(self):
        with self.server() as server:
            page = self.open(server)
            moments = [50, 240, 255, 256, 257, 2600, 2601, 2602, 25100, 25200, 25300]
            seen = page.evaluate(f"({GROWING_HISTORY})({moments})")
            self.equal([s[0] for s in seen], [True] * len(moments), "whether something came")
            self.equal([s[1] for s in seen], [.1, .1, .1, 1, 1, 1, 10, 10, 10, 10, 10], "steps")
            self.ok(all(s[3] > 0 for s in seen[1:]), f"never empty while it is asked for: {seen}")
            self.equal([s[2] for s in seen[-3:]], [2500] * 3, "points of the longest step")

    def test_what_was_queued_for_another_capture_is_not_asked(self):
        with self.server() as server:
            page = self.open(server)
            self.equal(page.evaluate(f"({HISTORY_OF_ANOTHER})()"), [[1, 2], [False, False, True], [2]])

    def test_sessions_and_processes_leave_with_the_last_of_their_window(self):
        with self.server() as server:
            page = self.open(server)
            most, *left = page.evaluate(f"({HISTORY_OF_MANY})(200)")
            self.ok(most <= 13, f"{most} in a window of ten, with those that came late")
            for numbers in left:
                self.equal(numbers, list(range(201 - len(numbers), 201)), "the newest")

    def test_gauges_show_the_api_s_numbers(self):
        with self.server() as server:
            page = self.open(server)
            s = server.script.document["captures"][0]["sessions"][0]
            for which in ("p50", "p95", "p99"):
                self.wait_text(page, f"#gauge-{which}", value(s["window"]["latency_us"][which]))
            self.shows(page, "#gauge-throughput", "411 /s")
            self.shows(page, "#gauge-failures", "0")
            self.shows(page, "#gauge-in_flight", "1")
            s["window"]["latency_us"] = scripted.latency(31415.9)
            s["failed_runs"], s["in_flight"], s["window"]["throughput_per_s"] = 12, 7, 12345.6
            self.shows(page, "#gauge-p50", "31.42 ms")
            self.shows(page, "#gauge-failures", "12")
            self.shows(page, "#gauge-throughput", "12,346 /s")
            self.shows(page, "#gauge-in_flight", "7")
            self.quiet(page, server)

    def test_in_flight_is_what_ran_at_one_moment(self):
        """Three sessions, 10 ms each: one after the other, then at once; then nothing runs, then it is over."""
        def runs(begins, time_s=60.0):
            def put(capture):
                capture["time_s"] = time_s
                for s, begin in zip(capture["sessions"], begins):
                    s.update(in_flight=1)
                    s["window"]["in_flight_max"] = 1
                    s["last_run"].update(begin_s=begin, duration_us=10000.0)
                    s["recent_runs"].update(run=[499, 500], begin_s=[begin - .03, begin], duration_us=[10000.0] * 2, status=[0, 0])
            return put
        most = "[data-gauge=in_flight] .more"
        script = scripted.Script()
        script.document["captures"][0]["sessions"] += [scripted.session(2, "b.onnx"), scripted.session(3, "c.onnx")]
        script.change(runs([59.9, 59.91, 59.92]))
        with self.server(script=script) as server:
            page = self.open(server)
            self.shows(page, "#gauge-in_flight", "1")
            self.shows(page, most, "at most 1 in 5 s")
            script.change(runs([59.9, 59.904, 59.908]))
            self.shows(page, "#gauge-in_flight", "3")
            self.shows(page, most, "at most 3 in 5 s")
            script.change(runs([59.9, 59.904, 59.908], 61.5))
            self.shows(page, "#gauge-in_flight", "0")
            script.change(runs([59.9, 59.904, 59.908]))
            self.shows(page, "#gauge-in_flight", "3")
            script.change(lambda c: c.update(state="ended"))
            self.shows(page, "#gauge-in_flight", "0")
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
            # A step that has just begun is neither drawn nor told.
            self.equal(page.attribute("#charts", "data-time"), "59.9")
            page.wait_for("/runs a second\\s+(39|4[0-4])\\d( |\\.\\d+ )\\/s/.test(document.querySelector('#panel-throughput .legend').innerText)")
            page.wait_for("/p50\\s+1\\.\\d+ ms/.test(document.querySelector('#panel-latency .legend').innerText)")
            # Those that are not told again stay.
            page.wait_for("performance.getEntriesByType('resource').filter((e) => e.name.includes('history')).length > 2")
            self.wait_text(page, "#panel-latency .legend", "outliers\n3")
            self.wait_text(page, "#panel-distribution .legend", "571")
            server.script.more_runs = 1000
            self.wait_text(page, "#panel-distribution .legend", "1,571")

    def test_no_two_lines_look_alike(self):
        """Nine sessions of one model, two cores and two processes."""
        script = scripted.Script()
        script.document["captures"][0]["sessions"] = [scripted.session(i, "cls.onnx") for i in range(1, 10)]
        script.counters.append(scripted.counter("cpu_percent", "process", None, 50, 2))
        with self.server(script=script) as server:
            page = self.open(server)
            for panel, lines in (("throughput", 9), ("latency", 10), ("cpu", 4)):
                swatches = (f"[...document.querySelectorAll('#panel-{panel} .legend .swatch')].map("
                            "(e) => getComputedStyle(e).background)")
                page.wait_for(f"{swatches}.length === {lines}")
                self.equal(len(set(page.evaluate(swatches))), lines, f"looks of {panel}")
                names = page.texts(f"#panel-{panel} .legend .swatch + span")
                self.equal(len(set(names)), lines, f"names of {panel}: {names}")
            self.wait_text(page, "#panel-throughput .legend", "3 cls.onnx")
            self.wait_text(page, "#panel-latency .legend", "3 cls.onnx p50")
            self.wait_text(page, "#gauges", "slowest: 1 cls.onnx")
            self.wait_text(page, "#panel-distribution .number", "9 cls.onnx: most between")
            buttons = page.texts(".outliers button")
            self.ok(len(set(buttons)) == 4 and all(" cls.onnx, run 441: 7.290 ms" in b for b in buttons), buttons)
            script.change(lambda c: c.update(state="ended"))
            page.wait_for("!document.querySelector('#summary').hidden")
            facts = page.texts("#summary-facts dt")
            self.equal(len(set(facts)), len(facts), f"names of facts: {facts}")
            self.choose(page, "#session", "3")  # alone it needs none
            self.shows(page, ".outliers button", "run 441: 7.290 ms")

    def test_arenas_of_sessions_that_have_ended_do_not_count(self):
        script = scripted.two_sessions()
        held = "document.querySelector('#panel-arenas .legend').innerText.match(/held\\s+(\\d.*B)/)?.[1]"
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#panel-arenas .number", "held 6.318 MB, in use 1.099 MB")
            page.wait_for(held + " === '6.318 MB'")
            script.change(lambda c: c["sessions"][1].update(ended=True))
            self.choose(page, "#window", "30")  # all of it is asked for again
            self.shows(page, "#panel-arenas .number", "held 3.159 MB, in use 549.6 kB")
            page.wait_for(held + " === '3.159 MB'")

            def at_begin():  # while it was there it counts
                left, top, width, height = page.box("#panel-arenas .u-over")
                page.mouse("mouseMoved", left + width / 10, top + height / 2)
                return page.evaluate(held) == "6.318 MB"
            self.until(page, at_begin)
            script.change(lambda c: c["sessions"][0].update(ended=True))
            self.shows(page, "#panel-arenas .number", "released")
            page.evaluate("localStorage.clear()")

    def test_arenas_that_came_to_be_shared_do_not_count(self):
        script = scripted.two_sessions()
        gone = {"held_bytes": None, "in_use_bytes": None, "peak_bytes": None, "shared": True}
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#panel-arenas .number", "held 6.318 MB, in use 1.099 MB")
            script.change(lambda c: c["sessions"][1]["memory"].update(gone))
            self.shows(page, "#panel-arenas .number", "held 3.159 MB, in use 549.6 kB")
            script.change(lambda c: c["sessions"][0]["memory"].update(gone))
            self.shows(page, "#panel-arenas .number", "shared by several sessions")

    def test_a_session_that_only_fails_hides_no_other(self):
        script = scripted.two_sessions()
        failing, other = script.document["captures"][0]["sessions"]
        failing.update(runs=1000, failed_runs=1000)
        other.update(runs=100, failed_runs=10)
        with self.server(script=script) as server:
            page = self.open(server)
            self.wait_text(page, "#panel-distribution .number", "2 rec.onnx: most between 1.850 ms")
            self.choose(page, "#session", "1")
            self.shows(page, "#panel-distribution .missing", "No run has succeeded yet.")
            script.change(lambda c: c["sessions"][0].update(runs=0, failed_runs=0))
            self.shows(page, "#panel-distribution .missing", "No run has ended yet.")
            self.quiet(page, server)

    def test_processor_time_is_the_mean_of_a_second(self):
        with self.server() as server:
            page = self.open(server)
            means = page.evaluate("""import('/panels.js').then(({overSecond}) => [
                overSecond([null, 4, null, 8, 0, 0, 0, null, null, null], 0.25), overSecond([1, null, 3], 10)])""")
            self.equal(means, [[None, 4, 4, 6, 4, 8 / 3, 2, 0, 0, 0], [1, None, 3]])

    def test_processes_that_have_ended_are_neither_told_nor_drawn(self):
        """One runs, seven have ended; of the last one the window has still something."""
        def put(capture):
            first = capture["processes"][0]
            capture["processes"] += [dict(first, process=i, pid=219 + i, state="exited", exit_code=0, cpu_percent=None,
                                          working_set_bytes=None) for i in range(2, 9)]
        script = scripted.Script()
        script.change(put)
        bases = {"cpu_percent": 40, "working_set": 1e8, "private": 9e7}
        gone = [scripted.counter(name, "process", None, None, i) for name in bases for i in range(2, 9)]
        for c in gone:
            c["base"] = bases[c["name"]] if c["process"] == 8 else None
        script.counters += gone
        names = "[...document.querySelectorAll('#panel-%s .legend .swatch + span')].map((e) => e.innerText).join()"
        with self.server(script=script) as server:
            page = self.open(server)
            self.shows(page, "#panel-cpu .number", "process 93 % of a core, machine 61 %")
            self.shows(page, "#panel-memory .number", "process 181.6 MB")
            self.equal(page.evaluate(names % "cpu"), "core 0,core 1,process 220,process 227")
            self.equal(page.evaluate(names % "memory"), "in RAM 220,in RAM 227,private 220,private 227")
            for c in gone:
                c["base"] = None
            self.choose(page, "#window", "30")  # all of it is asked for again
            page.wait_for(names % "cpu" + " === 'core 0,core 1,process'")
            page.wait_for(names % "memory" + " === 'in RAM,private'")
            script.change(lambda c: c["processes"][0].update(state="exited", cpu_percent=None))
            self.shows(page, "#panel-cpu .number", "process – of a core, machine 61 %")
            page.evaluate("localStorage.clear()")

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
            # 15 W shared among 411 runs a second, drawn over time as well
            page.wait_for("/an inference\\s+3\\d\\.\\d+ mJ/.test(document.querySelector('#panel-power .legend').innerText)")
            self.wait_text(page, "#panel-npu .missing", "No counter of the NPU came.")

    def test_energy_is_shared_with_other_captures_since_they_run(self):
        """Power is some 15 W, each capture has 411 runs a second; the other one begins after a minute."""
        def at(time_s, rate):
            def put(capture):
                capture["time_s"] = time_s
                capture["system"].update(power_w=15.25, throughput_per_s=rate, energy_per_inference_j=15.25 / rate)
            return put
        script = scripted.Script()
        script.counters.append(scripted.counter("power", "machine", None, 15, None, "package"))
        script.change(at(60.0, 411.2))
        energy = "Number(document.querySelector('#panel-power .legend').innerText.match(/an inference\\s+([\\d.]+) mJ/)?.[1])"
        with self.server(script=script) as server:
            page = self.open(server)
            self.shows(page, "#panel-power .number", "15.3 W, 37.09 mJ an inference")
            page.wait_for(f"Math.abs({energy} - 37) < 8")
            script.change(at(65.0, 822.4))
            script.document = dict(script.document, captures=[
                dict(script.document["captures"][0], capture=2), script.document["captures"][0]])
            self.shows(page, "#panel-power .number", "15.3 W, 18.54 mJ an inference")
            page.wait_for(f"document.querySelector('#charts').dataset.time === '64.9' && Math.abs({energy} - 18.5) < 4")

            def before():  # what is above may still grow and move it
                page.box("#panel-power .plot")  # what is not on the screen is not drawn
                left, top, width, height = page.box("#panel-power .u-over")
                page.mouse("mouseMoved", left + width / 2, top + height / 2)
                return page.evaluate(f"Math.abs({energy} - 37) < 8")
            self.until(page, before)
            page.mouse("mouseMoved", 2, 2)
            self.choose(page, "#capture", "2")  # whose page has not seen how it was before
            page.wait_for(f"Math.abs({energy} - 18.5) < 4")
            self.quiet(page, server)

    def test_parts_that_are_missing_are_told_beside_the_rest(self):
        """Cores without a process, a process without cores, a device's power without the machine's, operators."""
        script = scripted.Script()
        script.missing += [{"what": what, "why": f"No {what}.", "command": f"ortscope {what}"}
                           for what in ("cpu", "cores", "memory", "arena", "operators")]
        everything = script.counters
        script.counters = [c for c in everything if c["about"] != "core"]
        script.counters.append(scripted.counter("power", "device", 0, 15, None, "gpu"))
        script.ops.update(calls=0, ops=[])
        script.timeline = lambda query: None
        with self.server(script=script) as server:
            page = self.browser.page(height=900)
            page.goto(server.url)
            self.shows(page, "#panel-cpu .lacks", "No cores.\nTo enable it: ortscope cores")
            self.shows(page, "#panel-power .lacks", "No counter of the POWER came.\nTo enable it: ortscope doctor")
            # One device's power is not what an inference takes.
            page.wait_for("/^gpu 1\\d\\.\\d W$/.test(document.querySelector('#panel-power .number').innerText)")
            self.equal(page.texts("#panel-power .legend .swatch + span"), ["gpu"])
            self.shows(page, "#timeline-missing", "No operators.\nTo enable it: ortscope operators")
            script.counters = [c for c in everything if c["about"] == "core"]
            page.click("#theme")  # not what brings it: a page that is looked at goes on
            self.choose(page, "#window", "30")
            self.shows(page, "#panel-cpu .lacks", "No cpu.\nTo enable it: ortscope cpu")
            self.shows(page, "#panel-memory .missing", "No memory.\nTo enable it: ortscope memory")
            script.counters = []
            self.choose(page, "#window", "60")
            self.shows(page, "#panel-cpu .missing", "No cores.\nTo enable it: ortscope cores")
            page.evaluate("localStorage.clear()")

    def test_times_of_submissions_are_called_so(self):
        """In the table, above it, in the legend and of the operator itself; those of executions are not."""
        script = scripted.Script()
        script.ops = scripted.operators(["Conv", "Relu", "Add"])
        script.ops.update(time="mixed", more=0)
        for row, time in zip(script.ops["ops"], ("execution", "submission", "mixed")):
            row.update(time=time, domain="ai.onnx")
        with self.server(script=script) as server:
            page = self.open(server)
            self.equal([text.strip() for text in page.texts("#ops tbody td:first-child")],
                       ["Conv", "Relu, submission time", "Add, partly submission time"])
            self.ok(page.text("#ops-number").endswith(", partly submission time"), page.text("#ops-number"))
            self.wait_text(page, "#types", "on CUDA, submission time")
            self.ok("on CPU, " not in page.text("#types"), page.text("#types"))
            page.evaluate("document.querySelector('#timeline').focus()")
            for type_, told in (("MatMul", "CUDA, submission time, thread 296"), ("Conv", "CPU, thread 296")):
                self.choose(page, "#type", type_)
                page.press("Escape")
                self.ok(told in self.told_by(page, "n"), page.text("#timeline-details"))
                self.ok(told in page.text("#tip"), page.text("#tip"))
            self.quiet(page, server)

    def test_marks_are_drawn_and_told(self):
        script = scripted.Script()
        script.marks = [{"time_s": 12.0, "text": "warm"}, {"time_s": 55.5, "text": "batch of 8"}]
        with self.server(script=script) as server:
            page = self.open(server)
            for panel in ("latency", "throughput", "cpu", "memory"):
                page.box(f"#panel-{panel} .plot")  # what is not on the screen is not drawn
                page.wait_for(f"document.querySelector('#panel-{panel} .plot').dataset.marks === '2'")
            self.wait_text(page, ".marks", "mark 0:12 warm")
            self.wait_text(page, ".marks", "mark 0:55 batch of 8")
            script.marks.append({"time_s": 59.5, "text": "late"})  # and those that come
            page.wait_for("document.querySelector('#panel-cpu .plot').dataset.marks === '3'")
            self.wait_text(page, ".marks", "mark 0:59 late")

    def test_a_chart_tells_what_is_under_the_pointer(self):
        with self.server() as server:
            page = self.open(server)
            page.wait_for("!!document.querySelector('#panel-latency .u-over')")
            self.equal(page.text("#panel-latency .when"), "")

            def pointed():  # what is above may still grow and move it
                left, top, width, height = page.box("#panel-latency .u-over")
                page.mouse("mouseMoved", left + width / 2, top + height / 2)
                return page.text("#panel-latency .when") in ("at 0:29", "at 0:30", "at 0:31")
            self.until(page, pointed)
            page.mouse("mouseMoved", 2, 2)
            self.shows(page, "#panel-latency .when", "")
