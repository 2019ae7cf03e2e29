"""Proposals: what was learned, seen whole, and decided about by its revision.

A decision names the revision that was seen. If the proposal was changed since, the gateway refuses
it, and nothing is written.

The config of a gateway, changed only against what was read.

The methods about skills, as a program calls them.
"""

import copy
import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prowess.client.events import Event
from prowess.client.fields import Calls, Fields, Json
from prowess.client.refusals import GatewayCallError, is_stale
from prowess.client.results import (
    Config,
    ConfigWritten,
    Entry,
    InstallResult,
    Progress,
    Prompt,
    Removed,
    Route,
    SkillDetail,
    SkillsStatus,
    Usage,
    Why,
)


class ConfigCalls(Calls):
    """The config: read, replace, merge.

    Every method raises `GatewayCallError` where it is refused, and `GatewayLostError` where the
    connection ended before the answer came.
    """

    async def config_get(self) -> Config:
        """Return the config with a marker for each secret, and its hash."""
        return Config.read(await self.request("config.get", {}))

    async def config_set(
        self, values: Mapping[str, Any] | str, *, base_hash: str | None
    ) -> ConfigWritten:
        """Replace the config, if it is still the one of that hash."""
        return ConfigWritten.read(await self.request("config.set", _written(values, base_hash)))

    async def config_patch(
        self,
        changes: Mapping[str, Any] | str,
        *,
        base_hash: str | None,
        replace_paths: Sequence[str] = (),
    ) -> ConfigWritten:
        """Merge changes into the config: null deletes, lists of objects are merged by id."""
        asked = _written(changes, base_hash)
        if replace_paths:
            asked["replacePaths"] = list(replace_paths)
        return ConfigWritten.read(await self.request("config.patch", asked))

    async def config_schema(self) -> Json:
        """Return what can be configured."""
        return await self.request("config.schema", {})

    async def edit_config(self, change: Callable[[Json], Json]) -> ConfigWritten:
        """Read the config, change it, write it; once more, if somebody else wrote in between.

        `change` gets the values and returns those that shall be; it may be called twice, the second
        time with what the other one wrote.
        """
        try:
            return await self._edited(change)
        except GatewayCallError as error:
            if not is_stale(error):
                raise
        return await self._edited(change)

    async def _edited(self, change: Callable[[Json], Json]) -> ConfigWritten:
        config = await self.config_get()
        wanted = change(copy.deepcopy(config.values))
        if wanted == config.values:
            return ConfigWritten(
                values=config.values, hash=config.hash, changed=(), raw={"ok": True, "noop": True}
            )
        return await self.config_set(wanted, base_hash=config.hash if config.exists else None)


def _written(values: Mapping[str, Any] | str, base_hash: str | None) -> Json:
    raw = values if isinstance(values, str) else json.dumps(values, indent=2, ensure_ascii=False)
    return {"raw": raw} if base_hash is None else {"raw": raw, "baseHash": base_hash}


