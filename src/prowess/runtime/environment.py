"""The variables that a skill's programs run with, and nobody else's.

`child_environment` makes a mapping for one child process: the way to run anything. An
`EnvironmentOverlay` changes a mapping that others read too, such as the environment of the process,
for as long as somebody needs it, and leaves it as it was. Names are shown, values never.
"""

from collections.abc import Callable, Collection, Mapping, MutableMapping
from dataclasses import dataclass, field
from threading import Lock
from types import TracebackType
from typing import Self

from prowess.safety.environment_policy import Ruling, comparable, judge


class Variables(dict[str, str]):
    """Variables by name, which print as their names alone."""

    def __repr__(self) -> str:
        return f"Variables({', '.join(sorted(self))})"


@dataclass(frozen=True, slots=True)
class Blocked:
    """A variable that a skill may not set."""

    key: str
    # Completes a sentence that begins with the key.
    reason: str


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


@dataclass(slots=True)
class _Wanted:
    """The variables of an overlay that may be set, by name, and what is wrong with the others."""

    values: Variables = field(default_factory=Variables)
    blocked: list[Blocked] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def child_environment(
    base: Mapping[str, str],
    overlay: Mapping[str, str],
    *,
    declared: Collection[str],
    active: Collection[str] = (),
) -> ChildEnvironment:
    """Return `base` with the variables of one skill, which `declared` the secrets it needs.

    Names in `active` hold values of other skills: the child does not see those.
    """
    foreign = {comparable(key) for key in active}
    values = Variables(
        (key, value) for key, value in base.items() if comparable(key) not in foreign
    )
    wanted = _permitted(overlay, declared)
    # By their comparable form: some systems hold `Path` and `PATH` to be the same variable.
    taken = {comparable(key) for key in values}
    kept = tuple(name for name in wanted.values if comparable(name) in taken)
    applied = tuple(name for name in wanted.values if comparable(name) not in taken)
    values.update((name, wanted.values[name]) for name in applied)
    return ChildEnvironment(values, applied, tuple(wanted.blocked), kept, tuple(wanted.warnings))


def _permitted(overlay: Mapping[str, str], declared: Collection[str]) -> _Wanted:
    wanted = _Wanted()
    seen: set[str] = set()
    for key, value in overlay.items():
        # An empty entry of the config is one that nobody filled in.
        if not key.strip() or not value.strip():
            continue
        ruling = _unless_twice(judge(key, value, declared), seen)
        if not ruling.allowed:
            wanted.blocked.append(Blocked(ruling.name, ruling.reason))
            continue
        seen.add(ruling.key)
        wanted.values[ruling.name] = value
        wanted.warnings += ruling.warnings
    return wanted


def _unless_twice(ruling: Ruling, seen: Collection[str]) -> Ruling:
    if not ruling.allowed or ruling.key not in seen:
        return ruling
    reason = "is given twice, in different spellings: the first one counts"
    return Ruling(
        allowed=False, key=ruling.key, name=ruling.name, group=ruling.group, reason=reason
    )


@dataclass(slots=True)
class _Held:
    """A variable that runs hold: its name and value as set, and how many runs need it."""

    name: str
    value: str = field(repr=False)
    count: int = 1


class EnvironmentOverlay:
    """Sets variables in a mapping that others read too, while runs need them; threads may share it.

    A variable is set only where it is absent, so to restore is to remove it. The first run that
    sets it decides its value; later ones that overlap hold it as well, and the last to end removes
    it. A value that somebody else put in its place meanwhile is left alone. Make one overlay for
    each mapping: the count is kept here.
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

    def run(self, overlay: Mapping[str, str], *, declared: Collection[str]) -> "OverlayRun":
        """Return a context, plain or asynchronous, within which the variables are set."""
        return OverlayRun(_permitted(overlay, declared), self._acquire, self._release)

    def _acquire(self, name: str, value: str) -> bool:
        """Hold a variable for one more run; False where somebody else set it."""
        with self._lock:
            held = self._held.get(comparable(name))
            current = self._current(held.name if held else name)
            if held is None:
                if current is not None:
                    return False
                self._environment[name] = value
                self._held[comparable(name)] = _Held(name, value)
                return True
            if current is None:
                # Somebody removed it: the run that begins needs it all the same.
                self._environment[held.name] = held.value
            elif current != held.value:
                return False
            held.count += 1
            return True

    def _release(self, name: str) -> bool:
        """Let go of a variable; False where it ends with a value that somebody else set."""
        with self._lock:
            held = self._held[comparable(name)]
            held.count -= 1
            if held.count:
                return True
            del self._held[comparable(name)]
            current = self._current(held.name)
            if current == held.value:
                self._environment.pop(held.name, None)
            return current is None or current == held.value

    def _current(self, name: str) -> str | None:
        exact = self._environment.get(name)
        if exact is not None:
            return exact
        form = comparable(name)
        same = [key for key in tuple(self._environment) if comparable(key) == form]
        return self._environment.get(same[0]) if same else None


class OverlayRun:
    """One run's hold on its variables: entered once, and undone on the way out in any case."""

    def __init__(
        self, wanted: _Wanted, acquire: Callable[[str, str], bool], release: Callable[[str], bool]
    ) -> None:
        self._wanted, self._acquire, self._release = wanted, acquire, release
        self._entered = False
        self._mine: list[str] = []
        self.blocked = tuple(wanted.blocked)
        self.warnings = tuple(wanted.warnings)
        # Names that are set while the run lasts, by it or by one that overlaps.
        self.applied: tuple[str, ...] = ()
        # Names that had a value already, which stays.
        self.kept: tuple[str, ...] = ()
        # After the run: names that somebody else changed meanwhile, and that were left so.
        self.left: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"OverlayRun(applied={self.applied}, kept={self.kept}, left={self.left})"

    def __enter__(self) -> Self:
        if self._entered:
            raise RuntimeError("a run is entered once: ask the overlay for another one")
        self._entered = True
        try:
            for name, value in self._wanted.values.items():
                if self._acquire(name, value):
                    self._mine.append(name)
                else:
                    self.kept += (name,)
        except BaseException:
            self._undo()
            raise
        self.applied = tuple(self._mine)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._undo()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Waits for nothing, so that no cancellation can come between.
        self._undo()

    def _undo(self) -> None:
        while self._mine:
            name = self._mine.pop()
            if not self._release(name):
                self.left += (name,)
