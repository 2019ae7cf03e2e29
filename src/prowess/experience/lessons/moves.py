"""The steps of a trace as moves that can be compared: what kind each is, and what may vary in it.

A move is one step, one of the commands that a step chains, or one action of a batch. What failed,
what only keeps a list of things to do, and the end itself are no moves. Texts are bounded and paths
are told from the folder of the work, so that two runs in two folders say the same. Of a text that
is longer than a screen only the first line stays, and a hash by which it equals itself alone. Ask
with a trace of `without_secrets` where anything of a move will be shown.

Of several traces the most typical is laid out first and the others are laid against it, the nearest
first. What is equal is decided by the kind of a move; its values only decide between several that
could be meant.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from prowess.data import read_word_group
from prowess.experience.commands import read_ending, split_line, summarize_command
from prowess.transcripts.traces import (
    TOOLS,
    Deed,
    Json,
    Trace,
    TraceAction,
    TraceStep,
    UiTarget,
    find_command,
    find_deed,
    find_path,
)

MOST_STEPS, MOST_TEXT, MOST_SAID = 200, 4_000, 600
# Letters that no text of a trace keeps: they stand for what varies, and for a text too long to
# compare.
MARK, MARK_END, TOO_LONG = "\ue000", "\ue001", "\ue002"
_OWN_LETTERS = re.compile(f"[{MARK}-\ue00f]")
_MOST_FIELDS, _DEEPEST, _FIRST_LINE, _ANSWER = 48, 2, 160, 100
# What of a field with fields in it, and of a row of them, can become a part of a move.
_MOST_INNER, _MOST_IN_ROW, _MOST_WORDS = 24, 20, 1_000
# Steps behind so much of everything are left out: each text is looked through for secrets.
_MOST_VALUES, _MOST_LETTERS = 2_000, 200_000


def shorten_trace(trace: Trace) -> Trace:
    """Return a trace with no more steps and no longer texts than are compared or shown.

    Of a longer text its first line stays, and a mark by which it equals itself alone.
    """
    return replace(
        trace,
        task=_clean(trace.task),
        session_path=_clean(trace.session_path),
        folder=_clean(trace.folder),
        final_message=_clean(trace.final_message[:MOST_SAID]),
        steps=tuple(_shorten_steps(trace.steps[:MOST_STEPS])),
    )


def bound_text(text: str) -> str:
    """Return a text, or of a longer one its first line and a hash."""
    if len(text) <= MOST_TEXT:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{text.split(chr(10), 1)[0][:_FIRST_LINE]} {TOO_LONG}{digest}"


def _shorten_steps(steps: Iterable[TraceStep]) -> Iterator[TraceStep]:
    values = letters = 0
    for step in steps:
        short = _shorten_step(step)
        texts = [short.result, short.thought, *_texts(short.action.fields)]
        values, letters = values + len(texts), letters + sum(map(len, texts))
        if values > _MOST_VALUES or letters > _MOST_LETTERS:
            return
        yield short


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield name
            yield from _texts(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner)


def _shorten_step(step: TraceStep) -> TraceStep:
    fields = {_clean(name): _shorten(one) for name, one in _some(step.action)}
    return replace(
        step,
        action=TraceAction(_clean(step.action.kind), fields),
        app=_clean(step.app),
        target=None if step.target is None else _shorten_target(step.target),
        # Of what went well only an answer can matter, which is short.
        result=_clean(step.result[:MOST_SAID]) if step.failed or len(step.result) < _ANSWER else "",
        thought=_clean(step.thought[:MOST_SAID]),
    )


def _shorten_target(target: UiTarget) -> UiTarget:
    return target.change_texts(lambda text: bound_text(_clean(text)))


def _some(action: TraceAction) -> list[tuple[str, Json]]:
    return list(action.fields.items())[:_MOST_FIELDS]


def _shorten(value: Json, depth: int = 0) -> Json:
    if isinstance(value, str):
        return bound_text(_clean(value))
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        some = sorted(value.items())[:_MOST_INNER]
        return {_clean(name): _shorten(inner, depth + 1) for name, inner in some}
    if not isinstance(value, Sequence):
        return value
    # A command can be given as a row of words, and has more of them than a batch has actions.
    most = _MOST_IN_ROW if any(isinstance(one, Mapping) for one in value) else _MOST_WORDS
    return [_shorten(inner, depth + 1) for inner in value[:most]]


def _clean(text: str) -> str:
    return _OWN_LETTERS.sub("", text)


# Of a longer task only its beginning is compared.
MOST_MOVES = 100
_HOME = re.compile(r"(?<![\w./~-])(?:/home/[\w.-]{1,64}|/Users/[\w.-]{1,64}|/root)(?=/|(?![\w.-]))")
_DATA_HOME = re.compile(r"(?i)(?<![\w./~-])[A-Z]:\\Users\\[\w.-]{1,64}(?=\\)")
_MOST_SCALARS, _MOST_BATCH = 12, 20

_WEIGHTS: Mapping[Deed, float] = MappingProxyType(
    {
        Deed.GESTURE: 1.0, Deed.TYPE: 0.5, Deed.KEY: 0.3, Deed.LAUNCH: 1.0, Deed.WAIT: 0.05,
        Deed.BATCH: 0.5, Deed.DEVICE_SHELL: 1.0, Deed.SHELL: 1.0, Deed.SCRIPT: 0.5, Deed.READ: 0.3,
        Deed.WRITE: 0.5, Deed.EDIT: 0.5, Deed.PATCH: 0.5, Deed.ASK: 0.5, Deed.TOOL: 1.0,
    }
)  # fmt: skip
_UNKNOWN_PLACE, _LOOK = 0.3, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveShape:
    """What kind of move it is, whatever its values are."""

    deed: Deed
    # Program and mode, tool, element or app.
    name: str = ""
    # The ending of the file that it is about.
    ending: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One thing that was done, ready to be compared with the same thing in another trace."""

    shape: MoveShape
    number: int
    # What may vary, by name.
    fields: Mapping[str, str] = field(default_factory=dict)
    # How much it says about the task, from 0 to 1.
    weight: float = 1.0
    is_look: bool = False
    app: str = ""
    target: UiTarget | None = None
    # Where on the screen, where no element is known.
    place: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", MappingProxyType(dict(self.fields)))


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedMove:
    """A move that went wrong, what was said of it, and the same kind of move that worked."""

    move: Move
    said: str
    remedy: Move | None = None


