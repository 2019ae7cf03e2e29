"""Traces in real files and folders: bounded, never through a link, and every bad line counted."""

import gc
import io
import json
import os
from pathlib import Path

import pytest

from prowess.errors import PathError
from prowess.host.harness.transcripts import NOT_JSON, NOT_TEXT
from prowess.host.store import traces as trace_files
from prowess.host.store.traces import read_trace_file, read_trace_stream, trace_files_below
from prowess.transcripts.traces import MOST_WORDS, TraceShape

DOCUMENT = {"task": "greet", "ok": True, "steps": [{"action": {"type": "wait"}, "result": "ok"}]}
SESSION = (
    "# OpenPocket Session\n\n- id: s\n\n## Task\n\ngreet\n\n## Steps\n\n"
    "## Final\n\n- status: SUCCESS\n"
)


def _write(path: Path, content: str | bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize(
    ("name", "content", "shape"),
    [
        ("a.json", json.dumps(DOCUMENT, indent=2), TraceShape.DOCUMENT),
        ("a.jsonl", f"{json.dumps(DOCUMENT)}\nbroken\n", TraceShape.DOCUMENT),
        ("a.md", SESSION, TraceShape.OPENPOCKET),
        ("no-ending", f"\n\n{SESSION}", TraceShape.OPENPOCKET),
    ],
)
def test_a_file_is_read_by_what_it_holds(
    tmp_path: Path, name: str, content: str, shape: TraceShape
) -> None:
    path = _write(tmp_path / name, content)

    reading = read_trace_file(path)

    assert [(trace.task, trace.ok, trace.session_path) for trace in reading.traces] == [
        ("greet", True, path)
    ]
    assert reading.shape is shape


def test_bad_lines_are_counted_and_cost_only_themselves(tmp_path: Path) -> None:
    line = json.dumps(DOCUMENT).encode()
    nested = b"[" * 100_000
    number = b'{"task": ' + b"9" * 5_000 + b"}"
    content = b"\n".join((line, b"{", b"\xff", nested, number, b"", line))

    reading = read_trace_file(_write(tmp_path / "a.jsonl", content))

    assert len(reading.traces) == 2
    assert reading.skipped[NOT_TEXT] == 1
    assert sum(reading.skipped.values()) == 4
    assert reading.skipped[NOT_JSON] >= 2


def test_a_result_of_ten_megabytes_on_one_line_is_read(tmp_path: Path) -> None:
    step = {"action": {"type": "read"}, "result": "x" * 10_000_000}
    lines = (json.dumps(line) for line in ({"task": "a"}, step, {"ok": True}))

    (trace,) = read_trace_file(_write(tmp_path / "a.jsonl", "\n".join(lines))).traces

    assert trace.ok
    assert len(trace.steps[0].result) == MOST_WORDS


def test_a_line_that_is_too_long_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_files, "MOST_LINE_BYTES", 1_000)
    content = f"{json.dumps(DOCUMENT)}\n{json.dumps('x' * 2_000)}\n"

    reading = read_trace_file(_write(tmp_path / "a.jsonl", content))

    assert reading.skipped == {"longer than 1000 bytes": 1}


@pytest.mark.parametrize(
    ("content", "problem"),
    [("", "is empty"), ("words\nonly\n", "2 not JSON"), (b"\xff\xfe{\x00}\x00", "UTF-16")],
)
def test_a_file_without_a_single_value_says_so(
    tmp_path: Path, content: str | bytes, problem: str
) -> None:
    path = _write(tmp_path / "a.jsonl", content)

    with pytest.raises(PathError, match=problem):
        read_trace_file(path)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)

    for path in (str(pipe), str(tmp_path), str(tmp_path / "none"), "a\0b"):
        with pytest.raises(PathError):
            read_trace_file(path)


def test_markdown_that_is_no_session_says_what_one_begins_with(tmp_path: Path) -> None:
    path = _write(tmp_path / "notes.md", "# Notes\n")

    with pytest.raises(PathError, match="# OpenPocket Session"):
        read_trace_file(path)


def test_a_file_above_the_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_files, "MOST_BYTES", 10)
    path = _write(tmp_path / "a.md", SESSION)

    with pytest.raises(PathError, match="larger than 10 bytes"):
        read_trace_file(path)


