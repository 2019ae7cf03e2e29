"""What code runs (texts, commands, processes, native code), and the table of what calls do."""

import re
import shlex
from collections.abc import Mapping
from functools import cache

from prowess.data import load_index, load_pattern, load_table
from prowess.safety.facts import Act
from prowess.safety.languages.code import effects, io
from prowess.safety.languages.code.state import Effect, Site, Walker
from prowess.safety.languages.code.values import (
    COMMON_TABLE,
    NO_LABELS,
    PYTHON_TABLE,
    UNKNOWN,
    Labels,
    Value,
    common_words,
    labelled,
    labels_of,
    remote_label,
    replace,
)
from prowess.safety.paths import path_label

_MAX_WORDS = 64
# What a command is about stands at its beginning.
_MAX_LOOK = 4000
_PYTHONS = re.compile(r"^(?:python|pypy)[\d.]*(?:\.exe|w\.exe)?$")
_TEXT_FLAG = re.compile(r"^(?:-[a-z]{0,3}[ce]|/[cCkK]|-Command|-r|--eval)$")
_URL = re.compile(r"(?:https?|ftp)://[^\s'\"]{1,400}")


def _program(text: str) -> str:
    return text.replace("\\", "/").rpartition("/")[2]


def run_text(state: Walker, site: Site, command: Value, subject: str = "shell") -> None:
    """Note that a text is run as a command line."""
    for value in command.every():
        state.emit(Act.EXEC, site.node, subject, value.text, value.labels)
        state.embed("shell", value, value.labels)
        _uploads(state, site, value.text, value.labels)
    _tell_fetched_command(state, site, command.labels)


def run_words(state: Walker, site: Site, parts: tuple[Value, ...]) -> None:
    """Note that a program is run with arguments."""
    parts = parts[:_MAX_WORDS]
    texts = [part.text or "$value" for part in parts]
    flow = labels_of(parts)
    program = _program(texts[0]) if texts else ""
    language = find_language(program)
    script = _inline_script(texts) if language else None
    if script is not None:
        subject = "shell" if language == "shell" else program
        state.emit(Act.EXEC, site.node, subject, texts[script], flow)
        state.embed(language, parts[script], flow)
    else:
        at = _find_script(texts) if language else 0
        subject, shown = (
            (language, texts[at] if at else "") if language else ("process", " ".join(texts))
        )
        # What stands behind a script is data for it, and is not run.
        run = labels_of(parts[: at + 1]) if at else flow
        state.emit(Act.EXEC, site.node, subject, shown, run)
        _embed_words(state, parts, texts, run)
    _uploads(state, site, " ".join(texts), flow)
    _installs(state, site, texts)
    _tell_fetched_command(state, site, flow)


def find_language(text: str) -> str:
    """Return the language that a program runs, empty where it is no interpreter."""
    program = _program(text)
    if program in common_words("shells"):
        return "shell"
    return (
        "python"
        if _PYTHONS.match(program)
        else load_index(COMMON_TABLE, "interpreters").get(program, "")
    )


def _find_script(words: list[str]) -> int:
    """Return where the file stands that an interpreter runs; 0 where it runs what it is fed."""
    return next((at for at, word in enumerate(words) if at and not word.startswith("-")), 0)


def _inline_script(texts: list[str]) -> int | None:
    for index, text in enumerate(texts[1:-1], 1):
        if _TEXT_FLAG.match(text):
            return index + 1
        if not text.startswith(("-", "/")):
            return None
    return None


def _embed_words(state: Walker, parts: tuple[Value, ...], texts: list[str], flow: Labels) -> None:
    """Show an argument list to the reader of shell as the command line that it amounts to."""
    line: list[str] = []
    indices: list[int] = []
    for part, text in zip(parts, texts, strict=True):
        shown = text if text.startswith("$") and text[1:].isidentifier() else shlex.quote(text)
        start = state.source.span(part.node)[0] if part.node is not None else None
        if start is None:
            start = indices[-1] if indices else None
        if start is None:
            return
        line.append(shown)
        indices.extend([start] * (len(shown) + 1))
    text = " ".join(line)
    if text:
        state.embed_line(text, indices[: len(text)], flow)


def _uploads(state: Walker, site: Site, command: str, flow: Labels) -> None:
    words_of = command[:_MAX_LOOK].split(None, 1)
    # How a command was spelled or who gave it is not data that it takes along.
    flow = frozenset(label for label in flow if label not in {"decoded", "input"})
    if flow and words_of and _program(words_of[0]) in common_words("uploaders"):
        url = _URL.search(command[:_MAX_LOOK])
        state.emit(Act.SEND, site.node, url[0] if url else "", "http", flow)


