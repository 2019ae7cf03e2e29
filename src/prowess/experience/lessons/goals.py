"""Which traces had the same goal: by what was asked for and by what was done, never by one alone.

What varies from run to run (names, dates, addresses) is taken out of a task before it is compared.
The same words with other steps are another task, and other words with the same telling steps are
the same one, unless they ask for the opposite. A group does not depend on the order of its traces.

To add a user and to remove one share most of their words and nearly all of their steps. Such a
group is taken apart where a word of the task goes together with how a step was taken: an option, a
mode, an element. A word that the steps use is a value and tells nothing, but for the first one,
which says what to do; and what varies by the habits of whoever did it takes nothing apart.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import combinations, combinations_with_replacement, product
from types import MappingProxyType
from typing import NamedTuple

from prowess.data import read_word_group
from prowess.experience.commands import (
    ValueKind,
    find_modes,
    find_options,
    find_script,
    find_values,
    read_ending,
)
from prowess.experience.lessons.moves import Move, MoveShape, find_moves
from prowess.language.opposites import Sides, are_opposed, find_sides, join_sides
from prowess.transcripts.traces import Deed, Trace, TraceAction, find_command

_NO_SPACES = r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]"
_WORD = re.compile(rf"{_NO_SPACES}+|(?:(?!{_NO_SPACES})[^\W\d_])+")
_WIDE = re.compile(rf"{_NO_SPACES}+")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z_-]{1,30}")
_MOST_READ = 400
# What one trace did alone is a habit, unless enough others were told to do another thing.
_FEWEST, _OTHERS = 2, 3
_COMMANDS = frozenset((Deed.SHELL, Deed.DEVICE_SHELL))


class GoalRun(NamedTuple):
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


def split_goals(runs: Sequence[GoalRun]) -> list[list[int]]:
    """Return the places of the runs, those of one goal together; one part where nothing parts them.

    A trace of its own kind is a part too, so a part may be too small to learn from.
    """
    places = list(range(len(runs)))
    if len({run.words for run in runs}) < _FEWEST:
        return [places]
    told = [_find_plain_words(run) for run in runs]
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


def _find_plain_words(run: GoalRun) -> tuple[str, ...]:
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


def _features(run: GoalRun) -> Iterator[_Feature]:
    said = frozenset(run.words[1:])
    typed = [text.casefold() for move in run.moves for text in _find_typed(move)]
    ways = {one for move in run.moves if not move.is_look for one in _ways(move)}
    for one in ways:
        label = one.value.casefold()
        is_value = any(text in label for text in typed) or said.intersection(_letters(label))
        if label.startswith("-") or not is_value:
            yield one


def _find_typed(move: Move) -> list[str]:
    return [text for text in move.fields.values() if text] if move.shape.deed is Deed.TYPE else []


def _ways(move: Move) -> Iterator[_Feature]:
    deed, name = move.shape.deed, move.shape.name
    if deed in _COMMANDS:
        command = move.fields.get("command", "")
        yield _Feature("run", find_script(command) or name)
        yield _Feature(f"has {name}", "")
        yield from (_Feature(f"option {name}", one) for one in find_options(command))
        yield from (_Feature(f"mode {name}", one) for one in find_modes(command))
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


# How many traces a goal needs before anything is learned from them.
FEWEST_TRACES = 3
# More than anybody keeps; each pair of them is compared.
MOST_COMPARED = 500
Likeness = Callable[[str, str], float]

_SAME_GOAL = 0.5
_WORDS_COUNT, _STEPS_COUNT = 0.45, 0.55
# Below this, two traces did other things, whatever they were asked.
_FEWEST_STEPS = 0.34
# So much must be shared before the same steps prove anything.
_TELLING = 2.0
# Of a step that is taken again and again.
_MOST_AGAIN = 2
# A thought of this length that two traces share to the letter is a copy.
_COPIED = 60
# What a program never says twice: a time of day, how long it took, a hash, a large count.
_ONLY_ONCE = re.compile(
    r"(?<![\d:])\d{1,2}:\d\d:\d\d(?!\d)|\d[.,]\d+ ?(?:s|ms|sec|seconds|min|minutes)\b"
    r"|(?<!\w)(?=[a-f]{0,63}\d)(?=\d{0,63}[a-f])[0-9a-f]{7,64}(?!\w)|(?<![\w.-])\d{6,}(?![\w.-])"
)

# Kinds stand for themselves in a task, and say little.
_KIND_WORDS = frozenset(kind.value for kind in ValueKind)
_KIND_WEIGHT = 0.3
# The simplest of stems: `files` and `file`.
_PLURAL = 4


_words = partial(read_word_group, "experience/lessons/words.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A trace as it is compared."""

    trace: Trace
    id: str
    task: str
    steps: "_Steps"
    sides: Sides
    moves: tuple[Move, ...]


