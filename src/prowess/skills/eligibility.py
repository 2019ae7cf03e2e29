"""Whether a skill can run on this host and, where it cannot, what exactly is missing.

The host enters as `HostFacts`, a value: which programs and variables exist, never what they hold.
`always` lifts requirements, but never the operating system and never an unreadable metadata block.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prowess.settings import EntrySettings, NodeSettings, Settings
from prowess.skills.metadata import InstallOption, offer_options, platform_name
from prowess.skills.model import Requirements, Skill

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


class ConfigCheck(NamedTuple):
    """Whether a config path is satisfied. Its value is nobody's business."""

    path: str
    satisfied: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judgement on one skill for one host and configuration."""

    disabled: bool = False
    blocked_by_allowlist: bool = False
    blocked_by_metadata: bool = False
    missing: Requirements = field(default_factory=Requirements)
    config_checks: tuple[ConfigCheck, ...] = ()
    install: tuple[InstallOption, ...] = ()

    @property
    def eligible(self) -> bool:
        """True where nothing stands in the way."""
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


def check(skill: Skill, facts: HostFacts, settings: Settings) -> Verdict:
    """Judge `skill`; a requirement is met here, on a remote node, or in the config."""
    metadata = skill.metadata
    entry = settings.skills.entries.get(skill.key, _NO_ENTRY)
    allowed = settings.skills.allow_bundled
    unlisted = skill.bundled and allowed is not None and not {skill.key, skill.name} & allowed
    plain = entry.enabled is not False and not unlisted and metadata.readable
    if plain and not metadata.requires and not metadata.install:
        return READY
    missing = _missing(skill, facts, settings, entry)
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


def _missing(
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
    """Say what is missing, group by group, in the order people set things up."""
    groups = (
        ("bins", missing.bins),
        ("anyBins", missing.any_bins),
        ("env", missing.env),
        ("config", missing.config),
        ("os", missing.os),
    )
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in groups if names)
