"""How much `prowess improve` brings where descriptions say too little.

    python benchmarks/quality/improve.py DEV SET... [--most N] [--split TEXT] [--json FILE]

DEV holds labelled sets (skills, queries and qrels as .jsonl or .xz), SET are names of them. Every
description is cut to its first sentence. Half of the messages, by a hash of their text, are given
to `improve`, for every skill that has some; the other half is never shown to it and is what the
figures are of. First every skill is changed at once; then, for what one skill's change costs the
others, each is changed alone.
"""

import argparse
import hashlib
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import prowess
from prowess.evaluation.improving import Improvement, Improver, LabelledMessage
from prowess.evaluation.suites import Case, without_examples
from prowess.host.evaluation import read_bench_folder
from prowess.routing import router
from prowess.routing.handoffs_and_passages import split_sentences
from prowess.skills.model import Skill


def shuffle(case: Case, split: str) -> bytes:
    """Return by what messages are dealt out: another `split`, other halves."""
    return hashlib.sha256(f"{split}{case.prompt}".encode()).digest()


def is_shown(case: Case, split: str) -> bool:
    """Return whether a message is of the half that `improve` is given."""
    return shuffle(case, split)[0] % 2 == 0


def redescribe(skill: Skill, description: str) -> Skill:
    """Return a skill with another description."""
    text = f"{skill.id}\0{description}\0{skill.body}"
    return replace(
        skill, description=description, content_hash=hashlib.sha256(text.encode()).hexdigest()
    )


def cut(skill: Skill) -> Skill:
    """Return a skill with the first sentence of its description alone."""
    return redescribe(skill, next(iter(split_sentences(skill.description)), skill.description))


def scores(
    runtime: prowess.Runtime,
    skills: Sequence[Skill],
    guests: Sequence[Skill],
    cases: Sequence[Case],
) -> np.ndarray:
    """Return what each skill and each guest scores for each message."""
    index = runtime.routing.try_on(skills, guests)
    rows = []
    for case in cases:
        ranking = router.rank(index, runtime.routing.with_vector(index, router.read(case.prompt)))
        row = ranking.evidence.copy()
        row[list(ranking.excluded)] = -np.inf
        rows.append(row)
    return np.array(rows)


def hits(found: np.ndarray, skills: Sequence[Skill], cases: Sequence[Case]) -> np.ndarray:
    """Return for each message whether its skill comes first."""
    best = found[:, : len(skills)].argmax(axis=1)
    return np.array([skills[at].id in case.expect for at, case in zip(best, cases, strict=True)])


def losses_alone(
    found: np.ndarray, skills: Sequence[Skill], better: Mapping[int, int], cases: Sequence[Case]
) -> list[tuple[float, float]]:
    """Return of each change by itself what all others lose, as a share, and who loses most."""
    size, told = len(skills), []
    base = hits(found, skills, cases)
    totals = Counter(next(iter(case.expect)) for case in cases)
    for place, guest in better.items():
        row = found[:, :size].copy()
        row[:, place] = found[:, size + guest]
        after, lost, others = hits(row, skills, cases), Counter[str](), 0
        for case, was, now in zip(cases, base, after, strict=True):
            who = next(iter(case.expect))
            if who != skills[place].id:
                others += 1
                lost[who] += int(was) - int(now)
        worst = max((count / totals[who] for who, count in lost.items()), default=0.0)
        told.append((sum(lost.values()) / max(others, 1), worst))
    return told


def few_each(cases: Sequence[Case], most: int, split: str) -> list[Case]:
    """Return so many messages of each skill and half at most, by a hash of their text."""
    counts, found = Counter[tuple[str, bool]](), []
    for case in sorted(cases, key=lambda one: shuffle(one, split)[1:]):
        key = next(iter(case.expect)), is_shown(case, split)
        counts[key] += 1
        if counts[key] <= most:
            found.append(case)
    return found


def measure(runtime: prowess.Runtime, folder: Path, most: int, split: str) -> dict[str, object]:
    """Return the figures of one set."""
    bench = read_bench_folder(str(folder))
    skills = [cut(without_examples(skill)) for skill in bench.skills]
    whole = [redescribe(s, f.description) for s, f in zip(skills, bench.skills, strict=True)]
    cases = [case for case in bench.cases if len(case.expect) == 1]
    cases = few_each(cases, most, split)
    shown, held = (
        [one for one in cases if is_shown(one, split)],
        [one for one in cases if not is_shown(one, split)],
    )
    runtime.routing.prepare([case.prompt for case in cases])
    labelled = [LabelledMessage(case.prompt, case.expect) for case in shown]
    asked = {name for case in shown for name in case.expect}
    places = [place for place, skill in enumerate(skills) if skill.id in asked]
    improver = Improver(runtime.routing, skills, [skill.id for skill in skills], labelled)
    found = dict(zip(places, improver.improve(places), strict=True))
    better = {place: one for place, one in found.items() if one.is_better}
    after = [
        redescribe(skill, found[place].description) if place in found else skill
        for place, skill in enumerate(skills)
    ]
    guests = [after[place] for place in better]
    base = scores(runtime, skills, guests, held)
    alone = losses_alone(base, skills, {place: at for at, place in enumerate(better)}, held)
    return {
        "set": bench.name,
        "skills": len(skills),
        "improved": len(better),
        "messages": {"shown": len(shown), "heldOut": len(held)},
        "hit1": {
            "cut": share(hits(base, skills, held)),
            "improved": share(hits(scores(runtime, after, (), held), after, held)),
            "whole": share(hits(scores(runtime, whole, (), held), whole, held)),
        },
        "hit1Listed": listed(runtime, {"cut": skills, "improved": after, "whole": whole}, held),
        "siblings": {
            "worstLossOfAll": round(100 * max((one for one, _ in alone), default=0), 2),
            "changesThatCostAnyOneAMessage": sum(one > 0 for _, one in alone),
        },
        "length": {
            "cut": round(np.mean([len(one.description) for one in skills])),
            "improved": round(np.mean([len(one.description) for one in after])),
            "whole": round(np.mean([len(one.description) for one in whole])),
        },
        "origins": origins(better.values()),
    }


def listed(
    runtime: prowess.Runtime, sets: Mapping[str, Sequence[Skill]], held: Sequence[Case]
) -> dict[str, float]:
    """Return the same by name and description alone."""
    found = {}
    for name, skills in sets.items():
        bare = [redescribe(replace(one, body=""), one.description) for one in skills]
        found[name] = share(hits(scores(runtime, bare, (), held), bare, held))
    return found


def share(found: np.ndarray) -> float:
    """Return a share in points."""
    return round(100 * float(found.mean()), 2)


def origins(found: Iterable[Improvement]) -> dict[str, int]:
    """Return how often which evidence was taken."""
    counts: dict[str, int] = defaultdict(int)
    for one in found:
        for sentence in one.sentences:
            counts[sentence.origin] += 1
    return dict(counts)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dev", type=Path)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--most", type=int, default=10_000, help="Messages of a skill and half.")
    parser.add_argument("--split", default="", help="Any text: other halves for another one.")
    parser.add_argument("--state", type=Path, help="Keep vectors there, for another run.")
    options = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        state = options.state or Path(folder) / "state"
        environ = {"HOME": folder, "PATH": ""}
        with prowess.open(folder, home=str(state), environ=environ) as runtime:
            for name in options.sets:
                found.append(measure(runtime, options.dev / name, options.most, options.split))
                print(json.dumps(found[-1], indent=2), flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
