"""What of a trace nobody may read again: credentials, and what was typed into a password's field.

`without_secrets` is the one to ask first. The step that types seldom knows its field: the tap
before it does, so only the whole trace tells. What it takes out is gone from every text of the
trace, also where a thought or a result repeats it. In its place stands `HIDDEN` (or stars, for a
credential in the middle of a text), by which `is_secret_step` knows the step again.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from prowess.learning.credentials import STARS, masked
from prowess.learning.deeds import Deed, deed_of
from prowess.learning.secret_fields import (
    VALUE_NAMES,
    is_beside_secret,
    is_secret_target,
    is_secret_value,
    means_secret,
    names_secret,
    names_secret_field,
    takes_secret_focus,
)
from prowess.learning.traces import Action, Json, Step, Trace, UiTarget

HIDDEN = "<hidden>"

_QUESTION_NAMES = frozenset(("question", "instruction", "prompt", "capability", "placeholder"))
# Keys that leave the field in which one types: tab, enter, back, home.
_LEAVING = re.compile(r"(?i)(?:keycode_)?(?:tab|enter|back|home|61|66|4|3)\Z")
# The device's own way to type, as a command.
_INPUT_TEXT = re.compile(r"(?P<before>\binput\s+(?:[a-z]+\s+)?text\s+)(?P<typed>[^;&|\n]+)")
# A shorter text is too common to be looked for elsewhere, a longer one is found in any text.
_SHORTEST_ECHO, _LONG_ECHO = 3, 6
_MOST_DEPTH, _MOST_PASSES = 40, 5
# What puts a text into a field, as far as it can be told from the name of the action.
_FILLING = (Deed.TYPE, Deed.TOOL)

Change = Callable[[str], str]


class _Hidden(NamedTuple):
    """A step without what it typed in secret, and what that was."""

    step: Step
    texts: tuple[str, ...]


def is_secret_step(step: Step) -> bool:
    """Return whether a step types or sends what must not be shown, as far as it tells by itself.

    Ask for a step of `without_secrets`: there it also knows the field from the steps before.
    """
    _, texts = _hide(step, is_secret=is_secret_target(step.target))
    _, typed = _hide(step, is_secret=True)
    return bool(texts) or any(_shows_secret(text) for text in typed)


def without_secrets(trace: Trace) -> Trace:
    """Return the trace without credentials and without what was typed into secret fields."""
    # Most texts are the same in every pass, and in many steps.
    mask = cache(masked)
    for _ in range(_MOST_PASSES):
        found = _pass(trace, mask)
        if found == trace:
            break
        # What stands in the place of a secret can make a secret of what is beside it.
        trace = found
    return trace


def _pass(trace: Trace, mask: Change) -> Trace:
    found = tuple(_hidden_steps(trace.steps))
    echoes = _pattern(text for one in found for text in one.texts)

    def clean(text: str) -> str:
        return mask(echoes.sub(HIDDEN, text) if echoes else text)

    return replace(
        trace,
        task=clean(trace.task),
        session_path=clean(trace.session_path),
        final_message=clean(trace.final_message),
        session_id=mask(trace.session_id),
        folder=clean(trace.folder),
        problem=clean(trace.problem),
        steps=tuple(_clean_step(one.step, clean) for one in found),
    )


def _hidden_steps(steps: Sequence[Step]) -> Iterator[_Hidden]:
    focus = False
    for step in steps:
        focus = _focus_after(step, had=focus)
        yield _hide(step, is_secret=_is_secret(step, focus=focus))


def _is_secret(step: Step, *, focus: bool) -> bool:
    if is_secret_target(step.target) or is_secret_step(step):
        return True
    is_named = step.target is not None and step.target.is_known
    return not is_named and (focus or means_secret(step.thought))


def _focus_after(step: Step, *, had: bool) -> bool:
    """Return whether a secret field has the focus once a step is done."""
    deed = deed_of(step.action, on_device=True)
    if deed is Deed.GESTURE:
        if step.target is not None and step.target.is_known:
            return takes_secret_focus(step.target, had=had)
        return names_secret(step.thought) and not is_beside_secret(step.thought)
    if deed is Deed.KEY:
        code = step.action.fields.get("keycode", step.action.fields.get("key", ""))
        return had and not _LEAVING.match(str(code))
    return had and deed not in (Deed.LAUNCH, Deed.FINISH)


def _hide(step: Step, *, is_secret: bool) -> _Hidden:
    """Take out what a step puts into a secret field; `is_secret` says that its field is one."""
    taken: list[str] = []
    fields = _without(step.action.kind, step.action.fields, taken, is_secret=is_secret)
    hidden = replace(step, action=Action(step.action.kind, fields))
    if step.result and _asks_secret(step.action):
        # How a harness words an answer: `User input: 1234`.
        answer = step.result.rpartition(":")[2].strip()
        taken.extend((answer,) if answer and not re.search(r"\s", answer) else ())
        hidden = replace(hidden, result=HIDDEN)
    return _Hidden(hidden, tuple(taken))


def _without(
    kind: str, fields: Mapping[str, Json], taken: list[str], *, is_secret: bool, depth: int = 0
) -> dict[str, Json]:
    deed = deed_of(Action(kind, {}), on_device=True)
    fills = (is_secret and deed in _FILLING) or names_secret_field(fields)

    def changed(name: str, value: Json) -> Json:
        if isinstance(value, (Mapping, list, tuple)):
            return _inner(value, taken, is_secret=is_secret, depth=depth + 1)
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            return value
        if (fills and name in VALUE_NAMES) or is_secret_value(name, str(value)):
            taken.append(str(value))
            return HIDDEN
        return _command(value, taken) if is_secret and isinstance(value, str) else value

    return {name: changed(name, value) for name, value in fields.items()}


def _inner(value: Json, taken: list[str], *, is_secret: bool, depth: int) -> Json:
    """Do the same to what is nested; actions in a row know the field from those before them."""
    if depth > _MOST_DEPTH:
        return HIDDEN
    if isinstance(value, Mapping):
        kind = str(value.get("type", ""))
        return _without(kind, value, taken, is_secret=is_secret, depth=depth)
    if isinstance(value, str) or not isinstance(value, Sequence):
        return value
    inner: list[Json] = []
    for one in value:
        inner.append(_inner(one, taken, is_secret=is_secret, depth=depth + 1))
        is_secret = is_secret or (isinstance(one, Mapping) and _touches_secret(one))
    return inner


def _touches_secret(fields: Mapping[str, Json]) -> bool:
    deed = deed_of(Action(str(fields.get("type", "")), {}), on_device=True)
    named = (value for value in fields.values() if isinstance(value, str))
    return deed is Deed.GESTURE and any(names_secret(text) for text in named)


def _command(text: str, taken: list[str]) -> str:
    """Take what a command types out of it; quoted, since what stands for it must be one word."""

    def hide(hit: re.Match[str]) -> str:
        taken.append(hit["typed"].strip().strip("'\""))
        return f"{hit['before']}'{HIDDEN}'"

    return _INPUT_TEXT.sub(hide, text)


def _asks_secret(action: Action) -> bool:
    asks = deed_of(action, on_device=True) is Deed.ASK
    return asks and any(names_secret(text) for text in _questions(action.fields, 0))


def _questions(value: Json, depth: int) -> Iterator[str]:
    if isinstance(value, str) or depth > _MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        yield from (text for name in _QUESTION_NAMES if isinstance(text := value.get(name), str))
        value = tuple(value.values())
    if isinstance(value, Sequence):
        for inner in value:
            yield from _questions(inner, depth + 1)


def _shows_secret(text: str) -> bool:
    return HIDDEN in text or STARS in text or masked(text) != text


def _pattern(texts: Iterable[str]) -> re.Pattern[str] | None:
    """Return what finds these texts elsewhere; short ones only as words of their own."""
    whole = {text.strip() for text in texts} - {HIDDEN, STARS}
    parts = [
        re.escape(text) if len(text) >= _LONG_ECHO else rf"(?<!\w){re.escape(text)}(?!\w)"
        for text in sorted(whole, key=len, reverse=True)
        if len(text) >= _SHORTEST_ECHO
    ]
    return re.compile("|".join(parts)) if parts else None


def _clean_step(step: Step, clean: Change) -> Step:
    return replace(
        step,
        action=Action(step.action.kind, _clean_fields(step.action.fields, clean)),
        result=clean(step.result),
        thought=clean(step.thought),
        app=clean(step.app),
        target=None if step.target is None else _clean_target(step.target, clean),
    )


def _clean_fields(fields: Mapping[str, Json], clean: Change) -> dict[str, Json]:
    def changed(value: Json) -> Json:
        if isinstance(value, str):
            return clean(value)
        if isinstance(value, Mapping):
            return _clean_fields(value, clean)
        return [changed(inner) for inner in value] if isinstance(value, Sequence) else value

    return {masked(name): changed(value) for name, value in fields.items()}


def _clean_target(target: UiTarget, clean: Change) -> UiTarget:
    return replace(
        target,
        element_id=clean(target.element_id),
        label=clean(target.label),
        resource_id=clean(target.resource_id),
        text=clean(target.text),
        content_desc=clean(target.content_desc),
        class_name=clean(target.class_name),
    )
