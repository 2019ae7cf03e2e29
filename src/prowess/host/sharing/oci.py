"""Skills as artifacts of OCI registries: read in the shapes that are in use, written in one.

Everything is named by its digest and held to it: the manifest, what it lists, and the size of each.
A layer is an archive, or a single file with a name. A registry that wants to know who asks gets
what `docker login` or `oras login` left behind for it, there or where it has its tokens given out.
"""

import gzip
import io
import json
import os
import re
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from prowess.errors import SourceError
from prowess.host.downloads import WebAnswer, WebRequest, exchange
from prowess.host.sharing.web import find_skills, name_host, read_rows, unpack
from prowess.host.tool_downloads import ListedHosts
from prowess.runtime.sharing.ports import Fetched, OfferedSkill, Package, Progress
from prowess.runtime.sharing.sync import CopiedFile
from prowess.safety.paths import PathRefused, segments, shown
from prowess.safety.web_addresses import is_this_machine
from prowess.sharing.lock import PREFIX, digest_of
from prowess.sharing.source import SourceSpec

# What we write, and what the community's draft of skills in registries names.
ARTIFACT = "application/vnd.agentskills.skill.v1"
CONFIG = "application/vnd.agentskills.skill.config.v1+json"
CONTENT = "application/vnd.agentskills.skill.content.v1.tar+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"
_DOCKER = "application/vnd.docker.distribution.manifest"
_ACCEPTED = f"{MANIFEST}, {_INDEX}, {_DOCKER}.v2+json, {_DOCKER}.list.v2+json"
# Whoever names their layers, the end says how the files are packed.
_PACKED = re.compile(r"(?:[./+](?:tar|tgz|zip)|tar[.+]gzip|vnd\.docker\.image\.rootfs\.\S+)\Z")
_TITLE = "org.opencontainers.image.title"
_CREATED, _VERSION = "org.opencontainers.image.created", "org.opencontainers.image.version"
_MIB = 1 << 20
_MOST_MANIFEST, _MOST_BLOB, _MOST_LAYERS = 4 * _MIB, 64 * _MIB, 200
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
LATEST = "latest"
_PLAIN, _EXECUTABLE = 0o644, 0o755


