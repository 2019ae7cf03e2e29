"""A skill's text for an agent: its body or one of its files, once the scanner has looked.

What is handed out is what was scanned, byte for byte: a file that was passed over by the scanner is
passed over here, and nobody can exchange it in between. The body is the one that a run is pinned
to, whatever happens to the file meanwhile. A skill with a critical finding is not handed out.
"""

import difflib
import logging
import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

from prowess.errors import ContainmentError, PathError, UnsafeSkillError
from prowess.runtime.ports import StaleSkill
from prowess.safety.model import Finding, Level, ScanReport, ScanVerdict
from prowess.safety.paths import content_hash, is_hidden, shown
from prowess.skills.model import Skill
from prowess.spans import timed

if TYPE_CHECKING:
    from prowess.runtime.scan import ScanService, Target

log = logging.getLogger(__name__)

SKILL_FILE = "SKILL.md"
MOST_CHARS = 60_000
_PASSES = (ScanVerdict.CLEAN, ScanVerdict.WARN)
# The scanner has read these as prose already.
_PROSE = (".md", ".markdown", ".mdx", ".txt", ".rst")
_MOST_REPORTS = 1_000
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillText:
    """What an agent reads of a skill."""

    name: str
    text: str
    folder: str
    # The other files of the skill that were scanned, relative to its folder.
    resources: tuple[str, ...] = ()
    # The character at which `text` begins in the whole.
    start: int = 0
    # What the scanner doubts without refusing it.
    findings: tuple[Finding, ...] = ()
    # What of it no longer held at the last check, a line each.
    stale: tuple[str, ...] = ()
    # How many characters were left out at the end.
    left_out: int = 0
    # Whether it is the beginning of the skill's own text, by whatever path: then it is in use.
    is_begun: bool = False

    @property
    def end(self) -> int:
        """The character at which what was left out begins."""
        return self.start + len(self.text)

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """What speaks to the model in a file that is none to be obeyed, such as a script."""
        return tuple(finding for finding in self.findings if finding.level is Level.CRITICAL)


class NoTextError(PathError):
    """A file of a skill cannot be read as a text."""


class SkillFiles(Protocol):
    """The files of skills on the disk."""

    def target(self, skill: Skill) -> "Target":
        """Return all of a skill, for the scanner."""


class SkillTexts:
    """Hands out the texts of skills; each version of a skill is scanned once."""

    def __init__(
        self,
        files: SkillFiles,
        scanning: "Callable[[], ScanService]",
        stale: Callable[[], Mapping[str, StaleSkill]] = dict,
    ) -> None:
        self._files, self._scanning, self._stale = files, scanning, stale
        self._reports: dict[object, ScanReport] = {}

    def read(self, skill: Skill, path: str = "", start: int = 0) -> SkillText:
        """Return the body of a skill, or one file of it, from one character on.

        Raises:
            UnsafeSkillError: the scanner refuses the skill, or could not read it.
            PathError: there is no such file in it, or none that was scanned.
        """
        with timed(log, "load", skill=skill.name):
            return self._read(skill, path, start)

    def _read(self, skill: Skill, path: str, start: int) -> SkillText:
        target = self._files.target(skill)
        report = self._check(skill, target)
        inner = inner_path(skill, path)
        doubts: tuple[Finding, ...] = ()
        if not inner:
            text = skill.body
        else:
            content = _read_scanned(skill, target, inner)
            text = content.decode("utf-8", "replace")
            doubts = () if inner.lower().endswith(_PROSE) else self._doubt(target, inner, content)
            if len({finding.rule_id for finding in doubts}) > 1:
                # One may be a script's own matter; two are a text for whoever reads it.
                raise _refuse(skill, replace(report, findings=doubts))
        part = _part(skill, target, text, start, (*report.findings, *doubts))
        return part if inner else self._begin(skill, part)

    def _begin(self, skill: Skill, part: SkillText) -> SkillText:
        return replace(part, stale=self._notes(skill), is_begun=not part.start)

    def _notes(self, skill: Skill) -> tuple[str, ...]:
        """Return what no longer holds of this very text."""
        found = self._stale().get(skill.path)
        known = found is not None and found.content_hash == skill.content_hash
        return found.notes if found is not None and known else ()

    def read_page(self, skill: Skill, start: int = 0) -> SkillText | None:
        """Return a skill's own file with its frontmatter; None where it is not what it was.

        Raises:
            UnsafeSkillError: the scanner refuses the skill, or could not read it.
        """
        target = self._files.target(skill)
        report = self._check(skill, target)
        page = target.files.get(posixpath.basename(skill.path), b"")
        # What was scanned is the skill that was found: another text in its place was not looked at.
        if sha256(page).hexdigest() != skill.content_hash:
            return None
        part = _part(skill, target, page.decode("utf-8", "replace"), start, report.findings)
        return self._begin(skill, part)

    def files(self, skill: Skill) -> "Target":
        """Return all files of a skill, with the very bytes that the scanner looked at.

        Raises:
            UnsafeSkillError: the scanner refuses the skill, or could not read it.
        """
        target = self._files.target(skill)
        self._check(skill, target)
        return target

    def check(self, skill: Skill) -> ScanReport:
        """Return what the scanner says of a skill that it lets pass.

        Raises:
            UnsafeSkillError: it does not let it pass, or could not read it.
        """
        return self._check(skill, self._files.target(skill))

    def _check(self, skill: Skill, target: "Target") -> ScanReport:
        report = self._report(_pin(skill, target))
        if report.verdict not in _PASSES:
            raise _refuse(skill, report)
        return report

    def _doubt(self, target: "Target", path: str, content: bytes) -> tuple[Finding, ...]:
        """Return what a file says to a model that reads it as a text, whatever it is meant for."""
        lines = content.split(b"\n", 1)
        text = lines[-1] if content.startswith(b"#!") and len(lines) > 1 else content
        report = self._report(replace(target, files={f"{path}.txt": text}, refused=(), noted=()))
        return tuple(
            replace(finding, file=path)
            for finding in report.findings
            if finding.level is Level.CRITICAL
        )

    def _report(self, target: "Target") -> ScanReport:
        scanning = self._scanning()
        key = (
            target.path,
            target.problem or content_hash(target.files),
            target.refused,
            # What was accepted may be taken back.
            scanning.accepted(),
        )
        if key not in self._reports:
            if len(self._reports) >= _MOST_REPORTS:
                self._reports.clear()
            self._reports[key] = scanning.scan_target(target).report
        return self._reports[key]


