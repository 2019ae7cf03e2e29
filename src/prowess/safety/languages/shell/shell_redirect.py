"""Redirections: where a command reads from and writes to, files and network connections alike."""

import re
from dataclasses import dataclass, field

from prowess.safety.facts import Act
from prowess.safety.languages.shell.expansion import expand_one
from prowess.safety.languages.shell.shell_tree import Redirect
from prowess.safety.languages.shell.shell_writes import write_file
from prowess.safety.languages.shell.state import EMPTY, SHELL_OUTPUT, Call, Shell, Value, unknown

_NETWORK = re.compile(r"/dev/(?:tcp|udp)/([^/\s]+)/([^/\s]+)")
_OUTPUT = frozenset((">", ">>", ">|", "&>", "&>>", ">&"))


@dataclass(slots=True)
class Streams:
    """The open ends of one command."""

    stdin: Value | None
    # The host to which a redirection connects standard input or output.
    link: str = ""
    outputs: list[tuple[Value, bool]] = field(default_factory=list)
    sends: list[str] = field(default_factory=list)
    # Whether standard output still goes on down the pipeline.
    passes: bool = True

    def close(self, shell: Shell, output: Value) -> Value:
        """Write what the command printed, and return what goes on down the pipeline."""
        for path, append in self.outputs:
            write_file(shell, path, output, append=append)
        for host in self.sends:
            if SHELL_OUTPUT not in output.labels:
                shell.tell(Act.SEND, host, "tcp", output.labels, piped=True)
        return output if self.passes else EMPTY


def open_streams(shell: Shell, redirects: list[Redirect], stdin: Value | None) -> Streams:
    """Return where `redirects` lead."""
    streams = Streams(stdin)
    for redirect in redirects:
        if redirect.body is not None:
            streams.stdin = expand_one(shell, redirect.body)
        elif redirect.operator == "<<<":
            streams.stdin = expand_one(shell, redirect.target)
        else:
            _open(shell, streams, redirect)
    return streams


def _open(shell: Shell, streams: Streams, redirect: Redirect) -> None:
    path = expand_one(shell, redirect.target)
    host = _host(shell, path.text, redirect)
    if redirect.operator in ("<", "<>", "<&"):
        if redirect.descriptor in ("", "0", "1"):
            _open_input(shell, streams, path, host)
        return
    if redirect.operator not in _OUTPUT or redirect.descriptor not in ("", "1"):
        return
    if host:
        streams.link = host
        streams.sends.append(host)
        streams.passes = False
    elif redirect.operator == ">&" and (path.text.isdigit() or path.text == "-"):
        # `>&2` shows a text to a person: nothing goes on.
        streams.passes = path.text == "1"
    elif path.text or path.source:
        streams.outputs.append((path, redirect.operator in (">>", "&>>")))
        streams.passes = False


def _open_input(shell: Shell, streams: Streams, path: Value, host: str) -> None:
    if host:
        streams.link = host
        streams.stdin = unknown("remote", source=host)
    elif path.source and not path.text:
        streams.stdin = path
    elif path.text and not path.text.isdigit():
        streams.stdin = Call(shell, "", []).read(path)


def _host(shell: Shell, path: str, redirect: Redirect) -> str:
    found = _NETWORK.match(path)
    if found:
        host = f"{found[1]}:{found[2]}"
        if redirect.descriptor not in ("", "0", "1", "2"):
            shell.descriptors[redirect.descriptor.strip("{}")] = host
        return host
    if redirect.operator in (">&", "<&"):
        return shell.descriptors.get(path.lstrip("$"), "")
    return ""
