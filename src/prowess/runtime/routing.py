"""Routing as a service: the right skills for a message of one agent, or none.

The index follows the agent's snapshot; the encoder is loaded by the first message that needs it.
Where there is none, or it fails, words route alone and every answer says so.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import NamedTuple

from prowess.errors import EncoderError
from prowess.routing import router
from prowess.routing.decision import DEFAULT
from prowess.routing.index import SkillIndex
from prowess.routing.model import Route, Status, Thresholds
from prowess.routing.router import Choice, Context, Query
from prowess.runtime.ports import Encoder, Examples, ExampleStore, Judge, Vectors, VectorStore
from prowess.runtime.routing_index import Built, IndexBuilder, Progress
from prowess.runtime.service import SkillsService
from prowess.settings import RoutingSettings
from prowess.skills.model import Skill
from prowess.skills.snapshot import Snapshot

_REMEMBERED_MESSAGES = 256
_JUDGED_SKILLS = 10
# How long a failing encoder is left alone before it is tried again.
_PAUSE_S = 30.0
NO_ENCODER = "no encoder (skills.routing.encoder is none): only words and names are matched."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How one message is routed, beyond the settings."""

    agent_id: str | None = None
    context: Context | None = None
    considered: int = 5
    # Stands over the load threshold of the settings.
    threshold: float | None = None


