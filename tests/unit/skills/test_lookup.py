import pytest
from tests.rows import each_row

from prowess.errors import SkillNotFoundError
from prowess.skills.catalog import find
from prowess.testing import make_skill


@each_row("asked", ["git-flow", "flow", "Git-Flow", " FLOW ", "git_flow", "gitFlow", "git flow"])
def test_a_skill_is_found_by_name_key_case_or_separators(asked: str) -> None:
    wanted = make_skill("git-flow", key="flow")

    assert find([make_skill("deploy"), wanted], asked) is wanted


def test_an_exact_name_stands_over_every_other_reading() -> None:
    exact = make_skill("ship")
    others = [make_skill("Ship"), make_skill("deploy", key="ship"), make_skill("s-hip")]

    assert find([*others, exact], "ship") is exact


def test_an_exact_key_stands_over_a_name_in_another_case() -> None:
    keyed = make_skill("deploy", key="SHIP")

    assert find([make_skill("ship"), keyed], "SHIP") is keyed


@pytest.mark.parametrize("asked", ["DEPLOY", "d-e-p-l-o-y"])
def test_two_candidates_are_no_match_and_both_are_named(asked: str) -> None:
    skills = [make_skill("Deploy"), make_skill("deploy"), make_skill("review")]

    with pytest.raises(SkillNotFoundError) as caught:
        find(skills, asked)

    assert caught.value.ambiguous
    assert caught.value.candidates == ("Deploy", "deploy")


def test_two_skills_with_one_key_are_no_match() -> None:
    with pytest.raises(SkillNotFoundError) as caught:
        find([make_skill("a", key="ship"), make_skill("b", key="ship")], "ship")

    assert caught.value.candidates == ("a", "b")


def test_a_name_that_is_nearly_right_brings_suggestions() -> None:
    with pytest.raises(SkillNotFoundError) as caught:
        find([make_skill("deploy"), make_skill("review")], "deploi")

    assert caught.value.candidates == ("deploy",)
    assert not caught.value.ambiguous


def test_there_are_at_most_three_suggestions() -> None:
    with pytest.raises(SkillNotFoundError) as caught:
        find([make_skill(f"deploy-{number}") for number in range(5)], "deploy-x")

    assert len(caught.value.candidates) == 3


def test_a_name_that_is_like_no_other_brings_none() -> None:
    with pytest.raises(SkillNotFoundError) as caught:
        find([make_skill("deploy")], "zzz")

    assert caught.value.candidates == ()
