"""Session files on a real disk: which are read, and which never are."""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.integration.sessions_world import SESSION_ID, Machine, Recorder, recorded

from prowess.hooks.harness import Harness
from prowess.host.harness import sessions as session_files
from prowess.host.harness.hook_client import is_in_roots, list_session_roots
from prowess.host.harness.sessions import SessionFolders, lies_in_folders
from prowess.runtime.sessions import SessionFile


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def _read(
    machine: Machine, since_ms: int = 0, harness: Harness | None = None, session: str = ""
) -> list[SessionFile]:
    folders = SessionFolders(str(machine.home), machine.environ)
    return [read() for read in folders.files(since_ms, harness, session)]


def test_sessions_of_every_harness_are_found_newest_first(machine: Machine) -> None:
    claude = machine.claude(recorded("/repo"))
    meta = {"type": "session_meta", "payload": {"id": "0199", "cwd": "/repo"}}
    asked = {"type": "event_msg", "payload": {"type": "user_message", "message": "do it"}}
    codex = machine.write(".codex/sessions/2026/11/14/rollout-x-0199.jsonl", [meta, asked])
    chat = {"sessionId": "g1", "messages": [{"id": "1", "type": "user", "content": "do it"}]}
    gemini = machine.write(".gemini/tmp/repo/chats/session-g1.json", [chat])
    machine.write(".gemini/tmp/repo/logs.json", [chat])
    for place, path in enumerate((claude, codex, gemini)):
        os.utime(path, (1_000 + place, 1_000 + place))

    found = _read(machine)

    assert [one.harness for one in found] == [Harness.GEMINI, Harness.CODEX, Harness.CLAUDE_CODE]
    assert [one.sessions[0].id for one in found] == ["g1", "0199", SESSION_ID]
    assert [one.harness for one in _read(machine, since_ms=1_001_000)] == [
        Harness.GEMINI,
        Harness.CODEX,
    ]
    assert len(_read(machine, harness=Harness.CODEX)) == 1
    assert len(_read(machine, session=SESSION_ID[:4])) == 1
    assert _read(machine, harness=Harness.CURSOR) == []


def _database(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)
    return path


OPENCODE = """
CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, time_created integer,
  time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);
INSERT INTO session VALUES ('ses_a', NULL, '/repo', 1, 2), ('ses_b', 'ses_a', '/repo', 1, 2);
INSERT INTO message VALUES ('m1', 'ses_a', '{"role": "user"}'), ('m2', 'ses_b', '{"role": "user"}');
INSERT INTO part VALUES ('p1', 'm1', 'ses_a', '{"type": "text", "text": "do"}'),
  ('p2', 'm1', 'ses_a', '{"type": "text", "text": "it"}'), ('p3', 'm1', 'ses_a', 'broken'),
  ('p4', 'm2', 'ses_b', '{"type": "text", "text": "by a sub-agent"}');
"""
OPENCLAW = """
CREATE TABLE session_nodes (current_session_id TEXT, entry_json TEXT, updated_at INTEGER);
CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB);
INSERT INTO session_nodes VALUES ('w1', '{"skillsSnapshot": {"prompt": "none"}}', 1);
INSERT INTO transcript_events VALUES
  ('w1', 0, '{"type": "session", "id": "w1", "cwd": "/repo"}', NULL),
  ('w1', 1, '{"type": "message", "message": {"role": "user", "content": "do it"}}', NULL),
  ('w1', 2, NULL, x'00');
"""


def test_sessions_in_folders_of_their_own_and_in_databases_are_found(machine: Machine) -> None:
    line = {"type": "user", "sessionId": "q1", "message": {"parts": [{"text": "do it"}]}}
    machine.write(".qwen/projects/-repo/chats/q1.jsonl", [line])
    events = [
        {"type": "session.start", "data": {"sessionId": "c1"}, "id": "1", "parentId": None},
        {"type": "user.message", "data": {"content": "do it"}, "id": "2", "parentId": "1"},
    ]
    machine.write(".copilot/session-state/c1/events.jsonl", events)
    machine.write(".copilot/session-state/c1/other.jsonl", events)
    _database(machine.home / ".local/share/opencode/opencode.db", OPENCODE)
    _database(machine.home / ".openclaw/agents/main/agent/openclaw-agent.sqlite", OPENCLAW)
    folders = SessionFolders(str(machine.home), machine.environ)

    found = {one.harness: one.sessions for one in _read(machine)}

    assert {harness.value: [one.id for one in held] for harness, held in found.items()} == {
        "qwen": ["q1"],
        "copilot": ["c1"],
        "opencode": ["ses_a"],
        "openclaw": ["w1"],
    }
    assert found[Harness.OPENCODE][0].turns[0].prompt == "do\nit"
    for harness, held in found.items():
        assert folders.find(harness, held[0].id) == held[0]
        assert folders.find(harness, "nobody") is None
    assert [one.id for file in _read(machine, session="c1") for one in file.sessions] == ["c1"]


def test_what_openclaw_packed_is_read_and_what_is_broken_left_out(machine: Machine) -> None:
    path = _database(machine.home / ".openclaw/agents/main/agent/openclaw-agent.sqlite", OPENCLAW)
    event = b'{"type": "message", "message": {"role": "user", "content": "go on"}}'
    # A frame of zstd with one block that holds the bytes as they are.
    block = (len(event) << 3 | 1).to_bytes(3, "little")
    frame = b"\x28\xb5\x2f\xfd\x20" + bytes([len(event)]) + block + event
    with closing(sqlite3.connect(path)) as database, database:
        row = "INSERT INTO transcript_events VALUES ('w1', ?, NULL, ?)"
        database.executemany(row, [(3, frame), (4, frame[:20]), (5, b"no frame")])

    (found,) = _read(machine, harness=Harness.OPENCLAW)

    assert [turn.prompt for turn in found.sessions[0].turns] == ["do it", "go on"]


