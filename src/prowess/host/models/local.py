"""Models from folders on this machine: encoders of sentences, and a cross-encoder of pairs.

Nothing is loaded before the first text comes. Each text goes through an ONNX encoder alone, never
in a batch: an eight-bit model scales its inner numbers by the largest of the whole batch, so that a
text among others gets another vector than on its own (cosine down to 0.98, measured), and a cache
would hold what depends on its neighbours. Alone costs little: several texts run side by side,
nothing is padded, and memory stays low.

Official builds of onnxruntime report use to their maker from version 1.29 on, and write an
identifier of the device into the user's cache, as soon as they are loaded. Both are switched off
before, for the life of the process. sentence-transformers brings torch with it, so Prowess does not
ask for it. The cross-encoder is off by default; its folder holds `judge.onnx` (inputs ids, mask and
kinds; one score a pair) and `tokenizer.json`, as `training.export --judge` writes them.
"""

import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from threading import Lock
from types import ModuleType
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.data import dataclass
from prowess.errors import EncoderError
from prowess.routing.words import put_in_english
from prowess.runtime.ports import Encoder, Vectors

# The second name was used for a while before the first.
_OPT_OUTS = ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")
_lock = Lock()
_DOES_NOT_RUN = "does not run ({error}): choose another `skills.routing.encoder`."


def load_onnxruntime() -> ModuleType:
    """Return the module, loaded with its reports switched off.

    Raises:
        ImportError: it is not installed, or not for this machine.
    """
    with _lock:
        before = {name: os.environ.get(name) for name in _OPT_OUTS}
        os.environ.update(dict.fromkeys(_OPT_OUTS, "1"))
        try:
            module = import_module("onnxruntime")
        finally:
            # The environment belongs to the program, and to the children that it starts.
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
    # Windows has a switch of its own, which the variables do not turn.
    module.disable_telemetry_events()
    return module


BUNDLED_FILE = "encoder.onnx"
# The graph that runs: a shorter one, whose weights are mapped from the file above instead of copied
# (`tools/outline.py`), so that a process that reads one message is ready in half of the time.
OUTLINE_FILE = "outline.onnx"
_MODEL_FILES = (BUNDLED_FILE, "model.onnx", os.path.join("onnx", "model.onnx"))
_TOKENIZER_FILE = "tokenizer.json"
HASH_FILE = "id.txt"
# By the hash of the model that made it: with another model it is not found.
KNOWN_FILE = "background-{}.npy"
_NAME_CHARS = 16
_HASH_CHARS = 12
_MAX_TOKENS = 256
# The tokenizer reads all of a text before it cuts: a pasted log must not cost seconds.
_MAX_CHARS = 16_384
_ERRORS_ONLY = 3

_Ids: TypeAlias = NDArray[np.int64]
_FEEDS: dict[str, Callable[[_Ids], _Ids]] = {
    "ids": np.asarray,
    "input_ids": np.asarray,
    "mask": np.ones_like,
    "attention_mask": np.ones_like,
    "token_type_ids": np.zeros_like,
}
_TYPES = {"tensor(int64)": "int64", "tensor(int32)": "int32"}


class OnnxEncoder:
    """Encodes with a model from a folder; `threads` texts at a time."""

    def __init__(self, folder: str, *, english_only: bool, threads: int = 2) -> None:
        self._folder = folder
        self._english_only = english_only
        self._threads = max(1, threads)
        self._lock = threading.Lock()
        self._model: _Model | None = None
        self._id = ""
        # Whether only a text or two will come: weights are then not laid out anew for the many,
        # which takes longer than to read a few with them as they are.
        self.is_brief = False

    @property
    def id(self) -> str:
        """Name the model and its exact weights.

        Raises:
            EncoderError: there is no model in the folder.
        """
        with self._lock:
            # Vectors of other languages come from their glosses: those from before are others.
            glossed = "-glossed" if self._english_only else ""
            self._id = self._id or _identify(self._folder) + glossed
            return self._id

    @property
    def english_only(self) -> bool:
        """True where other languages are put into English words, and other scripts mean nothing."""
        return self._english_only

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row of unit length for each text, in order."""
        known = _read_known(self._folder) if len(texts) > 1 else {}
        names = [name_text(text) for text in texts] if known else list(texts)
        unknown = [text for text, name in zip(texts, names, strict=True) if name not in known]
        with self._lock:
            self._model = self._model or _load(self._folder, is_brief=self.is_brief)
            model = self._model
        with _explained(self._folder, _DOES_NOT_RUN):
            # The width is known for certain only from an answer.
            rows = scale_rows(self._folder, np.stack(self._run(model, unknown or [""])))
        if not known:
            return rows[: len(texts)]
        fresh = iter(rows)
        return np.stack([known[name] if name in known else next(fresh) for name in names])

    def _run(self, model: "_Model", texts: Sequence[str]) -> list[Vectors]:
        if self._english_only:
            texts = [put_in_english(text) for text in texts]
        # Two processors are often halves of one: there two threads took up to a fifth more time.
        workers = min(self._threads, len(texts), max(1, (os.cpu_count() or 1) // 2))
        if workers == 1:
            return [model.encode(text) for text in texts]
        from concurrent.futures import ThreadPoolExecutor

        rows: list[Vectors] = [np.empty(0, np.float32)] * len(texts)

        def encode_some(first: int) -> None:
            # Handing over one text at a time costs more than taking every second one.
            for place in range(first, len(texts), workers):
                rows[place] = model.encode(texts[place])

        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(encode_some, range(workers)))
        return rows


def name_text(text: str) -> str:
    """Return by what a text is known whose vector comes with the model."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_NAME_CHARS]


