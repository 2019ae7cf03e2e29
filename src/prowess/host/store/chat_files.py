"""Files of the workspace for a model that asks for them: contained, regular, bounded, text.

Links are not followed on the way, so that nothing in a workspace can point a model elsewhere.
"""

import os

from prowess.errors import ContainmentError, PathError
from prowess.host.files.containment import Root
from prowess.safety.paths import shown

_MOST_BYTES = 2 * 1024 * 1024


class WorkspaceFiles:
    """Reads text files below one folder."""

    def __init__(self, workspace: str) -> None:
        self._workspace = os.path.abspath(workspace)

    def real(self, path: str) -> str:
        """Return where a path leads: absolute, through links, and from the workspace on.

        Raises:
            PathError: it is no path.
        """
        if "\0" in path:
            raise PathError(shown(path), "is no path.")
        return os.path.realpath(os.path.join(self._workspace, path))

    def read(self, path: str) -> str:
        """Return a text file of the workspace.

        Raises:
            PathError: there is no such file, it is no text, or it lies elsewhere.
        """
        with Root.open(self._workspace) as root:
            content = root.read(self._inside(path), _MOST_BYTES)
        if b"\0" in content:
            raise PathError(shown(path), "is no text.")
        return content.decode("utf-8", "replace")

    def _inside(self, path: str) -> str:
        """Return a path relative to the workspace, whichever way it was written."""
        for root in (self._workspace, os.path.realpath(self._workspace)):
            full = os.path.normpath(os.path.join(root, path))
            if full.startswith(root.rstrip(os.sep) + os.sep):
                return os.path.relpath(full, root).replace(os.sep, "/")
        problem = "is not inside the workspace: name a file of the workspace or of a skill."
        raise ContainmentError(shown(path), problem)
