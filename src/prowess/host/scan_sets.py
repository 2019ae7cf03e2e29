"""Labelled sets for the scanner from disk: one JSON object a line, plain or packed with xz.

A line that cannot be read is an error that names it: a set that lost samples measures something
else than it says.
"""

import base64
import binascii
import json
import os
from collections.abc import Mapping

from prowess.errors import SuiteError
from prowess.evaluation.scanning import Label, Sample, SampleSet
from prowess.host.files.read import Content, is_path, read_bounded
from prowess.host.xz import unpacked

_MAX_PACKED_BYTES = 128_000_000
_MAX_BYTES = 512_000_000
# What `xz -9` needs to unpack; a file may ask for gigabytes.
_SHAPE = 'wants {"id", "label", "category", "files": {path: text}}'


def read_set(path: str) -> SampleSet:
    """Read one set.

    Raises:
        SuiteError: the file or one of its lines cannot be read.
    """
    if not path or not is_path(path) or not os.path.isfile(path):
        raise SuiteError(path or "''", "is not a file: give a .jsonl or .jsonl.xz of samples.")
    packed = path.endswith(".xz")
    content = read_bounded(os.path.realpath(path), _MAX_PACKED_BYTES if packed else _MAX_BYTES)
    if not isinstance(content, Content):
        raise SuiteError(path, "is gone." if content is None else f"{content.message}.")
    lines = unpacked(path, content.data, _MAX_BYTES) if packed else content.data
    samples = tuple(
        _sample(line, f"{path}:{number}")
        for number, line in enumerate(lines.split(b"\n"), start=1)
        if line.strip()
    )
    if not samples:
        raise SuiteError(path, f"holds no sample: each line {_SHAPE}.")
    return SampleSet(os.path.basename(path).partition(".")[0], samples)


def _sample(line: bytes, where: str) -> Sample:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SuiteError(where, f"is not JSON: {error}.") from error
    files = value.get("files") if isinstance(value, Mapping) else None
    if not isinstance(files, Mapping) or not files:
        raise SuiteError(where, f"{_SHAPE}.")
    try:
        label = Label(str(value.get("label")).lower())
    except ValueError as error:
        raise SuiteError(where, f"has no label: one of {', '.join(Label)}.") from error
    category = str(value.get("category") or "uncategorised")
    content = {path: _bytes(data, f"{where}: {path}") for path, data in files.items()}
    return Sample(str(value.get("id") or where), label, category, content)


def _bytes(data: object, where: str) -> bytes:
    """Return the content of a file: a text, or bytes that are no text as {"base64": ...}."""
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass")
    packed = data.get("base64") if isinstance(data, Mapping) else None
    if isinstance(packed, str):
        try:
            return base64.b64decode(packed, validate=True)
        except (binascii.Error, ValueError) as error:
            raise SuiteError(where, f"is not base64: {error}.") from error
    raise SuiteError(where, 'is neither a text nor {"base64": text}.')
