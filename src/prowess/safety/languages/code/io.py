"""What code reads, writes and removes on disk, what that touches, and what it fetches and sends."""

import ast
import re
import stat
from functools import cache

from prowess.data import load_index, load_table, read_words
from prowess.safety.facts import Act
from prowess.safety.languages.code.state import Site, Walker
from prowess.safety.languages.code.values import (
    COMMON_TABLE,
    NO_LABELS,
    PYTHON_TABLE,
    UNKNOWN,
    Labels,
    Value,
    labelled,
    labels_of,
    lookup,
    mapping,
    python_words,
    remote_label,
    remote_url,
    sequence,
)
from prowess.safety.paths import is_agent_path, path_label, persist_kind

_DISK = re.compile(r"^/dev/(?:sd|nvme|disk|rdisk|hd|vd|mmcblk)\w*$")
_MAX_PATH = 1024
_SHELL_PLACES = frozenset({"rc-file", "cron", "git-hook"})
_WRITES = re.compile(r"[wax+]")
_SETUID = stat.S_ISUID | stat.S_ISGID
PATH = "pathlib.Path()"


def label_stored(state: Walker, node: ast.expr, text: str) -> Labels:
    """Return the labels of the file at a path, and note the reading of a secret."""
    if not text or len(text) > _MAX_PATH or "\n" in text:
        return NO_LABELS
    label = path_label(text) or ("memory" if is_agent_path(text) else None)
    written = state.files.get(text, NO_LABELS)
    if label is None:
        return written
    state.emit(Act.READ, node, label, text)
    return written | {label}


def label_file(state: Walker, node: ast.expr, path: Value) -> Labels:
    """Return the labels of what is read from a path."""
    found: Labels = NO_LABELS
    for text in path.texts():
        found |= label_stored(state, node, text) or frozenset([f"file:{text[:_MAX_PATH]}"])
    # A path of which nothing is known may be any file.
    return found or frozenset(["file:*"])


def store(state: Walker, node: ast.expr, path: Value, data: Value) -> None:
    """Note that data is written to a path."""
    for text in path.texts():
        state.emit(Act.WRITE, node, text, "", data.labels)
        if data.labels:
            state.files[text] = state.files.get(text, NO_LABELS) | data.labels
        if is_agent_path(text):
            state.emit(Act.TAMPER, node, text, data.text, data.labels)
        kind = persist_kind(text)
        if kind:
            state.emit(Act.PERSIST, node, kind, data.text or text, data.labels)
        if _DISK.match(text):
            state.emit(Act.WIPE, node, "disk", text)
        url = remote_url(data.labels)
        if url is not None:
            state.emit(Act.FETCH, node, url, text)
        _script(state, text, data)


def _script(state: Walker, path: str, data: Value) -> None:
    """Text that is written as a program is read as one."""
    dot = path[path.rfind(".") :] if "." in path else ""
    language = load_index(COMMON_TABLE, "endings").get(dot, "")
    if not language and (data.text.startswith("#!") or persist_kind(path) in _SHELL_PLACES):
        language = "python" if "python" in data.text[:40] else "shell"
    if language and data.text:
        state.embed(language, data, data.labels)


def open_file(state: Walker, site: Site) -> Value:
    """`open(path, mode)`: reading labels the handle, writing is a fact."""
    path, mode = site.arg(0, "file"), site.arg(1, "mode")
    if site.receiver.name == PATH or site.name.endswith("().open"):
        path, mode = site.receiver, site.arg(0, "mode")
    written = isinstance(mode.constant, str) and _WRITES.search(mode.constant) is not None
    labels = NO_LABELS if written else label_file(state, site.node, path)
    if written:
        store(state, site.node, path, UNKNOWN)
        is_history = any(path_label(text) == "history" for text in path.texts())
        if is_history and isinstance(mode.constant, str) and "w" in mode.constant:
            state.emit(Act.WIPE, site.node, "history", path.text)
    return Value(name="open()", labels=labels, made_of=path, node=path.node)


