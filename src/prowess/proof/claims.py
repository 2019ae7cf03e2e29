"""What a skill says of the world it works in: programs, files, names and skills, with their lines.

A claim is something that can stop being true without anybody touching the skill. What only shows
how something might look (examples, files to be made) is taken up as soft, and more has to speak
against it before it is called stale. Nothing here looks at the world, and nothing is run.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from itertools import pairwise, takewhile
from typing import Any

from prowess.data import read_table, read_words
from prowess.skills.model import Skill

_MOST_LINES, _MOST_CLAIMS, _LONGEST_LINE, _MOST_SUBCOMMANDS = 6_000, 600, 2_000, 3
_FENCE = re.compile(r"\s*(```+|~~~+)\s*([\w+#.-]*)")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(?P<title>\S.{0,200})")
_SHELLS = frozenset(("sh", "bash", "shell", "zsh", "console", "terminal", "shell-session"))
_SPAN = re.compile(r"(?<!`)`([^`\n]{1,200})`(?!`)")
_LINK = re.compile(r"\[[^\]\n]{0,200}\]\(([^()\s]{1,300})\)")
_URL = re.compile(r"https?://[^\s<>()\[\]`\"'|]{3,300}")
# Where one thing said ends and the next begins: what speaks against one says nothing of the other.
_CLAUSE = re.compile(r"(?<=[\w`)*\]\"'][.!?;])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)\s+")
# Most lines of prose hold none of what makes a claim: marks, links, numbers, another skill's name.
_MAY_CLAIM = re.compile(r"[`\d]|\]\(|://|\bskill|SKILL")
_WORD = re.compile(r"(?:[^\s'\"]|'[^']*'|\"[^\"]*\")+")
_CUT = re.compile(r"&&|\|\||[;|]|(?<!\S)#.*")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9]*(?:[:_-][a-z0-9]+)*")
_LISTED = re.compile(r"[@:A-Za-z][\w.:@/-]*\w")
_FLAG = re.compile(r"(--[A-Za-z][\w-]+)(?:=.*)?")
_PATH = re.compile(r"(?:\.{0,2}/)?[\w.@+-]+(?:/[\w.@+-]+)*/?")
_ENVIRONMENT = re.compile(r"(?<![\w$-])\$?\{?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\}?(?![\w-])")
_SYMBOL = re.compile(
    r"((?:[A-Za-z_]\w*(?:\.|::|#))*[A-Za-z_]\w*)\(\)"
    # With its arguments, or as other languages write it, a method of a class.
    r"|((?:[A-Za-z_]\w*(?:\.|::|#))+[A-Za-z_]\w*)\([^()]*\)|([A-Z]\w+(?:::|#)[a-z_]\w*)"
    r"|\$\w+->(\w+)\([^()]*\)"
)
# A name of several words, or the number of a port: what a project may have lost.
_OWN_NAME = re.compile(
    r"(?<![\w-])[A-Za-z]\w*(?:[-_][A-Za-z0-9]+)+(?![\w-])"
    r"|\b[a-z]+[A-Z]\w+|\b(?:[A-Z][a-z0-9]+){2,}\b"
)
_TAGGED = re.compile(r"[a-z][\w./-]*:v?\d[\w.]*|[a-z]+\.[a-z]+|[a-z]+\d+\.\d+")
_PORT = re.compile(r"(?:\b[Pp]ort |localhost:|127\.0\.0\.1:|0\.0\.0\.0:)(\d{4,5})\b")
_IMPORTS = re.compile(r"(?:import|from|use|require|#include)\b")
_MODULE = re.compile(r"(?:from|import) ([A-Za-z_]\w*(?:\.\w+)+)(?= import\b|$)")
# The owner of a name that a skill only mentions: nothing says where it should be.
MENTIONED = ("",)
# That of a module that Python is told to run, and of one that it is told to import.
MODULES = RUN_MODULE, IMPORTED = ("-m",), ("import",)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_TYPE = re.compile(r"(?:[A-Z][a-z0-9]+){2,}")
_PINNED = re.compile(
    r"(@?[A-Za-z][\w.-]*(?:/[\w.-]+)?)(?:\[[\w,-]+\])?(==|>=|~=|<=|@\^?~?|\^)v?(\d[\w.]*)"
)
_SAID_VERSION = re.compile(
    r"(?:\b|`)([A-Za-z@][\w./-]{1,40})`? (?:version |is |at )?v?(\d+(?:\.\d+)+)\b"
    r"(\+| (?:or|and) (?:newer|later|above|higher|up))?"
)
# A number alone is a version only behind a name that stands out, where it is not a count of things.
_SAID_MAJOR = re.compile(
    r"(?:\b(?=[A-Z])|`)([A-Za-z@][\w./-]{1,40})`? (?:version )?v?(\d{1,2})"
    r"(\+| (?:or|and) (?:newer|later|above|higher|up))?"
    r"(?=[.,;:)]*(?:\s*$|\s(?:and|with|on|in|is)\b)|[.,;:)]+\s)"
)
_ROUTE = re.compile(r"(?:[A-Z]{3,7} )?/([\w.-]+(?:/[\w:{}<>.-]*[\w}>])+)")
_SIBLING = re.compile(
    r"`/?([a-z0-9]+(?:-[a-z0-9]+)*)`(?= skill\b)"
    r"|\bskills? `/?([a-z0-9]+(?:-[a-z0-9]+)*)`"
    r"|\bthe ([a-z0-9]+(?:-[a-z0-9]+)+) skill\b"
    r"|\.\./([a-z0-9]+(?:-[a-z0-9]+)*)/SKILL\.md"
)
_INSTALLS = re.compile(
    r"(?:pip3?|pipx|uv|poetry|pdm|npm|pnpm|yarn|bun)(?: pip)? (?:install|add|i)\b"
)
_ODD = re.compile(r"[<>{}$*\[\]()|\\…]|\.\.\.")
_KNOWN_FILE = re.compile(r"[A-Z][a-z]+file\.[\w-]+")
_ENDING = re.compile(r"[a-z][a-z0-9]{0,9}")
_FOLDER = re.compile(r"\.?[A-Za-z][\w.-]*(?:/[\w-][\w.-]*)+")
_EDGES = ".,:;()*_`\"'?!"
# Options of wrappers that take no value.
_ALONE = frozenset(("-T", "-it", "-i", "-t", "-d", "--rm", "-y", "--yes", "-q", "--no-deps"))
_PLACES = frozenset(
    ("-C", "-f", "-F", "-w", "--prefix", "--filter", "--cwd", "--dir", "--workspace")
)
# Programs whose words are the names of a list, one as good as the next.
_LISTED_RUNNERS = frozenset(("make", "just", "task", "rake", "nox", "tox"))
# What `cargo run` runs where it is not told.
CARGO_RUN = "cargo-run"
_WRITES_TO = frozenset(("-o", "--output", "--out", ">", ">>", "-d", "--dest"))


class ClaimKind(Enum):
    """What a claim is about."""

    COMMAND = "command"
    SUBCOMMAND = "subcommand"
    FLAG = "flag"
    PATH = "path"
    SYMBOL = "symbol"
    PACKAGE = "package"
    ENVIRONMENT = "environment"
    URL = "url"
    SKILL = "skill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One thing that a skill takes for granted, where it says so, and in which section."""

    kind: ClaimKind
    text: str
    line: int
    section: str = ""
    # The program of a flag or subcommand, the files of a symbol, or a version's operator.
    owner: tuple[str, ...] = ()
    version: str = ""
    # The text speaks of what may be or shall be made.
    soft: bool = False
    # The text says itself that it is not, or shall not be, there: never called stale.
    gone: bool = False
    # A link: it means a file beside the skill.
    linked: bool = False

    @property
    def mentioned(self) -> bool:
        """Whether it is a name that is only mentioned: nothing says where it should be."""
        return self.owner[:1] == MENTIONED


