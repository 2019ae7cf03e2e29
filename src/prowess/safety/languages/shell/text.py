"""Commands that print, pass on, change, encode, decode, pack and unpack text."""

import re
from collections import deque
from dataclasses import replace
from itertools import pairwise

from prowess.data import load_table
from prowess.safety.facts import Act, narrow_to_entry
from prowess.safety.languages.decoding import decode_base, decode_hex, translate
from prowess.safety.languages.shell.state import (
    EMPTY,
    NOTHING,
    PROGRAMS,
    Argv,
    Datum,
    Options,
    join,
    load_names,
    name_handlers,
    set_environment,
    split_options,
    tell_place,
    unknown,
    write_file,
)
from prowess.safety.languages.shell.words import unescape
from prowess.safety.paths import is_agent_path

_FORMAT = re.compile(r"%%|%[-+ 0#]{0,4}\d{0,4}(?:\.\d{0,4})?([sbdqxXioufegc])")
_MAX_FORMAT = 20_000
# The name that `mktemp` would make; nothing is written there.
_TEMPORARY = "/tmp/tmp.XXXXXX"  # noqa: S108


def _say_nothing(_call: Argv) -> Datum:
    return unknown()


def _do_nothing(_call: Argv) -> None:
    return


def _echo(call: Argv) -> Datum:
    args = list(call.args)
    escapes = False
    while args and re.fullmatch(r"-[neE]{1,3}", args[0].text):
        escapes = escapes or "e" in args.pop(0).text
    value = join(args, " ") if args else EMPTY
    return rewrite(value, unescape(value.text)) if escapes else value


def rewrite(value: Datum, text: str, *steps: str) -> Datum:
    """Return `value` with another text at the same place; with `steps` it was hidden before."""
    if text == value.text:
        return value
    start = value.pieces[0][0] if value.pieces else 0
    pieces = ((start, len(text), False),) if value.pieces else ()
    labels = value.labels | {"decoded"} if steps else value.labels
    return replace(value, text=text, pieces=pieces, steps=(*value.steps, *steps), labels=labels)


def _printf(call: Argv) -> Datum:
    args = call.args
    if args and args[0].text == "--":
        args = args[1:]
    if args and args[0].text == "-v":
        result = _format(args[2:]) if args[2:] else EMPTY
        if args[1:]:
            call.shell.variables[args[1].text] = result
        return EMPTY
    return _format(args) if args else EMPTY


def _format(args: list[Datum]) -> Datum:
    pattern, rest = args[0], args[1:]
    if len(rest) == 1 and pattern.text.strip() in ("%s", "%s\\n", "%b", "%b\\n", "%s\\n\\n"):
        text = rest[0].text
        return rewrite(rest[0], unescape(text) if "%b" in pattern.text else text)
    escaped = unescape(pattern.text)
    whole = join([pattern, *rest])
    # Text written as character codes is hidden as much as text in base64.
    coded = "\\x" in pattern.text or re.search(r"\\0?[0-7]{3}", pattern.text)
    if "%" not in escaped:
        return rewrite(
            replace(pattern, labels=whole.labels), escaped, *(["escapes"] if coded else [])
        )
    escapes = "%b" in pattern.text
    queue = deque(unescape(value.text) if escapes else value.text for value in rest)
    text = ""
    while len(text) < _MAX_FORMAT:
        text += _FORMAT.sub(lambda found: _take_argument(found, queue), escaped)
        if not queue or not _FORMAT.search(escaped.replace("%%", "")):
            break
    return rewrite(replace(whole, text=""), text)


def _take_argument(found: re.Match[str], queue: deque[str]) -> str:
    if found[0] == "%%":
        return "%"
    return queue.popleft() if queue else ""


def read_operands(call: Argv, operands: list[Datum]) -> Datum:
    """Return what the operands hold, or what comes in where there are none."""
    values = [call.incoming if path.text == "-" else call.read(path) for path in operands]
    return join(values) if values else call.incoming


def _cat(call: Argv) -> Datum:
    return read_operands(call, split_options(call.args).operands)


def _pass_on(call: Argv, operands: list[Datum]) -> Datum:
    data = read_operands(call, operands)
    return unknown(*data.labels, source=data.source)


