"""Tuning of the encoder on labelled catalogues: of all skills at hand, which one is asked for.

    python -m training.catalogues --collect --sets DIR --messages DIR --pairs PAIRS --out work/sets
    python -m training.catalogues --weights work/run/tuned.npz --tokenizer work/base/tokenizer.json
        --sets work/sets --out work/final [--only NAME ...] [--share 1] [--config JSON]

Pairs teach what belongs together; a catalogue teaches to choose, among siblings too, and to tell
messages that need no skill: everyday prompts of ours, and real messages to coding agents, hardly
any of which needs one of these skills. `--collect` writes what routing would encode of each set, so
that the rest runs without Prowess.

`asked.jsonl.xz` is our own catalogue: two requests for each of some thousand skills of PAIRS, as
people type them and mostly without the skill's own words. Of its skills an eighth is kept out with
all that is asked of them, and of the messages of the other sets one half: what is printed is fair
to both. `--only` names the sets to tune on, so that others say what to expect of strange skills.
"""

import argparse
import copy
import hashlib
import json
import lzma
import math
import re
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from training import encoder, pairs, scoring
from training.encoder import Encoder
from training.train import averaged

if TYPE_CHECKING:
    from prowess.evaluation.suites import Bench

SETS = ("nvidia-skills", "wild-evals", "metatool", "clinc150")
ASKED, ASKED_HELD = "asked", "asked-held"
_OTHERS = "others"
_ASKED = Path(__file__).with_name("asked.jsonl.xz")
_PROMPTS = Path(__file__).parents[1] / "benchmarks/quality/hints.toml"
_ONE_OF_MESSAGES, _ONE_OF_SKILLS = 2, 8
_AT_ONCE, _NEIGHBOURS = 96, 12
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that decides a tuning."""

    seed: int = 1
    steps: int = 150
    # Of a step: messages, messages of no skill, and skills that stand for choice, among them so
    # many neighbours of each right one.
    messages: int = 128
    others: int = 48
    skills: int = 256
    near: int = 2
    rate: float = 5e-5
    temperature: float = 0.05
    tokens: int = 64
    # How often a skill is only its first sentence, or the beginning of its body.
    first_sentence: float = 0.2
    opening: float = 0.2
    # What else counts beside the choice: that nothing is meant, and what was known before.
    none: float = 0.3
    pull: float = 2.0
    # Our own catalogue comes so much more often than its size says.
    ours: float = 2.0


class Catalogue:
    """A labelled set as tokens: its skills, its messages and which skill each of them asks for."""

    def __init__(self, path: Path, tokenizer: Tokenizer) -> None:
        raw = json.loads(path.read_text(encoding="utf-8"))
        self.name = path.stem
        self.messages = cut(tokenizer, [row["text"] for row in raw["messages"]])
        whole = [row["text"] for row in raw["skills"]]
        self.whole = cut(tokenizer, whole)
        # A skill is not always read whole.
        self.texts = {
            "whole": self.whole,
            "first": cut(tokenizer, [pairs.shortened(text) for text in whole]),
            "opening": cut(tokenizer, [row["opening"] for row in raw["skills"]]),
        }
        self.right = np.zeros((len(self.messages), len(whole)), bool)
        for place, row in enumerate(raw["messages"]):
            self.right[place, row["right"]] = True
        places = range(len(self.messages))
        self.held = np.array([_is_kept_out(self.name, place) for place in places])


def _is_kept_out(name: str, place: int) -> bool:
    # What is kept out of our own are whole skills.
    is_ours = name in (ASKED, ASKED_HELD)
    return name == ASKED_HELD if is_ours else draw(name, place, _ONE_OF_MESSAGES)


def draw(name: str, place: int, one_of: int) -> bool:
    """Say whether something is among those that are kept out, always the same ones."""
    return hashlib.sha256(f"{name}{place}".encode()).digest()[0] % one_of == 1


def cut(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Cut every text into tokens once: doing so in each step takes long."""
    tokenizer.no_padding()
    return [coded.ids for coded in tokenizer.encode_batch(list(texts))]


def collect(sets: Path, messages: Path, mined: Path, out: Path) -> None:
    """Write what routing encodes of each set: messages as they are asked, skills as they are."""
    from prowess.routing import router
    from prowess.routing.words import put_in_english
    from training.constants import read_set

    out.mkdir(parents=True, exist_ok=True)
    others = [put_in_english(router.find_ask(text)) for text in _list_others(messages)]
    _write(out / f"{_OTHERS}.json", [text for text in others if text.strip()])
    for bench in (*(read_set(sets / name) for name in SETS), *read_asked(mined)):
        _write(out / f"{bench.name}.json", list_texts(bench))


def list_texts(bench: "Bench") -> dict[str, object]:
    """Return what routing encodes of a set."""
    from prowess.evaluation.suites import without_examples
    from prowess.routing import router
    from prowess.routing.handoffs_and_passages import read_evidence
    from prowess.routing.words import put_in_english

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
        {"text": put_in_english(one.text), "opening": put_in_english(one.opening_text or one.text)}
        for one in found
    ]
    return {"messages": messages, "skills": skills}


