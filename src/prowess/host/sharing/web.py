"""Skills by https: archives, indexes of sites, ClawHub registries and npm packages.

A server is believed in nothing. What it announces (digest, size, files, name) must be what comes,
and where it sends us to must be public https, or the host that a person named. Only that host may
lie on this machine or in a private network. Everything is bounded and read into memory; nothing is
written before all of it was checked. From files to the skills among them the way is the same for
every source.
"""

import base64
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

from prowess.errors import ArchiveError, DownloadError, HubError, SourceError
from prowess.host.downloads import Bounds, WebRequest, download, exchange
from prowess.host.files.archives import read_archive
from prowess.host.sources.skill_files import is_below
from prowess.host.tool_downloads import ListedHosts
from prowess.runtime.sharing.ports import Fetched, OfferedSkill, Progress, hash_package
from prowess.runtime.sharing.sync import CopiedFile
from prowess.safety.paths import PathRefused, check_all, collision_key, segments, shown
from prowess.safety.web_addresses import is_this_machine
from prowess.sharing.lock import PREFIX, content_digest, digest_of
from prowess.sharing.source import SourceKind, SourceSpec
from prowess.skills import frontmatter
from prowess.skills.model import SKIPPED_FOLDERS
from prowess.skills.text import plain_name

_SKILL_FILE = "skill.md"
_LEFT_OUT = SKIPPED_FOLDERS | {".git"}


