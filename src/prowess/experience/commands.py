"""What a command line is at heart: which programs it runs, in which of their modes.

Agents chain commands as they please, so `a && b` counts as two steps and equals `a` and then `b`.
What only looks around (`ls`, `git status`) says nothing about a task, and neither does a filter
behind a pipe. A line that cannot be taken apart is one command, never an error.

What kind of thing a value is: a file, a date, an address. Such values are what varies in a task.

Chinese and Japanese put no space around a file's name, so a name ends where its script does. A
value that is no kind of its own is a text.

A stranger's text as one word of a bash script, as a word to show, and as a word of a comment.

`quoted` is the only way in which a text of a trace may stand in a script: bash reads the word back
as exactly that text, whatever it holds. The word never spans lines, and no character in it can move
a cursor or turn a line around, so that a script reads as it runs. Two things do not survive, since
bash has no place for them: a zero byte is left out, and half a surrogate pair becomes U+FFFD.
"""

import re
import shlex
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple


class Kind(StrEnum):
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


class Found(NamedTuple):
    """A value in a text."""

    kind: Kind
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
    r"|\d{1,2}[./]\d{1,2}[./](?:19|20)?\d\d"
    rf"|(?i:\d{{1,2}}\.? {_MONTH}(?: (?:19|20)\d\d)?|{_MONTH} (?:\d{{1,2}},? )?(?:19|20)\d\d)"
    r"|(?:19|20)\d\d\u5e74(?:\d{1,2}\u6708)?(?:\d{1,2}\u65e5)?|\d{1,2}\u6708\d{1,2}\u65e5"
)
# The first that fits counts: what is longer or surer comes first.
_FORMS: tuple[tuple[Kind, str], ...] = (
    (
        Kind.QUOTED,
        (
            r"\"[^\"\n]{1,200}\"|\u201c[^\u201d\n]{1,200}\u201d|\u300c[^\u300d\n]{1,200}\u300d"
            r"|\u300a[^\u300b\n]{1,200}\u300b|\u00ab[^\u00bb\n]{1,200}\u00bb|`[^`\n]{1,200}`"
            r"|(?<![A-Za-z0-9])'[^'\n]{1,200}'(?![A-Za-z0-9])|\u2018[^\u2019\n]{1,200}\u2019"
        ),
    ),
    (Kind.URL, r"[a-z][a-z0-9+]{1,12}://[^\s<>\"'`\u3000-\u9fff]{1,300}"),
    (Kind.EMAIL, r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}"),
    (
        Kind.FILE,
        (
            rf"(?<![{_LETTER}.])(?:~?/|\.{{1,2}}/)?(?:{_NAME}/){{0,20}}{_NAME}\.{_EXTENSION}"
            rf"(?![A-Za-z0-9_/-]|\.[A-Za-z0-9])"
        ),
    ),
    (
        Kind.FOLDER,
        rf"(?<![{_LETTER}.])(?:(?:~|\.{{1,2}})?/(?:{_NAME}/?){{1,20}}|(?:{_NAME}/){{1,20}}(?:{_NAME})?)",
    ),
    (Kind.DATE, rf"(?<![\w.-])(?:{_DATE})(?![A-Za-z0-9])"),
    (
        Kind.VERSION,
        (
            r"(?<![\w.])v?\d{1,4}\.\d{1,4}(?:\.\d{1,6}){0,2}(?:-(?:rc|alpha|beta|dev)[.\d]{0,6})?"
            r"(?![A-Za-z0-9_%])(?!\.\d)"
        ),
    ),
    (Kind.HASH, r"(?<![\w])(?=[a-f]{0,39}\d)(?=\d{0,39}[a-f])[0-9a-f]{7,40}(?![\w])"),
    (Kind.NUMBER, r"(?<![A-Za-z0-9_.])[#\u20ac$]?\d{1,15}(?:[.,:]\d{1,9}){0,4}%?(?![A-Za-z0-9_])"),
)
_ANY = re.compile("|".join(f"(?P<{kind.name}>{form})" for kind, form in _FORMS))
_PACKAGE = re.compile(r"(?:com|org|net|io|tv|me|cn|de|jp|app)(?:\.[a-z][a-z0-9_]{0,40}){2,6}")
_HOST = re.compile(
    r"(?:[a-z0-9-]{1,63}\.){1,4}(?:com|org|net|io|dev|ai|co|edu|gov|eu|de|fr|uk|cn|jp)",
    re.IGNORECASE,
)
_WHOLE_NUMBER = re.compile(r"[#+-]?\d{1,15}(?:[.,:]\d{1,9}){0,4}%?")
_FULL_DATE = re.compile(_DATE)
_ENDING = re.compile(rf"\.(?P<ending>{_EXTENSION})\Z")
_TRAIL = ".,;:!?)"


