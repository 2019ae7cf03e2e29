"""Prowess, the skills runtime for AI agents.

    import prowess

    runtime = prowess.open(workspace=".")
    print(runtime.skills.prompt().text)
"""

from prowess.errors import ProwessError
from prowess.runtime.service import SkillsService, SkillStatus, StatusReport
from prowess.settings import Settings
from prowess.skills.eligibility import Verdict
from prowess.skills.model import Diagnostic, Skill
from prowess.skills.prompt import PromptBlock
from prowess.skills.snapshot import Snapshot
from prowess.wiring import Runtime
from prowess.wiring import open_runtime as open  # noqa: A004

__version__ = "0.1.0"

__all__ = [
    "Diagnostic",
    "PromptBlock",
    "ProwessError",
    "Runtime",
    "Settings",
    "Skill",
    "SkillStatus",
    "SkillsService",
    "Snapshot",
    "StatusReport",
    "Verdict",
    "__version__",
    "open",
]
