"""What calls mean that read secrets, decode, revive objects, compute names or rewrite constants.

Nothing is run: decoders are applied to constants only, and each with a bound on what comes out.
"""

import sys
from collections.abc import Callable, Mapping

from prowess.data import load_index
from prowess.safety.facts import Act
from prowess.safety.languages.code import values as fold
from prowess.safety.languages.code.io import label_stored, store
from prowess.safety.languages.code.state import Site, Walker
from prowess.safety.languages.code.values import (
    NO_LABELS,
    PYTHON_TABLE,
    UNKNOWN,
    Constant,
    Value,
    canonical,
    common_words,
    is_dangerous,
    is_dangerous_module,
    labelled,
    mapping,
    members,
    replace,
    sequence,
)
from prowess.safety.languages.decoding import decode
from prowess.secrets.names import is_secret_name


def find_codec(name: Constant | None) -> str | None:
    """Return the encoding that `codecs.decode(…, name)` undoes, where it is not a charset."""
    codecs_by_name = load_index(PYTHON_TABLE, "codecs")
    return codecs_by_name.get(name.lower().replace("-", "_")) if isinstance(name, str) else None


_DECODED = frozenset(["decoded"])
_RUN_KEY = "currentversion\\run"


def read_variable(state: Walker, site: Site) -> Value:
    """`os.getenv(name)`."""
    return read_environment_variable(state, site, site.arg(0, "key"), site.arg(1, "default"))


def read_environment_variable(state: Walker, site: Site, key: Value, default: Value) -> Value:
    """Return the value of one environment variable."""
    name = key.text
    if not name or key.constant is None:
        # A name that was itself taken from the environment goes through all of it.
        whole = "env" in key.labels
        return labelled(frozenset(["env" if whole else "env:" + (name or "*")]))
    if name.upper() in common_words("home_variables"):
        return Value(sketch="~", node=site.node)
    if name.upper() in common_words("folder_variables"):
        return Value(sketch=f"%{name}%", node=site.node)
    label = f"env:{name}"
    if is_secret_name(name):
        state.emit(Act.READ, site.node, label, name)
    # What stands as default is what most runs use: an address, a path.
    known = default.text if isinstance(default.constant, str) else ""
    return Value(sketch=known, labels=frozenset([label]), node=default.node)


def make_source(label: str, target: str) -> Callable[[Walker, Site], Value]:
    """Return what a call does that reads something secret."""

    def effect(state: Walker, site: Site) -> Value:
        state.emit(Act.READ, site.node, label, target or site.name)
        return labelled(frozenset([label]), site.name + "()")

    return effect


def make_quiet_source(label: str) -> Callable[[Walker, Site], Value]:
    """Return what a call does whose result has an origin that is no secret by itself."""

    def effect(state: Walker, site: Site) -> Value:
        # What reaches the program from outside comes in by these.
        outside = state.outside if label == "input" else NO_LABELS
        return labelled(outside | {label}, site.name + "()")

    return effect


def make_decoder(encoding: str) -> Callable[[Walker, Site], Value]:
    """Return what a call does that decodes its argument, as `base64.b64decode(data)` does."""
    return lambda state, site: unpack(state, site, encoding, site.arg(0))


def make_act(row: Mapping[str, str]) -> Callable[[Walker, Site], Value]:
    """Return what a call does that is one act alone; `$0` stands for an argument of the call."""

    def effect(state: Walker, site: Site) -> Value:
        subject, target = (_show_part(site, row.get(key, "")) for key in ("subject", "target"))
        flow = frozenset(row["flow"].split()) if "flow" in row else site.labels()
        state.emit(Act(row["act"]), site.node, subject, target, flow)
        return labelled(flow if "keeps" in row else NO_LABELS, f"{site.name}()")

    return effect


def _show_part(site: Site, part: str) -> str:
    if part == "$host":
        return site.receiver.made_of.text if site.receiver.made_of else ""
    if part == "$module":
        return site.name.partition(".")[0]
    position, _, keyword = part.removeprefix("$").partition(" ")
    return site.arg(int(position), keyword).text if part[:1] == "$" else part


def decode_by_codec(state: Walker, site: Site) -> Value | None:
    """`codecs.decode(data, encoding)`, where the encoding is not a charset."""
    encoding = find_codec(site.arg(1, "encoding").constant)
    # Turning by thirteen letters is its own undoing; the others only pack when they encode.
    if site.name.endswith(".encode") and encoding != "rot13":
        return None
    if encoding is None:
        text = site.arg(0)
        known = text.constant
        shown = known.decode("utf-8", "replace") if isinstance(known, bytes) else known
        return replace(text, constant=shown)
    found = unpack(state, site, encoding, site.arg(0))
    if encoding == "rot13" and isinstance(found.constant, bytes):
        return replace(found, constant=found.constant.decode("utf-8", "replace"))
    return found


