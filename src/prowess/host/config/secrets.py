"""The variables that the config holds for a skill, and the secrets that its references lead to.

A value may be the text itself, `$NAME` or `${NAME}`, or `{source: env | file | exec, ...}`. A
reference is followed when a run needs it, and what it leads to is kept nowhere. No message here
repeats a value, nor anything that a command printed: it may be half a secret. Nor does one repeat
what a reference says: somebody may have put the secret itself there.
"""

import os
import re
import shlex
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prowess.errors import SecretError
from prowess.host.config.file import ConfigFile
from prowess.host.sources.roots import expand_path
from prowess.runtime.environment import Value
from prowess.runtime.ports import ChildCommand, EntryValues, Processes

# In capitals: a password may well begin with that sign.
_NAME = re.compile(r"\$(?:([A-Z_][A-Z0-9_]*)|\{([A-Z_][A-Z0-9_]*)\})")
_IN_PATH = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_MOST_BYTES = 256 * 1024
_SECONDS, _MOST_SECONDS = 10.0, 60.0
# Several programs write this shape, and they do not agree on the name of its one argument.
_ENV_KEYS = ("name", "id", "env", "variable", "var", "key")
_FILE_KEYS = ("path", "file", "id")
_EXEC_KEYS = ("command", "argv", "cmd", "id")
_SHAPES = '"$NAME", {source: "env", name}, {source: "file", path} or {source: "exec", command}'


