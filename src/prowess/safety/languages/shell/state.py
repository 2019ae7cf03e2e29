"""What is known while a shell text is read: values, files, variables, and the facts so far.

Here, too: how a command line splits into options and operands, and what it means that a path is
written (a script, a start by itself, settings of an agent).
"""

import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from urllib.parse import urlsplit

from prowess.data import load_index, load_pattern, load_table, load_words
from prowess.reading.views import Spot, View
from prowess.safety.facts import Act, Fact, Snippet
from prowess.safety.languages.shell.words import Compound, Pipeline
from prowess.safety.paths import is_agent_path, normal_path, path_label, persist_kind

PROGRAMS = "shell/programs"
NOTHING: frozenset[str] = frozenset()
# An inner mark, never told: the output of a shell that listens.
SHELL_OUTPUT = "\0shell"
_MAX_TEXT = 200_000
_MAX_SHOWN = 400
_MAX_FILLED = 4096
_MAX_PATH = 600


@dataclass(frozen=True, slots=True)
class Datum:
    """A text that the shell would hold, as far as it is known, and where its data come from."""

    text: str = ""
    labels: frozenset[str] = NOTHING
    # The URL or path that the data came from.
    source: str = ""
    # Whether `text` is all of it; otherwise unknown parts are written as in the script (`$NAME`).
    known: bool = True
    # Runs of characters: index in the view, length, and whether each stands at its own place.
    pieces: tuple[tuple[int, int, bool], ...] = ()
    # How it was decoded ("base64").
    steps: tuple[str, ...] = ()

    def with_labels(self, *labels: str) -> "Datum":
        """Return it with `labels` added."""
        return replace(self, labels=self.labels | frozenset(labels)) if labels else self

    def unplaced(self) -> "Datum":
        """Return it without its places, for use with another text."""
        return replace(self, pieces=()) if self.pieces else self

    def cut(self, start: int, end: int | None = None) -> "Datum":
        """Return the characters from `start` to `end`."""
        stop = len(self.text) if end is None else min(end, len(self.text))
        pieces: list[tuple[int, int, bool]] = []
        at = 0
        for index, length, exact in self.pieces:
            first, last = max(start, at), min(stop, at + length)
            if first < last:
                pieces.append((index + (first - at) * exact, last - first, exact))
            at += length
        return replace(self, text=self.text[start:stop], pieces=tuple(pieces))


EMPTY = Datum()


def unknown(*labels: str, source: str = "", text: str = "") -> Datum:
    """Return a value whose text cannot be told, with its labels."""
    return Datum(text, frozenset(labels), source, known=False)


_MAX_PIECES = 64


def join(values: Sequence[Datum], separator: str = "") -> Datum:
    """Return the values one after another."""
    if len(values) == 1:
        return values[0]
    texts: list[str] = []
    pieces: list[tuple[int, int, bool]] = []
    for value in values:
        if texts and separator:
            texts.append(separator)
            last = pieces[-1] if pieces else (0, 0, False)
            pieces.append((last[0] + last[1] * last[2], len(separator), False))
        texts.append(value.text)
        pieces += value.pieces
    if len(pieces) > _MAX_PIECES:
        # A text of so many parts stands where its first part does; cutting it must stay cheap.
        pieces = [(pieces[0][0], sum(map(len, texts)), False)]
    return Datum(
        "".join(texts),
        frozenset().union(*(value.labels for value in values)),
        next((value.source for value in values if value.source), ""),
        all(value.known for value in values),
        tuple(pieces),
        tuple(dict.fromkeys(step for value in values for step in value.steps)),
    )


def fill(value: Datum, mark: str, item: Datum) -> Datum:
    """Return `value` with `item` wherever `mark` stands, as `xargs -I` and `find -exec` do."""
    if mark not in value.text:
        return value
    text = value.text.replace(mark, item.text)[: len(value.text) + _MAX_FILLED]
    start = value.pieces[0][0] if value.pieces else 0
    labels = value.labels | item.labels
    return Datum(text, labels, item.source, item.known, ((start, len(text), False),))