def values_in(text: str) -> Iterator[Found]:
    """Yield the values of a text, in order."""
    for hit in _ANY.finditer(text):
        kind = Kind[hit.lastgroup or "TEXT"]
        value = hit[0].rstrip(_TRAIL) if kind in (Kind.URL, Kind.FOLDER) else hit[0]
        if kind is Kind.FOLDER and _is_alternative(value):
            continue
        yield Found(_finer(kind, value), value, hit.start(), hit.start() + len(value))


def kind_of(value: str) -> Kind:
    """Return what kind of thing a whole value is."""
    if _FULL_DATE.fullmatch(value):
        return Kind.DATE
    found = _ANY.fullmatch(value)
    if found is not None:
        return _finer(Kind[found.lastgroup or "TEXT"], value)
    if ending_of(value) and not re.search(r"\s", value):
        # A name in a script that would not be told from the words around it.
        return Kind.FILE
    return Kind.NUMBER if _WHOLE_NUMBER.fullmatch(value) else Kind.TEXT


def ending_of(path: str) -> str:
    """Return the ending of a file's name in small letters, without its dot; empty where none."""
    name = path.rsplit("/", 1)[-1]
    found = _ENDING.search(name)
    return found["ending"].lower() if found and found.start() else ""


def without_ending(path: str) -> str:
    """Return a file's name or path without its ending."""
    ending = ending_of(path)
    return path[: -len(ending) - 1] if ending else path


def _finer(kind: Kind, value: str) -> Kind:
    if kind is not Kind.FILE or "/" in value:
        return kind
    if _PACKAGE.fullmatch(value):
        return Kind.PACKAGE
    return Kind.URL if _HOST.fullmatch(value) else kind


def _is_alternative(value: str) -> bool:
    """Return whether a slash stands between two words, as in `and/or`."""
    return value.count("/") == 1 and not value.endswith("/") and value[0] not in "~./"


_MOST_PARTS, _MOST_READ = 20, 4_000


class Command(NamedTuple):
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

