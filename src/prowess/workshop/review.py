"""What a reviewing model is sent, and what it answered.

A conversation and the nearest skills are quoted as data, between fences that nobody in them can
know, and what a reader of the conversation could not see is taken out: it must teach nothing.
Whatever looks like a credential is masked first, more broadly than in what we print, because this
text leaves the machine.

The answer is one JSON object, wherever it stands in the reply. Nothing is repaired or guessed: a
reply that holds two different objects, or one that is cut off or malformed, says nothing, since an
object inside of a broken one may be a quotation.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prowess.data import read_text
from prowess.errors import ProposalError
from prowess.safety.review import SHORTEST_NONCE
from prowess.secrets.credentials import mask, mask_credentials
from prowess.skills.text import clean, is_plain, one_line
from prowess.workshop.edit import DEFAULT_SECTION, Append, Create, Edit, Replace
from prowess.workshop.proposal import skill_name

MOST_TRANSCRIPT, MOST_SKILLS, MOST_EXCERPT = 12_000, 12, 2_000
NO_TRANSCRIPT, NO_SKILLS = "(no text transcript)", "(none)"

_CUT = "\u27e8beginning left out\u27e9"
_REST = "\n\u27e8the rest is left out\u27e9"
# Our own marks stand in these, so nobody else's text keeps them.
_BRACKETS = str.maketrans("\u27e6\u27e7\u27e8\u27e9", "[]<>")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_LINE_ENDS = re.compile(r"\r\n?")
# Far more than is shown, so that a credential at the edge of what is shown was seen whole.
_WINDOW = 8 * MOST_TRANSCRIPT
_STARS = "****"
_PRIVATE_KEY = re.compile(
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----).*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_BARE = re.compile(
    r"(?i)(?P<lead>\b(?:bearer|basic)[ \t]{1,4}(?=[^\s]{12})"
    r"|(?:passw(?:or)?d|passphrase|secret|api[_-]?key|token|credential)[a-z0-9_-]{0,20}[\"']?"
    r"[ \t]{0,4}(?::|=>?)[ \t]{0,4}[\"']?(?![$%{])(?=[^\s\"'<>]{0,127}[0-9])(?=[^\s\"'<>]{8}))"
    r"(?P<value>[^\s\"'<>]+)"
)
_TOPIC_CHARS = 2_000


def transcript(lines: Sequence[tuple[str, str]]) -> str:
    """Return the end of a conversation, given as roles and texts, as lines `role: text`.

    It begins at the start of a line, or with a mark where the beginning of one is left out. A line
    that is set in goes on with the message above, so none can pose as one.
    """
    kept: list[str] = []
    room = MOST_TRANSCRIPT
    for role, text in reversed(lines):
        shown = _BLANK_LINES.sub("\n\n", _show(_window(text)))
        if not shown:
            continue
        speaker = one_line(role).translate(_BRACKETS) or "other"
        message = f"{speaker}: {shown}".replace("\n", "\n  ")
        if len(text) > _WINDOW or len(message) > room:
            kept.append(_end_of(speaker, shown, room))
            break
        kept.append(message)
        room -= len(message) + 1
    return "\n".join(part for part in reversed(kept) if part) or NO_TRANSCRIPT


def excerpts(skills: Sequence[tuple[str, str]]) -> str:
    """Return the beginnings of skills, given as names and texts, in their order."""
    blocks = [
        f"\u27e6skill\u27e7 {one_line(name).translate(_BRACKETS)}\n{_show_beginning(text)}"
        for name, text in skills[:MOST_SKILLS]
    ]
    return "\n".join(blocks) or NO_SKILLS


def topic(lines: Sequence[tuple[str, str]]) -> str:
    """Return what a conversation is about, to look for skills with: the user's latest words."""
    said = [text for role, text in lines if role == "user"] or [text for _, text in lines]
    latest: list[str] = []
    room = _TOPIC_CHARS
    for text in reversed(said):
        if room <= 0:
            break
        latest.append(_show(_window(text))[-room:])
        room -= len(latest[-1])
    return "\n".join(reversed(latest))


def instructions(fence: str) -> str:
    """Return what the model is told before the question with the same fence.

    Raises:
        ValueError: a stranger could guess the fence.
    """
    # Not by `format`: the braces of the examples are their own.
    return read_text("workshop/reviewer.txt").replace("{fence}", _check(fence))


