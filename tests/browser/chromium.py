"""Debian's Chromium, without a window, driven through its debugging pipe: no package is needed for it."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")
_SECONDS = 60


def find() -> str | None:
    """Return the program, or None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class BrowserError(Exception):
    """The page raised an error, or the browser did not answer."""


class Browser:
    """A browser with an empty profile of its own."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.mkdtemp(prefix="privet-browser-")
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        # above 9, so that making them 3 and 4 in the child overwrites neither
        low, high = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out))

        def place() -> None:
            os.dup2(low, 3)
            os.dup2(high, 4)

        self._program = subprocess.Popen(
            [
                program,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--remote-debugging-pipe",
                f"--user-data-dir={self._profile}",
                "about:blank",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(3, 4, low, high),
            preexec_fn=place,
        )
        for end in (theirs_in, theirs_out, low, high):
            os.close(end)
        self._write, self._read = ours_out, ours_in
        self._rest, self._number = b"", 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._program.kill()
        self._program.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self._profile, ignore_errors=True)

    def open(self, address: str, *, width: int = 390, height: int = 844) -> Page:
        """Return a new page at an address, with the size of a phone if no other is given."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for part in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{part}.enable")
        page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2, mobile=width < 600
        )
        page.go(address)
        return page

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Call the browser and return its result."""
        self._number += 1
        number = self._number
        told = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        body = json.dumps(told).encode() + b"\0"
        while body:
            body = body[os.write(self._write, body) :]
        while True:
            reply = self._next()
            if reply.get("id") == number:
                if "error" in reply:
                    raise BrowserError(f"{method}: {reply['error']}")
                result: dict[str, Any] = reply["result"]
                return result
            self.events.append(reply)

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + _SECONDS
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise BrowserError("the browser does not answer")
            chunk = os.read(self._read, 2**20)
            if not chunk:
                raise BrowserError("the browser has ended")
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\0")
        reply: dict[str, Any] = json.loads(line)
        return reply


class Page:
    """One tab."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call the browser about this tab."""
        return self._browser.call(method, self._session, **parameters)

    def go(self, address: str) -> None:
        """Load an address."""
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """Return the value of an expression, awaited."""
        reply = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in reply:
            raise BrowserError(str(reply["exceptionDetails"].get("exception", {}).get("description")))
        return reply["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + _SECONDS
        while not self.run(condition):
            if time.monotonic() > deadline:
                raise BrowserError(f"never became true: {condition}")
            time.sleep(0.05)

    def picture(self, path: Path) -> None:
        """Save what the page looks like."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def requests(self) -> list[dict[str, Any]]:
        """Return every request that the tab has made."""
        self.run("0")  # reads what is waiting
        return [
            event["params"]["request"]
            for event in self._browser.events
            if event.get("method") == "Network.requestWillBeSent" and event.get("sessionId") == self._session
        ]

    def complaints(self) -> list[str]:
        """Return what the browser complained of, such as what the page's policy forbids."""
        self.run("0")
        return [
            str(event["params"]["entry"]["text"])
            for event in self._browser.events
            if event.get("method") == "Log.entryAdded" and event.get("sessionId") == self._session
        ]
