"""Texts that say the same but for some values: what they share, and the gaps between.

Texts are compared word by word. A gap is one word wherever words stand for themselves, and a whole
run of words inside quotes or in prose, where two words are rarely two values.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from prowess.experience.lessons.short_traces import MARK, MARK_END

_MOST_WORDS = 400
# So much of a text must be shared, else the texts are simply different ones.
_SHARED, _SAME_WORDS = 0.3, 0.5
_LONG = 24
_TOKEN = re.compile(
    rf"\s*(?:{MARK}[^{MARK_END}]*{MARK_END}"
    rf"|[\w.+-]++@[\w-]+(?:\.[\w-]+)+"
    rf"|[a-z][a-z0-9+]*://[^\s\"'`{MARK}]+"
    rf"|[^\s\"'`=,;|&<>(){{}}\[\]:@{MARK}]+|\S)"
)
_QUOTES = frozenset("\"'")


class Piece(NamedTuple):
    """A part that all texts share, or the values of a gap in the order of the texts."""

    shared: str
    values: tuple[str, ...] = ()


def pieces_of(texts: Sequence[str], *, is_prose: bool) -> tuple[Piece, ...] | None:
    """Return what texts share and what differs, in order; None where they are different texts."""
    rows = [_tokens(text) for text in texts]
    if max(len(row) for row in rows) > _MOST_WORDS:
        return None
    found = tuple(_pieces(rows, is_prose=is_prose))
    shared = sum(len(piece.shared.strip()) for piece in found)
    mean = sum(len(text) for text in texts) / len(texts)
    if len(found) > 1 and mean > _LONG and shared < _SHARED * mean:
        # Of a command the words count, however long the paths are that it is given.
        words = sum(bool(piece.shared.strip()) for piece in found)
        is_same = not is_prose and len(rows) * words >= _SAME_WORDS * sum(map(len, rows))
        return found if is_same else None
    return found


def _tokens(text: str) -> list[str]:
    return [_spaced(hit[0]) for hit in _TOKEN.finditer(text.strip())]


def _spaced(token: str) -> str:
    bare = token.lstrip()
    before = token[: len(token) - len(bare)]
    if "\n" in before:
        # How deep a line of code stands belongs to it.
        return before[before.rindex("\n") :] + bare
    return f" {bare}" if before else bare


def _pieces(rows: Sequence[list[str]], *, is_prose: bool) -> Iterator[Piece]:
    quote = ""
    pending: list[tuple[str, ...]] = []
    for columns in _runs(rows):
        is_gap = len(set(columns)) > 1
        if is_gap:
            pending.append(columns)
            continue
        yield from _gaps(pending, as_one=is_prose or bool(quote))
        pending = []
        token = columns[0].strip()
        if token in _QUOTES:
            quote = "" if quote == token else quote or token
        yield Piece(columns[0])
    yield from _gaps(pending, as_one=is_prose or bool(quote))


def _gaps(pending: Sequence[tuple[str, ...]], *, as_one: bool) -> Iterator[Piece]:
    if not pending:
        return
    gaps = [tuple("".join(row) for row in zip(*pending, strict=True))] if as_one else pending
    for values in gaps:
        before = _blank_before([value for value in values if value])
        if before:
            yield Piece(before)
        yield Piece("", tuple(value.removeprefix(before) for value in values))


def _blank_before(values: Sequence[str]) -> str:
    """Return the blank that stands before all of the values, or before one of several words."""
    for blank in (" ", "\n"):
        if all(value.startswith(blank) for value in values):
            return blank
    return " " if any(value.startswith(" ") for value in values) else ""


def _runs(rows: Sequence[list[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the tokens that lie side by side; a run that does not fit is joined to one."""
    if len({len(row) for row in rows}) == 1:
        columns = list(zip(*rows, strict=True))
        same = sum(len(set(column)) == 1 for column in columns)
        if 2 * same >= len(columns) or len(columns) == 1:
            yield from columns
            return
    for segment in _segments(rows):
        if len({len(part) for part in segment}) == 1:
            yield from zip(*segment, strict=True)
        elif len({len(part) - _options_before(part) for part in segment}) == 1:
            # An option that some have is no part of what follows it.
            yield tuple("".join(part[: _options_before(part)]) for part in segment)
            yield from zip(*(part[_options_before(part) :] for part in segment), strict=True)
        else:
            yield tuple("".join(part) for part in segment)


def _options_before(part: Sequence[str]) -> int:
    others = (at for at, token in enumerate(part) if not token.strip().startswith("-"))
    return next(others, len(part))


def _segments(rows: Sequence[list[str]]) -> Iterator[list[list[str]]]:
    """Cut the rows where all of them say the same."""
    middle = sorted(range(len(rows)), key=lambda at: (len(rows[at]), at))[len(rows) // 2]
    places = [_places(rows[middle], row) for row in rows]
    anchors = [at for at in range(len(rows[middle])) if all(at in found for found in places)]
    done = [0] * len(rows)
    for anchor in anchors:
        here = [found[anchor] for found in places]
        if any(end > start for start, end in zip(done, here, strict=True)):
            yield [row[a:b] for row, a, b in zip(rows, done, here, strict=True)]
        yield [[rows[middle][anchor]]] * len(rows)
        done = [place + 1 for place in here]
    if any(start < len(row) for start, row in zip(done, rows, strict=True)):
        yield [row[start:] for start, row in zip(done, rows, strict=True)]


def _places(reference: list[str], row: list[str]) -> dict[int, int]:
    blocks = SequenceMatcher(None, reference, row, autojunk=False).get_matching_blocks()
    return {block.a + at: block.b + at for block in blocks for at in range(block.size)}
