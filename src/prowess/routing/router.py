"""From a message to a decision: rank every skill, then load, offer or leave it, with reasons.

Everything about a set of skills that this needs is made once, as an index, and used for every
message.

The vector of the message is an argument, so nothing here waits for a model: `outright` first asks
whether one is needed at all. A reason is a sentence that a person can check against the skill.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.data import dataclass
from prowess.routing import decision_triggers_and_follow_ups as decision
from prowess.routing.decision_triggers_and_follow_ups import (
    DEFAULT,
    Closing,
    Fused,
    HintIndex,
    Hints,
    Named,
    Scale,
    Signs,
    add_hints,
    fold,
    fuse,
    is_called,
    is_follow_up,
    read_closing,
    read_scale,
    read_shares,
    weigh_hints,
    weight_of_meaning,
)
from prowess.routing.dense import DenseIndex, Encoded, list_texts, measure_clarity, measure_nearness
from prowess.routing.handoffs_and_passages import SkillEvidence
from prowess.routing.lexical_and_breadth import (
    Breadth,
    LexicalIndex,
    LexicalScores,
    list_messages,
    measure_meaning,
    measure_words,
)
from prowess.routing.message_kinds import (
    Everyday,
    MessageReading,
    Occasions,
    list_common_texts,
    read_needs,
)
from prowess.routing.model import Decision, Match, Route, Status, Thresholds
from prowess.routing.words import find_asking_part, is_mention, measure_shape, put_in_english
from prowess.skills.model import Skill
from prowess.skills.text import one_line

Floats: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SkillIndex:
    """The skills of one snapshot, ready to be matched; never changed, so threads may share it."""

    skills: tuple[Skill, ...]
    # Those that the model may not choose: only a person can call them.
    hidden: tuple[int, ...]
    evidence: tuple[SkillEvidence, ...]
    lexical: LexicalIndex
    hints: HintIndex
    # None without an encoder: then words and what is said outright are all there is.
    dense: DenseIndex | None
    breadth: Breadth
    everyday: Everyday | None
    # None without the encoder that the heads were fitted for.
    occasions: Occasions | None
    english_only: bool
    encoder_id: str

    @classmethod
    def build(
        cls,
        skills: Sequence[Skill],
        evidence: Sequence[SkillEvidence],
        lexical: LexicalIndex,
        encoded: Encoded | None,
    ) -> Self:
        """Index `skills`; `encoded` has a vector for every text that `needed_texts` names."""
        dense, line, occasions = None, None, None
        meaning = np.zeros(len(skills), np.float32)
        if encoded is not None:
            dense = DenseIndex.build(evidence, encoded.vectors, english_only=encoded.english_only)
            line = Everyday.between(encoded.vectors, dense.whole)
            strangers = np.array([encoded.vectors[text] for text in list_messages()], np.float32)
            meaning = measure_meaning(dense, strangers, lexical.known)
            occasions = Occasions.build(encoded, dense, lexical.known)
        return cls(
            skills=tuple(skills),
            hidden=tuple(at for at, skill in enumerate(skills) if not skill.invocation.model),
            # The bodies are in the lexical index by now.
            evidence=tuple(replace(one, body="") for one in evidence),
            lexical=lexical,
            hints=HintIndex(skills),
            dense=dense,
            breadth=Breadth(meaning, measure_words(lexical, list_messages())),
            everyday=line,
            occasions=occasions,
            english_only=encoded is not None and encoded.english_only,
            encoder_id="" if encoded is None else encoded.encoder_id,
        )


def list_index_texts(evidence: Sequence[SkillEvidence]) -> Iterator[str]:
    """Yield every text whose vector is needed, some of them more than once."""
    yield from list_common_texts()
    for one in evidence:
        yield from list_texts(one)


CALLED = "the message calls it by name"
GOES_ON = "the message goes on with what was loaded last"
ENDS = "the message says that it works now, which needs no skill"
LOADED = "it is loaded already"
REFUSED = "the message says not to use it"
OURS = "it is about Prowess itself, and the message is not"
HIDDEN = "only a person may call it, by name: its author or the config keeps it from the model"
_LONGEST_QUOTE = 160
_REMEMBERED = 64
# A cosine below this is chance: naming the sentence would mislead.
_MEANT = 0.2


def _explain_veto(phrase: str) -> str:
    """Return why a veto of the author keeps a skill out."""
    return f'its author says no to "{_quote(phrase)}" (triggers.none)'


def find_reasons(
    index: SkillIndex, ask: str, vector: Floats | None, place: int, hints: Hints
) -> tuple[str, ...]:
    """Return what speaks for a skill, and what against, strongest first."""
    found: list[str] = []
    if hints.named:
        found.append("the message names it")
    if hints.trigger:
        found.append(f'its trigger "{_quote(hints.trigger)}" is in the message')
    if hints.path:
        found.append(f"{_quote(hints.path)} is one of its files (paths or globs)")
    if vector is not None and index.dense is not None:
        found += _find_meanings(index.dense, index.evidence[place].positive, vector, place)
    words = index.lexical.matched_words(ask, place)
    if words:
        found.append(f"shares the words {', '.join(_quote(word) for word in words)}")
    return tuple(found)


def _find_meanings(dense: DenseIndex, said: str, vector: Floats, place: int) -> list[str]:
    whole = float(dense.whole[place] @ vector)
    phrase, near = dense.best_phrase(vector, place)
    found = []
    if near >= _MEANT and near >= whole:
        found.append(f'means nearly "{_quote(phrase)}" ({near:.2f})')
    elif whole >= _MEANT:
        # The sentence that is nearest, if it is one of the description's own.
        shown = phrase if phrase and phrase in said else said
        found.append(f'fits its description "{_quote(shown)}" ({whole:.2f})')
    negative, against = dense.best_negative(vector, place)
    if against > max(near, whole):
        found.append(f'but is nearer to what it is not for: "{_quote(negative)}"')
    return found


def _quote(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST_QUOTE else line[: _LONGEST_QUOTE - 1].rstrip() + "…"


# A small weight: a cross-encoder of this size is right more often than not, and no more.
_JUDGED = 0.005
_LONGEST_HINTED = 20_000
# What the agent said last counts more than what the user said before; of either, the end.
_REPLY, _EARLIER = 0.35, (0.2, 0.1)
_LONGEST_AROUND = 240
# How far thanks are of a kind that needs no skill.
_CLOSING = 2.0
# What adds less is not worth a reason.
_SPEAKS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What came before the message: skills that are loaded, those loaded last, files at hand.

    `earlier` are the user's messages before it, the last one last, and `reply` what the agent said
    between them and the message.
    """

    loaded: frozenset[str] = frozenset()
    last: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    # Whether skills that Prowess ships are candidates: they are about Prowess itself.
    bundled: bool = True
    earlier: tuple[str, ...] = ()
    reply: str = ""

    @property
    def follows(self) -> bool:
        """True where a conversation came before the message."""
        return bool(self.reply or self.earlier)

    def list_around(self) -> tuple[tuple[str, float], ...]:
        """Return what the message may refer to, with its weight: the nearer, the more."""
        said = ((self.reply, _REPLY), *zip(self.earlier[::-1], _EARLIER, strict=False))
        cut = ((text.strip()[-_LONGEST_AROUND:], weight) for text, weight in said)
        return tuple((text, weight) for text, weight in cut if text)


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteChoice:
    """How much is loaded and shown."""

    thresholds: Thresholds = DEFAULT
    most: int = 3
    considered: int = 5
    scale: Scale = field(default_factory=read_scale)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """A message as it is matched: the part that asks, and its vector if there is one."""

    message: str
    ask: str
    # The same word by word in English, for a reader of English; as it is where it is English.
    english: str
    # With the paths, addresses and identifiers that are left out of `ask`.
    mentioning: str = ""
    vector: Floats | None = None
    # The same with what it may refer to; by default the vector itself.
    around: Floats | None = None
    context: Context = field(default_factory=Context)
    # What a cross-encoder says of the best skills, by their place in the index.
    judged: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """Every skill that may be chosen, best first, with its evidence and its score."""

    order: tuple[int, ...]
    scores: Floats
    evidence: Floats
    fused: Fused
    hints: Mapping[int, Hints]
    leaning: float
    reading: MessageReading
    # Whether the message only mentions things, which never carries a load alone.
    mentions: bool
    # Why a skill is out of the running, by its place in the index.
    excluded: Mapping[int, str]
    # How clearly each skill is meant; nothing without a vector.
    clarity: Floats | None

    @property
    def confidence(self) -> float:
        """The score of the best skill: how sure it is that any skill is meant."""
        return float(self.scores[self.order[0]]) if self.order else 0.0


