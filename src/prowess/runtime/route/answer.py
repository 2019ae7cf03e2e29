"""Routing as a service: the right skills for a message of one agent, or none.

`answer` is what every surface calls: it routes, names what is withheld and counts the use. `route`
does the first alone, for whoever tries messages out. The index follows what is allowed and only
what was never encoded is encoded; the encoder is loaded by the first message that needs it. Where
there is none, or it fails, words route alone, every answer says so, and it is left alone a while.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from prowess.data import dataclass
from prowess.errors import EncoderError, SkillNotFoundError
from prowess.routing import router
from prowess.routing.decision_triggers_and_follow_ups import DEFAULT
from prowess.routing.model import Decision, Match, Route, Status, Thresholds
from prowess.routing.router import Context, Query, RouteChoice, SkillIndex
from prowess.runtime.ports import (
    Encoder,
    Examples,
    ExampleStore,
    IndexStore,
    Judge,
    ReferenceTexts,
    StaleSkill,
    VectorStore,
)
from prowess.runtime.route.index import PAUSE_S, Built, IndexBuilder, Meaning, Progress
from prowess.runtime.service import SkillsService
from prowess.settings import RoutingSettings
from prowess.skills.agent_filter_snapshot import AgentFilter, Allowed
from prowess.skills.explanation import (
    ALLOWED,
    Explanation,
    ExplanationStep,
    SkillSituation,
    explain,
    explain_broken,
    explain_shadowed,
    explain_unreached,
)
from prowess.skills.model import Diagnostic, Severity, Skill
from prowess.spans import Id, timed
from prowess.transcripts.turns import Role, read_turns

if TYPE_CHECKING:
    from prowess.runtime.usage import UsageLog


def why(skills: SkillsService, name: str, agent_id: str | None = None) -> Explanation:
    """Explain where on its way to the model a skill is, or where it stopped.

    Raises:
        SkillNotFoundError: nothing of that name was found, not even a broken file.
    """
    agent = skills.agent(agent_id)
    state = skills.workspace(agent_id).state(skills.settings)
    try:
        status = skills.find(name, agent_id)
    except SkillNotFoundError:
        problems = _problems_of(name, state.scan.diagnostics)
        lost = [s for s in state.catalog.shadowed if name in {s.skill.key, s.skill.id}]
        if lost:
            return explain_shadowed(lost[0], agent.id)
        if not problems:
            cut = [d for d in state.scan.diagnostics if d.code.endswith("-truncated")]
            if cut:
                # The file may be there and simply not have been reached.
                # What was read and then cut is the likelier case.
                cut.sort(key=lambda problem: problem.code != "skills-truncated")
                return explain_unreached(name, agent.id, cut[0])
            raise
        return explain_broken(name, agent.id, problems)
    return explain(
        SkillSituation(
            skill=status.skill,
            verdict=status.verdict,
            agent_id=agent.id,
            agent_filter=AgentFilter.of(agent),
            block=skills.snapshot(agent.id).block,
            entry_of=state.withheld.get(status.skill.name, ""),
            shadows=tuple(s for s in state.catalog.shadowed if s.winner is status.skill),
            passed_over=tuple(
                problem
                for problem in _problems_of(status.skill.name, state.scan.diagnostics)
                if problem.path != status.skill.path
            ),
        )
    )


def _problems_of(name: str, diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return the errors of files that a person may mean by `name`."""
    wanted = name.strip().casefold()
    return [
        problem
        for problem in diagnostics
        if problem.severity is Severity.ERROR and wanted in _names_of(problem.path)
    ]


def _names_of(path: str) -> set[str]:
    parts = path.replace("\\", "/").casefold().rstrip("/").split("/")
    return {parts[-1], parts[-1].rsplit(".", 1)[0], *parts[-2:-1]}


log = logging.getLogger(__name__)

