"""The words of a proposal: which of them can be changed, and what other words lead to."""

from dataclasses import replace

import pytest
from tests.rows import each_row

from prowess.errors import ProposalInputError
from prowess.runtime.workshop.drafts import Wording, WordingPart, reword, wording_of
from prowess.workshop.edit import Append, Create, Edit, Replace, make_edit
from prowess.workshop.proposal import Change, Proposal, ProposalSource, State

HEAD = b"---\nname: packing\ndescription: Packs boxes.\nlicense: MIT\n---\n"
BODY = "# Packing\n\n## Steps\n\n- Weigh it.\n- Close it.\n\n## Pitfalls\n\n- Tape.\n"
PAGE = HEAD + BODY.encode()
ADD = Append(section="Pitfalls", body="- Wet boxes.")
PHRASE = Replace(old_text="- Weigh it.\n", new_text="- Weigh it twice.\n")
ALL = Replace(old_text=BODY.strip(), new_text="# Packing\n\n- All new.")
NEW = Create(description="Packs boxes.", body="# Packing\n\n- Weigh it.\n")
WHOLE = "---\nname: packing\ndescription: {}\n---\n\n# Packing\n\n- Sent whole.\n"


def _proposal(edit: Edit | None, page: bytes | None) -> Proposal:
    new = b"" if edit is None else make_edit("packing", page, edit, "A lesson")
    return Proposal(
        id="p", revision="r", state=State.PENDING, created_at=0.0, workspace="/work",
        title="A lesson", source=ProposalSource.CLI,
        change=Change("packing", {"SKILL.md": new}), edit=edit,
    )  # fmt: skip


@each_row(
    ("edit", "page", "wanted"),
    [
        (NEW, None, Wording(part=WordingPart.SKILL, text=NEW.body, description="Packs boxes.")),
        (NEW, PAGE, Wording(part=WordingPart.MERGE, text=NEW.body)),
        (ADD, PAGE, Wording(part=WordingPart.ADDITION, text="- Wet boxes.", section="Pitfalls")),
        (ADD, None, Wording(
            part=WordingPart.SECTION, text="- Wet boxes.", section="Pitfalls",
            description="A lesson")),
        (PHRASE, PAGE, Wording(
            part=WordingPart.PHRASE, text=PHRASE.new_text, old_text=PHRASE.old_text,
            description="Packs boxes.")),
        (ALL, PAGE, Wording(
            part=WordingPart.WHOLE, text=ALL.new_text, old_text=ALL.old_text,
            description="Packs boxes.")),
    ],
)  # fmt: skip
def test_what_can_be_changed_is_what_was_asked_for(
    edit: Edit, page: bytes | None, wanted: Wording
) -> None:
    current = {} if page is None else {"SKILL.md": page}

    assert wording_of(_proposal(edit, page), current) == wanted


def test_a_frontmatter_inside_a_new_text_is_not_shown_as_its_text() -> None:
    edit = Create(description="", body=WHOLE.format("Said inside."))

    found = wording_of(_proposal(edit, None), {})

    assert found is not None
    assert (found.description, "---" in found.text) == ("Said inside.", False)


def test_files_alone_and_a_skill_without_a_head_have_no_description_to_change() -> None:
    headless = b"# Packing\n\n- Weigh it.\n"

    found = wording_of(_proposal(PHRASE, headless), {"SKILL.md": headless})

    assert wording_of(_proposal(None, PAGE), {"SKILL.md": PAGE}) is None
    assert found is not None
    assert found.description is None


@pytest.mark.parametrize(("edit", "page"), [(NEW, None), (NEW, PAGE), (ADD, PAGE), (PHRASE, PAGE)])
def test_the_words_that_are_shown_lead_back_to_the_same_file(
    edit: Edit, page: bytes | None
) -> None:
    current = {} if page is None else {"SKILL.md": page}
    shown = wording_of(_proposal(edit, page), current)
    assert shown is not None

    again = reword(edit, page, text=shown.text)

    assert make_edit("packing", page, again) == make_edit("packing", page, edit)


@pytest.mark.parametrize("edit", [ADD, PHRASE, ALL])
def test_a_whole_file_replaces_the_body_and_keeps_the_head(edit: Edit) -> None:
    found = reword(edit, PAGE, text=WHOLE.format("Packs boxes."))

    page = make_edit("packing", PAGE, found)

    assert page == HEAD + b"# Packing\n\n- Sent whole.\n"


@pytest.mark.parametrize("edit", [ADD, PHRASE, ALL, NEW])
def test_the_description_of_a_whole_file_is_not_lost(edit: Edit) -> None:
    page = None if edit is NEW else PAGE

    found = reword(edit, page, text=WHOLE.format("Packs them well."))

    text = make_edit("packing", page, found).decode()
    assert "Packs them well." in text
    assert text.count("---\n") == 2


def test_a_description_that_is_given_by_itself_comes_before_that_of_the_file() -> None:
    found = reword(NEW, None, text=WHOLE.format("Inside."), description="Beside.")

    assert found.description == "Beside."


def test_a_line_across_the_page_is_no_head_of_a_file() -> None:
    text = "---\n\n- Wet boxes.\n\n---\n\nEnd."

    assert reword(ADD, PAGE, text=text) == replace(ADD, body=text)


@pytest.mark.parametrize("edit", [ADD, PHRASE, NEW])
def test_a_whole_file_whose_head_cannot_be_read_is_refused(edit: Edit) -> None:
    with pytest.raises(ProposalInputError, match="frontmatter") as refusal:
        reword(edit, PAGE, text="---\nname: packing\nmetadata: [\n---\n\n# Packing\n")

    assert refusal.value.field == "content"


def test_what_adds_to_a_section_has_no_description_to_change() -> None:
    with pytest.raises(ProposalInputError, match="description") as refusal:
        reword(ADD, PAGE, description="Another.")

    assert refusal.value.field == "description"
    assert reword(ADD, None, description="Another.") == replace(ADD, description="Another.")


def test_blank_lines_of_a_phrase_stay_and_those_around_a_whole_text_do_not() -> None:
    phrase = reword(PHRASE, PAGE, text="- Weigh it once.\n")
    whole = reword(ALL, PAGE, text="\n# Packing\n\n- Newer.\n\n")

    assert phrase == replace(PHRASE, new_text="- Weigh it once.\n")
    assert whole == replace(ALL, new_text="# Packing\n\n- Newer.")


def test_a_file_with_other_line_ends_is_replaced_whole_all_the_same() -> None:
    page = PAGE.replace(b"\n", b"\r\n")

    found = reword(ADD, page, text=WHOLE.format("Packs boxes."))

    assert make_edit("packing", page, found).endswith(b"---\r\n# Packing\r\n\r\n- Sent whole.\r\n")
