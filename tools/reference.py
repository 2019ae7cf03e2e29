"""Writes the reference pages from the code, or checks that they match it.

python tools/reference.py          write docs/reference/*.md
python tools/reference.py --check  exit 1 where a page is out of date
"""

import inspect
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import click

from prowess import errors
from prowess.cli.main import COMMANDS, app
from prowess.gateway.calls import ClientScope, Code, Method
from prowess.gateway.dispatch import collect_methods
from prowess.gateway.limits import EVENTS, KIB, GatewayLimits, GatewayOptions
from prowess.gateway.methods.proposals import ProposalMethods
from prowess.gateway.methods.services import Services
from prowess.gateway.methods.sharing import ChangeMethods, SharingMethods, SharingServices
from prowess.gateway.methods.skills import ProofMethods, ProofServices, SkillMethods
from prowess.gateway.methods.studio import StudioMethods, StudioServices
from prowess.gateway.methods.system import ClientMethods, SystemMethods, absent_methods
from prowess.host.sources.harness_folders import PERSONAL, PROJECT
from prowess.safety.hosts import read_installers
from prowess.safety.model import Rule
from prowess.safety.rules.table import read_contexts, read_rules
from prowess.settings import SETTINGS
from prowess.skills.model import Tier, read_codes
from prowess.wire.handshake import NEWEST_PROTOCOL, OLDEST_PROTOCOL
from prowess.wire.safety import levels

PAGES = Path(__file__).parent.parent / "docs" / "reference"
RATES = Path(__file__).parent.parent / "benchmarks" / "quality" / "rates.toml"
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
    rows = [
        (f"`{row.key}`", row.kind.said, f"`{row.shown_default}`", row.meaning) for row in SETTINGS
    ]
    intro = (
        "The file is `prowess.json` in the state folder (`~/.prowess`, or `$PROWESS_HOME`), read as"
        " JSON5. A key that is not known is kept and reported; a value of the wrong type takes its"
        " default and is reported. `prowess config path` says where the file is."
    )
    head = ("setting", "value", "default", "meaning")
    return f"# Settings\n\n{_NOTE}\n\n{intro}\n\n{table(head, rows)}\n"


