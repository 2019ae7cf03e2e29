"""Names of files that mean the same on every system and never leave a folder; which ones matter.

A path from an archive, a proposal or a package is a stranger's text. It is taken only if Linux,
macOS and Windows would all read it as the same plain steps downwards; everything else is refused,
on every system alike, so that a skill which installs here installs there too.

One table says for every reader which paths matter (credentials, agents' memory, places from where
things start), so that `~/.ssh/id_rsa` means the same in shell, Python and prose.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from prowess.data import compile_late, read_table
from prowess.skills.model import SKIPPED_FOLDERS

# Every file and folder that a writer needs on its way begins so.
TEMPORARY_PREFIX = ".prowess-"
MAX_DEPTH = 12
MAX_PATH_BYTES = 240
MAX_SEGMENT_BYTES = 255
SUPPORT_FOLDERS = ("references", "templates", "scripts", "assets")
_MIN_SUPPORT_SEGMENTS = 2
_MAX_SHOWN = 160

_DRIVE = compile_late(r"[A-Za-z]:")
_SLASHES = compile_late(r"[/\\]")
_FORBIDDEN = compile_late(r'[<>"|?*]')
_SURROGATE = compile_late("[\ud800-\udfff]")
_BYTES = range(0xDC80, 0xDD00)
# Letters and marks by category, yet nothing is drawn: two names would look like one.
_INVISIBLE = compile_late(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
_PORTS = (f"{port}{number}" for port in ("COM", "LPT") for number in range(10))
_DEVICES = frozenset(("CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$", *_PORTS))


# It names what happened to the path, and a caller turns it into an error of its own.
class PathRefused(ValueError):  # noqa: N818
    """A path that is not portable; `reason` is the code of the rule that it breaks."""

    def __init__(self, path: str, reason: str, problem: str) -> None:
        super().__init__(f"{shown(path)}: {problem}")
        self.path, self.reason, self.problem = path, reason, problem


def shown(text: str) -> str:
    r"""Return `text` fit for a log or a terminal: what cannot be seen is spelled as `\x1b`."""
    cut = text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."
    if cut.isprintable() and not _INVISIBLE.search(cut):
        return cut
    return "".join(map(_spell, cut))


def _spell(letter: str) -> str:
    if letter.isprintable() and not _INVISIBLE.match(letter):
        return letter
    # A byte of a name that is not UTF-8 arrives as half a surrogate pair.
    if ord(letter) in _BYTES:
        return f"\\x{ord(letter) - _BYTES.start + 0x80:02x}"
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def is_hidden(path: str) -> bool:
    """Return whether something is a writer's own, by its path: it is no part of any skill."""
    return path.startswith(TEMPORARY_PREFIX) or f"/{TEMPORARY_PREFIX}" in path


def segments(path: str, *, max_depth: int = MAX_DEPTH) -> tuple[str, ...]:
    """Return the steps of a relative path, split at both kinds of slash.

    Raises:
        PathRefused: the path is not relative, not portable, too long or too deep.
    """
    _check_whole(path)
    steps = tuple(_SLASHES.split(path))
    if len(steps) > max_depth:
        raise PathRefused(path, "deep", f"has {len(steps)} steps; at most {max_depth} are allowed.")
    for step in steps:
        _check_segment(path, step)
    if len(path.encode()) > MAX_PATH_BYTES:
        raise PathRefused(path, "long", f"is longer than {MAX_PATH_BYTES} bytes.")
    return steps


def collision_key(path: str) -> str:
    """Return what two paths share when some file system would take them for one file.

    The key is the case-folded canonical form, as Unicode defines caseless matching: taken apart,
    folded, put together again (NFC). Compatibility forms (NFKC) are left out on purpose: no file
    system takes `①` for `1`. Folding is wider than what NTFS or APFS do (`ß` meets `ss`): a clash
    too many is refused, none is missed.
    """
    folded = unicodedata.normalize("NFD", path.replace("\\", "/")).casefold()
    return unicodedata.normalize("NFC", folded)


def check_all(
    paths: Iterable[str], *, folders: Iterable[str] = (), max_depth: int = MAX_DEPTH
) -> tuple[tuple[str, ...], ...]:
    """Return the steps of every path of a set of files that can lie side by side anywhere.

    `folders` are paths of folders beside them, empty or not.

    Raises:
        PathRefused: a path is not portable, or two paths need the same place.
    """
    spelled: dict[str, str] = {}
    above: set[str] = set()
    for folder in folders:
        above.update(_places(folder, segments(folder, max_depth=max_depth), spelled))
    found: dict[str, tuple[str, ...]] = {}
    for path in paths:
        steps = segments(path, max_depth=max_depth)
        *parents, key = _places(path, steps, spelled)
        above.update(parents)
        if key in found:
            raise PathRefused(path, "duplicate", "is there twice.")
        found[key] = steps
    for key in found.keys() & above:
        raise PathRefused(spelled[key], "file-and-folder", "is a file and a folder too.")
    return tuple(found.values())


