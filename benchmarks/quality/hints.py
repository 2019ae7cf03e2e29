"""How quiet hints are with everyday prompts, and how right with fitting ones.

    python -m benchmarks.quality.hints [--set unseen] [--public DIR]

The skills and prompts are in `hints.toml`, which says what the bar in `runtime.route.answer` was
set by, and by which prompts it was not. With `--public` the skills are those of a labelled set, as
long as their authors wrote them, and the fitting prompts those of `public`.
"""

import argparse
import json
import lzma
import os
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

from prowess.hooks.samples import SAMPLES
from prowess.wiring import open_runtime
from prowess.wiring.hook import answer_hook

_MOST_ORDINARY, _LEAST_FITTING = 4, 18


def read_pages(folder: Path) -> dict[str, tuple[str, str]]:
    """Return description and body of each skill of a labelled set."""
    with lzma.open(folder / "skills.jsonl.xz", "rt", encoding="utf-8") as lines:
        skills = [json.loads(line) for line in lines]
    return {skill["name"]: (skill["description"], skill["body"]) for skill in skills}


def write_skills(folder: Path, pages: Mapping[str, tuple[str, str]]) -> None:
    """Put skills where a harness finds them in a project."""
    for skill, (about, body) in pages.items():
        place = folder / ".claude" / "skills" / skill
        place.mkdir(parents=True)
        text = f"---\nname: {skill}\ndescription: {json.dumps(about)}\n---\n\n{body}\n"
        (place / "SKILL.md").write_text(text, encoding="utf-8")


def main() -> int:
    """Ask the hook about every prompt of a set, and fail where it is too loud or wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    parser.add_argument("--set", choices=tuple(table["ordinary"]), default="reserve")
    parser.add_argument("--public", type=Path)
    given = parser.parse_args()
    ordinary, fits = table["ordinary"][given.set], table["fitting"][given.set]
    pages = {skill: (about, table["bodies"][skill]) for skill, about in table["skills"].items()}
    if given.public is not None:
        many = "-many" if given.set == "many" else ""
        fits, pages = table["fitting"][f"public{many}"], read_pages(given.public)
    sample = next(json.loads(one.payload) for one in SAMPLES if one.event == "UserPromptSubmit")
    with tempfile.TemporaryDirectory(prefix="ph") as root:
        folder = Path(root, "w")
        write_skills(folder, pages)
        environ = {**os.environ, "HOME": root}
        with open_runtime(folder, home=Path(root, "s"), environ=environ) as runtime:
            runtime.skills.status()

            def said(prompt: str) -> str:
                raw = json.dumps({**sample, "prompt": prompt}).encode()
                return answer_hook(raw, environ, runtime=runtime)

            loud = [prompt for prompt in ordinary if said(prompt)]
            # Theirs has to be the first that is named.
            missed = [
                prompt for prompt, skill in fits if f"Prowess):\\n- {skill} " not in said(prompt)
            ]
    fitting = len(fits) - len(missed)
    print(f"{len(loud)} of {len(ordinary)} everyday prompts got a hint: {loud}")
    print(f"{fitting} of {len(fits)} fitting prompts got theirs; not: {missed}")
    return 0 if len(loud) <= _MOST_ORDINARY and fitting >= _LEAST_FITTING else 1


if __name__ == "__main__":
    sys.exit(main())
