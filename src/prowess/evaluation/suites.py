"""Evaluation suites as values: our own format, and what authors ship beside their skills.

Authors write trigger files in many shapes, so keys are compared without case and separators and
each shape is a table entry, not a reader. That a skill should *not* be loaded says nothing about
which other one should: such a case is open, and must not be read as "no skill at all". A benchmark
is a catalogue of skills with messages; its cases expect skills by `id`, as names may repeat there.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, TypeAlias

from prowess.errors import SuiteError
from prowess.skills.model import Skill, Source, Tier

_MOST_CASES = 20_000
_LONGEST_PROMPT = 100_000
_LONGEST_NAME = 200
_MOST_PROBLEMS = 100
_DEEPEST = 6
_NOBODY = frozenset(("none", "null"))
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_SEPARATORS = re.compile(r"[\W_]+")

_PROMPTS = ("prompt", "query", "question", "text", "input", "message", "request", "utterance")
_OWNERS = ("skill", "skillname", "ownerskill", "targetskill")
# What says whether, or which, skill is meant; what forbids; and what may tell the two apart.
_SHOULD = (
    "shouldtrigger",
    "shouldactivate",
    "shouldfire",
    "expectedskill",
    "expectedskills",
    "expected",
)
_SHOULD_NOT = ("shouldnottrigger", "shouldnotactivate", "shouldnotfire")
_KINDS = ("type", "kind", "label")
_LIST_KEYS = (
    "cases evals queries tests testcases tasks scenarios prompts examples triggers triggercases "
    "triggerevals triggertests triggersuite activation activationexamples routing"
)
_POSITIVE_KEYS = "shouldtrigger shouldactivate shouldfire should positive positives"
_NEGATIVE_KEYS = (
    "shouldnottrigger shouldnotactivate shouldnotfire shouldnot negative negatives near nearmiss "
    "nearmisses"
)
_YES_WORDS = "yes true trigger activate positive shouldtrigger shouldactivate"
_NO_WORDS = "no false notrigger negative shouldnottrigger shouldnotactivate"
_LISTS = frozenset(_LIST_KEYS.split())
_POSITIVE = frozenset(_POSITIVE_KEYS.split())
_NEGATIVE = frozenset(_NEGATIVE_KEYS.split())
_GROUPS = _LISTS | _POSITIVE | _NEGATIVE
_YES = frozenset(_YES_WORDS.split())
_NO = frozenset(_NO_WORDS.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A message and what should be loaded for it.

    `expect` holds the skills of which any is right; where it is empty nothing should be loaded,
    unless the case is open: then any answer is fine but those in `not_expected`.
    """

    prompt: str
    expect: frozenset[str] = frozenset()
    not_expected: frozenset[str] = frozenset()
    is_open: bool = False
    # Those of `expect` whose job it clearly is, where the file says so; by default all of them.
    clear: frozenset[str] | None = None
    # What the agent had said before the message.
    reply: str = ""
    # The message's language, where the file names it.
    language: str = ""
    # Where it stands in its file: `cases[3]`, or the id of a query.
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The cases of one file, and what in it could not be read."""

    name: str
    cases: tuple[Case, ...]
    # The folder of the skills that the suite is about, as it is written there.
    skills_dir: str | None = None
    problems: tuple[str, ...] = ()


class Problems:
    """What could not be read, told in full only as long as a person would read on."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self._more = 0

    def add(self, problem: str) -> None:
        """Note one more."""
        if len(self._found) < _MOST_PROBLEMS:
            self._found.append(problem)
        else:
            self._more += 1

    def listed(self) -> tuple[str, ...]:
        """Return them in the order of the file."""
        more = (f"and {self._more} more problems",) if self._more else ()
        return (*self._found, *more)


def read_suite(value: object, *, where: str, own_skill: str | None) -> Suite:
    """Read a parsed suite, evaluation or trigger file.

    Args:
        value: what the file holds.
        where: the file, for messages.
        own_skill: the skill that the file ships beside, if any.

    Raises:
        SuiteError: there is no case in it.
    """
    reader = _Reader()
    skills_dir = None
    if isinstance(value, Mapping):
        reader.group(value, _Context(own=own_skill or _owner(_fields(value), _OWNERS)))
        found = value.get("skills")
        skills_dir = found.strip() or None if isinstance(found, str) else None
    elif isinstance(value, list):
        reader.items(value, _Context(own=own_skill, place="cases"))
    else:
        raise SuiteError(where, "is neither a list of cases nor a mapping that holds one.")
    problems = reader.problems.listed()
    if not reader.cases:
        reason = problems[0] if problems else "write `cases: [{prompt: ..., expect: NAME}]`."
        raise SuiteError(where, f"holds no case that can be read: {reason}")
    return Suite(name=where, cases=tuple(reader.cases), skills_dir=skills_dir, problems=problems)


