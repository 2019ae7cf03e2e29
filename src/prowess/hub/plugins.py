"""A Claude marketplace of the catalogue: each skill is a plugin, fetched as an npm package.

A marketplace file can name folders of its repository, git repositories and npm packages. A hub is
no repository, so it serves packages: `@namespace/name` in the registry `/npm` of the hub, with the
integrity that npm checks. A package is made from the files of its version and holds nothing else
but the two files that say what it is.
"""

import base64
import gzip
import hashlib
import io
import json
import tarfile
from urllib.parse import quote

from starlette.responses import Response
from starlette.routing import Route

from prowess.errors import HubNotFoundError
from prowess.hub.model import HubSkill, HubVersion, VersionState
from prowess.hub.service import Hit, HubService
from prowess.hub.web import HubRequest, Json, Reply, answer
from prowess.runtime.sharing.ports import Package
from prowess.safety.paths import shown

MARKETPLACE = "/.claude-plugin/marketplace.json"
_MOST_PLUGINS = 1_000
_EXECUTABLE, _PLAIN = 0o755, 0o644


def plugin_routes(service: HubService) -> list[Route]:
    """Return the marketplace files, and the registry that their packages come from."""
    replies: dict[str, Reply] = {
        MARKETPLACE: _marketplace,
        "/n/{namespace}" + MARKETPLACE: _marketplace,
        # npm asks for `@scope%2fname`, which arrives with its slash.
        "/npm/@{namespace}/{name}": _packument,
        "/npm/@{namespace}/{name}/{version}": _package,
        "/npm/@{namespace}/{name}/-/{file}": _tarball,
    }
    return [Route(path, answer(service, reply)) for path, reply in replies.items()]


def _marketplace(ask: HubRequest) -> Json:
    namespace = ask.path("namespace")
    hits = ask.service.list_skills(ask.caller, most=_MOST_PLUGINS, namespace=namespace)
    return {
        "name": namespace or "prowess-hub",
        "owner": {"name": namespace or "Prowess hub"},
        "plugins": [
            _plugin(ask, hit)
            for hit in sorted(hits, key=lambda one: one.slug)
            if namespace or hit.is_eldest
        ],
    }


def _plugin(ask: HubRequest, hit: Hit) -> Json:
    return {
        "name": hit.skill.name,
        "description": hit.skill.summary,
        "version": hit.version,
        "source": {
            "source": "npm",
            "package": f"@{hit.skill.address}",
            "version": hit.version,
            "registry": f"{ask.base}/npm",
        },
    }


def _find(ask: HubRequest) -> HubSkill:
    return ask.service.find(ask.caller, f"{ask.path('namespace')}/{ask.path('name')}")


def _packument(ask: HubRequest) -> Json:
    skill = _find(ask)
    found = ask.service.list_versions(ask.caller, skill)
    out = [one for one in found if one.state is VersionState.PUBLISHED]
    return {
        "name": f"@{skill.address}",
        "description": skill.summary,
        "dist-tags": ask.service.read_labels(skill),
        "versions": {one.version: _show(ask, skill, one) for one in out},
    }


def _package(ask: HubRequest) -> Json:
    skill = _find(ask)
    return _show(ask, skill, ask.service.find_version(ask.caller, skill, ask.path("version")))


def _show(ask: HubRequest, skill: HubSkill, version: HubVersion) -> Json:
    content = pack(skill, version, ask.service.read_files(version))
    integrity = base64.b64encode(hashlib.sha512(content).digest()).decode()
    address = f"{ask.base}/npm/@{skill.address}/-/{skill.name}-{quote(version.version)}.tgz"
    said = {"deprecated": skill.deprecated} if skill.deprecated else {}
    return {
        **_describe(skill, version),
        **said,
        "dist": {"tarball": address, "integrity": f"sha512-{integrity}"},
    }


def _tarball(ask: HubRequest) -> Response:
    skill, file = _find(ask), ask.path("file")
    ref = file.removeprefix(f"{skill.name}-").removesuffix(".tgz")
    version = ask.service.find_version(ask.caller, skill, ref)
    if version.version != ref:
        raise HubNotFoundError(shown(file), "is no package of this hub.")
    content = pack(skill, version, ask.service.read_files(version))
    return Response(content, media_type="application/octet-stream")


def _describe(skill: HubSkill, version: HubVersion) -> Json:
    return {
        "name": f"@{skill.address}",
        "version": version.version,
        "description": skill.summary,
        "license": str(version.manifest.get("license") or "UNLICENSED"),
    }


def pack(skill: HubSkill, version: HubVersion, files: Package) -> bytes:
    """Return a version as an npm package with one plugin in it: the same bytes on every machine."""
    plugin = {"name": skill.name, "version": version.version, "description": skill.summary}
    inside = {
        "package.json": (json.dumps(_describe(skill, version)).encode(), False),
        ".claude-plugin/plugin.json": (json.dumps(plugin).encode(), False),
        **{
            f"skills/{skill.name}/{path}": (file.content, file.executable)
            for path, file in files.items()
        },
    }
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, (content, executable) in sorted(inside.items()):
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size, entry.mode = len(content), _EXECUTABLE if executable else _PLAIN
            archive.addfile(entry, io.BytesIO(content))
    # Without packing: packers differ, and the digest must not.
    return gzip.compress(plain.getvalue(), compresslevel=0, mtime=0)
