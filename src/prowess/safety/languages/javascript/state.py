"""Members of values in JavaScript: what `a.b` and `a['b']` reach, and what setting one does.

Names of the JavaScript world: one for each thing, whichever way it is reached.

What is noted while JavaScript is read: facts, code inside code, prose.

The state of reading one JavaScript text: scopes, functions, and the facts found so far.

Modules in JavaScript: what their names bring into a file.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from prowess.reading.views import Spot, View
from prowess.safety.facts import Act, Fact, Snippet
from prowess.safety.languages.javascript import constants as fold
from prowess.safety.languages.javascript.values import (
    NO_LABELS,
    UNKNOWN,
    Function,
    Node,
    Scope,
    Value,
    join,
    labelled,
    literal,
    relabel,
    same,
)

# Another spelling of a name, longest part first; what follows it stays.
_ALIASES: dict[str, str] = {
    "fs/promises": "fs", "fs.promises": "fs", "fs-extra": "fs", "graceful-fs": "fs",
    "original-fs": "fs", "https": "http", "http2": "http", "follow-redirects.http": "http",
    "follow-redirects.https": "http", "path/posix": "path", "path.posix": "path",
    "path.win32": "path", "timers/promises": "timers", "dns/promises": "dns",
    "dns.promises": "dns", "dns.Resolver()": "dns", "readline/promises": "readline",
    "node-fetch": "fetch", "cross-fetch": "fetch", "isomorphic-fetch": "fetch",
    "make-fetch-happen": "fetch", "undici.fetch": "fetch", "bun.fetch": "fetch", "ws": "WebSocket",
    "ws.WebSocket": "WebSocket", "ws.default": "WebSocket", "WebSocket.WebSocket": "WebSocket",
    "faye-websocket.Client": "WebSocket", "reconnecting-websocket": "WebSocket",
    "isomorphic-ws": "WebSocket", "cross-spawn": "child_process.spawn",
    "child_process.spawn.sync": "child_process.spawnSync",
    "child-process-promise": "child_process", "child_process_promise": "child_process",
    "promisify-child-process": "child_process", "mz/child_process": "child_process", "mz/fs": "fs",
    "execa.execa": "execa", "execa.execaSync": "execa", "execa.sync": "execa", "execa.$": "$",
    "execa.command": "shelljs.exec", "execa.commandSync": "shelljs.exec",
    "execa.execaCommand": "shelljs.exec", "execa.execaCommandSync": "shelljs.exec", "zx.$": "$",
    "zx/globals.$": "$", "Bun.$": "$", "bun.$": "$", "dax-sh": "$", "bun.spawn": "Bun.spawn",
    "bun.spawnSync": "Bun.spawn", "Bun.spawnSync": "Bun.spawn", "shelljs/global": "shelljs",
    "axios.default": "axios", "axios.create()": "axios", "got.default": "got",
    "got.extend()": "got", "request-promise": "request", "request-promise-native": "request",
    "request.defaults()": "request", "sync-request": "request", "ky.default": "ky",
    "ky.create()": "ky", "wretch": "ky", "needle.default": "needle",
    "node-serialize.default": "node-serialize", "socket.io-client": "io",
    "socket.io-client.io": "io", "io.connect": "io", "net.createConnection": "net.connect",
    "tls.connect": "net.connect", "net.Socket": "net.connect", "tls.TLSSocket": "net.connect",
    "net.connect().connect": "net.connect", "http.request().socket": "net.connect()",
    "clipboardy.default": "clipboardy", "rimraf.rimraf": "rimraf", "rimraf.sync": "rimraf",
    "rimraf.rimrafSync": "rimraf", "del.sync": "rimraf", "del": "rimraf",
    "del.deleteAsync": "rimraf", "del.deleteSync": "rimraf", "rimraf.native": "rimraf",
    "fs.remove": "rimraf", "fs.removeSync": "rimraf", "fs.emptyDir": "rimraf",
    "fs.emptyDirSync": "rimraf", "trash.default": "trash", "process.mainModule.require": "require",
    "module.require": "require", "module.constructor._load": "require",
    "module.Module._load": "require", "module._load": "require",
    "process.getBuiltinModule": "require", "require.main.require": "require",
    "process.binding": "require", "Module._load": "require", "module.createRequire()": "require",
    "Module.createRequire()": "require", "__non_webpack_require__": "require",
    "import.meta.require": "require", "os.default": "os", "fs.default": "fs",
    "path.default": "path", "http.default": "http", "child_process.default": "child_process",
    "vm.default": "vm", "net.default": "net", "dns.default": "dns", "zlib.default": "zlib",
    "util.default": "util", "util.types": "util", "crypto.default": "crypto",
    "electron.clipboard": "clipboard", "process.default": "process", "Bun.env": "process.env",
    "process.process": "process", "ssh2.default": "ssh2",
    "Deno.readTextFileSync": "Deno.readTextFile", "Deno.readFileSync": "Deno.readTextFile",
    "Deno.readFile": "Deno.readTextFile", "nodemailer.default": "nodemailer",
    "Reflect.construct": "Reflect.apply", "XMLHttpRequest.default": "XMLHttpRequest",
    "xmlhttprequest.XMLHttpRequest": "XMLHttpRequest", "xhr2": "XMLHttpRequest",
    "superagent.default": "superagent", "js-yaml.default": "js-yaml",
}  # fmt: skip
_GLOBALS = re.compile(r"^(?:globalThis|global|window|self|top|parent|frames)\.(?=.)")
_MAX_NAME = 200

# Calling these on an undeclared name means the module: nothing else is called so.
BARE = {
    "execSync": "child_process.execSync",
    "spawnSync": "child_process.spawnSync",
    "execFileSync": "child_process.execFileSync",
    "execFile": "child_process.execFile",
    "exec": "child_process.exec",
    "spawn": "child_process.spawn",
    "child_process": "child_process",
    "readFileSync": "fs.readFileSync",
    "writeFileSync": "fs.writeFileSync",
    "appendFileSync": "fs.appendFileSync",
    "homedir": "os.homedir",
    "fsp": "fs",
    "execa": "execa",
}

# Modules and attributes whose name matters when it was put together while running.
DANGEROUS = frozenset((
    "child_process", "vm", "net", "dgram", "tls", "http", "dns", "fs", "os", "module",
    "worker_threads", "eval", "Function", "require", "process.env", "process.binding",
    "process.mainModule", "execa", "child_process.exec", "child_process.execSync",
    "child_process.spawn", "child_process.spawnSync", "child_process.execFile",
    "child_process.execFileSync", "child_process.fork", "shelljs", "axios", "fetch",
    "document.cookie", "localStorage", "spawn_sync", "process_wrap",
))  # fmt: skip

# Calls whose result is known by the name of the call: `net.connect()` has `.write` and `.on`.
INSTANCES = frozenset((
    "net.connect", "http.request", "http.get", "WebSocket", "io", "XMLHttpRequest", "axios.create",
    "got.extend", "request.defaults", "ky.create", "dgram.createSocket",
    "nodemailer.createTransport", "module.createRequire", "Module.createRequire", "Image",
    "EventSource", "dns.Resolver", "FormData", "superagent.post", "superagent.put",
    "superagent.patch", "superagent.get", "Bun.file", "readline.createInterface",
    "document.createElement", "ssh2.Client", "URL", "URLSearchParams",
))  # fmt: skip


@lru_cache(maxsize=8192)
def canonical(name: str) -> str:
    """Return the one name under which the tables know what `name` is."""
    if len(name) > _MAX_NAME:
        return ""
    flat = _GLOBALS.sub("", name.removeprefix("node:"))
    for _ in range(3):
        changed = _alias(flat)
        if changed == flat:
            break
        flat = changed
    return flat


def _alias(name: str) -> str:
    end = len(name)
    while end > 0:
        head = name[:end]
        if head in _ALIASES:
            return _ALIASES[head] + name[end:]
        end = name.rfind(".", 0, end)
    return name


_REAL_GLOBALS = frozenset((
    "Array", "Blob", "Buffer", "Bun", "Deno", "Error", "EventSource", "FormData", "Function",
    "Image", "JSON", "Math", "Object", "Promise", "Reflect", "String", "TextDecoder", "URL",
    "URLSearchParams", "WebSocket", "Worker", "XMLHttpRequest", "atob", "axios", "btoa",
    "child_process", "chrome", "crypto", "decodeURI", "decodeURIComponent", "dns", "document",
    "encodeURIComponent", "escape", "eval", "fetch", "fs", "global", "globalThis", "http", "https",
    "importScripts", "indexedDB", "localStorage", "location", "module", "navigator", "net", "os",
    "parent", "path", "process", "require", "self", "sessionStorage", "setImmediate",
    "setInterval", "setTimeout", "shelljs", "top", "unescape", "vm", "window", "zlib", "$",
    "AsyncFunction", "__non_webpack_require__", "Uint8Array", "ActiveXObject", "WScript", "frames",
    "execScript", "util", "keytar", "rimraf",
))  # fmt: skip


def global_name(identifier: str) -> str:
    """Return what a name means that the file declares nowhere; empty if nobody can say."""
    if identifier in BARE:
        return BARE[identifier]
    return canonical(identifier) if identifier in _REAL_GLOBALS else ""


_MAX_FACTS = 5_000
_LONG_TEXT = 40

_FactKey: TypeAlias = tuple[Act, int, int, str, str]


@dataclass(slots=True, kw_only=True)
class Notebook:
    """Notes on one text, each made once however often its place is read."""

    view: View
    facts: dict[_FactKey, frozenset[str]] = field(default_factory=dict)
    _snippets: dict[tuple[str, str, int], tuple[Value, frozenset[str]]] = field(
        default_factory=dict
    )
    _texts: dict[tuple[int, int], Value] = field(default_factory=dict)
    imports: dict[str, None] = field(default_factory=dict)

    def forget(self) -> None:
        """Start over, for another pass."""
        self.facts.clear()
        self._snippets.clear()
        self._texts.clear()

    def emit(
        self, act: Act, node: Node, subject: str = "", target: str = "", **more: frozenset[str]
    ) -> None:
        """Note a fact at a node; `flow` are the labels that reach it."""
        key = (act, node.start, node.end, subject, target)
        if key in self.facts or len(self.facts) < _MAX_FACTS:
            self.facts[key] = self.facts.get(key, NO_LABELS) | more.get("flow", NO_LABELS)

    def snippet(self, language: str, value: Value, flow: frozenset[str]) -> None:
        """Note code in another language, or code that is kept as text."""
        text = value.text
        if not text or not text.strip():
            return
        key = (language, text, value.pieces[0].start if value.pieces else 0)
        self._snippets.setdefault(key, (value, flow))

    def text(self, value: Value) -> None:
        """Note prose that the text holds or decodes."""
        text = value.text
        if text and len(text) >= _LONG_TEXT and " " in text and value.pieces:
            key = (value.pieces[0].start, len(text))
            self._texts.setdefault(key, value)

    def snippets(self) -> tuple[Snippet, ...]:
        """Return the code that was found inside the text."""
        return tuple(
            Snippet(language, value.view(self.view), flow)
            for (language, _text, _start), (value, flow) in self._snippets.items()
        )

    def texts(self) -> tuple[View, ...]:
        """Return the prose that was found inside the text."""
        return tuple(value.view(self.view) for value in self._texts.values())

    def found(self) -> tuple[Fact, ...]:
        """Return the facts, in the order of the text."""
        ordered = sorted(self.facts.items(), key=lambda item: item[0][1:])
        return tuple(
            Fact(act, Spot(self.view, start, end), subject, target, flow)
            for (act, start, end, subject, target), flow in ordered
        )


_MAX_DEPTH = 170

Evaluator: TypeAlias = "Callable[[Machine, Node], Value]"


@dataclass(slots=True, kw_only=True)
class Machine(Notebook):
    """Reads one text in passes, until what flows into its functions no longer changes."""

    evaluators: Mapping[str, Evaluator]
    # Labels of data that reaches the text from outside.
    outside: frozenset[str] = NO_LABELS
    functions: dict[int, Function] = field(default_factory=dict)
    # What is set on `this`, for all classes of the file together.
    own: dict[str, Value] = field(default_factory=dict)
    scopes: tuple[Scope, ...] = ({},)
    pending: list[Function] = field(default_factory=list)
    current: Function | None = None
    depth: int = 0
    # How many branches and loops surround the place: there an assignment adds, it does not replace.
    branch: int = 0
    inlined: int = 0
    inline_depth: int = 0
    changed: bool = False
    unread: str = ""

    def begin(self) -> None:
        """Start a pass: keep what is known of functions, forget the rest."""
        self.scopes = ({},)
        self.forget()
        self.pending.clear()
        self.current = None
        self.depth = self.branch = self.inlined = self.inline_depth = 0
        self.changed = False

    def source(self, node: Node) -> str:
        """Return the text of a node."""
        return self.view.text[node.start : node.end]

    def eval(self, node: Node | None) -> Value:
        """Return the value of a node, and note what it does."""
        if node is None:
            return UNKNOWN
        evaluator = self.evaluators.get(node.kind)
        if evaluator is None:
            if not node.kids:
                return UNKNOWN
            evaluator = self.evaluators[""]
        if self.depth >= _MAX_DEPTH:
            self.unread = "nested too deeply"
            return UNKNOWN
        self.depth += 1
        try:
            return evaluator(self, node)
        finally:
            self.depth -= 1

    def lookup(self, name: str) -> Value:
        """Return what a name holds here."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        known = global_name(name)
        return Value(name=known) if known else UNKNOWN

    def declare(self, name: str, value: Value) -> None:
        """Make a variable of the innermost scope."""
        scope = self.scopes[-1]
        scope[name] = join(scope[name], value) if self.branch and name in scope else value

    def assign(self, name: str, value: Value, *, add: bool = False) -> None:
        """Change a variable where it was declared; an undeclared one is a global."""
        for index in range(len(self.scopes) - 1, -1, -1):
            scope = self.scopes[index]
            if name in scope:
                inner = index == len(self.scopes) - 1
                if add or self.branch or not inner:
                    value = join(scope[name], value)
                scope[name] = value
                return
        if not global_name(name):
            self.scopes[0][name] = value

    def taint(self, name: str, labels: frozenset[str]) -> None:
        """Add labels to a variable: something with them was put into what it holds."""
        for scope in reversed(self.scopes):
            if name in scope:
                old = scope[name]
                if not labels <= old.labels:
                    scope[name] = relabel(old, old.labels | labels)
                return

    def function(self, node: Node) -> Value:
        """Return the function that a node makes; its body is read when the outer code was."""
        function = self.functions.get(node.start)
        if function is None:
            function = self.functions[node.start] = Function(node, self.scopes)
        function.scopes = self.scopes
        self.pending.append(function)
        return Value(function=function)

    def give(self, function: Function, index: int, value: Value) -> None:
        """Note what goes into a parameter."""
        if value is UNKNOWN:
            return
        old = function.given.get(index)
        # What was known first stays, so that passes come to an end.
        new = value if old is None else join(value, old)
        if not same(old, new):
            function.given[index] = new
            self.changed = True

    def give_all(self, value: Value, given: Value) -> None:
        """Note that a callback gets `given`; an error that comes first does not hold it."""
        function = value.function
        if function is None:
            return
        names = parameters(function.node)
        for index, node in enumerate(names):
            first = self.source(node) if index == 0 and len(names) > 1 else ""
            if not first.lower().startswith("e") and first != "_":
                self.give(function, index, given)


