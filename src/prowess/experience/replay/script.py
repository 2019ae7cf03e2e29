"""A trace as a bash script that does the same again, and says first what it would do.

The script is a dry run unless it is told to execute. No text of a trace stands in it but inside a
word made by `quote_bash`; the one exception is the type of a step in a comment, of which only
letters, digits and a few signs are left. Secrets are not in it at all: they are asked for when it
runs.

What is the same for every trace stands in the `.sh` files beside this module. Nothing of a trace is
put into those: what a trace says reaches them as arguments. They keep to bash 3.2, which some
systems still ship: no name references, no associative arrays, and no empty array is expanded. A
function that is called as a condition runs without `errexit`, so those say by themselves what they
return. A text for the device is read twice, by bash and by the shell there; `device_word` quotes it
for the second.

On a phone an element is looked for on the screen when the replay runs, since it seldom stands where
it stood. A touch that pays, buys, deletes or sends money is known by the words on and around it.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple
from xml.sax.saxutils import escape

from prowess.data import read_table, read_text
from prowess.experience.redaction import hide_people, remove_secrets
from prowess.experience.replay.gate import ReplayGate
from prowess.experience.replay.steps import (
    ReplayPart,
    ReplayPlace,
    StepContext,
    StepSecrets,
    add_value,
    clean_comment,
    has_secret,
    join_parts,
    leave_to_person,
    make_device_part,
    make_note,
    quote_bash,
    replace_secrets,
    replay_command,
    replay_edit,
    replay_patch,
    replay_read,
    replay_tool,
    replay_whole_script,
    replay_write,
    show_hidden,
    spell_text,
)
from prowess.secrets.credentials import mask_credentials
from prowess.transcripts.traces import (
    MOST_FIELD,
    Deed,
    Json,
    Trace,
    TraceAction,
    TraceStep,
    UiTarget,
    find_command,
    find_deed,
)

# Milliseconds, as the agents that write such traces take them.
_SHORTEST, _SWIPE, _DRAG = 100, 300, 360
_SHORTEST_HOLD, _HOLD, _WAIT = 120, 450, 1_000
_LONGEST_WAIT = 600_000
# Beyond this no screen reaches.
_FARTHEST = 99_999
_LAST_BASIC, _FIRST_PRINTABLE = 0xFFFF, 0x20
_TAPS = ("tap", "tap_element")


class _Spot(NamedTuple):
    x: int
    y: int


def replay_gesture(action: TraceAction, target: UiTarget | None) -> ReplayPart:
    """Return a touch of the screen."""
    kind = action.kind.strip().casefold()
    if kind in _TAPS:
        return _tap(action, target)
    start, end = _spot(action, "x1", "y1"), _spot(action, "x2", "y2")
    if start is None or end is None:
        return leave_to_person(f"{kind}; where it began or ended was not recorded")
    lasts = _duration(action, kind)
    words = f"{kind} from {start.x},{start.y} to {end.x},{end.y} in {lasts} ms"
    return make_device_part(words, f"swipe {start.x} {start.y} {end.x} {end.y} {lasts}")


def replay_typing(action: TraceAction, around: StepContext) -> ReplayPart:
    """Return text that is typed; what is secret is asked for when the replay runs."""
    text = action.text("text", "value", "inputText", "input_text")
    if not text:
        return make_note("types nothing")
    if has_secret(text):
        name = around.secrets.another()
        words = f"types a text that was not recorded; it is asked for, or taken from {name}"
        return make_device_part(words, f"ask_secret {name}", 'type_text "$SECRET"')
    lost = " (without its zero bytes)" if "\0" in text else ""
    return replace(make_device_part(f"types{lost}:", 'type_text "$value"'), value=text)


def replay_key(action: TraceAction) -> ReplayPart:
    """Return a key that is pressed."""
    key = action.text("keycode", "keyCode", "key") or _pick(action, "keycode", "keyCode", "key")
    if not key or has_secret(key):
        return leave_to_person("press a key; which one was not recorded")
    return make_device_part(f"presses the key {key}", f"press_key {quote_bash(key)}")


def replay_launch(action: TraceAction) -> ReplayPart:
    """Return a program that is opened."""
    package = action.text("packageName", "package_name", "package", "app")
    if not package or has_secret(package):
        return leave_to_person("open a program; which one was not recorded")
    return make_device_part(f"opens {package}", f"launch_app {quote_bash(package)}")


def replay_wait(action: TraceAction) -> ReplayPart:
    """Return a wait."""
    asked = action.number("durationMs", action.number("duration_ms", _WAIT))
    seconds = min(max(asked, _SHORTEST), _LONGEST_WAIT) / 1_000
    shown = f"{seconds:.3f}".rstrip("0").rstrip(".")
    return ReplayPart(words=f"waits {shown} s", lines=(f"sleep {shown}",), is_command=True)


def replay_device_command(action: TraceAction, around: StepContext) -> ReplayPart:
    """Return a command of the device's own shell."""
    command = find_command(action)
    if not command.strip():
        return make_note("a command of the device that is empty")
    told = spell_text(command, around.secrets, in_command=True)
    danger = around.gate.question_command(replace_secrets(command))
    if len(command) >= MOST_FIELD or "\0" in command or told is None:
        return leave_to_person(
            "run a command on the device that cannot be written here", command[:200]
        )
    # A command that begins like an option would be read by adb itself.
    guard = " " if command.startswith("-") else ""
    part = make_device_part("on the device:", f'on_device "{guard}$value"', danger=danger)
    return add_value(part, command, told)


