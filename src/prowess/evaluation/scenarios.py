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

The blocks of a scenario: code fences whose second word says what to do with them.

A fence with one word or none is for readers alone. What stands right above a fence is its title, so
that a scenario reads the same in an editor and in a terminal. Lines are counted as editors do.

Whether what was seen is what a scenario expects, and where it first is not.

An object needs the keys that are named and may have others; a list needs exactly its items. In a
text `...` stands for any text, and `${name}` for a value that has this name from then on.

The steps of a scenario: what happens in it, and what is to be seen then.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from prowess.safety.paths import PathRefused, segments
from prowess.skills.json_text import RepeatedKeyError, is_plain, strict_loads
from prowess.skills.text import one_line

_LONGEST_TITLE = 100
_JSON5_LINE = re.compile(r"<string>:(\d+) (.*)", re.DOTALL)
_REPEATED = re.compile(r'Duplicate key "(.*)" found')


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a scenario, and on which line."""

    line: int
    text: str


class BlockError(Exception):
    """A block cannot be used; never leaves the readers of scenarios."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.problem = Problem(line, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fence: where it stands, what it is for, and what it holds."""

    line: int
    title: str
    language: str
    kind: str
    words: tuple[str, ...]
    text: str

    def fail(self, text: str, near: str = "") -> BlockError:
        """Return the error that this is wrong, on the line that speaks of `near`."""
        return BlockError(self._line_of(near), text)

    def _line_of(self, near: str) -> int:
        if near:
            quoted = re.compile(rf"(?<![\w-]){re.escape(near)}(?![\w-])")
            for number, line in enumerate(self.text.split("\n"), start=1):
                if quoted.search(line):
                    return self.line + number
        return self.line

    # JSON can be anything until it is looked at.
    def value(self) -> Any:  # noqa: ANN401
        """Return what the block holds as JSON, or as JSON5 where it says so.

        Raises:
            BlockError: it is neither.
        """
        return _plain(self, self._json5() if self.language == "json5" else self._json())

    # As above.
    def lines(self) -> list[tuple[int, Any]]:
        """Return the JSON of each line that holds any, with the line's number in the file.

        Raises:
            BlockError: a line is no JSON.
        """
        found = []
        for number, line in enumerate(self.text.split("\n"), start=self.line + 1):
            if line.strip():
                found.append((number, _plain(self, _loads(line, number))))
        return found

    # As above.
    def _json(self) -> Any:  # noqa: ANN401
        return _loads(self.text.rstrip(), self.line + 1)

    # As above.
    def _json5(self) -> Any:  # noqa: ANN401
        # Late: its reader is slow to load, and a list of scenarios needs it for some only.
        import json5

        try:
            return json5.loads(self.text, allow_duplicate_keys=False)
        except (ValueError, RecursionError) as error:
            if found := _JSON5_LINE.match(str(error)):
                raise BlockError(
                    self.line + int(found[1]), f"is not JSON5: {one_line(found[2])}"
                ) from error
            key = _REPEATED.match(str(error))
            raise self.fail(f"is not JSON5: {error}", key[1] if key else "") from error


# As above.
def _loads(text: str, first_line: int) -> Any:  # noqa: ANN401
    try:
        return strict_loads(text)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        raise BlockError(line, f"is not JSON: {error.msg} (column {error.colno})") from error
    except RepeatedKeyError as error:
        lines = [n for n, line in enumerate(text.split("\n")) if f'"{error}"' in line]
        place = first_line + (lines[-1] if lines else 0)
        raise BlockError(place, f'repeats the key "{error}"') from error
    except (ValueError, RecursionError) as error:
        raise BlockError(first_line, f"is not JSON that is read: {error}") from error


