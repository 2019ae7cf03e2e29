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
from itertools import pairwise
from typing import Any

from prowess.data import read_table, read_words
from prowess.skills.model import Skill

_MOST_LINES, _MOST_CLAIMS, _LONGEST_LINE = 6_000, 600, 2_000
_FENCE = re.compile(r"\s*(```+|~~~+)\s*([\w+#.-]*)")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(?P<title>\S.{0,200})")
_SHELLS = frozenset(("sh", "bash", "shell", "zsh", "console", "terminal", "shell-session"))
_SPAN = re.compile(r"(?<!`)`([^`\n]{1,200})`(?!`)")
_LINK = re.compile(r"\[[^\]\n]{0,200}\]\(([^()\s]{1,300})\)")
_URL = re.compile(r"https?://[^\s<>()\[\]`\"'|]{3,300}")
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
# The owner of a name that a skill only mentions: nothing says where it should be.
MENTIONED = ("",)
_DOTTED = re.compile(r"[a-z_]\w*(?:\.[A-Za-z_]\w*)+")
_TYPE = re.compile(r"(?:[A-Z][a-z0-9]+){2,}")
_PINNED = re.compile(
    r"(@?[A-Za-z][\w.-]*(?:/[\w.-]+)?)(?:\[[\w,-]+\])?(==|>=|~=|<=|@\^?~?|\^)v?(\d[\w.]*)"
)
_SAID_VERSION = re.compile(r"\b([A-Za-z][\w.-]{1,40}) (?:version )?v?(\d+(?:\.\d+)+)\b")
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
_EDGES = ".,:;()*_`\"'?!"
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


@cache
def known_words(section: str, key: str = "words") -> frozenset[str]:
    """Return one list of words of the table beside this module."""
    return read_words(read_table("proof/claims.toml")[section][key])


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
        context = f"{section} {said}" if fence else f"{section} {line}"
        words = {word.strip(_EDGES).casefold() for word in context.split()}
        soft, gone = (
            not words.isdisjoint(one) for one in (known_words("soft"), known_words("gone"))
        )
        claims = _read_code(line, language) if fence else _read_prose(line)
        for claim in claims:
            yield replace(claim, line=at, section=section, soft=claim.soft or soft, gone=gone)
        if not fence and line.strip():
            said = line


def _read_code(line: str, language: str) -> Iterator[Claim]:
    """Yield what a line of a code block claims; only commands say what has to be there."""
    text = line.strip()
    prompted = text.startswith("$ ")
    text = text.removeprefix("$ ")
    begins = text.split(" ", 1)[0] in known_words("programs", "lines")
    if language in _SHELLS or ((prompted or begins) and not language):
        yield from _read_command(text)
    elif _IMPORTS.match(text):
        yield from _mention(text)
    yield from _read_urls(text)


def _read_prose(line: str) -> Iterator[Claim]:
    for target in _LINK.findall(line):
        if "://" not in target and not target.startswith(("#", "mailto:", "/")):
            path = target.split("#")[0].split("?")[0]
            if path and _is_path(path):
                yield _claim(ClaimKind.PATH, path, linked=True)
    files = [span for span in _SPAN.findall(line) if _is_path(span.strip())]
    for span in _SPAN.findall(line):
        yield from _read_span(span.strip(), files)
    yield from _read_urls(line)
    bare = _SPAN.sub("`", line)
    for name, version in _SAID_VERSION.findall(bare):
        yield _claim(ClaimKind.PACKAGE, name, version=version, owner=("~",))
    for found in _SIBLING.findall(line):
        yield _claim(ClaimKind.SKILL, next(filter(None, found)))


def _mention(text: str) -> Iterator[Claim]:
    """Yield the names of several words in a text of which no more is known."""
    for name in _OWN_NAME.findall(text):
        if not _is_placeholder(name):
            yield _claim(ClaimKind.SYMBOL, name, owner=MENTIONED)


def _read_urls(text: str) -> Iterator[Claim]:
    for port in _PORT.findall(text):
        yield _claim(ClaimKind.SYMBOL, port, owner=MENTIONED)
    for url in _URL.findall(text):
        yield _claim(ClaimKind.URL, url.rstrip(".,;:!?*"), soft=bool(_ODD.search(url)))


def _read_span(span: str, files: Sequence[str]) -> Iterator[Claim]:
    """Yield what a piece of code within a sentence claims."""
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
        yield from _read_symbol(name, files, called=symbol is not None)
    else:
        yield from _read_words(span)


