"""Every harness, connected: what reaches its model, and what its sessions tell."""

import json
import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.outside import harnesses
from tests.outside.harnesses import NAMES, CannotBeHadError, OutsideWorld
from tests.outside.model_server import Call, ModelRequest, ModelServer, Reply, Say

World = Callable[[str], OutsideWorld]
_ASKED = "Please write the release notes for the merged pull requests of this week."
_WISH = "From now on, always sort the release notes by the name of the author."
_FOUND = "cover this request (found by Prowess)"
_PATIENCE_S = 600


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_npm_asks_the_registry_as_we_tell_it_to(
    tmp_path: Path, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A setting that it does not take would skip every test here. This registry has nothing.
    monkeypatch.setenv("npm_config_registry", model.address)
    monkeypatch.setattr(harnesses, "CACHE", tmp_path)

    with pytest.raises(CannotBeHadError, match="No matching version"):
        harnesses.install("node")


def _make(world: World, name: str) -> OutsideWorld:
    home = world(name)
    home.add_skill(
        "release-notes",
        "Write release notes from merged pull requests. Use when the user asks for release notes.",
    )
    home.add_skill("pdf-forms", "Fill in PDF forms. Use when the user wants to fill in a PDF form.")
    home.add_skill("db-migrations", "Write database migrations. Use when a table is changed.")
    home.add_skill("csv-import", "Import CSV files. Use when a table comes as CSV.")
    folder = home.home / ".prowess"
    folder.mkdir(mode=0o700)
    settings = {
        # Words are enough here, and take a fraction of the time on a machine that others use too.
        "skills": {"routing": {"encoder": "none"}},
        "plugins": {
            "entries": {"skill-workshop": {"enabled": True, "config": {"autoCapture": True}}}
        },
    }
    (folder / "prowess.json").write_text(json.dumps(settings), encoding="utf-8")
    return home


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
    argument = "cmd" if shell == "exec_command" else "command"
    # What it shows is what counts, and not how the file is named.
    commands = (f"cat {folder}/pdf-forms/*", f"wc {folder}/csv-import/SKILL.md")
    others = [Call(shell, {argument: one, "description": "Look"}) for one in commands]
    if not shell:
        # One offers no command where nobody can be asked.
        others = [Call("read_file", {"file_path": f"{folder}/pdf-forms/SKILL.md"})]
    third = Call(ours, {"name": "db-migrations"}) if ours else None
    return [call for call in (first, *others, third) if call]


# One conversation for all three claims: some of these programs work for ten seconds to start.
@pytest.mark.parametrize("name", NAMES)
def test_a_hint_reaches_the_model_its_uses_are_counted_and_what_was_said_for_good_is_proposed(
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

    answered = home.ask(f"{_ASKED} {_WISH}")
    report = json.loads(home.prowess("sessions", "--harness", name, "--json"))

    assert answered.code == 0, answered
    said = model.first(_ASKED).text
    assert said.count(_FOUND) == 1, said[-3000:]
    assert "release-notes" in said.partition(_FOUND)[2]
    assert done
    (session,) = report["sessions"]
    used = {row["name"] for row in report["skills"] if row["used"]}
    assert "csv-import" not in used
    wanted = sum("csv" not in str(call) for call in done) - _count_refused(model)
    assert len(used) == wanted, (used, done, session)
    if "release-notes" in used:
        assert report["missed"] == []
    assert _wait_for_a_proposal(home)


def _count_refused(model: ModelServer) -> int:
    """Return how many calls the harness refused, or broke off: they showed the agent nothing."""
    came = max((request.results for request in model.requests), key=len)
    return sum("declined" in text or "failed" in text for text in map(str, came))


def _wait_for_a_proposal(home: OutsideWorld) -> bool:
    """Return whether what somebody said is proposed: a process does it that nobody waits for."""
    until, pause = time.monotonic() + _PATIENCE_S, threading.Event()
    # A look at the store costs nothing beside a start of the command, and that can tell more.
    while time.monotonic() < until and not _is_kept(home.home / ".prowess/prowess.db"):
        pause.wait(0.2)
    return "author" in home.prowess("workshop", "list", "--json")


def _is_kept(store: Path) -> bool:
    """Return whether there is a proposal; a store that is being made has no table yet."""
    if not store.exists():
        return False
    with closing(sqlite3.connect(store)) as database:
        tables = database.execute("SELECT name FROM sqlite_master").fetchall()
        if ("workshop_proposals",) not in tables:
            return False
        return database.execute("SELECT 1 FROM workshop_proposals").fetchone() is not None


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
