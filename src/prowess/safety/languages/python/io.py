"""What Python code reads, writes and removes on disk, and what that touches."""

import ast
import re
import stat

from prowess.safety.facts import Act
from prowess.safety.languages.python.python_state import Site, State
from prowess.safety.languages.python.values import (
    NO_LABELS,
    UNKNOWN,
    Labels,
    Value,
    labelled,
    labels_of,
    mapping,
    remote_url,
    sequence,
    words,
)
from prowess.safety.sensitive import is_agent_path, path_label, persist_kind

_DISK = re.compile(r"^/dev/(?:sd|nvme|disk|rdisk|hd|vd|mmcblk)\w*$")
_MAX_PATH = 1024
_SCRIPTS = {
    ".sh": "shell",
    ".bash": "shell",
    ".command": "shell",
    ".py": "python",
    ".pth": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".ps1": "powershell",
}
_SHELL_PLACES = frozenset({"rc-file", "cron", "git-hook"})
_WRITES = re.compile(r"[wax+]")
_SETUID = stat.S_ISUID | stat.S_ISGID
PATH = "pathlib.Path()"


def stored_labels(state: State, node: ast.expr, text: str) -> Labels:
    """Return the labels of the file at a path, and note the reading of a secret."""
    if not text or len(text) > _MAX_PATH or "\n" in text:
        return NO_LABELS
    label = path_label(text) or ("memory" if is_agent_path(text) else None)
    written = state.files.get(text, NO_LABELS)
    if label is None:
        return written
    state.emit(Act.READ, node, label, text)
    return written | {label}


def file_labels(state: State, node: ast.expr, path: Value) -> Labels:
    """Return the labels of what is read from a path."""
    found: Labels = NO_LABELS
    for text in path.texts():
        found |= stored_labels(state, node, text) or frozenset([f"file:{text[:_MAX_PATH]}"])
    # A path of which nothing is known may be any file.
    return found or frozenset(["file:*"])


def store(state: State, node: ast.expr, path: Value, data: Value) -> None:
    """Note that data is written to a path."""
    for text in path.texts():
        state.emit(Act.WRITE, node, text, "", data.labels)
        if data.labels:
            state.files[text] = state.files.get(text, NO_LABELS) | data.labels
        _touched(state, node, text, data)
        url = remote_url(data.labels)
        if url is not None:
            state.emit(Act.FETCH, node, url, text)
        _script(state, text, data)


def _touched(state: State, node: ast.expr, text: str, data: Value) -> None:
    if is_agent_path(text):
        state.emit(Act.TAMPER, node, text, data.text, data.labels)
    kind = persist_kind(text)
    if kind:
        state.emit(Act.PERSIST, node, kind, data.text or text, data.labels)
    if _DISK.match(text):
        state.emit(Act.WIPE, node, "disk", text)


def _script(state: State, path: str, data: Value) -> None:
    """Text that is written as a program is read as one."""
    dot = path[path.rfind(".") :] if "." in path else ""
    language = _SCRIPTS.get(dot, "")
    if not language and (data.text.startswith("#!") or persist_kind(path) in _SHELL_PLACES):
        language = "python" if "python" in data.text[:40] else "shell"
    if language and data.text:
        state.embed(language, data, data.labels)


def opened(state: State, site: Site) -> Value:
    """`open(path, mode)`: reading labels the handle, writing is a fact."""
    path, mode = site.arg(0, "file"), site.arg(1, "mode")
    if site.receiver.name == PATH or site.name.endswith("().open"):
        path, mode = site.receiver, site.arg(0, "mode")
    written = isinstance(mode.constant, str) and _WRITES.search(mode.constant) is not None
    labels = NO_LABELS if written else file_labels(state, site.node, path)
    if written:
        store(state, site.node, path, UNKNOWN)
        if isinstance(mode.constant, str) and "w" in mode.constant:
            _emptied(state, site, path)
    return Value(name="open()", labels=labels, made_of=path, node=path.node)


