"""PowerShell, `cmd`, AppleScript and one-liners in Perl, Ruby, PHP and Lua, by bounded patterns.

These languages are rare in skills, so they are not parsed: a text is cut into statements, and each
statement is matched against tables. Variables carry the labels of what was put into them.

What PowerShell, `cmd`, AppleScript, Perl, Ruby and PHP look like when they do something.
"""

import re
from dataclasses import dataclass, field

from prowess.safety.facts import Act, Fact, Reading, Snippet
from prowess.safety.languages.shell.facts import read_shell
from prowess.safety.languages.shell.text import decode_base
from prowess.safety.sensitive import is_agent_path, path_label, persist_kind
from prowess.safety.views import Spot, View

TOKEN = re.compile(r"'[^'\n]*+'|\"(?:[^\"\\\n]++|\\.)*+\"|[()\n;]")
STRING = re.compile(r"'([^'\n]{1,2000})'|\"((?:[^\"\\\n]++|\\.){1,2000}+)\"")
PATH = re.compile(r"(?:[~$%/]|\.{1,2}[/\\]|[A-Za-z]:[/\\]|\.\w)[\w.~$%:/\\{}*@+-]{2,200}")
URL = re.compile(r"(?:https?|ftp|stratum\+tcp)://[^\s'\"`)<>;|,]{1,500}", re.IGNORECASE)
SETTING = re.compile(
    r"\s*(?:my\s+|our\s+|local\s+|var\s+"
    r"|set\s+)?[$@%]?(?!env:)([A-Za-z_]\w{0,60})\s*(?:\+|\.)?(?:=(?![=~>])|\bto\b)"
)
WORD = re.compile(r"[$@%&]?([A-Za-z_]\w{0,60})")
ENVIRONMENT = re.compile(
    r"\$env:(\w{1,60})|%([A-Z_]{3,60})%|ENV[\[{]['\"]?(\w{1,60})|getenv\(\s*['\"](\w{1,60})",
    re.IGNORECASE,
)
WHOLE_ENVIRONMENT = re.compile(
    r"(?:gci|dir|ls|Get-ChildItem|Get-Item)\s+(?:-Path\s+)?env:|GetEnvironmentVariables"
    r"|%ENV\b|\bENV\.(?:to_h|to_a|inspect|map|each)"
    r"|\$_ENV\b|\bgetenv\(\)|^\s*set\s*\|",
    re.IGNORECASE,
)
PLAIN_NAMES = frozenset(
    (
        "TEMP",
        "TMP",
        "USERPROFILE",
        "HOME",
        "APPDATA",
        "LOCALAPPDATA",
        "PATH",
        "PROGRAMFILES",
        "SYSTEMROOT",
        "WINDIR",
        "PROGRAMDATA",
        "PUBLIC",
        "HOMEDRIVE",
        "HOMEPATH",
        "PSMODULEPATH",
        "OS",
        "COMSPEC",
        "SYSTEMDRIVE",
    )
)
SOURCES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (label, re.compile(pattern, re.IGNORECASE))
    for label, pattern in (
        (
            "remote",
            (
                r"Invoke-WebRequest|\biwr\b|Invoke-RestMethod|\birm\b|\bcurl(?:\.exe)?\b|\bwget\b"
                r"|Download(?:String|File|Data)|OpenRead"
                r"|Start-BitsTransfer|bitsadmin|certutil.{0,40}-urlcache|LWP|getprint"
                r"|getstore|HTTP::Tiny|Net::HTTP|open-uri|URI\.open"
                r"|URI\.parse|file_get_contents\s*\(\s*['\"]https?|curl_exec"
                r"|readfile\s*\(\s*['\"]https?|socket\.http|mshta|\bGET\b"
            ),
        ),
        (
            "decoded",
            (
                r"FromBase64String|decode_base64|base64_decode|Base64\.(?:strict_"
                r"|urlsafe_)?decode64|unpack1?\b|gzinflate|gzuncompress"
                r"|str_rot13|hex2bin|GzipStream|certutil.{0,40}-decode|DeflateStream"
                r"|convert_uudecode|\[char\]\s*\(?\d|chr\s*\(\s*\d"
            ),
        ),
        ("clipboard", r"Get-Clipboard|\bthe clipboard\b|Clipboard\]::GetText"),
        (
            "keychain",
            (
                r"Get-StoredCredential|vaultcmd|cmdkey\s*/list|find-generic-password|Get-Secret\b"
                r"|PasswordVault|CredEnumerate"
            ),
        ),
        (
            "host",
            (
                r"\$env:(?:COMPUTERNAME|USERNAME|USERDOMAIN)|\bwhoami\b|\bhostname\b|systeminfo"
                r"|Get-ComputerInfo|ipconfig|Win32_\w+|php_uname"
            ),
        ),
        ("history", r"ConsoleHost_history|Get-History"),
        (
            "input",
            (
                r"Read-Host|\bARGV\b|\$_(?:GET|POST|REQUEST|COOKIE)\b|\$args\b|display dialog"
                r"|php://input"
            ),
        ),
    )
)
RUNNING = re.compile(
    r"Invoke-Expression|\biex\b|\[scriptblock\]::Create|\beval\b|\bassert\s*\("
    r"|Start-Process|\bsaps\b|Invoke-Command|\bInvoke-Item\b|\bii\b"
    r"|(?:^|[\s;|(])[&.]\s*(?:\$\w|['\"(]|[\w\\/:~%]+\.(?:exe|ps1|bat|cmd|vbs|js|msi))"
    r"|\|\s*(?:cmd|powershell|pwsh|sh|bash)\b|load\s*\("
    r"|\binclude\s|\bmshta\b|rundll32|regsvr32|wscript|cscript|msiexec|\bstart\s+['\"%\w]"
    r"|instance_eval|class_eval|create_function"
    r"|\bloadstring|Reflection\.Assembly\]::Load|\bpowershell(?:\.exe)?\s+-"
    r"|cmd(?:\.exe)?\s+/c",
    re.IGNORECASE,
)
SENDING = re.compile(
    r"-Method\s+['\"]?(?:Post|Put|Patch)|-Body\b|-InFile\b|Upload(?:String|File|Data"
    r"|Values)|Send-MailMessage|->post\s*\(|Net::HTTP\.post|post_form"
    r"|CURLOPT_POST|HTTP::Request.{0,20}POST|\bmail\s*\(|-Form\b"
    r"|curl(?:\.exe)?\s.{0,80}(?:-d|-F|-T|--data)|Post\.new|PostAsync",
    re.IGNORECASE,
)
TABLE: tuple[tuple[Act, str, re.Pattern[str]], ...] = tuple(
    (act, subject, re.compile(pattern, re.IGNORECASE))
    for act, subject, pattern in (
        (
            Act.DISABLE,
            "defender",
            (
                r"(?:Set|Add)-MpPreference[^;\n]{0,200}(?:-Disable\w+|-Exclusion\w+"
                r"|-\w+Protection)|DisableAntiSpyware|WinDefend.{0,40}(?:stop|disabled)"
            ),
        ),
        (
            Act.DISABLE,
            "execution-policy",
            (
                r"Set-ExecutionPolicy\s[^;\n]{0,60}(?:Bypass|Unrestricted)|-(?:ep"
                r"|exec\w*)\s+bypass"
            ),
        ),
        (
            Act.DISABLE,
            "firewall",
            (
                r"Set-NetFirewallProfile[^;\n]{0,80}False|netsh\s+advfirewall[^;\n]{0,80}\boff\b"
                r"|Stop-Service\s+mpssvc"
            ),
        ),
        (Act.DISABLE, "amsi", r"AmsiUtils|amsiInitFailed|AmsiScanBuffer"),
        (
            Act.DISABLE,
            "tls",
            (
                r"ServerCertificateValidationCallback|-SkipCertificateCheck|VERIFY_NONE"
                r"|CURLOPT_SSL_VERIFYPEER['\"]?\s*,\s*(?:0|false)|verify_SSL\s*=>\s*0"
            ),
        ),
        (Act.DISABLE, "smartscreen", r"Unblock-File|Zone\.Identifier"),
        (
            Act.PERSIST,
            "scheduled-task",
            (r"Register-ScheduledTask|New-ScheduledTask\b|schtasks[^;\n]{0,40}/create"),
        ),
        (
            Act.PERSIST,
            "registry-run",
            (
                r"(?:New-ItemProperty|Set-ItemProperty|reg(?:\.exe)?\s+add"
                r"|sp)\s[^;\n]{0,200}(?:CurrentVersion.{1,3}Run|Winlogon)"
            ),
        ),
        (Act.PERSIST, "service", r"New-Service\b|\bsc(?:\.exe)?\s+create\b"),
        (
            Act.PERSIST,
            "autostart",
            (r"(?:Start Menu.Programs.Startup|shell:startup|GetFolderPath\(['\"]?Startup)"),
        ),
        (Act.PERSIST, "login-item", r"make\s+(?:new\s+)?login item"),
        (Act.PERSIST, "wmi", r"__EventFilter|CommandLineEventConsumer"),
        (Act.PERSIST, "profile", r"(?:Add|Set)-Content[^;\n]{0,60}\$PROFILE|>>?\s*\$PROFILE"),
        (
            Act.PRIVILEGE,
            "elevation",
            (r"-Verb\s+['\"]?RunAs|with administrator privileges|\brunas\s+/"),
        ),
        (
            Act.PRIVILEGE,
            "group",
            (
                r"net\s+localgroup\s+administrators[^;\n]{0,60}/add"
                r"|Add-LocalGroupMember[^;\n]{0,60}Administrators"
            ),
        ),
        (
            Act.WIPE,
            "disk",
            (r"Format-Volume|Clear-Disk|Initialize-Disk|\bformat\s+[a-z]:|diskpart|cipher\s+/w"),
        ),
        (Act.WIPE, "logs", r"Clear-EventLog|wevtutil\s+cl|Remove-EventLog"),
        (
            Act.WIPE,
            "shadow-copies",
            (r"vssadmin\s+delete|wbadmin\s+delete|Win32_ShadowCopy[^;\n]{0,80}Delete"),
        ),
        (Act.WIPE, "history", r"Clear-History|Remove-Item[^;\n]{0,80}ConsoleHost_history"),
        (Act.MINE, "miner", r"\bxmrig\b|\bminerd\b|stratum\+(?:tcp|ssl)://"),
        (Act.READ, "input", r"(?:with hidden answer|hidden answer true)"),
    )
)
DELETE = re.compile(
    r"(?:Remove-Item|\bri\b|\brd\b|\brmdir\b|\bdel\b|\berase\b|FileUtils\.rm_rf|rmtree"
    r"|rm_r\b)\s*\(?([^;\n|]{0,200})",
    re.IGNORECASE,
)
RECURSE = re.compile(r"-r(?:ec\w*)?\b|/s\b|rm_rf|rmtree|rm_r\b", re.IGNORECASE)
WRITE = re.compile(
    r"(?:-OutFile|-FilePath|Set-Content|Add-Content|Out-File|-Destination|>>?|File\.write"
    r"|fopen|file_put_contents|getstore\s*\([^,]{0,400},)"
    r"\s*\(?\s*(?:-Path\s+)?['\"]?([^\s'\";|),]{2,200})",
    re.IGNORECASE,
)
SET_ENVIRONMENT = re.compile(
    r"\$env:(\w{1,60})\s*=\s*([^;\n]{0,200})|\bsetx\s+(\w{1,60})\s+([^;\n]{0,200})", re.IGNORECASE
)
ENCODED = re.compile(r"-e(?:nc|ncodedcommand|c)?\s+['\"]?([A-Za-z0-9+/=]{24,20000})", re.IGNORECASE)
INSTALL = re.compile(
    r"(Install-Module|Install-Script|Install-Package)\s+(?:-Name\s+)?['\"]?([\w.-]{1,80})",
    re.IGNORECASE,
)
SHELL_TOOL = re.compile(
    r"\s*(?:pip3?|npm|npx|pnpm|yarn|git|docker|winget|choco|scoop|uv|uvx|pipx|cargo|go"
    r"|gem|brew|gh|claude|codex|openclaw|ssh|scp|node|python3?)\s[^\\\n]*$"
)
SHELL_OUT = re.compile(
    r"(?:\b(?:system|exec|shell_exec|passthru|popen|os\.execute|io\.popen|do shell script"
    r"|IO\.popen|Open3\.\w+|spawn|proc_open|qx|%x)\s*[({]?\s*)"
    r"(?:'([^'\n]{1,2000})'|\"((?:[^\"\\\n]++|\\.){1,2000}+)\"|\{([^}\n]{1,2000})\})"
    r"|`([^`\n]{2,2000})`"
)
ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
# The two halves stand within a few hundred characters; lines in between are allowed.
REVERSE_SHELL = re.compile(
    r"(?:Net\.Sockets\.TCPClient.{0,900}?GetStream.{0,900}?(?:iex|Invoke-Expression)"
    r"|IO::Socket::INET.{0,600}?(?:\bexec\b|/bin/)|TCPSocket\.(?:new|open).{0,400}?(?:exec|popen|/bin/)"
    r"|fsockopen.{0,400}?(?:proc_open|/bin/|shell_exec|\bexec\b)"
    r"|\bsocket\(.{0,500}?\bexec\b.{0,20}/bin/|socket\.tcp\(.{0,300}?popen)",
    re.DOTALL,
)


