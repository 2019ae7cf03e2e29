"""Three versions of a skill become one: what was there, what was edited here, and what is new.

Edits of different lines are both kept, also where they touch. Where lines alone do not tell, the
structure of Markdown does: keys of the frontmatter and sections below headings are merged each for
itself, wherever they moved. Where both sides changed the same lines there is a conflict, and the
text holds both, ours first: no line of either side is lost.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from itertools import pairwise
from typing import NamedTuple

_HEADING = re.compile(r"#{1,6}\s+\S")
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_KEY = re.compile(r"[A-Za-z_][\w.-]*\s*:")
_RULE = "---"
_PAGES = (".md", ".mdc", ".markdown")
BOTH, OURS, THEIRS = "both", "local", "upstream"

Lines = list[str]


class LineConflict(NamedTuple):
    """Lines that both sides changed, each in its own way."""

    local: tuple[str, ...]
    upstream: tuple[str, ...]


class MergedText(NamedTuple):
    """A text that holds the edits of both sides, and where they met."""

    text: str
    conflicts: tuple[LineConflict, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileConflict:
    """A file on which the two sides do not agree."""

    path: str
    problem: str
    lines: tuple[LineConflict, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedFiles:
    """The files of a skill after a merge."""

    files: Mapping[str, bytes]
    conflicts: tuple[FileConflict, ...] = ()


class _Hunk(NamedTuple):
    """Lines of the base, from and to, and what a side has in their place."""

    start: int
    end: int
    lines: Lines


class _Unit(NamedTuple):
    """A part of a text that is known by its name."""

    key: str
    lines: Lines


def merge_files(
    base: Mapping[str, bytes],
    local: Mapping[str, bytes],
    upstream: Mapping[str, bytes],
    keep: str = BOTH,
) -> MergedFiles:
    """Merge every file of a skill; `keep` says which side a conflict is settled for."""
    files: dict[str, bytes] = {}
    conflicts: list[FileConflict] = []
    for path in sorted({*base, *local, *upstream}):
        versions = base.get(path), local.get(path), upstream.get(path)
        found, conflict = _merge_file(path, versions, keep)
        files.update({name: content for name, content in found.items() if content is not None})
        conflicts += [conflict] if conflict else []
    return MergedFiles(files=files, conflicts=tuple(conflicts))


_Versions = tuple[bytes | None, bytes | None, bytes | None]


def _merge_file(
    path: str, versions: _Versions, keep: str
) -> tuple[dict[str, bytes | None], FileConflict | None]:
    base, local, upstream = versions
    if local in (base, upstream):
        return {path: upstream}, None
    if upstream == base:
        return {path: local}, None
    if local is None or upstream is None:
        problem = (
            "was removed here and changed there"
            if local is None
            else ("was changed here and removed there")
        )
        chosen = {OURS: local, THEIRS: upstream}.get(keep, upstream if local is None else local)
        return {path: chosen}, FileConflict(path=path, problem=problem)
    texts = [_decode(one) for one in (base or b"", local, upstream)]
    if any(text is None for text in texts):
        chosen = upstream if keep == THEIRS else local
        more = {f"{path}.upstream": upstream} if keep == BOTH else {}
        problem = "was changed on both sides and is no text"
        return {path: chosen, **more}, FileConflict(path=path, problem=problem)
    is_page = path.lower().endswith(_PAGES)
    one, two, three = (text or "" for text in texts)
    merged = merge_text(one, two, three, keep=keep, is_page=is_page)
    conflict = (
        FileConflict(path=path, problem="was changed on both sides", lines=merged.conflicts)
        if merged.conflicts
        else None
    )
    return {path: merged.text.encode()}, conflict


def _decode(content: bytes) -> str | None:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def merge_text(
    base: str, local: str, upstream: str, *, keep: str = BOTH, is_page: bool = True
) -> MergedText:
    """Merge a text by its lines, and by its structure where lines do not tell."""
    is_open = not any(text.endswith("\n") for text in (base, local, upstream) if text)
    parts = [_split(text) for text in (base, local, upstream)]
    lines, conflicts = _merge_lines(parts[0], parts[1], parts[2], keep)
    if conflicts and is_page:
        other, fewer = _merge_page(parts[0], parts[1], parts[2], keep)
        if len(fewer) < len(conflicts):
            lines, conflicts = other, fewer
    text = "".join(lines)
    return MergedText(text.removesuffix("\n") if is_open else text, tuple(conflicts))


def _split(text: str) -> Lines:
    lines = text.splitlines(keepends=True)
    # What comes behind a last line must not become a part of it.
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines


_Outcome = tuple[Lines, list[LineConflict]]


def _merge_lines(base: Lines, local: Lines, upstream: Lines, keep: str) -> _Outcome:
    ours, theirs = _hunks(base, local), _hunks(base, upstream)
    found: Lines = []
    conflicts: list[LineConflict] = []
    at = 0
    while ours or theirs:
        if ours and theirs and _meet(ours[0], theirs[0]):
            start, end, mine, other = _take_group(ours, theirs)
            found += base[at:start]
            lines, conflict = _settle(
                _apply(base, start, end, mine), _apply(base, start, end, other), keep
            )
            found += lines
            conflicts += [conflict] if conflict else []
            at = end
            continue
        is_ours = bool(ours) and (not theirs or ours[0][:2] <= theirs[0][:2])
        hunk = (ours if is_ours else theirs).pop(0)
        found += [*base[at : hunk.start], *hunk.lines]
        at = hunk.end
    return [*found, *base[at:]], conflicts


def _hunks(base: Lines, side: Lines) -> list[_Hunk]:
    matcher = SequenceMatcher(None, base, side, autojunk=False)
    return [
        _Hunk(start, end, side[first:last])
        for tag, start, end, first, last in matcher.get_opcodes()
        if tag != "equal"
    ]


def _meet(one: _Hunk, other: _Hunk) -> bool:
    """Return whether two hunks change the same lines, or add at the same place."""
    if one.start == one.end and other.start == other.end:
        return one.start == other.start
    return one.start < other.end and other.start < one.end


def _take_group(
    ours: list[_Hunk], theirs: list[_Hunk]
) -> tuple[int, int, list[_Hunk], list[_Hunk]]:
    """Take all hunks that hang together with the first two."""
    mine, other = [ours.pop(0)], [theirs.pop(0)]
    start = min(mine[0].start, other[0].start)
    end = max(mine[0].end, other[0].end)
    grown = True
    while grown:
        grown = False
        for waiting, taken in ((ours, mine), (theirs, other)):
            while waiting and waiting[0].start < end:
                taken.append(waiting.pop(0))
                end, grown = max(end, taken[-1].end), True
    return start, end, mine, other


def _apply(base: Lines, start: int, end: int, hunks: Sequence[_Hunk]) -> Lines:
    found: Lines = []
    at = start
    for hunk in hunks:
        found += [*base[at : hunk.start], *hunk.lines]
        at = hunk.end
    return [*found, *base[at:end]]


def _settle(local: Lines, upstream: Lines, keep: str) -> tuple[Lines, LineConflict | None]:
    """Return what stands where both sides changed something, and whether they disagree."""
    if local == upstream:
        return local, None
    head = 0
    while head < min(len(local), len(upstream)) and local[head] == upstream[head]:
        head += 1
    tail = 0
    most = min(len(local), len(upstream)) - head
    while tail < most and local[-1 - tail] == upstream[-1 - tail]:
        tail += 1
    mine, theirs = local[head : len(local) - tail], upstream[head : len(upstream) - tail]
    middle = {OURS: mine, THEIRS: theirs}.get(keep, [*mine, *theirs])
    lines = [*local[:head], *middle, *local[len(local) - tail :]]
    return lines, LineConflict(tuple(mine), tuple(theirs))


def _merge_page(base: Lines, local: Lines, upstream: Lines, keep: str) -> _Outcome:
    """Merge a page by its sections, and its frontmatter by its keys."""

    def merge_section(key: str, one: Lines, two: Lines, three: Lines) -> _Outcome:
        if key == _RULE:
            keys = _split_keys(one), _split_keys(two), _split_keys(three)
            return _merge_units(keys, keep, None)
        return _merge_lines(one, two, three, keep)

    sections = _split_sections(base), _split_sections(local), _split_sections(upstream)
    return _merge_units(sections, keep, merge_section)


_Merge = Callable[[str, Lines, Lines, Lines], _Outcome]


def _merge_units(
    versions: tuple[list[_Unit], list[_Unit], list[_Unit]], keep: str, merge: _Merge | None
) -> _Outcome:
    known, mine, theirs = (dict(units) for units in versions)
    found: Lines = []
    conflicts: list[LineConflict] = []
    for key in _order(list(known), list(mine), list(theirs)):
        found_here = known.get(key), mine.get(key), theirs.get(key)
        lines, met = _merge_unit(key, found_here, keep, merge)
        found += lines
        conflicts += met
    return found, conflicts


def _merge_unit(
    key: str,
    versions: tuple[Lines | None, Lines | None, Lines | None],
    keep: str,
    merge: _Merge | None,
) -> _Outcome:
    base, local, upstream = versions
    if local in (base, upstream):
        return upstream or [], []
    if upstream == base:
        return local or [], []
    if local is None or upstream is None:
        left = local or upstream or []
        chosen = {OURS: local, THEIRS: upstream}.get(keep, left) or []
        return chosen, [LineConflict(tuple(local or ()), tuple(upstream or ()))]
    if merge is not None:
        return merge(key, base or [], local, upstream)
    return _merge_lines(base or [], local, upstream, keep)


def _order(base: list[str], local: list[str], upstream: list[str]) -> list[str]:
    """Return all names in the order of the side that changed it, new ones behind a neighbour."""
    ours = [key for key in local if key in base]
    is_moved_here = ours != [key for key in base if key in ours]
    first, second = (local, upstream) if is_moved_here else (upstream, local)
    found = list(first)
    for number, key in enumerate(second):
        if key in found:
            continue
        before = next((one for one in reversed(second[:number]) if one in found), None)
        found.insert(0 if before is None else found.index(before) + 1, key)
    return found


def _split_sections(lines: Lines) -> list[_Unit]:
    """Split a page into its frontmatter, what stands before any heading, and its sections."""
    found: list[_Unit] = []
    rest, head = lines, 0
    if lines and lines[0].rstrip() == _RULE:
        ends = (at for at, line in enumerate(lines[1:], 1) if line.rstrip() == _RULE)
        head = next(ends, -1) + 1
        if head:
            found.append(_Unit(_RULE, lines[:head]))
            rest = lines[head:]
    return found + _name_units(rest, _starts_of_sections(rest))


def _starts_of_sections(lines: Lines) -> list[int]:
    starts, fence = [], ""
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        elif not fence and _HEADING.match(line):
            starts.append(at)
    return starts


def _split_keys(lines: Lines) -> list[_Unit]:
    return _name_units(
        lines,
        [
            at
            for at, line in enumerate(lines)
            if _KEY.match(line) or (at and line.rstrip() == _RULE)
        ],
    )


def _name_units(lines: Lines, starts: list[int]) -> list[_Unit]:
    """Return the parts that begin at each start; two of one name are told apart by their number."""
    edges = [0, *starts, len(lines)]
    seen: dict[str, int] = {}
    found = []
    for first, last in pairwise(edges):
        if first == last:
            continue
        title = lines[first].strip() if first in starts else ""
        name = title.partition(":")[0] if _KEY.match(title) else title
        seen[name] = seen.get(name, 0) + 1
        found.append(_Unit(f"{name}\n{seen[name]}", lines[first:last]))
    return found


def show_difference(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> str:
    """Return what changes from one set of files to another, for a person."""
    rows: list[str] = []
    for path in sorted({*old, *new}):
        before, after = old.get(path), new.get(path)
        if before == after:
            continue
        one, two = _decode(before or b""), _decode(after or b"")
        if one is None or two is None:
            rows.append(f"{path}: other bytes\n")
            continue
        names = (
            path if before is not None else "nothing",
            path if after is not None else "nothing",
        )
        rows += unified_diff(_split(one), _split(two), *names)
    return "".join(rows)
