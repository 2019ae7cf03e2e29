"""Which stores a runtime has: files of its state folder, or the database of a fleet.

Without an address of a database nothing of the database is imported: hooks run in front of every
prompt, and one machine needs no more than its files.
"""

import json
import os
from collections.abc import Mapping
from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from prowess.errors import ConfigSyntaxError
from prowess.host.config.file import FILE_NAME, ConfigFile, parse
from prowess.host.files.state_files import ACCEPTANCES_FILE, locked
from prowess.host.store.reports import REPORTS_FILE, SqliteReports
from prowess.runtime.service import SkillsService

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from prowess.host.store.database import Database
    from prowess.host.store.fleet.files import SharedFiles
    from prowess.runtime.ports import SessionStore, VectorStore
    from prowess.runtime.usage import UsageStore
    from prowess.runtime.workshop.ports import ProposalStore

DATABASE_VARIABLE = "PROWESS_DATABASE_URL"
STORE_FILE, VECTORS_FILE, USAGE_FILE = "prowess.db", "vectors.db", "usage.db"

# Of one machine, in a config that all have.
_OWN_SECTION = "state"


def _dump(values: Mapping[str, Any]) -> str:
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


class StateStores:
    """The stores of one state folder; each is opened on first use."""

    def __init__(
        self,
        skills: SkillsService,
        config: ConfigFile,
        folder: str,
        environ: Mapping[str, str],
        *,
        in_fleet: bool = True,
    ) -> None:
        self._skills, self._config, self._folder, self._environ = skills, config, folder, environ
        self._database: Database | None = None
        self._in_fleet = in_fleet

    # It holds as long as the process: a store that is open does not move.
    @cached_property
    def database_url(self) -> str:
        """Where the fleet that this machine is part of keeps its state; empty where it is none.

        It may hold a password, so it is never shown.
        """
        if not self._in_fleet:
            return ""
        given = self._environ.get(DATABASE_VARIABLE, "").strip()
        # From the file itself: who opens a store has not asked for the settings yet. The shape says
        # whether it is set, and most files need not be read again to find that it is not.
        shape = {} if given else self._config.read().values.get("state")
        if not (isinstance(shape, Mapping) and shape.get("databaseUrl")):
            return given
        found = self._config.values().get("state", {}).get("databaseUrl")
        return found.strip() if isinstance(found, str) else ""

    @property
    def database_password(self) -> str:
        """What no line of a log may hold."""
        from urllib.parse import unquote, urlsplit

        url = self.database_url
        return unquote(urlsplit(url).password or "") if url else ""

    def rehearse(self, folder: str) -> Self:
        """Return the stores of another folder, in no fleet: what is kept there ends with it."""
        return type(self)(self._skills, self._config, folder, self._environ, in_fleet=False)

    def open_database(self, *, durable: bool = True) -> "Database":
        """Return the database of the fleet, else the one in a file of the state folder.

        Raises:
            StoreError: its address is none.
        """
        from prowess.host.store.database import open_database, open_file

        if self._database is None and (url := self.database_url):
            self._database = open_database(url, most=self._skills.settings.state.connections)
        if self._database is not None:
            return self._database
        return open_file(self._path(STORE_FILE), durable=durable)

    def exists(self, file: str) -> bool:
        """Return whether there may be something to read: to look must not make a file."""
        return bool(self.database_url) or os.path.exists(self._path(file))

    def open_sessions(self) -> "SessionStore":
        """Return what keeps the snapshots of sessions.

        Raises:
            StoreError: it cannot be opened.
        """
        if self.database_url:
            from prowess.host.store.fleet.caches import LastKnownSessions

            return LastKnownSessions(self.open_database())
        from prowess.host.store.sessions import StoredSessions

        # What a power cut takes of it is made anew at the next turn.
        return StoredSessions(self.open_database(durable=False))

    def open_proposals(self) -> "ProposalStore":
        """Return what keeps the proposals of the workshop."""
        if self.database_url:
            from prowess.host.store.fleet.caches import LastKnownProposals

            return LastKnownProposals(self.open_database())
        from prowess.host.store.proposals import StoredProposals

        return StoredProposals(self.open_database())

    def open_usage(self) -> "UsageStore":
        """Return what keeps the log of what became of skills."""
        if self.database_url:
            from prowess.host.store.fleet.caches import LastKnownUsage

            return LastKnownUsage(self.open_database())
        from prowess.host.store.usage import SqliteUsage

        return SqliteUsage(self._path(USAGE_FILE))

    def open_vectors(self) -> "VectorStore":
        """Return the vectors that routing and examples share."""
        if self.database_url:
            from prowess.host.store.fleet.caches import StoredVectors

            return StoredVectors(self.open_database())
        from prowess.host.store.routing import SqliteVectors

        return SqliteVectors(self._path(VECTORS_FILE))

    @cached_property
    def reports(self) -> SqliteReports:
        """What the scanner reported, for every process that has this state."""
        path = self._path(REPORTS_FILE)
        if not self.database_url:
            return SqliteReports(path)
        from prowess.host.store.fleet.caches import SharedReports

        return SharedReports(path, self.open_database())

    @cached_property
    def files(self) -> "SharedFiles | None":
        """The small files that a fleet has in common; None where this machine is in none."""
        if not self.database_url:
            return None
        from prowess.host.store.fleet.files import SharedFile, SharedFiles
        from prowess.host.store.routing import EXAMPLES_FILE, THRESHOLDS_FILE

        names = (ACCEPTANCES_FILE, EXAMPLES_FILE, THRESHOLDS_FILE)
        shared = {name: SharedFile(self._path(name)) for name in names}
        shared[FILE_NAME] = SharedFile(
            self._config.path, self._without_own, self._with_own, has_revisions=True
        )
        return SharedFiles(self.open_database(), self._folder, shared)

    def hold(self, path: str) -> "AbstractContextManager[None]":
        """Keep other writers of one of those files out, here and in the fleet."""
        shared = self.files
        return locked(path) if shared is None else shared.hold(path)

    def hold_folder(self, path: str) -> "AbstractContextManager[None]":
        """Keep the other machines of a fleet out that would write the folder of a skill."""
        if not self.database_url:
            return nullcontext()
        from prowess.host.store.fleet.turns import held

        return held(self.open_database(), f"skill {path}")

    def measure_files(self) -> dict[str, int]:
        """Return how large each file with a store of this machine is; without those not made."""
        names = (STORE_FILE, USAGE_FILE, REPORTS_FILE, VECTORS_FILE)
        paths = {name: self._path(name) for name in names}
        return {name: os.path.getsize(path) for name, path in paths.items() if os.path.isfile(path)}

    def _without_own(self, text: str) -> str:
        """Return a config without what is about one machine: the address of this very database."""
        values = self._parse(text)
        if values is None or _OWN_SECTION not in values:
            return text
        return _dump({key: value for key, value in values.items() if key != _OWN_SECTION})

    def _with_own(self, theirs: str, mine: str) -> str:
        """Return the config of the others with what the one here says of this machine."""
        own, values = (self._parse(mine) or {}).get(_OWN_SECTION), self._parse(theirs)
        if own is None or values is None:
            return theirs
        return _dump({**values, _OWN_SECTION: own})

    def _parse(self, text: str) -> dict[str, Any] | None:
        try:
            return parse(self._config.path, text)
        except ConfigSyntaxError:
            # Who asks for it is told what is wrong with it; it travels as it is.
            return None

    def close(self) -> None:
        """Give back what was opened; a later use opens it again."""
        if "reports" in vars(self):
            self.reports.close()
        if self._database is not None:
            self._database.close()

    def _path(self, file: str) -> str:
        return os.path.join(self._folder, file)
