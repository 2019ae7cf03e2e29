"""What calls and comprehensions in Python come to: own functions are followed, others looked up."""

import ast
from collections.abc import Callable

from prowess.data import load_index, read_words
from prowess.safety.facts import Act, narrow_to_entry
from prowess.safety.languages.code.calls import python_effects, python_methods
from prowess.safety.languages.code.effects import REWRITES, call_text_method, compute_name
from prowess.safety.languages.code.expressions import (
    HANDLERS,
    bind,
    evaluate,
    find_attribute,
    find_python_name,
    update,
)
from prowess.safety.languages.code.io import call_http, carry_data
from prowess.safety.languages.code.state import Language, Site, Walker
from prowess.safety.languages.code.values import (
    NO_LABELS,
    PYTHON_TABLE,
    UNKNOWN,
    Frame,
    Function,
    Labels,
    Value,
    common_words,
    join,
    labelled,
    labels_of,
    mapping,
    members,
    public,
    replace,
    sequence,
)
from prowess.secrets.names import is_secret_name

Visit = Callable[[], None]

_MAX_ALTERNATIVES = 3
_MAX_ITEMS = 256
_DEFERRED = read_words("partial() attrgetter methodcaller")
_PLAIN = read_words("input file decoded")
_CLIENT = ("Client", "Session", "Api", "API", "AI", "Bot", "Anthropic", "Github", "Cohere", "Groq")


def _call(state: Walker, node: ast.Call) -> Value:
    receiver, method = UNKNOWN, ""
    if isinstance(node.func, ast.Attribute):
        receiver, method = evaluate(state, node.func.value), node.func.attr
        callee = find_attribute(state, receiver, node.func)
    else:
        callee = evaluate(state, node.func)
    args, keywords = _arguments(state, node)
    found: Value | None = None
    for option in callee.every()[:_MAX_ALTERNATIVES]:
        site = Site(node, option.name, option, receiver, args, keywords)
        found = join(found, apply(state, site, method))
    _grow(state, node, method, Site(node, "", callee, receiver, args, keywords))
    return found or UNKNOWN


def _arguments(state: Walker, node: ast.Call) -> tuple[tuple[Value, ...], dict[str, Value]]:
    args: list[Value] = []
    for part in node.args:
        value = evaluate(state, part)
        inner = members(value) if isinstance(part, ast.Starred) else None
        args.extend(inner if inner is not None else [value])
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = evaluate(state, keyword.value)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
            continue
        for key, item in zip(value.keys or (), value.items or (), strict=False):
            keywords[key.text] = item
        if value.keys is None and value.labels:
            keywords["**"] = value
    return tuple(args), keywords


def apply(state: Walker, site: Site, method: str = "") -> Value:
    """Return what a call gives, noting what it does."""
    if site.callee.function is not None:
        return _call_own(state, site, site.callee.function)
    if site.name in _DEFERRED:
        return _complete(state, site)
    for attempt in state.language.attempts:
        found = attempt(state, site, method)
        if found is not None:
            return found
    return _call_other(state, site)


def _call_own(state: Walker, site: Site, function: Function) -> Value:
    if isinstance(function.node, ast.ClassDef):
        name = function.node.name
        made = Value(name=f"self:{name}", labels=NO_LABELS)
        first = state.attribute(name, "__init__")
        if first is not None and first.function is not None:
            state.run(state, first.function, (made, *site.args), site.keywords)
        # A class that only holds data holds what it is given.
        return made if first is not None else made.named(site.labels())
    args = site.args
    if function.owner and not is_static(function):
        bound = site.receiver.name.startswith("self:")
        args = (site.receiver if bound else make_self(function), *args)
    return state.run(state, function, args, site.keywords)


def make_self(function: Function) -> Value:
    """Return the object that a method is called on."""
    return Value(name=f"self:{function.owner}")


def is_static(function: Function) -> bool:
    """Whether a method takes no object."""
    decorators = getattr(function.node, "decorator_list", [])
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in decorators)


def _complete(state: Walker, site: Site) -> Value:
    first, *given = site.callee.items or (UNKNOWN,)
    if site.name != "partial()":
        found = compute_name(state, site, site.arg(0).name, first)
        if site.name == "attrgetter":
            return found
        return apply(state, replace_callee(site, found, tuple(given)))
    return apply(state, replace_callee(site, first, (*given, *site.args)))


