"""What kind a message is and which occasion it tells of: heads on the vectors of the encoder.

    python -m training.judgement --messages DIR [--out FILE]

DIR holds real messages: `messages` and `labels` as .jsonl.xz, and a labelled set `activation`. A
head is a line in the encoder's space and over four signs, drawn by least squares so that both
sides weigh alike. How well it holds is told by repositories that it was not fitted on. Only the
lines are written, never a text; run it again when the encoder changes.
"""

import argparse
import base64
import json
import lzma
import os
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import prowess
from prowess.evaluation.suites import read_bench
from prowess.routing import router
from prowess.routing.message_kinds import list_signs, read_kinds, read_needs
from prowess.wiring import open_runtime

# Ridge: with fewer messages than twice the dimensions, a free fit learns them by heart.
_BRIDLE = 10.0
_MOST_WEIGHT = 8.0
FOLDS = 5
_HERE = Path(__file__).parent
_OUT = Path(prowess.__file__).parent / "model" / "heads.toml"
# The skills of the labelled set that say by themselves which occasion they are for.
_SERVING = {
    "fault": ("systematic-debugging", "debugging-strategies"),
    "plan": ("writing-plans", "brainstorming"),
    "review": ("code-review-excellence", "requesting-code-review"),
}
_KIND_OF = {"local": "objection", "lasting": "objection"}


class Rows(NamedTuple):
    """Messages with what is known of them: a label that is not a number is not known."""

    told: np.ndarray
    labels: Mapping[str, np.ndarray]
    # Which fold each belongs to, by its repository; -1 for sentences of ours, which all may see.
    folds: np.ndarray


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read a .jsonl.xz file."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def fit(told: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Return the line between yes and no: a weight for each column, and what is added."""
    known = ~np.isnan(label)
    rows, wanted = told[known].astype(np.float64), label[known]
    share = wanted.mean()
    weight = np.where(wanted == 1, 0.5 / max(share, 1e-9), 0.5 / max(1 - share, 1e-9))
    weight = np.minimum(weight, _MOST_WEIGHT)
    middle = weight @ rows / weight.sum()
    level = weight @ wanted / weight.sum()
    centred = rows - middle
    normal = (centred * weight[:, None]).T @ centred + _BRIDLE * np.eye(rows.shape[1])
    line = np.linalg.solve(normal, centred.T @ (weight * (wanted - level)))
    return np.append(line, level - middle @ line)


def say(told: np.ndarray, line: np.ndarray) -> np.ndarray:
    """Return what a head says of each row."""
    said: np.ndarray = told @ line[:-1] + line[-1]
    return said


def check(rows: Rows, name: str) -> float:
    """Return how well a head tells yes from no in repositories that it was not fitted on."""
    label = rows.labels[name]
    said = np.full(len(label), np.nan)
    for fold in range(FOLDS):
        here = rows.folds == fold
        line = fit(rows.told, np.where(here, np.nan, label))
        said[here] = say(rows.told[here], line)
    seen = (rows.folds >= 0) & ~np.isnan(label)
    yes, no = said[seen & (label == 1)], said[seen & (label == 0)]
    return float(np.mean(yes[:, None] > no[None, :])) if len(yes) and len(no) else float("nan")


def list_folds(messages: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return which fold each message belongs to, by its repository."""
    sources = sorted({row["source"] for row in messages})
    return {row["id"]: sources.index(row["source"]) % FOLDS for row in messages}


def collect(folder: Path, encode: Callable[[str], np.ndarray]) -> Rows:
    """Read and encode every message that something is known of."""
    own = tomllib.loads((_HERE / "occasions.toml").read_text(encoding="utf-8"))
    labels = dict(_label(folder, own))
    everything = read_lines(folder / "messages.jsonl.xz")
    messages = [row for row in everything if row["id"] in labels]
    said = [(text, label) for text, label in _list_own(own)]
    told = [_tell(encode, row["text"], follows=bool(row.get("prev"))) for row in messages]
    told += [_tell(encode, text, follows=False) for text, _ in said]
    known = [labels[row["id"]] for row in messages] + [label for _, label in said]
    where = list_folds(everything)
    folds = [where[row["id"]] for row in messages] + [-1] * len(said)
    names = (*read_needs(), *read_kinds())
    return Rows(
        np.array(told),
        {name: np.array([one.get(name, np.nan) for one in known]) for name in names},
        np.array(folds),
    )


def _tell(encode: Callable[[str], np.ndarray], text: str, *, follows: bool) -> np.ndarray:
    return np.concatenate([encode(text), list_signs(text, follows=follows)])


def _label(folder: Path, own: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield what is known of each message, by its id."""
    found: dict[str, dict[str, float]] = {}
    for row in read_lines(folder / "labels.jsonl.xz"):
        kind = _KIND_OF.get(row["label"], row["label"])
        found[row["id"]] = {name: float(name == kind) for name in read_kinds()}
    for name in (*read_needs(), "none"):
        for one in own[name]["ids"].split():
            found.setdefault(one, {}).update(_only(name))
    for case in _read_activation(folder):
        clear = case.clear or frozenset()
        for name, serving in _SERVING.items():
            if not case.expect.isdisjoint(serving) and clear.isdisjoint(serving):
                continue  # Plausible is neither yes nor no.
            yes = float(not clear.isdisjoint(serving))
            found.setdefault(case.where, {})[name] = yes
    yield from found.items()


def _read_activation(folder: Path) -> Sequence[Any]:
    parts = {
        part: dict(enumerate(read_lines(folder / "activation" / f"{part}.jsonl.xz"), start=1))
        for part in ("skills", "queries", "qrels")
    }
    return read_bench("activation", **parts).cases


def _only(name: str) -> dict[str, float]:
    return {need: float(need == name) for need in read_needs()}


def _list_own(own: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield sentences of ours with what they are."""
    for name in (*read_needs(), "none"):
        for text in own[name]["said"].strip().splitlines():
            yield text, _only(name)
    for kind, texts in own["kinds"].items():
        for text in texts.strip().splitlines():
            yield text, {name: float(name == kind) for name in read_kinds()}


def write(path: Path, encoder_id: str, lines: Mapping[str, np.ndarray]) -> None:
    """Write the heads as a table of the package."""
    packed = {
        name: base64.b64encode(line.astype(np.float16).tobytes()).decode()
        for name, line in lines.items()
    }
    rows = "\n".join(f'{name} = "{raw}"' for name, raw in packed.items())
    path.write_text(
        "# Heads on the vectors of one encoder: made by `training.judgement`, see card.md.\n"
        f'encoder = "{encoder_id}"\n\n[weights]\n{rows}\n',
        encoding="utf-8",
    )


def main() -> None:
    """Fit every head, say how well it holds, and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=_OUT)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["PROWESS_HOME"] = home
        with open_runtime(home) as runtime:
            routing = runtime.routing
            index = routing.index_of(())

            def encode(text: str) -> np.ndarray:
                vector = routing.with_vector(index, router.read(text)).vector
                return np.zeros(384, np.float32) if vector is None else vector

            rows = collect(given.messages, encode)
            encoder_id = routing.needed_encoder().id
    for name, label in rows.labels.items():
        print(f"{name:<10} {int(np.nansum(label)):5d} yes  AUROC {check(rows, name):.3f}")
    write(given.out, encoder_id, {name: fit(rows.told, rows.labels[name]) for name in rows.labels})


if __name__ == "__main__":
    main()
