"""What a message says outright: triggers, names and files, or that it begins nothing.

These are certain where meaning and words are guesses, so they are looked at first and apart. "Yes,
go on" follows what was loaded last, and "it works" ends it.
"""

import re
import unicodedata
from collections.abc import Sequence
from enum import Enum, IntEnum
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import NamedTuple

from prowess.data import read_table
from prowess.late import compile_late
from prowess.routing.words import has_dense_script, split_words
from prowess.skills.model import Skill

_MOST_PATHS = 32
_LONGEST_PATH = 200
_LONGEST_GLOB = 200
_MOST_FORMS = 32
_SHORTEST_WORD_TRIGGER = 3
_LOOK_BACK = 40

_COMMAND = compile_late(r"\s*[/$](?P<name>[^\s/$][^\s]*)")
# Where a name of one plain word counts: "the pdf skill", "use skill pdf", `pdf`, $pdf.
_AS_SKILL = r"(?:(?:\bskill |[`\"'$])(?:{0})(?!\w)|(?<![\w-])(?:{0}) skill\b)"
_REJECTED = compile_late(
    r"(?:\bnot|n['\u2019]t|\bno|\bnever|\bwithout|\binstead of|\bother than|\brather than|\bavoid|"
    # Within the same clause: "no problem, use it" rejects nothing.
    r"\bskip|\bexcept|\bunlike)(?:\s+[^\s,.;:!?]+){0,2}\s*[`\"'/$]?$",
    re.IGNORECASE,
)
# Of those what forbids it; who asks why it was not used does not.
_REFUSED = compile_late(
    r"(?:(?<!why )\bdo(?:n['\u2019]t| not)|\bnever|\bwithout|\binstead of|\brather than|\bavoid)"
    r"(?: (?:us(?:e|ing)|run(?:ning)?|load(?:ing)?|the|skill|my|our)){0,3}\s*[`\"'/$]?$",
    re.IGNORECASE,
)
_ASKING = compile_late(
    r"(?:^|[.!?:;,\n(-]\s*"
    r"|\b(?:please|you|and|then|should|must|let's|want to|like to|need to|you to) )"
    r"(?:use|run|invoke|load|apply|call|try|start|open|activate)\s+(?:(?:the|skill|my|our)\s+){0,2}"
    r"[`\"'/$]?$"
    r"|\b(?:using|with|via|through|by means of)\s+(?:(?:the|skill|my|our)\s+){0,2}[`\"'/$]?$",
    re.IGNORECASE,
)
_PATH = compile_late(
    r"[\w.@~*/-]{0,150}[\w*-]\.[A-Za-z][A-Za-z0-9]{0,9}|[\w.@~-]{1,80}/[\w.@~/-]{1,100}"
    # A dotfile, or a file type by itself: "convert all .docx files".
    r"|\.[A-Za-z][\w.-]{0,40}"
)
_WORD = compile_late(r"[^\W_]+")
_ODD = ""
_OPENING, _CLOSING = ",:;!?()[]{}<>`'\"", ".,:;!?()[]{}<>`'\""
_CHOICE = compile_late(r"\{([^{}]{0,100})\}")


class Named(IntEnum):
    """How a message names a skill."""

    NOT = 0
    # It says not to use it, and nothing else of it.
    REFUSED = 1
    # Somewhere in the message: perhaps only as what was done before.
    MENTIONED = 2
    ASKED_FOR = 3
    # The whole message, or the command that it begins with.
    CALLED = 4


class Hints(NamedTuple):
    """What a message says outright about one skill."""

    named: Named = Named.NOT
    trigger: str = ""
    veto: str = ""
    path: str = ""


def fold(text: str) -> str:
    """Return `text` as phrases are compared: compatible characters equal, case and spaces apart."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def find_paths(message: str) -> tuple[str, ...]:
    """Return what looks like a path or a file in `message`."""
    words = (word for word in message.split() if len(word) <= _LONGEST_PATH)
    plain = (word.lstrip(_OPENING).rstrip(_CLOSING).removeprefix("./") for word in words)
    found = (word for word in plain if _PATH.fullmatch(word))
    return tuple(dict.fromkeys(found))[:_MOST_PATHS]


class _Phrase:
    """A trigger, ready to be found; its pattern is made once, when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._wanted = fold(text)
        self._pattern: re.Pattern[str] | None = None

    def is_in(self, message: str) -> bool:
        """True where the folded `message` has it as words of its own."""
        # The plain look first: nearly every trigger is in nearly no message.
        if not self._wanted or self._wanted not in message:
            return False
        # Scripts without spaces have no edges of words; a letter or two mean something only alone.
        if has_dense_script(self._wanted):
            return True
        if len(self._wanted) < _SHORTEST_WORD_TRIGGER:
            return message == self._wanted
        if self._pattern is None:
            self._pattern = re.compile(rf"(?<!\w){re.escape(self._wanted)}(?!\w)")
        return self._pattern.search(message) is not None


