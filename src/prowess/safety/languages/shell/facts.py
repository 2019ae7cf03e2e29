"""Facts of a shell text: its commands are walked in order, and each tells what it does.

A command is told by its name, its path, or a prefix such as `sudo`; what no table knows is a file
of the skill, a computed name or an unknown program.
"""

import re
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache

from prowess.data import load_table
from prowess.reading.views import View
from prowess.safety.facts import Act, Reading
from prowess.safety.languages.shell import development, interpreters, network, system
from prowess.safety.languages.shell import text as texts
from prowess.safety.languages.shell.expansion import Streams, expand, expand_one, open_streams
from prowess.safety.languages.shell.state import (
    EMPTY,
    NOTHING,
    PROGRAMS,
    Argv,
    Datum,
    Handler,
    Hooks,
    Ledger,
    Shell,
    fill,
    find_row,
    join,
    load_matcher,
    load_names,
    name_handlers,
    set_environment,
    split_options,
    unknown,
)
from prowess.safety.languages.shell.syntax import parse
from prowess.safety.languages.shell.words import Assignment, Command, Compound, Pipeline

_STANDARD = re.compile(
    r"(?:/usr(?:/local)?|/opt/homebrew|/system|)/s?bin/([^/]+)$|/mnt/c/.*/([^/]+)$"
)
_LOCAL_SCRIPT = re.compile(r"(?:\.{1,2}/|/[^/]+/|~/|\$\{?\w+\}?/|/\w[\w-]*\.\w|[\w.-]+/)")
_MAX_GLOB = 40
_GLOB = re.compile(r"[*?\[]")


def known_command(name: str) -> bool:
    """Whether a command of that name is understood."""
    return name in _handlers()


def can_run(path: str) -> bool:
    """Whether a path at the head of a command names a program, not a file of data or a link."""
    return bool(_LOCAL_SCRIPT.match(path)) and not load_matcher("data_files").search(path)


def dispatch(call: Argv) -> Datum:
    """Run `call.args` and return what it prints."""
    first = call.args[0]
    name = _name(first.text)
    alias = call.shell.aliases.get(name)
    if alias is not None and alias.known and call.shell.depth == 0:
        words = [replace(alias, text=word, pieces=()) for word in alias.text.split()[:64]]
        call.args = [*words, *call.args[1:]]
        name = _name(words[0].text) if words else name
    if name in load_names("serving"):
        network.tell_serving(call, name)
    if call.shell.unpacked and name in load_names("builders"):
        development.tell_build(call)
    handler = _handlers().get(name)
    if handler is None:
        return _call_other(call, first, name)
    inner = Argv(call.shell, name, call.args[1:], call.stdin, call.link)
    output = handler(inner)
    return output if output is not None else EMPTY


def _name(text: str) -> str:
    standard = _STANDARD.match(text) if "/" in text else None
    name = (standard[1] or standard[2]) if standard else text
    name = name.removesuffix(".exe").removesuffix(".EXE")
    if _GLOB.search(name) and len(name) < _MAX_GLOB:
        pattern = name.rpartition("/")[2]
        return next(
            (
                known
                for known in load_table(PROGRAMS, "names", "globbed").split()
                if fnmatchcase(known, pattern)
            ),
            name,
        )
    return name if name in _handlers() else _cut_version(name)


def _cut_version(name: str) -> str:
    bare = name.rstrip("0123456789.")
    return bare if bare in ("python", "pip", "ruby", "perl", "php", "node", "lua") else name


def _call_other(call: Argv, first: Datum, name: str) -> Datum:
    """A command without a handler: a file of the skill, a computed name, or an unknown program."""
    if interpreters.is_foreign(first):
        call.tell(Act.EXEC, "shell", first.source or first.text, first.labels)
        return unknown(*call.incoming.labels)
    system.tell_miner(call, name)
    program = first if "/" in name and can_run(name) else interpreters.find_fetched(call, first)
    if program is not None:
        return interpreters.run_file(call, "shell", program, call.args[1:])
    system.tell_agent_flags(call)
    incoming = call.incoming
    return unknown(*incoming.labels, source=incoming.source) if incoming.labels else unknown()


