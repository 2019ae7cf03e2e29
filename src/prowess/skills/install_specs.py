"""Install entries of a skill's metadata: read, checked, and turned into what a person is offered.

An entry ends up on a command line, so each value must look like a package name and nothing else.
A bad entry is dropped with a diagnostic; the others stay.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from prowess.settings import InstallSettings
from prowess.skills.diagnostics import diagnose
from prowess.skills.field_reader import UnreadableError, as_text, strings
from prowess.skills.model import Diagnostic, Fields, InstallSpec, Value

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
        return _filled(entry, InstallSpec(kind=kind, target=target, cask=key == "cask"), index)
    except UnreadableError:
        return "bins or os is not a list of names"


def _filled(entry: Fields, spec: InstallSpec, index: int) -> InstallSpec:
    extract, strip = entry.get("extract"), entry.get("stripComponents")
    return InstallSpec(
        kind=spec.kind,
        target=spec.target,
        cask=spec.cask,
        # Numbered before any filtering: the same id must mean the same entry on every host.
        id=as_text(entry.get("id")) or f"{spec.kind}-{index}",
        label=as_text(entry.get("label")),
        bins=strings(entry.get("bins")),
        os=strings(entry.get("os"), split=r",\s"),
        archive=as_text(entry.get("archive")),
        extract=extract if isinstance(extract, bool) else None,
        strip_components=max(strip, 0) if isinstance(strip, int) else 0,
        target_dir=as_text(entry.get("targetDir")),
        sha256=as_text(entry.get("sha256")).lower(),
    )


def offered(
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
