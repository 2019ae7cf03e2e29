"""Names of the JavaScript world: one for each thing, whichever way it is reached."""

import re
from functools import lru_cache

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
