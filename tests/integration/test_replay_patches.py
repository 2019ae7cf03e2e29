"""Patches in a replay, and what a person is shown of a step that has no command here."""

import json

import pytest

from prowess.transcripts.traces import Json, TraceStep

from .replay_world import World, step, world

__all__ = ["world"]

BEGIN, END = "*** Begin Patch", "*** End Patch"
OLD = "one = 1\n\n\ndef two():\n    return 2\n"
UPDATE = (
    "*** Update File: app.py", "@@", "-one = 1", "+one = 11", " ",
    "@@ def two():", "-    return 2", "+    return '$HOME' + \"it's\"",
)  # fmt: skip
ADD = ("*** Add File: docs/new.md", "+# New", "+it's `here`")
NEW = "one = 11\n\n\ndef two():\n    return '$HOME' + \"it's\"\n"


def patching(*lines: str) -> str:
    return "\n".join((BEGIN, *lines, END))


def ways(text: str) -> list[TraceStep]:
    return [
        step(1, "apply_patch", input=text),
        step(1, "shell", command=["apply_patch", text]),
        step(1, "exec_command", cmd=f"apply_patch <<'EOF'\n{text}\nEOF"),
    ]


@pytest.mark.parametrize("way", [0, 1, 2])
def test_a_patch_that_adds_and_updates_is_done_again(world: World, way: int) -> None:
    (world.work / "app.py").write_text(OLD)
    script = world.script(ways(patching(*UPDATE, *ADD))[way])

    dry = world.run(script)
    assert (world.work / "app.py").read_text() == OLD
    done = world.run(script, "--execute")

    assert (done.returncode, done.stderr) == (0, "")
    assert (world.work / "app.py").read_text() == NEW
    assert (world.work / "docs/new.md").read_text() == "# New\nit's `here`\n"
    assert "edits app.py" in dry.stdout
    assert "docs/new.md" in dry.stdout


def test_a_patch_of_another_file_changes_nothing(world: World) -> None:
    (world.work / "app.py").write_text("one = 1\none = 1\n")
    script = world.script(step(1, "apply_patch", input=patching(*UPDATE)))

    done = world.run(script, "--execute")

    assert done.returncode == 1
    assert (world.work / "app.py").read_text() == "one = 1\none = 1\n"


def test_a_patch_works_in_the_folder_that_it_was_run_in(world: World) -> None:
    script = world.script(
        step(1, "shell", command=["apply_patch", patching(*ADD)], workdir=f"{world.work}/sub")
    )

    world.run(script, "--execute")

    assert (world.work / "sub/docs/new.md").is_file()


@pytest.mark.parametrize(
    "lines",
    [
        ("*** Delete File: app.py",),
        (*ADD, "*** Delete File: app.py"),
        ("*** Update File: app.py", "*** Move to: b.py", "@@", "-one = 1", "+one = 2"),
        ("*** Update File: app.py", "@@", "+at_the_end = 1"),
        ("*** Update File: app.py", "a line that means nothing"),
    ],
)
def test_any_other_patch_is_shown_to_a_person_and_not_done(
    world: World, lines: tuple[str, ...]
) -> None:
    (world.work / "app.py").write_text(OLD)
    script = world.script(
        step(1, "apply_patch", input=patching(*lines)), step(2, "Bash", command="echo after")
    )

    dry = world.run(script)
    done = world.run(script, "--execute")

    assert "by hand: apply this patch" in dry.stdout
    assert all(f"| {line}" in dry.stdout for line in lines)
    assert done.returncode == 6
    assert [path.name for path in world.work.iterdir()] == ["app.py"]
    assert (world.work / "app.py").read_text() == OLD


def test_settings_that_a_patch_changes_are_confirmed(world: World) -> None:
    lines = ("*** Add File: .git/hooks/pre-commit", "+#!/bin/sh")
    script = world.script(step(1, "apply_patch", input=patching(*lines)))

    assert world.run(script, "--execute").returncode == 3


def test_all_that_a_tool_was_asked_to_do_is_shown(world: World) -> None:
    fields: dict[str, Json] = {
        "sql": "select 1 -- '$(touch canary)' `x`",
        "limit": 5,
        "nested": {"rows": ["a", 2]},
    }
    action = step(1, "mcp__db__query", **fields)

    done = world.run(world.script(action, step(2, "Bash", command="echo after")))

    assert "by hand: mcp__db__query has no command" in done.stdout
    shown = [line.removeprefix("    | ") for line in done.stdout.splitlines() if "    | " in line]
    assert json.loads("".join(shown[: shown.index("echo after")])) == fields
    assert not list(world.root.rglob("canary"))


def test_what_is_shown_of_a_tool_has_bounds_and_no_secrets(world: World) -> None:
    fields: dict[str, Json] = {"text": "x" * 60_000, "password": "hunter2-geheim", "last": "end"}
    action = step(1, "mcp__db__login", **fields)
    many = step(2, "mcp__db__load", **{f"field {number}": "y" * 500 for number in range(60)})

    script = world.script(action, many, step(3, "Bash", command="echo after"))

    text = script.read_text()
    assert "hunter2" not in text
    assert '"last": "end"' in world.run(script).stdout
    assert len(text) < 30_000