# Many messages get their vectors at once, and then each of them is read to be routed.
@lru_cache(maxsize=_REMEMBERED)
def find_ask(message: str) -> str:
    """Return the part of a message that gets a vector."""
    return find_asking_part(message.replace("\0", " "))


def read(message: str, context: Context | None = None) -> Query:
    """Prepare a message; its vector is added by whoever has an encoder."""
    text = message.replace("\0", " ")
    ask = find_ask(message)
    return Query(
        message=text,
        ask=ask,
        english=put_in_english(ask),
        mentioning=find_asking_part(text, mentions=True),
        context=context or Context(),
    )


def outright(index: SkillIndex, query: Query, choice: RouteChoice) -> Route | None:
    """Answer without a vector where nothing has to be guessed: a command, "go on", no message."""
    if not query.message.strip() or not len(index.skills):
        return Route(decision=Decision.NONE, thresholds=choice.thresholds)
    called = _find_called(index, query, choice)
    if called is not None:
        return called
    # "The error is gone" is near to what reports an error, so that words have to tell them apart.
    if read_closing(query.message) is Closing.OVER:
        notes = (f"{ENDS}.",)
        return Route(
            decision=Decision.NONE, thresholds=choice.thresholds, notes=notes, kind="praise"
        )
    if not is_follow_up(query.message):
        return None
    return _continue_last(index, query, choice)


