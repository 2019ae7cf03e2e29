"""Scenarios: YAML files that tell what happens to the workshop, and what must come of it.

The order in the file is the order in which things happen. A scenario sets nothing but the workshop,
and names no program and no model: it costs nothing and reaches nothing but its own folders.

In what is expected, an object needs the keys that are named and may have others; a list needs
exactly its items. In a text `...` stands for any text, and `${name}` for a value that has this name
from then on.
"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from prowess.safety.paths import PathRefused, segments
from prowess.skills.text import Locator, make_locator
from prowess.skills.text import load as load_yaml

PLUGIN = "skill-workshop"
DEFAULT_SESSION = "scenario"
_FORBIDDEN = ("reviewCommand", "reviewModel")
_MOST_TIMES, _MOST_CALLS = 500, 99_999
_ANY = "..."
_NAME = re.compile(r"\$\{([A-Za-z]\w*)\}")
_LONGEST = 400
_ABSENT = "nothing"

Names = MutableMapping[str, object]


def _check_path(path: str) -> str:
    try:
        return "/".join(segments(path))
    except PathRefused as error:
        raise ValueError(f"{error} Give a path below the workspace.") from error


def _check_reviewer(entry: dict[str, Any]) -> dict[str, Any]:
    inner = entry.get("config", {})
    for name in _FORBIDDEN:
        if isinstance(inner, Mapping) and name in inner:
            raise ValueError(f"{name}: leave it out, since `reviewer` steps answer")
    return entry


Text = Annotated[str, Field(min_length=1)]
WorkspacePath = Annotated[str, AfterValidator(_check_path)]


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, alias_generator=to_camel, populate_by_name=True
    )


class _Entries(_Model):
    workshop: Annotated[dict[str, Any], AfterValidator(_check_reviewer)] = Field(
        alias="skill-workshop"
    )


class _Plugins(_Model):
    entries: _Entries


class _Config(_Model):
    plugins: _Plugins | None = None


class Step(_Model):
    """Something that happens, and where the file says so."""

    line: int = 0
    title: str = ""


class Configure(Step):
    """The operator writes the config, of which only the workshop's entry can be set."""

    config: _Config


class WriteFile(Step):
    """Somebody writes a file of the workspace."""

    file: WorkspacePath
    text: str


class Reply(Step):
    """The reviewing model gets its next answer; a text is given as it is."""

    reviewer: dict[str, Any] | str


class Message(_Model):
    """One message of a turn."""

    model_config = ConfigDict(extra="allow")
    role: Literal["user", "assistant", "system", "tool"]
    content: str | list[Any]


class Say(Step):
    """A turn of a conversation ends."""

    turn: list[Message] = Field(min_length=1)
    tool_calls: int = Field(default=0, ge=0, le=_MOST_CALLS)
    times: int = Field(default=1, ge=1, le=_MOST_TIMES)
    ok: bool = True
    session: Text = DEFAULT_SESSION


class CallTool(Step):
    """The agent calls the tool; without a result or an error it must only be answered."""

    call: dict[str, Any]
    # Whether a person said yes to it.
    by: Literal["person"] | None = None
    result: dict[str, Any] | None = None
    error: Text | None = None

    @model_validator(mode="after")
    def _check_one(self) -> "CallTool":
        if self.result is not None and self.error is not None:
            raise ValueError("a call has a result or an error, not both")
        return self


class FileWanted(_Model):
    """How a file of the workspace should be."""

    contains: list[Text] = []
    lacks: list[Text] = []
    # Byte for byte; None where it does not matter.
    equals: str | None = None
    # Byte for byte what the last `file` step wrote there.
    unchanged: bool = False


class _Prompt(_Model):
    lists: list[Text] = []
    lacks: list[Text] = []


class _Asked(_Model):
    asked: int | None = Field(default=None, ge=0)
    saw: list[Text] = []
    lacks: list[Text] = []


