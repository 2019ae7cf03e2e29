"""`lock` and `publish`: locks of other tools read and written, and skills given to others.

`policy explain` and `audit`: which rule decides about a skill, and what was decided.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from prowess.cli.render import ProgressBar, print_error, print_json, print_text
from prowess.cli.sharing.commands import finish_adding, place_option, yes_option
from prowess.cli.terminal import (
    CommandGroup,
    Common,
    common,
    complete_skill,
    json_option,
    workspace_option,
)
from prowess.errors import LockError, PathError
from prowess.host.files.containment import Root
from prowess.host.sharing.signatures import BUNDLES
from prowess.host.sharing.site import (
    PublishedSkill,
    UploadRequest,
    publish_artifacts,
    publish_site,
    upload_skills,
)
from prowess.host.sharing.sources import read_skill
from prowess.host.sharing.web import CLAWHUB_REGISTRY, read_registry_access
from prowess.runtime.sharing.ports import hash_package
from prowess.runtime.sharing.service import AddRequest, Arrival, Sharing
from prowess.safety.paths import shown
from prowess.sharing.foreign_locks import (
    FILE_NAMES,
    ForeignFormat,
    ForeignRequest,
    ForeignSkill,
    find_format,
    hash_folder_like_vercel,
    read_foreign,
    write_foreign,
)
from prowess.sharing.lock import content_digest, list_digests
from prowess.sharing.source import SourceKind
from prowess.wiring import Runtime, open_runtime
from prowess.wiring.sharing import (
    check_audit,
    explain_policy,
    open_audit,
    open_folder,
    open_sharing,
    open_sources,
)

_FAILED, _MOST_LOCK = 1, 16 << 20


@click.group("lock", cls=CommandGroup)
def lock_command() -> None:
    """Read and write the locks of other tools: vercel, ClawHub, APM and ToolHive."""


@lock_command.command("import")
@click.argument("file", type=click.Path())
@place_option
@click.option("--registry", metavar="URL", default="", help="Where ClawHub names are looked up.")
@yes_option
@common
def import_command(given: Common, file: str, *, place: str, registry: str, yes: bool) -> int:
    """Add the skills that the lock of another tool names: fetched, scanned and locked here.

    FILE is skills-lock.json, .clawhub/lock.json, apm.lock.yaml or toolhive.lock.yaml. A hash in it
    must be that of what comes.

    Example: prowess lock import skills-lock.json
    """
    path = Path(file).absolute()
    try:
        with Root.open(path.parent) as root:
            content = root.read(path.name, _MOST_LOCK)
    except PathError as error:
        raise LockError(shown(str(path)), error.problem) from error
    found = read_foreign(find_format(path.as_posix()), content, str(path))
    with open_runtime(given.workspace) as runtime:
        folder = open_folder(runtime, place, given.agent)
        sharing = open_sharing(runtime, folder, given.agent)
        arrivals: list[Arrival] = []
        with ProgressBar() as bar:
            for one in found:
                bar("reading the other lock", len(arrivals), len(found))
                if one.problem:
                    print_error(f"{one.name} is left out: {one.problem}.")
                    continue
                known = one if one.registry or not registry else replace(one, registry=registry)
                arrivals += _fetch(runtime, sharing, known, str(path.parent))
        return finish_adding(sharing, arrivals, yes=yes, as_json=given.as_json)


def _fetch(runtime: Runtime, sharing: Sharing, one: ForeignSkill, base: str) -> list[Arrival]:
    spec = open_sources(runtime).read_spec(one.source, base)
    if spec.kind is SourceKind.CLAWHUB:
        spec = replace(spec, url=one.registry)
    elif one.path:
        spec = replace(spec, path=one.path)
    wanted = () if one.path or spec.kind is SourceKind.CLAWHUB else (one.name,)
    request = AddRequest(spec=spec, skills=wanted, pin=one.pin)
    arrivals = sharing.prepare(request, lambda *_step: None)
    return [_check_hash(arrival, one.folder_hash) for arrival in arrivals]


def _check_hash(arrival: Arrival, promised: str) -> Arrival:
    files = {path: file.content for path, file in arrival.package.items()}
    if not promised or arrival.refusal or hash_folder_like_vercel(files) == promised:
        return arrival
    problem = "its source has changed since the other lock was written: the hash differs."
    return replace(arrival, refusal=problem)


@lock_command.command("export")
@click.argument("kind", type=click.Choice([one.value for one in ForeignFormat]), metavar="TOOL")
@click.option("--out", metavar="FILE", default="", help="Where to; by default where TOOL looks.")
@place_option
@common
def export_lock_command(given: Common, kind: str, *, out: str, place: str) -> int:
    """Write our skills into the lock of TOOL: vercel, clawhub, apm or toolhive.

    What the file says already and is not about our skills stays. Kinds of sources that TOOL does
    not know are named and left out.

    Example: prowess lock export vercel
    """
    chosen = ForeignFormat(kind)
    with open_runtime(given.workspace) as runtime:
        folder = open_folder(runtime, place, given.agent)
        path = Path(out).absolute() if out else Path(folder.top) / FILE_NAMES[chosen]
        name = path.name
        with Root.open(path.parent, create=True) as root:
            before = root.read(name, _MOST_LOCK) if root.exists(name) else b""
            request = ForeignRequest(
                lock=folder.read_lock(),
                before=before,
                path=str(path),
                contents=lambda skill: {
                    inner: file.content for inner, file in folder.read(skill).items()
                },
            )
            written = write_foreign(chosen, request)
            if written.content != before:
                root.write(name, written.content)
    if given.as_json:
        changed = written.content != before
        print_json({"file": str(path), "changed": changed, "leftOut": list(written.left_out)})
        return 0
    for skill in written.left_out:
        print_error(f"{skill} is left out: {kind} has no such source.")
    count = len(request.lock.skills) - len(written.left_out)
    print_text(f"{path} names {count} skill{'' if count == 1 else 's'}.")
    return 0


@lock_command.command("manifest")
@click.argument("folder", type=click.Path())
@click.option("--out", metavar="FILE", required=True, help="Where to write it.")
@json_option
def manifest_command(folder: str, *, out: str, as_json: bool) -> int:
    """Write what the author of the skill in FOLDER signs: its files with their digests.

    The sha256 of FILE is the skill's content digest. Sign FILE with sigstore, and put the bundle
    into FOLDER as skill.sigstore.json, which speaks for all other files.

    Example: prowess lock manifest ./notes --out notes.manifest
    """
    place = str(Path(folder).absolute())
    skill = read_skill(place)
    signed = {path: one for path, one in skill.files.items() if path not in BUNDLES}
    path = Path(out).absolute()
    try:
        with Root.open(path.parent) as root:
            root.write(path.name, list_digests(hash_package(signed)))
    except PathError as error:
        raise PathError(shown(str(path)), error.problem) from error
    digest = content_digest(hash_package(signed))
    if as_json:
        print_json({"skill": skill.name, "file": str(path), "contentDigest": digest})
    else:
        print_text(f"{path} is what to sign for {skill.name}: {digest}.")
    return 0


@click.command("publish")
@click.argument("folder", type=click.Path())
@click.option(
    "--to",
    "target",
    metavar="TARGET",
    required=True,
    help="A site's folder, oci:HOST/NAME:TAG, hub:NAMESPACE, clawhub:.",
)
@click.option("--version", default="", help="Of what is uploaded; by default metadata.version.")
@click.option("--label", "labels", multiple=True, help="Such as stable; may be repeated.")
@click.option("--changelog", default="", help="What is new in the version.")
@click.option("--registry", metavar="URL", default="", help="Where the hub or the registry is.")
@workspace_option
@json_option
def publish_command(
    workspace: str | None,
    folder: str,
    *,
    target: str,
    version: str,
    labels: tuple[str, ...],
    changelog: str,
    registry: str,
    as_json: bool,
) -> int:
    """Give the skills below FOLDER to others: on a web site, or in a registry.

    --to DIR writes DIR/.well-known/agent-skills/, an archive of each skill and an index with their
    digests (version 0.2); serve DIR with any web server. --to oci:HOST/NAME:TAG writes artifacts,
    several skills below NAME, each under its own. --to hub:NAMESPACE uploads to a hub (at
    --registry or PROWESS_HUB_URL), --to clawhub: to a ClawHub registry, with the token in
    PROWESS_REGISTRY_TOKEN. A critical finding, a secret or a missing description refuses all.

    Example: prowess publish ./skills --to ./public
    """
    path = str(Path(folder).absolute())
    kind, colon, namespace = target.partition(":")
    with open_runtime(workspace) as runtime:
        if colon and kind in {SourceKind.HUB, SourceKind.CLAWHUB}:
            access = read_registry_access(runtime.environ)
            usual = access.find_hub(registry, target) if kind == SourceKind.HUB else registry
            place = usual or CLAWHUB_REGISTRY
            request = UploadRequest(registry=place, token=access.token, namespace=namespace)
            request = replace(request, version=version, changelog=changelog, labels=labels)
            found = upload_skills(path, request, runtime.scanning)
        elif colon and kind == SourceKind.OCI:
            found = _publish_artifacts(runtime, path, target)
        else:
            found = publish_site(path, str(Path(target).absolute()), runtime.scanning)
    _say_published(found, as_json=as_json)
    return _FAILED if any(one.refusal for one in found) else 0


def _publish_artifacts(runtime: Runtime, path: str, target: str) -> tuple[PublishedSkill, ...]:
    sources = open_sources(runtime)
    spec = sources.read_spec(target)
    with ProgressBar() as bar:
        bar("writing to the registry", 0, 1)
        return publish_artifacts(path, spec, sources.oci, runtime.scanning)


def _say_published(found: Sequence[PublishedSkill], *, as_json: bool) -> None:
    if as_json:
        print_json({"skills": [asdict(one) for one in found]})
        return
    for one in found:
        if one.refusal:
            print_error(f"{one.name} was not published: {one.refusal}")
        elif one.state == "pending":
            print_text(f"{one.path} waits for a review.", "yellow")
        else:
            print_text(f"{one.name} is in {one.path}.", "green")


_MOST_ROWS = 50
_WORDS = {
    "off": ("is allowed", "green"),
    "warn": ("is allowed with a warning", "yellow"),
    "block": ("is blocked", "red"),
}


@click.group("policy", cls=CommandGroup)
def policy_command() -> None:
    """Say what the policies of organisation, team and project decide about skills."""


@policy_command.command("explain")
@click.argument("skill", shell_complete=complete_skill)
@common
def explain_command(given: Common, skill: str) -> int:
    """Name the file and the line that decide about SKILL.

    Policies are prowess-policy.yml in /etc/prowess and where PROWESS_POLICY says (organisation),
    in the state folder (team) and in the workspace (project). The strictest wins.

    Example: prowess policy explain release-notes

    Exit code 0 when the skill may be used, 1 when a policy blocks it.
    """
    with open_runtime(given.workspace) as runtime:
        said = explain_policy(runtime, skill, given.agent)
    if given.as_json:
        print_json(said)
    else:
        _say(said)
    return _FAILED if said["effect"] == "block" else 0


def _say(said: dict[str, Any]) -> None:
    name = said["skill"]
    if not said["policies"]:
        print_text(f"{name} is allowed: there is no policy.")
        return
    off = [one["file"] for one in said["policies"] if one["mode"] == "off"]
    if len(off) == len(said["policies"]):
        print_text(f"{name} is allowed: the policy is off.", "yellow")
    else:
        words, style = _WORDS[said["effect"]]
        print_text(f"{name} {words}.", style)
    for place in off:
        print_text(f"  {place} is off: nothing that it says counts.", "yellow")
    for one in said["reasons"]:
        place = f"{one['file']}:{one['line']}"
        print_text(f"  {one['level']}, {one['rule']}, {one['effect']}: {place}: {one['text']}")
    counted = [one["file"] for one in said["policies"] if one["mode"] != "off"]
    if counted and not said["reasons"]:
        print_text("  no rule is about it in " + ", ".join(counted))
    for one in said["missing"]:
        print_text(f"! {one['file']}:{one['line']}: {one['text']}", "yellow")


@click.group("audit", cls=CommandGroup)
def audit_command() -> None:
    """Show and check the log of what was added, removed, refused and forbidden."""


@audit_command.command("verify")
@common
def audit_verify_command(given: Common) -> int:
    """Check that no line of the log was changed, taken out or cut off.

    Exit code 0 when the log is whole, 1 when it is not.
    """
    with open_runtime(given.workspace) as runtime:
        said = check_audit(runtime)
    if given.as_json:
        print_json(said)
    elif said["problem"]:
        print_error(f"{said['file']}: {said['problem']}.")
    else:
        print_text(f"{said['file']}: {said['lines']} lines, all of them in their place.", "green")
    return 0 if said["ok"] else _FAILED


@audit_command.command("show")
@click.option("--last", type=click.IntRange(1, 10_000), default=_MOST_ROWS, show_default=True)
@common
def audit_show_command(given: Common, *, last: int) -> int:
    """Show the last lines of the log."""
    with open_runtime(given.workspace) as runtime:
        rows = open_audit(runtime).read(last)
    if given.as_json:
        print_json({"rows": rows})
        return 0
    for row in rows:
        reason = f": {row['reason']}" if row.get("reason") else ""
        print_text(f"{row['time']} {row['event']} {row.get('skill', '')} {row['outcome']}{reason}")
    return 0
