"""The words of the skills extension: methods, parameters, results and addresses, as on the wire.

Both sides use these models: the server to answer, the client to read what a stranger answers. A
cursor names its list and the last item that was given, so that it goes on correctly however the
list changes, in any process of ours. An address (`skill://<name>/<file>`) is never joined to a
folder, and one file has one address.
"""

import base64
import binascii
import mimetypes
from hashlib import sha256
from typing import Annotated, Any, Literal, NamedTuple
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
from prowess.safety.paths import shown


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
