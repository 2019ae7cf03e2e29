"""Publishing: skills become a site with a well-known index, artifacts, or uploads to a registry.

Everything is checked here first: a critical finding, a secret or a missing description never leaves
this machine. The archives of a site are written before the index that names them, so whoever reads
meanwhile finds the old index or the new one, each with all that it names. An archive has its digest
in its name. A registry gets the request of ClawHub v1, which a hub takes as well.
"""

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from prowess.errors import PathError, SourceError
from prowess.host.downloads import WebRequest, exchange
from prowess.host.files.containment import Root
from prowess.host.sharing.oci import LATEST, OciSource
from prowess.host.sharing.sources import read_tree
from prowess.host.sharing.web import find_skills, open_registry, read_object
from prowess.host.writers.export import pack_build
from prowess.runtime.harness.export import Build
from prowess.runtime.scan import ScanService
from prowess.runtime.sharing.ports import OfferedSkill
from prowess.runtime.sharing.service import refuse_report, scan_package
from prowess.safety.model import ScanReport
from prowess.safety.paths import shown
from prowess.sharing.lock import PREFIX, digest_of
from prowess.sharing.source import SourceSpec
from prowess.skills import frontmatter
from prowess.skills.model import Fields

INDEX_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_FOLDER, _INDEX, _MOST = ".well-known/agent-skills", "index.json", 8 << 20
_LITERAL_RULE = "literal-secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSkill:
    """What became of one skill: where it is, or why it was refused."""

    name: str
    path: str = ""
    digest: str = ""
    # Of a registry: whether it can be had, or waits for a review.
    state: str = ""
    refusal: str = ""


