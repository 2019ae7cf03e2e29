"""`new`: a skill that passes the standard, with messages that should and should not find it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from prowess.cli.render import asks, print_json, print_text
from prowess.cli.terminal import json_option, workspace_option
from prowess.errors import PathError
from prowess.skills import text as notation
from prowess.skills.parse import is_name
from prowess.wiring import open_runtime

_MAX_DESCRIPTION = 1_024
_MOST_QUOTED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSkill:
    """The answers to four questions."""

    name: str
    does: str
    when: tuple[str, ...]
    unless: tuple[str, ...] = ()


def make_files(wanted: NewSkill) -> dict[str, str]:
    """Return the files of a new skill by their paths in its folder."""
    return {"SKILL.md": _make_text(wanted), "evals/triggers.yaml": _make_tests(wanted)}


def describe_skill(wanted: NewSkill) -> str:
    """Return a description that says what a skill does, when it is meant and when not."""
    does = _sentence(wanted.does)
    said = ", ".join(map(_quote, wanted.when[:_MOST_QUOTED]))
    found = f"{does} Use when the user says things like {said}." if said else does
    if wanted.unless:
        not_said = ", ".join(map(_quote, wanted.unless[:_MOST_QUOTED]))
        found = f"{found} Not for {not_said}."
    # A description that is cut in the middle of a sentence misleads.
    return found if len(found) <= _MAX_DESCRIPTION else does[:_MAX_DESCRIPTION]


def _make_text(wanted: NewSkill) -> str:
    title = wanted.name.replace("-", " ").capitalize()
    lines = [
        "---",
        f"name: {wanted.name}",
        f"description: {notation.quote(describe_skill(wanted))}",
        "---",
        "",
        f"# {title}",
        "",
        _sentence(wanted.does),
        "",
        "## When to use",
        "",
        *(f'- "{one}"' for one in wanted.when),
    ]
    if wanted.unless:
        lines += ["", "## When not to use", "", *(f'- "{one}"' for one in wanted.unless)]
    steps = ["1. Look at what is there.", "2. Do the work.", "3. Check the result and say so."]
    return "\n".join([*lines, "", "## Steps", "", *steps]) + "\n"


def _make_tests(wanted: NewSkill) -> str:
    lines = ["# Messages that should find this skill, and near misses that should not.", "cases:"]
    for one in wanted.when:
        lines += [f"  - prompt: {notation.quote(one)}", f"    expect: {wanted.name}"]
    for one in wanted.unless:
        lines += [f"  - prompt: {notation.quote(one)}", f"    not: {wanted.name}"]
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    # Quotes within quotes end the quotation for whoever reads it.
    return '"{}"'.format(text.replace('"', "'"))


def _sentence(text: str) -> str:
    plain = " ".join(text.split())
    plain = plain[:1].upper() + plain[1:]
    return plain if plain.endswith((".", "!", "?")) else f"{plain}."


_QUESTIONS = {
    "name": "What is it called (small letters and hyphens)",
    "does": "What does it do, in one sentence",
    "when": "When is it meant: what does somebody say who needs it (separate several by ;)",
    "unless": "What sounds alike and is not meant (separate several by ;)",
}


@click.command("new")
@click.argument("name", required=False)
@click.option("--does", metavar="TEXT", help="What it does, in one sentence.")
@click.option("--when", multiple=True, metavar="MESSAGE", help="What somebody says who needs it.")
@click.option(
    "--unless", multiple=True, metavar="MESSAGE", help="What sounds alike and is not meant."
)
@click.option(
    "--into", metavar="DIR", type=click.Path(), help="By default skills/ of the workspace."
)
@json_option
@workspace_option
def new_command(
    workspace: str | None,
    name: str | None,
    *,
    does: str | None,
    when: tuple[str, ...],
    unless: tuple[str, ...],
    into: str | None,
    as_json: bool,
) -> int:
    """Write a new skill: a SKILL.md that passes the standard, and tests of its messages.

    Four questions are asked on a terminal for what is not given: its name, what it does, when it is
    meant, and what sounds alike. Then fill in the steps and run `prowess test`.
    """
    wanted = NewSkill(
        name=_checked(name or _ask("name")),
        does=((does or "").strip() or _ask("does")).strip(),
        when=_filled(when) or _several(_ask("when")),
        unless=_filled(unless) or _several(_ask("unless", needed=False)),
    )
    if into is None:
        with open_runtime(workspace) as runtime:
            into = str(Path(runtime.skills.workspace().folder) / "skills")
    folder = Path(into) / wanted.name
    if folder.exists():
        raise PathError(str(folder), "exists already: choose another name, or edit that one.")
    files = make_files(wanted)
    _write(folder, files)
    if as_json:
        print_json({"skill": wanted.name, "folder": str(folder), "files": sorted(files)})
        return 0
    print_text(f"written: {folder}", "green")
    print_text(f"Fill in the steps, then: prowess test {folder}", "dim")
    return 0


def _write(folder: Path, files: Mapping[str, str]) -> None:
    try:
        for path, text in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PathError(str(folder), f"cannot be written: {error.strerror}.") from error


def _ask(what: str, *, needed: bool = True) -> str:
    if not asks():
        if not needed:
            return ""
        option = "NAME" if what == "name" else f"--{what}"
        raise click.UsageError(f"Give {option}: there is no terminal to ask on")
    default, check = None if needed else "", _checked if what == "name" else None
    return str(click.prompt(_QUESTIONS[what], default, show_default=False, value_proc=check))


def _several(text: str) -> tuple[str, ...]:
    return _filled(re.split(r"[;\n]", text))


def _filled(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(part.strip() for part in texts if part.strip())


def _checked(name: str) -> str:
    if not is_name(name):
        raise click.UsageError(
            f"{name!r} is no name of the standard: small letters, digits and single hyphens"
        )
    return name
