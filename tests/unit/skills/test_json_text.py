import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.skills.text import closing_brace, is_plain, read_object, relax, strict_loads

_ANY_JSON_LIKE = st.text(alphabet="{}[]\"'\\/*\n:, a1.-+e", max_size=40)


@pytest.mark.parametrize(
    "text",
    ['{"a": [1, true]}', "{a: [1, true]}", "{'a': [1, true,],}", "{a: [1, true]} // said twice"],
)
def test_json_and_json5_give_the_same_object(text: str) -> None:
    assert read_object(text) == {"a": [1, True]}


@each_row("text", ["", "plain words", "[1, 2]", '"text"', "null", "{a: ", "{" * 5000])
def test_what_is_no_object_is_none(text: str) -> None:
    assert read_object(text) is None


@each_row(
    "text",
    [
        '{"a": 1, "a": 2}',
        "{a: 1, a: 2}",
        '{"a": NaN}',
        '{"a": 1e999}',
        "{a: Infinity}",
        '{"a": 9223372036854775808}',
        '{"a": "\\ud800"}',
        '{"\\ud800": 1}',
        '{"a": ' + "[" * 40 + "]" * 40 + "}",
    ],
)
def test_what_a_later_stage_could_not_print_or_compare_is_none(text: str) -> None:
    assert read_object(text) is None


@each_row("value", [None, True, "é", 2**63 - 1, [1.5, {"a": []}]])
def test_ordinary_values_are_plain(value: object) -> None:
    assert is_plain(value)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '{"a": -Infinity}', "{a: 1}", ""])
def test_strict_json_refuses_what_is_not_exactly_json(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        strict_loads(text)


def test_comments_and_trailing_commas_are_taken_out_but_not_from_strings() -> None:
    text = '{"a": "// b, }", // said\n "c": [1, 2,], /* more */ "d": "\\",",}'

    assert strict_loads(relax(text)) == {"a": "// b, }", "c": [1, 2], "d": '",'}


def test_a_long_text_is_read_unless_it_needs_the_slow_reader() -> None:
    filling = "x" * 30_000

    assert read_object(f'{{"a": "{filling}"}}') == {"a": filling}
    assert read_object(f"{{a: '{filling}',}}") == {"a": filling}
    assert read_object(f"{{a: '{filling}', b: 0x1f}}") is None
    assert read_object("{a: 0x1f}") == {"a": 31}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: 'it\\'s', 'b c': \"x: y\"}", {"a": "it's", "b c": "x: y"}),
        ("{a: 'say \"hi\"'}", {"a": 'say "hi"'}),
        ("{url: 'http://x/y', /* why */ n: [1, 2,],} // end", {"url": "http://x/y", "n": [1, 2]}),
        ("{$a_1: true, b: null}", {"$a_1": True, "b": None}),
    ],
)
def test_what_people_write_by_hand_is_read(text: str, value: dict[str, object]) -> None:
    assert read_object(text) == value


@each_row(
    "text",
    [
        "{}",
        "{a: {b: {}}}",
        "{a: '}'}",
        '{a: "}"}',
        r"{a: '\'}'}",
        r"{a: '\\'}",
        "{a: 1 // }\n}",
        "{a: /* } */ 1}",
        "{a: /*/ } */ 1}",
        "{url: 'http://x'}",
    ],
)
def test_the_closing_brace_is_found_past_strings_and_comments(text: str) -> None:
    assert closing_brace(text + " tail }", 0) == len(text)


@each_row("text", ["{", "{{}", "{a: '}", "{a: 1 // }", "{a: /* }"])
def test_an_object_that_never_ends_has_no_closing_brace(text: str) -> None:
    assert closing_brace(text, 0) is None


@settings(max_examples=120, deadline=None)
@given(_ANY_JSON_LIKE)
def test_a_closing_brace_that_is_found_is_a_brace(text: str) -> None:
    end = closing_brace("{" + text, 0)

    assert end is None or ("{" + text)[end - 1] == "}"


@settings(max_examples=60, deadline=None)
@given(_ANY_JSON_LIKE)
def test_no_text_makes_the_reader_raise(text: str) -> None:
    value = read_object("{" + text)

    assert value is None or isinstance(value, dict)
