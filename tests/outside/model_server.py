"""A language model on 127.0.0.1 that says what a test scripted, in the dialects of harnesses.

Anthropic messages, OpenAI responses and chat completions, and Gemini. What matters is the other
direction: each request is kept, so that a test reads what really reached the model.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

MODEL = "scripted-1"


class Say(NamedTuple):
    """The model answers with words."""

    text: str


class Call(NamedTuple):
    """The model asks for a tool."""

    name: str
    arguments: dict[str, Any]


Reply = Say | Call
Script = Callable[["ModelRequest"], Reply]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request of a harness to its model."""

    path: str
    body: dict[str, Any]

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Who said what in the conversation, in order; system texts are the role `system`."""
        return [(role, text) for role, text in _messages(self.body) if text]

    @property
    def text(self) -> str:
        """Everything that the model can read of the conversation."""
        return "\n".join(text for _, text in self.messages)

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that the model may call."""
        return tuple(_tool_names(self.body))

    @property
    def results(self) -> tuple[str, ...]:
        """What tools gave back, in order."""
        return tuple(text for role, text in self.messages if role == "tool")


def _messages(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Read the conversation of any dialect: they differ in names, not in kind."""
    for key in ("system", "instructions", "systemInstruction", "system_instruction"):
        if body.get(key):
            yield "system", flatten(body[key])
    turns = body.get("messages") or body.get("input") or body.get("contents") or []
    for turn in [{"role": "user", "content": turns}] if isinstance(turns, str) else turns:
        kind = turn.get("type")
        if kind in {"function_call_output", "custom_tool_call_output"}:
            yield "tool", flatten(turn.get("output"))
        elif kind in {"function_call", "custom_tool_call"}:
            yield "call", f"{turn.get('name')} {turn.get('arguments') or turn.get('input')}"
        else:
            parts = turn.get("content", turn.get("parts"))
            role = str(turn.get("role"))
            for part in parts if isinstance(parts, list) else [parts]:
                yield _role_of(part, role), flatten(part)


def _role_of(part: object, role: str) -> str:
    if isinstance(part, dict):
        if part.get("type") == "tool_result" or "functionResponse" in part:
            return "tool"
        if part.get("type") == "tool_use" or "functionCall" in part:
            return "call"
    return {"model": "assistant", "developer": "system"}.get(role, role)


# Keys whose values are no words for the model.
_MARKS = frozenset(("type", "id", "role", "cache_control", "tool_use_id", "call_id", "status"))


def flatten(value: object) -> str:
    """Return every text in a JSON value, one below the other."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        parts = [flatten(part) for key, part in value.items() if key not in _MARKS]
        return "\n".join(filter(None, parts))
    return "\n".join(filter(None, map(flatten, value))) if isinstance(value, list) else ""


def _tool_names(body: dict[str, Any]) -> Iterator[str]:
    for tool in body.get("tools") or []:
        declared = tool.get("functionDeclarations") or tool.get("tools")
        for one in declared or [tool.get("function") or tool]:
            if one.get("name"):
                yield (
                    f"{tool['name']}__{one['name']}"
                    if tool.get("type") == "namespace"
                    else one["name"]
                )


@dataclass
class ModelServer:
    """Where it listens, and what it was asked."""

    address: str
    script: Script
    requests: list[ModelRequest] = field(default_factory=list)

    @property
    def turns(self) -> list[ModelRequest]:
        """Requests of the agent itself: harnesses also ask for titles, without tools."""
        return [request for request in self.requests if request.tools]

    def has_heard(self, needle: str) -> bool:
        """Return whether a text reached the agent's model."""
        return any(needle in request.text for request in self.turns)

    def first(self, needle: str) -> ModelRequest:
        """Return the first request of the agent whose conversation has a text."""
        for request in self.turns:
            if needle in request.text:
                return request
        seen = "\n---\n".join(request.text[-600:] for request in self.requests)
        raise AssertionError(f"no request with {needle!r} reached the model; seen:\n{seen}")


@contextmanager
def serve(script: Script | None = None) -> Iterator[ModelServer]:
    """Run a model for the length of the block; without a script it says `Done.` to everything."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    state = ModelServer(
        f"http://127.0.0.1:{server.server_port}", script or (lambda _: Say("Done."))
    )
    server.daemon_threads = True
    _Handler.states[server.server_port] = state
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    """One request: recognised by its path, answered as a stream where one is asked for."""

    protocol_version = "HTTP/1.1"
    states: dict[int, ModelServer] = {}  # noqa: RUF012

    def log_message(self, *_: object) -> None:
        """Say nothing: the requests are kept."""

    def do_HEAD(self) -> None:
        self._send(b"")

    def do_GET(self) -> None:
        models = [{"id": MODEL, "object": "model", "owned_by": "test", "display_name": MODEL}]
        self._send_json({"object": "list", "data": models, "models": [], "has_more": False})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        path = self.path.partition("?")[0]
        dialect = next((made for ending, made in _DIALECTS if re.search(ending, path)), None)
        if dialect is None or not isinstance(body, dict):
            self._send_json({"input_tokens": 10, "totalTokens": 10})
            return
        state = self.states[self.server.server_address[1]]  # type: ignore[index]
        request = ModelRequest(path, body)
        state.requests.append(request)
        streams = bool(body.get("stream")) or "stream" in path
        whole, events = dialect(state.script(request))
        if not streams:
            self._send_json(whole)
        else:
            self._send("".join(_event(*one) for one in events).encode(), "text/event-stream")

    def _send_json(self, value: object) -> None:
        self._send(json.dumps(value).encode(), "application/json")

    def _send(self, raw: bytes, kind: str = "text/plain") -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def _event(name: str | None, data: object) -> str:
    written = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "") + f"data: {written}\n\n"


_Answer = tuple[dict[str, Any], Sequence[tuple[str | None, object]]]


def _anthropic(reply: Reply) -> _Answer:
    use = {"input_tokens": 10, "output_tokens": 10}
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": getattr(reply, "text", "")}
    reason = "end_turn"
    if isinstance(reply, Call):
        block = {"type": "tool_use", "id": _new_id("toolu"), "name": reply.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}
        reason = "tool_use"
    message: dict[str, Any] = {
        "id": _new_id("msg"), "type": "message", "role": "assistant", "model": MODEL,
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": use,
    }  # fmt: skip
    whole = block | ({"text": reply.text} if isinstance(reply, Say) else {"input": reply.arguments})
    ended = {"stop_reason": reason, "stop_sequence": None}
    events: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"message": message}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": ended, "usage": {"output_tokens": 10}}),
        ("message_stop", {}),
    ]
    return message | ended | {"content": [whole]}, [(n, {"type": n, **data}) for n, data in events]


def _responses(reply: Reply) -> _Answer:
    if isinstance(reply, Say):
        part = {"type": "output_text", "text": reply.text, "annotations": []}
        item: dict[str, Any] = {
            "type": "message", "id": _new_id("msg"), "role": "assistant", "status": "completed",
            "content": [part],
        }  # fmt: skip
    else:
        item = {
            "type": "function_call", "id": _new_id("fc"), "call_id": _new_id("call"),
            "name": reply.name, "arguments": json.dumps(reply.arguments), "status": "completed",
        }  # fmt: skip
        space, _, tool = reply.name.rpartition("__")
        if space.startswith("mcp__"):
            item |= {"name": tool, "namespace": space}
    use = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
    made = {
        "id": _new_id("resp"), "object": "response", "model": MODEL, "created_at": int(time.time()),
        "status": "in_progress", "output": [],
    }  # fmt: skip
    done = made | {"status": "completed", "output": [item], "usage": use}
    names: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": made}),
        ("response.output_item.added", {"output_index": 0, "item": item}),
    ]
    if isinstance(reply, Say):
        place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        names.append(("response.output_text.delta", {**place, "delta": reply.text}))
    names += [
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": done}),
    ]
    return done, [(name, {"type": name, **data}) for name, data in names]


def _chat(reply: Reply) -> _Answer:
    made = {"id": _new_id("chat"), "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    message: dict[str, Any] = {"role": "assistant", "content": getattr(reply, "text", None)}
    reason = "stop"
    if isinstance(reply, Call):
        function = {"name": reply.name, "arguments": json.dumps(reply.arguments)}
        call = {"index": 0, "id": _new_id("call"), "type": "function", "function": function}
        message["tool_calls"], reason = [call], "tool_calls"
    use = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    whole = made | {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": use,
    }
    chunk = made | {"choices": [{"index": 0, "delta": message, "finish_reason": None}]}
    last = made | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": use}
    return whole, [(None, chunk), (None, last), (None, "[DONE]")]


def _gemini(reply: Reply) -> _Answer:
    part: dict[str, Any] = {"text": getattr(reply, "text", "")}
    if isinstance(reply, Call):
        part = {"functionCall": {"name": reply.name, "args": reply.arguments}}
    found = {
        "candidates": [
            {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {
            "promptTokenCount": 10,
            "candidatesTokenCount": 10,
            "totalTokenCount": 20,
        },
        "modelVersion": MODEL,
    }
    return found, [(None, found)]


_DIALECTS: tuple[tuple[str, Callable[[Reply], _Answer]], ...] = (
    (r"/messages$", _anthropic),
    (r"/responses$", _responses),
    (r"/chat/completions$", _chat),
    (r":(streamGenerateContent|generateContent)$", _gemini),
)


def _new_id(kind: str) -> str:
    return f"{kind}_{time.time_ns():x}"