def _installs(state: Walker, site: Site, texts: list[str]) -> None:
    manager = next((_program(text) for text in texts[:3] if _program(text) in _MANAGERS), "")
    verb = next((i for i, text in enumerate(texts) if text in {"install", "add", "i"}), 0)
    if not manager or not verb:
        return
    for text in texts[verb + 1 :]:
        if not text.startswith("-"):
            state.emit(Act.INSTALL, site.node, _MANAGERS[manager], text)


_MANAGERS = {"pip": "pip", "pip3": "pip", "uv": "pip", "npm": "npm", "brew": "brew", "gem": "gem"}


def _tell_fetched_command(state: Walker, site: Site, flow: Labels) -> None:
    if "socket" in state.parts and any(label.startswith("remote=tcp:") for label in flow):
        state.parts["runs-received"] = site.node


def label_output(texts: tuple[str, ...]) -> Labels:
    """Return what the output of command lines holds."""
    found: set[str] = set()
    for whole in texts:
        text = whole[:_MAX_LOOK]
        found.update(
            label
            for label in load_table(COMMON_TABLE, "outputs")
            if load_pattern(COMMON_TABLE, "outputs", label).search(text)
        )
        first, _, rest = text.strip().partition(" ")
        if first in {"cat", "type", "head", "tail", "strings"}:
            paths = (path_label(word) for word in rest.split()[:16])
            found.update(label for label in paths if label)
        if first in {"curl", "wget"}:
            url = _URL.search(rest)
            found.add(remote_label(url[0] if url else ""))
    return frozenset(found)


def run_shell_text(state: Walker, site: Site) -> Value:
    """`os.system(text)` and its like."""
    command = site.arg(0, "command" if "command" in site.keywords else "cmd")
    run_text(state, site, command)
    return labelled(label_output(command.texts()) | _keep_labels(command.labels), site.name + "()")


def run_process(state: Walker, site: Site) -> Value:
    """`subprocess.run(…)` and its like."""
    command = site.arg(0, "args")
    shell = site.keywords.get("shell")
    _redirect(state, site)
    texts: tuple[str, ...] = ()
    for value in command.every():
        if value.items is not None and value.keys is None:
            run_words(state, site, value.items)
            texts += (" ".join(item.text for item in value.items[:_MAX_WORDS]),)
        else:
            shelled = shell is not None and shell.constant is not False
            run_text(state, site, replace(value, also=()), "shell" if shelled else "process")
            texts += (value.text,)
    fed = site.keywords.get("input", UNKNOWN).labels | site.keywords.get("stdin", UNKNOWN).labels
    first = texts[0].split() if texts and texts[0] else []
    obeys = first and find_language(first[0]) and not _find_script(first)
    if obeys and fed & {"remote", "decoded"}:
        # What an interpreter is fed is what it runs.
        state.emit(Act.EXEC, site.node, "shell", texts[0] or "", fed)
    return labelled(label_output(texts) | _keep_labels(command.labels | fed), site.name + "()")


def _keep_labels(labels: Labels) -> Labels:
    """What is passed to a command is often part of its output; where it came from stays known."""
    return labels - {"input"}


def _redirect(state: Walker, site: Site) -> None:
    streams = (site.keywords.get(name, UNKNOWN) for name in ("stdin", "stdout", "stderr"))
    if any(stream.name.startswith("socket.") for stream in streams):
        state.emit(Act.REVERSE_SHELL, site.node, state.language.name, state.peer)


def spawn_program(state: Walker, site: Site) -> Value:
    """`os.execv(path, args)`, `os.spawnl(mode, path, …)`, `asyncio.create_subprocess_exec(…)`."""
    parts = list(site.args)
    if ".spawn" in site.name or ".posix_spawn" in site.name:
        parts = parts[1:] if ".spawn" in site.name else parts
    if site.name.startswith("os."):
        listed = next((part.items for part in parts if part.items is not None), None)
        # The first argument after the path repeats the name of the program.
        parts = [parts[0], *(listed[1:] if listed is not None else parts[2:])] if parts else []
    run_words(state, site, tuple(parts))
    return labelled(NO_LABELS, site.name + "()")


def open_terminal(state: Walker, site: Site) -> Value:
    """`pty.spawn(argv)`: a terminal for whoever holds the other end."""
    command = site.arg(0, "argv")
    run_words(state, site, command.items if command.items is not None else (command,))
    state.parts["pty"] = site.node
    return UNKNOWN


