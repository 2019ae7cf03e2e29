"""A Markdown file falls into parts, each with its place, its headings and its exact position."""

from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.reading.views import View
from prowess.safety.intake.markdown import MarkdownPart, PartKind, split_parts


def read(text: str) -> list[MarkdownPart]:
    return list(split_parts(View.raw("SKILL.md", text)))


def of_place(text: str, place: PartKind) -> list[tuple[int, str]]:
    return [(part.view.origin(0), part.view.text) for part in read(text) if part.place is place]


def test_the_frontmatter_is_what_stands_between_the_first_two_lines() -> None:
    text = "---\nname: a\n---\n\nWords.\n"

    assert of_place(text, PartKind.FRONTMATTER) == [(4, "name: a\n")]
    assert of_place(text, PartKind.PROSE) == [(17, "Words.\n")]
    assert of_place(f"\ufeff{text}", PartKind.FRONTMATTER) == [(5, "name: a\n")]


def test_a_rule_in_the_middle_is_no_frontmatter() -> None:
    assert of_place("Words.\n\n---\nname: a\n---\n", PartKind.FRONTMATTER) == []


def test_a_fence_has_its_language_and_what_stands_inside() -> None:
    text = "Run:\n\n```bash title=a\nls\npwd\n```\n"
    (code,) = (part for part in read(text) if part.place is PartKind.CODE)

    assert (code.language, code.view.text, code.view.origin(0)) == ("bash title=a", "ls\npwd\n", 22)


@each_row(
    ("text", "inside"),
    [
        ("```\nls", "ls"),
        ("```", ""),
        ("```\n```", ""),
        ("~~~\nls\n~~~\n", "ls\n"),
        ("> ```\n> ls\n> ```\n", "> ls\n"),
        ("- ```\n  ls\n  ```\n", "  ls\n"),
        ("````\n```\n````\n", "```\n"),
        ("    ls -a\n", "    ls -a\n"),
        ("```\r\nls\r\n```\r\n", "ls\r\n"),
    ],
)
def test_code_is_read_in_every_way_to_write_it(text: str, inside: str) -> None:
    assert [code for _, code in of_place(text, PartKind.CODE)] == [inside]


def test_a_code_span_stands_where_it_stands() -> None:
    text = "Run `ls` or ``a `b` c`` and `x\ny`."

    assert of_place(text, PartKind.CODE_SPAN) == [(5, "ls"), (17, "b"), (29, "x\ny")]


@each_row(
    ("text", "place", "found"),
    [
        ("A <!-- secret --> b", PartKind.COMMENT, (6, " secret ")),
        ("<!-- open\n\nend", PartKind.COMMENT, (4, " open\n\nend")),
        ("[//]: # (secret)", PartKind.LINK_NOTE, (8, "(secret)")),
        ("[comment]: <> (secret)", PartKind.LINK_NOTE, (14, "(secret)")),
        ('[_]: x "secret"', PartKind.LINK_NOTE, (7, '"secret"')),
        ("![secret](a.png)", PartKind.ALT_TEXT, (2, "secret")),
        ('<img src="a" alt="secret">', PartKind.ALT_TEXT, (18, "secret")),
        ("<IMG title='secret'>", PartKind.ALT_TEXT, (12, "secret")),
        ("<div hidden>secret</div>", PartKind.HIDDEN_HTML, (12, "secret")),
        ("<p style='display: none'>secret</p>", PartKind.HIDDEN_HTML, (25, "secret")),
        ("<p style='VISIBILITY:hidden'>secret</p>", PartKind.HIDDEN_HTML, (29, "secret")),
        ("<p style='font-size:0'>secret</p>", PartKind.HIDDEN_HTML, (23, "secret")),
        ("<p style='opacity:0'>secret</p>", PartKind.HIDDEN_HTML, (21, "secret")),
        ("<p style='color:white'>secret</p>", PartKind.HIDDEN_HTML, (23, "secret")),
        ("<p aria-hidden=true>secret</p>", PartKind.HIDDEN_HTML, (20, "secret")),
    ],
)
def test_what_a_reader_of_the_page_does_not_see_is_a_place_of_its_own(
    text: str, place: PartKind, found: tuple[int, str]
) -> None:
    assert of_place(text, place) == [found]
    assert place.is_hidden


def test_what_is_hidden_twice_is_read_once() -> None:
    text = "<div hidden><p hidden>secret</p></div>"

    assert of_place(text, PartKind.HIDDEN_HTML) == [(12, "<p hidden>secret</p>")]


def test_a_half_transparent_text_can_be_seen() -> None:
    assert of_place("<p style='opacity:0.5'>text</p>", PartKind.HIDDEN_HTML) == []


def test_hidden_text_is_not_among_the_prose() -> None:
    assert of_place("A <!-- x --> b", PartKind.PROSE) == [(0, "A <!--"), (9, "--> b")]


def test_a_part_knows_the_headings_above_it() -> None:
    text = "# One\n\na\n\n## Two\n\nb\n\nThree\n=====\n\nc\n\n### Four ###\n\nd\n"

    assert [part.headings for part in read(text) if part.place is PartKind.PROSE] == [
        ("One",),
        ("One", "Two"),
        ("Three",),
        ("Three", "Four"),
    ]


def test_what_stands_inside_a_heading_is_read_too() -> None:
    for text in ("# Run `ls` <!-- x -->\n", "Run `ls` <!-- x -->\n===\n"):
        places = [part.place for part in read(text)]

        assert places == [PartKind.COMMENT, PartKind.HEADING, PartKind.CODE_SPAN]


def test_each_row_of_a_table_is_read_once() -> None:
    text = "| a | b |\n|---|---|\n| c | d |\n"

    assert of_place(text, PartKind.PROSE) == [(0, "| a | b |\n"), (20, "| c | d |\n")]


@given(st.text(st.sampled_from("ab#`<>!-[]()|:\n\r\t \\*_~=1.\0")))
def test_every_part_is_a_cut_of_the_file(text: str) -> None:
    for part in read(text):
        start = part.view.origin(0)

        assert text[start : start + len(part.view.text)] == part.view.text or not part.view.text