def read_asked(mined: Path) -> Iterator["Bench"]:
    """Yield our own catalogue, and the part of it that is kept out."""
    from prowess.evaluation.suites import read_bench

    with lzma.open(mined, "rt", encoding="utf-8") as file:
        docs = json.load(file)["docs"]
    with lzma.open(_ASKED, "rt", encoding="utf-8") as file:
        asked = [json.loads(line) for line in file]
    for name, is_kept_out in ((ASKED, False), (ASKED_HELD, True)):
        rows = [row for row in asked if draw(ASKED, row["doc"], _ONE_OF_SKILLS) == is_kept_out]
        texts = {row["doc"]: docs[row["doc"]].partition(": ") for row in rows}
        parts = {
            "skills": [
                {"id": str(doc), "name": name_folder(title), "description": about, "body": ""}
                for doc, (title, _, about) in sorted(texts.items())
            ],
            "queries": [{"id": place, "text": row["text"]} for place, row in enumerate(rows)],
            "qrels": [
                {"query_id": place, "skill_id": str(row["doc"]), "relevance": 2}
                for place, row in enumerate(rows)
            ],
        }
        yield read_bench(name, **{part: dict(enumerate(of, 1)) for part, of in parts.items()})


def name_folder(title: str) -> str:
    """Return the name that a skill's folder can have."""
    return "-".join(_WORD.findall(title.lower()))


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


def encode(model: Encoder, rows: Sequence[Sequence[int]], size: int = _AT_ONCE) -> Tensor:
    """Encode texts that are tokens already, shortest together, in half precision."""
    device = next(model.parameters()).device
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    parts = []
    for start in range(0, len(order), size):
        part = pairs.padded([list(rows[place]) for place in order[start : start + size]])
        with torch.autocast(device.type, dtype=torch.bfloat16):
            parts.append(model(*(torch.from_numpy(one).to(device) for one in part)).float())
    back = torch.empty(len(order), dtype=torch.long)
    back[torch.tensor(order)] = torch.arange(len(order))
    return torch.cat(parts)[back.to(device)]


@torch.no_grad()
def recall(model: Encoder, rows: Sequence[Sequence[int]]) -> Tensor:
    """Encode texts of which nothing is learnt."""
    return encode(model, rows, 4 * _AT_ONCE)


class Known:
    """What the encoder made of a catalogue before: it is not to forget all of it."""

    def __init__(self, model: Encoder, one: Catalogue) -> None:
        self.messages = recall(model, one.messages)
        self.texts = {kind: recall(model, texts) for kind, texts in one.texts.items()}
        near = self.texts["whole"] @ self.texts["whole"].T
        near.fill_diagonal_(-1)
        most = min(_NEIGHBOURS, len(one.whole) - 1)
        self.neighbours = near.topk(most).indices.cpu().numpy()