def _prefix(call: Argv, short: str = "", long: frozenset[str] = NOTHING, skip: int = 0) -> Datum:
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
    if rest[0].text in call.shell.functions:
        return call.shell.invoke(rest, call.stdin)
    return dispatch(Argv(call.shell, "", rest, call.stdin, call.link))


def _sudo(call: Argv) -> Datum:
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


def _env(call: Argv) -> Datum:
    rest = _strip_assignments(call)
    if not rest:
        return texts.read_environment(call)
    split = split_options(rest, "uCS --unset --chdir --split-string")
    text = split.first("-S --split-string")
    if text is not None:
        return call.shell.run(text, call.stdin)
    return _prefix(replace(call, args=rest), "uC", frozenset(("--unset", "--chdir")))


def _strip_assignments(call: Argv) -> list[Datum]:
    """Note `NAME=value` between a prefix and its command, and return the arguments without them."""
    rest: list[Datum] = []
    for at, value in enumerate(call.args):
        name, equals, _ = value.text.partition("=")
        if equals and name.isidentifier():
            set_environment(call.shell, name, value.cut(len(name) + 1))
        elif value.text.startswith("-"):
            rest.append(value)
        else:
            return [*rest, *call.args[at:]]
    return rest


def _prefixed(call: Argv) -> Datum:
    """Programs that run the command behind their own options and operands."""
    row = find_row("prefixes", call.name)
    words = row["valued"].split()
    return _prefix(call, words[0], frozenset(words[1:]), len(row.get("operands", "").split()))


def _command(call: Argv) -> Datum:
    if any(text in ("-v", "-V") for text in call.texts[:1]):
        return EMPTY
    return _prefix(call)


def _xargs(call: Argv) -> Datum:
    at = 0
    replaced = ""
    while at < len(call.args) and call.args[at].text.startswith("-"):
        text = call.args[at].text
        at += 1
        if text[:2] in ("-I", "-J"):
            replaced = text[2:] or (call.args[at].text if at < len(call.args) else "")
            at += not text[2:]
        elif text in load_names("xargs_valued"):
            at += 1
    rest = call.args[at:]
    items = _items(call.incoming)
    if replaced and replaced in " ".join(value.text for value in rest):
        args = _fill(call, rest, replaced, items)
    else:
        args = [*rest, *items]
    return call.shell.invoke(args, None) if rest else EMPTY


def _items(incoming: Datum) -> list[Datum]:
    if incoming.known:
        return [replace(incoming, text=text, pieces=()) for text in incoming.text.split()[:32]]
    return [replace(incoming, pieces=())]


def _fill(call: Argv, rest: list[Datum], mark: str, items: list[Datum]) -> list[Datum]:
    """Put what comes in where `mark` stands; inside code by a variable, to keep its labels."""
    item = items[0] if items else EMPTY
    if any(value.text in ("-c", "-lc", "-ec") for value in rest):
        call.shell.variables["xargs_item"] = replace(item, text=item.text if item.known else mark)
        item = Datum("${xargs_item}")
    return [fill(value, mark, item) for value in rest]


def _shell_text(call: Argv) -> Datum:
    """Commands whose operand is shell code: `su -c`, `script -c`, `watch`, `parallel`."""
    given = split_options(call.args, "cstgu --command --session-command")
    code = given.first("-c --command --session-command")
    if code is not None:
        return call.shell.run(code, call.stdin)
    if call.name in ("watch", "parallel", "hyperfine", "entr") and given.operands:
        return call.shell.invoke(given.operands, call.stdin)
    return EMPTY


_PREFIXES = name_handlers(
    _sudo, _env, _prefixed, _command, _xargs, _shell_text,
)  # fmt: skip
_MODULES = {
    "text": texts.HANDLERS,
    "interpreters": interpreters.HANDLERS,
    "system": system.HANDLERS,
    "network": network.HANDLERS,
    "development": development.HANDLERS,
    "facts": _PREFIXES,
}


