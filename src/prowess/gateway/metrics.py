"""What the gateway counts, as Prometheus text.

Labels come from closed sets, so that no client can make the page grow: a method that does not
exist counts as `unknown`. Everything is counted on the event loop, so nothing here needs a lock.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping

from prowess.gateway.frames import Fault

UNKNOWN = "unknown"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_PREFIX = "prowess_gateway_"


class Metrics:
    """The counters of one gateway."""

    def __init__(self) -> None:
        self._methods: frozenset[str] = frozenset()
        self._events: frozenset[str] = frozenset()
        self._requests: Counter[tuple[str, str]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._rejected: Counter[str] = Counter()
        self._sent: Counter[str] = Counter()
        self._accepted = self._dropped = 0

    def know(self, methods: Iterable[str], events: Iterable[str]) -> None:
        """Take these names as labels; all others count as unknown."""
        self._methods, self._events = frozenset(methods), frozenset(events)

    def answered(self, method: str, outcome: str, seconds: float) -> None:
        """Count an answer; `outcome` is `ok` or the code of the error."""
        label = method if method in self._methods else UNKNOWN
        self._requests[label, outcome] += 1
        counts = self._times.setdefault(label, [0] * (len(BUCKETS) + 1))
        counts[bisect_left(BUCKETS, seconds)] += 1
        # Hundredths of a millisecond: a counter of whole numbers never drifts.
        self._seconds[label] += round(seconds * 100_000)

    def refused_frame(self, fault: Fault) -> None:
        """Count a frame that was not taken."""
        self._refused[fault.value] += 1

    def rejected(self, reason: str) -> None:
        """Count a client that was not let in; `reason` comes from a closed set."""
        self._rejected[reason] += 1

    def accepted_client(self) -> None:
        """Count a client that was let in."""
        self._accepted += 1

    def dropped_client(self) -> None:
        """Count a client that did not read fast enough."""
        self._dropped += 1

    def sent_event(self, event: str, clients: int) -> None:
        """Count an event and how many clients it went to."""
        self._sent[event if event in self._events else UNKNOWN] += clients

    def text(self, gauges: Mapping[str, float], extra: Mapping[str, float]) -> str:
        """Return everything as Prometheus text."""
        lines: list[str] = []
        for name, value in gauges.items():
            lines += _family(name, "gauge", [("", value)])
        lines += _family("clients_total", "counter", [("", self._accepted)])
        lines += _family("slow_consumers_dropped_total", "counter", [("", self._dropped)])
        lines += _family("frames_refused_total", "counter", _labelled("reason", self._refused))
        lines += _family("clients_rejected_total", "counter", _labelled("reason", self._rejected))
        lines += _family("events_sent_total", "counter", _labelled("event", self._sent))
        rows = [
            (f'{{method="{method}",outcome="{outcome}"}}', count)
            for (method, outcome), count in sorted(self._requests.items())
        ]
        lines += _family("requests_total", "counter", rows)
        lines += self._histogram()
        for name, value in sorted(extra.items()):
            if _NAME.fullmatch(name):
                lines += [f"# TYPE prowess_{name} gauge", f"prowess_{name} {_number(value)}"]
        return "\n".join(lines) + "\n"

    def _histogram(self) -> list[str]:
        name = f"{_PREFIX}request_seconds"
        lines = [f"# TYPE {name} histogram"]
        for method, counts in sorted(self._times.items()):
            total = 0
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
                total += count
                lines.append(f'{name}_bucket{{method="{method}",le="{bound}"}} {total}')
            lines.append(f'{name}_sum{{method="{method}"}} {self._seconds[method] / 100_000}')
            lines.append(f'{name}_count{{method="{method}"}} {total}')
        return lines


def _family(name: str, kind: str, rows: Iterable[tuple[str, float]]) -> list[str]:
    full = _PREFIX + name
    return [
        f"# TYPE {full} {kind}",
        *(f"{full}{labels} {_number(value)}" for labels, value in rows),
    ]


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _labelled(label: str, counts: Mapping[str, int]) -> list[tuple[str, float]]:
    return [(f'{{{label}="{name}"}}', count) for name, count in sorted(counts.items())]
