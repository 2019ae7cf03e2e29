"""The page about the house is true: its tree, its rules and where a reader finds them."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "prowess"
PAGE = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")

# A rule of the documentation, the word by which a reader looks for it in the listing, and the
# module that holds it.
RULES = (
    ("which copy of a skill wins", "catalog", "skills/catalog"),
    ("what is missing before a skill can run", "eligibility", "skills/eligibility"),
    ("no list is all, an empty one is none", "agent_filter", "skills/agent_filter"),
    ("what is dropped when the block is full", "prompt", "skills/prompt"),
    ("names of slash commands", "commands", "skills/commands"),
    ("$name in a message", "invocation", "skills/invocation"),
    ("duplicate keys in frontmatter", "frontmatter", "skills/frontmatter"),
    ("what strict validation refuses", "validation", "skills/validation"),
    ("when a snapshot gets a new version", "snapshot", "skills/snapshot"),
    ("how deep folders are searched", "discovery", "host/sources/discovery"),
    ("which links are followed", "symlinks", "host/sources/symlinks"),
    ("triggers of authors", "triggers", "routing/triggers"),
    ('"yes, go on" after a skill', "follow_ups", "routing/follow_ups"),
    ("the bar for broad skills", "breadth", "routing/breadth"),
    ("hand-offs to another skill", "handoffs", "routing/handoffs"),
    ("load, offer or nothing", "decision", "routing/decision"),
    ("quarantined is never applied", "apply", "runtime/workshop/apply"),
    ("the seven phrase families", "corrections", "language/corrections"),
    ("nearly the same skill twice", "similar", "workshop/similar"),
    ("the hook's 2,000 characters", "answers", "hooks/answers"),
    ("line breaks of a pasted key", "config", "runtime/config/edits"),
    ("variables that a skill may not set", "environment", "safety/environment"),
    ("secrets in config that is shown", "redaction", "runtime/config/redaction"),
    ("what an archive may hold", "archives", "host/files/archives"),
    ("which commands a replay asks about", "gate", "experience/replay/gate"),
)  # fmt: skip
LEAST_FOUND = 23


def test_every_folder_stands_in_the_page_with_what_it_is_for() -> None:
    missing = [
        f"{folder}: {said}"
        for folder, said in _folders()
        if not re.search(rf"^ *{re.escape(folder)}/ +{re.escape(said)}$", PAGE, re.MULTILINE)
    ]

    assert missing == []


def test_a_rule_is_found_by_its_word_from_the_listing_alone() -> None:
    listing = {
        path.relative_to(SOURCE).with_suffix("").as_posix() for path in SOURCE.rglob("*.py")
    } | {path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("__init__.py")}

    lost = [rule for rule, word, module in RULES if module not in listing or word not in module]

    assert len(RULES) - len(lost) >= LEAST_FOUND, lost


def _folders() -> list[tuple[str, str]]:
    """Return each folder of the package by its own name, and the first line of its docstring."""
    found = []
    for path in sorted(SOURCE.rglob("__init__.py")):
        if path.parent != SOURCE:
            said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            found.append((path.parent.name, said.partition("\n")[0]))
    return found
