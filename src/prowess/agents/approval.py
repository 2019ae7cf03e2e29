"""What a person is asked before a chat changes anything: all of it, at once, and nothing hidden.

A command that cannot be shown like that is refused before anybody is asked. Long gaps are folded
into marks that no command can hold itself, so that what follows them is not pushed off the screen.
A call of the workshop that would write is split in two: first the proposal is queued, then the
person sees what it would change, and the yes holds for that revision alone.
"""

import asyncio
import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from prowess.agents.tools import fail
from prowess.errors import (
    ProposalInputError,
    ProposalNotFoundError,
    ProposalStateError,
    ProwessError,
)
from prowess.runtime.run import AsyncRun
from prowess.runtime.skill_tools import call_workshop, workshop_text
from prowess.runtime.workshop.apply import check_move, check_revision
from prowess.workshop.proposal import Live, Proposal, State, difference, skill_name

ROWS, COLUMNS = 20, 76
_MOST_COMMAND = 2_000
_MOST_DIFF, _MOST_DIFF_LINES = 16_000, 250
_LONG = "is too long to be judged: write it to a file or make it shorter"
# Letters and marks that are drawn as nothing, though Python takes them for printable; and the
# brackets of our own marks.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef\u27e6\u27e7]"
)
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_GAP = re.compile(r"[ \t]{9,}|\t+")
_MOST_NAMED, _MOST_BLANK = 3, 2


# No error of ours: it is caught near by and becomes a sentence for the model.
class NotShown(ValueError):  # noqa: N818
    """It cannot be shown to a person who must judge it; completes `the command ...`."""


def fold_command(command: str) -> str:
    """Return a command as a person sees it, at most a screenful.

    Raises:
        NotShown: it is too long, or holds what cannot be seen.
    """
    hidden = unseen(command)
    if hidden:
        raise NotShown(f"has characters that a person cannot see ({', '.join(hidden)})")
    lines = _BLANK_LINES.sub(_blank_lines, f"\n{command}\n").split("\n")
    folded = "\n".join(_GAP.sub(_gap, line) for line in lines).strip("\n")
    if len(folded) > _MOST_COMMAND or rows(folded, COLUMNS) > ROWS:
        raise NotShown(_LONG)
    return folded


def fold_change(lines: Iterable[str]) -> str:
    """Return the lines of a difference as a person sees them; what cannot be seen is spelled out.

    Raises:
        NotShown: there are too many.
    """
    spelled = [_spelled(line) for line in lines]
    if len(spelled) > _MOST_DIFF_LINES or sum(map(len, spelled)) > _MOST_DIFF:
        raise NotShown("is too long to be judged here")
    return "\n".join(_GAP.sub(_gap, line) for line in _without_blank_runs(spelled))


def unseen(text: str) -> tuple[str, ...]:
    """Return the names of the first characters in `text` that nobody would see."""
    found = dict.fromkeys(char for char in text if char not in "\n\t" and _is_unseen(char))
    return tuple(map(_named, list(found)[:_MOST_NAMED]))


