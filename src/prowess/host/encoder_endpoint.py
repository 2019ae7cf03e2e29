"""An encoder behind an OpenAI-compatible endpoint: `POST {endpoint}/embeddings`.

The key goes to the endpoint's own host and nowhere else: redirects are not followed, and no
message repeats what a server said, because some servers repeat the key.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse, IncompleteRead
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import numpy as np
from numpy.typing import NDArray

from prowess.errors import EncoderError
from prowess.host.encoder_onnx import readable, unit_rows
from prowess.runtime.ports import Vectors

_BATCH = 64
# About the 512 tokens that small models take: some servers refuse a longer text, others cut it.
_MAX_CHARS = 2_000
_MAX_ANSWER_BYTES = 64_000_000
_CHUNK_BYTES = 65_536
_PROBLEMS = {
    401: "refuses the key: check the variable that `skills.routing.encoderKeyEnv` names",
    403: "refuses the key: check the variable that `skills.routing.encoderKeyEnv` names",
    404: "knows no such path or model: check `skills.routing.encoder` and `encoderModel`",
    429: "takes no more requests for now: try again later",
}


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
        parts = _address(endpoint)
        self._name = f"{parts.hostname}{parts.path}"
        self._url = parts._replace(path=parts.path.rstrip("/") + "/embeddings").geturl()
        self._model, self._timeout_s, self._pause_s = model, timeout_s, pause_s
        self._headers = {"Content-Type": "application/json", "User-Agent": "prowess"}
        if key:
            self._headers["Authorization"] = f"Bearer {_sendable(self._name, key)}"
        self._opener = build_opener(_NoRedirects)
        self._width = 0

    @property
    def id(self) -> str:
        """Name the model and where it is; its weights cannot be seen from here."""
        place = hashlib.sha256(self._url.encode("utf-8", "replace")).hexdigest()
        return f"{readable(self._model)}-{place[:12]}"

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
        asked = [readable(text.strip()[:_MAX_CHARS]) or "." for text in texts]
        question = json.dumps({"model": readable(self._model), "input": asked}).encode("ascii")
        reply = self._post(question)
        if reply.passing:
            time.sleep(self._pause_s)
            reply = self._post(question)
        if reply.problem:
            raise EncoderError(self._name, f"{reply.problem}.")
        rows = _rows(reply.body, len(texts))
        if rows is None or rows.shape[1] != (self._width or rows.shape[1]):
            problem = "does not answer with one vector for each text: is it OpenAI-compatible?"
            raise EncoderError(self._name, problem)
        self._width = rows.shape[1]
        return unit_rows(self._name, rows)

    def _post(self, question: bytes) -> "_Reply":
        # The scheme was checked when the encoder was made.
        request = Request(self._url, question, self._headers)  # noqa: S310
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                return self._read(response)
        except HTTPError as error:
            error.close()
            return _refusal(error.code)
        except (OSError, HTTPException, ValueError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            shown = getattr(reason, "strerror", None) or type(reason).__name__
            return _Reply(
                problem=f"does not answer ({shown}): is it running, and can it be reached?",
                passing=isinstance(reason, ConnectionError | IncompleteRead)
                and not isinstance(reason, ConnectionRefusedError),
            )

    def _read(self, response: HTTPResponse) -> "_Reply":
        """Read an answer within bounds: each byte that drips in would restart a socket's clock."""
        end, parts, size = time.monotonic() + self._timeout_s, [], 0
        while chunk := response.read1(_CHUNK_BYTES):
            parts.append(chunk)
            size += len(chunk)
            if size > _MAX_ANSWER_BYTES or time.monotonic() > end:
                return _Reply(problem="answers without an end: check `skills.routing.encoder`")
        return _Reply(body=b"".join(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    """What came back: a body or a problem, and whether the problem may pass."""

    body: bytes = b""
    problem: str = ""
    passing: bool = False


class _NoRedirects(HTTPRedirectHandler):
    """Follows nothing: a redirect would carry the key, or turn the question into a GET."""

    def redirect_request(self, *_asked: object, **_more: object) -> None:
        """Return nothing to ask next, so that the redirect itself is the answer."""


def _address(endpoint: str) -> SplitResult:
    try:
        parts = urlsplit(endpoint)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        usable = None
    if not usable:
        problem = "is no http or https address: check `skills.routing.encoder`."
        raise EncoderError("the endpoint", problem)
    if parts.username is not None or parts.password is not None:
        problem = "has a password in its address: name a variable in `encoderKeyEnv` instead."
        raise EncoderError(f"{parts.hostname}{parts.path}", problem)
    return parts


def _sendable(name: str, key: str) -> str:
    # The HTTP library would refuse such a key too, and show it in its message.
    if not (key.isascii() and key.isprintable()) or " " in key:
        problem = "cannot be sent its key: it holds spaces, line breaks or other odd characters."
        raise EncoderError(name, problem)
    return key


def _refusal(status: int) -> _Reply:
    failed = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    if status < HTTPStatus.BAD_REQUEST:
        problem = "answers with a redirect, which is not followed: set the final address"
    elif failed:
        problem = "fails: try again later"
    else:
        problem = _PROBLEMS.get(status, "does not take the request: check the model's name")
    return _Reply(
        problem=f"{problem} (HTTP {status})",
        passing=failed or status == HTTPStatus.TOO_MANY_REQUESTS,
    )


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
