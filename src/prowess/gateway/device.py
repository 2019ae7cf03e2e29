"""Whether a device is who it says: an ed25519 signature over the challenge of this connection.

A good signature proves that the same device is back; it does not replace the token. Several forms
of the signed text are in use: with the platform (v3), without (v2), and, from this machine alone,
without the nonce (v1), which a client sends when it could not wait for the challenge.
"""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MOST_SKEW_MS = 10 * 60 * 1000
KEY_BYTES, SIGNATURE_BYTES = 32, 64


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClaim:
    """What a device says about itself and what it signed, in the words of its `connect`."""

    id: str
    public_key: str
    signature: str
    signed_at: int
    nonce: str
    client_id: str
    client_mode: str
    role: str
    scopes: tuple[str, ...]
    platform: str
    family: str


def device_problem(
    claim: DeviceClaim, *, token: str, nonce: str, now_ms: int, local: bool
) -> str | None:
    """Return why a device is not believed, or None; no answer repeats what was signed."""
    key = _raw_bytes(claim.public_key, KEY_BYTES)
    if key is None:
        return "device.publicKey must be a raw ed25519 key of 32 bytes in base64"
    # As bytes: letters beyond ASCII cannot be compared as text.
    said = claim.id.lower().encode("utf-8", "surrogatepass")
    if not hmac.compare_digest(hashlib.sha256(key).hexdigest().encode("ascii"), said):
        return "device.id does not belong to device.publicKey"
    if abs(now_ms - claim.signed_at) > MOST_SKEW_MS:
        return "device.signedAt is more than 10 minutes off: check the clocks and sign again"
    # From this machine a device may sign before the challenge has reached it.
    if not (claim.nonce or local) or claim.nonce not in {"", nonce}:
        return "device.nonce must be the one of this connection's connect.challenge"
    signature = _raw_bytes(claim.signature, SIGNATURE_BYTES)
    texts = signed_texts(claim, token)
    if signature is None or not any(_is_signed(key, text, signature) for text in texts):
        return "device.signature does not fit: sign the nonce of connect.challenge again"
    return None


def signed_texts(claim: DeviceClaim, token: str) -> tuple[str, ...]:
    """Return the texts that the signature of this claim may be for."""
    base = (
        claim.id,
        claim.client_id,
        claim.client_mode,
        claim.role,
        ",".join(claim.scopes),
        str(claim.signed_at),
        token,
    )
    if not claim.nonce:
        return ("|".join(("v1", *base)),)
    machine = (_lower(claim.platform), _lower(claim.family))
    return (
        "|".join(("v3", *base, claim.nonce, *machine)),
        "|".join(("v2", *base, claim.nonce)),
    )


def _is_signed(key: bytes, text: str, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text.encode("utf-8"))
    except (InvalidSignature, ValueError):
        return False
    return True


def _raw_bytes(text: str, length: int) -> bytes | None:
    """Return what base64 of either alphabet, padded or not, stands for."""
    plain = text.strip().rstrip("=").replace("-", "+").replace("_", "/")
    try:
        raw = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == length else None


def _lower(text: str) -> str:
    # ASCII alone: other letters change their length, and then both sides sign different texts.
    return "".join(chr(ord(char) + 32) if "A" <= char <= "Z" else char for char in text.strip())
