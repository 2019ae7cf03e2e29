"""Several traces of one goal as one procedure: what all did, what some did, and what varied.

The most typical trace is laid out first and the others are laid against it, the nearest first. What
is equal is decided by the kind of a move; its values only decide between several that could be
meant. Columns that every trace has are the procedure, those that several have are optional, and
what only one did is a detour. Nothing of it depends on the order of the traces, and no secret of
theirs is in it.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prowess.experience.commands import find_modes, find_options, find_programs, find_script
from prowess.experience.fields import find_field, is_secret_target
from prowess.experience.lessons.goals import compare_words, find_goal_words, find_stems, mask_task
from prowess.experience.lessons.moves import (
    MOST_MOVES,
    FailedMove,
    Move,
    MoveShape,
    find_failures,
    find_moves,
    shorten_trace,
)
from prowess.experience.lessons.orders import write_order
from prowess.experience.lessons.parameter_names import ValueSource
from prowess.experience.lessons.parameters import (
    GAP,
    Parameter,
    Parametrized,
    VaryingField,
    find_parameters,
    remove_values,
)
from prowess.experience.lessons.templates import MOST
from prowess.experience.redaction import HIDDEN, remove_secrets
from prowess.experience.values import ValueKind, find_values
from prowess.language.opposites import find_undone
from prowess.skills.text import one_line
from prowess.transcripts.traces import Deed, Trace, UiTarget

_WORD = re.compile(r"[^\W_]+")
# What the kind of a move counts, and what its words do.
_BY_KIND, _BY_WORDS = 0.6, 0.4
# An element that only says something else than before, in the same app.
_OTHER_ELEMENT = 0.3
_ALIKE = 0.3
# Even a move that says nothing about its task lies beside its like.
_EVEN_A_LOOK = 0.1


@dataclass(slots=True)
class MoveColumn:
    """The same move in several traces, by the number of the trace."""

    members: dict[int, Move] = field(default_factory=dict)

    @property
    def first(self) -> Move:
        """The move of the trace that was laid out first."""
        return next(iter(self.members.values()))


def lay_out_moves(sequences: Sequence[Sequence[Move]]) -> tuple[MoveColumn, ...]:
    """Lay sequences of moves side by side; each is named by its place in `sequences`."""
    order = _typical_first(sequences)
    numbers: dict[MoveShape, int] = {}
    words = {
        id(move): (numbers.setdefault(move.shape, len(numbers)), _words(move))
        for moves in sequences
        for move in moves
    }
    columns: list[MoveColumn] = []
    for trace in order:
        columns = _with(columns, trace, sequences[trace], words)
    return tuple(_gathered(columns, words))


def sort_by_typical(sequences: Sequence[Sequence[Move]]) -> tuple[int, ...]:
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


_Bag = Mapping[tuple[MoveShape, ...], float]


def _bag(moves: Sequence[Move]) -> _Bag:
    """Return the kinds of moves and of neighbours, with their weights."""
    bag: Counter[tuple[MoveShape, ...]] = Counter()
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


def _with(
    columns: list[MoveColumn], trace: int, moves: Sequence[Move], words: _Words
) -> list[MoveColumn]:
    """Lay one more sequence against the columns; what fits nowhere gets a column of its own."""
    matched = _matched([column.first for column in columns], moves, words)
    laid: list[MoveColumn] = []
    column_done = move_done = 0
    for column_at, move_at in [*matched, (len(columns), len(moves))]:
        laid += columns[column_done:column_at]
        laid += [MoveColumn({trace: move}) for move in moves[move_done:move_at]]
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


def _gathered(columns: list[MoveColumn], words: _Words) -> list[MoveColumn]:
    """Put together columns of one kind that no trace has twice: a move made at another time."""
    by_kind: dict[int, list[MoveColumn]] = {}
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


MOST_ALIGNED = 30
_FEWEST = 2
# Of many runs one may always have left something out.
_NEARLY_ALL = 0.75
# How much all must have in common: of what a trace says about its task, and at least.
_COMMON, _SAYS_ENOUGH = 0.34, 0.5
# What fewer of many traces did is noise and no option.
_SOME, _USUAL = 0.2, 0.6
_MOST_DETOURS, _MOST_PITFALLS, _MOST_WAYS = 12, 6, 3
_NAME = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedStep:
    """One step of the procedure."""

    # The order, in Markdown, with {names} of parameters in it.
    text: str
    # What the order needs word for word; several lines.
    block: str = ""
    # How many of the traces took it; all of them where it is not optional.
    seen_in: int
    optional: bool
    # Whether it belongs to the lesson: most took it, and it does more than look around.
    usual: bool = True
    # The names of the parameters in it.
    parameters: tuple[str, ...] = ()
    # What kind of step it is, by which it is known again.
    kind: str = ""
    programs: tuple[str, ...] = ()
    # The script that it runs, where every run had the same.
    script: str = ""
    # How much it says about the task, from 0 to 1.
    weight: float = 1.0
    # What most runs told a program to do, by options and plain words, or what an element says.
    modes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Detour:
    """What one trace did and the others did not need."""

    # The place of the trace among the aligned ones.
    trace: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Otherwise:
    """A step that a single run took in another way, which is none of the ways of the procedure."""

    # The place of the trace among the aligned ones, and of the step in the procedure.
    trace: int
    step: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pitfall:
    """What went wrong, in how many traces, what was said of it, and what worked instead."""

    text: str
    said: str
    seen_in: int
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """One procedure, learned from several traces."""

    # The task in a person's words, with {names} of parameters in it.
    goal: str
    # The other ways in which it was asked for.
    phrases: tuple[str, ...]
    steps: tuple[AlignedStep, ...]
    parameters: tuple[Parameter, ...]
    detours: tuple[Detour, ...]
    pitfalls: tuple[Pitfall, ...]
    # How the most typical trace said that it was done.
    outcome: str
    # The traces as they were given, and in the same order what may be shown of them.
    traces: tuple[Trace, ...]
    tasks: tuple[str, ...]
    sessions: tuple[str, ...]
    # What at least half of the tasks say beside values, without what their steps used.
    goal_words: frozenset[str] = frozenset()
    # What was done in another way by one run each.
    otherwise: tuple[Otherwise, ...] = ()
    # What most tasks undo: it tells them from those that do it.
    undone: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A trace without secrets, and its moves."""

    given: Trace
    shown: Trace
    moves: tuple[Move, ...]
    task: str


