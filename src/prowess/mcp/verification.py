"""Skills of other servers, checked: what they say of themselves, and every byte that they send.

A digest says that nothing was changed on the way, not that it is harmless: that is for the scanner
and for a person. Identity is the server's label, which we gave it, and the address; a name is only
a label and may be anybody's. Whatever does not fit is an error: there is no half of a skill.
"""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol
from urllib.parse import unquote

from prowess.mcp.manifest import MOST_BYTES, MOST_FILES, FileFacts, digest
from prowess.mcp.refusals import RemoteSkillError
from prowess.mcp.uris import SKILL_FILE
from prowess.safety.paths import PathRefused, check_all
from prowess.skills import frontmatter
from prowess.skills.text import one_line

_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSkill:
    """A skill of another server, as its manifest describes it; nothing of it was read yet.

    What its frontmatter asks for, such as `allowed-tools`, it asks for: nothing is granted by that.
    """

    # The label that we gave the server.
    server: str
    uri: str
    name: str
    description: str
    frontmatter: Mapping[str, Any] = field(repr=False)
    # By their paths inside the skill.
    files: Mapping[str, FileFacts] = field(repr=False)

    @property
    def content_hash(self) -> str:
        """What an approval is bound to: the address, the frontmatter and every file."""
        files = [[one.uri, one.digest, one.size] for _, one in sorted(self.files.items())]
        text = json.dumps(
            [self.uri, self.frontmatter, files], sort_keys=True, separators=(",", ":")
        )
        return sha256(text.encode()).hexdigest()

    @property
    def nested(self) -> tuple[str, ...]:
        """Paths of skills inside this one: each needs an approval of its own."""
        inner = f"/{SKILL_FILE}".lower()
        return tuple(path for path in self.files if path.lower().endswith(inner))


class ListedFile(Protocol):
    """One row of a manifest."""

    @property
    def uri(self) -> str:
        """Its address."""

    @property
    def digest(self) -> str:
        """Its digest."""

    @property
    def size(self) -> int:
        """Its size."""


def described(
    server: str, uri: str, fields: Mapping[str, Any], listed: Sequence[ListedFile] | str
) -> RemoteSkill:
    """Return the skill that an entry describes.

    Raises:
        RemoteSkillError: the entry is wrong, or describes what cannot be checked.
    """
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(name, str) or not isinstance(description, str) or not description.strip():
        raise RemoteSkillError(uri, "its frontmatter has no name or no description.")
    root, _, page = uri.rpartition("/")
    if page != SKILL_FILE or unquote(root.rpartition("/")[2]) != name:
        raise RemoteSkillError(uri, f"it does not end in the skill's name and {SKILL_FILE}.")
    if isinstance(listed, str):
        raise RemoteSkillError(uri, "its files are not fixed, so none of them can be checked.")
    return RemoteSkill(
        server=server,
        uri=uri,
        name=name,
        description=description,
        frontmatter=dict(fields),
        files=_manifest(uri, f"{root}/", listed),
    )


def _manifest(uri: str, root: str, listed: Sequence[ListedFile]) -> dict[str, FileFacts]:
    if len(listed) > MOST_FILES or sum(one.size for one in listed) > MOST_BYTES:
        limits = f"{MOST_FILES} files and {MOST_BYTES} bytes"
        raise RemoteSkillError(uri, f"it is larger than {limits}, which is what is taken.")
    outside = [one.uri for one in listed if not one.uri.startswith(root)]
    if outside:
        raise RemoteSkillError(uri, "it lists files that are not its own.")
    paths = [unquote(one.uri[len(root) :], errors="replace") for one in listed]
    try:
        check_all(paths)
    except PathRefused as error:
        raise RemoteSkillError(uri, f"it lists a path that is not taken: {error}") from error
    if SKILL_FILE not in paths:
        raise RemoteSkillError(uri, f"its list of files lacks {SKILL_FILE}.")
    return {
        path: FileFacts(uri=one.uri, digest=one.digest, size=one.size)
        for path, one in zip(paths, listed, strict=True)
    }


def from_text(uri: str, text: str) -> bytes:
    """Return the bytes of a file that was sent as a text.

    Raises:
        RemoteSkillError: no file can hold it.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise RemoteSkillError(uri, "what was sent is no text.") from error


def from_base64(uri: str, blob: str) -> bytes:
    """Return the bytes of a file that was sent as base64.

    Raises:
        RemoteSkillError: it is none.
    """
    try:
        return base64.b64decode(blob, validate=True)
    except (ValueError, binascii.Error) as error:
        raise RemoteSkillError(uri, "what was sent is no base64.") from error


def verified(skill: RemoteSkill, path: str, content: bytes) -> bytes:
    """Return the content of a file that is what the manifest says.

    Raises:
        RemoteSkillError: it is not.
    """
    known = skill.files[path]
    if len(content) != known.size:
        problem = f"{len(content)} bytes came, and {known.size} were announced."
        raise RemoteSkillError(known.uri, f"{problem} Ask for the skill again.")
    if digest(content) != known.digest:
        raise RemoteSkillError(
            known.uri, "its digest is another than was announced. Ask for the skill again."
        )
    if path == SKILL_FILE:
        _check_frontmatter(skill, content)
    return content


def _check_frontmatter(skill: RemoteSkill, content: bytes) -> None:
    read = frontmatter.decode(content)
    found = frontmatter.read(read.text)
    if read.diagnostic is not None or not found.present or not found.readable:
        raise RemoteSkillError(skill.uri, "its frontmatter cannot be read.")
    names = sorted({*found.fields, *skill.frontmatter})
    missing = object()
    wrong = [
        name
        for name in names
        if not _same(found.fields.get(name, missing), skill.frontmatter.get(name, missing))
    ]
    if wrong:
        shown = ", ".join(one_line(name) for name in wrong[:_MOST_SHOWN])
        raise RemoteSkillError(
            skill.uri, f"the file says something else than the list about {shown}."
        )


def _same(one: object, two: object) -> bool:
    """Compare as JSON does: a flag is no number, and 1.0 is 1."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return one.keys() == two.keys() and all(_same(one[key], two[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return len(one) == len(two) and all(map(_same, one, two))
    return isinstance(one, bool) == isinstance(two, bool) and one == two
