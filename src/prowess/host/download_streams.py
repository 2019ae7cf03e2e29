"""Waiting for the network without being held by it: for so long in all, and in short slices.

A socket's own time limit starts anew with each byte that drips in, a look-up has none at all, and
neither knows that somebody wants to stop. So there is one clock for the whole download; whoever
waits looks at it, and at the wish to stop, several times a second.
"""

import io
import socket
import threading
import time
from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CHUNK_BYTES = 65_536
_SLICE_S = 0.2
_T = TypeVar("_T")


# Not an error: it ends a download that somebody no longer wants.
class DownloadStopped(Exception):  # noqa: N818
    """Somebody stopped the download."""


class Clock:
    """The time that is left for everything, and the wish to stop."""

    def __init__(self, seconds: float, stop: Event | None = None) -> None:
        self._end = time.monotonic() + seconds
        self._stop = stop

    def left(self) -> float:
        """Return the seconds that are left.

        Raises:
            TimeoutError: there are none.
            DownloadStopped: somebody wants to stop.
        """
        if self._stop is not None and self._stop.is_set():
            raise DownloadStopped
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def slice(self) -> float:
        """Return how long to wait before the next look.

        Raises:
            TimeoutError: there is no time left.
            DownloadStopped: somebody wants to stop.
        """
        return min(self.left(), _SLICE_S)


class Wire:
    """The part of a socket that the HTTP library uses."""

    def __init__(self, connected: socket.socket, clock: Clock) -> None:
        self._socket, self._clock = connected, clock

    def sendall(self, data: bytes) -> None:
        """Send a request, which is small enough to be sent at once."""
        self._socket.settimeout(self._clock.left())
        self._socket.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return what the answer is read from."""
        return io.BufferedReader(_Stream(self._socket, self._clock), CHUNK_BYTES)

    def close(self) -> None:
        """Leave the socket open: the library closes it before the answer is read."""


class _Stream(io.RawIOBase):
    """Reads a socket, a slice of the time after the other."""

    def __init__(self, connected: socket.socket, clock: Clock) -> None:
        self._socket, self._clock = connected, clock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        while True:
            self._socket.settimeout(self._clock.slice())
            try:
                return self._socket.recv_into(buffer)
            except TimeoutError:
                # Nothing yet: the clock says whether to go on.
                continue


class Call(Generic[_T]):
    """A call that knows no wish to stop, made in a thread so that nobody has to wait for its end.

    Where it is given up, `late` is called with what it returns after all.
    """

    def __init__(self, call: Callable[[], _T], late: Callable[[_T], object]) -> None:
        self._call, self._late = call, late
        self._guard = threading.Lock()
        self._returned: list[_T] = []
        self._raised: list[Exception] = []
        self._is_given_up = False

    def result(self, clock: Clock) -> _T:
        """Wait for the call, and return or raise what it does.

        Raises:
            TimeoutError: there is no time left.
            DownloadStopped: somebody wants to stop.
        """
        thread = threading.Thread(target=self._work, daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(clock.slice())
        except BaseException:
            self._give_up()
            raise
        if self._raised:
            raise self._raised[0]
        return self._returned[0]

    def _work(self) -> None:
        try:
            found = self._call()
        # Whatever it is belongs to whoever waits, and not on the error stream.
        except Exception as error:  # noqa: BLE001
            self._raised.append(error)
            return
        with self._guard:
            self._returned.append(found)
            is_late = self._is_given_up
        if is_late:
            self._late(found)

    def _give_up(self) -> None:
        with self._guard:
            self._is_given_up = True
            found = tuple(self._returned)
        for one in found:
            self._late(one)
