"""Which names a file from a stranger may have, on every system alike."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.safety.paths import (
    PathRefused,
    check_all,
    collision_key,
    segments,
    shown,
    support_file,
)

REFUSED = [
    ("", "empty"),
    ("/etc/passwd", "absolute"),
    ("\\windows\\x", "absolute"),
    ("//server/share/x", "unc"),
    ("\\\\server\\share\\x", "unc"),
    ("\\\\?\\C:\\x", "unc"),
    ("C:x", "drive"),
    ("c:/x", "drive"),
    ("../x", "segment"),
    ("a/../b", "segment"),
    ("a\\..\\b", "segment"),
    ("./a", "segment"),
    ("a//b", "segment"),
    ("a/", "segment"),
    ("..", "segment"),
    ("\uff0e\uff0e/x", "segment"),
    ("\u2025/x", "segment"),
    ("a\uff0fb", "segment"),
    ("a\0b", "invisible"),
    ("a\nb", "invisible"),
    ("a\x1b[31mb", "invisible"),
    ("a\x7fb", "invisible"),
    ("a\u202etxt.exe", "invisible"),
    ("a\u2066b", "invisible"),
    ("a\u200bb", "invisible"),
    ("a\u200db", "invisible"),
    ("a\ufeffb", "invisible"),
    ("a\u3164b", "invisible"),
    ("a\ufe0fb", "invisible"),
    ("a\u00a0b", "invisible"),
    ("a\U000e0041b", "invisible"),
    ("a\udc80b", "surrogate"),
    ("CON", "reserved"),
    ("nul", "reserved"),
    ("x/aux.txt", "reserved"),
    ("aux .txt", "reserved"),
    ("COM1", "reserved"),
    ("lpt9.tar.gz", "reserved"),
    ("LPT\u00b9", "reserved"),
    ("com\u00b3.md", "reserved"),
    ("conin$", "reserved"),
    ("\uff23\uff2f\uff2e", "reserved"),
    ("a.", "edge"),
    ("a /b", "edge"),
    (" a", "edge"),
    ("...", "edge"),
    ("x..", "edge"),
    ("a/b:c", "stream"),
    ("SKILL.md:hidden", "stream"),
    *((f"a{letter}b", "character") for letter in '<>"|?*'),
    ("x" * 256, "long"),
    ("\u00e9" * 128, "long"),
    ("/".join(["x" * 60] * 4), "long"),
    ("/".join("x" * 13), "deep"),
]


@each_row(("path", "reason"), REFUSED)
def test_a_name_that_is_not_portable_is_refused_with_its_rule(path: str, reason: str) -> None:
    with pytest.raises(PathRefused) as refused:
        segments(path)

    assert refused.value.reason == reason
    assert str(refused.value).isprintable()


@each_row(
    ("path", "steps"),
    [
        ("SKILL.md", ("SKILL.md",)),
        ("a/b\\c", ("a", "b", "c")),
        (".hidden/..x", (".hidden", "..x")),
        ("console/com/com10.md", ("console", "com", "com10.md")),
        ("cafe\u0301/\u65e5\u672c\uff1a\u8a9e.md", ("cafe\u0301", "\u65e5\u672c\uff1a\u8a9e.md")),
        ("x" * 240, ("x" * 240,)),
        ("/".join("x" * 12), ("x",) * 12),
    ],
)
def test_an_honest_name_is_split_at_both_slashes(path: str, steps: tuple[str, ...]) -> None:
    assert segments(path) == steps


def test_an_operator_may_allow_deeper_paths() -> None:
    assert len(segments("/".join("x" * 13), max_depth=13)) == 13


def test_a_message_never_carries_what_a_terminal_would_obey() -> None:
    assert shown("a\x1b[2J\u202e\udc80\u3164b\n") == "a\\x1b[2J\\u202e\\x80\\u3164b\\n"
    assert len(shown("x" * 9000)) < 200


@each_row(
    ("paths", "reason"),
    [
        (["a", "a"], "duplicate"),
        (["a/b", "a\\b"], "duplicate"),
        (["SKILL.md", "skill.md"], "clash"),
        (["caf\u00e9", "cafe\u0301"], "clash"),
        (["\u03b1\u0345\u0301", "\u0391\u0301\u0345"], "clash"),
        (["stra\u00dfe", "STRASSE"], "clash"),
        (["References/a", "references/b"], "clash"),
        (["a", "a/b"], "file-and-folder"),
        (["a/b", "a"], "file-and-folder"),
        (["A/b", "a"], "clash"),
    ],
)
def test_two_files_that_need_one_place_are_refused(paths: list[str], reason: str) -> None:
    with pytest.raises(PathRefused) as refused:
        check_all(paths)

    assert refused.value.reason == reason


def test_a_folder_of_its_own_may_hold_files_but_not_be_one() -> None:
    assert check_all(["a/b"], folders=["a", "c"]) == (("a", "b"),)
    with pytest.raises(PathRefused, match="folder too"):
        check_all(["a"], folders=["a"])
    with pytest.raises(PathRefused, match="same file"):
        check_all(["a/b"], folders=["A"])


def test_files_side_by_side_keep_their_order() -> None:
    assert check_all(["b/c", "a", "b/a"]) == (("b", "c"), ("a",), ("b", "a"))


def test_a_support_file_lies_inside_one_of_four_folders() -> None:
    assert support_file("references/deep/x.md") == ("references", "deep", "x.md")
    for path in ("SKILL.md", "references", "other/x", "References/x", "references/../SKILL.md"):
        with pytest.raises(PathRefused):
            support_file(path)


def steps_or_refusal(path: str) -> tuple[str, ...] | str:
    try:
        return segments(path)
    except PathRefused as refused:
        return str(refused)


@given(st.text())
def test_any_name_is_refused_or_is_plain_steps_that_split_the_same_everywhere(path: str) -> None:
    steps = steps_or_refusal(path)

    if isinstance(steps, str):
        assert steps.isprintable()
        return
    assert steps == segments("/".join(steps)) == segments("\\".join(steps))
    assert not {"", ".", ".."} & set(steps)
    assert ":" not in path


@given(st.text())
def test_the_key_is_the_same_for_every_spelling_of_one_name(name: str) -> None:
    key = collision_key(name)

    assert collision_key(unicodedata.normalize("NFD", name)) == key
    assert collision_key(unicodedata.normalize("NFC", name)) == key


@each_row(
    ("path", "problem"), [("caf\udce9", "is not UTF-8."), ("a\ud83d", "holds a lone surrogate")]
)
def test_a_name_from_the_disk_and_half_a_character_are_told_apart(path: str, problem: str) -> None:
    with pytest.raises(PathRefused, match=problem):
        segments(path)
