"""JavaScript for the evaluator: which function a call means, what goes in, what comes out.

What a call does is shared with Python where the two agree; options given as an object are keywords,
and callbacks run with what they are handed.
"""

import ast
from collections.abc import Callable
from functools import cache

from prowess.safety.facts import Act
from prowess.safety.languages.code import effects, io
from prowess.safety.languages.code.calls import load_effects
from prowess.safety.languages.code.effects import join_texts, unpack
from prowess.safety.languages.code.expressions import update
from prowess.safety.languages.code.functions import apply, replace_callee
from prowess.safety.languages.code.state import Effect, Language, Site, Walker
from prowess.safety.languages.code.values import (
    NO_LABELS,
    UNKNOWN,
    Constant,
    Value,
    labelled,
    remote_label,
    replace,
    sequence,
)
from prowess.safety.languages.javascript import effects as machine
from prowess.safety.languages.javascript import network
from prowess.safety.languages.javascript.members import (
    SOCKET,
    TABLE,
    find_name,
    get_member,
    hand,
    name_thing,
    set_member,
    spell,
    words,
)
from prowess.safety.languages.tables import load_table

_MAX_LETTERS = 20_000
_MAX_ITEMS = 2_000


def _redirected(state: Walker, site: Site, method: str) -> Value | None:
    """Turn `f.call(t, x)`, `f.apply(t, [x])` and `Reflect.apply(f, t, [x])` into `f(x)`."""
    target, rest = site.receiver, site.args[1:]
    if site.name == "Reflect.apply" and site.args:
        inner = site.args[-1].items
        return apply(state, replace_callee(site, site.args[0], inner or site.args[2:]))
    if method not in {"call", "apply", "bind"} or not (target.name or target.function):
        return None
    if method == "bind":
        return target
    if method == "apply":
        rest = (rest[0].items or rest) if rest else ()
    return apply(state, replace_callee(site, target, rest))


def _imported(state: Walker, site: Site, _method: str) -> Value | None:
    """Read `require(x)` and `import(x)`; a name put together while running is a fact."""
    if site.name != "require":
        return None
    name = site.arg(0)
    if not isinstance(name.constant, str):
        state.emit(Act.IMPORT, site.node, name.text, "", name.labels)
        return labelled(name.labels)
    module = name.constant.strip()
    found = _from_module(state, site, module)
    start, end = state.source.span(name.node) if name.node is not None else (0, 0)
    escaped = "\\" in state.source.view.text[start:end]
    if not name.plain or (escaped and found.name in words("dangerous")):
        state.emit(Act.IMPORT, site.node, found.name or module, "", name.labels)
    return found


def _from_module(state: Walker, site: Site, module: str) -> Value:
    if module.startswith(("http://", "https://")):
        state.emit(Act.FETCH, site.node, module)
        return labelled(frozenset((remote_label(module),)))
    if module.startswith("data:"):
        head, _comma, body = module.partition(",")
        code = Value(constant=body, node=site.arg(0).node)
        if head.endswith(";base64"):
            code = unpack(state, site, "base64", code)
        else:
            code = machine.unquote_value(code)
        state.emit(Act.EXEC, site.node, "eval", code.text[:500], code.labels)
        state.embed("javascript", code, code.labels)
        return UNKNOWN
    if module.startswith("."):
        state.imports[module] = None
        return labelled(state.outside)
    return name_thing(state, spell(module), None)


def _known(state: Walker, site: Site, method: str) -> Value | None:
    _spread_options(site)
    effect = _effects().get(site.name)
    if effect is None and site.receiver is not UNKNOWN:
        effect = _effects().get("." + method)
    found = effect(state, site) if effect is not None else None
    if found is not None:
        hand(state, site.args, found)
    return found


def _spread_options(site: Site) -> None:
    """Let fields of an object among the arguments be keywords, which is what they mean."""
    for value in site.args:
        for key, item in zip(value.keys or (), value.items or (), strict=False):
            site.keywords.setdefault(key.text, item)


def _by_item(state: Walker, site: Site, method: str) -> Value | None:
    """Read `list.map(f)`: of a known list item by item."""
    items, callee = site.receiver.items, site.arg(0)
    if items is None or method not in {"map", "forEach", "flatMap", "reduce"}:
        return None
    if callee.function is None and not callee.name:
        return None
    total, found = site.arg(1), list[Value]()
    for at, item in enumerate(items[:_MAX_ITEMS]):
        state.spent += 1
        if not state.may_expand:
            return labelled(site.receiver.labels)
        first = (total, item) if method == "reduce" else (item,)
        total = apply(state, replace_callee(site, callee, (*first, Value(constant=at))[:2]))
        found.append(total)
    return total if method == "reduce" else sequence(found)


def _rewritten(state: Walker, site: Site, method: str) -> Value | None:
    base = site.receiver
    if base.items is not None and base.keys is None:
        return _list_method(state, site, method)
    if not base.text or base.name or method not in _TEXT_METHODS:
        return base if base.text and method in words("keeping") else None
    arguments = [value.constant for value in site.args]
    if base.constant is None or None in arguments:
        return None
    try:
        made = _TEXT_METHODS[method](base.text, [one for one in arguments if one is not None])
    except (TypeError, ValueError, IndexError):
        return None
    if isinstance(made, list):
        parts = (Value(constant=one, labels=base.labels, node=base.node) for one in made)
        return sequence(parts) if len(made) <= _MAX_LETTERS else None
    found = Value(constant=made, labels=base.labels, steps=base.steps, node=base.node)
    return state.charge(found)


