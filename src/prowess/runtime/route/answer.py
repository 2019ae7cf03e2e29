"""Routing as a service: the right skills for a message of one agent, or none.

`answer` is what every surface calls: it routes, names what is withheld and counts the use. `route`
does the first alone, for whoever tries messages out. The index follows the snapshot and only
what was never encoded is encoded; the encoder is loaded by the first message that needs it. Where
there is none, or it fails, words route alone, every answer says so, and it is left alone a while.
"""

import hashlib
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prowess.errors import EncoderError
from prowess.routing import router
from prowess.routing.decision import DEFAULT
from prowess.routing.index import (
    Encoded,
    SkillIndex,
    add_handoffs,
    list_index_texts,
    pack_index,
    unpack_index,
)
from prowess.routing.lexical import LexicalIndex, Terms, read_terms
from prowess.routing.model import Match, Route, Status, Thresholds
from prowess.routing.passages import SkillEvidence, read_evidence
from prowess.routing.router import Context, Query, RouteChoice
from prowess.runtime.ports import (
    Encoder,
    Examples,
    ExampleStore,
    IndexStore,
    Judge,
    Vectors,
    VectorStore,
)
from prowess.runtime.service import SkillsService
from prowess.settings import EncoderSettings, RoutingSettings
from prowess.skills.explanation import ALLOWED, ExplanationStep
from prowess.skills.model import Skill
from prowess.skills.snapshot import Snapshot

if TYPE_CHECKING:
    from prowess.runtime.usage import UsageLog

_REMEMBERED_MESSAGES = 256
_JUDGED_SKILLS = 10
# How long a failing model is left alone before it is tried again.
PAUSE_S = 30.0


class Meaning:
    """Gives messages their vectors, and the best skills a second look."""

    def __init__(
        self,
        settings: Callable[[], RoutingSettings],
        open_encoder: Callable[[], Encoder | None],
        open_judge: Callable[[str], Judge | None],
        seconds: Callable[[], float],
    ) -> None:
        self._settings, self._seconds = settings, seconds
        self._open_encoder, self._open_judge = open_encoder, open_judge
        self._lock = Lock()
        self._encoder: Encoder | None = None
        self._opened_for: EncoderSettings | None = None
        self._messages: OrderedDict[tuple[str, str], Vectors] = OrderedDict()
        self._problem, self._failed_at = "", float("-inf")
        self._judge: Judge | None = None
        self._judge_for, self._judge_problem, self._judge_failed_at = "off", "", float("-inf")

    @property
    def problem(self) -> str:
        """Why meaning takes no part; empty where it does, or where nothing was asked yet."""
        return self._problem

    @property
    def judge_problem(self) -> str:
        """Why the cross-encoder of the settings takes no part."""
        return self._judge_problem if self._judge_for == self._settings().rerank else ""

    def failed(self, problem: str) -> None:
        """Remember that the encoder does not work, and leave it alone for a while."""
        self._problem, self._failed_at = problem, self._seconds()

    def worked(self) -> None:
        """Forget an earlier failure: the encoder has answered since."""
        self._problem, self._failed_at = "", float("-inf")

    def encoder(self) -> Encoder | None:
        """Return the encoder of the settings, not loaded yet; None where there is none."""
        wanted = self._settings().encoder
        with self._lock:
            is_settled = self._encoder is not None or not self._problem or self._pausing
            if self._opened_for == wanted and is_settled:
                return self._encoder
            self._encoder, self._opened_for = None, wanted
            self.worked()
            try:
                opened = self._open_encoder()
                # Naming itself shows whether the model is there at all.
                self._encoder = opened if opened is None or opened.id else None
            except EncoderError as error:
                self.failed(str(error))
            return self._encoder

    def with_vector(self, index: SkillIndex, query: Query) -> Query:
        """Return `query` with its vector, if the index can use one and the encoder works."""
        encoder = self.encoder()
        # An index from before a change of encoder is asked by words alone.
        if encoder is None or index.dense is None or index.encoder_id != encoder.id:
            return query
        if not query.ask.strip():
            return query
        vector = self._vector(encoder, query.ask)
        return query if vector is None else self._judged(index, replace(query, vector=vector))

    def _vector(self, encoder: Encoder, ask: str) -> "Vectors | None":
        key = (encoder.id, ask)
        with self._lock:
            known = self._messages.get(key)
        if known is not None:
            return known
        if self._pausing:
            return None
        try:
            vector: Vectors = encoder.encode([ask])[0]
        except EncoderError as error:
            self.failed(str(error))
            return None
        self.worked()
        with self._lock:
            self._messages[key] = vector
            while len(self._messages) > _REMEMBERED_MESSAGES:
                self._messages.popitem(last=False)
        return vector

    def _judged(self, index: SkillIndex, query: Query) -> Query:
        """Let a cross-encoder read the best skills with the message, where one is configured."""
        wanted = self._settings().rerank
        with self._lock:
            if self._judge_for != wanted:
                self._judge, self._judge_for = self._open_judge(wanted), wanted
                self._judge_problem, self._judge_failed_at = "", float("-inf")
            judge = self._judge
        if judge is None or self._seconds() - self._judge_failed_at < PAUSE_S:
            return query
        places = router.rank(index, query).order[:_JUDGED_SKILLS]
        try:
            judged = judge.judge(query.ask, [index.evidence[place].text for place in places])
        except EncoderError as error:
            self._judge_problem, self._judge_failed_at = str(error), self._seconds()
            return query
        self._judge_problem = ""
        return replace(query, judged=dict(zip(places, judged.tolist(), strict=True)))

    @property
    def _pausing(self) -> bool:
        return self._seconds() - self._failed_at < PAUSE_S


