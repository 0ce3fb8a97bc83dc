# SPDX-License-Identifier: MIT
"""A real browser for tests: Debian's chromium, headless, driven by its DevTools protocol over a pipe.
Nothing else is needed: no port, no driver, no package from npm. See README.md for how to use it.

What must hold: no browser process outlives its `with` block, every wait is for a condition and has a
limit, and everything that a page says or asks for is kept (errors, requests), so that a test can
demand that there was nothing."""
import base64
import fcntl
import itertools
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

from page_scripts import SETTLED_BOX, WATCH_CLICK

LIMIT = 120  # seconds, for anything that is waited for: a guard against hanging, no expectation
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-extensions", "--disable-default-apps", "--disable-breakpad",
    "--disable-domain-reliability", "--metrics-recording-only", "--mute-audio",
    "--force-color-profile=srgb", "--font-render-hinting=none", "--password-store=basic",
    # Whatever the browser itself would like to ask for: there is no network but this machine.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
KEYS = {  # name: (code of the key, its number, text)
    "Tab": ("Tab", 9, ""), "Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""),
    " ": ("Space", 32, " "), "Home": ("Home", 36, ""), "End": ("End", 35, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""), "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowRight": ("ArrowRight", 39, ""), "ArrowDown": ("ArrowDown", 40, ""),
    "Backspace": ("Backspace", 8, ""), "Delete": ("Delete", 46, ""),
    "+": ("Equal", 187, "+"), "-": ("Minus", 189, "-"), "0": ("Digit0", 48, "0"),
    **{letter: ("Key" + letter.upper(), ord(letter.upper()), letter) for letter in "abcdefghijklmnopqrstuvwxyz"},
}


class BrowserError(Exception):
    """The browser or the page did not do what was asked."""


def find():
    """Where chromium is, or None: a test then ends with 77 and says why (`scripts/setup` installs it)."""
    return os.environ.get("ORTSCOPE_CHROMIUM") or shutil.which("chromium")


def high_pipe():
    """Two ends with numbers above those that the child gets: none is overwritten on the way."""
    ends = os.pipe()
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in ends]
    for fd in ends:
        os.close(fd)
    return high


