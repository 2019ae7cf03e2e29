"""The gateway with real adapters: every service, the studio, one process, one state folder.

A token or password that was given wrongly is refused: passed over, it would start a gateway that
asks nothing of anybody, and whoever gave it would believe otherwise.
"""

import asyncio
import errno
import hashlib
import logging
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette

from prowess import __version__
from prowess.errors import GatewayStartError
from prowess.evaluation.routing import RoutingTestPorts, RoutingTests
from prowess.gateway.calls import Client, ClientScope
from prowess.gateway.dispatch import MethodTable, collect_methods
from prowess.gateway.http import PAGE, StudioFiles, build_app, page_files
from prowess.gateway.hub import Hub
from prowess.gateway.limits import GatewayOptions
from prowess.gateway.methods.proposals import ProposalMethods
from prowess.gateway.methods.services import Installs, RemovalHelpers, Services
from prowess.gateway.methods.sharing import ChangeMethods, SharingMethods, SharingServices
from prowess.gateway.methods.skills import ProofMethods, SkillMethods
from prowess.gateway.methods.studio import INDEXING, RecentRoutes, StudioMethods, StudioServices
from prowess.gateway.methods.system import (
    ClientMethods,
    SystemMethods,
    absent_methods,
    count_database,
    health,
    snapshot,
)
from prowess.gateway.server import gateway_server
from prowess.host.config.file import to_settings
from prowess.host.config.writer import ConfigStore
from prowess.host.evaluation import RoutingTestsFile
from prowess.host.files.containment import Root
from prowess.host.files.state_files import only_instance
from prowess.host.sharing.web import ask_hub, read_registry_access
from prowess.host.sources.skill_files import read_inside
from prowess.host.store.sessions import ChatSessions
from prowess.host.writers.trash import SkillRemoval
from prowess.mcp.http import McpEndpoint
from prowess.runtime.config.edits import ConfigEdits
from prowess.runtime.library import Libraries, Removals
from prowess.runtime.ports import SettingsSource
from prowess.runtime.route.answer import Hurry
from prowess.runtime.sessions import MissedActivations
from prowess.runtime.sharing.service import search_registries
from prowess.runtime.watch import LastGoodSettings, Nodes, WithNodes
from prowess.runtime.workshop.proposals import Proposals
from prowess.safety.rules.table import Acceptance
from prowess.safety.web_addresses import is_this_machine
from prowess.settings import GatewaySettings, SpecMode
from prowess.skills.validation import Report
from prowess.spans import heard
from prowess.wiring.doctor import open_connecting, open_harnesses
from prowess.wiring.events import (
    OTLP_VARIABLE,
    FleetMember,
    News,
    OneAtATime,
    logging_to,
    open_telemetry,
)
from prowess.wiring.hook import serving_hooks
from prowess.wiring.library import SERVER, Runtime, accept_finding, open_runtime, revoke_finding
from prowess.wiring.mcp import open_endpoint
from prowess.wiring.proof import list_proofs
from prowess.wiring.sharing import (
    check_audit,
    explain_policy,
    open_folders,
    open_sharing,
    open_sources,
)
from prowess.wiring.skill_tests import open_proof
from prowess.wiring.transfer import candidates, open_budgets, open_installing, report_on
from prowess.wiring.workshop import open_sessions, workshop_ports

if TYPE_CHECKING:
    from prowess.wiring.sharing.hub import OpenHub

log = logging.getLogger(__name__)

# The name of a variable, not a token.
TOKEN_VARIABLE = "PROWESS_GATEWAY_TOKEN"  # noqa: S105
_LONGEST = 4_096
# What the log says of an event that all clients are told.
_LOGGED = ("agentId", "version", "hash", "kind", "proposalId")
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
            raise _blame(runtime, f"gateway.{name}", f"belongs to gateway.auth.{name}: move it")
    auth = _object(runtime, gateway, "auth")
    found = {name: _secret(runtime, name, auth.get(name)) for name in _SECRETS}
    mode = auth.get("mode")
    if mode not in (None, "none", *_SECRETS):
        raise _blame(runtime, "gateway.auth.mode", "is neither none, token nor password: change it")
    if mode in _SECRETS and not found[mode]:
        raise _blame(runtime, "gateway.auth.mode", f"asks for gateway.auth.{mode}: set it")
    return found["token"], found["password"]


