"""Proposals in a database of either engine: kept once, whatever asks how often, and logged."""

import json
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url
from tests.integration.postgres_world import execute, reopened
from tests.memory_proposals import MemoryProposals

from prowess.errors import StoreError
from prowess.host.store.database import Database, open_file
from prowess.host.store.proposals import PROPOSALS, StoredProposals
from prowess.host.store.sessions import StoredSessions
from prowess.runtime.workshop.ports import ProposalStore
from prowess.safety.model import Confidence, Finding, Level
from prowess.workshop.edit import Append, Create, Edit, Replace
from prowess.workshop.proposal import (
    DEFAULT_CAPS,
    Begun,
    Change,
    EventKind,
    Evidence,
    Proposal,
    ProposalSource,
    Similar,
    State,
    Subject,
    change_hash,
)

FINDING = Finding(
    rule_id="r", level=Level.WARN, confidence=Confidence.LOW, file="SKILL.md", line=3, column=2,
    message="m", evidence="e", evidence_hash="h", views=("base64",), why="w", fix="f",
    lowered_by=("quoted",),
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "prowess.db")


def make(number: int = 1, **more: object) -> Proposal:
    change = Change("notes", {"SKILL.md": f"{number}".encode(), "assets/gone": None})
    base = Proposal(
        id=f"p{number}",
        revision=change_hash(change),
        state=State.PENDING,
        created_at=float(number),
        updated_at=float(number),
        title="Tïtle ⚠️",
        reason="because\0of",
        payload=f"payload {number}",
        session_id="s1",
        agent_id="main",
        workspace="/work",
        source=ProposalSource.AGENT_END,
        change=change,
        edit=Create(description="d", body="b"),
        base_hash="base",
        findings=(FINDING,),
        quarantine_reason="q",
        evidence=(Evidence(place=3, role="user", quote="said"),),
        backup="0001",
        similar=(Similar("notes", 0.5),),
    )
    # A test that passes the wrong kind of value fails at once, with its own line.
    return replace(base, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "edit",
    [
        None,
        Create(description="d", body="b"),
        Append(section="s", body="b", description="d"),
        Replace(old_text="a", new_text="\\1"),
    ],
)
def test_a_proposal_comes_back_as_it_went_in(engine: Database, edit: Edit | None) -> None:
    stored = StoredProposals(engine).add(make(edit=edit), DEFAULT_CAPS)

    assert stored == make(edit=edit)
    with reopened(engine) as other:
        again = StoredProposals(other)
        assert again.get("/work", "p1") == stored
        assert again.listed("/work") == (stored,)
        assert again.get("/elsewhere", "p1") is None
        assert again.listed("/elsewhere") == ()


def test_the_store_of_sessions_lives_in_the_same_database(engine: Database) -> None:
    proposals = StoredProposals(engine)
    proposals.add(make(), DEFAULT_CAPS)
    sessions = StoredSessions(engine)
    sessions.record_use("notes", 5)

    proposals.add(make(2), DEFAULT_CAPS)

    assert dict(sessions.last_used()) == {"notes": 5}
    assert [one.state for one in proposals.listed("/work")] == [State.PENDING] * 2
    sessions.close()


def test_nothing_is_made_before_it_is_used(path: str) -> None:
    StoredProposals(open_file(path))

    assert not Path(path).exists()


def test_the_same_wish_is_kept_once_and_the_newest_is_first(engine: Database) -> None:
    store = StoredProposals(engine)
    first = store.add(make(1), DEFAULT_CAPS)

    same = store.add(make(2, payload="payload 1"), DEFAULT_CAPS)
    other = store.add(make(3), DEFAULT_CAPS)

    assert same == first
    assert [one.id for one in store.listed("/work")] == [other.id, first.id]


def test_the_newest_stays_the_newest_when_the_clock_goes_back(engine: Database) -> None:
    store = StoredProposals(engine)
    for number in (9, 3, 1):
        store.add(make(number), {State.PENDING: 2})

    assert [one.id for one in store.listed("/work")] == ["p1", "p3"]


