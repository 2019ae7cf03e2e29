"""From a message to a decision: rank every skill, then load, offer or leave it, with reasons.

The vector of the message is an argument, so nothing here waits for a model: `outright` first asks
whether one is needed at all. A reason is a sentence that a person can check against the skill.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.routing import decision
from prowess.routing.decision import DEFAULT, Scale
from prowess.routing.follow_ups import is_follow_up
from prowess.routing.fusion import Fused, fuse, weight_of_meaning
from prowess.routing.index import SkillIndex
from prowess.routing.model import Decision, Match, Route, Status, Thresholds
from prowess.routing.triggers import Hints, Named, fold, is_called
from prowess.routing.words import find_asking_part, measure_shape
from prowess.skills.text import one_line

Floats: TypeAlias = NDArray[np.float32]

CALLED = "the message calls it by name"
GOES_ON = "the message goes on with what was loaded last"
LOADED = "it is loaded already"
HIDDEN = "only a person may call it, by name: its author or the config keeps it from the model"
_LONGEST_QUOTE = 160
# A cosine below this is chance: naming the sentence would mislead.
_MEANT = 0.2


def _explain_veto(phrase: str) -> str:
    """Return why a veto of the author keeps a skill out."""
    return f'its author says no to "{_quoted(phrase)}" (triggers.none)'


def find_reasons(
    index: SkillIndex, ask: str, vector: Floats | None, place: int, hints: Hints
) -> tuple[str, ...]:
    """Return what speaks for a skill, and what against, strongest first."""
    found: list[str] = []
    if hints.named:
        found.append("the message names it")
    if hints.trigger:
        found.append(f'its trigger "{_quoted(hints.trigger)}" is in the message')
    if hints.path:
        found.append(f"{_quoted(hints.path)} is one of its files (paths or globs)")
    if vector is not None and index.dense is not None:
        found += _find_meanings(index, vector, place)
    words = index.lexical.matched_words(ask, place)
    if words:
        found.append(f"shares the words {', '.join(_quoted(word) for word in words)}")
    return tuple(found)


def _find_meanings(index: SkillIndex, vector: Floats, place: int) -> list[str]:
    if index.dense is None:
        return []
    whole = float(index.dense.whole[place] @ vector)
    phrase, near = index.dense.best_phrase(vector, place)
    found = []
    if near >= _MEANT and near >= whole:
        found.append(f'means nearly "{_quoted(phrase)}" ({near:.2f})')
    elif whole >= _MEANT:
        said = index.evidence[place].positive
        # The sentence that is nearest, if it is one of the description's own.
        shown = phrase if phrase and phrase in said else said
        found.append(f'fits its description "{_quoted(shown)}" ({whole:.2f})')
    negative, against = index.dense.best_negative(vector, place)
    if against > max(near, whole):
        found.append(f'but is nearer to what it is not for: "{_quoted(negative)}"')
    return found


def _quoted(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST_QUOTE else line[: _LONGEST_QUOTE - 1].rstrip() + "…"


# What is said outright: enough to lift a likely skill to the top, not an unlikely one.
_TRIGGER, _WORD_TRIGGER, _PATH = 0.15, 0.06, 0.06
# A name that is asked for wins over whatever else the message is about; one that only occurs does
# not ("I just finished setup-db, what now?").
_ASKED_FOR, _MENTIONED = 0.4, 0.06
# A small weight: a cross-encoder of this size is right more often than not, and no more.
_JUDGED = 0.005
_LONGEST_HINTED = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What came before the message: skills that are loaded, those loaded last, files at hand."""

    loaded: frozenset[str] = frozenset()
    last: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteChoice:
    """How much is loaded and shown."""

    thresholds: Thresholds = DEFAULT
    most: int = 3
    considered: int = 5
    scale: Scale = field(default_factory=Scale)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """A message as it is matched: the part that asks, and its vector if there is one."""

    message: str
    ask: str
    vector: Floats | None = None
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
    # Why a skill is out of the running, by its place in the index.
    excluded: Mapping[int, str]

    @property
    def confidence(self) -> float:
        """The score of the best skill: how sure it is that any skill is meant."""
        return float(self.scores[self.order[0]]) if self.order else 0.0


def read(message: str, context: Context | None = None) -> Query:
    """Prepare a message; its vector is added by whoever has an encoder."""
    text = message.replace("\0", " ")
    return Query(message=text, ask=find_asking_part(text), context=context or Context())


def outright(index: SkillIndex, query: Query, choice: RouteChoice) -> Route | None:
    """Answer without a vector where nothing has to be guessed: a command, "go on", no message."""
    if not query.message.strip() or not len(index.skills):
        return Route(decision=Decision.NONE, thresholds=choice.thresholds)
    called = _find_called(index, query, choice)
    if called is not None or not is_follow_up(query.message):
        return called
    return _continue_last(index, query, choice)


