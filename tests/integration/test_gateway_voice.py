"""What a gateway says about itself: its log on standard error, and spans and metrics over OTLP."""

import gzip
import http.client
import http.server
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.integration.house_world import House

from prowess.spans import read_traceparent
from prowess.wiring.events import EventFormatter

SECRET = "wombat-7f20c1aa93"  # noqa: S105 - of processes that live for a test
QUESTION = "please do alpha for the zebra crossing"
WORKSHOP = {"entries": {"skill-workshop": {"enabled": True, "config": {"enabled": True}}}}
pytestmark = pytest.mark.slow


@pytest.fixture
def house(tmp_path: Path) -> House:
    place = House(tmp_path)
    place.skill("alpha")
    place.configure(plugins=WORKSHOP)
    return place


class Gateway:
    """A process that serves; its log is there once it has ended."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self.process, self.port = process, port

    def post(self, path: str, body: Mapping[str, Any], **headers: str) -> Any:  # noqa: ANN401
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        kinds = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        given = {**kinds, "Authorization": f"Bearer {SECRET}", **headers}
        line.request("POST", path, json.dumps(body), given)
        answer = line.getresponse()
        text = answer.read().decode()
        line.close()
        return json.loads(text.partition("data: ")[2] or text)

    def rpc(self, method: str, **params: object) -> Any:  # noqa: ANN401
        return self.post("/rpc", {"type": "req", "id": "v", "method": method, "params": params})

    def tool(self, name: str, /, **arguments: object) -> Any:  # noqa: ANN401
        params = {"name": name, "arguments": arguments, "_meta": _META}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        names = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name}
        return self.post("/mcp", body, **names)

    def end(self, patience_s: float = 120) -> list[str]:
        """Stop it, and return the lines of its log."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=patience_s)
        assert self.process.returncode == 0, said
        return said.splitlines()


