import pytest
from tests.rows import each_row

from prowess.skills.frontmatter import (
    FieldReader,
    UnreadableError,
    as_flag,
    as_text,
    read,
    read_keys,
    read_mapping,
    read_strings,
    squeeze,
)
from prowess.skills.model import Fields, Value


def reader(*lines: str) -> FieldReader:
    return FieldReader(read("\n".join(("---", *lines, "---", ""))))


@pytest.mark.parametrize("spelling", ["user-invocable", "user_invocable", "userInvocable"])
def test_a_key_is_found_in_every_spelling(spelling: str) -> None:
    fields = reader(f"{spelling}: false")

    assert fields.key("user-invocable") == spelling
    assert fields.flag("user-invocable", default=True, ambiguous=True) is False
    assert squeeze(spelling) == "userinvocable"


def test_the_first_of_several_spellings_counts() -> None:
    fields = reader("user_invocable: false", "user-invocable: true")

    assert fields.value("userInvocable") is False
    assert fields.ambiguous == {"userinvocable"}


@pytest.mark.parametrize("ambiguous", [True, False])
def test_what_a_switch_in_two_spellings_means_is_for_the_caller_to_say(*, ambiguous: bool) -> None:
    fields = reader("user_invocable: false", "user-invocable: false")

    assert fields.flag("user-invocable", default=True, ambiguous=ambiguous) is ambiguous


def test_the_first_of_several_names_that_is_present_counts() -> None:
    fields = reader("url: https://b", "website: https://a")

    assert fields.text("homepage", "website", "url") == "https://a"


def test_what_is_absent_is_empty() -> None:
    fields = reader("name: deploy")

    assert fields.key("homepage") is None
    assert fields.value("homepage") is None
    assert fields.text("homepage") == ""
    assert fields.words("homepage") == ()
    assert fields.line("homepage") is None
    assert fields.flag("homepage", default=True, ambiguous=False) is True


@each_row(
    ("written", "text"),
    [
        ("  padded  ", "padded"),
        ("1.10", "1.10"),
        ("true", "true"),
        ("null", ""),
        ("", ""),
        ("'  '", ""),
        ("[a,  b]", "[a,  b]"),
        ("|\n  two\n  lines", "two\nlines"),
    ],
)
def test_text_is_what_was_written_without_its_margins(written: str, text: str) -> None:
    assert reader(f"key: {written}").text("key") == text


def test_a_line_is_that_of_the_value() -> None:
    assert reader("name: deploy", "license: MIT").line("license") == 3


@each_row(
    ("written", "words"),
    [
        ("[a, b, a, '', 3]", ("a", "b", "3")),
        ("a, b,, a", ("a", "b")),
        ("{a: b}", ()),
        ("[[a]]", ()),
        ("7", ()),
        ("''", ()),
    ],
)
def test_words_are_a_list_or_a_comma_separated_text(written: str, words: tuple[str, ...]) -> None:
    assert reader(f"key: {written}").words("key") == words


@each_row(
    ("value", "text"),
    [
        (" a ", "a"),
        (None, ""),
        (True, "true"),
        (1.5, "1.5"),
        ([1, "é"], '[1,"é"]'),
        ({"a": None}, '{"a":null}'),
    ],
)
def test_a_value_as_text_is_trimmed_or_compact_json(value: Value, text: str) -> None:
    assert as_text(value) == text


@each_row("value", [True, "TRUE", 1, "yes", "On", "y", "T"])
def test_every_spelling_of_yes_is_yes(value: Value) -> None:
    assert as_flag(value, default=False) is True


@each_row("value", [False, "False", 0, "no", "OFF", "N", "f"])
def test_every_spelling_of_no_is_no(value: Value) -> None:
    assert as_flag(value, default=True) is False


@pytest.mark.parametrize("value", [None, "", "maybe", 2, [True]])
@pytest.mark.parametrize("default", [True, False])
def test_anything_else_is_the_default(value: Value, *, default: bool) -> None:
    assert as_flag(value, default=default) is default


def test_strings_split_at_the_separators_that_are_asked_for() -> None:
    assert read_strings("a b, c", split=r",\s") == ("a", "b", "c")
    assert read_strings("a b, c") == ("a b", "c")
    assert read_strings(("x", 1)) == ("x", "1")
    assert read_strings(None) == read_strings([]) == ()


@each_row("value", [5, True, {"a": 1}, [None], [["a"]], [{"a": 1}], "", " , ", [""]])
def test_a_shape_that_says_nothing_is_unreadable_as_strings(value: Value) -> None:
    with pytest.raises(UnreadableError):
        read_strings(value)


def test_a_map_can_be_looked_up_whatever_the_spelling() -> None:
    assert read_keys({"any-bins": 1, "skillKey": 2}) == {"anybins": 1, "skillkey": 2}


def test_a_map_with_one_key_in_two_spellings_is_unreadable() -> None:
    with pytest.raises(UnreadableError):
        read_keys({"anyBins": 1, "any_bins": 2})


@pytest.mark.parametrize(
    ("value", "found"), [(None, {}), ({"a": 1}, {"a": 1}), ("{a: 1}", {"a": 1})]
)
def test_a_map_may_be_absent_a_map_or_json(value: Value, found: Fields) -> None:
    assert read_mapping(value) == found


@each_row("value", ["words", "", [], 5, False])
def test_a_shape_that_says_nothing_is_unreadable_as_a_map(value: Value) -> None:
    with pytest.raises(UnreadableError):
        read_mapping(value)
