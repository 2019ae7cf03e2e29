"""What is known of a skill's lift: the last verdict, and whether it still counts.

A verdict belongs to one text, one model and one harness. Where one of them is another now it has
lapsed, and the skill is unproven again, whatever was shown before.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

UNPROVEN = "unproven"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofVerdict:
    """One verdict, and all that it depends on."""

    verdict: str
    mean: float
    low: float
    high: float
    tasks: int
    model: str
    harness: str
    date: str
    digest: str

    def fields(self) -> dict[str, object]:
        """Return it as it is kept."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofState:
    """Where a skill stands now: proven, harmful, inconclusive or unproven."""

    state: str = UNPROVEN
    last: ProofVerdict | None = None
    # Why the last verdict does not count any more.
    lapsed: str = ""

    def describe(self) -> str:
        """Return one line for a person."""
        if self.last is None:
            return UNPROVEN
        last = self.last
        lift = f"{100 * last.mean:+.0f} points ({100 * last.low:+.0f} to {100 * last.high:+.0f})"
        model = f", {last.model}" if last.model else ""
        said = f"{last.verdict}: {lift} over {last.tasks} tasks, {last.harness}{model}, {last.date}"
        return f"{UNPROVEN} ({self.lapsed}; was {said})" if self.lapsed else said


def find_state(
    known: Mapping[str, ProofVerdict], path: str, digest: str, *, model: str = "", harness: str = ""
) -> ProofState:
    """Return where a skill stands.

    Args:
        known: the last verdicts by path.
        path: the skill's.
        digest: of its files as they are now.
        model: the one in use, where that is known.
        harness: the one in use, where that is known.
    """
    last = known.get(path)
    if last is None:
        return ProofState()
    lapsed = ""
    if last.digest != digest:
        lapsed = "the skill changed since"
    elif model and last.model != model:
        lapsed = f"shown with {last.model or 'another model'}"
    elif harness and last.harness != harness:
        lapsed = f"shown with {last.harness}"
    return ProofState(state=UNPROVEN if lapsed else last.verdict, last=last, lapsed=lapsed)
