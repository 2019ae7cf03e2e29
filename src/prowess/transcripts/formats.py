"""Any trace, whoever wrote it: which reader it needs, and what came out.

No content stops a reading. A line, a step or a field that cannot be used is counted by its reason,
and a task that did not go well is a trace as well, with the reason why it does not count.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

from prowess.transcripts.claude_code import is_claude_code_line, read_claude_code
from prowess.transcripts.codex import is_codex_line, read_codex
from prowess.transcripts.openpocket import (
    TITLE,
    is_openpocket_line,
    read_markdown_session,
    read_openpocket,
)
from prowess.transcripts.tasks import is_document_line, read_documents
from prowess.transcripts.traces import LeftOutCounts, Trace, TraceShape
from prowess.transcripts.turns import TranscriptRecord

__all__ = ["FORMATS", "TITLE", "TraceReading", "read_markdown", "read_records"]

FORMATS = ", ".join(shape.value for shape in TraceShape)
TASK = "## Task"

_NOTHING: Mapping[str, int] = MappingProxyType({})
# The first that knows a line has it: OpenPocket's wrap messages as others do.
_KNOWN: Mapping[TraceShape, Callable[[object], bool]] = MappingProxyType(
    {
        TraceShape.OPENPOCKET: is_openpocket_line,
        TraceShape.CODEX: is_codex_line,
        TraceShape.CLAUDE_CODE: is_claude_code_line,
        TraceShape.DOCUMENT: is_document_line,
    }
)
# So many lines that are known say enough about the others.
_MOST_ASKED = 1_000
_READERS = MappingProxyType(
    {
        TraceShape.OPENPOCKET: read_openpocket,
        TraceShape.CODEX: read_codex,
        TraceShape.CLAUDE_CODE: read_claude_code,
        TraceShape.DOCUMENT: read_documents,
        TraceShape.LINES: read_documents,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceReading:
    """Every task that a file tells of, and what was left out and why."""

    traces: tuple[Trace, ...]
    skipped: Mapping[str, int]
    # None where nothing in the file looks like a trace.
    shape: TraceShape | None
    # What to try where there is not a single trace; empty where there is one.
    advice: str = ""


def read_records(
    records: Sequence[TranscriptRecord],
    *,
    path: str,
    shape: TraceShape | None = None,
    skipped: Mapping[str, int] = _NOTHING,
) -> TraceReading:
    """Return the traces among the values of a file.

    Args:
        records: the values of the file, in order.
        path: the session's path for a trace that names none.
        shape: who wrote them; by default most lines decide.
        skipped: what was left out before, by reason.
    """
    left_out = LeftOutCounts(skipped)
    lines = tuple(_lines(records))
    seen = shape or _shape_of(lines)
    traces = _READERS[seen or TraceShape.DOCUMENT](lines, path=path, left_out=left_out)
    if seen is TraceShape.DOCUMENT and len(records) > 1:
        seen = TraceShape.LINES
    advice = "" if traces else _advice(shape, lines)
    return TraceReading(traces=traces, skipped=dict(left_out), shape=seen, advice=advice)


def read_markdown(text: str, *, path: str) -> TraceReading:
    """Return the traces of a session that OpenPocket wrote as Markdown."""
    left_out = LeftOutCounts()
    traces = read_markdown_session(text, path=path, left_out=left_out)
    shape = TraceShape.OPENPOCKET if traces else None
    advice = "" if traces else f"a session without a task: its heading `{TASK}` is missing"
    return TraceReading(traces=traces, skipped=dict(left_out), shape=shape, advice=advice)


def _advice(told: TraceShape | None, lines: Sequence[TranscriptRecord]) -> str:
    """Say why there is no trace, in words that hold for any file of that kind."""
    looks_like = _shape_of(lines)
    if told is not None and looks_like not in {told, None}:
        return f"no {told.value} trace but one of {looks_like}: try `--format auto`"
    if told is not None:
        return f"no {told.value} trace: try `--format auto`, which knows {FORMATS}"
    if looks_like is not None:
        return f"no whole task, though it looks like {looks_like.value}"
    return f"no trace in any known format ({FORMATS})"


def _lines(records: Sequence[TranscriptRecord]) -> Iterator[TranscriptRecord]:
    """Yield each line; a file that is one list holds its lines as items."""
    for record in records:
        if isinstance(record.value, list | tuple) and not record.line:
            yield from (
                TranscriptRecord(value, number) for number, value in enumerate(record.value, 1)
            )
        else:
            yield record


def _shape_of(records: Sequence[TranscriptRecord]) -> TraceShape | None:
    known = filter(None, (_shape_of_line(record.value) for record in records))
    seen = Counter(islice(known, _MOST_ASKED))
    return max(seen, key=lambda shape: seen[shape], default=None)


def _shape_of_line(value: object) -> TraceShape | None:
    return next((shape for shape, knows in _KNOWN.items() if knows(value)), None)