def _tap(action: TraceAction, target: UiTarget | None) -> ReplayPart:
    spot = _spot(action, "x", "y")
    wanted = tuple(_list_wanted(target)) if target is not None else ()
    name = _name_of(target) if target is not None else ""
    if not wanted:
        if spot is None:
            element = name or action.text("elementId", "element_id", "element")
            return leave_to_person(
                f"tap {element or 'an element'}; how to find it was not recorded"
            )
        return make_device_part(f"taps at {spot.x},{spot.y}", f"tap_at {spot.x} {spot.y}")
    place = f"{spot.x} {spot.y}" if spot else "'' ''"
    words = f"taps {name}" + (f", or at {spot.x},{spot.y} where it is not found" if spot else "")
    attributes = " ".join(f"{attribute} {quote_bash(value)}" for attribute, value in wanted)
    return make_device_part(words, f"tap_element {place} {attributes}")


def _list_wanted(target: UiTarget) -> Iterator[tuple[str, str]]:
    """Yield by what an element is found: the surest first, what only breaks ties last."""
    named = [("resource-id", target.resource_id), ("text", target.text)]
    named += [("content-desc", target.content_desc)]
    if not target.is_known:
        named = [("text", target.label), ("content-desc", target.label)]
    known = [(name, value) for name, value in named if value and not has_secret(value)]
    for name, value in known:
        yield from ((name, form) for form in _escape(value))
    if known and target.class_name:
        yield "class", escape(target.class_name, {'"': "&quot;"})


def _escape(value: str) -> tuple[str, ...]:
    """Return a value as the device writes it in XML; letters of the upper planes in both ways."""
    basic = "".join(
        letter if ord(letter) >= _FIRST_PRINTABLE else f"&#{ord(letter)};"
        for letter in escape(value, {'"': "&quot;"})
        if letter != "\0"
    )
    numbered = "".join(
        letter if ord(letter) <= _LAST_BASIC else f"&#{ord(letter)};" for letter in basic
    )
    return tuple(dict.fromkeys((basic, numbered)))


def _name_of(target: UiTarget) -> str:
    seen = target.text or target.content_desc or target.label
    if not seen:
        return target.resource_id
    return f'"{seen}"' + (f" ({target.resource_id})" if target.resource_id else "")


def _spot(action: TraceAction, across: str, down: str) -> _Spot | None:
    x, y = action.number(across, math.nan), action.number(down, math.nan)
    if math.isnan(x) or math.isnan(y):
        return None
    return _Spot(_round(x), _round(y))


def _round(number: float) -> int:
    # Halves go up, as where the traces come from.
    return math.floor(min(max(number, -_FARTHEST), _FARTHEST) + 0.5)


def _pick(action: TraceAction, *names: str) -> str:
    found = (action.number(name, math.nan) for name in names)
    return next((str(_round(number)) for number in found if not math.isnan(number)), "")


def _duration(action: TraceAction, kind: str) -> int:
    if kind != "long_press_drag":
        usual = _DRAG if kind == "drag" else _SWIPE
        return max(_SHORTEST, _round(action.number("durationMs", usual)))
    held = max(_SHORTEST_HOLD, _round(action.number("holdMs", _HOLD)))
    return held + max(_SHORTEST, _round(action.number("durationMs", _SWIPE)))


PARTS_WITHOUT_SECRETS = {Deed.KEY: replay_key, Deed.LAUNCH: replay_launch, Deed.WAIT: replay_wait}


_MOST_RESULT, _MOST_THOUGHT = 200, 600
_FIELDS = ("text", "label", "contentDesc", "content_desc", "resourceId", "resource_id", "element",
           "elementId", "element_id", "description", "target", "name", "reason")  # fmt: skip
# Letters with a stroke or without a dot have no accent that could be taken away.
_STROKED = str.maketrans({"\u0142": "l", "\u0131": "i", "\u00f8": "o", "\u0111": "d"})
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BREAK = re.compile(r"[\W_0-9]+")


