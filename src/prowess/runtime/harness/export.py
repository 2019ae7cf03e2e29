"""Sharing one skill: a strict build of it, with a word on what each harness makes of that.

The folder is scanned before anything is written, and what was scanned is what is built: a file that
changes in between refuses the export, and so does a secret in a file that would be shared. Whatever
stands in the way is part of the report, so that a person always sees the build that would have been
written.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from prowess.errors import PathError
from prowess.runtime.scan import ScanService, Target
from prowess.runtime.service import SkillsService
from prowess.runtime.sharing.sync import CopiedFile, LeftOutFile, SkillCopy, SkillReader
from prowess.safety.model import Finding, Level, ScanReport, ScanVerdict
from prowess.safety.paths import shown
from prowess.skills.harness.portable import (
    SIDECAR,
    HarnessNote,
    Portable,
    PortableChange,
    build,
    hides_itself,
    hiding_sidecar,
    notes_for,
)
from prowess.skills.harness.rules import Reader, is_skill_file, read_rules
from prowess.skills.model import Diagnostic, Document, Severity, Skill
from prowess.skills.validation import validate

SKILL_FILE = "SKILL.md"
# Whom a report is about where nobody in particular is meant.
EVERYBODY = tuple(reader for reader in Reader if reader is not Reader.PROWESS)
_PASSES = (ScanVerdict.CLEAN, ScanVerdict.WARN)
_LITTER = frozenset(("__pycache__", "thumbs.db", "desktop.ini"))
_LITERAL_RULE = "literal-secret"


class Placed(StrEnum):
    """What became of a build."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


