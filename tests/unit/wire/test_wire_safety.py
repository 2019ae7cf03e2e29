"""The JSON of the scanner: names that clients rely on, and nothing that cannot be seen."""

from prowess.evaluation.scanning import Label, LabelledSkill, Trial, tabulate
from prowess.runtime.scan import Scanned, Target, failed
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
from prowess.safety.paths import visible
from prowess.safety.rules.table import Acceptance, read_examples, read_rules, read_version
from prowess.wire import safety as wire_safety

FINDING = Finding(
    rule_id="odd-name",
    level=Level.WARN,
    confidence=Confidence.MEDIUM,
    file="odd\udcff\x1b.md",
    line=3,
    column=7,
    message="a message",
    evidence="ol\u00e9 \u202e",
    evidence_hash="abc",
    views=("base64", "shell"),
    lowered_by=("quoted",),
)


def _scanned(name: str, *findings: Finding, verdict: ScanVerdict = ScanVerdict.WARN) -> Scanned:
    ledger = (LedgerEntry("SKILL.md", Handling.SCANNED, 5),)
    report = ScanReport(verdict, findings, ledger, 1.23456)
    return Scanned(Target(path=f"/skills/{name}", name=name), Profile.PACKAGE, report)


def test_one_skill_is_shown_as_it_is() -> None:
    assert wire_safety.scans([_scanned("a", FINDING)]) == {
        "verdict": "warn",
        "findings": [
            {
                "ruleId": "odd-name",
                "severity": "warn",
                "file": "odd\\xff\\x1b.md",
                "line": 3,
                "column": 7,
                "message": "a message",
                "evidence": "ol\u00e9 \\u202e",
                "views": ["base64", "shell"],
                "confidence": "medium",
                "why": "",
                "fix": "",
                "loweredBy": ["quoted"],
                "evidenceHash": "abc",
            }
        ],
        "ledger": [{"path": "SKILL.md", "handling": "scanned", "size": 5, "reason": ""}],
        "tookMs": 1.23,
    }


def test_several_skills_are_listed_under_the_worst_verdict() -> None:
    clean = _scanned("a", verdict=ScanVerdict.CLEAN)
    target = Target(path="/skills/b", name="b", problem="is gone")
    broken = Scanned(target, Profile.PACKAGE, failed("is gone"))

    shown = wire_safety.scans([clean, broken])

    assert shown["verdict"] == "error"
    assert [(one["name"], one["verdict"]) for one in shown["skills"]] == [
        ("a", "clean"),
        ("b", "error"),
    ]
    assert wire_safety.scans([])["verdict"] == "clean"


def test_text_is_made_visible_however_long_it_is() -> None:
    assert visible("x" * 1000 + "\u200b") == "x" * 1000 + "\\u200b"


def test_a_rule_says_what_it_weighs_under_each_profile() -> None:
    for rule in read_rules().values():
        shown = wire_safety.rule(rule)

        assert set(shown["levels"]) == {"proposal", "package", "bundled"}
        assert bool(shown["fires"]) is bool(read_examples(rule.id).fires)


def test_an_acceptance_of_another_scanner_has_lapsed() -> None:
    given = Acceptance(
        skill="a",
        rule_id="r",
        evidence_hash="e",
        content_hash="c",
        scanner=read_version(),
        reason="why",
        accepted_at="now",
    )

    assert wire_safety.acceptance(given)["lapsed"] is False


def test_figures_are_in_percent_and_have_their_bounds() -> None:
    sample = LabelledSkill("x", Label.MALICIOUS, "c", {})

    shown = wire_safety.figures(tabulate("s", "m", [Trial(sample, {"r": Level.CRITICAL})]))

    critical = shown["malicious"]["critical"]
    assert critical == {"count": 1, "percent": 100, "low": 20.65, "high": 100}
    assert shown["msMedian"] is None
    assert "benign" not in shown
