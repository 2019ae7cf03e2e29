"""Presence: who is there is told once for many arrivals, and not at all when nothing came of it."""

import asyncio

from prowess.gateway.calls import Client, ClientScope
from prowess.gateway.hub import Hub
from prowess.gateway.limits import GatewayLimits


class _Member:
    """A connection that only remembers what it was told."""

    def __init__(self, name: str) -> None:
        self.client: Client | None = Client(id=name, scopes=frozenset((ClientScope.READ,)))
        self.since_ms, self.told = 0, list[str]()

    def send_event(self, event: str, payload_text: str) -> None:
        self.told.append(f"{event} {payload_text}")

    queued_bytes = 0

    def drop(self, reason: str) -> None:
        raise AssertionError(f"dropped: {reason}")

    def close(self, code: int, reason: str) -> None:
        raise AssertionError(f"closed: {code} {reason}")


def _come(hub: Hub, member: _Member) -> None:
    assert hub.join(member) is None
    hub.welcome(member)


async def _soon() -> None:
    """Let every timer of no seconds run."""
    for _ in range(5):
        await asyncio.sleep(0)


async def _watched() -> list[int]:
    hub, stays, others = Hub(limits=GatewayLimits(presence_seconds=0)), _Member("a"), _Member("b")
    hub.open(tick_ms=60_000)
    _come(hub, stays)
    await _soon()
    seen = [len(stays.told)]
    _come(hub, others)
    hub.leave(others)
    await _soon()
    seen.append(len(stays.told))
    for number in range(50):
        _come(hub, _Member(f"c{number}"))
    await _soon()
    seen.append(len(stays.told))
    return seen


def test_arrivals_are_told_together_and_who_came_and_went_is_no_news() -> None:
    assert asyncio.run(_watched()) == [1, 1, 2]
