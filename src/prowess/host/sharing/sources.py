"""Every kind of source behind one door: folders and archives here, git, servers and marketplaces.

A marketplace file lists plugins; those beside it are read as folders, the others are sources of
their own. A file at an address cannot say where its folders are, so such plugins are named instead.
"""

import json
import os
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from prowess.errors import PathError, ProwessError, SourceError, explain_failure
from prowess.host.files.containment import Root
from prowess.host.sharing.git import GitSource, address_of, is_repository
from prowess.host.sharing.oci import OciSource
from prowess.host.sharing.packages import find_heads, find_skills
from prowess.host.sharing.web import WebSource, make_fetched, read_registry_access, unpack
from prowess.host.sources.roots import expand_path
from prowess.runtime.sharing.ports import Fetched, OfferedSkill, Progress, hash_package
from prowess.runtime.sharing.sync import CopiedFile
from prowess.safety.paths import shown
from prowess.sharing.lock import PREFIX, content_digest, digest_of
from prowess.sharing.source import LocalKind, SourceKind, SourceSpec, read_source

_MOST_ENTRIES, _DEEPEST, _MOST_FILE, _MOST_ARCHIVE = 20_000, 16, 2 << 20, 64 << 20
_OWN_EXECUTABLE = 0o100


class AllSources:
    """Reads sources of every kind."""

    def __init__(
        self, environ: Mapping[str, str], home: str, current: str, private_hosts: Sequence[str]
    ) -> None:
        self._home, self._current = home, current
        self._git = GitSource(environ)
        self._web = WebSource(private_hosts, read_registry_access(environ))
        # Artifacts are written too.
        self.oci = OciSource(private_hosts, environ, home)

    def read_spec(self, asked: str, base: str = "") -> SourceSpec:
        """Return what a person means; a path is taken from `base`, else from the current folder.

        Raises:
            SourceError: it means nothing.
        """
        path = self._path(asked, base)
        # `repo@ref`, `repo#path`, and both in either order, unless a file has just that name.
        for before in (asked.rpartition("@")[0], asked.partition("#")[0]):
            place = self._path(before, base)
            if place and not os.path.lexists(path) and is_repository(place):
                spec = read_source(f"file://{place}{asked[len(before) :]}")
                return replace(spec, asked=asked, url=place)
        local = LocalKind.NOTHING
        if os.path.isdir(path):
            local = LocalKind.REPOSITORY if is_repository(path) else LocalKind.FOLDER
        elif os.path.isfile(path):
            local = LocalKind.FILE
        spec = read_source(asked, local)
        return spec if local is LocalKind.NOTHING else replace(spec, url=path)

    def fetch(self, spec: SourceSpec, wanted: Sequence[str], progress: Progress) -> Fetched:
        """Return the wanted skills of a source, all of them where none is named."""
        if spec.kind is SourceKind.OCI:
            return self.oci.fetch(spec, wanted, progress)
        if spec.kind is SourceKind.GIT:
            url = address_of(spec.url) if spec.is_local else spec.url
            found = self._git.fetch(replace(spec, url=url), wanted, progress)
            return replace(found, url=spec.url)
        if spec.kind is SourceKind.MARKETPLACE:
            return self._marketplace(spec, wanted, progress)
        if not spec.is_local or not spec.url:
            return self._web.fetch(spec, wanted, progress)
        read = self._folder if spec.kind is SourceKind.FOLDER else self._file
        return read(spec, wanted)

    def find_newest(self, spec: SourceSpec) -> str:
        """Return the commit that a source would resolve to now; empty where only a fetch tells."""
        if spec.kind is not SourceKind.GIT:
            return ""
        url = address_of(spec.url) if spec.is_local else spec.url
        return self._git.find_newest(replace(spec, url=url))

    def search(self, registry: str, words: str) -> list[dict[str, str]]:
        """Return what a registry finds."""
        return self._web.search(registry, words)

    def _path(self, asked: str, base: str) -> str:
        if "://" in asked or "\0" in asked or not asked:
            return ""
        return expand_path(asked, self._home, base or self._current)

    def _folder(self, spec: SourceSpec, wanted: Sequence[str]) -> Fetched:
        skills = find_skills(read_tree(spec.url), wanted, spec.url)
        whole = {
            f"{one.path}/{path}": sha
            for one in skills
            for path, sha in hash_package(one.files).items()
        }
        return make_fetched(spec, skills, content_digest(whole))

    def _file(self, spec: SourceSpec, wanted: Sequence[str]) -> Fetched:
        content = _read(spec.url, _MOST_ARCHIVE)
        skills = find_skills(unpack(content, spec.asked), wanted, spec.url)
        return make_fetched(spec, skills, PREFIX + digest_of(content))

    def _marketplace(self, spec: SourceSpec, wanted: Sequence[str], progress: Progress) -> Fetched:
        content = (
            self._web.get(spec, spec.url) if "://" in spec.url else _read(spec.url, _MOST_FILE)
        )
        plugins = _read_plugins(spec.url, content)
        base = "" if "://" in spec.url else find_marketplace_base(spec.url)
        found: list[OfferedSkill] = []
        left, problem = set(wanted), None
        # What is near is asked first: a plugin far away, or gone, is no matter to who wants others.
        for name, plugin in sorted(
            plugins.items(), key=lambda one: (one[0] not in left, one[1].get("source") != "local")
        ):
            if wanted and not left:
                break
            try:
                inner = self._plugin_source(spec, base, plugin)
                part = self.fetch(inner, () if name in left else tuple(left), progress)
            except ProwessError as error:
                said = f"its plugin {shown(name)}: {error}"
                problem = problem or SourceError(shown(spec.asked), said)
                if not wanted:
                    raise problem from error
                continue
            for one in part.skills:
                names = {name, one.name, posixpath.basename(one.path)}
                is_meant = not wanted or not names.isdisjoint(wanted)
                if is_meant and is_listed(one.path, inner.path, plugin["skills"]):
                    resolved = one.resolved or part.resolved
                    found.append(replace(one, required_by=(name,), resolved=resolved))
                    left -= names
        if problem and left:
            raise problem
        return make_fetched(spec, found, PREFIX + digest_of(content))

    def _plugin_source(self, spec: SourceSpec, base: str, source: Mapping[str, Any]) -> SourceSpec:
        kind, ref = str(source.get("source")), str(source.get("sha") or source.get("ref") or "")
        path = str(source.get("path") or "")
        if kind == "local":
            if not base:
                problem = "lies beside this file: give the repository instead."
                raise SourceError(shown(path), problem)
            with Root.open(base) as root, root.inside(path.removeprefix("./").rstrip("/")) as inner:
                return SourceSpec(asked=spec.asked, kind=SourceKind.FOLDER, url=str(inner.path))
        if kind == "npm":
            version = f"@{source['version']}" if source.get("version") else ""
            found = read_source(f"npm:{source.get('package')}{version}")
            return replace(found, url=str(source.get("registry") or ""))
        hub = source.get("repo")
        asked = f"https://github.com/{hub}.git" if hub else str(source.get("url") or kind)
        if not base:
            self._web.refuse_private(spec, asked)
        plain = f"{'git+' if '://' in asked else ''}{asked}"
        found = read_source(plain + (f"@{ref}" if ref else ""))
        if found.kind is not SourceKind.GIT:
            raise SourceError(shown(asked), "is no source of a plugin that is read here.")
        return replace(found, path=path.strip("/"))


