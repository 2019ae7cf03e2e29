"""What the methods of the gateway call, and the installs of this gateway.

The composition root fills the services in; what is slow to open is opened by the first call that
needs it. Whoever asked for an install hears it as it goes; `Installs` is for the others who may
install. What it keeps is bounded, stays in memory, and is forgotten some minutes after the end.
"""

import json
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from prowess.gateway.calls import Json
from prowess.runtime.config.edits import ConfigEdits
from prowess.runtime.install import InstallReport, InstallService
from prowess.runtime.library import Removals
from prowess.runtime.route.answer import RoutingService
from prowess.runtime.service import SkillsService
from prowess.runtime.usage import UsageLog
from prowess.runtime.watch import Nodes
from prowess.runtime.workshop.proposals import Proposals
from prowess.runtime.workshop.service import WorkshopService
from prowess.safety.rules.table import Acceptance
from prowess.skills.explanation import Explanation
from prowess.skills.model import Skill
from prowess.skills.text import clean
from prowess.skills.validation import Report
from prowess.wire.skills import pick

STATE = "skills.install.state"
# For so long an install that ended is told of, and so many of them.
KEPT_SECONDS, MOST_ENDED = 600.0, 16
MOST_OUTPUT = 16_000
_BROKEN_OFF = "It broke off: the gateway's log says why."
_HELPER, _MOST_HELPERS = re.compile(r"Skill Remover [0-9]{13}"), 64


# Changed under the lock of its board alone.
@dataclass(slots=True, kw_only=True, eq=False)
class _InstallRecord:
    skill: str
    install_id: str
    agent_id: str
    started_at: float
    state: str = "running"
    ended_at: float | None = None
    output: str = ""
    received: int | None = None
    total: int | None = None
    message: str = ""
    warnings: tuple[str, ...] = field(default=())


class Running:
    """One install, for whoever carries it out; safe from any thread."""

    def __init__(self, kept: _InstallRecord, lock: threading.Lock) -> None:
        self._kept, self._lock = kept, lock

    def wrote(self, text: str) -> None:
        """Keep the end of what was written."""
        with self._lock:
            self._kept.output = (self._kept.output + clean(text[-MOST_OUTPUT:]))[-MOST_OUTPUT:]

    def received(self, done: int, whole: int | None) -> None:
        """Keep how far a download is."""
        with self._lock:
            self._kept.received, self._kept.total = done, whole

    def ended(self, result: InstallReport) -> None:
        """Keep what became of it."""
        with self._lock:
            self._kept.state = "done" if result.ok else "failed"
            self._kept.message = clean(result.message)
            self._kept.warnings = tuple(clean(one) for one in result.warnings)
            # Downloads say nothing before their end.
            said = "\n".join(part for part in (result.stdout, result.stderr) if part)
            self._kept.output = self._kept.output or clean(said[-MOST_OUTPUT:])


class Installs:
    """Every install that runs, and those that ended a moment ago; safe from any thread."""

    def __init__(self, tell: Callable[[str, Json], None], now: Callable[[], float]) -> None:
        """Begin without one; `tell` is called at the begin and the end of each, with its state."""
        self._tell, self._now = tell, now
        self._lock = threading.Lock()
        self._kept: list[_InstallRecord] = []

    @contextmanager
    def running(self, skill: str, install_id: str, agent_id: str) -> Iterator[Running]:
        """Note an install for as long as the block lasts; one that breaks off has failed."""
        kept = _InstallRecord(
            skill=clean(skill),
            install_id=clean(install_id),
            agent_id=agent_id,
            started_at=self._now(),
        )
        with self._lock:
            self._kept.append(kept)
        self._say(kept)
        try:
            yield Running(kept, self._lock)
        finally:
            with self._lock:
                if kept.state == "running":
                    kept.state, kept.message = "failed", _BROKEN_OFF
                kept.ended_at = self._now()
                self._forget()
            self._say(kept)

    def listed(self) -> list[Json]:
        """Show them, the last one first."""
        with self._lock:
            self._forget()
            return [_show(kept) for kept in reversed(self._kept)]

    def _forget(self) -> None:
        since = self._now() - KEPT_SECONDS
        ended = [one for one in self._kept if one.ended_at is not None and one.ended_at >= since]
        stays = {id(one) for one in ended[-MOST_ENDED:]}
        self._kept = [one for one in self._kept if one.ended_at is None or id(one) in stays]

    def _say(self, kept: _InstallRecord) -> None:
        # What it wrote is for those who ask: it may be much, and most windows show none of it.
        told = pick(kept, "skill install_id state")
        self._tell(STATE, told)


