"""Changes that arrive by themselves: what moves the version, what does not, and when none come."""

import asyncio
import json
import logging
import queue
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from threading import Thread

import pytest

from prowess.runtime.ports import WatchTargets
from prowess.runtime.watch import Watching
from prowess.testing import ScriptedWatcher

from .world import NO_BUNDLED, TIMEOUT_S, Json, World, command

pytestmark = pytest.mark.slow


class Follower:
    """`prowess snapshot --watch --json`, read line by line."""

    def __init__(self, world: World) -> None:
        self.process = subprocess.Popen(
            command(("snapshot", "--watch", "--json")),
            cwd=world.workspace,
            env=world.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = Thread(target=self._read)
        self._reader.start()
        self.versions: list[int] = []

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def next(self) -> list[str]:
        """The skills of the next version; the wait is long and only a failure uses it up."""
        line: Json = json.loads(self._lines.get(timeout=TIMEOUT_S))
        self.versions.append(line["version"])
        return list(line["skills"])

    def stop(self) -> None:
        """End the process and read what is left."""
        self.process.terminate()
        self._reader.join()
        self.process.communicate()


@pytest.fixture
def follow(world: World) -> Iterator[Callable[[], Follower]]:
    """Start followers that are stopped with the test."""
    world.settings(**NO_BUNDLED)
    started: list[Follower] = []

    def start() -> Follower:
        started.append(Follower(world))
        return started[-1]

    yield start
    for follower in started:
        follower.stop()


@pytest.mark.requirement("watcher:skill-files", "version:strictly-increases")
def test_a_skill_that_comes_changes_and_goes_moves_the_version_each_time(
    world: World, follow: Callable[[], Follower]
) -> None:
    world.skills.mkdir()
    follower = follow()

    seen = [follower.next()]
    path = world.skill("alpha")
    seen.append(follower.next())
    world.skill("alpha", description="Another description.")
    seen.append(follower.next())
    shutil.rmtree(path.parent)
    seen.append(follower.next())

    assert seen == [[], ["alpha"], ["alpha"], []]
    assert follower.versions == sorted(set(follower.versions))


@pytest.mark.requirement("watcher:missing-roots")
def test_a_root_that_did_not_exist_is_noticed_when_it_appears(
    world: World, follow: Callable[[], Follower]
) -> None:
    follower = follow()

    seen = [follower.next()]
    world.skill("in-workspace")
    seen.append(follower.next())
    world.skill("in-claude", root=world.home / ".claude" / "skills")
    seen.append(follower.next())
    world.skill("in-managed", root=world.managed)
    seen.append(follower.next())

    assert seen == [
        [],
        ["in-workspace"],
        ["in-claude", "in-workspace"],
        ["in-claude", "in-managed", "in-workspace"],
    ]


@pytest.mark.requirement("watcher:stand-alone-skills", "watcher:config")
def test_stand_alone_skills_rules_and_the_configuration_count_too(
    world: World, follow: Callable[[], Follower]
) -> None:
    follower = follow()

    seen = [follower.next()]
    world.file(world.skills / "note.md", "# note\n\nWords.\n")
    seen.append(follower.next())
    rules = world.workspace / ".cursor" / "rules"
    world.file(rules / "style.mdc", "---\ndescription: Our style.\n---\nUse tabs.\n")
    seen.append(follower.next())
    world.settings(**NO_BUNDLED, entries={"note": {"enabled": False}})
    seen.append(follower.next())

    assert seen == [[], ["note"], ["note", "style"], ["style"]]


@pytest.mark.requirement(
    "watcher:only-skill-files", "watcher:ignored-folders", "version:still-when-nothing-changed"
)
def test_a_touch_a_resource_and_an_ignored_folder_move_nothing(
    world: World, follow: Callable[[], Follower]
) -> None:
    path = world.skill("alpha")
    follower = follow()

    seen = [follower.next()]
    path.touch()
    world.file(path.parent / "references" / "guide.md", "Words.\n")
    world.skill("node_modules/vendored")
    world.skill(".git/hooked")
    # The first change in meaning is the next thing to be heard of.
    world.skill("beta")
    seen.append(follower.next())

    assert seen == [["alpha"], ["alpha", "beta"]]


@pytest.mark.requirement("watcher:switch")
def test_watching_can_be_switched_off_and_that_is_said(world: World) -> None:
    world.settings(load={"watch": False})

    result = world.run("snapshot", "--watch", "--json").calm()

    assert result.code == 1
    assert len(result.out.splitlines()) == 1
    assert "skills.load.watch" in result.err


def versions(watching: Watching) -> list[int]:
    """Every version that is reported until nothing can be watched any more."""

    async def collect() -> list[int]:
        return [version async for version in watching.changes()]

    return asyncio.run(collect())


@pytest.mark.requirement("watcher:only-skill-files", "version:still-when-nothing-changed")
def test_a_burst_without_a_change_in_meaning_reports_no_version(world: World) -> None:
    alpha = world.skill("alpha")
    guide, beta = alpha.parent / "references" / "guide.md", world.skills / "beta"
    runtime = world.open()

    def change(burst: int) -> None:
        if burst == 0:
            alpha.touch()
        elif burst == 1:
            world.file(guide, "Words.\n")
        else:
            world.skill("beta")

    watcher = ScriptedWatcher(
        bursts=[frozenset({str(path)}) for path in (alpha, guide, beta)], before_burst=change
    )
    before = runtime.skills.snapshot().version

    reported = versions(Watching(runtime.skills, watcher, config_path=runtime.config.path))

    assert reported == [runtime.skills.snapshot().version]
    assert reported[0] > before


@pytest.mark.requirement("watcher:broken-config")
def test_a_configuration_that_is_broken_for_a_moment_does_not_end_watching(world: World) -> None:
    world.skill("alpha")
    runtime = world.open()

    def change(burst: int) -> None:
        if burst == 0:
            world.config("{ half a sente")
        else:
            world.settings(entries={"alpha": {"enabled": False}})

    changed = frozenset({str(world.config_file)})
    watcher = ScriptedWatcher(bursts=[changed, changed], before_burst=change)

    reported = versions(Watching(runtime.skills, watcher, config_path=runtime.config.path))

    assert len(reported) == 1
    assert "alpha" not in {skill.name for skill in runtime.skills.snapshot().skills}


@pytest.mark.requirement("watcher:exhausted-limits")
def test_exhausted_limits_are_said_once_and_every_turn_looks_for_itself(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.settings(**NO_BUNDLED)
    runtime = world.open()
    watcher = ScriptedWatcher(refusal="no more watches.")
    watching = Watching(runtime.skills, watcher, config_path=runtime.config.path)

    with caplog.at_level(logging.WARNING):
        reported = versions(watching) + versions(watching)
    world.skill("alpha")
    watching.begin_turn()

    assert reported == []
    assert [record.getMessage().count("no more watches.") for record in caplog.records] == [1]
    assert [skill.name for skill in runtime.skills.snapshot().skills] == ["alpha"]


class Recorder:
    """A watcher that remembers what it was asked for and then gives up."""

    def __init__(self) -> None:
        self.targets: list[WatchTargets] = []
        self.debounces: list[int] = []

    async def changes(
        self, targets: WatchTargets, *, debounce_ms: int
    ) -> AsyncIterator[frozenset[str]]:
        self.targets.append(targets)
        self.debounces.append(debounce_ms)
        async for burst in ScriptedWatcher().changes(targets, debounce_ms=debounce_ms):
            yield burst


@pytest.mark.requirement("watcher:debounce")
@pytest.mark.parametrize(("setting", "wanted"), [({}, 250), ({"watchDebounceMs": 40}, 40)])
def test_a_burst_is_collected_for_250_milliseconds(
    world: World, setting: dict[str, int], wanted: int
) -> None:
    world.settings(load=setting)
    runtime, recorder = world.open(), Recorder()

    versions(Watching(runtime.skills, recorder, config_path=runtime.config.path))

    assert recorder.debounces == [wanted]


@pytest.mark.requirement("watcher:bounded", "watcher:missing-roots", "watcher:config")
def test_only_roots_and_folders_that_discovery_looked_into_are_watched(world: World) -> None:
    skill = world.skill("group/alpha")
    world.file(skill.parent / "references" / "guide.md", "Words.\n")
    world.skill("node_modules/vendored/deep")
    runtime, recorder = world.open(), Recorder()

    versions(Watching(runtime.skills, recorder, config_path=runtime.config.path))

    targets = recorder.targets[0]
    watched = {path for path in targets.folders if path.startswith(str(world.skills))}
    assert watched == {str(world.skills), str(world.skills / "group"), str(skill.parent)}
    assert {str(world.managed), str(world.project)} <= set(targets.roots)
    assert targets.files == (str(world.config_file),)


@pytest.mark.requirement("watcher:skill-files")
def test_a_signal_in_the_middle_of_a_change_ends_the_process_in_order(
    world: World, follow: Callable[[], Follower]
) -> None:
    for number in range(5):
        follower = follow()
        follower.next()
        world.skill(f"late-{number}")

        follower.process.terminate()

        assert follower.process.wait(TIMEOUT_S) == 143
