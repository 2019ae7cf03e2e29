"""Removal on real folders: locks, links, swaps, kills, and the way back."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from prowess.errors import RemovalError
from prowess.host.writers.change import SkillFolder
from prowess.host.writers.trash import SkillRemoval
from prowess.runtime.library import Removals, RemovedSkill
from prowess.safety.paths import content_hash
from prowess.wiring import open_runtime
from prowess.wiring.library import Runtime

MANAGED, WORKSPACE = "openclaw-managed", "openclaw-workspace"
NOW = 1_800_000_000.0
DAY = 86_400
WHOLE = ["SKILL.md", "references", "references/a.md"]

# Lets one process after the other remove a skill, or take it back, and be killed one step later
# than the one before, until one comes to its end; says how many there were.
CUT_OFF = """
import os, signal, sys
from pathlib import Path
from prowess.host.writers.trash import SkillRemoval

deed, bases, states = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])

def act(trash, root):
    if deed == "remove":
        trash.put(root + "/notes", root, "openclaw-workspace", 1_800_000_000.0)
    else:
        trash.take_back(trash.entries()[0], [root])

def killed_at(number):
    steps = iter(range(10_000))
    def hook(_step):
        if next(steps) == number:
            os.kill(os.getpid(), signal.SIGKILL)
    return hook

for number in range(10_000):
    root, state = bases / str(number) / "skills", states / str(number)
    (root / "notes/references").mkdir(parents=True)
    (root / "notes/SKILL.md").write_text("# Notes")
    (root / "notes/references/a.md").write_text("a")
    if deed == "restore":
        SkillRemoval(state).put(str(root / "notes"), str(root), "openclaw-workspace", 1.0)
    child = os.fork()
    if not child:
        act(SkillRemoval(state, swap_hook=killed_at(number)), str(root))
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != -signal.SIGKILL:
        print(number)
        break
