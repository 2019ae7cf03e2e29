"""Where other harnesses keep skills, commands and rules, for a person and in a project.

Plugins contribute roots by their manifests; a path that leaves its plugin is refused by itself, and
the others still count.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple

from prowess.data import dataclass
from prowess.host.files.handles import Content, is_inside, is_path, read_bounded
from prowess.skills.model import Diagnostic, RootKind, Source, Tier, diagnose


class HarnessFolder(NamedTuple):
    """One folder of one harness, relative to the home folder or to a project."""

    harness: str
    path: str
    kind: RootKind = RootKind.SKILLS


def _read(table: str) -> tuple[HarnessFolder, ...]:
    """Read `harness:path` pairs; the last step of a path says what lies there."""
    rows = (row.partition(":") for row in table.split())
    kinds = {"commands": RootKind.COMMANDS, "rules": RootKind.RULES}
    return tuple(
        HarnessFolder(harness, path, kinds.get(path.rpartition("/")[2], RootKind.SKILLS))
        for harness, _, path in rows
    )


# `.agents/skills` is nobody's and everybody's: it is a source of its own and not listed here. Plain
# text and no TOML: every command reads this, and a TOML parser takes longer to load than the rest.
PERSONAL = _read(
    """
    claude:.claude/skills codex:.codex/skills cursor:.cursor/skills gemini:.gemini/skills
    antigravity:.gemini/antigravity/skills antigravity:.gemini/antigravity-cli/skills
    copilot:.copilot/skills opencode:.config/opencode/skills openclaw:.openclaw/skills
    opencode:.config/opencode/skill opencode:.opencode/skills amp:.config/agents/skills
    hermes:.hermes/skills goose:.config/goose/skills windsurf:.codeium/windsurf/skills
    roo:.roo/skills kilo:.kilo/skills
    continue:.continue/skills augment:.augment/skills crush:.config/crush/skills
    factory:.factory/skills junie:.junie/skills kiro:.kiro/skills trae:.trae/skills
    qwen:.qwen/skills qoder:.qoder/skills openhands:.openhands/skills pi:.pi/agent/skills
    deepagents:.deepagents/agent/skills letta:.letta/skills vibe:.vibe/skills grok:.grok/skills
    devin:.config/devin/skills tabnine:.tabnine/agent/skills rovodev:.rovodev/skills
    iflow:.iflow/skills codebuddy:.codebuddy/skills zencoder:.zencoder/skills
    claude:.claude/commands
    """
)

PROJECT = _read(
    """
    claude:.claude/skills codex:.codex/skills cursor:.cursor/skills copilot:.github/skills
    gemini:.gemini/skills opencode:.opencode/skills opencode:.opencode/skill goose:.goose/skills
    windsurf:.windsurf/skills roo:.roo/skills continue:.continue/skills augment:.augment/skills
    crush:.crush/skills junie:.junie/skills kiro:.kiro/skills trae:.trae/skills
    qwen:.qwen/skills qoder:.qoder/skills openhands:.openhands/skills hermes:.hermes/skills
    pi:.pi/skills deepagents:.deepagents/skills vibe:.vibe/skills grok:.grok/skills
    devin:.devin/skills tabnine:.tabnine/agent/skills rovodev:.rovodev/skills
    iflow:.iflow/skills codebuddy:.codebuddy/skills zencoder:.zencoder/skills
    claude:.claude/commands cursor:.cursor/rules
    """
)

ALIASES = {
    "claude-code": "claude",
    "copilot-cli": "copilot",
    "gemini-cli": "gemini",
    "github": "copilot",
    "vscode": "copilot",
}
NAMES = tuple(sorted({folder.harness for folder in (*PERSONAL, *PROJECT)}))


_MANIFESTS = (
    "plugin.json",
    ".claude-plugin/plugin.json",
    ".codex-plugin/plugin.json",
    "openclaw.plugin.json",
)
_MAX_MANIFEST_BYTES = 256_000
_DEFAULT_FOLDERS = ("skills", "commands")


@dataclass(slots=True)
class SourceRoots:
    """Folders to search, existing or not, and problems with configured ones."""

    sources: list[Source] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def find_plugin_sources(folders: Sequence[str], disabled: frozenset[str]) -> SourceRoots:
    """Read the manifests below `folders`; a folder may be a plugin or hold several."""
    # Late: hooks find their folder by this module, and look for nothing in it.
    from prowess.host.sources.discovery import diagnose_name

    result = SourceRoots()
    for folder in folders:
        plugins = [folder] if _manifest_path(folder) else _children(folder)
        if not plugins:
            message = "holds no plugin manifest"
            result.diagnostics.append(diagnose("plugin-invalid", message, path=folder))
        for plugin in plugins:
            problem = diagnose_name(plugin)
            result.diagnostics += problem
            if not problem:
                _add_plugin(plugin, disabled, result)
    return result


def _manifest_path(folder: str) -> str:
    for name in _MANIFESTS:
        path = os.path.join(folder, *name.split("/"))
        if os.path.isfile(path):
            return path
    return ""


def _children(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    paths = [os.path.join(folder, name) for name in names if not name.startswith(".")]
    return [path for path in paths if _manifest_path(path)]


def _add_plugin(folder: str, disabled: frozenset[str], result: SourceRoots) -> None:
    path = _manifest_path(folder)
    manifest = _read_manifest(path)
    if isinstance(manifest, Diagnostic):
        result.diagnostics.append(manifest)
        return
    plugin_id = str(manifest.get("id") or manifest.get("name") or os.path.basename(folder))
    if plugin_id in disabled:
        return
    neutral = os.path.relpath(path, folder) == "plugin.json"
    # The neutral standard fixes the folder and its depth; the others let the manifest say.
    wanted = ["skills"] if neutral else _paths(manifest.get("skills"), default="skills")
    source = Source(
        tier=Tier.EXTRA, root=folder, label=plugin_id, depth=1 if neutral else 6, boundary=folder
    )
    _add_roots(source, wanted, result)
    if ".claude-plugin" in path:
        commands = _paths(manifest.get("commands"), default="commands")
        _add_roots(replace(source, kind=RootKind.COMMANDS), commands, result)


def _read_manifest(path: str) -> Mapping[str, Any] | Diagnostic:
    content = read_bounded(path, _MAX_MANIFEST_BYTES)
    if isinstance(content, Diagnostic):
        return diagnose("plugin-invalid", content.message, path=path)
    try:
        manifest = json.loads(content.data if isinstance(content, Content) else b"")
    except (ValueError, RecursionError):
        return diagnose("plugin-invalid", "is not JSON", path=path)
    if isinstance(manifest, dict):
        return manifest
    return diagnose("plugin-invalid", "is not an object", path=path)


def _paths(value: object, *, default: str) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [item for item in value if isinstance(item, str)]
    return [default]


def _add_roots(plugin: Source, wanted: Sequence[str], result: SourceRoots) -> None:
    """Add the folders that `plugin` names, each of which must lie inside it."""
    for relative in wanted:
        if not is_path(relative):
            message = f"{relative!r} is not a path"
            result.diagnostics.append(diagnose("plugin-invalid", message, path=plugin.root))
            continue
        root = os.path.normpath(os.path.join(plugin.root, relative))
        if not is_inside(os.path.realpath(root), os.path.realpath(plugin.root)):
            message = f"{relative!r} leaves the plugin"
            result.diagnostics.append(diagnose("path-escape", message, path=plugin.root))
        elif os.path.isdir(root):
            result.sources.append(replace(plugin, root=root))
        elif relative not in _DEFAULT_FOLDERS:
            message = f"{relative!r} is not a folder"
            result.diagnostics.append(diagnose("plugin-invalid", message, path=plugin.root))