def _continue_last(index: SkillIndex, query: Query, choice: RouteChoice) -> Route:
    """Go on with what was loaded last, as far as it is there and not loaded still."""
    places = {skill.name: place for place, skill in enumerate(index.skills)}
    going_on = [
        places[name]
        for name in dict.fromkeys(query.context.last)
        if name in places and name not in query.context.loaded
    ]
    matches = tuple(
        Match(skill=index.skills[place], score=1.0, reasons=(GOES_ON,))
        for place in going_on[: choice.most]
    )
    found = Decision.LOAD if matches else Decision.NONE
    return Route(
        decision=found,
        thresholds=choice.thresholds,
        matches=matches,
        considered=matches[: max(choice.considered, 0)],
    )


def _find_called(index: SkillIndex, query: Query, choice: RouteChoice) -> Route | None:
    hints = index.hints.of(_cut_long(query.message))
    called = [
        place
        for place, found in hints.items()
        if found.named is Named.CALLED and index.skills[place].invocation.user
    ]
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
    lexical = index.lexical.score(query.ask)
    shape = measure_shape(query.ask)
    words = index.lexical.words_per_skill
    weight, dense, leaning = 0.0, None, 0.0
    if index.dense is not None and query.vector is not None:
        weight = weight_of_meaning(words, shape, english_only=index.english_only)
        dense = index.dense.score(query.vector, lexical.damped)
        if index.everyday is not None and weight > 0:
            leaning = index.everyday.leaning(query.vector)
    fused = fuse(lexical, dense, breadth=index.breadth, weight=weight, words_per_skill=words)
    hints = index.hints.of(_cut_long(query.message), query.context.paths)
    fused = _add_judgement(fused, query.judged)
    evidence = fused.total + _add_hints(hints, len(index.skills))
    excluded = _find_excluded(index, hints, query.context)
    allowed = np.delete(np.arange(len(evidence)), list(excluded))
    scored = np.zeros(len(evidence), np.float32)
    scored[allowed] = decision.scores(
        evidence[allowed],
        leaning,
        words_per_skill=words,
        weight=weight,
        scale=scale or Scale(),
    )
    order = allowed[np.argsort(-evidence[allowed], kind="stable")]
    return Ranking(
        order=tuple(order.tolist()),
        scores=scored,
        evidence=evidence,
        fused=fused,
        hints=hints,
        leaning=leaning,
        excluded=excluded,
    )


def decide(ranking: Ranking, choice: RouteChoice) -> tuple[Decision, list[int]]:
    """Return what to do and with which skills, by their place in the index."""
    return decision.decide(
        ranking.order, ranking.scores, ranking.evidence, choice.thresholds, choice.most
    )


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
    )


def make_match(index: SkillIndex, query: Query, ranking: Ranking, place: int) -> Match:
    """Return one skill's score with the share of each signal and the reasons."""
    signals = {name: float(part[place]) for name, part in ranking.fused.parts.items()}
    hints = ranking.hints.get(place, Hints())
    signals |= {name: worth for name, worth in _weigh_hints(hints).items() if worth}
    return Match(
        skill=index.skills[place],
        score=float(ranking.scores[place]),
        signals={name: round(worth, 4) for name, worth in signals.items() if round(worth, 4)},
        reasons=find_reasons(index, query.ask, query.vector, place, hints),
    )


def _add_judgement(fused: Fused, judged: Mapping[int, float]) -> Fused:
    if not judged:
        return fused
    # Against the best of them, so that the scale on which is decided stays what it was.
    best = max(judged.values())
    part = np.zeros_like(fused.total)
    for place, value in judged.items():
        part[place] = _JUDGED * (value - best)
    parts = {**fused.parts, "judged": part}
    return fused._replace(total=fused.total + part, parts=parts)


def _add_hints(hints: Mapping[int, Hints], size: int) -> Floats:
    added = np.zeros(size, np.float32)
    for place, found in hints.items():
        added[place] = sum(_weigh_hints(found).values())
    return added


def _weigh_hints(hints: Hints) -> dict[str, float]:
    # A trigger of one word proves little more than the word itself, which counts already.
    several = len(hints.trigger.split()) > 1 or not hints.trigger.isascii()
    trigger = (_TRIGGER if several else _WORD_TRIGGER) if hints.trigger else 0.0
    named = _ASKED_FOR if hints.named >= Named.ASKED_FOR else _MENTIONED if hints.named else 0.0
    return {
        "named": named,
        "trigger": trigger,
        "path": _PATH if hints.path else 0.0,
    }


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
    found |= {place: _explain_veto(hint.veto) for place, hint in hints.items() if hint.veto}
    return found


def _cut_long(message: str) -> str:
    if len(message) <= _LONGEST_HINTED:
        return message
    half = _LONGEST_HINTED // 2
    return f"{message[:half]}\n{message[-half:]}"
