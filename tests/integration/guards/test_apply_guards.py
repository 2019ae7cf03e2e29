"""Guards of apply: what is written is what was reviewed, scanned as a whole, all or nothing."""

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from prowess.errors import PathError, QuarantinedError, StaleChangeError
from prowess.host.files import transaction
from prowess.host.writers.change import SkillFolder
from prowess.runtime.workshop.apply import check_change
from prowess.runtime.workshop.ports import FolderLimits
from prowess.safety.model import ScanReport, ScanVerdict
from prowess.safety.paths import content_hash
from prowess.workshop.proposal import Change, change_hash

SKILL = {"SKILL.md": b"# Notes\n", "references/a.md": b"a\n", "scripts/run.sh": b"echo a\n"}
CHANGE: dict[str, bytes | None] = {
    "SKILL.md": b"# New notes\n",
    "references/a.md": None,
    "references/deep/b.md": b"b\n",
    "scripts/run.sh": b"echo b\n",
    "assets/new.txt": b"new\n",
}
NEW = {path: data for path, data in {**SKILL, **CHANGE}.items() if data is not None}


class Stop(BaseException):
    """Stands for a power cut: nothing in the code expects it."""


def clean(_files: Mapping[str, bytes]) -> ScanReport:
    return ScanReport(ScanVerdict.CLEAN, (), ())


def finds_the_pair(files: Mapping[str, bytes]) -> ScanReport:
    """Refuse a text that fetches a file and runs the same file; either alone is harmless."""
    text = b"\n".join(files.values())
    both = b"get https://tool.example.invalid/t" in text and b"start ./t" in text
    return ScanReport(ScanVerdict.QUARANTINE if both else ScanVerdict.CLEAN, (), ())


