"""Honest skills that look like attacks: none of them is quarantined."""

from tests.fixtures.scanning.cases import Case, read_cases
from tests.rows import each_row

from prowess.safety.model import Level, Profile, ScanVerdict
from prowess.safety.scan import ScanOptions, scan

CASES = read_cases("look_alikes")
CLASSES = 40


def test_the_honest_set_is_wide() -> None:
    assert len(CASES) >= 80
    assert len({case.category for case in CASES}) >= CLASSES


@each_row("case", CASES)
def test_an_honest_look_alike_has_no_critical_finding(case: Case) -> None:
    report = scan(case.files, Profile.PACKAGE, ScanOptions(skill=case.id))

    critical = [
        (found.rule_id, found.file, found.line, found.evidence)
        for found in report.findings
        if found.level is Level.CRITICAL
    ]
    assert critical == []
    assert report.verdict in {ScanVerdict.CLEAN, ScanVerdict.WARN}
