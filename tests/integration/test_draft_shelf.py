"""Drafts on the disk: written over nothing, removed with their scripts, brought back, no links."""

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.errors import ContainmentError, PathError, RemovalError
from prowess.experience.replay.script import script_head
from prowess.host.files import transaction as folder_move
from prowess.host.writers import drafts as draft_shelf
from prowess.host.writers.drafts import ListedDraft, WorkspaceDrafts
from prowess.host.writers.trash import SkillTrash

NOW = 1_800_000_000.0
STEM = "20260102-030405-open-the-door"
TEXT, SCRIPT = "# Skill Draft: open the door\n", f"{script_head()}# 開\n"


class Stop(BaseException):
    """Stands for a crash: nobody catches it."""


@dataclass(frozen=True, slots=True)
class World:
    """A workspace and a state folder."""

    top: Path

    @property
    def work(self) -> Path:
        return self.top / "work"

    @property
    def drafts(self) -> Path:
        return self.work / "skills" / "auto"

    @property
    def scripts(self) -> Path:
        return self.work / "scripts" / "auto"

    def shelf(self, hook: Callable[[str], None] | None = None) -> WorkspaceDrafts:
        return WorkspaceDrafts(str(self.work), str(self.top / "state"), swap_hook=hook)

    def trash(self) -> SkillTrash:
        return SkillTrash(self.top / "state" / "trash")

    def put(self, stem: str = STEM, *, as_folder: bool = False) -> ListedDraft:
        shelf = self.shelf()
        with shelf.lock():
            path, _ = shelf.write(stem, TEXT, SCRIPT, as_folder=as_folder)
        return next(draft for draft in shelf.listed() if draft.path == path)

    def remove(self, draft: ListedDraft) -> str:
        shelf = self.shelf()
        with shelf.lock():
            return shelf.remove(draft, now=NOW)

    def restore(self, trash_id: str) -> str:
        shelf = self.shelf()
        with shelf.lock():
            return shelf.restore(trash_id)


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """Hold a folder in memory where there is any: every step here is written down to the disk."""
    # Everybody may write there, so the folder inside has a name that nobody can guess.
    memory = Path("/dev/shm")  # noqa: S108
    is_there = os.access(memory, os.W_OK)
    with tempfile.TemporaryDirectory(dir=memory if is_there else None) as folder:
        yield Path(os.path.realpath(folder))


@pytest.fixture
def quick_folder() -> Iterator[Path]:
    with folder_in_memory() as folder:
        yield folder


@pytest.fixture
def world(quick_folder: Path) -> World:
    (quick_folder / "work").mkdir()
    return World(quick_folder)


