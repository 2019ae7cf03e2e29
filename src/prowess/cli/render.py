"""How answers look: tables that fit a terminal, plain lines in a pipe, JSON on request.

In a pipe nothing is cut and nothing is coloured: the reader is a program. Text from skills never
reaches a terminal as it is: no control characters, and no line breaks that could forge a line.
"""

import json
import math
import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any, NamedTuple, Self, TextIO

from prowess.skills.text import clean, one_line

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
_PATIENCE_S, _BAR = 0.7, 30
_GAP, _LEAST_WIDTH, _MOST_FIXED, _INDENT = 2, 8, 40, 4


class Column(NamedTuple):
    """One column of a table; a flexible one gives way when the terminal is narrow."""

    title: str
    flexible: bool = False


class Cell(NamedTuple):
    """A text and the colour it has on a terminal."""

    text: str
    style: str = ""


def is_terminal() -> bool:
    """Return whether a person is looking."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def asks() -> bool:
    """Return whether a person can be asked something."""
    return sys.stdin is not None and sys.stdin.isatty() and is_terminal()


def print_json(value: object) -> None:
    """Print `value` as JSON that any reader takes, whatever the stream can encode."""
    plain = str(sys.stdout.encoding or "").lower().replace("-", "") in {"utf8", "utf8sig"}
    print(json.dumps(_clean_all(value), indent=2, ensure_ascii=not plain, allow_nan=False))


def print_error(message: str) -> None:
    """Print one sentence where errors go; nobody there to read it stops nothing."""
    if sys.stderr is None:
        return
    try:
        print(f"prowess: {one_line(message)}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        silence_errors()


def silence_errors() -> None:
    """Write no more to an error stream that is gone, full or closed: what it is for goes on."""
    sys.stderr = _open_nowhere()


def print_text(text: str = "", style: str = "") -> None:
    """Print one line, coloured on a terminal."""
    # A line break inside would let a skill's text pose as a line of ours.
    line = clean(text).replace("\r", " ").replace("\n", " ")
    print(_style(line, style))


def silence() -> None:
    """Write no more to a stream that nobody reads, or that takes nothing."""
    sys.stdout = _open_nowhere()


def _open_nowhere() -> TextIO:
    # Open until the process ends, like the stream it stands for.
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123


def print_raw(text: str) -> None:
    """Print exactly `text`, for another program to use."""
    print(text)


class ProgressBar:
    """A bar on the error stream for what takes more than a second; nothing in a pipe."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._drawn = False

    def __call__(self, what: str, done: int, total: int) -> None:
        """Draw how far the work is, once it has taken long enough to make someone wonder."""
        if sys.stderr is None or not sys.stderr.isatty():
            return
        if done == 0:
            self._started = time.monotonic()
        if done >= total:
            self.clear()
            return
        if time.monotonic() - self._started < _PATIENCE_S:
            return
        filled = _BAR * done // max(total, 1)
        bar = "#" * filled + "-" * (_BAR - filled)
        print(f"\r{what} [{bar}] {done}/{total} ", end="", file=sys.stderr, flush=True)
        self._drawn = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove the bar, so that the answer stands alone."""
        if self._drawn and sys.stderr is not None:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        self._drawn = False


def columns_of_reader(fallback: int) -> int:
    """Return how wide a line may be: the terminal's, or what `COLUMNS` says of a pipe."""
    return shutil.get_terminal_size((fallback, 24)).columns


