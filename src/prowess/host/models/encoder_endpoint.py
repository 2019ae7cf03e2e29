"""An encoder behind an OpenAI-compatible endpoint: `POST {endpoint}/embeddings`."""

import hashlib
import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prowess.errors import EncoderError
from prowess.host.models.endpoint import ModelEndpoint, Purpose, replace_halves
from prowess.host.models.local import scale_rows
from prowess.runtime.ports import Vectors

_BATCH = 64
# About the 512 tokens that small models take: some servers refuse a longer text, others cut it.
_MAX_CHARS = 2_000
_PURPOSE = Purpose(
    path="/embeddings",
    error=EncoderError,
    address_setting="skills.routing.encoder",
    model_setting="skills.routing.encoderModel",
    key_setting="skills.routing.encoderKeyEnv",
    most_bytes=64_000_000,
)


class EndpointEncoder:
    """Asks an endpoint for vectors, many texts at a time."""

    english_only = False

    def __init__(
        self,
        endpoint: str,
        *,
        model: str,
        key: str = "",
        timeout_s: float = 20.0,
        pause_s: float = 0.5,
    ) -> None:
        """Prepare to ask, without asking.

        Raises:
            EncoderError: the address or the key cannot be used.
        """
        self._endpoint = ModelEndpoint(
            endpoint, _PURPOSE, key=key, timeout_s=timeout_s, pause_s=pause_s
        )
        self._model, self._width = replace_halves(model), 0

    @property
    def id(self) -> str:
        """Name the model and where it is; its weights cannot be seen from here."""
        place = hashlib.sha256(self._endpoint.url.encode("utf-8", "replace")).hexdigest()
        return f"{self._model}-{place[:12]}"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row of unit length for each text, in order.

        Raises:
            EncoderError: the endpoint does not answer, or not with vectors.
        """
        batches = [
            self._encode_batch(texts[start : start + _BATCH])
            for start in range(0, len(texts), _BATCH)
        ]
        return np.concatenate(batches or [np.empty((0, self._width), np.float32)])

    def _encode_batch(self, texts: Sequence[str]) -> Vectors:
        # OpenAI refuses an empty text, and with it the whole batch.
        asked = [replace_halves(text.strip()[:_MAX_CHARS]) or "." for text in texts]
        answer = self._endpoint.ask({"model": self._model, "input": asked})
        rows = _rows(answer, len(texts))
        if rows is None or rows.shape[1] != (self._width or rows.shape[1]):
            problem = "does not answer with one vector for each text: is it OpenAI-compatible?"
            raise self._endpoint.failure(problem)
        self._width = rows.shape[1]
        return scale_rows(self._endpoint.name, rows)


def _rows(answer: bytes, count: int) -> NDArray[np.float64] | None:
    """Return the vectors of an answer in the order of their index, if that is what it holds."""
    try:
        items = json.loads(answer)["data"]
        found = {item["index"]: item["embedding"] for item in items}
        rows = [found[index] for index in range(count)]
        numbers = all(type(number) in {int, float} for row in rows for number in row)
        if len(items) != count or not numbers:
            return None
        made = np.array(rows, dtype=np.float64).reshape(count, -1)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    # Non-finite numbers are found where the rows are brought to unit length.
    return made if made.shape[1] else None