_BEFORE = frozenset(("sudo", "env", "time", "nohup", "command", "exec", "npx", "uvx", "builtin"))
_RUNNERS = frozenset(
    (("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("hatch", "run"), ("bundle", "exec"))
)
_SCRIPTS = frozenset(("py", "sh", "js", "rb", "pl", "ts"))
_INTERPRETERS = frozenset(("python", "node", "bash", "sh", "zsh", "ruby", "perl", "deno", "bun"))
_WITH_MODES = frozenset(
    ("git", "docker", "podman", "npm", "pnpm", "yarn", "cargo", "kubectl", "go", "pip", "uv", "gh",
     "aws", "gcloud", "az", "brew", "apt", "apt-get", "systemctl", "make", "adb", "terraform",
     "helm", "poetry", "dotnet", "conda", "bun", "deno", "docker-compose", "just", "gradle", "mvn",
     "flutter", "glab", "prowess", "am", "pm", "input", "settings", "cmd")
)  # fmt: skip
# Options that take a word, which is no mode.
_GIVEN: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "kubectl": frozenset(("-n", "--namespace", "--context")),
        "helm": frozenset(("-n", "--namespace", "--kube-context")),
        "git": frozenset(("-C", "-c")),
        "docker": frozenset(("--context", "-H")),
        "adb": frozenset(("-s",)),
        "make": frozenset(("-C", "-f")),
        "npm": frozenset(("--prefix", "-w", "--workspace")),
        "gh": frozenset(("-R", "--repo")),
        "aws": frozenset(("--profile", "--region")),
        "gcloud": frozenset(("--project", "--account")),
        "systemctl": frozenset(("-H", "--host", "-M")),
    }
)
_TWO_MODES = frozenset(
    ("docker compose", "npm run", "pnpm run", "yarn run", "gh pr", "gh release", "gh issue",
     "aws s3", "gh repo", "git stash", "git remote", "docker image", "docker container")
)  # fmt: skip
_LOOKS = frozenset(
    ("ls", "pwd", "cat", "head", "tail", "find", "tree", "which", "file", "stat", "wc", "echo",
     "whoami", "date", "env", "grep", "rg", "fd", "less", "more", "du", "df", "type", "printf",
     "true", "cd", "sleep", "id", "uname", "hostname", "git status", "git log", "git diff",
     "git show", "git branch", "printenv", "export", "set", "test", "[", "hash", "ps", "docker ps",
     "history", "clear", "nl", "sort", "uniq", "column", "cut", "tr")
)  # fmt: skip
# Filters that shorten what another program says.
_FILTERS = frozenset(
    ("head", "tail", "grep", "rg", "wc", "sort", "uniq", "less", "more", "cat", "tee", "column",
     "cut", "tr", "nl")
)  # fmt: skip
# What belongs to nearly every task, and so tells little about one.
_USUAL = frozenset(
    ("git add", "git commit", "git push", "git pull", "git checkout", "git switch", "git fetch",
     "mkdir", "cp", "mv", "rm", "touch", "chmod", "pip install", "npm install", "pytest",
     "npm test", "npm run test", "npm run build", "npm run lint", "ruff", "ruff check", "mypy",
     "sed", "awk", "cargo test", "cargo build", "go test",
     "go build", "make test")
)  # fmt: skip
# What any task may need, so that it is known by none of them; a script counts by its name.
_GENERAL = _USUAL | _LOOKS | {
    "?", "script", "python script", "node script", "bash script", "sh script", "curl", "wget", "jq",
    "ssh", "scp", "rsync", "tar", "zip", "unzip", "psql", "mysql", "sqlite", "make", "docker run",
    "docker exec", "kubectl apply", "kubectl get", "input tap", "input text", "input keyevent",
    "tap", "drag", "swipe up", "swipe down", "swipe left", "swipe right",
}  # fmt: skip
# Programs that are written for the moment: what they are is in their text.
_AT_HAND = frozenset(("python -c", "python here", "node -c", "bash -c", "sh -c"))
# A longer command holds a text, in which a dash is no option.
_MOST_TOLD, _LONGEST_CLUSTER = 400, 5
_OPTION = re.compile(r"--?[A-Za-z][A-Za-z-]*")
_IN_FILTER = re.compile(rf"\|\s*(?:{'|'.join(sorted(_FILTERS))})(?:\s[^|]*)?\Z")
_SHORTENED = re.compile(
    r"\s*(?:2>&1|[12&]?>\s?/dev/null"
    rf"|\|\s*(?:{'|'.join(sorted(_FILTERS - {'tee'}))})(?=\s|\Z)[^|]*)"
)
_LOOK_WEIGHT, _USUAL_WEIGHT, _AT_HAND_WEIGHT, _WEIGHT = 0.1, 0.4, 0.5, 1.0


def command_parts(command: str) -> tuple[str, ...]:
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