def evaluate_text(state: Walker, site: Site) -> Value:
    """`eval(text)` and `exec(text)`."""
    code = site.arg(0, "source")
    subject = "eval" if site.name == "eval" else "exec"
    for value in code.every():
        flow = value.labels
        target = value.text or next((x[5:] for x in sorted(flow) if x.startswith("file:")), "")
        state.emit(Act.EXEC, site.node, subject, target, flow)
        # A value that is no text at all runs nothing that could be read.
        if value.name != "code" or value.text:
            state.embed(state.language.name, value, flow)
    return labelled(code.labels - {"decoded"})


def compile_text(_state: Walker, site: Site) -> Value:
    """`compile(text, …)`: code that is not yet run."""
    code = site.arg(0, "source")
    return Value(
        constant=code.constant,
        labels=code.labels,
        name="code",
        sketch=code.sketch,
        steps=code.steps,
        node=code.node,
        plain=code.plain,
    )


def run_file(state: Walker, site: Site) -> Value:
    """`runpy.run_path(path)`, `exec_module`, `execfile`."""
    path = site.arg(0)
    state.emit(Act.EXEC, site.node, "python", path.text, path.labels)
    return UNKNOWN


def duplicate_stream(state: Walker, site: Site) -> Value:
    """`os.dup2(socket.fileno(), 0)`: standard streams handed to the network."""
    if site.arg(0).name.startswith("socket."):
        state.emit(Act.REVERSE_SHELL, site.node, state.language.name, state.peer)
    return UNKNOWN


def run_pip(state: Walker, site: Site) -> Value:
    """`pip.main(["install", …])`."""
    items = site.arg(0, "args").items or ()
    _installs(state, site, ["pip", *(item.text for item in items)])
    return UNKNOWN


def split_line(state: Walker, site: Site) -> Value:
    """`shlex.split(text)`: an argument list that stands in one text."""
    line = site.arg(0)
    if not isinstance(line.constant, str):
        parts = tuple(Value(sketch=word, node=line.node) for word in line.sketch.split())
        return Value(items=parts or None, labels=line.labels, node=line.node)
    try:
        found = shlex.split(line.constant)
    except ValueError:
        return Value(sketch=line.text, labels=line.labels, node=line.node)
    items = tuple(Value(constant=word, labels=line.labels, node=line.node) for word in found)
    return state.charge(Value(items=items, labels=line.labels, node=line.node))


_EFFECTS: dict[str, Effect] = {
    one.__name__: one
    for one in (
        # What is run.
        evaluate_text, compile_text, run_shell_text, run_process, spawn_program,
        open_terminal, duplicate_stream, run_file, run_pip, split_line,
        # What is fetched and sent.
        io.open_url, io.make_request, io.retrieve_url, io.make_connection, io.send_request,
        io.connect_socket, io.receive_data, io.send_data, io.resolve_host, io.browse_url,
        io.send_log,
        io.write_log,
        # What happens to files and the environment.
        io.open_file, io.write_handle, io.dump_data, io.read_path, io.write_path, io.open_named,
        io.pack_file, io.make_archive, io.copy_file, io.remove_file, io.change_mode, io.make_path,
        io.find_home, io.join_to_path, io.keep_path, io.list_folder, io.walk_folder,
        io.read_environment, io.update_environment,
        # What is read, decoded, revived and reached by name.
        effects.read_variable, effects.revive_object, effects.import_module, effects.get_attribute,
        effects.make_namespace, effects.make_getter, effects.decrypt,
        effects.open_registry_key, effects.set_registry_value, effects.become_root,
        effects.forget_origin, effects.make_mapping, effects.decode_by_codec,
        effects.get_own_attribute, effects.save_data,
    )
}  # fmt: skip


def load_effects(name: str, functions: Mapping[str, Effect]) -> dict[str, Effect]:
    """Return what each call of a language does, by its dotted name."""
    found = {call: functions[kind] for call, kind in load_index(name, "effects").items()}
    for call, kind in load_index(name, "sources").items():
        label, _, target = kind.partition(" ")
        found[call] = effects.make_source(label, target)
    for call, label in load_index(name, "quiet_sources").items():
        found[call] = effects.make_quiet_source(label)
    for call, encoding in load_index(name, "decoders").items():
        found[call] = effects.make_decoder(encoding)
    for row in load_table(name, "acts"):
        found |= dict.fromkeys(row["calls"].split(), effects.make_act(row))
    return found


@cache
def python_effects() -> dict[str, Effect]:
    """Return what calls of Python do, by dotted name."""
    return load_effects(PYTHON_TABLE, _EFFECTS)


@cache
def python_methods() -> dict[str, Effect]:
    """Return what methods do whose names alone say enough."""
    known = {**_EFFECTS, "clipboard": effects.make_source("clipboard", "")}
    return {name: known[kind] for name, kind in load_index(PYTHON_TABLE, "methods").items()}
