"""Commands that fetch from the network, send to it, or work on another machine."""

import re
from dataclasses import replace
from urllib.parse import urlsplit

from prowess.safety.facts import Act
from prowess.safety.languages.shell.state import (
    EMPTY,
    NOTHING,
    SHELL_OUTPUT,
    Argv,
    Datum,
    Options,
    find_row,
    load_matcher,
    name_handlers,
    split_options,
    tell_secrets,
    unknown,
    write_file,
)

_MAX_URL = 2000
_URL = re.compile(r"(?:https?|ftps?|sftp|file|dict|gopher)://", re.IGNORECASE)
_HTTPIE_ITEM = re.compile(r"[\w.\[\]-]+(?::=@|:=|==|=@|=|@|:)")


def guess_name(url: str) -> str:
    """Return the name under which a fetched URL is saved when none is given."""
    path = urlsplit(url).path if len(url) < _MAX_URL and "[" not in url else url
    return path.rstrip("/").rpartition("/")[2] or "index.html"


def fetch(call: Argv, url: Datum, target: str = "") -> Datum:
    """Note a fetch, and return what comes back."""
    call.tell(Act.FETCH, url.text, target)
    content = unknown("remote", source=url.text)
    if target:
        write_file(call.shell, Datum(target), content)
        return EMPTY
    return content


def send(call: Argv, url: str, how: str, labels: frozenset[str]) -> None:
    """Note that data leave."""
    call.tell(Act.SEND, url, how, labels)


def _request(call: Argv) -> Datum:
    """Programs that ask a server: what goes along, and where the answer is put."""
    row = find_row("requests", call.name)
    given = split_options(call.args, row["valued"])
    if given.has(row.get("unchecked", "")):
        call.tell(Act.DISABLE, "tls", call.name.rstrip("2"))
    body = _read_body(call, given, row)
    aside = frozenset().union(*(value.labels for value in given.values(row.get("aside", ""))))
    urls = [*given.operands, *given.values(row.get("urls", ""))]
    if "strict" in row:
        urls = [value for value in urls if _URL.match(value.text) or value.labels]
    output = EMPTY
    for index, url in enumerate(urls[:16]):
        labels = url.labels | aside | (body or NOTHING)
        if body is not None or labels:
            send(call, url.text, "http", labels)
        if body is not None and not given.has(row["fetches"]):
            output = unknown("remote", source=url.text)
        else:
            output = _take_answer(call, given, url, row, index)
    return output


def _take_answer(call: Argv, given: Options, url: Datum, row: dict[str, str], index: int) -> Datum:
    named = given.values(row["output"])
    saves = row.get("saves") and call.name not in row["saves"].split()
    if given.has(row.get("named", "")) or (saves and not named):
        folder = given.first(row["folder"])
        name = guess_name(url.text)
        return fetch(call, url, f"{folder.text.rstrip('/')}/{name}" if folder else name)
    target = named[min(index, len(named) - 1)].text if named else "-"
    if target != "-" and not target.startswith(("/dev/std", "/dev/null")):
        return fetch(call, url, target)
    output = fetch(call, url)
    return EMPTY if target == "/dev/null" else output


def _read_body(call: Argv, given: Options, row: dict[str, str]) -> frozenset[str] | None:
    """Return the labels of what a request carries, `None` where it carries nothing."""
    keys = ("data", "encoded", "forms", "files", "plain")
    data, encoded, forms, files, plain = (given.values(row.get(key, "")) for key in keys)
    if not (data or encoded or forms or files or plain):
        return None
    named = (value.text.partition("@") for value in encoded)
    return frozenset().union(
        *(
            label_file(call, value.cut(1)) if value.text.startswith("@") else value.labels
            for value in data
        ),
        *(label_file(call, Datum(path)) for name, at, path in named if at and "=" not in name),
        *(_form_labels(call, value) for value in forms),
        *(label_file(call, value) for value in files),
        *(value.labels for value in (*encoded, *forms, *plain)),
    )


