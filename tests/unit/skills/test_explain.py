from dataclasses import replace

import pytest

from prowess.skills.agent_filter_snapshot import AgentFilter
from prowess.skills.catalog import Shadowed
from prowess.skills.eligibility import READY, InstallOption, Verdict
from prowess.skills.explanation import (
    Explanation,
    ExplanationStep,
    SkillSituation,
    explain,
    explain_broken,
    explain_shadowed,
    explain_unreached,
)
from prowess.skills.model import Invocation, Requirements, Source, Tier, diagnose
from prowess.skills.prompt import PromptBlock
from prowess.testing import make_skill

SKILL = make_skill("deploy", key="ship")
VISIBLE = SkillSituation(
    skill=SKILL,
    verdict=READY,
    agent_id="main",
    agent_filter=AgentFilter(),
    block=PromptBlock(included=(SKILL,)),
)


def step(explanation: Explanation, stage: str) -> ExplanationStep:
    return next(step for step in explanation.steps if step.stage == stage)


def reason(situation: SkillSituation) -> ExplanationStep:
    found = explain(situation).reason
    assert found is not None
    return found


def blocked(verdict: Verdict) -> ExplanationStep:
    return reason(replace(VISIBLE, verdict=verdict))


def missing(verdict: Requirements, *labels: str) -> str:
    install = tuple(InstallOption(id=label, kind="uv", label=label) for label in labels)
    return blocked(Verdict(missing=verdict, install=install)).fix


def test_a_visible_skill_passes_every_stage() -> None:
    explanation = explain(VISIBLE)

    assert (explanation.name, explanation.agent_id) == ("deploy", "main")
    assert explanation.visible
    assert explanation.reason is None
    assert [step.stage for step in explanation.steps] == [
        "found",
        "parsed",
        "eligible",
        "allowed",
        "model",
        "prompt",
    ]


def test_where_it_was_found_names_the_source() -> None:
    plugin = make_skill(source=Source(tier=Tier.EXTRA, root="/plugins", label="plugin kit"))

    detail = step(explain(replace(VISIBLE, skill=plugin)), "found").detail

    assert plugin.path in detail
    assert "openclaw-extra" in detail
    assert "plugin kit" in detail


def test_what_it_shadows_is_said_but_not_mere_copies() -> None:
    copy = replace(SKILL, path="/copy")
    other = replace(SKILL, path="/other", content_hash="other")
    shadows = (Shadowed(skill=copy, winner=SKILL), Shadowed(skill=other, winner=SKILL))

    detail = step(explain(replace(VISIBLE, shadows=shadows)), "found").detail

    assert "shadows /other" in detail
    assert "/copy" not in detail


def test_a_file_of_the_same_name_that_could_not_be_read_is_said() -> None:
    broken = diagnose("BAD_INDENT", "it leans", path="/broken")

    detail = step(explain(replace(VISIBLE, passed_over=(broken,))), "found").detail

    assert "/broken was passed over (BAD_INDENT: it leans)" in detail


def test_what_was_odd_about_the_text_is_said() -> None:
    odd = make_skill(
        diagnostics=(
            diagnose("COLON_RESCUED", "a colon", line=3),
            diagnose("SIDECAR_UNREADABLE", "a sidecar"),
        )
    )

    detail = step(explain(replace(VISIBLE, skill=odd)), "parsed").detail

    assert "standard" in detail
    assert "COLON_RESCUED at line 3" in detail
    assert detail.endswith("SIDECAR_UNREADABLE")


def test_a_disabled_skill_says_how_to_enable_it() -> None:
    obstacle = blocked(Verdict(disabled=True, blocked_by_allowlist=True))

    assert "skills.entries.ship.enabled" in obstacle.detail
    assert "prowess enable deploy" in obstacle.fix


def test_a_bundled_skill_off_the_list_says_which_list() -> None:
    obstacle = blocked(Verdict(blocked_by_allowlist=True))

    assert "skills.allowBundled" in obstacle.detail
    assert '"ship"' in obstacle.fix


def test_unreadable_metadata_sends_to_the_validator() -> None:
    obstacle = blocked(Verdict(blocked_by_metadata=True, missing=Requirements(bins=("git",))))

    assert "metadata" in obstacle.detail
    assert SKILL.path in obstacle.fix


def test_the_wrong_platform_says_where_the_skill_would_run() -> None:
    obstacle = blocked(Verdict(missing=Requirements(os=("darwin",), bins=("say",))))

    assert obstacle.stage == "eligible"
    assert "os: darwin" in obstacle.detail
    assert "darwin" in obstacle.fix
    assert "skills.nodes" in obstacle.fix


def test_missing_programs_are_installed_by_what_the_author_offers() -> None:
    fix = missing(Requirements(bins=("jq",)), "Install jq (brew)")

    assert fix == "Install jq (brew)"


@pytest.mark.parametrize(
    "wanted", [Requirements(bins=("jq",)), Requirements(any_bins=("jq", "yq"))]
)
def test_missing_programs_without_an_offer_go_on_the_path(wanted: Requirements) -> None:
    fix = missing(wanted)

    assert "jq" in fix
    assert "PATH" in fix


def test_one_of_several_programs_is_enough_and_the_fix_says_so() -> None:
    assert "jq or yq" in missing(Requirements(any_bins=("jq", "yq")))


