import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.skills.frontmatter import Frontmatter, decode, quote_prose, read
from prowess.skills.model import Severity
from prowess.skills.text import read_object


def codes(front: Frontmatter) -> list[tuple[str, int | None]]:
    return [(problem.code, problem.line) for problem in front.diagnostics]


def block(*lines: str) -> str:
    return "\n".join(("---", *lines, "---", "Body."))


@each_row("content", [b"\xef\xbb\xbfa\nb\n", b"a\r\nb\r\n", b"a\rb\r", b"a\nb\r\n", b"a\nb\n"])
def test_a_byte_order_mark_and_foreign_line_ends_are_taken_away(content: bytes) -> None:
    assert decode(content).text == "a\nb\n"


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        (b"a\nb\0c", "NUL_BYTE", 2),
        ("text".encode("utf-16-le"), "NUL_BYTE", 1),
        (b"a\n\nb\xff", "INVALID_UTF8", 3),
        (b"\xed\xa0\x80", "INVALID_UTF8", 1),
    ],
)
def test_bytes_that_are_no_text_are_refused_with_a_line(
    content: bytes, code: str, line: int
) -> None:
    decoded = decode(content)

    assert decoded.diagnostic is not None
    assert (decoded.diagnostic.code, decoded.diagnostic.line) == (code, line)
    assert decoded.text == ""


@each_row("text", ["", "# Title\n", "----\na: 1\n----\n", "\n----\n", " x\n---\n", "--\n"])
def test_a_text_that_does_not_open_with_three_dashes_is_all_body(text: str) -> None:
    front = read(text)

    assert (front.present, front.readable, front.body) == (False, True, text)
    assert front.body_line == 1


@each_row(("before", "line"), [(" ", 1), ("\n", 2), ("\n \n", 3), ("\u200b", 1), ("\ufeff", 1)])
@each_row("lenient", [True, False])
def test_a_block_that_does_not_begin_at_the_very_start_is_refused_and_not_passed_over(
    before: str, line: int, *, lenient: bool
) -> None:
    front = read(f"{before}---\nname: deploy\n---\n", lenient=lenient)

    assert codes(front) == [("FRONTMATTER_MISSING", line)]
    assert not front.readable


def test_the_fences_may_be_followed_by_blanks() -> None:
    front = read("--- \t\na: 1\n---  \nBody.\n")

    assert front.fields == {"a": 1}
    assert (front.body, front.body_line) == ("Body.\n", 4)


def test_only_the_first_closing_fence_counts() -> None:
    front = read("---\na: 1\n---\nAbove.\n\n---\n\nBelow.\n")

    assert front.fields == {"a": 1}
    assert front.body == "Above.\n\n---\n\nBelow.\n"


def test_dashes_inside_a_value_do_not_close_the_block() -> None:
    front = read(block("description: before --- after", "rule: ----"))

    assert front.fields == {"description": "before --- after", "rule": "----"}


@pytest.mark.parametrize("text", ["---", "---\n", "---\na: 1\n", "---\na: 1\n ---\n----\n"])
def test_a_block_that_never_ends_is_not_read(text: str) -> None:
    front = read(text)

    assert codes(front) == [("UNTERMINATED_FRONTMATTER", 1)]
    assert (front.present, front.readable, front.fields) == (True, False, {})


@pytest.mark.parametrize(
    "text", ["---\n---\n", "---\n\n---\n", "---\n# nothing yet\n---", "---\n---"]
)
def test_an_empty_block_is_an_empty_map(text: str) -> None:
    front = read(text)

    assert (front.present, front.readable, front.fields) == (True, True, {})
    assert front.diagnostics == ()


@pytest.mark.parametrize("line", ["- a list", "only words", "12"])
def test_a_block_that_is_no_map_is_not_trusted(line: str) -> None:
    front = read(block(line))

    assert codes(front) == [("INVALID_ROOT", 2)]
    assert not front.readable


def test_lines_are_those_of_the_file() -> None:
    front = read(block("# who", "name: deploy", "", "description: |", "  Long.", "license: MIT"))

    assert front.lines == {"name": 3, "description": 5, "license": 7}


def test_a_key_that_occurs_twice_makes_the_block_untrusted() -> None:
    front = read(block("name: a", "license: MIT", "name: b"))

    assert codes(front) == [("DUPLICATE_KEY", 4)]
    assert not front.readable


