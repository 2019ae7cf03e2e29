import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from prowess.errors import WatchUnavailableError
from prowess.host.files import handles as read
from prowess.host.sources import watcher
from prowess.host.sources.watcher import FolderWatcher
from prowess.runtime.ports import WatchTargets
from prowess.wiring.library import Runtime, open_runtime

BOUND_S = 30
HEAD = "---\nname: deploy\ndescription: Use when"
TAIL = " {} is wanted.\n---\nDo it.\n"


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


def test_nothing_is_told_before_a_file_is_left_alone(tmp_path: Path) -> None:
    skill = tmp_path / "SKILL.md"
    skill.write_text("none")

    async def watch() -> str:
        bursts = FolderWatcher().changes(WatchTargets(folders=(str(tmp_path),)), debounce_ms=600)
        await next_burst(bursts)
        heard = asyncio.ensure_future(next_burst(bursts))
        for step in range(8):
            # Longer than the system needs to tell of one, and shorter than the quiet.
            await asyncio.sleep(0.12)
            skill.write_text(f"{step}")
        await heard
        return skill.read_text() if heard.result() == {str(skill)} else ""

    assert asyncio.run(watch()) == "7"


def test_somebody_who_never_stops_writing_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "_LEAST_PATIENCE_S", 0.3)
    skill = tmp_path / "SKILL.md"

    async def watch() -> frozenset[str]:
        bursts = FolderWatcher().changes(WatchTargets(folders=(str(tmp_path),)), debounce_ms=200)
        await next_burst(bursts)
        heard = asyncio.ensure_future(next_burst(bursts))
        while not heard.done():
            skill.write_text("more")
            await asyncio.sleep(0.02)
        return heard.result()

    assert asyncio.run(watch()) == {str(skill)}


def test_what_changed_is_told_again_once_it_has_settled(tmp_path: Path) -> None:
    skill = tmp_path / "SKILL.md"

    async def watch() -> list[frozenset[str]]:
        bursts = FolderWatcher().changes(WatchTargets(folders=(str(tmp_path),)), debounce_ms=20)
        await next_burst(bursts)
        skill.write_text("half")
        return [await next_burst(bursts), await next_burst(bursts)]

    assert asyncio.run(watch()) == [{str(skill)}, {str(skill)}]


@pytest.mark.slow
def test_a_skill_stays_while_an_editor_saves_it_in_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "_SETTLING_NS", 4_000_000_000)
    monkeypatch.setattr(watcher, "_SETTLED_S", 4.5)
    page = tmp_path / "skills" / "deploy" / "SKILL.md"
    page.parent.mkdir(parents=True)
    page.write_text(HEAD + TAIL.format("it"))
    (tmp_path / "prowess.json").write_text('{"skills": {"load": {"watchDebounceMs": 40}}}')

    async def save(runtime: Runtime) -> list[tuple[str, ...]]:
        seen: asyncio.Queue[tuple[str, ...]] = asyncio.Queue()
        looking = asyncio.ensure_future(look(runtime, seen))
        await asyncio.sleep(0.6)
        # Each step is left alone for longer than the quiet.
        for text in ("", HEAD, HEAD + TAIL.format("more")):
            await asyncio.sleep(0.3)
            page.write_text(text)
        first = await asyncio.wait_for(seen.get(), BOUND_S)
        page.write_text("")
        found = [first, await asyncio.wait_for(seen.get(), BOUND_S)]
        looking.cancel()
        return found

    environ = {"HOME": str(tmp_path / "home"), "PATH": ""}
    with open_runtime(tmp_path, home=tmp_path, environ=environ) as runtime:
        assert asyncio.run(save(runtime)) == [("Use when more is wanted.",), ()]


async def look(runtime: Runtime, seen: asyncio.Queue[tuple[str, ...]]) -> None:
    """Say what the skill is there for, each time that a snapshot is another one."""
    async for _ in runtime.watching().changes():
        usable = runtime.skills.snapshot().usable
        seen.put_nowait(tuple(one.description for one in usable if one.name == "deploy"))


def test_a_new_name_that_is_no_utf8_asks_for_a_full_look(tmp_path: Path) -> None:
    folder = tmp_path / "caf\udce9"

    found = run_watch(WatchTargets(folders=(str(tmp_path),)), folder.mkdir)

    assert found[1] == frozenset()


def test_a_folder_whose_name_is_no_utf8_cannot_be_watched_and_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "caf\udce9"
    folder.mkdir()

    with pytest.raises(WatchUnavailableError, match=r"caf\\xe9 is not UTF-8"):
        run_watch(WatchTargets(folders=(str(folder),)))


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
