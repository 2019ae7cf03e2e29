"""The first answers to a client that starts us, from those that were given before.

The SDK takes most of a second to load, and several coding agents wait no longer than that for the
tools of a server: their first request then goes without ours. What a client asks at its beginning
(who we are, which tools there are) has the same answer every time, so the one that the SDK gave is
kept, by what was asked and by everything that it depends on. Whoever comes afterwards is answered
from there while the SDK loads. It is handed every line all the same, and its own answer to one that
was answered is dropped: from then on nobody can tell the difference.

Some wait for the lists of skills as well before they show any tool. Those are kept too, as they
were when they were last looked at; where the server finds another one, the client is told so. One
without skills that still wait for their scan says so itself, and is not kept.
"""

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from queue import Queue
from typing import Any, NamedTuple, Protocol

# A stream of news is answered by a notice that it began, and the rest of it is the server's.
_LISTEN, _BEGAN = "subscriptions/listen", "notifications/subscriptions/acknowledged"
_STREAM = "io.modelcontextprotocol/subscriptionId"
_LISTS = frozenset(("prompts/list", "resources/list"))
_KEPT = _LISTS.union(("initialize", "server/discover", "tools/list", _LISTEN))
# How long an answer may be kept by the client: one of before for no time.
_TTL = "ttlMs"
# What a list says of itself in `_meta`: skills still wait for their scan, so more may come.
INCOMPLETE = "prowess/incomplete"
# What differs from client to client, or from call to call, and changes no answer.
_NO_MATTER = ("clientInfo", "progressToken", "capabilities", "clientCapabilities")
_VERSION = "protocolVersion"
_MOST_LINE_BYTES = 16 * 1024 * 1024
_MOST_WAITING = 16
# No JSON or nested too deeply, no object, no method, or parameters of another shape.
_NO_REQUEST = (ValueError, RecursionError, TypeError, AttributeError, KeyError)
_STDIN, _STDOUT, _STDERR = 0, 1, 2


class KeptAnswers(Protocol):
    """Keeps bytes between processes."""

    def load(self, key: str) -> bytes | None:
        """Return what was kept under `key`, if anything was."""

    def save(self, key: str, raw: bytes) -> None:
        """Keep `raw`."""


class Memory(NamedTuple):
    """What keeps answers, and a value whose `repr` tells all that they depend on."""

    answers: KeptAnswers
    under: object


class _Asked(NamedTuple):
    """A request whose answer is kept, and what was told here if anything was."""

    method: str
    answers: KeptAnswers
    key: str
    told: object = None