def write_handle(state: Walker, site: Site) -> Value:
    """`handle.write(data)`."""
    path = site.receiver.made_of
    data = site.arg(0)
    if path is not None and data.items is not None:
        data = labelled(data.labels)
    if path is not None and (data.labels or data.text):
        store(state, site.node, path, data)
    return UNKNOWN


def dump_data(state: Walker, site: Site) -> Value:
    """`json.dump(data, handle)`."""
    handle = site.arg(1, "fp")
    if handle.made_of is not None:
        store(state, site.node, handle.made_of, labelled(site.arg(0, "obj").labels))
    return UNKNOWN


def read_path(state: Walker, site: Site) -> Value:
    """`path.read_text()`."""
    return labelled(label_file(state, site.node, site.receiver))


def write_path(state: Walker, site: Site) -> Value:
    """`path.write_text(data)`."""
    store(state, site.node, site.receiver, site.arg(0, "data"))
    return UNKNOWN


def open_named(state: Walker, site: Site) -> Value:
    """A reader of formats that takes a path: `sqlite3.connect(path)`, `zipfile.ZipFile(path)`."""
    path, mode = site.arg(0), site.arg(1, "mode")
    if isinstance(mode.constant, str) and _WRITES.search(mode.constant):
        store(state, site.node, path, UNKNOWN)
        return Value(name=site.name + "()", made_of=path, node=path.node)
    labels = path.labels
    for text in path.texts():
        labels |= label_stored(state, site.node, text)
    return Value(name=site.name + "()", labels=labels, made_of=path, node=path.node)


def pack_file(state: Walker, site: Site) -> Value:
    """`archive.write(path)`: the archive now holds that file."""
    path = site.arg(0, "filename" if "filename" in site.keywords else "name")
    labels = label_file(state, site.node, path)
    if site.name.endswith("writestr"):
        labels = site.labels()
    archive = site.receiver.made_of
    for text in archive.texts() if archive else ():
        state.files[text] = state.files.get(text, NO_LABELS) | labels
    return UNKNOWN


def make_archive(state: Walker, site: Site) -> Value:
    """`shutil.make_archive(base, format, root)`."""
    base, kind, root = site.arg(0, "base_name"), site.arg(1, "format"), site.arg(2, "root_dir")
    labels = label_file(state, site.node, root) if root.texts() else NO_LABELS
    name = f"{base.text or '$archive'}.{kind.text or 'zip'}"
    state.files[name] = labels
    return Value(sketch=name, labels=labels, node=base.node)


def copy_file(state: Walker, site: Site) -> Value:
    """`shutil.copy(source, target)` and moves."""
    source, target = site.arg(0, "src"), site.arg(1, "dst")
    if source.name == "open()" and target.made_of is not None:
        store(state, site.node, target.made_of, labelled(source.labels))
        return UNKNOWN
    if source.name == "response()" and target.made_of is not None:
        store(state, site.node, target.made_of, source)
        return UNKNOWN
    store(state, site.node, target, labelled(label_file(state, site.node, source)))
    return Value(constant=target.constant, sketch=target.sketch, node=target.node)


def remove_file(state: Walker, site: Site) -> Value:
    """`os.remove(path)`, `shutil.rmtree(path)`."""
    path = site.receiver if site.receiver.name == PATH else site.arg(0, "path")
    sweeping = "walk" in state.parts and path.text.endswith("/*")
    named = site.name.rpartition(".")[2] in {"rmtree", "removedirs"}
    how = "recursive" if named or sweeping else ""
    for text in path.texts() or ("",):
        state.emit(Act.DELETE, site.node, text, how)
        if path_label(text) == "history":
            state.emit(Act.WIPE, site.node, "history", text)
    return UNKNOWN


def change_mode(state: Walker, site: Site) -> Value:
    """`os.chmod(path, mode)`."""
    own = site.receiver.name == PATH
    path = site.receiver if own else site.arg(0, "path")
    mode = site.arg(0 if own else 1, "mode")
    subject = (
        f"{mode.constant & 0o7777:o}"
        if isinstance(mode.constant, int)
        else mode.text.removeprefix("0o")
    )
    state.emit(Act.PERMISSION, site.node, subject, path.text)
    return UNKNOWN


