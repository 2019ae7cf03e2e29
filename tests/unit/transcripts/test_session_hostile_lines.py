"""Lines that nobody's harness writes: none of them stops a reader, or keeps it for long."""

import copy
from collections.abc import Callable, Iterator

from tests.integration.sessions_world import PROMPT, Line, Recorder, recorded
from tests.rows import each_row

from prowess.transcripts.chats import read_gemini_sessions
from prowess.transcripts.claude_code import read_claude_sessions
from prowess.transcripts.codex import read_codex_sessions
from prowess.transcripts.events import find_skill_files, read_listing
from prowess.transcripts.sessions import Session
from prowess.transcripts.turns import TranscriptRecord

Reader = Callable[..., tuple[Session, ...]]
STRANGE: tuple[object, ...] = (None, [["x"]], {"a": {}}, 10**30, "\ud800")
# Long enough that a search for each missing end would take minutes.
MANY = 25_000
CODEX: list[Line] = [
    {"type": "session_meta", "timestamp": "x", "payload": {"id": "c1", "cwd": "/w", "source": {}}},
    {"type": "event_msg", "payload": {"type": "user_message", "message": PROMPT}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": []}},
    {"type": "response_item", "payload": {"type": "function_call", "arguments": "{}"}},
    {"type": "event_msg", "payload": {"type": "agent_message", "message": "done"}},
    {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}},
]
GEMINI: list[Line] = [
    {
        "sessionId": "g1",
        "startTime": "x",
        "messages": [
            {"id": "1", "type": "user", "content": PROMPT, "timestamp": "x"},
            {
                "id": "2",
                "type": "gemini",
                "content": [{"text": "done"}],
                "toolCalls": [
                    {"name": "activate_skill", "args": {"name": "pdf-forms"}},
                    {"name": "read_file", "args": {"path": "pdf-forms/SKILL.md"}},
                ],
            },
        ],
    },
    {"$rewindTo": "2"},
    {"$set": {"kind": "main", "messages": []}},
]


def _records(lines: list[Line]) -> list[TranscriptRecord]:
    return [TranscriptRecord(line, number) for number, line in enumerate(lines, 1)]


def _places(value: object, place: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    if isinstance(value, dict | list):
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield from _places(value[key], (*place, key))
    if place:
        yield place


def _with(lines: list[Line], place: tuple[object, ...], strange: object) -> list[Line]:
    changed = copy.deepcopy(lines)
    # Any JSON.
    inner: object = changed
    for key in place[:-1]:
        # The place was found in a copy of the same.
        inner = inner[key]  # type: ignore[index]
    inner[place[-1]] = strange  # type: ignore[index]
    return changed


@each_row("strange", STRANGE)
@each_row(
    ("lines", "read"),
    [
        (recorded("/work")[:6], read_claude_sessions),
        (CODEX, read_codex_sessions),
        (GEMINI, read_gemini_sessions),
    ],
)
def test_another_value_in_any_place_stops_no_reader(
    lines: list[Line], read: Reader, strange: object
) -> None:
    for place in _places(lines):
        found = read(_records(_with(lines, place, strange)), path="a.jsonl", skipped={})

        assert isinstance(found, tuple)


def test_elements_that_do_not_end_list_nothing_and_are_searched_once() -> None:
    assert read_listing("<skill><name>" * MANY) == {}
    assert find_skill_files("a" * MANY * 10) == ()
    listed = "<skill><name>alpha</name><description>Does it.</description></skill>"
    assert read_listing("<skill>" * MANY + listed) == {"alpha": "Does it."}


def test_the_words_of_hooks_are_taken_out_of_a_prompt_also_where_they_do_not_end() -> None:
    text = f"<hook_context>pdf-forms/SKILL.md</hook_context>{PROMPT}" + "<hook_context>" * MANY
    line: Line = {"sessionId": "g", "messages": [{"id": "1", "type": "user", "content": text}]}

    (session,) = read_gemini_sessions(_records([line]), path="a.json", skipped={})

    assert [turn.prompt for turn in session.turns] == [PROMPT]
    assert session.turns[0].hinted == ("pdf-forms",)


def test_arguments_of_a_command_without_an_end_are_none() -> None:
    recorder = Recorder("/work")
    recorder.typed("<command-name>/deploy</command-name>" + "<command-args>" * MANY)
    recorder.typed("<command-name>/deploy</command-name><command-args>to prod</command-args>")

    (session,) = read_claude_sessions(_records(recorder.lines), path="a.jsonl", skipped={})

    assert [turn.prompt for turn in session.turns] == ["/deploy", "/deploy to prod"]


def test_a_file_of_thousands_of_sessions_is_read_in_one_go() -> None:
    lines: list[Line] = []
    for number in range(3_000):
        recorder = Recorder("/work", session_id=f"s{number}")
        recorder.typed(PROMPT, uuid=f"u{number}")
        recorder.attached("skill_listing", content=f"- skill-{number}")
        recorder.lines[-1] |= {"uuid": f"a{number}", "parentUuid": f"u{number}"}
        lines += recorder.lines

    found = read_claude_sessions(_records(lines), path="a.jsonl", skipped={})

    assert len(found) == 3_000
    assert all(one.turns[0].listed == (f"skill-{one.id[1:]}",) for one in found)