class ConfigSecrets:
    """Reads `skills.entries` as it is now; one per run."""

    def __init__(
        self,
        config: ConfigFile,
        environ: Mapping[str, str],
        home: str,
        processes: Callable[[], Processes],
    ) -> None:
        self._config, self._environ, self._home = config, environ, home
        # Started only by a reference to a command, which most people have none of.
        self._processes = processes

    def entry(self, key: str) -> EntryValues:
        """Return what is configured for the skill with that key; nothing is looked up yet."""
        skills = self._config.values().get("skills")
        entries = skills.get("entries") if isinstance(skills, Mapping) else None
        entry = entries.get(key) if isinstance(entries, Mapping) else None
        if not isinstance(entry, Mapping):
            return EntryValues()
        variables = entry.get("env")
        named = variables.items() if isinstance(variables, Mapping) else ()
        where = f"skills.entries.{key}"
        return EntryValues(
            api_key=self._value(f"{where}.apiKey", entry.get("apiKey")),
            env={
                name: value
                for name, given in named
                if (value := self._value(f"{where}.env.{name}", given)) is not None
            },
        )

    def _value(self, where: str, given: object) -> Value | None:
        """Return a text, or what fetches it; None for what the config reader has complained of."""
        if isinstance(given, str):
            found = _NAME.fullmatch(given.strip())
            if found is None:
                return given
            name = found[1] or found[2]
            return lambda: self._from_environment(where, name)
        if isinstance(given, Mapping) and given:
            return lambda: self._from_reference(where, given)
        return None

    def _from_reference(self, where: str, given: Mapping[str, Any]) -> str:
        source = given.get("source")
        if source == "env":
            name = _argument(where, given, _ENV_KEYS)
            return self._from_environment(where, name.removeprefix("$").strip("{}"))
        if source == "file":
            return self._from_file(where, _argument(where, given, _FILE_KEYS))
        if source == "exec":
            return self._from_command(where, given)
        raise SecretError(where, f"is no secret reference that is known: give {_SHAPES}.")

    def _from_environment(self, where: str, name: str) -> str:
        found = self._environ.get(name, "")
        if not found.strip():
            shown = f"the variable {name}" if _NAME.fullmatch(f"${name}") else "a variable"
            raise SecretError(where, f"refers to {shown}, which is not set: set it, or change it.")
        return found

    def _from_file(self, where: str, path: str) -> str:
        named = _IN_PATH.sub(lambda found: self._environ.get(found[1] or found[2], ""), path)
        full = expand_path(named, self._home, os.path.dirname(self._config.path))
        try:
            # Without waiting: a pipe under that name would never answer.
            handle = os.open(full, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise SecretError(where, "refers to something that is no regular file.")
                content = file.read(_MOST_BYTES + 1)
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or "it is no path"
            problem = f"refers to a file that cannot be read ({said}): check the path."
            raise SecretError(where, problem) from None
        return _text(where, "a file", content)

    def _from_command(self, where: str, given: Mapping[str, Any]) -> str:
        argv = _argv(where, given)
        seconds = given.get("timeoutMs")
        limit = seconds / 1_000 if isinstance(seconds, int | float) else _SECONDS
        done = self._processes().run(
            ChildCommand(
                argv=argv,
                environment=dict(self._environ),
                folder=self._home,
                seconds=min(max(limit, 0.1), _MOST_SECONDS),
                most_chars=_MOST_BYTES,
            )
        )
        what = "a command"
        if done.code != 0:
            ended = "it cannot be started" if done.problem else f"it ended with {done.code}"
            ended = "it took too long" if done.timed_out else ended
            problem = f"refers to {what} that gave no secret ({ended}): run it yourself."
            raise SecretError(where, problem)
        if done.cut:
            raise SecretError(where, f"refers to {what} that printed far too much.")
        return _text(where, what, done.stdout.encode("utf-8", "surrogateescape"))


def referred_variables(values: Mapping[str, Any]) -> set[str]:
    """Return the variables that secret references of any skill point to; none is looked up."""
    skills = values.get("skills")
    entries = skills.get("entries") if isinstance(skills, Mapping) else None
    found: set[str] = set()
    for entry in entries.values() if isinstance(entries, Mapping) else ():
        if not isinstance(entry, Mapping):
            continue
        variables = entry.get("env")
        named = variables.values() if isinstance(variables, Mapping) else ()
        for given in (entry.get("apiKey"), *named):
            found |= _find_referred(given)
    return found


def _find_referred(given: object) -> set[str]:
    if isinstance(given, str):
        match = _NAME.fullmatch(given.strip())
        return {match[1] or match[2]} if match else set()
    if not isinstance(given, Mapping) or given.get("source") != "env":
        return set()
    texts = [given[key].strip() for key in _ENV_KEYS if isinstance(given.get(key), str)]
    return {text.removeprefix("$").strip("{}") for text in texts if text}


def _argument(where: str, given: Mapping[str, Any], keys: Sequence[str]) -> str:
    for key in keys:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    raise SecretError(where, f"is a secret reference without `{keys[0]}`: give {_SHAPES}.")


def _argv(where: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the command of a reference, split as a shell would, and never given to one."""
    command = next((given[key] for key in _EXEC_KEYS if given.get(key)), None)
    rest = given.get("args") or []
    parts: list[object] = []
    if isinstance(command, str):
        try:
            # With arguments of its own the command is one program, whose path may hold spaces.
            parts = [command] if rest else list(shlex.split(command))
        except ValueError:
            raise SecretError(where, "is a command with an open quotation mark.") from None
    elif isinstance(command, list):
        parts = command
    parts = [*parts, *(rest if isinstance(rest, list) else [rest])]
    texts = tuple(part for part in parts if isinstance(part, str))
    if not texts or len(texts) != len(parts):
        raise SecretError(where, "is a secret reference whose `command` is no list of texts.")
    return texts


def _text(where: str, what: str, content: bytes) -> str:
    if len(content) > _MOST_BYTES:
        raise SecretError(where, f"refers to {what} that holds more than {_MOST_BYTES} bytes.")
    try:
        # The line break at the end is the editor's, not the secret's.
        text = content.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise SecretError(where, f"refers to {what} that gave no UTF-8 text.") from None
    if not text.strip():
        raise SecretError(where, f"refers to {what} that gave nothing.")
    return text
