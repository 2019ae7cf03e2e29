"""What a person sees while something is installed: on the error stream, cleaned, and dim.

A program's output comes in pieces that end anywhere, also in the middle of an escape sequence, so
only whole lines are cleaned and shown. Where nobody reads them any more, the install goes on.
"""

import os
import sys
import time
from collections.abc import Iterable
from typing import Self

from prowess.cli.render import silence_errors
from prowess.skills.text import clean, one_line

_MIB = 1 << 20
_BAR, _EVERY_S, _MOST_LINE = 30, 0.1, 4000


class Live:
    """Shows the output of programs and the progress of downloads; `quiet` shows nothing."""

    def __init__(self, *, quiet: bool) -> None:
        self._stream = None if quiet else sys.stderr
        self._is_terminal = self._stream is not None and self._stream.isatty()
        self._pending = {"stdout": "", "stderr": ""}
        self._started = self._drawn_at = time.monotonic()
        self._drawn = False

    @property
    def elapsed(self) -> str:
        """How long it has taken."""
        return f"{time.monotonic() - self._started:.1f} s"

    def tell(self, lines: Iterable[str]) -> None:
        """Show lines of our own."""
        for line in lines:
            self._write(one_line(line), "")

    def warn(self, warnings: Iterable[str]) -> None:
        """Show what should be known before."""
        for warning in warnings:
            self._write(f"note: {one_line(warning)}", "33")

    def output(self, stream: str, text: str) -> None:
        """Take a piece of a program's output, and show the lines that are whole."""
        *lines, rest = (self._pending[stream] + text).replace("\r", "\n").split("\n")
        # A program that never ends its line is shown all the same.
        if len(rest) > _MOST_LINE:
            lines, rest = [*lines, rest], ""
        self._pending[stream] = rest
        for line in lines:
            self._show(line)

    def progress(self, done: int, total: int | None) -> None:
        """Draw how much has arrived."""
        now = time.monotonic()
        if not self._is_terminal or (now - self._drawn_at < _EVERY_S and done != total):
            return
        self._drawn_at = now
        size = f"{done / _MIB:.1f}"
        if total:
            filled = min(_BAR * done // total, _BAR)
            bar = "#" * filled + "-" * (_BAR - filled)
            size = f"[{bar}] {size}/{total / _MIB:.1f}"
        self._draw(f"\r\x1b[Kdownloading {size} MiB, {self.elapsed} ")
        self._drawn = True

    def __enter__(self) -> Self:
        self._started = self._drawn_at = time.monotonic()
        return self

    def __exit__(self, *_problem: object) -> None:
        for stream, rest in self._pending.items():
            self._pending[stream] = ""
            self._show(rest)
        if self._drawn:
            self._draw("\r\x1b[K")
            self._drawn = False

    def _show(self, line: str) -> None:
        text = clean(line).rstrip()
        if text:
            self._write(text, "2")

    def _write(self, text: str, code: str) -> None:
        plain = not code or not self._is_terminal or os.environ.get("NO_COLOR")
        self._draw(f"{text}\n" if plain else f"\x1b[{code}m{text}\x1b[0m\n")

    def _draw(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None
            silence_errors()
