"""The words of the skills extension: methods, parameters, results, as they go over the wire.

Fields are spelled in camelCase there. Both sides use these models: the server to answer, the client
to read what a stranger answers, so every field of theirs is checked.
"""

from typing import Annotated, Any, Literal

from mcp_types import (
    CacheableResult,
    PaginatedRequestParams,
    PaginatedResult,
    Request,
    RequestParams,
    Resource,
)
from pydantic import BaseModel, ConfigDict, Field

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
