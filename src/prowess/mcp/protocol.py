"""The words of the skills extension: methods, parameters, results and addresses, as on the wire.

Both sides use these models: the server to answer, the client to read what a stranger answers. A
cursor names its list and the last item that was given, so that it goes on correctly however the
list changes, in any process of ours. An address (`skill://<name>/<file>`) is never joined to a
folder, and one file has one address.

What is served of a skill: its frontmatter, and every file with its size and digest.

A manifest is complete or there is none. Where a file was left out by who read the folder (a link, a
device, something too large), or where there is more than every client must take, the skill is
`dynamic`: a client then knows that it cannot check it. What begins with a dot is the machinery of
editors, of version control and of secrets, and no part of a skill.
"""

import base64
import binascii
import mimetypes
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple
from urllib.parse import quote, unquote

from mcp_types import (
    BlobResourceContents,
    CacheableResult,
    PaginatedRequestParams,
    PaginatedResult,
    Request,
    RequestParams,
    Resource,
)
from pydantic import BaseModel, ConfigDict, Field

from prowess.errors import ProwessError
from prowess.runtime.skill_texts import is_part_of_skill
from prowess.safety.intake.ledger import ScanLimits
from prowess.safety.model import LedgerEntry
from prowess.safety.paths import shown
from prowess.skills.catalog import addressed_name, is_text
from prowess.skills.model import Fields, Skill

if TYPE_CHECKING:
    from prowess.runtime.scan import Target


# No error of Prowess: it is caught near by and becomes an answer of the protocol.
class NotThere(LookupError):  # noqa: N818
    """What was asked for does not exist for this agent; the message says what to do."""


class RemoteSkillError(ProwessError):
    """A skill of another server is not what it says, or was not approved."""

    code = "skill.remote"

    def __init__(self, uri: str, problem: str) -> None:
        super().__init__(f"{shown(uri)}: {problem}")
        self.uri, self.problem = uri, problem


_SIGNATURE = 16
_LONGEST = 16_384


def make_cursor(scope: str, last: str) -> str:
    """Return the cursor of a list for what comes after an item."""
    item = last.encode()
    return base64.urlsafe_b64encode(_sign(scope, item) + item).decode("ascii")


def read_cursor(scope: str, cursor: str | None) -> str:
    """Return the last item that was given; nothing where the list is at its beginning.

    Raises:
        NotThere: the cursor is none of this list.
    """
    if cursor is None:
        return ""
    if len(cursor) > _LONGEST:
        raise unknown_cursor()
    try:
        content = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
        last = content[_SIGNATURE:].decode()
    except (UnicodeError, binascii.Error) as error:
        raise unknown_cursor() from error
    if make_cursor(scope, last) != cursor:
        raise unknown_cursor()
    return last


def _sign(scope: str, item: bytes) -> bytes:
    # Without a key: who makes one up gets no more than the list itself, and a first page that was
    # kept has to lead on in another process.
    return sha256(sha256(scope.encode()).digest() + item).digest()[:_SIGNATURE]


def unknown_cursor() -> NotThere:
    """Return what is said of a cursor that we never gave out."""
    return NotThere("the cursor is unknown: begin again without one.")


MARKDOWN, TEXT, BYTES = "text/markdown", "text/plain", "application/octet-stream"
_TYPES = {".md": MARKDOWN, ".yaml": "application/yaml", ".yml": "application/yaml"}


def media_type(uri: str, otherwise: str) -> str:
    """Return the type of what is at an address, or another where its name says none."""
    ending = f".{uri.rpartition('.')[2].lower()}"
    return _TYPES.get(ending) or mimetypes.guess_type(uri.rpartition("/")[2])[0] or otherwise


def blob(uri: str, content: bytes) -> BlobResourceContents:
    """Return bytes that are no text as the protocol carries them."""
    encoded = base64.b64encode(content).decode("ascii")
    return BlobResourceContents(uri=uri, mime_type=media_type(uri, BYTES), blob=encoded)


EXTENSION = "io.modelcontextprotocol/skills"
LIST: Literal["skills/list"] = "skills/list"
GET: Literal["skills/get"] = "skills/get"
READ_DIRECTORY: Literal["resources/directory/read"] = "resources/directory/read"
SETTINGS: dict[str, Any] = {"directoryRead": True}
DYNAMIC: Literal["dynamic"] = "dynamic"
FOLDER_TYPE = "inode/directory"
Uri = Annotated[str, Field(max_length=4_096)]


class _Strict(BaseModel):
    """What has other types than it should is refused; what is unknown is passed over."""

    model_config = ConfigDict(strict=True, frozen=True)


class SkillResource(_Strict):
    """One file of a skill."""

    uri: Uri
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0)]


class SkillEntry(_Strict):
    """One skill: its SKILL.md, what stands in its frontmatter, and all of its files."""

    uri: Uri
    frontmatter: dict[str, Any]
    resources: list[SkillResource] | Literal["dynamic"]


class SkillsListResult(PaginatedResult, CacheableResult):
    """The answer to `skills/list`."""

    skills: list[SkillEntry]
    result_type: str = "complete"


class SkillsGetResult(CacheableResult):
    """The answer to `skills/get`."""

    skill: SkillEntry
    result_type: str = "complete"


class DirectoryReadResult(PaginatedResult):
    """The answer to `resources/directory/read`."""

    resources: list[Resource]
    result_type: str = "complete"