def command_at_heart(part: str) -> Command:
    """Return which programs one command runs, and how much that says."""
    piped = list(_piped(part[:_MOST_READ]))
    names = [name for name in (_program(one) for one in piped) if name] or ["?"]
    kept = [names[0], *(name for name in names[1:] if name not in _FILTERS)]
    writes = (">" in part or "|" in part) and bool(_WRITES.search(part) or _TEE.search(part))
    if all(name in _LOOKS for name in kept) and not writes:
        return Command(" | ".join(kept), _LOOK_WEIGHT, is_look=True)
    kept = [name for name in kept if name not in _LOOKS] or kept
    return Command(" | ".join(kept), max(map(_weight, kept)), is_look=False)


def is_general(name: str) -> bool:
    """Return whether what `command_at_heart` or a gesture is called says nothing about a task."""
    return all(one in _GENERAL or one in _AT_HAND for one in name.split(" | "))


def _weight(name: str) -> float:
    if name in _AT_HAND:
        return _AT_HAND_WEIGHT
    return _USUAL_WEIGHT if name in _USUAL or name in _LOOKS else _WEIGHT


def programs_of(part: str) -> tuple[str, ...]:
    """Return the programs that one command needs, without their modes."""
    first = (_unwrapped(_words(one))[:1] for one in _piped(part[:_MOST_READ]))
    names = (words[0].rsplit("/", 1)[-1] for words in first if words and words[0][:1] not in "./~")
    usable = (name for name in names if name not in _LOOKS and _PROGRAM.fullmatch(name))
    return tuple(dict.fromkeys(usable))


def options_of(part: str) -> tuple[str, ...]:
    """Return the options of one command by name, whatever they are given."""
    named = (_OPTION.match(word) for word in _arguments(part))
    return tuple(dict.fromkeys(_option_name(hit[0]) for hit in named if hit))


def plain_operands(part: str) -> tuple[str, ...]:
    """Return the operands of one command that could be a mode: `plugin` and `activate`."""
    return tuple(dict.fromkeys(word for word in _arguments(part) if _MODE.fullmatch(word)))


def without_filters(part: str) -> str:
    """Return a command without what only shortens or hides what it says."""
    return _SHORTENED.sub("", part).strip()


def is_filtered(before: str) -> bool:
    """Return whether what stands behind a part of a command belongs to a filter after a pipe."""
    return bool(_IN_FILTER.search(before))


@lru_cache(maxsize=1_024)
def _arguments(part: str) -> tuple[str, ...]:
    return tuple(word for one in _telling(part) for word in _unwrapped(_words(one))[1:])


def _telling(part: str) -> list[str]:
    """Return the commands of a pipe but for its filters; nothing of one with a body of its own."""
    if "\n" in part or len(part) > _MOST_TOLD or _COMPOUND.match(part):
        return []
    if "|" not in part:
        return [part]
    first, *others = [*_piped(part), ""]
    return [first, *(one for one in others if _program(one) not in _FILTERS)]


def _option_name(word: str) -> str:
    # The letters of a cluster stand in any order.
    is_cluster = word[1:2] != "-" and len(word) <= _LONGEST_CLUSTER
    return f"-{''.join(sorted(word[1:]))}" if is_cluster else word


def script_of(part: str) -> str:
    """Return the name of the script that one command runs by an interpreter; empty where none."""
    for word in _words(part[:_MOST_READ])[:_MOST_PARTS]:
        if ending_of(word) in _SCRIPTS:
            return word.rsplit("/", 1)[-1]
    return ""


def _piped(part: str) -> Iterator[str]:
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
    words = _unwrapped(_words(part))
    if not words:
        return ""
    name = re.sub(r"(?<=[a-z])[\d.]+\Z", "", words[0].rsplit("/", 1)[-1])
    if name in _INTERPRETERS and (how := _how_run(words[1:], part)):
        return how if how not in {"-c", "here", "script"} else f"{name} {how}"
    if name not in _WITH_MODES:
        return _script(name)
    given = _GIVEN.get(name, frozenset())
    modes = [
        word
        for at, word in enumerate(words[1:])
        if _MODE.fullmatch(word) and words[at] not in given
    ]
    mode = f"{name} {modes[0]}" if modes else name
    return f"{mode} {modes[1]}" if mode in _TWO_MODES and len(modes) > 1 else mode


