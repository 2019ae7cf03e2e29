"""Programs that are given a script: awk, sed, interpreters and clients of databases.

A script is only let through where all of it is read and nothing in it writes or runs anything. A
file that is run is only known by its name.
"""

import posixpath
import re
from collections.abc import Sequence
from itertools import pairwise

from prowess.experience.gate.destructive_options import UNKNOWN, by_words, has_option, operands
from prowess.experience.gate.tables import names

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