def unpack(state: Walker, site: Site, encoding: str, data: Value) -> Value:
    """Return what data decodes to."""
    state.emit(Act.DECODE, site.node, encoding, "", data.labels)
    result = decode(encoding, data.constant)
    steps = (*data.steps, encoding)
    found = Value(constant=result, labels=data.labels | _DECODED, steps=steps, node=data.node)
    return state.charge(found)


def revive_object(state: Walker, site: Site) -> Value | None:
    """`pickle.loads(data)` and its like; safe loaders are not."""
    kind = site.name.partition(".")[0]
    if kind == "torch":
        only = site.keywords.get("weights_only")
        if only is not None and only.constant is not False:
            return None
    if kind == "yaml" and site.name.endswith((".load", ".load_all")):
        loader = site.arg(1, "Loader").name
        if "Safe" in loader or "BaseLoader" in loader or not loader:
            return None
    data = site.arg(0)
    flow = data.labels
    for text in data.texts():
        flow |= label_stored(state, site.node, text)
    state.emit(Act.DESERIALISE, site.node, kind, data.text[:200], flow)
    return labelled(flow, "code" if kind == "marshal" else "")


def import_module(state: Walker, site: Site) -> Value:
    """`__import__(name)` and `importlib.import_module(name)`."""
    name = site.arg(0, "name")
    if not isinstance(name.constant, str):
        if name.labels:
            state.emit(Act.IMPORT, site.node, "", "", name.labels)
        return labelled(name.labels - {"input"})
    # The function gives the package at the root, whatever lies below it is an attribute of that.
    is_root = site.name.endswith("__import__") and "fromlist" not in site.keywords
    root = name.constant.partition(".")[0] if is_root else name.constant
    module = canonical(root)
    state.imports.setdefault(name.constant)
    if not name.plain:
        state.emit(Act.IMPORT, site.node, module, "", name.labels | _DECODED)
    return Value(name=module)


def get_attribute(state: Walker, site: Site) -> Value | None:
    """`getattr(thing, name)`."""
    thing, name = site.arg(0), site.arg(1)
    if not isinstance(name.constant, str):
        if name.labels and is_dangerous_module(thing.name):
            state.emit(Act.IMPORT, site.node, thing.name, "", name.labels)
        return labelled(thing.labels | (name.labels - {"input"}))
    if not thing.name:
        return None
    return compute_name(state, site, thing.name, name)


def compute_name(state: Walker, site: Site, base: str, name: Value) -> Value:
    """Return what a name given as text reaches, and note where that is dangerous."""
    full = canonical(f"{base}.{name.text}" if base else name.text)
    if is_dangerous(full):
        made_up = NO_LABELS if name.plain else _DECODED
        state.emit(Act.IMPORT, site.node, full, "", name.labels | made_up)
    return Value(name=full)


def make_getter(_state: Walker, site: Site) -> Value | None:
    """`operator.attrgetter(name)`, `operator.methodcaller(name, …)`: attributes taken later."""
    if not isinstance(site.arg(0).constant, str):
        return None
    return Value(name=site.name.rpartition(".")[2], items=site.args)


def get_own_attribute(state: Walker, site: Site) -> Value | None:
    """`module.__getattribute__(name)`."""
    if not site.receiver.name or not isinstance(site.arg(0).constant, str):
        return None
    return compute_name(state, site, site.receiver.name, site.arg(0))


def decrypt(state: Walker, site: Site) -> Value:
    """`Fernet(key).decrypt(data)`: text that nobody can read beforehand."""
    state.emit(Act.DECODE, site.node, "cipher", "", site.labels())
    return labelled(site.labels() | _DECODED)


def make_namespace(_state: Walker, site: Site) -> Value:
    """`globals()`, `vars(module)`: a module's names as a mapping."""
    base = site.arg(0).name if site.name == "vars" else ""
    return Value(name="namespace:" + base)


def open_registry_key(_state: Walker, site: Site) -> Value:
    """`winreg.OpenKey(root, path)`."""
    return Value(name="winreg.key()", made_of=site.arg(1, "sub_key"))


def set_registry_value(state: Walker, site: Site) -> Value:
    """`winreg.SetValueEx(key, name, 0, kind, value)`: under `Run` it starts at every login."""
    path = site.arg(0).made_of
    if path is not None and _RUN_KEY in path.text.lower():
        last = site.args[-1] if site.args else UNKNOWN
        state.emit(Act.PERSIST, site.node, "registry-run", last.text, last.labels)
    return UNKNOWN