# Called with what is being done, how much of it is, and how much there is.
Progress = Callable[[str, int, int], None]
_AT_ONCE = 64
_MOST_PHRASES = 40


@dataclass(frozen=True, slots=True)
class Built:
    """An index, and why it has no vectors where it has none."""

    index: SkillIndex
    problem: str
    # Whether the encoder was asked for anything, and so has shown that it works.
    encoded: bool


class _Read(NamedTuple):
    evidence: SkillEvidence
    terms: Terms


class IndexBuilder:
    """Keeps what was read of each skill from one index to the next."""

    def __init__(
        self,
        vectors: VectorStore,
        tidy: Callable[[], None] | None = None,
        indexes: IndexStore | None = None,
    ) -> None:
        self._vectors, self._tidy, self._indexes = vectors, tidy or _nothing, indexes
        self._read: dict[str, _Read] = {}
        self._lock = Lock()

    def build(
        self,
        skills: Sequence[Skill],
        encoder: Encoder | None,
        examples: Mapping[str, Examples],
        progress: Progress | None = None,
    ) -> Built:
        """Index `skills`; without a working encoder the index has words and no vectors."""
        if self._indexes is None or not skills:
            return self._made(skills, encoder, examples, progress)
        key = _key(skills, encoder, examples)
        kept = self._indexes.load(key)
        found = None if kept is None else unpack_index(kept, skills)
        if found is not None:
            return Built(found, problem="", encoded=False)
        built = self._made(skills, encoder, examples, progress)
        if not built.problem:
            self._indexes.save(key, pack_index(built.index))
        return built

    def _made(
        self,
        skills: Sequence[Skill],
        encoder: Encoder | None,
        examples: Mapping[str, Examples],
        progress: Progress | None,
    ) -> Built:
        with self._lock:
            read = self._read_all(skills, examples, progress or _silent)
        evidence = add_handoffs([one.evidence for one in read])
        # Before the vectors are there: the two together would take twice the memory.
        lexical = LexicalIndex.build([one.terms for one in read])
        encoded, problem, asked = None, "", False
        if encoder is not None:
            try:
                vectors, asked = self._encoded(
                    encoder, list_index_texts(evidence), progress or _silent
                )
                encoded = Encoded(vectors, encoder.id, encoder.english_only)
                del vectors
            except EncoderError as error:
                problem = str(error)
        index = SkillIndex.build(skills, evidence, lexical, encoded)
        del encoded
        self._tidy()
        return Built(index, problem, asked)

    def _read_all(
        self, skills: Sequence[Skill], examples: Mapping[str, Examples], progress: Progress
    ) -> list[_Read]:
        known, kept, found = self._read, {}, []
        for done, skill in enumerate(skills):
            mine = examples.get(skill.name, Examples())
            key = _name_of(skill, mine)
            one = known.get(key) or _read(skill, mine)
            kept[key] = one
            found.append(one)
            if done % _AT_ONCE == _AT_ONCE - 1:
                progress("reading skills", done + 1, len(skills))
        # Two agents' sets share one memory: forget only when it grows well beyond one set.
        self._read = kept if len(known) > 2 * len(kept) + _AT_ONCE else {**known, **kept}
        return found

    def _encoded(
        self, encoder: Encoder, texts: Iterable[str], progress: Progress
    ) -> tuple[Mapping[str, Vectors], bool]:
        """Return the vector of each text, and whether any had to be made."""
        keys = {text: text_key(text) for text in texts}
        stored = self._vectors.load(encoder.id, list(keys.values()))
        vectors = {text: stored[key] for text, key in keys.items() if key in stored}
        known = len(vectors)
        self._add(encoder, keys, vectors, progress)
        if len({len(vector) for vector in vectors.values()}) > 1:
            # Two widths under one name: the model behind it is another one now.
            vectors.clear()
            known = 0
            self._add(encoder, keys, vectors, progress)
        return vectors, known < len(vectors)

    def _add(
        self,
        encoder: Encoder,
        keys: Mapping[str, str],
        vectors: dict[str, Vectors],
        progress: Progress,
    ) -> None:
        """Encode what `vectors` lacks and keep it."""
        missing = [text for text in keys if text not in vectors]
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            # As the store gives them back, so that a first run and a second one answer alike.
            rows = encoder.encode(some).astype(np.float16).astype(np.float32)
            fresh = dict(zip(some, rows, strict=True))
            vectors |= fresh
            # Kept as they come: an interrupted indexing goes on where it stopped.
            self._vectors.save(encoder.id, {keys[text]: vector for text, vector in fresh.items()})
            progress("encoding texts", start + len(some), len(missing))