def test_a_database_that_is_none_says_so_and_is_not_touched(machine: Machine) -> None:
    path = machine.home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database at all, but long enough to be looked at" * 100)
    before = path.read_bytes()

    (found,) = _read(machine, harness=Harness.OPENCODE)

    assert "opencode.db: cannot be read as a database of opencode" in found.problem
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_links_and_files_of_sub_agents_are_left_out(machine: Machine, tmp_path: Path) -> None:
    path = machine.claude(recorded("/repo"))
    outside = tmp_path / "outside.jsonl"
    outside.write_text(json.dumps(Recorder("/secret").lines), encoding="utf-8")
    (path.parent / "linked.jsonl").symlink_to(outside)
    (path.parent / "agent-1.jsonl").write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    side = path.parent / SESSION_ID / "subagents"
    side.mkdir(parents=True)
    (side / "a.jsonl").write_text(path.read_text(encoding="utf-8"), encoding="utf-8")

    assert [one.path for one in _read(machine)] == [str(path)]


def test_a_file_that_cannot_be_read_says_why_and_hides_no_other(machine: Machine) -> None:
    machine.claude(["not json at all"], session_id="broken")
    machine.claude(recorded("/repo"))

    found = _read(machine)

    assert sorted(bool(one.problem) for one in found) == [False, True]
    assert sum(len(one.sessions) for one in found) == 1


def test_a_file_that_goes_while_the_folder_is_looked_at_is_no_trouble(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = machine.claude(recorded("/repo"))
    gone = machine.claude(recorded("/repo"), session_id="gone")
    scan = os.scandir

    @contextmanager
    def scanned(folder: str) -> Iterator[Iterator["os.DirEntry[str]"]]:
        with scan(folder) as entries:
            yield entries
        gone.unlink(missing_ok=True)

    monkeypatch.setattr(os, "scandir", scanned)
    # Kinds of entries are known from the list, so that only the look at the time comes too late.
    found = _read(machine)

    assert [one.path for one in found if not one.problem] == [str(kept)]


def test_a_folder_with_more_entries_than_are_looked_at_is_named(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        machine.claude(recorded("/repo"), session_id=f"s{number}")
    monkeypatch.setattr(session_files, "MOST_ENTRIES", 3)

    first, *others = _read(machine)

    assert "holds more than 3 entries" in first.problem
    assert len(others) == 2


def test_projects_that_are_named_by_no_text_are_passed_over(machine: Machine) -> None:
    chat = {"sessionId": "g1", "messages": [{"id": "1", "type": "user", "content": "do it"}]}
    machine.write(".gemini/tmp/short/chats/session-g1.json", [chat])
    projects = {"/a": ["list"], "/b": {"an": "object"}, "\ud800": None, "/repo": "short"}
    machine.write(".gemini/projects.json", [{"projects": projects}])

    assert _read(machine)[0].sessions[0].cwd == "/repo"


@pytest.mark.parametrize("named", ["note", "short name", "hash"])
def test_a_gemini_chat_is_in_the_project_that_it_was_kept_for(machine: Machine, named: str) -> None:
    digest = hashlib.sha256(b"/repo").hexdigest()
    folder = {"note": "any", "short name": "short", "hash": digest}[named]
    chat = {"sessionId": "g1", "messages": [{"id": "1", "type": "user", "content": "do it"}]}
    machine.write(f".gemini/tmp/{folder}/chats/session-g1.json", [chat])
    if named == "note":
        machine.write(".gemini/tmp/any/.project_root", ["/repo"])
    else:
        machine.write(".gemini/projects.json", [{"projects": {"/repo": "short", "/other": "o"}}])

    assert _read(machine)[0].sessions[0].cwd == "/repo"


def test_roots_follow_the_variables_of_the_harnesses() -> None:
    usual = list_session_roots("/home/me", {})
    moved = list_session_roots(
        "/home/me", {"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "~/x", "COPILOT_HOME": "relative"}
    )

    assert set(usual) == set(Harness)
    assert usual[Harness.CLAUDE_CODE] == ("/home/me/.claude/projects",)
    assert moved[Harness.CLAUDE_CODE] == ("/c/projects",)
    assert moved[Harness.CODEX][0] == "/home/me/x/sessions"
    assert moved[Harness.COPILOT] == usual[Harness.COPILOT]


def test_a_path_is_in_the_roots_only_by_its_real_place(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)
    roots = (str(root),)

    assert is_in_roots(str(root / "a" / "b.jsonl"), roots)
    assert not is_in_roots(str(root), roots)
    assert not is_in_roots(str(root / "link" / "b.jsonl"), roots)
    assert not is_in_roots(str(root / ".." / "outside" / "b.jsonl"), roots)
    assert not is_in_roots(f"{root}-other/b.jsonl", roots)
    assert not is_in_roots("b.jsonl", roots)
    assert not is_in_roots("/a\0b", roots)


def test_a_harness_looks_into_its_own_folders_and_into_shared_ones() -> None:
    assert lies_in_folders("/repo/.claude/skills", "claude-code")
    assert not lies_in_folders("/repo/.agents/skills", "claude-code")
    assert lies_in_folders("/repo/.agents/skills", "codex")
    assert lies_in_folders("/repo/.github/skills", "copilot")
    assert not lies_in_folders("/repo/skills", "gemini")