# As above.
def _plain(block: Block, value: Any) -> Any:  # noqa: ANN401
    if not is_plain(value):
        raise block.fail("holds a number, a nesting or a half character that is not read")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A scenario as Markdown: its first heading, its first paragraph, and its blocks."""

    title: str
    summary: str
    blocks: tuple[Block, ...]
    problems: tuple[Problem, ...]


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    # Blocks only: nothing inside of a paragraph is looked at.
    return MarkdownIt("commonmark").disable("inline").disable("reference")


def read_page(text: str) -> Page:
    """Return the blocks of a Markdown file, with what is wrong with its fences."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    title = summary = ""
    blocks: list[Block] = []
    problems: list[Problem] = []
    for kind, above, token in _leaves(text):
        if kind == "heading":
            title = title or one_line(token.content)
        elif kind == "paragraph":
            summary = summary or one_line(token.content)
        elif not _is_closed(token, lines):
            problems.append(
                Problem(_line(token), "begins a block that never ends: close the fence")
            )
        elif block := _block(token, above):
            blocks.append(block)
    return Page(title=title, summary=summary, blocks=tuple(blocks), problems=tuple(problems))


def _leaves(text: str) -> Iterator[tuple[str, str, Token]]:
    """Yield headings, paragraphs and fences, each with the text that stands above it."""
    above, opened = "", ""
    for token in _parser().parse(text):
        if token.type in {"heading_open", "paragraph_open"}:
            opened = token.type.removesuffix("_open")
        elif token.type == "inline":
            above = one_line(token.content)
            yield opened, "", token
        elif token.type == "fence":
            yield "fence", above, token
            # It is the title of one block.
            above = ""


def _block(token: Token, above: str) -> Block | None:
    words = token.info.split()
    if len(words) <= 1:
        return None
    language, kind, *rest = words
    title = above.lstrip("# ").rstrip(": ") or f"then: {kind}"
    is_long = len(title) > _LONGEST_TITLE
    return Block(
        line=_line(token),
        title=title[: _LONGEST_TITLE - 1].rstrip() + "…" if is_long else title,
        language=language.lower(),
        kind=kind.lower(),
        words=tuple(rest),
        text=token.content,
    )


def _line(token: Token) -> int:
    return (token.map or [0])[0] + 1


def _is_closed(token: Token, lines: list[str]) -> bool:
    first, end = token.map or [0, 0]
    last = lines[end - 1].lstrip(" >\t") if end - 1 > first else ""
    return last.startswith(token.markup)


_ANY = "..."
_NAME = re.compile(r"\$\{([A-Za-z]\w*)\}")
_LONGEST = 400
_ABSENT = "nothing"

Names = MutableMapping[str, object]


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
        return _objects(expected, seen, names, place)
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        return _lists(expected, seen, names, place)
    if isinstance(expected, str):
        return _texts(expected, seen, names, place)
    same = expected == seen and isinstance(expected, bool) == isinstance(seen, bool)
    return [] if same else [Mismatch(place, shown(expected), shown(seen))]


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


def missing(patterns: Sequence[str], lines: Sequence[str]) -> str | None:
    """Return the first pattern that no line follows after those of the patterns before it."""
    left = iter(lines)
    for pattern in patterns:
        if not any(follows(pattern, line) for line in left):
            return pattern
    return None


def names_in(value: object) -> Iterator[str]:
    """Yield the names that stand in a value."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from names_in(part)
    elif isinstance(value, str):
        if found := _NAME.fullmatch(value):
            yield found[1]
    elif isinstance(value, Sequence):
        for part in value:
            yield from names_in(part)


def filled(value: object, names: Mapping[str, object]) -> object:
    """Return a value with what is known in place of each name."""
    if isinstance(value, Mapping):
        return {key: filled(part, names) for key, part in value.items()}
    if isinstance(value, str):
        found = _NAME.fullmatch(value)
        return names.get(found[1], value) if found else value
    return [filled(part, names) for part in value] if isinstance(value, Sequence) else value


def shown(value: object) -> str:
    """Return a value as one line that a person can compare."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _objects(
    expected: Mapping[object, object], seen: object, names: Names, place: str
) -> list[Mismatch]:
    if not isinstance(seen, Mapping):
        return [Mismatch(place, shown(expected), shown(seen))]
    found: list[Mismatch] = []
    for key, part in expected.items():
        inner = f"{place}.{key}"
        if key in seen:
            found += match(part, seen[key], names, inner)
        # `null` also means that there is no such key.
        elif part is not None:
            found.append(Mismatch(inner, shown(part), _ABSENT))
    return found