class Greeting:
    """Standard input and output of a server, and who answers first."""

    def __init__(self, first: Memory, lists: Memory | None = None) -> None:
        """Begin with what is kept of first answers, and of the lists of skills if they may be."""
        self._first, self._lists = first, lists
        self.lines: Queue[str | None] = Queue(_MOST_WAITING)
        self._lock = threading.Lock()
        self._is_over = False
        # What was asked for already, and the version of the protocol that it was asked in.
        self._heard: set[str] = set()
        self._version = ""
        self._stream: object = None
        # By the id of a request.
        self._asked: dict[str, _Asked] = {}
        self._output = _STDOUT

    @contextmanager
    def own_streams(self) -> Iterator[None]:
        """Keep both streams for ourselves and begin to read; a thread may still read afterwards.

        What children of ours read is empty, and what they print goes to the terminal's errors.
        """
        own, empty = os.dup(_STDIN), os.open(os.devnull, os.O_RDONLY)
        self._output = os.dup(_STDOUT)
        try:
            os.dup2(empty, _STDIN)
            with suppress(OSError):
                os.dup2(_STDERR, _STDOUT)
            # It never ends by itself while the client is silent, so nobody waits for it.
            threading.Thread(target=self._read, args=(own,), daemon=True).start()
            yield
        finally:
            os.dup2(own, _STDIN)
            os.dup2(self._output, _STDOUT)
            os.close(empty)

    def _read(self, number: int) -> None:
        # A client that is gone asks for nothing more.
        with suppress(OSError):
            for line in _lines(number):
                # What is no request is the server's to answer, and ends nothing here.
                with suppress(*_NO_REQUEST):
                    self._answer(json.loads(line))
                self.lines.put(line)
        self.lines.put(None)

    def _answer(self, message: Mapping[str, Any]) -> None:
        with self._lock:
            result = self.hear(message)
            if result is not None:
                answer = _phrase(message["method"], message["id"], result)
                self._put(json.dumps({"jsonrpc": "2.0", **answer}, ensure_ascii=False) + "\n")

    def hear(self, message: Mapping[str, Any]) -> object:
        """Return the answer to a request if it is kept; remember what was asked for either way."""
        method, number = message["method"], message.get("id")
        if number is None:
            return None
        params = message.get("params") or {}
        told = {key: value for key, value in params.items() if key != "_meta"}
        told |= params.get("_meta") or {}
        self._version = next(
            (value for key, value in told.items() if key.endswith(_VERSION)), self._version
        )
        is_late = self._is_over and method in self._heard
        memory = self._lists if method in _LISTS else self._first
        if method not in _KEPT or is_late or not self._version or memory is None:
            return None
        self._heard.add(method)
        if method == _LISTEN:
            self._stream = number
        asked = _Asked(method, memory.answers, self._name(method, told, memory))
        raw = None if self._is_over else asked.answers.load(asked.key)
        if raw is not None:
            asked = asked._replace(told=json.loads(raw))
        self._asked[json.dumps(number)] = asked
        return asked.told

    def _name(self, method: str, told: Mapping[str, Any], memory: Memory) -> str:
        """Return under which key an answer is kept."""
        matters = {key: value for key, value in told.items() if not key.endswith(_NO_MATTER)}
        what = (method, json.dumps(matters, sort_keys=True), self._version, memory.under)
        return sha256(repr(what).encode("utf-8", "surrogatepass")).hexdigest()

    def end(self) -> None:
        """Answer nothing more: the server is there."""
        with self._lock:
            self._is_over = True

    def write(self, text: str) -> None:
        """Write what the server says, unless it was said already.

        Raises:
            OSError: nobody reads it any more.
        """
        with self._lock:
            if not self.keep(text):
                self._put(text)

    def keep(self, text: str) -> bool:
        """Keep what the server says if it is a first answer; return whether it was said already."""
        if not self._asked:
            return False
        number, result = _read_answer(json.loads(text))
        asked = self._asked.pop(json.dumps(number), None)
        if asked is None:
            return False
        if isinstance(result, dict) and asked.method in _LISTS and _TTL in result:
            result = {**result, _TTL: 0}
        # What was said may be of before: the next client is told what the server says now.
        if result is not None and result != asked.told:
            if _is_whole(result):
                asked.answers.save(asked.key, json.dumps(result, ensure_ascii=False).encode())
            else:
                # The next one that the client asks for may be.
                self._heard.discard(asked.method)
            if asked.told is not None:
                self._say_changed(asked.method)
        return asked.told is not None

    def _say_changed(self, method: str) -> None:
        """Tell the client that a list which it was given is another one."""
        if method.endswith("/list"):
            about = {} if self._stream is None else {"_meta": {_STREAM: self._stream}}
            notice = {"method": f"notifications/{method}_changed", "params": about}
            self._put(json.dumps({"jsonrpc": "2.0", **notice}) + "\n")

    def _put(self, text: str) -> None:
        raw = memoryview(text.encode("utf-8", "replace"))
        while raw:
            raw = raw[os.write(self._output, raw) :]


def _phrase(method: str, number: object, result: object) -> Mapping[str, object]:
    """Return an answer in the words of the protocol."""
    if method != _LISTEN:
        return {"id": number, "result": result}
    return {"method": _BEGAN, "params": {"_meta": {_STREAM: number}, "notifications": result}}


def _read_answer(said: Mapping[str, Any]) -> tuple[object, object]:
    """Return to which request a message is the first answer, and what it says; None for others."""
    if said.get("method") == _BEGAN:
        return said["params"]["_meta"].get(_STREAM), said["params"]["notifications"]
    return (None, None) if "method" in said else (said.get("id"), said.get("result"))


def _is_whole(result: object) -> bool:
    return not (isinstance(result, dict) and INCOMPLETE in (result.get("_meta") or {}))


def _mend(line: str) -> str:
    """Return a line without half a character: the SDK would drop that request, and never answer."""
    with suppress(*_NO_REQUEST):
        if "\\ud" in line.lower():
            line = json.dumps(json.loads(line), ensure_ascii=False) + "\n"
    return line.encode("utf-8", "replace").decode()


def _lines(number: int) -> Iterator[str]:
    """Yield the lines of standard input; of one that is too long comes nothing but its end."""
    with os.fdopen(number, "rb", closefd=False) as stream:
        whole = True
        while piece := stream.readline(_MOST_LINE_BYTES):
            is_end = piece.endswith(b"\n")
            if whole and (is_end or len(piece) < _MOST_LINE_BYTES):
                yield _mend(piece.decode("utf-8", "replace"))
            elif is_end:
                # No JSON, which is answered as such.
                yield "\n"
            whole = is_end
