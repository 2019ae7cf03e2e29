"""Adding shared skills: fetched, scanned, held against the policy, approved, and only then written.

What was scanned and shown is what is written. A skill with a critical finding is refused whoever
says yes. A signer is pinned on first use: another one, or none any more, is refused until somebody
says that the change is right.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from prowess.errors import PathError, ProwessError, SharingError, SourceError
from prowess.runtime.scan import ScanService, Target
from prowess.runtime.sharing.ports import (
    Fetched,
    OfferedSkill,
    Package,
    PackageStore,
    Progress,
    SharedFolder,
    SignatureReader,
    SignatureReading,
    SourceReader,
    hash_package,
)
from prowess.safety.model import Finding, Level, ScanReport, ScanVerdict
from prowess.safety.paths import shown
from prowess.settings import SpecMode
from prowess.sharing.lock import Drift, LockEntry, content_digest, find_drift
from prowess.sharing.policy import (
    NOT_AS_SIGNED,
    Gate,
    PolicyDecision,
    PolicyEffect,
    PolicyFacts,
    list_sources,
)
from prowess.sharing.source import REGISTRIES, SourceKind, SourceSpec
from prowess.skills.model import Document, Parsed, Severity, Source, Tier
from prowess.skills.parse import parse

_PASSES = (ScanVerdict.CLEAN, ScanVerdict.WARN)
_MOST_NAMED = 12
_VERSIONED = frozenset((SourceKind.GIT, SourceKind.OCI, *REGISTRIES))


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingPorts:
    """What sharing needs from the world."""

    sources: SourceReader
    packages: PackageStore
    signatures: SignatureReader
    scanning: ScanService
    gate: Gate
    # Returns how strictly the skills of this workspace are read.
    spec_mode: Callable[[], SpecMode]
    # Returns the version of the scanner, and who approves on which day.
    scanner: Callable[[], str]
    approver: Callable[[], Mapping[str, Any]]
    # Takes a decision down: what was done, about which skill, and what came of it.
    record: Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddRequest:
    """What a person asks to add."""

    spec: SourceSpec
    skills: tuple[str, ...] = ()
    every: bool = False
    pin: str = ""
    allow_signer_change: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A skill that was fetched and judged, and that nothing was done with yet."""

    name: str
    # What would be written, and what the source gave: the two differ by edits of this machine.
    files: Package
    package: Package
    entry: LockEntry
    report: ScanReport
    decision: PolicyDecision
    # Why it cannot be added, whoever says yes.
    refusal: str = ""
    # What a person should know beside all that.
    notice: str = ""
    is_there: bool = False

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the scanner found, the worst first."""
        order = (Level.CRITICAL, Level.WARN, Level.INFO)
        return tuple(sorted(self.report.findings, key=lambda one: order.index(one.level)))


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedSkill:
    """How one skill stands to its lock."""

    name: str
    folder: str
    drift: Drift = field(default_factory=Drift)
    problem: str = ""

    @property
    def is_right(self) -> bool:
        """True where every file is as it was locked."""
        return not self.drift and not self.problem


@dataclass(frozen=True, slots=True, kw_only=True)
class OutdatedSkill:
    """Whether a source has something newer than what is locked."""

    name: str
    source: str
    locked: str
    newest: str = ""
    pinned: bool = False
    problem: str = ""

    @property
    def is_outdated(self) -> bool:
        """True where an update would bring something."""
        return bool(self.newest) and self.newest != self.locked and not self.pinned


class Sharing:
    """Adds, removes and checks the skills of one folder with a lock."""

    def __init__(self, folder: SharedFolder, ports: SharingPorts) -> None:
        self.folder, self.ports = folder, ports

    def prepare(self, request: AddRequest, progress: Progress) -> tuple[Arrival, ...]:
        """Fetch and judge what is asked for; nothing is written.

        Raises:
            SourceError: the source gives no such skill.
            LockError: the lock is damaged.
            ProwessError: what came breaks a rule.
        """
        self.folder.read_lock()
        has_versions = request.spec.kind in _VERSIONED
        spec = replace(request.spec, ref=request.pin) if has_versions and request.pin else None
        fetched = self.ports.sources.fetch(spec or request.spec, request.skills, progress)
        chosen = _choose(fetched, request)
        if request.pin and not has_versions:
            _check_pin(fetched, chosen, request)
        return tuple(self.judge(fetched, one, request) for one in chosen)

    def judge(
        self,
        fetched: Fetched,
        skill: OfferedSkill,
        request: AddRequest,
        merged: Package | None = None,
    ) -> Arrival:
        """Scan one skill, and hold it against the policy and what is there.

        `merged` is what would be written where that holds edits of this machine too.
        """
        old = self.folder.read_lock().skills.get(skill.name)
        files = skill.files if merged is None else merged
        report = scan_package(self.ports.scanning, skill.name, files, fetched.url)
        reading = self.ports.signatures.read(skill.files)
        entry = self._make_entry(fetched, skill, request, report, old)
        entry = replace(entry, provenance={**entry.foreign_provenance, **reading.provenance})
        decision = self.ports.gate(facts_of(skill.name, entry))
        signer = "" if request.allow_signer_change else _signer_problem(old, entry, reading)
        page = _refuse_page(read_page(skill.name, files, self.ports.spec_mode()))
        refusal = refuse_report(report) or page or reading.problem or signer
        refusal = refusal or _policy_problem(decision)
        is_same = old is not None and _identity(old) == _identity(entry)
        return Arrival(
            name=skill.name,
            files=files,
            package=skill.files,
            entry=entry,
            report=report,
            decision=decision,
            notice=reading.notice,
            refusal=refusal or ("" if merged else self._explain_occupied(skill.name, old, entry)),
            is_there=is_same,
        )

    def add(self, arrival: Arrival, event: str = "add") -> None:
        """Write a skill that was approved, and lock it; the log calls it `event`.

        Raises:
            SharingError: it is one that is refused.
            PathError: it cannot be written; everything is as it was.
        """
        if arrival.refusal:
            self.decline(arrival, event)
            raise SharingError(shown(arrival.name), arrival.refusal)
        self.ports.packages.keep(arrival.name, arrival.package)
        entry = self.approve(arrival.entry)
        self.ports.signatures.remember(entry)
        self.folder.place(arrival.name, arrival.files, entry)
        self._record(event, arrival, "added" if event == "add" else "updated")

    def approve(self, entry: LockEntry) -> LockEntry:
        """Return an entry with a yes to its content, the one it has where that is the same."""
        if entry.approval.get("digest") == entry.digest:
            return entry
        said = {"digest": entry.digest, **self.ports.approver()}
        return replace(entry, approval={**entry.approval, **said})

    def decline(self, arrival: Arrival, event: str = "add") -> None:
        """Take down that a person said no, or that a rule did."""
        self._record(event, arrival, "refused", arrival.refusal or "declined")

    def remove(self, names: Sequence[str]) -> dict[str, str]:
        """Move skills of the lock to the trash, and return their ids there; none where one is not.

        Raises:
            SharingError: the lock does not name one of them.
            RemovalError: one cannot be moved.
        """
        lock = self.folder.read_lock()
        for name in names:
            if name not in lock.skills:
                known = ", ".join(list(lock.skills)[:_MOST_NAMED]) or "none"
                problem = f"is not in {self.folder.lock_path}, which has {known}."
                raise SharingError(shown(name), f"{problem} Nothing was removed.")
        gone = {}
        for name in dict.fromkeys(names):
            gone[name] = self.folder.remove(name)
            self.ports.record({"event": "remove", "skill": name, "outcome": "removed"})
        return gone

    def verify(self, names: Sequence[str] = ()) -> tuple[VerifiedSkill, ...]:
        """Compare every file of the locked skills with the lock, once nothing is half done.

        Raises:
            LockError: the lock is damaged.
            SharingError: a name is not in it.
        """
        self.folder.settle()
        skills = self.folder.read_lock().skills
        for name in names:
            if name not in skills:
                raise SharingError(shown(name), f"is not in {self.folder.lock_path}.")
        return tuple(self._verify(name, skills[name]) for name in names or skills)

    def find_outdated(self, progress: Progress) -> tuple[OutdatedSkill, ...]:
        """Ask the source of every skill for what it has now."""
        skills = self.folder.read_lock().skills
        found = []
        for done, (name, entry) in enumerate(skills.items()):
            progress("asking the sources", done, len(skills))
            found.append(self._find_newest(name, entry))
        return tuple(found)

    def _find_newest(self, name: str, entry: LockEntry) -> OutdatedSkill:
        shown_now = OutdatedSkill(
            name=name, source=entry.source, locked=entry.resolved, pinned=entry.pinned
        )
        if entry.pinned:
            return shown_now
        try:
            spec = spec_of(entry, self.folder)
            newest = self.ports.sources.find_newest(spec)
            if newest and newest != entry.resolved:
                # Another commit need not be another skill.
                digest = self._fetch_one(name, spec)
                return replace(
                    shown_now, newest=entry.resolved if digest == entry.digest else newest
                )
            if not newest:
                digest = self._fetch_one(name, spec)
                return replace(shown_now, newest=digest, locked=entry.digest)
        except (SharingError, PathError) as error:
            return replace(shown_now, problem=error.problem)
        return replace(shown_now, newest=newest)

    def _fetch_one(self, name: str, spec: SourceSpec) -> str:
        fetched = self.ports.sources.fetch(spec, (name,), _show_nothing)
        return content_digest(hash_package(pick(fetched, name).files))

    def _verify(self, name: str, entry: LockEntry) -> VerifiedSkill:
        folder = self.folder.locate(name)
        try:
            found = self.folder.hash(name)
        except PathError as error:
            return VerifiedSkill(name=name, folder=folder, problem=str(error))
        if found is None:
            return VerifiedSkill(name=name, folder=folder, problem="its folder is missing")
        drift = find_drift(entry.files, found)
        problem = "" if drift or not entry.signer else self._verify_signature(name, entry)
        return VerifiedSkill(name=name, folder=folder, drift=drift, problem=problem)

    def decide(self, verified: VerifiedSkill, entry: LockEntry) -> PolicyDecision:
        """Return what the policies say of a locked skill as it lies there now."""
        facts = facts_of(verified.name, entry)
        facts = replace(facts, unmanaged_files=verified.drift.added)
        if entry.signer and not verified.is_right:
            facts = replace(facts, signer="", unsigned=NOT_AS_SIGNED)
        return self.ports.gate(facts)

    def _verify_signature(self, name: str, entry: LockEntry) -> str:
        # Of the same files the same signature holds.
        if self.ports.signatures.knows(entry):
            return ""
        reading = self.ports.signatures.read(self.folder.read(name))
        problem = refuse_signature(entry, reading)
        if not problem and not reading.notice:
            self.ports.signatures.remember(entry)
        return problem

    def _explain_occupied(self, name: str, old: LockEntry | None, entry: LockEntry) -> str:
        """Say what is in the way; nothing that a person made is ever written over."""
        found = self.folder.hash(name)
        if found is None or content_digest(found) == entry.digest:
            return ""
        if old is None:
            return (
                f"{self.folder.locate(name)} is there already and in no lock: move it"
                " away, or take it in with `prowess sync --frozen --adopt`."
            )
        if find_drift(old.files, found):
            return "was edited here: `prowess update` merges the edits with what is new."
        return ""

    def _make_entry(
        self,
        fetched: Fetched,
        skill: OfferedSkill,
        request: AddRequest,
        report: ScanReport,
        old: LockEntry | None,
    ) -> LockEntry:
        before = old or LockEntry(source=request.spec.asked, kind=fetched.kind)
        scan = {"verdict": report.verdict.value, "scanner": self.ports.scanner()}
        # Keys that are not ours stay, at every level.
        return replace(
            before,
            source=request.spec.asked,
            kind=fetched.kind,
            url=self._show_url(request.spec, fetched),
            path=skill.path,
            ref=request.pin or fetched.ref,
            resolved=skill.resolved or fetched.resolved,
            version=fetched.version,
            pinned=bool(request.pin),
            submodules=request.spec.submodules,
            files=hash_package(skill.files),
            scan={**before.scan, **scan},
            required_by=skill.required_by,
        )

    def _show_url(self, spec: SourceSpec, fetched: Fetched) -> str:
        """Return where it is fetched again; a relative path stays one, from the lock's folder."""
        is_relative = spec.is_local and spec.url and not spec.asked.startswith(("/", "~", "\\"))
        return self.folder.relate(fetched.url) if is_relative else fetched.url

    def _record(self, event: str, one: Arrival, outcome: str, why: str = "") -> None:
        self.ports.record(
            {
                "event": event,
                "skill": one.name,
                "source": one.entry.source,
                "digest": one.entry.digest,
                "verdict": one.report.verdict.value,
                "outcome": outcome,
                **({"reason": why} if why else {}),
            }
        )


