"""What each signal weighs and from which evidence on a skill is loaded, fitted on labelled sets.

    python -m training.constants --messages DIR --sets DIR [--out FILE] [--unseen]

DIR of messages is that of `training.judgement`, with a graded set `activation`; DIR of sets holds
labelled sets. Weights of the ranking are found by what comes first, then constants of the decision
by what is loaded and offered, one number after the other. `--unseen` fits half of the messages and
measures the other, and leaves each set out of the fit that it is measured by, and each repository
of the graded messages. Those are read by heads that saw nothing of their repository, always.
"""

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

import prowess
from prowess.evaluation.suites import Bench, read_bench, without_examples
from prowess.routing import router
from prowess.routing.decision_triggers_and_follow_ups import (
    DEFAULT,
    Scale,
    Shares,
    Signs,
    add_hints,
    fuse,
    read_scale,
    read_shares,
    scores,
    weigh_meaning,
    weigh_occasion,
    weigh_topic,
)
from prowess.routing.dense import DenseScores, measure_nearness
from prowess.routing.lexical_and_breadth import Breadth, LexicalScores
from prowess.routing.router import SkillIndex
from prowess.runtime.route.answer import RoutingService
from prowess.wiring import open_runtime
from training.judgement import FOLDS, Rows, collect, fit, list_folds, read_lines

_OUT = Path(prowess.__file__).parent / "model" / "constants.toml"
_SETS = ("nvidia-skills", "wild-evals", "metatool", "clinc150")
_GRADED = "activation"
# Of sets with many messages the decision looks at so many only.
_MOST = 1_000
_STEPS = (0.7, 0.85, 1.15, 1.4)
_ROUNDS = 2
# What gains less has learnt single messages by heart.
_LEAST_GAIN = 1e-3
_OFFERED, _NEARLY = 3, 0.5
_MOST_NOISE, _ENOUGH_REACHED = 0.16, 0.85
# What a word of an encoder's absence weighs cannot be seen where there is one.
_NOT_FITTED = frozenset(("words_only", "long_words_only", "words_steepness"))
# Round numbers of about the right size, from which every fit begins.
_FIRST_SHARES = Shares(
    least_meaning=0.3,
    more_meaning=0.5,
    few_words=10.0,
    phrase=0.25,
    opening=0.25,
    name=0.03,
    word_breadth=0.5,
    mention=0.5,
)
_FIRST_SCALE = Scale(
    least=0.2,
    by_meaning=0.4,
    long_texts=0.15,
    words_only=0.115,
    long_words_only=0.06,
    words_steepness=0.05,
    steepness=0.08,
    long_steepness=0.01,
    lead=1.0,
    everyday=0.06,
    half_said=4.0,
    said=2.0,
    idle=0.05,
    occasion=0.3,
    topic_enough=-0.1,
    topic_steepness=0.03,
)
_Constants = TypeVar("_Constants", Shares, Scale)


class LabelledSet(NamedTuple):
    """What every message of a set says of every skill, a row for each message."""

    name: str
    lexical: LexicalScores
    mentioned: np.ndarray
    dense: DenseScores
    breadth: Breadth
    outright: np.ndarray
    serving: np.ndarray
    signs: Signs
    # Whether a skill is right, and whether clearly so.
    right: np.ndarray
    clear: np.ndarray
    folds: np.ndarray

    def only(self, rows: np.ndarray) -> "LabelledSet":
        """Return the same of some of its messages."""
        signs = replace(
            self.signs,
            mass=np.asarray(self.signs.mass)[rows],
            asked_so=self.signs.asked_so[rows],
            leaning=np.asarray(self.signs.leaning)[rows],
            idle=np.asarray(self.signs.idle)[rows],
        )
        lexical = LexicalScores(
            scores=self.lexical.scores[rows],
            names=self.lexical.names[rows],
            mass=np.asarray(self.lexical.mass)[rows],
        )
        return self._replace(
            lexical=lexical,
            dense=DenseScores(*(part[rows] for part in self.dense)),
            signs=signs,
            **{
                name: getattr(self, name)[rows]
                for name in ("mentioned", "outright", "serving", "right", "clear", "folds")
            },
        )