class _Place(NamedTuple):
    """Where a trace happened, as far as its texts depend on it."""

    on_device: bool
    folder: str
    # What stands before every path below that folder.
    before: re.Pattern[str] | None

    @classmethod
    def of(cls, trace: Trace) -> "_Place":
        folder = trace.folder.rstrip("/")
        is_deep = folder.count("/") > 1
        before = re.compile(rf"(?<![\w./~-]){re.escape(folder)}/(?=[\w.])") if is_deep else None
        return cls(trace.is_on_device, folder, before)

    def told(self, text: str) -> str:
        """Return a text with paths told from the folder of the work, or from the home."""
        text = self.before.sub("", text) if self.before and self.folder in text else text
        # Most texts name no home: to look for one is quicker than for what may stand before it.
        if "/home/" in text or "/Users/" in text or "/root" in text:
            text = _HOME.sub("~", text)
        return _DATA_HOME.sub("~", text) if ":\\" in text else text


def find_moves(trace: Trace) -> tuple[Move, ...]:
    """Return the moves of a trace that worked, the first hundred; doubles in a row are one."""
    kept: list[Move] = []
    place = _Place.of(trace)
    for step in trace.steps:
        if step.failed:
            continue
        for move in _moves(step, place):
            if not (kept and _is_again(kept[-1], move)):
                kept.append(move)
        if len(kept) >= MOST_MOVES:
            break
    return tuple(kept[:MOST_MOVES])


