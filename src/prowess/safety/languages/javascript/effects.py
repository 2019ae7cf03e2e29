"""What well-known JavaScript functions do to the machine: processes, files, code, decoding.

What well-known JavaScript functions fetch and send, and over what.
"""

import re
import shlex
from itertools import pairwise

from prowess.safety import sensitive
from prowess.safety.facts import Act
from prowess.safety.languages.javascript import constants as fold
from prowess.safety.languages.javascript.expressions import Call, Handler
from prowess.safety.languages.javascript.state import Machine, set_variable
from prowess.safety.languages.javascript.values import (
    NO_LABELS,
    UNKNOWN,
    Value,
    concat,
    folded,
    labelled,
    literal,
)

_SHELLS = frozenset(
    ("sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "cmd", "cmd.exe", "busybox")
)
_POWERSHELLS = frozenset(("powershell", "powershell.exe", "pwsh", "pwsh.exe"))
_SCRIPTED = {
    "node": "javascript", "bun": "javascript", "deno": "javascript", "nodejs": "javascript",
    "python": "python", "python3": "python", "python2": "python",
}  # fmt: skip
_INLINE_FLAG = re.compile(r"-[a-z]*[cepC]|--eval|--print|-Command|-EncodedCommand|/[cCkK]|eval")
_OUTPUTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), label)
    for pattern, label in (
        (r"(?:^|[;&|(]\s*)(?:printenv|env)\s*(?:$|[|;&>])", "env"),
        (r"(?:^|[\s;&|(])(?:curl|wget)\s", "remote"),
        (r"(?:^|[\s;&|(])(?:hostname|whoami|uname|ifconfig|ip addr|systeminfo|ipconfig)\b", "host"),
        (r"(?:^|[\s;&|(])(?:pbpaste|xclip|xsel|wl-paste|Get-Clipboard)\b", "clipboard"),
        (r"\bsecurity\s+(?:find-|dump-)|\bsecret-tool\s+lookup", "keychain"),
    )
)
_WORD = re.compile(r"[^\s'\"`;|&<>()]{2,200}")
_CODE_FILES = {
    ".sh": "shell", ".bash": "shell", ".command": "shell", ".py": "python", ".js": "javascript",
    ".mjs": "javascript", ".cjs": "javascript", ".ps1": "powershell",
}  # fmt: skip
_MAX_COMMAND = 4_000
_FEW_CODES = 3
_SHELL_PLACES = frozenset(("rc-file", "cron", "git-hook"))


def _base(program: str) -> str:
    return program.replace("\\", "/").rpartition("/")[2].lower()


def _output(command: str, flow: frozenset[str]) -> Value:
    """Return what a command prints, as far as its words say."""
    labels = set(flow - {"remote", "decoded"})
    if len(command) <= _MAX_COMMAND:
        labels.update(label for pattern, label in _OUTPUTS if pattern.search(command))
        for word in _WORD.findall(command):
            label = sensitive.path_label(word)
            if label is not None:
                labels.add(label)
    return Value(labels=frozenset(labels))


def _options(machine: Machine, call: Call) -> None:
    for arg in call.args[1:]:
        env = (arg.fields or {}).get("env")
        for name, value in (env.fields or {}).items() if env is not None else ():
            set_variable(machine, call.node, name, value)


def _callbacks(machine: Machine, call: Call, given: Value) -> None:
    for arg in call.args:
        machine.give_all(arg, given)


def run_shell(machine: Machine, call: Call) -> Value:
    """Read a command that a shell runs."""
    command = call.arg(0)
    flow = command.everything()
    machine.emit(Act.EXEC, call.node, "shell", command.shown, flow=flow)
    machine.snippet("shell", command, flow)
    _options(machine, call)
    output = _output(command.shown, flow)
    _callbacks(machine, call, output)
    return Value(labels=output.labels, name="process()")


def run_tagged(machine: Machine, call: Call) -> Value | None:
    """Read a command written as a tagged template, as zx, Bun and execa have it."""
    arguments = call.node.field("arguments")
    return run_shell(machine, call) if arguments and arguments.kind == "template_string" else None