@dataclass(frozen=True, slots=True)
class Made:
    """A draft that nobody listed."""

    stem: str = STEM
    path: str = f"/etc/{STEM}.md"
    script: str = ""
    script_text: str = ""
    text: str = TEXT


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder by its path; a link as what it says."""
    return {
        path.relative_to(folder).as_posix(): (
            os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        )
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def mode(path: str) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


FORMS = pytest.mark.parametrize("as_folder", [False, True], ids=["file", "folder"])


@FORMS
def test_a_draft_and_its_script_are_written_and_listed(world: World, *, as_folder: bool) -> None:
    shelf = world.shelf()

    with shelf.lock():
        path, script = shelf.write(STEM, TEXT, SCRIPT, as_folder=as_folder)

    name = f"{STEM}/SKILL.md" if as_folder else f"{STEM}.md"
    assert (path, script) == (str(world.drafts / name), str(world.scripts / f"{STEM}.sh"))
    assert Path(path).read_text() == TEXT
    assert mode(script) == 0o700
    assert mode(path) == 0o644 & ~_umask()
    (draft,) = shelf.listed()
    assert (draft.stem, draft.path, draft.script) == (STEM, path, script)
    assert (draft.text, draft.script_text, draft.is_folder) == (TEXT, SCRIPT, as_folder)
    assert shelf.orphan_scripts() == ()


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current


def test_a_draft_can_go_without_a_script(world: World) -> None:
    _, script = world.shelf().write(STEM, TEXT, None, as_folder=False)

    assert script == ""
    assert world.shelf().listed()[0].script == ""
    assert not world.scripts.exists()


@pytest.mark.parametrize(
    "taken",
    [
        f"skills/auto/{STEM}.md", f"skills/auto/{STEM}/SKILL.md", f"skills/auto/{STEM}/notes.txt",
        f"scripts/auto/{STEM}.sh",
    ],
)  # fmt: skip
@FORMS
def test_a_name_that_is_taken_is_never_written_over(
    world: World, taken: str, *, as_folder: bool
) -> None:
    (world.work / taken).parent.mkdir(parents=True)
    (world.work / taken).write_text("mine")

    with pytest.raises(PathError, match="exists already"):
        world.shelf().write(STEM, TEXT, SCRIPT, as_folder=as_folder)

    assert tree(world.work) == {taken: b"mine"}


def test_a_link_without_a_target_takes_a_name_too(world: World) -> None:
    world.drafts.mkdir(parents=True)
    (world.drafts / f"{STEM}.md").symlink_to(world.top / "nowhere")

    with pytest.raises(PathError, match="exists already"):
        world.shelf().write(STEM, TEXT, SCRIPT, as_folder=False)

    assert not (world.top / "nowhere").exists()
    assert not world.scripts.exists()


@pytest.mark.parametrize(
    "stem", ["", "..", "a/b", "a\\b", ".hidden", "README", "skill", "a\0b", "CON"]
)
def test_a_name_that_no_draft_can_have_is_refused(world: World, stem: str) -> None:
    with pytest.raises(PathError):
        world.shelf().write(stem, TEXT, SCRIPT, as_folder=False)

    assert tree(world.work) == {}


@pytest.mark.parametrize("linked", ["skills", "skills/auto", "scripts", "scripts/auto"])
def test_no_folder_is_reached_through_a_link(world: World, linked: str) -> None:
    outside = world.top / "outside"
    for place in (f"{STEM}.md", f"auto/{STEM}.md", f"{STEM}.sh", f"auto/{STEM}.sh"):
        (outside / place).parent.mkdir(parents=True, exist_ok=True)
        (outside / place).write_text("theirs")
    before = tree(outside)
    (world.work / linked).parent.mkdir(exist_ok=True)
    (world.work / linked).symlink_to(outside)
    shelf = world.shelf()

    def lock() -> None:
        with shelf.lock():
            pass

    for act in (
        lock,
        shelf.listed,
        shelf.orphan_scripts,
        lambda: shelf.write("20260102-030405-new", TEXT, SCRIPT, as_folder=True),
        lambda: shelf.remove_script(str(world.scripts / f"{STEM}.sh"), now=NOW),
    ):
        with pytest.raises(ContainmentError, match="link"):
            act()

    assert tree(outside) == before


def test_a_workspace_that_is_a_link_is_the_folder_it_leads_to(world: World) -> None:
    linked = world.top / "linked"
    linked.symlink_to(world.work)

    path, _ = WorkspaceDrafts(str(linked), str(world.top / "state")).write(
        STEM, TEXT, None, as_folder=False
    )

    assert path == str(world.drafts / f"{STEM}.md")


def test_drafts_of_others_are_listed_newest_first(world: World) -> None:
    for place in (
        "20250101-000000-openpocket.md", "20260101-000000-文档.md",
        "20250601-000000-strict/SKILL.md", "20250601-000000-strict/references/more.md",
        "mine.md", "lower/skill.md", "README.md", "readme.MD", "SKILL.md", "notes.txt",
        "empty/other.md", ".hidden.md",
    ):  # fmt: skip
        (world.drafts / place).parent.mkdir(parents=True, exist_ok=True)
        (world.drafts / place).write_text(place)
    shelf = world.shelf()

    found = shelf.listed()

    assert [draft.stem for draft in found] == [
        "20260101-000000-文档", "20250601-000000-strict", "20250101-000000-openpocket", "mine",
        "lower",
    ]  # fmt: skip
    assert found[1].text == "20250601-000000-strict/SKILL.md"
    assert shelf.problems == ()


def test_without_folders_nothing_is_listed(world: World) -> None:
    world.work.rmdir()

    assert world.shelf().listed() == ()
    assert world.shelf().orphan_scripts() == ()
    assert not world.work.exists()


def test_links_among_the_drafts_are_problems_and_are_neither_read_nor_removed(world: World) -> None:
    outside = world.top / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text("theirs")
    world.put("20260101-000000-linked-script")
    (world.scripts / "20260101-000000-linked-script.sh").unlink()
    (world.scripts / "20260101-000000-linked-script.sh").symlink_to(outside / "SKILL.md")
    (world.drafts / "a.md").symlink_to(outside / "SKILL.md")
    (world.drafts / "b").symlink_to(outside)
    (world.drafts / "c").mkdir()
    (world.drafts / "c" / "SKILL.md").symlink_to(outside / "SKILL.md")
    (world.drafts / "d").mkdir()
    (world.drafts / "d" / "SKILL.md").write_text("own")
    (world.drafts / "d" / "assets").symlink_to(outside)
    shelf = world.shelf()

    (draft,) = shelf.listed()
    world.remove(draft)

    assert (draft.stem, draft.script) == ("20260101-000000-linked-script", "")
    assert len(shelf.problems) == 5
    assert all("link" in problem for problem in shelf.problems)
    assert (world.scripts / "20260101-000000-linked-script.sh").is_symlink()
    assert tree(outside) == {"SKILL.md": b"theirs"}


def test_what_is_too_large_or_too_much_is_a_problem(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        world.put(f"2026010{number + 1}-000000-x")
    monkeypatch.setattr(draft_shelf, "MOST_DRAFTS", 3)
    monkeypatch.setattr(draft_shelf, "MOST_BYTES", 1000)
    (world.drafts / "20260104-000000-x.md").write_text("y" * 1001)
    shelf = world.shelf()

    found = shelf.listed()

    assert [draft.stem[:8] for draft in found] == ["20260103", "20260102"]
    assert len(shelf.problems) == 2
    assert "1 drafts are too many" in shelf.problems[0]
    assert "larger than 1000 bytes" in shelf.problems[1]
    with pytest.raises(PathError, match="larger than"):
        shelf.write("20260109-000000-x", "y" * 1001, None, as_folder=False)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may look into every folder")
def test_a_folder_that_nobody_may_look_into_is_a_problem(world: World) -> None:
    draft = world.put()
    locked = world.drafts / "20260101-000000-locked"
    locked.mkdir(mode=0o000)
    shelf = world.shelf()

    with shelf.lock():
        found = shelf.listed()

    locked.chmod(0o700)
    assert found == (draft,)
    assert len(shelf.problems) == 1


def test_a_folder_that_vanishes_while_it_is_looked_at_is_a_problem(world: World) -> None:
    draft = world.put("20260102-000000-stays")
    going = Path(world.put("20260101-000000-goes", as_folder=True).path).parent
    seen: list[str] = []

    def take_away(step: str) -> None:
        seen.append(step)
        if step == "opened-folder" and going.exists():
            shutil.rmtree(going)

    shelf = world.shelf(take_away)

    assert shelf.listed() == (draft,)


def test_a_draft_that_is_no_text_is_a_problem_and_stays_where_it_is(world: World) -> None:
    world.drafts.mkdir(parents=True)
    odd = world.drafts / "odd.md"
    odd.write_bytes(b"\xff\x00odd")
    shelf = world.shelf()

    assert shelf.listed() == ()
    assert ["odd.md" in problem for problem in shelf.problems] == [True]
    assert odd.exists()


@FORMS
def test_a_removed_draft_comes_back_with_its_script(world: World, *, as_folder: bool) -> None:
    draft = world.put(as_folder=as_folder)
    if as_folder:
        (world.drafts / STEM / "references").mkdir()
        (world.drafts / STEM / "references" / "more.md").write_text("more")
        (draft,) = world.shelf().listed()
    before = tree(world.work)

    trash_id = world.remove(draft)
    gone = tree(world.work)
    path = world.restore(trash_id)

    assert gone == {}
    assert path == draft.path
    assert tree(world.work) == before
    assert mode(draft.script) == 0o700
    assert world.trash().entries() == ()


@FORMS
def test_the_trash_of_skills_lists_and_purges_removed_drafts(
    world: World, *, as_folder: bool
) -> None:
    draft = world.put(as_folder=as_folder)

    trash_id = world.remove(draft)

    (entry,) = world.trash().entries()
    assert (entry.id, entry.removed_at) == (trash_id, NOW)
    assert entry.original == world.work / draft.place
    assert entry.path.exists()
    assert mode(str(entry.path.parent)) == 0o700
    with pytest.raises(RemovalError, match="was not removed from"):
        world.trash().restore(trash_id, world.work)
    assert world.trash().purge(NOW + 1) == (trash_id,)
    with pytest.raises(PathError, match="is not in the trash"):
        world.restore(trash_id)


@pytest.mark.parametrize(
    "changed",
    [f"skills/auto/{STEM}/SKILL.md", f"skills/auto/{STEM}/new.md", f"scripts/auto/{STEM}.sh"],
)
def test_what_changed_since_it_was_listed_is_not_removed(world: World, changed: str) -> None:
    draft = world.put(as_folder=True)
    (world.work / changed).write_text("changed")
    before = tree(world.work)

    with pytest.raises(PathError, match="changed meanwhile"):
        world.remove(draft)

    assert tree(world.work) == before
    assert world.trash().entries() == ()


def test_what_is_written_while_it_is_moved_comes_back(world: World) -> None:
    draft = world.put()
    trash = world.top / "state" / "trash"

    def write(step: str) -> None:
        if step == "stored-skill":
            Path(draft.script).write_text("changed")

    with pytest.raises(PathError, match="changed meanwhile"):
        world.shelf(write).remove(draft, now=NOW)

    assert Path(draft.path).read_text() == TEXT
    assert Path(draft.script).read_text() == "changed"
    assert tree(trash) == {}


def test_a_draft_that_was_not_listed_is_not_removed(world: World) -> None:
    draft = world.put()

    with pytest.raises(PathError, match="changed meanwhile"):
        world.remove(replace(draft, hash=""))
    with pytest.raises(PathError, match="changed meanwhile"):
        world.remove(replace(draft, place="skills/auto/none.md"))

    assert world.shelf().listed() == (draft,)


def test_only_what_this_shelf_listed_is_removed(world: World) -> None:
    world.put()

    with pytest.raises(PathError, match="was not listed here"):
        world.shelf().remove(Made(), now=NOW)

    assert len(tree(world.work)) == 2


def test_a_state_folder_that_cannot_be_used_is_a_clear_error(world: World) -> None:
    (world.top / "state").write_text("a file")

    with pytest.raises(PathError, match="cannot be locked"), world.shelf().lock():
        pass


def test_a_script_stays_while_another_form_of_its_draft_is_there(world: World) -> None:
    world.put()
    (world.drafts / STEM).mkdir()
    (world.drafts / STEM / "SKILL.md").write_text("folder")

    world.remove(world.shelf().listed()[0])
    left = tree(world.work)
    world.remove(world.shelf().listed()[0])

    assert f"scripts/auto/{STEM}.sh" in left
    assert len(left) == 2
    assert tree(world.work) == {}


@pytest.mark.parametrize("taken", [f"skills/auto/{STEM}.md", f"scripts/auto/{STEM}.sh"])
def test_nothing_comes_back_over_something(world: World, taken: str) -> None:
    trash_id = world.remove(world.put())
    (world.work / taken).write_text("mine")

    with pytest.raises(PathError, match="exists already"):
        world.restore(trash_id)

    assert tree(world.work) == {taken: b"mine"}
    (world.work / taken).unlink()
    world.restore(trash_id)
    assert len(tree(world.work)) == 2


@pytest.mark.parametrize("name", [f"skills/auto/{STEM}.md", f"scripts/auto/{STEM}.sh"])
def test_nothing_comes_back_over_what_appears_in_that_moment(world: World, name: str) -> None:
    trash_id = world.remove(world.put())
    done: list[str] = []

    def appear(step: str) -> None:
        if step == ("noted" if name.endswith(".sh") else "fetched-script") and not done:
            done.append(step)
            (world.work / name).write_text("mine")

    with pytest.raises(PathError):
        world.shelf(appear).restore(trash_id)

    assert tree(world.work) == {name: b"mine"}
    (world.work / name).unlink()
    world.restore(trash_id)
    assert len(tree(world.work)) == 2


def test_what_was_changed_in_the_trash_does_not_come_back(world: World) -> None:
    trash_id = world.remove(world.put())
    kept = world.top / "state" / "trash" / trash_id
    (kept / "script").write_text("rm -rf ~")

    with pytest.raises(PathError, match="changed in the trash"):
        world.restore(trash_id)

    assert tree(world.work) == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("workspace", "/elsewhere"),
        ("source", "workspace"),
        ("items", {"skill": {"place": "skills/auto/../../x", "hash": "0" * 64}}),
        ("items", {"skill": {"place": "../x.md", "hash": "0" * 64}}),
        ("items", {"skill": {"place": "skills/other/x.md", "hash": "0" * 64}}),
        ("items", {"skill": 5}),
        ("items", {}),
        ("items", None),
    ],
)
def test_a_record_chooses_no_place(world: World, field: str, value: object) -> None:
    trash_id = world.remove(world.put())
    record = world.top / "state" / "trash" / trash_id / "record.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), field: value}))

    with pytest.raises(PathError):
        world.restore(trash_id)

    assert tree(world.work) == {}


@pytest.mark.parametrize("trash_id", ["", "..", "000000000001-0123456789ab", "a/b", "x" * 300])
def test_an_id_that_is_not_in_the_trash_is_a_clear_error(world: World, trash_id: str) -> None:
    with pytest.raises(PathError, match="is not in the trash"):
        world.restore(trash_id)


def test_another_workspace_cannot_take_the_draft(world: World) -> None:
    trash_id = world.remove(world.put())
    other = world.top / "other"
    other.mkdir()

    with pytest.raises(PathError, match="no draft that was removed from"):
        WorkspaceDrafts(str(other), str(world.top / "state")).restore(trash_id)

    assert tree(other) == {}


@pytest.mark.parametrize("inside", ["work/skills/auto/state", "work/scripts/auto"])
def test_the_trash_cannot_lie_among_the_drafts(world: World, inside: str) -> None:
    draft = world.put()

    with pytest.raises(PathError, match="cannot be the trash"):
        WorkspaceDrafts(str(world.work), str(world.top / inside)).remove(draft, now=NOW)

    assert Path(draft.path).exists()


def test_only_scripts_of_drafts_that_are_gone_are_orphans(world: World) -> None:
    world.put("20260101-000000-kept", as_folder=True)
    gone = world.put("20260102-000000-gone")
    Path(gone.path).unlink()
    for name in ("deploy.sh", "20260103-000000-notes.txt", "20260104-000000-.sh"):
        (world.scripts / name).write_text("a person's")
    (world.scripts / "20260105-000000-link.sh").symlink_to(world.top)
    (world.drafts / "20260106-000000-task").mkdir()
    (world.drafts / "20260106-000000-task" / "SKILL.md").write_text("theirs")
    (world.scripts / "20260106-000000-打开.sh").write_text("theirs, by the other spelling")
    (world.drafts / "20260107-000000-bare").mkdir()
    (world.scripts / "20260107-000000-bare.sh").write_text(SCRIPT)

    found = world.shelf().orphan_scripts()

    assert [Path(path).name for path in found] == [
        "20260102-000000-gone.sh",
        "20260107-000000-bare.sh",
    ]


def test_an_orphan_goes_to_the_trash_and_comes_back(world: World) -> None:
    draft = world.put()
    Path(draft.path).unlink()
    shelf = world.shelf()

    with shelf.lock():
        trash_id = shelf.remove_script(draft.script, now=NOW)
        assert tree(world.work) == {}
        assert world.trash().entries()[0].path.read_text() == SCRIPT
        assert shelf.restore(trash_id) == draft.script

    assert Path(draft.script).read_text() == SCRIPT


@pytest.mark.parametrize(
    "path", ["{script}", "{scripts}/deploy.sh", "{scripts}/../../x.sh", "{outside}", "x.sh", ""]
)
def test_no_other_script_is_removed(world: World, path: str) -> None:
    draft = world.put()
    (world.scripts / "deploy.sh").write_text("mine")
    outside = world.top / "20260101-000000-x.sh"
    outside.write_text("mine")
    named = path.format(script=draft.script, scripts=world.scripts, outside=outside)

    with pytest.raises(PathError):
        world.shelf().remove_script(named, now=NOW)

    assert len(tree(world.work)) == 3
    assert outside.exists()


def test_another_process_waits_for_the_lock(world: World) -> None:
    script = (
        "import sys; from prowess.host.writers.drafts import WorkspaceDrafts\n"
        "print('waiting', flush=True)\n"
        "with WorkspaceDrafts(sys.argv[1], sys.argv[2]).lock():\n"
        "    print('in', flush=True)\n"
    )
    with world.shelf().lock():
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(world.work), str(world.top / "state")],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert child.stdout is not None
        assert child.stdout.readline() == "waiting\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.2)

    assert child.communicate(timeout=60)[0] == "in\n"


@FORMS
def test_a_write_that_fails_leaves_nothing(world: World, *, as_folder: bool) -> None:
    def fail(step: str) -> None:
        steps.append(step)
        if "script-written" in steps and step == "before-rename":
            raise Stop

    steps: list[str] = []
    with pytest.raises(Stop):
        world.shelf(fail).write(STEM, TEXT, SCRIPT, as_folder=as_folder)

    assert sorted(path.name for path in world.work.rglob("*")) == [
        "auto",
        "auto",
        "scripts",
        "skills",
    ]


def write(world: World, hook: Callable[[str], None]) -> None:
    shelf = world.shelf(hook)
    with shelf.lock():
        shelf.write(STEM, TEXT, SCRIPT, as_folder=False)


def write_folder(world: World, hook: Callable[[str], None]) -> None:
    shelf = world.shelf(hook)
    with shelf.lock():
        shelf.write(STEM, TEXT, SCRIPT, as_folder=True)


def remove(world: World, hook: Callable[[str], None]) -> None:
    shelf = world.shelf(hook)
    with shelf.lock():
        shelf.remove(world.shelf().listed()[0], now=NOW)


def restore(world: World, hook: Callable[[str], None]) -> None:
    shelf = world.shelf(hook)
    with shelf.lock():
        shelf.restore(world.trash().entries()[0].id)


# What is done, and how the draft was written before.
ACTS: dict[str, tuple[Callable[[World, Callable[[str], None]], None], bool]] = {
    "write a file": (write, False),
    "write a folder": (write_folder, True),
    "remove a file": (remove, False),
    "remove a folder": (remove, True),
    "restore a file": (restore, False),
    "restore a folder": (restore, True),
}


def prepared(top: Path, act: str) -> World:
    """Return a world in which an act can be done."""
    (top / "work").mkdir(parents=True)
    world = World(top)
    if not act.startswith("write"):
        draft = world.put(as_folder=ACTS[act][1])
        if act.startswith("restore"):
            world.remove(draft)
    return world


def check(world: World, act: str) -> None:
    """Look at what a crash left, as whoever comes next does."""
    shelf = world.shelf()
    with shelf.lock():
        listed, orphans = shelf.listed(), shelf.orphan_scripts()
    entries = world.trash().entries()
    assert not list(world.top.rglob(".prowess-*"))
    assert not shelf.problems
    if act.startswith("write"):
        assert not entries
        assert [draft.script_text for draft in listed] in ([], [SCRIPT])
        assert len(orphans) <= 1 - len(listed)
        return
    assert not orphans
    assert len(listed) + len(entries) == 1
    if entries:
        world.restore(entries[0].id)
    (draft,) = world.shelf().listed()
    assert (draft.text, draft.script_text) == (TEXT, SCRIPT)


def turning_points(top: Path, act: str) -> list[int]:
    """Return the numbers of the steps that find the disk changed: a crash elsewhere is the same."""
    world, seen = prepared(top, act), [""]
    points: list[int] = []

    def look(_step: str) -> None:
        found = repr([(str(path), path.lstat().st_size) for path in sorted(top.rglob("*"))])
        if found != seen[-1]:
            points.append(len(seen) - 1)
        seen.append(found)

    ACTS[act][0](world, look)
    return points


def die_from(number: int) -> Callable[[str], None]:
    """Return a hook after which nothing works any more, the putting back included."""
    count = iter(range(10_000))

    def die(_step: str) -> None:
        if next(count) >= number:
            raise Stop

    return die


@pytest.mark.parametrize("act", ACTS)
def test_a_crash_at_any_step_loses_neither_draft_nor_script(quick_folder: Path, act: str) -> None:
    points = turning_points(quick_folder / "count", act)
    for number in points:
        world = prepared(quick_folder / str(number), act)

        with pytest.raises(Stop):
            ACTS[act][0](world, die_from(number))

        check(world, act)

    assert len(points) > 6, "the test never reached the middle"


# Run in a process of its own: it forks, and the test process may have threads.
_KILLED = """
    import os, sys
    from pathlib import Path
    sys.path.insert(0, {tests!r})
    import test_draft_shelf as shelves

    base, act = Path(sys.argv[1]), sys.argv[2]
    for number in shelves.turning_points(base / "count", act):
        world = shelves.prepared(base / str(number), act)
        child = os.fork()
        if child == 0:
            count = iter(range(10_000))
            def hook(step):
                if next(count) == number:
                    os._exit(9)
            shelves.ACTS[act][0](world, hook)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9, number
        shelves.check(world, act)
    print("survived")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.parametrize("act", ["write a folder", "remove a file", "restore a file"])
