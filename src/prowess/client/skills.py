"""The methods about skills, as a program calls them."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence

from prowess.client.calls import Calls
from prowess.client.changes import Entry, InstallResult, Progress, Removed
from prowess.client.events import Event
from prowess.client.fields import Fields
from prowess.client.refusals import GatewayCallError
from prowess.client.results import Prompt, Route, SkillDetail, SkillsStatus, Usage, Why

PROGRESS = "skills.install.progress"
# What the gateway takes where nobody says how long, and what it needs around an install.
_INSTALL_MS, _MARGIN_SECONDS = 300_000, 30.0


class SkillCalls(Calls):
    """Skills: which there are, which fit, and what changes them.

    Every method raises `GatewayCallError` where it is refused, and `GatewayLostError` where the
    connection ended before the answer came.
    """

    @abstractmethod
    def listen(self, name: str, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call a listener with every event of that name, and return what ends it."""

    async def status(self, *, agent: str | None = None) -> SkillsStatus:
        """Return every skill of an agent, with its verdict."""
        return SkillsStatus.read(await self.request("skills.status", self.about(agent)))

    async def route(
        self,
        message: str,
        *,
        files: Sequence[str] = (),
        limit: int | None = None,
        not_ready: bool = False,
        agent: str | None = None,
    ) -> Route:
        """Return the skills that a message needs, with reasons, or none.

        With `not_ready`, also those that would fit and cannot be used, each with what it lacks.
        """
        asked = {
            "message": message,
            "files": list(files) or None,
            "limit": limit,
            "notReady": not_ready or None,
        }
        return Route.read(await self.request("skills.route", self.about(agent, asked)))

    async def why(self, name: str, *, message: str | None = None, agent: str | None = None) -> Why:
        """Return why a skill is, or is not, used; with a message, why not for that one."""
        asked = {"name": name, "message": message}
        return Why.read(await self.request("skills.why", self.about(agent, asked)))

    async def prompt(
        self, *, tools: Sequence[str] | None = None, agent: str | None = None
    ) -> Prompt:
        """Return what a model is told about its skills."""
        asked = {"tools": None if tools is None else list(tools)}
        return Prompt.read(await self.request("skills.prompt", self.about(agent, asked)))

    async def detail(self, name: str, *, agent: str | None = None) -> SkillDetail:
        """Return all about one skill; that there is none of that name is a `GatewayCallError`."""
        asked = self.about(agent, {"name": name})
        return SkillDetail.read(await self.request("skills.detail", asked))

    async def usage(
        self, *, name: str | None = None, after: int = 0, agent: str | None = None
    ) -> Usage:
        """Return what was listed, routed and used, after a number."""
        asked = {"name": name, "after": after}
        return Usage.read(await self.request("skills.usage", self.about(agent, asked)))

    async def install(
        self,
        name: str,
        install_id: str,
        *,
        timeout_ms: int | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        agent: str | None = None,
    ) -> InstallResult:
        """Install what a skill needs; a failed install is a result, whose `ok` is false.

        What `on_progress` raises ends its reports, and is raised when the install is over.
        """
        reports = _Reports(name, install_id, on_progress)
        asked = {"name": name, "installId": install_id, "timeoutMs": timeout_ms}
        seconds = (timeout_ms or _INSTALL_MS) / 1000 + _MARGIN_SECONDS
        stop = self.listen(PROGRESS, reports.hear)
        try:
            answer = await self.request("skills.install", self.about(agent, asked), seconds)
        except GatewayCallError as error:
            if error.payload is None:
                raise
            answer = error.payload
        finally:
            stop()
        reports.raise_problem()
        return InstallResult.read(answer)

    async def update_skill(
        self,
        key: str,
        *,
        enabled: bool | None = None,
        api_key: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Entry:
        """Change a skill's entry in the config; an empty text deletes a value."""
        asked = {
            "skillKey": key,
            "enabled": enabled,
            "apiKey": api_key,
            "env": None if env is None else dict(env),
        }
        given = {name: value for name, value in asked.items() if value is not None}
        return Entry.read(await self.request("skills.update", given))

    async def remove(self, key: str, source: str, *, agent: str | None = None) -> Removed:
        """Move a managed or workspace skill to the trash."""
        asked = self.about(agent, {"skillKey": key, "source": source})
        return Removed.read(await self.request("skills.remove", asked))

    async def restore(self, removed_id: str, *, agent: str | None = None) -> str:
        """Bring a removed skill back, and return its folder."""
        asked = self.about(agent, {"id": removed_id})
        return Fields(await self.request("skills.restore", asked)).text("path")

    async def trash(self) -> tuple[Removed, ...]:
        """Return the removed skills that can come back."""
        found = Fields(await self.request("skills.trash", {}))
        return tuple(Removed.read(one) for one in found.objects("removed"))


class _Reports:
    """Hands on what belongs to one install."""

    def __init__(
        self, name: str, install_id: str, on_progress: Callable[[Progress], None] | None
    ) -> None:
        self._about, self._on_progress = (name, install_id), on_progress
        self._problem: Exception | None = None

    def hear(self, event: Event) -> None:
        """Hand on one report."""
        said = Fields(event.payload)
        if self._on_progress is None or self._about != (said.text("skill"), said.text("installId")):
            return
        try:
            self._on_progress(Progress.read(event.payload))
        # It is the caller's own, and the caller gets it back; other calls must not end with it.
        except Exception as problem:  # noqa: BLE001
            self._problem, self._on_progress = problem, None

    def raise_problem(self) -> None:
        """Give back what the caller's function raised."""
        if self._problem is not None:
            raise self._problem
