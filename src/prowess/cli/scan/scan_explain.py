"""`scan explain`: what a rule looks for, why it matters, and what to do about a finding."""

import difflib

import click

from prowess.cli.render import Cell, Column, print_error, print_json, print_table, print_text
from prowess.cli.scan.scan_words import ERROR
from prowess.safety.model import Example, Rule
from prowess.safety.rules.table import RULES
from prowess.wire import safety as wire_safety
from prowess.wire.safety import levels, visible
from prowess.wire.skills import error as wire_error

_MOST_LINES = 12


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in RULES if name.startswith(incomplete)]


@click.command("explain")
@click.argument("rule", required=False, shell_complete=_complete)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")
def explain_command(rule: str | None, *, as_json: bool) -> int:
    """Say what RULE looks for, why, and what to do; without RULE list them all."""
    if rule is None:
        _list(as_json=as_json)
        return 0
    found = RULES.get(rule)
    if found is None:
        return _unknown(rule, as_json=as_json)
    if as_json:
        print_json(wire_safety.rule(found))
    else:
        _print(found)
    return 0


def _unknown(name: str, *, as_json: bool) -> int:
    near = [rule for rule in RULES if name and name in rule][:3]
    near += [rule for rule in difflib.get_close_matches(name, RULES, n=3) if rule not in near]
    hint = f"did you mean {', '.join(near)}?" if near else "`prowess scan explain` lists all."
    message = f"no rule is called {name!r}: {hint}"
    if as_json:
        print_json(wire_error("rule.not_found", message))
    else:
        print_error(message)
    return ERROR


def _list(*, as_json: bool) -> None:
    if as_json:
        print_json({"rules": [wire_safety.rule(rule) for rule in RULES.values()]})
        return
    columns = (Column("Rule"), Column("Family"), Column("Level"), Column("Title", flexible=True))
    print_table(
        columns,
        [
            (Cell(rule.id, "bold"), Cell(rule.family), Cell(_level(rule)), Cell(rule.title))
            for rule in RULES.values()
        ],
    )


def _level(rule: Rule) -> str:
    own = "" if rule.proposal in {None, rule.level} else f", proposal {rule.proposal}"
    return f"{rule.level.value}{own}"


def _print(rule: Rule) -> None:
    print_text(f"{rule.id}  ({rule.family})", "bold")
    print_text(f"  {rule.title}")
    found = ", ".join(f"{profile} {level}" for profile, level in levels(rule).items())
    print_text(f"  levels: {found}")
    print_text(f"  why: {rule.why}")
    print_text(f"  fix: {rule.fix}")
    if rule.references:
        print_text(f"  see: {', '.join(rule.references)}")
    for title, examples in (("fires on", rule.fires), ("quiet on", rule.quiet)):
        if examples:
            print_text(f"  {title}", "bold")
            _print_example(examples[0])


def _print_example(example: Example) -> None:
    files = {"": example} if isinstance(example, str) else dict(example)
    for path, text in files.items():
        if path:
            print_text(f"    {visible(path)}", "dim")
        lines = text.rstrip("\n").split("\n")
        for line in lines[:_MOST_LINES]:
            print_text(f"    | {visible(line)}")
        if len(lines) > _MOST_LINES:
            print_text(f"    | … {len(lines) - _MOST_LINES} lines more", "dim")
