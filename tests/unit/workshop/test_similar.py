"""How nearly two skills say the same, and how one becomes an addition to the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.errors import ProposalInputError
from prowess.workshop.edit import append_text, new_skill
from prowess.workshop.proposal import Similar
from prowess.workshop.similar import (
    SAME,
    Neighbour,
    as_addition,
    find_nearest,
    find_same,
    shares_subject,
)

STEPS = """# Migrations

## Workflow

- Write the migration and look at the plan of every statement in it.
- Back up the table first, and check that the copy can be read.
- Run it in a transaction and compare the number of rows.
"""
KNOWN = Neighbour(
    name="database-migrations",
    description="Write and run SQL database migrations. Use when a table or column changes.",
    body=STEPS,
    score=0.99,
)


def new(description: str, body: str = "- Else.", name: str = "new") -> Neighbour:
    return Neighbour(name=name, description=description, body=body)


def test_a_copy_is_known_by_its_words_without_any_router() -> None:
    quiet = Neighbour(name="m", description="x", body=STEPS)

    (found,) = find_nearest(new("Another thing.", f"{STEPS}\n- One more line."), [quiet])

    assert found.score >= SAME
    assert find_same([found]) == found


def test_the_same_subject_counts_where_router_and_words_agree() -> None:
    subject = new("Run SQL database migrations when a table or column changes.")
    without = Neighbour(name=KNOWN.name, description=KNOWN.description, body=KNOWN.body)

    assert shares_subject(subject, [KNOWN])
    assert not shares_subject(new("Water the plants."), [KNOWN])
    assert find_same(find_nearest(subject, [KNOWN])) is not None
    assert find_same(find_nearest(subject, [without])) is None


@pytest.mark.parametrize(
    "description", ["Back up a SQL database. Use before maintenance.", "Write a haiku.", ""]
)
def test_a_neighbour_of_the_subject_is_not_the_same(description: str) -> None:
    assert find_same(find_nearest(new(description), [KNOWN])) is None


def test_the_nearest_of_many_come_first_and_only_some_are_named() -> None:
    others = [
        Neighbour(name=f"other-{number}", description="Water the plants.", body=f"- {number}")
        for number in range(200)
    ]

    found = find_nearest(new(KNOWN.description, STEPS), [*others, KNOWN])

    assert found == (Similar("database-migrations", 1.0),)
    assert len(find_nearest(new("Water the plants.", "- 1"), others)) == 3


def test_an_addition_has_no_title_no_heading_of_its_own_and_nothing_twice() -> None:
    body = (
        "---\nname: x\n---\n# Title\r\n\r\n## Workflow\n\n- Known.\n- New.\n  with more\n\n"
        "## Pitfalls\n\n- Known.\n\n```sh\n# no heading\n- Known.\n```\n"
    )

    added = as_addition(body, "# Page\n\n- Known.\n")

    assert added == "- New.\n  with more\n\n### Pitfalls\n\n\n```sh\n# no heading\n- Known.\n```"


def test_what_is_all_known_leaves_nothing() -> None:
    assert as_addition(STEPS, STEPS).strip() == ""


@given(st.text(max_size=200), st.text(max_size=200))
def test_scores_are_between_zero_and_one_for_any_text(one: str, other: str) -> None:
    known = Neighbour(name="a", description=other, body=one, score=1.0)

    found = find_nearest(new(one, other), [known])

    assert all(0 <= each.score <= 1 for each in found)


@given(st.text(max_size=80))
def test_a_text_is_wholly_like_itself(text: str) -> None:
    itself = new(f"{STEPS} {text}", text)

    assert find_same(find_nearest(itself, [itself])) is not None


@given(st.text(alphabet="ab#-\n `*1.", max_size=80))
def test_an_addition_never_touches_the_page_it_is_for(body: str) -> None:
    page = new_skill("notes", "d", STEPS)
    added = as_addition(body, page.decode())
    if not added.strip():
        return

    try:
        result = append_text(page, "Workflow", added)
    except ProposalInputError:
        return

    assert result.startswith(page.rstrip(b"\n"))
