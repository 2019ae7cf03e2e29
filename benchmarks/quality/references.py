"""Whether skills are found by what stands only in their reference files.

    python -m benchmarks.quality.references SET.jsonl.xz

SET has a skill a line: `files`, path to text. Headings of reference files that say something
the page does not are the requests, and headings of the page the control: they should find their
skill as before. Hit@1 and Hit@5 in percent, without and with reference files.
"""

import argparse
import json
import lzma
import random
import re
import tempfile
from pathlib import Path

from prowess.routing.words import split_words
from prowess.wiring import open_runtime

_HEADING = re.compile(r"^#{2,4}[ \t]+(.{3,100})$", re.MULTILINE)
_BESIDE = re.compile(r"(?:references?/)?[^/]+\.md", re.IGNORECASE)
_LEAST_WORDS = 3


def choose_requests(files: dict[str, str], drawn: random.Random) -> tuple[list[str], list[str]]:
    """Return headings of the reference files, and of the page."""
    known = set(split_words(files["SKILL.md"]).running)
    beside = [text for path, text in sorted(files.items()) if _BESIDE.fullmatch(path)]
    found = [
        heading.strip("*`# ")
        for text in beside
        if text is not files["SKILL.md"]
        for heading in _HEADING.findall(text)
        if not set(split_words(heading).running) <= known
    ]
    own = [heading.strip("*`# ") for heading in _HEADING.findall(files["SKILL.md"])]
    return _draw(found, 2, drawn), _draw(own, 1, drawn)


def _draw(headings: list[str], most: int, drawn: random.Random) -> list[str]:
    said = [text for text in headings if len(split_words(text).running) >= _LEAST_WORDS]
    return drawn.sample(said, min(most, len(said)))


def measure(workspace: Path, requests: list[tuple[str, str]]) -> str:
    """Return how often the skill of a request is first, and among the first five."""
    first = among = 0
    with open_runtime(workspace) as runtime:
        usable = runtime.skills.snapshot().usable
        here = {Path(skill.folder).name: skill.name for skill in usable}
        asked = [(text, here[name]) for text, name in requests if name in here]
        for text, name in asked:
            found = [one.skill.name for one in runtime.routing.route(text).considered[:5]]
            first += found[:1] == [name]
            among += name in found
    return f"{len(asked)} requests: {100 * first / len(asked):.1f} / {100 * among / len(asked):.1f}"


def main() -> None:
    """Measure without reference files, and with them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", type=Path)
    drawn = random.Random(7)
    with lzma.open(parser.parse_args().set, "rt", encoding="utf-8") as lines:
        skills = [json.loads(line)["files"] for line in lines]
    skills = [files for files in skills if "SKILL.md" in files]
    chosen = [choose_requests(files, drawn) for files in skills]
    beside = [(text, f"s{at}") for at, (texts, _) in enumerate(chosen) for text in texts]
    pages = [(text, f"s{at}") for at, (_, texts) in enumerate(chosen) for text in texts]
    for whole in (False, True):
        with tempfile.TemporaryDirectory() as workspace:
            for at, files in enumerate(skills):
                for path, text in files.items():
                    if path == "SKILL.md" or (whole and _BESIDE.fullmatch(path)):
                        file = Path(workspace, "skills", f"s{at}", path)
                        file.parent.mkdir(parents=True, exist_ok=True)
                        file.write_text(text, encoding="utf-8")
            with_them = "with" if whole else "without"
            print(f"{with_them} reference files, by them: {measure(Path(workspace), beside)}")
            print(f"{with_them} reference files, by the page: {measure(Path(workspace), pages)}")


if __name__ == "__main__":
    main()
