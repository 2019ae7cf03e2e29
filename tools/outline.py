"""Writes the bundled model's outline: its graph, with large weights left where they are.

    python tools/outline.py [--check]

A process that reads one message spends longer on copying weights out of `encoder.onnx` than on
reading it. The outline is the same graph; each large tensor in it names its place in that file,
which the runtime then maps into memory. Run it when the bundled model changed; `--check` says
whether that is due.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import prowess
from prowess.host.models.local import BUNDLED_FILE, OUTLINE_FILE

_FOLDER = Path(prowess.__file__).parent / "model"
# Below this a tensor is quicker copied than mapped.
_LEAST_BYTES = 16_384
# Numbers of fields in the format of models: https://onnx.ai/onnx/repo-docs/IR.html
_GRAPH, _TENSOR, _RAW, _OUTSIDE, _WHERE, _KEY, _VALUE = 7, 5, 9, 13, 14, 1, 2
_TYPE_BITS, _NUMBER, _LONG, _BYTES, _SHORT = 3, 0, 1, 2, 5
_MORE = 0x80


class _Field(NamedTuple):
    """One field of a message: its number, where it begins, where its content does, and its end."""

    number: int
    start: int
    content: int
    end: int


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        found |= (data[at] & 0x7F) << shift
        at, shift, is_last = at + 1, shift + 7, data[at] < _MORE
        if is_last:
            return found, at


def _write_number(value: int) -> bytes:
    out = bytearray()
    while value >= _MORE:
        out.append(value & 0x7F | _MORE)
        value >>= 7
    return bytes((*out, value))


def _list_fields(data: bytes, at: int, end: int) -> Iterator[_Field]:
    while at < end:
        key, content = _read_number(data, at)
        kind, after = key & (1 << _TYPE_BITS) - 1, content
        if kind == _BYTES:
            length, content = _read_number(data, content)
            after = content + length
        elif kind == _NUMBER:
            _, after = _read_number(data, content)
        else:
            after = content + {_LONG: 8, _SHORT: 4}[kind]
        yield _Field(key >> _TYPE_BITS, at, content, after)
        at = after


def _put(number: int, content: bytes) -> bytes:
    return _write_number(number << _TYPE_BITS | _BYTES) + _write_number(len(content)) + content


def _outline_tensor(data: bytes, tensor: _Field) -> bytes:
    """Return a tensor whose bytes are looked up in the model's own file."""
    fields = list(_list_fields(data, tensor.content, tensor.end))
    raw = next((field for field in fields if field.number == _RAW), None)
    if raw is None or raw.end - raw.content < _LEAST_BYTES:
        return data[tensor.content : tensor.end]
    place = {
        b"location": BUNDLED_FILE.encode(),
        b"offset": b"%d" % raw.content,
        b"length": b"%d" % (raw.end - raw.content),
    }
    kept = b"".join(data[field.start : field.end] for field in fields if field is not raw)
    entries = (
        _put(_OUTSIDE, _put(_KEY, key) + _put(_VALUE, value)) for key, value in place.items()
    )
    return kept + b"".join(entries) + _write_number(_WHERE << _TYPE_BITS) + b"\x01"


def make(data: bytes) -> bytes:
    """Return the outline of a model."""
    parts = []
    for field in _list_fields(data, 0, len(data)):
        if field.number != _GRAPH:
            parts.append(data[field.start : field.end])
            continue
        graph = b"".join(
            _put(_TENSOR, _outline_tensor(data, part))
            if part.number == _TENSOR
            else data[part.start : part.end]
            for part in _list_fields(data, field.content, field.end)
        )
        parts.append(_put(_GRAPH, graph))
    return b"".join(parts)


def main() -> int:
    """Write the file, or check that it is the one that would be written."""
    made, path = make((_FOLDER / BUNDLED_FILE).read_bytes()), _FOLDER / OUTLINE_FILE
    if "--check" in sys.argv:
        return int(not path.is_file() or path.read_bytes() != made)
    path.write_bytes(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
