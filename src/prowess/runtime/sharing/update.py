"""Updates that keep what was edited here, and folders brought back to what their lock says.

An update merges three versions: the package that was added, the folder as it is now, and what the
source has. What is written was scanned as a whole, edits included. A lock always names what the
source gave, so that everybody can get the same; edits of this machine show as drift.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from prowess.errors import ProwessError, SharingError
from prowess.runtime.sharing.ports import Package, Progress, hash_package
from prowess.runtime.sharing.service import (
    AddRequest,
    Arrival,
    Sharing,
    facts_of,
    pick,
    refuse_report,
    refuse_return,
    refuse_signature,
    scan_package,
    spec_of,
)
from prowess.runtime.sharing.sync import CopiedFile
from prowess.safety.model import Finding
from prowess.safety.paths import shown
from prowess.sharing.lock import Drift, LockEntry, content_digest, find_drift
from prowess.sharing.merge import BOTH, FileConflict, merge_files, show_difference
from prowess.sharing.source import SourceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedUpdate:
    """What an update would do to one skill, and what stands in its way."""

    name: str
    old: LockEntry
    # None where there is nothing to do, or it could not be found out.
    arrival: Arrival | None = None
    # Edits of this machine that are kept.
    edits: Drift = field(default_factory=Drift)
    conflicts: tuple[FileConflict, ...] = ()
    difference: str = ""
    # What the scanner finds now and did not before, and the other way round.
    new_findings: tuple[Finding, ...] = ()
    gone_findings: tuple[Finding, ...] = ()
    # The day on which what the source has now was made; empty where it does not say.
    made: str = ""
    problem: str = ""

    @property
    def state(self) -> str:
        """In one word: pinned, current, ready, conflict, refused or failed."""
        if self.problem:
            return "failed"
        if self.arrival is None:
            return "pinned" if self.old.pinned else "current"
        if self.arrival.refusal:
            return "refused"
        return "conflict" if self.conflicts else "ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateRequest:
    """What a person asks to update; no name is all of them."""

    names: tuple[str, ...] = ()
    # Which side a conflict is settled for; empty leaves a skill with one as it is.
    keep: str = ""
    allow_signer_change: bool = False


class Updating:
    """Updates the skills of one folder with a lock."""

    def __init__(self, sharing: Sharing) -> None:
        self._sharing, self._folder = sharing, sharing.folder

    def prepare(self, request: UpdateRequest, progress: Progress) -> tuple[PreparedUpdate, ...]:
        """Fetch, merge and judge; nothing is written.

        Raises:
            SharingError: a name is not in the lock.
        """
        skills = self._folder.read_lock().skills
        for name in request.names:
            if name not in skills:
                raise SharingError(shown(name), f"is not in {self._folder.lock_path}.")
        found = []
        names = request.names or tuple(skills)
        for done, name in enumerate(names):
            progress("asking the sources", done, len(names))
            found.append(self._prepare(name, skills[name], request))
        return tuple(found)

    def apply(self, update: PreparedUpdate) -> None:
        """Write an update that is ready, or whose conflicts were settled.

        Raises:
            SharingError: it is refused.
            PathError: it cannot be written; everything is as it was.
        """
        if update.arrival is not None:
            self._sharing.add(update.arrival, "update")

    def decline(self, update: PreparedUpdate) -> None:
        """Take down that a person said no to an update, or that a rule did."""
        if update.arrival is not None:
            self._sharing.decline(update.arrival, "update")

    def _prepare(self, name: str, old: LockEntry, request: UpdateRequest) -> PreparedUpdate:
        plain = PreparedUpdate(name=name, old=old)
        if old.pinned:
            return plain
        try:
            return self._merge(plain, request)
        except ProwessError as error:
            return replace(plain, problem=str(error))

    def _merge(self, plain: PreparedUpdate, request: UpdateRequest) -> PreparedUpdate:
        name, old = plain.name, plain.old
        spec = spec_of(old, self._folder)
        fetched = self._sharing.ports.sources.fetch(spec, (name,), _show_nothing)
        skill = pick(fetched, name)
        if content_digest(hash_package(skill.files)) == old.digest:
            return plain
        local = self._folder.read(name)
        base = self._find_base(name, old, local)
        merged = merge_files(
            _contents(base), _contents(local), _contents(skill.files), request.keep or BOTH
        )
        files = {
            path: CopiedFile(content, _is_program(path, skill.files, local))
            for path, content in merged.files.items()
        }
        asked = AddRequest(spec=spec, allow_signer_change=request.allow_signer_change)
        arrival = self._sharing.judge(fetched, skill, asked, files)
        before = scan_package(self._sharing.ports.scanning, name, local, old.url).findings
        after = arrival.report.findings
        return replace(
            plain,
            arrival=arrival,
            edits=find_drift(old.files, hash_package(local)),
            conflicts=() if request.keep else merged.conflicts,
            difference=show_difference(_contents(local), merged.files),
            new_findings=_without(after, before),
            gone_findings=_without(before, after),
            made=fetched.made,
        )

    def _find_base(self, name: str, old: LockEntry, local: Package) -> Package:
        """Return what was added: as it was kept, as it lies there, or as it is fetched again."""
        if hash_package(local) == old.files:
            return local
        return find_package(self._sharing, name, old)


def find_package(sharing: Sharing, name: str, entry: LockEntry) -> Package:
    """Return exactly what a lock names, from what is kept or else from its source.

    Raises:
        SharingError: the source has something else by now.
    """
    kept = sharing.ports.packages.load(entry.digest)
    if kept is not None:
        return kept
    spec = spec_of(entry, sharing.folder, exact=True)
    files = pick(sharing.ports.sources.fetch(spec, (name,), _show_nothing), name).files
    found = content_digest(hash_package(files))
    if found != entry.digest:
        problem = f"the lock says {entry.digest}, and {entry.source} gives {found}."
        raise SharingError(shown(name), problem)
    return files


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenStep:
    """What becomes of one folder so that the lock is true."""

    name: str
    # keep, restore, changed, unmanaged, prune, adopt or failed.
    action: str
    detail: str = ""

    @property
    def is_right(self) -> bool:
        """True where nothing had to be done."""
        return self.action == "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenRequest:
    """How a folder is brought back to its lock."""

    check: bool = False
    prune: bool = False
    adopt: bool = False
    # Whether edited skills are replaced too; what was edited goes to the trash.
    force: bool = False


class FrozenSync:
    """Makes a folder hold exactly what its lock says; the lock itself stays as it is."""

    def __init__(self, sharing: Sharing) -> None:
        self._sharing, self._folder = sharing, sharing.folder

    def run(self, request: FrozenRequest, progress: Progress) -> tuple[FrozenStep, ...]:
        """Do it, or with `check` say what would be done.

        Raises:
            LockError: the lock is damaged.
        """
        if not request.check:
            self._folder.settle()
        skills = self._folder.read_lock().skills
        steps = []
        for done, (name, entry) in enumerate(skills.items()):
            progress("bringing skills back", done, len(skills))
            steps.append(self._restore(name, entry, request))
        others = self._folder.list_unmanaged()
        return (*steps, *(self._look_after(name, request) for name in others))

    def _restore(self, name: str, entry: LockEntry, request: FrozenRequest) -> FrozenStep:
        try:
            found = self._folder.hash(name)
            drift = Drift() if found is None else find_drift(entry.files, found)
            if found is not None and not drift:
                return FrozenStep(name=name, action="keep")
            detail = "; ".join(drift.lines)
            if drift and not request.force:
                return FrozenStep(name=name, action="changed", detail=detail)
            decision = self._sharing.ports.gate(facts_of(name, entry))
            self._refuse(name, refuse_return(entry, decision), request)
            if not request.check:
                self._write(name, entry, is_there=found is not None)
            return FrozenStep(name=name, action="restore", detail=detail)
        except ProwessError as error:
            return FrozenStep(name=name, action="failed", detail=str(error))

    def _refuse(self, name: str, refusal: str, request: FrozenRequest) -> None:
        """Take a refusal down, if there is one, and raise it."""
        if refusal and not request.check:
            row = {"event": "sync", "skill": name, "outcome": "refused", "reason": refusal}
            self._sharing.ports.record(row)
        if refusal:
            raise SharingError(shown(name), refusal)

    def _write(self, name: str, entry: LockEntry, *, is_there: bool) -> None:
        files = find_package(self._sharing, name, entry)
        report = scan_package(self._sharing.ports.scanning, name, files, entry.url)
        reading = self._sharing.ports.signatures.read(files)
        refusal = refuse_report(report) or refuse_signature(entry, reading)
        self._refuse(name, refusal, FrozenRequest())
        if not reading.notice:
            self._sharing.ports.signatures.remember(entry)
        self._sharing.ports.packages.keep(name, files)
        if is_there:
            # What was edited waits in the trash.
            self._folder.set_aside(name)
        self._folder.place(name, files, entry)
        self._sharing.ports.record({"event": "sync", "skill": name, "outcome": "restored"})

    def _look_after(self, name: str, request: FrozenRequest) -> FrozenStep:
        try:
            digest = content_digest(self._folder.hash(name) or {})
            if request.adopt:
                return self._adopt(name, request)
            if request.prune and self._sharing.ports.packages.has(digest):
                if not request.check:
                    self._folder.remove(name)
                return FrozenStep(name=name, action="prune", detail="to the trash")
        except ProwessError as error:
            return FrozenStep(name=name, action="failed", detail=str(error))
        # Somebody's own, or edited since: nobody else removes it.
        detail = "not one that was added and left as it was" if request.prune else ""
        return FrozenStep(name=name, action="unmanaged", detail=detail)

    def _adopt(self, name: str, request: FrozenRequest) -> FrozenStep:
        files = self._folder.read(name)
        report = scan_package(self._sharing.ports.scanning, name, files, self._folder.skills)
        self._refuse(name, refuse_report(report), request)
        place = self._folder.relate(self._folder.locate(name))
        entry = LockEntry(
            source=place,
            kind=SourceKind.FOLDER.value,
            url=place,
            resolved=content_digest(hash_package(files)),
            files=hash_package(files),
            scan={"verdict": report.verdict.value, "scanner": self._sharing.ports.scanner()},
        )
        entry = self._sharing.approve(entry)
        decision = self._sharing.ports.gate(facts_of(name, entry))
        self._refuse(name, refuse_return(entry, decision), request)
        if not request.check:
            self._sharing.ports.packages.keep(name, files)
            self._folder.note(name, entry)
            self._sharing.ports.record({"event": "sync", "skill": name, "outcome": "adopted"})
        return FrozenStep(name=name, action="adopt")


def _show_nothing(_what: str, _done: int, _total: int) -> None:
    """Show no progress."""


def _contents(files: Package) -> dict[str, bytes]:
    return {path: file.content for path, file in files.items()}


def _is_program(path: str, upstream: Package, local: Package) -> bool:
    found = upstream.get(path) or local.get(path)
    return found is not None and found.executable


def _without(findings: Sequence[Finding], others: Sequence[Finding]) -> tuple[Finding, ...]:
    known = {(one.rule_id, one.file, one.evidence_hash) for one in others}
    return tuple(one for one in findings if (one.rule_id, one.file, one.evidence_hash) not in known)
