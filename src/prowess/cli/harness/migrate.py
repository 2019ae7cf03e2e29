"""`migrate`: settings, skills and waiting proposals of OpenClaw, taken over with a way back.

Nothing of ours is overwritten, nothing of OpenClaw is changed, and what was brought is noted in the
state folder, so that `--undo` takes back what nobody has changed since.
"""

import json
import os
import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from prowess.cli.render import asks, print_error, print_json, print_text
from prowess.cli.terminal import json_option
from prowess.errors import ConfigKeyError, PathError, ProposalError, ProwessError
from prowess.host.config.file import ConfigFile, parse
from prowess.host.config.writer import ConfigStore, check_value, write
from prowess.host.files.containment import Root
from prowess.host.files.state_files import open_readonly, read_mapping, write_private
from prowess.host.sources.roots import expand_path
from prowess.host.writers.repairs import copy_skill
from prowess.host.writers.trash import SkillRemoval
from prowess.runtime.workshop.drafts import Draft
from prowess.runtime.workshop.proposals import Proposals
from prowess.safety.paths import content_hash
from prowess.skills import frontmatter
from prowess.skills.model import Tier
from prowess.wiring import Runtime, open_runtime
from prowess.workshop.edit import Create
from prowess.workshop.proposal import Evidence, ProposalSource, skill_name

_JOURNAL = "migrated-openclaw.json"
_DATABASE = "state/openclaw.sqlite"
_PENDING = "SELECT record_json FROM skill_workshop_proposals WHERE status = 'pending'"
_AGENTS, _FOLDERS = ("agents", "list"), ("skills", "load", "extraDirs")
_AGENT_KEYS = ("id", "name", "default", "skills", "workspace")
_MOST_DRAFT_BYTES = 1_048_576


@dataclass(slots=True, kw_only=True)
class _Takeover:
    """What would be taken over from OpenClaw, and what would not, with the reason."""

    source: Path
    # By the parts of a key of ours, which is not there yet or only gets longer.
    settings: list[tuple[tuple[str, ...], Any]] = field(default_factory=list)
    skills: list[tuple[Path, Path]] = field(default_factory=list)
    proposals: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """True where there is nothing to take."""
        return not (self.settings or self.skills or self.proposals)


@click.command("migrate", epilog="Example: prowess migrate openclaw --dry-run")
@click.argument("program", metavar="PROGRAM", type=click.Choice(["openclaw"]))
@click.option("--from", "source", metavar="DIR", help="Its folder; by default ~/.openclaw.")
@click.option("--dry-run", is_flag=True, help="Show what would be taken, and take nothing.")
@click.option("--undo", is_flag=True, help="Take back what the last migration brought.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before anything is written.")
@json_option
def migrate_command(
    program: str, source: str | None, *, dry_run: bool, undo: bool, yes: bool, as_json: bool
) -> int:
    """Take over settings, skills and waiting proposals of PROGRAM, which is openclaw.

    You see what would be taken before it is. Nothing of yours is overwritten and nothing of
    OpenClaw is changed: settings that you have stay, and so do skills of the same name. Tokens,
    channels and models are not taken. --undo takes back what was brought and is unchanged.
    """
    del program
    if not dry_run and not yes and (as_json or not asks()):
        raise click.UsageError(
            "Nobody can be asked here: give --yes to write, or --dry-run to look"
        )
    if undo:
        return _undo(dry_run=dry_run, sure=yes, as_json=as_json)
    runtime = open_runtime()
    named = source or runtime.environ.get("OPENCLAW_STATE_DIR")
    place = Path(named).expanduser() if named else Path(runtime.folders.home, ".openclaw")
    found = _look(runtime, place.resolve())
    if not as_json:
        _print_takeover(found)
    if not dry_run and not found.is_empty:
        if not yes:
            click.confirm("Take this over?", default=True, abort=True)
        _take(runtime, found)
    if as_json:
        print_json(_show_takeover(found, dry_run=dry_run))
    return 0


def _look(runtime: Runtime, source: Path) -> _Takeover:
    """Find what there is to take.

    Raises:
        PathError: there is no such folder.
        ConfigError: its config cannot be read.
    """
    if not source.is_dir():
        raise PathError(str(source), "is not a folder: name the folder of OpenClaw with --from.")
    found = _Takeover(source=source)
    theirs = ConfigFile(str(source / "openclaw.json")).values()
    _look_at_settings(found, theirs, runtime.config.values())
    _look_at_skills(found, Path(runtime.folders.managed), _find_workspaces(runtime, found))
    _look_at_proposals(found, is_on=runtime.workshop.enabled)
    return found


