"""The workshop for a transcript that somebody hands over: the same parts, with other settings.

Whoever names a file wants its corrections looked for, so that is switched on; no model is asked,
since old turns are no reason to pay for a review. A rehearsal works on a copy of the store in a
folder of its own: what it proposes, scans and finds to be known already is real, and then gone.
"""

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

from prowess.errors import StoreError
from prowess.host.config.config import ConfigFile
from prowess.runtime.route.answer import RoutingService
from prowess.runtime.scan import ScanService
from prowess.runtime.workshop.service import WorkshopService
from prowess.settings import ApprovalPolicy, ReviewMode, Settings
from prowess.wiring.library import STORE_FILE, Runtime
from prowess.wiring.workshop import open_workshop


@contextmanager
def open_capture(runtime: Runtime) -> Iterator[WorkshopService]:
    """Return the workshop with phrases looked for, whatever `autoCapture` says of live turns."""
    yield open_workshop(_Other(runtime, runtime.folders.state, rehearses=False))


@contextmanager
def open_rehearsal(runtime: Runtime) -> Iterator[WorkshopService]:
    """Return a workshop that keeps nothing: it queues, and what it queued ends with it.

    Raises:
        StoreError: the store cannot be copied.
    """
    with rehearsing(runtime) as other:
        yield open_workshop(other)


@contextmanager
def rehearsing(runtime: Runtime) -> Iterator[Runtime]:
    """Return a runtime that queues proposals in a copy of the store, which ends with it.

    Raises:
        StoreError: the store cannot be copied.
    """
    with tempfile.TemporaryDirectory(prefix="prowess-rehearsal-") as folder:
        _copy_store(os.path.join(runtime.folders.state, STORE_FILE), folder)
        yield _Other(runtime, folder, rehearses=True)


class _Config(ConfigFile):
    """The config file, but for the few settings that a capture overrules."""

    def __init__(self, path: str, *, rehearses: bool) -> None:
        super().__init__(path)
        self._rehearses = rehearses

    def read(self) -> Settings:
        found = super().read()
        asked = replace(found.workshop, auto_capture=True, review_mode=ReviewMode.HEURISTIC)
        if self._rehearses:
            asked = replace(
                asked, selected=True, enabled=True, approval_policy=ApprovalPolicy.PENDING
            )
        return replace(found, workshop=asked)


class _Other(Runtime):
    """A runtime with another config and state folder that scans and routes as the first does."""

    def __init__(self, runtime: Runtime, state: str, *, rehearses: bool) -> None:
        super().__init__(
            skills=runtime.skills,
            config_file=_Config(runtime.config.path, rehearses=rehearses),
            folders=replace(runtime.folders, state=state),
            environ=runtime.environ,
        )
        self._first = runtime

    @property
    def scanning(self) -> ScanService:
        return self._first.scanning

    @property
    def routing(self) -> RoutingService:
        return self._first.routing


def _copy_store(path: str, folder: str) -> None:
    if not os.path.exists(path):
        return
    try:
        with (
            closing(sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(os.path.join(folder, STORE_FILE))) as copy,
        ):
            source.backup(copy)
    except sqlite3.Error as error:
        raise StoreError(path, f"cannot be read ({error}): try again.") from error


def _quoted(path: str) -> str:
    """Return a path as part of an address."""
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
