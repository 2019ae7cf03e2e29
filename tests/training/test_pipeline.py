"""The training pipeline on a handful of pairs: the code that a GPU runs, on a CPU."""

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch, which users and CI do not")
tokenizers = pytest.importorskip("tokenizers", reason="training needs tokenizers")

from training import encoder, pairs, train  # noqa: E402

WORDS = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "deploy", "the", "app", "send", "a", "mail", "plot",
    "chart", "report",
]  # fmt: skip


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A base with random weights and a vocabulary of a dozen words."""
    torch.manual_seed(1)
    model = encoder.Encoder(len(WORDS))
    encoder.pack(encoder.to_weights(model), tmp_path / "base.npz")
    vocabulary = {word: index for index, word in enumerate(WORDS)}
    found = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))  # noqa: S106
    found.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    found.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


@pytest.fixture
def mined(tmp_path: Path) -> Path:
    docs = ["deploy: deploy the app", "mail: send a mail", "chart: plot a chart report"]
    rows = [
        ["deploy the app", 0, "use-when"],
        ["send the mail", 1, "user-line"],
        ["plot report", 2, "body-quote"],
    ]
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps({"docs": docs, "rows": rows}))
    return path


def test_weights_survive_packing(base: Path) -> None:
    weights = encoder.unpack(base / "base.npz")

    again = encoder.to_weights(encoder.from_weights(weights))

    assert set(again) == set(weights)
    assert all(np.allclose(again[name], weights[name], atol=1e-3) for name in weights)


def test_vectors_have_unit_length_and_padding_changes_nothing(base: Path) -> None:
    model = encoder.from_weights(encoder.unpack(base / "base.npz")).eval()
    found = pairs.tokenizer(base / "tokenizer.json", 16)
    short, long = "send a mail", "deploy the app send a mail"

    with torch.no_grad():
        alone = model(*(torch.from_numpy(part) for part in pairs.tokens(found, [short])))
        padded = model(*(torch.from_numpy(part) for part in pairs.tokens(found, [short, long])))

    assert np.allclose(alone.norm(dim=1).numpy(), 1, atol=1e-5)
    assert np.allclose(alone[0].numpy(), padded[0].numpy(), atol=1e-4)


def test_a_short_run_lowers_the_loss_and_can_be_repeated(base: Path, mined: Path) -> None:
    config = train.Config(
        epochs=12, batch=3, rate=1e-4, pull=0.0, copies=2.0, unrelated=-1.0, hard_from=1, hard_to=2
    )

    def run() -> tuple[float, float]:
        trainer = train.Trainer(base, pairs.load(mined), config, "cpu")
        before = trainer.loss(trainer.rows).item()
        trainer.run()
        return before, trainer.loss(trainer.rows).item()

    first, second = run(), run()

    assert first[1] < first[0]
    assert first == pytest.approx(second, rel=0.05)


def test_a_share_of_zero_is_the_base(base: Path) -> None:
    start = encoder.from_weights(encoder.unpack(base / "base.npz"))
    end = encoder.Encoder(len(WORDS))

    mixed = train.averaged(start, end, 0.0)

    assert all(
        torch.equal(mixed.state_dict()[name], value) for name, value in start.state_dict().items()
    )
