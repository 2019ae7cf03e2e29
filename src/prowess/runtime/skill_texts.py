"""A skill's text for an agent: its body or one of its files, once the scanner has looked.

What a run is pinned to is what an agent reads, whatever happens to the file meanwhile; the files
beside it are read as they are now. A skill with a critical finding is not handed out at all.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Protocol

from prowess.errors import UnsafeSkillError
from prowess.runtime.scanning import ScanService, Target
from prowess.safety.acceptance import content_hash
from prowess.safety.model import Finding, ScanReport, ScanVerdict
from prowess.skills.model import Skill

SKILL_FILE = "SKILL.md"
MOST_CHARS = 60_000
_PASSES = (ScanVerdict.CLEAN, ScanVerdict.WARN)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillText:
    """What an agent reads of a skill."""

    name: str
    text: str
    folder: str
    # The other files of the skill, relative to its folder.
    resources: tuple[str, ...] = ()
    # What the scanner doubts without refusing it.
    findings: tuple[Finding, ...] = ()
    # How many characters were left out at the end.
    left_out: int = 0


class SkillFiles(Protocol):
    """The files of skills on the disk."""

    def target(self, skill: Skill) -> Target:
        """Return all of a skill, for the scanner."""

    def read(self, skill: Skill, path: str) -> str:
        """Return the text of one file inside the skill's folder.

        Raises:
            PathError: there is no such file, or it is not inside.
        """


class SkillTexts:
    """Hands out the texts of skills; each version of a skill is scanned once."""

    def __init__(self, files: SkillFiles, scanning: Callable[[], ScanService]) -> None:
        self._files, self._scanning = files, scanning
        self._reports: dict[tuple[str, str], ScanReport] = {}

    def read(self, skill: Skill, path: str = "") -> SkillText:
        """Return the body of a skill, or one file of it.

        Raises:
            UnsafeSkillError: the scanner refuses the skill, or could not read it.
            PathError: there is no such file in it.
        """
        report = self.check(skill)
        text = skill.body if path in {"", SKILL_FILE} else self._files.read(skill, path)
        return SkillText(
            name=skill.name,
            text=text[:MOST_CHARS],
            folder=skill.folder,
            resources=skill.resources,
            findings=report.findings,
            left_out=max(len(text) - MOST_CHARS, 0),
        )

    def check(self, skill: Skill) -> ScanReport:
        """Return what the scanner says of a skill that it lets pass.

        Raises:
            UnsafeSkillError: it does not let it pass, or could not read it.
        """
        report = self.report(skill)
        if report.verdict not in _PASSES:
            raise _refused(skill, report)
        return report

    def report(self, skill: Skill) -> ScanReport:
        """Return what the scanner says of a skill as it is read now."""
        target = self._files.target(skill)
        if not any(sha256(one).hexdigest() == skill.content_hash for one in target.files.values()):
            # The file changed after the run began: what was pinned is what the agent reads.
            body = skill.body.encode("utf-8", "surrogatepass")
            target = replace(target, files={**target.files, SKILL_FILE: body})
        key = (skill.path, content_hash(target.files) if not target.problem else target.problem)
        if key not in self._reports:
            self._reports[key] = self._scanning().scan_target(target).report
        return self._reports[key]


def _refused(skill: Skill, report: ScanReport) -> UnsafeSkillError:
    if report.verdict is ScanVerdict.ERROR:
        problem = f"it could not be scanned ({report.error or 'nothing was said'})."
        return UnsafeSkillError(skill.name, problem, report.findings)
    worst = min(report.findings, key=lambda finding: finding.level.rank)
    problem = f"{worst.rule_id} in {worst.file}, line {worst.line}."
    return UnsafeSkillError(skill.name, problem, report.findings)
