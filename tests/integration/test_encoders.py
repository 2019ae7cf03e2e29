import json
import os
import shutil
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.rows import each_row
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tools import outline

import prowess
from prowess.errors import EncoderError
from prowess.host.models.endpoint import EndpointEncoder
from prowess.host.models.local import (
    KNOWN_FILE,
    OUTLINE_FILE,
    OnnxEncoder,
    SentenceTransformersEncoder,
    hash_model,
    name_text,
)
from prowess.routing.lexical_and_breadth import list_messages
from prowess.routing.message_kinds import read_needs
from prowess.runtime.ports import Encoder, Vectors
from prowess.settings import EncoderSettings
from prowess.wiring.library import open_encoder

BUNDLED = str(Path(prowess.__file__).parent / "model")
KEY = "sk-do-not-show-this"
ODD_TEXTS = ["", " \n\t", "half a pair \ud83d of it", "a\0b", "字" * 5_000, "x" * 300_000, "🦊"]


@pytest.fixture(scope="module")
def bundled() -> OnnxEncoder:
    return OnnxEncoder(BUNDLED, english_only=True)


def is_unit(rows: Vectors) -> bool:
    return rows.dtype == np.float32 and np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


# The bundled model


def test_texts_that_mean_alike_are_near(bundled: OnnxEncoder) -> None:
    message, near, far = bundled.encode(
        ["turn these slides into a PDF", "Converts presentations to PDF.", "Waters the plants."]
    )

    assert message @ near > message @ far + 0.2


def test_a_text_has_the_same_vector_alone_and_among_others(bundled: OnnxEncoder) -> None:
    texts = ["deploy it", "a much longer text " * 40, "review my pull request", "deploy it", ""]

    together = bundled.encode(texts)
    alone = [bundled.encode([text])[0] for text in texts]

    assert is_unit(together)
    assert np.array_equal(together, np.stack(alone))


def test_no_text_makes_no_row_of_the_right_width(bundled: OnnxEncoder) -> None:
    assert bundled.encode([]).shape == (0, 384)


def test_odd_texts_get_vectors_too(bundled: OnnxEncoder) -> None:
    rows = bundled.encode(ODD_TEXTS)

    assert rows.shape == (len(ODD_TEXTS), 384)
    assert is_unit(rows)


def test_only_the_beginning_of_a_long_text_counts(bundled: OnnxEncoder) -> None:
    start = "word " * 300

    first, second = bundled.encode([start, start + "and an end that nobody reads"])

    assert np.array_equal(first, second)


def test_another_language_is_read_by_its_english_words(bundled: OnnxEncoder) -> None:
    skill, other, *said = bundled.encode(
        [
            "Back up the database",
            "Bake bread",
            "请备份数据库",
            "Sichere bitte die Datenbank",
            "データベースをバックアップしてください",
        ]
    )

    for vector in said:
        assert vector @ skill > vector @ other + 0.3


def test_threads_that_come_first_at_once_share_one_model() -> None:
    encoder = OnnxEncoder(BUNDLED, english_only=True)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(encoder.encode, [["the same text"]] * 8))

    assert all(np.array_equal(rows, found[0]) for rows in found)


def test_the_texts_that_every_index_needs_come_with_their_vectors() -> None:
    encoder = OnnxEncoder(BUNDLED, english_only=True)
    texts = [*list_messages(), *read_needs().values()]
    kept = np.load(next(Path(BUNDLED).glob(KNOWN_FILE.format("*"))))

    assert set(kept["name"].tolist()) == {name_text(text).encode() for text in texts}
    some = [texts[0], "knead a dough", texts[-1]]
    # A text by itself is always read by the model.
    alone = np.stack([encoder.encode([text])[0] for text in some])
    assert np.allclose(encoder.encode(some), alone, atol=1e-3)
    assert np.array_equal(encoder.encode(some)[1], alone[1])


def test_the_outline_is_the_bundled_model_but_for_how_it_rounds(tmp_path: Path) -> None:
    texts = ["deploy it", "a much longer text " * 40, "Sichere bitte die Datenbank", ""]
    for name in ("encoder.onnx", "tokenizer.json"):
        (tmp_path / name).symlink_to(Path(BUNDLED) / name)
    brief = OnnxEncoder(BUNDLED, english_only=True)
    brief.is_brief = True

    whole = OnnxEncoder(str(tmp_path), english_only=True).encode(texts)
    found = OnnxEncoder(BUNDLED, english_only=True).encode(texts)

    assert (Path(BUNDLED) / OUTLINE_FILE).read_bytes() == outline.make(
        (Path(BUNDLED) / "encoder.onnx").read_bytes()
    )
    assert (found * whole).sum(axis=1).min() > 0.99
    assert np.array_equal(brief.encode(texts), found)


