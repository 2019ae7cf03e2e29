"""Texts of several traces made into one text with marks in it, and the parameters found so far.

A mark names an entry and how its value is used (see `Derivation`). A text becomes marked by looking
for values that are known already, as words of their own; what still differs then is known under
another form, a habit in how a program is called, or a new entry. Texts are compared word by word: a
gap is one word wherever words stand for themselves, and a run of words inside quotes or in prose. A
habit stays as most had it, and a command is never put together from the habits of several traces.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import NamedTuple

from prowess.experience.commands import is_filtered, read_ending, strip_ending, strip_filters
from prowess.experience.lessons.moves import MARK, MARK_END, TOO_LONG
from prowess.experience.lessons.parameter_names import (
    Derivation,
    ValueSource,
    derive_values,
    make_snake_case,
    name_secret,
)
from prowess.experience.redaction import HIDDEN
from prowess.secrets.credentials import STARS
from prowess.transcripts.traces import Deed

_SHORTEST = 2


def insert_marks(text: str, marks: Mapping[str, str]) -> str:
    """Put marks in place of the texts that have one; of several at one place the longest counts."""
    hits = [
        (start, -len(wanted), wanted)
        for wanted in marks
        if wanted in text
        for start in find_places(wanted, text)
    ]
    parts, done = [], 0
    for start, _, wanted in sorted(hits):
        if start >= done:
            parts += [text[done:start], marks[wanted]]
            done = start + len(wanted)
    return "".join([*parts, text[done:]])


def find_places(wanted: str, text: str) -> Iterator[int]:
    """Yield where a text stands as a word of its own; a version may have its `v` before it."""
    start = text.find(wanted)
    while start >= 0:
        if _is_word(text, start, start + len(wanted)):
            yield start
        start = text.find(wanted, start + 1)


def _is_word(text: str, start: int, end: int) -> bool:
    if _is_letter(text[end : end + 1]):
        return False
    first, before = text[start], text[start - 1 : start] if start else ""
    if not first.isalnum() or not _is_letter(before):
        return True
    begins_word = not re.match(r"\w", text[start - 2 : start - 1] if start > 1 else "")
    return first.isdigit() and before == "v" and begins_word


def _is_letter(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()


def is_telling(text: str) -> bool:
    """Return whether a text can be looked for: one letter is only a word in some scripts."""
    return len(text) >= _SHORTEST or (bool(text) and not text.isascii())


def stands_in(value: str, task: str) -> bool:
    """Return whether a task names a value, or the file at the end of a path."""
    names = {value.casefold(), value.rstrip("/").rsplit("/", 1)[-1].casefold()}
    return any(next(find_places(name, task), -1) >= 0 for name in names if name)


def find_shared_ends(values: Sequence[str]) -> tuple[str, str]:
    """Return how all values begin and end, as far as that is whole words."""
    before = _find_shared_begin(values)
    after = _find_shared_begin([value[len(before) :][::-1] for value in values])[::-1]
    before = re.sub(r"[A-Za-z0-9]+\Z", "", before)
    return before, re.sub(r"\A[A-Za-z0-9]+", "", after)


def _find_shared_begin(values: Sequence[str]) -> str:
    first, last = min(values), max(values)
    ends = (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(ends, len(first))]


_MOST_WORDS = 400
# So much of a text must be shared, else the texts are simply different ones.
_SHARED, _SAME_WORDS = 0.3, 0.5
_LONG = 24
_TOKEN = re.compile(
    rf"\s*(?:{MARK}[^{MARK_END}]*{MARK_END}"
    rf"|[\w.+-]++@[\w-]+(?:\.[\w-]+)+"
    rf"|[a-z][a-z0-9+]*://[^\s\"'`{MARK}]+"
    rf"|[^\s\"'`=,;|&<>(){{}}\[\]:@{MARK}]+|\S)"
)
_QUOTES = frozenset("\"'")


class TextPiece(NamedTuple):
    """A part that all texts share, or the values of a gap in the order of the texts."""

    shared: str
    values: tuple[str, ...] = ()


def split_texts(texts: Sequence[str], *, is_prose: bool) -> tuple[TextPiece, ...] | None:
    """Return what texts share and what differs, in order; None where they are different texts."""
    rows = [[_space(hit[0]) for hit in _TOKEN.finditer(text.strip())] for text in texts]
    if max(len(row) for row in rows) > _MOST_WORDS:
        return None
    found = tuple(_pieces(rows, is_prose=is_prose))
    shared = sum(len(piece.shared.strip()) for piece in found)
    mean = sum(len(text) for text in texts) / len(texts)
    if len(found) > 1 and mean > _LONG and shared < _SHARED * mean:
        # Of a command the words count, however long the paths are that it is given.
        words = sum(bool(piece.shared.strip()) for piece in found)
        is_same = not is_prose and len(rows) * words >= _SAME_WORDS * sum(map(len, rows))
        return found if is_same else None
    return found


def _space(token: str) -> str:
    bare = token.lstrip()
    before = token[: len(token) - len(bare)]
    if "\n" in before:
        # How deep a line of code stands belongs to it.
        return before[before.rindex("\n") :] + bare
    return f" {bare}" if before else bare


def _pieces(rows: Sequence[list[str]], *, is_prose: bool) -> Iterator[TextPiece]:
    quote = ""
    pending: list[tuple[str, ...]] = []
    for columns in _runs(rows):
        is_gap = len(set(columns)) > 1
        if is_gap:
            pending.append(columns)
            continue
        yield from _gaps(pending, as_one=is_prose or bool(quote))
        pending = []
        token = columns[0].strip()
        if token in _QUOTES:
            quote = "" if quote == token else quote or token
        yield TextPiece(columns[0])
    yield from _gaps(pending, as_one=is_prose or bool(quote))


def _gaps(pending: Sequence[tuple[str, ...]], *, as_one: bool) -> Iterator[TextPiece]:
    if not pending:
        return
    gaps = [tuple("".join(row) for row in zip(*pending, strict=True))] if as_one else pending
    for values in gaps:
        before = _find_blank([value for value in values if value])
        if before:
            yield TextPiece(before)
        yield TextPiece("", tuple(value.removeprefix(before) for value in values))


def _find_blank(values: Sequence[str]) -> str:
    """Return the blank that stands before all of the values, or before one of several words."""
    for blank in (" ", "\n"):
        if all(value.startswith(blank) for value in values):
            return blank
    return " " if any(value.startswith(" ") for value in values) else ""


def _runs(rows: Sequence[list[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the tokens that lie side by side; a run that does not fit is joined to one."""
    if len({len(row) for row in rows}) == 1:
        columns = list(zip(*rows, strict=True))
        same = sum(len(set(column)) == 1 for column in columns)
        if 2 * same >= len(columns) or len(columns) == 1:
            yield from columns
            return
    for segment in _segments(rows):
        if len({len(part) for part in segment}) == 1:
            yield from zip(*segment, strict=True)
        elif len({len(part) - _options_before(part) for part in segment}) == 1:
            # An option that some have is no part of what follows it.
            yield tuple("".join(part[: _options_before(part)]) for part in segment)
            yield from zip(*(part[_options_before(part) :] for part in segment), strict=True)
        else:
            yield tuple("".join(part) for part in segment)


