"""`config`, `enable` and `disable`: reading and changing the configuration.

Secrets go in but never come out: what may be one is shown as a marker.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

import click

from prowess.cli.options import common, complete_skill
from prowess.cli.render import asks, print_error, print_json, print_text
from prowess.errors import ConfigKeyError
from prowess.host.config.writer import check_value, is_known, is_text, shown, split_key, write
from prowess.wiring import Runtime, open_runtime


@click.group("config")
def config_command() -> None:
    """Read and write the configuration."""


@config_command.command("path")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")
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
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")
def get_command(key: str | None, *, as_json: bool) -> int:
    """Print the config, or the value of one dotted KEY. Secrets are replaced by a marker."""
    found = shown(open_runtime().config.values())
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
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")
def set_command(key: str, value: str | None, *, unset: bool, secret: bool, as_json: bool) -> int:
    """Set the dotted KEY to VALUE: JSON where it is JSON, text otherwise."""
    if sum((value is not None, unset, secret)) != 1:
        raise click.UsageError("Give a VALUE, or --unset, or --secret")
    parts = split_key(key)
    if secret:
        value = click.prompt(key, hide_input=True, err=True) if asks() else _one_line_of_input()
    wanted = None if unset else (value if secret or is_text(parts) else _decoded(str(value)))
    if wanted is None and not unset:
        raise ConfigKeyError(key, "cannot be null; --unset removes it.")
    if wanted is not None:
        check_value(parts, wanted)
    runtime = open_runtime()
    _write(runtime, parts, wanted, as_json=as_json)
    if not unset and not is_known(parts):
        print_error(f"{key} is not a setting of Prowess; it was written all the same.")
    return 0


def _one_line_of_input() -> str:
    """Read a secret that a program hands over."""
    line = "" if sys.stdin is None else sys.stdin.readline().rstrip("\r\n")
    if not line:
        raise click.UsageError("--secret found nothing on standard input")
    return line


# A person may type any JSON.
def _decoded(value: str) -> Any:  # noqa: ANN401
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
def enable_command(name: str, workspace: str | None, agent: str | None, *, as_json: bool) -> int:
    """Switch the skill NAME on for every agent."""
    return _switch(name, workspace, agent, enabled=True, as_json=as_json)


@click.command("disable")
@click.argument("name", shell_complete=complete_skill)
@common
def disable_command(name: str, workspace: str | None, agent: str | None, *, as_json: bool) -> int:
    """Switch the skill NAME off for every agent; `enable` takes it back."""
    return _switch(name, workspace, agent, enabled=False, as_json=as_json)


def _switch(
    name: str, workspace: str | None, agent: str | None, *, enabled: bool, as_json: bool
) -> int:
    runtime = open_runtime(workspace)
    skill = runtime.skills.find(name, agent).skill
    _write(runtime, ("skills", "entries", skill.key, "enabled"), enabled, as_json=as_json)
    return 0
