"""Traces cut to what is compared and shown, with a few letters kept free for marks.

A trace can hold megabytes. What is longer than a screen is never quoted, so of it only the first
line stays, and a hash by which it equals itself alone.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from prowess.learning.traces import Action, Json, Step, Trace, UiTarget

MOST_STEPS, MOST_TEXT, MOST_SAID = 200, 4_000, 600
# Letters that no text of a trace keeps: they stand for what varies, and for a text too long to
# compare.
MARK, MARK_END, TOO_LONG = "\ue000", "\ue001", "\ue002"
_OWN_LETTERS = re.compile(f"[{MARK}-\ue00f]")
_MOST_FIELDS, _DEEPEST, _FIRST_LINE, _ANSWER = 48, 6, 160, 100


def shortened(trace: Trace) -> Trace:
    """Return a trace with no more steps and no longer texts than are compared or shown.

    Of a longer text its first line stays, and a mark by which it equals itself alone.
    """
    steps = trace.steps[:MOST_STEPS]
    return replace(
        trace,
        task=_plain(trace.task),
        session_path=_plain(trace.session_path),
        folder=_plain(trace.folder),
        final_message=_plain(trace.final_message[:MOST_SAID]),
        steps=tuple(_short_step(step) for step in steps),
    )


def bounded(text: str) -> str:
    """Return a text, or of a longer one its first line and a hash."""
    if len(text) <= MOST_TEXT:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{text.split(chr(10), 1)[0][:_FIRST_LINE]} {TOO_LONG}{digest}"


def _short_step(step: Step) -> Step:
    fields = {_plain(name): _short(one) for name, one in _some(step.action)}
    return replace(
        step,
        action=Action(_plain(step.action.kind), fields),
        app=_plain(step.app),
        target=None if step.target is None else _short_target(step.target),
        # Of what went well only an answer can matter, which is short.
        result=_plain(step.result[:MOST_SAID]) if step.failed or len(step.result) < _ANSWER else "",
        thought=_plain(step.thought[:MOST_SAID]),
    )


def _short_target(target: UiTarget) -> UiTarget:
    return replace(
        target,
        element_id=_plain(target.element_id),
        label=bounded(_plain(target.label)),
        resource_id=bounded(_plain(target.resource_id)),
        text=bounded(_plain(target.text)),
        content_desc=bounded(_plain(target.content_desc)),
        class_name=_plain(target.class_name),
    )


def _some(action: Action) -> list[tuple[str, Json]]:
    return list(action.fields.items())[:_MOST_FIELDS]


def _short(value: Json, depth: int = 0) -> Json:
    if isinstance(value, str):
        return bounded(_plain(value))
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        return {_plain(name): _short(inner, depth + 1) for name, inner in value.items()}
    return [_short(inner, depth + 1) for inner in value] if isinstance(value, Sequence) else value


def _plain(text: str) -> str:
    return _OWN_LETTERS.sub("", text)