def _form_labels(call: Argv, value: Datum) -> frozenset[str]:
    _, equals, rest = value.text.partition("=")
    if not equals or rest[:1] not in ("@", "<"):
        return NOTHING
    paths = rest[1:].partition(";")[0].split(",")
    return frozenset().union(*(label_file(call, Datum(path.strip("\"'"))) for path in paths[:8]))


def label_file(call: Argv, path: Datum) -> frozenset[str]:
    """Return the labels of a file that is sent; `-` is what comes in, `.` likewise for curl."""
    if path.source and not path.text:
        return path.labels
    if path.text in ("-", ".", "/dev/stdin"):
        return call.incoming.labels or frozenset(("input",))
    content = call.shell.read_file(path.text)
    tell_secrets(call.shell, path.text)
    return content.labels | path.labels


def _httpie(call: Argv) -> Datum:
    given = split_options(call.args, "apoAs --auth --output --session --auth-type --timeout")
    if given.first("--verify") and given.values("--verify")[0].text in ("no", "false"):
        call.tell(Act.DISABLE, "tls", "http")
    operands = [
        value for value in given.operands if not (value.text.isalpha() and value.text.isupper())
    ]
    if not operands or not (
        "." in operands[0].text or "/" in operands[0].text or ":" in operands[0].text
    ):
        return EMPTY
    url, items = operands[0], operands[1:]
    labels = url.labels.union(*(value.labels for value in [*items, *given.values("-a --auth")]))
    for value in items:
        item = _HTTPIE_ITEM.match(value.text)
        if item and item[0].endswith("@"):
            labels |= label_file(call, value.cut(item.end()))
    labels |= call.incoming.labels
    if labels or items:
        send(call, url.text, "http", labels)
    target = given.first("-o --output")
    return fetch(call, url, target.text if target else "")


def _netcat(call: Argv) -> Datum:
    given = split_options(call.args, "ecpswiqXxGgo --exec --sh-exec --source-port --wait")
    operands = [value.text for value in given.operands]
    host = ":".join(operands[:2])
    program = given.first("-e --exec -c --sh-exec --lua-exec")
    if program is not None and program.text:
        call.tell(Act.REVERSE_SHELL, call.name, host)
    elif SHELL_OUTPUT in call.incoming.labels:
        call.shell.tell(Act.REVERSE_SHELL, call.name, host, piped=True)
    elif given.has("-z"):
        return EMPTY
    elif call.stdin is not None and host:
        send(call, host, "tcp", call.incoming.labels)
    return unknown("remote", source=host)


_SOCAT_PROGRAM = re.compile(r"(?:exec|system):", re.IGNORECASE)
_SOCAT_HOST = re.compile(
    r"(?:tcp|tcp4|udp|openssl|ssl|tcp-connect|openssl-connect)[46]?:([^,\s]+)", re.IGNORECASE
)


def _socat(call: Argv) -> Datum:
    text = " ".join(call.texts)
    host = _SOCAT_HOST.search(text)
    if _SOCAT_PROGRAM.search(text):
        call.tell(Act.REVERSE_SHELL, "socat", host[1] if host else "")
    elif host and call.incoming.labels:
        send(call, host[1], "tcp", call.incoming.labels)
    return unknown("remote", source=host[1] if host else "")


def _dns(call: Argv) -> Datum:
    names = [
        value
        for value in split_options(call.args, "cpstiIWM").operands
        if not value.text.startswith("@")
    ]
    labels = frozenset().union(*(value.labels for value in call.args))
    if labels:
        host = next(
            (value.text for value in names if value.labels), names[-1].text if names else ""
        )
        send(call, host, "dns", labels)
    if call.name in ("dig", "nslookup", "host", "drill"):
        return unknown("remote", source=names[0].text if names else "dns")
    return unknown()


