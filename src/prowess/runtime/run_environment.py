"""From the config to the environment of one run: what each usable skill gets, and what it does not.

Two ways lead there. A child process is handed a mapping of its own. For libraries that read the
environment of this very process the variables are set there, and taken away again at the end.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from prowess.runtime.environment import (
    Blocked,
    ChildEnvironment,
    Lent,
    SkillVariables,
    Value,
    Variables,
    without,
)
from prowess.runtime.environment_overlay import EnvironmentOverlay, OverlayRun
from prowess.runtime.ports import AuditLog, SecretSource
from prowess.safety.environment_policy import comparable
from prowess.settings import EntrySettings
from prowess.skills.keys import owners
from prowess.skills.model import Skill


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnvironment:
    """What became of the variables of a run's skills: names, never values."""

    applied: tuple[str, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    # Names that had a value already, which stays.
    kept: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    # What was set by the operator's word alone (`allowEnv`).
    lent: tuple[Lent, ...] = ()

    @classmethod
    def of(
        cls, made: ChildEnvironment | OverlayRun, warnings: tuple[str, ...] = ()
    ) -> "RunEnvironment":
        """Return what is to be said of an environment that was made."""
        return cls(
            applied=made.applied,
            blocked=made.blocked,
            kept=made.kept,
            warnings=(*warnings, *made.warnings),
            lent=made.lent,
        )

    @property
    def allowed(self) -> tuple[str, ...]:
        """The names that `allowEnv` opened."""
        return tuple(one.name for one in self.lent)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know, one sentence each; one for all that is blocked."""
        names = sorted({one.key for one in self.blocked})
        said = f"not set, for they are not for skills: {', '.join(names)}"
        return (*((said,) if names else ()), *self.warnings)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentTools:
    """What the environment of a run is made from."""

    base: Mapping[str, str] = field(repr=False)
    overlay: EnvironmentOverlay
    # Opened anew for each run: the config may have changed.
    secrets: Callable[[], SecretSource]
    audit: AuditLog
    # The time of day, as a text for logs.
    now: Callable[[], str]
    # Where programs of skills were installed; empty where nothing was.
    tools_bin: Callable[[], str] = lambda: ""


def strangers(
    usable: Iterable[Skill], known: Iterable[Skill], entries: Mapping[str, EntrySettings]
) -> Mapping[str, str]:
    """Return the usable skills that ask for another skill's entry, and whose it is."""
    owned = owners(known)
    return {
        skill.name: owned[skill.key].name
        for skill in usable
        if skill.key in entries and skill.key in owned and owned[skill.key].name != skill.name
    }


def variables_of(
    skills: Iterable[Skill], entries: Mapping[str, EntrySettings], secrets: SecretSource
) -> Iterator[SkillVariables]:
    """Yield what the config wants to be set for each skill that it knows."""
    for skill in skills:
        entry = entries.get(skill.key)
        if entry is None:
            continue
        given = secrets.entry(skill.key)
        primary = skill.metadata.primary_env
        values: dict[str, Value] = dict(given.env)
        named = {comparable(name) for name in values}
        if primary and given.api_key is not None and comparable(primary) not in named:
            values[primary] = given.api_key
        yield SkillVariables(
            skill=skill.name,
            values=values,
            declared=frozenset(filter(None, (primary, *skill.metadata.requires.env))),
            allowed=entry.allow_env,
        )


def names_only(variables: SkillVariables) -> SkillVariables:
    """Return the same variables, with a word in place of each value that would be looked up."""
    values = {
        name: value if isinstance(value, str) else "looked up when the run begins"
        for name, value in variables.values.items()
    }
    return replace(variables, values=values)


def for_children(tools: EnvironmentTools, own: Iterable[str]) -> Variables:
    """Return the environment of this process for a run's children: without other runs' secrets."""
    mine = {comparable(name) for name in own}
    others = [name for name in tools.overlay.active if comparable(name) not in mine]
    return without(tools.base, others)


def with_tools(values: Variables, folder: str) -> Variables:
    """Return an environment whose search path ends with the folder of installed programs.

    At its end, so that an installed program never takes the place of another.
    """
    if not folder:
        return values
    name = next((key for key in values if comparable(key) == "PATH"), "PATH")
    path = values.get(name, os.defpath)
    if folder in path.split(os.pathsep):
        return values
    return Variables({**values, name: f"{path}{os.pathsep}{folder}" if path else folder})
