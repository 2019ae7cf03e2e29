"""Watching skill folders through the system's own notifications.

Only folders that discovery looked into are watched, one by one and not recursively: a root full of
vendor code costs nothing. A root that does not exist yet is noticed through its nearest existing
parent.
"""

import os
from collections.abc import AsyncIterator, Collection, Iterable

from watchfiles import Change, awatch

from prowess.errors import WatchUnavailableError
from prowess.runtime.ports import WatchTargets
from prowess.skills.model import SKIPPED_FOLDERS

_BUILD_FOLDERS = frozenset(("build", "dist"))
_MAX_FOLDERS = 8_192
_ARMED_AFTER_MS = 200
_SKILL_ENDINGS = (".md", ".mdc")


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
        armed = False
        try:
            async for burst in awatch(
                *folders,
                watch_filter=interest,
                debounce=max(debounce_ms, 1),
                step=max(min(debounce_ms, 50), 1),
                recursive=False,
                rust_timeout=_ARMED_AFTER_MS,
                yield_on_timeout=True,
            ):
                if burst or not armed:
                    yield frozenset(path for _, path in burst)
                armed = True
        except FileNotFoundError:
            # A folder went away while watching began: look again, then watch what is left.
            yield frozenset()
        except (OSError, RuntimeError) as error:
            raise WatchUnavailableError(
                f"the system cannot watch any more folders: {error}"
            ) from error


class _Interest:
    """Which folders to watch, and which of their events matter."""

    def __init__(self, targets: WatchTargets) -> None:
        self._known = frozenset(targets.folders)
        self._missing = [root for root in targets.roots if not os.path.isdir(root)]
        self._files = frozenset(targets.files)

    def folders(self) -> list[str]:
        """Return the existing folders to watch, each once."""
        watched = {folder for folder in self._known if os.path.isdir(folder)}
        watched.update(_existing_parents([*self._missing, *self._files]))
        return sorted(watched)

    def __call__(self, change: Change, path: str) -> bool:
        """Return whether an event can change which skills there are, or what they say."""
        if path in self._files or path in self._known:
            return True
        if self._missing and _leads_to(path, self._missing):
            return True
        folder, name = os.path.split(path)
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


def _existing_parents(paths: Collection[str]) -> set[str]:
    found = set()
    for path in paths:
        parent = os.path.dirname(path)
        while parent != os.path.dirname(parent) and not os.path.isdir(parent):
            parent = os.path.dirname(parent)
        found.add(parent)
    return found
