# SPDX-License-Identifier: MIT
"""Tests in a browser: methods of a class whose names begin with test_, each with fresh tabs of one
browser. Prints a line a test; ends with 0, 1, or 77 where there is no browser."""
import traceback

import browser


class Tests:
    """Override prepare() for what all tests need: it runs once."""

    def __init__(self, browser_, folder):
        self.browser, self.folder = browser_, folder

    def prepare(self):
        pass

    @staticmethod
    def ok(condition, what):
        if not condition:
            raise AssertionError(what)

    @staticmethod
    def equal(got, wanted, what=""):
        if got != wanted:
            raise AssertionError(f"{what} is {got!r}, not {wanted!r}")

    def server_ends(self):
        """To be called before a server is stopped: up to then no page may complain, afterwards they have reason to."""
        for page in self.browser.pages():
            self.equal(page.unexpected(), [], "what a page complained of")
            page.expect("net::ERR_", "WebSocket connection to", "status of 401")


def run(tests_class, folder, words=()):
    """Runs those whose names contain one of the words, all without any."""
    if not browser.find():
        print("skipped: chromium is not installed (scripts/setup does that)")
        return 77
    failed = 0
    with browser.Browser() as b:
        print(b.version)
        tests = tests_class(b, folder)
        tests.prepare()
        for name in [n for n in dir(tests) if n.startswith("test_")]:
            if words and not any(w in name for w in words):
                continue
            try:
                getattr(tests, name)()
                for page in b.pages():
                    tests.equal(page.unexpected(), [], "what a page complained of")
                print(f"ok {name}", flush=True)
            except Exception:  # whatever it was: it is told, and the others still run
                failed += 1
                print(f"FAIL {name}\n{traceback.format_exc()}", flush=True)
            finally:  # a page that stays goes on asking and drawing
                for page in b.pages():
                    page.close()
    return 1 if failed else 0
