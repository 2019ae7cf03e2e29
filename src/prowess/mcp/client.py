"""`SkillsClient`: skills of other MCP servers, taken only as they were looked at and approved.

    async with mcp.Client(url) as connection:
        client = SkillsClient(
            connection.session, server="acme", approvals=approvals, scan=scan
        )
        listing = await client.list()
        review = await client.review(listing.skills[0])   # reads, verifies and scans all of it
        client.approve(review)                            # a person said yes
        text = await client.load(review.skill)            # for a model, with where it comes from

Nothing is read before it is asked for, and every read is verified. An approval holds for one set of
files: where one byte changes, the skill is to be approved again. Nothing is ever run or written.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, TypeAlias, TypeVar

import anyio.to_thread
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    PaginatedRequestParams,
    PaginatedResult,
    Request,
    Result,
    TextResourceContents,
)
from pydantic import ValidationError

from prowess.errors import UnsafeSkillError
from prowess.mcp.framing import framed
from prowess.mcp.protocol import (
    EXTENSION,
    DirectoryParams,
    DirectoryReadRequest,
    DirectoryReadResult,
    GetParams,
    SkillEntry,
    SkillsGetRequest,
    SkillsListRequest,
)
from prowess.mcp.refusals import RemoteSkillError
from prowess.mcp.uris import SKILL_FILE
from prowess.mcp.verification import RemoteSkill, described, from_base64, from_text, verified
from prowess.safety.model import ScanReport, ScanVerdict
from prowess.skills.text import one_line

_MOST_PAGES, _MOST_SKILLS = 200, 10_000
_PASSES = (ScanVerdict.CLEAN, ScanVerdict.WARN)
ResultT = TypeVar("ResultT", bound=Result)
# Inside the class its method `list` has that name.
Refused: TypeAlias = list[RemoteSkillError]


class Approvals(Protocol):
    """Keeps what a person approved."""

    def approved(self, server: str, uri: str) -> str | None:
        """Return the hash of the content that was approved; None where nothing was."""

    def approve(self, server: str, uri: str, content_hash: str) -> None:
        """Keep an approval in place of an older one.

        Raises:
            StoreError: it cannot be kept.
        """

    def revoke(self, server: str, uri: str) -> None:
        """Forget an approval.

        Raises:
            StoreError: it cannot be forgotten.
        """


class Standing(Enum):
    """Whether a skill may be used."""

    NEW = "new"
    APPROVED = "approved"
    # Another content was approved than the one that is there now.
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The skills of a server, and why others of its entries were not taken."""

    skills: tuple[RemoteSkill, ...]
    refused: tuple[RemoteSkillError, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A whole skill, verified and scanned, for a person to look at."""

    skill: RemoteSkill
    report: ScanReport
    files: Mapping[str, bytes] = field(repr=False)


class _AnyEntries(PaginatedResult):
    # Checked one by one: a server with one bad entry still has its good ones.
    skills: list[Any]


class _AnyEntry(Result):
    skill: Any


class SkillsClient:
    """The skills of one server."""

    def __init__(
        self,
        session: ClientSession,
        *,
        server: str,
        approvals: Approvals,
        scan: Callable[[Mapping[str, bytes]], ScanReport],
    ) -> None:
        """Begin; `server` is our own label for it, and `scan` judges the files of a skill."""
        self._session, self._server, self._approvals = session, server, approvals
        self._scan = scan

    @property
    def supported(self) -> bool:
        """Whether the server says that it has skills."""
        capabilities = self._session.server_capabilities
        return capabilities is not None and EXTENSION in (capabilities.extensions or {})

    async def list(self) -> Listing:
        """Return all skills that the server lists.

        Raises:
            RemoteSkillError: the server refuses, or its list has no end.
        """
        found: dict[str, RemoteSkill] = {}
        refused: Refused = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(_MOST_PAGES):
            request = SkillsListRequest(params=PaginatedRequestParams(cursor=cursor))
            page = await self._asked(request, _AnyEntries, "skills/list")
            for entry in page.skills:
                self._take(entry, found, refused)
            cursor = page.next_cursor
            if cursor is None:
                return Listing(skills=tuple(found.values()), refused=tuple(refused))
            if cursor in seen or len(found) + len(refused) > _MOST_SKILLS:
                break
            seen.add(cursor)
        raise RemoteSkillError(self._server, "its list of skills has no end.")

    async def get(self, uri: str) -> RemoteSkill:
        """Return one skill, listed or not.

        Raises:
            RemoteSkillError: there is none, or its entry is wrong.
        """
        request = SkillsGetRequest(params=GetParams(uri=uri))
        answer = await self._asked(request, _AnyEntry, uri)
        skill = self._described(answer.skill)
        if skill.uri != uri:
            raise RemoteSkillError(uri, "another skill came than was asked for.")
        return skill

    async def folder(self, uri: str, cursor: str | None = None) -> DirectoryReadResult:
        """Return what a folder holds, a page at a time, as the server says it: nothing is checked.

        Raises:
            RemoteSkillError: there is no such folder, or the server reads none.
        """
        request = DirectoryReadRequest(params=DirectoryParams(uri=uri, cursor=cursor))
        return await self._asked(request, DirectoryReadResult, uri)

    async def read(self, skill: RemoteSkill, path: str = SKILL_FILE) -> bytes:
        """Return a file of a skill, verified; it need not be approved, since people read it first.

        Raises:
            RemoteSkillError: the skill has no such file, or another one came.
        """
        self._check_own(skill)
        known = skill.files.get(path)
        if known is None:
            raise RemoteSkillError(skill.uri, f"it has no file {one_line(path)!r}.")
        try:
            answer = await self._session.read_resource(known.uri)
        except MCPError as error:
            raise self._failure(known.uri, error) from error
        except ValidationError as error:
            raise RemoteSkillError(known.uri, "the answer is malformed.") from error
        if len(answer.contents) != 1 or answer.contents[0].uri != known.uri:
            raise RemoteSkillError(known.uri, "something else came than was asked for.")
        one = answer.contents[0]
        if isinstance(one, TextResourceContents):
            return verified(skill, path, from_text(known.uri, one.text))
        return verified(skill, path, from_base64(known.uri, one.blob))

    async def review(self, skill: RemoteSkill) -> Review:
        """Return all of a skill, verified and scanned.

        Raises:
            RemoteSkillError: a file is not what the manifest says.
        """
        files = {path: await self.read(skill, path) for path in sorted(skill.files)}
        report = await anyio.to_thread.run_sync(functools.partial(self._scan, files))
        return Review(skill=skill, report=report, files=files)

    def standing(self, skill: RemoteSkill) -> Standing:
        """Return whether a skill may be used as it is now."""
        known = self._approvals.approved(skill.server, skill.uri)
        if known is None:
            return Standing.NEW
        return Standing.APPROVED if known == skill.content_hash else Standing.CHANGED

    def approve(self, review: Review) -> None:
        """Keep that a person approved what was reviewed.

        Raises:
            UnsafeSkillError: the scanner refuses it.
            StoreError: it cannot be kept.
        """
        skill = review.skill
        self._check_own(skill)
        if review.report.verdict not in _PASSES:
            findings = review.report.findings
            worst = ", ".join(dict.fromkeys(finding.rule_id for finding in findings))
            problem = f"the scanner refuses it ({worst or review.report.error})."
            raise UnsafeSkillError(one_line(skill.name), problem, findings)
        self._approvals.approve(skill.server, skill.uri, skill.content_hash)

    def revoke(self, skill: RemoteSkill) -> None:
        """Take an approval back.

        Raises:
            StoreError: it cannot be forgotten.
        """
        self._approvals.revoke(skill.server, skill.uri)

    async def load(self, skill: RemoteSkill, path: str = SKILL_FILE) -> str:
        """Return a text of an approved skill for a model, with where it comes from.

        Raises:
            RemoteSkillError: it is not approved as it is now, or is not what the manifest says.
        """
        standing = self.standing(skill)
        if standing is not Standing.APPROVED:
            why = "was not approved" if standing is Standing.NEW else "changed since its approval"
            raise RemoteSkillError(skill.uri, f"it {why}: review it, then approve it.")
        if path in skill.nested:
            problem = f"{path} is a skill of its own: get it, review it and approve it."
            raise RemoteSkillError(skill.uri, problem)
        text = (await self.read(skill, path)).decode("utf-8", "replace")
        origin = {"server": skill.server, "uri": skill.files[path].uri}
        return framed("remote_skill", origin, text)

    def _take(
        self,
        entry: object,
        found: dict[str, RemoteSkill],
        refused: Refused,
    ) -> None:
        try:
            skill = self._described(entry)
        except RemoteSkillError as error:
            refused.append(error)
            return
        if skill.uri in found:
            refused.append(RemoteSkillError(skill.uri, "it is listed twice."))
        else:
            found[skill.uri] = skill

    def _described(self, entry: object) -> RemoteSkill:
        try:
            checked = SkillEntry.model_validate(entry)
        except ValidationError as error:
            uri = entry.get("uri") if isinstance(entry, dict) else None
            name = uri if isinstance(uri, str) else self._server
            raise RemoteSkillError(name, "its entry is malformed.") from error
        return described(self._server, checked.uri, checked.frontmatter, checked.resources)

    def _check_own(self, skill: RemoteSkill) -> None:
        """Refuse a skill of another server: its address means something else here."""
        if skill.server != self._server:
            raise RemoteSkillError(skill.uri, f"it belongs to {one_line(skill.server)}.")

    async def _asked(self, request: Request[Any, Any], kind: type[ResultT], what: str) -> ResultT:
        try:
            return await self._session.send_request(request, kind)
        except MCPError as error:
            raise self._failure(what, error) from error
        except ValidationError as error:
            raise RemoteSkillError(what, "the answer is malformed.") from error

    def _failure(self, what: str, error: MCPError) -> RemoteSkillError:
        said = one_line(error.error.message)[:200]
        return RemoteSkillError(what, f"{one_line(self._server)} says: {said}")
