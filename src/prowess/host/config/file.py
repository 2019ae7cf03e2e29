"""Reading the config file: JSON5, bounded, and its mapping as the settings table declares it.

What is not understood is reported and never an error: another program may have written it. A value
of the wrong type takes its default; an unknown key is kept.
"""

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from functools import cache
from typing import Any, TypeGuard, TypeVar

from prowess.data import compile_late
from prowess.errors import ConfigError, ConfigSyntaxError
from prowess.host.files.handles import Stamp, is_path, stamp_file
from prowess.host.sources.harness_folders import ALIASES, NAMES
from prowess.settings import (
    SECTIONS,
    SETTINGS,
    AgentSettings,
    EntrySettings,
    NodeSettings,
    SettingProblem,
    Settings,
    SpecMode,
    WorkshopSettings,
)
from prowess.settings_table import Form, Setting
from prowess.skills.text import RepeatedKeyError, is_plain, relax, strict_loads

FILE_NAME = "prowess.json"
MAX_BYTES = 4_000_000
_T = TypeVar("_T")
# People who switch something off write `false` for the word.
_SWITCHED_OFF = {"bundled": "none", "off": "off"}


class ConfigReader:
    """Typed look-ups by dotted key, collecting what did not fit."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.problems: list[SettingProblem] = []

    # A config value can be anything until it is looked at.
    def raw(self, key: str) -> Any:  # noqa: ANN401
        """Return whatever stands at a dotted key, else None."""
        current: Any = self._values
        for part in key.split(".") if key else ():
            if not isinstance(current, Mapping) or part not in current:
                return None
            current = current[part]
        return current

    def report(self, key: str, message: str, *, unknown: bool = False) -> None:
        """Report a value in words of its own."""
        problem = SettingProblem(key=key, message=message, unknown=unknown)
        # What stands in the defaults is read for each agent, and told once.
        if problem not in self.problems:
            self.problems.append(problem)

    def wrong(self, key: str, wanted: str) -> None:
        """Report a value that did not fit."""
        self.report(key, f"must be {wanted}; the default is used")

    def unknown(self, key: str) -> None:
        """Report a key that no setting has."""
        self.report(key, "is not known here; it is kept", unknown=True)

    def read_section(
        self, kind: type[_T], prefix: str, own: Mapping[str, Callable[["ConfigReader"], object]]
    ) -> _T:
        """Return a section as the table declares it; `own` has readers of their own, by key."""
        found: dict[str, object] = {}
        for field in SECTIONS[kind, prefix]:
            if field.section is not None:
                found[field.name] = self.read_section(field.section, field.key, own)
            elif field.key in own:
                found[field.name] = own[field.key](self)
            else:
                found[field.name] = self.read(field.rows[0], field.default)
        return kind(**found)

    # What comes back has the type of the default, which only the dataclass knows.
    def read(self, row: Setting, default: Any) -> Any:  # noqa: ANN401
        """Return the value of a setting; what does not fit is reported and takes the default."""
        value = self.raw(row.key)
        return default if value is None else _FORMS[row.kind.form](self, row, value, default)

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Return an object; anything else is reported and empty."""
        return self._read_kind(key, Mapping, "an object") or {}

    def items(self, key: str) -> list[Any]:
        """Return a list; anything else is reported and empty."""
        return self._read_kind(key, list, "a list") or []

    # Of the kind that was asked for, or None.
    def _read_kind(self, key: str, kind: type, wanted: str) -> Any:  # noqa: ANN401
        value = self.raw(key)
        if value is None or isinstance(value, kind):
            return value
        self.wrong(key, wanted)
        return None

    def words(self, key: str, value: object) -> tuple[str, ...] | None:
        """Return `value` as a list of strings; None where it is absent or something else."""
        if value is None:
            return None
        if is_words(value):
            return tuple(item.strip() for item in value if item.strip())
        self.wrong(key, "a list of strings")
        return None

    def switch(self, key: str, value: object) -> bool | None:
        """Return an on-off switch; what is neither switches off, since that is what was tried."""
        if value is None or isinstance(value, bool):
            return value
        if str(value).strip().lower() == "true":
            return True
        self.report(key, "must be true or false; it counts as false")
        return False

    def report_strays(self, key: str, entry: Mapping[str, Any], known: frozenset[str]) -> None:
        """Report keys that are not known, louder where one is right but for its case."""
        right = {name.lower(): name for name in known}
        for name in entry:
            meant = right.get(str(name).lower())
            if meant is None:
                self.unknown(f"{key}.{name}")
            elif name != meant:
                self.report(f"{key}.{name}", f"is not read, since it is spelt {meant}")


