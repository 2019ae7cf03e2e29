"""Sessions of Copilot CLI, Qwen Code, opencode and OpenClaw, in lines that the programs wrote."""

from collections.abc import Callable, Sequence

from tests.rows import each_row

from prowess.transcripts.chats import (
    read_copilot_sessions,
    read_gemini_sessions,
    read_openclaw_sessions,
    read_opencode_sessions,
    read_qwen_sessions,
)
from prowess.transcripts.events import find_used_skills
from prowess.transcripts.sessions import Session, ShownText
from prowess.transcripts.turns import TranscriptRecord

Line = dict[str, object]
FILE = "/repo/.github/skills/release-notes/SKILL.md"
HINT = f"Skills of this workspace that cover this request (found by Prowess):\n- a, file {FILE}"
LISTED = "<available_skills>\n<skill>\n  <name>pdf-forms</name>\n  <description>Fill.</description>"
LISTED += "\n  <location>project</location>\n</skill>\n</available_skills>"


def _chain(lines: Sequence[Line], own: str, parent: str) -> list[Line]:
    return [
        {own: str(place), parent: str(place - 1) if place else None, **line}
        for place, line in enumerate(lines)
    ]


def _copilot(kind: str, **data: object) -> Line:
    return {"type": kind, "data": data, "timestamp": "2026-11-16T15:04:03.290Z"}


COPILOT = _chain(
    [
        _copilot("session.start", sessionId="c1", context={"cwd": "/repo"}),
        _copilot("hook.start", hookType="userPromptSubmitted", input={"prompt": "write it"}),
        _copilot(
            "user.message",
            content="write the notes",
            transformedContent=f"<current_datetime>x</current_datetime>\n\nwrite the notes\n{HINT}",
        ),
        _copilot("system.message", role="system", content=f"- one\n- two: x\n{LISTED}\n- three"),
        _copilot("tool.execution_start", toolName="skill", arguments={"skill": "release-notes"}),
        _copilot("skill.invoked", name="release-notes", path=FILE),
        _copilot("user.message", content="<skill-context>", source="skill-invoked"),
        _copilot("assistant.message", content="Done."),
        _copilot("user.message", content="No, that's wrong: use bullet points."),
    ],
    "id",
    "parentId",
)


def _qwen(kind: str, *parts: Line) -> Line:
    role = "user" if kind in {"user", "tool_result"} else "model"
    return {
        "type": kind, "sessionId": "q1", "cwd": "/repo", "timestamp": "2026-11-16T14:42:59.953Z",
        "message": {"role": role, "parts": list(parts)},
    }  # fmt: skip


_ADDED = f"<qwen:user-prompt-submit-context>\n{HINT}\n</qwen:user-prompt-submit-context>"
QWEN = _chain(
    [
        _qwen("user", {"text": "write the notes"}, {"text": _ADDED}),
        {"type": "system", "subtype": "ui_telemetry"},
        _qwen("assistant", {"functionCall": {"name": "skill", "args": {"skill": "release-notes"}}}),
        _qwen("tool_result", {"functionResponse": {"name": "skill", "response": {"output": "x"}}}),
        _qwen("assistant", {"text": "hm", "thought": True}, {"text": "Done."}),
        _qwen("user", {"text": "No, that's wrong: use bullet points."}),
    ],
    "uuid",
    "parentUuid",
)


def _claw(role: str, content: object) -> Line:
    message = {"role": role, "content": content}
    return {"type": "message", "message": message, "timestamp": "2026-11-16T14:41:16.615Z"}