class Expected(_Model):
    """What is to be seen; what is not given is not looked at."""

    proposals: list[dict[str, Any]] | None = None
    events: list[dict[str, Any]] | None = None
    files: dict[WorkspacePath, bool | FileWanted] = {}
    snapshot: _Prompt = _Prompt()
    # In this order, since the last step that looked at the log; others may stand between.
    log: list[Text] | None = None
    reviewer: _Asked = _Asked()

    @model_validator(mode="after")
    def _check_some(self) -> "Expected":
        if not self.model_fields_set:
            raise ValueError("expects nothing")
        return self


class Expect(Step):
    """Somebody looks at what came of it."""

    expect: Expected


_KINDS: Mapping[str, type[Step]] = {
    "config": Configure,
    "file": WriteFile,
    "reviewer": Reply,
    "turn": Say,
    "call": CallTool,
    "expect": Expect,
}


class _Document(_Model):
    title: str = ""
    summary: str = ""
    steps: list[Any] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a scenario, and on which line."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One story, and how it has to go."""

    name: str
    title: str
    summary: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A file that is no scenario, and why."""

    name: str
    problems: tuple[Problem, ...]


def read_scenario(name: str, text: str) -> Scenario | Broken:
    """Return the scenario in a YAML file, or everything that is wrong with it."""
    loaded = load_yaml(text)
    if loaded.problems:
        found = [Problem(one.line, f"is not YAML: {one.message}") for one in loaded.problems]
        return Broken(name=name, problems=tuple(found))
    locate = make_locator(text)
    try:
        document = _Document.model_validate(loaded.root)
    except ValidationError as error:
        return Broken(name=name, problems=tuple(_problems(error, (), locate)))
    steps: list[Step] = []
    problems: list[Problem] = []
    for number, value in enumerate(document.steps):
        place = ("steps", number)
        try:
            steps.append(_read_step(value, locate(place)))
        except ValidationError as error:
            problems += _problems(error, place, locate)
        except ValueError as error:
            problems.append(Problem(locate(place), str(error)))
    problems = problems or list(_find_gaps(steps))
    if problems:
        return Broken(name=name, problems=tuple(sorted(problems, key=lambda one: one.line)))
    title = document.title or name
    return Scenario(name=name, title=title, summary=document.summary, steps=tuple(steps))


def _read_step(value: object, line: int) -> Step:
    given = value if isinstance(value, Mapping) else {}
    kinds = [word for word in _KINDS if word in given]
    if len(kinds) != 1:
        near = [one for word in given for one in difflib.get_close_matches(str(word), _KINDS, n=1)]
        hint = f"did you mean {near[0]}?" if near else f"give one of {', '.join(_KINDS)}"
        raise ValueError(f"is no step: {hint}")
    return _KINDS[kinds[0]].model_validate({"title": f"then: {kinds[0]}", **given, "line": line})


def _problems(
    error: ValidationError, above: tuple[str | int, ...], locate: Locator
) -> Iterator[Problem]:
    for one in error.errors(include_url=False):
        place = (*above, *one["loc"])
        name = str(one["loc"][-1]) if one["loc"] else ""
        if one["type"] == "extra_forbidden":
            yield Problem(locate(place), f"`{name}` is not known here{_hint(name)}")
        else:
            text = one["msg"].removeprefix("Value error, ")
            yield Problem(locate(place), f"{name}: {text}" if name else text)


def _hint(name: str) -> str:
    near = difflib.get_close_matches(name, _KEYS, n=1)
    return f": did you mean {near[0]}?" if near else ""


def _find_gaps(steps: Sequence[Step]) -> Iterator[Problem]:
    """Yield what is missing in a file whose steps are all fine."""
    if not any(isinstance(step, Expect) or _checks(step) for step in steps):
        yield Problem(steps[-1].line, "expects nothing: add a step with `expect`")
    known: set[str] = set()
    for step in steps:
        if isinstance(step, CallTool):
            for name in names_in(step.call):
                if name not in known:
                    text = f"${{{name}}} has no value yet: name it in an earlier result or expect"
                    yield Problem(step.line, text)
            known.update(names_in(step.result))
        elif isinstance(step, Expect):
            known.update((*names_in(step.expect.proposals), *names_in(step.expect.events)))


def _checks(step: Step) -> bool:
    return isinstance(step, CallTool) and (step.result is not None or step.error is not None)


_MODELS: tuple[type[_Model], ...] = (*_KINDS.values(), Expected, FileWanted, _Asked, _Document)
_KEYS = tuple(
    field.alias or name for model in _MODELS for name, field in model.model_fields.items()
)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Something that is not as it should be."""

    # Such as `proposals[0].status`.
    place: str
    expected: str
    seen: str


