"""An acceptance covers one finding of one skill, exactly as it was."""

from dataclasses import replace

from tests.rows import each_row

from prowess.safety.model import Confidence, Finding, Level
from prowess.safety.paths import content_hash
from prowess.safety.rules.table import Acceptance, apply_acceptances, read_version

FINDING = Finding(
    rule_id="shell-pipe-to-shell",
    level=Level.CRITICAL,
    confidence=Confidence.HIGH,
    file="SKILL.md",
    line=3,
    column=1,
    message="runs a script",
    evidence="curl … | sh",
    evidence_hash="e1",
    lowered_by=("quoted",),
)
YES = Acceptance(
    skill="tides",
    rule_id="shell-pipe-to-shell",
    evidence_hash="e1",
    content_hash="c1",
    scanner=read_version(),
    reason="our own server",
    accepted_at="2026-11-01T00:00:00Z",
)


def test_an_accepted_finding_is_information_and_says_why() -> None:
    seen = apply_acceptances(FINDING, "tides", "c1", [YES])

    assert (seen.level, seen.lowered_by) == (Level.INFO, ("quoted", "accepted"))


@each_row(
    "other",
    [
        replace(YES, skill="tide"),
        replace(YES, rule_id="reverse-shell"),
        replace(YES, evidence_hash="e2"),
        replace(YES, content_hash="c2"),
        replace(YES, scanner="0"),
    ],
)
def test_an_acceptance_of_anything_else_leaves_the_finding(other: Acceptance) -> None:
    assert apply_acceptances(FINDING, "tides", "c1", [other]) is FINDING
    assert apply_acceptances(FINDING, "tides", "c1", [other, YES]).level is Level.INFO


def test_a_scan_that_did_not_finish_cannot_be_accepted() -> None:
    broken = replace(FINDING, rule_id="scan-incomplete")

    assert (
        apply_acceptances(broken, "tides", "c1", [replace(YES, rule_id="scan-incomplete")])
        is broken
    )


def test_information_needs_no_acceptance() -> None:
    light = replace(FINDING, level=Level.INFO)

    assert apply_acceptances(light, "tides", "c1", [YES]) is light


def test_the_hash_of_the_content_knows_every_path_and_byte_but_no_order() -> None:
    files = {"a": b"1", "b": b"2"}

    assert content_hash(files) == content_hash({"b": b"2", "a": b"1"})
    others = ({"a": b"1"}, {"a": b"12", "b": b""}, {"ab": b"1", "": b"2"}, {**files, "c": b""})
    assert len({content_hash(each) for each in (files, *others)}) == 5


def test_a_path_that_is_no_text_still_has_a_hash() -> None:
    assert content_hash({"a\udcff": b""}) != content_hash({"a": b""})
