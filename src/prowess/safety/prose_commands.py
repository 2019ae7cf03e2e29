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
_AFTER_SHELL = re.compile(
    r"\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b(?=[ \t]+[a-z]{2,}\b(?![ \t]*[-<]))|[.!?](?=\s+[A-Z])"
    r"|[.,;:)\"']+\s*$"
)
# A rule of a malware scanner names what it looks for.
_SIGNATURE = re.compile(r"\s*\$\w+\s*=\s*[\"/{]")
_ROW = re.compile(r"^\s*\|")


def commands_in(view: View) -> Iterator[View]:
    """Yield what looks like a command in the prose of `view`."""
    at = 0
    for found in _COMMAND.finditer(view.text):
        if found.start() < at:
            continue
        start, end = found.span()
        row = _ROW.match(view.text[view.text.rfind("\n", 0, start) + 1 : start + 1])
        text = found.group()
        if row:
            text = re.split(r"(?<!\\)\|", text, maxsplit=1)[0]
            end = start + len(text)
        line = view.text[view.text.rfind("\n", 0, start) + 1 : start]
        if not _SHAPE.search(text) or _SIGNATURE.match(line):
            continue
        quote = view.text[start - 1 : start]
        if quote in {'"', "'", "`"} and (close := text.find(quote)) > 0:
            text = text[:close]
            end = start + close
        elif (tag := text.find("</")) > 0:
            text = text[:tag]
            end = start + tag
        if stop := _AFTER_SHELL.search(text):
            end = start + (stop.end() if stop.group().startswith("|") else stop.start())
        at = end
        yield _unescaped(view.cut(start, end)) if row else view.cut(start, end)


def _unescaped(cell: View) -> View:
    """In a table a pipe is written with a backslash before it."""
    if "\\|" not in cell.text:
        return cell
    kept = [at for at, letter in enumerate(cell.text) if not cell.text.startswith("\\|", at)]
    return cell.derive("".join(cell.text[at] for at in kept), kept)
