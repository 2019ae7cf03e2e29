"""What an agent's last words say about its task: whether they admit that it is not done.

A log has no other witness, so doubt counts as not done. But most last words tell of failures that
are over (`fixed the failing test`), that would be (`if it still fails`) or that a program reports
(`returns an error when the file could not be read`). So each clause is read on its own, what is
quoted is not read at all, and a failure counts where the agent, its tests or its result has it now.
The phrases stand in `data/closings.toml`.
"""

import re
from collections.abc import Iterator

from prowess.language.packs import compile_group, read_pack

# How much is read; who reports begins or ends with how it went.
MOST_CLOSING = 3_000
_MOST_CLAUSES = 400

_BULLET = re.compile(r"\s{0,9}(?:[-*\u2022+]|\d{1,3}[.)]|\[.\])\s")


def _phrases(group: str, flags: int = 0) -> re.Pattern[str]:
    return compile_group("closings", group, flags=flags)


def says_not_done(message: str) -> bool:
    """Return whether an agent's last words admit that its task is not done."""
    ends_well = False
    is_story = False
    if not _may_admit(message):
        return False
    for clause, is_bullet in _clauses(message):
        if not _may_admit(clause):
            ends_well = ends_well or _phrases("well").search(clause) is not None
            continue
        condition = _phrases("condition").search(clause)
        fact = clause[: condition.start()] if condition else clause
        if _admits(fact, is_bullet=is_bullet) or _phrases("asks").search(fact):
            return True
        if not clause.endswith(("?", "\uff1f")) and _is_there("now", fact):
            return True
        told = _is_there("then", fact)
        is_story |= told
        ends_well |= not told and _phrases("well").search(fact) is not None
    return is_story and not ends_well


def _may_admit(message: str) -> bool:
    """Return whether a text needs a closer look, which is slow."""
    if not message.isascii() or len(message) > MOST_CLOSING:
        return True
    text = message.lower()
    return any(stem in text for stem in read_pack("closings")["stems"]["words"])


def _clauses(message: str) -> Iterator[tuple[str, bool]]:
    """Yield each clause in small letters, and whether it is an item of a list."""
    if len(message) > MOST_CLOSING:
        half = MOST_CLOSING // 2
        message = f"{message[:half]}\n{message[-half:]}"
    text = (
        _phrases("quoted", re.DOTALL | re.MULTILINE)
        .sub(" x ", message)
        .replace("\u2019", "'")
        .replace("**", "")
        .replace("_", " ")
    )
    for clause in _phrases("end").split(text.lower(), maxsplit=_MOST_CLAUSES):
        words = " ".join(clause.split())
        if words:
            yield words, _BULLET.match(clause) is not None


def _admits(clause: str, *, is_bullet: bool) -> bool:
    if _phrases("own").search(clause):
        return _phrases("found_nothing").search(clause) is None
    return (
        not is_bullet
        and _phrases("start").match(clause) is not None
        and _phrases("over").search(clause) is None
    )


def _is_there(group: str, clause: str) -> bool:
    return _phrases(group).search(clause) is not None and _phrases("over").search(clause) is None
