"""From a word as written to the arguments that a shell makes of it; where redirections lead."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import islice

from prowess.safety.facts import Act
from prowess.safety.languages.shell.state import (
    EMPTY,
    SHELL_OUTPUT,
    Argv,
    Datum,
    Shell,
    join,
    load_names,
    unknown,
    write_file,
)
from prowess.safety.languages.shell.words import (
    Array,
    Part,
    Redirect,
    Substitution,
    Text,
    Variable,
    Word,
)
from prowess.secrets.names import is_secret_name

_MAX_GLOB = 400
# Braces and separators that came from quotes or variables must not be read again.
_MASK = str.maketrans({"{": "\ue000", "}": "\ue001", ",": "\ue002"})
_UNMASK = str.maketrans({"\ue000": "{", "\ue001": "}", "\ue002": ","})
_BRACES = re.compile(r"\{([^{},]*+,[^{}]*+)\}")
_SPACE = re.compile(r"[ \t\n]+")
_ENVIRONMENT_NAME = re.compile(r"[A-Z][A-Z0-9_]*\Z")
_NUMBER = re.compile(r"\s*\(?\s*(-?\d{1,6})\s*\)?\s*\Z")
# What these hold wherever a script runs: a shell, whichever it is.
_KNOWN_VALUES = {"IFS": " ", "SHELL": "/bin/sh", "BASH": "/bin/bash", "0": "bash"}


def expand(shell: Shell, written: list[Word]) -> list[Datum]:
    """Return the arguments that `written` becomes."""
    return [value for word in written for value in expand_word(shell, word)]


def expand_one(shell: Shell, word: Word) -> Datum:
    """Return `word` as one text, as in an assignment or after a redirection."""
    values = [value for value, _ in _segments(shell, word.parts, split=False)]
    return join(values) if values else replace(EMPTY, pieces=((word.start, 0, True),))


def expand_word(shell: Shell, word: Word) -> list[Datum]:
    """Return the arguments that `word` becomes: mostly one."""
    if len(word.parts) == 1 and isinstance(word.parts[0], Text):
        part = word.parts[0]
        if part.quoted or "{" not in part.text:
            return [_make_literal(part)]
    fields: list[list[tuple[Datum, bool]]] = [[]]
    for value, plain in _segments(shell, word.parts, split=True):
        if value is _SEPARATOR:
            fields.append([])
        else:
            fields[-1].append((value, plain))
    return [value for field in fields if field for value in _expand_field(field)]


_SEPARATOR = Datum(" ", source="separator")


def _make_literal(part: Text) -> Datum:
    return Datum(part.text, pieces=((part.start, len(part.text), part.exact),))


def _segments(shell: Shell, parts: list[Part], *, split: bool) -> list[tuple[Datum, bool]]:
    """Return the values of `parts`, each with whether it was written plainly."""
    found: list[tuple[Datum, bool]] = []
    for part in parts:
        if isinstance(part, Text):
            found.append((_make_literal(part), not part.quoted))
            continue
        value = _value(shell, part)
        if split and not isinstance(part, Array) and (not part.quoted or _is_list(part)):
            found += _split(value)
        else:
            found.append((value, False))
    return found


def _is_list(part: Variable | Substitution) -> bool:
    """Whether it becomes several arguments even inside quotes: `"$@"`, `"${a[@]}"`."""
    return isinstance(part, Variable) and (part.name == "@" or part.name.endswith("[@]"))


# A command with more arguments than this from one expansion is no command that anybody wrote.
_MAX_FIELDS = 120


def _split(value: Datum) -> list[tuple[Datum, bool]]:
    """Cut what an unquoted expansion gives at its blanks."""
    if not value.known or not any(blank in value.text for blank in " \t\n"):
        return [(value, False)]
    found: list[tuple[Datum, bool]] = []
    at = 0
    for blank in islice(_SPACE.finditer(value.text), _MAX_FIELDS):
        if blank.start() > at:
            found.append((value.cut(at, blank.start()), False))
        found.append((_SEPARATOR, False))
        at = blank.end()
    if at < len(value.text):
        found.append((value.cut(at), False))
    return found


def _expand_field(field: list[tuple[Datum, bool]]) -> list[Datum]:
    if not any(plain and "{" in value.text for value, plain in field):
        return [join([value for value, _ in field])]
    whole = join([value for value, _ in field])
    masked = "".join(value.text if plain else value.text.translate(_MASK) for value, plain in field)
    texts = _expand_braces(masked)
    if len(texts) == 1:
        return [whole]
    start = whole.pieces[0][0] if whole.pieces else 0
    return [
        replace(whole, text=text, pieces=((start, len(text), False),))
        for text in (text.translate(_UNMASK) for text in texts)
        if text
    ]


def _expand_braces(text: str) -> list[str]:
    done: list[str] = []
    waiting = [text]
    while waiting and len(done) + len(waiting) <= _MAX_FIELDS:
        current = waiting.pop(0)
        braces = _BRACES.search(current)
        if braces is None:
            done.append(current)
            continue
        head, tail = current[: braces.start()], current[braces.end() :]
        waiting[:0] = [head + choice + tail for choice in braces[1].split(",")[:_MAX_FIELDS]]
    return [*done, *waiting]


def _value(shell: Shell, part: Variable | Substitution | Array) -> Datum:
    if isinstance(part, Variable):
        return _bound(shell, _expansion(shell, part), part)
    if isinstance(part, Array):
        return join(expand(shell, part.words), " ") if part.words else EMPTY
    output = shell.run_body(part.body)
    if part.direction == ">":
        return unknown(text="/dev/fd/63")
    if part.direction:
        return replace(output, text="", known=False, source=output.source or "pipe")
    placed = (
        output
        if output.pieces
        else replace(output, pieces=((part.start, len(output.text), False),))
    )
    trimmed = placed.text.rstrip("\n")
    return placed if len(trimmed) == len(placed.text) else placed.cut(0, len(trimmed))


def _bound(shell: Shell, value: Datum, part: Variable) -> Datum:
    """Keep texts that double themselves from growing without end."""
    shell.ledger.room -= len(value.text)
    if shell.ledger.room < 0:
        return replace(value, text="", known=False, pieces=())
    if value.pieces and sum(piece[1] for piece in value.pieces) == len(value.text):
        return value
    return replace(value, pieces=((part.start, len(value.text), False),))


def _expansion(shell: Shell, part: Variable) -> Datum:
    name = part.name.partition("[")[0]
    if name == "((":
        return unknown(text="0")
    if len(name) > 1 and name[0] == "#":
        return unknown(text="0")
    if len(name) > 1 and name[0] == "!":
        pointer = shell.variable(name[1:])
        name = pointer.text if pointer and pointer.known else name[1:]
    value = shell.variable(name)
    operate = _OPERATIONS.get(part.operator)
    if operate is None:
        return value if value is not None else _unset(shell, name)
    return operate(shell, value, part)


def _unset(shell: Shell, name: str) -> Datum:
    """Return what a variable holds that the text does not set."""
    if name in _KNOWN_VALUES:
        return Datum(_KNOWN_VALUES[name])
    if name.isdigit() or name in ("@", "*"):
        return _argument(shell, name)
    text = f"${name}"
    if name in load_names("plain_variables") or not name[:1].isalpha():
        return Datum("") if name == "9" else unknown(text=text)
    if name in load_names("host_variables"):
        return unknown("host", text=text)
    if _ENVIRONMENT_NAME.match(name) or is_secret_name(name):
        return unknown(f"env:{name}", text=text)
    return unknown(text=text)


def _argument(shell: Shell, name: str) -> Datum:
    if shell.arguments is not None:
        if name in ("@", "*"):
            return join(shell.arguments, " ") if shell.arguments else EMPTY
        index = int(name[:3]) - 1
        return shell.arguments[index] if 0 <= index < len(shell.arguments) else EMPTY
    if name == "9":
        return EMPTY
    return unknown("input", *shell.flow, text=f"${name}") if name != "0" else unknown(text="$0")


def _default(shell: Shell, value: Datum | None, part: Variable) -> Datum:
    name = part.name.partition("[")[0]
    if value is not None and (value.text or not value.known):
        return value
    otherwise = expand_one(shell, part.argument) if part.argument else EMPTY
    unset = _unset(shell, name) if value is None else EMPTY
    if not otherwise.text and unset.text:
        return unset
    result = otherwise.with_labels(*unset.labels)
    if part.operator in (":=", "="):
        shell.variables[name] = result
    return result


def _instead(shell: Shell, value: Datum | None, part: Variable) -> Datum:
    otherwise = expand_one(shell, part.argument) if part.argument else EMPTY
    return otherwise if value is None or value.text or not value.known else EMPTY


def _require(shell: Shell, value: Datum | None, part: Variable) -> Datum:
    return value if value is not None else _unset(shell, part.name.partition("[")[0])


def _cut_out(shell: Shell, value: Datum | None, part: Variable) -> Datum:
    if value is None or not value.known or part.argument is None:
        return _require(shell, value, part)
    offset, _, length = expand_one(shell, part.argument).text.partition(":")
    first, count = _NUMBER.match(offset), _NUMBER.match(length)
    if first is None or (length and count is None):
        return value
    start = int(first[1])
    start = max(len(value.text) + start, 0) if start < 0 else start
    if count is None:
        return value.cut(start)
    end = int(count[1])
    return value.cut(start, start + end if end >= 0 else max(len(value.text) + end, 0))


def _trim(shell: Shell, value: Datum | None, part: Variable) -> Datum:
    """`${x#pattern}` and `${x%pattern}`, on short constants."""
    if value is None or not value.known or part.argument is None or len(value.text) > _MAX_GLOB:
        return _require(shell, value, part)
    pattern = expand_one(shell, part.argument).text
    sizes = range(len(value.text) + 1)
    greedy = len(part.operator) > 1
    for size in reversed(sizes) if greedy else sizes:
        if part.operator[0] == "#" and fnmatchcase(value.text[:size], pattern):
            return value.cut(size)
        if part.operator[0] == "%" and fnmatchcase(value.text[len(value.text) - size :], pattern):
            return value.cut(0, len(value.text) - size)
    return value


def _replace(shell: Shell, value: Datum | None, part: Variable) -> Datum:
    if value is None or not value.known or part.argument is None:
        return _require(shell, value, part)
    old, _, new = expand_one(shell, part.argument).text.partition("/")
    if not old or any(mark in old for mark in "*?["):
        return replace(value, known=False)
    count = -1 if part.operator == "//" else 1
    text = value.text.replace(old, new, count)[: len(value.text) + 4096]
    start = value.pieces[0][0] if value.pieces else part.start
    return replace(value, text=text, pieces=((start, len(text), False),))


def _recase(shell: Shell, value: Datum | None, part: Variable) -> Datum:
    if value is None or not value.known or not value.text.isascii():
        return _require(shell, value, part)
    change = str.upper if part.operator[0] == "^" else str.lower
    head, tail = value.text[:1], value.text[1:]
    text = change(head) + (change(tail) if len(part.operator) > 1 else tail)
    return replace(value, text=text)


_Operation = Callable[[Shell, Datum | None, Variable], Datum]
_OPERATIONS: dict[str, _Operation] = {
    ":-": _default, "-": _default, ":=": _default, "=": _default,
    ":+": _instead, "+": _instead, ":?": _require, "?": _require, "@": _require,
    ":": _cut_out, "#": _trim, "##": _trim, "%": _trim, "%%": _trim,
    "/": _replace, "//": _replace, "^": _recase, "^^": _recase, ",": _recase, ",,": _recase,
}  # fmt: skip


_NETWORK = re.compile(r"/dev/(?:tcp|udp)/([^/\s]+)/([^/\s]+)")
_OUTPUT = frozenset((">", ">>", ">|", "&>", "&>>", ">&"))


@dataclass(slots=True)
class Streams:
    """The open ends of one command."""

    stdin: Datum | None
    # The host to which a redirection connects standard input or output.
    link: str = ""
    outputs: list[tuple[Datum, bool]] = field(default_factory=list)
    sends: list[str] = field(default_factory=list)
    # Whether standard output still goes on down the pipeline.
    passes: bool = True

    def close(self, shell: Shell, output: Datum) -> Datum:
        """Write what the command printed, and return what goes on down the pipeline."""
        for path, append in self.outputs:
            write_file(shell, path, output, append=append)
        for host in self.sends:
            if SHELL_OUTPUT not in output.labels:
                shell.tell(Act.SEND, host, "tcp", output.labels, piped=True)
        return output if self.passes else EMPTY


def open_streams(shell: Shell, redirects: list[Redirect], stdin: Datum | None) -> Streams:
    """Return where `redirects` lead."""
    streams = Streams(stdin)
    for redirect in redirects:
        if redirect.body is not None:
            streams.stdin = expand_one(shell, redirect.body)
        elif redirect.operator == "<<<":
            streams.stdin = expand_one(shell, redirect.target)
        else:
            _open(shell, streams, redirect)
    return streams


def _open(shell: Shell, streams: Streams, redirect: Redirect) -> None:
    path = expand_one(shell, redirect.target)
    host = _host(shell, path.text, redirect)
    if redirect.operator in ("<", "<>", "<&"):
        if redirect.descriptor in ("", "0", "1"):
            _open_input(shell, streams, path, host)
        return
    if redirect.operator not in _OUTPUT or redirect.descriptor not in ("", "1"):
        return
    if host:
        streams.link = host
        streams.sends.append(host)
        streams.passes = False
    elif redirect.operator == ">&" and (path.text.isdigit() or path.text == "-"):
        # `>&2` shows a text to a person: nothing goes on.
        streams.passes = path.text == "1"
    elif path.text or path.source:
        streams.outputs.append((path, redirect.operator in (">>", "&>>")))
        streams.passes = False


def _open_input(shell: Shell, streams: Streams, path: Datum, host: str) -> None:
    if host:
        streams.link = host
        streams.stdin = unknown("remote", source=host)
    elif path.source and not path.text:
        streams.stdin = path
    elif path.text and not path.text.isdigit():
        streams.stdin = Argv(shell, "", []).read(path)


def _host(shell: Shell, path: str, redirect: Redirect) -> str:
    found = _NETWORK.match(path)
    if found:
        host = f"{found[1]}:{found[2]}"
        if redirect.descriptor not in ("", "0", "1", "2"):
            shell.descriptors[redirect.descriptor.strip("{}")] = host
        return host
    if redirect.operator in (">&", "<&"):
        return shell.descriptors.get(path.lstrip("$"), "")
    return ""
