"""The workshop: a correction in a turn, or a call of its tool, becomes a proposal for a skill.

Settings are read at each call. Whatever goes wrong while a turn is looked at ends in the log and
not in the turn: learning must never break the work that it learns from.
"""

import hashlib
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING

from prowess.errors import ConfigError, ProposalError
from prowess.runtime.workshop.drafts import Draft, find_place
from prowess.runtime.workshop.ports import REVIEW_SESSION_PREFIX, History, WorkshopPorts
from prowess.runtime.workshop.proposals import Proposals, find_state
from prowess.settings import ReviewMode, WorkshopSettings
from prowess.skills.harness.rules import Reader
from prowess.skills.model import Skill
from prowess.transcripts.turns import Role, Transcript, count_calls, read_turns, tell_calls
from prowess.workshop.edit import DEFAULT_SECTION, Append, Create, Edit, Replace
from prowess.workshop.proposal import (
    Actor,
    By,
    Capture,
    EventKind,
    Evidence,
    Proposal,
    ProposalEvent,
    ProposalSource,
    State,
    Subject,
    capture,
    says_the_same,
)

if TYPE_CHECKING:
    from prowess.hooks.answers import Incoming
    from prowess.runtime.workshop.review import Reviews

log = logging.getLogger("prowess.workshop")

# Who is at a terminal: the log has no name of its own for a person.
_PERSON = By(actor=Actor.SYSTEM)
_BY_PHRASE = frozenset((ReviewMode.HEURISTIC, ReviewMode.HYBRID))
_BY_MODEL = frozenset((ReviewMode.LLM, ReviewMode.HYBRID))
# A line of a list, as far as it may be one rule.
_RULE = re.compile(r"(?m)^[ \t]{0,8}[-*+\d.]{1,3} (.{1,300})$")
_WAITING = frozenset((State.PENDING, State.QUARANTINED))
# The newest rules, by their meaning; an encoder reads each of them anew.
_MOST_COMPARED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSeen:
    """A turn that ended: its messages, how many tools were called, and whether it went well."""

    messages: Sequence[Mapping[str, object]]
    tool_calls: int = 0
    ok: bool = True
    agent_id: str = ""
    session_id: str = ""
    # What was said before this turn: context for the reviewer, never captured again.
    history: Sequence[Mapping[str, object]] = ()
    # Whose agent it was, where that is known: its skills lie in folders of its own.
    reader: Reader | None = None