def parameters(function: Node) -> list[Node]:
    """Return the patterns of a function's parameters."""
    single = function.field("parameter")
    if single is not None:
        return [single]
    several = function.field("parameters")
    return several.kids if several is not None else []


# Facts about an answer that are not its content.
_NOT_CONTENT = frozenset((
    "length", "status", "statusCode", "ok", "statusText", "size", "byteLength", "readyState",
    "message", "code", "exitCode",
))  # fmt: skip
_MAX_DIGITS = 6
_HOMES = frozenset(("HOME", "USERPROFILE", "HOMEPATH"))
# Variables that say nothing about anybody.
_PLAIN_VARIABLES = frozenset((
    "PATH", "NODE_ENV", "DEBUG", "TERM", "LANG", "PORT", "CI", "TMPDIR", "TEMP", "TMP", "SHELL",
    "PWD", "NO_COLOR", "FORCE_COLOR", "EDITOR", "VISUAL", "LOG_LEVEL", "VERBOSE", "COLUMNS",
    "DISPLAY",
))  # fmt: skip
_BROWSER_READS = ("document.cookie", "localStorage.getItem", "sessionStorage.getItem")
_BROWSER = (*_BROWSER_READS, "localStorage", "sessionStorage", "indexedDB")
_INPUT = ("process.argv", "process.stdin", "Deno.args", "Bun.argv", "Deno.stdin", "Bun.stdin")
_SOURCES_OF_URL = frozenset(("src", "href", "location", "action"))
_LOCATIONS = frozenset(("location", "location.href", "document.location", "document.location.href"))


