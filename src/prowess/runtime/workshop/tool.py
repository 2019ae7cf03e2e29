"""The tool `skill_workshop`: what an agent may ask for, and in which words it is refused.

The arguments come from a model, so each one is checked as a stranger's text. Names of arguments and
messages are a contract with agents that know the tool from elsewhere.

Where calls of the tool `skill_workshop` are answered: for which agent, and what it may see.

A skill that the agent may not know of does not exist here, and neither does what anybody proposed
for it: no answer names it.

Which skills an agent may know of when it calls the workshop with nobody to ask.

The workshop writes to folders, so the skill whose folder has a name counts before another one that
is only called so. An agent with a list gets one answer about every name that is not on it, whether
there is such a skill or not: two answers would tell which there are.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from prowess.errors import ProposalInputError, ProposalNotFoundError
from prowess.runtime.service import StatusReport
from prowess.runtime.workshop.drafts import Draft
from prowess.runtime.workshop.ports import (
    SKILL_FILE,
    Answer,
    Counted,
    Decided,
    History,
    Inspected,
    Listed,
    ProposalStore,
    Written,
)
from prowess.runtime.workshop.proposals import Proposals
from prowess.safety.paths import PathRefused, shown, support_file
from prowess.secrets.credentials import masked
from prowess.workshop.edit import Append, Create, Edit, Replace
from prowess.workshop.proposal import By, Proposal, Source, State, Subject, skill_name

Knows = Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where a call is answered: the proposals, and for whom they are."""

    proposals: Proposals
    store: ProposalStore
    workspace: str
    agent_id: str = ""
    session_id: str = ""
    source: Source = Source.TOOL
    # Whether a person asks, or has just said yes to this very call.
    by_person: bool = False
    # Whether the agent may know of a skill, by its name.
    knows: Knows = lambda _skill: True
    # Whether no person stands between a call and what it changes.
    unasked: bool = False

    def known(self, proposals: Iterable[Proposal]) -> tuple[Proposal, ...]:
        """Return the proposals for skills that the agent may know of, each as it may see it."""
        return tuple(self.shown(one) for one in proposals if self.knows(one.skill))

    def shown(self, proposal: Proposal) -> Proposal:
        """Return a proposal without the names of skills that the agent may not know of."""
        similar = tuple(one for one in proposal.similar if self.knows(one.skill))
        return proposal if similar == proposal.similar else replace(proposal, similar=similar)


TOOL_NAME = "skill_workshop"
_SECTION = re.compile(r"[^\W_][\w ./:-]{0,80}")
# No file and no store can hold one.
_HALF_LETTER = re.compile("[\ud800-\udfff]")
_WORDS = {"true": True, "false": False}
_MOST_EVENTS = 200
# No store counts further.
_HIGHEST, _DIGITS = 1 << 63, 19


