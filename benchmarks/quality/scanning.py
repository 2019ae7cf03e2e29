"""How much harm the scanner finds, and how much else with it, beside the seven first rules.

    python benchmarks/quality/scanning.py SET.jsonl[.xz]... [--profile package] [--json FILE]
        [--rates benchmarks/quality/rates.toml]

Each set is scanned twice: by the scanner, and by the seven rules as they were first written down,
on the raw text. Shares are of samples with a critical finding, with Wilson 95 % intervals.
`--rates` writes on how many benign samples each rule fires; the page of the rules shows it.
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from prowess.evaluation.scanning import (
    Figures,
    Label,
    LabelGroup,
    LabelledSkill,
    SampleSet,
    Trial,
    seven_rules,
    tabulate,
    trial_of,
)
from prowess.host.evaluation import read_set
from prowess.safety.model import Level, Profile, ScanReport
from prowess.safety.scan import ScanOptions, scan
from prowess.wire.safety import figures as shown

_HEADS = ("n", "critical %", "95 %", "any %", "ms", "p95")


class RuleRates:
    """On how many benign samples each rule fires."""

    def __init__(self) -> None:
        """Begin with no samples."""
        self._samples = 0
        self._counts: Counter[tuple[str, Level]] = Counter()

    def add(self, report: ScanReport) -> None:
        """Count one benign sample."""
        self._samples += 1
        heaviest: dict[str, Level] = {}
        for found in report.findings:
            level = heaviest.get(found.rule_id, found.level)
            heaviest[found.rule_id] = min(level, found.level, key=lambda each: each.rank)
        self._counts.update(heaviest.items())

    def write(self, path: Path) -> None:
        """Write the counts as a table."""
        lines = ["# Written by scanning.py --rates.", f"samples = {self._samples}", "", "[rules]"]
        for rule in sorted({rule for rule, _ in self._counts}):
            critical, warn = (self._counts[rule, each] for each in (Level.CRITICAL, Level.WARN))
            if critical or warn:
                lines.append(f"{rule} = {{ critical = {critical}, warn = {warn} }}")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def ours(sample: LabelledSkill, profile: Profile, rates: RuleRates) -> Trial:
    """Scan one sample as a stranger would: nothing accepted and no settings."""
    report = scan(sample.files, profile, ScanOptions(clock=time.thread_time))
    if sample.label is Label.BENIGN:
        rates.add(report)
    return trial_of(sample, report)


def measure(one: SampleSet, profile: Profile, rates: RuleRates) -> list[Figures]:
    """Return both scanners on one set."""
    return [
        tabulate(one.name, "prowess", [ours(sample, profile, rates) for sample in one.samples]),
        tabulate(
            one.name,
            "seven rules",
            [seven_rules(sample, time.thread_time) for sample in one.samples],
        ),
    ]


def cells(group: LabelGroup, found: Figures) -> tuple[str, ...]:
    """Return the figures of one label as texts."""
    low, high = group.critical.bounds or (0.0, 0.0)
    return (
        str(group.critical.of),
        f"{100 * (group.critical.value or 0):.1f}",
        f"{100 * low:.1f}-{100 * high:.1f}",
        f"{100 * (group.any.value or 0):.1f}",
        f"{found.ms_median or 0:.1f}",
        f"{found.ms_p95 or 0:.1f}",
    )


def print_rows(rows: list[Figures]) -> None:
    """Print one set: a line for each label and scanner."""
    print(f"\n{rows[0].name:<36}" + "".join(f"{head:>12}" for head in _HEADS))
    for label in Label:
        for found in rows:
            group = found.group(label)
            if group is not None:
                line = "".join(f"{cell:>12}" for cell in cells(group, found))
                print(f"{label.value:<12}{found.method:<24}{line}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--profile", choices=[str(one) for one in Profile], default="package")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rates", type=Path)
    options = parser.parse_args()
    kept: list[Figures] = []
    rates = RuleRates()
    for path in options.sets:
        rows = measure(read_set(path), Profile(options.profile), rates)
        print_rows(rows)
        kept += rows
    if options.rates:
        rates.write(options.rates)
    if options.json:
        options.json.write_text(json.dumps([shown(row) for row in kept], indent=2))


if __name__ == "__main__":
    main()
