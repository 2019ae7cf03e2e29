"""Several sequences of moves side by side: each column holds what is the same move in each trace.

One trace, the most typical one, is laid out first and the others are laid against it, the nearest
first. A move that one trace made earlier or later than the others is still the same move. What is
equal is decided by the kind of a move; its values only decide between several that could be meant.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from prowess.experience.lessons.moves import Move, Shape
from prowess.transcripts.deeds import Deed

_WORD = re.compile(r"[^\W_]+")
# What the kind of a move counts, and what its words do.
_BY_KIND, _BY_WORDS = 0.6, 0.4
# An element that only says something else than before, in the same app.
_OTHER_ELEMENT = 0.3
_ALIKE = 0.3
# Even a move that says nothing about its task lies beside its like.
_EVEN_A_LOOK = 0.1


@dataclass(slots=True)
class Column:
    """The same move in several traces, by the number of the trace."""

    members: dict[int, Move] = field(default_factory=dict)

    @property
    def first(self) -> Move:
        """The move of the trace that was laid out first."""
        return next(iter(self.members.values()))


def columns_of(sequences: Sequence[Sequence[Move]]) -> tuple[Column, ...]:
    """Lay sequences of moves side by side; each is named by its place in `sequences`."""
    order = _typical_first(sequences)
    numbers: dict[Shape, int] = {}
    words = {
        id(move): (numbers.setdefault(move.shape, len(numbers)), _words(move))
        for moves in sequences
        for move in moves
    }
    columns: list[Column] = []
    for trace in order:
        columns = _with(columns, trace, sequences[trace], words)
    return tuple(_gathered(columns, words))


def typical(sequences: Sequence[Sequence[Move]]) -> tuple[int, ...]:
    """Return the places of the sequences, the most typical first, then by nearness to it."""
    return tuple(_typical_first(sequences))


def _typical_first(sequences: Sequence[Sequence[Move]]) -> list[int]:
    bags = [_bag(moves) for moves in sequences]
    places = range(len(bags))
    if not bags:
        return []
    # The same steps in the same order are common, and then as near to all others.
    alike = {frozenset(bag.items()): bag for bag in bags}
    counts = Counter(frozenset(bag.items()) for bag in bags)
    nearness = {
        key: sum(counts[other] * _bags_alike(bag, alike[other]) for other in alike)
        for key, bag in alike.items()
    }
    near = [nearness[frozenset(bag.items())] for bag in bags]
    best = max(places, key=lambda place: (round(near[place], 6), -len(sequences[place]), -place))
    return sorted(places, key=lambda at: (at != best, -_bags_alike(bags[at], bags[best]), at))


_Bag = Mapping[tuple[Shape, ...], float]


def _bag(moves: Sequence[Move]) -> _Bag:
    """Return the kinds of moves and of neighbours, with their weights."""
    bag: Counter[tuple[Shape, ...]] = Counter()
    for at, move in enumerate(moves):
        bag[move.shape,] += round(10 * move.weight)
        if at:
            bag[moves[at - 1].shape, move.shape] += round(5 * move.weight)
    return bag


def _bags_alike(one: _Bag, other: _Bag) -> float:
    shared = sum(min(one[key], other[key]) for key in one.keys() & other.keys())
    whole = sum(one.values()) + sum(other.values())
    return 2 * shared / whole if whole else 0.0


# The number of its kind and the words of each move: kinds are compared often.
_Words = Mapping[int, tuple[int, frozenset[str]]]


def _words(move: Move) -> frozenset[str]:
    said = " ".join(text[:400] for text in move.fields.values())
    return frozenset(_WORD.findall(said.casefold()))


def _with(columns: list[Column], trace: int, moves: Sequence[Move], words: _Words) -> list[Column]:
    """Lay one more sequence against the columns; what fits nowhere gets a column of its own."""
    matched = _matched([column.first for column in columns], moves, words)
    laid: list[Column] = []
    column_done = move_done = 0
    for column_at, move_at in [*matched, (len(columns), len(moves))]:
        laid += columns[column_done:column_at]
        laid += [Column({trace: move}) for move in moves[move_done:move_at]]
        if column_at < len(columns):
            columns[column_at].members[trace] = moves[move_at]
            laid.append(columns[column_at])
        column_done, move_done = column_at + 1, move_at + 1
    return laid


def _matched(left: Sequence[Move], right: Sequence[Move], words: _Words) -> list[tuple[int, int]]:
    """Return which moves belong together, in order, so that the most is matched."""
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    worth = _worths(left, right, words)
    for row in range(len(left) - 1, -1, -1):
        below, here, gains = best[row + 1], best[row], worth[row]
        for at in range(len(right) - 1, -1, -1):
            skipped = max(below[at], here[at + 1])
            here[at] = max(skipped, below[at + 1] + gains[at]) if gains[at] else skipped
    return _walked(best, worth)


def _walked(
    best: Sequence[Sequence[float]], worth: Sequence[Sequence[float]]
) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    row = at = 0
    while row < len(worth) and at < len(worth[row]):
        gain = worth[row][at]
        if gain and best[row][at] == best[row + 1][at + 1] + gain:
            found.append((row, at))
            row, at = row + 1, at + 1
        elif best[row][at] == best[row + 1][at]:
            row += 1
        else:
            at += 1
    return found


def _worths(left: Sequence[Move], right: Sequence[Move], words: _Words) -> list[list[float]]:
    """Return what it is worth to match each pair; most are of other kinds and worth nothing."""
    by_kind: dict[int, list[int]] = {}
    for at, move in enumerate(right):
        by_kind.setdefault(words[id(move)][0], []).append(at)
    gestures = [at for at, move in enumerate(right) if move.shape.deed is Deed.GESTURE]
    found = []
    for one in left:
        row = [0.0] * len(right)
        near = gestures if one.shape.deed is Deed.GESTURE else by_kind.get(words[id(one)][0], [])
        for at in near:
            likeness = _likeness(one, right[at], words)
            if likeness >= _ALIKE:
                row[at] = likeness * (one.weight + _EVEN_A_LOOK)
        found.append(row)
    return found


def _likeness(one: Move, other: Move, words: _Words) -> float:
    """Return how surely two moves are the same one, from 0 to 1."""
    (kind, mine), (other_kind, theirs) = words[id(one)], words[id(other)]
    if kind != other_kind:
        return _OTHER_ELEMENT if _is_other_element(one, other) else 0.0
    both = len(mine) + len(theirs)
    return _BY_KIND + (_BY_WORDS * 2 * len(mine & theirs) / both if both else _BY_WORDS)


def _is_other_element(one: Move, other: Move) -> bool:
    """Return whether two taps differ only in what their element says: a result, a contact."""
    if one.target is None or other.target is None or one.app != other.app:
        return False
    if not (one.shape.deed is other.shape.deed is Deed.GESTURE):
        return False
    is_named = one.target.resource_id or other.target.resource_id
    return not is_named and one.target.class_name == other.target.class_name


def _gathered(columns: list[Column], words: _Words) -> list[Column]:
    """Put together columns of one kind that no trace has twice: a move made at another time."""
    by_kind: dict[int, list[Column]] = {}
    for column in sorted(columns, key=lambda one: -len(one.members)):
        same = by_kind.setdefault(words[id(column.first)][0], [])
        free = (one for one in same if one.members.keys().isdisjoint(column.members))
        larger = next(free, None)
        if larger is None:
            same.append(column)
        else:
            larger.members |= column.members
    kept = {id(column) for same in by_kind.values() for column in same}
    return [column for column in columns if id(column) in kept]