@cache
def known_words(section: str, key: str = "words") -> frozenset[str]:
    """Return one list of words of the table beside this module."""
    return read_words(read_table("proof/claims.toml")[section][key])


# What is taken from a text that may be a call.
_CALLED = frozenset((ClaimKind.COMMAND, ClaimKind.SUBCOMMAND, ClaimKind.FLAG))


# What may be said of a claim that makes it none, by the lists of the table, and for which kinds. A
# command stays one that is given where something shall be made.
_EXAMPLE = frozenset(("example",))
_SOFTENED = {
    ClaimKind.PATH: _EXAMPLE | {"maybe", "made", "written"},
    ClaimKind.SYMBOL: _EXAMPLE | {"maybe", "made"},
    ClaimKind.ENVIRONMENT: _EXAMPLE | {"maybe", "made"},
    ClaimKind.SKILL: _EXAMPLE | {"maybe", "made"},
}
_SAID_OF = ("example", "maybe", "made", "written", "gone")


def read_claims(skill: Skill) -> tuple[Claim, ...]:
    """Return what a skill claims, in the order of its lines, each thing once per section."""
    found: dict[tuple[object, ...], Claim] = {}
    for claim in _walk(skill):
        key = (claim.kind, claim.text, claim.owner, claim.version, claim.section)
        known = found.get(key)
        if known is None:
            found[key] = claim
        elif (known.soft, known.gone) > (claim.soft, claim.gone):
            # Said once as an example and once for good: the second counts.
            found[key] = claim
        if len(found) >= _MOST_CLAIMS:
            break
    return tuple(sorted(found.values(), key=lambda claim: claim.line))