@cache
def _handlers() -> dict[str, Handler]:
    """Return the function that reads each command, by the command's name."""
    return {
        name: _MODULES[module][kind]
        for module, kinds in load_table(PROGRAMS, "programs").items()
        for kind, names in kinds.items()
        for name in names.split()
    }


_MAX_CALLS = 3
_MAX_ITEMS = 8
_MAX_INNER_TEXTS = 5
_COST_OF_TEXT = 200
_MAX_OUTPUT = 100_000


def run_script(shell: Shell) -> None:
    """Run the text of `shell`, and then the functions that it never calls."""
    shell.hooks = Hooks(_run_inside, _run_text, _run_words)
    shell.ledger.room += 8 * len(shell.view.text)
    stdin = Datum("", shell.flow, known=False) if shell.flow else None
    _run_parsed(shell, stdin)


def _run_parsed(shell: Shell, stdin: Datum | None) -> Datum:
    script = parse(shell.view.text)
    ledger = shell.ledger
    ledger.texts += [shell.view.cut(start, end) for start, end in script.comments]
    if script.deep:
        ledger.unread["shell commands are nested too deeply"] = None
    if script.broken >= 0:
        ledger.unread["a quote or bracket is never closed"] = None
    output = _run_list(shell, script.body, stdin)
    for name, function in list(shell.functions.items()):
        if not shell.called.get(name) and function.start >= 0:
            shell.called[name] = _MAX_CALLS
            _run_list(shell, function.body, None)
    return output


def _run_text(shell: Shell, value: Datum, stdin: Datum | None) -> Datum:
    """Run a text that the shell would read as code: `bash -c`, `eval`, `trap`."""
    if shell.depth >= _MAX_INNER_TEXTS or shell.ledger.room < 0:
        shell.ledger.unread["shell code inside shell code goes too deep"] = None
        return EMPTY
    shell.ledger.room -= len(value.text) + _COST_OF_TEXT
    inner = Shell(
        shell.view_of(value),
        shell.ledger,
        outer=shell,
        files=shell.files,
        unpacked=shell.unpacked,
        aliases=shell.aliases,
        descriptors=shell.descriptors,
        folder=shell.folder,
        flow=shell.flow,
        depth=shell.depth + 1,
        loops=shell.loops,
        hooks=shell.hooks,
    )
    if shell.arguments is not None:
        inner.arguments = tuple(value.unplaced() for value in shell.arguments)
    # Functions keep their places in the text that defines them: they cannot be run from another.
    output = _run_parsed(inner, stdin.unplaced() if stdin is not None else None)
    for name, held in inner.variables.items():
        shell.variables[name] = held.unplaced()
    return output.unplaced()


def _run_words(shell: Shell, args: list[Datum], stdin: Datum | None) -> Datum:
    output = _call_function(shell, args, stdin)
    return output if output is not None else dispatch(Argv(shell, "", args, stdin))


def _run_inside(shell: Shell, body: list[Pipeline], stdin: Datum | None) -> Datum:
    kept = shell.start, shell.end, shell.pipeline, shell.folder
    output = _run_list(shell, body, stdin)
    shell.start, shell.end, shell.pipeline, shell.folder = kept
    return output


def _run_list(shell: Shell, body: list[Pipeline], stdin: Datum | None) -> Datum:
    outputs: list[Datum] = []
    size = 0
    for pipeline in body:
        output = _run_pipeline(shell, pipeline, stdin)
        size += len(output.text)
        if output is not EMPTY and size <= _MAX_OUTPUT:
            outputs.append(output)
        elif output.labels:
            outputs.append(replace(output, text="", known=False, pieces=()))
    return join(outputs) if outputs else EMPTY


def _run_pipeline(shell: Shell, pipeline: Pipeline, stdin: Datum | None) -> Datum:
    flowing = stdin
    kept = shell.pipeline
    shell.pipeline = pipeline.start
    for stage in pipeline.stages:
        if isinstance(stage, Command):
            flowing = _run_command(shell, stage, flowing)
        else:
            flowing = _run_group(shell, stage, flowing)
            shell.pipeline = pipeline.start
    shell.pipeline = kept
    return flowing if flowing is not None else EMPTY


