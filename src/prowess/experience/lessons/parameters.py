"""What varies between traces of one goal, as named parameters.

The same values over the traces are the same parameter wherever they stand, and a value that follows
from another is told through it. How a program is called may be a habit, which stays as most had it;
`otherwise` has who did not. Give it traces without secrets: what is hidden there becomes a
parameter that shows no value.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from prowess.data import read_word_group
from prowess.experience.commands import ValueKind, find_values, read_ending
from prowess.experience.lessons.parameter_names import (
    Derivation,
    ValueSource,
    derive_values,
    find_common_ending,
    find_common_kind,
    make_snake_case,
    name_derived,
    name_parameter,
)
from prowess.experience.lessons.templates import (
    ParameterBook,
    ParameterEntry,
    Values,
    find_marks,
    find_usual_value,
)
from prowess.experience.redaction import HIDDEN
from prowess.skills.text import one_line
from prowess.transcripts.traces import Deed

_MOST_EXAMPLES, _LONGEST_EXAMPLE = 3, 60
_MOST_OF_A_KIND = 4
_NOWHERE = ValueSource(deed=Deed.READ, field="path")
_Use = tuple[int, Derivation]
_WORD = re.compile(r"[^\W\d_]\w{2,40}")


_words = partial(read_word_group, "experience/lessons/words.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class VaryingField:
    """One field of one step in the traces that have it."""

    values: Values
    source: ValueSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """What one has to know before the procedure can be followed."""

    name: str
    about: str
    examples: tuple[str, ...] = ()
    # The parameter that it follows from; empty where it is given.
    derived_from: str = ""
    # Whether the tasks name it.
    is_asked: bool = False
    is_secret: bool = False
    # Whether it is a whole text that was another one in each run.
    is_content: bool = False
    # The ending of the file, or the kind of thing.
    kind: str = ""
    # What most runs had, where the tasks do not name it; the first example then.
    usual: str = ""


class Parametrized:
    """Texts with names in place of what varies, and what the names stand for."""

    def __init__(
        self,
        book: ParameterBook,
        tasks: Sequence[str],
        texts: Sequence[str],
        others: Sequence[Mapping[int, str]] = (),
    ) -> None:
        self._book = book
        self._tasks = tasks
        self._marked = tuple(texts)
        self._others = tuple(others)
        self._goals = tuple(book.marked(at, task) for at, task in enumerate(tasks))
        self._names = self._name_uses()
        self.texts = tuple(self._show(text) for text in texts)
        self.goals = tuple(self._show(task) for task in self._goals)
        # For each text, what the traces say that do not say it.
        self.otherwise = tuple(
            {at: self._show(text) for at, text in one.items()} for one in self._others
        )

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in the order in which the texts use them."""
        return tuple(self._parameter(use) for use in self._names)

    def told(self, trace: int, text: str) -> str:
        """Return another text of one trace with the names of the parameters in it."""
        marked = self._book.marked(trace, text)
        is_known = all((entry, way) in self._names for entry, way, _, _ in find_marks(marked))
        return self._show(marked) if is_known else text

    def _show(self, text: str) -> str:
        parts, at = [], 0
        for entry, way, start, end in find_marks(text):
            parts += [text[at:start], "{" + self._names[entry, way] + "}"]
            at = end
        return "".join([*parts, text[at:]])

    def _name_uses(self) -> dict[_Use, str]:
        """Name what is used; what only a task uses follows, so that a goal can be told."""
        named: dict[int, str] = {}
        uses: dict[_Use, str] = {}
        others = (text for one in self._others for text in one.values())
        for text in (*self._marked, *self._goals, *others):
            for number, way, _, _ in find_marks(text):
                if (number, way) in uses:
                    continue
                if number not in named:
                    entry = self._book.entries[number]
                    named[number] = _number(self._name(entry), [*named.values(), *uses.values()])
                if way is not Derivation.SAME:
                    uses.setdefault((number, Derivation.SAME), named[number])
                wish = name_derived(named[number], way)
                taken = [*named.values(), *uses.values()]
                uses[number, way] = wish if way is Derivation.SAME else _number(wish, taken)
        return uses

    def _name(self, entry: ParameterEntry) -> str:
        if entry.secret:
            return entry.secret
        if entry.is_content:
            source = entry.sources[0]
            if source.deed is Deed.EDIT:
                return "old_text" if source.field == "old" else "new_text"
            if source.field == "command":
                return "script" if source.name.endswith(("-c", "here")) else "command"
            if source.deed is Deed.PATCH:
                return "patch"
            return make_snake_case(source.field.rsplit(".", 1)[-1]) or "content"
        order = sorted(entry.values)
        values = [entry.values[at] for at in order]
        return name_parameter(values, entry.sources, [self._tasks[at] for at in order])

    def _parameter(self, use: _Use) -> Parameter:
        number, way = use
        entry, name = self._book.entries[number], self._names[use]
        if entry.secret:
            about = "a secret: ask the person for it, and write it down nowhere"
            return Parameter(name=name, about=about, is_secret=True, kind="secret")
        if entry.is_content:
            about = f"{_content_about(entry.sources[0])}; it was another one in each run"
            return Parameter(name=name, about=about, is_content=True, kind="content")
        values = [entry.values[at] for at in sorted(entry.values)]
        if way is not Derivation.SAME:
            values = [derive_values(value)[way] for value in values]
            base = self._names[number, Derivation.SAME]
            about = f"`{base}` {way.value}"
            return Parameter(name=name, about=about, examples=_examples(values), derived_from=base)
        usual = "" if entry.is_asked else find_usual_value(entry.values)
        return Parameter(
            name=name,
            about=_describe(values, name, is_asked=entry.is_asked),
            examples=_examples([usual, *values] if usual else values),
            usual=one_line(usual)[:_LONGEST_EXAMPLE],
            is_asked=entry.is_asked,
            kind=find_common_ending(values) or find_common_kind(values).value,
        )