def _walk(skill: Skill) -> Iterator[Claim]:
    fence, language, section = "", "", ""
    said = ""
    for at, whole in enumerate(skill.body.split("\n")[:_MOST_LINES], start=skill.body_line):
        line = whole[:_LONGEST_LINE]
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence, language = ("", "") if fence else (mark[1], mark[2].lower())
            continue
        title = None if fence else _HEADING.match(line)
        if title:
            section, said = title["title"].strip("# "), title["title"]
        is_code = bool(fence) or _is_indented_call(line)
        for found, about in _read_line(line, language, said, is_code=is_code):
            claims = list(found)
            if not claims:
                continue
            words = {word.strip(_EDGES).casefold() for word in f"{section} {about}".split()}
            said_of = {one for one in _SAID_OF if not words.isdisjoint(known_words(one))}
            for claim in claims:
                soft = claim.soft or not said_of.isdisjoint(_SOFTENED.get(claim.kind, _EXAMPLE))
                gone = "gone" in said_of
                yield replace(claim, line=at, section=section, soft=soft, gone=gone)
        if not is_code and line.strip():
            said = line


def _is_indented_call(line: str) -> bool:
    """Return whether a line without marks is a block of code by its indent, and a call."""
    text = line.strip()
    return line.startswith(("    ", "\t")) and "`" not in text and _begins_call(text)


def _begins_call(text: str) -> bool:
    first = text.removeprefix("$ ").split(" ", 1)[0]
    known = first in known_words("programs", "lines")
    return known or text.startswith("$ ") or (first.startswith("./") and _is_path(first))


def _read_line(
    line: str, language: str, said: str, *, is_code: bool
) -> Iterator[tuple[Iterator[Claim], str]]:
    """Yield the claims of a line by its clauses, each with the words that stand around it."""
    if is_code:
        yield _read_code(line, language), said
        return
    files = _find_files(line) if "`" in line else []
    for clause in _CLAUSE.split(line) if _MAY_CLAIM.search(line) else ():
        yield _read_prose(clause, files), clause


def _find_files(text: str) -> list[str]:
    return [span for span in _SPAN.findall(text) if _is_path(span.strip())]


def _read_code(line: str, language: str) -> Iterator[Claim]:
    """Yield what a line of a code block claims; only commands say what has to be there."""
    text = line.strip()
    is_call = language in _SHELLS or (not language and _begins_call(text))
    text = text.removeprefix("$ ")
    if is_call:
        yield from _read_command(text)
    elif not language:
        # It may be a call, or what one prints: only what is called is taken from it.
        yield from (one for one in _read_command(text) if one.kind in _CALLED)
    elif _IMPORTS.match(text):
        yield from _read_import(text)
    yield from _read_urls(text)