def test_each_pruning_is_an_event_and_takes_the_files_along(engine: Database) -> None:
    store = StoredProposals(engine)
    store.add(make(0, state=State.QUARANTINED), {State.PENDING: 1, State.QUARANTINED: 1})

    for number in (1, 2, 3):
        store.add(make(number), {State.PENDING: 1, State.QUARANTINED: 1})

    pruned = [event for event in store.events("/work") if event.kind is EventKind.PRUNED]
    assert [event.proposal_id for event in pruned] == ["p1", "p2"]
    states = sorted(one.state for one in store.listed("/work"))
    assert states == [State.PENDING, State.QUARANTINED]
    assert set(execute(engine, "select proposal_id from workshop_files")) == {("p0",), ("p3",)}


def test_a_change_is_made_once_and_only_to_what_was_seen(engine: Database) -> None:
    store = StoredProposals(engine)
    was = store.add(make(), DEFAULT_CAPS)
    now = replace(was, state=State.APPLIED, updated_at=7.0)

    assert store.change(was, now, EventKind.APPLIED, "noted")
    assert not store.change(was, replace(was, state=State.REJECTED), EventKind.REJECTED)
    assert not store.change(replace(now, revision="other"), now, EventKind.REJECTED)

    assert store.get("/work", "p1") == now
    last = store.events("/work")[-1]
    assert (last.kind, last.at, last.note) == (EventKind.APPLIED, 7.0, "noted")


def test_events_have_a_cursor_and_are_only_added(engine: Database) -> None:
    store = StoredProposals(engine)
    for number in range(5):
        store.add(make(number), DEFAULT_CAPS)

    first = store.events("/work", most=2)
    rest = store.events("/work", after=first[-1].sequence)

    assert [event.proposal_id for event in (*first, *rest)] == [f"p{number}" for number in range(5)]
    assert store.events("/elsewhere") == ()
    for statement in ("delete from workshop_events", "update workshop_events set note = 'x'"):
        with pytest.raises(sa.exc.DBAPIError, match="only added"):
            execute(engine, statement)


def _add_all(url: str, numbers: list[int]) -> list[str]:
    store = StoredProposals(Database(make_url(url)))
    return [store.add(make(number), DEFAULT_CAPS).id for number in numbers]


def test_two_processes_never_keep_the_same_proposal_twice(engine: Database) -> None:
    numbers = list(range(12))

    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        url = engine.url.render_as_string(hide_password=False)
        kept = list(pool.map(_add_all, [url, url], [numbers, numbers[::-1]]))

    store = StoredProposals(engine)
    assert sorted(kept[0]) == sorted(kept[1])
    assert len(store.listed("/work")) == 12
    created = [event for event in store.events("/work") if event.kind is EventKind.CREATED]
    assert len(created) == 12


def test_of_many_who_decide_at_once_one_succeeds(engine: Database) -> None:
    store = StoredProposals(engine)
    was = store.add(make(), DEFAULT_CAPS)
    now = replace(was, state=State.REJECTED)

    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(lambda _: store.change(was, now, EventKind.REJECTED), range(12)))

    assert sorted(done) == [False] * 11 + [True]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("update workshop_proposals set format = 99", "newer"),
        ("update workshop_proposals set rest = '{'", "cannot be read"),
        ("update workshop_proposals set rest = '[]'", "cannot be read"),
        ("update workshop_proposals set state = 'fine'", "cannot be read"),
    ],
)
def test_a_row_that_nobody_can_read_is_an_error(
    engine: Database, statement: str, said: str
) -> None:
    store = StoredProposals(engine)
    store.add(make(), DEFAULT_CAPS)
    execute(engine, statement)

    with pytest.raises(StoreError, match=said):
        store.listed("/work")


def test_a_state_that_does_not_exist_is_an_error_wherever_it_is_met(engine: Database) -> None:
    store = StoredProposals(engine)
    store.add(make(), DEFAULT_CAPS)
    execute(engine, "update workshop_proposals set state = 'fine'")

    with pytest.raises(StoreError, match="cannot be read"):
        store.listed("/work")
    with pytest.raises(StoreError, match="cannot be read"):
        store.add(make(), DEFAULT_CAPS)