def diagnostics_page() -> str:
    """Every diagnostic."""
    rows = [
        (f"`{row.code}`", row.severity.value, row.meaning, row.fix) for row in read_codes().values()
    ]
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
        " terminal.\n\nThe fourth column says on how many of"
        f" {read_rates()['samples']:,} skills of public collections, all taken for honest, a rule"
        " fires as critical, and on how many more as a warning"
        " (`benchmarks/quality/scanning.py --rates`)."
    )
    lowering = [(context, level.value, why) for context, (level, why) in read_contexts().items()]
    installers = [(f"`{row.host}{row.prefix}`", row.who, row.why) for row in read_installers()]
    parts = [
        "# Rules of the scanner",
        _NOTE,
        intro,
        table(
            ("rule", "family", "level", "on honest skills", "what it finds"),
            [
                (f"[`{row.id}`](#{row.id})", row.family, _levels(row), rate_of(row), row.title)
                for row in rows()
            ],
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


def read_rates() -> dict[str, Any]:
    """Return how often the rules fire on honest skills, as it was measured last."""
    return tomllib.loads(RATES.read_text(encoding="utf-8"))


def rate_of(rule: Rule) -> str:
    """Return how often a rule fires on honest skills, in words."""
    found = read_rates()["rules"].get(rule.id, {})
    critical, warn = found.get("critical", 0), found.get("warn", 0)
    return f"{critical} critical, {warn} warn" if critical or warn else "never"


def rows() -> list[Rule]:
    """Return the rules in the order of the table."""
    return list(read_rules().values())


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


def protocol_page() -> str:
    """Every method, event, error and limit of the gateway."""
    groups: dict[str, list[Method]] = {title: [] for title in _GROUPS.values()}
    for method in methods():
        group = next(title for prefix, title in _GROUPS.items() if method.name.startswith(prefix))
        groups[group].append(method)
    parts = ["# Protocol", _NOTE, _PROTOCOL, "## Handshake", _HANDSHAKE, "## Frames", _FRAMES]
    for title, rows in groups.items():
        summary = [(f"[`{row.name}`](#{anchor(row)})", scope(row), row.about) for row in rows]
        parts += [f"## {title}", table(("method", "scope", "what it does"), summary)]
        parts += [part for row in rows for part in method_parts(row)]
    events = [(f"`{name}`", *_EVENTS[name]) for name in EVENTS]
    codes = [(f"`{code.value}`", _CODES[code]) for code in Code]
    parts += ["## Events", _ABOUT_EVENTS, table(("event", "payload", "when"), events)]
    parts += ["## Errors", _ERRORS, table(("code", "meaning"), codes)]
    parts += ["## Limits", _LIMITS, table(("limit", "value"), limits())]
    return "\n\n".join(parts) + "\n"


def methods() -> list[Method]:
    """Return the rows of the method table; none of them is called, so no service is real."""
    services, studio = create_autospec(Services), create_autospec(StudioServices)
    plain_ones = (SystemMethods, ClientMethods, SkillMethods, ChangeMethods)
    groups = (
        *(group(services) for group in plain_ones),
        ProposalMethods(services, lambda _agent: {}),
        StudioMethods(services, studio),
        SharingMethods(create_autospec(SharingServices)),
        ProofMethods(services, create_autospec(ProofServices)),
    )
    return [*collect_methods(*groups), *absent_methods()]


def anchor(method: Method) -> str:
    """Return what a heading of that name is linked by."""
    return method.name.replace(".", "").lower()


def scope(method: Method) -> str:
    """Return the right that a method asks for."""
    return "none" if method.scope is None else f"`{method.scope.value}`"


def method_parts(method: Method) -> Iterator[str]:
    """Yield heading and parameters of a method."""
    yield f"### `{method.name}`"
    schema = method.params.model_json_schema(by_alias=True)
    needed = set(schema.get("required", ()))
    rows = [
        (f"`{name}`", kind(value, schema), "yes" if name in needed else "no", bounds(value))
        for name, value in schema.get("properties", {}).items()
    ]
    yield f"{method.about} Scope: {scope(method)}."
    if rows:
        yield table(("parameter", "type", "required", "bounds"), rows)
    if schema.get("additionalProperties") is not False:
        yield "Takes any parameters, as other gateways' clients send them: none changes the answer."
    elif not rows:
        yield "No parameters."


def plain(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a value that is there: null only says that it is not."""
    options = [one for one in value.get("anyOf", ()) if one.get("type") != "null"]
    if len(options) != 1:
        return value
    rest = {name: item for name, item in value.items() if name != "anyOf"}
    return {**rest, **options[0]}


def kind(value: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return the type of a parameter in a word or two."""
    found = plain(value)
    if "$ref" in found:
        inner = schema["$defs"][found["$ref"].rpartition("/")[2]]
        if "enum" in inner:
            return " or ".join(f"`{word}`" for word in inner["enum"])
        shown = inner["properties"].items()
        fields = ", ".join(f"`{name}` {kind(item, schema)}" for name, item in shown)
        return f"object of {fields}"
    if "anyOf" in found:
        return " or ".join(kind(one, schema) for one in found["anyOf"])
    if found.get("type") == "array":
        return f"list of {kind(found['items'], schema)}"
    if isinstance(found.get("additionalProperties"), dict):
        return f"object of {kind(found['additionalProperties'], schema)}"
    return str(found.get("type", "any"))


def bounds(value: Mapping[str, Any]) -> str:
    """Return how long or large a parameter may be, and what it is where nobody says."""
    found = plain(value)
    said = [span(found, *names) for names in _BOUNDS]
    inner = found.get("items") or found.get("additionalProperties")
    if isinstance(inner, dict):
        said += [f"each {text}" for text in (bounds(inner),) if text]
    if found.get("default") not in (None, [], ()):
        said.append(f"default {str(found['default']).lower()}")
    return ", ".join(text for text in said if text)


def span(value: Mapping[str, Any], least: str, most: str, what: str) -> str:
    """Return one bound, or both."""
    low, high = value.get(least), value.get(most)
    if low is None and high is None:
        return ""
    if low is not None and high is not None:
        return f"{low} to {high}{what}"
    return f"from {low}{what}" if high is None else f"up to {high}{what}"


def limits() -> list[tuple[str, str]]:
    """Return the bounds of a gateway."""
    most, options = GatewayLimits(), GatewayOptions(version="")
    return [
        ("a frame, or the body of a request", f"{options.max_payload // KIB} KiB"),
        ("a frame before `connect` was answered", f"{most.stranger_payload // KIB} KiB"),
        ("frames of a connection", f"{most.frames_per_second:g} a second, bursts of {most.burst}"),
        ("calls of a connection at the same time", str(most.in_flight)),
        ("requests to `/rpc` at the same time", str(most.http_in_flight)),
        ("connections, and of these not yet let in", f"{most.connections}, {most.strangers}"),
        ("time until `connect`", f"{most.handshake_seconds:g} seconds"),
        ("tries of `connect`", str(most.handshake_tries)),
        (
            "what waits for a client that does not read",
            f"{most.queue_messages} frames, {most.queue_bytes // KIB // KIB} MiB",
        ),
        ("time between two `tick` events", f"{options.tick_ms // 1000} seconds"),
    ]


def _levels(rule: Rule) -> str:
    found = levels(rule)
    own = "" if rule.proposal in {None, rule.level} else f" ({found['proposal']} in a proposal)"
    return found["package"] + own


_PROTOCOL = (
    f"What `prowess serve` speaks: protocol {OLDEST_PROTOCOL} to {NEWEST_PROTOCOL} of OpenClaw's"
    " gateway, as JSON in text frames over a WebSocket on `/` and `/ws`. `POST /rpc` takes one"
    " request and gives one response, with the token as `Authorization: Bearer`; it knows no"
    " events and no `connect`. `GET /health` needs no token, `GET /metrics` (Prometheus text) does."
    " How to start a gateway and how to call one from Python: [Gateway](../gateway.md)."
)
_HANDSHAKE = """\
The gateway speaks first:

```json
{"type": "event", "event": "connect.challenge", "payload": {"nonce": "Zk3v", "ts": 1794762000000}}
```

The client says who it is and which protocols it speaks. `role` is `operator`, or `node` for a
machine that only lends its programs. Without `scopes`, whoever has the token may do everything;
scopes that are not known are passed over. `auth.token` may also be sent as `auth.password`.

```json
{"type": "req", "id": "1", "method": "connect", "params": {
  "minProtocol": 3, "maxProtocol": 4,
  "client": {"id": "my-tool", "version": "1.0", "platform": "linux", "mode": "backend"},
  "role": "operator", "scopes": ["operator.read"],
  "auth": {"token": "the token of the gateway"}}}
```

The answer names the newest protocol that both speak, what there is to call and to hear, and what
this client may do:

```json
{"type": "res", "id": "1", "ok": true, "payload": {
  "type": "hello-ok", "protocol": 4, "server": {"version": "0.1.0", "connId": "4faf4d74"},
  "features": {"methods": ["skills.status"], "events": ["skills.changed"]},
  "snapshot": {
    "health": {"ok": true, "defaultAgentId": "main",
      "agents": [{"agentId": "main", "name": "main", "isDefault": true}]},
    "sessionDefaults": {"defaultAgentId": "main", "mainKey": "main"}},
  "auth": {"role": "operator", "scopes": ["operator.read"]},
  "policy": {"maxPayload": 524288, "maxBufferedBytes": 8388608, "tickIntervalMs": 30000}}}
```

A device may prove that it is the same one as before: `device` with `id` (the SHA-256 of the raw
public key, in hex), `publicKey` and `signature` (ed25519, base64url), `signedAt` (milliseconds)
and `nonce`. What is signed is
`v3|id|client.id|client.mode|role|scopes, joined by commas|signedAt|token|nonce|platform|family`,
or the same as `v2` without the last two. It does not replace the token."""
_FRAMES = """\
A request is `{"type": "req", "id", "method", "params"}`; its response is
`{"type": "res", "id", "ok", "payload"}`, or has `error` (`code`, `message`, `details`) where `ok`
is false. Responses may overtake each other. An event is
`{"type": "event", "event", "payload", "seq"}`, where `seq` counts from 1 on each connection: a gap
means that something was lost. Parameters are closed, but for the few methods that say otherwise: a
name that is not listed here is refused, and `details.field` says which one it was."""
_GROUPS = {
    "skills.proposals.": "Proposals",
    "skills.": "Skills",
    "config.": "Config",
    "": "The gateway itself",
}
_BOUNDS = (
    ("minLength", "maxLength", " characters"),
    ("minimum", "maximum", ""),
    ("minItems", "maxItems", " items"),
    ("minProperties", "maxProperties", " entries"),
)
_ABOUT_EVENTS = (
    f"Events go to every client that may read (`{ClientScope.READ.value}`), but for the progress"
    " of an install, which only the client that asked for it gets, and its begin and end, which"
    f" those hear who may install (`{ClientScope.ADMIN.value}`). What changed outside of the"
    " gateway is told, too."
)
_EVENTS = {
    "connect.challenge": ("`nonce`, `ts`", "first of all, before `connect`; it has no `seq`"),
    "config.changed": ("`hash`, `path`", "the config file has other contents"),
    "presence": ("`presence`: list of clients", "a client came or went"),
    "shutdown": ("`reason`", "the gateway is about to stop"),
    "skills.changed": ("`agentId`, `version`", "an agent has other skills, or other verdicts"),
    "skills.install.progress": (
        "`skill`, `installId`, and `stream` with `text`, or `received` with `total`",
        "an install writes, or a download goes on",
    ),
    "skills.install.state": (
        "`skill`, `installId`, `state`: `running`, `done` or `failed`",
        "an install of any client begins or ends; `skills.installs` tells what it wrote",
    ),
    "health": (
        "`database` with `state`: `ok` or `lost`",
        "a gateway of a fleet lost its database, or has it back",
    ),
    "skills.indexing": (
        "`agentId`, `done`, `total`; no `total` at its end",
        "many skills are being encoded; until then words alone are matched",
    ),
    "skills.routed": (
        "`at`, `agentId`, `surface`, `kind`, `decision`, `skill`, `score`",
        "an agent's message was routed; no word of it is told",
    ),
    "skills.proposal": (
        "`agentId`, and an event of `skills.proposals.events.list`",
        "a proposal was made, revised or decided about",
    ),
    "tick": ("`ts`", "regularly, so that a dead connection is noticed"),
}
_ERRORS = (
    "`message` says what to do. `details.reason`, where there is one, is the code of the"
    " [exception](errors.md) behind it. A request that failed after doing something, such as an"
    " install, has `payload` beside `error`; of an install the reason is `install.failed`, or"
    " `install.` and the `skipReason` of the payload."
)
_CODES = {
    Code.INVALID_REQUEST: "the request must be changed: an unknown method, a wrong parameter, an"
    " unknown agent, a hash that is not the current one",
    Code.NOT_CONNECTED: "`connect` comes first",
    Code.UNAUTHORIZED: "over HTTP, no token or a wrong one. On a socket it is `INVALID_REQUEST`,"
    " with `details.code` `AUTH_TOKEN_MISSING`, `AUTH_TOKEN_MISMATCH` or, of a signature that does"
    " not fit, one that begins with `DEVICE_AUTH_`; the connection is closed",
    Code.FORBIDDEN: "a scope is missing (`details.code` `MISSING_SCOPE`), and"
    " `details.missingScope` names it; over HTTP also a"
    " host or an origin that is not served",
    Code.PROTOCOL_MISMATCH: "no protocol in common; the connection is closed. On a socket it is"
    " `INVALID_REQUEST` with this as `details.code`, as clients of OpenClaw expect",
    Code.PAYLOAD_TOO_LARGE: "a frame or a body is too long; the connection is closed",
    Code.RATE_LIMITED: "too much at once, or too many wrong tokens",
    Code.UNAVAILABLE: "asking differently would not help: a file, a program or the network failed",
}
_LIMITS = "Who goes beyond is told and cut off, and nobody else notices."
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
    "protocol.md": protocol_page,
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
