"""Precedence (one winner per name, and what it shadows), owners of keys, and skills by name.

Nothing is lost: every skill that went in comes out as a winner or as shadowed. A key of the config
opens secrets and a tools folder: the skill that is called so has it, else the one from the highest
source. A name is looked up exactly, by key, without case, without separators, and last by folder;
two candidates at a stage are no match, since guessing would show the wrong skill.
"""

import difflib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from prowess.errors import SkillNotFoundError
from prowess.settings import Precedence
from prowess.skills.frontmatter import squeeze
from prowess.skills.model import Skill, Tier

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


@lru_cache(maxsize=16_384)
def collation_key(name: str) -> tuple[str, str]:
    """Order names as people expect: case and accents only break ties."""
    if name.isascii():
        return name.lower(), name
    return _without_accents(name.lower()), name


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def merge(found: Iterable[Skill], precedence: Precedence = Precedence.OPENCLAW) -> Catalog:
    """Merge skills, given in the order of their sources, into one catalog."""
    winners: dict[str, Skill] = {}
    losers: list[Skill] = []
    for skill in _ranked(found, precedence):
        previous = winners.get(skill.name)
        if previous is not None:
            losers.append(previous)
        winners[skill.name] = skill
    ordered = dict(sorted(winners.items(), key=lambda item: collation_key(item[0])))
    shadowed = tuple(Shadowed(skill=skill, winner=winners[skill.name]) for skill in losers)
    return Catalog(winners=ordered, shadowed=shadowed)


def _ranked(found: Iterable[Skill], precedence: Precedence) -> list[Skill]:
    """Return the skills, lowest precedence first; within one source the scan order stays.

    A draft takes no name from a skill that somebody chose to have, whatever it calls itself.
    """
    if precedence is Precedence.OPENCLAW:
        return sorted(found, key=lambda skill: (not skill.is_draft, skill.source.tier))
    # First wins, so the first of a source must come last: sorting is stable, order matters.
    backwards = list(found)[::-1]
    return sorted(
        backwards, key=lambda skill: (not skill.is_draft, OPENPOCKET_RANK[skill.source.tier])
    )


def owners(skills: Iterable[Skill]) -> Mapping[str, Skill]:
    """Return the skill that each key belongs to."""
    found: dict[str, Skill] = {}
    for skill in skills:
        known = found.get(skill.key)
        if known is None or _claim(skill) > _claim(known):
            found[skill.key] = skill
    return found


def _claim(skill: Skill) -> tuple[bool, int]:
    return skill.name == skill.key, skill.source.tier


def _folded(text: str) -> str:
    return text.strip().casefold()


def _joined(text: str) -> str:
    return squeeze(text.strip().replace(" ", "-"))


_STAGES: tuple[Callable[[Skill, str], bool], ...] = (
    lambda skill, name: skill.name == name,
    lambda skill, name: skill.key == name,
    lambda skill, name: _folded(name) in {_folded(skill.name), _folded(skill.key)},
    lambda skill, name: _joined(name) in {_joined(skill.name), _joined(skill.key)},
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
