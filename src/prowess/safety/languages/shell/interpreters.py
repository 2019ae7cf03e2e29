"""Commands that run code: interpreters, `eval`, `source`, and files that are run by their path."""

import base64
import binascii
import re
from dataclasses import replace

from prowess.data import load_index, load_table
from prowess.safety.facts import Act
from prowess.safety.languages.shell import development as shell_packages
from prowess.safety.languages.shell import text as shell_data
from prowess.safety.languages.shell.state import (
    EMPTY,
    PROGRAMS,
    SHELL_OUTPUT,
    Argv,
    Datum,
    join,
    language_of,
    load_matcher,
    load_names,
    name_handlers,
    split_options,
    unknown,
)

_PERL_CODE = re.compile(r"-[a-zA-Z0-9]*[eE]$")
_URL_IN_CODE = re.compile(r"(?:https?|ftp)://[^\s'\"`)<>]{1,500}")
_AWK_SYSTEM = re.compile(
    r"system\s*\(\s*\"((?:[^\"\\]++|\\.){0,4000}+)\"|\"((?:[^\"\\]++"
    r"|\\.){0,4000}+)\"\s*\|\s*getline"
)
_ONLY_VARIABLE = re.compile(r"\s*\$[\w@*]+\s*$|\s*$")


_STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def _interpreter(call: Argv) -> Datum:
    """Run code given as an option, a file, or standard input."""
    language = load_index(PROGRAMS, "interpreters")[call.name]
    if language == "powershell":
        return _powershell(call)
    if (
        call.name == "bun"
        and call.texts[:1]
        and call.texts[0] in ("add", "install", "i", "create", "x")
    ):
        return shell_packages.manage(call)
    code, script, rest = _split(call, language)
    if call.name in ("python", "pypy", "py") and code is None and "-m" in call.texts[:4]:
        return shell_packages.run_module(call)
    if script is not None and language == "shell" and script.text.startswith("command:"):
        # The way in which some agents write a call of their own tool.
        code, rest = script.cut(len("command:")), []
    if code is not None:
        return _run_inline(call, code, language, rest)
    if script is not None and script.text not in _STANDARD_INPUT:
        return run_file(call, call.name, script, rest)
    return _run_input(call, language)


def _split(call: Argv, language: str) -> tuple[Datum | None, Datum | None, list[Datum]]:
    """Return the code, the script and the arguments after it."""
    if call.name == "osascript" and "-e" in call.texts:
        lines = split_options(call.args, "els").values("-e")
        return (join(lines, "\n") if lines else EMPTY), None, []
    args = call.args
    at = 0
    while at < len(args):
        text = args[at].text
        if not text.startswith(("-", "+")) or text in ("-", "--"):
            break
        if _takes_code(call.name, language, text):
            code = args[at + 1] if at + 1 < len(args) else EMPTY
            return code, None, args[at + 2 :]
        name, equals, _ = text.partition("=")
        if equals and name in _code_options(call.name):
            return args[at].cut(len(name) + 1), None, args[at + 1 :]
        if language == "shell" and "s" in text[1:] and not text.startswith("--"):
            return None, None, args[at + 1 :]
        at += 2 if text in load_names("interpreter_valued") else 1
    if at < len(args) and args[at].text == "--":
        at += 1
    return _verbs(call, args[at:], language) if at < len(args) else (None, None, [])


def _code_options(name: str) -> list[str]:
    return str(load_table(PROGRAMS, "code_options").get(name, "")).split()


def _takes_code(name: str, language: str, text: str) -> bool:
    if language == "shell":
        return not text.startswith("--") and text.endswith("c") and len(text) <= len("-xxxxc")
    if name in ("perl", "ruby", "jruby"):
        return bool(_PERL_CODE.match(text)) and not text.startswith("-I")
    return text in _code_options(name) or (
        name == "python" and bool(re.fullmatch(r"-[A-Za-z]{1,4}c", text))
    )