@dataclass(slots=True)
class Ledger:
    """What was found, shared by a text and all that is read inside it."""

    # By what tells two facts apart; a view cannot be a key.
    facts: dict[tuple[object, ...], Fact] = field(default_factory=dict)
    snippets: list[Snippet] = field(default_factory=list)
    texts: list[View] = field(default_factory=list)
    imports: dict[str, None] = field(default_factory=dict)
    unread: dict[str, None] = field(default_factory=dict)
    # Characters that variables and texts inside texts may still put in.
    room: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Hooks:
    """How the inside of `$(…)`, a text inside the text and a command behind another are run."""

    body: "Callable[[Shell, list[Pipeline], Datum | None], Datum]"
    text: "Callable[[Shell, Datum, Datum | None], Datum]"
    command: "Callable[[Shell, list[Datum], Datum | None], Datum]"


@dataclass(slots=True)
class Shell:
    """The state of one shell while its text is read."""

    view: View
    ledger: Ledger = field(default_factory=Ledger)
    variables: dict[str, Datum] = field(default_factory=dict)
    # The shell whose text holds this one as a text.
    outer: "Shell | None" = None
    files: dict[str, tuple[View, Datum]] = field(default_factory=dict)
    # Folders into which something was unpacked or cloned.
    unpacked: dict[str, Datum] = field(default_factory=dict)
    functions: dict[str, Compound] = field(default_factory=dict)
    called: dict[str, int] = field(default_factory=dict)
    aliases: dict[str, Datum] = field(default_factory=dict)
    # Descriptors opened by `exec 3<>/dev/tcp/…`: the host.
    descriptors: dict[str, str] = field(default_factory=dict)
    folder: str = ""
    arguments: tuple[Datum, ...] | None = None
    # Labels of what reaches the text from outside: arguments and standard input.
    flow: frozenset[str] = NOTHING
    depth: int = 0
    # The command at work, and where the pipeline begins that it stands in.
    start: int = 0
    end: int = 0
    pipeline: int = 0
    # Loops around the command at work.
    loops: int = 0
    hooks: "Hooks | None" = None

    def tell(
        self,
        act: Act,
        subject: str = "",
        target: str = "",
        flow: frozenset[str] = NOTHING,
        *,
        piped: bool = False,
    ) -> None:
        """Note a fact at the command at work, from the head of its pipeline where `piped`."""
        spot = Spot(self.view, self.pipeline if piped else self.start, self.end)
        flow = flow - {SHELL_OUTPUT}
        fact = Fact(act, spot, subject[:_MAX_SHOWN], target[:_MAX_SHOWN], flow)
        key = (act, spot.offset, spot.start, spot.end, fact.subject, fact.target, flow)
        self.ledger.facts.setdefault(key, fact)

    def snippet(self, language: str, value: Datum, flow: frozenset[str] = NOTHING) -> None:
        """Note code in another language; a text that is not known is left out."""
        if value.text.strip() and len(value.text) <= _MAX_TEXT:
            view = self.view_of(value)
            self.ledger.snippets.append(Snippet(language, view, flow - {SHELL_OUTPUT}))

    def view_of(self, value: Datum) -> View:
        """Return the text of `value` as a view, each character at its place in the file."""
        start = value.pieces[0][0] if value.pieces else self.start
        if value.steps:
            view = self.view
            for step in value.steps:
                view = view.decoded(value.text, start, step)
                start = 0
            return view
        if len(value.pieces) == 1 and value.pieces[0][2] and value.pieces[0][1] == len(value.text):
            return self.view.cut(start, start + len(value.text))
        return self.view.derive(value.text, _indices(value, start))

    def run(self, value: Datum, stdin: Datum | None = None) -> Datum:
        """Read a text as shell code in this shell."""
        return self.hooks.text(self, value, stdin) if self.hooks and value.text.strip() else EMPTY

    def run_body(self, body: list[Pipeline], stdin: Datum | None = None) -> Datum:
        """Run commands and return what they print."""
        return self.hooks.body(self, body, stdin) if self.hooks else EMPTY

    def invoke(self, args: list[Datum], stdin: Datum | None) -> Datum:
        """Run a command that stands behind another, as after `sudo`."""
        return self.hooks.command(self, args, stdin) if self.hooks and args else EMPTY

    def variable(self, name: str) -> Datum | None:
        """Return what a variable holds that the text has set, here or around this text."""
        shell: Shell | None = self
        while shell is not None:
            value = shell.variables.get(name)
            if value is not None:
                return value if shell is self else value.unplaced()
            shell = shell.outer
        return None

    def store(self, path: str, content: Datum) -> None:
        """Keep what a file holds."""
        self.files[self.place(path)] = self.view, content

    def stored(self, path: str) -> Datum | None:
        """Return what the text has put into a file."""
        found = self.files.get(self.place(path))
        if found is None:
            return None
        return found[1] if found[0] is self.view else found[1].unplaced()

    def place(self, path: str) -> str:
        """Return `path` as one name for one file: home as `~`, from the current folder."""
        flat = normal_path(path[:_MAX_PATH])
        if self.folder and not flat.startswith(("/", "~", "$")):
            flat = posixpath.join(self.folder, flat)
        return posixpath.normpath(flat) if flat else ""

    def read_file(self, path: str) -> Datum:
        """Return what is known of the content of a file."""
        label = path_label(path)
        if label:
            return unknown(label, source=path)
        known = self.stored(path)
        if known is not None:
            return known if known.source else replace(known, source=path)
        origin = self._find_unpacked(self.place(path), path)
        if origin:
            return unknown(*origin.labels, source=origin.source)
        if path in ("/dev/stdin", "-") or path.startswith(("/dev/null", "/proc/self/fd")):
            return EMPTY
        return unknown(
            "memory" if is_agent_path(path) else f"file:{normal_path(path)}", source=path
        )

    def _find_unpacked(self, place: str, path: str) -> Datum | None:
        head = place if self.unpacked else ""
        while head and head not in ("/", "."):
            if head in self.unpacked:
                return self.unpacked[head]
            cut = posixpath.dirname(head)
            head = cut if cut != head else ""
        here = self.unpacked.get(".")
        if here and path.startswith("./"):
            return here
        stem = posixpath.basename(urlsplit(here.source).path) if here else ""
        first = place.split("/", 1)[0]
        return here if here and len(first) > 1 and stem.startswith(first) else None


