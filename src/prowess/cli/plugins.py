"""`plugins`: what the config knows besides skills, whether it is on, and why."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import click

from prowess.cli.options import common
from prowess.cli.render import Cell, Column, print_json, print_table, print_text
from prowess.host.sources.plugins import plugin_sources
from prowess.host.sources.roots_part import expand
from prowess.skills.model import Tier
from prowess.wiring import Runtime, open_runtime

WORKSHOP = "skill-workshop"


class _Plugin(NamedTuple):
    name: str
    enabled: bool
    why: str
    # Where its skills are; empty for one that is part of Prowess, or that has none.
    folder: str = ""
    skills: int = 0


@click.group("plugins")
def plugins_command() -> None:
    """See which plugins there are and whether they are on."""


@plugins_command.command("list")
@click.option("--enabled", is_flag=True, help="Only those that are on.")
@common
def list_command(workspace: str | None, agent: str | None, *, as_json: bool, enabled: bool) -> int:
    """List plugins: the workshop, folders that bring skills, and entries of the config.

    A folder of `plugins.load.paths` is on unless its entry says `enabled: false`; the workshop is
    off unless its entry says `enabled: true`.

    Example: prowess plugins list --enabled
    """
    runtime = open_runtime(workspace)
    found, problems = _found(runtime, agent)
    shown = [one for one in found if one.enabled or not enabled]
    if as_json:
        print_json({"plugins": [_wire(one) for one in shown], "problems": problems})
        return 0
    titles = (Column("Plugin"), Column("State"), Column("Skills"), Column("Why", flexible=True))
    if shown:
        print_table((*titles, Column("Folder", flexible=True)), [_row(one) for one in shown])
    else:
        print_text("No plugin is on.")
    for problem in problems:
        print_text(f"! {problem}", "yellow")
    return 0


def _found(runtime: Runtime, agent: str | None) -> tuple[list[_Plugin], list[str]]:
    known = [_workshop(runtime)]
    folders = _folders(runtime, agent)
    sources = plugin_sources(folders, frozenset())
    known += _with_skills(runtime, agent, {one.label: one.boundary for one in sources.sources})
    named = {one.name for one in known}
    known += [one for one in _entries(runtime) if one.name not in named]
    problems = [f"{one.path}: {one.message}" for one in sources.diagnostics]
    return known, problems


def _workshop(runtime: Runtime) -> _Plugin:
    settings = runtime.config.read().workshop
    entry = f"plugins.entries.{WORKSHOP}"
    if not settings.selected:
        why = f"{entry}.enabled is not true: run `prowess workshop enable`"
        return _Plugin(WORKSHOP, enabled=False, why=why)
    if not settings.enabled:
        why = f"{entry}.config.enabled is false: run `prowess workshop enable`"
        return _Plugin(WORKSHOP, enabled=False, why=why)
    why = f"{entry}.enabled is true; see `prowess workshop status`"
    return _Plugin(WORKSHOP, enabled=True, why=why)


def _folders(runtime: Runtime, agent: str | None) -> list[str]:
    current, home = runtime.skills.workspace(agent).folder, runtime.folders.home
    return [expand(path, home, current) for path in runtime.skills.settings.plugins.paths]


def _with_skills(
    runtime: Runtime, agent: str | None, folders: Mapping[str, str]
) -> Iterator[_Plugin]:
    """Yield the plugins that bring skills, with how many of them were found."""
    disabled = runtime.skills.settings.plugins.disabled
    scan = runtime.skills.workspace(agent).state(runtime.skills.settings).scan
    labels = [skill.source.label for skill in scan.skills if skill.source.tier is Tier.EXTRA]
    for name, folder in folders.items():
        on = name not in disabled
        why = "in plugins.load.paths" if on else f"plugins.entries.{name}.enabled is false"
        yield _Plugin(name, enabled=on, why=why, folder=folder, skills=labels.count(name))


def _entries(runtime: Runtime) -> Iterator[_Plugin]:
    """Yield what the config names and no folder brings."""
    plugins = runtime.config.values().get("plugins")
    entries = plugins.get("entries") if isinstance(plugins, Mapping) else None
    for name in entries if isinstance(entries, Mapping) else ():
        why = "in the config, but no folder of plugins.load.paths brings it"
        yield _Plugin(str(name), enabled=False, why=why)


def _row(one: _Plugin) -> list[Cell]:
    state = Cell("on", "green") if one.enabled else Cell("off", "dim")
    count = str(one.skills) if one.folder else "-"
    return [Cell(one.name, "bold"), state, Cell(count), Cell(one.why), Cell(one.folder)]


def _wire(one: _Plugin) -> dict[str, object]:
    return {
        "id": one.name,
        "enabled": one.enabled,
        "reason": one.why,
        "folder": one.folder or None,
        "skills": one.skills,
    }
