"""Whose host an address names: who receives what is sent there, and how sure that is.

Only names and numbers are compared; nothing is looked up. The names stand in `hosts.toml`, with the
addresses whose `curl | sh` is the installation that their own makers document.
"""

import re
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from prowess.data import read_table, read_words

_FILE = "safety/tables/hosts.toml"
_MAX_TEXT = 4096
# An address inside a text; quotes, brackets and spaces end it.
_URL = re.compile(
    r"\b(?:h(?:tt|xx)ps?|wss?|s?ftps?|ssh|git|tcp|udp):[/\\]{1,3}([^\s\"'`<>|)}]+)", re.IGNORECASE
)
_HOST = re.compile(r"(?:[\w-]{1,63}\.)*[\w-]{1,63}\.?")
_SIX = re.compile(r"\[([0-9a-f:.]{2,45})(?:%[\w.-]+)?\]", re.IGNORECASE)
_AUTHORITY_END = re.compile(r"[/?#]")
_NUMBER = re.compile(r"0x[0-9a-f]{0,8}|[0-9]{1,11}")
_FOUR_PARTS = 4
_BYTE = 255

_LOCAL_FOUR = tuple(map(IPv4Network, (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.168.0.0/16",
)))  # fmt: skip
_LOCAL_SIX = tuple(map(IPv6Network, ("::/128", "::1/128", "fc00::/7", "fe80::/10")))
_LOCAL_NAMES = ("localhost", "local", "internal", "lan", "home.arpa", "localdomain")
_Address = IPv4Address | IPv6Address


# For each host the paths below it that have a row, and what each is.
_Index = dict[str, tuple[tuple[str, str], ...]]


@cache
def _index(group: str) -> _Index:
    """Return the rows `host/path` of a group by host."""
    found: dict[str, list[tuple[str, str]]] = {}
    for what, rows in read_table(_FILE)[group].items():
        for row in rows.split() if what != "reason" else ():
            host, _, path = row.partition("/")
            found.setdefault(host, []).append((path, what))
    return {host: tuple(paths) for host, paths in found.items()}


@cache
def _read_rented_labels() -> frozenset[str]:
    return read_words(read_table(_FILE)["rented"]["labels"])


@lru_cache(maxsize=4096)
def _split(text: str) -> tuple[str, str]:
    """Return host and path of the first address in `text`."""
    flat = text[:_MAX_TEXT].strip().replace("[.]", ".").replace("(.)", ".").replace("\u3002", ".")
    found = _URL.search(flat)
    rest = (found[1] if found else flat.removeprefix("//")).replace("\\", "/")
    cut = _AUTHORITY_END.search(rest)
    end = cut.start() if cut else len(rest)
    host = _host_in(rest[:end].rsplit("@", 1)[-1])
    return host, rest[end:].lstrip("/") if host else ""


def _host_in(authority: str) -> str:
    six = _SIX.match(authority)
    if six:
        return six[1].lower()
    if authority.count(":") > 1:
        return authority.lower() if _six(authority) else ""
    name = authority.partition(":")[0]
    return name.lower().rstrip(".") if _HOST.fullmatch(name) else ""


def find_host(url_or_text: str) -> str:
    """Return the host of the first address in a text, or of a bare `host/path`; "" without one."""
    return _split(url_or_text)[0]


def _row(url: str, group: str) -> tuple[str, str] | None:
    """Return the name of the row that `url` falls under, and what it is."""
    host, path = _split(url)
    index = _index(group)
    while "." in host:
        for prefix, what in index.get(host, ()):
            if not prefix or path == prefix or path.startswith(f"{prefix}/"):
                return f"{host}/{prefix}".rstrip("/"), what
        host = host.partition(".")[2]
    return None


def find_drop(host_or_url: str) -> str | None:
    """Return what kind of place for collected data it is ("request catcher", "tunnel"…), if any."""
    row = _row(host_or_url, "drops")
    return row[1] if row else None


def find_paste_site(host_or_url: str) -> str | None:
    """Return the paste site that it is on, if any; a gist has a named owner and is none."""
    row = _row(host_or_url, "pastes")
    return row[0] if row else None


def is_short_link(host_or_url: str) -> bool:
    """Whether the address hides where it leads."""
    return _row(host_or_url, "short_links") is not None


def find_service(host_or_url: str) -> str | None:
    """Return who runs the service at that host, for the large ones; a customer's corner is not."""
    labels = find_host(host_or_url).split(".")
    rented = any(label in _read_rented_labels() or label.startswith("s3-") for label in labels)
    if rented or find_drop(host_or_url):
        return None
    row = _row(host_or_url, "services")
    return row[1] if row else None


_SECOND_LEVELS = frozenset(("co", "com", "org", "net", "ac", "gov", "edu"))
_COUNTRY = 2


