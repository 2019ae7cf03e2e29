"""Facts about packages and variables to sightings: where code is taken from, and what loads it.

A name may be made to be taken for another, of a trusted skill or of a package that everybody uses.
One that is itself trusted, or a real package that happens to be near another one, is never called a
look-alike: what is the same is a matter of precedence, not of deceit.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from prowess.data import read_table, read_words
from prowess.reading.views import read_loose_letters
from prowess.safety.environment import denied_group
from prowess.safety.facts import Act, Fact, Noted, Scene
from prowess.safety.hosts import find_host, find_service, is_cheap_host, is_local, is_raw_address
from prowess.safety.model import Confidence, Level, Sighting

_FILE = "safety/judging/packages.toml"
# Longer names are never compared: no trusted name comes near, and a hostile one costs nothing.
_MAX_NAME = 100
# Below this many letters, one letter of difference is another word.
_MIN_LETTERS = 5
# From here on, two slips are looked for, if one of them swaps neighbours.
_LONG_NAME, _LONG_SLIPS = 9, 2
_SEPARATORS = re.compile(r"[\W_]+")
_DIGITS = re.compile("[0-9]+")
_LEET = str.maketrans("01345789|!$@", "oleastbgllsa")
# Letters and pairs that look alike in many fonts; both names go through it.
_SAME_SHAPE = str.maketrans("i", "l")
_SAME_PAIRS = (("rn", "m"), ("vv", "w"))
# Control, format, surrogate, private, unassigned; variation selectors are marks and go later.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn"))


def strip_disguise(name: str) -> str:
    """Return a name with every disguise taken off: what two names have that look the same."""
    return _reductions(name)[-1]


def find_lookalike(name: str, trusted: Collection[str]) -> str | None:
    """Return the trusted name that `name` could be taken for; None where it is one itself."""
    if name in trusted or len(name) > _MAX_NAME:
        return None
    for reduced, *others in zip(_reductions(name), *map(_reductions, trusted), strict=True):
        for other, against in zip(trusted, others, strict=True):
            if reduced and reduced == against:
                return other
    joined = _join(name)
    return next((other for other in trusted if _is_slip(joined, _join(other))), None)


@lru_cache(maxsize=1024)
def _reductions(name: str) -> tuple[str, ...]:
    """Return the name with one more disguise taken off each time.

    First what cannot be seen, then capitals and marks, letters of other alphabets, separators, and
    at last digits and shapes that look like letters.
    """
    visible = _drop_unseen(name)
    folded = _fold(visible)
    latin = _write_latin(folded)
    joined = _SEPARATORS.sub("", latin)
    return visible, folded, latin, joined, _fold_shapes(joined)


def _join(name: str) -> str:
    """Return the letters of a name as a reader takes them."""
    return _reductions(name)[3]


def _fold_shapes(joined: str) -> str:
    text = joined.translate(_LEET).translate(_SAME_SHAPE)
    if len(text) >= _MIN_LETTERS:
        for pair, letter in _SAME_PAIRS:
            text = text.replace(pair, letter)
    return text


def _drop_unseen(name: str) -> str:
    if name.isascii() and name.isprintable():
        return name.strip()
    kept = (char for char in name if unicodedata.category(char) not in _UNSEEN)
    return "".join(kept).strip()


def _fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    whole = unicodedata.normalize("NFKC", text).casefold()
    marked = unicodedata.normalize("NFD", whole)
    return "".join(char for char in marked if not unicodedata.category(char).startswith("M"))


def _write_latin(text: str) -> str:
    """Write each letter of another alphabet as the Latin one that it looks like."""
    if text.isascii():
        return text
    table = read_loose_letters()
    return "".join(table.get(char, char) for char in text).lower()


def _is_slip(one: str, other: str) -> bool:
    """Return whether one letter was changed, dropped, doubled or swapped with its neighbour."""
    shorter, longer = sorted((len(one), len(other)))
    if shorter < _MIN_LETTERS or longer - shorter > _LONG_SLIPS:
        return False
    # Another number is another version.
    if _DIGITS.sub("0", one).rstrip("0") == _DIGITS.sub("0", other).rstrip("0"):
        return False
    distance = _distance(one, other, swaps=True)
    if distance <= 1:
        return True
    if distance > _LONG_SLIPS or shorter < _LONG_NAME:
        return False
    return _distance(one, other, swaps=False) > distance


def _distance(one: str, other: str, *, swaps: bool) -> int:
    """Return how many letters were changed, dropped or added, or neighbours swapped."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, char in enumerate(one, start=1):
        now = [row]
        for column, against in enumerate(other, start=1):
            cost = min(last[column] + 1, now[column - 1] + 1, last[column - 1] + (char != against))
            if swaps and before and column > 1 and char != against:
                swapped = one[row - 2] == against and other[column - 2] == char
                cost = min(cost, before[column - 2] + 1) if swapped else cost
            now.append(cost)
        before, last = last, now
    return last[-1]


