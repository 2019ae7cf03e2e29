"""What a hub counts, as Prometheus text: requests by what was asked and answered, and their time.

Labels come from closed sets, so that no client can make the page grow; nothing is told of skills.
"""

import time
from collections import Counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE"))
_FAULT = 500


class RequestCounts:
    """The counters of one hub, all of them counted on its event loop."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds = 0.0

    def add(self, method: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._requests[method if method in _METHODS else "other", status] += 1
        self._seconds += seconds

    def text(self) -> str:
        """Return everything as Prometheus text."""
        rows = [
            f'prowess_hub_requests_total{{method="{method}",status="{status}"}} {count}'
            for (method, status), count in sorted(self._requests.items())
        ]
        total = f"prowess_hub_request_seconds_total {self._seconds:.6f}"
        kinds = [f"# TYPE prowess_hub_{name}_total counter" for name in _COUNTED]
        return "\n".join([kinds[0], *rows, kinds[1], total]) + "\n"


_COUNTED = ("requests", "request_seconds")


class CountedApp:
    """An app whose answers are counted."""

    def __init__(self, app: ASGIApp, counts: RequestCounts) -> None:
        self._app, self._counts = app, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and count what was answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), _FAULT

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            self._counts.add(scope["method"], status, time.monotonic() - began)