class GetParams(RequestParams):
    """Which skill is asked for."""

    uri: Uri


class DirectoryParams(PaginatedRequestParams):
    """Which folder is asked for."""

    uri: Uri


class SkillsListRequest(Request[PaginatedRequestParams, Literal["skills/list"]]):
    """Asks for skills, a page at a time."""

    method: Literal["skills/list"] = LIST
    params: PaginatedRequestParams = PaginatedRequestParams()


class SkillsGetRequest(Request[GetParams, Literal["skills/get"]]):
    """Asks for one skill."""

    method: Literal["skills/get"] = GET
    params: GetParams


class DirectoryReadRequest(Request[DirectoryParams, Literal["resources/directory/read"]]):
    """Asks for what a folder holds."""

    method: Literal["resources/directory/read"] = READ_DIRECTORY
    params: DirectoryParams


SCHEME = "skill://"
SKILL_FILE = "SKILL.md"
_URIS_LONGEST = 4_096


class SkillUri(NamedTuple):
    """The name of a skill, and a path inside it; an empty path is the skill's own folder."""

    name: str
    path: str


def file_uri(name: str, path: str = SKILL_FILE) -> str:
    """Return the address of a file, or of a folder where the path is empty or ends in a slash.

    Raises:
        UnicodeEncodeError: the name or the path is no text (a file name may be any bytes).
    """
    return f"{SCHEME}{quote(name, safe='')}/{quote(path)}"


def parse(uri: str) -> SkillUri | None:
    """Return what an address names, None where it is none of a skill."""
    if not uri.startswith(SCHEME) or len(uri) > _URIS_LONGEST:
        return None
    name, _, path = uri[len(SCHEME) :].partition("/")
    try:
        found = SkillUri(unquote(name, errors="strict"), unquote(path, errors="strict"))
        is_own = file_uri(*found) == (uri if path or uri.endswith("/") else f"{uri}/")
    except UnicodeError:
        return None
    return found if is_own and found.name else None


MOST_FILES, MOST_BYTES = 512, 16 * 1024 * 1024
# A longer file was not read to its end.
MOST_FILE_BYTES = ScanLimits().file_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """One file, as a client can check it."""

    uri: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFacts:
    """One skill as it is listed: a page of them must not hold the bytes of all their files."""

    name: str
    frontmatter: Fields
    # The size of SKILL.md.
    size: int
    # Every file of the skill; None where no complete list can be given.
    resources: tuple[FileFacts, ...] | None

    @property
    def uri(self) -> str:
        """The address of the skill: its SKILL.md."""
        return file_uri(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedSkill:
    """One skill, read and scanned, with the bytes that were scanned."""

    name: str
    frontmatter: Fields
    # By their paths inside the skill; `SKILL.md` is always there.
    files: Mapping[str, bytes] = field(repr=False)
    # False where the files are not all that belongs to the skill.
    whole: bool

    @property
    def facts(self) -> SkillFacts:
        """What is listed of it."""
        files = (facts(file_uri(self.name, path), self.files[path]) for path in self.files)
        return SkillFacts(
            name=self.name,
            frontmatter=self.frontmatter,
            size=len(self.files[SKILL_FILE]),
            resources=tuple(files) if self.whole else None,
        )


def facts(uri: str, content: bytes) -> FileFacts:
    """Return what a client checks a file by."""
    return FileFacts(uri=uri, digest=digest(content), size=len(content))


def digest(content: bytes) -> str:
    """Return the digest of some bytes, as manifests spell it."""
    return f"sha256:{sha256(content).hexdigest()}"


def serve_files(skill: Skill, target: "Target") -> ServedSkill | None:
    """Return what is served of a skill that was read; None where it is not what it was.

    The entry of a skill comes from its snapshot and its files from the disk: where the two do not
    belong together any more, the snapshot is old.
    """
    name, own = addressed_name(skill), posixpath.basename(skill.path)
    page = target.files.get(own)
    if name is None or page is None or sha256(page).hexdigest() != skill.content_hash:
        return None
    whole = not any(_matters(entry) for entry in target.refused)
    return serve_content(name, skill, target.files, whole=whole)


def serve_content(
    name: str, skill: Skill, content: Mapping[str, bytes], *, whole: bool = True
) -> ServedSkill:
    """Return what is served of a skill under a name; `whole` where `content` is all there is."""
    own = posixpath.basename(skill.path)
    others = {path: content[path] for path in sorted(content) if path != own}
    files = {SKILL_FILE: content[own]}
    files |= {path: found for path, found in others.items() if _can_serve(path, found)}
    left_out = any(is_part_of_skill(path) and path not in files for path in others)
    is_small = len(files) <= MOST_FILES and sum(map(len, files.values())) <= MOST_BYTES
    is_whole = whole and is_small and not left_out
    return ServedSkill(name=name, frontmatter=skill.fields, files=files, whole=is_whole)


def _matters(entry: LedgerEntry) -> bool:
    # What was not read at all is told of the folder itself.
    return entry.path == "." or is_part_of_skill(entry.path)


def _can_serve(path: str, content: bytes) -> bool:
    # Another spelling of the skill's own file would be the same file to some systems.
    is_double = path.lower() == SKILL_FILE.lower()
    fits = len(content) <= MOST_FILE_BYTES and is_text(path)
    return fits and not is_double and is_part_of_skill(path)