class _Field(NamedTuple):
    """A value and its key as it is written."""

    key: str
    value: object


_Fields: TypeAlias = dict[str, _Field]


class _Context(NamedTuple):
    """What a value inherits from what it stands in."""

    own: str | None = None
    # The list says that its prompts mean the skill (True) or do not (False).
    means_own: bool | None = None
    place: str = ""
    depth: int = 0

    def part(self, step: str) -> Self:
        """Return the context of what stands at a key or an index."""
        dot = "." if self.place and not step.startswith("[") else ""
        return self._replace(place=f"{self.place}{dot}{step}", depth=self.depth + 1)


class _WrongCaseError(Exception):
    """A case cannot be read; becomes a problem before it leaves this module."""


class _Reader:
    """Collects the cases of one file."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.problems = Problems()
        self._full = False

    def group(self, found: Mapping[object, object], context: _Context) -> None:
        """Read a mapping that holds lists of cases, at known keys or by the names of skills."""
        for key, value in _find_keyed(found):
            plain, inner = _fold(key), context.part(key)
            if plain in _POSITIVE:
                self.items(value, inner._replace(means_own=True))
            elif plain in _NEGATIVE:
                self.items(value, inner._replace(means_own=False))
            elif plain in _LISTS:
                self.items(value, inner)
            elif plain == "skills":
                self._by_skill(value, inner)
            elif isinstance(value, Mapping) and _is_group(_fields(value)):
                self.items(value, inner._replace(own=context.own or _clean(key)))

    def items(self, value: object, context: _Context) -> None:
        """Read a list of cases or, where authors nest, the groups inside."""
        if context.depth > _DEEPEST:
            self.problems.add(f"{context.place} is nested too deeply")
        elif isinstance(value, Mapping):
            self.group(value, context)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self._item(item, context.part(f"[{index}]"))
        elif value is not None:
            self.problems.add(f"{context.place} must be a list")

    def _by_skill(self, value: object, context: _Context) -> None:
        """Read `skills: {NAME: prompts}` or `skills: [{name: NAME, ...}]`; a text is a folder."""
        if isinstance(value, Mapping):
            for name, found in _find_keyed(value):
                self.items(found, context.part(name)._replace(own=_clean(name)))
        elif isinstance(value, list):
            # A list of mere names says what was tested, not what to ask.
            groups = (part for part in enumerate(value) if isinstance(part[1], Mapping))
            for index, found in groups:
                own = _owner(_fields(found), ("name", *_OWNERS)) or context.own
                self.items(found, context.part(f"[{index}]")._replace(own=own))

    def _item(self, item: object, context: _Context) -> None:
        if len(self.cases) == _MOST_CASES:
            self._stop(context.place)
            return
        fields = _fields(item if isinstance(item, Mapping) else {"prompt": item})
        if not _find_first(fields, _PROMPTS) and _is_group(fields):
            own = _owner(fields, _OWNERS) or context.own or _owner(fields, ("name",))
            self.items(item, context._replace(own=own))
            return
        try:
            self.cases.append(_case(fields, context))
        except _WrongCaseError as error:
            self.problems.add(f"{context.place}{error}")

    def _stop(self, place: str) -> None:
        if not self._full:
            self.problems.add(f"{place} and what follows is left out: {_MOST_CASES} cases are read")
        self._full = True


def _case(fields: _Fields, context: _Context) -> Case:
    own = _owner(fields, _OWNERS) or context.own
    prompt, away = _prompt(fields), _read_kept_away(fields)
    said = _read_expected(fields, own)
    if isinstance(said, frozenset):
        away |= frozenset((own,)) if own and context.means_own is False else frozenset()
        if said & away:
            raise _WrongCaseError(f" both expects and forbids {min(said & away)!r}")
        return Case(prompt=prompt, expect=said, not_expected=away, where=context.place)
    meant = context.means_own if said is None else said
    if meant is None and away:
        return Case(prompt=prompt, not_expected=away, is_open=True, where=context.place)
    if own is None:
        hint = "add it, or put the file beside the SKILL.md that is meant"
        raise _WrongCaseError(f".expect is missing: {hint}")
    # A prompt that ships beside a skill and says no more means that skill.
    if meant is None or meant:
        return Case(prompt=prompt, expect=frozenset((own,)), not_expected=away, where=context.place)
    return Case(prompt=prompt, not_expected=away | {own}, is_open=True, where=context.place)


def _prompt(fields: _Fields) -> str:
    found = _find_first(fields, _PROMPTS)
    if found is None:
        raise _WrongCaseError(".prompt is missing")
    if not isinstance(found.value, str) or not found.value.strip():
        raise _WrongCaseError(f".{found.key} must be a text")
    return prompt_text(found.value)


def _read_expected(fields: _Fields, own: str | None) -> frozenset[str] | bool | None:
    """Return the skills that are expected, or whether the own one is, or None where neither is."""
    if "expect" in fields:
        value = fields["expect"].value
        return value if isinstance(value, bool) else _names(fields["expect"])
    for plain in (*_SHOULD, *_SHOULD_NOT, *_KINDS):
        flag = _flag(fields[plain].value) if plain in fields else None
        if flag is not None:
            return flag != (plain in _SHOULD_NOT)
    for plain in _SHOULD:
        if plain in fields and (plain != "expected" or _is_named(fields[plain].value)):
            names = _names(fields[plain])
            # Beside a skill, "none" means "not this one": it may well be for a neighbour.
            return names if names or own is None else False
    return None


def _read_kept_away(fields: _Fields) -> frozenset[str]:
    found = (fields[plain] for plain in ("not", *_SHOULD_NOT) if plain in fields)
    return frozenset(
        name for field in found if _flag(field.value) is None for name in _names(field)
    )


def _names(field: _Field) -> frozenset[str]:
    given = field.value
    items = given if isinstance(given, list) else [] if given is None else [given]
    names = [_clean(item) for item in items if isinstance(item, str) and item.strip()]
    if len(names) < len(items):
        raise _WrongCaseError(f".{field.key} must be a name, a list of names or none")
    return frozenset(name for name in names if name.lower() not in _NOBODY)


def _is_named(value: object) -> bool:
    """True for what can be names of skills; `expected` often describes the answer instead."""
    items = value if isinstance(value, list) else [value]
    return all(item is None or (isinstance(item, str) and " " not in item) for item in items)


def _flag(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    word = _fold(value) if isinstance(value, str) else ""
    return True if word in _YES else False if word in _NO else None


def _fields(value: Mapping[object, object]) -> _Fields:
    found: _Fields = {}
    for field in _find_keyed(value):
        found.setdefault(_fold(field.key), field)
    return found


def _find_keyed(value: Mapping[object, object]) -> list[_Field]:
    return [
        _Field(key[:_LONGEST_NAME], part) for key, part in value.items() if isinstance(key, str)
    ]


def _fold(key: str) -> str:
    return _SEPARATORS.sub("", key[:_LONGEST_NAME]).lower()


def _find_first(fields: _Fields, keys: Iterable[str]) -> _Field | None:
    return next((fields[key] for key in keys if key in fields), None)


def _is_group(fields: _Fields) -> bool:
    return any(isinstance(fields[key].value, list | Mapping) for key in _GROUPS & fields.keys())


def _owner(fields: _Fields, keys: Iterable[str]) -> str | None:
    found = _find_first(fields, keys)
    return _clean(found.value) or None if found and isinstance(found.value, str) else None


def _clean(name: str) -> str:
    return whole(name.strip()[:_LONGEST_NAME])


def prompt_text(text: str) -> str:
    """Return a message as it is routed: bounded."""
    return whole(text[:_LONGEST_PROMPT])


def whole(text: str) -> str:
    """Return `text` without halves of characters, which no encoder takes."""
    return text if text.isascii() else _HALF_CHARACTER.sub("\ufffd", text)


# The rows of a file of JSON lines, by their line.
Lines: TypeAlias = Mapping[int, object]
# From this grade on a message is clearly a skill's job; below, the skill is plausible.
_CLEAR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A catalogue and its cases."""

    name: str
    skills: tuple[Skill, ...]
    cases: tuple[Case, ...]
    problems: tuple[str, ...] = ()