def find_owner_label(host: str) -> str:
    """Return the part of a host's name that its owner registered: "tool" of `get.tool.co.uk`."""
    labels = host.split(".")
    is_country = len(labels[-1]) == _COUNTRY and len(labels) > _COUNTRY
    at = 3 if is_country and labels[-2] in _SECOND_LEVELS else 2
    return labels[-at] if len(labels) >= at else ""


def has_settled_name(host: str) -> bool:
    """Whether a host has a name of its own that costs something: no number, no cheap ending."""
    table = read_table(_FILE)["cheap"]
    cheap = tuple(f"{table['endings']} {table['common']}".split())
    passing = find_drop(host) or find_paste_site(host) or is_short_link(host) or is_page_host(host)
    return "." in host and not (is_raw_address(host) or passing or host.endswith(cheap))


def is_free_host(host: str) -> bool:
    """Whether anybody gets a name there in a minute; makers of tools have their own."""
    return host.endswith(tuple(read_table(_FILE)["free"]["endings"].split()))


def is_cheap_host(host: str) -> bool:
    """Whether a name under that ending costs next to nothing."""
    return host.endswith(tuple(read_table(_FILE)["cheap"]["endings"].split()))


def find_borrowed_name(host: str) -> str | None:
    """Return the well-known name that a host of somebody else carries, if any."""
    table = read_table(_FILE)["names"]
    owners = tuple(table["hosts"].split())
    if host.endswith(tuple(f".{owner}" for owner in owners)) or host in owners:
        return None
    parts = host.replace("-", ".")
    return next((name for name in table["words"].split() if name in parts), None)


def is_page_host(host: str) -> bool:
    """Whether anybody may put up a page there: fine to read, no place to take commands from."""
    return is_free_host(host) or host.endswith(tuple(read_table(_FILE)["pages"]["endings"].split()))


def is_raw_address(host: str) -> bool:
    """Whether a host is a bare public number, in any spelling that clients take."""
    address = _address(find_host(host))
    return address is not None and not _is_local(address)


def is_local(host: str) -> bool:
    """Whether a host is this machine or its own network."""
    name = find_host(host)
    address = _address(name)
    if address is not None:
        return _is_local(address)
    return name in _LOCAL_NAMES or name.endswith(tuple(f".{local}" for local in _LOCAL_NAMES))


def _is_local(address: _Address) -> bool:
    if isinstance(address, IPv4Address):
        return any(address in network for network in _LOCAL_FOUR)
    return any(address in network for network in _LOCAL_SIX)


def _address(host: str) -> _Address | None:
    """Return the number that a host is; one that wraps an older one is unwrapped."""
    six = _six(host)
    if six is None:
        return _four(host)
    return six.ipv4_mapped or six


def _six(host: str) -> IPv6Address | None:
    if ":" not in host:
        return None
    try:
        return IPv6Address(host)
    except ValueError:
        return None


def _four(host: str) -> IPv4Address | None:
    """Read one to four numbers, each decimal, octal or hexadecimal, as C libraries do."""
    parts = host.split(".")
    if len(parts) > _FOUR_PARTS or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    numbers = [_number(part) for part in parts]
    *first, last = numbers
    if any(number > _BYTE for number in first) or last >= 256 ** (_FOUR_PARTS + 1 - len(parts)):
        return None
    head = sum(number << (24 - 8 * place) for place, number in enumerate(first))
    return IPv4Address(head + last)


def _number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    octal = part.startswith("0") and not set(part) & set("89")
    return int(part, 8 if octal else 10)


class OfficialInstaller(NamedTuple):
    """An address that its owner tells people to pipe into a shell."""

    host: str
    # Matched at a segment boundary: "/uv" covers "/uv/install.sh", not "/uvx".
    prefix: str
    who: str
    why: str


@cache
def read_installers() -> tuple[OfficialInstaller, ...]:
    """Return the addresses that their makers document as installers."""
    rows = []
    for row in read_table(_FILE)["installers"]["rows"].strip().splitlines():
        address, _, about = row.partition(": ")
        host, _, path = address.partition("/")
        rows.append(OfficialInstaller(host, f"/{path}", *about.split(", ", 1)))
    return tuple(rows)


_HTTPS_PORT = 443


@lru_cache(maxsize=4096)
def find_installer(url: str) -> OfficialInstaller | None:
    """Return who documents `url` as an installer: https, the exact host, the path by segments."""
    # Controls and backslashes are read differently by each client: such an address is nobody's.
    if any(letter <= " " or letter in '\\"<>`' for letter in url):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme.lower() != "https" or "@" in parts.netloc or port not in {None, _HTTPS_PORT}:
        return None
    host = (parts.hostname or "").removesuffix(".")
    path = unquote(unquote(parts.path))
    if ".." in path.split("/"):
        return None
    rows = (row for row in read_installers() if row.host == host)
    # At a segment's end: "/uv" is the beginning of "/uv/install.sh", not of "/uvx".
    return next((row for row in rows if f"{path}/".startswith(f"{row.prefix.rstrip('/')}/")), None)
