"""Secrets that a command gives to a program: each program has its own option for them.

The same option means something else elsewhere (`mkdir -p`, `ssh -p 22`), so that only the programs
named here are looked at, and of a line only what belongs to the one command.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from prowess.secrets.cues import Cued, CueTable, Reading
from prowess.secrets.names import Find, is_reference

_WORD = (
    r"(?:(?P<quote>\\{0,2}[\"'])(?P<quoted>[^\"'\n]{1,256}?)(?P=quote)"
    r"|(?P<bare>[^\s\"'|;<>]{1,256}))"
)


def _option(letters: str, *, glued: bool = False) -> re.Pattern[str]:
    gap = "" if glued else r"[ =]?\s{0,3}"
    return re.compile(rf"(?<=\s)(?:{letters}){gap}{_WORD}")


_SHORT_P = _option("-p")
_GLUED_P = _option("-p(?![ =])", glued=True)
_BIG_P = _option("-P")
_USER = re.compile(
    r"(?<=\s)(?:-u|--user|-U|--proxy-user|-a|--auth)[ =]?\s{0,3}[\"']?[^\s:\"'/]{1,64}:"
    r"(?P<bare>[^\s\"']{1,256})"
)
_COOKIE = re.compile(
    r"(?<=\s)(?:-b|--cookie)[ =]?\s{0,3}[\"']?[\w.-]{1,64}=(?P<bare>[^\s\"']{1,4096})"
)
_PERCENT = re.compile(
    r"(?<=\s)(?:-U|--user)[ =]?\s{0,3}[\"']?[^\s%\"']{1,64}%(?P<bare>[^\s\"']{1,256})"
)
_LAST = re.compile(rf"(?<=\s){_WORD}\s*\Z")
# By the program, as it begins a command: in which calls, and where the secret stands.
_Rule = tuple[str, re.Pattern[str]]
_Look = Callable[[str, Sequence[int]], Iterator[Find]]
_PROGRAMS: Mapping[str, tuple[_Rule, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("mysql", "mariadb"), (("", _GLUED_P),)),
        **dict.fromkeys(("docker", "podman", "nerdctl", "helm"), ((r"\blogin\b", _SHORT_P),)),
        **dict.fromkeys(("az", "oc", "cf", "argocd", "skopeo"), ((r"\blogin\b", _SHORT_P),)),
        **dict.fromkeys(("mongo", "cqlsh", "nxc", "evil-winrm"), (("", _SHORT_P),)),
        **dict.fromkeys(("7z", "7za", "7zr", "rar", "unrar"), (("", _option("-h?p", glued=True)),)),
        **dict.fromkeys(("zip", "unzip", "sqlcmd", "bcp", "ipmitool"), (("", _BIG_P),)),
        **dict.fromkeys(("redis-cli", "valkey-cli", "keydb-cli"), (("", _option("-a|--pass")),)),
        **dict.fromkeys(("curl", "http", "https", "xh"), (("", _USER), ("", _COOKIE))),
        **dict.fromkeys(("smbclient", "rpcclient", "smbmap", "net"), (("", _PERCENT),)),
        **dict.fromkeys(("plink", "pscp", "putty"), (("", _option("-pw")),)),
        "ldap": (("", _option("-w")),),
        "sshpass": (("", _SHORT_P),),
        "ssh-keygen": (("", _option("-N|-P")),),
        "openssl": (
            (r"\benc\b", _option("-k|-K")),
            ("", re.compile(r"(?<=\s)-pass(?:in|out)?\s{1,3}[\"']?pass:(?P<bare>[^\s\"']{1,256})")),
        ),
        "htpasswd": ((r"\s-\w*b", _LAST),),
        "security": (("add-|set-", _option("-w")), ("unlock-", _SHORT_P)),
        "lftp": (("", re.compile(r"(?<=\s)-u\s?[^\s,]{1,64},(?P<bare>[^\s\"']{1,256})")),),
        "snmp": (("", _option("-A|-X")),),
        "swaks": (("", _option("-ap")),),
        "nmcli": (("", re.compile(rf"(?<=\s)password\s{{1,3}}{_WORD}")),),
        "wpa_passphrase": (("", _LAST),),
        "keytool": (("", _option("-storepass|-keypass")),),
        "vault": ((r"\blogin\b", _LAST),),
        "snyk": ((r"\bauth\b", _LAST),),
        "rclone": ((r"\bobscure\b", _LAST),),
        "gh": ((r"\bsecret\s+set\b", _option("-b|--body")),),
        "sqlplus": (("", re.compile(r"(?<=\s)[\"']?\w{1,64}/(?P<bare>[^\s@\"']{1,256})@")),),
        "xfreerdp": (("", re.compile(r"(?<=\s)/p:(?P<bare>[^\s\"']{1,256})")),),
    }
)
# The programs of Windows take theirs without an option.
_NET_USE = re.compile(rf"(?i)\bnet\s+use\s[^\n]{{0,200}}?/user:\S+\s+{_WORD}")
_BEGINS = re.compile(r"(?:\A|[\s;&|(\"'`/\\])\Z")
# A command goes to the end of its line or to the next one; what stands in quotes is one part.
_COMMAND = re.compile(
    r"[\w-]{0,20}(?:\"[^\"\n]{0,2000}\"|'[^'\n]{0,2000}'|\\\n|[^\n|;&\"']){0,400}"
)
# What takes a secret from what is written before it.
_TAKES = (
    "sudo -s", "sudo --stdin", "--password-stdin", "--passphrase-fd", "--stdin", "passwd",
    "chpasswd", "kinit", "cryptsetup", "su ", "--with-token", "smbpasswd", "--pass-stdin",
)  # fmt: skip
_ECHOED = re.compile(
    rf"\b(?:echo|printf|print)\s{{1,3}}(?:-\w+\s{{1,3}}){{0,3}}{_WORD}\s{{0,3}}\|[^|;&\n]{{0,80}}\Z"
)
_HERE = re.compile(rf"[^\n;|]{{0,80}}?<<<\s{{0,3}}{_WORD}")
_SEND = re.compile(
    r"(?:send|send_user)\s{1,3}(?:--\s{1,3})?\\{0,2}[\"'](?P<bare>[^\"'\n\\]{3,128})\\{1,3}[rn]"
)
_ECHO_REACH = 400
_USER_PARTS = 2


def secret_arguments(reading: Reading) -> Iterator[Find]:
    """Yield where a command holds a secret."""
    for look, places in _TABLE.found(reading):
        yield from look(reading.text, places)


def _options(name: str) -> _Look:
    rules = _PROGRAMS[name]

    def look(text: str, places: Sequence[int]) -> Iterator[Find]:
        last = 0
        for at in places:
            begins = at >= last and _BEGINS.search(text, max(0, at - 1), at)
            command = _COMMAND.match(text, at) if begins else None
            if command is None or not command[0][len(name) :].strip():
                continue
            last = command.end()
            for call, pattern in rules:
                if re.search(call, command[0]):
                    yield from _finds(pattern.finditer(text, at, last))

    return look


def _written_before(text: str, places: Sequence[int]) -> Iterator[Find]:
    yield from _finds(_ECHOED.search(text, max(0, at - _ECHO_REACH), at) for at in places)
    yield from _finds(_HERE.match(text, at) for at in places)


def _sent(text: str, places: Sequence[int]) -> Iterator[Find]:
    if "assword" in text or "spawn" in text or "expect" in text:
        yield from _finds(_SEND.match(text, at) for at in places)


def _net_use(text: str, places: Sequence[int]) -> Iterator[Find]:
    yield from _finds(_NET_USE.match(text, at) for at in places)


def _finds(hits: Iterable[re.Match[str] | None]) -> Iterator[Find]:
    for hit in hits:
        if hit is None:
            continue
        group = "quoted" if hit.re.groupindex.get("quoted") and hit["quoted"] else "bare"
        value = hit[group]
        if value and not value.startswith("-") and not is_reference(value):
            yield Find(*hit.span(group), echoes=len(value) > _USER_PARTS)


_TABLE: CueTable[_Look] = CueTable(
    (
        *(Cued(_options(name), (name,)) for name in _PROGRAMS),
        Cued(_written_before, _TAKES),
        Cued(_sent, ("send",)),
        Cued(_net_use, ("net use",)),
    )
)
