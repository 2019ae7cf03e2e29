"""The requirements, triggers and installers that a skill declares, in any dialect, as one value.

What is present but cannot be read closes the gate: a typo must never make a skill ready.
"""

from dataclasses import replace
from typing import NamedTuple

from prowess.skills.diagnostics import diagnose
from prowess.skills.field_reader import (
    FieldReader,
    UnreadableError,
    as_text,
    keyed,
    mapping,
    strings,
)
from prowess.skills.install_specs import read_install
from prowess.skills.json_text import read_object
from prowess.skills.model import Diagnostic, Fields, Metadata, Requirements, Triggers, Value
from prowess.skills.text import one_line

_REQUIREMENT_KEYS = frozenset(
    ("bins", "bin", "anybins", "anybin", "env", "envs", "config", "configs", "os")
)
_OS_ALIASES = {
    "macos": "darwin",
    "mac": "darwin",
    "osx": "darwin",
    "windows": "win32",
    "win": "win32",
}


class Resolved(NamedTuple):
    """The metadata of a skill, the raw map it came from, and what was wrong with it."""

    metadata: Metadata
    raw: Fields
    namespace: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()


def platform_name(name: str) -> str:
    """Return the one name of an operating system, whatever alias was written."""
    word = name.strip().lower()
    return _OS_ALIASES.get(word, word)


def resolve(reader: FieldReader) -> Resolved:
    """Resolve `metadata` and the dialect keys that mean the same."""
    line = reader.line("metadata")
    try:
        raw = _raw(reader)
        namespace, block = _block(raw)
        metadata, found = _openclaw(block, line)
    except UnreadableError:
        problem = diagnose("METADATA_UNREADABLE", "metadata cannot be read", line=line)
        return Resolved(metadata=Metadata(readable=False), raw={}, diagnostics=(problem,))
    if not namespace and "clawdis" in raw:
        message = "the namespace 'clawdis' is not read, so nothing in it has an effect"
        found.append(diagnose("METADATA_ALIAS", message, line=line))
    metadata, more = _with_dialects(metadata, raw, reader)
    return Resolved(metadata=metadata, raw=raw, namespace=namespace, diagnostics=(*found, *more))


def _raw(reader: FieldReader) -> Fields:
    if "metadata" in reader.ambiguous:
        raise UnreadableError
    value = reader.value("metadata")
    if isinstance(value, dict) and _is_squashed(value):
        # `{a:1}` is JSON5, which YAML reads as the key `a:1` without a value.
        value = read_object(reader.front.texts.get("metadata", ""))
        if value is None:
            raise UnreadableError
    return mapping(value)


def _is_squashed(value: Fields) -> bool:
    """Return whether some map in `value` has a key such as `bins:git` and nothing behind it."""
    stack: list[Value] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if any(":" in key and inner is None for key, inner in item.items()):
                return True
            stack += item.values()
        elif isinstance(item, list):
            stack += item
    return False


def _block(raw: Fields) -> tuple[str, Fields]:
    names = keyed(raw)
    for namespace in ("openclaw", "clawdbot"):
        value = names.get(namespace)
        if isinstance(value, dict) or (isinstance(value, str) and read_object(value) is not None):
            return namespace, keyed(mapping(value))
    if names.get("openclaw") is not None or names.get("clawdbot") is not None:
        raise UnreadableError
    return "", {}


def _openclaw(block: Fields, line: int | None) -> tuple[Metadata, list[Diagnostic]]:
    if not _REQUIREMENT_KEYS.isdisjoint(set(block) - {"os"}):
        # A requirement one level too high: most likely the indentation slipped.
        raise UnreadableError
    wanted = [block.get(key) for key in ("requires", "require", "requirements")]
    requires = keyed(mapping(next((value for value in wanted if value is not None), None)))
    install, found = read_install(block.get("install"), line)
    unknown = sorted(set(requires) - _REQUIREMENT_KEYS)
    if unknown:
        message = f"requires.{unknown[0]} is not a kind of requirement, so it has no effect"
        found.append(diagnose("METADATA_ALIAS", message, line=line))
    metadata = Metadata(
        always=block.get("always") is True,
        skill_key=one_line(as_text(block.get("skillkey"))),
        primary_env=as_text(block.get("primaryenv")),
        emoji=as_text(block.get("emoji")),
        homepage=as_text(block.get("homepage")),
        requires=Requirements(
            bins=_names(requires, "bins", "bin"),
            any_bins=_names(requires, "anybins", "anybin"),
            env=_names(requires, "env", "envs"),
            config=_names(requires, "config", "configs"),
            os=_platforms(requires.get("os") if block.get("os") is None else block["os"]),
        ),
        install=install,
        triggers=_triggers(block.get("triggers")),
    )
    return metadata, found


def _names(requires: Fields, *keys: str) -> tuple[str, ...]:
    """Return the names of one kind of requirement; a slip in its number is forgiven."""
    return tuple(
        dict.fromkeys(name for key in keys for name in strings(requires.get(key), split=r",\s"))
    )


def _platforms(value: Value) -> tuple[str, ...]:
    names = strings(value, split=r",\s")
    return tuple(dict.fromkeys(platform_name(name) for name in names))


def _triggers(value: Value) -> Triggers:
    if value is None:
        return Triggers()
    if isinstance(value, dict):
        return Triggers(
            any=strings(value.get("any")),
            all=strings(value.get("all")),
            none=strings(value.get("none")),
        )
    return Triggers(any=strings(value, split=",|"))


def _with_dialects(
    metadata: Metadata, raw: Fields, reader: FieldReader
) -> tuple[Metadata, list[Diagnostic]]:
    """Add what Hermes, OpenHands and Netclaw declare outside the OpenClaw block."""
    requires = metadata.requires
    try:
        env = _required_variables(reader.value("required_environment_variables"))
        platforms = _platforms(reader.value("platforms"))
    except UnreadableError:
        key = "required_environment_variables or platforms"
        problem = diagnose("METADATA_UNREADABLE", f"{key} cannot be read", line=None)
        return replace(metadata, readable=False), [problem]
    triggers = metadata.triggers
    if triggers == Triggers():
        triggers = _loose_triggers(raw, reader)
    return (
        replace(
            metadata,
            requires=replace(
                requires,
                env=tuple(dict.fromkeys((*requires.env, *env))),
                os=requires.os or platforms,
            ),
            triggers=triggers,
            emoji=metadata.emoji or reader.text("emoji"),
            homepage=metadata.homepage or reader.text("homepage", "website", "url"),
        ),
        [],
    )


def _loose_triggers(raw: Fields, reader: FieldReader) -> Triggers:
    """Read triggers outside the OpenClaw block: hints only, so a bad shape is simply none."""
    for value in (raw.get("triggers"), reader.value("triggers")):
        try:
            found = _triggers(value)
        except UnreadableError:
            continue
        if found != Triggers():
            return found
    return Triggers()


def _required_variables(value: Value) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        return strings(value, split=r",\s")
    names = [item.get("name") if isinstance(item, dict) else item for item in value]
    return strings(names)
