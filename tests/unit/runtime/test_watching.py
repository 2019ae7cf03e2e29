import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass, field

import pytest

from prowess.errors import ConfigError
from prowess.runtime.ports import Scan, WatchTargets
from prowess.runtime.service import Places, SkillsService, Workspace
from prowess.runtime.watch import Watching
from prowess.settings import LoadSettings, Settings, SkillsSettings
from prowess.skills.model import Skill, Source, Tier
from prowess.testing import (
    FixedFacts,
    FixedSettings,
    MemorySources,
    MemoryStore,
    ScriptedWatcher,
    make_skill,
    open_memory,
)

CONFIG = "/state/prowess.json"
FILE = frozenset(("/work/skills/deploy/SKILL.md",))
UNWATCHED = Settings(skills=SkillsSettings(load=LoadSettings(watch=False)))


@dataclass
class WatchedSources(MemorySources):
    """Sources with folders to watch, which say afterwards what they were asked to look at."""

    skills: tuple[Skill, ...] = (make_skill(),)
    folders: tuple[str, ...] = ("/work/skills",)
    asked: list[frozenset[str] | None] = field(default_factory=list)

    def scan(self, settings: Settings, changed: Collection[str] | None = None) -> Scan:
        del settings
        self.asked.append(None if changed is None else frozenset(changed))
        return Scan(
            skills=self.skills,
            sources=(Source(tier=Tier.WORKSPACE, root="/work/skills"),),
            folders=self.folders,
        )


@dataclass
class HalfWrittenSettings(FixedSettings):
    """A config that is just being saved when it is read for the second time."""

    reads: int = 0

    def read(self) -> Settings:
        self.reads += 1
        if self.reads == 2:
            raise ConfigError(CONFIG, "half of it is missing.")
        return self.settings


class EndingWatcher:
    """A watcher that ends by itself, after which the configuration no longer wants one."""

    def __init__(self, config: FixedSettings) -> None:
        self._config = config

    async def changes(
        self, targets: WatchTargets, *, debounce_ms: int
    ) -> AsyncIterator[frozenset[str]]:
        yield frozenset((targets.roots[0], str(debounce_ms)))
        self._config.settings = UNWATCHED
        yield frozenset((CONFIG,))


def service(sources: WatchedSources, config: FixedSettings | None = None) -> SkillsService:
    return SkillsService(
        settings=config or FixedSettings(),
        places=Places(workspace="/work", workspace_given=True, managed="/state/skills"),
        open_workspace=lambda folder: Workspace(folder, sources, FixedFacts),
        now_ms=lambda: 1,
        last_used=MemoryStore().last_used,
    )


def versions_of(watching: Watching) -> list[int]:
    async def collect() -> list[int]:
        return [version async for version in watching.changes()]

    return asyncio.run(collect())


def rewriting(sources: WatchedSources) -> Callable[[int], None]:
    def rewrite(index: int) -> None:
        sources.skills = (make_skill(description=f"Text {index}."),)

    return rewrite


def test_a_change_that_matters_is_reported_by_its_version() -> None:
    sources = WatchedSources()
    watcher = ScriptedWatcher(bursts=[FILE, FILE], before_burst=rewriting(sources))
    skills = service(sources)

    versions = versions_of(Watching(skills, watcher, config_path=CONFIG))

    assert versions == [2, 3]
    assert skills.snapshot().version == 3


def test_a_change_that_does_not_matter_is_not_reported() -> None:
    watcher = ScriptedWatcher(bursts=[FILE])

    assert versions_of(Watching(service(WatchedSources()), watcher, config_path=CONFIG)) == []


@pytest.mark.parametrize(
    ("burst", "looked_at"),
    [(FILE, FILE), (frozenset((CONFIG,)), None), (FILE | {CONFIG}, FILE), (frozenset(), None)],
)
def test_only_what_changed_is_looked_at_and_the_config_or_a_doubt_means_everything(
    burst: frozenset[str], looked_at: frozenset[str] | None
) -> None:
    sources = WatchedSources()

    versions_of(Watching(service(sources), ScriptedWatcher(bursts=[burst]), config_path=CONFIG))

    assert sources.asked[-1] == looked_at


def test_folders_roots_and_the_config_are_watched() -> None:
    watcher = ScriptedWatcher()

    versions_of(Watching(service(WatchedSources()), watcher, config_path=CONFIG))

    assert watcher.watched == [
        WatchTargets(folders=("/work/skills",), roots=("/work/skills",), files=(CONFIG,))
    ]


def test_new_folders_are_watched_from_then_on() -> None:
    sources = WatchedSources()

    def appear(_index: int) -> None:
        sources.folders = ("/work/skills", "/work/skills/new")

    watcher = ScriptedWatcher(bursts=[FILE], before_burst=appear)

    versions_of(Watching(service(sources), watcher, config_path=CONFIG))

    assert [targets.folders for targets in watcher.watched] == [
        ("/work/skills",),
        ("/work/skills", "/work/skills/new"),
    ]


def test_a_system_that_refuses_is_named_once_and_turns_look_for_themselves(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sources = WatchedSources()
    skills = service(sources)
    watching = Watching(skills, ScriptedWatcher(refusal="no handles left."), config_path=CONFIG)
    before = skills.snapshot()

    first, second = versions_of(watching), versions_of(watching)
    sources.skills = (make_skill(description="Rewritten."),)
    watching.begin_turn()

    assert (first, second) == ([], [])
    assert watching.unavailable == "no handles left."
    assert not watching.active
    assert [record.message.count("no handles left.") for record in caplog.records] == [1]
    assert skills.snapshot().version > before.version


def test_a_turn_does_not_look_for_itself_while_a_watcher_does() -> None:
    sources = WatchedSources()
    looks: list[int] = []

    def turn(_index: int) -> None:
        before = len(sources.asked)
        watching.begin_turn()
        looks.append(len(sources.asked) - before)

    skills, watcher = service(sources), ScriptedWatcher(bursts=[FILE], before_burst=turn)
    watching = Watching(skills, watcher, config_path=CONFIG)
    skills.snapshot()

    turn(0)
    versions_of(watching)
    turn(0)

    assert looks == [1, 0, 1]


def test_a_config_that_is_half_written_is_said_and_the_last_one_stays_in_force(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sources, config = WatchedSources(), HalfWrittenSettings()
    watcher = ScriptedWatcher(bursts=[frozenset((CONFIG,)), FILE], before_burst=rewriting(sources))

    versions = versions_of(Watching(service(sources, config), watcher, config_path=CONFIG))

    assert versions == [2]
    assert "half of it" in caplog.messages[0]


def test_nothing_is_watched_where_the_configuration_says_so() -> None:
    watcher = ScriptedWatcher(bursts=[FILE])
    watching = Watching(open_memory(settings=UNWATCHED), watcher, config_path=CONFIG)

    assert versions_of(watching) == []
    assert (watcher.watched, watching.active) == ([], False)


def test_a_watcher_that_ends_is_started_again_only_while_the_configuration_wants_one() -> None:
    sources, config = WatchedSources(), FixedSettings()
    watching = Watching(service(sources, config), EndingWatcher(config), config_path=CONFIG)

    assert versions_of(watching) == []
    assert sources.asked[1:] == [frozenset(("/work/skills", "250")), None]
    assert (watching.active, watching.unavailable) == (False, "")
