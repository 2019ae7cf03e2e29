"""Precedence (one winner per name, and what it shadows), owners of keys, and skills by name.

Nothing is lost: every skill that went in comes out as a winner or as shadowed. A key of the config
opens secrets and a tools folder: the skill that is called so has it, else the one from the highest
source, and one that came with a project only where nobody else claims it. What is configured for a
skill of the user's own is withheld from a project's skill of that name until a person says so. A
name is looked up exactly, by key, without case, without separators, and last by folder; two
candidates at a stage are no match, since guessing would show the wrong skill.
"""

import difflib
import json
import posixpath
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from prowess.data import dataclass
from prowess.errors import SkillNotFoundError
from prowess.settings import EntrySettings, Precedence
from prowess.skills.frontmatter import squeeze
from prowess.skills.model import Fields, Skill, Tier
from prowess.skills.text import cut_listed, one_line

# The three of OpenPocket come first and the first wins; what it does not know stands below them.
OPENPOCKET_RANK = {
    tier: rank
    for rank, tier in enumerate(
        (
            Tier.EXTRA,
            Tier.HARNESS_PERSONAL,
            Tier.AGENTS_PERSONAL,
            Tier.HARNESS_PROJECT,
            Tier.AGENTS_PROJECT,
            Tier.WORKSPACE,
            Tier.MANAGED,
            Tier.BUNDLED,
        )
    )
}


class Shadowed(NamedTuple):
    """A skill that lost its name to another one."""

    skill: Skill
    winner: Skill

    @property
    def identical(self) -> bool:
        """True for a mere copy, which is not worth a report."""
        return self.skill.content_hash == self.winner.content_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """The winners, ordered by name, and every skill that lost to one of them."""

    winners: Mapping[str, Skill]
    shadowed: tuple[Shadowed, ...] = ()

    @property
    def skills(self) -> tuple[Skill, ...]:
        """The winners in the order of their names."""
        return tuple(self.winners.values())


class AddressedSkill(NamedTuple):
    """One row of a list for a client: as much of a skill as it is shown before it is read."""

    # As in its address.
    address: str
    # By which the lists of agents know it.
    name: str
    key: str
    description: str


def list_addressed(skills: Iterable[Skill]) -> tuple[AddressedSkill, ...]:
    """Return the rows of those skills that have an address and that a model may choose."""
    rows = {
        address: AddressedSkill(
            address, skill.name, skill.key, cut_listed(one_line(skill.description))
        )
        for skill in skills
        if skill.invocation.model and (address := addressed_name(skill)) is not None
    }
    return tuple(rows.values())


def addressed_name(skill: Skill) -> str | None:
    """Return the name in a skill's address, None where it has no SKILL.md that says one.

    Commands and rules of other harnesses are single files without a name in them: tools and prompts
    reach those.
    """
    name = skill.fields.get("name")
    is_skill_file = posixpath.basename(skill.path).lower() == "skill.md"
    if not is_skill_file or not isinstance(name, str) or not name.strip():
        return None
    return name if is_text(name) and _is_json(skill.fields) else None


