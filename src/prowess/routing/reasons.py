"""Why a skill was matched, in sentences that a person can check against the skill's text."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.routing.index import SkillIndex
from prowess.routing.triggers import Hints
from prowess.skills.text import one_line

Floats: TypeAlias = NDArray[np.float32]

CALLED = "the message calls it by name"
GOES_ON = "the message goes on with what was loaded last"
LOADED = "it is loaded already"
HIDDEN = "only a person may call it, by name: its author or the config keeps it from the model"
_LONGEST_QUOTE = 160
# A cosine below this is chance: naming the sentence would mislead.
_MEANT = 0.2


def vetoed(phrase: str) -> str:
    """Return why a veto of the author keeps a skill out."""
    return f'its author says no to "{_quoted(phrase)}" (triggers.none)'


def reasons_of(
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
        found += _by_meaning(index, vector, place)
    words = index.lexical.matched_words(ask, place)
    if words:
        found.append(f"shares the words {', '.join(_quoted(word) for word in words)}")
    return tuple(found)


def _by_meaning(index: SkillIndex, vector: Floats, place: int) -> list[str]:
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
