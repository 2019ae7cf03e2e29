import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.skills.model import Value
from prowess.skills.text import load


@each_row(
    ("written", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("True", True),
        ("TRUE", True),
        ("false", False),
        ("False", False),
        ("FALSE", False),
        ("12", 12),
        ("-7", -7),
        ("1.50", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("yes", "yes"),
        ("on", "on"),
        ("2026-01-02", "2026-01-02"),
        ("0x1f", "0x1f"),
        ("12:30", "12:30"),
        ("'true'", "true"),
        ('"12"', "12"),
        ("!!str 12", "12"),
        ("|\n  two\n  lines\n", "two\nlines\n"),
        (">-\n  one\n  line\n", "one line"),
        ("[1, two, [3]]", [1, "two", [3]]),
        ("{a: {b: null}}", {"a": {"b": None}}),
        # As JSON escapes one character beyond the first 65,536, and what only looks like it.
        ('"up \\ud83d\\uDE80 \\u00e9"', "up \U0001f680 \u00e9"),
        ("'\\ud83d\\ude80'", "\\ud83d\\ude80"),
    ],
)
def test_scalars_follow_the_core_schema_and_prose_stays_text(written: str, value: Value) -> None:
    loaded = load(f"key: {written}")

    assert loaded.problems == ()
    assert loaded.root == {"key": value}


def test_block_lists_and_maps_are_built() -> None:
    loaded = load("a:\n  - 1\n  - b: 2\n    c: 3\n")

    assert loaded.root == {"a": [1, {"b": 2, "c": 3}]}


def test_an_empty_text_holds_nothing_and_is_no_problem() -> None:
    loaded = load("")

    assert (loaded.root, loaded.problems) == (None, ())


@pytest.mark.parametrize(
    ("text", "root"), [("- a\n- [b]\n", ["a", ["b"]]), ("just words", "just words")]
)
def test_the_root_may_be_a_list_or_a_scalar_and_then_has_no_lines(text: str, root: Value) -> None:
    loaded = load(text)

    assert loaded.root == root
    assert loaded.lines == {}


def test_top_level_keys_have_lines_and_nested_ones_have_none() -> None:
    loaded = load("# a comment\nname: x\n\nmeta:\n  inner: y\nlast: [1,\n  2]\n")

    assert loaded.lines == {"name": 2, "meta": 5, "last": 6}


def test_the_raw_text_of_a_value_is_kept() -> None:
    loaded = load("version: 1.10\nname: 'x'\nmeta: {a:1}\nlist: [1.0, 2]\n")

    assert loaded.texts == {"version": "1.10", "name": "x", "meta": "{a:1}", "list": "[1.0, 2]"}


def test_a_merge_key_is_a_plain_key() -> None:
    assert load("<<: {a: 1}").root == {"<<": {"a": 1}}


def test_an_anchor_without_an_alias_is_harmless() -> None:
    assert load("a: &x 1").root == {"a": 1}


@each_row(
    ("text", "code", "line"),
    [
        ("a: &x 1\nb: *x", "ALIAS_FORBIDDEN", 2),
        ("a: 1\nb: !thing 2", "CUSTOM_TAG", 2),
        ("a: !!python/object:os.system {}", "CUSTOM_TAG", 1),
        ("a: 1\n--- \nb: 2", "YAML_EXCEPTION", 2),
        ("a: 1\n? [b]\n: 2", "YAML_EXCEPTION", 2),
        ("a: 1\n? {b: c}\n: 2", "YAML_EXCEPTION", 2),
        ("a: [1\nb: 2", "YAML_EXCEPTION", 1),
        ("a: 1\n\tb: 2", "BAD_INDENT", 2),
        ("a:\n    b: 1\n  c: 2", "BAD_INDENT", 3),
        ("a: one: two", "YAML_EXCEPTION", 1),
        ("a: @home", "YAML_EXCEPTION", 1),
        ("a: bell \x07", "YAML_EXCEPTION", 1),
    ],
)
def test_what_is_refused_has_a_code_and_a_line(text: str, code: str, line: int) -> None:
    loaded = load(text)

    assert loaded.root is None
    assert [(problem.code, problem.line) for problem in loaded.problems] == [(code, line)]


@each_row(
    ("text", "said"),
    [
        ("a: 'it's broken'", "write a ' inside it twice"),
        ("a: 'it's: broken'\nb: 1", "write a ' inside it twice"),
        ("a:\n  - 'it's one'\n  - two", "write a ' inside it twice"),
        ('a: "say "hi" now"', "with a backslash"),
        ('a: "one" two', "with a backslash"),
    ],
)
def test_a_quote_that_ends_its_text_too_soon_is_called_so(text: str, said: str) -> None:
    [problem] = load(text).problems

    assert problem.code == "YAML_EXCEPTION"
    assert problem.message.startswith("the quoted text ends here and more follows: ")
    assert said in problem.message


def test_nesting_is_read_to_a_bound_and_refused_beyond_it() -> None:
    fine, deep = "a: " + "[" * 31 + "]" * 31, "a: " + "[" * 32 + "]" * 32

    assert load(fine).problems == ()
    assert [problem.code for problem in load(deep).problems] == ["TOO_DEEP"]


def test_a_key_that_occurs_twice_is_reported_on_its_second_line() -> None:
    loaded = load("a: 1\nb:\n  c: 1\n  c: 2\na: 2\n")

    assert [(problem.code, problem.line) for problem in loaded.problems] == [
        ("DUPLICATE_KEY", 4),
        ("DUPLICATE_KEY", 5),
    ]


def test_a_text_full_of_repetitions_does_not_flood_the_report() -> None:
    loaded = load("a: 1\n" * 500)

    assert len(loaded.problems) == 20


def test_what_was_wrong_before_the_syntax_broke_is_reported_too() -> None:
    loaded = load("a: 1\na: 2\nb: [\n")

    assert [problem.code for problem in loaded.problems] == ["DUPLICATE_KEY", "YAML_EXCEPTION"]


@settings(max_examples=120, deadline=None)
@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%?,\n \t0\x07\u2028", max_size=40))
def test_no_text_makes_the_loader_raise_and_a_refusal_always_has_a_problem(text: str) -> None:
    loaded = load(text)

    assert all(problem.line >= 1 and problem.message for problem in loaded.problems)
    assert loaded.root is not None or loaded.problems or not loaded.lines