def _look_at_settings(found: _Takeover, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    for parts in (("agents", "defaults", "workspace"), ("agents", "defaults", "skills")):
        _want(found, ours, parts, _dig(theirs, parts))
    for key, entry in _dig(theirs, ("skills", "entries"), dict).items():
        for name in ("enabled", "apiKey", "env"):
            _want(found, ours, ("skills", "entries", key, name), _dig(entry, (name,)))
    known, more = _dig(ours, _FOLDERS, list), _dig(theirs, _FOLDERS)
    # What is no list is refused as it is.
    if isinstance(more, list):
        more = [*known, *(one for one in more if one not in known)]
    _want(found, {}, _FOLDERS, None if more == known else more)
    listed = _dig(ours, _AGENTS, list)
    taken = {_dig(one, ("id",)) for one in listed} | set(_dig(ours, ("agents", "entries"), dict))
    agents = [one for one in _agents(theirs) if one["id"] not in taken]
    _want(found, {}, _AGENTS, [*listed, *agents] if agents else None)
    others = _dig(theirs, ("skills",), dict).keys() - {"entries", "load"}
    left = [*(f"skills.{key}" for key in others), *(theirs.keys() & {"$include"})]
    found.skipped += [(key, "is not read: set here what you want of it") for key in sorted(left)]


def _want(found: _Takeover, ours: Mapping[str, Any], parts: tuple[str, ...], value: object) -> None:
    """Note a setting that they have, unless we have it or cannot have it."""
    if value is None:
        return
    if _dig(ours, parts) is not None:
        found.skipped.append((".".join(parts), "you have it already"))
        return
    try:
        check_value(parts, value)
    except ConfigKeyError as error:
        found.skipped.append((error.key, error.problem))
    else:
        found.settings.append((parts, value))


# Whatever the config holds there.
def _dig(values: object, parts: Sequence[str], kind: type = object) -> Any:  # noqa: ANN401
    """Return what stands there, if anything; of another kind than wanted is an empty one."""
    for part in parts:
        values = values.get(part) if isinstance(values, Mapping) else None
    return values if isinstance(values, kind) else kind()


def _agents(theirs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return their agents in the form of a list, with what is known here alone."""
    entries = _dig(theirs, ("agents", "entries"), dict)
    listed = [*_dig(theirs, _AGENTS, list)]
    listed += [{**one, "id": key} for key, one in entries.items() if isinstance(one, dict)]
    return [
        {key: one[key] for key in _AGENT_KEYS if key in one}
        for one in listed
        if isinstance(_dig(one, ("id",)), str)
    ]


def _find_workspaces(runtime: Runtime, found: _Takeover) -> set[Path]:
    """Return the folders that agents will work in, once the settings are taken over."""
    place = ("agents", "defaults", "workspace")
    taken = dict(found.settings)
    named = [_dig(runtime.config.values(), place), taken.get(place)]
    named += [agent.get("workspace") for agent in taken.get(_AGENTS, ())]
    home = runtime.folders.home
    texts = [one for one in named if isinstance(one, str)]
    return {Path(expand_path(one, home, str(Path.cwd()))).resolve() for one in texts}


def _look_at_skills(found: _Takeover, managed: Path, workspaces: Collection[Path]) -> None:
    source, seen = found.source, set[str]()
    learned = sorted(source.glob("agents/*/agent/workshop-skills"))
    for root in (source / "skills", source / "workspace" / "skills", *learned):
        if root.parent in workspaces:
            # A copy would be a second skill of that name, and the entry of one is not the other's.
            if root.is_dir():
                found.skipped.append((str(root), "is in the workspace, and is found there"))
            continue
        for page in sorted(root.glob("*/SKILL.md")):
            name = page.parent.name
            if page.is_symlink() or page.parent.is_symlink():
                found.skipped.append((str(page.parent), "is a link, which is not followed"))
            elif name in seen or os.path.lexists(managed / name):
                found.skipped.append((str(page.parent), f"{managed / name} exists already"))
            else:
                seen.add(name)
                found.skills.append((page, root))


def _look_at_proposals(found: _Takeover, *, is_on: bool) -> None:
    base = found.source / "skill-workshop" / "proposals"
    for record in _read_records(found):
        name = str(record.get("id"))
        if not is_on:
            why = "the workshop is off: set plugins.entries.skill-workshop.enabled to true"
            found.skipped.append((name, why))
        elif record.get("kind") != "create":
            found.skipped.append((name, "changes a skill of OpenClaw: apply it there first"))
        else:
            try:
                found.proposals.append({**record, "text": _read_draft(base, record)})
            except (ProwessError, OSError) as error:
                found.skipped.append((name, str(error)))


def _read_records(found: _Takeover) -> list[dict[str, Any]]:
    """Return what waits there; an older one has no such table, and all else is taken anyway."""
    database = found.source / _DATABASE
    try:
        with closing(open_readonly(str(database))) as opened:
            return [json.loads(text) for (text,) in opened.execute(_PENDING)]
    except (sqlite3.Error, ValueError) as error:
        if database.exists():
            found.skipped.append((str(database), f"cannot be read: {error}"))
        return []


def _read_draft(base: Path, record: Mapping[str, Any]) -> str:
    """Return the body of a draft; its own lines about it are left behind."""
    with Root.open(base / skill_name(str(record["id"]))) as root:
        text = root.read(str(record.get("draftFile", "PROPOSAL.md")), _MOST_DRAFT_BYTES)
    return frontmatter.read(text.decode("utf-8", "replace")).body.strip()


def _take(runtime: Runtime, found: _Takeover) -> None:
    """Take everything over; what was done is noted as it is done, for `--undo`."""
    journal = Path(runtime.folders.state, _JOURNAL)
    # The config as it was, and what became of it: nobody changed it since where that is there.
    config = [_read_config(runtime)] * 2
    done: dict[str, Any] = {"settings": [], "skills": [], "proposals": [], "config": config}
    try:
        for parts, value in found.settings:
            before = _dig(runtime.config.values(), parts)
            write(runtime.config, parts, value)
            done["settings"].append([list(parts), before, value])
            config[1] = _read_config(runtime)
        for page, root in found.skills:
            copied = copy_skill(page.parent.name, page, root, Path(runtime.folders.managed))
            done["skills"].append([str(copied.target), _digest(copied.target)])
        done["proposals"] = _propose(open_runtime(), found)
    finally:
        write_private(str(journal), json.dumps(done))
    print_error("taken over; `prowess migrate openclaw --undo` takes it back.")


def _read_config(runtime: Runtime) -> str | None:
    """Return the text of our config with its mark, if any; None where there is no file."""
    content = ConfigStore(runtime.config).read()
    return None if content is None else content.decode()


def _propose(runtime: Runtime, found: _Takeover) -> list[str]:
    if not found.proposals:
        return []
    from prowess.wiring.workshop import workshop_ports

    proposals, made = Proposals(workshop_ports(runtime)), []
    workspace = runtime.skills.workspace(None).folder
    for record in found.proposals:
        name = skill_name(str(_dig(record, ("target", "skillName")) or record["id"]))
        words = str(record.get("evidence") or "")
        draft = Draft(
            skill=name,
            title=f"New skill: {name}",
            reason="taken over from OpenClaw",
            source=ProposalSource.CLI,
            edit=Create(description=str(record.get("description") or name), body=record["text"]),
            evidence=(Evidence(place=0, role="user", quote=words),) if words else (),
        )
        try:
            made.append(proposals.propose(workspace, draft).proposal.id)
        except ProposalError as error:
            found.skipped.append((str(record["id"]), str(error)))
    return made


def _digest(folder: Path) -> str:
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    return content_hash({name: one.read_bytes() for name, one in files.items() if one.is_file()})


@dataclass(frozen=True, slots=True, kw_only=True)
class _TakenBack:
    """What the last migration brought and nobody has changed since."""

    settings: list[tuple[list[str], Any]]
    # The text of the config before it, None for no file, and after it.
    config: tuple[str | None, str | None]
    skills: list[str]
    # By id, with the revision that is rejected.
    proposals: dict[str, str]
    # How many settings and skills are different by now, and stay.
    kept: int


def _undo(*, dry_run: bool, sure: bool, as_json: bool) -> int:
    runtime = open_runtime()
    journal = Path(runtime.folders.state, _JOURNAL)
    if not journal.is_file():
        raise PathError(str(journal), "is not there: nothing was taken over, or it was taken back.")
    found = _find_brought(runtime, read_mapping(str(journal)))
    keys = [".".join(parts) for parts, _ in found.settings]
    if not as_json:
        for what in (*keys, *found.skills, *found.proposals):
            print_text(f"- {what}")
        if found.kept:
            print_text(f"{found.kept} changed since, and stay.", "yellow")
    if not dry_run:
        if not sure:
            click.confirm("Take this back?", default=True, abort=True)
        _take_back(runtime, found)
        journal.unlink()
    if as_json:
        rows = {"settings": keys, "skills": found.skills, "proposals": list(found.proposals)}
        print_json({"dryRun": dry_run, **rows, "kept": found.kept})
    return 0


def _find_brought(runtime: Runtime, done: Mapping[str, Any]) -> _TakenBack:
    values = runtime.config.values()
    settings = [
        (parts, before) for parts, before, now in done["settings"] if _dig(values, parts) == now
    ]
    skills = [folder for folder, digest in done["skills"] if _digest(Path(folder)) == digest]
    states = ("pending", "quarantined")
    waiting = {one.id: one.revision for state in states for one in runtime.workshop.list(state)}
    return _TakenBack(
        settings=settings,
        config=tuple(done["config"]),
        skills=skills,
        proposals={one: waiting[one] for one in done["proposals"] if one in waiting},
        kept=len(done["settings"]) + len(done["skills"]) - len(settings) - len(skills),
    )


def _take_back(runtime: Runtime, found: _TakenBack) -> None:
    _restore_config(runtime, found)
    removal = SkillRemoval(runtime.folders.state)
    for folder in found.skills:
        removal.put(folder, runtime.folders.managed, Tier.MANAGED.source_id, time.time())
    for one, revision in found.proposals.items():
        runtime.workshop.reject(one, revision=revision, reason="the migration was undone")


def _restore_config(runtime: Runtime, found: _TakenBack) -> None:
    """Put the config back byte by byte; where others changed it since, setting by setting."""
    text, after = found.config
    path = runtime.config.path
    if _read_config(runtime) == after:
        if text is not None:
            write_private(path, text)
        elif after is not None:
            Path(path).unlink()
        return
    had = parse(path, (text or "").removeprefix("\ufeff"))
    for parts, before in found.settings:
        write(runtime.config, parts, before)
        # Objects that were made for it go as well once nothing is in them.
        for end in range(len(parts) - 1, 0, -1):
            made = parts[:end]
            if _dig(had, made) is None and _dig(runtime.config.values(), made) == {}:
                write(runtime.config, made, None)


def _show_takeover(found: _Takeover, *, dry_run: bool) -> dict[str, Any]:
    return {
        "source": str(found.source),
        "dryRun": dry_run,
        "settings": [
            {"key": ".".join(parts), "value": _show_value(parts, value)}
            for parts, value in found.settings
        ],
        "skills": [
            {"name": page.parent.name, "from": str(page.parent)} for page, _ in found.skills
        ],
        "proposals": [{"id": one["id"], "title": one.get("title")} for one in found.proposals],
        "skipped": [{"what": what, "why": why} for what, why in found.skipped],
    }


# Whatever the config holds.
def _show_value(parts: Sequence[str], value: Any) -> Any:  # noqa: ANN401
    """Return a value, or what stands for it where it may be a secret."""
    if parts[-1] == "env" and isinstance(value, dict):
        return dict.fromkeys(value, "(not shown)")
    return "(not shown)" if parts[-1] == "apiKey" else value


def _print_takeover(found: _Takeover) -> None:
    shown = _show_takeover(found, dry_run=True)
    print_text(f"From {found.source}:", "bold")
    for row in shown["settings"]:
        print_text(f"+ {row['key']} = {json.dumps(row['value'], ensure_ascii=False)}", "green")
    for row in shown["skills"]:
        print_text(f"+ skill {row['name']} from {row['from']}", "green")
    for row in shown["proposals"]:
        print_text(f"+ proposal {row['id']}", "green")
    for row in shown["skipped"]:
        print_text(f"  not taken: {row['what']}: {row['why']}", "dim")
    if found.is_empty:
        print_text("There is nothing to take over.")
