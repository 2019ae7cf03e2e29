"""How much one client may ask for and how often, what the owner decides, and the events' names.

Everything is bounded in two ways: by number, so that many small things do no harm, and by size.
The clock is handed in, so a test can let a minute pass.
"""

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from prowess.settings import GatewaySettings
from prowess.wire.handshake import CHALLENGE

Clock = Callable[[], float]

KIB = 1024
# Failures that cost nothing, the first wait after them, and the longest one.
FREE_FAILURES, FIRST_WAIT, LONGEST_WAIT = 5, 0.5, 5.0
# A failure this long ago is forgotten.
FORGET_SECONDS = 600.0
# Open files that are no connections: skills, the config, databases, pipes to programs.
_FILES_OF_ITS_OWN, _FEWEST_SOCKETS = 200, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayLimits:
    """The bounds of a gateway; the defaults are for people, not for load tests."""

    frames_per_second: float = 60.0
    burst: int = 120
    # Open requests of one connection, and of all over HTTP. They take turns in few threads; one
    # connection may have a whole burst open, or a limit would refuse what another allows.
    in_flight: int = 128
    http_in_flight: int = 64
    connections: int = 1000
    # Of these, how many may be without a name: strangers never take every place. After a restart
    # hundreds of clients come back in the same moment, and each is a stranger until it was heard.
    strangers: int = 600
    handshake_seconds: float = 10.0
    handshake_tries: int = 5
    # A stranger's frame: `connect` is small.
    stranger_payload: int = 64 * KIB
    # Pings and pongs, and the pieces of frames: these never reach a method.
    control_per_second: float = 20.0
    control_burst: int = 60
    pieces_per_second: float = 500.0
    pieces_burst: int = 2000
    queue_messages: int = 1000
    queue_bytes: int = 8 * KIB * KIB
    # Of all clients together; beyond it, who has the longest queue goes.
    all_queues_bytes: int = 256 * KIB * KIB
    # Who takes nothing at all of what is sent for so long is cut off.
    progress_seconds: float = 20.0
    # How long a goodbye may take before the connection is cut.
    goodbye_seconds: float = 2.0
    # From the end of one answer, or the beginning, to the end of the next request's header.
    header_seconds: float = 10.0
    body_seconds: float = 10.0
    # Clients that come and go within this time are told of together.
    presence_seconds: float = 0.25
    hello_threads: int = 4
    quick_threads: int = 8
    slow_threads: int = 8
    install_threads: int = 8
    installs_of_one: int = 2
    # Calls that wait for a thread or have one, of all clients together, in each lane.
    waiting_calls: int = 2000

    @property
    def sockets(self) -> int:
        """How many connections of any kind there may be."""
        return self.connections + self.strangers + 2 * self.http_in_flight

    def fitted(self, files: int) -> "GatewayLimits":
        """Return limits that a process which may open so many files can keep."""
        room = max(_FEWEST_SOCKETS, files - _FILES_OF_ITS_OWN)
        if self.sockets <= room:
            return self
        part = room / self.sockets
        return replace(
            self,
            connections=max(1, int(self.connections * part)),
            strangers=max(1, int(self.strangers * part)),
            http_in_flight=max(1, int(self.http_in_flight * part)),
        )


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

    Waiting is for wrong tokens alone. The owner may share an address with who guesses, as all
    programs of one machine do, and must not be kept out by that.
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


PRESENCE, TICK, SHUTDOWN = "presence", "tick", "shutdown"
# What `hello-ok` announces; others are sent too, but counted together.
# How the gateway stands with the database of its fleet, each time that changes.
HEALTH = "health"
EVENTS = (
    CHALLENGE,
    "config.changed",
    HEALTH,
    PRESENCE,
    SHUTDOWN,
    "skills.changed",
    "skills.indexing",
    "skills.install.progress",
    "skills.install.state",
    "skills.proposal",
    "skills.routed",
    TICK,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayOptions:
    """How a gateway is reached.

    Raises:
        ValueError: Other machines could reach it, and nothing is asked of them.
    """

    # Empty where none is asked for, which only a gateway for its own machine may do.
    token: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    loopback_only: bool = True
    # Names of this machine; what the config adds to them is asked for at each request.
    allowed_hosts: tuple[str, ...] = ()
    configured: Callable[[], GatewaySettings] = GatewaySettings
    tick_ms: int = 30_000
    max_payload: int = 512 * KIB
    version: str

    @property
    def method(self) -> str:
        """By what clients show that they may come in."""
        return "token" if self.token else "password" if self.password else "none"

    def __post_init__(self) -> None:
        if not self.loopback_only and not (self.token or self.password):
            raise ValueError(
                "a gateway that other machines can reach needs a token: give it one, or bind it to"
                " 127.0.0.1."
            )
