"""What kind of thing a step did, whatever its harness calls it.

Every harness has its own name for a shell, a file that is read and a file that is written. The
document, the replay and the alignment of traces all ask here, so that they agree.
"""

import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from prowess.transcripts.traces_part import Action


class Deed(StrEnum):
    """A kind of step."""

    GESTURE = "gesture"
    TYPE = "type"
    KEY = "key"
    LAUNCH = "launch"
    WAIT = "wait"
    BATCH = "batch"
    # A command on the device itself.
    DEVICE_SHELL = "device-shell"
    # A command where the agent runs.
    SHELL = "shell"
    SCRIPT = "script"
    READ = "read"
    WRITE = "write"
    EDIT = "edit"
    PATCH = "patch"
    # A person was asked for something.
    ASK = "ask"
    FINISH = "finish"
    # Any other tool.
    TOOL = "tool"


_DEEDS: Mapping[Deed, tuple[str, ...]] = MappingProxyType(
    {
        Deed.GESTURE: ("tap", "tap_element", "swipe", "drag", "long_press_drag"),
        Deed.TYPE: ("type", "type_text"),
        Deed.KEY: ("keyevent",),
        Deed.LAUNCH: ("launch_app",),
        Deed.WAIT: ("wait", "sleep"),
        Deed.BATCH: ("batch_actions",),
        Deed.SHELL: (
            "bash", "shell", "exec", "exec_command", "shell_command", "local_shell_call",
            "local_shell", "run_shell_command", "run_terminal_cmd", "run_command", "container.exec",
        ),
        Deed.SCRIPT: ("run_script",),
        Deed.READ: ("read", "read_file", "notebookread", "view", "cat"),
        Deed.WRITE: ("write", "write_file", "create_file"),
        Deed.EDIT: ("edit", "multiedit", "replace", "str_replace", "edit_file", "search_replace"),
        Deed.PATCH: ("apply_patch", "patch"),
        Deed.ASK: (
            "request_human_auth", "request_user_decision", "request_user_input",
            "askuserquestion", "ask_user",
        ),
        Deed.FINISH: ("finish",),
    }
)  # fmt: skip
_BY_NAME = MappingProxyType({name: deed for deed, names in _DEEDS.items() for name in names})
_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh"))
_RUN_FLAGS = frozenset(("-c", "-lc", "-ic", "-cl", "-euc", "-ec"))
_WRAPPED = 3


def deed_of(action: Action, *, on_device: bool) -> Deed:
    """Return what an action does; `on_device` is the trace's own word for where `shell` runs."""
    name = action.kind.strip().casefold()
    if name == "shell" and on_device:
        return Deed.DEVICE_SHELL
    return _BY_NAME.get(name, Deed.TOOL)


def command_of(action: Action) -> str:
    """Return the command line that a step ran, without the shell around it; empty where none."""
    for name in ("command", "cmd", "script", "code"):
        value = action.fields.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, Sequence) and value and all(isinstance(part, str) for part in value):
            return _unwrapped([str(part) for part in value])
    inner = action.fields.get("action")
    return command_of(Action(action.kind, inner)) if isinstance(inner, Mapping) else ""


def _unwrapped(words: list[str]) -> str:
    shell = words[0].rsplit("/", 1)[-1]
    if len(words) == _WRAPPED and shell in _SHELLS and words[1] in _RUN_FLAGS:
        return words[2]
    return shlex.join(words)


def path_of(action: Action) -> str:
    """Return the file that a step read or wrote; empty where it names none."""
    return action.text("file_path", "path", "filePath", "notebook_path", "absolute_path")
