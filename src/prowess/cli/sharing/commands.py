"""`add`, `remove`, `outdated`, `search` and `verify`: skills from elsewhere, by their lock.

`update`, and `sync --frozen`: what is new with the edits kept, and what the lock says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import click

from prowess.cli.render import (
    Cell,
    Column,
    ProgressBar,
    asks,
    print_error,
    print_json,
    print_table,
    print_text,
)
from prowess.cli.terminal import Common, common
from prowess.errors import SharingError
from prowess.host.sharing.folder import LockedFolder
from prowess.host.sharing.web import CLAWHUB_REGISTRY, read_registry_access
from prowess.runtime.sharing.service import (
    AddRequest,
    Arrival,
    Sharing,
    VerifiedSkill,
    search_registries,
)
from prowess.runtime.sharing.update import (
    FrozenRequest,
    FrozenStep,
    FrozenSync,
    PreparedUpdate,
    UpdateRequest,
    Updating,
)
from prowess.safety.paths import shown
from prowess.sharing.policy import PolicyEffect
from prowess.sharing.source import REGISTRIES, SourceKind, SourceSpec
from prowess.skills.text import one_line
from prowess.wire import sharing as wire_sharing
from prowess.wiring import Runtime, open_runtime
from prowess.wiring.sharing import (
    PLACES,
    find_missing,
    open_folder,
    open_folders,
    open_sharing,
    open_sources,
)

_FAILED = 1
_MOST_FINDINGS = 5
place_option = click.option(
    "--to",
    "place",
    type=click.Choice(PLACES),
    default="project",
    show_default=True,
    help="Whose skills: the user's, the project's in the workspace, or the agent's.",
)
yes_option = click.option(
    "-y", "--yes", is_flag=True, help="Do not ask; a critical finding is refused all the same."
)


@click.command("add")
@click.argument("source")
@click.option(
    "--skill", "skills", multiple=True, metavar="NAME", help="Which one; may be repeated."
)
@click.option("--all", "every", is_flag=True, help="All skills of the source.")
@place_option
@click.option(
    "--pin", metavar="REF", default="", help="A tag, commit, version or digest to stay at."
)
@click.option(
    "--registry", metavar="URL", default="", help="Where hub:, clawhub: and npm: names are."
)
@click.option("--submodules", is_flag=True, help="Of a repository, fetch its submodules too.")
@click.option("--allow-signer-change", is_flag=True, help="Take what somebody else has signed.")
@yes_option
@common
def add_command(
    given: Common,
    source: str,
    *,
    skills: tuple[str, ...],
    every: bool,
    place: str,
    pin: str,
    registry: str,
    submodules: bool,
    allow_signer_change: bool,
    yes: bool,
) -> int:
    """Add skills from SOURCE: fetched, scanned, approved by you, written and locked.

    SOURCE is a folder, an archive, a git repository (a path, https, ssh, file:// or
    owner/repo/path@ref), a site with an index of skills, a marketplace.json,
    hub:NAMESPACE/NAME, clawhub:NAME, npm:NAME or oci:HOST/NAME:TAG. Nothing is written before the
    scan and your yes.

    Example: prowess add ./team-skills --skill release-notes

    Exit code 0 when all were added, 1 when one was refused or declined, 2 for wrong usage.
    """
    with open_runtime(given.workspace) as runtime:
        spec = _complete(open_sources(runtime).read_spec(source), registry, submodules=submodules)
        request = AddRequest(
            spec=spec, skills=skills, every=every, pin=pin, allow_signer_change=allow_signer_change
        )
        sharing = open_sharing(runtime, open_folder(runtime, place, given.agent), given.agent)
        with ProgressBar() as bar:
            arrivals = sharing.prepare(request, bar)
        return finish_adding(sharing, arrivals, yes=yes, as_json=given.as_json)


def _complete(spec: SourceSpec, registry: str, *, submodules: bool) -> SourceSpec:
    """Return a source with the options that are about it, and refuse those that are not."""
    if registry and spec.kind not in REGISTRIES:
        raise click.UsageError("--registry goes with hub:, clawhub: and npm: names alone")
    if submodules and spec.kind is not SourceKind.GIT:
        raise click.UsageError("--submodules goes with git repositories alone")
    return replace(spec, submodules=submodules, url=registry or spec.url)


def finish_adding(
    sharing: Sharing, arrivals: Sequence[Arrival], *, yes: bool, as_json: bool
) -> int:
    """Ask, write and say what became of each skill."""
    needs_yes = any(not one.refusal and not one.is_there for one in arrivals)
    if needs_yes and not yes and not asks():
        raise click.UsageError("Give --yes: there is no terminal to ask on")
    outcomes = {
        one.name: _add_one(sharing, one, yes=yes, quiet=as_json and yes) for one in arrivals
    }
    if as_json:
        rows = [wire_sharing.arrival(one, outcomes[one.name]) for one in arrivals]
        print_json({"lock": sharing.folder.lock_path, "skills": rows})
    else:
        for one in arrivals:
            _say_outcome(sharing, one, outcomes[one.name])
    return _FAILED if {"refused", "declined"} & set(outcomes.values()) else 0


def _add_one(sharing: Sharing, one: Arrival, *, yes: bool, quiet: bool) -> str:
    if one.refusal:
        sharing.decline(one)
        return "refused"
    if one.is_there and not sharing.verify((one.name,))[0].problem:
        return "unchanged"
    if not quiet:
        for line in describe_arrival(one):
            click.echo(one_line(line), err=True)
    if not yes and not click.confirm(f"Add {shown(one.name)}?", err=True):
        sharing.decline(one)
        return "declined"
    sharing.add(one)
    return "added"


def describe_arrival(one: Arrival) -> list[str]:
    """Return what a person has to know before a yes."""
    entry = one.entry
    lines = [
        f"{one.name} from {entry.source} at {entry.resolved}, files: {len(entry.files)}",
        f"scan: {one.report.verdict.value}; {_describe_signer(one)}",
    ]
    findings = one.findings
    lines += [
        f"  {found.level.value}: {found.rule_id} in {found.file}:{found.line}"
        for found in findings[:_MOST_FINDINGS]
    ]
    if len(findings) > _MOST_FINDINGS:
        lines.append(f"  and {len(findings) - _MOST_FINDINGS} more")
    warned = [each for each in one.decision.reasons if each.effect is PolicyEffect.WARN]
    return [*lines, *(f"policy: {each}" for each in warned)]


def _describe_signer(one: Arrival) -> str:
    entry = one.entry
    if entry.signer:
        return f"{entry.signer} signed it, as {entry.issuer} says"
    return one.notice or "nobody signed it"


def _say_outcome(sharing: Sharing, one: Arrival, outcome: str) -> None:
    if outcome == "refused":
        print_error(f"{one.name} was not added: {one.refusal}")
    elif outcome == "declined":
        print_error(f"{one.name} was not added.")
    elif outcome == "unchanged":
        print_text(f"{one.name} is up to date in {sharing.folder.locate(one.name)}.")
    else:
        print_text(f"{one.name} was added to {sharing.folder.locate(one.name)}.", "green")


@click.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="SKILL...")
@place_option
@common
def remove_command(given: Common, names: tuple[str, ...], *, place: str) -> int:
    """Remove skills that were added: to the trash, and out of the lock.

    What is not in the lock is nobody's to remove here. `skills.restore` of the gateway, or the
    studio, brings a skill back from the trash.

    Example: prowess remove release-notes
    """
    with open_runtime(given.workspace) as runtime:
        sharing = open_sharing(runtime, open_folder(runtime, place, given.agent), given.agent)
        gone = sharing.remove(names)
    if given.as_json:
        print_json({"removed": [{"name": name, "trash": id_} for name, id_ in gone.items()]})
    else:
        for name, id_ in gone.items():
            print_text(f"{name} was removed{f', to the trash as {id_}' if id_ else ''}.")
    return 0


@click.command("outdated")
@common
def outdated_command(given: Common) -> int:
    """Say which locked skills have something newer at their source.

    Exit code 0 when all are up to date, 1 when something is newer or cannot be asked.
    """
    with open_runtime(given.workspace) as runtime, ProgressBar() as bar:
        found = [
            one
            for folder in existing_folders(runtime, given).values()
            for one in open_sharing(runtime, folder, given.agent).find_outdated(bar)
        ]
    if given.as_json:
        print_json({"skills": [wire_sharing.outdated_skill(one) for one in found]})
    else:
        rows = [
            (
                Cell(one.name),
                Cell(one.locked[:19]),
                Cell(one.newest[:19] or "-", "yellow" if one.is_outdated else ""),
                Cell(one.problem or ("pinned" if one.pinned else one.source)),
            )
            for one in found
        ]
        names = (Column("Skill"), Column("Locked"), Column("Newest"), Column("Note", flexible=True))
        print_table(names, rows)
    return _FAILED if any(one.is_outdated or one.problem for one in found) else 0


@click.command("verify")
@click.argument("names", nargs=-1, metavar="[SKILL]...")
@common
def verify_command(given: Common, names: tuple[str, ...]) -> int:
    """Compare every file of the skills that were added with the lock.

    A changed, added, removed or renamed file is named, and without SKILL what a policy requires
    and is not there. Nothing is fetched, and nothing is changed but what a killed command left
    half done.

    Example: prowess verify --json

    Exit code 0 when every file is as it was locked, 1 when one is not, or a policy that blocks
    requires what is missing.
    """
    found: list[VerifiedSkill] = []
    with open_runtime(given.workspace) as runtime:
        folders = existing_folders(runtime, given)
        for folder in folders.values():
            mine = tuple(name for name in names if name in folder.read_lock().skills)
            if mine or not names:
                found += open_sharing(runtime, folder, given.agent).verify(mine)
        missing = () if names else find_missing(runtime, given.agent)
    unknown = set(names) - {one.name for one in found}
    if unknown:
        places = ", ".join(folder.lock_path for folder in folders.values())
        raise SharingError(shown(min(unknown)), f"is in no lock: looked at {places}.")
    is_blocked = any(one.effect is PolicyEffect.BLOCK for one in missing)
    is_right = all(one.is_right for one in found) and not is_blocked
    if given.as_json:
        rows = [wire_sharing.verified_skill(one) for one in found]
        required = [wire_sharing.policy_reason(one) for one in missing]
        print_json({"ok": is_right, "skills": rows, "missing": required})
    else:
        _say_verified(found)
        for reason in missing:
            print_text(f"! {reason}", "red" if reason.effect is PolicyEffect.BLOCK else "yellow")
    return 0 if is_right else _FAILED


def _say_verified(found: Sequence[VerifiedSkill]) -> None:
    wrong = [one for one in found if not one.is_right]
    for one in wrong:
        for line in (one.problem,) if one.problem else one.drift.lines:
            print_text(f"{one.name}: {line}", "red")
    count = f"{len(found)} skill{'' if len(found) == 1 else 's'}"
    if wrong:
        print_text(f"{len(wrong)} of {count}: not as locked.")
    else:
        print_text(f"{count} verified: every file is as it was locked.", "green")


def existing_folders(runtime: Runtime, given: Common) -> dict[str, LockedFolder]:
    """Return every folder that has a lock; an error where there is none."""
    folders = open_folders(runtime, given.agent)
    if not folders:
        place = open_folder(runtime, "project", given.agent).lock_path
        raise SharingError(shown(place), "is not there: `prowess add SOURCE` makes one.")
    return folders


@click.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--registry", metavar="URL", default="", help="A hub or ClawHub registry.")
@common
def search_command(given: Common, words: tuple[str, ...], *, registry: str) -> int:
    """Search hubs and ClawHub registries for skills; `prowess add` adds one.

    Without --registry those of `skills.install.registries` are asked; where none is configured the
    hub of PROWESS_HUB_URL, and else ClawHub itself. A hub shows what the token in
    PROWESS_REGISTRY_TOKEN may see.

    Example: prowess search release notes --registry https://skills.example.com
    """
    with open_runtime(given.workspace) as runtime:
        listed = runtime.skills.settings.skills.install.registries
        usual = read_registry_access(runtime.environ).hub or CLAWHUB_REGISTRY
        asked = (registry,) if registry else listed or (usual,)
        rows, problems = search_registries(open_sources(runtime), asked, " ".join(words))
    for problem in problems:
        print_error(problem)
    if given.as_json:
        print_json({"results": rows, "problems": problems})
        return _FAILED if problems and not rows else 0
    if not rows:
        print_text("" if problems else "Nothing was found.")
        return _FAILED
    keys = ("name", "owner", "version", "registry", "summary")
    names = [Column(key.capitalize(), flexible=key == "summary") for key in keys]
    print_table(names, [tuple(Cell(row[key]) for key in keys) for row in rows])
    return 0


_COLOURS = {"+": "green", "-": "red", "@": "bold"}
_BAD = frozenset(("conflict", "refused", "failed", "declined"))
_WORDS = {
    "keep": "is as it was locked",
    "restore": "was brought back",
    "changed": "was edited here, so it stays: `prowess update` keeps edits, --force replaces them",
    "unmanaged": "is in no lock: --adopt takes it in",
    "prune": "was moved to the trash",
    "adopt": "was taken into the lock",
    "failed": "could not be brought back",
}
_PLANNED = {
    "restore": "would be brought back",
    "prune": "would be moved to the trash",
    "adopt": "would be taken into the lock",
}


@click.command("update")
@click.argument("names", nargs=-1, metavar="[SKILL]...")
@click.option("--preview", is_flag=True, help="Show difference and findings; change nothing.")
@click.option(
    "--keep",
    type=click.Choice(["local", "upstream", "both"]),
    default=None,
    help="Settle conflicts for one side, or keep the lines of both.",
)
@click.option("--allow-signer-change", is_flag=True, help="Take what somebody else has signed.")
@yes_option
@common
def update_command(
    given: Common,
    names: tuple[str, ...],
    *,
    preview: bool,
    keep: str | None,
    allow_signer_change: bool,
    yes: bool,
) -> int:
    """Bring skills up to date with their sources, and keep what you edited.

    Edits of different lines are merged. Where both sides changed the same lines, the skill stays
    as it is and both are shown; --keep settles it. Pinned skills stay.

    Example: prowess update --preview

    Exit code 0 when all is up to date, 1 when something is in the way (with --preview: newer).
    """
    request = UpdateRequest(names=names, keep=keep or "", allow_signer_change=allow_signer_change)
    rows: dict[str, tuple[PreparedUpdate, str]] = {}
    with open_runtime(given.workspace) as runtime:
        for place, folder in existing_folders(runtime, given).items():
            mine = tuple(name for name in names if name in folder.read_lock().skills)
            if names and not mine:
                continue
            updating = Updating(open_sharing(runtime, folder, given.agent))
            with ProgressBar() as bar:
                found = updating.prepare(replace(request, names=mine), bar)
            for one in found:
                outcome = _settle(updating, one, preview=preview, yes=yes, quiet=given.as_json)
                rows[f"{place}/{one.name}"] = one, outcome
    _refuse_unknown(names, rows)
    if given.as_json:
        print_json({"skills": [wire_sharing.prepared_update(*row) for row in rows.values()]})
    outcomes = {outcome for _, outcome in rows.values()}
    return _FAILED if outcomes & (_BAD | {"ready"}) else 0


def _refuse_unknown(names: Sequence[str], rows: Mapping[str, tuple[PreparedUpdate, str]]) -> None:
    unknown = set(names) - {one.name for one, _ in rows.values()}
    if unknown:
        raise click.UsageError(f"{shown(min(unknown))} is in no lock; `prowess verify` names all")


def _settle(
    updating: Updating, one: PreparedUpdate, *, preview: bool, yes: bool, quiet: bool
) -> str:
    """Say what an update does, ask, and do it."""
    if not quiet:
        _say(one, preview=preview)
    if one.state == "refused" and not preview:
        updating.decline(one)
    if one.state != "ready" or preview:
        return one.state
    if not yes and not asks():
        raise click.UsageError("Give --yes: there is no terminal to ask on")
    if not yes and not click.confirm(f"Update {shown(one.name)}?", err=True):
        updating.decline(one)
        return "declined"
    updating.apply(one)
    if not quiet:
        print_text(f"{one.name} was updated.", "green")
    return "updated"


def _say(one: PreparedUpdate, *, preview: bool) -> None:
    if one.state in {"current", "pinned"}:
        print_text(f"{one.name} is {'up to date' if one.state == 'current' else 'pinned'}.")
        return
    arrival = one.arrival
    if one.problem or arrival is None:
        print_error(f"{one.name} cannot be updated: {one.problem}")
        return
    print_text(f"{one.name}: {one.old.resolved} to {arrival.entry.resolved}", "bold")
    _say_what_changes(one)
    if preview or one.conflicts:
        # Every line begins with its mark, so that none of them can pose as one of ours.
        for line in one.difference.splitlines():
            print_text(f"  {line}", _COLOURS.get(line[:1], ""))
    for conflict in one.conflicts:
        print_error(f"{one.name}: {conflict.path} {conflict.problem}: settle it with --keep.")
    if arrival.refusal:
        print_error(f"{one.name} was not updated: {arrival.refusal}")


def _say_what_changes(one: PreparedUpdate) -> None:
    print_text(f"  {_describe_freshness(one)}")
    for line in one.edits.lines:
        print_text(f"  kept: {line}")
    for word, findings in (("new", one.new_findings), ("gone", one.gone_findings)):
        for found in findings:
            print_text(f"  {word} finding: {found.rule_id} in {found.file}:{found.line}", "yellow")


def _describe_freshness(one: PreparedUpdate) -> str:
    approved = one.old.approval.get("when") or "a day that the lock does not name"
    made = f"was made on {one.made}" if one.made else "does not say when it was made"
    return f"what is new {made}; what you have was approved on {approved}"


def bring_back(given: Common, request: FrozenRequest) -> int:
    """Make folders hold what their locks say."""
    steps: list[FrozenStep] = []
    with open_runtime(given.workspace) as runtime:
        for folder in existing_folders(runtime, given).values():
            with ProgressBar() as bar:
                frozen = FrozenSync(open_sharing(runtime, folder, given.agent))
                steps += frozen.run(request, bar)
    bad = {"failed", "changed"} | ({"restore", "prune", "adopt"} if request.check else set())
    is_right = not any(step.action in bad for step in steps)
    if given.as_json:
        print_json({"ok": is_right, "steps": [wire_sharing.frozen_step(one) for one in steps]})
        return 0 if is_right else _FAILED
    for step in steps:
        words = (_PLANNED if request.check else _WORDS).get(step.action, _WORDS[step.action])
        detail = step.detail.removesuffix(".")
        print_text(f"{step.name} {words}{f': {detail}' if detail else ''}.")
    return 0 if is_right else _FAILED
