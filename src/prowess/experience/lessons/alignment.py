"""Several traces of one goal as one procedure: what all did, what some did, and what varied.

Columns that every trace has are the procedure, those that several have are optional, and what only
one did is a detour. Nothing of it depends on the order of the traces, and no secret of theirs is
in it: what is shown was taken from traces without them.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from prowess.experience.commands import options_of, plain_operands, programs_of, script_of
from prowess.experience.lessons.goal_words import GAP, without_values
from prowess.experience.lessons.goals import goal_words, masked_task, stems_of, words_alike
from prowess.experience.lessons.moves import MOST_MOVES, Failure, Move, failures_of, moves_of
from prowess.experience.lessons.parameter_names import Source
from prowess.experience.lessons.parameters import Parameter, Parametrized, Varying, parametrized
from prowess.experience.lessons.short_traces import shortened
from prowess.experience.lessons.step_columns import Column, columns_of, typical
from prowess.experience.lessons.step_orders import order_of
from prowess.experience.lessons.templates import MOST
from prowess.experience.redaction import HIDDEN, without_secrets
from prowess.experience.secret_fields import is_secret_target
from prowess.experience.typed_fields import target_of
from prowess.experience.value_kinds import Kind, values_in
from prowess.language.opposites import undone_in
from prowess.skills.text import one_line
from prowess.transcripts.deeds import Deed
from prowess.transcripts.traces_part import Trace, UiTarget

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
    columns = columns_of([run.moves for run in runs])
    if not _is_enough(columns, runs):
        return None
    fewest = max(2, math.ceil(_SOME * len(runs)))
    kept = [column for column in columns if len(column.members) >= fewest]
    varying = [one for column in kept for one in _varying(column, runs)]
    found = parametrized([run.task for run in runs], varying)
    texts = iter(zip(found.texts, found.otherwise, strict=True))
    laid = [_step(column, texts, len(runs)) for column in kept]
    steps = tuple(step for step, _ in laid)
    done = [_done(run) for run in runs]
    goals = without_values(found.goals, done)
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
    sequences = [moves_of(trace) for trace in ordered]
    at_best = [at for at in typical(sequences) if sequences[at]]
    runs = []
    for at in sorted(at_best[:MOST_ALIGNED]):
        shown = without_secrets(shortened(ordered[at]))
        runs.append(
            _Run(given=ordered[at], shown=shown, moves=moves_of(shown), task=_asked(shown.task))
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


def _is_enough(columns: Sequence[Column], runs: Sequence[_Run]) -> bool:
    everywhere = [one.first for one in columns if len(one.members) >= _NEARLY_ALL * len(runs)]
    shared = sum(move.weight for move in everywhere if not move.is_look)
    whole = sum(move.weight for run in runs for move in run.moves) / len(runs)
    return shared >= _SAYS_ENOUGH and shared >= _COMMON * whole


def _varying(column: Column, runs: Sequence[_Run]) -> Iterator[Varying]:
    first = column.first
    for name in _field_names(column):
        target = _typed_into(column, runs)
        values = {at: column.members[at].fields.get(name, "") for at in sorted(column.members)}
        if is_secret_target(target):
            # Whatever kind of element it says it is: of a secret field nothing is shown.
            values = dict.fromkeys(values, HIDDEN)
        source = Source(deed=first.shape.deed, field=name, name=first.shape.name, target=target)
        yield Varying(values=values, source=source)


def _field_names(column: Column) -> list[str]:
    names = (name for at in sorted(column.members) for name in column.members[at].fields)
    return list(dict.fromkeys(names))


def _typed_into(column: Column, runs: Sequence[_Run]) -> UiTarget | None:
    """Return the element that is typed into; where the step does not know, the tap before does."""
    if column.first.shape.deed is not Deed.TYPE:
        return None
    found = []
    for at in sorted(column.members):
        move, moves = column.members[at], runs[at].moves
        before = next(place for place, one in enumerate(moves) if one is move)
        near = (one.target for one in (move, *reversed(moves[:before])) if one.target)
        found += list(near)[:1]
    return target_of(found)


def _step(
    column: Column, texts: Iterator[tuple[str, Mapping[int, str]]], of: int
) -> tuple[AlignedStep, Mapping[int, str]]:
    """Return a step, and how single runs took it otherwise; where several did, the step says so."""
    laid = {name: next(texts) for name in _field_names(column)}
    said = {name: text for name, (text, _) in laid.items() if text}
    move, seen = column.first, len(column.members)
    order = order_of(move, said)
    command = said.get("command", "") if move.shape.deed is Deed.SHELL else ""
    script = script_of(command)
    apart = laid["command"][1] if "command" in laid and not move.is_look else {}
    counts = Counter(apart.values())
    others = [text for text, count in counts.most_common(_MOST_WAYS) if count >= _FEWEST]
    ways = "".join(
        f" Or, as {counts[text]} of {of} runs did: {order_of(move, {'command': text}).text}"
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
        programs=programs_of(command),
        script="" if _NAME.search(script) else script,
        weight=move.weight,
        modes=_usual_modes(column),
    )
    shown = {} if order.block else {at: text for at, text in apart.items() if counts[text] == 1}
    return step, {at: order_of(move, {"command": text}).text for at, text in shown.items()}


def _usual_modes(column: Column) -> tuple[str, ...]:
    given: Counter[str] = Counter()
    for move in column.members.values():
        command, label = move.fields.get("command", ""), move.fields.get("element", "")
        given.update({*options_of(command), *plain_operands(command), one_line(label)})
    return _of_most(given, len(column.members))


def _undone(runs: Sequence[_Run]) -> frozenset[str]:
    counts = Counter(word for run in runs for word in undone_in(masked_task(run.task)))
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
    asked = Counter(word for run in runs for word in goal_words(run.task))
    shared = frozenset(word for word, count in asked.items() if 2 * count >= len(runs))
    return shared - stems_of(" ".join(done)) or shared


def _by_goal(runs: Sequence[_Run]) -> list[int]:
    """Return the places of the traces, the one with the most usual words for the task first."""
    masked = [masked_task(run.task) for run in runs]
    counts = Counter(masked)
    near = [sum(words_alike(one, other) for other in masked) for one in masked]

    def rank(at: int) -> tuple[int, float, int, str]:
        return -counts[masked[at]], -round(near[at], 6), len(masked[at]), runs[at].task

    return sorted(range(len(runs)), key=rank)


def _goal(text: str, runs: Sequence[_Run]) -> str:
    """Return a task without the values that are no parameter and stand in this one alone."""
    parts, at = [], 0
    for value in values_in(text):
        if _NAME.search(value.text) or all(value.text in run.task for run in runs):
            continue
        kind = GAP if value.kind in (Kind.TEXT, Kind.QUOTED) else value.kind.value
        parts += [text[at : value.start], kind]
        at = value.end
    return one_line("".join([*parts, text[at:]]))


def _detours(columns: Sequence[Column], found: Parametrized) -> Iterator[Detour]:
    told = [
        Detour(trace=at, text=_told(move, at, found))
        for column in columns
        for at, move in sorted(column.members.items())
    ]
    yield from sorted(told, key=lambda one: one.trace)[:_MOST_DETOURS]


def _told(move: Move, trace: int, found: Parametrized) -> str:
    texts = {name: found.told(trace, text) for name, text in move.fields.items()}
    order = order_of(move, texts)
    return order.text.rstrip(":") + ("" if not order.block else " a longer text.")


def _pitfalls(runs: Sequence[_Run], found: Parametrized) -> Iterator[Pitfall]:
    """Yield what went wrong, what most traces met first."""
    met: dict[str, list[tuple[int, Failure]]] = {}
    for at, run in enumerate(runs):
        for failure in failures_of(run.shown):
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


def _kind_of_failure(failure: Failure) -> str:
    shape = failure.move.shape
    said = re.sub(r"[\W\d]+", " ", _last_line(failure.said))[:60]
    return f"{shape.deed.value} {shape.name} {said}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [
        line for line in lines if re.search(r"(?i)error|fail|not found|denied|no such", line)
    ]
    return (telling or lines or [""])[-1]