class Figures(NamedTuple):
    """How well a set is routed: shares from 0 to 1."""

    hit1: float
    auroc: float
    first: float
    strict: float
    # Of messages that mean a skill, those for which it is loaded.
    recall: float
    reached: float
    noise: float
    loads: int


def rank(one: LabelledSet, shares: Shares) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the fused total, what mentions add to the order, and the weight of meaning."""
    weight = weigh_meaning(one.signs.words_per_skill, shares)
    fused = fuse(one.lexical, one.dense, breadth=one.breadth, weight=weight, shares=shares)
    return fused.total, (1 - weight) * shares.mention * one.mentioned, weight


def hit(one: LabelledSet, evidence: np.ndarray) -> float:
    """Return how often what comes first is right."""
    meant = one.right.any(axis=1)
    return float(one.right[np.arange(len(evidence)), evidence.argmax(axis=1)][meant].mean())


def judge(one: LabelledSet, shares: Shares, scale: Scale) -> Figures:
    """Route every message of a set."""
    total, mentioned, weight = rank(one, shares)
    signs = replace(one.signs, weight=weight)
    above = weigh_topic(total, one.outright, signs, scale)
    added = weigh_occasion(above, one.serving, scale)
    scored = scores(above + added, signs, scale)
    evidence = total + one.outright + added + mentioned
    rows = np.arange(len(evidence))
    top = evidence.argmax(axis=1)
    sure = scored[rows, top]
    near = np.argsort(-evidence, axis=1)[:, :_OFFERED]
    close = np.take_along_axis(evidence, near, 1) >= _NEARLY * evidence[rows, top][:, None]
    loaded, told = sure >= DEFAULT.load, sure >= DEFAULT.offer
    meant, clear = one.right.any(axis=1), one.clear.any(axis=1)
    named = (np.take_along_axis(one.clear, near, 1) & close).any(axis=1) & told
    named[loaded] = one.clear[rows, top][loaded]
    return Figures(
        hit1=hit(one, evidence),
        auroc=_tell_apart(sure[meant], sure[~meant]),
        first=_share(one.right[rows, top][loaded]),
        strict=_share(one.clear[rows, top][loaded]),
        recall=float((one.right[rows, top] & loaded)[meant].mean()),
        reached=float(named[clear].mean()),
        noise=float(told[~meant].mean()),
        loads=int(loaded.sum()),
    )


def _share(found: np.ndarray) -> float:
    """Return the share of yes, drawn a little to the middle: few loads prove little."""
    return float((found.sum() + 2) / (len(found) + 4))


def _tell_apart(inside: np.ndarray, outside: np.ndarray) -> float:
    order = np.argsort(np.concatenate([inside, outside]), kind="stable")
    places = np.empty(len(order))
    places[order] = np.arange(len(order))
    lost = places[: len(inside)].sum() - len(inside) * (len(inside) - 1) / 2
    return float(lost / max(len(inside) * len(outside), 1))


def value(one: LabelledSet, shares: Shares, scale: Scale) -> float:
    """Return what a way to decide is worth on a set: a load that is wrong costs most."""
    found = judge(one, shares, scale)
    if one.name == _GRADED:
        loud = max(0.0, found.noise - _MOST_NOISE)
        return 2 * (found.strict + found.first + found.reached) + found.recall - 6 * loud
    reached = min(found.reached, _ENOUGH_REACHED)
    return found.hit1 + found.auroc + 0.7 * found.first + 1.5 * reached + 0.3 * found.recall


def search(start: _Constants, worth: Callable[[_Constants], float], least: float) -> _Constants:
    """Move one number after the other as long as that gains more than `least`."""
    best, found = worth(start), start
    names = [name for name in _as_dict(start) if name not in _NOT_FITTED]
    for _ in range(_ROUNDS):
        for name in names:
            for step in _STEPS:
                tried = _with(found, name, round(_as_dict(found)[name] * step, 4))
                gained = worth(tried)
                if gained > best + least:
                    best, found = gained, tried
    return found


def _as_dict(constants: Shares | Scale) -> dict[str, float]:
    return constants._asdict() if isinstance(constants, Shares) else asdict(constants)


def _with(constants: _Constants, name: str, number: float) -> _Constants:
    if isinstance(constants, Shares):
        return constants._replace(**{name: number})
    return replace(constants, **{name: number})


def fit_all(sets: Sequence[LabelledSet]) -> tuple[Shares, Scale]:
    """Return the weights of the ranking, and then the constants of the decision."""
    composed = [one for one in sets if one.name != _GRADED]

    def ranks(shares: Shares) -> float:
        return float(np.mean([_order(one, shares) for one in composed]))

    shares = search(_FIRST_SHARES, ranks, _LEAST_GAIN / 5)
    few = [_thin_out(one) for one in sets]

    def decides(scale: Scale) -> float:
        return sum(value(one, shares, scale) for one in few)

    scale = search(_FIRST_SCALE, decides, _LEAST_GAIN)
    return shares, scale


def _order(one: LabelledSet, shares: Shares) -> float:
    total, mentioned, _ = rank(one, shares)
    return hit(one, total + one.outright + mentioned)


def collect_set(
    bench: Bench, routing: RoutingService, heads: "Mapping[str, np.ndarray]"
) -> LabelledSet:
    """Ask for every message what each signal says; `heads` are those for some of the messages."""
    index = routing.index_of([without_examples(skill) for skill in bench.skills])
    ids = [skill.id for skill in index.skills]
    cases = bench.cases
    rows = [_read_row(index, routing, case, heads.get(case.where)) for case in cases]
    columns = {name: np.array([row[name] for row in rows], np.float32) for name in rows[0]}
    dense = DenseScores(*(columns[name] for name in DenseScores._fields))
    mass = columns["mass"][:, None]
    lexical = LexicalScores(scores=columns["scores"], names=columns["names"], mass=mass)  # type: ignore[arg-type]
    signs = Signs(
        mass=mass,
        asked_so=columns["asked_so"],
        words_per_skill=index.lexical.words_per_skill,
        weight=1.0,
        leaning=columns["leaning"][:, None],
        idle=columns["idle"][:, None],
    )
    right = np.array([[name in case.expect for name in ids] for case in cases])
    clear = np.array([[name in _meant(case) for name in ids] for case in cases])
    return LabelledSet(
        bench.name,
        lexical,
        columns["mentioned"],
        dense,
        index.breadth,
        columns["outright"],
        columns["serving"],
        signs,
        right,
        clear,
        np.zeros(len(cases), np.int64),
    )


def _meant(case: Any) -> frozenset[str]:  # noqa: ANN401
    found: frozenset[str] = case.expect if case.clear is None else case.clear
    return found


def _read_row(
    index: SkillIndex,
    routing: RoutingService,
    case: Any,  # noqa: ANN401
    heads: np.ndarray | None,
) -> dict[str, Any]:
    query = routing.with_vector(index, router.read(case.prompt, router.Context(reply=case.reply)))
    if index.dense is None or index.occasions is None or index.everyday is None:
        raise SystemExit("The bundled encoder is needed.")
    lexical = router.match_words(index, query)
    vector = (
        np.zeros(index.dense.whole.shape[1], np.float32) if query.vector is None else query.vector
    )
    around = vector if query.around is None else query.around
    dense = index.dense.score(around, lexical.damped)
    occasions = index.occasions if heads is None else index.occasions._replace(weights=heads)
    reading = occasions.read(query.message, vector, follows=query.context.follows)
    mentioned = np.zeros_like(lexical.scores)
    if query.mentioning != query.ask and query.english == query.ask:
        mentioned = index.lexical.score(query.mentioning).damped - lexical.damped
    return {
        **dense._asdict(),
        "scores": lexical.scores,
        "names": lexical.names,
        "mass": lexical.mass,
        "mentioned": mentioned,
        "asked_so": measure_nearness(dense),
        "outright": add_hints(index.hints.of(query.message), len(index.skills)),
        "serving": occasions.weigh(reading),
        "leaning": index.everyday.leaning(vector),
        "idle": reading.idle,
    }


def read_set(folder: Path) -> Bench:
    """Read a labelled set."""
    parts = {
        part: dict(enumerate(read_lines(folder / f"{part}.jsonl.xz"), start=1))
        for part in ("skills", "queries", "qrels")
    }
    return read_bench(folder.name, **parts)


def fit_heads(rows: Rows, folds: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Return, for each message, the heads that were fitted without its repository."""
    found: dict[str, np.ndarray] = {}
    for fold in range(FOLDS):
        seen = np.where(rows.folds == fold, np.nan, 1.0)
        lines = np.array(
            [fit(rows.told, rows.labels[name] * seen) for name in rows.labels], np.float32
        )
        found |= {one: lines for one, where in folds.items() if where == fold}
    return found


