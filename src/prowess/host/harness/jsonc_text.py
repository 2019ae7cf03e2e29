"""JSON with comments and trailing commas, read so that every place in the text is known.

Comments and trailing commas are blanked out by as many spaces: what is left is plain JSON in which
each value stands where it stands in the text. Nothing else of JSON5 is let through, since the
harnesses would not read it either.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from prowess.hooks.edits import Path

MARK = "\ufeff"
_SPACE = " \t\r\n"
_STRING = r'"(?:[^"\\]|\\.)*+"?'
_COMMENTS = re.compile(
    rf"{_STRING}|(?P<comment>//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)", re.DOTALL
)
# A comma right after an opening bracket or another comma is an error, and stays one.
_COMMAS = re.compile(rf"{_STRING}|[\[{{,:]\s*+,|(?P<comma>,)(?=\s*+[}}\]])", re.DOTALL)
_NOT_BLANK = re.compile(r"[^\r\n]")


class DocumentError(ValueError):
    """A text is not JSON, or cannot be changed; never leaves the editors of settings files."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(problem)
        self.problem, self.line = problem, line


class Comment(NamedTuple):
    """Where a comment is, and whether it goes on to the end of its line."""

    start: int
    end: int
    to_line_end: bool


class Child(NamedTuple):
    """A member of an object, or an item of a list."""

    key: str | None
    # Of the key, or of the value where there is none.
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """An object or a list: where its brackets are, and its children in order."""

    opening: int
    closing: int
    children: tuple[Child, ...]


class JsoncText:
    """One text, and where everything is in it.

    Raises:
        DocumentError: it is not JSON with comments, or not one object.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.comments: list[Comment] = []
        # To find the children of an object takes as long as to read it.
        self._known: dict[Path, Container] = {}
        # Without comments; and without trailing commas too.
        self.bare = self.plain = text.replace(MARK, " ", 1) if text.startswith(MARK) else text
        try:
            # Most files are plain, and some are large: then nothing has to be blanked out.
            self.document = self._read()
        except DocumentError:
            self.bare = _COMMENTS.sub(self._blanked, self.bare)
            self.plain = _COMMAS.sub(_without_comma, self.bare)
            self.document = self._read()

    def _blanked(self, match: re.Match[str]) -> str:
        found = match["comment"]
        if found is None:
            return match[0]
        if found.startswith("/*") and not found.endswith("*/"):
            line = match.string.count("\n", 0, match.start()) + 1
            raise DocumentError("a comment has no end", line)
        self.comments.append(Comment(match.start(), match.end(), found.startswith("//")))
        return _NOT_BLANK.sub(" ", found)

    # Whatever the file holds.
    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self.plain, parse_constant=_no_constant)
        except json.JSONDecodeError as error:
            raise DocumentError(f"{error.msg}, column {error.colno}", error.lineno) from error
        except RecursionError as error:
            raise DocumentError("it is nested too deeply") from error
        except ValueError as error:
            raise DocumentError(str(error)) from error
        if not isinstance(found, dict):
            raise DocumentError("it must hold one object, such as {}")
        return found

    def comment_texts(self) -> list[str]:
        """Return every comment, as it is written."""
        return [self.text[one.start : one.end] for one in self.comments]

    def child(self, path: Path) -> Child:
        """Return the member or item that `path` leads to.

        Raises:
            DocumentError: there is none, or several of one name.
        """
        container = self.container(path[:-1])
        if isinstance(path[-1], int):
            return container.children[path[-1]]
        found = [one for one in container.children if one.key == path[-1]]
        if len(found) != 1:
            raise DocumentError(f"`{path[-1]}` is there {len(found)} times: keep one")
        return found[0]

    def container(self, path: Path) -> Container:
        """Return the object or list that `path` leads to."""
        if path not in self._known:
            start = self._skip(0) if not path else self.child(path).value
            children = tuple(self._children(start))
            closing = self._skip(children[-1].end if children else start + 1)
            self._known[path] = Container(opening=start, closing=closing, children=children)
        return self._known[path]

    def comma_after(self, child: Child) -> int | None:
        """Return where the comma after a child is, if there is one."""
        place = child.end
        while self.bare[place] in _SPACE:
            place += 1
        return place if self.bare[place] == "," else None

    def _children(self, start: int) -> Iterator[Child]:
        decoder = json.JSONDecoder()
        keyed = self.plain[start] == "{"
        place = self._skip(start + 1)
        while self.plain[place] not in "}]":
            begin, key = place, None
            if keyed:
                key, place = decoder.raw_decode(self.plain, place)
                place = self._skip(self._skip(place) + 1)
            _value, end = decoder.raw_decode(self.plain, place)
            yield Child(key, begin, place, end)
            place = self._skip(end)
            if self.plain[place] == ",":
                place = self._skip(place + 1)

    def _skip(self, place: int) -> int:
        while self.plain[place] in _SPACE:
            place += 1
        return place


def _without_comma(match: re.Match[str]) -> str:
    return " " if match["comma"] else match[0]


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
