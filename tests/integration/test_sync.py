"""Copies of skills on a real disk: only what sync wrote is touched, whatever happens meanwhile."""

import fcntl
import json
import os
import shutil
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prowess.errors import ContainmentError, PathError
from prowess.host.files import transaction as folder_swap
from prowess.host.files.containment import Hook, Root
from prowess.host.writers.export import SkillFolders
from prowess.host.writers.sync import LOCK, FolderTargets, Patience
from prowess.runtime.scan import ScanPorts, ScanService
from prowess.runtime.sharing.sync import SyncAction, SyncReport, SyncRequest, SyncService
from prowess.safety.intake.ledger import ScanLimits
from prowess.safety.rules.table import Acceptance
from prowess.skills.model import Skill, Source, Tier
from prowess.testing import make_skill, open_memory

GOOD = "---\nname: notes\ndescription: Tidies notes.\n---\n\n# Notes\n"
MANIFEST = ".prowess-sync.json"
KILLED = 9

Tree = dict[str, bytes | str]


class _NothingAccepted:
    def read(self) -> tuple[Acceptance, ...]:
        return ()

    def add(self, given: Sequence[Acceptance]) -> None:
        raise NotImplementedError

    def remove(self, taken: Collection[Acceptance], at: str) -> None:
        raise NotImplementedError


def _scanning() -> ScanService:
    return ScanService(
        ScanPorts(
            open_acceptances=_NothingAccepted,
            egress=dict,
            trusted_names=tuple,
            seconds=lambda: 0.0,
            now=lambda: "now",
        )
    )


@dataclass
class World:
    """A workspace with skills, and a target beside it."""

    top: Path
    hook: Hook = lambda _step: None
    patience: Patience = field(default_factory=Patience)
    limits: ScanLimits = field(default_factory=ScanLimits)
    waits: list[str] = field(default_factory=list)

    @property
    def source(self) -> Path:
        return self.top / "work" / "skills"

    @property
    def box(self) -> Path:
        return self.top / "box"

    @property
    def skills(self) -> Path:
        return self.box / "skills"

    def skill(self, name: str, **files: str) -> Path:
        folder = self.source / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_text(GOOD, encoding="utf-8")
        for path, text in files.items():
            (folder / path).write_text(text, encoding="utf-8")
        return folder

    def found(self) -> list[Skill]:
        root = Source(tier=Tier.WORKSPACE, root=str(self.source))
        return [
            make_skill(
                str(file.parent.relative_to(self.source)),
                folder=str(file.parent),
                path=str(file),
                source=root,
            )
            for file in sorted(self.source.rglob("SKILL.md"))
        ]

    def sync(self, *, dry_run: bool = False, force: bool = False) -> SyncReport:
        targets = FolderTargets(
            str(self.top / "home"),
            waiting=lambda: self.waits.append("waiting"),
            patience=self.patience,
            hook=self.hook,
        )
        reader = SkillFolders(self.limits)
        service = SyncService(open_memory(self.found()), reader, _scanning(), targets)
        return service.sync(SyncRequest(target=str(self.box), dry_run=dry_run, force=force))


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "home").mkdir()
    (tmp_path / "work" / "skills").mkdir(parents=True)
    return World(tmp_path)


def _tree(folder: Path) -> Tree:
    """Return everything below a folder: bytes of files, targets of links, empty folders too."""
    found: Tree = {}
    for base, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(base, name)
            key = path.relative_to(folder).as_posix()
            if path.is_symlink():
                found[key] = f"-> {path.readlink()}"
            else:
                found[key] = "folder" if path.is_dir() else path.read_bytes()
    return found


def _visible(folder: Path) -> Tree:
    return {path: found for path, found in _tree(folder).items() if not path.startswith(".prowess")}


def _folders(report: SyncReport, action: SyncAction) -> list[str]:
    return [step.folder for step in report.of(action)]


def _edited(world: World, change: Callable[[dict[str, object]], None]) -> None:
    path = world.skills / MANIFEST
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value), encoding="utf-8")


