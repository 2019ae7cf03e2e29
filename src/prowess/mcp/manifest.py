"""What is served of a skill: its frontmatter, and every file with its size and digest.

A manifest is complete or there is none. Where a file was left out by who read the folder (a link, a
device, something too large), or where there is more than every client must take, the skill is
`dynamic`: a client then knows that it cannot check it. What begins with a dot is the machinery of
editors, of version control and of secrets, and no part of a skill.
"""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from prowess.mcp.protocol import SKILL_FILE, file_uri
from prowess.runtime.skill_texts import is_part_of_skill
from prowess.safety.intake.ledger import ScanLimits
from prowess.safety.model import LedgerEntry
from prowess.skills.catalog import addressed_name, is_text
from prowess.skills.model import Fields, Skill

if TYPE_CHECKING:
    from prowess.runtime.scan import Target

MOST_FILES, MOST_BYTES = 512, 16 * 1024 * 1024
# A longer file was not read to its end.
MOST_FILE_BYTES = ScanLimits().file_bytes


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


def serve_files(skill: Skill, target: "Target") -> ServedSkill | None:
    """Return what is served of a skill that was read; None where it is not what it was.

    The entry of a skill comes from its snapshot and its files from the disk: where the two do not
    belong together any more, the snapshot is old.
    """
    name, own = addressed_name(skill), posixpath.basename(skill.path)
    page = target.files.get(own)
    if name is None or page is None or sha256(page).hexdigest() != skill.content_hash:
        return None
    whole = not any(_matters(entry) for entry in target.refused)
    return serve_content(name, skill, target.files, whole=whole)


def serve_content(
    name: str, skill: Skill, content: Mapping[str, bytes], *, whole: bool = True
) -> ServedSkill:
    """Return what is served of a skill under a name; `whole` where `content` is all there is."""
    own = posixpath.basename(skill.path)
    others = {path: content[path] for path in sorted(content) if path != own}
    files = {SKILL_FILE: content[own]}
    files |= {path: found for path, found in others.items() if _can_serve(path, found)}
    left_out = any(is_part_of_skill(path) and path not in files for path in others)
    is_small = len(files) <= MOST_FILES and sum(map(len, files.values())) <= MOST_BYTES
    is_whole = whole and is_small and not left_out
    return ServedSkill(name=name, frontmatter=skill.fields, files=files, whole=is_whole)


def _matters(entry: LedgerEntry) -> bool:
    # What was not read at all is told of the folder itself.
    return entry.path == "." or is_part_of_skill(entry.path)


def _can_serve(path: str, content: bytes) -> bool:
    # Another spelling of the skill's own file would be the same file to some systems.
    is_double = path.lower() == SKILL_FILE.lower()
    fits = len(content) <= MOST_FILE_BYTES and is_text(path)
    return fits and not is_double and is_part_of_skill(path)