def _filter(call: Argv) -> Datum:
    """A command that reads files or input and prints some of it."""
    # The same letter takes a value in one and none in another: `head -c 60`, `uniq -c`.
    known = load_table(PROGRAMS, "options").get(call.name, "ktnFfdw")
    return _pass_on(call, split_options(call.args, known).operands)


def _searcher(call: Argv) -> Datum:
    """`grep` and kin: a pattern first, then files."""
    given = split_options(call.args, "efmABCdDgt --regexp --file --glob --type")
    files = given.operands if given.has("-e -f --regexp") else given.operands[1:]
    if given.has("-q --quiet -c --count -l --files-with-matches -L"):
        return unknown()
    found = _pass_on(call, files)
    pattern = given.first("-e --regexp") or (given.operands[0] if given.operands else EMPTY)
    return _narrow_to(found, _ONE_VARIABLE.findall(pattern.text))


def read_program(call: Argv) -> Datum:
    """Read `sed`, `awk`, `jq`: a program first, then files."""
    args, extra = _jq_arguments(call.args) if call.name == "jq" else (call.args, NOTHING)
    letters = {"jq": "", "sed": "ef"}.get(call.name, "efFvi")
    named = "--arg --argjson --slurpfile --rawfile --expression --file --args"
    given = split_options(args, f"{letters} {named}")
    files = given.operands if given.has("-e -f --expression --file") else given.operands[1:]
    if call.name in ("sed", "gsed", "perl") and given.has("-i --in-place"):
        _edit_in_place(call, given, files)
        return EMPTY
    if given.has("-n --null-input") and call.name == "jq":
        return Datum("", extra, known=False)
    found = _pass_on(call, files).with_labels(*extra)
    program = given.operands[0].text if given.operands else ""
    path = _ONE_ENTRY.match(program) if call.name in ("jq", "gojq") else None
    return _narrow_to(found, path[1].split(".")[1:] if path else [])


# `.skills.entries.tool.apiKey // empty`, and `^TOOL_KEY=`: one entry among all.
_ONE_ENTRY = re.compile(r"((?:\.[A-Za-z][\w-]*)+)\s*(?://.*)?$")
_ONE_VARIABLE = re.compile(r"^\^?(?:\(?export )?([A-Z][A-Z0-9_]{3,})=?$")


def _narrow_to(data: Datum, entries: list[str]) -> Datum:
    labels = data.labels
    for entry in entries:
        labels = narrow_to_entry(labels, entry)
    return replace(data, labels=labels)


def _jq_arguments(args: list[Datum]) -> tuple[list[Datum], frozenset[str]]:
    """Return the arguments without `--arg NAME VALUE`, and the labels of the values."""
    rest: list[Datum] = []
    labels: frozenset[str] = NOTHING
    at = 0
    while at < len(args):
        if args[at].text in ("--arg", "--argjson", "--slurpfile", "--rawfile"):
            labels = labels.union(*(value.labels for value in args[at + 1 : at + 3]))
            at += 3
        else:
            rest.append(args[at])
            at += 1
    return rest, labels


def _edit_in_place(call: Argv, given: Options, files: list[Datum]) -> None:
    script = given.first("-e --expression") or (given.operands[0] if given.operands else EMPTY)
    for path in files:
        if path.text and not path.text.startswith("s/"):
            call.tell(Act.WRITE, path.text, "", script.labels)
            tell_place(call.shell, path.text, replace(script, known=False))


def _tee(call: Argv) -> Datum:
    given = split_options(call.args)
    for path in given.operands:
        write_file(call.shell, path, call.incoming, append=given.has("-a --append"))
    return call.incoming


def _read(call: Argv) -> None:
    given = split_options(call.args, "pdnNtuia")
    data = call.stdin if call.stdin is not None else unknown("input")
    for value in given.operands or [Datum("REPLY")]:
        call.shell.variables[value.text] = replace(
            data, text=data.text if data.known else f"${value.text}"
        )


def read_environment(call: Argv) -> Datum:
    """Return the whole environment, and note that it is read."""
    if not call.alone:
        call.tell(Act.READ, "env", call.name)
    return unknown("env", source="env")


