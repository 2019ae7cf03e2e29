"""The tool `skill_workshop`: what an agent may ask for, and in which words it is refused.

The arguments come from a model, so each one is checked as a stranger's text. Names of arguments and
messages are a contract with agents that know the tool from elsewhere. A skill that the agent may
not know of does not exist here, and neither does what anybody proposed for it: no answer names it.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from prowess.data import read_text
from prowess.errors import ProposalInputError, ProposalNotFoundError
from prowess.runtime.service import StatusReport
from prowess.runtime.workshop.drafts import Draft, find_place
from prowess.runtime.workshop.ports import (
    SKILL_FILE,
    Answer,
    Counted,
    Decided,
    Inspected,
    ListedProposals,
    ProposalStore,
    Written,
)
from prowess.runtime.workshop.proposals import Proposals, check_number, find_state, quote
from prowess.safety.paths import PathRefused, support_file
from prowess.settings import ApprovalPolicy, WorkshopSettings
from prowess.skills.harness.rules import Reader, reader_named
from prowess.workshop.edit import Append, Create, Edit, Replace
from prowess.workshop.proposal import By, Proposal, ProposalSource, State, Subject, skill_name

TOOL_NAME = "skill_workshop"
_SECTION = re.compile(r"[^\W_][\w ./:-]{0,80}")
# No file and no store can hold one.
_HALF_LETTER = re.compile("[\ud800-\udfff]")
_WORDS = {"true": True, "false": False}
_DIGITS = 19
# What a revision may say anew.
_EDITING = ("body", "section", "description", "oldText", "newText")
_SUGGESTED = "Suggested by the agent"
_POLICIES = {
    ApprovalPolicy.PENDING: "Queue suggestions; apply one only after the user said yes to it.",
    ApprovalPolicy.AUTO: "Safe suggestions are applied at once: suggest what is clearly reusable.",
}


def guide_agent(settings: WorkshopSettings) -> str:
    """Return what an agent is told about the tool; nothing where the workshop is off."""
    if not settings.active:
        return ""
    text = read_text("runtime/workshop/guidance.txt").rstrip()
    return text.format(policy=_POLICIES[settings.approval_policy])


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkshopCall:
    """One call: what is asked for, by whom, and what whoever asks may see."""

    arguments: Mapping[str, object]
    proposals: Proposals
    store: ProposalStore
    workspace: str
    agent_id: str = ""
    session_id: str = ""
    source: ProposalSource = ProposalSource.TOOL
    # Whether a person asks, or has just said yes to this very call.
    by_person: bool = False
    # Whether the agent may know of a skill, by its name.
    knows: Callable[[str], bool] = lambda _skill: True

    def answer(self) -> Answer:
        """Do what the call asks for.

        Raises:
            ProposalError: it cannot be done.
            StoreError: the store cannot be used.
        """
        action = self._word("action") or "status"
        chosen = _ACTIONS.get(action)
        if chosen is None:
            raise ProposalInputError(f"unknown action: {quote(action)}")
        _refuse_unread(action, self.arguments)
        return chosen(self)

    def status(self) -> Answer:
        """Count the proposals."""
        known = self._show_all(self.store.listed(self.workspace))
        return Counted(workspace=self.workspace, counts=Counter(one.state for one in known))

    def list_pending(self) -> Answer:
        """List the proposals of a state."""
        state = find_state(self._word("status") or State.PENDING.value)
        return ListedProposals(self._show_all(self.store.listed(self.workspace, state)))

    def list_quarantine(self) -> Answer:
        """List what is quarantined."""
        return ListedProposals(self._show_all(self.store.listed(self.workspace, State.QUARANTINED)))

    def inspect(self) -> Answer:
        """Show one proposal."""
        return Inspected(self._show(self._find_named()))

    def suggest(self) -> Answer:
        """Propose a skill or a change to one."""
        title = _read_line(self.arguments, "title")
        name = self._require_own(skill_name(_read_needed(self.arguments, "skillName"), title))
        draft = self._draft(
            name, title or f"Skill update: {name}", edit=_read_edit(self.arguments), files={}
        )
        draft = replace(draft, overrule=bool(self._choice("overrule")))
        apply = self._choice("apply")
        proposal = self.proposals.propose(self.workspace, draft).proposal
        if apply and proposal.skill != name:
            # That was said of a new skill: about the one that is appended to the policy decides.
            apply = None
        return self._decide(self.proposals.decide(proposal, apply=apply, by_person=self.by_person))

    def apply(self) -> Answer:
        """Write a proposal to its skill."""
        revision, found = self._word("revision"), self._mine(self._find_named())
        why = "" if self.by_person else self.proposals.needs_person(found)
        if why and found.state is State.PENDING:
            raise ProposalInputError(
                f"{why}: a person decides about this (`prowess workshop apply {found.id}`)"
            )
        return self._decide(self.proposals.apply(found, revision, by=self._by))

    def reject(self) -> Answer:
        """Refuse a proposal."""
        revision, found = self._word("revision"), self._find_named()
        note = _read_line(self.arguments, "reason")
        done = self.proposals.reject(found, revision, note, by_person=self.by_person, by=self._by)
        return self._decide(done)

    def revise(self) -> Answer:
        """Change what a pending proposal says."""
        proposal = self._mine(self._find_named())
        edit = revise_edit(proposal.edit, self.arguments)
        return self._decide(
            self.proposals.revise(proposal, edit, self._word("revision"), by=self._by)
        )

    def rollback(self) -> Answer:
        """Bring back what the last change of a skill replaced."""
        revision = self._word("revision")
        if self._word("id"):
            found = self._find_named()
        else:
            name = self._word("skillName")
            if not name:
                raise ProposalInputError("id or skillName required")
            known = self._require_own(skill_name(name))
            found = self.proposals.last_applied(self.workspace, known)
        done = self.proposals.rollback(self._mine(found), revision, by=self._by)
        return Decided(
            proposal=self._show(done),
            skill_path=f"{done.root}/{done.skill}/{SKILL_FILE}",
            rolled_back=True,
        )

    def history(self) -> Answer:
        """Say what happened."""
        name = self._word("skillName")
        about = Subject(proposal_id=self._word("id"), skill=skill_name(name) if name else "")
        after = _read_number(self.arguments, "after")
        told = self.proposals.history(self.workspace, about, after, knows=self.knows)
        return replace(told, versions=self._show_all(told.versions))

    def write_support_file(self) -> Answer:
        """Propose a support file of a skill."""
        name = self._require_own(skill_name(_read_needed(self.arguments, "skillName")))
        path = _read_support_path(_read_needed(self.arguments, "relativePath"))
        body = (_read_needed(self.arguments, "body").rstrip() + "\n").encode()
        title = _read_line(self.arguments, "title") or f"Support file for {name}: {path}"
        draft = self._draft(name, title, edit=None, files={path: body})
        apply = self._choice("apply")
        wanted = self.proposals.is_auto if apply is None else apply
        added = self.proposals.attach(self.workspace, draft, alone=wanted)
        if added.joined and not (self.by_person and apply):
            # To say yes to a file is not to say yes to the skill that waits.
            return Decided(proposal=self._show(added.proposal))
        decided = self.proposals.decide(added.proposal, apply=apply, by_person=self.by_person)
        if decided.state is State.APPLIED:
            return Written(f"{self.workspace}/skills/{name}/{path}")
        return Decided(proposal=self._show(decided))

    def _draft(
        self, skill: str, title: str, *, edit: Edit | None, files: Mapping[str, bytes]
    ) -> Draft:
        return Draft(
            skill=skill,
            title=title,
            reason=_read_line(self.arguments, "reason") or _SUGGESTED,
            source=self.source,
            edit=edit,
            files=files,
            agent_id=self.agent_id,
            session_id=self.session_id,
            place=self._place(skill, edit),
        )

    def _place(self, skill: str, edit: Edit | None) -> str:
        """Return where a new skill goes; one that the workspace has stays there.

        Raises:
            ProposalInputError: nobody is called what the call names as the harness.
        """
        named = self._word("harness")
        if not named:
            return ""
        try:
            reader = reader_named(named)
        except ValueError as error:
            problem = f"harness: nobody is called {quote(named)}: give {', '.join(Reader)}"
            raise ProposalInputError(problem, field="harness") from error
        is_new = isinstance(edit, Create) and not self.proposals.current(self.workspace, skill)
        said = " ".join(_read_text(self.arguments, name) for name in ("reason", "body"))
        return find_place(reader, said) if is_new else ""

    def _show_all(self, proposals: Iterable[Proposal]) -> tuple[Proposal, ...]:
        """Return the proposals for skills that the agent may know of, each as it may see it."""
        return tuple(self._show(one) for one in proposals if self.knows(one.skill))

    def _show(self, proposal: Proposal) -> Proposal:
        """Return a proposal without the names of skills that the agent may not know of."""
        similar = tuple(one for one in proposal.similar if self.knows(one.skill))
        return proposal if similar == proposal.similar else replace(proposal, similar=similar)

    def _decide(self, proposal: Proposal) -> Decided:
        path = f"{proposal.root}/{proposal.skill}/{SKILL_FILE}"
        path = path if proposal.state is State.APPLIED else ""
        return Decided(proposal=self._show(proposal), skill_path=path)

    @property
    def _by(self) -> By:
        return By(actor=self.source.actor)

    def _find_named(self) -> Proposal:
        proposal_id = _read_needed(self.arguments, "id").strip()
        found = self.proposals.get(self.workspace, proposal_id)
        if not self.knows(found.skill):
            raise ProposalNotFoundError(f"proposal not found: {quote(proposal_id)}")
        return found

    def _require_own(self, name: str) -> str:
        """Return the name of a skill that the agent may know of, or make."""
        if self.knows(name):
            return name
        raise ProposalInputError(
            f"{name} is none of the skills of this agent: leave it to a person, or take another"
            " name"
        )

    def _mine(self, proposal: Proposal) -> Proposal:
        """Return a proposal that may be changed without anybody being asked."""
        if self.by_person or proposal.agent_id in {"", self.agent_id}:
            return proposal
        raise ProposalInputError(
            "another agent proposed this: a person decides about it"
            f" (`prowess workshop inspect {proposal.id}`)"
        )

    def _word(self, name: str) -> str:
        return _read_text(self.arguments, name).strip()

    def _choice(self, name: str) -> bool | None:
        value = self.arguments.get(name)
        if isinstance(value, str):
            # Some models write every argument as a text.
            value = _WORDS.get(value.strip().lower(), value)
        if value is None or isinstance(value, bool):
            return value
        raise ProposalInputError(f"{name} must be true or false")


_ACTIONS: Mapping[str, Callable[[WorkshopCall], Answer]] = {
    "status": WorkshopCall.status,
    "list_pending": WorkshopCall.list_pending,
    "list_quarantine": WorkshopCall.list_quarantine,
    "inspect": WorkshopCall.inspect,
    "suggest": WorkshopCall.suggest,
    "apply": WorkshopCall.apply,
    "reject": WorkshopCall.reject,
    "write_support_file": WorkshopCall.write_support_file,
    "revise": WorkshopCall.revise,
    "history": WorkshopCall.history,
    "rollback": WorkshopCall.rollback,
}
ACTIONS = tuple(_ACTIONS)
# What carries text, by the actions that read it: nothing that somebody wrote is dropped unsaid.
_CONTENT = {"suggest": _EDITING, "revise": _EDITING, "write_support_file": ("body", "relativePath")}
_HINTS = {
    "relativePath": "a support file is proposed by the action write_support_file",
    "supportfile": "propose each by the action write_support_file, with relativePath and body",
}
ARGUMENTS = (
    "action", "id", "revision", "status", "skillName", "title", "reason", *_EDITING, "apply",
    "overrule", "after", "relativePath", "harness",
)  # fmt: skip


def _refuse_unread(action: str, arguments: Mapping[str, object]) -> None:
    """Refuse a call with an argument that nobody would read.

    Raises:
        ProposalInputError: there is one; the message says what to give instead.
    """
    for name in sorted(set(arguments) - set(ARGUMENTS)):
        plain = re.sub(r"[^a-z]", "", name.lower())
        near = next((one for one in ARGUMENTS if one.lower() == plain), "")
        hint = f"give {near}" if near else f"give only {', '.join(ARGUMENTS)}"
        if "file" in plain:
            hint = _HINTS["supportfile"]
        raise ProposalInputError(f"there is no argument {quote(name)}: {hint}")
    for name in (*_EDITING, "relativePath"):
        if arguments.get(name) and name not in _CONTENT.get(action, ()):
            hint = f"; {_HINTS[name]}" if name in _HINTS else ""
            raise ProposalInputError(f"{name} is not for {action}{hint}")
    if arguments.get("oldText") and arguments.get("body"):
        raise ProposalInputError(
            "give body, or oldText and newText: a proposal does one of the two"
        )


def revise_edit(edit: Edit | None, arguments: Mapping[str, object]) -> Edit:
    """Return an edit with the given arguments in place of its own; what is not given stays.

    Raises:
        ProposalInputError: nothing is given, or it does not fit the edit.
    """
    given = {name for name in _EDITING if _read_text(arguments, name)}
    if isinstance(arguments.get("newText"), str):
        given.add("newText")
    if not given:
        raise ProposalInputError(f"nothing to revise: give {', '.join(_EDITING[:-1])} or newText")
    mine: dict[str, object] = {} if edit is None else _arguments_of(edit)
    if isinstance(edit, Replace) and not given & {"oldText", "newText", "section"}:
        raise ProposalInputError("this proposal replaces text: give oldText, newText or section")
    if given & {"oldText", "newText"}:
        replaced = {name: arguments[name] for name in _EDITING[3:] if name in given}
        new = _read_edit({**mine, **replaced})
        # What a client of the gateway said of the skill itself is not the tool's to take away.
        if isinstance(new, Replace) and isinstance(edit, Replace):
            return replace(new, description=edit.description)
        return new
    # Text that was to be replaced is no part of what is added instead.
    kept = {name: value for name, value in mine.items() if name not in {"oldText", "newText"}}
    return _read_edit({**kept, **{name: arguments[name] for name in given}})


def _read_edit(arguments: Mapping[str, object]) -> Edit:
    old, new = _read_text(arguments, "oldText"), _read_text(arguments, "newText")
    if old or new:
        if arguments.get("newText") is None:
            raise ProposalInputError("newText required")
        # An empty one deletes the old text.
        return Replace(old_text=_read_needed(arguments, "oldText"), new_text=new)
    description, section = _read_line(arguments, "description"), _read_line(arguments, "section")
    if not section:
        body = _read_needed(arguments, "body")
        return Create(description=description or _read_line(arguments, "title"), body=body)
    if not _SECTION.fullmatch(section):
        raise ProposalInputError(f"section cannot be a heading: {quote(section)}")
    return Append(section=section, body=_read_needed(arguments, "body"), description=description)


def _arguments_of(edit: Edit) -> dict[str, object]:
    if isinstance(edit, Replace):
        return {"oldText": edit.old_text, "newText": edit.new_text}
    section = {"section": edit.section} if isinstance(edit, Append) else {}
    return {"body": edit.body, "description": edit.description, **section}


def _read_support_path(path: str) -> str:
    try:
        return "/".join(support_file(path.strip()))
    except PathRefused as error:
        problem = f"relativePath {quote(path)}: {error.problem}"
        raise ProposalInputError(problem) from error


def _read_text(arguments: Mapping[str, object], name: str) -> str:
    value = arguments.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ProposalInputError(f"{name} must be text")
    if _HALF_LETTER.search(value):
        raise ProposalInputError(f"{name} must be valid Unicode")
    return value


def _read_line(arguments: Mapping[str, object], name: str) -> str:
    return " ".join(_read_text(arguments, name).split())


def _read_needed(arguments: Mapping[str, object], name: str) -> str:
    value = _read_text(arguments, name)
    if not value.strip():
        raise ProposalInputError(f"{name} required")
    return value


def _read_number(arguments: Mapping[str, object], name: str) -> int:
    value = arguments.get(name)
    if isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) <= _DIGITS:
        value = int(value)
    if value is None:
        return 0
    if isinstance(value, int) and not isinstance(value, bool):
        return check_number(name, value)
    raise ProposalInputError(f"{name} must be a number")


def sight_of(report: StatusReport) -> Callable[[str], bool]:
    """Return what says of a skill, by its name, whether an agent may know of it.

    The workshop writes to folders, so the skill whose folder has a name counts before another one
    that is only called so. An agent with a list gets one answer about every name that is not on it,
    whether there is such a skill or not: two answers would tell which there are.
    """
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
