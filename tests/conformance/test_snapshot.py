"""The immutable result for one agent: what it holds, when it moves, and how sessions keep it."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import FrozenInstanceError, replace

import pytest

from prowess import Skill, SkillsService
from prowess.runtime.watch import Turn

from .world import NO_BUNDLED, NO_SUCH_BIN, World, entries, openclaw, requires


@pytest.fixture(autouse=True)
def _no_bundled(world: World) -> None:
    world.settings(**NO_BUNDLED)


def filtered(world: World, skills: list[str]) -> None:
    """Give the agent `main` this list."""
    listed = [{"id": "main", "skills": skills}]
    world.config({"skills": NO_BUNDLED, "agents": {"list": listed}})


@pytest.mark.requirement("snapshot:parts")
def test_a_snapshot_has_its_parts(world: World) -> None:
    needed = {"env": ["MAIN_KEY", "SIDE_KEY"]}
    path = world.skill(
        "keyed", metadata=openclaw(skillKey="the-key", primaryEnv="MAIN_KEY", requires=needed)
    )

    snapshot = world.document("snapshot", env={"MAIN_KEY": "x", "SIDE_KEY": "y"})

    assert isinstance(snapshot["version"], int)
    assert len(snapshot["hash"]) == 64
    assert snapshot["skills"] == [
        {
            "name": "keyed",
            "skillKey": "the-key",
            "primaryEnv": "MAIN_KEY",
            "requiredEnv": ["MAIN_KEY", "SIDE_KEY"],
        }
    ]
    assert snapshot["skillFilter"] is None
    assert [skill["filePath"] for skill in snapshot["resolvedSkills"]] == [str(path)]
    assert [entry["name"] for entry in entries(snapshot["prompt"])] == ["keyed"]


@pytest.mark.requirement("snapshot:immutable")
def test_a_snapshot_cannot_be_changed(world: World) -> None:
    world.skill("alpha")
    snapshot = world.open().skills.snapshot()

    for part, field in ((snapshot, "version"), (snapshot.skills[0], "name")):
        with pytest.raises(FrozenInstanceError):
            setattr(part, field, "changed")


@pytest.mark.requirement("snapshot:skill-key")
def test_the_skill_key_is_the_name_where_none_is_given(world: World) -> None:
    world.skill("plain")

    assert world.document("snapshot")["skills"][0]["skillKey"] == "plain"


@pytest.mark.requirement("snapshot:parts")
def test_a_snapshot_without_skills_is_valid_and_empty(world: World) -> None:
    snapshot = world.document("snapshot")

    assert (snapshot["prompt"], snapshot["skills"], snapshot["resolvedSkills"]) == ("", [], [])


@pytest.mark.requirement("snapshot:lists-what-is-usable")
def test_what_is_usable_is_listed_and_what_is_visible_is_in_the_prompt(world: World) -> None:
    world.skill("hidden", disable_model_invocation=True)
    world.skill("lacking", metadata=requires(bins=[NO_SUCH_BIN]))
    world.skill("shown")

    snapshot = world.document("snapshot")

    assert [skill["name"] for skill in snapshot["skills"]] == ["hidden", "shown"]
    assert [entry["name"] for entry in entries(snapshot["prompt"])] == ["shown"]
    assert snapshot["prompt"] == world.prompt()


@pytest.mark.requirement("snapshot:normalised-filter")
@pytest.mark.parametrize(
    ("given", "kept"), [([], []), (["beta", " alpha", "beta", ""], ["alpha", "beta"])]
)
def test_the_filter_is_kept_without_blanks_and_repeats(
    world: World, given: list[str], kept: list[str]
) -> None:
    filtered(world, given)

    assert world.document("snapshot")["skillFilter"] == kept


def hashes(world: World, *steps: Callable[[], object]) -> list[str]:
    """The hash now and after each step, each asked of a terminal that remembers nothing."""
    found = [str(world.document("snapshot")["hash"])]
    for step in steps:
        step()
        found.append(str(world.document("snapshot")["hash"]))
    return found


@pytest.mark.requirement("snapshot:content-hash")
def test_equal_content_gives_equal_hashes(world: World) -> None:
    path = world.skill("alpha")

    before, after = hashes(world, lambda: path.write_bytes(path.read_bytes()))

    assert before == after


@pytest.mark.requirement("snapshot:content-hash", "snapshot:normalised-filter")
def test_the_order_of_the_filter_does_not_move_the_hash(world: World) -> None:
    world.skill("alpha")
    world.skill("beta")
    filtered(world, ["alpha", "beta"])

    before, after = hashes(world, lambda: filtered(world, ["beta", "alpha", "beta"]))

    assert before == after


@pytest.mark.requirement("snapshot:content-hash")
def test_the_hash_moves_with_every_change_in_meaning(world: World) -> None:
    world.skill("alpha", description="One.")
    beta = world.skills / "beta" / "SKILL.md"

    one, described, rewritten, added, removed, restricted = hashes(
        world,
        lambda: world.skill("alpha", description="Two."),
        lambda: world.skill("alpha", description="Two.", body="# Steps\n\nDo it otherwise.\n"),
        lambda: world.skill("beta"),
        beta.unlink,
        lambda: filtered(world, ["alpha"]),
    )

    assert len({one, described, rewritten, added, restricted}) == 5
    assert removed == rewritten


@pytest.mark.requirement("snapshot:content-hash", "secrets:never-shown")
def test_a_new_secret_value_does_not_move_the_hash(world: World) -> None:
    def key(value: str) -> None:
        world.settings(**NO_BUNDLED, entries={"alpha": {"apiKey": value}})

    world.skill("alpha", metadata=openclaw(primaryEnv="A_KEY", requires={"env": ["A_KEY"]}))
    key("one")

    before, after = hashes(world, lambda: key("two"))

    assert before == after


@pytest.mark.requirement("version:starts-at-process-start")
def test_versions_start_at_the_start_of_the_process(world: World) -> None:
    world.skill("alpha")
    before = time.time_ns() // 1_000_000

    version = world.process("snapshot", "--json").json["version"]

    assert before <= version <= time.time_ns() // 1_000_000


@pytest.mark.requirement("version:strictly-increases")
def test_every_change_in_meaning_gives_a_greater_version(world: World) -> None:
    skills = world.open().skills
    versions = [skills.snapshot().version]

    for number in range(5):
        world.skill(f"s{number}")
        skills.refresh()
        versions.append(skills.snapshot().version)

    assert versions == sorted(set(versions))


@pytest.mark.requirement("version:still-when-nothing-changed")
def test_a_look_that_finds_nothing_new_does_not_move_the_version(world: World) -> None:
    path = world.skill("alpha")
    skills = world.open().skills
    before = skills.snapshot()

    path.write_bytes(path.read_bytes())
    world.file(path.parent / "references" / "notes.md", "New.\n")
    world.skill("lacking", metadata=requires(bins=[NO_SUCH_BIN]))
    world.settings(**NO_BUNDLED, mystery=1)
    moved = skills.refresh()

    assert not moved
    assert skills.snapshot().version == before.version


def parsed(skills: SkillsService) -> dict[str, Skill]:
    """Every skill as it was last read: the same object until it is read again."""
    return {row.skill.name: row.skill for row in skills.status().skills}


@pytest.mark.requirement("rebuild:only-what-changed")
@pytest.mark.parametrize("told", [True, False], ids=["told which file", "not told"])
def test_only_what_changed_is_parsed_again(world: World, *, told: bool) -> None:
    for name in ("alpha", "beta", "gamma"):
        world.skill(name)
    skills = world.open().skills
    before = parsed(skills)

    path = world.skill("beta", description="Another description, of another length.")
    skills.refresh({str(path)} if told else None)

    after = parsed(skills)
    assert after["beta"].description.startswith("Another")
    assert {name for name in after if after[name] is not before[name]} == {"beta"}


@pytest.mark.requirement("rebuild:only-what-changed")
def test_a_new_skill_leaves_the_others_as_they_were_read(world: World) -> None:
    world.skill("alpha")
    skills = world.open().skills
    before = parsed(skills)

    skills.refresh({str(world.skill("beta"))})

    after = parsed(skills)
    assert after["alpha"] is before["alpha"]
    assert set(after) - set(before) == {"beta"}


def turn(world: World, session: str = "s1") -> Turn:
    """Begin a turn with a service that remembers nothing, as a new process would."""
    return world.open().sessions().begin_turn(session)


@pytest.mark.requirement("session:kept", "session:rebuilds-on-next-turn")
def test_a_session_keeps_its_snapshot_until_something_changed(world: World) -> None:
    world.skill("alpha")

    first, second = turn(world), turn(world)
    world.skill("beta")
    third = turn(world)

    assert (first.rebuilt, second.rebuilt, third.rebuilt) == (True, False, True)
    assert second.stored == first.stored
    assert third.stored.version > first.stored.version
    assert [entry["name"] for entry in entries(third.stored.prompt)] == ["alpha", "beta"]


@pytest.mark.slow
@pytest.mark.requirement("session:kept", "session:terminal")
def test_the_terminal_shows_what_a_session_holds(world: World) -> None:
    world.skill("alpha")
    command = ("snapshot", "--session", "s1", "--json")

    first, second = (world.process(*command).calm().json for _ in range(2))

    assert (first["sessionId"], first["rebuilt"], second["rebuilt"]) == ("s1", True, False)
    assert second == {**first, "rebuilt": False}
    assert first["prompt"] == world.prompt()


@pytest.mark.requirement("session:rebuilds-on-next-turn")
def test_a_session_rebuilds_when_the_filter_changed(world: World) -> None:
    world.skill("alpha")
    world.skill("beta")
    before = turn(world)

    filtered(world, ["beta"])

    after = turn(world)
    assert (before.stored.skill_filter, after.stored.skill_filter) == (None, ("beta",))
    assert after.rebuilt


@pytest.mark.requirement("session:rebuilds-on-next-turn")
def test_a_session_rebuilds_after_a_clock_was_set_back(world: World) -> None:
    world.skill("alpha")
    kept = turn(world).stored
    world.open().store.save(replace(kept, version=kept.version * 2))

    world.skill("beta")

    assert turn(world).rebuilt


@pytest.mark.requirement("session:never-within-a-turn")
def test_a_turn_holds_what_it_began_with(world: World) -> None:
    world.skill("alpha")
    runtime = world.open()
    sessions = runtime.sessions()
    begun = sessions.begin_turn("s1")

    world.skill("beta")
    runtime.skills.refresh()

    next_turn = sessions.begin_turn("s1")
    assert [entry["name"] for entry in entries(begun.stored.prompt)] == ["alpha"]
    assert [entry["name"] for entry in entries(next_turn.stored.prompt)] == ["alpha", "beta"]


@pytest.mark.requirement("session:long-prompts-once")
def test_a_long_prompt_is_stored_once_for_all_sessions(world: World) -> None:
    world.skill("alpha", description="word " * 150 + "unique-ending")
    sessions = world.open().sessions()

    for number in range(3):
        sessions.begin_turn(f"session-{number}")

    with closing(sqlite3.connect(world.state / "prowess.db")) as store:
        dump = "\n".join(store.iterdump())
    assert [dump.count(f"session-{number}") for number in range(3)] == [1, 1, 1]
    assert dump.count("unique-ending") == 1


@pytest.mark.requirement("session:kept")
def test_sessions_of_two_agents_do_not_mix(world: World) -> None:
    listed = [{"id": "one", "skills": ["alpha"]}, {"id": "two", "skills": ["beta"]}]
    world.config({"skills": NO_BUNDLED, "agents": {"list": listed}})
    world.skill("alpha")
    world.skill("beta")
    sessions = world.open().sessions()

    one, two = sessions.begin_turn("s1", "one"), sessions.begin_turn("s2", "two")

    assert [entry["name"] for entry in entries(one.stored.prompt)] == ["alpha"]
    assert [entry["name"] for entry in entries(two.stored.prompt)] == ["beta"]
    assert not sessions.begin_turn("s1", "one").rebuilt
