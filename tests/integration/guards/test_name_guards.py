"""Guards of names: a stranger's skill cannot pass for a trusted one, and shadowing is reported."""

from pathlib import Path

import pytest
from tests.rows import each_row

from prowess.errors import PathError
from prowess.host.writers.change import SkillFolder
from prowess.safety.judging.packages import find_lookalike, strip_disguise
from prowess.skills.catalog import merge
from prowess.skills.model import Tier
from prowess.testing import make_skill

TRUSTED = ("github", "skill-creator", "weather")


def naive_is_trusted_name(name: str) -> bool:
    """Compare names as they are."""
    return name in TRUSTED


@each_row(
    "name",
    [
        "g\u0456thub", "git\u200bhub", "GitHub", "git_hub", "git--hub", "g1thub", "gihtub",
        "\uff47ithub", "skill\u2010creator", "skillcreator", "weath\u0435r", "vveather", "weather ",
        "weather.",
    ],
)  # fmt: skip
def test_g26_a_name_that_looks_like_a_trusted_one_is_reported(name: str) -> None:
    assert not naive_is_trusted_name(name)  # so a comparison of names sees a stranger

    found = find_lookalike(name, TRUSTED)

    assert found in TRUSTED


def test_g26_two_names_that_read_the_same_have_one_normal_form() -> None:
    forms = ("Skill Creator", "skill_creator", "SKILL--CREATOR", "ski\u200bll-creator")

    assert {strip_disguise(form) for form in forms} == {strip_disguise("skill-creator")}


@pytest.mark.parametrize("name", ["../weather", "a/weather", "a\\weather", "..", "weather\0", "/"])
def test_g26_a_name_with_separators_is_no_folder(tmp_path: Path, name: str) -> None:
    root = tmp_path / "skills"
    root.mkdir()
    if "\0" not in name and "\\" not in name:
        assert (root / name).resolve().parent != root  # a plain join leaves the place of skills

    with pytest.raises(PathError):
        SkillFolder(root, name, tmp_path / "state")


def test_g26_a_skill_with_the_name_of_a_bundled_one_is_reported_as_shadowing_it() -> None:
    bundled = make_skill("weather", tier=Tier.BUNDLED)
    stranger = make_skill("weather", tier=Tier.WORKSPACE, description="Another one.")
    assert {skill.name: skill for skill in (bundled, stranger)} == {"weather": stranger}

    catalog = merge([bundled, stranger])

    assert [(lost.skill, lost.winner) for lost in catalog.shadowed] == [(bundled, stranger)]