def test_a_skill_is_copied_whole_with_executable_bits_and_no_other_modes(world: World) -> None:
    folder = world.skill("notes", **{"run.sh": "echo hi\n", "secret.txt": "x"})
    (folder / "references" / "deep").mkdir(parents=True)
    (folder / "references" / "deep" / "a.md").write_text("a")
    (folder / "run.sh").chmod(0o4711)
    (folder / "secret.txt").chmod(0o600)

    report = world.sync()

    copy = world.skills / "notes"
    assert _folders(report, SyncAction.ADD) == ["notes"]
    assert _tree(copy) == _tree(folder)
    assert stat.S_IMODE((copy / "run.sh").stat().st_mode) == 0o755
    assert stat.S_IMODE((copy / "secret.txt").stat().st_mode) == 0o644


def test_repositories_and_vendored_modules_stay_behind(world: World) -> None:
    folder = world.skill("notes")
    for path in (".git/config", "node_modules/a/index.js", "lib/node_modules/b.js", "lib/c.md"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x")

    world.sync()

    copied = {path for path, found in _tree(world.skills / "notes").items() if found != "folder"}
    assert copied == {"SKILL.md", "lib/c.md"}


@pytest.mark.parametrize("name", [".GIT", ".Git", "NODE_MODULES", "Node_Modules"])
def test_a_repository_in_capitals_is_one_to_some_systems_and_stays_behind(
    world: World, name: str
) -> None:
    folder = world.skill("notes")
    (folder / name / "hooks").mkdir(parents=True)
    (folder / name / "hooks/post-checkout").write_text("#!/bin/sh\n", encoding="utf-8")

    world.sync()

    assert set(_tree(world.skills / "notes")) == {"SKILL.md"}


def test_links_pipes_and_odd_names_are_left_out_and_named(world: World) -> None:
    folder = world.skill("notes", **{"a.md": "a", "A.md": "b", "co:lon": "c", "con.txt": "d"})
    (folder / "inner").symlink_to("a.md")
    (folder / "away").symlink_to("/etc/passwd")
    (folder / "etc").symlink_to("/etc")
    os.mkfifo(folder / "pipe")

    report = world.sync()

    assert set(_tree(world.skills / "notes")) == {"SKILL.md", "A.md"}
    left_out = {one.path for one in report.warnings}
    assert left_out == {"a.md", "co:lon", "con.txt", "inner", "away", "etc", "pipe"}
    assert report.is_clean


@pytest.mark.parametrize("inside", ["real.md", "/etc/passwd"])
def test_a_skill_whose_own_file_is_a_link_is_refused(world: World, inside: str) -> None:
    folder = world.skill("notes", **{"real.md": GOOD})
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").symlink_to(inside)

    report = world.sync()

    assert _folders(report, SyncAction.REFUSED) == ["notes"]
    assert "is a link" in report.steps[0].reason
    assert not (world.skills / "notes").exists()


def test_a_skill_that_is_too_large_is_refused_and_the_others_are_copied(world: World) -> None:
    world.limits = ScanLimits(files=5, file_bytes=1000, total_bytes=1500)
    world.skill("small")
    world.skill("many", **{f"{number}.md": "x" for number in range(6)})
    world.skill("wide", **{"a.md": "x" * 900, "b.md": "x" * 900})
    world.skill("long", **{"a.md": "x" * 1001})
    (world.skill("deep") / "/".join("abcdefghijklm")[:25]).mkdir(parents=True)

    report = world.sync()

    assert _folders(report, SyncAction.ADD) == ["small"]
    assert _folders(report, SyncAction.REFUSED) == ["deep", "long", "many", "wide"]


def test_a_second_sync_writes_nothing_at_all(world: World) -> None:
    world.skill("notes", **{"a.md": "a"})
    world.sync()
    before = {path: path.stat().st_mtime_ns for path in (world.box, *world.box.rglob("*"))}

    report = world.sync()

    assert [step.action for step in report.steps] == [SyncAction.KEEP]
    assert before == {path: path.stat().st_mtime_ns for path in (world.box, *world.box.rglob("*"))}


def test_a_dry_run_makes_nothing_and_says_everything(world: World) -> None:
    world.skill("notes")

    first = world.sync(dry_run=True)

    assert _folders(first, SyncAction.ADD) == ["notes"]
    assert not world.box.exists()

    world.sync()
    world.skill("notes", **{"a.md": "new"})
    world.skill("other")
    before = _tree(world.box)

    second = world.sync(dry_run=True)

    assert (_folders(second, SyncAction.ADD), _folders(second, SyncAction.UPDATE)) == (
        ["other"],
        ["notes"],
    )
    assert _tree(world.box) == before


def test_updates_follow_the_source_and_stale_copies_go(world: World) -> None:
    notes, other = world.skill("notes", **{"a.md": "a"}), world.skill("other")
    world.sync()
    (notes / "a.md").unlink()
    (notes / "b.md").write_text("b")
    shutil.rmtree(other)

    report = world.sync()

    assert (_folders(report, SyncAction.UPDATE), _folders(report, SyncAction.REMOVE)) == (
        ["notes"],
        ["other"],
    )
    assert _visible(world.skills) == _tree(world.source)


def test_a_folder_that_sync_did_not_write_is_left_alone_and_reported(world: World) -> None:
    world.skill("notes")
    world.skill("other")
    (world.skills / "notes").mkdir(parents=True)
    (world.skills / "notes" / "mine.md").write_text("mine")

    for force in (False, True):
        report = world.sync(force=force)

        assert _folders(report, SyncAction.CONFLICT) == ["notes"]
        assert not report.is_clean
        assert _tree(world.skills / "notes") == {"mine.md": b"mine"}
    assert (world.skills / "other" / "SKILL.md").is_file()


CHANGES: dict[str, Callable[[Path], object]] = {
    "edited": lambda copy: (copy / "a.md").write_text("edited"),
    "added": lambda copy: (copy / "new.md").write_text("new"),
    "deleted": lambda copy: (copy / "a.md").unlink(),
    "an empty folder": lambda copy: (copy / "empty").mkdir(),
    "a link": lambda copy: (copy / "link").symlink_to("a.md"),
    "made executable": lambda copy: (copy / "a.md").chmod(0o755),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_copy_that_somebody_changed_is_a_conflict_and_kept_when_forced(
    world: World, change: Callable[[Path], object]
) -> None:
    folder = world.skill("notes", **{"a.md": "a"})
    world.sync()
    change(world.skills / "notes")
    changed = _tree(world.skills / "notes")
    (folder / "a.md").write_text("from the source")

    calm = world.sync()

    assert _folders(calm, SyncAction.CONFLICT) == ["notes"]
    assert _tree(world.skills / "notes") == changed

    forced = world.sync(force=True)

    assert _folders(forced, SyncAction.UPDATE) == ["notes"]
    assert _tree(world.skills / "notes") == _tree(folder)
    assert (
        Path(forced.of(SyncAction.UPDATE)[0].kept_at) == world.skills / ".prowess-kept" / "notes-1"
    )
    assert _tree(world.skills / ".prowess-kept" / "notes-1") == changed


def test_kept_versions_are_numbered_and_never_replaced(world: World) -> None:
    world.skill("notes")
    world.sync()
    for text in ("one", "two"):
        (world.skills / "notes" / "SKILL.md").write_text(text)
        world.sync(force=True)

    kept = world.skills / ".prowess-kept"

    assert _tree(kept / "notes-1") == {"SKILL.md": b"one"}
    assert _tree(kept / "notes-2") == {"SKILL.md": b"two"}


def test_somebody_elses_file_in_place_of_the_kept_folder_is_in_the_way_and_stays(
    world: World,
) -> None:
    world.skill("notes")
    world.sync()
    (world.skills / "notes" / "SKILL.md").write_text("changed")
    (world.skills / ".prowess-kept").write_text("mine")
    world.skill("other")

    report = world.sync(force=True)

    assert _folders(report, SyncAction.REFUSED) == ["notes"]
    assert (world.skills / "notes" / "SKILL.md").read_text() == "changed"
    assert (world.skills / ".prowess-kept").read_text() == "mine"
    assert (world.skills / "other" / "SKILL.md").is_file()


def test_a_copy_that_became_a_link_or_a_file_is_a_conflict_and_its_target_stays(
    world: World,
) -> None:
    world.skill("notes")
    world.sync()
    elsewhere = world.top / "elsewhere"
    shutil.copytree(world.skills / "notes", elsewhere)
    shutil.rmtree(world.skills / "notes")
    (world.skills / "notes").symlink_to(elsewhere)

    assert _folders(world.sync(), SyncAction.CONFLICT) == ["notes"]
    world.sync(force=True)

    assert _tree(world.skills / "notes") == _tree(world.source / "notes")
    assert _tree(elsewhere) == _tree(world.source / "notes")
    assert (world.skills / ".prowess-kept" / "notes-1").is_symlink()


def test_a_stale_copy_that_somebody_changed_stays_and_is_reported(world: World) -> None:
    folder = world.skill("notes")
    world.sync()
    (world.skills / "notes" / "mine.md").write_text("mine")
    shutil.rmtree(folder)

    for force in (False, True):
        assert _folders(world.sync(force=force), SyncAction.CONFLICT) == ["notes"]
    assert (world.skills / "notes" / "mine.md").read_text() == "mine"

    shutil.rmtree(world.skills / "notes")

    assert world.sync().is_clean


def test_the_number_of_a_clashing_name_stays_with_its_source(world: World) -> None:
    world.skill("b/deploy", **{"b.md": "b"})
    world.sync()
    world.skill("a/deploy", **{"a.md": "a"})
    world.sync()

    assert (world.skills / "deploy" / "b.md").exists()
    assert (world.skills / "deploy-2" / "a.md").exists()

    shutil.rmtree(world.source / "b")
    world.sync()

    assert set(_visible(world.skills)) == {"deploy-2", "deploy-2/a.md", "deploy-2/SKILL.md"}


BROKEN: dict[str, Callable[[dict[str, object]], None]] = {
    "a way up": lambda value: value.update(folders={"../x": _noted()}),
    "an absolute path": lambda value: value.update(folders={"/etc": _noted()}),
    "a hidden folder": lambda value: value.update(folders={".ssh": _noted()}),
    "two steps": lambda value: value.update(folders={"a/b": _noted()}),
    "two spellings": lambda value: value.update(folders={"a": _noted(), "A": _noted()}),
    "a file outside": lambda value: value.update(folders={"a": _noted("../../x")}),
    "a pending way up": lambda value: value.update(pending={"../x": None}),
    "a staging folder outside": lambda value: value.update(
        staging="../.prowess-staging-" + "0" * 16
    ),
    "another staging folder": lambda value: value.update(staging="notes"),
    "no hash": lambda value: value.update(folders={"a": {**_noted(), "files": {"x": {}}}}),
    "no record": lambda value: value.update(folders={"a": []}),
    "no source": lambda value: value.update(folders={"a": {"files": {}}}),
    "no folders": lambda value: value.update(folders=3),
    "another version": lambda value: value.update(prowessSync=2),
}


def _noted(path: str = "SKILL.md") -> dict[str, object]:
    mark = {"sha256": "0" * 64, "executable": False}
    return {"source": "/x", "skill": "x", "files": {path: mark}}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN.keys())
def test_a_manifest_that_leads_elsewhere_is_refused_and_nothing_is_touched(
    world: World, change: Callable[[dict[str, object]], None]
) -> None:
    world.skill("notes")
    world.sync()
    (world.box / "x").mkdir()
    (world.box / ("." + "prowess-staging-" + "0" * 16)).mkdir()
    shutil.rmtree(world.source / "notes")
    _edited(world, change)
    before = _tree(world.box)

    for dry_run in (True, False):
        with pytest.raises(PathError, match=r"cannot be trusted.*then sync again"):
            world.sync(dry_run=dry_run)

    assert _tree(world.box) == before


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff", b"null", b"[" * 100_000, b'{"prowessSync": 1, "a": NaN']
)
def test_a_manifest_that_is_no_manifest_is_refused(world: World, content: bytes) -> None:
    world.skill("notes")
    world.skills.mkdir(parents=True)
    (world.skills / MANIFEST).write_bytes(content)

    with pytest.raises(PathError, match="cannot be trusted"):
        world.sync()

    assert set(_tree(world.skills)) == {MANIFEST, LOCK}


@pytest.mark.parametrize("name", [MANIFEST, LOCK])
def test_a_pipe_or_a_folder_in_place_of_our_own_files_is_refused(world: World, name: str) -> None:
    world.skill("notes")
    world.skills.mkdir(parents=True)

    os.mkfifo(world.skills / name)
    with pytest.raises(PathError):
        world.sync()
    (world.skills / name).unlink()
    (world.skills / name).mkdir()
    with pytest.raises(PathError):
        world.sync()

    assert not (world.skills / "notes").exists()


def test_a_lock_that_was_removed_while_it_was_held_keeps_nobody_out(world: World) -> None:
    world.skill("notes")
    world.sync()
    with (world.skills / LOCK).open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (world.skills / LOCK).unlink()

        assert world.sync().is_clean


@pytest.mark.parametrize("atomic", ["exchange", "renames"])
def test_an_exchange_that_fails_leaves_both_where_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, atomic: str
) -> None:
    if atomic == "renames":
        monkeypatch.setattr(folder_swap, "_rename_function", lambda: None)
    (tmp_path / "there").mkdir()

    with Root.open(tmp_path) as root:
        with pytest.raises(PathError):
            folder_swap.exchange(root, "missing", "there", "spare")
        with pytest.raises(PathError):
            folder_swap.move(root, "missing", "new")
        (tmp_path / "taken").mkdir()
        with pytest.raises(PathError, match="exists already"):
            folder_swap.move(root, "there", "taken")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken", "there"]


