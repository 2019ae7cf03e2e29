"""The requirements, triggers and installers that a skill declares, in any dialect, as one value.

What is present but cannot be read closes the gate: a typo must never make a skill ready.
"""

from dataclasses import replace
from typing import NamedTuple

from prowess.skills.diagnostics import diagnose
from prowess.skills.field_reader import FieldReader, UnreadableError, as_text, mapping, strings
from prowess.skills.install_specs import read_install
from prowess.skills.json_text import read_object
from prowess.skills.model import Diagnostic, Fields, Metadata, Requirements, Triggers, Value

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
    value = reader.value("metadata")
    if isinstance(value, dict) and any(":" in key and value[key] is None for key in value):
        # `{a:1}` is JSON5, which YAML reads as the key `a:1` without a value.
        value = read_object(reader.front.texts.get("metadata", "")) or value
    return mapping(value)


def _block(raw: Fields) -> tuple[str, Fields]:
    for namespace in ("openclaw", "clawdbot"):
        value = raw.get(namespace)
        if isinstance(value, dict) or (isinstance(value, str) and read_object(value) is not None):
            return namespace, mapping(value)
    if raw.get("openclaw") is not None or raw.get("clawdbot") is not None:
        raise UnreadableError
    return "", {}


def _openclaw(block: Fields, line: int | None) -> tuple[Metadata, list[Diagnostic]]:
    requires = mapping(block.get("requires"))
    install, found = read_install(block.get("install"), line)
    metadata = Metadata(
        always=block.get("always") is True,
        skill_key=as_text(block.get("skillKey")),
        primary_env=as_text(block.get("primaryEnv")),
        emoji=as_text(block.get("emoji")),
        homepage=as_text(block.get("homepage")),
        requires=Requirements(
            bins=strings(requires.get("bins"), split=r",\s"),
            any_bins=strings(requires.get("anyBins"), split=r",\s"),
            env=strings(requires.get("env"), split=r",\s"),
            config=strings(requires.get("config"), split=r",\s"),
            os=_platforms(block.get("os")),
        ),
        install=install,
        triggers=_triggers(block.get("triggers")),
    )
    return metadata, found


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
