"""One table says which paths and variables matter, however a path is written."""

import pytest
from tests.rows import each_row

from prowess.safety.paths import is_agent_path, normal_path, path_label, persist_kind
from prowess.secrets.names import is_secret_name


@each_row(
    "path",
    [
        "~/.ssh/id_rsa",
        "$HOME/.ssh/id_rsa",
        "${HOME}/.ssh/id_rsa",
        "/home/ann/.ssh/id_rsa",
        "/Users/ann/.ssh/id_rsa",
        "%USERPROFILE%\\.ssh\\id_rsa",
        "C:\\Users\\ann\\.ssh\\id_rsa",
        " '~/.ssh/id_r[s]a' ",
    ],
)
def test_the_same_file_is_the_same_in_every_spelling(path: str) -> None:
    assert normal_path(path) == "~/.ssh/id_rsa"
    assert path_label(path) == "credential:~/.ssh/id_rsa"


@each_row(
    ("path", "label"),
    [
        ("~/.aws/credentials", "credential:~/.aws/credentials"),
        ("~/.config/gcloud/access_tokens.db", "credential:~/.config/gcloud/access_tokens.db"),
        ("~/.kube/config", "credential:~/.kube/config"),
        ("~/.docker/config.json", "credential:~/.docker/config.json"),
        ("~/.netrc", "credential:~/.netrc"),
        ("~/.npmrc", "credential:~/.npmrc"),
        ("~/.yarnrc.yml", "credential:~/.yarnrc.yml"),
        ("~/.git-credentials", "credential:~/.git-credentials"),
        ("~/.config/gh/hosts.yml", "credential:~/.config/gh/hosts.yml"),
        ("~/.cargo/credentials.toml", "credential:~/.cargo/credentials.toml"),
        ("~/.vault-token", "credential:~/.vault-token"),
        ("app/.env", "credential:app/.env"),
        ("app/.env.production", "credential:app/.env.production"),
        ("/etc/shadow", "credential:/etc/shadow"),
        ("/proc/self/environ", "credential:/proc/self/environ"),
        ("~/.claude/.credentials.json", "credential:~/.claude/.credentials.json"),
        ("~/Library/Keychains/login.keychain-db", "keychain"),
        ("~/.local/share/keyrings/login.keyring", "keychain"),
        ("~/.config/google-chrome/Default/Login Data", "browser"),
        ("x/cookies.sqlite", "browser"),
        ("~/.electrum/wallets", "wallet"),
        ("backup/wallet.dat", "wallet"),
        ("~/.bash_history", "history"),
        ("~/.zhistory", "history"),
    ],
)
def test_what_a_path_holds_has_a_label(path: str, label: str) -> None:
    assert path_label(path) == label


@each_row(
    "path",
    ["~/.ssh/known_hosts", "~/.ssh/id_rsa.pub", ".env.example", "src/environment.py", "a" * 2000],
)
def test_an_ordinary_path_has_no_label(path: str) -> None:
    assert path_label(path) is None


@each_row(
    ("path", "kind"),
    [
        ("~/Library/LaunchAgents/a.plist", "launchd"),
        ("~/.config/systemd/user/a.service", "systemd"),
        ("/usr/lib/systemd/system/a.service", "systemd"),
        ("/etc/cron.d/a", "cron"),
        ("/var/spool/cron/root", "cron"),
        ("~/.bashrc", "rc-file"),
        ("~/.zshenv", "rc-file"),
        ("/etc/profile.d/a.sh", "rc-file"),
        ("~/.ssh/authorized_keys", "authorized-keys"),
        (".git/hooks/pre-commit", "git-hook"),
        (".husky/pre-push", "git-hook"),
        ("~/.config/autostart/a.desktop", "autostart"),
        ("/etc/ld.so.preload", "loader"),
        ("lib/site-packages/a.pth", "loader"),
        ("/etc/pam.d/sudo", "pam"),
        ("/etc/hosts", "hosts"),
        (".git/hooks/pre-commit.sample", None),
        ("docs/cron.md", None),
        ("b" * 2000, None),
    ],
)
def test_a_place_from_where_things_start_is_known(path: str, kind: str | None) -> None:
    assert persist_kind(path) == kind


@pytest.mark.parametrize(
    ("path", "steers"),
    [
        ("CLAUDE.md", True),
        ("AGENTS.md", True),
        ("~/.claude/settings.json", True),
        ("~/.codex/config.toml", True),
        (".cursor/rules/a.mdc", True),
        (".github/copilot-instructions.md", True),
        ("README.md", False),
        ("~/.claude/notes/a.txt", False),
        ("c" * 2000, False),
    ],
)
def test_a_file_that_steers_an_agent_is_known(path: str, *, steers: bool) -> None:
    assert is_agent_path(path) is steers


@each_row("name", ["GITHUB_TOKEN", "aws_secret_access_key", "DB_PASSWORD", "OPENAI_API_KEY", "PAT"])
def test_a_secret_is_known_by_the_name_of_its_variable(name: str) -> None:
    assert is_secret_name(name)


@each_row("name", ["HOME", "TOKENIZER", "KEYBOARD", "PATH", "A" * 300 + "_TOKEN"])
def test_other_variables_are_no_secrets(name: str) -> None:
    assert not is_secret_name(name)
