"""What Python code fetches and sends: HTTP clients, sockets, mail, names, clouds, chats."""

from prowess.safety.facts import Act
from prowess.safety.languages.python.io import store, stored_labels
from prowess.safety.languages.python.python_state import Site, State
from prowess.safety.languages.python.values import (
    UNKNOWN,
    Labels,
    Value,
    labelled,
    labels_of,
    lookup,
    remote_label,
    words,
)

_CLIENTS = words(
    """
    requests requests.Session() httpx httpx.Client() httpx.AsyncClient() aiohttp
    aiohttp.ClientSession() aiohttp.client.ClientSession() urllib3 urllib3.PoolManager()
    niquests niquests.Session() curl_cffi.requests curl_cffi.requests.Session() treq
    cloudscraper.create_scraper() grequests urllib3.HTTPSConnectionPool() httplib2.Http()
    requests_toolbelt.sessions.BaseUrlSession() urllib3.connection_from_url() asks primp.Client()
    """
)
_FETCHING = words("get head options stream")
_SENDING = words("post put patch delete")
_EITHER = words("request stream send urlopen ws_connect")
_BODY = words("data json files params headers content body fields cookies auth")
_URLS = ("http://", "https://")


def response(url: str) -> Value:
    """Return what a server answers."""
    return labelled(frozenset([remote_label(url)]), "response()")


def http_call(state: State, site: Site) -> Value | None:
    """A call of an HTTP client; None where it is not one."""
    client, _, method = site.name.rpartition(".")
    if client in _CLIENTS:
        if method in _EITHER:
            return _requested(state, site)
        if method in _FETCHING or method in _SENDING:
            return _exchange(state, site, method, site.arg(0, "url"))
        return None
    # A client whose making is out of sight shows itself by the full address that it is given.
    if method in {"post", "put", "patch"} and not client:
        url = site.arg(0, "url")
        if url.text.startswith(_URLS):
            return _exchange(state, site, method, url)
    return None


def _requested(state: State, site: Site) -> Value:
    first = site.arg(0, "method")
    if first.name in {"requests.Request()", "httpx.Request()"}:
        return _exchange(state, site, "post", Value(constant=first.constant, labels=first.labels))
    method = first.text.lower()
    given = method in {"get", "head", "options", "post", "put", "patch", "delete"}
    url = site.arg(1, "url") if given or "url" in site.keywords else first
    return _exchange(state, site, method if given else "get", url)


def _exchange(state: State, site: Site, method: str, url: Value) -> Value:
    known = [value for name, value in site.keywords.items() if name in _BODY]
    rest = [value for value in site.args if value is not url]
    flow = labels_of([*known, *rest]) | _in_address(url)
    sends = method in _SENDING or bool(site.keywords.keys() & {"data", "json", "files", "content"})
    for text in url.texts() or ("",):
        if not sends:
            state.emit(Act.FETCH, site.node, text)
        if sends or flow:
            state.emit(Act.SEND, site.node, text, "http", flow)
    _unverified(state, site)
    return response(next(iter(url.texts()), ""))


def _in_address(url: Value) -> Labels:
    """What is written into an address leaves with it; an address that was itself given does not."""
    return url.labels if url.text.startswith(_URLS) and url.constant is None else frozenset()


def _unverified(state: State, site: Site) -> None:
    for keyword in ("verify", "ssl", "verify_ssl"):
        value = site.keywords.get(keyword)
        if value is not None and value.constant is False:
            state.emit(Act.DISABLE, site.node, "tls")


def opened_url(state: State, site: Site) -> Value:
    """`urllib.request.urlopen(url or request, data)`."""
    first, data = site.arg(0, "url"), site.arg(1, "data")
    body = first.made_of
    sends = body is not None or "data" in site.keywords or len(site.args) > 1
    flow = labels_of([data]) | (body.labels if body else frozenset()) | _in_address(first)
    if first.name == "urllib.request.Request()":
        flow |= first.labels
    for text in first.texts() or ("",):
        if not sends:
            state.emit(Act.FETCH, site.node, text)
        if sends or flow:
            state.emit(Act.SEND, site.node, text, "http", flow)
    return response(next(iter(first.texts()), ""))


def request_object(_state: State, site: Site) -> Value:
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


def retrieved(state: State, site: Site) -> Value:
    """`urlretrieve(url, path)`: fetched to a file."""
    url, path = (
        site.arg(0, "url"),
        site.arg(1, "filename" if "filename" in site.keywords else "out"),
    )
    labels = frozenset([remote_label(url.text)])
    state.emit(Act.FETCH, site.node, url.text, path.text)
    store(state, site.node, path, labelled(labels))
    return Value(constant=path.constant, sketch=path.sketch, labels=labels, node=path.node)


def connection(_state: State, site: Site) -> Value:
    """`http.client.HTTPSConnection(host)`, `smtplib.SMTP(host)`: the host is kept."""
    host = site.arg(0, "host")
    return Value(name=site.name + "()", made_of=host)


