"""`config`, `enable`, `disable`, `trust`, `completion` and `plugins`.

Secrets go in but never come out: what may be one is shown as a marker.
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import click
from click.shell_completion import get_completion_class

from prowess.cli.main import app
from prowess.cli.render import (
    Cell,
    Column,
    asks,
    print_error,
    print_json,
    print_raw,
    print_table,
    print_text,
)
from prowess.cli.terminal import CommandGroup, Common, common, complete_skill, json_option
from prowess.errors import ConfigKeyError
from prowess.host.config.writer import check_value, is_text, split_key, write
from prowess.host.safety import EntrySources
from prowess.host.sources.harness_folders import find_plugin_sources
from prowess.host.sources.roots import expand_path
from prowess.runtime.config.redaction import show_config
from prowess.skills.catalog import mark_source, owners
from prowess.skills.model import Skill, Tier
from prowess.skills.text import one_line
from prowess.wire.skills import pick
from prowess.wiring import Runtime, open_runtime

_SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
def completion_command(shell: str | None) -> int:
    """Print the completion script for SHELL, by default the one in $SHELL.

    For bash, add to ~/.bashrc: eval "$(prowess completion bash)"
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    found = get_completion_class(name)
    if name not in _SHELLS or found is None:
        raise click.UsageError(f"Name the shell: {', '.join(_SHELLS)}")
    print_raw(found(app, {}, "prowess", "_PROWESS_COMPLETE").source())
    return 0


@click.group("config", cls=CommandGroup)
def config_command() -> None:
    """Read and write the configuration."""


@config_command.command("path")
@json_option
def path_command(*, as_json: bool) -> int:
    """Print where the config file is, or would be."""
    path = open_runtime().config.path
    if as_json:
        print_json({"path": path})
    else:
        print_text(path)
    return 0


@config_command.command("get")
@click.argument("key", required=False)
@json_option
def get_command(key: str | None, *, as_json: bool) -> int:
    """Print the config, or the value of one dotted KEY. Secrets are replaced by a marker."""
    found: object = show_config(open_runtime().config.values())
    for part in [] if key is None else split_key(key):
        if not isinstance(found, dict) or part not in found:
            raise ConfigKeyError(str(key), "is not set; `prowess config get` prints all that is.")
        found = found[part]
    if isinstance(found, str) and not as_json:
        print_text(found)
    else:
        print_json(found)
    return 0


@config_command.command("set")
@click.argument("key")
@click.argument("value", required=False)
@click.option("--unset", is_flag=True, help="Remove the key.")
@click.option("--secret", is_flag=True, help="Ask for the value without showing it.")
@json_option
def set_command(key: str, value: str | None, *, unset: bool, secret: bool, as_json: bool) -> int:
    """Set the dotted KEY to VALUE: JSON where it is JSON, text otherwise."""
    if sum((value is not None, unset, secret)) != 1:
        raise click.UsageError("Give a VALUE, or --unset, or --secret")
    parts = split_key(key)
    if secret:
        value = click.prompt(key, hide_input=True, err=True) if asks() else _read_one_line()
    wanted = None if unset else (value if secret or is_text(parts) else _decode(str(value)))
    if wanted is None and not unset:
        raise ConfigKeyError(key, "cannot be null; --unset removes it.")
    known = wanted is None or check_value(parts, wanted)
    runtime = open_runtime()
    _write(runtime, parts, wanted, as_json=as_json)
    if parts[:2] == ["skills", "entries"] and not unset:
        _bind_entries(parts[2:3])
    if parts == ["gateway", "auth", "token"]:
        print_error("A gateway that runs takes the old token until it is started anew.")
    if not known:
        print_error(f"{key} is not a setting of Prowess; it was written all the same.")
    return 0


def _bind_entries(keys: Sequence[str]) -> None:
    """Keep for which skills entries were made, all or those of `keys`: the ones that are here."""
    with open_runtime() as runtime:
        settings = runtime.skills.settings
        known = owners(runtime.skills.workspace().state(settings).catalog.skills)
        holding = {key for key, one in settings.skills.entries.items() if one.holds_secrets}
        meant = holding.intersection(known, *([keys] if keys else []))
        EntrySources(runtime.folders.state).bind({key: mark_source(known[key]) for key in meant})


def _read_one_line() -> str:
    """Read a secret that a program hands over."""
    line = "" if sys.stdin is None else sys.stdin.readline().rstrip("\r\n")
    if not line:
        raise click.UsageError("--secret found nothing on standard input")
    return line


