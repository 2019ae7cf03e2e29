"""Whether what a skill claims still holds: fresh, stale, or nobody can say.

That something is not found does not make a claim stale: skills of others speak of other projects,
and of programs that are not installed here. A claim is stale where something also says that it was
meant for this project: it held at an earlier check, the project's history had it, what it became is
found (moved, renamed), the project's own list of such things lacks it, or most of what the skill
claims besides does hold here.
"""

import posixpath
import re
from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from typing import NamedTuple

from prowess.data import read_table
from prowess.proof.claims import CARGO_RUN, MODULES, Claim, ClaimKind, known_words, read_claims
from prowess.proof.facts import (
    DISTINCT,
    NEAR_SYMBOL,
    FolderTexts,
    ProjectFacts,
    find_near,
    find_near_file,
    find_near_name,
    may_be_asked,
    split_name,
)
from prowess.skills.model import Skill

_NEAR, _NEAR_NAME, _NEAR_SKILL = 0.8, 0.75, 0.9
# Absent, and nothing says that it should be here: only what was once there counts against it.
_ELSEWHERE, _NOT_INSTALLED = "is not in this project", "is not installed here"
_NOT_INNER = "is no file of the skill"
# Sets of skills are copied in part, and a skill may come without some of its files.
_NOT_FOUND = "is no skill that is found here"
_NOT_ASKED_FOR = "is nothing that the project asks for"
_NO_FAULT = frozenset((_ELSEWHERE, _NOT_INSTALLED, _NOT_INNER, _NOT_FOUND))
# Names and packages that any project may have: where nothing else of a skill is found in this one,
# that one of them is like something here is chance.
_ANYBODYS = frozenset((ClaimKind.SYMBOL, ClaimKind.PACKAGE, ClaimKind.ENVIRONMENT))
# So many claims of a project's own kinds that hold make a skill one about the project.
_ANCHORS = 2
# So many names that a project has make up for one that it has not.
_NAMES_TO_ONE = 8
_LONG_NAME, _SHORT_NAME, _QUALIFIED = 10, 7, 2


class FreshState(Enum):
    """Whether a claim holds."""

    FRESH = "fresh"
    STALE = "stale"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedClaim:
    """A claim and what was found out about it."""

    claim: Claim
    state: FreshState
    why: str = ""
    # What it seems to have become; empty where nothing is known.
    instead: str = ""
    # Only that all else of the skill is of this project speaks for it.
    guessed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFreshness:
    """All claims of one skill."""

    skill: Skill
    claims: tuple[CheckedClaim, ...] = ()

    @property
    def stale(self) -> tuple[CheckedClaim, ...]:
        """The claims that no longer hold."""
        return tuple(one for one in self.claims if one.state is FreshState.STALE)

    @property
    def state(self) -> FreshState:
        """The worst of its claims; unknown where nothing could be looked up."""
        return _worst(self.claims)

    def sections(self) -> dict[str, FreshState]:
        """Return each section with the worst of its claims, in the order of the text."""
        found: dict[str, list[CheckedClaim]] = {}
        for one in self.claims:
            found.setdefault(one.claim.section, []).append(one)
        return {title: _worst(claims) for title, claims in found.items()}


def _worst(claims: Collection[CheckedClaim]) -> FreshState:
    states = {one.state for one in claims}
    for state in (FreshState.STALE, FreshState.FRESH):
        if state in states:
            return state
    return FreshState.UNKNOWN


class _Verdict(NamedTuple):
    state: FreshState
    why: str = ""
    instead: str = ""
    # Whether the project itself was found to have it: such claims tie a skill to the project.
    ties: bool = False
    # Nothing more is needed to call it stale: the project keeps a list, and it is not on it.
    closed: bool = False
    # Only a skill that is plainly one of the project can mean what it is said to have become.
    weak: bool = False


_UNKNOWN = _Verdict(FreshState.UNKNOWN)