def _verbs(
    call: Argv, args: list[Datum], language: str
) -> tuple[Datum | None, Datum | None, list[Datum]]:
    """`deno run x`, `bun run x`, `deno eval code`."""
    if call.name not in ("deno", "bun") or args[0].text not in ("run", "eval", "x", "exec"):
        known = language == "shell" or "." in args[0].text or "/" in args[0].text or args[0].labels
        return (
            None,
            args[0] if known or args[0].text == "-" or call.name not in ("deno", "bun") else None,
            args[1:],
        )
    rest = split_options(args[1:], "cL --config --import-map").operands
    if not rest:
        return None, None, []
    return (rest[0], None, rest[1:]) if args[0].text == "eval" else (None, rest[0], rest[1:])


def _run_inline(call: Argv, code: Datum, language: str, rest: list[Datum]) -> Datum:
    tell_code(call, call.name, code)
    if language == "shell":
        kept = call.shell.arguments
        call.shell.arguments = tuple(rest[1:]) if rest else kept
        output = call.shell.run(code, call.stdin)
        call.shell.arguments = kept
        return output
    call.shell.snippet(
        language, code, call.incoming.labels.union(*(value.labels for value in rest))
    )
    return _find_printed(code, call.incoming)


def tell_code(call: Argv, subject: str, code: Datum) -> None:
    """Note that code from elsewhere runs; code that stands here tells its own facts."""
    if is_foreign(code) or (not code.known and not code.text.strip()):
        call.tell(Act.EXEC, subject, code.source, code.labels)


def is_foreign(code: Datum) -> bool:
    """Whether code comes from elsewhere; an argument counts only where it is all of the code."""
    if code.labels & {"remote", "decoded"}:
        return True
    return "input" in code.labels and bool(_ONLY_VARIABLE.match(code.text))


def _find_printed(code: Datum, incoming: Datum) -> Datum:
    """Return what a one-line program prints, as far as its words tell."""
    labels = set(incoming.labels)
    source = incoming.source
    url = _URL_IN_CODE.search(code.text)
    if url and load_matcher("fetching").search(code.text):
        labels.add("remote")
        source = url[0]
    if load_matcher("decoding").search(code.text):
        labels.add("decoded")
    if load_matcher("environment").search(code.text):
        labels.add("env")
    return unknown(*labels, source=source)


def _run_input(call: Argv, language: str) -> Datum:
    if call.link and language == "shell":
        call.tell(Act.REVERSE_SHELL, call.name, call.link)
        return unknown(SHELL_OUTPUT)
    data = call.stdin
    if data is None:
        return unknown(SHELL_OUTPUT) if language == "shell" else EMPTY
    if is_foreign(data) or (data.labels and not data.text) or not (data.known or data.text):
        call.shell.tell(Act.EXEC, call.name, data.source, data.labels, piped=True)
    if data.text.strip() and (data.known or data.pieces):
        if language == "shell":
            return call.shell.run(data)
        call.shell.snippet(language, data, data.labels)
        return _find_printed(data, EMPTY)
    return unknown(SHELL_OUTPUT) if language == "shell" else unknown()


def run_file(call: Argv, subject: str, path: Datum, rest: list[Datum] | None = None) -> Datum:
    """Note that a file is run, with where its content came from."""
    shell = call.shell
    if path.source and not path.text:
        shell.tell(Act.EXEC, subject, path.source, path.labels, piped=True)
        return unknown(*call.incoming.labels)
    if path.text.startswith(("http://", "https://", "npm:", "jsr:")):
        call.tell(Act.FETCH, path.text)
        call.tell(Act.EXEC, subject, path.text, frozenset(("remote",)))
        return unknown()
    content = shell.read_file(path.text)
    labels = frozenset(
        label
        for label in content.labels
        if not label.startswith(("file:", "credential:", "memory"))
    )
    call.tell(Act.EXEC, subject, path.text, labels | (path.labels & {"remote", "decoded"}))
    if "remote" not in labels:
        _note_import(call, path.text)
    if (
        content.known
        and content.text.strip()
        and content.pieces
        and not language_of(path.text, content.text)
    ):
        shell.snippet(load_index(PROGRAMS, "interpreters").get(subject, "shell"), content, labels)
    passed = call.incoming.labels.union(*(value.labels for value in rest or []))
    return unknown(*passed)