def become_root(state: Walker, site: Site) -> Value:
    """`os.setuid(0)`."""
    if site.arg(0).constant == 0:
        state.emit(Act.PRIVILEGE, site.node, "setuid")
    return UNKNOWN


def forget_origin(_state: Walker, _site: Site) -> Value:
    """`len(x)`, `isinstance(x, y)`: an answer about a value, not the value."""
    return UNKNOWN


def make_mapping(_state: Walker, site: Site) -> Value:
    """`dict(…)`: the mapping it was given, or its keywords."""
    first = site.arg(0)
    if first.labels or first.keys is not None:
        return replace(first, name="").named(site.labels())
    return mapping(site.keywords)


def save_data(state: Walker, site: Site) -> Value:
    """`frame.to_csv(path)`, `image.save(path)`: data of the receiver written to a path."""
    path = site.arg(0)
    if path.texts() and site.receiver.labels:
        store(state, site.node, path, labelled(site.receiver.labels))
    return UNKNOWN


_MAX_RANGE = 4096
_MIN_PAYLOAD = 8


def _constants(values: tuple[Value, ...]) -> list[Constant] | None:
    found = [value.constant for value in values if value.constant is not None]
    return found if len(found) == len(values) else None


def call_text_method(state: Walker, site: Site, method: str) -> Value | None:
    """Return what a method of a constant text gives; None where it is not such a method."""
    subject = site.receiver
    if method == "format" and subject.text:
        return _format(state, site)
    if not isinstance(subject.constant, str | bytes):
        return None
    if method == "join":
        return join_texts(state, subject.constant, site.arg(0))
    if method == "translate":
        return _translate(state, site)
    # Python 2 wrote "…".decode("base64").
    if method == "decode" and isinstance(subject.constant, str) and site.args:
        return unpack(state, site, "hex" if site.args[0].text == "hex" else "base64", subject)
    return _rewrite(state, site, method, subject.constant)


def _rewrite(state: Walker, site: Site, method: str, text: str | bytes) -> Value | None:
    subject = site.receiver
    arguments = _constants(site.args)
    result = fold.method(text, method, arguments) if arguments is not None else None
    if result is None:
        return None
    labels, node = subject.labels | site.labels(), subject.node
    if isinstance(result, list):
        parts: list[str | bytes] = [*result]
        return sequence(Value(constant=part, labels=labels, node=node) for part in parts)
    # Encoding a literal leaves its letters where they are.
    plain = subject.plain and method in {"encode", "decode", "strip"}
    found = Value(constant=result, labels=labels, steps=subject.steps, node=node, plain=plain)
    return state.charge(found)


def join_texts(state: Walker, separator: str | bytes, parts: Value) -> Value:
    """Return the members of a value as one text."""
    values = members(parts)
    if values is None:
        return Value(labels=parts.labels, node=parts.node)
    constants = _constants(values)
    node = next((value.node for value in values if value.node is not None), parts.node)
    if constants is None:
        shown = separator if isinstance(separator, str) else ""
        sketch = shown.join(value.text or "$value" for value in values[:64])
        return Value(sketch=sketch, labels=parts.labels, node=node)
    steps = parts.steps or next((value.steps for value in values if value.steps), ())
    found = fold.joined(separator, constants)
    return state.charge(Value(constant=found, labels=parts.labels, steps=steps, node=node))


def _format(state: Walker, site: Site) -> Value:
    subject = site.receiver
    arguments = _constants(site.args)
    named = {key: value.constant for key, value in site.keywords.items()}
    known = {key: value for key, value in named.items() if value is not None}
    labels = subject.labels | site.labels()
    if arguments is not None and len(known) == len(named) and isinstance(subject.constant, str):
        result = fold.formatted(subject.constant, arguments, known)
        if result is not None:
            return state.charge(Value(constant=result, labels=labels, node=subject.node))
    sketch = subject.text.replace("{}", "$value").replace("{", "$").replace("}", "")
    return Value(sketch=sketch, labels=labels, node=subject.node)


def _translate(state: Walker, site: Site) -> Value | None:
    table, subject = site.arg(0), site.receiver
    pair = table.items if table.name == "maketrans" else None
    if pair is None or not isinstance(subject.constant, str):
        return None
    before, after = pair[0].text, pair[1].text
    if len(before) != len(after):
        return None
    result = subject.constant.translate(str.maketrans(before, after))
    labels = subject.labels | _DECODED
    steps = (*subject.steps, "substitution")
    return state.charge(Value(constant=result, labels=labels, steps=steps, node=subject.node))