def _indices(value: Datum, start: int) -> list[int]:
    indices: list[int] = []
    for index, length, exact in value.pieces:
        indices.extend(range(index, index + length) if exact else [index] * length)
    missing = len(value.text) - len(indices)
    indices.extend([indices[-1] if indices else start] * missing)
    return indices[: len(value.text)]


@dataclass(slots=True)
class Argv:
    """One command with its arguments, as a handler sees it."""

    shell: Shell
    name: str
    args: list[Datum]
    stdin: Datum | None = None
    # Where a redirection leads standard input and output: "tcp:HOST" or "".
    link: str = ""

    @property
    def texts(self) -> list[str]:
        """The arguments as plain texts."""
        return [value.text for value in self.args]

    @property
    def alone(self) -> bool:
        """Whether the text is this one word: more likely a mention than a command."""
        return not self.args and self.shell.view.text.strip() == self.name

    @property
    def incoming(self) -> Datum:
        """What comes in on standard input; nothing where it is the terminal."""
        return self.stdin if self.stdin is not None else EMPTY

    def tell(
        self, act: Act, subject: str = "", target: str = "", flow: frozenset[str] = NOTHING
    ) -> None:
        """Note a fact; where piped data reach it, it begins with the pipeline."""
        piped = bool(flow and self.stdin is not None and flow & self.stdin.labels)
        self.shell.tell(act, subject, target, flow, piped=piped)

    def read(self, path: Datum) -> Datum:
        """Return the content of a file that the command reads, and note a secret."""
        if path.source and not path.text:
            return path
        content = self.shell.read_file(path.text)
        tell_secrets(self.shell, path.text)
        return content if not path.labels else content.with_labels(*path.labels)


def tell_secrets(shell: Shell, path: str) -> None:
    """Note that a secret or an agent's memory is read, where `path` holds one."""
    label = path_label(path) or ("memory" if is_agent_path(path) else "")
    if label:
        shell.tell(Act.READ, label, path)


def set_environment(shell: Shell, name: str, value: Datum) -> None:
    """Note a variable that is set for programs, and what it switches off or makes run."""
    shell.tell(Act.SETENV, name, value.text, value.labels)
    unchecked = load_table(PROGRAMS, "unchecked").get(name, "")
    if value.text.strip().lower() in unchecked.split():
        shell.tell(Act.DISABLE, "tls", name)
    elif name in ("HISTFILE", "HISTSIZE", "HISTFILESIZE") and value.text in ("", "0", "/dev/null"):
        shell.tell(Act.DISABLE, "history", name)
    elif name == "PROMPT_COMMAND" and value.text.strip():
        shell.tell(Act.PERSIST, "prompt-command", value.text, value.labels)
        shell.run(value)


