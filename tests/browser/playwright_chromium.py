"""Debian's Chromium driven by Playwright, with an empty profile and no connection to anywhere but this computer."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import chromium
import pytest

pytest.importorskip("playwright", reason="Playwright is not installed: pip install 'privet[dev]'")

from playwright.sync_api import Browser, BrowserContext, Dialog, Error, Page, sync_playwright

from served import Served

AXE = Path(__file__).parents[2] / "tools" / "bundle" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PHONE, DESKTOP = {"width": 375, "height": 812}, {"width": 1280, "height": 900}
_SECONDS = 60


@contextmanager
def launched() -> Iterator[Browser]:
    """Run the browser; it ends with the block."""
    program = chromium.find()
    if program is None:
        pytest.skip("no Chromium here: apt-get install chromium, then make test-browser")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """What the pages of a context have complained of, and which addresses of others they have asked for."""

    def __init__(self, context: BrowserContext, world: Served) -> None:
        self.complaints: list[str] = []
        self.strangers: list[str] = []
        self.accepts = False
        own = (*world.server.urls, "data:", "blob:", "about:")

        def seen(address: str) -> None:
            if not address.startswith(own):
                self.strangers.append(address)

        def told(text: str) -> None:
            if "Content Security Policy" in text or "Refused" in text:
                self.complaints.append(text)

        context.on("request", lambda one: seen(one.url))
        context.on("console", lambda one: told(one.text))
        context.on("weberror", lambda one: self.complaints.append(str(one.error)))
        context.on("dialog", self._answer)

    def _answer(self, dialog: Dialog) -> None:
        if self.accepts:
            dialog.accept()
        else:
            self.complaints.append(f"dialog: {dialog.message}")
            dialog.dismiss()

    def check(self) -> None:
        """Check that the policy forbade nothing, that no script failed, and that no request left the server."""
        assert self.complaints == []
        assert self.strangers == []


def opened(
    browser: Browser,
    world: Served,
    who: str,
    *,
    custodian: bool = False,
    phone: bool = False,
    scheme: str = "light",
) -> tuple[Page, Watched]:
    """Return a page of an account that has logged in by keyboard, and what is watched of it."""
    context = browser.new_context(
        viewport=PHONE if phone else DESKTOP,  # type: ignore[arg-type]
        color_scheme=scheme,  # type: ignore[arg-type]
        device_scale_factor=2 if phone else 1,
        base_url=world.server.urls[int(custodian)],
        reduced_motion="reduce",
    )
    context.set_default_timeout(1000 * _SECONDS)
    watched = Watched(context, world)
    page = context.new_page()
    page.goto("/login")
    wait(page, "document.activeElement.id === 'token'")
    page.keyboard.insert_text(world.tokens[who])
    page.keyboard.press("Enter")
    page.wait_for_url(lambda address: not address.endswith("/login"))
    return page, watched


def wait(page: Page, condition: str, arg: object = None) -> None:
    """Wait until an expression is true. Playwright polls inside the page by eval, which our policy forbids."""
    deadline = time.monotonic() + _SECONDS
    while not _true(page, condition, arg):
        if time.monotonic() > deadline:
            raise AssertionError(f"never became true: {condition}")
        time.sleep(0.03)


def _true(page: Page, condition: str, arg: object) -> bool:
    try:
        return bool(page.evaluate(condition, arg))
    except Error:  # the page is being left, or an element is not there yet
        return False


def settled(page: Page) -> None:
    """Wait until no part of the page is being replaced."""
    page.wait_for_load_state("networkidle")
    wait(page, "!document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling')")


# By keyboard.

_SEEN = """() => {
  const one = document.activeElement, box = one.closest('.cm-editor') || one
  return one === document.body || getComputedStyle(box).outlineStyle !== 'none'
}"""


def tab_to(page: Page, selector: str, *, back: bool = False) -> None:
    """Press Tab until an element has the focus. Whatever is passed on the way shows that it has it."""
    for _ in range(250):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        wait(page, _SEEN)  # the editor draws its outline a moment later
        if page.evaluate(f"document.activeElement.matches({json.dumps(selector)})"):
            return
    raise AssertionError(f"Tab does not reach {selector}")


def fill(page: Page, selector: str, text: str) -> None:
    """Go to a field by Tab and type a text in place of what it has."""
    tab_to(page, selector)
    page.keyboard.press("ControlOrMeta+a")
    if text:
        page.keyboard.insert_text(text)
    else:
        page.keyboard.press("Delete")


def choose(page: Page, selector: str, option: str) -> None:
    """Go to a list by Tab and choose an option by the arrow keys."""
    tab_to(page, selector)
    page.keyboard.press("Home")
    field = f"document.querySelector({json.dumps(selector)})"
    count = page.evaluate(f"{field}.options.length")
    for _ in range(count):
        if page.evaluate(f"{field}.selectedOptions[0].text") == option:
            return
        page.keyboard.press("ArrowDown")
    raise AssertionError(f"{selector} has no option {option}")


def enter(page: Page, selector: str) -> None:
    """Go to a button or a link by Tab and press Enter."""
    tab_to(page, selector)
    page.keyboard.press("Enter")


def shown(page: Page, text: str) -> None:
    """Wait until a text is on the page."""
    wait(page, "text => document.body && document.body.innerText.includes(text)", arg=text)


def violations(page: Page) -> list[str]:
    """Return what axe-core finds on a page, in its present colours."""
    page.evaluate(AXE.read_text(encoding="utf-8") + "\n0")
    found = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(r => "
        "r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')))"
    )
    return list(found)
