"""The page's connection with somebody listening: answers can be kept back, refused and read."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute
from tests.browser.browsing import PATIENCE_MS


class Tap:
    """Every frame of a page, both ways; to be made before the page is opened."""

    def __init__(self, page: Page) -> None:
        self.sent: list[dict[str, Any]] = []
        self.received: list[str] = []
        # Methods, alone or followed by an agent's id, whose answers are kept back.
        self.holding: set[str] = set()
        # Methods that are refused without asking the gateway, and what is said.
        self.refusing: dict[str, str] = {}
        self.held: list[Callable[[], None]] = []
        self._answers: list[tuple[dict[str, Any], Any]] = []
        self._page = page
        page.route_web_socket("**/ws", self._opened)

    def release(self) -> None:
        """Let go of what was kept back, the last first."""
        self.holding.clear()
        waiting, self.held = self.held, []
        for late in reversed(waiting):
            late()

    def calls(self, method: str) -> list[dict[str, Any]]:
        """Return what the page asked for by a method."""
        return [one["params"] for one in self.sent if one["method"] == method]

    def heard(self, event: str) -> int:
        """Return how many events of this name the page was told of."""
        return sum(f'"event":"{event}"' in frame.replace(" ", "") for frame in self.received)

    def until(self, seen: Callable[[], bool]) -> None:
        """Wait for something to be seen."""
        end = time.monotonic() + PATIENCE_MS / 1000
        while not seen():
            if time.monotonic() > end:
                pytest.fail("the page did not ask for it")
            # Frames are handed over only while Playwright is at work.
            self._page.wait_for_timeout(20)

    # Any JSON.
    def answer(self, method: str, **params: Any) -> Any:  # noqa: ANN401
        """Wait for an answer to a method that was called with these parameters; the last counts."""
        found: list[Any] = []

        def is_answered() -> bool:
            found[:] = [
                payload
                for asked, payload in self._answers
                if asked["method"] == method
                and all(asked["params"].get(name) == value for name, value in params.items())
            ]
            return bool(found)

        self.until(is_answered)
        return found[-1]

    def _opened(self, socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        # Ids begin anew with each connection.
        asked: dict[str, dict[str, Any]] = {}

        def sent(frame: str | bytes) -> None:
            said = json.loads(frame)
            self.sent.append(said)
            asked[said["id"]] = said
            refusal = self.refusing.get(said["method"])
            if refusal is None:
                server.send(frame)
                return
            error = {"code": "UNAVAILABLE", "message": refusal}
            socket.send(json.dumps({"type": "res", "id": said["id"], "ok": False, "error": error}))

        def answered(frame: str | bytes) -> None:
            text = frame if isinstance(frame, str) else frame.decode()
            self.received.append(text)
            said = json.loads(text)
            request = asked.get(str(said.get("id")))
            if request is not None:
                self._answers.append((request, said.get("payload")))
            if request is not None and self._is_held(request):
                self.held.append(lambda: socket.send(text))
            else:
                socket.send(text)

        socket.on_message(sent)
        server.on_message(answered)

    def _is_held(self, request: dict[str, Any]) -> bool:
        method, agent = request["method"], request["params"].get("agentId", "")
        return bool({method, f"{method} {agent}"} & self.holding)
