"""What a JavaScript or TypeScript text does.

The text is lowered to Python's syntax tree and read by the evaluator of `code`; comments and long
texts are prose.
"""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache

from prowess.data import load_table
from prowess.reading.views import View
from prowess.safety.facts import Act, Reading
from prowess.safety.languages.code import effects, io
from prowess.safety.languages.code.calls import load_effects
from prowess.safety.languages.code.effects import join_texts, unpack
from prowess.safety.languages.code.expressions import update
from prowess.safety.languages.code.functions import apply, replace_callee
from prowess.safety.languages.code.state import (
    CodeSource,
    Effect,
    Language,
    Site,
    Walker,
    join_comments,
    literal_view,
)
from prowess.safety.languages.code.statements import run_function, walk
from prowess.safety.languages.code.values import (
    NO_LABELS,
    UNKNOWN,
    Constant,
    Frame,
    Value,
    labelled,
    lookup,
    remote_label,
    replace,
    sequence,
)
from prowess.safety.languages.javascript import effects as machine
from prowess.safety.languages.javascript.effects import (
    HARMLESS,
    SOCKET,
    TABLE,
    find_host,
    find_name,
    get_member,
    hand,
    name_thing,
    set_member,
    spell,
    words,
)
from prowess.safety.languages.javascript.lower import Lowering
from prowess.safety.languages.javascript.tree import JsNode, parse


def _show(value: Value | None) -> str:
    if value is None:
        return ""
    return str(value.constant) if isinstance(value.constant, int) else value.text


def _address(value: Value) -> Value:
    """Return the address that an argument names: a text, or options with a host and a path."""
    if value.keys is None:
        return value
    for key in ("url", "uri", "href"):
        if (found := lookup(value, key)) is not None:
            return found
    host = _show(lookup(value, "hostname") or lookup(value, "host"))
    scheme = _show(lookup(value, "protocol")) or "https:"
    port = _show(lookup(value, "port"))
    path = _show(lookup(value, "path"))
    text = f"{scheme}//{host}{':' + port if port else ''}{path}" if host else ""
    return Value(sketch=text, labels=value.labels)


def ask(state: Walker, site: Site) -> Value:
    """Read a request to a server: what comes back is remote, what went along was sent."""
    url = _address(site.arg(0))
    method = _show(site.keywords.get("method")).lower() or site.name.rpartition(".")[2]
    if site.keywords.keys() & words("bodies"):
        method = "post"
    answer = io.exchange(state, site, method, url)
    if site.name.startswith(("http.", "superagent.")):
        hand(state, site.args, answer)
        return replace(answer, name=f"{site.name}()", made_of=url)
    return answer


def send_http(state: Walker, site: Site) -> Value:
    """Read data that is written to an open request."""
    data = site.arg(0)
    if site.args and data.function is None:
        state.emit(Act.SEND, site.node, find_host(site.receiver), "http", data.labels)
    return site.receiver


def open_socket(state: Walker, site: Site) -> Value:
    """Read a web socket or an event stream that is opened."""
    url = _address(site.arg(0))
    state.emit(Act.FETCH, site.node, url.text, "", url.labels)
    remote = frozenset((remote_label(url.text),))
    return Value(name=f"{site.name}()", labels=remote, made_of=url)


def connect(state: Walker, site: Site) -> Value:
    """Read a connection to a host and port."""
    port = site.keywords.get("port", site.arg(0))
    host = site.keywords.get("host", site.arg(1))
    shown = ":".join(part for part in (_show(host), _show(port)) if part)
    if shown:
        state.peer = shown
        state.parts["socket"] = state.parts["connected"] = site.node
    remote = frozenset((remote_label("tcp:" + shown),))
    made = Value(name=SOCKET, labels=remote, made_of=Value(sketch=shown))
    if site.receiver.name == SOCKET and isinstance(site.node.func, ast.Attribute):
        update(state, site.node.func.value, made)
    return made


def send_raw(state: Walker, site: Site) -> Value:
    """Read data that is written to a connection."""
    if site.args and site.arg(0).function is None:
        io.send_data(state, site)
    return site.receiver


def open_request(state: Walker, site: Site) -> Value:
    """Read `XMLHttpRequest.open`, which names the address that `send` goes to."""
    url = site.arg(1)
    state.emit(Act.FETCH, site.node, url.text, "", url.labels)
    if url.labels - HARMLESS:
        state.emit(Act.SEND, site.node, url.text, "http", url.labels)
    if isinstance(site.node.func, ast.Attribute):
        remote = frozenset((remote_label(url.text),))
        made = Value(name="XMLHttpRequest()", labels=remote, made_of=url)
        update(state, site.node.func.value, made)
    return UNKNOWN


def visit(state: Walker, site: Site) -> Value:
    """Read `window.open` and the like: data in the address is given away."""
    if site.arg(0).labels - HARMLESS:
        state.emit(Act.SEND, site.node, site.arg(0).text, "http", site.arg(0).labels)
    return UNKNOWN


