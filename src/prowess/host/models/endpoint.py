"""Questions to an OpenAI-compatible endpoint, for the encoder and the model that a user has there.

The key goes to the endpoint's own host and nowhere else: redirects are not followed, and no
message repeats what a server said, because some servers repeat the key. A language model is asked
only by a command that says so: routing itself never needs one.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse, IncompleteRead
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import numpy as np
from numpy.typing import NDArray

from prowess.errors import EncoderError, ModelError, ProwessError
from prowess.host.models.local import scale_rows
from prowess.runtime.ports import LanguageModel, Vectors
from prowess.settings import ModelSettings

_CHUNK_BYTES = 65_536


def replace_halves(text: str) -> str:
    """Return the text without half surrogate pairs, as odd file names have them: UTF-8 has none."""
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """What an endpoint is asked for, and which settings to check where that fails."""

    # Below the endpoint's address: `/embeddings`.
    path: str
    # Made from the name of the endpoint and the problem with it.
    error: Callable[[str, str], ProwessError]
    address_setting: str
    model_setting: str
    key_setting: str
    most_bytes: int


class ModelEndpoint:
    """Asks one address one kind of question; safe to share between threads."""

    def __init__(
        self, address: str, purpose: Purpose, *, key: str, timeout_s: float, pause_s: float
    ) -> None:
        """Prepare to ask, without asking.

        Raises:
            ProwessError: the address or the key cannot be used; the purpose says which error.
        """
        parts = _address(address, purpose)
        self.name = f"{parts.hostname}{parts.path}"
        self.url = parts._replace(path=parts.path.rstrip("/") + purpose.path).geturl()
        self._purpose, self._timeout_s, self._pause_s = purpose, timeout_s, pause_s
        self._headers = {"Content-Type": "application/json", "User-Agent": "prowess"}
        if key:
            if not _sendable(key):
                raise self.failure(
                    "cannot be sent its key: it holds spaces, line breaks or other odd characters."
                )
            self._headers["Authorization"] = f"Bearer {key}"
        self._opener = build_opener(_NoRedirects)

    def failure(self, problem: str) -> ProwessError:
        """Return the error that says what is wrong with this endpoint."""
        return self._purpose.error(self.name, problem)

    def ask(self, question: Mapping[str, object]) -> bytes:
        """Return the answer, asked for once more where the first problem may have passed.

        Raises:
            ProwessError: there is none; the purpose says which error.
        """
        # Escapes only: no text in the question can make it something that cannot be sent.
        content = json.dumps(question).encode("ascii")
        reply = self._post(content)
        if reply.passing:
            time.sleep(self._pause_s)
            reply = self._post(content)
        if reply.problem:
            raise self.failure(f"{reply.problem}.")
        return reply.body

    def _post(self, content: bytes) -> "_Reply":
        # The scheme was checked when the endpoint was made.
        request = Request(self.url, content, self._headers)  # noqa: S310
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                return self._read(response)
        except HTTPError as error:
            error.close()
            return _refusal(error.code, self._purpose)
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
            if size > self._purpose.most_bytes or time.monotonic() > end:
                problem = f"answers without an end: check `{self._purpose.address_setting}`"
                return _Reply(problem=problem)
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


def _address(address: str, purpose: Purpose) -> SplitResult:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        usable = None
    if not usable:
        # Not the address itself in a message: it may hold a password.
        problem = f"is no http or https address: check `{purpose.address_setting}`."
        raise purpose.error("the endpoint", problem)
    if parts.username is not None or parts.password is not None:
        problem = f"has a password in its address: name a variable in `{purpose.key_setting}`"
        raise purpose.error(f"{parts.hostname}{parts.path}", f"{problem} instead.")
    return parts


def _sendable(key: str) -> bool:
    # The HTTP library would refuse such a key too, and show it in its message.
    return key.isascii() and key.isprintable() and " " not in key


def _refusal(status: int, purpose: Purpose) -> _Reply:
    failed = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    if status < HTTPStatus.BAD_REQUEST:
        problem = "answers with a redirect, which is not followed: set the final address"
    elif failed:
        problem = "fails: try again later"
    else:
        problem = _advice(purpose).get(
            status, f"does not take the request: check the model's name (`{purpose.model_setting}`)"
        )
    return _Reply(
        problem=f"{problem} (HTTP {status})",
        passing=failed or status == HTTPStatus.TOO_MANY_REQUESTS,
    )


def _advice(purpose: Purpose) -> dict[int, str]:
    key = f"refuses the key, or misses one: check the variable that `{purpose.key_setting}` names"
    return {
        401: key,
        403: key,
        404: "knows no such path or model: check"
        f" `{purpose.address_setting}` and `{purpose.model_setting}`",
        429: "takes no more requests for now: try again later",
    }


_PURPOSE = Purpose(
    path="/chat/completions",
    error=ModelError,
    address_setting="skills.model.endpoint",
    model_setting="skills.model.name",
    key_setting="skills.model.keyEnv",
    most_bytes=4_000_000,
)
_NOT_CONFIGURED = (
    "none is configured: run"
    " `prowess config set skills.model.endpoint http://127.0.0.1:11434/v1` (this is where a local"
    " Ollama listens), `prowess config set skills.model.name llama3.2` and, where a key is needed,"
    " `prowess config set skills.model.keyEnv NAME_OF_A_VARIABLE`."
)


class EndpointModel:
    """Asks an endpoint for one answer at a time: `POST {endpoint}/chat/completions`."""

    def __init__(
        self,
        endpoint: str,
        *,
        name: str,
        key: str = "",
        timeout_s: float = 60.0,
        pause_s: float = 0.5,
    ) -> None:
        """Prepare to ask, without asking.

        Raises:
            ModelError: the address or the key cannot be used.
        """
        self._endpoint = ModelEndpoint(
            endpoint, _PURPOSE, key=key, timeout_s=timeout_s, pause_s=pause_s
        )
        self._name = name

    @property
    def name(self) -> str:
        """What the user calls it."""
        return self._name

    def complete(self, instructions: str, question: str) -> str:
        """Return the model's answer."""
        answer = self._endpoint.ask(
            {
                "model": replace_halves(self._name),
                "messages": [
                    {"role": "system", "content": replace_halves(instructions)},
                    {"role": "user", "content": replace_halves(question)},
                ],
                # The same question, the same answer, as far as a model can promise that.
                "temperature": 0,
            }
        )
        content = _content(answer)
        if not content:
            raise self._endpoint.failure(
                "does not answer with a text: is it OpenAI-compatible, and is `skills.model.name`"
                " a model for chats?"
            )
        return content


