"""A cross-encoder from a folder: reads a message and a skill's text together and judges the pair.

Off by default. The folder holds `judge.onnx` (inputs ids, mask and kinds; one score a pair) and
`tokenizer.json`, as `training.export --judge` writes them.
"""

import os
import threading
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from prowess.errors import EncoderError
from prowess.host.models import onnx_runtime
from prowess.host.models.local import readable
from prowess.runtime.ports import Vectors

_MODEL_FILE, _TOKENIZER_FILE = "judge.onnx", "tokenizer.json"
_MAX_TOKENS = 160
_MAX_CHARS = 2_000


class OnnxJudge:
    """Judges how well texts belong to a message; nothing is loaded before the first message."""

    def __init__(self, folder: str, *, threads: int = 2) -> None:
        self._folder, self._threads = folder, max(1, threads)
        self._lock = threading.Lock()
        # Session and tokenizer of libraries that are loaded with them.
        self._loaded: tuple[Any, Any] | None = None

    def judge(self, message: str, texts: Sequence[str]) -> Vectors:
        """Return one number for each text: the higher, the better it belongs to the message.

        Raises:
            EncoderError: the model cannot be loaded or does not run.
        """
        with self._lock:
            self._loaded = self._loaded or self._load()
            session, tokenizer = self._loaded
        asked = readable(message[:_MAX_CHARS])
        coded = tokenizer.encode_batch([(asked, readable(text[:_MAX_CHARS])) for text in texts])
        feeds = {
            name: np.array([getattr(pair, field) for pair in coded], np.int64)
            for name, field in (("ids", "ids"), ("mask", "attention_mask"), ("kinds", "type_ids"))
        }
        try:
            (scores,) = session.run(None, feeds)
        # The runtime's errors share no class but this one.
        except Exception as error:
            raise EncoderError(
                self._folder, "does not run: check `skills.routing.rerank`."
            ) from error
        return np.asarray(scores, np.float32).reshape(len(texts))

    def _load(self) -> tuple[Any, Any]:
        try:
            runtime = onnx_runtime.load()
            options = runtime.SessionOptions()
            options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
            session = runtime.InferenceSession(
                os.path.join(self._folder, _MODEL_FILE),
                options,
                providers=["CPUExecutionProvider"],
            )
            found = import_module("tokenizers").Tokenizer.from_file(
                os.path.join(self._folder, _TOKENIZER_FILE)
            )
        # Missing files, missing packages and broken models share no class but this one.
        except Exception as error:
            problem = f"holds no {_MODEL_FILE} that can be used: check `skills.routing.rerank`."
            raise EncoderError(self._folder, problem) from error
        found.enable_truncation(_MAX_TOKENS, strategy="longest_first")
        found.enable_padding(pad_id=0)
        return session, found