def pipe(state: Walker, site: Site) -> Value:
    """Read `a.pipe(b)`: what comes out of one goes into the other."""
    target = site.args[-1] if site.args else UNKNOWN
    source = site.receiver if site.name != "stream.pipeline" else site.arg(0)
    if {source.name, target.name} == {"shell()", SOCKET}:
        host = find_host(source if source.name == SOCKET else target)
        state.emit(Act.REVERSE_SHELL, site.node, "net", host)
    elif target.name == "open()" and target.made_of is not None:
        io.store(state, site.node, target.made_of, labelled(source.labels))
    elif target.name == SOCKET:
        state.emit(Act.SEND, site.node, find_host(target), "tcp", source.labels)
    elif target.name in {"http.request()", "superagent.post()"}:
        state.emit(Act.SEND, site.node, find_host(target), "http", source.labels)
    return target.named(source.labels)


_MAX_LETTERS = 20_000
_MAX_ITEMS = 2_000


def _redirect(state: Walker, site: Site, method: str) -> Value | None:
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


def _import(state: Walker, site: Site, _method: str) -> Value | None:
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


def _find_known(state: Walker, site: Site, method: str) -> Value | None:
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


def _rewrite(state: Walker, site: Site, method: str) -> Value | None:
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


def _replace(text: str, arguments: list[Constant], count: int) -> str:
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
    "replace": lambda text, given: _replace(text, given, 1),
    "replaceAll": lambda text, given: _replace(text, given, -1),
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


def _call_other(state: Walker, site: Site, method: str) -> Value:
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
        machine.run_shell, machine.run_tagged, machine.run_process, machine.run_code,
        machine.run_worker, machine.read_file, machine.write_file, machine.open_stream,
        machine.delete, machine.make_buffer, machine.show_text, machine.make_text,
        machine.unquote_text, machine.find_folder, machine.pass_value, machine.make_string,
        machine.make_pattern, machine.read_environment, machine.read_variable,
        machine.read_variables, machine.assign, machine.get_by_name, ask, send_http, open_socket,
        connect, send_raw, open_request, visit, pipe, io.change_mode, io.copy_file,
        io.write_handle, io.make_path, io.resolve_host, effects.forget_origin, effects.decrypt,
    )
}  # fmt: skip


@cache
def _effects() -> dict[str, Effect]:
    """Return what each call does, by its name or, for a method of anything, by `.name`."""
    found = load_effects(TABLE, _EFFECTS)
    clients = load_table(TABLE, "clients")
    for client in clients["names"].split():
        found |= {f"{client}.{method}": ask for method in clients["methods"].split()}
        found[client] = ask
    return found


JAVASCRIPT = Language(
    name="javascript",
    find_name=find_name,
    attempts=(_redirect, _import, _find_known, _by_item, _rewrite, _call_other),
    get_member=get_member,
    set_member=set_member,
)


_MINER = re.compile(
    r"stratum\+(?:tcp|ssl|tls)://[^\s'\"`]{1,100}|\b(?:coinhive|cryptonight|coin-hive|xmrig)\b",
    re.IGNORECASE,
)
_SHORTEST_MINER, _LONGEST_MINER = 6, 4_000
_LONG_TEXT = 40
_SHORT_COMMENT = 12


def read_javascript(view: View, flow: frozenset[str] = frozenset()) -> Reading:
    """Return what the JavaScript of `view` does; `flow` are labels of data that reaches it."""
    root, complete = parse(view.text)
    lowering = Lowering(view.text)
    try:
        tree = lowering.module(root)
    except RecursionError:
        tree, lowering.deep = ast.Module([], []), True
    module = Frame()
    source = CodeSource(view, tree)
    state = Walker(source, JAVASCRIPT, flow, run=run_function, scope=module, module=module)
    walk(state, tree.body)
    for pair in lowering.unverified:
        state.emit(Act.DISABLE, pair, "tls")
    texts = (*_comments(view, root), *_long_texts(state, tree))
    notes = {"too large": not complete, "nested too deeply": lowering.deep}
    noted = {note: None for note, holds in notes.items() if holds}
    return Reading(
        facts=tuple(
            sorted(state.facts.values(), key=lambda fact: (fact.spot.start, fact.spot.end))
        ),
        snippets=tuple(state.snippets.values()),
        texts=texts,
        imports=tuple(state.imports),
        unread="; ".join(noted | state.unread),
    )


def _long_texts(state: Walker, tree: ast.Module) -> Iterator[View]:
    """Yield texts that somebody may read, and note those that name a miner."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        text = node.value
        if _SHORTEST_MINER <= len(text) < _LONGEST_MINER and (miner := _MINER.search(text)):
            state.emit(Act.MINE, node, miner[0])
        if len(text) >= _LONG_TEXT and " " in text:
            yield literal_view(state.source.view, text, *state.source.span(node))


def _comments(view: View, root: JsNode) -> list[View]:
    """Return comments as prose, lines that follow each other as one text."""
    queue, found = [root], list[tuple[int, int]]()
    while queue:
        node = queue.pop()
        if node.kind in {"comment", "html_comment", "hash_bang_line"}:
            found.append((node.start, node.end))
        queue.extend(node.kids)
    texts = (text for _, text in join_comments(view, sorted(found)))
    return [text for text in texts if len(text.text.strip()) >= _SHORT_COMMENT]