def _read_prose(line: str, files: Sequence[str]) -> Iterator[Claim]:
    for target in _LINK.findall(line) if "](" in line else ():
        if "://" not in target and not target.startswith(("#", "mailto:", "//")):
            path = target.split("#")[0].split("?")[0].removeprefix("/")
            if path and _is_path(path):
                yield _claim(ClaimKind.PATH, path, linked=path == target)
    beside = _find_files(line) if files else ()
    for span in _SPAN.findall(line) if "`" in line else ():
        yield from _read_span(span.strip(), files, beside)
    yield from _read_urls(line)
    for name, version, least in _SAID_VERSION.findall(line) + _SAID_MAJOR.findall(line):
        owner = (">=",) if least else ("~",)
        yield _claim(ClaimKind.PACKAGE, name.rstrip("."), version=version, owner=owner)
    for found in _SIBLING.findall(line):
        yield _claim(ClaimKind.SKILL, next(filter(None, found)))


def _mention(text: str, files: Sequence[str] = ()) -> Iterator[Claim]:
    """Yield the names of several words in a text of which no more is known."""
    for name in _OWN_NAME.findall(text):
        if not _is_placeholder(name):
            yield _claim(ClaimKind.SYMBOL, name, owner=(*MENTIONED, *files))


def _read_import(text: str, files: Sequence[str] = ()) -> Iterator[Claim]:
    for module in _MODULE.findall(text):
        yield _claim(ClaimKind.SYMBOL, module, owner=IMPORTED)
    yield from _mention(text, files)


def _read_urls(text: str) -> Iterator[Claim]:
    for port in _PORT.findall(text):
        yield _claim(ClaimKind.SYMBOL, port, owner=MENTIONED)
    for url in _URL.findall(text):
        yield _claim(ClaimKind.URL, url.rstrip(".,;:!?*"), soft=bool(_ODD.search(url)))


def _read_span(span: str, files: Sequence[str], beside: Sequence[str]) -> Iterator[Claim]:
    """Yield what a piece of code within a sentence claims.

    Args:
        span: the piece.
        files: the files that its line names.
        beside: those of its own clause.
    """
    pinned = _PINNED.fullmatch(span)
    symbol = _SYMBOL.fullmatch(span)
    variable = _ENVIRONMENT.fullmatch(span)
    if pinned:
        yield _claim(ClaimKind.PACKAGE, pinned[1], owner=(pinned[2],), version=pinned[3])
    elif variable:
        if variable[1] not in known_words("environment", "general"):
            yield _claim(ClaimKind.ENVIRONMENT, variable[1])
    elif symbol or _DOTTED.fullmatch(span) or _TYPE.fullmatch(span):
        name = next(filter(None, symbol.groups())) if symbol else span
        yield from _read_symbol(name, beside, called=symbol is not None)
        yield from _mention(name[: -len(re.split(r"\.|::|#", name)[-1])], files)
    elif _MODULE.match(span):
        yield from _read_import(span, files)
    elif route := _ROUTE.fullmatch(span):
        yield _claim(ClaimKind.SYMBOL, route[1], owner=MENTIONED)
    else:
        yield from _read_words(span, files)


def _read_words(span: str, files: Sequence[str]) -> Iterator[Claim]:
    """Yield what a piece of code claims that is neither a package, a variable nor a symbol."""
    flag = _FLAG.fullmatch(span.partition(" ")[0])
    if flag and not _is_placeholder(span):
        yield _claim(ClaimKind.FLAG, flag[1], owner=(*MENTIONED, *files))
    elif " " in span and _is_command_like(span):
        yield from _read_command(span.removeprefix("$ "))
    elif _is_path(span) or _is_folder(span):
        yield _claim(ClaimKind.PATH, span)
    elif _TAGGED.fullmatch(span):
        name, _, version = span.rpartition("/")[2].partition(":v" if ":v" in span else ":")
        if version:
            yield _claim(ClaimKind.PACKAGE, name, version=version, owner=("~",))
        yield _claim(ClaimKind.SYMBOL, span, owner=MENTIONED)
    else:
        yield from _mention(span, files)


