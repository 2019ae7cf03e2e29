"""Whether a skill can run on this host and, where it cannot, what exactly is missing.

The host enters as `HostFacts`, a value: which programs and variables exist, never what they hold.
`always` lifts requirements, but never the operating system and never an unreadable metadata block.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from prowess.late import dataclass
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
    """Say what is missing, group by group: first what no set-up changes, then as it is done."""
    groups = (
        ("os", missing.os),
        ("bins", missing.bins),
        ("anyBins", missing.any_bins),
        ("env", missing.env),
        ("config", missing.config),
    )
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in groups if names)
