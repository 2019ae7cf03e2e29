"""What other Python calls mean: secrets read, payloads decoded, objects revived, names computed."""

from collections.abc import Callable

from prowess.safety.facts import Act
from prowess.safety.languages.python import python_decode
from prowess.safety.languages.python.io import store, stored_labels
from prowess.safety.languages.python.python_names import (
    canonical,
    is_dangerous,
    is_dangerous_module,
)
from prowess.safety.languages.python.python_state import Site, State
from prowess.safety.languages.python.values import (
    NO_LABELS,
    UNKNOWN,
    Value,
    labelled,
    mapping,
    replace,
    words,
)
from prowess.safety.sensitive import is_secret_name

_DECODED = frozenset(["decoded"])
_HOME_VARIABLES = words("HOME USERPROFILE")
_FOLDER_VARIABLES = words("APPDATA LOCALAPPDATA PROGRAMDATA TEMP TMP TMPDIR XDG_CONFIG_HOME PWD")
_RUN_KEY = "currentversion\\run"


def variable(state: State, site: Site) -> Value:
    """`os.getenv(name)`."""
    return environment_variable(state, site, site.arg(0, "key"), site.arg(1, "default"))


def environment_variable(state: State, site: Site, key: Value, default: Value) -> Value:
    """Return the value of one environment variable."""
    name = key.text
    if not name or key.constant is None:
        return labelled(frozenset(["env:" + (name or "*")]))
    if name.upper() in _HOME_VARIABLES:
        return Value(sketch="~", node=site.node)
    if name.upper() in _FOLDER_VARIABLES:
        return Value(sketch=f"%{name}%", node=site.node)
    label = f"env:{name}"
    if is_secret_name(name):
        state.emit(Act.READ, site.node, label, name)
    # What stands as default is what most runs use: an address, a path.
    known = default.text if isinstance(default.constant, str) else ""
    return Value(sketch=known, labels=frozenset([label]), node=default.node)


def source(label: str, target: str) -> Callable[[State, Site], Value]:
    """Return what a call does that reads something secret."""

    def effect(state: State, site: Site) -> Value:
        state.emit(Act.READ, site.node, label, target or site.name)
        return labelled(frozenset([label]), site.name + "()")

    return effect


def quiet_source(label: str) -> Callable[[State, Site], Value]:
    """Return what a call does whose result has an origin that is no secret by itself."""

    def effect(state: State, site: Site) -> Value:
        # What reaches the program from outside comes in by these.
        outside = state.outside if label == "input" else NO_LABELS
        return labelled(outside | {label}, site.name + "()")

    return effect


def decoding(state: State, site: Site) -> Value:
    """`base64.b64decode(data)` and its like."""
    encoding = python_decode.CALLS[site.name]
    return unpacked(state, site, encoding, site.arg(0))


def codec_decoding(state: State, site: Site) -> Value | None:
    """`codecs.decode(data, encoding)`, where the encoding is not a charset."""
    encoding = python_decode.codec_encoding(site.arg(1, "encoding").constant)
    # Turning by thirteen letters is its own undoing; the others only pack when they encode.
    if site.name.endswith(".encode") and encoding != "rot13":
        return None
    if encoding is None:
        text = site.arg(0)
        known = text.constant
        shown = known.decode("utf-8", "replace") if isinstance(known, bytes) else known
        return replace(text, constant=shown)
    found = unpacked(state, site, encoding, site.arg(0))
    if encoding == "rot13" and isinstance(found.constant, bytes):
        return replace(found, constant=found.constant.decode("utf-8", "replace"))
    return found


def unpacked(state: State, site: Site, encoding: str, data: Value) -> Value:
    """Return what data decodes to."""
    state.emit(Act.DECODE, site.node, encoding, "", data.labels)
    result = python_decode.decode(encoding, data.constant)
    steps = (*data.steps, encoding)
    found = Value(constant=result, labels=data.labels | _DECODED, steps=steps, node=data.node)
    return state.charge(found)


def deserialised(state: State, site: Site) -> Value | None:
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
        flow |= stored_labels(state, site.node, text)
    state.emit(Act.DESERIALISE, site.node, kind, data.text[:200], flow)
    return labelled(flow, "code" if kind == "marshal" else "")