def run_process(machine: Machine, call: Call) -> Value:
    """Read a program that is started with a list of arguments."""
    program = call.arg(0)
    items = list(call.arg(1).items or ())
    listed = program.items
    if listed:
        program, items = listed[0], listed[1:]
    inner = (call.arg(1).fields or {}).get("args")
    if inner is not None and inner.items:
        items = list(inner.items)
    shell = any(_is_true(arg, "shell") for arg in call.args[1:])
    _options(machine, call)
    argv = [program, *items]
    flow = NO_LABELS.union(*(value.everything() for value in argv))
    code = _inline_code(machine, argv, flow)
    subject = "shell" if shell or code == "shell" else "process"
    command = _command_line(argv, quote=not shell)
    machine.emit(Act.EXEC, call.node, subject, command.shown, flow=flow)
    if not code:
        machine.snippet("shell", command, flow)
    output = _output(command.shown, flow)
    _callbacks(machine, call, output)
    bare = _base(program.shown) in _SHELLS | _POWERSHELLS and not code
    if bare:
        _wired(machine, call)
    return Value(labels=output.labels, name="shell()" if bare else "process()")


def _is_true(options: Value, key: str) -> bool:
    value = (options.fields or {}).get(key)
    return value is not None and (value.name == "true" or bool(value.text))


def _inline_code(machine: Machine, argv: list[Value], flow: frozenset[str]) -> str:
    """Note code that is given to an interpreter as an argument; return its language."""
    base = _base(argv[0].shown)
    language = "shell" if base in _SHELLS else _SCRIPTED.get(base, "")
    language = "powershell" if base in _POWERSHELLS else language
    if not language:
        return ""
    for flag, code in pairwise(argv[1:]):
        if flag.constant is not None and _INLINE_FLAG.fullmatch(flag.constant):
            machine.snippet(language, code, flow | code.labels)
            return language
    return ""


def _command_line(argv: list[Value], *, quote: bool) -> Value:
    if argv[0].text is None:
        return UNKNOWN
    parts: list[tuple[Value, str]] = []
    for value in argv[:200]:
        if parts:
            parts.append((literal(" ", argv[0].pieces[0].start, exact=False), ""))
        quoted = quote and value.constant is not None and shlex.quote(value.constant) != value.text
        parts.append((folded(shlex.quote(value.shown), value) if quoted else value, "value"))
    return concat(parts, argv[0].pieces[0].start)


def _wired(machine: Machine, call: Call) -> None:
    for arg in call.args:
        stdio = (arg.fields or {}).get("stdio")
        for item in (stdio.items or ()) if stdio is not None else ():
            if item.name == "net.connect()":
                machine.emit(Act.REVERSE_SHELL, call.node, "net", item.shown)


def run_code(machine: Machine, call: Call) -> Value:
    """Read code that is run from a text."""
    code = call.args[-1] if call.name == "Function" and call.args else call.arg(0)
    if call.name in _TIMERS and code.text is None and not code.labels & {"decoded", "remote"}:
        _callbacks(machine, call, UNKNOWN)
        return UNKNOWN
    if code.function is not None or (call.name in _TIMERS and code.name):
        return UNKNOWN
    subject = "vm" if call.name.startswith("vm.") else "eval"
    flow = code.everything()
    machine.emit(Act.EXEC, call.node, subject, code.shown[:500], flow=flow)
    machine.snippet("javascript", code, flow)
    return Value(labels=flow)


_TIMERS = frozenset(("setTimeout", "setInterval", "setImmediate"))


def run_worker(machine: Machine, call: Call) -> Value | None:
    """Read a worker: with `eval` its argument is code."""
    if _is_true(call.arg(1), "eval"):
        return run_code(machine, call)
    machine.emit(Act.EXEC, call.node, "process", call.arg(0).shown, flow=call.arg(0).everything())
    return UNKNOWN


def read_file(machine: Machine, call: Call) -> Value:
    """Read a file: its data carries the label of its path."""
    path = call.arg(0)
    if path.number == 0 or path.constant == "/dev/stdin":
        result = Value(labels=frozenset(("input",)) | machine.outside)
    else:
        label = sensitive.path_label(path.shown) or f"file:{sensitive.normal_path(path.shown)}"
        machine.emit(Act.READ, call.node, label, path.shown, flow=path.labels)
        result = labelled((label,))
    _callbacks(machine, call, result)
    return result


