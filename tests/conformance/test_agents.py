"""Which skills one agent may use: missing is all, empty is none, a list is those."""

import pytest

from .surfaces import Surface
from .world import Json, World, openclaw

ALL = {"alpha", "beta", "gamma"}


@pytest.fixture(autouse=True)
def _three_skills(world: World) -> None:
    for name in sorted(ALL):
        world.skill(name)


def agents(world: World, *listed: Json, defaults: Json | None = None) -> None:
    """Configure these agents and defaults."""
    world.config({"agents": {"defaults": defaults or {}, "list": list(listed)}})


def allowed(surface: Surface, agent: str | None = None) -> set[str]:
    """Names of our own skills that the agent filter lets through."""
    answers = surface.answers(agent=agent)
    return {
        name
        for name, answer in answers.items()
        if answer.allowed and answer.source != "openclaw-bundled"
    }


@pytest.mark.requirement("agents:main-without-list", "filter:missing-is-all")
def test_without_configuration_the_agent_main_sees_everything(surface: Surface) -> None:
    assert allowed(surface) == ALL
    assert allowed(surface, "main") == ALL


@pytest.mark.requirement("agents:list", "filter:missing-is-all")
def test_a_missing_list_allows_all(world: World, surface: Surface) -> None:
    agents(world, {"id": "writer", "name": "The writer"})

    assert allowed(surface, "writer") == ALL
    assert world.open().skills.agent("writer").name == "The writer"


@pytest.mark.requirement("filter:empty-is-none")
def test_an_empty_list_allows_none(world: World, surface: Surface) -> None:
    agents(world, {"id": "writer", "skills": []})

    answers = surface.answers(agent="writer").values()

    assert not any(a.allowed or a.model_visible or a.command_visible for a in answers)
    assert surface.prompt(agent="writer") == ""


@pytest.mark.requirement("filter:list-is-those")
def test_a_list_allows_exactly_those(world: World, surface: Surface) -> None:
    agents(
        world,
        {"id": "names", "skills": ["gamma", "alpha"]},
        {"id": "blanks", "skills": ["  alpha ", "", "   "]},
        {"id": "unknown", "skills": ["nobody", "alpha"]},
        {"id": "parts", "skills": ["amma", "bet*"]},
    )

    assert allowed(surface, "names") == {"alpha", "gamma"}
    assert allowed(surface, "blanks") == {"alpha"}
    assert allowed(surface, "unknown") == {"alpha"}
    assert allowed(surface, "parts") == set()


@pytest.mark.requirement("agents:defaults-skills", "filter:own-replaces-defaults")
def test_an_own_list_replaces_the_defaults(world: World, surface: Surface) -> None:
    agents(
        world,
        {"id": "heir"},
        {"id": "own", "skills": ["alpha"]},
        {"id": "none", "skills": []},
        defaults={"skills": ["beta"]},
    )

    assert allowed(surface, "heir") == {"beta"}
    assert allowed(surface, "own") == {"alpha"}
    assert allowed(surface, "none") == set()


@pytest.mark.requirement("agents:defaults-skills", "filter:empty-is-none")
def test_empty_defaults_allow_none(world: World, surface: Surface) -> None:
    agents(world, {"id": "heir"}, defaults={"skills": []})

    assert allowed(surface, "heir") == set()


@pytest.mark.requirement("agents:defaults-skills", "agents:main-without-list")
def test_the_defaults_hold_without_any_listed_agent(world: World, surface: Surface) -> None:
    world.config({"agents": {"defaults": {"skills": ["beta"]}}})

    assert allowed(surface) == {"beta"}


@pytest.mark.requirement("filter:name-or-key", "filter:report-says-which")
def test_an_entry_matches_the_name_or_the_key_and_the_report_says_which(world: World) -> None:
    world.skill("delta", metadata=openclaw(skillKey="delta-key"))
    agents(world, {"id": "writer", "skills": ["delta-key", "alpha"]})

    rows = world.listing("--agent", "writer")
    path = world.run("why", "delta", "--agent", "writer").calm()

    assert (rows["alpha"]["matchedBy"], rows["delta"]["matchedBy"]) == ("name", "skillKey")
    assert rows["beta"]["matchedBy"] is None
    assert path.code == 0
    assert "skillKey" in path.out


