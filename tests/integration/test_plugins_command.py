"""`prowess plugins list`: what is on, what is not, and why."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.integration.workshop_world import World, make_world

SKILL = "---\nname: from-plugin\ndescription: Comes with a plugin.\n---\n\nText.\n"


@pytest.fixture
def world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> World:
    return make_world(tmp_path, monkeypatch, capsys)


def _plugin(folder: Path, name: str) -> None:
    skill = folder / "skills" / "from-plugin"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL, encoding="utf-8")
    manifest = folder / ".claude-plugin"
    manifest.mkdir()
    (manifest / "plugin.json").write_text(json.dumps({"name": name}), encoding="utf-8")


# Any JSON.
def _listed(world: World, *args: str) -> dict[str, Any]:
    found = world.ask("plugins", "list", *args).json["plugins"]
    return {one["id"]: one for one in found}


def test_the_workshop_is_listed_with_the_reason_why_it_is_on_or_off(world: World) -> None:
    on = _listed(world)["skill-workshop"]
    world.configure(on=False)
    off = _listed(world)["skill-workshop"]
    world.write_config({})
    unset = world.run("plugins", "list")

    assert (on["enabled"], off["enabled"]) == (True, False)
    assert "prowess workshop enable" in off["reason"]
    assert "skill-workshop  off" in unset.out


def test_folders_that_bring_skills_are_listed_and_an_entry_switches_one_off(
    world: World, tmp_path: Path
) -> None:
    _plugin(tmp_path / "first", "first")
    _plugin(tmp_path / "second", "second")
    paths = [str(tmp_path / "first"), str(tmp_path / "second"), str(tmp_path / "gone")]
    entries = {"second": {"enabled": False}, "third": {"enabled": True}, "fourth": 7}
    world.write_config({"plugins": {"load": {"paths": paths}, "entries": entries}})

    found = _listed(world)

    assert list(found) == ["skill-workshop", "first", "second", "third", "fourth"]
    assert (found["first"]["enabled"], found["first"]["skills"]) == (True, 1)
    assert (found["second"]["enabled"], found["second"]["skills"]) == (False, 0)
    assert found["first"]["folder"] == str(tmp_path / "first")
    assert not found["third"]["enabled"]
    assert list(_listed(world, "--enabled")) == ["first"]
    assert "gone" in world.run("plugins", "list").out


def test_with_nothing_on_a_sentence_says_so(world: World) -> None:
    world.write_config({"plugins": ["wrong"]})

    assert world.run("plugins", "list", "--enabled").out == "No plugin is on.\n"
    assert "Example: " in world.run("plugins", "list", "--help").out