def is_words(value: object) -> TypeGuard[list[str]]:
    """Return whether `value` is a list of strings that the system can use."""
    return isinstance(value, list) and all(
        isinstance(item, str) and (not item or is_path(item)) for item in value
    )


def is_count(value: object, least: int) -> TypeGuard[int]:
    """Return whether `value` is a whole number of at least `least`."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _flag(reader: ConfigReader, row: Setting, value: object, default: object) -> object:
    if isinstance(value, bool):
        return value
    reader.wrong(row.key, "true or false")
    return default


def _count(reader: ConfigReader, row: Setting, value: object, default: object) -> object:
    if is_count(value, row.kind.least):
        return value
    reader.wrong(row.key, f"an integer of at least {row.kind.least}")
    return default


def _read_clamped(reader: ConfigReader, row: Setting, value: object, default: object) -> object:
    least, most = row.kind.least, row.kind.most
    if not _is_number(value):
        reader.wrong(row.key, f"a number from {least} to {most}")
        return default
    nearest = min(max(int(value), least), most)
    if nearest != int(value):
        reader.report(row.key, f"must be from {least} to {most}; {nearest} is used")
    return nearest


def _share(reader: ConfigReader, row: Setting, value: object, default: object) -> object:
    if _is_number(value) and 0 <= value <= 1:
        return float(value)
    reader.wrong(row.key, "a number between 0 and 1")
    return default


def _text(reader: ConfigReader, row: Setting, value: object, default: object) -> object:
    if value is False and default in _SWITCHED_OFF:
        return _SWITCHED_OFF[str(default)]
    if isinstance(value, str) and (value.strip() or row.kind.form is Form.BLANK_TEXT):
        return value.strip()
    reader.wrong(row.key, "a text")
    return default


def _words(reader: ConfigReader, row: Setting, value: object, default: object) -> object:
    found = reader.words(row.key, value)
    if found is None:
        return default
    return found if isinstance(default, tuple) else frozenset(found)


def _choice(reader: ConfigReader, row: Setting, value: object, default: object) -> object:
    is_strict = not isinstance(default, Enum)
    word = value if is_strict or not isinstance(value, str) else value.strip().lower()
    if word in row.kind.choices:
        return type(default)(word) if isinstance(default, Enum) else word
    reader.wrong(row.key, f"one of {', '.join(row.kind.choices)}")
    return default


_FORMS: Mapping[Form, Callable[[ConfigReader, Setting, object, object], object]] = {
    Form.FLAG: _flag,
    Form.COUNT: _count,
    Form.CLAMPED: _read_clamped,
    Form.SHARE: _share,
    Form.TEXT: _text,
    Form.BLANK_TEXT: _text,
    Form.WORDS: _words,
    Form.CHOICE: _choice,
}


# What other programs keep in the same file: keys beside ours are no mistake.
_TOP_LEVEL = frozenset(("$schema", "meta"))
_OTHERS = ("agent", "gateway")
_ENTRY = "skills.entries.<skillKey>"
_WORKSHOP = "plugins.entries.skill-workshop.config"
_AGENT_KEYS = frozenset(("id", "name", "default", "workspace", "skills", "skillsLimits"))
_VARIABLE = compile_late(r"[A-Za-z_][A-Za-z0-9_]*")
# A name or an address, and nothing that could be read as more: no scheme, port, path or star.
_HOST = compile_late(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")

# What a browser says of a page: no path, and no star for all of them.
_ORIGIN = compile_late(r"(?i:https?)://[^\s/?#@*]+/?")


def to_settings(values: Mapping[str, Any]) -> Settings:
    """Understand as much of `values` as possible and report the rest."""
    reader = ConfigReader(values)
    found = reader.read_section(Settings, "", _OWN)
    _check_workshop(reader)
    for key in ("gateway.auth.token", "state.databaseUrl"):
        secret = reader.raw(key)
        if secret is not None and not isinstance(secret, str):
            reader.wrong(key, "a text")
    origins = reader.raw("gateway.controlUi.allowedOrigins")
    for place, origin in enumerate(origins if is_words(origins) else ()):
        if not _ORIGIN.fullmatch(origin.strip()):
            wanted = "an origin such as https://skills.example.com:8443; it lets no page in"
            reader.report(f"gateway.controlUi.allowedOrigins[{place}]", f"must be {wanted}")
    _check_objects(reader)
    _check_unknown(reader)
    shown = {key: _show_switches(value) for key, value in values.items()}
    return replace(found, problems=tuple(reader.problems), values=shown)


def _show_switches(value: object) -> object:
    """Return the shape of `value` with each text and number replaced by whether it is on."""
    if isinstance(value, Mapping):
        return {key: _show_switches(inner) for key, inner in value.items()}
    if isinstance(value, str):
        return bool(value.strip())
    # An empty list counts as on, as a map does: it was written on purpose.
    return True if isinstance(value, list) else bool(value)


def _read_spec_mode(reader: ConfigReader) -> SpecMode:
    keys = ("skills.specMode", "agent.skillsSpecMode", "agent.skills_spec_mode")
    key = next((key for key in keys if reader.raw(key) is not None), keys[0])
    mode: SpecMode = reader.read(_row(keys[0])._replace(key=key), SpecMode.MIXED)
    return mode


def _read_harnesses(reader: ConfigReader) -> tuple[str, ...] | None:
    key = "skills.load.harnessDirs"
    value = reader.raw(key)
    if isinstance(value, bool):
        return None if value else ()
    words = reader.words(key, value)
    names = [ALIASES.get(word.lower(), word.lower()) for word in words or ()]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        reader.report(key, f"names no harness that is known: {', '.join(unknown)}")
    return None if words is None else tuple(names)


def _read_allowed_bundled(reader: ConfigReader) -> frozenset[str] | None:
    # An empty list restricts nothing: it is what people leave behind when they clear it.
    key = "skills.allowBundled"
    return frozenset(reader.words(key, reader.raw(key)) or ()) or None


def _read_entries(reader: ConfigReader) -> dict[str, EntrySettings]:
    found: dict[str, EntrySettings] = {}
    for name, entry in reader.mapping("skills.entries").items():
        key = f"skills.entries.{name}"
        if not isinstance(entry, Mapping):
            reader.wrong(key, "an object")
            continue
        reader.report_strays(key, entry, _find_known_below(_ENTRY))
        if not isinstance(entry.get("config") or {}, Mapping):
            reader.wrong(f"{key}.config", "an object")
        found[name] = EntrySettings(
            enabled=reader.switch(f"{key}.enabled", entry.get("enabled")),
            has_api_key=_is_set(entry.get("apiKey")),
            env_names=_read_env_names(reader, f"{key}.env", entry.get("env")),
            allow_env=reader.words(f"{key}.allowEnv", entry.get("allowEnv")) or (),
        )
    return found


def _read_env_names(reader: ConfigReader, key: str, value: object) -> frozenset[str]:
    if value is None:
        return frozenset()
    if not isinstance(value, Mapping):
        reader.wrong(key, "an object")
        return frozenset()
    for name, text in value.items():
        if not isinstance(text, str | Mapping):
            reader.report(f"{key}.{name}", "must be a text or a secret reference; it is not set")
    return frozenset(name for name, text in value.items() if _is_set(text))


def _is_set(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, Mapping) and bool(value)


def _read_nodes(reader: ConfigReader) -> tuple[NodeSettings, ...]:
    found = []
    for index, node in enumerate(reader.items("skills.nodes")):
        key = f"skills.nodes[{index}]"
        if not isinstance(node, Mapping):
            reader.wrong(key, "an object with name, platforms and bins")
            continue
        platform = node.get("platform")
        platforms = [platform] if isinstance(platform, str) else node.get("platforms")
        found.append(
            NodeSettings(
                name=str(node.get("name") or f"node-{index}"),
                platforms=reader.words(f"{key}.platforms", platforms) or (),
                bins=frozenset(reader.words(f"{key}.bins", node.get("bins")) or ()),
            )
        )
    return tuple(found)


def _read_private_hosts(reader: ConfigReader) -> tuple[str, ...]:
    """Return hosts, less what is none: such an entry would open nothing, and say nothing."""
    key = "skills.install.privateHosts"
    words = reader.words(key, reader.raw(key)) or ()
    if not words:
        return ()
    # Late: most people list none, and what reads addresses takes time to load.
    from prowess.safety.web_addresses import is_host_entry

    for index, word in enumerate(words):
        if not is_host_entry(word):
            # By its place and not as it stands: an address may hold a password.
            message = "must be `host` or `host:port`, such as 10.0.0.7:8080; it lists nothing"
            reader.report(f"{key}[{index}]", message)
    return tuple(filter(is_host_entry, words))


def _read_egress(reader: ConfigReader) -> dict[str, tuple[str, ...]]:
    """Return what is plain to read; anything else allows nothing and is reported."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in reader.mapping("skills.safety.egress").items():
        key = f"skills.safety.egress.{name}"
        if not _VARIABLE.fullmatch(name):
            reader.wrong(key, "the name of a variable")
            continue
        hosts = reader.words(key, [value] if isinstance(value, str) else value) or ()
        odd = [host for host in hosts if not _HOST.fullmatch(host)]
        if odd:
            reader.wrong(key, f"a list of hosts such as api.example.com, not {odd[0][:60]!r}")
        if plain := tuple(host.lower() for host in hosts if host not in odd):
            found[name] = plain
    return found