def find_parameters(tasks: Sequence[str], fields: Sequence[VaryingField]) -> Parametrized:
    """Return each field as one text with parameters; a trace is named by the place of its task."""
    book = ParameterBook(dict(enumerate(tasks)))
    _sow(book, tasks, fields)
    book.only_asked = True
    for one in fields:
        book.one_text(one.values, one.source)
    book.only_asked = False
    for one in fields:
        book.one_text(one.values, one.source)
    # Once more: what was found last may stand in what was read first.
    texts = [book.one_text(one.values, one.source) for one in fields]
    others = [
        book.otherwise(text, one.values, one.source) if one.source.field == "command" else {}
        for text, one in zip(texts, fields, strict=True)
    ]
    for text, one in zip(texts, fields, strict=True):
        _note_sources(book, text, one.source)
    return Parametrized(book, tasks, texts, others)


def _sow(book: ParameterBook, tasks: Sequence[str], fields: Sequence[VaryingField]) -> None:
    """Begin with the values that every task names and every trace uses."""
    by_kind: list[dict[tuple[ValueKind, str], list[str]]] = []
    for task in tasks:
        found: dict[tuple[ValueKind, str], list[str]] = {}
        for value in find_values(task):
            text = value.text[1:-1] if value.kind is ValueKind.QUOTED else value.text.lstrip("#")
            ending = read_ending(text) if value.kind is ValueKind.FILE else ""
            same = found.setdefault((value.kind, ending), [])
            same.extend([text] if text not in same else [])
        by_kind.append(found)
    _sow_typed(book, tasks, fields)
    used = ["\n".join(one.values.get(at, "") for one in fields) for at in range(len(tasks))]
    for key in sorted(set().union(*by_kind)) if by_kind else []:
        rows = [found.get(key, []) for found in by_kind]
        counts = {len(row) for row in rows}
        if len(counts) > 1 or not 0 < max(counts) <= _MOST_OF_A_KIND:
            continue
        for column in zip(*rows, strict=True):
            values = dict(enumerate(column))
            tails = (value.rstrip("/").rsplit("/", 1)[-1] for value in column)
            if all(tail in text for tail, text in zip(tails, used, strict=True)):
                book.fill(values, _NOWHERE)
    _sow_words(book, tasks, used)


