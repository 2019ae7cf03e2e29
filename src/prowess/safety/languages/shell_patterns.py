"""What PowerShell, `cmd`, AppleScript, Perl, Ruby and PHP look like when they do something."""

import re

from prowess.safety.facts import Act

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
