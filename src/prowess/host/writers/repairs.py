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

from prowess.errors import ContainmentError, PathError
from prowess.host.files.state_files import writing_beside

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
    if not _real_parent(target).is_relative_to(workspace.parent.resolve()):
        raise ContainmentError(str(target), "leads out of the workspace through a link.")
    if target.exists() or target.is_symlink():
        return Copied(name=name, target=target, copied=False)
    with _reported(target):
        _copy(origin, target)
    return Copied(name=name, target=target, copied=True)


def replace_text(file: Path, text: str, backups: Path) -> Path:
    """Replace a skill file's text and return where the previous one is kept.

    Raises:
        PathError: the file cannot be written.
    """
    refuse_links(file)
    with _reported(file):
        backup = _back_up(file, backups)
        mode = stat.S_IMODE(file.stat().st_mode)
        with writing_beside(str(file), text.encode(), mode) as name:
            Path(name).replace(file)
    return backup


def rename_folder(folder: Path, name: str) -> Path:
    """Give a skill's folder another name beside its old one.

    Raises:
        PathError: the name is taken or the folder cannot be renamed.
    """
    refuse_links(folder)
    target = folder.with_name(name)
    if target.exists() and not target.samefile(folder):
        raise PathError(str(folder), f"cannot be renamed: {name} exists already.")
    with _reported(folder):
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


def _copy(origin: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".prowess-") as staging:
        staged = Path(staging) / target.name
        if origin.is_dir():
            shutil.copytree(origin, staged, symlinks=True, ignore=_links_and_caches)
        else:
            shutil.copy2(origin, staged)
        staged.rename(target)


def _links_and_caches(folder: str, names: list[str]) -> set[str]:
    return {
        name
        for name in names
        if name == "__pycache__" or os.path.islink(os.path.join(folder, name))
    }


def _back_up(file: Path, backups: Path) -> Path:
    backups.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=backups, prefix=f"{file.parent.name}-", suffix=".md")
    os.close(handle)
    shutil.copyfile(file, name)
    return Path(name)


def _real_parent(path: Path) -> Path:
    parent = path.parent
    while not parent.exists():
        parent = parent.parent
    return parent.resolve()


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PathError(str(path), f"cannot be written: {error.strerror}.") from error
    except UnicodeEncodeError as error:
        problem = "has a name that this locale cannot write: set PYTHONUTF8=1."
        raise PathError(str(path), problem) from error
