from typing import NoReturn

import pytest

from prowess.runtime.service import Workspace
from prowess.settings import EntrySettings, LoadSettings, Precedence, Settings, SkillsSettings
from prowess.skills.model import InstallSpec, Metadata, Requirements, Tier
from prowess.testing import FixedFacts, MemorySources, make_skill

SETTINGS = Settings()


@pytest.fixture
def sources() -> MemorySources:
    return MemorySources((make_skill("deploy", bins=("kubectl",)), make_skill("review")))


@pytest.fixture
def facts() -> FixedFacts:
    return FixedFacts()


@pytest.fixture
def workspace(sources: MemorySources, facts: FixedFacts) -> Workspace:
    return Workspace("/work", sources, lambda: facts)


def test_the_state_is_built_on_first_use_and_then_kept(
    workspace: Workspace, sources: MemorySources
) -> None:
    first, second = workspace.state(SETTINGS), workspace.state(SETTINGS)

    assert first is second
    assert sources.scans == 1
    assert list(first.catalog.winners) == ["deploy", "review"]
    assert [verdict.eligible for verdict in first.verdicts.values()] == [False, True]


def test_looking_again_at_what_did_not_change_gives_the_same_state(workspace: Workspace) -> None:
    assert workspace.refresh(SETTINGS) is workspace.refresh(SETTINGS)


def test_a_new_program_is_seen_by_looking_again(workspace: Workspace, facts: FixedFacts) -> None:
    before = workspace.state(SETTINGS)
    facts.bins = frozenset(("kubectl",))

    after = workspace.refresh(SETTINGS)

    assert after.catalog is before.catalog
    assert after.verdicts["deploy"].eligible


def test_a_program_that_nobody_asked_for_changes_nothing(
    workspace: Workspace, facts: FixedFacts
) -> None:
    before = workspace.state(SETTINGS)
    facts.bins = frozenset(("terraform",))

    assert workspace.refresh(SETTINGS) is before


def test_only_a_skill_that_changed_is_judged_again(
    workspace: Workspace, sources: MemorySources
) -> None:
    before = workspace.state(SETTINGS)
    sources.skills = (sources.skills[0], make_skill("review", description="Rewritten."))

    after = workspace.refresh(SETTINGS)

    assert after.verdicts["deploy"] is before.verdicts["deploy"]
    assert after.catalog.winners["review"].description == "Rewritten."


def test_another_configuration_builds_the_state_anew(workspace: Workspace) -> None:
    before = workspace.state(SETTINGS)
    switched_off = Settings(skills=SkillsSettings(entries={"review": EntrySettings(enabled=False)}))

    after = workspace.state(switched_off)

    assert before.verdicts["review"].eligible
    assert after.verdicts["review"].disabled
    assert after.settings is switched_off


def test_the_configured_precedence_decides_who_wins() -> None:
    sources = MemorySources((make_skill(tier=Tier.BUNDLED), make_skill(tier=Tier.WORKSPACE)))
    turned = Settings(skills=SkillsSettings(load=LoadSettings(precedence=Precedence.OPENPOCKET)))
    workspace = Workspace("/work", sources, FixedFacts)

    plain = workspace.state(SETTINGS).catalog.skills[0]
    other = workspace.state(turned).catalog.skills[0]

    assert (plain.source.tier, other.source.tier) == (Tier.WORKSPACE, Tier.BUNDLED)


def test_whether_homebrew_is_there_is_always_asked() -> None:
    metadata = Metadata(
        requires=Requirements(bins=("jq",)),
        install=(
            InstallSpec(kind="uv", target="jq", id="uv"),
            InstallSpec(kind="brew", target="jq", id="brew"),
        ),
    )
    sources = MemorySources((make_skill(metadata=metadata),))
    workspace = Workspace("/work", sources, lambda: FixedFacts(bins=frozenset(("brew",))))

    verdict = workspace.state(SETTINGS).verdicts["deploy"]

    assert [option.id for option in verdict.install] == ["brew"]


def test_requirements_of_a_skill_that_lost_its_name_are_not_asked_for() -> None:
    sources = MemorySources(
        (make_skill(tier=Tier.BUNDLED, env=("OLD",)), make_skill(env=("TOKEN",)))
    )
    facts = FixedFacts(env=frozenset(("OLD", "TOKEN")))
    workspace = Workspace("/work", sources, lambda: facts)

    assert workspace.state(SETTINGS).facts.env == {"TOKEN"}


def test_the_machine_is_not_looked_at_where_no_skill_asks_anything_of_it() -> None:
    def look() -> NoReturn:
        raise AssertionError("somebody looked")

    workspace = Workspace("/work", MemorySources((make_skill(),)), look)

    assert workspace.state(SETTINGS).verdicts["deploy"].eligible