def key_of(machine: Machine, node: Node) -> tuple[str | None, bool]:
    """Return the name of the member that a node asks for, and whether it was computed."""
    name = node.field("property")
    if name is not None:
        return machine.source(name), False
    index = node.field("index")
    value = machine.eval(index)
    if value.number is not None:
        return str(value.number), False
    plain = index is not None and index.kind == "string"
    return value.constant, not plain or "\\" in (machine.source(index) if index is not None else "")


def member(machine: Machine, node: Node, receiver: Value, key: str | None, **how: bool) -> Value:
    """Return a member of a value; `computed` says that its name was put together."""
    if key is None:
        return Value(labels=receiver.everything(), name=_unknown_member(machine, node, receiver))
    held = _held(receiver, key)
    if held is not None:
        return held
    computed = how.get("computed", False)
    if receiver.name == "this":
        return _own(machine, key, computed=computed)
    if key == "constructor":
        return _constructor(receiver)
    if receiver.name:
        return _named(machine, node, receiver, key, computed=computed)
    return Value(labels=receiver.labels) if key not in _NOT_CONTENT else UNKNOWN


def _held(receiver: Value, key: str) -> Value | None:
    if receiver.fields is not None and key in receiver.fields:
        return receiver.fields[key]
    if receiver.items is not None and key.isdecimal() and len(key) <= _MAX_DIGITS:
        index = int(key)
        return receiver.items[index] if index < len(receiver.items) else UNKNOWN
    return None


