"""Which skills are ready here, and what exactly is missing where they are not."""

import sys

import pytest

from .surfaces import Answer, Surface
from .world import BUNDLED, NO_SUCH_BIN, World, openclaw, requires

LOCAL = sys.platform if sys.platform in {"linux", "darwin", "win32"} else "linux"
ELSEWHERE = "darwin" if LOCAL != "darwin" else "linux"


@pytest.mark.requirement("verdict:eligible", "verdict:fields", "library:same-as-terminal")
def test_a_skill_without_requirements_is_ready(world: World, surface: Surface) -> None:
    world.skill("free")

    assert surface.answers()["free"] == Answer(source="openclaw-workspace", eligible=True)


@pytest.mark.requirement("verdict:missing-by-kind", "library:same-as-terminal")
def test_everything_missing_is_named_by_its_kind(world: World, surface: Surface) -> None:
    kinds = {
        "bins": ["no-bin-a", "no-bin-b"],
        "anyBins": ["no-bin-c", "no-bin-d"],
        "env": ["NO_ENV_A"],
        "config": ["no.such.path"],
    }
    world.skill("needy", metadata=openclaw(requires=kinds, os=[ELSEWHERE]))

    answer = surface.answers()["needy"]

    assert answer.missing == {**kinds, "os": [ELSEWHERE]}
    assert (answer.eligible, answer.model_visible, answer.command_visible) == (False,) * 3


@pytest.mark.requirement("verdict:bins")
def test_only_the_missing_programs_are_named(world: World, surface: Surface) -> None:
    world.executable("have-this")
    world.skill("tools", metadata=requires(bins=["have-this", "lack-this"]))

    assert surface.answers()["tools"].missing == {"bins": ["lack-this"]}


@pytest.mark.requirement("verdict:bins")
def test_a_file_that_cannot_be_run_is_no_program(world: World) -> None:
    world.executable("not-runnable", mode=0o644)
    (world.bin / "a-folder").mkdir()
    world.skill("tools", metadata=requires(bins=["not-runnable", "a-folder"]))

    assert world.row("tools")["missing"]["bins"] == ["not-runnable", "a-folder"]


@pytest.mark.requirement("verdict:any-bins")
def test_one_of_any_bins_is_enough(world: World, surface: Surface) -> None:
    world.executable("second")
    world.skill("either", metadata=requires(anyBins=["first", "second"]))

    assert surface.answers()["either"].eligible


@pytest.mark.requirement("verdict:misses-not-cached")
def test_a_program_that_appears_is_seen_at_the_next_look(world: World) -> None:
    world.skill("tools", metadata=requires(bins=["later"]))
    skills = world.open().skills
    before = skills.find("tools").verdict.eligible

    world.executable("later")
    skills.refresh()

    assert (before, skills.find("tools").verdict.eligible) == (False, True)


@pytest.mark.requirement("verdict:hits-cached")
def test_a_program_that_was_found_stays_found(world: World) -> None:
    program = world.executable("sooner")
    world.skill("tools", metadata=requires(bins=["sooner"]))
    skills = world.open().skills
    before = skills.find("tools").verdict.eligible

    program.unlink()
    skills.refresh()

    assert (before, skills.find("tools").verdict.eligible) == (True, True)


@pytest.mark.requirement("verdict:env")
def test_a_variable_of_the_process_satisfies(world: World, surface: Surface) -> None:
    world.skill("keyed", metadata=requires(env=["TEST_KEY"]))

    unset = surface.answers()["keyed"]
    blank = surface.answers(env={"TEST_KEY": "   "})["keyed"]
    given = surface.answers(env={"TEST_KEY": "x"})["keyed"]

    assert unset.missing == blank.missing == {"env": ["TEST_KEY"]}
    assert given.eligible


@pytest.mark.requirement("verdict:env")
def test_a_variable_from_the_configuration_satisfies(world: World, surface: Surface) -> None:
    world.settings(entries={"keyed": {"env": {"TEST_KEY": "x"}}, "blank": {"env": {"OTHER": ""}}})
    world.skill("keyed", metadata=requires(env=["TEST_KEY"]))
    world.skill("blank", metadata=requires(env=["OTHER"]))

    answers = surface.answers()

    assert (answers["keyed"].eligible, answers["blank"].eligible) == (True, False)


@pytest.mark.requirement("verdict:env")
def test_an_api_key_satisfies_the_primary_variable_only(world: World) -> None:
    reference = {"source": "env", "provider": "default", "id": "K"}
    world.settings(entries={"text": {"apiKey": "x"}, "reference": {"apiKey": reference}})
    needed = {"env": ["MAIN_KEY", "SIDE_KEY"]}
    for name in ("text", "reference"):
        world.skill(name, metadata=openclaw(primaryEnv="MAIN_KEY", requires=needed))

    rows = world.listing()

    for name in ("text", "reference"):
        assert rows[name]["missing"]["env"] == ["SIDE_KEY"]


