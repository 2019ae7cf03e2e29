"""Traces that are kept: private, without secrets, bounded, and whole whoever writes at once."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from prowess.errors import PathError
from prowess.experience.redaction import HIDDEN, remove_secrets
from prowess.host.store import traces as kept_traces
from prowess.host.store.traces import KeptTraces
from prowess.transcripts.formats import read_records
from prowess.transcripts.traces import Trace, TraceAction, TraceStep, UiTarget, export_trace
from prowess.transcripts.turns import TranscriptRecord

TOKEN = "ghp_" + "aZ3kQ9xW7vB5nM1cR8tY6uI4oP2sD0fGhJkL"


def trace(task: str, *, result: str = "done") -> Trace:
    target = UiTarget(resource_id="com.app:id/search", text="Search", clickable=True)
    steps = (
        TraceStep(
            number=1, action=TraceAction("launch_app", {"packageName": "com.app"}), app="launcher"
        ),
        TraceStep(number=2, action=TraceAction("tap_element", {"elementId": "3"}), target=target),
        TraceStep(
            number=3, action=TraceAction("type", {"text": "größe 開"}), result=result, thought="why"
        ),
    )
    return Trace(task=task, ok=True, steps=steps, session_path="/s/1.json", final_message="Done.")


def kept(tmp_path: Path, workspace: str = "work") -> KeptTraces:
    return KeptTraces(str(tmp_path / workspace), str(tmp_path / "state"))


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "state" / "experience").glob("*/*"))


def age(path: Path, seconds: int) -> None:
    """Let a file be that old, on a scale of its own."""
    os.utime(path, ns=(0, (1_000_000 - seconds) * 1_000_000_000))


def test_a_trace_comes_back_as_it_was(tmp_path: Path) -> None:
    one = trace("find the size")
    memory = kept(tmp_path)

    added, again = memory.add(one), memory.add(one)

    assert (added, again) == (True, False)
    (found,) = memory.all()
    assert export_trace(found) == export_trace(one)
    assert found.id == one.id
    (file,) = files(tmp_path)
    assert file.name == f"{one.id}.json"
    assert memory.problems == ()


def test_a_trace_that_was_read_has_the_same_id_ever_after(tmp_path: Path) -> None:
    document = {**export_trace(trace("log in")), "finalMessage": ""}
    document["steps"] = [
        {"step": 1, "action": {"type": "type", "text": TOKEN, "deep": [{"password": "x y z"}]}},
        {"step": 2, "action": {"type": "finish", "message": f"sent {TOKEN}"}, "result": "\ud800"},
    ]
    (read,) = read_records((TranscriptRecord(document),), path="/s/2.json").traces
    memory = kept(tmp_path)

    memory.add(read)

    (found,) = memory.all()
    assert found.id == remove_secrets(read).id
    assert not memory.add(found)


def test_files_and_folders_are_private(tmp_path: Path) -> None:
    kept(tmp_path).add(trace("a"))

    (file,) = files(tmp_path)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, file.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_secrets_are_hidden_before_anything_is_written(tmp_path: Path) -> None:
    field = UiTarget(resource_id="com.app:id/password")
    steps = (
        TraceStep(number=1, action=TraceAction("tap_element", {}), target=field),
        TraceStep(
            number=2,
            action=TraceAction("type", {"text": "hunter and 2"}),
            result="hunter and 2 typed",
        ),
        TraceStep(
            number=3, action=TraceAction("bash", {"command": f"curl -H {TOKEN}"}), thought=TOKEN
        ),
    )

    kept(tmp_path).add(Trace(task=f"log in with {TOKEN}", ok=True, steps=steps))

    (file,) = files(tmp_path)
    text = file.read_text()
    assert "hunter" not in text
    assert TOKEN not in text
    assert HIDDEN in text


def test_workspaces_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "work")
    kept(tmp_path).add(trace("a"))
    kept(tmp_path, "other").add(trace("b"))

    assert [one.task for one in kept(tmp_path).all()] == ["a"]
    assert [one.task for one in kept(tmp_path, "other").all()] == ["b"]
    assert [one.task for one in kept(tmp_path, "link").all()] == ["a"]


def test_without_any_nothing_is_read_or_made(tmp_path: Path) -> None:
    assert kept(tmp_path).all() == ()
    assert list(tmp_path.iterdir()) == []


def test_foreign_and_damaged_files_are_passed_over_and_left_alone(tmp_path: Path) -> None:
    memory = kept(tmp_path)
    memory.add(trace("a"))
    folder = files(tmp_path)[0].parent
    strange = {
        "0000000000000001.json": b"{", "0000000000000002.json": b"[" * 100_000,
        "0000000000000003.json": b'{"task": ""}', "0000000000000004.json": b"\xff\xfe",
        "0000000000000005.json": b"[]", "notes.md": b"mine", "0000000000000006.JSON": b"{}",
    }  # fmt: skip
    for name, body in strange.items():
        (folder / name).write_bytes(body)
    (folder / "0000000000000007.json").symlink_to(files(tmp_path)[0])
    (folder / "0000000000000008.json").mkdir()

    found = memory.all()

    assert [one.task for one in found] == ["a"]
    assert len(memory.problems) == 9
    assert memory.add(trace("b"))
    assert {name: (folder / name).read_bytes() for name in strange} == strange
    assert (folder / "0000000000000007.json").is_symlink()


def test_what_a_killed_write_left_is_swept(tmp_path: Path) -> None:
    memory = kept(tmp_path)
    memory.add(trace("a"))
    (files(tmp_path)[0].parent / ".prowess-0123456789abcdef.tmp").write_text("half")

    assert len(memory.all()) == 1
    memory.add(trace("b"))

    assert memory.problems == ()
    assert [path.suffix for path in files(tmp_path)] == [".json", ".json"]


def test_the_oldest_of_a_workspace_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_traces, "MOST_TRACES", 3)
    kept(tmp_path, "other").add(trace("other"))
    memory = kept(tmp_path)
    for number in range(3):
        memory.add(trace(f"task {number}"))
        (file,) = [path for path in files(tmp_path) if f"task {number}" in path.read_text()]
        age(file, 100 - number)

    memory.add(trace("task 3"))

    assert [one.task for one in memory.all()] == ["task 1", "task 2", "task 3"]
    assert len(kept(tmp_path, "other").all()) == 1


def test_all_workspaces_together_have_a_bound_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(tmp_path, "other").add(trace("oldest"))
    (file,) = files(tmp_path)
    age(file, 100)
    monkeypatch.setattr(kept_traces, "TRACES_MOST_BYTES", 2 * file.stat().st_size + 10)
    kept(tmp_path).add(trace("middle"))

    assert kept(tmp_path).add(trace("newest"))

    assert kept(tmp_path, "other").all() == ()
    assert sorted(one.task for one in kept(tmp_path).all()) == ["middle", "newest"]


def test_the_newest_stays_even_where_it_is_the_oldest_by_its_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_traces, "MOST_TRACES", 1)
    memory = kept(tmp_path)
    memory.add(trace("a"))
    os.utime(files(tmp_path)[0], ns=(0, 2**62))

    memory.add(trace("b"))

    assert [one.task for one in memory.all()] == ["b"]


def test_a_trace_that_is_too_large_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_traces, "MOST_TRACE_BYTES", 2_000)

    assert not kept(tmp_path).add(trace("a", result="x" * 2_000))

    assert kept(tmp_path).all() == ()


def test_a_state_folder_that_cannot_be_used_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")

    with pytest.raises(PathError, match="cannot be locked"):
        kept(tmp_path).add(trace("a"))


def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    kept(tmp_path).add(trace("a"))
    folder = files(tmp_path)[0].parent
    outside = tmp_path / "outside"
    folder.rename(outside)
    folder.symlink_to(outside)
    before = sorted(outside.iterdir())

    with pytest.raises(PathError, match="link"):
        kept(tmp_path).add(trace("b"))
    with pytest.raises(PathError, match="link"):
        kept(tmp_path).all()

    assert sorted(outside.iterdir()) == before


ADDING = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import test_kept_traces as tests
for number in range(8):
    assert tests.kept(Path(sys.argv[2])).add(tests.trace(f"{sys.argv[3]} {number}"))
"""


def test_two_processes_that_add_at_once_both_win(tmp_path: Path) -> None:
    here = str(Path(__file__).parent)
    children = [
        subprocess.Popen([sys.executable, "-c", ADDING, here, str(tmp_path), name])
        for name in ("one", "two")
    ]

    codes = [child.wait(60) for child in children]

    assert codes == [0, 0]
    assert sorted(one.task for one in kept(tmp_path).all()) == sorted(
        f"{name} {number}" for name in ("one", "two") for number in range(8)
    )


def test_what_is_on_the_disk_is_a_trace_document(tmp_path: Path) -> None:
    kept(tmp_path).add(trace("a"))

    (file,) = files(tmp_path)
    assert json.loads(file.read_text()) == export_trace(trace("a"))
