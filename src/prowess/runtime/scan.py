"""Scanning on behalf of a person: targets in, reports out, and what the operator accepted.

The scanner itself is pure; here it meets the settings, the clock and the acceptances, and the
user's language model may be asked about a skill that it let pass. Whatever goes wrong is a report
with the verdict `error`, never a skill that passed; a model that fails leaves the report as it is.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from threading import RLock
from typing import NamedTuple, Protocol

from prowess.errors import AcceptanceError, ModelError
from prowess.runtime.ports import KnownVerdict, LanguageModel
from prowess.safety.judging.packages import find_lookalike
from prowess.safety.model import (
    Confidence,
    Finding,
    Handling,
    LedgerEntry,
    Level,
    Profile,
    ScanReport,
    ScanVerdict,
)
from prowess.safety.paths import content_hash
from prowess.safety.review import (
    ModelReview,
    ReviewPrompt,
    SecondLook,
    SecondLookStatus,
    make_prompt,
    raise_report,
    read_review,
)
from prowess.safety.rules.table import Acceptance, read_rules, read_version
from prowess.safety.scan import TIME_LIMIT, ScanOptions, lower_accepted, scan
from prowess.spans import contain, timed

log = logging.getLogger(__name__)

_MOST_NAMED = 3


class ScanReviewer:
    """Has a model look at skills; may raise their verdicts and never lowers one."""

    def __init__(self, model: LanguageModel, nonce: Callable[[], str]) -> None:
        """Prepare to ask `model`; each call of `nonce` gives letters that nobody can guess."""
        self._model, self._nonce = model, nonce

    def review(
        self, files: Mapping[str, bytes], report: ScanReport, profile: Profile = Profile.PACKAGE
    ) -> SecondLook:
        """Return the report as the model leaves it; never raises because of the model."""
        if report.verdict in {ScanVerdict.QUARANTINE, ScanVerdict.ERROR}:
            # There is nothing above it, and a text that is known to be hostile stays here.
            return SecondLook(report, SecondLookStatus.SKIPPED)
        prompt = make_prompt(files, self._nonce())
        if prompt is None:
            return SecondLook(report, SecondLookStatus.SKIPPED, "there is no text to review")
        review, problem = self._ask(files, prompt)
        if not review.answers:
            status = SecondLookStatus.UNAVAILABLE if problem else SecondLookStatus.UNREADABLE
            unread = f"{self._model.name}: does not answer with the JSON that it was asked for"
            return SecondLook(report, status, problem or unread)
        notes = "; ".join((*((problem,) if problem else ()), *_notes(review, prompt)))
        return SecondLook(raise_report(report, review, profile), SecondLookStatus.REVIEWED, notes)

    def _ask(self, files: Mapping[str, bytes], first: ReviewPrompt) -> tuple[ModelReview, str]:
        """Return what was answered, and why there is not more where the model failed."""
        review, replies = ModelReview(), list[str]()
        prompt: ReviewPrompt | None = first
        for again in (True, False):
            if prompt is None:
                break
            try:
                replies.append(self._model.complete(prompt.instructions, prompt.question))
            except ModelError as error:
                return review, str(error)
            review = read_review(replies, files)
            if not review.missing:
                break
            prompt = make_prompt(files, self._nonce(), again=True) if again else None
        return review, ""


def _notes(review: ModelReview, prompt: ReviewPrompt) -> tuple[str, ...]:
    """Say what a review that took place does not cover."""
    notes = []
    if review.missing:
        notes.append(f"no answer about {', '.join(review.missing)}")
    if review.unsupported:
        asked = ", ".join(answer.question for answer in review.unsupported)
        notes.append(f"yes to {asked} without a passage that is in the files, so it does not count")
    if prompt.left_out:
        named = ", ".join(prompt.left_out[:_MOST_NAMED])
        more = len(prompt.left_out) - _MOST_NAMED
        notes.append(f"the model did not see {named}{f' and {more} more' if more > 0 else ''}")
    return tuple(notes)


_INCOMPLETE = "scan-incomplete"
_LONGEST_REASON = 500
# The scanner stops by itself at its limit and says where; the alarm is for when it cannot.
_GRACE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One skill to scan, read into memory."""

    # As it is shown: the folder, the file, or the place inside an archive.
    path: str
    name: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    refused: tuple[LedgerEntry, ...] = ()
    # Left out on purpose and no finding: for the ledger alone.
    noted: tuple[LedgerEntry, ...] = ()
    profile: Profile = Profile.PACKAGE
    # Set where the skill could not be read at all.
    problem: str = ""
    # Why no agent can have it, whatever the scanner says; for people.
    not_loaded: str = ""


@dataclass(frozen=True, slots=True)
class Scanned:
    """A target and what the scanner says of it."""

    target: Target
    profile: Profile
    report: ScanReport


