"""Payloads of coding agents: each is known for what it is, and nothing else is taken for one."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.hooks.answers import LONGEST_PAYLOAD, Incoming, caller_of, pack_call, read, unpack_call
from prowess.hooks.harness import Harness, Moment
from prowess.hooks.samples import SAMPLES, PayloadSample

CLAUDE = {"hook_event_name": "UserPromptSubmit", "session_id": "1", "cwd": "/w", "prompt": "hi"}


def _read(fields: object, **environ: str) -> Incoming | None:
    return read(json.dumps(fields).encode(), environ)


def _name(sample: PayloadSample) -> str:
    return f"{sample.harness.value}-{sample.event}-{sample.moment.value}"


@each_row("sample", SAMPLES)
def test_each_event_of_each_harness_is_recognised(sample: PayloadSample) -> None:
    found = read(sample.payload, sample.environ)

    assert found is not None
    assert (found.harness, found.moment, found.event) == (
        sample.harness,
        sample.moment,
        sample.event,
    )
    assert found.session
    assert found.cwd == "/repo"


def test_every_harness_and_every_moment_has_a_sample() -> None:
    known = {(sample.harness, sample.moment) for sample in SAMPLES}

    missing = {(harness, moment) for harness in Harness for moment in Moment} - known

    # It has no event for the end of a session, and our plugins call us at two moments.
    plugins = {
        (harness, moment)
        for harness in (Harness.OPENCODE, Harness.OPENCLAW)
        for moment in (Moment.SESSION_START, Moment.COMPACTION, Moment.SESSION_END)
    }
    assert missing == {(Harness.VSCODE, Moment.SESSION_END), *plugins}


@each_row("sample", SAMPLES)
def test_the_variables_of_another_harness_do_not_mislead(sample: PayloadSample) -> None:
    around = {"CLAUDE_PROJECT_DIR": "/other", "CLAUDECODE": "1", **sample.environ}

    found = read(sample.payload, around)

    assert found is not None
    assert found.harness is sample.harness


def test_qwen_code_is_no_gemini_though_it_sets_its_variables() -> None:
    fields = {**CLAUDE, "timestamp": "2026-11-16T14:42:59.844Z"}
    qwen = "/home/me/.qwen/projects/-w/chats/1.jsonl"

    by_file = _read({**fields, "transcript_path": qwen}, GEMINI_PROJECT_DIR="/w")
    by_variable = _read(fields, GEMINI_PROJECT_DIR="/w", QWEN_PROJECT_DIR="/w")
    inside = _read(
        {**fields, "hook_event_name": "SessionStart", "transcript_path": "/h/.gemini/tmp/a.json"},
        GEMINI_PROJECT_DIR="/w", QWEN_PROJECT_DIR="/other",
    )  # fmt: skip

    assert [found and found.harness for found in (by_file, by_variable, inside)] == [
        Harness.QWEN,
        Harness.QWEN,
        Harness.GEMINI,
    ]


def test_cursor_running_a_hook_of_claude_code_is_known_by_its_variable() -> None:
    found = _read(CLAUDE, CURSOR_VERSION="3.20.17", CLAUDE_PROJECT_DIR="/w")

    assert found is not None
    assert found.harness is Harness.CURSOR


def test_codex_outside_of_a_turn_is_known_by_where_its_sessions_lie() -> None:
    start = {**CLAUDE, "hook_event_name": "SessionStart", "source": "startup"}

    moved = _read({**start, "transcript_path": "/cx/sessions/a.jsonl"}, CODEX_HOME="/cx")
    usual = _read({**start, "transcript_path": "/home/me/.codex/sessions/a.jsonl"})
    unsaved = _read({**start, "transcript_path": None})
    claude = _read({**start, "transcript_path": "/home/me/.claude/projects/a/b.jsonl"})

    assert [found and found.harness for found in (moved, usual, unsaved, claude)] == [
        Harness.CODEX,
        Harness.CODEX,
        Harness.CODEX,
        Harness.CLAUDE_CODE,
    ]


def test_what_was_typed_never_shows_in_the_repr() -> None:
    found = _read({**CLAUDE, "prompt": "my-secret-words", "last_assistant_message": "his-words"})

    assert found is not None
    assert found.prompt == "my-secret-words"
    assert "words" not in repr(found)


@each_row(
    "raw",
    [
        b"",
        b"   ",
        b"null",
        b"[]",
        b'"UserPromptSubmit"',
        b"{}",
        b"{" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        json.dumps(CLAUDE).encode()[:-1],
        json.dumps(CLAUDE).encode() + b"}",
        json.dumps(CLAUDE).encode("utf-16"),
        b'{"hook_event_name": "UserPromptSubmit", "prompt": "\xff"}',
        b'{"hook_event_name": "Stop", "hook_event_name": "UserPromptSubmit", "prompt": "hi"}',
        b'{"hook_event_name": "UserPromptSubmit", "prompt": "hi", "cwd": NaN}',
        b" " * LONGEST_PAYLOAD + b"{}",
    ],
)
def test_what_is_no_payload_is_nothing(raw: bytes) -> None:
    assert read(raw, {}) is None


@each_row(
    "change",
    [
        {"hook_event_name": "PreToolUse"},
        {"hook_event_name": "Nothing"},
        {"hook_event_name": None},
        {"hook_event_name": ["UserPromptSubmit"]},
        {"hook_event_name": ""},
        {"prompt": None},
        {"prompt": ["hi"]},
        {"prompt": {"text": "hi"}},
        {"prompt": 7},
        {"session_id": 7},
        {"session_id": "x" * 513},
        {"cwd": ["/w"]},
        {"cwd": "/" + "x" * 5_000},
        {"transcript_path": {}},
        {"stop_hook_active": "yes"},
    ],
)
def test_a_field_of_another_type_makes_it_nothing(change: dict[str, object]) -> None:
    assert _read(CLAUDE) is not None
    assert _read({**CLAUDE, **change}) is None


def test_a_byte_order_mark_before_the_payload_is_passed_over() -> None:
    assert read(b"\xef\xbb\xbf" + json.dumps(CLAUDE).encode(), {}) is not None


def test_roots_that_are_no_folders_make_it_nothing() -> None:
    cursor = {"hook_event_name": "sessionStart", "conversation_id": "1"}

    assert _read({**cursor, "workspace_roots": []}) is not None
    assert _read({**cursor, "workspace_roots": [7]}) is None
    assert _read({**cursor, "workspace_roots": "/w"}) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
FIELDS = (
    "hook_event_name", "hookEventName", "prompt", "transformedPrompt", "timestamp", "source",
    "reason", "session_id", "sessionId", "conversation_id", "cwd", "transcript_path",
    "workspace_roots", "stop_hook_active", "turn_id",
)  # fmt: skip
EVENTS = st.sampled_from([sample.event for sample in SAMPLES])


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(FIELDS), json_values | EVENTS))
def test_no_object_whatever_makes_reading_fail(fields: dict[str, object]) -> None:
    found = _read(fields)

    assert found is None or isinstance(found.prompt, str)


@settings(max_examples=50)
@given(st.binary(max_size=200))
def test_no_bytes_whatever_make_reading_fail(raw: bytes) -> None:
    assert read(raw, {}) is None


def test_the_project_of_an_agent_is_what_its_own_harness_calls_so() -> None:
    around = {"CLAUDE_PROJECT_DIR": "/c", "CURSOR_PROJECT_DIR": "/r", "GEMINI_PROJECT_DIR": "/g"}
    cursor = {**CLAUDE, "cursor_version": "3", "workspace_roots": ["/a", 7, "x" * 5_000, "/b"]}
    gemini = {**CLAUDE, "hook_event_name": "BeforeAgent"}
    codex = {**CLAUDE, "turn_id": "t"}

    found = [_read(fields, **around) for fields in (CLAUDE, cursor, gemini, codex)]

    assert [one and one.projects for one in found] == [
        ("/c",),
        ("/a", "/b", "/r", "/c"),
        ("/g", "/c"),
        (),
    ]


def test_a_call_comes_back_from_its_bytes_as_it_was() -> None:
    found = _read({**CLAUDE, "hook_event_name": "Stop"}, CLAUDE_PROJECT_DIR="/w")

    assert found is not None
    assert unpack_call(pack_call(found)) == found


@pytest.mark.parametrize(
    ("fields", "harness"),
    [
        (
            {"transcript_path": "/h/.claude/projects/x/1.jsonl", "timestamp": "2026-11-16"},
            "claude-code",
        ),
        ({"transcript_path": "", "prompt_id": "p", "timestamp": "2026-11-16"}, "claude-code"),
        ({"transcript_path": ""}, "claude-code"),
        ({"transcript_path": "/h/.gemini/tmp/p/chats/s.jsonl"}, "gemini"),
        ({"transcript_path": "/elsewhere/sessions/2026/rollout-1.jsonl"}, "codex"),
        ({"transcript_path": None, "turn_id": "t", "timestamp": "2026-11-16"}, "codex"),
        ({"transcript_path": None}, "codex"),
    ],
)
def test_one_field_more_or_less_does_not_make_a_caller_another(
    fields: dict[str, object], harness: str
) -> None:
    payload = {"hook_event_name": "SessionStart", "source": "startup", "cwd": "/w", **fields}

    found = caller_of(payload, {})

    assert found is not None
    assert found.harness == harness
