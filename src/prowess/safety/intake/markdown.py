"""A Markdown file to its parts: prose, headings, code, and the text that a person does not see.

The blocks come from the CommonMark parser with their line numbers; what stands inside a block
(code spans, comments, alternative texts) is found by bounded patterns on the raw text, so that
each part is a cut of the file with exact positions. Commands that stand in plain prose, without any
mark that they are code, are found here too.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from prowess.reading.views import View, rewrite


class PartKind(StrEnum):
    """Where in a document a text stands."""

    PROSE = "prose"
    HEADING = "heading"
    CODE = "code"
    CODE_SPAN = "code span"
    FRONTMATTER = "frontmatter"
    # What a reader of the rendered page does not see, and a model does.
    COMMENT = "comment"
    LINK_NOTE = "link note"
    HIDDEN_HTML = "hidden html"
    ALT_TEXT = "alt text"

    @property
    def is_hidden(self) -> bool:
        """Whether the rendered page does not show it."""
        return self in {
            PartKind.COMMENT,
            PartKind.LINK_NOTE,
            PartKind.HIDDEN_HTML,
            PartKind.ALT_TEXT,
        }


@dataclass(frozen=True, slots=True)
class MarkdownPart:
    """One stretch of a document."""

    place: PartKind
    view: View
    # The headings above it, outermost first.
    headings: tuple[str, ...] = ()
    # For code: the language as written after the fence.
    language: str = ""


_FRONTMATTER = re.compile(
    r"\A(?:\ufeff)?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
_LINK_NOTE = re.compile(
    r"^[ ]{0,3}\[(?://|comment|#|_|)\]:[ \t]*+(?:<>|#|\S*)[ \t]*+([(\"'].*)$",
    re.MULTILINE | re.IGNORECASE,
)
_ALT = re.compile(r"!\[([^\]\n]{1,2000}+)\]\(")
_IMG_ALT = re.compile(
    # Not across the next picture: each is looked at from its own beginning.
    r"<img\b(?:(?!<img)[^>]){0,2000}?\b(?:alt|title)=(?:\"([^\"]*)\"|'([^']*)')",
    re.IGNORECASE,
)
_HIDING = re.compile(
    r"<(\w{1,20})\b[^>]{0,500}?(?:\bhidden\b|display\s*:\s*none|visibility\s*:\s*hidden"
    r"|font-size\s*:\s*0|opacity\s*:\s*0(?![.\d])|color\s*:\s*(?:white|#fff(?:fff)?|transparent)\b"
    r"|aria-hidden=[\"']?true)[^>]{0,500}>",
    re.IGNORECASE,
)
# Without one of these there is no need to look.
_HIDING_WORDS = ("hidden", "display", "font-size", "opacity", "color")
_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)([^`\n](?:[^`\n]|\n(?!\n)){0,2000}?)(?<!`)\1(?!`)")
_HIDDEN_LIMIT = 4000


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    # Blocks only: spans are found below with positions, which the inline parser does not give.
    return MarkdownIt("commonmark").enable("table").disable("inline").disable("reference")


def split_parts(view: View) -> Iterator[MarkdownPart]:
    """Yield the parts of the Markdown text of `view`, in the order of the file."""
    text, start = view.text, 0
    if found := _FRONTMATTER.match(text):
        start = found.end()
        yield MarkdownPart(PartKind.FRONTMATTER, view.cut(found.start(1), found.end(1)))
    body = view.cut(start, len(text))
    starts = _line_starts(body.text)
    headings: list[tuple[int, str]] = []
    for token in _find_blocks(body.text):
        first, last = token.map or [0, 0]
        last = min(last, len(starts) - 1)
        piece = body.cut(starts[min(first, len(starts) - 1)], starts[last])
        if token.type == "heading":
            level = int(token.tag[1:])
            while headings and headings[-1][0] >= level:
                headings.pop()
            headings.append((level, piece.text.strip("#= \t\r\n-")))
        yield from _read(token, piece, tuple(title for _, title in headings))


def _line_starts(text: str) -> list[int]:
    starts = [0]
    starts.extend(found.end() for found in re.finditer(r"\n", text))
    if starts[-1] != len(text):
        starts.append(len(text))
    return starts


def _find_blocks(text: str) -> Iterator[Token]:
    """Leaf blocks with a line map; a heading's inline text stands for the heading."""
    # The parser counts a lone carriage return, a form feed and a NUL otherwise than an editor does.
    plain = text.replace("\r\n", " \n").replace("\r", " ").replace("\0", " ")
    last, is_heading = None, False
    for token in _parser().parse(plain):
        if token.map and token.type in {"fence", "code_block", "html_block", "inline"}:
            # A heading's text comes again, and the cells of a row with the same lines.
            if token.map != last and not is_heading:
                yield token
            last, is_heading = token.map, False
        elif token.map and token.type == "heading_open":
            heading, last, is_heading = Token("heading", token.tag, 0), token.map, True
            heading.map = token.map
            yield heading


def _read(token: Token, piece: View, headings: tuple[str, ...]) -> Iterator[MarkdownPart]:
    if token.type in {"fence", "code_block"}:
        inside = _cut_fences(token, piece)
        yield MarkdownPart(PartKind.CODE, inside, headings, token.info.strip())
        return
    hidden = sorted(_find_hidden(piece))
    for start, end, place in hidden:
        yield MarkdownPart(place, piece.cut(start, end), headings)
    if token.type == "heading":
        yield MarkdownPart(PartKind.HEADING, piece, headings)
        yield from _find_spans(piece, headings)
        return
    for start, end in _find_gaps(
        len(piece.text), [(s, e) for s, e, p in hidden if p is not PartKind.ALT_TEXT]
    ):
        shown = piece.cut(start, end)
        if shown.text.strip():
            yield MarkdownPart(PartKind.PROSE, shown, headings)
            yield from _find_spans(shown, headings)