class _Triggers(NamedTuple):
    any: tuple[_Phrase, ...]
    all: tuple[_Phrase, ...]
    none: tuple[_Phrase, ...]

    def found_in(self, message: str) -> str:
        """Return the trigger that the message has: the longest of any, or all of all."""
        if self.all:
            if not all(phrase.is_in(message) for phrase in self.all):
                return ""
            if not self.any:
                return " + ".join(phrase.text for phrase in self.all)
        there = (phrase.text for phrase in self.any if phrase.is_in(message))
        return max(there, key=len, default="")


class HintIndex:
    """The names, triggers and globs of many skills, ready to be found in a message."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        # By the first word of the name: a message has few words, a catalogue many names.
        self._names: dict[str, list[tuple[int, str]]] = {}
        self._triggers: dict[int, _Triggers] = {}
        # What we ship is meant only where somebody speaks of us.
        self.ours = [index for index, skill in enumerate(skills) if skill.bundled]
        for index, skill in enumerate(skills):
            for name in {fold(skill.name), fold(skill.key)} - {""}:
                first = _WORD.search(name)
                word = _ODD if first is None else first.group()
                self._names.setdefault(word, []).append((index, name))
            triggers = skill.metadata.triggers
            kinds = triggers.any, triggers.all, triggers.none
            if any(kinds):
                self._triggers[index] = _Triggers(*(tuple(map(_Phrase, some)) for some in kinds))
        self._globs = {
            index: tuple(form for glob in skill.globs for form in _forms(glob))
            for index, skill in enumerate(skills)
            if skill.globs
        }

    def find_called(self, message: str) -> list[int]:
        """Return the skills whose name `message` is, or begins with as a command."""
        text = fold(message)
        said, words = _read_call(text), dict.fromkeys((_ODD, *_WORD.findall(text)))
        named = (pair for word in words for pair in self._names.get(word, ()))
        return list(dict.fromkeys(index for index, name in named if name in said))

    def of(self, message: str, paths: Sequence[str] = ()) -> dict[int, Hints]:
        """Return what `message` and the files at hand say outright, for the skills concerned."""
        text = fold(message)
        found: dict[int, Hints] = {}
        for word in dict.fromkeys((_ODD, *_WORD.findall(text))):
            for index, name in self._names.get(word, ()):
                named = _find_named(text, name) if name in text else Named.NOT
                if named > found.get(index, Hints()).named:
                    found[index] = Hints(named=named)
        for index, triggers in self._triggers.items():
            found[index] = found.get(index, Hints())._replace(
                trigger=triggers.found_in(text),
                veto=next((phrase.text for phrase in triggers.none if phrase.is_in(text)), ""),
            )
        here = (*paths, *find_paths(message)) if self._globs else ()
        for index, globs in self._globs.items() if here else ():
            path = next((path for path in here if _matches(path, globs)), "")
            found[index] = found.get(index, Hints())._replace(path=path)
        return {index: hints for index, hints in found.items() if hints != Hints()}


def contains(message: str, phrase: str) -> bool:
    """True where the folded `message` has `phrase` as words of its own."""
    return _Phrase(phrase).is_in(message)


def is_called(message: str, name: str) -> bool:
    """True where the folded `message` is this name, or begins with it as a command."""
    return _find_named(message, fold(name)) is Named.CALLED


def _read_call(message: str) -> set[str]:
    """Return what a folded message calls if a skill is of that name."""
    command = _COMMAND.match(message)
    name = command.group("name").rstrip(".,:;!?") if command else ""
    return {message.strip(" .!?`\"'"), name} - {""}


def _find_named(message: str, name: str) -> Named:
    if name in _read_call(message):
        return Named.CALLED
    escaped = re.escape(name)
    # Only a name of several parts is unmistakable: "test" and "review" are words of any message.
    several = re.search(r"[\w][-_:./][\w]", name) is not None
    pattern = rf"(?<![\w-]){escaped}(?![\w-])" if several else _AS_SKILL.format(escaped)
    found = Named.NOT
    for match in re.finditer(pattern, message):
        before = message[max(0, match.start() - _LOOK_BACK) : match.start()]
        if _REJECTED.search(before):
            found = max(found, Named.REFUSED if _REFUSED.search(before) else Named.NOT)
            continue
        found = max(found, Named.ASKED_FOR if _ASKING.search(before) else Named.MENTIONED)
    return found


def _forms(glob: str) -> tuple[str, ...]:
    """Return the plain patterns that a glob stands for: each choice, and two stars as no folder."""
    forms = [glob[:_LONGEST_GLOB]]
    # Every choice multiplies what there is, so there is an end to both.
    while len(forms) < _MOST_FORMS and _CHOICE.search(forms[0]):
        forms = [chosen for form in forms for chosen in _choose(form)][:_MOST_FORMS]
    plain = (form for one in forms for form in (one, one.replace("**/", "")))
    return tuple(dict.fromkeys(plain))


def _choose(form: str) -> list[str]:
    """Return `form` once for each alternative of its first choice."""
    choice = _CHOICE.search(form)
    if choice is None:
        return [form]
    before, after = form[: choice.start()], form[choice.end() :]
    return [f"{before}{part.strip()}{after}" for part in choice.group(1).split(",")[:_MOST_FORMS]]


def _matches(path: str, forms: Sequence[str]) -> bool:
    name = path.rpartition("/")[2]
    # Programs give whole paths; a glob counts from some folder above the file.
    return any(
        fnmatchcase(path, form) or fnmatchcase(name, form) or fnmatchcase(path, f"*/{form}")
        for form in forms
    )


_LONGEST = 40
_LONGEST_CLOSING = 120
_REMEMBERED = 64
# About as many n-grams as these are a word in a script without spaces.
_LETTERS = 4
_CLAUSE = re.compile(
    r"[\s\d]*(?:[.,;:!\n()\u3001\u3002\uff0c\uff01\uff1b\uff1a\u2013\u2014]|\s-\s)+[\s\d]*"
)
_ASKS = re.compile(r"[?\uff1f]")


class Closing(Enum):
    """What a message says that begins nothing."""

    THANKS = 0
    # It works now, the error is gone.
    OVER = 1


def is_follow_up(message: str) -> bool:
    """True for a message that only makes sense after another one: "yes, do it"."""
    text = message.strip()
    return len(text) <= _LONGEST and _follow_ups().fullmatch(text) is not None


# Whether a message needs an answer, and what it leans to, both ask.
@lru_cache(maxsize=_REMEMBERED)
def read_closing(message: str) -> Closing | None:
    """Say what a message of thanks, praise or good news ends; None where it says anything else."""
    if len(message) > _LONGEST_CLOSING or _ASKS.search(message):
        return None
    text = message.lower()
    if not message.isascii():
        marked = unicodedata.normalize("NFKD", text.replace("\u2019", "'"))
        text = unicodedata.normalize("NFC", "".join(filter(_is_no_accent, marked)))
    cues = _compile_closing("thanks", "over")
    if _compile_closing("open").search(text) or not cues.search(text):
        return None
    if not all(_is_closing(clause, cues) for clause in _CLAUSE.split(text)):
        return None
    return Closing.OVER if _compile_closing("over").search(text) else Closing.THANKS


def _is_closing(clause: str, cues: re.Pattern[str]) -> bool:
    """True where a clause says nothing else; what the news is about ("the error") may be named."""
    rest, found = cues.subn(" ", clause)
    words = split_words(_follow_ups().sub(" ", rest))
    return len(words.running) + len(words.grams) // _LETTERS <= bool(found)


def _is_no_accent(char: str) -> bool:
    return not "\u0300" <= char <= "\u036f"


@cache
def _compile_closing(*groups: str) -> re.Pattern[str]:
    table = read_table("routing/words.toml")["closing"]
    words = "|".join(word for group in groups for word in table[group]["words"])
    signs = "|".join(sign for group in groups for sign in table[group]["signs"])
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)|{signs}")


@cache
def _follow_ups() -> re.Pattern[str]:
    words = read_table("routing/words.toml")["follow_up"]
    either = "|".join(re.escape(word) for group in words.values() for word in group)
    # Scripts without spaces need no separator either.
    gap = r"(?:[\s,.!\uff0c\u3002\uff01\u3001\uff5e]+|$|(?<=[^\x00-\x7f]))"
    return re.compile(rf"(?:(?:{either}){gap})+", re.IGNORECASE)