@pytest.mark.parametrize("name", [MANIFEST, LOCK])
def test_a_link_in_place_of_our_own_files_is_refused(world: World, name: str) -> None:
    world.skill("notes")
    world.skills.mkdir(parents=True)
    outside = world.top / "outside"
    outside.write_text("{}")
    (world.skills / name).symlink_to(outside)

    with pytest.raises(PathError):
        world.sync()

    assert outside.read_text() == "{}"
    assert not (world.skills / "notes").exists()


def test_targets_that_are_sources_homes_or_no_folders_are_refused(world: World) -> None:
    folder = world.skill("notes")
    (world.top / "file").write_text("x")
    (world.top / "box").mkdir()
    (world.top / "linked").symlink_to(world.top / "work")
    targets = FolderTargets(str(world.top / "home"), waiting=lambda: None)
    sources = [str(world.source), str(folder), str(world.top / "later" / "skills")]
    (world.top / "later").mkdir()

    for refused in (
        world.top / "work",
        world.top / "linked",
        world.source,
        folder,
        folder / "inner",
        world.top / "home",
        world.top,
        world.top / "file",
        world.top / "none" / "box",
        world.top / "later",
        Path("/"),
    ):
        with pytest.raises(PathError):
            targets.check(str(refused), sources)
    for text in ("", "a\0b"):
        with pytest.raises(PathError):
            targets.check(text, sources)

    assert targets.check(str(world.box), sources) == str(world.box)
    assert targets.check(str(world.top / "new"), sources) == str(world.top / "new")