def find_failures(trace: Trace) -> tuple[FailedMove, ...]:
    """Return the moves of a trace that went wrong, each with what worked instead."""
    found: list[FailedMove] = []
    place = _Place.of(trace)
    for at, step in enumerate(trace.steps[: 2 * MOST_MOVES]):
        if not step.failed:
            continue
        for move in list(_moves(step, place))[-1:]:
            remedy = _remedy(move, trace.steps[at + 1 : at + 6], place)
            found.append(FailedMove(move=move, said=step.result[:MOST_SAID], remedy=remedy))
    return tuple(found)


def _remedy(failed: Move, later: Sequence[TraceStep], place: _Place) -> Move | None:
    """Return what worked instead; where the same worked later, what was done in between."""
    worked = [move for step in later if not step.failed for move in _moves(step, place)]
    for move in worked:
        if move.shape == failed.shape:
            return worked[0] if move.fields == failed.fields else move
    return None


def _is_again(last: Move, move: Move) -> bool:
    """Return whether a move repeats the one before it to no effect."""
    is_idle = move.is_look or move.shape.deed in (Deed.READ, Deed.WAIT)
    same = last.shape == move.shape
    return is_idle and same and (last.fields == move.fields or move.shape.deed is Deed.WAIT)


def _moves(step: TraceStep, place: _Place) -> Iterator[Move]:
    deed = find_deed(step.action, on_device=place.on_device)
    if deed is Deed.FINISH or step.action.kind.casefold() in read_word_group(TOOLS, "no_moves"):
        return
    if deed is Deed.BATCH and (inner := _open_batch(step)):
        for one in inner:
            yield from _moves(one, place)
        return
    if deed in (Deed.SHELL, Deed.DEVICE_SHELL) and (command := find_command(step.action)):
        yield from _commands(deed, step, place.told(command), place)
        return
    yield _move(deed, step, place)


def _open_batch(step: TraceStep) -> list[TraceStep]:
    actions = step.action.fields.get("actions")
    if not isinstance(actions, Sequence) or isinstance(actions, str):
        return []
    inner = [one for one in actions[:_MOST_BATCH] if isinstance(one, Mapping)]
    return [
        replace(step, action=TraceAction(str(one.get("type", "")), one), target=None)
        for one in inner
        if one.get("type") != "batch_actions"
    ]


def _commands(deed: Deed, step: TraceStep, command: str, place: _Place) -> Iterator[Move]:
    for part in split_line(command):
        heart = summarize_command(part)
        if heart.name == "cd" and _is_own_folder(part, place):
            continue
        yield Move(
            shape=MoveShape(deed=deed, name=heart.name),
            number=step.number,
            fields={"command": bound_text(part)},
            weight=heart.weight,
            is_look=heart.is_look,
            app=step.app,
        )


def _is_own_folder(part: str, place: _Place) -> bool:
    named = part[2:].strip().strip("\"'").rstrip("/")
    return named in {"", ".", place.folder, _HOME.sub("~", place.folder)}


def _move(deed: Deed, step: TraceStep, place: _Place) -> Move:
    kind = step.action.kind.casefold()
    path = place.told(find_path(step.action))
    is_look = deed is Deed.WAIT or kind in read_word_group(TOOLS, "looks")
    weight = _LOOK if kind in read_word_group(TOOLS, "looks") else _WEIGHTS.get(deed, 1.0)
    if deed is Deed.GESTURE and not (step.target and step.target.is_known):
        weight = _UNKNOWN_PLACE
    return Move(
        shape=MoveShape(deed=deed, name=_name(deed, step), ending=read_ending(path)),
        number=step.number,
        fields=_fields(deed, step, path, place),
        weight=weight,
        is_look=is_look,
        app=step.app,
        target=step.target,
        place=_place(step) if deed is Deed.GESTURE else "",
    )


def _place(step: TraceStep) -> str:
    x, y = step.action.fields.get("x"), step.action.fields.get("y")
    is_place = isinstance(x, int | float) and isinstance(y, int | float)
    return f"({x:g}, {y:g})" if is_place else ""


