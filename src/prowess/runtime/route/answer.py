"""Routing as a service: the right skills for a message of one agent, or none.

`answer` is what every surface calls: it routes, names what is withheld and counts the use. `route`
does the first alone, for whoever tries messages out. The index follows the snapshot and only
what was never encoded is encoded; the encoder is loaded by the first message that needs it. Where
there is none, or it fails, words route alone, every answer says so, and it is left alone a while.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from prowess.errors import EncoderError
from prowess.routing import router
from prowess.routing.decision import DEFAULT
from prowess.routing.index import (
    SkillIndex,
)
from prowess.routing.model import Match, Route, Status, Thresholds
from prowess.routing.router import Context, Query, RouteChoice
from prowess.runtime.ports import (
    Encoder,
    Examples,
    ExampleStore,
    IndexStore,
    Judge,
    VectorStore,
)
from prowess.runtime.route.index import PAUSE_S, Built, IndexBuilder, Meaning, Progress
from prowess.runtime.service import SkillsService
from prowess.settings import RoutingSettings
from prowess.skills.explanation import ALLOWED, ExplanationStep
from prowess.skills.model import Skill
from prowess.skills.snapshot import Snapshot

if TYPE_CHECKING:
    from prowess.runtime.usage import UsageLog

NO_ENCODER = "no encoder (skills.routing.encoder is none): only words and names are matched."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How one message is routed, beyond the settings."""

    agent_id: str | None = None
    context: Context | None = None
    considered: int = 5
    # Stands over the load threshold of the settings.
    threshold: float | None = None
    # What a run was pinned to; by default what the agent may use now.
    snapshot: Snapshot | None = None
    # Whether skills that fit and cannot be used are named, for which it is routed once more.
    withheld: bool = False
    # Whether somebody only tries a message out, so that nothing is counted.
    rehearsal: bool = False


class Surface(StrEnum):
    """By which way a message came in."""

    LIBRARY = "library"
    TERMINAL = "terminal"
    CHAT = "chat"
    GATEWAY = "gateway"
    MCP = "mcp"
    HOOK = "hook"


