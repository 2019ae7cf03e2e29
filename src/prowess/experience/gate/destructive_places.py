"""Where a command writes: files whose very name, or whose folder, decides how a machine behaves.

The folder in which a trace ran is a stranger's word like any other. So a path is judged together
with that folder and with every folder that a command went to: a harmless name in a folder of keys
is a key.
"""

import posixpath
import re
from collections.abc import Iterable

from prowess.experience.gate.destructive_options import SAFE_TARGET, UNKNOWN, appends
from prowess.experience.gate.tables import names

_SYSTEM = names(
    "bin boot dev etc lib lib32 lib64 Library opt proc run sbin sys System usr var private"
)
_TEMPORARY = re.compile(r"(?:/private)?/(?:var/(?:folders|tmp)/|tmp/)")
_FOLDERS = names(
    "autostart launchagents launchdaemons startup systemd cron cron.d cron.daily cron.hourly "
    "cron.weekly cron.monthly crontabs sudoers.d profile.d init.d rc.d sites-enabled"
)
_FILES = names(
    "authorized_keys authorized_keys2 known_hosts id_rsa id_dsa id_ecdsa id_ed25519 crontab "
    "sudoers sitecustomize.py usercustomize.py"
)
_HOME_PROGRAMS = re.compile(r"(?:~[^/]*|/root|/(?:home|Users)/[^/]+)/(?:bin|Library)/")


def joined(folder: str, path: str) -> str:
    """Return a path as seen from a folder, without detours."""
    whole = path if path.startswith(("/", "~")) or not folder else f"{folder}/{path}"
    flat = posixpath.normpath(whole)
    return flat[1:] if flat.startswith("//") else flat


def is_delicate(path: str) -> bool:
    """Return whether even a new file of that name changes how a machine or a program behaves."""
    steps = path.split("/")
    if any(step.startswith(".") and step not in (".", "..") for step in steps):
        return True
    lower = [step.casefold() for step in steps]
    if not _FOLDERS.isdisjoint(lower[:-1]) or lower[-1] in _FILES or lower[-1].endswith(".pth"):
        return True
    is_system = path.startswith("/") and steps[1] in _SYSTEM and not _TEMPORARY.match(path)
    return is_system or bool(_HOME_PROGRAMS.match(path))


def is_outside(path: str, root: str) -> bool:
    """Return whether a path leads out of the folder of the trace."""
    if root and (path == root or path.startswith(root.rstrip("/") + "/")):
        return False
    return path.startswith(("/", "~", "../")) or path == ".."


def behaviour_danger(path: str, folders: Iterable[str]) -> str:
    """Return why no file of that name may be written, in any of these folders."""
    if SAFE_TARGET.match(path):
        return ""
    found = any(is_delicate(joined(folder, path)) for folder in folders)
    shown = "a file that is only known when it runs" if UNKNOWN in path else path
    return f"it writes {shown}, which sets how programs behave" if found else ""


def nearness_danger(path: str, folders: Iterable[str], root: str) -> str:
    """Return why adding to a file, or making a new one, needs a confirmation."""
    places = tuple(folders)
    found = appends(path.removeprefix("./")) or behaviour_danger(path, places)
    if found or SAFE_TARGET.match(path):
        return found
    wholes = [joined(folder, path) for folder in places]
    if any(UNKNOWN in whole for whole in wholes):
        return "it writes to a folder that is only known when it runs"
    outside = any(is_outside(whole, root) for whole in wholes)
    return f"it writes {path} in another folder" if outside else ""