def _continue_last(index: SkillIndex, query: Query, choice: RouteChoice) -> Route:
    """Go on with what was loaded last, as far as it is there and not loaded still."""
    places = {skill.name: place for place, skill in enumerate(index.skills)}
    last, loaded = dict.fromkeys(query.context.last), query.context.loaded
    going_on = {
        name: Match(
            skill=index.skills[places[name]],
            score=1.0,
            signals={"followUp": 1.0},
            reasons=(GOES_ON, LOADED) if name in loaded else (GOES_ON,),
        )
        for name in last
        if name in places
    }
    matches = tuple(match for name, match in going_on.items() if name not in loaded)[: choice.most]
    kept = {name: "kept, being loaded still" for name in going_on if name in loaded}
    gone = {name: "not here any more" for name in last if name not in places}
    notes = [f"{GOES_ON}: {name} is {state}." for name, state in (kept | gone).items()]
    if not last:
        notes = [f"{GOES_ON}, and nothing was loaded before it."]
    found = Decision.LOAD if matches else Decision.NONE
    return Route(
        decision=found,
        thresholds=choice.thresholds,
        matches=matches,
        considered=tuple(going_on.values())[: max(choice.considered, 0)],
        notes=tuple(notes),
        kind="followup",
    )


def _find_called(index: SkillIndex, query: Query, choice: RouteChoice) -> Route | None:
    places = index.hints.find_called(_cut_long(query.message))
    called = [place for place in places if index.skills[place].invocation.user]
    if not called or choice.most < 1:
        return None
    # A name stands over the key of another skill.
    text = fold(query.message)
    skills = [index.skills[place] for place in called]
    skill = next((skill for skill in skills if is_called(text, skill.name)), skills[0])
    match = Match(skill=skill, score=1.0, signals={"named": 1.0}, reasons=(CALLED,))
    if skill.name in query.context.loaded:
        note = f"{skill.name} is loaded already."
        return Route(decision=Decision.NONE, thresholds=choice.thresholds, notes=(note,))
    return Route(
        decision=Decision.LOAD,
        thresholds=choice.thresholds,
        matches=(match,),
        considered=(match,)[: max(choice.considered, 0)],
    )


