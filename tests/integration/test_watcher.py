import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from prowess.errors import WatchUnavailableError
from prowess.host.sources import watcher
from prowess.host.sources.watcher import FolderWatcher
from prowess.runtime.ports import WatchTargets

BOUND_S = 30


async def next_burst(bursts: AsyncIterator[frozenset[str]]) -> frozenset[str]:
    return await asyncio.wait_for(anext(bursts), BOUND_S)


def run_watch(targets: WatchTargets, *changes: object) -> list[frozenset[str]]:
    """Begin to watch, make each change in turn, and return the burst that followed it."""

    async def watch() -> list[frozenset[str]]:
        bursts = FolderWatcher().changes(targets, debounce_ms=20)
        found = [await next_burst(bursts)]
        for change in changes:
            change()  # type: ignore[operator]
            found.append(await next_burst(bursts))
        return found

    return asyncio.run(watch())


def test_it_asks_for_a_full_look_once_it_has_begun(tmp_path: Path) -> None:
    (found,) = run_watch(WatchTargets(folders=(str(tmp_path),)))

    assert found == frozenset()


def test_an_edited_skill_is_reported_by_its_path(tmp_path: Path) -> None:
    skill = tmp_path / "SKILL.md"
    skill.write_text("one")

    found = run_watch(
        WatchTargets(folders=(str(tmp_path),)),
        lambda: (tmp_path / "notes.txt").write_text("not a skill") and skill.write_text("two"),
    )

    assert found[1] == {str(skill)}


def test_a_new_folder_below_a_known_one_is_reported(tmp_path: Path) -> None:
    found = run_watch(WatchTargets(folders=(str(tmp_path),)), (tmp_path / "fresh").mkdir)

    assert found[1] == {str(tmp_path / "fresh")}


def test_a_root_that_does_not_exist_yet_is_noticed_through_its_parent(tmp_path: Path) -> None:
    root = tmp_path / ".agents" / "skills"

    found = run_watch(WatchTargets(roots=(str(root),)), lambda: root.mkdir(parents=True))

    assert str(tmp_path / ".agents") in found[1]


def test_a_single_file_is_watched_whether_it_exists_or_not(tmp_path: Path) -> None:
    config = tmp_path / "prowess.json"

    found = run_watch(WatchTargets(files=(str(config),)), lambda: config.write_text("{}"))

    assert found[1] == {str(config)}


def test_too_many_folders_are_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "_MAX_FOLDERS", 0)

    with pytest.raises(WatchUnavailableError, match="more than the 0 that are watched"):
        run_watch(WatchTargets(folders=(str(tmp_path),)))


def test_a_system_that_refuses_becomes_a_watch_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def exhausted(*_paths: str, **_options: object) -> AsyncIterator[set[object]]:
        raise OSError(28, "No space left on device")
        yield set()

    monkeypatch.setattr(watcher, "awatch", exhausted)

    with pytest.raises(WatchUnavailableError, match="No space left on device"):
        run_watch(WatchTargets(folders=(str(tmp_path),)))
