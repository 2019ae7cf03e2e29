"""Commands that work on another machine: `ssh`, `scp`, `rsync`, `ftp`."""

import re
from collections.abc import Callable

from prowess.safety.facts import Act
from prowess.safety.languages.shell.network import fetched, file_labels, send
from prowess.safety.languages.shell.shell_options import options
from prowess.safety.languages.shell.shell_writes import write_file
from prowess.safety.languages.shell.state import EMPTY, Call, Value, unknown

_REMOTE_PATH = re.compile(r"(?:[\w.$@{}-]+@)?[\w.$\[\]{}-]+::?(?!/{2}|\\)|rsync://|sftp://|scp://")
_WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/]?")


def _is_remote(text: str) -> bool:
    return bool(_REMOTE_PATH.match(text)) and not _WINDOWS_PATH.fullmatch(text[:3])


def _copy(call: Call) -> Value:
    given = options(
        call.args, "iPoFeclSJ", frozenset(("--rsh", "--exclude", "--include", "--password-file"))
    )
    tell_host_key(call)
    *sources, target = given.operands or [EMPTY]
    if given.has("--delete", "--delete-before", "--delete-after", "--delete-excluded"):
        call.tell(Act.DELETE, target.text, "recursive")
    if _is_remote(target.text):
        labels = frozenset().union(*(file_labels(call, path) for path in sources), target.labels)
        send(call, target.text, "copy", labels)
        return EMPTY
    for source in sources:
        if _is_remote(source.text):
            name = source.text.rpartition("/")[2]
            place = (
                f"{target.text.rstrip('/')}/{name}"
                if target.text.endswith(("/", "."))
                else target.text
            )
            fetched(call, source, place)
        else:
            content = file_labels(call, source)
            write_file(call.shell, target, Value("", content, source.text, known=False))
    return EMPTY


def _ftp(call: Call) -> Value:
    labels = call.incoming.labels
    paths = re.findall(
        r"(?:^|\n|;)\s*(?:m?put|send)\s+(\S+)", call.incoming.text + " " + " ".join(call.texts)
    )
    for path in paths[:8]:
        labels |= file_labels(call, Value(path))
    host = next((value.text for value in call.args if not value.text.startswith("-")), "")
    tell_host_key(call)
    if labels or paths:
        send(call, host, "copy", labels)
    return unknown("remote", source=host)


def tell_host_key(call: Call) -> None:
    """Note that the key of a host is not checked."""
    text = " ".join(call.texts[:40]).lower().replace(" ", "=")
    if "stricthostkeychecking=no" in text or "userknownhostsfile=/dev/null" in text:
        call.tell(Act.DISABLE, "ssh-host-key")


def _ssh(call: Call) -> Value:
    given_until = 0
    takes = "bcDEeFIiJLlmOopQRSWw"
    while given_until < len(call.args) and call.args[given_until].text.startswith("-"):
        text = call.args[given_until].text
        given_until += 2 if text[-1] in takes and len(text) == len("-x") else 1
    tell_host_key(call)
    rest = call.args[given_until:]
    if not rest:
        return EMPTY
    host, words = rest[0].text, rest[1:]
    labels = call.incoming.labels.union(*(value.labels for value in words))
    if labels:
        send(call, host, "copy", labels)
    if any(text.startswith("-R") for text in call.texts[:given_until]):
        call.tell(Act.REVERSE_SHELL, "ssh-tunnel", host)
    if words:
        joined = words[0] if len(words) == 1 else None
        inner = (
            call.shell.run(joined, call.stdin) if joined else call.shell.invoke(words, call.stdin)
        )
        return inner.with_labels("remote")
    return unknown("remote", source=host)


def _sshpass(call: Call) -> Value:
    return call.shell.invoke(call.args[2:], call.stdin)


HANDLERS: dict[str, Callable[[Call], Value]] = {
    **dict.fromkeys(("scp", "rsync", "pscp"), _copy),
    **dict.fromkeys(("sftp", "ftp", "lftp", "tftp", "ncftpput"), _ftp),
    **dict.fromkeys(("ssh", "autossh"), _ssh),
    "sshpass": _sshpass,
}