@pytest.mark.requirement("verdict:config")
def test_a_config_path_counts_when_its_value_is_truthy(world: World) -> None:
    values = {"true": True, "one": 1, "word": "on", "object": {}, "list": []}
    blanks = {"false": False, "zero": 0, "blank": "  ", "null": None}
    world.config({"channels": {**values, **blanks}})
    for name in (*values, *blanks, "absent"):
        world.skill(name, metadata=requires(config=[f"channels.{name}"]))

    rows = world.listing()

    own = [row for row in rows.values() if not row["bundled"]]
    assert {row["name"] for row in own if row["eligible"]} == set(values)
    assert rows["zero"]["missing"]["config"] == ["channels.zero"]


@pytest.mark.requirement("verdict:config")
def test_the_browser_counts_as_on_until_it_is_switched_off(world: World) -> None:
    paths = ["browser.enabled", "browser.evaluateEnabled"]
    world.skill("web", metadata=requires(config=paths))

    before = world.row("web")["missing"]["config"]
    world.config({"browser": {"enabled": False}})

    assert before == []
    assert world.row("web")["missing"]["config"] == ["browser.enabled"]


@pytest.mark.requirement("verdict:config-checks", "library:same-as-terminal")
def test_config_checks_tell_the_path_and_whether_it_is_satisfied(
    world: World, surface: Surface
) -> None:
    world.config({"channels": {"chat": {"token": "x"}}})
    world.skill("configured", metadata=requires(config=["channels.chat.token", "no.such"]))

    checks = surface.answers()["configured"].config_checks

    assert checks == {"channels.chat.token": True, "no.such": False}


@pytest.mark.requirement("verdict:os")
def test_another_system_is_named_as_missing(world: World, surface: Surface) -> None:
    world.skill("foreign", metadata=openclaw(os=[ELSEWHERE]))
    world.skill("native", metadata=openclaw(os=[ELSEWHERE, LOCAL]))

    answers = surface.answers()

    assert answers["foreign"].missing == {"os": [ELSEWHERE]}
    assert answers["native"].eligible


@pytest.mark.requirement("verdict:always")
def test_always_skips_requirements_but_never_the_system(world: World, surface: Surface) -> None:
    lacking = {"bins": [NO_SUCH_BIN], "env": ["NO_ENV_A"], "config": ["no.such"]}
    world.skill("eager", metadata=openclaw(always=True, requires=lacking))
    world.skill("foreign", metadata=openclaw(always=True, requires=lacking, os=[ELSEWHERE]))

    answers = surface.answers()

    assert answers["eager"].eligible
    assert answers["foreign"].missing == {"os": [ELSEWHERE]}
    assert "<name>foreign</name>" not in surface.prompt()


@pytest.mark.requirement("verdict:always")
def test_always_is_a_real_boolean(world: World) -> None:
    needed = {"bins": [NO_SUCH_BIN]}
    world.skill("eager", metadata=openclaw(always="true", requires=needed))

    assert world.row("eager")["eligible"] is False


@pytest.mark.requirement("verdict:os-aliases")
def test_aliases_of_systems_are_understood(world: World) -> None:
    world.settings(nodes=[{"name": "den", "platforms": ["darwin", "Windows"], "bins": []}])
    for alias in ("macos", "Mac", "osx", "windows", "win"):
        world.skill(f"on-{alias}", metadata=openclaw(os=[alias]))

    own = [row for row in world.listing().values() if not row["bundled"]]

    assert {row["name"]: row["requirements"]["os"] for row in own} == {
        "on-macos": ["darwin"],
        "on-Mac": ["darwin"],
        "on-osx": ["darwin"],
        "on-windows": ["win32"],
        "on-win": ["win32"],
    }
    assert all(row["eligible"] for row in own)


@pytest.mark.requirement("nodes:bins", "nodes:config")
def test_a_program_on_a_node_counts(world: World, surface: Surface) -> None:
    world.skill("remote", metadata=requires(bins=["node-tool"], anyBins=["x", "node-tool"]))
    alone = surface.answers()["remote"]

    world.settings(nodes=[{"name": "den", "platforms": ["darwin"], "bins": ["node-tool"]}])

    assert (alone.eligible, surface.answers()["remote"].eligible) == (False, True)


@pytest.mark.requirement("nodes:platforms", "nodes:config")
def test_the_platform_of_a_node_counts(world: World, surface: Surface) -> None:
    world.skill("remote", metadata=openclaw(os=[ELSEWHERE]))
    alone = surface.answers()["remote"]

    world.settings(nodes=[{"name": "den", "platforms": [ELSEWHERE], "bins": []}])

    assert (alone.eligible, surface.answers()["remote"].eligible) == (False, True)


@pytest.mark.requirement("nodes:bins")
def test_a_node_lends_no_environment(world: World) -> None:
    world.settings(nodes=[{"name": "den", "platforms": ["darwin"], "bins": ["node-tool"]}])
    world.skill("remote", metadata=requires(bins=["node-tool"], env=["NODE_TEST_KEY"]))

    assert world.row("remote")["missing"]["env"] == ["NODE_TEST_KEY"]