def publish_site(folder: str, site: str, scanning: ScanService) -> tuple[PublishedSkill, ...]:
    """Write the skills below a folder into a site; none is written where one is refused.

    Raises:
        SourceError: there is no skill, or it cannot be read.
        PathError: the site cannot be written.
    """
    checked, refused = check_folder(folder, scanning)
    if refused:
        return refused
    ready = {one.skill.name: _prepare(one) for one in checked}
    with Root.open(os.path.join(site, _FOLDER), create=True) as root:
        index = _read_index(root)
        for row, content in ready.values():
            if not root.exists(row["url"]):
                root.write(row["url"], content)
        named = {**index, **{name: row for name, (row, _) in ready.items()}}
        values = {"$schema": INDEX_SCHEMA, "skills": [named[name] for name in sorted(named)]}
        root.write(_INDEX, json.dumps(values, indent=2, ensure_ascii=False).encode() + b"\n")
        return tuple(
            PublishedSkill(
                name=name, path=os.path.join(str(root.path), row["url"]), digest=row["digest"]
            )
            for name, (row, _) in ready.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishableSkill:
    """A skill that may be given to others: scanned, without secrets, and described."""

    skill: OfferedSkill
    report: ScanReport
    fields: Fields
    description: str


def check_publishable(
    skill: OfferedSkill, place: str, scanning: ScanService
) -> PublishableSkill | str:
    """Return a skill with what is known of it, or why it cannot be given to others."""
    report = scan_package(scanning, skill.name, skill.files, place)
    secrets = [one for one in report.findings if one.rule_id == _LITERAL_RULE]
    if refuse_report(report):
        return refuse_report(report)
    if secrets:
        return f"{shown(secrets[0].file)}:{secrets[0].line} holds a secret: remove it first."
    page = next(path for path in skill.files if path.lower() == "skill.md")
    fields = frontmatter.read(frontmatter.decode(skill.files[page].content).text).fields
    description = fields.get("description")
    if not isinstance(description, str) or not description.strip():
        return "its SKILL.md has no description, so nobody would know when to use it."
    return PublishableSkill(
        skill=skill, report=report, fields=fields, description=description.strip()
    )


def check_folder(
    folder: str, scanning: ScanService
) -> tuple[list[PublishableSkill], tuple[PublishedSkill, ...]]:
    """Return the skills below a folder, or why none of them can be given to others.

    Raises:
        SourceError: there is no skill, or it cannot be read.
    """
    skills = find_skills(read_tree(folder), (), folder)
    found = {one.name: check_publishable(one, folder, scanning) for one in skills}
    ready = [one for one in found.values() if not isinstance(one, str)]
    if len(ready) == len(found):
        return ready, ()
    reasons = {name: one for name, one in found.items() if isinstance(one, str)}
    return [], tuple(
        PublishedSkill(name=name, refusal=reasons.get(name, "another is refused")) for name in found
    )


def publish_artifacts(
    folder: str, spec: SourceSpec, registry: OciSource, scanning: ScanService
) -> tuple[PublishedSkill, ...]:
    """Write the skills below a folder to a registry; none is written where one is refused.

    Raises:
        SourceError: there is no skill, it cannot be read, or the registry refuses it.
        DownloadError: the registry does not answer.
    """
    ready, refused = check_folder(folder, scanning)
    return refused or tuple(
        _push(
            spec if len(ready) == 1 else replace(spec, url=f"{spec.url}/{one.skill.name}"),
            one,
            registry,
        )
        for one in ready
    )


def _push(spec: SourceSpec, ready: PublishableSkill, registry: OciSource) -> PublishedSkill:
    metadata = ready.fields.get("metadata")
    version = str(metadata.get("version") or "") if isinstance(metadata, dict) else ""
    digest = registry.push(spec, ready.skill, ready.description, version)
    address = f"{spec.url}:{spec.ref or LATEST}"
    return PublishedSkill(name=ready.skill.name, path=address, digest=digest)


def _prepare(ready: PublishableSkill) -> tuple[dict[str, Any], bytes]:
    content = pack_build(Build(name="", files=ready.skill.files))
    sha = digest_of(content)
    row = {
        "name": ready.skill.name,
        "type": "archive",
        "description": ready.description,
        "url": f"{ready.skill.name}-{sha[:12]}.zip",
        "digest": PREFIX + sha,
    }
    return row, content


def _read_index(root: Root) -> Mapping[str, dict[str, Any]]:
    if not root.exists(_INDEX):
        return {}
    try:
        rows = json.loads(root.read(_INDEX, _MOST))["skills"]
        return {str(row["name"]): row for row in rows}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        place = shown(os.path.join(str(root.path), _INDEX))
        raise SourceError(place, "is damaged: put the right file back, or remove it.") from error
    except PathError as error:
        raise SourceError(shown(error.path), error.problem) from error


_UPLOAD_PATH = "/api/v1/skills"
_MOST_ANSWER, _OK = 64 * 1024, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadRequest:
    """Where skills are published, and as what."""

    registry: str
    token: str = field(repr=False)
    namespace: str = ""
    # By default what each skill says of itself in `metadata.version`.
    version: str = ""
    changelog: str = ""
    labels: tuple[str, ...] = ()


def upload_skills(
    folder: str, request: UploadRequest, scanning: ScanService
) -> tuple[PublishedSkill, ...]:
    """Publish the skills below a folder to a registry; none where one is refused here.

    Raises:
        SourceError: there is no skill, nobody says who publishes it, or the address is not https:
            only that gets a token, but on this machine.
        DownloadError: the registry cannot be reached.
    """
    open_registry(request.registry)
    if not request.token:
        problem = "asks who you are: set PROWESS_REGISTRY_TOKEN to your token."
        raise SourceError(shown(request.registry), problem)
    ready, refused = check_folder(folder, scanning)
    # Every version is known before the first skill is sent.
    forms = [(one.skill, _make_payload(one.skill, one.fields, request)) for one in ready]
    return refused or tuple(_upload(request, skill, payload) for skill, payload in forms)


def _make_payload(skill: OfferedSkill, fields: Fields, request: UploadRequest) -> dict[str, Any]:
    metadata = fields.get("metadata")
    said = metadata.get("version") if isinstance(metadata, Mapping) else None
    version = request.version or (str(said) if said is not None else "")
    if not version:
        problem = "has no version: give --version, or write `version` under `metadata`."
        raise SourceError(shown(skill.name), problem)
    return {
        "slug": skill.name,
        "displayName": skill.name,
        "version": version,
        "changelog": request.changelog,
        "tags": list(request.labels),
        "acceptLicenseTerms": True,
        "executable": sorted(path for path, file in skill.files.items() if file.executable),
        **({"ownerHandle": request.namespace} if request.namespace else {}),
    }


def _upload(
    request: UploadRequest, skill: OfferedSkill, payload: Mapping[str, Any]
) -> PublishedSkill:
    body, kind = write_form(payload, {path: one.content for path, one in skill.files.items()})
    headers = {"Authorization": f"Bearer {request.token}", "Content-Type": kind}
    sent = WebRequest(method="POST", headers=headers, body=body)
    url = request.registry.rstrip("/") + _UPLOAD_PATH
    answer = exchange(url, sent, _MOST_ANSWER, open_registry(request.registry))
    said = answer.content.decode("utf-8", "replace").strip()
    if answer.status != _OK:
        # Whatever the registry says is a stranger's text of one line.
        reason = shown(said[:400]) or f"HTTP {answer.status}"
        return PublishedSkill(name=skill.name, refusal=f"the registry refuses it: {reason}")
    found = read_object(said) or {}
    address = f"{found.get('versionId') or skill.name}"
    return PublishedSkill(
        name=skill.name,
        path=shown(address),
        digest=shown(str(found.get("contentDigest") or "")),
        state=shown(str(found.get("state") or "")),
    )


def write_form(payload: Mapping[str, Any], files: Mapping[str, bytes]) -> tuple[bytes, str]:
    """Return the body of an upload and its type: `payload` as JSON, and each file with its path."""
    edge = secrets.token_hex(16)
    parts = [
        f'--{edge}\r\nContent-Disposition: form-data; name="payload"\r\n\r\n'.encode()
        + json.dumps(payload).encode()
        + b"\r\n"
    ]
    for path, content in sorted(files.items()):
        # As browsers write it: nothing in a path ends the header.
        name = path.replace("%", "%25").replace('"', "%22").replace("\r", "").replace("\n", "")
        head = (
            f'--{edge}\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        parts.append(head.encode() + content + b"\r\n")
    return b"".join([*parts, f"--{edge}--\r\n".encode()]), f"multipart/form-data; boundary={edge}"