_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "voice", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@contextmanager
def _serving(house: House, *words: str, **environ: str) -> Iterator[Gateway]:
    variables = {"PATH": os.environ["PATH"], "HOME": str(house.home)}
    variables |= {"PROWESS_HOME": str(house.state), "PROWESS_GATEWAY_TOKEN": SECRET}
    process = subprocess.Popen(
        [sys.executable, "-m", "prowess", "serve", "--port", "0", "--json", *words],
        env={**variables, **environ},
        cwd=house.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first, process.communicate()
        yield Gateway(process, int(json.loads(first)["address"].rpartition(":")[2]))
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _suggest(gateway: Gateway) -> Any:  # noqa: ANN401
    return gateway.tool(
        "skill_workshop",
        action="suggest",
        skillName="zebra-notes",
        title="Zebra notes",
        reason="It was learned.",
        description="Notes on zebras. Use when somebody asks for zebra notes.",
        body="## Steps\n\n- Count the stripes before you write.\n",
    )


def test_the_log_has_a_line_for_each_event_as_json_and_no_secret(house: House) -> None:
    with _serving(house, "--log-format", "json", "--log-level", "debug") as gateway:
        assert gateway.rpc("skills.route", message=f"{QUESTION} {SECRET}")["ok"]
        gateway.rpc(f"no.such.{SECRET}")
        suggested = _suggest(gateway)
        lines = gateway.end()

    events = [json.loads(line) for line in lines]
    assert all({"time", "level", "what", "message"} <= set(event) for event in events)
    by_name = {event["what"]: event for event in events}
    assert by_name["gateway.started"]["address"].endswith(str(gateway.port))
    assert "gateway.stopped" in by_name
    assert by_name["route"]["decision"] in {"load", "offer", "none"}
    answered = [event for event in events if event["what"] == "call.answered"]
    assert {event["method"] for event in answered} == {"skills.route", "unknown"}
    queued = [event for event in events if event["message"] == "skill-workshop: queued zebra-notes"]
    assert len(queued) == 1, suggested
    assert queued[0]["proposal"]
    assert SECRET not in "".join(lines)
    assert "zebra crossing" not in "".join(lines)


def test_requests_without_the_token_are_logged_without_what_was_tried_and_not_endlessly(
    house: House,
) -> None:
    wrong = "guess-4f1c9a77"
    with _serving(house, "--log-format", "json") as gateway:
        for _ in range(50):
            answer = gateway.post("/rpc", {"id": "v"}, Authorization=f"Bearer {wrong}")
            assert "error" in answer
        lines = gateway.end()

    refused = [json.loads(line) for line in lines if '"http.refused"' in line]
    assert 1 <= len(refused) < 25
    assert (refused[0]["path"], refused[0]["peer"]) == ("/rpc", "127.0.0.1")
    assert refused[0]["why"] == "UNAUTHORIZED"
    assert wrong not in "".join(lines)


def test_the_log_is_text_unless_asked_and_quiet_below_its_level(house: House) -> None:
    with _serving(house) as gateway:
        gateway.rpc("skills.route", message=QUESTION)
        info = gateway.end()
    with _serving(house, "--log-level", "error") as gateway:
        gateway.rpc("skills.route", message=QUESTION)
        errors = gateway.end()

    assert any(" info    gateway.started address=http://127.0.0.1:" in line for line in info)
    assert not any(" route " in line for line in info)
    assert errors == []


def test_a_line_is_one_line_whatever_a_record_holds() -> None:
    for style in ("text", "json"):
        maker = EventFormatter(style, [SECRET])
        line = maker.format(_record(f"evil: a\nb\x1b[2J {SECRET}", name_given=f"x\n{SECRET}"))

        assert "\n" not in line
        assert "\x1b" not in line
        assert SECRET not in line
        assert "password=****" in maker.format(_record("x.y: password=hunter2secret99"))


def _record(message: str, **more: object) -> Any:  # noqa: ANN401
    return logging.makeLogRecord({"msg": message, "levelname": "INFO", "levelno": 20, **more})


class _Receiver(http.server.ThreadingHTTPServer):
    """Takes OTLP over HTTP, and keeps it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.bodies: dict[str, list[bytes]] = {"/v1/traces": [], "/v1/metrics": []}


class _Taking(http.server.BaseHTTPRequestHandler):
    server: _Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.bodies[self.path].append(body)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[_Receiver]:
    server = _Receiver()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def _spans(receiver: _Receiver) -> list[Any]:
    traces = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    sent = [traces.ExportTraceServiceRequest.FromString(b) for b in receiver.bodies["/v1/traces"]]
    return [
        span
        for request in sent
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _attributes(span: Any) -> dict[str, str]:  # noqa: ANN401
    return {one.key: one.value.string_value for one in span.attributes}


def _apply_only_proposal(gateway: Gateway) -> None:
    (proposal,) = gateway.rpc("skills.proposals.list")["payload"]["proposals"]
    seen = gateway.rpc("skills.proposals.inspect", proposalId=proposal["id"])["payload"]
    revision = seen["record"]["revisionHash"]
    applied = gateway.rpc(
        "skills.proposals.apply", proposalId=proposal["id"], expectedRevisionHash=revision
    )
    assert applied["ok"], applied


def test_route_load_scan_and_apply_are_spans_and_durations_are_measured(
    house: House, receiver: _Receiver
) -> None:
    pytest.importorskip("opentelemetry.sdk")
    endpoint = f"http://127.0.0.1:{receiver.server_port}"

    with _serving(house, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint) as gateway:
        gateway.rpc("skills.route", message=f"{QUESTION} {SECRET}")
        gateway.tool("load_skill", name="alpha")
        _suggest(gateway)
        _apply_only_proposal(gateway)
        gateway.end()

    spans = _spans(receiver)
    by_name = {span.name: span for span in spans}
    assert {"call", "route", "load", "scan", "apply"} <= set(by_name)
    route = _attributes(by_name["route"])
    assert route["gen_ai.operation.name"] == "execute_tool"
    assert route["gen_ai.tool.name"] == "route"
    assert route["gen_ai.agent.id"] == "main"
    assert _attributes(by_name["load"])["prowess.skill.name"] == "alpha"
    calls = {span.span_id: span for span in spans if span.name == "call"}
    assert _attributes(calls[by_name["route"].parent_span_id])["rpc.method"] == "skills.route"
    metrics = b"".join(receiver.bodies["/v1/metrics"])
    assert b"gen_ai.client.operation.duration" in metrics
    everything = b"".join(receiver.bodies["/v1/traces"]) + metrics
    for hidden in (SECRET, "zebra crossing", "Count the stripes"):
        assert hidden.encode() not in everything


_TRACE, _SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_a_call_is_a_part_of_what_its_traceparent_names_and_samplers_are_followed(
    house: House, receiver: _Receiver
) -> None:
    pytest.importorskip("opentelemetry.sdk")
    exporter = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{receiver.server_port}",
        "OTEL_TRACES_SAMPLER": "parentbased_always_off",
    }
    body = {"type": "req", "id": "v", "method": "skills.route", "params": {"message": QUESTION}}

    with _serving(house, **exporter) as gateway:
        for flags in ("01", "00", ""):
            parent = {"traceparent": f"00-{_TRACE}-{_SPAN}-{flags}"} if flags else {}
            assert gateway.post("/rpc", body, **parent)["ok"]
        gateway.end()

    # The one whose caller records it, and of that all; its own root is off by the sampler.
    spans = _spans(receiver)
    assert sorted(span.name for span in spans) == ["call", "route"]
    assert {span.trace_id.hex() for span in spans} == {_TRACE}
    (call,) = (span for span in spans if span.name == "call")
    assert call.parent_span_id.hex() == _SPAN


@pytest.mark.parametrize(
    "odd", ["", "00-0-0-01", f"ff-{_TRACE}-{_SPAN}-01", f"00-{'0' * 32}-{_SPAN}-01", "\u00e9"]
)
def test_a_traceparent_that_is_none_is_left_alone(odd: str) -> None:
    assert read_traceparent(odd) is None


def test_a_gateway_without_the_extra_says_so_and_serves(house: House, tmp_path: Path) -> None:
    folder = tmp_path / "without"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import sys\nsys.modules['opentelemetry.sdk'] = None\n", encoding="utf-8"
    )
    endpoint = "http://127.0.0.1:9"

    with _serving(house, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, PYTHONPATH=str(folder)) as gateway:
        assert gateway.rpc("skills.route", message=QUESTION)["ok"]
        lines = gateway.end()

    (warning,) = [line for line in lines if "telemetry.missing" in line]
    assert "warning" in warning
    assert "pip install 'prowess[otel]'" in warning


def test_a_receiver_that_is_gone_keeps_nobody_waiting(house: House) -> None:
    pytest.importorskip("opentelemetry.sdk")
    more = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TIMEOUT": "90"}

    with _serving(house, "--log-format", "json", **more) as gateway:
        assert gateway.rpc("skills.route", message=QUESTION)["ok"]
        # Each exporter would try again for half a minute.
        lines = gateway.end(25)

    assert all(json.loads(line)["what"] for line in lines)


def test_an_exporter_that_fails_is_told_of_in_the_form_of_the_log(house: House) -> None:
    pytest.importorskip("opentelemetry.sdk")
    more = {"OTEL_EXPORTER_OTLP_ENDPOINT": "no address", "OTEL_BSP_SCHEDULE_DELAY": "50"}

    with _serving(house, "--log-format", "json", **more) as gateway:
        assert gateway.rpc("skills.route", message=QUESTION)["ok"]
        lines = gateway.end()

    told = [one for line in lines if (one := json.loads(line))["what"] == "telemetry.failed"]
    assert {one["level"] for one in told} == {"warning"}


def test_nothing_is_sent_where_the_sdk_is_switched_off(house: House, receiver: _Receiver) -> None:
    endpoint = f"http://127.0.0.1:{receiver.server_port}"
    more = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_SDK_DISABLED": "true"}

    with _serving(house, **more) as gateway:
        assert gateway.rpc("skills.route", message=QUESTION)["ok"]
        gateway.end()

    assert not any(receiver.bodies.values())


def test_a_page_that_is_turned_away_is_named_in_the_log(house: House) -> None:
    with _serving(house, "--log-format", "json") as gateway:
        answer = gateway.post("/rpc", {"id": "v"}, Origin="http://elsewhere.example")
        assert answer["error"]["code"] == "FORBIDDEN"
        lines = gateway.end()

    (refused,) = [one for line in lines if (one := json.loads(line))["what"] == "http.refused"]
    assert refused["origin"] == "http://elsewhere.example"
    assert refused["why"] == "pages of this origin are not served"


def test_nothing_of_telemetry_is_loaded_where_nobody_asks_for_it() -> None:
    code = (
        "import sys, prowess.wiring.serve;"
        "print(sorted(m for m in sys.modules if m.startswith('opentelemetry.sdk')))"
    )

    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )

    assert found.stdout == "[]\n"