def _name(deed: Deed, step: TraceStep) -> str:
    action = step.action
    if deed is Deed.GESTURE:
        return f"{_gesture(action)} {name_element(step.target)}".strip()
    if deed is Deed.LAUNCH:
        return action.text("packageName", "package", "app", "appName")
    if deed is Deed.KEY:
        return str(action.fields.get("keycode", action.fields.get("key", "")))
    if deed is Deed.ASK:
        return action.text("capability")
    return action.kind.casefold() if deed is Deed.TOOL else ""


def _gesture(action: TraceAction) -> str:
    kind = action.kind.casefold()
    if kind != "swipe":
        return "tap" if kind == "tap_element" else kind
    across = action.number("x2") - action.number("x1")
    down = action.number("y2") - action.number("y1")
    if abs(across) > abs(down):
        return "swipe right" if across > 0 else "swipe left"
    return "swipe down" if down > 0 else "swipe up"


def name_element(target: UiTarget | None) -> str:
    """Return by what an element is known again: its id's last part, else what it says."""
    if target is None:
        return ""
    tail = target.resource_id.rsplit("/", 1)[-1]
    return tail or target.content_desc or target.text


def _fields(deed: Deed, step: TraceStep, path: str, place: _Place) -> dict[str, str]:
    action = step.action
    if deed is Deed.GESTURE:
        target = step.target
        said = (target.text or target.content_desc) if target else ""
        return {"element": bound_text(said)} if said else {}
    named: dict[str, str] = {}
    if deed is Deed.TYPE:
        named = {"text": action.text("text")}
    elif deed is Deed.READ:
        named = {"path": path}
    elif deed is Deed.WRITE:
        named = {"path": path, "content": action.text("content", "text", "file_text")}
    elif deed is Deed.EDIT:
        old = action.text("old_string", "old_str", "old", "search")
        new = action.text("new_string", "new_str", "new", "replace")
        named = {"path": path, "old": old, "new": new}
    elif deed in (Deed.PATCH, Deed.SCRIPT):
        named = {"content": action.text("input", "patch", "script") or find_command(action)}
    elif deed in (Deed.TOOL, Deed.ASK):
        named = dict(_scalars(action.fields))
    return {name: bound_text(place.told(text)) for name, text in named.items() if text}


def _scalars(fields: Mapping[str, Json], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in sorted(fields.items())[:_MOST_SCALARS]:
        if isinstance(value, Mapping) and not before:
            yield from _scalars(value, f"{name}.")
        elif isinstance(value, str) or (isinstance(value, int | float) and value is not True):
            yield before + name, str(value)
        elif isinstance(value, Sequence) and value and all(isinstance(one, str) for one in value):
            yield before + name, ", ".join(map(str, value))


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
    numbers: dict[MoveShape, int] = {}
    words = {
        id(move): (numbers.setdefault(move.shape, len(numbers)), _words(move))
        for moves in sequences
        for move in moves
    }
    columns: list[MoveColumn] = []
    for trace in sort_by_typical(sequences):
        columns = _with(columns, trace, sequences[trace], words)
    return tuple(_gather(columns, words))


def sort_by_typical(sequences: Sequence[Sequence[Move]]) -> list[int]:
    """Return the places of the sequences, the most typical first, then by nearness to it."""
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
    matched = _match([column.first for column in columns], moves, words)
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


def _match(left: Sequence[Move], right: Sequence[Move], words: _Words) -> list[tuple[int, int]]:
    """Return which moves belong together, in order, so that the most is matched."""
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    worth = _worths(left, right, words)
    for row in range(len(left) - 1, -1, -1):
        below, here, gains = best[row + 1], best[row], worth[row]
        for at in range(len(right) - 1, -1, -1):
            skipped = max(below[at], here[at + 1])
            here[at] = max(skipped, below[at + 1] + gains[at]) if gains[at] else skipped
    return _walk_back(best, worth)


def _walk_back(
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


def _gather(columns: list[MoveColumn], words: _Words) -> list[MoveColumn]:
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
