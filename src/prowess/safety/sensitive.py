"""Which paths and variables matter: credentials, agents' memory, places from where things start.

One table for every reader, so that `~/.ssh/id_rsa` means the same in shell, Python and prose.
"""

import re
from functools import lru_cache

_HOME = re.compile(
    r"^(?:~[\w.-]*|\$\{?HOME\}?|\$env:USERPROFILE|%USERPROFILE%|/home/[^/]+|/Users/[^/]+|/root"
    r"|[A-Za-z]:/Users/[^/]+)(?=/|$)",
    re.IGNORECASE,
)

# Longer than any path or name that means something; tables are not searched for those.
_LONGEST_PATH = 1024
_LONGEST_NAME = 256
_ONE_LETTER = re.compile(r"\[([\w.])\]")

# Each row: label, what a normalised path (home as `~`, slashes forward) must match.
_LABELS: tuple[tuple[str, str], ...] = (
    ("credential", r"(?:^|/)\.ssh(?:/(?!known_hosts|config$|authorized_keys|.*\.pub$).*)?$"),
    ("credential", r"(?:^|/)id_(?:rsa|dsa|ecdsa|ed25519)$"),
    ("credential", r"(?:^|/)\.aws(?:/(?:credentials|config|sso/cache.*|cli/cache.*|\*{1,2}))?/?$"),
    ("credential", r"(?:^|/)\.config/gcloud(?:/.*)?$|application_default_credentials\.json$"),
    ("credential", r"(?:^|/)\.azure(?:/(?:accessTokens|msal_token_cache|azureProfile).*|/\*)?$"),
    ("credential", r"(?:^|/)\.kube(?:/config|/\*{1,2})?$"),
    ("credential", r"(?:^|/)\.docker/config\.json$"),
    ("credential", r"(?:^|/)[._]netrc$|(?:^|/)\.pgpass$|(?:^|/)\.my\.cnf$"),
    ("credential", r"(?:^|/)\.npmrc$|(?:^|/)\.pypirc$|(?:^|/)\.gem/credentials$"),
    ("credential", r"(?:^|/)\.yarnrc(?:\.yml)?$|(?:^|/)\.git-credentials$"),
    ("credential", r"(?:^|/)\.config/(?:gh/hosts\.yml|hub|glab-cli/config\.yml)$"),
    ("credential", r"(?:^|/)\.gnupg(?:/.*)?$"),
    ("credential", r"(?:^|/)\.env(?:\.(?!example|sample|template|dist)[\w*-]+)?$"),
    ("credential", r"^/etc/(?:shadow|gshadow|sudoers(?:\.d/.*)?|master\.passwd|krb5\.keytab)$"),
    ("credential", r"(?:^|/)\.(?:vault-token|terraform\.d/credentials\.tfrc\.json)$"),
    ("credential", r"(?:^|/)\.cargo/credentials(?:\.toml)?$"),
    ("credential", r"(?:^|/)\.(?:password-store|1password|bitwarden|lastpass)(?:/.*)?$|\.kdbx$"),
    (
        "credential",
        (
            r"(?:^|/)\.(?:openai|anthropic|claude|codex|gemini|openclaw|clawdbot|moltbot|hermes)/"
            r"(?:.*/)?(?:\.?credentials|auth|oauth|token|keys?|secrets?|auth-profiles|openclaw"
            r"|clawdbot|moltbot)[\w.-]*(?:\.json|\.toml|\.yaml)?$"
        ),
    ),
    ("credential", r"^/(?:var/)?run/secrets(?:/.*)?$|^/proc/(?:self|\d+|\*|\$\w+)/environ$"),
    ("keychain", r"(?:^|/)Library/Keychains(?:/.*)?$|login\.keychain(?:-db)?$"),
    ("keychain", r"(?:^|/)\.local/share/keyrings(?:/.*)?$"),
    (
        "browser",
        (
            r"(?:Google/Chrome|google-chrome|chromium|BraveSoftware|Microsoft/Edge|microsoft-edge"
            r"|Firefox|\.mozilla|Safari)"
            r".*(?:Cookies|Login Data|logins\.json|key4\.db|cookies\.sqlite|Local State|Web Data"
            r"|Profiles?|Default)"
        ),
    ),
    ("browser", r"(?:^|/)(?:Cookies\.binarycookies|Login Data)$"),
    ("browser", r"(?:^|/)(?:cookies\.sqlite|logins\.json|key4\.db)$"),
    (
        "wallet",
        (
            r"(?:^|/)(?:\.bitcoin|\.ethereum|\.electrum|\.config/solana|\.solana|Exodus|\.exodus"
            r"|Ledger Live|\.monero|\.atomic|MetaMask|Phantom|Coinomi)(?:/.*)?$"
        ),
    ),
    ("wallet", r"(?:^|/)wallet\.(?:dat|json)$|nkbihfbeogaeaoehlefnkodbefgpgknn"),
    ("history", r"(?:^|/)\.(?:bash|zsh|python|node_repl|psql|mysql|fish)_history$"),
    ("history", r"fish/fish_history$|(?:^|/)\.zhistory$"),
)
_LABELLED = tuple((label, re.compile(pattern, re.IGNORECASE)) for label, pattern in _LABELS)