@pytest.mark.requirement("entries:enabled", "verdict:disabled")
def test_a_disabled_skill_is_out(world: World, surface: Surface) -> None:
    world.settings(entries={"off": {"enabled": False}})
    world.skill("off")

    answer = surface.answers()["off"]

    assert (answer.disabled, answer.eligible, answer.model_visible) == (True, False, False)
    assert "<name>off</name>" not in surface.prompt()


@pytest.mark.requirement("entries:enabled")
def test_enabled_true_does_not_force(world: World) -> None:
    world.settings(entries={"lacking": {"enabled": True}})
    world.skill("lacking", metadata=requires(bins=[NO_SUCH_BIN]))

    assert world.row("lacking")["eligible"] is False


@pytest.mark.requirement("entries:by-skill-key")
def test_entries_are_looked_up_by_skill_key(world: World, surface: Surface) -> None:
    world.settings(entries={"alias": {"enabled": False}, "other": {"enabled": False}})
    world.skill("alias-skill", metadata=openclaw(skillKey="alias"))
    world.skill("other", metadata=openclaw(skillKey="something-else"))

    answers = surface.answers()

    assert (answers["alias-skill"].disabled, answers["other"].disabled) == (True, False)


@pytest.mark.requirement("verdict:allowlist")
def test_allow_bundled_blocks_the_bundled_skills_it_does_not_name(
    world: World, surface: Surface
) -> None:
    world.settings(allowBundled=["search-citation"])
    world.skill("mine")
    world.skill("prowess-manual")

    blocked = {name for name, row in surface.answers().items() if row.blocked_by_allowlist}

    assert blocked == set(BUNDLED) - {"search-citation", "prowess-manual"}


@pytest.mark.requirement("verdict:allowlist")
def test_an_empty_or_odd_allowlist_of_bundled_skills_blocks_nothing(world: World) -> None:
    values: tuple[object, ...] = ([], "search-citation", None)
    for value in values:
        world.settings(allowBundled=value)

        assert not any(row["blockedByAllowlist"] for row in world.listing().values())


@pytest.mark.requirement("verdict:order")
def test_the_first_obstacle_in_order_is_the_reason(world: World) -> None:
    lacking = openclaw(requires={"bins": [NO_SUCH_BIN]}, os=[ELSEWHERE])
    world.skill("search-citation", metadata=lacking, root=world.extra)
    world.skill("stuck", metadata=lacking)
    world.settings(entries={"stuck": {"enabled": False}}, allowBundled=["nothing"])
    disabled = world.document("why", "stuck")["reason"]
    world.settings(allowBundled=["nothing"])

    assert "disabled" in disabled
    assert ELSEWHERE in world.document("why", "stuck")["reason"]
    assert "allowBundled" in world.document("why", "search-citation")["reason"]


@pytest.mark.requirement("verdict:install")
def test_a_missing_program_comes_with_its_install_options(world: World, surface: Surface) -> None:
    install = [{"kind": "uv", "id": "uv-it", "package": "example-tool", "bins": ["x"]}]
    world.skill("setup", metadata=openclaw(requires={"bins": [NO_SUCH_BIN]}, install=install))

    assert surface.answers()["setup"].install == ("uv-it",)


UNREADABLE = {
    "broken json": 'metadata: \'{"openclaw": {"requires": {"bins": [\'',
    "prose": "metadata: needs the gh tool",
    "a list": "metadata: [openclaw]",
    "requires is prose": "metadata:\n  openclaw:\n    requires: the gh tool",
    "bins is a map": "metadata:\n  openclaw:\n    requires:\n      bins: {gh: true}",
    "openclaw is prose": "metadata:\n  openclaw: needs gh",
    "always beside prose": "metadata:\n  openclaw:\n    always: true\n    requires: the gh tool",
    "os is a map": "metadata:\n  openclaw:\n    os: {linux: true}",
}


@pytest.mark.requirement("metadata:unreadable-closes")
def test_metadata_that_cannot_be_read_gates_the_skill_closed(world: World) -> None:
    for name, front in UNREADABLE.items():
        folder = name.replace(" ", "-")
        world.front(folder, f"name: {folder}\ndescription: Should stay closed.\n{front}")

    own = [row for row in world.listing().values() if not row["bundled"]]

    assert len(own) == len(UNREADABLE)
    assert all(row["blockedByMetadata"] and not row["eligible"] for row in own)
    assert world.prompt_names() == list(BUNDLED)
    assert [item["code"] for item in world.problems()] == ["METADATA_UNREADABLE"] * len(own)


@pytest.mark.requirement("metadata:unreadable-closes")
def test_metadata_that_says_nothing_to_us_does_not_gate(world: World) -> None:
    world.front("empty", "name: empty\ndescription: Fine.\nmetadata: {}")
    world.front("others", "name: others\ndescription: Fine.\nmetadata:\n  author: me\n  v: 1.0")

    assert world.ready("empty")
    assert world.ready("others")