def test_missing_variables_and_settings_are_named_and_installers_are_not() -> None:
    fix = missing(Requirements(env=("A", "B"), config=("x.y", "z")), "Install jq (brew)")

    assert "set A, B" in fix
    assert "skills.entries.ship.env" in fix
    assert "set x.y in the config; set z in the config" in fix
    assert "Install" not in fix


@pytest.mark.parametrize(
    ("agent_filter", "said"),
    [
        (AgentFilter(), "no list"),
        (AgentFilter(entries=("deploy",)), "own list names it by its name"),
        (
            AgentFilter(entries=("ship",), inherited=True),
            "agents.defaults.skills names it by its skillKey",
        ),
    ],
)
def test_an_allowed_skill_says_what_allowed_it(agent_filter: AgentFilter, said: str) -> None:
    allowed = step(explain(replace(VISIBLE, agent_filter=agent_filter)), "allowed")

    assert allowed.passed
    assert said in allowed.detail


@pytest.mark.parametrize(
    ("inherited", "whose"), [(False, "own list"), (True, "agents.defaults.skills")]
)
def test_a_filtered_skill_says_which_list_leaves_it_out(*, inherited: bool, whose: str) -> None:
    agent_filter = AgentFilter(entries=(), inherited=inherited)

    obstacle = reason(replace(VISIBLE, agent_filter=agent_filter))

    assert obstacle.stage == "allowed"
    assert whose in obstacle.detail
    assert '"deploy"' in obstacle.fix
    assert "main" in obstacle.fix


@pytest.mark.parametrize(
    ("hidden_by", "said"), [("agents/openai.yaml", "agents/openai.yaml"), ("", "its author")]
)
def test_a_skill_kept_from_the_model_says_by_whom_and_who_can_call_it(
    hidden_by: str, said: str
) -> None:
    invocation = Invocation(model=False, hidden_by=hidden_by)

    obstacle = reason(replace(VISIBLE, skill=make_skill(invocation=invocation)))

    assert obstacle.stage == "model"
    assert said in obstacle.detail
    assert "a person" in obstacle.fix


def test_the_first_obstacle_is_the_reason_and_space_is_not_blamed() -> None:
    situation = replace(
        VISIBLE,
        verdict=Verdict(disabled=True),
        agent_filter=AgentFilter(entries=()),
        block=PromptBlock(),
    )

    explanation = explain(situation)

    assert not explanation.visible
    assert reason(situation).stage == "eligible"
    assert [step.stage for step in explanation.steps if not step.passed] == ["eligible", "allowed"]
    assert "prompt" not in [step.stage for step in explanation.steps]


@pytest.mark.parametrize(
    ("chars", "said"), [(None, "whole"), (40, "cut to 40 characters"), (0, "left out")]
)
def test_a_skill_in_the_prompt_says_how_much_of_it_is_there(chars: int | None, said: str) -> None:
    block = PromptBlock(included=(SKILL,), description_chars=chars)

    assert said in step(explain(replace(VISIBLE, block=block)), "prompt").detail


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (PromptBlock(dropped=(SKILL,)), "dropped for space"),
        (PromptBlock(omitted_because="not one fits"), "not one fits"),
    ],
)
def test_a_skill_that_did_not_fit_says_so_and_how_to_make_room(
    block: PromptBlock, said: str
) -> None:
    obstacle = reason(replace(VISIBLE, block=block))

    assert obstacle.stage == "prompt"
    assert said in obstacle.detail
    assert "skills.pinned" in obstacle.fix


@pytest.mark.parametrize(("line", "place"), [(4, "/x/SKILL.md:4:"), (None, "/x/SKILL.md:")])
def test_a_broken_file_is_found_but_not_parsed(line: int | None, place: str) -> None:
    problem = diagnose("BAD_INDENT", "it leans", path="/x/SKILL.md", line=line)
    later = diagnose("NAME_MISSING", "no name", path="/x/SKILL.md")

    explanation = explain_broken("x", "main", [problem, later])

    assert not explanation.visible
    assert [(step.stage, step.passed) for step in explanation.steps] == [
        ("found", True),
        ("parsed", False),
    ]
    assert explanation.steps[1].detail == f"BAD_INDENT at {place} it leans"
    assert explanation.steps[1].fix == problem.fix


def test_a_skill_that_lost_its_name_says_to_whom() -> None:
    lost = replace(SKILL, path="/lost", source=Source(tier=Tier.BUNDLED, root="/bundled"))

    explanation = explain_shadowed(Shadowed(skill=lost, winner=SKILL), "main")

    assert not explanation.visible
    assert explanation.reason is not None
    assert "/lost" in explanation.steps[0].detail
    assert f"shadowed by {SKILL.path}" in explanation.reason.detail
    assert SKILL.name in explanation.reason.fix


def test_a_name_that_a_cut_scan_did_not_reach_is_not_found() -> None:
    problem = diagnose("candidates-truncated", "300 of 900 folders", path="/skills")

    explanation = explain_unreached("x", "main", problem)

    assert not explanation.visible
    assert explanation.reason is not None
    assert explanation.reason.stage == "found"
    assert "/skills" in explanation.reason.detail
    assert "300 of 900 folders" in explanation.reason.detail
    assert explanation.reason.fix == problem.fix