def search_registries(
    sources: SourceReader, registries: Sequence[str], words: str
) -> tuple[list[dict[str, str]], list[str]]:
    """Return what registries find, each in its own order, and what keeps others from answering."""
    found: list[dict[str, str]] = []
    problems = []
    for registry in registries:
        try:
            rows = sources.search(registry, words)
        except ProwessError as error:
            problems.append(str(error))
        else:
            found += [{**row, "registry": shown(registry)} for row in rows]
    return found, problems


def _identity(entry: LockEntry) -> tuple[object, ...]:
    signed = entry.signer, entry.issuer
    return entry.source, entry.digest, entry.resolved, entry.ref, entry.pinned, signed


def _show_nothing(_what: str, _done: int, _total: int) -> None:
    """Show no progress."""


def spec_of(entry: LockEntry, folder: SharedFolder, *, exact: bool = False) -> SourceSpec:
    """Return the source of a locked skill: what it follows, or exactly what was locked.

    Raises:
        SourceError: its kind is one that is not known here.
    """
    if entry.kind not in set(SourceKind):
        problem = f"is of the kind {shown(entry.kind)!r} in the lock, which is not known here."
        raise SourceError(shown(entry.source), problem)
    kind, url = SourceKind(entry.kind), entry.url
    if url and "://" not in url and "@" not in url.partition("/")[0]:
        url = folder.resolve(url)
    ref = entry.ref
    if exact and kind in {SourceKind.GIT, SourceKind.OCI}:
        ref = entry.resolved
    elif exact and entry.version:
        ref = entry.version
    path = entry.path
    if kind in REGISTRIES:
        path = entry.source.partition(":")[2]
        path = path.rpartition("@")[0] or path
    return SourceSpec(
        asked=entry.source, kind=kind, url=url, path=path, ref=ref, submodules=entry.submodules
    )


