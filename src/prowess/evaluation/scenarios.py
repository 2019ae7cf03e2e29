"""Scenarios: Markdown files that a person can follow by hand and a program can run.

    ```json5 config           the plugin's part of the config, from here on
    ```text file PATH         a file of the workspace, as somebody writes it
    ```json reviewer          what the reviewing model answers next; `text` for one that is no JSON
    ```jsonl turn toolCalls=8 a turn: one message a line; also ok=false, session=NAME, times=N
    ```json call              a call of the tool skill_workshop (by=person: with a yes), and then
    ```json result            what it answers, among others, or
    ```text error             the words in which it is refused
    ```json expect            what is to be seen now

The order in the file is the order in which things happen. A scenario sets nothing but the workshop,
and names no program and no model: it costs nothing and reaches nothing but its own folders.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from prowess.evaluation.scenario_blocks import Block, BlockError, Problem, read_page
from prowess.evaluation.scenario_match import names_in
from prowess.evaluation.scenario_steps import (
    Call,
    Configure,
    Expect,
    FileWanted,
    Reply,
    Say,
    Step,
    WriteFile,
)
from prowess.safety.paths import PathRefused, segments

PLUGIN = "skill-workshop"
_MOST_TIMES, _MOST_DIGITS = 500, 5
_ROLES = ("user", "assistant", "system", "tool")
_FORBIDDEN = ("reviewCommand", "reviewModel")


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
    """Return the scenario in a Markdown file, or everything that is wrong with it."""
    page = read_page(text)
    steps: list[Step] = []
    problems = list(page.problems)
    for block in page.blocks:
        try:
            _take(block, steps)
        except BlockError as error:
            problems.append(error.problem)
    problems = sorted(problems or _gaps(steps), key=lambda problem: problem.line)
    if problems:
        return Broken(name=name, problems=tuple(problems))
    return Scenario(name=name, title=page.title or name, summary=page.summary, steps=tuple(steps))


def _gaps(steps: Sequence[Step]) -> Iterator[Problem]:
    """Yield what is missing in a file whose blocks are all fine."""
    if not steps:
        yield Problem(1, "holds nothing to run: add blocks such as `jsonl turn`, `json expect`")
    elif not any(isinstance(step, Expect) or _checks(step) for step in steps):
        yield Problem(steps[-1].line, "expects nothing: add a `json expect` block")
    known: set[str] = set()
    for step in steps:
        if isinstance(step, Call):
            for name in names_in(step.arguments):
                if name not in known:
                    text = f"${{{name}}} has no value yet: name it in an earlier result or expect"
                    yield Problem(step.line, text)
            known.update(names_in(step.result))
        elif isinstance(step, Expect):
            known.update((*names_in(step.proposals), *names_in(step.events)))


def _checks(step: Step) -> bool:
    return isinstance(step, Call) and (step.result is not None or step.error is not None)


def _take(block: Block, steps: list[Step]) -> None:
    found = _KINDS.get(block.kind)
    if found is None:
        near = difflib.get_close_matches(block.kind, _KINDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"use one of {', '.join(_KINDS)}"
        raise block.fail(f"`{block.kind}` is no kind of block: {hint}")
    languages, most_words, take = found
    if languages and block.language not in languages:
        wanted = " or ".join(f"`{language} {block.kind}`" for language in languages)
        raise block.fail(f"`{block.language} {block.kind}` is not read: write {wanted}")
    if len(block.words) > most_words:
        raise block.fail(f"`{block.words[most_words]}` is not known here: leave it out")
    take(block, steps)


def _take_config(block: Block, steps: list[Step]) -> None:
    config = _object(block, block.value())
    plugins = _part(block, config, "plugins", config)
    entries = _part(block, plugins, "entries", config)
    entry = _part(block, entries, PLUGIN, config)
    inner = entry.get("config", {})
    for name in _FORBIDDEN:
        if isinstance(inner, Mapping) and name in inner:
            raise block.fail(f"{name}: leave it out, since `json reviewer` blocks answer", name)
    steps.append(Configure(line=block.line, title=block.title, config=config))


def _part(
    block: Block, value: Mapping[str, object], name: str, whole: object
) -> Mapping[str, object]:
    """Return the only part of a config that a scenario may set; an empty one sets nothing."""
    for other in value:
        if other != name:
            only = f'plugins.entries["{PLUGIN}"]'
            raise block.fail(f"{other}: a scenario sets {only} and nothing else", other)
    if whole == {}:
        return {}
    return _object(block, value.get(name), name)


def _take_file(block: Block, steps: list[Step]) -> None:
    if not block.words:
        raise block.fail("says no path: write `text file skills/NAME/SKILL.md`")
    path = _path(block, block.words[0])
    steps.append(WriteFile(line=block.line, title=block.title, path=path, text=block.text))


def _take_reply(block: Block, steps: list[Step]) -> None:
    if block.language == "json":
        block.value()
    steps.append(Reply(line=block.line, title=block.title, text=block.text))


def _take_turn(block: Block, steps: list[Step]) -> None:
    messages = tuple(_message(line, value) for line, value in block.lines())
    if not messages:
        raise block.fail('is empty: write one message a line, {"role": ..., "content": ...}')
    say = Say(line=block.line, title=block.title, messages=messages)
    for word in block.words:
        say = _with_option(block, say, word)
    steps.append(say)


def _message(line: int, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise BlockError(line, 'is no message: write {"role": ..., "content": ...}')
    if value.get("role") not in _ROLES:
        raise BlockError(line, f"role must be one of {', '.join(_ROLES)}")
    if not isinstance(value.get("content"), (str, list)):
        raise BlockError(line, "content must be a text, or a list of parts")
    return value


def _with_option(block: Block, say: Say, word: str) -> Say:
    name, _, value = word.partition("=")
    is_number = value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS
    number = int(value) if is_number else None
    if name == "toolCalls" and number is not None:
        return replace(say, tool_calls=number)
    if name == "times" and number is not None and 1 <= number <= _MOST_TIMES:
        return replace(say, times=number)
    if name == "ok" and value in {"true", "false"}:
        return replace(say, ok=value == "true")
    if name == "session" and value:
        return replace(say, session=value)
    wanted = f"toolCalls=N, times=N (up to {_MOST_TIMES}), ok=false or session=NAME"
    raise block.fail(f"`{word}` is not known here: use {wanted}")


_BY_PERSON = ("by=person",)


def _take_call(block: Block, steps: list[Step]) -> None:
    arguments = _object(block, block.value())
    if block.words not in {(), _BY_PERSON}:
        raise block.fail(f"`{block.words[0]}` is not known: `by=person` may follow")
    call = Call(
        line=block.line, title=block.title, arguments=arguments, by_person=bool(block.words)
    )
    steps.append(call)


def _take_result(block: Block, steps: list[Step]) -> None:
    call = _unanswered(block, steps)
    steps[-1] = replace(call, result=_object(block, block.value()))


def _take_error(block: Block, steps: list[Step]) -> None:
    call = _unanswered(block, steps)
    if not block.text.strip():
        raise block.fail("is empty: write the words of the refusal, `...` for any text")
    steps[-1] = replace(call, error=block.text.strip())


def _unanswered(block: Block, steps: Sequence[Step]) -> Call:
    last = steps[-1] if steps else None
    if not isinstance(last, Call) or _checks(last):
        raise block.fail(f"`{block.kind}` belongs right behind the `json call` that it answers")
    return last


def _take_expect(block: Block, steps: list[Step]) -> None:
    wanted = _object(block, block.value())
    if not wanted:
        raise block.fail("expects nothing")
    _known(block, wanted, ("proposals", "events", "files", "snapshot", "log", "reviewer"))
    snapshot = _inner(block, wanted, "snapshot", ("lists", "lacks"))
    reviewer = _inner(block, wanted, "reviewer", ("asked", "saw", "lacks"))
    files = _inner(block, wanted, "files", ())
    steps.append(
        Expect(
            line=block.line,
            title=block.title,
            proposals=_objects(block, wanted, "proposals"),
            events=_objects(block, wanted, "events"),
            files={_path(block, path): _file(block, path, how) for path, how in files.items()},
            listed=_texts(block, snapshot, "lists"),
            unlisted=_texts(block, snapshot, "lacks"),
            log=_texts(block, wanted, "log") if "log" in wanted else None,
            asked=_count(block, reviewer, "asked"),
            saw=_texts(block, reviewer, "saw"),
            unseen=_texts(block, reviewer, "lacks"),
        )
    )


_Take = Callable[[Block, list[Step]], None]
# The languages that a block may have (none: any), how many words more, and who reads it.
_KINDS: Mapping[str, tuple[tuple[str, ...], int, _Take]] = MappingProxyType(
    {
        "config": (("json5", "json"), 0, _take_config),
        "file": ((), 1, _take_file),
        "reviewer": (("json", "text"), 0, _take_reply),
        "turn": (("jsonl",), 4, _take_turn),
        "call": (("json", "json5"), 1, _take_call),
        "result": (("json", "json5"), 0, _take_result),
        "error": (("text",), 0, _take_error),
        "expect": (("json", "json5"), 0, _take_expect),
    }
)


def _file(block: Block, path: str, how: object) -> FileWanted:
    if isinstance(how, bool):
        return FileWanted(exists=how)
    if not isinstance(how, Mapping):
        raise block.fail(f"{path} must be true, false or an object", path)
    _known(block, how, ("contains", "lacks", "equals", "unchanged"))
    equals, unchanged = how.get("equals"), how.get("unchanged", False)
    if equals is not None and not isinstance(equals, str):
        raise block.fail("equals must be a text", "equals")
    if not isinstance(unchanged, bool):
        raise block.fail("unchanged must be true or false", "unchanged")
    return FileWanted(
        contains=_texts(block, how, "contains"),
        lacks=_texts(block, how, "lacks"),
        equals=equals,
        unchanged=unchanged,
    )


def _path(block: Block, path: str) -> str:
    try:
        return "/".join(segments(path))
    except PathRefused as error:
        raise block.fail(f"{error} Give a path below the workspace.", path) from error


def _object(block: Block, value: object, name: str = "") -> Mapping[str, object]:
    if isinstance(value, Mapping):
        return value
    raise block.fail(f"{name or 'it'} must be an object", name)


def _known(block: Block, value: Mapping[str, object], names: Sequence[str]) -> None:
    for name in value:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"use one of {', '.join(names)}"
            raise block.fail(f"`{name}` is not known here: {hint}", name)


def _inner(
    block: Block, value: Mapping[str, object], name: str, known: Sequence[str]
) -> Mapping[str, object]:
    inner = _object(block, value.get(name, {}), name)
    if known:
        _known(block, inner, known)
    return inner


def _objects(block: Block, value: Mapping[str, object], name: str) -> Sequence[object] | None:
    if name not in value:
        return None
    found = value[name]
    if isinstance(found, list) and all(isinstance(item, Mapping) for item in found):
        return found
    raise block.fail(f"{name} must be a list of objects", name)


def _texts(block: Block, value: Mapping[str, object], name: str) -> tuple[str, ...]:
    found = value.get(name, [])
    if isinstance(found, list) and all(isinstance(item, str) and item for item in found):
        return tuple(found)
    raise block.fail(f"{name} must be a list of texts", name)


def _count(block: Block, value: Mapping[str, object], name: str) -> int | None:
    found = value.get(name)
    if found is None or (type(found) is int and found >= 0):
        return found
    raise block.fail(f"{name} must be a whole number", name)
