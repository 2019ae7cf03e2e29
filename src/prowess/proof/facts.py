"""What is known of a project, and what in it is most like a name, a file or a version."""

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import NamedTuple, Protocol

_NEAR, NEAR_SYMBOL = 0.8, 0.85
_LEAST_DISTINCT, _MANY = 5, 500
# A name that two projects hardly share by chance: it has several words.
DISTINCT = re.compile(r"[a-z0-9]_[a-z0-9]|[a-z][A-Z]")
_LITTLE = frozenset(("use", "get", "set", "is", "has", "to", "on", "of", "by", "from", "with"))
_NUMBER = re.compile(r"\d+")


class ProjectFacts(Protocol):
    """What is known of a project and its machine; whatever takes long is found out when asked."""

    @property
    def files(self) -> Collection[str]:
        """The project's files, relative to its root; none where there is no project."""

    @property
    def folders(self) -> Collection[str]:
        """The folders of those files."""

    @property
    def tasks(self) -> Mapping[str, AbstractSet[str]]:
        """By program (npm, make, just, python) what the project's own list lets it run."""

    @property
    def packages(self) -> Mapping[str, Collection[str]]:
        """What the project depends on, by name, with the versions that it asks for."""

    @property
    def names(self) -> Collection[str]:
        """The identifiers that the project's sources hold."""

    def names_like(self, word: str) -> Collection[str]:
        """Return the identifiers that begin like `word`."""

    @property
    def flags(self) -> Collection[str]:
        """The long options that the project's sources spell out."""

    @property
    def skills(self) -> Collection[str]:
        """The names of all skills that are found."""

    @property
    def address(self) -> str:
        """Where the project is published, such as `github.com/owner/name`; may be empty."""

    def was_there(self, word: str, *, is_path: bool) -> bool:
        """Return whether the project's history has a file or a listed name that is gone."""

    def is_nowhere(self, word: str) -> bool:
        """Return whether no file of the project holds a word, and none is named by it."""

    def has_program(self, name: str) -> bool:
        """Return whether a program can be run here."""

    def has_variable(self, name: str) -> bool:
        """Return whether an environment variable is set, or named anywhere in the project."""

    def is_ignored(self, path: str) -> bool:
        """Return whether the project lets git ignore a path: everybody has it for himself."""

    def exists(self, path: str) -> bool:
        """Return whether a path below the project is there, listed or not."""

    def text(self, path: str) -> str:
        """Return a file of the project, or nothing."""

    def help(self, words: Sequence[str]) -> str:
        """Return what a program said about itself when it was last asked; mostly nothing."""


class FolderTexts(NamedTuple):
    """The files of one skill, by their paths in its folder, and how one is read."""

    paths: frozenset[str]
    read: Callable[[str], str]
    # Where the folder lies in the project; empty where it lies elsewhere.
    place: str = ""


def find_near_file(path: str, known: Iterable[str]) -> str:
    """Return the file of the same folder and kind that another one seems to have become."""
    stem, _, ending = path.rpartition("/")[2].rpartition(".")
    stems = {
        one.rpartition("/")[2].rpartition(".")[0]: one
        for one in known
        if one.endswith(f".{ending}")
    }
    folded = {re.sub(r"[-_ ]", "", one).casefold(): one for one in stems}
    same = folded.get(re.sub(r"[-_ ]", "", stem).casefold(), "")
    if same.casefold() != same and stem.casefold() == stem:
        return ""  # `UseIt` for `use-it` is how its author writes names.
    found = same or (find_near(stem, stems, _NEAR) if len(stem) > _LEAST_DISTINCT else "")
    return stems.get(found, "")


def find_near(word: str, known: Iterable[str], cutoff: float) -> str:
    """Return the one name that a word seems to have become; nothing where none is near."""
    size = len(word)
    # Names of quite another length are not near, and there may be very many of them.
    alike = [one for one in known if abs(len(one) - size) <= max(size // 3, 2) and one != word]
    if len(alike) > _MANY:
        # What was renamed mostly keeps how it begins or ends.
        alike = [one for one in alike if one[:3] == word[:3] or one[-4:] == word[-4:]]
    found = difflib.get_close_matches(word, alike, n=1, cutoff=cutoff)
    return found[0] if found else ""


def find_near_name(word: str, known: Iterable[str], said: AbstractSet[str]) -> str:
    """Return the name that shares most of the words of another one, and is not said beside it."""
    words, found = split_name(word), ""
    for one in known:
        theirs = split_name(one)
        if theirs == words and one not in said:
            return one
        if one in said or words.isdisjoint(theirs) or not DISTINCT.search(one):
            continue
        alike = len(words & theirs) * 2 > max(len(words), len(theirs))
        alike = alike or difflib.SequenceMatcher(None, word, one).ratio() >= NEAR_SYMBOL
        found = one if alike else found
    return found


@cache
def split_name(name: str) -> frozenset[str]:
    """Return the words that a name is made of, without those that say little."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    return frozenset(word.casefold() for word in words) - _LITTLE


def may_be_asked(operator: str, claimed: str, asked: str) -> bool:
    """Return whether a version that a skill names can be what the project asks for."""
    mine, theirs = (list(map(int, _NUMBER.findall(one)[:3])) for one in (claimed, asked))
    if not mine or not theirs:
        return True
    if operator == ">=":
        return theirs >= mine[: len(theirs)]
    if asked.startswith((">=", ">")):
        return mine[: len(theirs)] >= theirs[: len(mine)]
    if operator == "<=":
        return theirs[: len(mine)] <= mine
    if asked.startswith("^") or operator in {"^", "@^"}:
        return mine[0] == theirs[0]
    shared = min(len(mine), len(theirs))
    if operator == "~" or asked.startswith("~"):
        shared = min(shared, 2)
    return mine[:shared] == theirs[:shared]