_MAX_TEXT = 400_000
_MAX_STATEMENT = 4_000


@dataclass(slots=True)
class _Notes:
    view: View
    facts: list[Fact] = field(default_factory=list)
    snippets: list[Snippet] = field(default_factory=list)
    texts: list[View] = field(default_factory=list)
    variables: dict[str, tuple[frozenset[str], str]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    start: int = 0
    end: int = 0

    def tell(
        self, act: Act, subject: str = "", target: str = "", flow: frozenset[str] = frozenset()
    ) -> None:
        self.facts.append(
            Fact(act, Spot(self.view, self.start, self.end), subject[:400], target[:400], flow)
        )

    def reading(self) -> Reading:
        return Reading(tuple(self.facts), tuple(self.snippets), tuple(self.texts))


def read_powershell(view: View) -> Reading:
    """Return the facts of a PowerShell or `cmd` text."""
    notes = _Notes(_plain(view))
    for start, end in _statements(notes.view.text):
        notes.start, notes.end = start, end
        statement = notes.view.text[start:end]
        if statement.lstrip().startswith(("#", "::", "REM ", "rem ")):
            notes.texts.append(notes.view.cut(start, end))
            continue
        if SHELL_TOOL.match(statement):
            found = read_shell(notes.view.cut(start, end))
            notes.facts += found.facts
            notes.snippets += found.snippets
        _read_statement(notes, statement)
        _read_powershell_only(notes, statement)
    _tell_reverse_shells(notes)
    return notes.reading()


def read_script(view: View) -> Reading:
    """Return the facts of a Perl, Ruby, PHP, Lua or AppleScript text."""
    notes = _Notes(view)
    for start, end in _statements(view.text):
        notes.start, notes.end = start, end
        statement = view.text[start:end]
        if statement.lstrip().startswith(("#", "//", "--")):
            notes.texts.append(view.cut(start, end))
            continue
        _read_statement(notes, statement)
        for call in SHELL_OUT.finditer(statement):
            inner = next(group for group in range(1, 5) if call[group] is not None)
            notes.snippets.append(
                Snippet("shell", view.cut(start + call.start(inner), start + call.end(inner)))
            )
    _tell_reverse_shells(notes)
    return notes.reading()


def _tell_reverse_shells(notes: _Notes) -> None:
    """Note a connection that is wired to a shell, over the statements of a few lines."""
    for found in REVERSE_SHELL.finditer(notes.view.text[:_MAX_TEXT]):
        notes.start, notes.end = found.span()
        host = ADDRESS.search(notes.view.text, max(found.start() - 200, 0), found.end())
        notes.tell(Act.REVERSE_SHELL, "tcp", host[0] if host else "")


def _plain(view: View) -> View:
    """Take out the backticks and the `'a'+'b'` joints by which names are hidden."""
    text = view.text
    if "`" not in text and "'+'" not in text and '"+"' not in text:
        return view
    kept: list[int] = []
    at = 0
    for hidden in re.finditer(r"`(?=[A-Za-z])|'\s?\+\s?'|\"\s?\+\s?\"", text):
        kept.extend(range(at, hidden.start()))
        at = hidden.end()
    kept.extend(range(at, len(text)))
    if len(kept) == len(text):
        return view
    return view.derive("".join(text[index] for index in kept), kept, "joined")


def _statements(text: str) -> list[tuple[int, int]]:
    """Cut at line ends and semicolons outside quotes and brackets."""
    found: list[tuple[int, int]] = []
    start = depth = 0
    for token in TOKEN.finditer(text, 0, _MAX_TEXT):
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
    return depth == 0 and not before.endswith(("|", "`", ",", "¬", "+"))


def _read_statement(notes: _Notes, statement: str) -> None:
    labels, source = _labels(notes, statement)
    url = URL.search(statement)
    address = url[0] if url else ""
    if url and "remote" in labels:
        source = address
    for act, subject, pattern in TABLE:
        found = pattern.search(statement)
        if found:
            notes.tell(act, subject, found[0])
    _tell_flows(notes, statement, labels, source)
    _tell_files(notes, statement, labels, source)
    setting = SETTING.match(statement)
    if setting:
        before = notes.variables.get(setting[1].lower(), (frozenset(), ""))
        notes.variables[setting[1].lower()] = labels | before[0], source or before[1]


def _labels(notes: _Notes, statement: str) -> tuple[frozenset[str], str]:
    """Return where the data of a statement come from, and the address that they came from."""
    labels = {label for label, pattern in SOURCES if pattern.search(statement)}
    if "remote" in labels and not URL.search(statement) and "$" not in statement:
        labels.discard("remote")
    if WHOLE_ENVIRONMENT.search(statement):
        labels.add("env")
    for found in ENVIRONMENT.finditer(statement):
        name = next(group for group in found.groups() if group)
        if name.upper() not in PLAIN_NAMES:
            labels.add(f"env:{name}")
    for path in PATH.findall(statement):
        label = path_label(path)
        if label:
            labels.add(label)
            notes.tell(Act.READ, label, path)
    held, source = _held(notes, statement)
    return held | labels, source


def _held(notes: _Notes, statement: str) -> tuple[frozenset[str], str]:
    """Return what the variables of a statement hold."""
    labels: frozenset[str] = frozenset()
    source = ""
    setting = SETTING.match(statement) if notes.variables else None
    words = WORD.finditer(statement, setting.end() if setting else 0)
    for word in words if notes.variables else ():
        held = notes.variables.get(word[1].lower())
        if held:
            labels |= held[0]
            source = source or held[1]
    return labels, source


def _tell_flows(notes: _Notes, statement: str, labels: frozenset[str], source: str) -> None:
    url = URL.search(statement)
    address = url[0] if url else source
    fetches = SOURCES[0][1].search(statement)
    sends = SENDING.search(statement)
    if fetches and url and not sends:
        written = WRITE.search(statement)
        notes.tell(Act.FETCH, address, written[1] if written else "")
        if written:
            notes.files[_name(written[1])] = address
    if sends:
        notes.tell(Act.SEND, address, "http", labels - {"remote"})
    running = RUNNING.search(statement)
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
    for found in DELETE.finditer(statement):
        recursive = RECURSE.search(found[0]) is not None
        words = [
            word.strip("'\"()")
            for word in found[1].split()
            if not word.startswith(("-", "/s", "/q", "/f", "/S", "/Q", "/F"))
        ]
        if words:
            notes.tell(Act.DELETE, words[0], "recursive" if recursive else "")
    for found in WRITE.finditer(statement):
        path = found[1]
        kind = persist_kind(path)
        notes.tell(Act.WRITE, path, "", labels)
        if kind:
            notes.tell(Act.PERSIST, kind, source or path, labels)
        if is_agent_path(path):
            notes.tell(Act.TAMPER, path, "", labels)


def _read_powershell_only(notes: _Notes, statement: str) -> None:
    for found in SET_ENVIRONMENT.finditer(statement):
        notes.tell(Act.SETENV, found[1] or found[3], (found[2] or found[4] or "").strip("'\" "))
    for found in INSTALL.finditer(statement):
        notes.tell(Act.INSTALL, "powershell", found[2])
    encoded = ENCODED.search(statement)
    if encoded:
        notes.tell(Act.EXEC, "powershell", "", frozenset(("decoded",)))
        text = decode_base(encoded[1], "base64")
        if text:
            view = notes.view.decoded(
                text.replace("\0", ""), notes.start + encoded.start(1), "base64"
            )
            notes.snippets.append(Snippet("powershell", view, frozenset(("decoded",))))
