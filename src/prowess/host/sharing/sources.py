"""Every kind of source behind one door: folders and archives here, git, servers and marketplaces.

A marketplace file lists plugins; those beside it are read as folders, the others are sources of
their own. A file at an address cannot say where its folders are, so such plugins are named instead.

Git is asked by its program for one commit, without history, and nothing is checked out or run. The
commit is fetched into a bare repository without hooks, the tree is listed, and only the folders of
the wanted skills are packed, byte for byte as they were committed: attributes of the repository
that would change line ends, leave files out or call filters are overruled. Links inside a skill are
refused by name, and submodules unless they were asked for: then each is fetched at the commit that
its repository names, from the same host alone.
"""

import json
import os
import posixpath
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from prowess.errors import PathError, ProwessError, SourceError, explain_failure
from prowess.host.files.archives import read_archive
from prowess.host.files.containment import Root
from prowess.host.processes.children import ChildProcesses
from prowess.host.sharing.oci import OciSource
from prowess.host.sharing.web import (
    WebSource,
    find_heads,
    find_skill_name,
    find_skills,
    make_fetched,
    read_registry_access,
    unpack,
)
from prowess.host.sources.roots import expand_path
from prowess.runtime.ports import ChildCommand, ChildResult
from prowess.runtime.sharing.ports import Fetched, OfferedSkill, Progress, hash_package
from prowess.runtime.sharing.sync import CopiedFile
from prowess.safety.paths import shown
from prowess.safety.web_addresses import is_this_machine
from prowess.sharing.lock import PREFIX, content_digest, digest_of
from prowess.sharing.source import LocalKind, SourceKind, SourceSpec, read_source

_SECONDS, _MOST_LISTED = 300.0, 20_000_000
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_PERHAPS_COMMIT = re.compile(r"[0-9a-f]{7,64}\Z")
_LINE = re.compile(r"(?P<mode>\d{6}) \w+ (?P<object>[0-9a-f]+)\t(?P<path>.+)\Z", re.DOTALL)
# Above whatever the repository says of its own files.
_AS_COMMITTED = (
    "* -text -eol -crlf -filter -ident -export-subst -export-ignore -working-tree-encoding\n"
)
_SENT_ON = re.compile(r"error: 30\d")
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.autocrlf": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "protocol.ext.allow": "never",
    "advice.detachedHead": "false",
    "gc.auto": "0",
    # Git does not check where it is sent to, which may be a private network.
    "http.followRedirects": "false",
}
_LINK, _MODULE, _MOST_MODULES = "120000", "160000", 50
_HANDED_ON = ("PATH", "HOME", "LANG", "SSH_AUTH_SOCK", "TMPDIR", "SYSTEMROOT", "USERPROFILE",
              "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE",
              "GIT_SSL_CAINFO", "XDG_CONFIG_HOME")  # fmt: skip


class _Listed(NamedTuple):
    mode: str
    path: str
    object: str


class _Part(NamedTuple):
    """One commit, and where its files lie: the repository's own, or that of a submodule."""

    commit: str
    base: str
    url: str

    def outer(self, path: str) -> str:
        """Return where a path of this commit lies in the whole."""
        return f"{self.base}/{path}" if self.base else path


