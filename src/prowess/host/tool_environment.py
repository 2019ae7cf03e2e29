"""The variables that a package manager is started with, and where each one puts what it installs.

The environment is the operator's own, less what would have it load other code and less secrets
that are none of its business. What says where packages come from stays: registries, indexes,
proxies and certificates are the operator's decision, and skills cannot set those.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from prowess.safety.environment_policy import (
    comparable,
    denied_group,
    is_secret_like,
    loader_groups,
)

# Of the groups that make a tool run other code, these say where packages come from.
_REGISTRIES = "package_managers"
_KEPT = frozenset(
    (
        "GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB", "GOINSECURE", "GOAUTH",
        "GOVCS", "GOPATH", "GOROOT", "GOENV", "GOTOOLCHAIN", "GOCACHE", "GOMODCACHE",
        "NODE_EXTRA_CA_CERTS",
        "NODE_USE_ENV_PROXY", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "NVM_DIR", "VOLTA_HOME",
        "NPM_TOKEN", "NODE_AUTH_TOKEN",
    )
)  # fmt: skip
# Programs that stand in for others find the real ones by these.
_KEPT_PREFIXES = ("ASDF_", "MISE_", "NODENV_", "PYENV_", "RBENV_")
# These would undo what the arguments say, or have npm load other code.
_DROPPED = frozenset(
    (
        "NPM_CONFIG_NODE_OPTIONS", "NPM_CONFIG_SCRIPT_SHELL", "NPM_CONFIG_SHELL",
        "NPM_CONFIG_IGNORE_SCRIPTS", "NPM_CONFIG_GLOBAL", "NPM_CONFIG_PREFIX",
        "NPM_CONFIG_LOCATION", "NPM_CONFIG_DRY_RUN", "UV_TOOL_DIR", "UV_TOOL_BIN_DIR",
    )
)  # fmt: skip
# Words by which people call their secrets. Too many for what a skill may declare; an installer
# needs none of them, and those of registries are kept by name above.
_SECRET_WORDS = frozenset(
    (
        "APIKEY", "AUTH", "AUTHORIZATION", "BEARER", "COOKIE", "COOKIES", "CRED", "CREDENTIAL",
        "CREDENTIALS", "CREDS", "JWT", "KEY", "KEYS", "OTP", "PASS", "PASSCODE", "PASSPHRASE",
        "PASSWD", "PASSWORD", "PAT", "PSK", "PW", "SECRET", "SECRETS", "SK", "TOKEN", "TOKENS",
    )
)  # fmt: skip
# Run together with the word before, or plain words in other places.
_SECRET_END = re.compile(
    r"(?:APIKEY|COOKIES?|CREDS?|PASS|PASSPHRASE|PASSWD|PASSWORD|SECRET|TOKEN|[A-Z0-9]_PWD)$"
)
_LOGIN_IN_ADDRESS = re.compile(r"://[^/\s:@]*:[^/\s@]+@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Directions:
    """How one package manager is made to install below the tools folder."""

    # Placed before the package's name.
    options: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    # Its folder below the tools folder, and where in it programs appear; "" where it has its own.
    home: str = ""
    programs: str = "bin"


def directions(tool: str, tools: str, *, windows: bool = False) -> Directions:
    """Return how `tool` is directed; what cannot be directed installs where it always does."""
    home = f"{tools}/{tool}"
    options: dict[str, tuple[str, ...]] = {
        "npm": ("--prefix", home),
        "pnpm": ("--global-dir", f"{home}/global", "--global-bin-dir", f"{home}/bin"),
        "yarn": ("--prefix", home, "--global-folder", f"{home}/global"),
    }
    places: dict[str, tuple[tuple[str, str], ...]] = {
        "pnpm": (("PNPM_HOME", home),),
        "bun": (("BUN_INSTALL", home),),
        "uv": (("UV_TOOL_DIR", f"{home}/tools"), ("UV_TOOL_BIN_DIR", f"{home}/bin")),
        "go": (("GOBIN", f"{home}/bin"),),
    }
    if tool not in options and tool not in places:
        return Directions()
    return Directions(
        options=options.get(tool, ()),
        environment=places.get(tool, ()),
        home=tool,
        programs="" if windows and tool == "npm" else "bin",
    )


def installer_environment(
    base: Mapping[str, str], configured: Collection[str] = ()
) -> dict[str, str]:
    """Return `base` as an installer may see it; `configured` names the secrets of skills."""
    secret = {comparable(name) for name in configured}
    return {name: value for name, value in base.items() if _stays(comparable(name), value, secret)}


def _stays(name: str, value: str, secret: Collection[str]) -> bool:
    if name in _KEPT or name.startswith(_KEPT_PREFIXES):
        return True
    group = denied_group(name)
    if group == _REGISTRIES:
        return name not in _DROPPED
    if group in loader_groups or is_secret_like(name):
        return False
    # A skill may not set those anyway, so none of them is a skill's secret: PATH, HOME, proxies.
    return group is not None or not (name in secret or _is_secret(name, value))


def _is_secret(name: str, value: str) -> bool:
    """Say whether a variable of nobody's looks like a secret to an installer, by a wide guess."""
    if not _SECRET_WORDS.isdisjoint(name.split("_")) or _SECRET_END.search(name):
        return True
    return _LOGIN_IN_ADDRESS.search(value) is not None
