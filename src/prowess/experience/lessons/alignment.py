"""Several traces of one goal as one procedure: what all did, what some did, and what varied.

Columns of moves that every trace has are the procedure, those that several have are optional, and
what only one did is a detour. Nothing of it depends on the order of the traces, and no secret of
theirs is in it.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from prowess.experience.commands import (
    ValueKind,
    find_modes,
    find_options,
    find_programs,
    find_script,
    find_values,
)
from prowess.experience.fields import find_field, is_secret_target
from prowess.experience.lessons.goals import compare_words, find_goal_words, find_stems, mask_task
from prowess.experience.lessons.moves import (
    MOST_MOVES,
    FailedMove,
    Move,
    MoveColumn,
    find_failures,
    find_moves,
    lay_out_moves,
    shorten_trace,
    sort_by_typical,
)
from prowess.experience.lessons.parameter_names import ValueSource
from prowess.experience.lessons.parameters import (
    Parameter,
    Parametrized,
    VaryingField,
    find_parameters,
)
from prowess.experience.lessons.templates import MOST
from prowess.experience.lessons.wording import GAP, remove_values, write_order
from prowess.experience.redaction import (
    HIDDEN,
    SecretEchoes,
    find_private,
    hide_accounts,
    remove_secrets,
)
from prowess.language.opposites import find_undone
from prowess.skills.text import one_line
from prowess.transcripts.traces import Deed, Trace, UiTarget

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
    # How it was asked for in the other runs.
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
    varying = [one for column in kept for one in _find_varying(column, runs)]
    found = find_parameters([run.task for run in runs], varying)
    texts = iter(zip(found.texts, found.otherwise, strict=True))
    laid = [_step(column, texts, len(runs)) for column in kept]
    done = [_join_deeds(run) for run in runs]
    hide = _Private(runs)
    goals = [hide(goal) for goal in remove_values(found.goals, done)]
    steps = tuple(hide.step(step) for step, _ in laid)
    best, *others = _by_goal(runs)
    goal = _goal(goals[best], runs)
    rare = [column for column in columns if len(column.members) < fewest]
    return Aligned(
        goal=goal,
        phrases=tuple(_goal(goals[at], runs) for at in others),
        steps=steps,
        parameters=tuple(map(hide.parameter, _pick(found.parameters, steps))),
        detours=tuple(replace(one, text=hide(one.text)) for one in _detours(rare, found)),
        pitfalls=tuple(hide.pitfall(one) for one in _pitfalls(runs, found)),
        outcome=hide(one_line(found.told(best, runs[best].shown.final_message))),
        traces=tuple(run.given for run in runs),
        tasks=tuple(hide(one_line(run.shown.task)) for run in runs),
        sessions=tuple(hide(one_line(run.shown.session_path)) for run in runs),
        goal_words=_find_shared_words(runs, done),
        otherwise=tuple(
            Otherwise(trace=trace, step=at, text=hide(text))
            for at, (_, others) in enumerate(laid)
            for trace, text in sorted(others.items())
        )[:_MOST_DETOURS],
        undone=_find_common_undone(runs),
    )


class _Private:
    """Hides what belongs to people in the texts of a lesson."""

    def __init__(self, runs: Sequence[_Run]) -> None:
        found = dict.fromkeys(one for run in runs for one in find_private(run.shown))
        self._echoes = SecretEchoes.of(found, GAP)

    def __call__(self, text: str) -> str:
        return hide_accounts(self._echoes.hide(text), GAP)

    def step(self, step: AlignedStep) -> AlignedStep:
        return replace(step, text=self(step.text), block=self(step.block))

    def pitfall(self, one: Pitfall) -> Pitfall:
        return replace(one, text=self(one.text), said=self(one.said), remedy=self(one.remedy))

    def parameter(self, one: Parameter) -> Parameter:
        if all(self(example) == example for example in one.examples):
            return one
        return replace(one, examples=(), usual="", about=f"{one.about}; it belongs to a person")


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
            _Run(
                given=ordered[at],
                shown=shown,
                moves=find_moves(shown),
                task=_write_task(shown.task),
            )
        )
    return [run for run in runs if run.moves]


def _key(trace: Trace) -> str:
    """Return what orders traces and tells copies: as their id does, of what is aligned alone."""
    if len(trace.steps) <= MOST_MOVES:
        return trace.id
    return replace(trace, steps=trace.steps[:MOST_MOVES]).id


def _write_task(task: str) -> str:
    """Return a task on one line, in which each line ends as a sentence does."""
    lines = (one_line(line) for line in task.splitlines())
    return re.sub(r"(?<=[^\s\W])\n", ". ", "\n".join(filter(None, lines))).replace("\n", " ")


def _is_enough(columns: Sequence[MoveColumn], runs: Sequence[_Run]) -> bool:
    everywhere = [one.first for one in columns if len(one.members) >= _NEARLY_ALL * len(runs)]
    shared = sum(move.weight for move in everywhere if not move.is_look)
    whole = sum(move.weight for run in runs for move in run.moves) / len(runs)
    return shared >= _SAYS_ENOUGH and shared >= _COMMON * whole


def _find_varying(column: MoveColumn, runs: Sequence[_Run]) -> Iterator[VaryingField]:
    first = column.first
    for name in _field_names(column):
        target = _find_typed_into(column, runs)
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


def _find_typed_into(column: MoveColumn, runs: Sequence[_Run]) -> UiTarget | None:
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
        modes=_find_usual_modes(column),
    )
    shown = {} if order.block else {at: text for at, text in apart.items() if counts[text] == 1}
    return step, {at: write_order(move, {"command": text}).text for at, text in shown.items()}


def _find_usual_modes(column: MoveColumn) -> tuple[str, ...]:
    given: Counter[str] = Counter()
    for move in column.members.values():
        command, label = move.fields.get("command", ""), move.fields.get("element", "")
        given.update({*find_options(command), *find_modes(command), one_line(label)})
    return _of_most(given, len(column.members))


def _find_common_undone(runs: Sequence[_Run]) -> frozenset[str]:
    counts = Counter(word for run in runs for word in find_undone(mask_task(run.task)))
    return frozenset(_of_most(counts, len(runs)))


def _of_most(counts: Counter[str], of: int) -> tuple[str, ...]:
    return tuple(sorted(word for word, count in counts.items() if word and count >= MOST * of))


def _pick(parameters: Sequence[Parameter], steps: Sequence[AlignedStep]) -> tuple[Parameter, ...]:
    """Return the parameters that a step uses, and those that they follow from."""
    names = {name for step in steps for name in step.parameters}
    names |= {one.derived_from for one in parameters if one.name in names}
    return tuple(one for one in parameters if one.name in names)


def _join_deeds(run: _Run) -> str:
    return "\n".join(text for move in run.moves for text in move.fields.values())


def _find_shared_words(runs: Sequence[_Run], done: Sequence[str]) -> frozenset[str]:
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
        kind = value.kind.value if value.kind is ValueKind.FILE else GAP
        parts += [text[at : value.start], kind]
        at = value.end
    return one_line("".join([*parts, text[at:]]))


def _detours(columns: Sequence[MoveColumn], found: Parametrized) -> Iterator[Detour]:
    told = [
        Detour(trace=at, text=_tell(move, at, found))
        for column in columns
        for at, move in sorted(column.members.items())
    ]
    yield from sorted(told, key=lambda one: one.trace)[:_MOST_DETOURS]


def _tell(move: Move, trace: int, found: Parametrized) -> str:
    texts = {name: found.told(trace, text) for name, text in move.fields.items()}
    order = write_order(move, texts)
    return order.text.rstrip(":") + ("" if not order.block else " a longer text.")


def _pitfalls(runs: Sequence[_Run], found: Parametrized) -> Iterator[Pitfall]:
    """Yield what went wrong, what most traces met first."""
    met: dict[str, list[tuple[int, FailedMove]]] = {}
    for at, run in enumerate(runs):
        for failure in find_failures(run.shown):
            said = found.told(at, _find_last_line(failure.said))
            met.setdefault(_kind_of_failure(failure, said), []).append((at, failure))
    counted = sorted(met.items(), key=lambda pair: (-len({at for at, _ in pair[1]}), pair[0]))
    for _, cases in counted[:_MOST_PITFALLS]:
        at, failure = cases[0]
        remedy = _tell(failure.remedy, at, found) if failure.remedy else ""
        text = _tell(failure.move, at, found)
        yield Pitfall(
            text=text,
            said=one_line(found.told(at, _find_last_line(failure.said))),
            seen_in=len({one for one, _ in cases}),
            remedy=remedy if remedy != text else "",
        )


def _kind_of_failure(failure: FailedMove, said: str) -> str:
    """Return by what a failure is known again; `said` has names for the values of its run."""
    shape = failure.move.shape
    words = re.sub(r"[\W\d]+", " ", said)[:60]
    return f"{shape.deed.value} {shape.name} {words}"


def _find_last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [
        line for line in lines if re.search(r"(?i)error|fail|not found|denied|no such", line)
    ]
    return (telling or lines or [""])[-1]
