"""A process that is killed at any step leaves the old or the new, for every reader, and can be
run again: apply, rollback, install, sync, promote, load, experience, add, remove and update."""

import json
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from tests.integration.install_world import Server, program, tar
from tests.integration.kill_world import (
    NEW,
    OLD,
    Killed,
    Tree,
    check_readings,
    in_sight,
    kill_everywhere,
    read_everything,
    tree,
)

from prowess.host.sharing.folder import hash_folder
from prowess.host.store.database import open_file
from prowess.host.store.proposals import StoredProposals
from prowess.host.store.traces import read_trace_file
from prowess.host.tool_downloads import ToolDownloads
from prowess.host.writers.change import SkillFolder
from prowess.host.writers.export import SkillFolders
from prowess.host.writers.repairs import copy_skill
from prowess.host.writers.sync import FolderTargets
from prowess.runtime.install import Job, Watch
from prowess.runtime.sharing.ports import hash_package
from prowess.runtime.sharing.service import AddRequest, Sharing
from prowess.runtime.sharing.sync import CopiedFile, SyncRequest, SyncService
from prowess.runtime.sharing.update import FrozenRequest, FrozenSync, UpdateRequest, Updating
from prowess.runtime.workshop.drafts import Draft
from prowess.runtime.workshop.ports import WorkshopPorts
from prowess.runtime.workshop.proposals import Proposals
from prowess.safety.model import ScanReport, ScanVerdict
from prowess.safety.packages import DownloadPlan
from prowess.settings import WorkshopSettings
from prowess.sharing.source import SourceKind, SourceSpec
from prowess.skills.model import Source, Tier
from prowess.testing import make_skill, open_memory
from prowess.wiring import open_runtime
from prowess.wiring.library import Runtime
from prowess.wiring.sharing import open_folder, open_sharing
from prowess.wiring.workshop import open_experience
from prowess.workshop.edit import Replace
from prowess.workshop.proposal import EventKind, ProposalSource, State

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here"),
    # Others may want the processor at the same time.
    pytest.mark.timeout(900),
]
_STEPS_BY_THE_CLOCK = 15
_CONFIG = {
    "skills": {"routing": {"encoder": "none"}},
    "plugins": {"entries": {"skill-workshop": {"enabled": True}}},
}


def page(mark: str, name: str = "notes") -> bytes:
    return (
        f"---\nname: {name}\ndescription: Tidies {name}. {mark}\n---\n\n# It\n\n{mark}\n".encode()
    )


def skill_files(mark: str) -> Tree:
    support = {f"references/part-{number}.md": f"{mark} {number}\n".encode() for number in range(3)}
    return {"SKILL.md": page(mark), **support, "references/same.md": b"the same\n"}


def which(found: Tree, expected: Tree) -> str:
    """Return whether the files of a skill are the old or the new ones, and all of them."""
    assert found.keys() == expected.keys()
    marks = {
        mark
        for path, data in found.items()
        if not path.endswith("same.md")
        for mark, word in (("old", OLD), ("new", NEW))
        if word.encode() in data.lower()
    }
    assert len(marks) == 1, found
    return marks.pop()


