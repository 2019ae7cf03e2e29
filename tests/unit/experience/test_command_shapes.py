"""Commands taken apart as a shell does it."""

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.experience.commands import (
    find_programs,
    find_script,
    is_general,
    split_line,
    summarize_command,
)


@given(st.text(alphabet="ab \"'\\#\n-/=", max_size=24))
@settings(max_examples=50)
def test_the_program_is_the_word_that_a_shell_would_run(command: str) -> None:
    try:
        words = shlex.split(f"tool {command}", comments=True)
    except ValueError:
        words = ["tool"]

    assert words[0] != "tool" or summarize_command(f"tool {command}").name == "tool"


@each_row(
    ("command", "parts"),
    [
        ("a && b; c", ("a", "b", "c")),
        ("echo 'x && y' && b", ("echo 'x && y'", "b")),
        ('git commit -m "a; b" | tee log', ('git commit -m "a; b" | tee log',)),
        ("echo $(a; b)", ("echo $(a; b)",)),
        ("cat <<E\na\nE", ("cat <<E\na\nE",)),
    ],
)
def test_chained_commands_are_several(command: str, parts: tuple[str, ...]) -> None:
    assert split_line(command) == parts


def test_quotes_hide_no_program() -> None:
    assert find_programs("'jq' .a f.json | \"sponge\" f.json") == ("jq", "sponge")
    assert summarize_command("git commit -m 'push it'").name == "git commit"


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("python3 tools/mail.py --to x", "mail.py"),
        ("uv run ./build.sh", "build.sh"),
        ("jq length out.json", ""),
    ],
)
def test_a_script_is_known_by_its_name(command: str, script: str) -> None:
    assert find_script(command) == script


def test_what_any_task_may_need_tells_of_none() -> None:
    assert is_general("curl | jq")
    assert is_general("git add")
    assert not is_general("curl | pandoc")
