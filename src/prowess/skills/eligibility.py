"""What a skill asks for, whether this host has it and, where it has not, what exactly is missing.

Requirements, triggers and installers are read in any dialect as one value. What is present but
cannot be read closes the gate: a typo must never make a skill ready. An install entry ends up on a
command line, so each value must look like a package name and nothing else; a bad one is dropped
with a diagnostic.

The host enters as `HostFacts`, a value: which programs and variables exist, never what they hold.
`always` lifts requirements, but never the operating system and never an unreadable metadata block.
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple

from prowess.data import dataclass
from prowess.settings import EntrySettings, InstallSettings, NodeSettings, Settings
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
    Skill,
    Triggers,
    Value,
    diagnose,
)
from prowess.skills.text import one_line, read_object

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
    return (_option(_pick(specs, brew="brew" in available, settings=settings), settings),)


def _pick(specs: Sequence[InstallSpec], *, brew: bool, settings: InstallSettings) -> InstallSpec:
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
        raw = _read_raw(reader)
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


def _read_raw(reader: FieldReader) -> Fields:
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
    if not _says_something(triggers):
        triggers = _read_loose(raw, reader)
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


def _says_something(found: Triggers) -> bool:
    return bool(found.any or found.all or found.none)


def _read_loose(raw: Fields, reader: FieldReader) -> Triggers:
    """Read triggers outside the OpenClaw block: hints only, so a bad shape is simply none."""
    for value in (raw.get("triggers"), reader.value("triggers")):
        try:
            found = _triggers(value)
        except UnreadableError:
            continue
        if _says_something(found):
            return found
    return Triggers()


def _read_required_variables(value: Value) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        return read_strings(value, split=r",\s")
    names = [item.get("name") if isinstance(item, dict) else item for item in value]
    return read_strings(names)


# OpenClaw switches these on by default, and skills written for it rely on that.
_CONFIG_DEFAULTS = frozenset(("browser.enabled", "browser.evaluateEnabled"))
# Never set by a person: the names by which JavaScript readers of the same file are attacked.
_FORBIDDEN_SEGMENTS = frozenset(("__proto__", "prototype", "constructor", ""))
_NO_ENTRY = EntrySettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """What is true of the machine, as far as skills ask for it."""

    platform: str
    bins: frozenset[str] = frozenset()
    env: frozenset[str] = frozenset()


# Of a machine that nobody asks anything about.
NO_FACTS = HostFacts(platform="")


class ConfigCheck(NamedTuple):
    """Whether a config path is satisfied. Its value is nobody's business."""

    path: str
    satisfied: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingFinding:
    """A finding of the scanner that nobody accepted, and that keeps a skill from use."""

    rule_id: str
    file: str
    line: int
    message: str
    # By which this very finding is accepted.
    evidence_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannerBlock:
    """Why a skill is kept from use: findings of the scanner, no verdict, or a policy."""

    findings: tuple[BlockingFinding, ...] = ()
    # Why the scan failed; what was not scanned is never accepted.
    problem: str = ""
    # Which rule of which policy forbids it, whatever the scanner says.
    policy: str = ""

    @property
    def is_pending(self) -> bool:
        """True where the skill was not scanned yet, as it is now."""
        return not (self.findings or self.problem or self.policy)

    @property
    def by(self) -> str:
        """Who keeps it from use."""
        return "a policy" if self.policy else "the scanner"

    @property
    def reason(self) -> str:
        """Say in a few words why."""
        if self.policy:
            return self.policy
        if not self.findings:
            failed = f"it could not be scanned ({self.problem})"
            return failed if self.problem else "it was not scanned yet"
        first, more = self.findings[0], len(self.findings) - 1
        place = f"{first.rule_id} in {first.file}, line {first.line}"
        return f"{place} and {more} more" if more else place

    def find_way_out(self, name: str) -> str:
        """Say what to do about it for the skill that people call `name`."""
        if self.is_pending:
            return "wait a moment: it is scanned while nobody waits, or by `prowess list`"
        # A name is the skill's own word, and what stands here is copied into a shell.
        if self.policy:
            return f"see `prowess policy explain {shlex.quote(name)}`"
        look = f"prowess scan {shlex.quote(name)}"
        if not self.findings:
            return f"run `{look}`"
        first = self.findings[0]
        options = f"--rule {first.rule_id} --evidence {first.evidence_hash} --reason TEXT"
        accept = f"prowess scan accept {shlex.quote(name)} {options}"
        return f"look at it with `{look}`; where it is fine, run `{accept}`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judgement on one skill for one host and configuration."""

    disabled: bool = False
    blocked_by_allowlist: bool = False
    blocked_by_metadata: bool = False
    # None where the scanner lets it pass.
    blocked: ScannerBlock | None = None
    missing: Requirements = field(default_factory=Requirements)
    config_checks: tuple[ConfigCheck, ...] = ()
    install: tuple[InstallOption, ...] = ()

    @property
    def eligible(self) -> bool:
        """True where nothing stands in the way."""
        return self.is_set_up and self.blocked is None

    @property
    def is_set_up(self) -> bool:
        """True where nothing but the scanner can stand in the way."""
        blocked = self.disabled or self.blocked_by_allowlist or self.blocked_by_metadata
        return not blocked and not self.missing

    @property
    def platform_incompatible(self) -> bool:
        """True where no amount of set-up on this machine would help."""
        return bool(self.missing.os)


