"""Watching skill folders through the system's own notifications.

Only folders that discovery looked into are watched, one by one and not recursively: a root full of
vendor code costs nothing. A root that does not exist yet is noticed through its nearest existing
parent. What changes is told once nothing has changed for a while: whoever saves a file may write
it in several steps.
"""

import asyncio
import math
import os
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable
from contextlib import aclosing, suppress

from watchfiles import Change, awatch

from prowess.errors import WatchUnavailableError
from prowess.runtime.ports import WatchTargets
from prowess.safety.paths import shown
from prowess.skills.model import SKIPPED_FOLDERS

_BUILD_FOLDERS = frozenset(("build", "dist"))
_MAX_FOLDERS = 8_192
_ARMED_AFTER_MS = 200
_STEP_MS = 25
# Somebody who never stops writing is not waited for: so many times the quiet, and no less than so.
_MOST_QUIETS, _LEAST_PATIENCE_S = 8, 2.0
# A file that was half there is believed once it is left alone for so long: then it is told again.
_SETTLED_S = 1.1
_SKILL_ENDINGS = (".md", ".mdc")
# What the library says of a name that is not UTF-8; it has no class of its own for that.
_NOT_TEXT = "Unable to decode path"


class FolderWatcher:
    """Watches folders with the operating system's help."""

    async def changes(
        self, targets: WatchTargets, *, debounce_ms: int
    ) -> AsyncIterator[frozenset[str]]:
        """Yield the paths that changed, a burst at a time.

        An empty burst comes once, when watching has begun: what changed before that moment was not
        seen, so it is time to look at everything.

        Raises:
            WatchUnavailableError: the system's limits are exhausted.
        """
        interest = _Interest(targets)
        folders = interest.folders()
        if len(folders) > _MAX_FOLDERS:
            raise WatchUnavailableError(
                f"{len(folders)} folders are more than the {_MAX_FOLDERS} that are watched."
            )
        step = max(min(debounce_ms, _STEP_MS), 1)
        seen = awatch(
            *folders, watch_filter=interest, debounce=_STEP_MS, step=step, recursive=False,
            rust_timeout=_ARMED_AFTER_MS, yield_on_timeout=True,
        )  # fmt: skip
        try:
            async with aclosing(_gather(seen, max(debounce_ms, 1) / 1000)) as bursts:
                async for burst in bursts:
                    yield burst
        except (OSError, RuntimeError, UnicodeEncodeError, ExceptionGroup) as error:
            problem = _explain(error)
            if problem:
                raise WatchUnavailableError(problem) from error
            # Look at everything again, then watch what is there.
            yield frozenset()


def _explain(error: Exception) -> str:
    """Return why nothing can be watched; empty where it is only to be begun again.

    What goes wrong while waiting comes from the library in a group of one.
    """
    if isinstance(error, ExceptionGroup):
        expected, rest = error.split((OSError, RuntimeError))
        if rest is not None or expected is None:
            raise error
        return _explain(expected.exceptions[0])
    if isinstance(error, UnicodeEncodeError):
        return f"{shown(str(error.object))} is not UTF-8, so it cannot be watched."
    # A folder went away while watching began, or something came whose name is not UTF-8: then the
    # burst is lost with it.
    if isinstance(error, FileNotFoundError) or _NOT_TEXT in str(error):
        return ""
    return f"the system cannot watch any more folders: {error}"


async def _gather(
    seen: AsyncIterator[set[tuple[Change, str]]], quiet_s: float
) -> AsyncGenerator[frozenset[str], None]:
    """Yield nothing when watching has begun, and then what was seen, when its time has come."""
    loop, waiting = asyncio.get_running_loop(), _Waiting(quiet_s)
    await anext(seen)
    yield frozenset()
    coming = asyncio.ensure_future(anext(seen))
    try:
        while True:
            await asyncio.wait({coming}, timeout=waiting.seconds(loop.time()))
            if coming.done():
                waiting.add({path for _, path in coming.result()}, loop.time())
                coming = asyncio.ensure_future(anext(seen))
            burst = waiting.take(loop.time())
            if burst:
                yield burst
    finally:
        coming.cancel()
        with suppress(asyncio.CancelledError):
            await coming


class _Waiting:
    """Paths that changed, and when they are told: once they are quiet, and once they settled."""

    def __init__(self, quiet_s: float) -> None:
        self._quiet_s = quiet_s
        self._patience_s = max(_MOST_QUIETS * quiet_s, _LEAST_PATIENCE_S)
        self._fresh: set[str] = set()
        self._told: set[str] = set()
        self._due = self._latest = self._again = math.inf

    def seconds(self, now: float) -> float | None:
        """Return how long there is nothing to tell; None where nothing waits."""
        first = min(self._due, self._again)
        return None if first == math.inf else max(first - now, 0.0)

    def add(self, paths: set[str], now: float) -> None:
        """Take what was seen now."""
        if paths:
            self._latest = min(self._latest, now + self._patience_s)
            self._due = min(now + self._quiet_s, self._latest)
            self._fresh |= paths

    def take(self, now: float) -> frozenset[str]:
        """Return what is to be told now."""
        if now >= self._due:
            found, self._fresh = frozenset(self._fresh), set()
            self._due = self._latest = math.inf
            self._told, self._again = self._told | found, now + _SETTLED_S
            return found
        if now >= self._again:
            found, self._told, self._again = frozenset(self._told), set(), math.inf
            return found
        return frozenset()


class _Interest:
    """Which folders to watch, and which of their events matter."""

    def __init__(self, targets: WatchTargets) -> None:
        self._known = frozenset(targets.folders)
        self._missing = [root for root in targets.roots if not os.path.isdir(root)]
        self._files = frozenset(targets.files)
        self._whole = frozenset(targets.whole)

    def folders(self) -> list[str]:
        """Return the existing folders to watch, each once."""
        watched = {folder for folder in self._known if os.path.isdir(folder)}
        watched.update(_find_parents([*self._missing, *self._files]))
        inner = {folder for folder in self._whole if os.path.isdir(folder)}
        # Where all of them are too many, those that say which skills there are come first.
        return sorted(watched | inner if len(watched | inner) <= _MAX_FOLDERS else watched)

    def __call__(self, change: Change, path: str) -> bool:
        """Return whether an event can change which skills there are, or what they say."""
        if path in self._files or path in self._known:
            return True
        if self._missing and _leads_to(path, self._missing):
            return True
        folder, name = os.path.split(path)
        if folder in self._whole:
            # What begins with a dot comes and goes while people edit: the next look finds it.
            return not name.startswith(".")
        if folder not in self._known or name.startswith(".") or name in SKIPPED_FOLDERS:
            return False
        if name.lower().endswith(_SKILL_ENDINGS) or name == "openai.yaml":
            return name.lower() != "readme.md"
        return change is Change.added and _may_hold_skills(path, name)


def _may_hold_skills(path: str, name: str) -> bool:
    """Return whether a new entry is a folder worth a look."""
    if name in _BUILD_FOLDERS:
        # Mostly output that comes and goes; now and then somebody's skill.
        return os.path.isfile(os.path.join(path, "SKILL.md"))
    return os.path.isdir(path)


def _leads_to(path: str, roots: Iterable[str]) -> bool:
    return any(root == path or root.startswith(path + os.sep) for root in roots)


def _find_parents(paths: Collection[str]) -> set[str]:
    found = set()
    for path in paths:
        parent = os.path.dirname(path)
        while parent != os.path.dirname(parent) and not os.path.isdir(parent):
            parent = os.path.dirname(parent)
        found.add(parent)
    return found