class WorkshopService:
    """Learns from turns and answers the tool, for every agent.

    Every method raises `StoreError` where the store cannot be used. While the workshop is off,
    nothing is proposed, reworded, written or taken back (`WorkshopDisabledError`).
    """

    def __init__(
        self, ports: WorkshopPorts, open_reviews: "Callable[[], Reviews] | None" = None
    ) -> None:
        """Open nothing yet; without `open_reviews` no language model takes part at all."""
        self._ports = ports
        self._proposals = Proposals(ports)
        self._open_reviews = open_reviews
        self._reviews: Reviews | None = None
        self._opening = Lock()

    @property
    def reviews(self) -> "Reviews | None":
        """The reviews by a language model, and what was said last about a turn."""
        # Two of them would not know of each other's questions.
        with self._opening:
            if self._reviews is None and self._open_reviews is not None:
                self._reviews = self._open_reviews()
        return self._reviews

    @property
    def enabled(self) -> bool:
        """True where the operator switched the workshop on."""
        return self._proposals.enabled

    def require_enabled(self) -> None:
        """Refuse where nothing may be proposed or written: for whoever asks a person first.

        Raises:
            WorkshopDisabledError: the workshop is switched off.
        """
        self._proposals.require_enabled()

    def observe(self, turn: TurnSeen) -> tuple[Proposal, ...]:
        """Look at a turn that ended; return what was proposed, or already waits, because of it."""
        try:
            settings = self._ports.settings()
            if not _learns(settings, turn):
                return ()
            found = capture(read_turns(turn.messages))
            heard: tuple[Proposal, ...] = ()
            if found is not None and settings.review_mode in _BY_PHRASE:
                heard = self._capture(found, turn)
            if settings.review_mode not in _BY_MODEL or self.reviews is None:
                return heard
            return (*heard, *self._review(self.reviews, turn, hit=found is not None))
        except ConfigError as error:
            # The turn is over, and whoever mends the file will see the next one learned from.
            log.warning("skill-workshop: nothing is learned from this turn: %s", error)
            return ()

    def _capture(self, found: Capture, turn: TurnSeen) -> tuple[Proposal, ...]:
        try:
            return self._propose(self._draft(found, turn))
        except ProposalError as error:
            note = f"heuristic capture skipped: {error}"
            log.info("skill-workshop: %s", note)
            if self.reviews is not None:
                self.reviews.keep(turn.agent_id, "phrases", note)
            return ()

    def _review(self, reviews: "Reviews", turn: TurnSeen, *, hit: bool) -> tuple[Proposal, ...]:
        # Late: most turns are not reviewed.
        from prowess.runtime.workshop.review import ObservedTurn

        observed = ObservedTurn(
            lines=list(_lines_of([*turn.history, *turn.messages])),
            tool_calls=turn.tool_calls,
            ok=turn.ok,
            session_id=turn.session_id,
        )
        outcome = reviews.observe(turn.agent_id, observed, hit=hit)
        if outcome.log_line:
            log.info("%s", outcome.log_line)
        if outcome.suggestion is None:
            return ()
        wanted = outcome.suggestion
        draft = Draft(
            skill=wanted.skill,
            title=wanted.title,
            reason=wanted.reason,
            source=ProposalSource.REVIEWER,
            edit=wanted.edit,
            overrule=wanted.overrule,
            agent_id=turn.agent_id,
            session_id=turn.session_id,
            place=find_place(turn.reader) if isinstance(wanted.edit, Create) else "",
        )
        try:
            return self._propose(draft)
        except ProposalError as error:
            log.info("skill-workshop: reviewer skipped: %s", error)
            reviews.keep(turn.agent_id, "reviewer", f"reviewer skipped: {error}")
            return ()

    def call(
        self,
        arguments: Mapping[str, object],
        *,
        agent_id: str = "",
        session_id: str = "",
        source: ProposalSource = ProposalSource.TOOL,
        by_person: bool = False,
    ) -> dict[str, object]:
        """Answer one call of the tool `skill_workshop`; `source` says who calls.

        With `by_person` a person asks, or has just said yes to this very call: only then is a
        skill written that a person wrote by hand, or one that takes the name of another.

        Raises:
            ProposalError: it is switched off, or cannot do what it is asked for.
        """
        self.require_enabled()
        agent_id = self._ports.agent(agent_id)
        # Late: most turns call no tool.
        from prowess.runtime.workshop.tool import WorkshopCall

        call = WorkshopCall(
            arguments=arguments,
            proposals=self._proposals,
            store=self._ports.store,
            workspace=self._settle(agent_id),
            agent_id=agent_id,
            session_id=session_id,
            source=source,
            by_person=by_person or source is ProposalSource.CLI,
            knows=self._ports.sight_of(source, agent_id),
        )
        return self._ports.show(call.answer())

    def guidance(self) -> str:
        """Return what an agent is told about the tool; nothing where it is switched off."""
        from prowess.runtime.workshop.tool import guide_agent

        return guide_agent(self._ports.settings())

    def list(
        self, status: State | str | None = None, *, agent_id: str = ""
    ) -> tuple[Proposal, ...]:
        """Return the proposals of a state, or all of them, newest first.

        Raises:
            ProposalInputError: there is no such state.
        """
        state = None if status is None else find_state(str(status))
        return self._ports.store.listed(self._settle(agent_id), state)

    def inspect(self, proposal_id: str, *, agent_id: str = "") -> Proposal:
        """Return one proposal.

        Raises:
            ProposalNotFoundError: there is none of that id.
        """
        return self._proposals.get(self._ports.workspace(agent_id), proposal_id)

    def apply(
        self,
        proposal_id: str,
        *,
        revision: str = "",
        reason: str = "",
        agent_id: str = "",
        by: By = _PERSON,
    ) -> Proposal:
        """Write a pending proposal to its skill; `revision` is the one that was reviewed.

        Raises:
            ProposalError: it cannot be applied.
        """
        found = self._find_changeable(proposal_id, agent_id)
        return self._proposals.apply(found, revision, reason, by)

    def reject(
        self,
        proposal_id: str,
        *,
        revision: str = "",
        reason: str = "",
        agent_id: str = "",
        by: By = _PERSON,
    ) -> Proposal:
        """Refuse a pending or quarantined proposal; `revision` is the one that was seen.

        Raises:
            ProposalError: it cannot be rejected.
        """
        found = self.inspect(proposal_id, agent_id=agent_id)
        return self._proposals.reject(found, revision, reason, by_person=True, by=by)

    def redescribe(self, skill: Skill, description: str, reason: str, agent_id: str) -> Proposal:
        """Propose another description for a skill, and nothing else.

        Raises:
            ProposalError: the workshop is switched off, or cannot change that skill.
        """
        self.require_enabled()
        body = skill.body.strip()
        draft = Draft(
            skill=skill.name,
            title=f"Description of {skill.name}",
            reason=reason,
            source=ProposalSource.CLI,
            edit=Replace(old_text=body, new_text=body, description=description),
            agent_id=agent_id,
        )
        return self._proposals.propose(self._settle(agent_id), draft).proposal

    def revise(
        self, proposal_id: str, edit: Edit, *, revision: str = "", agent_id: str = ""
    ) -> Proposal:
        """Put another edit in the place of a pending proposal's own; `revision` is the one seen.

        Raises:
            ProposalError: it cannot be revised.
        """
        found = self._find_changeable(proposal_id, agent_id)
        return self._proposals.revise(found, edit, revision, by=_PERSON)

    def rollback(
        self,
        proposal_id: str,
        *,
        revision: str = "",
        reason: str = "",
        agent_id: str = "",
        by: By = _PERSON,
    ) -> Proposal:
        """Bring back what the last change of a skill replaced; the proposal is pending again.

        Raises:
            ProposalError: it cannot be rolled back.
        """
        found = self._find_changeable(proposal_id, agent_id)
        return self._proposals.rollback(found, revision, reason, by)

    def history(
        self, proposal_id: str = "", *, skill: str = "", after: int = 0, agent_id: str = ""
    ) -> History:
        """Return what happened to a proposal, to a skill or at all, after event number `after`.

        Raises:
            ProposalNotFoundError: there never was such a proposal.
        """
        workspace = self._settle(agent_id)
        about = Subject(proposal_id=proposal_id, skill=skill)
        return self._proposals.history(workspace, about, after)

    def events(self, after: int = 0, *, agent_id: str = "") -> tuple[ProposalEvent, ...]:
        """Return what happened after event number `after`, oldest first."""
        return self._ports.store.events(self._settle(agent_id), after)

    def _find_changeable(self, proposal_id: str, agent_id: str) -> Proposal:
        # Off is said before anything else, also of a proposal that does not exist.
        self.require_enabled()
        return self.inspect(proposal_id, agent_id=agent_id)

    def _settle(self, agent_id: str) -> str:
        """Return an agent's workspace, where nothing that was cut off is left open."""
        workspace = self._ports.workspace(agent_id)
        self._proposals.settle(workspace)
        return workspace

    def _propose(self, draft: Draft) -> tuple[Proposal, ...]:
        workspace = self._ports.workspace(draft.agent_id)
        proposed = self._proposals.propose(workspace, draft)
        if not proposed.is_new:
            # What somebody rejected, or what was applied before, is not brought up again.
            return (proposed.proposal,) if proposed.proposal.state in _WAITING else ()
        if draft.source is ProposalSource.AGENT_END:
            # No model and no person read it: it waits, whatever the policy.
            return (proposed.proposal,)
        return (self._proposals.decide(proposed.proposal),)

    def knows_rule(self, said: str, *, agent_id: str = "") -> bool:
        """Return whether a rule was proposed before, in these or in other words."""
        return self._find_rule(said, agent_id) is not None

    def _find_rule(self, said: str, agent_id: str) -> Proposal | None:
        """Return the newest proposal that is about the same rule."""
        listed = self._ports.store.listed(self._ports.workspace(agent_id), None)
        rules = [(rule, one) for one in listed for rule in _list_rules(one)]
        same = next((one for rule, one in rules if says_the_same(said, rule)), None)
        if same is not None:
            return same
        near = rules[:_MOST_COMPARED]
        likeness = self._ports.compare(said, [rule for rule, _ in near])
        told = zip(near, likeness, strict=True)
        return next((one for (rule, one), like in told if says_the_same(said, rule, like)), None)

    def _draft(self, found: Capture, turn: TurnSeen) -> Draft:
        topic, known = found.topic, self._find_rule(found.instruction, turn.agent_id)
        draft = Draft(
            skill=topic.skill,
            title=topic.title,
            reason=found.reason,
            source=ProposalSource.AGENT_END,
            edit=Create(description=found.description, body=found.body),
            evidence=(_evidence(found),),
            agent_id=turn.agent_id,
            session_id=turn.session_id,
            # The same rule is the same wish, in whatever words and whichever skill it would go to.
            payload=known.payload if known else _words_hash(found.instruction),
            # The router is asked below; skills of topics are alike in all but one line.
            compare=False,
            place=find_place(turn.reader, found.instruction),
        )
        owner = self._ports.route(found.instruction, turn.agent_id)
        if owner is None or owner[0] == topic.skill:
            return draft
        name, score = owner
        return replace(
            draft,
            skill=name,
            title=f"Skill update: {name}",
            reason=f"{found.reason}; it belongs to {name} (the router's score is {score:.2f})",
            edit=Append(section=DEFAULT_SECTION, body=found.bullet),
            compare=True,
            place="",
        )


