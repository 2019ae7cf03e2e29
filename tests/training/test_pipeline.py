"""The training pipeline on a handful of pairs: the code that a GPU runs, on a CPU."""

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch, which users and CI do not")
tokenizers = pytest.importorskip("tokenizers", reason="training needs tokenizers")
onnx = pytest.importorskip("onnx", reason="export needs onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="export needs onnxruntime")

# Only after the checks above: these import what may be missing.
from training import catalogues, encoder, export, pairs, rerank, train  # noqa: E402

WORDS = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "deploy", "the", "app", "send", "a", "mail", "plot",
    "chart", "report",
]  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread() -> None:
    # Threads that wait for each other on a busy machine take many times longer than one.
    torch.set_num_threads(1)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A base with random weights and a vocabulary of a dozen words."""
    torch.manual_seed(1)
    model = encoder.Encoder(len(WORDS))
    encoder.pack(encoder.to_weights(model), tmp_path / "base.npz")
    vocabulary = {word: index for index, word in enumerate(WORDS)}
    found = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))  # noqa: S106
    found.normalizer = tokenizers.normalizers.BertNormalizer()
    found.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    found.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
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


def test_choosing_among_skills_brings_messages_to_what_they_mean(base: Path) -> None:
    skills = ["deploy: deploy the app", "mail: send a mail", "chart: plot a chart"]
    asked = [("the app", 0), ("a mail", 1), ("a report chart", 2)]
    held = {
        "skills": [{"text": text, "opening": text} for text in skills],
        "messages": [{"text": text, "right": [place]} for text, place in asked],
    }
    (base / "asked.json").write_text(json.dumps(held))
    found = pairs.tokenizer(base / "tokenizer.json", 16)
    one = catalogues.Catalogue(base / "asked.json", found)
    start = encoder.from_weights(encoder.unpack(base / "base.npz")).eval()
    plan = catalogues.Plan(steps=8, rate=1e-3, near=1)

    tuned = catalogues.Chooser(start, plan, catalogues.cut(found, ["the report"])).run([one])

    def lead(model: encoder.Encoder) -> float:
        texts = (one.messages, one.whole)
        message, skill = (catalogues.recall(model, some) for some in texts)
        near = (message @ skill.T).numpy()
        return float((near.diagonal() - near.mean(axis=1)).mean())

    assert lead(tuned) > lead(start)


def test_a_short_run_lowers_the_loss_and_can_be_repeated(base: Path, mined: Path) -> None:
    config = train.Config(
        epochs=12, batch=3, rate=1e-4, pull=0.0, copies=2.0, unrelated=-1.0, hard_from=1, hard_to=2
    )

    def run() -> tuple[float, float]:
        trainer = train.Trainer(base, pairs.load(mined), config)
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


def test_every_kind_of_text_is_trained_on(base: Path, mined: Path) -> None:
    config = train.Config(unrelated=-1.0, first_sentence=0.4, nameless=0.3)
    trainer = train.Trainer(base, pairs.load(mined), config)

    drawn = {tuple(trainer.doc(0)) for _ in range(100)}

    assert drawn == {tuple(texts[0]) for texts in trainer.doc_tokens.values()}


def test_a_short_text_is_the_first_sentence_and_a_nameless_one_the_rest() -> None:
    text = "mail: Send a mail. Use when asked to write."

    assert pairs.shortened(text) == "mail: Send a mail."
    assert pairs.nameless(text) == "Send a mail. Use when asked to write."
    assert pairs.nameless("no name at all") == "no name at all"


def test_the_judge_learns_and_its_weights_survive_packing(base: Path, mined: Path) -> None:
    trainer = _judge_trainer(base, mined)
    asked = [("deploy the app", "deploy: deploy the app"), ("deploy the app", "mail: send a mail")]

    before = trainer.loss(trainer.source.rows).item()
    judge = trainer.run()
    after = trainer.loss(trainer.source.rows).item()
    encoder.pack(rerank.to_weights(judge), base / "judge.npz")
    trainer.judge = rerank.from_weights(encoder.unpack(base / "judge.npz"))

    assert after < before
    with torch.no_grad():
        right, wrong = trainer.score(asked).tolist()
    assert right > wrong


def test_the_judge_tells_message_and_text_apart(base: Path) -> None:
    found = pairs.tokenizer(base / "tokenizer.json", 16)

    ids, mask, kinds = rerank.paired(found, [("deploy", "the app"), ("send a mail", "app")])

    assert ids.shape == mask.shape == kinds.shape
    assert kinds[0].tolist()[:6] == [0, 0, 0, 1, 1, 1]
    assert mask.sum(axis=1).tolist() == [6, 7]


# The exporter warns about itself.
@pytest.mark.filterwarnings("ignore")
def test_the_exported_encoder_gives_nearly_the_same_vectors(base: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"

    cosine = export.export(base / "base.npz", base / "tokenizer.json", out)

    assert cosine > 0.98
    assert sorted(path.name for path in out.iterdir()) == ["encoder.onnx", "tokenizer.json"]
    assert _ports(out / "encoder.onnx") == (["ids", "mask"], ["vectors"])


# The exporter warns about itself.
@pytest.mark.filterwarnings("ignore")
def test_the_exported_judge_gives_nearly_the_same_scores(base: Path, mined: Path) -> None:
    judge = _judge_trainer(base, mined).judge
    encoder.pack(rerank.to_weights(judge), base / "judge.npz")
    out = base / "judge"

    apart = export.export_judge(base / "judge.npz", base / "tokenizer.json", out)

    assert apart < 0.1
    assert sorted(path.name for path in out.iterdir()) == ["judge.onnx", "tokenizer.json"]
    assert _ports(out / "judge.onnx") == (["ids", "mask", "kinds"], ["scores"])


def _judge_trainer(base: Path, mined: Path) -> rerank.Trainer:
    # Only the right text itself is a copy: random weights find all texts much alike.
    config = rerank.Config(epochs=12, batch=3, wrong=2, copies=0.9999)
    return rerank.Trainer(base, pairs.load(mined), config, "cpu")


def _ports(path: Path) -> tuple[list[str], list[str]]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return (
        [port.name for port in session.get_inputs()],
        [port.name for port in session.get_outputs()],
    )
