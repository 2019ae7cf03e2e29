"""The settings as a JSON Schema, for forms; made from the table of settings.

It describes and does not judge: whether a value is taken is decided by who reads the settings.
Every object is open, because keys of other programs are kept.
"""

import json
import re
from typing import Any

from prowess.runtime.config.redaction import is_secret_name
from prowess.settings_table import SETTINGS, Setting

_DRAFT = "http://json-schema.org/draft-07/schema#"
_AT_LEAST = re.compile(r"integer, at least (\d+)")
_BETWEEN = re.compile(r"integer, (\d+) to (\d+)")
_CHOICE = re.compile(r"[a-z-]+(?:, [a-z-]+)* or [a-z-]+")
_WORDS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_SECRET: dict[str, Any] = {"type": ["string", "object"]}
_KINDS: dict[str, dict[str, Any]] = {
    "true or false": {"type": "boolean"},
    "number between 0 and 1": {"type": "number", "minimum": 0, "maximum": 1},
    "string or secret reference": _SECRET,
    "map of strings or secret references": {"type": "object", "additionalProperties": _SECRET},
    "any map": {"type": "object"},
    "object: VARIABLE to list of hosts": {"type": "object", "additionalProperties": _WORDS},
    "an agent without its id": {"type": "object"},
    "list of agents": {"type": "array", "items": {"type": "object", "required": ["id"]}},
    "list of {name, platforms, bins}": {"type": "array", "items": {"type": "object"}},
    "true, false or list of harness names": {
        "type": ["boolean", "array"],
        "items": {"type": "string"},
    },
}


def config_schema() -> dict[str, Any]:
    """Return the schema of the config and, by place, what a form should hide."""
    root: dict[str, Any] = {"$schema": _DRAFT, "title": "Prowess", "type": "object"}
    for row in SETTINGS:
        _place(root, row.key).update(_described(row))
    return {"schema": root, "uiHints": _hints()}


def _place(root: dict[str, Any], key: str) -> dict[str, Any]:
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


def _described(row: Setting) -> dict[str, Any]:
    found = {**_kind(row.kind), "description": row.meaning}
    default = _default(row.default)
    return found if default is None else {**found, "default": default}


def _kind(kind: str) -> dict[str, Any]:
    known = _KINDS.get(kind)
    if known is not None:
        # A copy: places below are put into it.
        return dict(json.loads(json.dumps(known)))
    if match := _AT_LEAST.fullmatch(kind):
        return {"type": "integer", "minimum": int(match[1])}
    if match := _BETWEEN.fullmatch(kind):
        return {"type": "integer", "minimum": int(match[1]), "maximum": int(match[2])}
    if kind.startswith("list of "):
        return {"type": "array", "items": {"type": "string"}}
    if _CHOICE.fullmatch(kind) and " or a " not in kind:
        return {"type": "string", "enum": re.split(r", | or ", kind)}
    return {"type": "string"}


# A default is any JSON, or words about where it comes from.
def _default(text: str) -> Any:  # noqa: ANN401
    try:
        return json.loads(text)
    except ValueError:
        return text if re.fullmatch(r"[a-z-]+", text) and text != "absent" else None


def _hints() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for row in SETTINGS:
        parts = ["*" if part.startswith("<") else part for part in row.key.split(".")]
        # What a skill keeps for itself is hidden as a whole, whatever its names.
        if is_secret_name(parts[-1]) or row.key == "skills.entries.<skillKey>.config":
            found[".".join(parts)] = {"sensitive": True}
    return found
