"""Blocks of Markdown that never end: code or a comment that swallows all that comes after it.

A fence in a list ends with the list for a parser, and still a reader takes what follows for code:
whatever has no end of its own counts as open.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

from prowess.errors import ProposalInputError

LEFT_OPEN = "leaves code or a comment open: close it"

# What begins the blocks of HTML that go on over blank lines, and what ends them.
_ENDS = (
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (
        re.compile(r"<(?:script|pre|style|textarea)(?=[\s>]|$)", re.IGNORECASE),
        re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    ),
)
_CODE_SPAN = re.compile(r"(?<!`)(?P<ticks>`{1,8})(?!`)[^`]{1,2000}(?P=ticks)(?!`)")


def parsed(lines: list[str]) -> list[Token]:
    """Return the blocks of a text; what stands inside a line is left as it is."""
    # That is not needed, and can be slow on hostile text.
    parser = MarkdownIt("commonmark")
    parser.core.ruler.disable("inline")
    return parser.parse("\n".join(lines))


def refuse_open(text: str, name: str = "body") -> None:
    """Refuse a text in which code or a comment goes on to its end.

    Raises:
        ProposalInputError: one does.
    """
    lines = text.split("\n")
    if is_open(lines, parsed(lines)):
        raise ProposalInputError(f"{name} {LEFT_OPEN}")


def is_open(lines: list[str], tokens: list[Token]) -> bool:
    """Return whether code or a comment of these lines, parsed as `tokens`, has no end."""
    return any(_is_open_token(token, lines) for token in tokens)


def _is_open_token(token: Token, lines: list[str]) -> bool:
    if token.type == "fence":
        return _is_open_fence(token, lines)
    if token.type == "html_block":
        begun = token.content.lstrip()
        return any(start.match(begun) and not end.search(begun) for start, end in _ENDS)
    if token.type == "inline":
        _, opened, rest = _CODE_SPAN.sub("", token.content).rpartition("<!--")
        return bool(opened) and "-->" not in rest
    return False


def _is_open_fence(token: Token, lines: list[str]) -> bool:
    if token.map is None:
        return False
    start, end = token.map
    last = lines[end - 1].lstrip(" \t>").rstrip()
    is_closed = end - 1 > start and len(last) >= len(token.markup)
    return not (is_closed and set(last) == {token.markup[0]})