def answer(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    """Do what one call of the tool asks for.

    Raises:
        ProposalError: it cannot be done.
        StoreError: the store cannot be used.
    """
    action = _text(arguments, "action").strip() or "status"
    chosen = _ACTIONS.get(action)
    if chosen is None:
        raise ProposalInputError(f"unknown action: {_quoted(action)}")
    return chosen(desk, arguments)


def _status(desk: Desk, _arguments: Mapping[str, object]) -> Answer:
    known = desk.known(desk.store.listed(desk.workspace))
    return Counted(workspace=desk.workspace, counts=Counter(one.state for one in known))


def _list_pending(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    state = state_named(_text(arguments, "status").strip() or State.PENDING.value)
    return Listed(desk.known(desk.store.listed(desk.workspace, state)))


def _list_quarantine(desk: Desk, _arguments: Mapping[str, object]) -> Answer:
    return Listed(desk.known(desk.store.listed(desk.workspace, State.QUARANTINED)))


def _inspect(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    return Inspected(desk.shown(_named(desk, arguments)))


def _suggest(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    title = _line(arguments, "title")
    name = _own_name(desk, skill_name(_needed(arguments, "skillName"), title))
    draft = Draft(
        skill=name,
        title=title or f"Skill update: {name}",
        reason=_line(arguments, "reason") or "Suggested by the agent",
        source=desk.source,
        edit=_edit(arguments),
        agent_id=desk.agent_id,
        session_id=desk.session_id,
        overrule=bool(_choice(arguments, "overrule")),
    )
    apply = _choice(arguments, "apply")
    proposal = desk.proposals.propose(desk.workspace, draft).proposal
    if apply and proposal.skill != name:
        # That was said of a new skill: about the one that is appended to the policy decides.
        apply = None
    return _decided(desk, desk.proposals.decide(proposal, apply=apply, by_person=desk.by_person))


def _apply(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    revision = _text(arguments, "revision").strip()
    found = _mine(desk, _named(desk, arguments))
    why = "" if desk.by_person else desk.proposals.rights.needs_person(found)
    if why and found.state is State.PENDING:
        raise ProposalInputError(
            f"{why}: a person decides about this (`prowess workshop apply {found.id}`)"
        )
    return _decided(desk, desk.proposals.apply(found, revision, by=_by(desk)))


def _reject(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    revision = _text(arguments, "revision").strip()
    found, note = _named(desk, arguments), _line(arguments, "reason")
    done = desk.proposals.reject(found, revision, note, by_person=desk.by_person, by=_by(desk))
    return _decided(desk, done)


def _revise(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    proposal = _mine(desk, _named(desk, arguments))
    edit = revised(proposal.edit, arguments)
    revision = _text(arguments, "revision").strip()
    return _decided(desk, desk.proposals.revise(proposal, edit, revision, by=_by(desk)))


def _rollback(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    revision = _text(arguments, "revision").strip()
    if _text(arguments, "id").strip():
        found = _named(desk, arguments)
    else:
        name = _text(arguments, "skillName").strip()
        if not name:
            raise ProposalInputError("id or skillName required")
        known = _own_name(desk, skill_name(name))
        found = desk.proposals.last_applied(desk.workspace, known)
    done = desk.proposals.rollback(_mine(desk, found), revision, by=_by(desk))
    path = f"{desk.workspace}/skills/{done.skill}/{SKILL_FILE}"
    return Decided(proposal=desk.shown(done), skill_path=path, rolled_back=True)


def _history(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    name = _text(arguments, "skillName").strip()
    skill = skill_name(name) if name else ""
    about = Subject(proposal_id=_text(arguments, "id").strip(), skill=skill)
    after = _number(arguments, "after")
    told = history(desk.store, desk.workspace, about, after, knows=desk.knows)
    return replace(told, versions=desk.known(told.versions))


def history(
    store: ProposalStore,
    workspace: str,
    about: Subject,
    after: int = 0,
    *,
    knows: Knows = lambda _skill: True,
) -> History:
    """Return what happened to a proposal, to a skill or at all, from a cursor on.

    Raises:
        ProposalInputError: no log counts that far.
        ProposalNotFoundError: nothing ever happened to that proposal.
        StoreError: the store cannot be read.
    """
    is_known = not about.skill or knows(about.skill)
    most = _MOST_EVENTS + 1 if is_known else 0
    found = store.events(workspace, _counted("after", after), most, about)
    page = found[:_MOST_EVENTS]
    events = tuple(one for one in page if knows(one.skill))
    if about.proposal_id and not events:
        # A proposal is for one skill, so its first event tells.
        first = store.events(workspace, 0, 1, about)
        if not any(knows(one.skill) for one in first):
            raise ProposalNotFoundError(f"proposal not found: {_quoted(about.proposal_id)}")
    is_more = len(found) > len(page)
    skill = about.skill or (events[0].skill if about.proposal_id and events else "")
    return History(
        events=events,
        # Of what is not told nothing is told, unless the rest lies behind it.
        cursor=max([after, *(one.sequence for one in (page if is_more else events))]),
        more=is_more,
        versions=store.applied(workspace, skill) if skill else (),
    )


def _write_support_file(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    name = _own_name(desk, skill_name(_needed(arguments, "skillName")))
    path = _support_path(_needed(arguments, "relativePath"))
    body = (_needed(arguments, "body").rstrip() + "\n").encode()
    draft = Draft(
        skill=name,
        title=_line(arguments, "title") or f"Support file for {name}: {path}",
        reason=_line(arguments, "reason") or "Suggested by the agent",
        source=desk.source,
        edit=None,
        files={path: body},
        agent_id=desk.agent_id,
        session_id=desk.session_id,
    )
    apply = _choice(arguments, "apply")
    wanted = desk.proposals.rights.is_auto if apply is None else apply
    added = desk.proposals.attach(desk.workspace, draft, alone=wanted)
    if added.joined and not (desk.by_person and apply):
        # To say yes to a file is not to say yes to the skill that waits.
        return Decided(proposal=desk.shown(added.proposal))
    decided = desk.proposals.decide(added.proposal, apply=apply, by_person=desk.by_person)
    if decided.state is State.APPLIED:
        return Written(f"{desk.workspace}/skills/{name}/{path}")
    return Decided(proposal=desk.shown(decided))


_ACTIONS: Mapping[str, Callable[[Desk, Mapping[str, object]], Answer]] = {
    "status": _status,
    "list_pending": _list_pending,
    "list_quarantine": _list_quarantine,
    "inspect": _inspect,
    "suggest": _suggest,
    "apply": _apply,
    "reject": _reject,
    "write_support_file": _write_support_file,
    "revise": _revise,
    "history": _history,
    "rollback": _rollback,
}
ACTIONS = tuple(_ACTIONS)
# What a revision may say anew.
_EDITING = ("body", "section", "description", "oldText", "newText")


def state_named(word: str) -> State:
    """Return the state of that name.

    Raises:
        ProposalInputError: there is none.
    """
    if word in set(State):
        return State(word)
    problem = f"unknown status: {_quoted(word)} (one of {', '.join(State)})"
    raise ProposalInputError(problem, field="status")


def _decided(desk: Desk, proposal: Proposal) -> Decided:
    if proposal.state is not State.APPLIED:
        return Decided(proposal=desk.shown(proposal))
    path = f"{desk.workspace}/skills/{proposal.skill}/{SKILL_FILE}"
    return Decided(proposal=desk.shown(proposal), skill_path=path)


def _by(desk: Desk) -> By:
    return By(actor=desk.source.actor)


def _named(desk: Desk, arguments: Mapping[str, object]) -> Proposal:
    proposal_id = _needed(arguments, "id").strip()
    found = desk.proposals.get(desk.workspace, proposal_id)
    if not desk.knows(found.skill):
        raise ProposalNotFoundError(f"proposal not found: {_quoted(proposal_id)}")
    return found


def _own_name(desk: Desk, name: str) -> str:
    """Return the name of a skill that the agent may know of, or make."""
    if desk.knows(name):
        return name
    raise ProposalInputError(
        f"{name} is none of the skills of this agent: leave it to a person, or take another name"
    )


def _mine(desk: Desk, proposal: Proposal) -> Proposal:
    """Return a proposal that may be changed without anybody being asked."""
    is_mine = proposal.agent_id in {"", desk.agent_id}
    if is_mine or desk.by_person or not desk.unasked:
        return proposal
    raise ProposalInputError(
        "another agent proposed this: a person decides about it"
        f" (`prowess workshop inspect {proposal.id}`)"
    )


def _edit(arguments: Mapping[str, object]) -> Edit:
    old, new = _text(arguments, "oldText"), _text(arguments, "newText")
    if old or new:
        if arguments.get("newText") is None:
            raise ProposalInputError("newText required")
        # An empty one deletes the old text.
        return Replace(old_text=_needed(arguments, "oldText"), new_text=new)
    description = _line(arguments, "description")
    section = _line(arguments, "section")
    if not section:
        body = _needed(arguments, "body")
        return Create(description=description or _line(arguments, "title"), body=body)
    if not _SECTION.fullmatch(section):
        raise ProposalInputError(f"section cannot be a heading: {_quoted(section)}")
    return Append(section=section, body=_needed(arguments, "body"), description=description)


def revised(edit: Edit | None, arguments: Mapping[str, object]) -> Edit:
    """Return an edit with the given arguments in place of its own; what is not given stays.

    Raises:
        ProposalInputError: nothing is given, or it does not fit the edit.
    """
    given = {name for name in _EDITING if _text(arguments, name)}
    if isinstance(arguments.get("newText"), str):
        given.add("newText")
    if not given:
        raise ProposalInputError(f"nothing to revise: give {', '.join(_EDITING[:-1])} or newText")
    mine: dict[str, object] = {} if edit is None else _arguments_of(edit)
    if isinstance(edit, Replace) and not given & {"oldText", "newText", "section"}:
        raise ProposalInputError("this proposal replaces text: give oldText, newText or section")
    if given & {"oldText", "newText"}:
        new = _edit({**mine, **{name: arguments[name] for name in _EDITING[3:] if name in given}})
        # What a client of the gateway said of the skill itself is not the tool's to take away.
        if isinstance(new, Replace) and isinstance(edit, Replace):
            return replace(new, description=edit.description)
        return new
    # Text that was to be replaced is no part of what is added instead.
    kept = {name: value for name, value in mine.items() if name not in {"oldText", "newText"}}
    return _edit({**kept, **{name: arguments[name] for name in given}})


def _arguments_of(edit: Edit) -> dict[str, object]:
    if isinstance(edit, Replace):
        return {"oldText": edit.old_text, "newText": edit.new_text}
    section = {"section": edit.section} if isinstance(edit, Append) else {}
    return {"body": edit.body, "description": edit.description, **section}


def _support_path(path: str) -> str:
    try:
        return "/".join(support_file(path.strip()))
    except PathRefused as error:
        problem = f"relativePath {_quoted(path)}: {error.problem}"
        raise ProposalInputError(problem) from error


def _quoted(text: str) -> str:
    """Return a stranger's text fit for a message, which is shown, logged and given to a model."""
    return shown(masked(text))


def _text(arguments: Mapping[str, object], name: str) -> str:
    value = arguments.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ProposalInputError(f"{name} must be text")
    if _HALF_LETTER.search(value):
        raise ProposalInputError(f"{name} must be valid Unicode")
    return value


def _line(arguments: Mapping[str, object], name: str) -> str:
    return " ".join(_text(arguments, name).split())


def _needed(arguments: Mapping[str, object], name: str) -> str:
    value = _text(arguments, name)
    if not value.strip():
        raise ProposalInputError(f"{name} required")
    return value


def _choice(arguments: Mapping[str, object], name: str) -> bool | None:
    value = arguments.get(name)
    if isinstance(value, str):
        # Some models write every argument as a text.
        value = _WORDS.get(value.strip().lower(), value)
    if value is None or isinstance(value, bool):
        return value
    raise ProposalInputError(f"{name} must be true or false")


def _number(arguments: Mapping[str, object], name: str) -> int:
    value = arguments.get(name)
    if isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) <= _DIGITS:
        value = int(value)
    if value is None:
        return 0
    if isinstance(value, int) and not isinstance(value, bool):
        return _counted(name, value)
    raise ProposalInputError(f"{name} must be a number")


def _counted(name: str, value: int) -> int:
    if 0 <= value < _HIGHEST:
        return value
    raise ProposalInputError(f"{name} must be a number from zero on that a log can have")


def sight_of(report: StatusReport) -> Callable[[str], bool]:
    """Return what says of a skill, by its name, whether an agent may know of it."""
    visible = [one.skill for one in report.skills if one.model_visible]
    hidden = [one.skill for one in report.skills if not one.model_visible]
    hidden_folders = {skill.id.casefold() for skill in hidden}
    hidden_names = {skill.name.casefold() for skill in hidden}
    known = {name.casefold() for skill in visible for name in (skill.id, skill.name)}
    allowed = report.agent_filter.entries

    def knows(name: str) -> bool:
        if name in hidden_folders or name in known:
            return name not in hidden_folders
        return name not in hidden_names and (allowed is None or name in allowed)

    return knows
