"""All rules by id, what a sighting of each weighs, and the texts that must and must not meet it.

The rows stand in `rules.toml`. Their examples are files of their own, because only tests, the
reference and `scan explain` read them: a scan must not pay for them. The seven rules as first
written down stand here too, by their wording alone: texts that an agent wrote are held to them
literally, and they are the baseline that the benchmark sets the scanner beside. An operator's yes
names the skill, the rule and the very evidence, and is void as soon as the skill or the scanner
changes; it comes from the operator's own file, never from the skill.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from prowess.data import dataclass, hash_code, read_table
from prowess.safety.model import Example, Finding, Level, Rule, RuleExamples

_EXAMPLE_FILES = (
    *("instructions", "deception", "execution", "evaluation", "damage", "data"),
    *("privacy", "persistence", "packages", "hiding", "files"),
)
_HEAD = "description: Tidy up meeting notes."
_MARK = re.compile("\u27e6(?:(\\w+)(?: times)?:([^\u27e7]*))?\u27e7")
_TAG_BASE = 0xE0000
_FIRST_SELECTORS = 0xFE00
_MORE_SELECTORS = 0xE0100
_FEW = 16


@cache
def read_rules() -> Mapping[str, Rule]:
    """Return the rules by id, in the order of the table."""
    rows = read_table("safety/rules/rules.toml")
    return MappingProxyType({name: _read_rule(name, row) for name, row in rows.items()})


def _read_rule(name: str, row: Mapping[str, str]) -> Rule:
    return Rule(
        id=name,
        family=row["family"],
        title=row["title"],
        level=Level(row["level"]),
        proposal=Level(row["proposal"]) if "proposal" in row else None,
        why=" ".join(row["why"].split()),
        fix=" ".join(row["fix"].split()),
        references=tuple(row["references"].split(", ")),
    )


def read_examples(rule_id: str) -> RuleExamples:
    """Return the texts on which a rule must fire and those on which it must not."""
    row = _example_rows()[rule_id]
    return RuleExamples(_build_all(row["fires"]), _build_all(row["quiet"]))


@cache
def _example_rows() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _EXAMPLE_FILES:
        found.update(read_table(f"safety/rules/examples/{name}.toml"))
    return found


def _build_all(rows: Iterable[Any]) -> tuple[Example, ...]:
    return tuple(_spell(row) if isinstance(row, str) else _build_folder(row) for row in rows)


def _build_folder(row: Mapping[str, Any]) -> dict[str, str]:
    files = {path: _spell(text) for path, text in row.get("files", {}).items()}
    if "body" not in row:
        return files
    head, body = _spell(row.get("head", _HEAD)), _spell(row["body"])
    page = f"---\nname: meeting-notes\n{head}\n---\n\n# Meeting notes\n\n{body}\n"
    return {"SKILL.md": page, **files}


def _spell(text: str) -> str:
    """Return a text with what stands in double brackets written as its mark says."""
    return _MARK.sub(lambda hit: encode(hit[1] or "", hit[2] or ""), text)


def encode(way: str, text: str) -> str:
    """Return `text` as base64, hex, tags or selectors, or so many times.

    Tags and variation selectors are characters that no screen shows.
    """
    if not way:
        return ""
    data = text.encode("utf-8")
    match way:
        case "base64":
            return b64encode(data).decode("ascii")
        case "hex":
            return data.hex()
        case "tags":
            return "".join(chr(_TAG_BASE + ord(letter)) for letter in text)
        case "selectors":
            return "".join(
                chr(_FIRST_SELECTORS + byte if byte < _FEW else _MORE_SELECTORS - _FEW + byte)
                for byte in data
            )
    return text * int(way)


_VERSION_CHARS = 16


@cache
def read_version() -> str:
    """Return the version of the scanner: another one with any change of its code or tables.

    What an older one reported is then worked out again, and what was accepted is asked for again.
    """
    return hash_code("safety", "reading", "secrets", "skills/frontmatter.py")[:_VERSION_CHARS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """One finding that an operator looked at and accepted."""

    skill: str
    rule_id: str
    evidence_hash: str
    content_hash: str
    scanner: str
    reason: str
    accepted_at: str


def apply_acceptances(
    finding: Finding, skill: str, digest: str, acceptances: Iterable[Acceptance]
) -> Finding:
    """Return `finding`, lowered where the operator accepted exactly this one."""
    if finding.level is Level.INFO or finding.rule_id == "scan-incomplete":
        return finding
    for given in acceptances:
        same = (given.skill, given.rule_id, given.evidence_hash) == (
            skill,
            finding.rule_id,
            finding.evidence_hash,
        )
        if same and given.content_hash == digest and given.scanner == read_version():
            return replace(finding, level=Level.INFO, lowered_by=(*finding.lowered_by, "accepted"))
    return finding


# What code does, takes along or leaves behind; words and odd files are another matter.
_EXECUTING = frozenset(("execution", "data", "persistence", "packages"))


def find_executing(findings: Iterable[Finding]) -> Finding | None:
    """Return a warning or worse about what would be run: such a text waits for a person."""
    heavy = (found for found in findings if found.level is not Level.INFO)
    rules = read_rules()
    ours = (one for one in heavy if one.rule_id in rules)
    return next((one for one in ours if rules[one.rule_id].family in _EXECUTING), None)


@cache
def read_contexts() -> dict[str, tuple[Level, str]]:
    """Return the contexts in which a finding stands: the most that is left of it, and why."""
    rows = read_table("safety/rules/levels.toml")["contexts"].items()
    return {context: (Level(row["level"]), row["reason"]) for context, row in rows}