class Browser:
    """with Browser() as browser: page = browser.page()"""

    def __init__(self, executable=None):
        self._numbers = itertools.count(1)
        self._answers = {}
        self._pages = {}
        self._unread = b""
        self._folder = tempfile.mkdtemp(prefix="ortscope-browser-")
        self._in, theirs_out = high_pipe()
        theirs_in, self._out = high_pipe()
        self._log = open(os.path.join(self._folder, "log"), "wb")
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out} {theirs_in}<&- {theirs_out}>&-',
             "chromium", executable or find(), *FLAGS, "--remote-debugging-pipe",
             f"--user-data-dir={self._folder}/profile", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, start_new_session=True,
            pass_fds=(theirs_in, theirs_out), env=dict(os.environ, HOME=self._folder))
        os.close(theirs_in)
        os.close(theirs_out)
        self.version = self.call("Browser.getVersion")["product"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the browser and all of its processes."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._log.close()
        for _ in range(50):  # children may still be writing into it
            shutil.rmtree(self._folder, ignore_errors=True)
            if not os.path.exists(self._folder):
                break
            time.sleep(0.1)

    def page(self, width=1280, height=800, scheme="light"):
        """A new, empty tab."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        self._pages[session] = page
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(domain + ".enable")
        page.resize(width, height)
        page.media(scheme=scheme)
        return page

    def pages(self):
        """Those that are open."""
        return list(self._pages.values())

    def forget(self, session):
        self._pages.pop(session, None)

    # ------------------------------------------------------------------------------ the protocol

    def send(self, method, session=None, **params):
        """A command of the DevTools protocol, without waiting for its answer."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data):]
        return number

    def call(self, method, session=None, **params):
        """A command and its answer."""
        number = self.send(method, session, **params)
        end = time.monotonic() + LIMIT
        while number not in self._answers:
            self.pump(max(0, end - time.monotonic()))
            if time.monotonic() >= end:
                raise BrowserError(f"{method} got no answer in {LIMIT} s; {self.log()}")
        answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def pump(self, seconds):
        """Takes what the browser has to say, waiting so long for the first of it."""
        if not select.select([self._in], [], [], seconds)[0]:
            return
        data = os.read(self._in, 1 << 20)
        if not data:
            raise BrowserError(f"the browser has ended; {self.log()}")
        *messages, self._unread = (self._unread + data).split(b"\0")
        for text in messages:
            message = json.loads(text)
            if "id" in message:
                self._answers[message["id"]] = message
            elif message.get("sessionId") in self._pages:
                self._pages[message["sessionId"]].on_event(message["method"], message["params"])

    def log(self):
        text = pathlib.Path(self._folder, "log").read_text(errors="replace")
        return "its log ends with: " + text[-2000:]


class Page:
    """A tab. Selectors are CSS; what is not there is waited for."""

    def __init__(self, browser, session, target):
        self._browser, self._session, self._target = browser, session, target
        self._loads = 0
        self.expected = []     # parts of errors that a test brings about itself
        self.console = []      # (level, text) of all that the page printed
        self.errors = []       # exceptions, errors of the console, of the network, of the policy
        self.requests = []     # addresses of all requests, the page itself among them
        self.sockets = []      # addresses of WebSockets
        self.frames = []       # (sent, text) of their messages

    def call(self, method, **params):
        return self._browser.call(method, self._session, **params)

    def on_event(self, method, params):
        if method == "Page.loadEventFired":
            self._loads += 1
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled":
            text = " ".join(str(a.get("value", a.get("description"))) for a in params["args"])
            self.console.append((params["type"], text))
            if params["type"] in ("error", "assert"):
                self.errors.append(text)
        elif method == "Log.entryAdded":
            entry = params["entry"]
            self.console.append((entry["level"], entry["text"]))
            if entry["level"] == "error":
                self.errors.append(entry["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.sockets.append(params["url"])
        elif method in ("Network.webSocketFrameSent", "Network.webSocketFrameReceived"):
            self.frames.append((method.endswith("Sent"), params["response"]["payloadData"]))
        elif method == "Page.javascriptDialogOpening":
            self.errors.append("a dialog: " + params["message"])
            self._browser.send("Page.handleJavaScriptDialog", self._session, accept=False)

    # ---------------------------------------------------------------------------------- pages

    def goto(self, address):
        """Opens an address or a file and waits until it is loaded."""
        if "://" not in str(address):
            address = pathlib.Path(address).resolve().as_uri()
        before = self._loads
        answer = self.call("Page.navigate", url=str(address))
        if answer.get("errorText"):
            raise BrowserError(f"{address}: {answer['errorText']}")
        self._until(lambda: self._loads > before, f"{address} to load")

    def close(self):
        self._browser.call("Target.closeTarget", targetId=self._target)
        self._browser.forget(self._session)

    def expect(self, *parts):
        """Errors with one of these in their text are meant to come from now on."""
        self.expected += parts

    def unexpected(self):
        """What the page complained of and nobody asked for."""
        self.evaluate("0")  # what was on its way has come
        return [e for e in self.errors if not any(part in e for part in self.expected)]

    def foreign_requests(self):
        """All requests but that for the page itself; `data:` and `blob:` ask nobody."""
        self.evaluate("0")  # what was on its way has come
        here = self.evaluate("location.href.split('#')[0]")
        return [r for r in self.requests if r != here and not r.startswith(("data:", "blob:"))]

    def evaluate(self, expression):
        """The value of a JavaScript expression (awaited), as JSON has it."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(f"{expression}: "
                               + str(details.get("exception", {}).get("description", details["text"])))
        return answer["result"].get("value")

    def wait_for(self, expression, seconds=LIMIT):
        """Waits until the expression is true, and returns its value."""
        found = []

        def holds():
            found[:] = [self.evaluate(expression)]
            return found[0]
        self._until(holds, expression, seconds)
        return found[0]

    def _until(self, condition, what, seconds=LIMIT):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() >= end:
                raise BrowserError(f"waited {seconds} s in vain for {what}; errors: {self.errors[-5:]}")
            self._browser.pump(0.05)

    # ------------------------------------------------------------------------------- elements

    def text(self, selector):
        """What a person reads in the first such element."""
        self.wait_for(f"!!document.querySelector({json.dumps(selector)})")
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    def texts(self, selector):
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})]"
                             ".map((e) => e.innerText)")

    def count(self, selector):
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def attribute(self, selector, name):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})"
                             f"?.getAttribute({json.dumps(name)})")

    def box(self, selector):
        """Left, top, width, height in the window, after scrolling there, once it stands still."""
        self.wait_for(f"!!document.querySelector({json.dumps(selector)})")
        return self.evaluate(f"({SETTLED_BOX})({json.dumps(selector)})")

    def focused(self):
        """A short description of the element with the keyboard."""
        return self.evaluate(
            "(() => { const e = document.activeElement; return e ? e.tagName.toLowerCase() +"
            "(e.id ? '#' + e.id : '') : ''; })()")

    # --------------------------------------------------------------------------------- a person

    def click(self, selector, x=0.5, y=0.5):
        """With the mouse, at this part of the element's width and height. What was shifted away from
        under the mouse meanwhile is clicked again: nothing else is."""
        for _ in range(50):
            left, top, width, height = self.box(selector)
            at = left + width * x, top + height * y
            if not self.evaluate(f"({WATCH_CLICK})({json.dumps(selector)}, {at[0]}, {at[1]})"):
                continue
            self.mouse("mouseMoved", *at)
            self.mouse("mousePressed", *at, button="left", clickCount=1, buttons=1)
            if self.evaluate("window.clickWatch?.pressed === false"):  # on something else: let go elsewhere
                at = 0, 0
                self.mouse("mouseMoved", *at, buttons=1)
            self.mouse("mouseReleased", *at, button="left", clickCount=1)
            if self.evaluate("window.clickWatch?.clicked !== false"):  # also where another page came
                return
        raise BrowserError(f"{selector} does not stand still or something lies over it")

    def click_at(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1, buttons=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, x1, y1, x2, y2):
        self.mouse("mouseMoved", x1, y1)
        self.mouse("mousePressed", x1, y1, button="left", clickCount=1, buttons=1)
        self.mouse("mouseMoved", (x1 + x2) / 2, (y1 + y2) / 2, button="left", buttons=1)
        self.mouse("mouseMoved", x2, y2, button="left", buttons=1)
        self.mouse("mouseReleased", x2, y2, button="left", clickCount=1)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def wheel(self, x, y, delta_y, ctrl=False):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta_y, modifiers=2 if ctrl else 0)

    def press(self, key, shift=False):
        code, number, text = KEYS[key]
        params = {"key": key, "code": code, "windowsVirtualKeyCode": number,
                  "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown",
                  **params, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **params)

    def type(self, text):
        """Into whatever has the keyboard."""
        self.call("Input.insertText", text=text)

    # ---------------------------------------------------------------------------------- the look

    def resize(self, width, height=800, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=mobile)

    def media(self, scheme="light", medium="", reduced_motion=True):
        """scheme: light or dark; medium: print or screen."""
        self.call("Emulation.setEmulatedMedia", media=medium, features=[
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion",
             "value": "reduce" if reduced_motion else "no-preference"}])

    def screenshot(self, path, full=True):
        """A PNG of the window, or of the page in full length."""
        params = {"format": "png"}
        if full:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            params.update(captureBeyondViewport=True, clip={
                "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        data = base64.b64decode(self.call("Page.captureScreenshot", **params)["data"])
        pathlib.Path(path).write_bytes(data)

    def pdf(self, path=None):
        """The page as printed on A4; its bytes."""
        data = base64.b64decode(self.call("Page.printToPDF", printBackground=False, paperWidth=8.27,
                                          paperHeight=11.69)["data"])
        if path:
            pathlib.Path(path).write_bytes(data)
        return data

    def sideways(self):
        """By how many pixels the page is wider than the window: 0 is as it should be."""
        return self.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
