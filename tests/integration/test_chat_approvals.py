"""What a person at a terminal is asked, and how a chat ends when it is told to."""

import os
import signal
import subprocess
import termios

import pytest
from tests.integration.chat_world import World, server, text, world
from tests.integration.test_chat_terminal import CTRL_D, SECONDS, chatting

import prowess

__all__ = ["world"]


def _workshop(world: World) -> None:
    entry = {"enabled": True, "config": {"approvalPolicy": "pending"}}
    world.config(plugins={"entries": {"skill-workshop": entry}})


def _call(**given: object) -> dict[str, object]:
    return {"name": "skill_workshop", "arguments": given}


def _suggested(world: World) -> str:
    with prowess.open(world.work) as runtime, runtime.run() as run:
        made = run.workshop.call(
            {
                "action": "suggest",
                "skillName": "paint",
                "title": "Paint",
                "description": "Paint fences",
                "body": "# Paint\n\n- Paint it blue",
            }
        )
    proposal = made["proposal"]
    assert isinstance(proposal, dict)
    return str(proposal["id"])


def _page(world: World, name: str) -> str:
    path = world.work / "skills" / name / "SKILL.md"
    return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.mark.parametrize("first", ["apply", "revise"])
def test_a_yes_holds_for_the_text_that_was_shown(world: World, first: str) -> None:
    _workshop(world)
    proposal = _suggested(world)
    calls = [
        _call(action="apply", id=proposal),
        _call(action="revise", id=proposal, body="# Paint\n\n- Send it to bob"),
    ]
    ordered = calls if first == "apply" else calls[::-1]
    model = world.script({"tools": ordered}, {"text": "Done."})
    with chatting(world, "--model", model) as (terminal, _):
        terminal.say("go")
        shown = ""
        for _ in range(2):
            asked = terminal.until("Change it? [y]es, [n]o: ")
            yes = "+- Paint it blue" in asked
            shown += asked
            terminal.type("y\n" if yes else "n\n")
        terminal.until("Done.")

    assert "+- Paint it blue" in shown
    assert "+ - Send it to bob" in shown
    assert "Paint it blue" in _page(world, "paint")
    assert "bob" not in _page(world, "paint")


def test_a_proposal_that_became_another_one_is_not_written(world: World) -> None:
    _workshop(world)
    proposal = _suggested(world)
    model = world.script({"tools": [_call(action="apply", id=proposal)]}, {"text": "Done."})
    with chatting(world, "--model", model) as (terminal, _):
        terminal.say("go")
        terminal.until("Change it? [y]es, [n]o: ")
        with prowess.open(world.work) as runtime, runtime.run() as run:
            run.workshop.call(
                {"action": "revise", "id": proposal, "body": "# Paint\n\n- Send it to bob"}
            )
        terminal.type("y\n")
        refused = terminal.until("Done.")

    assert "Error" in refused
    assert _page(world, "paint") == ""


def test_a_skill_written_by_hand_is_edited_when_a_person_says_yes(world: World) -> None:
    _workshop(world)
    edit = _call(
        action="suggest",
        skillName="release-notes",
        title="Kinds",
        oldText="Group changes by kind.",
        newText="Group changes by date.",
        apply=True,
    )
    model = world.script({"tools": [edit]}, {"text": "Done."})
    with chatting(world, "--model", model) as (terminal, _):
        terminal.say("go")
        asked = terminal.until("Change it? [y]es, [n]o: ")
        terminal.type("y\n")
        terminal.until("Done.")

    assert "-BODY-OF-THE-SKILL. Group changes by kind." in asked
    assert "by date" in _page(world, "release-notes")


def test_gaps_do_not_push_a_command_off_the_screen(world: World) -> None:
    run = {"name": "shell", "arguments": {"command": "touch made\n" + "\n" * 300 + "ls"}}
    model = world.script({"tools": [run]}, {"text": "Done."})
    with chatting(world, "--model", model) as (terminal, _):
        terminal.say("go")
        terminal.until("The model wants to run this")
        asked = terminal.until("very command: ")
        terminal.type("n\n")
        terminal.until("Done.")

    assert "300 blank lines" in asked
    assert asked.count("\n") < 8


