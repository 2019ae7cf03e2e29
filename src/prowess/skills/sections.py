"""A skill's body as sections, each with its place in the file.

A heading inside a code block is text, so sections come from a Markdown parser and not from a
search for `#`.
"""

from dataclasses import dataclass
from typing import NamedTuple

from markdown_it import MarkdownIt

from prowess.skills.model import Skill


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The text below one heading; lines are those of the file, 1-based, the last one included."""

    title: str
    level: int
    line: int
    last_line: int
    text: str


def split_sections(skill: Skill) -> tuple[Section, ...]:
    """Return the sections of `skill`, in order; text above the first heading has level 0."""
    # The newline that ends the file does not begin another line.
    lines = skill.body.removesuffix("\n").split("\n")
    heads = _headings(skill.body)
    if not heads or heads[0].start > 0:
        heads.insert(0, _Heading(0, 0, 0, ""))
    ends = [heading.start for heading in heads[1:]] + [len(lines)]
    return tuple(
        Section(
            title=heading.title,
            level=heading.level,
            line=skill.body_line + heading.start,
            last_line=skill.body_line + max(end - 1, heading.start),
            text="\n".join(lines[heading.text_start : end]).strip("\n"),
        )
        for heading, end in zip(heads, ends, strict=True)
        if heading.level or "".join(lines[heading.start : end]).strip()
    )


class _Heading(NamedTuple):
    """A heading: its line, the line its text begins on, its level and title."""

    start: int
    text_start: int
    level: int
    title: str


def _headings(body: str) -> list[_Heading]:
    """Return every top-level heading."""
    # Blocks only: what stands inside a line is not needed and can be slow on hostile text.
    parser = MarkdownIt("commonmark")
    parser.core.ruler.disable("inline")
    tokens = parser.parse(body)
    found = []
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = tokens[index + 1].content
            found.append(_Heading(token.map[0], token.map[1], int(token.tag[1:]), title))
    return found
