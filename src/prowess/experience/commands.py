"""What a command line is at heart: which programs it runs, in which of their modes.

Agents chain commands as they please, so `a && b` counts as two steps and equals `a` and then `b`.
What only looks around (`ls`, `git status`) says nothing about a task, and neither does a filter
behind a pipe. A line that cannot be taken apart is one command, never an error. What varies in a
task are values of a kind: a file, a date, an address. Chinese and Japanese put no space around a
file's name, so a name ends where its script does.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

from prowess.data import read_table, read_words


class ValueKind(StrEnum):
    """A kind of value."""

    QUOTED = "text"
    URL = "url"
    EMAIL = "email"
    FILE = "file"
    FOLDER = "folder"
    PACKAGE = "package"
    DATE = "date"
    VERSION = "version"
    HASH = "hash"
    NUMBER = "number"
    TEXT = "words"


class FoundValue(NamedTuple):
    """A value in a text."""

    kind: ValueKind
    text: str
    start: int
    end: int


_LETTER = r"A-Za-z0-9_\u00c0-\u024f"
_EXTENSION = r"(?:tar\.)?[A-Za-z][A-Za-z0-9]{0,7}"
_NAME = rf"[{_LETTER}@+~-][{_LETTER}.@+~-]{{0,120}}"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = (
    r"(?:19|20)\d\d[-/._]\d{1,2}(?:[-/._]\d{1,2})?(?!\.?\d)|(?:19|20)\d\d(?:0[1-9]|1[0-2])[0-3]\d"
    # A day, a month and a year; `4.17.21` is a version.
    r"|(?:[0-3]?\d\.(?:0?[1-9]|1[0-2])\.|\d{1,2}/\d{1,2}/)(?:19|20)?\d\d"
    rf"|(?i:\d{{1,2}}\.? {_MONTH}(?: (?:19|20)\d\d)?|{_MONTH} (?:\d{{1,2}},? )?(?:19|20)\d\d)"
    r"|(?:19|20)\d\d\u5e74(?:\d{1,2}\u6708)?(?:\d{1,2}\u65e5)?|\d{1,2}\u6708\d{1,2}\u65e5"
)
# The first that fits counts: what is longer or surer comes first.
_FORMS: Mapping[ValueKind, str] = {
    ValueKind.QUOTED: (
        r"\"[^\"\n]{1,200}\"|\u201c[^\u201d\n]{1,200}\u201d|\u300c[^\u300d\n]{1,200}\u300d"
        r"|\u300a[^\u300b\n]{1,200}\u300b|\u00ab[^\u00bb\n]{1,200}\u00bb|`[^`\n]{1,200}`"
        r"|(?<![A-Za-z0-9])'[^'\n]{1,200}'(?![A-Za-z0-9])|\u2018[^\u2019\n]{1,200}\u2019"
    ),
    ValueKind.URL: r"[a-z][a-z0-9+]{1,12}://[^\s<>\"'`\u3000-\u9fff]{1,300}",
    ValueKind.EMAIL: r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}",
    ValueKind.FILE: (
        rf"(?<![{_LETTER}.])(?:~?/|\.{{1,2}}/)?(?:{_NAME}/){{0,20}}{_NAME}\.{_EXTENSION}"
        rf"(?![A-Za-z0-9_/-]|\.[A-Za-z0-9])"
    ),
    ValueKind.FOLDER: (
        rf"(?<![{_LETTER}.])(?:(?:~|\.{{1,2}})?/(?:{_NAME}/?){{1,20}}|(?:{_NAME}/){{1,20}}(?:{_NAME})?)"
    ),
    ValueKind.DATE: rf"(?<![\w.-])(?:{_DATE})(?![A-Za-z0-9])",
    ValueKind.VERSION: (
        r"(?<![\w.])v?\d{1,4}\.\d{1,4}(?:\.\d{1,6}){0,2}(?:-(?:rc|alpha|beta|dev)[.\d]{0,6})?"
        r"(?![A-Za-z0-9_%])(?!\.\d)"
    ),
    ValueKind.HASH: r"(?<![\w])(?=[a-f]{0,39}\d)(?=\d{0,39}[a-f])[0-9a-f]{7,40}(?![\w])",
    ValueKind.NUMBER: (
        r"(?<![A-Za-z0-9_.])[#\u20ac$]?\d{1,15}(?:[.,:]\d{1,9}){0,4}%?(?![A-Za-z0-9_])"
    ),
}
_ANY = re.compile("|".join(f"(?P<{kind.name}>{form})" for kind, form in _FORMS.items()))
_PACKAGE = re.compile(r"(?:com|org|net|io|tv|me|cn|de|jp|app)(?:\.[a-z][a-z0-9_]{0,40}){2,6}")
_HOST = re.compile(
    r"(?:[a-z0-9-]{1,63}\.){1,4}(?:com|org|net|io|dev|ai|co|edu|gov|eu|de|fr|uk|cn|jp)",
    re.IGNORECASE,
)
_WHOLE_NUMBER = re.compile(r"[#+-]?\d{1,15}(?:[.,:]\d{1,9}){0,4}%?")
_FULL_DATE = re.compile(_DATE)
_ENDING = re.compile(rf"\.(?P<ending>{_EXTENSION})\Z")
_TRAIL = ".,;:!?)"


def find_values(text: str) -> Iterator[FoundValue]:
    """Yield the values of a text, in order."""
    for hit in _ANY.finditer(text):
        kind = ValueKind[hit.lastgroup or "TEXT"]
        value = hit[0].rstrip(_TRAIL) if kind in (ValueKind.URL, ValueKind.FOLDER) else hit[0]
        if kind is ValueKind.FOLDER and _is_alternative(value):
            continue
        yield FoundValue(_refine(kind, value), value, hit.start(), hit.start() + len(value))


def classify_value(value: str) -> ValueKind:
    """Return what kind of thing a whole value is."""
    if _FULL_DATE.fullmatch(value):
        return ValueKind.DATE
    found = _ANY.fullmatch(value)
    if found is not None:
        return _refine(ValueKind[found.lastgroup or "TEXT"], value)
    if read_ending(value) and not re.search(r"\s", value):
        # A name in a script that would not be told from the words around it.
        return ValueKind.FILE
    return ValueKind.NUMBER if _WHOLE_NUMBER.fullmatch(value) else ValueKind.TEXT


def read_ending(path: str) -> str:
    """Return the ending of a file's name in small letters, without its dot; empty where none."""
    name = path.rsplit("/", 1)[-1]
    found = _ENDING.search(name)
    return found["ending"].lower() if found and found.start() else ""