def _read_symbol(name: str, files: Sequence[str], *, called: bool) -> Iterator[Claim]:
    last = re.split(r"\.|::|#", name)[-1]
    if _is_path(name) and not called:
        yield _claim(ClaimKind.PATH, name)
    elif last not in known_words("symbols", "general"):
        yield _claim(ClaimKind.SYMBOL, name, owner=tuple(files), soft=_is_placeholder(name))


def _is_command_like(span: str) -> bool:
    first = next(iter(span.removeprefix("$ ").split()), "")
    is_name = bool(_NAME.fullmatch(first)) and first.islower()
    return is_name or first.startswith(("./", "scripts/", "bin/", "vendor/bin/"))


def _read_command(line: str) -> Iterator[Claim]:
    installs = _INSTALLS.search(line) is not None
    for part in _CUT.split(line):
        words = [word.strip("'\"") for word in _WORD.findall(part)]
        while words and (
            words[0] in known_words("programs", "before") or _ASSIGNMENT.match(words[0])
        ):
            assigned = _ASSIGNMENT.match(words.pop(0))
            if assigned and _ENVIRONMENT.fullmatch(assigned[1]):
                yield _claim(ClaimKind.ENVIRONMENT, assigned[1])
        if words and installs:
            yield from _read_install(words)
        elif words:
            yield from _read_call(words)


def _read_install(words: Sequence[str]) -> Iterator[Claim]:
    for word in words[2:]:
        pinned = _PINNED.fullmatch(word)
        if pinned and not _is_placeholder(word):
            owner, version = (pinned[2],), pinned[3]
            # It is about to be installed, so that nobody need have it.
            yield _claim(ClaimKind.PACKAGE, pinned[1], owner=owner, version=version, soft=True)


def _read_call(words: Sequence[str]) -> Iterator[Claim]:
    inner = _find_inner(words)
    if inner:
        yield from _read_call(words[inner:])
        words = words[:inner]
    program, rest = words[0], list(words[1:])
    if program in known_words("programs", "shell"):
        made = program in {"mkdir", "touch", "cp", "mv", "rm", "tee"}
        yield from _read_arguments(rest, soft=made)
        return
    yield from _read_module(program, rest)
    yield from _read_named(program, rest)
    script, rest = _find_script(program, rest)
    if script != program:
        yield from _read_named(script, rest)
        program = script
    if _is_path(program) or _is_folder(program):
        yield _claim(ClaimKind.PATH, program)
    elif _NAME.fullmatch(program) and not _is_placeholder(program):
        # A module that an interpreter is told to run has been named as such.
        yield from () if "." in program else (_claim(ClaimKind.COMMAND, program),)
    else:
        return
    if not inner:
        yield from _find_modes(program, rest)
    # The page of the last subcommand tells of its options; behind one of them stands its value.
    values = {word for before, word in pairwise(rest) if before.startswith("-")}
    plain = [word for at, word in enumerate(_drop_places(rest)[0]) if not at or word not in values]
    said = takewhile(_SUBCOMMAND.fullmatch, plain[:_MOST_SUBCOMMANDS])
    yield from _read_options((program, *said), rest)


def _read_options(owner: tuple[str, ...], rest: Sequence[str]) -> Iterator[Claim]:
    """Yield the flags of a call, and what its other words claim."""
    for word in rest:
        flag = _FLAG.fullmatch(word)
        if word == "--":
            break
        if flag and not _is_placeholder(flag[1]):
            yield _claim(ClaimKind.FLAG, flag[1], owner=owner)
    yield from _read_arguments(rest, soft=False)


def _find_inner(words: Sequence[str]) -> int:
    """Return where the call begins that a call only passes on; 0 where it passes on none."""
    for wrapper in _wrappers().get(words[0], ()):
        at = 1
        for part in wrapper[1:]:
            # Options of the wrapper may stand between its words, each with a value.
            while at < len(words) and words[at].startswith("-") and words[at] != part:
                at += 1 if "=" in words[at] or words[at] in _ALONE else 2
            if at >= len(words) or part not in {words[at], "*"}:
                break
            at += 1
        else:
            while at < len(words) and words[at].startswith("-"):
                at += 1
            return at if at < len(words) else 0
    return 0