def open_model(settings: ModelSettings, environ: Mapping[str, str]) -> LanguageModel:
    """Return the model of the settings; nothing is asked yet.

    Args:
        settings: what was chosen.
        environ: where the endpoint's key is looked for.

    Raises:
        ModelError: there is none, or what was chosen cannot be used.
    """
    if not settings.endpoint or settings.endpoint == "none":
        raise ModelError("language model", _NOT_CONFIGURED)
    if not settings.name:
        problem = "needs a name: run `prowess config set skills.model.name NAME`."
        raise ModelError("language model", problem)
    key = environ.get(settings.key_env, "").strip() if settings.key_env else ""
    if settings.key_env and not key:
        problem = f"needs a key: set the environment variable {settings.key_env}, which"
        raise ModelError("language model", f"{problem} `skills.model.keyEnv` names.")
    return EndpointModel(settings.endpoint, name=settings.name, key=key)


def _content(answer: bytes) -> str:
    """Return the text of an answer; empty where it holds none."""
    try:
        content = json.loads(answer)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return ""
    return content.strip() if isinstance(content, str) else ""


_BATCH = 64
# About the 512 tokens that small models take: some servers refuse a longer text, others cut it.
_MAX_CHARS = 2_000
_EMBEDDING = Purpose(
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
            endpoint, _EMBEDDING, key=key, timeout_s=timeout_s, pause_s=pause_s
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
