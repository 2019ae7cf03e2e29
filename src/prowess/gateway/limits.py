"""How much one client may ask for, and how often.

Everything is bounded in two ways: by number, so that many small things do no harm, and by size.
The clock is handed in, so a test can let a minute pass.
"""

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]

KIB = 1024
# Failures that cost nothing, the first wait after them, and the longest one.
FREE_FAILURES, FIRST_WAIT, LONGEST_WAIT = 5, 0.5, 5.0
# A failure this long ago is forgotten.
FORGET_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of a gateway; the defaults are for people, not for load tests."""

    frames_per_second: float = 60.0
    burst: int = 120
    # Requests of one connection, and HTTP requests of all, that may run at the same time.
    in_flight: int = 32
    http_in_flight: int = 64
    connections: int = 500
    # Of these, how many may be without a name: strangers never take every place.
    strangers: int = 200
    handshake_seconds: float = 10.0
    handshake_tries: int = 5
    # A stranger's frame: `connect` is small.
    stranger_payload: int = 64 * KIB
    queue_messages: int = 1000
    queue_bytes: int = 8 * KIB * KIB
    # How long a goodbye may take before the connection is cut.
    goodbye_seconds: float = 2.0
    body_seconds: float = 10.0
    # Clients that come and go within this time are told of together.
    presence_seconds: float = 0.25
    quick_threads: int = 8
    slow_threads: int = 16
    # Calls that wait for a thread, of all clients together.
    waiting_calls: int = 2000


class TokenBucket:
    """Allows a burst, then a steady rate."""

    def __init__(self, rate: float, burst: int, clock: Clock) -> None:
        self._rate, self._burst, self._clock = rate, float(burst), clock
        self._left, self._then = float(burst), clock()

    def take(self) -> bool:
        """Return whether one more is allowed now."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._then) * self._rate)
        self._then = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class FailureTable:
    """Who gave a wrong token lately; bounded, so that no crowd of addresses can fill it.

    While an address must wait, nothing that it sends is compared at all: a slow answer alone would
    not slow someone who asks a hundred times in parallel.
    """

    def __init__(self, clock: Clock, most: int = 1024) -> None:
        self._clock, self._most = clock, most
        # Address: how often, and when it may try again.
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def seconds_to_wait(self, address: str) -> float:
        """Return how long this address has to wait before its next try."""
        _, again = self._failures.get(_neighbourhood(address), (0, 0.0))
        return max(0.0, again - self._clock())

    def failed(self, address: str) -> None:
        """Remember a wrong token."""
        key, now = _neighbourhood(address), self._clock()
        times, again = self._failures.pop(key, (0, 0.0))
        times = 1 if now - again > FORGET_SECONDS and times else times + 1
        over = times - FREE_FAILURES
        wait = 0.0 if over <= 0 else min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(over - 1, 16))
        self._failures[key] = (times, now + wait)
        while len(self._failures) > self._most:
            self._failures.popitem(last=False)

    def succeeded(self, address: str) -> None:
        """Forget the failures of an address that knows the token."""
        self._failures.pop(_neighbourhood(address), None)

    def __len__(self) -> int:
        return len(self._failures)


def _neighbourhood(address: str) -> str:
    """Return what stands for an address: who has one of IPv6 has a whole network of them."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is None:
        return str(ipaddress.ip_network((parsed.packed, 64), strict=False))
    return str(parsed)
