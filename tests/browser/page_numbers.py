# SPDX-License-Identifier: MIT
"""What the dashboard shows: numbers, charts, what is missing."""
import dashboard_page
import scripted_server as scripted
from dashboard_page import value


class Numbers(dashboard_page.Tests):
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
            self.wait_text(page, "#panel-power .number", "W, ")
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
