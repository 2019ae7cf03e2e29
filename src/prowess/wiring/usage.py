"""The usage log with its real store: one for each runtime, opened by the first use."""

import os
import time
from datetime import date

from prowess.host.store.usage import SqliteUsage
from prowess.runtime.usage import UsageLog, names_known, utc_day
from prowess.wiring.library import USAGE_FILE, Runtime


def open_usage(runtime: Runtime) -> UsageLog:
    """Return the usage log of a runtime; it is closed with it."""
    if runtime.usage_log is None:
        runtime.usage_log = UsageLog(
            SqliteUsage(os.path.join(runtime.folders.state, USAGE_FILE)),
            known=names_known(runtime.skills),
            now_ms=lambda: time.time_ns() // 1_000_000,
            day_of=_local_day,
        )
    return runtime.usage_log


def _local_day(at_ms: int) -> int:
    """Return the number of the day of a moment where this machine stands."""
    try:
        there = time.localtime(at_ms / 1000)
    except (OverflowError, OSError, ValueError):
        # A clock beyond all calendars.
        return utc_day(at_ms)
    return date(there.tm_year, there.tm_mon, there.tm_mday).toordinal()
