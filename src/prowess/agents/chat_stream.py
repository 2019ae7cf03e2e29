"""From the library's events to the chat's: text as it comes, calls and their answers.

What a provider sends is counted, whatever it is: an answer without an end, thoughts without an end
and arguments without an end are all stopped.
"""

from pydantic_ai import AgentRunResultEvent
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)

from prowess.agents.channel import Channel
from prowess.agents.events import TextDelta, ToolAnswered, ToolCalled
from prowess.agents.failures import MOST_ANSWER_CHARS, MOST_CALLS, TooMuch

# The fields in which parts, and what is added to them, hold texts.
_TEXTS = ("content", "content_delta", "args", "args_delta", "signature", "signature_delta")


class Streamed:
    """Translates events and remembers what the unfinished answer says."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        # Of the answer under way; empty again once its calls are made.
        self.said = ""
        self._chars = self._calls = 0

    def take(self, event: AgentStreamEvent | AgentRunResultEvent[str]) -> None:
        """Tell what an event means, if anything.

        Raises:
            TooMuch: the model sends more than a turn may hold.
        """
        if isinstance(event, PartStartEvent):
            self._begun(event)
        elif isinstance(event, PartDeltaEvent):
            self._count(event.delta)
            if isinstance(event.delta, TextPartDelta):
                self._text(event.delta.content_delta)
        elif isinstance(event, FunctionToolCallEvent):
            self._called(event)
        elif isinstance(event, FunctionToolResultEvent):
            self._answered(event)

    def _begun(self, event: PartStartEvent) -> None:
        if event.index == 0:
            self._chars = 0
        self._count(event.part)
        if isinstance(event.part, TextPart):
            self._text(event.part.content)
        elif isinstance(event.part, ToolCallPart):
            self._calls += 1
            if self._calls > MOST_CALLS:
                raise TooMuch.calls()

    def _count(self, part: object) -> None:
        for name in _TEXTS:
            text = getattr(part, name, None)
            self._chars += len(text) if isinstance(text, str) else 0
        if self._chars > MOST_ANSWER_CHARS:
            raise TooMuch.text()

    def _text(self, text: str) -> None:
        if text:
            self.said += text
            self._channel.put(TextDelta(text=text))

    def _called(self, event: FunctionToolCallEvent) -> None:
        self.said = ""
        part = event.part
        self._channel.put(
            ToolCalled(
                call_id=part.tool_call_id,
                name=part.tool_name,
                arguments=part.args_as_json_str(),
            )
        )

    def _answered(self, event: FunctionToolResultEvent) -> None:
        part = event.part
        text = part.model_response_str(wrap_if_error=False)
        self._channel.put(
            ToolAnswered(
                call_id=part.tool_call_id,
                name=part.tool_name,
                text=text,
                ok=part.outcome == "success" and not text.startswith("Error:"),
            )
        )