def show_bits(mode: int) -> str:
    """Return bits that are added to an unknown mode, as a person writes them."""
    if mode & _SETUID:
        return "u+s"
    if mode & stat.S_IWOTH:
        return "o+w"
    return "+x" if mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH) else ""


def make_path(_state: Walker, site: Site) -> Value:
    """`Path(part, …)` and `os.path.join(part, …)`."""
    return join_path(site.args, site)


def join_path(parts: tuple[Value, ...], site: Site | None = None) -> Value:
    """Return parts joined as a path; an absolute part begins anew."""
    node = next((part.node for part in parts if part.node is not None), None)
    text = ""
    for index, part in enumerate(parts):
        shown = part.text or ("" if index == 0 and len(parts) == 1 else "$part")
        restarts = shown.startswith(("/", "~", "%"))
        text = shown if restarts or not text else f"{text.rstrip('/')}/{shown}"
    whole = bool(parts) and all(isinstance(part.constant, str) for part in parts)
    name = PATH if site is None or site.name.startswith("pathlib") else ""
    return Value(
        constant=text if whole else None,
        sketch=text,
        labels=labels_of(parts) - {"input"},
        name=name,
        node=node,
        plain=False,
    )


def join_to_path(_state: Walker, site: Site) -> Value:
    """`path.joinpath(part, …)`."""
    return join_path((site.receiver, *site.args))


def keep_path(_state: Walker, site: Site) -> Value:
    """`os.path.expanduser(path)`, `path.resolve()`: another spelling of the same path."""
    return site.receiver if site.receiver.name == PATH else site.arg(0)


def find_home(_state: Walker, site: Site) -> Value:
    """`Path.home()`."""
    return Value(constant="~", name=PATH, node=site.node)


def list_folder(_state: Walker, site: Site) -> Value:
    """`glob.glob(pattern)`, `os.listdir(folder)`: the paths that are found."""
    own = site.receiver.name == PATH
    base = site.receiver if own else site.arg(0)
    pattern = site.arg(0).text if own else ""
    whole = site.name.startswith("glob.")
    text = base.text if whole else f"{base.text or '.'}/{pattern or '*'}"
    if site.name == "os.listdir":
        return sequence([Value(sketch="*", node=base.node)])
    return sequence([Value(sketch=text, name=PATH if own else "", node=base.node)])


def walk_folder(state: Walker, site: Site) -> Value:
    """`os.walk(top)`: folders with what is in them."""
    top = site.arg(0, "top")
    state.parts["walk"] = site.node
    root = Value(constant=top.constant, sketch=top.text, node=top.node)
    names = sequence([Value(sketch="*")])
    return sequence([sequence([root, names, names])])


def read_environment(state: Walker, site: Site) -> Value:
    """`os.environ.items()` and its like: the whole environment."""
    # A copy is most often made for a child process; whether it goes elsewhere shows by its label.
    if not site.name.endswith(".copy"):
        state.emit(Act.READ, site.node, "env", "os.environ")
    return labelled(frozenset(["env"]))


def update_environment(state: Walker, site: Site) -> Value:
    """`os.environ.update(…)`."""
    given = site.arg(0)
    pairs = given if given.keys is not None else mapping(site.keywords)
    for key, value in zip(pairs.keys or (), pairs.items or (), strict=True):
        state.emit(Act.SETENV, site.node, key.text, value.text, value.labels)
    return UNKNOWN


_FETCHING = read_words("get head options stream")
_SENDING = read_words("post put patch delete")
_EITHER = read_words("request stream send urlopen ws_connect")
_BODY = read_words("data json files params headers content body fields cookies auth")
_URLS = ("http://", "https://")


def make_response(url: str) -> Value:
    """Return what a server answers."""
    return labelled(frozenset([remote_label(url)]), "response()")


def call_http(state: Walker, site: Site) -> Value | None:
    """A call of an HTTP client; None where it is not one."""
    client, _, method = site.name.rpartition(".")
    if client in python_words("http_clients"):
        if method in _EITHER:
            return _request(state, site)
        if method in _FETCHING or method in _SENDING:
            return exchange(state, site, method, site.arg(0, "url"))
        return None
    # A client whose making is out of sight shows itself by the full address that it is given.
    if method in {"post", "put", "patch"} and not client:
        url = site.arg(0, "url")
        if url.text.startswith(_URLS):
            return exchange(state, site, method, url)
    return None


