"""Well-known JavaScript functions by name: paths, sources of data, and the table of all of them."""

from prowess.safety.facts import Act
from prowess.safety.languages.javascript import constants as fold
from prowess.safety.languages.javascript import effects
from prowess.safety.languages.javascript import javascript_network as network
from prowess.safety.languages.javascript.javascript_calls import Call, Handler
from prowess.safety.languages.javascript.javascript_machine import Machine
from prowess.safety.languages.javascript.state import member, set_variable
from prowess.safety.languages.javascript.values import (
    UNKNOWN,
    Value,
    concat,
    folded,
    labelled,
    literal,
)


def join_path(_machine: Machine, call: Call) -> Value:
    """Read `path.join` and `path.resolve`."""
    parts: list[tuple[Value, str]] = []
    for arg in call.args[:20]:
        text = arg.text or ""
        if parts and call.name == "path.resolve" and text.startswith(("/", "~")):
            parts.clear()
        if arg.text == "":
            continue
        if parts:
            parts.append((folded("/", arg), ""))
        parts.append((folded(text.strip("/"), arg) if parts and text[:1] == "/" else arg, "value"))
    return concat(parts, call.node.start) if parts else UNKNOWN


def home(_machine: Machine, call: Call) -> Value:
    """Read the home folder."""
    return literal("~", call.node.start, exact=False)


def temporary(_machine: Machine, call: Call) -> Value:
    """Read the folder for temporary files."""
    # Only a name in somebody else's program: nothing is written there.
    return literal("/tmp", call.node.start, exact=False)  # noqa: S108


def same_value(_machine: Machine, call: Call) -> Value:
    """Read a function that gives back what it is given, as `promisify` does."""
    return call.arg(0)


def as_text(_machine: Machine, call: Call) -> Value | None:
    """Read `String(x)` and the like."""
    value = call.arg(0)
    return value if value.text is not None or value.name == "" else None


def host(machine: Machine, call: Call) -> Value:
    """Read what tells one machine from another."""
    machine.emit(Act.READ, call.node, "host", call.name)
    return labelled(("host",))


def _source(label: str) -> Handler:
    def read(machine: Machine, call: Call) -> Value:
        machine.emit(Act.READ, call.node, label, call.name)
        for arg in call.args:
            machine.give_all(arg, labelled((label,)))
        return labelled((label,))

    return read


def whole_environment(machine: Machine, call: Call) -> Value | None:
    """Read what goes over all variables."""
    if call.arg(0).name == "process.env":
        machine.emit(Act.READ, call.node, "env", "process.env")
    return None


def variable(machine: Machine, call: Call) -> Value:
    """Read `Deno.env.get`."""
    key = call.arg(0).constant
    if key is None:
        return labelled(("env",))
    return member(machine, call.node, Value(name="process.env"), key, computed=False)


def all_variables(machine: Machine, call: Call) -> Value:
    """Read `Deno.env.toObject`."""
    machine.emit(Act.READ, call.node, "env", call.name)
    return labelled(("env",), "process.env")


def assign(machine: Machine, call: Call) -> Value | None:
    """Read `Object.assign`; into the environment it sets variables."""
    target = call.arg(0)
    if target.name == "process.env":
        for source in call.args[1:]:
            for name, value in (source.fields or {}).items():
                set_variable(machine, call.node, name, value)
        return target
    fields: dict[str, Value] = {}
    for source in call.args:
        fields.update(source.fields or {})
    return Value(fields=fields, labels=frozenset[str]().union(*(arg.labels for arg in call.args)))


def reflect_get(machine: Machine, call: Call) -> Value:
    """Read `Reflect.get`, which is a member by another name."""
    return member(machine, call.node, call.arg(0), call.arg(1).constant, computed=True)


def nothing(_machine: Machine, _call: Call) -> Value:
    """Read what gives no data away."""
    return UNKNOWN


def question(machine: Machine, call: Call) -> Value:
    """Read what the user is asked."""
    answer = Value(labels=frozenset(("input",)) | machine.outside)
    for arg in call.args:
        machine.give_all(arg, answer)
    return answer


def deserialise(machine: Machine, call: Call) -> Value:
    """Read a format that brings code to life."""
    machine.emit(Act.DESERIALISE, call.node, call.name.partition(".")[0], flow=call.labels())
    return Value(labels=call.labels())


def cipher(machine: Machine, call: Call) -> Value:
    """Read a decryption."""
    machine.emit(Act.DECODE, call.node, "cipher", flow=call.labels())
    return Value(labels=call.labels() | fold.DECODED)


def become(machine: Machine, call: Call) -> Value:
    """Read a change of the user."""
    machine.emit(Act.PRIVILEGE, call.node, "setuid")
    return UNKNOWN


def with_sudo(machine: Machine, call: Call) -> Value:
    """Read a command that is run as the administrator."""
    machine.emit(Act.PRIVILEGE, call.node, "sudo")
    return effects.run_shell(machine, call)


def at_login(machine: Machine, call: Call) -> Value:
    """Read a program that asks to be started at login."""
    machine.emit(Act.PERSIST, call.node, "autostart", call.name)
    return UNKNOWN


