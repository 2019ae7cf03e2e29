"""What a person is shown before they say yes: all of it at once, and nothing hidden."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.agents.chat_tools import (
    COLUMNS,
    ROWS,
    NotShown,
    fold_change,
    fold_command,
    rows,
    unseen,
)


def test_a_plain_command_is_shown_as_it_is() -> None:
    command = "cd src\n  ls -l | grep 'x'"

    assert fold_command(command) == command


def test_gaps_are_folded_so_that_nothing_is_pushed_off_the_screen() -> None:
    shown = fold_command("touch a" + "\n" * 301 + "ls" + " " * 500 + "; rm b")

    assert shown == "touch a\n⟦300 blank lines⟧\nls⟦500 spaces⟧; rm b"


def test_gaps_at_both_ends_are_folded() -> None:
    assert fold_command("\n" * 99 + "ls" + "\n" * 99) == "⟦99 blank lines⟧\nls\n⟦99 blank lines⟧"


@pytest.mark.parametrize("command", ["x" * 2_001, "ls\n" * 21, "a b " * 499, "字" * 900])
def test_a_command_that_fills_more_than_a_screen_is_refused(command: str) -> None:
    with pytest.raises(NotShown, match="too long to be judged"):
        fold_command(command)


@each_row(
    ("hidden", "name"),
    [
        ("\x1b[2K", "U+001B"),
        ("\r", "U+000D"),
        ("\u202e", "RIGHT-TO-LEFT OVERRIDE"),
        ("\u200b", "ZERO WIDTH SPACE"),
        ("\u3164", "HANGUL FILLER"),
        ("\u00a0", "NO-BREAK SPACE"),
        ("\ud800", "U+D800"),
        ("⟦9 spaces⟧", "U+27E6"),
    ],
)
def test_a_command_with_what_cannot_be_seen_is_refused_by_name(hidden: str, name: str) -> None:
    with pytest.raises(NotShown) as caught:
        fold_command(f"ls {hidden} x")

    assert name in str(caught.value)


@given(st.text(max_size=300))
def test_what_is_shown_fits_and_hides_nothing(command: str) -> None:
    try:
        shown = fold_command(command)
    except NotShown:
        return

    assert rows(shown, COLUMNS) <= ROWS
    assert not unseen(shown.replace("⟦", "").replace("⟧", ""))
    words = "".join(command.split())
    assert all(letter in shown for letter in words)


def test_a_change_spells_out_what_cannot_be_seen() -> None:
    shown = fold_change(["+a\u202eb", *["+"] * 50, "+c\x1b"])

    assert shown == "+a⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧b\n+⟦50 blank lines⟧\n+c⟦U+001B⟧"


@pytest.mark.parametrize("lines", [["+x"] * 251, ["+" + "x" * 17_000]])
def test_a_change_without_an_end_is_refused(lines: list[str]) -> None:
    with pytest.raises(NotShown, match="too long to be judged"):
        fold_change(lines)