def align(traces: Sequence[Trace]) -> Aligned | None:
    """Return what traces of one goal have in common; None where that is too little."""
    runs = _runs(traces)
    if len(runs) < _FEWEST:
        return None
    columns = lay_out_moves([run.moves for run in runs])
    if not _is_enough(columns, runs):
        return None
    fewest = max(2, math.ceil(_SOME * len(runs)))
    kept = [column for column in columns if len(column.members) >= fewest]
    varying = [one for column in kept for one in _varying(column, runs)]
    found = find_parameters([run.task for run in runs], varying)
    texts = iter(zip(found.texts, found.otherwise, strict=True))
    laid = [_step(column, texts, len(runs)) for column in kept]
    steps = tuple(step for step, _ in laid)
    done = [_done(run) for run in runs]
    goals = remove_values(found.goals, done)
    best, *others = _by_goal(runs)
    goal = _goal(goals[best], runs)
    phrases = dict.fromkeys(_goal(goals[at], runs) for at in others)
    rare = [column for column in columns if len(column.members) < fewest]
    return Aligned(
        goal=goal,
        phrases=tuple(phrase for phrase in phrases if phrase != goal),
        steps=steps,
        parameters=_used(found.parameters, steps),
        detours=tuple(_detours(rare, found)),
        pitfalls=tuple(_pitfalls(runs, found)),
        outcome=one_line(found.told(best, runs[best].shown.final_message)),
        traces=tuple(run.given for run in runs),
        tasks=tuple(one_line(run.shown.task) for run in runs),
        sessions=tuple(one_line(run.shown.session_path) for run in runs),
        goal_words=_shared_words(runs, done),
        otherwise=tuple(
            Otherwise(trace=trace, step=at, text=text)
            for at, (_, others) in enumerate(laid)
            for trace, text in sorted(others.items())
        )[:_MOST_DETOURS],
        undone=_undone(runs),
    )