def _emptied(state: State, site: Site, path: Value) -> None:
    if any(path_label(text) == "history" for text in path.texts()):
        state.emit(Act.WIPE, site.node, "history", path.text)


def handle_write(state: State, site: Site) -> Value:
    """`handle.write(data)`."""
    path = site.receiver.made_of
    data = site.arg(0)
    if path is not None and data.items is not None:
        data = labelled(data.labels)
    if path is not None and (data.labels or data.text):
        store(state, site.node, path, data)
    return UNKNOWN


def dumped(state: State, site: Site) -> Value:
    """`json.dump(data, handle)`."""
    handle = site.arg(1, "fp")
    if handle.made_of is not None:
        store(state, site.node, handle.made_of, labelled(site.arg(0, "obj").labels))
    return UNKNOWN


def read_path(state: State, site: Site) -> Value:
    """`path.read_text()`."""
    return labelled(file_labels(state, site.node, site.receiver))


def write_path(state: State, site: Site) -> Value:
    """`path.write_text(data)`."""
    store(state, site.node, site.receiver, site.arg(0, "data"))
    return UNKNOWN


def read_named(state: State, site: Site) -> Value:
    """A reader of formats that takes a path: `sqlite3.connect(path)`, `zipfile.ZipFile(path)`."""
    path, mode = site.arg(0), site.arg(1, "mode")
    if isinstance(mode.constant, str) and _WRITES.search(mode.constant):
        store(state, site.node, path, UNKNOWN)
        return Value(name=site.name + "()", made_of=path, node=path.node)
    labels = path.labels
    for text in path.texts():
        labels |= stored_labels(state, site.node, text)
    return Value(name=site.name + "()", labels=labels, made_of=path, node=path.node)


def packed(state: State, site: Site) -> Value:
    """`archive.write(path)`: the archive now holds that file."""
    path = site.arg(0, "filename" if "filename" in site.keywords else "name")
    labels = file_labels(state, site.node, path)
    if site.name.endswith("writestr"):
        labels = site.labels()
    archive = site.receiver.made_of
    for text in archive.texts() if archive else ():
        state.files[text] = state.files.get(text, NO_LABELS) | labels
    return UNKNOWN


def archived(state: State, site: Site) -> Value:
    """`shutil.make_archive(base, format, root)`."""
    base, kind, root = site.arg(0, "base_name"), site.arg(1, "format"), site.arg(2, "root_dir")
    labels = file_labels(state, site.node, root) if root.texts() else NO_LABELS
    name = f"{base.text or '$archive'}.{kind.text or 'zip'}"
    state.files[name] = labels
    return Value(sketch=name, labels=labels, node=base.node)


def copied(state: State, site: Site) -> Value:
    """`shutil.copy(source, target)` and moves."""
    source, target = site.arg(0, "src"), site.arg(1, "dst")
    if source.name == "open()" and target.made_of is not None:
        store(state, site.node, target.made_of, labelled(source.labels))
        return UNKNOWN
    if source.name == "response()" and target.made_of is not None:
        store(state, site.node, target.made_of, source)
        return UNKNOWN
    store(state, site.node, target, labelled(file_labels(state, site.node, source)))
    return Value(constant=target.constant, sketch=target.sketch, node=target.node)


def removed(state: State, site: Site) -> Value:
    """`os.remove(path)`, `shutil.rmtree(path)`."""
    path = site.receiver if site.receiver.name == PATH else site.arg(0, "path")
    sweeping = "walk" in state.parts and path.text.endswith("/*")
    named = site.name.rpartition(".")[2] in {"rmtree", "removedirs"}
    how = "recursive" if named or sweeping else ""
    for text in path.texts() or ("",):
        state.emit(Act.DELETE, site.node, text, how)
        if path_label(text) == "history":
            state.emit(Act.WIPE, site.node, "history", text)
    return UNKNOWN


