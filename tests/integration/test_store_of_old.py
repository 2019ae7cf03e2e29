"""A store that an older version wrote: read as it was meant, and written on without a loss."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.memory_proposals import MemoryProposals

from prowess.host.store.database import open_file
from prowess.host.store.proposals import StoredProposals
from prowess.workshop.edit import Replace
from prowess.workshop.proposal import (
    DEFAULT_CAPS,
    ITSELF,
    NOBODY,
    Actor,
    By,
    Change,
    EventKind,
    Proposal,
    ProposalSource,
    State,
)

NEW_KEYS = ("goal", "lesson", "decision")


def _made(**changes: object) -> Proposal:
    made = Proposal(
        id="alpha-1",
        revision="r1",
        state=State.PENDING,
        created_at=1.0,
        updated_at=1.0,
        workspace="/work",
        source=ProposalSource.EXPERIENCE,
        change=Change("alpha", {"SKILL.md": b"x"}),
        edit=Replace(old_text="a", new_text="b"),
        session_id="experience-0123",
    )
    # Any field of it.
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file as it was before there were actors, goals and lessons."""
    path = tmp_path / "prowess.db"
    StoredProposals(open_file(str(path))).add(_made(), DEFAULT_CAPS)
    with closing(sqlite3.connect(path)) as old, old:
        old.execute("DROP TABLE workshop_event_actors")
        (rest,) = old.execute("SELECT rest FROM workshop_proposals").fetchone()
        kept = {key: value for key, value in json.loads(rest).items() if key not in NEW_KEYS}
        old.execute("UPDATE workshop_proposals SET rest = ?", (json.dumps(kept),))
    return path


def test_a_lesson_that_stood_in_the_place_of_a_session_is_one(path: Path) -> None:
    store = StoredProposals(open_file(str(path)))

    found = store.get("/work", "alpha-1")

    assert found is not None
    assert (found.lesson, found.session_id) == ("experience-0123", "")
    assert (found.goal, found.decision) == ("", "")
    assert store.change(found, replace(found, state=State.REJECTED), EventKind.REJECTED)
    again = store.get("/work", "alpha-1")
    assert again is not None
    assert again.lesson == "experience-0123"


def test_what_nobody_told_of_old_is_not_made_up_and_new_deeds_are_told(path: Path) -> None:
    store = StoredProposals(open_file(str(path)))
    (old,) = store.events("/work")
    found = store.get("/work", "alpha-1")
    assert found is not None

    by = By(actor=Actor.GATEWAY, correlation_id="c1")
    store.change(found, replace(found, state=State.REJECTED), EventKind.REJECTED, "no", by)

    assert old.by == NOBODY
    assert [one.by for one in store.events("/work")] == [NOBODY, by]


def test_who_did_it_cannot_be_rewritten(path: Path) -> None:
    StoredProposals(open_file(str(path))).add(_made(id="beta-1", revision="r2"), DEFAULT_CAPS)

    with closing(sqlite3.connect(path)) as other, pytest.raises(sqlite3.Error, match="only added"):
        other.execute("UPDATE workshop_event_actors SET actor = 'agent'")


def test_a_session_of_another_source_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "prowess.db"
    StoredProposals(open_file(str(path))).add(_made(source=ProposalSource.TOOL), DEFAULT_CAPS)

    found = StoredProposals(open_file(str(path))).get("/work", "alpha-1")

    assert found is not None
    assert (found.lesson, found.session_id) == ("", "experience-0123")


@pytest.mark.parametrize("in_memory", [True, False])
def test_every_store_tells_who_made_and_who_dropped(tmp_path: Path, *, in_memory: bool) -> None:
    store = (
        MemoryProposals() if in_memory else StoredProposals(open_file(str(tmp_path / "prowess.db")))
    )
    goal = _made(goal="Do it", source=ProposalSource.TOOL, edit=Replace(old_text="a", new_text="b"))
    store.add(goal, {State.PENDING: 1})
    store.add(_made(id="beta-1", revision="r2", source=ProposalSource.STUDIO), {State.PENDING: 1})

    told = [(one.kind, one.by) for one in store.events("/work")]

    assert told == [
        (EventKind.CREATED, By(actor=Actor.AGENT)),
        (EventKind.CREATED, By(actor=Actor.GATEWAY)),
        (EventKind.PRUNED, ITSELF),
    ]
    assert [one.id for one in store.listed("/work")] == ["beta-1"]