@cache
def _read_known(folder: str) -> Mapping[str, Vectors]:
    """Return the vectors that come with a model: of texts that every index needs."""
    path = os.path.join(folder, KNOWN_FILE.format(_recorded_hash(folder)))
    try:
        rows = np.load(path)
    except (OSError, ValueError):
        return {}
    names: list[bytes] = rows["name"].tolist()
    vectors: Vectors = rows["vector"].astype(np.float32)
    return dict(zip((name.decode("ascii") for name in names), vectors, strict=True))


class _Port(Protocol):
    """One input or output of a model."""

    name: str
    type: str


class _Session(Protocol):
    """What is used of the runtime's session."""

    def get_inputs(self) -> list[_Port]: ...

    def get_outputs(self) -> list[_Port]: ...

    def run(self, outputs: list[str], feeds: dict[str, _Ids]) -> list[NDArray[Any]]: ...


class _Encoding(Protocol):
    """A text as the numbers of its tokens."""

    ids: list[int]


class _Tokenizer(Protocol):
    """What is used of a tokenizer."""

    def encode(self, text: str) -> _Encoding: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """A loaded model, and how it wants to be asked."""

    session: _Session
    tokenizer: _Tokenizer
    # The type of each input, by its name.
    inputs: tuple[tuple[str, str], ...]
    output: str
    takes_first_token: bool

    def encode(self, text: str) -> Vectors:
        """Return the vector of one text, of any length but zero."""
        # A tokenizer without marks for begin and end finds nothing in an empty text.
        found = self.tokenizer.encode(_readable(text.strip()[:_MAX_CHARS])).ids or [0]
        ids = np.array([found], dtype=np.int64)
        feeds = {name: _FEEDS[name](ids).astype(kind) for name, kind in self.inputs}
        vector: Vectors = self.session.run([self.output], feeds)[0][0].astype(np.float32)
        if vector.ndim == 1:
            return vector
        # One state for each token; without padding the mask has nothing to hide.
        pooled: Vectors = vector[0] if self.takes_first_token else vector.mean(axis=0)
        return pooled


@contextmanager
def _explained(folder: str, problem: str) -> Iterator[None]:
    """Turn whatever a library raises about a model into our error; `{error}` is its first line."""
    try:
        yield
    # onnxruntime, tokenizers and torch: their errors share no class but this one.
    except Exception as error:
        raise EncoderError(folder, problem.format(error=_first_line(error))) from error


