"""Claude Code's transcripts: a tree of lines, of which the newest branch is what happened.

A person who goes back and types something else leaves the old branch in the file. Calls made side
by side hang below each other, so that an answer can lie beside the branch: answers are looked up in
the whole file, and all lines of one message belong together. The format is its vendor's own and
changes, so whatever is unknown is passed over.
"""

from collections.abc import Sequence

from prowess.transcripts.claude_code import (
    SPOKEN,
    SUB_AGENT,
    SYNTHETIC,
    TWICE,
    Entry,
    Kind,
    Tree,
    blocks_of,
    entries_of,
    message_of,
    text_at,
    user_line,
)
from prowess.transcripts.sessions import (
    CUT_OFF,
    INTERRUPTED,
    SERVICE_FAILED,
    Results,
    Returned,
    TurnReader,
    words_of,
)
from prowess.transcripts.traces import LeftOut
from prowess.transcripts.traces_part import Trace, TraceShape
from prowess.transcripts.turns import NOT_TYPED, Record

__all__ = ["SUB_AGENT", "TWICE", "is_claude_code_line", "read_claude_code"]

# Another agent asks: what follows is not done for the person.
_OTHER_AGENT = ("<teammate-message", "<agent-message", "<channel-message")
# What a program writes where a person chose one of its commands; the work after it is no prompt's.
_COMMANDS = ("<command-name>", "<command-message>")
_CUT_OFF = frozenset(("max_tokens", "refusal", "model_context_window_exceeded"))


def is_claude_code_line(value: object) -> bool:
    """Return whether a value is a line that Claude Code writes."""
    if not isinstance(value, dict):
        return False
    is_spoken = str(value.get("type")) in SPOKEN and isinstance(value.get("message"), dict)
    return is_spoken or ("parentUuid" in value and "uuid" in value)


def read_claude_code(
    records: Sequence[Record], *, path: str, left_out: LeftOut
) -> tuple[Trace, ...]:
    """Return a trace for each prompt on the newest branch of each session."""
    tree = Tree(tuple(entries_of(records, left_out)))
    results = Results()
    for entry in tree.entries:
        for block in blocks_of(entry):
            if "tool_use_id" in block:
                text = words_of(block.get("content"), "tool")
                failed = block.get("is_error") is True
                results.add(block["tool_use_id"], Returned(text=text, failed=failed))
    return tuple(
        trace
        for branch in tree.branches()
        for trace in _read_branch(branch, results, path, left_out)
    )


def _read_branch(
    branch: Sequence[Entry], results: Results, path: str, left_out: LeftOut
) -> tuple[Trace, ...]:
    reader = TurnReader(path=path, shape=TraceShape.CLAUDE_CODE, left_out=left_out)
    for entry in branch:
        if entry["type"] == "user":
            _take_user(entry, reader, left_out)
        elif entry["type"] == "assistant":
            _take_agent(entry, reader, results)
    return reader.traces()


def _take_user(entry: Entry, reader: TurnReader, left_out: LeftOut) -> None:
    said = user_line(entry)
    if said.kind is Kind.INTERRUPTION:
        reader.stopped(INTERRUPTED)
    elif said.kind is Kind.TYPED:
        folder, session = text_at(entry, "cwd"), text_at(entry, "sessionId")
        reader.typed(said.text, session_id=session, folder=folder)
    elif said.kind is not Kind.RESULT:
        left_out[NOT_TYPED] += 1
        raw = words_of(message_of(entry).get("content"), "tool")
        is_others = not raw or any(mark in raw for mark in (*_COMMANDS, *_OTHER_AGENT))
        if said.kind is Kind.TAGS_ALONE and is_others:
            reader.begin_unnamed()


def _take_agent(entry: Entry, reader: TurnReader, results: Results) -> None:
    message = message_of(entry)
    if entry.get("isApiErrorMessage") is True:
        reader.stopped(SERVICE_FAILED)
    elif message.get("model") != SYNTHETIC:
        content = message.get("content")
        if isinstance(content, str):
            reader.told(content)
        for block in blocks_of(entry):
            _take_block(block, reader, results)
        if str(message.get("stop_reason")) in _CUT_OFF:
            reader.stopped(CUT_OFF)


def _take_block(block: Entry, reader: TurnReader, results: Results) -> None:
    kind = block.get("type")
    if kind == "text":
        reader.told(text_at(block, "text"))
    elif kind == "thinking":
        reader.mused(text_at(block, "thinking"))
    elif kind in {"tool_use", "server_tool_use"}:
        reader.called(block.get("name"), block.get("input"), results.take(block.get("id")))