# A person may type any JSON.
def _decode(value: str) -> Any:  # noqa: ANN401
    try:
        return json.loads(value)
    except ValueError:
        return value


def _write(runtime: Runtime, parts: Sequence[str], value: object, *, as_json: bool) -> None:
    backup = write(runtime.config, parts, value)
    key = ".".join(parts)
    if as_json:
        print_json({"path": runtime.config.path, "key": key, "backup": backup})
        return
    verb = "removed" if value is None else "set"
    print_text(f"{verb} {key} in {runtime.config.path}")
    if backup is not None:
        print_text(f"The comments of the old file are kept in {backup}.", "yellow")


@click.command("enable")
@click.argument("name", shell_complete=complete_skill)
@common
def enable_command(given: Common, name: str) -> int:
    """Switch the skill NAME on for every agent."""
    return _switch(name, given.workspace, given.agent, enabled=True, as_json=given.as_json)


@click.command("disable")
@click.argument("name", shell_complete=complete_skill)
@common
def disable_command(given: Common, name: str) -> int:
    """Switch the skill NAME off for every agent; `enable` takes it back."""
    return _switch(name, given.workspace, given.agent, enabled=False, as_json=given.as_json)


def _switch(
    name: str, workspace: str | None, agent: str | None, *, enabled: bool, as_json: bool
) -> int:
    runtime = open_runtime(workspace)
    skill = runtime.skills.find(name, agent).skill
    _write(runtime, ("skills", "entries", skill.key, "enabled"), enabled, as_json=as_json)
    return 0


@click.command("trust")
@click.argument("name", shell_complete=complete_skill)
@click.option("-y", "--yes", is_flag=True, help="Do not ask; needed where nobody can be asked.")
@common
def trust_command(given: Common, name: str, *, yes: bool) -> int:
    """Let the skill NAME of this project have what is configured under its name.

    A skill that came with a project does not get the key and the variables that were configured for
    a skill of your own, whatever it is called. Read it first: its programs see the values.

    Example: prowess trust weather
    """
    with open_runtime(given.workspace) as runtime:
        skill = runtime.skills.find(name, given.agent).skill
        state = runtime.skills.workspace(given.agent).state(runtime.skills.settings)
        whose = state.withheld.get(skill.name, "")
        if whose and not yes:
            _ask_to_trust(skill, whose)
        source = mark_source(skill)
        if whose:
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            EntrySources(runtime.folders.state).trust(skill.key, source, at)
    if given.as_json:
        told = {**pick(skill, "name=skill key=skillKey"), "source": source}
        print_json({**told, "madeFor": whose or None, "trusted": bool(whose)})
    elif whose:
        print_text(f"{skill.path} has what skills.entries.{skill.key} holds from now on.")
    else:
        print_text(f"Nothing is withheld from {skill.name}.")
    return 0


def _ask_to_trust(skill: Skill, whose: str) -> None:
    if not asks():
        raise click.UsageError("Give --yes: there is no terminal to ask on")
    question = f"Give {skill.path} what was configured for {skill.name} in {whose}?"
    click.confirm(one_line(question), err=True, abort=True)


WORKSHOP = "skill-workshop"


class _Plugin(NamedTuple):
    name: str
    enabled: bool
    why: str
    # Where its skills are; empty for one that is part of Prowess, or that has none.
    folder: str = ""
    skills: int = 0


@click.group("plugins", cls=CommandGroup)
def plugins_command() -> None:
    """See which plugins there are and whether they are on."""


@plugins_command.command("list")
@click.option("--enabled", is_flag=True, help="Only those that are on.")
@common
def list_command(given: Common, *, enabled: bool) -> int:
    """List plugins: the workshop, folders that bring skills, and entries of the config.

    A folder of `plugins.load.paths` is on unless its entry says `enabled: false`; the workshop is
    off unless its entry says `enabled: true`.

    Example: prowess plugins list --enabled
    """
    runtime = open_runtime(given.workspace)
    found, problems = _find_plugins(runtime, given.agent)
    shown = [one for one in found if one.enabled or not enabled]
    if given.as_json:
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


def _find_plugins(runtime: Runtime, agent: str | None) -> tuple[list[_Plugin], list[str]]:
    known = [_workshop(runtime)]
    folders = _folders(runtime, agent)
    sources = find_plugin_sources(folders, frozenset())
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
    return [expand_path(path, home, current) for path in runtime.skills.settings.plugins.paths]


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
    return pick(one, "name=id enabled why=reason folder? skills")
