"""The gateway with real adapters: every service, the studio, one process, one state folder.

A token or password that was given wrongly is refused: passed over, it would start a gateway that
asks nothing of anybody, and whoever gave it would believe otherwise.
"""

import asyncio
import errno
import hashlib
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette

from prowess import __version__
from prowess.errors import GatewayStartError
from prowess.evaluation.routing import RoutingTestPorts, RoutingTests
from prowess.gateway.app import build_app
from prowess.gateway.calls import Client, ClientScope
from prowess.gateway.dispatch import MethodTable
from prowess.gateway.http import PAGE, StudioFiles, page_files
from prowess.gateway.hub import Hub
from prowess.gateway.limits import GatewayOptions
from prowess.gateway.methods.changes import change_methods
from prowess.gateway.methods.proposals import proposal_methods
from prowess.gateway.methods.services import Installs, Services
from prowess.gateway.methods.skills import skill_methods
from prowess.gateway.methods.studio import StudioServices, studio_methods
from prowess.gateway.methods.system import health, snapshot, system_methods
from prowess.gateway.server import gateway_server
from prowess.host.config.file import to_settings
from prowess.host.config.writer import ConfigStore
from prowess.host.files.state_files import only_instance
from prowess.host.sources.skill_files import read_inside
from prowess.host.store.chats import ChatSessions
from prowess.host.store.saved_tests import RoutingTestsFile
from prowess.host.writers.trash import SkillRemoval
from prowess.mcp.http import McpEndpoint
from prowess.runtime.config.edits import ConfigEdits
from prowess.runtime.library import Libraries, Removals
from prowess.runtime.sessions import MissedActivations
from prowess.runtime.watch import LastGoodSettings, Nodes, WithNodes
from prowess.runtime.workshop.proposals import Proposals
from prowess.settings import SpecMode
from prowess.skills.validation import Report
from prowess.wiring.events import News, OneAtATime
from prowess.wiring.library import Runtime, open_runtime
from prowess.wiring.mcp import open_endpoint
from prowess.wiring.sessions import open_sessions
from prowess.wiring.transfer import open_budgets, open_installing
from prowess.wiring.validate import candidates, report_on
from prowess.wiring.warm_hook import serving_hooks
from prowess.wiring.workshop import workshop_ports

# The name of a variable, not a token.
TOKEN_VARIABLE = "PROWESS_GATEWAY_TOKEN"  # noqa: S105
_LONGEST = 4_096
_REFERENCE = re.compile(r"\$(?:[A-Z_][A-Z0-9_]*|\{[A-Z_][A-Z0-9_]*\})")
_SECRETS = ("token", "password")


def usable_secret(where: str, given: str) -> str:
    """Return a secret that clients can send; nothing given is nothing asked.

    Raises:
        GatewayStartError: it is blank, or no header can carry it.
    """
    found = given.strip()
    if given and not found:
        raise GatewayStartError(f"{where} is blank: give a token, or leave it out.")
    if not found.isascii() or not found.isprintable() or len(found) > _LONGEST:
        raise GatewayStartError(
            f"{where} cannot be sent by every client: use up to {_LONGEST} letters, digits and"
            " signs of ASCII."
        )
    return found


def configured_secrets(runtime: Runtime) -> tuple[str, str]:
    """Return the token and the password of the config; settings hold no secrets, so here.

    Raises:
        GatewayStartError: the config asks for one, and does not say which.
    """
    gateway = _object(runtime, runtime.config.values(), "gateway")
    for name in _SECRETS:
        if gateway.get(name) is not None:
            raise _wrong(runtime, f"gateway.{name}", f"belongs to gateway.auth.{name}: move it")
    auth = _object(runtime, gateway, "auth")
    found = {name: _secret(runtime, name, auth.get(name)) for name in _SECRETS}
    mode = auth.get("mode")
    if mode not in (None, "none", *_SECRETS):
        raise _wrong(runtime, "gateway.auth.mode", "is neither none, token nor password: change it")
    if mode in _SECRETS and not found[mode]:
        raise _wrong(runtime, "gateway.auth.mode", f"asks for gateway.auth.{mode}: set it")
    return found["token"], found["password"]


def _object(runtime: Runtime, outer: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = outer.get(name)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        key = name if name == "gateway" else f"gateway.{name}"
        raise _wrong(runtime, key, "is not an object: write gateway.auth.token")
    return found


def _secret(runtime: Runtime, name: str, found: object) -> str:
    key = f"gateway.auth.{name}"
    if found is None:
        return ""
    if not isinstance(found, str) or _REFERENCE.fullmatch(found.strip()):
        raise _wrong(runtime, key, "is not the text itself, and references are not followed here")
    if not found.strip():
        raise _wrong(runtime, key, "is blank: give it, or remove it")
    return usable_secret(f"{key} in {runtime.config.path}", found)


def _wrong(runtime: Runtime, key: str, problem: str) -> GatewayStartError:
    return GatewayStartError(
        f"{key} in {runtime.config.path} {problem}, or set {TOKEN_VARIABLE} instead."
    )


STUDIO_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "studio")