def test_a_target_whose_skills_are_a_link_is_refused(world: World) -> None:
    world.skill("notes")
    elsewhere = world.top / "elsewhere"
    elsewhere.mkdir()
    world.box.mkdir()
    world.skills.symlink_to(elsewhere)

    with pytest.raises(ContainmentError, match="is a link"):
        world.sync()

    assert _tree(elsewhere) == {}


def test_a_target_whose_skills_are_a_file_is_refused(world: World) -> None:
    world.box.mkdir()
    world.skills.write_text("x")

    with pytest.raises(PathError, match="is not a folder"):
        world.sync()


def test_a_folder_edited_at_the_very_moment_of_the_exchange_is_put_back(world: World) -> None:
    folder, stale = world.skill("notes"), world.skill("stale")
    world.sync()
    (folder / "SKILL.md").write_text(GOOD + "more\n")
    shutil.rmtree(stale)

    def edit(step: str) -> None:
        if step == "staged":
            (world.skills / "notes" / "mine.md").write_text("mine")
            (world.skills / "stale" / "mine.md").write_text("mine")

    world.hook = edit
    report = world.sync()

    assert _folders(report, SyncAction.CONFLICT) == ["notes", "stale"]
    assert _visible(world.skills) == {
        "notes": "folder",
        "notes/SKILL.md": GOOD.encode(),
        "notes/mine.md": b"mine",
        "stale": "folder",
        "stale/SKILL.md": GOOD.encode(),
        "stale/mine.md": b"mine",
    }
    assert not list(world.skills.glob(".prowess-staging-*"))