def test_commands_do_not_see_the_keys_of_models(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    monkeypatch.setenv("MY_KEY", "sk-two")
    run = {"name": "shell", "arguments": {"command": "env > seen"}}
    model = world.script({"tools": [run]}, {"text": "Done."})
    world.config(skills={"model": {"keyEnv": "MY_KEY"}})
    with chatting(world, "--model", model) as (terminal, _):
        terminal.say("go")
        terminal.until("very command: ")
        terminal.type("y\n")
        terminal.until("Done.")

    seen = (world.work / "seen").read_text()
    assert "PATH=" in seen
    # Not any "sk-": the variables of whoever runs this may hold "task-".
    assert "sk-one" not in seen
    assert "sk-two" not in seen


def test_a_model_that_breaks_does_not_end_the_chat(world: World) -> None:
    odd = [{"choices": [{"index": "x", "delta": "no"}]}]
    with server([odd, text("Fine.")]) as model:
        world.config(skills={"model": {"endpoint": model.address, "name": "m"}})
        with chatting(world) as (terminal, process):
            terminal.say("hello")
            terminal.until("try again")
            terminal.say("again")
            terminal.until("Fine.")
            terminal.until("you> ")
            terminal.type(CTRL_D)
            code = process.wait(SECONDS)

    assert code == 0


def _is_cooked(terminal: int) -> bool:
    return bool(termios.tcgetattr(terminal)[3] & (termios.ECHO | termios.ICANON))


def test_a_signal_ends_an_idle_chat_in_order(world: World) -> None:
    model = world.script({"text": "Answer."})
    with chatting(world, "--model", model, "--session", "s1") as (terminal, process):
        terminal.say("hello")
        terminal.until("Answer.")
        terminal.until("you> ")
        _told(process, signal.SIGHUP)

        assert _is_cooked(terminal.ours)

    assert [turn["words"] for turn in world.chats()[0]["turns"]] == ["hello"]


# Sends a signal when the prompt has been drawn and nothing waits for a line yet: no Python runs
# between the two, so that nobody can take it before the wait begins.
_BETWEEN = """
import ctypes, os, readline, sys
from functools import partial
from prowess.cli.main import main
readline.set_pre_input_hook(partial(ctypes.CDLL(None).kill, os.getpid(), int(sys.argv[1])))
raise SystemExit(main(["chat", *sys.argv[2:]]))
"""


def test_a_signal_between_the_prompt_and_the_wait_ends_the_chat(world: World) -> None:
    model = world.script({"text": "Answer."})
    start = ("-c", _BETWEEN, str(signal.SIGTERM.value))

    with chatting(world, "--model", model, start=start) as (terminal, process):
        code = process.wait(SECONDS)
        assert _is_cooked(terminal.ours)

    assert code in {128 + signal.SIGTERM, -signal.SIGTERM}


def test_a_signal_in_an_answer_keeps_what_was_said(world: World) -> None:
    with server([text("Half an ", "answer")], way="slow") as model:
        world.config(skills={"model": {"endpoint": model.address, "name": "m"}})
        with chatting(world, "--session", "s1") as (terminal, process):
            terminal.say("hello")
            terminal.until("Half an")
            _told(process, signal.SIGHUP)

            assert _is_cooked(terminal.ours)

    assert "Half an" in str(world.chats()[0]["turns"])


def test_a_signal_ends_the_command_that_runs(world: World) -> None:
    command = "echo $$ > pid; echo started; sleep 300; echo made > made"
    run = {"name": "shell", "arguments": {"command": command}}
    model = world.script({"text": "Wait.", "tools": [run]})
    with chatting(world, "--model", model, "--session", "s1") as (terminal, process):
        terminal.say("hello")
        terminal.until("very command: ")
        terminal.type("y\n")
        terminal.until("| started")
        _told(process, signal.SIGTERM)

        assert _is_cooked(terminal.ours)

    child = int((world.work / "pid").read_text())
    assert _is_gone(child)
    assert [turn["words"] for turn in world.chats()[0]["turns"]] == ["hello"]


def _told(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    process.send_signal(number)
    code = process.wait(SECONDS)

    assert code in {128 + number, -number}


def _is_gone(child: int) -> bool:
    try:
        os.kill(child, 0)
    except ProcessLookupError:
        return True
    return False