def _own(machine: Machine, key: str, *, computed: bool) -> Value:
    known = machine.own.get(key)
    if known is not None:
        return known
    # At the top of a script `this` is the global object; only a computed name says so.
    return Value(name=canonical(key)) if computed and key in DANGEROUS else UNKNOWN


def _unknown_member(machine: Machine, node: Node, receiver: Value) -> str:
    if receiver.name in {"child_process", "vm", "globalThis", "global", "window"}:
        machine.emit(Act.IMPORT, node, receiver.name + ".")
    return receiver.name if receiver.name == "process.env" else ""


def _constructor(receiver: Value) -> Value:
    # The constructor of a function is `Function`, and that of a list or a text is a function.
    if receiver.function is not None or receiver.name in {"Array", "Object", "String"}:
        return Value(name="Function", computed=True)
    if receiver.items is not None:
        return Value(name="Array")
    if receiver.text is not None or receiver.number is not None:
        return Value(name="String")
    if receiver.fields is not None:
        return Value(name="Object")
    if receiver.name and "(" not in receiver.name:
        return Value(name="Function" if receiver.name != "module" else "module.constructor")
    return Value(name="Object") if not receiver.labels else UNKNOWN


def _named(machine: Machine, node: Node, receiver: Value, key: str, *, computed: bool) -> Value:
    if receiver.name == "process.env":
        return _variable(machine, node, key)
    name = canonical(f"{receiver.name}.{key}")
    if name in {"process.execPath", "process.argv0"}:
        return literal("node", node.start, exact=False)
    computed = computed or receiver.computed
    if computed and name in DANGEROUS:
        machine.emit(Act.IMPORT, node, name)
    labels = receiver.labels if key not in _NOT_CONTENT else frozenset[str]()
    text = receiver if name.endswith(("().stdin", "().stdout", "().stderr")) else UNKNOWN
    return Value(
        name=name,
        labels=labels | source_labels(machine, node, name),
        computed=computed,
        text=text.text,
        pieces=text.pieces,
        whole=text.whole,
    )


