"""What a person is shown before they say yes: all of it, at once, and nothing that hides.

A command that cannot be shown like that is refused before anybody is asked. Long gaps are folded
into marks that no command can hold itself, so that what follows them is not pushed off the screen.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby

ROWS, COLUMNS = 20, 76
_MOST_COMMAND = 2_000
_MOST_DIFF, _MOST_DIFF_LINES = 16_000, 250
_LONG = "is too long to be judged: write it to a file or make it shorter"
# Letters and marks that are drawn as nothing, though Python takes them for printable; and the
# brackets of our own marks.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef\u27e6\u27e7]"
)
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_GAP = re.compile(r"[ \t]{9,}|\t+")
_MOST_NAMED, _MOST_BLANK = 3, 2


# No error of ours: it is caught near by and becomes a sentence for the model.
class NotShown(ValueError):  # noqa: N818
    """It cannot be shown to a person who must judge it; completes `the command ...`."""


def shown_command(command: str) -> str:
    """Return a command as a person sees it, at most a screenful.

    Raises:
        NotShown: it is too long, or holds what cannot be seen.
    """
    hidden = unseen(command)
    if hidden:
        raise NotShown(f"has characters that a person cannot see ({', '.join(hidden)})")
    folded = _folded(command)
    if len(folded) > _MOST_COMMAND or rows(folded, COLUMNS) > ROWS:
        raise NotShown(_LONG)
    return folded


def shown_change(lines: Iterable[str]) -> str:
    """Return the lines of a difference as a person sees them; what cannot be seen is spelled out.

    Raises:
        NotShown: there are too many.
    """
    spelled = [_spelled(line) for line in lines]
    if len(spelled) > _MOST_DIFF_LINES or sum(map(len, spelled)) > _MOST_DIFF:
        raise NotShown("is too long to be judged here")
    return "\n".join(_GAP.sub(_gap, line) for line in _without_blank_runs(spelled))


def unseen(text: str) -> tuple[str, ...]:
    """Return the names of the first characters in `text` that nobody would see."""
    found = dict.fromkeys(char for char in text if char not in "\n\t" and _is_unseen(char))
    return tuple(map(_named, list(found)[:_MOST_NAMED]))


def rows(text: str, columns: int) -> int:
    """Return how many rows of a terminal a text takes."""
    widths = (sum(map(_width, line)) for line in text.split("\n"))
    return sum(max(1, -(-width // max(1, columns))) for width in widths)


def _is_unseen(char: str) -> bool:
    return not char.isprintable() or _UNSEEN.match(char) is not None


def _named(char: str) -> str:
    name = unicodedata.name(char, "")
    return f"U+{ord(char):04X} {name}".strip()


def _width(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _folded(command: str) -> str:
    lines = _BLANK_LINES.sub(_blank_lines, f"\n{command}\n").split("\n")
    return "\n".join(_GAP.sub(_gap, line) for line in lines).strip("\n")


def _blank_lines(found: re.Match[str]) -> str:
    return f"\n⟦{found[0].count(chr(10)) - 1} blank lines⟧\n"


def _gap(found: re.Match[str]) -> str:
    gap = found[0]
    if gap == "\t":
        return "⟦tab⟧"
    return f"⟦{len(gap)} {'tabs and ' if chr(9) in gap else ''}spaces⟧"


def _spelled(line: str) -> str:
    return "".join(
        char if char == "\t" or not _is_unseen(char) else f"⟦{_named(char)}⟧" for char in line
    )


def _without_blank_runs(lines: Sequence[str]) -> Iterable[str]:
    """Yield lines with runs of blank ones as a count; in a difference a sign may stand alone."""
    for sign, same in groupby(lines, key=_blank_sign):
        run = list(same)
        if sign is None or len(run) <= _MOST_BLANK:
            yield from run
        else:
            yield f"{sign}⟦{len(run)} blank lines⟧"


def _blank_sign(line: str) -> str | None:
    sign = line.strip()
    return sign if sign in {"", "+", "-"} else None
