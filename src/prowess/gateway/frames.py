"""Frames as text: what a client sent, read with suspicion, and what it gets, written once.

A frame that cannot be trusted as JSON ends its connection (`Refused.fatal`); a frame that is
merely no good request has an id, so it gets an answer and the connection goes on. No message here
repeats what the client sent: a mistyped frame may hold a token.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeGuard

from prowess.gateway.calls import Code, EncodedPayload, Json, Payload
from prowess.skills.text import one_line

MOST_ID_CHARS, MOST_METHOD_CHARS, MOST_DEPTH = 128, 128, 64
# Escapes that could be half of a pair; whether they are is only known after reading.
_HALF_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


class Fault(StrEnum):
    """Why a frame was not taken; these are also the labels of a metric."""

    TOO_LARGE = "too_large"
    BINARY = "binary"
    MALFORMED = "malformed"
    NOT_A_REQUEST = "not_a_request"
    FLOOD = "flood"
    NOT_CONNECTED = "not_connected"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFrame:
    """One request of a client."""

    id: str
    method: str
    params: Json = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A frame that is not taken, and what its sender is told."""

    fault: Fault
    code: Code
    message: str
    # Of the frame, where it could be read.
    id: str = ""
    # Which part of the frame is to blame, where one is.
    field: str = ""
    # Nothing more is read from who sent this.
    fatal: bool = True


class _UnreadableError(Exception):
    """The text is JSON that no two readers would understand alike."""


def read_request(frame: str | bytes, most_bytes: int) -> RequestFrame | Refused:
    """Return the request that a text frame holds, or why it is not taken."""
    if isinstance(frame, bytes):
        return Refused(
            fault=Fault.BINARY,
            code=Code.INVALID_REQUEST,
            message="binary frame: send JSON as text frames",
        )
    if _size(frame) > most_bytes:
        return too_large(most_bytes)
    try:
        value = _read_json(frame)
    except _UnreadableError as problem:
        return _refuse_malformed(str(problem))
    except RecursionError:
        return _refuse_malformed("nested too deeply")
    except ValueError:
        # The error of the parser quotes the text, so it is left behind.
        return _refuse_malformed("not JSON")
    return _as_request(value)


def too_large(most_bytes: int) -> Refused:
    """Return the refusal of a frame, or of a body, that is longer than allowed."""
    return Refused(
        fault=Fault.TOO_LARGE,
        code=Code.PAYLOAD_TOO_LARGE,
        message=f"frame too large: send at most {most_bytes} bytes (policy.maxPayload)",
    )


def ok_response(request_id: str, payload: Payload) -> Json:
    """Return the frame of an answer."""
    return {"type": "res", "id": request_id, "ok": True, "payload": payload}


def error_response(
    request_id: str, code: Code, message: str, details: Mapping[str, Any] | None = None
) -> Json:
    """Return the frame of a refusal."""
    error: Json = {"code": code.value, "message": one_line(message)}
    if details:
        error["details"] = dict(details)
    return {"type": "res", "id": request_id, "ok": False, "error": error}


def refusal_response(refused: Refused) -> Json:
    """Return the frame that tells a client why its own frame was not taken."""
    details = {"field": refused.field} if refused.field else None
    return error_response(refused.id, refused.code, refused.message, details)


def encode(value: object) -> str:
    """Return a value as JSON that every reader takes.

    Raises:
        TypeError: It holds something that JSON has no form for.
        ValueError: It holds a number that JSON has no form for.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if text.isascii():
        return text
    # File names that are not UTF-8 arrive as lone surrogates, which no socket can carry.
    return text.encode("utf-8", "replace").decode("utf-8")


def encode_ascii(value: object) -> str:
    """Return a value as JSON of plain characters: longer, but the quickest to copy and to send.

    Raises:
        TypeError: It holds something that JSON has no form for.
        ValueError: It holds a number that JSON has no form for.
    """
    text = encode(value)
    # Read again, so that what `encode` mended stays mended.
    return text if text.isascii() else json.dumps(json.loads(text), separators=(",", ":"))


def response_text(response: Json) -> str:
    """Return the frame of a response; a payload that was encoded before is not encoded again.

    Raises:
        TypeError: It holds something that JSON has no form for.
        ValueError: It holds a number that JSON has no form for.
    """
    payload = response.get("payload")
    if not isinstance(payload, EncodedPayload):
        return encode(response)
    head = encode({name: value for name, value in response.items() if name != "payload"})
    return f'{head[:-1]},"payload":{payload.text}}}'


def event_text(event: str, payload_text: str, sequence: int | None) -> str:
    """Return the frame of an event whose payload was encoded once for all its readers."""
    order = "" if sequence is None else f',"seq":{sequence}'
    return f'{{"type":"event","event":{json.dumps(event)},"payload":{payload_text}{order}}}'


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _read_json(text: str) -> object:
    value: object = json.loads(
        text, object_pairs_hook=_gather, parse_constant=_no_constant, parse_float=_read_float
    )
    if _HALF_ESCAPE.search(text) or not text.isascii():
        _no_lone_surrogates(value)
    # Brackets inside of strings count too: then the walk finds that it is not deep after all.
    if text.count("[") + text.count("{") > MOST_DEPTH and _is_deeper(value, MOST_DEPTH):
        raise _UnreadableError("nested too deeply")
    return value


def _gather(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _UnreadableError("an object names a key twice")
    return found


def _no_constant(_name: str) -> float:
    raise _UnreadableError("NaN and Infinity are no JSON")


def _read_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _UnreadableError("a number is too large")
    return number


def _no_lone_surrogates(value: object) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise _UnreadableError(
            "a text holds a lone surrogate, which is half a character"
        ) from error


def _is_deeper(value: object, most: int) -> bool:
    waiting = [(value, 1)]
    while waiting:
        item, depth = waiting.pop()
        if not isinstance(item, dict | list):
            continue
        if depth > most:
            return True
        inner = item.values() if isinstance(item, dict) else item
        waiting.extend((child, depth + 1) for child in inner)
    return False


def _refuse_malformed(problem: str) -> Refused:
    return Refused(
        fault=Fault.MALFORMED,
        code=Code.INVALID_REQUEST,
        message=f"malformed frame: {problem}; send one JSON object for each text frame",
    )


def _as_request(value: object) -> RequestFrame | Refused:
    if not isinstance(value, dict):
        return _refuse_malformed("not an object")
    request_id, method, params = value.get("id"), value.get("method"), value.get("params")
    if not _is_short_text(request_id, MOST_ID_CHARS):
        return _refuse_malformed(f"id must be a text of 1 to {MOST_ID_CHARS} printable characters")
    if value.get("type") != "req":
        return _no_request(request_id, "type", 'must be "req"')
    if not _is_short_text(method, MOST_METHOD_CHARS):
        return _no_request(request_id, "method", "must be the name of a method")
    if params is not None and not isinstance(params, dict):
        return _no_request(request_id, "params", "must be an object")
    return RequestFrame(id=request_id, method=method, params=params or {})


def _is_short_text(value: object, most: int) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= most and value.isprintable()


def _no_request(request_id: str, field: str, problem: str) -> Refused:
    return Refused(
        fault=Fault.NOT_A_REQUEST,
        code=Code.INVALID_REQUEST,
        message=f"invalid request frame: {field} {problem}",
        id=request_id,
        field=field,
        fatal=False,
    )
