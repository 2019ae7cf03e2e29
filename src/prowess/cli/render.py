"""How answers look: tables that fit a terminal, plain lines in a pipe, JSON on request.

In a pipe nothing is cut and nothing is coloured: the reader is a program. `rich` is loaded only for
a terminal, where a person waits for it anyway.
"""

import json
import os
import sys
import unicodedata
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from prowess.skills.text import clean

if TYPE_CHECKING:
    from rich.console import Console


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


def print_json(value: object) -> None:
    """Print `value` as JSON."""
    print(json.dumps(value, indent=2, ensure_ascii=False))  # noqa: T201


def print_error(message: str) -> None:
    """Print one sentence where errors go."""
    print(f"prowess: {clean(message)}", file=sys.stderr)  # noqa: T201


def print_text(text: str = "", style: str = "") -> None:
    """Print lines of text, coloured on a terminal."""
    if style and is_terminal():
        _console().print(clean(text), style=style, markup=False, highlight=False)
    else:
        print(clean(text))  # noqa: T201


def print_raw(text: str) -> None:
    """Print exactly `text`, for another program to use."""
    print(text)  # noqa: T201


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
    """Print a table: fitted on a terminal, aligned and whole in a pipe."""
    if is_terminal():
        _print_fitted(columns, rows)
        return
    texts = [[one_line(cell.text) for cell in row] for row in rows]
    titles = [column.title for column in columns]
    widths = [max(map(_width, column)) for column in zip(titles, *texts, strict=True)]
    for row in (titles, *texts):
        cells = [text + " " * (size - _width(text)) for text, size in zip(row, widths, strict=True)]
        print("  ".join(cells).rstrip())  # noqa: T201


def one_line(text: str) -> str:
    """Return `text` cleaned and on one line."""
    return " ".join(clean(text).split())


def _print_fitted(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
    table = import_module("rich.table").Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    text_type = import_module("rich.text").Text
    for column in columns:
        table.add_column(
            column.title,
            overflow="ellipsis",
            no_wrap=True,
            ratio=1 if column.flexible else None,
            min_width=8 if column.flexible else None,
        )
    for row in rows:
        table.add_row(*(text_type(one_line(cell.text), style=cell.style) for cell in row))
    _console().print(table)


def _console() -> "Console":
    console: Console = import_module("rich.console").Console(highlight=False)
    return console


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in {"W", "F"} for char in text)
    hidden = sum(unicodedata.combining(char) > 0 or char == "\ufe0f" for char in text)
    return len(text) + wide - hidden