def check_skill(
    skill: Skill, files: FolderTexts, facts: ProjectFacts, held: Collection[str] = ()
) -> SkillFreshness:
    """Return what holds of a skill's claims.

    Args:
        skill: the skill.
        files: what lies in its folder.
        facts: the project and the machine.
        held: the keys of claims that held at an earlier check.
    """
    claims = read_claims(skill)
    looker = _Looker(skill, files, facts, {_plain(claim.text) for claim in claims})
    found = [(claim, looker.look(claim)) for claim in claims]
    ties = {(claim.kind, claim.text) for claim, verdict in found if verdict.ties}
    missing = {
        (claim.kind, claim.text)
        for claim, verdict in found
        if verdict.why not in {"", _ELSEWHERE, _NOT_INSTALLED}
        and verdict.state is FreshState.UNKNOWN
        and not (claim.soft or verdict.weak)
    }
    solid = any(kind not in _ANYBODYS for kind, _ in ties)
    anchored = solid and len(ties) >= max(_ANCHORS, len(missing))
    checked, listed = [], {*_LISTS, *_find_lists()}
    for claim, verdict in found:
        ours = verdict
        if not ties and claim.kind in _ANYBODYS:
            ours = verdict._replace(instead="", closed=False)
        elif not (solid or files.place) and listed.intersection(claim.owner[:1]):
            # Lists of a project say nothing of what a skill from elsewhere names.
            ours = verdict._replace(closed=False)
        checked.append(looker.decide(claim, ours, held=key_of(claim) in held, anchored=anchored))
    return SkillFreshness(skill=skill, claims=_without_echoes(_without_strangers(checked)))


def _without_strangers(checked: Sequence[CheckedClaim]) -> Sequence[CheckedClaim]:
    """Take back what was guessed of names, where a skill has many that the project has not.

    Such a skill speaks of something else in these names: of a library, or of another program.
    """
    names = [one for one in checked if one.claim.kind is ClaimKind.SYMBOL]
    known = {one.claim.text for one in names if one.state is FreshState.FRESH}
    guessed = {one.claim.text for one in names if one.guessed}
    if len(guessed) <= 1 + len(known) // _NAMES_TO_ONE:
        return checked
    return [
        replace(one, state=FreshState.UNKNOWN, instead="", guessed=False)
        if one.guessed and one.claim.text in guessed
        else one
        for one in checked
    ]


def _without_echoes(checked: Sequence[CheckedClaim]) -> tuple[CheckedClaim, ...]:
    """Leave out mentions of what is stale in the same section for what it is."""
    said = {
        (one.claim.text, one.claim.section)
        for one in checked
        if not one.claim.mentioned and one.state is FreshState.STALE
    }
    return tuple(
        one
        for one in checked
        if not one.claim.mentioned or (one.claim.text, one.claim.section) not in said
    )


def key_of(claim: Claim) -> str:
    """Return what a claim is known by from one check to the next."""
    return " ".join((claim.kind.value, *claim.owner, claim.text, claim.version))