def _sow_words(book: ParameterBook, tasks: Sequence[str], used: Sequence[str]) -> None:
    """Begin with a word that each task has for itself and that only its own run used."""
    known = {value for entry in book.entries for value in entry.values.values()}
    rows = []
    for at, task in enumerate(tasks):
        others = {
            word for place, text in enumerate(used) if place != at for word in _WORD.findall(text)
        }
        own = set(_WORD.findall(used[at])) - others - known
        rows.append(list(dict.fromkeys(word for word in _WORD.findall(task) if word in own)))
    if all(len(row) == 1 for row in rows):
        book.fill({at: row[0] for at, row in enumerate(rows)}, _NOWHERE)


def _sow_typed(book: ParameterBook, tasks: Sequence[str], fields: Sequence[VaryingField]) -> None:
    """Begin with what is typed as one text: one value, however many numbers or names it has."""
    typed = (one for one in fields if one.source.deed is Deed.TYPE)
    for one in (one for one in typed if len(one.values) == len(tasks)):
        whole = {at: text.strip() for at, text in one.values.items()}
        if all(_is_named_whole(text, tasks[at]) for at, text in whole.items()):
            book.fill(whole, one.source)


def _is_named_whole(text: str, task: str) -> bool:
    return (" " in text or text.startswith("+")) and HIDDEN not in text and text in task


def _note_sources(book: ParameterBook, text: str, source: ValueSource) -> None:
    """Remember where entries are used: the option before one says what it is called."""
    for number, way, start, end in find_marks(text):
        stands_alone = not re.match(r"[\w./-]", text[end : end + 1])
        if way is Derivation.SAME and stands_alone:
            noted = replace(source, before=text[max(start - 80, 0) : start])
            book.entries[number].sources.append(noted)


def _number(name: str, taken: Iterable[str]) -> str:
    known = set(taken)
    if name not in known:
        return name
    return next(f"{name}_{at}" for at in range(2, len(known) + 3) if f"{name}_{at}" not in known)


def _examples(values: Iterable[str]) -> tuple[str, ...]:
    shown = dict.fromkeys(one_line(value)[:_LONGEST_EXAMPLE] for value in values)
    return tuple(shown)[:_MOST_EXAMPLES]


_KINDS: Mapping[ValueKind, str] = MappingProxyType(
    {
        ValueKind.URL: "a web address",
        ValueKind.EMAIL: "an e-mail address",
        ValueKind.HASH: "a commit",
        ValueKind.QUOTED: "a text",
        ValueKind.TEXT: "a text",
    }
)


def _describe(values: Sequence[str], name: str, *, is_asked: bool) -> str:
    kind, ending = find_common_kind(values), find_common_ending(values)
    what = _KINDS.get(kind, f"a {kind.value}")
    if kind is ValueKind.FILE and ending:
        what = f"a {ending} file"
    words = name.rstrip("0123456789").strip("_").replace("_", " ")
    if words not in what and words not in _words("no_nouns"):
        is_said = words.endswith((kind.value, "text")) or kind is ValueKind.TEXT
        what = f"the {words}" if is_said else f"the {words}, {what}"
    return f"{what}; the task names it" if is_asked else f"{what}; the task may not name it"


def _content_about(source: ValueSource) -> str:
    if source.deed is Deed.EDIT:
        return "the text that goes" if source.field == "old" else "the text that comes instead"
    if source.field == "command":
        program = source.name.split(" ", 1)[0]
        return f"a command with {program}" if program.isidentifier() else "a command"
    return {Deed.WRITE: "the whole text of the file", Deed.PATCH: "the changes"}.get(
        source.deed, "a longer text"
    )
