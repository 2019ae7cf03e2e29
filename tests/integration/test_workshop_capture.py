"""`prowess workshop capture` on real files: corrections are found, and no file breaks it."""

import json
import os
from pathlib import Path

import pytest
from tests.integration.workshop_world import GIF, PIPE, World, make_world

from prowess.errors import PathError
from prowess.host.harness import transcripts
from prowess.host.harness.transcripts import read_transcript

TOKEN = "ghp_" + "abcdefghij" * 4


@pytest.fixture
def world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> World:
    made = make_world(tmp_path, monkeypatch, capsys)
    made.configure(reviewMode="heuristic")
    return made


def _file(world: World, *values: object, name: str = "t.jsonl") -> str:
    path = world.work / name
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values), encoding="utf-8")
    return str(path)


def _user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


def _waiting(world: World) -> list[str]:
    return [one["skillName"] for one in world.ask("workshop", "list").json["proposals"]]


def test_every_correction_of_a_transcript_becomes_a_proposal_with_its_line(world: World) -> None:
    path = _file(
        world,
        _user("hello"),
        _user(GIF),
        {"role": "assistant", "content": "from now on I always check everything there is"},
        {"role": "user", "content": [{"type": "tool_result", "content": GIF}]},
        _user("From now on, always check the CI of a pull request first."),
    )

    said = world.ask("workshop", "capture", path).json

    places = [(one["place"], one["proposal"]["skillName"]) for one in said["corrections"]]
    assert places == [("line 2", "animated-gif-workflow"), ("line 5", "github-pr-workflow")]
    assert said["corrections"][0]["quote"] in GIF
    assert said["messages"] == 5
    assert said["turns"] == 3
    assert sorted(_waiting(world)) == ["animated-gif-workflow", "github-pr-workflow"]


def test_the_same_transcript_twice_is_captured_once(world: World) -> None:
    path = _file(world, _user(GIF))
    first = world.ask("workshop", "capture", path).json["corrections"][0]
    second = world.ask("workshop", "capture", path).json["corrections"][0]
    world.ask("workshop", "reject", first["proposal"]["id"])

    third = world.ask("workshop", "capture", path).json["corrections"][0]

    assert first["isNew"]
    assert not second["isNew"]
    assert second["proposal"]["id"] == first["proposal"]["id"]
    assert third["proposal"] is None
    assert third["problem"]
    assert _waiting(world) == []


def test_a_dry_run_keeps_nothing_and_needs_no_workshop(world: World) -> None:
    world.configure(on=False)
    path = _file(world, _user(GIF), _user(PIPE))

    said = world.ask("workshop", "capture", path, "--dry-run").json

    states = [one["proposal"]["status"] for one in said["corrections"]]
    assert states == ["pending", "quarantined"]
    assert _waiting(world) == []
    assert world.run("workshop", "capture", path).code == 1
    assert not list((world.work / "skills").iterdir())


def test_a_dry_run_knows_what_waits_already_and_writes_nothing_in_auto_mode(world: World) -> None:
    path = _file(world, _user(GIF))
    world.ask("workshop", "capture", path)
    world.configure(approvalPolicy="auto")

    said = world.ask("workshop", "capture", path, "--dry-run").json

    assert [one["isNew"] for one in said["corrections"]] == [False]
    assert not world.page("animated-gif-workflow").exists()


def test_in_auto_mode_what_no_model_and_no_person_read_waits(world: World) -> None:
    world.configure(approvalPolicy="auto")

    said = world.run("workshop", "capture", _file(world, _user(GIF), _user(PIPE)))

    assert "queued animated-gif-workflow" in said.out
    assert "quarantined qa-scenario-workflow: " in said.out
    assert 'line 1: "next time make sure' in said.out
    assert not world.page("animated-gif-workflow").exists()


def test_three_wordings_of_one_rule_are_one_proposal_in_the_imperative(world: World) -> None:
    said = ["no, use pnpm not npm", "we use pnpm here, not npm", "please use pnpm instead of npm"]

    world.ask("workshop", "capture", _file(world, *map(_user, said)))

    found = world.ask("workshop", "list").json["proposals"]
    assert [one["skillName"] for one in found] == ["package-conventions"]
    assert "- Use pnpm, not npm." in found[0]["change"]["body"]
    assert "Use when installing" in found[0]["change"]["description"]
    assert found[0]["evidence"][0]["quote"] == said[0]


def test_of_two_opposite_rules_the_later_one_stands_in_the_skill(world: World) -> None:
    tabs, spaces = (
        f"From now on always use {what} for indentation." for what in ("tabs", "spaces")
    )
    for at, text in enumerate((tabs, spaces)):
        world.ask("workshop", "capture", _file(world, _user("hello"), _user(text), name=f"{at}"))
    made = reversed(world.ask("workshop", "list").json["proposals"])

    for one in made:
        world.ask("workshop", "apply", one["id"], "--yes")

    page = (world.work / "skills" / "code-style" / "SKILL.md").read_text("utf-8")
    assert "use spaces" in page
    assert "use tabs" not in page


