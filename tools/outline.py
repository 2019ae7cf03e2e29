"""Writes the bundled model's outline: its graph, with large weights left where they are.

    python tools/outline.py [--check]

A process that reads one message spends longer on copying weights out of `encoder.onnx` than on
reading it. Each large tensor in the outline names its place in that file, which the runtime then
maps into memory. Run it when the bundled model changed; `--check` says whether that is due.

Texts are read one by one and never padded, so a third of the graph is left out: what works out
sizes that are always the same, what hides padding, and zero points of weights that are all zero.
What the export had fused into one slow step is two quick ones again. That rounds elsewhere, so the
vectors are the outline's own, and `id.txt`, which is written with it, is a hash of it too.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

import prowess
from prowess.host.models.local import BUNDLED_FILE, HASH_FILE, OUTLINE_FILE, hash_model

_FOLDER = Path(prowess.__file__).parent / "model"
# Below this a tensor is quicker copied than mapped.
_LEAST_BYTES = 16_384
# Numbers of fields in the format of models: https://onnx.ai/onnx/repo-docs/IR.html
_GRAPH, _TENSOR, _RAW, _OUTSIDE, _WHERE, _KEY, _VALUE = 7, 5, 9, 13, 14, 1, 2
_NODE, _TENSOR_NAME, _RESULT, _NAME, _IN, _OUT, _LABEL, _OPERATOR = 1, 8, 12, 1, 1, 2, 3, 4
_SIZE, _KIND, _FLOATS, _INTEGERS = 1, 2, 1, 7
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


@dataclass(slots=True)
class _Node:
    """One step of a graph: what it reads and gives by name, what it does, and the rest as it is."""

    inputs: list[str]
    outputs: list[str]
    operator: str
    rest: bytes

    @classmethod
    def read(cls, data: bytes, field: _Field) -> "_Node":
        """Take a node apart."""
        node = cls([], [], "", b"")
        for part in _list_fields(data, field.content, field.end):
            said = data[part.content : part.end]
            if part.number == _IN:
                node.inputs.append(said.decode())
            elif part.number == _OUT:
                node.outputs.append(said.decode())
            elif part.number != _LABEL:
                node.operator = said.decode() if part.number == _OPERATOR else node.operator
                node.rest += data[part.start : part.end]
        return node

    def write(self) -> bytes:
        """Put it together again."""
        named = ((_IN, self.inputs), (_OUT, self.outputs))
        said = b"".join(_put(number, name.encode()) for number, some in named for name in some)
        return said + self.rest


def _make_tensor(name: str, values: Iterable[float], kind: type[np.generic]) -> bytes:
    row = np.array(list(values), kind)
    number = _FLOATS if kind is np.float32 else _INTEGERS
    sizes = b"".join(
        _write_number(field << _TYPE_BITS) + _write_number(value)
        for field, value in ((_SIZE, len(row)), (_KIND, number))
    )
    return sizes + _put(_TENSOR_NAME, name.encode()) + _put(_RAW, row.tobytes())


def _simplify(
    nodes: Iterable[_Node], raw: Mapping[str, bytes]
) -> tuple[list[_Node], dict[str, bytes]]:
    """Return the nodes for texts without padding, and new tensors in the place of some."""
    makers = {name: node for node in nodes for name in node.outputs}
    norm = next((node.rest for node in nodes if node.operator == "LayerNormalization"), b"")
    left, made = [], dict[str, bytes]()
    for node in nodes:
        first = makers.get(node.inputs[0]) if node.inputs else None
        if node.operator == "Concat" and all(name in raw for name in node.inputs[2:]):
            # Rows and tokens are as many as before: zero says so.
            sizes = [int.from_bytes(raw[name], "little") for name in node.inputs[2:]]
            made[node.outputs[0]] = _make_tensor(node.outputs[0], [0, 0, *sizes], np.int64)
            width = sizes[-1]
        elif node.operator == "Sqrt" and first is not None and first.operator == "Div":
            scale = np.sqrt(np.float32(1) / np.sqrt(np.float32(width)))
            made[node.outputs[0]] = _make_tensor(node.outputs[0], [scale], np.float32)
        elif node.operator == "SkipLayerNormalization":
            whole = f"{node.outputs[0]}_sum"
            left.append(_Node(node.inputs[:2], [whole], "Add", _put(_OPERATOR, b"Add")))
            left.append(_Node([whole, *node.inputs[2:]], node.outputs, "LayerNormalization", norm))
        else:
            left.append(node)
        if node.operator == "Softmax" and first is not None and first.operator == "Add":
            # What is added hides padding.
            node.inputs[0] = first.inputs[0]
        if "MatMul" in node.operator:
            node.inputs = [
                "" if name.endswith("_zero_point") and name in raw and not any(raw[name]) else name
                for name in node.inputs
            ]
    return left, made


def _list_needed(nodes: Iterable[_Node], wanted: Iterable[str]) -> tuple[list[_Node], set[str]]:
    """Return the nodes that something comes of, in order, and all names that they read."""
    needed, kept = set(wanted), list[_Node]()
    for node in reversed(list(nodes)):
        if not needed.isdisjoint(node.outputs):
            kept.insert(0, node)
            needed.update(node.inputs)
    return kept, needed


def _outline_graph(data: bytes, graph: _Field) -> bytes:
    parts = list(_list_fields(data, graph.content, graph.end))
    tensors = {
        _find(data, one, _TENSOR_NAME).decode(): one for one in parts if one.number == _TENSOR
    }
    results = [_find(data, one, _NAME).decode() for one in parts if one.number == _RESULT]
    raw = {name: _find(data, tensor, _RAW) for name, tensor in tensors.items()}
    nodes = [_Node.read(data, one) for one in parts if one.number == _NODE]
    nodes, made = _simplify(nodes, raw)
    nodes, needed = _list_needed(nodes, results)
    kept = (_outline_tensor(data, one) for name, one in tensors.items() if name in needed)
    added = (tensor for name, tensor in made.items() if name in needed)
    others = (data[one.start : one.end] for one in parts if one.number not in {_NODE, _TENSOR})
    return b"".join(
        (
            *(_put(_NODE, node.write()) for node in nodes),
            *(_put(_TENSOR, tensor) for tensor in (*kept, *added)),
            *others,
        )
    )


def _find(data: bytes, message: _Field, number: int) -> bytes:
    fields = _list_fields(data, message.content, message.end)
    return next((data[one.content : one.end] for one in fields if one.number == number), b"")


def make(data: bytes) -> bytes:
    """Return the outline of a model."""
    return b"".join(
        _put(_GRAPH, _outline_graph(data, field))
        if field.number == _GRAPH
        else data[field.start : field.end]
        for field in _list_fields(data, 0, len(data))
    )


def main() -> int:
    """Write the file, or check that it is the one that would be written."""
    made, path = make((_FOLDER / BUNDLED_FILE).read_bytes()), _FOLDER / OUTLINE_FILE
    if "--check" in sys.argv:
        return int(not path.is_file() or path.read_bytes() != made)
    path.write_bytes(made)
    (_FOLDER / HASH_FILE).write_text(f"{hash_model(str(_FOLDER))}\n", encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
