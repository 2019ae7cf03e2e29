"""The cheapest way to have every description shown: shorten the longest, and hide as a last resort.

All ways to free so many characters free the same number of them. The cheapest one is the one that
asks least of a person: the fewest files are touched when the longest descriptions come down to one
common length, and no description is asked to become so short that it says nothing. Only where that
is not enough are skills hidden, those first that were used longest ago.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from prowess.skills.harness.listings import Page, Use, holds
from prowess.skills.model import Skill

# What, and when to use it: in less than this nobody can say both.
SHORTEST = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Shorten:
    """A description to shorten: how long it is, and how long it may be."""

    skill: Skill
    chars: int
    to: int

    @property
    def by(self) -> int:
        """How many characters have to go."""
        return self.chars - self.to


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """What to change so that every description is shown."""

    shorten: tuple[Shorten, ...] = ()
    hide: tuple[Skill, ...] = ()
    # The limit under which nothing would have to change; None where it is not the limit's fault.
    raise_to: int | None = None
    # False where even that does not help.
    enough: bool = True


def cheapest_fix(skills: Sequence[Skill], page: Page, use: Use) -> Fix:
    """Return what to change so that a page shows every description, or nothing where it does."""
    if holds(page, skills):
        return Fix()
    ranked = _least_missed(skills, page, use)
    hidden = _fewest(len(ranked), lambda count: holds(page, _cut(ranked[count:], page, SHORTEST)))
    kept = ranked[hidden:]
    level = _longest(kept, page)
    wanted = page.wanted(skills)
    over = page.limit is not None and wanted > page.limit
    return Fix(
        shorten=tuple(
            Shorten(skill=skill, chars=chars, to=level)
            for skill in sorted(kept, key=lambda skill: -len(page.text(skill)))
            if (chars := len(page.text(skill))) > level
        ),
        hide=tuple(ranked[:hidden]),
        raise_to=wanted if over else None,
        enough=bool(kept) or not skills,
    )


def _least_missed(skills: Sequence[Skill], page: Page, use: Use) -> list[Skill]:
    """Return whom to hide first: used longest ago, of those the one that takes most room."""
    by_size = sorted(skills, key=lambda skill: -len(page.text(skill)))
    by_use = sorted(by_size, key=lambda skill: use.last_used.get(skill.name, 0))
    return sorted(by_use, key=lambda skill: not use.pinned.isdisjoint((skill.name, skill.key)))


def _fewest(most: int, enough: Callable[[int], bool]) -> int:
    """Return the smallest number up to `most` that is enough; `most` is taken without asking."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _longest(skills: Sequence[Skill], page: Page) -> int:
    """Return the longest common length under which the page holds."""
    low, high = SHORTEST, max([SHORTEST, *(len(page.text(skill)) for skill in skills)])
    while low < high:
        middle = (low + high + 1) // 2
        if holds(page, _cut(skills, page, middle)):
            low = middle
        else:
            high = middle - 1
    return low


def _cut(skills: Sequence[Skill], page: Page, level: int) -> list[Skill]:
    """Return the skills with no description longer than `level`."""
    return [
        replace(skill, description=page.text(skill)[:level], when_to_use="") for skill in skills
    ]
