"""Edits of JSON texts that people write: comments, order, indentation and line ends stay.

Comments and trailing commas are blanked out by as many spaces: what is left is plain JSON in which
each value stands where it stands in the text. More of JSON5 is let through only for a harness that
reads it. Only the place that changes is written anew, in the style around it; what comes out is
read again and compared with the document that was asked for: anything else is an error, no text.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from prowess.hooks.harness import Edit, Insert, Path, Remove, apply_edits

MARK = "\ufeff"
# What begins with the other quote is a string of JSON5, and no JSON.
_STRING = r""""(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?"""
_COMMENTS = re.compile(
    rf"{_STRING}|(?P<comment>//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)", re.DOTALL
)
# A comma right after an opening bracket or another comma is an error, and stays one.
_COMMAS = re.compile(rf"{_STRING}|[\[{{,:]\s*+,|(?P<comma>,)(?=\s*+[}}\]])", re.DOTALL)
# Of JSON5 without comments: a string, a bracket, or a word such as a key, a number or `true`.
_TOKEN = re.compile(rf"{_STRING}|[\[\]{{}}]|[^\s\[\]{{}},:\"']++", re.DOTALL)
_LINE = re.compile(r"<string>:(\d+)")
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
            self.bare = _COMMENTS.sub(self._blank_out, self.bare)
            self.plain = _COMMAS.sub(_without_comma, self.bare)
            self.document = self._read_bare()

    def _blank_out(self, match: re.Match[str]) -> str:
        found = match["comment"]
        if found is None:
            return match[0]
        if found.startswith("/*") and not found.endswith("*/"):
            line = match.string.count("\n", 0, match.start()) + 1
            raise DocumentError("a comment has no end", line)
        self.comments.append(Comment(match.start(), match.end(), found.startswith("//")))
        return _NOT_BLANK.sub(" ", found)

    def _read_bare(self) -> dict[str, Any]:
        return self._read()

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
        return _check_object(found)

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
        while self.bare[place].isspace():
            place += 1
        return place if self.bare[place] == "," else None

    def _children(self, start: int) -> Iterator[Child]:
        keyed = self.plain[start] == "{"
        place = self._skip(start + 1)
        while self.plain[place] not in "}]":
            begin, key = place, None
            if keyed:
                key, place = self._read_key(place)
                place = self._skip(self._skip(place) + 1)
            end = self._find_end(place)
            yield Child(key, begin, place, end)
            place = self._skip(end)
            if self.plain[place] == ",":
                place = self._skip(place + 1)

    def _read_key(self, place: int) -> tuple[str, int]:
        key, end = _DECODER.raw_decode(self.plain, place)
        return str(key), end

    def _find_end(self, place: int) -> int:
        """Return where the value that begins at `place` ends."""
        return _DECODER.raw_decode(self.plain, place)[1]

    def _skip(self, place: int) -> int:
        while self.plain[place].isspace():
            place += 1
        return place


class Json5Text(JsoncText):
    """The same for JSON5: keys without quotes, strings in either quotes, and its other numbers."""

    def _read_bare(self) -> dict[str, Any]:
        try:
            return self._read()
        except DocumentError:
            return _check_object(_load_json5(self.plain))

    def _read_key(self, place: int) -> tuple[str, int]:
        end = self._find_end(place)
        (key,) = _load_json5(f"{{{self.plain[place:end]}: 0}}")
        return key, end

    def _find_end(self, place: int) -> int:
        depth = 0
        for token in _TOKEN.finditer(self.plain, place):
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
            if depth == 0:
                return token.end()
        raise DocumentError("its brackets do not match")


# Whatever the text holds.
def _load_json5(text: str) -> Any:  # noqa: ANN401
    # Late: it is slow to load, and few files need it.
    import json5

    try:
        return json5.loads(text)
    except (ValueError, RecursionError) as error:
        line = _LINE.match(str(error))
        raise DocumentError("it is not JSON5", int(line[1]) if line else 0) from error


def _check_object(found: object) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise DocumentError("it must hold one object, such as {}")
    return found


def _without_comma(match: re.Match[str]) -> str:
    return " " if match["comma"] else match[0]


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder()
_UNIT = "  "
_SPACES = " \t\r\n"
_LINE_END = re.compile(r"[ \t]*(?:\r|\n|\Z)")
# From, to, and what stands there instead.
_Cut = tuple[int, int, str]


def edit_jsonc(text: str, edits: Sequence[Edit], reader: type[JsoncText] = JsoncText) -> str:
    """Return the text with every edit done, one after the other; an empty text is a new file.

    Raises:
        DocumentError: the text is not JSON, or would not say afterwards what was asked for.
    """
    found = reader(_begin_document(text))
    wanted = apply_edits(found.document, edits)
    for edit in edits:
        found = reader(_splice(found.text, _cuts(found, edit)))
    if found.document != wanted:
        raise DocumentError("the change cannot be made without touching more of it")
    return found.text


def _begin_document(text: str) -> str:
    """Return the text, or that of an empty document with as much of it as there is."""
    if text.strip(_SPACES + MARK):
        return text
    return (MARK if text.startswith(MARK) else "") + "{}" + find_newline(text)


def find_newline(text: str) -> str:
    """Return what ends the lines of a text: what ends its first one."""
    found = re.search(r"\r\n|\n|\r", text)
    return found[0] if found else "\n"


