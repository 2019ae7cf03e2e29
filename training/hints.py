"""How clearly a skill is meant: fitted on prompts that need one and everyday ones that need none.

    python -m training.hints --messages DIR --sets DIR --pairs PAIRS [--out FILE]

The prompts and 70 short skills are those of `benchmarks/quality/hints.toml` without `held`. DIR of
messages is that of `training.judgement`: its graded set has public skills and real messages. Of
`nvidia-skills` and `wild-evals` each 70 skills are a catalogue with prompts of their authors,
everyday ones, and real messages, hardly any of which needs one of these skills; and so of the
requests that we wrote ourselves, of skills that the encoder has not seen. What ships is fitted on
all of it; what it is worth is said by catalogues that were left out.
"""

import argparse
import random
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.quality.hints import read_pages, write_skills

import prowess
from prowess.evaluation.suites import Bench
from prowess.routing import router
from prowess.routing.dense import Clarity, list_clues
from prowess.runtime.route.answer import CARRIES, CLEAR, OUTRIGHT
from prowess.wiring import open_runtime
from training.catalogues import ASKED_HELD, read_asked
from training.constants import read_set
from training.judgement import read_lines

_OUT = Path(prowess.__file__).parent / "model" / "clarity.toml"
_PROMPTS = Path(__file__).parents[1] / "benchmarks/quality/hints.toml"
_HELD, _PUBLIC = "held", ("public", "public-many")
_SIZE, _CATALOGUES, _EACH, _EVERYDAY, _REAL, _LONGEST = 70, 4, 2, 120, 200, 400
_BRIDLE, _ROUNDS = 1e-2, 50

Pages = Mapping[str, tuple[str, str]]
# Prompts with the skills of which any is right; none for everyday ones.
Prompts = Sequence[tuple[str, frozenset[str]]]


class Rows(NamedTuple):
    """Prompts of one kind of catalogue: what speaks for the best skill, and what is right."""

    clues: np.ndarray
    right: np.ndarray
    needed: np.ndarray
    real: np.ndarray


def look(pages: Pages, prompts: Prompts, real: Prompts = ()) -> Rows:
    """Rank the skills for each prompt and each real message, as they lie in a folder."""
    rows = []
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root, "w")
        write_skills(folder, pages)
        with open_runtime(folder, home=Path(root, "s"), environ={"HOME": root}) as runtime:
            runtime.skills.status()
            index = runtime.routing.index()
            for prompt, wanted, is_real in _mark(prompts, real):
                context = router.Context(bundled=False)
                query = runtime.routing.with_vector(index, router.read(prompt, context))
                found = router.route(index, query, router.RouteChoice())
                # What is said outright or by the occasion is told for that reason.
                if not found.considered or index.dense is None or query.vector is None:
                    continue
                best = found.considered[0]
                if best.signals.keys() & OUTRIGHT or best.signals.get("occasion", 0) > CARRIES:
                    continue
                words = router.match_words(index, query)
                meant = index.dense.score(query.vector, words.damped).whole
                place = index.skills.index(best.skill)
                clues = list_clues(meant, words.damped, float(words.mass))[place]
                rows.append((clues, best.skill.name in wanted, bool(wanted), is_real))
    clues, right, needed, are_real = zip(*rows, strict=True)
    return Rows(np.array(clues), np.array(right, float), np.array(needed), np.array(are_real))


def _mark(prompts: Prompts, real: Prompts) -> Iterable[tuple[str, frozenset[str], bool]]:
    yield from ((*one, False) for one in prompts)
    yield from ((*one, True) for one in real)


def fit(rows: Iterable[Rows]) -> np.ndarray:
    """Return the weights of the clues, the constant last: logistic regression by Newton's steps."""
    seen = list(rows)
    clues = np.concatenate([np.c_[one.clues, np.ones(len(one.clues))] for one in seen])
    right = np.concatenate([one.right for one in seen])
    spread = np.r_[clues[:, :-1].std(axis=0), 1.0]
    scaled, weights = clues / spread, np.zeros(clues.shape[1])
    bridle = _BRIDLE * len(right) * np.r_[np.ones(len(weights) - 1), 1e-9]
    for _ in range(_ROUNDS):
        likely = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (likely - right) + bridle * weights
        bend = (scaled * (likely * (1 - likely))[:, None]).T @ scaled + np.diag(bridle)
        weights -= np.linalg.solve(bend, slope)
    found: np.ndarray = weights / spread
    return found


