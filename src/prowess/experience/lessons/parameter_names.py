"""What a parameter is called, and how one value follows from another.

A name is made of the option, the field or the program that takes the value, of the word beside it
in the task, or of its kind: the surest of these that there is. A derivation (a file's name without
its ending, a title as a slug) holds for a parameter where it holds in every trace.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache, partial
from types import MappingProxyType
from urllib.parse import quote, quote_plus

from prowess.data import read_table, read_word_group
from prowess.experience.commands import ValueKind, classify_value, read_ending, strip_ending
from prowess.transcripts.traces import Deed, UiTarget


class Derivation(StrEnum):
    """A way in which a value follows from another, told as what it is."""

    SAME = ""
    FILE_NAME = "without its folder"
    STEM = "without folder and ending"
    PATH_STEM = "without its ending"
    FOLDER = "only its folder"
    BARE_VERSION = "without the leading v"
    DIGITS = "only its digits"
    DASHED = "with dashes between its parts"
    LOWER = "in small letters"
    UPPER = "in capitals"
    TITLE = "with a capital at its beginning"
    KEBAB = "in small letters with dashes"
    SNAKE = "in small letters with underscores"
    PASCAL = "as one word with inner capitals"
    SPACED = "in small letters with spaces"
    STEM_LOWER = "without folder and ending, in small letters"
    PLUS = "for a query, with + for each space"
    PERCENT = "percent-encoded"
    DEVICE = "with %s for each space"


_LONGEST = 300
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_NOT_DIGIT = re.compile(r"\D+")


def _stem(value: str) -> str:
    return strip_ending(value.rsplit("/", 1)[-1])


def _join_words(value: str, sign: str) -> str:
    return sign.join(part.lower() for part in _PARTS.findall(value))


def _pascal(value: str) -> str:
    return "".join(part[:1].upper() + part[1:].lower() for part in _PARTS.findall(value))


_OF_PATHS: Mapping[Derivation, Callable[[str], str]] = MappingProxyType(
    {
        Derivation.FILE_NAME: lambda value: value.rstrip("/").rsplit("/", 1)[-1],
        Derivation.STEM: _stem,
        Derivation.PATH_STEM: strip_ending,
        Derivation.FOLDER: lambda value: value.rpartition("/")[0],
        Derivation.STEM_LOWER: lambda value: _stem(value).lower(),
    }
)
_OF_DATES: Mapping[Derivation, Callable[[str], str]] = MappingProxyType(
    {
        Derivation.DIGITS: lambda value: _NOT_DIGIT.sub("", value),
        Derivation.DASHED: lambda value: _NOT_DIGIT.sub("-", value).strip("-"),
    }
)
_OF_WORDS: Mapping[Derivation, Callable[[str], str]] = MappingProxyType(
    {
        Derivation.LOWER: str.lower,
        Derivation.UPPER: str.upper,
        Derivation.TITLE: lambda value: value[:1].upper() + value[1:],
        Derivation.KEBAB: lambda value: _join_words(value, "-"),
        Derivation.SNAKE: lambda value: _join_words(value, "_"),
        Derivation.PASCAL: _pascal,
        Derivation.SPACED: lambda value: _join_words(value, " "),
        Derivation.PLUS: quote_plus,
        Derivation.PERCENT: quote,
        Derivation.DEVICE: lambda value: value.replace(" ", "%s"),
    }
)


@lru_cache(maxsize=4_096)
def derive_values(value: str) -> Mapping[Derivation, str]:
    """Return what follows from a value, each way that applies to its kind."""
    if not value or len(value) > _LONGEST or "\n" in value:
        return MappingProxyType({Derivation.SAME: value})
    found = {Derivation.SAME: value}
    found |= {way: follow(value) for way, follow in _ways(value).items()}
    return MappingProxyType({way: text for way, text in found.items() if text})


def _ways(value: str) -> Mapping[Derivation, Callable[[str], str]]:
    kind = classify_value(value)
    if kind in (ValueKind.FILE, ValueKind.FOLDER) or "/" in value or read_ending(value):
        return _OF_PATHS
    if kind is ValueKind.DATE:
        return _OF_DATES
    if kind is ValueKind.VERSION:
        return {Derivation.BARE_VERSION: lambda text: text.lstrip("v")}
    return _OF_WORDS if kind in (ValueKind.TEXT, ValueKind.QUOTED) else {}


_NAMES_LONGEST = 30
_LONG_OPTION = re.compile(r"(?:\A|\s)-(?:-[A-Za-z]|[A-Za-z]{2})([\w-]{1,30})[= ]*[\"']?\Z")
_SHORT_OPTION = re.compile(r"(?:\A|\s)(-[A-Za-z]) ?[\"']?\Z")
_ASSIGNED = re.compile(r"[\"']?([A-Za-z_][\w-]{1,30})[\"']?\s?[=:]\s?[\"']?\Z")
_SURE_KINDS = frozenset(map(ValueKind, ("url", "email", "date", "version", "folder", "package")))
_KIND_NAMES: Mapping[ValueKind, str] = MappingProxyType(
    {kind: kind.value for kind in ValueKind} | {ValueKind.TEXT: "text", ValueKind.HASH: "commit"}
)
_SHORTEST, _MOST_WORD = 3, 20
# What a field is called that takes anything.
_ANY_TEXT = "search_text"


_TABLE = "experience/lessons/words.toml"
_words = partial(read_word_group, _TABLE)


@cache
def _find_taken() -> Mapping[str, str]:
    named = read_table(_TABLE)["taken_by"].items()
    return {program: name for name, programs in named for program in programs}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSource:
    """Where a value stands in a step."""

    deed: Deed
    field: str = ""
    # The program and its mode, or the tool.
    name: str = ""
    # What stands before the value in the same field, in every trace.
    before: str = ""
    # The element that is typed into.
    target: UiTarget | None = None
    # Whether more of a path follows.
    is_folder: bool = False


def name_parameter(
    values: Sequence[str], sources: Iterable[ValueSource], tasks: Sequence[str]
) -> str:
    """Return the best name for a parameter; `tasks` are those of the values, in their order."""
    kind, known = find_common_kind(values), tuple(sources)
    candidates = [_by_source(source, kind) for source in known]
    ranked = sorted(enumerate(candidates), key=lambda pair: (pair[1][0], pair[0]))
    rank, name = ranked[0][1] if ranked else (9, "")
    if kind is ValueKind.FILE:
        ending = find_common_ending(values)
        given = f"{name}_file" if rank == 0 and name in _words("in_and_out") else ""
        if not ending and not any("/" in value for value in values):
            # What has dots and no common ending may be a key, and then the task says so.
            given = given or _beside(values, tasks)
        return given or (f"{make_snake_case(ending)}_file" if ending else "file")
    if kind is ValueKind.VERSION and rank and "version" not in name:
        # In `shop:1.2` the word before it names what has that version.
        return _KIND_NAMES[kind]
    if name and rank <= 1:
        is_any = name == _ANY_TEXT or name in _words("any_fields")
        return (_beside(values, tasks, _person) if is_any else "") or name
    if kind in _SURE_KINDS:
        return _KIND_NAMES[kind]
    is_folder = kind is ValueKind.TEXT and any(source.is_folder for source in known)
    given = _beside(values, tasks, _person) or name or ("folder" if is_folder else "")
    is_name = kind is ValueKind.TEXT and all(re.fullmatch(r"[^\W\d]\w*", one) for one in values)
    looks: Mapping[str, str] = read_table(_TABLE)["looks"]
    for alike, pattern in looks.items():
        if not given and all(re.fullmatch(pattern, one, re.IGNORECASE) for one in values):
            return alike
    return given or ("name" if is_name else _KIND_NAMES[kind])


def name_secret(source: ValueSource) -> str:
    """Return the name of a secret by the field that takes it."""
    named = _by_element(source.target) if source.deed is Deed.TYPE else ""
    named = named or (
        make_snake_case(source.field.rsplit(".", 1)[-1]) if source.deed is Deed.TOOL else ""
    )
    return named if named and named not in _words("plain_fields") else "secret"


def name_derived(name: str, way: Derivation) -> str:
    """Return the name of what follows from a parameter."""
    root = name.removesuffix("_file") if name.endswith("_file") else name
    if way is Derivation.STEM:
        return f"{root}_name" if root != name else f"{name}_stem"
    ending = read_table(_TABLE)["derived"].get(way.name, "")
    return f"{name}_{ending}" if ending else name


def make_snake_case(text: str) -> str:
    """Return a text as a short name of small ASCII letters; empty where nothing is left."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    letters = unicodedata.normalize("NFKD", apart).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "_", letters.lower()).strip("_")[:_NAMES_LONGEST].strip("_")
    return name if not name[:1].isdigit() else f"n{name}"


