# SPDX-License-Identifier: MIT
"""How fluently the page draws ten thousand operators: a scripted server, the page in Chromium, and for ten
seconds a step of zoom or pan in every frame. A frame is from one animation frame to the next; drawing is what
the canvas itself takes of it."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, os.path.join(ROOT, "tests", "browser"))
import browser  # noqa: E402
import scripted_server as scripted  # noqa: E402

OPERATORS = 10000
SECONDS = 10
FRAME_MS = 1000 / 60
# In and to the right, then out and back, so that all widths of bars come up.
DRIVE = """new Promise((done) => {
    const canvas = document.querySelector('#timeline'), frames = [], draws = [];
    const keys = [...Array(40).fill('+'), ...Array(60).fill('ArrowRight'), ...Array(40).fill('-'), ...Array(60).fill('ArrowLeft')];
    let begin = 0, before = 0, drawn = Number(canvas.dataset.frames), step = 0;
    canvas.scrollIntoView({block: 'center'});
    canvas.focus({preventScroll: true});
    const tick = (now) => {
        begin ||= now;
        if (before) frames.push(now - before);
        before = now;
        if (Number(canvas.dataset.frames) !== drawn) draws.push(Number(canvas.dataset.drawMs));
        drawn = Number(canvas.dataset.frames);
        if (now - begin > SECONDS * 1000) return done({frames, draws});
        canvas.dispatchEvent(new KeyboardEvent('keydown', {key: keys[step++ % keys.length]}));
        requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
})""".replace("SECONDS", str(SECONDS))


def measure(page_folders):
    script = scripted.Script()
    answer = scripted.timeline(OPERATORS)
    script.timeline = lambda query: answer
    with scripted.Server(page_folders, script=script) as server, browser.Browser() as b:
        page = b.page(width=1280, height=900)
        page.goto(server.url)
        page.wait_for("document.querySelector('#timeline-number').innerText.includes('10,000 operators')")
        return page.evaluate(DRIVE)


def at(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def bench_canvas(row):
    seen = measure([os.path.join(ROOT, "dashboard", "page"),
                    os.path.join(ROOT, "build", "deps", "src", "uplot", "dist")])
    frames, draws = seen["frames"], seen["draws"]
    late = sum(f > 1.5 * FRAME_MS for f in frames)
    row("page: %d operators, zoom or pan in each frame, %d s, load %.1f" % (OPERATORS, SECONDS, os.getloadavg()[0]),
        "p50 / p99")
    row("from frame to frame (%d frames, %d of them late)" % (len(frames), late),
        "%.1f / %.1f ms" % (at(frames, 0.5), at(frames, 0.99)), "%.1f ms" % FRAME_MS)
    row("drawing the canvas (%d times)" % len(draws), "%.1f / %.1f ms" % (at(draws, 0.5), at(draws, 0.99)),
        "%.1f ms" % FRAME_MS)


if __name__ == "__main__":
    bench_canvas(lambda *cells: print("  ".join(cells)))