def test_choosing_and_naming_an_encoder_loads_no_model() -> None:
    script = (
        "import sys; from prowess.wiring.library import open_encoder;"
        "from prowess.settings import EncoderSettings;"
        f"print(open_encoder(EncoderSettings(), {{}}, '/', bundled={BUNDLED!r}).id);"
        "print({'onnxruntime', 'tokenizers', 'urllib.request', 'logging'} & set(sys.modules))"
    )

    shown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert shown.stdout.split() == [f"bundled-{hash_model(BUNDLED)}-glossed", "set()"]


# Other folders with an ONNX model


def field(number: int, value: int | str | bytes) -> bytes:
    """Return one field of a protocol buffer; the format has no more to it than this."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def port(name: str, kind: int, *shape: str) -> bytes:
    dims = b"".join(field(1, field(2, dim)) for dim in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


def make_onnx(
    table: Sequence[Sequence[float]],
    *,
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    kind: int = 7,
    pooled: bool = False,
) -> bytes:
    """Return a model that looks each token up; where `pooled`, it also gives their maximum."""
    rows = np.array(table, np.float32)
    dims = b"".join(field(1, size) for size in rows.shape)
    weights = dims + field(2, 1) + field(8, "table") + field(9, rows.tobytes())
    states = field(1, "table") + field(1, inputs[0]) + field(2, "states") + field(4, "Gather")
    axes = field(5, field(1, "axes") + field(8, 1) + field(20, 7))
    flat = field(5, field(1, "keepdims") + field(3, 0) + field(20, 2))
    best = field(1, "states") + field(2, "sentence_embedding") + field(4, "ReduceMax") + axes + flat
    graph = field(1, states) + (field(1, best) if pooled else b"") + field(2, "tiny")
    graph += field(5, weights)
    graph += b"".join(field(11, port(name, kind, "rows", "tokens")) for name in inputs)
    graph += field(12, port("states", 1, "rows", "tokens", "width"))
    graph += field(12, port("sentence_embedding", 1, "rows", "width")) if pooled else b""
    return field(1, 8) + field(8, field(1, "") + field(2, 13)) + field(7, graph)


def make_folder(folder: Path, model: bytes, *, name: str = "model.onnx") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(model)
    words = {"[UNK]": 0, "east": 1, "north": 2, "nowhere": 3, "beyond": 99}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))  # noqa: S106
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def encode(folder: Path, *texts: str) -> list[list[float]]:
    rows = OnnxEncoder(str(folder), english_only=False).encode(texts)
    return [[round(number, 3) for number in row] for row in rows.tolist()]


TABLE = [[1.0, 1.0], [2.0, 0.0], [0.0, 4.0], [0.0, 0.0]]


@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx"])
def test_states_of_tokens_are_averaged(tmp_path: Path, name: str) -> None:
    folder = make_folder(tmp_path, make_onnx(TABLE), name=name)

    rows = encode(folder, "east", "east north", "north", "")

    assert rows == [[1.0, 0.0], [0.447, 0.894], [0.0, 1.0], [0.707, 0.707]]


def test_an_output_for_the_sentence_is_preferred(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, make_onnx([[1.0, 1.0], [3.0, 0.0], [0.0, 4.0]], pooled=True))

    assert encode(folder, "east north north") == [[0.6, 0.8]]


def test_a_model_that_was_trained_with_its_first_token_is_asked_for_that(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, make_onnx(TABLE))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')

    assert encode(folder, "east north") == [[1.0, 0.0]]


@pytest.mark.parametrize("inputs", [("input_ids",), ("ids", "mask")])
def test_inputs_are_given_by_name_and_type(tmp_path: Path, inputs: Sequence[str]) -> None:
    folder = make_folder(tmp_path, make_onnx(TABLE, inputs=inputs, kind=6))

    assert encode(folder, "north") == [[0.0, 1.0]]


def test_the_id_follows_weights_and_tokenizer(tmp_path: Path) -> None:
    first = make_folder(tmp_path / "a" / "mine", make_onnx(TABLE))
    same = make_folder(tmp_path / "b" / "mine", make_onnx(TABLE))
    other = make_folder(tmp_path / "c" / "mine", make_onnx([*TABLE, [5.0, 5.0]]))
    words = make_folder(tmp_path / "d" / "mine", make_onnx(TABLE))
    (words / "tokenizer.json").write_text("{}")
    beside = make_folder(tmp_path / "e" / "mine", make_onnx(TABLE))
    (beside / "model.onnx_data").write_bytes(b"weights")

    folders = (first, same, other, words, beside)
    ids = [OnnxEncoder(str(folder), english_only=False).id for folder in folders]

    assert ids[0] == ids[1]
    assert len(set(ids)) == 4
    assert all(name.startswith("mine-") for name in ids)


@pytest.mark.parametrize(
    ("recorded", "taken"), [("0123456789ab\n", "0123456789ab"), ("0123", None), ("é", None)]
)
def test_a_recorded_hash_of_the_bundled_model_saves_reading_it(
    tmp_path: Path, recorded: str, taken: str | None
) -> None:
    folder = make_folder(tmp_path, make_onnx(TABLE), name="encoder.onnx")
    (folder / "id.txt").write_text(recorded)

    found = OnnxEncoder(str(folder), english_only=True).id

    assert found == f"bundled-{taken or hash_model(str(folder))}-glossed"


def problem_of(encoder: Encoder, text: str = "east") -> str:
    with pytest.raises(EncoderError) as caught:
        encoder.encode([text])
    return str(caught.value)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("model.onnx", None, "has no encoder.onnx, model.onnx or onnx/model.onnx"),
        ("tokenizer.json", None, "has no tokenizer.json"),
        ("model.onnx", b"broken", "holds no model that can be loaded"),
        ("tokenizer.json", b"broken", "holds no model that can be loaded"),
        ("model.onnx", make_onnx(TABLE, inputs=("pixels",)), "asks for pixels"),
    ],
)
def test_a_folder_that_cannot_be_used_is_named_with_what_is_wrong(
    tmp_path: Path, file: str, content: bytes | None, said: str
) -> None:
    folder = make_folder(tmp_path, make_onnx(TABLE))
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_bytes(content)

    problem = problem_of(OnnxEncoder(str(folder), english_only=False))

    assert problem.startswith(f"{folder}: {said}")


@pytest.mark.parametrize(
    ("text", "said"), [("beyond", "does not run"), ("nowhere", "gives vectors that are zero")]
)
def test_a_model_that_fails_on_a_text_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    folder = make_folder(tmp_path, make_onnx(TABLE))

    assert said in problem_of(OnnxEncoder(str(folder), english_only=False), text)


def test_a_missing_package_is_named_with_the_way_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(tmp_path, make_onnx(TABLE))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    problem = problem_of(OnnxEncoder(str(folder), english_only=False))

    assert "pip install onnxruntime tokenizers" in problem


def test_a_model_that_vanished_has_no_id(tmp_path: Path) -> None:
    encoder = OnnxEncoder(str(tmp_path / "gone"), english_only=False)

    with pytest.raises(EncoderError, match="gone: has no"):
        _ = encoder.id


# Endpoints


class Endpoint:
    """A real server on this machine: answers as it is told, else with correct vectors."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.answers: list[Callable[[BaseHTTPRequestHandler], None]] = []
        self.over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append((self.path, dict(self.headers), asked))
                answer = endpoint.answers.pop(0) if endpoint.answers else right(asked["input"])
                answer(self)

            # The base class decides the names of the parameters.
            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        return Handler

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def reply(
    status: int, body: str, headers: dict[str, str] | None = None
) -> Callable[[BaseHTTPRequestHandler], None]:
    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body.encode())))
        handler.end_headers()
        handler.wfile.write(body.encode())

    return send


