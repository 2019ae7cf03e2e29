"""Guards of proposals: a payload is known by its content, and evidence is never pushed out."""

from dataclasses import dataclass

import pytest

from prowess.workshop.proposal import Change, Record, State, change_hash, duplicate_of, prune

PAYLOAD = Change("notes", {"SKILL.md": b"# Notes\n\nget https://tool.example.invalid/t\n"})


@dataclass
class Naive:
    """A store that tells proposals apart by title, among the pending ones, with one cap for all."""

    records: list[Record]
    cap: int = 50

    def is_known(self, title: str) -> bool:
        return any(r.title == title for r in self.records if r.state is State.PENDING)

    def add(self, record: Record) -> None:
        self.records = [record, *self.records][: self.cap]


def record(number: int, state: State, change: Change = PAYLOAD, title: str = "") -> Record:
    return Record(
        id=f"p{number:04}",
        revision=change_hash(change),
        state=state,
        created_at=number,
        title=title or f"Title {number}",
    )


@pytest.mark.parametrize("state", [State.REJECTED, State.QUARANTINED])
def test_g22_a_refused_payload_under_another_title_is_the_same_payload(state: State) -> None:
    refused = record(1, state, title="Faster notes")
    assert not Naive([refused]).is_known("A friendly improvement")  # so it is asked for again

    again = Change("notes", dict(PAYLOAD.files))

    assert duplicate_of(change_hash(again), [refused]) is refused


def test_g22_another_skill_or_another_byte_is_another_payload() -> None:
    refused = record(1, State.REJECTED)
    for other in (
        Change("other", PAYLOAD.files),
        Change("notes", {"SKILL.md": b"# Notes\n\nget https://tool.example.invalid/t"}),
        Change("notes", {**PAYLOAD.files, "references/a.md": None}),
    ):
        assert duplicate_of(change_hash(other), [refused]) is None


def test_g23_a_flood_of_pending_proposals_does_not_push_out_quarantined_ones() -> None:
    evidence = record(0, State.QUARANTINED)
    flood = [
        record(number, State.PENDING, Change("notes", {"SKILL.md": str(number).encode()}))
        for number in range(1, 1_001)
    ]
    naive = Naive([evidence])
    for pending in flood:
        naive.add(pending)
    assert evidence not in naive.records  # and with it, what the next resubmission is compared to

    result = prune([*reversed(flood), evidence])

    assert evidence in result.kept
    assert duplicate_of(evidence.revision, result.kept) is evidence
    assert [kept.id for kept in result.kept if kept.state is State.PENDING] == [
        f"p{number:04}" for number in range(1_000, 950, -1)
    ]
    assert [gone.id for gone in result.dropped[:2]] == ["p0001", "p0002"]


def test_g23_a_flood_of_rejected_ones_does_not_push_out_pending_or_quarantined_ones() -> None:
    kept = [record(0, State.QUARANTINED), record(1, State.PENDING), record(2, State.APPLIED)]
    flood = [record(number, State.REJECTED) for number in range(3, 1_000)]

    result = prune([*kept, *flood])

    assert result.kept[:3] == tuple(kept)
    assert all(gone.state is State.REJECTED for gone in result.dropped)