def _printenv(call: Argv) -> Datum:
    if not call.args:
        return read_environment(call)
    labels = [f"env:{text}" for text in call.texts if not text.startswith("-")]
    for label in labels:
        call.tell(Act.READ, label, label.partition(":")[2])
    return unknown(*labels)


def _set_text(call: Argv) -> Datum:
    texts = call.texts
    if not texts:
        return read_environment(call)
    if texts[:2] == ["+o", "history"]:
        call.tell(Act.DISABLE, "history")
    elif texts[0] == "--":
        call.shell.arguments = tuple(call.args[1:])
    return EMPTY


def _declare(call: Argv) -> Datum:
    exported = call.name == "export" or any(t.startswith("-") and "x" in t for t in call.texts[:1])
    if not call.args or call.texts[0] == "-p":
        return read_environment(call) if call.name in ("export", "declare", "typeset") else EMPTY
    for value in call.args:
        name, equals, text = value.text.partition("=")
        if not equals or not name.rstrip("+").isidentifier():
            if exported and (held := call.shell.variable(value.text)):
                set_environment(call.shell, value.text, held)
            continue
        name = name.rstrip("+")
        call.shell.variables[name] = value.cut(len(value.text) - len(text))
        if exported:
            set_environment(call.shell, name, call.shell.variables[name])
    return EMPTY


def _unset(call: Argv) -> None:
    for text in call.texts:
        call.shell.variables.pop(text, None)
        if text in ("HISTFILE", "HISTSIZE"):
            call.tell(Act.DISABLE, "history", text)


def _mktemp(call: Argv) -> Datum:
    operands = split_options(call.args, "pt").operands
    name = operands[0].text if operands else _TEMPORARY
    return unknown(text=name)


def _path_part(call: Argv) -> Datum:
    operands = split_options(call.args, "s").operands
    if not operands:
        return EMPTY
    head, _, tail = operands[0].text.rstrip("/").rpartition("/")
    part = {"basename": tail, "dirname": head or "."}.get(call.name, operands[0].text)
    if call.name == "basename" and len(operands) > 1:
        part = part.removesuffix(operands[1].text)
    return Datum(part, operands[0].labels, known=operands[0].known)


def _host(_call: Argv) -> Datum:
    return unknown("host", source="host")


def _clipboard(call: Argv) -> Datum:
    pasted = call.name in ("pbpaste", "wl-paste", "Get-Clipboard") or any(
        text in ("-o", "-out", "--output") for text in call.texts
    )
    if not pasted:
        return EMPTY
    if not call.alone:
        call.tell(Act.READ, "clipboard", call.name)
    return unknown("clipboard", source="clipboard")


def _history(call: Argv) -> Datum:
    if any(text in ("-c", "-cw", "-d", "-p") for text in call.texts[:1]):
        call.tell(Act.WIPE, "history")
        return EMPTY
    if call.texts[:1] in (["-w"], ["-a"], ["-r"]):
        return EMPTY
    if not call.alone:
        call.tell(Act.READ, "history", call.name)
    return unknown("history", source="history")


def _alias(call: Argv) -> None:
    for value in call.args:
        name, equals, text = value.text.partition("=")
        if equals:
            body = value.cut(len(value.text) - len(text))
            call.shell.aliases[name] = body
            call.shell.run(body)


def _list(call: Argv) -> Datum:
    operands = split_options(call.args, "IwT").operands
    labels = [
        f"file:{path.text}" if not is_agent_path(path.text) else "memory" for path in operands[:8]
    ]
    return unknown(*labels)


def _decode(call: Argv, data: Datum, encoding: str, text: str | None) -> Datum:
    call.tell(Act.DECODE, encoding, "", data.labels)
    if text is None or not data.known:
        return unknown("decoded", *data.labels, source=data.source)
    start = data.pieces[0][0] if data.pieces else call.shell.start
    return Datum(
        text, data.labels | {"decoded"}, data.source, known=True,
        pieces=((start, len(text), False),), steps=(*data.steps, encoding),
    )  # fmt: skip


