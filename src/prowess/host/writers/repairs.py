"""Copies, repairs and renames skills under a root, for the terminal.

Changes that were reviewed go through `change`, removals through `trash`, drafts through `drafts`,
copies for a sandbox through `sync`, and builds for others through `export`; nothing else writes
under a skills root.

Every write goes to a temporary place in the same folder, is flushed, and then takes its name in one
step: a power cut leaves the old state or the new one.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prowess.errors import ContainmentError, PathError, explain_failure
from prowess.host.files.containment import Root
from prowess.host.files.state_files import writing_beside
from prowess.host.files.transaction import RootPlace, copy_over, move, staging

_SYSTEM_PARTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What became of one skill that was to be copied."""

    name: str
    target: Path
    copied: bool


def copy_skill(name: str, file: Path, root: Path, workspace: Path) -> Copied:
    """Copy the bundled skill in `file` to the same place below `workspace`; never over anything.

    Raises:
        PathError: the skill cannot be copied, or would leave either folder.
    """
    origin = file.parent if file.name.lower() == "skill.md" else file
    try:
        target = workspace / origin.resolve().relative_to(root.resolve())
    except ValueError as error:
        raise ContainmentError(str(origin), "is not one of the bundled skills.") from error
    # A linked `skills` folder would carry the copy out of the workspace.
    if not _find_parent(target).is_relative_to(workspace.parent.resolve()):
        raise ContainmentError(str(target), "leads out of the workspace through a link.")
    if target.exists() or target.is_symlink():
        return Copied(name=name, target=target, copied=False)
    relative = target.relative_to(workspace).as_posix()

    def is_left_out(path: str) -> bool:
        return path.rpartition("/")[2] == "__pycache__" or (origin / path).is_symlink()

    with (
        _report_problems(target),
        Root.open(root) as source,
        Root.open(workspace, create=True) as skills,
        staging(skills) as folder,
    ):
        copied = RootPlace(skills, f"{folder}/{target.name}")
        copy_over(RootPlace(source, relative), copied, is_left_out)
        if target.parent != workspace:
            skills.make_folder(os.path.dirname(relative))
        move(skills, copied.relative, relative)
    return Copied(name=name, target=target, copied=True)


def replace_text(file: Path, text: str, backups: Path) -> Path:
    """Replace a skill file's text and return where the previous one is kept.

    Raises:
        PathError: the file cannot be written.
    """
    refuse_links(file)
    with _report_problems(file):
        backup = _back_up(file, backups)
        mode = stat.S_IMODE(file.stat().st_mode)
        with writing_beside(str(file), text.encode(), mode) as name:
            Path(name).replace(file)
    return backup


def move_text(file: Path, name: str, before: str, after: str, backups: Path) -> tuple[Path, Path]:
    """Move a stand-alone text to a folder of its own beside it; never over anything.

    Args:
        file: the text as it lies there.
        name: of the new folder.
        before: what it must still say.
        after: what its SKILL.md will say.
        backups: where the old text is kept.

    Returns:
        The new file, and the copy of the old one.

    Raises:
        PathError: the folder exists, the text changed meanwhile, or it cannot be written.
    """
    refuse_links(file)
    target = file.parent / name
    if target.exists() or target.is_symlink():
        raise PathError(str(file), f"is not moved: {target} exists already.")
    with _report_problems(file):
        if file.read_bytes() != before.encode():
            raise PathError(str(file), "is not moved: it changed meanwhile.")
        backup = _back_up(file, backups)
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=".prowess-") as staging:
            staged = Path(staging) / name
            staged.mkdir()
            mode = stat.S_IMODE(file.stat().st_mode)
            with writing_beside(str(staged / "SKILL.md"), after.encode(), mode) as written:
                Path(written).replace(staged / "SKILL.md")
            staged.rename(target)
        file.unlink()
    return target / "SKILL.md", backup


def rename_folder(folder: Path, name: str) -> Path:
    """Give a skill's folder another name beside its old one.

    Raises:
        PathError: the name is taken or the folder cannot be renamed.
    """
    refuse_links(folder)
    target = folder.with_name(name)
    if target.exists() and not target.samefile(folder):
        raise PathError(str(folder), f"cannot be renamed: {name} exists already.")
    with _report_problems(folder):
        folder.rename(target)
    return target


def refuse_links(path: Path) -> None:
    """Refuse a path with a link in it: only what lies where it seems to lie is written to.

    Raises:
        ContainmentError: some step below the home, the current folder or the top is a link.
    """
    trusted = {Path.cwd(), Path.home(), Path.home().resolve()}
    step = path.absolute()
    # The first step below the top is the system's own: some keep /tmp behind a link.
    while len(step.parts) > _SYSTEM_PARTS and step not in trusted:
        if step.is_symlink():
            raise ContainmentError(str(path), "is reached through a link, so it is not repaired.")
        step = step.parent


def _back_up(file: Path, backups: Path) -> Path:
    backups.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=backups, prefix=f"{file.parent.name}-", suffix=".md")
    os.close(handle)
    shutil.copyfile(file, name)
    return Path(name)


def _find_parent(path: Path) -> Path:
    parent = path.parent
    while not parent.exists():
        parent = parent.parent
    return parent.resolve()


@contextmanager
def _report_problems(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PathError(str(path), f"cannot be written: {explain_failure(error)}.") from error
    except UnicodeEncodeError as error:
        problem = "has a name that this locale cannot write: set PYTHONUTF8=1."
        raise PathError(str(path), problem) from error