def _fold(text: str) -> str:
    """Return a text without capitals, accents and what cannot be seen."""
    parted = unicodedata.normalize("NFKD", text.casefold().translate(_STROKED))
    return "".join(
        letter for letter in parted if unicodedata.category(letter) not in ("Mn", "Cf", "Cc")
    )


def _compile_words(words: str) -> re.Pattern[str]:
    """Return what finds any of these words."""
    found: list[str] = []
    for word in words.split():
        bare = re.escape(_fold(word.strip("*")))
        begins, ends = word.startswith("*"), word.endswith("*")
        found.append(("" if begins else r"\b") + bare + ("" if ends else r"\b"))
    return re.compile("|".join(found))


class _TouchWords(NamedTuple):
    words: re.Pattern[str]
    phrases: re.Pattern[str]
    parts: re.Pattern[str]
    lookalikes: re.Pattern[str]


@cache
def _touch_words() -> _TouchWords:
    table = read_table("experience/replay/touches.toml")
    phrases = re.split(r"[|\n]", table["phrases"].strip())
    return _TouchWords(
        words=_compile_words(table["words"]),
        phrases=re.compile("|".join(rf"\b{_fold(phrase.strip())}\b" for phrase in phrases)),
        parts=re.compile(
            "|".join(_fold(part).replace("_", " ") for part in table["parts"].split())
        ),
        lookalikes=re.compile("|".join(map(_fold, table["lookalikes"].split()))),
    )


def question_touch(action: TraceAction, step: TraceStep) -> str:
    """Return why a touch needs a confirmation, by all that is known of what it touches."""
    found = next(filter(None, map(_find_word, _texts(action, step))), "")
    return f"it touches something called {found}" if found else ""


def _texts(action: TraceAction, step: TraceStep) -> Iterator[str]:
    if step.target is not None:
        target = step.target
        yield from (target.text, target.content_desc, target.label, target.element_id)
        # The package of a program says nothing about one of its elements.
        yield target.resource_id.rpartition("/")[2]
    for name in _FIELDS:
        yield action.text(name).rpartition("/" if "esource" in name else "\0")[2]
    yield step.thought[:_MOST_THOUGHT]
    yield step.result[:_MOST_RESULT]


def _find_word(text: str) -> str:
    """Return the word in a text that pays, buys, deletes or sends money."""
    if not text:
        return ""
    apart = _fold(_CAPITAL.sub(" ", text))
    known = _touch_words()
    words = known.lookalikes.sub(" ", " ".join(_BREAK.split(apart)))
    numbered = " ".join(re.split(r"[\W_]+", apart))
    found = known.words.search(words) or known.phrases.search(numbered) or known.parts.search(apart)
    return found[0] if found else ""


_MOST_WORDS = 400
_MOST_TASK = 180
_MOST_BATCH = 100
_DEEPEST_BATCH = 3
_LAST_NUMBER = 999_999


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbered:
    """A step under the number by which the script knows it; without a part it is left out."""

    number: int
    kind: str
    part: ReplayPart | None = None
    # Why there is no part.
    reason: str = ""
    secrets: tuple[str, ...] = ()


def write_replay_script(trace: Trace, *, name: str) -> str | None:
    """Return a whole bash file, or nothing where no step gives a command."""
    safe = hide_people(remove_secrets(trace))
    gate = ReplayGate()
    steps = [
        _number_step(step, number, safe, gate)
        for number, step in zip(_numbers(safe.steps), safe.steps, strict=True)
    ]
    parts = [step.part for step in steps if step.part is not None]
    if not any(part.is_command for part in parts):
        return None
    places = frozenset[ReplayPlace]().union(*(part.places for part in parts))
    sections = [script_head(), _values(safe, name, steps, places), _section("common")]
    sections += [
        _section(place) for place in (ReplayPlace.DEVICE, ReplayPlace.HOST) if place in places
    ]
    sections += ["\n".join(_step_lines(step)) + "\n" for step in steps]
    return "".join([*sections, _section("tail")])


def script_head() -> str:
    """Return the text by which a script is known as a replay of ours."""
    return _section("head")


def _section(name: str) -> str:
    return read_text(f"experience/replay/{name}.sh")


def _numbers(steps: Sequence[TraceStep]) -> list[int]:
    """Return the numbers of the trace, or plain ones where those do not tell steps apart."""
    own = [step.number for step in steps]
    counted = list(range(1, len(steps) + 1))
    rising = all(before < after for before, after in zip([0, *own], own, strict=False))
    return own if rising and own[-1:] <= [_LAST_NUMBER] else counted


def _number_step(step: TraceStep, number: int, trace: Trace, gate: ReplayGate) -> _Numbered:
    kind = clean_comment(step.action.kind)
    if step.failed:
        reason = "it failed when it was recorded, and is left out"
        return _Numbered(number=number, kind=kind, reason=reason)
    secrets = StepSecrets(number)
    around = _Step(trace, step, StepContext(trace.folder, secrets, gate))
    part = _part(step.action, around, f"{number}")
    reason = "" if part else "there is nothing to do"
    return _Numbered(
        number=number, kind=kind, part=part, reason=reason, secrets=tuple(secrets.names)
    )


