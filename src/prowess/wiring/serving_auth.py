"""What clients of the gateway must know: the token or the password, as somebody gave it.

Whatever was given wrongly is refused. Passed over, it would start a gateway that asks nothing of
anybody, and whoever gave it would believe otherwise.
"""

import re
from collections.abc import Mapping
from typing import Any

from prowess.errors import GatewayStartError
from prowess.wiring.library import Runtime

# The name of a variable, not a token.
TOKEN_VARIABLE = "PROWESS_GATEWAY_TOKEN"  # noqa: S105
_LONGEST = 4_096
_REFERENCE = re.compile(r"\$(?:[A-Z_][A-Z0-9_]*|\{[A-Z_][A-Z0-9_]*\})")
_SECRETS = ("token", "password")


def usable_secret(where: str, given: str) -> str:
    """Return a secret that clients can send; nothing given is nothing asked.

    Raises:
        GatewayStartError: it is blank, or no header can carry it.
    """
    found = given.strip()
    if given and not found:
        raise GatewayStartError(f"{where} is blank: give a token, or leave it out.")
    if not found.isascii() or not found.isprintable() or len(found) > _LONGEST:
        raise GatewayStartError(
            f"{where} cannot be sent by every client: use up to {_LONGEST} letters, digits and"
            " signs of ASCII."
        )
    return found


def configured_secrets(runtime: Runtime) -> tuple[str, str]:
    """Return the token and the password of the config; settings hold no secrets, so here.

    Raises:
        GatewayStartError: the config asks for one, and does not say which.
    """
    gateway = _object(runtime, runtime.config.values(), "gateway")
    for name in _SECRETS:
        if gateway.get(name) is not None:
            raise _wrong(runtime, f"gateway.{name}", f"belongs to gateway.auth.{name}: move it")
    auth = _object(runtime, gateway, "auth")
    found = {name: _secret(runtime, name, auth.get(name)) for name in _SECRETS}
    mode = auth.get("mode")
    if mode not in (None, "none", *_SECRETS):
        raise _wrong(runtime, "gateway.auth.mode", "is neither none, token nor password: change it")
    if mode in _SECRETS and not found[mode]:
        raise _wrong(runtime, "gateway.auth.mode", f"asks for gateway.auth.{mode}: set it")
    return found["token"], found["password"]


def _object(runtime: Runtime, outer: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = outer.get(name)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        key = name if name == "gateway" else f"gateway.{name}"
        raise _wrong(runtime, key, "is not an object: write gateway.auth.token")
    return found


def _secret(runtime: Runtime, name: str, found: object) -> str:
    key = f"gateway.auth.{name}"
    if found is None:
        return ""
    if not isinstance(found, str) or _REFERENCE.fullmatch(found.strip()):
        raise _wrong(runtime, key, "is not the text itself, and references are not followed here")
    if not found.strip():
        raise _wrong(runtime, key, "is blank: give it, or remove it")
    return usable_secret(f"{key} in {runtime.config.path}", found)


def _wrong(runtime: Runtime, key: str, problem: str) -> GatewayStartError:
    return GatewayStartError(
        f"{key} in {runtime.config.path} {problem}, or set {TOKEN_VARIABLE} instead."
    )
