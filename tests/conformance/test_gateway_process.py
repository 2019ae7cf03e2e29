"""`prowess serve` as a process: how it starts, what it says, who may start it, how it stops."""

import json
import re
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection

import pytest

from .gateway_bench import Gateway, heard, serving, started
from .world import TIMEOUT_S, World

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with serving(World(tmp_path_factory.mktemp("gateway"))) as running:
        yield running


@pytest.mark.requirement("gateway:address-first")
def test_the_address_is_the_first_line_and_comes_at_once(world: World) -> None:
    with started(world, "--port", "0", "--json") as (child, _):
        text = heard(child, lambda found: "\n" in found)

    first = json.loads(text.splitlines()[0])
    assert re.fullmatch(r"http://127\.0\.0\.1:[1-9]\d*/?", first["address"])


@pytest.mark.requirement("gateway:banner", "gateway:loopback-without-token")
def test_people_are_told_the_address_and_that_only_this_machine_can_reach_it(world: World) -> None:
    with started(world, "--port", "0", env={"PYTHONUNBUFFERED": "1"}) as (child, log):
        text = heard(child, lambda found: re.search(r"127\.0\.0\.1:\d+", found) is not None)
        child.send_signal(signal.SIGTERM)
        rest, _ = child.communicate(timeout=TIMEOUT_S)
        whole = text + rest.decode("utf-8") + log.read_text(encoding="utf-8")

    assert child.returncode == 0
    assert "Traceback" not in whole
    assert re.search(r"loopback|this machine|only from here", whole, re.IGNORECASE), whole


@pytest.mark.requirement("gateway:clean-stop", "gateway:instance-lock")
def test_clients_are_told_when_it_stops_and_a_killed_one_kept_nothing(world: World) -> None:
    with serving(world) as killed:
        killed.child.kill()
        killed.child.wait(TIMEOUT_S)
    with serving(world) as gateway, gateway.client() as client:
        client.call("health")
        gateway.child.send_signal(signal.SIGTERM)
        frames, code, _ = client.end()
        ended = gateway.child.wait(TIMEOUT_S)

    assert ended == 0
    assert code in {1001, 1012}
    assert any(frame["type"] == "event" for frame in frames)
    assert "Traceback" not in gateway.log.read_text(encoding="utf-8")


@pytest.mark.requirement("gateway:instance-lock")
def test_a_second_instance_on_the_same_state_is_refused_in_one_sentence(gateway: Gateway) -> None:
    second = gateway.world.process("serve", "--port", "0").one_sentence()

    assert second.code in {1, 2}
    assert re.search(r"already|another|running", second.err), second.err
    assert gateway.http("GET", "/health")[0] == 200


@pytest.mark.requirement("gateway:port-in-use")
def test_a_port_that_is_taken_is_named_in_one_sentence(world: World) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = world.process("serve", "--port", port).one_sentence()

    assert refused.code in {1, 2}
    assert port in refused.err


@pytest.mark.requirement("gateway:loopback-without-token")
def test_other_machines_are_not_served_without_a_token(world: World) -> None:
    # Nothing listens there: that is what is tested.
    everywhere = "0.0.0.0"  # noqa: S104
    refused = world.process("serve", "--port", "0", "--host", everywhere).one_sentence()

    assert refused.code in {1, 2}
    assert "token" in refused.err


@pytest.mark.requirement("gateway:loopback-without-token")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="others have one such address")
def test_every_address_of_this_machine_is_served_without_a_token(world: World) -> None:
    with started(world, "--port", "0", "--host", "127.0.0.2", "--json") as (child, _):
        first = json.loads(heard(child, lambda found: "\n" in found).splitlines()[0])
        link = HTTPConnection(first["address"].removeprefix("http://"), timeout=TIMEOUT_S)
        with closing(link):
            link.request("GET", "/health")
            status = link.getresponse().status

    assert first["address"].startswith("http://127.0.0.2:")
    assert (status, first["token"]) == (200, False)


@pytest.mark.requirement("gateway:help", "gateway:port-range")
def test_the_command_explains_itself_and_refuses_ports_that_do_not_exist(world: World) -> None:
    helped = world.run("serve", "--help").calm()
    refused = world.run("serve", "--port", "65536").calm()

    assert helped.code == 0
    for option in ("--host", "--port", "--token", "--open", "--json", "18789", "127.0.0.1"):
        assert option in helped.out
    assert refused.code == 2


@pytest.mark.requirement("gateway:health")
def test_health_says_that_it_works_and_whom_it_serves(gateway: Gateway) -> None:
    status, kind, text = gateway.http("GET", "/health")

    assert status == 200
    assert kind.startswith("application/json")
    assert json.loads(text)["ok"] is True


@pytest.mark.requirement("gateway:metrics")
def test_metrics_are_prometheus_text(gateway: Gateway) -> None:
    with gateway.client() as client:
        client.call("skills.status")
        status, kind, text = gateway.http("GET", "/metrics")

    assert status == 200
    assert kind.startswith("text/plain")
    samples = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert samples
    for line in samples:
        assert re.fullmatch(
            r'[a-zA-Z_:][\w:]*(\{(\w+="[^"]*",?)*\})? [-+]?([\d.]+(e[-+]?\d+)?|Inf|NaN)', line
        ), line
    assert any("skills.status" in line for line in samples)
