"""Slash commands of skills: who gets one, what it is called, and where it leads."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.skills.commands import RESERVED, ToolDispatch, build_commands, command_name
from prowess.skills.model import Invocation, Skill, Tier
from prowess.testing import make_skill

NAMES = st.text(alphabet=st.characters() | st.sampled_from("abAB_- 1"), min_size=1, max_size=40)


def _names(*skills: str, reserved: tuple[str, ...] = ()) -> list[str]:
    return [c.name for c in build_commands([make_skill(name) for name in skills], reserved)]


def _tool_skill(**fields: object) -> Skill:
    skill = make_skill("notify", fields=fields)
    return replace(skill, invocation=Invocation(tool="send_note"))


@each_row(
    ("skill", "name"),
    [
        ("deploy", "deploy"),
        ("Code Review", "code_review"),
        ("code-review", "code_review"),
        ("a--b__c  d", "a_b_c_d"),
        ("_-trim-_", "trim"),
        ("plugin:thing", "plugin_thing"),
        ("Übersicht", "bersicht"),
        ("部署", "skill"),
        ("---", "skill"),
        ("x" * 40, "x" * 32),
        ("x" * 31 + "-tail", "x" * 31 + "_"),
    ],
)
def test_a_name_is_made_of_what_channels_take(skill: str, name: str) -> None:
    assert command_name(skill) == name


@given(st.lists(NAMES, max_size=12), st.lists(NAMES, max_size=4))
def test_names_are_always_valid_and_never_given_twice(
    names: list[str], reserved: list[str]
) -> None:
    found = [c.name for c in build_commands(map(make_skill, names), reserved)]

    assert len(found) == len(set(found)) == len(names)
    assert all(re.fullmatch("[a-z0-9_]{1,32}", name) for name in found)
    assert not {name.lower() for name in reserved} & set(found)


def test_a_taken_name_is_numbered_in_the_order_of_the_skills() -> None:
    assert _names("deploy", "Deploy", "DEPLOY") == ["deploy", "deploy_2", "deploy_3"]


def test_a_number_that_a_skill_has_by_itself_is_passed_over() -> None:
    assert _names("deploy-2", "deploy", "Deploy") == ["deploy_2", "deploy", "deploy_3"]


def test_a_long_name_makes_room_for_its_number() -> None:
    names = _names(*["y" * 32] * 10)

    assert names[1] == "y" * 30 + "_2"
    assert names[9] == "y" * 29 + "_10"


@pytest.mark.parametrize("reserved", ["review", "Review", "/review"])
def test_a_reserved_name_is_never_given_away(reserved: str) -> None:
    assert _names("review", reserved=(reserved,)) == ["review_2"]


def test_a_reserved_name_with_a_hyphen_is_one_with_an_underscore() -> None:
    assert _names("add-dir", reserved=("add-dir",)) == ["add_dir_2"]


def test_what_the_chat_and_the_harnesses_answer_is_reserved_by_default() -> None:
    assert {"help", "skill", "model", "compact", "login", "whoami"} <= RESERVED
    assert [c.name for c in build_commands([make_skill("help")])] == ["help_2"]


def test_after_the_last_number_comes_an_x_and_names_stay_different() -> None:
    names = _names(*["skill-of-a-very-long-name-to-number"] * 1_003)

    assert names[998].endswith("_999")
    assert names[999] == "skill_of_a_very_long_name_to_n_x"
    assert len(set(names)) == 1_003
    assert max(map(len, names)) == 32


def test_ten_thousand_skills_of_one_name_are_named_at_once() -> None:
    names = _names(*["same"] * 10_000)

    assert len(set(names)) == 10_000


def test_only_skills_that_a_person_may_call_have_a_command() -> None:
    skills = [make_skill("open"), make_skill("closed", user=False), make_skill("own", model=False)]

    commands = build_commands(skills)

    assert [(c.skill_name, c.model_visible) for c in commands] == [("open", True), ("own", False)]


def test_a_command_says_all_about_its_skill() -> None:
    skill = make_skill("deploy", description="  Ships.\n", tier=Tier.MANAGED)
    skill = replace(skill, invocation=Invocation(argument_hint="[target]"))

    (command,) = build_commands([skill])

    assert (command.description, command.argument_hint) == ("Ships.", "[target]")
    assert (command.skill_file, command.source_id) == (skill.path, "openclaw-managed")
    assert (command.skill, command.dispatch, command.problems) == (skill, None, ())


def test_a_description_is_whole_and_falls_back_to_the_name() -> None:
    long, blank = build_commands(
        [make_skill("long", description="x" * 900), make_skill("blank", description=" ")]
    )

    assert len(long.description) == 900
    assert blank.description == "blank"


@pytest.mark.parametrize("written", [None, "raw", "RAW"])
def test_a_skill_with_a_tool_goes_straight_to_it(written: str | None) -> None:
    (command,) = build_commands([_tool_skill(**{"command-arg-mode": written})])

    assert command.dispatch == ToolDispatch(kind="tool", tool_name="send_note", arg_mode="raw")
    assert command.problems == ()


@pytest.mark.parametrize("key", ["command-arg-mode", "command_arg_mode", "commandArgMode"])
def test_an_unknown_argument_mode_is_raw_and_a_problem(key: str) -> None:
    (command,) = build_commands([_tool_skill(**{key: "parsed"})])

    assert command.dispatch is not None
    assert command.dispatch.arg_mode == "raw"
    assert len(command.problems) == 1
    assert "parsed" in command.problems[0]


@pytest.mark.parametrize(("kind", "words"), [("tool", "no command-tool"), ("agent", "not known")])
def test_a_dispatch_that_leads_nowhere_is_a_problem(kind: str, words: str) -> None:
    (command,) = build_commands([make_skill(fields={"command-dispatch": kind})])

    assert command.dispatch is None
    assert words in command.problems[0]


def test_a_name_belongs_to_the_highest_source_then_to_whoever_is_called_so() -> None:
    lower = make_skill("deploy prod", tier=Tier.MANAGED)
    own = make_skill("deploy-prod", tier=Tier.WORKSPACE)
    alike = make_skill("\u00e9-notes", tier=Tier.WORKSPACE)
    plain = make_skill("notes", tier=Tier.WORKSPACE)

    names = {one.skill_name: one.name for one in build_commands([lower, alike, own, plain])}

    assert names == {
        "deploy prod": "deploy_prod_2",
        "\u00e9-notes": "notes_2",
        "deploy-prod": "deploy_prod",
        "notes": "notes",
    }