@dataclass(frozen=True, slots=True)
class _Registry:
    """The names of one registry, and what each looks like with letters left out."""

    # Popular ones, and real ones that are near a popular one.
    real: frozenset[str]
    scopes: frozenset[str]
    by_shape: Mapping[str, str]
    by_gap: Mapping[str, tuple[str, ...]]
    longest: int

    def near(self, name: str) -> str | None:
        """Return the popular package that `name` is made like."""
        joined = _join(name)
        found = self.by_shape.get(_fold_shapes(joined))
        if found is not None:
            return found
        if len(joined) > self.longest + _LONG_SLIPS:
            return None
        # Two names that differ by a slip are the same once each has lost a letter: so a lookup
        # for each letter replaces a comparison with each package.
        for gap in _gaps(joined):
            for other in self.by_gap.get(gap, ()):
                if _is_slip(joined, _join(other)):
                    return other
        return None


def find_package_lookalike(name: str, manager: str) -> str | None:
    """Return the popular package that a dependency could be taken for; None for a real one."""
    npm = manager.lower() in _NPM_MANAGERS
    if not npm and manager.lower() not in _PIP_MANAGERS:
        return None
    bare, known = _read_package(name, npm=npm), _registry(npm=npm)
    if len(bare) > _MAX_NAME:
        return None
    if npm and bare.startswith("@"):
        scope = bare[1:].partition("/")[0]
        # A scope belongs to its owner: below it, any name is theirs.
        near = None if scope in known.scopes else find_lookalike(scope, known.scopes)
        return f"@{near}" if near else None
    return None if bare in known.real else known.near(bare)


def _read_package(name: str, *, npm: bool) -> str:
    """Return the bare name of a dependency as written: no version, no extras."""
    text = name.strip().lower()
    if npm:
        at = text.find("@", 1)
        return text[:at] if at > 0 else text
    return _PIP_SEPARATORS.sub("-", _PIP_END.split(text, maxsplit=1)[0].strip())


def _gaps(joined: str) -> set[str]:
    """Return the name, and all that is left where one letter is dropped; two from a long one."""
    gaps = {joined, *_drop_each(joined)}
    if len(joined) >= _LONG_NAME:
        gaps.update(twice for once in tuple(gaps) for twice in _drop_each(once))
    return gaps


def _drop_each(text: str) -> Iterator[str]:
    return (text[:index] + text[index + 1 :] for index in range(len(text)))


@lru_cache(maxsize=2)
def _registry(*, npm: bool) -> _Registry:
    names = read_table(_FILE)["npm" if npm else "pypi"]
    popular = names["popular"].split()
    shapes: dict[str, str] = {}
    gaps: dict[str, list[str]] = {}
    for name in popular:
        joined = _join(name)
        shapes.setdefault(_fold_shapes(joined), name)
        if len(joined) >= _MIN_LETTERS:
            for gap in _gaps(joined):
                gaps.setdefault(gap, []).append(name)
    return _Registry(
        real=frozenset((*popular, *names["real"].split())),
        scopes=read_words(names.get("scopes", "")),
        by_shape=shapes,
        by_gap={gap: tuple(names) for gap, names in gaps.items()},
        longest=max(map(len, gaps)),
    )