NO_ENCODER = "no encoder (skills.routing.encoder is none): only words and names are matched."
# Earlier messages of the user; what was said before that is another matter.
_REMEMBERED = 2
_INDEXING = "skills are still being indexed ({done} of {total}): only words and names are matched."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How one message is routed, beyond the settings."""

    agent_id: str | None = None
    context: Context | None = None
    # What was said before the message, as any program keeps messages; it may end with the message.
    history: Sequence[Mapping[str, object]] = ()
    considered: int = 5
    # Stands over the load threshold of the settings.
    threshold: float | None = None
    # What a run was pinned to; by default what the agent may use now.
    snapshot: Allowed | None = None
    # Whether skills that fit and cannot be used are named, for which it is routed once more.
    withheld: bool = False
    # Whether somebody only tries a message out, so that nothing is counted.
    rehearsal: bool = False


class Surface(StrEnum):
    """By which way a message came in."""

    LIBRARY = "library"
    TERMINAL = "terminal"
    CHAT = "chat"
    AGENT = "agent"
    GATEWAY = "gateway"
    MCP = "mcp"
    HOOK = "hook"


# From here on a skill is told to somebody who did not ask; fitted by `training.hints`.
CLEAR = 0.18
# An occasion picks out skills for "something is broken" without a word of theirs.
CARRIES, OUTRIGHT = 0.02, frozenset(("named", "followUp", "trigger"))
# What these say goes straight to a model, which may not be told of every skill.
_READ_BY_MODELS = frozenset((Surface.AGENT, Surface.MCP, Surface.HOOK))


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks: by which surface, and for which agent."""

    surface: Surface
    agent_id: str | None = None


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


class Hurry(NamedTuple):
    """When nobody waits for an index: words answer until it is made."""

    # So many skills take a while to encode; fewer are waited for.
    least_skills: int = 500
    # How long it is waited for all the same: one that is kept is there within that.
    seconds: float = 0.0


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
    # What the last check of freshness found, by the path of the skill.
    stale: Callable[[], Mapping[str, StaleSkill]] = dict
    # Without it only the pages of skills are read.
    references: ReferenceTexts | None = None
    # Where answers are counted; without it none are.
    usage: "Callable[[], UsageLog] | None" = None


@dataclass(frozen=True, slots=True)
class _Kept:
    """The index of one agent, and what it was made from."""

    allowed: Allowed
    examples: Mapping[str, Examples]
    stale: Mapping[str, StaleSkill]
    encoder: Encoder | None
    built: Built
    at: float


