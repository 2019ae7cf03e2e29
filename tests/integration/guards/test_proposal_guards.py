"""Guards of proposals: a payload is known by its content, and evidence is never pushed out."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from prowess.host.store.database import open_file
from prowess.host.store.proposals import StoredProposals
from prowess.workshop.proposal import (
    DEFAULT_CAPS,
    Change,
    Proposal,
    ProposalSource,
    State,
    change_hash,
)

PAYLOAD = Change("notes", {"SKILL.md": b"# Notes\n\nget https://tool.example.invalid/t\n"})
CAPS = {**DEFAULT_CAPS, State.PENDING: 3, State.REJECTED: 3}


@dataclass
class Naive:
    """A store that tells proposals apart by title, among the pending ones, with one cap for all."""

    records: list[Proposal]
    cap: int = 9

    def is_known(self, title: str) -> bool:
        return any(r.title == title for r in self.records if r.state is State.PENDING)

    def add(self, record: Proposal) -> None:
        self.records = [record, *self.records][: self.cap]


def make(number: int, state: State, change: Change = PAYLOAD, title: str = "") -> Proposal:
    return Proposal(
        id=f"p{number:02}",
        revision=change_hash(change),
        state=state,
        created_at=number,
        title=title or f"Title {number}",
        workspace="/work",
        source=ProposalSource.TOOL,
        change=change,
    )


def make_flood(state: State) -> list[Proposal]:
    return [
        make(number, state, Change("notes", {"SKILL.md": str(number).encode()}))
        for number in range(1, 16)
    ]


@pytest.fixture
def store(quick_folder: Path) -> StoredProposals:
    return StoredProposals(open_file(str(quick_folder / "prowess.db")))


@pytest.mark.parametrize("state", [State.REJECTED, State.QUARANTINED])
def test_g22_a_refused_payload_under_another_title_is_the_same_payload(
    store: StoredProposals, state: State
) -> None:
    refused = make(1, state, title="Faster notes")
    assert not Naive([refused]).is_known("A friendly improvement")  # so it is asked for again
    store.add(refused, CAPS)

    again = make(2, State.PENDING, Change("notes", dict(PAYLOAD.files)), "A friendly improvement")

    assert store.add(again, CAPS).id == refused.id
    assert [one.id for one in store.listed("/work")] == [refused.id]


def test_g22_another_skill_or_another_byte_is_another_payload(store: StoredProposals) -> None:
    store.add(make(1, State.REJECTED), CAPS)
    others = (
        Change("other", PAYLOAD.files),
        Change("notes", {"SKILL.md": b"# Notes\n\nget https://tool.example.invalid/t"}),
        Change("notes", {**PAYLOAD.files, "references/a.md": None}),
    )

    for number, other in enumerate(others, start=2):
        assert store.add(make(number, State.PENDING, other), CAPS).id == f"p{number:02}"


@pytest.mark.parametrize("state", [State.PENDING, State.REJECTED])
def test_g23_a_flood_of_one_state_pushes_out_no_other(store: StoredProposals, state: State) -> None:
    evidence = make(0, State.QUARANTINED)
    naive = Naive([evidence])
    store.add(evidence, CAPS)
    for one in make_flood(state):
        naive.add(one)
        store.add(one, CAPS)
    assert evidence not in naive.records  # and with it, what the next resubmission is compared to

    assert store.add(make(99, State.PENDING), CAPS).id == evidence.id
    assert [one.id for one in store.listed("/work", state)] == ["p15", "p14", "p13"]
