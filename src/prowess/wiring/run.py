"""Puts runs together: sessions, secrets, environment, texts, routing and learning."""

import os
import time
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING

from prowess.host.config.secrets import ConfigSecrets
from prowess.host.safety import EntrySources, SafetyLog
from prowess.runtime.environment import EnvironmentOverlay
from prowess.runtime.run import EnvironmentPorts, RunPorts

if TYPE_CHECKING:
    from prowess.runtime.ports import Processes
    from prowess.runtime.skill_texts import SkillTexts
    from prowess.wiring.library import Runtime

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
            tools_bin=lambda: _existing(runtime.folders.tools_bin),
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


def _existing(folder: str) -> str:
    return folder if os.path.isdir(folder) else ""
