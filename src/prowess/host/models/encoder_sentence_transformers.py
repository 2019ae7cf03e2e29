"""An encoder from the folder of a sentence-transformers model that has no ONNX file.

The package brings torch with it, so Prowess does not ask for it: it is loaded with the first text,
by those who have chosen such a folder.
"""

import os
import threading
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

import numpy as np

from prowess.errors import EncoderError
from prowess.host.models.local import content_hash, readable, unit_rows
from prowess.runtime.ports import Vectors

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
            try:
                rows = self._model.encode(
                    [readable(text) for text in texts or [""]],
                    batch_size=_BATCH,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                )
            # What a model of any architecture can raise has no common class.
            except Exception as error:
                problem = f"does not run ({error}): choose another `skills.routing.encoder`."
                raise EncoderError(self._folder, problem) from error
        return unit_rows(self._folder, np.asarray(rows))[: len(texts)]

    def _load(self) -> _Transformer:
        try:
            package = import_module("sentence_transformers")
        except ImportError as error:
            problem = (
                f"needs a package that is missing ({error}): pip install sentence-transformers."
            )
            raise EncoderError(self._folder, problem) from error
        try:
            made: _Transformer = package.SentenceTransformer(self._folder, local_files_only=True)
        # As above: a broken folder shows itself in many ways.
        except Exception as error:
            problem = f"holds no model that can be loaded ({error}): download it anew."
            raise EncoderError(self._folder, problem) from error
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
