"""What well-known JavaScript functions fetch and send, and over what."""

import ast

from prowess.safety.facts import Act
from prowess.safety.languages.code import io
from prowess.safety.languages.code.expressions import update
from prowess.safety.languages.code.state import Site, Walker
from prowess.safety.languages.code.values import (
    UNKNOWN,
    Value,
    labelled,
    lookup,
    remote_label,
    replace,
)
from prowess.safety.languages.javascript.members import (
    HARMLESS,
    SOCKET,
    find_host,
    hand,
    words,
)


def _shown(value: Value | None) -> str:
    if value is None:
        return ""
    return str(value.constant) if isinstance(value.constant, int) else value.text


def _address(value: Value) -> Value:
    """Return the address that an argument names: a text, or options with a host and a path."""
    if value.keys is None:
        return value
    for key in ("url", "uri", "href"):
        if (found := lookup(value, key)) is not None:
            return found
    host = _shown(lookup(value, "hostname") or lookup(value, "host"))
    scheme = _shown(lookup(value, "protocol")) or "https:"
    port = _shown(lookup(value, "port"))
    path = _shown(lookup(value, "path"))
    text = f"{scheme}//{host}{':' + port if port else ''}{path}" if host else ""
    return Value(sketch=text, labels=value.labels)


def ask(state: Walker, site: Site) -> Value:
    """Read a request to a server: what comes back is remote, what went along was sent."""
    url = _address(site.arg(0))
    method = _shown(site.keywords.get("method")).lower() or site.name.rpartition(".")[2]
    if site.keywords.keys() & words("bodies"):
        method = "post"
    answer = io.exchange(state, site, method, url)
    if site.name.startswith(("http.", "superagent.")):
        hand(state, site.args, answer)
        return replace(answer, name=f"{site.name}()", made_of=url)
    return answer


def send_http(state: Walker, site: Site) -> Value:
    """Read data that is written to an open request."""
    data = site.arg(0)
    if site.args and data.function is None:
        state.emit(Act.SEND, site.node, find_host(site.receiver), "http", data.labels)
    return site.receiver


def send_beacon(state: Walker, site: Site) -> Value:
    """Read `navigator.sendBeacon`."""
    state.emit(Act.SEND, site.node, site.arg(0).text, "http", site.labels())
    return UNKNOWN


def open_socket(state: Walker, site: Site) -> Value:
    """Read a web socket or an event stream that is opened."""
    url = _address(site.arg(0))
    state.emit(Act.FETCH, site.node, url.text, "", url.labels)
    remote = frozenset((remote_label(url.text),))
    return Value(name=f"{site.name}()", labels=remote, made_of=url)


def send_socket(state: Walker, site: Site) -> Value:
    """Read data that is sent over a web socket."""
    state.emit(Act.SEND, site.node, find_host(site.receiver), "ws", site.labels())
    return UNKNOWN


def connect(state: Walker, site: Site) -> Value:
    """Read a connection to a host and port."""
    port = site.keywords.get("port", site.arg(0))
    host = site.keywords.get("host", site.arg(1))
    shown = ":".join(part for part in (_shown(host), _shown(port)) if part)
    if shown:
        state.peer = shown
        state.parts["socket"] = state.parts["connected"] = site.node
    remote = frozenset((remote_label("tcp:" + shown),))
    made = Value(name=SOCKET, labels=remote, made_of=Value(sketch=shown))
    if site.receiver.name == SOCKET and isinstance(site.node.func, ast.Attribute):
        update(state, site.node.func.value, made)
    return made


def send_datagram(state: Walker, site: Site) -> Value:
    """Read a datagram."""
    host = next((value.text for value in site.args[:0:-1] if value.text), "")
    state.emit(Act.SEND, site.node, host, "udp", site.arg(0).labels)
    return UNKNOWN


def send_raw(state: Walker, site: Site) -> Value:
    """Read data that is written to a connection."""
    if site.args and site.arg(0).function is None:
        io.send_data(state, site)
    return site.receiver


def send_mail(state: Walker, site: Site) -> Value:
    """Read a mail."""
    state.emit(Act.SEND, site.node, _shown(site.keywords.get("to")), "smtp", site.labels())
    return UNKNOWN


def open_request(state: Walker, site: Site) -> Value:
    """Read `XMLHttpRequest.open`, which names the address that `send` goes to."""
    url = site.arg(1)
    state.emit(Act.FETCH, site.node, url.text, "", url.labels)
    if url.labels - HARMLESS:
        state.emit(Act.SEND, site.node, url.text, "http", url.labels)
    if isinstance(site.node.func, ast.Attribute):
        remote = frozenset((remote_label(url.text),))
        made = Value(name="XMLHttpRequest()", labels=remote, made_of=url)
        update(state, site.node.func.value, made)
    return UNKNOWN


def visit(state: Walker, site: Site) -> Value:
    """Read `window.open` and the like: data in the address is given away."""
    if site.arg(0).labels - HARMLESS:
        state.emit(Act.SEND, site.node, site.arg(0).text, "http", site.arg(0).labels)
    return UNKNOWN


def load_script(state: Walker, site: Site) -> Value:
    """Read `importScripts`: code from an address is run."""
    for value in site.args:
        if value.text.startswith(("http:", "https:", "//")):
            state.emit(Act.FETCH, site.node, value.text)
            remote = frozenset((remote_label(value.text),))
            state.emit(Act.EXEC, site.node, "eval", value.text, remote)
    return UNKNOWN


def pipe(state: Walker, site: Site) -> Value:
    """Read `a.pipe(b)`: what comes out of one goes into the other."""
    target = site.args[-1] if site.args else UNKNOWN
    source = site.receiver if site.name != "stream.pipeline" else site.arg(0)
    if {source.name, target.name} == {"shell()", SOCKET}:
        host = find_host(source if source.name == SOCKET else target)
        state.emit(Act.REVERSE_SHELL, site.node, "net", host)
    elif target.name == "open()" and target.made_of is not None:
        io.store(state, site.node, target.made_of, labelled(source.labels))
    elif target.name == SOCKET:
        state.emit(Act.SEND, site.node, find_host(target), "tcp", source.labels)
    elif target.name in {"http.request()", "superagent.post()"}:
        state.emit(Act.SEND, site.node, find_host(target), "http", source.labels)
    return target.named(source.labels)