def match(expected: object, seen: object, names: Names, place: str) -> list[Mismatch]:
    """Return what in `seen` is not as expected; values that are named are added to `names`."""
    if isinstance(expected, Mapping):
        return _match_objects(expected, seen, names, place)
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        return _match_lists(expected, seen, names, place)
    if isinstance(expected, str):
        return _match_texts(expected, seen, names, place)
    same = expected == seen and isinstance(expected, bool) == isinstance(seen, bool)
    return [] if same else [Mismatch(place, quote(expected), quote(seen))]


def follows(pattern: str, text: str) -> bool:
    """Return whether a text is the expected one, where `...` stands for any text."""
    parts = pattern.split(_ANY)
    if len(parts) == 1:
        return pattern == text
    # One pass from left to right: no pattern can make this slow.
    first, *middle, last = parts
    if not text.startswith(first) or len(text) < len(first) + len(last):
        return False
    end, at = len(text) - len(last), len(first)
    for part in middle:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return text.endswith(last)


def find_missing(patterns: Sequence[str], lines: Sequence[str]) -> str | None:
    """Return the first pattern that no line follows after those of the patterns before it."""
    left = iter(lines)
    for pattern in patterns:
        if not any(follows(pattern, line) for line in left):
            return pattern
    return None


def names_in(value: object) -> Iterator[str]:
    """Yield the names that stand in a value."""
    if isinstance(value, str):
        if found := _NAME.fullmatch(value):
            yield found[1]
    elif isinstance(value, Mapping | Sequence):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from names_in(part)


def fill(value: object, names: Mapping[str, object]) -> object:
    """Return a value with what is known in place of each name."""
    if isinstance(value, Mapping):
        return {key: fill(part, names) for key, part in value.items()}
    if isinstance(value, str):
        found = _NAME.fullmatch(value)
        return names.get(found[1], value) if found else value
    return [fill(part, names) for part in value] if isinstance(value, Sequence) else value


def quote(value: object) -> str:
    """Return a value as one line that a person can compare."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _match_objects(
    expected: Mapping[object, object], seen: object, names: Names, place: str
) -> list[Mismatch]:
    if not isinstance(seen, Mapping):
        return [Mismatch(place, quote(expected), quote(seen))]
    found: list[Mismatch] = []
    for key, part in expected.items():
        inner = f"{place}.{key}"
        if key in seen:
            found += match(part, seen[key], names, inner)
        # `null` also means that there is no such key.
        elif part is not None:
            found.append(Mismatch(inner, quote(part), _ABSENT))
    return found


def _match_lists(
    expected: Sequence[object], seen: object, names: Names, place: str
) -> list[Mismatch]:
    if not isinstance(seen, Sequence) or isinstance(seen, str):
        return [Mismatch(place, quote(expected), quote(seen))]
    if len(seen) != len(expected):
        brief = [_keep_keys(expected[0], item) for item in seen] if expected else seen
        return [Mismatch(place, quote(expected), quote(brief))]
    found: list[Mismatch] = []
    for number, (part, item) in enumerate(zip(expected, seen, strict=True)):
        found += match(part, item, names, f"{place}[{number}]")
    return found


def _keep_keys(expected: object, seen: object) -> object:
    """Return of what was seen the keys that are expected: the rest would bury them."""
    if not isinstance(expected, Mapping) or not isinstance(seen, Mapping):
        return seen
    return {key: seen[key] for key in expected if key in seen}


def _match_texts(expected: str, seen: object, names: Names, place: str) -> list[Mismatch]:
    if named := _NAME.fullmatch(expected):
        known = names.setdefault(named[1], seen)
        return [] if known == seen else [Mismatch(place, quote(known), quote(seen))]
    if isinstance(seen, str) and follows(expected, seen):
        return []
    return [Mismatch(place, quote(expected), quote(seen))]
