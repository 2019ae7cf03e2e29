"""What well-known JavaScript functions fetch and send, and over what."""

from prowess.safety.facts import Act
from prowess.safety.languages.javascript.effects import note_write
from prowess.safety.languages.javascript.javascript_calls import Call, Handler
from prowess.safety.languages.javascript.javascript_machine import Machine
from prowess.safety.languages.javascript.values import UNKNOWN, Value, labelled, literal

_REMOTE = frozenset(("remote",))
# Labels that say nothing about what is given away when they reach an address.
_HARMLESS = frozenset(("input", "remote", "decoded"))
_BODIES = ("body", "data", "json", "form", "formData", "multipart", "payload")
_SENDING = frozenset(("post", "put", "patch", "send", "delete"))
_CLIENTS = ("axios", "got", "request", "needle", "ky", "superagent", "phin", "fetch")
_METHODS = ("get", "post", "put", "patch", "delete", "head", "request", "stream", "send")


def _text(value: Value) -> str:
    return value.shown if value.number is None else str(value.number)


def url_of(value: Value) -> str:
    """Return the address that an argument names: a text, or options with a host and a path."""
    if value.text is not None:
        return value.text
    fields = value.fields or {}
    for key in ("url", "uri", "href"):
        if key in fields:
            return fields[key].shown
    host = _text(fields.get("hostname") or fields.get("host") or UNKNOWN)
    if not host:
        return ""
    scheme = _text(fields.get("protocol") or literal("https:", 0))
    port = _text(fields.get("port") or UNKNOWN)
    return f"{scheme}//{host}{':' + port if port else ''}{_text(fields.get('path') or UNKNOWN)}"


def _sends(call: Call) -> bool:
    if call.method.lower() in _SENDING or call.name.rpartition(".")[2] in _SENDING:
        return True
    for arg in call.args:
        fields = arg.fields or {}
        method = fields.get("method")
        if any(key in fields for key in _BODIES):
            return True
        if method is not None and _text(method).lower() in _SENDING:
            return True
    return False


def ask(machine: Machine, call: Call) -> Value:
    """Read a request to a server: what comes back is remote, what went along was sent."""
    url = url_of(call.arg(0))
    flow = call.labels()
    machine.emit(Act.FETCH, call.node, url, flow=call.arg(0).labels)
    if _sends(call) or flow - _HARMLESS:
        machine.emit(Act.SEND, call.node, url, "http", flow=flow)
    answer = labelled(_REMOTE)
    for arg in call.args:
        machine.give_all(arg, answer)
    name = f"{call.name}()" if call.name.startswith(("http.", "superagent.")) else ""
    return _endpoint(name, call.arg(0), url)


def _endpoint(name: str, like: Value, url: str) -> Value:
    text = url if name else None
    pieces = like.pieces if like.text is not None else literal(url, 0, exact=False).pieces
    return Value(name=name, labels=_REMOTE, text=text, whole=False, pieces=pieces)


def send_http(machine: Machine, call: Call) -> Value:
    """Read data that is written to an open request."""
    data = call.arg(0)
    if call.args and data.function is None:
        machine.emit(Act.SEND, call.node, call.receiver.shown, "http", flow=data.everything())
    for arg in call.args:
        machine.give_all(arg, labelled(_REMOTE))
    return call.receiver


def beacon(machine: Machine, call: Call) -> Value:
    """Read `navigator.sendBeacon`."""
    machine.emit(Act.SEND, call.node, url_of(call.arg(0)), "http", flow=call.labels())
    return UNKNOWN


def open_socket(machine: Machine, call: Call) -> Value:
    """Read a web socket or an event stream that is opened."""
    url = url_of(call.arg(0))
    machine.emit(Act.FETCH, call.node, url, flow=call.arg(0).labels)
    return _endpoint(f"{call.name}()", call.arg(0), url)


def send_socket(machine: Machine, call: Call) -> Value:
    """Read data that is sent over a web socket."""
    machine.emit(Act.SEND, call.node, call.receiver.shown, "ws", flow=call.labels())
    return UNKNOWN


def connect(machine: Machine, call: Call) -> Value:
    """Read a connection to a host and port."""
    options = call.arg(0).fields or {}
    port = options.get("port", call.arg(0))
    host = options.get("host", call.arg(1) if call.arg(1).function is None else UNKNOWN)
    shown = ":".join(part for part in (_text(host), _text(port)) if part)
    socket = _endpoint("net.connect()", UNKNOWN, shown)
    if call.holder and call.receiver.name == "net.connect()":
        machine.assign(call.holder, socket)
    for arg in call.args:
        machine.give_all(arg, UNKNOWN)
    return socket


def send_raw(machine: Machine, call: Call) -> Value:
    """Read data that is written to a connection."""
    if call.args and call.arg(0).function is None:
        machine.emit(Act.SEND, call.node, call.receiver.shown, "tcp", flow=call.arg(0).everything())
    return call.receiver