def replace_callee(site: Site, callee: Value, args: tuple[Value, ...]) -> Site:
    """Return a call of something else with other arguments, at the same place."""
    return Site(site.node, callee.name, callee, UNKNOWN, args, site.keywords)


def _rewrite(state: Walker, site: Site, method: str) -> Value | None:
    rewrite = REWRITES.get(site.name)
    if rewrite is not None:
        return rewrite(state, site)
    if method and not site.receiver.name and (site.receiver.text or site.receiver.constant == b""):
        return call_text_method(state, site, method)
    if method == "join" and site.receiver.constant == "":
        return call_text_method(state, site, method)
    return None


def _map(state: Walker, site: Site, _method: str) -> Value | None:
    if site.name not in {"map", "filter"}:
        return None
    values = members(site.arg(1))
    if site.name == "filter":
        return site.arg(1)
    if values is None:
        # One call stands for all.
        one = apply(state, replace_callee(site, site.arg(0), (labelled(site.arg(1).labels),)))
        return labelled(one.labels | site.arg(1).labels)
    found: list[Value] = []
    for value in values:
        state.spent += 1
        if not state.may_expand:
            return labelled(site.arg(1).labels)
        found.append(apply(state, replace_callee(site, site.arg(0), (value,))))
    return sequence(found)


def _find_known(state: Walker, site: Site, method: str) -> Value | None:
    _note_environment(state, site)
    effect = python_effects().get(site.name)
    if effect is not None:
        found = effect(state, site)
        if found is not None:
            return found
    found = call_http(state, _with_method(site, method))
    if found is None:
        found = carry_data(state, site)
    methods = python_methods()
    if found is None and method in methods and not site.name.startswith("self:"):
        found = methods[method](state, site)
    return found


def _with_method(site: Site, method: str) -> Site:
    if site.name or not method:
        return site
    return Site(site.node, method, site.callee, site.receiver, site.args, site.keywords)


def _note_environment(state: Walker, site: Site) -> None:
    """Handing all of the environment to a function reads all of it; to a child process does not."""
    given = (*site.args, *(v for k, v in site.keywords.items() if k != "env"))
    if any(value.name == "os.environ" for value in given):
        state.emit(Act.READ, site.node, "env", "os.environ")


def _caller(state: Walker, site: Site, _method: str) -> Value | None:
    keyword = load_index(PYTHON_TABLE, "callers").get(site.name)
    if keyword is None:
        return None
    if keyword == "first":
        callee, args = site.arg(0), site.args[1:]
    else:
        callee = site.arg(1, keyword)
        args = site.keywords.get("args", UNKNOWN).items or ()
    if site.name == "functools.partial":
        return Value(name="partial()", items=(callee, *args))
    inner = Site(site.node, callee.name, callee, UNKNOWN, tuple(args), {})
    result = apply(state, inner) if callee.name or callee.function else UNKNOWN
    return Value(name=site.name + "()", labels=result.labels)


def _call_other(state: Walker, site: Site) -> Value:
    """A call that no table knows: what goes in may come out."""
    root = site.name.partition(".")[0].removesuffix("()")
    if root in state.own_modules:
        return _call_own_module(state, site)
    last = site.name.rpartition(".")[2]
    if last.endswith(_CLIENT) or any(part in last for part in ("Client", "Session")):
        return Value(name=site.name + "()", made_of=site.arg(0))
    labels = site.receiver.labels | labels_of(site.args)
    if isinstance(site.node.func, ast.Attribute) and site.node.func.attr == "get":
        labels = narrow_to_entry(labels, site.arg(0).constant)
    keys = common_words("client_keys")
    labels |= labels_of(v for k, v in site.keywords.items() if k not in keys)
    return Value(name=site.name + "()" if site.name else "", labels=labels)


def _call_own_module(state: Walker, site: Site) -> Value:
    """A call into another file of the skill: the link is noted from both ends."""
    there = "import:" + site.name.replace("()", "")
    module = there.partition(".")[0]
    for label in sorted(public(site.labels())):
        # What the user typed or any file holds is no news; nor is what the module itself made.
        if label.partition(":")[0] not in _PLAIN and label.partition(".")[0] != module:
            state.emit(Act.READ, site.node, label, there)
    return Value(name=site.name + "()", labels=frozenset([there]))


