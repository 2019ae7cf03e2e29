"""Another description for a skill that exists: one line changes, and nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.errors import ProposalInputError
from prowess.skills import frontmatter
from prowess.skills.frontmatter import FieldReader
from prowess.skills.parse import MAX_DESCRIPTION
from prowess.workshop.edit import Replace, edit_parts, make_edit, redescribe
from prowess.workshop.proposal import payload_hash

WRITTEN = [
    "description: Old words.",
    'description: "Old: words"',
    "description: >-\n  Old\n  words.\n",
    "description: |\n  Old\n\n  words.",
    "Description: old",
    "description:\n  Old words\n  go on.",
]


def _said(page: bytes) -> str:
    return FieldReader(frontmatter.read(frontmatter.decode(page).text)).text("description")


@each_row("line", WRITTEN)
@each_row("newline", ["\n", "\r\n"])
def test_the_description_changes_however_it_was_written(line: str, newline: str) -> None:
    before = (
        f"---\nname: alpha # mine\n{line}\n# about it\nmetadata: {{a: 1}}\n---\n\n# A\n\nx: 1\n"
    )
    page = before.replace("\n", newline).encode()

    found = redescribe(page, 'New "words": yes')

    assert _said(found) == 'New "words": yes'
    after = found.decode().replace(newline, "\n")
    assert after.startswith("---\nname: alpha # mine\n")
    assert after.endswith("# about it\nmetadata: {a: 1}\n---\n\n# A\n\nx: 1\n")


def test_a_skill_without_one_gets_it() -> None:
    found = redescribe(b"---\nname: alpha\n---\n\ndescription: no frontmatter\n", "New.")

    assert found == b'---\ndescription: "New."\nname: alpha\n---\n\ndescription: no frontmatter\n'


@pytest.mark.parametrize(
    "page",
    [
        b"# No frontmatter\n",
        b"---\nname: alpha\n",
        b"---\n{name: alpha, description: flow}\n---\n\nBody\n",
        b"---\nname: alpha\ndescription: &it Old.\nother: *it\n---\n\nBody\n",
    ],
)
def test_what_cannot_be_changed_safely_is_left_to_a_person(page: bytes) -> None:
    with pytest.raises(ProposalInputError, match="by hand") as refused:
        redescribe(page, "New.")

    assert refused.value.field == "description"


@pytest.mark.parametrize("text", ["", "  ", "x" * (MAX_DESCRIPTION + 1), "half \ud800"])
def test_what_is_no_description_is_refused(text: str) -> None:
    with pytest.raises(ProposalInputError):
        redescribe(b"---\nname: alpha\ndescription: Old.\n---\n\nBody\n", text)


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=80))
def test_any_words_can_be_said_and_the_rest_stays(words: str) -> None:
    page = b"---\nname: alpha\ndescription: Old.\nlicense: MIT\n---\n\n# A\n"

    try:
        found = redescribe(page, words)
    except ProposalInputError:
        return

    assert _said(found) == " ".join(words.split())
    assert found.endswith(b"\nlicense: MIT\n---\n\n# A\n")


def test_a_replacement_without_a_description_is_kept_and_known_as_ever() -> None:
    plain, more = (Replace(old_text="a", new_text="b", description=text) for text in ("", "New."))

    assert edit_parts(plain) == {"old_text": "a", "new_text": "b", "kind": "replace"}
    assert payload_hash("alpha", plain, {}) != payload_hash("alpha", more, {})


def test_a_replacement_with_a_description_changes_both() -> None:
    page = b"---\nname: alpha\ndescription: Old.\n---\n\nOne.\n"

    found = make_edit("alpha", page, Replace(old_text="One.", new_text="Two.", description="New."))

    assert found == b'---\nname: alpha\ndescription: "New."\n---\n\nTwo.\n'