def _list_rules(proposal: Proposal) -> Iterator[str]:
    """Yield the rules that a proposal is about: as they were said, or as an agent worded them."""
    if proposal.source is ProposalSource.AGENT_END:
        yield from (shown.quote for shown in proposal.evidence)
    elif proposal.source is ProposalSource.TOOL and isinstance(proposal.edit, Create | Append):
        yield from _RULE.findall(proposal.edit.body)


def _lines_of(messages: "Messages") -> Iterator[tuple[str, str]]:
    """Yield what was said and which tools were called, by role."""
    for message in messages:
        yield from ((one.role.value, one.text) for one in read_turns([message]))
        if told := tell_calls(message):
            yield "tool", told


def _learns(settings: WorkshopSettings, turn: TurnSeen) -> bool:
    """Return whether anything is learned from this turn at all."""
    wanted = settings.active and settings.auto_capture
    looked_for = wanted and settings.review_mode is not ReviewMode.OFF
    return looked_for and turn.ok and not turn.session_id.startswith(REVIEW_SESSION_PREFIX)


def _words_hash(instruction: str) -> str:
    words = f"capture\0{instruction}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(words).hexdigest()


def _evidence(found: Capture) -> Evidence:
    return Evidence(place=found.turn.place, role=found.turn.role.value, quote=found.instruction)


