"""Turns an install entry of a skill into the exact arguments of one tool, or refuses it.

A package's name comes from a stranger and ends up on a command line. So the result is a list of
arguments and never a line for a shell; each value must match the whole of a narrow pattern for its
kind; and where the tool knows `--`, the value stands behind it. Nothing is run here.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from prowess.errors import InstallArgumentError
from prowess.safety.paths import PathRefused, segments
from prowess.safety.web_addresses import WebAddress, host_problem, is_listed, read_address, shown
from prowess.skills.model import InstallSpec

MOST_NAME_CHARACTERS = 214
MOST_STRIP_COMPONENTS = 10
MOST_FILE_NAME_CHARACTERS = 120
MOST_FOLDER_DEPTH = 8
_MOST_SHOWN = 80

# Scripts of packages never run: an install must not be a way to run a stranger's code.
_NODE = {
    "npm": ("npm", "install", "--global", "--ignore-scripts", "--no-fund", "--no-audit", "--"),
    # These do not take `--` before a package, or read it as something else.
    "pnpm": ("pnpm", "add", "--global", "--ignore-scripts"),
    "yarn": ("yarn", "global", "add", "--ignore-scripts"),
    "bun": ("bun", "add", "--global", "--ignore-scripts"),
}
_NODE_NAME = re.compile(
    r"(?:@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*"
    r"(?:@[~^]?[A-Za-z0-9][A-Za-z0-9.+-]*)?"
)
_GO_ELEMENT = r"[A-Za-z0-9_~](?:[A-Za-z0-9._~-]*[A-Za-z0-9_~-])?"
_GO_MODULE = re.compile(
    rf"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9-]+(?:/{_GO_ELEMENT})+"
    r"@[A-Za-z0-9][A-Za-z0-9._+-]*"
)
_UV_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_UV_VERSION = r"(?:==|!=|<=|>=|~=|<|>)[A-Za-z0-9][A-Za-z0-9.+!_-]*(?:\.\*)?"
_UV_REQUIREMENT = re.compile(
    rf"{_UV_NAME}(?:\[{_UV_NAME}(?:,{_UV_NAME}){{0,19}}\])?"
    rf"(?:{_UV_VERSION}(?:,{_UV_VERSION}){{0,9}})?"
)
_BREW_PART = r"[a-z0-9][a-z0-9._+-]*"
_BREW_NAME = re.compile(rf"(?:{_BREW_PART}/{_BREW_PART}/)?[a-z0-9][a-z0-9._+@-]*")
# Tools take such a name for a file beside them, not for a package.
_ARCHIVE_END = r"tgz|tbz2?|txz|tar(?:\.[a-z0-9]+)?|zip|whl|egg|gz|bz2|xz|zst"
_FILE_LIKE = re.compile(rf"\.(?:{_ARCHIVE_END})$", re.IGNORECASE)
_RECIPE_LIKE = re.compile(rf"\.(?:{_ARCHIVE_END}|rb|json)$", re.IGNORECASE)
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+@=~-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ARCHIVES = {
    ".zip": "zip",
    ".tar.gz": "tar.gz",
    ".tgz": "tar.gz",
    ".tar.bz2": "tar.bz2",
    ".tbz2": "tar.bz2",
    ".tar.xz": "tar.xz",
    ".txz": "tar.xz",
    ".tar": "tar",
}
# Where `go` fetches a module whose host says nothing else.
_HTTPS_PORT = 443
_OUTSIDE = "Refusing to install outside the skill tools directory"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPlan:
    """One tool, what it is started with, and what a person should know before."""

    tool: str
    argv: tuple[str, ...]
    # Set on top of a clean environment.
    environment: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadPlan:
    """One file to fetch, and what becomes of it inside the skill's own tools folder."""

    url: str
    file_name: str
    # "zip", "tar", "tar.gz", "tar.bz2", "tar.xz", or "" where it is no archive.
    archive: str = ""
    extract: bool = False
    strip_components: int = 0
    # Relative, with forward slashes; "" is the tools folder itself.
    target_dir: str = ""
    sha256: str = ""
    notes: tuple[str, ...] = ()


