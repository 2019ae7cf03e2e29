r"""Placeholders in a skill's text: what is filled, what stays, and what can never happen."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.skills.invocation import COMMANDS_NOT_RUN, TOO_MUCH, argument_names, fill, split_words
from prowess.testing import make_skill

TRICKY = st.text(
    alphabet=st.characters() | st.sampled_from("$0123[]{}\\`!\"' \nABGMNRSTUE"), max_size=80
)
HEADED = "\n\n## User input\n\n"


@each_row(
    ("body", "filled"),
    [
        ("all: $ARGUMENTS.", 'all: one "two three".'),
        ("$ARGUMENTS[0]|$ARGUMENTS[1]", "one|two three"),
        ("$0|$1", "one|two three"),
        ("$0: a$0 and $0b", "one: aone and $0b"),
        ("$0, then $1.", "one, then two three."),
        ("first $0 then $2", "first one then $2"),
        ("$0 and $ARGUMENTS[7]", "one and $ARGUMENTS[7]"),
        ("$0 and $ARGUMENTS[9999999999999]", "one and $ARGUMENTS[9999999999999]"),
        ("$0 costs $1.50, $0,99, $1M and $1,000", "one costs $1.50, $0,99, $1M and $1,000"),
        ("$0 in $ARGUMENTS_FILE", "one in $ARGUMENTS_FILE"),
        ("$0 $HOME ${HOME} ${0} $(pwd) $name", "one $HOME ${HOME} ${0} $(pwd) $name"),
    ],
)
def test_words_and_the_whole_are_filled_in(body: str, filled: str) -> None:
    assert fill(body, 'one "two three"').text == filled


@pytest.mark.parametrize(
    ("body", "filled"),
    [
        ("$ARGUMENTS", ""),
        ("$0 and $ARGUMENTS[0] cost $5", "$0 and $ARGUMENTS[0] cost $5"),
        ("for $file", "for "),
    ],
)
def test_without_arguments_only_numbers_stay(body: str, filled: str) -> None:
    assert fill(body, "", names=("file",)).text == filled


@pytest.mark.parametrize(
    ("body", "filled"),
    [
        (r"$0 \$0 \$1.50 \$ARGUMENTS \$ARGUMENTS[0]", "x $0 $1.50 $ARGUMENTS $ARGUMENTS[0]"),
        (r"$0 \$file \${CLAUDE_SKILL_DIR}", "x $file ${CLAUDE_SKILL_DIR}"),
        (r"$0 echo \"\$HOME\" \$files", r"x echo \"\$HOME\" \$files"),
    ],
)
def test_a_backslash_keeps_a_placeholder_literal(body: str, filled: str) -> None:
    values = {"CLAUDE_SKILL_DIR": "/skill"}

    assert fill(body, "x", names=("file",), values=values).text == filled


def test_declared_names_stand_for_words_by_position() -> None:
    names = ("issue", "branch", "issue-id")

    filled = fill(
        "$issue on $branch: $issue-$branch, $issue-id, $issues, $Issue", "42 fix 7", names=names
    )

    assert filled.text == "42 on fix: 42-fix, 7, $issues, $Issue"


def test_a_name_that_is_declared_twice_has_its_first_place() -> None:
    assert fill("$a", "x y", names=("a", "a")).text == "x"


@each_row(
    ("declared", "names"),
    [
        (["file", "branch"], ("file", "branch")),
        ("file branch", ("file", "branch")),
        ("file, branch", ("file", "branch")),
        ([{"name": "file", "description": "Which."}, {"text": "?"}], ("file", "")),
        (["HOME", "file"], ("", "file")),
        (["0", "a b", "x" * 65, None, "ok-name"], ("", "", "", "", "ok-name")),
        (["名前"], ("名前",)),
        (17, ()),
        (None, ()),
    ],
)
def test_names_are_declared_as_a_list_or_as_words(
    declared: Any,  # noqa: ANN401 - whatever YAML holds
    names: tuple[str, ...],
) -> None:
    assert argument_names(make_skill(fields={"arguments": declared})) == names


def test_a_skill_that_declares_nothing_has_no_names() -> None:
    assert argument_names(make_skill()) == ()


def test_a_variable_of_the_shell_stays_although_it_was_declared() -> None:
    names = argument_names(make_skill(fields={"arguments": ["HOME", "file"]}))

    assert fill("$HOME/$file", "a b", names=names).text == "$HOME/b"


def test_what_the_host_knows_is_filled_and_the_rest_stays() -> None:
    values = {"CLAUDE_SESSION_ID": "s1", "CLAUDE_EFFORT": ""}

    filled = fill("${CLAUDE_SESSION_ID} ${CLAUDE_EFFORT} ${CLAUDE_NEWS}", "", values=values)

    assert filled.text == "s1 ${CLAUDE_EFFORT} ${CLAUDE_NEWS}"


@pytest.mark.parametrize("body", ["Do it.", "Do it.\n", "Costs $5.00.", "Only ${CLAUDE_EFFORT}."])
def test_arguments_that_no_placeholder_took_are_put_below(body: str) -> None:
    filled = fill(body, "now\n  please", values={"CLAUDE_EFFORT": "high"})

    assert filled.text.endswith(f".{HEADED}now\n  please")


def test_an_empty_text_is_only_the_input() -> None:
    assert fill("", "now").text == "## User input\n\nnow"


def test_nothing_is_put_below_without_arguments() -> None:
    assert fill("Do it.\n", "").text == "Do it.\n"


@given(TRICKY)
def test_an_argument_is_never_expanded_again(arguments: str) -> None:
    values = {"CLAUDE_SESSION_ID": "secret"}

    filled = fill("<$ARGUMENTS>", arguments, names=("file",), values=values)

    assert filled.text == f"<{arguments}>"


def test_a_word_is_never_expanded_again() -> None:
    arguments = r"'$1 ${CLAUDE_SESSION_ID} \1 $ARGUMENTS' $0"

    filled = fill("$0|$1", arguments, values={"CLAUDE_SESSION_ID": "s"})

    assert filled.text == r"$1 ${CLAUDE_SESSION_ID} \1 $ARGUMENTS|$0"


def test_a_value_is_never_expanded_again() -> None:
    values = {"CLAUDE_SKILL_DIR": "/$0/${CLAUDE_SKILL_DIR}"}

    assert (
        fill("${CLAUDE_SKILL_DIR} $0", "x", values=values).text == f"{values['CLAUDE_SKILL_DIR']} x"
    )


@each_row(
    "commands",
    [
        "!`git diff $0`",
        "(!`git log $ARGUMENTS`)",
        "```!\ngit diff $0\n```",
        "  ````!\ngit diff $0\n  ````",
        "```!sh\ngit diff $0",
    ],
)
def test_commands_are_not_run_and_take_no_arguments(commands: str) -> None:
    filled = fill(f"For $0:\n{commands}", "x")

    assert filled.text == f"For x:\n{commands}"
    assert filled.notes == (COMMANDS_NOT_RUN,)


@pytest.mark.parametrize("prose", ["Stop!`$0`", "```sh\necho $0\n```", "`!$0`"])
def test_other_code_is_filled_without_a_note(prose: str) -> None:
    assert fill(prose, "x").text == prose.replace("$0", "x")
    assert fill(prose, "x").notes == ()


def test_behind_a_fence_of_commands_placeholders_are_filled_again() -> None:
    assert fill("```!\n$0\n```\n$0", "x").text == "```!\n$0\n```\nx"


@each_row(
    ("text", "words"),
    [
        ("", ()),
        ("  a  b\n\tc ", ("a", "b", "c")),
        ("\"a b\" 'c d'", ("a b", "c d")),
        ("pre\"a b\"'c'post", ("prea bcpost",)),
        ("'' \"\" x", ("", "", "x")),
        (r'"say \"hi\"" a\ b \"', ('say "hi"', "a b", '"')),
        (r"C:\temp\new \\server\share", (r"C:\temp\new", r"\\server\share")),
        ("it's late", ("it's", "late")),
        ('a "b c', ("a", '"b', "c")),
        ("a; b | c $d *", ("a;", "b", "|", "c", "$d", "*")),
        ("end\\", ("end\\",)),
    ],
)
def test_words_are_split_as_a_shell_does(text: str, words: tuple[str, ...]) -> None:
    assert split_words(text) == words


@given(TRICKY)
def test_splitting_takes_any_text(text: str) -> None:
    words = split_words(text)

    assert sum(map(len, words)) <= len(text)


def test_a_text_that_repeats_its_arguments_cannot_grow_without_end() -> None:
    filled = fill("$ARGUMENTS" * 20_000, "x" * 100_000)

    assert len(filled.text) < 2_000_000
    assert filled.notes == (TOO_MUCH,)


def test_long_arguments_are_taken_whole() -> None:
    arguments = "word " * 500_000 + "end"

    assert fill("$ARGUMENTS", arguments).text == arguments


@each_row(
    "body",
    ["!`" * 100_000, "```!\n" * 50_000, "$" * 200_000, "\\$" * 100_000, "$a-" * 60_000,
     " " * 200_000 + "`", "`" * 200_000, "$ARGUMENTS[" * 20_000, "${CLAUDE_" * 20_000],
)  # fmt: skip
def test_a_hostile_text_is_read_in_one_go(body: str) -> None:
    names = tuple("a-" * n + "a" for n in range(1, 32))

    assert fill(body, "x y", names=names).text.count("x y") >= 1


@pytest.mark.parametrize(
    "arguments", ["'" * 200_001, '"\\' * 100_000, "\\" * 200_000, "a'b\"" * 50_000]
)
def test_hostile_arguments_are_read_in_one_go(arguments: str) -> None:
    assert fill("$0", arguments).text