def _key(skills: Sequence[Skill], encoder: Encoder | None, examples: Mapping[str, Examples]) -> str:
    """Return a hash of all that an index is made from."""
    whose = "" if encoder is None else f"{encoder.id} {encoder.english_only}"
    parts = [whose]
    for skill in skills:
        mine = examples.get(skill.name, Examples())
        # The same file may be read in another mode, and then says something else.
        read = (skill.description, skill.when_to_use, len(skill.body), skill.globs)
        parts.append(f"{_name_of(skill, mine)}\0{read}{skill.metadata.triggers}{skill.invocation}")
    return text_key("\1".join(parts))


def _name_of(skill: Skill, examples: Examples) -> str:
    return f"{skill.name}\0{skill.content_hash}\0{examples!r}"


def text_key(text: str) -> str:
    """Return the hash by which a text's vector is kept."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _read(skill: Skill, examples: Examples) -> _Read:
    evidence = read_evidence(skill)
    more = (*examples.confirmed, *examples.generated)
    if more or examples.near_misses:
        evidence = replace(
            evidence,
            requests=tuple(dict.fromkeys((*evidence.requests, *more))),
            phrases=tuple(dict.fromkeys((*more, *evidence.phrases)))[:_MOST_PHRASES],
            negatives=(*evidence.negatives, *examples.near_misses),
        )
    # The words are all that is needed of the body from here on.
    return _Read(replace(evidence, body=""), read_terms(evidence))


def _nothing() -> None:
    """Tidy nothing up."""


def _silent(_what: str, _done: int, _total: int) -> None:
    """Report nothing."""


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