class AcceptanceStore(Protocol):
    """Keeps what the operator accepted, and a log of it."""

    def read(self) -> tuple[Acceptance, ...]:
        """Return all acceptances; what cannot be read counts as none."""

    def add(self, given: Sequence[Acceptance]) -> None:
        """Keep acceptances, each in place of an older one for the same finding.

        Raises:
            StoreError: they cannot be kept.
        """

    def remove(self, taken: Collection[Acceptance], at: str) -> None:
        """Forget acceptances; `at` is the time for the log.

        Raises:
            StoreError: they cannot be forgotten.
        """


class ReportCard(NamedTuple):
    """A report with nothing accepted, and as much of it as decides whether the skill is used."""

    report: ScanReport
    known: KnownVerdict


class ReportStore(Protocol):
    """Keeps reports by what they were made from."""

    def load(self, key: str) -> ScanReport | None:
        """Return a report; one of a scan that failed is none, since the next may go well."""

    def alone(self, key: str, /) -> AbstractContextManager[None]:
        """Keep other machines from making the same report meanwhile."""

    def save(self, key: str, card: ReportCard) -> None:
        """Keep a report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPorts:
    """What scanning needs from the world."""

    # Asked where something was found, or by whoever accepts it.
    open_acceptances: Callable[[], AcceptanceStore]
    # Without one everything is scanned whenever somebody asks.
    reports: ReportStore | None = None
    # Variable -> hosts it may be sent to, as the operator configured it.
    egress: Callable[[], Mapping[str, tuple[str, ...]]]
    # Names that no other skill should imitate.
    trusted_names: Callable[[], Iterable[str]]
    # Processor time of the thread that asks: a limit in it is the same on a busy machine.
    seconds: Callable[[], float]
    # The time of day, as a text for people and logs.
    now: Callable[[], str]
    # The same in seconds since 1970.
    clock: Callable[[], float] = lambda: 0.0
    # Interrupts what runs inside after so many seconds of `seconds`, whatever it is busy with.
    deadline: Callable[[float], AbstractContextManager[None]] = field(
        default=lambda _seconds: nullcontext()
    )


class ScanService:
    """Scans skills and keeps what the operator accepts."""

    def __init__(self, tools: ScanPorts) -> None:
        self._tools, self._acceptances = tools, cache(tools.open_acceptances)
        self._trusted = cache(lambda: tuple(sorted(set(tools.trusted_names()))))
        # Two threads that ask about the same skill scan it once.
        self._scanning = RLock()

    def scan_target(self, target: Target, profile: Profile | None = None) -> Scanned:
        """Scan one skill, under its own profile or a given one."""
        chosen = Profile(profile or target.profile)
        if target.problem:
            return Scanned(target, chosen, failed(target.problem))
        like = find_lookalike(target.name, self._trusted()) if target.name else None
        _, card = self.find_report(target, chosen, like or "")
        report = card.report
        if report.findings:
            digest, given = card.known.content_hash, self.accepted()
            report = lower_accepted(report, chosen, target.name, digest, given)
        return Scanned(target, chosen, replace(report, ledger=(*report.ledger, *target.noted)))

    def find_report(
        self, target: Target, profile: Profile, like: str = ""
    ) -> tuple[str, ReportCard]:
        """Return the report on a target, nothing accepted, and the key by which it is kept.

        Args:
            target: the skill.
            profile: whose text it is.
            like: a name that somebody vouches for and that the skill's own looks like.
        """
        if target.problem:
            return "", self._make_card(target, "", failed(target.problem))
        digest, egress = content_hash(target.files), self._tools.egress()
        parts = (
            read_version(), digest, target.name, profile.value, target.refused,
            sorted(egress.items()), like,
        )  # fmt: skip
        key = sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()
        reports = self._tools.reports
        with self._scanning, ExitStack() as stack:
            kept = None if reports is None else reports.load(key)
            if kept is None and reports is not None:
                stack.enter_context(reports.alone(key))
                # Whoever we waited for has made it.
                kept = reports.load(key)
            if kept is not None:
                return key, self._make_card(target, digest, kept)
            options = ScanOptions(
                trusted_names=(like,) if like else (),
                egress=egress,
                skill=target.name,
                refused=target.refused,
                clock=self._tools.seconds,
                time_limit=TIME_LIMIT,
            )
            card = self._make_card(target, digest, self._scan(target.files, profile, options))
            if reports is not None:
                reports.save(key, card)
        return key, card

    def _make_card(self, target: Target, digest: str, report: ScanReport) -> ReportCard:
        kept_out = report.verdict is ScanVerdict.QUARANTINE
        return ReportCard(
            report,
            KnownVerdict(
                name=target.name,
                content_hash=digest,
                critical=tuple(
                    one for one in report.findings if kept_out and one.level is Level.CRITICAL
                ),
                problem=_name_problem(report) if report.verdict is ScanVerdict.ERROR else "",
                made_at=self._tools.clock(),
            ),
        )

    @property
    def seconds(self) -> Callable[[], float]:
        """The clock that scans are timed by."""
        return self._tools.seconds

    def scan_plain(self, files: Mapping[str, bytes], profile: Profile) -> ScanReport:
        """Scan files as a stranger would: nothing accepted, no names known, no settings."""
        return self._scan(files, profile, ScanOptions(clock=self._tools.seconds))

    def accept(
        self, scanned: Scanned, rule_id: str, reason: str, evidence: str = ""
    ) -> tuple[Acceptance, ...]:
        """Accept what one rule found in a skill, and return what was accepted.

        Raises:
            AcceptanceError: there is nothing to accept, or it cannot be accepted.
            StoreError: it cannot be kept.
        """
        name = scanned.target.name
        wanted = _find_acceptable(scanned, rule_id, evidence)
        text = " ".join(reason.split())[:_LONGEST_REASON]
        if not text:
            raise AcceptanceError(name, "an acceptance needs a reason: say why it is fine here.")
        given = tuple(
            Acceptance(
                skill=name,
                rule_id=rule_id,
                evidence_hash=digest,
                content_hash=content_hash(scanned.target.files),
                scanner=read_version(),
                reason=text,
                accepted_at=self._tools.now(),
            )
            for digest in dict.fromkeys(finding.evidence_hash for finding in wanted)
        )
        self._acceptances().add(given)
        return given

    def accepted(self) -> tuple[Acceptance, ...]:
        """Return everything that the operator accepted."""
        return self._acceptances().read()

    def revoke(self, skill: str, rule_id: str = "", evidence: str = "") -> tuple[Acceptance, ...]:
        """Take acceptances of a skill back, and return them.

        Raises:
            AcceptanceError: there is none of that kind.
            StoreError: they cannot be forgotten.
        """
        taken = tuple(
            given
            for given in self.accepted()
            if given.skill == skill
            and rule_id in {"", given.rule_id}
            and given.evidence_hash.startswith(evidence)
        )
        if not taken:
            problem = "nothing like that was accepted: `prowess scan accepted` lists all."
            raise AcceptanceError(skill, problem)
        self._acceptances().remove(taken, self._tools.now())
        return taken

    def _scan(
        self, files: Mapping[str, bytes], profile: Profile, options: ScanOptions
    ) -> ScanReport:
        failures: list[Exception] = []
        with timed(log, "scan", skill=options.skill, profile=profile.value) as ids:
            # Whatever a hostile file sets off must end as an error, not as a skill nobody scanned.
            with contain(failures.append), self._tools.deadline(TIME_LIMIT + _GRACE):
                report = scan(files, profile, options)
                ids |= {"verdict": report.verdict.value, "findings": len(report.findings)}
                return report
            [error] = failures
            ids["verdict"] = ScanVerdict.ERROR.value
            return failed(f"{type(error).__name__}: {error}"[:300])


def failed(problem: str) -> ScanReport:
    """Return the report of a skill that could not be scanned."""
    rule = read_rules()[_INCOMPLETE]
    finding = Finding(
        rule_id=rule.id,
        level=rule.level,
        confidence=Confidence.HIGH,
        file="",
        line=1,
        column=1,
        message=f"the scan did not take place: {problem}",
        evidence="",
        evidence_hash="",
        why=rule.why,
        fix=rule.fix,
    )
    return ScanReport(ScanVerdict.ERROR, (finding,), (), error=problem)


def _name_problem(report: ScanReport) -> str:
    """Say why a scan failed: by its error, else by the finding that stands for it."""
    found = [one for one in report.findings if one.rule_id == _INCOMPLETE]
    return report.error or (f"{found[0].file}: {found[0].message}" if found else "no reason given")


def worst(reports: Iterable[ScanReport]) -> ScanVerdict:
    """Return the verdict over several skills; none at all is clean."""
    order = tuple(ScanVerdict)
    return max((report.verdict for report in reports), key=order.index, default=ScanVerdict.CLEAN)


def _find_acceptable(scanned: Scanned, rule_id: str, evidence: str) -> tuple[Finding, ...]:
    """Return the findings to accept: of one rule, and of one place where there are several."""
    name, report = scanned.target.name, scanned.report
    if report.verdict is ScanVerdict.ERROR:
        raise AcceptanceError(name, f"a scan that failed is never accepted: {report.error}.")
    if any(entry.handling is Handling.REFUSED for entry in report.ledger):
        problem = "has parts that were not read, so no yes could be bound to them: remove them."
        raise AcceptanceError(name, problem)
    found = [finding for finding in report.findings if finding.rule_id == rule_id]
    found = [finding for finding in found if finding.level is not Level.INFO]
    wanted = [finding for finding in found if finding.evidence_hash.startswith(evidence)]
    if not wanted:
        problem = f"{rule_id} finds nothing there to accept: `prowess scan` shows what there is."
        raise AcceptanceError(name, problem)
    if len({finding.evidence_hash for finding in wanted}) > 1 and not evidence:
        places = ", ".join(f"{one.evidence_hash} ({one.file}:{one.line})" for one in wanted[:5])
        raise AcceptanceError(name, f"{rule_id} finds several, give one as --evidence: {places}.")
    return tuple(wanted)