class RoutingService:
    """Routes messages for every agent; safe to call from several threads."""

    def __init__(self, skills: SkillsService, tools: RoutingPorts) -> None:
        self._skills, self._tools = skills, tools
        self._builder = IndexBuilder(
            tools.vectors, tools.tidy, tools.indexes, tools.stale, tools.references
        )
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
        # Whether nobody waits for vectors: for a process that stays, and is told how far they are,
        # with the agent.
        self.hurries: Hurry | None = None
        self.indexing: Callable[[str, int, int], None] = lambda _agent, _done, _total: None
        self._words: dict[str, tuple[tuple[Skill, ...], SkillIndex]] = {}
        self._behind: dict[str, tuple[int, int]] = {}
        # Is told each answer that counts, for who shows what happens.
        self.followed: Callable[[str, str, Route], None] = lambda _agent, _surface, _found: None

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
        with timed(log, "route", surface=caller.surface.value) as ids:
            found = self.route(message, asked)
            ids |= {"agent": self._skills.agent(caller.agent_id).id, **_describe(found)}
        is_unmatched = not found.matches
        if caller.surface in _READ_BY_MODELS:
            found = replace(
                found, matches=_chosen(found.matches), considered=_chosen(found.considered)
            )
        if caller.surface is Surface.HOOK:
            matches = find_sure(found)
            decision = Decision.LOAD if matches else Decision.NONE
            found = replace(found, decision=decision, matches=matches)
        if self._tools.usage is not None and not asked.rehearsal:
            agent_id = self._skills.agent(caller.agent_id).id
            names = [match.skill.name for match in found.matches]
            self._tools.usage().note_route(names, agent_id, is_unmatched=is_unmatched)
            self.followed(agent_id, caller.surface.value, found)
        withheld = self._find_withheld(message, asked) if asked.withheld else ()
        return RoutingAnswer(route=found, withheld=withheld)

    def _find_withheld(self, message: str, asked: Asked) -> tuple[Withheld, ...]:
        """Return the skills that are not ready and would be loaded or offered if they were."""
        with self._skills.lock:
            now = self._skills.allowed(asked.agent_id)
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
        steps = why(self._skills, match.skill.id, agent_id).steps
        # None where it became ready in the meantime.
        return next((step for step in steps if not step.passed), None)

    def route(self, message: str, asked: Asked | None = None) -> Route:
        """Return which skills to load or to offer for `message`, if any, and count nothing."""
        asked = asked or Asked()
        if asked.history:
            context = remember(asked.history, message, asked.context or Context())
            asked = replace(asked, context=context, history=())
        now = asked.snapshot or self._skills.allowed(asked.agent_id)
        if not now.hopeful:
            return self._route(message, asked, now)
        # As if all were fine: then only the few that fit have to be scanned for an answer.
        found = self._route(message, asked, replace(now, usable=now.hopeful, hopeful=()))
        return self._without_blocked(found, now, asked.agent_id)

    def _without_blocked(self, found: Route, before: Allowed, agent_id: str | None) -> Route:
        """Return an answer without what may not be used, or was not scanned for want of time."""
        known = {skill.path for skill in before.usable}
        unknown = [one.skill for one in found.matches if one.skill.path not in known]
        if unknown:
            self._skills.settle(unknown, agent_id)
            known = {skill.path for skill in self._skills.allowed(agent_id).usable}
        matches = tuple(one for one in found.matches if one.skill.path in known)
        return replace(
            found,
            decision=found.decision if matches else Decision.NONE,
            matches=matches,
            considered=tuple(one for one in found.considered if one.skill.path in known),
        )

    def _route(self, message: str, asked: Asked, allowed: Allowed) -> Route:
        started = self._tools.seconds()
        index = self._index(allowed)
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
            far = next(iter(tuple(self._behind.values())), None)
            later = "" if far is None else _INDEXING.format(done=far[0], total=far[1])
            notes.append(later or self._meaning.problem or NO_ENCODER)
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
        return self._index(self._skills.allowed(agent_id), progress)

    def _index(self, allowed: Allowed, progress: Progress | None = None) -> SkillIndex:
        # Nearly every message finds its index made: those do not wait for each other.
        found = self._fitting(allowed)
        if found is not None:
            return found
        # Whoever wants to know how far it is, waits for it.
        hurry = None if progress else self.hurries
        if hurry and len(allowed.usable) >= hurry.least_skills and self.encoder() is not None:
            return self._index_words(allowed, hurry.seconds)
        with self._building[allowed.agent_id]:
            return self._fitting(allowed) or self._made(allowed, progress)

    def _index_words(self, allowed: Allowed, seconds: float) -> SkillIndex:
        """Return an index of words alone, and see to it that the whole one is being made."""
        if self._building[allowed.agent_id].acquire(blocking=False):
            behind = Thread(target=self._make_behind, args=(allowed,), daemon=True)
            behind.start()
            behind.join(seconds)
            found = self._fitting(allowed)
            if found is not None:
                return found
        kept = self._words.get(allowed.agent_id)
        if kept is None or kept[0] != allowed.usable:
            built = self._builder.build(allowed.usable, None, self._tools.examples.read())
            kept = self._words[allowed.agent_id] = (allowed.usable, built.index)
        return kept[1]

    def _make_behind(self, allowed: Allowed) -> None:
        """Make an index while others are answered; the lock is held since before."""
        agent = allowed.agent_id

        def tell(_what: str, done: int, total: int) -> None:
            self._behind[agent] = (done, total)
            self.indexing(agent, done, total)

        try:
            tell("", 0, len(allowed.usable))
            self._made(allowed, tell)
            self._words.pop(agent, None)
        finally:
            self._behind.pop(agent, None)
            self._building[agent].release()
            self.indexing(agent, 0, 0)

    def finish(self, seconds: float) -> None:
        """Wait until no index is being made any more, for so long at most."""
        for making in tuple(self._building.values()):
            if making.acquire(timeout=seconds):
                making.release()

    def _fitting(self, allowed: Allowed) -> SkillIndex | None:
        """Return the index that is kept, unless something changed that it was made from."""
        examples, encoder = self._tools.examples.read(), self.encoder()
        kept, now = self._indexes.get(allowed.agent_id), self._tools.seconds()
        if (
            kept is None
            or not (kept.allowed is allowed or kept.allowed.usable == allowed.usable)
            or not (kept.examples is examples or kept.examples == examples)
            or kept.stale != self._tools.stale()
            or kept.encoder is not encoder
        ):
            return None
        if now - kept.at > PAUSE_S:
            # Now and then: nothing else says that a file beside a page has changed.
            references = self._builder.stamp_references(allowed.usable)
            if kept.built.problem or kept.built.references != references:
                return None
            self._indexes[allowed.agent_id] = replace(kept, at=now)
        return kept.built.index

    def _made(self, allowed: Allowed, progress: Progress | None) -> SkillIndex:
        examples, encoder = self._tools.examples.read(), self.encoder()
        now, stale = self._tools.seconds(), self._tools.stale()
        built = self._built(allowed.usable, encoder, examples, progress)
        self._indexes[allowed.agent_id] = _Kept(allowed, examples, stale, encoder, built, now)
        return built.index

    def index_of(self, skills: Sequence[Skill], progress: Progress | None = None) -> SkillIndex:
        """Return an index of any skills, as evaluations need it."""
        return self._built(skills, self.encoder(), {}, progress).index

    def try_on(self, skills: Sequence[Skill], guests: Sequence[Skill]) -> SkillIndex:
        """Return an index of `skills` and, behind them, of texts that are only tried on."""
        return self._builder.try_on(skills, guests, self.encoder()).index

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

    def prepare(self, messages: Iterable[str]) -> None:
        """Give many messages their vectors at once, and keep them: tests ask the same again."""
        encoder = self.encoder()
        if encoder is None:
            return
        texts = [ask for ask in dict.fromkeys(map(router.find_ask, messages)) if ask.strip()]
        try:
            self._meaning.prepare(encoder, self._builder.encode(encoder, texts))
        except EncoderError as error:
            self._meaning.failed(str(error))

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