def _lists(expected: Sequence[object], seen: object, names: Names, place: str) -> list[Mismatch]:
    if not isinstance(seen, Sequence) or isinstance(seen, str):
        return [Mismatch(place, shown(expected), shown(seen))]
    if len(seen) != len(expected):
        brief = [_like(expected[0], item) for item in seen] if expected else seen
        return [Mismatch(place, shown(expected), shown(brief))]
    found: list[Mismatch] = []
    for number, (part, item) in enumerate(zip(expected, seen, strict=True)):
        found += match(part, item, names, f"{place}[{number}]")
    return found


def _like(expected: object, seen: object) -> object:
    """Return of what was seen the keys that are expected: the rest would bury them."""
    if not isinstance(expected, Mapping) or not isinstance(seen, Mapping):
        return seen
    return {key: seen[key] for key in expected if key in seen}


def _texts(expected: str, seen: object, names: Names, place: str) -> list[Mismatch]:
    named = _NAME.fullmatch(expected)
    if named:
        known = names.setdefault(named[1], seen)
        return [] if known == seen else [Mismatch(place, shown(known), shown(seen))]
    if isinstance(seen, str) and follows(expected, seen):
        return []
    return [Mismatch(place, shown(expected), shown(seen))]


DEFAULT_SESSION = "scenario"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something that happens, and where the file says so."""

    line: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Configure(Step):
    """The operator writes the config."""

    config: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFile(Step):
    """Somebody writes a file of the workspace."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Step):
    """The reviewing model gets its next answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Say(Step):
    """A turn of a conversation ends."""

    messages: tuple[Mapping[str, object], ...]
    tool_calls: int = 0
    ok: bool = True
    session: str = DEFAULT_SESSION
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Step):
    """The agent calls the tool; without a result or an error it must only be answered."""

    arguments: Mapping[str, object]
    # Whether a person said yes to it.
    by_person: bool = False
    result: Mapping[str, object] | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWanted:
    """How a file of the workspace should be."""

    exists: bool = True
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    # Byte for byte; None where it does not matter.
    equals: str | None = None
    # Byte for byte what the last `file` block wrote there.
    unchanged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect(Step):
    """What is to be seen; what is None is not looked at."""

    proposals: Sequence[object] | None = None
    events: Sequence[object] | None = None
    files: Mapping[str, FileWanted] = field(default_factory=lambda: MappingProxyType({}))
    listed: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    # In this order, since the last block that looked at the log; others may stand between.
    log: tuple[str, ...] | None = None
    asked: int | None = None
    saw: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()


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
            proposals=_objects_scenarios(block, wanted, "proposals"),
            events=_objects_scenarios(block, wanted, "events"),
            files={_path(block, path): _file(block, path, how) for path, how in files.items()},
            listed=_texts_scenarios(block, snapshot, "lists"),
            unlisted=_texts_scenarios(block, snapshot, "lacks"),
            log=_texts_scenarios(block, wanted, "log") if "log" in wanted else None,
            asked=_count(block, reviewer, "asked"),
            saw=_texts_scenarios(block, reviewer, "saw"),
            unseen=_texts_scenarios(block, reviewer, "lacks"),
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
        contains=_texts_scenarios(block, how, "contains"),
        lacks=_texts_scenarios(block, how, "lacks"),
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


def _objects_scenarios(
    block: Block, value: Mapping[str, object], name: str
) -> Sequence[object] | None:
    if name not in value:
        return None
    found = value[name]
    if isinstance(found, list) and all(isinstance(item, Mapping) for item in found):
        return found
    raise block.fail(f"{name} must be a list of objects", name)


def _texts_scenarios(block: Block, value: Mapping[str, object], name: str) -> tuple[str, ...]:
    found = value.get(name, [])
    if isinstance(found, list) and all(isinstance(item, str) and item for item in found):
        return tuple(found)
    raise block.fail(f"{name} must be a list of texts", name)


def _count(block: Block, value: Mapping[str, object], name: str) -> int | None:
    found = value.get(name)
    if found is None or (type(found) is int and found >= 0):
        return found
    raise block.fail(f"{name} must be a whole number", name)
