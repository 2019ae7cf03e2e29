"""Where values stand in a text: as words of their own, never inside another word.

A value is looked for by its letters, so what is looked for in `v1.2` or in Chinese, which puts no
space between words, needs a rule of its own for where a word ends.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

_SHORTEST = 2


def with_marks(text: str, marks: Mapping[str, str]) -> str:
    """Put marks in place of the texts that have one; of several at one place the longest counts."""
    hits = [
        (start, -len(wanted), wanted)
        for wanted in marks
        if wanted in text
        for start in places(wanted, text)
    ]
    parts, done = [], 0
    for start, _, wanted in sorted(hits):
        if start >= done:
            parts += [text[done:start], marks[wanted]]
            done = start + len(wanted)
    return "".join([*parts, text[done:]])


def places(wanted: str, text: str) -> Iterator[int]:
    """Yield where a text stands as a word of its own; a version may have its `v` before it."""
    start = text.find(wanted)
    while start >= 0:
        if _is_word(text, start, start + len(wanted)):
            yield start
        start = text.find(wanted, start + 1)


def _is_word(text: str, start: int, end: int) -> bool:
    if _is_letter(text[end : end + 1]):
        return False
    first, before = text[start], text[start - 1 : start] if start else ""
    if not first.isalnum() or not _is_letter(before):
        return True
    begins_word = not re.match(r"\w", text[start - 2 : start - 1] if start > 1 else "")
    return first.isdigit() and before == "v" and begins_word


def _is_letter(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()


def is_telling(text: str) -> bool:
    """Return whether a text can be looked for: one letter is only a word in some scripts."""
    return len(text) >= _SHORTEST or (bool(text) and not text.isascii())


def stands_in(value: str, task: str) -> bool:
    """Return whether a task names a value, or the file at the end of a path."""
    names = {value.casefold(), value.rstrip("/").rsplit("/", 1)[-1].casefold()}
    return any(next(places(name, task), -1) >= 0 for name in names if name)


def shared_ends(values: Sequence[str]) -> tuple[str, str]:
    """Return how all values begin and end, as far as that is whole words."""
    before = _shared_begin(values)
    after = _shared_begin([value[len(before) :][::-1] for value in values])[::-1]
    before = re.sub(r"[A-Za-z0-9]+\Z", "", before)
    return before, re.sub(r"\A[A-Za-z0-9]+", "", after)


def _shared_begin(values: Sequence[str]) -> str:
    first, last = min(values), max(values)
    ends = (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(ends, len(first))]
