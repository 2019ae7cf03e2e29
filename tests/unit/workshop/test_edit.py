"""Edits follow the Markdown structure, and every byte outside of them stays what it was."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.errors import ProposalInputError, ProposalNotFoundError
from prowess.settings import SpecMode
from prowess.skills.model import Document, Skill, Source, Tier
from prowess.skills.parse import Section, parse, split_sections
from prowess.skills.text import load as load_yaml
from prowess.skills.text import quote as quote_yaml
from prowess.workshop.edit import (
    Append,
    Create,
    Replace,
    append_text,
    is_ours,
    make_edit,
    merge_text,
    new_skill,
    replace_text,
)

FRONT = "---\nname: notes\ndescription: 'Takes: notes'   # by hand\nlicense: MIT\n---\n"
PAGE = FRONT + "# Notes\n\nIntro.\n\n## Workflow\n\n- One.\n- Two.\n\n## Pitfalls\n\nNone.\n"


def skill_of(content: bytes) -> Skill:
    document = Document(
        source=Source(tier=Tier.WORKSPACE, root="/w/skills"),
        path="/w/skills/notes/SKILL.md",
        folder="/w/skills/notes",
        content=content,
    )
    parsed = parse(document, SpecMode.STRICT)
    assert parsed.skill is not None, parsed.diagnostics
    return parsed.skill


def is_workflow(part: Section) -> bool:
    return part.title.casefold() == "workflow"


def grown(page: str, section: str, body: str) -> str:
    return append_text(page.encode(), section, body).decode()


def test_text_goes_to_the_end_of_its_section() -> None:
    assert grown(PAGE, "Workflow", "- Three.") == PAGE.replace("- Two.\n", "- Two.\n- Three.\n")


def test_another_kind_of_text_is_set_apart() -> None:
    result = grown(PAGE, "Workflow", "Then rest.")

    assert result == PAGE.replace("- Two.\n", "- Two.\n\nThen rest.\n")


def test_a_numbered_list_goes_on() -> None:
    page = FRONT + "## Steps\n1. One\n"

    assert grown(page, "Steps", "2. Two") == page + "2. Two\n"


def test_a_heading_that_only_begins_alike_is_another_section() -> None:
    page = FRONT + "## Workflow extra\n\n- Other.\n"

    assert grown(page, "Workflow", "- Mine.") == page + "\n## Workflow\n\n- Mine.\n"


@each_row(
    "decoy",
    [
        "```\n## Workflow\n```\n",
        "    ## Workflow\n",
        "<!--\n## Workflow\n-->\n",
        "> ## Workflow\n",
        "Read about ## Workflow here.\n",
    ],
)
def test_what_is_no_heading_is_no_section(decoy: str) -> None:
    page = f"{FRONT}Intro.\n\n{decoy}\n## Workflow\n\n- One.\n"

    assert grown(page, "Workflow", "- Two.") == page + "- Two.\n"


@pytest.mark.parametrize(
    "heading", ["## Workflow ##", "Workflow\n--------", "# workflow", "### WORKFLOW"]
)
def test_a_section_is_found_however_its_heading_is_written(heading: str) -> None:
    page = f"{FRONT}{heading}\n\n- One.\n"

    assert grown(page, "Workflow", "- Two.") == page + "- Two.\n"


def test_a_section_without_text_gets_its_first() -> None:
    page = FRONT + "## Workflow\n## Next\n"

    assert grown(page, "Workflow", "- One.") == FRONT + "## Workflow\n\n- One.\n\n## Next\n"


def test_text_that_stands_there_already_changes_nothing() -> None:
    assert grown(PAGE, "Workflow", "\n- One.\n- Two.\n\n") == PAGE
    assert grown(PAGE, "Workflow", "- Tw") != PAGE
    assert grown(PAGE, "Pitfalls", "- One.") != PAGE


def test_a_file_without_a_last_newline_gets_one_before_it_goes_on() -> None:
    assert grown(PAGE.rstrip("\n"), "Pitfalls", "More.") == PAGE + "\nMore.\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_follow_those_of_the_file(end: str) -> None:
    page = PAGE.replace("\n", end)

    result = grown(page, "Workflow", "- Three\nand more.")

    assert result == page.replace(f"- Two.{end}", f"- Two.{end}- Three{end}and more.{end}")


def test_a_mark_of_the_encoding_stays() -> None:
    content = b"\xef\xbb\xbf" + PAGE.encode()

    assert append_text(content, "Workflow", "- Three.").startswith(b"\xef\xbb\xbf---")


@pytest.mark.parametrize("body", ["$1 $& \\1 \\g<0> \\n", "%s {0} {x}", "a\\"])
def test_text_is_literal(body: str) -> None:
    assert f"\n{body}\n" in grown(PAGE, "Workflow", body)
    assert f"\n{body}\n" in replace_text(PAGE.encode(), "None.", body).decode()


@pytest.mark.parametrize("body", ["```\nls", "<!-- hidden", "~~~~\n```"])
def test_a_body_that_would_swallow_what_follows_is_refused(body: str) -> None:
    with pytest.raises(ProposalInputError, match="open"):
        grown(PAGE, "Workflow", body)


@pytest.mark.parametrize("tail", ["```\nls\n", "<!-- not closed\n"])
def test_a_section_that_ends_in_open_code_or_a_comment_is_not_edited(tail: str) -> None:
    for section in ("Pitfalls", "A new one"):
        with pytest.raises(ProposalInputError, match="not closed"):
            grown(PAGE + "\n" + tail, section, "- One more.")


def test_a_page_without_readable_frontmatter_is_not_edited() -> None:
    with pytest.raises(ProposalInputError, match="repair"):
        grown("---\nname: x\n## Workflow\n", "Workflow", "- One.")
    with pytest.raises(ProposalInputError, match="UTF-8"):
        append_text(b"\xff## Workflow\n", "Workflow", "- One.")


LINES = st.sampled_from(
    ["- One.", "Text.", "", "## Workflow", "## Other", "# Top", "### Sub", "```", "> quoted",
     "    code", "<!-- x -->", "1. a", "Workflow", "---", "===", "<div>", "\t- tab", "ünï ⚠️"]
)  # fmt: skip
PAGES = st.lists(LINES, max_size=14)
ENDS = st.sampled_from(["\n", "\r\n"])


@given(PAGES, ENDS, st.sampled_from(["- New.", "New text.", "1. New", "a\n\n- b"]))
def test_an_append_never_changes_a_byte_outside_its_section(
    lines: list[str], end: str, body: str
) -> None:
    page = FRONT.replace("\n", end) + end.join(lines)

    try:
        result = grown(page, "Workflow", body)
    except ProposalInputError:
        return

    # What was there is still there, in one piece around one addition.
    same = next(
        (at for at, (old, new) in enumerate(zip(page, result, strict=False)) if old != new),
        min(len(page), len(result)),
    )
    tail = page[same:]
    added = result[same : len(result) - len(tail)]
    assert result == page[:same] + added + tail
    assert end.join(body.split("\n")) in added + tail
    assert page[:same].startswith(FRONT.replace("\n", end))
    places = [part.text for part in split_sections(skill_of(result.encode())) if is_workflow(part)]
    assert any(body in text for text in places)


@given(PAGES, st.text(max_size=20), st.text(max_size=20))
def test_a_replace_changes_the_first_match_of_the_body_and_nothing_else(
    lines: list[str], old: str, new: str
) -> None:
    body = "\n".join([*lines, "behind"])

    try:
        result = replace_text((FRONT + body).encode(), old, new).decode()
    except ProposalInputError:
        return

    before, found, after = body.partition(old)
    assert found
    assert result.startswith(FRONT + before)
    assert result.endswith(after)


def test_only_the_first_match_is_replaced() -> None:
    page = FRONT + "a b a b\n"

    assert replace_text(page.encode(), "b", "c") == (FRONT + "a c a b\n").encode()


@pytest.mark.parametrize("old", ["license: MIT", "notes\ndescription", "not there", "  "])
def test_the_frontmatter_is_not_searched(old: str) -> None:
    with pytest.raises(ProposalInputError, match=r"^oldText not found$"):
        replace_text(PAGE.encode(), old, "x")


def test_text_over_several_lines_is_found_in_a_file_with_other_line_ends() -> None:
    page = PAGE.replace("\n", "\r\n")

    result = replace_text(page.encode(), "- One.\n- Two.", "- 1\n- 2").decode()

    assert result == page.replace("- One.\r\n- Two.", "- 1\r\n- 2")


def test_a_replace_cannot_smuggle_frontmatter_in() -> None:
    with pytest.raises(ProposalInputError, match="frontmatter"):
        replace_text(b"Intro.\n", "Intro.", "---\nname: x\ndescription: y\n---\n")


def test_a_new_skill_is_one_of_the_standard_and_says_who_wrote_it() -> None:
    content = new_skill("notes", "Takes: #notes\n and 'more'.", "\n# Notes\r\n\r\n- One.\n\n")

    skill = skill_of(content)

    assert (skill.name, skill.description) == ("notes", "Takes: #notes and 'more'.")
    assert content.endswith(b"---\n\n# Notes\n\n- One.\n")
    assert is_ours(content)
    assert not is_ours(PAGE.encode())


@each_row("name", ["123", "true", "null", "1e5", "0x1f"])
def test_a_name_that_yaml_takes_for_something_else_stays_a_name(name: str) -> None:
    assert f"name: {name}" not in new_skill(name, "d", "b").decode() or name == "0x1f"
    assert load_yaml(new_skill(name, "d", "b").decode().split("---")[1]).root == {
        "name": name,
        "description": "d",
        "metadata": {"prowess": "workshop"},
    }


@given(st.text())
def test_any_text_comes_back_from_yaml_as_it_was(text: str) -> None:
    assert load_yaml(f"description: {quote_yaml(text)}").root == {"description": text}


@given(st.text(min_size=1, max_size=300))
def test_any_description_makes_a_skill_that_loads_with_it(text: str) -> None:
    wanted = " ".join(text.split())

    try:
        content = new_skill("notes", text, "Do it.")
    except ProposalInputError:
        assert not wanted or "\0" in text
        return

    assert skill_of(content).description == wanted


def test_a_body_with_frontmatter_of_its_own_is_taken_without_it() -> None:
    content = new_skill("notes", "", "---\nname: other\ndescription: Theirs.\n---\n# Body\n")

    assert skill_of(content).description == "Theirs."
    assert content.count(b"name:") == 1


@each_row(
    ("description", "body", "said"),
    [(" \n", "x", "description required"), ("d", " \n ", "body required"),
     ("d" * 1025, "x", "description exceeds"), ("d", "a\0b", "Unicode"),
     ("\ud800", "b", "Unicode")],
)  # fmt: skip
def test_a_skill_that_would_not_load_is_refused(description: str, body: str, said: str) -> None:
    with pytest.raises(ProposalInputError, match=said):
        new_skill("notes", description, body)


def test_a_create_on_a_skill_that_exists_goes_section_by_section() -> None:
    body = "# Notes\n\nSay hello.\n\n## Workflow\n\n- Two.\n- Three.\n\n## Pitfalls\n\n- Four.\n"

    result = merge_text(PAGE.encode(), body).decode()

    assert result == PAGE.replace("- Two.\n", "- Two.\n\nSay hello.\n\n- Three.\n").replace(
        "None.\n", "None.\n\n- Four.\n"
    )
    assert merge_text(result.encode(), body).decode() == result


def test_each_kind_of_edit_knows_what_to_do_where_there_is_no_skill() -> None:
    made = make_edit("notes", None, Create(description="d", body="b"))
    grew = make_edit("notes", None, Append(section="Steps", body="- One."), "My Notes")

    assert made.endswith(b"\n\nb\n")
    assert grew.endswith(b"\n\n# Notes\n\n## Steps\n\n- One.\n")
    assert skill_of(grew).description == "My Notes"
    with pytest.raises(ProposalNotFoundError, match=r"^skill does not exist: notes$"):
        make_edit("notes", None, Replace(old_text="a", new_text="b"))


@each_row(
    "body",
    [
        "```\nopen",
        "- a\n\n  ~~~\n  open",
        "<!-- open",
        "- a <!-- open",
        "<script>\nopen",
        "> ```\n> x",
    ],
)
def test_code_and_comments_that_never_end_are_refused(body: str) -> None:
    page = new_skill("notes", "d", "## Workflow\n\n- One.")

    makers = (
        partial(new_skill, "notes", "d", body),
        partial(append_text, page, "Workflow", body),
        partial(merge_text, page, body),
        partial(replace_text, page, "- One.", body),
    )
    for make in makers:
        with pytest.raises(ProposalInputError, match="leaves code or a comment open: close it"):
            make()


@each_row(
    "body", ["```\nx\n```", "~~~~ py\nx\n~~~~~", "<!-- a -->", "- Write `<!--` first.", "    <!--"]
)
def test_code_and_comments_that_end_are_taken(body: str) -> None:
    assert append_text(new_skill("notes", "d", "- One."), "Workflow", f"Do:\n\n{body}")


@each_row("name", ["no", "on", "off", "2001-01-01", "0x10", "1_000", "null", "true"])
def test_a_name_that_an_older_yaml_reads_otherwise_is_quoted(name: str) -> None:
    assert f'name: "{name}"' in new_skill(name, "d", "- One.").decode()
