"""Corrections of missed skills for the real workshop, or for a copy of it that keeps nothing."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from prowess.runtime.missed_corrections import MissedCorrections
from prowess.wiring.library import Runtime
from prowess.wiring.workshop import workshop_tools
from prowess.wiring.workshop_capture import rehearsing


@contextmanager
def open_missed_corrections(
    runtime: Runtime, agent: str, *, rehearse: bool
) -> Iterator[MissedCorrections]:
    """Return what proposes corrections of missed skills; a rehearsal keeps nothing.

    Raises:
        StoreError: the store cannot be copied.
    """
    with ExitStack() as stack:
        chosen = stack.enter_context(rehearsing(runtime)) if rehearse else runtime
        yield MissedCorrections(workshop_tools(chosen), agent)
