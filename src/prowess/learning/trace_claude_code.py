"""Claude Code's transcripts: a tree of lines, of which the newest branch is what happened.

A person who goes back and types something else leaves the old branch in the file. Calls made side
by side hang below each other, so that an answer can lie beside the branch: answers are looked up in
the whole file, and all lines of one message belong together. The format is its vendor's own and
changes, so whatever is unknown is passed over.
"""

from collections.abc import Iterator, Mapping, Sequence

from prowess.learning.trace_parts import LeftOut
from prowess.learning.trace_turns import (
    CUT_OFF,
    INTERRUPTED,
    SERVICE_FAILED,
    Results,
    Returned,
    TurnReader,
    words_of,
)
from prowess.learning.traces import Trace, TraceShape
from prowess.learning.transcripts import NO_MESSAGE, NOT_TYPED, Record

Entry = Mapping[str, object]

SUB_AGENT, TWICE = "work of a sub-agent", "a line that is written twice"

_SPOKEN = frozenset(("user", "assistant"))
_LINKED = frozenset(("user", "assistant", "system", "attachment"))
_NOT_TYPED_MARKS = ("isMeta", "isCompactSummary")
_INTERRUPTION = "[Request interrupted by user"
_SUMMARY = "This session is being continued from a previous conversation"
# What a program writes where a person chose one of its commands; the work after it is no prompt's.
_COMMANDS = ("<command-name>", "<command-message>")
_CUT_OFF = frozenset(("max_tokens", "refusal", "model_context_window_exceeded"))
# The program's own filler, which no model said.
_SYNTHETIC = "<synthetic>"


def is_claude_code_line(value: object) -> bool:
    """Return whether a value is a line that Claude Code writes."""
    if not isinstance(value, Mapping):
        return False
    is_spoken = str(value.get("type")) in _SPOKEN and isinstance(value.get("message"), Mapping)
    return is_spoken or ("parentUuid" in value and "uuid" in value)


def read_claude_code(
    records: Sequence[Record], *, path: str, left_out: LeftOut
) -> tuple[Trace, ...]:
    """Return a trace for each prompt on the newest branch of each session."""
    tree = _Tree(tuple(_entries(records, left_out)))
    results = Results()
    for entry in tree.entries:
        for block in _blocks(entry):
            if "tool_use_id" in block:
                text = words_of(block.get("content"), "tool")
                failed = block.get("is_error") is True
                results.add(block["tool_use_id"], Returned(text=text, failed=failed))
    return tuple(
        trace
        for branch in tree.branches()
        for trace in _read_branch(branch, results, path, left_out)
    )


def _entries(records: Sequence[Record], left_out: LeftOut) -> Iterator[Entry]:
    seen: set[str] = set()
    for record in records:
        value = record.value
        if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
            left_out[NO_MESSAGE] += 1
        elif value.get("isSidechain") is True:
            left_out[SUB_AGENT] += 1
        elif value["type"] in _SPOKEN and not isinstance(value.get("message"), Mapping):
            left_out[NO_MESSAGE] += 1
        elif _text(value, "uuid") in seen:
            left_out[TWICE] += 1
        elif value["type"] in _LINKED:
            seen |= {_text(value, "uuid")} - {""}
            yield value


class _Tree:
    """The lines of a file, and which line each one answers."""

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.entries = entries
        self._by_id = {_text(entry, "uuid"): place for place, entry in enumerate(entries)}
        self._lines_of: dict[str, list[int]] = {}
        self._before: list[int | None] = []
        # By session, the last line and the last one that somebody spoke.
        last: dict[str, int] = {}
        self._leaves: dict[str, int] = {}
        for place, entry in enumerate(entries):
            session = _text(entry, "sessionId")
            self._before.append(last.get(session))
            last[session] = place
            if entry["type"] in _SPOKEN:
                self._leaves[session] = place
                self._lines_of.setdefault(_message_id(entry), []).append(place)

    def branches(self) -> Iterator[list[Entry]]:
        """Yield the newest branch of each session, oldest session first."""
        seen: set[int] = set()
        found = [self._branch(leaf, seen) for leaf in sorted(self._leaves.values(), reverse=True)]
        for branch in sorted(found):
            yield [self.entries[place] for place in branch]

    def _branch(self, leaf: int, seen: set[int]) -> list[int]:
        own: set[int] = set()
        place: int | None = leaf
        # A file that somebody made can lead in a circle.
        while place is not None and place not in seen:
            seen.add(place)
            own.add(place)
            place = self._parent(place)
        messages = {_message_id(self.entries[place]) for place in own} - {""}
        whole = {line for message in messages for line in self._lines_of.get(message, ())}
        seen |= whole
        return sorted(own | whole)

    def _parent(self, place: int) -> int | None:
        entry = self.entries[place]
        parent = entry.get("parentUuid")
        if parent is None:
            parent = entry.get("logicalParentUuid")
        if parent is None and "parentUuid" in entry:
            return None
        if isinstance(parent, str) and parent and parent in self._by_id:
            return self._by_id[parent]
        # The line that it answers is lost, so the one before it is the best guess.
        return self._before[place]


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
    content = _message(entry).get("content")
    text = words_of(content, "user").strip()
    if text.startswith(_INTERRUPTION):
        reader.stopped(INTERRUPTED)
    elif "toolUseResult" in entry or any("tool_use_id" in block for block in _blocks(entry)):
        return
    elif any(entry.get(mark) is True for mark in _NOT_TYPED_MARKS) or text.startswith(_SUMMARY):
        left_out[NOT_TYPED] += 1
    elif text:
        folder, session = _text(entry, "cwd"), _text(entry, "sessionId")
        reader.typed(text, session_id=session, folder=folder)
    else:
        left_out[NOT_TYPED] += 1
        raw = words_of(content, "tool")
        if not raw or any(mark in raw for mark in _COMMANDS):
            reader.begin_unnamed()


def _take_agent(entry: Entry, reader: TurnReader, results: Results) -> None:
    message = _message(entry)
    if entry.get("isApiErrorMessage") is True:
        reader.stopped(SERVICE_FAILED)
    elif message.get("model") != _SYNTHETIC:
        content = message.get("content")
        if isinstance(content, str):
            reader.told(content)
        for block in _blocks(entry):
            _take_block(block, reader, results)
        if str(message.get("stop_reason")) in _CUT_OFF:
            reader.stopped(CUT_OFF)


def _take_block(block: Entry, reader: TurnReader, results: Results) -> None:
    kind = block.get("type")
    if kind == "text":
        reader.told(_text(block, "text"))
    elif kind == "thinking":
        reader.mused(_text(block, "thinking"))
    elif kind in {"tool_use", "server_tool_use"}:
        reader.called(block.get("name"), block.get("input"), results.take(block.get("id")))


def _message(entry: Entry) -> Entry:
    message = entry.get("message")
    return message if isinstance(message, Mapping) else {}


def _message_id(entry: Entry) -> str:
    return _text(_message(entry), "id") if entry["type"] == "assistant" else ""


def _blocks(entry: Entry) -> list[Entry]:
    content = _message(entry).get("content")
    listed = content if isinstance(content, list | tuple) else ()
    return [block for block in listed if isinstance(block, Mapping)]


def _text(entry: Entry, name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""