def _read_agents(reader: ConfigReader) -> tuple[AgentSettings, ...]:
    entries = {
        f"agents.list[{index}]": entry for index, entry in enumerate(reader.items("agents.list"))
    }
    for name, entry in reader.mapping("agents.entries").items():
        named = {**entry, "id": name} if isinstance(entry, Mapping) else entry
        entries[f"agents.entries.{name}"] = named
    found: dict[str, AgentSettings] = {}
    for key, entry in entries.items():
        if not isinstance(entry, Mapping) or not str(entry.get("id") or "").strip():
            reader.wrong(key, "an object with an id" if key.endswith("]") else "an object")
            continue
        agent = _read_agent(reader, key, entry)
        if agent.id in found:
            reader.report(key, f"the id {agent.id!r} is taken; the first one counts")
        found.setdefault(agent.id, agent)
    main = {"id": "main", "default": True}
    return tuple(found.values()) or (_read_agent(reader, "agents.defaults", main),)


def _read_agent(reader: ConfigReader, key: str, entry: Mapping[str, Any]) -> AgentSettings:
    reader.report_strays(key, entry, _AGENT_KEYS)
    own = entry.get("skills") is not None
    skills_key = f"{key}.skills" if own else "agents.defaults.skills"
    place = key if entry.get("workspace") else "agents.defaults"
    workspace = entry.get("workspace") or reader.raw(f"{place}.workspace")
    return AgentSettings(
        id=str(entry["id"]).strip(),
        name=str(entry.get("name") or entry["id"]),
        default=reader.switch(f"{key}.default", entry.get("default")) is True,
        workspace=_read_folder(reader, f"{place}.workspace", workspace),
        skills=_read_agent_skills(
            reader, skills_key, entry["skills"] if own else reader.raw(skills_key)
        ),
        skills_inherited=not own,
        max_skills_prompt_chars=_read_agent_chars(reader, key, entry.get("skillsLimits")),
    )


