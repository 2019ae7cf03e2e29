"""Tuning of the encoder on labelled catalogues: of all skills at hand, which one is asked for.

    python -m training.catalogues --collect --sets DIR --messages DIR --out work/sets
    python -m training.catalogues --weights work/run/tuned.npz --base work/base --pairs PAIRS
        --sets work/sets --out work/final [--share 0.7] [--config JSON] [--unseen]

Pairs teach what belongs together; a catalogue teaches to choose, among siblings too, and to tell
messages that need no skill: those of the set, everyday prompts of ours, and real messages to coding
agents, hardly any of which needs one of these skills. `--collect` writes what routing would encode
of each set, so that the rest runs without Prowess. Half of all messages is never trained on: its
figures are fair to the messages, though not to the skills. What is to be expected of skills that
nobody has seen is printed by `--unseen`, where each set is left out of the tuning that it is
measured by.
"""

import argparse
import copy
import hashlib
import json
import math
import random
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from training import encoder, pairs, scoring
from training.encoder import Encoder
from training.train import Config, Embedder, Trainer, averaged

SETS = ("nvidia-skills", "wild-evals", "metatool", "clinc150")
_OTHERS = "others"
_PROMPTS = Path(__file__).parents[1] / "benchmarks/quality/hints.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that decides a tuning, beside the configuration of the pairs."""

    seed: int = 1
    steps: int = 160
    messages: int = 512
    others: int = 128
    pairs: int = 1024
    rate: float = 5e-5
    temperature: float = 0.05
    tokens: int = 128
    # How often a skill is only its first sentence, or the beginning of its body.
    first_sentence: float = 0.2
    opening: float = 0.2
    # What else counts beside the choice: that nothing is meant, the pairs, and what was known.
    none: float = 0.3
    mined: float = 0.5
    pull: float = 2.0


class Catalogue:
    """A labelled set as tokens: its skills, its messages and which skill each of them asks for."""

    def __init__(self, path: Path, source: Embedder, found: Tokenizer) -> None:
        raw = json.loads(path.read_text(encoding="utf-8"))
        self.name = path.stem
        self.messages = source.cut([row["text"] for row in raw["messages"]], found)
        whole = [row["text"] for row in raw["skills"]]
        texts = (whole, map(pairs.shortened, whole), (row["opening"] for row in raw["skills"]))
        self.whole, self.first, self.openings = (source.cut(list(some), found) for some in texts)
        self.right = np.zeros((len(self.messages), len(whole)), bool)
        for place, row in enumerate(raw["messages"]):
            self.right[place, row["right"]] = True
        self.held = np.array([is_held(self.name, place) for place in range(len(self.messages))])


def is_held(name: str, place: int) -> bool:
    """Say whether a message is left out of the tuning."""
    return hashlib.sha256(f"{name}{place}".encode()).digest()[0] % 2 == 1


def collect(sets: Path, messages_of: Path, out: Path) -> None:
    """Write what routing encodes of each set: messages as they are asked, skills as they are."""
    from prowess.evaluation.suites import without_examples
    from prowess.routing import router
    from prowess.routing.handoffs_and_passages import read_evidence
    from prowess.routing.words import put_in_english
    from training.constants import read_set

    out.mkdir(parents=True, exist_ok=True)
    others = [put_in_english(router.find_ask(text)) for text in _list_others(messages_of)]
    _write(out / f"{_OTHERS}.json", [text for text in others if text.strip()])
    for name in SETS:
        bench = read_set(sets / name)
        found = [read_evidence(without_examples(skill)) for skill in bench.skills]
        places = {skill.id: place for place, skill in enumerate(bench.skills)}
        messages = [
            {
                "text": put_in_english(router.find_ask(case.prompt)),
                "right": [places[skill] for skill in case.expect],
            }
            for case in bench.cases
        ]
        skills = [
            {
                "text": put_in_english(one.text),
                "opening": put_in_english(one.opening_text or one.text),
            }
            for one in found
        ]
        _write(out / f"{name}.json", {"messages": messages, "skills": skills})


