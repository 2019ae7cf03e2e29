"""Which traces had the same goal: by what was asked for and by what was done, never by one alone.

What varies from run to run (names, dates, addresses) is taken out of a task before it is compared.
The same words with other steps are another task, and other words with the same telling steps are
the same one. A group does not depend on the order in which its traces were given.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from prowess.learning.deeds import command_of
from prowess.learning.step_shapes import Shape, moves_of
from prowess.learning.traces import Trace
from prowess.learning.value_kinds import Kind, ending_of, values_in

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
# A text of this length that two traces share to the letter is a copy.
_COPIED = 60

# Scripts that put no space between words.
_NO_SPACES = r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]"
_WIDE = re.compile(rf"{_NO_SPACES}+")
_WORD = re.compile(rf"{_NO_SPACES}+|(?:(?!{_NO_SPACES})[^\W\d_])+")
# Words that carry no goal: politeness, articles, and what one says to go on.
_SMALL = frozenset(
    _WORD.findall(
        "a an and are as at be by can continue could do does done for from go going have hello"
        " help hi i if in into is it its just keep let lets like me my need next no now of ok"
        " okay on one or our out over please so some sure than thank thanks that the then there"
        " these this those to too try up us want we what with would yes yet you your again also"
        " all any proceed retry right bitte das dem den der die ein eine einen einer es f\u00fcr"
        " ich im mir mit nach und von zu zum avec de des du en et la le les pour un une el"
        " los las por para con una que"
    )
)
# Kinds stand for themselves in a task, and say little.
_KIND_WORDS = frozenset(kind.value for kind in Kind)
_KIND_WEIGHT = 0.3
# The simplest of stems: `files` and `file`.
_PLURAL = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A trace as it is compared."""

    trace: Trace
    id: str
    task: str
    shapes: Mapping[Shape, int]
    weights: Mapping[Shape, float]


def words_alike(one: str, other: str) -> float:
    """Return how nearly two texts say the same by their words, from 0 to 1.

    Scripts without spaces are compared by pairs of letters.
    """
    mine, theirs = _features(one), _features(other)
    whole = sum(mine.values()) + sum(theirs.values())
    shared = sum(min(mine[word], theirs[word]) for word in mine.keys() & theirs.keys())
    return 2 * shared / whole if whole else 0.0


