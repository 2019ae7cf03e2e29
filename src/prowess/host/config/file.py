"""The config file's mapping to `Settings`.

What is not understood is reported and never an error: another program may have written it.

Reading the config file: JSON5, bounded, and read again only when it changed.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from prowess.errors import ConfigError, ConfigSyntaxError
from prowess.host.config.sections import (
    NOT_KNOWN,
    Reader,
    is_words,
    model_settings,
    routing_settings,
    safety_settings,
    strays,
    switch,
    workshop_settings,
)
from prowess.host.files.read import is_path
from prowess.host.sources.harness_folders import ALIASES, NAMES
from prowess.settings import (
    AgentSettings,
    EntrySettings,
    ExperienceSettings,
    GatewaySettings,
    InstallSettings,
    Limits,
    LoadSettings,
    NodeSettings,
    PluginSettings,
    Precedence,
    SettingProblem,
    Settings,
    SkillsSettings,
    SpecMode,
)
from prowess.skills.json_text import RepeatedKeyError, is_plain, relaxed, strict_loads

_KNOWN = {
    "": {"skills", "agents", "agent", "plugins", "experience", "gateway", "$schema", "meta"},
    "experience": {"enabled"},
    "skills": {
        "specMode", "load", "limits", "allowBundled", "pinned", "entries", "nodes", "install",
        "routing", "model", "safety",
    },
    "skills.load": {
        "extraDirs", "harnessDirs", "precedence", "allowSymlinkTargets", "watch", "watchDebounceMs",
    },
    "skills.limits": {
        "maxCandidatesPerRoot", "maxSkillsLoadedPerSource", "maxSkillsInPrompt",
        "maxSkillsPromptChars", "maxSkillFileBytes",
    },
    "skills.install": {"preferBrew", "nodeManager", "privateHosts"},
    "skills.routing": {
        "encoder", "encoderModel", "encoderKeyEnv", "maxSkills", "loadThreshold", "offerThreshold",
        "rerank",
    },
    "skills.model": {"endpoint", "name", "keyEnv"},
    "skills.safety": {"egress", "review"},
    "agents": {"list", "entries", "defaults"},
    "agents.defaults": {"skills", "workspace", "skillsLimits"},
    "plugins": {"load", "entries"},
    "plugins.load": {"paths"},
}  # fmt: skip
_OBJECTS = (
    "skills", "skills.load", "skills.limits", "skills.install", "skills.routing", "skills.model",
    "skills.safety", "agents", "agents.defaults",
    "agent", "plugins", "plugins.load", "experience", "gateway", "gateway.auth",
    "gateway.controlUi",
)  # fmt: skip
_ENTRY_KEYS = frozenset(("enabled", "apiKey", "env", "allowEnv", "config"))
_AGENT_KEYS = frozenset(("id", "name", "default", "workspace", "skills", "skillsLimits"))
_NODE_MANAGERS = ("npm", "pnpm", "yarn", "bun")


def to_settings(values: Mapping[str, Any]) -> Settings:
    """Understand as much of `values` as possible and report the rest."""
    reader = Reader(values)
    return Settings(
        skills=_skills(reader),
        agents=_agents(reader),
        plugins=_plugins(reader),
        workshop=workshop_settings(reader),
        experience=ExperienceSettings(enabled=_learns_from_traces(reader)),
        gateway=_gateway(reader),
        problems=(*reader.problems, *_misshapen(reader), *_unknown(values)),
        values={key: _switched(value) for key, value in values.items()},
    )


def _learns_from_traces(reader: Reader) -> bool:
    own = "experience.enabled"
    # OpenPocket's own word for it counts where ours says nothing.
    key = own if reader.raw(own) is not None else "agent.autoArtifactsEnabled"
    # Whoever wrote something there that is no switch meant to change it: it fails closed.
    return reader.flag(key, default=reader.raw(key) is None)


def _gateway(reader: Reader) -> GatewaySettings:
    token = reader.raw("gateway.auth.token")
    if token is not None and not isinstance(token, str):
        reader.wrong("gateway.auth.token", "a text")
    return GatewaySettings(
        allowed_hosts=tuple(reader.words("gateway.allowedHosts") or ()),
        allowed_origins=tuple(reader.words("gateway.controlUi.allowedOrigins") or ()),
    )


def _switched(value: object) -> object:
    """Return the shape of `value` with each text and number replaced by whether it is on."""
    if isinstance(value, Mapping):
        return {key: _switched(inner) for key, inner in value.items()}
    if isinstance(value, str):
        return bool(value.strip())
    # An empty list counts as on, as a map does: it was written on purpose.
    return True if isinstance(value, list) else bool(value)


def _skills(reader: Reader) -> SkillsSettings:
    manager = reader.raw("skills.install.nodeManager")
    if manager is not None and manager not in _NODE_MANAGERS:
        reader.wrong("skills.install.nodeManager", f"one of {', '.join(_NODE_MANAGERS)}")
        manager = None
    # An empty list restricts nothing: it is what people leave behind when they clear it.
    allow_bundled = reader.words("skills.allowBundled")
    return SkillsSettings(
        spec_mode=_spec_mode(reader),
        load=_load(reader),
        limits=_limits(reader),
        allow_bundled=frozenset(allow_bundled) if allow_bundled else None,
        pinned=frozenset(reader.words("skills.pinned") or ()),
        entries=_entries(reader),
        nodes=_nodes(reader),
        install=InstallSettings(
            prefer_brew=reader.flag("skills.install.preferBrew", default=True),
            node_manager=manager or "npm",
            private_hosts=_hosts(reader, "skills.install.privateHosts"),
        ),
        routing=routing_settings(reader),
        model=model_settings(reader),
        safety=safety_settings(reader),
    )


def _hosts(reader: Reader, key: str) -> tuple[str, ...]:
    """Return hosts, less what is none: such an entry would open nothing, and say nothing."""
    words = reader.words(key) or ()
    if not words:
        return ()
    # Late: most people list none, and what reads addresses takes time to load.
    from prowess.safety.web_addresses import is_host_entry as is_host

    for index, word in enumerate(words):
        if not is_host(word):
            # By its place and not as it stands: an address may hold a password.
            message = "must be `host` or `host:port`, such as 10.0.0.7:8080; it lists nothing"
            reader.problems.append(SettingProblem(key=f"{key}[{index}]", message=message))
    return tuple(filter(is_host, words))


def _spec_mode(reader: Reader) -> SpecMode:
    for key in ("skills.specMode", "agent.skillsSpecMode", "agent.skills_spec_mode"):
        if reader.raw(key) is not None:
            return reader.choice(key, SpecMode.MIXED)
    return SpecMode.MIXED


def _load(reader: Reader) -> LoadSettings:
    key = "skills.load.harnessDirs"
    value = reader.raw(key)
    harnesses: tuple[str, ...] | None = None
    if isinstance(value, bool):
        harnesses = None if value else ()
    elif value is not None:
        harnesses = _harness_names(reader, key, value)
    return LoadSettings(
        extra_dirs=reader.words("skills.load.extraDirs") or (),
        harnesses=harnesses,
        precedence=reader.choice("skills.load.precedence", Precedence.OPENCLAW),
        allow_symlink_targets=reader.words("skills.load.allowSymlinkTargets") or (),
        watch=reader.flag("skills.load.watch", default=True),
        watch_debounce_ms=reader.count("skills.load.watchDebounceMs", 250, least=0),
    )


def _harness_names(reader: Reader, key: str, value: object) -> tuple[str, ...] | None:
    words = reader.as_words(key, value)
    names = [ALIASES.get(word.lower(), word.lower()) for word in words or ()]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        message = f"names no harness that is known: {', '.join(unknown)}"
        reader.problems.append(SettingProblem(key=key, message=message))
    return None if words is None else tuple(names)


def _limits(reader: Reader) -> Limits:
    base, prefix = Limits(), "skills.limits."
    return Limits(
        max_candidates_per_root=reader.count(
            prefix + "maxCandidatesPerRoot", base.max_candidates_per_root, least=1
        ),
        max_skills_loaded_per_source=reader.count(
            prefix + "maxSkillsLoadedPerSource", base.max_skills_loaded_per_source, least=1
        ),
        max_skills_in_prompt=reader.count(
            prefix + "maxSkillsInPrompt", base.max_skills_in_prompt, least=0
        ),
        max_skills_prompt_chars=reader.count(
            prefix + "maxSkillsPromptChars", base.max_skills_prompt_chars, least=0
        ),
        max_skill_file_bytes=reader.count(
            prefix + "maxSkillFileBytes", base.max_skill_file_bytes, least=1
        ),
    )


def _entries(reader: Reader) -> dict[str, EntrySettings]:
    found: dict[str, EntrySettings] = {}
    for name, entry in reader.mapping("skills.entries").items():
        key = f"skills.entries.{name}"
        if not isinstance(entry, Mapping):
            reader.wrong(key, "an object")
            continue
        strays(reader, key, entry, _ENTRY_KEYS)
        found[name] = EntrySettings(
            enabled=switch(reader, f"{key}.enabled", entry.get("enabled")),
            has_api_key=_is_set(entry.get("apiKey")),
            env_names=_env_names(reader, f"{key}.env", entry.get("env")),
            allow_env=reader.as_words(f"{key}.allowEnv", entry.get("allowEnv")) or (),
        )
    return found


def _env_names(reader: Reader, key: str, value: object) -> frozenset[str]:
    if value is None:
        return frozenset()
    if not isinstance(value, Mapping):
        reader.wrong(key, "an object")
        return frozenset()
    for name, text in value.items():
        if not isinstance(text, str | Mapping):
            message = "must be a text or a secret reference; it is not set"
            reader.problems.append(SettingProblem(key=f"{key}.{name}", message=message))
    return frozenset(name for name, text in value.items() if _is_set(text))


def _is_set(value: object) -> bool:
    return (
        bool(value.strip())
        if isinstance(value, str)
        else isinstance(value, Mapping) and bool(value)
    )


def _nodes(reader: Reader) -> tuple[NodeSettings, ...]:
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
                platforms=reader.as_words(f"{key}.platforms", platforms) or (),
                bins=frozenset(reader.as_words(f"{key}.bins", node.get("bins")) or ()),
            )
        )
    return tuple(found)


def _agents(reader: Reader) -> tuple[AgentSettings, ...]:
    entries = {
        f"agents.list[{index}]": entry for index, entry in enumerate(reader.items("agents.list"))
    }
    for name, entry in reader.mapping("agents.entries").items():
        named = {**entry, "id": name} if isinstance(entry, Mapping) else entry
        entries[f"agents.entries.{name}"] = named
    found: dict[str, AgentSettings] = {}
    for key, entry in entries.items():
        if not isinstance(entry, Mapping) or not str(entry.get("id") or "").strip():
            reader.wrong(key, "an object with an id")
            continue
        agent = _agent(reader, key, entry)
        if agent.id in found:
            reader.problems.append(
                SettingProblem(
                    key=key, message=f"the id {agent.id!r} is taken; the first one counts"
                )
            )
        found.setdefault(agent.id, agent)
    return tuple(found.values()) or (
        _agent(reader, "agents.defaults", {"id": "main", "default": True}),
    )


def _agent(reader: Reader, key: str, entry: Mapping[str, Any]) -> AgentSettings:
    strays(reader, key, entry, _AGENT_KEYS)
    own = "skills" in entry and entry["skills"] is not None
    workspace = entry.get("workspace") or reader.raw("agents.defaults.workspace")
    skills_key = f"{key}.skills" if own else "agents.defaults.skills"
    own_limits = entry.get("skillsLimits")
    if isinstance(own_limits, Mapping):
        strays(reader, f"{key}.skillsLimits", own_limits, frozenset(("maxSkillsPromptChars",)))
    chars = _nested(entry, "skillsLimits", "maxSkillsPromptChars")
    if chars is None:
        chars = reader.raw("agents.defaults.skillsLimits.maxSkillsPromptChars")
    return AgentSettings(
        id=str(entry["id"]).strip(),
        name=str(entry.get("name") or entry["id"]),
        default=switch(reader, f"{key}.default", entry.get("default")) is True,
        workspace=_folder(reader, f"{key}.workspace", workspace),
        skills=_agent_skills(
            reader, skills_key, entry.get("skills") if own else reader.raw(skills_key)
        ),
        skills_inherited=not own,
        max_skills_prompt_chars=_chars(reader, f"{key}.skillsLimits.maxSkillsPromptChars", chars),
    )


def _folder(reader: Reader, key: str, value: object) -> str | None:
    if isinstance(value, str) and value.strip() and is_path(value):
        return value
    if value:
        reader.wrong(key, "a folder")
    return None


def _chars(reader: Reader, key: str, value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if value is not None:
        reader.wrong(key, "an integer of at least 0")
    return None


def _agent_skills(reader: Reader, key: str, value: object) -> tuple[str, ...] | None:
    if value is None or is_words(value):
        return reader.as_words(key, value)
    # A list that cannot be read allows nothing: a typo must not open every skill to an agent.
    message = "must be a list of strings; until then it allows no skill"
    reader.problems.append(SettingProblem(key=key, message=message))
    return ()


def _nested(entry: Mapping[str, Any], outer: str, inner: str) -> object:
    value = entry.get(outer)
    return value.get(inner) if isinstance(value, Mapping) else None


def _plugins(reader: Reader) -> PluginSettings:
    disabled = {
        name
        for name, entry in reader.mapping("plugins.entries").items()
        if isinstance(entry, Mapping)
        and switch(reader, f"plugins.entries.{name}.enabled", entry.get("enabled")) is False
    }
    return PluginSettings(
        paths=reader.words("plugins.load.paths") or (), disabled=frozenset(disabled)
    )


def _misshapen(reader: Reader) -> Iterable[SettingProblem]:
    """Report what should hold other keys but is a list or a word."""
    for key in _OBJECTS:
        value = reader.raw(key)
        if value is not None and not isinstance(value, Mapping):
            yield SettingProblem(key=key, message="must be an object; the default is used")


def _unknown(values: Mapping[str, Any]) -> Iterable[SettingProblem]:
    for prefix, known in _KNOWN.items():
        current: Any = values
        for part in prefix.split(".") if prefix else ():
            current = current.get(part) if isinstance(current, Mapping) else None
        for name in current if isinstance(current, Mapping) else ():
            if name not in known:
                key = f"{prefix}.{name}" if prefix else name
                yield SettingProblem(key=key, message=NOT_KNOWN, unknown=True)


FILE_NAME = "prowess.json"
_MAX_BYTES = 4_000_000


class ConfigFile:
    """One `prowess.json`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._stamp: tuple[int, int, int] | None = None
        self._settings: Settings | None = None

    def read(self) -> Settings:
        """Return the settings; a missing file means the defaults.

        Raises:
            ConfigError: the file cannot be read or is not JSON5.
        """
        stamp = self._stat()
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
                content = file.read(_MAX_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except OSError as error:
            raise ConfigError(self.path, f"cannot be read: {error.strerror}.") from error
        if len(content) > _MAX_BYTES:
            raise ConfigError(self.path, f"is larger than {_MAX_BYTES} bytes.")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigSyntaxError(self.path, "is not UTF-8 text; save it as UTF-8.") from error

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def parse(path: str, text: str) -> dict[str, Any]:
    """Read the text of a config file.

    Raises:
        ConfigSyntaxError: it is not JSON5, or not one object.
    """
    if not text.strip():
        return {}
    values = _loads(path, text)
    if not isinstance(values, dict):
        raise ConfigSyntaxError(path, "must hold one object, such as {}.")
    if not is_plain(values):
        raise ConfigSyntaxError(path, "holds a number or a nesting that no setting needs.")
    return values


def _loads(path: str, text: str) -> object:
    for attempt in (text, relaxed(text)):
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
        raise ConfigSyntaxError(
            path, f"is not JSON5 ({problem}); correct it and try again."
        ) from error