class _Looker:
    """Looks the claims of one skill up, each kind where it has to be."""

    def __init__(
        self, skill: Skill, files: FolderTexts, facts: ProjectFacts, said: AbstractSet[str]
    ) -> None:
        self._skill, self._files, self._facts = skill, files, facts
        # What the skill names itself is not what another name became.
        self._said = said
        self._inner = {
            "/".join(parts[: at + 1])
            for parts in (path.split("/")[:-1] for path in files.paths)
            for at in range(len(parts))
        }

    def decide(
        self, claim: Claim, verdict: _Verdict, *, held: bool, anchored: bool
    ) -> CheckedClaim:
        """Call a claim stale where more speaks for that than its absence."""
        if claim.mentioned and anchored and verdict.state is FreshState.UNKNOWN:
            verdict = self._missing_mention(claim)
        state, why, guessed = verdict.state, verdict.why, False
        inner = why == _NOT_INNER
        if state is FreshState.UNKNOWN and why and not claim.gone:
            # A skill of the project itself is whole: what it links to has to be there.
            meant = (inner and claim.linked) or why not in _NO_FAULT
            meant = meant or (why == _NOT_FOUND and verdict.weak)
            likely = bool(verdict.instead and not verdict.weak)
            if held:
                state, why = FreshState.STALE, f"{why}, and was at an earlier check"
            elif self._had(claim, inner=inner):
                state, why = FreshState.STALE, f"{why} any more: the project once had it"
            elif verdict.closed or (likely and not claim.soft):
                state = FreshState.STALE
            elif anchored and meant and not claim.soft and self._is_gone(claim):
                state, guessed = FreshState.STALE, True
        instead = verdict.instead if state is FreshState.STALE else ""
        return CheckedClaim(claim=claim, state=state, why=why, instead=instead, guessed=guessed)

    def _is_gone(self, claim: Claim) -> bool:
        """Return whether a name stands nowhere in the project, be it in a page or a setting."""
        named = claim.mentioned or claim.kind in {ClaimKind.SYMBOL, ClaimKind.ENVIRONMENT}
        if not named or claim.owner in MODULES:
            return True
        return self._facts.is_nowhere(re.split(r"\.|::|#", claim.text)[-1])

    def _missing_mention(self, claim: Claim) -> _Verdict:
        """Judge a name that a skill of the project mentions, and its sources do not have."""
        if claim.kind is ClaimKind.FLAG:
            scripts = [path for path in claim.owner[1:] if self._find_file(path)]
            if len(scripts) == 1:
                return self._script_flag(claim, scripts[0])
            return _Verdict(FreshState.UNKNOWN, _ELSEWHERE)
        listed = (one for names in self._facts.tasks.values() for one in names)
        near = find_near_name(claim.text, (*self._facts.names, *listed), self._said)
        if near and split_name(near) == split_name(claim.text):
            # The same name in another way of writing: `load-rows` for `LoadRows`.
            return _Verdict(FreshState.UNKNOWN, _ELSEWHERE)
        if near or any(self._facts.exists(_plain(path)) for path in claim.owner[1:]):
            return _Verdict(FreshState.UNKNOWN, "is nowhere in the project", near, weak=True)
        return _Verdict(FreshState.UNKNOWN, _ELSEWHERE)

    def _had(self, claim: Claim, *, inner: bool) -> bool:
        """Return whether the project's history had what a claim is about."""
        if claim.kind is not ClaimKind.PATH:
            # A short word in a list of the project need not be what the skill means by it.
            short = claim.kind is ClaimKind.COMMAND and len(claim.text) <= _SHORT_NAME
            name = claim.text
            if claim.kind is ClaimKind.PACKAGE:
                # Of a word beside a number only that it is gone from all files says much.
                name = name.lower()
                return self._facts.was_there(name, is_path=False) and self._facts.is_nowhere(name)
            if claim.kind is ClaimKind.SYMBOL and not claim.mentioned:
                name = re.split(r"\.|::|#", name)[-1]
            return not short and self._facts.was_there(name, is_path=False)
        path = _plain(claim.text)
        if inner and self._files.place:
            path = f"{self._files.place}/{path}"
        return self._facts.was_there(path, is_path=True)

    def look(self, claim: Claim) -> _Verdict:
        """Return what is found; a reason with an unknown state says what is missing where."""
        looks = {
            ClaimKind.COMMAND: self._command,
            ClaimKind.SUBCOMMAND: self._subcommand,
            ClaimKind.FLAG: self._flag,
            ClaimKind.PATH: self._path,
            ClaimKind.SYMBOL: self._symbol,
            ClaimKind.PACKAGE: self._package,
            ClaimKind.ENVIRONMENT: self._variable,
            ClaimKind.URL: self._url,
            ClaimKind.SKILL: self._sibling,
        }
        if claim.mentioned:
            known = claim.text in self._facts.names or claim.text in self._facts.flags
            return _Verdict(*((FreshState.FRESH,) if known else (FreshState.UNKNOWN, _ELSEWHERE)))
        return looks[claim.kind](claim)

    def _command(self, claim: Claim) -> _Verdict:
        own = self._facts.tasks.get("commands", ())
        if claim.text in own:
            return _Verdict(FreshState.FRESH, ties=True)
        if self._facts.has_program(claim.text):
            return _Verdict(FreshState.FRESH)
        near = find_near(claim.text, own, _NEAR_NAME) if len(claim.text) > _SHORT_NAME else ""
        # Not installed is no drift: only a command of the project itself can have been renamed.
        return _Verdict(FreshState.UNKNOWN, "is no command here" if near else _NOT_INSTALLED, near)

    def _subcommand(self, claim: Claim) -> _Verdict:
        program = claim.owner[0]
        if program in _find_lists():
            return self._listed(claim, _find_lists()[program])
        listed = self._facts.tasks.get(_LISTS.get(program, ""))
        if listed is not None:
            if claim.text in listed:
                return _Verdict(FreshState.FRESH, ties=claim.text not in _USUAL_TASKS)
            lenient = program in _LENIENT and not find_near(claim.text, listed, _NEAR)
            if "*" in listed or lenient:
                return self._loose_task(claim)
            why = f"is not among what {_LISTED[_LISTS[program]]} lets {program} run"
            near = find_near(claim.text, listed, _NEAR_NAME)
            return _Verdict(FreshState.UNKNOWN, why, near, closed=not claim.soft)
        if program in self._facts.tasks.get("commands", ()):
            return self._own_subcommand(claim)
        return self._by_help((program,), claim)

    def _listed(self, claim: Claim, name: str) -> _Verdict:
        """Judge what a call names of a list that files of the project hold."""
        listed = self._facts.tasks.get(name)
        if listed is None:
            return _UNKNOWN
        parts = [part for part in claim.text.split(":") if part]
        if claim.text in listed or (len(parts) > 1 and set(parts) <= listed):
            return _Verdict(FreshState.FRESH, ties=_SEVERAL_WORDS.search(claim.text) is not None)
        why = f"is nothing that {claim.owner[0]} finds in the project's lists"
        near = find_near(claim.text, listed, _NEAR_NAME) if len(claim.text) > _SHORT_NAME else ""
        if "*" in listed and not (len(parts) > 1 and parts[0] in listed):
            # More may be added from elsewhere, but hardly below a name of the project.
            return _Verdict(FreshState.UNKNOWN, why if near else _NOT_INSTALLED, near)
        # A plain word may be meant for any project: a name of several is somebody's own.
        closed = _SEVERAL_WORDS.search(claim.text) is not None and not claim.soft
        return _Verdict(FreshState.UNKNOWN, why, near, closed=closed)

    def _own_subcommand(self, claim: Claim) -> _Verdict:
        """Judge a word behind a command of the project, which its sources have to spell."""
        spelled, names = self._facts.tasks.get("spelled", ()), self._facts.names
        parts = re.split(r"[-_:]", claim.text)
        forms = ("_".join(parts), "".join(map(str.capitalize, parts)))
        if claim.text in spelled or any(one in names for one in forms):
            return _Verdict(FreshState.FRESH, ties="-" in claim.text)
        if not any(one in names for one in _MAKE_SUBCOMMANDS):
            return _UNKNOWN
        why = f"is no subcommand that the sources of {claim.owner[0]} spell"
        return _Verdict(FreshState.UNKNOWN, why, find_near(claim.text, spelled, _NEAR))

    def _loose_task(self, claim: Claim) -> _Verdict:
        """Judge a task that need not be listed: a program, or what a pattern makes."""
        if self._facts.has_program(claim.text) or claim.text in self._facts.packages:
            return _Verdict(FreshState.FRESH)
        if claim.text in known_words("programs", "python_tools") or "*" in self._facts.tasks.get(
            "make", ()
        ):
            return _UNKNOWN
        return _Verdict(FreshState.UNKNOWN, f"is nothing that {claim.owner[0]} can run here")

    def _flag(self, claim: Claim) -> _Verdict:
        owner = claim.owner[0]
        if "/" in owner or "." in owner:
            return self._script_flag(claim, owner)
        if owner == CARGO_RUN or owner in self._facts.tasks.get("commands", ()):
            return self._own_flag(claim)
        return self._by_help(claim.owner, claim)

    def _own_flag(self, claim: Claim) -> _Verdict:
        """Judge a flag of a command that the project builds, of whatever sources it does."""
        flags, names = self._facts.flags, self._facts.names
        parts = claim.text[2:].removeprefix("no-").split("-")
        forms = ("_".join(parts), parts[0] + "".join(map(str.capitalize, parts[1:])))
        if claim.text in flags:
            return _Verdict(FreshState.FRESH)
        made = any(one in names for one in _NAME_FLAGS) and (
            "-".join(parts) in self._facts.tasks.get("spelled", ())
            or any(one in names for one in forms)
        )
        if made or claim.text in _ANYWHERE or not any(one in names for one in _MAKE_FLAGS):
            return _UNKNOWN
        near = find_near(claim.text, flags, _NEAR_NAME)
        return _Verdict(FreshState.UNKNOWN, f"is no option of {claim.owner[0]}", near)

    def _script_flag(self, claim: Claim, script: str) -> _Verdict:
        ends = tuple(f"/commands/{word}.py" for word in claim.owner[1:])
        parts = [path for path in self._facts.files if ends and path.endswith(ends)]
        text = "\n".join((self._find_file(script), *map(self._facts.text, parts)))
        if not _PARSES_FLAGS.search(text) or claim.text in _ANYWHERE:
            return _UNKNOWN
        flags = set(_FLAGS.findall(text))
        word = claim.text.removeprefix("--").removeprefix("no-")
        if not {claim.text, f"--{word}"}.isdisjoint(flags):
            return _Verdict(FreshState.FRESH)
        # Some parsers make options of names, and options may come from a file that it imports.
        made = _NAMES_FLAGS.search(text) or not flags
        forms = (re.escape(word), re.escape(word.replace("-", "_")))
        named = made and re.search(rf"(?<![\w-])(?:{'|'.join(forms)})(?![\w-])", text)
        if named or claim.text in self._facts.flags:
            return _UNKNOWN
        near = find_near(claim.text, flags, _NEAR_NAME)
        why = f"is no option of {script}"
        return _Verdict(FreshState.UNKNOWN, why, near, closed=not claim.soft)

    def _by_help(self, words: Sequence[str], claim: Claim) -> _Verdict:
        text, asked = self._read_help(words)
        if not text or claim.text in _ANYWHERE:
            return _UNKNOWN
        if re.search(rf"(?<![\w-]){re.escape(claim.text)}(?![\w-])", text):
            return _Verdict(FreshState.FRESH)
        known: Iterable[str] = _FLAGS.findall(text)
        if claim.kind is ClaimKind.SUBCOMMAND:
            known = _LISTED_COMMAND.findall(text)
            asked = bool(_COMMANDS_HEAD.search(text)) and not _LISTS_SOME.search(text)
        near = find_near(claim.text, list(known), _NEAR_NAME) if asked else ""
        why = f"is not in the help of {' '.join(words)}"
        return _Verdict(FreshState.UNKNOWN, why, near, closed=asked and not claim.soft)

    def _read_help(self, words: Sequence[str]) -> tuple[str, bool]:
        """Return what the pages of a call say, and whether they are all that would tell of it."""
        pages = ""
        for at in range(1, len(words) + 1):
            page = self._facts.help(words[:at])
            pages += page
            listed = _LISTED_COMMAND.findall(page) if _COMMANDS_HEAD.search(page) else ()
            if not page or not set(words[at : at + 1]) <= set(listed):
                # Behind a page without subcommands stands an argument.
                return pages, bool(page) and not listed
        return pages, True

    def _find_file(self, path: str) -> str:
        plain = _plain(path)
        if _MODULE.fullmatch(plain) and not _CODE_FILE.search(plain):
            return self._facts.text(self._module_file(plain))
        for found in (plain, *(f"{one}/{plain}" for one in sorted(self._inner))):
            if found in self._files.paths:
                return self._files.read(found)
        return self._facts.text(plain)

    def _path(self, claim: Claim) -> _Verdict:
        path = _plain(claim.text).rstrip("/")
        if path.startswith("../") and self._files.place:
            path = posixpath.normpath(f"{self._files.place}/{path}")
            if self._facts.exists(path):
                # That a sibling is there says nothing of the project.
                return _Verdict(FreshState.FRESH, ties=path in self._facts.files)
        if not path or path.startswith(".."):
            return _UNKNOWN
        if self._is_inner(path):
            return _Verdict(FreshState.FRESH)
        if self._facts.exists(path) or _ends_like(path, self._facts.files, self._facts.folders):
            whole = "/" in path and self._facts.exists(path) and bool(self._facts.files)
            name = path.rpartition("/")[2]
            # Folders are alike in many projects, and a word with a slash need not be one.
            distinct = "." in name[1:] or _SEVERAL_WORDS.search(name) is not None
            distinct = distinct and name.lower() not in known_words("files", "general")
            return _Verdict(FreshState.FRESH, ties=whole and distinct)
        # What a run makes may be away, but for a folder that the project keeps files in.
        made = not known_words("files", "made").isdisjoint(path.split("/"))
        if self._facts.is_ignored(path) or (
            made and path.rpartition("/")[0] not in self._facts.folders
        ):
            return _Verdict(FreshState.UNKNOWN, _ELSEWHERE)
        return self._missing_path(path, rooted=claim.text.startswith(("./", "../")))

    def _is_inner(self, path: str) -> bool:
        paths = self._files.paths
        return (
            path in paths
            or path in self._inner
            or any(one.endswith(f"/{path}") for one in paths)
            or any(one.endswith(f"/{path}") for one in self._inner)
            # The folder itself is often named with it.
            or path.partition("/")[2] in paths
        )

    def _missing_path(self, path: str, *, rooted: bool) -> _Verdict:
        head, _, name = path.rpartition("/")
        beside = {one for one in self._files.paths if one.rpartition("/")[0] == head}
        if beside and head:
            return _Verdict(
                FreshState.UNKNOWN, _NOT_INNER, find_near_file(path, beside - self._said)
            )
        if not self._facts.files:
            return _UNKNOWN
        why = "is no file of the project"
        loose = not rooted and "." not in name and head not in self._facts.folders
        if loose or not head or not (rooted or path.partition("/")[0] in self._facts.folders):
            # A name alone, or a folder that the project has not, may be anybody's: only an earlier
            # check or the history can say that it was meant.
            return _Verdict(FreshState.UNKNOWN, _ELSEWHERE)
        moved = [one for one in self._facts.files if one.rpartition("/")[2] == name]
        if len(moved) == 1 and _DISTINCT_FILE.search(name):
            return _Verdict(FreshState.UNKNOWN, why, moved[0])
        siblings = {one for one in self._facts.files if one.rpartition("/")[0] == head}
        return _Verdict(FreshState.UNKNOWN, why, find_near_file(path, siblings - self._said))

    def _symbol(self, claim: Claim) -> _Verdict:
        if claim.owner in MODULES:
            return self._module(claim)
        last = re.split(r"\.|::|#", claim.text)[-1]
        texts = {path: text for path in claim.owner if (text := self._find_file(path))}
        for path, text in texts.items():
            if re.search(rf"\b{re.escape(last)}\b", text):
                return _Verdict(FreshState.FRESH, ties=not self._is_inner(_plain(path)))
        code = [path for path in texts if _CODE_FILE.search(path) and "." not in claim.text]
        if code:
            near = find_near(last, set(_IDENTIFIER.findall("\n".join(texts.values()))), _NEAR)
            why = f"is not in {' or '.join(code)}"
            return _Verdict(FreshState.UNKNOWN, why, near, closed=not claim.soft)
        if not self._facts.names or not DISTINCT.search(last):
            return _UNKNOWN
        if last in self._facts.names:
            return _Verdict(FreshState.FRESH)
        return self._missing_symbol(claim, last)

    def _module(self, claim: Claim) -> _Verdict:
        """Judge a module that Python runs or imports: of a package of the project, or anybody's."""
        if self._module_file(claim.text):
            return _Verdict(FreshState.FRESH, ties=True)
        package = f"/{claim.text.partition('.')[0]}/__init__.py"
        place = claim.text.replace(".", "/")
        made = self._facts.is_ignored(f"{place}.py") or _ends_like(place, (), self._facts.folders)
        above = [
            path[: -len(package)] for path in self._facts.files if f"/{path}".endswith(package)
        ]
        if made or all(f"{one}/__init__.py" in self._facts.files for one in above):
            # What lies in another package is nobody's to import by its own name.
            return _UNKNOWN
        why = "is no module of the project"
        return _Verdict(FreshState.UNKNOWN, why, closed=claim.owner == MODULES[0])

    def _module_file(self, name: str) -> str:
        """Return the file of a module, in whatever folder of the project its package lies."""
        place = f"/{name.replace('.', '/')}"
        ends = (f"{place}.py", f"{place}/__main__.py", f"{place}/__init__.py")
        return next((path for path in self._facts.files if f"/{path}".endswith(ends)), "")

    def _missing_symbol(self, claim: Claim, last: str) -> _Verdict:
        """Judge a name that no source has: what stands before its dot may be another library."""
        why = "is not in the project's sources"
        near = ""
        if len(last) >= _LONG_NAME:
            near = find_near(last, self._facts.names_like(last), NEAR_SYMBOL)
        near = "" if near.casefold() == last.casefold() else near
        parts = re.split(r"\.|::|#", claim.text)
        if len(parts) == 1:
            return _Verdict(FreshState.UNKNOWN, why, near)
        place = "/".join(parts[:-1])
        ends = tuple(f"{place}{end}" for end in (".py", ".ts", ".js", ".go", ".rs"))
        if len(parts) > _QUALIFIED and any(one.endswith(ends) for one in self._facts.files):
            return _Verdict(FreshState.UNKNOWN, why, near, closed=not claim.soft)
        if parts[-2] in self._facts.names and DISTINCT.search(parts[-2]):
            return _Verdict(FreshState.UNKNOWN, why, near)
        return _Verdict(FreshState.UNKNOWN, why if near else _ELSEWHERE, near, weak=True)

    def _package(self, claim: Claim) -> _Verdict:
        packages = self._facts.packages
        name = claim.text.lower().replace("_", "-")
        name = name if name in packages else name.removesuffix(".js")
        if name not in packages:
            # A version that is only told of may be that of anything.
            is_pinned = bool(packages) and claim.owner != ("~",)
            return _Verdict(FreshState.UNKNOWN, _NOT_ASKED_FOR if is_pinned else _ELSEWHERE)
        asked = sorted(packages[name])
        operator = claim.owner[0] if claim.owner else "~"
        agreed = [one for one in asked if may_be_asked(operator, claim.version, one)]
        pinned = any(one[:1].isdigit() or one.startswith("==") for one in agreed)
        # A bound still allows what was asked for once, and is asked for nowhere now.
        past = agreed and not pinned and self._facts.was_there(claim.version, is_path=False)
        if not claim.version or (agreed and not past):
            # A version that is only told of may be that of any project.
            return _Verdict(FreshState.FRESH, ties=operator not in {"~", ">="})
        why = f"is {claim.version} here and {' or '.join(asked)} in the project"
        return _Verdict(FreshState.UNKNOWN, why, asked[-1], closed=True)

    def _variable(self, claim: Claim) -> _Verdict:
        skill = self._skill
        declared = {*skill.metadata.requires.env, skill.metadata.primary_env}
        if claim.text in declared or self._facts.has_variable(claim.text):
            return _Verdict(FreshState.FRESH, ties=self._facts.has_variable(claim.text))
        # What only the skill's own pages say is the claim itself.
        code = [path for path in self._files.paths if not path.lower().endswith(".md")]
        if any(claim.text in self._files.read(path) for path in code):
            return _Verdict(FreshState.FRESH)
        known = self._facts.tasks.get("variables")
        # What a script of the skill works out for itself is its own.
        if not known or re.search(rf"\b{claim.text}=[\"']?[$(]", skill.body):
            return _UNKNOWN
        return _Verdict(
            FreshState.UNKNOWN,
            "is no variable that the project names",
            find_near(claim.text, [one for one in known if one[:4] == claim.text[:4]], NEAR_SYMBOL),
        )

    def _url(self, claim: Claim) -> _Verdict:
        found = re.match(
            rf"https?://{re.escape(self._facts.address)}/(?:blob|tree|raw)/[^/]+/([^?#]+)",
            claim.text,
        )
        if not self._facts.address or found is None:
            return _Verdict(FreshState.UNKNOWN, "" if claim.soft else _ELSEWHERE)
        path = found[1].rstrip("/")
        if path in self._facts.files or path in self._facts.folders:
            return _Verdict(FreshState.FRESH, ties=True)
        return _Verdict(
            FreshState.UNKNOWN, "leads to no file of this project", closed=not claim.soft
        )

    def _sibling(self, claim: Claim) -> _Verdict:
        if claim.text in self._facts.skills:
            # Sets of skills travel together: that a sibling is there says nothing of the project.
            return _Verdict(FreshState.FRESH)
        # Families of skills have names that are alike, so that only a slip or a suffix is near.
        others = set(self._facts.skills) - {*self._said, self._skill.name}
        near = find_near(claim.text, others, _NEAR_SKILL)
        # One of the project's own family is meant to be beside it.
        mine = split_name(claim.text)
        family = any(not mine.isdisjoint(split_name(one)) for one in (*others, self._skill.name))
        weak = not near and family and bool(self._files.place)
        return _Verdict(FreshState.UNKNOWN, _NOT_FOUND, near, weak=weak)