def _request(state: Walker, site: Site) -> Value:
    first = site.arg(0, "method")
    if first.name in {"requests.Request()", "httpx.Request()"}:
        return exchange(state, site, "post", Value(constant=first.constant, labels=first.labels))
    method = first.text.lower()
    given = method in {"get", "head", "options", "post", "put", "patch", "delete"}
    url = site.arg(1, "url") if given or "url" in site.keywords else first
    return exchange(state, site, method if given else "get", url)


def exchange(state: Walker, site: Site, method: str, url: Value) -> Value:
    """Note a request to a server, and return what it answers."""
    known = [value for name, value in site.keywords.items() if name in _BODY]
    rest = [value for value in site.args if value is not url]
    flow = labels_of([*known, *rest]) | _in_address(url)
    sends = method in _SENDING or bool(site.keywords.keys() & {"data", "json", "files", "content"})
    _tell_request(state, site, url, flow, sends=sends)
    _tell_unverified(state, site)
    return make_response(next(iter(url.texts()), ""))


def _tell_request(state: Walker, site: Site, url: Value, flow: Labels, *, sends: bool) -> None:
    for text in url.texts() or ("",):
        if not sends:
            state.emit(Act.FETCH, site.node, text)
        if sends or flow:
            state.emit(Act.SEND, site.node, text, "http", flow)


def _in_address(url: Value) -> Labels:
    """What is written into an address leaves with it; an address that was itself given does not."""
    return url.labels if url.text.startswith(_URLS) and url.constant is None else frozenset()


def _tell_unverified(state: Walker, site: Site) -> None:
    for keyword in ("verify", "ssl", "verify_ssl"):
        value = site.keywords.get(keyword)
        if value is not None and value.constant is False:
            state.emit(Act.DISABLE, site.node, "tls")


def open_url(state: Walker, site: Site) -> Value:
    """`urllib.request.urlopen(url or request, data)`."""
    first, data = site.arg(0, "url"), site.arg(1, "data")
    body = first.made_of
    sends = body is not None or "data" in site.keywords or len(site.args) > 1
    flow = labels_of([data]) | (body.labels if body else frozenset()) | _in_address(first)
    if first.name == "urllib.request.Request()":
        flow |= first.labels
    _tell_request(state, site, first, flow, sends=sends)
    return make_response(next(iter(first.texts()), ""))


def make_request(_state: Walker, site: Site) -> Value:
    """`urllib.request.Request(url, data, headers)`: sent later."""
    old = site.name.startswith("urllib")
    url = site.arg(0 if old else 1, "url")
    data = site.arg(1, "data") if old else labelled(site.labels())
    given = "data" in site.keywords or (old and len(site.args) > 1) or not old
    headers = site.arg(2, "headers").labels
    return Value(
        constant=url.constant,
        sketch=url.sketch,
        name=site.name + "()",
        labels=_in_address(url) | headers | data.labels,
        made_of=data if given else None,
        node=url.node,
    )


def retrieve_url(state: Walker, site: Site) -> Value:
    """`urlretrieve(url, path)`: fetched to a file."""
    url, path = (
        site.arg(0, "url"),
        site.arg(1, "filename" if "filename" in site.keywords else "out"),
    )
    labels = frozenset([remote_label(url.text)])
    state.emit(Act.FETCH, site.node, url.text, path.text)
    store(state, site.node, path, labelled(labels))
    return Value(constant=path.constant, sketch=path.sketch, labels=labels, node=path.node)


def make_connection(_state: Walker, site: Site) -> Value:
    """`http.client.HTTPSConnection(host)`, `smtplib.SMTP(host)`: the host is kept."""
    host = site.arg(0, "host")
    return Value(name=site.name + "()", made_of=host)