class _Steps(NamedTuple):
    """The kinds of steps of a trace as bits: sets of them are compared at once."""

    # For each weight that a kind can have: which kinds there are, and which more than once.
    sets: tuple[tuple[float, int, int], ...]
    # What all weighs together, each kind once or twice.
    whole: float
    # Every kind, whatever it weighs.
    any: int


class _Lump(NamedTuple):
    """Traces that nothing told apart, by their places; they are compared as one."""

    task: str
    steps: _Steps
    sides: Sides
    places: tuple[int, ...]


def compare_words(one: str, other: str) -> float:
    """Return how nearly two texts say the same by their words, from 0 to 1.

    Scripts without spaces are compared by pairs of letters.
    """
    mine, theirs = _features_goals(one), _features_goals(other)
    whole = sum(mine.values()) + sum(theirs.values())
    shared = sum(min(mine[word], theirs[word]) for word in mine.keys() & theirs.keys())
    return 2 * shared / whole if whole else 0.0


def find_goal_words(task: str) -> frozenset[str]:
    """Return the words of a task that belong to its goal: no values and nothing polite."""
    return frozenset(
        word for word, weight in _features_goals(mask_task(task)).items() if weight == 1.0
    )


def find_stems(text: str) -> frozenset[str]:
    """Return the words of a text as `find_goal_words` has them, values and all."""
    return frozenset(_features_goals(text))


@lru_cache(maxsize=2_048)
def _features_goals(text: str) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for word in _WORD.findall(text.casefold()):
        if _WIDE.match(word):
            found |= {word[at : at + 2]: 1.0 for at in range(max(len(word) - 1, 1))}
        elif word not in _words("small"):
            stem = word[:-1] if word.endswith("s") and len(word) >= _PLURAL else word
            found[stem] = _KIND_WEIGHT if word in _KIND_WORDS else 1.0
    return MappingProxyType(found)


def group_traces(
    traces: Sequence[Trace], *, likeness: Likeness = compare_words, fewest: int = FEWEST_TRACES
) -> tuple[tuple[Trace, ...], ...]:
    """Return the traces that share a goal with enough others, one group for each goal.

    Args:
        traces: what was done; only successful ones with steps count, and copies count once.
        likeness: how nearly two tasks say the same, from 0 to 1, of tasks from `mask_task`.
        fewest: how many traces make a group.
    """
    seen = sorted(_keep_distinct(traces), key=lambda one: one.id)[:MOST_COMPARED]
    # Most tasks say the same once their values are out, and a likeness may be dear.
    alike = cache(likeness)
    lumps = _lumps(seen, alike)
    groups = _join_groups(lumps, _affinities(lumps, alike))
    large = [part for group in groups for part in _parts(group, seen) if len(part) >= fewest]
    large.sort(key=lambda group: (-len(group), seen[group[0]].id))
    return tuple(tuple(seen[at].trace for at in group) for group in large)


def _parts(group: Sequence[int], seen: Sequence[_Seen]) -> list[list[int]]:
    runs = [GoalRun(_find_telling_words(seen[at].task), seen[at].moves) for at in group]
    return [[group[place] for place in part] for part in split_goals(runs)]


def _find_telling_words(masked: str) -> tuple[str, ...]:
    """Return the words of a task that can tell what to do: `off` can, `please` cannot."""
    found: dict[str, None] = {}
    for word in _WORD.findall(masked.casefold()):
        if word in _words("ways"):
            found[word] = None
        elif word not in _KIND_WORDS:
            found |= dict.fromkeys(_features_goals(word))
    return tuple(found)


def mask_task(task: str) -> str:
    """Return a task on one line with kinds in place of the values that vary from run to run.

    A file becomes its ending, since `csv` belongs to the goal and the name in front does not.
    """
    parts, at = [], 0
    for value in find_values(task):
        kind = read_ending(value.text) if value.kind is ValueKind.FILE else ""
        parts += [task[at : value.start], f" {kind or value.kind.value} "]
        at = value.end
    return " ".join("".join([*parts, task[at:]]).split())


