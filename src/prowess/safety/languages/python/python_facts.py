"""Reads Python: what a script, a fenced block or an inline text does, as facts."""

import ast

from prowess.safety.facts import Act, Reading, Snippet
from prowess.safety.languages.python.facts import execute, run_function, walk_function
from prowess.safety.languages.python.functions import install, is_static, itself
from prowess.safety.languages.python.python_state import State
from prowess.safety.languages.python.python_texts import prose
from prowess.safety.languages.python.source import Source, read_source
from prowess.safety.languages.python.values import Function, Scope
from prowess.safety.views import View

install()

_MAX_FUNCTIONS = 60_000


def read_python(view: View, flow: frozenset[str] = frozenset()) -> Reading:
    """Return what the Python code in `view` does; `flow` labels what reaches its input."""
    source = read_source(view)
    module = Scope()
    state = State(source=source, outside=flow, run=run_function, scope=module, module=module)
    _walk(state, source.tree.body)
    _reverse_shell(state)
    shell = tuple(Snippet("shell", view.cut(start, end)) for start, end in source.commands)
    notes = [source.unread] if source.unread else []
    return Reading(
        facts=tuple(sorted(state.facts.values(), key=lambda fact: fact.spot.start)),
        snippets=(*shell, *state.snippets.values()),
        texts=_texts(state, source),
        imports=tuple(state.imports),
        unread="; ".join([*notes, *list(state.unread)[:3]]),
    )


def _walk(state: State, body: list[ast.stmt]) -> None:
    for node in body:
        _guarded(state, node)
    done = 0
    while done < len(state.functions) and done < _MAX_FUNCTIONS:
        if not state.functions[done].runs:
            _run(state, state.functions[done])
        done += 1
    if done < len(state.functions):
        state.unread["too many functions"] = None
    # Some methods ask for an attribute before another method has set it.
    owners = {owner for owner, attr in state.missing if state.attribute(owner, attr)}
    for function in state.functions[:done]:
        if function.owner in owners and state.may_expand:
            _run(state, function)


def _guarded(state: State, node: ast.stmt) -> None:
    try:
        execute(state, [node])
    except RecursionError:
        state.unread[f"nested too deeply on line {node.lineno}"] = None


def _run(state: State, function: Function) -> None:
    """Walk a function by itself: nothing is known of its parameters."""
    args = () if not function.owner or is_static(function) else (itself(function),)
    try:
        walk_function(state, function, args, {})
    except RecursionError:
        state.unread[f"nested too deeply on line {function.node.lineno}"] = None


def _reverse_shell(state: State) -> None:
    """A connection whose far end is given a terminal, or whose words are run and answered."""
    if "connected" not in state.parts:
        return
    if "pty" in state.parts:
        state.emit(Act.REVERSE_SHELL, state.parts["pty"], "python", state.peer)
    elif {"runs-received", "sends"} <= state.parts.keys():
        state.emit(Act.REVERSE_SHELL, state.parts["runs-received"], "python", state.peer)


def _texts(state: State, source: Source) -> tuple[View, ...]:
    try:
        return prose(source)
    except RecursionError:
        state.unread["nested too deeply"] = None
        return ()
