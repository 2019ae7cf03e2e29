"""The state folder, the config file in it, and the commands that read and write it."""

import json
from pathlib import Path

import pytest
from tests.rows import each_row

from prowess.errors import ConfigKeyError
from prowess.host.config.file import ConfigFile, to_settings
from prowess.host.config.writer import ConfigStore
from prowess.runtime.config.edits import ConfigEdits

from .world import NO_BUNDLED, Json, World, openclaw, requires


@pytest.mark.requirement("config:file", "home:variable", "home:default", "terminal:config")
@pytest.mark.parametrize("moved", [True, False])
def test_the_configuration_is_in_the_state_folder(world: World, *, moved: bool) -> None:
    state = world.root / "other" if moved else world.home / ".prowess"
    env = {"PROWESS_HOME": str(state) if moved else None}
    world.skill("managed-one", root=state / "skills")

    path = world.run("config", "path", env=env).calm().out.strip()

    document = world.document("list", env=env)
    assert Path(path) == state / "prowess.json"
    assert document["managedSkillsDir"] == str(state / "skills")
    assert "managed-one" in [row["name"] for row in document["skills"]]


@pytest.mark.requirement("terminal:config")
def test_config_set_is_read_back_and_takes_effect(world: World) -> None:
    for name in ("alpha", "beta", "gamma"):
        world.skill(name)
    world.settings(**NO_BUNDLED)

    done = world.run("config", "set", "skills.limits.maxSkillsInPrompt", "2").calm()

    got = world.run("config", "get", "skills.limits.maxSkillsInPrompt").calm()
    assert (done.code, got.code, got.out.strip()) == (0, 0, "2")
    assert len(world.prompt_names()) == 2


@pytest.mark.requirement("terminal:config", "exit:not-found")
def test_config_refuses_what_a_setting_would_not_take(world: World) -> None:
    key = "skills.limits.maxSkillsInPrompt"

    refused = world.run("config", "set", key, "many").one_sentence()
    unset = world.run("config", "get", key).one_sentence()

    assert (refused.code, unset.code) == (1, 1)
    assert not world.config_file.exists()


_COUNT, _WORKSHOP = "must be an integer of at least 0", "plugins.entries.skill-workshop.config"
REFUSED: tuple[tuple[str, object, str], ...] = (
    ("skills.limits.maxSkillsInPrompt", "many", _COUNT),
    ("skills.entries.alpha.enabled", "maybe", "must be true or false"),
    ("skills.entries.alpha.config", 17, "must be an object"),
    (f"{_WORKSHOP}.maxPending", 900, "must be from 1 to 200"),
    ("agents.defaults.workspace", [1], "must be a folder"),
    ("agents.defaults.skills", "alpha", "must be a list of strings"),
    ("agents.defaults.skillsLimits.maxSkillsPromptChars", "many", _COUNT),
    ("agents.entries.clerk", 17, "must be an object"),
)


@pytest.mark.requirement("edges:settings")
@each_row(("key", "value", "why"), REFUSED)
def test_what_no_setting_takes_is_refused_in_the_same_words(
    world: World, key: str, value: object, why: str
) -> None:
    world.config({"agents": {"list": [{"id": "main"}, {"id": "other"}]}})
    store = ConfigStore(ConfigFile(str(world.config_file)))
    edits = ConfigEdits(
        store, check=lambda said: to_settings(said).problems, changed=lambda _: None
    )
    change = value
    for part in reversed(key.split(".")):
        change = {part: change}

    refused = world.run("config", "set", key, json.dumps(value)).one_sentence()
    with pytest.raises(ConfigKeyError) as found:
        edits.patch(json.dumps(change), edits.get()["hash"])

    assert refused.err.strip() == f"prowess: {found.value}" == f"prowess: {key}: {why}."


@pytest.mark.requirement("edges:settings", "config:unknown-kept")
def test_a_key_is_unknown_to_the_terminal_where_it_is_to_the_reader(world: World) -> None:
    key = "agents.entries.clerk.skilz"

    done = world.run("config", "set", key, "[]")

    (problem,) = world.document("list")["configProblems"]
    assert (problem["key"], problem["unknown"]) == (key, True)
    assert done.err.startswith(f"prowess: {key} is not a setting of Prowess")


@pytest.mark.requirement("terminal:enable-disable", "entries:enabled")
def test_disable_and_enable_switch_a_skill(world: World) -> None:
    world.skill("alpha")

    off = world.run("disable", "alpha").code, world.row("alpha")["disabled"]
    on = world.run("enable", "alpha").code, world.row("alpha")["disabled"]

    assert (off, on) == ((0, True), (0, False))


@pytest.mark.requirement("terminal:enable-disable", "entries:by-skill-key", "config:unknown-kept")
def test_disable_writes_under_the_skill_key_and_keeps_everything_else(world: World) -> None:
    before: Json = {
        "mysteryKey": {"deep": [1, 2]},
        "skills": {"entries": {"alias": {"apiKey": "k", "config": {"a": 1}}}},
    }
    world.config(before)
    world.skill("alpha", metadata=openclaw(skillKey="alias"))

    world.run("disable", "alpha")

    entry = {"apiKey": "k", "config": {"a": 1}, "enabled": False}
    assert world.read_config() == {**before, "skills": {"entries": {"alias": entry}}}


@pytest.mark.requirement("terminal:enable-disable", "config:broken-is-one-sentence")
def test_disable_never_overwrites_a_file_that_it_cannot_read(world: World) -> None:
    world.config('{ "skills": { oops')
    world.skill("alpha")

    result = world.run("disable", "alpha").one_sentence()

    assert result.code == 1
    assert world.config_file.read_text(encoding="utf-8") == '{ "skills": { oops'


@pytest.mark.requirement("config:json5")
def test_the_configuration_may_be_json5(world: World) -> None:
    world.config(
        "// my settings\n{\n  skills: {\n    entries: { 'alpha': { enabled: false, }, },\n"
        "  }, /* that is all */\n}\n"
    )
    world.skill("alpha")

    assert world.row("alpha")["disabled"] is True


@pytest.mark.requirement("config:unknown-reported")
def test_unknown_keys_are_reported_and_no_error(world: World) -> None:
    world.config({"mystery": 1, "skills": {"other": 2, "load": {"third": 3}}})
    world.skill("alpha")

    result = world.run("list", "--json").calm()

    problems = [(item["key"], item["unknown"]) for item in result.json["configProblems"]]
    assert result.code == 0
    assert problems == [("mystery", True), ("skills.other", True), ("skills.load.third", True)]
    assert "skills.other" in world.run("check").out


@pytest.mark.requirement("config:openclaw-drop-in")
def test_an_openclaw_configuration_can_be_dropped_in(world: World) -> None:
    world.config(
        {
            "gateway": {"port": 18789, "auth": {"mode": "token"}},
            "channels": {"discord": {"enabled": True}},
            "models": {"default": "x"},
            "skills": {
                "load": {"watch": True, "watchDebounceMs": 250, "extraDirs": []},
                "install": {"preferBrew": True, "nodeManager": "npm"},
                "entries": {"alpha": {"enabled": True}},
            },
            "agents": {"defaults": {"workspace": str(world.workspace)}, "list": [{"id": "main"}]},
            "plugins": {"entries": {}},
        }
    )
    world.skill("alpha", metadata=requires(config=["channels.discord"]))

    document = world.document("list", cwd=world.root)

    assert "alpha" in [row["name"] for row in document["skills"] if row["eligible"]]
    assert all(problem["unknown"] for problem in document["configProblems"])
