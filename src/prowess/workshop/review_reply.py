"""What a reviewing model answered: one JSON object, wherever it stands in the reply.

Nothing is repaired or guessed. A reply that holds two different objects, or one that is cut off or
malformed, says nothing: an object inside of a broken one may be a quotation.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prowess.errors import ProposalError
from prowess.skills.json_text import is_plain
from prowess.skills.text import one_line
from prowess.workshop.edit import DEFAULT_SECTION, Append, Create, Edit, Replace
from prowess.workshop.proposal import skill_name

LONGEST_REPLY = 500_000
DEFAULT_REASON = "A review of recent turns found a step that will be needed again"

_LONGEST_TITLE, _LONGEST_REASON = 120, 500
# Some models think aloud first, also about other answers.
_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
# A brace in prose begins no object. No two matches overlap, so looking for them takes one pass.
_OBJECT = re.compile(r'(?P<list>\[\s*)?(?P<object>\{)\s*["}]')
_SECTION = re.compile(r"[^\W_][\w ./:-]{0,80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A change of one skill that the model proposes; nobody has looked at it yet."""

    # In its normal form.
    skill: str
    title: str
    reason: str
    edit: Edit
    # A new skill is wanted, though one says nearly the same.
    overrule: bool = False


@dataclass(frozen=True, slots=True)
class NoUpdate:
    """The model found nothing that is worth keeping."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The reply says nothing that can be used, and why."""

    reason: str


Reading = Suggestion | NoUpdate | Unreadable


class _ReplyError(Exception):
    """The reply cannot be used; never leaves this module."""


def read_reply(text: str) -> Reading:
    """Return what a reply says; takes time in proportion to its length, whatever it holds."""
    try:
        return _understood(_only_object(text))
    except (_ReplyError, ProposalError) as error:
        return Unreadable(str(error))


def _only_object(text: str) -> Mapping[str, Any]:
    if len(text) > LONGEST_REPLY:
        raise _ReplyError(f"the reply is longer than {LONGEST_REPLY} characters")
    text = _THOUGHTS.sub("", text)
    if not text.strip():
        raise _ReplyError("the reply is empty")
    found: Mapping[str, Any] | None = None
    start = _OBJECT.search(text)
    while start is not None:
        if start["list"]:
            raise _ReplyError("the reply is a list, not one object")
        value, end = _decoded(text, start.start("object"))
        if found and value and value != found:
            raise _ReplyError("the reply holds several different objects")
        found = found or value
        start = _OBJECT.search(text, end)
    if found is None:
        raise _ReplyError("the reply holds no JSON object")
    return found


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _ReplyError("the reply holds a key twice")
    return found


# Not strict: models write line breaks inside of strings as they are.
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_without_repetition)


def _decoded(text: str, start: int) -> tuple[Mapping[str, Any], int]:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise _ReplyError(f"the reply is no valid JSON: {error.msg}") from error
    except ValueError as error:
        raise _ReplyError("the reply is no valid JSON: a number is too long") from error
    except RecursionError as error:
        raise _ReplyError("the reply is nested too deeply") from error
    if not is_plain(value):
        raise _ReplyError("the reply holds something that is no text, or is nested too deeply")
    return value, end


def _understood(found: Mapping[str, Any]) -> Suggestion | NoUpdate:
    action = found.get("action")
    if action == "none":
        return NoUpdate()
    if not isinstance(action, str) or action not in {"create", "append", "replace"}:
        raise _ReplyError("action must be create, append, replace or none")
    title = one_line(_text(found, "title"))[:_LONGEST_TITLE]
    skill = skill_name(_needed(found, "skillName"), title)
    title = title or f"Skill update: {skill}"
    return Suggestion(
        skill=skill,
        title=title,
        reason=one_line(_text(found, "reason"))[:_LONGEST_REASON] or DEFAULT_REASON,
        edit=_edit(action, found, title),
        overrule=found.get("overrule") is True,
    )


def _edit(action: str, found: Mapping[str, Any], title: str) -> Edit:
    if action == "replace":
        old = _needed(found, "oldText")
        # An empty one deletes the old text; a missing one says nothing.
        new = _text(found, "newText") if found.get("newText") == "" else _needed(found, "newText")
        if old == new:
            raise _ReplyError("oldText and newText are the same")
        return Replace(old_text=old, new_text=new)
    description = one_line(_text(found, "description")) or title
    body = _needed(found, "body")
    if action == "create":
        return Create(description=description, body=body)
    return Append(section=_section(_text(found, "section")), body=body, description=description)


def _section(text: str) -> str:
    # Given the heading for its title, as models often do, the title is meant.
    section = one_line(text).lstrip("#").strip() or DEFAULT_SECTION
    if not _SECTION.fullmatch(section):
        raise _ReplyError("section must be the plain title of a heading")
    return section


def _needed(found: Mapping[str, Any], key: str) -> str:
    text = _text(found, key)
    if not text.strip():
        raise _ReplyError(f"{key} required")
    return text


def _text(found: Mapping[str, Any], key: str) -> str:
    """Return a text of the object; a value of another type counts as none."""
    value = found.get(key)
    if not isinstance(value, str):
        return ""
    if "\0" in value:
        raise _ReplyError(f"{key} holds a NUL")
    return value