def test_a_folder_that_appears_at_the_last_moment_is_not_replaced(world: World) -> None:
    world.skill("notes")
    world.hook = lambda step: (world.skills / "notes").mkdir() if step == "staged" else None

    report = world.sync()

    assert _folders(report, SyncAction.CONFLICT) == ["notes"]
    assert _visible(world.skills) == {"notes": "folder"}


def test_a_folder_that_vanishes_at_the_last_moment_is_made_or_stays_gone(world: World) -> None:
    folder, stale = world.skill("notes"), world.skill("stale")
    world.sync()
    (folder / "SKILL.md").write_text(GOOD + "more\n")
    shutil.rmtree(stale)

    def vanish(step: str) -> None:
        if step == "staged":
            shutil.rmtree(world.skills / "notes")
            shutil.rmtree(world.skills / "stale")

    world.hook = vanish
    world.sync()
    world.hook = lambda _step: None

    assert world.sync().is_clean
    assert _visible(world.skills) == _tree(world.source)


def _prepared(top: Path) -> World:
    """Return a world in which a sync has one folder to add, to replace, to remove and to keep."""
    (top / "home").mkdir(parents=True)
    (top / "work" / "skills").mkdir(parents=True)
    world = World(top)
    updated, removed = world.skill("updated", **{"a.md": "old"}), world.skill("removed")
    world.skill("changed", **{"a.md": "old"})
    world.sync()
    (updated / "a.md").write_text("new")
    (updated / "b.md").write_text("new")
    shutil.rmtree(removed)
    world.skill("changed", **{"a.md": "new"})
    world.skill("added", **{"a.md": "new"})
    (world.skills / "changed" / "mine.md").write_text("mine")
    (world.skills / "foreign").mkdir()
    (world.skills / "foreign" / "mine.md").write_text("mine")
    (world.skills / ".prowess-staging-0123456789abcdef").mkdir()
    return world