def _cut_fences(token: Token, piece: View) -> View:
    """The lines of a code block without its fences."""
    if token.type != "fence":
        return piece
    first = piece.text.find("\n") + 1
    if not first:
        return piece.cut(len(piece.text), len(piece.text))
    last = piece.text.rstrip("\r\n \t").rfind("\n") + 1
    closed = piece.text[last:].lstrip(" >\t").startswith(token.markup[:3])
    return piece.cut(first, last if closed and last >= first else len(piece.text))


def _find_hidden(piece: View) -> Iterator[tuple[int, int, PartKind]]:
    text = piece.text
    if "<!--" in text:
        yield from ((*found.span(1), PartKind.COMMENT) for found in _COMMENT.finditer(text))
    if "]:" in text:
        yield from ((*found.span(1), PartKind.LINK_NOTE) for found in _LINK_NOTE.finditer(text))
    if "![" in text:
        yield from ((*found.span(1), PartKind.ALT_TEXT) for found in _ALT.finditer(text))
    if "<" in text:
        yield from _find_hidden_html(text, text.lower())


def _find_hidden_html(text: str, lowered: str) -> Iterator[tuple[int, int, PartKind]]:
    if "<img" in lowered:
        for found in _IMG_ALT.finditer(text):
            group = 1 if found.group(1) is not None else 2
            yield *found.span(group), PartKind.ALT_TEXT
    if any(word in lowered for word in _HIDING_WORDS):
        covered = 0
        for found in _HIDING.finditer(text):
            # What is hidden within the hidden is read with it, once.
            if found.start() < covered:
                continue
            tag = f"</{found.group(1).lower()}"
            close = lowered.find(tag, found.end(), found.end() + _HIDDEN_LIMIT)
            covered = close if close >= 0 else len(text)
            yield found.end(), covered, PartKind.HIDDEN_HTML


def _find_gaps(length: int, taken: list[tuple[int, int]]) -> list[tuple[int, int]]:
    edges = [(0, 0), *taken, (length, length)]
    return [(left[1], right[0]) for left, right in pairwise(edges) if right[0] > left[1]]


def _find_spans(shown: View, headings: tuple[str, ...]) -> Iterator[MarkdownPart]:
    for found in _SPAN.finditer(shown.text) if "`" in shown.text else ():
        yield MarkdownPart(PartKind.CODE_SPAN, shown.cut(*found.span(2)), headings)


_COMMAND = re.compile(
    r"(?:(?<=[\s(:\"'>=!+`;&|{])|^)(?:sudo\s+)?(?:curl|wget|bash|sh|zsh|nc|ncat|python3?|perl|ruby|node"
    r"|npx|npm|pip3?|uvx?|pipx|bunx|pnp[mx]|deno|php|ngrok|powershell|pwsh|iwr|irm|iex"
    r"|mshta|certutil|osascript|scp|rsync|ssh|nslookup|dig|aws|gsutil|git|rm|chmod|dd|mkfs\S*"
    r"|crontab|launchctl|systemctl|echo|printf|cat|eval"
    r"|source|export|docker|sed|cp|find|tar|env|printenv|invoke-\w+|set-mppreference"
    r"|add-mppreference|cmd|reg|schtasks|sc)"
    r"(?:\.exe)?[ \t]+[-~/.$\"'\w<(\\%@][^\n]{2,800}",
    re.IGNORECASE | re.MULTILINE,
)  # fmt: skip
# A sentence about a tool becomes a command when it has an address, a switch or a redirection.
_SHAPE = re.compile(r"\w+://|/dev/tcp|\s-{1,2}[A-Za-z]|[|>&;]\s*\S|\$[({]|~/|\|")
# Each shape has one of these; most paragraphs have none, and the search is costly.
_MARKS = ("://", "/dev/tcp", " -", "\t-", "|", ">", "&", ";", "$", "~/")
_AFTER_SHELL = re.compile(
    r"\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b(?=[ \t]+[a-z]{2,}\b(?![ \t]*[-<]))|[.!?](?=\s+[A-Z])"
    r"|[.,;:)\"']+\s*$"
)
# A rule of a malware scanner names what it looks for.
_SIGNATURE = re.compile(r"\s*\$\w+\s*=\s*[\"/{]")
_ROW = re.compile(r"^\s*\|")
_ESCAPED_PIPE = re.compile(r"\\\|")


def find_commands(view: View) -> Iterator[View]:
    """Yield what looks like a command in the prose of `view`."""
    text = view.text
    if not any(mark in text for mark in _MARKS):
        return
    at = 0
    for found in _COMMAND.finditer(text):
        start = found.start()
        line = text[text.rfind("\n", 0, start) + 1 : start]
        if start < at or _SIGNATURE.match(line):
            continue
        is_row = _ROW.match(line) is not None
        command = found.group()
        if is_row:
            command = re.split(r"(?<!\\)\|", command, maxsplit=1)[0]
        if not _SHAPE.search(command):
            continue
        at = start + _measure_command(command, text[start - 1 : start])
        # In a table a pipe is written with a backslash before it.
        inside = view.cut(start, at)
        yield rewrite(inside, _ESCAPED_PIPE, lambda _pipe: "|") if is_row else inside


def _measure_command(command: str, before: str) -> int:
    """How much of a line is the command: up to its quotation mark, a tag, or a new sentence."""
    if before in {'"', "'", "`"} and (close := command.find(before)) > 0:
        command = command[:close]
    elif (tag := command.find("</")) > 0:
        command = command[:tag]
    if stop := _AFTER_SHELL.search(command):
        return stop.end() if stop.group().startswith("|") else stop.start()
    return len(command)