def put(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def settle_in(place: Path) -> None:
    """Make a workspace, a home and a state folder, with what an earlier kill left behind."""
    for folder in ("home", "state", "work/skills"):
        (place / folder).mkdir(parents=True)
    (place / "state/prowess.json").write_text(json.dumps(_CONFIG), encoding="utf-8")
    left = place / "work/skills/.prowess-0123456789abcdef"
    put(left / "20", skill_files("left behind"))


@dataclass(frozen=True)
class Change:
    """A proposal for several files is applied, or taken back."""

    is_rollback: bool = False

    def prepare(self, place: Path) -> None:
        settle_in(place)
        put(place / "work/skills/notes", skill_files(OLD))
        (place / "work/skills/notes/.prowess-0123456789abcdef.tmp").write_bytes(b"half")
        proposals = open_proposals(place)
        new = skill_files(NEW)
        draft = Draft(
            skill="notes",
            title="t",
            reason="r",
            source=ProposalSource.CLI,
            edit=Replace(
                old_text=f"# It\n\n{OLD}",
                new_text=f"# It\n\n{NEW}",
                description=f"Tidies notes. {NEW}",
            ),
            files={path: new[path] for path in new if "part-" in path},
        )
        made = proposals.propose(str(place / "work"), draft).proposal
        if self.is_rollback:
            proposals.apply(made)

    def act(self, place: Path) -> None:
        proposals, workspace = open_proposals(place), str(place / "work")
        proposals.settle(workspace)
        (proposal,) = open_store(place).listed(workspace)
        # What was cut off is settled by now, and the log says which of the two it became.
        last = open_store(place).events(workspace)[-1].kind
        wrote = EventKind.ROLLED_BACK if self.is_rollback else EventKind.APPLIED
        assert (last is wrote) == (self.look(place) == "new"), last
        if self.is_rollback and proposal.state is State.APPLIED:
            proposals.rollback(proposal)
        elif not self.is_rollback and proposal.state is State.PENDING:
            proposals.apply(proposal)

    def look(self, place: Path) -> str:
        mark = which(in_sight(tree(place / "work/skills/notes")), skill_files(OLD))
        return self._turned(mark)

    def read(self, place: Path, found: str) -> None:
        check_readings(place, "notes", self._turned(found))

    def _turned(self, mark: str) -> str:
        return {"old": "new", "new": "old"}[mark] if self.is_rollback else mark


@cache
def open_store(place: Path) -> StoredProposals:
    return StoredProposals(open_file(str(place / "state/prowess.db")))


@cache
def open_proposals(place: Path) -> Proposals:
    return Proposals(
        WorkshopPorts(
            settings=lambda: WorkshopSettings(selected=True),
            workspace=lambda _agent: str(place / "work"),
            store=open_store(place),
            folder=lambda workspace, skill, _place: SkillFolder(
                Path(workspace) / "skills", skill, place / "state"
            ),
            scan=lambda _skill, _files: ScanReport(ScanVerdict.CLEAN, (), ()),
            route=lambda _message, _agent: None,
            refresh=lambda: None,
            now=time.time,
            new_id=lambda skill: f"{skill}-1",
            show=lambda answer: {"answer": answer},
        )
    )


@pytest.mark.parametrize("is_rollback", [False, True], ids=["apply", "rollback"])
def test_a_change_that_is_killed_at_any_step(quick_folder: Path, *, is_rollback: bool) -> None:
    check_kills(kill_everywhere(quick_folder, Change(is_rollback=is_rollback)))


@dataclass(frozen=True)
class Install:
    """A tool is fetched whose next version has other files."""

    urls: Mapping[str, str]

    def prepare(self, place: Path) -> None:
        self._install(place, OLD)

    def act(self, place: Path) -> None:
        self._install(place, NEW)

    def look(self, place: Path) -> str:
        found = in_sight(tree(place / "tools/frames"))
        mark = next(mark for mark in (OLD, NEW) if found.keys() == tool_files(mark).keys())
        assert found == tool_files(mark)
        if mark == OLD:
            return "old"
        # Whoever links comes last, and links again where it was cut off.
        linked = place / "tools/bin/frames"
        return "new" if linked.exists() and NEW in linked.read_text(encoding="utf-8") else "old"

    def read(self, place: Path, _found: str) -> None:
        assert {path.name for path in (place / "tools").iterdir() if path.name[0] != "."} == {
            "bin", "frames",
        }  # fmt: skip

    def _install(self, place: Path, mark: str) -> None:
        url = self.urls[mark]
        plan = DownloadPlan(url=url, file_name="frames", archive="tar.gz", extract=True)
        job = Job(
            key="frames",
            option_id="dl",
            bins=("frames",),
            plan=plan,
            private_hosts=(url.split("/")[2],),
        )
        outcome = ToolDownloads(str(place / "tools"), {}).carry_out(job, Watch())
        assert outcome.ok, outcome


def tool_files(mark: str) -> Tree:
    parts = {f"share/part-{number}": f"{mark} {number}".encode() for number in range(3)}
    return {f"{mark}.txt": b"", "bin/frames": program(mark), **parts, f"lib/{mark}": mark.encode()}


def test_an_install_that_is_killed_at_any_step(quick_folder: Path) -> None:
    server = Server()
    urls = {mark: server.serve(f"/{mark}.tar.gz", tar(tool_files(mark))) for mark in (OLD, NEW)}
    try:
        killed = kill_everywhere(quick_folder, Install(urls))
    finally:
        server.close()

    check_kills(killed)


class Sync:
    """Copies of skills are brought up to date; each is the old or the new one."""

    def prepare(self, place: Path) -> None:
        settle_in(place)
        for name in ("notes", "other"):
            put(place / "work/skills" / name, self._files(OLD, name))
        self._sync(place)
        for name in ("notes", "other"):
            put(place / "work/skills" / name, self._files(NEW, name))
        (place / "work/skills/notes/.prowess-0123456789abcdef.tmp").write_bytes(b"half")

    def act(self, place: Path) -> None:
        self._sync(place)

    def look(self, place: Path) -> str:
        marks = {
            which(in_sight(tree(place / "box/skills" / name)), self._files(OLD, name))
            for name in ("notes", "other")
        }
        # One of the two may be ahead of the other: they are two skills.
        return "new" if marks == {"new"} else "old"

    def read(self, place: Path, _found: str) -> None:
        mark = which(in_sight(tree(place / "box/skills/notes")), self._files(OLD, "notes"))
        check_readings(place, "notes", mark, work="box")

    def _files(self, mark: str, name: str) -> Tree:
        # What readers say of one must not count for the other.
        mark = mark if name == "notes" else mark.upper()
        return {"SKILL.md": page(mark, name), "a.md": mark.encode(), "b/c.md": mark.encode()}

    def _sync(self, place: Path) -> None:
        source = Source(tier=Tier.WORKSPACE, root=str(place / "work/skills"))
        skills = [
            make_skill(
                name,
                folder=str(place / "work/skills" / name),
                path=str(place / "work/skills" / name / "SKILL.md"),
                source=source,
            )
            for name in ("notes", "other")
        ]
        targets = FolderTargets(str(place / "home"), waiting=lambda: None)
        scanning = open_runtime(place / "work", home=place / "state", environ={}).scanning
        service = SyncService(open_memory(skills), SkillFolders(), scanning, targets)
        report = service.sync(SyncRequest(target=str(place / "box")))
        assert report.is_clean, report


def test_a_sync_that_is_killed_at_any_step(quick_folder: Path) -> None:
    check_kills(kill_everywhere(quick_folder, Sync()))


class Promote:
    """A draft becomes a skill, and goes to the trash."""

    def prepare(self, place: Path) -> None:
        settle_in(place)
        put(place, {"trace.json": json.dumps(trace("x")).encode()})
        service = open_experience(opened(place))
        service.build(read_trace_file(str(place / "trace.json")).traces)

    def act(self, place: Path) -> None:
        service = open_experience(opened(place))
        found = service.list().known
        if found:
            service.promote(found[0].id, name="made")

    def look(self, place: Path) -> str:
        made = in_sight(tree(place / "work/skills/made"))
        assert made.keys() in ({"SKILL.md", "scripts/replay.sh"}, set()), made
        drafts = in_sight(tree(place / "work/skills/auto"))
        assert made or drafts
        return "new" if made and not drafts else "old"

    def read(self, place: Path, _found: str) -> None:
        said = read_everything(place, "made")
        is_there = (place / "work/skills/made").exists()
        assert all(("made" in said[one]) is is_there for one in ("list", "prompt"))


class Experience:
    """What an agent did is kept, and a draft with its script is written from it."""

    def prepare(self, place: Path) -> None:
        settle_in(place)
        put(place, {"trace.json": json.dumps(trace("x")).encode()})

    def act(self, place: Path) -> None:
        service = open_experience(opened(place))
        service.build(read_trace_file(str(place / "trace.json")).traces)

    def look(self, place: Path) -> str:
        drafts = in_sight(tree(place / "work/skills/auto"))
        scripts = in_sight(tree(place / "work/scripts/auto"))
        assert len(drafts) <= 1
        for data in drafts.values():
            assert data.startswith(b"---\n"), data
            assert data.endswith(b"\n"), data
        assert all(map(is_script, scripts.values()))
        return "new" if drafts and scripts else "old"

    def read(self, place: Path, _found: str) -> None:
        said = read_everything(place, "x")
        # Whatever lies among the drafts is kept from the model.
        assert "Convert" not in said["prompt"] + said["copies"]


@cache
def is_script(data: bytes) -> bool:
    return subprocess.run(["bash", "-n"], input=data, check=False).returncode == 0


def trace(name: str) -> dict[str, object]:
    lines = (f"head -n 3 {name}.csv", f"python convert.py {name}.csv", f"jq length {name}.json")
    steps = [
        {"step": at, "action": {"type": "Bash", "command": line}, "result": "ok"}
        for at, line in enumerate(lines, start=1)
    ]
    return {"task": f"Convert {name}", "ok": True, "finalMessage": "done", "steps": steps}


def opened(place: Path) -> Runtime:
    environ = {"HOME": str(place / "home"), "PATH": os.environ["PATH"]}
    return open_runtime(place / "work", home=place / "state", environ=environ)


def test_a_promotion_that_is_killed_at_any_step(quick_folder: Path) -> None:
    check_kills(kill_everywhere(quick_folder, Promote()))


def test_learning_that_is_killed_at_any_step(quick_folder: Path) -> None:
    check_kills(kill_everywhere(quick_folder, Experience()))


class Load:
    """A bundled skill is copied into the workspace."""

    def prepare(self, place: Path) -> None:
        settle_in(place)
        put(place / "bundled/notes", self._files())

    def act(self, place: Path) -> None:
        file, skills = place / "bundled/notes/SKILL.md", place / "work/skills"
        copy_skill("notes", file, place / "bundled", skills)

    def look(self, place: Path) -> str:
        found = in_sight(tree(place / "work/skills/notes"))
        assert found in (self._files(), {})
        return "new" if found else "old"

    def read(self, place: Path, found: str) -> None:
        if found == "new":
            check_readings(place, "notes", found)
            return
        assert not any(NEW in text for text in read_everything(place, "notes").values())

    def _files(self) -> Tree:
        parts = {f"references/{number}.md": NEW.encode() for number in range(3)}
        return {"SKILL.md": page(NEW), **parts}


def test_loading_that_is_killed_at_any_step(quick_folder: Path) -> None:
    check_kills(kill_everywhere(quick_folder, Load()))


def check_kills(killed: Killed) -> None:
    # Some are done before they are killed, where the clock has them take fewer steps.
    assert killed.kills > killed.steps - _STEPS_BY_THE_CLOCK
    assert killed.ends.keys() == {"old", "new"}


@dataclass(frozen=True)
class Shared:
    """A skill is added from a source that has a newer one, or removed; its lock goes along."""

    is_removal: bool = False

    def prepare(self, place: Path) -> None:
        settle_in(place)
        put(place / "given/notes", skill_files(OLD))
        self._add(place)
        if not self.is_removal:
            put(place / "given/notes", skill_files(NEW))

    def act(self, place: Path) -> None:
        sharing = open_shared(place)
        if not self.is_removal:
            self._add(place)
        elif "notes" in sharing.folder.read_lock().skills:
            sharing.remove(("notes",))

    def look(self, place: Path) -> str:
        folder = place / "work/skills/notes"
        entry = open_shared(place).folder.read_lock().skills.get("notes")
        if self.is_removal:
            assert (entry is None) == (not folder.exists())
            return "new" if entry is None else "old"
        # What the lock says is what lies there, whenever somebody looks.
        assert entry is not None
        assert entry.files == hash_folder(str(folder))
        return which(in_sight(tree(folder)), skill_files(OLD))

    def read(self, place: Path, found: str) -> None:
        if not self.is_removal:
            check_readings(place, "notes", found)

    def _add(self, place: Path) -> None:
        sharing = open_shared(place)
        given = str(place / "given")
        spec = SourceSpec(asked=given, kind=SourceKind.FOLDER, url=given)
        (arrival,) = sharing.prepare(AddRequest(spec=spec), lambda *_step: None)
        sharing.add(arrival)


class Updated(Shared):
    """A skill that was edited here is merged with a newer one of its source."""

    def prepare(self, place: Path) -> None:
        super().prepare(place)
        put(place / "work/skills/notes", {"references/same.md": b"mine\n"})

    def act(self, place: Path) -> None:
        updating = Updating(open_shared(place))
        (update,) = updating.prepare(UpdateRequest(), lambda *_step: None)
        assert update.state in {"ready", "current"}, update
        updating.apply(update)

    def look(self, place: Path) -> str:
        folder = place / "work/skills/notes"
        entry = open_shared(place).folder.read_lock().skills["notes"]
        found = hash_folder(str(folder)) or {}
        assert {path for path in found if found[path] != entry.files[path]} == {
            "references/same.md"
        }
        assert (folder / "references/same.md").read_bytes() == b"mine\n"
        return which(in_sight(tree(folder)), skill_files(OLD))


class BroughtBack(Shared):
    """A skill that was edited here becomes what its lock says again; the edits go to the trash."""

    def prepare(self, place: Path) -> None:
        settle_in(place)
        put(place / "given/notes", skill_files(NEW))
        self._add(place)
        put(place / "work/skills/notes", skill_files(OLD))

    def act(self, place: Path) -> None:
        steps = FrozenSync(open_shared(place)).run(FrozenRequest(force=True), lambda *_step: None)
        assert {step.action for step in steps} <= {"keep", "restore"}, steps

    def look(self, place: Path) -> str:
        entry = open_shared(place).folder.read_lock().skills["notes"]
        assert entry.files == hash_package(
            {path: CopiedFile(data, executable=False) for path, data in skill_files(NEW).items()}
        )
        mark = which(in_sight(tree(place / "work/skills/notes")), skill_files(OLD))
        kept = [in_sight(tree(one.parent / "skill")) for one in place.glob("state/trash/*/*.json")]
        assert mark == "old" or skill_files(OLD) in kept
        return mark


def open_shared(place: Path) -> Sharing:
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(place / "home"), "USER": "ann"}
    runtime = open_runtime(place / "work", home=place / "state", environ=environ)
    return open_sharing(runtime, open_folder(runtime, "project"))


@pytest.mark.parametrize(
    "deed",
    [Shared(), Shared(is_removal=True), Updated(), BroughtBack()],
    ids=["add", "remove", "update", "sync --frozen"],
)
def test_sharing_that_is_killed_at_any_step(quick_folder: Path, deed: Shared) -> None:
    check_kills(kill_everywhere(quick_folder, deed))