def _words(part: str) -> list[str]:
    """Return the words of a command without their quotes, as `shlex` does and much sooner."""
    if not _HARD.search(part):
        return part.split()
    if "#" not in part and not _WORD.sub("", part).strip():
        return [_QUOTED.sub(_unquoted, hit[0]) for hit in _WORD.finditer(part)]
    try:
        return shlex.split(part, comments=True)
    except ValueError:
        return part.split()


def _unquoted(hit: re.Match[str]) -> str:
    escaped, single, double = hit.groups()
    return _ESCAPED.sub(r"\1", double) if double is not None else escaped or single or ""


def _unwrapped(words: list[str]) -> list[str]:
    at = 0
    while at < len(words):
        if tuple(words[at : at + 2]) in _RUNNERS or words[at] == "timeout":
            at += 2
        elif words[at] in _BEFORE or _ASSIGNED.match(words[at]) or (at and words[at][:1] == "-"):
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


def _script(name: str) -> str:
    return "script" if ending_of(name) in _SCRIPTS else name


_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMED = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\\": r"\\", "'": r"\'"}
# What is not seen, or moves what is seen: controls, formats, separators of lines, private signs.
_HIDDEN_KINDS: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_NOT_IN_COMMENT = re.compile(r"[^A-Za-z0-9_.:-]+")
_MOST_IN_COMMENT = 40
_LAST_BYTE, _LAST_SHORT = 0xFF, 0xFFFF


def quoted(text: str) -> str:
    """Return `text` as one word of bash that stands for itself."""
    text = _SURROGATE.sub("\ufffd", text.replace("\0", ""))
    if not any(map(_is_hidden, text)):
        return _plainly_quoted(text)
    return "".join(_run_quoted(run) for run in _runs(text))


def visible(text: str, *, one_line: bool = True) -> str:
    """Return `text` as it may be printed: what is not seen is written as an escape."""
    keep = "" if one_line else "\n\t"
    return "".join(
        _escape_to_see(letter) if _is_hidden(letter) and letter not in keep else letter
        for letter in text
    )


def comment_word(text: str) -> str:
    """Return a name as it may stand in a comment: letters, digits and a few signs."""
    return _NOT_IN_COMMENT.sub("-", text)[:_MOST_IN_COMMENT].strip("-") or "unnamed"


def _is_hidden(letter: str) -> bool:
    if letter.isascii():
        return not letter.isprintable()
    return unicodedata.category(letter) in _HIDDEN_KINDS


def _plainly_quoted(text: str) -> str:
    return "'" + text.replace("'", r"'\''") + "'"


def _runs(text: str) -> list[str]:
    """Cut a text where it changes between plain letters beyond ASCII and all the rest."""
    runs: list[str] = []
    was_foreign = None
    for letter in text:
        is_foreign = not letter.isascii() and not _is_hidden(letter)
        if is_foreign == was_foreign:
            runs[-1] += letter
        else:
            runs.append(letter)
        was_foreign = is_foreign
    return runs


def _run_quoted(run: str) -> str:
    # Some encodings take a backslash behind a foreign byte for a part of a letter. So no escape
    # ever stands behind one within the same quotes.
    if not run.isascii() and not any(map(_is_hidden, run)):
        return _plainly_quoted(run)
    return "$'" + "".join(map(_escape, run)) + "'"


def _escape(letter: str) -> str:
    if letter in _NAMED:
        return _NAMED[letter]
    if letter.isascii() and letter.isprintable():
        return letter
    # Three octal digits end an escape, whatever follows.
    return "".join(f"\\{byte:03o}" for byte in letter.encode())


def _escape_to_see(letter: str) -> str:
    if letter in "\n\t\r":
        return _NAMED[letter]
    number = ord(letter)
    if number <= _LAST_BYTE:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= _LAST_SHORT else f"\\U{number:08x}"
