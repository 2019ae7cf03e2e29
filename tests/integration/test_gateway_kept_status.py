"""`skills.status` of a gateway: made and encoded once, and anew as soon as something changed."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prowess.gateway.calls import Client, EncodedPayload, Json, Method, RpcCall
from prowess.gateway.dispatch import collect_methods
from prowess.gateway.methods.skills import SkillMethods
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


def _find(gateway: ServedGateway, name: str) -> Method:
    methods = collect_methods(SkillMethods(gateway.services))
    return next(one for one in methods if one.name == name)


def _status(gateway: ServedGateway) -> Json:
    method = next(
        one
        for one in collect_methods(SkillMethods(gateway.services))
        if one.name == "skills.status"
    )
    call = RpcCall(method=method.name, params=method.params(), client=Client(id="test"))
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
    method = next(
        one
        for one in collect_methods(SkillMethods(gateway.services))
        if one.name == "skills.status"
    )
    call = RpcCall(method=method.name, params=method.params(), client=Client(id="test"))
    before = method.answer(call)
    _write(tmp_path / "work", "tulips")

    gateway.runtime.skills.refresh()
    after = method.answer(call)

    assert isinstance(before, EncodedPayload)
    assert isinstance(after, EncodedPayload)
    assert '"tulips"' not in before.text
    assert '"tulips"' in after.text
    assert method.answer(call) is after


def _ask(gateway: ServedGateway, name: str, **fields: object) -> Json:
    method = next(
        one for one in collect_methods(SkillMethods(gateway.services)) if one.name == name
    )
    params = method.params.model_validate(fields)
    answer = method.answer(RpcCall(method=name, params=params, client=Client(id="test")))
    assert isinstance(answer, dict)
    return answer


def test_rows_say_the_same_in_few_bytes_and_nothing_to_who_has_them(
    gateway: ServedGateway, tmp_path: Path
) -> None:
    for number in range(300):
        _write(tmp_path / "work", f"roses-of-kind-{number:03}")
    gateway.runtime.skills.refresh()
    whole = _status(gateway)

    rows = _ask(gateway, "skills.rows")

    assert isinstance(rows, EncodedPayload)
    shapes = [{"name": name, **rows["shapes"][shape]} for name, shape, *_ in rows["rows"]]
    for row, status in zip(shapes, whole["skills"], strict=True):
        assert row["name"] == status["name"]
        for field in ("eligible", "blockedByScanner", "modelVisible", "disabled"):
            assert bool(row.get(field)) == bool(status[field])
    assert len(rows.text) < 60 * len(rows["rows"])
    again = _ask(gateway, "skills.rows", since=rows["revision"])
    assert again == {"agentId": "main", "revision": rows["revision"], "same": True}


def test_what_a_window_shows_is_asked_for_by_name_and_searched_by_letters(
    gateway: ServedGateway, tmp_path: Path
) -> None:
    _write(tmp_path / "work", "tulips")
    gateway.runtime.skills.refresh()

    some = _ask(gateway, "skills.some", names=("tulips", "nothing"))
    found = _ask(gateway, "skills.match", query="WATERS tul")

    assert [one["description"] for one in some["skills"]] == ["Waters tulips."]
    assert found["names"] == ["tulips"]


def test_what_a_limit_cuts_or_nobody_can_read_is_a_row_with_its_reason(
    gateway: ServedGateway, tmp_path: Path
) -> None:
    limits = {"skills": {"limits": {"maxSkillsLoadedPerSource": 1}}}
    (tmp_path / "state").mkdir(exist_ok=True)
    (tmp_path / "state" / "prowess.json").write_text(json.dumps(limits))
    _write(tmp_path / "work", "tulips")
    torn = tmp_path / "work" / "skills" / "torn"
    torn.mkdir()
    (torn / "SKILL.md").write_text("---\nname: torn\n")
    gateway.runtime.skills.refresh()

    rows = _ask(gateway, "skills.rows")

    lost = {name: rows["shapes"][shape] for name, shape, *_ in rows["rows"]}
    assert lost["torn"]["unread"] == "broken"
    assert lost["tulips"]["unread"] == "cut"
    assert "maxSkillsLoadedPerSource" in lost["tulips"]["fix"]
    assert not gateway.runtime.why("tulips").visible
