"""What well-known JavaScript functions do to the machine: processes, files, code, decoding."""

import ast
from functools import lru_cache
from urllib.parse import unquote

from prowess.data import load_index, load_table, load_words
from prowess.safety.facts import Act
from prowess.safety.languages.code import calls, io
from prowess.safety.languages.code.effects import read_environment_variable, unpack
from prowess.safety.languages.code.expressions import update
from prowess.safety.languages.code.state import Site, Walker
from prowess.safety.languages.code.values import (
    NO_LABELS,
    UNKNOWN,
    Value,
    join,
    labelled,
    labels_of,
    lookup,
    mapping,
    replace,
)

TABLE = "javascript/effects"
_MAX_NAME = 200
ENVIRONMENT = "os.environ"
SOCKET = "socket.socket()"
DECODED = frozenset(("decoded",))
INPUT = frozenset(("input",))
HARMLESS = frozenset(("input", "remote", "decoded"))


def words(key: str) -> frozenset[str]:
    """Return a list of `effects.toml`."""
    return load_words(TABLE, "names", key)


@lru_cache(maxsize=8192)
def spell(name: str) -> str:
    """Return the one name under which the tables know what `name` is."""
    if len(name) > _MAX_NAME:
        return ""
    flat = name.removeprefix("node:")
    for holder in ("globalThis.", "global.", "window.", "self.", "top.", "parent.", "frames."):
        flat = flat.removeprefix(holder) or flat
    for _ in range(3):
        changed = _respell(flat)
        if changed == flat:
            break
        flat = changed
    return flat


def _respell(name: str) -> str:
    aliases: dict[str, str] = load_table(TABLE, "aliases")
    end = len(name)
    while end > 0:
        if name[:end] in aliases:
            return aliases[name[:end]] + name[end:]
        end = name.rfind(".", 0, end)
    return name


def find_name(state: Walker, name: str) -> Value | None:
    """Return what a name means that the text declares nowhere."""
    bare: str | None = load_table(TABLE, "bare").get(name)
    if bare is not None:
        return Value(name=bare)
    if name in words("globals"):
        return name_thing(state, spell(name), None)
    return None


def name_thing(state: Walker, name: str, node: ast.expr | None) -> Value:
    """Return a thing of the world under its name, with where its data comes from."""
    label = load_index(TABLE, "origins").get(name, "")
    if label == "input":
        return Value(name=name, labels=INPUT | state.outside)
    if name in words("told_origins") and node is not None and not _is_own(node):
        state.emit(Act.READ, node, label, name)
    return Value(name=name, labels=frozenset((label,)) if label else NO_LABELS)