# The list that says what a program can run, and what that list is called.
_LISTS = {
    "npm": "npm", "pnpm": "npm", "yarn": "npm", "bun": "npm", "make": "make", "just": "just",
    "task": "task",
    "uv": "python", "poetry": "python", "pdm": "python", "hatch": "python", "rye": "python",
}  # fmt: skip
_LISTED = {
    "npm": "package.json",
    "make": "the Makefile",
    "just": "the justfile",
    "task": "the Taskfile",
    "python": "pyproject.toml",
}
_SEVERAL_WORDS = re.compile(r"[A-Za-z0-9][-_:.][A-Za-z0-9]|[a-z][A-Z]")
# These also run whatever a dependency brings, so that a name need not be listed.
_LENIENT = frozenset(("uv", "poetry", "pdm", "hatch", "rye", "yarn", "bun", "pnpm"))
_FLAGS = re.compile(r"(?<![\w-])--[A-Za-z][\w-]+")
_PARSES_FLAGS = re.compile(
    r"add_argument|click\.option|typer|getopt|OptionParser|parseArgs|yargs|commander|case \"?\$"
    r"|\bflag\.|opts?\.on\(|case \"?\$|for arg in|argv"
)
# Parsers that make options of the names of variables, fields and keys.
_NAMES_FLAGS = re.compile(
    r"typer|yargs|parseArgs|commander|\bflag\.|Flags\(\)|getopt|\*\*kwargs|fire\."
)
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
# Names by which a program makes its options; of these some make them of other names.
_NAME_FLAGS = frozenset(("typer", "yargs", "parseArgs", "Flags", "Parser", "Args", "flag", "fire"))
_MAKE_FLAGS = _NAME_FLAGS | {"add_argument", "option", "Option", "addOption"}
# Names by which a program makes its subcommands.
_MAKE_SUBCOMMANDS = frozenset(
    ("add_parser", "add_subparsers", "command", "Command", "Subcommand", "AddCommand")
)
_ANYWHERE = frozenset(["--help", "--version", "help", "version", "--settings", "--verbosity"])
_COMMANDS_HEAD = re.compile(r"(?im)^\s*[\w ]*(?:sub)?commands\b")
# A page that tells of some, or of what adds more, does not say that there is no other.
_LISTS_SOME = re.compile(r"(?i)\b(?:common|most used|plug-?ins?|extensions?)\b")
_LISTED_COMMAND = re.compile(r"(?m)^ {2,8}([a-z][\w:-]+)(?:,| {2,}|\t|$)")
_DISTINCT_FILE = re.compile(r"\w[-_]\w|[a-z][A-Z]|^\w{9,}\.")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{3,}")
_CODE_FILE = re.compile(r"\.(?:py|ts|tsx|js|jsx|mjs|go|rs|rb|java|kt|swift|c|h|cpp|cs|php|sh)$")
_USUAL_TASKS = frozenset(
    ["build", "test", "lint", "dev", "start", "install", "all", "clean", "format"]
)


@cache
def _find_lists() -> dict[str, str]:
    """Return by call the name of the list that it needs."""
    rows = read_table("proof/lists.toml").items()
    return {call: name for name, row in rows for call in row["calls"]}


def _plain(path: str) -> str:
    return path.removeprefix("./")


def _ends_like(path: str, files: Collection[str], folders: Collection[str]) -> bool:
    """Return whether a path is meant from a folder further down."""
    if path in files or path in folders:
        return True
    end = f"/{path}"
    return any(one.endswith(end) for one in files) or any(one.endswith(end) for one in folders)
