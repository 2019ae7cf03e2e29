"""The part of the config that tells the scanner what the operator allows."""

import re

from prowess.host.config.sections import Reader
from prowess.settings import SafetySettings

_EGRESS, _REVIEW = "skills.safety.egress", "skills.safety.review"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A name or an address, and nothing that could be read as more: no scheme, port, path or star.
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


def safety_settings(reader: Reader) -> SafetySettings:
    """Read `skills.safety`."""
    return SafetySettings(egress=_egress(reader), review=reader.flag(_REVIEW, default=False))


def _egress(reader: Reader) -> dict[str, tuple[str, ...]]:
    """Return what is plain to read; anything else allows nothing and is reported."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in reader.mapping(_EGRESS).items():
        key = f"{_EGRESS}.{name}"
        if not _VARIABLE.fullmatch(name):
            reader.wrong(key, "the name of a variable")
            continue
        hosts = reader.as_words(key, [value] if isinstance(value, str) else value) or ()
        odd = [host for host in hosts if not _HOST.fullmatch(host)]
        if odd:
            reader.wrong(key, f"a list of hosts such as api.example.com, not {odd[0][:60]!r}")
        if plain := tuple(host.lower() for host in hosts if host not in odd):
            found[name] = plain
    return found
