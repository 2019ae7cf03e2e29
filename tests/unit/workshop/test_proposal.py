"""A change is known by its content, and what was found bad is neither forgotten nor pushed out."""

from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.safety.model import content_hash
from prowess.workshop.proposal import (
    DEFAULT_CAPS,
    Change,
    Record,
    State,
    change_hash,
    duplicate_of,
    prune,
    result_of,
)

NAMES = st.text("ab/.", min_size=1, max_size=4)
FILES = st.dictionaries(NAMES, st.none() | st.binary(max_size=4), max_size=4)


def record(number: int, state: State, revision: str = "") -> Record:
    return Record(
        id=f"p{number:03}", revision=revision or f"r{number}", state=state, created_at=number
    )


@given(st.tuples(NAMES, FILES), st.tuples(NAMES, FILES))
def test_two_changes_share_a_hash_only_if_they_are_the_same(
    one: tuple[str, dict[str, bytes | None]], other: tuple[str, dict[str, bytes | None]]
) -> None:
    same = change_hash(Change(*one)) == change_hash(Change(*other))

    assert same == (one == other)


def test_the_order_of_files_is_no_part_of_a_change() -> None:
    one = Change("notes", {"SKILL.md": b"a", "references/b.md": None})
    other = Change("notes", {"references/b.md": None, "SKILL.md": b"a"})

    assert change_hash(one) == change_hash(other)


def test_an_empty_file_is_not_a_deleted_one() -> None:
    assert change_hash(Change("notes", {"a": b""})) != change_hash(Change("notes", {"a": None}))


def test_a_border_between_name_and_content_cannot_be_moved() -> None:
    assert content_hash({"ab": b"c"}) != content_hash({"a": b"bc"})
    assert content_hash({"a": b"1", "b": b"2"}) != content_hash({"a": b"1b2"})


def test_a_change_does_not_follow_the_mapping_it_was_made_from() -> None:
    files: dict[str, bytes | None] = {"SKILL.md": b"reviewed"}
    change = Change("notes", files)
    reviewed = change_hash(change)

    files["SKILL.md"] = b"something else"

    assert change.files["SKILL.md"] == b"reviewed"
    assert change_hash(change) == reviewed


def test_a_name_that_is_no_unicode_still_has_a_hash() -> None:
    assert content_hash({"\udcff": b""}) != content_hash({"\udcfe": b""})


def test_a_result_is_the_whole_skill_after_the_change() -> None:
    current = {"SKILL.md": b"old", "references/a.md": b"a", "scripts/b.py": b"b"}
    change = Change("notes", {"SKILL.md": b"new", "scripts/b.py": None, "assets/c.txt": b"c"})

    assert result_of(current, change) == {
        "SKILL.md": b"new",
        "references/a.md": b"a",
        "assets/c.txt": b"c",
    }
    assert current["SKILL.md"] == b"old"


@each_row("state", list(State))
def test_the_same_change_is_found_again_in_every_state(state: State) -> None:
    records = [record(1, State.PENDING), record(2, state, "same")]

    assert duplicate_of("same", records) is records[1]
    assert duplicate_of("other", records) is None


def test_what_was_quarantined_outweighs_what_is_pending_and_newer() -> None:
    bad, waiting = record(1, State.QUARANTINED, "same"), record(2, State.PENDING, "same")

    assert duplicate_of("same", [waiting, bad]) is bad


def test_the_newest_of_several_in_one_state_is_the_duplicate() -> None:
    older, newer = record(1, State.REJECTED, "same"), record(2, State.REJECTED, "same")

    assert duplicate_of("same", [newer, older]) is newer


def test_the_oldest_of_a_state_go_first_and_the_order_of_the_rest_stays() -> None:
    records = [record(number, State.PENDING) for number in (3, 1, 2)]

    result = prune(records, {State.PENDING: 1})

    assert [kept.id for kept in result.kept] == ["p003"]
    assert [gone.id for gone in result.dropped] == ["p001", "p002"]


def test_a_state_without_a_cap_is_kept_whole() -> None:
    records = [record(number, State.APPLIED) for number in range(9)]

    assert prune(records, {State.PENDING: 0}).kept == tuple(records)


def test_every_state_has_a_cap_of_its_own() -> None:
    assert set(DEFAULT_CAPS) == set(State)


@given(st.lists(st.sampled_from(list(State)), max_size=40), st.integers(0, 5))
def test_pruning_one_state_never_touches_another(states: list[State], cap: int) -> None:
    records = [record(number, state) for number, state in enumerate(states)]

    result = prune(records, dict.fromkeys(State, cap))

    assert sorted((*result.kept, *result.dropped), key=lambda r: r.id) == records
    for state in State:
        mine = [r for r in records if r.state is state]
        assert [r for r in result.kept if r.state is state] == mine[max(len(mine) - cap, 0) :]
