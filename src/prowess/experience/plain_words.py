"""A stranger's text as a few words on one line of a Markdown page, where it can do nothing.

What a trace quotes may hold anything: fences, tags, comments, links, marks that turn a line around.
Two forms come out of here. `plain` reads like prose and changes what could begin something;
`in_quotes` is JSON, which reads back as exactly the text that was shown. Both are cut to a length
and hold no credential.
"""

import json
import re

from prowess.experience.redaction import HIDDEN
from prowess.secrets.credentials import masked
from prowess.skills.text import clean, one_line

CUT = "..."
# What is read of a text: a credential behind what is shown must still be seen as a whole.
_READ_AHEAD = 4_500
_MOST_READ = 64_000
_LONG_GAP = re.compile(r"\s{3,}")
# The beginning of a tag or a comment. What the masking itself puts there is none.
_TAG = re.compile(rf"<(?=[A-Za-z/!?])(?!{HIDDEN[1:]})")
# What a page or a harness takes for a link, or for code that it is to run.
_LINK = re.compile(r"\](?=[(\[:])")
# What is filled in when a skill is called, unless a backslash stands before it.
_PLACEHOLDER = re.compile(r"(?<!\\)\$(?=ARGUMENTS|[0-9]|\{CLAUDE_)")
_TICK = re.compile("[`\u02cb\uff40]")


def plain(text: str, most: int) -> str:
    """Return `text` on one line of at most `most` characters, in which nothing begins."""
    words = masked(one_line(_read(text, most)))
    words = _LINK.sub("] ", _TAG.sub("< ", _TICK.sub("'", words)))
    return cut(_PLACEHOLDER.sub(r"\\$", words), most)


def in_quotes(text: str, most: int) -> str:
    """Return `text`, cut to `most` characters, in JSON's quotes; line ends are kept as escapes."""
    words = cut(masked(clean(_read(text, most))).strip(), most)
    written = _LINK.sub(r"\\u005d", _TAG.sub(r"\\u003c", json.dumps(words, ensure_ascii=False)))
    return _PLACEHOLDER.sub(r"\\u0024", written).replace("`", r"\u0060")


def cut(text: str, most: int) -> str:
    """Return `text`, or its beginning and three dots where it is longer than `most`."""
    if len(text) <= most:
        return text
    return text[: most - len(CUT)].rstrip() + CUT


def _read(text: str, most: int) -> str:
    """Return what is read of a text: enough to mask what is shown of it."""
    text = _LONG_GAP.sub(_gap, text[:_MOST_READ])
    return masked(text[: most + _READ_AHEAD])


def _gap(match: re.Match[str]) -> str:
    return "\n" if "\n" in match[0] else " "
