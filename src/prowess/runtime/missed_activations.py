"""Missed activations for people who look again and again: the last report is kept for a while.

To read sessions and to route their prompts takes seconds, so one thread does it at a time, and
whoever asks meanwhile gets the same answer.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from prowess.runtime.sessions import SessionsReport

_KEPT_MS = 120_000
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A report, and when it was made."""

    report: SessionsReport
    made_ms: int
    days: int


class MissedActivations:
    """Makes reports of sessions, and keeps the last one."""

    def __init__(self, report: Callable[[int], SessionsReport], now_ms: Callable[[], int]) -> None:
        """Take what reports on sessions since a moment, and the clock."""
        self._report, self._now_ms = report, now_ms
        self._making = threading.Lock()
        self._kept: Kept | None = None

    def of(self, days: int, *, fresh: bool = False) -> Kept:
        """Return the report of the last days; `fresh` makes it anew whatever is kept."""
        with self._making:
            now, kept = self._now_ms(), self._kept
            is_new = kept is not None and abs(now - kept.made_ms) < _KEPT_MS
            if kept is not None and is_new and kept.days == days and not fresh:
                return kept
            report = self._report(now - days * _DAY_MS)
            self._kept = Kept(report=report, made_ms=now, days=days)
            return self._kept