def _keep_distinct(traces: Iterable[Trace]) -> list[_Seen]:
    """Return each successful trace once; a session that was gone on with holds a copy of itself."""
    known: dict[Hashable, _Seen] = {}
    numbers: dict[tuple[MoveShape, float], int] = {}
    for trace in traces:
        # Runs whose task nobody wrote down have no goal in common that anybody could name.
        if not (trace.ok and trace.steps and trace.task.strip()):
            continue
        moves = find_moves(trace)
        if not moves:
            continue
        kinds = Counter((move.shape, move.weight) for move in moves)
        steps = _as_bits(kinds, numbers)
        one = _Seen(
            trace=trace,
            id=trace.id,
            task=mask_task(trace.task),
            steps=steps,
            sides=find_sides(_drop_typed(trace.task, moves)),
            moves=moves,
        )
        content = _content(trace)
        copied = known.get(content)
        is_new = copied is not None and copied.id != one.id and not _is_telling(trace)
        key = one.id if is_new else content
        if key not in known or _rank(one) < _rank(known[key]):
            known[key] = one
    return list(known.values())


def _drop_typed(task: str, moves: Sequence[Move]) -> str:
    """Return a task without its values: what is looked for may well be how to turn it off."""
    for move in moves:
        typed = move.fields.get("text", "") if move.shape.deed is Deed.TYPE else ""
        task = task.replace(typed, " ") if " " in typed else task
    return mask_task(task)


def _rank(one: _Seen) -> tuple[str, str]:
    return one.id, one.trace.session_path


def _as_bits(
    kinds: Mapping[tuple[MoveShape, float], int], numbers: dict[tuple[MoveShape, float], int]
) -> _Steps:
    sets: dict[float, tuple[int, int]] = {}
    for kind, count in kinds.items():
        bit = 1 << numbers.setdefault(kind, len(numbers))
        once, again = sets.get(kind[1], (0, 0))
        sets[kind[1]] = (once | bit, again | bit if count >= _MOST_AGAIN else again)
    rows = tuple((weight, *sets[weight]) for weight in sorted(sets))
    whole = sum(w * (once.bit_count() + again.bit_count()) for w, once, again in rows)
    # The same step of another weight has a bit of its own, so these add up to all of them.
    return _Steps(rows, whole, sum(once for _, once, _ in rows))


def _content(trace: Trace) -> Hashable:
    """Return all that copies of a trace share: what was asked, done, thought and seen."""
    steps = (
        (step.action.kind, find_command(step.action) or _write_fields(step.action), step.thought)
        for step in trace.steps
    )
    seen = (step.result for step in trace.steps)
    return trace.task, trace.final_message, tuple(steps), tuple(seen)


def _write_fields(action: TraceAction) -> str:
    return json.dumps({**action.fields}, sort_keys=True, default=str)


def _is_telling(trace: Trace) -> bool:
    """Return whether two runs could not both have said what a trace says.

    Nobody thinks a longer thing twice to the letter, and no clock says the same twice. A task that
    is simply done again, with nothing that would tell its runs apart, was done twice.
    """
    said = (trace.final_message, *(step.thought for step in trace.steps))
    if sum(map(len, said)) >= _COPIED:
        return True
    return any(_ONLY_ONCE.search(step.result) for step in trace.steps)


def _lumps(seen: Sequence[_Seen], likeness: Likeness) -> list[_Lump]:
    """Put together what is asked for in the same words and done by the same steps."""
    alike: dict[tuple[str, _Steps, Sides], list[int]] = {}
    for at, one in enumerate(seen):
        alike.setdefault((one.task, one.steps, one.sides), []).append(at)
    found: list[_Lump] = []
    for (task, steps, sides), places in alike.items():
        lump = _Lump(task, steps, sides, tuple(places))
        # Where even the same says too little, each stands for itself.
        proof = _proof(steps, steps)
        is_sure = len(places) > 1 and _affinity(task, task, proof, likeness) >= _SAME_GOAL
        found += [lump] if is_sure else [lump._replace(places=(at,)) for at in places]
    return sorted(found, key=lambda lump: lump.places)


