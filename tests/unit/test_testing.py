import asyncio

import pytest

from prowess.errors import WatchUnavailableError
from prowess.runtime.ports import (
    FactsProbe,
    SessionStore,
    SettingsSource,
    SkillSources,
    StoredSnapshot,
    Watcher,
    WatchTargets,
)
from prowess.settings import Settings
from prowess.skills.eligibility import HostFacts
from prowess.skills.model import Metadata, Requirements, Tier, Triggers
from prowess.testing import (
    FixedFacts,
    FixedSettings,
    MemorySources,
    MemoryStore,
    ScriptedWatcher,
    make_skill,
    open_memory,
)


def test_a_skill_has_defaults_that_hang_together() -> None:
    skill = make_skill("ship", tier=Tier.BUNDLED)

    assert (skill.name, skill.id, skill.key) == ("ship", "ship", "ship")
    assert skill.path == f"{skill.source.root}/ship/SKILL.md"
    assert skill.path == f"{skill.folder}/SKILL.md"
    assert skill.bundled


def test_what_matters_to_a_test_is_given_by_name() -> None:
    skill = make_skill(
        bins=("git",), os=("linux",), key="ship", triggers=Triggers(any=("x",)), body="Steps."
    )

    assert skill.metadata == Metadata(
        requires=Requirements(bins=("git",), os=("linux",)),
        skill_key="ship",
        triggers=Triggers(any=("x",)),
    )
    assert skill.body == "Steps."


def test_who_may_call_a_skill_is_given_by_name_too() -> None:
    skill = make_skill(model=False, user=False)

    assert (skill.invocation.model, skill.invocation.user) == (False, False)


def test_whole_metadata_may_be_given_instead() -> None:
    metadata = Metadata(always=True)

    assert make_skill(metadata=metadata).metadata is metadata


def test_a_skill_with_a_field_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError):
        make_skill(summary="x")


def test_sources_give_the_same_scan_until_a_test_changes_them() -> None:
    sources: SkillSources = (memory := MemorySources((make_skill(),), files={"deploy": ["a.md"]}))
    first, second = sources.scan(Settings()), sources.scan(Settings(), ["/x"])

    memory.skills = ()
    third = sources.scan(Settings())

    assert first is second
    assert (third.skills, memory.scans) == ((), 3)
    assert sources.resources(make_skill()) == ["a.md"]
    assert sources.resources(make_skill("other")) == ()


def test_a_machine_answers_only_what_it_is_asked() -> None:
    facts: FactsProbe = FixedFacts(
        platform="darwin", bins=frozenset(("git", "gh")), env=frozenset(("A",))
    )

    assert facts.probe(["git", "jq"], []) == HostFacts(
        platform="darwin", bins=frozenset(("git",)), env=frozenset()
    )


def test_settings_are_those_of_the_moment() -> None:
    source: SettingsSource = (fixed := FixedSettings())
    before = source.read()

    fixed.settings = Settings(values={"a": 1})

    assert before == Settings()
    assert source.read().values == {"a": 1}


def test_a_store_keeps_snapshots_and_the_latest_use() -> None:
    store: SessionStore = MemoryStore()
    snapshot = StoredSnapshot(session_id="s", agent_id="main", version=1, hash="h", prompt="p")

    store.save(snapshot)
    store.record_use("deploy", 20)
    store.record_use("deploy", 10)

    assert store.load("s") is snapshot
    assert store.load("other") is None
    assert store.last_used() == {"deploy": 20}
    store.close()


@pytest.mark.parametrize(("refusal", "said"), [("", "the script is over."), ("full.", "full.")])
def test_a_watcher_follows_its_script_and_then_refuses(refusal: str, said: str) -> None:
    begun: list[int] = []
    scripted = ScriptedWatcher(
        bursts=[frozenset(("/a",)), frozenset(("/b",))], refusal=refusal, before_burst=begun.append
    )
    watcher: Watcher = scripted

    async def collect() -> list[frozenset[str]]:
        return [burst async for burst in watcher.changes(WatchTargets(), debounce_ms=1)]

    with pytest.raises(WatchUnavailableError, match=said):
        asyncio.run(collect())

    assert begun == [0, 1]
    assert scripted.watched == [WatchTargets()]


def test_a_service_in_memory_answers_like_a_real_one() -> None:
    skills = open_memory(
        [make_skill("deploy", bins=("kubectl",)), make_skill("mail", env=("TOKEN",))],
        bins={"kubectl"},
        env={"TOKEN"},
    )

    assert [row.usable for row in skills.status().skills] == [True, True]
