"""A cross-encoder on the same pairs: reads a message and a skill's text together.

    python -m training.rerank --base DIR --pairs FILE --out DIR [--config JSON]

Each message is judged against its own text and a few of the nearest wrong ones, with a listwise
loss (the right one first) and a binary one (right or wrong at all). Whether it pays for its size
and time is measured by `benchmarks/quality`, not assumed.
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
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from training import encoder, pairs
from training.train import Config as EncoderConfig
from training.train import Trainer as EncoderTrainer


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that decides a run."""

    seed: int = 7
    epochs: int = 2
    batch: int = 256
    rate: float = 1e-4
    wrong: int = 7
    drawn: int = 1500
    tokens: int = 160
    copies: float = 0.8
    binary: float = 0.3
    limit: int | None = None


class Judge(nn.Module):
    """Token ids of a message and a text to one number: how well they belong together."""

    def __init__(self, body: encoder.Encoder) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(encoder.WIDTH, 1)

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
        """Judge a batch of pairs."""
        judged: Tensor = self.head(self.body.pooled(ids, mask, kinds)).squeeze(-1)
        return judged


def from_weights(weights: dict[str, np.ndarray]) -> Judge:
    """Build the judge from what `to_weights` returned."""
    judge = Judge(encoder.from_weights(weights))
    for part in ("weight", "bias"):
        getattr(judge.head, part).data = torch.from_numpy(weights[f"head.{part}"])
    return judge


def to_weights(judge: Judge) -> dict[str, np.ndarray]:
    """Return the judge's weights: the body's under their published names, and the head's."""
    weights = encoder.to_weights(judge.body)
    for part, value in judge.head.state_dict().items():
        weights[f"head.{part}"] = value.float().cpu().numpy()
    return weights


def paired(tokenizer: Tokenizer, both: Sequence[tuple[str, str]]) -> tuple[np.ndarray, ...]:
    """Return ids, mask and kinds of message and text pairs."""
    coded = tokenizer.encode_batch(list(both))
    return tuple(
        np.array([getattr(item, name) for item in coded], dtype=np.int64)
        for name in ("ids", "attention_mask", "type_ids")
    )


class Trainer:
    """Holds the data of one run and takes it through its epochs."""

    def __init__(self, base: Path, data: pairs.Pairs, config: Config, device: str) -> None:
        self.config, self.device, self.data = config, device, data
        # The encoder's trainer has what is needed: base vectors, cleaned rows, varied utterances.
        self.source = EncoderTrainer(
            base, data, EncoderConfig(seed=config.seed, utterance_tokens=64)
        )
        self.judge = Judge(encoder.from_weights(encoder.unpack(base / "base.npz"))).to(device)
        self.tokenizer = pairs.tokenizer(base / "tokenizer.json", config.tokens)
        self.chance = random.Random(config.seed)

    def score(self, both: Sequence[tuple[str, str]]) -> Tensor:
        """Judge pairs in the precision that the device is fast in."""
        arrays = paired(self.tokenizer, both)
        tensors = [torch.from_numpy(array).to(self.device) for array in arrays]
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.device == "cuda"):
            judged: Tensor = self.judge(*tensors)
        return judged.float()

    def wrong_texts(self, rows: np.ndarray) -> Tensor:
        """For each row the nearest of some texts drawn at random, copies of the right one aside."""
        config, docs = self.config, self.source.base_docs
        count = min(config.drawn, len(self.data.docs))
        drawn = torch.tensor(
            self.chance.sample(range(len(self.data.docs)), count), device=self.device
        )
        right = docs[torch.from_numpy(self.data.targets[rows]).to(self.device)]
        near = self.source.base_utterances[rows] @ docs[drawn].T
        near = near.masked_fill(right @ docs[drawn].T > config.copies, -1.0)
        return drawn[near.topk(min(config.wrong, count), dim=1).indices]

    def loss(self, rows: np.ndarray) -> Tensor:
        """Return the loss of one batch."""
        wrong = self.wrong_texts(rows).tolist()
        both = []
        for row, others in zip(rows, wrong, strict=True):
            asked = self.source.utterance(int(row))
            both += [
                (asked, self.varied(index)) for index in (int(self.data.targets[row]), *others)
            ]
        judged = self.score(both).view(len(rows), -1)
        labels = torch.zeros(len(rows), dtype=torch.long, device=self.device)
        right = torch.zeros_like(judged)
        right[:, 0] = 1.0
        weight = torch.where(right > 0, float(judged.shape[1] - 1), 1.0)
        binary = F.binary_cross_entropy_with_logits(judged, right, weight=weight)
        return F.cross_entropy(judged, labels) + self.config.binary * binary

    def varied(self, index: int) -> str:
        """Return a skill's text, now and then only its first sentence."""
        text = self.data.docs[index]
        return pairs.shortened(text) if self.chance.random() < 1 / 3 else text

    def run(self) -> Judge:
        """Train through all epochs and return the model."""
        config, rows = self.config, self.source.rows
        optimiser = torch.optim.AdamW(self.judge.parameters(), lr=config.rate, weight_decay=0.01)
        steps = max(1, math.ceil(len(rows) / config.batch)) * config.epochs
        warm = max(1, steps // 10)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda step: min(1.0, (step + 1) / warm) * max(0.02, 1 - step / steps)
        )
        started = time.time()
        for epoch in range(config.epochs):
            order = np.random.default_rng(config.seed + epoch).permutation(rows)
            for start in range(0, len(order), config.batch):
                loss = self.loss(order[start : start + config.batch])
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(self.judge.parameters(), 1.0)
                optimiser.step()
                schedule.step()
            took = time.time() - started
            print(f"epoch {epoch + 1}: loss {loss.item():.4f}, {took:.0f} s", flush=True)
        return self.judge


def main() -> None:
    """Train one configuration and write its weights."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--config", type=json.loads, default={})
    options = parser.parse_args()
    config = Config(**options.config)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    trainer = Trainer(options.base, pairs.load(options.pairs, limit=config.limit), config, device)
    judge = trainer.run()
    options.out.mkdir(parents=True, exist_ok=True)
    encoder.pack(to_weights(judge), options.out / "judge.npz")
    (options.out / "run.json").write_text(json.dumps({"config": asdict(config)}), encoding="utf-8")


if __name__ == "__main__":
    main()
