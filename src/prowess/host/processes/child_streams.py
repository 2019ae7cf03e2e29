"""What a child process says, while it says it, kept within bounds, and what it is told.

Reading never waits for the end of a pipe: a grandchild may hold it open for ever. Where pipes
cannot be watched (Windows) temporary files take their place, and the text comes at the end.
"""

import codecs
import os
import selectors
import subprocess
import tempfile
import time
from collections import deque
from typing import IO

from prowess.runtime.ports import Output

_PIECE = 65_536


class Kept:
    """The beginning and the end of a long text, and how much was left out between."""

    def __init__(self, most_chars: int) -> None:
        self._head_room = max(most_chars, 0) // 2
        self._tail_room = max(most_chars, 0) - self._head_room
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._tail_chars = 0
        self._left_out = 0

    @property
    def cut(self) -> bool:
        """Whether something was left out."""
        return self._left_out > 0 or self._tail_chars > self._tail_room

    def add(self, text: str) -> None:
        """Take the next piece."""
        if self._head_room:
            self._head.append(text[: self._head_room])
            text = text[self._head_room :]
            self._head_room -= len(self._head[-1])
        if not text:
            return
        self._tail.append(text)
        self._tail_chars += len(text)
        # A whole piece goes once the others fill the room: what is held stays below both.
        while self._tail_chars - len(self._tail[0]) >= self._tail_room:
            gone = len(self._tail.popleft())
            self._tail_chars -= gone
            self._left_out += gone
            if not self._tail:
                return

    def text(self) -> str:
        """Return it all, with a line in the place of what was left out."""
        tail = "".join(self._tail)
        excess = max(len(tail) - self._tail_room, 0)
        missing = self._left_out + excess
        note = f"\n[... {missing} characters left out ...]\n" if missing else ""
        return "".join(self._head) + note + tail[excess:]


class Stream:
    """One stream of a child: bytes in, whole characters out."""

    def __init__(self, name: str, most_chars: int, output: Output | None) -> None:
        self._name, self._output = name, output
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.kept = Kept(most_chars)

    def feed(self, raw: bytes, *, last: bool = False) -> None:
        """Take bytes as they come; a character may end in the next ones."""
        text = self._decoder.decode(raw, final=last)
        if not text:
            return
        self.kept.add(text)
        if self._output is not None:
            self._output(self._name, text)


class Pipes:
    """The pipes of one child, watched together."""

    def __init__(self, stdin: bytes, out: Stream, err: Stream) -> None:
        self._left = memoryview(stdin)
        self._out, self._err = out, err
        self._selector = selectors.DefaultSelector()
        self._pipes: list[IO[bytes]] = []
        self._end = -1
        self.stdin = subprocess.PIPE if stdin else subprocess.DEVNULL
        self.stdout = self.stderr = subprocess.PIPE

    def attach(self, child: subprocess.Popen[bytes]) -> None:
        """Begin to watch the pipes of `child`."""
        self._pipes = [pipe for pipe in (child.stdin, child.stdout, child.stderr) if pipe]
        for pipe, stream in ((child.stdout, self._out), (child.stderr, self._err)):
            if pipe is not None:
                self._selector.register(pipe, selectors.EVENT_READ, stream)
        if child.stdin is not None:
            os.set_blocking(child.stdin.fileno(), False)
            self._selector.register(child.stdin, selectors.EVENT_WRITE)
        self._watch_for_end(child.pid)

    def _watch_for_end(self, pid: int) -> None:
        """Wake up when the child ends, where the system can; elsewhere the next look finds out."""
        if not hasattr(os, "pidfd_open"):
            return
        try:
            self._end = os.pidfd_open(pid)
        except OSError:
            # An older system, or one without files left.
            return
        self._selector.register(self._end, selectors.EVENT_READ)

    @property
    def speaking(self) -> bool:
        """Whether somebody still holds a stream that we read."""
        return any(key.data is not None for key in self._selector.get_map().values())

    def pump(self, seconds: float) -> None:
        """Move what can be moved, waiting for it `seconds` at most."""
        for key, _events in self._selector.select(seconds):
            if key.fd == self._end:
                # Once is enough: from now on it would wake us all the time.
                self._selector.unregister(key.fd)
            elif key.data is None:
                self._write(key.fd)
            else:
                self._read(key.fd, key.data)

    def _read(self, pipe: int, stream: Stream) -> None:
        raw = os.read(pipe, _PIECE)
        if not raw:
            self._selector.unregister(pipe)
        stream.feed(raw, last=not raw)

    def _write(self, pipe: int) -> None:
        try:
            self._left = self._left[os.write(pipe, self._left[:_PIECE]) :]
        except BrokenPipeError:
            # The child does not want to hear more, which is its right.
            self._left = self._left[:0]
        if not self._left:
            self._selector.unregister(pipe)
            self._pipes.pop(0).close()

    def finish(self) -> None:
        """Say what is left of a character that never ended."""
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                key.data.feed(b"", last=True)

    def close(self) -> None:
        """Let go of every pipe, whoever holds its other end."""
        self._selector.close()
        for pipe in self._pipes:
            pipe.close()
        if self._end >= 0:
            os.close(self._end)
            self._end = -1


class Files:
    """Temporary files in the place of pipes: nothing to watch, and all of it at the end."""

    speaking = False

    def __init__(self, stdin: bytes, out: Stream, err: Stream) -> None:
        self._streams = (out, err)
        # Closed by `close`, which outlives this function.
        self.stdin, self.stdout, self.stderr = (tempfile.TemporaryFile() for _ in range(3))  # noqa: SIM115
        self.stdin.write(stdin)
        self.stdin.seek(0)

    def attach(self, child: subprocess.Popen[bytes]) -> None:
        """Do nothing: the child has the files already."""

    def pump(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def finish(self) -> None:
        """Read what the child wrote."""
        for file, stream in zip((self.stdout, self.stderr), self._streams, strict=True):
            file.seek(0)
            while raw := file.read(_PIECE):
                stream.feed(raw)
            stream.feed(b"", last=True)

    def close(self) -> None:
        """Let go of the files, which are gone then."""
        for file in (self.stdin, self.stdout, self.stderr):
            file.close()
