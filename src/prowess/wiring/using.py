"""The usage log with its real store: one for each runtime, opened by the first use."""

import os
import time

from prowess.host.usage_store import SqliteUsage
from prowess.runtime.usage import UsageLog, names_known
from prowess.wiring.runtime import USAGE_FILE, Runtime


def open_usage(runtime: Runtime) -> UsageLog:
    """Return the usage log of a runtime; it is closed with it."""
    if runtime.usage_log is None:
        runtime.usage_log = UsageLog(
            SqliteUsage(os.path.join(runtime.folders.state, USAGE_FILE)),
            known=names_known(runtime.skills),
            now_ms=lambda: time.time_ns() // 1_000_000,
        )
    return runtime.usage_log