def right(texts: Sequence[str]) -> Callable[[BaseHTTPRequestHandler], None]:
    """Answer with the length of each text, in another order than asked."""
    items = [{"index": at, "embedding": [len(text), 10.0]} for at, text in enumerate(texts)]
    return reply(200, json.dumps({"data": items[::-1]}))


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Endpoint()
    yield server
    server.close()


def ask(endpoint: Endpoint, *, key: str = "", timeout_s: float = 10.0) -> EndpointEncoder:
    return EndpointEncoder(endpoint.url, model="m", key=key, timeout_s=timeout_s, pause_s=0)


def test_an_endpoint_is_asked_in_batches_and_its_answers_are_put_in_order(
    endpoint: Endpoint,
) -> None:
    texts = ["x" * (number + 1) for number in range(150)]

    rows = ask(endpoint).encode(texts)

    assert is_unit(rows)
    assert np.allclose(rows[:, 0] / rows[:, 1] * 10, range(1, 151), rtol=1e-4)
    assert [len(asked["input"]) for _, _, asked in endpoint.requests] == [64, 64, 22]
    assert {(path, asked["model"]) for path, _, asked in endpoint.requests} == {
        ("/v1/embeddings", "m")
    }


def test_an_endpoint_gets_texts_that_it_can_take(endpoint: Endpoint) -> None:
    rows = ask(endpoint).encode(ODD_TEXTS)

    sent = endpoint.requests[0][2]["input"]
    assert is_unit(rows)
    assert sent[:3] == [".", ".", "half a pair ? of it"]
    assert max(len(text) for text in sent) == 2_000


