"""What a person types after a task: whether it objects, and what was expected instead.

Nobody presses a button for `that was wrong`; the next message has to tell. Only its beginning is
read, which is where people come to it. The phrases stand in `data/corrections.toml` (why not, use
it, next time) and `data/objections.toml` (wrong, undo it, it still fails).
"""

import re
from enum import StrEnum
from functools import cache

from prowess.language.packs import compile_group, join_phrases, join_pieces, read_pack

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


# What is not what was expected, and how to go on instead: by the group of phrases that says so.
_REJECTS = (
    (Correction.WHY, "why"),
    (Correction.SHOULD_HAVE, "should_have"),
    (Correction.NOT_SO, "not_so"),
)
_REDIRECTS = (
    (Correction.NEXT_TIME, "next_time"),
    (Correction.INSTEAD, "instead"),
    (Correction.SKILL, "we_have"),
)


def _find_kind(kinds: tuple[tuple[Correction, str], ...], text: str) -> Correction | None:
    return next((kind for kind, group in kinds if _compile_kind(group).search(text)), None)


def _compile_kind(group: str) -> re.Pattern[str]:
    return _compile_next_time() if group == "next_time" else compile_group("corrections", group)


@cache
def _compile_next_time() -> re.Pattern[str]:
    lines = [join_phrases("corrections", "next_time_whole")]
    for words in read_pack("corrections")["next_time"].values():
        if isinstance(words, dict):
            when, then, before = (join_pieces(words[key]) for key in ("when", "then", "before"))
            # One word may come between: `next time just use`.
            lines.append(rf"(?<!\w)(?:{when})(?:[\s,:]{{1,2}}\w{{1,12}})?[\s,:]{{1,2}}{then}(?!\w)")
            lines.append(rf"(?<!\w){before}\s[^.!?]{{2,80}}(?<!\w)(?:{when})(?=\s?(?:[.!?;]|$))")
    return re.compile("|".join(f"(?:{line})" for line in lines))


@cache
def _compile_uses() -> re.Pattern[str]:
    skill, use = (f"(?:{join_phrases('corrections', group)})" for group in ("skill", "use"))
    return re.compile(f"{use}.{{0,{_NEAR}}}?{skill}|{skill}.{{0,{_NEAR}}}?{use}")


def find_rejection(message: str) -> Correction | None:
    """Return how a message says that what was done is not what was expected, if it does."""
    return _find_kind(_REJECTS, _plain(message))


def find_correction(message: str) -> Correction | None:
    """Return how a message corrects the work before it, or says how to work, if it does."""
    text = _plain(message)
    found = _find_kind(_REJECTS, text) or _find_kind(_REDIRECTS, text)
    if found is None and any(map(_points_back, _SENTENCE.split(text))):
        return Correction.SKILL
    return found


def speaks_of_using_a_skill(message: str) -> bool:
    """Return whether a message is about the use of some skill.

    It is an order as often as a correction: it tells only where a skill is known to be unused.
    """
    return _compile_uses().search(_plain(message)) is not None


def _points_back(sentence: str) -> bool:
    """Return whether a sentence is about the use of a skill, and about what was just done."""
    return bool(_compile_uses().search(sentence)) and bool(
        compile_group("corrections", "of_before").search(sentence)
    )


def _plain(message: str) -> str:
    return " ".join(message[:MOST_READ].lower().replace("\u2019", "'").split())


# Who objects does so at once.
MOST_OBJECTION = 300


def objects(message: str) -> bool:
    """Return whether a message rejects what was done before it, instead of asking for more."""
    text = " ".join(message[:MOST_OBJECTION].lower().replace("\u2019", "'").split())
    if compile_group("objections", "praise", "phrases").match(text):
        turn = compile_group("objections", "praise", "turns").search(text)
        if turn is None:
            return False
        text = text[turn.end() :]
    if _compile_begins().match(text) or compile_group("objections", "anywhere").search(text):
        return True
    if find_rejection(text) is not None:
        return True
    fails = compile_group("objections", "fails").search(text)
    condition = compile_group("objections", "condition")
    return fails is not None and condition.search(text[: fails.start()]) is None


@cache
def _compile_begins() -> re.Pattern[str]:
    filler = join_pieces(read_pack("objections")["places"]["FILLER"])
    return re.compile(rf"\W{{0,9}}{filler}(?:{join_phrases('objections', 'begins')})")


SHORTEST, LONGEST = 24, 1200


def states_a_rule(message: str) -> bool:
    """Return whether a message says how a thing is done from now on; blanks are single."""
    rules = compile_group("corrections", "rules", flags=re.IGNORECASE)
    return SHORTEST <= len(message) <= LONGEST and rules.search(message) is not None
