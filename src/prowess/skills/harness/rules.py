"""What each harness reads of a skill: which folders, which keys, and what it makes of a body.

The table says what is documented or was seen in the source of a harness. Where nothing is known it
says so instead of guessing, since people decide by it what to change in their skills.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any

from prowess.data import dataclass, read_table, read_words
from prowess.skills.model import RootKind, Skill, Source, Tier

_SKILL_FILE = "skill.md"
_IDENTITY = frozenset(("name", "description"))
_LONGEST_NAME, _LONGEST_DESCRIPTION = 64, 1_024


class Reader(StrEnum):
    """A program that reads skills."""

    CLAUDE = "claude-code"
    CODEX = "codex"
    CURSOR = "cursor"
    GEMINI = "gemini"
    COPILOT = "copilot"
    VSCODE = "vscode"
    QWEN = "qwen"
    OPENCODE = "opencode"
    OPENCLAW = "openclaw"
    PROWESS = "prowess"


ALIASES = {"claude": Reader.CLAUDE, "gemini-cli": Reader.GEMINI, "copilot-cli": Reader.COPILOT}


class Winner(StrEnum):
    """Which of several skills of one name a reader takes."""

    PERSONAL = "personal"
    PROJECT = "project"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessRules:
    """What one reader does with skills."""

    reader: Reader
    title: str
    # Whose folders it reads, by the labels of sources, and whether the neutral folder is one.
    project: frozenset[str]
    personal: frozenset[str]
    neutral: bool = True
    # Whether it looks into the folders above the one where it runs, up to the repository's root.
    from_above: bool = True
    commands: bool = False
    winner: Winner = Winner.PROJECT
    # Where to put a skill for it: in a project, and for a person.
    places: tuple[str, str] = (".agents/skills", "~/.agents/skills")
    # Keys of the standard that change what it does, and those of which nobody says so.
    acts_on: frozenset[str] = _IDENTITY
    unknown: frozenset[str] = frozenset()
    # Other keys that it understands at the top level, where a strict build has none.
    dialect: frozenset[str] = frozenset()
    # Who may keep a skill from its model, and what else does.
    hidden_by: frozenset[str] = frozenset()
    refuses: frozenset[str] = frozenset()
    fills_arguments: bool = False
    runs_commands: bool = False
    sidecar: bool = False
    # What else a person should know.
    remark: str = ""
    # What it brings along itself, in which version that was seen, and how its list is written.
    builtin: tuple[tuple[str, int], ...] = ()
    seen: str = ""
    list_limit: int | None = None
    element: int = 97
    with_path: bool = True


@cache
def read_rules() -> Mapping[Reader, HarnessRules]:
    """Return what each reader does, from `rules.toml`."""
    table = read_table("skills/harness/rules.toml")
    groups = {name: read_words(words) for name, words in table["keys"].items()}
    return {reader: _make_rules(reader, table[reader], groups) for reader in Reader}


def _make_rules(
    reader: Reader, row: Mapping[str, Any], groups: Mapping[str, frozenset[str]]
) -> HarnessRules:
    found: dict[str, Any] = {**row, "winner": Winner(row.get("winner", Winner.PROJECT))}
    for name in ("project", "personal", "acts_on", "unknown", "dialect"):
        if name in row:
            words = row[name].split()
            listed = (groups[word[1:]] if word[0] == "@" else {word} for word in words)
            found[name] = frozenset().union(*listed)
    if "places" in row:
        found["places"] = tuple(row["places"])
    pairs = (word.rpartition(":") for word in row.get("builtin", "").split())
    found["builtin"] = tuple((name, int(chars)) for name, _, chars in pairs)
    found |= {name: frozenset(row.get(name, ())) for name in ("hidden_by", "refuses")}
    return HarnessRules(reader=reader, **found)


def reader_named(text: str) -> Reader:
    """Return the reader that a person calls `text`.

    Raises:
        ValueError: nobody is called so.
    """
    word = text.strip().lower()
    return ALIASES[word] if word in ALIASES else Reader(word)


def is_skill_file(skill: Skill) -> bool:
    """Return whether a skill is a folder with a SKILL.md, and not a single text."""
    return skill.path.replace("\\", "/").rpartition("/")[2].lower() == _SKILL_FILE


def reads(rules: HarnessRules, skill: Skill, folder: str = "") -> bool:
    """Return whether a reader that runs in a folder, if that is known, finds a skill."""
    if rules.reader is Reader.PROWESS:
        return True
    source = skill.source
    is_near = not (source.tier.is_project and folder) or _is_below(source.root, folder)
    if not (is_near or rules.from_above):
        return False
    if source.kind is RootKind.COMMANDS:
        return rules.commands and _is_own(rules, source)
    return source.kind is RootKind.SKILLS and is_skill_file(skill) and _is_own(rules, source)


def _is_below(root: str, folder: str) -> bool:
    return root.replace("\\", "/").startswith(folder.replace("\\", "/").rstrip("/") + "/")


def _is_own(rules: HarnessRules, source: Source) -> bool:
    if source.tier in {Tier.AGENTS_PROJECT, Tier.AGENTS_PERSONAL}:
        return rules.neutral
    if source.tier is Tier.HARNESS_PROJECT:
        return source.label in rules.project
    if source.tier is Tier.HARNESS_PERSONAL:
        return source.label in rules.personal
    return source.tier is Tier.WORKSPACE and rules.reader is Reader.OPENCLAW


def why_hidden(rules: HarnessRules, skill: Skill) -> str:
    """Return what keeps a skill from the model of a reader; nothing where it is listed."""
    wish = skill.invocation.hidden_by
    if skill.is_draft or wish in rules.hidden_by:
        return wish
    return next((flaw for flaw in _find_flaws(skill) if flaw in rules.refuses), "")


def _find_flaws(skill: Skill) -> Iterator[str]:
    if len(skill.name) > _LONGEST_NAME:
        yield "a name over 64 characters"
    if len(skill.description) > _LONGEST_DESCRIPTION:
        yield "a description over 1,024 characters"
    if "name" not in skill.fields:
        yield "the lack of a name"
    if any(one.code == "COLON_RESCUED" for one in skill.diagnostics):
        yield "a colon in a text without quotes"
    below = skill.path.removeprefix(skill.source.root)
    if is_skill_file(skill) and re.search(r"[\\/].+[\\/].+[\\/]", below):
        yield "a folder between it and the others"


def choose(rules: HarnessRules, skills: Iterable[Skill]) -> list[Skill]:
    """Return what a reader takes of `skills`: one of each name, or all of them."""
    if rules.winner is Winner.ALL:
        return list(skills)
    taken: dict[str, Skill] = {}
    for skill in skills:
        known = taken.get(skill.name)
        if known is None or _rank(rules, skill) > _rank(rules, known):
            taken[skill.name] = skill
    return list(taken.values())


def _rank(rules: HarnessRules, skill: Skill) -> tuple[bool, int]:
    personal = skill.source.tier in {Tier.HARNESS_PERSONAL, Tier.AGENTS_PERSONAL}
    return personal is (rules.winner is Winner.PERSONAL), skill.source.tier
