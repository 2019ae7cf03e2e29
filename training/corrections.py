"""Fit the two heads of corrections: which messages object, and which set a rule that should last.

    python -m training.corrections --messages MESSAGES --out src/prowess/language/data/weights.toml

`MESSAGES` holds `messages.jsonl.xz` (id, source, lang, text) and `labels.jsonl.xz` (label, pick).
Our own readings of the rest are in `readings.toml`, what we composed in `corrections.toml`; what
is in `composed.jsonl` was written by two who had seen neither the data nor the cues. People are
told apart by where their messages come from: folds are made of whole sources. What is written is
a bias, a bar, a weight for each cue, and for rules one for each hash of words and letters; no text.
"""

import argparse
import base64
import json
import lzma
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prowess.language.corrections import MOST_WEIGHED, RUNS, describe, list_runs, may_set_a_rule

Numbers = NDArray[np.float32]
Claims = NDArray[np.bool_]
_HERE = Path(__file__).parent
_FOLDS = 5
# What we read ourselves counts a little less than what others labelled, and what we composed much
# less: as much of it as there is made the head worse on real messages.
_OURS = 0.7
_COMPOSED = {"objections": 0.3, "ordinary": 0.5, "rules": 0.25, "others": 0.25}
_WRITTEN = 0.25
_PENALTY = {"objects": 1e-2, "lasts": 1e-3}
# Only rules gain by their words: objections are short, and cues know them.
_BY_RUNS = "lasts"
_SHARE_OF_CUES, _SHARE_OF_RUNS = 0.5, 3.0
_APART = -2
# How much more what is looked for counts than what is not.
_TIMES = {"objects": 2.0, "lasts": 15.0}
_ROUNDS = 400
_SURE = 99.0
_PRECISION, _ORDINARY, _MARGIN = 0.70, 0.010, 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Messages as numbers, and what is known of each."""

    names: list[str]
    # For each head what any two messages have in common: cues, and for one of them runs.
    x: Mapping[str, Numbers]
    alike: Mapping[str, Numbers]
    objects: Claims
    lasts: Claims
    weight: Numbers
    # Labelled by others; the figures are theirs alone.
    labelled: Claims
    # Neither a question, nor pasted, nor about a thing that is being built.
    possible: Claims
    random: Claims
    lang: NDArray[np.str_]
    # -1 for composed ones, which are in no fold.
    fold: NDArray[np.int64]


def main() -> None:
    """Read, fit, measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    rows = read_rows(given.messages)
    parts = []
    for head in _TIMES:
        weights, bias, bar = _fit_head(head, rows)
        cues, runs = np.split(weights, [len(rows.names)])
        if head == _BY_RUNS:
            cues, runs = cues * _SHARE_OF_CUES, runs * _SHARE_OF_RUNS
            step = float(np.abs(runs).max()) / 127
            hashed = f"{step:.6f} {base64.b64encode(np.int8(np.round(runs / step))).decode()}\n"
            given.out.with_name("runs.txt").write_text(hashed, encoding="utf-8")
        parts.append(_write(head, rows.names, cues, bias, bar))
    given.out.write_text(_HEAD + "\n".join(parts), encoding="utf-8")


def _fit_head(head: str, rows: Rows) -> tuple[Numbers, float, float]:
    """Say how well a head holds where it was not fitted; return its weights, bias and bar."""
    nested = _measure(head, rows, score_nested(head, rows), rows.fold >= 0)
    print(f"{head}, nested: {nested}", flush=True)
    scores = score_out_of_fold(head, rows)
    if head == "lasts":
        # What can be no rule is not asked about.
        scores[~rows.possible & np.isfinite(scores)] = -_SURE
    bar = _find_bar(head, rows, scores)
    print(f"{head}, out of fold: {_measure(head, rows, scores - bar, rows.fold >= 0)}")
    for fold in range(_FOLDS):
        print(f"  fold {fold}: {_measure(head, rows, scores - bar, rows.fold == fold)}")
    shares, bias = fit(head, rows, np.ones(len(scores), bool))
    whole = rows.alike[head] @ shares + bias
    whole = np.where(np.isfinite(scores), np.minimum(whole, _SURE), scores)
    if head == "lasts":
        whole[~rows.possible] = -_SURE
    # All rows together give higher scores than four fifths: the bar must hold for both.
    return shares @ rows.x[head], bias, max(bar, _find_bar(head, rows, whole))


