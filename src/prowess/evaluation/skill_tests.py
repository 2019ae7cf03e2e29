"""All that can be tested of skills without a key, in one go: one list of results.

Whether a file loads and keeps the standard, whether the scanner lets it pass, whether its lines
still hold, whether messages find it, and whether harnesses show its description whole. What is only
a warning is told and fails nothing.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prowess.evaluation.metrics import Outcome
from prowess.proof.freshness import SkillFreshness
from prowess.runtime.harness.budget import BudgetReport
from prowess.runtime.proof.fresh import describe
from prowess.runtime.service import SkillStatus
from prowess.skills.harness.listings import Fate
from prowess.skills.model import Severity
from prowess.skills.validation import Report

KINDS = ("validation", "scan", "freshness", "triggers", "budget")
_LONGEST = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillTest:
    """One test and how it came out; without a message it passed."""

    kind: str
    name: str
    skill: str = ""
    path: str = ""
    line: int = 1
    failures: tuple[str, ...] = ()
    # Told, and no failure.
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """True where nothing failed."""
        return not self.failures


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillTests:
    """The results of one run."""

    tests: tuple[SkillTest, ...]
    # What could not be tested at all, such as a suite that cannot be read.
    problems: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[SkillTest, ...]:
        """The tests that did not pass."""
        return tuple(one for one in self.tests if not one.passed)

    @property
    def passed(self) -> bool:
        """True where all passed and everything could be read."""
        return not self.failed and not self.problems

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return by kind how many there are, and how many of them failed."""
        every = Counter(one.kind for one in self.tests)
        lost = Counter(one.kind for one in self.failed)
        return {kind: (every[kind], lost[kind]) for kind in KINDS}


def check_files(reports: Iterable[Report]) -> list[SkillTest]:
    """Return a test for each file: errors of any reader fail it."""
    found = []
    for report in reports:
        errors = [one for one in report.diagnostics if one.severity is Severity.ERROR]
        others = [one for one in report.diagnostics if one.severity is Severity.WARNING]
        found.append(
            SkillTest(
                kind="validation",
                name=report.path,
                path=report.path,
                line=max((errors[0].line or 1) if errors else 1, 1),
                failures=tuple(f"line {one.line or 1}: {one.message}" for one in errors),
                notes=tuple(f"line {one.line or 1}: {one.message}" for one in others),
            )
        )
    return found


def check_scans(statuses: Iterable[SkillStatus]) -> list[SkillTest]:
    """Return a test for each skill: what the scanner blocks fails it."""
    return [
        SkillTest(
            kind="scan",
            name=status.skill.name,
            skill=status.skill.name,
            path=status.skill.path,
            failures=() if status.verdict.blocked is None else (status.verdict.blocked.reason,),
        )
        for status in statuses
    ]


def check_claims(checked: Iterable[SkillFreshness]) -> list[SkillTest]:
    """Return a test for each skill: every line that no longer holds fails it."""
    return [
        SkillTest(
            kind="freshness",
            name=one.skill.name,
            skill=one.skill.name,
            path=one.skill.path,
            line=one.stale[0].claim.line if one.stale else 1,
            failures=tuple(describe(claim) for claim in one.stale),
        )
        for one in checked
    ]


def check_triggers(suite: str, outcomes: Iterable[Outcome]) -> list[SkillTest]:
    """Return a test for each message of a suite."""
    return [
        SkillTest(
            kind="triggers",
            name=one.prompt[:_LONGEST],
            skill=", ".join(sorted(one.expected)),
            path=suite,
            failures=() if one.passed else (_explain(one),),
        )
        for one in outcomes
    ]


def _explain(one: Outcome) -> str:
    got = ", ".join(one.chosen) or f"none (first: {', '.join(one.ranked[:1]) or '-'})"
    wanted = ", ".join(sorted(one.expected)) or "none"
    if one.is_open:
        wanted = f"not {', '.join(sorted(one.forbidden))}"
    return f"expected {wanted}, got {got}: {one.prompt[:_LONGEST]}"


def check_budget(report: BudgetReport) -> list[SkillTest]:
    """Return a test for each harness; a description that is cut is told and no failure."""
    found = []
    for harness in report.harnesses:
        lost = [one.skill.name for one in harness.entries if one.fate is not Fate.SHOWN]
        notes = (f"{len(lost)} descriptions are cut or dropped: {', '.join(lost[:10])}",)
        found.append(
            SkillTest(kind="budget", name=harness.reader.value, notes=notes if lost else ())
        )
    return found


def join_tests(parts: Sequence[Sequence[SkillTest]], problems: Sequence[str]) -> SkillTests:
    """Return all parts as one run."""
    return SkillTests(tests=tuple(one for part in parts for one in part), problems=tuple(problems))
