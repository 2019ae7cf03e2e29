"""Walks the commands of a shell text in order, as a shell would; each tells its facts."""

from dataclasses import replace

from prowess.safety.facts import Act
from prowess.safety.languages.shell.expansion import expand, expand_one
from prowess.safety.languages.shell.facts import dispatch
from prowess.safety.languages.shell.shell_redirect import Streams, open_streams
from prowess.safety.languages.shell.shell_tree import Assignment, Command, Group, Pipeline
from prowess.safety.languages.shell.state import (
    EMPTY,
    Call,
    Hooks,
    Shell,
    Value,
    join,
    set_environment,
)
from prowess.safety.languages.shell.syntax import parse

_MAX_CALLS = 3
_MAX_ITEMS = 8
_MAX_INNER_TEXTS = 5
_COST_OF_TEXT = 200
_MAX_OUTPUT = 100_000
# Set in the shell itself, these change what runs later even without `export`.
_TELLING = frozenset((
    "PATH", "PROMPT_COMMAND", "BASH_ENV", "ENV", "LD_PRELOAD", "LD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES", "PYTHONPATH",
    "PYTHONSTARTUP", "NODE_OPTIONS", "GIT_SSH_COMMAND", "GIT_SSL_NO_VERIFY",
    "NODE_TLS_REJECT_UNAUTHORIZED", "HISTFILE",
    "HISTSIZE", "HISTFILESIZE", "HISTCONTROL", "PERL5OPT", "RUBYOPT", "ZDOTDIR", "PS1", "IFS",
))  # fmt: skip


def run_script(shell: Shell) -> None:
    """Run the text of `shell`, and then the functions that it never calls."""
    shell.hooks = Hooks(_run_inside, _run_text, _run_words)
    shell.ledger.room += 8 * len(shell.view.text)
    stdin = Value("", shell.flow, known=False) if shell.flow else None
    _run_parsed(shell, stdin)


def _run_parsed(shell: Shell, stdin: Value | None) -> Value:
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


def _run_text(shell: Shell, value: Value, stdin: Value | None) -> Value:
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


def _run_words(shell: Shell, args: list[Value], stdin: Value | None) -> Value:
    output = _call_function(shell, args, stdin)
    return output if output is not None else dispatch(Call(shell, "", args, stdin))


def _run_inside(shell: Shell, body: list[Pipeline], stdin: Value | None) -> Value:
    kept = shell.start, shell.end, shell.pipeline, shell.folder
    output = _run_list(shell, body, stdin)
    shell.start, shell.end, shell.pipeline, shell.folder = kept
    return output


def _run_list(shell: Shell, body: list[Pipeline], stdin: Value | None) -> Value:
    outputs: list[Value] = []
    size = 0
    for pipeline in body:
        output = _run_pipeline(shell, pipeline, stdin)
        size += len(output.text)
        if output is not EMPTY and size <= _MAX_OUTPUT:
            outputs.append(output)
        elif output.labels:
            outputs.append(replace(output, text="", known=False, pieces=()))
    return join(outputs) if outputs else EMPTY


def _run_pipeline(shell: Shell, pipeline: Pipeline, stdin: Value | None) -> Value:
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


def _run_command(shell: Shell, command: Command, stdin: Value | None) -> Value:
    shell.start, shell.end = command.start, command.end
    _assign(shell, command.assignments, alone=not command.words)
    args = expand(shell, command.words)
    streams = open_streams(shell, command.redirects, stdin)
    shell.start, shell.end = command.start, command.end
    output = EMPTY
    if args:
        called = _call_function(shell, args, streams.stdin)
        if called is None:
            called = dispatch(Call(shell, "", args, streams.stdin, streams.link))
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
        if not alone or name in _TELLING:
            set_environment(shell, name, value)


def _call_function(shell: Shell, args: list[Value], stdin: Value | None) -> Value | None:
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


def _run_group(shell: Shell, group: Group, stdin: Value | None) -> Value:
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


def _run_loop(shell: Shell, group: Group, streams: Streams) -> Value:
    items = expand(shell, group.words) or [Value(f"${group.name}", known=False)]
    outer = shell.loops == 0
    shell.loops += 1
    outputs: list[Value] = []
    # A body is read once for each of the first items, inside another loop for one alone.
    for item in items[:_MAX_ITEMS] if outer else items[:1]:
        if group.name:
            shell.variables[group.name] = item
        outputs.append(_run_list(shell, group.body, streams.stdin))
    shell.loops -= 1
    return join(outputs)


def _define(shell: Shell, group: Group) -> None:
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
    if len(body) == 1 and len(body[0].stages) == 1 and isinstance(body[0].stages[0], Group):
        return body[0].stages[0].body
    return body
