"""What breaks while a proposal is written: the process, the disk, a link, somebody else's edit."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from prowess.errors import ProposalFolderError, ProposalStaleError, ProposalStateError, StoreError
from prowess.host.store.database import open_file
from prowess.host.store.proposals import StoredProposals
from prowess.host.writers.change import SkillFolder
from prowess.runtime.workshop.ports import WorkshopPorts
from prowess.runtime.workshop.service import WorkshopService
from prowess.safety.model import ScanReport, ScanVerdict
from prowess.settings import WorkshopSettings
from prowess.workshop.proposal import EventKind, Proposal, ProposalEvent, State

Hook = Callable[[str], None]
PAGE = b"---\nname: notes\ndescription: d\n---\n# Notes\r\n\r\n## Workflow\n\n- One.\n"
OLD = {"SKILL.md": PAGE, "references/kept.md": b"kept"}
# The ends that a write can come to, and which files and which state belong to each.
ENDS = (EventKind.APPLIED, EventKind.ROLLED_BACK, EventKind.INTERRUPTED, EventKind.CREATED)


def clean(_skill: str, _files: Mapping[str, bytes]) -> ScanReport:
    return ScanReport(ScanVerdict.CLEAN, (), ())


class Place:
    """A workshop on real folders and the real store; `hook` is called at each step of a write."""

    def __init__(self, base: Path, hook: Hook | None = None, most: int = 40_000) -> None:
        self.base, self.work = base, base / "work"
        self.notes = self.work / "skills/notes"
        store = StoredProposals(open_file(str(base / "state/prowess.db")))
        ticks = iter(range(1, 1_000_000))
        self.workshop = WorkshopService(
            WorkshopPorts(
                settings=lambda: WorkshopSettings(selected=True, max_skill_bytes=most),
                workspace=lambda _agent: str(self.work),
                store=store,
                folder=lambda workspace, skill, _place: SkillFolder(
                    Path(workspace) / "skills", skill, base / "state", swap_hook=hook
                ),
                scan=clean,
                route=lambda _message, _agent: None,
                refresh=lambda: None,
                now=lambda: float(next(ticks)),
                new_id=lambda skill: f"{skill}-{len(store.listed(str(self.work)))}",
                show=lambda answer: {"answer": answer},
            )
        )

    def begin(self, files: Mapping[str, bytes] = OLD) -> "Place":
        """Let the skill exist."""
        for path, body in files.items():
            (self.notes / path).parent.mkdir(parents=True, exist_ok=True)
            (self.notes / path).write_bytes(body)
        return self

    def suggest(self, body: str = "- Two.") -> Proposal:
        """Propose an addition, with a support file."""
        call = self.workshop.call
        call({"action": "suggest", "skillName": "notes", "section": "Workflow", "body": body})
        call(
            {"action": "write_support_file", "skillName": "notes", "body": "new",
             "relativePath": "references/new.md"}
        )  # fmt: skip
        return self.workshop.list()[0]

    def files(self) -> dict[str, bytes]:
        """Return what is on the disk, whatever it is."""
        return {
            path.relative_to(self.notes).as_posix(): path.read_bytes()
            for path in sorted(self.notes.rglob("*"))
            if path.is_file()
        }

    def last(self, proposal: Proposal) -> ProposalEvent:
        """Return the last thing that happened to a proposal, whatever else did."""
        found = self.workshop.history(proposal.id).events
        return next(event for event in reversed(found) if event.kind in ENDS)


def new_files(proposal: Proposal, old: Mapping[str, bytes] = OLD) -> dict[str, bytes]:
    return {**old, **{path: body for path, body in proposal.change.files.items() if body}}


def at_step(number: int, act: Callable[[], None]) -> Hook:
    """Return a hook that does something at the step of that number."""
    count = iter(range(100_000))

    def hook(_step: str) -> None:
        if next(count) == number:
            act()

    return hook


def once(step: str, act: Callable[[], None]) -> Hook:
    """Return a hook that does something the first time a step is reached."""
    done: list[str] = []

    def hook(reached: str) -> None:
        if reached == step and not done:
            done.append(step)
            act()

    return hook


def test_a_write_that_lasted_without_its_record_is_recorded_with_a_way_back(tmp_path: Path) -> None:
    place = Place(tmp_path).begin()
    proposal = place.suggest()
    folder = SkillFolder(place.work / "skills", "notes", tmp_path / "state")
    with folder.lock():
        folder.apply(proposal.change.files, proposal.base_hash)

    # Nothing was noted, as after a power cut that took the note along.
    applied = place.workshop.apply(proposal.id)

    assert applied.state is State.APPLIED
    assert place.last(proposal).note == "was written before"
    place.workshop.rollback(proposal.id)
    assert place.files() == OLD


def test_who_comes_in_the_middle_of_a_write_waits_and_is_told(tmp_path: Path) -> None:
    place = Place(tmp_path).begin()
    proposal = place.suggest()
    told: list[object] = []

    def come() -> None:
        try:
            told.append(Place(tmp_path).workshop.apply(proposal.id))
        except ProposalStateError as error:
            told.append(str(error))

    second = threading.Thread(target=come)

    Place(tmp_path, once("staged", second.start)).workshop.apply(proposal.id)
    second.join(100)

    assert told == ["applied proposal cannot be applied"]


def test_two_proposals_for_one_skill_do_not_undo_each_other(tmp_path: Path) -> None:
    place = Place(tmp_path).begin()
    first = place.suggest("- Two.")
    place.workshop.call(
        {"action": "suggest", "skillName": "notes", "section": "Workflow", "body": "- Three."}
    )
    second = next(one for one in place.workshop.list() if one.id != first.id)
    other = threading.Thread(target=lambda: Place(tmp_path).workshop.apply(second.id))

    Place(tmp_path, once("noted", other.start)).workshop.apply(first.id)
    other.join(100)

    assert {one.state for one in place.workshop.list()} == {State.APPLIED}
    page = (place.notes / "SKILL.md").read_text()
    assert "- Two." in page
    assert "- Three." in page


@pytest.fixture
def small_files() -> Iterator[Callable[[int], None]]:
    """Refuse files above a size, as a full disk does: in the middle of a write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_file_that_does_not_fit_is_said_and_nothing_is_lost(
    tmp_path: Path, small_files: Callable[[int], None]
) -> None:
    place = Place(tmp_path, most=1_000_000).begin()
    proposal = place.suggest("- Long. " * 60_000)
    small_files(200_000)

    with pytest.raises(ProposalFolderError, match=r"^notes/SKILL.md: cannot be written: File too"):
        place.workshop.apply(proposal.id)

    small_files(resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    assert place.files() == OLD
    assert place.workshop.inspect(proposal.id) == proposal
    assert place.last(proposal).kind is EventKind.INTERRUPTED
    place.workshop.apply(proposal.id)
    assert place.files() == new_files(proposal)


def test_a_store_that_cannot_grow_is_said_and_nothing_is_written(
    tmp_path: Path, small_files: Callable[[int], None]
) -> None:
    place = Place(tmp_path).begin()
    proposal = place.suggest()
    small_files(1_000)

    with pytest.raises(StoreError, match="cannot be used"):
        place.workshop.apply(proposal.id)

    small_files(resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    assert place.files() == OLD
    assert place.workshop.inspect(proposal.id) == proposal
    place.workshop.apply(proposal.id)
    assert place.files() == new_files(proposal)


def test_a_disk_that_is_full_from_any_step_on_leaves_the_old_or_the_new(quick_folder: Path) -> None:
    ends = set()
    for number in range(0, 400, 9):
        place = Place(quick_folder / str(number)).begin()
        proposal = place.suggest()
        broken = Place(quick_folder / str(number), at_step(number, _no_space)).workshop

        with suppress(ProposalFolderError, OSError):
            broken.apply(proposal.id)

        state = place.workshop.inspect(proposal.id).state
        found = place.files()
        assert found == (new_files(proposal) if state is State.APPLIED else OLD), number
        ends.add(state)
    assert ends == {State.APPLIED, State.PENDING}


def _no_space() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


_READ_ONLY = """
    import json, os, sys
    from pathlib import Path
    sys.path[:0] = [{tests!r}, {root!r}]
    import test_workshop_faults as faults

    base = Path(sys.argv[1])
    place = faults.Place(base).begin()
    proposal = place.suggest()
    for folder in [base, *base.rglob("*")]:
        is_state = folder.is_relative_to(base / "state")
        folder.chmod((0o777 if folder.is_dir() else 0o666) if is_state else
                     (0o555 if folder.is_dir() else 0o444))
    if os.geteuid() == 0:
        os.seteuid(65534)
    try:
        place.workshop.apply(proposal.id)
        told = "applied"
    except faults.ProposalFolderError as error:
        told = str(error)
    state = place.workshop.inspect(proposal.id).state.value
    files = {{path: body.decode() for path, body in place.files().items()}}
    last = place.last(proposal).kind.value
    if os.getuid() == 0:
        os.seteuid(0)
    for folder in [base, *base.rglob("*")]:
        folder.chmod(0o777)
    print(json.dumps([told, state, files, last]))
"""


def test_a_folder_that_cannot_be_written_is_said_and_the_proposal_stays() -> None:
    here = Path(__file__)
    script = textwrap.dedent(_READ_ONLY).format(tests=str(here.parent), root=str(here.parents[2]))

    # Not the test's own folder: another user, which root becomes here, may not pass that.
    with tempfile.TemporaryDirectory() as base:
        done = subprocess.run(
            [sys.executable, "-c", script, base], capture_output=True, text=True, check=False
        )

    assert done.returncode == 0, done.stderr
    told, state, files, last = json.loads(done.stdout)
    assert "Permission denied" in told
    assert state == "pending"
    assert files == {path: body.decode() for path, body in OLD.items()}
    assert last == "interrupted"


@pytest.mark.parametrize("linked", ["notes", "notes/SKILL.md", "notes/references"])
def test_a_link_in_place_of_the_target_is_not_followed(tmp_path: Path, linked: str) -> None:
    place = Place(tmp_path).begin()
    proposal = place.suggest()
    target, outside = place.work / "skills" / linked, tmp_path / "outside"
    target.rename(outside)
    target.symlink_to(outside)
    before = {path: path.read_bytes() for path in [outside, *outside.rglob("*")] if path.is_file()}

    with pytest.raises(ProposalFolderError, match="link"):
        place.workshop.apply(proposal.id)

    assert before == {path: path.read_bytes() for path in before}
    assert place.workshop.inspect(proposal.id).state is State.PENDING


@pytest.mark.parametrize("step", ["noted", "staged"])
def test_a_page_that_changes_in_the_middle_of_the_write_wins(tmp_path: Path, step: str) -> None:
    place = Place(tmp_path).begin()
    proposal = place.suggest()

    def edit() -> None:
        (place.notes / "SKILL.md").write_bytes(PAGE + b"- Mine.\n")

    with pytest.raises(ProposalStaleError, match="changed while"):
        Place(tmp_path, once(step, edit)).workshop.apply(proposal.id)

    assert place.files() == {**OLD, "SKILL.md": PAGE + b"- Mine.\n"}
    assert place.workshop.inspect(proposal.id).state is State.STALE


def test_a_page_that_changes_in_the_middle_of_a_rollback_wins(tmp_path: Path) -> None:
    place = Place(tmp_path).begin()
    proposal = place.suggest()
    place.workshop.apply(proposal.id)
    edited = {**new_files(proposal), "SKILL.md": b"by hand"}

    def edit() -> None:
        (place.notes / "SKILL.md").write_bytes(b"by hand")

    with pytest.raises(ProposalStaleError, match="changed while"):
        Place(tmp_path, once("staged", edit)).workshop.rollback(proposal.id)

    assert place.files() == edited
    assert place.workshop.inspect(proposal.id).state is State.APPLIED
    assert place.last(proposal).kind is EventKind.INTERRUPTED


def test_who_rejects_what_is_being_written_finds_in_the_log_that_it_was_too_late(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path).begin()
    proposal = place.suggest()
    found = place.workshop.inspect(proposal.id)
    store = StoredProposals(open_file(str(tmp_path / "state/prowess.db")))

    def reject() -> None:
        assert store.change(found, replace(found, state=State.REJECTED), EventKind.REJECTED)

    Place(tmp_path, once("staged", reject)).workshop.apply(proposal.id)

    assert place.workshop.inspect(proposal.id).state is State.APPLIED
    assert place.last(proposal).note == "was rejected"


def test_a_rollback_of_a_new_skill_leaves_no_folder_behind(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.work / "skills").mkdir(parents=True)
    call = {"action": "suggest", "skillName": "notes", "description": "d", "body": "- One."}
    place.workshop.call({**call, "apply": True})
    (proposal,) = place.workshop.list()

    place.workshop.rollback(proposal.id)

    assert list((place.work / "skills").iterdir()) == []