def _runs(traces: Sequence[Trace]) -> list[_Run]:
    """Return the traces to align, each once, by their ids; of many the most typical ones."""
    given = {_key(trace): trace for trace in sorted(traces, key=lambda one: one.session_path)}
    ordered = [given[key] for key in sorted(given) if given[key].ok][: 2 * MOST_ALIGNED]
    sequences = [find_moves(trace) for trace in ordered]
    at_best = [at for at in sort_by_typical(sequences) if sequences[at]]
    runs = []
    for at in sorted(at_best[:MOST_ALIGNED]):
        shown = remove_secrets(shorten_trace(ordered[at]))
        runs.append(
            _Run(given=ordered[at], shown=shown, moves=find_moves(shown), task=_asked(shown.task))
        )
    return [run for run in runs if run.moves]


def _key(trace: Trace) -> str:
    """Return what orders traces and tells copies: as their id does, of what is aligned alone."""
    if len(trace.steps) <= MOST_MOVES:
        return trace.id
    return replace(trace, steps=trace.steps[:MOST_MOVES]).id


def _asked(task: str) -> str:
    """Return a task on one line, in which each line ends as a sentence does."""
    lines = (one_line(line) for line in task.splitlines())
    return re.sub(r"(?<=[^\s\W])\n", ". ", "\n".join(filter(None, lines))).replace("\n", " ")


def _is_enough(columns: Sequence[MoveColumn], runs: Sequence[_Run]) -> bool:
    everywhere = [one.first for one in columns if len(one.members) >= _NEARLY_ALL * len(runs)]
    shared = sum(move.weight for move in everywhere if not move.is_look)
    whole = sum(move.weight for run in runs for move in run.moves) / len(runs)
    return shared >= _SAYS_ENOUGH and shared >= _COMMON * whole


def _varying(column: MoveColumn, runs: Sequence[_Run]) -> Iterator[VaryingField]:
    first = column.first
    for name in _field_names(column):
        target = _typed_into(column, runs)
        values = {at: column.members[at].fields.get(name, "") for at in sorted(column.members)}
        if is_secret_target(target):
            # Whatever kind of element it says it is: of a secret field nothing is shown.
            values = dict.fromkeys(values, HIDDEN)
        source = ValueSource(
            deed=first.shape.deed, field=name, name=first.shape.name, target=target
        )
        yield VaryingField(values=values, source=source)


def _field_names(column: MoveColumn) -> list[str]:
    names = (name for at in sorted(column.members) for name in column.members[at].fields)
    return list(dict.fromkeys(names))


def _typed_into(column: MoveColumn, runs: Sequence[_Run]) -> UiTarget | None:
    """Return the element that is typed into; where the step does not know, the tap before does."""
    if column.first.shape.deed is not Deed.TYPE:
        return None
    found = []
    for at in sorted(column.members):
        move, moves = column.members[at], runs[at].moves
        before = next(place for place, one in enumerate(moves) if one is move)
        near = (one.target for one in (move, *reversed(moves[:before])) if one.target)
        found += list(near)[:1]
    return find_field(found)


def _step(
    column: MoveColumn, texts: Iterator[tuple[str, Mapping[int, str]]], of: int
) -> tuple[AlignedStep, Mapping[int, str]]:
    """Return a step, and how single runs took it otherwise; where several did, the step says so."""
    laid = {name: next(texts) for name in _field_names(column)}
    said = {name: text for name, (text, _) in laid.items() if text}
    move, seen = column.first, len(column.members)
    order = write_order(move, said)
    command = said.get("command", "") if move.shape.deed is Deed.SHELL else ""
    script = find_script(command)
    apart = laid["command"][1] if "command" in laid and not move.is_look else {}
    counts = Counter(apart.values())
    others = [text for text, count in counts.most_common(_MOST_WAYS) if count >= _FEWEST]
    ways = "".join(
        f" Or, as {counts[text]} of {of} runs did: {write_order(move, {'command': text}).text}"
        for text in others
    )
    used = _NAME.findall(" ".join((*said.values(), *others)))
    step = AlignedStep(
        text=order.text + ("" if order.block else ways),
        block=order.block,
        seen_in=seen,
        optional=seen < of,
        usual=seen >= _USUAL * of and not move.is_look,
        parameters=tuple(dict.fromkeys(used)),
        kind=" ".join(filter(None, (move.shape.deed.value, move.shape.name, move.shape.ending))),
        programs=find_programs(command),
        script="" if _NAME.search(script) else script,
        weight=move.weight,
        modes=_usual_modes(column),
    )
    shown = {} if order.block else {at: text for at, text in apart.items() if counts[text] == 1}
    return step, {at: write_order(move, {"command": text}).text for at, text in shown.items()}