def pick(fetched: Fetched, name: str) -> OfferedSkill:
    """Return the one skill of that name.

    Raises:
        SourceError: there is none.
    """
    for one in fetched.skills:
        if one.name == name:
            return one
    raise SourceError(shown(fetched.url), f"has no skill {shown(name)} any more.")


def _choose(fetched: Fetched, request: AddRequest) -> tuple[OfferedSkill, ...]:
    """Return what is meant of all that a source offers, each name once."""
    found: dict[str, OfferedSkill] = {}
    # What lies in hidden folders are copies for one harness or another.
    for one in sorted(fetched.skills, key=lambda each: ("/." in f"/{each.path}", each.path)):
        found.setdefault(one.name, one)
    wanted = request.skills
    known = {name for one in found.values() for name in (one.name, one.path.rpartition("/")[2])}
    plugins = {name for one in found.values() for name in one.required_by}
    lost = [name for name in wanted if name not in known | plugins]
    names = ", ".join(shown(name) for name in sorted(fetched.names or found)[:_MOST_NAMED])
    if lost or not found:
        missing = ", ".join(map(shown, lost)) or "any skill"
        raise SourceError(
            shown(request.spec.asked), f"has no {missing}{f'; it has {names}' if names else ''}."
        )
    if len(found) > 1 and not wanted and not request.every:
        problem = (
            f"holds {len(found)} skills: name some with --skill, or give --all. It has {names}"
        )
        more = len(found) - _MOST_NAMED
        raise SourceError(
            shown(request.spec.asked), f"{problem}{f' and {more} more' if more > 0 else ''}."
        )
    return tuple(found.values())


