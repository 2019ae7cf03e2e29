"""The skills of one workspace, kept up to date with as little work as possible."""

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prowess.runtime.ports import FactsProbe, Scan, SkillSources
from prowess.settings import Settings
from prowess.skills import eligibility
from prowess.skills.catalog import Catalog, merge
from prowess.skills.eligibility import HostFacts, Verdict

if TYPE_CHECKING:
    from prowess.skills.model import Skill


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceState:
    """Everything that follows from files, host and settings, before any agent is considered."""

    settings: Settings
    scan: Scan
    catalog: Catalog
    facts: HostFacts
    verdicts: Mapping[str, Verdict]


class Workspace:
    """Holds the current state of one workspace folder and rebuilds what changed."""

    def __init__(self, folder: str, sources: SkillSources, facts: FactsProbe) -> None:
        self.folder = folder
        self.sources = sources
        self._facts = facts
        self._state: WorkspaceState | None = None
        self._lock = threading.RLock()

    def state(self, settings: Settings) -> WorkspaceState:
        """Return the state, built on first use and whenever the settings are others."""
        with self._lock:
            if self._state is None or self._state.settings is not settings:
                return self.refresh(settings)
            return self._state

    def refresh(self, settings: Settings, changed: Collection[str] | None = None) -> WorkspaceState:
        """Look again; `changed` names the only files that can differ."""
        with self._lock:
            return self._refreshed(settings, changed)

    def _refreshed(self, settings: Settings, changed: Collection[str] | None) -> WorkspaceState:
        old = self._state
        scan = self.sources.scan(settings, changed)
        if old is not None and scan is old.scan and settings is old.settings:
            catalog = old.catalog
        else:
            catalog = merge(scan.skills, settings.skills.load.precedence)
        facts = self._facts.probe(
            eligibility.needed_bins(catalog.skills) | {"brew"},
            eligibility.needed_env(catalog.skills),
        )
        if old is not None and catalog is old.catalog and facts == old.facts:
            return old
        verdicts = _verdicts(catalog, facts, settings, old)
        self._state = WorkspaceState(
            settings=settings, scan=scan, catalog=catalog, facts=facts, verdicts=verdicts
        )
        return self._state


def _verdicts(
    catalog: Catalog, facts: HostFacts, settings: Settings, old: WorkspaceState | None
) -> dict[str, Verdict]:
    """Judge every winner; the same object under the same facts is not judged again."""
    known: Mapping[str, Skill] = {}
    judged: Mapping[str, Verdict] = {}
    if old is not None and old.settings is settings and old.facts == facts:
        known, judged = old.catalog.winners, old.verdicts
    return {
        name: judged[name]
        if known.get(name) is skill
        else eligibility.check(skill, facts, settings)
        for name, skill in catalog.winners.items()
    }
