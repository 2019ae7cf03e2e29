"""From times and sizes to figures: percentiles, and how memory moves over time."""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from threading import Event, Thread
from typing import Any

# Memory that grows by less than this counts as flat: under full load, not at rest.
BOUND_MIB_PER_MINUTE = 0.5
# A line through less than this says more about the allocator than about us.
JUDGED_FROM_SECONDS = 120.0
# Threads, arenas and caches fill up first, whatever happens later.
_SETTLING = 0.25


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which that share of sorted values lies."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def summary(times: Sequence[float], seconds: float) -> dict[str, float]:
    """Return count, rate and percentiles of times in seconds; the percentiles in milliseconds."""
    ordered = sorted(times)
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return {
        "count": len(ordered),
        "perSecond": round(len(ordered) / seconds, 1) if seconds else 0.0,
        **{name: round(percentile(ordered, share) * 1000, 2) for name, share in shares.items()},
    }


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the straight line that fits the points best; 0 for fewer than two."""
    if len(points) < 2:
        return 0.0
    middle_x = sum(x for x, _ in points) / len(points)
    middle_y = sum(y for _, y in points) / len(points)
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    shared = sum((x - middle_x) * (y - middle_y) for x, y in points)
    return shared / spread if spread else 0.0


def held_mib(process: int) -> float:
    """Return the memory that a process holds, in MiB."""
    status = Path(f"/proc/{process}/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024
    # Where there is no /proc; the number is of kibibytes everywhere.
    command = [which("ps") or "ps", "-o", "rss=", "-p", str(process)]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(told.stdout) / 1024


@dataclass(slots=True)
class MemoryWatch:
    """Looks at the memory of a process every second, from a thread of its own."""

    process: int
    points: list[tuple[float, float]] = field(default_factory=list)
    _done: Event = field(default_factory=Event)
    _thread: Thread | None = None

    def start(self) -> None:
        """Begin to look."""
        self._thread = Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> dict[str, Any]:
        """Stop, and return what was seen."""
        self._done.set()
        if self._thread is not None:
            self._thread.join()
        return memory_figures(self.points)

    def _look(self) -> None:
        began = time.monotonic()
        while True:
            self.points.append((time.monotonic() - began, held_mib(self.process)))
            if self._done.wait(1.0):
                break
        self.points.append((time.monotonic() - began, held_mib(self.process)))


def memory_figures(points: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return memory at the start, each minute and at the end, and the line through what settled."""
    last = points[-1][0]
    minutes = [
        next(held for at, held in points if at >= 60 * minute)
        for minute in range(1, int(last // 60) + 1)
    ]
    line = slope([(at / 60, held) for at, held in points if at >= _SETTLING * last])
    is_judged = last >= JUDGED_FROM_SECONDS
    return {
        "startMiB": round(points[0][1], 1),
        "minutesMiB": [round(held, 1) for held in minutes],
        "endMiB": round(points[-1][1], 1),
        "mostMiB": round(max(held for _, held in points), 1),
        "slopeMiBPerMinute": round(line, 3),
        "boundMiBPerMinute": BOUND_MIB_PER_MINUTE,
        # None where the run was too short to tell.
        "flat": line < BOUND_MIB_PER_MINUTE if is_judged else None,
    }