def read_rows(folder: Path) -> Rows:
    """Return all messages; those that can be read either way are left out."""
    labels = {row["id"]: row for row in _read_lines(folder / "labels.jsonl.xz")}
    ours = tomllib.loads((_HERE / "readings.toml").read_text(encoding="utf-8"))
    read = {name: set(ids.split()) for name, ids in ours.items()}
    composed = tomllib.loads((_HERE / "corrections.toml").read_text(encoding="utf-8"))
    messages = list(_read_lines(folder / "messages.jsonl.xz"))
    folds = _share_out(messages, labels)
    table: list[tuple[str, str, float, str, str, int]] = []
    for row in messages:
        own = labels.get(row["id"])
        if own is not None:
            found = (own["label"], 1.0, own["pick"])
        elif row["id"] in read["unclear"]:
            continue
        else:
            label = next((one for one in ("lasting", "local") if row["id"] in read[one]), "none")
            found = (label, _OURS, "")
        table.append((row["text"], *found, row["lang"], folds[row["source"]]))
    for name, label in _COMPOSED_AS.items():
        table += [(text, label, _COMPOSED[name], "", "", -1) for text in composed[name]]
    for line in (_HERE / "composed.jsonl").read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        table.append((one["text"], _LABELS[one["label"]], _WRITTEN, "", "", -2))
    return _collect(table)


_LABELS = {"rule": "lasting", "local": "local", "none": "none"}


_COMPOSED_AS = {"rules": "lasting", "others": "none", "objections": "local", "ordinary": "none"}


def _collect(table: Sequence[tuple[str, str, float, str, str, int]]) -> Rows:
    found = [describe(text[:MOST_WEIGHED]) for text, *_rest in table]
    names = sorted({name for one in found for name in one})
    places = {name: place for place, name in enumerate(names)}
    x = np.zeros((len(found), len(names)), np.float32)
    runs = np.zeros((len(found), RUNS), np.float32)
    for place, one in enumerate(found):
        for name, value in one.items():
            x[place, places[name]] = value
        hashed = list(list_runs(table[place][0]))
        runs[place, hashed] = _SHARE_OF_RUNS / max(len(hashed), 1) ** 0.5
    by_head = {"objects": x, _BY_RUNS: np.hstack([x * np.float32(_SHARE_OF_CUES), runs])}
    label = np.array([row[1] for row in table])
    weight, pick = np.array([row[2] for row in table]), np.array([row[3] for row in table])
    return Rows(
        names=names,
        x=by_head,
        alike={head: one @ one.T for head, one in by_head.items()},
        objects=np.isin(label, ["local", "lasting"]),
        lasts=label == "lasting",
        weight=weight,
        labelled=pick != "",
        possible=np.array([may_set_a_rule(row[0]) for row in table]),
        random=pick == "random",
        lang=np.array([row[4] for row in table]),
        fold=np.array([row[5] for row in table]),
    )


def _share_out(messages: Sequence[dict[str, Any]], labels: dict[str, Any]) -> dict[str, int]:
    """Return a fold for each source, so that the folds hold about as many labelled messages."""
    known = Counter(row["source"] for row in labels.values())
    every = Counter(row["source"] for row in messages)
    load, found = [0.0] * _FOLDS, {}
    for source, count in sorted(every.items(), key=lambda it: (-known[it[0]], -it[1], it[0])):
        found[source] = load.index(min(load))
        load[found[source]] += known[source] + 0.05 * count
    return found


def _count(head: str, rows: Rows) -> Numbers:
    truth: Claims = getattr(rows, head)
    weight = rows.weight * np.where(truth & (rows.fold >= 0), _TIMES[head], 1.0)
    if head == "objects":
        weight[rows.fold == _APART] = 0
    return weight.astype(np.float32)


def fit(head: str, rows: Rows, seen: Claims) -> tuple[Numbers, float]:
    """Return what each row adds to the weights, and the bias, of a logistic regression.

    There may be more weights than rows, so the descent goes by what rows have in common.
    """
    truth: Claims = getattr(rows, head)[seen]
    weight, penalty = _count(head, rows)[seen], _PENALTY[head]
    alike = rows.alike[head][np.ix_(seen, seen)]
    share = weight / weight.sum()
    rate = 1.0 / (0.25 * float(alike.diagonal().max()) + penalty)
    now = ahead = np.zeros(len(truth), np.float32)
    bias = bias_ahead = 0.0
    step = 1.0
    for _round in range(_ROUNDS):
        miss = share * (1 / (1 + np.exp(-(alike @ ahead + bias_ahead))) - truth)
        following = ahead - rate * (miss + penalty * ahead)
        bias_following = bias_ahead - rate * float(miss.sum())
        longer = (1 + np.sqrt(1 + 4 * step**2)) / 2
        pace = np.float32((step - 1) / longer)
        ahead = following + pace * (following - now)
        bias_ahead = bias_following + float(pace) * (bias_following - bias)
        now, bias, step = following, bias_following, longer
    return now, bias


