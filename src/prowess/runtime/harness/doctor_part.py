"""Looks at every connection and at this installation, and says what is wrong and what to do.

A check never ends the examination: what it raises is a finding like any other. A problem is what
keeps something from working; a warning is what a person may want otherwise.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from prowess.errors import ProwessError

_REPORT = "Set PROWESS_DEBUG=1, run the command that fails, and report what it prints."


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One sentence about one thing, and what to do about it where there is something to do."""

    area: str
    level: Level
    text: str
    todo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Something to look at; `area` is what its findings are listed under."""

    area: str
    title: str
    look: Callable[[], Iterable[Finding]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """All that was found, in the order in which it was looked at."""

    findings: tuple[Finding, ...]

    def count(self, level: Level) -> int:
        """Return how many findings there are of a level."""
        return sum(finding.level is level for finding in self.findings)

    @property
    def well(self) -> bool:
        """Whether nothing is broken."""
        return not self.count(Level.PROBLEM)


def examine(
    checks: Sequence[Check], progress: Callable[[str, int, int], None] = lambda *_: None
) -> Examination:
    """Look at everything, one check after the other."""
    found: list[Finding] = []
    for number, check in enumerate(checks):
        progress(check.title, number, len(checks))
        found += _looked(check)
    return Examination(findings=tuple(found))


def _looked(check: Check) -> list[Finding]:
    try:
        return list(check.look())
    except ProwessError as error:
        return [Finding(area=check.area, level=Level.PROBLEM, text=str(error))]
    # Whatever is broken here is what somebody wants to know; the other checks go on.
    except Exception as error:  # noqa: BLE001
        text = f"{check.title} could not be checked ({type(error).__name__})."
        return [Finding(area=check.area, level=Level.PROBLEM, text=text, todo=_REPORT)]
