"""Contrastive tuning of the base encoder on mined pairs.

    python -m training.train --base DIR --pairs FILE --out DIR [--dev DIR] [--config JSON]

InfoNCE over the batch in both directions with one hard negative each; texts that are near copies of
the right one (by the base encoder) do not count as wrong; a pull keeps vectors near the base's, so
that what it knows of everyday language is not forgotten.
"""

import argparse
import json
import math
import random
import time
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that decides a run; printed and kept with its result."""

    seed: int = 7
    epochs: int = 3
    batch: int = 2048
    rate: float = 1e-4
    temperature: float = 0.05
    pull: float = 0.5
    copies: float = 0.8
    unrelated: float = 0.15
    hard_from: int = 10
    hard_to: int = 60
    utterance_tokens: int = 48
    doc_tokens: int = 96
    joined: float = 0.15
    first_sentence: float = 0.0
    nameless: float = 0.0
    limit: int | None = None


class Embedder:
    """An encoder with its tokenizers: the short one for what is asked, the long one for skills."""

    def __init__(self, model: Encoder, tokenizer: Path, lengths: tuple[int, int]) -> None:
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = model.to(self.device)
        self.short, self.long = (pairs.tokenizer(tokenizer, length) for length in lengths)

    @torch.no_grad()
    def embed(self, texts: list[str], tokenizer: Tokenizer, size: int = 2048) -> Tensor:
        """Embed texts with the model as it is, shortest together."""
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        out = torch.empty(len(texts), encoder.WIDTH, device=self.device)
        for start in range(0, len(order), size):
            part = order[start : start + size]
            out[part] = self.forward([texts[index] for index in part], tokenizer).float()
        return out

    def forward(self, texts: list[str], tokenizer: Tokenizer) -> Tensor:
        """Encode texts in the precision that the device is fast in."""
        return self._encode(*pairs.tokens(tokenizer, texts))

    def encode(self, rows: list[list[int]]) -> Tensor:
        """Encode texts that are tokens already."""
        return self._encode(*pairs.padded(rows)).float()

    def cut(self, texts: Sequence[str], tokenizer: Tokenizer) -> list[list[int]]:
        """Cut every text into tokens once: doing so in each step takes most of the time."""
        tokenizer.no_padding()
        found = [coded.ids for coded in tokenizer.encode_batch(list(texts))]
        tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")  # noqa: S106
        return found

    def _encode(self, ids: np.ndarray, mask: np.ndarray) -> Tensor:
        tensors = [torch.from_numpy(array).to(self.device) for array in (ids, mask)]
        # Half precision on a GPU only: some CPUs cannot execute it at all.
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.device == "cuda"):
            encoded: Tensor = self.model(*tensors)
        return encoded


class Trainer(Embedder):
    """Holds the data of one run and takes it through its epochs."""

    def __init__(
        self, base: Path, data: pairs.Pairs, config: Config, weights: Path | None = None
    ) -> None:
        torch.manual_seed(config.seed)
        model = encoder.from_weights(encoder.unpack(weights or base / "base.npz"))
        lengths = (config.utterance_tokens, config.doc_tokens)
        super().__init__(model, base / "tokenizer.json", lengths)
        self.config, self.data, self.chance = config, data, random.Random(config.seed)
        self.base_docs = self.embed(data.docs, self.long)
        self.base_utterances = self.embed(data.utterances, self.short)
        self.rows = self._useful_rows()
        self.hard = self._hard_negatives()
        self.siblings = self._siblings()
        self.doc_tokens = self._doc_tokens()

    def _useful_rows(self) -> np.ndarray:
        """Drop what the base encoder finds unrelated, and thin out weak kinds."""
        targets = torch.from_numpy(self.data.targets).to(self.device)
        related = (self.base_utterances * self.base_docs[targets]).sum(1).cpu().numpy()
        keep = [
            index
            for index, kind in enumerate(self.data.kinds)
            if related[index] > self.config.unrelated
            and self.chance.random() < pairs.WEAK_KINDS.get(kind, 1.0)
        ]
        return np.array(keep)

    def _hard_negatives(self) -> Tensor:
        """For each text the neighbours of middle rank: alike, but hardly the same skill."""
        first, last = self.config.hard_from, self.config.hard_to
        last = min(last, len(self.data.docs) - 1)
        first = min(first, last - 1)
        found = torch.empty(len(self.data.docs), last - first, dtype=torch.long, device=self.device)
        for start in range(0, len(self.data.docs), 4096):
            near = self.base_docs[start : start + 4096] @ self.base_docs.T
            found[start : start + 4096] = near.topk(last, dim=1).indices[:, first:]
        return found

    def _siblings(self) -> dict[int, list[int]]:
        """Rows by text, for joining two utterances of one skill into a longer one."""
        found: dict[int, list[int]] = {}
        for row in self.rows:
            found.setdefault(int(self.data.targets[row]), []).append(int(row))
        return found

    def utterance(self, row: int) -> str:
        """Return a varied utterance, now and then a long one."""
        text = pairs.vary(self.data.utterances[row], self.chance)
        others = self.siblings[int(self.data.targets[row])]
        if len(others) > 1 and self.chance.random() < self.config.joined:
            text += ". " + self.data.utterances[self.chance.choice(others)]
        return text

    def doc(self, index: int) -> list[int]:
        """Return the tokens of a varied skill text: whole, its first sentence, or nameless."""
        drawn = self.chance.random()
        for kind, share in (("first", self.config.first_sentence), ("rest", self.config.nameless)):
            if drawn < share:
                return self.doc_tokens[kind][index]
            drawn -= share
        return self.doc_tokens["whole"][index]

    def _doc_tokens(self) -> dict[str, list[list[int]]]:
        kinds = {"whole": str, "first": pairs.shortened, "rest": pairs.nameless}
        return {
            kind: self.cut([change(text) for text in self.data.docs], self.long)
            for kind, change in kinds.items()
        }

    def loss(self, rows: np.ndarray) -> Tensor:
        """Return the loss of one batch."""
        config = self.config
        targets = torch.from_numpy(self.data.targets[rows]).to(self.device)
        pick = torch.randint(self.hard.shape[1], (len(rows),), device=self.device)
        negatives = self.hard[targets, pick]
        asked = self.forward([self.utterance(int(row)) for row in rows], self.short).float()
        wanted = self.encode([self.doc(index) for index in targets.tolist()])
        unwanted = self.encode([self.doc(index) for index in negatives.tolist()])
        everything = torch.cat([targets, negatives])
        copies = self.base_docs[targets] @ self.base_docs[everything].T > config.copies
        copies[torch.arange(len(rows)), torch.arange(len(rows))] = False
        scores = asked @ torch.cat([wanted, unwanted]).T / config.temperature
        scores = scores.masked_fill(copies, -1e4)
        labels = torch.arange(len(rows), device=self.device)
        contrast = F.cross_entropy(scores, labels)
        contrast = contrast + F.cross_entropy(scores[:, : len(rows)].T, labels)
        near = (
            2
            - (asked * self.base_utterances[rows]).sum(1)
            - (wanted * self.base_docs[targets]).sum(1)
        )
        return contrast / 2 + config.pull * near.mean()

    def run(self) -> Encoder:
        """Train through all epochs and return the model."""
        config = self.config
        optimiser = torch.optim.AdamW(self.model.parameters(), lr=config.rate, weight_decay=0.01)
        steps = max(1, math.ceil(len(self.rows) / config.batch)) * config.epochs
        warm = max(1, steps // 10)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser,
            lambda step: min(1.0, (step + 1) / warm)
            * 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps))),
        )  # fmt: skip
        started, step = time.time(), 0
        for epoch in range(config.epochs):
            order = np.random.default_rng(config.seed + epoch).permutation(self.rows)
            for start in range(0, len(order), config.batch):
                loss = self.loss(order[start : start + config.batch])
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                optimiser.step()
                schedule.step()
                step += 1
            print(
                f"epoch {epoch + 1}: loss {loss.item():.4f}, {time.time() - started:.0f} s",
                flush=True,
            )
        return self.model


def averaged(base: Encoder, tuned: Encoder, share: float) -> Encoder:
    """Return weights between base and tuned: what was learnt, without what would be forgotten."""
    mixed = encoder.from_weights(encoder.to_weights(base))
    start, end = base.state_dict(), tuned.state_dict()
    mixed.load_state_dict(
        {name: start[name].cpu() * (1 - share) + end[name].cpu() * share for name in start}
    )
    return mixed


def main() -> None:
    """Train one configuration and write packed weights, configuration and scores."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--dev", type=Path)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--config", type=json.loads, default={})
    options = parser.parse_args()
    config = Config(**options.config)
    print(json.dumps(asdict(config)), flush=True)
    trainer = Trainer(options.base, pairs.load(options.pairs, limit=config.limit), config)
    base = encoder.from_weights(encoder.unpack(options.base / "base.npz"))
    print(f"{len(trainer.rows)} pairs of {len(trainer.data.utterances)}", flush=True)
    tuned = averaged(base, trainer.run(), options.share)
    trainer.model = tuned.to(trainer.device)
    options.out.mkdir(parents=True, exist_ok=True)
    encoder.pack(encoder.to_weights(tuned), options.out / "tuned.npz")
    result = {"config": asdict(config), "share": options.share}
    if options.dev is not None:
        result["dev"] = scoring.all_sets(trainer, options.dev)
    (options.out / "run.json").write_text(json.dumps(result, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