def _list_method(state: Walker, site: Site, method: str) -> Value | None:
    items, labels = site.receiver.items or (), site.receiver.labels
    if method in {"join", "toString"}:
        glue = site.args[0].constant if site.args else ","
        return join_texts(state, glue, site.receiver) if isinstance(glue, str) else None
    if method in {"reverse", "toReversed"}:
        return sequence(items[::-1]).named(labels)
    if method == "concat":
        more = [
            part for arg in site.args for part in (arg.items if arg.items is not None else (arg,))
        ]
        return sequence([*items, *more][:_MAX_LETTERS]).named(labels)
    if method == "slice":
        bounds = [arg.constant for arg in site.args[:2] if isinstance(arg.constant, int)]
        if len(bounds) == len(site.args[:2]):
            return sequence(items[slice(*(bounds or (0, None)))]).named(labels)
    return site.receiver if method == "flat" else None


def _replaced(text: str, arguments: list[Constant], count: int) -> str:
    old, new = arguments[0], arguments[1]
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        raise TypeError
    return text.replace(old, new, count)[: len(text) + _MAX_LETTERS]


def _cut(text: str, bounds: list[Constant]) -> str:
    start, *stop = (bound for bound in bounds[:2] if isinstance(bound, int))
    return text[start : stop[0] if stop else None]


def _part(text: str, bounds: list[Constant]) -> str:
    start, *size = (bound for bound in bounds[:2] if isinstance(bound, int))
    return text[start:][: size[0] if size else None]


def _letter(text: str, at: list[Constant]) -> str:
    index = at[0] if at else 0
    if not isinstance(index, int) or index < 0:
        raise IndexError
    return text[index]


def _split(text: str, glue: list[Constant]) -> list[str]:
    if not isinstance(glue[0], str):
        raise TypeError
    return text.split(glue[0]) if glue[0] else list(text[: _MAX_LETTERS + 1])


def _repeat(text: str, count: list[Constant]) -> str:
    if not isinstance(count[0], int) or count[0] * len(text) > _MAX_LETTERS:
        raise ValueError
    return text * count[0]


_TEXT_METHODS: dict[str, Callable[[str, list[Constant]], Constant | list[str]]] = {
    "split": _split,
    "replace": lambda text, given: _replaced(text, given, 1),
    "replaceAll": lambda text, given: _replaced(text, given, -1),
    "slice": _cut,
    "substring": _cut,
    "substr": _part,
    "charAt": _letter,
    "at": _letter,
    "charCodeAt": lambda text, given: ord(_letter(text, given)),
    "codePointAt": lambda text, given: ord(_letter(text, given)),
    "repeat": _repeat,
    "concat": lambda text, given: text + "".join(map(str, given)),
    "toLowerCase": lambda text, _given: text.lower(),
    "toUpperCase": lambda text, _given: text.upper(),
}


def _other(state: Walker, site: Site, method: str) -> Value:
    """Read any other call: what goes in may come out, and callbacks see it."""
    given = NO_LABELS if site.name.startswith(("console.", "Math.", "Number.")) else site.labels()
    labels = site.receiver.labels | given
    if method == "then":
        answered = hand(state, site.args, replace(site.receiver, labels=labels))
        return answered or labelled(site.receiver.labels)
    if site.receiver.labels or labels:
        name = "received()" if site.receiver.name == SOCKET else ""
        hand(state, site.args, labelled(site.receiver.labels or labels, name))
    target = site.node.func
    if method in words("filling") and given and isinstance(target, ast.Attribute):
        update(state, target.value, site.receiver.named(given))
    if method in words("passing"):
        return site.receiver
    return Value(name=spell(site.name + "()") if site.name else "", labels=labels)


_EFFECTS: dict[str, Effect] = {
    one.__name__: one
    for one in (
        machine.run_shell, machine.run_tagged, machine.run_process, machine.run_deno,
        machine.run_code, machine.run_worker, machine.run_as_root, machine.read_file,
        machine.write_file, machine.open_stream, machine.delete, machine.permit,
        machine.decode_base64, machine.make_buffer, machine.show_text, machine.make_text,
        machine.inflate, machine.unquote_text, machine.find_home, machine.find_temporary,
        machine.pass_value, machine.make_string, machine.make_pattern, machine.read_environment,
        machine.read_variable, machine.read_variables, machine.assign, machine.get_by_name,
        machine.ask_user, machine.revive, machine.become, machine.start_at_login, network.ask,
        network.send_http, network.send_beacon, network.open_socket, network.send_socket,
        network.connect, network.send_datagram, network.send_raw, network.send_mail,
        network.open_request, network.visit, network.load_script, network.pipe, io.copy_file,
        io.write_handle, io.join_parts, io.resolve_host, effects.forget_origin, effects.decrypt,
    )
}  # fmt: skip


@cache
def _effects() -> dict[str, Effect]:
    """Return what each call does, by its name or, for a method of anything, by `.name`."""
    found = load_effects(TABLE, _EFFECTS)
    clients = load_table(TABLE, "clients")
    for client in clients["names"].split():
        found |= {f"{client}.{method}": network.ask for method in clients["methods"].split()}
        found[client] = network.ask
    return found


JAVASCRIPT = Language(
    name="javascript",
    find_name=find_name,
    attempts=(_redirected, _imported, _known, _by_item, _rewritten, _other),
    get_member=get_member,
    set_member=set_member,
)