def _readable(text: str) -> str:
    """Return `text` as UTF-8 can carry it: half a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def scale_rows(encoder: str, rows: NDArray[np.floating[Any]]) -> Vectors:
    """Return `rows` at unit length.

    Raises:
        EncoderError: a row has no direction.
    """
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise EncoderError(
            encoder,
            "gives vectors that are zero or no numbers: choose another `skills.routing.encoder`.",
        )
    scaled: Vectors = (rows / lengths).astype(np.float32)
    return scaled


def find_model(folder: str) -> str | None:
    """Return the path of the ONNX model in `folder`, if there is one."""
    paths = (os.path.join(folder, name) for name in _MODEL_FILES)
    return next((path for path in paths if os.path.isfile(path)), None)


def content_hash(paths: Iterable[str]) -> str:
    """Return a short hash of what these files hold.

    Raises:
        OSError: a file cannot be read.
    """
    whole = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()[:_HASH_CHARS]


def hash_model(folder: str) -> str:
    """Return the hash of model, its outside weights and tokenizer: what `id.txt` may record.

    The outline of the bundled model belongs to it.

    Raises:
        EncoderError: there is no model in the folder, or it cannot be read.
    """
    model, tokenizer = _files(folder)
    place, name = os.path.split(model)
    try:
        # Large models keep their weights in files beside them, such as `model.onnx_data`.
        about = (name, OUTLINE_FILE) if name == BUNDLED_FILE else (name,)
        weights = sorted(entry for entry in os.listdir(place) if entry.startswith(about))
        return content_hash([*(os.path.join(place, entry) for entry in weights), tokenizer])
    except OSError as error:
        raise EncoderError(folder, f"cannot be read ({error.strerror}).") from error


def _identify(folder: str) -> str:
    if os.path.basename(_files(folder)[0]) == BUNDLED_FILE:
        return f"bundled-{_recorded_hash(folder) or hash_model(folder)}"
    return f"{os.path.basename(os.path.abspath(folder))}-{hash_model(folder)}"


def _recorded_hash(folder: str) -> str | None:
    # Read by every hook call, where hashing the model would be a good part of the work.
    try:
        with open(os.path.join(folder, HASH_FILE), encoding="ascii") as file:
            found = file.read(100).strip()
    except (OSError, ValueError):
        return None
    return found if re.fullmatch(f"[0-9a-f]{{{_HASH_CHARS}}}", found) else None


def _files(folder: str) -> tuple[str, str]:
    """Return the paths of model and tokenizer."""
    model, tokenizer = find_model(folder), os.path.join(folder, _TOKENIZER_FILE)
    if model is None or not os.path.isfile(tokenizer):
        missing = _TOKENIZER_FILE if model else "encoder.onnx, model.onnx or onnx/model.onnx"
        problem = f"has no {missing}: put it there, or choose another `skills.routing.encoder`."
        raise EncoderError(folder, problem)
    return model, tokenizer


def _load(folder: str, *, is_brief: bool) -> _Model:
    model, tokenizer = _files(folder)
    try:
        runtime, tokenizers = load_onnxruntime(), import_module("tokenizers")
    except ImportError as error:
        problem = f"cannot be loaded ({error}): pip install onnxruntime tokenizers."
        raise EncoderError(folder, problem) from error
    with _explained(folder, "holds no model that can be loaded ({error}): install it anew."):
        reader = tokenizers.Tokenizer.from_file(tokenizer)
        is_bundled = os.path.basename(model) == BUNDLED_FILE
        outline = os.path.join(os.path.dirname(model), OUTLINE_FILE)
        session = runtime.InferenceSession(
            outline if is_bundled and os.path.isfile(outline) else model,
            _options(runtime, is_fused=is_bundled, is_brief=is_brief),
            providers=["CPUExecutionProvider"],
        )
    reader.no_padding()
    reader.enable_truncation(_MAX_TOKENS)
    return _Model(
        session=session,
        tokenizer=reader,
        inputs=_inputs(folder, session),
        output=_output(session),
        takes_first_token=_takes_first_token(folder),
    )


def _options(runtime: ModuleType, *, is_fused: bool, is_brief: bool) -> object:
    options = runtime.SessionOptions()
    if is_brief:
        options.add_session_config_entry("session.disable_prepacking", "1")
    if is_fused:
        # The export did it: looking for more to fuse would only take time.
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # A message is too short to share: two threads on one text took longer than one.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # A pattern is kept for each shape, and every length of text is a shape.
    options.enable_mem_pattern = False
    options.log_severity_level = _ERRORS_ONLY
    return options


def _inputs(folder: str, session: _Session) -> tuple[tuple[str, str], ...]:
    asked = {item.name: item.type for item in session.get_inputs()}
    odd = [name for name, kind in asked.items() if name not in _FEEDS or kind not in _TYPES]
    if odd:
        problem = f"asks for {', '.join(odd)}, so it is no model for sentence embeddings."
        raise EncoderError(folder, problem)
    return tuple((name, _TYPES[kind]) for name, kind in asked.items())


def _output(session: _Session) -> str:
    names = [item.name for item in session.get_outputs()]
    return "sentence_embedding" if "sentence_embedding" in names else names[0]


def _takes_first_token(folder: str) -> bool:
    """Return whether the model was trained with its first token as the meaning of the text."""
    try:
        with open(os.path.join(folder, "1_Pooling", "config.json"), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("pooling_mode_cls_token") is True


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


MARK = "modules.json"
# What decides a vector; a folder often holds the same weights again in other formats.
_ENDINGS = (".safetensors", ".bin", ".json", ".txt", ".model")
_BATCH = 32


class _Transformer(Protocol):
    """What is used of the package's model."""

    def encode(
        self, texts: list[str], *, batch_size: int, show_progress_bar: bool, convert_to_numpy: bool
    ) -> Vectors: ...


