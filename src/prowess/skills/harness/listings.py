"""Which descriptions a harness will show, cut or leave out, and the cheapest way to have all shown.

Each harness has a page of its own: how a line looks, how much room there is, and who gives way.
Sizes are those of the lines alone, as each harness counts them. The fewest files are touched when
the longest descriptions come down to one common length; only where that is not enough are skills
hidden, those first that were used longest ago.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple, Protocol

from prowess.settings import Limits
from prowess.skills.catalog import collation_key
from prowess.skills.model import Metadata, Skill, Tier
from prowess.skills.prompt import Worth, render, shorten
from prowess.skills.text import one_line

CLAUDE_WINDOW, CODEX_WINDOW = 200_000, 272_000
CLAUDE_ENTRY, CODEX_ENTRY = 1_536, 1_024
CODEX_CHARS, CODEX_MOST_TOKENS = 8_000, 10_000
_CHARS_PER_TOKEN = 4
_UNLIMITED = Limits(max_skills_in_prompt=1 << 30, max_skills_prompt_chars=1 << 40)
# What the layout of an entry takes besides its three texts, where a harness writes elements.
_ELEMENT_CHARS = 97
# How long the path of a skill is that a harness brings along, and the words before mere names.
_FAR, _ONLY_NAMED = 90, 47


class Fate(StrEnum):
    """What becomes of a description."""

    SHOWN = "shown"
    CUT = "cut"
    # The name is listed, and nothing else.
    NAME_ONLY = "name-only"
    # Not even the name.
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSkill:
    """One skill on the page of a harness."""

    skill: Skill
    fate: Fate
    # Characters of the whole description and of what is shown of it.
    whole: int
    shown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLayout:
    """The page as a harness will write it, in its order."""

    entries: tuple[ListedSkill, ...] = ()
    # In the unit of the limit: what all descriptions would need, and what is used in the end.
    wanted: int = 0
    used: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn:
    """A skill that a harness brings along: its name, and how long its description is."""

    name: str
    chars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentUse:
    """When skills were last used: who gives way first is decided by it."""

    last_used: Mapping[str, int] = field(default_factory=dict)
    pinned: frozenset[str] = frozenset()

    def ranked(self, skills: Sequence[Skill]) -> list[Skill]:
        """Return the most recently used first, then by name."""
        return sorted(_by_name(skills), key=lambda skill: -self.last_used.get(skill.name, 0))


class HarnessPage(Protocol):
    """How one harness lists skills."""

    @property
    def limit(self) -> int | None:
        """How much room there is; None where no limit is known."""

    @property
    def unit(self) -> str:
        """What the limit counts."""

    @property
    def entry_limit(self) -> int | None:
        """The most characters of one description that are shown, whatever room there is."""

    @property
    def most(self) -> int | None:
        """How many skills are listed at all."""

    def text(self, skill: Skill) -> str:
        """Return what counts as the description of a skill."""

    def wanted(self, skills: Sequence[Skill]) -> int:
        """Return how much room all descriptions would need."""

    def arrange(self, skills: Sequence[Skill]) -> PageLayout:
        """Return how the page turns out."""


def holds(page: HarnessPage, skills: Sequence[Skill]) -> bool:
    """Return whether a page shows every description as it was written."""
    if page.most is not None and len(skills) > page.most:
        return False
    cap = page.entry_limit
    if cap is not None and any(len(page.text(skill)) > cap for skill in skills):
        return False
    return page.limit is None or page.wanted(skills) <= page.limit


def tokens_of(size: int) -> int:
    """Return about how many tokens so many characters or bytes are."""
    return -(-size // _CHARS_PER_TOKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudePage:
    """Claude Code: all names, and the descriptions of the most used skills while they fit."""

    # The tokens of the model's window; the characters that the environment sets in its place.
    window: int = CLAUDE_WINDOW
    fixed: int | None = None
    use: RecentUse = field(default_factory=RecentUse)
    # They keep their descriptions, whoever has to give way.
    builtin: tuple[BuiltIn, ...] = ()
    unit: str = "characters"
    entry_limit: int = CLAUDE_ENTRY
    most: int | None = None

    @property
    def limit(self) -> int:
        """One hundredth of the window, counted in characters."""
        return self.fixed or max(1, self.window * _CHARS_PER_TOKEN // 100)

    def text(self, skill: Skill) -> str:
        """Return the description and when to use it, which are listed together."""
        parts = (one_line(skill.description), one_line(skill.when_to_use))
        return " - ".join(part for part in parts if part)

    def wanted(self, skills: Sequence[Skill]) -> int:
        """Return how much room all descriptions would need."""
        brought = sum(len(f"- {one.name}: \n") + one.chars for one in self.builtin)
        return brought + sum(self._line(skill) + 1 for skill in skills) - bool(skills)

    def arrange(self, skills: Sequence[Skill]) -> PageLayout:
        """Return how the page turns out."""
        ranked, bare = self.use.ranked(skills), set[str]()
        total = used = self.wanted(skills)
        while used > self.limit and ranked:
            least = ranked.pop()
            used -= self._line(least) - len(f"- {least.name}")
            bare.add(least.path)
        entries = tuple(
            _entry(skill, self.text(skill), 0 if skill.path in bare else self.entry_limit)
            for skill in _by_name(skills)
        )
        return PageLayout(entries=entries, wanted=total, used=used)

    def _line(self, skill: Skill) -> int:
        return len(f"- {skill.name}: {shorten(self.text(skill), self.entry_limit)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodexPage:
    """Codex: names come first, and descriptions share what is left letter by letter."""

    # The tokens of the model's window, if they are known.
    window: int | None = None
    builtin: tuple[BuiltIn, ...] = ()
    entry_limit: int = CODEX_ENTRY
    most: int | None = None

    @property
    def unit(self) -> str:
        """Tokens where the window is known."""
        return "characters" if self.window is None else "tokens"

    @property
    def limit(self) -> int:
        """One fiftieth of the window, or a fixed number of characters."""
        if self.window is None:
            return CODEX_CHARS
        return max(1, min(self.window // 50, CODEX_MOST_TOKENS))

    def text(self, skill: Skill) -> str:
        """Return the description; Codex reads nothing else."""
        return one_line(skill.description)

    def wanted(self, skills: Sequence[Skill]) -> int:
        """Return how much room all descriptions would need."""
        return sum(self._cost(row, row.text) for row in self._rows(skills))

    def arrange(self, skills: Sequence[Skill]) -> PageLayout:
        """Return how the page turns out."""
        order = sorted(skills, key=_scope_first)
        rows = self._rows(order)
        wanted, bare = self.wanted(order), [self._cost(row, "") for row in rows]
        if wanted <= self.limit:
            shares = [self.entry_limit] * len(rows)
        elif sum(bare) <= self.limit:
            shares = self._share(rows, bare)
        else:
            return self._pack(order, bare)
        own = shares[len(self.builtin) :]
        return PageLayout(
            entries=tuple(
                _entry(skill, self.text(skill), share)
                for skill, share in zip(order, own, strict=True)
            ),
            wanted=wanted,
            used=sum(
                self._cost(row, row.text[:share]) for row, share in zip(rows, shares, strict=True)
            ),
        )

    def _rows(self, skills: Sequence[Skill]) -> "list[_CodexRow]":
        """Return what is listed, and where: folders of skills have short names of their own."""
        brought = [
            _CodexRow(one.name, "x" * one.chars, f"r0/{one.name}/SKILL.md") for one in self.builtin
        ]
        return [
            *brought,
            *(
                _CodexRow(
                    skill.name,
                    shorten(self.text(skill), self.entry_limit),
                    "r1/" + "/".join(skill.path.replace("\\", "/").split("/")[-2:]),
                )
                for skill in skills
            ),
        ]

    def _cost(self, row: "_CodexRow", shown: str) -> int:
        line = f"- {row.name}: {shown}{' ' if shown else ''}(file: {row.file})\n"
        return len(line) if self.window is None else tokens_of(len(line.encode("utf-8", "replace")))

    def _share(self, rows: "Sequence[_CodexRow]", bare: Sequence[int]) -> list[int]:
        """Return how many letters each description gets when they take turns."""
        costs, shares, left = list(bare), [0] * len(rows), self.limit - sum(bare)
        turns = list(range(len(rows)))
        while turns:
            again = []
            for place in turns:
                shown = rows[place].text[: shares[place] + 1]
                step = self._cost(rows[place], shown) - costs[place]
                if len(shown) > shares[place] and step <= left:
                    shares[place], costs[place] = len(shown), costs[place] + step
                    left -= step
                    again.append(place)
            turns = again
        return shares

    def _pack(self, order: Sequence[Skill], bare: Sequence[int]) -> PageLayout:
        """Return a page that holds not even all names: one after the other while they fit."""
        brought = len(self.builtin)
        entries, used = [], sum(bare[:brought])
        for skill, cost in zip(order, bare[brought:], strict=True):
            fits = used + cost <= self.limit
            used += cost if fits else 0
            entries.append(_entry(skill, self.text(skill), 0, dropped=not fits))
        return PageLayout(entries=tuple(entries), wanted=self.wanted(order), used=used)


class _CodexRow(NamedTuple):
    """One line of Codex's list."""

    name: str
    text: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPage:
    """Prowess's own block; `plain` writes it as OpenClaw does.

    OpenClaw knows no trigger hints, and where not all skills fit it goes by the alphabet.
    """

    limits: Limits = field(default_factory=Limits)
    worth: Worth = field(default_factory=Worth)
    homes: tuple[str, ...] = ()
    plain: bool = False
    builtin: tuple[BuiltIn, ...] = ()
    unit: str = "characters"
    entry_limit: int = CODEX_ENTRY

    @property
    def limit(self) -> int:
        """The characters that the block may have."""
        return self.limits.max_skills_prompt_chars

    @property
    def most(self) -> int:
        """How many skills the block may list."""
        return max(self.limits.max_skills_in_prompt, 0)

    def text(self, skill: Skill) -> str:
        """Return the description."""
        return one_line(skill.description)

    def wanted(self, skills: Sequence[Skill]) -> int:
        """Return how long the block would be."""
        ready = self._prepare(skills)
        own = len(render(ready, limits=_UNLIMITED, homes=self.homes).text) if ready else 0
        return own + self._brought

    @property
    def _brought(self) -> int:
        return sum(_ELEMENT_CHARS + _FAR + len(one.name) + one.chars for one in self.builtin)

    def arrange(self, skills: Sequence[Skill]) -> PageLayout:
        """Return how the block turns out."""
        worth = Worth() if self.plain else self.worth
        ready = self._prepare(skills)
        room = max(0, self.limit - self._brought)
        limits = replace(self.limits, max_skills_prompt_chars=room) if self.builtin else self.limits
        block = render(ready, limits=limits, worth=worth, homes=self.homes)
        kept = {skill.path for skill in block.included}
        most = self.entry_limit if block.description_chars is None else block.description_chars
        entries = tuple(
            _entry(skill, self.text(skill), most, dropped=skill.path not in kept)
            for skill in _by_name(skills)
        )
        used = len(block.text) + self._brought
        return PageLayout(entries=entries, wanted=self.wanted(skills), used=used)

    def _prepare(self, skills: Sequence[Skill]) -> list[Skill]:
        if not self.plain:
            return list(skills)
        return [
            replace(skill, source=replace(skill.source, tier=Tier.WORKSPACE), metadata=Metadata())
            for skill in skills
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPage:
    """A harness that lists skills as elements, one like the other.

    One of them stops describing where its room ends, and only names the others.
    """

    limit: int | None = None
    builtin: tuple[BuiltIn, ...] = ()
    # What stands in an element besides name and description: tags, and a word or the path.
    element: int = _ELEMENT_CHARS
    with_path: bool = True
    unit: str = "characters"
    entry_limit: int | None = None
    most: int | None = None

    def text(self, skill: Skill) -> str:
        """Return the description."""
        return one_line(skill.description)

    def wanted(self, skills: Sequence[Skill]) -> int:
        """Return about how much room the list takes."""
        brought = sum(self._measure(one) for one in self.builtin)
        return brought + sum(self._size(skill) for skill in skills)

    def arrange(self, skills: Sequence[Skill]) -> PageLayout:
        """Return the page; what is brought along stands last, and is the first to give way."""
        order, used, bare = _by_name(skills), 0, list[str]()
        sizes = [self._size(skill) for skill in order]
        for name, size in (
            *((skill.name, size) for skill, size in zip(order, sizes, strict=True)),
            *((one.name, self._measure(one)) for one in self.builtin),
        ):
            if bare or (self.limit is not None and used + size > self.limit):
                bare.append(name)
            else:
                used += size
        entries = tuple(
            _entry(skill, self.text(skill), 0 if skill.name in bare else None) for skill in order
        )
        used += len(", ".join(bare)) + _ONLY_NAMED if bare else 0
        return PageLayout(entries=entries, wanted=self.wanted(skills), used=used)

    def _size(self, skill: Skill) -> int:
        place = len(skill.path) if self.with_path else 0
        return self.element + len(skill.name) + len(self.text(skill)) + place

    def _measure(self, one: BuiltIn) -> int:
        return self.element + len(one.name) + one.chars + (_FAR if self.with_path else 0)


def _by_name(skills: Sequence[Skill]) -> list[Skill]:
    return sorted(skills, key=lambda skill: collation_key(skill.name))


def _scope_first(skill: Skill) -> tuple[bool, str, str]:
    """Order as Codex does: what belongs to the project, then what belongs to the person."""
    personal = skill.source.tier in {Tier.HARNESS_PERSONAL, Tier.AGENTS_PERSONAL}
    return personal, skill.name, skill.path


def _entry(skill: Skill, text: str, most: int | None, *, dropped: bool = False) -> ListedSkill:
    """Return the entry of a description of which at most `most` characters are shown."""
    shown = len(text) if most is None else min(len(text), most)
    fate = Fate.SHOWN
    if dropped:
        fate, shown = Fate.DROPPED, 0
    elif shown < len(text):
        fate = Fate.CUT if shown else Fate.NAME_ONLY
    return ListedSkill(skill=skill, fate=fate, whole=len(text), shown=shown)


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


def cheapest_fix(skills: Sequence[Skill], page: HarnessPage, use: RecentUse) -> Fix:
    """Return what to change so that a page shows every description, or nothing where it does."""
    if holds(page, skills):
        return Fix()
    ranked = _order_hidden(skills, page, use)
    hidden = _bisect(len(ranked), lambda count: holds(page, _cut(ranked[count:], page, SHORTEST)))
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


def _order_hidden(skills: Sequence[Skill], page: HarnessPage, use: RecentUse) -> list[Skill]:
    """Return whom to hide first: used longest ago, of those the one that takes most room."""
    by_size = sorted(skills, key=lambda skill: -len(page.text(skill)))
    by_use = sorted(by_size, key=lambda skill: use.last_used.get(skill.name, 0))
    return sorted(by_use, key=lambda skill: not use.pinned.isdisjoint((skill.name, skill.key)))


def _bisect(most: int, enough: Callable[[int], bool]) -> int:
    """Return the smallest number up to `most` that is enough; `most` is taken without asking."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _longest(skills: Sequence[Skill], page: HarnessPage) -> int:
    """Return the longest common length under which the page holds."""
    low, high = SHORTEST, max([SHORTEST, *(len(page.text(skill)) for skill in skills)])
    while low < high:
        middle = (low + high + 1) // 2
        if holds(page, _cut(skills, page, middle)):
            low = middle
        else:
            high = middle - 1
    return low


def _cut(skills: Sequence[Skill], page: HarnessPage, level: int) -> list[Skill]:
    """Return the skills with no description longer than `level`."""
    return [
        replace(skill, description=page.text(skill)[:level], when_to_use="") for skill in skills
    ]
