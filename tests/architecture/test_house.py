"""The page about the house is true: its tree, its rules and where a reader finds them."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "prowess"
PAGE = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")

# A rule of the documentation, the word by which a reader looks for it in the listing, and something
# that only the module has which holds the rule.
RULES = (
    ("which copy of a skill wins", "catalog", "shadow"),
    ("what is missing before a skill can run", "eligibility", "class Verdict"),
    ("no list is all, an empty one is none", "agent_filter", "an empty list none"),
    ("what is dropped when the block is full", "prompt", "never by the alphabet"),
    ("names of slash commands", "commands", "slash commands that skills give"),
    ("$name in a message", "invocation", "skills named by `$name`"),
    ("no key twice in frontmatter", "frontmatter", "class RepeatedKeyError"),
    ("what strict validation refuses", "validation", "strict: bool"),
    ("when a snapshot gets a new version", "snapshot", "def next_version"),
    ("how deep folders are searched", "discovery", "depth < self._source.depth"),
    ("which links are followed", "symlink", "class LinkRule"),
    ("triggers of authors", "trigger", "Triggers"),
    ('"yes, go on"', "follow_up", "def is_follow_up"),
    ("the bar for broad skills", "breadth", "broad"),
    ("hand-offs to another skill", "handoff", "hand"),
    ("load, offer or nothing", "decision", "Thresholds"),
    ("quarantined is never applied", "apply", "except QuarantinedError"),
    ("the seven phrase families", "correction", "def states_a_rule"),
    ("nearly the same skill twice", "similar", "nearly"),
    ("the hook's 600 characters", "answer", "LONGEST_AT_START = 600"),
    ("line breaks of a pasted key", "key", r'.replace("\r", "")'),
    ("variables that a skill may not set", "environment", "may not set"),
    ("secrets in config that is shown", "redact", "REDACTED ="),
    ("what an archive may hold", "archive", "class ArchiveLimits"),
    ("which commands a replay asks about", "gate", "is not known to be harmless"),
)  # fmt: skip
# More than these nobody opens to find one rule.
MOST_OPENED = 4
LEAST_FOUND = 23


def test_every_folder_stands_in_the_page_with_what_it_is_for() -> None:
    missing = [
        f"{folder}: {said}"
        for folder, said in _folders()
        if not re.search(rf"^ *{re.escape(folder)}/ +{re.escape(said)}$", PAGE, re.MULTILINE)
    ]

    assert missing == []


def test_a_rule_is_found_by_its_word_from_the_listing_alone() -> None:
    lost = [rule for rule, word, mark in RULES if not _is_found(word, mark)]

    assert len(RULES) - len(lost) >= LEAST_FOUND, lost


def _is_found(word: str, mark: str) -> bool:
    """Return whether one of the few modules that a word names holds the rule."""
    named = [path for path in SOURCE.rglob("*.py") if word in path.stem]
    texts = [path.read_text(encoding="utf-8") for path in named]
    return len(named) <= MOST_OPENED and any(mark in text for text in texts)


def _folders() -> list[tuple[str, str]]:
    """Return each folder of the package by its own name, and the first line of its docstring."""
    found = []
    for path in sorted(SOURCE.rglob("__init__.py")):
        if path.parent != SOURCE:
            said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            found.append((path.parent.name, said.partition("\n")[0]))
    return found
