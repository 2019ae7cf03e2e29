"""How nearly two skills say the same, by their words alone.

Texts that share runs of words are copies of each other; texts that share a subject are not. So a
subject counts only where a router, which knows meanings, and the words of both descriptions agree.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt

from prowess.skills import frontmatter
from prowess.workshop.edit import DEFAULT_SECTION
from prowess.workshop.proposal import Similar

# From here on a new skill would be a second one for the same work.
SAME = 0.7
_WORTH_NAMING = 0.25
_MOST_NAMED = 3
_RUN = 3
# Of a shorter text a few runs are soon all of it.
_FEWEST_RUNS = 12
_MOST_READ = 60_000
_MOST_COMPARED = 32
_WORD = re.compile(r"[^\W_]+")
# What many descriptions say, whatever they describe.
_SMALL = 4
_USUAL = frozenset(
    ("asked", "from", "skill", "skills", "task", "tasks", "that", "this", "used", "user", "users",
     "when", "with")
)  # fmt: skip
_BULLET = re.compile(r"[-*+][ \t]+\S")
_DEEPEST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A skill to compare with."""

    name: str
    description: str
    body: str
    # What a router says, from 0 to 1; zero where none was asked.
    score: float = 0.0


def shares_subject(new: Neighbour, others: Iterable[Neighbour]) -> bool:
    """Return whether a router's scores could make a difference: asking one can take long."""
    subject = _subject(new)
    return any(_compare(subject, _subject(other)) >= _WORTH_NAMING for other in others)


def find_nearest(new: Neighbour, others: Iterable[Neighbour]) -> tuple[Similar, ...]:
    """Return the skills that say nearly what `new` says, the nearest first."""
    subject = _subject(new)
    near = [(_compare(subject, _subject(other)), other) for other in others]
    # The bodies of a thousand skills are too many to compare with.
    near.sort(key=lambda pair: -(pair[0] + pair[1].score))
    mine = _runs(new)
    scored = [
        Similar(other.name, round(max(_overlap(mine, _runs(other)), min(other.score, words)), 3))
        for words, other in near[:_MOST_COMPARED]
    ]
    scored.sort(key=lambda one: (-one.score, one.skill))
    return tuple(one for one in scored[:_MOST_NAMED] if one.score >= _WORTH_NAMING)


def find_same(found: Sequence[Similar]) -> Similar | None:
    """Return the skill that a new one would clearly be a second one of."""
    return found[0] if found and found[0].score >= SAME else None


def says_nearly(one: str, other: str) -> bool:
    """Return whether two texts are nearly the same by their words, however few they are."""
    words = _words(one)
    if words and words == _words(other):
        return True
    mine, theirs = (_runs(Neighbour(name="", description="", body=text)) for text in (one, other))
    return _overlap(mine, theirs) >= SAME


def as_addition(body: str, page: str) -> str:
    """Return the body of a skill as text for one section of another, whose page is given.

    Its title and its own heading of that section go, other headings go one level down, and bullets
    that the page has already are left out. Code stays as it is.
    """
    lines = frontmatter.read(body.replace("\r\n", "\n").replace("\r", "\n")).body.split("\n")
    known = {line.strip() for line in page.splitlines()}
    heads, verbatim = _structure(lines)
    kept = []
    for at, line in enumerate(lines):
        if at in heads:
            kept += _lower(heads[at], line)
        elif at in verbatim or not (_BULLET.match(line) and line.strip() in known):
            kept.append(line)
    return "\n".join(kept).strip("\n")


def _structure(lines: list[str]) -> tuple[dict[int, tuple[int, str]], set[int]]:
    """Return the headings of one line by their line, and the lines of code."""
    parser = MarkdownIt("commonmark")
    # What stands inside a line is not needed, and can be slow on hostile text.
    parser.core.ruler.disable("inline")
    tokens = parser.parse("\n".join(lines))
    heads: dict[int, tuple[int, str]] = {}
    verbatim: set[int] = set()
    for index, token in enumerate(tokens):
        if token.map is None or token.level:
            continue
        if token.type == "heading_open" and token.map[1] - token.map[0] == 1:
            heads[token.map[0]] = (int(token.tag[1:]), tokens[index + 1].content)
        elif token.type in {"fence", "code_block", "html_block"}:
            verbatim.update(range(*token.map))
    return heads, verbatim


def _lower(head: tuple[int, str], line: str) -> list[str]:
    level, title = head
    if level == 1 or title.casefold() == DEFAULT_SECTION.casefold():
        return []
    return [f"#{line.strip()}" if level < _DEEPEST else line]


def _words(text: str) -> list[str]:
    return _WORD.findall(text[:_MOST_READ].casefold())


def _subject(one: Neighbour) -> frozenset[str]:
    words = _words(f"{one.name} {one.description}")
    return frozenset(word for word in words if len(word) >= _SMALL and word not in _USUAL)


def _runs(one: Neighbour) -> frozenset[tuple[str, ...]]:
    words = _words(f"{one.description}\n{one.body}")
    return frozenset(zip(*(words[start:] for start in range(_RUN)), strict=False))


def _compare(one: frozenset[str], other: frozenset[str]) -> float:
    both = len(one) + len(other)
    return 2 * len(one & other) / both if both else 0.0


def _overlap(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    """Return how much of the shorter text stands in the longer one; of a few runs, in both."""
    shorter = min(len(one), len(other))
    whole = shorter if shorter >= _FEWEST_RUNS else len(one | other)
    return len(one & other) / whole if whole else 0.0