def send_udp(machine: Machine, call: Call) -> Value:
    """Read a datagram."""
    host = next((arg.shown for arg in reversed(call.args[1:]) if arg.text), "")
    machine.emit(Act.SEND, call.node, host, "udp", flow=call.arg(0).everything())
    return UNKNOWN


def resolve(machine: Machine, call: Call) -> Value:
    """Read the resolution of a name; one that carries data tells it to whoever answers."""
    name = call.arg(0)
    flow = name.everything()
    if flow - {"input", "remote"}:
        machine.emit(Act.SEND, call.node, name.shown, "dns", flow=flow)
    for arg in call.args:
        machine.give_all(arg, labelled(_REMOTE))
    return labelled(_REMOTE)


def mail(machine: Machine, call: Call) -> Value:
    """Read a mail."""
    to = (call.arg(0).fields or {}).get("to", UNKNOWN)
    machine.emit(Act.SEND, call.node, to.shown, "smtp", flow=call.labels())
    return UNKNOWN


def open_request(machine: Machine, call: Call) -> Value:
    """Read `XMLHttpRequest.open`, which names the address that `send` goes to."""
    url = url_of(call.arg(1))
    machine.emit(Act.FETCH, call.node, url, flow=call.arg(1).labels)
    if call.arg(1).labels - _HARMLESS:
        machine.emit(Act.SEND, call.node, url, "http", flow=call.arg(1).labels)
    if call.holder:
        machine.assign(call.holder, _endpoint("XMLHttpRequest()", call.arg(1), url))
    return UNKNOWN


def visit(machine: Machine, call: Call) -> Value:
    """Read `window.open` and the like: data in the address is given away."""
    flow = call.arg(0).everything()
    if flow - _HARMLESS:
        machine.emit(Act.SEND, call.node, call.arg(0).shown, "http", flow=flow)
    return UNKNOWN


def load_script(machine: Machine, call: Call) -> Value:
    """Read `importScripts`: code from an address is run."""
    for arg in call.args:
        if arg.shown.startswith(("http:", "https:", "//")):
            machine.emit(Act.FETCH, call.node, arg.shown)
            machine.emit(Act.EXEC, call.node, "eval", arg.shown, flow=_REMOTE)
    return UNKNOWN


def pipe(machine: Machine, call: Call) -> Value | None:
    """Read `a.pipe(b)`: what comes out of one goes into the other."""
    target = call.args[-1] if call.args else UNKNOWN
    source = call.receiver if call.method == "pipe" else call.arg(0)
    flow = source.labels
    ends = {part.name.partition("(")[0] for part in (source, target)}
    if ends == {"shell", "net.connect"}:
        host = source.shown if source.name.startswith("net.") else target.shown
        machine.emit(Act.REVERSE_SHELL, call.node, "net", host)
    elif target.name == "stream()":
        note_write(machine, call, target, Value(labels=flow))
    elif target.name == "net.connect()":
        machine.emit(Act.SEND, call.node, target.shown, "tcp", flow=flow)
    elif target.name in {"http.request()", "superagent.post()"}:
        machine.emit(Act.SEND, call.node, target.shown, "http", flow=flow)
    return Value(
        name=target.name, labels=flow | target.labels, text=target.text, pieces=target.pieces
    )


def _clients() -> dict[str, Handler]:
    names = [f"{client}.{method}" for client in _CLIENTS for method in _METHODS]
    return dict.fromkeys((*_CLIENTS, *names), ask)


HANDLERS: dict[str, Handler] = {
    **_clients(),
    "undici.request": ask,
    "undici.stream": ask,
    "http.get": ask,
    "http.request": ask,
    "http.request().write": send_http,
    "http.request().end": send_http,
    "superagent.post().send": send_http,
    "superagent.put().send": send_http,
    "superagent.patch().send": send_http,
    "superagent.post().attach": send_http,
    "superagent.post().field": send_http,
    "XMLHttpRequest().open": open_request,
    "XMLHttpRequest().send": send_http,
    "navigator.sendBeacon": beacon,
    "WebSocket": open_socket,
    "EventSource": open_socket,
    "io": open_socket,
    "WebSocket().send": send_socket,
    "io().emit": send_socket,
    "io().send": send_socket,
    "net.connect": connect,
    "net.connect().write": send_raw,
    "net.connect().end": send_raw,
    "dgram.createSocket().send": send_udp,
    "dns.lookup": resolve,
    "nodemailer.createTransport().sendMail": mail,
    "open": visit,
    "location.assign": visit,
    "location.replace": visit,
    "importScripts": load_script,
    ".pipe": pipe,
    "stream.pipeline": pipe,
    "stream/promises.pipeline": pipe,
    **{
        f"dns.{name}": resolve
        for name in ("resolve", "resolve4", "resolve6", "resolveTxt", "resolveAny", "resolveCname",
                     "resolveMx", "resolveNs", "resolveSrv")
    },
}  # fmt: skip
