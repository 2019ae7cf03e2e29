"""Which addresses of the web may be reached: pure checks of a URL and of a resolved address.

A name on the internet may resolve to a machine on the inside, and a number may be written in ways
that only some programs read as an address. So a URL is checked as text, and what its host resolves
to is checked again; `host.downloads` then connects to exactly that.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from prowess.data import read_table

_FILE = "safety/tables/web_addresses.toml"
MOST_URL_CHARACTERS = 8_192
LOCAL_NAME = "localhost"
_MOST_SHOWN = 200
_PORTS = {"https": 443, "http": 80}
_PLAIN = re.compile(r"[!-~]+")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_DOTTED = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}")
# What some programs read as a number and thus as an address: 2130706433, 0x7f000001, 0177.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_AUTHORITY = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")
_GLOBAL_6 = ip_network("2000::/3")


@dataclass(frozen=True, slots=True)
class WebAddress:
    """A URL in its parts, each of them safe to use."""

    scheme: str
    host: str
    port: int
    # Path and query, as they are asked for.
    target: str
    url: str

    @property
    def authority(self) -> str:
        """Host and port as a `Host` header names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS.get(self.scheme) else f"{host}:{self.port}"


def read_address(
    url: str, schemes: Collection[str] = ("https",), private: Collection[str] = ()
) -> WebAddress | str:
    """Return the parts of `url`, or what is wrong with it.

    Args:
        url: an address as a stranger wrote it.
        schemes: the schemes that are taken.
        private: hosts that the operator vouches for, as `is_listed` reads them: they may be named
            by any address, and by plain http.
    """
    if len(url) > MOST_URL_CHARACTERS:
        return f"is longer than {MOST_URL_CHARACTERS} characters"
    # Before splitting: the parser drops line breaks and tabs without a word.
    if not _PLAIN.fullmatch(url) or "\\" in url:
        return "holds spaces, control characters, backslashes or letters outside ASCII"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "is no address"
    host, target = str(parts.hostname or ""), parts.path or "/"
    known = is_listed(host, port or _PORTS.get(parts.scheme, 0), private)
    problem = _scheme_problem(parts, _PORTS if known else schemes) or _parts_problem(parts, port)
    problem = problem or ("" if known else host_problem(host))
    if problem:
        return problem
    target += f"?{parts.query}" if parts.query else ""
    return WebAddress(parts.scheme, host, port or _PORTS[parts.scheme], target, url)


def is_host_entry(entry: str) -> bool:
    """Say whether an entry of a list of hosts is one: `host` or `host:port`, and nothing more."""
    if not _AUTHORITY.fullmatch(entry):
        return False
    try:
        named = urlsplit(f"//{entry}")
        return bool(named.hostname) and named.port != 0
    except ValueError:
        # A port that is none, or brackets around what is no address.
        return False


def is_listed(host: str, port: int, hosts: Collection[str]) -> bool:
    """Say whether `hosts` has this one: as `host` for each of its ports, or as `host:port`."""
    # Anything else in an entry would be read as a part of some other host.
    listed = [urlsplit(f"//{entry}") for entry in hosts if is_host_entry(entry)]
    return any(one.hostname == host.lower() and one.port in {None, port} for one in listed)


def _scheme_problem(parts: SplitResult, schemes: Collection[str]) -> str:
    if parts.scheme in schemes and parts.scheme in _PORTS:
        return ""
    return f"is not {' or '.join(sorted(schemes))}"


def _parts_problem(parts: SplitResult, port: int | None) -> str:
    if "@" in parts.netloc:
        return "holds a user name or password: nothing is sent to a host that a skill names"
    if port == 0 or parts.netloc.endswith(":"):
        return "has no usable port"
    # Brackets are for addresses; some parsers let a name through in them.
    unusable = "[" in parts.netloc and ":" not in (parts.hostname or "")
    return "has no usable host name" if unusable else ""


@cache
def _read_networks() -> tuple[tuple[IPv4Network | IPv6Network, str], ...]:
    """Return the networks that are not the public internet, and what each is."""
    rows = read_table(_FILE)["networks"].items()
    return tuple((ip_network(network), what) for what, found in rows for network in found.split())


def _is_inside(host: str) -> bool:
    names = read_table(_FILE)["names"]
    endings = tuple(f".{ending}" for ending in names["endings"].split())
    return host in names["metadata"].split() or host.endswith(endings)


def host_problem(host: str) -> str:
    """Return why a host, as written in a URL, is not one to reach; "" where it may be resolved."""
    host = host.lower()
    if ":" in host:
        return address_problem(host)
    labels = host.split(".")
    if _DOTTED.fullmatch(host):
        return address_problem(host)
    # A host whose last part is a number is an address to some programs, whatever the rest is.
    if _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return "names its host by an address in an unusual form"
    if not all(_LABEL.fullmatch(label) for label in labels):
        return "has no usable host name"
    if len(labels) == 1 or _is_inside(host):
        return f"names {host}, which is not on the public internet"
    return ""


def address_problem(address: str) -> str:
    """Return why a resolved address is not one to reach; "" where it is public."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return "names its host by an address in an unusual form"
    what = _network(parsed)
    if not what and not parsed.is_global:
        what = "a reserved address"
    return f"leads to {what} ({parsed}), not to the public internet" if what else ""


def is_this_machine(host: str) -> bool:
    """Say whether an address, or the name of a host, is this machine in any of its forms."""
    name = host.strip("[]").rstrip(".").lower()
    if name == LOCAL_NAME:
        return True
    try:
        parsed = ip_address(name)
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return (mapped or parsed).is_loopback


def _network(address: IPv4Address | IPv6Address) -> str:
    if isinstance(address, IPv6Address) and address.scope_id:
        return "a link-local address"
    # A network of the other version holds no address of this one.
    found = next((what for network, what in _read_networks() if address in network), "")
    is_public = isinstance(address, IPv4Address) or address in _GLOBAL_6
    return found or ("" if is_public else "a reserved address")


def shown(url: str) -> str:
    """Return a URL for messages: no user, no password, no query, nothing that moves a cursor."""
    text = url[:MOST_URL_CHARACTERS].encode("unicode_escape").decode().partition("#")[0]
    text, mark, _ = text.partition("?")
    scheme, colon, rest = text.partition("://")
    authority, slash, path = rest.partition("/")
    authority = authority.rpartition("@")[2]
    # What does not read as a host may be a part of a password.
    if not _AUTHORITY.fullmatch(authority):
        authority, slash, path = "…", "", ""
    text = f"{scheme}{colon}{authority}{slash}{path}{'?…' if mark else ''}" if colon else "…"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