OPENCLAW: list[Line] = [
    {"type": "skills", "prompt": LISTED},
    {"type": "session", "id": "w1", "cwd": "/repo", "timestamp": "2026-11-16T14:41:14.023Z"},
    *_chain(
        [
            _claw("user", "[Mon 2026-11-16 14:40 UTC] write the notes"),
            _claw("assistant", [{"type": "toolCall", "name": "read", "arguments": {"path": FILE}}]),
            _claw("toolResult", [{"type": "text", "text": "---\nname: release-notes\n---"}]),
            _claw("user", [{"type": "text", "text": "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nx"}]),
            _claw("assistant", [{"type": "text", "text": "Done."}]),
            _claw("user", "No, that's wrong: use bullet points."),
        ],
        "id",
        "parentId",
    ),
]
OPENCODE: list[Line] = [
    {"id": "o1", "directory": "/repo", "time_created": 1_794_839_936_661},
    {
        "role": "user",
        "time": {"created": 1_794_839_937_515},
        "parts": [
            {"type": "text", "text": '"write the notes"'},
            {"type": "text", "text": HINT, "synthetic": True},
        ],
    },
    {
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "tool", "tool": "skill", "state": {"input": {"name": "release-notes"}}},
            {"type": "text", "text": "Done."},
        ],
    },
    {"role": "user", "parts": [{"type": "text", "text": "No, that's wrong: use bullet points."}]},
]
Reader = Callable[..., tuple[Session, ...]]
ALL: list[tuple[Reader, list[Line]]] = [
    (read_copilot_sessions, COPILOT),
    (read_qwen_sessions, QWEN),
    (read_openclaw_sessions, OPENCLAW),
    (read_opencode_sessions, OPENCODE),
]


def _session(reader: Reader, lines: Sequence[object]) -> Session:
    (found,) = reader([TranscriptRecord(line) for line in lines], path="/a", skipped={})
    return found


@each_row("case", ALL)
def test_what_a_person_typed_is_told_from_what_programs_added(
    case: tuple[Reader, list[Line]],
) -> None:
    found = _session(*case)

    assert found.cwd == "/repo"
    assert found.started_ms > 1_794_000_000_000
    assert [turn.prompt for turn in found.turns] == [
        "write the notes",
        "No, that's wrong: use bullet points.",
    ]
    assert found.turns[0].corrected
    assert found.turns[0].used == ("release-notes",)
    assert found.turns[0].answer == "Done."


def test_what_a_hook_named_is_known_where_the_log_has_it() -> None:
    hinted = [_session(*case).turns[0].hinted for case in ALL]

    assert hinted == [("release-notes",), ("release-notes",), (), ("release-notes",)]


def test_what_the_model_was_shown_is_known_where_the_log_has_it() -> None:
    shown = [_session(*case).turns[0].listed for case in ALL]

    assert shown == [("pdf-forms",), None, ("pdf-forms",), None]


def test_a_skill_that_a_person_called_is_used_though_its_text_stands_in_the_log() -> None:
    text = "Base directory for this skill: /repo/.qwen/skills/notes\nUse pdf-forms.\n"
    called = _qwen("user", {"text": f"{text}<skill-args>for May</skill-args>"}, {"text": _ADDED})

    (turn,) = _session(read_qwen_sessions, _chain([called], "uuid", "parentUuid")).turns

    assert (turn.prompt, turn.used) == ("/notes for May", ("notes",))


def test_a_branch_that_was_left_does_not_count() -> None:
    left = {**QWEN[0], "uuid": "x", "parentUuid": "0"}

    found = _session(read_qwen_sessions, [*QWEN[:2], left, *QWEN[2:]])

    assert len(found.turns) == 2


@each_row("case", ALL)
def test_lines_that_nobody_writes_stop_nothing(case: tuple[Reader, list[Line]]) -> None:
    reader, lines = case
    odd: list[object] = [
        None,
        7,
        [],
        {"type": "user"},
        {"data": 1, "type": "user.message"},
        {"role": "user"},
    ]

    found = _session(reader, [*odd, *lines])

    assert found.turns[-1].prompt == "No, that's wrong: use bullet points."


@each_row(
    "call",
    [
        ("Skill", {"skill": "plug:a-b"}, "plug:a-b"),
        ("Skill", {"command": "/a-b"}, "a-b"),
        ("skill", {"name": "a-b"}, "a-b"),
        ("activate_skill", {"name": "a-b"}, "a-b"),
        ("mcp__prowess__load_skill", {"name": "a-b"}, "a-b"),
        ("prowess_load_skill", {"name": "a-b"}, "a-b"),
        ("prowess-read_skill_file", {"name": "a-b", "path": "x.md"}, "a-b"),
        ("tool_call", {"name": "mcp__prowess__load_skill", "arguments": {"name": "a-b"}}, "a-b"),
        ("tool_call", {"id": "prowess__load_skill", "args": {"name": "a-b"}}, "a-b"),
        ("Grep", {"pattern": "a-b", "path": "skills"}, ""),
        ("Bash", None, ""),
        (None, {"skill": 7}, ""),
    ],
)
def test_a_tool_that_loads_a_skill_names_it(call: tuple[object, object, str]) -> None:
    name, fields, loaded = call

    assert find_used_skills(name, fields).loaded == ((loaded,) if loaded else ())