def read_bench(name: str, *, skills: Lines, queries: Lines, qrels: Lines) -> Bench:
    """Read a catalogue, its messages, and which skill is relevant to which message.

    Raises:
        SuiteError: there are no skills, or no messages, that can be read.
    """
    problems = Problems()
    found = {skill.id: skill for skill in _bench_skills(skills, problems)}
    wanted = _read_relevant(qrels, problems)
    cases = tuple(_bench_cases(queries, wanted, frozenset(found), problems))
    if not found or not cases:
        listed = "; ".join(problems.listed()[:1])
        raise SuiteError(name, f"holds no {'queries' if found else 'skills'}: {listed or 'empty'}.")
    return Bench(name=name, skills=tuple(found.values()), cases=cases, problems=problems.listed())


def without_examples(skill: Skill) -> Skill:
    """Return a skill of a benchmark as if its set had no example requests."""
    return replace(skill, fields={}, content_hash=f"{skill.content_hash}-plain")


def _bench_skills(rows: Lines, problems: Problems) -> Iterator[Skill]:
    seen: set[str] = set()
    for line, row in rows.items():
        texts = _texts(row, ("id", "name", "description", "body"))
        if not texts["id"] or texts["id"] in seen:
            problem = "is there twice" if texts["id"] else "is missing"
            problems.add(f"skills, line {line}: the id {problem}")
            continue
        seen.add(texts["id"])
        given = row.get("examples") if isinstance(row, Mapping) else None
        listed = given if isinstance(given, list) else []
        examples = tuple(whole(item) for item in listed if isinstance(item, str))
        yield _bench_skill(texts, examples)


