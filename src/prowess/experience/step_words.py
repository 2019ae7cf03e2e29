"""One step in a few words: what was done, to what, and what was seen.

Everything here is quoted from a trace, so it comes out on one line and cut (see `plain_words`).
What was typed into a password's field is known only to the whole trace: give `without_secrets`
the trace first, and ask here about the steps of what it returns.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from prowess.experience.plain_words import in_quotes, plain
from prowess.experience.redaction import HIDDEN, is_secret_step
from prowess.transcripts.deeds import Deed, command_of, deed_of, path_of
from prowess.transcripts.traces_part import Action, Step, UiTarget

MOST_TYPED, MOST_COMMAND = 72, 96
MOST_INTENT, MOST_OBSERVED = 160, 180
_MOST_NAME, _MOST_PATH, _MOST_TARGET = 64, 160, 120
_MOST_NAMED = 5
_USUAL_WAIT = 1_000.0
_MOST_NUMBER = 10**15
# The argument that says most about a call, the first that is there.
_FIRST = ("query", "pattern", "url", "uri", "skill")
# Of these, a file says more.
_TELLING = (
    "subject", "title", "description", "prompt", "question", "message", "text", "name", "selector",
    "element", "id",
)  # fmt: skip
_NAME_START = re.compile(r"[^\W\d_]")
_FILE_WORDS = {
    Deed.READ: "read",
    Deed.WRITE: "write",
    Deed.EDIT: "edit",
    Deed.PATCH: "apply_patch",
}
_PATCHED = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File:|\+\+\+ (?:b/)?)[ \t]*(\S.*)$", re.MULTILINE
)


def summary(step: Step, *, on_device: bool, folder: str = "") -> str:
    """Return what a step did, as a call: `tap(120, 340)`, `read(src/main.py)`.

    Args:
        step: the step.
        on_device: what the trace says of where `shell` runs.
        folder: the folder in which the agent worked; files below it are named from there.
    """
    action = step.action
    deed = deed_of(action, on_device=on_device)
    if deed is Deed.TYPE:
        return _typed(step)
    if deed in _BY_DEED:
        return _BY_DEED[deed](action)
    if deed in _FILE_WORDS:
        path = path_of(action) or _patched_file(action)
        return f"{_FILE_WORDS[deed]}({plain(_below(path, folder), _MOST_PATH)})"
    return _tool(action, folder)


def target_words(target: UiTarget | None) -> str:
    """Return the element of a step, its known fields in a fixed order; empty for none."""
    if target is None:
        return ""
    texts = {
        "text": target.text,
        "resourceId": target.resource_id,
        "contentDesc": target.content_desc,
        "class": target.class_name,
    }
    words = [f"{name}={in_quotes(text, _MOST_TARGET)}" for name, text in texts.items() if text]
    if target.clickable is not None:
        words.append(f"clickable={'true' if target.clickable else 'false'}")
    return ", ".join(words)


def intent(step: Step) -> str:
    """Return why a step was taken; empty where nobody said."""
    return plain(step.thought or step.action.text("reason"), MOST_INTENT)


def observed(step: Step) -> str:
    """Return what was seen after a step, and that it went wrong where it did."""
    seen = plain(step.result, MOST_OBSERVED)
    if not step.failed:
        return seen
    return f"(failed) {seen}".rstrip()


def _typed(step: Step) -> str:
    text = step.action.text("text", "value", "inputText", "input_text")
    if is_secret_step(step) or HIDDEN in text:
        return f"type({HIDDEN})"
    return f"type({in_quotes(text, MOST_TYPED)})"


def _gesture(action: Action) -> str:
    kind = _kind(action)
    if kind == "tap_element":
        return f"tap_element(elementId={_value(action, 'elementId', 'element_id', 'id')})"
    if kind == "tap":
        return f"tap({_number(action, 'x')}, {_number(action, 'y')})"
    start = f"{_number(action, 'x1')}, {_number(action, 'y1')}"
    return f"{kind}({start} -> {_number(action, 'x2')}, {_number(action, 'y2')})"


def _wait(action: Action) -> str:
    return f"wait({_number(action, 'durationMs', _USUAL_WAIT)}ms)"


def _batch(action: Action) -> str:
    inner = action.fields.get("actions")
    listed = inner if isinstance(inner, Sequence) and not isinstance(inner, str) else ()
    kinds = [Action("", one).text("type") or "?" for one in listed if isinstance(one, Mapping)]
    more = ", ..." if len(kinds) > _MOST_NAMED else ""
    named = ", ".join(plain(kind, _MOST_NAME) for kind in kinds[:_MOST_NAMED])
    return f"batch_actions({len(kinds)}: {named}{more})" if kinds else "batch_actions"


def _command(action: Action) -> str:
    return f"shell({plain(command_of(action), MOST_COMMAND)})"


def _ask(action: Action) -> str:
    if _kind(action) == "request_human_auth":
        return f"request_human_auth({plain(action.text('capability'), _MOST_NAME)})"
    asked = action.text("question", "prompt", "message", "instruction") or _first_question(action)
    return f"{plain(action.kind, _MOST_NAME)}({in_quotes(asked, MOST_TYPED)})"


def _first_question(action: Action) -> str:
    asked = action.fields.get("questions")
    first = asked[0] if isinstance(asked, Sequence) and asked else None
    return Action("", first).text("question") if isinstance(first, Mapping) else ""


def _finish(action: Action) -> str:
    return f"finish({in_quotes(action.text('message'), MOST_TYPED)})"


_BY_DEED: Mapping[Deed, Callable[[Action], str]] = MappingProxyType(
    {
        Deed.GESTURE: _gesture,
        Deed.KEY: lambda action: f"keyevent({_value(action, 'keycode', 'key')})",
        Deed.LAUNCH: lambda action: f"launch_app({_value(action, 'packageName', 'package')})",
        Deed.WAIT: _wait,
        Deed.BATCH: _batch,
        Deed.DEVICE_SHELL: _command,
        Deed.SHELL: _command,
        Deed.SCRIPT: lambda _action: "run_script(<embedded>)",
        Deed.ASK: _ask,
        Deed.FINISH: _finish,
    }
)


def _tool(action: Action, folder: str) -> str:
    name = plain(action.kind, _MOST_NAME) or "?"
    if not _NAME_START.match(name):
        # A line that begins with another sign may be a heading or a list.
        name = f"tool {name}"
    said = [key for key in (*_FIRST, *_TELLING, *action.fields) if action.text(key)]
    if path_of(action) and not (said and said[0] in _FIRST):
        return f"{name}({plain(_below(path_of(action), folder), _MOST_PATH)})"
    if not said:
        return name
    return f"{name}({plain(said[0], _MOST_NAME)}={in_quotes(action.text(said[0]), MOST_TYPED)})"


def _patched_file(action: Action) -> str:
    found = _PATCHED.search(action.text("patch", "input", "diff") or command_of(action))
    return found[1] if found else ""


def _below(path: str, folder: str) -> str:
    start = folder.rstrip("/\\")
    inside = bool(start) and path.startswith((f"{start}/", f"{start}\\"))
    return path[len(start) + 1 :] if inside else path


def _kind(action: Action) -> str:
    return action.kind.strip().casefold()


def _number(action: Action, name: str, default: float = 0.0) -> str:
    value = action.fields.get(name)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return _rounded(value) if is_number and isinstance(value, (int, float)) else _rounded(default)


def _rounded(number: float) -> str:
    # Neither what is no number nor one with a thousand digits is a place on a screen.
    return str(round(number)) if abs(number) < _MOST_NUMBER else "?"


def _value(action: Action, *names: str) -> str:
    """Return a field that is a name or a number."""
    found = (action.fields.get(name) for name in names)
    value = next((one for one in found if isinstance(one, (str, int, float)) and one != ""), "?")
    return plain(value, _MOST_NAME) if isinstance(value, str) else _rounded(value)
