"""Scan reports as SARIF 2.1.0, for code hosts that show findings beside the lines."""

from collections.abc import Sequence
from pathlib import Path

from prowess.cli.sarif import log, uri
from prowess.runtime.scan import Scanned
from prowess.safety.model import Finding, Level, Rule
from prowess.safety.rules.table import RULES
from prowess.wire.safety import visible
from prowess.wire.skills import Json

_LEVELS = {Level.CRITICAL: "error", Level.WARN: "warning", Level.INFO: "note"}
# What code hosts sort security findings by.
_SEVERITIES = {Level.CRITICAL: "9.0", Level.WARN: "5.0", Level.INFO: "1.0"}


def to_sarif(found: Sequence[Scanned]) -> Json:
    """Return all reports as one SARIF log."""
    pairs = [(scanned, finding) for scanned in found for finding in scanned.report.findings]
    names = sorted({finding.rule_id for _, finding in pairs})
    results = [_result(scanned, finding, names) for scanned, finding in pairs]
    failed = [scanned.report.error for scanned in found if scanned.report.error]
    made = log([_rule(RULES[name]) for name in names], results)
    made["runs"][0]["invocations"] = [
        {
            "executionSuccessful": not failed,
            "toolExecutionNotifications": [
                {"level": "error", "message": {"text": visible(problem)}} for problem in failed
            ],
        }
    ]
    return made


def _rule(rule: Rule) -> Json:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.why} {rule.fix}"},
        "defaultConfiguration": {"level": _LEVELS[rule.level]},
        "properties": {
            "tags": ["security", rule.family],
            "security-severity": _SEVERITIES[rule.level],
        },
    }


def _result(scanned: Scanned, finding: Finding, names: Sequence[str]) -> Json:
    views = f" (read as {' -> '.join(finding.views)})" if finding.views else ""
    return {
        "ruleId": finding.rule_id,
        "ruleIndex": names.index(finding.rule_id),
        "level": _LEVELS[finding.level],
        "message": {"text": f"{visible(finding.message)}{views}. {finding.fix}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri(_path(scanned, finding))},
                    "region": {
                        "startLine": finding.line,
                        "startColumn": finding.column,
                        "snippet": {"text": visible(finding.evidence)},
                    },
                }
            }
        ],
        # Stays the same when lines move, so that a host recognises the finding.
        "partialFingerprints": {"prowessEvidence/v1": finding.evidence_hash},
        "properties": {
            "confidence": finding.confidence.value,
            "skill": scanned.target.name,
            "views": list(finding.views),
            "loweredBy": list(finding.lowered_by),
        },
    }


def _path(scanned: Scanned, finding: Finding) -> str:
    """Return the file on disk: of a file inside another one, the one around it."""
    outer = scanned.target.path.partition("!")[0]
    inner = finding.file.partition("!")[0]
    return str(Path(outer) / inner) if inner and Path(outer).is_dir() else outer
