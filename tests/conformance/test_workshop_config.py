"""How the workshop is set: off unless switched on, limits, profiles, and changes that hold live."""

import pytest

from .workshop_bench import CORRECTION, Bench, settings_of
from .world import Json, World

DEFAULTS: Json = {
    "autoCapture": True,
    "askAgent": True,
    "approvalPolicy": "pending",
    "reviewMode": "hybrid",
    "reviewInterval": 15,
    "reviewMinToolCalls": 8,
    "reviewTimeoutMs": 45000,
    "maxPending": 50,
    "maxSkillBytes": 40000,
}
RANGES = {
    "reviewInterval": (1, 200),
    "reviewMinToolCalls": (1, 500),
    "reviewTimeoutMs": (5000, 180000),
    "maxPending": (1, 200),
    "maxSkillBytes": (1024, 200000),
}
PROFILES = {
    "conservative": (False, "pending", "off"),
    "review-first": (True, "pending", "hybrid"),
    "trusted": (True, "auto", "hybrid"),
    "low-cost": (True, "pending", "heuristic"),
}


@pytest.fixture
def bench(world: World) -> Bench:
    return Bench(world, encoder="none")


@pytest.mark.requirement("workshop:off-unless-set")
@pytest.mark.parametrize(
    "config",
    [
        {},
        {"plugins": {}},
        {"plugins": {"entries": {"skill-workshop": {}}}},
        {"plugins": {"entries": {"skill-workshop": {"config": {"enabled": True}}}}},
        settings_of({}, entry=False),
        settings_of({}, entry="true"),
        settings_of({}, entry=1),
        settings_of({"enabled": False}),
        {"plugins": {"entries": {"skill-workshop": True}}},
        {"plugins": {"entries": []}},
    ],
)
def test_nothing_is_learned_unless_the_entry_is_switched_on(bench: Bench, config: Json) -> None:
    bench.world.config(config)

    assert not bench.runtime.workshop.enabled
    assert bench.runtime.workshop.guidance() == ""
    assert "disabled" in bench.refused("status")
    with bench.runtime.run(session="s1") as run:
        assert run.turn([{"role": "user", "content": CORRECTION}]) == ()
    assert not bench.world.skills.exists()


@pytest.mark.requirement("workshop:defaults")
def test_the_defaults_are_those_of_the_document(bench: Bench) -> None:
    bench.world.config(settings_of({}))

    assert bench.status()["settings"] == DEFAULTS


@pytest.mark.requirement("workshop:clamped")
@pytest.mark.parametrize("key", sorted(RANGES))
def test_a_number_out_of_range_is_clamped_and_reported_once(bench: Bench, key: str) -> None:
    low, high = RANGES[key]

    for given, used in ((low - 1, low), (-1e30, low), (high + 1, high), (10**9, high)):
        bench.world.config(settings_of({key: given}))
        assert bench.status()["settings"] == {**DEFAULTS, key: used}
        shown = bench.world.run("workshop", "status").calm()
        assert shown.text.count(f"skill-workshop.config.{key} ") == 1, str(shown)
    for given in (low, high):
        bench.world.config(settings_of({key: given}))
        assert bench.status()["settings"][key] == given
        assert f"skill-workshop.config.{key} " not in bench.world.run("workshop", "status").text


@pytest.mark.requirement("workshop:wrong-types")
@pytest.mark.parametrize("wrong", ["7", None, [], {}, True, 3.5, ""])
def test_a_value_of_the_wrong_type_takes_the_default(bench: Bench, wrong: object) -> None:
    numbers = () if isinstance(wrong, float) else tuple(RANGES)
    flags = () if isinstance(wrong, bool) else ("autoCapture",)
    keys = (*numbers, *flags, "approvalPolicy", "reviewMode")
    bench.world.config(settings_of(dict.fromkeys(keys, wrong)))

    shown = bench.world.run("workshop", "status").calm()

    assert bench.status()["settings"] == DEFAULTS
    if wrong is not None:
        assert [key for key in keys if shown.text.count(f"config.{key} ") != 1] == []


@pytest.mark.requirement("workshop:clamped", "workshop:json-everywhere")
def test_what_is_wrong_with_the_settings_is_said_to_programs_too(bench: Bench) -> None:
    bench.world.config(settings_of({"maxPending": 0, "reviewMode": "often"}))

    shown = bench.world.run("workshop", "status", "--json").calm()

    assert "config.maxPending" in shown.text
    assert "config.reviewMode" in shown.text