def plan_install(
    spec: InstallSpec,
    *,
    node_manager: str = "npm",
    tools_dir: str = "",
    private_hosts: Collection[str] = (),
) -> InstallPlan | DownloadPlan:
    """Return what to run or fetch for one install entry.

    Raises:
        InstallArgumentError: the entry holds a value that is not safe to pass on.
    """
    if spec.kind == "brew":
        return brew_plan(spec.target, cask=spec.cask)
    if spec.kind == "node":
        return node_plan(spec.target, node_manager)
    if spec.kind == "go":
        return go_plan(spec.target, private_hosts)
    if spec.kind == "uv":
        return uv_plan(spec.target)
    if spec.kind == "download":
        return download_plan(spec, tools_dir, private_hosts)
    raise InstallArgumentError(
        _quote(spec.kind), "is no known kind: use brew, node, go, uv or download."
    )


def brew_plan(name: str, *, cask: bool = False) -> InstallPlan:
    """Plan a formula or a cask, given as `name` or `owner/tap/name`.

    Raises:
        InstallArgumentError: it is no such name.
    """
    _check("brew", name, _BREW_NAME, "a formula or cask in small letters: jq, owner/tap/tool")
    kind = "--cask" if cask else "--formula"
    notes = ("a recipe of a third party's tap is code that runs during the install",)
    return InstallPlan(
        tool="brew",
        argv=("brew", "install", kind, "--", name),
        environment=(("HOMEBREW_NO_ANALYTICS", "1"), ("HOMEBREW_NO_INSECURE_REDIRECT", "1")),
        notes=notes if "/" in name else (),
    )


def node_plan(name: str, manager: str = "npm") -> InstallPlan:
    """Plan a package of the npm registry, by the manager that the operator prefers.

    Raises:
        InstallArgumentError: it is no name in the registry, or no such manager.
    """
    if manager not in _NODE:
        known = ", ".join(_NODE)
        raise InstallArgumentError("node", f"{_quote(manager)} is no manager: use {known}.")
    _check("node", name, _NODE_NAME, "a name in the registry: tool, @scope/tool, tool@1.2.3")
    return InstallPlan(
        tool=manager,
        argv=(*_NODE[manager], name),
        environment=(("npm_config_ignore_scripts", "true"),),
        notes=("scripts of the package do not run",),
    )


def go_plan(module: str, private_hosts: Collection[str] = ()) -> InstallPlan:
    """Plan a Go module, which must say its version and be on a public host, or on a listed one.

    Raises:
        InstallArgumentError: it is no module path with a version, or on a host of the inside.
    """
    _check("go", module, _GO_MODULE, "a module with a version: example.com/owner/tool@v1.2.3")
    host = module.partition("/")[0]
    problem = "" if is_listed(host, _HTTPS_PORT, private_hosts) else host_problem(host)
    if problem:
        allowed = "only modules on public hosts and on those of skills.install.privateHosts"
        raise InstallArgumentError("go", f"{_quote(module)} {problem}: {allowed}.")
    return InstallPlan(tool="go", argv=("go", "install", "--", module))


def uv_plan(requirement: str) -> InstallPlan:
    """Plan a tool of the Python index, with extras and versions.

    Raises:
        InstallArgumentError: it is no such requirement.
    """
    _check("uv", requirement, _UV_REQUIREMENT, "a package: tool, tool[extra], tool>=1.2,<2")
    return InstallPlan(
        tool="uv",
        # A source distribution is built by running it.
        argv=("uv", "tool", "install", "--no-build", "--", requirement),
        notes=("only wheels are installed: to build a package is to run its code",),
    )


def _check(kind: str, value: str, pattern: re.Pattern[str], wanted: str) -> None:
    if len(value) > MOST_NAME_CHARACTERS:
        raise InstallArgumentError(
            kind, f"the name is longer than {MOST_NAME_CHARACTERS} characters: give {wanted}."
        )
    if not pattern.fullmatch(value) or ".." in value:
        raise InstallArgumentError(kind, f"{_quote(value)} is not {wanted}.")
    if kind != "go" and _is_file(kind, value):
        raise InstallArgumentError(
            kind, f"{_quote(value)} would be read as a file, not as a package: give {wanted}."
        )


def _is_file(kind: str, value: str) -> bool:
    # Names, versions and extras each count: `tool@evil.tgz` installs the file as `tool`.
    pattern = _RECIPE_LIKE if kind == "brew" else _FILE_LIKE
    return any(pattern.search(part) for part in re.split(r"[@\[\],=<>!~/]", value))