def _score_left_out(head: str, rows: Rows, seen: Claims, left: Claims) -> Numbers:
    """Return what weights that saw some rows say of others."""
    shares, bias = fit(head, rows, seen)
    scored: Numbers = rows.alike[head][np.ix_(left, seen)] @ shares + bias
    return scored


def score_out_of_fold(head: str, rows: Rows) -> Numbers:
    """Return for each real message the score by weights that never saw its source."""
    scores = np.full(len(rows.fold), -np.inf)
    for fold in range(_FOLDS):
        here = rows.fold == fold
        scores[here] = _score_left_out(head, rows, ~here, here)
    return scores


def score_nested(head: str, rows: Rows) -> Numbers:
    """Return scores above the bar where neither weights nor bar saw the source of a message.

    A bar that is chosen on the very scores that it is measured by promises too much.
    """
    scores = np.full(len(rows.fold), -np.inf)
    for outer in range(_FOLDS):
        here, rest = rows.fold == outer, rows.fold != outer
        inner = np.full(len(rows.fold), -np.inf)
        for fold in {*range(_FOLDS)} - {outer}:
            there = rows.fold == fold
            inner[there] = _score_left_out(head, rows, rest & ~there, there)
        scores[here] = _score_left_out(head, rows, rest, here)
        if head == "lasts":
            inner[~rows.possible & np.isfinite(inner)] = -_SURE
            scores[here & ~rows.possible] = -_SURE
        scores[here] -= _find_bar(head, rows, inner)
    return scores


def _find_bar(head: str, rows: Rows, scores: Numbers) -> float:
    """Return the lowest bar that keeps what the head may cost."""
    known = rows.labelled & np.isfinite(scores)
    if head == "lasts":
        ordinary = np.sort(scores[~rows.objects & np.isfinite(scores)])[::-1]
        # A little higher: what hardly weighs anything more than an ordinary message is none.
        return float(ordinary[int(_ORDINARY * len(ordinary))]) + _MARGIN
    order = np.argsort(-scores[known])
    right = np.cumsum(rows.objects[known][order]) / np.arange(1, known.sum() + 1)
    return float(scores[known][order][np.flatnonzero(right >= _PRECISION)[-1]] - 1e-6)


def _measure(head: str, rows: Rows, scores: Numbers, among: Claims) -> str:
    truth: Claims = getattr(rows, head)
    parts = []
    for name, some in (("all", rows.labelled), ("random", rows.random)):
        here = among & some & np.isfinite(scores)
        yes = scores > 0
        heard, right = yes[here & truth], truth[here & yes]
        ordinary = yes[here & ~rows.objects]
        parts.append(
            f"{name}: {heard.sum()} of {heard.size} heard, precision {right.mean():.2f}, "
            f"ordinary ones taken {ordinary.mean():.3f}"
        )
    for lang in ("en", "zh", "ru"):
        here = among & rows.labelled & (rows.lang == lang) & truth
        parts.append(f"{lang} {(scores[here] > 0).sum()}/{here.sum()}")
    return "; ".join(parts)


_HEAD = """\
# Written by training/corrections.py: how much each cue counts for an objection, and for a rule that
# lasts. Fitted on real messages to coding agents, and on composed ones. A name is a group of
# `cues.toml`, found early or
# often, the shape of a message, or two of them together. docs/workshop.md has the figures.
"""


def _write(head: str, names: Sequence[str], weights: Numbers, bias: float, bar: float) -> str:
    rows = [(name, round(float(weight), 3)) for name, weight in zip(names, weights, strict=True)]
    lines = [f'"{name}" = {weight}' for name, weight in rows if weight]
    return "\n".join(
        (f"[{head}]", f"bias = {bias:.4f}", f"bar = {bar:.4f}", f"[{head}.weights]", *lines, "")
    )


def _read_lines(path: Path) -> list[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


if __name__ == "__main__":
    main()
