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
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from prowess.data import read_text
from prowess.experience.redaction import remove_secrets
from prowess.experience.replay.bash import clean_comment, quote_bash, show_hidden
from prowess.experience.replay.device import (
    PARTS_WITHOUT_SECRETS,
    question_touch,
    replay_device_command,
    replay_gesture,
    replay_typing,
)
from prowess.experience.replay.gate import ReplayGate
from prowess.experience.replay.steps import (
    ReplayPart,
    ReplayPlace,
    StepContext,
    StepSecrets,
    join_parts,
    leave_to_person,
    replay_command,
    replay_edit,
    replay_patch,
    replay_read,
    replay_tool,
    replay_whole_script,
    replay_write,
)
from prowess.secrets.credentials import mask_credentials
from prowess.transcripts.traces import Deed, Json, Trace, TraceAction, TraceStep, find_deed

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
    safe = remove_secrets(trace)
    gate = ReplayGate()
    steps = [
        _numbered(step, number, safe, gate)
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


def _numbered(step: TraceStep, number: int, trace: Trace, gate: ReplayGate) -> _Numbered:
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
    words = [quote_bash(_line(part.words)), quote_bash(_line(part.danger)), *_shown(part)]
    begins = " ".join(["begins", str(step.number), *words])
    if not part.lines:
        yield f"{begins} || true"
        return
    yield f"if {begins}; then"
    yield from (f"  {line}" for line in part.lines)
    yield "fi"


def _shown(part: ReplayPart) -> tuple[str, ...]:
    """Return what is shown of a step in full: its text itself, where all of it can be seen."""
    text = part.shown or part.value
    seen = show_hidden(text, one_line=False)
    if not text:
        return ()
    return ('"$value"',) if seen == part.value else (quote_bash(seen),)


def _line(text: str, most: int = _MOST_WORDS) -> str:
    line = show_hidden(" ".join(text.split()))
    return line if len(line) <= most else line[:most] + "..."
