"""How much harm the scanner finds, and how much else with it, beside the seven first rules.

    python benchmarks/quality/scanning.py SET.jsonl[.xz]... [--profile package] [--json FILE]

Each set is scanned twice: by the scanner, and by the seven rules as they were first written down,
on the raw text. Shares are of samples with a critical finding, with Wilson 95 % intervals.
"""

import argparse
import json
import time
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
from prowess.safety.model import Profile
from prowess.safety.scan import ScanOptions, scan
from prowess.wire.safety import figures as shown

_HEADS = ("n", "critical %", "95 %", "any %", "ms", "p95")


def ours(sample: LabelledSkill, profile: Profile) -> Trial:
    """Scan one sample as a stranger would: nothing accepted and no settings."""
    return trial_of(sample, scan(sample.files, profile, ScanOptions(clock=time.perf_counter)))


def measure(one: SampleSet, profile: Profile) -> list[Figures]:
    """Return both scanners on one set."""
    return [
        tabulate(one.name, "prowess", [ours(sample, profile) for sample in one.samples]),
        tabulate(
            one.name,
            "seven rules",
            [seven_rules(sample, time.perf_counter) for sample in one.samples],
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
    options = parser.parse_args()
    kept: list[Figures] = []
    for path in options.sets:
        rows = measure(read_set(path), Profile(options.profile))
        print_rows(rows)
        kept += rows
    if options.json:
        options.json.write_text(json.dumps([shown(row) for row in kept], indent=2))


if __name__ == "__main__":
    main()
