"""The config file's mapping to `Settings`.

A value of the wrong type takes its default and is reported; an unknown key is kept in the file and
reported. Neither is an error: another program may have written it.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeGuard, TypeVar

from prowess.host.harnesses import ALIASES, NAMES
from prowess.host.reading import is_path
from prowess.settings import (
    AgentSettings,
    EntrySettings,
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

_E = TypeVar("_E", bound=Enum)
_KNOWN = {
    "": {"skills", "agents", "agent", "plugins", "$schema", "meta"},
    "skills": {
        "specMode", "load", "limits", "allowBundled", "pinned", "entries", "nodes", "install",
        "workshop",
    },
    "skills.load": {
        "extraDirs", "harnessDirs", "precedence", "allowSymlinkTargets", "watch", "watchDebounceMs",
    },
    "skills.limits": {
        "maxCandidatesPerRoot", "maxSkillsLoadedPerSource", "maxSkillsInPrompt",
        "maxSkillsPromptChars", "maxSkillFileBytes",
    },
    "skills.install": {"preferBrew", "nodeManager", "allowUploadedArchives"},
    "agents": {"list", "entries", "defaults"},
    "agents.defaults": {"skills", "workspace", "skillsLimits"},
    "plugins": {"load", "entries"},
    "plugins.load": {"paths"},
}  # fmt: skip
_OBJECTS = (
    "skills", "skills.load", "skills.limits", "skills.install", "agents", "agents.defaults",
    "agent", "plugins", "plugins.load",
)  # fmt: skip
_NOT_KNOWN = "is not known here; it is kept"
_ENTRY_KEYS = frozenset(("enabled", "apiKey", "env", "config"))
_AGENT_KEYS = frozenset(("id", "name", "default", "workspace", "skills", "skillsLimits"))
_NODE_MANAGERS = ("npm", "pnpm", "yarn", "bun")


def to_settings(values: Mapping[str, Any]) -> Settings:
    """Understand as much of `values` as possible and report the rest."""
    reader = _Reader(values)
    return Settings(
        skills=_skills(reader),
        agents=_agents(reader),
        plugins=_plugins(reader),
        problems=(*reader.problems, *_misshapen(reader), *_unknown(values)),
        values=values,
    )


class _Reader:
    """Typed look-ups by dotted key, collecting what did not fit."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.problems: list[SettingProblem] = []

    def raw(self, key: str) -> Any:  # noqa: ANN401
        current: Any = self._values
        for part in key.split("."):
            if not isinstance(current, Mapping) or part not in current:
                return None
            current = current[part]
        return current

    def wrong(self, key: str, wanted: str) -> None:
        self.problems.append(
            SettingProblem(key=key, message=f"must be {wanted}; the default is used")
        )

    def mapping(self, key: str) -> Mapping[str, Any]:
        value = self.raw(key)
        if value is None or isinstance(value, Mapping):
            return value or {}
        self.wrong(key, "an object")
        return {}

    def items(self, key: str) -> list[Any]:
        value = self.raw(key)
        if value is None or isinstance(value, list):
            return value or []
        self.wrong(key, "a list")
        return []

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.raw(key)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        self.wrong(key, "true or false")
        return default

    def count(self, key: str, default: int, *, least: int) -> int:
        value = self.raw(key)
        if value is None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        self.wrong(key, f"an integer of at least {least}")
        return default

    def words(self, key: str) -> tuple[str, ...] | None:
        """Return a list of strings; None where it is absent or no list."""
        return self.as_words(key, self.raw(key))

    def as_words(self, key: str, value: object) -> tuple[str, ...] | None:
        if value is None:
            return None
        if _is_words(value):
            return tuple(item.strip() for item in value if item.strip())
        self.wrong(key, "a list of strings")
        return None

    def choice(self, key: str, default: _E) -> _E:
        value = self.raw(key)
        if value is None:
            return default
        wanted = [str(member.value) for member in type(default)]
        word = value.strip().lower() if isinstance(value, str) else ""
        if word in wanted:
            return type(default)(word)
        self.wrong(key, f"one of {', '.join(wanted)}")
        return default


def _skills(reader: _Reader) -> SkillsSettings:
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
        ),
    )


def _spec_mode(reader: _Reader) -> SpecMode:
    for key in ("skills.specMode", "agent.skillsSpecMode", "agent.skills_spec_mode"):
        if reader.raw(key) is not None:
            return reader.choice(key, SpecMode.MIXED)
    return SpecMode.MIXED


def _load(reader: _Reader) -> LoadSettings:
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


def _harness_names(reader: _Reader, key: str, value: object) -> tuple[str, ...] | None:
    words = reader.as_words(key, value)
    names = [ALIASES.get(word.lower(), word.lower()) for word in words or ()]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        message = f"names no harness that is known: {', '.join(unknown)}"
        reader.problems.append(SettingProblem(key=key, message=message))
    return None if words is None else tuple(names)


def _limits(reader: _Reader) -> Limits:
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


