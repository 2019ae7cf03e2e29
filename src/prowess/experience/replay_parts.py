"""What one step becomes in a replay script: what is said of it, and the lines that do it.

The lines of a part are bash as it stands, so every value in them has gone through `quoted` before.
The other texts of a part may hold anything: whoever writes the script quotes them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from prowess.experience.gate.destructive_written import Written
from prowess.experience.redaction import HIDDEN
from prowess.experience.shell_words import quoted, visible
from prowess.secrets.credentials import STARS

MOST_SECRETS = 8
# A safe word in place of a secret, where only the shape of a command is looked at.
STAND_IN = "SECRET"
_SECRET = re.compile(f"{re.escape(HIDDEN)}|{re.escape(STARS)}")


class Place(StrEnum):
    """Where a part does something."""

    NOWHERE = "nowhere"
    DEVICE = "device"
    HOST = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One step of a replay."""

    # One sentence for the person who replays it.
    words: str
    lines: tuple[str, ...] = ()
    # Why it needs a confirmation; empty where it needs none.
    danger: str = ""
    # A longer text, shown below the words.
    shown: str = ""
    # The text that the lines use as `$value`; it is shown as well.
    value: str = ""
    places: frozenset[Place] = frozenset()
    # Whether it does something, and not only waits for a person.
    is_command: bool = False


@dataclass(slots=True)
class Secrets:
    """The names of the variables through which a step gets what was not recorded."""

    step: int
    names: list[str] = field(default_factory=list)

    def another(self) -> str:
        """Return a new name."""
        count = len(self.names) + 1
        name = f"REPLAY_SECRET_{self.step}" + (f"_{count}" if count > 1 else "")
        self.names.append(name)
        return name


@dataclass(frozen=True, slots=True)
class Around:
    """What an action needs to know beyond itself."""

    # The folder of the trace, as it was recorded.
    folder: str
    secrets: Secrets
    # What the steps before it wrote, and what it writes is added to.
    written: Written


@dataclass(frozen=True, slots=True)
class Spelled:
    """A text as a word of bash, and the lines that ask for what is not in it."""

    word: str
    asks: tuple[str, ...] = ()


def device_part(words: str, *lines: str, danger: str = "") -> Part:
    """Return a part that does something on a device."""
    places = frozenset((Place.DEVICE,))
    return Part(words=words, lines=lines, danger=danger, places=places, is_command=True)


def host_part(words: str, *lines: str, danger: str = "") -> Part:
    """Return a part that does something where the script runs."""
    places = frozenset((Place.HOST,))
    return Part(words=words, lines=lines, danger=danger, places=places, is_command=True)


def with_value(part: Part, text: str, told: Spelled) -> Part:
    """Return a part whose lines use a text as `$value`; what is secret in it is asked for first."""
    if not told.asks:
        return replace(part, value=text)
    return replace(part, lines=(*told.asks, f"value={told.word}", *part.lines), shown=text)


def by_hand(words: str, shown: str = "") -> Part:
    """Return a part that waits until a person has done it."""
    return Part(words=f"by hand: {words}", lines=("by_hand",), shown=shown)


def note(words: str) -> Part:
    """Return a part that is only said."""
    return Part(words=words)


def together(words: str, parts: Sequence[tuple[str, Part]]) -> Part:
    """Return several parts as one, each under its own comment."""
    lines: list[str] = []
    for comment, part in parts:
        # A comment alone is not enough between `then` and `fi`.
        lines += [f"# {comment}", *(_inner_lines(part) or (":",))]
    return Part(
        words=words,
        lines=tuple(lines),
        danger="; ".join(dict.fromkeys(part.danger for _, part in parts if part.danger)),
        shown="\n".join(_told(part) for _, part in parts),
        places=frozenset().union(*(part.places for _, part in parts)),
        is_command=any(part.is_command for _, part in parts),
    )


def _told(part: Part) -> str:
    return "\n".join(text for text in (part.words, part.shown or part.value) if text)


def _inner_lines(part: Part) -> tuple[str, ...]:
    if part.lines == ("by_hand",):
        return (f"by_hand {quoted(visible(_told(part), one_line=False))}",)
    return (f"value={quoted(part.value)}", *part.lines) if part.value else part.lines


def has_secret(text: str) -> bool:
    """Return whether something was taken out of a text."""
    return _SECRET.search(text) is not None


def without_marks(text: str) -> str:
    """Return a text with a harmless word wherever something was taken out of it."""
    return _SECRET.sub(STAND_IN, text)


def spelled(text: str, secrets: Secrets, *, in_command: bool) -> Spelled | None:
    """Return a text whose secrets are asked for; nothing where it has too many of them."""
    pieces = _SECRET.split(text)
    if len(pieces) > MOST_SECRETS + 1:
        return None
    word, asks = quoted(pieces[0]), list[str]()
    for number, piece in enumerate(pieces[1:], 1):
        asks.append(f"ask_secret {secrets.another()}")
        if in_command:
            asks.append('require_plain "$SECRET"')
        asks.append(f"secret_{number}=$SECRET")
        word += f'"$secret_{number}"{quoted(piece)}'
    return Spelled(word, tuple(asks))
