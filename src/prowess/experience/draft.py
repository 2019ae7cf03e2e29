"""The draft of a skill: one run of an agent, written down for a person to review.

Nothing in it is proven by more than one run, and every value in it is quoted from a trace, so each
text is one line, cut and inert. In the strict layout the frontmatter keeps to the standard.

Promoted, it goes by its headings and loses only what every draft has: the labels below the title,
the outcome of the one run, and the checklist. Anything else may be a person's, and is kept.

It warns where a device was asked for a person's data (a probe) and nobody agreed. Only a line of a
result that begins with the marker counts, behind an action whose result the harness writes itself:
the same words can stand in what was typed, in a page, or in what a program printed. A warning too
many costs a sentence, a missing one costs a person's photos: in doubt it is written.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from prowess.data import compile_group
from prowess.experience.draft_facts import (
    CUT,
    TITLE,
    DraftFacts,
    clean_trace,
    flatten_text,
    hash_draft,
    make_clean_facts,
    normalize_lines,
    quote_text,
    read_facts,
    shorten_text,
    write_facts,
)
from prowess.experience.fingerprint import COARSE_STEPS, list_programs
from prowess.experience.redaction import HIDDEN, is_secret_step
from prowess.secrets.credentials import mask_credentials
from prowess.skills import frontmatter
from prowess.skills.frontmatter import FieldReader
from prowess.skills.text import one_line
from prowess.skills.text import quote as quote_yaml
from prowess.transcripts.traces import (
    Deed,
    Trace,
    TraceAction,
    TraceStep,
    UiTarget,
    find_command,
    find_deed,
    find_path,
)
from prowess.workshop.edit import parse_blocks

DRAFT_DESCRIPTION = "Auto-generated draft for: "
_MOST_TASK, _MOST_DESCRIPTION = 400, 1_000
_ANGLES = str.maketrans("<>", "\u2039\u203a")
_LABEL = re.compile(
    r"[-*] (?:Status|Confidence|Generated|Source session|behavior_fingerprint|flow_fingerprint"
    r"|Replay script): .*"
)
_LEFT_OUT = frozenset(("refinement checklist", "last known outcome"))
_RENAMED = MappingProxyType({"procedure (draft)": "## Procedure"})
_SECTION = 2
_REPLAY = "`bash {path}` shows the recorded steps, and does them with `--execute` (see `--help`)"
_GAPS = re.compile(r"\n{3,}")


def promote_draft(
    text: str, *, name: str, description: str = "", replay: str = ""
) -> tuple[str, str]:
    """Return the description and the body of the skill that a draft becomes.

    Args:
        text: the draft, as it is by now.
        name: the skill's name, from which its title is made.
        description: what to say of it where nobody wrote anything; empty to make that of the task.
        replay: the file of its replay in the skill; empty where it has none.
    """
    front = frontmatter.read(normalize_lines(text))
    said = _describe(front, description or _describe_task(read_facts(text)))
    kept = "\n".join(_keep_lines(front.body.split("\n"))).strip("\n")
    title = flatten_text(re.sub(r"[-_]+", " ", name), _MOST_TASK).strip().capitalize()
    label = f"- Replay script: {_REPLAY.format(path=replay)}\n\n" if replay else ""
    return said, f"# {title or 'Skill'}\n\n{label}{_GAPS.sub(chr(10) * 2, kept)}\n"


_CALL = re.compile(r"^(\d+)\. ([^\W\d]\w*)\((.*)\)$", re.MULTILINE)
# What whoever recorded a command left of it; `git diff main...` and `./...` are whole.
_CUT_BEFORE = re.compile(
    r"\u2026[\"')]*\Z|[\[(<](?:\w+ )?(?:truncated|cut off|\d+ more \w+)\b"
    r"|\A(?!git\b).*[^./]\.{3}\Z",
    re.IGNORECASE,
)
# Blanks may have stood where a text was cut.
_MOST_BLANKS = 4


def find_cut_step(text: str) -> int:
    """Return the number of the first step that is not told whole; zero where all are."""
    for number, deed, said in _CALL.findall(normalize_lines(text)):
        bare = said.partition("=")[2] or said if said.endswith('"') else said
        if bare.strip('"').endswith(CUT) and _was_cut(len(bare.strip('"'))):
            return int(number)
        if deed == "shell" and (_CUT_BEFORE.search(said) or _leaves_open(said)):
            return int(number)
    return 0


def _leaves_open(command: str) -> bool:
    """Return whether a command ends inside of quotes; in a text below it or a note any may."""
    if "<<" in command or "#" in command:
        return False
    try:
        shlex.split(command)
    except ValueError:
        return True
    return False


def _was_cut(length: int) -> bool:
    """Return whether a text is as long as one that was cut: `go test ./...` ends like one."""
    bounds = (MOST_TYPED, MOST_COMMAND, MOST_SHELL)
    return any(bound - _MOST_BLANKS <= length <= bound for bound in bounds)


def _describe(front: frontmatter.Frontmatter, otherwise: str) -> str:
    written = _by_person(FieldReader(front).text("description"))
    is_own = written and not written.startswith(DRAFT_DESCRIPTION)
    return written if is_own else _by_person(otherwise)


def _describe_task(facts: DraftFacts | None) -> str:
    task = (
        shorten_text(facts.task if facts else "", _MOST_TASK)
        .rstrip(".!?\u3002 ")
        .translate(_ANGLES)
    )
    if not task:
        return "A procedure that worked once. Use when a user asks for what it describes."
    return f"How to do this: {task}. Use when a user asks for it, or for nearly the same."


def _by_person(description: str) -> str:
    return shorten_text(mask_credentials(one_line(description)), _MOST_DESCRIPTION)


def _keep_lines(lines: list[str]) -> list[str]:
    """Return the lines of a draft that a skill keeps."""
    heads = _headings(lines)
    kept: list[str] = []
    is_left_out, is_below_title = False, True
    for at, line in enumerate(lines):
        level, title = heads.get(at, (0, ""))
        if level == 1 and is_below_title and not "".join(kept).strip():
            continue
        if level:
            is_below_title &= level == 1
            is_left_out = title in _LEFT_OUT if level <= _SECTION else is_left_out
        if is_left_out or (is_below_title and _LABEL.fullmatch(line)):
            continue
        kept.append(_RENAMED.get(title, line))
    return kept


def _headings(lines: list[str]) -> dict[int, tuple[int, str]]:
    tokens = parse_blocks(lines)
    return {
        token.map[0]: (int(token.tag[1:]), " ".join(tokens[at + 1].content.split()).casefold())
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    }


_MARKER = re.compile(
    r"^[ \t]*(?:[-*>][ \t]*)?[\[{(\"']{0,2}(?:(?:event|kind|type)[\"']?[ \t]*[:=][ \t]*[\"']?)?"
    r"(?:capability|human_auth)_probe(?![A-Za-z0-9])",
    re.MULTILINE | re.IGNORECASE,
)
_SPELT = re.compile(r"_probe", re.IGNORECASE)
_NAMED = re.compile(r"\b(?:capability|human_auth)_probe(?![A-Za-z0-9])", re.IGNORECASE)
_WRITTEN_BY_HARNESS = frozenset(
    (Deed.GESTURE, Deed.KEY, Deed.LAUNCH, Deed.WAIT, Deed.BATCH, Deed.ASK)
)
_COMMANDS = frozenset((Deed.DEVICE_SHELL, Deed.SCRIPT))


def needs_warning(steps: Sequence[TraceStep], *, on_device: bool) -> bool:
    """Return whether a probe was seen and nobody agreed to it in the steps that a draft shows."""
    if not any(_shows_probe(step, on_device=on_device) for step in steps):
        return False
    return not any(_was_authorised(step) for step in steps[:COARSE_STEPS])


def _shows_probe(step: TraceStep, *, on_device: bool) -> bool:
    if find_deed(step.action, on_device=on_device) is Deed.FINISH:
        # Nothing of a screen is in its result: only the agent's own last words may name one there.
        return bool(_NAMED.search(step.result)) and not _SPELT.search(step.action.text("message"))
    return _MARKER.search(step.result) is not None and _may_probe(step, on_device=on_device)


def _may_probe(step: TraceStep, *, on_device: bool) -> bool:
    deed = find_deed(step.action, on_device=on_device)
    if deed in _WRITTEN_BY_HARNESS:
        return True
    if not on_device:
        return False
    if deed in _COMMANDS:
        return not _SPELT.search(find_command(step.action))
    fetching = compile_group("small_talk", "fetching", flags=re.IGNORECASE)
    return deed is Deed.TOOL and not fetching.search(step.action.kind)


def _was_authorised(step: TraceStep) -> bool:
    is_asked = step.action.kind.strip().casefold() == "request_human_auth"
    refused = compile_group("small_talk", "refused", flags=re.IGNORECASE)
    return is_asked and not step.failed and not refused.search(step.result)


MOST_TYPED, MOST_COMMAND, MOST_SHELL = 72, 96, 1_000
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
_FILE_WORDS = {Deed.READ: "read", Deed.WRITE: "write", Deed.EDIT: "edit", Deed.PATCH: "apply_patch"}
_PATCHED = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File:|\+\+\+ (?:b/)?)[ \t]*(\S.*)$", re.MULTILINE
)


def summarize_step(step: TraceStep, *, on_device: bool, folder: str = "") -> str:
    """Return what a step did, as a call: `tap(120, 340)`, `read(src/main.py)`.

    Args:
        step: the step.
        on_device: what the trace says of where `shell` runs.
        folder: the folder in which the agent worked; files below it are named from there.
    """
    action = step.action
    deed = find_deed(action, on_device=on_device)
    if deed is Deed.TYPE:
        text = step.action.text("text", "value", "inputText", "input_text")
        if is_secret_step(step) or HIDDEN in text:
            return f"type({HIDDEN})"
        return f"type({quote_text(text, MOST_TYPED)})"
    if deed in _BY_DEED:
        return _BY_DEED[deed](action)
    if deed in _FILE_WORDS:
        path = find_path(action) or _find_patched_file(action)
        return f"{_FILE_WORDS[deed]}({flatten_text(_cut_folder(path, folder), _MOST_PATH)})"
    return _tool(action, folder)


def describe_target(target: UiTarget | None) -> str:
    """Return the element of a step, its known fields in a fixed order; empty for none."""
    if target is None:
        return ""
    texts = {
        "text": target.text,
        "resourceId": target.resource_id,
        "contentDesc": target.content_desc,
        "class": target.class_name,
    }
    words = [f"{name}={quote_text(text, _MOST_TARGET)}" for name, text in texts.items() if text]
    if target.clickable is not None:
        words.append(f"clickable={'true' if target.clickable else 'false'}")
    return ", ".join(words)


def describe_intent(step: TraceStep) -> str:
    """Return why a step was taken; empty where nobody said."""
    return flatten_text(step.thought or step.action.text("reason"), MOST_INTENT)


def describe_result(step: TraceStep) -> str:
    """Return what was seen after a step, and that it went wrong where it did."""
    seen = flatten_text(step.result, MOST_OBSERVED)
    if not step.failed:
        return seen
    return f"(failed) {seen}".rstrip()


def _gesture(action: TraceAction) -> str:
    kind = _kind(action)
    if kind == "tap_element":
        return f"tap_element(elementId={_value(action, 'elementId', 'element_id', 'id')})"
    if kind == "tap":
        return f"tap({_number(action, 'x')}, {_number(action, 'y')})"
    start = f"{_number(action, 'x1')}, {_number(action, 'y1')}"
    return f"{kind}({start} -> {_number(action, 'x2')}, {_number(action, 'y2')})"


def _wait(action: TraceAction) -> str:
    return f"wait({_number(action, 'durationMs', _USUAL_WAIT)}ms)"


def _batch(action: TraceAction) -> str:
    inner = action.fields.get("actions")
    listed = inner if isinstance(inner, Sequence) and not isinstance(inner, str) else ()
    kinds = [TraceAction("", one).text("type") or "?" for one in listed if isinstance(one, Mapping)]
    more = ", ..." if len(kinds) > _MOST_NAMED else ""
    named = ", ".join(flatten_text(kind, _MOST_NAME) for kind in kinds[:_MOST_NAMED])
    return f"batch_actions({len(kinds)}: {named}{more})" if kinds else "batch_actions"


def _command(action: TraceAction) -> str:
    return f"shell({flatten_text(find_command(action), MOST_COMMAND)})"


def _write_command(action: TraceAction) -> str:
    # Of a shell that an agent types into, half a command is none.
    return f"shell({flatten_text(find_command(action), MOST_SHELL)})"


def _ask(action: TraceAction) -> str:
    if _kind(action) == "request_human_auth":
        return f"request_human_auth({flatten_text(action.text('capability'), _MOST_NAME)})"
    asked = action.text("question", "prompt", "message", "instruction") or _find_question(action)
    return f"{flatten_text(action.kind, _MOST_NAME)}({quote_text(asked, MOST_TYPED)})"


def _find_question(action: TraceAction) -> str:
    asked = action.fields.get("questions")
    first = asked[0] if isinstance(asked, Sequence) and asked else None
    return TraceAction("", first).text("question") if isinstance(first, Mapping) else ""


def _finish(action: TraceAction) -> str:
    return f"finish({quote_text(action.text('message'), MOST_TYPED)})"


_BY_DEED: Mapping[Deed, Callable[[TraceAction], str]] = MappingProxyType(
    {
        Deed.GESTURE: _gesture,
        Deed.KEY: lambda action: f"keyevent({_value(action, 'keycode', 'key')})",
        Deed.LAUNCH: lambda action: f"launch_app({_value(action, 'packageName', 'package')})",
        Deed.WAIT: _wait,
        Deed.BATCH: _batch,
        Deed.DEVICE_SHELL: _command,
        Deed.SHELL: _write_command,
        Deed.SCRIPT: lambda _action: "run_script(<embedded>)",
        Deed.ASK: _ask,
        Deed.FINISH: _finish,
    }
)


def _tool(action: TraceAction, folder: str) -> str:
    name = flatten_text(action.kind, _MOST_NAME) or "?"
    if not _NAME_START.match(name):
        # A line that begins with another sign may be a heading or a list.
        name = f"tool {name}"
    said = [key for key in (*_FIRST, *_TELLING, *action.fields) if action.text(key)]
    if find_path(action) and not (said and said[0] in _FIRST):
        return f"{name}({flatten_text(_cut_folder(find_path(action), folder), _MOST_PATH)})"
    if not said:
        return name
    value = quote_text(action.text(said[0]), MOST_TYPED)
    return f"{name}({flatten_text(said[0], _MOST_NAME)}={value})"


def _find_patched_file(action: TraceAction) -> str:
    found = _PATCHED.search(action.text("patch", "input", "diff") or find_command(action))
    return found[1] if found else ""


def _cut_folder(path: str, folder: str) -> str:
    start = folder.rstrip("/\\")
    inside = bool(start) and path.startswith((f"{start}/", f"{start}\\"))
    return path[len(start) + 1 :] if inside else path


def _kind(action: TraceAction) -> str:
    return action.kind.strip().casefold()


def _number(action: TraceAction, name: str, default: float = 0.0) -> str:
    value = action.fields.get(name)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return _round(value) if is_number and isinstance(value, (int, float)) else _round(default)


def _round(number: float) -> str:
    # Neither what is no number nor one with a thousand digits is a place on a screen.
    return str(round(number)) if abs(number) < _MOST_NUMBER else "?"


def _value(action: TraceAction, *names: str) -> str:
    """Return a field that is a name or a number."""
    found = (action.fields.get(name) for name in names)
    value = next((one for one in found if isinstance(one, (str, int, float)) and one != ""), "?")
    return flatten_text(value, _MOST_NAME) if isinstance(value, str) else _round(value)


HUMAN_AUTH_MARK = "\u26a0 WARNING:"
MOST_TITLE, MOST_OUTCOME = 180, 500
SHOWN_STEPS = COARSE_STEPS
_MOST_APP, _DRAFT_MOST_PATH = 120, 300
_MOST_LISTED = 8
NO_TASK = "(no task was given)"


def write_draft(
    trace: Trace, *, stem: str, generated_at: str, script: str = "", strict: bool
) -> str:
    """Return the whole file of a draft.

    Args:
        trace: the run, as it was read; its secrets are left out here.
        stem: the name of the draft, `<timestamp>-<slug>`; in the strict layout that of its folder.
        generated_at: the time in ISO 8601.
        script: the path of its replay, from the workspace on; empty where there is none.
        strict: whether the draft is the `SKILL.md` of a folder of its own.
    """
    cleaned = clean_trace(trace)
    facts = make_clean_facts(cleaned, trace_id=trace.id, generated_at=generated_at)
    warns = needs_warning(trace.steps, on_device=trace.is_on_device)
    body = "\n".join(_body(cleaned, facts, script, warns=warns))

    def whole(facts: DraftFacts) -> str:
        # The whole stem in every mode: two drafts of one slug are two, and no skill is called so.
        return "\n".join((*_front(stem, facts, strict=strict), "", body, ""))

    # The hash covers the whole file, so that a changed description counts as a change too.
    return whole(replace(facts, body_hash=hash_draft(whole(facts))))


def _front(name: str, facts: DraftFacts, *, strict: bool) -> Iterator[str]:
    task = shorten_text(facts.task, MOST_TITLE)
    said: dict[str, object] = {"generated": write_facts(facts)}
    if task:
        said["triggers"] = {"any": [task]}
    about = f"Auto-generated draft for: {(task or NO_TASK).translate(_ANGLES)}"
    yield "---"
    yield f"name: {quote_yaml(name)}"
    yield f"description: {quote_yaml(f'{about} (review it before use)')}"
    if not strict:
        yield "disable-model-invocation: true"
    yield "metadata:"
    yield f"  openclaw: {quote_yaml(json.dumps(said, ensure_ascii=False))}"
    yield "---"


def _body(trace: Trace, facts: DraftFacts, script: str, *, warns: bool) -> Iterator[str]:
    yield f"# {TITLE}{shorten_text(facts.task, MOST_TITLE) or NO_TASK}"
    yield ""
    yield from _labels(facts, script)
    if warns:
        yield from _WARNING
    yield from _section("When To Use", _write_when(trace, facts))
    yield from _section("Preconditions", _preconditions(trace))
    yield from _section("Procedure (Draft)", _procedure(trace))
    yield from _section("Completion Criteria", _criteria(trace))
    outcome = flatten_text(trace.final_message, MOST_OUTCOME)
    yield from _section("Last Known Outcome", [f"The run ended with: {outcome or '(empty)'}"])
    yield from _section("Refinement Checklist", [f"- [ ] {item}" for item in _CHECKLIST])


def _labels(facts: DraftFacts, script: str) -> Iterator[str]:
    yield "- Status: draft (auto-generated, nobody has reviewed it yet)"
    yield f"- Confidence: {facts.confidence}"
    yield f"- Generated: {facts.generated_at}"
    yield f"- Source session: {shorten_text(facts.source_session, _DRAFT_MOST_PATH) or 'unknown'}"
    yield f"- behavior_fingerprint: {facts.behaviour}"
    if facts.flow:
        yield f"- flow_fingerprint: {facts.flow}"
    if script:
        yield f"- Replay script: {flatten_text(script, _DRAFT_MOST_PATH)}"


_WARNING = (
    "",
    f"**{HUMAN_AUTH_MARK} this run reached for a person's data, and nobody had authorised that.**",
    "Where the data belongs to a person, the procedure below is not the right one:",
    "put a request for human authorisation before the step that reaches for it.",
)
_CHECKLIST = (
    "Take out steps that only corrected a mistake or looked around.",
    "Replace what was special to this run (names, numbers, dates, paths) by what it stands for.",
    "Prefer elements, files and commands by name; a position on a screen holds for one device.",
    "Write down what to do where a step does not lead to what was observed.",
    "Check that nothing personal or confidential is quoted.",
    "Try the procedure once from a fresh start.",
)


def _section(title: str, lines: Sequence[str] | Iterator[str]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from lines


def _write_when(trace: Trace, facts: DraftFacts) -> Iterator[str]:
    task = shorten_text(facts.task, MOST_TITLE) or NO_TASK
    yield f"- A user asks for this, or for nearly the same: {task}"
    if apps := _apps(trace):
        yield f"- The work is done in {apps}."


def _apps(trace: Trace) -> str:
    names = dict.fromkeys(flatten_text(step.app, _MOST_APP) for step in trace.steps[:SHOWN_STEPS])
    # Every device has one, whatever it is called.
    return _list_words([name for name in names if name and "launcher" not in name.casefold()])


def _list_words(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def _preconditions(trace: Trace) -> Iterator[str]:
    if trace.is_on_device:
        yield "- The device is connected, unlocked, and shows its usual start screen."
        if apps := _apps(trace):
            yield f"- Installed and set up on it: {apps}."
        return
    yield "- The agent works in the folder that the task is about."
    if needed := _list_words(_find_needed(trace)):
        yield f"- These programs can be run: {needed}."


def _find_needed(trace: Trace) -> list[str]:
    commands = (
        find_command(step.action)
        for step in trace.steps[:SHOWN_STEPS]
        if find_deed(step.action, on_device=False) in (Deed.SHELL, Deed.SCRIPT) and not step.failed
    )
    named = (name for command in commands for name in list_programs(command))
    return list(dict.fromkeys(flatten_text(name, _MOST_APP) for name in named))


def _procedure(trace: Trace) -> Iterator[str]:
    if not trace.steps:
        yield "No steps were recorded."
    for number, step in enumerate(trace.steps[:SHOWN_STEPS], start=1):
        yield from _step(number, step, trace)
    if len(trace.steps) > SHOWN_STEPS:
        yield ""
        yield f"{len(trace.steps) - SHOWN_STEPS} later steps of the run are not shown here."


def _step(number: int, step: TraceStep, trace: Trace) -> Iterator[str]:
    did = summarize_step(step, on_device=trace.is_on_device, folder=trace.folder)
    where = f" (app={flatten_text(step.app, _MOST_APP) or 'unknown'})" if trace.is_on_device else ""
    yield f"{number}. {did}{where}"
    lines = {
        "intent": describe_intent(step),
        "ui_target": describe_target(step.target),
        "observed": describe_result(step),
    }
    # Four spaces, so that the lines below step 10 still belong to it.
    yield from (f"    - {name}: {words}" for name, words in lines.items() if words)


def _criteria(trace: Trace) -> Iterator[str]:
    if trace.is_on_device:
        yield "- The screen shows what the task asks for, and no dialog waits for an answer."
    else:
        yield "- What the task asks for is there, and a check of it has been run."
    yield "- The last step ended without an error."
    last = describe_result(trace.steps[-1]) if trace.steps else ""
    if last:
        yield f"- In the recorded run the last step showed: {last}"
