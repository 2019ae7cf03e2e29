"""The gate that every use of a skill passes: nothing is loaded for it where there is no policy.

A workspace asks its judge which skills may be used, for lists, prompts, routing and loading alike.
This stands around that judge and adds what the policies forbid. To look whether there are any
policies costs next to nothing.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from prowess.runtime.ports import SkillJudge
    from prowess.settings import Settings
    from prowess.skills.eligibility import ScannerBlock
    from prowess.skills.model import Diagnostic, Skill

# As `prowess.sharing.policy` has it, which takes time to load.
_FILE, VARIABLE = "prowess-policy.yml", "PROWESS_POLICY"
_SYSTEM = "/etc/prowess"


class PolicyPlaces(NamedTuple):
    """Where the policies of one workspace lie."""

    environ: Mapping[str, str]
    state: str
    workspace: str

    def files(self) -> tuple[tuple[str, str], ...]:
        """Return the level and path of every policy file that there is, the highest first."""
        named = self.environ.get(VARIABLE, "")
        places = (
            ("organisation", os.path.join(_SYSTEM, _FILE)),
            *((("organisation", named),) if named else ()),
            ("team", os.path.join(self.state, _FILE)),
            ("project", os.path.join(self.workspace, _FILE)),
        )
        # One that was named and is not there is no policy that can be read.
        return tuple(pair for pair in places if pair[1] == named or os.path.lexists(pair[1]))

    def stamp(self) -> object:
        """Return what is another one once a policy file, a proof, or the day, is."""
        files = self.files()
        if not files:
            return ()
        # Late: most workspaces have none.
        from datetime import UTC, datetime

        from prowess.host.files.handles import stamp_file
        from prowess.host.files.state_files import PROOFS_FILE

        # Waivers end with a day.
        today = str(datetime.now(UTC).date())
        # What was shown of skills may be asked for.
        paths = (*(path for _, path in files), os.path.join(self.state, PROOFS_FILE))
        return (today, *(repr(stamp_file(path)) for path in paths))


class BlockFinder(Protocol):
    """Says what the policies forbid."""

    # What they require and did not find when they were last asked.
    notices: "tuple[Diagnostic, ...]"

    def find_blocks(
        self,
        skills: "Sequence[Skill]",
        known: "Mapping[str, ScannerBlock]",
        disabled: Collection[str],
    ) -> "Mapping[str, ScannerBlock]":
        """Return what may not be used, by path.

        The scanner keeps out what is `known`, and the configuration the paths in `disabled`.
        """


class GovernedJudge:
    """A judge of skills, and the policies around it."""

    def __init__(
        self, judge: "SkillJudge", places: PolicyPlaces, governor: Callable[[], BlockFinder]
    ) -> None:
        """Nothing is read yet; `governor` is asked for where there is a policy."""
        self._judge, self._places, self._open = judge, places, governor
        self._governor: BlockFinder | None = None
        self.notices: tuple[Diagnostic, ...] = ()

    @property
    def folders(self) -> tuple[str, ...]:
        """All folders of the skills that were looked at last."""
        return self._judge.folders

    def moved(self) -> object:
        """Return what is another one once an answer may be, though no file of a skill changed."""
        return self._judge.moved(), self._places.stamp()

    def find_blocks(
        self,
        skills: "Sequence[Skill]",
        settings: "Settings",
        changed: Collection[str] | None = None,
    ) -> "Mapping[str, ScannerBlock]":
        """Return which skills may not be used, by their paths, and why."""
        blocks = self._judge.find_blocks(skills, settings, changed)
        self.notices = ()
        if not self._places.files():
            return blocks
        # Late, as above.
        from prowess.skills.eligibility import is_disabled

        if self._governor is None:
            self._governor = self._open()
        disabled = {skill.path for skill in skills if is_disabled(skill, settings)}
        forbidden = self._governor.find_blocks(skills, blocks, disabled)
        self.notices = self._governor.notices
        return {**blocks, **forbidden}

    def settle(self, skills: "Sequence[Skill]", settings: "Settings") -> None:
        """Scan those that were not, for as long as the caller may wait."""
        self._judge.settle(skills, settings)
