"""The files of a skill that the scanner lets pass, with the very bytes that it looked at.

`SkillTexts` judges a skill and gives out its texts; here the same judgement gives out all files. A
skill is read from the disk once for both, so that nobody can exchange a file in between.
"""

import posixpath
import threading
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from prowess.errors import PathError
from prowess.mcp.manifest import MOST_FILE_BYTES, is_served
from prowess.runtime.scan import ScanService, Target
from prowess.runtime.skill_texts import MOST_CHARS, SkillFiles, SkillText, SkillTexts, inner_path
from prowess.skills.model import Skill


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """Part of a text, as much as is given out at once."""

    read: SkillText
    text: str
    # Where the rest begins; None where there is none.
    rest: int | None
    # Every file of the skill, relative to its folder.
    paths: tuple[str, ...]


# No error of Prowess: it is caught near by, and who asked is answered anew.
class ChangedMeanwhile(Exception):  # noqa: N818
    """A skill's own file changed since anybody looked."""


class ScannedSkills:
    """Reads skills, and hands out what the scanner lets pass."""

    def __init__(self, files: SkillFiles, scanning: Callable[[], ScanService]) -> None:
        self._files = files
        self._texts = SkillTexts(self, scanning)
        # What this thread has just read: `SkillTexts` asks for it through `target`.
        self._held = threading.local()

    def target(self, skill: Skill) -> Target:
        """Return what was read of a skill; for `SkillTexts` alone."""
        held: Target = getattr(self._held, "target", None) or self._files.target(skill)
        return held

    def whole(self, skill: Skill) -> Target:
        """Return all of a skill.

        Raises:
            UnsafeSkillError: the scanner refuses the skill, or could not read it.
        """
        target = self._held.target = self._files.target(skill)
        try:
            self._texts.check(skill)
        finally:
            self._held.target = None
        return target

    def content(self, skill: Skill, path: str) -> bytes:
        """Return one file of a skill as it is, within the same limits as any other.

        Raises:
            UnsafeSkillError: the scanner refuses the skill, or could not read it.
            PathError: there is no such file in it, or none that is given out.
        """
        inner = inner_path(skill, path)
        found = self.whole(skill).files.get(inner) if inner and is_served(inner) else None
        if found is None or len(found) > MOST_FILE_BYTES:
            raise PathError(path, f"is no file of {skill.name} that is given out.")
        return found

    def text(self, skill: Skill, path: str = "", start: int = 0) -> TextPart:
        """Return the instructions of a skill or one of its files, from one character on.

        Its own file, asked for by its path, comes whole, with its frontmatter.

        Raises:
            UnsafeSkillError: the scanner refuses the skill, or could not read it.
            PathError: there is no such file in it, or none that is given out.
            ChangedMeanwhile: the skill's own file is not what it was when the skill was found.
        """
        inner = inner_path(skill, path)
        if inner and not is_served(inner):
            raise PathError(path, f"is no part of {skill.name}: names with a dot are left out.")
        if path and not inner and not _is_own(skill, path):
            raise PathError(path, f"is a folder: give a file of {skill.name}.")
        target = self._held.target = self._files.target(skill)
        try:
            read = self._texts.read(skill, inner)
        finally:
            self._held.target = None
        everything = _everything(skill, target, inner) if path else skill.body
        end = start + MOST_CHARS
        return TextPart(
            read=read,
            text=everything[start:end],
            rest=end if end < len(everything) else None,
            paths=tuple(sorted(name for name in target.files if is_served(name))),
        )


def _is_own(skill: Skill, path: str) -> bool:
    """Return whether a path that leads to the skill itself names its file, and not its folder."""
    name = posixpath.basename(posixpath.normpath(path.replace("\\", "/")))
    return name.lower() == posixpath.basename(skill.path).lower()


def _everything(skill: Skill, target: Target, inner: str) -> str:
    if inner:
        return target.files[inner].decode("utf-8", "replace")
    page = target.files.get(posixpath.basename(skill.path), b"")
    # What was scanned is the skill that was found: another text in its place was not looked at.
    if sha256(page).hexdigest() != skill.content_hash:
        raise ChangedMeanwhile
    return page.decode("utf-8", "replace")