def _read_plugins(place: str, content: bytes) -> dict[str, dict[str, Any]]:
    """Return where each plugin of a marketplace file is, in one shape for both dialects."""
    try:
        values = json.loads(content)
        root = str((values.get("metadata") or {}).get("pluginRoot") or "")
        found = {}
        for row in values["plugins"]:
            source = row["source"]
            if isinstance(source, str):
                path = source if source.startswith("./") else posixpath.join(root, source)
                source = {"source": "local", "path": path}
            found[str(row["name"])] = {**source, "skills": row.get("skills")}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SourceError(shown(place), "is no list of plugins that can be read.") from error
    return found


def find_marketplace_base(path: str) -> str:
    """Return the folder from which a marketplace file counts: not the one in which it is hidden."""
    folder = os.path.dirname(path)
    for hidden in (".claude-plugin", os.path.join(".agents", "plugins")):
        folder = folder.removesuffix(os.sep + hidden)
    return folder


def is_listed(path: str, base: str, listed: object) -> bool:
    """Return whether a skill is one of those that its plugin names, where it names some."""
    places = [listed] if isinstance(listed, str) else listed
    if not isinstance(places, list):
        return True
    inside = [posixpath.normpath(posixpath.join(base, str(one))) for one in places]
    return any(one == "." or f"{path}/".startswith(f"{one}/") for one in inside)


def read_tree(folder: str) -> dict[str, CopiedFile]:
    """Return the files of every skill below a folder.

    Raises:
        SourceError: something in it cannot be read, or is a link.
    """
    try:
        with Root.open(folder) as root:
            listed = dict(root.walk(max_files=_MOST_ENTRIES, max_depth=_DEEPEST))
            heads = find_heads(listed)
            mine = [
                path
                for path in listed
                if any(not head or path.startswith(f"{head}/") for head in heads)
            ]
            return {
                path: CopiedFile(
                    root.read(path, _MOST_FILE), bool(listed[path].st_mode & _OWN_EXECUTABLE)
                )
                for path in mine
            }
    except PathError as error:
        raise SourceError(shown(os.path.join(folder, error.path)), error.problem) from error


def read_skill(folder: str) -> OfferedSkill:
    """Return the one skill whose folder this is.

    Raises:
        SourceError: it holds none, or several.
    """
    found = find_skills(read_tree(folder), (), folder)
    if len(found) != 1 or found[0].path:
        raise SourceError(shown(folder), "is not the folder of one skill, with its SKILL.md.")
    return found[0]


def _read(path: str, most: int) -> bytes:
    try:
        with open(path, "rb") as file:
            found = file.read(most + 1)
    except OSError as error:
        raise SourceError(shown(path), f"cannot be read: {explain_failure(error)}.") from error
    if len(found) > most:
        raise SourceError(shown(path), f"is larger than {most:,} bytes.")
    return found
