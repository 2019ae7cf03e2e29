"""What a hub promises, on SQLite and on PostgreSQL: rights, versions, labels, review and search."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from benchmarks.scale.hub import ask_questions, encode_pairs, fill, make_skills
from tests.integration.hub_world import HubWorld, describe, open_world
from tests.integration.postgres_world import execute, reopened
from tests.integration.sharing_world import PIPE

from prowess.errors import HubConflictError, HubDeniedError, HubError, HubNotFoundError, StoreError
from prowess.host.store.database import Database, open_file
from prowess.hub.model import HubCaller, HubRole, TokenScope, VersionState
from prowess.hub.search import NEAREST, Access, DocumentIndex, read_asked
from prowess.hub.tables import HubDatabase
from prowess.testing import HashingEncoder

NOBODY = HubCaller()


@pytest.fixture
def world(engine: Database, tmp_path: Path) -> Iterator[HubWorld]:
    with open_world(engine, tmp_path) as found:
        yield found


def test_a_version_never_changes_and_the_same_one_may_come_again(world: HubWorld) -> None:
    world.make_space("acme", ann=HubRole.PUBLISHER)
    ann = world.enter("ann")

    first = world.publish(ann, "notes")

    assert world.publish(ann, "notes") == first
    with pytest.raises(HubConflictError, match="never change"):
        world.publish(ann, "notes", files={"SKILL.md": describe("notes", body="Other.")})
    skill = world.service.find(NOBODY, "acme/notes")
    assert [one.digest for one in world.service.list_versions(NOBODY, skill)] == [first]


def test_many_who_publish_at_once_leave_each_version_once(world: HubWorld) -> None:
    world.make_space("acme", ann=HubRole.PUBLISHER)
    ann = world.enter("ann")
    names = [f"skill-{number % 5}" for number in range(20)]

    with ThreadPoolExecutor(4) as pool:
        digests = list(pool.map(lambda name: world.publish(ann, name), names))

    assert len(set(digests)) == 5
    hits = world.service.list_skills(NOBODY, most=50)
    assert sorted(hit.skill.name for hit in hits) == sorted(set(names))


def test_the_newest_is_by_number_and_labels_are_by_choice(world: HubWorld) -> None:
    world.make_space("acme", ann=HubRole.PUBLISHER)
    ann = world.enter("ann")
    for version in ("1.9.0", "1.10.0", "2.0.0-beta.1"):
        files = {"SKILL.md": describe("notes", body=version)}
        world.publish(ann, "notes", version, files=files)
    skill = world.service.find(NOBODY, "acme/notes")

    world.service.label(ann, "acme/notes", "stable", "1.9.0")

    found = {ref: world.service.find_version(NOBODY, skill, ref).version for ref in ("", "stable")}
    assert found == {"": "1.10.0", "stable": "1.9.0"}
    assert world.service.read_labels(skill) == {"latest": "1.10.0", "stable": "1.9.0"}
    with pytest.raises(HubError, match="always the newest"):
        world.service.label(ann, "acme/notes", "latest", "1.9.0")


def test_a_yanked_version_is_found_by_nobody_and_given_to_who_names_it(world: HubWorld) -> None:
    world.make_space("acme", ann=HubRole.PUBLISHER)
    ann = world.enter("ann")
    world.publish(ann, "notes")
    world.publish(ann, "notes", "1.1.0", files={"SKILL.md": describe("notes", body="New.")})
    world.service.label(ann, "acme/notes", "canary", "1.1.0")

    world.service.yank(ann, "acme/notes", "1.1.0", "it deletes too much")

    skill = world.service.find(NOBODY, "acme/notes")
    assert world.service.find_version(NOBODY, skill).version == "1.0.0"
    exact = world.service.find_version(NOBODY, skill, "1.1.0")
    assert (exact.state, exact.reason) == (VersionState.YANKED, "it deletes too much")
    with pytest.raises(HubNotFoundError, match="has no version canary"):
        world.service.find_version(NOBODY, skill, "canary")
    world.service.yank(ann, "acme/notes", "1.0.0", "all of it")
    assert world.find("notes") == []


def test_what_is_reviewed_waits_for_somebody_else(world: HubWorld) -> None:
    world.make_space("acme", is_reviewed=True, ann=HubRole.REVIEWER, bob=HubRole.REVIEWER)
    ann, bob = world.enter("ann"), world.enter("bob")

    world.publish(ann, "notes")

    assert world.find("notes") == []
    skill = world.service.find(ann, "acme/notes")
    with pytest.raises(HubNotFoundError):
        world.service.find_version(NOBODY, skill, "1.0.0")
    with pytest.raises(HubDeniedError, match="somebody else has to review"):
        world.service.review(ann, "acme/notes", "1.0.0", approve=True)
    assert [one.version for _, one in world.service.list_pending(bob)] == ["1.0.0"]
    world.service.review(bob, "acme/notes", "1.0.0", approve=True)
    assert world.find("notes") == ["acme/notes"]
    with pytest.raises(HubConflictError, match="waits for no review"):
        world.service.review(bob, "acme/notes", "1.0.0", approve=False)


def test_a_private_namespace_is_there_for_its_people_only(world: HubWorld) -> None:
    world.make_space("acme", is_public=False, ann=HubRole.PUBLISHER, eve=HubRole.READER)
    world.make_space("open", ann=HubRole.PUBLISHER)
    ann, eve = world.enter("ann"), world.enter("eve")
    world.publish(ann, "notes", namespace="acme")
    world.publish(ann, "notes-of-all", namespace="open")

    assert world.find("notes") == ["open/notes-of-all"]
    assert set(world.find("notes", eve)) == {"acme/notes", "open/notes-of-all"}
    with pytest.raises(HubNotFoundError):
        world.service.find(NOBODY, "acme/notes")
    with pytest.raises(HubDeniedError):
        world.publish(eve, "more", namespace="acme")
    world.service.people.change_namespace("acme", is_public=True)
    assert set(world.find("notes")) == {"acme/notes", "open/notes-of-all"}


def test_a_token_does_what_both_its_scopes_and_the_role_allow(world: HubWorld) -> None:
    world.make_space("acme", ann=HubRole.ADMIN)
    reading = world.enter("ann", TokenScope.READ)
    text = world.give_token("ann")
    (entry, *_) = [one for one in world.service.people.list_tokens() if len(one.scopes) > 1]

    with pytest.raises(HubDeniedError, match="scope publish"):
        world.publish(reading, "notes", namespace="acme")
    assert world.service.people.identify(text).person == "ann"
    world.service.people.revoke_token(entry.id)
    with pytest.raises(HubDeniedError, match="revoked"):
        world.service.people.identify(text)


def test_what_the_scanner_refuses_is_not_taken_and_taken_down(world: HubWorld) -> None:
    world.make_space("acme", ann=HubRole.PUBLISHER)
    ann = world.enter("ann")

    with pytest.raises(HubError, match="was not published: the scanner finds"):
        world.publish(ann, "bad", files={"SKILL.md": describe("bad", body=PIPE)})

    assert world.service.list_skills(NOBODY, most=5) == []
    row = world.hub.audit.read(1)[0]
    assert (row["event"], row["outcome"], row["by"]) == ("hub.publish", "refused", "ann")
    assert not world.hub.audit.check().problem


def test_a_fresh_look_alike_never_stands_above_a_known_name(world: HubWorld) -> None:
    world.make_space("acme", ann=HubRole.PUBLISHER)
    world.make_space("evil", eve=HubRole.PUBLISHER)
    ann, eve = world.enter("ann"), world.enter("eve")
    plain = describe("release-notes", "Writes notes.")
    world.publish(ann, "release-notes", files={"SKILL.md": plain})
    names = ("release-n0tes", "release-notes", "notes-release", "release-notes2", "realease-notes")
    for name in names:
        text = "Writes release notes and changelogs from commits. Use for release notes."
        world.publish(eve, name, files={"SKILL.md": describe(name, text)})

    found = world.find("write release notes and changelogs from my commits")

    assert found[0] == "acme/release-notes"
    assert len(found) == 6
    operator = world.hub.operator
    world.service.vouch(operator, "evil/realease-notes")
    assert world.find("write release notes and changelogs from my commits")[0].startswith("evil/")


def test_a_look_alike_stays_below_the_oldest_that_its_reader_may_see(world: HubWorld) -> None:
    world.make_space("secret", is_public=False, sue=HubRole.PUBLISHER)
    world.make_space("acme", ann=HubRole.PUBLISHER)
    world.make_space("evil", eve=HubRole.PUBLISHER)
    plain = describe("tide-tables", "Looks up tides.")
    world.publish(world.enter("sue"), "tide-tables", files={"SKILL.md": plain})
    world.publish(world.enter("ann"), "tide-tables", files={"SKILL.md": plain})
    text = "Works out high tide at any harbour for boats. Use for tides, harbours and boats."
    files = {"SKILL.md": describe("tide-tabels", text)}
    world.publish(world.enter("eve"), "tide-tabels", files=files)

    found = world.find("when is high tide at the harbour for my boat")

    assert found == ["acme/tide-tables", "evil/tide-tabels"]


def test_a_word_that_nobody_had_is_found_as_soon_as_somebody_publishes_it(world: HubWorld) -> None:
    # As wide as those of the hub's encoder; what they mean is not asked for.
    vectors = {pair: np.tile(one, 6) for pair, one in encode_pairs(HashingEncoder()).items()}
    fill(world.hub, make_skills(1_600, vectors), 384)
    world.make_space("acme", ann=HubRole.PUBLISHER)
    other = DocumentIndex(world.hub.database)
    asked = read_asked("quixotrine")
    before = other.search(asked, None, Access(), english_only=True)

    world.publish(world.enter("ann"), "quixotrine")

    assert before == []
    assert len(other.search(asked, None, Access(), english_only=True)) == 1


def test_what_one_hub_publishes_eight_find_within_a_second(
    postgres: Database, tmp_path: Path
) -> None:
    asked = read_asked("quixotrine")
    with open_world(postgres, tmp_path) as world, ExitStack() as stack:
        others = [stack.enter_context(reopened(postgres)) for _ in range(8)]
        indexes = [DocumentIndex(HubDatabase(one)) for one in others]
        world.make_space("acme", ann=HubRole.PUBLISHER)
        assert not any(one.search(asked, None, Access(), english_only=True) for one in indexes)

        world.publish(world.enter("ann"), "quixotrine")

        began = time.monotonic()
        assert all(one.search(asked, None, Access(), english_only=True) for one in indexes)
        assert time.monotonic() - began < 1


def test_several_hubs_of_one_database_keep_one_log(postgres: Database, tmp_path: Path) -> None:
    with (
        open_world(postgres, tmp_path / "one") as one,
        open_world(postgres, tmp_path / "two") as two,
    ):
        one.make_space("acme", ann=HubRole.PUBLISHER)
        ann = one.enter("ann")
        with ThreadPoolExecutor(8) as pool:
            worlds = [one, two] * 10
            names = [f"skill-{number}" for number in range(20)]
            list(pool.map(lambda world, name: world.publish(ann, name), worlds, names))

        assert one.hub.audit.check() == two.hub.audit.check()
        assert one.hub.audit.check().lines == 20
        assert not one.hub.audit.check().problem


def test_skills_are_found_by_words_and_by_meaning(world: HubWorld) -> None:
    world.make_space("acme", ann=HubRole.PUBLISHER)
    ann = world.enter("ann")
    texts = {
        "pdf-forms": "Fills in PDF forms. Use when a form has to be completed.",
        "release-notes": "Writes release notes from commits.",
        "sql-tuning": "Makes slow database queries fast.",
    }
    for name, text in texts.items():
        world.publish(ann, name, files={"SKILL.md": describe(name, text)})

    assert world.find("why is my query so slow")[0] == "acme/sql-tuning"
    assert world.find("complete this form")[0] == "acme/pdf-forms"
    assert world.find("changelog for the new version")[0] == "acme/release-notes"


def test_another_encoder_asks_for_a_new_index(world: HubWorld) -> None:
    database = world.hub.database

    with pytest.raises(StoreError, match="prowess hub reindex"):
        database.check_encoder("another")


def test_both_engines_rank_alike(postgres: Database, tmp_path: Path) -> None:
    encoder, ranked = HashingEncoder(), []
    made = make_skills(600, encode_pairs(encoder))
    mine = Access(spaces=frozenset((3, 6)))
    questions = ask_questions()[:60]
    for database in (postgres, open_file(str(tmp_path / "hub.db"))):
        with open_world(database, tmp_path / f"of-{database.is_server}") as world:
            fill(world.hub, made, 64)
            index = DocumentIndex(world.hub.database)
            vectors = encoder.encode(questions)
            ranked.append(
                [
                    index.search(read_asked(text), vector, mine, english_only=True)
                    for text, vector in zip(questions, vectors, strict=True)
                ]
            )

    assert ranked[0] == ranked[1]
    assert min(map(len, ranked[0])) >= NEAREST


def test_what_looks_like_another_says_so_to_those_alone_who_may_see_the_other(
    world: HubWorld,
) -> None:
    world.make_space("secret", is_public=False, is_reviewed=False, sue=HubRole.PUBLISHER)
    world.make_space("acme", ann=HubRole.PUBLISHER)
    world.make_space("late", is_reviewed=True, lea=HubRole.PUBLISHER, ann=HubRole.REVIEWER)
    sue = world.enter("sue")
    world.publish(sue, "merger-plans")
    world.publish(world.enter("ann"), "merger-plans", namespace="acme")

    def looks(caller: HubCaller, address: str) -> set[bool]:
        skills = [world.service.find(caller, address)]
        skills += [hit.skill for hit in world.service.list_skills(caller, most=9)]
        skills += [hit.skill for hit in world.service.search(caller, "merger plans")]
        return {one.resembles is not None for one in skills if one.address == address}

    assert looks(NOBODY, "acme/merger-plans") == {False}
    assert looks(sue, "acme/merger-plans") == {True}
    # The one in between is in plain sight, so what is like it is no secret.
    world.publish(world.enter("lea"), "merger-plan", namespace="late")
    (waiting,) = world.service.list_pending(world.enter("ann"))
    assert waiting[0].resembles is not None


def test_a_change_that_cannot_be_taken_down_is_not_made(world: HubWorld, engine: Database) -> None:
    world.make_space("acme", ann=HubRole.PUBLISHER)
    ann = world.enter("ann")
    world.publish(ann, "notes")
    if engine.is_server:
        execute(engine, "alter table audit_events rename to audit_events_away")
    else:
        Path(world.hub.audit.path).unlink()
        Path(world.hub.audit.path).mkdir()

    try:
        for change in (
            lambda: world.publish(ann, "bread"),
            lambda: world.service.label(ann, "acme/notes", "stable", "1.0.0"),
            lambda: world.service.deprecate(ann, "acme/notes", "old"),
            lambda: world.service.yank(ann, "acme/notes", "1.0.0", "bad"),
        ):
            with pytest.raises(StoreError):
                change()
        found = world.service.list_skills(NOBODY, most=5)
        assert [(hit.skill.address, hit.skill.deprecated) for hit in found] == [("acme/notes", "")]
        assert world.service.read_labels(found[0].skill) == {"latest": "1.0.0"}
    finally:
        if engine.is_server:
            execute(engine, "alter table audit_events_away rename to audit_events")
