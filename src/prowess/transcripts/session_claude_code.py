"""Sessions of Claude Code: its transcripts say what the model was shown, and which skills it used.

A file can hold the lines of several sessions, where one was resumed from another; each has a
branch of its own. What is attached to a line of the branch belongs to it, also where no later line
answers it.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from prowess.transcripts.claude_code import (
    SYNTHETIC,
    Entry,
    Kind,
    Tree,
    blocks_of,
    entries_of,
    message_of,
    text_at,
    user_line,
)
from prowess.transcripts.session_listing import listing, skill_files
from prowess.transcripts.session_model import Session
from prowess.transcripts.session_turns import SessionBuilder, moment_ms
from prowess.transcripts.sessions import words_of
from prowess.transcripts.traces import LeftOut
from prowess.transcripts.turns import NOT_TYPED, Record

HARNESS = "claude-code"

_COMMAND = re.compile(r"<command-name>\s{0,9}/?(?P<name>[^<>\s]{1,200})\s{0,9}</command-name>")
_ARGUMENTS, _END_OF_ARGUMENTS, _MOST_ARGUMENTS = "<command-args>", "</command-args>", 8_000
_TYPED_COMMAND = re.compile(r"/(?P<name>[\w:.-]{1,200})(?:\s{1,9}(?P<said>.{0,8000}))?", re.DOTALL)
_READS = frozenset(("Read", "View", "NotebookRead"))


def read_claude_sessions(
    records: Sequence[Record], *, path: str, skipped: Mapping[str, int]
) -> tuple[Session, ...]:
    """Return each session of a transcript in which somebody typed something."""
    left_out = LeftOut(skipped)
    tree = Tree(tuple(entries_of(records, left_out)))
    attached = _Attached(tree.entries)
    found = (_read_branch(attached.to(branch), path, left_out) for branch in tree.branches())
    return tuple(session for session in found if session is not None)


class _Attached:
    """What is attached to which line; looked up, since a file may hold thousands of sessions."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._places = {id(entry): place for place, entry in enumerate(entries)}
        self._below: defaultdict[str, list[Entry]] = defaultdict(list)
        for entry in entries:
            if entry["type"] == "attachment" and (parent := text_at(entry, "parentUuid")):
                self._below[parent].append(entry)

    def to(self, branch: Sequence[Entry]) -> list[Entry]:
        """Return the lines of a branch and what is attached to them, in the order of the file."""
        named = {text_at(entry, "uuid") for entry in branch}
        more = (entry for name in named for entry in self._below.get(name, ()))
        found = {id(entry): entry for entry in (*branch, *more)}
        return [found[key] for key in sorted(found, key=self._places.__getitem__)]


def _read_branch(branch: Sequence[Entry], path: str, left_out: LeftOut) -> Session | None:
    builder = SessionBuilder(harness=HARNESS, path=path, left_out=left_out)
    for entry in branch:
        builder.about(
            session_id=text_at(entry, "sessionId"),
            cwd=text_at(entry, "cwd"),
            at_ms=moment_ms(entry.get("timestamp")),
        )
        if entry["type"] == "user":
            _take_user(entry, builder)
        elif entry["type"] == "assistant":
            _take_agent(entry, builder)
        elif entry["type"] == "attachment":
            _take_attachment(entry.get("attachment"), builder)
    return builder.session()


def _take_user(entry: Entry, builder: SessionBuilder) -> None:
    at_ms = moment_ms(entry.get("timestamp"))
    said = user_line(entry)
    if said.kind is Kind.TYPED:
        command = _TYPED_COMMAND.fullmatch(said.text)
        if command is None:
            builder.typed(said.text, at_ms)
        else:
            builder.commanded(command["name"], command["said"] or "", at_ms)
    elif said.kind is Kind.TAGS_ALONE:
        raw = words_of(message_of(entry).get("content"), "tool")
        called = _COMMAND.search(raw)
        if called is None:
            builder.left_out[NOT_TYPED] += 1
            return
        builder.commanded(called["name"], _arguments(raw), at_ms)
    elif said.kind is Kind.BY_PROGRAM:
        builder.left_out[NOT_TYPED] += 1


def _arguments(raw: str) -> str:
    """Return what stands behind a command; empty where its end is missing."""
    _, _, behind = raw.partition(_ARGUMENTS)
    said, end, _ = behind.partition(_END_OF_ARGUMENTS)
    return said[:_MOST_ARGUMENTS] if end else ""


def _take_agent(entry: Entry, builder: SessionBuilder) -> None:
    builder.used([text_at(entry, "attributionSkill")])
    message = message_of(entry)
    if message.get("model") == SYNTHETIC or entry.get("isApiErrorMessage") is True:
        return
    content = message.get("content")
    if isinstance(content, str):
        builder.told(content)
    for block in blocks_of(entry):
        if block.get("type") == "text":
            builder.told(text_at(block, "text"))
        elif block.get("type") == "tool_use":
            builder.called()
            _take_call(text_at(block, "name"), block.get("input"), builder)


def _take_call(name: str, given: object, builder: SessionBuilder) -> None:
    if not isinstance(given, dict):
        return
    if name == "Skill":
        # Older versions called the argument `command`.
        builder.used([(text_at(given, "skill") or text_at(given, "command")).lstrip("/")])
    elif name in _READS:
        builder.used(skill_files(text_at(given, "file_path")))


def _take_attachment(attachment: object, builder: SessionBuilder) -> None:
    if not isinstance(attachment, dict):
        return
    kind = attachment.get("type")
    if kind == "skill_listing":
        text = words_of(attachment.get("content"), "tool")
        builder.lists(listing(text), anew=attachment.get("isInitial") is True)
    elif kind == "invoked_skills":
        skills = attachment.get("skills")
        given = skills if isinstance(skills, list) else [attachment]
        builder.used(text_at(one, "name") for one in given if isinstance(one, dict))
    elif kind == "hook_additional_context":
        builder.hinted(skill_files(words_of(attachment.get("content"), "tool")))