_GROUP = "skills.proposals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One proposal, without its text."""

    id: str
    status: str
    kind: str
    title: str
    description: str
    skill: str
    # Of what was seen; a decision is about this one only.
    revision: str
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Proposal":
        """Read an entry of the list, or a record."""
        found = Fields(raw)
        return cls(
            id=found.text("id"),
            status=found.text("status"),
            kind=found.text("kind"),
            title=found.text("title"),
            description=found.text("description"),
            skill=found.text("skillName") or found.inner("target").text("skillName"),
            revision=found.text("revisionHash") or found.text("draftHash"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """One proposal with what would be written, and what is there now."""

    proposal: Proposal
    content: str
    current: str
    files: Mapping[str, str]
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Inspection":
        """Read the answer of `skills.proposals.inspect`."""
        found = Fields(raw)
        support = [Fields(one) for one in found.objects("supportFiles")]
        return cls(
            proposal=Proposal.read(found.inner("record").raw),
            content=found.text("content"),
            current=found.text("currentContent"),
            files={one.text("path"): one.text("content") for one in support},
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalEvent:
    """One line of the log of proposals."""

    sequence: int
    proposal_id: str
    type: str
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "ProposalEvent":
        """Read one event."""
        found = Fields(raw)
        return cls(
            sequence=found.whole("sequence") or 0,
            proposal_id=found.text("proposalId"),
            type=found.text("type"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalText:
    """What a proposal says, and why; None leaves it as it is."""

    content: str | None = None
    description: str | None = None
    goal: str | None = None
    evidence: str | None = None
    files: Mapping[str, str] | None = None

    def params(self) -> Json:
        """Return the parameters that carry it."""
        files = self.files.items() if self.files else ()
        return {
            "content": self.content,
            "description": self.description,
            "goal": self.goal,
            "evidence": self.evidence,
            "supportFiles": [{"path": path, "content": body} for path, body in files] or None,
        }


class ProposalCalls:
    """The proposals of a gateway.

    Every method raises `GatewayCallError` where it is refused, and `GatewayLostError` where the
    connection ended before the answer came.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(
        self, *, status: str | None = None, agent: str | None = None
    ) -> tuple[Proposal, ...]:
        """Return what waits and what was decided."""
        found = Fields(await self._ask("list", agent, {"status": status}))
        return tuple(Proposal.read(one) for one in found.objects("proposals"))

    async def inspect(self, proposal_id: str, *, agent: str | None = None) -> Inspection:
        """Return one proposal with its whole text."""
        return Inspection.read(await self._ask("inspect", agent, {"proposalId": proposal_id}))

    async def events(
        self, *, proposal_id: str | None = None, after: int = 0, agent: str | None = None
    ) -> tuple[ProposalEvent, ...]:
        """Return what happened after a number, oldest first."""
        asked = {"proposalId": proposal_id, "afterSequence": after}
        found = Fields(await self._ask("events.list", agent, asked))
        return tuple(ProposalEvent.read(one) for one in found.objects("events"))

    async def create(
        self, name: str, text: ProposalText, *, agent: str | None = None
    ) -> Inspection:
        """Propose a new skill."""
        return Inspection.read(await self._ask("create", agent, {"name": name, **text.params()}))

    async def update(
        self, skill: str, text: ProposalText, *, agent: str | None = None
    ) -> Inspection:
        """Propose another text for a skill."""
        asked = {"skillName": skill, **text.params()}
        return Inspection.read(await self._ask("update", agent, asked))

    async def revise(
        self, proposal_id: str, text: ProposalText, *, revision: str, agent: str | None = None
    ) -> Inspection:
        """Change what waits."""
        asked = {"proposalId": proposal_id, "expectedRevisionHash": revision, **text.params()}
        return Inspection.read(await self._ask("revise", agent, asked))

    async def apply(
        self, proposal_id: str, *, revision: str, reason: str = "", agent: str | None = None
    ) -> Proposal:
        """Write what was seen to its skill."""
        answer = await self._decide("apply", proposal_id, revision, reason, agent)
        return Proposal.read(Fields(answer).inner("record").raw)

    async def reject(
        self, proposal_id: str, *, revision: str, reason: str = "", agent: str | None = None
    ) -> Proposal:
        """Refuse a proposal; it does not come again."""
        return Proposal.read(await self._decide("reject", proposal_id, revision, reason, agent))

    async def quarantine(
        self, proposal_id: str, *, revision: str, reason: str = "", agent: str | None = None
    ) -> Proposal:
        """Keep a proposal from ever being applied."""
        return Proposal.read(await self._decide("quarantine", proposal_id, revision, reason, agent))

    async def rollback(
        self, proposal_id: str, *, revision: str, reason: str = "", agent: str | None = None
    ) -> Proposal:
        """Bring back what an applied proposal replaced."""
        answer = await self._decide("rollback", proposal_id, revision, reason, agent)
        return Proposal.read(Fields(answer).inner("record").raw)

    async def _decide(
        self, deed: str, proposal_id: str, revision: str, reason: str, agent: str | None
    ) -> Json:
        asked = {
            "proposalId": proposal_id,
            "expectedRevisionHash": revision,
            "reason": reason or None,
        }
        return await self._ask(deed, agent, asked)

    async def _ask(self, deed: str, agent: str | None, asked: Mapping[str, object]) -> Json:
        return await self._calls.request(f"{_GROUP}.{deed}", self._calls.about(agent, asked))


PROGRESS = "skills.install.progress"
# What the gateway takes where nobody says how long, and what it needs around an install.
_INSTALL_MS, _MARGIN_SECONDS = 300_000, 30.0


class SkillCalls(Calls):
    """Skills: which there are, which fit, and what changes them.

    Every method raises `GatewayCallError` where it is refused, and `GatewayLostError` where the
    connection ended before the answer came.
    """

    @abstractmethod
    def listen(self, name: str, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call a listener with every event of that name, and return what ends it."""

    async def status(self, *, agent: str | None = None) -> SkillsStatus:
        """Return every skill of an agent, with its verdict."""
        return SkillsStatus.read(await self.request("skills.status", self.about(agent)))

    async def route(
        self,
        message: str,
        *,
        files: Sequence[str] = (),
        limit: int | None = None,
        not_ready: bool = False,
        agent: str | None = None,
    ) -> Route:
        """Return the skills that a message needs, with reasons, or none.

        With `not_ready`, also those that would fit and cannot be used, each with what it lacks.
        """
        asked = {
            "message": message,
            "files": list(files) or None,
            "limit": limit,
            "notReady": not_ready or None,
        }
        return Route.read(await self.request("skills.route", self.about(agent, asked)))

    async def why(self, name: str, *, message: str | None = None, agent: str | None = None) -> Why:
        """Return why a skill is, or is not, used; with a message, why not for that one."""
        asked = {"name": name, "message": message}
        return Why.read(await self.request("skills.why", self.about(agent, asked)))

    async def prompt(
        self, *, tools: Sequence[str] | None = None, agent: str | None = None
    ) -> Prompt:
        """Return what a model is told about its skills."""
        asked = {"tools": None if tools is None else list(tools)}
        return Prompt.read(await self.request("skills.prompt", self.about(agent, asked)))

    async def detail(self, name: str, *, agent: str | None = None) -> SkillDetail:
        """Return all about one skill; that there is none of that name is a `GatewayCallError`."""
        asked = self.about(agent, {"name": name})
        return SkillDetail.read(await self.request("skills.detail", asked))

    async def usage(
        self, *, name: str | None = None, after: int = 0, agent: str | None = None
    ) -> Usage:
        """Return what was listed, routed and used, after a number."""
        asked = {"name": name, "after": after}
        return Usage.read(await self.request("skills.usage", self.about(agent, asked)))

    async def install(
        self,
        name: str,
        install_id: str,
        *,
        timeout_ms: int | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        agent: str | None = None,
    ) -> InstallResult:
        """Install what a skill needs; a failed install is a result, whose `ok` is false.

        What `on_progress` raises ends its reports, and is raised when the install is over.
        """
        reports = _Reports(name, install_id, on_progress)
        asked = {"name": name, "installId": install_id, "timeoutMs": timeout_ms}
        seconds = (timeout_ms or _INSTALL_MS) / 1000 + _MARGIN_SECONDS
        stop = self.listen(PROGRESS, reports.hear)
        try:
            answer = await self.request("skills.install", self.about(agent, asked), seconds)
        except GatewayCallError as error:
            if error.payload is None:
                raise
            answer = error.payload
        finally:
            stop()
        reports.raise_problem()
        return InstallResult.read(answer)

    async def update_skill(
        self,
        key: str,
        *,
        enabled: bool | None = None,
        api_key: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Entry:
        """Change a skill's entry in the config; an empty text deletes a value."""
        asked = {
            "skillKey": key,
            "enabled": enabled,
            "apiKey": api_key,
            "env": None if env is None else dict(env),
        }
        given = {name: value for name, value in asked.items() if value is not None}
        return Entry.read(await self.request("skills.update", given))

    async def remove(self, key: str, source: str, *, agent: str | None = None) -> Removed:
        """Move a managed or workspace skill to the trash."""
        asked = self.about(agent, {"skillKey": key, "source": source})
        return Removed.read(await self.request("skills.remove", asked))

    async def restore(self, removed_id: str, *, agent: str | None = None) -> str:
        """Bring a removed skill back, and return its folder."""
        asked = self.about(agent, {"id": removed_id})
        return Fields(await self.request("skills.restore", asked)).text("path")

    async def trash(self) -> tuple[Removed, ...]:
        """Return the removed skills that can come back."""
        found = Fields(await self.request("skills.trash", {}))
        return tuple(Removed.read(one) for one in found.objects("removed"))


class _Reports:
    """Hands on what belongs to one install."""

    def __init__(
        self, name: str, install_id: str, on_progress: Callable[[Progress], None] | None
    ) -> None:
        self._about, self._on_progress = (name, install_id), on_progress
        self._problem: Exception | None = None

    def hear(self, event: Event) -> None:
        """Hand on one report."""
        said = Fields(event.payload)
        if self._on_progress is None or self._about != (said.text("skill"), said.text("installId")):
            return
        try:
            self._on_progress(Progress.read(event.payload))
        # It is the caller's own, and the caller gets it back; other calls must not end with it.
        except Exception as problem:  # noqa: BLE001
            self._problem, self._on_progress = problem, None

    def raise_problem(self) -> None:
        """Give back what the caller's function raised."""
        if self._problem is not None:
            raise self._problem