def rank(index: SkillIndex, query: Query, scale: Scale | None = None) -> Ranking:
    """Score every skill for the message."""
    scale = scale or read_scale()
    fused, signs, reading, clarity = _weigh(index, query)
    hints = index.hints.of(_cut_long(query.message), query.context.paths)
    outright = add_hints(hints, len(index.skills))
    excluded = _find_excluded(index, hints, query.context)
    # Ours are no candidates, and still what a skill has to stand out against.
    out = [place for place, why in excluded.items() if why != OURS]
    allowed = np.delete(np.arange(len(outright)), out) if out else np.arange(len(outright))
    signs = replace(signs, asked_so=signs.asked_so[allowed])
    above = decision.weigh_topic(fused.total[allowed], outright[allowed], signs, scale)
    if reading.occasions and index.occasions is not None:
        serving = index.occasions.weigh(reading)
        added = np.zeros_like(outright)
        added[allowed] = decision.weigh_occasion(above, serving[allowed], scale)
        above = above + added[allowed]
        fused = _add_part(fused, "occasion", added)
    # What is only mentioned tells skills apart, and not whether any is needed.
    fused = _add_part(fused, "mention", _weigh_mentions(index, query, fused))
    evidence = fused.total + outright
    scored = np.zeros(len(evidence), np.float32)
    scored[allowed] = decision.scores(above, signs, scale)
    order = allowed[np.argsort(-evidence[allowed], kind="stable")].tolist()
    mentions = is_mention(query.message)
    return Ranking(
        order=tuple(place for place in order if place not in excluded)
        if excluded
        else tuple(order),
        scores=scored,
        evidence=evidence,
        fused=fused,
        hints=hints,
        leaning=float(signs.leaning),
        reading=reading,
        mentions=mentions,
        excluded=excluded,
        clarity=None if mentions else clarity,
    )


class _Weighed(NamedTuple):
    fused: Fused
    signs: Signs
    reading: MessageReading
    clarity: Floats | None


def _weigh(index: SkillIndex, query: Query) -> _Weighed:
    """Return how words and meaning fit each skill, and what is known of the message."""
    lexical = match_words(index, query)
    words = index.lexical.words_per_skill
    asked_so = np.zeros(len(index.skills), np.float32)
    weight, dense, leaning, reading = 0.0, None, 0.0, MessageReading()
    if index.dense is not None and query.vector is not None:
        shape = measure_shape(query.english if index.english_only else query.ask)
        weight = weight_of_meaning(words, shape, english_only=index.english_only)
        around = query.vector if query.around is None else query.around
        dense = index.dense.score(around, lexical.damped, index.lexical.known)
        asked_so = measure_nearness(dense)
        if index.everyday is not None and weight > 0:
            leaning = index.everyday.leaning(query.vector)
        if index.occasions is not None and weight > 0:
            follows = query.context.follows
            reading = index.occasions.read(query.message, query.vector, follows=follows)
            if read_closing(query.message):
                reading = MessageReading(kind="praise", idle=_CLOSING, resting="praise")
    fused = fuse(lexical, dense, breadth=index.breadth, weight=weight)
    signs = Signs(
        mass=lexical.mass,
        asked_so=asked_so,
        words_per_skill=words,
        weight=weight,
        leaning=leaning,
        idle=reading.idle,
    )
    clarity = None if dense is None else measure_clarity(dense.whole, lexical.damped, lexical.mass)
    return _Weighed(_add_judgement(fused, query.judged), signs, reading, clarity)


def match_words(index: SkillIndex, query: Query) -> LexicalScores:
    """Match the message as it is, and in English: whichever of them the skills speak."""
    spoken = index.lexical.score(query.ask)
    if query.english == query.ask:
        return spoken
    return max(spoken, index.lexical.score(query.english), key=lambda one: one.damped.max())


def _weigh_mentions(index: SkillIndex, query: Query, fused: Fused) -> Floats:
    """Return what the words of paths, addresses and identifiers add for each skill."""
    if query.mentioning == query.ask or query.english != query.ask:
        return np.zeros_like(fused.total)
    more = index.lexical.score(query.mentioning).damped - index.lexical.score(query.ask).damped
    added: Floats = (1 - fused.meaning) * read_shares().mention * more
    return added