@cache
def _wrappers() -> dict[str, list[tuple[str, ...]]]:
    """Return by first word the calls that pass another one on; `*` is any word."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for one in read_table("proof/claims.toml")["programs"]["wrappers"]:
        words = tuple(one.split())
        found.setdefault(words[0], []).append(words)
    return found


def _find_script(program: str, rest: list[str]) -> tuple[str, list[str]]:
    """Return what is really run, where a program only interprets or builds it, and its words."""
    runs = program in known_words("programs", "interpreters") and "/" not in program
    plain = [word for word in rest if not word.startswith("-")]
    if runs and rest and _is_path(rest[0]):
        return rest[0], rest[1:]
    if program.startswith("python") and rest[:1] == ["-m"] and rest[1:]:
        return (rest[1], rest[2:]) if _DOTTED.fullmatch(rest[1]) else (program, rest)
    if program == "go" and plain[:1] == ["run"] and plain[1:]:
        at = rest.index(plain[1])
        return plain[1].rstrip("/").rpartition("/")[2], rest[at + 1 :]
    if program == "cargo" and plain[:1] == ["run"] and "--" in rest:
        named = [new for old, new in pairwise(rest) if old == "--bin"]
        return (*named, CARGO_RUN)[0], rest[rest.index("--") + 1 :]
    return program, rest


def _read_module(program: str, rest: Sequence[str]) -> Iterator[Claim]:
    if program.startswith("python"):
        for option, named in pairwise(rest):
            if option == "-m" and _DOTTED.fullmatch(named):
                yield _claim(ClaimKind.SYMBOL, named, owner=RUN_MODULE)


def _read_named(program: str, rest: Sequence[str]) -> Iterator[Claim]:
    """Yield what a call names of a list that the project keeps."""
    for call, own in _list_calls().get(program.rpartition("/")[2], ()):
        for named in _find_named(call[1:], rest):
            # Rake takes arguments in brackets.
            name = named.partition("[")[0]
            if _LISTED.fullmatch(name) and name not in own and not _is_placeholder(name):
                yield _claim(ClaimKind.SUBCOMMAND, name, owner=(" ".join(call),))


@cache
def _list_calls() -> dict[str, list[tuple[tuple[str, ...], frozenset[str]]]]:
    """Return by program the words before a name, and those that are no names."""
    found: dict[str, list[tuple[tuple[str, ...], frozenset[str]]]] = {}
    for row in read_table("proof/lists.toml").values():
        for call in row["calls"]:
            words = tuple(call.split())
            found.setdefault(words[0], []).append((words, read_words(row.get("own", ""))))
    return found


def _find_named(call: Sequence[str], rest: Sequence[str]) -> Iterator[str]:
    """Yield the names behind a call: what an option is given, or the word after a subcommand."""
    option = call[-1] if call and call[-1].startswith("-") else ""
    every = call[-1:] == ("*",)
    start = _find_end(call[:-1] if option or every else call, rest)
    if start < 0:
        return
    if not option:
        plain = [word for word in rest[start:] if not word.startswith("-")]
        yield from plain if every else plain[:1]
        return
    for one, named in pairwise((*rest, "")):
        if one == option or one.startswith(f"{option}="):
            given = one.removeprefix(f"{option}=") if "=" in one else named
            yield from (word.removeprefix("not ") for word in given.split(","))


def _find_end(before: Sequence[str], rest: Sequence[str]) -> int:
    """Return where the words of a call end; options may stand between them. Negative: nowhere."""
    at = 0
    for start, (one, word) in enumerate(pairwise(("", *rest, ""))):
        if at == len(before):
            return start
        if word == before[at]:
            at += 1
        elif not word.startswith("-") and not one.startswith("-"):
            return -1
    return -1


def _find_modes(program: str, rest: Sequence[str]) -> Iterator[Claim]:
    """Yield the part of a program that is called: a script, a target or a subcommand."""
    words, moved = _drop_places(rest)
    runner = program in known_words("programs", "package_runners")
    if runner and words and words[0] in {"run", "run-script"}:
        words = words[1:]
    elif runner:
        words = words if words and words[0] not in known_words("programs", "package_words") else []
    elif program in known_words("programs", "pythonic"):
        words = words[1:] if rest and rest[0] == "run" else []
    # In another folder there may be another list; scripts of packages are known by all of them.
    if not words or (moved and not runner):
        return
    owner: tuple[str, ...] = (program,)
    for at, found in enumerate(words[:2]):
        if not _SUBCOMMAND.fullmatch(found) or _is_placeholder(found):
            return
        # The second may be an argument as well.
        yield _claim(ClaimKind.SUBCOMMAND, found, owner=owner, soft=at > 0)
        if runner or program in _LISTED_RUNNERS or program in _list_calls():
            return


def _drop_places(rest: Sequence[str]) -> tuple[list[str], bool]:
    """Return the plain words of a call, without folders, filters and files that options name."""
    words, moved, skip = [], False, False
    for word in rest:
        place = word.startswith(("-C", "-f", "-F", "-w", "--prefix", "--filter", "--cwd", "--dir"))
        place = place or word.startswith("--workspace")
        if not word.startswith("-") and not skip:
            words.append(word)
        skip = place and "=" not in word and word in _PLACES
        moved = moved or place
    return words, moved


def _read_arguments(words: Sequence[str], *, soft: bool) -> Iterator[Claim]:
    before = ""
    for whole in words:
        word = whole.partition("=")[2] if _FLAG.fullmatch(whole) or whole[:1] == "-" else whole
        variable = re.fullmatch(r"\$\{?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\}?", word)
        if variable and variable[1] not in known_words("environment", "general"):
            yield _claim(ClaimKind.ENVIRONMENT, variable[1])
        elif "/" in word.strip("/") and (_is_path(word) or _is_folder(word)):
            yield _claim(ClaimKind.PATH, word, soft=soft or before in _WRITES_TO)
            yield from () if _is_path(word) else _mention(word)
        elif _KNOWN_FILE.fullmatch(word):
            yield _claim(ClaimKind.PATH, word)
        elif not whole.startswith("--") or word:
            yield from _mention(word or whole.removeprefix("-D"))
        before = whole


def _is_path(word: str) -> bool:
    """Return whether a word is a path of this project or this skill, with nothing to fill in."""
    if _ODD.search(word) or not _PATH.fullmatch(word) or _is_placeholder(word):
        return False
    if word.startswith(("/", "~", "@")) or word.count("/") == len(word):
        return False
    head, _, name = word.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    known = ending.lower() in known_words("files", "endings") or _KNOWN_FILE.fullmatch(name)
    # In a folder any ending will do, but `example.org/some.thing` is an address.
    if dot and stem and (known or (head and _ENDING.fullmatch(ending) and not _is_host(head))):
        return True
    parts = word.strip("/").split("/")
    # `and/or` and `owner/repository` are no paths: a folder says so with its last character.
    return len(parts) > 1 and (word.endswith("/") or word.startswith("./"))


def _is_host(head: str) -> bool:
    first = head.partition("/")[0]
    return "." in first.lstrip(".") and not first.startswith(".")


def _is_folder(word: str) -> bool:
    """Return whether a word may be a folder, or a file without an ending, of some project."""
    return bool(_FOLDER.fullmatch(word)) and not _is_placeholder(word)


def _is_placeholder(word: str) -> bool:
    low = word.casefold()
    parts = set(re.split(r"[/._:-]", low))
    return bool(parts & known_words("placeholder")) or any(
        mark in low for mark in ("path/to", "your", "example", "xxx", "placeholder")
    )


# Whatever else a claim says of itself.
def _claim(kind: ClaimKind, text: str, **more: Any) -> Claim:  # noqa: ANN401
    return Claim(kind=kind, text=text, line=0, **more)
