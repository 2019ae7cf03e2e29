"""Drafts through the terminal and as a library: which ones are one, what a dry run keeps, what a
promoted draft brings along, and how anything comes back from the trash."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from prowess.host.store.traces import read_trace_file
from prowess.runtime.experience import ExperienceService
from prowess.runtime.experience_drafts import DraftStatus, LessonStatus
from prowess.wiring import open_runtime
from prowess.wiring.workshop import open_experience

from .workshop_world import World

COMMITS = ("git add -A", "git commit -m 'it is done'")


@pytest.fixture
def world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> World:
    made = World(tmp_path, capsys)
    monkeypatch.setenv("PROWESS_HOME", str(made.state))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    made.configure()
    return made


def commands(task: str, *lines: str) -> dict[str, Any]:
    steps = [
        {"step": at, "action": {"type": "Bash", "command": line}, "result": "ok"}
        for at, line in enumerate(lines, start=1)
    ]
    return {"task": task, "ok": True, "finalMessage": "done", "steps": steps}


def conversion(name: str, *more: str) -> dict[str, Any]:
    return commands(
        f"Convert {name}.csv to JSON and count the rows",
        f"head -n 3 data/{name}.csv",
        f"python tools/convert.py data/{name}.csv out/{name}.json",
        f"jq length out/{name}.json",
        *more,
    )


INVOICES = commands("Generate the invoices", "cat a.yaml", "python bill.py a.csv", *COMMITS)
SPAM = commands("Retrain the spam classifier", "cat b.yaml", "python spam.py b.csv", *COMMITS)
ALIKE = commands("Retrain the spam classifier", "cat b.yaml", "python bill.py b.csv", *COMMITS)


def saved(name: str, *traces: dict[str, Any]) -> str:
    """Write a file beside the workspace and return its name from there."""
    Path(name).write_text("\n".join(json.dumps(trace) for trace in traces), encoding="utf-8")
    return name


def rollout(name: str, task: str, file: str) -> str:
    """Write a session of Codex that patches one file."""
    patch = f"*** Begin Patch\n*** Update File: {file}\n@@\n-x\n+y\n*** End Patch"
    shell = {"type": "function_call", "name": "shell"}
    items: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": task}]},
        {**shell, "arguments": json.dumps({"command": ["git", "status"]}), "call_id": "c0"},
        {"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": "c1"},
        {**shell, "arguments": json.dumps({"command": ["pytest", "-q"]}), "call_id": "c2"},
    ]
    items += [
        {"type": "function_call_output", "call_id": at, "output": "ok"} for at in ("c0", "c1", "c2")
    ]
    said = [{"type": "output_text", "text": "It works now."}]
    items.append({"type": "message", "role": "assistant", "content": said})
    lines = [{"type": "session_meta", "payload": {"id": name, "cwd": "/r"}}]
    lines += [{"type": "response_item", "payload": item} for item in items]
    Path(name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return name


def build(world: World, *words: str) -> Any:  # noqa: ANN401
    return world.ask("experience", "build", *words, "--workspace", str(world.work)).json


def listed(world: World) -> list[Any]:
    words = ("experience", "list", "--workspace", str(world.work))
    found: list[Any] = world.ask(*words).json["drafts"]
    return found


@pytest.mark.parametrize("other", [SPAM, ALIKE], ids=["another script", "another task"])
def test_unrelated_work_off_a_device_keeps_its_draft(world: World, other: dict[str, Any]) -> None:
    build(world, saved("a.json", INVOICES))

    (second,) = build(world, saved("b.json", other))["drafts"]

    assert (second["status"], second["replaced"]) == ("written", [])
    assert len(listed(world)) == 2


def test_patches_of_different_files_are_different_drafts(world: World) -> None:
    (first,) = build(world, rollout("rollout-1.jsonl", "Document it", "docs/a.md"))["drafts"]
    (second,) = build(world, rollout("rollout-2.jsonl", "Fix the login", "src/b.py"))["drafts"]

    assert first["behaviorFingerprint"] == second["behaviorFingerprint"]
    assert first["flowFingerprint"] != second["flowFingerprint"]
    assert second["status"] == "written"
    assert len(listed(world)) == 2


@pytest.mark.parametrize("words", [("missing.json", "good.json"), ("good.json", "missing.json")])
def test_a_missing_file_is_named_and_the_others_are_built(
    world: World, words: tuple[str, str]
) -> None:
    saved("good.json", INVOICES)

    said = world.run("experience", "build", *words, "--workspace", str(world.work))
    again = world.run("experience", "build", *words, "--workspace", str(world.work), "--json")

    assert (said.code, again.code) == (1, 1)
    assert "missing.json" in said.err
    assert "written:" in said.out
    assert len(again.json["problems"]) == 1
    assert len(listed(world)) == 1


def test_a_transcript_is_named_so_that_its_draft_leads_to_it(world: World, tmp_path: Path) -> None:
    (draft,) = build(world, rollout("rollout-1.jsonl", "Fix the login", "src/b.py"))["drafts"]

    assert draft["session"] == str(tmp_path / "rollout-1.jsonl")
    assert f"Source session: {tmp_path}/rollout-1.jsonl\n" in Path(draft["path"]).read_text()


def test_what_a_document_says_of_its_session_is_left_as_it_is(world: World) -> None:
    (draft,) = build(world, saved("a.json", {**INVOICES, "sessionPath": "s/1.jsonl"}))["drafts"]

    assert draft["session"] == "s/1.jsonl"


@pytest.mark.parametrize("mode", ["mixed", "strict"])
def test_a_dry_run_says_where_draft_and_replay_would_be(world: World, mode: str) -> None:
    world.write_config({"skills": {"specMode": mode, "routing": {"encoder": "none"}}})
    asked = commands("Ask somebody", "")
    path = saved("a.json", INVOICES, asked)

    dry = build(world, path, "--dry-run")["drafts"]
    said = world.run("experience", "build", path, "--workspace", str(world.work), "--dry-run")
    done = build(world, path)["drafts"]

    def shape(draft: dict[str, Any]) -> tuple[str, str]:
        path, script = draft["path"], draft["script"] or ""
        return path.replace(draft["id"], "ID"), script.replace(draft["id"], "ID")

    assert [shape(draft) for draft in dry] == [shape(draft) for draft in done]
    assert [draft["script"] is None for draft in dry] == [False, True]
    assert "replay: none" in said.out


def kept(world: World) -> dict[str, bytes]:
    """Every file of the workspace and of the state, but for locks and kept reports."""

    def files() -> Iterator[Path]:
        for top in (world.work, world.state):
            for folder, _, names in os.walk(top):
                yield from (Path(folder) / name for name in names)

    return {
        str(path): path.read_bytes()
        for path in files()
        if not path.name.endswith((".lock", "-wal", "-shm", "reports.db"))
    }


@contextmanager
def library(world: World) -> Iterator[ExperienceService]:
    with open_runtime(str(world.work)) as runtime:
        service = open_experience(runtime)
        yield service


def test_a_dry_run_of_the_library_keeps_nothing(world: World) -> None:
    build(world, saved("old.json", *map(conversion, ("sales", "stock", "staff"))))
    more = [conversion(name, f"gzip out/{name}.json") for name in ("a1", "b2", "c3", "d4", "e5")]
    traces = read_trace_file(saved("new.json", *more)).traces
    before = kept(world)

    with library(world) as service:
        built = service.build(traces, dry_run=True)

    assert DraftStatus.WOULD_WRITE in {one.status for one in built.drafts}
    assert LessonStatus.WOULD_PROPOSE in {one.status for one in built.lessons}
    assert kept(world) == before
    # A better lesson takes its place, but not in a dry run.
    assert [one["status"] for one in proposals(world)] == ["pending"]


def test_a_lesson_of_a_dry_run_of_the_library_is_no_proposal(world: World) -> None:
    path = saved("a.json", *map(conversion, ("sales", "stock", "staff")))

    with library(world) as service:
        built = service.build(read_trace_file(path).traces, dry_run=True)

    assert [one.status for one in built.lessons] == [LessonStatus.WOULD_PROPOSE]
    assert proposals(world) == []


def test_a_dry_promotion_of_the_library_keeps_nothing(world: World) -> None:
    (draft,) = build(world, saved("a.json", INVOICES))["drafts"]
    before = kept(world)

    with library(world) as service:
        done = service.promote(draft["id"], dry_run=True)

    assert done.skill == "generate-invoices"
    assert kept(world) == before
    assert proposals(world) == []


def proposals(world: World) -> list[Any]:
    words = ("workshop", "list", "--status", "all", "--workspace", str(world.work))
    found: list[Any] = world.ask(*words).json["proposals"]
    return found


def test_a_promoted_draft_brings_its_replay_and_says_how_it_is_run(world: World) -> None:
    (draft,) = build(world, saved("a.json", INVOICES))["drafts"]

    words = ("promote", draft["id"], "--name", "bills", "--workspace", str(world.work))
    world.ask("experience", *words)

    skill = world.work / "skills/bills"
    page = (skill / "SKILL.md").read_text()
    assert "- Replay script: `bash scripts/replay.sh`" in page
    done = subprocess.run(
        ["bash", "scripts/replay.sh"], cwd=skill, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "python bill.py a.csv" in done.stdout


def test_a_promoted_draft_comes_back_by_the_code_that_was_said(world: World) -> None:
    (draft,) = build(world, saved("a.json", INVOICES))["drafts"]
    at = ("--workspace", str(world.work))
    empty = world.run("experience", "restore", *at)

    said = world.run("experience", "promote", draft["id"], *at)
    (gone,) = world.ask("experience", "restore", *at).json["trash"]
    shown = world.run("experience", "restore", *at)
    world.ask("experience", "restore", gone["trash"], *at)

    assert "No draft is in the trash" in empty.out
    assert f"prowess experience restore {gone['trash']}" in said.out
    assert (gone["path"], gone["script"]) == (draft["path"], True)
    assert gone["trash"] in shown.out
    assert Path(draft["path"]).exists()
    assert Path(draft["script"]).exists()
    assert world.ask("experience", "restore", *at).json == {"trash": []}


def test_what_another_workspace_removed_is_not_listed(world: World, tmp_path: Path) -> None:
    (draft,) = build(world, saved("a.json", INVOICES))["drafts"]
    world.ask("experience", "promote", draft["id"], "--workspace", str(world.work))
    other = tmp_path / "other"
    other.mkdir()

    assert world.ask("experience", "restore", "--workspace", str(other)).json == {"trash": []}


def test_half_a_command_is_never_promoted_and_the_step_is_named(world: World) -> None:
    task = commands("Make the yearly report", "cat a.yaml", "python report.py " + "x " * 1_000)
    built = world.ask("experience", "build", saved("t.jsonl", task), "--workspace", str(world.work))
    draft = built.json["drafts"][0]

    said = world.run("experience", "promote", draft["id"], "--workspace", str(world.work))

    assert said.code != 0
    assert "what step 2 does is cut off" in said.err
    assert "Write all of it into " in said.err


def test_a_command_of_usual_length_is_promoted_whole(world: World) -> None:
    line = "python report.py --year 2026 --out reports/2026.pdf " + "--include regional " * 8
    task = commands("Make the yearly report", "cat a.yaml", line)
    at = ("--workspace", str(world.work))
    draft = world.ask("experience", "build", saved("t.jsonl", task), *at).json["drafts"][0]

    world.ask("experience", "promote", draft["id"], "--name", "report", *at)

    assert line.strip() in (world.work / "skills" / "report" / "SKILL.md").read_text()


def test_a_question_becomes_no_draft(world: World) -> None:
    asked = commands("Why does the nightly build fail?", "cat ci.log", "grep error ci.log")
    file = saved("t.jsonl", asked)

    found = world.ask("experience", "build", file, "--workspace", str(world.work)).json["drafts"]

    assert [(one["status"], one["path"]) for one in found] == [("unchanged", None)]
    assert "question" in found[0]["reason"]
