"""Where other harnesses keep skills, commands and rules, and which project somebody works in.

A call is about the project, and not the corner of it that is open: agents look for skills in parent
folders themselves. Who names a folder is not trusted: it never makes the home folder, or one
above it, a workspace, and on the way up folders of other people do not count, since anybody may put
skills into a shared one. A fixed number of paths is looked at, and no folder is listed.

Plugins contribute roots by their manifests; a path that leaves its plugin is refused by itself, and
the others still count.
"""

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


_MOST_STEPS = 24
_LONGEST_PATH = 4096
_REPOSITORY = ".git"
_SKILL_FOLDERS = (
    "skills",
    os.path.join(".agents", "skills"),
    *dict.fromkeys(os.path.join(*folder.path.split("/")) for folder in PROJECT),
)


def find_home(environ: Mapping[str, str]) -> str:
    """Return the user's home folder, as everything else finds it."""
    return os.path.abspath(environ.get("HOME") or os.path.expanduser("~"))


def find_workspace(cwd: str, projects: Sequence[str], current: str, home: str) -> str:
    """Return the folder whose skills an agent should be told of.

    It is the project that the harness names, if the agent works in it and it holds skills; else the
    nearest folder from the agent's own upwards that holds some or is the root of a repository; else
    the one that was named, or the agent's own.

    Args:
        cwd: where the agent works, as the payload says.
        projects: the folders of the project, as the harness says.
        current: where the hook runs, which counts where `cwd` cannot be used.
        home: the user's home folder; what lies above it is nobody's project.
    """
    own_home = os.path.realpath(home)
    place = cwd if _is_usable(cwd, own_home) else current
    real = os.path.realpath(place)
    if _is_within(own_home, real):
        return place
    named = [
        folder
        for folder in projects
        if _is_usable(folder, own_home) and _is_within(real, os.path.realpath(folder))
    ]
    with_skills = (folder for folder in named if _has_skills(folder))
    found = next(with_skills, None) or next(_find_marked(real, own_home), None)
    if found is None:
        return named[0] if named else place
    # As the agent spells it: that is what its user sees.
    return place if found == real else found


def find_folders_above(folder: str, home: str) -> list[str]:
    """Return the folders above one, up to the root of its repository, that hold skills as well.

    The outermost comes first. In one that belongs to no repository nothing above counts.
    """
    seen: list[str] = []
    for place in _walk_up(os.path.realpath(folder), os.path.realpath(home)):
        seen.append(place)
        if os.path.lexists(os.path.join(place, _REPOSITORY)):
            return [one for one in reversed(seen[1:]) if _has_skills(one)]
    return []


def is_project(folder: str, home: str) -> bool:
    """Return whether a folder is somebody's project: it holds skills, or is a repository."""
    real, own_home = os.path.realpath(folder), os.path.realpath(home)
    is_above = _is_within(own_home, real)
    return not is_above and next(_find_marked(real, own_home), None) == real


def _is_usable(folder: str, own_home: str) -> bool:
    """Return whether a folder that somebody named exists, and is no home and nothing above one."""
    if not folder or len(folder) > _LONGEST_PATH or "\0" in folder or not os.path.isabs(folder):
        return False
    return os.path.isdir(folder) and not _is_within(own_home, os.path.realpath(folder))


def _is_within(path: str, folder: str) -> bool:
    """Return whether `path` is `folder` or lies below it; both are real."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _find_marked(real: str, own_home: str) -> Iterator[str]:
    """Yield the folders from here upwards that are a project by themselves."""
    for folder in _walk_up(real, own_home):
        if os.path.lexists(os.path.join(folder, _REPOSITORY)) or _has_skills(folder):
            yield folder


def _walk_up(real: str, own_home: str) -> Iterable[str]:
    """Yield a folder and those above it that belong to the same people."""
    yield real
    owners = {_owner(real), _find_own_id()} - {None}
    below, folder = real, os.path.dirname(real)
    for _ in range(_MOST_STEPS):
        is_top = folder == below or _is_within(own_home, folder)
        if is_top or _owner(folder) not in owners:
            return
        yield folder
        below, folder = folder, os.path.dirname(folder)


def _owner(folder: str) -> int | None:
    """Return who alone may write to a folder; None where others may as well."""
    try:
        found = os.stat(folder)
    except OSError:
        return None
    # Windows knows neither owners nor such rights here.
    is_shared = os.name == "posix" and found.st_mode & stat.S_IWOTH
    return None if is_shared else found.st_uid


def _find_own_id() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _has_skills(folder: str) -> bool:
    return any(os.path.isdir(os.path.join(folder, name)) for name in _SKILL_FOLDERS)


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
