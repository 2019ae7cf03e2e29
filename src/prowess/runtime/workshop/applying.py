"""How a reviewed change becomes a skill: under a lock, against what is there, scanned as a whole.

Nothing that was stored about the change is believed. What counts is what the disk holds now, what
the change would make of it, and what the scanner says of that: two harmless additions can be one
attack, and a status in a file can be edited.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from prowess.errors import PathError, QuarantinedError, StaleChangeError
from prowess.safety.contents import content_hash
from prowess.safety.model import ScanReport, ScanVerdict
from prowess.safety.paths import MAX_DEPTH, PathRefused, check_all, shown, support_file
from prowess.workshop.proposal import Change, change_hash, result_of

SKILL_FILE = "SKILL.md"
# A verdict that is not in here stops the change, so an unknown one does too.
_PASSES = (ScanVerdict.CLEAN, ScanVerdict.WARN)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderLimits:
    """How much of a skill is read; a larger one is refused, never read in part."""

    max_files: int = 500
    max_file_bytes: int = 2 * 1024 * 1024
    max_bytes: int = 16 * 1024 * 1024
    max_depth: int = MAX_DEPTH


DEFAULT_LIMITS = FolderLimits()


class SkillFolderPort(Protocol):
    """The folder of one skill on the disk."""

    @property
    def name(self) -> str:
        """The name of the skill."""

    def lock(self) -> AbstractContextManager[None]:
        """Keep every other writer of this skill out, in this process and in others."""

    def read_all(self, limits: FolderLimits = DEFAULT_LIMITS) -> Mapping[str, bytes]:
        """Return every file of the skill by path; none where there is no such skill.

        Raises:
            PathError: a file cannot be read, or there is more than the limits allow.
        """

    def apply(self, files: Mapping[str, bytes | None], expected: str) -> str:
        """Write and delete all of `files` or none, and return the id of what was there before.

        Raises:
            StaleChangeError: the skill is not the one with the hash `expected`.
            PathError: a file cannot be written.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A change that was made: what the skill was, what it is, and what the scanner said."""

    skill: str
    before: str
    after: str
    report: ScanReport
    # Names the files that were replaced, for a way back.
    backup: str


def apply_change(
    change: Change,
    *,
    reviewed_hash: str,
    base_hash: str,
    folder: SkillFolderPort,
    scan: Callable[[Mapping[str, bytes]], ScanReport],
) -> Applied:
    """Make the change, if it is the one that was reviewed and the skill is still the same.

    Raises:
        StaleChangeError: the skill or the change is not what was reviewed.
        QuarantinedError: the scanner refuses the skill that would come out, or could not read it.
        PathError: a path is not allowed, or a file cannot be read or written.
    """
    if folder.name != change.skill:
        raise PathError(shown(change.skill), f"is not the skill of the folder {folder.name}.")
    with folder.lock():
        current = folder.read_all()
        before = content_hash(current)
        if before != base_hash:
            problem = "the skill changed since the change was made"
            raise StaleChangeError(change.skill, problem, expected=base_hash, found=before)
        result = result_of(current, change)
        report = _passed(change.skill, scan(MappingProxyType(result)))
        revision = change_hash(change)
        if revision != reviewed_hash:
            problem = "the change is not the one that was reviewed"
            raise StaleChangeError(change.skill, problem, expected=reviewed_hash, found=revision)
        check_result(change, result)
        backup = folder.apply(change.files, before)
    return Applied(
        skill=change.skill,
        before=before,
        after=content_hash(result),
        report=report,
        backup=backup,
    )


def check_result(change: Change, result: Mapping[str, bytes]) -> None:
    """Refuse a change to any other file than `SKILL.md` and support files, or beyond the limits.

    Raises:
        PathError: a path is not allowed, or the skill would become too large or lose `SKILL.md`.
    """
    if SKILL_FILE not in result:
        raise PathError(SKILL_FILE, "would be missing: remove the skill instead.")
    try:
        for path in change.files:
            _check_path(path)
        # What was there before counts too: `skill.md` beside `SKILL.md` is one file elsewhere.
        check_all(result)
    except PathRefused as error:
        raise PathError(shown(error.path), error.problem) from error
    sizes = [len(data) for data in result.values()]
    limits = DEFAULT_LIMITS
    if len(sizes) > limits.max_files or sum(sizes) > limits.max_bytes:
        problem = f"would have more than {limits.max_files} files or {limits.max_bytes} bytes."
        raise PathError(change.skill, problem)
    if max(sizes) > limits.max_file_bytes:
        raise PathError(change.skill, f"would have a file above {limits.max_file_bytes} bytes.")


def _check_path(path: str) -> None:
    if path != SKILL_FILE and "/".join(support_file(path)) != path:
        raise PathRefused(path, "segment", "must be written with forward slashes.")


def _passed(skill: str, report: ScanReport) -> ScanReport:
    if report.verdict in _PASSES:
        return report
    if report.verdict is ScanVerdict.ERROR:
        reason = report.error or "nothing was said"
        raise QuarantinedError(skill, f"the scan did not finish ({reason}).", report.findings)
    heaviest = min(report.findings, key=lambda finding: finding.level.rank, default=None)
    reason = heaviest.message if heaviest else "the scanner refuses it."
    raise QuarantinedError(skill, reason, report.findings)
