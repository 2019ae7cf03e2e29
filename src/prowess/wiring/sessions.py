"""Reports on real sessions, with the real folders, skills and router.

One router serves every folder: what it knows of an encoder and of vectors is shared, and only the
skills that it looks at change with the folder in which a session took place.
"""

import os
from collections.abc import Callable

from prowess.errors import ProwessError
from prowess.host.harness.sessions import SessionFolders, lies_in_folders, project_of
from prowess.routing.model import Route
from prowess.runtime.route.answer import Asked
from prowess.runtime.sessions import SessionPorts, SessionReports
from prowess.skills.snapshot import Snapshot
from prowess.wiring.library import Runtime, open_runtime


def open_sessions(
    runtime: Runtime, progress: Callable[[str, int, int], None] | None = None
) -> SessionReports:
    """Return what reads sessions; nothing is read yet."""

    def skills_in(folder: str) -> Snapshot | None:
        try:
            opened = open_folder(runtime, folder)
            if opened is None:
                return None
            with opened as other:
                return other.skills.snapshot()
        except ProwessError:
            # Said of the session: that nothing is known about its folder.
            return None

    def route(prompt: str, asked: Asked) -> Route:
        return runtime.routing.route(prompt, asked)

    tools = SessionPorts(
        files=SessionFolders(runtime.folders.home, runtime.environ),
        skills_in=skills_in,
        route=route,
        in_folders=lies_in_folders,
    )
    return SessionReports(tools if progress is None else tools._replace(progress=progress))


def open_folder(runtime: Runtime, folder: str) -> Runtime | None:
    """Return a runtime with the same state in the project of a session's folder.

    None where the folder is gone; a folder that is not absolute would be anywhere.
    """
    if not os.path.isabs(folder) or not os.path.isdir(folder):
        return None
    project = project_of(os.path.abspath(folder), runtime.folders.home)
    return open_runtime(project, home=runtime.folders.state, environ=runtime.environ)