def test_a_process_killed_at_any_step_loses_neither(quick_folder: Path, act: str) -> None:
    script = textwrap.dedent(_KILLED).format(tests=str(Path(__file__).parent))

    done = subprocess.run(
        [sys.executable, "-c", script, str(quick_folder), act],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.stdout == "survived\n", done.stderr


@pytest.fixture
def two_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the system refuse to rename or link from one root to the other, as between two disks."""
    rename = folder_move.rename_place

    def refuse(old: folder_move.RootPlace, new: folder_move.RootPlace) -> None:
        if old.root is not new.root:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(old, new)

    def refuse_link(*_paths: object, **_folders: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(folder_move, "rename_place", refuse)
    monkeypatch.setattr(os, "link", refuse_link)


@pytest.mark.usefixtures("two_disks")
@FORMS
def test_the_trash_may_be_on_another_disk(world: World, *, as_folder: bool) -> None:
    draft = world.put(as_folder=as_folder)
    before = tree(world.work)

    trash_id = world.remove(draft)
    gone = tree(world.work)
    world.restore(trash_id)

    assert gone == {}
    assert tree(world.work) == before
    assert mode(draft.script) == 0o700


@pytest.mark.usefixtures("two_disks")
@pytest.mark.parametrize(
    "act", ["remove a file", "remove a folder", "restore a file", "restore a folder"]
)
def test_a_crash_between_two_disks_loses_neither(quick_folder: Path, act: str) -> None:
    for number in turning_points(quick_folder / "count", act):
        world = prepared(quick_folder / str(number), act)

        with pytest.raises(Stop):
            ACTS[act][0](world, die_from(number))

        check(world, act)


@pytest.mark.parametrize("linked", ["script", "both"])
def test_a_kill_between_the_two_names_of_a_file_leaves_one(world: World, linked: str) -> None:
    draft = world.put()
    trash_id = world.remove(draft)
    kept = world.top / "state" / "trash" / trash_id
    os.link(kept / "script", draft.script)
    if linked == "both":
        os.link(kept / "skill", draft.path)
    (notes,) = (world.top / "state" / "drafts").iterdir()
    (notes / "open.json").write_text(json.dumps({"entry": trash_id}))

    with world.shelf().lock():
        pass

    is_back = linked == "both"
    assert len(tree(world.work)) == (2 if is_back else 0)
    assert len(world.trash().entries()) == (0 if is_back else 1)
    if not is_back:
        world.restore(trash_id)
    assert world.shelf().listed() == (draft,)


def test_a_damaged_note_is_a_clear_error(world: World) -> None:
    world.put()
    (note,) = (world.top / "state" / "drafts").iterdir()
    (note / "open.json").write_text("{")

    with pytest.raises(PathError, match="is damaged"), world.shelf().lock():
        pass


STEMS = st.sampled_from([f"2026010{number}-000000-x" for number in range(1, 4)])
DEEDS = st.one_of(
    st.tuples(st.just("write"), STEMS, st.booleans()),
    st.tuples(st.just("remove"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("restore"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("orphan"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("lose"), st.integers(0, 2), st.just(0)),
)


def do(world: World, deed: tuple[str, object, object]) -> None:
    """Do one thing, where it can be done."""
    name, which, form = deed
    shelf = world.shelf()
    with shelf.lock():
        at = which if isinstance(which, int) else 0
        drafts, entries = shelf.listed()[at:], world.trash().entries()[at:]
        if name == "write":
            shelf.write(str(which), TEXT, SCRIPT, as_folder=bool(form))
        elif name == "remove" and drafts:
            shelf.remove(drafts[0], now=NOW)
        elif name == "restore" and entries:
            shelf.restore(entries[0].id)
        elif name == "orphan":
            for script in shelf.orphan_scripts():
                shelf.remove_script(script, now=NOW)
        elif name == "lose" and drafts:
            Path(drafts[0].path).unlink()


@settings(max_examples=25, deadline=None)
@given(deeds=st.lists(DEEDS, max_size=12))
def test_nothing_but_the_folders_of_drafts_and_the_state_is_touched(
    deeds: list[tuple[str, object, object]],
) -> None:
    theirs = (
        "work/AGENTS.md", "work/skills/notes/SKILL.md", "work/skills/20260101-000000-x.md",
        "work/scripts/20260101-000000-x.sh", "work/scripts/auto/deploy.sh",
        "work/skills/auto/README.md", "outside/20260101-000000-x.md",
    )  # fmt: skip
    with folder_in_memory() as top:
        for place in theirs:
            (top / place).parent.mkdir(parents=True, exist_ok=True)
            (top / place).write_text("theirs")
        before, scripts = tree(top), [0]

        for deed in deeds:
            # A name that is taken, and nothing else.
            with suppress(PathError):
                do(World(top), deed)
            scripts.append(list(tree(top).values()).count(SCRIPT.encode()))
        found = tree(top)

    assert {place: found[place] for place in theirs} == before
    ours = ("work/skills/auto/2026", "work/scripts/auto/2026", "state/")
    assert all(place.startswith(ours) for place in found.keys() - before.keys())
    # Nothing is ever deleted; a script whose draft was lost is taken again.
    assert scripts == sorted(scripts)
