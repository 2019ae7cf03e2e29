"""What is served of a skill: its frontmatter, and every file with its size and digest.

A manifest is complete or there is none. Where a file was left out by who read the folder (a link, a
device, something too large), or where there is more than every client must take, the skill is
`dynamic`: a client then knows that it cannot check it. What begins with a dot is the machinery of
editors, of version control and of secrets, and no part of a skill.

How a skill stands in an answer for a model: inside an element that says whose words these are.

A skill cannot close its element: whatever would do so is defused, after what cannot be seen was
taken out of it, since that could hide a tag from who looks first. Names of files count, too.

The files of a skill that the scanner lets pass, with the very bytes that it looked at.

`SkillTexts` judges a skill and gives out its texts; here the same judgement gives out all files. A
skill is read from the disk once for both, so that nobody can exchange a file in between.
"""

import json
import posixpath
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from prowess.errors import PathError
from prowess.mcp.protocol import SKILL_FILE, file_uri
from prowess.runtime.scan import ScanService, Target
from prowess.runtime.skill_texts import MOST_CHARS, SkillFiles, SkillText, SkillTexts, inner_path
from prowess.safety.intake.ledger import Limits
from prowess.safety.model import LedgerEntry
from prowess.skills.model import Fields, Skill
from prowess.skills.prompt import escape
from prowess.skills.text import clean, one_line

_TAG = re.compile(r"<(?=[\s/]{0,40}(?:remote_)?skill(?![\w-]))", re.IGNORECASE)
_DEFUSED = "&lt;"


def framed(element: str, attributes: Mapping[str, str], text: str) -> str:
    """Return a text as the content of an element, `skill` or `remote_skill`."""
    given = "".join(f' {name}="{escape(one_line(value))}"' for name, value in attributes.items())
    return f"<{element}{given}>\n{_TAG.sub(_DEFUSED, clean(text))}\n</{element}>"


MOST_FILES, MOST_BYTES = 512, 16 * 1024 * 1024
# A longer file was not read to its end.
MOST_FILE_BYTES = Limits().file_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """One file, as a client can check it."""

    uri: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFacts:
    """One skill as it is listed: a page of them must not hold the bytes of all their files."""

    name: str
    frontmatter: Fields
    # The size of SKILL.md.
    size: int
    # Every file of the skill; None where no complete list can be given.
    resources: tuple[FileFacts, ...] | None

    @property
    def uri(self) -> str:
        """The address of the skill: its SKILL.md."""
        return file_uri(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedSkill:
    """One skill, read and scanned, with the bytes that were scanned."""

    name: str
    frontmatter: Fields
    # By their paths inside the skill; `SKILL.md` is always there.
    files: Mapping[str, bytes] = field(repr=False)
    # False where the files are not all that belongs to the skill.
    whole: bool

    @property
    def facts(self) -> SkillFacts:
        """What is listed of it."""
        files = (facts(file_uri(self.name, path), self.files[path]) for path in self.files)
        return SkillFacts(
            name=self.name,
            frontmatter=self.frontmatter,
            size=len(self.files[SKILL_FILE]),
            resources=tuple(files) if self.whole else None,
        )


def facts(uri: str, content: bytes) -> FileFacts:
    """Return what a client checks a file by."""
    return FileFacts(uri=uri, digest=digest(content), size=len(content))


def digest(content: bytes) -> str:
    """Return the digest of some bytes, as manifests spell it."""
    return f"sha256:{sha256(content).hexdigest()}"


def is_served(path: str) -> bool:
    """Return whether a file counts as part of a skill."""
    return not any(part.startswith(".") for part in path.split("/"))


def addressed_name(skill: Skill) -> str | None:
    """Return the name in a skill's address, None where it has no SKILL.md that says one.

    Commands and rules of other harnesses are single files without a name in them: tools and prompts
    reach those.
    """
    name = skill.fields.get("name")
    is_skill_file = posixpath.basename(skill.path).lower() == SKILL_FILE.lower()
    if not is_skill_file or not isinstance(name, str) or not name.strip():
        return None
    return name if _is_text(name) and _is_json(skill.fields) else None


def served(skill: Skill, target: Target) -> ServedSkill | None:
    """Return what is served of a skill that was read; None where it is not what it was.

    The entry of a skill comes from its snapshot and its files from the disk: where the two do not
    belong together any more, the snapshot is old.
    """
    name, own = addressed_name(skill), posixpath.basename(skill.path)
    page = target.files.get(own)
    if name is None or page is None or sha256(page).hexdigest() != skill.content_hash:
        return None
    others = {path: target.files[path] for path in sorted(target.files) if path != own}
    files = {SKILL_FILE: page}
    files |= {path: content for path, content in others.items() if _can_serve(path, content)}
    left_out = any(is_served(path) and path not in files for path in others)
    whole = not left_out and not any(_matters(entry) for entry in target.refused)
    is_small = len(files) <= MOST_FILES and sum(map(len, files.values())) <= MOST_BYTES
    return ServedSkill(name=name, frontmatter=skill.fields, files=files, whole=whole and is_small)


def _matters(entry: LedgerEntry) -> bool:
    # What was not read at all is told of the folder itself.
    return entry.path == "." or is_served(entry.path)


def _can_serve(path: str, content: bytes) -> bool:
    # Another spelling of the skill's own file would be the same file to some systems.
    is_double = path.lower() == SKILL_FILE.lower()
    fits = len(content) <= MOST_FILE_BYTES and _is_text(path)
    return fits and not is_double and is_served(path)


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_json(fields: Fields) -> bool:
    """Return whether frontmatter can be sent as it is: not every YAML number is one of JSON."""
    try:
        json.dumps(fields, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return True


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