def find_heads(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that hold a SKILL.md and lie in no other such folder."""
    heads = {
        os.path.dirname(path)
        for path in paths
        if os.path.basename(path).lower() == _SKILL_FILE and _LEFT_OUT.isdisjoint(path.split("/"))
    }
    return tuple(
        sorted(head for head in heads if not any(is_below(head, other) for other in heads))
    )


def find_skill_name(page: bytes, folder: str) -> str:
    """Return the name that a skill gives itself, else its folder's.

    Raises:
        SourceError: neither can be the name of a folder.
    """
    found = frontmatter.read(frontmatter.decode(page).text).fields.get("name")
    name = plain_name(found if isinstance(found, str) else "") or os.path.basename(folder)
    try:
        return segments(name, max_depth=1)[0]
    except (PathRefused, IndexError):
        raise SourceError(
            shown(name or folder or "SKILL.md"),
            "is no name that a folder can have: ask its author.",
        ) from None


def find_skills(
    files: Mapping[str, CopiedFile], wanted: Sequence[str], place: str
) -> tuple[OfferedSkill, ...]:
    """Return the wanted skills among files; all of them where none is named, or none is there.

    Raises:
        SourceError: there is no skill, or one with files that no folder can hold.
    """
    heads = find_heads(files)
    if not heads:
        raise SourceError(shown(place), "holds no SKILL.md.")
    found = tuple(_read_skill(files, head, place) for head in heads)
    names = set(wanted)
    return tuple(one for one in found if names & {one.name, os.path.basename(one.path)}) or found


def _read_skill(files: Mapping[str, CopiedFile], head: str, place: str) -> OfferedSkill:
    base = f"{head}/" if head else ""
    mine = {
        path[len(base) :]: file
        for path, file in files.items()
        if path.startswith(base) and _LEFT_OUT.isdisjoint(path[len(base) :].split("/"))
    }
    page = next(path for path in mine if path.lower() == _SKILL_FILE)
    try:
        check_all(mine)
    except PathRefused as error:
        raise SourceError(shown(place), f"{shown(error.path)} {error.problem}") from error
    name = find_skill_name(mine[page].content, head or place)
    return OfferedSkill(name=name, path=head, files=mine)


_MIB = 1 << 20
_MOST_INDEX, _MOST_ARCHIVE, _MOST_PAGE = 8 * _MIB, 64 * _MIB, 2 * _MIB
_MOST_FILES, _MOST_FOUND, _OK = 500, 50, 200
_PORTS = {"https": 443, "http": 80}
_INDEXES = ("/.well-known/agent-skills/index.json", "/.well-known/skills/index.json")
_SCHEMA = "discovery/0.2"
HUB_VARIABLE, TOKEN_VARIABLE = "PROWESS_HUB_URL", "PROWESS_REGISTRY_TOKEN"
NPM_REGISTRY, CLAWHUB_REGISTRY = "https://registry.npmjs.org", "https://clawhub.ai"

_Files = dict[str, CopiedFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryAccess:
    """Which hub is meant where none is named, and by what we are known to it and no other."""

    hub: str = ""
    token: str = field(default="", repr=False)

    def find_hub(self, named: str, asked: str) -> str:
        """Return the address of the hub.

        Raises:
            SourceError: nobody said which.
        """
        found = (named or self.hub).rstrip("/")
        if not found:
            problem = f"does not say which hub: give --registry URL, or set {HUB_VARIABLE}."
            raise SourceError(shown(asked), problem)
        return found

    def find_token(self, url: str) -> str:
        """Return the token for an address of our hub: strangers write locks that name others."""
        return self.token if self.hub and _origin(url) == _origin(self.hub) else ""


def read_registry_access(environ: Mapping[str, str]) -> RegistryAccess:
    """Return what the environment says of the hub that is ours."""
    hub, token = (environ.get(name, "").strip() for name in (HUB_VARIABLE, TOKEN_VARIABLE))
    return RegistryAccess(hub=hub, token=token)


def ask_hub(access: RegistryAccess, method: str, path: str, body: object = None) -> dict[str, Any]:
    """Ask our hub, and return the JSON object that it answers with.

    Raises:
        SourceError: nobody said which hub, or its address is not https: only that gets a token,
            but on this machine.
        HubError: it refuses, or answers with something else.
        DownloadError: it cannot be reached.
    """
    base = access.find_hub("", "the hub")
    headers = {"Authorization": f"Bearer {access.token}"} if access.token else {}
    content = b"" if body is None else json.dumps(body).encode()
    request = WebRequest(method=method, headers=headers, body=content)
    answer = exchange(f"{base}/api/hub/v1{path}", request, _MOST_INDEX, open_registry(base))
    found = read_object(answer.content)
    if found is None:
        raise HubError(shown(base), f"is no hub: it answers {answer.status} without JSON.")
    if answer.status != _OK:
        said = found.get("error")
        message = said.get("message") if isinstance(said, dict) else None
        # Whatever it says is a stranger's text of one line.
        raise HubError("the hub", f"refuses: {shown(str(message or answer.status)[:400])}")
    return found


def open_registry(url: str) -> ListedHosts:
    """Return the way to a registry that is sent a token.

    Raises:
        SourceError: its address is not https: only that gets a token, but on this machine.
    """
    hosts = name_host(url)
    if not hosts:
        problem = "is no https address: a token is sent to no other, but on this machine."
        raise SourceError(shown(url), problem)
    return ListedHosts(hosts)


def read_object(text: bytes | str) -> dict[str, Any] | None:
    """Return a JSON object; None where a text is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _origin(url: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return "", "", None


class WebSource:
    """Fetches skills from servers."""

    def __init__(
        self, private_hosts: Sequence[str] = (), access: RegistryAccess | None = None
    ) -> None:
        self._private = tuple(private_hosts)
        self._access = access or RegistryAccess()

    def fetch(self, spec: SourceSpec, wanted: Sequence[str], progress: Progress) -> Fetched:
        """Return the wanted skills of a source that a server has.

        Raises:
            SourceError: it is not what it says.
            DownloadError: an address is refused, or does not answer.
            ArchiveError: an archive breaks a rule.
        """
        progress("asking the server", 0, 1)
        found = {
            SourceKind.ARCHIVE: self._archive,
            SourceKind.WELL_KNOWN: self._fetch_well_known,
            SourceKind.CLAWHUB: self._clawhub,
            SourceKind.HUB: self._hub,
            SourceKind.NPM: self._npm,
        }[spec.kind](spec, wanted)
        progress("asking the server", 1, 1)
        return found

    def get(self, spec: SourceSpec, url: str, most: int = _MOST_INDEX) -> bytes:
        """Return what is at an address, wherever it leads that is allowed."""
        transport = ListedHosts((*self._private, *name_host(spec.url or spec.asked)))
        with tempfile.TemporaryDirectory(prefix="prowess-fetch-") as folder:
            bounds = Bounds(most_bytes=most, token=self._access.find_token(url))
            got = download(url, folder, bounds, transport=transport)
            with open(got.path, "rb") as file:
                return file.read()

    def refuse_private(self, spec: SourceSpec, url: str) -> None:
        """Refuse an address that a server named, unless it is public https or on that server.

        Raises:
            SourceError: it lies elsewhere.
        """
        transport = ListedHosts((*self._private, *name_host(spec.url)))
        address = transport.read(url)
        problem = address if isinstance(address, str) else ""
        if not isinstance(address, str):
            try:
                numerics = transport.resolve(address.host, address.port)
            except (OSError, UnicodeError):
                numerics = ()
            found = (transport.refusal(address, numeric) for numeric in numerics)
            problem = next(filter(None, found), "" if numerics else "has no address")
        if problem:
            raise SourceError(
                shown(url), f"{problem}, and {shown(spec.asked)} may not send us there."
            )

    def get_json(self, spec: SourceSpec, url: str) -> dict[str, Any]:
        """Return the JSON object at an address."""
        found = read_object(self.get(spec, url))
        if found is None:
            raise SourceError(shown(url), "answers with something that is no JSON object.")
        return found

    def search(self, registry: str, words: str) -> list[dict[str, str]]:
        """Return what a ClawHub registry finds."""
        base = registry or self._access.hub or CLAWHUB_REGISTRY
        spec = SourceSpec(asked=base, kind=SourceKind.CLAWHUB, url=base)
        query = urlencode({"q": words, "limit": _MOST_FOUND})
        rows = self.get_json(spec, f"{base.rstrip('/')}/api/v1/search?{query}").get("results")
        keys = {
            "name": "slug",
            "version": "version",
            "summary": "summary",
            "title": "displayName",
            "owner": "ownerHandle",
        }
        return [
            {key: str(row.get(name) or "") for key, name in keys.items()}
            for row in read_rows(rows)[:_MOST_FOUND]
        ]

    def _archive(self, spec: SourceSpec, wanted: Sequence[str]) -> Fetched:
        content = self.get(spec, spec.url, _MOST_ARCHIVE)
        skills = find_skills(unpack(content, spec.url), wanted, spec.url)
        return make_fetched(spec, skills, PREFIX + digest_of(content))

    def _fetch_well_known(self, spec: SourceSpec, wanted: Sequence[str]) -> Fetched:
        url, index = self._find_index(spec)
        rows = read_rows(index.get("skills"))
        is_newer = _SCHEMA in str(index.get("$schema", ""))
        if index.get("$schema") and not is_newer:
            raise SourceError(shown(url), f"is of {shown(str(index['$schema']))}, not known here.")
        chosen = [row for row in rows if not wanted or row.get("name") in wanted]
        if not chosen:
            named = ", ".join(shown(str(row.get("name"))) for row in rows[:_MOST_FOUND])
            raise SourceError(shown(url), f"has no such skill; it has {named or 'none'}.")
        _refuse_twice(url, chosen)
        read = self._read_indexed if is_newer else self._read_listed
        skills = tuple(read(spec, url, row) for row in chosen)
        whole = content_digest({one.name: one.resolved.removeprefix(PREFIX) for one in skills})
        return replace(make_fetched(spec, skills, whole), url=url)

    def _find_index(self, spec: SourceSpec) -> tuple[str, dict[str, Any]]:
        if urlsplit(spec.url).path.endswith(".json"):
            return spec.url, self.get_json(spec, spec.url)
        base = spec.url.partition("/.well-known/")[0].rstrip("/")
        problem: DownloadError | None = None
        for path in _INDEXES:
            try:
                return base + path, self.get_json(spec, base + path)
            except DownloadError as error:
                problem = problem or error
        raise problem or SourceError(shown(spec.url), "has no index of skills.")

    def _read_indexed(self, spec: SourceSpec, index: str, row: Mapping[str, Any]) -> OfferedSkill:
        """Read one entry of version 0.2: one address, one digest over what is there."""
        name, promised = _check_name(row, index), str(row.get("digest") or "")
        if not promised.startswith(PREFIX):
            raise SourceError(shown(name), f"has no sha256 digest in {shown(index)}.")
        url = urljoin(index, str(row.get("url") or ""))
        content = self.get(spec, url, _MOST_ARCHIVE)
        _check_digest(url, content, promised)
        if row.get("type") == "skill-md":
            files = {"SKILL.md": CopiedFile(content)}
        elif row.get("type") == "archive":
            files = unpack(content, url)
        else:
            raise SourceError(
                shown(url), f"is of the type {shown(str(row.get('type')))!r}, not known here."
            )
        return replace(_require_one(files, name, url), resolved=promised.lower())

    def _read_listed(self, spec: SourceSpec, index: str, row: Mapping[str, Any]) -> OfferedSkill:
        """Read one entry of version 0.1: the files by their names, below the index."""
        name, paths = _check_name(row, index), row.get("files")
        if not isinstance(paths, list) or not 0 < len(paths) <= _MOST_FILES:
            raise SourceError(shown(name), f"lists no files in {shown(index)}, or too many.")
        files: _Files = {}
        for path in paths:
            steps = _check_path(f"{index}: {name}", path)
            url = urljoin(index, quote("/".join((name, *steps))))
            files["/".join(steps)] = CopiedFile(self.get(spec, url, _MOST_PAGE))
        found = _require_one(files, name, index)
        return replace(found, resolved=content_digest(hash_package(found.files)))

    def _clawhub(self, spec: SourceSpec, wanted: Sequence[str]) -> Fetched:
        del wanted
        base = spec.url.rstrip("/") or CLAWHUB_REGISTRY
        slug, api = spec.path.rpartition("/")[2], f"{base}/api/v1"
        owner = spec.path.rpartition("/")[0].lstrip("@")
        asked = {"slug": slug} | ({"ownerHandle": owner} if owner else {})
        version = spec.ref or self._find_latest(spec, f"{api}/skills/{quote(slug)}")
        _check_version(base, version)
        row = self.get_json(spec, f"{api}/skills/{quote(slug)}/versions/{quote(version)}")
        promised = read_rows((row.get("version") or {}).get("files"))
        query = urlencode({**asked, "version": version})
        content = self.get(spec, f"{api}/download?{query}", _MOST_ARCHIVE)
        files = unpack(content, f"{slug}@{version}")
        _check_files(f"{slug}@{version}", files, promised)
        skill = _require_one(files, "", f"{base}: {slug}")
        found = make_fetched(spec, (skill,), PREFIX + digest_of(content))
        return replace(found, url=base, version=version)

    def _hub(self, spec: SourceSpec, wanted: Sequence[str]) -> Fetched:
        """Read a version of a hub: its digest, its files and its archive are held against it."""
        del wanted
        base = self._access.find_hub(spec.url, spec.asked)
        spec = replace(spec, url=base)
        address = f"{base}/api/hub/v1/skills/{quote(spec.path.lstrip('@'))}"
        _check_version(base, spec.ref or "latest")
        row = self.get_json(spec, f"{address}/versions/{quote(spec.ref or 'latest')}")
        archive = row.get("archive") if isinstance(row.get("archive"), dict) else {}
        promised, version = str((archive or {}).get("digest") or ""), str(row.get("version") or "")
        _check_version(base, version)
        url = f"{address}/versions/{quote(version)}/archive"
        content = self.get(spec, url, _MOST_ARCHIVE)
        _check_digest(url, content, promised)
        files = unpack(content, url)
        _check_files(f"{spec.path}@{version}", files, read_rows(row.get("files")))
        skill = _require_one(files, spec.path.rpartition("/")[2], f"{base}: {spec.path}")
        if content_digest(hash_package(skill.files)) != row.get("contentDigest"):
            problem = "its files are not those of the content digest that the hub names."
            raise SourceError(shown(f"{spec.path}@{version}"), problem)
        found = make_fetched(spec, (skill,), promised)
        return replace(found, url=base, version=version)

    def _find_latest(self, spec: SourceSpec, url: str) -> str:
        row = self.get_json(spec, url)
        newest = row.get("latestVersion")
        version = newest.get("version") if isinstance(newest, dict) else None
        if not isinstance(version, str) or not version:
            raise SourceError(shown(url), "names no latest version: ask for one with @VERSION.")
        return version

    def _npm(self, spec: SourceSpec, wanted: Sequence[str]) -> Fetched:
        base = spec.url.rstrip("/") or NPM_REGISTRY
        _check_version(base, spec.ref or "latest")
        address = f"{base}/{quote(spec.path, safe='@')}/{quote(spec.ref or 'latest')}"
        row = self.get_json(spec, address)
        dist = row.get("dist") if isinstance(row.get("dist"), dict) else {}
        _check_version(base, row.get("version"))
        url, promised = (str((dist or {}).get(key) or "") for key in ("tarball", "integrity"))
        if not url or not promised.startswith("sha512-"):
            raise SourceError(shown(address), "names no tarball with a sha512 integrity.")
        content = self.get(spec, url, _MOST_ARCHIVE)
        found = base64.b64encode(hashlib.sha512(content).digest()).decode()
        if f"sha512-{found}" != promised:
            raise SourceError(shown(url), "is not the file that the registry promised (integrity).")
        skills = find_skills(unpack(content, url, strip=1), wanted, spec.asked)
        result = make_fetched(spec, skills, PREFIX + digest_of(content))
        return replace(result, url=base, version=str(row.get("version") or ""))


def unpack(content: bytes, place: str, strip: int = 0) -> _Files:
    """Return the files of an archive that came from a place.

    Raises:
        ArchiveError: it breaks a rule.
    """
    try:
        members = read_archive(BytesIO(content), strip=strip).members
    except ArchiveError as error:
        # Of several archives, a person must know which one.
        named = ": ".join(filter(None, (shown(place), error.member)))
        raise ArchiveError(named, error.reason, error.problem) from error
    return {one.path: CopiedFile(one.content, one.executable) for one in members}


def name_host(url: str) -> tuple[str, ...]:
    """Return the host that a person named, for it alone may be a private one."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ()
    if not host or (parts.scheme != "https" and not is_this_machine(host)):
        return ()
    shape = f"[{host}]" if ":" in host else host
    return (f"{shape}:{port or _PORTS.get(parts.scheme, 443)}",)


def make_fetched(spec: SourceSpec, skills: Sequence[OfferedSkill], resolved: str) -> Fetched:
    """Return what a source gave of what was asked for."""
    return Fetched(
        kind=spec.kind.value, url=spec.url, resolved=resolved, ref=spec.ref, skills=tuple(skills)
    )


def read_rows(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list; none where something else is there."""
    rows = value if isinstance(value, list) else []
    return [row for row in rows if isinstance(row, dict)]


def _check_name(row: Mapping[str, Any], index: str) -> str:
    return _check_path(index, row.get("name"), depth=1)[0]


def _check_path(subject: str, path: object, depth: int = 12) -> tuple[str, ...]:
    try:
        return segments(path if isinstance(path, str) else "", max_depth=depth)
    except PathRefused as error:
        said = shown(str(path))
        raise SourceError(shown(subject), f"names {said!r}, which {error.problem}") from error


def _check_version(registry: str, version: object) -> None:
    """Refuse a version that would lead an address, or a lock, somewhere else."""
    _check_path(f"{registry}: the version", version, depth=1)


def _refuse_twice(index: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuse an index in which one name, as some disk sees it, stands for two skills."""
    seen: set[str] = set()
    for row in rows:
        name = str(row.get("name"))
        if collision_key(name) in seen:
            problem = f"names {shown(name)} twice, so nobody knows which one is meant."
            raise SourceError(shown(index), problem)
        seen.add(collision_key(name))


def _check_digest(url: str, content: bytes, promised: str) -> None:
    found = PREFIX + digest_of(content)
    if found != promised.lower():
        problem = f"is not what the index promises: {promised} was promised and {found} came."
        raise SourceError(shown(url), problem)


def _check_files(
    subject: str, files: Mapping[str, CopiedFile], promised: Sequence[Mapping[str, Any]]
) -> None:
    """Refuse an archive that holds other files than its registry lists, where it lists any."""
    if not promised:
        return
    # Registries add a note of their own that no author wrote.
    came = {path: file for path, file in files.items() if path != "_meta.json"}
    listed = {str(row.get("path")): row for row in promised}
    if listed.keys() != came.keys():
        odd = min(listed.keys() ^ came.keys())
        raise SourceError(shown(subject), f"{shown(odd)} is listed or sent, but not both.")
    for path, row in listed.items():
        content = came[path].content
        sha, size = row.get("sha256"), row.get("size")
        if (sha and sha != digest_of(content)) or (size is not None and size != len(content)):
            problem = f"{shown(path)} is not the file that the registry lists (size or sha256)."
            raise SourceError(shown(subject), problem)


def _require_one(files: Mapping[str, CopiedFile], name: str, place: str) -> OfferedSkill:
    """Return the one skill among files, which must have the name that was promised."""
    plain = {path: file for path, file in files.items() if os.path.basename(path) != "_meta.json"}
    found = find_skills(plain, (), place)
    if len(found) != 1:
        raise SourceError(shown(place), "holds several skills where one was promised.")
    if name and found[0].name != name:
        problem = f"says that it is {shown(found[0].name)!r}, and was offered as {shown(name)!r}."
        raise SourceError(shown(place), problem)
    return found[0]
