import pytest
from tests.rows import each_row

from prowess.errors import SkillNotFoundError, UnknownAgentError
from prowess.runtime.route.answer import why
from prowess.runtime.service import SkillsService
from prowess.settings import AgentSettings, Settings
from prowess.skills.model import Diagnostic, Tier, diagnose
from prowess.testing import MemorySources, make_skill, open_memory

BROKEN = diagnose("BAD_INDENT", "it leans", path="/work/skills/Broken/SKILL.md", line=3)


def with_problems(*problems: Diagnostic) -> SkillsService:
    skills = open_memory([make_skill()])
    sources = skills.workspace().sources
    assert isinstance(sources, MemorySources)
    sources.diagnostics = problems
    return skills


def test_a_visible_skill_is_explained_to_the_end() -> None:
    explanation = why(open_memory([make_skill()]), "Deploy")

    assert explanation.visible
    assert (explanation.name, explanation.agent_id) == ("deploy", "main")


def test_a_skill_is_explained_for_the_agent_that_was_named() -> None:
    agents = (AgentSettings(id="main"), AgentSettings(id="writer", skills=()))
    skills = open_memory([make_skill()], settings=Settings(agents=agents))

    explanation = why(skills, "deploy", "writer")

    assert explanation.reason is not None
    assert (explanation.agent_id, explanation.reason.stage) == ("writer", "allowed")


def test_what_is_missing_is_the_reason() -> None:
    explanation = why(open_memory([make_skill(bins=("kubectl",))]), "deploy")

    assert explanation.reason is not None
    assert explanation.reason.stage == "eligible"
    assert "kubectl" in explanation.reason.detail


def test_what_it_shadows_is_part_of_the_explanation() -> None:
    lost = make_skill(tier=Tier.BUNDLED, description="Another text.")
    unrelated = make_skill("review", tier=Tier.BUNDLED, description="Another text.")
    skills = open_memory([lost, unrelated, make_skill(), make_skill("review")])

    detail = why(skills, "deploy").steps[0].detail

    assert lost.path in detail
    assert unrelated.path not in detail


def test_a_broken_file_of_its_name_is_part_of_the_explanation_but_its_own_notes_are_not() -> None:
    skill = make_skill()
    elsewhere = diagnose("BAD_INDENT", "it leans", path="/elsewhere/deploy/SKILL.md")
    own = diagnose("METADATA_UNREADABLE", "unclear", path=skill.path)

    detail = why(with_problems(elsewhere, own), "deploy").steps[0].detail

    assert "/elsewhere/deploy/SKILL.md was passed over" in detail
    assert "METADATA_UNREADABLE" not in detail


@pytest.mark.parametrize("asked", ["ship", "folder"])
def test_a_skill_that_lost_its_name_is_explained_under_its_key_or_folder(asked: str) -> None:
    lost = make_skill(tier=Tier.BUNDLED, key="ship", id="folder", description="Another text.")

    explanation = why(open_memory([lost, make_skill()]), asked)

    assert explanation.reason is not None
    assert "shadowed by" in explanation.reason.detail


@each_row(
    ("path", "asked"),
    [
        ("/work/skills/Broken/SKILL.md", " broken "),
        ("/work/skills/notes.md", "notes"),
        ("/work/skills/notes.md", "Notes.md"),
        ("C:\\skills\\broken\\SKILL.md", "BROKEN"),
        ("/work/skills/broken/", "broken"),
    ],
)
def test_a_broken_file_is_explained_under_the_name_of_its_folder_or_file(
    path: str, asked: str
) -> None:
    skills = with_problems(diagnose("BAD_INDENT", "it leans", path=path))

    explanation = why(skills, asked)

    assert not explanation.visible
    assert explanation.reason is not None
    assert explanation.reason.stage == "parsed"
    assert path in explanation.reason.detail


@pytest.mark.parametrize(
    "problem",
    [
        diagnose("COLON_RESCUED", "a colon", path="/work/skills/other/SKILL.md"),
        diagnose("BAD_INDENT", "it leans", path="/work/skills/others/SKILL.md"),
        diagnose("BAD_INDENT", "it leans", path="/other/skills/broken/SKILL.md"),
    ],
)
def test_a_warning_or_another_file_does_not_explain_a_name_that_nobody_knows(
    problem: Diagnostic,
) -> None:
    with pytest.raises(SkillNotFoundError):
        why(with_problems(problem), "other")


def test_where_the_scan_was_cut_short_an_unknown_name_may_simply_not_have_been_reached() -> None:
    cut = diagnose("skills-truncated", "200 of 300 skills", path="/work/skills")

    explanation = why(with_problems(cut), "other")

    assert explanation.reason is not None
    assert explanation.reason.stage == "found"


def test_a_broken_file_is_a_better_reason_than_a_scan_that_was_cut_short() -> None:
    cut = diagnose("skills-truncated", "200 of 300 skills", path="/work/skills")

    explanation = why(with_problems(cut, BROKEN), "broken")

    assert explanation.reason is not None
    assert explanation.reason.stage == "parsed"


def test_a_skill_that_loaded_stands_over_a_broken_file_of_the_same_name() -> None:
    broken = diagnose("BAD_INDENT", "it leans", path="/elsewhere/deploy/SKILL.md")

    assert why(with_problems(broken, BROKEN), "deploy").visible


def test_an_unknown_agent_is_refused() -> None:
    with pytest.raises(UnknownAgentError):
        why(open_memory([make_skill()]), "deploy", "nobody")