def decide(ranking: Ranking, choice: RouteChoice) -> tuple[Decision, list[int]]:
    """Return what to do and with which skills, by their place in the index."""
    found, chosen = decision.decide(
        ranking.order, ranking.scores, ranking.evidence, choice.thresholds, choice.most
    )
    if found is Decision.LOAD and ranking.mentions and chosen[0] not in ranking.hints:
        return Decision.OFFER, chosen
    return found, chosen


def route(index: SkillIndex, query: Query, choice: RouteChoice) -> Route:
    """Rank the skills and decide."""
    ranking = rank(index, query, choice.scale)
    found, chosen = decide(ranking, choice)
    shown = list(dict.fromkeys((*chosen, *ranking.order[: max(choice.considered, 0)])))
    matches = {place: make_match(index, query, ranking, place) for place in shown}
    return Route(
        decision=found,
        thresholds=choice.thresholds,
        matches=tuple(matches[place] for place in chosen),
        considered=tuple(matches[place] for place in ranking.order[: max(choice.considered, 0)]),
        status=Status.DEGRADED if query.vector is None else Status.OK,
        kind=ranking.reading.kind,
    )


def make_match(index: SkillIndex, query: Query, ranking: Ranking, place: int) -> Match:
    """Return one skill's score with the share of each signal and the reasons."""
    signals = {name: float(part[place]) for name, part in ranking.fused.parts.items()}
    hints = ranking.hints.get(place, Hints())
    signals |= {name: worth for name, worth in weigh_hints(hints).items() if worth}
    reasons = list(find_reasons(index, query.english, query.vector, place, hints))
    reasons += _find_circumstances(ranking, place)
    return Match(
        skill=index.skills[place],
        score=float(ranking.scores[place]),
        signals={name: round(worth, 4) for name, worth in signals.items() if round(worth, 4)},
        # What speaks against it stands last, whoever says it.
        reasons=tuple(sorted(reasons, key=lambda reason: reason.startswith("but "))),
        clarity=0.0 if ranking.clarity is None else float(ranking.clarity[place]),
    )


def _find_circumstances(ranking: Ranking, place: int) -> Iterator[str]:
    """Yield what the kind and the occasion of the message have to do with it."""
    added = ranking.fused.parts.get("occasion")
    if added is not None and added[place] >= _SPEAKS:
        sure = dict(zip(read_needs().values(), ranking.reading.occasions, strict=True))
        yield f'is for what the message tells of: "{max(sure, key=sure.__getitem__)}"'
    if ranking.reading.idle >= _SPEAKS:
        yield f"but it seems to be {ranking.reading.resting}, which needs a skill less often"


def _add_judgement(fused: Fused, judged: Mapping[int, float]) -> Fused:
    if not judged:
        return fused
    # Against the best of them, so that the scale on which is decided stays what it was.
    best = max(judged.values())
    part = np.zeros_like(fused.total)
    for place, value in judged.items():
        part[place] = _JUDGED * (value - best)
    return _add_part(fused, "judged", part)


def _add_part(fused: Fused, name: str, part: Floats) -> Fused:
    return fused._replace(total=fused.total + part, parts={**fused.parts, name: part})


def _find_excluded(
    index: SkillIndex, hints: Mapping[int, Hints], context: Context
) -> dict[int, str]:
    found = dict.fromkeys(index.hidden, HIDDEN)
    if context.loaded:
        found |= {
            place: LOADED
            for place, skill in enumerate(index.skills)
            if skill.name in context.loaded
        }
    if not context.bundled:
        found |= dict.fromkeys(index.hints.ours, OURS)
    found |= {place: REFUSED for place, hint in hints.items() if hint.named is Named.REFUSED}
    found |= {place: _explain_veto(hint.veto) for place, hint in hints.items() if hint.veto}
    return found


def _cut_long(message: str) -> str:
    if len(message) <= _LONGEST_HINTED:
        return message
    half = _LONGEST_HINTED // 2
    return f"{message[:half]}\n{message[-half:]}"
