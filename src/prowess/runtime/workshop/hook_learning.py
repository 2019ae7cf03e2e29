"""A turn that a hook saw end, handed to the workshop: each turn once, whichever event brings it.

The end of a session brings its last turn again, and so does a hook that is registered twice.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from prowess.hooks.harness import Harness
from prowess.hooks.payloads import Incoming
from prowess.runtime.workshop.service import TurnSeen, WorkshopService
from prowess.transcripts.turns import Transcript
from prowess.transcripts.turns_part import Role, calls, turns

Messages = Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningTools:
    """What learning from a hook needs of the world."""

    workshop: Callable[[], WorkshopService]
    # The session that a call names; None where there is none that may be read.
    session: Callable[[Incoming], Transcript | None]
    # Whether a turn, by its key, is seen for the first time.
    is_first: Callable[[str], bool]


class TurnLearning:
    """Learns from turns that ended."""

    def __init__(self, tools: LearningTools) -> None:
        self._tools = tools

    def learn(self, incoming: Incoming) -> int:
        """Hand the last turn to the workshop; return how many proposals came of it.

        Raises:
            ProwessError: the session or the store cannot be used.
        """
        # An agent that was made to go on has not ended its turn yet.
        if incoming.stop_hook_active:
            return 0
        messages, number = self._last_turn(incoming)
        said = turns(messages)
        asked = "\n".join(turn.text for turn in said if turn.role is Role.USER)
        if not asked.strip() or not self._tools.is_first(_key(incoming, number, asked)):
            return 0
        seen = TurnSeen(
            messages=messages, tool_calls=calls(said), session_id=incoming.session, agent_id=""
        )
        return len(self._tools.workshop().observe(seen))

    def _last_turn(self, incoming: Incoming) -> tuple[Messages, int]:
        """Return the messages of the last turn, and its number in the session if that is known."""
        if incoming.prompt:
            return _told(incoming), 0
        session = self._tools.session(incoming)
        if session is None or not session.turns:
            return (), 0
        messages: list[Mapping[str, object]] = list(session.turns[-1].contents)
        last = incoming.last_message.strip()
        # The file is written later than the hook is called.
        if last and not any(last in turn.text for turn in turns(messages)):
            messages.append({"role": "assistant", "content": last})
        return messages, len(session.turns)


def _told(incoming: Incoming) -> Messages:
    return (
        {"role": "user", "content": incoming.prompt},
        {"role": "assistant", "content": incoming.last_message},
    )


def _key(incoming: Incoming, number: int, asked: str) -> str:
    # Each of these two runs the hooks of the other: one turn then comes under both names.
    harness = Harness.COPILOT if incoming.harness is Harness.VSCODE else incoming.harness
    parts = (harness.value, incoming.session, str(number), asked)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
