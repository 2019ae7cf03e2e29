"""The draft of a skill: one run of an agent, written down for a person to review.

Nothing in it is proven by more than one run, and every value in it is quoted from a trace. So each
text is one line, cut and inert, and what a program must know of the draft stands in the
frontmatter (see `draft_facts`). In the strict layout the frontmatter keeps to the standard: only
its keys, metadata as text. Not being shown to a model follows from where the draft lies.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from prowess.experience.draft_facts import (
    TITLE,
    DraftFacts,
    as_generated,
    clean_trace,
    draft_facts,
    facts_of,
    facts_of_clean,
    is_untouched,
    same_draft,
    seal,
)
from prowess.experience.draft_promotion import promoted
from prowess.experience.fingerprint import COARSE_STEPS, programs
from prowess.experience.human_auth import needs_warning
from prowess.experience.plain_words import cut, plain
from prowess.experience.step_words import intent, observed, summary, target_words
from prowess.skills import yaml_text
from prowess.transcripts.deeds import Deed, command_of, deed_of
from prowess.transcripts.traces_part import Step, Trace

__all__ = [
    "HUMAN_AUTH_MARK", "DraftFacts", "draft_document", "draft_facts", "facts_of", "is_untouched",
    "promoted", "same_draft",
]  # fmt: skip

HUMAN_AUTH_MARK = "\u26a0 WARNING:"
MOST_TITLE, MOST_OUTCOME = 180, 500
SHOWN_STEPS = COARSE_STEPS
_MOST_APP, _MOST_PATH = 120, 300
_MOST_LISTED = 8
_NO_TASK = "(no task was given)"
_ANGLES = str.maketrans("<>", "\u2039\u203a")


def draft_document(
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
    facts = facts_of_clean(cleaned, trace_id=trace.id, generated_at=generated_at)
    warns = needs_warning(trace.steps, on_device=trace.is_on_device)
    body = "\n".join(_body(cleaned, facts, script, warns=warns))

    def whole(facts: DraftFacts) -> str:
        # The whole stem in every mode: two drafts of one slug are two, and no skill is called so.
        return "\n".join((*_front(stem, facts, strict=strict), "", body, ""))

    # The hash covers the whole file, so that a changed description counts as a change too.
    return whole(replace(facts, body_hash=seal(whole(facts))))


def _front(name: str, facts: DraftFacts, *, strict: bool) -> Iterator[str]:
    task = cut(facts.task, MOST_TITLE)
    said: dict[str, object] = {"generated": as_generated(facts)}
    if task:
        said["triggers"] = {"any": [task]}
    about = f"Auto-generated draft for: {(task or _NO_TASK).translate(_ANGLES)}"
    yield "---"
    yield f"name: {yaml_text.quoted(name)}"
    yield f"description: {yaml_text.quoted(f'{about} (review it before use)')}"
    if not strict:
        yield "disable-model-invocation: true"
    yield "metadata:"
    yield f"  openclaw: {yaml_text.quoted(json.dumps(said, ensure_ascii=False))}"
    yield "---"


def _body(trace: Trace, facts: DraftFacts, script: str, *, warns: bool) -> Iterator[str]:
    yield f"# {TITLE}{cut(facts.task, MOST_TITLE) or _NO_TASK}"
    yield ""
    yield from _labels(facts, script)
    if warns:
        yield from _WARNING
    yield from _section("When To Use", _when(trace, facts))
    yield from _section("Preconditions", _preconditions(trace))
    yield from _section("Procedure (Draft)", _procedure(trace))
    yield from _section("Completion Criteria", _criteria(trace))
    outcome = plain(trace.final_message, MOST_OUTCOME)
    yield from _section("Last Known Outcome", [f"The run ended with: {outcome or '(empty)'}"])
    yield from _section("Refinement Checklist", [f"- [ ] {item}" for item in _CHECKLIST])


def _labels(facts: DraftFacts, script: str) -> Iterator[str]:
    yield "- Status: draft (auto-generated, nobody has reviewed it yet)"
    yield f"- Confidence: {facts.confidence}"
    yield f"- Generated: {facts.generated_at}"
    yield f"- Source session: {cut(facts.source_session, _MOST_PATH) or 'unknown'}"
    yield f"- behavior_fingerprint: {facts.behaviour}"
    if facts.flow:
        yield f"- flow_fingerprint: {facts.flow}"
    if script:
        yield f"- Replay script: {plain(script, _MOST_PATH)}"


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


def _when(trace: Trace, facts: DraftFacts) -> Iterator[str]:
    task = cut(facts.task, MOST_TITLE) or _NO_TASK
    yield f"- A user asks for this, or for nearly the same: {task}"
    if apps := _apps(trace):
        yield f"- The work is done in {apps}."


def _apps(trace: Trace) -> str:
    names = dict.fromkeys(plain(step.app, _MOST_APP) for step in trace.steps[:SHOWN_STEPS])
    # Every device has one, whatever it is called.
    return _listed([name for name in names if name and "launcher" not in name.casefold()])


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def _preconditions(trace: Trace) -> Iterator[str]:
    if trace.is_on_device:
        yield "- The device is connected, unlocked, and shows its usual start screen."
        if apps := _apps(trace):
            yield f"- Installed and set up on it: {apps}."
        return
    yield "- The agent works in the folder that the task is about."
    if needed := _listed(_needed(trace)):
        yield f"- These programs can be run: {needed}."


def _needed(trace: Trace) -> list[str]:
    commands = (
        command_of(step.action)
        for step in trace.steps[:SHOWN_STEPS]
        if deed_of(step.action, on_device=False) in (Deed.SHELL, Deed.SCRIPT) and not step.failed
    )
    named = (name for command in commands for name in programs(command))
    return list(dict.fromkeys(plain(name, _MOST_APP) for name in named))


def _procedure(trace: Trace) -> Iterator[str]:
    if not trace.steps:
        yield "No steps were recorded."
    for number, step in enumerate(trace.steps[:SHOWN_STEPS], start=1):
        yield from _step(number, step, trace)
    if len(trace.steps) > SHOWN_STEPS:
        yield ""
        yield f"{len(trace.steps) - SHOWN_STEPS} later steps of the run are not shown here."


def _step(number: int, step: Step, trace: Trace) -> Iterator[str]:
    did = summary(step, on_device=trace.is_on_device, folder=trace.folder)
    where = f" (app={plain(step.app, _MOST_APP) or 'unknown'})" if trace.is_on_device else ""
    yield f"{number}. {did}{where}"
    lines = {
        "intent": intent(step),
        "ui_target": target_words(step.target),
        "observed": observed(step),
    }
    # Four spaces, so that the lines below step 10 still belong to it.
    yield from (f"    - {name}: {words}" for name, words in lines.items() if words)


def _criteria(trace: Trace) -> Iterator[str]:
    if trace.is_on_device:
        yield "- The screen shows what the task asks for, and no dialog waits for an answer."
    else:
        yield "- What the task asks for is there, and a check of it has been run."
    yield "- The last step ended without an error."
    last = observed(trace.steps[-1]) if trace.steps else ""
    if last:
        yield f"- In the recorded run the last step showed: {last}"