def _object(runtime: Runtime, outer: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = outer.get(name)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        key = name if name == "gateway" else f"gateway.{name}"
        raise _blame(runtime, key, "is not an object: write gateway.auth.token")
    return found


def _secret(runtime: Runtime, name: str, found: object) -> str:
    key = f"gateway.auth.{name}"
    if found is None:
        return ""
    if not isinstance(found, str) or _REFERENCE.fullmatch(found.strip()):
        raise _blame(runtime, key, "is not the text itself, and references are not followed here")
    if not found.strip():
        raise _blame(runtime, key, "is blank: give it, or remove it")
    return usable_secret(f"{key} in {runtime.config.path}", found)


def _blame(runtime: Runtime, key: str, problem: str) -> GatewayStartError:
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


def open_shared(runtime: Runtime, told: Callable[[], None]) -> SharingServices:
    """Return what the methods about shared skills need."""
    access = read_registry_access(runtime.environ)
    return SharingServices(
        folders=lambda agent: [
            open_sharing(runtime, folder, agent)
            for folder in open_folders(runtime, agent, ("agent", "user")).values()
        ],
        explain=lambda name, agent: explain_policy(runtime, name, agent),
        check_audit=lambda: check_audit(runtime),
        told=told,
        agents=lambda: [one.id for one in runtime.skills.settings.agents],
        hub=access.hub,
        ask_hub=partial(ask_hub, access),
    )


def open_studio(runtime: Runtime, hub: Hub) -> StudioServices:
    """Return what the studio's methods call; nothing is read before it is asked for."""
    store = RoutingTestsFile(runtime.folders.state)
    # Made before there are threads: two first calls at once would make two of it.
    routing = runtime.routing
    tools = RoutingTestPorts(
        store=store, now=time.time, seconds=time.perf_counter, new_id=lambda: secrets.token_hex(6)
    )
    routes = RecentRoutes(hub.publish, time.time)
    routing.followed, routing.hurries = routes.note, Hurry()
    routing.indexing = lambda agent, done, total: hub.publish(
        INDEXING, {"agentId": agent, "done": done, "total": total}
    )
    return StudioServices(
        libraries=Libraries(runtime.skills, os.path.isdir, read_inside),
        tests=RoutingTests(runtime.skills, lambda: routing, tools),
        tests_path=store.path,
        budgets=open_budgets(runtime),
        missed=MissedActivations(
            open_sessions(runtime).report, lambda: time.time_ns() // 1_000_000
        ),
        harnesses=open_harnesses(runtime, runtime.skills.places.workspace),
        connecting=lambda: open_connecting(runtime, runtime.skills.places.workspace),
        routes=routes,
    )


DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 18789


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeRequest:
    """How somebody wants the gateway to be reached."""

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    token: str = field(default="", repr=False)
    workspace: str | None = None
    log_level: str = "info"
    log_format: str = "text"
    # Whether a hub is served beside it.
    has_hub: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedGateway:
    """A gateway that is put together and not yet reached by anybody."""

    runtime: Runtime
    services: Services
    hub: Hub
    app: Starlette
    options: GatewayOptions
    news: News
    fleet: FleetMember

    @property
    def has_page(self) -> bool:
        """True where a browser that opens the address finds the studio."""
        return has_page()

    def close(self) -> None:
        """Write what waits, and give back what was opened."""
        self.runtime.close()


class _LastKnown:
    """The settings as they were last read, for the event loop, which must not wait for a file."""

    def __init__(self) -> None:
        self._good: LastGoodSettings | None = None

    def watch(self, config: SettingsSource) -> LastGoodSettings:
        """Return settings that are remembered at each reading."""
        self._good = LastGoodSettings(config)
        return self._good

    def find_gateway(self) -> GatewaySettings:
        """Return from where the gateway may be reached by now."""
        last = None if self._good is None else self._good.last
        return GatewaySettings() if last is None else last.gateway


def open_gateway(
    request: ServeRequest, *, home: str | None = None, environ: Mapping[str, str] | None = None
) -> ServedGateway:
    """Put a gateway together; nothing listens yet, and nothing is open where it is refused.

    Raises:
        GatewayStartError: other machines could reach it, and nothing is asked of them; or what is
            asked of clients was given wrongly.
        ConfigError: the config cannot be read.
    """

    def told() -> None:
        refresh()
        news.nudge()

    nodes, known = Nodes(changed=told), _LastKnown()
    hub = Hub(left=lambda client: _let_go(nodes, hub, client))
    runtime = open_runtime(
        request.workspace,
        home=home,
        environ=environ,
        settings=lambda config: WithNodes(known.watch(config), nodes),
        patience=SERVER,
    )
    options = _options(request, runtime, known.find_gateway)
    # Fifty machines that come and go at once cost two looks at the disk, not fifty.
    refresh = OneAtATime(runtime.skills.refresh)
    mcp = open_endpoint(runtime, hub, options)
    news = News(runtime, _publisher(hub, mcp), lambda: _hash(runtime))
    fleet = FleetMember(runtime, told, news.nudge, hub.publish)
    services = _services(runtime, nodes, told, hub, fleet)
    return ServedGateway(
        runtime=runtime,
        services=services,
        hub=hub,
        app=_app(_table(runtime, services, hub, told), services, hub, options, mcp),
        options=options,
        news=news,
        fleet=fleet,
    )


def _let_go(nodes: Nodes, hub: Hub, client: Client) -> None:
    """Forget a machine that left; the event loop must not wait for whoever reads skills now."""
    if nodes.has(client.id) and not hub.closing:
        threading.Thread(target=nodes.leave, args=(client.id,), daemon=True).start()


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
        metrics_extra=lambda: count_database(services),
        mcp=mcp,
    )


