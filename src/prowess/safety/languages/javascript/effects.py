"""What well-known JavaScript functions do to the machine: processes, files, code, decoding."""

import ast
from urllib.parse import unquote

from prowess.safety.facts import Act
from prowess.safety.languages.code import calls, io
from prowess.safety.languages.code.effects import unpack
from prowess.safety.languages.code.functions import replace_callee
from prowess.safety.languages.code.state import Site, Walker
from prowess.safety.languages.code.values import (
    NO_LABELS,
    UNKNOWN,
    Value,
    labelled,
    labels_of,
    mapping,
    replace,
)
from prowess.safety.languages.javascript.members import (
    DECODED,
    ENVIRONMENT,
    HARMLESS,
    INPUT,
    SOCKET,
    find_host,
    get_member,
    set_variable,
    words,
)
from prowess.safety.languages.javascript.members import read_variable as read_member_variable

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


def run_deno(state: Walker, site: Site) -> Value:
    """Read `Deno.run({cmd: […]})`."""
    return run_process(state, replace_callee(site, UNKNOWN, (site.keywords.get("cmd", UNKNOWN),)))


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


def run_as_root(state: Walker, site: Site) -> Value:
    """Read a command that is run as the administrator."""
    state.emit(Act.PRIVILEGE, site.node, "sudo")
    return run_shell(state, site)


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


def permit(state: Walker, site: Site) -> Value:
    """Read a change of permissions."""
    mode = site.arg(1)
    number = mode.constant
    shown = f"{number:o}" if isinstance(number, int) else mode.text.removeprefix("0o")
    state.emit(Act.PERMISSION, site.node, shown, site.arg(0).text)
    return UNKNOWN


def decode_base64(state: Walker, site: Site) -> Value:
    """Read `atob`."""
    return unpack(state, site, "base64", site.arg(0))


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


def inflate(state: Walker, site: Site) -> Value:
    """Read a decompression."""
    return unpack(state, site, "zlib", site.arg(0))


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


def find_home(_state: Walker, site: Site) -> Value:
    """Read the home folder."""
    return Value(constant="~", node=site.node)


def find_temporary(_state: Walker, site: Site) -> Value:
    """Read the folder for temporary files."""
    # Only a name in somebody else's program: nothing is written there.
    return Value(constant="/tmp", node=site.node)  # noqa: S108


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


def ask_user(state: Walker, _site: Site) -> Value:
    """Read what the user is asked."""
    return labelled(INPUT | state.outside)


def revive(state: Walker, site: Site) -> Value:
    """Read a format that brings code to life."""
    state.emit(Act.DESERIALISE, site.node, site.name.partition(".")[0], "", site.labels())
    return labelled(site.labels())


def become(state: Walker, site: Site) -> Value:
    """Read a change of the user."""
    state.emit(Act.PRIVILEGE, site.node, "setuid")
    return UNKNOWN


def start_at_login(state: Walker, site: Site) -> Value:
    """Read a program that asks to be started at login."""
    state.emit(Act.PERSIST, site.node, "autostart", site.name)
    return UNKNOWN