"""


def put(folder: Path, name: str = "", text: str = "# Notes\n") -> Path:
    (folder / "references").mkdir(parents=True)
    page = f"---\nname: {name or folder.name}\ndescription: Takes notes.\n---\n{text}"
    (folder / "SKILL.md").write_text(page, encoding="utf-8")
    (folder / "references/a.md").write_text("a\n", encoding="utf-8")
    return folder


def listing(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


class World:
    """A state folder, a workspace, and skills of three kinds."""

    def __init__(self, base: Path) -> None:
        self.state, self.work, self.outside = base / "state", base / "work", base / "outside"
        self.managed, self.root = self.state / "skills", self.work / "skills"
        put(self.managed / "shared")
        put(self.root / "notes")
        put(self.root / "group/deep")
        put(self.outside, "precious")
        (base / "home").mkdir()
        self.environ = {"HOME": str(base / "home"), "PATH": os.environ["PATH"]}

    def open(self) -> Runtime:
        """Open Prowess here."""
        return open_runtime(self.work, home=self.state, environ=self.environ)

    def removals(
        self, runtime: Runtime, hook: Callable[[str], None] | None = None, now: float = NOW
    ) -> Removals:
        """Return what removes, with the real trash."""
        return Removals(runtime.skills, SkillRemoval(self.state, swap_hook=hook), lambda: now)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def runtime(world: World) -> Iterator[Runtime]:
    with world.open() as opened:
        yield opened


def names(runtime: Runtime) -> set[str]:
    return {
        row.skill.name
        for row in runtime.skills.status().skills
        if row.skill.source.tier.source_id in {MANAGED, WORKSPACE}
    }


@pytest.mark.parametrize(
    ("key", "source", "place"),
    [
        ("shared", MANAGED, "state/skills/shared"),
        ("notes", WORKSPACE, "work/skills/notes"),
        ("deep", WORKSPACE, "work/skills/group/deep"),
    ],
)
def test_a_skill_goes_and_comes_back_as_it_was(
    world: World, runtime: Runtime, key: str, source: str, place: str
) -> None:
    folder = world.state.parent / place
    removals = world.removals(runtime)

    removed = removals.remove(key, source, None)
    gone = names(runtime)
    listed = removals.listed()
    restored = removals.restore(str(removed["id"]), None)

    assert removed == {
        "removed": True,
        "removedPath": str(folder),
        "source": source,
        "id": removed["id"],
    }
    assert key not in gone
    assert [(one["id"], one["name"], one["path"]) for one in listed] == [
        (removed["id"], folder.name, str(folder))
    ]
    assert restored == {"restored": True, "path": str(folder)}
    assert listing(folder) == WHOLE
    assert key in names(runtime)
    assert removals.listed() == []


def test_the_second_of_two_removals_finds_nothing_to_remove(world: World, runtime: Runtime) -> None:
    removals = world.removals(runtime)
    runtime.skills.status()

    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(removals.remove, "notes", WORKSPACE, None) for _ in range(4)]
        done = []
        for call in calls:
            # Who comes after the other has looked again is told that there is no such skill.
            with suppress(RemovalError):
                done.append(call.result()["removed"])

    assert done.count(True) == 1
    assert len(removals.listed()) == 1


def test_a_bundled_skill_stays(world: World, runtime: Runtime) -> None:
    removals = world.removals(runtime)
    for source in ("openclaw-bundled", MANAGED, WORKSPACE):
        with pytest.raises(RemovalError):
            removals.remove("skill-authoring", source, None)

    assert runtime.skills.find("skill-authoring").skill.bundled


def test_a_single_file_and_a_root_that_is_a_skill_stay(world: World) -> None:
    (world.root / "flat.md").write_text("---\nname: flat\ndescription: d\n---\nx\n")
    with world.open() as runtime, pytest.raises(RemovalError, match="single file"):
        world.removals(runtime).remove("flat", WORKSPACE, None)

    page = "---\nname: whole\ndescription: The root itself.\n---\nx\n"
    (world.root / "SKILL.md").write_text(page)
    with world.open() as runtime, pytest.raises(RemovalError, match="skills root itself"):
        world.removals(runtime).remove("whole", WORKSPACE, None)

    assert listing(world.root / "notes") == WHOLE


def test_a_linked_skill_whose_files_are_elsewhere_stays_with_them(world: World) -> None:
    (world.managed / "linked").symlink_to(world.outside)
    put(world.outside / "inner/far")
    (world.managed / "folder").symlink_to(world.outside / "inner")
    before = listing(world.outside)

    with world.open() as runtime:
        assert {"precious", "far"} <= names(runtime)
        for key in ("precious", "far"):
            with pytest.raises(RemovalError, match="through a link"):
                world.removals(runtime).remove(key, MANAGED, None)

    assert listing(world.outside) == before
    assert (world.managed / "linked").is_symlink()


def test_a_link_to_a_skill_of_the_same_root_goes_alone(world: World) -> None:
    put(world.managed / ".store/kept", "kept")
    (world.managed / "kept").symlink_to(world.managed / ".store/kept")

    with world.open() as runtime:
        removals = world.removals(runtime)
        removed = removals.remove("kept", MANAGED, None)
        assert not (world.managed / "kept").is_symlink()
        assert listing(world.managed / ".store/kept") == WHOLE
        removals.restore(str(removed["id"]), None)

    assert (world.managed / "kept").is_symlink()


def test_a_managed_root_that_is_a_link_is_used_where_it_leads(world: World) -> None:
    kept = world.state.parent / "dotfiles"
    world.managed.rename(kept)
    world.managed.symlink_to(kept)

    with world.open() as runtime:
        removals = world.removals(runtime)
        removed = removals.remove("shared", MANAGED, None)
        assert listing(kept) == []
        removals.restore(str(removed["id"]), None)

    assert listing(kept / "shared") == WHOLE


def test_a_workspace_root_that_leads_away_is_left_alone(world: World) -> None:
    elsewhere = world.state.parent / "other-project"
    world.root.rename(elsewhere)
    world.root.symlink_to(elsewhere)

    with world.open() as runtime, pytest.raises(RemovalError, match="link out of its workspace"):
        world.removals(runtime).remove("notes", WORKSPACE, None)

    assert listing(elsewhere / "notes") == WHOLE


def _steps(base: Path) -> int:
    """Return how many steps a removal has."""
    root = base / "skills"
    seen: list[str] = []
    put(root / "notes")
    SkillRemoval(base / "state", swap_hook=seen.append).put(
        str(root / "notes"), str(root), WORKSPACE, NOW
    )
    return len(seen)


def _at(number: int, deed: Callable[[], None]) -> Callable[[str], None]:
    count = iter(range(10_000))

    def hook(_step: str) -> None:
        if next(count) == number:
            deed()

    return hook


@pytest.mark.parametrize("what", ["skill", "root"])
def test_what_is_swapped_for_a_link_meanwhile_is_not_followed(tmp_path: Path, what: str) -> None:
    outside = put(tmp_path / "outside/notes").parent
    before = listing(outside)

    refused = 0
    for number in range(_steps(tmp_path / "count")):
        base = tmp_path / str(number)
        root = base / "skills"
        put(root / "notes")
        swapped, target = (root, outside) if what == "root" else (root / "notes", outside / "notes")

        def swap(swapped: Path = swapped, target: Path = target, base: Path = base) -> None:
            if swapped.exists():
                swapped.rename(base / "moved")
                swapped.symlink_to(target)

        trash = SkillRemoval(base / "state", swap_hook=_at(number, swap))
        try:
            trash.put(str(root / "notes"), str(root), WORKSPACE, NOW)
        except RemovalError:
            refused += 1
            assert trash.entries() == ()

        assert listing(outside) == before

    assert refused > 0


def test_a_root_that_is_another_one_by_then_gets_its_skill_back(tmp_path: Path) -> None:
    root, outside = tmp_path / "skills", tmp_path / "outside"
    put(root / "notes")
    put(outside / "notes", text="# Precious\n")

    def hook(step: str) -> None:
        if step == "locked":
            root.rename(tmp_path / "moved")
            root.symlink_to(outside)

    trash = SkillRemoval(tmp_path / "state", swap_hook=hook)
    with pytest.raises(RemovalError, match="swapped for another folder"):
        trash.put(str(root / "notes"), str(root), WORKSPACE, NOW)

    assert "# Precious" in (outside / "notes/SKILL.md").read_text()
    assert listing(tmp_path / "moved/notes") == WHOLE
    assert trash.entries() == ()


def test_nobody_can_change_a_skill_while_it_goes(world: World, runtime: Runtime) -> None:
    with SkillFolder(world.root, "group", world.state).lock():
        (lock,) = world.state.glob("skill-changes/*/change.lock")
    seen: list[tuple[str, bool]] = []

    def hook(step: str) -> None:
        seen.append((step, _is_locked(lock)))

    world.removals(runtime, hook).remove("deep", WORKSPACE, None)

    assert dict(seen)["ready"] is True
    assert all(locked for _, locked in seen)
    assert not _is_locked(lock)
    assert list(world.state.glob("skill-changes/*/change.lock")) == [lock]


def _is_locked(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_change_that_was_cut_off_is_cleared_away_before_the_skill_goes(world: World) -> None:
    old = (world.root / "notes/SKILL.md").read_bytes()
    script = """