def _show(kept: _InstallRecord) -> Json:
    return {
        **pick(kept, "skill install_id agent_id state"),
        "startedAt": round(kept.started_at * 1000),
        "endedAt": None if kept.ended_at is None else round(kept.ended_at * 1000),
        **pick(kept, "output received total message warnings"),
    }


class RemovalHelpers:
    """Agents that Claw3D makes to remove one skill each: names in memory; safe from any thread.

    They never reach the config, although Claw3D writes them there: `without` takes them out.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, str] = OrderedDict()

    def begin(self, name: str) -> str | None:
        """Return the id of a helper of that name; None where it is no name of one."""
        if not _HELPER.fullmatch(name):
            return None
        with self._lock:
            helper = name.lower().replace(" ", "-")
            self._known[helper] = secrets.token_hex(16)
            while len(self._known) > _MOST_HELPERS:
                self._known.popitem(last=False)
        return helper

    def run_of(self, session_key: str) -> str | None:
        """Return the run of the helper whose conversation that is."""
        kind, _, rest = session_key.partition(":")
        return self._known.get(rest.partition(":")[0]) if kind == "agent" else None

    def has_run(self, run_id: str) -> bool:
        """Return whether that is the run of a helper."""
        return run_id in self._known.values()

    def without(self, raw: str) -> str:
        """Return the text of a config without helpers among its agents."""
        if not self._known or not any(helper in raw for helper in self._known):
            return raw
        try:
            values = json.loads(raw)
            agents = values["agents"]
            listed = [one for one in agents["list"] if one.get("id") not in self._known]
        except (ValueError, LookupError, TypeError, AttributeError):
            # Whoever reads it next says what is wrong with it.
            return raw
        rest = {name: value for name, value in agents.items() if name != "list"}
        values["agents"] = {**rest, "list": listed} if listed else rest
        return json.dumps({name: value for name, value in values.items() if value != {}})


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything that a method may call."""

    version: str
    skills: SkillsService
    routing: Callable[[], RoutingService]
    installing: Callable[[], InstallService]
    installs: Installs
    workshop: Callable[[], WorkshopService]
    proposals: Callable[[], Proposals]
    config: ConfigEdits
    removals: Removals
    usage: UsageLog
    # From a skill, a rule, a reason and evidence to what was accepted; and back, without a reason.
    accept: Callable[[Skill, str, str, str], Sequence[Acceptance]]
    revoke: Callable[[Skill, str, str], Sequence[Acceptance]]
    nodes: Nodes
    # From a skill's name and an agent's id to its way to the model.
    why: Callable[[str, str | None], Explanation]
    # From a name, or nothing for all, an agent's id and whether the whole standard counts.
    validate: Callable[[str | None, str | None, bool], Sequence[Report]]
    # From words to what the registries of the operator find, and what keeps others from answering.
    search_registries: Callable[[str], tuple[Sequence[Mapping[str, str]], Sequence[str]]]
    # Who is connected, as everybody may know.
    presence: Callable[[], Sequence[Json]]
    # From a folder, the name of a file in it and a number of bytes to what it holds and when it was
    # written; None where there are more.
    read_file: Callable[[str, str, int], tuple[bytes, float] | None]
    helpers: RemovalHelpers
    # The chats that are kept, by name, with when each was written, in milliseconds.
    sessions: Callable[[], Sequence[tuple[str, int]]]
    # Set when the gateway stops and will not wait any longer: whatever still runs must end.
    stopping: threading.Event
    # Seconds since 1970, and of the start of the process.
    now: Callable[[], float]
    started_at: float
    # How the gateway stands with the database of its fleet; empty where it is in none.
    fleet: Callable[[], Json] = dict