def test_no_text_is_no_request(endpoint: Endpoint) -> None:
    encoder = ask(endpoint)

    before, _, after = (encoder.encode(texts).shape for texts in ([], ["a"], []))

    assert (before, after) == ((0, 0), (0, 2))
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("key", ["", KEY])
def test_a_key_is_sent_where_there_is_one(endpoint: Endpoint, key: str) -> None:
    ask(endpoint, key=key).encode(["a"])

    assert endpoint.requests[0][1].get("Authorization") == (f"Bearer {KEY}" if key else None)


@pytest.mark.parametrize("passing", [reply(429, ""), reply(500, ""), reply(503, "later"), hang_up])
def test_what_may_pass_is_tried_once_more(
    endpoint: Endpoint, passing: Callable[[BaseHTTPRequestHandler], None]
) -> None:
    encoder = ask(endpoint)

    endpoint.answers = [passing]
    rows = encoder.encode(["a"])
    endpoint.answers = [passing, passing]
    problem = problem_of(encoder)

    assert is_unit(rows)
    assert problem.startswith("127.0.0.1/v1: ")
    assert len(endpoint.requests) == 4


@pytest.mark.parametrize(
    ("status", "said"),
    [(400, "check the model's name"), (401, "refuses the key"), (404, "knows no such path")],
)
def test_a_refusal_is_not_repeated_and_says_what_to_do(
    endpoint: Endpoint, status: int, said: str
) -> None:
    endpoint.answers = [reply(status, f"what about {KEY}?")]

    problem = problem_of(ask(endpoint, key=KEY))

    assert said in problem
    assert f"HTTP {status}" in problem
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        "<html>",
        "",
        "null",
        "[]",
        "{}",
        '{"data": null}',
        '{"data": []}',
        '{"data": [{"embedding": [1.0]}]}',
        '{"data": [{"index": 1, "embedding": [1.0]}]}',
        '{"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]}',
        '{"data": [{"index": 0, "embedding": []}]}',
        '{"data": [{"index": 0, "embedding": null}]}',
        '{"data": [{"index": 0, "embedding": "AACAPw=="}]}',
        '{"data": [{"index": 0, "embedding": ["1.0"]}]}',
        '{"data": [{"index": 0, "embedding": [[1.0]]}]}',
        '{"data": [{"index": 0, "embedding": [NaN]}]}',
        '{"data": [{"index": 0, "embedding": [Infinity]}]}',
        '{"data": [{"index": 0, "embedding": [1e200, 1e200]}]}',
        '{"data": [{"index": 0, "embedding": [1' + "0" * 400 + "]}]}",
        '{"data": [{"index": 0, "embedding": [0.0, 0.0]}]}',
        "[" * 100_000,
    ],
    ids=lambda body: body[:50],
)
def test_an_answer_that_is_not_vectors_is_an_error(endpoint: Endpoint, body: str) -> None:
    endpoint.answers = [reply(200, body)]

    assert problem_of(ask(endpoint)).startswith("127.0.0.1/v1: ")