def _read_folder(reader: ConfigReader, key: str, value: object) -> str | None:
    if isinstance(value, str) and value.strip() and is_path(value):
        return value
    if value:
        reader.wrong(key, "a folder")
    return None


def _read_agent_skills(reader: ConfigReader, key: str, value: object) -> tuple[str, ...] | None:
    if value is None or is_words(value):
        return reader.words(key, value)
    # A list that cannot be read allows nothing: a typo must not open every skill to an agent.
    reader.report(key, "must be a list of strings; until then it allows no skill")
    return ()


def _read_agent_chars(reader: ConfigReader, key: str, own: object) -> int | None:
    name = "maxSkillsPromptChars"
    value = None
    if isinstance(own, Mapping):
        reader.report_strays(f"{key}.skillsLimits", own, frozenset((name,)))
        value = own.get(name)
    if value is None:
        key = "agents.defaults"
        value = reader.raw(f"{key}.skillsLimits.{name}")
    if is_count(value, 0):
        return value
    if value is not None:
        reader.wrong(f"{key}.skillsLimits.{name}", "an integer of at least 0")
    return None


def _read_disabled_plugins(reader: ConfigReader) -> frozenset[str]:
    return frozenset(
        name
        for name, entry in reader.mapping("plugins.entries").items()
        if isinstance(entry, Mapping)
        and reader.switch(f"plugins.entries.{name}.enabled", entry.get("enabled")) is False
    )