def add_hub(gateway: ServedGateway) -> None:
    """Serve the hub that has the state of a gateway from its process.

    Raises:
        StoreError: its store cannot be used.
    """
    # Late: most gateways have none.
    from prowess.hub.app import build_hub_app, route_to_hub
    from prowess.wiring.sharing.hub import open_hub, open_store

    hub = open_hub(gateway.runtime, *open_store(gateway.runtime))
    hub.check_encoder()
    gateway.app.routes[:0] = route_to_hub(build_hub_app(hub.service, __version__))


def _publisher(hub: Hub, mcp: McpEndpoint) -> Callable[[str, dict[str, object]], None]:
    def publish(event: str, payload: dict[str, object]) -> None:
        hub.publish(event, payload)
        log.info(event, extra={key: payload[key] for key in _LOGGED if key in payload})
        # Clients of MCP hear of changes in words of their own.
        mcp.told()

    return publish


def _table(runtime: Runtime, services: Services, hub: Hub, told: Callable[[], None]) -> MethodTable:
    groups = (
        *(group(services) for group in (SystemMethods, ClientMethods, SkillMethods, ChangeMethods)),
        ProposalMethods(services, lambda agent: list_proofs(runtime, agent)),
        ProofMethods(services, open_proof(runtime)),
        StudioMethods(services, open_studio(runtime, hub)),
        SharingMethods(open_shared(runtime, told)),
    )
    return MethodTable((*collect_methods(*groups), *absent_methods()))


def _services(
    runtime: Runtime, nodes: Nodes, told: Callable[[], None], hub: Hub, fleet: FleetMember
) -> Services:
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
            ConfigStore(runtime.config, runtime.state.hold),
            check=lambda values: to_settings(values).problems,
            changed=lambda _hash: told(),
        ),
        removals=Removals(runtime.skills, SkillRemoval(state), time.time, told),
        usage=runtime.usage,
        accept=lambda *given: _tell(told, accept_finding(runtime, *given)),
        revoke=lambda *given: _tell(told, revoke_finding(runtime, *given)),
        nodes=nodes,
        stopping=hub.stopping,
        why=runtime.why,
        validate=lambda name, agent, strict: _validate(runtime, name, agent, strict=strict),
        search_registries=lambda words: search_registries(
            open_sources(runtime), runtime.skills.settings.skills.install.registries, words
        ),
        presence=hub.presence,
        read_file=_read_file,
        helpers=RemovalHelpers(),
        sessions=lambda: _sessions(state),
        now=time.time,
        started_at=time.time(),
        fleet=fleet.describe,
    )


def _tell(told: Callable[[], None], changed: tuple[Acceptance, ...]) -> tuple[Acceptance, ...]:
    """Return what the operator changed, once everybody is told."""
    told()
    return changed


def _to_installers(hub: Hub) -> Callable[[str, dict[str, object]], None]:
    """Return what tells those who may install, and nobody else."""
    return lambda event, payload: hub.publish(event, payload, scope=ClientScope.ADMIN)


def _hash(runtime: Runtime) -> str:
    return hashlib.sha256(ConfigStore(runtime.config).read() or b"").hexdigest()


def _options(
    request: ServeRequest, runtime: Runtime, configured: Callable[[], GatewaySettings]
) -> GatewayOptions:
    variable = runtime.environ.get(TOKEN_VARIABLE, "")
    given = usable_secret("--token", request.token) or usable_secret(TOKEN_VARIABLE, variable)
    token, password = (given, "") if given else configured_secrets(runtime)
    is_local = is_this_machine(request.host)
    if not is_local and not (token or password):
        raise GatewayStartError(
            f"{request.host} can be reached by other machines, so a token is needed: give --token,"
            f" set {TOKEN_VARIABLE}, or keep to 127.0.0.1."
        )
    return GatewayOptions(
        token=token,
        password=password,
        loopback_only=is_local,
        allowed_hosts=() if is_local else _find_own_names(request.host),
        configured=configured,
        version=__version__,
    )


def _find_own_names(host: str) -> tuple[str, ...]:
    """Return the names by which others reach this machine, as far as it knows them itself."""
    name = socket.gethostname()
    try:
        addresses = {str(found[4][0]) for found in socket.getaddrinfo(name, None)}
    except OSError:
        # Nothing resolves it; whoever needs another name says so in the settings.
        addresses = set()
    return tuple(dict.fromkeys((host, name, *sorted(addresses))))