def collect(messages: Path, sets: Path, mined: Path) -> dict[str, Rows]:
    """Return the prompts of each kind of catalogue."""
    table = tomllib.loads(_PROMPTS.read_text(encoding="utf-8"))
    everyday: Prompts = [
        (prompt, frozenset())
        for name, prompts in table["ordinary"].items() if name != _HELD for prompt in prompts
    ]  # fmt: skip
    fitting = {
        name: [(prompt, frozenset([skill])) for prompt, skill in rows]
        for name, rows in table["fitting"].items()
    }
    short = {skill: (about, table["bodies"][skill]) for skill, about in table["skills"].items()}
    asked = [row for name, rows in fitting.items() if name not in (_HELD, *_PUBLIC) for row in rows]
    public = messages / "activation"
    graded = read_set(public)
    names = {skill.id: skill.name for skill in graded.skills}
    real = [(case.prompt, frozenset(names[one] for one in case.expect)) for case in graded.cases]
    known = {case.where for case in graded.cases}
    others: Prompts = [
        (row["text"], frozenset())
        for row in read_lines(messages / "messages.jsonl.xz") if row["id"] not in known
    ]  # fmt: skip
    asked_long = [row for name in _PUBLIC for row in fitting[name]]
    chance = random.Random(5)
    found = {
        "short": look(short, [*everyday, *asked], chance.sample(others, _EACH * _REAL)),
        "public": look(read_pages(public), [*everyday, *asked_long], real),
    }
    benches = [read_set(sets / name) for name in ("nvidia-skills", "wild-evals")]
    for bench in (*benches, *(one for one in read_asked(mined) if one.name == ASKED_HELD)):
        parts = [look(*one) for one in _deal(bench, everyday, others)]
        found[bench.name] = Rows(*map(np.concatenate, zip(*parts, strict=True)))
    return found


def _deal(
    bench: Bench, everyday: Prompts, real: Prompts
) -> Iterable[tuple[Pages, Prompts, Prompts]]:
    """Yield catalogues of a labelled set, each with prompts of its own, everyday and real ones."""
    chance = random.Random(5)
    skills = list({skill.name: skill for skill in bench.skills}.values())
    chance.shuffle(skills)
    for start in range(0, min(len(skills) - _SIZE, _SIZE * _CATALOGUES), _SIZE):
        here = {skill.id: skill.name for skill in skills[start : start + _SIZE]}
        pages = {s.name: (s.description, s.body) for s in skills[start : start + _SIZE]}
        own = [
            (case.prompt, frozenset(here[one] for one in case.expect if one in here))
            for case in bench.cases
            if case.expect & here.keys() and len(case.prompt) < _LONGEST
        ]
        most = min(len(own), _EACH * _SIZE)
        prompts = [*chance.sample(own, most), *chance.sample(everyday, _EVERYDAY)]
        yield pages, prompts, chance.sample(real, _REAL)


def _show(name: str, rows: Rows, weights: np.ndarray) -> None:
    odds = np.c_[rows.clues, np.ones(len(rows.clues))] @ weights
    told = odds >= np.log(CLEAR / (1 - CLEAR))
    right = (told & (rows.right > 0))[rows.needed & ~rows.real]
    everyday, real = (told[~rows.needed & which] for which in (~rows.real, rows.real))
    print(
        f"{name:<14} told and right {right.mean():.2f} of {len(right)}",
        f"told though nothing is needed {everyday.mean():.3f} of {len(everyday)}",
        f"real messages likewise {real.mean():.3f} of {len(real)}",
        sep="  ",
    )


def main() -> None:
    """Fit the weights, say what they are worth where they were not fitted, and write them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--messages", type=Path, required=True)
    parser.add_argument("--sets", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=_OUT)
    parser.add_argument("--pairs", type=Path, required=True)
    given = parser.parse_args()
    found = collect(given.messages, given.sets, given.pairs)
    for name, rows in found.items():
        _show(name, rows, fit(other for kind, other in found.items() if kind != name))
    weights = dict(zip(Clarity.__annotations__, fit(found.values()).tolist(), strict=True))
    lines = [f"{name} = {weight:.3f}\n" for name, weight in weights.items()]
    given.out.write_text(
        "# Made by `training.hints`: how clearly a skill is meant, by what a message shares.\n"
        + "".join(lines),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