def _read_experience(reader: ConfigReader) -> bool:
    own, other = "experience.enabled", "agent.autoArtifactsEnabled"
    # OpenPocket's own word for it counts where ours says nothing.
    row = _row(own if reader.raw(own) is not None else other)
    # Whoever wrote something there that is no switch meant to change it: it fails closed.
    return reader.read(row, default=reader.raw(row.key) is None) is True


def _row(key: str) -> Setting:
    return next(row for row in SETTINGS if row.key == key)


def _read_auto_capture(reader: ConfigReader) -> bool:
    own = f"{_WORKSHOP}.autoCapture"
    wanted: bool = reader.read(_row(own), default=True)
    return reader.read(_row("skills.workshop.autonomous.mode"), "") != "off" and wanted


_OWN: Mapping[str, Callable[[ConfigReader], object]] = {
    "skills.specMode": _read_spec_mode,
    "skills.load.harnessDirs": _read_harnesses,
    "skills.allowBundled": _read_allowed_bundled,
    f"{_ENTRY}.enabled": _read_entries,
    "skills.nodes": _read_nodes,
    "skills.install.privateHosts": _read_private_hosts,
    "skills.safety.egress": _read_egress,
    "agents.list": _read_agents,
    "plugins.entries.<id>.enabled": _read_disabled_plugins,
    "experience.enabled": _read_experience,
    f"{_WORKSHOP}.autoCapture": _read_auto_capture,
}


def _check_workshop(reader: ConfigReader) -> None:
    if isinstance(reader.raw(_WORKSHOP.removesuffix(".config")), Mapping):
        declared = (field.key for field in SECTIONS[WorkshopSettings, _WORKSHOP])
        known = (key.removeprefix(f"{_WORKSHOP}.") for key in declared)
        reader.report_strays(_WORKSHOP, reader.mapping(_WORKSHOP), frozenset(known))


def _check_objects(reader: ConfigReader) -> None:
    """Report what should hold other keys but is a list or a word."""
    for key in _objects():
        value = reader.raw(key)
        if value is not None and not isinstance(value, Mapping):
            reader.wrong(key, "an object")