class SentenceTransformersEncoder:
    """Encodes with the sentence-transformers package, in any language that the model knows."""

    english_only = False

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._model: _Transformer | None = None
        self._id = ""

    @property
    def id(self) -> str:
        """Name the model and its exact weights.

        Raises:
            EncoderError: the folder cannot be read.
        """
        with self._lock:
            self._id = self._id or self._identify()
            return self._id

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row of unit length for each text, in order.

        Raises:
            EncoderError: the package or the model cannot be loaded, or does not run.
        """
        # The package does not promise to be safe for several threads.
        with self._lock:
            self._model = self._model or self._load()
            with _explained(self._folder, _DOES_NOT_RUN):
                rows = self._model.encode(
                    [_readable(text) for text in texts or [""]],
                    batch_size=_BATCH,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                )
        return scale_rows(self._folder, np.asarray(rows))[: len(texts)]

    def _load(self) -> _Transformer:
        try:
            package = import_module("sentence_transformers")
        except ImportError as error:
            problem = (
                f"needs a package that is missing ({error}): pip install sentence-transformers."
            )
            raise EncoderError(self._folder, problem) from error
        problem = "holds no model that can be loaded ({error}): download it anew."
        with _explained(self._folder, problem):
            made: _Transformer = package.SentenceTransformer(self._folder, local_files_only=True)
        return made

    def _identify(self) -> str:
        try:
            paths = [
                os.path.join(place, name)
                for place, _, names in os.walk(self._folder)
                for name in names
                if name.endswith(_ENDINGS)
            ]
            found = content_hash(sorted(paths))
        except OSError as error:
            raise EncoderError(self._folder, f"cannot be read ({error.strerror}).") from error
        return f"{os.path.basename(os.path.abspath(self._folder))}-{found}"


_MODEL_FILE, _ONNX_TOKENIZER_FILE = "judge.onnx", "tokenizer.json"
_ONNX_MAX_TOKENS = 160
_MOST_PAIR_CHARS = 2_000


class OnnxJudge:
    """Judges how well texts belong to a message; nothing is loaded before the first message."""

    def __init__(self, folder: str, *, threads: int = 2) -> None:
        self._folder, self._threads = folder, max(1, threads)
        self._lock = threading.Lock()
        # Session and tokenizer of libraries that are loaded with them.
        self._loaded: tuple[Any, Any] | None = None

    def judge(self, message: str, texts: Sequence[str]) -> Vectors:
        """Return one number for each text: the higher, the better it belongs to the message."""
        with self._lock:
            self._loaded = self._loaded or self._load()
            session, tokenizer = self._loaded
        asked = _readable(message[:_MOST_PAIR_CHARS])
        coded = tokenizer.encode_batch(
            [(asked, _readable(text[:_MOST_PAIR_CHARS])) for text in texts]
        )
        feeds = {
            name: np.array([getattr(pair, field) for pair in coded], np.int64)
            for name, field in (("ids", "ids"), ("mask", "attention_mask"), ("kinds", "type_ids"))
        }
        with _explained(self._folder, "does not run: check `skills.routing.rerank`."):
            (scores,) = session.run(None, feeds)
        return np.asarray(scores, np.float32).reshape(len(texts))

    def _load(self) -> tuple[Any, Any]:
        problem = f"holds no {_MODEL_FILE} that can be used: check `skills.routing.rerank`."
        with _explained(self._folder, problem):
            runtime = load_onnxruntime()
            options = runtime.SessionOptions()
            options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
            session = runtime.InferenceSession(
                os.path.join(self._folder, _MODEL_FILE), options, providers=["CPUExecutionProvider"]
            )
            found = import_module("tokenizers").Tokenizer.from_file(
                os.path.join(self._folder, _ONNX_TOKENIZER_FILE)
            )
        found.enable_truncation(_ONNX_MAX_TOKENS, strategy="longest_first")
        found.enable_padding(pad_id=0)
        return session, found


_BEING_MADE = "no index is kept yet: one is made in the background"
_TOO_BUSY = "the machine is too busy: words answered in time"


class QuickEncoder:
    """Encodes one text within a limit, and leaves more than one to somebody else.

    More than one is wanted where an index is made.
    """

    def __init__(self, own: Encoder, until: float, leave: Callable[[], None]) -> None:
        self._own, self._until, self._leave = own, until, leave

    @property
    def id(self) -> str:
        """Name the model."""
        return self._own.id

    @property
    def english_only(self) -> bool:
        """True where the vectors of other scripts mean nothing."""
        return self._own.english_only

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row for the text.

        Raises:
            EncoderError: there are more, or the model cannot be loaded or does not answer in time.
        """
        if len(texts) > 1:
            self._leave()
            raise EncoderError(self.id, _BEING_MADE)
        done: list[Vectors | EncoderError] = []
        thread = threading.Thread(target=lambda: done.append(self._try(texts)), daemon=True)
        thread.start()
        thread.join(max(0.0, self._until - time.monotonic()))
        found = done[0] if done else EncoderError(self.id, _TOO_BUSY)
        if isinstance(found, EncoderError):
            raise found
        return found

    def _try(self, texts: Sequence[str]) -> "Vectors | EncoderError":
        try:
            return self._own.encode(texts)
        except EncoderError as error:
            return error