def print_table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    *,
    most: int | None = None,
    below: Sequence[str] = (),
) -> None:
    """Print a table: fitted on a terminal, whole and aligned in a pipe.

    Args:
        columns: their titles, and which of them give way.
        rows: a cell for each column.
        most: the width of a line, where it is not the terminal's; flexible columns alone are cut to
            it, down to a readable rest. Nought cuts and aligns nothing that is flexible.
        below: for each row what stands below it, indented and wrapped; none where it is empty.
    """
    # Where programs read it, no cell is empty: its columns can be counted.
    empty = "" if is_terminal() else "-"
    cells = [[Cell(one_line(cell.text) or empty, cell.style) for cell in row] for row in rows]
    widths = [
        max([_width(column.title), *(_width(row[index].text) for row in cells)])
        for index, column in enumerate(columns)
    ]
    fill = _pad
    if most is None and is_terminal():
        widths = _fit(columns, widths, columns_of_reader(80))
    elif most:
        widths = _share(columns, widths, most)
    else:
        fill = _fill
        if most == 0:
            rows_of = zip(columns, widths, strict=True)
            widths = [0 if c.flexible else w for c, w in rows_of]
    head = [Cell(column.title, "bold") for column in columns]
    for at, row in enumerate((head, *cells)):
        parts = [fill(cell, width) for cell, width in zip(row, widths, strict=True)]
        print((" " * _GAP).join(parts).rstrip())
        for line in _wrap(below[at - 1]) if at and below else ():
            print(" " * _INDENT + _style(line, "dim"))


def _wrap(note: str) -> list[str]:
    width = max(columns_of_reader(80) - _INDENT, _LEAST_WIDTH)
    # A name stays whole: it may be copied.
    return wrap(one_line(note), width, break_on_hyphens=False)


def _share(columns: Sequence[Column], widths: Sequence[int], total: int) -> list[int]:
    """Share what the fixed columns leave among the flexible ones, the narrowest first."""
    fitted = list(widths)
    flexible = sorted(
        (index for index, column in enumerate(columns) if column.flexible),
        key=lambda index: fitted[index],
    )
    left = total - sum(fitted) - _GAP * (len(columns) - 1) + sum(fitted[i] for i in flexible)
    for place, index in enumerate(flexible):
        # What the narrower do not need goes to the others.
        share = max(left // (len(flexible) - place), _LEAST_WIDTH)
        fitted[index] = min(fitted[index], share)
        left -= fitted[index]
    return fitted


def _fit(columns: Sequence[Column], widths: Sequence[int], total: int) -> list[int]:
    """Give the fixed columns what they need and share the rest among the flexible ones."""
    needed = [
        w if c.flexible else min(w, _MOST_FIXED) for c, w in zip(columns, widths, strict=True)
    ]
    fitted = _share(columns, needed, total)
    excess = sum(fitted) + _GAP * (len(columns) - 1) - total
    while excess > 0 and max(fitted) > 1:
        # A very narrow terminal: the widest column gives way, one character at a time.
        fitted[fitted.index(max(fitted))] -= 1
        excess -= 1
    return fitted


def _pad(cell: Cell, width: int) -> str:
    return _fill(cell._replace(text=_cut(cell.text, width)), width)


def _fill(cell: Cell, width: int) -> str:
    return _style(cell.text, cell.style) + " " * (width - _width(cell.text))


def _cut(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    cut = text[: max(width - 1, 0)]
    while _width(cut) > width - 1 and cut:
        cut = cut[:-1]
    return cut + "…" if width > 0 else ""


def _style(text: str, style: str) -> str:
    codes = [_STYLES[word] for word in style.split()]
    if not codes or not is_terminal() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m"


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in {"W", "F"} for char in text)
    hidden = sum(unicodedata.combining(char) > 0 or char in "\ufe0f\u200d\u200c" for char in text)
    return len(text) + wide - hidden


# Any JSON goes in and comes out.
def _clean_all(value: Any) -> Any:  # noqa: ANN401
    """Return `value` with every text in it cleaned and every number one that JSON knows."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _clean_all(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean_all(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def shortened(text: str, most: int) -> str:
    """Return a text as one line of at most `most` characters and a mark that it goes on."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}..."


def count_up(number: int, what: str) -> str:
    """Return how many of something there are, in words."""
    return f"{number} {what}{'' if number == 1 else 's'}"
