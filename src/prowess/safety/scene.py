"""What was gathered from a whole skill before anybody judges it."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from prowess.safety.facts import Act, Fact
from prowess.safety.views import View


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a text stood when it was read, and what that says about it."""

    # "file", "fence", "span", "prose", "frontmatter", "data", "comment" …
    place: str = "file"
    # Contexts that lower what is found in it.
    lowered_by: tuple[str, ...] = ()
    is_hidden: bool = False
    # Runs by itself when the skill is loaded, installed or opened: "dynamic-context" …
    runs_by_itself: str = ""


@dataclass(frozen=True, slots=True)
class Noted:
    """A fact and where it stood."""

    fact: Fact
    setting: Setting = Setting()


def _offset(fact: Fact) -> int:
    return fact.spot.offset


@dataclass(slots=True)
class Scene:
    """All facts of a skill, by what is done."""

    paths: frozenset[str]
    name: str = ""
    # Hosts that the operator lets a secret go to: variable -> hosts.
    egress: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _notes: dict[Act, list[Noted]] = field(default_factory=lambda: defaultdict(list))
    raw: dict[str, View] = field(default_factory=dict)
    # The folded text of each file.
    texts: dict[str, str] = field(default_factory=dict)
    _fetches: dict[str, list[Fact]] | None = None
    # module -> modules of the same skill that it imports
    imports: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def note(self, noted: Noted) -> None:
        """Keep a fact."""
        self._notes[noted.fact.act].append(noted)

    def all(self, *acts: Act) -> Iterator[Noted]:
        """Yield the facts of these acts, in the order they were read."""
        for act in acts:
            yield from self._notes.get(act, ())

    def fetched_before(self, fact: Fact, most: int = 20) -> list[Fact]:
        """Return the last few fetches that stand before `fact` in its file."""
        if self._fetches is None:
            self._fetches = defaultdict(list)
            for noted in self.all(Act.FETCH):
                self._fetches[noted.fact.spot.path].append(noted.fact)
            for fetches in self._fetches.values():
                fetches.sort(key=_offset)
        fetches = self._fetches[fact.spot.path]
        end = bisect_right(fetches, fact.spot.offset, key=_offset)
        return fetches[max(0, end - most) : end]

    def everything(self) -> Iterator[Noted]:
        """Yield all facts."""
        for notes in self._notes.values():
            yield from notes

    def count(self) -> int:
        """Return how many facts are known."""
        return sum(map(len, self._notes.values()))


def secrets_in(flow: Iterable[str]) -> tuple[str, ...]:
    """Return the labels among `flow` that are secrets in any case: not one named variable."""
    strong = ("credential", "keychain", "browser", "wallet")
    return tuple(
        sorted(label for label in flow if label.partition(":")[0] in strong or label == "env")
    )


def variables_in(flow: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the single variables among `flow`."""
    return tuple(sorted(label[4:] for label in flow if label.startswith("env:")))