def _note_import(call: Argv, path: str) -> None:
    name = re.sub(r"^\$\{?\w+\}?/", "", path)
    name = name.removeprefix("./")
    if name and not name.startswith(("/", "~", "$", "-", "<")) and len(name) <= _MAX_NAME:
        call.shell.ledger.imports[name] = None


_MAX_NAME = 200


def find_fetched(call: Argv, first: Datum) -> Datum | None:
    """Return the path of a command that this text has put into a folder of programs."""
    if not call.shell.files or "/" in first.text:
        return None
    for folder in load_table(PROGRAMS, "names", "program_folders").split():
        held = call.shell.stored(folder + first.text)
        if held is not None and "remote" in held.labels:
            return Datum(folder + first.text)
    return None


def _source(call: Argv) -> Datum:
    if call.args and call.args[0].text in _STANDARD_INPUT:
        return _run_input(replace(call, name="source"), "shell")
    return run_file(call, "source", call.args[0], call.args[1:]) if call.args else EMPTY


def _eval(call: Argv) -> Datum:
    if not call.args:
        return EMPTY
    code = join(call.args, " ")
    tell_code(call, "eval", code)
    return call.shell.run(code, call.stdin)


def _trap(call: Argv) -> None:
    operands = split_options(call.args).operands
    if len(operands) > 1:
        call.shell.run(operands[0])


_POWERSHELL_FLAGS = (
    ("encoded", re.compile(r"[-/]e(?:c|nc[a-z]*)?$")),
    ("code", re.compile(r"[-/]c(?:o[a-z]*)?$|/k$|//c$")),
    ("file", re.compile(r"[-/]f(?:i[a-z]*)?$")),
)


def _powershell(call: Argv) -> Datum:
    for at, value in enumerate(call.args[:-1]):
        flag = value.text.lower()
        rest = call.args[at + 1 :]
        kind = next((kind for kind, told in _POWERSHELL_FLAGS if told.match(flag)), "")
        if kind == "encoded" and call.name != "cmd":
            return _decode_command(call, rest[0])
        if kind == "code":
            return _run_inline(call, join(rest, " "), "powershell", [])
        if kind == "file" and call.name != "cmd":
            return run_file(call, call.name, rest[0])
    operands = [value for value in call.args if not value.text.startswith(("-", "/"))]
    if not operands or call.name == "cmd":
        return _run_input(call, "powershell")
    if operands[-1].text.endswith(".ps1"):
        return run_file(call, call.name, operands[-1])
    return _run_inline(call, join(operands, " "), "powershell", [])


def _decode_command(call: Argv, blob: Datum) -> Datum:
    call.tell(Act.DECODE, "base64")
    call.tell(Act.EXEC, call.name, "", frozenset(("decoded",)))
    try:
        text = base64.b64decode(blob.text + "=" * (-len(blob.text) % 4)).decode("utf-16-le")
    except (binascii.Error, ValueError):
        return EMPTY
    start = blob.pieces[0][0] if blob.pieces else call.shell.start
    code = replace(blob, text=text, pieces=((start, len(text), False),), steps=("base64",))
    call.shell.snippet("powershell", code, frozenset(("decoded",)))
    return _find_printed(code, EMPTY)


def _awk(call: Argv) -> Datum:
    program = next((value for value in call.args if not value.text.startswith("-")), EMPTY)
    if "system" in program.text or "getline" in program.text:
        for found in _AWK_SYSTEM.finditer(program.text):
            group = 1 if found[1] is not None else 2
            call.shell.run(program.cut(*found.span(group)), call.stdin)
    return shell_data.read_program(call)


def _open(call: Argv) -> None:
    for path in split_options(call.args, "ab").operands:
        content = call.shell.read_file(path.text)
        if "remote" in content.labels and not path.text.startswith("http"):
            call.tell(Act.EXEC, call.name, path.text, content.labels)


def _mount(call: Argv) -> None:
    operands = split_options(call.args).operands
    if operands[:1] and operands[0].text in ("attach", "mount"):
        for path in operands[1:]:
            content = call.shell.read_file(path.text)
            if "remote" in content.labels:
                call.shell.unpacked["/Volumes"] = content


HANDLERS = name_handlers(
    _awk, _interpreter, _source, _eval, _trap, _open, _mount,
)  # fmt: skip
