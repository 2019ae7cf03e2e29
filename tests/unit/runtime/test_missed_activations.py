"""Reports on sessions are made by one thread at a time, and kept for a while."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from prowess.runtime.sessions import MissedActivations, SessionsReport

DAY_MS = 86_400_000


class Machine:
    """A clock that a test sets, and reports that are counted."""

    def __init__(self) -> None:
        self.ms = 100 * DAY_MS
        self.since: list[int] = []
        self.busy = threading.Lock()

    def report(self, since_ms: int) -> SessionsReport:
        assert self.busy.acquire(blocking=False), "two at once"
        self.since.append(since_ms)
        self.busy.release()
        return SessionsReport(since_ms=since_ms)

    def reports(self) -> MissedActivations:
        return MissedActivations(self.report, lambda: self.ms)


def test_a_report_is_made_of_the_last_days_and_kept() -> None:
    machine = Machine()
    reports = machine.reports()

    first, second = reports.of(7), reports.of(7)

    assert first is second
    assert machine.since == [93 * DAY_MS]


@pytest.mark.parametrize("later_ms", [200_000, -200_000])
def test_what_is_old_is_made_again_also_when_the_clock_went_back(later_ms: int) -> None:
    machine = Machine()
    reports = machine.reports()
    reports.of(7)
    machine.ms += later_ms

    reports.of(7)

    assert len(machine.since) == 2


def test_other_days_or_a_wish_for_news_make_it_again() -> None:
    machine = Machine()
    reports = machine.reports()

    for days, fresh in ((7, False), (8, False), (8, True)):
        reports.of(days, fresh=fresh)

    assert len(machine.since) == 3


def test_those_who_ask_at_once_share_one_report() -> None:
    machine = Machine()
    reports = machine.reports()

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: reports.of(7), range(32)))

    assert len({id(one) for one in found}) == 1
    assert len(machine.since) == 1
