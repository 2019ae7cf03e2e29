"""From the library's events to the chat's: text as it comes, calls and their answers."""

from pydantic_ai import AgentRunResultEvent
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)

from prowess.agents.channel import Channel
from prowess.agents.events import TextDelta, ToolAnswered, ToolCalled


class Streamed:
    """Translates events and remembers what the unfinished answer says."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        # Of the answer under way; empty again once its calls are made.
        self.said = ""

    def take(self, event: AgentStreamEvent | AgentRunResultEvent[str]) -> None:
        """Tell what an event means, if anything."""
        if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
            self._text(event.part.content)
        elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
            self._text(event.delta.content_delta)
        elif isinstance(event, FunctionToolCallEvent):
            self.said = ""
            part = event.part
            self._channel.put(
                ToolCalled(
                    call_id=part.tool_call_id,
                    name=part.tool_name,
                    arguments=part.args_as_json_str(),
                )
            )
        elif isinstance(event, FunctionToolResultEvent):
            self._answered(event)

    def _text(self, text: str) -> None:
        if text:
            self.said += text
            self._channel.put(TextDelta(text=text))

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
