"""The variables that a skill's programs run with, and nobody else's.

`child_environment` makes a mapping for one child process: the way to run anything. The overlay sets
variables in an environment that others read too, only where they are absent, so that to restore is
to remove them. A reference to a secret is looked up as late as possible, and not at all where the
variable is refused or has a value already. Names are shown, values never.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from threading import Lock
from typing import ParamSpec, Self, TypeVar

from prowess.errors import SecretError
from prowess.safety.environment import Ruling, comparable, judge

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
class WantedVariable:
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

    wanted: tuple[WantedVariable, ...] = ()
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
    wanted: dict[str, WantedVariable] = {}
    blocked: list[Blocked] = []
    for one in skills:
        for name, value, ruling in _rulings(one):
            known = wanted.get(ruling.key)
            if not ruling.allowed:
                blocked.append(Blocked(ruling.name, ruling.reason, one.skill))
            elif known is None:
                lent = ruling.group == "allowed"
                wanted[ruling.key] = WantedVariable(name=name, value=value, source=one, lent=lent)
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
    wanted: list[WantedVariable] = []
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


def value_of(wish: WantedVariable) -> str:
    """Return what a variable shall hold.

    Raises:
        SecretError: it is a reference that leads to nothing.
    """
    return wish.value if isinstance(wish.value, str) else wish.value()


def drop_variables(base: Mapping[str, str], names: Collection[str]) -> Variables:
    """Return the variables of `base` but for `names`, whatever their case."""
    foreign = {comparable(key) for key in names}
    return Variables((key, value) for key, value in base.items() if comparable(key) not in foreign)


def child_environment(
    base: Mapping[str, str], *skills: SkillVariables, active: Collection[str] = ()
) -> ChildEnvironment:
    """Return `base` with the variables of skills.

    Names in `active` hold values of other skills: the child does not see those.
    """
    values = drop_variables(base, active)
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


_P = ParamSpec("_P")
_T = TypeVar("_T")


async def run_in_thread(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Do something that may take long beside the event loop."""
    # Late: a terminal that never waits does not load what waits.
    import asyncio

    return await asyncio.to_thread(work, *args, **kwargs)


@dataclass(slots=True)
class _Held:
    """A variable that runs hold: its name and value as set, and how many runs need it."""

    name: str
    value: str = field(repr=False)
    count: int = 1


class EnvironmentOverlay:
    """Sets variables in one mapping while runs need them; threads and tasks may share it.

    The first run that sets a variable decides its value; later ones that overlap hold it as well,
    and the last to end removes it. A value that was there before any run stays untouched. Make one
    overlay for each mapping: the count is kept here.
    """

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self._environment = environment
        self._held: dict[str, _Held] = {}
        self._lock = Lock()

    @property
    def active(self) -> frozenset[str]:
        """Names that are set for some run now: what children of other tools must not see."""
        with self._lock:
            return frozenset(held.name for held in self._held.values())

    def run(self, *skills: SkillVariables) -> "OverlayRun":
        """Return a context, plain or asynchronous, within which the variables are set."""
        return OverlayRun(self, judged(skills))

    def is_settled(self, name: str) -> bool:
        """Say whether a variable has a value already, from the operator or from a run."""
        with self._lock:
            return comparable(name) in self._held or self._read(name) is not None

    def acquire(self, name: str, value: str | None) -> bool | None:
        """Hold a variable for one more run; None where it needs a value, False where it is taken.

        Only a variable that no run holds yet needs a `value`.
        """
        with self._lock:
            held = self._held.get(comparable(name))
            if held is not None:
                held.count += 1
                self._put_back(held)
                return True
            if self._read(name) is not None:
                return False
            if value is None:
                return None
            self._environment[name] = value
            self._held[comparable(name)] = _Held(name, value)
            return True

    def release(self, name: str) -> bool:
        """Let go of a variable; False where somebody else had given it another value."""
        with self._lock:
            held = self._held[comparable(name)]
            found = self._environment.get(held.name)
            held.count -= 1
            if held.count:
                self._put_back(held)
            else:
                del self._held[comparable(name)]
                self._environment.pop(held.name, None)
            return found in {None, held.value}

    def _put_back(self, held: _Held) -> None:
        # Somebody removed it: the runs that hold it need it all the same.
        if self._read(held.name) is None:
            self._environment[held.name] = held.value

    def _read(self, name: str) -> str | None:
        exact = self._environment.get(name)
        if exact is not None:
            return exact
        form = comparable(name)
        same = [key for key in tuple(self._environment) if comparable(key) == form]
        return self._environment.get(same[0]) if same else None


class OverlayRun:
    """One run's hold on its variables: entered once, and undone on the way out in any case."""

    def __init__(self, overlay: EnvironmentOverlay, wishes: Wishes) -> None:
        self._overlay, self._wishes = overlay, wishes
        self._entered = False
        self._mine: list[str] = []
        self.blocked: tuple[Blocked, ...] = wishes.blocked
        self.warnings: tuple[str, ...] = wishes.warnings
        # Names that are set while the run lasts, by it or by one that overlaps.
        self.applied: tuple[str, ...] = ()
        # Names that had a value already, which stays.
        self.kept: tuple[str, ...] = ()
        # What the run has by the operator's word alone.
        self.lent: tuple[Lent, ...] = ()
        # After the run: names that somebody else changed meanwhile; they are as before the run.
        self.changed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"OverlayRun(applied={self.applied}, kept={self.kept}, changed={self.changed})"

    def __enter__(self) -> Self:
        self._begin()
        self._hold(self._look_up())
        return self

    def __exit__(self, *_ended: object) -> None:
        self._undo()

    async def __aenter__(self) -> Self:
        self._begin()
        # To look a secret up may take seconds. Nothing is held yet, so a cancellation here leaves
        # nothing behind; what follows waits for nothing, so that none can come between.
        self._hold(await run_in_thread(self._look_up))
        return self

    async def __aexit__(self, *_ended: object) -> None:
        # Waits for nothing, for the same reason.
        self._undo()

    def _begin(self) -> None:
        if self._entered:
            raise RuntimeError("a run is entered once: ask the overlay for another one")
        self._entered = True

    def _look_up(self) -> tuple[Wishes, Variables]:
        return resolved(self._wishes, self._overlay.is_settled)

    def _hold(self, found: tuple[Wishes, Variables]) -> None:
        wishes, values = found
        self.blocked, self.warnings = wishes.blocked, wishes.warnings
        try:
            for wish in wishes.wanted:
                if self._acquire(wish, values.get(wish.name)):
                    self._mine.append(wish.name)
                    self.lent += (Lent(wish.source.skill, wish.name),) if wish.lent else ()
                else:
                    self.kept += (wish.name,)
        except BaseException:
            self._undo()
            raise
        self.applied = tuple(self._mine)

    def _acquire(self, wish: WantedVariable, value: str | None) -> bool:
        got = self._overlay.acquire(wish.name, value)
        if got is None:
            # The run that held it ended in this moment.
            got = self._overlay.acquire(wish.name, value_of(wish))
        return bool(got)

    def _undo(self) -> None:
        while self._mine:
            name = self._mine.pop()
            if not self._overlay.release(name):
                self.changed += (name,)
