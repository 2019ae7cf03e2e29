"""Which handler tells what a command does: names, paths, prefixes such as `sudo`, and the rest."""

import re
from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatchcase

from prowess.safety.facts import Act
from prowess.safety.languages.shell import development as shell_tools
from prowess.safety.languages.shell import interpreters as shell_code
from prowess.safety.languages.shell import network as shell_network
from prowess.safety.languages.shell import shell_coding, shell_files, shell_packages, shell_remote
from prowess.safety.languages.shell import system as shell_system
from prowess.safety.languages.shell import text as shell_data
from prowess.safety.languages.shell.shell_options import options
from prowess.safety.languages.shell.state import (
    EMPTY,
    NOTHING,
    Call,
    Value,
    fill,
    set_environment,
    unknown,
)

_STANDARD = re.compile(
    r"(?:/usr(?:/local)?|/opt/homebrew|/system|)/s?bin/([^/]+)$|/mnt/c/.*/([^/]+)$"
)
_LOCAL_SCRIPT = re.compile(r"(?:\.{1,2}/|/[^/]+/|~/|\$\{?\w+\}?/|/\w[\w-]*\.\w|[\w.-]+/)")
# What stands in lists of files, not in lists of commands.
_DATA_FILE = re.compile(
    r"/$|\.\.\.|://|[#?]|^/dev/"
    r"|\.(?:md|txt|json\w*|ya?ml|toml|csv|tsv|onnx|so|html?|xml|ini|cfg|conf|log|png"
    r"|jpe?g|svg|pdf|lock|pt|engine|md5|sum|db)$"
)
_MAX_GLOB = 40
_GLOB = re.compile(r"[*?\[]")
# Commands that a pattern such as `/???/b??h` may stand for, the usual ones first.
_GLOB_NAMES = (
    "sh",
    "bash",
    "cat",
    "curl",
    "wget",
    "nc",
    "python3",
    "python",
    "perl",
    "base64",
    "rm",
    "zsh",
    "dash",
)

Handler = Callable[[Call], Value]
_HANDLERS: dict[str, Handler] = {
    **shell_data.HANDLERS,
    **shell_coding.HANDLERS,
    **shell_files.HANDLERS,
    **shell_network.HANDLERS,
    **shell_remote.HANDLERS,
    **shell_system.HANDLERS,
    **shell_tools.HANDLERS,
    **shell_packages.HANDLERS,
    **shell_code.HANDLERS,
}


def known_command(name: str) -> bool:
    """Whether a command of that name is understood."""
    return name in _HANDLERS


def can_run(path: str) -> bool:
    """Whether a path at the head of a command names a program, not a file of data or a link."""
    return bool(_LOCAL_SCRIPT.match(path)) and not _DATA_FILE.search(path)


def dispatch(call: Call) -> Value:
    """Run `call.args` and return what it prints."""
    first = call.args[0]
    name = _name(first.text)
    alias = call.shell.aliases.get(name)
    if alias is not None and alias.known and call.shell.depth == 0:
        words = [replace(alias, text=word, pieces=()) for word in alias.text.split()[:64]]
        call.args = [*words, *call.args[1:]]
        name = _name(words[0].text) if words else name
    handler = _HANDLERS.get(name)
    if handler is None:
        return _other(call, first, name)
    inner = Call(call.shell, name, call.args[1:], call.stdin, call.link)
    return handler(inner)


def _name(text: str) -> str:
    standard = _STANDARD.match(text) if "/" in text else None
    name = (standard[1] or standard[2]) if standard else text
    name = name.removesuffix(".exe").removesuffix(".EXE")
    if _GLOB.search(name) and len(name) < _MAX_GLOB:
        pattern = name.rpartition("/")[2]
        return next((known for known in _GLOB_NAMES if fnmatchcase(known, pattern)), name)
    return name if name in _HANDLERS else _versionless(name)


def _versionless(name: str) -> str:
    bare = name.rstrip("0123456789.")
    return bare if bare in ("python", "pip", "ruby", "perl", "php", "node", "lua") else name


def _other(call: Call, first: Value, name: str) -> Value:
    """A command without a handler: a file of the skill, a computed name, or an unknown program."""
    if shell_code.is_foreign(first):
        call.tell(Act.EXEC, "shell", first.source or first.text, first.labels)
        return unknown(*call.incoming.labels)
    shell_system.tell_miner(call, name)
    program = first if "/" in name and can_run(name) else shell_code.fetched_program(call, first)
    if program is not None:
        return shell_code.run_file(call, "shell", program, call.args[1:])
    shell_system.tell_agent_flags(call)
    incoming = call.incoming
    return unknown(*incoming.labels, source=incoming.source) if incoming.labels else unknown()


def _prefix(call: Call, short: str = "", long: frozenset[str] = NOTHING, skip: int = 0) -> Value:
    """Run the command after the options of a prefix and `skip` operands."""
    at = 0
    while at < len(call.args) and call.args[at].text.startswith("-"):
        text = call.args[at].text
        at += 1
        if text == "--":
            break
        if text in long or (not text.startswith("--") and text[-1:] in short and text[1:]):
            at += 1
    rest = call.args[at + skip :]
    if not rest:
        return EMPTY
    return (
        dispatch(Call(call.shell, "", rest, call.stdin, call.link))
        if not _function(call, rest)
        else call.shell.invoke(rest, call.stdin)
    )


