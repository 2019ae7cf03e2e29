"""Every diagnostic code, with its severity and what to do about it: `diagnostics.toml`."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from prowess.data import read_table
from prowess.skills.model import Diagnostic, Severity


class DiagnosticCode(NamedTuple):
    """A row of the diagnostics reference."""

    code: str
    severity: Severity
    meaning: str
    fix: str


@cache
def read_codes() -> Mapping[str, DiagnosticCode]:
    """Return every code with what there is to say of it."""
    return {
        code: DiagnosticCode(code, Severity(severity), meaning, fix)
        for code, (severity, meaning, fix) in read_table("skills/diagnostics.toml").items()
    }


def diagnose(
    code: str,
    message: str,
    *,
    path: str = "",
    line: int | None = None,
) -> Diagnostic:
    """Make the diagnostic `code`, whose severity and fix come from the table."""
    row = read_codes()[code]
    return Diagnostic(
        code=code,
        severity=row.severity,
        message=message,
        path=path,
        line=line,
        fix=row.fix,
    )