def _mail(call: Argv) -> None:
    given = split_options(call.args, "sacbrt --to --from --server --attach --body --header")
    labels = call.incoming.labels.union(*(value.labels for value in call.args))
    for path in given.values("-a -A --attach"):
        labels |= label_file(call, replace(path, text=path.text.lstrip("@")))
    to = given.first("--to -t") or (given.operands[0] if given.operands else EMPTY)
    if labels or call.stdin is not None:
        send(call, to.text, "smtp", labels)


_REMOTE_PATH = re.compile(r"(?:[\w.$@{}-]+@)?[\w.$\[\]{}-]+::?(?!/{2}|\\)|rsync://|sftp://|scp://")
_WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/]?")


def _is_remote(text: str) -> bool:
    return bool(_REMOTE_PATH.match(text)) and not _WINDOWS_PATH.fullmatch(text[:3])


def _copy_over(call: Argv) -> None:
    given = split_options(call.args, "iPoFeclSJ --rsh --exclude --include --password-file")
    tell_host_key(call)
    *sources, target = given.operands or [EMPTY]
    if given.has("--delete --delete-before --delete-after --delete-excluded"):
        call.tell(Act.DELETE, target.text, "recursive")
    if _is_remote(target.text):
        labels = frozenset().union(*(label_file(call, path) for path in sources), target.labels)
        send(call, target.text, "copy", labels)
        return
    for source in sources:
        if _is_remote(source.text):
            name = source.text.rpartition("/")[2]
            place = (
                f"{target.text.rstrip('/')}/{name}"
                if target.text.endswith(("/", "."))
                else target.text
            )
            fetch(call, source, place)
        else:
            content = label_file(call, source)
            write_file(call.shell, target, Datum("", content, source.text, known=False))


def _ftp(call: Argv) -> Datum:
    labels = call.incoming.labels
    paths = re.findall(
        r"(?:^|\n|;)\s*(?:m?put|send)\s+(\S+)", call.incoming.text + " " + " ".join(call.texts)
    )
    for path in paths[:8]:
        labels |= label_file(call, Datum(path))
    host = next((value.text for value in call.args if not value.text.startswith("-")), "")
    tell_host_key(call)
    if labels or paths:
        send(call, host, "copy", labels)
    return unknown("remote", source=host)


def tell_host_key(call: Argv) -> None:
    """Note that the key of a host is not checked."""
    text = " ".join(call.texts[:40]).lower().replace(" ", "=")
    if "stricthostkeychecking=no" in text or "userknownhostsfile=/dev/null" in text:
        call.tell(Act.DISABLE, "ssh-host-key")


def _ssh(call: Argv) -> Datum:
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


HANDLERS = name_handlers(
    _request, _httpie, _netcat, _dns, _mail, _socat, _copy_over, _ftp, _ssh,
)  # fmt: skip


_ONLY_HERE = re.compile(r"\b(?:localhost|127\.0\.0\.1)\b|\[?::1\]?")
# A port, an address or a pattern is no folder.
_NO_FOLDER = re.compile(r"[\d.]*\d|.*:(?!//).*|.*[*\"'].*|\w+ing|http|https|tcp|tls")


def tell_serving(call: Argv, name: str) -> None:
    """Note a folder or a port of this machine that others can reach from then on."""
    line = " ".join([name, *(value.text for value in call.args[1:24])])
    tunnel = load_matcher("tunnelling").match(line)
    found = tunnel or load_matcher("serving").match(line)
    if found is None:
        return
    rest = line[found.end() :]
    if not tunnel and _ONLY_HERE.search(rest):
        return
    words = (word.rpartition("=")[2] for word in rest.split())
    given = [word.removeprefix("file://") for word in words if not word.startswith("-")]
    folder = next((word for word in given if word and not _NO_FOLDER.fullmatch(word)), ".")
    call.tell(Act.SERVE, call.shell.place(folder), "tunnel" if tunnel else "web")
