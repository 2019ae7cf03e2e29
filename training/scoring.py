"""How well vectors alone rank and abstain on labelled sets, while training."""

import json
import lzma
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor


class Embeds(Protocol):
    """Whoever can turn texts into unit vectors."""

    short: object
    long: object

    def embed(self, texts: list[str], tokenizer: object) -> Tensor:
        """Return one unit vector per text."""


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read a JSON-lines file, plain or .xz."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def auroc(inside: np.ndarray, outside: np.ndarray) -> float:
    """Return how often a score from inside is above one from outside."""
    if not len(inside) or not len(outside):
        return float("nan")
    order = np.argsort(np.concatenate([inside, outside]), kind="stable")
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    wins = ranks[: len(inside)].sum() - len(inside) * (len(inside) + 1) / 2
    return float(wins / (len(inside) * len(outside)))


def one_set(model: Embeds, folder: Path) -> dict[str, float]:
    """Return Hit@1 and AUROC of the plain cosine over `name: description`."""
    skills = read_rows(folder / "skills.jsonl.xz")
    queries = read_rows(folder / "queries.jsonl.xz")
    wanted: dict[str, set[str]] = {}
    for row in read_rows(folder / "qrels.jsonl.xz"):
        wanted.setdefault(row["query_id"], set()).add(row["skill_id"])
    docs = model.embed([f"{row['name']}: {row['description']}" for row in skills], model.long)
    asked = model.embed([row["text"] for row in queries], model.short)
    with torch.no_grad():
        best = (asked @ docs.T).max(dim=1)
    top, scores = best.indices.cpu().numpy(), best.values.cpu().numpy()
    known = np.array([row["id"] in wanted for row in queries])
    hits = [
        skills[top[index]]["id"] in wanted[row["id"]]
        for index, row in enumerate(queries)
        if row["id"] in wanted
    ]
    return {"hit1": float(np.mean(hits)), "auroc": auroc(scores[known], scores[~known])}


def all_sets(model: Embeds, dev: Path) -> dict[str, dict[str, float]]:
    """Score every set below `dev` and print a line each."""
    found = {}
    for folder in sorted(path for path in dev.iterdir() if path.is_dir()):
        found[folder.name] = one_set(model, folder)
        numbers = "  ".join(f"{key} {value:.3f}" for key, value in found[folder.name].items())
        print(f"  {folder.name:<16} {numbers}", flush=True)
    return found