def check_unseen(sets: Sequence[LabelledSet]) -> Iterator[tuple[str, Figures]]:
    """Yield how well each set is routed by constants that it had no say in."""
    for one in sets:
        others = [other for other in sets if other is not one]
        if one.name != _GRADED:
            yield one.name, judge(one, *fit_all([_half(other) for other in others]))
            continue
        # By repository: all that these heads and constants did not see, put together again.
        for fold in range(FOLDS):
            here = one.folds == fold
            halves = [_half(other) for other in others]
            shares, scale = fit_all([*halves, one.only(~here)])
            yield f"{one.name} {fold}", judge(one.only(here), shares, scale)


def _half(one: LabelledSet, which: int = 0) -> LabelledSet:
    return one if one.name == _GRADED else one.only(np.arange(len(one.right)) % 2 == which)


def _thin_out(one: LabelledSet) -> LabelledSet:
    step = max(1, len(one.right) // _MOST)
    return one.only(np.arange(len(one.right)) % step == 0)


def write(path: Path, shares: Shares, scale: Scale) -> None:
    """Write the constants as a table of the package."""
    lines = [
        "# Made by `training.constants`: what each signal weighs, and when a skill is loaded.",
        "[ranking]",
        *(f"{name} = {number}" for name, number in _as_dict(shares).items()),
        "",
        "[decision]",
        *(f"{name} = {number}" for name, number in _as_dict(scale).items()),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _show(name: str, found: Figures) -> None:
    print(
        f"{name:<16}",
        "  ".join(f"{key} {number:.3f}" for key, number in found._asdict().items()),
        flush=True,
    )


def _collect_all(messages: Path, sets: Path) -> list[LabelledSet]:
    with tempfile.TemporaryDirectory() as home:
        os.environ.setdefault("PROWESS_HOME", home)
        with open_runtime(home) as runtime:
            routing = runtime.routing
            empty = routing.index_of(())

            def encode(text: str) -> np.ndarray:
                vector = routing.with_vector(empty, router.read(text)).vector
                return np.zeros(384, np.float32) if vector is None else vector

            folds = list_folds(read_lines(messages / "messages.jsonl.xz"))
            heads = fit_heads(collect(messages, encode), folds)
            found = [collect_set(read_set(sets / name), routing, {}) for name in _SETS]
            bench = read_set(messages / _GRADED)
            graded = collect_set(bench, routing, heads)
            return [
                *found,
                graded._replace(folds=np.array([folds[case.where] for case in bench.cases])),
            ]


def main() -> None:
    """Fit everything, say how well it holds, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=Path, required=True)
    parser.add_argument("--sets", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=_OUT)
    parser.add_argument("--unseen", action="store_true")
    given = parser.parse_args()
    sets = _collect_all(given.messages, given.sets)
    for one in sets:
        _show(f"{one.name} before", judge(one, read_shares(), read_scale()))
    shares, scale = fit_all(sets)
    for one in sets:
        _show(one.name, judge(one, shares, scale))
    write(given.out, shares, scale)
    if not given.unseen:
        return
    shares, scale = fit_all([_half(one) for one in sets])
    for one in sets:
        _show(f"half, {one.name}", judge(_half(one, 1), shares, scale))
    for name, found in check_unseen(sets):
        _show(f"unseen {name}", found)


if __name__ == "__main__":
    main()