def imported(state: State, site: Site) -> Value:
    """`__import__(name)` and `importlib.import_module(name)`."""
    name = site.arg(0, "name")
    if not isinstance(name.constant, str):
        if name.labels:
            state.emit(Act.IMPORT, site.node, "", "", name.labels)
        return labelled(name.labels - {"input"})
    module = canonical(name.constant)
    state.imports.setdefault(name.constant)
    if not name.plain:
        state.emit(Act.IMPORT, site.node, module, "", name.labels | _DECODED)
    return Value(name=module)


def attribute(state: State, site: Site) -> Value | None:
    """`getattr(thing, name)`."""
    thing, name = site.arg(0), site.arg(1)
    if not isinstance(name.constant, str):
        if name.labels and is_dangerous_module(thing.name):
            state.emit(Act.IMPORT, site.node, thing.name, "", name.labels)
        return labelled(thing.labels | (name.labels - {"input"}))
    if not thing.name:
        return None
    return computed(state, site, thing.name, name)


def computed(state: State, site: Site, base: str, name: Value) -> Value:
    """Return what a name given as text reaches, and note where that is dangerous."""
    full = canonical(f"{base}.{name.text}" if base else name.text)
    if is_dangerous(full):
        made_up = NO_LABELS if name.plain else _DECODED
        state.emit(Act.IMPORT, site.node, full, "", name.labels | made_up)
    return Value(name=full)


def getter(_state: State, site: Site) -> Value | None:
    """`operator.attrgetter(name)`, `operator.methodcaller(name, …)`: attributes taken later."""
    if not isinstance(site.arg(0).constant, str):
        return None
    return Value(name=site.name.rpartition(".")[2], items=site.args)


def own_attribute(state: State, site: Site) -> Value | None:
    """`module.__getattribute__(name)`."""
    if not site.receiver.name or not isinstance(site.arg(0).constant, str):
        return None
    return computed(state, site, site.receiver.name, site.arg(0))


def decrypted(state: State, site: Site) -> Value:
    """`Fernet(key).decrypt(data)`: text that nobody can read beforehand."""
    state.emit(Act.DECODE, site.node, "cipher", "", site.labels())
    return labelled(site.labels() | _DECODED)


def namespace(_state: State, site: Site) -> Value:
    """`globals()`, `vars(module)`: a module's names as a mapping."""
    base = site.arg(0).name if site.name == "vars" else ""
    return Value(name="namespace:" + base)


def scheduled(state: State, site: Site) -> Value:
    """`CronTab(…).new(command=…)`."""
    state.emit(Act.PERSIST, site.node, "cron", site.arg(0, "command").text, site.labels())
    return UNKNOWN


def registry_key(_state: State, site: Site) -> Value:
    """`winreg.OpenKey(root, path)`."""
    return Value(name="winreg.key()", made_of=site.arg(1, "sub_key"))


def registry_value(state: State, site: Site) -> Value:
    """`winreg.SetValueEx(key, name, 0, kind, value)`: under `Run` it starts at every login."""
    path = site.arg(0).made_of
    if path is not None and _RUN_KEY in path.text.lower():
        last = site.args[-1] if site.args else UNKNOWN
        state.emit(Act.PERSIST, site.node, "registry-run", last.text, last.labels)
    return UNKNOWN


def became_root(state: State, site: Site) -> Value:
    """`os.setuid(0)`."""
    if site.arg(0).constant == 0:
        state.emit(Act.PRIVILEGE, site.node, "setuid")
    return UNKNOWN


def elevated(state: State, site: Site) -> Value:
    """`ShellExecuteW(None, "runas", program, …)`."""
    if site.arg(1).text.lower() == "runas":
        state.emit(Act.PRIVILEGE, site.node, "runas", site.arg(2).text)
    return UNKNOWN


def unverified(state: State, site: Site) -> Value:
    """`ssl._create_unverified_context()`."""
    state.emit(Act.DISABLE, site.node, "tls")
    return UNKNOWN


def no_origin(_state: State, _site: Site) -> Value:
    """`len(x)`, `isinstance(x, y)`: an answer about a value, not the value."""
    return UNKNOWN


def parameters(_state: State, site: Site) -> Value:
    """`dict(…)`: the mapping it was given, or its keywords."""
    first = site.arg(0)
    if first.labels or first.keys is not None:
        return replace(first, name="").named(site.labels())
    return mapping(site.keywords)


def saved(state: State, site: Site) -> Value:
    """`frame.to_csv(path)`, `image.save(path)`: data of the receiver written to a path."""
    path = site.arg(0)
    if path.texts() and site.receiver.labels:
        store(state, site.node, path, labelled(site.receiver.labels))
    return UNKNOWN