def rows(text: str, columns: int) -> int:
    """Return how many rows of a terminal a text takes."""
    widths = (sum(map(_width, line)) for line in text.split("\n"))
    return sum(max(1, -(-width // max(1, columns))) for width in widths)


def _is_unseen(char: str) -> bool:
    return not char.isprintable() or _UNSEEN.match(char) is not None


def _named(char: str) -> str:
    name = unicodedata.name(char, "")
    return f"U+{ord(char):04X} {name}".strip()


def _width(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _blank_lines(found: re.Match[str]) -> str:
    return f"\n⟦{found[0].count(chr(10)) - 1} blank lines⟧\n"


def _gap(found: re.Match[str]) -> str:
    gap = found[0]
    if gap == "\t":
        return "⟦tab⟧"
    return f"⟦{len(gap)} {'tabs and ' if chr(9) in gap else ''}spaces⟧"


def _spelled(line: str) -> str:
    return "".join(
        char if char == "\t" or not _is_unseen(char) else f"⟦{_named(char)}⟧" for char in line
    )


def _without_blank_runs(lines: Sequence[str]) -> Iterable[str]:
    """Yield lines with runs of blank ones as a count; in a difference a sign may stand alone."""
    for sign, same in groupby(lines, key=_blank_sign):
        run = list(same)
        if sign is None or len(run) <= _MOST_BLANK:
            yield from run
        else:
            yield f"{sign}⟦{len(run)} blank lines⟧"


def _blank_sign(line: str) -> str | None:
    sign = line.strip()
    return sign if sign in {"", "+", "-"} else None


# What makes a proposal, and may write it at once.
_MAKING = frozenset({"suggest", "write_support_file"})
# What changes something that is there already.
_CHANGING = frozenset({"apply", "rollback", "revise"})
_REVISED = ("body", "section", "description", "oldText", "newText")
_NO = (
    "Error: the user did not allow this, and no skill was changed.{waits} Do not try it again: go"
    " on without it, or ask what to do instead."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The skills of the workspace, as the workshop would find them."""

    # Reads a file by its path from the workspace on.
    live: Callable[[str], Live]
    # Whether the policy applies what is suggested without being asked to.
    applies: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalQuestion:
    """What a person is asked, and the call that their yes allows."""

    shown: str
    call: Mapping[str, Any]


class WorkshopCalls:
    """Answers calls whose arguments are checked already."""

    def __init__(
        self, run: AsyncRun, shelf: Shelf, allowed: Callable[[ApprovalQuestion], Awaitable[bool]]
    ) -> None:
        self._run, self._shelf, self._allowed = run, shelf, allowed

    async def call(self, given: Mapping[str, Any]) -> str:
        """Do what a call asks for, once the person allowed whatever needs that."""
        action = given["action"]
        try:
            if action in _MAKING:
                return await self._make(given)
            if action in _CHANGING:
                return await self._change(given)
            return await asyncio.to_thread(self._told, given)
        except ProwessError as error:
            return fail(error)

    async def _make(self, given: Mapping[str, Any]) -> str:
        wanted = given.get("apply")
        queued = {**given, "apply": False}
        answer, proposal = await asyncio.to_thread(self._queued, queued)
        if wanted is None:
            wanted = await asyncio.to_thread(self._shelf.applies)
        if proposal.state is not State.PENDING or not wanted:
            return answer
        waits = f" The proposal {proposal.id} waits for the user."
        try:
            question = await asyncio.to_thread(to_apply, proposal, self._shelf)
        except NotShown as problem:
            return f"Error: the change {problem}, and was not applied.{waits}"
        if not await self._allowed(question):
            return _NO.format(waits=waits)
        return await self._approved(question)

    def _queued(self, given: Mapping[str, Any]) -> tuple[str, Proposal]:
        answer = call_workshop(self._run, given)
        made = answer.get("proposal")
        proposal_id = made.get("id") if isinstance(made, Mapping) else ""
        return workshop_text(answer), self._proposal(str(proposal_id))

    async def _change(self, given: Mapping[str, Any]) -> str:
        proposal = await asyncio.to_thread(self._named, given)
        _check(given, proposal)
        try:
            question = await asyncio.to_thread(to_change, given, proposal, self._shelf)
        except NotShown as problem:
            return f"Error: the change {problem}: leave it to the user, who can review it."
        if not await self._allowed(question):
            return _NO.format(waits="")
        return await self._approved(question)

    async def _approved(self, question: ApprovalQuestion) -> str:
        return await asyncio.to_thread(self._told, question.call, by_person=True)

    def _told(self, given: Mapping[str, Any], *, by_person: bool = False) -> str:
        return workshop_text(call_workshop(self._run, given, by_person=by_person))

    def _named(self, given: Mapping[str, Any]) -> Proposal:
        name = str(given.get("skillName", "")).strip()
        if given["action"] != "rollback" or given.get("id") or not name:
            return self._proposal(str(given.get("id", "")).strip())
        skill = skill_name(name)
        applied = self._run.workshop.history(skill=skill, agent_id=self._run.agent_id).versions
        if not applied:
            raise ProposalNotFoundError(f"nothing was applied to {skill}: nothing to roll back")
        return applied[0]

    def _proposal(self, proposal_id: str) -> Proposal:
        if not proposal_id:
            raise ProposalInputError("id required")
        return self._run.workshop.inspect(proposal_id, agent_id=self._run.agent_id)


def to_apply(proposal: Proposal, shelf: Shelf) -> ApprovalQuestion:
    """Return the question whether a proposal is written as it is now.

    Raises:
        NotShown: the change is too long to be judged.
    """
    shown = fold_change([_head("apply", proposal), *difference(proposal, shelf.live)])
    return ApprovalQuestion(shown=shown, call=_bound("apply", proposal))


def to_change(given: Mapping[str, Any], proposal: Proposal, shelf: Shelf) -> ApprovalQuestion:
    """Return the question that an apply, a rollback or a revision of `proposal` needs.

    Raises:
        NotShown: the change is too long to be judged.
    """
    if given["action"] == "apply":
        return to_apply(proposal, shelf)
    if given["action"] == "rollback":
        files = [f"- skills/{proposal.skill}/{path}" for path in proposal.change.files]
        said = "What these files were before it comes back:"
        shown = fold_change([_head("take back", proposal), said, *files])
        return ApprovalQuestion(shown=shown, call=_bound("rollback", proposal))
    texts = {name: str(given[name]) for name in _REVISED if given.get(name)}
    lines = [f"+ {line}" for name in texts for line in f"{name}: {texts[name]}".split("\n")]
    shown = fold_change([_head("revise", proposal), *lines])
    return ApprovalQuestion(shown=shown, call={**texts, **_bound("revise", proposal)})


def _check(given: Mapping[str, Any], proposal: Proposal) -> None:
    """Refuse what the workshop would refuse before anybody is asked."""
    revision = str(given.get("revision", "")).strip()
    if given["action"] != "rollback":
        wanted = State.APPLIED if given["action"] == "apply" else State.PENDING
        check_move(proposal, wanted, revision)
    elif proposal.state is not State.APPLIED:
        raise ProposalStateError(proposal.state.value, "rolled back")
    check_revision(proposal, revision)


def _bound(action: str, proposal: Proposal) -> dict[str, Any]:
    return {"action": action, "id": proposal.id, "revision": proposal.revision}


def _head(what: str, proposal: Proposal) -> str:
    title = " ".join(proposal.title.split())
    return f"{what} {proposal.id} for the skill {proposal.skill}: {title}"
