"""What varies between traces of one goal, as named parameters.

The same values over the traces are the same parameter wherever they stand, and a value that follows
from another is told through it. How a program is called may be a habit, which stays as most had it;
`otherwise` has who did not. Give it traces without secrets: what is hidden there becomes a
parameter that shows no value.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from prowess.experience.lessons.derived_values import Derivation, derived
from prowess.experience.lessons.parameter_names import (
    Source,
    common_ending,
    common_kind,
    derived_name,
    name_of,
    snake,
)
from prowess.experience.lessons.templates import Entry, ParameterBook, Values, marks_in, usual_value
from prowess.experience.redaction import HIDDEN
from prowess.experience.value_kinds import Kind, ending_of, values_in
from prowess.skills.text import one_line
from prowess.transcripts.deeds import Deed

_MOST_EXAMPLES, _LONGEST_EXAMPLE = 3, 60
_MOST_OF_A_KIND = 4
_NOWHERE = Source(deed=Deed.READ, field="path")
_Use = tuple[int, Derivation]


@dataclass(frozen=True, slots=True, kw_only=True)
class Varying:
    """One field of one step in the traces that have it."""

    values: Values
    source: Source


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
        self._names = self._named()
        self.texts = tuple(self._shown(text) for text in texts)
        self.goals = tuple(self._shown(task) for task in self._goals)
        # For each text, what the traces say that do not say it.
        self.otherwise = tuple(
            {at: self._shown(text) for at, text in one.items()} for one in self._others
        )

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in the order in which the texts use them."""
        return tuple(self._parameter(use) for use in self._names)

    def told(self, trace: int, text: str) -> str:
        """Return another text of one trace with the names of the parameters in it."""
        marked = self._book.marked(trace, text)
        is_known = all((entry, way) in self._names for entry, way, _, _ in marks_in(marked))
        return self._shown(marked) if is_known else text

    def _shown(self, text: str) -> str:
        parts, at = [], 0
        for entry, way, start, end in marks_in(text):
            parts += [text[at:start], "{" + self._names[entry, way] + "}"]
            at = end
        return "".join([*parts, text[at:]])

    def _named(self) -> dict[_Use, str]:
        """Name what is used; what only a task uses follows, so that a goal can be told."""
        named: dict[int, str] = {}
        uses: dict[_Use, str] = {}
        others = (text for one in self._others for text in one.values())
        for text in (*self._marked, *self._goals, *others):
            for number, way, _, _ in marks_in(text):
                if (number, way) in uses:
                    continue
                if number not in named:
                    entry = self._book.entries[number]
                    named[number] = _unique(self._name(entry), [*named.values(), *uses.values()])
                if way is not Derivation.SAME:
                    uses.setdefault((number, Derivation.SAME), named[number])
                wish = derived_name(named[number], way)
                taken = [*named.values(), *uses.values()]
                uses[number, way] = wish if way is Derivation.SAME else _unique(wish, taken)
        return uses

    def _name(self, entry: Entry) -> str:
        if entry.secret:
            return entry.secret
        if entry.is_content:
            return _content_name(entry.sources[0])
        order = sorted(entry.values)
        values = [entry.values[at] for at in order]
        return name_of(values, entry.sources, [self._tasks[at] for at in order])

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
            values = [derived(value)[way] for value in values]
            base = self._names[number, Derivation.SAME]
            about = f"`{base}` {way.value}"
            return Parameter(name=name, about=about, examples=_examples(values), derived_from=base)
        usual = "" if entry.is_asked else usual_value(entry.values)
        return Parameter(
            name=name,
            about=_about(values, name, is_asked=entry.is_asked),
            examples=_examples([usual, *values] if usual else values),
            usual=one_line(usual)[:_LONGEST_EXAMPLE],
            is_asked=entry.is_asked,
            kind=common_ending(values) or common_kind(values).value,
        )


def parametrized(tasks: Sequence[str], fields: Sequence[Varying]) -> Parametrized:
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