def _entries(reader: _Reader) -> dict[str, EntrySettings]:
    found: dict[str, EntrySettings] = {}
    for name, entry in reader.mapping("skills.entries").items():
        key = f"skills.entries.{name}"
        if not isinstance(entry, Mapping):
            reader.wrong(key, "an object")
            continue
        _strays(reader, key, entry, _ENTRY_KEYS)
        found[name] = EntrySettings(
            enabled=_switch(reader, f"{key}.enabled", entry.get("enabled")),
            has_api_key=_is_set(entry.get("apiKey")),
            env_names=_env_names(reader, f"{key}.env", entry.get("env")),
        )
    return found


def _switch(reader: _Reader, key: str, value: object) -> bool | None:
    """Read an on-off switch; what is neither switches off, since that is what was tried."""
    if value is None or isinstance(value, bool):
        return value
    if str(value).strip().lower() == "true":
        return True
    message = "must be true or false; it counts as false"
    reader.problems.append(SettingProblem(key=key, message=message))
    return False


def _strays(reader: _Reader, key: str, entry: Mapping[str, Any], known: frozenset[str]) -> None:
    """Report keys that are not known, louder where one is right but for its case."""
    right = {name.lower(): name for name in known}
    for name in entry:
        if name in known:
            continue
        meant = right.get(str(name).lower())
        message = f"is not read; it is spelt {meant}" if meant else _NOT_KNOWN
        reader.problems.append(
            SettingProblem(key=f"{key}.{name}", message=message, unknown=meant is None)
        )


def _env_names(reader: _Reader, key: str, value: object) -> frozenset[str]:
    if value is None:
        return frozenset()
    if not isinstance(value, Mapping):
        reader.wrong(key, "an object")
        return frozenset()
    return frozenset(name for name, text in value.items() if _is_set(text))


def _is_set(value: object) -> bool:
    return (
        bool(value.strip())
        if isinstance(value, str)
        else isinstance(value, Mapping) and bool(value)
    )


def _nodes(reader: _Reader) -> tuple[NodeSettings, ...]:
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


def _agents(reader: _Reader) -> tuple[AgentSettings, ...]:
    entries = [
        {**entry, "id": name}
        for name, entry in reader.mapping("agents.entries").items()
        if isinstance(entry, Mapping)
    ]
    found: dict[str, AgentSettings] = {}
    for index, entry in enumerate([*reader.items("agents.list"), *entries]):
        key = f"agents.list[{index}]"
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


def _agent(reader: _Reader, key: str, entry: Mapping[str, Any]) -> AgentSettings:
    _strays(reader, key, entry, _AGENT_KEYS)
    own = "skills" in entry and entry["skills"] is not None
    workspace = entry.get("workspace") or reader.raw("agents.defaults.workspace")
    skills_key = f"{key}.skills" if own else "agents.defaults.skills"
    chars = _nested(entry, "skillsLimits", "maxSkillsPromptChars")
    if chars is None:
        chars = reader.raw("agents.defaults.skillsLimits.maxSkillsPromptChars")
    return AgentSettings(
        id=str(entry["id"]).strip(),
        name=str(entry.get("name") or entry["id"]),
        default=entry.get("default") is True,
        workspace=workspace if isinstance(workspace, str) and workspace.strip() else None,
        skills=_agent_skills(
            reader, skills_key, entry.get("skills") if own else reader.raw(skills_key)
        ),
        skills_inherited=not own,
        max_skills_prompt_chars=chars if isinstance(chars, int) and chars >= 0 else None,
    )


def _agent_skills(reader: _Reader, key: str, value: object) -> tuple[str, ...] | None:
    if value is None or _is_words(value):
        return reader.as_words(key, value)
    # A list that cannot be read allows nothing: a typo must not open every skill to an agent.
    message = "must be a list of strings; until then it allows no skill"
    reader.problems.append(SettingProblem(key=key, message=message))
    return ()


def _nested(entry: Mapping[str, Any], outer: str, inner: str) -> object:
    value = entry.get(outer)
    return value.get(inner) if isinstance(value, Mapping) else None


def _plugins(reader: _Reader) -> PluginSettings:
    disabled = {
        name
        for name, entry in reader.mapping("plugins.entries").items()
        if isinstance(entry, Mapping)
        and _switch(reader, f"plugins.entries.{name}.enabled", entry.get("enabled")) is False
    }
    return PluginSettings(
        paths=reader.words("plugins.load.paths") or (), disabled=frozenset(disabled)
    )


def _misshapen(reader: _Reader) -> Iterable[SettingProblem]:
    """Report what should hold other keys but is a list or a word."""
    for key in _OBJECTS:
        value = reader.raw(key)
        if value is not None and not isinstance(value, Mapping):
            yield SettingProblem(key=key, message="must be an object; the default is used")


def _is_words(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(
        isinstance(item, str) and (not item or is_path(item)) for item in value
    )


def _unknown(values: Mapping[str, Any]) -> Iterable[SettingProblem]:
    for prefix, known in _KNOWN.items():
        current: Any = values
        for part in prefix.split(".") if prefix else ():
            current = current.get(part) if isinstance(current, Mapping) else None
        for name in current if isinstance(current, Mapping) else ():
            if name not in known:
                key = f"{prefix}.{name}" if prefix else name
                yield SettingProblem(key=key, message=_NOT_KNOWN, unknown=True)
