"""What `prowess test` costs in CPU time: 200 skills, each with 20 messages of its own.

    python -m benchmarks.speed.skill_tests [--skills 200] [--messages 20] [--repeat 3] [--set DIR]

"cold" finds an empty state folder: no vector, no report of the scanner and no index is kept. "kept"
finds what the run before it left there. Skills and messages are made up, or taken from a labelled
set (skills, queries and qrels), whose messages are dealt out to its first skills in turn.
"""

import argparse
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

from benchmarks.speed.hooks import World
from benchmarks.speed.routing import make_skills

from prowess.host.evaluation import read_bench_folder
from prowess.skills.model import Skill

_BAR_S = 10.0
_ASKS = (
    "please have a look at our {0}: {1}, and tell me what to do about it",
    "the {0} of last week has to be done again before {1}",
    "{0}: {1}",
    "what do I do with {0} when nobody has looked at {1} for a month?",
)


def make_messages(skills: Sequence[Skill], each: int) -> list[str]:
    """Make up messages, each of them another one, from words that the skills use."""
    chance, found = random.Random(7), dict[str, None]()
    while len(found) < each * len(skills):
        skill = skills[len(found) // each]
        words = " ".join(chance.sample(skill.body.split(), 3))
        found[chance.choice(_ASKS).format(skill.name.replace("-", " "), words)] = None
    return list(found)


def fill(world: World, skills: Sequence[Skill], messages: Sequence[str], each: int) -> None:
    """Write beside each skill a suite with its messages."""
    asked = iter(messages)
    for skill in skills:
        cases = [{"prompt": text, "expect": [skill.name]} for text in islice(asked, each)]
        suite = world.folder / "skills" / skill.name / "evals" / "triggers.yaml"
        suite.parent.mkdir()
        suite.write_text(json.dumps({"cases": cases}))


def spend(world: World) -> tuple[float, dict[str, int]]:
    """Test all skills; return the seconds of CPU time, and how many tests there are by kind."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    argv = [sys.executable, "-m", "prowess", "test", "--json"]
    # Messages that are made up find what they find: that some fail is no matter here.
    done = subprocess.run(
        argv, env=world.environ, cwd=world.folder, capture_output=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in {0, 1}:
        raise SystemExit(done.stderr.decode())
    counts = {kind: row["tests"] for kind, row in json.loads(done.stdout)["counts"].items()}
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, counts


def main() -> int:
    """Measure and print; the exit code is 1 when a cold run takes longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--skills", type=int, default=200)
    parser.add_argument("--messages", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--set", type=Path, help="A folder with a labelled set.")
    given = parser.parse_args()
    if given.set:
        bench = read_bench_folder(str(given.set))
        skills = list(bench.skills[: given.skills])
        texts = dict.fromkeys(case.prompt for case in bench.cases)
        messages = list(islice(cycle(texts), given.messages * len(skills)))
    else:
        skills = make_skills(given.skills)
        messages = make_messages(skills, given.messages)
    times: dict[str, list[float]] = {"cold": [], "kept": []}
    with tempfile.TemporaryDirectory(prefix="pt") as root:
        world = World(Path(root), skills)
        fill(world, skills, messages, given.messages)
        for _ in range(given.repeat):
            shutil.rmtree(world.state, ignore_errors=True)
            for taken in times.values():
                spent, counts = spend(world)
                taken.append(spent)
    print(f"tests: {counts}, {len(set(messages))} messages differ")
    for name, taken in times.items():
        print(f"{name}: {statistics.median(taken):.2f} s of CPU time (bar {_BAR_S:.0f})")
    return int(statistics.median(times["cold"]) >= _BAR_S)


if __name__ == "__main__":
    sys.exit(main())
