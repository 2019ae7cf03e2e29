"""What a message says outright: a skill's name, an author's trigger, a file, or just "yes, go on".

These are certain where meaning and words are guesses, so they are looked at first and apart.
"""

import re
import unicodedata
from collections.abc import Sequence
from enum import IntEnum
from fnmatch import fnmatchcase
from typing import NamedTuple

from prowess.skills.model import Skill, Triggers

_LONGEST_FOLLOW_UP = 40
_MOST_PATHS = 32
_LONGEST_PATH = 200
_LONGEST_GLOB = 200
_SHORTEST_WORD_TRIGGER = 3
_LOOK_BACK = 40

_COMMAND = re.compile(r"\s*[/$](?P<name>[^\s/$][^\s]*)")
# Where a name of one plain word counts: "the pdf skill", "use skill pdf", `pdf`, $pdf.
_AS_SKILL = r"(?:(?:\bskill |[`\"'$])(?:{0})(?!\w)|(?<![\w-])(?:{0}) skill\b)"
_REJECTED = re.compile(
    r"(?:\bnot|n['\u2019]t|\bno|\bnever|\bwithout|\binstead of|\bother than|\brather than|\bavoid|"
    r"\bskip|\bexcept|\bunlike)(?:\s+\S+){0,2}\s*[`\"'/$]?$",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?:^|[.!?:;,\n(-]\s*|\b(?:please|you|and|then|should|must|let's|want to|like to|need to) )"
    r"(?:use|run|invoke|load|apply|call|try|start|open|activate)\s+(?:(?:the|skill|my|our)\s+){0,2}"
    r"[`\"'/$]?$"
    r"|\b(?:using|with|via|through|by means of)\s+(?:(?:the|skill|my|our)\s+){0,2}[`\"'/$]?$",
    re.IGNORECASE,
)
_FOLLOW_UP = re.compile(
    r"(?:(?:yes|yeah|yep|yup|sure|ok|okay|alright|right|correct|exactly|perfect|great|fine|please|"
    r"go ahead|go on|do (?:it|that|so|this)|do it again|continue|proceed|carry on|keep going|next|"
    r"again|once more|try again|same again|sounds good|looks good|that one|the (?:first|second|"
    r"last) one|and now|now|then|lgtm|ship it|"
    r"sí|si|vale|claro|adelante|hazlo|oui|d'accord|vas-y|ja|genau|mach das|weiter|"
    r"好的?|是的?|可以|继续|行|对|はい|お願いします|続けて)"
    r"(?:[\s,.!]+|$))+",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"[\w.@~*/-]{0,150}[\w*-]\.[A-Za-z][A-Za-z0-9]{0,9}|[\w.@~-]{1,80}/[\w.@~/-]{1,100}"
)
_QUOTES = ".,:;!?()[]{}<>`'\""


class Named(IntEnum):
    """How a message names a skill."""

    NOT = 0
    # Somewhere in the message: perhaps only as what was done before.
    MENTIONED = 1
    ASKED_FOR = 2
    # The whole message, or the command that it begins with.
    CALLED = 3


class Hints(NamedTuple):
    """What a message says outright about one skill."""

    named: Named = Named.NOT
    trigger: str = ""
    veto: str = ""
    path: str = ""


def folded(text: str) -> str:
    """Return `text` as phrases are compared: compatible characters equal, case and spaces apart."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def is_follow_up(message: str) -> bool:
    """True for a message that only makes sense after another one: "yes, do it"."""
    text = message.strip()
    return len(text) <= _LONGEST_FOLLOW_UP and _FOLLOW_UP.fullmatch(text) is not None


def paths_in(message: str) -> tuple[str, ...]:
    """Return what looks like a path or a file in `message`."""
    words = (word.strip(_QUOTES) for word in message.split() if len(word) <= _LONGEST_PATH)
    found = (word for word in words if _PATH.fullmatch(word))
    return tuple(dict.fromkeys(found))[:_MOST_PATHS]


class HintIndex:
    """The names, triggers and globs of many skills, ready to be found in a message."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        self._names = [
            tuple({folded(name) for name in (skill.name, skill.key) if name.strip()})
            for skill in skills
        ]
        self._triggers = {
            index: skill.metadata.triggers
            for index, skill in enumerate(skills)
            if skill.metadata.triggers != Triggers()
        }
        self._globs = {index: skill.globs for index, skill in enumerate(skills) if skill.globs}

    def of(self, message: str, paths: Sequence[str] = ()) -> dict[int, Hints]:
        """Return what `message` and the files at hand say outright, for the skills concerned."""
        text = folded(message)
        found: dict[int, Hints] = {}
        for index, names in enumerate(self._names):
            if any(name in text for name in names):
                named = max((_named(text, name) for name in names), default=Named.NOT)
                found[index] = Hints(named=named)
        for index, triggers in self._triggers.items():
            found[index] = found.get(index, Hints())._replace(
                trigger=_trigger(text, triggers.any, triggers.all),
                veto=next((phrase for phrase in triggers.none if contains(text, phrase)), ""),
            )
        here = (*paths, *paths_in(message))
        for index, globs in self._globs.items() if here else ():
            path = next((path for path in here if _matches(path, globs)), "")
            found[index] = found.get(index, Hints())._replace(path=path)
        return {index: hints for index, hints in found.items() if hints != Hints()}


def contains(message: str, phrase: str) -> bool:
    """True where the folded `message` has `phrase` as words of its own."""
    wanted = folded(phrase)
    if not wanted:
        return False
    if not wanted.isascii():
        # Scripts without spaces have no edges of words.
        return wanted in message
    if len(wanted) < _SHORTEST_WORD_TRIGGER:
        # A trigger such as "x" stands in any text; it means something only alone.
        return message == wanted
    return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", message) is not None


def _trigger(message: str, any_of: Sequence[str], all_of: Sequence[str]) -> str:
    if all_of:
        if not all(contains(message, phrase) for phrase in all_of):
            return ""
        if not any_of:
            return " + ".join(all_of)
    return max((phrase for phrase in any_of if contains(message, phrase)), key=len, default="")


def _named(message: str, name: str) -> Named:
    command = _COMMAND.match(message)
    if command is not None and command.group("name").rstrip(".,:;!?") == name:
        return Named.CALLED
    if message.strip(" .!?`\"'") == name:
        return Named.CALLED
    return _mentioned(message, name)


def _mentioned(message: str, name: str) -> Named:
    escaped = re.escape(name)
    # Only a name of several parts is unmistakable: "test" and "review" are words of any message.
    several = re.search(r"[\w][-_:./][\w]", name) is not None
    pattern = rf"(?<![\w-]){escaped}(?![\w-])" if several else _AS_SKILL.format(escaped)
    found = Named.NOT
    for match in re.finditer(pattern, message):
        before = message[max(0, match.start() - _LOOK_BACK) : match.start()]
        if _REJECTED.search(before):
            continue
        found = max(found, Named.ASKED_FOR if _ASKING.search(before) else Named.MENTIONED)
    return found


def _matches(path: str, globs: Sequence[str]) -> bool:
    for glob in globs:
        pattern = glob[:_LONGEST_GLOB]
        # Two stars stand for any number of folders, none included.
        for form in (pattern, pattern.replace("**/", "")):
            if fnmatchcase(path, form) or fnmatchcase(path.rpartition("/")[2], form):
                return True
    return False