@dataclass(slots=True)
class Options:
    """The options of a command, and the operands that are left."""

    given: dict[str, list[Datum]]
    operands: list[Datum]

    def has(self, names: str) -> bool:
        """Whether one of `names`, between blanks, was given."""
        return any(name in self.given for name in names.split())

    def values(self, names: str) -> list[Datum]:
        """Return the values given to `names`, in order."""
        return [value for name in names.split() for value in self.given.get(name, ())]

    def first(self, names: str) -> Datum | None:
        """Return the first value given to one of `names`."""
        return next(iter(self.values(names)), None)


def load_names(key: str) -> frozenset[str]:
    """Return one list of `programs.toml`."""
    return load_words(PROGRAMS, "names", key)


@lru_cache(maxsize=1024)
def find_row(group: str, name: str) -> dict[str, str]:
    """Return the row of a group of `programs.toml` that names a program; empty where none does."""
    rows: list[dict[str, str]] = load_table(PROGRAMS, group)
    return next((row for row in rows if name in row["names"].split()), {})


def load_matcher(key: str, flags: int = 0) -> re.Pattern[str]:
    """Return one pattern of `programs.toml`."""
    return load_pattern(PROGRAMS, "patterns", key, flags=flags)


@cache
def _find_valued(written: str) -> tuple[str, frozenset[str]]:
    words = written.split()
    letters = "".join(word for word in words if not word.startswith("-"))
    return letters, frozenset(word for word in words if word.startswith("-"))


def split_options(args: list[Datum], valued: str = "", *, program: str = "") -> Options:
    """Split arguments by the options that take a value: `ab --long`, or those of a program."""
    short, long = _find_valued(load_table(PROGRAMS, "options", program) if program else valued)
    found = Options({}, [])
    at = 0
    while at < len(args):
        text = args[at].text
        at += 1
        if text == "--":
            found.operands += args[at:]
            break
        if not text.startswith("-") or text == "-":
            found.operands.append(args[at - 1])
        elif text.startswith("--") or text in long:
            at = _long_option(found, args, at, long)
        else:
            at = _read_short(found, args, at, short)
    return found


def _long_option(found: Options, args: list[Datum], at: int, long: frozenset[str]) -> int:
    value = args[at - 1]
    name, equals, _ = value.text.partition("=")
    given = found.given.setdefault(name, [])
    if equals:
        given.append(value.cut(len(name) + 1))
    elif name in long and at < len(args):
        given.append(args[at])
        at += 1
    return at


def _read_short(found: Options, args: list[Datum], at: int, short: str) -> int:
    value = args[at - 1]
    for place, letter in enumerate(value.text[1:], 1):
        given = found.given.setdefault(f"-{letter}", [])
        if letter in short:
            rest = value.cut(place + 1)
            if rest.text:
                given.append(rest)
            elif at < len(args):
                given.append(args[at])
                at += 1
            break
    return at


_IGNORED = re.compile(r"/dev/(?:null|stdout|stderr|tty|fd/\d+|stdin)$|-$|&\d$")
_DISK = re.compile(r"/dev/(?:r?disk\d|sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|mem$|kmem$)")
_SUDOERS = re.compile(r"/etc/sudoers(?:$|\.d/)")
_LOGS = re.compile(r"/var/log(?:/|$)|/var/run/utmp|/var/log/wtmp")
_SHEBANG = re.compile(r"#!\s*\S*?(?:env\s+(?:-S\s+)?)?([a-z]+)[\d.]*(?=\s|$)")
# Files whose lines a shell runs.
_SHELL_KINDS = frozenset(("rc-file", "git-hook"))
_CRON_LINE = re.compile(
    r"^[ \t]*(?:@\w+|(?:[\d*/,A-Za-z-]+[ \t]+){5})[ \t]*(?:root[ \t]+)?(\S[^\n]*)$", re.MULTILINE
)
_UNIT_LINE = re.compile(
    r"^[ \t]*Exec(?:Start|StartPre|StartPost|Stop)?[ \t]*=[ \t]*[-@:+!]{0,2}(\S[^\n]*)$",
    re.MULTILINE,
)
_PLIST_STRING = re.compile(r"<string>([^<]{0,2000})</string>")
_MAX_LINES = 50
_MAX_KEPT = 8_000


