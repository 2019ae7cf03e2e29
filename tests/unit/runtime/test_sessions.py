import pytest

from prowess.runtime.service import SkillsService
from prowess.runtime.watch import Sessions
from prowess.settings import AgentSettings, Settings
from prowess.testing import MemorySources, MemoryStore, make_skill, open_memory

AGENTS = (
    AgentSettings(id="main", default=True),
    AgentSettings(id="writer", skills=("review",), skills_inherited=False),
)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def rewrite(skills: SkillsService, *descriptions: str) -> None:
    sources = skills.workspace().sources
    assert isinstance(sources, MemorySources)
    for description in descriptions:
        sources.skills = (make_skill(description=description),)
        skills.refresh()
        skills.snapshot()


def test_the_first_turn_of_a_session_keeps_what_it_sees(store: MemoryStore) -> None:
    skills = open_memory([make_skill()])

    turn = Sessions(skills, store).begin_turn("s1")

    snapshot = skills.snapshot()
    assert turn.rebuilt
    assert store.load("s1") == turn.stored
    assert (turn.stored.session_id, turn.stored.agent_id) == ("s1", "main")
    assert (turn.stored.version, turn.stored.hash) == (snapshot.version, snapshot.hash)
    assert (turn.stored.prompt, turn.stored.skills) == (snapshot.prompt, snapshot.skills)


def test_a_turn_after_which_nothing_changed_keeps_its_snapshot(store: MemoryStore) -> None:
    sessions = Sessions(open_memory([make_skill()]), store)
    first = sessions.begin_turn("s1")

    second = sessions.begin_turn("s1")

    assert not second.rebuilt
    assert second.stored is first.stored


def test_a_changed_skill_reaches_the_session_at_its_next_turn(store: MemoryStore) -> None:
    skills = open_memory([make_skill()])
    sessions = Sessions(skills, store)
    first = sessions.begin_turn("s1")
    rewrite(skills, "Does something else.")

    second = sessions.begin_turn("s1")

    assert second.rebuilt
    assert second.stored.version > first.stored.version
    assert "Does something else." in second.stored.prompt


def test_a_change_that_was_taken_back_between_two_turns_is_none(store: MemoryStore) -> None:
    skills = open_memory([make_skill(description="First.")])
    sessions = Sessions(skills, store)
    first = sessions.begin_turn("s1")
    rewrite(skills, "Second.", "First.")

    second = sessions.begin_turn("s1")

    assert skills.snapshot().version > first.stored.version
    assert not second.rebuilt


def test_a_session_survives_a_restart_without_a_rebuild_where_nothing_changed(
    store: MemoryStore,
) -> None:
    Sessions(open_memory([make_skill()]), store).begin_turn("s1")

    turn = Sessions(open_memory([make_skill()]), store).begin_turn("s1")

    assert not turn.rebuilt


def test_sessions_do_not_share_what_they_keep(store: MemoryStore) -> None:
    skills = open_memory([make_skill()])
    sessions = Sessions(skills, store)
    old = sessions.begin_turn("s1")
    rewrite(skills, "Does something else.")

    new = sessions.begin_turn("s2")

    assert store.load("s1") == old.stored
    assert new.stored.hash != old.stored.hash


def test_a_session_that_changes_its_agent_is_rebuilt(store: MemoryStore) -> None:
    skills = open_memory(
        [make_skill("deploy"), make_skill("review")], settings=Settings(agents=AGENTS)
    )
    sessions = Sessions(skills, store)
    sessions.begin_turn("s1", "writer")

    turn = sessions.begin_turn("s1", "main")

    assert turn.rebuilt
    assert (turn.stored.agent_id, turn.stored.skill_filter) == ("main", None)


def test_a_session_that_another_process_moved_further_still_sees_a_change_and_never_goes_back(
    store: MemoryStore,
) -> None:
    ahead = open_memory([make_skill()])
    rewrite(ahead, "Second.", "Third.")
    stored = Sessions(ahead, store).begin_turn("s1").stored

    turn = Sessions(open_memory([make_skill()]), store).begin_turn("s1")

    assert turn.rebuilt
    assert turn.stored.hash != stored.hash
    assert turn.stored.version > stored.version


def test_a_session_is_known_by_its_name_without_what_cannot_be_seen(store: MemoryStore) -> None:
    sessions = Sessions(open_memory([make_skill()]), store)
    sessions.begin_turn("s 1")

    assert not sessions.begin_turn(" s\n1\u200b").rebuilt


def test_another_filter_is_a_rebuild_even_where_the_version_is_no_newer(store: MemoryStore) -> None:
    found = [make_skill("deploy"), make_skill("review")]
    narrow = Settings(agents=(AgentSettings(id="main", skills=("deploy",)),))
    Sessions(open_memory(found), store).begin_turn("s1")

    turn = Sessions(open_memory(found, settings=narrow), store).begin_turn("s1")

    assert turn.rebuilt
    assert turn.stored.skill_filter == ("deploy",)