def _base64(call: Argv) -> Datum:
    given = split_options(call.args, "iwbo --wrap --break --input --output")
    data = read_operands(call, given.values("-i --input") or given.operands)
    if not given.has("-d -D --decode"):
        return unknown(*data.labels, source=data.source)
    return _decode(call, data, call.name, decode_base(data.text, call.name) if data.known else None)


def _openssl(call: Argv) -> Datum:
    verb = call.texts[0] if call.args else ""
    if verb == "s_client":
        from_host = next((b.text for a, b in pairwise(call.args) if a.text == "-connect"), "")
        call.tell(Act.FETCH, from_host)
        if call.incoming.labels:
            call.tell(Act.SEND, from_host, "tcp", call.incoming.labels)
        return unknown("remote", source=from_host)
    texts = call.texts
    data = call.incoming
    if "-in" in texts[:-1]:
        data = call.read(call.args[texts.index("-in") + 1])
    if verb not in ("base64", "enc") and not verb.startswith(("aes", "des", "bf")):
        return unknown()
    if "-d" not in texts:
        return _to_file(call, unknown(*data.labels, source=data.source), "-out")
    plain = verb == "base64" or (("-base64" in texts or "-a" in texts) and len(texts) <= _PLAIN_ENC)
    text = decode_base(data.text, "base64") if plain and data.known else None
    return _to_file(call, _decode(call, data, "base64" if plain else "cipher", text), "-out")


def _to_file(call: Argv, output: Datum, *flags: str) -> Datum:
    """Write the output to the file that an option names, if one does."""
    for flag, path in pairwise(call.args):
        if flag.text in flags:
            write_file(call.shell, path, output)
            return EMPTY
    return output


_PLAIN_ENC = 5


def _xxd(call: Argv) -> Datum:
    given = split_options(call.args, "lscgo")
    data = read_operands(call, given.operands)
    if not any(text.startswith(("-r", "-pr", "-ps -r")) for text in call.texts):
        return unknown(*data.labels, source=data.source)
    return _decode(call, data, "hex", decode_hex(data.text) if data.known else None)


def _rev(call: Argv) -> Datum:
    data = read_operands(call, split_options(call.args).operands)
    if not data.known or not data.text:
        return unknown(*data.labels, source=data.source)
    return _decode(call, data, "reversed", "\n".join(line[::-1] for line in data.text.split("\n")))


def _tr(call: Argv) -> Datum:
    data = call.incoming
    given = split_options(call.args)
    if given.has("-s -c -C") or not data.known or not data.text or not given.operands:
        return unknown(*data.labels, source=data.source)
    sets = [value.text for value in given.operands[:2]]
    if given.has("-d"):
        return rewrite(data, translate(data.text, sets[0], None))
    text = translate(data.text, sets[0], sets[1]) if len(sets) > 1 else data.text
    return _decode(call, data, "characters", text) if text != data.text else data


def _unpacker(call: Argv) -> Datum:
    """`gunzip`, `xz -d`, `uudecode`: what comes out was packed."""
    given = split_options(call.args, "oSr --output --recipient --passphrase")
    data = read_operands(call, given.operands)
    unpacks = "-d --decompress --decode --decrypt --uncompress"
    packs = call.name in load_names("packers") and not given.has(unpacks)
    if not packs:
        call.tell(Act.DECODE, call.name, "", data.labels)
    output = unknown(*data.labels, *(() if packs else ("decoded",)), source=data.source)
    ending = load_table(PROGRAMS, "packed").get(call.name, "")
    if ending and given.operands and not given.has("-c --stdout"):
        name = given.operands[0].text
        call.shell.store(name + ending if packs else name.removesuffix(ending), output)
        output = EMPTY if packs else output
    return _to_file(call, output, "-o", "--output")


HANDLERS = name_handlers(
    _do_nothing, _say_nothing, _filter, _searcher, read_program, _host, _path_part, _clipboard,
    _read, _declare, _echo, _tee, _history, _list, _printf, _cat, _printenv, _set_text, _unset,
    _mktemp, _alias, _base64, _unpacker, _openssl, _xxd, _rev, _tr,
)  # fmt: skip
