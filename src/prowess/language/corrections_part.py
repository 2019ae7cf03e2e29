"""What a person says when an agent went another way than it should: why not, use it, next time.

`trace_objections` hears that something is wrong; here is heard what was expected instead. Both
look at the beginning of a message alone, which is where people come to it.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from typing import TypeAlias

from prowess.language import corrections as phrases

# Who corrects does so at once.
MOST_READ = 300
_NEAR = 40
_SENTENCE = re.compile(r"(?<=[.!?:\u3002\uff01\uff1f])\s?")


class Correction(StrEnum):
    """What kind of correction a message is, in words that go on `the next message ...`."""

    WHY = "asked why it was not used"
    SHOULD_HAVE = "said what should have been done"
    NOT_SO = "was a correction"
    NEXT_TIME = "said how to work from now on"
    INSTEAD = "said what to do instead"
    SKILL = "asked for the skill"


def _either(lines: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{line})" for line in lines))


def _next_time() -> re.Pattern[str]:
    lines = list(phrases.NEXT_TIME_UNSPACED)
    for when, then, before in phrases.NEXT_TIME:
        # One word may come between: `next time just use`.
        lines.append(rf"(?<!\w)(?:{when})(?:[\s,:]{{1,2}}\w{{1,12}})?[\s,:]{{1,2}}{then}(?!\w)")
        lines.append(rf"(?<!\w){before}\s[^.!?]{{2,80}}(?<!\w)(?:{when})(?=\s?(?:[.!?;]|$))")
    return _either(lines)


_Kinds: TypeAlias = tuple[tuple[Correction, re.Pattern[str]], ...]


# Late, and once: so many phrases take longer to compile than most commands run.
@cache
def _rejects() -> _Kinds:
    return (
        (Correction.WHY, _either(phrases.WHY)),
        (Correction.SHOULD_HAVE, _either(phrases.SHOULD_HAVE)),
        (Correction.NOT_SO, _either(phrases.NOT_SO)),
    )


@cache
def _redirects() -> _Kinds:
    return (
        (Correction.NEXT_TIME, _next_time()),
        (Correction.INSTEAD, _either(phrases.INSTEAD)),
        (Correction.SKILL, _either(phrases.WE_HAVE)),
    )


@cache
def _uses() -> re.Pattern[str]:
    before = rf"{phrases.USE}.{{0,{_NEAR}}}?{phrases.SKILL}"
    return _either((before, rf"{phrases.SKILL}.{{0,{_NEAR}}}?{phrases.USE}"))


@cache
def _of_before() -> re.Pattern[str]:
    return re.compile(phrases.OF_BEFORE)


def rejection(message: str) -> Correction | None:
    """Return how a message says that what was done is not what was expected, if it does."""
    return _first(_rejects(), _plain(message))


def correction(message: str) -> Correction | None:
    """Return how a message corrects the work before it, or says how to work, if it does."""
    text = _plain(message)
    found = _first(_rejects(), text) or _first(_redirects(), text)
    if found is None and any(map(_points_back, _SENTENCE.split(text))):
        return Correction.SKILL
    return found


def speaks_of_using_a_skill(message: str) -> bool:
    """Return whether a message is about the use of some skill.

    It is an order as often as a correction: it tells only where a skill is known to be unused.
    """
    return _uses().search(_plain(message)) is not None


def _points_back(sentence: str) -> bool:
    """Return whether a sentence is about the use of a skill, and about what was just done."""
    return bool(_uses().search(sentence)) and bool(_of_before().search(sentence))


def _plain(message: str) -> str:
    return " ".join(message[:MOST_READ].lower().replace("\u2019", "'").split())


def _first(kinds: _Kinds, text: str) -> Correction | None:
    return next((kind for kind, pattern in kinds if pattern.search(text)), None)