def find_common_kind(values: Iterable[str]) -> ValueKind:
    """Return the kind that all values are of; files among folders are files, a mixture is text."""
    kinds = {classify_value(value) for value in values}
    if len(kinds) == 1:
        return kinds.pop()
    return ValueKind.FILE if kinds == {ValueKind.FILE, ValueKind.FOLDER} else ValueKind.TEXT


def find_common_ending(values: Iterable[str]) -> str:
    """Return the ending that all file names have."""
    endings = {read_ending(value) for value in values}
    return endings.pop() if len(endings) == 1 else ""


def _by_source(source: ValueSource, kind: ValueKind) -> tuple[int, str]:
    """Return how good a name is, 0 being the best, and the name."""
    if source.field == "old":
        return 1, f"old_{_KIND_NAMES[kind]}"
    if source.deed is Deed.TYPE:
        # The field names what is typed into it, and not a word of that.
        return (9, "") if source.before.strip() else (1, _by_element(source.target))
    if name := _by_option(source):
        return 0, name
    if found := _ASSIGNED.search(source.before):
        return 1, make_snake_case(found[1])
    name, of_tool = "", source.deed in (Deed.TOOL, Deed.ASK)
    if source.field == "new":
        name = f"new_{_KIND_NAMES[kind]}"
    elif of_tool and not source.before.strip():
        # The field names all that it holds, and not a part of it.
        name = make_snake_case(source.field.rsplit(".", 1)[-1])
    elif not of_tool and source.before[-1:] in {"", " ", '"', "'"}:
        name = _find_taken().get(source.name, "")
    rank = 1 if of_tool else 2
    return (rank, name) if name and name not in _words("plain_fields") else (9, "")


