"""Which folder a call of a hook is about: the project, and not the corner of it that is open.

Agents change folders within a project, and look for skills in parent folders themselves; we read
the skills of one folder. What a payload says is not trusted: it never makes the home folder, or one
above it, a workspace, and on the way up folders of other people do not count, since anybody may put
skills into a shared one. Only a fixed number of paths is looked at, and no folder is listed.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prowess.host.sources.harnesses import PROJECT

_MOST_STEPS = 24
_LONGEST_PATH = 4096
_REPOSITORY = ".git"
_SKILL_FOLDERS = (
    "skills",
    os.path.join(".agents", "skills"),
    *dict.fromkeys(os.path.join(*folder.path.split("/")) for folder in PROJECT),
)


def home_of(environ: Mapping[str, str]) -> str:
    """Return the user's home folder, as everything else finds it."""
    return os.path.abspath(environ.get("HOME") or os.path.expanduser("~"))


def workspace_of(cwd: str, projects: Sequence[str], current: str, home: str) -> str:
    """Return the folder whose skills an agent should be told of.

    It is the project that the harness names, if the agent works in it and it holds skills; else the
    nearest folder from the agent's own upwards that holds some or is the root of a repository; else
    the one that was named, or the agent's own.

    Args:
        cwd: where the agent works, as the payload says.
        projects: the folders of the project, as the harness says.
        current: where the hook runs, which counts where `cwd` cannot be used.
        home: the user's home folder; what lies above it is nobody's project.
    """
    own_home = os.path.realpath(home)
    place = cwd if _is_usable(cwd, own_home) else current
    real = os.path.realpath(place)
    if _is_within(own_home, real):
        return place
    named = [
        folder
        for folder in projects
        if _is_usable(folder, own_home) and _is_within(real, os.path.realpath(folder))
    ]
    with_skills = (folder for folder in named if _has_skills(folder))
    found = next(with_skills, None) or next(_marked(real, own_home), None)
    if found is None:
        return named[0] if named else place
    # As the agent spells it: that is what its user sees.
    return place if found == real else found


def _is_usable(folder: str, own_home: str) -> bool:
    """Return whether a folder that somebody named exists, and is no home and nothing above one."""
    if not folder or len(folder) > _LONGEST_PATH or "\0" in folder or not os.path.isabs(folder):
        return False
    return os.path.isdir(folder) and not _is_within(own_home, os.path.realpath(folder))


def _is_within(path: str, folder: str) -> bool:
    """Return whether `path` is `folder` or lies below it; both are real."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _marked(real: str, own_home: str) -> Iterator[str]:
    """Yield the folders from here upwards that are a project by themselves."""
    for folder in _upwards(real, own_home):
        if os.path.lexists(os.path.join(folder, _REPOSITORY)) or _has_skills(folder):
            yield folder


def _upwards(real: str, own_home: str) -> Iterable[str]:
    """Yield a folder and those above it that belong to the same people."""
    yield real
    owners = {_owner(real), _own_id()} - {None}
    below, folder = real, os.path.dirname(real)
    for _ in range(_MOST_STEPS):
        is_top = folder == below or _is_within(own_home, folder)
        if is_top or _owner(folder) not in owners:
            return
        yield folder
        below, folder = folder, os.path.dirname(folder)


def _owner(folder: str) -> int | None:
    """Return who alone may write to a folder; None where others may as well."""
    try:
        found = os.stat(folder)
    except OSError:
        return None
    # Windows knows neither owners nor such rights here.
    is_shared = os.name == "posix" and found.st_mode & stat.S_IWOTH
    return None if is_shared else found.st_uid


def _own_id() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _has_skills(folder: str) -> bool:
    return any(os.path.isdir(os.path.join(folder, name)) for name in _SKILL_FOLDERS)