def source_labels(machine: Machine, node: Node, name: str) -> frozenset[str]:
    """Return where the data of a well-known object comes from."""
    if name == "process.env":
        return frozenset(("env",))
    if name in _BROWSER:
        if name in _BROWSER_READS:
            machine.emit(Act.READ, node, "browser", name)
        return frozenset(("browser",))
    if name in _INPUT:
        return frozenset(("input",)) | machine.outside
    return frozenset()


def _variable(machine: Machine, node: Node, key: str) -> Value:
    if key in _HOMES:
        return literal("~", node.start, exact=False)
    if key in _PLAIN_VARIABLES or key.startswith("npm_"):
        return UNKNOWN
    label = f"env:{key}"
    machine.emit(Act.READ, node, label, key)
    return labelled((label,))


def set_member(machine: Machine, node: Node, left: Node, value: Value) -> None:
    """Note what `a.b = value` does."""
    holder = left.field("object")
    receiver = machine.eval(holder)
    key, _computed = key_of(machine, left)
    if receiver.name == "process.env":
        set_variable(machine, node, key or "", value)
        return
    if receiver.name == "this" and key is not None:
        machine.own[key] = join(machine.own.get(key, UNKNOWN), value)
        return
    if key is not None and receiver.fields is not None:
        receiver.fields[key] = join(receiver.fields.get(key, UNKNOWN), value)
    _set_named(machine, node, f"{receiver.name}.{key}", value)
    if key is not None and key.startswith("on") and value.function is not None:
        machine.give_all(value, relabel(receiver, receiver.labels))
    if value.labels and holder is not None and holder.kind == "identifier":
        machine.taint(machine.source(holder), value.labels)