def _is_own(node: ast.expr) -> bool:
    """Whether an expression reaches through `this`: what that holds is told where it leaves."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "this"


def get_member(state: Walker, base: Value, node: ast.expr, key: Value) -> Value | None:
    """Return `base.key` or `base[key]`; None where that is as in Python."""
    if base.function is not None or base.name.startswith("self:"):
        return _constructor(base) if key.constant == "constructor" else None
    if not isinstance(key.constant, str):
        return _read_unknown(state, base, node, key)
    if base.keys is not None and (held := lookup(base, key.constant)) is not None:
        return held
    if base.name == ENVIRONMENT:
        return read_member_variable(state, node, key)
    if key.constant == "constructor" or key.constant in words("not_content"):
        return _constructor(base) if key.constant == "constructor" else UNKNOWN
    return _get_named_member(state, base, node, key) if base.name else None


def _read_unknown(state: Walker, base: Value, node: ast.expr, key: Value) -> Value | None:
    if isinstance(key.constant, int):
        return None
    if base.name in words("computed_holders"):
        state.emit(Act.IMPORT, node, base.name + ".")
    return read_member_variable(state, node, key) if base.name == ENVIRONMENT else None


def read_member_variable(state: Walker, node: ast.expr, key: Value) -> Value:
    """Return a variable of the environment, and note that it is read."""
    if key.text in words("plain_variables") or key.text.startswith("npm_"):
        return UNKNOWN
    call = ast.copy_location(ast.Call(func=node, args=[], keywords=[]), node)
    site = Site(call, "", UNKNOWN, UNKNOWN, (), {})
    if key.text not in {"HOME", "USERPROFILE", "HOMEPATH"}:
        state.emit(Act.READ, node, f"env:{key.text}", key.text)
    return read_environment_variable(state, site, key, UNKNOWN)


def _constructor(base: Value) -> Value:
    # The constructor of a function is `Function`, and that of a list or a text is a function.
    if base.function is not None or base.name in {"Array", "Object", "String"}:
        return Value(name="Function")
    if base.items is not None and base.keys is None:
        return Value(name="Array")
    if base.constant is not None or base.sketch:
        return Value(name="String")
    if base.keys is not None or not (base.name or base.labels):
        return Value(name="Object")
    if base.name and "(" not in base.name:
        return Value(name="Function" if base.name != "module" else "module.constructor")
    return UNKNOWN


def _get_named_member(state: Walker, base: Value, node: ast.expr, key: Value) -> Value:
    name = spell(f"{base.name}.{key.constant!s}")
    if name in {"process.execPath", "process.argv0"}:
        return Value(sketch="node", node=node)
    if isinstance(node, ast.Subscript) and not key.plain and name in words("dangerous"):
        state.emit(Act.IMPORT, node, name)
    if name.endswith(("().stdin", "().stdout", "().stderr")):
        return base
    found = name_thing(state, name, node)
    return replace(found, labels=found.labels | base.labels, made_of=base.made_of)


def set_member(state: Walker, base: Value, node: ast.expr, key: Value, value: Value) -> bool:
    """Note what `base.key = value` does; False where it is as in Python."""
    if base.name == ENVIRONMENT:
        set_variable(state, node, key.text, value)
        return True
    name = spell(f"{base.name}.{key.text}") if base.name else key.text
    image = base.name in {"Image()", "document.createElement()"} and key.text in {"src", "href"}
    if value.labels and (image or name in words("locations")):
        state.emit(Act.SEND, node, value.text, "http", value.labels)
    if key.text.startswith("on") and value.function is not None:
        hand(state, (value,), base)
    if base.keys is not None and isinstance(node, ast.Attribute):
        pairs = zip(base.keys, base.items or (), strict=True)
        kept = [(known, item) for known, item in pairs if known.constant != key.constant]
        grown = mapping([*kept, (key, value)]).named(base.labels)
        update(state, node.value, replace(grown, name=base.name))
        return True
    return False


def set_variable(state: Walker, node: ast.expr, name: str, value: Value) -> None:
    """Note that a variable of the environment is set."""
    shown = str(value.constant) if isinstance(value.constant, int) else value.text
    state.emit(Act.SETENV, node, name, shown, value.labels)
    if name == "NODE_TLS_REJECT_UNAUTHORIZED" and shown == "0":
        state.emit(Act.DISABLE, node, "tls")


def hand(state: Walker, values: tuple[Value, ...], given: Value) -> Value | None:
    """Run callbacks with what they get; an error that comes first does not hold it."""
    found: Value | None = None
    for value in values:
        function = value.function
        if function is None or isinstance(function.node, ast.ClassDef):
            continue
        if given.labels or given.name or given.text:
            names = [one.arg.lower() for one in function.node.args.args]
            shy = len(names) > 1 and names[0].startswith(("e", "_"))
            args = [UNKNOWN if shy and not at else given for at in range(len(names) or 1)]
            state.handed.append((function, args))
            found = join(found, state.run(state, function, args, {}))
    return found


def find_host(value: Value) -> str:
    """Return the host that a connection was made to."""
    return value.made_of.text if value.made_of is not None else ""


_FEW_CODES = 3
_MAX_CODE = 0x10FFFF


def run_shell(state: Walker, site: Site) -> Value:
    """Read a command that a shell runs."""
    _note_environment(state, site)
    return calls.run_shell_text(state, site)


def run_tagged(state: Walker, site: Site) -> Value | None:
    """Read a command written as a tagged template, as zx, Bun and execa have it."""
    return run_shell(state, site) if getattr(site.node, "tagged", False) else None


def _note_environment(state: Walker, site: Site) -> None:
    given = site.keywords.get("env", UNKNOWN)
    for key, value in zip(given.keys or (), given.items or (), strict=False):
        set_variable(state, site.node, key.text, value)


def run_process(state: Walker, site: Site) -> Value:
    """Read a program that is started with a list of arguments."""
    _note_environment(state, site)
    program, more = site.arg(0), site.keywords.get("args", site.arg(1)).items or ()
    parts = program.items if program.items and program.keys is None else (program, *more)
    line = " ".join(part.text for part in parts)
    shell = site.keywords.get("shell", UNKNOWN)
    if shell.constant or shell.text:
        whole = Value(sketch=line, labels=labels_of(parts), node=program.node)
        calls.run_text(state, site, whole)
    else:
        calls.run_words(state, site, parts)
    labels = calls.label_output((line,)) | (labels_of(parts) - HARMLESS)
    if calls.find_language(parts[0].text) in {"shell", "powershell"} and len(parts) == 1:
        for end in site.keywords.get("stdio", UNKNOWN).items or ():
            if end.name == SOCKET:
                state.emit(Act.REVERSE_SHELL, site.node, "net", find_host(end))
        return labelled(labels, "shell()")
    return labelled(labels, "process()")


def run_code(state: Walker, site: Site) -> Value:
    """Read code that is run from a text."""
    code = site.args[-1] if site.name == "Function" and site.args else site.arg(0)
    if site.name in words("timers") and not (code.text or code.labels & {"decoded", "remote"}):
        for value in site.args[:1]:
            if value.function is not None and not isinstance(value.function.node, ast.ClassDef):
                state.run(state, value.function, (), {})
        return UNKNOWN
    if code.function is not None:
        return UNKNOWN
    subject = "vm" if site.name.startswith("vm.") else "eval"
    state.emit(Act.EXEC, site.node, subject, code.text[:500], code.labels)
    state.embed("javascript", code, code.labels)
    return labelled(code.labels)


def run_worker(state: Walker, site: Site) -> Value:
    """Read a worker: with `eval` its argument is code."""
    if site.keywords.get("eval", UNKNOWN).constant:
        return run_code(state, site)
    state.emit(Act.EXEC, site.node, "process", site.arg(0).text, site.arg(0).labels)
    return UNKNOWN


def read_file(state: Walker, site: Site) -> Value:
    """Read a file: its data carries the label of its path."""
    path = site.arg(0)
    if path.constant in {0, "/dev/stdin"}:
        return labelled(INPUT | state.outside)
    return labelled(io.label_file(state, site.node, path))


def write_file(state: Walker, site: Site) -> Value:
    """Read a call that writes a file."""
    data = site.arg(1)
    io.store(state, site.node, site.arg(0), data if data.items is None else labelled(data.labels))
    return UNKNOWN


def open_stream(state: Walker, site: Site) -> Value:
    """Read a stream to a file, which is written when something is piped into it."""
    io.store(state, site.node, site.arg(0), UNKNOWN)
    return Value(name="open()", made_of=site.arg(0))


def delete(state: Walker, site: Site) -> Value:
    """Read a deletion."""
    path = site.arg(0)
    deep = site.name == "rimraf" or bool(site.keywords.get("recursive", UNKNOWN).constant)
    for target in (path.items if path.items is not None else (path,))[:20]:
        state.emit(Act.DELETE, site.node, target.text, "recursive" if deep else "")
    return UNKNOWN


def make_buffer(state: Walker, site: Site) -> Value:
    """Read `Buffer.from`: with an encoding it decodes."""
    encoding = site.arg(1).text.lower()
    if encoding in {"base64", "base64url", "hex"}:
        return unpack(state, site, encoding, site.arg(0))
    items = site.arg(0).items
    return _text_of_codes(state, site, items) if items else site.arg(0)


def show_text(_state: Walker, site: Site) -> Value | None:
    """Read `.toString(encoding)`: encoding hides a text but keeps where it comes from."""
    base = site.receiver
    if base.items is not None or base.name or isinstance(base.constant, int):
        return None
    if site.arg(0).text.lower() not in {"utf8", "utf-8", "ascii", "latin1", "binary", ""}:
        return labelled(base.labels)
    return replace(base, constant=base.text) if isinstance(base.constant, bytes) else base


def make_text(state: Walker, site: Site) -> Value:
    """Read `String.fromCharCode`."""
    return _text_of_codes(state, site, site.args)


def _text_of_codes(state: Walker, site: Site, codes: tuple[Value, ...]) -> Value:
    known = [code.constant for code in codes]
    letters = [chr(one) for one in known if isinstance(one, int) and 0 <= one <= _MAX_CODE]
    if len(codes) > _FEW_CODES:
        state.emit(Act.DECODE, site.node, "charcode", "", labels_of(codes))
    if len(letters) != len(known):
        return labelled(labels_of(codes))
    text = "".join(letters)
    # A line feed or a tab written as a number hides nothing.
    labels = labels_of(codes) | (DECODED if text.isprintable() else NO_LABELS)
    return state.charge(Value(constant=text, labels=labels, node=site.node))


def unquote_text(_state: Walker, site: Site) -> Value:
    """Read `unescape` and `decodeURIComponent`."""
    return unquote_value(site.arg(0))


def unquote_value(value: Value) -> Value:
    """Return a text without its percent signs."""
    if not isinstance(value.constant, str):
        return value
    plain = unquote(value.constant, errors="replace")
    if plain == value.constant:
        return value
    return replace(value, constant=plain, plain=False, labels=value.labels | DECODED)


def find_folder(_state: Walker, site: Site) -> Value:
    """Read the home folder, or the one for temporary files."""
    # Only a name in somebody else's program: nothing is written there.
    return Value(constant="~" if site.name == "os.homedir" else "/tmp", node=site.node)  # noqa: S108


def pass_value(_state: Walker, site: Site) -> Value:
    """Read a function that gives back what it is given, as `promisify` does."""
    return site.arg(0)


def make_string(_state: Walker, site: Site) -> Value | None:
    """Read `String(x)` and the like."""
    return site.arg(0) if site.arg(0).text or not site.arg(0).name else None


def make_pattern(_state: Walker, site: Site) -> Value:
    """Read a regular expression, which has an `exec` of its own."""
    return Value(name="RegExp()", made_of=site.arg(0))


def read_environment(state: Walker, site: Site) -> Value | None:
    """Read what goes over all variables."""
    if site.arg(0).name == ENVIRONMENT:
        state.emit(Act.READ, site.node, "env", "process.env")
    return None


def read_variable(state: Walker, site: Site) -> Value:
    """Read `Deno.env.get`."""
    key = site.arg(0)
    if not isinstance(key.constant, str):
        return labelled(frozenset(("env",)))
    return read_member_variable(state, site.node, key)


def read_variables(state: Walker, site: Site) -> Value:
    """Read `Deno.env.toObject`."""
    state.emit(Act.READ, site.node, "env", site.name)
    return labelled(frozenset(("env",)), ENVIRONMENT)


def assign(state: Walker, site: Site) -> Value:
    """Read `Object.assign`; into the environment it sets variables."""
    pairs = [
        pair
        for source in site.args
        for pair in zip(source.keys or (), source.items or (), strict=False)
    ]
    if site.arg(0).name == ENVIRONMENT:
        for key, value in pairs:
            set_variable(state, site.node, key.text, value)
        return site.arg(0)
    return mapping(pairs).named(site.labels())


def get_by_name(state: Walker, site: Site) -> Value | None:
    """Read `Reflect.get`, which is a member by another name."""
    return get_member(state, site.arg(0), site.node, replace(site.arg(1), plain=False))
