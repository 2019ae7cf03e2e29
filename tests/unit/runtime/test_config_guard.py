"""What no client may change in the config, and what passes beside it."""

from typing import Any

import pytest
from tests.rows import each_row

from prowess.errors import ConfigKeyError
from prowess.runtime.config.redaction import GUARDED, MOST_AGENTS, refuse_crowds, refuse_guarded

OTHERS = {"gateway": {"port": 1}, "skills": {"pinned": ["a"]}}


def nested(key: str, value: object) -> dict[str, Any]:
    for part in reversed(key.split(".")):
        value = {part: value}
    assert isinstance(value, dict)
    return value


@each_row("key", GUARDED)
def test_a_guarded_key_is_neither_set_nor_changed_nor_removed(key: str) -> None:
    old, new = nested(key, ["a"]), nested(key, ["b"])

    for before, after in ((OTHERS, new), (old, new), (old, OTHERS), (old, {})):
        with pytest.raises(ConfigKeyError) as refused:
            refuse_guarded(before, after)

        assert refused.value.key == key
        assert f"`prowess config set {key}`" in str(refused.value)
    refuse_guarded(old, {**old, "mode": 1})


HERE, THERE = {"id": "a", "workspace": "/here"}, {"id": "a", "workspace": "/there"}


@each_row(
    ("before", "after"),
    [
        ([HERE], [THERE]),
        ([HERE], [{"id": "a"}]),
        ([{"id": "a"}], [HERE]),
        ([HERE], [THERE, HERE]),
        ([HERE], [{**THERE, "id": " a "}]),
        ([HERE], [HERE, {**THERE, "id": "b"}]),
        ([], [HERE]),
    ],
)
def test_no_client_moves_a_workspace(before: list[object], after: list[object]) -> None:
    with pytest.raises(ConfigKeyError, match=r"agents\.list\[\d\]\.workspace"):
        refuse_guarded({"agents": {"list": before}}, {"agents": {"list": after}})
    by_id = {"a": {"workspace": "/there"}}
    with pytest.raises(ConfigKeyError, match=r"agents\.entries\.a\.workspace"):
        refuse_guarded({"agents": {"list": [HERE]}}, {"agents": {"entries": by_id}})


@each_row("after", [[], [HERE, {"id": "b"}], [{**HERE, "id": "b"}, HERE], [{**HERE, "skills": []}]])
def test_agents_come_and_go_where_agents_work_already(after: list[object]) -> None:
    refuse_guarded({"agents": {"list": [HERE]}}, {"agents": {"list": after}})


def test_a_setting_below_a_group_is_named() -> None:
    with pytest.raises(ConfigKeyError, match=r"^gateway\.auth\.token: "):
        refuse_guarded({}, {"gateway": {"auth": {"token": "canary"}}})
    with pytest.raises(ConfigKeyError, match=r"^skills\.model: "):
        refuse_guarded({}, {"skills": {"model": {"endpoint": "http://h", "keyEnv": "SECRET"}}})


@each_row(
    "key",
    ["gateway.reload.mode", "gateway.port", "gateway.controlUi.theme", "skills.routing.maxSkills",
     "skills.load.watch", "plugins.entries.skill-workshop.config.maxPending", "mode",
     "skills.entries.x.env.A", "skills.entries.x.apiKey"],
)  # fmt: skip
def test_other_keys_are_free(key: str) -> None:
    refuse_guarded({}, nested(key, "plain"))
    refuse_guarded(nested(key, "plain"), {})


@each_row(
    "reference",
    ["$NAME", " ${NAME} ", {"source": "env", "name": "X"}, {"source": "file", "path": "/x"},
     {"source": "exec", "command": ["x"]}, {"source": "unheard-of"}],
)  # fmt: skip
@each_row("place", ["apiKey", "env.A", "env.NAME=canary"])
def test_a_reference_to_a_secret_is_kept_and_replaced_but_not_made(
    place: str, reference: object
) -> None:
    key = f"skills.entries.x.{place}"
    found = nested(key, reference)

    for before in ({}, nested(key, "plain"), nested(key, {"source": "env", "name": "Y"})):
        with pytest.raises(ConfigKeyError) as refused:
            refuse_guarded(before, found)

        assert refused.value.key == key.removesuffix(".NAME=canary")
        assert "canary" not in str(refused.value)
    refuse_guarded(found, {**found, "mode": 1})
    refuse_guarded(found, nested(key, "plain"))


def test_the_operators_own_accounts_are_not_lent_through_the_gateway() -> None:
    lent = nested("skills.entries.x.allowEnv", ["GITHUB_TOKEN"])

    with pytest.raises(ConfigKeyError, match="allowEnv"):
        refuse_guarded({}, lent)
    refuse_guarded(lent, {})


def test_there_is_an_end_to_agents() -> None:
    refuse_crowds(0, MOST_AGENTS)
    refuse_crowds(MOST_AGENTS + 5, MOST_AGENTS + 5)

    with pytest.raises(ConfigKeyError, match="500"):
        refuse_crowds(1, MOST_AGENTS + 1)