@each_row(
    "line",
    [
        "description: Use when: asked",
        "description: It ends with a colon:",
        "summary: one: two",
        "when_to_use: one: two",
        "argument-hint: [file] [mode: fast]",
        "compatibility: needs: git",
        "name: one: two",
        "description: -5 degrees: cold",
    ],
)
def test_prose_that_yaml_misreads_is_read_as_text_and_said(line: str) -> None:
    key, _, value = line.partition(": ")

    front = read(block("license: MIT", line))

    assert front.fields == {"license": "MIT", key: value}
    assert codes(front) == [("COLON_RESCUED", 3)]
    assert (front.readable, front.rescued) == (True, (key,))


def test_a_quote_inside_rescued_prose_survives() -> None:
    front = read(block(r'description: Say: "hi" \ and é'))

    assert front.fields == {"description": r'Say: "hi" \ and é'}


def test_continuation_lines_join_the_rescued_value_and_later_lines_stay_true() -> None:
    front = read(
        block("description: Use when: asked", "  to ship", "\tor to roll back", "license: MIT")
    )

    assert front.fields["description"] == "Use when: asked to ship or to roll back"
    assert front.lines == {"description": 2, "license": 5}


def test_well_formed_neighbours_of_rescued_prose_keep_their_meaning() -> None:
    front = read(
        block(
            "name: 'it''s'",
            "description: Use when: asked",
            'title: "a: \\"b\\"',
            '  over: two lines"',
            "summary: |",
            "  one: two",
        )
    )

    assert front.fields == {
        "name": "it's",
        "description": "Use when: asked",
        "title": 'a: "b" over: two lines',
        "summary": "one: two\n",
    }
    assert front.rescued == ("description",)


@each_row(
    ("lines", "place"),
    [
        (("name: [broken",), (3, 7)),
        (("name: {broken",), (3, 7)),
        (('name: "broken',), (3, 7)),
        (("name: 'it's'",), (3, 11)),
        (("name: g4", "  description: x"), (4, 14)),
        (("name: g4", "  an indented line"), (4, 3)),
        (("name: g4", "", "   ", "  an indented line"), (6, 3)),
        (("name: g4: one", "  and an indented line"), (3, 9)),
        (("description: words", "  metadata: {openclaw: {}}"), (4, 11)),
        (("description: Use when: asked", "  requires: git"), (3, 22)),
        (("description: @mention: first",), (3, 14)),
        (("description: `code` first: then",), (3, 14)),
        (("description: [draft] first: then",), (3, 22)),
        (('description: "Quoted" first: then',), (3, 23)),
        (("description: - one: two",), (3, 14)),
    ],
)
def test_what_is_structurally_broken_is_rejected_at_its_line_and_column(
    lines: tuple[str, ...], place: tuple[int, int]
) -> None:
    front = read(block("license: MIT", *lines))

    assert (front.readable, front.rescued) == (False, ())
    (problem,) = front.diagnostics
    assert problem.severity is Severity.ERROR
    assert (problem.line, f"(column {place[1]})" in problem.message) == (place[0], True), problem


def test_prose_over_several_lines_keeps_its_colons() -> None:
    front = read(block("description: Does this.", "  Triggers: one, two", "license: MIT"))

    assert front.fields["description"] == "Does this. Triggers: one, two"
    assert front.rescued == ("description",)


@pytest.mark.parametrize("value", ["*anchor", "!tag text", "&a *a"])
def test_anchors_aliases_and_tags_are_refused_and_not_taken_for_prose(value: str) -> None:
    front = read(block(f"description: {value}"))

    assert not front.readable
    assert front.rescued == ()


@pytest.mark.parametrize(
    "lines",
    [
        ("other: one: two",),
        ("description: one: two", "other: [a"),
        ("metadata: {a: [}", "other: one: two"),
        ("metadata: {a: 1", "other: one: two"),
    ],
)
def test_what_no_rescue_can_mend_stays_an_error(lines: tuple[str, ...]) -> None:
    front = read(block(*lines))

    assert not front.readable
    assert [problem.severity for problem in front.diagnostics] == [Severity.ERROR]


@pytest.mark.parametrize("key", ["globs", "paths"])
def test_a_bare_glob_is_text_and_not_an_alias(key: str) -> None:
    front = read(block(f"{key}: *.py, src/**/*.ts "))

    assert front.fields == {key: "*.py, src/**/*.ts"}
    assert front.diagnostics == ()