_PIP_MANAGERS = frozenset(
    ("pip", "pip3", "pipx", "pipenv", "uv", "uvx", "poetry", "pdm", "rye", "hatch", "pypi")
)
_NPM_MANAGERS = frozenset(("npm", "npx", "yarn", "pnpm", "pnpx", "bun", "bunx"))
_PIP_SEPARATORS = re.compile(r"[-_.]+")
_PIP_END = re.compile(r"[\[\]=<>!~;@,( ]")


# The look-up of one name takes a tenth of a millisecond; no honest skill has so many.
_MOST_PACKAGES = 2000
_MODEL_ENDPOINT = re.compile(r"_(?:BASE_URL|API_BASE|ENDPOINT|HOST)$")
_INDEX_VARIABLE = re.compile(
    r"^(?:GOPROXY|PIP_INDEX_URL|PIP_EXTRA_INDEX_URL|UV_INDEX_URL|NPM_CONFIG_REGISTRY|YARN_REGISTRY"
    r"|CARGO_REGISTRIES_\w+)$",
    re.IGNORECASE,
)
# Allocators and accelerators that are preloaded everywhere, and libraries of the system.
_HARMLESS_PRELOAD = re.compile(
    r"jemalloc|tcmalloc|mimalloc|libgomp|libasan|libstdc|eatmydata|faketime|tsocks|proxychains|^/usr/lib"
    r"|^$|^''$|^\"\"$"
)


def judge_packages(scene: Scene) -> Iterator[tuple[Sighting, Noted]]:
    """Yield where a skill takes code from that its user did not choose."""
    left = _MOST_PACKAGES
    for act, judge in _JUDGES.items():
        for noted in scene.all(act):
            left -= act is Act.INSTALL
            seen = judge(noted) if left >= 0 else None
            if seen:
                yield seen, noted


def _judge_setenv(noted: Noted) -> Sighting | None:
    fact = noted.fact
    if _INDEX_VARIABLE.search(fact.subject):
        return _registry_packages(replace(noted, fact=replace(fact, act=Act.REGISTRY)))
    is_endpoint = _MODEL_ENDPOINT.search(fact.subject)
    if is_endpoint and denied_group(fact.subject) == "model_and_cloud_redirect":
        return _endpoint(fact)
    if not _loads_code(fact):
        return None
    # In front of one command it is a debugger's tool; exported it stays.
    exported = re.search(r"\bexport\b|\bsetx?\b|\$env:", fact.spot.text)
    own = re.search(r"(?:assets|scripts|references|templates)/", fact.target)
    level = None if exported or own or noted.setting.place != "fence" else Level.WARN
    message = f"makes every later program load code: {fact.subject}"
    return Sighting("loader-env", fact.spot, message, level=level)


def _endpoint(fact: Fact) -> Sighting | None:
    host = find_host(fact.target)
    makers = tuple(read_table(_FILE)["endpoints"]["hosts"].split())
    if not host or is_local(host) or host.endswith(makers):
        return None
    shipped = fact.spot.path.endswith((".json", ".toml", ".yaml", ".yml", ".env"))
    level = None if shipped else Level.WARN
    message = f"sends the agent's own traffic to {host}"
    return Sighting("loader-env", fact.spot, message, level=level)


def _loads_code(fact: Fact) -> bool:
    pattern = read_table(_FILE)["loads"].get(fact.subject.upper())
    if not pattern or not re.search(pattern, fact.target):
        return False
    return not _HARMLESS_PRELOAD.search(fact.target)