@each_row(
    "call",
    [
        ("Read", {"file_path": "/r/.claude/skills/a-b/SKILL.md"}, ("a-b",)),
        ("read_many_files", {"paths": ["x.md", "skills/a-b/SKILL.md"]}, ("a-b",)),
        ("shell", {"command": ["bash", "-lc", "cat 'skills/a/SKILL.md' b/SKILL.md"]}, ("a", "b")),
        ("run", {"command": "type C:\\r\\skills\\a-b\\SKILL.md"}, ("a-b",)),
        ("Write", {"file_path": "/r/.claude/skills/a-b/SKILL.md", "content": "x"}, ()),
        ("create", {"path": "/r/skills/a-b/SKILL.md", "file_text": "x"}, ()),
        ("Bash", {"command": "find . -name SKILL.md"}, ()),
    ],
)
def test_any_other_call_may_read_the_files_that_it_names(
    call: tuple[object, object, tuple[str, ...]],
) -> None:
    name, fields, named = call

    assert find_used_skills(name, fields).named == named


_READ: Line = {"path": FILE}
_WORDS = "# Notes\nWrite."
_ANSWERED: list[tuple[Reader, list[Line]]] = [
    (
        read_copilot_sessions,
        _chain(
            [
                _copilot("user.message", content="go on"),
                _copilot("tool.execution_start", toolCallId="7", toolName="view", arguments=_READ),
                _copilot(
                    "tool.execution_complete",
                    toolCallId="7",
                    success=True,
                    result={"content": _WORDS},
                ),
            ],
            "id",
            "parentId",
        ),
    ),
    (
        read_qwen_sessions,
        _chain(
            [
                _qwen("user", {"text": "go on"}),
                _qwen("assistant", {"functionCall": {"id": "7", "name": "read", "args": _READ}}),
                _qwen(
                    "tool_result", {"functionResponse": {"id": "7", "response": {"output": _WORDS}}}
                ),
            ],
            "uuid",
            "parentUuid",
        ),
    ),
    (
        read_openclaw_sessions,
        _chain(
            [
                _claw("user", "go on"),
                _claw(
                    "assistant",
                    [{"type": "toolCall", "id": "7", "name": "read", "arguments": _READ}],
                ),
                {
                    "type": "message",
                    "message": {
                        "role": "toolResult",
                        "toolCallId": "7",
                        "content": [{"type": "text", "text": _WORDS}],
                    },
                },
            ],
            "id",
            "parentId",
        ),
    ),
    (
        read_opencode_sessions,
        [
            {"role": "user", "parts": [{"type": "text", "text": "go on"}]},
            {
                "role": "assistant",
                "parts": [
                    {
                        "type": "tool",
                        "tool": "read",
                        "state": {"status": "completed", "input": _READ, "output": _WORDS},
                    }
                ],
            },
        ],
    ),
    (
        read_gemini_sessions,
        [
            {"type": "user", "content": "go on"},
            {
                "type": "gemini",
                "toolCalls": [
                    {
                        "name": "read_file",
                        "args": _READ,
                        "result": [{"functionResponse": {"response": {"output": _WORDS}}}],
                    }
                ],
            },
        ],
    ),
]


@each_row("case", _ANSWERED)
def test_what_a_call_showed_is_kept_with_the_files_that_it_named(
    case: tuple[Reader, list[Line]],
) -> None:
    (turn,) = _session(*case).turns

    assert turn.used == ()
    assert turn.shown == (ShownText(_WORDS, ("release-notes",)),)


def test_a_tool_that_failed_to_load_a_skill_did_not_use_it() -> None:
    lines: list[Line] = [
        {"role": "user", "parts": [{"type": "text", "text": "go on"}]},
        {
            "role": "assistant",
            "parts": [
                {
                    "type": "tool",
                    "tool": "skill",
                    "state": {"status": "error", "input": {"name": "a"}},
                }
            ],
        },
    ]

    assert _session(read_opencode_sessions, lines).turns[0].used == ()
