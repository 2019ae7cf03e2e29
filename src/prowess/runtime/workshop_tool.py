"""The tool `skill_workshop`: what an agent may ask for, and in which words it is refused.

The arguments come from a model, so each one is checked as a stranger's text. Names of arguments and
messages are a contract with agents that know the tool from elsewhere.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from prowess.errors import ProposalInputError
from prowess.learning.edit import Append, Create, Edit, Replace
from prowess.learning.proposal import Proposal, Source, State, skill_name
from prowess.runtime.applying import SKILL_FILE
from prowess.runtime.drafts import Draft
from prowess.runtime.proposals import Proposals
from prowess.runtime.workshop_ports import (
    Answer,
    Counted,
    Decided,
    Inspected,
    Listed,
    ProposalStore,
    Written,
)
from prowess.safety.portable_paths import PathRefused, shown, support_file

TOOL_NAME = "skill_workshop"
_SECTION = re.compile(r"[^\W_][\w ./:-]{0,80}")
# No file and no store can hold one.
_HALF_LETTER = re.compile("[\ud800-\udfff]")
_WORDS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where a call is answered: the proposals, and for whom they are."""

    proposals: Proposals
    store: ProposalStore
    workspace: str
    agent_id: str = ""
    session_id: str = ""


def answer(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    """Do what one call of the tool asks for.

    Raises:
        ProposalError: it cannot be done.
        StoreError: the store cannot be used.
    """
    action = _text(arguments, "action").strip() or "status"
    chosen = _ACTIONS.get(action)
    if chosen is None:
        raise ProposalInputError(f"unknown action: {shown(action)}")
    return chosen(desk, arguments)


def _status(desk: Desk, _arguments: Mapping[str, object]) -> Answer:
    return Counted(workspace=desk.workspace, counts=desk.store.counts(desk.workspace))


def _list_pending(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    state = state_named(_text(arguments, "status").strip() or State.PENDING.value)
    return Listed(desk.store.listed(desk.workspace, state))


def _list_quarantine(desk: Desk, _arguments: Mapping[str, object]) -> Answer:
    return Listed(desk.store.listed(desk.workspace, State.QUARANTINED))


def _inspect(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    return Inspected(_named(desk, arguments))


def _suggest(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    title = _line(arguments, "title")
    name = skill_name(_needed(arguments, "skillName"), title)
    draft = Draft(
        skill=name,
        title=title or f"Skill update: {name}",
        reason=_line(arguments, "reason") or "Suggested by the agent",
        source=Source.TOOL,
        edit=_edit(arguments),
        agent_id=desk.agent_id,
        session_id=desk.session_id,
    )
    apply = _choice(arguments, "apply")
    proposal = desk.proposals.propose(desk.workspace, draft).proposal
    return _decided(desk, desk.proposals.decide(proposal, apply=apply))


def _apply(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    revision = _text(arguments, "revision").strip()
    return _decided(desk, desk.proposals.apply(_named(desk, arguments), revision))


def _reject(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    revision = _text(arguments, "revision").strip()
    return _decided(desk, desk.proposals.reject(_named(desk, arguments), revision))


def _write_support_file(desk: Desk, arguments: Mapping[str, object]) -> Answer:
    name = skill_name(_needed(arguments, "skillName"))
    path = _support_path(_needed(arguments, "relativePath"))
    body = (_needed(arguments, "body").rstrip() + "\n").encode()
    draft = Draft(
        skill=name,
        title=_line(arguments, "title") or f"Support file for {name}: {path}",
        reason=_line(arguments, "reason") or "Suggested by the agent",
        source=Source.TOOL,
        edit=None,
        files={path: body},
        agent_id=desk.agent_id,
        session_id=desk.session_id,
    )
    apply = _choice(arguments, "apply")
    proposal = desk.proposals.attach(desk.workspace, draft).proposal
    decided = desk.proposals.decide(proposal, apply=apply)
    if decided.state is State.APPLIED:
        return Written(f"{desk.workspace}/skills/{name}/{path}")
    return Decided(proposal=decided)


_ACTIONS: Mapping[str, Callable[[Desk, Mapping[str, object]], Answer]] = {
    "status": _status,
    "list_pending": _list_pending,
    "list_quarantine": _list_quarantine,
    "inspect": _inspect,
    "suggest": _suggest,
    "apply": _apply,
    "reject": _reject,
    "write_support_file": _write_support_file,
}
ACTIONS = tuple(_ACTIONS)


def state_named(word: str) -> State:
    """Return the state of that name.

    Raises:
        ProposalInputError: there is none.
    """
    if word in set(State):
        return State(word)
    raise ProposalInputError(f"unknown status: {shown(word)} (one of {', '.join(State)})")


def _decided(desk: Desk, proposal: Proposal) -> Decided:
    if proposal.state is not State.APPLIED:
        return Decided(proposal=proposal)
    path = f"{desk.workspace}/skills/{proposal.skill}/{SKILL_FILE}"
    return Decided(proposal=proposal, skill_path=path)


def _named(desk: Desk, arguments: Mapping[str, object]) -> Proposal:
    return desk.proposals.get(desk.workspace, _needed(arguments, "id").strip())


def _edit(arguments: Mapping[str, object]) -> Edit:
    old, new = _text(arguments, "oldText"), _text(arguments, "newText")
    if old or new:
        return Replace(
            old_text=_needed(arguments, "oldText"), new_text=_needed(arguments, "newText")
        )
    description = _line(arguments, "description")
    section = _line(arguments, "section")
    if not section:
        body = _needed(arguments, "body")
        return Create(description=description or _line(arguments, "title"), body=body)
    if not _SECTION.fullmatch(section):
        raise ProposalInputError(f"section cannot be a heading: {shown(section)}")
    return Append(section=section, body=_needed(arguments, "body"), description=description)


def _support_path(path: str) -> str:
    try:
        return "/".join(support_file(path.strip()))
    except PathRefused as error:
        raise ProposalInputError(f"relativePath {error}") from error


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
