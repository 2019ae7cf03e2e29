"""The description of a skill that exists, changed in its frontmatter and nothing else with it.

By it agents decide when to use the skill, so that a better one is worth proposing. All the other
lines of the frontmatter stay byte for byte; where that cannot be made sure, nothing is changed.
"""

import re

from prowess.errors import ProposalInputError
from prowess.skills import frontmatter, yaml_text
from prowess.skills.field_reader import FieldReader, squeeze
from prowess.skills.standard import MAX_DESCRIPTION

_LINES = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
_KEY = re.compile(r"([\"']?)([A-Za-z]+)\1[ \t]*:(?=\s|\Z)")
_END = re.compile(r"[\r\n]+\Z")
_BY_HAND = "description: the frontmatter of this skill cannot be changed safely: edit it by hand"


def description_line(text: str) -> str:
    """Return a description as one line.

    Raises:
        ProposalInputError: there is none, or it is too long.
    """
    line = " ".join(sound(text).split())
    if not line:
        raise ProposalInputError("description required", field="description")
    if len(line) > MAX_DESCRIPTION:
        problem = f"description exceeds {MAX_DESCRIPTION} characters"
        raise ProposalInputError(problem, field="description")
    return line


def described(content: bytes, description: str) -> bytes:
    """Return a `SKILL.md` with another description.

    Raises:
        ProposalInputError: the description is none, or the frontmatter cannot be changed safely.
    """
    line = description_line(description)
    old = frontmatter.read(frontmatter.decode(content).text)
    if not old.present or not old.readable:
        raise ProposalInputError(_BY_HAND, field="description")
    if FieldReader(old).text("description") == line:
        return content
    found = _with(content.decode(), f"description: {yaml_text.quoted(line)}").encode()
    new = frontmatter.read(frontmatter.decode(found).text)
    if (_others(old), old.body) != (_others(new), new.body) or _said(new) != line:
        raise ProposalInputError(_BY_HAND, field="description")
    return found


def sound(text: str) -> str:
    """Return `text` if a file can hold it.

    Raises:
        ProposalInputError: it holds a NUL or half of a character.
    """
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ProposalInputError("text must be valid Unicode without NUL")
    return text


def _with(text: str, line: str) -> str:
    """Return the text with that line in place of the one that was, or right below the dashes."""
    lines = [part for part in _LINES.split(text) if part]
    newline = "".join(_END.findall(lines[0])) or "\n"
    start = next((at for at, one in enumerate(lines) if at and _key(one) == "description"), 0)
    if not start or any(one.rstrip() == "---" for one in lines[1:start]):
        return "".join([lines[0], line + newline, *lines[1:]])
    end = start + 1
    # What is indented below it is still the old description, and so are blank lines among it.
    while end < len(lines) and (lines[end][:1] in " \t" or not lines[end].strip()):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return "".join([*lines[:start], line + newline, *lines[end:]])


def _key(line: str) -> str:
    found = _KEY.match(line)
    return squeeze(found[2]) if found else ""


def _others(front: frontmatter.Frontmatter) -> dict[str, object]:
    return {key: value for key, value in front.fields.items() if squeeze(key) != "description"}


def _said(front: frontmatter.Frontmatter) -> str:
    return FieldReader(front).text("description") if front.readable else ""