def deno_run(machine: Machine, call: Call) -> Value:
    """Read `Deno.run({cmd: […]})`."""
    call.args = [(call.arg(0).fields or {}).get("cmd", UNKNOWN), call.arg(0)]
    return effects.run_process(machine, call)


def percent(_machine: Machine, call: Call) -> Value:
    """Read `unescape` and `decodeURIComponent`."""
    return fold.percent(call.arg(0))


def _named(module: str, names: str, handler: Handler) -> dict[str, Handler]:
    return {f"{module}.{name}": handler for name in names.split()}


HANDLERS: dict[str, Handler] = {
    **network.HANDLERS,
    **_named("child_process", "exec execSync", effects.run_shell),
    **_named("child_process", "spawn spawnSync execFile execFileSync fork", effects.run_process),
    **_named("Bun", "spawn", effects.run_process),
    **_named("shelljs", "exec", effects.run_shell),
    "execa": effects.run_process,
    "node-pty.spawn": effects.run_process,
    "Deno.Command": effects.run_process,
    "Deno.run": deno_run,
    "$": effects.run_tagged,
    "sudo-prompt.exec": with_sudo,
    **dict.fromkeys(
        ("eval", "Function", "AsyncFunction", "GeneratorFunction", "execScript", "setTimeout",
         "setInterval", "setImmediate", "vm.runInThisContext", "vm.runInNewContext",
         "vm.runInContext", "vm.compileFunction", "vm.Script", "vm.SourceTextModule", "._compile"),
        effects.run_code,
    ),
    "worker_threads.Worker": effects.run_worker,
    **_named("fs", "readFile readFileSync createReadStream readJson readJsonSync readJSON",
             effects.read_file),
    **_named("Deno", "readTextFile open", effects.read_file),
    **_named("Bun", "file", effects.read_file),
    **_named("fs", "readdir readdirSync opendir existsSync stat statSync lstatSync access exists"
             " accessSync pathExists pathExistsSync mkdir mkdirSync ensureDir ensureDirSync"
             " mkdtempSync", effects.list_folder),
    **_named("fs", "writeFile writeFileSync appendFile appendFileSync outputFile outputFileSync"
             " writeJson writeJsonSync outputJson outputJsonSync writeJSON", effects.write_file),
    **_named("Deno", "writeTextFile writeFile writeTextFileSync writeFileSync", effects.write_file),
    **_named("Bun", "write", effects.write_file),
    **_named("fs", "copyFile copyFileSync rename renameSync symlink symlinkSync link linkSync copy"
             " copySync move moveSync cp cpSync", effects.copy_file),
    "fs.createWriteStream": effects.open_stream,
    **_named("fs", "rm rmSync rmdir rmdirSync unlink unlinkSync", effects.delete),
    **_named("Deno", "remove removeSync", effects.delete),
    "rimraf": effects.delete,
    **_named("fs", "chmod chmodSync lchmod fchmod", effects.permit),
    "Deno.chmod": effects.permit,
    "atob": effects.decode,
    "base-64.decode": effects.decode,
    "js-base64.Base64.decode": effects.decode,
    "Buffer.from": effects.make_buffer,
    "Buffer": effects.make_buffer,
    ".toString": effects.to_text,
    **_named("String", "fromCharCode fromCodePoint", effects.from_codes),
    **_named("zlib", "inflateSync gunzipSync inflateRawSync unzipSync brotliDecompressSync gunzip"
             " inflate unzip brotliDecompress inflateRaw", effects.inflate),
    **_named("pako", "inflate ungzip inflateRaw", effects.inflate),
    **_named("crypto", "createDecipheriv createDecipher privateDecrypt", cipher),
    "unescape": percent,
    "decodeURIComponent": percent,
    "decodeURI": percent,
    "String": as_text,
    "URL": as_text,
    "RegExp": nothing,
    **_named("path", "join resolve normalize", join_path),
    "os.homedir": home,
    "os.tmpdir": temporary,
    **_named("os", "hostname userInfo networkInterfaces", host),
    **_named("util", "promisify callbackify", same_value),
    "bind": same_value,
    **_named("Promise", "resolve", same_value),
    **_named("Object", "getPrototypeOf freeze fromEntries", same_value),
    **_named("Object", "entries values", whole_environment),
    "JSON.stringify": whole_environment,
    "util.inspect": whole_environment,
    "Object.keys": nothing,
    "Object.assign": assign,
    "Reflect.get": reflect_get,
    "Deno.env.get": variable,
    "Deno.env.toObject": all_variables,
    **_named("clipboardy", "read readSync", _source("clipboard")),
    **_named("clipboard", "readText", _source("clipboard")),
    **_named("navigator.clipboard", "readText read", _source("clipboard")),
    **_named("chrome.cookies", "getAll get", _source("browser")),
    **_named("keytar", "getPassword findPassword findCredentials", _source("keychain")),
    "dotenv.config": _source("credential:.env"),
    **_named("readline.createInterface()", "question on", question),
    "prompt": question,
    **_named("node-serialize", "unserialize", deserialise),
    **_named("serialize-to-js", "deserialize", deserialise),
    **_named("funcster", "deepDeserialize", deserialise),
    **_named("cryo", "parse", deserialise),
    **_named("process", "setuid setgid seteuid", become),
    "electron.app.setLoginItemSettings": at_login,
    "auto-launch": at_login,
}  # fmt: skip