def _check_pin(fetched: Fetched, chosen: Sequence[OfferedSkill], request: AddRequest) -> None:
    """Refuse a pin of a source without versions, unless it is the digest of what came."""
    for one in chosen:
        found = one.resolved or fetched.resolved
        if request.pin != found:
            problem = (
                f"is a source without versions ({fetched.kind}), so {shown(request.pin)} names"
                f" none of it: pin {shown(one.name)} at what it is with --pin {found}."
            )
            raise SourceError(shown(request.spec.asked), problem)


def scan_package(scanning: ScanService, name: str, files: Package, place: str) -> ScanReport:
    """Scan what was fetched, as a package of a stranger."""
    contents = {path: file.content for path, file in files.items()}
    return scanning.scan_target(Target(path=f"{place}!{name}", name=name, files=contents)).report


def read_page(name: str, files: Package, mode: SpecMode) -> Parsed:
    """Read the SKILL.md among the files of a skill, as it would be read in its folder."""
    page = next(path for path in files if path.lower() == "skill.md")
    document = Document(
        source=Source(tier=Tier.MANAGED, root=""),
        path=f"{name}/{page}",
        folder=name,
        content=files[page].content,
    )
    return parse(document, mode)


def _refuse_page(page: Parsed) -> str:
    if page.skill is not None:
        return ""
    errors = [one for one in page.diagnostics if one.severity is Severity.ERROR]
    return f"its SKILL.md cannot be read: {errors[-1].message}. Nothing was written."