@dataclass(frozen=True, slots=True)
class _Step:
    """The step of an action, which may be one of several."""

    trace: Trace
    step: TraceStep
    around: StepContext
    depth: int = 0


def _part(action: TraceAction, of: _Step, label: str) -> ReplayPart | None:
    deed = find_deed(action, on_device=of.trace.is_on_device)
    if deed is Deed.FINISH:
        return None
    if deed is Deed.BATCH:
        return _batch_part(action, of, label)
    if deed is Deed.GESTURE:
        # The element is known of the step as a whole, not of what a batch holds.
        part = replay_gesture(action, of.step.target if of.depth == 0 else None)
        return replace(part, danger=question_touch(action, of.step)) if part.is_command else part
    if deed in PARTS_WITHOUT_SECRETS:
        return PARTS_WITHOUT_SECRETS[deed](action)
    if deed is Deed.READ:
        return replay_read(action, of.around.folder)
    return _PARTS.get(deed, replay_tool)(action, of.around)


_PARTS: Mapping[Deed, Callable[[TraceAction, StepContext], ReplayPart]] = {
    Deed.TYPE: replay_typing,
    Deed.DEVICE_SHELL: replay_device_command,
    Deed.SHELL: replay_command,
    Deed.SCRIPT: replay_whole_script,
    Deed.WRITE: replay_write,
    Deed.EDIT: replay_edit,
    Deed.PATCH: replay_patch,
}


def _batch_part(action: TraceAction, of: _Step, label: str) -> ReplayPart | None:
    inner = _inner_actions(action.fields.get("actions"))
    if len(inner) > _MOST_BATCH or of.depth >= _DEEPEST_BATCH:
        return leave_to_person("do many actions at once; there are too many to be written here")
    deeper = replace(of, depth=of.depth + 1)
    parts: list[tuple[str, ReplayPart]] = []
    for count, one in enumerate(inner, 1):
        part = _part(one, deeper, f"{label}.{count}")
        if part is not None:
            parts.append((f"step {label}.{count}: {clean_comment(one.kind)}", part))
    return join_parts(f"{len(parts)} actions in a row:", parts) if parts else None


def _inner_actions(listed: Json) -> list[TraceAction]:
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        return []
    return [
        TraceAction(str(one.get("type", "")), one) for one in listed if isinstance(one, Mapping)
    ]


def _values(
    trace: Trace, name: str, steps: Sequence[_Numbered], places: frozenset[ReplayPlace]
) -> str:
    """Return what the script knows of its trace."""
    risky = " ".join(str(step.number) for step in steps if step.part and step.part.danger)
    on_device, on_host = ReplayPlace.DEVICE in places, ReplayPlace.HOST in places
    values = {
        "NAME": _line(mask_credentials(name), _MOST_TASK),
        "TASK": _line(trace.task, _MOST_TASK),
        "RECORDED_FOLDER": trace.folder if show_hidden(trace.folder) == trace.folder else "",
        "RISKY": risky,
        "SECRETS": " ".join(secret for step in steps for secret in step.secrets),
        "USES_DEVICE": "yes" if on_device else "no",
        "USES_FOLDER": "yes" if on_host else "no",
        "PLAIN_ARGUMENT": " [SERIAL]" if on_device else "",
    }
    lines = [f"readonly {key}={quote_bash(value)}" for key, value in values.items()]
    return "\n".join([*lines, f"readonly STEPS={steps[-1].number}", ""])


def _step_lines(step: _Numbered) -> Iterator[str]:
    yield ""
    yield f"# step {step.number}: {step.kind}"
    if step.part is None:
        yield f"# ({step.reason})"
        return
    part = step.part
    if part.value:
        yield f"value={quote_bash(part.value)}"
    words = [quote_bash(_line(part.words)), quote_bash(_line(part.danger)), *_show(part)]
    begins = " ".join(["begins", str(step.number), *words])
    if not part.lines:
        yield f"{begins} || true"
        return
    yield f"if {begins}; then"
    yield from (f"  {line}" for line in part.lines)
    yield "fi"


def _show(part: ReplayPart) -> tuple[str, ...]:
    """Return what is shown of a step in full: its text itself, where all of it can be seen."""
    text = part.shown or part.value
    seen = show_hidden(text, one_line=False)
    if not text:
        return ()
    return ('"$value"',) if seen == part.value else (quote_bash(seen),)


def _line(text: str, most: int = _MOST_WORDS) -> str:
    line = show_hidden(" ".join(text.split()))
    return line if len(line) <= most else line[:most] + "..."