def _function(call: Call, rest: list[Value]) -> bool:
    return rest[0].text in call.shell.functions


def _sudo(call: Call) -> Value:
    texts = call.texts
    flags = (
        [text for text in texts if text.startswith("-")]
        if texts[:1] and texts[0][:1] == "-"
        else []
    )
    rest = _strip_assignments(call)
    if any(not value.text.startswith("-") for value in rest):
        call.tell(Act.PRIVILEGE, "sudo-stdin" if "-S" in flags[:2] else "sudo", " ".join(texts[:6]))
    return _prefix(
        replace(call, args=rest), "ugphCDRTU", frozenset(("--user", "--group", "--prompt"))
    )


def _env(call: Call) -> Value:
    rest = _strip_assignments(call)
    if not rest:
        return shell_data.environment(call)
    split = options(rest, "uCS", frozenset(("--unset", "--chdir", "--split-string")))
    text = split.first("-S", "--split-string")
    if text is not None:
        return call.shell.run(text, call.stdin)
    return _prefix(replace(call, args=rest), "uC", frozenset(("--unset", "--chdir")))


def _strip_assignments(call: Call) -> list[Value]:
    """Note `NAME=value` between a prefix and its command, and return the arguments without them."""
    rest: list[Value] = []
    for at, value in enumerate(call.args):
        name, equals, _ = value.text.partition("=")
        if equals and name.isidentifier():
            set_environment(call.shell, name, value.cut(len(name) + 1))
        elif value.text.startswith("-"):
            rest.append(value)
        else:
            return [*rest, *call.args[at:]]
    return rest


def _plain(call: Call) -> Value:
    return _prefix(call, "nckaopieI")


def _timeout(call: Call) -> Value:
    return _prefix(call, "ks", frozenset(("--signal", "--kill-after")), skip=1)


def _one_operand(call: Call) -> Value:
    return _prefix(call, "wEo", skip=1)


def _command(call: Call) -> Value:
    if any(text in ("-v", "-V") for text in call.texts[:1]):
        return EMPTY
    return _prefix(call)


def _exec(call: Call) -> Value:
    return _prefix(call, "a") if call.args else EMPTY


def _xargs(call: Call) -> Value:
    at = 0
    replaced = ""
    while at < len(call.args) and call.args[at].text.startswith("-"):
        text = call.args[at].text
        at += 1
        if text[:2] in ("-I", "-J"):
            replaced = text[2:] or (call.args[at].text if at < len(call.args) else "")
            at += not text[2:]
        elif text in (
            "-n",
            "-P",
            "-L",
            "-d",
            "-s",
            "-E",
            "--max-args",
            "--max-procs",
            "--delimiter",
        ):
            at += 1
    rest = call.args[at:]
    items = _items(call.incoming)
    if replaced and replaced in " ".join(value.text for value in rest):
        args = _fill(call, rest, replaced, items)
    else:
        args = [*rest, *items]
    return call.shell.invoke(args, None) if rest else EMPTY


def _items(incoming: Value) -> list[Value]:
    if incoming.known:
        return [replace(incoming, text=text, pieces=()) for text in incoming.text.split()[:32]]
    return [replace(incoming, pieces=())]


def _fill(call: Call, rest: list[Value], mark: str, items: list[Value]) -> list[Value]:
    """Put what comes in where `mark` stands; inside code by a variable, to keep its labels."""
    item = items[0] if items else EMPTY
    if any(value.text in ("-c", "-lc", "-ec") for value in rest):
        call.shell.variables["xargs_item"] = replace(item, text=item.text if item.known else mark)
        item = Value("${xargs_item}")
    return [fill(value, mark, item) for value in rest]


def _shell_text(call: Call) -> Value:
    """Commands whose operand is shell code: `su -c`, `script -c`, `watch`, `parallel`."""
    given = options(call.args, "cstgu", frozenset(("--command", "--session-command")))
    code = given.first("-c", "--command", "--session-command")
    if code is not None:
        return call.shell.run(code, call.stdin)
    if call.name in ("watch", "parallel", "hyperfine", "entr") and given.operands:
        return call.shell.invoke(given.operands, call.stdin)
    return EMPTY


_HANDLERS.update({
    "sudo": _sudo, "doas": _sudo, "pkexec": _sudo, "env": _env, "nohup": _plain, "time": _plain,
    "nice": _plain, "ionice": _plain,
    "setsid": _plain, "stdbuf": _plain, "unbuffer": _plain, "caffeinate": _plain,
    "builtin": _plain, "busybox": _plain,
    "toybox": _plain, "noglob": _plain, "nocorrect": _plain, "then": _plain, "coproc": _plain,
    "strace": _plain,
    "proxychains": _plain, "proxychains4": _plain, "torsocks": _plain, "torify": _plain,
    "winpty": _plain, "arch": _plain,
    "command": _command, "exec": _exec, "timeout": _timeout, "gtimeout": _timeout,
    "flock": _one_operand, "chroot": _one_operand,
    "xargs": _xargs, "gxargs": _xargs, "su": _shell_text, "runuser": _shell_text,
    "script": _shell_text, "watch": _shell_text,
    "parallel": _shell_text, "hyperfine": _shell_text, "entr": _shell_text,
})  # fmt: skip