def download_plan(
    spec: InstallSpec, tools_dir: str = "", private_hosts: Collection[str] = ()
) -> DownloadPlan:
    """Plan a file from the web.

    Args:
        spec: the entry.
        tools_dir: where an absolute `targetDir` must lie.
        private_hosts: what the operator lists in `skills.install.privateHosts`.

    Raises:
        InstallArgumentError: address, name, archive, folder or checksum is not usable.
    """
    address = read_address(spec.target, private=private_hosts)
    if isinstance(address, str):
        allowed = "only public https is fetched, and what skills.install.privateHosts lists"
        raise InstallArgumentError("download", f"{shown(spec.target)} {address}: {allowed}.")
    if spec.sha256 and not _SHA256.fullmatch(spec.sha256):
        raise InstallArgumentError("download", "sha256 is not 64 hexadecimal characters.")
    if not 0 <= spec.strip_components <= MOST_STRIP_COMPONENTS:
        raise InstallArgumentError(
            "download", f"stripComponents is not between 0 and {MOST_STRIP_COMPONENTS}."
        )
    file_name = _file_name(address.target)
    archive = _archive(spec.archive, file_name)
    if spec.extract and not archive:
        raise InstallArgumentError(
            "download", f"{file_name} is no archive that can be extracted: say which in `archive`."
        )
    return DownloadPlan(
        url=address.url,
        file_name=file_name,
        archive=archive,
        extract=bool(archive) if spec.extract is None else spec.extract,
        strip_components=spec.strip_components,
        target_dir=_target_dir(spec.target_dir, tools_dir),
        sha256=spec.sha256,
        notes=_doubts(spec, address, private_hosts),
    )


def _doubts(
    spec: InstallSpec, address: WebAddress, private_hosts: Collection[str]
) -> tuple[str, ...]:
    found = [] if spec.sha256 else ["no sha256 is given: what comes cannot be checked"]
    if is_listed(address.host, address.port, private_hosts):
        found.append(f"it comes from {address.authority}, which skills.install.privateHosts lists")
    if address.scheme == "http" and not spec.sha256:
        found.append("it comes over plain http: anybody on the way can exchange it")
    return tuple(found)


def _file_name(target: str) -> str:
    name = target.partition("?")[0].rstrip("/").rpartition("/")[2]
    if not name or not is_portable_name(name):
        raise InstallArgumentError(
            "download", f"{_quote(name)}, the end of the address, is no portable file name."
        )
    return name


def is_portable_name(name: str) -> bool:
    """Say whether a name is plain letters and digits, and means the same file on every system."""
    try:
        segments(name, max_depth=1)
    except PathRefused:
        return False
    return len(name) <= MOST_FILE_NAME_CHARACTERS and _FILE_NAME.fullmatch(name) is not None


def _archive(given: str, file_name: str) -> str:
    if not given:
        small = file_name.lower()
        return next((kind for end, kind in _ARCHIVES.items() if small.endswith(end)), "")
    found = _ARCHIVES.get("." + given.lower().removeprefix("."))
    if found is None:
        known = ", ".join(dict.fromkeys(_ARCHIVES.values()))
        raise InstallArgumentError("download", f"archive is {_quote(given)}: use one of {known}.")
    return found


def _target_dir(given: str, tools_dir: str) -> str:
    inner = given
    if tools_dir and f"{given}/".startswith(f"{tools_dir.rstrip('/')}/"):
        inner = given[len(tools_dir.rstrip("/")) :].lstrip("/")
    # Both kinds of slashes part names: what one system reads as a name is a path to another.
    parts = re.split(r"[/\\]", inner.removeprefix("./").rstrip("/"))
    if inner in {"", ".", "./"}:
        parts = []
    if len(parts) > MOST_FOLDER_DEPTH or not all(is_portable_name(part) for part in parts):
        raise InstallArgumentError("download", f"{_OUTSIDE}: targetDir is {_quote(given)}.")
    return "/".join(parts)


def _quote(value: str) -> str:
    """Return a stranger's text so that it can be printed."""
    return ascii(value[:_MOST_SHOWN]) + ("…" if len(value) > _MOST_SHOWN else "")
