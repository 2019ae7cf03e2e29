"""A reviewed draft as the text of a skill: what spoke of the draft is gone, the rest stays.

A person may have edited the draft, so this goes by its headings and takes out only what every
draft has: the labels below the title, the outcome of the one run, and the checklist. Anything else
is the person's, and is kept. The replay comes along under another name, so its label is written
anew; a skill's files are not written as programs, so the line says what runs it.
"""

import re
from types import MappingProxyType

from prowess.experience.draft_facts import DraftFacts, draft_facts, unix
from prowess.experience.plain_words import cut, plain
from prowess.secrets.credentials import masked
from prowess.skills import frontmatter
from prowess.skills.field_reader import FieldReader
from prowess.skills.text import one_line
from prowess.workshop.open_blocks import parsed

DRAFT_DESCRIPTION = "Auto-generated draft for: "
_MOST_TASK, _MOST_DESCRIPTION = 400, 1_000
_ANGLES = str.maketrans("<>", "\u2039\u203a")
_LABEL = re.compile(
    r"[-*] (?:Status|Confidence|Generated|Source session|behavior_fingerprint|flow_fingerprint"
    r"|Replay script): .*"
)
_LEFT_OUT = frozenset(("refinement checklist", "last known outcome"))
_RENAMED = MappingProxyType({"procedure (draft)": "## Procedure"})
_SECTION = 2
_REPLAY = "`bash {path}` shows the recorded steps, and does them with `--execute` (see `--help`)"
_GAPS = re.compile(r"\n{3,}")


def promoted(text: str, *, name: str, description: str = "", replay: str = "") -> tuple[str, str]:
    """Return the description and the body of the skill that a draft becomes.

    Args:
        text: the draft, as it is by now.
        name: the skill's name, from which its title is made.
        description: what a person wrote for it; empty to make one from the task.
        replay: the file of its replay in the skill; empty where it has none.
    """
    front = frontmatter.read(unix(text))
    said = _by_person(description) or _described(front, draft_facts(text))
    kept = "\n".join(_kept(front.body.split("\n"))).strip("\n")
    title = plain(re.sub(r"[-_]+", " ", name), _MOST_TASK).strip().capitalize()
    label = f"- Replay script: {_REPLAY.format(path=replay)}\n\n" if replay else ""
    return said, f"# {title or 'Skill'}\n\n{label}{_GAPS.sub(chr(10) * 2, kept)}\n"


def _described(front: frontmatter.Frontmatter, facts: DraftFacts | None) -> str:
    written = _by_person(FieldReader(front).text("description"))
    if written and not written.startswith(DRAFT_DESCRIPTION):
        return written
    task = cut(facts.task if facts else "", _MOST_TASK).rstrip(".!?\u3002 ").translate(_ANGLES)
    if not task:
        return "A procedure that worked once. Use when a user asks for what it describes."
    return f"How to do this: {task}. Use when a user asks for it, or for nearly the same."


def _by_person(description: str) -> str:
    return cut(masked(one_line(description)), _MOST_DESCRIPTION)


def _kept(lines: list[str]) -> list[str]:
    """Return the lines of a draft that a skill keeps."""
    heads = _headings(lines)
    kept: list[str] = []
    is_left_out, is_below_title = False, True
    for at, line in enumerate(lines):
        level, title = heads.get(at, (0, ""))
        if level == 1 and is_below_title and not "".join(kept).strip():
            continue
        if level:
            is_below_title &= level == 1
            is_left_out = title in _LEFT_OUT if level <= _SECTION else is_left_out
        if is_left_out or (is_below_title and _LABEL.fullmatch(line)):
            continue
        kept.append(_RENAMED.get(title, line))
    return kept


def _headings(lines: list[str]) -> dict[int, tuple[int, str]]:
    tokens = parsed(lines)
    return {
        token.map[0]: (int(token.tag[1:]), " ".join(tokens[at + 1].content.split()).casefold())
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    }
