"""Writes the reference pages from the code, or checks that they match it.

python tools/reference.py          write docs/reference/*.md
python tools/reference.py --check  exit 1 where a page is out of date
"""

import inspect
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from prowess import errors
from prowess.cli.main import COMMANDS, app
from prowess.host.harnesses import PERSONAL, PROJECT
from prowess.safety.levels import CONTEXTS
from prowess.safety.model import Rule
from prowess.safety.official_installers import INSTALLERS
from prowess.safety.rules.table import RULES
from prowess.settings_table import SETTINGS
from prowess.skills.diagnostics import CODES
from prowess.skills.model import Tier
from prowess.wire_safety import levels

PAGES = Path(__file__).parent.parent / "docs" / "reference"
_NOTE = (
    "<!-- Written by tools/reference.py from the code: change the code, then run `make docs`. -->"
)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines
    )


def commands_page() -> str:
    """Every command with its help."""
    parts = [
        "# Commands",
        _NOTE,
        "Every command takes `--help`. Exit codes: 0 fine, 1 a finding or",
    ]
    parts[-1] += " something not found, 2 wrong usage, 70 a fault in Prowess itself, 130 stopped by"
    parts[-1] += " Ctrl-C. Errors are one sentence on standard error."
    parts.append(table(("variable", "meaning"), VARIABLES))
    root = click.Context(app, info_name="prowess", **app.context_settings)
    for name in COMMANDS:
        command = app.get_command(root, name)
        if command is not None:
            parts += list(command_parts(command, name, root))
    return "\n\n".join(parts) + "\n"


