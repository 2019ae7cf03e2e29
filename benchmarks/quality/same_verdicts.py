"""Whether the scanner says of every case what it said before, for changes that change nothing.

    python benchmarks/quality/same_verdicts.py OUT.jsonl [--against BASE.jsonl] [--every N] [SET...]

Writes one line for each case of the development sets (`../shared/scanning/*.jsonl.xz` unless sets
are named): its verdict, and of every finding rule, level, file and line, with a hash of all that a
finding says. `--against` lists the cases that differ from an older file, and exits with 1 where
there are any; `--exact` compares the hashes too, so that a changed message or evidence counts.
`--every N` takes every N-th case of sets with more than 300. Cases that only one file holds are
not compared. Nothing has a clock here, so two runs of one tree are equal.
"""

import argparse
import hashlib
import json
import lzma
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from prowess.safety.model import Finding, Profile
from prowess.safety.scan import scan

_LARGE = 300


def find_sets() -> list[Path]:
    """Return the development sets: beside the repository, or beside the folder of worktrees."""
    folders = (folder / "shared" / "scanning" for folder in Path(__file__).resolve().parents)
    return next((sorted(each.glob("*.jsonl.xz")) for each in folders if each.is_dir()), [])


def read_cases(path: Path, every: int) -> Iterator[tuple[str, str]]:
    """Yield the name and the JSON text of each case of a set."""
    text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    lines = text.decode().splitlines()
    step = every if len(lines) > _LARGE else 1
    for number in range(0, len(lines), step):
        yield f"{path.name}:{number}", lines[number]


def describe(finding: Finding) -> list[Any]:
    """Return what is compared of a finding, with a hash of the rest at its end."""
    digest = hashlib.sha256(repr(finding).encode("utf-8", "replace")).hexdigest()[:12]
    return [finding.rule_id, finding.level.value, finding.file, finding.line, digest]


def scan_case(case: tuple[str, str]) -> dict[str, Any]:
    """Scan one case as a stranger's package."""
    name, line = case
    row = json.loads(line)
    files = {path: text.encode("utf-8", "surrogatepass") for path, text in row["files"].items()}
    report = scan(files, Profile.PACKAGE)
    return {
        "case": f"{name} {row['id']}",
        "verdict": report.verdict.value,
        "findings": sorted(describe(finding) for finding in report.findings),
    }


def compare(base: dict[str, Any], found: dict[str, Any], *, exact: bool) -> list[str]:
    """Return a line for each difference between two rows of one case."""
    cut = None if exact else -1
    before = {tuple(row[:cut]) for row in base["findings"]}
    now = {tuple(row[:cut]) for row in found["findings"]}
    lines = [f"  - {row}" for row in sorted(before - now)]
    lines += [f"  + {row}" for row in sorted(now - before)]
    if base["verdict"] != found["verdict"]:
        lines.insert(0, f"  {base['verdict']} -> {found['verdict']}")
    return lines


def list_differences(base_file: Path, rows: list[dict[str, Any]], *, exact: bool) -> int:
    """Print every case that differs from the file; return how many do."""
    base = {row["case"]: row for row in map(json.loads, base_file.read_text().splitlines())}
    shared = [row for row in rows if row["case"] in base]
    differing = 0
    for row in shared:
        if lines := compare(base[row["case"]], row, exact=exact):
            differing += 1
            print("\n".join((row["case"], *lines)))
    print(f"{differing} of {len(shared)} cases differ")
    return differing


def main() -> int:
    """Scan, write and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("sets", nargs="*", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    sets = options.sets or find_sets()
    cases = [case for path in sets for case in read_cases(path, options.every)]
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(scan_case, cases, chunksize=4))
    options.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(f"{len(rows)} cases")
    if options.against is None:
        return 0
    return int(list_differences(options.against, rows, exact=options.exact) > 0)


if __name__ == "__main__":
    sys.exit(main())
