"""Which paths matter: credentials, agents' memory, places from where things start.

One table for every reader, so that `~/.ssh/id_rsa` means the same in shell, Python and prose.
"""

import re
from functools import cache, lru_cache

from prowess.data import read_table

_HOME = re.compile(
    r"^(?:~[\w.-]*|\$\{?HOME\}?|\$env:USERPROFILE|%USERPROFILE%|/home/[^/]+|/Users/[^/]+|/root"
    r"|[A-Za-z]:/Users/[^/]+)(?=/|$)",
    re.IGNORECASE,
)

# Longer than any path or name that means something; tables are not searched for those.
_LONGEST_PATH = 1024
_ONE_LETTER = re.compile(r"\[([\w.])\]")


@cache
def _read_patterns(group: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return what each pattern of a group stands for, and the pattern."""
    rows = read_table("safety/tables/sensitive.toml")[group].items()
    flags = 0 if group == "agent" else re.IGNORECASE
    return tuple(
        (what, re.compile(pattern, flags))
        for what, patterns in rows
        if what != "reason"
        # A line that begins with a blank goes on with the line above.
        for pattern in re.sub(r"\n +", "", patterns.strip()).splitlines()
    )


def _find(group: str, path: str) -> str | None:
    if len(path) > _LONGEST_PATH:
        return None
    flat = normal_path(path)
    return next((what for what, pattern in _read_patterns(group) if pattern.search(flat)), None)


def normal_path(path: str) -> str:
    """Return `path` with forward slashes and the home folder written as `~`."""
    flat = path.strip().strip("'\"`").replace("\\", "/")
    # A class of one letter is that letter: `id_r[s]a`.
    flat = _ONE_LETTER.sub(r"\1", flat) if "[" in flat else flat
    return _HOME.sub("~", flat, count=1)


@lru_cache(maxsize=4096)
def path_label(path: str) -> str | None:
    """Return the label of the secret that `path` holds (`credential:~/.ssh/id_rsa`), if any."""
    label = _find("secrets", path)
    return f"credential:{normal_path(path)}" if label == "credential" else label


@lru_cache(maxsize=4096)
def persist_kind(path: str) -> str | None:
    """Return how whatever is written to `path` comes to run by itself later, if it does."""
    return _find("persisting", path)


@lru_cache(maxsize=4096)
def is_agent_path(path: str) -> bool:
    """Whether `path` steers an agent: its settings, hooks, servers, rules or memory."""
    return _find("agent", path) is not None
