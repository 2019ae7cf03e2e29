"""A chat against a hostile or broken model: nothing is written unasked, and the chat goes on."""

import json
from typing import Any

import pytest
from tests.integration.chat_world import World, call, server, text, world

from prowess.cli.main import main

__all__ = ["world"]

MAKE = {
    "action": "suggest",
    "skillName": "paint",
    "title": "Paint",
    "description": "Paint fences",
    "body": "# Paint\n\n- Paint it blue",
    "apply": True,
}


def _workshop(world: World, policy: str = "pending") -> None:
    entry = {"enabled": True, "config": {"approvalPolicy": policy}}
    world.config(plugins={"entries": {"skill-workshop": entry}})


def _events(capsys: pytest.CaptureFixture[str], *args: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    main(["chat", *args, "--json"])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def _of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == kind]


def _tool(name: str, arguments: object) -> dict[str, object]:
    return {"tools": [{"name": name, "arguments": arguments}]}


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("skill_workshop", MAKE),
        ("read_skill", {"name": "release-notes"}),
        ("shell", {"command": "touch made"}),
    ],
)
def test_arguments_inside_a_string_are_refused_before_anything_is_decided(
    world: World, capsys: pytest.CaptureFixture[str], tool: str, given: dict[str, object]
) -> None:
    _workshop(world)
    model = world.script(_tool(tool, json.dumps(json.dumps(given))), {"text": "ok"})

    events = _events(capsys, "--model", model, "--once", "hi")

    assert "not a string that holds one" in _of(events, "toolAnswered")[0]["text"]
    assert not _of(events, "approvalAsked")
    assert events[-1]["ok"]
    assert not (world.work / "skills" / "paint").exists()


@pytest.mark.parametrize("given", ["null", "[]", "5", "true", '""'])
def test_arguments_that_are_no_object_are_answered(
    world: World, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    model = world.script(_tool("read_file", given), {"text": "ok"})

    events = _events(capsys, "--model", model, "--once", "hi")

    assert _of(events, "toolAnswered")[0]["text"].startswith("Error:")
    assert events[-1]["ok"]


@pytest.mark.parametrize(
    ("message", "said"), [("/kept_back do it", "KINDS-OF-CHANGES"), ("hi", "there is no skill")]
)
def test_what_is_kept_from_the_model_is_read_once_a_person_called_it(
    world: World, capsys: pytest.CaptureFixture[str], message: str, said: str
) -> None:
    front = "name: kept-back\ndescription: For people alone.\ndisable-model-invocation: true"
    world.skill(
        "kept-back", f"---\n{front}\n---\n\nSee kinds.md.\n", **{"kinds.md": "KINDS-OF-CHANGES"}
    )
    asked = {"name": "kept-back", "path": "kinds.md"}
    model = world.script(_tool("read_skill", asked), {"text": "ok"})

    events = _events(capsys, "--model", model, "--once", message)

    assert said in _of(events, "toolAnswered")[0]["text"]


@pytest.mark.parametrize("policy", ["pending", "auto"])
def test_a_skill_is_not_written_where_nobody_can_say_yes(
    world: World, capsys: pytest.CaptureFixture[str], policy: str
) -> None:
    _workshop(world, policy)
    given = MAKE if policy == "pending" else {**MAKE, "apply": None}
    model = world.script(_tool("skill_workshop", given), {"text": "ok"})

    events = _events(capsys, "--model", model, "--once", "hi")

    asked = _of(events, "approvalAsked")[0]
    assert "+- Paint it blue" in asked["shown"]
    assert json.loads(asked["command"])["revision"]
    assert "waits for the user" in _of(events, "toolAnswered")[0]["text"]
    assert not (world.work / "skills" / "paint").exists()


def test_a_suggestion_that_only_waits_needs_no_yes(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    _workshop(world)
    model = world.script(_tool("skill_workshop", {**MAKE, "apply": False}), {"text": "ok"})

    events = _events(capsys, "--model", model, "--once", "hi")

    assert not _of(events, "approvalAsked")
    assert '"pending"' in _of(events, "toolAnswered")[0]["text"]


@pytest.mark.parametrize(
    ("command", "said"),
    [("ls; " * 600, "too long to be judged"), ("ls \u202e x", "RIGHT-TO-LEFT OVERRIDE")],
)
def test_a_command_that_cannot_be_judged_is_refused_without_a_question(
    world: World, capsys: pytest.CaptureFixture[str], command: str, said: str
) -> None:
    model = world.script(_tool("shell", {"command": command}), {"text": "ok"})

    events = _events(capsys, "--model", model, "--once", "hi")

    assert said in _of(events, "toolAnswered")[0]["text"]
    assert not _of(events, "approvalAsked")


def test_a_flood_is_stopped_and_the_chat_can_be_opened_again(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    flood = world.script({"text": ["A" * 100_000] * 20})
    events = _events(capsys, "--model", flood, "--session", "s1", "--once", "hi")

    again = _events(
        capsys, "--model", world.script({"text": "ok"}), "--session", "s1", "--once", "go on"
    )

    assert "longer than 400,000" in _of(events, "trouble")[0]["message"]
    assert not events[-1]["ok"]
    assert again[-1]["ok"]
    assert len(world.chats()[0]["turns"]) == 2


def test_a_model_that_calls_too_much_at_once_is_stopped(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    many = [{"name": "read_file", "arguments": {"path": f"f{n}"}} for n in range(60)]
    model = world.script({"tools": many, "repeat": True})

    events = _events(capsys, "--model", model, "--once", "hi")

    assert "more than 50 tools" in _of(events, "trouble")[0]["message"]
    assert len(_of(events, "toolAnswered")) <= 50


def test_a_stream_of_nonsense_is_one_sentence_and_the_next_message_is_answered(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    odd: list[dict[str, Any]] = [{"choices": [{"index": "x", "delta": "no"}]}, {"choices": None}]
    with server([odd, text("Fine.")]) as model:
        world.config(skills={"model": {"endpoint": model.address, "name": "m"}})

        first = _events(capsys, "--session", "s1", "--once", "hi")
        second = _events(capsys, "--session", "s1", "--once", "hi")

    assert len(_of(first, "trouble")) == 1
    assert _of(first, "trouble")[0]["code"] == "model"
    assert not first[-1]["ok"]
    assert second[-1]["ok"]


def test_too_many_arguments_are_stopped(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    with server([call("shell", {"command": "A" * 3_000_000})]) as model:
        world.config(skills={"model": {"endpoint": model.address, "name": "m"}})

        events = _events(capsys, "--once", "hi")

    assert _of(events, "trouble")[0]["code"] == "limit"
    assert not _of(events, "approvalAsked")
