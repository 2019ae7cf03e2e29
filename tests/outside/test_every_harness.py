"""Every harness, connected: what reaches its model, what its sessions tell, and the way back."""

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.outside.harnesses import NAMES, OutsideWorld
from tests.outside.model_server import Call, ModelRequest, ModelServer, Reply, Say

World = Callable[[str], OutsideWorld]
# Claude Code, Codex and Gemini CLI have tests of their own for this.
_LATER = ("copilot", "qwen", "opencode", "openclaw")
_ASKED = "Please write the release notes for the merged pull requests of this week."
_FOUND = "cover this request (found by Prowess)"
_PATIENCE_S = 600


def _make(world: World, name: str) -> OutsideWorld:
    home = world(name)
    home.add_skill(
        "release-notes",
        "Write release notes from merged pull requests. Use when the user asks for release notes.",
    )
    home.add_skill("pdf-forms", "Fill in PDF forms. Use when the user wants to fill in a PDF form.")
    home.add_skill("db-migrations", "Write database migrations. Use when a table is changed.")
    # Words are enough here, and take a fraction of the time on a machine that others use too.
    _configure(home, {"skills": {"routing": {"encoder": "none"}}})
    return home


def _configure(home: OutsideWorld, settings: Mapping[str, object]) -> None:
    folder = home.home / ".prowess"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "prowess.json").write_text(json.dumps(settings), encoding="utf-8")


@pytest.mark.parametrize("name", _LATER)
def test_the_hint_for_a_prompt_reaches_the_model_once(
    name: str, world: World, model: ModelServer
) -> None:
    home = _make(world, name)
    home.prowess("connect", name, "--yes", "--no-mcp")

    answered = home.ask(_ASKED)

    assert answered.code == 0, answered
    said = model.first(_ASKED).text
    assert said.count(_FOUND) == 1, said[-3000:]
    assert "release-notes" in said.partition(_FOUND)[2]


def _uses(request: ModelRequest, folder: str) -> list[Call]:
    """Return a call for each way to load a skill that this harness has, by its own names."""
    names = request.tools
    own = next((name for name in names if name.lower() in {"skill", "activate_skill"}), "")
    shell = next(
        (
            name
            for name in names
            if name in {"Bash", "bash", "exec_command", "shell", "run_shell_command", "exec"}
        ),
        "",
    )
    ours = next((name for name in names if re.search(r"prowess.*load_skill$", name)), "")
    key = "name" if own == "activate_skill" or "opencode" in folder else "skill"
    first = Call(own, {key: "release-notes"}) if own else None
    path = f"{folder}/pdf-forms/SKILL.md"
    command = f"cat {path}"
    second = Call(shell, {"command": command, "cmd": command, "description": "Read it"})
    if not shell:
        # One offers no command where nobody can be asked.
        second = Call("read_file", {"file_path": path})
    third = Call(ours, {"name": "db-migrations"}) if ours else None
    return [call for call in (first, second, third) if call]


@pytest.mark.parametrize("name", NAMES)
def test_every_way_to_load_a_skill_is_a_use_and_no_skill_is_missed(
    name: str, world: World, model: ModelServer
) -> None:
    home = _make(world, name)
    home.prowess("connect", name, "--yes")
    folder = str(next(home.project.rglob("pdf-forms")).parent)
    done: list[Call] = []

    def script(request: ModelRequest) -> Reply:
        if not request.tools or _ASKED not in request.text:
            return Say("Fine.")
        if not done:
            done.extend(_uses(request, folder))
        # By what came back: harnesses ask for titles and the like beside the conversation.
        came = len(request.results)
        return done[came] if came < len(done) else Say("Done.")

    model.script = script

    answered = home.ask(_ASKED)
    report = json.loads(home.prowess("sessions", "--harness", name, "--json"))

    assert answered.code == 0, answered
    assert done
    (session,) = report["sessions"]
    used = {row["name"] for row in report["skills"] if row["used"]}
    expected = {"release-notes", "pdf-forms", "db-migrations"}
    assert len(used & expected) == len(done), (used, done, session)
    if "release-notes" in used:
        assert report["missed"] == []


@pytest.mark.parametrize("name", _LATER)
def test_what_somebody_said_for_good_becomes_a_proposal(
    name: str, world: World, model: ModelServer
) -> None:
    home = _make(world, name)
    entry = {"enabled": True, "config": {"autoCapture": True}}
    _configure(home, {"plugins": {"entries": {"skill-workshop": entry}}})
    home.prowess("connect", name, "--yes", "--no-mcp")

    answered = home.ask("From now on, always sort the release notes by the name of the author.")

    assert answered.code == 0, answered
    until = time.monotonic() + _PATIENCE_S
    told = ""
    while "author" not in told and time.monotonic() < until:
        told = home.prowess("workshop", "list", "--json", code=None)
        time.sleep(0.5)
    assert "author" in told
    assert model.turns


def _measure(request: ModelRequest) -> int:
    """Return how long the list of skills is in what a harness sends."""
    text = max((text for _, text in request.messages), key=lambda text: text.count("task-"))
    if "<available_skills>" in text:
        return len(text.partition("<available_skills>")[2].partition("</available_skills>")[0])
    before, _, rest = text.partition("- task-00: ")
    start = max(before.rfind("\n\n"), before.rfind("skills\n")) + 2
    return (
        len(text) - start - len(re.split(r"\n\n|\n###|\n</", f"- task-00: {rest}", maxsplit=1)[1])
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_budget_is_what_the_harness_really_lists_within_a_tenth(
    name: str, world: World, model: ModelServer
) -> None:
    home = world(name)
    for number in range(40):
        details = "with all of the details that belong to it, " * (number % 7)
        home.add_skill(
            f"task-{number:02}", f"Handle task {number}. Use for task {number}, {details}or so."
        )
    # Claude Code does not know our model: it takes the window of one to be so large.
    window = ("--window", "750000") if name == "claude-code" else ()

    assert home.ask("Say hello.").code == 0
    report = home.prowess("budget", "--harness", name, "--json", *window, code=None)

    (said,) = json.loads(report)["harnesses"]
    used = said["used"] * (4 if said["unit"] == "tokens" else 1)
    assert abs(used / _measure(model.first("task-39")) - 1) <= 0.1


def _settings(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file()
        and path.suffix in {".json", ".toml", ".js"}
        and not {".prowess", ".npm", ".cache", "node_modules", ".git"} & set(path.parts)
        and ".prowess-backup-" not in path.name
    }


@pytest.mark.parametrize("name", _LATER)
def test_taking_out_leaves_every_byte_as_it_was(name: str, world: World) -> None:
    home = world(name)
    before = _settings(home.home)

    home.prowess("connect", name, "--yes")
    between = _settings(home.home)
    home.prowess("connect", name, "--yes", "--remove")

    assert between != before
    assert _settings(home.home) == before