import os, signal, sys
from pathlib import Path
from prowess.host.writers.change import SkillFolder
from prowess.safety.paths import content_hash

def hook(step):
    if step == "staged":
        os.kill(os.getpid(), signal.SIGKILL)

folder = SkillFolder(Path(sys.argv[1]), "notes", Path(sys.argv[2]), swap_hook=hook)
with folder.lock():
    folder.apply({"SKILL.md": b"half", "references/a.md": b"half"}, content_hash(folder.read_all()))
"""
    cut = [sys.executable, "-c", script, str(world.root), str(world.state)]
    assert subprocess.run(cut, check=False).returncode == -signal.SIGKILL
    assert list(world.root.glob(".prowess-*"))

    with world.open() as runtime:
        removed = world.removals(runtime).remove("notes", WORKSPACE, None)

    kept = world.state / "trash" / str(removed["id"]) / "skill"
    assert (kept / "SKILL.md").read_bytes() == old
    assert (kept / "references/a.md").read_text() == "a\n"
    assert not list(world.root.glob(".prowess-*"))


def test_what_is_known_of_a_skills_changes_stays(world: World, runtime: Runtime) -> None:
    folder = SkillFolder(world.root, "notes", world.state)
    with folder.lock():
        page = (world.root / "notes/SKILL.md").read_bytes()
        files = folder.read_all()
        change = folder.apply({"SKILL.md": page + b"more\n"}, content_hash(files))
    runtime.skills.refresh()

    world.removals(runtime).remove("notes", WORKSPACE, None)

    assert folder.previous(change) == {"SKILL.md": page}


def _cut_off(deed: str, bases: Path, states: Path) -> int:
    """Return at how many steps the deed was cut off, each time with a skill of its own."""
    command = [sys.executable, "-c", CUT_OFF, deed, str(bases), str(states)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return int(done.stdout)


def _places(base: Path, state: Path) -> list[Path]:
    """Return where the skill is whole."""
    kept = [state / "trash" / entry.id / "skill" for entry in SkillRemoval(state).entries()]
    places = [base / "skills/notes", *kept]
    return [place for place in places if place.exists() and listing(place) == WHOLE]


@pytest.mark.parametrize("deed", ["remove", "restore"])
def test_a_kill_at_any_step_leaves_the_skill_here_or_there(tmp_path: Path, deed: str) -> None:
    bases, states = tmp_path / "bases", tmp_path / "states"

    number = _cut_off(deed, bases, states)

    assert number > 1
    for cut in range(number + 1):
        assert len(_places(bases / str(cut), states / str(cut))) == 1, cut


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on another disk than the tests' own."""
    shared = Path("/dev") / "shm"
    if not os.access(shared, os.W_OK) or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is only one disk here")
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        yield Path(folder)