@pytest.mark.requirement("filter:not-readiness")
def test_readiness_ignores_the_agent_filter(world: World, surface: Surface) -> None:
    agents(world, {"id": "writer", "skills": ["alpha"]})

    answer = surface.answers(agent="writer")["beta"]

    assert (answer.eligible, answer.allowed) == (True, False)
    assert (answer.model_visible, answer.command_visible) == (False, False)


@pytest.mark.requirement("agents:default-flag")
def test_the_default_agent_is_asked_when_none_is_named(world: World, surface: Surface) -> None:
    agents(
        world,
        {"id": "first", "skills": ["alpha"]},
        {"id": "second", "default": True, "skills": ["beta"]},
    )

    assert allowed(surface) == {"beta"}
    assert allowed(surface, "first") == {"alpha"}


@pytest.mark.requirement("agents:default-flag")
def test_the_first_agent_is_asked_when_none_is_the_default(world: World, surface: Surface) -> None:
    agents(world, {"id": "first", "skills": ["alpha"]}, {"id": "second", "skills": ["beta"]})

    assert allowed(surface) == {"alpha"}


@pytest.mark.requirement("agents:unknown-refused", "exit:errors-are-one-sentence")
def test_an_unknown_agent_is_refused_with_one_sentence(world: World) -> None:
    agents(world, {"id": "writer"})

    result = world.run("list", "--agent", "stranger").one_sentence()

    assert result.code == 1
    assert "stranger" in result.err
    assert "writer" in result.err


@pytest.mark.requirement("workspace:agent-second")
def test_an_agent_brings_its_workspace(world: World) -> None:
    desk = world.root / "desk"
    world.skill("at-desk", root=desk / "skills")
    agents(world, {"id": "writer", "workspace": str(desk)})

    document = world.document("list", "--agent", "writer")

    names = {row["name"] for row in document["skills"]}
    assert document["workspaceDir"] == str(desk)
    assert "at-desk" in names
    assert "alpha" not in names


@pytest.mark.requirement("workspace:option-first")
def test_the_workspace_option_wins_over_the_agent(world: World) -> None:
    agents(world, {"id": "writer", "workspace": str(world.root / "desk")})

    document = world.document(
        "list", "--agent", "writer", "--workspace", world.workspace, cwd=world.root
    )

    assert document["workspaceDir"] == str(world.workspace)
    assert "alpha" in {row["name"] for row in document["skills"]}


@pytest.mark.requirement("workspace:current-folder-last")
def test_the_current_folder_is_the_workspace_otherwise(world: World) -> None:
    elsewhere = world.root / "elsewhere"
    world.skill("over-there", root=elsewhere / "skills")

    document = world.document("list", cwd=elsewhere)

    assert document["workspaceDir"] == str(elsewhere)
    assert "over-there" in {row["name"] for row in document["skills"]}


@pytest.mark.requirement("filter:everywhere")
def test_the_filter_reaches_check_snapshot_and_prompt(world: World) -> None:
    agents(world, {"id": "writer", "skills": ["beta"]})

    check = world.document("check", "--agent", "writer")
    snapshot = world.document("snapshot", "--agent", "writer")

    assert {"alpha", "gamma"} <= set(check["agentFiltered"])
    assert check["summary"]["agentFiltered"] == len(check["agentFiltered"])
    assert [skill["name"] for skill in snapshot["skills"]] == ["beta"]
    assert snapshot["skillFilter"] == ["beta"]
    assert world.prompt_names("--agent", "writer") == ["beta"]


@pytest.mark.requirement("filter:unmatched-entries-reported")
def test_an_entry_that_names_no_skill_is_reported(world: World) -> None:
    agents(world, {"id": "writer", "skills": ["alpha", "nobody-here"]})

    assert world.document("check", "--agent", "writer")["agentSkillFilterUnmatched"] == [
        "nobody-here"
    ]
    assert "nobody-here" in world.run("check", "--agent", "writer").out