def _splice(text: str, cuts: Sequence[_Cut]) -> str:
    for start, end, new in sorted(cuts, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _cuts(source: JsoncText, edit: Edit) -> list[_Cut]:
    if isinstance(edit, Insert):
        return _insertion(source, edit)
    if isinstance(edit, Remove):
        return _removal(source, edit.path)
    child = source.child(edit.path)
    return [(child.value, child.end, _render(edit.value, None))]


def _insertion(source: JsoncText, edit: Insert) -> list[_Cut]:
    container = source.container(edit.path)
    if any(child.key == edit.key for child in container.children if edit.key is not None):
        raise DocumentError(f"`{edit.key}` is there already")
    indent = _indent_in(source, edit.path, container)
    key = "" if edit.key is None else json.dumps(edit.key, ensure_ascii=False) + ": "
    new = key + _render(edit.value, _Style(source, indent) if indent is not None else None)
    if not container.children:
        return _into_empty(source, container, new, indent)
    last = container.children[-1]
    comma = source.comma_after(last)
    end = last.end if comma is None else comma + 1
    place = _skip_comments(source, end, container.closing)
    gap = " " if indent is None else find_newline(source.text) + indent
    if comma is not None:
        # They like trailing commas here.
        return [(place, place, gap + new + ",")]
    if place == end:
        return [(end, end, "," + gap + new)]
    return [(end, end, ","), (place, place, gap + new)]


def _into_empty(
    source: JsoncText, container: Container, new: str, indent: str | None
) -> list[_Cut]:
    start, end = container.opening + 1, container.closing
    if indent is None:
        return [(start, end, new)]
    inside = [one for one in source.comments if start <= one.start < end]
    place = inside[-1].end if inside else start
    newline = find_newline(source.text)
    tail = source.text[place:end]
    after = tail if inside and "\n" in tail else newline + _line_indent(source.text, start)
    return [(place, end, newline + indent + new + after)]


def _skip_comments(source: JsoncText, start: int, limit: int) -> int:
    """Return where the comments end that follow on the same line: they belong to what is there."""
    place = start
    for comment in source.comments:
        if comment.start < start:
            continue
        between = source.text[place : comment.start]
        if comment.start > limit or "\n" in between or "\r" in between:
            break
        place = comment.end
    return place


class _Style:
    """How far a line is indented, and by how much more the lines below it."""

    def __init__(self, source: JsoncText, indent: str) -> None:
        self.indent, self.unit, self.newline = indent, _unit_of(source), find_newline(source.text)


def _render(value: object, style: _Style | None) -> str:
    if style is None:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=style.unit).split("\n")
    return (style.newline + style.indent).join(lines)


def _indent_in(source: JsoncText, path: Path, container: Container) -> str | None:
    """Return how children of a container are indented; None where they stand on one line."""
    base = _line_indent(source.text, container.opening)
    if not container.children:
        comments = source.text[container.opening + 1 : container.closing].strip(_SPACES)
        inline = bool(path) and not comments and _is_inline(source, source.container(path[:-1]))
        return None if inline else base + _unit_of(source)
    if _is_inline(source, container):
        return None
    for child in container.children:
        line = source.text[_line_start(source.text, child.start) : child.start]
        if not line.strip(_SPACES):
            return line
    return base + _unit_of(source)


def _is_inline(source: JsoncText, container: Container) -> bool:
    """Return whether all children begin, and the last one ends, on the line of the bracket."""
    place = container.opening + 1
    for child in container.children:
        if _has_line_end(source.text[place : child.start]):
            return False
        place = child.end
    return not _has_line_end(source.text[place : container.closing])


def _has_line_end(text: str) -> bool:
    return "\n" in text or "\r" in text


def _unit_of(source: JsoncText) -> str:
    """Return by how much one level is indented: as the first member of the document is."""
    for child in source.container(()).children:
        line = source.text[_line_start(source.text, child.start) : child.start]
        if line and not line.strip(_SPACES):
            return line
    return _UNIT


def _line_start(text: str, place: int) -> int:
    return max(text.rfind("\n", 0, place), text.rfind("\r", 0, place)) + 1


def _line_indent(text: str, place: int) -> str:
    line = text[_line_start(text, place) : place].lstrip(MARK)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _removal(source: JsoncText, path: Path) -> list[_Cut]:
    container, child = source.container(path[:-1]), source.child(path)
    at = container.children.index(child)
    comma = source.comma_after(child)
    if at + 1 < len(container.children):
        return _cut_before(source, child, container.children[at + 1], comma or child.end)
    cuts = [(_begin(source, child, comma), child.end, "")]
    if comma is not None:
        cuts.append((comma, comma + 1, ""))
    elif at > 0:
        before = source.comma_after(container.children[at - 1])
        cuts += [] if before is None else [(before, before + 1, "")]
    if at == 0:
        rest = _splice(source.text[: container.closing], cuts)[container.opening + 1 :]
        if not rest.strip(_SPACES):
            return [(container.opening + 1, container.closing, "")]
    return cuts


def _cut_before(source: JsoncText, child: Child, following: Child, comma: int) -> list[_Cut]:
    begin = _begin(source, child, comma)
    gap = source.text[comma + 1 : following.start]
    if not _has_line_end(source.text[begin : child.start]) and not gap.strip(_SPACES):
        # On one line with what is before: what follows takes its place.
        return [(child.start, child.end, ""), (child.end, following.start, "")]
    return [(begin, child.end, ""), (comma, comma + 1, "")]


def _begin(source: JsoncText, child: Child, comma: int | None) -> int:
    """Return where the space before a child begins that goes along with it."""
    text = source.text
    begin = child.start
    while begin > 0 and text[begin - 1] in _SPACES:
        begin -= 1
    rest = text[child.end :] if comma is None else text[child.end : comma] + text[comma + 1 :]
    if any(one.to_line_end and one.end == begin for one in source.comments):
        # Without a line end that comment would go on over what follows.
        return begin if _LINE_END.match(rest) else child.start
    return begin
