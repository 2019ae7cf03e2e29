"""The blocks of a scenario: code fences whose second word says what to do with them.

A fence with one word or none is for readers alone. What stands right above a fence is its title, so
that a scenario reads the same in an editor and in a terminal. Lines are counted as editors do.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from prowess.skills.json_text import RepeatedKeyError, is_plain, strict_loads
from prowess.skills.text import one_line

_LONGEST_TITLE = 100
_JSON5_LINE = re.compile(r"<string>:(\d+) (.*)", re.DOTALL)
_REPEATED = re.compile(r'Duplicate key "(.*)" found')


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a scenario, and on which line."""

    line: int
    text: str


class BlockError(Exception):
    """A block cannot be used; never leaves the readers of scenarios."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.problem = Problem(line, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fence: where it stands, what it is for, and what it holds."""

    line: int
    title: str
    language: str
    kind: str
    words: tuple[str, ...]
    text: str

    def fail(self, text: str, near: str = "") -> BlockError:
        """Return the error that this is wrong, on the line that speaks of `near`."""
        return BlockError(self._line_of(near), text)

    def _line_of(self, near: str) -> int:
        if near:
            quoted = re.compile(rf"(?<![\w-]){re.escape(near)}(?![\w-])")
            for number, line in enumerate(self.text.split("\n"), start=1):
                if quoted.search(line):
                    return self.line + number
        return self.line

    # JSON can be anything until it is looked at.
    def value(self) -> Any:  # noqa: ANN401
        """Return what the block holds as JSON, or as JSON5 where it says so.

        Raises:
            BlockError: it is neither.
        """
        return _plain(self, self._json5() if self.language == "json5" else self._json())

    # As above.
    def lines(self) -> list[tuple[int, Any]]:
        """Return the JSON of each line that holds any, with the line's number in the file.

        Raises:
            BlockError: a line is no JSON.
        """
        found = []
        for number, line in enumerate(self.text.split("\n"), start=self.line + 1):
            if line.strip():
                found.append((number, _plain(self, _loads(line, number))))
        return found

    # As above.
    def _json(self) -> Any:  # noqa: ANN401
        return _loads(self.text.rstrip(), self.line + 1)

    # As above.
    def _json5(self) -> Any:  # noqa: ANN401
        # Late: its reader is slow to load, and a list of scenarios needs it for some only.
        import json5  # noqa: PLC0415

        try:
            return json5.loads(self.text, allow_duplicate_keys=False)
        except (ValueError, RecursionError) as error:
            if found := _JSON5_LINE.match(str(error)):
                raise BlockError(
                    self.line + int(found[1]), f"is not JSON5: {one_line(found[2])}"
                ) from error
            key = _REPEATED.match(str(error))
            raise self.fail(f"is not JSON5: {error}", key[1] if key else "") from error


# As above.
def _loads(text: str, first_line: int) -> Any:  # noqa: ANN401
    try:
        return strict_loads(text)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        raise BlockError(line, f"is not JSON: {error.msg} (column {error.colno})") from error
    except RepeatedKeyError as error:
        lines = [n for n, line in enumerate(text.split("\n")) if f'"{error}"' in line]
        place = first_line + (lines[-1] if lines else 0)
        raise BlockError(place, f'repeats the key "{error}"') from error
    except (ValueError, RecursionError) as error:
        raise BlockError(first_line, f"is not JSON that is read: {error}") from error


# As above.
def _plain(block: Block, value: Any) -> Any:  # noqa: ANN401
    if not is_plain(value):
        raise block.fail("holds a number, a nesting or a half character that is not read")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A scenario as Markdown: its first heading, its first paragraph, and its blocks."""

    title: str
    summary: str
    blocks: tuple[Block, ...]
    problems: tuple[Problem, ...]


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    # Blocks only: nothing inside of a paragraph is looked at.
    return MarkdownIt("commonmark").disable("inline").disable("reference")


def read_page(text: str) -> Page:
    """Return the blocks of a Markdown file, with what is wrong with its fences."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    title = summary = ""
    blocks: list[Block] = []
    problems: list[Problem] = []
    for kind, above, token in _leaves(text):
        if kind == "heading":
            title = title or one_line(token.content)
        elif kind == "paragraph":
            summary = summary or one_line(token.content)
        elif not _is_closed(token, lines):
            problems.append(
                Problem(_line(token), "begins a block that never ends: close the fence")
            )
        elif block := _block(token, above):
            blocks.append(block)
    return Page(title=title, summary=summary, blocks=tuple(blocks), problems=tuple(problems))


def _leaves(text: str) -> Iterator[tuple[str, str, Token]]:
    """Yield headings, paragraphs and fences, each with the text that stands above it."""
    above, opened = "", ""
    for token in _parser().parse(text):
        if token.type in {"heading_open", "paragraph_open"}:
            opened = token.type.removesuffix("_open")
        elif token.type == "inline":
            above = one_line(token.content)
            yield opened, "", token
        elif token.type == "fence":
            yield "fence", above, token
            # It is the title of one block.
            above = ""


def _block(token: Token, above: str) -> Block | None:
    words = token.info.split()
    if len(words) <= 1:
        return None
    language, kind, *rest = words
    title = above.lstrip("# ").rstrip(": ") or f"then: {kind}"
    is_long = len(title) > _LONGEST_TITLE
    return Block(
        line=_line(token),
        title=title[: _LONGEST_TITLE - 1].rstrip() + "…" if is_long else title,
        language=language.lower(),
        kind=kind.lower(),
        words=tuple(rest),
        text=token.content,
    )


def _line(token: Token) -> int:
    return (token.map or [0])[0] + 1


def _is_closed(token: Token, lines: list[str]) -> bool:
    first, end = token.map or [0, 0]
    last = lines[end - 1].lstrip(" >\t") if end - 1 > first else ""
    return last.startswith(token.markup)