def _grow(state: Walker, node: ast.Call, method: str, site: Site) -> None:
    """`list.append(x)`: what a container is given, it holds."""
    if method not in common_words("growing") or not isinstance(node.func, ast.Attribute):
        return
    base, target = site.receiver, node.func.value
    if base.function is not None or base.name.startswith(("self:", "os.environ", "open()")):
        return
    grown = base.named(site.labels())
    if base.items is not None and base.keys is None and len(base.items) < _MAX_ITEMS and site.args:
        extra = members(site.args[0]) if method == "extend" else (site.args[0],)
        grown = replace(grown, items=(base.items + (extra or ()))[:_MAX_ITEMS])
    if grown is not base:
        update(state, target, grown)


def _comprehension(state: Walker, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
    found: list[Value] = []
    labels = _each(state, node.generators, lambda: found.append(evaluate(state, node.elt)))
    if labels is None:
        return replace(sequence(found), node=node)
    return labelled(_narrow_labels(node.generators, labels_of(found) | labels))


def _dict_comprehension(state: Walker, node: ast.DictComp) -> Value:
    pairs: list[tuple[Value, Value]] = []
    labels = _each(
        state,
        node.generators,
        lambda: pairs.append((evaluate(state, node.key), evaluate(state, node.value))),
    )
    made = mapping(pairs)
    if labels is None:
        return made
    return labelled(_narrow_labels(node.generators, made.labels | labels))


def _each(state: Walker, generators: list[ast.comprehension], visit: Visit) -> Labels | None:
    """Visit each round; None where all are known, else the labels of what is looped over."""
    outer = state.scope
    state.scope = Frame(parent=outer)
    try:
        return _rounds(state, generators, visit)
    finally:
        state.scope = outer


def _rounds(state: Walker, generators: list[ast.comprehension], visit: Visit) -> Labels | None:
    if not generators:
        visit()
        return None
    first, *rest = generators
    source = evaluate(state, first.iter)
    values = members(source) if state.may_expand else None
    if values is None:
        bind(state, first.target, pick_element(source))
        _tests(state, first)
        _rounds(state, rest, visit)
        return source.labels
    unknown: Labels | None = None
    for value in values:
        if not state.may_expand:
            return source.labels
        state.spent += 1
        state.expanding += 1
        try:
            bind(state, first.target, value)
            _tests(state, first)
            inner = _rounds(state, rest, visit)
        finally:
            state.expanding -= 1
        unknown = unknown if inner is None else (unknown or NO_LABELS) | inner
    # A filter that is not evaluated leaves open which members stay.
    return source.labels if first.ifs and unknown is None and source.labels else unknown


def _tests(state: Walker, generator: ast.comprehension) -> None:
    for test in generator.ifs:
        evaluate(state, test)


def pick_element(source: Value) -> Value:
    """Return what one round of a loop over a value of unknown members sees."""
    if source.items is None:
        return labelled(source.labels)
    found: Value | None = None
    for item in source.items[:_MAX_ALTERNATIVES]:
        found = join(found, item)
    return (found or UNKNOWN).named(source.labels)


def _narrow_labels(generators: list[ast.comprehension], labels: Labels) -> Labels:
    """A filter by the prefix of an application leaves only its own variables of the environment."""
    if "env" not in labels:
        return labels
    for generator in generators:
        for test in generator.ifs:
            prefix = _prefix(test)
            if prefix and not is_secret_name(prefix.strip("_")):
                return (labels - {"env"}) | {f"env:{prefix}*"}
    return labels


def _prefix(test: ast.expr) -> str:
    match test:
        case ast.Call(
            func=ast.Attribute(attr="startswith"), args=[ast.Constant(value=str() as text)]
        ):
            return text
        case _:
            return ""


HANDLERS[ast.Call] = _call
HANDLERS[ast.DictComp] = _dict_comprehension
HANDLERS[ast.ListComp] = HANDLERS[ast.SetComp] = HANDLERS[ast.GeneratorExp] = _comprehension
PYTHON = Language(
    name="python", find_name=find_python_name, attempts=(_rewrite, _map, _find_known, _caller)
)