class OciSource:
    """Reads and writes skills in OCI registries."""

    def __init__(self, private_hosts: Sequence[str], environ: Mapping[str, str], home: str) -> None:
        """Ask nobody yet; `environ` and `home` say where logins are kept."""
        self._private = tuple(private_hosts)
        folder = environ.get("DOCKER_CONFIG") or os.path.join(home, ".docker")
        self._logins = os.path.join(folder, "config.json")

    def fetch(self, spec: SourceSpec, wanted: Sequence[str], progress: Progress) -> Fetched:
        """Return the wanted skills of an artifact.

        Raises:
            SourceError: it is not there, or not what it says.
            DownloadError: the registry is refused, or does not answer.
            ArchiveError: a layer breaks a rule.
        """
        registry = self._open(spec)
        progress("asking the registry", 0, 2)
        digest, manifest = registry.read_manifest(spec.ref or LATEST)
        inner = manifest
        if "manifests" in manifest:
            inner = registry.read_inner(manifest)
        progress("fetching its layers", 1, 2)
        files = registry.read_layers(inner)
        progress("fetching its layers", 2, 2)
        notes = {**_read_map(inner.get("annotations")), **_read_map(manifest.get("annotations"))}
        made = _DAY.match(str(notes.get(_CREATED) or ""))
        return Fetched(
            kind=spec.kind.value,
            url=spec.url,
            resolved=digest,
            ref=spec.ref,
            version=str(notes.get(_VERSION) or ""),
            skills=find_skills(files, wanted, spec.url),
            made=made[0] if made else "",
        )

    def push(self, spec: SourceSpec, skill: OfferedSkill, description: str, version: str) -> str:
        """Write one skill as an artifact, its tag last, and return its digest.

        Raises:
            SourceError: the registry refuses it.
            DownloadError: the registry does not answer.
        """
        registry, layer = self._open(spec), pack_layer(skill)
        config = _dump({"name": skill.name, "description": description, "version": version})
        notes = {_TITLE: skill.name} | ({_VERSION: version} if version else {})
        manifest = _dump(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "artifactType": ARTIFACT,
                "config": _describe(CONFIG, config),
                "layers": [_describe(CONTENT, layer)],
                "annotations": notes,
            }
        )
        for blob in (config, layer):
            registry.push_blob(blob)
        registry.push_manifest(spec.ref or LATEST, manifest)
        return PREFIX + digest_of(manifest)

    def _open(self, spec: SourceSpec) -> "_Registry":
        host, _, name = spec.url.removeprefix("oci://").partition("/")
        plain = host.rpartition(":")[0] if re.search(r":\d+\Z", host) else host
        scheme = "http" if is_this_machine(plain.strip("[]")) else "https"
        # Its widest-known name is not where Docker Hub answers.
        host = "registry-1.docker.io" if host == "docker.io" else host
        base = f"{scheme}://{host}"
        transport = ListedHosts((*self._private, *name_host(base)))
        return _Registry(base, name, transport, lambda: self._read_login(host))

    def _read_login(self, host: str) -> str:
        """Return the login that is kept for a registry, as a header has it; empty without one."""
        try:
            with open(self._logins, "rb") as file:
                found = json.loads(file.read(_MOST_MANIFEST))["auths"][host]["auth"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            # No login is kept there, or by a helper program, which is not asked.
            return ""
        return found if isinstance(found, str) else ""


class _Registry:
    """One repository of a registry."""

    def __init__(
        self, base: str, name: str, transport: ListedHosts, login: Callable[[], str]
    ) -> None:
        self._base, self._name, self._transport, self._login = base, name, transport, login
        self._allowed = ""

    def read_manifest(self, ref: str) -> tuple[str, dict[str, Any]]:
        """Return a manifest and its digest, which is the one that was asked for if one was."""
        answer = self._expect(
            WebRequest(headers={"Accept": _ACCEPTED}), f"manifests/{ref}", _MOST_MANIFEST
        )
        digest = PREFIX + digest_of(answer.content)
        said = answer.headers.get("docker-content-digest", digest)
        asked = ref if ref.startswith(PREFIX) else digest
        if digest not in {said, asked} or said != asked:
            promised = asked if asked != digest else said
            problem = f"{shown(promised)} was promised and {digest} came."
            raise SourceError(self._subject(ref), problem)
        try:
            found = json.loads(answer.content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise SourceError(self._subject(ref), "is no manifest that can be read.")
        return digest, found

    def read_inner(self, index: Mapping[str, Any]) -> dict[str, Any]:
        """Return the first manifest of an index: a skill is the same on every platform."""
        rows = [one for one in read_rows(index.get("manifests")) if _is_content(one)]
        if not rows:
            raise SourceError(self._subject(""), "has an index without manifests.")
        platforms = [_dump(_read_map(one.get("platform"))) for one in rows]
        if len(set(platforms)) < len(platforms):
            problem = (
                "has an index with several manifests for one platform: name one by its digest."
            )
            raise SourceError(self._subject(""), problem)
        digest, found = self.read_manifest(_digest(rows[0], self._subject("")))
        if "manifests" in found:
            raise SourceError(self._subject(digest), "is an index inside an index.")
        return found

    def read_layers(self, manifest: Mapping[str, Any]) -> dict[str, CopiedFile]:
        """Return all files of an artifact."""
        rows, left = read_rows(manifest.get("layers")), _MOST_BLOB
        if not 0 < len(rows) <= _MOST_LAYERS:
            raise SourceError(self._subject(""), "has no layers that could hold a skill.")
        files: dict[str, CopiedFile] = {}
        for row in rows:
            content = self._read_blob(row, left)
            left -= len(content)
            files.update(self._unpack(row, content))
        return files

    def _read_blob(self, row: Mapping[str, Any], most: int) -> bytes:
        digest, size = _digest(row, self._subject("")), row.get("size")
        if not isinstance(size, int) or not 0 <= size <= most:
            problem = f"has a layer of {shown(str(size))} bytes, and {most:,} are allowed."
            raise SourceError(self._subject(""), problem)
        content = self._expect(WebRequest(), f"blobs/{digest}", most).content
        if len(content) != size or PREFIX + digest_of(content) != digest:
            problem = f"is not the layer that the manifest promises: {len(content):,} bytes came."
            raise SourceError(self._subject(digest), problem)
        return content

    def _unpack(self, row: Mapping[str, Any], content: bytes) -> dict[str, CopiedFile]:
        kind = str(row.get("mediaType") or "")
        title = _read_map(row.get("annotations")).get(_TITLE)
        if is_packed(kind):
            files = unpack(content, self._subject(""))
            removed = [path for path in files if os.path.basename(path).startswith(".wh.")]
            if removed:
                problem = f"has the layer {kind}, which takes files of another layer away."
                raise SourceError(self._subject(""), problem)
            return files
        if not isinstance(title, str):
            problem = f"has a layer of the type {shown(kind)!r}, which is not known here."
            raise SourceError(self._subject(""), problem)
        try:
            return {"/".join(segments(title)): CopiedFile(content)}
        except PathRefused as error:
            raise SourceError(
                self._subject(""), f"names {shown(title)!r}, which {error}"
            ) from error

    def push_blob(self, content: bytes) -> None:
        """Upload a blob that the registry does not have yet."""
        digest = PREFIX + digest_of(content)
        head = self._ask(WebRequest(method="HEAD"), self._url(f"blobs/{digest}"), 0)
        if head.status == HTTPStatus.OK:
            return
        request = WebRequest(method="POST")
        begun = self._expect(request, "blobs/uploads/", _MOST_MANIFEST, 202)
        place = urljoin(self._url("blobs/uploads/"), begun.headers.get("location", ""))
        if _authority(place) != _authority(self._base):
            problem = f"wants an upload to go to {shown(_authority(place))}, which nobody named."
            raise SourceError(self._subject(""), problem)
        mark = "&" if urlsplit(place).query else "?"
        headers = {"Content-Type": "application/octet-stream"}
        request = WebRequest(method="PUT", headers=headers, body=content)
        answer = self._ask(request, f"{place}{mark}{urlencode({'digest': digest})}", _MOST_MANIFEST)
        self._check(answer, digest, HTTPStatus.CREATED)

    def push_manifest(self, tag: str, content: bytes) -> None:
        """Write the manifest under its tag."""
        headers = {"Content-Type": MANIFEST}
        request = WebRequest(method="PUT", headers=headers, body=content)
        answer = self._expect(request, f"manifests/{tag}", _MOST_MANIFEST, 201)
        digest = PREFIX + digest_of(content)
        if answer.headers.get("docker-content-digest", digest) != digest:
            raise SourceError(self._subject(tag), "was kept as something else than what was sent.")

    def _expect(
        self, request: WebRequest, path: str, most: int, status: int = HTTPStatus.OK
    ) -> WebAnswer:
        answer = self._ask(request, self._url(path), most)
        self._check(answer, path.partition("/")[2], status)
        return answer

    def _check(self, answer: WebAnswer, what: str, status: int) -> None:
        if answer.status == status:
            return
        advice = {
            HTTPStatus.UNAUTHORIZED: "log in with `docker login` or `oras login`",
            HTTPStatus.FORBIDDEN: "your login may not do that",
            HTTPStatus.NOT_FOUND: "nothing is there, check name and tag",
        }.get(HTTPStatus(answer.status) if answer.status in set(HTTPStatus) else HTTPStatus.OK)
        problem = f"answers with HTTP {answer.status}: {advice or 'try again later'}."
        raise SourceError(self._subject(what), problem)

    def _ask(self, request: WebRequest, url: str, most: int) -> WebAnswer:
        """Ask, and once more with a token where the registry wants one."""
        answer = self._send(request, url, most)
        if answer.status == HTTPStatus.UNAUTHORIZED and not self._allowed:
            self._allowed = self._authorize(answer.headers.get("www-authenticate", ""))
            answer = self._send(request, url, most) if self._allowed else answer
        return answer

    def _send(self, request: WebRequest, url: str, most: int) -> WebAnswer:
        allowed = {"Authorization": self._allowed} if self._allowed else {}
        sent = replace(request, headers={**request.headers, **allowed})
        return exchange(url, sent, most, self._transport)

    def _authorize(self, challenge: str) -> str:
        """Return what a registry wants to be shown; empty where there is nothing to show."""
        login = self._login()
        kind, _, rest = challenge.partition(" ")
        if kind.lower() == "basic":
            return f"Basic {login}" if login else ""
        asked = dict(_CHALLENGE.findall(rest))
        if kind.lower() != "bearer" or "realm" not in asked:
            return ""
        query = {key: asked[key] for key in ("service", "scope") if key in asked}
        mark = "&" if "?" in asked["realm"] else "?"
        headers = {"Authorization": f"Basic {login}"} if login else {}
        url = f"{asked['realm']}{mark}{urlencode(query)}"
        answer = exchange(url, WebRequest(headers=headers), _MOST_MANIFEST, self._transport)
        try:
            found = json.loads(answer.content)
            token = found.get("token") or found.get("access_token")
        except (ValueError, AttributeError, RecursionError):
            token = None
        return f"Bearer {token}" if isinstance(token, str) and token.isprintable() else ""

    def _url(self, path: str) -> str:
        return f"{self._base}/v2/{self._name}/{path}"

    def _subject(self, what: str) -> str:
        return shown(f"{_authority(self._base)}/{self._name}{f' {what}' if what else ''}")


def pack_layer(skill: OfferedSkill) -> bytes:
    """Return a skill as one layer, below a folder of its name: equal files, equal bytes."""
    files = {f"{skill.name}/{path}": file for path, file in skill.files.items()}
    return gzip.compress(write_tar(files, tarfile.PAX_FORMAT), mtime=0)


def write_tar(files: Package, kind: int) -> bytes:
    """Return files as an archive of a format: the same bytes whenever and wherever."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=kind) as archive:
        for path, file in sorted(files.items(), key=lambda one: one[0]):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(file.content), _EXECUTABLE if file.executable else _PLAIN
            archive.addfile(entry, io.BytesIO(file.content))
    return raw.getvalue()


def is_packed(kind: str) -> bool:
    """Return whether a layer of that type is an archive."""
    return _PACKED.search(kind) is not None


def _describe(kind: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": kind, "digest": PREFIX + digest_of(content), "size": len(content)}


def _dump(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()


def _digest(row: Mapping[str, Any], subject: str) -> str:
    found = row.get("digest")
    if not isinstance(found, str) or not re.fullmatch(r"sha256:[0-9a-f]{64}", found):
        raise SourceError(subject, f"names {shown(str(found))!r}, which is no sha256 digest.")
    return found


def _is_content(row: Mapping[str, Any]) -> bool:
    # Builders put statements about an image beside it, for a platform that there is not.
    return _read_map(row.get("platform")).get("os") != "unknown"


def _read_map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _authority(url: str) -> str:
    return urlsplit(url).netloc
