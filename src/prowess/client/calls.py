"""The methods of a gateway as a program calls them: skills, config and proposals.

Every method raises `GatewayCallError` where it is refused, and `GatewayLostError` where the
connection ended before the answer came. The config is changed only against what was read. A
decision about a proposal names the revision that was seen: if the proposal was changed since, the
gateway refuses it, and nothing is written.
"""

import asyncio
import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from prowess.client.events import Event
from prowess.client.refusals import NO_SKILL, GatewayCallError, is_stale
from prowess.wire.answers import (
    ConfigAnswer,
    ConfigWrittenAnswer,
    DetailAnswer,
    EntryAnswer,
    GatewayAnswer,
    InspectionAnswer,
    InstallAnswer,
    Json,
    ProgressAnswer,
    PromptAnswer,
    ProposalAnswer,
    ProposalEventAnswer,
    ProposalEventsAnswer,
    ProposalsAnswer,
    RemovedAnswer,
    RouteAnswer,
    StatusAnswer,
    TrashAnswer,
    UsageAnswer,
    WhyAnswer,
    read_text,
)

_A = TypeVar("_A", bound=GatewayAnswer)
_PROGRESS = "skills.install.progress"
# What the gateway takes where nobody says how long, and what it needs around an install.
_INSTALL_MS, _MARGIN_SECONDS = 300_000, 30.0


class Calls(ABC):
    """A client, as far as a group of methods knows it."""

    # The agent that is meant where a call names none; None leaves it to the gateway.
    agent: str | None = None

    @abstractmethod
    async def request(self, method: str, params: Json, seconds: float | None = None) -> Json:
        """Call a method and return its answer."""

    async def ask(self, kind: type[_A], method: str, agent: str | None, **params: object) -> _A:
        """Call a method about an agent, without what was not given, and read its answer."""
        return kind.read(await self.request(method, self.about(agent, params)))

    def about(self, agent: str | None, params: Mapping[str, object]) -> Json:
        """Return parameters with the agent that is meant, and without what was not given."""
        named = {"agentId": agent or self.agent, **params}
        return {name: value for name, value in named.items() if value is not None}


class ConfigCalls(Calls):
    """The config: read, replace, merge."""

    async def config_get(self) -> ConfigAnswer:
        """Return the config with a marker for each secret, and its hash."""
        return ConfigAnswer.read(await self.request("config.get", {}))

    async def config_set(
        self, values: Mapping[str, Any] | str, *, base_hash: str | None
    ) -> ConfigWrittenAnswer:
        """Replace the config, if it is still the one of that hash."""
        asked = _write_config(values, base_hash)
        return ConfigWrittenAnswer.read(await self.request("config.set", asked))

    async def config_patch(
        self,
        changes: Mapping[str, Any] | str,
        *,
        base_hash: str | None,
        replace_paths: Sequence[str] = (),
    ) -> ConfigWrittenAnswer:
        """Merge changes into the config: null deletes, lists of objects are merged by id."""
        asked = _write_config(changes, base_hash)
        if replace_paths:
            asked["replacePaths"] = list(replace_paths)
        return ConfigWrittenAnswer.read(await self.request("config.patch", asked))

    async def config_schema(self) -> Json:
        """Return what can be configured."""
        return await self.request("config.schema", {})

    async def edit_config(self, change: Callable[[Json], Json]) -> ConfigWrittenAnswer:
        """Read the config, change it, write it; once more, if somebody else wrote in between.

        `change` gets the values and returns those that shall be; it may be called twice, the second
        time with what the other one wrote.
        """
        try:
            return await self._edit_once(change)
        except GatewayCallError as error:
            if not is_stale(error):
                raise
        return await self._edit_once(change)

    async def _edit_once(self, change: Callable[[Json], Json]) -> ConfigWrittenAnswer:
        config = await self.config_get()
        wanted = change(copy.deepcopy(config.values))
        if wanted == config.values:
            same = {"ok": True, "noop": True, "config": config.values, "hash": config.hash}
            return ConfigWrittenAnswer.read(same)
        return await self.config_set(wanted, base_hash=config.hash if config.exists else None)