def put(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def on_disk(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if not path.is_dir()
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put(tmp_path / "skills" / "notes", SKILL)
    return tmp_path / "skills"


def folder_of(root: Path, hook: Callable[[str], None] | None = None) -> SkillFolder:
    return SkillFolder(root, "notes", root.parent / "state", swap_hook=hook)


def make(
    folder: SkillFolder,
    files: Mapping[str, bytes | None],
    scan: Callable[[Mapping[str, bytes]], ScanReport] = clean,
    base: Mapping[str, bytes] = SKILL,
) -> str:
    change = Change("notes", files)
    with folder.lock():
        before = check_change(
            change,
            reviewed_hash=change_hash(change),
            base_hash=content_hash(base),
            folder=folder,
            scan=scan,
        )
        return folder.apply(files, before)


def once(step: str, act: Callable[[], None]) -> Callable[[str], None]:
    """Return a hook that does something the first time a step is reached."""
    done: list[str] = []

    def hook(reached: str) -> None:
        if reached == step and not done:
            done.append(step)
            act()

    return hook


def test_g18_two_harmless_appends_that_make_one_attack_are_refused(root: Path) -> None:
    first, second = b"get https://tool.example.invalid/t\n", b"start ./t\n"
    # A scan of each addition by itself lets both through.
    assert finds_the_pair({"SKILL.md": first}).verdict is ScanVerdict.CLEAN
    assert finds_the_pair({"SKILL.md": second}).verdict is ScanVerdict.CLEAN
    one = SKILL["SKILL.md"] + first
    make(folder_of(root), {"SKILL.md": one}, finds_the_pair)

    with pytest.raises(QuarantinedError):
        make(
            folder_of(root),
            {"SKILL.md": one + second},
            finds_the_pair,
            base={**SKILL, "SKILL.md": one},
        )

    assert (root / "notes/SKILL.md").read_bytes() == one


def test_g18_an_attack_split_over_two_files_is_refused(root: Path) -> None:
    fetch = SKILL["SKILL.md"] + b"get https://tool.example.invalid/t\n"
    make(folder_of(root), {"SKILL.md": fetch}, finds_the_pair)

    with pytest.raises(QuarantinedError):
        make(
            folder_of(root),
            {"references/b.md": b"start ./t\n"},
            finds_the_pair,
            base={**SKILL, "SKILL.md": fetch},
        )

    assert not (root / "notes/references/b.md").exists()


def test_g19_a_skill_that_changed_between_review_and_apply_is_stale(root: Path) -> None:
    def naive(files: Mapping[str, bytes]) -> None:
        put(root / "notes", files)

    edited = b"# Edited by hand\n"
    (root / "notes/SKILL.md").write_bytes(edited)
    naive({"SKILL.md": b"# From an old review\n"})
    assert (root / "notes/SKILL.md").read_bytes() == b"# From an old review\n"  # the edit is lost
    (root / "notes/SKILL.md").write_bytes(edited)

    with pytest.raises(StaleChangeError):
        make(folder_of(root), {"SKILL.md": b"# From an old review\n"})

    assert (root / "notes/SKILL.md").read_bytes() == edited


def test_g19_a_change_that_is_not_the_reviewed_one_is_refused(root: Path) -> None:
    reviewed = change_hash(Change("notes", {"SKILL.md": b"friendly"}))

    with pytest.raises(StaleChangeError):
        check_change(
            Change("notes", {"SKILL.md": b"hostile"}),
            reviewed_hash=reviewed,
            base_hash=content_hash(SKILL),
            folder=folder_of(root),
            scan=clean,
        )

    assert on_disk(root / "notes") == SKILL


def test_g19_a_file_written_between_the_scan_and_the_first_rename_is_noticed(root: Path) -> None:
    other = root / "notes/references/slipped-in.md"
    folder = folder_of(
        root, once("staged", lambda: put(root / "notes", {other.name: b"start ./t"}))
    )

    with pytest.raises(StaleChangeError):
        make(folder, CHANGE)

    assert on_disk(root / "notes") == {**SKILL, other.name: b"start ./t"}


def test_g20_a_file_replaced_by_a_link_is_not_written_through(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_bytes(b"precious")
    target = root / "notes/SKILL.md"
    target.unlink()
    target.symlink_to(outside)
    target.write_bytes(b"naive")
    assert outside.read_bytes() == b"naive"  # a plain write follows the link
    outside.write_bytes(b"precious")

    with pytest.raises(PathError):
        make(folder_of(root), {"SKILL.md": b"new"})

    assert outside.read_bytes() == b"precious"


def at_step(number: int, act: Callable[[], None]) -> Callable[[str], None]:
    """Return a hook that does something at the step of that number."""
    count = iter(range(10_000))

    def hook(_step: str) -> None:
        if next(count) == number:
            act()

    return hook


def test_g20_a_file_swapped_for_a_link_at_any_step_leaves_the_outside_alone(
    quick_folder: Path,
) -> None:
    outside = quick_folder / "outside.txt"
    outside.write_bytes(b"precious")
    ends = set()
    for number in range(100):
        root = quick_folder / str(number) / "skills"
        target = root / "notes/SKILL.md"
        put(root / "notes", {"SKILL.md": b"old"})

        def swap(target: Path = target) -> None:
            target.unlink()
            target.symlink_to(outside)

        try:
            make(
                folder_of(root, at_step(number, swap)),
                {"SKILL.md": b"new"},
                base={"SKILL.md": b"old"},
            )
        except (PathError, StaleChangeError):
            assert target.is_symlink()
            ends.add("refused")
        else:
            ends.add("link" if target.is_symlink() else target.read_text())
        assert outside.read_bytes() == b"precious"

    # Noticed before; or put there after the skill, by then too late.
    assert ends == {"refused", "link"}


@pytest.mark.parametrize("swapped", ["notes", "notes/references", "notes/scripts"])
def test_g20_a_folder_swapped_for_a_link_at_any_step_leaves_the_outside_alone(
    quick_folder: Path, step_count: int, swapped: str
) -> None:
    outside = quick_folder / "outside"
    put(outside, {**SKILL, "a.md": b"a\n", "run.sh": b"echo a\n"})
    before, refused = on_disk(outside), 0
    for number in range(0, step_count, 2):
        root = quick_folder / str(number) / "skills"
        put(root / "notes", SKILL)

        def swap(root: Path = root) -> None:
            (root / swapped).rename(root / "moved-away")
            (root / swapped).symlink_to(outside)

        try:
            make(folder_of(root, at_step(number, swap)), CHANGE)
        except (PathError, StaleChangeError):
            refused += 1
        assert on_disk(outside) == before

    assert refused > 0


def test_g20_a_skill_folder_that_is_a_link_is_not_read(root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (root / "notes").rename(tmp_path / "elsewhere/notes")
    (root / "notes").symlink_to(tmp_path / "elsewhere/notes")

    with pytest.raises(PathError, match="link"):
        folder_of(root).read_all()


def test_g21_a_status_flipped_in_the_state_file_does_not_help(root: Path, tmp_path: Path) -> None:
    attack = SKILL["SKILL.md"] + b"get https://tool.example.invalid/t\nstart ./t\n"
    store = tmp_path / "proposals.json"
    store.write_text(json.dumps({"status": "quarantined", "text": attack.decode()}))

    def naive() -> None:
        stored = json.loads(store.read_text())
        if stored["status"] == "pending":
            (root / "notes/SKILL.md").write_text(stored["text"])

    naive()
    assert on_disk(root / "notes") == SKILL
    store.write_text(store.read_text().replace("quarantined", "pending"))
    naive()
    assert (root / "notes/SKILL.md").read_bytes() == attack  # the stored word was all it took
    put(root / "notes", SKILL)

    with pytest.raises(QuarantinedError):
        make(folder_of(root), {"SKILL.md": attack}, finds_the_pair)

    assert on_disk(root / "notes") == SKILL


def test_a_change_of_several_files_is_made_and_keeps_permissions(root: Path) -> None:
    (root / "notes/scripts/run.sh").chmod(0o755)
    folder = folder_of(root)

    applied = make(folder, CHANGE)

    assert on_disk(root / "notes") == NEW
    assert folder.read_all() == NEW
    assert (root / "notes/scripts/run.sh").stat().st_mode & 0o777 == 0o755
    assert folder.previous(applied) == {path: SKILL.get(path) for path in CHANGE}


def test_the_way_back_is_a_change_like_any_other(root: Path) -> None:
    folder = folder_of(root)
    applied = make(folder, CHANGE)

    make(folder, folder.previous(applied), base=NEW)

    assert on_disk(root / "notes") == SKILL


def test_a_skill_is_made_where_there_was_none(tmp_path: Path) -> None:
    root = tmp_path / "workspace/skills"

    make(folder_of(root), NEW, base={})

    assert on_disk(root / "notes") == NEW


def _steps(root: Path) -> int:
    """Count the steps of the change on a copy."""
    steps: list[str] = []
    make(folder_of(root, steps.append), CHANGE)
    return len(steps)


@pytest.fixture(scope="module")
def step_count(tmp_path_factory: pytest.TempPathFactory) -> int:
    root = tmp_path_factory.mktemp("count") / "skills"
    put(root / "notes", SKILL)
    return _steps(root)


def test_a_failure_at_any_step_leaves_the_old_skill_or_the_new_one(
    quick_folder: Path, step_count: int
) -> None:
    for number in range(step_count):
        root = quick_folder / str(number) / "skills"
        put(root / "notes", SKILL)
        count = iter(range(10_000))

        def hook(_step: str, number: int = number, count: Iterator[int] = count) -> None:
            if next(count) == number:
                raise Stop

        with pytest.raises(Stop):
            make(folder_of(root, hook), CHANGE)

        assert on_disk(root / "notes") in (SKILL, NEW), number
        make(folder_of(root), {"SKILL.md": b"next\n"}, base=on_disk(root / "notes"))


def test_a_writer_that_is_cut_off_never_leaves_a_mix_for_anybody_to_settle(
    quick_folder: Path, step_count: int
) -> None:
    for number in range(step_count):
        root = quick_folder / str(number) / "skills"
        put(root / "notes", SKILL)
        count = iter(range(10_000))

        def hook(_step: str, number: int = number, count: Iterator[int] = count) -> None:
            # From here on nothing works any more, the clearing away included.
            if next(count) >= number:
                raise Stop

        with pytest.raises(Stop):
            make(folder_of(root, hook), CHANGE)
        assert on_disk(root / "notes") in (SKILL, NEW), number

        folder = folder_of(root)
        with folder.lock():
            assert folder.read_all() in (SKILL, NEW), number
        assert [path.name for path in root.iterdir()] == ["notes"], number


def test_what_somebody_writes_in_the_last_moment_stays_and_the_change_does_not(root: Path) -> None:
    def edit() -> None:
        # The folder has been exchanged by now, and whoever held the old file still writes to it.
        (hidden,) = root.glob(".prowess-*/*/references/a.md")
        hidden.write_bytes(b"mine\n")

    with pytest.raises(StaleChangeError):
        make(folder_of(root, once("swapped", edit)), CHANGE)

    assert on_disk(root / "notes") == {**SKILL, "references/a.md": b"mine\n"}


def test_where_folders_cannot_be_exchanged_a_change_comes_to_its_end_with_the_next_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "_rename_function", lambda: None)
    for step in ("ready", "gone", "published"):
        root = tmp_path / step / "skills"
        put(root / "notes", SKILL)

        with pytest.raises(Stop):
            make(folder_of(root, _dead_from(step)), CHANGE)
        assert on_disk(root / "notes") in (SKILL, NEW, {}), step

        with folder_of(root).lock():
            pass
        assert on_disk(root / "notes") == NEW
        assert [path.name for path in root.iterdir()] == ["notes"]


_ON_LAYERS = """
    set -e
    mkdir -p lower/skills upper work merged
    mv notes lower/skills/notes
    mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged
    {python} - gone <<'END' || test $? = 9
{script}
END
    test ! -e merged/skills/notes/SKILL.md
    {python} - never <<'END'
{script}
END
    cp -r merged/skills/notes notes
"""
_MAKE = """
import os, sys
sys.path.insert(0, {tests!r})
import test_apply_guards as guards
from pathlib import Path
from prowess.safety.paths import content_hash

root = Path("merged/skills")
folder = guards.folder_of(root, lambda step: os._exit(9) if step == sys.argv[1] else None)
with folder.lock():
    if folder.read_all() == guards.SKILL:
        folder.apply(guards.CHANGE, content_hash(guards.SKILL))
"""


def test_a_skill_from_the_layer_of_an_image_is_changed_as_a_whole_too(tmp_path: Path) -> None:
    put(tmp_path / "notes", SKILL)
    script = _MAKE.format(tests=str(Path(__file__).parent))
    shell = _ON_LAYERS.format(python=sys.executable, script=script)
    alone = ["unshare", "-Urm", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*alone, ":"], check=False).returncode:
        pytest.skip("nobody may mount layers here")

    done = subprocess.run([*alone, shell], cwd=tmp_path, capture_output=True, check=False)

    assert done.returncode == 0, done.stderr.decode()
    assert on_disk(tmp_path / "notes") == NEW


def _dead_from(step: str) -> Callable[[str], None]:
    dead: list[str] = []

    def hook(reached: str) -> None:
        if dead or reached == step:
            dead.append(reached)
            raise Stop

    return hook


def test_a_change_keeps_folders_permissions_and_what_is_empty(root: Path) -> None:
    (root / "notes/scripts").chmod(0o700)
    (root / "notes/assets").mkdir(mode=0o750, exist_ok=True)
    (root / "notes").chmod(0o711)

    make(folder_of(root), {"SKILL.md": b"next\n"})

    modes = {
        path: (root / path).stat().st_mode & 0o777
        for path in ("notes", "notes/scripts", "notes/assets")
    }
    assert modes == {"notes": 0o711, "notes/scripts": 0o700, "notes/assets": 0o750}


def test_what_a_killed_writer_left_in_a_skill_is_no_part_of_it(root: Path) -> None:
    (root / "notes/references/.prowess-0123456789abcdef.tmp").write_bytes(b"half")

    make(folder_of(root), CHANGE)

    assert on_disk(root / "notes") == NEW


def test_a_skill_removed_after_a_crash_stays_removed(root: Path) -> None:
    def die(step: str) -> None:
        if died or step == "staged":
            died.append(step)
            raise Stop

    died: list[str] = []
    with pytest.raises(Stop):
        make(folder_of(root, die), CHANGE)
    (root / "notes").rename(root / "kept-elsewhere")

    with folder_of(root).lock():
        assert folder_of(root).read_all() == {}

    assert not (root / "notes").exists()


def test_a_second_writer_waits_and_then_finds_its_change_stale(root: Path) -> None:
    reached, go_on = threading.Event(), threading.Event()
    failed: list[Exception] = []

    def wait() -> None:
        reached.set()
        assert go_on.wait(100)

    def second() -> None:
        try:
            make(folder_of(root), {"SKILL.md": b"second\n"})
        except StaleChangeError as error:
            failed.append(error)

    first = threading.Thread(
        target=make, args=(folder_of(root, once("staged", wait)), {"SKILL.md": b"first\n"})
    )
    first.start()
    assert reached.wait(60)
    other = threading.Thread(target=second)
    other.start()
    other.join(0.2)
    assert other.is_alive()
    assert (root / "notes/SKILL.md").read_bytes() == SKILL["SKILL.md"]
    go_on.set()
    first.join()
    other.join()

    assert (root / "notes/SKILL.md").read_bytes() == b"first\n"
    assert len(failed) == 1


def test_another_process_waits_for_the_lock(root: Path, tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from prowess.host.writers.change import SkillFolder\n"
        "print('waiting', flush=True)\n"
        "with SkillFolder(Path(sys.argv[1]), 'notes', Path(sys.argv[2])).lock():\n"
        "    print('in', flush=True)\n"
    )
    with folder_of(root).lock():
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(root), str(tmp_path / "state")],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert child.stdout is not None
        assert child.stdout.readline() == "waiting\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.3)

    assert child.communicate(timeout=60)[0] == "in\n"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "/", "CON", "a\0b", "x\u202ey"])