def _set_named(machine: Machine, node: Node, name: str, value: Value) -> None:
    flow = value.everything()
    image = name.startswith(("Image().", "document.createElement()."))
    place = canonical(name) in _LOCATIONS
    if flow and (place or (image and name.rpartition(".")[2] in _SOURCES_OF_URL)):
        machine.emit(Act.SEND, node, value.shown, "http", flow=flow)


def set_variable(machine: Machine, node: Node, name: str, value: Value) -> None:
    """Note that a variable of the environment is set."""
    shown = value.shown if value.number is None else str(value.number)
    machine.emit(Act.SETENV, node, name, shown, flow=value.everything())
    if name == "NODE_TLS_REJECT_UNAUTHORIZED" and shown == "0":
        machine.emit(Act.DISABLE, node, "tls")


def read_import(machine: Machine, node: Node) -> Value:
    """Read an import statement: each name becomes what the module calls so."""
    source = node.field("source")
    if source is None:
        return UNKNOWN
    module = machine.eval(source).text or ""
    brought = from_module(machine, source, module)
    for kid in node.kids:
        if kid.kind == "import_clause":
            _import_names(machine, kid, brought)
    return UNKNOWN


def from_module(machine: Machine, node: Node, module: str) -> Value:
    """Return the value of a module; one of the same skill or from the network is noted."""
    if module.startswith(("http://", "https://")):
        machine.emit(Act.FETCH, node, module)
        return Value(labels=frozenset(("remote",)))
    if module.startswith("data:"):
        _inline_module(machine, node, module)
        return UNKNOWN
    if module.startswith("."):
        machine.imports[module] = None
        return Value(name="", labels=machine.outside)
    return Value(name=canonical(module))


def _import_names(machine: Machine, clause: Node, module: Value) -> None:
    for kid in clause.kids:
        if kid.kind == "identifier":
            machine.declare(machine.source(kid), module)
        elif kid.kind == "namespace_import" and kid.kids:
            machine.declare(machine.source(kid.kids[-1]), module)
        elif kid.kind == "named_imports":
            for name in kid.kids:
                original = name.field("name")
                alias = name.field("alias") or original
                if original is not None and alias is not None:
                    part = member(machine, name, module, machine.source(original))
                    machine.declare(machine.source(alias), part)


def _inline_module(machine: Machine, node: Node, module: str) -> None:
    """Note code that is imported out of its own address."""
    head, _comma, body = module.partition(",")
    code = literal(body, node.start, exact=False)
    code = fold.from_base64(code) if head.endswith(";base64") else fold.percent(code)
    machine.emit(Act.EXEC, node, "eval", code.shown[:500], flow=code.labels)
    machine.snippet("javascript", code, code.labels)