def _run_command(shell: Shell, command: Command, stdin: Datum | None) -> Datum:
    shell.start, shell.end = command.start, command.end
    _assign(shell, command.assignments, alone=not command.words)
    args = expand(shell, command.words)
    streams = open_streams(shell, command.redirects, stdin)
    shell.start, shell.end = command.start, command.end
    output = EMPTY
    if args:
        called = _call_function(shell, args, streams.stdin)
        if called is None:
            called = dispatch(Argv(shell, "", args, streams.stdin, streams.link))
        output = called
    shell.start, shell.end = command.start, command.end
    return streams.close(shell, output)


def _assign(shell: Shell, assignments: list[Assignment], *, alone: bool) -> None:
    for assignment in assignments:
        value = expand_one(shell, assignment.value)
        name = assignment.name
        before = shell.variable(name) if assignment.append else None
        if before is not None:
            shell.ledger.room -= len(before.text)
            value = join([before, value]) if shell.ledger.room > 0 else value
        if alone:
            shell.variables[name] = value
        if not alone or name in load_names("telling_variables"):
            set_environment(shell, name, value)


def _call_function(shell: Shell, args: list[Datum], stdin: Datum | None) -> Datum | None:
    """Run a function of the text with its arguments; `None` where there is none of that name."""
    name = args[0].text
    function = shell.functions.get(name)
    if function is None:
        return None
    if shell.called.get(name, 0) >= _MAX_CALLS:
        return EMPTY
    shell.called[name] = shell.called.get(name, 0) + 1
    kept = shell.arguments, shell.start, shell.end, shell.pipeline
    shell.arguments = tuple(args[1:])
    output = _run_list(shell, function.body, stdin)
    shell.arguments, shell.start, shell.end, shell.pipeline = kept
    return output


def _run_group(shell: Shell, group: Compound, stdin: Datum | None) -> Datum:
    if group.kind == "function":
        _define(shell, group)
        return EMPTY
    shell.start, shell.end = group.start, group.end
    streams = open_streams(shell, group.redirects, stdin)
    folder = shell.folder
    if group.kind in ("for", "while"):
        output = _run_loop(shell, group, streams)
    else:
        expand(shell, group.words)
        output = _run_list(shell, group.body, streams.stdin)
    if group.kind == "subshell":
        shell.folder = folder
    shell.start, shell.end = group.start, group.end
    return streams.close(shell, output)


def _run_loop(shell: Shell, group: Compound, streams: Streams) -> Datum:
    items = expand(shell, group.words) or [Datum(f"${group.name}", known=False)]
    outer = shell.loops == 0
    shell.loops += 1
    outputs: list[Datum] = []
    # A body is read once for each of the first items, inside another loop for one alone.
    for item in items[:_MAX_ITEMS] if outer else items[:1]:
        if group.name:
            shell.variables[group.name] = item
        outputs.append(_run_list(shell, group.body, streams.stdin))
    shell.loops -= 1
    return join(outputs)


def _define(shell: Shell, group: Compound) -> None:
    shell.functions[group.name] = group
    shell.called.pop(group.name, None)
    for pipeline in _pipelines(group.body):
        names = [
            shell.view.text[stage.start : stage.end].strip()
            for stage in pipeline.stages
            if isinstance(stage, Command)
        ]
        if len(names) > 1 and all(name == group.name for name in names):
            shell.start, shell.end = group.start, group.end
            shell.tell(Act.WIPE, "fork-bomb")


def _pipelines(body: list[Pipeline]) -> list[Pipeline]:
    """Return the pipelines of a function's own braces."""
    if len(body) == 1 and len(body[0].stages) == 1 and isinstance(body[0].stages[0], Compound):
        return body[0].stages[0].body
    return body