def _options_before(part: Sequence[str]) -> int:
    others = (at for at, token in enumerate(part) if not token.strip().startswith("-"))
    return next(others, len(part))


def _segments(rows: Sequence[list[str]]) -> Iterator[list[list[str]]]:
    """Cut the rows where all of them say the same."""
    middle = sorted(range(len(rows)), key=lambda at: (len(rows[at]), at))[len(rows) // 2]
    places = [_places(rows[middle], row) for row in rows]
    anchors = [at for at in range(len(rows[middle])) if all(at in found for found in places)]
    done = [0] * len(rows)
    for anchor in anchors:
        here = [found[anchor] for found in places]
        if any(end > start for start, end in zip(done, here, strict=True)):
            yield [row[a:b] for row, a, b in zip(rows, done, here, strict=True)]
        yield [[rows[middle][anchor]]] * len(rows)
        done = [place + 1 for place in here]
    if any(start < len(row) for start, row in zip(done, rows, strict=True)):
        yield [row[start:] for start, row in zip(done, rows, strict=True)]


def _places(reference: list[str], row: list[str]) -> dict[int, int]:
    blocks = SequenceMatcher(None, reference, row, autojunk=False).get_matching_blocks()
    return {block.a + at: block.b + at for block in blocks for at in range(block.size)}


# By the number of the trace.
Values = Mapping[int, str]

_MARK = re.compile(rf"{MARK}(?P<entry>\d+)\.(?P<way>\w+){MARK_END}")
_SECRET = re.compile(
    rf"(?P<name>[A-Za-z_][\w-]{{0,40}})?(?P<sign>[\"'\s:=]*)(?:{HIDDEN}|{re.escape(STARS)})"
)
_SECRET_NAMES: Mapping[str, str] = MappingProxyType(
    {"bearer": "token", "basic": "token", "authorization": "token", "auth": "token"}
)
# Nobody can give more than that.
_MOST_ENTRIES = 60
# A longer value, or one of several lines, is content: told of and not quoted.
_CONTENT = 200
# From here on most have the same.
MOST, _ASKED = 0.6, 0.6
# What stands before the name of a program.
_BEFORE_PROGRAM = re.compile(r"(?:\A|[|;&(]|(?:\A|\s)(?:sudo|env|time|nohup|exec))\s*\Z")
_NUMBERED = re.compile(r"(-[A-Za-z]*)(\d+)")
# A number that is written in groups is one value.
_PHONE = re.compile(r"\+?\d[\d ()./-]{4,24}\d")
_FEWEST_TRACES = 3
_MOST_APART = 2
_HOST = 2
_LONG_FIELDS = frozenset(("content", "old", "new", "command", "script"))
# Where each word stands for itself; elsewhere words that differ side by side are one value.
_WORD_FIELDS = frozenset(("command", "path"))


@dataclass(slots=True, kw_only=True)
class ParameterEntry:
    """One parameter, by its value in each trace."""

    values: dict[int, str] = field(default_factory=dict)
    sources: list[ValueSource] = field(default_factory=list)
    is_asked: bool = False
    is_content: bool = False
    # The name of a secret, whose values are not known here.
    secret: str = ""

    # What follows from the values, each way that says something new.
    ways: dict[Derivation, dict[int, str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.is_content or self.secret:
            return
        forms = {at: derive_values(value) for at, value in self.values.items()}
        for way in Derivation:
            texts = {at: form.get(way, "") for at, form in forms.items()}
            if all(texts.values()) and len(set(texts.values())) > 1:
                self.ways[way] = texts


class ParameterBook:
    """Makes the texts of several traces into one, and remembers what varied."""

    def __init__(self, tasks: Values) -> None:
        self.entries: list[ParameterEntry] = []
        # While it is set, only what a task names becomes an entry.
        self.only_asked = False
        self._tasks = {at: task.casefold() for at, task in tasks.items()}
        # By trace: of how many entries, and the texts that stand for them there.
        self._known_marks: dict[int, tuple[int, dict[str, str]]] = {}

    def one_text(self, values: Values, source: ValueSource) -> str:
        """Return what the texts of several traces say, with marks for what varies."""
        hidden = {at: self._without_secrets(text, source) for at, text in values.items()}
        marked = {at: self.marked(at, text) for at, text in hidden.items()}
        if len(set(marked.values())) == 1:
            return next(iter(marked.values()))
        if any(TOO_LONG in text for text in marked.values()):
            return self._content(hidden, source)
        if source.deed is Deed.TYPE and all(map(_PHONE.fullmatch, hidden.values())):
            return self.fill(hidden, source)
        done = self._join_pieces(marked, source, hidden)
        if source.field in _WORD_FIELDS and len(self._find_others(done, hidden)) == len(hidden):
            return _find_most_common({at: self.marked(at, text) for at, text in hidden.items()})
        return done

    def otherwise(self, told: str, values: Values, source: ValueSource) -> dict[int, str]:
        """Return the texts, with marks, of the traces that did not have what all are told by."""
        hidden = {at: self._without_secrets(text, source) for at, text in values.items()}
        return self._find_others(told, hidden)

    def _find_others(self, told: str, hidden: Values) -> dict[int, str]:
        return {
            at: self.marked(at, text)
            for at, text in hidden.items()
            if _reduce(self._expand(at, told)) != _reduce(self._expand(at, text))
        }

    def _join_pieces(self, marked: Values, source: ValueSource, hidden: Values) -> str:
        order = sorted(marked)
        is_prose = source.field not in _WORD_FIELDS
        pieces = split_texts([marked[at] for at in order], is_prose=is_prose)
        if pieces is None:
            is_long = source.field in _LONG_FIELDS
            return self._content(hidden, source) if is_long else self.fill(hidden, source)
        done = ""
        for piece in pieces:
            if piece.values:
                raw = {
                    at: self._expand(at, text) for at, text in zip(order, piece.values, strict=True)
                }
                filled = self.fill(raw, replace(source, before=done[-80:]))
                done = done + filled if filled else done.removesuffix(" ")
            else:
                done += piece.shared
        return done

    def marked(self, trace: int, text: str) -> str:
        """Return a text of one trace with marks in place of the values that are known."""
        marks = self._marks(trace)
        if not marks or TOO_LONG in text:
            return text
        parts, at = [], 0
        # What is marked already stays as it is.
        for hit in _MARK.finditer(text):
            parts += [insert_marks(text[at : hit.start()], marks), hit[0]]
            at = hit.end()
        return "".join([*parts, insert_marks(text[at:], marks)])

    def fill(self, values: Values, source: ValueSource) -> str:
        """Return what stands in a gap: a mark, a habit, or nothing where most leave it out."""
        present = {at: value for at, value in values.items() if value}
        if 2 * len(present) <= len(values):
            return ""
        if len(set(present.values())) == 1:
            return next(iter(present.values()))
        if any(MARK in value for value in present.values()):
            return _find_most_common(present)
        if numbered := _split_number(present, source):
            option, numbers = numbered
            return option + self.fill(numbers, replace(source, before=f"{option} "))
        if all(value.endswith("/") for value in present.values()):
            inside = replace(source, is_folder=True)
            return self.fill({at: value[:-1] for at, value in present.items()}, inside) + "/"
        return self._explain_values(present) or self._add(present, source)

    def _add(self, values: dict[int, str], source: ValueSource) -> str:
        if any(len(value) > _CONTENT or "\n" in value for value in values.values()):
            return self._content(values, source)
        is_asked = self._is_asked(values)
        if not is_asked and (stems := _stems(values)) and self._is_asked(stems):
            # A task that names a component means all the files of that name.
            return f"{self.fill(stems, source)}.{read_ending(next(iter(values.values())))}"
        if not is_asked and (around := self._find_asked(values)):
            before, cores, after = around
            return f"{before}{self.fill(cores, source)}{after}"
        is_full = len(self.entries) >= _MOST_ENTRIES
        if is_full or (not is_asked and (self.only_asked or _is_habit(values, source))):
            return _find_most_common(values)
        apart = self._path(values, source)
        if apart:
            return apart
        self.entries.append(
            ParameterEntry(values=dict(values), sources=[source], is_asked=is_asked)
        )
        return write_mark(len(self.entries) - 1)

    def _path(self, values: Values, source: ValueSource) -> str:
        """Return a path told by its parts, where it differs in a few; folders in common stay."""
        parts = {at: value.split("/") for at, value in values.items()}
        lengths = {len(one) for one in parts.values()}
        if min(lengths) <= 1 or any(" " in value for value in values.values()):
            return ""
        rows = list(zip(*parts.values(), strict=False))
        apart = [at for at, row in enumerate(rows) if len(set(row)) > 1]
        is_other_host = "://" in next(iter(values.values())) and _HOST in apart
        if len(lengths) > 1 or len(apart) > _MOST_APART or is_other_host:
            begin = apart[0] if apart else min(lengths) - 1
            if not begin or is_other_host:
                return ""
            common = "/".join(next(iter(parts.values()))[:begin])
            rest = {at: "/".join(one[begin:]) for at, one in parts.items()}
            return f"{common}/{self.fill(rest, source)}"
        if len(apart) == len(rows):
            return ""
        told = []
        for at, row in enumerate(rows):
            here = dict(zip(parts, row, strict=True))
            inside = replace(source, before="/", is_folder=at + 1 < len(rows))
            told.append(self.fill(here, inside) if at in apart else row[0])
        return "/".join(told)

    def _find_asked(self, values: Values) -> tuple[str, Values, str] | None:
        """Return what values share around a part that the tasks name: `ann` of `ann@x.org`."""
        before, after = find_shared_ends(list(values.values()))
        if not (before or after):
            return None
        cores = {at: value[len(before) : len(value) - len(after)] for at, value in values.items()}
        return (before, cores, after) if all(cores.values()) and self._is_asked(cores) else None

    def _content(self, values: Values, source: ValueSource) -> str:
        for at, entry in enumerate(self.entries):
            if entry.is_content and entry.values == values:
                return write_mark(at)
        if self.only_asked:
            return ""
        self.entries.append(ParameterEntry(values=dict(values), sources=[source], is_content=True))
        return write_mark(len(self.entries) - 1)

    def _explain_values(self, values: Values) -> str:
        """Return how values follow from an entry, the same way in every trace."""
        for exactly in (True, False):
            for number, entry in enumerate(self.entries):
                for way, texts in entry.ways.items():
                    if told := _follows(values, texts, exactly=exactly):
                        before, after = told
                        return f"{before}{write_mark(number, way)}{after}"
        return ""

    def _is_asked(self, values: Values) -> bool:
        named = sum(stands_in(value, self._tasks.get(at, "")) for at, value in values.items())
        return named >= _ASKED * len(values)

    def _without_secrets(self, text: str, source: ValueSource) -> str:
        if HIDDEN not in text and STARS not in text:
            return text

        def put(hit: re.Match[str]) -> str:
            said = make_snake_case(hit["name"] or "") if hit["sign"] else ""
            name = _SECRET_NAMES.get(said, said) or name_secret(source)
            return f"{hit['name'] or ''}{hit['sign']}{write_mark(self._secret(name))}"

        return _SECRET.sub(put, text)

    def _secret(self, name: str) -> int:
        for at, entry in enumerate(self.entries):
            if entry.secret == name:
                return at
        self.entries.append(ParameterEntry(secret=name))
        return len(self.entries) - 1

    def _expand(self, trace: int, text: str) -> str:
        def value(hit: re.Match[str]) -> str:
            entry = self.entries[int(hit["entry"])]
            held = entry.values.get(trace)
            return hit[0] if held is None else derive_values(held)[Derivation[hit["way"]]]

        return _MARK.sub(value, text)

    def _marks(self, trace: int) -> Mapping[str, str]:
        """Return the mark of each text that stands for an entry in a trace."""
        known = self._known_marks.get(trace)
        if known is None or known[0] != len(self.entries):
            known = (len(self.entries), dict(self._candidates(trace)))
            self._known_marks[trace] = known
        return known[1]

    def _candidates(self, trace: int) -> Iterator[tuple[str, str]]:
        """Yield each text that stands for an entry in a trace; the last one of a text counts."""
        found = []
        for number, entry in enumerate(self.entries):
            for way, texts in entry.ways.items():
                text = texts.get(trace, "")
                if is_telling(text):
                    found.append((text, write_mark(number, way)))
        yield from reversed(found)


def write_mark(number: int, way: Derivation = Derivation.SAME) -> str:
    """Return the mark of an entry, used in some way."""
    return f"{MARK}{number}.{way.name}{MARK_END}"


def find_marks(text: str) -> Iterator[tuple[int, Derivation, int, int]]:
    """Yield the marks of a text: entry, use, and where each begins and ends."""
    for hit in _MARK.finditer(text):
        yield int(hit["entry"]), Derivation[hit["way"]], hit.start(), hit.end()


def _follows(values: Values, texts: Values, *, exactly: bool) -> tuple[str, str] | None:
    """Return what stands before and behind an entry's text in every one of `values`."""
    around: set[tuple[str, str]] = set()
    if not exactly and not any(map(is_telling, texts.values())):
        return None
    for at, value in values.items():
        text = texts.get(at, "")
        if not text or text not in value or (exactly and value != text):
            return None
        start = next(find_places(text, value), -1)
        if start < 0:
            return None
        around.add((value[:start], value[start + len(text) :]))
    return around.pop() if len(around) == 1 else None


def find_usual_value(values: Values) -> str:
    """Return the value that most traces have; empty where none is."""
    ((value, count),) = Counter(values.values()).most_common(1)
    return value if count >= max(MOST * len(values), 2) else ""


def _is_habit(values: Values, source: ValueSource) -> bool:
    """Return whether what varies is how a program is called, and no input of the task.

    Whatever a program is given is an input, however many traces gave it the same.
    """
    if source.field != "command":
        return False
    if all(text.startswith("-") for text in values.values()):
        # An option that is another one each time is chosen for the task.
        return len(values) < _FEWEST_TRACES or len(set(values.values())) < len(values)
    if _BEFORE_PROGRAM.search(source.before):
        return bool(find_usual_value(values))
    return is_filtered(source.before)


def _split_number(values: Values, source: ValueSource) -> tuple[str, Values] | None:
    """Return an option and the numbers that it is given without a space: `-j` of `-j4`."""
    hits = {at: _NUMBERED.fullmatch(value) for at, value in values.items()}
    found = {at: hit for at, hit in hits.items() if hit}
    options = {hit[1] for hit in found.values()}
    if source.field != "command" or len(found) < len(values) or len(options) > 1:
        return None
    return options.pop(), {at: hit[2] for at, hit in found.items()}


def _reduce(text: str) -> str:
    return strip_filters(" ".join(text.split()))


def _stems(values: Values) -> Values:
    """Return the names of files without the ending that they share."""
    endings = {read_ending(value) for value in values.values()}
    if len(endings) > 1 or "" in endings or any("/" in value for value in values.values()):
        return {}
    return {at: strip_ending(value) for at, value in values.items()}


def _find_most_common(values: Values) -> str:
    counts = Counter(values.values())
    return min(counts, key=lambda text: (-counts[text], len(text), text))