def language_of(path: str, text: str = "") -> str:
    """Return the language of a script by its shebang or ending; empty where it is none."""
    shebang = _SHEBANG.match(text[:200].lstrip())
    if shebang:
        return load_index(PROGRAMS, "shebangs").get(shebang[1], "other")
    ending = path.rpartition("/")[2].rpartition(".")
    return load_index(PROGRAMS, "endings").get(ending[2].lower(), "") if ending[1] else ""


def write_file(shell: Shell, path: Datum, content: Datum, *, append: bool = False) -> None:
    """Note that `content` is written to `path`, and what follows from the place."""
    name = path.text
    if not name or _IGNORED.search(name):
        return
    before = shell.stored(name) if append else None
    whole = join([before, content], "\n") if before and len(before.text) < _MAX_KEPT else content
    shell.store(name, whole)
    shell.tell(Act.WRITE, name, "", content.labels, piped=True)
    tell_place(shell, name, content)
    _tell_script(shell, name, content)


def tell_place(shell: Shell, name: str, content: Datum) -> None:
    """Note what a write to `name` means by the place alone."""
    full = shell.place(name) if shell.folder else name
    kind = persist_kind(full)
    if kind:
        shell.tell(
            Act.PERSIST, kind, find_started(kind, content) or name, content.labels, piped=True
        )
    if is_agent_path(full):
        shell.tell(Act.TAMPER, name, "", content.labels, piped=True)
    if _DISK.match(name):
        shell.tell(Act.WIPE, "disk", name)
    if _SUDOERS.match(name):
        shell.tell(Act.PRIVILEGE, "sudoers", content.text.strip() or name)
    tell_erased(shell, name, content)


def tell_erased(shell: Shell, name: str, content: Datum) -> None:
    """Note that traces are wiped, where `name` is a log or a history that is emptied."""
    empty = content.known and not content.text.strip() and not content.labels
    if empty and path_label(name) == "history":
        shell.tell(Act.WIPE, "history", name)
    elif empty and _LOGS.match(name):
        shell.tell(Act.WIPE, "logs", name)


def _tell_script(shell: Shell, name: str, content: Datum) -> None:
    if not content.text.strip() or not content.pieces:
        return
    kind = persist_kind(name)
    if kind in ("cron", "systemd"):
        for line in find_lines(kind, content):
            shell.snippet("shell", line)
        return
    language = "shell" if kind in _SHELL_KINDS else language_of(name, content.text)
    if language:
        shell.snippet(language, content, content.labels)
    elif kind == "launchd":
        shell.snippet("", content, content.labels)


def find_lines(kind: str, content: Datum) -> list[Datum]:
    """Return the commands that a crontab or a unit makes run."""
    pattern = _CRON_LINE if kind == "cron" else _UNIT_LINE
    found = []
    for line in pattern.finditer(content.text):
        found.append(content.cut(*line.span(1)))
        if len(found) >= _MAX_LINES:
            break
    return found


def find_started(kind: str, content: Datum) -> str:
    """Return what a file of that kind makes run, "" where it cannot be told."""
    if kind in ("cron", "systemd"):
        return "; ".join(line.text for line in find_lines(kind, content)[:3]) or _read_only(content)
    if kind == "launchd" and "<string>" in content.text:
        strings = _PLIST_STRING.findall(content.text[:20_000])
        return " ".join(strings[1:] or strings)
    return _read_only(content)


def _read_only(content: Datum) -> str:
    return content.text.strip() if content.text else content.source


def copy_file(shell: Shell, source: Datum, target: Datum) -> None:
    """Note a copy or a move: the target now holds what the source held."""
    content = shell.read_file(source.text)
    moved = replace(content, source=content.source or source.text)
    name = target.text
    if name.endswith("/") or normal_path(name) in ("~", ".", ".."):
        name = name.rstrip("/") + "/" + source.text.rstrip("/").rpartition("/")[2]
    shell.store(name, moved)
    shell.tell(Act.WRITE, name, "", moved.labels)
    tell_place(shell, name, replace(moved, known=False))
    if moved.text and moved.pieces and persist_kind(name):
        shell.snippet("shell", moved, NOTHING)


Handler = Callable[[Argv], Datum | None]


def name_handlers(*functions: Handler) -> dict[str, Handler]:
    """Return functions that read commands by the names that `programs.toml` gives them."""
    return {function.__name__.lstrip("_"): function for function in functions}