_MAX_PART = 256_000
_FIRST_WORD = re.compile(
    r"\s*(?:[$%\u276f>#]\s+)?(?:[A-Za-z_]\w{0,60}=(?:'[^'\n]*'|\"[^\"\n]*\"|[^\s'\"]*)\s+){0,4}"
    r"[({!]?\s*((?:\\?[\w.+:~/@$\[-]|\$\{?IFS\}?|''|\"\"|\$\(|`|\{\w)[^\s;|&<>(){}]{0,200})"
)
_OPERATOR = re.compile(
    r"(?:^|\s)(?:\||&&|\|\||>>?|<\(|<<<?|2>&1)(?:\s|$)|\$\(|;\s*\w+|\s--?[A-Za-z]"
    r"|https?://|\w\|\w|`"
)
_HIDDEN_NAME = re.compile(r"[\\'\"$*?{]")
_MIN_WORDS = 2
_FACTS_STANDARD = re.compile(r"^(?:/usr(?:/local)?)?/s?bin/")
_SOURCED = re.compile(r"<\(|[\w.~/${}-]*[./][\w.~/${}-]*\s*(?:$|[;&|])")
_TO_SHELL = re.compile(r"\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b")
_SCRIPT = re.compile(r"\.(?:sh|py|js|bash|pl|rb|ps1)$")


def read_shell(view: View, flow: frozenset[str] = NOTHING) -> Reading:
    """Return the facts of a shell text; `flow` labels what reaches its arguments and input."""
    ledger = Ledger()
    for part in _parts(view):
        shell = Shell(part, ledger, flow=flow)
        try:
            run_script(shell)
        except RecursionError:
            ledger.unread["shell commands are nested too deeply"] = None
    return Reading(
        tuple(ledger.facts.values()),
        tuple(ledger.snippets),
        tuple(ledger.texts),
        tuple(ledger.imports),
        "; ".join(ledger.unread),
    )


def _parts(view: View) -> list[View]:
    """Cut a long text at line ends, so that no part costs too much."""
    if len(view.text) <= _MAX_PART:
        return [view]
    parts: list[View] = []
    start = 0
    while start < len(view.text):
        end = start + _MAX_PART
        if end < len(view.text):
            line_end = view.text.rfind("\n", start, end)
            end = line_end + 1 if line_end > start else end
        parts.append(view.cut(start, end))
        start = end
    return parts


_COMMENTS = re.compile(r"(?:\s*#[^\n]*(?:\n|$))+")


def looks_like_shell(text: str) -> bool:
    """Whether a short text is likely a command: its first word is one, and the rest fits.

    Comments and empty lines before it say nothing: any author can put one there.
    """
    comments = _COMMENTS.match(text)
    head = text[comments.end() if comments else 0 :].lstrip()[:2000]
    found = _FIRST_WORD.match(head)
    if found is None:
        return False
    word = found[1]
    if _HIDDEN_NAME.search(word):
        return bool(_OPERATOR.search(head))
    rest = head[found.end() :].strip()
    name = _FACTS_STANDARD.sub("", word)
    if word == ".":
        return bool(_SOURCED.match(rest))
    if not known_command(name) and not known_command(name.rstrip("0123456789.")):
        return _runs_path(word, rest) or bool(_TO_SHELL.search(head))
    if name in load_names("prose"):
        is_plain = not _OPERATOR.search(head) and len(rest.split()) >= _MIN_WORDS
        return not is_plain or _installs(name, rest.split())
    return True


def _installs(name: str, words: list[str]) -> bool:
    """Whether a verb of a package manager and a name below another follow: no English does."""
    row = find_row("managers", name)
    named = "verbs" in row and words[0] in row["verbs"].replace("!", "").split()
    return named and bool(re.search(r"\w[/:]\w", words[1]))


def _runs_path(word: str, rest: str) -> bool:
    """Whether a path stands there to be run, not to be named."""
    if "/" not in word or not can_run(word):
        return False
    return word.startswith("./") or bool(rest and (_SCRIPT.search(word) or _OPERATOR.search(rest)))
