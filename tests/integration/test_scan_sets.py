"""Labelled sets for the scanner are read whole or refused with the line that is wrong."""

import json
import lzma
from pathlib import Path

import pytest

from prowess.errors import SuiteError
from prowess.evaluation.scanning import Label
from prowess.host.evaluation import read_set

ROW = {"id": "a1", "label": "malicious", "category": "x", "files": {"SKILL.md": "Hé"}}


def _write(path: Path, *rows: object) -> str:
    text = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    path.write_bytes(lzma.compress(text) if path.suffix == ".xz" else text)
    return str(path)


@pytest.mark.parametrize("name", ["wild.jsonl", "wild.jsonl.xz"])
def test_a_set_is_read_plain_and_packed(tmp_path: Path, name: str) -> None:
    found = read_set(_write(tmp_path / name, ROW))

    assert found.name == "wild"
    (sample,) = found.samples
    assert (sample.id, sample.label, sample.category) == ("a1", Label.MALICIOUS, "x")
    assert sample.files == {"SKILL.md": "Hé".encode()}


def test_bytes_that_are_no_text_come_as_base64(tmp_path: Path) -> None:
    row = {"label": "benign", "files": {"x.bin": {"base64": "AP8="}, "y": "\ud800"}}

    (sample,) = read_set(_write(tmp_path / "a.jsonl", row)).samples

    assert sample.files["x.bin"] == b"\0\xff"
    assert sample.category == "uncategorised"
    assert sample.id.endswith("a.jsonl:1")


def test_packed_parts_that_follow_one_another_are_all_read(tmp_path: Path) -> None:
    line = lzma.compress(f"{json.dumps(ROW)}\n".encode())
    (tmp_path / "two.jsonl.xz").write_bytes(line + b"\0" * 4 + line)

    assert len(read_set(str(tmp_path / "two.jsonl.xz")).samples) == 2


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ([], "wants"),
        ({"label": "benign"}, "wants"),
        ({"label": "benign", "files": {}}, "wants"),
        ({"label": "odd", "files": {"a": "b"}}, "has no label"),
        ({"label": "benign", "files": {"a": 1}}, "neither a text"),
        ({"label": "benign", "files": {"a": {"base64": "?"}}}, "is not base64"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, row: object, problem: str) -> None:
    path = _write(tmp_path / "a.jsonl", ROW, row)

    with pytest.raises(SuiteError, match=r"a\.jsonl:2.*" + problem):
        read_set(path)


def test_a_file_that_is_no_set_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cut.xz").write_bytes(lzma.compress(b"{}\n" * 100)[:-20])
    (tmp_path / "junk.xz").write_bytes(b"junk" * 9)
    (tmp_path / "junk.jsonl").write_bytes(b"{\n")
    (tmp_path / "empty.jsonl").write_bytes(b"\n")

    for name, problem in {
        "cut.xz": "ends before",
        "junk.xz": "cannot be unpacked",
        "junk.jsonl": r"junk\.jsonl:1: is not JSON",
        "empty.jsonl": "no sample",
        "gone.jsonl": "is not a file",
    }.items():
        with pytest.raises(SuiteError, match=problem):
            read_set(str(tmp_path / name))
