"""What the owner of a gateway decides, and the names of the events that it sends."""

from dataclasses import dataclass, field

from prowess.gateway.limits import KIB

CHALLENGE = "connect.challenge"
PRESENCE, TICK, SHUTDOWN = "presence", "tick", "shutdown"
# What `hello-ok` announces; others are sent too, but counted together.
EVENTS = (
    CHALLENGE,
    "config.changed",
    PRESENCE,
    SHUTDOWN,
    "skills.changed",
    "skills.install.progress",
    "skills.install.state",
    "skills.proposal",
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
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    tick_ms: int = 30_000
    max_payload: int = 512 * KIB
    version: str

    def __post_init__(self) -> None:
        if not self.loopback_only and not (self.token or self.password):
            raise ValueError(
                "a gateway that other machines can reach needs a token: give it one, or bind it to"
                " 127.0.0.1."
            )
