"""Texts derived from a file, each character of which knows where it came from.

A scanner reads a file in many ways (folded, decoded, unquoted); a person wants the line in the file
as it is. A `View` carries both: its text, and for each character the offset in the raw text. A
`Rewriter` writes a view anew, piece by piece, without losing that.
"""

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class View:
    """A text read from `path`, by the steps of `chain`."""

    path: str
    text: str
    # For each character the offset in the raw text of the file; `range` where nothing was changed.
    origins: Sequence[int]
    chain: tuple[str, ...] = ()

    @classmethod
    def raw(cls, path: str, text: str) -> "View":
        """Return the view that is the file itself."""
        return cls(path, text, range(len(text)))

    def origin(self, index: int) -> int:
        """Return the raw offset of the character at `index`; past the end, of the last one."""
        if not self.origins:
            return 0
        return self.origins[min(max(index, 0), len(self.origins) - 1)]

    def cut(self, start: int, end: int) -> "View":
        """Return the part from `start` to `end`, read the same way."""
        return View(self.path, self.text[start:end], self.origins[start:end], self.chain)

    def derive(self, text: str, indices: Sequence[int], step: str = "") -> "View":
        """Return a rewriting; `indices` says for each character of `text` its index here."""
        if len(text) != len(indices):
            raise ValueError("each character of a derived text needs an index")
        origins = array("L", map(self.origins.__getitem__, self._within(indices)))
        return View(self.path, text, origins, self._step(step))

    def decoded(self, text: str, start: int, step: str) -> "View":
        """Return what a blob that begins at `start` decodes to; all of it stands at that place."""
        origins = array("L", [self.origin(start)]) * len(text)
        return View(self.path, text, origins, self._step(step))

    def _within(self, indices: Sequence[int]) -> Sequence[int]:
        """The indices, with those beyond either end moved to it."""
        last = len(self.origins) - 1
        if not indices or (min(indices) >= 0 and max(indices) <= last):
            return indices
        return [min(max(index, 0), last) for index in indices]

    def _step(self, step: str) -> tuple[str, ...]:
        return (*self.chain, step) if step and self.chain[-1:] != (step,) else self.chain


@dataclass(frozen=True, slots=True)
class Spot:
    """A stretch of a view: where something was seen."""

    view: View
    start: int
    end: int

    @property
    def path(self) -> str:
        """The file that it is in."""
        return self.view.path

    @property
    def text(self) -> str:
        """What stands there, as the view reads it."""
        return self.view.text[self.start : self.end]

    @property
    def offset(self) -> int:
        """The raw offset of its first character."""
        return self.view.origin(self.start)


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a raw text, to turn offsets into what a person counts."""

    text: str
    _starts: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> "Lines":
        """Index the lines of `text`; only a line feed ends one."""
        starts = [0]
        at = text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = text.find("\n", at + 1)
        return cls(text, starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of `offset`, both counted from one."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return the text of line `number`, without its end."""
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[start:end].removesuffix("\r")


class Rewriter:
    """Collects what is kept of a view and what is put in its place."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._pieces: list[str] = []
        self._origins = array("L")

    def keep(self, start: int, end: int) -> None:
        """Take over the stretch from `start` to `end` as it is."""
        if start < end:
            self._pieces.append(self._view.text[start:end])
            self._origins.extend(self._view.origins[start:end])

    def put(self, text: str, at: int) -> None:
        """Write `text`, all of which stands for the character at `at`."""
        if len(text) == 1:
            self._pieces.append(text)
            self._origins.append(self._view.origins[at])
        elif text:
            self._pieces.append(text)
            self._origins.extend([self._view.origin(at)] * len(text))

    def swap(self, text: str, start: int) -> None:
        """Write `text` over as many characters from `start` on, one for one."""
        self._pieces.append(text)
        self._origins.extend(self._view.origins[start : start + len(text)])

    def done(self, step: str) -> View:
        """Return the rewritten view, its chain longer by `step`."""
        chain = self._view.chain
        if step and chain[-1:] != (step,):
            chain = (*chain, step)
        return View(self._view.path, "".join(self._pieces), self._origins, chain)