def _write_config(values: Mapping[str, Any] | str, base_hash: str | None) -> Json:
    raw = values if isinstance(values, str) else json.dumps(values, indent=2, ensure_ascii=False)
    return {"raw": raw} if base_hash is None else {"raw": raw, "baseHash": base_hash}


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
    """The proposals of a gateway."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(
        self, *, status: str | None = None, agent: str | None = None
    ) -> tuple[ProposalAnswer, ...]:
        """Return what waits and what was decided."""
        return (await self._ask(ProposalsAnswer, "list", agent, status=status)).proposals

    async def inspect(self, proposal_id: str, *, agent: str | None = None) -> InspectionAnswer:
        """Return one proposal with its whole text."""
        return await self._ask(InspectionAnswer, "inspect", agent, proposalId=proposal_id)

    async def events(
        self, *, proposal_id: str | None = None, after: int = 0, agent: str | None = None
    ) -> tuple[ProposalEventAnswer, ...]:
        """Return what happened after a number, oldest first."""
        asked = {"proposalId": proposal_id, "afterSequence": after}
        return (await self._ask(ProposalEventsAnswer, "events.list", agent, **asked)).events

    async def create(
        self, name: str, text: ProposalText, *, agent: str | None = None
    ) -> InspectionAnswer:
        """Propose a new skill."""
        return await self._ask(InspectionAnswer, "create", agent, name=name, **text.params())

    async def update(
        self, skill: str, text: ProposalText, *, agent: str | None = None
    ) -> InspectionAnswer:
        """Propose another text for a skill."""
        return await self._ask(InspectionAnswer, "update", agent, skillName=skill, **text.params())

    async def revise(
        self, proposal_id: str, text: ProposalText, *, revision: str, agent: str | None = None
    ) -> InspectionAnswer:
        """Change what waits."""
        asked = {"proposalId": proposal_id, "expectedRevisionHash": revision, **text.params()}
        return await self._ask(InspectionAnswer, "revise", agent, **asked)

    async def apply(
        self, proposal_id: str, *, revision: str, reason: str = "", agent: str | None = None
    ) -> ProposalAnswer:
        """Write what was seen to its skill."""
        return await self._decide("apply", proposal_id, revision, reason, agent)

    async def reject(
        self, proposal_id: str, *, revision: str, reason: str = "", agent: str | None = None
    ) -> ProposalAnswer:
        """Refuse a proposal; it does not come again."""
        return await self._decide("reject", proposal_id, revision, reason, agent)

    async def quarantine(
        self, proposal_id: str, *, revision: str, reason: str = "", agent: str | None = None
    ) -> ProposalAnswer:
        """Keep a proposal from ever being applied."""
        return await self._decide("quarantine", proposal_id, revision, reason, agent)

    async def rollback(
        self, proposal_id: str, *, revision: str, reason: str = "", agent: str | None = None
    ) -> ProposalAnswer:
        """Bring back what an applied proposal replaced."""
        return await self._decide("rollback", proposal_id, revision, reason, agent)

    async def _decide(
        self, deed: str, proposal_id: str, revision: str, reason: str, agent: str | None
    ) -> ProposalAnswer:
        asked = {"proposalId": proposal_id, "expectedRevisionHash": revision}
        answer = await self._ask(GatewayAnswer, deed, agent, reason=reason or None, **asked)
        # What writes to a skill tells of the skill, too.
        return ProposalAnswer.read(answer.raw.get("record", answer.raw))

    async def _ask(self, kind: type[_A], deed: str, agent: str | None, **asked: object) -> _A:
        return await self._calls.ask(kind, f"skills.proposals.{deed}", agent, **asked)


class SkillCalls(Calls):
    """Skills: which there are, which fit, and what changes them."""

    @abstractmethod
    def listen(self, name: str, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call a listener with every event of that name, and return what ends it."""

    async def status(self, *, agent: str | None = None) -> StatusAnswer:
        """Return every skill of an agent, with its verdict."""
        return await self.ask(StatusAnswer, "skills.status", agent)

    async def route(
        self,
        message: str,
        *,
        files: Sequence[str] = (),
        limit: int | None = None,
        not_ready: bool = False,
        agent: str | None = None,
    ) -> RouteAnswer:
        """Return the skills that a message needs, with reasons, or none.

        With `not_ready`, also those that would fit and cannot be used, each with what it lacks.
        """
        return await self.ask(
            RouteAnswer,
            "skills.route",
            agent,
            message=message,
            files=list(files) or None,
            limit=limit,
            notReady=not_ready or None,
        )

    async def why(
        self, name: str, *, message: str | None = None, agent: str | None = None
    ) -> WhyAnswer:
        """Return why a skill is, or is not, used; with a message, why not for that one."""
        return await self.ask(WhyAnswer, "skills.why", agent, name=name, message=message)

    async def prompt(
        self, *, tools: Sequence[str] | None = None, agent: str | None = None
    ) -> PromptAnswer:
        """Return what a model is told about its skills."""
        listed = None if tools is None else list(tools)
        return await self.ask(PromptAnswer, "skills.prompt", agent, tools=listed)

    async def detail(self, name: str, *, agent: str | None = None) -> DetailAnswer:
        """Return all about one skill; that there is none of that name is a `GatewayCallError`."""
        found = await self.ask(DetailAnswer, "skills.detail", agent, name=name)
        if not found.skill.raw:
            message = "there is no skill of that name: `status` lists those that there are"
            raise GatewayCallError(NO_SKILL, message, payload=found.raw)
        return found

    async def usage(
        self, *, name: str | None = None, after: int = 0, agent: str | None = None
    ) -> UsageAnswer:
        """Return what was listed, routed and used, after a number."""
        return await self.ask(UsageAnswer, "skills.usage", agent, name=name, after=after)

    async def install(
        self,
        name: str,
        install_id: str,
        *,
        timeout_ms: int | None = None,
        on_progress: Callable[[ProgressAnswer], None] | None = None,
        agent: str | None = None,
    ) -> InstallAnswer:
        """Install what a skill needs; a failed install is a result, whose `ok` is false.

        What `on_progress` raises ends its reports, and is raised when the install is over.
        """
        asked = {"name": name, "installId": install_id, "timeoutMs": timeout_ms}
        seconds = (timeout_ms or _INSTALL_MS) / 1000 + _MARGIN_SECONDS
        reports: asyncio.Queue[ProgressAnswer | None] = asyncio.Queue()

        def hear(event: Event) -> None:
            if (event.payload.get("skill"), event.payload.get("installId")) == (name, install_id):
                reports.put_nowait(ProgressAnswer.read(event.payload))

        stop = self.listen(_PROGRESS, hear)
        # Apart from the connection: what it raises ends no other call.
        told = asyncio.create_task(_hand_on(reports, on_progress or (lambda _report: None)))
        try:
            answer = await self.request("skills.install", self.about(agent, asked), seconds)
        except GatewayCallError as error:
            if error.payload is None:
                raise
            answer = error.payload
        finally:
            stop()
            reports.put_nowait(None)
            await asyncio.gather(told, return_exceptions=True)
        told.result()
        return InstallAnswer.read(answer)

    async def update_skill(
        self,
        key: str,
        *,
        enabled: bool | None = None,
        api_key: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> EntryAnswer:
        """Change a skill's entry in the config; an empty text deletes a value."""
        asked = {
            "skillKey": key,
            "enabled": enabled,
            "apiKey": api_key,
            "env": None if env is None else dict(env),
        }
        given = {name: value for name, value in asked.items() if value is not None}
        return EntryAnswer.read(await self.request("skills.update", given))

    async def remove(self, key: str, source: str, *, agent: str | None = None) -> RemovedAnswer:
        """Move a managed or workspace skill to the trash."""
        return await self.ask(RemovedAnswer, "skills.remove", agent, skillKey=key, source=source)

    async def restore(self, removed_id: str, *, agent: str | None = None) -> str:
        """Bring a removed skill back, and return its folder."""
        answer = await self.request("skills.restore", self.about(agent, {"id": removed_id}))
        return read_text(answer, "path")

    async def trash(self) -> tuple[RemovedAnswer, ...]:
        """Return the removed skills that can come back."""
        return TrashAnswer.read(await self.request("skills.trash", {})).removed


async def _hand_on(
    reports: asyncio.Queue[ProgressAnswer | None], on_progress: Callable[[ProgressAnswer], None]
) -> None:
    while (report := await reports.get()) is not None:
        on_progress(report)
