"""A skill's body as sections, each with its place in the file.

A heading inside a code block is text, so sections come from a Markdown parser and not from a
search for `#`.
"""

from dataclasses import dataclass

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


def sections(skill: Skill) -> tuple[Section, ...]:
    """Return the sections of `skill`, in order; text above the first heading has level 0."""
    # The newline that ends the file does not begin another line.
    lines = skill.body.removesuffix("\n").split("\n")
    heads = _headings(skill.body)
    if not heads or heads[0][0] > 0:
        heads.insert(0, (0, 0, ""))
    ends = [start for start, _, _ in heads[1:]] + [len(lines)]
    return tuple(
        Section(
            title=title,
            level=level,
            line=skill.body_line + start,
            last_line=skill.body_line + max(end - 1, start),
            text="\n".join(lines[start + (level > 0) : end]).strip("\n"),
        )
        for (start, level, title), end in zip(heads, ends, strict=True)
        if level or "".join(lines[start:end]).strip()
    )


def _headings(body: str) -> list[tuple[int, int, str]]:
    """Return line, level and title of every top-level heading."""
    # Blocks only: what stands inside a line is not needed and can be slow on hostile text.
    parser = MarkdownIt("commonmark")
    parser.core.ruler.disable("inline")
    tokens = parser.parse(body)
    found = []
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            found.append((token.map[0], int(token.tag[1:]), tokens[index + 1].content))
    return found
