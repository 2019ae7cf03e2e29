"""Puts runs together (sessions, secrets, environment, texts, routing, learning), and the chat.

A chat needs `pip install 'prowess[agents]'`; nothing else of Prowess does. What only it needs is
imported when one is opened.
"""

import os
import time
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prowess.errors import ConfigError, ModelError
from prowess.host.config.secrets import ConfigSecrets
from prowess.host.safety import EntrySources, SafetyLog
from prowess.runtime.environment import EnvironmentOverlay
from prowess.runtime.run import EnvironmentPorts, RunPorts
from prowess.settings import ApprovalPolicy
from prowess.skills.model import Diagnostic
from prowess.wiring.library import MODEL_VARIABLE

if TYPE_CHECKING:
    from prowess.agents.conversation import Conversation
    from prowess.agents.models import Opened
    from prowess.runtime.ports import Processes
    from prowess.runtime.skill_texts import SkillTexts
    from prowess.wiring.library import Runtime
    from prowess.workshop.proposal import Live


# The environment of a process is one, whoever opens a runtime on it; so is what counts its runs.
_PROCESS = EnvironmentOverlay(os.environ)


def open_runs(runtime: "Runtime") -> RunPorts:
    """Return what the runs of one runtime work with."""
    opened: list[SkillTexts] = []

    def texts() -> "SkillTexts":
        if not opened:
            opened.append(open_texts(runtime))
        return opened[0]

    return RunPorts(
        skills=runtime.skills,
        environment=EnvironmentPorts(
            base=runtime.environ,
            overlay=_overlay(runtime.environ),
            secrets=lambda: ConfigSecrets(
                runtime.config, runtime.environ, runtime.folders.home, open_processes
            ),
            audit=SafetyLog(runtime.folders.state),
            now=lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            bind=EntrySources(runtime.folders.state).bind,
            tools_bin=lambda: _find_existing(runtime.folders.tools_bin),
        ),
        sessions=runtime.sessions,
        routing=lambda: runtime.routing,
        texts=texts,
        workshop=lambda: runtime.workshop,
        usage=lambda: runtime.usage,
    )


def open_texts(runtime: "Runtime") -> "SkillTexts":
    """Return what hands out the texts of skills, once the scanner has looked."""
    from prowess.host.sources.skill_files import SkillReading
    from prowess.host.store.routing import FreshnessFile
    from prowess.runtime.skill_texts import SkillTexts

    return SkillTexts(
        SkillReading(), lambda: runtime.scanning, FreshnessFile(runtime.folders.state).read
    )


def open_processes() -> "Processes":
    """Return what starts child processes."""
    from prowess.host.processes.children import ChildProcesses

    return ChildProcesses()


def _overlay(environ: Mapping[str, str]) -> EnvironmentOverlay:
    if environ is os.environ:
        return _PROCESS
    # A mapping that cannot be changed is not changed: only children see the variables.
    return EnvironmentOverlay(environ if isinstance(environ, MutableMapping) else dict(environ))


def _find_existing(folder: str) -> str:
    return folder if os.path.isdir(folder) else ""


TIMEOUT_VARIABLE = "PROWESS_MODEL_TIMEOUT"
DEBUG_VARIABLE = "PROWESS_DEBUG"
_NOT_INSTALLED = "needs a package: run `pip install 'prowess[agents]'`."
_MOST_SCRIPT_BYTES = 4_000_000
_SECONDS, _DAY_S = 120.0, 86_400.0
_MOST_LIVE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """Which chat a person wants."""

    model: str = ""
    agent_id: str | None = None
    # Empty takes the last one of this workspace.
    session_id: str = ""
    new: bool = False


