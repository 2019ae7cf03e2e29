"""Traces and metrics of events over OTLP, by the conventions for generative AI.

What took time becomes a span under what it was a part of, and one measurement of its duration. Only
names, ids, counts and verdicts are sent: no message, no text of a skill, no secret is in any event.
Where it goes, and with which headers, is read from the standard variables by the exporters. What is
finished is sent by threads of its own; a receiver that is gone costs nobody anything.
"""

import logging
import threading
from collections.abc import Mapping

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    TraceFlags,
    set_span_in_context,
)
from opentelemetry.trace.status import Status, StatusCode

from prowess.spans import Id, Timed

log = logging.getLogger(__name__)

_SCOPE = "prowess"
# How long each may take for what waits as the gateway ends.
_LAST_S = 1.5
_CALL = "call"
_DURATION = "gen_ai.client.operation.duration"
# The buckets that the conventions ask for, in seconds.
_BUCKETS = (
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
)  # fmt: skip
# What the conventions have a name for; all else is ours.
_NAMES = {
    "agent": "gen_ai.agent.id",
    "method": "rpc.method",
    "skill": "prowess.skill.name",
    "proposal": "prowess.proposal.id",
}


class Telemetry(logging.Handler):
    """Hears events, and sends those that took time."""

    def __init__(self, environ: Mapping[str, str], version: str) -> None:
        """Begin; the version is ours."""
        super().__init__(logging.DEBUG)
        named = {} if environ.get("OTEL_SERVICE_NAME") else {"service.name": _SCOPE}
        self._resource = Resource.create({**named, "service.version": version})
        self._scope = InstrumentationScope(_SCOPE, version)
        self._spans = BatchSpanProcessor(OTLPSpanExporter())
        # The one that `OTEL_TRACES_SAMPLER` names.
        self._sampler = TracerProvider(resource=self._resource, shutdown_on_exit=False).sampler
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        self._meters = MeterProvider([reader], self._resource, shutdown_on_exit=False)
        self._durations = self._meters.get_meter(_SCOPE, version).create_histogram(
            _DURATION,
            "s",
            "How long an operation took.",
            explicit_bucket_boundaries_advisory=_BUCKETS,
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Send one event, if it took time; what the exporters say becomes one of our lines."""
        if record.name.startswith("opentelemetry"):
            log.warning("telemetry.failed: %s", record.getMessage())
        event = getattr(record, "timed", None)
        if isinstance(event, Timed):
            if self._is_sampled(event):
                self._spans.on_end(self._span(event))
            kind = {key: value for key, value in _kind(event).items() if key != "rpc.system"}
            failed = {"error.type": event.failed} if event.failed else {}
            self._durations.record(event.took_ns / 1e9, {**kind, **failed})

    def _is_sampled(self, event: Timed) -> bool:
        """Return whether the whole that an event belongs to is wanted; all of it or nothing."""
        root = event
        while root.parent is not None:
            root = root.parent
        above = Context()
        if root.sampled_elsewhere is not None:
            above = set_span_in_context(NonRecordingSpan(_context(root)), above)
        decided = self._sampler.should_sample(above, root.trace_id, root.what)
        return bool(decided.decision.is_sampled())

    def close(self) -> None:
        """Send what waits, and end; a receiver that is gone is not waited for any longer."""
        ends = (self._spans.shutdown, self._meters.shutdown)
        threads = [threading.Thread(target=end, daemon=True) for end in ends]
        for one in threads:
            one.start()
        for one in threads:
            one.join(_LAST_S)
        super().close()

    def _span(self, event: Timed) -> ReadableSpan:
        attributes = {**_kind(event), **{_name(key): value for key, value in event.ids.items()}}
        if event.failed:
            attributes["error.type"] = event.failed
        return ReadableSpan(
            name=event.what,
            context=_context(event),
            parent=None if event.parent is None else _context(event.parent),
            resource=self._resource,
            attributes=attributes,
            kind=SpanKind.SERVER if event.what == _CALL else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR if event.failed else StatusCode.UNSET),
            start_time=event.began_ns,
            end_time=event.began_ns + event.took_ns,
            instrumentation_scope=self._scope,
        )


def _kind(event: Timed) -> dict[str, Id]:
    """Return what kind of work an event is: a call of the gateway, or a tool that ran in one."""
    if event.what == _CALL:
        return {"rpc.system": _SCOPE, "rpc.method": event.ids.get("method", "")}
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": event.what,
        "gen_ai.tool.type": "function",
    }


def _name(key: str) -> str:
    return _NAMES.get(key, f"prowess.{key}")


def _context(event: Timed) -> SpanContext:
    is_sampled = event.sampled_elsewhere in {None, True}
    return SpanContext(
        trace_id=event.trace_id,
        span_id=event.span_id,
        is_remote=event.sampled_elsewhere is not None,
        trace_flags=TraceFlags(TraceFlags.SAMPLED if is_sampled else TraceFlags.DEFAULT),
    )