def test_metadata_in_json5_that_yaml_refuses_is_read_and_lines_stay_true() -> None:
    front = read(
        block(
            "name: deploy",
            "metadata:",
            "  {openclaw:{ // ours",
            "    requires:{bins:['git'],},",
            "  }}",
            "license: MIT",
        )
    )

    assert front.fields["metadata"] == {"openclaw": {"requires": {"bins": ["git"]}}}
    assert front.lines == {"name": 2, "metadata": 3, "license": 7}
    assert front.diagnostics == ()


def test_metadata_and_prose_are_rescued_together() -> None:
    front = read(block("description: Use when: asked", "metadata: {openclaw:{always:true}}"))

    assert front.fields == {
        "description": "Use when: asked",
        "metadata": {"openclaw": {"always": True}},
    }


def test_prose_and_a_bare_glob_are_rescued_together() -> None:
    front = read(block("description: Use when: asked", "globs: *.py"))

    assert front.fields == {"description": "Use when: asked", "globs": "*.py"}


def test_two_blocks_of_metadata_are_not_rescued_because_nobody_knows_which_was_meant() -> None:
    front = read(block("name: a", "metadata: {openclaw:{always:true}}", "'metadata': {}"))

    assert not front.readable


def test_a_prose_key_that_occurs_twice_is_not_rescued_twice() -> None:
    front = read(block("description: a: b", "description: c"))

    assert not front.readable


def test_quoting_says_which_keys_it_touched_and_which_lines_it_joined() -> None:
    lines, keys = quote_prose("name: fine\ndescription: é: b\n  more\ntitle: [x")

    assert lines == ["name: fine", 'description: "é: b more"', None, "title: [x"]
    assert keys == {"description": 3}


@pytest.mark.parametrize(
    "lines",
    [
        ("metadata:", "  openclaw: {requires: {bins: [git]}}"),
        ("metadata: {openclaw: {}}", "metadata: {}"),
        ("Metadata:", "  openclaw: {}"),
        ("meta-data: >-", "  {}", "meta-data: {}"),
    ],
)
def test_legacy_mode_keeps_a_gate_that_it_cannot_read_as_something_unreadable(
    lines: tuple[str, ...],
) -> None:
    front = read(block(*lines, "bad: ["), lenient=True)

    (gate,) = (value for key, value in front.fields.items() if key.lower().startswith("meta"))
    assert read_object(str(gate)) is None


def test_legacy_mode_reads_the_simple_lines_of_a_broken_block() -> None:
    text = block(
        "name: 'deploy'", "# a comment", "bad: [", "  nested: x", "empty:", "Version: 1.10"
    )

    front = read(text, lenient=True)

    assert front.fields == {"name": "deploy", "bad": "[", "Version": "1.10"}
    assert front.lines == {"name": 2, "bad": 4, "Version": 7}
    assert front.texts == front.fields
    assert (front.present, front.readable) == (True, True)


def test_legacy_mode_says_what_was_wrong_as_a_warning() -> None:
    front = read(block("name: a", "name: b"), lenient=True)

    assert codes(front) == [("LINES_READ", 3)]
    assert front.diagnostics[0].severity is Severity.WARNING
    assert "DUPLICATE_KEY" in front.diagnostics[0].message


def test_legacy_mode_does_not_repeat_the_note_about_a_rescue() -> None:
    front = read(block("description: a: b", "name: c", "name: d"), lenient=True)

    assert [problem.code for problem in front.diagnostics] == ["LINES_READ"]


def test_a_broken_block_is_not_read_where_nobody_asks_for_leniency() -> None:
    front = read(block("name: deploy", "bad: ["))

    assert (front.readable, front.fields) == (False, {})


@settings(max_examples=80, deadline=None)
@given(text=st.text(alphabet="-abc:[]{}&*!'\"# \n\t", max_size=60), lenient=st.booleans())
def test_no_text_makes_the_reader_raise_and_what_is_not_readable_says_why(
    text: str, *, lenient: bool
) -> None:
    front = read(f"---\n{text}\n---\n", lenient=lenient)

    assert front.readable or front.diagnostics


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r")))
def test_the_body_comes_out_as_it_was_written(body: str) -> None:
    assert read(f"---\nname: deploy\n---\n{body}").body == body


@settings(max_examples=60, deadline=None)
@given(st.from_regex(r"[A-Za-z][A-Za-z0-9 ,.]{0,20}: [A-Za-z \"'\[\]{}@]{1,20}", fullmatch=True))
def test_any_description_with_a_colon_comes_out_as_it_was_written(text: str) -> None:
    front = read(block(f"description: {text}"))

    assert front.fields == {"description": text.strip()}
