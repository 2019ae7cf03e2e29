from prowess.skills.parse import Section, split_sections
from prowess.testing import make_skill

BODY = """\
Read this first.

# Ship

Do it.

## Check

Look."""


def titles(body: str) -> list[tuple[str, int]]:
    return [(section.title, section.level) for section in split_sections(make_skill(body=body))]


def test_sections_have_titles_levels_and_the_lines_of_the_file() -> None:
    skill = make_skill(body=BODY, body_line=5)

    assert split_sections(skill) == (
        Section(title="", level=0, line=5, last_line=6, text="Read this first."),
        Section(title="Ship", level=1, line=7, last_line=10, text="Do it."),
        Section(title="Check", level=2, line=11, last_line=13, text="Look."),
    )


def test_the_newline_that_ends_the_file_begins_no_line() -> None:
    (section,) = split_sections(make_skill(body="# Ship\nDo it.\n", body_line=5))

    assert (section.line, section.last_line) == (5, 6)


def test_a_body_that_begins_with_a_heading_has_no_section_above_it() -> None:
    assert titles("# Ship\nDo it.") == [("Ship", 1)]


def test_blank_lines_above_the_first_heading_are_no_section() -> None:
    assert titles("\n\n# Ship") == [("Ship", 1)]


def test_a_body_without_headings_is_one_section() -> None:
    assert titles("Do it.\nThen rest.") == [("", 0)]


def test_an_empty_body_has_no_sections() -> None:
    assert titles("") == []
    assert titles("\n \n") == []


def test_a_heading_without_text_is_still_a_section() -> None:
    assert titles("# One\n# Two\n") == [("One", 1), ("Two", 1)]


def test_a_hash_inside_code_a_quote_or_a_list_is_text() -> None:
    body = "# Ship\n```sh\n# not a heading\n```\n> # quoted\n\n- # listed\n\n    # indented\n"

    assert titles(body) == [("Ship", 1)]


def test_an_underlined_line_is_a_heading_too() -> None:
    assert titles("Ship\n====\n\nCheck\n-----\n") == [("Ship", 1), ("Check", 2)]