class ExportPlaces(Protocol):
    """Writes builds; never over anything unless it is told to."""

    def to_folder(
        self, place: str, build: "Build", source: str, *, force: bool
    ) -> tuple[str, Placed]:
        """Write a build as a folder below `place`, and return where it is.

        Raises:
            PathError: it cannot be written, or something is in the way.
        """

    def to_archive(
        self, place: str, build: "Build", source: str, *, force: bool
    ) -> tuple[str, Placed]:
        """Write a build as one `.skill` file, and return where it is.

        Raises:
            PathError: it cannot be written, or something is in the way.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A skill ready to be written."""

    name: str
    files: Mapping[str, CopiedFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """What a person asks for; without a place nothing is written."""

    name: str
    # None means everybody who follows the standard.
    reader: Reader | None = None
    folder: str = ""
    archive: str = ""
    force: bool = False
    agent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """The build, what it says in other words, and what harnesses make of it."""

    skill: Skill
    name: str = ""
    files: Mapping[str, int] | None = None
    changes: tuple[PortableChange, ...] = ()
    notes: Mapping[Reader, tuple[HarnessNote, ...]] | None = None
    left_out: tuple[LeftOutFile, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    scan: ScanReport | None = None
    # Why nothing was written, where that was not what was asked for.
    refusal: str = ""
    written_to: str = ""
    placed: Placed | None = None

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """What the scanner warns of without refusing it."""
        found = () if self.scan is None else self.scan.findings
        return tuple(
            one for one in found if one.level is Level.WARN and not _explain_unwanted(one.file)
        )


class Exporting:
    """Builds skills for others and writes them."""

    def __init__(
        self,
        skills: SkillsService,
        sources: SkillReader,
        scanning: ScanService,
        places: ExportPlaces,
    ) -> None:
        self._skills, self._sources = skills, sources
        self._scanning, self._places = scanning, places

    def export(self, request: ExportRequest) -> ExportReport:
        """Build a skill, and write it where the request says.

        Raises:
            SkillNotFoundError: there is none of that name, or several are.
            UnknownAgentError: there is no such agent.
        """
        skill = self._skills.find(request.name, request.agent_id).skill
        report = ExportReport(skill=skill)
        if skill.is_draft:
            problem = "is a draft: read it and promote it with `prowess experience promote` first."
            return replace(report, refusal=f"{skill.name} {problem}")
        try:
            copy, target = self._sources.read(skill), self._sources.whole(skill)
        except PathError as error:
            return replace(report, refusal=f"{skill.name} cannot be exported: {error}")
        built = self._build(skill, copy)
        if isinstance(built, str):
            return replace(report, refusal=f"{skill.name} cannot be exported: {built}")
        files, left_out = _files(skill, copy, built, request.reader)
        report = _describe(report, built, files, request.reader)
        passed_over = _find_passed_over(copy, target)
        report = replace(report, left_out=(*copy.left_out, *left_out, *passed_over))
        report = self._scan(report, copy, target)
        if report.refusal or not (request.folder or request.archive):
            return report
        return self._write(report, Build(name=built.name, files=files), request)

    def _build(self, skill: Skill, copy: SkillCopy) -> Portable | str:
        content = copy.files[own_file(skill)].content
        if hashlib.sha256(content).hexdigest() != skill.content_hash:
            return "it changed while it was read: try again."
        return build(skill, content, self._skills.settings.skills.spec_mode)

    def _scan(self, report: ExportReport, copy: SkillCopy, target: Target) -> ExportReport:
        same = all(target.files.get(path) == file.content for path, file in copy.files.items())
        if not target.problem and not same:
            return replace(report, refusal=f"{report.skill.name} changed while it was read.")
        scan = self._scanning.scan_target(target).report
        refusal = report.refusal
        if scan.verdict not in _PASSES:
            refusal = _explain(report.skill, scan)
        elif secret := next(filter(_is_shared_secret, scan.findings), None):
            refusal = _explain_secret(report.skill, secret)
        return replace(report, scan=scan, refusal=refusal)

    def _write(self, report: ExportReport, made: Build, request: ExportRequest) -> ExportReport:
        try:
            write = self._places.to_archive if request.archive else self._places.to_folder
            # Of a single text only the file itself must stay untouched.
            source = report.skill.folder if is_skill_file(report.skill) else report.skill.path
            place = request.archive or request.folder
            where, placed = write(place, made, source, force=request.force)
        except PathError as error:
            return replace(report, refusal=str(error))
        return replace(report, written_to=where, placed=placed)


def own_file(skill: Skill) -> str:
    """Return the name of the file that holds the skill's text."""
    return skill.path.replace("\\", "/").rpartition("/")[2]


def _files(
    skill: Skill, copy: SkillCopy, built: Portable, reader: Reader | None
) -> tuple[dict[str, CopiedFile], list[LeftOutFile]]:
    """Return the files of the build, and what stays behind."""
    files = {SKILL_FILE: CopiedFile(built.text.encode())}
    left_out: list[LeftOutFile] = []
    for path, file in copy.files.items():
        reason = _explain_unwanted(path)
        if path == own_file(skill):
            continue
        if reason:
            left_out.append(LeftOutFile(shown(path), reason))
        else:
            files[path] = file
    if reader is Reader.CODEX and hides_itself(skill):
        known = files.get(SIDECAR)
        hiding = hiding_sidecar(None if known is None else known.content)
        if hiding is not None:
            files[SIDECAR] = CopiedFile(hiding)
    return files, left_out


def _explain_unwanted(path: str) -> str:
    parts = path.lower().split("/")
    if any(part.startswith(".") for part in parts):
        return "is hidden: what is shared should be seen"
    is_backup = path.endswith("~") or (parts[-1].startswith("#") and parts[-1].endswith("#"))
    if is_backup or not _LITTER.isdisjoint(parts) or path.lower().endswith((".pyc", ".pyo")):
        return "is left over from a program and no part of the skill"
    return ""


def _find_passed_over(copy: SkillCopy, target: Target) -> list[LeftOutFile]:
    """Return the folders of which nothing is copied, such as those of installed packages."""
    kept = {folder for path in copy.files for folder in _folders(path)}
    lost = (path for path in target.files if path not in copy.files)
    tops = (next((one for one in _folders(path) if one not in kept), "") for path in lost)
    return [
        LeftOutFile(
            shown(top),
            _explain_unwanted(top) or "holds what was installed or built, and is not read",
        )
        for top in sorted(set(filter(None, tops)))
    ]


def _folders(path: str) -> list[str]:
    """Return the folders around a file, the outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def _is_shared_secret(found: Finding) -> bool:
    is_sure = found.rule_id == _LITERAL_RULE and found.level is not Level.INFO
    return is_sure and not _explain_unwanted(found.file)


def _describe(
    report: ExportReport, built: Portable, files: Mapping[str, CopiedFile], reader: Reader | None
) -> ExportReport:
    """Add what can be said of a build before it is written."""
    contents = {path: file.content for path, file in files.items()}
    readers: Sequence[Reader] = EVERYBODY if reader is None else (reader,)
    document = Document(
        source=report.skill.source,
        path=f"{built.name}/{SKILL_FILE}",
        folder=built.name,
        content=contents[SKILL_FILE],
        sidecar=contents.get(SIDECAR),
    )
    found = validate(document, strict=True, files=contents)
    errors = [problem for problem in found.diagnostics if problem.severity is Severity.ERROR]
    refusal = ""
    if errors:
        refusal = f"{report.skill.name} breaks the standard: {errors[0].message}. {errors[0].fix}"
    return replace(
        report,
        name=built.name,
        files={path: len(content) for path, content in contents.items()},
        changes=built.changes,
        notes={
            each: notes_for(read_rules()[each], report.skill, built, contents) for each in readers
        },
        diagnostics=found.diagnostics,
        refusal=refusal,
    )


def _explain_secret(skill: Skill, found: Finding) -> str:
    what = f"{shown(skill.name)} --rule {_LITERAL_RULE} --evidence {found.evidence_hash}"
    return (
        f"{skill.name} is not exported: {shown(found.file)}:{found.line} holds a secret"
        f" ({found.message.removesuffix('.')}). Revoke it and name a variable in its place; where"
        f" it is none, accept it with `prowess scan accept {what} --reason WHY`."
    )


def _explain(skill: Skill, scan: ScanReport) -> str:
    if scan.verdict is ScanVerdict.ERROR:
        return f"{skill.name} is not exported, since the scan failed: {scan.error}."
    critical = [one for one in scan.findings if one.level is Level.CRITICAL]
    one = (critical or list(scan.findings))[0]
    return (
        f"{skill.name} is not exported: the scanner finds {one.rule_id} in"
        f" {shown(one.file)}:{one.line}. Look at it with `prowess scan {shown(skill.name)}` and"
        " remove it, or accept it with `prowess scan accept`."
    )