# What an agent believes and may do: whoever writes there speaks in every later session.
_AGENT = re.compile(
    r"(?:^|/)(?:CLAUDE(?:\.local)?|AGENTS|GEMINI|SOUL|MEMORY|HEARTBEAT|USER|IDENTITY|TOOLS"
    r"|BOOTSTRAP)\.md$"
    r"|(?:^|/)\.(?:cursorrules|windsurfrules|clinerules)(?:/.*)?$"
    r"|(?:^|/)\.(?:claude|codex|gemini|cursor|openclaw|clawdbot|moltbot|hermes|windsurf|copilot"
    r"|continue)/"
    r"(?:settings(?:\.local)?\.json|config\.(?:toml|json|ya?ml)|mcp\.json|hooks(?:\.json|/.*)?"
    r"|rules(?:/.*)?"
    r"|memor(?:y|ies)(?:/.*)?|projects/.*/memory(?:/.*)?|openclaw\.json|clawdbot\.json"
    r"|agents?(?:/.*)?|commands(?:/.*)?"
    r"|workspace/(?:SOUL|MEMORY|AGENTS|HEARTBEAT|USER|TOOLS)\.md)$"
    r"|(?:^|/)\.(?:mcp|claude)\.json$|claude_desktop_config\.json$|(?:^|/)skills/[^/]+/SKILL\.md$|(?:^"
    r"|/)\.github/copilot-instructions\.md$"
    r"|(?:^|/)\.vscode/(?:settings|tasks|mcp)\.json$"
)

_PERSIST: tuple[tuple[str, str], ...] = (
    ("launchd", r"(?:^|/)Library/Launch(?:Agents|Daemons)(?:/.*)?$"),
    ("systemd", r"(?:^|/)(?:\.config/systemd/user|etc/systemd/(?:system|user))/.*$"),
    ("systemd", r"(?:^|/)(?:usr/)?lib/systemd/system/.*$"),
    ("cron", r"^/etc/cron(?:tab|\.(?:d|daily|hourly|weekly|monthly)/.*)$"),
    ("cron", r"^/var/spool/cron(?:/.*)?$"),
    ("rc-file", r"(?:^|/)\.(?:bashrc|bash_profile|bash_login|profile|kshrc|cshrc)$"),
    ("rc-file", r"(?:^|/)\.(?:zshrc|zshenv|zprofile|zlogin)$|(?:^|/)\.config/fish/config\.fish$"),
    ("rc-file", r"^/etc/(?:profile(?:\.d/.*)?|bash\.bashrc|zsh/.*)$"),
    ("authorized-keys", r"(?:^|/)\.ssh/authorized_keys2?$"),
    ("git-hook", r"(?:^|/)\.git/hooks/(?!.*\.sample$)[\w-]+$|(?:^|/)\.husky/[\w-]+$"),
    ("git-hook", r"/hooks/(?:pre|post)-(?:commit|push|merge|checkout|receive|rewrite)$"),
    ("autostart", r"(?:^|/)\.config/autostart/.*$|Start Menu/Programs/Startup|shell:startup"),
    ("loader", r"^/etc/ld\.so\.preload$|sitecustomize\.py$|usercustomize\.py$"),
    ("loader", r"site-packages/.*\.pth$"),
    ("pam", r"^/etc/pam\.d/.*$"),
    ("hosts", r"^/etc/hosts$"),
)
_PERSISTING = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _PERSIST)

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|APIKEY|TOKEN|SECRET(?:_KEY)?|PASSWORD|PASSWD|PASSPHRASE|PRIVATE_KEY"
    r"|ACCESS_KEY(?:_ID)?"
    r"|AUTH(?:_TOKEN|ORIZATION)?|CREDENTIALS?|CONNECTION_STRING|DSN|COOKIE|MNEMONIC"
    r"|SEED(?:_PHRASE)?|PAT)$",
    re.IGNORECASE,
)


def normal_path(path: str) -> str:
    """Return `path` with forward slashes and the home folder written as `~`."""
    flat = path.strip().strip("'\"`").replace("\\", "/")
    # A class of one letter is that letter: `id_r[s]a`.
    flat = _ONE_LETTER.sub(r"\1", flat) if "[" in flat else flat
    return _HOME.sub("~", flat, count=1)


@lru_cache(maxsize=4096)
def path_label(path: str) -> str | None:
    """Return the label of the secret that `path` holds (`credential:~/.ssh/id_rsa`), if any."""
    if len(path) > _LONGEST_PATH:
        return None
    flat = normal_path(path)
    for label, pattern in _LABELLED:
        if pattern.search(flat):
            return f"credential:{flat}" if label == "credential" else label
    return None


@lru_cache(maxsize=4096)
def persist_kind(path: str) -> str | None:
    """Return how whatever is written to `path` comes to run by itself later, if it does."""
    if len(path) > _LONGEST_PATH:
        return None
    flat = normal_path(path)
    return next((kind for kind, pattern in _PERSISTING if pattern.search(flat)), None)


@lru_cache(maxsize=4096)
def is_agent_path(path: str) -> bool:
    """Whether `path` steers an agent: its settings, hooks, servers, rules or memory."""
    return len(path) <= _LONGEST_PATH and _AGENT.search(normal_path(path)) is not None


def is_secret_name(variable: str) -> bool:
    """Whether a variable of that name holds a secret."""
    return len(variable) <= _LONGEST_NAME and _SECRET_NAME.search(variable) is not None
