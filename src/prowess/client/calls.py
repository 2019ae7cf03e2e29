"""The methods of a gateway as a program calls them: skills, config and proposals.

Every method raises `GatewayCallError` where it is refused, and `GatewayLostError` where the
connection ended before the answer came. The config is changed only against what was read. A
decision about a proposal names the revision that was seen: if the proposal was changed since, the
gateway refuses it, and nothing is written. No call is sent twice by itself.

Nobody waits for a reader of events: each stream keeps a bounded number, and one that reads too
slowly loses the oldest. `Event.missed` says how many were lost before that event, and is None where
nobody knows, since the connection was away: then ask for the state anew.
"""

import asyncio
import copy
import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar
from weakref import WeakSet

from prowess.errors import ProwessError
from prowess.skills.text import one_line
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
    read_object,
    read_text,
)

# Told by the client itself, whatever names a stream asked for.
RECONNECTED = "client.reconnected"
DEFAULT_BUFFER = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event."""

    name: str
    payload: Json = field(default_factory=dict)
    # Of this connection, from 1; 0 where the client itself speaks.
    sequence: int = 0
    missed: int | None = 0
    raw: Json = field(default_factory=dict, repr=False)


class EventStream:
    """Events in their order, for one reader; it hears from the moment it is made."""

    def __init__(self, names: frozenset[str], buffer: int) -> None:
        self._names, self._buffer = names, max(1, buffer)
        self._waiting: deque[Event] = deque()
        self._missed: int | None = 0
        self._news = asyncio.Event()
        self._is_over = False
        self._error: ProwessError | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._waiting:
            if self._is_over:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._waiting.popleft()

    def close(self) -> None:
        """Hear no more; what came before can still be read."""
        self.end(None)

    def put(self, event: Event) -> None:
        """Take an event, if it is one of those that were asked for."""
        if self._is_over:
            return
        self._missed = _add(self._missed, event.missed)
        if self._names and event.name not in self._names and event.name != RECONNECTED:
            return
        if len(self._waiting) >= self._buffer:
            lost = self._waiting.popleft()
            self._push_loss(_add(lost.missed, 1))
        self._waiting.append(_with_missed(event, self._missed))
        self._missed = 0
        self._news.set()

    def end(self, error: ProwessError | None) -> None:
        """Say that nothing more comes, and why."""
        if not self._is_over:
            self._is_over, self._error = True, error
            self._news.set()

    def _push_loss(self, missed: int | None) -> None:
        """Tell the next event that is read of those before it."""
        if self._waiting:
            first = self._waiting.popleft()
            self._waiting.appendleft(_with_missed(first, _add(first.missed, missed)))
        else:
            self._missed = _add(self._missed, missed)


class Events:
    """Every stream of a client; one that nobody holds any more is forgotten."""

    def __init__(self) -> None:
        self._streams: WeakSet[EventStream] = WeakSet()
        self._last = 0
        self._ending: tuple[ProwessError | None] | None = None

    def stream(self, names: frozenset[str], buffer: int) -> EventStream:
        """Return a new stream."""
        made = EventStream(names, buffer)
        if self._ending is not None:
            made.end(self._ending[0])
        self._streams.add(made)
        return made

    def hear(self, frame: Json) -> Event:
        """Take the frame of an event, and tell the streams."""
        found = frame.get("seq")
        sequence = found if isinstance(found, int) and not isinstance(found, bool) else 0
        event = Event(
            name=read_text(frame, "event"),
            payload=read_object(frame.get("payload")),
            sequence=sequence,
            missed=max(0, sequence - self._last - 1) if sequence else 0,
            raw=frame,
        )
        self._last = max(self._last, sequence)
        self._tell(event)
        return event

    def returned(self) -> None:
        """Say that another connection has taken the place of the one before."""
        self._last = 0
        self._tell(Event(name=RECONNECTED, missed=None))

    def end(self, error: ProwessError | None) -> None:
        """Say that nothing more comes."""
        self._ending = (error,)
        for stream in tuple(self._streams):
            stream.end(error)

    def _tell(self, event: Event) -> None:
        for stream in tuple(self._streams):
            stream.put(event)


def _add(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _with_missed(event: Event, missed: int | None) -> Event:
    return event if event.missed == missed else replace(event, missed=missed)


# What a client says in the gateway's place.
NO_ANSWER, TOO_LARGE, MISMATCH = "TIMEOUT", "PAYLOAD_TOO_LARGE", "PROTOCOL_MISMATCH"
NO_SKILL = "NOT_FOUND"
# Asking again the same way would be refused again.
LASTING = frozenset(("FORBIDDEN", "INVALID_REQUEST", "UNAUTHORIZED", MISMATCH))


class GatewayCallError(ProwessError):
    """A gateway refuses what its client asks for, or does not answer in time."""

    code = "gateway.call"

    def __init__(
        self,
        reason: str,
        message: str,
        details: dict[str, Any] | None = None,
        payload: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{message} ({reason})")
        # What the gateway calls it, such as INVALID_REQUEST.
        self.reason, self.message, self.details = reason, message, details or {}
        # What it sends beside the refusal, such as the output of an install that failed.
        self.payload = payload


class GatewayLostError(ProwessError):
    """A client cannot reach its gateway, or not any more."""

    code = "gateway.lost"


class NotSentError(GatewayLostError):
    """The connection was about to end, so a call was not sent: it can be sent over the next one."""

    code = "gateway.not_sent"


def read_refusal(answer: dict[str, Any]) -> GatewayCallError:
    """Return the refusal that a response holds."""
    error, payload = answer.get("error"), answer.get("payload")
    found = error if isinstance(error, dict) else {}
    details = found.get("details")
    return GatewayCallError(
        str(found.get("code") or "UNAVAILABLE"),
        one_line(str(found.get("message") or "the gateway refuses and does not say why")),
        details if isinstance(details, dict) else None,
        payload if isinstance(payload, dict) else None,
    )


def is_stale(error: GatewayCallError) -> bool:
    """Return whether the config was changed by somebody else in the meantime."""
    said = error.message.lower()
    return (
        error.details.get("reason") == "config.conflict"
        or "re-run config.get" in said
        or "config changed since last load" in said
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