def _validate(
    runtime: Runtime, name: str | None, agent: str | None, *, strict: bool
) -> Sequence[Report]:
    """Validate the file of one skill, or all that the agent's workspace finds.

    Raises:
        SkillNotFoundError: there is no such skill.
    """
    strict = strict or runtime.skills.settings.skills.spec_mode is SpecMode.STRICT
    paths = [] if name is None else [runtime.skills.find(name, agent).skill.path]
    return [report_on(item, strict=strict) for item in candidates(runtime, paths, agent)]


def _sessions(state: str) -> Sequence[tuple[str, int]]:
    return [(name, round(at * 1000)) for name, at in ChatSessions(state).listed()]


def _read_file(folder: str, name: str, most: int) -> tuple[bytes, float] | None:
    """Return a file of a folder and when it was written; None where there is more of it.

    Raises:
        PathError: it is missing, or no regular file.
        ContainmentError: it is a link.
    """
    with Root.open(folder) as root:
        state = dict(root.list("")).get(name)
        if state is not None and state.st_size > most:
            return None
        return root.read(name, most), 0.0 if state is None else state.st_mtime


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
        stack.enter_context(_speak(request, gateway))
        lock = stack.enter_context(only_instance(gateway.runtime.folders.state))
        bound = stack.enter_context(listening(request))
        stack.callback(gateway.close)
        stack.callback(gateway.fleet.stop)
        _prepare(gateway, request)
        # First: whoever interrupts the start must leave nothing behind.
        stack.callback(gateway.news.stop)
        gateway.news.start()
        desk = stack.enter_context(serving_hooks(gateway.runtime))
        address = find_address(request.host, bound)
        lock.note(address)
        server = gateway_server(
            gateway.app, gateway.hub, gateway.options, host=request.host, port=request.port
        )

        def started() -> None:
            ready(address, gateway)
            told = {"address": address, "version": __version__, "pid": os.getpid()}
            log.info("gateway.started", extra=told)
            # Last: whoever waits for the address must not wait for a model as well.
            desk.warm()

        asyncio.run(server.until_signal(bound, started))
        log.info("gateway.stopped", extra={"address": address})


def _prepare(gateway: ServedGateway, request: ServeRequest) -> None:
    # Before anything is read: where the database is missing, that is all there is to say.
    gateway.fleet.start()
    if request.has_hub:
        add_hub(gateway)
    gateway.services.removals.purge()
    # Read once, so that the first client does not wait for it.
    gateway.runtime.skills.status()


def serve_hub(
    request: ServeRequest, folder: str, url: str, ready: "Callable[[str, OpenHub], None]"
) -> None:
    """Serve a hub until a signal comes; `ready` is told the address once clients can connect.

    Raises:
        StoreError: the store cannot be used.
        GatewayStartError: it cannot listen there.
    """
    from prowess.hub.app import build_hub_app
    from prowess.wiring.sharing.hub import opened_hub

    with ExitStack() as stack:
        stack.enter_context(logging_to(None, request.log_level, request.log_format))
        hub = stack.enter_context(opened_hub(folder, url))
        hub.check_encoder()
        bound = stack.enter_context(listening(request))
        address = find_address(request.host, bound)
        options = GatewayOptions(version=__version__)
        app = build_hub_app(hub.service, __version__)
        server = gateway_server(app, Hub(), options, host=request.host, port=request.port)

        def started() -> None:
            ready(address, hub)
            log.info("hub.started", extra={"address": address, "version": __version__})

        asyncio.run(server.until_signal(bound, started))
        log.info("hub.stopped", extra={"address": address})


@contextmanager
def _speak(request: ServeRequest, gateway: ServedGateway) -> Iterator[None]:
    """Write the log, and send traces and metrics where the environment says so."""
    options = gateway.options
    hidden = (options.token, options.password, gateway.runtime.state.database_password)
    with ExitStack() as stack:
        stack.enter_context(logging_to(None, request.log_level, request.log_format, hidden))
        environ = gateway.runtime.environ
        if environ.get(OTLP_VARIABLE, "").strip() and environ.get("OTEL_SDK_DISABLED") != "true":
            handler = open_telemetry(environ, options.version)
            if handler is not None:
                stack.enter_context(heard(handler, logging.DEBUG))
                # What the exporters try again is nobody's business; what they give up is.
                stack.enter_context(heard(handler, logging.ERROR, "opentelemetry"))
                stack.callback(handler.close)
        yield


def find_address(host: str, bound: socket.socket) -> str:
    """Return the address at which a port is reached."""
    port = bound.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
