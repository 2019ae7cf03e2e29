"""SARIF 2.1.0, and validation reports in it, for code hosts that show findings beside the lines."""

import os
from collections.abc import Sequence
from urllib.parse import quote

from prowess import __version__
from prowess.skills.model import Diagnostic, Severity, read_codes
from prowess.skills.text import clean
from prowess.skills.validation import Report
from prowess.wire.skills import Json

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def to_sarif(reports: Sequence[Report]) -> Json:
    """Return `reports` as one SARIF log."""
    found = [problem for report in reports for problem in report.diagnostics]
    codes = sorted({problem.code for problem in found})
    return log([_rule(code) for code in codes], [_result(problem, codes) for problem in found])


def log(rules: Sequence[Json], results: Sequence[Json]) -> Json:
    """Return a SARIF log of one run."""
    driver = {"name": "prowess", "version": __version__, "rules": list(rules)}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "results": list(results),
                "columnKind": "unicodeCodePoints",
            }
        ],
    }


def _rule(code: str) -> Json:
    row = read_codes()[code]
    return {
        "id": code,
        "shortDescription": {"text": row.meaning},
        "help": {"text": row.fix},
        "defaultConfiguration": {"level": _LEVELS[row.severity]},
    }


def _result(problem: Diagnostic, codes: Sequence[str]) -> Json:
    return {
        "ruleId": problem.code,
        "ruleIndex": codes.index(problem.code),
        "level": _LEVELS[problem.severity],
        "message": {"text": clean(f"{problem.message}. {problem.fix}")},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri(problem.path)},
                    "region": {"startLine": max(problem.line or 1, 1)},
                }
            }
        ],
    }


def uri(path: str) -> str:
    """Return a file's address, relative below the current folder, as code hosts expect."""
    relative = os.path.relpath(path)
    if relative.startswith(".."):
        return "file://" + quote(os.fsencode(os.path.abspath(path)))
    return quote(os.fsencode(relative.replace(os.sep, "/")))