def command_parts(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    """Yield heading and help of a command, then of its subcommands."""
    context = click.Context(command, info_name=name, parent=parent, max_content_width=90)
    yield f"## `{context.command_path}`"
    yield f"```text\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None:
                yield from command_parts(found, inner, context)


def settings_page() -> str:
    """Every setting."""
    rows = [(f"`{row.key}`", row.kind, f"`{row.default}`", row.meaning) for row in SETTINGS]
    intro = (
        "The file is `prowess.json` in the state folder (`~/.prowess`, or `$PROWESS_HOME`), read as"
        " JSON5. A key that is not known is kept and reported; a value of the wrong type takes its"
        " default and is reported. `prowess config path` says where the file is."
    )
    head = ("setting", "value", "default", "meaning")
    return f"# Settings\n\n{_NOTE}\n\n{intro}\n\n{table(head, rows)}\n"


def diagnostics_page() -> str:
    """Every diagnostic."""
    rows = [(f"`{row.code}`", row.severity.value, row.meaning, row.fix) for row in CODES.values()]
    intro = (
        "A diagnostic is one problem with one file. An error keeps the skill from loading or being"
        " ready; the others load. `prowess list`, `check` and `validate` print them. Under"
        " `--strict` the rules of the standard are errors; otherwise `validate` softens them to"
        " warnings and notes."
    )
    head = ("code", "severity", "meaning", "what to do")
    return f"# Diagnostics\n\n{_NOTE}\n\n{intro}\n\n{table(head, rows)}\n"


def errors_page() -> str:
    """Every exception."""
    found = [
        value
        for _, value in inspect.getmembers(errors, inspect.isclass)
        if issubclass(value, errors.ProwessError)
    ]
    found.sort(key=lambda error: error.code)
    rows = [
        (f"`{error.code}`", f"`{error.__name__}`", inspect.getdoc(error) or "") for error in found
    ]
    intro = (
        'With `--json` a failing command prints `{"error": {"code", "message"}}`; the library'
        " raises the exception of the same code from `prowess.errors`."
    )
    return f"# Errors\n\n{_NOTE}\n\n{intro}\n\n{table(('code', 'exception', 'meaning'), rows)}\n"


def sources_page() -> str:
    """Every folder that is searched."""
    tiers = [(str(int(tier) + 1), f"`{tier.source_id}`") for tier in Tier]
    folders = [
        (folder.harness, f"`~/{folder.path}`", folder.kind.value, "person") for folder in PERSONAL
    ] + [(folder.harness, f"`{folder.path}`", folder.kind.value, "project") for folder in PROJECT]
    return (
        f"# Sources\n\n{_NOTE}\n\nLowest precedence first; the last one to hold a name wins it.\n\n"
        f"{table(('rank', 'source'), tiers)}\n\n## Folders of other harnesses\n\n"
        "Read where they exist. `skills.load.harnessDirs` switches them off or names the ones to"
        " read by the first column.\n\n"
        f"{table(('harness', 'folder', 'holds', 'of a'), folders)}\n"
    )


def rules_page() -> str:
    """Every rule of the scanner, with what lowers a finding and who may be piped into a shell."""
    intro = (
        "What `prowess scan` looks for. A critical finding quarantines a skill, a warning and an"
        " info only tell. The profile says whose text it is: `proposal` for what an agent wrote,"
        " `package` for what a third party wrote, `bundled` for what Prowess brings along (it"
        " reports and keeps nothing out). `prowess scan explain RULE` prints the same in a"
        " terminal."
    )
    lowering = [(context, level.value, why) for context, (level, why) in CONTEXTS.items()]
    installers = [(f"`{row.host}{row.prefix}`", row.who, row.why) for row in INSTALLERS]
    parts = [
        "# Rules of the scanner",
        _NOTE,
        intro,
        table(
            ("rule", "family", "level", "what it finds"),
            [(f"[`{row.id}`](#{row.id})", row.family, _levels(row), row.title) for row in rows()],
        ),
        "## What lowers a finding",
        _LOWERED,
        table(("where it stands", "at most", "why"), lowering),
        "## Official installers",
        _INSTALLERS,
        table(("address", "who", "what"), installers),
        *(part for row in rows() for part in rule_parts(row)),
    ]
    return "\n\n".join(parts) + "\n"


def rows() -> list[Rule]:
    """Return the rules in the order of the table."""
    return list(RULES.values())


def rule_parts(rule: Rule) -> Iterator[str]:
    """Yield heading and reasons.

    Examples are for `prowess scan explain`: a page full of attacks would be one itself.
    """
    yield f"## `{rule.id}`"
    yield f"{rule.title}. Family: {rule.family}. Level: {_levels(rule)}."
    yield f"**Why.** {rule.why}"
    yield f"**What to do.** {rule.fix}"
    if rule.references:
        yield f"**See.** {', '.join(rule.references)}"


def _levels(rule: Rule) -> str:
    found = levels(rule)
    own = "" if rule.proposal in {None, rule.level} else f" ({found['proposal']} in a proposal)"
    return found["package"] + own


_LOWERED = (
    "The most that is left of a finding in such a place. Under the profile `proposal` the seven"
    " first rules are never lowered."
)
_INSTALLERS = (
    "A pipe from one of these addresses into a shell is what its maker documents, and is lowered to"
    " a warning."
)
VARIABLES = [
    ("`PROWESS_HOME`", "the state folder, instead of `~/.prowess`"),
    ("`PROWESS_DEBUG`", "set to anything: a fault in Prowess prints its traceback"),
    ("`CODEX_HOME`", "where Codex keeps its folders, `skills` among them"),
    ("`NO_COLOR`", "set to anything: no colours on a terminal"),
]
PAGE_MAKERS = {
    "commands.md": commands_page,
    "settings.md": settings_page,
    "diagnostics.md": diagnostics_page,
    "errors.md": errors_page,
    "rules.md": rules_page,
    "sources.md": sources_page,
}


def main(argv: list[str]) -> int:
    """Write the pages, or with --check compare them."""
    stale = []
    PAGES.mkdir(parents=True, exist_ok=True)
    for name, make in PAGE_MAKERS.items():
        path, text = PAGES / name, make()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in argv:
                path.write_text(text, encoding="utf-8")
    if "--check" in argv and stale:
        print(f"Out of date: {', '.join(stale)}. Run `make docs`.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
