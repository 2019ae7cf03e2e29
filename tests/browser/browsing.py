"""A real Chromium for the tests of the studio, and a page that tolerates no error of its own."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import (
    Browser,
    CDPSession,
    ConsoleMessage,
    Page,
    WebSocketRoute,
    expect,
    sync_playwright,
)
from tools.browser import NAMES

_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # In a container the shared memory is small.
    "--disable-dev-shm-usage",
)
# A gateway may be gone, or going, before the page is closed: browsers say so by themselves.
_GONE = (
    "net::ERR_CONNECTION_REFUSED",
    "net::ERR_CONNECTION_RESET",
    "net::ERR_EMPTY_RESPONSE",
    "Connection closed before receiving a handshake response",
    # The page gave up a try of its own, as when its agent changes while the gateway is away.
    "WebSocket is closed before the connection is established",
    "Unexpected response code: 503",
)
# A machine with other things to do takes its time; only a failure waits that long.
PATIENCE_MS = 60_000
LIVE = ".line-state[data-state=live]"
# Nothing is under way, and nothing is after two frames either: an answer often asks for more.
_CALM = """async () => {
  const { gateway } = await import('/js/app.js');
  const busy = () => gateway.state !== 'live' || gateway._waiting.size + gateway._queue.length > 0;
  if (busy()) return false;
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  return !busy();
}"""
_MESSAGES_STAY = """try {
  const name = 'prowess.preferences';
  const liked = JSON.parse(localStorage.getItem(name) ?? '{}');
  localStorage.setItem(name, JSON.stringify({ ...liked, messages: 'stay' }));
} catch { /* a page without storage */ }"""
# Where screenshots are kept, for whoever wants to look at what a test saw.
SHOTS = Path(os.environ.get("PROWESS_SCREENSHOTS", "test-artifacts/screenshots"))


def chromium() -> str | None:
    """Return where the system's Chromium is, or None; Playwright's own download is not used."""
    named = os.environ.get("PROWESS_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def browsing() -> Iterator[Browser]:
    """Start Chromium without a screen."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=list(_QUIET), timeout=PATIENCE_MS
        )
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """One page, as a person has it open, with everything that went wrong in it."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        page.set_default_timeout(PATIENCE_MS)
        # Where everything takes long, a message would be gone before it is looked for.
        page.add_init_script(_MESSAGES_STAY)
        self.problems: list[str] = []
        # What a test expects to be complained about, as part of the message.
        self.expected: list[str] = list(_GONE)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.problems.append(f"{error}\n{error.stack}"))
        page.on("dialog", self._asked)

    def go(self, path: str, *, until: str = LIVE, calm: bool = True) -> Page:
        """Open a view and wait for the gateway, and until all that was asked for is drawn.

        What comes later moves what stands below it: a press in that moment meets nothing. Who keeps
        answers back waits for what they look for themselves.
        """
        self.page.goto(self.address + path)
        self.page.wait_for_selector(until, state="attached")
        if calm and until == LIVE:
            self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until the page waits for nothing, and has drawn all that it knows."""
        end = time.monotonic() + PATIENCE_MS / 1000
        while not self.page.evaluate(_CALM):
            if time.monotonic() > end:
                raise AssertionError("the page goes on asking: " + self.page.url)
            self.page.wait_for_timeout(20)

    def shot(self, name: str) -> None:
        """Keep what the page looks like."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png")

    def stop_the_clock(self) -> None:
        """Let no time pass in the page, so that what it counts as quick is quick here, too."""
        self.page.evaluate("() => { const now = performance.now(); performance.now = () => now; }")

    def unexpected(self) -> list[str]:
        """Return what went wrong and was not expected to."""
        return [one for one in self.problems if not any(words in one for words in self.expected)]

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.problems.append(f"{message.type}: {message.text} {message.location}")

    # Nothing in the studio opens one: whatever does is a script that should not run.
    def _asked(self, dialog: Any) -> None:  # noqa: ANN401 - Playwright's own type is not exported
        self.problems.append(f"a dialog: {dialog.message}")
        dialog.dismiss()


def busy_ms(cdp: CDPSession) -> float:
    """Return for how long the main thread of a page has worked so far.

    In time of the thread: what a busy machine takes from it is no fault of the page. The session
    has `Performance.enable` with `timeDomain: threadTicks` behind it.
    """
    found = {one["name"]: one["value"] for one in cdp.send("Performance.getMetrics")["metrics"]}
    return 1_000 * float(found["TaskDuration"])


class Line:
    """The page's connection, passed through and open to tampering."""

    def __init__(self, page: Page) -> None:
        self.sockets: list[WebSocketRoute] = []
        # Called with each frame of the page before it goes on.
        self.before_sending: list[Any] = []
        self.is_cut = False
        page.route_web_socket("**/ws", self._opened)

    def cut(self) -> None:
        """Break the connection, and let no new one through."""
        self.is_cut = True
        for socket in self.sockets:
            socket.close()
        self.sockets.clear()

    def mend(self) -> None:
        """Let connections through again."""
        self.is_cut = False

    def _opened(self, socket: WebSocketRoute) -> None:
        if self.is_cut:
            socket.close()
            return
        server = socket.connect_to_server()
        self.sockets.append(socket)

        def sent(frame: str | bytes) -> None:
            for called in self.before_sending:
                called(frame)
            server.send(frame)

        socket.on_message(sent)