def _list_others(messages: Path) -> list[str]:
    """Return everyday prompts, and the real messages that no skills were graded for."""
    from training.judgement import read_lines

    table = tomllib.loads(_PROMPTS.read_text(encoding="utf-8"))
    everyday = [text for name, some in table["ordinary"].items() if name != "held" for text in some]
    graded = {row["id"] for row in read_lines(messages / "activation" / "queries.jsonl.xz")}
    real = read_lines(messages / "messages.jsonl.xz")
    return [*everyday, *(row["text"] for row in real if row["id"] not in graded)]


def _write(path: Path, found: object) -> None:
    path.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")


class Chooser:
    """Tunes a copy of the trainer's model on the messages of some catalogues."""

    def __init__(self, trainer: Trainer, plan: Plan, others: Sequence[list[int]]) -> None:
        torch.manual_seed(plan.seed)
        self.trainer, self.plan, self.others = trainer, plan, others
        self.start = copy.deepcopy(trainer.model).eval()
        self.draw, self.chance = np.random.default_rng(plan.seed), random.Random(plan.seed)

    def run(self, seen: Sequence[Catalogue]) -> Encoder:
        """Return the model tuned on half of the messages of each catalogue."""
        plan, trainer = self.plan, self.trainer
        trainer.model = copy.deepcopy(self.start).train()
        bars = {
            one.name: torch.nn.Parameter(torch.tensor(0.3, device=trainer.device)) for one in seen
        }
        groups = [
            {"params": trainer.model.parameters(), "lr": plan.rate},
            {"params": list(bars.values()), "lr": 0.01, "weight_decay": 0.0},
        ]
        optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, self._pace)
        # Larger sets come more often, though not as much as they are larger.
        often = np.sqrt([(~one.held).sum() for one in seen])
        for _ in range(plan.steps):
            one = seen[self.draw.choice(len(seen), p=often / often.sum())]
            rows = np.flatnonzero(~one.held)
            rows = self.draw.choice(rows, min(plan.messages, len(rows)), replace=False)
            loss = self._choose(one, rows, bars[one.name])
            if plan.mined:
                mined = self.draw.choice(trainer.rows, plan.pairs, replace=False)
                loss = loss + plan.mined * trainer.loss(mined)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
        print(f"  last loss {loss.item():.3f}", flush=True)
        tuned, trainer.model = trainer.model.eval(), self.start
        return tuned

    def _pace(self, step: int) -> float:
        warm = min(1.0, (step + 1) / max(1, self.plan.steps // 10))
        return warm * 0.5 * (1 + math.cos(math.pi * min(1.0, step / self.plan.steps)))

    def _choose(self, one: Catalogue, rows: np.ndarray, bar: Tensor) -> Tensor:
        """Return the loss of one batch: all skills of the catalogue stand for choice."""
        plan = self.plan
        strangers = self.draw.choice(len(self.others), min(plan.others, len(self.others)))
        asked = [one.messages[row] for row in rows] + [self.others[place] for place in strangers]
        asked = [text[: plan.tokens] for text in asked]
        texts = [self._vary(one, place) for place in range(len(one.whole))]
        message, skill = self.trainer.encode(asked), self.trainer.encode(texts)
        near = message @ skill.T
        right = np.pad(one.right[rows], ((0, len(strangers)), (0, 0)))
        right = torch.from_numpy(right).to(near.device)
        meant = right.any(dim=1)
        likely = torch.log_softmax(near / plan.temperature, dim=1).masked_fill(~right, -1e4)
        loss = -torch.logsumexp(likely, dim=1)[meant].mean()
        if meant.any() and not meant.all():
            best = torch.logsumexp(near / plan.temperature, dim=1) * plan.temperature
            loss = loss + plan.none * F.binary_cross_entropy_with_logits(
                (best - bar) / plan.temperature,
                meant.float(),
                pos_weight=(~meant).sum() / meant.sum(),
            )
        for before, after in ((asked, message), (texts, skill)):
            loss = loss + plan.pull * (1 - (self._recall(before) * after).sum(dim=1)).mean()
        return loss

    @torch.no_grad()
    def _recall(self, rows: list[list[int]]) -> Tensor:
        tuned, self.trainer.model = self.trainer.model, self.start
        known = self.trainer.encode(rows)
        self.trainer.model = tuned
        return known

    def _vary(self, one: Catalogue, place: int) -> list[int]:
        drawn, plan = self.chance.random(), self.plan
        if drawn < plan.first_sentence:
            return one.first[place][: plan.tokens]
        if drawn < plan.first_sentence + plan.opening:
            return one.openings[place][: plan.tokens]
        return one.whole[place][: plan.tokens]


@torch.no_grad()
def measure(
    model: Encoder, one: Catalogue, mask: np.ndarray, source: Embedder
) -> tuple[float, float]:
    """Return Hit@1 and AUROC of the cosine alone for some of the messages."""
    before, source.model = source.model, model
    message, skill = (_encode_all(source, rows) for rows in (one.messages, one.whole))
    source.model = before
    best = (message @ skill.T).max(dim=1)
    top, scores, meant = best.indices.numpy(), best.values.numpy(), one.right.any(axis=1)
    hits = one.right[np.arange(len(top)), top][meant & mask]
    return float(hits.mean()), scoring.auroc(scores[meant & mask], scores[~meant & mask])


def _encode_all(source: Embedder, rows: Sequence[list[int]], size: int = 512) -> Tensor:
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    found = torch.empty(len(rows), encoder.WIDTH)
    for start in range(0, len(order), size):
        part = order[start : start + size]
        found[part] = source.encode([rows[place] for place in part]).cpu()
    return found


def read_others(sets: Path, source: Embedder, found: Tokenizer) -> list[list[int]]:
    """Return half of the messages that need none of the skills, as tokens."""
    texts = json.loads((sets / f"{_OTHERS}.json").read_text(encoding="utf-8"))
    half = [text for place, text in enumerate(texts) if not is_held(_OTHERS, place)]
    return source.cut(half, found)


def show(label: str, one: Catalogue, figures: tuple[float, float]) -> None:
    """Print the figures of a set."""
    hit, apart = figures
    print(f"  {label:<10} {one.name:<16} hit1 {hit:.3f}  auroc {apart:.3f}", flush=True)


def tune_all(given: argparse.Namespace) -> None:
    """Tune on half of the messages, and say what the others get."""
    config, plan = Config(**given.mined), Plan(**given.config)
    mined = pairs.load(given.pairs, limit=config.limit)
    trainer = Trainer(given.base, mined, config, given.weights)
    found = pairs.tokenizer(given.base / "tokenizer.json", encoder.MAX_TOKENS)
    sets = [Catalogue(given.sets / f"{name}.json", trainer, found) for name in SETS]
    chooser = Chooser(trainer, plan, read_others(given.sets, trainer, found))

    def tune(seen: Sequence[Catalogue]) -> Encoder:
        left = averaged(chooser.start, chooser.run(seen), given.share)
        return left.to(trainer.device).eval()

    tuned = tune(sets)
    given.out.mkdir(parents=True, exist_ok=True)
    encoder.pack(encoder.to_weights(tuned), given.out / "tuned.npz")
    for one in sets:
        show("before", one, measure(chooser.start, one, one.held, trainer))
        show("held half", one, measure(tuned, one, one.held, trainer))
    for one in sets if given.unseen else ():
        left = tune([other for other in sets if other is not one])
        show("unseen", one, measure(left, one, one.held | True, trainer))
    text = json.dumps({"config": asdict(plan), "share": given.share}, indent=2)
    (given.out / "run.json").write_text(text, encoding="utf-8")


def main() -> None:
    """Collect the sets, or tune on them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collect", action="store_true")
    for name in ("--sets", "--out", "--messages", "--weights", "--base", "--pairs"):
        parser.add_argument(name, type=Path, required=name in ("--sets", "--out"))
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--mined", type=json.loads, default={})
    parser.add_argument("--config", type=json.loads, default={})
    parser.add_argument("--unseen", action="store_true")
    given = parser.parse_args()
    if given.collect:
        collect(given.sets, given.messages, given.out)
    else:
        tune_all(given)


if __name__ == "__main__":
    main()
