"""The settings as a JSON Schema, for forms; made from the table of settings.

It describes and does not judge: whether a value is taken is decided by who reads the settings.
Every object is open, because keys of other programs are kept.
"""

import json
from typing import Any

from prowess.settings import SETTINGS

_DRAFT = "http://json-schema.org/draft-07/schema#"


def config_schema() -> dict[str, Any]:
    """Return the schema of the config and, by place, what a form should hide."""
    root: dict[str, Any] = {"$schema": _DRAFT, "title": "Prowess", "type": "object"}
    hints: dict[str, Any] = {}
    for row in SETTINGS:
        described: dict[str, Any] = {**row.kind.schema, "description": row.meaning}
        if row.default is not None:
            described["default"] = row.default
        # A copy: places below are put into it.
        _find_place(root, row.key).update(json.loads(json.dumps(described)))
        if row.secret:
            parts = ("*" if part.startswith("<") else part for part in row.key.split("."))
            hints[".".join(parts)] = {"sensitive": True}
    return {"schema": root, "uiHints": hints}


def _find_place(root: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the schema of one key, with all that lead to it."""
    current = root
    for part in key.split("."):
        name, is_item = part.removesuffix("[]"), part.endswith("[]")
        current.setdefault("type", "object")
        if name.startswith("<"):
            current = current.setdefault("additionalProperties", {})
        else:
            current = current.setdefault("properties", {}).setdefault(name, {})
        if is_item:
            current.setdefault("type", "array")
            current = current.setdefault("items", {})
    return current