# What these say goes straight to a model, which may not be told of every skill.
_READ_BY_MODELS = frozenset((Surface.MCP, Surface.HOOK))


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks: by which surface, for which agent, and in which session."""

    surface: Surface
    agent_id: str | None = None
    session_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """A skill that fits a message and that the agent cannot use, with the first reason for it."""

    match: Match
    reason: ExplanationStep

    @property
    def is_switched_off(self) -> bool:
        """True where it is ready, and only the agent's own list or the defaults' keep it."""
        return self.reason.stage == ALLOWED


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingAnswer:
    """What a surface is told: the route, and what would fit but cannot be used."""

    route: Route
    # Only where the question asked for it.
    withheld: tuple[Withheld, ...] = ()


class RoutingPorts(NamedTuple):
    """The adapters that routing needs."""

    open_encoder: Callable[[], Encoder | None]
    vectors: VectorStore
    examples: ExampleStore
    # Thresholds that were calibrated for an encoder, by its id.
    calibrated: Callable[[str], Thresholds | None]
    seconds: Callable[[], float]
    # Gives memory back that building an index needed for a moment.
    tidy: Callable[[], None] | None = None
    # Without one every process makes its own indexes.
    indexes: IndexStore | None = None
    # From the setting `rerank` to what judges the best skills again; None where it is off.
    open_judge: Callable[[str], Judge | None] = lambda _which: None
    # Where answers are counted; without it none are.
    usage: "Callable[[], UsageLog] | None" = None


@dataclass(frozen=True, slots=True)
class _Kept:
    """The index of one agent, and what it was made from."""

    snapshot: Snapshot
    examples: Mapping[str, Examples]
    encoder: Encoder | None
    built: Built
    at: float


class RoutingService:
    """Routes messages for every agent; safe to call from several threads."""

    def __init__(self, skills: SkillsService, tools: RoutingPorts) -> None:
        self._skills, self._tools = skills, tools
        self._builder = IndexBuilder(tools.vectors, tools.tidy, tools.indexes)
        self._meaning = Meaning(
            lambda: self.settings, tools.open_encoder, tools.open_judge, tools.seconds
        )
        self._indexes: dict[str, _Kept] = {}
        # Whoever comes while an agent's index is made waits for it instead of making another.
        self._building: defaultdict[str, Lock] = defaultdict(Lock)
        # Ranking is work for one processor: threads that do it at once only take the interpreter
        # from each other, and from whoever answers something quick. Encoding is not, so it is
        # done outside.
        self._ranking = Lock()

    @property
    def settings(self) -> RoutingSettings:
        """The settings of routing."""
        return self._skills.settings.skills.routing

    @property
    def problem(self) -> str:
        """Why meaning takes no part; empty where it does, or where nothing was routed yet."""
        return self._meaning.problem

    @property
    def degraded(self) -> str:
        """Why words route alone, for a person; empty where meaning takes part."""
        return self.problem or ("" if self.encoder() is not None else NO_ENCODER)

    def answer(self, message: str, caller: Caller, asked: Asked | None = None) -> RoutingAnswer:
        """Route a message for a surface, name what is withheld if asked to, and count the use.

        A surface that hands the answer to a model is not told of skills that are kept from it.
        """
        asked = replace(asked or Asked(), agent_id=caller.agent_id)
        found = self.route(message, asked)
        is_unmatched = not found.matches
        if caller.surface in _READ_BY_MODELS:
            found = replace(
                found, matches=_chosen(found.matches), considered=_chosen(found.considered)
            )
        if self._tools.usage is not None and not asked.rehearsal:
            agent_id = self._skills.agent(caller.agent_id).id
            names = [match.skill.name for match in found.matches]
            self._tools.usage().note_route(names, agent_id, is_unmatched=is_unmatched)
        withheld = self._find_withheld(message, asked) if asked.withheld else ()
        return RoutingAnswer(route=found, withheld=withheld)

    def _find_withheld(self, message: str, asked: Asked) -> tuple[Withheld, ...]:
        """Return the skills that are not ready and would be loaded or offered if they were."""
        with self._skills.lock:
            now = self._skills.snapshot(asked.agent_id)
            rows = self._skills.status(asked.agent_id).skills
        waiting = {row.skill.id for row in rows if not row.usable and not row.skill.is_draft}
        if not waiting:
            return ()
        everything = replace(
            now,
            # An index is kept by its agent's name: this one stands beside the agent's own.
            agent_id=f"{now.agent_id} with what is not ready",
            usable=tuple(row.skill for row in rows if row.usable or row.skill.id in waiting),
        )
        found = self.route(message, replace(asked, snapshot=everything)).matches
        fitting = [match for match in found if match.skill.id in waiting]
        reasons = [self._find_reason(match, asked.agent_id) for match in fitting]
        return tuple(
            Withheld(match=match, reason=reason)
            for match, reason in zip(fitting, reasons, strict=True)
            if reason is not None
        )

    def _find_reason(self, match: Match, agent_id: str | None) -> ExplanationStep | None:
        # Late: only who tries messages out needs it.
        from prowess.runtime.route.why import why

        steps = why(self._skills, match.skill.id, agent_id).steps
        # None where it became ready in the meantime.
        return next((step for step in steps if not step.passed), None)

    def route(self, message: str, asked: Asked | None = None) -> Route:
        """Return which skills to load or to offer for `message`, if any, and count nothing."""
        asked = asked or Asked()
        started = self._tools.seconds()
        index = self._index(asked.snapshot or self._skills.snapshot(asked.agent_id))
        choice = self.choice(asked)
        with self._ranking:
            query = router.read(message, asked.context)
            answer = router.outright(index, query, choice)
        if answer is None:
            query = self.with_vector(index, query)
            with self._ranking:
                answer = router.route(index, query, choice)
        return self._told(index, query, answer, started)

    def _told(self, index: SkillIndex, query: Query, answer: Route, started: float) -> Route:
        """Add to an answer how long it took and what did not work."""
        notes, status = list(answer.notes), Status.OK
        if index.dense is None or (answer.status is Status.DEGRADED and query.ask.strip()):
            notes.append(self._meaning.problem or NO_ENCODER)
            status = Status.DEGRADED
        if self._meaning.judge_problem:
            notes.append(f"not reranked: {self._meaning.judge_problem}")
        took = (self._tools.seconds() - started) * 1_000
        return replace(answer, status=status, notes=tuple(dict.fromkeys(notes)), took_ms=took)

    def choice(self, asked: Asked | None = None) -> RouteChoice:
        """Return the thresholds and bounds that are in force."""
        asked, settings = asked or Asked(), self.settings
        encoder = self.encoder()
        base = (self._tools.calibrated(encoder.id) if encoder is not None else None) or DEFAULT
        load = settings.load_threshold if settings.load_threshold is not None else base.load
        offer = settings.offer_threshold if settings.offer_threshold is not None else base.offer
        load = load if asked.threshold is None else asked.threshold
        return RouteChoice(
            thresholds=Thresholds(load=load, offer=min(load, offer)),
            most=settings.max_skills,
            considered=asked.considered,
        )

    def index(self, agent_id: str | None = None, progress: Progress | None = None) -> SkillIndex:
        """Return the index of what an agent may use, built anew only where that changed."""
        return self._index(self._skills.snapshot(agent_id), progress)

    def _index(self, snapshot: Snapshot, progress: Progress | None = None) -> SkillIndex:
        # Nearly every message finds its index made: those do not wait for each other.
        found = self._fitting(snapshot)
        if found is not None:
            return found
        with self._building[snapshot.agent_id]:
            return self._fitting(snapshot) or self._made(snapshot, progress)

    def _fitting(self, snapshot: Snapshot) -> SkillIndex | None:
        """Return the index that is kept, unless something changed that it was made from."""
        examples, encoder = self._tools.examples.read(), self.encoder()
        kept, now = self._indexes.get(snapshot.agent_id), self._tools.seconds()
        if (
            kept is not None
            and (kept.snapshot is snapshot or kept.snapshot.usable == snapshot.usable)
            and (kept.examples is examples or kept.examples == examples)
            and kept.encoder is encoder
            and not (kept.built.problem and now - kept.at > PAUSE_S)
        ):
            return kept.built.index
        return None

    def _made(self, snapshot: Snapshot, progress: Progress | None) -> SkillIndex:
        examples, encoder = self._tools.examples.read(), self.encoder()
        now = self._tools.seconds()
        built = self._built(snapshot.usable, encoder, examples, progress)
        self._indexes[snapshot.agent_id] = _Kept(snapshot, examples, encoder, built, now)
        return built.index

    def index_of(self, skills: Sequence[Skill], progress: Progress | None = None) -> SkillIndex:
        """Return an index of any skills, as evaluations need it."""
        return self._built(skills, self.encoder(), {}, progress).index

    def _built(
        self,
        skills: Sequence[Skill],
        encoder: Encoder | None,
        examples: Mapping[str, Examples],
        progress: Progress | None,
    ) -> Built:
        built = self._builder.build(skills, encoder, examples, progress)
        if built.problem:
            self._meaning.failed(built.problem)
        elif built.encoded:
            self._meaning.worked()
        return built

    def with_vector(self, index: SkillIndex, query: Query) -> Query:
        """Return `query` with its vector, if the index can use one and the encoder works."""
        return self._meaning.with_vector(index, query)

    def needed_encoder(self) -> Encoder:
        """Return the encoder for what cannot be done without one.

        Raises:
            EncoderError: there is none, or it cannot be opened.
        """
        found = self.encoder()
        if found is None:
            raise EncoderError(self.settings.encoder.which, self.problem or NO_ENCODER)
        return found

    def encoder(self) -> Encoder | None:
        """Return the encoder of the settings, not loaded yet; None where there is none."""
        return self._meaning.encoder()


def _chosen(matches: Sequence[Match]) -> tuple[Match, ...]:
    """Return the matches whose skills a model may choose."""
    return tuple(match for match in matches if match.skill.invocation.model)
