"""Traces cut to what is compared and shown, with a few letters kept free for marks.

A trace can hold megabytes. What is longer than a screen is never quoted, so of it only the first
line stays, and a hash by which it equals itself alone.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from prowess.transcripts.traces_part import Action, Json, Step, Trace, UiTarget

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


def shortened(trace: Trace) -> Trace:
    """Return a trace with no more steps and no longer texts than are compared or shown.

    Of a longer text its first line stays, and a mark by which it equals itself alone.
    """
    return replace(
        trace,
        task=_plain(trace.task),
        session_path=_plain(trace.session_path),
        folder=_plain(trace.folder),
        final_message=_plain(trace.final_message[:MOST_SAID]),
        steps=tuple(_short_steps(trace.steps[:MOST_STEPS])),
    )


def bounded(text: str) -> str:
    """Return a text, or of a longer one its first line and a hash."""
    if len(text) <= MOST_TEXT:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{text.split(chr(10), 1)[0][:_FIRST_LINE]} {TOO_LONG}{digest}"


def _short_steps(steps: Iterable[Step]) -> Iterator[Step]:
    values = letters = 0
    for step in steps:
        short = _short_step(step)
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
        some = sorted(value.items())[:_MOST_INNER]
        return {_plain(name): _short(inner, depth + 1) for name, inner in some}
    if not isinstance(value, Sequence):
        return value
    # A command can be given as a row of words, and has more of them than a batch has actions.
    most = _MOST_IN_ROW if any(isinstance(one, Mapping) for one in value) else _MOST_WORDS
    return [_short(inner, depth + 1) for inner in value[:most]]


def _plain(text: str) -> str:
    return _OWN_LETTERS.sub("", text)
