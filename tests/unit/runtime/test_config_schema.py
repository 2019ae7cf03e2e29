"""The schema of the settings that forms are made from."""

import json
from typing import Any

from tests.rows import each_row

from prowess.runtime.config.edits import config_schema
from prowess.settings import SETTINGS
from prowess.settings_table import Setting


def at(key: str) -> dict[str, Any]:
    current = config_schema()["schema"]
    for part in key.split("."):
        name = part.removesuffix("[]")
        current = (
            current["additionalProperties"] if name.startswith("<") else current["properties"][name]
        )
        current = current["items"] if part.endswith("[]") else current
    assert isinstance(current, dict)
    return current


@each_row("row", SETTINGS)
def test_every_setting_is_described_with_its_type(row: Setting) -> None:
    found = at(row.key)

    assert found["description"] == row.meaning
    assert found["type"]
    assert "default" not in found or json.dumps(found["default"])


def test_types_and_bounds_are_those_of_the_table() -> None:
    assert at("skills.load.watch")["type"] == "boolean"
    assert at("skills.specMode")["enum"] == ["legacy", "mixed", "strict"]
    assert at("skills.limits.maxSkillFileBytes")["minimum"] == 1
    interval = at("plugins.entries.skill-workshop.config.reviewInterval")
    assert (interval["minimum"], interval["maximum"], interval["default"]) == (1, 200, 15)
    assert at("agents.list")["items"]["required"] == ["id"]
    assert at("skills.routing.encoder").get("enum") is None
    assert "default" not in at("skills.allowBundled")


def test_forms_are_told_what_to_hide() -> None:
    hints = config_schema()["uiHints"]

    assert hints["skills.entries.*.apiKey"] == {"sensitive": True}
    assert hints["skills.entries.*.env"] == {"sensitive": True}
    assert "skills.routing.encoderKeyEnv" not in hints


def test_one_answer_does_not_change_the_next() -> None:
    first = config_schema()

    first["schema"]["properties"].clear()

    assert at("skills.load.watch")
