"""A task's name: readable in every script, safe as a file's name, and never the only evidence."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.experience.draft_facts import MOST_SLUG, make_mixed_slug, make_stem, make_strict_slug
from prowess.skills.parse import is_name, make_slug

CHINESE = "\u6253\u5f00\u8bbe\u7f6e"
OTHER_CHINESE = "\u53d1\u9001\u90ae\u4ef6"


@each_row(
    ("task", "expected"),
    [
        ("Turn on Wi-Fi", "turn-on-wi-fi"),
        ("  --Hello,   world!--  ", "hello-world"),
        (f"{CHINESE} App", f"{CHINESE}-app"),
        (
            "\u041e\u0442\u043a\u0440\u043e\u0439 Chrome",
            "\u043e\u0442\u043a\u0440\u043e\u0439-chrome",
        ),
        ("\uff21\uff22\uff23 \u2460", "abc-1"),
        ("\u0939\u093f\u0928\u094d\u0926\u0940", "\u0939\u093f\u0928\u094d\u0926\u0940"),
        ("", "task"),
        ("!!! ...", "task"),
        ("\u0301\u0301", "task"),
        ("../../etc/passwd", "etc-passwd"),
        ("a\u202eb\x00c", "a-b-c"),
    ],
)
def test_a_mixed_slug_keeps_the_letters_of_every_script(task: str, expected: str) -> None:
    assert make_mixed_slug(task) == expected


@each_row(
    ("task", "expected"),
    [
        ("Turn on Wi-Fi", "turn-on-wi-fi"),
        ("R\u00e9sum\u00e9 du caf\u00e9", "resume-du-cafe"),
        ("Stra\u00dfe", "strasse"),
        ("", "task"),
        ("?!", "task"),
    ],
)
def test_a_strict_slug_has_plain_letters_only(task: str, expected: str) -> None:
    assert make_strict_slug(task) == expected


def test_two_tasks_in_another_script_never_share_a_strict_slug() -> None:
    names = {make_strict_slug(task) for task in (CHINESE, OTHER_CHINESE, f"{CHINESE} 1", "task")}

    assert len(names) == 4
    assert make_strict_slug(CHINESE).startswith("task-")


def test_the_hash_of_lost_letters_covers_the_whole_task() -> None:
    start = f"open the very long page of settings in the {CHINESE} app and then "

    assert make_strict_slug(start + "one") != make_strict_slug(start + "two")
    assert len(make_strict_slug(start + "one")) <= MOST_SLUG


def test_a_cut_slug_does_not_end_in_a_hyphen() -> None:
    task = "a" * (MOST_SLUG - 1) + " b"

    assert make_mixed_slug(task) == make_strict_slug(task) == "a" * (MOST_SLUG - 1)


def test_a_credential_does_not_become_a_file_name() -> None:
    task = "Use token ghp_abcdefghijklmnopqrstuvwxyz0123456789 to log in"

    assert "ghp" not in make_mixed_slug(task)
    assert "ghp" not in make_strict_slug(task)


@given(st.text(max_size=120))
@settings(max_examples=50, deadline=None)
def test_any_task_gives_names_that_hold(task: str) -> None:
    strict, mixed = make_strict_slug(task), make_mixed_slug(task)

    assert 1 <= len(mixed) <= MOST_SLUG
    assert 1 <= len(strict) <= MOST_SLUG
    assert strict == make_slug(strict)
    assert is_name(make_stem("20250102-030405", strict))
    assert mixed == mixed.strip("-") == make_mixed_slug(mixed)
    assert not set(mixed) & set("/\\.\0 \n")


def test_a_task_of_ten_megabytes_has_a_name() -> None:
    assert make_mixed_slug("word " * 2_000_000) == make_mixed_slug("word " * 400)
