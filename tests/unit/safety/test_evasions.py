"""Every known way to hide an attack from a scanner: it is still found, on its raw line."""

from tests.fixtures.scanning.cases import Case, read_cases
from tests.rows import each_row

from prowess.safety.model import Finding, Level, Profile, ScanReport, ScanVerdict
from prowess.safety.scan import scan

CASES = read_cases("evasion")
TASKS = read_cases("tasks")
PLACED = [case for case in CASES if case.at]
TECHNIQUES = {"u": 9, "m": 15, "f": 7, "s": 35, "p": 12, "j": 3, "x": 13}


def heavy(report: ScanReport, case: Case) -> list[Finding]:
    """Return the findings that weigh enough for the technique."""
    enough = {Level.CRITICAL} if case.at_least == "critical" else {Level.CRITICAL, Level.WARN}
    return [finding for finding in report.findings if finding.level in enough]


def said(report: ScanReport) -> list[tuple[str, str, str, int]]:
    """Return what was found instead, for the message of a failing test."""
    return [(found.level, found.rule_id, found.file, found.line) for found in report.findings]


def test_every_technique_of_the_catalogue_has_a_case() -> None:
    known = {
        f"{kind}{number:02}" for kind, count in TECHNIQUES.items() for number in range(1, count + 1)
    }

    assert {case.category for case in CASES} == known


@each_row("case", CASES)
def test_a_hidden_attack_is_quarantined(case: Case) -> None:
    report = scan(case.files, Profile.PACKAGE)

    assert heavy(report, case), said(report)
    if case.at_least == "critical":
        assert report.verdict is ScanVerdict.QUARANTINE, said(report)
    else:
        assert report.verdict in {ScanVerdict.WARN, ScanVerdict.QUARANTINE}


@each_row("case", PLACED)
def test_the_finding_stands_on_the_raw_line_of_the_payload(case: Case) -> None:
    report = scan(case.files, Profile.PACKAGE)

    assert case.at in {(found.file, found.line) for found in heavy(report, case)}, said(report)


@each_row("case", CASES)
def test_an_attack_that_a_package_may_not_bring_an_agent_may_not_propose(case: Case) -> None:
    assert heavy(scan(case.files, Profile.PROPOSAL), case)


@each_row("case", TASKS)
def test_a_task_that_works_for_somebody_else_is_quarantined(case: Case) -> None:
    report = scan(case.files, Profile.PACKAGE)

    assert report.verdict is ScanVerdict.QUARANTINE, said(report)