def test_a_stream_is_read_under_the_name_that_it_is_given() -> None:
    stream = io.BytesIO(json.dumps({**DOCUMENT, "sessionPath": ""}).encode())

    (trace,) = read_trace_stream(stream, "-", TraceShape.DOCUMENT).traces

    assert trace.session_path == "-"


def test_a_folder_gives_its_traces_sorted_and_nothing_through_a_link(tmp_path: Path) -> None:
    folder, outside = tmp_path / "in", tmp_path / "out"
    wanted = [
        _write(folder / "2026" / "01" / "b.jsonl", "{}"),
        _write(folder / "a.JSON", "{}"),
        _write(folder / "session-1.md", SESSION),
    ]
    _write(folder / "readme.md", "# Notes")
    _write(folder / "a.txt", "{}")
    _write(folder / "node_modules" / "x" / "package.json", "{}")
    _write(folder / ".cache" / "x.json", "{}")
    secret = _write(outside / "secret.json", "{}")
    (folder / "link.json").symlink_to(secret)
    (folder / "linked").symlink_to(outside, target_is_directory=True)
    (folder / "circle").symlink_to(folder, target_is_directory=True)

    assert trace_files_below(str(folder)) == tuple(sorted(wanted))


def test_a_session_that_lies_there_in_both_forms_is_named_once(tmp_path: Path) -> None:
    both = _write(tmp_path / "session-1.jsonl", "{}")
    _write(tmp_path / "session-1.md", SESSION)
    alone = _write(tmp_path / "session-2.md", SESSION)

    assert trace_files_below(str(tmp_path)) == (both, alone)


def test_a_file_stands_for_itself_and_nothing_is_an_error(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.txt", "{}")

    assert trace_files_below(path) == (path,)
    with pytest.raises(PathError, match="does not exist"):
        trace_files_below(str(tmp_path / "none"))


def test_a_folder_with_more_files_than_anybody_means_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_files, "MOST_FILES", 2)
    for number in range(3):
        _write(tmp_path / f"{number}.json", "{}")

    with pytest.raises(PathError, match="more than 2 traces"):
        trace_files_below(str(tmp_path))


@pytest.mark.parametrize("name", ["", "notes.txt", "readme.md", ".hidden/a.json"])
def test_a_folder_without_a_trace_says_what_was_looked_for(tmp_path: Path, name: str) -> None:
    if name:
        _write(tmp_path / name, "# Notes")

    with pytest.raises(PathError, match=r"looked for \.json, \.jsonl.*claude-code, codex"):
        trace_files_below(str(tmp_path))


def test_a_file_without_a_trace_is_counted_under_what_to_try(tmp_path: Path) -> None:
    other = _write(tmp_path / "other.json", json.dumps({"sessions": {}}))
    document = _write(tmp_path / "a.json", json.dumps(DOCUMENT))

    unknown = read_trace_file(other)
    told = read_trace_file(other, TraceShape.CODEX)
    mistaken = read_trace_file(document, TraceShape.CODEX)

    assert "document, lines, openpocket, claude-code, codex" in unknown.advice
    assert "no codex trace: try `--format auto`" in told.advice
    assert mistaken.advice == "no codex trace but one of document: try `--format auto`"
    for reading in (unknown, told, mistaken):
        assert reading.traces == ()
        assert reading.skipped[f"file: {reading.advice}"] == 1
    assert read_trace_file(document).advice == ""


def test_what_is_no_json_says_which_formats_there_are(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.jsonl", "words\n")

    with pytest.raises(PathError, match=r"holds no trace .*one of document, lines, openpocket"):
        read_trace_file(path)


@pytest.mark.parametrize("was_on", [True, False])
def test_reading_leaves_the_collector_as_it_was(tmp_path: Path, *, was_on: bool) -> None:
    path = _write(tmp_path / "a.jsonl", "words\n")
    before = gc.isenabled()
    (gc.enable if was_on else gc.disable)()

    try:
        with pytest.raises(PathError):
            read_trace_file(path)
        after = gc.isenabled()
    finally:
        (gc.enable if before else gc.disable)()

    assert after is was_on