def strip_ending(path: str) -> str:
    """Return a file's name or path without its ending."""
    ending = read_ending(path)
    return path[: -len(ending) - 1] if ending else path


def _refine(kind: ValueKind, value: str) -> ValueKind:
    if kind is not ValueKind.FILE or "/" in value:
        return kind
    if _PACKAGE.fullmatch(value):
        return ValueKind.PACKAGE
    return ValueKind.URL if _HOST.fullmatch(value) else kind


def _is_alternative(value: str) -> bool:
    """Return whether a slash stands between two words, as in `and/or`."""
    return value.count("/") == 1 and not value.endswith("/") and value[0] not in "~./"


_MOST_PARTS, _MOST_READ = 20, 4_000


class CommandGist(NamedTuple):
    """The programs of one command, how much it says about its task, and whether it only looks."""

    name: str
    weight: float
    is_look: bool


_COMPOUND = re.compile(r"\s*(?:for|while|until|if|case|function|select|\{|\()(?:\s|$)|\w+\s*\(\)")
_PROGRAM = re.compile(r"(?!(?:for|while|until|if|case|select|function|cd|echo|test)\Z)[a-z][\w+-]*")
_MODE = re.compile(r"[a-z][a-z0-9:_-]*")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
# Without any of these a line is one command.
_CUTTING = re.compile(r"&&|[;\n]|<<")
# Where a quote or an escape begins, or a place to cut.
_PIECE = re.compile(
    r"[^\\'\"$`(<&|;\n]+|\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"|\$\([^()]*\)|`[^`]*`|\([^()]*\)|<<<?"
    r"|&&|\|\||;;|[|;\n]|.",
    re.DOTALL,
)
# A word as a shell reads it, and what of it is no letter of its own.
_WORD = re.compile(r"(?:[^\s'\"\\]|\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\")+", re.DOTALL)
_HARD = re.compile(r"['\"\\#]")
_QUOTED = re.compile(r"\\(.)|'([^']*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_ESCAPED = re.compile(r"\\([\"\\])")
_WRITES = re.compile(r"(?<![0-9&>=-])(?:>>?|&>)\s*(?!/dev/null|&|=)\S")
_TEE = re.compile(r"\|\s*tee\s")


@cache
def _names(key: str) -> frozenset[str]:
    """Return a list of `commands.toml`; what is more than one word stands in a list of texts."""
    groups = read_table("experience/commands.toml").values()
    held = next(group[key] for group in groups if key in group)
    return read_words(held) if isinstance(held, str) else frozenset(held)


@cache
def _find_general() -> frozenset[str]:
    return frozenset().union(*(_names(key) for key in ("general", "usual", "looks")))


# A longer command holds a text, in which a dash is no option.
_MOST_TOLD, _LONGEST_CLUSTER = 400, 5
_OPTION = re.compile(r"--?[A-Za-z][A-Za-z-]*")
_LOOK_WEIGHT, _USUAL_WEIGHT, _AT_HAND_WEIGHT, _WEIGHT = 0.1, 0.4, 0.5, 1.0


@cache
def _compile_shortened() -> re.Pattern[str]:
    names = "|".join(sorted(_names("filters") - {"tee"}))
    return re.compile(rf"\s*(?:2>&1|[12&]?>\s?/dev/null|\|\s*(?:{names})(?=\s|\Z)[^|]*)")


@cache
def _compile_filtered() -> re.Pattern[str]:
    return re.compile(rf"\|\s*(?:{'|'.join(sorted(_names('filters')))})(?:\s[^|]*)?\Z")


def split_line(command: str) -> tuple[str, ...]:
    """Return the commands that a line chains; one that has a body of its own stays whole."""
    line = command[:_MOST_READ].replace("\\\n", " ").strip()
    if len(command) > _MOST_READ or _COMPOUND.match(line):
        return (command.strip(),)
    if not _CUTTING.search(line):
        return (line,) if line and not line.startswith("#") else ()
    pieces = [hit[0] for hit in _PIECE.finditer(line)]
    if "<<" in pieces:
        return (command.strip(),)
    parts = [part for part in _cut(pieces, ("&&", ";", "\n")) if not part.startswith("#")]
    if len(parts) > _MOST_PARTS or any(_COMPOUND.match(part) for part in parts):
        return (command.strip(),)
    return tuple(parts)


def summarize_command(part: str) -> CommandGist:
    """Return which programs one command runs, and how much that says."""
    piped = list(_split_pipe(part[:_MOST_READ]))
    names = [name for name in (_program(one) for one in piped) if name] or ["?"]
    kept = [names[0], *(name for name in names[1:] if name not in _names("filters"))]
    writes = (">" in part or "|" in part) and bool(_WRITES.search(part) or _TEE.search(part))
    if all(name in _names("looks") for name in kept) and not writes:
        return CommandGist(" | ".join(kept), _LOOK_WEIGHT, is_look=True)
    kept = [name for name in kept if name not in _names("looks")] or kept
    return CommandGist(" | ".join(kept), max(map(_weight, kept)), is_look=False)


def is_general(name: str) -> bool:
    """Return whether what `summarize_command` or a gesture is called says nothing about a task."""
    return all(one in _find_general() or one in _names("at_hand") for one in name.split(" | "))


def _weight(name: str) -> float:
    if name in _names("at_hand"):
        return _AT_HAND_WEIGHT
    return _USUAL_WEIGHT if name in _names("usual") or name in _names("looks") else _WEIGHT


def find_programs(part: str) -> tuple[str, ...]:
    """Return the programs that one command needs, without their modes."""
    first = (_unwrap(_words(one))[:1] for one in _split_pipe(part[:_MOST_READ]))
    names = (words[0].rsplit("/", 1)[-1] for words in first if words and words[0][:1] not in "./~")
    usable = (name for name in names if name not in _names("looks") and _PROGRAM.fullmatch(name))
    return tuple(dict.fromkeys(usable))


def find_options(part: str) -> tuple[str, ...]:
    """Return the options of one command by name, whatever they are given."""
    named = (_OPTION.match(word) for word in _arguments(part))
    return tuple(dict.fromkeys(_option_name(hit[0]) for hit in named if hit))


def find_modes(part: str) -> tuple[str, ...]:
    """Return the operands of one command that could be a mode: `plugin` and `activate`."""
    return tuple(dict.fromkeys(word for word in _arguments(part) if _MODE.fullmatch(word)))


def strip_filters(part: str) -> str:
    """Return a command without what only shortens or hides what it says."""
    return _compile_shortened().sub("", part).strip()


def is_filtered(before: str) -> bool:
    """Return whether what stands behind a part of a command belongs to a filter after a pipe."""
    return bool(_compile_filtered().search(before))


@lru_cache(maxsize=1_024)
def _arguments(part: str) -> tuple[str, ...]:
    return tuple(word for one in _keep_telling(part) for word in _unwrap(_words(one))[1:])


def _keep_telling(part: str) -> list[str]:
    """Return the commands of a pipe but for its filters; nothing of one with a body of its own."""
    if "\n" in part or len(part) > _MOST_TOLD or _COMPOUND.match(part):
        return []
    if "|" not in part:
        return [part]
    first, *others = [*_split_pipe(part), ""]
    return [first, *(one for one in others if _program(one) not in _names("filters"))]


def _option_name(word: str) -> str:
    # The letters of a cluster stand in any order.
    is_cluster = word[1:2] != "-" and len(word) <= _LONGEST_CLUSTER
    return f"-{''.join(sorted(word[1:]))}" if is_cluster else word


def find_script(part: str) -> str:
    """Return the name of the script that one command runs by an interpreter; empty where none."""
    for word in _words(part[:_MOST_READ])[:_MOST_PARTS]:
        if read_ending(word) in _names("script_endings"):
            return word.rsplit("/", 1)[-1]
    return ""


def _split_pipe(part: str) -> Iterator[str]:
    if "|" not in part:
        return iter([part.strip()] if part.strip() else [])
    return _cut([hit[0] for hit in _PIECE.finditer(part)], ("|",))


def _cut(pieces: Sequence[str], places: tuple[str, ...]) -> Iterator[str]:
    part: list[str] = []
    for piece in (*pieces, places[0]):
        if piece in places:
            if text := "".join(part).strip():
                yield text
            part = []
        else:
            part.append(piece)


def _program(part: str) -> str:
    words = _unwrap(_words(part))
    if not words:
        return ""
    name = re.sub(r"(?<=[a-z])[\d.]+\Z", "", words[0].rsplit("/", 1)[-1])
    if name in _names("interpreters") and (how := _how_run(words[1:], part)):
        return how if how not in {"-c", "here", "script"} else f"{name} {how}"
    if name not in _names("one"):
        return "script" if read_ending(name) in _names("script_endings") else name
    options = read_table("experience/commands.toml")["modes"]["options"]
    given = options.get(name, "").split()
    modes = [
        word
        for at, word in enumerate(words[1:])
        if _MODE.fullmatch(word) and words[at] not in given
    ]
    mode = f"{name} {modes[0]}" if modes else name
    return f"{mode} {modes[1]}" if mode in _names("two") and len(modes) > 1 else mode


def _words(part: str) -> list[str]:
    """Return the words of a command without their quotes, as `shlex` does and much sooner."""
    if not _HARD.search(part):
        return part.split()
    if "#" not in part and not _WORD.sub("", part).strip():
        return [_QUOTED.sub(_unquote, hit[0]) for hit in _WORD.finditer(part)]
    try:
        return shlex.split(part, comments=True)
    except ValueError:
        return part.split()


def _unquote(hit: re.Match[str]) -> str:
    escaped, single, double = hit.groups()
    return _ESCAPED.sub(r"\1", double) if double is not None else escaped or single or ""


def _unwrap(words: list[str]) -> list[str]:
    at = 0
    while at < len(words):
        if " ".join(words[at : at + 2]) in _names("runners") or words[at] == "timeout":
            at += 2
        elif (
            words[at] in _names("before")
            or _ASSIGNED.match(words[at])
            or (at and words[at][:1] == "-")
        ):
            at += 1
        else:
            break
    return words[at:]


def _how_run(words: list[str], part: str) -> str:
    """Return in which way an interpreter was given its program; a module is its own program."""
    if "<<" in part:
        return "here"
    for at, word in enumerate(words):
        if word == "-m" and at + 1 < len(words):
            return words[at + 1]
        if word in {"-c", "-e", "-lc", "-p"}:
            return "-c"
        if not word.startswith("-"):
            return "script"
    return ""