def question(transcript: str, excerpts: str, fence: str) -> str:
    """Return a conversation and skills as quoted data; a fence is letters that nobody can guess.

    Raises:
        ValueError: a stranger could guess the fence.
    """
    _check(fence)
    quoted = (("existing skills", excerpts), ("conversation", transcript))
    parts = [
        f"\u27e6{name} {fence} begin\u27e7\n{text.replace(fence, _STARS)}\n"
        f"\u27e6{name} {fence} end\u27e7"
        for name, text in quoted
    ]
    return "\n".join((*parts, "Answer with one JSON object and nothing else."))


def without_secrets(text: str) -> str:
    """Return `text` with everything masked that looks like a credential, keys as a whole."""
    whole = _PRIVATE_KEY.sub(rf"\1{_STARS}", text)
    # Masked by form first, which leaves a beginning; then all that only its place gives away.
    return mask_credentials(_BARE.sub(_star, mask(whole)))


def _star(hit: re.Match[str]) -> str:
    return hit[0] if _STARS in hit["value"] else f"{hit['lead']}{_STARS}"


def _check(fence: str) -> str:
    if len(fence) < SHORTEST_NONCE or not (fence.isascii() and fence.isalnum()):
        raise ValueError(f"a fence is {SHORTEST_NONCE} letters and digits or more")
    return fence


def _show(text: str) -> str:
    return without_secrets(clean(_LINE_ENDS.sub("\n", text)).translate(_BRACKETS)).strip()


def _window(text: str) -> str:
    """Return the end of a text from the start of a line on, if it has lines."""
    if len(text) <= _WINDOW:
        return text
    end = text[-_WINDOW:]
    return end.partition("\n")[2] or end


def _end_of(speaker: str, text: str, room: int) -> str:
    """Return the last whole lines of a message, or the end of the last one where none fits.

    What is returned says that something is missing, and fits into `room`.
    """
    head = f"{speaker}: {_CUT}"
    room -= len(head)
    kept: list[str] = []
    for line in reversed(text.split("\n")):
        if len(line) + 3 > room:
            break
        kept.append(f"\n  {line}")
        room -= len(line) + 3
    if kept:
        return head + "".join(reversed(kept))
    last = text.rpartition("\n")[2]
    return f"{head} {last[-(room - 1) :]}" if room > 1 else ""


def _show_beginning(text: str) -> str:
    # Blank lines stay: the model must be able to quote what it wants to replace.
    shown = _show(text[: 8 * MOST_EXCERPT])
    if len(shown) <= MOST_EXCERPT:
        return shown
    cut = shown[: MOST_EXCERPT - len(_REST)]
    whole_lines = cut.rpartition("\n")[0]
    return (whole_lines or cut) + _REST


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
        return _understand(_read_object(text))
    except (_ReplyError, ProposalError) as error:
        return Unreadable(str(error))


def _read_object(text: str) -> Mapping[str, Any]:
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
        value, end = _decode(text, start.start("object"))
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


def _decode(text: str, start: int) -> tuple[Mapping[str, Any], int]:
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


def _understand(found: Mapping[str, Any]) -> Suggestion | NoUpdate:
    action = found.get("action")
    if action == "none":
        return NoUpdate()
    if not isinstance(action, str) or action not in {"create", "append", "replace"}:
        raise _ReplyError("action must be create, append, replace or none")
    title = one_line(_text(found, "title"))[:_LONGEST_TITLE]
    skill = skill_name(_require(found, "skillName"), title)
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
        old = _require(found, "oldText")
        # An empty one deletes the old text; a missing one says nothing.
        new = _text(found, "newText") if found.get("newText") == "" else _require(found, "newText")
        if old == new:
            raise _ReplyError("oldText and newText are the same")
        return Replace(old_text=old, new_text=new)
    description = one_line(_text(found, "description")) or title
    body = _require(found, "body")
    if action == "create":
        return Create(description=description, body=body)
    return Append(section=_section(_text(found, "section")), body=body, description=description)


def _section(text: str) -> str:
    # Given the heading for its title, as models often do, the title is meant.
    section = one_line(text).lstrip("#").strip() or DEFAULT_SECTION
    if not _SECTION.fullmatch(section):
        raise _ReplyError("section must be the plain title of a heading")
    return section


def _require(found: Mapping[str, Any], key: str) -> str:
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
