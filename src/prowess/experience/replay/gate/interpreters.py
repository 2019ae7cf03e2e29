"""Programs that are given a script: awk, sed, interpreters and clients of databases.

A script is only let through where all of it is read and nothing in it writes or runs anything. A
file that is run is only known by its name.

Variables that a command line sets: which of them may be set without anybody being asked.

Any program may look at any variable, and many run what they find there. So a variable that reaches
a program must be one of a few that are known to be harmless, or be set to a number or to yes or no.
One that stays in the shell only matters where its name is one that programs look for.

Parts of the shell itself: what they set, and code that hides in their arguments.

Names that such a part is given are read as a shell reads them: an index of an array in a name is
calculated, and so may run a command. Only plain names pass.

Arithmetic of a shell: it runs what it finds in a variable, so only numbers may be in there.

Where a shell calculates with a name, it calculates what the variable holds as if it stood there; an
index of an array in it may hold a whole command. So every name that is calculated with has to be
one that the text itself set, and never to anything but a number.

Programs that run another: where the inner command line begins.

Whether an option takes the next word as its value decides which word is the program: so an option
that is not known here means that the inner command line is not known either.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType

from prowess.experience.replay.gate.tables import UNKNOWN, by_words, has_option, names, operands
from prowess.safety.languages.shell.words import Array, Substitution, Text, Variable, Word

_HARMLESS = names(
    "LANG LANGUAGE TZ CI NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES "
    "PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 DEBUG "
    "VERBOSE LOG_LEVEL NODE_ENV APP_ENV RAILS_ENV FLASK_ENV PORT RUST_LOG RUST_BACKTRACE GOOS "
    "GOARCH CGO_ENABLED CARGO_TERM_COLOR DEBIAN_FRONTEND SOURCE_DATE_EPOCH GIT_TERMINAL_PROMPT "
    "GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL "
    "GIT_COMMITTER_DATE"
)
_LOCALE = re.compile(r"LC_[A-Z]+")
# A name by which programs find other programs, their settings, or what to load.
_DECIDES = re.compile(
    r"PATH|IFS|SHELL|PROMPT|PAGER|EDITOR|VISUAL|BROWSER|HOOK|COMMAND|CMD|PRELOAD|STARTUP|CONFIG"
    r"|OPTIONS|FLAGS|WRAPPER|LAUNCHER|RUNNER|LOADER|PLUGIN|EXEC|PROXY|_proxy$|OPTS?$|RC$"
    r"|^(?:GIT|LD|DYLD|BASH|PERL|RUBY|PYTHON|NODE|JAVA|LESS|PIP|UV|NPM|npm|CARGO|RUST|GO|MAKE)"
    r"|^(?:ENV|HOME|CC|CXX|CPP|LD|AS|AR|RM|PS[0-9]|ZDOTDIR|OLDPWD|PWD|TMPDIR|DIRSTACK|FUNCNAME"
    r"|FPATH|GLOBIGNORE|HISTFILE|INPUTRC|MAIL|TERMINFO)$"
)
_NUMBER = re.compile(r"(?:[0-9]+|true|false|yes|no|on|off)?", re.IGNORECASE)


def exported_danger(name: str, value: str) -> str:
    """Return why a variable must not reach a program unasked."""
    if name in _HARMLESS or _LOCALE.fullmatch(name):
        return ""
    is_plain = _NUMBER.fullmatch(value) and not _DECIDES.search(name)
    return "" if is_plain else _told(name)


def assigned_danger(name: str) -> str:
    """Return why a variable must not be set unasked, though it may never leave the shell."""
    return _told(name) if name not in _HARMLESS and _DECIDES.search(name) else ""


def _told(name: str) -> str:
    return f"it sets {name}, which may decide what is run"


ODD = "it is written in a way that hides what it does"
# Code inside what is not read as code: the index of an array, a pattern, arithmetic.
CODE = re.compile(r"\$\(|`|\$\{")
DECLARES = frozenset(("export", "local", "readonly", "declare", "typeset"))
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_READ_VALUED = re.compile(r"-[a-zA-Z]*[dnNptui]")
_READ_OPTION = re.compile(r"-[rsea]+|-[a-zA-Z]*[dnNptu].*")
_SET_OPTION = re.compile(r"[-+][euxvfho]+|--")
_SET_NAMES = frozenset(("pipefail", "errexit", "nounset", "xtrace", "noglob"))


def builtin_danger(args: Sequence[str]) -> str:
    """Return why a part of the shell needs a confirmation with these arguments."""
    name = args[0]
    if name == "let" or any(CODE.search(arg) and "[" in arg for arg in args[1:]):
        return ODD
    if name in DECLARES:
        return _declaring(name, args[1:])
    if name == "set":
        fine = all(_SET_OPTION.fullmatch(arg) or arg in _SET_NAMES for arg in args[1:])
        return "" if fine else "it changes how the shell reads commands"
    if name in ("wait", "getopts", "jobs"):
        is_plain = all(re.fullmatch(r"[\w:%+-]+", arg) for arg in args[1:])
        return _naming(args[2:3]) if is_plain and not {"-p", "-x"} & set(args) else ODD
    return _naming(_names_given(name, args[1:]))


def opens_names(args: Sequence[str]) -> bool:
    """Return whether names are set here in a way that is not followed any further."""
    if args[0] == "printf":
        return args[1:2] == ["-v"]
    options = any(arg.startswith(("-", "+")) for arg in args[1:])
    return args[0] in ("read", "getopts", "wait") or (args[0] in DECLARES and options)


def _declaring(name: str, args: Sequence[str]) -> str:
    """Judge `export` and its kin; options make a name an integer, or the name of another."""
    options = [arg for arg in args if arg.startswith(("-", "+"))]
    if any(option not in ("-x", "-r", "-g", "-a", "-p", "--") for option in options):
        return ODD
    is_exported = name == "export" or "-x" in options
    for arg in args:
        if arg in options:
            continue
        given, sign, value = arg.partition("=")
        plain = given.removesuffix("+")
        if not _NAME.fullmatch(plain):
            return ODD
        found = exported_danger(plain, value if sign else UNKNOWN) if is_exported else ""
        if found := found or assigned_danger(plain):
            return found
    return ""


def _names_given(name: str, args: Sequence[str]) -> list[str]:
    """Return the arguments that a part of the shell reads as names of variables."""
    if name == "unset":
        return [arg for arg in args if arg != "-v"]
    if name == "printf":
        first = args[0] if args else ""
        if first.startswith(UNKNOWN):
            return [UNKNOWN]
        return [first[2:] or "".join(args[1:2])] if first.startswith("-v") else []
    if name != "read":
        return []
    odd = [arg for arg in args if arg.startswith("-") and not _READ_OPTION.fullmatch(arg)]
    valued = [arg for arg in args if _READ_VALUED.fullmatch(arg)]
    return [*odd, *operands(args, valued)]


def _naming(given: Sequence[str]) -> str:
    for name in given:
        if not _NAME.fullmatch(name):
            return ODD
        if found := assigned_danger(name):
            return found
    return ""


_TOKEN = re.compile(
    r"\s+|0[xX][0-9a-fA-F]+|[0-9]+#?|(?P<name>\$?[A-Za-z_]\w*)|\$[#?$!](?!\w)"
    r"|[-+*/%<>=!&|^~?:,();]",
    re.ASCII,
)
_SET = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)", re.ASCII)
_INTEGER = re.compile(r"-?[0-9]+")
_ALWAYS = frozenset(("RANDOM", "SECONDS", "LINENO", "BASHPID", "PPID", "UID", "EUID"))
_COMPARES = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_COUNTS = frozenset("#?$!")
# What may stand behind a word in `[ … ]`.
_BETWEEN = _COMPARES | frozenset(
    ("=", "==", "!=", "<", ">", "-a", "-o", "-nt", "-ot", "-ef", "]", ")")
)


@dataclass(slots=True)
class Sums:
    """What one text calculates with, and what it put into those names."""

    used: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)
    # Whether names were set in a way that is not followed here.
    is_open: bool = False

    @property
    def is_dangerous(self) -> bool:
        """True where something is calculated with that may be no number."""
        known = (self.numbers | _ALWAYS) - self.others
        return bool(self.used) and (self.is_open or not self.used <= known)

    def calculate(self, text: str) -> bool:
        """Take note of arithmetic; false where it may hold more than numbers and names."""
        self.numbers.update(_SET.findall(text))
        at = 0
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None:
                return False
            if token["name"]:
                self.used.add(token["name"].lstrip("$"))
            at = token.end()
        return True

    def set(self, name: str, value: Word) -> None:
        """Take note of what a name is set to."""
        (self.numbers if _is_number(value) else self.others).add(name)

    def set_each(self, name: str, values: Sequence[Word]) -> None:
        """Take note of a loop."""
        is_known = bool(values) and all(map(_is_number, values))
        (self.numbers if is_known else self.others).add(name)

    def compare(self, words: Sequence[Word]) -> bool:
        """Take note of `[[ … ]]`; false where it calculates with what cannot be followed."""
        texts = [_plain(word) for word in words]
        for at, text in enumerate(texts):
            if text in _COMPARES:
                sides = (*words[max(at - 1, 1) : at], *words[at + 1 : at + 2])
                if not all(map(self._is_countable, sides)):
                    return False
        return not _names_oddly(texts)

    def test(self, words: Sequence[Word]) -> bool:
        """Take note of `[ … ]`, which reads words anew that are not in quotes."""
        loose = [part for word in words[1:] for part in word.parts if not _is_kept(part)]
        if not all(self._is_count(part) for part in loose):
            return False
        texts = [_plain(word) for word in words]
        # What is not known may be an operator, where none follows.
        follows = pairwise([*texts[1:], "]"])
        may_ask = any(text is None and after not in _BETWEEN for text, after in follows)
        return not may_ask and not _names_oddly(texts)

    def _is_countable(self, word: Word) -> bool:
        parts = [part for part in word.parts if not (isinstance(part, Text) and not part.text)]
        return _is_number(word) or (len(parts) == 1 and self._is_count(parts[0]))

    def _is_count(self, part: object) -> bool:
        """Return whether a part stands for a number; a name is noted, and looked at later."""
        if not isinstance(part, Variable) or part.operator:
            return False
        if part.name == "((" or part.name in _COUNTS or part.name.startswith("#"):
            return True
        if _NAME.fullmatch(part.name):
            self.used.add(part.name)
            return True
        return False


def _is_number(word: Word) -> bool:
    if len(word.parts) == 1 and isinstance(part := word.parts[0], Variable):
        return part.name in ("((", "#", "?", "$", "!") and not part.operator
    text = _plain(word)
    return text is not None and _INTEGER.fullmatch(text) is not None


def _plain(word: Word) -> str | None:
    """Return a word that holds nothing but text."""
    if not all(isinstance(part, Text) for part in word.parts):
        return None
    return "".join(part.text for part in word.parts if isinstance(part, Text))


def _is_kept(part: object) -> bool:
    """Return whether a shell keeps a part in one word."""
    if isinstance(part, (Variable, Substitution)):
        return part.quoted
    return not isinstance(part, Array)


def _names_oddly(texts: Sequence[str | None]) -> bool:
    """Return whether `-v` is asked about anything but a plain name."""
    return any(
        text in ("-v", "-R") and (named is None or not _NAME.fullmatch(named))
        for text, named in pairwise([*texts, ""])
    )


# A dash and one letter.
_LETTER = 2
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\+?=", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """A program that runs the rest of its command line: how its own options are told apart."""

    plain: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    # How many words stand before the command.
    skip: int = 0
    takes_assignments: bool = False

    def rest(self, args: Sequence[str]) -> list[str] | None:
        """Return the inner command line, or nothing where an option is not known."""
        at = 0
        while at < len(args) and args[at] != "--" and self._is_mine(args[at]):
            taken = self._taken(args[at])
            if not taken:
                return None
            at += taken
        at += args[at : at + 1] == ["--"]
        return list(args[at + self.skip :])

    def _is_mine(self, arg: str) -> bool:
        return arg.startswith("-") or (self.takes_assignments and bool(_ASSIGNED.match(arg)))

    def _taken(self, arg: str) -> int:
        """Return how many words an option takes up; none where it is not known."""
        if not arg.startswith("-"):
            name, _, value = arg.partition("=")
            return int(not exported_danger(name.rstrip("+"), value))
        if arg in self.valued:
            return 2
        is_glued = len(arg) > _LETTER and arg[1] != "-" and arg[:_LETTER] in self.valued
        return int(is_glued or arg.partition("=")[0] in self.plain)


def _wrapper(
    plain: str = "", valued: str = "", *, skip: int = 0, takes_assignments: bool = False
) -> _Wrapper:
    return _Wrapper(names(plain), names(valued), skip, takes_assignments)


_RUN = _wrapper(
    "-q --quiet --no-sync --frozen --locked --isolated --dev --all-extras --no-project -v -s",
    "--with --python -p --extra --group --package --directory --project -e --env",
)
_WRAPPERS: Mapping[str, _Wrapper] = MappingProxyType(
    {
        "env": _wrapper("-i -0", "-u -C --unset --chdir", takes_assignments=True),
        "nohup": _wrapper(), "setsid": _wrapper("-w -f"), "time": _wrapper("-p -v"),
        "nice": _wrapper("", "-n"), "ionice": _wrapper("-t", "-c -n"),
        "timeout": _wrapper("--preserve-status --foreground -v", "-k -s", skip=1),
        "gtimeout": _wrapper("--preserve-status --foreground -v", "-k -s", skip=1),
        "stdbuf": _wrapper("-oL -eL -o0 -e0 -i0", "-o -e -i"), "unbuffer": _wrapper(),
        "caffeinate": _wrapper("-i -d -s"), "command": _wrapper("-p"), "builtin": _wrapper(),
        "exec": _wrapper("-c -l"), "npx": _wrapper("-y --yes --no-install -q --quiet"),
        "bunx": _wrapper(),
    }
)  # fmt: skip
_XARGS = _wrapper("-0 -r -t -x", "-n -P -I -L -d -s -a")
# `uv run pytest`: the second word makes it a wrapper.
_RUNNERS: Mapping[str, str] = MappingProxyType(
    {**dict.fromkeys(("uv", "poetry", "pipenv", "pdm", "rye", "hatch"), "run"), "bundle": "exec"}
)


@dataclass(frozen=True, slots=True)
class Wrapped:
    """The command line inside another; `None` where it cannot be told."""

    rest: list[str] | None


def inner_command(name: str, args: Sequence[str]) -> Wrapped | None:
    """Return what a program runs; nothing where it is none that runs another."""
    if name == "xargs":
        return Wrapped(_fed(args))
    if args and _RUNNERS.get(name) == args[0]:
        return Wrapped(_from_registry(_RUN.rest(args[1:]), args))
    if name == "command" and args[:1] in (["-v"], ["-V"]):
        return Wrapped([])
    wrapper = _WRAPPERS.get(name)
    if wrapper is not None and name in ("npx", "bunx"):
        return Wrapped(_from_registry(wrapper.rest(args)))
    return None if wrapper is None else Wrapped(wrapper.rest(args))


def _from_registry(rest: list[str] | None, args: Sequence[str] = ()) -> list[str] | None:
    """Return the inner command line, unless what it runs is fetched from an address."""
    is_elsewhere = any("://" in arg or "git+" in arg for arg in args)
    is_named = bool(rest) and (":" in rest[0] or "@" in rest[0][1:]) if rest else False
    return None if is_elsewhere or is_named else rest


def _fed(args: Sequence[str]) -> list[str] | None:
    """Return what `xargs` runs; what comes in is only known when it runs, and stands at the end."""
    rest = _XARGS.rest(args)
    given = [at for at, arg in enumerate(args) if arg.startswith("-I")]
    if not rest:
        return rest
    if given:
        mark = args[given[0]][_LETTER:] or args[given[0] + 1]
        rest = [word.replace(mark, UNKNOWN) for word in rest]
    return [*rest, UNKNOWN]


_DIRECT = "it runs code that is given to it directly"
_IN_MARKS = r"(?:(?!(?P={mark}))[^\\\n]|\\.)*+(?P={mark})"
_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n\[]|\\.)*+/I?)"
_SED_OPTION = re.compile(r"-[nErsuz]*e")
_SED_PLAIN_OPTION = re.compile(r"-[nErsuz]*e?|--(?:quiet|silent|regexp-extended|posix)")
_SED_GAP = re.compile(r"[\s;{}]*")
_SED_COMMAND = re.compile(
    rf"(?:{_ADDRESS}(?:,\+?{_ADDRESS})?)?\s*!?\s*"
    rf"(?:[pdqDPNnhHgGxzlF=]|s(?P<mark>[^\w\s\\])(?P<found>{_IN_MARKS.format(mark='mark')})"
    rf"{_IN_MARKS.format(mark='mark')}[gpIi0-9]*|(?={{))",
    re.DOTALL,
)
_AWK_BAD = re.compile(r"system|getline|close|@|(?<!\|)\|(?!\|)|\|\|\||\|&|[^\x00-\x7f]")
_AWK_OPTION = re.compile(r"-F.*|-v.*|-", re.DOTALL)
# What a program reads that is already open: code comes from elsewhere then.
_OPEN_FILE = re.compile(
    r"^/+(?:dev|proc)/|(?:^|/)(?:dev/(?:stdin|fd|tty|pts|tcp|udp)|proc/(?:self|thread-self|[0-9]))"
    r"|(?:^|/)(?:stdin|[0-9]+)$"
)
_SQL_READS = re.compile(r"\s*(?:select|explain|show|describe|desc)\b", re.IGNORECASE)
_SQL_SHOWS = re.compile(
    r"\s*(?:\\(?:d[a-zA-Z]*|l|z)\+?(?:\s+[\w.*]+)?|\.(?:tables|schema|databases|indexes)(?:\s+\w+)?)\s*"
)
_SQL_BAD = re.compile(r"\binto\b|\banaly[sz]e\b|/\*!|\\|\n[^\S\n]*+\.|;\s*+\S", re.IGNORECASE)
_SQL_CALLS = re.compile(r"\b(\w+)\s*+\(")
_SQL_FUNCTIONS = names(
    "count sum min max avg total lower upper length substr substring trim ltrim rtrim replace "
    "coalesce ifnull nullif abs round floor ceil cast date time datetime strftime julianday now "
    "extract to_char date_trunc concat group_concat string_agg version typeof json_extract "
    "distinct in exists and or not where from as on over by values when then else select all any "
    "having union join using row_number rank filter partition between like is interval"
)
_SQL_OPTION = re.compile(
    r"-c|-e|--command|--execute|--command=.*|--execute=.*|-[hpUudDPp][\w.@:/-]*|-[tAxqXwNBs]+"
    r"|--?(?:csv|json|header|noheader|column|line|list|batch|readonly|table|markdown|box"
    r"|tuples-only|no-align|quiet|no-psqlrc|host|port|username|user|dbname|database|silent)(?:=.*)?",
    re.DOTALL,
)
_SQL_TEXTS = ("-c", "-e", "--command", "--execute")
_SQL_VALUED = ("-h", "-p", "-U", "-u", "-d", "-D", "--host", "--port", "--username", "--user",
               "--dbname", "--database", *_SQL_TEXTS)  # fmt: skip


def sed_danger(args: Sequence[str]) -> str:
    """Judge `sed`: its script is read in full, or asked about."""
    if has_option(args, ("--in-place", "--file"), "if"):
        return "it changes files in place"
    options = [arg for arg in args if arg.startswith("-") and arg != "-"]
    follows = [following for arg, following in pairwise(args) if _SED_OPTION.fullmatch(arg)]
    scripts = follows or operands(args)[:1]
    is_plain = bool(scripts) and all(map(_is_plain_sed, scripts))
    if is_plain and all(_SED_PLAIN_OPTION.fullmatch(arg) for arg in options):
        return ""
    return "its script may write files or run commands"


def _is_plain_sed(script: str) -> bool:
    """Return whether a script of sed is read in full, and only shows and replaces text."""
    at = 0
    while at < len(script):
        at = _after(_SED_GAP, script, at)
        found = _SED_COMMAND.match(script, at)
        if found is None:
            return at == len(script)
        mark = found["mark"]
        if mark and re.search(rf"\[[^\]]*{re.escape(mark)}", found["found"]):
            # Not every sed agrees on whether this ends the pattern.
            return False
        at = found.end()
        if at < len(script) and _after(_SED_GAP, script, at) == at:
            return False
    return True


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def awk_danger(args: Sequence[str]) -> str:
    """Judge `awk`: no word of its program may write, or run another."""
    options = [arg for arg in args if arg.startswith("-")]
    program = next(iter(operands(args, ("-F", "-v"))), "")
    prints = ">" in program and "print" in program
    is_known = program and UNKNOWN not in program and all(map(_AWK_OPTION.fullmatch, options))
    if not is_known or prints or _AWK_BAD.search(program):
        return "its script may write files or run commands"
    return ""


def script_danger(args: Sequence[str]) -> str:
    """Judge an interpreter whose first argument is the file that it runs."""
    if not args or args[0].startswith(("-", "@")):
        return _DIRECT
    if _OPEN_FILE.search(posixpath.normpath(args[0])) or "://" in args[0]:
        return _DIRECT
    if UNKNOWN in args[0].rpartition("/")[2]:
        return "what it runs is only known when it runs"
    return by_words([args[0].rpartition("/")[2], *args[1:]], "a script")


def node_danger(args: Sequence[str]) -> str:
    """Judge `node`."""
    fine = re.compile(
        r"--test|--check|-c|--no-warnings|--experimental-[\w-]+|--max-old-space-size=\d+"
        r"|--env-file=[\w./-]+|--enable-source-maps"
    )
    if list(args) in (["-v"], ["--version"]):
        return ""
    at = 0
    while at < len(args) and fine.fullmatch(args[at]):
        at += 1
    return "" if at and at == len(args) else script_danger(args[at:])


def interpreter_danger(args: Sequence[str]) -> str:
    """Judge any other interpreter."""
    return "" if list(args) in (["-v"], ["--version"]) else script_danger(args)


def sql_danger(args: Sequence[str]) -> str:
    """Judge a client of a database: it may only be told to read."""
    given = [following for arg, following in pairwise(args) if arg in _SQL_TEXTS]
    glued = [arg.partition("=")[2] for arg in args if arg.startswith(("--command=", "--execute="))]
    texts = [*given, *glued] or operands(args, _SQL_VALUED)[1:]
    options = [arg for arg in args if arg.startswith("-") and arg not in given]
    is_reading = bool(texts) and all(map(_is_reading, texts))
    if is_reading and all(map(_SQL_OPTION.fullmatch, options)):
        return ""
    return "it may change a database"


def _is_reading(text: str) -> bool:
    """Return whether a statement only reads, and calls no function but well-known ones."""
    if UNKNOWN in text:
        return False
    if _SQL_SHOWS.fullmatch(text):
        return True
    if not _SQL_READS.match(text) or _SQL_BAD.search(text):
        return False
    return all(found[1].casefold() in _SQL_FUNCTIONS for found in _SQL_CALLS.finditer(text))