def test_vectors_of_unequal_width_are_an_error(endpoint: Endpoint) -> None:
    encoder = ask(endpoint)
    encoder.encode(["a"])

    endpoint.answers = [reply(200, '{"data": [{"index": 0, "embedding": [1.0, 2.0, 3.0]}]}')]

    assert "one vector for each text" in problem_of(encoder)


def test_an_endpoint_that_never_answers_is_given_up(endpoint: Endpoint) -> None:
    asked = threading.Event()

    def wait(_handler: BaseHTTPRequestHandler) -> None:
        asked.set()
        assert endpoint.over.wait(100)

    endpoint.answers = [wait]

    problem = problem_of(ask(endpoint, timeout_s=0.2))

    assert "does not answer" in problem
    # The question may be read only after its time is over.
    assert asked.wait(60)
    assert len(endpoint.requests) == 1


def test_an_endpoint_that_drips_is_given_up(endpoint: Endpoint) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not endpoint.over.wait(0.02):
            try:
                handler.wfile.write(b" ")
            except OSError:
                return

    endpoint.answers = [drip] * 3

    # The answer has to begin in time: how long that takes depends on what else the machine does.
    problems = (problem_of(ask(endpoint, timeout_s=seconds)) for seconds in (0.3, 3.0, 30.0))
    assert any("without an end" in problem for problem in problems)


def test_an_endpoint_that_is_not_there_is_an_error(endpoint: Endpoint) -> None:
    encoder = ask(endpoint)
    endpoint.close()

    assert "does not answer (Connection refused)" in problem_of(encoder)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_carries_the_key_nowhere(endpoint: Endpoint, status: int) -> None:
    other = Endpoint()
    endpoint.answers = [reply(status, "", {"Location": f"{other.url}/embeddings"})]

    problem = problem_of(ask(endpoint, key=KEY))
    other.close()

    assert "redirect" in problem
    assert other.requests == []


def test_the_key_is_never_shown(endpoint: Endpoint, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    encoder = ask(endpoint, key=KEY)
    shown = [repr(encoder), encoder.id]

    for answer in (reply(401, KEY), reply(500, KEY), reply(200, KEY), hang_up):
        endpoint.answers = [answer, answer]
        with pytest.raises(EncoderError) as caught:
            encoder.encode(["a"])
        shown += [repr(caught.value), *traceback.format_exception(caught.value)]

    assert KEY not in "\n".join([*shown, caplog.text])


@pytest.mark.parametrize("key", [f"{KEY}\nX: y", f"{KEY} z", f"{KEY}é", f"\0{KEY}"])
def test_a_key_that_cannot_be_sent_is_not_shown_either(key: str) -> None:
    with pytest.raises(EncoderError) as caught:
        EndpointEncoder("http://127.0.0.1/v1", model="m", key=key)

    assert KEY not in "".join(traceback.format_exception(caught.value))


@each_row(
    "address",
    ["file:///etc/passwd", "ftp://host/v1", "http://", "http://[::1", "http://h:99999/", "x://y"],
)
def test_only_http_addresses_are_endpoints(address: str) -> None:
    with pytest.raises(EncoderError, match="no http or https address"):
        EndpointEncoder(address, model="m")


def test_a_password_in_an_address_is_refused_and_not_shown() -> None:
    with pytest.raises(EncoderError, match="has a password") as caught:
        EndpointEncoder(f"https://me:{KEY}@host/v1?k={KEY}", model="m")

    assert KEY not in str(caught.value)


# sentence-transformers folders

FAKE_PACKAGE = """
import numpy as np

class SentenceTransformer:
    def __init__(self, folder, *, local_files_only):
        if "broken" in folder:
            raise RuntimeError("no weights")

    def encode(self, texts, *, batch_size, show_progress_bar, convert_to_numpy):
        if "fail" in texts:
            raise RuntimeError("no memory")
        return np.array([[len(text), 4.0] for text in texts], np.float32)
"""


@pytest.fixture
def sentence_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The package is large and not installed for tests; this stands for its two calls.
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sentence_transformers.py").write_text(FAKE_PACKAGE)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)


@pytest.mark.usefixtures("sentence_transformers")
def test_a_sentence_transformers_folder_is_encoded_by_its_package(tmp_path: Path) -> None:
    encoder = SentenceTransformersEncoder(str(tmp_path))

    rows, none = encoder.encode(["abc", "\ud800", ""]), encoder.encode([])

    assert np.allclose(rows, [[0.6, 0.8], [0.242536, 0.970143], [0.0, 1.0]], atol=1e-5)
    assert none.shape == (0, 2)


@pytest.mark.usefixtures("sentence_transformers")
def test_what_the_package_cannot_do_is_an_error(tmp_path: Path) -> None:
    assert "no weights" in problem_of(SentenceTransformersEncoder(str(tmp_path / "broken")))
    assert "no memory" in problem_of(SentenceTransformersEncoder(str(tmp_path)), "fail")


def test_without_the_package_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)

    problem = problem_of(SentenceTransformersEncoder(str(tmp_path)))

    assert "pip install sentence-transformers" in problem