def test_a_file_that_is_no_store_is_an_error_that_names_it(path: str) -> None:
    Path(path).parent.mkdir()
    Path(path).write_bytes(b"no database at all" * 100)

    with pytest.raises(StoreError, match=r"prowess\.db"):
        StoredProposals(open_file(path)).listed("/work")


def begun(proposal: Proposal, kind: EventKind = EventKind.APPLIED) -> Begun:
    return Begun(
        workspace=proposal.workspace, proposal_id=proposal.id, skill=proposal.skill, kind=kind,
        revision=proposal.revision, at=5.0, target={"SKILL.md": "digest", "assets/gone": None},
    )  # fmt: skip


@pytest.fixture(params=["sqlite", "postgresql", "memory"])
def either(request: pytest.FixtureRequest, path: str) -> ProposalStore:
    """The real store on both engines, and the one for tests, which follows the same rules."""
    if request.param == "memory":
        return MemoryProposals()
    is_file = request.param == "sqlite"
    return StoredProposals(open_file(path) if is_file else request.getfixturevalue("postgres"))


def test_a_write_that_began_is_known_until_it_is_recorded(either: ProposalStore) -> None:
    first, second = (either.add(make(number), DEFAULT_CAPS) for number in (1, 2))
    either.begin(begun(first))
    either.begin(begun(second))

    either.change(first, replace(first, state=State.APPLIED), EventKind.APPLIED)

    assert either.unfinished("/work") == (begun(second),)
    assert either.unfinished("/elsewhere") == ()
    either.change(second, replace(second, state=State.REJECTED), EventKind.REJECTED)
    assert either.unfinished("/work") == (begun(second),)


def test_a_write_that_was_lost_is_an_event(either: ProposalStore) -> None:
    made = either.add(make(), DEFAULT_CAPS)
    either.begin(begun(made))

    either.abandon(begun(made), 9.0, "lost")

    assert either.unfinished("/work") == ()
    last = either.events("/work")[-1]
    assert (last.kind, last.at, last.note, last.proposal_id, last.revision) == (
        EventKind.INTERRUPTED, 9.0, "lost", made.id, made.revision,
    )  # fmt: skip


def test_what_was_applied_comes_in_the_order_of_the_log(either: ProposalStore) -> None:
    made = [either.add(make(number), DEFAULT_CAPS) for number in (1, 2, 3)]
    for place in (2, 0):
        now = replace(made[place], state=State.APPLIED, updated_at=0.0)
        either.change(made[place], now, EventKind.APPLIED)

    assert [one.id for one in either.applied("/work", "notes")] == ["p1", "p3"]
    assert either.applied("/work", "other") == ()


def test_events_of_one_proposal_or_skill_are_found(either: ProposalStore) -> None:
    first, second = (either.add(make(number), DEFAULT_CAPS) for number in (1, 2))

    found = either.events("/work", about=Subject(proposal_id=second.id))

    assert [event.proposal_id for event in found] == [second.id]
    assert len(either.events("/work", about=Subject(skill=first.skill))) == 2
    assert either.events("/work", about=Subject(skill="other")) == ()


def test_both_stores_prune_alike(either: ProposalStore) -> None:
    for number, state in enumerate([State.QUARANTINED, *[State.PENDING] * 4, State.QUARANTINED]):
        either.add(make(number, state=state), {State.PENDING: 2, State.QUARANTINED: 1})

    assert [one.id for one in either.listed("/work")] == ["p5", "p4", "p3"]
    pruned = [event for event in either.events("/work") if event.kind is EventKind.PRUNED]
    assert [(event.proposal_id, event.note) for event in pruned] == [
        ("p1", "was pending"), ("p2", "was pending"), ("p0", "was quarantined"),
    ]  # fmt: skip


def test_a_row_from_before_likenesses_were_kept_is_read(engine: Database) -> None:
    store = StoredProposals(engine)
    store.add(make(), DEFAULT_CAPS)
    ((rest,),) = execute(engine, "select rest from workshop_proposals")
    old = {key: value for key, value in json.loads(str(rest)).items() if key != "similar"}
    with engine.engine.begin() as connection:
        connection.execute(sa.update(PROPOSALS).values(rest=json.dumps(old)))

    assert store.listed("/work") == (make(similar=()),)