def _read_words(span: str) -> Iterator[Claim]:
    """Yield what a piece of code claims that is neither a package, a variable nor a symbol."""
    if " " in span and _is_command_like(span):
        yield from _read_command(span.removeprefix("$ "))
    elif _is_path(span):
        yield _claim(ClaimKind.PATH, span)
    elif _TAGGED.fullmatch(span):
        yield _claim(ClaimKind.SYMBOL, span, owner=MENTIONED)
    else:
        yield from _mention(span)


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
    program, rest = words[0], list(words[1:])
    if program in known_words("programs", "shell"):
        yield from _read_arguments(
            rest, soft=program in {"mkdir", "touch", "cp", "mv", "rm", "tee"}
        )
        return
    yield from _read_named(program, rest)
    if (
        program in known_words("programs", "interpreters")
        and rest
        and _is_path(rest[0])
        and "/" not in program
    ):
        program, rest = rest[0], rest[1:]
    owner: tuple[str, ...] = (program,)
    if _is_path(program) and ("/" in program or "." in program):
        yield _claim(ClaimKind.PATH, program)
    elif _NAME.fullmatch(program) and not _is_placeholder(program):
        yield _claim(ClaimKind.COMMAND, program)
        called = _find_mode(program, rest)
        if called:
            owner = (program, called)
            yield _claim(ClaimKind.SUBCOMMAND, called, owner=(program,))
    else:
        return
    for word in rest:
        flag = _FLAG.fullmatch(word)
        if flag and not _is_placeholder(flag[1]):
            yield _claim(ClaimKind.FLAG, flag[1], owner=owner)
    yield from _read_arguments(rest, soft=False)


def _read_named(program: str, rest: Sequence[str]) -> Iterator[Claim]:
    """Yield what a call names of a list that the project keeps, or of its modules."""
    if program.startswith("python"):
        for option, named in pairwise(rest):
            if option == "-m" and _DOTTED.fullmatch(named):
                yield _claim(ClaimKind.SYMBOL, named, owner=("-m",))
    for call, own in _list_calls().get(program.rpartition("/")[2], ()):
        for named in _find_named(call[1:], rest):
            if _LISTED.fullmatch(named) and named not in own and not _is_placeholder(named):
                yield _claim(ClaimKind.SUBCOMMAND, named, owner=(" ".join(call),))


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
    plain = [word for word in rest if not word.startswith("-")]
    option = call[-1] if call and call[-1].startswith("-") else ""
    before = list(call[:-1] if option else call)
    if plain[: len(before)] != before:
        return
    if not option:
        yield from plain[len(before) : len(before) + 1]
        return
    for one, named in pairwise((*rest, "")):
        if one == option or one.startswith(f"{option}="):
            given = one.removeprefix(f"{option}=") if "=" in one else named
            yield from (word.removeprefix("not ") for word in given.split(","))


def _find_mode(program: str, rest: Sequence[str]) -> str:
    """Return the part of a program that is called: a script, a target or a subcommand."""
    words = [word for word in rest if not word.startswith("-")]
    if (
        program in known_words("programs", "package_runners")
        and rest
        and rest[0] in {"run", "run-script"}
    ):
        words = words[1:]
    elif program in known_words("programs", "package_runners"):
        words = words if words and words[0] not in known_words("programs", "package_words") else []
    elif program in known_words("programs", "pythonic"):
        words = words[1:] if rest and rest[0] == "run" else []
    # A folder, a filter or another file may stand before what is meant.
    moved = any(
        word.startswith(("-C", "-f", "--prefix", "--filter", "-w", "--cwd")) for word in rest
    )
    found = words[0] if words and not moved else ""
    return found if _SUBCOMMAND.fullmatch(found) and not _is_placeholder(found) else ""


def _read_arguments(words: Sequence[str], *, soft: bool) -> Iterator[Claim]:
    before = ""
    for word in words:
        variable = re.fullmatch(r"\$\{?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\}?", word)
        if variable and variable[1] not in known_words("environment", "general"):
            yield _claim(ClaimKind.ENVIRONMENT, variable[1])
        elif "/" in word.strip("/") and _is_path(word):
            yield _claim(ClaimKind.PATH, word, soft=soft or before in _WRITES_TO)
        elif not word.startswith("--") or "=" in word:
            yield from _mention(word.removeprefix("-D"))
        before = word


def _is_path(word: str) -> bool:
    """Return whether a word is a path of this project or this skill, with nothing to fill in."""
    if _ODD.search(word) or not _PATH.fullmatch(word) or _is_placeholder(word):
        return False
    if word.startswith(("/", "~", "@")) or word.count("/") == len(word):
        return False
    stem, dot, ending = word.rpartition("/")[2].rpartition(".")
    is_file = bool(dot and stem) and ending.lower() in known_words("files", "endings")
    parts = word.strip("/").split("/")
    if is_file:
        return True
    # `and/or` and `owner/repository` are no paths: a folder says so with its last character.
    return len(parts) > 1 and (word.endswith("/") or word.startswith("./"))


def _is_placeholder(word: str) -> bool:
    low = word.casefold()
    parts = set(re.split(r"[/._:-]", low))
    return bool(parts & known_words("placeholder")) or any(
        mark in low for mark in ("path/to", "your", "example", "xxx", "placeholder")
    )


# Whatever else a claim says of itself.
def _claim(kind: ClaimKind, text: str, **more: Any) -> Claim:  # noqa: ANN401
    return Claim(kind=kind, text=text, line=0, **more)
