"""Addresses of skills: `skill://<name>/<file>`, where the name is the one in the frontmatter.

An address names a file of a manifest and is never joined to a folder, so nothing in it can lead
anywhere. One file has one address: what is spelled in another way names nothing.
"""

from typing import NamedTuple
from urllib.parse import quote, unquote

SCHEME = "skill://"
SKILL_FILE = "SKILL.md"
_LONGEST = 4_096


class SkillUri(NamedTuple):
    """The name of a skill, and a path inside it; an empty path is the skill's own folder."""

    name: str
    path: str


def file_uri(name: str, path: str = SKILL_FILE) -> str:
    """Return the address of a file, or of a folder where the path is empty or ends in a slash.

    Raises:
        UnicodeEncodeError: the name or the path is no text (a file name may be any bytes).
    """
    return f"{SCHEME}{quote(name, safe='')}/{quote(path)}"


def parse(uri: str) -> SkillUri | None:
    """Return what an address names, None where it is none of a skill."""
    if not uri.startswith(SCHEME) or len(uri) > _LONGEST:
        return None
    name, _, path = uri[len(SCHEME) :].partition("/")
    try:
        found = SkillUri(unquote(name, errors="strict"), unquote(path, errors="strict"))
        is_own = file_uri(*found) == (uri if path or uri.endswith("/") else f"{uri}/")
    except UnicodeError:
        return None
    return found if is_own and found.name else None
