"""`hub`: a registry of your own, and what its operator does on the machine that it runs on."""

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Any

import click

from prowess.cli.render import (
    Cell,
    Column,
    ProgressBar,
    print_error,
    print_json,
    print_raw,
    print_table,
    print_text,
    silence,
)
from prowess.cli.terminal import CommandGroup, json_option, log_options
from prowess.hub.model import HubRole, TokenScope
from prowess.hub.people import TokenEntry
from prowess.wire.skills import compact, pick
from prowess.wiring.serve import ServeRequest, serve_hub
from prowess.wiring.sharing.hub import OpenHub, measure, opened_hub

_FAILED = 1
_THOUSAND = 1000
_PORT = 18790
# As JSON, and as a line.
_Done = tuple[dict[str, Any], str]


def _hub_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add --data and --database, which say which hub is meant."""
    data = click.option(
        "--data", "folder", metavar="DIR", default="", help="The hub's folder; ~/.prowess/hub."
    )
    database = click.option(
        "--database",
        "url",
        metavar="URL",
        default="",
        help="PostgreSQL with pgvector; better in PROWESS_DATABASE_URL.",
    )
    return data(database(function))


def _on_hub(function: Callable[..., int]) -> Callable[..., int]:
    """Open the hub for a command, which gets it as its first argument."""

    @wraps(function)
    # Whatever click hands on.
    def call(*, folder: str, url: str, **rest: Any) -> int:  # noqa: ANN401
        with opened_hub(folder, url) as hub:
            return function(hub, **rest)

    return _hub_options(json_option(call))


def _deed(group: click.Group, name: str) -> Callable[[Callable[..., _Done]], click.Command]:
    """Make a command of what changes something: it returns what programs and people are told."""

    def make(function: Callable[..., _Done]) -> click.Command:
        @wraps(function)
        # Whatever click hands on.
        def call(hub: OpenHub, *, as_json: bool, **rest: Any) -> int:  # noqa: ANN401
            said, text = function(hub, **rest)
            if as_json:
                print_json(said)
            else:
                print_text(text, "green")
            return 0

        # Its own options come before those that all commands have.
        own = vars(call).pop("__click_params__", [])
        made = _on_hub(call)
        vars(made)["__click_params__"] += own
        return group.command(name)(made)

    return make


@click.group("hub", cls=CommandGroup)
def hub_command() -> None:
    """Run a registry of skills: versions that never change, roles, review, labels and search.

    `prowess hub serve` serves it; all other commands work on its files, on the machine that it runs
    on. Others use `prowess publish --to hub:NAMESPACE`, `prowess search`, `prowess add
    hub:NAMESPACE/NAME` and `npx clawhub`.
    """


@hub_command.command("serve")
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen."
)
@click.option(
    "--port", default=_PORT, show_default=True, type=click.IntRange(0, 65535), help="0: a free one."
)
@log_options
@_hub_options
@json_option
# The fields of a request are called as the options.
def serve_command(*, folder: str, url: str, as_json: bool, **request: Any) -> int:  # noqa: ANN401
    """Serve the hub over HTTP until Ctrl-C.

    It speaks our own protocol (/api/hub/v1), ClawHub v1 (/api/v1) and indexes of skills
    (/.well-known/agent-skills/index.json, and /n/NAMESPACE/... for one namespace). Public ones
    are read by everybody who reaches it; everything else needs a token. Put a web server that
    speaks https in front of it for other machines.

    Example: prowess hub serve --port 0
    """

    def ready(address: str, hub: OpenHub) -> None:
        try:
            if as_json:
                print_raw(compact({"address": address, "store": hub.database.name}))
            else:
                print_text(f"Prowess hub at {address}", "bold")
                print_text(f"  catalogue in {hub.database.name}")
                print_text("  Ctrl-C stops it.", "dim")
            sys.stdout.flush()
        except OSError:
            # Nobody reads it; clients are served all the same.
            silence()

    serve_hub(ServeRequest(**request), folder, url, ready)
    if not as_json:
        print_text("stopped.", "dim")
    return 0


@hub_command.group("token", cls=CommandGroup)
def token_group() -> None:
    """Make, list and revoke the tokens by which people are known."""


@token_group.command("create")
@click.argument("person")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([one.value for one in TokenScope]),
    help="What it may be used for; may be repeated. By default read and publish.",
)
@click.option("--operator", "is_operator", is_flag=True, help="For everything, in all namespaces.")
@click.option("--days", type=click.IntRange(1, 3650), help="How long it is good for.")
@_on_hub
def token_create_command(
    hub: OpenHub,
    person: str,
    *,
    scopes: Sequence[str],
    is_operator: bool,
    days: int | None,
    as_json: bool,
) -> int:
    """Make a token for PERSON; it is shown once, and only its hash is kept.

    What it lets them do is their role in each namespace (`prowess hub namespace role`), as far as
    its scopes go.

    Example: prowess hub token create ann --scope read --scope publish
    """
    every = list(TokenScope) if is_operator else [TokenScope.READ, TokenScope.PUBLISH]
    chosen = [TokenScope(one) for one in scopes] or every
    entry, text = hub.service.people.create_token(
        person, chosen, is_operator=is_operator, days=days
    )
    hub.audit.note(
        {"event": "hub.token", "skill": entry.person, "by": hub.operator.person, "outcome": "made"}
    )
    if as_json:
        print_json({"token": text, **_show_token(entry)})
        return 0
    print_raw(text)
    print_error(f"{entry.person} may use it for {', '.join(entry.scopes)}; it is not shown again.")
    return 0


def _show_token(entry: TokenEntry) -> dict[str, Any]:
    return pick(
        entry,
        "id person scopes is_operator created_ms=createdAt expires_ms=expiresAt"
        " revoked_ms=revokedAt",
    )


@token_group.command("list")
@_on_hub
def token_list_command(hub: OpenHub, *, as_json: bool) -> int:
    """List all tokens, without the tokens themselves."""
    found = hub.service.people.list_tokens()
    if as_json:
        print_json({"tokens": [_show_token(one) for one in found]})
        return 0
    rows = [
        (
            Cell(one.id),
            Cell(one.person),
            Cell("operator" if one.is_operator else ", ".join(one.scopes)),
            Cell(_day(one.expires_ms)),
            Cell(f"revoked {_day(one.revoked_ms)}" if one.revoked_ms else "in use"),
        )
        for one in found
    ]
    names = ("Id", "Person", "Scopes", "Until", "State")
    print_table([Column(name, flexible=name == "Scopes") for name in names], rows)
    return 0


@_deed(token_group, "revoke")
@click.argument("token_id", metavar="ID")
def token_revoke_command(hub: OpenHub, token_id: str) -> _Done:
    """Let the token with ID open nothing any more, at once."""
    hub.service.people.revoke_token(token_id)
    row = {"event": "hub.token", "skill": token_id, "by": hub.operator.person}
    hub.audit.note({**row, "outcome": "revoked"})
    return {"id": token_id, "revoked": True}, f"{token_id} is revoked."


@hub_command.group("namespace", cls=CommandGroup)
def namespace_group() -> None:
    """Make namespaces, and say who may do what in them."""


_public = click.option("--public/--private", "is_public", default=None, help="Who may read.")
_reviewed = click.option(
    "--review/--no-review",
    "is_reviewed",
    default=None,
    help="Whether somebody else has to say yes.",
)


@_deed(namespace_group, "create")
@click.argument("name")
@_public
@_reviewed
def namespace_create_command(
    hub: OpenHub, name: str, *, is_public: bool | None, is_reviewed: bool | None
) -> _Done:
    """Make the namespace NAME: private, and without review, unless you say otherwise.

    Example: prowess hub namespace create acme --review
    """
    made = hub.service.people.create_namespace(
        name, is_public=bool(is_public), is_reviewed=bool(is_reviewed)
    )
    return pick(made, "name is_public is_reviewed"), f"{made.name} is made."


@_deed(namespace_group, "change")
@click.argument("name")
@_public
@_reviewed
def namespace_change_command(
    hub: OpenHub, name: str, *, is_public: bool | None, is_reviewed: bool | None
) -> _Done:
    """Change who reads the namespace NAME, and whether its versions are reviewed."""
    made = hub.service.people.change_namespace(name, is_public=is_public, is_reviewed=is_reviewed)
    return pick(made, "name is_public is_reviewed"), f"{made.name} is changed."


@_deed(namespace_group, "role")
@click.argument("name")
@click.argument("person")
@click.argument("role", type=click.Choice([*(one.value for one in HubRole), "none"]))
def namespace_role_command(hub: OpenHub, name: str, person: str, role: str) -> _Done:
    """Give PERSON a role in the namespace NAME, or `none`.

    A reader sees it, a publisher publishes, labels and yanks, a reviewer says yes to what others
    publish, an admin does all of it.

    Example: prowess hub namespace role acme ann publisher
    """
    hub.service.people.set_role(name, person, None if role == "none" else HubRole(role))
    row = {"event": "hub.role", "skill": name, "by": hub.operator.person}
    hub.audit.note({**row, "outcome": f"{person}: {role}"})
    return {"namespace": name, "person": person, "role": role}, f"{person} is {role} in {name}."


@namespace_group.command("list")
@_on_hub
def namespace_list_command(hub: OpenHub, *, as_json: bool) -> int:
    """List namespaces with their people."""
    found = hub.service.people.list_namespaces()
    if as_json:
        rows = [
            {
                **pick(one, "name is_public is_reviewed"),
                "roles": {person: role.value for person, role in people.items()},
            }
            for one, people in found
        ]
        print_json({"namespaces": rows})
        return 0
    for one, people in found:
        seen = "public" if one.is_public else "private"
        print_text(f"{one.name}: {seen}{', reviewed' if one.is_reviewed else ''}", "bold")
        for person, role in people.items():
            print_text(f"  {person}: {role.value}")
    return 0


@hub_command.group("review", cls=CommandGroup)
def review_group() -> None:
    """See what waits for a yes, and say yes or no."""


@review_group.command("list")
@_on_hub
def review_list_command(hub: OpenHub, *, as_json: bool) -> int:
    """List the versions that wait, the oldest first."""
    found = hub.service.list_pending(hub.operator)
    if as_json:
        rows = [
            {
                "skill": skill.address,
                **pick(one, "version publisher"),
                "verdict": one.scan.get("verdict"),
                "contentDigest": one.digest,
            }
            for skill, one in found
        ]
        print_json({"pending": rows})
        return 0
    for skill, one in found:
        verdict = one.scan.get("verdict")
        print_text(f"{skill.address}@{one.version} by {one.publisher}, scan: {verdict}")
    if not found:
        print_text("Nothing waits.")
    return 0


@_deed(review_group, "approve")
@click.argument("skill", metavar="NAMESPACE/NAME")
@click.argument("version")
def review_approve_command(hub: OpenHub, skill: str, version: str) -> _Done:
    """Let everybody with access have a version; nobody approves their own."""
    hub.service.review(hub.operator, skill, version, approve=True)
    said = {"skill": skill, "version": version, "state": "published"}
    return said, f"{skill}@{version} is published."


@_deed(review_group, "reject")
@click.argument("skill", metavar="NAMESPACE/NAME")
@click.argument("version")
@click.option("--reason", required=True, help="What is wrong with it.")
def review_reject_command(hub: OpenHub, skill: str, version: str, *, reason: str) -> _Done:
    """Refuse a version; its number stays taken."""
    hub.service.review(hub.operator, skill, version, approve=False, reason=reason)
    said = {"skill": skill, "version": version, "state": "rejected"}
    return said, f"{skill}@{version} is rejected."


@hub_command.command("versions")
@click.argument("skill", metavar="NAMESPACE/NAME")
@_on_hub
def versions_command(hub: OpenHub, skill: str, *, as_json: bool) -> int:
    """List the versions of a skill with their states, labels and digests."""
    found = hub.service.find(hub.operator, skill)
    labels = hub.service.read_labels(found)
    versions = hub.service.list_versions(hub.operator, found)
    if as_json:
        rows = [
            {
                **pick(one, "version state"),
                "labels": sorted(name for name, at in labels.items() if at == one.version),
                **pick(one, "digest=contentDigest publisher reviewer?"),
                "verdict": one.scan.get("verdict"),
            }
            for one in versions
        ]
        print_json({**pick(found, "address=skill deprecated"), "versions": rows})
        return 0
    if found.deprecated:
        print_text(f"deprecated: {found.deprecated}", "yellow")
    for one in versions:
        named = ", ".join(sorted(name for name, at in labels.items() if at == one.version))
        print_text(f"{one.version} {one.state.value} {one.digest[:19]} {named}")
    return 0


@_deed(hub_command, "label")
@click.argument("skill", metavar="NAMESPACE/NAME")
@click.argument("label")
@click.argument("version", required=False)
def label_command(hub: OpenHub, skill: str, label: str, version: str | None) -> _Done:
    """Let LABEL, such as stable or canary, stand for VERSION; without one it stands for none.

    Example: prowess hub label acme/notes stable 1.2.0
    """
    hub.service.label(hub.operator, skill, label, version)
    said = {"skill": skill, "label": label, "version": version}
    return said, f"{label} of {skill} is {version or 'nothing'}."


@_deed(hub_command, "yank")
@click.argument("skill", metavar="NAMESPACE/NAME")
@click.argument("version")
@click.option("--reason", required=True, help="What is wrong with it.")
def yank_command(hub: OpenHub, skill: str, version: str, *, reason: str) -> _Done:
    """Take a version out of search, labels and updates; locks that name it can still fetch it."""
    hub.service.yank(hub.operator, skill, version, reason)
    return {"skill": skill, "version": version, "state": "yanked"}, f"{skill}@{version} is yanked."


@_deed(hub_command, "deprecate")
@click.argument("skill", metavar="NAMESPACE/NAME")
@click.argument("message")
def deprecate_command(hub: OpenHub, skill: str, message: str) -> _Done:
    """Tell whoever takes a skill what to use instead; an empty MESSAGE takes that back."""
    hub.service.deprecate(hub.operator, skill, message)
    said = {"skill": skill, "deprecated": message}
    return said, f"{skill} is {'' if message else 'not '}deprecated."


@_deed(hub_command, "vouch")
@click.argument("skill", metavar="NAMESPACE/NAME")
def vouch_command(hub: OpenHub, skill: str) -> _Done:
    """Let a skill whose name looks like an older one stand where its text belongs in a search."""
    hub.service.vouch(hub.operator, skill)
    return {"skill": skill}, f"{skill} is vouched for."


@_deed(hub_command, "reindex")
def reindex_command(hub: OpenHub) -> _Done:
    """Make the index anew, as another encoder needs it."""
    hub.database.change_encoder(*measure(hub.encoder))
    with ProgressBar() as bar:
        done = hub.service.reindex(bar)
    return {"skills": done}, f"{done} skills are indexed."


@hub_command.command("audit")
@_on_hub
def audit_command(hub: OpenHub, *, as_json: bool) -> int:
    """Check the hub's log of decisions, and show its last lines.

    Exit code 0 when the log is whole, 1 when a line was changed, taken out or cut off.
    """
    found = hub.audit.check()
    rows = hub.audit.read(20)
    if as_json:
        said = {"ok": not found.problem, **pick(found, "problem? head")}
        print_json({**said, **pick(found, "path=file lines"), "rows": rows})
        return _FAILED if found.problem else 0
    for row in rows:
        print_text(f"{row['time']} {row['event']} {row['skill']} {row['outcome']} by {row['by']}")
    if found.problem:
        print_error(f"{found.path}: {found.problem}.")
        return _FAILED
    print_text(f"{found.path}: {found.lines} lines, all of them in their place.", "green")
    return 0


def _day(when: int | None) -> str:
    return "-" if when is None else str(datetime.fromtimestamp(when / _THOUSAND, UTC).date())