class Chat:
    """A chat and what it can be switched to; one agent at a time."""

    def __init__(self, runtime: "Runtime", wanted: ChatRequest, opened: "Opened") -> None:
        self.runtime = runtime
        self._opened = opened
        self.agent_id = runtime.skills.agent(wanted.agent_id).id
        self.workspace = runtime.skills.workspace(wanted.agent_id).folder
        from prowess.agents.chat import ChatAgent, ChatPorts
        from prowess.agents.chat_tools import Hands, Shelf, provider_keys
        from prowess.host.store.sessions import ChatSessions, WorkspaceFiles

        self._sessions = ChatSessions(runtime.folders.state)
        place = ChatPorts(
            open_run=lambda session: runtime.run(self.agent_id, session, process_wide=False),
            hands=Hands(
                files=WorkspaceFiles(self.workspace),
                processes=open_processes(),
                shell=_shell(),
                keys=provider_keys(opened.name, runtime.skills.settings.skills.model.key_env),
                shelf=Shelf(
                    live=lambda named: _read_live(os.path.join(self.workspace, named)),
                    applies=lambda: _applies(runtime),
                ),
            ),
            record_use=runtime.record_use,
            keep=self._keep,
            report=_report if runtime.environ.get(DEBUG_VARIABLE) else lambda _: None,
        )
        self.agent = ChatAgent(opened, place, self._conversation(wanted))

    def begin_anew(self) -> str:
        """Leave the conversation and begin another one; return its session."""
        self.agent.conversation = self._begin(_make_id())
        return self.agent.conversation.session_id

    def _keep(self, conversation: "Conversation") -> None:
        self._sessions.save(conversation.session_id, conversation.stored())

    def _conversation(self, wanted: ChatRequest) -> "Conversation":
        if wanted.session_id:
            return self._resume(wanted.session_id, new=wanted.new)
        latest = None if wanted.new else self._sessions.latest(self.workspace, self.agent_id)
        return self._begin(_make_id()) if latest is None else self._resume(latest.session_id)

    def _resume(self, session_id: str, *, new: bool = False) -> "Conversation":
        kept = None if new else self._sessions.load(session_id)
        if kept is None:
            return self._begin(session_id)
        from prowess.agents.conversation import read_conversation

        found = read_conversation(session_id, kept)
        found.workspace, found.agent_id = self.workspace, self.agent_id
        return found

    def _begin(self, session_id: str) -> "Conversation":
        # An id that cannot be kept is refused before anything is said.
        self._sessions.check(session_id)
        from prowess.agents.conversation import Conversation

        return Conversation(session_id=session_id, workspace=self.workspace, agent_id=self.agent_id)


def open_chat(runtime: "Runtime", wanted: ChatRequest) -> Chat:
    """Return a chat over real adapters; the model is not asked yet.

    Raises:
        ModelError: there is no model, or something that it needs is missing.
        PathError: the session's id cannot be one.
        StoreError: the session is kept and cannot be read.
    """
    try:
        from prowess.agents import models
    except ModuleNotFoundError as error:
        raise ModelError("prowess chat", _NOT_INSTALLED) from error
    sources = models.ModelSources(
        settings=runtime.skills.settings.skills.model,
        environ=runtime.environ,
        read_script=_read_script,
        seconds=_seconds(runtime.environ.get(TIMEOUT_VARIABLE, "")),
    )
    named = wanted.model or runtime.environ.get(MODEL_VARIABLE, "").strip()
    opened = models.open_model(named, sources)
    if named:
        # A provider's connections belong to the chat's event loop, so that a review opens its own.
        from prowess.host.models.reviewers import ProviderReviewer

        ours = opened.model if named.startswith(models.SCRIPT) else None
        runtime.session_model = ProviderReviewer(named, ours)
    return Chat(runtime, wanted, opened)


def _read_live(path: str) -> "Live":
    """Return a file of a skill as it is now."""
    from prowess.host.files.handles import read_bounded

    found = read_bounded(path, _MOST_LIVE_BYTES)
    if isinstance(found, Diagnostic):
        return found.message
    return None if found is None else found.data


def _applies(runtime: "Runtime") -> bool:
    """Return whether the workshop applies what is suggested by itself."""
    try:
        settings = runtime.config.read().workshop
    except ConfigError:
        # The workshop itself warns, and goes on with what it knew.
        settings = runtime.skills.settings.workshop
    return settings.approval_policy is ApprovalPolicy.AUTO


def _report(error: Exception) -> None:
    import traceback

    traceback.print_exception(error)


def _make_id() -> str:
    import secrets

    return f"chat-{secrets.token_hex(4)}"


def _shell() -> tuple[str, ...]:
    if os.name == "nt":
        return ("cmd.exe", "/d", "/s", "/c")
    return ("/bin/sh", "-c")


def _seconds(given: str) -> float:
    if not given:
        return _SECONDS
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _DAY_S:
        raise ModelError(TIMEOUT_VARIABLE, "must be a number of seconds, such as 120.")
    return seconds


def _read_script(path: str) -> str:
    try:
        with open(path, "rb") as file:
            raw = file.read(_MOST_SCRIPT_BYTES + 1)
    except OSError as error:
        raise ModelError(path, f"cannot be read as a script: {error.strerror}.") from error
    if len(raw) > _MOST_SCRIPT_BYTES:
        raise ModelError(path, "is too large for a script.")
    return raw.decode("utf-8", "replace")
