"""What the tools and the chat need of the world: a run of skills, and files.

A `Run` and an `AsyncRun` of the runtime both fit; the adapter for files is under `host`.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from prowess.routing.model import Route
from prowess.safety.model import Finding


class ReadText(Protocol):
    """What reading a skill gives."""

    @property
    def name(self) -> str:
        """The skill's name."""

    @property
    def text(self) -> str:
        """Its body, or the file that was asked for."""

    @property
    def folder(self) -> str:
        """Where its files are."""

    @property
    def resources(self) -> Sequence[str]:
        """The files that belong to it, relative to the folder."""

    @property
    def left_out(self) -> int:
        """How many characters were left out at the end."""

    @property
    def doubts(self) -> Sequence[Finding]:
        """What in it speaks to the model and should not."""


class Workshop(Protocol):
    """Where proposals for skills are kept."""

    @property
    def enabled(self) -> bool:
        """Whether the user switched it on."""

    def call(
        self,
        arguments: Mapping[str, object],
        *,
        agent_id: str = "",
        session_id: str = "",
        by_person: bool = False,
    ) -> Mapping[str, object]:
        """Do what one call of the tool asks; `by_person` where a person said yes to this call."""

    def guidance(self) -> str:
        """Tell the agent when to use it."""


class SkillsRun(Protocol):
    """The part of a run that tools need; plain and asynchronous runs share it."""

    @property
    def prompt(self) -> str:
        """The block that tells the model about its skills."""

    @property
    def agent_id(self) -> str:
        """Whose run it is."""

    @property
    def session_id(self) -> str:
        """The session that it belongs to; empty where it belongs to none."""

    @property
    def workshop(self) -> Workshop | None:
        """The workshop, where there is one."""

    def read(self, name: str, path: str = "") -> ReadText:
        """Return a skill's body, or one of its files."""

    def find(self, query: str, limit: int = 5) -> Route:
        """Return the skills nearest to a query."""


class ChatFiles(Protocol):
    """Reads files of the workspace, and no others."""

    def real(self, path: str) -> str:
        """Return where a path leads: absolute, through links, and from the workspace on."""

    def read(self, path: str) -> str:
        """Return a text file of the workspace.

        Raises:
            PathError: there is no such file, it is no text, or it lies elsewhere.
        """