def _affinities(lumps: Sequence[_Lump], likeness: Likeness) -> dict[tuple[int, int], float]:
    """Return how surely two lumps have one goal, for each pair that has something in common."""
    found: dict[tuple[int, int], float] = {}
    # Much is asked for in many words and done in few ways: each two of these are compared once.
    ways: dict[_Steps, list[int]] = {}
    for at, lump in enumerate(lumps):
        ways.setdefault(lump.steps, []).append(at)
    for (one, mine), (other, theirs) in combinations_with_replacement(ways.items(), 2):
        if not (one.any & other.any and (proof := _proof(one, other))):
            continue
        pairs = combinations(mine, 2) if one is other else product(mine, theirs)
        for first, second in pairs:
            sure = _affinity(lumps[first].task, lumps[second].task, proof, likeness)
            found[min(first, second), max(first, second)] = sure
    return found


def _affinity(one: str, other: str, proof: float, likeness: Likeness) -> float:
    """Return how surely two tasks are one, from 0 to 1, where their steps prove so much."""
    words = likeness(one, other) if one <= other else likeness(other, one)
    return _WORDS_COUNT * min(max(words, 0.0), 1.0) + _STEPS_COUNT * proof


def _proof(one: _Steps, other: _Steps) -> float:
    """Return how surely steps are those of one goal, from 0 to 1; 0 where they surely are not."""
    steps, telling = _steps_alike(one, other)
    return steps * min(telling / _TELLING, 1.0) if steps >= _FEWEST_STEPS else 0.0


def _steps_alike(one: _Steps, other: _Steps) -> tuple[float, float]:
    """Return how alike the steps are, from 0 to 1, and how much the shared ones tell."""
    shared = telling = 0.0
    theirs = {weight: (once, again) for weight, once, again in other.sets}
    for weight, once, again in one.sets:
        if weight in theirs:
            both_once, both_again = once & theirs[weight][0], again & theirs[weight][1]
            telling += weight * both_once.bit_count()
            shared += weight * (both_once.bit_count() + both_again.bit_count())
    whole = one.whole + other.whole
    return (2 * shared / whole if whole else 0.0), telling


def _join_groups(lumps: Sequence[_Lump], pairs: Mapping[tuple[int, int], float]) -> list[list[int]]:
    """Join what belongs together, the surest first; two groups only where most pairs agree."""
    groups = _Groups(lumps, pairs)
    sure = [pair for pair, affinity in pairs.items() if affinity >= _SAME_GOAL]
    for first, second in sorted(sure, key=lambda pair: (-round(pairs[pair], 6), pair)):
        groups.join(first, second)
    return groups.places()


class _Groups:
    """Lumps in groups, with the sum of what speaks for joining each two of the groups."""

    def __init__(self, lumps: Sequence[_Lump], pairs: Mapping[tuple[int, int], float]) -> None:
        self._of = list(range(len(lumps)))
        self._members = {at: [at] for at in self._of}
        self._places = [lump.places for lump in lumps]
        self._sides = {at: lump.sides for at, lump in enumerate(lumps)}
        self._sizes = {at: len(lump.places) for at, lump in enumerate(lumps)}
        self._sums: dict[int, dict[int, float]] = {at: {} for at in self._of}
        for (one, other), affinity in pairs.items():
            total = affinity * self._sizes[one] * self._sizes[other]
            self._sums[one][other] = self._sums[other][one] = total

    def join(self, first: int, second: int) -> None:
        """Join the groups of two lumps, if most pairs of their traces agree and none is opposed."""
        one, other = self._of[first], self._of[second]
        if one == other or are_opposed(self._sides[one], self._sides[other]):
            return
        agreed = self._sums[one].get(other, 0.0) / (self._sizes[one] * self._sizes[other])
        if agreed >= _SAME_GOAL:
            # The smaller is put to the larger: the work stays in proportion.
            self._merge(*sorted((one, other), key=lambda at: (-len(self._members[at]), at)))

    def places(self) -> list[list[int]]:
        """Return the groups, each as the places of its traces in order."""
        return [
            sorted(place for at in members for place in self._places[at])
            for members in self._members.values()
        ]

    def _merge(self, kept: int, gone: int) -> None:
        for at in self._members[gone]:
            self._of[at] = kept
        self._members[kept] += self._members.pop(gone)
        self._sides[kept] = join_sides(self._sides[kept], self._sides.pop(gone))
        self._sizes[kept] += self._sizes.pop(gone)
        mine, theirs = self._sums[kept], self._sums.pop(gone)
        for other, total in theirs.items():
            row = self._sums[other]
            del row[gone]
            if other != kept:
                mine[other] = row[kept] = mine.get(other, 0.0) + total
