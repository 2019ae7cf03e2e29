"""A change is known by its content, and what was found bad is neither forgotten nor pushed out."""

from hypothesis import given
from hypothesis import strategies as st

from prowess.safety.paths import content_hash
from prowess.workshop.proposal import (
    DEFAULT_CAPS,
    Change,
    Record,
    State,
    change_hash,
    find_known,
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


def test_the_same_change_is_found_again_in_every_state_but_two() -> None:
    for state in State:
        records = [record(1, State.PENDING), record(2, state, "same")]
        # What was applied is known by what was asked for, and what is stale may come again.
        is_known = state not in {State.APPLIED, State.STALE}

        assert find_known(record(3, State.PENDING, "same"), records) is (
            records[1] if is_known else None
        )
        assert find_known(record(3, State.PENDING, "other"), records) is None


def test_what_was_quarantined_outweighs_what_is_pending_and_newer() -> None:
    bad, waiting = record(1, State.QUARANTINED, "same"), record(2, State.PENDING, "same")

    assert find_known(record(3, State.PENDING, "same"), [waiting, bad]) is bad


def test_the_newest_of_several_in_one_state_is_the_known_one() -> None:
    older, newer = record(1, State.REJECTED, "same"), record(2, State.REJECTED, "same")

    assert find_known(record(3, State.PENDING, "same"), [newer, older]) is newer


def test_every_state_has_a_cap_of_its_own() -> None:
    assert set(DEFAULT_CAPS) == set(State)