def _judge_install(noted: Noted) -> Sighting | None:
    fact = noted.fact
    if "://" in fact.target:
        return _from_address(fact)
    name = re.split(r"[\[=<>!~;@ ]", fact.target.lstrip("@"), maxsplit=1)[0]
    name = f"@{name}" if fact.target.startswith("@") else name
    if name and (other := find_package_lookalike(name, fact.subject)):
        message = f"{name} looks like {other}"
        return Sighting("lookalike-package", fact.spot, message, Confidence.MEDIUM)
    return _judge_foreign(fact, name)


# A gap to fill in, or a folder of the user's own.
_NO_PACKAGE = re.compile(r"[.~]?/|\.\.?$|[<{$\[]|.*\.\.\.|-|[A-Z_]+$|[A-Za-z]:\\")


def _judge_foreign(fact: Fact, name: str) -> Sighting | None:
    """Whether code is run that neither the user nor a keeper of packages has chosen."""
    manager = fact.subject.lower()
    if _NO_PACKAGE.match(fact.target) and not fact.flow & {"remote"}:
        return None
    npm = manager in _NPM_MANAGERS
    if npm or manager in _PIP_MANAGERS:
        known, bare = _registry(npm=npm), _read_package(name, npm=npm)
        chosen = bare in known.real or bare[1:].partition("/")[0] in known.scopes
    else:
        curated = manager in read_table(_FILE)["curated"]["managers"].split()
        # A name below another is somebody's own shelf: a tap, an owner, an address.
        chosen = curated and "/" not in fact.target
    if chosen and "remote" not in fact.flow:
        return None
    return Sighting("foreign-code", fact.spot, f"fetches {fact.target} and has its code run")


def _judge_addition(noted: Noted) -> Sighting | None:
    """An agent's own command that takes in a server, a plugin or a skill."""
    fact = noted.fact
    if not re.search(r" (?:mcp|plugins?|skills?|extensions?) (?:add|install|set)", fact.subject):
        return None
    return Sighting("foreign-code", fact.spot, f"adds to an agent: {fact.subject}")


def _from_address(fact: Fact) -> Sighting | None:
    url = fact.target[fact.target.find("http") :] if "http" in fact.target else fact.target
    host = find_host(url)
    if is_raw_address(host):
        message = f"installs from the bare address {host}"
        return Sighting("raw-ip-download", fact.spot, message)
    if url.startswith("http://") and not is_local(host):
        message = "installs a package over a line that anybody can change"
        return Sighting("unsafe-source", fact.spot, message)
    is_file = re.search(r"\.(?:whl|tar\.gz|tgz|zip)(?:$|[#?])", url)
    if is_file and not is_local(host) and not find_service(url):
        message = f"installs a package straight from {host}"
        return Sighting("unsafe-source", fact.spot, message, Confidence.MEDIUM)
    return None if is_local(host) else _judge_foreign(fact, url)


def _registry_packages(noted: Noted) -> Sighting | None:
    fact = noted.fact
    host = find_host(fact.target)
    indexes = read_table(_FILE)["indexes"]["hosts"].split()
    known = any(host == index or host.endswith(f".{index}") for index in indexes)
    if not host or known or is_local(host):
        return None
    # A company has an index of its own; it has no need to be reached in the open.
    is_open = fact.target.partition("//")[0].endswith("http:") or is_raw_address(host)
    # Nor does it lie under an ending that costs next to nothing.
    is_open = is_open or is_cheap_host(host)
    level = None if is_open else Level.WARN
    message = f"takes packages from {host}"
    return Sighting("registry-redirect", fact.spot, message, Confidence.MEDIUM, level)


_JUDGES: dict[Act, Callable[[Noted], Sighting | None]] = {
    Act.SETENV: _judge_setenv,
    Act.INSTALL: _judge_install,
    Act.REGISTRY: _registry_packages,
    Act.TAMPER: _judge_addition,
}