def test_a_skill_folder_is_one_plain_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(PathError):
        SkillFolder(tmp_path, name, tmp_path / "state")


@pytest.mark.parametrize("path", ["../other/SKILL.md", "/etc/x", "a/../../b", "references\\..\\x"])
def test_the_folder_itself_refuses_a_path_that_leaves_it(root: Path, path: str) -> None:
    folder = folder_of(root)

    with folder.lock(), pytest.raises(PathError):
        folder.apply({path: b"x"}, content_hash(SKILL))

    assert on_disk(root) == {f"notes/{name}": data for name, data in SKILL.items()}


def test_a_link_inside_the_skill_is_refused_and_not_left_out(root: Path) -> None:
    (root / "notes/references/link.md").symlink_to("/etc/hostname")

    with pytest.raises(PathError, match="link"):
        folder_of(root).read_all()


def test_more_than_the_limits_is_refused_and_not_read_in_part(root: Path) -> None:
    folder = folder_of(root)

    for limits in (FolderLimits(max_files=2), FolderLimits(max_bytes=9), FolderLimits(max_depth=1)):
        with pytest.raises(PathError):
            folder.read_all(limits)


def test_only_the_last_changes_are_kept(root: Path, tmp_path: Path) -> None:
    folder, files = folder_of(root), dict(SKILL)
    first = make(folder, {"SKILL.md": b"first\n"})
    files["SKILL.md"] = b"first\n"

    for number in range(22):
        text = f"{number}\n".encode()
        last = make(folder, {"SKILL.md": text}, base=files)
        files["SKILL.md"] = text

    assert folder.previous(last) == {"SKILL.md": b"20\n"}
    with pytest.raises(PathError):
        folder.previous(first)
    assert len(list(tmp_path.rglob("record.json"))) == 20
