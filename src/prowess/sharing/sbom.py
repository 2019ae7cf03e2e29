"""A lock as a bill of materials: what is installed, from where, with which digests.

Both formats follow from the lock alone, so that the same lock gives the same document; SPDX wants a
time, which the caller gives.
"""

import re
from typing import Any
from urllib.parse import quote

from prowess.sharing.lock import PREFIX, Lock, LockEntry, digest_of, dump

CYCLONEDX, SPDX = "cyclonedx", "spdx"
_GITHUB = re.compile(r"https://github\.com/([^/]+)/([^/]+?)(?:\.git)?\Z")
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9.-]+")

Document = dict[str, Any]


def make_cyclonedx(lock: Lock, version: str) -> Document:
    """Return a lock as CycloneDX 1.6."""
    tool = {"type": "application", "name": "prowess", "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"tools": {"components": [tool]}},
        "components": [_component(name, entry) for name, entry in lock.skills.items()],
    }


def _component(name: str, entry: LockEntry) -> Document:
    purl = _purl(name, entry)
    facts = {
        "prowess:source": entry.source,
        "prowess:resolved": entry.resolved,
        "prowess:verdict": str(entry.scan.get("verdict", "")),
        "prowess:signer": entry.signer,
    }
    found: Document = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": _version(entry),
        "purl": purl,
        "hashes": [_hash(entry.digest.removeprefix(PREFIX))],
        "properties": [{"name": key, "value": value} for key, value in facts.items() if value],
        "components": [
            {"type": "file", "name": path, "hashes": [_hash(sha)]}
            for path, sha in sorted(entry.files.items())
        ],
    }
    if "://" in entry.url:
        kind = "vcs" if entry.kind == "git" else "distribution"
        found["externalReferences"] = [{"type": kind, "url": entry.url}]
    return found


def _hash(content: str) -> Document:
    return {"alg": "SHA-256", "content": content}


def _version(entry: LockEntry) -> str:
    return entry.version or entry.resolved


def _purl(name: str, entry: LockEntry) -> str:
    hub = _GITHUB.match(entry.url)
    if hub:
        inner = f"#{quote(entry.path)}" if entry.path else ""
        return f"pkg:github/{hub[1].lower()}/{hub[2].lower()}@{entry.resolved}{inner}"
    if entry.kind == "oci":
        place = entry.url.removeprefix("oci://").lower()
        short, quoted = place.rpartition("/")[2], quote(entry.resolved, safe="")
        return f"pkg:oci/{quote(short)}@{quoted}?repository_url={quote(place, safe='/:')}"
    if entry.kind == "npm":
        package = entry.source.partition(":")[2]
        plain = package.rpartition("@")[0] or package
        return f"pkg:npm/{quote(plain, safe='/')}@{entry.version}#{quote(entry.path)}"
    return f"pkg:generic/{quote(name)}@{quote(_version(entry), safe=':')}"


def make_spdx(lock: Lock, version: str, created: str) -> Document:
    """Return a lock as SPDX 2.3, made at a time such as 2026-11-16T12:00:00Z."""
    packages = [_package(name, entry) for name, entry in lock.skills.items()]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "prowess.lock",
        "documentNamespace": f"urn:sha256:{digest_of(dump(lock))}",
        "creationInfo": {"created": created, "creators": [f"Tool: prowess-{version}"]},
        "packages": packages,
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relationshipType": "DESCRIBES",
                "relatedSpdxElement": package["SPDXID"],
            }
            for package in packages
        ],
    }


def _package(name: str, entry: LockEntry) -> Document:
    sha = entry.digest.removeprefix(PREFIX)
    where = "NOASSERTION"
    if "://" in entry.url:
        inner = f"#{quote(entry.path)}" if entry.path else ""
        where = f"git+{entry.url}@{entry.resolved}{inner}" if entry.kind == "git" else entry.url
    return {
        "SPDXID": f"SPDXRef-Skill-{_NOT_IN_ID.sub('-', name)}-{sha[:12]}",
        "name": name,
        "versionInfo": _version(entry),
        "downloadLocation": where,
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "checksums": [{"algorithm": "SHA256", "checksumValue": sha}],
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": _purl(name, entry),
            }
        ],
    }
