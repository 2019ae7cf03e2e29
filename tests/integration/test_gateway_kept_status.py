"""`skills.status` of a gateway: made and encoded once, and anew as soon as something changed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prowess.gateway.calls import Client, EncodedPayload, Json, RpcCall
from prowess.gateway.methods import params as given
from prowess.gateway.methods.skills import skill_methods
from prowess.wiring.serve import ServedGateway, ServeRequest, open_gateway


def _write(workspace: Path, name: str) -> None:
    page = workspace / "skills" / name / "SKILL.md"
    page.parent.mkdir(parents=True)
    page.write_text(f"---\nname: {name}\ndescription: Waters {name}.\n---\n# {name}\n")


@pytest.fixture
def gateway(tmp_path: Path) -> ServedGateway:
    _write(tmp_path / "work", "roses")
    environ = {"HOME": str(tmp_path), "PATH": ""}
    request = ServeRequest(workspace=str(tmp_path / "work"))
    return open_gateway(request, home=str(tmp_path / "state"), environ=environ)


def _status(gateway: ServedGateway) -> Json:
    method = next(one for one in skill_methods(gateway.services) if one.name == "skills.status")
    call = RpcCall(method=method.name, params=given.StatusParams(), client=Client(id="test"))
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(method.answer, [call] * 40))
    assert len({id(answer) for answer in answers}) == 1
    found = answers[0]
    assert isinstance(found, EncodedPayload)
    return found


def test_everybody_who_asks_at_once_gets_the_one_report(gateway: ServedGateway) -> None:
    names = [row["name"] for row in _status(gateway)["skills"]]

    assert "roses" in names


def test_a_change_is_in_the_next_report(gateway: ServedGateway, tmp_path: Path) -> None:
    method = next(one for one in skill_methods(gateway.services) if one.name == "skills.status")
    call = RpcCall(method=method.name, params=given.StatusParams(), client=Client(id="test"))
    before = method.answer(call)
    _write(tmp_path / "work", "tulips")

    gateway.runtime.skills.refresh()
    after = method.answer(call)

    assert isinstance(before, EncodedPayload)
    assert isinstance(after, EncodedPayload)
    assert '"tulips"' not in before.text
    assert '"tulips"' in after.text
    assert method.answer(call) is after
