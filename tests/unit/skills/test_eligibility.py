import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.settings import EntrySettings, NodeSettings, Settings, SkillsSettings
from prowess.skills.eligibility import (
    READY,
    ConfigCheck,
    HostFacts,
    Verdict,
    check,
    is_satisfied,
    missing_text,
    needed_bins,
    needed_env,
)
from prowess.skills.model import InstallSpec, Metadata, Requirements, Skill, Tier
from prowess.testing import make_skill

LINUX = HostFacts(platform="linux")
BINS = st.sets(st.sampled_from(("git", "gh", "jq", "uv"))).map(frozenset)
ANY_SKILL = st.builds(
    lambda bins, any_bins, os, always, readable: make_skill(
        metadata=Metadata(
            always=always,
            readable=readable,
            requires=Requirements(bins=tuple(bins), any_bins=tuple(any_bins), os=os),
            install=(InstallSpec(kind="brew", target="git"),),
        )
    ),
    BINS,
    BINS,
    st.sampled_from(((), ("linux",), ("darwin",))),
    st.booleans(),
    st.booleans(),
)


def host(*, bins: set[str] | None = None, env: set[str] | None = None) -> HostFacts:
    return HostFacts(platform="linux", bins=frozenset(bins or ()), env=frozenset(env or ()))


def configured(entry: EntrySettings) -> Settings:
    return Settings(skills=SkillsSettings(entries={"deploy": entry}))


def node(*platforms: str, bins: tuple[str, ...] = ()) -> Settings:
    machine = NodeSettings(name="mini", platforms=platforms, bins=frozenset(bins))
    return Settings(skills=SkillsSettings(nodes=(machine,)))


def test_a_skill_that_asks_for_nothing_is_ready() -> None:
    verdict = check(make_skill(), LINUX, Settings())

    assert verdict is READY
    assert verdict.eligible


def test_what_is_missing_is_said_by_kind() -> None:
    skill = make_skill(
        bins=("git", "gh"),
        any_bins=("npm", "pnpm"),
        env=("A", "B"),
        config=("x.y",),
        os=("darwin",),
    )

    verdict = check(skill, host(bins={"git"}, env={"A"}), Settings())

    assert verdict == Verdict(
        missing=Requirements(
            bins=("gh",), any_bins=("npm", "pnpm"), env=("B",), config=("x.y",), os=("darwin",)
        ),
        config_checks=(ConfigCheck(path="x.y", satisfied=False),),
    )
    assert not verdict.eligible
    assert verdict.platform_incompatible


def test_a_skill_is_ready_where_all_it_asks_for_is_there() -> None:
    skill = make_skill(
        bins=("git",), any_bins=("npm", "pnpm"), env=("A",), config=("x",), os=("linux", "darwin")
    )

    verdict = check(skill, host(bins={"git", "pnpm"}, env={"A"}), Settings(values={"x": 1}))

    assert verdict.eligible
    assert verdict.config_checks == (ConfigCheck(path="x", satisfied=True),)
    assert not verdict.platform_incompatible


def test_a_skill_that_was_switched_off_is_disabled_under_its_key() -> None:
    skill = make_skill("ship", key="deploy")

    verdict = check(skill, LINUX, configured(EntrySettings(enabled=False)))

    assert (verdict.disabled, verdict.eligible) == (True, False)


def test_switching_a_skill_on_does_not_make_it_ready() -> None:
    assert not check(
        make_skill(bins=("git",)), LINUX, configured(EntrySettings(enabled=True))
    ).eligible


@pytest.mark.parametrize(
    ("allowed", "tier", "blocked"),
    [
        (None, Tier.BUNDLED, False),
        (frozenset(("deploy",)), Tier.BUNDLED, False),
        (frozenset(("ship",)), Tier.BUNDLED, False),
        (frozenset(("other",)), Tier.BUNDLED, True),
        (frozenset(("other",)), Tier.WORKSPACE, False),
    ],
)
def test_only_bundled_skills_need_to_be_on_the_list_of_bundled_ones(
    allowed: frozenset[str] | None, tier: Tier, *, blocked: bool
) -> None:
    skill = make_skill("deploy", tier=tier, key="ship")

    verdict = check(skill, LINUX, Settings(skills=SkillsSettings(allow_bundled=allowed)))

    assert (verdict.blocked_by_allowlist, verdict.eligible) == (blocked, not blocked)


def test_metadata_that_cannot_be_read_keeps_a_skill_closed_even_if_it_says_always() -> None:
    skill = make_skill(metadata=Metadata(readable=False, always=True))

    verdict = check(skill, LINUX, Settings())

    assert (verdict.blocked_by_metadata, verdict.eligible) == (True, False)


def test_always_lifts_requirements_but_never_the_operating_system() -> None:
    requires = Requirements(bins=("git",), any_bins=("a",), env=("B",), config=("c",))
    here = make_skill(metadata=Metadata(always=True, requires=requires))
    elsewhere = make_skill(
        metadata=Metadata(always=True, requires=Requirements(bins=("git",), os=("darwin",)))
    )

    assert check(here, LINUX, Settings()).eligible
    assert check(elsewhere, LINUX, Settings()).missing == Requirements(os=("darwin",))


