"""The library and the terminal behind one face: how does each skill stand for one agent?"""

from dataclasses import dataclass, field
from typing import Protocol

from prowess.runtime.service import SkillStatus

from .world import Json, Variables, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What every surface must say about one skill."""

    source: str
    eligible: bool
    disabled: bool = False
    blocked_by_allowlist: bool = False
    allowed: bool = True
    model_visible: bool = True
    command_visible: bool = True
    # Only the kinds of which something is missing.
    missing: dict[str, list[str]] = field(default_factory=dict)
    config_checks: dict[str, bool] = field(default_factory=dict)
    install: tuple[str, ...] = ()


Answers = dict[str, Answer]


class Surface(Protocol):
    """One way of asking Prowess."""

    def answers(self, *, agent: str | None = None, env: Variables | None = None) -> Answers:
        """Return the answer about each skill, by name."""

    def prompt(self, *, agent: str | None = None) -> str:
        """Return the agent's prompt block."""


@dataclass(frozen=True, slots=True)
class LibrarySurface:
    """Asks through `prowess.open`."""

    world: World

    def answers(self, *, agent: str | None = None, env: Variables | None = None) -> Answers:
        report = self.world.open(env).skills.status(agent)
        return {status.skill.name: _of_status(status) for status in report.skills}

    def prompt(self, *, agent: str | None = None) -> str:
        return self.world.open().skills.prompt(agent).text


@dataclass(frozen=True, slots=True)
class TerminalSurface:
    """Asks through `prowess list --json` and `prowess prompt --json`."""

    world: World

    def answers(self, *, agent: str | None = None, env: Variables | None = None) -> Answers:
        rows = self.world.listing(*_for(agent), env=env)
        return {name: _of_row(row) for name, row in rows.items()}

    def prompt(self, *, agent: str | None = None) -> str:
        return self.world.prompt(*_for(agent))


def _for(agent: str | None) -> tuple[str, ...]:
    return () if agent is None else ("--agent", agent)


def _of_status(status: SkillStatus) -> Answer:
    verdict = status.verdict
    missing = {
        "bins": list(verdict.missing.bins),
        "anyBins": list(verdict.missing.any_bins),
        "env": list(verdict.missing.env),
        "config": list(verdict.missing.config),
        "os": list(verdict.missing.os),
    }
    return Answer(
        source=status.skill.source.tier.source_id,
        eligible=verdict.eligible,
        disabled=verdict.disabled,
        blocked_by_allowlist=verdict.blocked_by_allowlist,
        allowed=status.matched is not None,
        model_visible=status.model_visible,
        command_visible=status.command_visible,
        missing={kind: names for kind, names in missing.items() if names},
        config_checks={check.path: check.satisfied for check in verdict.config_checks},
        install=tuple(option.id for option in verdict.install),
    )


def _of_row(row: Json) -> Answer:
    return Answer(
        source=row["source"],
        eligible=row["eligible"],
        disabled=row["disabled"],
        blocked_by_allowlist=row["blockedByAllowlist"],
        allowed=not row["blockedByAgentFilter"],
        model_visible=row["modelVisible"],
        command_visible=row["commandVisible"],
        missing={kind: names for kind, names in row["missing"].items() if names},
        config_checks={check["path"]: check["satisfied"] for check in row["configChecks"]},
        install=tuple(option["id"] for option in row["install"]),
    )