def connection_request(state: State, site: Site) -> Value:
    """`connection.request(method, path, body, headers)`."""
    host = site.receiver.made_of.text if site.receiver.made_of else ""
    path = site.arg(1, "url")
    flow = site.labels()
    body = "body" in site.keywords or bool(site.args[2:])
    act = Act.SEND if body or flow else Act.FETCH
    state.emit(act, site.node, host + path.text, "http" if act is Act.SEND else "", flow)
    return response(host + path.text)


def connected(state: State, site: Site) -> Value:
    """`socket.connect((host, port))` and `socket.create_connection(…)`."""
    address = site.arg(0, "address")
    host = lookup(address, 0)
    state.peer = host.text if host else state.peer
    state.parts["socket"] = state.parts["connected"] = site.node
    if site.name.endswith(".create_connection"):
        return Value(name="socket.socket()", made_of=host)
    return UNKNOWN


def received(state: State, site: Site) -> Value:
    """`socket.recv(n)`."""
    state.parts["socket"] = site.node
    return labelled(frozenset([remote_label("tcp:" + state.peer)]), "received()")


def sent(state: State, site: Site) -> Value:
    """`socket.send(data)`."""
    host = site.receiver.made_of.text if site.receiver.made_of else state.peer
    if site.name.endswith(".sendto"):
        where = lookup(site.arg(len(site.args) - 1), 0)
        host = where.text if where else host
    state.parts["sends"] = site.node
    state.emit(Act.SEND, site.node, host, "tcp", site.labels())
    return UNKNOWN


def resolved(state: State, site: Site) -> Value:
    """`socket.gethostbyname(name)`: whatever is in the name goes to its server."""
    name = site.arg(0, "host")
    if name.labels and name.constant is None:
        state.emit(Act.SEND, site.node, name.text, "dns", name.labels)
    return labelled(frozenset([remote_label("")]))


# Methods of clients that hand data over, by how; the receiver must be a client of that kind.
_CARRIERS: tuple[tuple[str, tuple[str, ...], frozenset[str]], ...] = (
    ("smtp", ("smtplib.", "aiosmtplib", "yagmail"), words("sendmail send_message send")),
    ("ftp", ("ftplib.", "paramiko.", "pysftp.", "scp.", "fabric."),
     words("storbinary storlines put putfo upload")),
    ("cloud", ("boto3.", "google.cloud", "azure.", "dropbox.", "s3fs.", "minio.", "oss2."),
     words("upload_file upload_fileobj put_object upload_from_string upload_from_filename "
           "upload_blob files_upload put fput_object upload_from_file")),
    ("chat", ("telegram.", "telebot.", "telethon.", "slack_sdk.", "discord.", "discord_webhook.",
              "slack.", "dhooks.", "pyrogram.", "knockknock.", "apprise."),
     words("send_message send_document send_photo sendMessage sendDocument chat_postMessage "
           "files_upload files_upload_v2 send execute add_file send_file notify")),
    ("http", ("websocket.", "websockets.", "socketio.", "paho.", "aiohttp."),
     words("send send_text send_str send_bytes emit publish send_json")),
    ("tcp", ("socket.", "asyncio.open_connection", "ssl.", "telnetlib.", "zmq."),
     words("send_string write")),
)  # fmt: skip


def carried(state: State, site: Site) -> Value | None:
    """A method of a mail, file, cloud or chat client; None where it is not one."""
    client, _, method = site.name.rpartition(".")
    for how, prefixes, methods in _CARRIERS:
        if method in methods and client.startswith(prefixes):
            flow = site.labels() | site.receiver.labels | _local_files(state, site)
            state.emit(Act.SEND, site.node, _host(site.receiver), how, flow)
            return labelled(frozenset([remote_label("")]))
    return None


def _host(client: Value) -> str:
    """Return the host that a client was made with; what has no dot is a key or a kind."""
    text = client.made_of.text if client.made_of else ""
    return text if "." in text or "://" in text else ""


def _local_files(state: State, site: Site) -> Labels:
    """A path given to an upload means the file behind it."""
    paths = [text for value in site.given() for text in value.texts()]
    return frozenset().union(*(stored_labels(state, site.node, text) for text in paths))


def browsed(state: State, site: Site) -> Value:
    """`webbrowser.open(address)`: what is written into the address leaves with it."""
    url = site.arg(0, "url")
    flow = _in_address(url)
    if flow:
        state.emit(Act.SEND, site.node, url.text, "http", flow)
    return UNKNOWN


def cloned(state: State, site: Site) -> Value:
    """`git.Repo.clone_from(url, path)`."""
    url, path = site.arg(0, "url"), site.arg(1, "to_path")
    state.emit(Act.FETCH, site.node, url.text, path.text)
    state.files[path.text] = frozenset([remote_label(url.text)])
    return UNKNOWN
