"""Publishing to a registry: the request of ClawHub v1, which a hub takes as well.

Everything is checked here first, as for a site: a critical finding, a secret or a missing
description never leaves this machine.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prowess.errors import SourceError
from prowess.host.downloads import WebRequest, exchange
from prowess.host.sharing.site import PublishedSkill, check_folder
from prowess.host.sharing.web import open_registry, read_object
from prowess.runtime.scan import ScanService
from prowess.runtime.sharing.ports import OfferedSkill
from prowess.safety.paths import shown
from prowess.skills.model import Fields

_PATH = "/api/v1/skills"
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
    url = request.registry.rstrip("/") + _PATH
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
