"""Well-known JavaScript functions by name: paths, sources of data, and the table of all of them.

What a JavaScript or TypeScript text does.
"""

from collections.abc import Mapping

from prowess.reading.views import View
from prowess.safety.facts import Act, Reading
from prowess.safety.languages.javascript import constants as fold
from prowess.safety.languages.javascript import effects, expressions
from prowess.safety.languages.javascript import effects as network
from prowess.safety.languages.javascript import expressions as calls
from prowess.safety.languages.javascript import state as imports
from prowess.safety.languages.javascript.expressions import Call, Handler
from prowess.safety.languages.javascript.state import Evaluator, Machine, member, set_variable
from prowess.safety.languages.javascript.values import (
    UNKNOWN,
    Node,
    Value,
    concat,
    folded,
    labelled,
    literal,
    parse,
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


_MAX_PASSES = 4
_SHORT_COMMENT = 12


def _true(_machine: Machine, _node: Node) -> Value:
    return Value(name="true")


def _nothing(_machine: Machine, _node: Node) -> Value:
    return UNKNOWN


_CALL = calls.reader(HANDLERS)
_EVALUATORS: Mapping[str, Evaluator] = {
    "": expressions.read_children,
    "program": expressions.read_block,
    "statement_block": expressions.read_block,
    **dict.fromkeys(
        ("if_statement", "while_statement", "do_statement", "switch_statement", "try_statement"),
        expressions.read_branch,
    ),
    "for_statement": expressions.read_loop,
    "for_in_statement": expressions.read_loop,
    "string": expressions.read_string,
    "template_string": expressions.read_template,
    "number": expressions.read_number,
    "regex": expressions.read_regex,
    "identifier": expressions.read_identifier,
    "this": expressions.read_this,
    "true": _true,
    "comment": _nothing,
    "member_expression": expressions.read_member,
    "subscript_expression": expressions.read_member,
    "binary_expression": expressions.read_binary,
    "ternary_expression": expressions.read_ternary,
    **dict.fromkeys(
        ("parenthesized_expression", "sequence_expression", "await_expression",
         "expression_statement", "yield_expression", "spread_element"),
        expressions.read_last,
    ),
    "array": expressions.read_array,
    "object": expressions.read_object,
    **dict.fromkeys(
        ("arrow_function", "function_expression", "function_declaration", "generator_function",
         "generator_function_declaration", "method_definition", "function"),
        expressions.read_function,
    ),
    "return_statement": expressions.read_return,
    "variable_declarator": expressions.read_declarator,
    "assignment_expression": expressions.read_assignment,
    "augmented_assignment_expression": expressions.read_assignment,
    "import_statement": imports.read_import,
    "call_expression": _CALL,
    "new_expression": _CALL,
}  # fmt: skip


def read_javascript(view: View, flow: frozenset[str] = frozenset()) -> Reading:
    """Return what the JavaScript of `view` does; `flow` are labels of data that reaches it."""
    root, complete = parse(view.text)
    machine = Machine(view=view, evaluators=_EVALUATORS, outside=flow)
    unread = "" if complete else "too large"
    try:
        for _ in range(_MAX_PASSES):
            machine.begin()
            _pass(machine, root)
            if not machine.changed:
                break
    except RecursionError:
        unread = "nested too deeply"
    return Reading(
        facts=machine.found(),
        snippets=machine.snippets(),
        texts=(*_comments(view, root), *machine.texts()),
        imports=tuple(machine.imports),
        unread=unread or machine.unread,
    )


def _pass(machine: Machine, root: Node) -> None:
    machine.eval(root)
    done: set[int] = set()
    at = 0
    while at < len(machine.pending):
        function = machine.pending[at]
        at += 1
        if function.node.start not in done:
            done.add(function.node.start)
            expressions.read_body(machine, function)


def _comments(view: View, root: Node) -> list[View]:
    """Return comments as prose, lines that follow each other as one text."""
    groups: list[list[Node]] = []
    queue = [root]
    found: list[Node] = []
    while queue:
        node = queue.pop()
        if node.kind in {"comment", "html_comment", "hash_bang_line"}:
            found.append(node)
        queue.extend(node.kids)
    for node in sorted(found, key=lambda comment: comment.start):
        if groups and not view.text[groups[-1][-1].end : node.start].strip():
            groups[-1].append(node)
        else:
            groups.append([node])
    return [text for group in groups if (text := _prose(view, group)) is not None]


def _prose(view: View, group: list[Node]) -> View | None:
    if len(group) == 1:
        alone = view.cut(group[0].start, group[0].end)
        return alone if len(alone.text.strip()) >= _SHORT_COMMENT else None
    parts: list[str] = []
    indices: list[int] = []
    for node in group:
        start, end = node.start, node.end
        if view.text.startswith(("//", "/*"), start):
            start += 2
        if view.text.startswith("*/", end - 2):
            end -= 2
        parts.append(view.text[start:end])
        indices.extend(range(start, end))
        parts.append("\n")
        indices.append(max(end - 1, 0))
    text = "".join(parts)
    return view.derive(text, indices) if len(text.strip()) >= _SHORT_COMMENT else None
