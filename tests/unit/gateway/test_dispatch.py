"""From a request to a response, without a socket."""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from prowess import errors
from prowess.gateway.calls import (
    Client,
    ClientScope,
    Json,
    Method,
    NoParams,
    Params,
    RpcCall,
    RpcFailure,
)
from prowess.gateway.dispatch import Answering, Lane, MethodTable, Workers, dispatch
from prowess.gateway.frames import Fault, RequestFrame
from prowess.gateway.hub import Hub, Metrics
from prowess.gateway.limits import GatewayLimits

T = TypeVar("T")
READER = Client(id="c", scopes=frozenset({ClientScope.READ}))


class Numbers(Params):
    some_numbers: tuple[int, ...]


async def _here(work: Callable[[], T], *, lane: Lane) -> T:
    del lane
    return work()


def _table(answer: Callable[[RpcCall], Any], *, params: type[Params] = NoParams) -> MethodTable:
    return MethodTable(
        [
            Method(name="m", scope=ClientScope.READ, params=params, answer=answer),
            Method(name="w", scope=ClientScope.WRITE, params=NoParams, answer=lambda _call: {}),
        ]
    )


def _ask(table: MethodTable, method: str = "m", params: Json | None = None) -> Json:
    request = RequestFrame(id="1", method=method, params=params or {})
    return asyncio.run(dispatch(table, request, READER, lambda _event, _payload: None, _here))


def _raise(error: Exception) -> Callable[[RpcCall], Json]:
    def answer(_call: RpcCall) -> Json:
        raise error

    return answer


def test_two_methods_of_one_name_are_a_mistake() -> None:
    method = Method(name="m", scope=None, params=NoParams, answer=lambda _call: {})

    with pytest.raises(ValueError, match="two methods"):
        MethodTable([method, method])


def test_the_names_are_in_order() -> None:
    assert _table(lambda _call: {}).names == ("m", "w")


def test_a_missing_right_is_named_before_the_parameters_are_looked_at() -> None:
    response = _ask(_table(lambda _call: {}), "w", {"unknown": 1})

    assert response["error"]["code"] == "FORBIDDEN"
    assert "operator.write" in response["error"]["message"]


def test_parameters_are_read_as_json_reads_them() -> None:
    table = _table(lambda call: {"sum": sum(call.params.some_numbers)}, params=Numbers)

    assert _ask(table, params={"someNumbers": [1, 2]})["payload"] == {"sum": 3}
    wrong = _ask(table, params={"someNumbers": [1, "canary"]})["error"]
    assert wrong["details"] == {"field": "someNumbers.1"}
    assert "canary" not in json.dumps(wrong)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UnknownAgentError("a", ["main"]), "INVALID_REQUEST"),
        (errors.SkillNotFoundError("x"), "INVALID_REQUEST"),
        (errors.ProposalInputError("no"), "INVALID_REQUEST"),
        (errors.RemovalError("p", "no"), "INVALID_REQUEST"),
        (errors.ConfigKeyError("k", "no"), "INVALID_REQUEST"),
        (errors.ConfigSyntaxError("p", "no"), "INVALID_REQUEST"),
        (errors.ConfigError("p", "no"), "UNAVAILABLE"),
        (errors.StoreError("p", "no"), "UNAVAILABLE"),
        (errors.SecretError("p", "no"), "UNAVAILABLE"),
        (KeyError("canary"), "UNAVAILABLE"),
    ],
)
def test_each_kind_of_trouble_has_its_code(
    error: Exception, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    response = _ask(_table(_raise(error)))

    assert response["error"]["code"] == code
    assert "canary" not in json.dumps(response) + caplog.text


def test_what_nobody_expected_is_logged_by_type_and_place(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    _ask(_table(_raise(ZeroDivisionError("canary"))))

    assert "m failed: ZeroDivisionError at test_dispatch.py:" in caplog.text
    assert "canary" not in caplog.text


def test_an_outcome_and_an_error_may_both_be_told() -> None:
    response = _ask(_table(lambda _call: RpcFailure({"stderr": "x"}, "it failed", "why")))

    assert response["payload"] == {"stderr": "x"}
    assert response["error"]["message"] == "it failed"
    assert response["error"]["details"] == {"reason": "why"}
    assert not response["ok"]


def test_an_answer_that_is_no_json_becomes_an_error_and_is_counted() -> None:
    metrics = Metrics()
    metrics.know(["m"], ["tick"])
    answering = Answering(
        _table(lambda _call: {"x": {1}}), lambda _share: _here, metrics, lambda: 0.0
    )
    request = RequestFrame(id="1", method="m")

    response, text = asyncio.run(answering.answer(request, READER, lambda _event, _payload: None))

    assert json.loads(text) == response
    assert response["error"]["code"] == "UNAVAILABLE"
    assert 'requests_total{method="m",outcome="UNAVAILABLE"} 1' in metrics.text({}, {})


def test_too_many_waiting_calls_are_refused() -> None:
    async def ask() -> Json:
        workers = Workers(GatewayLimits(waiting_calls=0))
        request = RequestFrame(id="1", method="m")
        table = _table(lambda _call: {})
        try:
            run = workers.share("c")
            return await dispatch(table, request, READER, lambda _event, _payload: None, run)
        finally:
            workers.close()

    assert asyncio.run(ask())["error"]["message"].startswith("the gateway is busy")


def test_metrics_take_labels_from_closed_sets_and_add_up() -> None:
    metrics = Metrics()
    metrics.know(["health"], ["tick"])

    for seconds in (0.0005, 0.02, 99.0):
        metrics.answered("health", "ok", seconds)
    metrics.answered('evil"} 1', "ok", 0.1)
    metrics.sent_event("made.up", 3)
    metrics.refused_frame(Fault.FLOOD)
    text = metrics.text({"connections": 1_234_567}, {"skills": 0.5, "no good": 1})

    assert "prowess_gateway_connections 1234567" in text
    assert 'request_seconds_bucket{method="health",le="0.025"} 2' in text
    assert 'request_seconds_bucket{method="health",le="+Inf"} 3' in text
    assert 'request_seconds_count{method="health"} 3' in text
    assert 'events_sent_total{event="unknown"} 3' in text
    assert 'frames_refused_total{reason="flood"} 1' in text
    assert "prowess_skills 0.5" in text
    assert "evil" not in text
    assert "no good" not in text


def test_an_event_without_a_server_goes_nowhere_and_hurts_nobody() -> None:
    hub = Hub()

    hub.publish("skills.changed", {"version": 1})
    asyncio.run(hub.close("nothing runs"))

    assert hub.closing
    with pytest.raises(TypeError):
        hub.publish("skills.changed", {"version": object()})