class Chooser:
    """Tunes a copy of an encoder on the messages of some catalogues."""

    def __init__(self, start: Encoder, plan: Plan, others: Sequence[Sequence[int]]) -> None:
        torch.manual_seed(plan.seed)
        self.start, self.plan, self.draw = start, plan, np.random.default_rng(plan.seed)
        self.others, self.known_others = others, recall(start, others)
        self.model = copy.deepcopy(start).train()

    def run(self, seen: Sequence[Catalogue]) -> Encoder:
        """Return the model tuned on what is not kept out of each catalogue."""
        plan, known = self.plan, [Known(self.start, one) for one in seen]
        device = next(self.model.parameters()).device
        bars = [torch.nn.Parameter(torch.tensor(0.3, device=device)) for _ in seen]
        groups = [
            {"params": self.model.parameters(), "lr": plan.rate},
            {"params": bars, "lr": 0.01, "weight_decay": 0.0},
        ]
        optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, self._pace)
        # Larger sets come more often, though not as much as they are larger.
        often = np.sqrt([(~one.held).sum() for one in seen])
        often *= [plan.ours if one.name == ASKED else 1.0 for one in seen]
        began = time.monotonic()
        for step in range(plan.steps):
            at = self.draw.choice(len(seen), p=often / often.sum())
            loss = self._choose(seen[at], known[at], bars[at])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            if not step % 10:
                spent = time.monotonic() - began
                print(f"  {step:>4}  {seen[at].name} {loss.item():.3f}  {spent:.0f} s", flush=True)
        return self.model.eval()

    def _pace(self, step: int) -> float:
        warm = min(1.0, (step + 1) / max(1, self.plan.steps // 10))
        return warm * 0.5 * (1 + math.cos(math.pi * min(1.0, step / self.plan.steps)))

    def _choose(self, one: Catalogue, known: Known, bar: Tensor) -> Tensor:
        """Return the loss of one batch: the skills that are meant, their neighbours and others."""
        plan = self.plan
        rows = np.flatnonzero(~one.held)
        rows = self.draw.choice(rows, min(plan.messages, len(rows)), replace=False)
        strange = self.draw.choice(len(self.others), min(plan.others, len(self.others)))
        asked = [one.messages[row] for row in rows] + [self.others[place] for place in strange]
        offered = self._offer(one.right[rows], known.neighbours)
        kinds = [self._draw_kind() for _ in offered]
        texts = [
            one.texts[kind][place][: plan.tokens]
            for kind, place in zip(kinds, offered, strict=True)
        ]
        message = encode(self.model, [text[: plan.tokens] for text in asked])
        skill = encode(self.model, texts)
        right = np.pad(one.right[np.ix_(rows, offered)], ((0, len(strange)), (0, 0)))
        loss = self._weigh(message @ skill.T, torch.from_numpy(right).to(skill.device), bar)
        before = torch.cat([known.messages[rows], self.known_others[strange]])
        was = [known.texts[kind][place] for kind, place in zip(kinds, offered, strict=True)]
        for old, new in ((before, message), (torch.stack(was), skill)):
            loss = loss + plan.pull * (1 - (old * new).sum(dim=1)).mean()
        return loss

    def _offer(self, right: np.ndarray, neighbours: np.ndarray) -> list[int]:
        """Return which skills stand for choice: what is meant, what is like it, and any others."""
        meant = np.flatnonzero(right.any(axis=0))
        near = [self.draw.choice(neighbours[place], self.plan.near) for place in meant]
        rest = self.draw.permutation(right.shape[1])
        order = dict.fromkeys(int(place) for place in np.concatenate([meant, *near, rest]))
        return list(order)[: max(self.plan.skills, len(meant))]

    def _draw_kind(self) -> str:
        drawn, plan = self.draw.random(), self.plan
        if drawn < plan.first_sentence:
            return "first"
        return "opening" if drawn < plan.first_sentence + plan.opening else "whole"

    def _weigh(self, near: Tensor, right: Tensor, bar: Tensor) -> Tensor:
        plan, meant = self.plan, right.any(dim=1)
        likely = torch.log_softmax(near / plan.temperature, dim=1).masked_fill(~right, -1e4)
        loss = -torch.logsumexp(likely, dim=1)[meant].mean()
        best = torch.logsumexp(near / plan.temperature, dim=1) * plan.temperature
        weight = (~meant).sum() / meant.sum()
        return loss + plan.none * F.binary_cross_entropy_with_logits(
            (best - bar) / plan.temperature, meant.float(), pos_weight=weight
        )


def measure(model: Encoder, one: Catalogue) -> str:
    """Say Hit@1 and AUROC of the cosine alone for what is kept out."""
    rows = np.flatnonzero(one.held)
    near = recall(model, [one.messages[row] for row in rows]) @ recall(model, one.whole).T
    best = near.cpu().max(dim=1)
    top, scores, meant = best.indices.numpy(), best.values.numpy(), one.right[rows].any(axis=1)
    hit = one.right[rows, top][meant].mean()
    apart = scoring.auroc(scores[meant], scores[~meant]) if (~meant).any() else math.nan
    return f"{one.name} {hit:.3f} / {apart:.3f}"


def tune(given: argparse.Namespace) -> None:
    """Tune on what is not kept out, and say what is found of the rest."""
    plan = Plan(**given.config)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    start = encoder.from_weights(encoder.unpack(given.weights)).to(device).eval()
    tokenizer = pairs.tokenizer(given.tokenizer, encoder.MAX_TOKENS)
    names = (*SETS, ASKED, ASKED_HELD)
    sets = {name: Catalogue(given.sets / f"{name}.json", tokenizer) for name in names}
    texts = json.loads((given.sets / f"{_OTHERS}.json").read_text(encoding="utf-8"))
    seen = [text for place, text in enumerate(texts) if not draw(_OTHERS, place, _ONE_OF_MESSAGES)]
    chooser = Chooser(start, plan, cut(tokenizer, seen))
    tuned = averaged(start, chooser.run([sets[name] for name in given.only]), given.share)
    tuned = tuned.to(device).eval()
    given.out.mkdir(parents=True, exist_ok=True)
    encoder.pack(encoder.to_weights(tuned), given.out / "tuned.npz")
    for label, model in (("before", start), ("now", tuned)):
        shown = [measure(model, one) for one in sets.values() if one.held.any()]
        print(f"{label:<7}", *shown, sep="  ", flush=True)
    text = json.dumps({"config": asdict(plan), "only": given.only, "share": given.share}, indent=2)
    (given.out / "run.json").write_text(text, encoding="utf-8")


def main() -> None:
    """Collect the sets, or tune on them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collect", action="store_true")
    for name in ("--sets", "--out", "--messages", "--pairs", "--weights", "--tokenizer"):
        parser.add_argument(name, type=Path, required=name in ("--sets", "--out"))
    parser.add_argument("--only", nargs="+", default=[*SETS, ASKED])
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--config", type=json.loads, default={})
    given = parser.parse_args()
    if given.collect:
        collect(given.sets, given.messages, given.pairs, given.out)
    else:
        tune(given)


if __name__ == "__main__":
    main()
