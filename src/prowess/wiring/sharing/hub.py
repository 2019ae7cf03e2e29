"""A hub with real adapters: its own folder or a server, the scanner, the encoder and the log."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from prowess.errors import ProwessError
from prowess.host.sharing.governance import DecisionLog
from prowess.host.sharing.signatures import SkillSignatures
from prowess.host.sharing.site import check_publishable
from prowess.host.sharing.web import find_skills
from prowess.host.store.database import open_database, open_file
from prowess.host.writers.export import pack_build
from prowess.hub.catalogue import Catalogue
from prowess.hub.model import HubCaller, TokenScope
from prowess.hub.people import HubPeople
from prowess.hub.search import DocumentIndex
from prowess.hub.service import CheckedSkill, HubPorts, HubService
from prowess.hub.tables import HubDatabase
from prowess.runtime.harness.export import Build
from prowess.runtime.ports import Encoder
from prowess.runtime.sharing.ports import Package
from prowess.safety.rules.table import read_version
from prowess.wiring.library import Runtime, open_runtime
from prowess.wiring.sharing import HUB_DECISIONS, open_log

FOLDER, STORE_FILE = "hub", "hub.db"
_MOST_RULES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenHub:
    """A hub that is put together and not yet reached by anybody."""

    service: HubService
    database: HubDatabase
    runtime: Runtime
    audit: DecisionLog
    encoder: Encoder | None

    def check_encoder(self) -> None:
        """Make sure that what is searched was indexed by the encoder of this hub.

        Raises:
            StoreError: it was another one.
        """
        self.database.check_encoder("" if self.encoder is None else self.encoder.id)

    @property
    def operator(self) -> HubCaller:
        """Whoever can write the hub's files: they may do everything, under their own name."""
        environ = self.runtime.environ
        name = environ.get("USER") or environ.get("USERNAME") or "operator"
        return HubCaller(person=name, scopes=frozenset(TokenScope), is_operator=True)


@contextmanager
def opened_hub(folder: str = "", url: str = "") -> Iterator[OpenHub]:
    """Give a hub, whose folder and tables are made where they are missing.

    Args:
        folder: where its files are; by default `hub` in the state folder.
        url: a PostgreSQL database; by default that of the fleet, where there is one.

    Raises:
        StoreError: the store cannot be used.
    """
    with open_runtime(None) as runtime:
        database, place = open_store(runtime, folder, url)
        try:
            yield open_hub(runtime, database, place)
        finally:
            database.close()


def open_store(runtime: Runtime, folder: str = "", url: str = "") -> tuple[HubDatabase, str]:
    """Return where a hub keeps its catalogue, and its folder.

    Raises:
        StoreError: the address is none of a database.
    """
    place = os.path.abspath(folder or os.path.join(runtime.folders.state, FOLDER))
    if url:
        return HubDatabase(open_database(url)), place
    if runtime.state.database_url:
        return HubDatabase(runtime.state.open_database()), place
    return HubDatabase(open_file(os.path.join(place, STORE_FILE))), place


def open_hub(runtime: Runtime, database: HubDatabase, folder: str) -> OpenHub:
    """Put a hub together."""
    encoder = runtime.routing.encoder()
    database.prepare(lambda: measure(encoder))
    now = _read_clock
    os.makedirs(folder, mode=0o700, exist_ok=True)
    audit = open_log(database.server, folder, HUB_DECISIONS)
    ports = HubPorts(
        catalogue=Catalogue(database, now),
        people=HubPeople(database, now),
        index=DocumentIndex(database),
        check=lambda files, place: _check(runtime, files, place),
        encoder=encoder,
        record=audit.note,
    )
    return OpenHub(
        service=HubService(ports), database=database, runtime=runtime, audit=audit, encoder=encoder
    )


def measure(encoder: Encoder | None) -> tuple[str, int]:
    """Return the name of an encoder and how wide its vectors are; 1 where there is none."""
    return ("", 1) if encoder is None else (encoder.id, len(encoder.encode(["skill"])[0]))


def _read_clock() -> int:
    return time.time_ns() // 1_000_000


def _check(runtime: Runtime, files: Package, place: str) -> CheckedSkill | str:
    """Scan what somebody publishes, and return it with its archive, or why it is refused."""
    try:
        found = find_skills(files, (), place)
        if len(found) != 1 or found[0].path:
            return "it must be one skill, with its SKILL.md at the top."
        checked = check_publishable(found[0], place, runtime.scanning)
        if isinstance(checked, str):
            return checked
        reading = SkillSignatures(runtime.folders.state).read(found[0].files)
        if reading.problem:
            return reading.problem
        archive = pack_build(Build(name="", files=found[0].files))
    except ProwessError as error:
        return str(error)
    report, fields = checked.report, checked.fields
    manifest: dict[str, Any] = {
        "description": checked.description,
        "title": _text(fields, "title") or found[0].name,
        "license": _text(fields, "license"),
        "compatibility": _text(fields, "compatibility"),
    }
    rules = sorted({one.rule_id for one in report.findings})[:_MOST_RULES]
    return CheckedSkill(
        skill=found[0],
        archive=archive,
        title=manifest["title"],
        description=checked.description,
        scan={"verdict": report.verdict.value, "scanner": read_version(), "rules": rules},
        manifest={key: value for key, value in manifest.items() if value},
        provenance={"notChecked": reading.notice} if reading.notice else reading.provenance,
    )


def _text(fields: Mapping[str, Any], name: str) -> str:
    found = fields.get(name)
    return found.strip() if isinstance(found, str) else ""