def is_text(text: str) -> bool:
    """Return whether a text can be sent: names of files may hold any bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_json(fields: Fields) -> bool:
    """Return whether frontmatter can be sent as it is: not every YAML number is one of JSON."""
    try:
        json.dumps(fields, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return True


@lru_cache(maxsize=16_384)
def collation_key(name: str) -> tuple[str, str]:
    """Order names as people expect: case and accents only break ties."""
    if name.isascii():
        return name.lower(), name
    return _without_accents(name.lower()), name


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def merge(
    found: Iterable[Skill],
    precedence: Precedence = Precedence.OPENCLAW,
    is_ready: Callable[[Skill], bool] = lambda _: True,
) -> Catalog:
    """Merge skills, given in the order of their sources, into one catalog.

    OpenPocket leaves out what is not ready before names are given: only there `is_ready` counts.
    """
    winners: dict[str, Skill] = {}
    losers: list[Skill] = []
    for skill in _rank(found, precedence, is_ready):
        previous = winners.get(skill.name)
        if previous is not None:
            losers.append(previous)
        winners[skill.name] = skill
    ordered = dict(sorted(winners.items(), key=lambda item: collation_key(item[0])))
    shadowed = tuple(Shadowed(skill=skill, winner=winners[skill.name]) for skill in losers)
    return Catalog(winners=ordered, shadowed=shadowed)


def _rank(
    found: Iterable[Skill], precedence: Precedence, is_ready: Callable[[Skill], bool]
) -> list[Skill]:
    """Return the skills, lowest precedence first; within one source the scan order stays.

    A draft takes no name from a skill that somebody chose to have, whatever it calls itself.
    """
    if precedence is Precedence.OPENCLAW:
        return sorted(found, key=lambda skill: (not skill.is_draft, skill.source.tier))

    # First wins, so the first of a source must come last: sorting is stable, order matters.
    def rank(skill: Skill) -> tuple[bool, bool, int]:
        return not skill.is_draft, is_ready(skill), OPENPOCKET_RANK[skill.source.tier]

    backwards = list(found)[::-1]
    return sorted(backwards, key=rank)


def owners(skills: Iterable[Skill]) -> Mapping[str, Skill]:
    """Return the skill that each key belongs to."""
    found: dict[str, Skill] = {}
    for skill in skills:
        known = found.get(skill.key)
        if known is None or _claim(skill) > _claim(known):
            found[skill.key] = skill
    return found


def _claim(skill: Skill) -> tuple[bool, bool, int]:
    tier = skill.source.tier
    return not tier.is_project, skill.name == skill.key, tier


def mark_source(skill: Skill) -> str:
    """Return by what a source is remembered: its kind and, where a project brings it, its folder.

    Folders of the user's own may move, and are still the user's own.
    """
    tier = skill.source.tier
    return f"{tier.source_id} {skill.source.root}" if tier.is_project else tier.source_id


def is_of_project(mark: str) -> bool:
    """Return whether a source that was marked so came with a project."""
    return " " in mark


def find_entry_sources(catalog: Catalog, entries: Mapping[str, EntrySettings]) -> Mapping[str, str]:
    """Return the highest source of the user's own for each key that holds secrets."""
    lost = (shadowed.skill for shadowed in catalog.shadowed)
    known = sorted((*lost, *catalog.skills), key=lambda skill: skill.source.tier)
    return {
        skill.key: mark_source(skill)
        for skill in known
        if not skill.source.tier.is_project
        and skill.key in entries
        and entries[skill.key].holds_secrets
    }


def find_withheld(
    catalog: Catalog,
    entries: Mapping[str, EntrySettings],
    owned: Mapping[str, str],
    bound: Mapping[str, Sequence[str]],
) -> Mapping[str, str]:
    """Return the skills that do not get what is configured under their name, and whose it is.

    Args:
        catalog: the skills, and what they shadow.
        entries: what is configured, by key.
        owned: by key the source of the user's own that has it now.
        bound: by key the sources that had it before, or that a person named.
    """
    projects = (skill for skill in catalog.skills if skill.source.tier.is_project)
    found = {}
    for skill in projects:
        known = bound.get(skill.key, ())
        whose = owned.get(skill.key) or next(iter(known), "")
        holds = skill.key in entries and entries[skill.key].holds_secrets
        if holds and whose and mark_source(skill) not in known:
            found[skill.name] = whose
    return found


def explain_withheld(skill: Skill, whose: str) -> str:
    """Say on one line why a skill does not get what is configured."""
    entry = f"skills.entries.{skill.key}"
    return f"{skill.name} gets nothing of {entry}, which was made for the skill in {whose}"


def _fold(text: str) -> str:
    return text.strip().casefold()


def _join(text: str) -> str:
    return squeeze(text.strip().replace(" ", "-"))


_STAGES: tuple[Callable[[Skill, str], bool], ...] = (
    lambda skill, name: skill.name == name,
    lambda skill, name: skill.key == name,
    lambda skill, name: _fold(name) in {_fold(skill.name), _fold(skill.key)},
    lambda skill, name: _join(name) in {_join(skill.name), _join(skill.key)},
    lambda skill, name: skill.id == name,
)


def find(skills: Sequence[Skill], name: str) -> Skill:
    """Return the skill called `name`.

    Raises:
        SkillNotFoundError: none or several answer to it.
    """
    for matches in _STAGES:
        hits = [skill for skill in skills if matches(skill, name)]
        if len(hits) == 1:
            return hits[0]
        if hits:
            raise SkillNotFoundError(name, [skill.name for skill in hits], ambiguous=True)
    names = [skill.name for skill in skills]
    raise SkillNotFoundError(name, difflib.get_close_matches(name, names, n=3, cutoff=0.6))
