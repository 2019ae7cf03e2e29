"""Learning from traces with real adapters: drafts on the disk, scanner, workshop and a shell."""

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime

from prowess.experience.lessons.goals import compare_words
from prowess.host.store.traces import KeptTraces
from prowess.host.writers.drafts import WorkspaceDrafts
from prowess.runtime.experience import ExperienceService
from prowess.runtime.experience_drafts import ExperiencePorts
from prowess.runtime.ports import ChildCommand
from prowess.runtime.scan import Target
from prowess.runtime.workshop.proposals import Proposals
from prowess.safety.model import Profile, ScanReport
from prowess.wiring.library import Runtime
from prowess.wiring.workshop import rehearsing, workshop_ports

_MOST_SECONDS = 10.0


def open_experience(runtime: Runtime) -> AbstractContextManager[ExperienceService]:
    """Return what learns from traces."""
    return nullcontext(ExperienceService(_tools(runtime, runtime)))


@contextmanager
def _rehearsal(runtime: Runtime) -> Iterator[ExperiencePorts]:
    """Return the world with a copy of the store, which ends with it.

    Raises:
        StoreError: the store cannot be copied.
    """
    with rehearsing(runtime) as other:
        yield _tools(runtime, other)


def _tools(runtime: Runtime, proposing: Runtime) -> ExperiencePorts:
    """Return the world; `proposing` has the store in which proposals are kept."""
    workshop = workshop_ports(proposing)
    return ExperiencePorts(
        enabled=lambda: runtime.config.read().experience.enabled,
        spec_mode=lambda: runtime.config.read().skills.spec_mode,
        workspace=workshop.workspace,
        shelf=lambda workspace: WorkspaceDrafts(workspace, runtime.folders.state),
        memory=lambda workspace: KeptTraces(workspace, runtime.folders.state),
        scan=lambda name, files: _scan(runtime, name, files),
        check_script=lambda script: _check(runtime, script),
        # A person promotes a draft with the workshop off too; lessons ask whether it is on.
        proposals=Proposals(workshop, always_on=True),
        proposed=workshop.store.listed,
        workshop_enabled=lambda: runtime.config.read().workshop.active,
        elsewhere=workshop.elsewhere,
        likeness=compare_words,
        refresh=runtime.skills.refresh,
        now=time.time,
        stamp=lambda at: time.strftime("%Y%m%d-%H%M%S", time.localtime(at)),
        moment=lambda at: datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds"),
        rehearse=lambda: _rehearsal(runtime),
    )


def _scan(runtime: Runtime, name: str, files: Mapping[str, bytes]) -> ScanReport:
    target = Target(path=name, name=name, files=files, profile=Profile.PROPOSAL)
    return runtime.scanning.scan_target(target).report


def _check(runtime: Runtime, script: str) -> str:
    """Return what bash says of a script that it reads and does not run."""
    bash = shutil.which("bash", path=runtime.environ.get("PATH", os.defpath))
    if bash is None:
        return ""
    # Late: most traces are read without one.
    from prowess.host.processes.children import ChildProcesses

    command = ChildCommand(argv=(bash, "-n"), environment={}, stdin=script, seconds=_MOST_SECONDS)
    result = ChildProcesses().run(command)
    if result.code == 0:
        return ""
    return result.problem or "bash cannot read it"