def permitted(state: State, site: Site) -> Value:
    """`os.chmod(path, mode)`."""
    own = site.receiver.name == PATH
    path = site.receiver if own else site.arg(0, "path")
    mode = site.arg(0 if own else 1, "mode")
    subject = f"{mode.constant & 0o7777:o}" if isinstance(mode.constant, int) else mode.sketch
    state.emit(Act.PERMISSION, site.node, subject, path.text)
    return UNKNOWN


def added_bits(mode: int) -> str:
    """Return bits that are added to an unknown mode, as a person writes them."""
    if mode & _SETUID:
        return "u+s"
    if mode & stat.S_IWOTH:
        return "o+w"
    return "+x" if mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH) else ""


def path_made(_state: State, site: Site) -> Value:
    """`Path(part, …)`."""
    return join_path(site.args, site)


def join_path(parts: tuple[Value, ...], site: Site | None = None) -> Value:
    """Return parts joined as a path; an absolute part begins anew."""
    node = next((part.node for part in parts if part.node is not None), None)
    text = ""
    for index, part in enumerate(parts):
        shown = part.text or ("" if index == 0 and len(parts) == 1 else "$part")
        restarts = shown.startswith(("/", "~", "%"))
        text = shown if restarts or not text else f"{text.rstrip('/')}/{shown}"
    whole = bool(parts) and all(isinstance(part.constant, str) for part in parts)
    name = PATH if site is None or site.name.startswith("pathlib") else ""
    return Value(
        constant=text if whole else None,
        sketch=text,
        labels=labels_of(parts) - words("input"),
        name=name,
        node=node,
        plain=False,
    )


def joined_path(_state: State, site: Site) -> Value:
    """`os.path.join(part, …)`."""
    return join_path(site.args, site)


def joined_to_path(_state: State, site: Site) -> Value:
    """`path.joinpath(part, …)`."""
    return join_path((site.receiver, *site.args))


def same_path(_state: State, site: Site) -> Value:
    """`os.path.expanduser(path)`, `path.resolve()`: another spelling of the same path."""
    return site.receiver if site.receiver.name == PATH else site.arg(0)


def home(_state: State, site: Site) -> Value:
    """`Path.home()`."""
    return Value(constant="~", name=PATH, node=site.node)


def listed(_state: State, site: Site) -> Value:
    """`glob.glob(pattern)`, `os.listdir(folder)`: the paths that are found."""
    own = site.receiver.name == PATH
    base = site.receiver if own else site.arg(0)
    pattern = site.arg(0).text if own else ""
    whole = site.name.startswith("glob.")
    text = base.text if whole else f"{base.text or '.'}/{pattern or '*'}"
    if site.name == "os.listdir":
        return sequence([Value(sketch="*", node=base.node)])
    return sequence([Value(sketch=text, name=PATH if own else "", node=base.node)])


def walked(state: State, site: Site) -> Value:
    """`os.walk(top)`: folders with what is in them."""
    top = site.arg(0, "top")
    state.parts["walk"] = site.node
    root = Value(constant=top.constant, sketch=top.text, node=top.node)
    names = sequence([Value(sketch="*")])
    return sequence([sequence([root, names, names])])


def environment(state: State, site: Site) -> Value:
    """`os.environ.items()` and its like: the whole environment."""
    # A copy is most often made for a child process; whether it goes elsewhere shows by its label.
    if not site.name.endswith(".copy"):
        state.emit(Act.READ, site.node, "env", "os.environ")
    return labelled(frozenset(["env"]))


def updated_environment(state: State, site: Site) -> Value:
    """`os.environ.update(…)`."""
    given = site.arg(0)
    pairs = given if given.keys is not None else mapping(site.keywords)
    for key, value in zip(pairs.keys or (), pairs.items or (), strict=True):
        state.emit(Act.SETENV, site.node, key.text, value.text, value.labels)
    return UNKNOWN


def set_environment(state: State, site: Site) -> Value:
    """`os.putenv(name, value)`."""
    name, value = site.arg(0), site.arg(1)
    state.emit(Act.SETENV, site.node, name.text, value.text, value.labels)
    return UNKNOWN
