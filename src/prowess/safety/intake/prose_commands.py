"""Commands that stand in plain prose, without any mark that they are code."""

import re
from collections.abc import Iterator

from prowess.safety.views import View

_COMMAND = re.compile(
    r"(?:(?<=[\s(:\"'>=!+`;&|{])|^)(?:sudo\s+)?(?:curl|wget|bash|sh|zsh|nc|ncat|python3?|perl|ruby|node"
    r"|npx|npm|pip3?|powershell|pwsh|iwr|irm|iex"
    r"|mshta|certutil|osascript|scp|rsync|ssh|nslookup|dig|aws|gsutil|git|rm|chmod|dd|mkfs\S*"
    r"|crontab|launchctl|systemctl|echo|printf|cat|eval"
    r"|source|export|docker|sed|cp|find|tar|env|printenv|invoke-\w+|set-mppreference"
    r"|add-mppreference|cmd|reg|schtasks|sc)"
    r"(?:\.exe)?[ \t]+[-~/.$\"'\w<(\\%@][^\n]{2,800}",
    re.IGNORECASE | re.MULTILINE,
)  # fmt: skip
# A sentence about a tool becomes a command when it has an address, a switch or a redirection.
_SHAPE = re.compile(r"\w+://|/dev/tcp|\s-{1,2}[A-Za-z]|[|>&;]\s*\S|\$[({]|~/|\|")
# Each shape has one of these; most paragraphs have none, and the search is costly.
_MARKS = ("://", "/dev/tcp", " -", "\t-", "|", ">", "&", ";", "$", "~/")
_AFTER_SHELL = re.compile(
    r"\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b(?=[ \t]+[a-z]{2,}\b(?![ \t]*[-<]))|[.!?](?=\s+[A-Z])"
    r"|[.,;:)\"']+\s*$"
)
# A rule of a malware scanner names what it looks for.
_SIGNATURE = re.compile(r"\s*\$\w+\s*=\s*[\"/{]")
_ROW = re.compile(r"^\s*\|")


def commands_in(view: View) -> Iterator[View]:
    """Yield what looks like a command in the prose of `view`."""
    text = view.text
    if not any(mark in text for mark in _MARKS):
        return
    at = 0
    for found in _COMMAND.finditer(text):
        start = found.start()
        line = text[text.rfind("\n", 0, start) + 1 : start]
        if start < at or _SIGNATURE.match(line):
            continue
        is_row = _ROW.match(line) is not None
        command = found.group()
        if is_row:
            command = re.split(r"(?<!\\)\|", command, maxsplit=1)[0]
        if not _SHAPE.search(command):
            continue
        at = start + _length(command, text[start - 1 : start])
        yield _unescaped(view.cut(start, at)) if is_row else view.cut(start, at)


def _length(command: str, before: str) -> int:
    """How much of a line is the command: up to its quotation mark, a tag, or a new sentence."""
    if before in {'"', "'", "`"} and (close := command.find(before)) > 0:
        command = command[:close]
    elif (tag := command.find("</")) > 0:
        command = command[:tag]
    if stop := _AFTER_SHELL.search(command):
        return stop.end() if stop.group().startswith("|") else stop.start()
    return len(command)


def _unescaped(cell: View) -> View:
    """In a table a pipe is written with a backslash before it."""
    if "\\|" not in cell.text:
        return cell
    kept = [at for at, letter in enumerate(cell.text) if not cell.text.startswith("\\|", at)]
    return cell.derive("".join(cell.text[at] for at in kept), kept)