@pytest.mark.parametrize(
    ("entry", "ready"),
    [
        (EntrySettings(env_names=frozenset(("TOKEN",))), True),
        (EntrySettings(env_names=frozenset(("OTHER",))), False),
        (EntrySettings(has_api_key=True), True),
        (EntrySettings(), False),
    ],
)
def test_a_variable_may_come_from_the_configuration(entry: EntrySettings, *, ready: bool) -> None:
    metadata = Metadata(primary_env="TOKEN", requires=Requirements(env=("TOKEN",)))

    assert check(make_skill(metadata=metadata), LINUX, configured(entry)).eligible is ready


def test_a_configured_key_is_of_no_use_to_a_skill_without_a_primary_variable() -> None:
    settings_ = configured(EntrySettings(has_api_key=True))

    assert not check(make_skill(env=("TOKEN",)), LINUX, settings_).eligible


def test_programs_and_platforms_of_a_remote_node_count() -> None:
    skill = make_skill(bins=("git",), any_bins=("say", "espeak"), os=("darwin",))

    assert check(skill, host(bins={"git"}), node("macOS", bins=("say",))).eligible
    assert check(skill, LINUX, node("windows", bins=("say",))).missing == Requirements(
        bins=("git",), os=("darwin",)
    )


def test_install_options_are_those_of_this_platform() -> None:
    metadata = Metadata(
        requires=Requirements(bins=("jq",)),
        install=(
            InstallSpec(kind="brew", target="jq", id="mac", os=("macos",)),
            InstallSpec(kind="uv", target="jq", id="any"),
        ),
    )
    mac = HostFacts(platform="darwin", bins=frozenset(("brew",)))

    on_linux = check(make_skill(metadata=metadata), LINUX, Settings())
    on_mac = check(make_skill(metadata=metadata), mac, Settings())

    assert [option.id for option in on_linux.install] == ["any"]
    assert [option.id for option in on_mac.install] == ["mac"]


def test_nothing_is_offered_on_a_platform_that_the_skill_is_not_for() -> None:
    metadata = Metadata(
        requires=Requirements(os=("darwin",)), install=(InstallSpec(kind="uv", target="x"),)
    )

    assert check(make_skill(metadata=metadata), LINUX, Settings()).install == ()


@pytest.mark.parametrize(
    ("value", "satisfied"),
    [
        (True, True),
        (False, False),
        (1, True),
        (0, False),
        (0.0, False),
        ("on", True),
        ("  ", False),
        (None, False),
        ([], True),
        ({}, True),
    ],
)
def test_a_config_path_counts_when_it_leads_to_something_switched_on(
    value: object, *, satisfied: bool
) -> None:
    assert is_satisfied({"channels": {"chat": value}}, "channels.chat") is satisfied


@each_row(
    "path",
    ["absent", "channels.absent", "channels.chat.deeper", "", "channels.", "__proto__", "a..b"],
)
def test_a_config_path_that_leads_nowhere_does_not_count(path: str) -> None:
    assert not is_satisfied({"channels": {"chat": True}, "__proto__": 1, "": 1}, path)


@pytest.mark.parametrize("path", ["browser.enabled", "browser.evaluateEnabled"])
def test_the_browser_is_on_unless_somebody_said_otherwise(path: str) -> None:
    key = path.rpartition(".")[2]

    assert is_satisfied({}, path)
    assert is_satisfied({"browser": {}}, path)
    assert not is_satisfied({"browser": {key: False}}, path)


def test_what_is_needed_is_the_union_of_what_skills_ask_for() -> None:
    skills = [
        make_skill("a", bins=("git",), any_bins=("npm", "pnpm"), env=("A",)),
        make_skill("b", bins=("git", "jq"), env=("B",)),
    ]

    assert needed_bins(skills) == {"git", "jq", "npm", "pnpm"}
    assert needed_env(skills) == {"A", "B"}


def test_what_is_missing_is_told_group_by_group() -> None:
    missing = Requirements(
        os=("darwin",), config=("a.b",), env=("T",), any_bins=("x", "y"), bins=("git", "gh")
    )

    assert missing_text(missing) == "os: darwin; bins: git, gh; anyBins: x, y; env: T; config: a.b"
    assert missing_text(Requirements()) == ""


@settings(max_examples=60, deadline=None)
@given(ANY_SKILL, BINS, BINS)
def test_more_programs_never_make_a_skill_less_ready(
    skill: Skill, some: frozenset[str], more: frozenset[str]
) -> None:
    before = check(skill, HostFacts(platform="linux", bins=some), Settings())
    after = check(skill, HostFacts(platform="linux", bins=some | more), Settings())

    assert after.eligible or not before.eligible
    assert set(after.missing.bins) <= set(before.missing.bins)
