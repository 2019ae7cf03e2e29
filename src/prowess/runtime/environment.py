"""The variables that a skill's programs run with, and nobody else's.

`child_environment` makes a mapping for one child process: the way to run anything. What changes an
environment that others read too stands in `environment_overlay`. A value that is only a reference
to a secret is looked up as late as possible, and not at all where the variable is refused or has a
value already. Names are shown, values never.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prowess.errors import SecretError
from prowess.safety.environment_policy import Ruling, comparable, judge

# A value, or what fetches it; the latter raises `SecretError` where it leads to nothing.
Value = str | Callable[[], str]


class Variables(dict[str, str]):
    """Variables by name, which print as their names alone, and so do copies of them."""

    def copy(self) -> "Variables":
        """Return a copy that prints as this does."""
        return Variables(self)

    # A mapping of texts alone, whatever else a `dict` may be joined with.
    def __or__(self, other: Mapping[str, str]) -> "Variables":  # type: ignore[override]
        return Variables({**self, **other})

    def __repr__(self) -> str:
        return f"Variables({', '.join(sorted(self))})"


@dataclass(frozen=True, slots=True)
class Blocked:
    """A variable that a skill may not set."""

    key: str
    # Completes a sentence that begins with the key.
    reason: str
    skill: str = ""


@dataclass(frozen=True, slots=True)
class Lent:
    """A variable that a skill has by the operator's word alone."""

    skill: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillVariables:
    """What the config wants to be set for one skill."""

    values: Mapping[str, Value] = field(repr=False)
    # Names of secrets that the skill says it needs.
    declared: Collection[str] = ()
    # Names that the operator lets this skill have, whatever it declares.
    allowed: Collection[str] = ()
    skill: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One variable that may be set: its name, and what it shall hold."""

    name: str
    value: Value = field(repr=False)
    source: SkillVariables = field(repr=False)
    # True where only the operator's word opened it.
    lent: bool = False

    @property
    def key(self) -> str:
        """The form by which names are compared."""
        return comparable(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """The variables of one or more skills that may be set, and those that may not."""

    wanted: tuple[Wanted, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChildEnvironment:
    """What a child process is started with, and what became of each variable of the skill."""

    values: Variables
    # Names that were set.
    applied: tuple[str, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    # Names that had a value already, which stays.
    kept: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    # What was set by the operator's word alone.
    lent: tuple[Lent, ...] = ()


def judged(skills: Iterable[SkillVariables]) -> Wishes:
    """Say which variables may be set, by name alone: no secret is looked up here.

    Where several skills want the same variable the first one counts.
    """
    wanted: dict[str, Wanted] = {}
    blocked: list[Blocked] = []
    for one in skills:
        for name, value, ruling in _rulings(one):
            known = wanted.get(ruling.key)
            if not ruling.allowed:
                blocked.append(Blocked(ruling.name, ruling.reason, one.skill))
            elif known is None:
                lent = ruling.group == "allowed"
                wanted[ruling.key] = Wanted(name=name, value=value, source=one, lent=lent)
            elif known.source is one:
                reason = "is given twice, in different spellings: the first one counts"
                blocked.append(Blocked(ruling.name, reason, one.skill))
    return Wishes(wanted=tuple(wanted.values()), blocked=tuple(blocked))


def _rulings(one: SkillVariables) -> Iterator[tuple[str, Value, Ruling]]:
    for key, value in one.values.items():
        # An empty entry of the config is one that nobody filled in.
        if not key.strip() or (isinstance(value, str) and not value.strip()):
            continue
        text = value if isinstance(value, str) else ""
        ruling = judge(key, text, one.declared, one.allowed)
        yield ruling.name, value, ruling


def resolved(wishes: Wishes, is_taken: Callable[[str], bool]) -> tuple[Wishes, Variables]:
    """Look up the value of each variable that is not taken; what fails is a warning.

    Returns what is left of the wishes, and the values by name; a variable that is taken stays among
    the wishes and has no value.
    """
    values = Variables()
    wanted: list[Wanted] = []
    blocked, warnings = list(wishes.blocked), list(wishes.warnings)
    for wish in wishes.wanted:
        if is_taken(wish.name):
            wanted.append(wish)
            continue
        try:
            text = value_of(wish)
        except SecretError as error:
            warnings.append(f"{wish.name} is not set: {str(error).removesuffix('.')}")
            continue
        ruling = judge(wish.name, text, wish.source.declared, wish.source.allowed)
        if not ruling.allowed:
            blocked.append(Blocked(ruling.name, ruling.reason, wish.source.skill))
        elif text.strip():
            wanted.append(wish)
            values[wish.name] = text
            warnings += ruling.warnings
    left = Wishes(wanted=tuple(wanted), blocked=tuple(blocked), warnings=tuple(warnings))
    return left, values


def value_of(wish: Wanted) -> str:
    """Return what a variable shall hold.

    Raises:
        SecretError: it is a reference that leads to nothing.
    """
    return wish.value if isinstance(wish.value, str) else wish.value()


def without(base: Mapping[str, str], names: Collection[str]) -> Variables:
    """Return the variables of `base` but for `names`, whatever their case."""
    foreign = {comparable(key) for key in names}
    return Variables((key, value) for key, value in base.items() if comparable(key) not in foreign)


def child_environment(
    base: Mapping[str, str], *skills: SkillVariables, active: Collection[str] = ()
) -> ChildEnvironment:
    """Return `base` with the variables of skills.

    Names in `active` hold values of other skills: the child does not see those.
    """
    values = without(base, active)
    # By their comparable form: some systems hold `Path` and `PATH` to be the same variable.
    taken = {comparable(key) for key in values}
    left, found = resolved(judged(skills), lambda name: comparable(name) in taken)
    kept = tuple(wish.name for wish in left.wanted if wish.name not in found)
    lent = tuple(
        Lent(wish.source.skill, wish.name)
        for wish in left.wanted
        if wish.lent and wish.name in found
    )
    values.update(found)
    return ChildEnvironment(values, tuple(found), left.blocked, kept, left.warnings, lent)