def _maketrans(_state: Walker, site: Site) -> Value | None:
    before, after = site.arg(0), site.arg(1)
    if isinstance(before.constant, str) and isinstance(after.constant, str):
        return Value(items=(before, after), name="maketrans")
    return None


def _chr(_state: Walker, site: Site) -> Value:
    first = site.arg(0)
    number = first.constant
    if not isinstance(number, int) or not 0 <= number <= sys.maxunicode:
        return Value(labels=first.labels)
    letter = chr(number)
    # A sign that no keyboard has is written by its number for convenience; a letter is not.
    labels = first.labels | _DECODED if letter.isascii() else first.labels
    return Value(constant=letter, labels=labels, steps=("char codes",), node=site.node)


def _ord(_state: Walker, site: Site) -> Value | None:
    text = site.arg(0).constant
    if isinstance(text, str | bytes) and len(text) == 1:
        return Value(constant=ord(text), labels=site.arg(0).labels, node=site.node)
    return None


def _int(_state: Walker, site: Site) -> Value | None:
    result = fold.number(site.arg(0).constant, site.arg(1, "base").constant)
    return None if result is None else Value(constant=result, labels=site.arg(0).labels)


def _str(state: Walker, site: Site) -> Value | None:
    first = site.arg(0)
    if isinstance(first.constant, bytes):
        return replace(first, constant=first.text)
    if isinstance(first.constant, int):
        return state.charge(Value(constant=str(first.constant), labels=first.labels))
    # A path or a text stays what it is.
    return replace(first, name="") if first.text else None


def _bytes(state: Walker, site: Site) -> Value | None:
    first = site.arg(0)
    if isinstance(first.constant, str):
        return replace(first, constant=first.constant.encode("utf-8", "replace"))
    if isinstance(first.constant, bytes):
        return first
    if first.items is None:
        return None
    result = fold.blob([item.constant for item in first.items])
    if result is None:
        return None
    if len(result) >= _MIN_PAYLOAD:
        state.emit(Act.DECODE, site.node, "char codes")
    node = next((item.node for item in first.items if item.node is not None), first.node)
    labels = first.labels | _DECODED
    return state.charge(Value(constant=result, labels=labels, steps=("char codes",), node=node))


def _make_list(_state: Walker, site: Site) -> Value | None:
    found = members(site.arg(0))
    return None if found is None else replace(sequence(found), labels=site.arg(0).labels)


def _reverse(state: Walker, site: Site) -> Value | None:
    first = site.arg(0)
    if isinstance(first.constant, str | bytes):
        found = replace(first, constant=first.constant[::-1], plain=False)
        return state.charge(mark_backwards(found))
    return None if first.items is None else sequence(first.items[::-1])


def mark_backwards(value: Value) -> Value:
    """Return a text that stood backwards in the source, marked as such."""
    return replace(value, labels=value.labels | _DECODED, steps=(*value.steps, "reversed"))


def _range(state: Walker, site: Site) -> Value | None:
    numbers = [value.constant for value in site.args if isinstance(value.constant, int)]
    if len(numbers) != len(site.args) or not numbers or numbers[3:] or 0 in numbers[2:]:
        return None
    found = range(*numbers)
    if len(found) > _MAX_RANGE:
        return None
    state.spent += len(found) >> 3
    return Value(items=tuple(Value(constant=number) for number in found))


def _len(_state: Walker, site: Site) -> Value:
    first = site.arg(0)
    if isinstance(first.constant, str | bytes):
        return Value(constant=len(first.constant))
    return UNKNOWN if first.items is None else Value(constant=len(first.items))


def _zip(_state: Walker, site: Site) -> Value | None:
    columns = [found for value in site.args if (found := members(value)) is not None]
    if len(columns) != len(site.args):
        return None
    return sequence(sequence(row) for row in zip(*columns, strict=False))


def _enumerate(_state: Walker, site: Site) -> Value | None:
    found = members(site.arg(0))
    if found is None:
        return None
    return sequence(sequence([Value(constant=at), item]) for at, item in enumerate(found))


REWRITES: dict[str, Callable[[Walker, Site], Value | None]] = {
    "chr": _chr,
    "unichr": _chr,
    "ord": _ord,
    "int": _int,
    "str": _str,
    "bytes": _bytes,
    "bytearray": _bytes,
    "list": _make_list,
    "tuple": _make_list,
    "set": _make_list,
    "sorted": _make_list,
    "iter": _make_list,
    "reversed": _reverse,
    "range": _range,
    "len": _len,
    "zip": _zip,
    "enumerate": _enumerate,
    "str.maketrans": _maketrans,
    "string.maketrans": _maketrans,
    "bytes.maketrans": _maketrans,
}