def remember(history: Iterable[Mapping[str, object]], message: str, context: Context) -> Context:
    """Return `context` with what the user and the agent said before `message`."""
    said = [turn for turn in read_turns(history) if turn.text.strip()]
    if said and said[-1].role is Role.USER and said[-1].text.strip() == message.strip():
        said.pop()
    earlier = [turn.text for turn in said if turn.role is Role.USER]
    replies = (turn.text for turn in reversed(said) if turn.role is Role.ASSISTANT)
    return replace(context, earlier=tuple(earlier[-_REMEMBERED:]), reply=next(replies, ""))


def find_sure(found: Route) -> tuple[Match, ...]:
    """Return what is worth a word to who did not ask: said outright, clearly meant, or loaded."""
    loaded = [match for match in found.matches if match.score >= found.thresholds.load]
    if found.decision is not Decision.LOAD:
        # What fits well enough and is not loaded is only mentioned.
        if loaded:
            return ()
    elif found.status is Status.DEGRADED:
        return tuple(loaded)
    outright = [match for match in loaded if match.signals.keys() & OUTRIGHT]
    occasional = [match for match in loaded if match.signals.get("occasion", 0) > CARRIES]
    clear = [match for match in found.considered if match.clarity >= CLEAR]
    clear.sort(key=lambda match: -match.clarity)
    told = (*outright, *clear[:1], *occasional, *(match for match in clear if match in loaded))
    return tuple({match.skill.name: match for match in told}.values())


def _chosen(matches: Sequence[Match]) -> tuple[Match, ...]:
    """Return the matches whose skills a model may choose."""
    return tuple(match for match in matches if match.skill.invocation.model)


def _describe(found: Route) -> dict[str, Id]:
    """Return what a log may hold of a route: what was decided, and never what was asked."""
    ids: dict[str, Id] = {"decision": found.decision.value, "status": found.status.value}
    if found.matches:
        ids |= {"skill": found.matches[0].skill.name, "score": round(found.matches[0].score, 3)}
    return ids