def _usual_modes(column: MoveColumn) -> tuple[str, ...]:
    given: Counter[str] = Counter()
    for move in column.members.values():
        command, label = move.fields.get("command", ""), move.fields.get("element", "")
        given.update({*find_options(command), *find_modes(command), one_line(label)})
    return _of_most(given, len(column.members))


def _undone(runs: Sequence[_Run]) -> frozenset[str]:
    counts = Counter(word for run in runs for word in find_undone(mask_task(run.task)))
    return frozenset(_of_most(counts, len(runs)))


def _of_most(counts: Counter[str], of: int) -> tuple[str, ...]:
    return tuple(sorted(word for word, count in counts.items() if word and count >= MOST * of))


def _used(parameters: Sequence[Parameter], steps: Sequence[AlignedStep]) -> tuple[Parameter, ...]:
    """Return the parameters that a step uses, and those that they follow from."""
    names = {name for step in steps for name in step.parameters}
    names |= {one.derived_from for one in parameters if one.name in names}
    return tuple(one for one in parameters if one.name in names)


def _done(run: _Run) -> str:
    return "\n".join(text for move in run.moves for text in move.fields.values())


def _shared_words(runs: Sequence[_Run], done: Sequence[str]) -> frozenset[str]:
    asked = Counter(word for run in runs for word in find_goal_words(run.task))
    shared = frozenset(word for word, count in asked.items() if 2 * count >= len(runs))
    return shared - find_stems(" ".join(done)) or shared


def _by_goal(runs: Sequence[_Run]) -> list[int]:
    """Return the places of the traces, the one with the most usual words for the task first."""
    masked = [mask_task(run.task) for run in runs]
    counts = Counter(masked)
    near = [sum(compare_words(one, other) for other in masked) for one in masked]

    def rank(at: int) -> tuple[int, float, int, str]:
        return -counts[masked[at]], -round(near[at], 6), len(masked[at]), runs[at].task

    return sorted(range(len(runs)), key=rank)


def _goal(text: str, runs: Sequence[_Run]) -> str:
    """Return a task without the values that are no parameter and stand in this one alone."""
    parts, at = [], 0
    for value in find_values(text):
        if _NAME.search(value.text) or all(value.text in run.task for run in runs):
            continue
        kind = GAP if value.kind in (ValueKind.TEXT, ValueKind.QUOTED) else value.kind.value
        parts += [text[at : value.start], kind]
        at = value.end
    return one_line("".join([*parts, text[at:]]))


def _detours(columns: Sequence[MoveColumn], found: Parametrized) -> Iterator[Detour]:
    told = [
        Detour(trace=at, text=_told(move, at, found))
        for column in columns
        for at, move in sorted(column.members.items())
    ]
    yield from sorted(told, key=lambda one: one.trace)[:_MOST_DETOURS]


def _told(move: Move, trace: int, found: Parametrized) -> str:
    texts = {name: found.told(trace, text) for name, text in move.fields.items()}
    order = write_order(move, texts)
    return order.text.rstrip(":") + ("" if not order.block else " a longer text.")


def _pitfalls(runs: Sequence[_Run], found: Parametrized) -> Iterator[Pitfall]:
    """Yield what went wrong, what most traces met first."""
    met: dict[str, list[tuple[int, FailedMove]]] = {}
    for at, run in enumerate(runs):
        for failure in find_failures(run.shown):
            met.setdefault(_kind_of_failure(failure), []).append((at, failure))
    counted = sorted(met.items(), key=lambda pair: (-len({at for at, _ in pair[1]}), pair[0]))
    for _, cases in counted[:_MOST_PITFALLS]:
        at, failure = cases[0]
        remedy = _told(failure.remedy, at, found) if failure.remedy else ""
        text = _told(failure.move, at, found)
        yield Pitfall(
            text=text,
            said=one_line(found.told(at, _last_line(failure.said))),
            seen_in=len({one for one, _ in cases}),
            remedy=remedy if remedy != text else "",
        )


def _kind_of_failure(failure: FailedMove) -> str:
    shape = failure.move.shape
    said = re.sub(r"[\W\d]+", " ", _last_line(failure.said))[:60]
    return f"{shape.deed.value} {shape.name} {said}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [
        line for line in lines if re.search(r"(?i)error|fail|not found|denied|no such", line)
    ]
    return (telling or lines or [""])[-1]