def _bench_skill(texts: Mapping[str, str], examples: tuple[str, ...]) -> Skill:
    content = json.dumps([texts, examples], sort_keys=True).encode()
    return Skill(
        id=texts["id"],
        name=texts["name"] or texts["id"],
        description=texts["description"],
        body=texts["body"],
        fields={"examples": examples} if examples else {},
        source=Source(tier=Tier.EXTRA, root="bench"),
        path=f"bench/{texts['id']}/SKILL.md",
        folder=f"bench/{texts['id']}",
        content_hash=hashlib.sha256(content).hexdigest(),
    )


def _read_relevant(rows: Lines, problems: Problems) -> dict[str, dict[str, float]]:
    """Return how relevant which skills are to each message, by their ids."""
    found: dict[str, dict[str, float]] = {}
    for line, row in rows.items():
        texts = _texts(row, ("query_id", "skill_id"))
        relevance = row.get("relevance", 1) if isinstance(row, Mapping) else None
        if not all(texts.values()) or not isinstance(relevance, int | float):
            problems.add(f"qrels, line {line}: query_id, skill_id or relevance cannot be read")
        elif relevance > 0:
            found.setdefault(texts["query_id"], {})[texts["skill_id"]] = relevance
    return found


def _bench_cases(
    rows: Lines, wanted: dict[str, dict[str, float]], known: frozenset[str], problems: Problems
) -> Iterator[Case]:
    left = dict(wanted)
    # A set that knows no more than "relevant" means all of them alike.
    is_graded = any(grade >= _CLEAR for grades in wanted.values() for grade in grades.values())
    seen: set[str] = set()
    for line, row in rows.items():
        texts = _texts(row, ("id", "text", "prev", "lang"))
        relevant = left.pop(texts["id"], {})
        if not (texts["id"] and texts["text"]) or texts["id"] in seen:
            problems.add(f"queries, line {line}: id or text is missing, or the id is there twice")
        elif relevant and known.isdisjoint(relevant):
            # Without its skill the message would count as out of scope, which it is not.
            problems.add(f"queries, line {line}: no skill has the id {min(relevant)!r}")
        else:
            clear = (name for name, grade in relevant.items() if grade >= _CLEAR)
            yield Case(
                prompt=prompt_text(texts["text"]),
                expect=known & relevant.keys(),
                clear=known.intersection(clear) if is_graded else None,
                reply=prompt_text(texts["prev"]),
                language=texts["lang"],
                where=texts["id"],
            )
        seen.add(texts["id"])
    for query in left:
        problems.add(f"qrels: no query has the id {query!r}")


def _texts(row: object, keys: Iterable[str]) -> dict[str, str]:
    """Return the texts at `keys`, empty where there is none; a number serves as an id."""
    found = row if isinstance(row, Mapping) else {}
    values = {key: found.get(key) for key in keys}
    return {
        key: whole(str(value)) if isinstance(value, str | int) and str(value).strip() else ""
        for key, value in values.items()
    }