def _by_option(source: ValueSource) -> str:
    if found := _LONG_OPTION.search(source.before):
        name = make_snake_case(found[0].strip(" -=\"'"))
        # `--add-label` takes a label.
        return re.sub(r"\A(?:add|set|with|new)_(?=[a-z]{3})", "", name)
    found = _SHORT_OPTION.search(source.before)
    if found is None:
        return ""
    options: Mapping[str, str] = read_table(_TABLE)["options"].get(source.name, {})
    return options.get(found[1], "output" if found[1] == "-o" else "")


def _by_element(target: UiTarget | None) -> str:
    if target is None:
        return ""
    tail = target.resource_id.rsplit("/", 1)[-1]
    for named in (tail, target.content_desc, target.label, target.text):
        words = [
            one
            for one in make_snake_case(named).split("_")
            if one not in {"", *_words("plain_parts")}
        ]
        if words:
            return _ANY_TEXT if "search" in words else "_".join(words[:3])
    return ""


def _nobody(_before: Sequence[str]) -> str:
    return ""


def _beside(
    values: Sequence[str], tasks: Sequence[str], person_of: Callable[[Sequence[str]], str] = _nobody
) -> str:
    """Return the word before the values in their tasks, or behind them where an article is."""
    found: Counter[str] = Counter()
    for value, task in zip(values, tasks, strict=True):
        hit = re.search(rf"(?<![^\W_]){re.escape(value)}(?![^\W_])", task, re.IGNORECASE)
        if hit is None:
            continue
        before = [word.lower() for word in re.findall(r"[^\W_]+", task[: hit.start()])]
        after = re.match(r"[\"'\u201d]?\s+([^\W\d_]+)", task[hit.end() :])
        if person := person_of(before):
            found[person] += 1
        elif len(before) > 1 and before[-1] not in _words("articles"):
            found[_thing(before)] += 1
        elif before and before[-1] in _words("articles") and after:
            found[after[1].lower()] += 1
    best = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:1]
    return next((name for word, count in best if (name := _check(word, count, len(values)))), "")


def _thing(before: Sequence[str]) -> str:
    """Return what a value is, of the words before it."""
    near = [word for word in before if word not in _words("between") and word != "that"]
    return near[-1] if near and before[-1] in _words("between") else before[-1]


def _person(before: Sequence[str]) -> str:
    """Return what somebody is who is named behind these words: of a call or of a message."""
    if before and before[-1] in _words("calling"):
        return "contact"
    giving = read_word_group("experience/people.toml", "reaching")
    if before and before[-1] in giving:
        return "recipient"
    is_to = before[-1:] == ["to"] and bool(giving.intersection(before))
    return "recipient" if is_to else ""


def _check(word: str, count: int, of: int) -> str:
    is_name = word.isascii() and _SHORTEST <= len(word) <= _MOST_WORD and word.isalpha()
    return word if is_name and word not in _words("no_names") and 2 * count > of else ""