def _part(
    skill: Skill, target: "Target", text: str, start: int, findings: tuple[Finding, ...]
) -> SkillText:
    """Return as much of a text as is handed out at once."""
    own = posixpath.basename(skill.path)
    return SkillText(
        name=skill.name,
        text=text[start : start + MOST_CHARS],
        folder=skill.folder,
        resources=tuple(sorted(p for p in target.files if p != own and is_part_of_skill(p))),
        start=start,
        findings=findings,
        left_out=max(len(text) - start - MOST_CHARS, 0),
    )


def is_part_of_skill(path: str) -> bool:
    """Return whether a file counts as part of a skill: names with a dot are some machinery's."""
    return not any(part.startswith(".") for part in path.split("/"))


def inner_path(skill: Skill, path: str) -> str:
    """Return a path inside a skill's folder; empty for the skill's own file.

    Raises:
        ContainmentError: it leads out of the folder.
    """
    inner = path
    # What an agent writes down may begin with the folder itself.
    if path.startswith(f"{skill.folder}/"):
        inner = path[len(skill.folder) + 1 :].lstrip("/")
    inner = posixpath.normpath(inner.replace("\\", "/")) if inner else "."
    if inner.startswith(("/", "../")) or inner == ".." or "\0" in inner:
        raise ContainmentError(path, f"is not inside {skill.name}: give a path in its folder.")
    own = posixpath.basename(skill.path)
    return "" if inner == "." or inner.lower() == own.lower() else inner


def name_files(files: Iterable[str], wanted: str) -> str:
    """Say which files there are, what is called like the wanted one first."""
    given = [path for path in files if is_part_of_skill(path)]
    near = difflib.get_close_matches(wanted, given, n=_MOST_NAMED, cutoff=0.5)
    ordered = list(dict.fromkeys((*near, *sorted(given))))
    more = f" and {len(ordered) - _MOST_NAMED} more" if len(ordered) > _MOST_NAMED else ""
    named = ", ".join(f"`{shown(path)}`" for path in ordered[:_MOST_NAMED])
    return f"it has {named}{more}" if ordered else "it has no files"


def _read_scanned(skill: Skill, target: "Target", path: str) -> bytes:
    content = None if is_hidden(path) else target.files.get(path)
    if content is None:
        passed = {entry.path: entry.reason for entry in (*target.refused, *target.noted)}
        why = passed.get(path) or f"there is no such file; {name_files(target.files, path)}"
        raise PathError(path, f"is not read from {skill.name}: {why}.")
    if b"\0" in content:
        raise NoTextError(path, "is no text: use the skill's own scripts on it.")
    return content


def _pin(skill: Skill, target: "Target") -> "Target":
    if any(sha256(one).hexdigest() == skill.content_hash for one in target.files.values()):
        return target
    # The file changed after the run began: what was pinned is what the agent reads.
    body = skill.body.encode("utf-8", "surrogatepass")
    files: Mapping[str, bytes] = {**target.files, posixpath.basename(skill.path): body}
    return replace(target, files=files)


def _refuse(skill: Skill, report: ScanReport) -> UnsafeSkillError:
    if report.verdict is ScanVerdict.ERROR:
        problem = f"it could not be scanned ({report.error or 'nothing was said'})."
        return UnsafeSkillError(skill.name, problem, report.findings)
    worst = min(report.findings, key=lambda finding: finding.level.rank)
    problem = f"{worst.rule_id} in {worst.file}, line {worst.line}."
    return UnsafeSkillError(skill.name, problem, report.findings)