def test_the_id_of_a_sentence_transformers_folder_follows_its_weights(tmp_path: Path) -> None:
    folders = [tmp_path / name / "mine" for name in "abc"]
    for folder, content in zip(folders, ("one", "one", "two"), strict=True):
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_text(content)
        (folder / "README.md").write_text(str(folder))

    first, same, other = (SentenceTransformersEncoder(str(folder)).id for folder in folders)

    assert first == same != other


# What the settings choose


def choose(which: str, home: Path | str = "/", **more: str) -> Encoder | None:
    environ = {"MY_KEY": f" {KEY}\n", "EMPTY": " "}
    return open_encoder(EncoderSettings(which=which, **more), environ, str(home), bundled=BUNDLED)


def test_no_encoder_can_be_chosen() -> None:
    assert choose("none") is None


def test_the_bundled_encoder_knows_english_only() -> None:
    encoder = choose("bundled")

    assert encoder is not None
    assert encoder.english_only
    assert encoder.id.startswith("bundled-")


@pytest.mark.parametrize("which", ["~/models/mine", "models/mine"])
def test_a_folder_is_found_from_the_users_home(tmp_path: Path, which: str) -> None:
    make_folder(tmp_path / "models" / "mine", make_onnx(TABLE))

    encoder = choose(which, tmp_path)

    assert encoder is not None
    assert not encoder.english_only
    assert encoder.encode(["north"]).tolist() == [[0.0, 1.0]]


def test_onnx_is_preferred_where_a_folder_has_both(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, make_onnx(TABLE), name="onnx/model.onnx")
    (folder / "modules.json").write_text("[]")
    with_both = choose(str(folder))
    shutil.rmtree(folder / "onnx")
    without_onnx = choose(str(folder))

    assert isinstance(with_both, OnnxEncoder)
    assert isinstance(without_onnx, SentenceTransformersEncoder)


def test_an_address_is_asked_with_the_key_of_the_named_variable(endpoint: Endpoint) -> None:
    encoder = choose(endpoint.url, model="m", key_env="MY_KEY")

    assert encoder is not None
    assert not encoder.english_only
    assert is_unit(encoder.encode(["a"]))
    assert endpoint.requests[0][1]["Authorization"] == f"Bearer {KEY}"


@each_row(
    ("which", "more", "said"),
    [
        ("https://host/v1", {}, "needs the name of a model"),
        ("https://host/v1", {"model": "m", "key_env": "NOT_SET"}, "variable NOT_SET"),
        ("https://host/v1", {"model": "m", "key_env": "EMPTY"}, "variable EMPTY"),
        ("ftp://host/v1", {"model": "m"}, "no http or https address"),
        ("http://[::1", {"model": "m"}, "no http or https address"),
        ("/no/such/folder", {}, "is no folder"),
        (str(Path(__file__).parent), {}, "holds neither model.onnx nor modules.json"),
        ("", {}, "holds neither model.onnx nor modules.json"),
    ],
)
def test_a_choice_that_cannot_be_used_is_an_error(
    which: str, more: dict[str, str], said: str
) -> None:
    with pytest.raises(EncoderError, match=said):
        choose(which, **more)


def test_loading_the_runtime_writes_nothing_outside_and_leaves_the_environment_alone(
    tmp_path: Path,
) -> None:
    script = (
        "import os, sys; before = dict(os.environ);"
        "from prowess.host.models.local import OnnxEncoder;"
        "OnnxEncoder(sys.argv[1], english_only=True).encode(['hello']);"
        "assert dict(os.environ) == before"
    )
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    subprocess.run([sys.executable, "-c", script, str(BUNDLED)], check=True, env=environ)

    assert list(tmp_path.rglob("*")) == []
