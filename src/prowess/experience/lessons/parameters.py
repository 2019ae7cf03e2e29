"""What varies between traces of one goal, as named parameters, and the goal in plain words.

The same values over the traces are the same parameter wherever they stand, and a value that follows
from another is told through it. How a program is called may be a habit, which stays as most had it;
`otherwise` has who did not. Give it traces without secrets: what is hidden there becomes a
parameter that shows no value. The words of a goal are a person's own, so whatever has a meaning in
Markdown or HTML is taken out; one in a script that a name cannot hold is told apart by a hash.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

from prowess.data import read_word_group
from prowess.experience.lessons.orders import escape_placeholders
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
from prowess.experience.values import ValueKind, find_values, read_ending
from prowess.language.packs import join_phrases
from prowess.skills.parse import MAX_NAME
from prowess.skills.text import one_line
from prowess.transcripts.traces import Deed

_MOST_EXAMPLES, _LONGEST_EXAMPLE = 3, 60
_MOST_OF_A_KIND = 4
_NOWHERE = ValueSource(deed=Deed.READ, field="path")
_Use = tuple[int, Derivation]


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
        is_known = all((entry, way) in self._names for entry, way, _, _ in find_marks(marked))
        return self._shown(marked) if is_known else text

    def _shown(self, text: str) -> str:
        parts, at = [], 0
        for entry, way, start, end in find_marks(text):
            parts += [text[at:start], "{" + self._names[entry, way] + "}"]
            at = end
        return "".join([*parts, text[at:]])

    def _named(self) -> dict[_Use, str]:
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
                    named[number] = _unique(self._name(entry), [*named.values(), *uses.values()])
                if way is not Derivation.SAME:
                    uses.setdefault((number, Derivation.SAME), named[number])
                wish = name_derived(named[number], way)
                taken = [*named.values(), *uses.values()]
                uses[number, way] = wish if way is Derivation.SAME else _unique(wish, taken)
        return uses

    def _name(self, entry: ParameterEntry) -> str:
        if entry.secret:
            return entry.secret
        if entry.is_content:
            return _content_name(entry.sources[0])
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
            about=_about(values, name, is_asked=entry.is_asked),
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
            before = text[max(start - 80, 0) : start]
            noted = ValueSource(
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


_KINDS: Mapping[ValueKind, str] = MappingProxyType(
    {
        ValueKind.URL: "a web address",
        ValueKind.EMAIL: "an e-mail address",
        ValueKind.HASH: "a commit",
        ValueKind.QUOTED: "a text",
        ValueKind.TEXT: "a text",
    }
)


def _about(values: Sequence[str], name: str, *, is_asked: bool) -> str:
    kind, ending = find_common_kind(values), find_common_ending(values)
    what = _KINDS.get(kind, f"a {kind.value}")
    if kind is ValueKind.FILE and ending:
        what = f"a {ending} file"
    words = name.rstrip("0123456789").strip("_").replace("_", " ")
    if words not in what and words not in _words("no_nouns"):
        is_said = words.endswith((kind.value, "text")) or kind is ValueKind.TEXT
        what = f"the {words}" if is_said else f"the {words}, {what}"
    return f"{what}; the task names it" if is_asked else f"{what}; the task may not name it"


def _content_name(source: ValueSource) -> str:
    if source.deed is Deed.EDIT:
        return "old_text" if source.field == "old" else "new_text"
    if source.field == "command":
        return "script" if source.name.endswith(("-c", "here")) else "command"
    if source.deed is Deed.PATCH:
        return "patch"
    return make_snake_case(source.field.rsplit(".", 1)[-1]) or "content"


def _content_about(source: ValueSource) -> str:
    if source.deed is Deed.EDIT:
        return "the text that goes" if source.field == "old" else "the text that comes instead"
    if source.field == "command":
        program = source.name.split(" ", 1)[0]
        return f"a command with {program}" if program.isidentifier() else "a command"
    return {Deed.WRITE: "the whole text of the file", Deed.PATCH: "the changes"}.get(
        source.deed, "a longer text"
    )


_LONGEST_TITLE = 90
_NAME_LENGTH, _NAME_WORDS, _HASH = 48, 7, 8
_SHORTEST_NAME = 3
_NAMED = re.compile(
    r"[\"'`\u201c\u300c]?[A-Za-z0-9_./~-]*\{([a-z][a-z0-9_]*)\}(?:\.(\w{1,8})\b)?"
    r"[\"'`\u201d\u300d]?"
)
_SENTENCE = re.compile(r"(?<=[^\s.]{2})[.!?;](?=\s|\Z)|[\u3002\uff01\uff1f\uff1b]|\s-\s|:\s")
# Scripts that put no space between words: an English word among them would say nothing.
_NO_SPACES = re.compile(r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]")
_SIGNS = re.compile(r"[`<>\[\]{}*#|\\_~\"\u201c\u201d]+")
_RESERVED = re.compile(r"anthropic|claude")
# What stands for a word that was another one in each run, and says nothing by itself.
GAP = "\u2026"
_TOKEN = re.compile(r"\{[a-z][a-z0-9_]*\}|[^\W_]+(?:[.-][^\W_]+)*")
_NAME_OF_ONE = re.compile(r"[^\W\d_]*\d.*|[A-Z][^\W\dA-Z_]+")
_FEWEST_ALIKE, _MOST_APART = 0.6, 0.34


def remove_values(goals: Sequence[str], done: Sequence[str]) -> tuple[str, ...]:
    """Return the goals of several runs with gaps in place of names and other values of one run.

    A word is a value where its run used it and others did not, where it stands alone among words
    that all runs share, or where it is written as a name. What most say belongs to the goal.

    Args:
        goals: what each run was asked for, with {names} of parameters in it.
        done: in the same order, all that its steps say.
    """
    asked = [[word.casefold() for word in _TOKEN.findall(goal)] for goal in goals]
    used = [frozenset(word.casefold() for word in re.findall(r"[^\W_]+", one)) for one in done]
    in_goals, in_steps = _spread(asked), _spread(used)

    def is_value(at: int, word: str) -> bool:
        key = word.casefold()
        is_used = key in used[at] and 2 * in_steps[key] <= len(goals)
        return is_used or (in_goals[key] == 1 and _NAME_OF_ONE.fullmatch(word) is not None)

    found = []
    for at, goal in enumerate(goals):
        apart = _apart(asked, at)
        hits = [
            hit
            for place, hit in enumerate(_TOKEN.finditer(goal))
            if _can_be_value(hit)
            and 2 * in_goals[hit[0].casefold()] <= len(goals)
            and (place in apart or is_value(at, hit[0]))
        ]
        found.append(_with_gaps(goal, hits))
    return tuple(found)


def _can_be_value(hit: re.Match[str]) -> bool:
    """Return whether a word could be a value; the first says what to do, however it is said."""
    word = hit[0].casefold()
    is_first = not _TOKEN.search(hit.string, _lead_end(hit.string), hit.start())
    is_small = word in _words("no_end") or word in _words("no_part")
    return not (is_first or is_small or word.startswith("{") or _NO_SPACES.search(word))


def _spread(rows: Sequence[Iterable[str]]) -> Counter[str]:
    """Return in how many of the rows each word is."""
    return Counter(word for row in rows for word in frozenset(row))


def _apart(rows: Sequence[Sequence[str]], at: int) -> frozenset[int]:
    """Return the places in which a row differs from most of the others, where little else does."""
    same = [row for row in rows if len(row) == len(rows[at])]
    if len(same) < max(_FEWEST_ALIKE * len(rows), 2):
        return frozenset()
    columns = list(zip(*same, strict=True))
    apart = [place for place, column in enumerate(columns) if len(set(column)) > 1]
    if len(apart) > max(_MOST_APART * len(columns), 1):
        return frozenset()
    return frozenset(
        place for place in apart if 2 * columns[place].count(rows[at][place]) <= len(same)
    )


def _with_gaps(text: str, hits: Sequence[re.Match[str]]) -> str:
    parts, at = [], 0
    for hit in hits:
        parts += [text[at : hit.start()], GAP]
        at = hit.end()
    return "".join([*parts, text[at:]])


def simplify_goal(goal: str, parameters: Sequence[Parameter]) -> str:
    """Return a goal as a short phrase, with kinds of things in place of parameters."""
    known = {one.name: one for one in parameters}
    sentence = _first_sentence(goal)

    def word(hit: re.Match[str]) -> str:
        if not (hit[2] or "_file" in hit[1]) and (
            _NO_SPACES.search(sentence) or _says_nothing(known.get(hit[1]), hit[1])
        ):
            return GAP
        said = set(_SIGNS.sub(" ", sentence.replace(hit[0], " ")).casefold().split())
        if hit[1] in said and not hit[2]:
            return GAP
        return hit[2].upper() if hit[2] else _kind_word(known.get(hit[1]), hit[1], said)

    plain = one_line(_SIGNS.sub(" ", _NAMED.sub(word, sentence)))
    words: list[str] = []
    for one in plain.split(" "):
        if one.startswith(GAP) and not _NO_SPACES.search(sentence):
            _close(words)
        elif not words or words[-1].casefold() != one.casefold():
            words.append(one)
    phrase = " ".join(words).strip(" ,.;:!?-")
    return _cut(phrase) or "Repeat a task"


def _says_nothing(parameter: Parameter | None, name: str) -> bool:
    base = parameter.derived_from or name if parameter else name
    return base.rstrip("_0123456789") in _words("any_value") | _words("no_end")


def _close(words: list[str]) -> None:
    """Take away what led to a word that is left out: `to`, `as the`, `saying`."""
    for small in (_words("saying"), _words("no_part"), _words("no_end")):
        if len(words) > 1 and words[-1].casefold() in small:
            words.pop()


def make_title(phrase: str) -> str:
    """Return a phrase as a title, which a call of the skill leaves as it is."""
    return escape_placeholders(phrase[:1].upper() + phrase[1:])


def make_skill_name(phrase: str) -> str:
    """Return a valid name for a skill: ASCII, short, and its own where letters were lost."""
    letters = unicodedata.normalize("NFKD", phrase.casefold())
    ascii_only = re.sub(r"[^\x00-\x7f]+", " ", re.sub(r"[\u0300-\u036f]", "", letters))
    words = [one for one in re.findall(r"[a-z0-9]+", ascii_only) if one not in _words("no_part")]
    words = [one for one in words if not _RESERVED.search(one)][:_NAME_WORDS]
    name = "-".join(words)[:_NAME_LENGTH].strip("-")
    if len("-".join(words)) > _NAME_LENGTH:
        name = name.rpartition("-")[0] or name
    while name.rpartition("-")[2] in _words("no_end"):
        name = name.rpartition("-")[0]
    is_whole = not re.search(r"[^\W\d_]", re.sub(r"[\x00-\x7f]", "", letters))
    if is_whole and len(name) >= _SHORTEST_NAME:
        return name
    digest = hashlib.sha256(phrase.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{name or 'learned'}-{digest}"[:MAX_NAME]


@cache
def _compile_leads() -> re.Pattern[str]:
    leads = join_phrases("small_talk", "leads")
    return re.compile(rf"\A(?:{leads})(?![A-Za-z])[ ,:!]*", re.IGNORECASE)


def _lead_end(text: str) -> int:
    """Return where a text comes to the point."""
    at = 0
    while (lead := _compile_leads().match(text[at:])) and lead.end():
        at += lead.end()
    return at


def _first_sentence(goal: str) -> str:
    line = one_line(goal)
    rest = line[_lead_end(line) :]
    first = _SENTENCE.split(rest, maxsplit=1)[0].strip()
    return first or rest


def _kind_word(parameter: Parameter | None, name: str, said: set[str]) -> str:
    if parameter is not None and name.rstrip("_0123456789").endswith("_file"):
        return parameter.kind.upper() if parameter.kind.isalnum() else "file"
    words = [word for word in name.rstrip("0123456789").split("_") if word]
    return " ".join([word for word in words if word not in said] or words[-1:])


def _cut(phrase: str) -> str:
    if len(phrase) <= _LONGEST_TITLE:
        return phrase
    return phrase[:_LONGEST_TITLE].rpartition(" ")[0] or phrase[:_LONGEST_TITLE]


def make_phrases(goals: Sequence[str], parameters: Sequence[Parameter]) -> tuple[str, ...]:
    """Return several ways to ask for a goal, each once whatever its capitals."""
    found: dict[str, str] = {}
    for goal in goals:
        phrase = simplify_goal(goal, parameters)
        found.setdefault(phrase.casefold(), phrase)
    return tuple(found.values())
