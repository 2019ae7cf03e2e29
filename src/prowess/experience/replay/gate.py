"""Which commands of a replay run unasked, and which files it changes unasked.

A command is only looked up where it is plain words, joined by pipes, `&&`, `||`, `;` and line ends.
A variable, a pattern, an escape, a file that is written or anything else that a shell would make
something of is asked about, and so is every program that the list does not name: nobody needs to
tell what they do. A test or a build runs what lies in the folder, so it is asked about as soon as
another step may have changed that.
"""

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from prowess.data import read_table, read_words

_TABLE = "experience/replay/gate.toml"
_NOT_PLAIN = "it cannot be told in short what it does"
_LONGEST_NAME = 40
_TOKEN = re.compile(
    r"(?P<blank>[ \t]+)"
    r"|(?P<end>&&|\|\||[;|\n])"
    r"|(?P<quiet>(?:[12&]?>[ ]?/dev/null|2>&1)(?=[\s;|]|\Z))"
    r"|(?P<word>(?:[\w./:,@%+=~^-]|'[^']*'|\"[^\"$`\\!]*\")+)"
)
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_TEMPORARY = re.compile(r"(?:/private)?/(?:var/(?:folders|tmp)/|tmp/)")
_HOME_PROGRAMS = re.compile(r"(?:~[^/]*|/root|/(?:home|Users)/[^/]+)/(?:bin|Library)/")


@dataclass(slots=True)
class ReplayGate:
    """Says why a command is asked about, and remembers whether a step may have changed a file."""

    has_changes: bool = False

    def question_command(self, command: str, *, in_folder: bool = True) -> str:
        """Return why a command is asked about; empty where it runs unasked.

        Args:
            command: what is run.
            in_folder: whether it is run in the folder of the trace itself.
        """
        may_build = in_folder and not self.has_changes
        reason = _question_line(command, may_build=may_build)
        self.has_changes = self.has_changes or bool(reason)
        return reason

    def note_change(self) -> None:
        """Remember that a step may have changed what a build or a test runs."""
        self.has_changes = True


def _question_line(command: str, *, may_build: bool) -> str:
    commands = _read_commands(command)
    if not commands:
        return _NOT_PLAIN
    may_build = may_build and not any(words[0] == "cd" for words in commands)
    for words in commands:
        if not _is_harmless(words) and not (may_build and _fits(words, _forms("builds"))):
            return f"{words[0][:_LONGEST_NAME]} is not known to be harmless"
    return ""


def _read_commands(text: str) -> list[list[str]]:
    """Return the words of each command of a line; nothing where one of them is not plain."""
    if not all(line.isprintable() for line in text.replace("\t", " ").split("\n")):
        return []
    commands: list[list[str]] = [[]]
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or (token["end"] and token["end"] != "\n" and not commands[-1]):
            return []
        at = token.end()
        if token["word"]:
            commands[-1].append(_QUOTED.sub(lambda hit: hit[1] or hit[2] or "", token["word"]))
        elif token["end"] and commands[-1]:
            commands.append([])
    return commands if commands[-1] else commands[:-1]


def _is_harmless(words: Sequence[str]) -> bool:
    return words[0] in _programs() or _fits(words, _forms("harmless"))


def _fits(words: Sequence[str], forms: re.Pattern[str]) -> bool:
    line = " ".join(re.sub(r"\s", "_", word) or "_" for word in words)
    return forms.fullmatch(line) is not None


@cache
def _programs() -> frozenset[str]:
    return read_words(
        " ".join(group.get("programs", "") for group in read_table(_TABLE)["harmless"])
    )


@cache
def _forms(kind: str) -> re.Pattern[str]:
    forms = [form for group in read_table(_TABLE)[kind] for form in group.get("forms", ())]
    return re.compile("|".join(f"(?:{form})" for form in forms))


def question_path(path: str, folder: str) -> str:
    """Return why changing a file is asked about; empty where it is not.

    Args:
        path: the file, as seen from the folder.
        folder: the folder of the trace, as it was recorded.
    """
    if posixpath.isabs(path) or path.startswith("~") or ".." in path.split("/"):
        return f"it changes {path}, which is not below the folder"
    is_setting = _is_delicate(posixpath.normpath(f"{folder}/{path}" if folder else path))
    return f"it changes {path}, which sets how programs behave" if is_setting else ""


def _is_delicate(path: str) -> bool:
    """Return whether even a new file of that name changes how a machine or a program behaves."""
    steps = path.lstrip("/").split("/")
    if any(step.startswith(".") and step.strip(".") for step in steps):
        return True
    delicate = read_table(_TABLE)["delicate"]
    *folders, name = (step.casefold() for step in steps)
    if not read_words(delicate["folders"]).isdisjoint(folders) or name.endswith(".pth"):
        return True
    is_system = path.startswith("/") and steps[0] in read_words(delicate["system"])
    is_file = name in read_words(delicate["files"])
    return is_file or (is_system and not _TEMPORARY.match(path)) or bool(_HOME_PROGRAMS.match(path))
