"""Corrections that prove that a skill was missed, as proposals that wait for a person.

The person said what to do and the skill should have said it: the words go to that skill. One that
lies where the workshop writes nothing (bundled, of another folder, of a user) stays as it is; the
words then go to the topic's skill, as any correction does, and the reason says so. Nothing is ever
applied from here, whatever the policy says.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from prowess.runtime.workshop.drafts import Draft
from prowess.runtime.workshop.ports import WorkshopTools
from prowess.runtime.workshop.proposals import Proposals
from prowess.secrets.mask import hidden_in
from prowess.skills.text import one_line
from prowess.transcripts.session_model import Turn
from prowess.transcripts.turns_part import Role
from prowess.transcripts.turns_part import Turn as Said
from prowess.workshop.capture import Capture, capture, topic_of
from prowess.workshop.correction_lesson import lesson
from prowess.workshop.edit import Append, Create
from prowess.workshop.missed_activations import Missed, MissKind
from prowess.workshop.proposal import Evidence, Proposal, Source, State

SECTION = "Corrections"
_MOST_PROMPT, _MOST_PATH = 600, 400
_WAITING = frozenset((State.PENDING, State.QUARANTINED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A missed skill, what was asked for, and what the person then said to do."""

    missed: Missed
    proof: Turn
    found: Capture


def lessons(misses: Sequence[Missed]) -> Iterator[Lesson]:
    """Yield what proved misses teach, one for each correction, for the skill that was surest.

    What a phrase says for good is left out: the workshop hears that by itself.
    """
    seen: set[tuple[str, str, int]] = set()
    for miss in sorted(misses, key=lambda one: -one.score):
        proof = miss.proof
        if miss.kind is not MissKind.MISSED or proof is None or proof.by_hand:
            continue
        key = (miss.session.harness, miss.session.id or miss.session.path, proof.number)
        said = Said(role=Role.USER, text=proof.prompt, place=proof.number)
        words = lesson(proof.prompt, miss.skill)
        if words and key not in seen and capture([said]) is None:
            seen.add(key)
            found = Capture(instruction=words, topic=topic_of(words), turn=said)
            yield Lesson(missed=miss, proof=proof, found=found)


class MissedCorrections:
    """Proposes what missed skills should have said."""

    def __init__(self, tools: WorkshopTools, agent_id: str) -> None:
        self._tools, self._agent_id = tools, agent_id
        self._proposals = Proposals(tools)
        self._writable = {one.name for one in tools.neighbours(agent_id)}

    def propose(self, one: Lesson) -> tuple[Proposal | None, bool]:
        """Return the proposal that waits for a person now, and whether it is new.

        None where somebody decided about these words before.

        Raises:
            ProposalError: it cannot be proposed; nothing was stored.
            StoreError: the store cannot be used.
        """
        workspace = self._tools.workspace(self._agent_id)
        proposed = self._proposals.propose(workspace, self._draft(one))
        waits = proposed.is_new or proposed.proposal.state in _WAITING
        return (proposed.proposal if waits else None), proposed.is_new

    def _draft(self, one: Lesson) -> Draft:
        skill, topic = one.missed.skill, one.found.topic
        reason = f"User correction where {skill} was not used (the router's score is"
        reason = f"{reason} {one.missed.score:.2f})"
        draft = Draft(
            skill=skill,
            title=f"Skill update: {skill}",
            reason=reason,
            source=Source.AGENT_END,
            edit=Append(section=SECTION, body=one.found.bullet),
            evidence=_evidence(one),
            agent_id=self._agent_id,
            session_id=one.missed.session.id,
            # The same words are the same wish, whichever skill they would go to by now.
            payload=_words_hash(one.found.instruction),
            compare=False,
        )
        if skill in self._writable:
            return draft
        where = self._tools.elsewhere(skill, self._agent_id)
        lies = f", which lies at {one_line(where)[:_MOST_PATH]}," if where else ""
        # Among the words of others, these have to say what they are about.
        found = replace(one.found, instruction=f"{skill}: {one.found.instruction}")
        return Draft(
            skill=topic.skill,
            title=topic.title,
            reason=f"{reason}; {skill}{lies} is not changed from here",
            source=draft.source,
            edit=Create(description=found.description, body=found.body),
            evidence=draft.evidence,
            agent_id=draft.agent_id,
            session_id=draft.session_id,
            payload=draft.payload,
            compare=False,
        )


def _evidence(one: Lesson) -> tuple[Evidence, ...]:
    """Quote what was asked for, then the correction; a secret in the first must not be kept."""
    asked, role = one.missed.turn, Role.USER.value
    prompt = hidden_in(asked.prompt).text[:_MOST_PROMPT]
    return (
        Evidence(place=asked.number, role=role, quote=prompt),
        Evidence(place=one.proof.number, role=role, quote=one.proof.prompt),
    )


def _words_hash(instruction: str) -> str:
    words = f"correction\0{instruction}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(words).hexdigest()
