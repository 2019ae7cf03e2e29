"""PowerShell, `cmd`, AppleScript, Perl, Ruby, PHP, Lua and compiled languages, by bounded patterns.

These languages are rare in skills, so they are not parsed: a text is cut into statements, and each
statement is matched against `powershell.toml`. Variables carry the labels of what is put into them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from prowess.data import load_pattern, load_table, load_words
from prowess.reading.views import Spot, View, rewrite
from prowess.safety.facts import Act, Fact, Reading, Snippet
from prowess.safety.languages.decoding import decode_base
from prowess.safety.languages.shell.facts import read_shell
from prowess.safety.paths import is_agent_path, path_label, persist_kind

_TOKEN = re.compile(r"'[^'\n]*+'|\"(?:[^\"\\\n]++|\\.)*+\"|[()\n;]")
_PATH = re.compile(r"(?:[~$%/]|\.{1,2}[/\\]|[A-Za-z]:[/\\]|\.\w)[\w.~$%:/\\{}*@+-]{2,200}")
_LITERAL = re.compile(r"\"((?:[^\"\\\n]++|\\.)*+)\"")
_URL = re.compile(r"(?:https?|ftp|stratum\+tcp)://[^\s'\"`)<>;|,]{1,500}", re.IGNORECASE)
_SETTING = re.compile(
    r"\s*(?:my\s+|our\s+|local\s+|var\s+"
    r"|set\s+)?[$@%]?(?!env:)([A-Za-z_]\w{0,60})\s*(?:\+|\.)?(?:=(?![=~>])|\bto\b)"
)
# In compiled languages a name is declared once for each block, and comes with its type or a word.
_DECLARATION = re.compile(
    r"\s*(?:(?:let|const|var|val|final|static|auto|mut|pub|private|public)\s+){0,4}"
    r"(?:[A-Z][\w.:]{0,60}(?:<[^=;\n]{0,80}>)?(?:\[\])?\s+)?([A-Za-z_]\w{0,60})"
    r"(?:\s*,\s*\w{1,60})?(?:\s*:\s*[\w<>&\[\]?.: ]{1,80})?\s*(:?=)(?![=>])"
)
_WORD = re.compile(r"[$@%&]?([A-Za-z_]\w{0,60})")
_ENVIRONMENT = re.compile(
    r"\$env:(\w{1,60})|%([A-Z_]{3,60})%|ENV[\[{]['\"]?(\w{1,60})"
    r"|(?:getenv|lookupenv|env::var(?:_os)?|environmentvariable)\(\s*['\"](\w{1,60})"
    r"|\benvironment\[['\"](\w{1,60})",
    re.IGNORECASE,
)
_DELETE = re.compile(
    r"(?:Remove-Item|\bri\b|\brd\b|\brmdir\b|\bdel\b|\berase\b|FileUtils\.rm_rf|rmtree"
    r"|rm_r\b)\s*\(?([^;\n|]{0,200})",
    re.IGNORECASE,
)
_RECURSE = re.compile(r"-r(?:ec\w*)?\b|/s\b|rm_rf|rmtree|rm_r\b", re.IGNORECASE)
_WRITE = re.compile(
    r"(?:-OutFile|-FilePath|Set-Content|Add-Content|Out-File|-Destination|>>?|File\.write"
    r"|fopen|file_put_contents|getstore\s*\([^,]{0,400},)"
    r"\s*\(?\s*(?:-Path\s+)?['\"]?([^\s'\";|),]{2,200})",
    re.IGNORECASE,
)
_SET_ENVIRONMENT = re.compile(
    r"\$env:(\w{1,60})\s*=\s*([^;\n]{0,200})|\bsetx\s+(\w{1,60})\s+([^;\n]{0,200})", re.IGNORECASE
)
_ENCODED = re.compile(
    r"-e(?:nc|ncodedcommand|c)?\s+['\"]?([A-Za-z0-9+/=]{24,20000})", re.IGNORECASE
)
_INSTALL = re.compile(
    r"(Install-Module|Install-Script|Install-Package)\s+(?:-Name\s+)?['\"]?([\w.-]{1,80})",
    re.IGNORECASE,
)
_SHELL_TOOL = re.compile(
    r"\s*(?:pip3?|npm|npx|pnpm|yarn|git|docker|winget|choco|scoop|uv|uvx|pipx|cargo|go"
    r"|gem|brew|gh|claude|codex|openclaw|ssh|scp|node|python3?)\s[^\\\n]*$"
)
_SHELL_OUT = re.compile(
    r"(?:\b(?:system|exec|shell_exec|passthru|popen|os\.execute|io\.popen|do shell script"
    r"|IO\.popen|Open3\.\w+|spawn|proc_open|qx|%x)\s*[({]?\s*)"
    r"(?:'([^'\n]{1,2000})'|\"((?:[^\"\\\n]++|\\.){1,2000}+)\"|\{([^}\n]{1,2000})\})"
    r"|`([^`\n]{2,2000})`"
)
# What a program hands to a shell, an argument of its own.
_SHELL_ARGUMENT = re.compile(
    r"\"[-/]c\"\s*[,)]\s*(?:\.arg\()?\s*\"((?:[^\"\\\n]++|\\.){1,2000}+)\""
)
_ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
_MAX_TEXT = 400_000
_MAX_STATEMENT = 4_000
_INDENT = 60


def _table(key: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return load_pattern("powershell", key, flags=flags)


@cache
def _sources() -> tuple[tuple[str, re.Pattern[str]], ...]:
    labels = load_table("powershell", "sources")
    return tuple(
        (label, load_pattern("powershell", "sources", label, flags=re.IGNORECASE))
        for label in labels
    )


@cache
def _acts() -> tuple[tuple[Act, str, re.Pattern[str]], ...]:
    return tuple(
        (Act(act), subject, load_pattern("powershell", "acts", act, subject, flags=re.IGNORECASE))
        for act, subjects in load_table("powershell", "acts").items()
        for subject in subjects
    )


@dataclass(slots=True)
class _Notes:
    view: View
    facts: list[Fact] = field(default_factory=list)
    snippets: list[Snippet] = field(default_factory=list)
    texts: list[View] = field(default_factory=list)
    variables: dict[str, tuple[frozenset[str], str]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    is_compiled: bool = False
    start: int = 0
    end: int = 0

    def tell(
        self, act: Act, subject: str = "", target: str = "", flow: frozenset[str] = frozenset()
    ) -> None:
        self.facts.append(
            Fact(act, Spot(self.view, self.start, self.end), subject[:400], target[:400], flow)
        )

    def run_shell(self, start: int, end: int) -> None:
        """Note that a part of the statement at work is run by a shell."""
        self.snippets.append(Snippet("shell", self.view.cut(self.start + start, self.start + end)))


_Visit = Callable[["_Notes", str], None]


def read_powershell(view: View) -> Reading:
    """Return the facts of a PowerShell or `cmd` text."""
    visits = (_read_tool, _read_statement, _read_powershell_only)
    return _walk(_Notes(_unhide(view)), ("#", "::", "REM ", "rem "), visits)


def read_script(view: View) -> Reading:
    """Return the facts of a Perl, Ruby, PHP, Lua or AppleScript text."""
    return _walk(_Notes(view), ("#", "//", "--"), (_read_statement, _read_shell_out))


def read_compiled(view: View) -> Reading:
    """Return what a text in Rust, Go, Java, Kotlin, Swift, C or the like reads and sends."""
    return _walk(_Notes(view, is_compiled=True), ("//", "/*", "*"), (_read_compiled,))


def _walk(notes: _Notes, comments: tuple[str, ...], visits: tuple[_Visit, ...]) -> Reading:
    for start, end in _statements(notes.view.text):
        notes.start, notes.end = start, end
        statement = notes.view.text[start:end]
        if statement.lstrip().startswith(comments):
            notes.texts.append(notes.view.cut(start, end))
            continue
        for visit in visits:
            visit(notes, statement)
    if not notes.is_compiled:
        _tell_reverse_shells(notes)
    return Reading(tuple(notes.facts), tuple(notes.snippets), tuple(notes.texts))


def _read_tool(notes: _Notes, statement: str) -> None:
    if _SHELL_TOOL.match(statement):
        found = read_shell(notes.view.cut(notes.start, notes.end))
        notes.facts += found.facts
        notes.snippets += found.snippets


def _read_shell_out(notes: _Notes, statement: str) -> None:
    for call in _SHELL_OUT.finditer(statement):
        notes.run_shell(*call.span(call.lastindex or 0))


def _read_compiled(notes: _Notes, statement: str) -> None:
    labels, source = _labels(notes, statement)
    url = _URL.search(statement)
    address = url[0] if url else source
    # A GET sends what is put into its address.
    asks = _table("compiled_asking").search(statement) and labels
    if asks or _table("compiled_sending").search(statement):
        notes.tell(Act.SEND, address, "http", labels)
    if setting := _DECLARATION.match(statement):
        notes.variables[setting[1].lower()] = labels, address
    for call in _SHELL_ARGUMENT.finditer(statement):
        notes.run_shell(*call.span(1))


def _tell_reverse_shells(notes: _Notes) -> None:
    """Note a connection that is wired to a shell, over the statements of a few lines."""
    for found in _table("reverse_shell", re.DOTALL).finditer(notes.view.text[:_MAX_TEXT]):
        notes.start, notes.end = found.span()
        host = _ADDRESS.search(notes.view.text, max(found.start() - 200, 0), found.end())
        notes.tell(Act.REVERSE_SHELL, "tcp", host[0] if host else "")


_HIDING = re.compile(r"`(?=[A-Za-z])|'\s?\+\s?'|\"\s?\+\s?\"")


def _unhide(view: View) -> View:
    """Take out the backticks and the `'a'+'b'` joints by which names are hidden."""
    if "`" not in view.text and "'+'" not in view.text and '"+"' not in view.text:
        return view
    return rewrite(view, _HIDING, lambda _joint: "", "joined")


def _statements(text: str) -> list[tuple[int, int]]:
    """Cut at line ends and semicolons outside quotes and brackets."""
    found: list[tuple[int, int]] = []
    start = depth = 0
    for token in _TOKEN.finditer(text, 0, _MAX_TEXT):
        mark = token[0]
        if mark in "()":
            depth = depth + 1 if mark == "(" else max(depth - 1, 0)
        elif mark in ";\n" and _ends(text, start, token.start(), depth):
            found.append((start, token.start()))
            start, depth = token.end(), 0
    found.append((start, min(len(text), _MAX_TEXT)))
    return [(first, last) for first, last in found if text[first:last].strip()]


def _ends(text: str, start: int, at: int, depth: int) -> bool:
    if at - start > _MAX_STATEMENT:
        return True
    before = text[max(start, at - 4) : at].rstrip(" \t\r")
    # A chain of calls goes on with a dot on the next line.
    chained = text[at : at + 1] == "\n" and text[at : at + _INDENT].lstrip().startswith(".")
    return depth == 0 and not chained and not before.endswith(("|", "`", ",", "¬", "+"))


def _read_statement(notes: _Notes, statement: str) -> None:
    labels, source = _labels(notes, statement)
    url = _URL.search(statement)
    address = url[0] if url else ""
    if url and "remote" in labels:
        source = address
    for act, subject, told in _acts():
        found = told.search(statement)
        if found:
            notes.tell(act, subject, found[0])
    _tell_flows(notes, statement, labels, source)
    _tell_files(notes, statement, labels, source)
    setting = _SETTING.match(statement)
    if setting:
        before = notes.variables.get(setting[1].lower(), (frozenset(), ""))
        notes.variables[setting[1].lower()] = labels | before[0], source or before[1]


def _labels(notes: _Notes, statement: str) -> tuple[frozenset[str], str]:
    """Return where the data of a statement come from, and the address that they came from."""
    labels = _find_sources(statement) if not notes.is_compiled else set[str]()
    key = "compiled_environment" if notes.is_compiled else "whole_environment"
    if _table(key).search(statement):
        labels.add("env")
    for found in _ENVIRONMENT.finditer(statement):
        name = next(group for group in found.groups() if group)
        if name.upper() not in load_words("powershell", "plain_names"):
            labels.add(f"env:{name}")
    # A member is written like a hidden file; a file of compiled code stands between quotes.
    said = " ".join(_LITERAL.findall(statement)) if notes.is_compiled else statement
    for path in _PATH.findall(said):
        label = path_label(path)
        if label:
            labels.add(label)
            notes.tell(Act.READ, label, path)
    held, source = _find_held(notes, statement)
    return held | labels, source


def _find_sources(statement: str) -> set[str]:
    labels = {label for label, told in _sources() if told.search(statement)}
    if "remote" in labels and not _URL.search(statement) and "$" not in statement:
        labels.discard("remote")
    return labels


def _find_held(notes: _Notes, statement: str) -> tuple[frozenset[str], str]:
    """Return what the variables of a statement hold."""
    labels: frozenset[str] = frozenset()
    source = ""
    form = _DECLARATION if notes.is_compiled else _SETTING
    setting = form.match(statement) if notes.variables else None
    words = _WORD.finditer(statement, setting.end() if setting else 0)
    for word in words if notes.variables else ():
        held = notes.variables.get(word[1].lower())
        if held:
            labels |= held[0]
            source = source or held[1]
    return labels, source


def _tell_flows(notes: _Notes, statement: str, labels: frozenset[str], source: str) -> None:
    url = _URL.search(statement)
    address = url[0] if url else source
    fetches = _sources()[0][1].search(statement)
    sends = _table("sending").search(statement)
    if fetches and url and not sends:
        written = _WRITE.search(statement)
        notes.tell(Act.FETCH, address, written[1] if written else "")
        if written:
            notes.files[_name(written[1])] = address
    if sends:
        notes.tell(Act.SEND, address, "http", labels - {"remote"})
    running = _table("running").search(statement)
    if running:
        fetched = next(
            (held for name, held in notes.files.items() if name and name in statement.lower()), ""
        )
        flow = labels | {"remote"} if fetched and not fetches else labels
        if flow & {"remote", "decoded", "input"}:
            word = running[0].strip(" \t|(;").split("(")[0].split()
            notes.tell(
                Act.EXEC, word[0][:40] if word else "eval", fetched or source or address, flow
            )


def _name(path: str) -> str:
    return re.split(r"[/\\]", path.strip("'\""))[-1].lower()


def _tell_files(notes: _Notes, statement: str, labels: frozenset[str], source: str) -> None:
    for found in _DELETE.finditer(statement):
        recursive = _RECURSE.search(found[0]) is not None
        words = [
            word.strip("'\"()")
            for word in found[1].split()
            if not word.startswith(("-", "/s", "/q", "/f", "/S", "/Q", "/F"))
        ]
        if words:
            notes.tell(Act.DELETE, words[0], "recursive" if recursive else "")
    for found in _WRITE.finditer(statement):
        path = found[1]
        kind = persist_kind(path)
        notes.tell(Act.WRITE, path, "", labels)
        if kind:
            notes.tell(Act.PERSIST, kind, source or path, labels)
        if is_agent_path(path):
            notes.tell(Act.TAMPER, path, "", labels)


def _read_powershell_only(notes: _Notes, statement: str) -> None:
    for found in _SET_ENVIRONMENT.finditer(statement):
        notes.tell(Act.SETENV, found[1] or found[3], (found[2] or found[4] or "").strip("'\" "))
    for found in _INSTALL.finditer(statement):
        notes.tell(Act.INSTALL, "powershell", found[2])
    encoded = _ENCODED.search(statement)
    if encoded:
        notes.tell(Act.EXEC, "powershell", "", frozenset(("decoded",)))
        text = decode_base(encoded[1], "base64")
        if text:
            view = notes.view.decoded(
                text.replace("\0", ""), notes.start + encoded.start(1), "base64"
            )
            notes.snippets.append(Snippet("powershell", view, frozenset(("decoded",))))
