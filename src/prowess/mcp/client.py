"""`SkillsClient`: skills of other MCP servers, taken only as they were looked at and approved.

    async with mcp.Client(url) as connection:
        client = SkillsClient(
            connection.session, server="acme", approvals=approvals, scan=scan
        )
        listing = await client.list()
        review = await client.review(listing.skills[0])   # reads, verifies and scans all of it
        client.approve(review)                            # a person said yes
        text = await client.load(review.skill)            # for a model, with where it comes from

Every read is verified, and nothing is ever run or written. An approval holds for one set of files:
where one byte changes, the skill is to be approved again. Identity is the server's label, which we
gave it, and the address; a name may be anybody's. There is no half of a skill.
"""

import base64
import binascii
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from typing import Any, Protocol, TypeAlias, TypeVar
from urllib.parse import unquote

import anyio.to_thread
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import PaginatedRequestParams, PaginatedResult, Request, Result, TextResourceContents
from pydantic import ValidationError

from prowess.errors import UnsafeSkillError
from prowess.mcp.protocol import (
    EXTENSION,
    MOST_BYTES,
    MOST_FILES,
    SKILL_FILE,
    DirectoryParams,
    DirectoryReadRequest,
    DirectoryReadResult,
    FileFacts,
    GetParams,
    RemoteSkillError,
    SkillEntry,
    SkillResource,
    SkillsGetRequest,
    SkillsListRequest,
    digest,
)
from prowess.runtime.skill_tools import frame
from prowess.safety.model import ScanReport, ScanVerdict
from prowess.safety.paths import PathRefused, check_all
from prowess.skills import frontmatter
from prowess.skills.text import one_line

_MOST_SHOWN = 5
# The rows of a manifest, ours or as another server sends them.
Listed: TypeAlias = Sequence[FileFacts | SkillResource]


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


def described(
    server: str, uri: str, fields: Mapping[str, Any], listed: Listed | str
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


def _manifest(uri: str, root: str, listed: Listed) -> dict[str, FileFacts]:
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
        if not _is_same(found.fields.get(name, missing), skill.frontmatter.get(name, missing))
    ]
    if wrong:
        shown = ", ".join(one_line(name) for name in wrong[:_MOST_SHOWN])
        raise RemoteSkillError(
            skill.uri, f"the file says something else than the list about {shown}."
        )


def _is_same(one: object, two: object) -> bool:
    """Compare as JSON does: a flag is no number, and 1.0 is 1."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return one.keys() == two.keys() and all(_is_same(one[key], two[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return len(one) == len(two) and all(map(_is_same, one, two))
    return isinstance(one, bool) == isinstance(two, bool) and one == two


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
            page = await self._ask(request, _AnyEntries, "skills/list")
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
        answer = await self._ask(request, _AnyEntry, uri)
        skill = self._describe(answer.skill)
        if skill.uri != uri:
            raise RemoteSkillError(uri, "another skill came than was asked for.")
        return skill

    async def folder(self, uri: str, cursor: str | None = None) -> DirectoryReadResult:
        """Return what a folder holds, a page at a time, as the server says it: nothing is checked.

        Raises:
            RemoteSkillError: there is no such folder, or the server reads none.
        """
        request = DirectoryReadRequest(params=DirectoryParams(uri=uri, cursor=cursor))
        return await self._ask(request, DirectoryReadResult, uri)

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
        return frame("remote_skill", origin, text)

    def _take(self, entry: object, found: dict[str, RemoteSkill], refused: Refused) -> None:
        try:
            skill = self._describe(entry)
        except RemoteSkillError as error:
            refused.append(error)
            return
        if skill.uri in found:
            refused.append(RemoteSkillError(skill.uri, "it is listed twice."))
        else:
            found[skill.uri] = skill

    def _describe(self, entry: object) -> RemoteSkill:
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

    async def _ask(self, request: Request[Any, Any], kind: type[ResultT], what: str) -> ResultT:
        try:
            return await self._session.send_request(request, kind)
        except MCPError as error:
            raise self._failure(what, error) from error
        except ValidationError as error:
            raise RemoteSkillError(what, "the answer is malformed.") from error

    def _failure(self, what: str, error: MCPError) -> RemoteSkillError:
        said = one_line(error.error.message)[:200]
        return RemoteSkillError(what, f"{one_line(self._server)} says: {said}")
