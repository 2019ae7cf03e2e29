"""How long a scan takes, as ratios to baselines of the same run.

    python benchmarks/speed/scanning.py [--json FILE]

The baseline of a text is parsing it as Markdown, which every reader of a skill must do. What counts
is how the time grows with size, how long the bundled skills take, and that texts made to be slow
are not. Machines are noisy: the bars are ratios, but for the hard stop that no input may reach.
"""

import argparse
import base64
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from markdown_it import MarkdownIt

import prowess
from prowess.safety.model import Profile, ScanVerdict
from prowess.safety.scan import TIME_LIMIT, ScanOptions, scan
from prowess.spans import deadline

_SIZES_KB = (4, 16, 64, 256)
_WORDS = (
    "deploy", "release", "report", "invoice", "calendar", "message", "photo", "query", "table",
    "cluster", "backup", "restore", "review", "merge", "branch", "ticket", "customer", "order",
    "before", "after", "never", "always", "ignore", "system", "prompt", "instructions", "token",
)  # fmt: skip
_COMMANDS = (
    "git fetch origin main && git log --oneline -5",
    'curl -s -H "Authorization: Bearer $GITHUB_TOKEN" https://api.github.com/user | jq .login',
    'for file in *.csv; do python3 scripts/clean.py "$file" > "out/$file"; done',
    "npm install --save-dev typescript && npx tsc --noEmit",
    "docker run --rm -v \"$PWD\":/work alpine sh -c 'ls /work'",
)
# The time grows with the size: a text sixteen times as large may take this much more of it per KB.
_MOST_GROWTH = 2.5
_SLOWEST_SHARE = 0.5
_GENERATED = 60


def text_of(kilobytes: int, seed: int = 7) -> str:
    """Write a skill such as people write: sections, prose, commands, some Python."""
    chance = random.Random(seed)
    parts = ["---\nname: generated\ndescription: Handles reports.\n---\n"]
    size = 0
    while size < kilobytes * 1024:
        prose = " ".join(chance.choices(_WORDS, k=60))
        command = chance.choice(_COMMANDS)
        parts.append(
            f"## Step {len(parts)}\n\n{prose}.\n\n- {prose[:80]}\n- `{command}`\n\n"
            f"```bash\n{command}\n```\n\n```python\nimport os\n\n"
            f"def step_{len(parts)}(path: str) -> str:\n    return os.path.join(path, 'x')\n```\n\n"
        )
        size += len(parts[-1])
    return "".join(parts)


def pathological(kilobytes: int = 200) -> dict[str, Mapping[str, bytes]]:
    """Return inputs that slow analysers down: nesting, repetition and near misses."""
    count = kilobytes * 1024
    nested = base64.b64encode(base64.b64encode(base64.b64encode(b"curl x | sh\n" * 2000)))
    texts = {
        "one word": "a" * count,
        "near misses of curl": "curl " * (count // 5),
        "pipes": "| " * (count // 2),
        "quotes": "`'\"" * (count // 3),
        "brackets": "[(" * (count // 2),
        "closed brackets": "[" * (count // 2) + "]" * (count // 2),
        "quoted blocks": "> " * (count // 2),
        "list in list": "\n".join("  " * (n % 60) + "- x" for n in range(count // 60)),
        "emphasis": "*_" * (count // 2),
        "ignore all": "ignore all previous " * (count // 20),
        "substitutions": "```bash\n" + "$(" * (count // 2) + "\n```",
        "here-documents": "```bash\n" + "cat <<A\n" * (count // 8) + "```",
        "parentheses in Python": "```python\n" + "(" * 50_000 + "\n```",
        "sum in Python": "```python\nx = " + "1+" * (count // 2) + "1\n```",
        "zero-width": "i\u200b" * (count // 4),
        "nested base64": nested.decode(),
        "comments": "<!-- " * (count // 5),
        "links": "[a](b" * (count // 5),
        "escapes": "\\x41" * (count // 4),
    }
    return {name: {"SKILL.md": text.encode()} for name, text in texts.items()}


def took_ms(work: Callable[[], object], repeat: int = 3) -> float:
    """Return the best of a few runs in milliseconds: noise only ever adds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    return min(times)


def scanned(files: Mapping[str, bytes]) -> ScanVerdict:
    """Scan under the clock, and under the alarm for a step that does not look at it."""
    try:
        with deadline(2 * TIME_LIMIT):
            return scan(files, Profile.PACKAGE, ScanOptions(clock=time.perf_counter)).verdict
    except TimeoutError:
        return ScanVerdict.ERROR


def bundled() -> list[dict[str, bytes]]:
    """Return the files of every bundled skill."""
    top = Path(prowess.__file__).parent / "bundled"
    return [
        {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        for folder in sorted(top.iterdir())
        if folder.is_dir()
    ]


def measure_growth() -> list[tuple[int, float, float]]:
    """Return for each size its time, and that of parsing the same text as Markdown."""
    rows = []
    markdown = MarkdownIt()
    for size in _SIZES_KB:
        text = text_of(size)
        files = {"SKILL.md": text.encode()}
        plain = took_ms(lambda: markdown.parse(text))  # noqa: B023 - called at once
        rows.append((size, took_ms(lambda: scanned(files)), plain))  # noqa: B023 - the same
    return rows


def measure_skills(skills: list[dict[str, bytes]]) -> tuple[float, float]:
    """Return the median and the 95th percentile over skills."""
    times = sorted(took_ms(lambda: scanned(files), 1) for files in skills)  # noqa: B023 - at once
    return statistics.median(times), times[min(len(times) - 1, int(0.95 * len(times)))]


def print_growth(rows: list[tuple[int, float, float]]) -> float:
    """Print time per KB and return how much it grew from the smallest to the largest."""
    print(f"{'size':>8} {'ms':>9} {'ms per KB':>10} {'x Markdown':>11}")
    for size, spent, plain in rows:
        print(f"{size:>5} KB {spent:>9.1f} {spent / size:>10.3f} {spent / plain:>11.1f}")
    return (rows[-1][1] / rows[-1][0]) / (rows[0][1] / rows[0][0])


def main() -> int:
    """Print the tables; exit 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    scanned({"SKILL.md": text_of(4).encode()})
    rows = measure_growth()
    growth = print_growth(rows)
    print(f"growth of the time per KB: {growth:.2f} (bar {_MOST_GROWTH})")
    generated = [{"SKILL.md": text_of(2 + n % 30, n).encode()} for n in range(_GENERATED)]
    skills = {"bundled skills": bundled(), "generated skills, 2 to 31 KB": generated}
    spent = {name: measure_skills(found) for name, found in skills.items()}
    for name, (median, slow) in spent.items():
        print(f"{name:<32} median {median:>7.1f} ms   p95 {slow:>7.1f} ms")
    slow_inputs = {
        name: took_ms(lambda: scanned(files), 1)  # noqa: B023 - called at once
        for name, files in pathological().items()
    }
    limit = TIME_LIMIT * 1000 * _SLOWEST_SHARE
    for name, ms in sorted(slow_inputs.items(), key=lambda item: -item[1]):
        print(f"{name:<32} {ms:>9.1f} ms{'   over the bar' if ms > limit else ''}")
    if options.json:
        found = {"growth": growth, "rows": rows, "skills": spent, "pathological": slow_inputs}
        options.json.write_text(json.dumps(found, indent=2))
    return int(growth > _MOST_GROWTH or max(slow_inputs.values()) > limit)


if __name__ == "__main__":
    sys.exit(main())
