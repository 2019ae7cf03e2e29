"""What a person writes to say where a skill comes from, taken apart.

`owner/repo/path@ref` is GitHub's shorthand; everything else says by its beginning or its end what
it is. Nothing is looked up here: whether a path is a folder or a repository is told by the caller.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote, urlsplit

from prowess.errors import SourceError
from prowess.safety.paths import PathRefused, segments, shown

ARCHIVES = (".zip", ".skill", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tbz2", ".txz")
_SHORT = re.compile(r"(?P<owner>[A-Za-z0-9_.-]+)/(?P<repo>[A-Za-z0-9_.-]+)(?P<path>(?:/[^@]+)?)\Z")
_SCP = re.compile(r"[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:[^:]+\Z")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+-]*\Z")
_SLUG = re.compile(r"(?:@?[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*\Z", re.IGNORECASE)
_TREE = re.compile(r"(?P<repo>/[^/]+/[^/]+)/(?:-/)?tree/(?P<ref>[^/]+)(?P<path>(?:/.+)?)\Z")
_OCI = re.compile(
    r"(?P<host>[a-zA-Z0-9.-]+(?::\d+)?|\[[0-9a-f:]+\](?::\d+)?)"
    r"/(?P<name>[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?\Z"
)
_FORGES = ("github.com", "gitlab.com", "codeberg.org", "bitbucket.org")
_INDEX = "/.well-known/"
_MARKETPLACE = "marketplace.json"


class SourceKind(StrEnum):
    """How a source is read."""

    FOLDER = "folder"
    GIT = "git"
    ARCHIVE = "archive"
    WELL_KNOWN = "well-known"
    CLAWHUB = "clawhub"
    HUB = "hub"
    MARKETPLACE = "marketplace"
    NPM = "npm"
    OCI = "oci"


# Kinds whose names are looked up in a registry, which the url of the source names.
REGISTRIES = frozenset((SourceKind.CLAWHUB, SourceKind.HUB, SourceKind.NPM))


class LocalKind(StrEnum):
    """What lies at a path of this machine."""

    NOTHING = "nothing"
    FOLDER = "folder"
    REPOSITORY = "repository"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """A source: how it is read, where it is, which part of it, and which version."""

    asked: str
    kind: SourceKind
    url: str
    path: str = ""
    ref: str = ""
    # Of a repository: whether what lies in others, as its submodules, is fetched too.
    submodules: bool = False

    @property
    def is_local(self) -> bool:
        """True where nothing but this machine is asked."""
        return "://" not in self.url and not _SCP.match(self.url)


def read_source(asked: str, local: LocalKind = LocalKind.NOTHING) -> SourceSpec:
    """Return what `asked` means; `local` is what lies at that path.

    Raises:
        SourceError: it means nothing, or something that is not fetched.
    """
    if not asked.strip() or asked.startswith("-") or "\0" in asked:
        raise SourceError(
            shown(asked) or "''", "is no source: give a folder, a repository or a URL."
        )
    if local is not LocalKind.NOTHING:
        return _read_local(asked, local)
    scheme, colon, rest = asked.partition(":")
    if scheme in REGISTRIES and colon and not rest.startswith("//"):
        return _read_named(asked, SourceKind(scheme), rest)
    if scheme == "oci" and colon:
        return _read_oci(asked, rest.removeprefix("//"))
    if scheme == "marketplace" and colon:
        return SourceSpec(asked=asked, kind=SourceKind.MARKETPLACE, url=rest)
    if "://" in asked or _SCP.match(asked):
        return _read_address(asked)
    return _read_short(asked)


def _read_local(asked: str, local: LocalKind) -> SourceSpec:
    kind = {
        LocalKind.FOLDER: SourceKind.FOLDER,
        LocalKind.REPOSITORY: SourceKind.GIT,
        LocalKind.FILE: SourceKind.ARCHIVE,
    }[local]
    if local is LocalKind.FILE and asked.endswith(_MARKETPLACE):
        kind = SourceKind.MARKETPLACE
    elif local is LocalKind.FILE and not asked.lower().endswith(ARCHIVES):
        if asked.lower().endswith("skill.md"):
            raise SourceError(shown(asked), "is one file of a skill: give the folder it lies in.")
        endings = ", ".join(ARCHIVES)
        raise SourceError(shown(asked), f"is no archive: one ends in {endings}.")
    return SourceSpec(asked=asked, kind=kind, url=asked)


def _read_named(asked: str, kind: SourceKind, rest: str) -> SourceSpec:
    name, at, version = rest.rpartition("@")
    if not at or not name:
        name, version = rest, ""
    is_whole = kind is not SourceKind.HUB or "/" in name
    if not _SLUG.match(name) or not is_whole or (version and not _REF.match(version)):
        shape = "NAMESPACE/NAME" if kind is SourceKind.HUB else "NAME"
        raise SourceError(shown(asked), f"is no name of {kind}: write `{kind}:{shape}@VERSION`.")
    return SourceSpec(asked=asked, kind=kind, url="", path=name, ref=version)


def _read_oci(asked: str, rest: str) -> SourceSpec:
    found = _OCI.match(rest)
    if found is None:
        raise SourceError(shown(asked), "is no artifact: write `oci:HOST/NAME:TAG`.")
    url, tag = f"oci://{found['host']}/{found['name']}", found["digest"] or found["tag"] or ""
    return SourceSpec(asked=asked, kind=SourceKind.OCI, url=url, ref=tag)


def _read_short(asked: str) -> SourceSpec:
    plain, ref = _split_ref(asked)
    found = _SHORT.match(plain)
    if found is None or ".." in plain or plain.startswith("."):
        problem = (
            "is neither there nor a source: give a folder or an archive that exists, `owner/repo`,"
            " an https or ssh address, `hub:NAMESPACE/NAME`, `clawhub:NAME` or `npm:NAME`."
        )
        raise SourceError(shown(asked), problem)
    url = f"https://github.com/{found['owner']}/{found['repo'].removesuffix('.git')}.git"
    return _git(asked, url, found["path"].strip("/"), ref)


def _read_address(asked: str) -> SourceSpec:
    if _SCP.match(asked.rpartition("@")[0]) or _SCP.match(asked):
        plain, ref = asked, ""
        if _SCP.match(asked.rpartition("@")[0]):
            plain, _, ref = asked.rpartition("@")
        return _git(asked, plain, "", _check_ref(asked, ref))
    is_git = asked.startswith("git+")
    plain, mark, inner = asked.removeprefix("git+").partition("#")
    # Both orders are in use: `URL@ref#path` and `URL#path@ref`.
    if mark and _split_ref(plain)[1]:
        plain, ref = _split_ref(plain)
        url = f"{plain}#{inner}"
    else:
        url, ref = _split_ref(asked.removeprefix("git+"))
    parts = urlsplit(url)
    if parts.scheme in {"ssh", "git", "file"} or is_git or parts.path.endswith(".git"):
        url, _, inner = url.partition("#")
        return _git(asked, url, inner, ref)
    if parts.scheme not in {"https", "http"} or not parts.hostname:
        raise SourceError(shown(asked), "is no address that is fetched from: give an https one.")
    return _read_web(asked, url, ref)


def _read_web(asked: str, url: str, ref: str) -> SourceSpec:
    parts = urlsplit(url)
    tree = _TREE.match(parts.path)
    if parts.hostname in _FORGES and (tree or parts.path.strip("/").count("/") == 1):
        repo = tree["repo"] if tree else parts.path.rstrip("/")
        path, named = (tree["path"].strip("/"), tree["ref"]) if tree else ("", ref)
        return _git(asked, f"https://{parts.hostname}{repo}.git", unquote(path), named)
    if parts.path.lower().endswith(ARCHIVES):
        return SourceSpec(asked=asked, kind=SourceKind.ARCHIVE, url=asked)
    if parts.path.endswith(_MARKETPLACE):
        return SourceSpec(asked=asked, kind=SourceKind.MARKETPLACE, url=asked)
    if _INDEX in parts.path or parts.path.strip("/") == "":
        return SourceSpec(asked=asked, kind=SourceKind.WELL_KNOWN, url=url)
    if ref:
        return _git(asked, url, "", ref)
    problem = (
        "does not say what it is: end it in .git for a repository, in .zip or .tar.gz for an"
        " archive, or give the bare site for its index of skills."
    )
    raise SourceError(shown(asked), problem)


def _git(asked: str, url: str, path: str, ref: str) -> SourceSpec:
    parts = urlsplit(url) if "://" in url else None
    if parts is not None and parts.password:
        raise SourceError(
            shown(url.rpartition("@")[2]), "holds a password: let git's helper keep it."
        )
    try:
        plain = "/".join(segments(path)) if path else ""
    except PathRefused as error:
        raise SourceError(shown(asked), f"has no such path inside: {error.problem}") from error
    return SourceSpec(
        asked=asked, kind=SourceKind.GIT, url=url, path=plain, ref=_check_ref(asked, ref)
    )


def _split_ref(text: str) -> tuple[str, str]:
    """Split off what stands behind the last `@`, unless that is a user's name in an address."""
    plain, at, ref = text.rpartition("@")
    if (
        not at
        or ("://" in text and "://" not in plain)
        or ("://" in plain and plain.endswith("//"))
    ):
        return text, ""
    after = plain.partition("://")[2]
    if "://" in plain and "/" not in after:
        # `ssh://git@host/repo`: the sign belongs to the host.
        return text, ""
    return plain, _check_ref(text, ref)


def _check_ref(asked: str, ref: str) -> str:
    if ref and (not _REF.match(ref) or ".." in ref):
        raise SourceError(shown(asked), f"{shown(ref)!r} is no branch, tag or commit.")
    return ref
