# SPDX-License-Identifier: MIT
"""The dashboard in a real browser while a real program runs: node with PaddleOCR's classifier,
`attach --live`. Numbers on the page are the API's while it runs, and the summary's at the end."""
import os
import sys

import harness as h
import looping
import test_live

for folder in ("tests/live", "tests/browser"):
    sys.path.insert(0, os.path.join(h.ROOT, folder))
import browser  # noqa: E402
from dashboard_page import value  # noqa: E402

SETTLED = "!!(document.querySelector('#charts').dataset.time && document.querySelector('#ops tbody tr'))"


def check_moving(c, page, client):
    page.goto("http://%s/?token=%s" % (client.name, client.control_token))
    page.wait_for(SETTLED)
    page.wait_for("document.querySelector('#timeline-number').innerText.includes('operators')")
    c.true("attached and armed", "Attached and armed: recording node.exe" in page.text("#state"),
           page.text("#state"))
    # What is shown is one of the messages that came: they follow each other too fast to ask.
    shown = page.evaluate("""new Promise((done) => {
        const read = () => ['p50', 'p95', 'p99'].map((p) => document.getElementById('gauge-' + p).innerText);
        requestAnimationFrame(() => requestAnimationFrame(() => done(read()))); })""")

    def came():  # the browser tells of messages on another way than of the page
        page.evaluate("0")
        for sent, text in page.frames:
            latency = None if sent else h.json.loads(text)["captures"][0]["sessions"][0]["window"]["latency_us"]
            if latency and [value(latency[p]) for p in ("p50", "p95", "p99")] == shown:
                return True
        return False
    h.wait_until(came, "a message with the gauges' numbers")
    c.true("gauges are the stream's", True)
    c.equal("no errors", page.errors, [])
    c.equal("nothing wider than the window", page.sideways(), 0)


def attach_page(c):
    """attach --live with the page open; detached by the page's own button."""
    target = looping.Looping(c)
    trace = c.folder + "/page.ortl"
    capture = h.attach(c.folder, "attach", target.pid, trace, "--live", "--no-open")
    client = test_live.opened(capture)
    h.wait_until(lambda: client.json("/api/v1/metrics/current")["captures"] and
                 test_live.runs_of(test_live.capture_of(client)) > 20, "runs", program=capture)
    with browser.Browser() as b:
        page = b.page(width=1280, height=2000)
        check_moving(c, page, client)
        page.click("#detach")
        page.wait_for("document.querySelector('#ask').open")
        page.click("#ask-yes")
        page.wait_for("!document.querySelector('#summary').hidden")
        c.equal("ortscope ends", capture.wait(), 0)
        target.finish(c)
        page.wait_for("document.querySelector('#notes').innerText.includes('ortscope has ended too')")
        c.true("the page stays", "The numbers are the last ones." in page.text("#state"), page.text("#state"))
        file = h.summary(trace)["sessions"][0]
        c.equal("runs of page and summary", page.text("#sum-runs-%d" % file["id"]), "{:,}".format(file["runs"]))
        slowest = page.text("#sum-max-%d" % file["id"])
        c.equal("slowest of page and summary", slowest, value(file["latency_us"]["max"]))


if __name__ == "__main__":
    if not browser.find():
        print("skipped: chromium is not installed (scripts/setup does that)")
        sys.exit(77)
    h.run_tests("test_live_page", [attach_page])
