"""One group of traces taken apart where it holds several goals: to add a user and to remove one.

Such tasks share most of their words and nearly all of their steps. What tells them apart is that a
word of the task goes together with how a step was taken: an option, a mode, an element. A word that
the steps use is a value and tells nothing, but for the first one, which says what to do. What only
varies by the habits of whoever did it goes together with no word, and takes nothing apart.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from prowess.experience.commands import options_of, plain_operands, script_of
from prowess.experience.lessons.moves import Move
from prowess.transcripts.deeds import Deed

_NO_SPACES = r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]"
_WORD = re.compile(rf"{_NO_SPACES}+|(?:(?!{_NO_SPACES})[^\W\d_])+")
_WIDE = re.compile(rf"{_NO_SPACES}+")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z_-]{1,30}")
_MOST_READ = 400
# What one trace did alone is a habit, unless enough others were told to do another thing.
_FEWEST, _OTHERS = 2, 3
_COMMANDS = frozenset((Deed.SHELL, Deed.DEVICE_SHELL))


class Run(NamedTuple):
    """What was asked for, in words that carry a goal, and what was done."""

    # In their order, without what kinds of values are called.
    words: tuple[str, ...]
    moves: Sequence[Move]


class _Feature(NamedTuple):
    """How something was done: `-a` among the options of `gpasswd`."""

    slot: str
    value: str


# Sets of runs, as bits.
_Spread = Mapping[str, int]


def parts_of(runs: Sequence[Run]) -> list[list[int]]:
    """Return the places of the runs, those of one goal together; one part where nothing parts them.

    A trace of its own kind is a part too, so a part may be too small to learn from.
    """
    places = list(range(len(runs)))
    if len({run.words for run in runs}) < _FEWEST:
        return [places]
    told = [_told(run) for run in runs]
    done = [frozenset(_features(run)) for run in runs]
    waiting, parts = [places], []
    while waiting:
        part = waiting.pop()
        cut = _cut([told[at] for at in part], [done[at] for at in part])
        if cut:
            waiting += [[at for bit, at in enumerate(part) if (cut >> bit & 1) is side]
                        for side in (0, 1)]  # fmt: skip
        else:
            parts.append(part)
    return sorted(parts)


def _told(run: Run) -> tuple[str, ...]:
    """Return the words that are no values: the first one, and those that no step uses."""
    used: set[str] = set()
    for move in run.moves:
        for text in move.fields.values():
            used.update(_letters(text[:_MOST_READ]))
    return tuple(word for at, word in enumerate(run.words) if not at or word not in used)


def _letters(text: str) -> Iterator[str]:
    for word in _WORD.findall(text.casefold()):
        yield word
        if word.endswith("s"):
            yield word[:-1]
        if _WIDE.match(word):
            yield from (word[at : at + 2] for at in range(len(word) - 1))


def _features(run: Run) -> Iterator[_Feature]:
    said = frozenset(run.words[1:])
    typed = [text.casefold() for move in run.moves for text in _typed(move)]
    ways = {one for move in run.moves if not move.is_look for one in _ways(move)}
    for one in ways:
        label = one.value.casefold()
        is_value = any(text in label for text in typed) or said.intersection(_letters(label))
        if label.startswith("-") or not is_value:
            yield one


def _typed(move: Move) -> list[str]:
    return [text for text in move.fields.values() if text] if move.shape.deed is Deed.TYPE else []


def _ways(move: Move) -> Iterator[_Feature]:
    deed, name = move.shape.deed, move.shape.name
    if deed in _COMMANDS:
        command = move.fields.get("command", "")
        yield _Feature("run", script_of(command) or name)
        yield _Feature(f"has {name}", "")
        yield from (_Feature(f"option {name}", one) for one in options_of(command))
        yield from (_Feature(f"mode {name}", one) for one in plain_operands(command))
    elif deed is Deed.GESTURE:
        yield _Feature(f"gesture {move.app}", move.fields.get("element", "") or name)
    elif deed in (Deed.KEY, Deed.LAUNCH):
        yield _Feature(deed.value, name)
    elif deed is Deed.TOOL:
        yield _Feature("tool", name)
        for field, text in move.fields.items():
            if _PLAIN.fullmatch(text):
                yield _Feature(f"tool {name} {field}", text)


def _cut(told: Sequence[Sequence[str]], done: Sequence[frozenset[_Feature]]) -> int:
    """Return which runs are another goal than the rest, as bits; 0 where all have one goal."""
    whole = (1 << len(told)) - 1
    words = _spread(told)
    if not any(mask != whole for mask in words.values()):
        return 0
    slots: dict[str, dict[str, int]] = {}
    for at, features in enumerate(done):
        for slot, value in features:
            values = slots.setdefault(slot, {})
            values[value] = values.get(value, 0) | 1 << at
    found = [
        (min(mask.bit_count(), (whole ^ mask).bit_count()), slot, value, mask)
        for slot, values in slots.items()
        for value, mask in values.items()
        if mask != whole and _is_goal(slot, value, slots, words, told)
    ]
    return max(found, key=lambda one: (one[0], one[1], one[2]))[3] if found else 0


def _spread(rows: Sequence[Sequence[str]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for at, row in enumerate(rows):
        for word in row:
            found[word] = found.get(word, 0) | 1 << at
    return found


def _is_goal(
    slot: str,
    value: str,
    slots: Mapping[str, _Spread],
    words: _Spread,
    told: Sequence[Sequence[str]],
) -> bool:
    """Return whether a way to do it goes together with a way to ask for it."""
    whole = (1 << len(told)) - 1
    mask = slots[slot][value]
    rest = whole ^ mask
    exact = [word for word, spread in words.items() if spread in (mask, rest)]
    if not exact:
        return False
    if any(_has_verb(side, words, told) for side in (mask, rest)):
        # Enough runs are told to do one thing, so that each other one counts by itself.
        fewest = 1 if _has_verb(mask, words, told) else _FEWEST
        return _covers(slots[slot], rest, fewest)
    if min(mask.bit_count(), rest.bit_count()) < _FEWEST:
        return False
    is_asked = _covers(words, mask, _FEWEST) and _covers(words, rest, _FEWEST)
    # Without the option, but by the same program.
    same = slots.get(slot.replace("option", "has", 1), {}).get("", 0) if "option" in slot else 0
    is_left_out = same == whole and (is_asked or any(word in value for word in exact))
    return is_left_out or _covers(slots[slot], rest, _FEWEST)


def _has_verb(side: int, words: _Spread, told: Sequence[Sequence[str]]) -> bool:
    """Return whether enough runs are a side by the first word of their tasks."""
    first = {row[0] if row else "" for at, row in enumerate(told) if side >> at & 1}
    # Of three runs, two against one: better to learn nothing yet than the wrong thing.
    enough = min(_OTHERS, len(told) - 1)
    return side.bit_count() >= enough and len(first) == 1 and words.get(first.pop()) == side


def _covers(spreads: _Spread, side: int, fewest: int) -> bool:
    """Return whether every run of a side has something that no run of the other has."""
    covered = 0
    for spread in spreads.values():
        if not spread & ~side and spread.bit_count() >= fewest:
            covered |= spread
    return covered == side
