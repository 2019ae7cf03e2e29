"""The requirements, triggers and installers that a skill declares, in any dialect, as one value.

What is present but cannot be read closes the gate: a typo must never make a skill ready. An install
entry ends up on a command line, so each value must look like a package name and nothing else; a bad
one is dropped with a diagnostic.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from prowess.late import dataclass
from prowess.settings import InstallSettings
from prowess.skills.frontmatter import (
    FieldReader,
    UnreadableError,
    as_text,
    read_keys,
    read_mapping,
    read_strings,
)
from prowess.skills.model import (
    Diagnostic,
    Fields,
    InstallSpec,
    Metadata,
    Requirements,
    Triggers,
    Value,
    diagnose,
)
from prowess.skills.notation import read_object
from prowess.skills.text import one_line

_TARGET_KEYS = {
    "brew": ("formula", "cask"),
    "node": ("package",),
    "go": ("module",),
    "uv": ("package",),
    "download": ("url",),
}
# Compiled on first use: most skills install nothing.
_PATTERNS = {
    "brew": r"(?!-)(?!.*\.\.)[A-Za-z0-9@+._/-]+",
    "node": r"(@[a-z0-9._~-]+/)?[A-Za-z0-9_~][A-Za-z0-9._~-]*(@[A-Za-z0-9._~^<>=*+-]+)?",
    "go": r"(?!-)(?!.*\.\.)[A-Za-z0-9._~/-]+(@[A-Za-z0-9._+-]+)?",
    "uv": r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._,-]+\])?([=<>!~]=?[A-Za-z0-9.*,=<>!~+_-]+)?",
    "download": r"[hH][tT][tT][pP][sS]?://[^\s/?#]+\S*",
}
_SHA256 = r"[0-9a-fA-F]{64}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOption:
    """One way to install what is missing, as a person is offered it."""

    id: str
    kind: str
    label: str
    bins: tuple[str, ...] = ()


def read_install(
    value: Value, line: int | None
) -> tuple[tuple[InstallSpec, ...], list[Diagnostic]]:
    """Read the entries of `install`, dropping those that are not safe."""
    if value is None:
        return (), []
    if not isinstance(value, (list, tuple)):
        return (), [diagnose("INSTALL_ENTRY_INVALID", "install is not a list", line=line)]
    specs: list[InstallSpec] = []
    found: list[Diagnostic] = []
    for index, entry in enumerate(value):
        spec = _spec(entry, index)
        if isinstance(spec, InstallSpec):
            specs.append(spec)
        else:
            found.append(diagnose("INSTALL_ENTRY_INVALID", f"install[{index}]: {spec}", line=line))
    return tuple(specs), found


def _spec(entry: Value, index: int) -> InstallSpec | str:
    """Return the entry, or what is wrong with it."""
    if not isinstance(entry, dict):
        return "not a map"
    kind = as_text(entry.get("kind", entry.get("type"))).lower()
    if kind not in _TARGET_KEYS:
        return f"kind is {kind!r}, not one of {', '.join(_TARGET_KEYS)}"
    key = next((key for key in _TARGET_KEYS[kind] if as_text(entry.get(key))), "")
    target = as_text(entry.get(key))
    if not re.fullmatch(_PATTERNS[kind], target):
        return f"{key or _TARGET_KEYS[kind][0]} is missing or not a plain {kind} name"
    sha256 = as_text(entry.get("sha256"))
    if sha256 and not re.fullmatch(_SHA256, sha256):
        return "sha256 is not 64 hexadecimal characters"
    try:
        return _fill_spec(entry, InstallSpec(kind=kind, target=target, cask=key == "cask"), index)
    except UnreadableError:
        return "bins or os is not a list of names"


def _fill_spec(entry: Fields, spec: InstallSpec, index: int) -> InstallSpec:
    extract, strip = entry.get("extract"), entry.get("stripComponents")
    return InstallSpec(
        kind=spec.kind,
        target=spec.target,
        cask=spec.cask,
        # Numbered before any filtering: the same id must mean the same entry on every host.
        id=one_line(as_text(entry.get("id"))) or f"{spec.kind}-{index}",
        label=as_text(entry.get("label")),
        bins=read_strings(entry.get("bins")),
        os=read_strings(entry.get("os"), split=r",\s"),
        archive=as_text(entry.get("archive")),
        extract=extract if isinstance(extract, bool) else None,
        strip_components=max(strip, 0) if isinstance(strip, int) else 0,
        target_dir=as_text(entry.get("targetDir")),
        sha256=as_text(entry.get("sha256")).lower(),
    )


def offer_options(
    specs: Sequence[InstallSpec], *, available: frozenset[str], settings: InstallSettings
) -> tuple[InstallOption, ...]:
    """Return what a person is offered: all of them if all are downloads, else the best one."""
    if not specs:
        return ()
    if all(spec.kind == "download" for spec in specs):
        return tuple(_option(spec, settings) for spec in specs)
    return (_option(_best(specs, brew="brew" in available, settings=settings), settings),)


def _best(specs: Sequence[InstallSpec], *, brew: bool, settings: InstallSettings) -> InstallSpec:
    first = {spec.kind: spec for spec in reversed(specs)}
    order = ["brew"] if brew and settings.prefer_brew else []
    order += ["uv", "node"]
    order += ["brew"] if brew else []
    order += ["go", "download", "brew"]
    return next((first[kind] for kind in order if kind in first), specs[0])


def _option(spec: InstallSpec, settings: InstallSettings) -> InstallOption:
    return InstallOption(id=spec.id, kind=spec.kind, label=_label(spec, settings), bins=spec.bins)


def _label(spec: InstallSpec, settings: InstallSettings) -> str:
    if spec.kind == "node":
        return f"Install {spec.target} ({settings.node_manager})"
    if spec.label:
        return spec.label
    if spec.kind == "download":
        return f"Download {spec.target.rstrip('/').rsplit('/', 1)[-1]}"
    return f"Install {spec.target} ({spec.kind})"


_REQUIREMENT_KEYS = frozenset(
    ("bins", "bin", "anybins", "anybin", "env", "envs", "config", "configs", "os")
)
# Phrases of several words, in any script: commas part them, blanks do not.
_COMMAS = ",\uff0c\u3001"
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
    return read_mapping(value)


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
    names = read_keys(raw)
    for namespace in ("openclaw", "clawdbot"):
        value = names.get(namespace)
        if isinstance(value, dict) or (isinstance(value, str) and read_object(value) is not None):
            return namespace, read_keys(read_mapping(value))
    if names.get("openclaw") is not None or names.get("clawdbot") is not None:
        raise UnreadableError
    return "", {}


def _openclaw(block: Fields, line: int | None) -> tuple[Metadata, list[Diagnostic]]:
    if not _REQUIREMENT_KEYS.isdisjoint(set(block) - {"os"}):
        # A requirement one level too high: most likely the indentation slipped.
        raise UnreadableError
    wanted = [block.get(key) for key in ("requires", "require", "requirements")]
    requires = read_keys(read_mapping(next((value for value in wanted if value is not None), None)))
    install, found = read_install(block.get("install"), line)
    unknown = sorted(set(requires) - _REQUIREMENT_KEYS)
    if unknown:
        message = f"requires.{unknown[0]} is not a kind of requirement, so it has no effect"
        found.append(diagnose("METADATA_ALIAS", message, line=line))
    metadata = Metadata(
        always=block.get("always") is True,
        skill_key=one_line(as_text(block.get("skillkey"))),
        primary_env=one_line(as_text(block.get("primaryenv"))),
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
        dict.fromkeys(
            name for key in keys for name in read_strings(requires.get(key), split=r",\s")
        )
    )


def _platforms(value: Value) -> tuple[str, ...]:
    names = read_strings(value, split=r",\s")
    return tuple(dict.fromkeys(platform_name(name) for name in names))


def _triggers(value: Value) -> Triggers:
    if value is None:
        return Triggers()
    if isinstance(value, dict):
        return Triggers(
            any=read_strings(value.get("any"), split=_COMMAS),
            all=read_strings(value.get("all"), split=_COMMAS),
            none=read_strings(value.get("none"), split=_COMMAS),
        )
    return Triggers(any=read_strings(value, split=f"{_COMMAS}|"))


def _with_dialects(
    metadata: Metadata, raw: Fields, reader: FieldReader
) -> tuple[Metadata, list[Diagnostic]]:
    """Add what Hermes, OpenHands and Netclaw declare outside the OpenClaw block."""
    requires = metadata.requires
    try:
        env = _read_required_variables(reader.value("required_environment_variables"))
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


def _read_required_variables(value: Value) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        return read_strings(value, split=r",\s")
    names = [item.get("name") if isinstance(item, dict) else item for item in value]
    return read_strings(names)
