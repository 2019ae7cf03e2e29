"""How well the scanner tells harmful skills from honest ones, on samples whose label is known.

A share comes with its Wilson interval, because the sets are small and a bare percentage pretends to
know more than it does. A figure that has nothing to measure is None, never zero.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from prowess.reading.views import View
from prowess.safety.model import Level, ScanReport, ScanVerdict
from prowess.safety.prose.patterns import find_literal_hits
from prowess.safety.rules.table import read_rules

# Two-sided 95 %.
_Z = 1.959963984540054
_P95 = 0.95


class Label(StrEnum):
    """What a sample is known to be."""

    MALICIOUS = "malicious"
    SUSPICIOUS = "suspicious"
    BENIGN = "benign"


@dataclass(frozen=True, slots=True)
class LabelledSkill:
    """One labelled skill."""

    id: str
    label: Label
    category: str
    files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class SampleSet:
    """The samples of one file."""

    name: str
    samples: tuple[LabelledSkill, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """What a scanner said of one sample: the heaviest level of each rule that it met."""

    sample: LabelledSkill
    rules: Mapping[str, Level]
    failed: bool = False
    took_ms: float | None = None

    @property
    def is_critical(self) -> bool:
        """True where the skill is kept out; a scan that failed keeps nothing out by merit."""
        return Level.CRITICAL in self.rules.values() and not self.failed

    @property
    def has_any(self) -> bool:
        """True where a person is told of something."""
        return any(level is not Level.INFO for level in self.rules.values())

    @property
    def is_wrong(self) -> bool:
        """True for a harmful skill that is let in and an honest one that is kept out."""
        if self.sample.label is Label.MALICIOUS:
            return not self.is_critical
        return self.sample.label is Label.BENIGN and (self.is_critical or self.failed)


@dataclass(frozen=True, slots=True)
class Share:
    """Some of all, and between which bounds the true share lies in 19 of 20 cases."""

    hits: int
    of: int

    @property
    def value(self) -> float | None:
        """From 0 to 1; None where there is nothing to count."""
        return self.hits / self.of if self.of else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The Wilson interval."""
        return wilson(self.hits, self.of) if self.of else None


@dataclass(frozen=True, slots=True)
class LabelGroup:
    """The samples of one label, or of one category of it."""

    label: Label
    category: str
    critical: Share
    any: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One scanner on one set."""

    name: str
    method: str
    groups: tuple[LabelGroup, ...]
    categories: tuple[LabelGroup, ...]
    # For honest samples: rule -> how many of them it met, by level.
    on_benign: Mapping[str, Mapping[Level, int]]
    wrong: tuple[Trial, ...]
    errors: int
    ms_median: float | None
    ms_p95: float | None

    def group(self, label: Label) -> LabelGroup | None:
        """Return the samples of a label, where the set has any."""
        return next((group for group in self.groups if group.label is label), None)


def trial_of(sample: LabelledSkill, report: ScanReport) -> Trial:
    """Return what matters of a report for the figures."""
    rules: dict[str, Level] = {}
    for finding in report.findings:
        known = rules.get(finding.rule_id, Level.INFO)
        rules[finding.rule_id] = min(known, finding.level, key=lambda level: level.rank)
    return Trial(sample, rules, report.verdict is ScanVerdict.ERROR, report.took_ms)


def seven_rules(sample: LabelledSkill, clock: Callable[[], float]) -> Trial:
    """Try the seven rules as first written down, on the text as it stands."""
    begun = clock()
    rules: dict[str, Level] = {}
    for path, data in sample.files.items():
        for seen in find_literal_hits(View.raw(path, data.decode("utf-8", "replace"))):
            rules[seen.rule_id] = read_rules()[seen.rule_id].level
    return Trial(sample, rules, took_ms=(clock() - begun) * 1000)


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share by Wilson's score."""
    share, square = hits / of, _Z * _Z
    middle = share + square / (2 * of)
    spread = _Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    whole = 1 + square / of
    # At the ends the bound is the end itself, not what rounding leaves of it.
    low = 0.0 if hits == 0 else (middle - spread) / whole
    high = 1.0 if hits == of else (middle + spread) / whole
    return low, high


def tabulate(name: str, method: str, trials: Sequence[Trial]) -> Figures:
    """Return the figures of one scanner on one set."""
    by_label: dict[Label, list[Trial]] = defaultdict(list)
    by_category: dict[tuple[Label, str], list[Trial]] = defaultdict(list)
    for trial in trials:
        by_label[trial.sample.label].append(trial)
        by_category[trial.sample.label, trial.sample.category].append(trial)
    times = sorted(trial.took_ms for trial in trials if trial.took_ms is not None)
    return Figures(
        name=name,
        method=method,
        groups=tuple(_group(label, "", by_label[label]) for label in Label if label in by_label),
        categories=tuple(
            _group(label, category, by_category[label, category])
            for label, category in sorted(by_category, key=_label_then_name)
        ),
        on_benign=_rules_of(by_label[Label.BENIGN]),
        wrong=tuple(trial for trial in trials if trial.is_wrong),
        errors=sum(trial.failed for trial in trials),
        ms_median=median(times) if times else None,
        ms_p95=times[math.ceil(_P95 * len(times)) - 1] if times else None,
    )


def figure(figures: Figures, key: str) -> float | None:
    """Return one figure by name, shares in percent; None where the set cannot tell.

    Raises:
        KeyError: there is no figure of that name.
    """
    label, part = _SHARES.get(key, (None, ""))
    if label is not None:
        group = figures.group(label)
        share: Share | None = None if group is None else getattr(group, part)
        value = None if share is None else share.value
        return None if value is None else 100 * value
    return _PLAIN[key](figures)


_SHARES = {
    "recall": (Label.MALICIOUS, "critical"),
    "any-recall": (Label.MALICIOUS, "any"),
    "false": (Label.BENIGN, "critical"),
    "any-false": (Label.BENIGN, "any"),
}
_PLAIN: Mapping[str, Callable[[Figures], float | None]] = {
    "errors": lambda figures: figures.errors,
    "ms-median": lambda figures: figures.ms_median,
    "ms-p95": lambda figures: figures.ms_p95,
}
FIGURES = (*_SHARES, *_PLAIN)


def _group(label: Label, category: str, trials: Sequence[Trial]) -> LabelGroup:
    return LabelGroup(
        label,
        category,
        Share(sum(trial.is_critical for trial in trials), len(trials)),
        Share(sum(trial.has_any for trial in trials), len(trials)),
    )


def _label_then_name(key: tuple[Label, str]) -> tuple[int, str]:
    return tuple(Label).index(key[0]), key[1]


def _rules_of(trials: Iterable[Trial]) -> dict[str, Mapping[Level, int]]:
    counts: dict[str, Counter[Level]] = defaultdict(Counter)
    for trial in trials:
        for rule, level in trial.rules.items():
            counts[rule][level] += 1
    heaviest = sorted(counts, key=lambda rule: (*(-counts[rule][level] for level in Level), rule))
    return {rule: dict(counts[rule]) for rule in heaviest}