class Tools(NamedTuple):
    """The adapters that routing needs."""

    open_encoder: Callable[[], Encoder | None]
    vectors: VectorStore
    examples: ExampleStore
    # Thresholds that were calibrated for an encoder, by its id.
    calibrated: Callable[[str], Thresholds | None]
    seconds: Callable[[], float]
    # Gives memory back that building an index needed for a moment.
    tidy: Callable[[], None] | None = None
    # From the setting `rerank` to what judges the best skills again; None where it is off.
    open_judge: Callable[[str], Judge | None] = lambda _which: None


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

    def __init__(self, skills: SkillsService, tools: Tools) -> None:
        self._skills, self._tools = skills, tools
        self._builder = IndexBuilder(tools.vectors, tools.tidy)
        self._indexes: dict[str, _Kept] = {}
        self._messages: OrderedDict[tuple[str, str], Vectors] = OrderedDict()
        self._encoder: Encoder | None = None
        self._encoder_for: object = None
        self._judge: Judge | None = None
        self._judge_for = "off"
        self._problem = ""
        self._failed_at = float("-inf")
        self._lock, self._building = Lock(), Lock()

    @property
    def settings(self) -> RoutingSettings:
        """The settings of routing."""
        return self._skills.settings.skills.routing

    def route(self, message: str, asked: Asked | None = None) -> Route:
        """Return which skills to load or to offer for `message`, if any."""
        asked = asked or Asked()
        started = self._tools.seconds()
        index = self.index(asked.agent_id)
        choice = self.choice(asked)
        query = router.read(message, asked.context)
        answer = router.outright(index, query, choice)
        if answer is None:
            answer = router.route(index, self.with_vector(index, query), choice)
        if index.dense is None or (answer.status is Status.DEGRADED and query.ask.strip()):
            note = self._problem or NO_ENCODER
            answer = replace(
                answer, status=Status.DEGRADED, notes=tuple(dict.fromkeys((*answer.notes, note)))
            )
        return replace(answer, took_ms=(self._tools.seconds() - started) * 1_000)

    def choice(self, asked: Asked | None = None) -> Choice:
        """Return the thresholds and bounds that are in force."""
        asked, settings = asked or Asked(), self.settings
        encoder = self.encoder()
        base = (self._tools.calibrated(encoder.id) if encoder is not None else None) or DEFAULT
        load = settings.load_threshold if settings.load_threshold is not None else base.load
        offer = settings.offer_threshold if settings.offer_threshold is not None else base.offer
        load = load if asked.threshold is None else asked.threshold
        return Choice(
            thresholds=Thresholds(load=load, offer=min(load, offer)),
            most=settings.max_skills,
            considered=asked.considered,
        )

    def index(self, agent_id: str | None = None, progress: Progress | None = None) -> SkillIndex:
        """Return the index of what an agent may use, built anew only where that changed."""
        snapshot = self._skills.snapshot(agent_id)
        examples, encoder = self._tools.examples.read(), self.encoder()
        # Whoever comes while an index is made waits for it instead of making another.
        with self._building:
            return self._current(snapshot, examples, encoder, progress)

    def _current(
        self,
        snapshot: Snapshot,
        examples: Mapping[str, Examples],
        encoder: Encoder | None,
        progress: Progress | None,
    ) -> SkillIndex:
        kept, now = self._indexes.get(snapshot.agent_id), self._tools.seconds()
        if (
            kept is not None
            and (kept.snapshot is snapshot or kept.snapshot.usable == snapshot.usable)
            and kept.examples == examples
            and kept.encoder is encoder
            and not (kept.built.problem and now - kept.at > _PAUSE_S)
        ):
            return kept.built.index
        built = self._builder.build(snapshot.usable, encoder, examples, progress)
        if encoder is not None:
            self._problem = built.problem
        self._indexes[snapshot.agent_id] = _Kept(snapshot, examples, encoder, built, now)
        return built.index

    def index_of(self, skills: Sequence[Skill], progress: Progress | None = None) -> SkillIndex:
        """Return an index of any skills, as evaluations need it."""
        built = self._builder.build(skills, self.encoder(), {}, progress)
        self._problem = built.problem or self._problem
        return built.index

    def with_vector(self, index: SkillIndex, query: Query) -> Query:
        """Return `query` with its vector, if the index can use one and the encoder works."""
        encoder = self.encoder()
        if index.dense is None or encoder is None or not query.ask.strip():
            return query
        # An index from before a change of encoder is asked by words alone.
        if index.encoder_id != encoder.id or self._tools.seconds() - self._failed_at < _PAUSE_S:
            return query
        key = (encoder.id, query.ask)
        with self._lock:
            known = self._messages.get(key)
        if known is None:
            try:
                known = encoder.encode([query.ask])[0]
            except EncoderError as error:
                self._problem, self._failed_at = str(error), self._tools.seconds()
                return query
            self._problem = ""
            with self._lock:
                self._messages[key] = known
                while len(self._messages) > _REMEMBERED_MESSAGES:
                    self._messages.popitem(last=False)
        return self._judged(index, replace(query, vector=known))

    def _judged(self, index: SkillIndex, query: Query) -> Query:
        """Let a cross-encoder read the best skills with the message, where one is configured."""
        wanted = self.settings.rerank
        with self._lock:
            if self._judge_for != wanted:
                self._judge, self._judge_for = self._tools.open_judge(wanted), wanted
            judge = self._judge
        if judge is None:
            return query
        places = router.rank(index, query).order[:_JUDGED_SKILLS]
        try:
            judged = judge.judge(query.ask, [index.evidence[place].text for place in places])
        except EncoderError as error:
            self._problem = str(error)
            return query
        return replace(query, judged=dict(zip(places, judged.tolist(), strict=True)))

    @property
    def problem(self) -> str:
        """Why meaning takes no part; empty where it does, or where nothing was routed yet."""
        return self._problem

    def needed_encoder(self) -> Encoder:
        """Return the encoder for what cannot be done without one.

        Raises:
            EncoderError: there is none, or it cannot be opened.
        """
        found = self.encoder()
        if found is None:
            raise EncoderError(self.settings.encoder.which, self._problem or NO_ENCODER)
        return found

    def encoder(self) -> Encoder | None:
        """Return the encoder of the settings, not loaded yet; None where there is none."""
        wanted = self.settings.encoder
        with self._lock:
            pausing = self._tools.seconds() - self._failed_at < _PAUSE_S
            if self._encoder_for != wanted or (self._encoder is None and not pausing):
                self._encoder, self._problem = None, ""
                self._messages.clear()
                self._encoder_for = wanted
                try:
                    opened = self._tools.open_encoder()
                    # Naming itself shows whether the model is there at all.
                    self._encoder = opened if opened is None or opened.id else None
                except EncoderError as error:
                    self._problem, self._failed_at = str(error), self._tools.seconds()
            return self._encoder