def list_folder(machine: Machine, call: Call) -> Value:
    """Read a folder: the names in it are not known."""
    for arg in call.args:
        machine.give_all(arg, UNKNOWN)
    return UNKNOWN


def note_write(machine: Machine, call: Call, path: Value, data: Value) -> None:
    """Note that `data` is written to `path`, and what that place means."""
    flow = data.everything()
    shown = path.shown
    machine.emit(Act.WRITE, call.node, shown, flow=flow)
    kind = sensitive.persist_kind(shown) if shown else None
    if kind is not None:
        machine.emit(Act.PERSIST, call.node, kind, data.shown[:500] or shown, flow=flow)
    if shown and sensitive.is_agent_path(shown):
        machine.emit(Act.TAMPER, call.node, shown, flow=flow)
    ending = shown[shown.rfind(".") :] if "." in shown else ""
    language = "shell" if kind in _SHELL_PLACES else _CODE_FILES.get(ending)
    if data.text is not None and (language or data.text.startswith("#!")):
        machine.snippet(language or "", data, flow)


def write_file(machine: Machine, call: Call) -> Value:
    """Read a call that writes a file."""
    note_write(machine, call, call.arg(0), call.arg(1))
    return UNKNOWN


def copy_file(machine: Machine, call: Call) -> Value:
    """Read a copy, a move or a link: what the source holds goes to the target."""
    label = sensitive.path_label(call.arg(0).shown)
    if label is not None:
        machine.emit(Act.READ, call.node, label, call.arg(0).shown)
    data = labelled((label,) if label else (f"file:{call.arg(0).shown}",))
    note_write(machine, call, call.arg(1), data)
    return UNKNOWN


def open_stream(machine: Machine, call: Call) -> Value:
    """Read a stream to a file, which is written when something is piped into it."""
    note_write(machine, call, call.arg(0), UNKNOWN)
    path = call.arg(0)
    return Value(name="stream()", text=path.text, pieces=path.pieces, whole=path.whole)


def delete(machine: Machine, call: Call) -> Value:
    """Read a deletion."""
    path = call.arg(0)
    deep = call.name == "rimraf" or any(_is_true(arg, "recursive") for arg in call.args[1:])
    targets = path.items if path.items is not None else [path]
    for target in targets[:20]:
        machine.emit(Act.DELETE, call.node, target.shown, "recursive" if deep else "")
    return UNKNOWN


def permit(machine: Machine, call: Call) -> Value:
    """Read a change of permissions."""
    mode = call.arg(1)
    shown = format(mode.number, "o") if mode.number is not None else mode.shown.removeprefix("0o")
    machine.emit(Act.PERMISSION, call.node, shown, call.arg(0).shown)
    return UNKNOWN


def decode(machine: Machine, call: Call) -> Value:
    """Read `atob`."""
    machine.emit(Act.DECODE, call.node, "base64", flow=call.labels())
    return _decoded(machine, fold.from_base64(call.arg(0)))


def _decoded(machine: Machine, value: Value) -> Value:
    machine.text(value)
    return value


def make_buffer(machine: Machine, call: Call) -> Value:
    """Read `Buffer.from`: with an encoding it decodes."""
    encoding = call.arg(1).constant or ""
    if encoding.lower() in {"base64", "base64url", "hex"}:
        machine.emit(Act.DECODE, call.node, encoding.lower(), flow=call.arg(0).everything())
    return _decoded(machine, fold.buffer(call.arg(0), encoding))


def to_text(_machine: Machine, call: Call) -> Value | None:
    """Read `.toString(encoding)`."""
    if call.receiver.items is not None or call.receiver.name:
        return None
    if call.receiver.number is not None:
        return UNKNOWN
    return fold.encoded(call.receiver, call.arg(0).constant or "")


def from_codes(machine: Machine, call: Call) -> Value:
    """Read `String.fromCharCode`."""
    codes = call.args
    value = fold.characters(codes, literal("", call.node.start))
    if len(codes) > _FEW_CODES:
        machine.emit(Act.DECODE, call.node, "charcode", flow=call.labels())
        machine.text(value)
    return value


def inflate(machine: Machine, call: Call) -> Value:
    """Read a decompression."""
    machine.emit(Act.DECODE, call.node, "gzip", flow=call.labels())
    value = _decoded(machine, fold.inflated(call.arg(0)))
    _callbacks(machine, call, value)
    return value


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