@pytest.mark.requirement("workshop:wrong-types")
@pytest.mark.parametrize("config", [None, [], "all", 7, {"reviewMode": "HYBRID", "unknown": {}}])
def test_a_config_that_is_no_config_is_the_default(bench: Bench, config: object) -> None:
    entry = {"enabled": True, "config": config}
    bench.world.config({"plugins": {"entries": {"skill-workshop": entry}}})

    assert bench.status()["settings"] == DEFAULTS
    assert bench.runtime.workshop.enabled


@pytest.mark.requirement("workshop:live")
def test_a_change_in_the_file_holds_from_the_next_turn(bench: Bench) -> None:
    bench.configure(autoCapture=False)
    assert bench.say(CORRECTION) == []

    bench.configure()
    assert [made["status"] for made in bench.say(CORRECTION)] == ["pending"]

    bench.configure(approvalPolicy="auto")
    learned = bench.say("Next time, remember to water the tall plants before the short ones.")
    # No model and no person read it.
    assert [made["status"] for made in learned] == ["pending"]
    assert bench.status()["settings"]["approvalPolicy"] == "auto"

    bench.world.config(settings_of({}, entry=False))
    assert not bench.runtime.workshop.enabled
    bench.configure(maxSkillBytes=1024)
    too_big = bench.refused("suggest", skillName="big-one", description="Big.", body="x" * 1024)
    assert too_big == "skill exceeds 1024 bytes"


@pytest.mark.requirement("workshop:live")
def test_settings_that_are_taken_away_are_the_defaults_again(bench: Bench) -> None:
    bench.configure(maxSkillBytes=1024, approvalPolicy="auto")
    bench.world.config({"plugins": {"entries": {"skill-workshop": {"enabled": True}}}})

    assert bench.suggest("later", body="- Go on.\n" + "x" * 3000)["status"] == "pending"
    assert bench.status()["settings"] == DEFAULTS


@pytest.mark.requirement("workshop:profiles")
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_enable_writes_the_profiles_of_the_document(world: World, profile: str) -> None:
    world.config({"skills": {"allowBundled": []}, "plugins": {"entries": {"other": {"a": 1}}}})

    result = world.run("workshop", "enable", "--profile", profile).calm()

    assert result.code == 0, str(result)
    written = world.read_config()
    entry = written["plugins"]["entries"]["skill-workshop"]
    capture, policy, mode = PROFILES[profile]
    assert entry["enabled"] is True
    assert entry["config"] == {"autoCapture": capture, "approvalPolicy": policy, "reviewMode": mode}
    assert written["plugins"]["entries"]["other"] == {"a": 1}
    assert written["skills"] == {"allowBundled": []}


@pytest.mark.requirement("workshop:profiles")
def test_enable_keeps_the_other_settings(world: World) -> None:
    world.config(
        '{ // ours\n  plugins: { entries: { "skill-workshop": {'
        ' enabled: false, config: { maxPending: 7, approvalPolicy: "auto" } } } },\n}\n'
    )

    plain = world.run("workshop", "enable").calm()
    policy = world.run("workshop", "status", "--json").json["settings"]["approvalPolicy"]
    profiled = world.run("workshop", "enable", "--profile", "low-cost").calm()

    assert (plain.code, policy, profiled.code) == (0, "auto", 0)
    settings = world.run("workshop", "status", "--json").json["settings"]
    assert settings["maxPending"] == 7
    assert settings["approvalPolicy"] == "pending"


@pytest.mark.requirement("workshop:profiles")
def test_enable_is_told_of_a_dry_run_and_of_nonsense(world: World) -> None:
    world.config({})

    dry = world.run("workshop", "enable", "--profile", "trusted", "--dry-run").calm()
    unknown = world.run("workshop", "enable", "--profile", "reckless").one_sentence()

    assert (dry.code, unknown.code) == (0, 2)
    assert world.read_config() == {}


@pytest.mark.requirement("workshop:plugins-list")
def test_the_plugin_list_says_whether_it_is_on(world: World) -> None:
    def plugins(*args: str) -> Json:
        rows = world.document("plugins", "list", *args)["plugins"]
        return {row["id"]: row["enabled"] for row in rows}

    assert plugins()["skill-workshop"] is False
    assert "skill-workshop" not in plugins("--enabled")

    world.run("workshop", "enable")

    assert plugins("--enabled")["skill-workshop"] is True
    assert "skill-workshop" in world.run("plugins", "list", "--enabled").out
