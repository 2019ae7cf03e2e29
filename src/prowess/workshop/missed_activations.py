"""Missed activations: a skill was there, was the right one, and was not used.

Only what the person did afterwards proves it: a correction, or the same skill asked for by hand,
within the next two prompts. Without that it is no more than probable, and kept apart. A skill that
was used before in the session is in the conversation already and is not missed again.

A lesson is what a correction says about how the work is done, in the person's own words: `No,
that's wrong:` and `why did you not use the skill?` are about one turn and teach nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from prowess.data import read_table
from prowess.language.corrections import (
    LONGEST,
    Correction,
    describe,
    find_correction,
    objects,
    speaks_of_using_a_skill,
)
from prowess.transcripts.sessions import Session, SessionTurn, describe_correction

_WINDOW = 2
_OF_A_SKILL = frozenset((Correction.WHY, Correction.SKILL))
_ENDINGS = "\u2026. "


class MissKind(StrEnum):
    """How sure it is that a skill was missed."""

    MISSED = "missed"
    PROBABLE = "probable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sure:
    """A skill that the router would have loaded for a prompt."""

    skill: str
    score: float
    # The sentence that spoke most for it; empty where there is none.
    why: str = ""
    # Its own description, to compare with what the model was shown.
    description: str = ""
    # Whether it lies where the harness looks, for one that does not log what it lists.
    in_folders: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A skill that was not used though it was listed and meant."""

    kind: MissKind
    skill: str
    score: float
    session: Session
    turn: SessionTurn
    # Plain words, most telling first.
    reasons: tuple[str, ...]
    # The prompt that proves it; None where nothing does.
    proof: SessionTurn | None = None


def missed(session: Session, sure: Mapping[int, Sequence[Sure]]) -> Iterator[Missed]:
    """Yield what was missed in a session.

    Args:
        session: the session.
        sure: what the router was sure of, by the number of the turn.
    """
    before: set[str] = set()
    turns = [turn for turn in session.turns if not _is_builtin(turn, session, sure)]
    for place, turn in enumerate(turns):
        used = {*before, *_fold(turn.used)}
        for one in () if turn.by_hand else sure.get(turn.number, ()):
            listed = _explain_listed(session, turn, one)
            if listed and one.skill not in used:
                yield _judge(session, turns[place : place + 1 + _WINDOW], one, listed, sure)
        before = used


def plain_name(name: str) -> str:
    """Return the name of a skill without the plugin that a harness puts before it."""
    return name.rpartition(":")[2]


def asks_for(prompt: str, skill: str) -> bool:
    """Return whether a prompt asks for a skill by its name, and does not only use the word."""
    name = re.escape(skill)
    if re.search(rf"(?:^|[\s(\"'`])[/$]{name}(?![\w-])", prompt, re.IGNORECASE):
        return True
    pattern = rf"(?<![\w/.-]){name}(?![\w/-])"
    if "-" not in skill:
        pattern = rf"(?:{pattern}\W{{1,3}}skill\b|\bskill\W{{1,3}}{name}(?![\w-]))"
    return re.search(pattern, prompt, re.IGNORECASE) is not None


def _fold(names: Sequence[str]) -> set[str]:
    return {plain_name(name) for name in names}


def _is_builtin(turn: SessionTurn, session: Session, sure: Mapping[int, Sequence[Sure]]) -> bool:
    """Return whether a turn is a command of the harness itself, which says nothing of the work."""
    if not turn.by_hand:
        return False
    known = {one.skill for found in sure.values() for one in found} | _fold(tuple(session.shown))
    return plain_name(turn.by_hand) not in known


def _explain_listed(session: Session, turn: SessionTurn, one: Sure) -> str:
    """Say how a skill was listed; nothing where it was not."""
    if turn.listed is None:
        return "in the harness's folders (it does not log what it lists)" if one.in_folders else ""
    name = next((name for name in turn.listed if plain_name(name) == one.skill), None)
    if name is None:
        return ""
    shown = " ".join(session.shown.get(name, "").split())
    whole = " ".join(one.description.split())
    if not shown:
        return "listed by its name alone: its description was dropped"
    begins = shown.rstrip(_ENDINGS)
    is_cut = shown.endswith(("\u2026", "...")) or (
        len(begins) < len(whole.rstrip(_ENDINGS)) and whole.startswith(begins)
    )
    if is_cut and len(begins) < len(whole):
        return f"listed with its description cut to {len(begins)} of {len(whole)} characters"
    return "listed"