Messages = Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningTools:
    """What learning from a hook needs of the world."""

    workshop: Callable[[], WorkshopService]
    # The session that a call names; None where there is none that may be read.
    session: Callable[["Incoming"], Transcript | None]
    # Whether a turn, by its key, is seen for the first time.
    is_first: Callable[[str], bool]


class TurnLearning:
    """Learns from turns that a hook saw end, each once, whichever event brings it.

    The end of a session brings its last turn again, and so does a hook that is registered twice.
    """

    def __init__(self, tools: LearningTools) -> None:
        self._ports = tools

    def learn(self, incoming: "Incoming") -> int:
        """Hand the last turn to the workshop; return how many proposals came of it.

        Raises:
            ProwessError: the session or the store cannot be used.
        """
        # An agent that was made to go on has not ended its turn yet.
        if incoming.stop_hook_active:
            return 0
        session = self._ports.session(incoming)
        messages, number = _find_last_turn(incoming, session)
        said = read_turns(messages)
        asked = "\n".join(turn.text for turn in said if turn.role is Role.USER)
        if not asked.strip() or not self._ports.is_first(_key(incoming, number, asked)):
            return 0
        seen = TurnSeen(
            messages=messages,
            tool_calls=count_calls(said),
            session_id=incoming.session,
            agent_id="",
            history=_list_earlier(session),
            reader=Reader(incoming.harness.value),
        )
        return len(self._ports.workshop().observe(seen))


# As many as a reviewer has room for.
_MOST_EARLIER = 20


def _list_earlier(session: Transcript | None) -> Messages:
    """Return what was said in the turns before the last one."""
    turns = () if session is None else session.turns[-_MOST_EARLIER:-1]
    return [message for turn in turns for message in turn.contents]


def _find_last_turn(incoming: "Incoming", session: Transcript | None) -> tuple[Messages, int]:
    """Return the messages of the last turn, and its number in the session if that is known."""
    if incoming.prompt:
        return _messages_of(incoming), 0
    if session is None or not session.turns:
        return (), 0
    messages: list[Mapping[str, object]] = list(session.turns[-1].contents)
    last = incoming.last_message.strip()
    # The file is written later than the hook is called.
    if last and not any(last in turn.text for turn in read_turns(messages)):
        messages.append({"role": "assistant", "content": last})
    return messages, len(session.turns)


def _messages_of(incoming: "Incoming") -> Messages:
    return (
        {"role": "user", "content": incoming.prompt},
        {"role": "assistant", "content": incoming.last_message},
    )


def _key(incoming: "Incoming", number: int, asked: str) -> str:
    # Each of these two runs the hooks of the other: one turn then comes under both names.
    harness = {"vscode": "copilot"}.get(incoming.harness.value, incoming.harness.value)
    parts = (harness, incoming.session, str(number), asked)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


_WORDED = frozenset((EventKind.CREATED, EventKind.REVISED))


def wordings(workshop: WorkshopService, proposal_id: str, agent_id: str) -> tuple[int, ...]:
    """Return the numbers of the events by which a proposal got the words it has.

    Raises:
        ProposalNotFoundError: there never was such a proposal.
        StoreError: the store cannot be read.
    """
    found = workshop.history(proposal_id, agent_id=agent_id)
    return tuple(one.sequence for one in found.events if one.kind in _WORDED)


def versions(
    workshop: WorkshopService, events: Iterable[ProposalEvent], agent_id: str
) -> dict[int, int]:
    """Return, by the number of an event, which version of its proposal it is about.

    Raises:
        StoreError: the store cannot be read.
    """
    rows = list(events)
    worded = {one: wordings(workshop, one, agent_id) for one in {row.proposal_id for row in rows}}
    return {row.sequence: sum(at <= row.sequence for at in worded[row.proposal_id]) for row in rows}