def refuse_report(report: ScanReport) -> str:
    """Say why the scanner keeps a skill out; empty where it does not."""
    if report.verdict in _PASSES:
        return ""
    if report.verdict is ScanVerdict.ERROR:
        return f"it could not be scanned: {report.error}."
    worst = [one for one in report.findings if one.level is Level.CRITICAL] or report.findings
    more = f" and {len(worst) - 1} more" if len(worst) > 1 else ""
    one = worst[0]
    said = one.message.removesuffix(".")
    return (
        f"the scanner finds {one.rule_id} in {shown(one.file)}:{one.line}{more}: {said}."
        " Nothing was written; no option skips a critical finding."
    )


def _policy_problem(decision: PolicyDecision) -> str:
    first = decision.first
    if first is None or decision.effect is not PolicyEffect.BLOCK:
        return ""
    return f"the policy refuses it: {first}."


def refuse_return(entry: LockEntry, decision: PolicyDecision) -> str:
    """Say why what a lock names is not brought back; empty where nothing speaks against it.

    What is required and missing does not: it may come back with the same lock.
    """
    if entry.approval.get("digest") != entry.digest:
        return "nobody approved this content in the lock: add it again with `prowess add`."
    counted = tuple(one for one in decision.reasons if one.rule != "require")
    return _policy_problem(PolicyDecision(reasons=counted))


def _signer_problem(old: LockEntry | None, new: LockEntry, reading: SignatureReading) -> str:
    """Say what changed about who signs; the first signer is the one that is trusted."""
    if old is None or not old.signer or _name_signer(old) == _name_signer(new):
        return ""
    if reading.notice:
        return f"it was signed by {_name_signer(old)}, and {reading.notice}."
    now = f"signed by {_name_signer(new)}" if new.signer else "not signed"
    return (
        f"it was signed by {_name_signer(old)} and is now {now}: ask its author, then give"
        " --allow-signer-change if that is right."
    )


def _name_signer(entry: LockEntry) -> str:
    # The same name at another issuer is somebody else.
    return f"{entry.signer} ({entry.issuer})" if entry.signer else ""


def refuse_signature(entry: LockEntry, reading: SignatureReading) -> str:
    """Say why files are not signed as their lock says; empty where they are, or nobody can tell."""
    if reading.problem or not entry.signer or reading.notice:
        return reading.problem
    found = replace(entry, provenance=reading.provenance)
    if _name_signer(found) == _name_signer(entry):
        return ""
    now = f"{_name_signer(found)} did" if found.signer else "nobody did"
    return f"the lock says that {_name_signer(entry)} signed it, and {now}."


def facts_of(name: str, entry: LockEntry) -> PolicyFacts:
    """Return what a policy is asked about a locked skill."""
    return PolicyFacts(
        skill=name,
        sources=list_sources(entry.source, entry.kind, entry.url, entry.path),
        asked=entry.source,
        is_pinned=entry.pinned or entry.ref == entry.resolved != "",
        signer=entry.signer,
        verdict=str(entry.scan.get("verdict", "clean")),
    )