def _judge(
    session: Session,
    turns: Sequence[SessionTurn],
    one: Sure,
    listed: str,
    sure: Mapping[int, Sequence[Sure]],
) -> Missed:
    turn, *following = turns
    proof, told = _proof(following, one.skill, sure)
    matched = f" ({one.why})" if one.why else ""
    hinted = "a hook had named it to the agent" if one.skill in _fold(turn.hinted) else ""
    parts = (listed, f"router {one.score:.2f} sure{matched}", told, hinted)
    return Missed(
        kind=MissKind.PROBABLE if proof is None else MissKind.MISSED,
        skill=one.skill,
        score=one.score,
        session=session,
        turn=turn,
        reasons=tuple(part for part in parts if part),
        proof=proof,
    )


def _proof(
    following: Sequence[SessionTurn], skill: str, sure: Mapping[int, Sequence[Sure]]
) -> tuple[SessionTurn | None, str]:
    """Return the prompt that shows that the skill was meant, and how it does."""
    for place, turn in enumerate(following):
        when = "the next message" if place == 0 else "the message after the next"
        if plain_name(turn.by_hand) == skill:
            return turn, f"{when} called it by hand (/{turn.by_hand})"
        if asks_for(turn.prompt, skill):
            return turn, f"{when} asked for it by its name"
        others = ({one.skill for one in sure.get(turn.number, ())} | _fold(turn.used)) - {skill}
        how = _explain_correction(turn, skill, is_other_task=bool(others))
        if how:
            return turn, f"{when} {how}"
        # With another task in between, a later correction is about that one.
        if others:
            break
    return None, ""


def _explain_correction(turn: SessionTurn, skill: str, *, is_other_task: bool) -> str:
    """Say how a prompt corrects what was done without the skill; nothing where it does not."""
    if find_correction(turn.prompt) in _OF_A_SKILL or speaks_of_using_a_skill(turn.prompt):
        if any(asks_for(turn.prompt, name) for name in _fold(turn.listed or ()) - {skill}):
            # It is another skill that this person misses.
            return ""
        if not is_other_task:
            # That a skill was there and was not used is known here, so plain words are enough.
            return describe_correction(turn.prompt) or Correction.SKILL.value
    return describe_correction(turn.prompt)


_SENTENCE = re.compile(r"(?<=[.!?\u2026])\s+|(?<=[\u3002\uff01\uff1f\u061f\u0964])\s*")
_QUESTION = ("?", "\uff1f", "\u061f")
_FORGOTTEN = re.compile(
    r"(?:you (?:forgot|missed|skipped) \w|du hast \b.{3,60} vergessen)", re.IGNORECASE
)
_WANTED = frozenset((Correction.SHOULD_HAVE, Correction.NEXT_TIME))
# Cues of a sentence that forbids one thing and asks for another.
_SAYS_WHAT = frozenset(("rather", "forbids", "orders"))
# What is proved to be a correction may be shorter than what is only taken for one.
_SHORTEST = 16


def lesson(words: str, skill: str) -> str:
    """Return what a correction tells to do, on one line; nothing where it tells nothing.

    Args:
        words: what the person typed.
        skill: the skill that was missed; to ask for it by its name teaches it nothing.
    """
    text = " ".join(words.split())
    if len(text) > LONGEST or not describe_correction(text):
        # So long a text is a task of its own, and so is one that corrects nothing.
        return ""
    sentences = [_cut_opening(one) for one in _SENTENCE.split(_cut_opening(text))]
    telling = [one for one in sentences if one and _tells(one) and not asks_for(one, skill)]
    found = " ".join(one for one in telling if not objects(one) or _says_what(one))
    return found[:1].upper() + found[1:] if len(found) >= _find_shortest(found) else ""


@cache
def _compile_opening() -> re.Pattern[str]:
    """Return how people begin before they come to it, more than once."""
    words = "|".join(read_table("workshop/missed_activations.toml")["openings"])
    ends = r"[,.!;:\u2013\u2014\u3002\uff01\uff0c\u3001\u060c\u0964-]"
    return re.compile(rf"\W{{0,5}}(?:(?:{words})\s{{0,2}}{ends}+\s{{0,2}}){{1,4}}", re.IGNORECASE)


def _cut_opening(sentence: str) -> str:
    """Return a sentence without the words that only reject."""
    match = _compile_opening().match(f"{sentence} ")
    return sentence[match.end() :].strip() if match else sentence.strip()


def _tells(sentence: str) -> bool:
    if sentence.endswith(_QUESTION):
        return False
    is_of_skill = find_correction(sentence) in _OF_A_SKILL or speaks_of_using_a_skill(sentence)
    return not is_of_skill and any(letter.isalnum() for letter in sentence)


def _says_what(sentence: str) -> bool:
    """Return whether a sentence that objects also says what was wanted."""
    if find_correction(sentence) in _WANTED or _FORGOTTEN.match(sentence) is not None:
        return True
    return not _SAYS_WHAT.isdisjoint(describe(sentence))


def _find_shortest(text: str) -> int:
    """Return how long an instruction is at least: some scripts say a word with one sign."""
    return _SHORTEST if max(text, default="") < "\u2e80" else _SHORTEST // 2