def _places(path: str, steps: tuple[str, ...], spelled: dict[str, str]) -> list[str]:
    """Return the key of each folder on the way and of the end, each spelled as it was before."""
    keys = []
    for end in range(1, len(steps) + 1):
        place = "/".join(steps[:end])
        keys.append(collision_key(place))
        # `References/a` and `references/b` clash already in their folder.
        first = spelled.setdefault(keys[-1], place)
        if place != first:
            problem = f"is the same file as {shown(first)} on some systems."
            raise PathRefused(path, "clash", problem)
    return keys


def support_file(path: str) -> tuple[str, ...]:
    """Return the steps of a support file: inside one of the four folders that a skill may have.

    Raises:
        PathRefused: it lies elsewhere, or is not portable.
    """
    steps = segments(path)
    if len(steps) < _MIN_SUPPORT_SEGMENTS or steps[0] not in SUPPORT_FOLDERS:
        names = ", ".join(SUPPORT_FOLDERS)
        raise PathRefused(path, "support-folder", f"must lie inside one of {names}.")
    for step in steps:
        _check_in_sight(path, step)
    return steps


def _check_in_sight(path: str, step: str) -> None:
    """Refuse what tools act on unseen (`.git`, `.npmrc`), and what scanners pass over."""
    plain = unicodedata.normalize("NFKC", step).casefold()
    if plain.startswith("."):
        raise PathRefused(path, "hidden", "has a name that begins with a dot.")
    if plain in SKIPPED_FOLDERS:
        raise PathRefused(path, "overlooked", f"lies in {plain}, which is for packages.")


def _check_whole(path: str) -> None:
    if not path:
        raise PathRefused(path, "empty", "is an empty path.")
    if path.startswith(("//", "\\\\")):
        raise PathRefused(path, "unc", "is a network or device path.")
    if path.startswith(("/", "\\")):
        raise PathRefused(path, "absolute", "is an absolute path.")
    if _DRIVE.match(path):
        raise PathRefused(path, "drive", "begins with a drive letter.")
    half = _SURROGATE.search(path)
    if half is not None:
        from_disk = ord(half[0]) in _BYTES
        problem = "is not UTF-8." if from_disk else "holds a lone surrogate, half a character."
        raise PathRefused(path, "surrogate", problem)
    if not path.isprintable() or _INVISIBLE.search(path):
        raise PathRefused(path, "invisible", "has a control, bidi or invisible character.")


def _check_segment(path: str, step: str) -> None:
    if step in {"", ".", ".."}:
        raise PathRefused(path, "segment", "has an empty, `.` or `..` step.")
    if ":" in step:
        raise PathRefused(path, "stream", "has a colon, which opens a stream on Windows.")
    if _FORBIDDEN.search(step):
        raise PathRefused(path, "character", 'has one of < > " | ? * in a name.')
    if step[0] == " " or step[-1] in " .":
        raise PathRefused(path, "edge", "has a name with a space or dot at its edge.")
    if len(step.encode()) > MAX_SEGMENT_BYTES:
        raise PathRefused(path, "long", f"has a name of more than {MAX_SEGMENT_BYTES} bytes.")
    _check_compatible(path, step)


def _check_compatible(path: str, step: str) -> None:
    """Refuse what an old interface would turn into another name: `COM¹`, wide dots and slashes."""
    plain = step if step.isascii() else unicodedata.normalize("NFKC", step)
    if plain in {".", ".."} or _SLASHES.search(plain):
        raise PathRefused(path, "segment", "has a look-alike of a slash or of dots.")
    if plain.partition(".")[0].rstrip(" ").upper() in _DEVICES:
        raise PathRefused(path, "reserved", "has a name that Windows keeps for a device.")


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


# By their bare names: files in which agents look for what they may do.
SETTINGS_FILES = frozenset(
    ("settings.json", "settings.local.json", ".mcp.json", "mcp.json", ".claude.json")
)


@lru_cache(maxsize=4096)
def is_agent_path(path: str) -> bool:
    """Whether `path` steers an agent: its settings, hooks, servers, rules or memory."""
    return _find("agent", path) is not None


def visible(text: str) -> str:
    """Return `text` whole, with everything that cannot be seen spelled out."""
    return text if text.isascii() and text.isprintable() else "".join(map(shown, text))


def content_hash(files: Mapping[str, bytes]) -> str:
    """Return a hash over every path and every byte; a skill that does not exist has no files."""
    digest = hashlib.sha256()
    # A name that is no UTF-8 arrives with lone surrogates, and still has a hash of its own.
    named = {path.encode("utf-8", "surrogatepass"): content for path, content in files.items()}
    for name, content in sorted(named.items(), key=lambda item: item[0]):
        # Every length in front, so that no two sets of files read the same.
        digest.update(b"%d:%s%d:" % (len(name), name, len(content)))
        digest.update(content)
    return digest.hexdigest()