def _features(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for word in _WORD.findall(text.casefold()):
        if _WIDE.match(word):
            found |= {word[at : at + 2]: 1.0 for at in range(max(len(word) - 1, 1))}
        elif word not in _SMALL:
            stem = word[:-1] if word.endswith("s") and len(word) >= _PLURAL else word
            found[stem] = _KIND_WEIGHT if word in _KIND_WORDS else 1.0
    return found


def grouped(
    traces: Sequence[Trace], *, likeness: Likeness = words_alike, fewest: int = FEWEST_TRACES
) -> tuple[tuple[Trace, ...], ...]:
    """Return the traces that share a goal with enough others, one group for each goal.

    Args:
        traces: what was done; only successful ones with steps count, and copies count once.
        likeness: how nearly two tasks say the same, from 0 to 1, of tasks from `masked_task`.
        fewest: how many traces make a group.
    """
    seen = sorted(_distinct(traces), key=lambda one: one.id)[:MOST_COMPARED]
    pairs = _affinities(seen, likeness)
    groups = _joined(len(seen), pairs)
    large = [group for group in groups if len(group) >= fewest]
    large.sort(key=lambda group: (-len(group), seen[group[0]].id))
    return tuple(tuple(seen[at].trace for at in group) for group in large)


def masked_task(task: str) -> str:
    """Return a task on one line with kinds in place of the values that vary from run to run.

    A file becomes its ending, since `csv` belongs to the goal and the name in front does not.
    """
    parts, at = [], 0
    for value in values_in(task):
        kind = ending_of(value.text) if value.kind is Kind.FILE else ""
        parts += [task[at : value.start], f" {kind or value.kind.value} "]
        at = value.end
    return " ".join("".join([*parts, task[at:]]).split())


def _distinct(traces: Iterable[Trace]) -> list[_Seen]:
    """Return each successful trace once; a session that was gone on with holds a copy of itself."""
    known: dict[str, _Seen] = {}
    for trace in traces:
        if not (trace.ok and trace.steps):
            continue
        moves = moves_of(trace)
        if not moves:
            continue
        shapes = Counter(move.shape for move in moves)
        one = _Seen(
            trace=trace,
            id=trace.id,
            task=masked_task(trace.task),
            shapes={shape: min(count, _MOST_AGAIN) for shape, count in shapes.items()},
            weights={move.shape: move.weight for move in moves},
        )
        key = _content_key(trace, one.id)
        if key not in known or (one.id, trace.session_path) < (
            known[key].id,
            known[key].trace.session_path,
        ):
            known[key] = one
    return list(known.values())


def _content_key(trace: Trace, trace_id: str) -> str:
    """Return what two copies of a trace share: nobody says a longer thing twice to the letter."""
    said = [trace.final_message, *(step.thought for step in trace.steps)]
    if sum(map(len, said)) < _COPIED:
        return trace_id
    done = (f"{step.action.kind} {command_of(step.action)}" for step in trace.steps)
    written = "\0".join((trace.task, *said, *done)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(written).hexdigest()


def _affinities(seen: Sequence[_Seen], likeness: Likeness) -> dict[tuple[int, int], float]:
    """Return how surely two traces have one goal, for each pair that has something in common."""
    found: dict[tuple[int, int], float] = {}
    told: dict[tuple[str, str], float] = {}
    for first, one in enumerate(seen):
        for second in range(first + 1, len(seen)):
            other = seen[second]
            steps, telling = _steps_alike(one, other)
            if steps < _FEWEST_STEPS:
                continue
            tasks = (min(one.task, other.task), max(one.task, other.task))
            if tasks not in told:
                told[tasks] = min(max(likeness(*tasks), 0.0), 1.0)
            proof = steps * min(telling / _TELLING, 1.0)
            found[first, second] = _WORDS_COUNT * told[tasks] + _STEPS_COUNT * proof
    return found


def _steps_alike(one: _Seen, other: _Seen) -> tuple[float, float]:
    """Return how alike the steps are, from 0 to 1, and how much the shared ones tell."""
    shared = telling = 0.0
    for shape in one.shapes.keys() & other.shapes.keys():
        weight = one.weights[shape]
        shared += weight * min(one.shapes[shape], other.shapes[shape])
        telling += weight
    whole = sum(
        weight * side.shapes[shape]
        for side in (one, other)
        for shape, weight in side.weights.items()
    )
    return (2 * shared / whole if whole else 0.0), telling


def _joined(count: int, pairs: Mapping[tuple[int, int], float]) -> list[list[int]]:
    """Join what belongs together, the surest first; two groups only where most pairs agree."""
    group_of = {at: [at] for at in range(count)}
    refused: set[tuple[int, int, int, int]] = set()
    sure = [pair for pair, affinity in pairs.items() if affinity >= _SAME_GOAL]
    for first, second in sorted(sure, key=lambda pair: (-round(pairs[pair], 6), pair)):
        one, other = group_of[first], group_of[second]
        # A group is known by its first member and its size, for it only grows.
        key = (one[0], len(one), other[0], len(other))
        if one is other or key in refused:
            continue
        if _agree(one, other, pairs) < _SAME_GOAL:
            refused.add(key)
            continue
        both = sorted([*one, *other])
        group_of |= dict.fromkeys(both, both)
    unique = {id(group): group for group in group_of.values()}
    return list(unique.values())


def _agree(
    one: Sequence[int], other: Sequence[int], pairs: Mapping[tuple[int, int], float]
) -> float:
    found = [pairs.get((min(a, b), max(a, b)), 0.0) for a in one for b in other]
    return sum(found) / len(found)
