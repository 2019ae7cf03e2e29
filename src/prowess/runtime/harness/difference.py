"""What changes in a settings file, as lines to read: quick for large files, and without secrets.

Settings hold keys and tokens, and a diff shows the lines around a change: what looks like one is
shown as stars. A very long line is cut to the part that differs.
"""

import difflib
import re
from collections.abc import Iterator, Sequence

from prowess.secrets.mask import hide_secrets

_CONTEXT = 3
_LONG, _AROUND = 300, 60
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def compare_files(path: str, before: bytes | None, after: bytes | None) -> list[str]:
    """Return the lines of a unified difference, without line ends; nothing where none differs."""
    if before == after:
        return []
    old, new = _lines(before), _lines(after)
    skipped, old, new = _trim(old, new)
    found = difflib.unified_diff(
        old,
        new,
        fromfile="/dev/null" if before is None else path,
        tofile="/dev/null" if after is None else path,
        lineterm="",
        n=_CONTEXT,
    )
    lines = [_moved(line, skipped) for line in found]
    if not lines:
        return [f"{path}: only line ends differ"]
    return [_hide(line) for line in _shorten(lines)]


def _lines(content: bytes | None) -> list[str]:
    if content is None:
        return []
    return content.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()


def _trim(old: list[str], new: list[str]) -> tuple[int, list[str], list[str]]:
    """Leave out what is alike at both ends: to compare all of a large file takes minutes."""
    least = min(len(old), len(new))
    start = 0
    while start < least and old[start] == new[start]:
        start += 1
    end = 0
    while end < least - start and old[-1 - end] == new[-1 - end]:
        end += 1
    first, last = max(start - _CONTEXT, 0), max(end - _CONTEXT, 0)
    return first, old[first : len(old) - last], new[first : len(new) - last]


def _moved(line: str, skipped: int) -> str:
    """Count the lines that were left out."""

    def counted(match: re.Match[str]) -> str:
        old, new = int(match[1]) + skipped, int(match[3]) + skipped
        return f"@@ -{old}{match[2] or ''} +{new}{match[4] or ''} @@"

    return _HUNK.sub(counted, line) if line.startswith("@@") else line


def _shorten(lines: Sequence[str]) -> Iterator[str]:
    removed = [line[1:] for line in lines[2:] if line.startswith("-")]
    added = [line[1:] for line in lines[2:] if line.startswith("+")]
    if len(removed) == len(added) == 1 and max(len(removed[0]), len(added[0])) > _LONG:
        start, end = _alike(removed[0], added[0])
        for line in lines:
            yield line[0] + _part(line[1:], start, end) if len(line) > _LONG else line
        return
    for line in lines:
        yield line if len(line) <= _LONG else line[:_LONG] + "…"


def _alike(old: str, new: str) -> tuple[int, int]:
    """Return how many characters are alike at the beginning and at the end."""
    least = min(len(old), len(new))
    start = next((at for at in range(least) if old[at] != new[at]), least)
    most = least - start
    end = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    return start, end


def _part(line: str, start: int, end: int) -> str:
    first, last = max(start - _AROUND, 0), max(len(line) - end + _AROUND, 0)
    return ("…" if first else "") + line[first:last] + ("…" if last < len(line) else "")


def _hide(line: str) -> str:
    return line[:1] + hide_secrets(line[1:]).text
