"""What the names of a skill's files give away, before any of them is read."""

import re
from collections.abc import Iterable, Iterator

from prowess.safety.paths import PathRefused, collision_key, segments, shown
from prowess.safety.sighting import Sighting
from prowess.safety.views import Spot, View

_LEAVES = frozenset(("unc", "absolute", "drive", "segment", "empty"))
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_IMPORTED = re.compile(r"(?i)(?:^|/)(?:(?:site|user)customize\.py|conftest\.py|[^/]*\.pth)\Z")
# A harmless ending, and behind it the one that counts.
_TWO_ENDINGS = re.compile(
    r"(?i)\.(?:pdf|docx?|xlsx?|pptx?|txt|md|csv|png|jpe?g|gif|webp|mp[34]|zip)\s*"
    r"\.(?:exe|scr|lnk|com|bat|cmd|vbs|hta|msi|pif|jar|command|app)\Z"
    r"|\.(?:pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|webp|mp[34])\s*\.(?:js|jse|ps1|sh|py|wsf)\Z"
    r"|\.\w{2,4}\s{8,}\.\w{2,5}\Z"
)


def spot_of(path: str) -> Spot:
    """Return the place for what concerns a file as a whole."""
    return Spot(View.raw(path, ""), 0, 0)


def name_sightings(path: str, *, max_depth: int, max_bytes: int) -> Iterator[Sighting]:
    """Yield what is wrong with one path."""
    flat = path.replace("\\", "/")
    try:
        steps = segments(path, max_depth=max_depth)
    except PathRefused as refused:
        rule = "path-traversal" if refused.reason in _LEAVES else "odd-name"
        yield Sighting(rule, spot_of(path), f"The path {refused.problem}")
    else:
        if "\\" in path:
            message = "The path has a backslash, which some systems take for a slash."
            yield Sighting("path-traversal", spot_of(path), message)
        elif len(path.encode()) > max_bytes or len(steps) > max_depth:
            yield Sighting("odd-name", spot_of(path), "The path is too long or too deep.")
    if _IMPORTED.search(flat):
        message = f"{shown(flat.rpartition('/')[2])} runs by itself when Python or a test starts."
        yield Sighting("import-time-file", spot_of(path), message)
    if _TWO_ENDINGS.search(flat) or _TURNS.search(path):
        message = "The name shows another kind of file than it is."
        yield Sighting("disguised-file", spot_of(path), message)


def collisions(paths: Iterable[str]) -> Iterator[Sighting]:
    """Yield the paths that some system takes for another path of the same skill."""
    spelt: dict[str, str] = {}
    for path in paths:
        for end in _ends(path):
            place = path[:end]
            first = spelt.setdefault(collision_key(place), place)
            if first != place:
                message = f"Some systems take it for {shown(first)}."
                yield Sighting("name-collision", spot_of(path), message)
                break


def _ends(path: str) -> Iterator[int]:
    at = path.find("/")
    while at >= 0:
        yield at
        at = path.find("/", at + 1)
    yield len(path)