def _sow(book: ParameterBook, tasks: Sequence[str], fields: Sequence[Varying]) -> None:
    """Begin with the values that every task names and every trace uses."""
    by_kind: list[dict[tuple[Kind, str], list[str]]] = []
    for task in tasks:
        found: dict[tuple[Kind, str], list[str]] = {}
        for value in values_in(task):
            text = value.text[1:-1] if value.kind is Kind.QUOTED else value.text.lstrip("#")
            ending = ending_of(text) if value.kind is Kind.FILE else ""
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


def _sow_typed(book: ParameterBook, tasks: Sequence[str], fields: Sequence[Varying]) -> None:
    """Begin with what is typed as one text: one value, however many numbers or names it has."""
    typed = (one for one in fields if one.source.deed is Deed.TYPE)
    for one in (one for one in typed if len(one.values) == len(tasks)):
        whole = {at: text.strip() for at, text in one.values.items()}
        if all(_is_named_whole(text, tasks[at]) for at, text in whole.items()):
            book.fill(whole, one.source)


def _is_named_whole(text: str, task: str) -> bool:
    return (" " in text or text.startswith("+")) and HIDDEN not in text and text in task


def _note_sources(book: ParameterBook, text: str, source: Source) -> None:
    """Remember where entries are used: the option before one says what it is called."""
    for number, way, start, end in marks_in(text):
        stands_alone = not re.match(r"[\w./-]", text[end : end + 1])
        if way is Derivation.SAME and stands_alone:
            before = text[max(start - 80, 0) : start]
            noted = Source(
                deed=source.deed,
                field=source.field,
                name=source.name,
                before=before,
                target=source.target,
            )
            book.entries[number].sources.append(noted)


def _unique(name: str, taken: Iterable[str]) -> str:
    known = set(taken)
    if name not in known:
        return name
    return next(f"{name}_{at}" for at in range(2, len(known) + 3) if f"{name}_{at}" not in known)


def _examples(values: Iterable[str]) -> tuple[str, ...]:
    shown = dict.fromkeys(one_line(value)[:_LONGEST_EXAMPLE] for value in values)
    return tuple(shown)[:_MOST_EXAMPLES]


_KINDS: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.URL: "a web address",
        Kind.EMAIL: "an e-mail address",
        Kind.HASH: "a commit",
        Kind.QUOTED: "a text",
        Kind.TEXT: "a text",
    }
)


# Options that are no noun: `--to`.
_NO_NOUNS = frozenset(("to", "from", "in", "out", "of", "for", "with", "at", "by", "as", "on"))


def _about(values: Sequence[str], name: str, *, is_asked: bool) -> str:
    kind, ending = common_kind(values), common_ending(values)
    what = _KINDS.get(kind, f"a {kind.value}")
    if kind is Kind.FILE and ending:
        what = f"a {ending} file"
    words = name.rstrip("0123456789").strip("_").replace("_", " ")
    if words not in what and words not in _NO_NOUNS:
        is_said = words.endswith((kind.value, "text")) or kind is Kind.TEXT
        what = f"the {words}" if is_said else f"the {words}, {what}"
    return f"{what}; the task names it" if is_asked else f"{what}; the task may not name it"


def _content_name(source: Source) -> str:
    if source.deed is Deed.EDIT:
        return "old_text" if source.field == "old" else "new_text"
    if source.field == "command":
        return "script" if source.name.endswith(("-c", "here")) else "command"
    if source.deed is Deed.PATCH:
        return "patch"
    return snake(source.field.rsplit(".", 1)[-1]) or "content"


def _content_about(source: Source) -> str:
    if source.deed is Deed.EDIT:
        return "the text that goes" if source.field == "old" else "the text that comes instead"
    if source.field == "command":
        program = source.name.split(" ", 1)[0]
        return f"a command with {program}" if program.isidentifier() else "a command"
    return {Deed.WRITE: "the whole text of the file", Deed.PATCH: "the changes"}.get(
        source.deed, "a longer text"
    )