def _killed_at(world: World, count: int) -> bool:
    """Sync in another process that dies at the given step; return whether it died."""
    child = os.fork()
    if child == 0:
        left = count

        def die(_step: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                os._exit(KILLED)

        world.hook = die
        try:
            world.sync(force=True)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED


# Every sixth step: what holds where folders are exchanged is shown with all kinds of readers.
def test_a_kill_without_an_exchange_is_put_right_by_the_next_sync(
    quick_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_swap, "_rename_function", lambda: None)
    made = _prepared(quick_folder / "whole")
    made.sync(force=True)
    new = _visible(made.skills)
    kept = _tree(made.skills / ".prowess-kept" / "changed-1")
    kills = 0
    for step in range(3, 1000, 6):
        world = _prepared(quick_folder / str(step))
        if not _killed_at(world, step):
            break
        kills += 1
        world.sync(force=True)

        assert _visible(world.skills) == new, step
        assert _tree(world.skills / ".prowess-kept" / "changed-1") == kept, step
        assert [path.name for path in world.skills.glob(".prowess-staging-*")] == [
            ".prowess-staging-0123456789abcdef"
        ]
        assert not list(world.skills.glob(".prowess-*.tmp")), step
        assert all(one.action is SyncAction.KEEP for one in world.sync().steps)
        shutil.rmtree(world.top)
    assert kills > 40


def test_folders_swapped_for_links_in_the_middle_never_lead_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    before = _tree(outside)
    steps = 0
    for step in range(1, 1000, 5):
        world = _prepared(tmp_path / str(step))
        if not _swapped_at(world, step, outside):
            break
        steps += 1

        assert _tree(outside) == before, step
        shutil.rmtree(world.top)
    assert steps > 20


def _swapped_at(world: World, count: int, outside: Path) -> bool:
    """Sync while links appear at the given step; return whether it came that far."""
    left = count

    def swap(_step: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            _swap_for_links(world, outside)

    world.hook = swap
    # Whether it is refused depends on the step; that nothing outside changes must not.
    with suppress(PathError):
        world.sync(force=True)
    return left <= 0


def _swap_for_links(world: World, outside: Path) -> None:
    """Put links to another folder where sync works: in its staging folder, and in its place."""
    for staging in world.skills.glob(".prowess-staging-*/*"):
        staging.rename(world.top / f"gone-{staging.parent.name}-{staging.name}")
        staging.symlink_to(outside)
    for name in ("updated", "added", "removed", ".prowess-kept"):
        place = world.skills / name
        if place.exists():
            place.rename(world.top / f"gone-{name}")
        place.symlink_to(outside)
    world.skills.rename(world.top / "gone-skills")
    world.skills.symlink_to(outside)


def test_a_skills_folder_that_is_moved_away_meanwhile_is_not_written_to(world: World) -> None:
    world.skill("notes")
    world.skills.mkdir(parents=True)

    def move(step: str) -> None:
        if step == "staged":
            world.skills.rename(world.box / "gone")
            world.skills.mkdir()

    world.hook = move

    with pytest.raises(ContainmentError, match="was swapped"):
        world.sync()

    assert _visible(world.box / "gone") == {}
    assert _tree(world.skills) == {}


def test_a_sync_waits_says_so_and_gives_up_with_a_clear_error(world: World) -> None:
    world.skill("notes")
    world.sync()
    world.patience = Patience(notice_s=0.01, limit_s=0.2)
    with (world.skills / LOCK).open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        for dry_run in (False, True):
            with pytest.raises(PathError, match="in use by another sync"):
                world.sync(dry_run=dry_run)

    assert world.waits == ["waiting", "waiting"]
    assert world.sync().is_clean


def _sync_often(top: str, number: int) -> None:
    world = World(Path(top))
    for turn in range(5):
        (world.source / "notes" / "a.md").write_text(f"{number} {turn}")
        world.sync()


def test_several_processes_end_with_one_whole_copy(world: World) -> None:
    world.skill("notes", **{"a.md": "a"})
    for number in range(3):
        world.skill(f"other-{number}", **{"a.md": "a"})
    context = get_context("fork")
    workers = [
        context.Process(target=_sync_often, args=(str(world.top), number)) for number in range(4)
    ]

    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    world.sync()

    assert [worker.exitcode for worker in workers] == [0] * 4
    assert _visible(world.skills) == _tree(world.source)
    assert not list(world.skills.glob(".prowess-staging-*"))
    assert not (world.skills / ".prowess-kept").exists()


NAMES = st.sampled_from(
    ["notes", "NOTES", "other", "notes-2", ".prowess-kept", ".prowess-staging-0123456789abcdef"]
)
FILES = st.dictionaries(
    st.sampled_from(["SKILL.md", "a.md", "sub/b.md"]), st.sampled_from(["x", "y"]), min_size=1
)
SOURCES = st.dictionaries(
    st.sampled_from(["p/notes", "q/notes", "p/other", "we:ird"]),
    st.dictionaries(st.sampled_from(["a.md", "sub/b.md"]), st.sampled_from(["x", "y", "z"])),
)
EDITS = st.lists(st.tuples(NAMES, st.sampled_from(["SKILL.md", "mine.md"])), max_size=2)


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(NAMES, FILES),
    st.lists(st.tuples(SOURCES, EDITS, st.booleans()), min_size=1, max_size=4),
)
def test_whatever_sync_did_not_write_is_untouched_byte_for_byte(
    beforehand: Mapping[str, Mapping[str, str]],
    turns: list[tuple[dict[str, dict[str, str]], list[tuple[str, str]], bool]],
) -> None:
    with TemporaryDirectory() as top:
        world = World(Path(top))
        (world.top / "home").mkdir()
        for name, files in beforehand.items():
            _write(world.skills / name, files)
        before = _tree(world.skills)
        mine: list[str] = []

        for turn, (sources, edits, force) in enumerate(turns):
            shutil.rmtree(world.source, ignore_errors=True)
            for name, files in sources.items():
                _write(world.source / name, {"SKILL.md": GOOD, **files})
            for name, path in edits:
                if (world.skills / name).is_dir() and name not in beforehand:
                    mine.append(f"edit {turn} {len(mine)}")
                    (world.skills / name / path).write_text(mine[-1])
                    mine = [text for text in mine if _holds(world.skills, text)]
            world.source.mkdir(parents=True, exist_ok=True)
            world.sync(force=force)

            now = _tree(world.skills)
            assert {path: now.get(path) for path in before} == before
            assert all(_holds(world.skills, text) for text in mine)


def _holds(folder: Path, text: str) -> bool:
    return text.encode() in _tree(folder).values()