def test_what_the_agent_recorded_already_is_not_proposed_once_more(world: World) -> None:
    body = "# Packages\n\n- Use pnpm, never npm.\n"
    description = "Rules for packages. Use when installing packages."
    wish = {"action": "suggest", "skillName": "packages", "title": "Packages", "body": body}
    wish["description"] = description
    world.piped(json.dumps(wish).encode(), "workshop", "tool")

    said = ("no, we use pnpm here, not npm", "no, we use npm here, not pnpm")
    world.ask("workshop", "capture", _file(world, *map(_user, said)))

    assert sorted(_waiting(world)) == ["package-conventions", "packages"]


def test_whoever_names_a_file_wants_it_captured_whatever_live_turns_do(world: World) -> None:
    world.configure(autoCapture=False, reviewMode="off")

    world.ask("workshop", "capture", _file(world, _user(GIF)))

    assert _waiting(world) == ["animated-gif-workflow"]


def test_a_correction_with_a_credential_is_refused_and_not_repeated(world: World) -> None:
    path = _file(world, _user(f"From now on always use the token {TOKEN} for github"))

    text = world.run("workshop", "-v", "capture", path)
    said = world.run("workshop", "capture", path, "--json")

    assert "credential" in text.out
    told = world.run("workshop", "status", "--explain").out
    assert "the last one refused: heuristic capture skipped: " in told
    assert TOKEN not in text.out + text.err + said.out + told
    assert said.json["corrections"][0]["proposal"] is None
    assert _waiting(world) == []


def test_what_waits_is_not_pushed_out_by_a_long_transcript(world: World) -> None:
    world.configure(maxPending=2)
    corrections = [_user(f"From now on, always verify the GIF number {n}.") for n in range(5)]

    said = world.ask("workshop", "capture", _file(world, *corrections)).json

    assert said["leftForLater"] == 3
    assert len(_waiting(world)) == 2
    kinds = {event["type"] for event in world.ask("workshop", "history").json["events"]}
    assert "pruned" not in kinds


def test_one_document_and_standard_input_are_read_as_well(world: World) -> None:
    content = json.dumps({"contents": [{"role": "user", "parts": [{"text": GIF}]}]}, indent=2)

    said = world.piped(content.encode(), "workshop", "capture", "-", "--dry-run", "--json").json

    assert said["format"] == "gemini"
    assert said["corrections"][0]["place"] == "message 1"


def test_broken_lines_are_counted_and_the_others_are_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "MOST_LINE_BYTES", 1000)
    good = json.dumps(_user(GIF)).encode()
    deep = b"[" * 900 + b"]" * 50
    lines = (b"\xff\xfe{}", b"{broken", b'{"a": "' + b"x" * 2000 + b'"}', good, deep, b"7", b"")
    path = world.work / "t.jsonl"
    path.write_bytes(b"\n".join(lines[1:]) + b"\n" + lines[0])

    said = world.ask("workshop", "capture", str(path)).json

    assert len(said["corrections"]) == 1
    assert said["corrections"][0]["place"] == "line 3"
    assert said["skipped"]["not UTF-8"] == 1
    assert sum(said["skipped"].values()) == 5


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n \n", "is empty"),
        (b"hello there\nhow are you", "2 not JSON"),
        (b"\xff\xfeh\x00i\x00", "UTF-16"),
        (b"\x80\x81\n\x82", "2 not UTF-8"),
        (b"[" * 100_000, "1 nested too deeply"),
        (b'{"a":' * 100_000, "1 nested too deeply"),
        (b'{"role": 7, "content": [[[]]]}', "holds no messages"),
        (b"[1, 2, 3]", "3 no message in it"),
        (b"9" * 10_000, "1 not JSON"),
    ],
)
def test_a_hostile_file_ends_in_one_sentence(world: World, content: bytes, words: str) -> None:
    path = world.work / "t.json"
    path.write_bytes(content)

    said = world.run("workshop", "capture", str(path))

    assert said.code == 1
    assert words in said.err
    assert said.err.count("\n") == 1
    assert "internal error" not in said.err


def test_what_is_no_file_is_refused_without_waiting(world: World) -> None:
    pipe = world.work / "pipe"
    # Nobody writes to it: reading would never end.
    os.mkfifo(pipe)

    for path in (str(world.work), str(pipe), str(world.work / "missing")):
        with pytest.raises(PathError):
            read_transcript(path)


def test_a_file_has_bounds(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(_file(world, *[_user("hello")] * 10))
    monkeypatch.setattr(transcripts, "MOST_LINES", 4)

    found = read_transcript(str(path))
    monkeypatch.setattr(transcripts, "MOST_BYTES", 20)

    assert len(found.records) == 4
    assert sum(found.skipped.values()) == 6
    with pytest.raises(PathError, match="is larger than 20 bytes"):
        read_transcript(str(path))


def test_a_large_document_must_be_one_value_a_line(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "MOST_DOCUMENT_BYTES", 10)
    path = world.work / "t.json"
    path.write_text(json.dumps([_user(GIF)], indent=1), encoding="utf-8")

    with pytest.raises(PathError, match="one JSON value a line"):
        read_transcript(str(path))


def test_a_format_reads_only_what_has_its_shape(world: World) -> None:
    path = _file(world, {"messages": [_user(GIF)]})

    assert world.run("workshop", "capture", path, "--format", "gemini", "--dry-run").code == 1
    assert world.run("workshop", "capture", path, "--format", "openai-chat", "--dry-run").code == 0
    assert world.run("workshop", "capture", path, "--format", "telegram").code == 2
