"""The gate that every use of a skill passes: nothing is loaded for it where there is no policy.

A workspace asks its judge which skills may be used, for lists, prompts, routing and loading alike.
This stands around that judge and adds what the policies forbid.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from prowess.host.sharing.policy_places import PolicyPlaces
from prowess.runtime.ports import SkillJudge
from prowess.settings import Settings
from prowess.skills.eligibility import ScannerBlock, is_disabled
from prowess.skills.model import Diagnostic, Skill


class BlockFinder(Protocol):
    """Says what the policies forbid."""

    # What they require and did not find when they were last asked.
    notices: tuple[Diagnostic, ...]

    def find_blocks(
        self,
        skills: Sequence[Skill],
        known: Mapping[str, ScannerBlock],
        disabled: Collection[str],
    ) -> Mapping[str, ScannerBlock]:
        """Return what may not be used, by path.

        The scanner keeps out what is `known`, and the configuration the paths in `disabled`.
        """


class GovernedJudge:
    """A judge of skills, and the policies around it."""

    def __init__(
        self, judge: SkillJudge, places: PolicyPlaces, governor: Callable[[], BlockFinder]
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
        self, skills: Sequence[Skill], settings: Settings, changed: Collection[str] | None = None
    ) -> Mapping[str, ScannerBlock]:
        """Return which skills may not be used, by their paths, and why."""
        blocks = self._judge.find_blocks(skills, settings, changed)
        self.notices = ()
        if not self._places.files():
            return blocks
        if self._governor is None:
            self._governor = self._open()
        disabled = {skill.path for skill in skills if is_disabled(skill, settings)}
        forbidden = self._governor.find_blocks(skills, blocks, disabled)
        self.notices = self._governor.notices
        return {**blocks, **forbidden}

    def settle(self, skills: Sequence[Skill], settings: Settings) -> None:
        """Scan those that were not, for as long as the caller may wait."""
        self._judge.settle(skills, settings)