READY = Verdict()


def needed_bins(skills: Iterable[Skill]) -> frozenset[str]:
    """Return the programs that any of `skills` asks for."""
    names: set[str] = set()
    for skill in skills:
        requires = skill.metadata.requires
        if requires.bins or requires.any_bins:
            names.update(requires.bins, requires.any_bins)
    return frozenset(names)


def needed_env(skills: Iterable[Skill]) -> frozenset[str]:
    """Return the environment variables that any of `skills` asks for."""
    return frozenset(name for skill in skills for name in skill.metadata.requires.env)


def find_needs(skills: Iterable[Skill]) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the programs and variables to look for; None where the host is the same to all."""
    asking = [one for one in skills if one.metadata.requires or one.metadata.install]
    return (needed_bins(asking) | {"brew"}, needed_env(asking)) if asking else None


def is_disabled(skill: Skill, settings: Settings) -> bool:
    """Return whether the configuration switches a skill off."""
    return settings.skills.entries.get(skill.key, _NO_ENTRY).enabled is False


def check(skill: Skill, facts: HostFacts, settings: Settings, *, withheld: bool = False) -> Verdict:
    """Judge `skill`; a requirement is met here, on a remote node, or in the config.

    Of an entry that is `withheld` only the switch counts.
    """
    metadata = skill.metadata
    entry = settings.skills.entries.get(skill.key, _NO_ENTRY)
    if withheld:
        entry = EntrySettings(enabled=entry.enabled)
    allowed = settings.skills.allow_bundled
    unlisted = skill.bundled and allowed is not None and not {skill.key, skill.name} & allowed
    plain = entry.enabled is not False and not unlisted and metadata.readable
    if plain and not metadata.requires and not metadata.install:
        return READY
    missing = _find_missing(skill, facts, settings, entry)
    return Verdict(
        disabled=entry.enabled is False,
        blocked_by_allowlist=unlisted,
        blocked_by_metadata=not metadata.readable,
        missing=Requirements(os=missing.os) if metadata.always else missing,
        config_checks=tuple(
            ConfigCheck(path=path, satisfied=is_satisfied(settings.values, path))
            for path in metadata.requires.config
        ),
        install=_install(skill, facts, settings),
    )


def _find_missing(
    skill: Skill, facts: HostFacts, settings: Settings, entry: EntrySettings
) -> Requirements:
    requires, metadata, nodes = skill.metadata.requires, skill.metadata, settings.skills.nodes
    bins = facts.bins.union(*(node.bins for node in nodes))
    env = facts.env | entry.env_names
    if entry.has_api_key and metadata.primary_env:
        env |= {metadata.primary_env}
    found_any = not requires.any_bins or any(name in bins for name in requires.any_bins)
    return Requirements(
        bins=tuple(name for name in requires.bins if name not in bins),
        any_bins=() if found_any else requires.any_bins,
        env=tuple(name for name in requires.env if name not in env),
        config=tuple(p for p in requires.config if not is_satisfied(settings.values, p)),
        os=() if _platform_fits(requires.os, facts, nodes) else requires.os,
    )


def _platform_fits(
    wanted: tuple[str, ...], facts: HostFacts, nodes: Iterable[NodeSettings]
) -> bool:
    if not wanted:
        return True
    remote = {platform_name(name) for node in nodes for name in node.platforms}
    return not remote.isdisjoint(wanted) or facts.platform in wanted


def is_satisfied(values: Mapping[str, Any], path: str) -> bool:
    """Return whether the dotted `path` leads to something that counts as switched on."""
    current: Any = values
    for segment in path.split("."):
        if segment in _FORBIDDEN_SEGMENTS:
            return False
        if not isinstance(current, Mapping) or segment not in current:
            return path in _CONFIG_DEFAULTS
        current = current[segment]
    if current is None:
        return False
    if isinstance(current, str):
        return bool(current.strip())
    # A list or map counts even when it is empty: it was written on purpose.
    return bool(current) if isinstance(current, (bool, int, float)) else True


def _install(skill: Skill, facts: HostFacts, settings: Settings) -> tuple[InstallOption, ...]:
    requires = skill.metadata.requires
    if requires.os and facts.platform not in requires.os:
        return ()
    specs = [
        spec
        for spec in skill.metadata.install
        if not spec.os or facts.platform in {platform_name(name) for name in spec.os}
    ]
    return offer_options(specs, available=facts.bins, settings=settings.skills.install)


def missing_text(missing: Requirements) -> str:
    """Say what is missing, group by group: first what no set-up changes, then as it is done."""
    groups = (
        ("os", missing.os),
        ("bins", missing.bins),
        ("anyBins", missing.any_bins),
        ("env", missing.env),
        ("config", missing.config),
    )
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in groups if names)