def send_request(state: Walker, site: Site) -> Value:
    """`connection.request(method, path, body, headers)`."""
    host = site.receiver.made_of.text if site.receiver.made_of else ""
    path = site.arg(1, "url")
    flow = site.labels()
    body = "body" in site.keywords or bool(site.args[2:])
    act = Act.SEND if body or flow else Act.FETCH
    state.emit(act, site.node, host + path.text, "http" if act is Act.SEND else "", flow)
    return make_response(host + path.text)


def connect_socket(state: Walker, site: Site) -> Value:
    """`socket.connect((host, port))` and `socket.create_connection(…)`."""
    address = site.arg(0, "address")
    host = lookup(address, 0)
    state.peer = host.text if host else state.peer
    state.parts["socket"] = state.parts["connected"] = site.node
    if site.name.endswith(".create_connection"):
        return Value(name="socket.socket()", made_of=host)
    return UNKNOWN


def receive_data(state: Walker, site: Site) -> Value:
    """`socket.recv(n)`."""
    state.parts["socket"] = site.node
    return labelled(frozenset([remote_label("tcp:" + state.peer)]), "received()")


def send_data(state: Walker, site: Site) -> Value:
    """`socket.send(data)`."""
    host = site.receiver.made_of.text if site.receiver.made_of else state.peer
    if site.name.endswith(".sendto"):
        where = lookup(site.arg(len(site.args) - 1), 0)
        host = where.text if where else host
    state.parts["sends"] = site.node
    state.emit(Act.SEND, site.node, host, "tcp", site.labels())
    return UNKNOWN


def resolve_host(state: Walker, site: Site) -> Value:
    """`socket.gethostbyname(name)`: whatever is in the name goes to its server."""
    name = site.arg(0, "host")
    if name.labels and name.constant is None:
        state.emit(Act.SEND, site.node, name.text, "dns", name.labels)
    return labelled(frozenset([remote_label("")]))


@cache
def _carriers() -> tuple[tuple[str, tuple[str, ...], frozenset[str]], ...]:
    return tuple(
        (row["how"], tuple(row["clients"].split()), read_words(row["methods"]))
        for row in load_table(PYTHON_TABLE, "carriers")
    )


def carry_data(state: Walker, site: Site) -> Value | None:
    """A method of a mail, file, cloud or chat client; None where it is not one."""
    client, _, method = site.name.rpartition(".")
    for how, prefixes, methods in _carriers():
        if method in methods and client.startswith(prefixes):
            flow = site.labels() | site.receiver.labels | _label_files(state, site)
            state.emit(Act.SEND, site.node, _host(site.receiver), how, flow)
            return labelled(frozenset([remote_label("")]))
    return None


def _host(client: Value) -> str:
    """Return the host that a client was made with; what has no dot is a key or a kind."""
    text = client.made_of.text if client.made_of else ""
    return text if "." in text or "://" in text else ""


def _label_files(state: Walker, site: Site) -> Labels:
    """A path given to an upload means the file behind it."""
    paths = [text for value in site.given() for text in value.texts()]
    return frozenset().union(*(label_stored(state, site.node, text) for text in paths))


def send_log(state: Walker, site: Site) -> Value:
    """`logging.handlers.HTTPHandler(host, …)`: whatever is logged from here on goes there."""
    place = next((value for value in site.given() if _log_host(value)), None)
    if place is not None:
        state.log_host = _log_host(place)
        state.emit(Act.SEND, site.node, state.log_host, "log", frozenset())
    return UNKNOWN


def write_log(state: Walker, site: Site) -> Value:
    """`log.error(text)`, behind a handler that sends it away."""
    if state.log_host:
        state.emit(Act.SEND, site.node, state.log_host, "log", site.labels())
    return UNKNOWN


def _log_host(value: Value) -> str:
    host = value.text or (first.text if (first := lookup(value, 0)) else "")
    return host if "." in host and not host.startswith("/") else ""


def browse_url(state: Walker, site: Site) -> Value:
    """`webbrowser.open(address)`: what is written into the address leaves with it."""
    url = site.arg(0, "url")
    flow = _in_address(url)
    if flow:
        state.emit(Act.SEND, site.node, url.text, "http", flow)
    return UNKNOWN