@pytest.mark.parametrize("deed", ["remove", "restore"])
def test_a_kill_between_two_disks_leaves_the_skill_here_or_there_at_the_next_start(
    tmp_path: Path, other_disk: Path, deed: str
) -> None:
    number = _cut_off(deed, tmp_path, other_disk)

    nowhere = 0
    for cut in range(number + 1):
        base, state = tmp_path / str(cut), other_disk / str(cut)
        nowhere += not _places(base, state)
        SkillRemoval(state).purge(0)
        assert len(_places(base, state)) == 1, cut
    # Between the two moves it is in neither place, which is why the start looks for that.
    assert nowhere > 0


def test_an_entry_that_never_got_its_skill_is_not_listed(tmp_path: Path) -> None:
    root, state = tmp_path / "skills", tmp_path / "state"
    put(root / "notes")
    entry = state / "trash/001800000000-0123456789ab"
    entry.mkdir(parents=True)
    (entry / "record.json").write_text("{}")

    assert SkillRemoval(state).entries() == ()


def test_what_is_older_than_thirty_days_is_deleted_for_good(world: World, runtime: Runtime) -> None:
    old = world.removals(runtime, now=NOW).remove("notes", WORKSPACE, None)
    new = world.removals(runtime, now=NOW + 20 * DAY).remove("deep", WORKSPACE, None)

    purged = world.removals(runtime, now=NOW + 30 * DAY + 1).purge()

    assert purged == (old["id"],)
    assert [one["id"] for one in world.removals(runtime).listed()] == [new["id"]]
    assert not (world.state / "trash" / str(old["id"])).exists()


def test_nothing_is_made_by_looking_at_a_trash_that_is_not_there(tmp_path: Path) -> None:
    trash = SkillRemoval(tmp_path / "state")

    assert (trash.entries(), trash.purge(NOW)) == ((), ())
    assert listing(tmp_path) == []


def test_a_skill_does_not_come_back_to_a_folder_that_is_no_skills_root(
    world: World, runtime: Runtime
) -> None:
    removed = world.removals(runtime).remove("notes", WORKSPACE, None)
    elsewhere = world.state.parent / "empty"
    elsewhere.mkdir()

    with (
        open_runtime(elsewhere, home=world.state, environ=world.environ) as other,
        pytest.raises(RemovalError, match="no skills folder of the agent now"),
    ):
        world.removals(other).restore(str(removed["id"]), None)

    assert len(world.removals(runtime).listed()) == 1


@pytest.mark.parametrize("place", ["", "..", "../outside", "."])
def test_a_folder_that_is_not_inside_its_root_is_refused(world: World, place: str) -> None:
    trash = SkillRemoval(world.state)
    folder = f"{world.root}/{place}"

    with pytest.raises(RemovalError):
        trash.put(folder, str(world.root), WORKSPACE, NOW)
    with pytest.raises(RemovalError):
        trash.put(str(world.outside), str(world.root), WORKSPACE, NOW)

    assert listing(world.outside) == WHOLE
    assert listing(world.root / "notes") == WHOLE


def test_a_place_that_was_taken_meanwhile_stays_taken(world: World, runtime: Runtime) -> None:
    removed = world.removals(runtime).remove("notes", WORKSPACE, None)
    put(world.root / "notes", text="# New\n")

    with pytest.raises(RemovalError, match="exists already"):
        world.removals(runtime).restore(str(removed["id"]), None)

    assert "# New" in (world.root / "notes/SKILL.md").read_text()


def test_a_name_that_is_not_portable_is_removed_all_the_same(world: World) -> None:
    put(world.root / "odd:name ", "odd")

    with world.open() as runtime:
        removed = world.removals(runtime).remove("odd", WORKSPACE, None)

    assert removed["removed"] is True
    assert not (world.root / "odd:name ").exists()


def test_a_trash_that_cannot_be_written_leaves_the_skill(world: World, runtime: Runtime) -> None:
    (world.state / "trash").write_text("not a folder")

    with pytest.raises(RemovalError):
        world.removals(runtime).remove("notes", WORKSPACE, None)

    assert listing(world.root / "notes") == WHOLE
    entry = RemovedSkill(id="x", original=str(world.root / "x"), source=WORKSPACE, removed_at=0)
    with pytest.raises(RemovalError):
        SkillRemoval(world.state).take_back(entry, [str(world.root)])
