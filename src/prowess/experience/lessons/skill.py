"""The skill that several traces of one goal lead to, with what it was learned from.

Its payload is a hash of what it teaches and not of whom it learned it from, so that the same lesson
is known again when more examples arrive. The text stays within a bound, whatever the traces hold.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from prowess.experience.commands import is_general
from prowess.experience.lessons.alignment import Aligned, AlignedStep
from prowess.experience.lessons.goals import compare_words
from prowess.experience.lessons.parameters import Parameter
from prowess.experience.lessons.wording import (
    GAP,
    describe_goal,
    format_block,
    format_code,
    list_words,
    make_skill_name,
    make_title,
    word_goals,
)
from prowess.skills.text import one_line
from prowess.transcripts.traces import Deed
from prowess.workshop.proposal import Evidence

MOST_BODY = 20_000
_QUOTE = 300
_MOST_STEPS, _MOST_SOURCES, _LONGEST_SOURCE = 60, 12, 140
_SHORT, _MOST_TOOLS, _SAYS_SOMETHING = 120, 4, 12
_MOST_OTHERWISE = 6
# Of more runs than that, a step of two of them is left out as well.
_MANY = 10
# A step that says so much tells of its task, and two of them are enough to know it by.
_TELLS, _SURELY = 1.0, 2
# So many words of two titles in common are near, and so many others are named.
_NEAR, _MOST_NEAR = 0.25, 2
_APP = re.compile(r"[\w.-]{1,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedSkill:
    """A skill to propose."""

    name: str
    title: str
    description: str
    body: str
    # Why it is proposed, for whoever decides.
    reason: str
    evidence: tuple[Evidence, ...]
    # What it teaches: another one where a step, a parameter or the name is another.
    payload: str
    # What it is for: the same while it is the same goal, see `hash_goal`.
    goal_key: str = ""


class _Room(NamedTuple):
    """How much of a procedure is written down."""

    steps: int
    has_blocks: bool


def write_skill(aligned: Aligned) -> LearnedSkill:
    """Return the skill that an alignment teaches."""
    phrase, asked = word_goals((aligned.goal, *aligned.phrases), aligned.parameters)
    name = make_skill_name(phrase, "-".join(_programs(aligned)[:2]) or _find_tool(aligned))
    steps = [step for step in aligned.steps if not step.optional]
    return LearnedSkill(
        name=name,
        title=make_title(phrase),
        description=_description(phrase, asked, aligned),
        body=_body(make_title(phrase), asked, aligned),
        reason=(
            f"{len(aligned.traces)} successful runs had this goal"
            f" and {len(steps)} {'step' if len(steps) == 1 else 'steps'} in common."
        ),
        evidence=tuple(
            Evidence(place=at, role="task", quote=_witness(aligned, at))
            for at in range(len(aligned.tasks))
        ),
        payload=_payload(name, aligned),
        goal_key=hash_goal(aligned),
    )


def tell_apart(skills: Sequence[LearnedSkill]) -> list[LearnedSkill]:
    """Return the skills with a word in each on what the nearest others are for."""
    return [_without_others(skill, skills) for skill in skills]


def _without_others(skill: LearnedSkill, others: Sequence[LearnedSkill]) -> LearnedSkill:
    likeness = {
        other.name: compare_words(skill.title, other.title)
        for other in others
        if other.name != skill.name
    }
    near = sorted(likeness, key=lambda name: (-likeness[name], name))[:_MOST_NEAR]
    titles = {other.name: other.title for other in others}
    said = "".join(
        f" Not for requests to {titles[name][:1].lower()}{titles[name][1:]} (use {name})."
        for name in near
        if likeness[name] >= _NEAR
    )
    return replace(skill, description=skill.description + said)


def hash_goal(aligned: Aligned) -> str:
    """Return the hash by which a goal is known again when it is learned anew, perhaps otherwise.

    It depends on the set of the steps that most runs took and that say something about their task:
    a program with its mode and what most runs told it to do, a script by its name, an element, an
    app, a tool, and never other values; and on what most tasks undo, since the same switch turns on
    and off. Where fewer than two of them belong to few tasks only, it also depends on the words
    that at least half of the tasks share, without values, politeness, plurals, and words that stand
    in a step, which may be given another time.

    It does not depend on the name of the skill, on parameters or what is a constant yet, on how
    often or in which order steps were taken, on looks around, on everyday commands, on the number
    of runs, or, where the steps tell enough, on how the task was put: as `grouped` has it, the same
    telling steps are the same goal.
    """
    usual = [step for step in aligned.steps if step.usual]
    deeds = {
        " ".join((step.kind, step.script, *step.modes)) for step in usual if step.weight >= _TELLS
    }
    is_sure = sum(map(_is_own, usual)) >= _SURELY
    words = [] if is_sure else sorted(aligned.goal_words)
    known = [sorted(deeds or {step.kind for step in usual}), words, *sorted(aligned.undone)]
    return hashlib.sha256(json.dumps(known).encode("utf-8", "surrogatepass")).hexdigest()


def _is_own(step: AlignedStep) -> bool:
    """Return whether a step belongs to few tasks: any task may call a tool or fetch a page."""
    deed, _, name = step.kind.partition(" ")
    is_any = deed == Deed.TOOL.value or (not step.script and is_general(name))
    return step.weight >= _TELLS and not is_any


def _payload(name: str, aligned: Aligned) -> str:
    names = sorted(one.name for one in aligned.parameters if not one.derived_from)
    taught = [name, sorted({step.kind for step in aligned.steps if step.usual}), names]
    return hashlib.sha256(json.dumps(taught).encode("utf-8", "surrogatepass")).hexdigest()


def _witness(aligned: Aligned, at: int) -> str:
    """Return what one run was asked for, where it is recorded, and what of it was left out."""
    session = one_line(_tail(aligned.sessions[at]))
    where = f" ({session})" if session else ""
    left = " ".join(one_line(one.text) for one in aligned.detours if one.trace == at)
    return _quote(aligned.tasks[at]) + where + (f" Left out: {_quote(left)}" if left else "")


def _quote(task: str) -> str:
    line = one_line(task)
    return line if len(line) <= _QUOTE else f"{line[: _QUOTE - 3]}..."


def _description(phrase: str, asked: Sequence[str], aligned: Aligned) -> str:
    with_what = list_words(_programs(aligned)[:_MOST_TOOLS], "and")
    with_what = f" with {with_what}" if with_what else ""
    with_what += "".join(f" in the app {app}" for app in _apps(aligned)[:1])
    return describe_goal(phrase, asked, with_what)


def _programs(aligned: Aligned) -> list[str]:
    steps = (step for step in aligned.steps if not step.optional)
    return list(dict.fromkeys(program for step in steps for program in step.programs))


def _find_tool(aligned: Aligned) -> str:
    """Return what the last tool of a procedure is called, for want of a program."""
    called = [step.kind.partition(" ") for step in aligned.steps if not step.optional]
    tools = [name for deed, _, name in called if deed == Deed.TOOL.value]
    words = re.findall(r"[a-z0-9]+", tools[-1].removeprefix("mcp__").lower()) if tools else []
    return "-".join(words[:4]) or "learned"


def _apps(aligned: Aligned) -> list[str]:
    opened = (step.kind.partition(" ") for step in aligned.steps)
    names = (name for deed, _, name in opened if deed == Deed.LAUNCH.value)
    return [name for name in names if _APP.fullmatch(name)]


def _is_given(parameter: Parameter) -> bool:
    return not (parameter.derived_from or parameter.is_secret or parameter.is_content)


def _body(title: str, asked: Sequence[str], aligned: Aligned) -> str:
    """Return the page; where it would be too long, without the texts that orders quote."""
    text = ""
    for most, blocks in ((_MOST_STEPS, True), (_MOST_STEPS, False), (_MOST_STEPS // 3, False)):
        lines = _lines(title, asked, aligned, _Room(most, blocks))
        text = "\n".join(lines) + "\n"
        if len(text) < MOST_BODY:
            return text
    return text[: text.rindex("\n## ", 0, MOST_BODY)] + "\n"


def _lines(title: str, asked: Sequence[str], aligned: Aligned, room: _Room) -> Iterator[str]:
    yield f"# {title}"
    sections = (
        ("When to use", _write_when(asked, aligned)),
        ("Parameters", _table(aligned.parameters)),
        ("Preconditions", _preconditions(aligned)),
        ("Procedure", _procedure(aligned, room)),
        ("Check", _check(aligned)),
        ("Pitfalls", _pitfalls(aligned)),
        ("What it was learned from", _sources(aligned)),
    )
    for heading, lines in sections:
        written = list(lines)
        if written:
            yield from ("", f"## {heading}", "", *written)


def _write_when(asked: Sequence[str], aligned: Aligned) -> Iterator[str]:
    quoted = [format_code(one, _SHORT) for one in asked]
    yield f"- The user asks for this, in words like {list_words(quoted, 'or')}."
    known = {one.name for one in aligned.parameters}
    goal = re.sub(r"\{(\w+)\}", lambda hit: hit[0] if hit[1] in known else GAP, aligned.goal)
    yield f"- In the words of a run: {format_code(goal, _QUOTE)}"


def _table(parameters: Sequence[Parameter]) -> Iterator[str]:
    if not parameters:
        return
    yield "| Name | What | Examples |"
    yield "| --- | --- | --- |"
    for one in parameters:
        examples = [format_code(example).replace("|", "\\|") for example in one.examples]
        shown = ", ".join(examples) or "none"
        if one.usual:
            shown = f"mostly {examples[0]}; also {', '.join(examples[1:])}"
        yield f"| `{one.name}` | {one.about} | {shown} |"


def _preconditions(aligned: Aligned) -> Iterator[str]:
    if programs := _programs(aligned):
        yield f"- These programs can be run: {_names(programs)}."
    if apps := _apps(aligned):
        yield f"- The app is installed, and somebody is signed in: {_names(apps)}."
    asked = [one.name for one in aligned.parameters if one.is_asked]
    if files := [f"{{{name}}}" for name in asked if name.endswith("_file")]:
        yield f"- What is given is there: {_names(files)}."
    if any(one.is_secret for one in aligned.parameters):
        yield "- The person gives the secrets when they are needed."
    given = [one for one in aligned.parameters if _is_given(one) and not one.is_asked]
    if others := [f"{{{one.name}}}" for one in given if not one.usual]:
        yield f"- Where the task does not say it, find out: {_names(others)}."
    for one in (one for one in given if one.usual):
        most = f"most runs had {format_code(one.usual)}"
        yield f"- Where the task does not say `{{{one.name}}}`, {most}."


def _names(words: Sequence[str]) -> str:
    return ", ".join(format_code(word) for word in words)


def _procedure(aligned: Aligned, room: _Room) -> Iterator[str]:
    for number, step in enumerate(aligned.steps[: room.steps], start=1):
        yield f"{number}. {_mark_optional(step, len(aligned.traces))}{step.text}"
        if step.block and room.has_blocks:
            yield from ("", format_block(step.block), "")
        elif step.block:
            yield "   (The text is too long to be quoted here.)"
    left_out = len(aligned.steps) - room.steps
    if left_out > 0:
        yield f"{room.steps + 1}. Go on in the same way; {left_out} more steps are not listed."


def _mark_optional(step: AlignedStep, of: int) -> str:
    return f"(Optional, {step.seen_in} of {of} runs.) " if step.optional else ""


def _check(aligned: Aligned) -> Iterator[str]:
    yield "- Every step ended without an error."
    if len(aligned.outcome) >= _SAYS_SOMETHING:
        yield f"- A run that went well ended with: {format_code(aligned.outcome, _QUOTE)}"


def _pitfalls(aligned: Aligned) -> Iterator[str]:
    of = len(aligned.traces)
    for one in aligned.pitfalls:
        said = f": {format_code(one.said, _LONGEST_SOURCE)}." if one.said else "."
        instead = f" What worked: {one.remedy}" if one.remedy else ""
        failed = f"- This went wrong in {one.seen_in} of {of} runs: {one.text.rstrip('.')}"
        yield f"{failed}{said}{instead}"
    for other in aligned.otherwise[:_MOST_OTHERWISE]:
        yield f"- One run took step {other.step + 1} otherwise: {other.text}"
    if aligned.detours:
        yield _tell_left_out(len({one.trace for one in aligned.detours}), of)


def _tell_left_out(count: int, of: int) -> str:
    """Return that steps are left out, and whose; of many runs, also what a few of them took."""
    if of > _MANY:
        return "- Steps that hardly any run took are left out."
    if count == 1:
        return "- Steps that only one run took are left out."
    return f"- {count} of {of} runs took steps that no other run took; these are left out."


def _sources(aligned: Aligned) -> Iterator[str]:
    for at, (session, task) in enumerate(zip(aligned.sessions, aligned.tasks, strict=True)):
        if at == _MOST_SOURCES:
            yield f"- {len(aligned.traces) - at} more runs."
            break
        where = f" ({format_code(_tail(session), _SHORT)})" if session else ""
        yield f"- {format_code(task, _LONGEST_SOURCE)}{where}"


def _tail(path: str) -> str:
    parts = path.replace("\\", "/").rsplit("/", 2)
    # An absolute path of two parts has nothing before its slash, and is shown whole.
    return "/".join(parts[-2:] if parts[0] else parts)