def studio_files(folder: str = STUDIO_FOLDER) -> StudioFiles | None:
    """Return what serves the page; None where the package came without it."""
    files = page_files(folder)
    return StudioFiles(files) if PAGE in files else None


def has_page() -> bool:
    """Return whether the package came with the studio."""
    return os.path.isfile(STUDIO_FOLDER + PAGE)


def open_studio(runtime: Runtime) -> StudioServices:
    """Return what the studio's methods call; nothing is read before it is asked for."""
    store = RoutingTestsFile(runtime.folders.state)
    # Made before there are threads: two first calls at once would make two of it.
    routing = runtime.routing
    tools = RoutingTestPorts(
        store=store,
        now=time.time,
        seconds=time.perf_counter,
        new_id=lambda: secrets.token_hex(6),
    )
    return StudioServices(
        libraries=Libraries(runtime.skills, os.path.isdir, read_inside),
        tests=RoutingTests(runtime.skills, lambda: routing, tools),
        tests_path=store.path,
        budgets=open_budgets(runtime),
        missed=MissedActivations(
            open_sessions(runtime).report, lambda: time.time_ns() // 1_000_000
        ),
    )


DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 18789
_LOOPBACK = frozenset(("127.0.0.1", "::1", "localhost"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeRequest:
    """How somebody wants the gateway to be reached."""

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    token: str = field(default="", repr=False)
    workspace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedGateway:
    """A gateway that is put together and not yet reached by anybody."""

    runtime: Runtime
    services: Services
    hub: Hub
    app: Starlette
    options: GatewayOptions
    news: News

    @property
    def has_page(self) -> bool:
        """True where a browser that opens the address finds the studio."""
        return has_page()

    def close(self) -> None:
        """Write what waits, and give back what was opened."""
        self.runtime.close()


def open_gateway(
    request: ServeRequest, *, home: str | None = None, environ: Mapping[str, str] | None = None
) -> ServedGateway:
    """Put a gateway together; nothing listens yet.

    Raises:
        GatewayStartError: other machines could reach it, and nothing is asked of them; or what is
            asked of clients was given wrongly.
        ConfigError: the config cannot be read.
    """

    def told() -> None:
        refresh()
        news.nudge()

    def left(client: Client) -> None:
        # Called on the event loop, which must not wait for whoever reads skills at the moment.
        if nodes.has(client.id) and not hub.closing:
            leave = threading.Thread(target=nodes.leave, args=(client.id,), daemon=True)
            leave.start()

    nodes = Nodes(changed=told)
    hub = Hub(left=left)
    runtime = open_runtime(
        request.workspace,
        home=home,
        environ=environ,
        settings=lambda config: WithNodes(LastGoodSettings(config), nodes),
    )
    # Before anything is opened that would have to be closed.
    options = _options(request, runtime)
    # Fifty machines that come and go at once cost two looks at the disk, not fifty.
    refresh = OneAtATime(runtime.skills.refresh)
    services = _services(runtime, nodes, told, hub)
    mcp = open_endpoint(runtime, hub, options)
    news = News(runtime, _publisher(hub, mcp), lambda: _hash(runtime))
    app = _app(_table(services, open_studio(runtime)), services, hub, options, mcp)
    return ServedGateway(
        runtime=runtime, services=services, hub=hub, app=app, options=options, news=news
    )


def _app(
    table: MethodTable, services: Services, hub: Hub, options: GatewayOptions, mcp: McpEndpoint
) -> Starlette:
    return build_app(
        table,
        hub,
        options,
        lambda: snapshot(services),
        lambda: health(services),
        static=studio_files(),
        mcp=mcp,
    )


def _publisher(hub: Hub, mcp: McpEndpoint) -> Callable[[str, dict[str, object]], None]:
    def publish(event: str, payload: dict[str, object]) -> None:
        hub.publish(event, payload)
        # Clients of MCP hear of changes in words of their own.
        mcp.told()

    return publish


def _table(services: Services, studio: StudioServices) -> MethodTable:
    return MethodTable(
        (
            *system_methods(services),
            *skill_methods(services),
            *change_methods(services),
            *proposal_methods(services),
            *studio_methods(services, studio),
        )
    )


def _services(runtime: Runtime, nodes: Nodes, told: Callable[[], None], hub: Hub) -> Services:
    tools, state = workshop_ports(runtime), runtime.folders.state
    # Made before there are threads: two first calls at once would make two of each.
    routing, workshop = runtime.routing, runtime.workshop
    return Services(
        version=__version__,
        skills=runtime.skills,
        routing=lambda: routing,
        installing=lambda: open_installing(runtime),
        installs=Installs(_to_installers(hub), time.time),
        workshop=lambda: workshop,
        proposals=lambda: Proposals(tools),
        config=ConfigEdits(
            ConfigStore(runtime.config),
            check=lambda values: to_settings(values).problems,
            changed=lambda _hash: told(),
        ),
        removals=Removals(runtime.skills, SkillRemoval(state), time.time, told),
        usage=runtime.usage,
        nodes=nodes,
        stopping=hub.stopping,
        why=runtime.why,
        validate=lambda name, agent, strict: _validated(runtime, name, agent, strict=strict),
        sessions=lambda: _sessions(state),
        now=time.time,
        started_at=time.time(),
    )


def _to_installers(hub: Hub) -> Callable[[str, dict[str, object]], None]:
    """Return what tells those who may install, and nobody else."""
    return lambda event, payload: hub.publish(event, payload, scope=ClientScope.ADMIN)


def _hash(runtime: Runtime) -> str:
    return hashlib.sha256(ConfigStore(runtime.config).read() or b"").hexdigest()


def _options(request: ServeRequest, runtime: Runtime) -> GatewayOptions:
    variable = runtime.environ.get(TOKEN_VARIABLE, "")
    given = usable_secret("--token", request.token) or usable_secret(TOKEN_VARIABLE, variable)
    token, password = (given, "") if given else configured_secrets(runtime)
    is_local = request.host in _LOOPBACK
    if not is_local and not (token or password):
        raise GatewayStartError(
            f"{request.host} can be reached by other machines, so a token is needed: give --token,"
            f" set {TOKEN_VARIABLE}, or keep to 127.0.0.1."
        )
    settings = runtime.skills.settings.gateway
    hosts = () if is_local else _own_names(request.host)
    return GatewayOptions(
        token=token,
        password=password,
        loopback_only=is_local,
        allowed_hosts=(*hosts, *settings.allowed_hosts),
        allowed_origins=settings.allowed_origins,
        version=__version__,
    )


def _own_names(host: str) -> tuple[str, ...]:
    """Return the names by which others reach this machine, as far as it knows them itself."""
    name = socket.gethostname()
    try:
        addresses = {str(found[4][0]) for found in socket.getaddrinfo(name, None)}
    except OSError:
        # Nothing resolves it; whoever needs another name says so in the settings.
        addresses = set()
    return tuple(dict.fromkeys((host, name, *sorted(addresses))))


def _validated(
    runtime: Runtime, name: str | None, agent: str | None, *, strict: bool
) -> Sequence[Report]:
    """Validate the file of one skill, or all that the agent's workspace finds.

    Raises:
        SkillNotFoundError: there is no such skill.
    """
    strict = strict or runtime.skills.settings.skills.spec_mode is SpecMode.STRICT
    paths = [] if name is None else [runtime.skills.find(name, agent).skill.path]
    return [report_on(item, strict=strict) for item in candidates(runtime, paths, agent)]


def _sessions(state: str) -> Sequence[Mapping[str, object]]:
    found = ChatSessions(state).listed()
    return [{"key": name, "updatedAt": round(at * 1000), "kind": "chat"} for name, at in found]


@contextmanager
def listening(request: ServeRequest) -> Iterator[socket.socket]:
    """Hold the port on which the gateway will listen.

    Raises:
        GatewayStartError: it is in use, or cannot be had.
    """
    try:
        family = socket.AF_INET6 if ":" in request.host else socket.AF_INET
        bound = socket.create_server((request.host, request.port), family=family, backlog=512)
    except OSError as error:
        where = f"{request.host}:{request.port}"
        if error.errno == errno.EADDRINUSE:
            raise GatewayStartError(
                f"{where} is in use by another program: stop it, or give another --port (0 takes a"
                " free one)."
            ) from error
        problem = (error.strerror or "no such address").partition(" (")[0]
        raise GatewayStartError(f"{where} cannot be used: {problem}.") from error
    except OverflowError as error:
        raise GatewayStartError(f"{request.port} is no port: take 0 to 65535.") from error
    with bound:
        yield bound


def serve(request: ServeRequest, ready: Callable[[str, ServedGateway], None]) -> None:
    """Serve until a signal comes; `ready` is told the address once clients can connect.

    Raises:
        GatewayBusyError: another gateway uses the same state folder.
        GatewayStartError: it cannot listen there.
        ConfigError: the config cannot be read.
    """
    gateway = open_gateway(request)
    with ExitStack() as stack:
        lock = stack.enter_context(only_instance(gateway.runtime.folders.state))
        bound = stack.enter_context(listening(request))
        stack.callback(gateway.close)
        gateway.services.removals.purge()
        # Read once, so that the first client does not wait for it.
        gateway.runtime.skills.status()
        # First: whoever interrupts the start must leave nothing behind.
        stack.callback(gateway.news.stop)
        gateway.news.start()
        desk = stack.enter_context(serving_hooks(gateway.runtime))
        address = _address(request.host, bound)
        lock.note(address)
        server = gateway_server(
            gateway.app, gateway.hub, gateway.options, host=request.host, port=request.port
        )

        def started() -> None:
            ready(address, gateway)
            # Last: whoever waits for the address must not wait for a model as well.
            desk.warm()

        asyncio.run(server.until_signal(bound, started))


def _address(host: str, bound: socket.socket) -> str:
    port = bound.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