def _check_unknown(reader: ConfigReader) -> None:
    for key in ("", *_objects()):
        if key.partition(".")[0] in _OTHERS:
            continue
        found, known = reader.raw(key), _find_known_below(key)
        for name in found if isinstance(found, Mapping) else ():
            if name not in known:
                reader.unknown(f"{key}.{name}" if key else name)


@cache
def _objects() -> tuple[str, ...]:
    """Return the keys that hold other keys, less maps whose keys people choose."""
    return tuple(dict.fromkeys(prefix for row in SETTINGS for prefix in _prefixes(row.key)))


def _prefixes(key: str) -> Iterator[str]:
    parts = key.split(".")
    for end in range(1, len(parts)):
        prefix = ".".join(parts[:end])
        if prefix in _MAPS or "[]" in prefix:
            return
        yield prefix


_MAPS = frozenset(row.key.partition(".<")[0] for row in SETTINGS if ".<" in row.key)


@cache
def _find_known_below(key: str) -> frozenset[str]:
    prefix = f"{key}." if key else ""
    inner = (row.key.removeprefix(prefix) for row in SETTINGS if row.key.startswith(prefix))
    names = frozenset(re.split(r"[.\[]", one, maxsplit=1)[0] for one in inner)
    return names if key else names | _TOP_LEVEL


class ConfigFile:
    """One `prowess.json`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._stamp: Stamp = ()
        self._settings: Settings | None = None

    def read(self) -> Settings:
        """Return the settings; a missing file means the defaults.

        Raises:
            ConfigError: the file cannot be read or is not JSON5.
        """
        stamp = stamp_file(self.path)
        if self._settings is None or stamp != self._stamp:
            self._settings, self._stamp = to_settings(self.values()), stamp
        return self._settings

    def values(self) -> dict[str, Any]:
        """Return the file's mapping, secrets included; nothing here may be shown as it is."""
        return parse(self.path, self.text())

    def text(self) -> str:
        """Return the file's text; a missing file is empty."""
        try:
            if os.path.exists(self.path) and not os.path.isfile(self.path):
                raise ConfigError(self.path, "is not a regular file.")
            with open(self.path, "rb") as file:
                content = file.read(MAX_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except OSError as error:
            problem = f"cannot be read: {error.strerror}; mend that, or set PROWESS_HOME to another"
            raise ConfigError(self.path, f"{problem} folder.") from error
        if len(content) > MAX_BYTES:
            raise ConfigError(self.path, f"is larger than {MAX_BYTES} bytes.")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigSyntaxError(self.path, "is not UTF-8 text; save it as UTF-8.") from error


def parse(path: str, text: str) -> dict[str, Any]:
    """Read the text of a config file; ConfigSyntaxError where it is not one object in JSON5."""
    if not text.strip():
        return {}
    values = _loads(path, text)
    if not isinstance(values, dict):
        raise ConfigSyntaxError(path, "must hold one object, such as {}.")
    if not is_plain(values):
        raise ConfigSyntaxError(
            path, "holds a number, a nesting or half a character that no setting needs."
        )
    return values


def _loads(path: str, text: str) -> object:
    for attempt in (text, relax(text)):
        try:
            return strict_loads(attempt)
        except RepeatedKeyError as error:
            problem = f"repeats a key ({error}): keep one, since only one can count."
            raise ConfigSyntaxError(path, problem) from error
        except (ValueError, RecursionError):
            continue
    return _parse_json5(path, text)


def _parse_json5(path: str, text: str) -> object:
    # Imported late: most config files are plain JSON and the reader is slow to load.
    import json5

    try:
        return json5.loads(text, allow_duplicate_keys=True)
    except (ValueError, RecursionError) as error:
        problem = str(error).replace("<string>:", "line ").strip() or "too deeply nested"
        advice = f"is not JSON5 ({problem}); correct it and try again."
        raise ConfigSyntaxError(path, advice) from error