class GitSource:
    """Fetches skills from repositories."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ, self._children = environ, ChildProcesses()

    def fetch(self, spec: SourceSpec, wanted: Sequence[str], progress: Progress) -> Fetched:
        """Return the wanted skills of one commit.

        Raises:
            SourceError: the repository, the commit or a skill is not there.
        """
        with self._repository() as bare:
            progress("fetching the commit", 0, 3)
            commit = self._fetch_commit(bare, spec)
            progress("listing its files", 1, 3)
            listed, parts = self._list_all(bare, spec, commit)
            heads = find_heads(one.path for one in listed)
            if not heads:
                place = f"{spec.path} of {spec.url}" if spec.path else spec.url
                raise SourceError(shown(place), f"holds no SKILL.md at {commit[:12]}.")
            progress("packing its skills", 2, 3)
            named = self._name(bare, parts, heads, listed)
            chosen = {
                head: name
                for head, name in named.items()
                if not wanted or name in wanted or os.path.basename(head) in wanted
            }
            skills = tuple(self._pack(bare, parts, chosen, listed))
            made = self._run(spec, bare, "show", "-s", "--format=%cs", commit).stdout.strip()
            progress("packing its skills", 3, 3)
        return Fetched(
            kind=spec.kind.value,
            url=spec.url,
            resolved=commit,
            ref=spec.ref,
            skills=skills,
            made=made,
            names=tuple(named.values()),
        )

    def find_newest(self, spec: SourceSpec) -> str:
        """Return the commit that a branch or tag is at now.

        Raises:
            SourceError: the repository does not answer, or has no such ref.
        """
        if _COMMIT.match(spec.ref):
            return spec.ref
        names = (spec.ref, f"{spec.ref}^{{}}") if spec.ref else ("HEAD",)
        result = self._run(spec, "", "ls-remote", "--", spec.url, *names)
        split = (line.partition("\t") for line in result.stdout.splitlines())
        rows = {name: commit for commit, _, name in split}
        for name in (f"refs/tags/{spec.ref}^{{}}", f"refs/heads/{spec.ref}", *sorted(rows)):
            if name in rows:
                return rows[name]
        raise SourceError(shown(spec.url), f"has no {shown(spec.ref or 'HEAD')}.")

    @contextmanager
    def _repository(self) -> Iterator[str]:
        with tempfile.TemporaryDirectory(prefix="prowess-git-") as folder:
            self._run(None, folder, "init", "--bare", "--quiet", "--template=", ".")
            os.makedirs(os.path.join(folder, "info"), exist_ok=True)
            with open(os.path.join(folder, "info", "attributes"), "w", encoding="utf-8") as file:
                file.write(_AS_COMMITTED)
            yield folder

    def _fetch_commit(self, bare: str, spec: SourceSpec) -> str:
        """Fetch one commit alone; all of them only where the server gives no single ones."""
        fetch = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-gc")
        ref = spec.ref or "HEAD"
        first = self._try(spec, bare, *fetch, "--depth=1", "--", spec.url, ref)
        if first.code == 0:
            return self._run(
                spec, bare, "rev-parse", "--verify", "FETCH_HEAD^{commit}"
            ).stdout.strip()
        if not _PERHAPS_COMMIT.match(ref):
            raise _explain(spec, first)
        self._run(spec, bare, *fetch, "--", spec.url, "+refs/*:refs/prowess/*")
        found = self._try(spec, bare, "rev-parse", "--verify", f"{ref}^{{commit}}")
        if found.code != 0:
            raise SourceError(shown(spec.url), f"has no commit {ref}.")
        return found.stdout.strip()

    def _list_all(
        self, bare: str, spec: SourceSpec, commit: str
    ) -> tuple[list[_Listed], tuple[_Part, ...]]:
        """Return all files, and the commits they are of: with submodules more than one."""
        parts = [_Part(commit, "", spec.url)]
        if not spec.submodules:
            return self._list(bare, spec, parts[0], spec.path), tuple(parts)
        listed: list[_Listed] = []
        for part in parts:
            rows = self._list(bare, spec, part, "")
            listed += [row for row in rows if row.mode != _MODULE]
            links = [row for row in rows if row.mode == _MODULE and _touches(row.path, spec.path)]
            if len(parts) + len(links) > _MOST_MODULES:
                raise SourceError(shown(spec.url), f"has more than {_MOST_MODULES} submodules.")
            addresses = self._read_modules(bare, spec, part) if links else {}
            for row in links:
                url = _locate_module(part.url, row.path, addresses.get(row.path, ""))
                self._fetch_commit(bare, replace(spec, url=url, ref=row.object))
                parts.append(_Part(row.object, row.path, url))
        return [row for row in listed if _is_inside(row.path, spec.path)], tuple(parts)

    def _list(self, bare: str, spec: SourceSpec, part: _Part, path: str) -> list[_Listed]:
        arguments = ("ls-tree", "-r", "-z", "--full-tree", part.commit)
        result = self._run(spec, bare, *arguments, *(("--", path) if path else ()))
        if result.cut:
            raise SourceError(shown(spec.url), "has too many files: name the folder inside.")
        rows = (_LINE.match(line) for line in result.stdout.split("\0") if line)
        return [_Listed(row["mode"], part.outer(row["path"]), row["object"]) for row in rows if row]

    def _read_modules(self, bare: str, spec: SourceSpec, part: _Part) -> dict[str, str]:
        """Return the address of each submodule by its path, as the repository says."""
        blob = f"{part.commit}:.gitmodules"
        result = self._run(spec, bare, "config", "-z", "--blob", blob, "--list")
        found: dict[str, dict[str, str]] = {}
        for row in filter(None, result.stdout.split("\0")):
            key, _, value = row.partition("\n")
            name, _, field = key.rpartition(".")
            found.setdefault(name, {})[field] = value
        return {part.outer(one.get("path", "")): one.get("url", "") for one in found.values()}

    def _name(
        self, bare: str, parts: Sequence[_Part], heads: Sequence[str], listed: Sequence[_Listed]
    ) -> dict[str, str]:
        """Return the name of the skill in each folder."""
        pages = {
            os.path.dirname(one.path): one.path
            for one in listed
            if os.path.basename(one.path).lower() == "skill.md"
        }
        files = self._read(bare, parts, [pages[head] for head in heads])
        return {head: find_skill_name(files[pages[head]].content, head) for head in heads}

    def _pack(
        self,
        bare: str,
        parts: Sequence[_Part],
        chosen: Mapping[str, str],
        listed: Sequence[_Listed],
    ) -> Iterator[OfferedSkill]:
        for head, name in chosen.items():
            base = f"{head}/" if head else ""
            _refuse_special(name, [one for one in listed if one.path.startswith(base)])
            files = self._read(bare, parts, [head])
            inner = {path[len(base) :]: file for path, file in files.items()}
            yield OfferedSkill(name=name, path=head, files=inner)

    def _read(
        self, bare: str, parts: Sequence[_Part], paths: Sequence[str]
    ) -> dict[str, CopiedFile]:
        """Return the files at and below some paths, each out of the commit that it is of."""
        wanted: dict[_Part, list[str]] = {}
        for path in paths:
            owners = [part for part in parts if _is_inside(path, part.base)]
            owner = max(owners, key=lambda part: len(part.base))
            wanted.setdefault(owner, []).append(path[len(owner.base) :].lstrip("/"))
            for part in parts:
                if part.base != path and _is_inside(part.base, path):
                    wanted.setdefault(part, []).append("")
        files: dict[str, CopiedFile] = {}
        for part, inner in wanted.items():
            words = () if "" in inner else ("--", *inner)
            packed = os.path.join(bare, "packed.tar")
            self._run(None, bare, "archive", "--format=tar", "-o", packed, part.commit, *words)
            with open(packed, "rb") as file:
                members = read_archive(file).members
            files |= {
                part.outer(one.path): CopiedFile(one.content, one.executable) for one in members
            }
        return files

    def _run(self, spec: SourceSpec | None, folder: str, *words: str) -> ChildResult:
        result = self._try(spec, folder, *words)
        if result.code != 0:
            raise _explain(spec, result)
        return result

    def _try(self, spec: SourceSpec | None, folder: str, *words: str) -> ChildResult:
        settings = [word for key, value in _SETTINGS.items() for word in ("-c", f"{key}={value}")]
        allowed = ["file", "https", "ssh"]
        parts = urlsplit(spec.url) if spec is not None and "://" in spec.url else None
        if parts is not None and parts.scheme == "http" and is_this_machine(parts.hostname or ""):
            allowed.append("http")
        environment = {name: self._environ[name] for name in _HANDED_ON if name in self._environ}
        environment |= {
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": ":".join(allowed),
            "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "LC_ALL": "C.UTF-8",
        }
        command = ChildCommand(
            argv=("git", *settings, *words),
            environment=environment,
            folder=folder,
            seconds=_SECONDS,
            most_chars=_MOST_LISTED,
        )
        return self._children.run(command)


def _refuse_special(name: str, files: Sequence[_Listed]) -> None:
    for one in files:
        if one.mode == _LINK:
            problem = f"has the link {shown(one.path)}: put the file itself in its place."
            raise SourceError(shown(name), problem)
        if one.mode == _MODULE:
            problem = f"has the submodule {shown(one.path)}: --submodules fetches those too."
            raise SourceError(shown(name), problem)


def _is_inside(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(f"{folder}/")


def _touches(path: str, other: str) -> bool:
    return _is_inside(path, other) or _is_inside(other, path)


def _locate_module(parent: str, path: str, url: str) -> str:
    """Return the address of a submodule, which must be on the host that a person named."""
    if url.startswith(("./", "../")):
        base, steps = parent.rstrip("/"), url.split("/")
        while steps and steps[0] in {".", ".."}:
            base = base.rpartition("/")[0] if steps.pop(0) == ".." else base
        url = "/".join((base, *steps))
    if not url or url.startswith("-") or _host(url) != _host(parent):
        problem = f"lies at {shown(url) or 'no address'}, on another host: add that one by itself."
        raise SourceError(shown(path), f"is a submodule that {problem}")
    return url


def _host(url: str) -> str:
    """Return the host of an address, `file` for what lies on this machine."""
    if "://" in url:
        parts = urlsplit(url)
        return "file" if parts.scheme == "file" else (parts.hostname or "")
    return url.partition(":")[0].rpartition("@")[2] if ":" in url else "file"


def _explain(spec: SourceSpec | None, result: ChildResult) -> SourceError:
    subject = "git" if spec is None else shown(spec.url)
    if result.problem:
        return SourceError(subject, f"git cannot be started: {result.problem}")
    if result.timed_out:
        return SourceError(subject, f"git did not finish within {_SECONDS:g} seconds: try again.")
    said = [line for line in result.stderr.splitlines() if line.strip()]
    worst = [at for at, line in enumerate(said) if line.startswith(("fatal:", "error:"))]
    # What ssh has to say stands before git's own line.
    first = " ".join(said[max(0, worst[0] - 1) : worst[0] + 1]) if worst else "it failed"
    advice = (
        "it sends us elsewhere, so give the final address"
        if _SENT_ON.search(first)
        else ("check the address and your access")
    )
    problem = f"git says: {shown(first).removesuffix('.')}; {advice}."
    return SourceError(subject, problem)


def is_repository(path: str) -> bool:
    """Return whether a path is the top of a repository, with a working tree or bare."""
    if os.path.lexists(os.path.join(path, ".git")):
        return True
    return all(os.path.exists(os.path.join(path, name)) for name in ("HEAD", "objects", "refs"))


# Local paths go to git as addresses, so that it copies instead of sharing files with them.
def address_of(path: str) -> str:
    """Return the address of a repository on this machine."""
    return f"file://{os.path.abspath(path)}"


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
