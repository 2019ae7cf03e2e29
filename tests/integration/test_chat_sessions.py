"""Chats on the disk: private, replaced whole, few, and found again by workspace and agent."""

import os
import stat
from pathlib import Path

import pytest

from prowess.errors import PathError, StoreError
from prowess.host.store import sessions as chat_sessions
from prowess.host.store.sessions import ChatSessions


def _chat(workspace: str = "/w", agent: str = "main") -> dict[str, object]:
    return {"version": 1, "workspaceDir": workspace, "agentId": agent, "turns": [{}]}


def _aged(folder: Path, session: str, seconds: int) -> None:
    os.utime(folder / "chats" / f"{session}.json", (seconds, seconds))


def test_what_is_saved_is_loaded_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    sessions = ChatSessions(str(tmp_path))

    sessions.save("s1", {"words": "half \ud800"})

    assert sessions.load("s1") == {"words": "half \ud800"}
    assert sessions.load("s2") is None
    assert stat.S_IMODE((tmp_path / "chats" / "s1.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "chats").stat().st_mode) == 0o700


def test_the_last_chat_of_a_workspace_and_an_agent_is_found(tmp_path: Path) -> None:
    sessions = ChatSessions(str(tmp_path))
    for age, (name, chat) in enumerate(
        [("a", _chat()), ("b", _chat()), ("c", _chat("/other")), ("d", _chat(agent="ops"))]
    ):
        sessions.save(name, chat)
        _aged(tmp_path, name, 1_000 + age)
    (tmp_path / "chats" / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "chats" / "odd name!.json").write_text("{}", encoding="utf-8")

    found = sessions.latest("/w", "main")

    assert found is not None
    assert found.session_id == "b"
    assert found.turns == 1
    assert sessions.latest("/nowhere", "main") is None


def test_the_oldest_chats_go_when_there_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_sessions, "MOST_CHATS", 3)
    sessions = ChatSessions(str(tmp_path))

    for age in range(5):
        sessions.save(f"s{age}", _chat())
        _aged(tmp_path, f"s{age}", 1_000 + age)

    assert [sessions.load(f"s{age}") is not None for age in range(5)] == [
        False,
        False,
        True,
        True,
        True,
    ]


@pytest.mark.parametrize("text", ["{", "[]", "\xff", "[" * 100_000])
def test_what_is_no_chat_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "chats").mkdir()
    (tmp_path / "chats" / "s1.json").write_bytes(text.encode("latin-1"))

    with pytest.raises(StoreError, match="--new"):
        ChatSessions(str(tmp_path)).load("s1")


@pytest.mark.parametrize("session", ["", "..", "../x", "a/b", "a\\b", ".x", "x" * 65, "NUL", "é"])
def test_an_id_that_could_name_something_else_is_refused(tmp_path: Path, session: str) -> None:
    sessions = ChatSessions(str(tmp_path))

    for use in (sessions.check, sessions.load):
        with pytest.raises(PathError):
            use(session)


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "chats").write_text("no folder", encoding="utf-8")

    with pytest.raises(StoreError, match="cannot be written"):
        ChatSessions(str(tmp_path)).save("s1", _chat())


def test_what_could_not_be_read_again_does_not_take_the_place_of_what_can(tmp_path: Path) -> None:
    sessions = ChatSessions(str(tmp_path))
    sessions.save("s1", _chat())
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]

    for bad in ({"turns": "x" * 33_000_000}, {"turns": deep}):
        with pytest.raises(StoreError, match="kept"):
            sessions.save("s1", bad)

    assert sessions.load("s1") == _chat()
