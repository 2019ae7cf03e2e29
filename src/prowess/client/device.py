"""A device that proves to be the same one as before, by signing what the gateway asks.

The key is the caller's to keep: `private_bytes` gives it once, to be stored where only its owner
can read it. It never leaves this process otherwise, and it does not replace the token.
"""

import base64
import hashlib
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a device signs, beside its own id."""

    client_id: str
    mode: str
    role: str
    scopes: tuple[str, ...]
    platform: str
    token: str = field(repr=False)
    nonce: str
    signed_at: int


class DeviceIdentity:
    """An ed25519 key, and the id that follows from it."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self._public = key.public_key().public_bytes_raw()
        self.id = hashlib.sha256(self._public).hexdigest()

    def __repr__(self) -> str:
        return f"DeviceIdentity(id={self.id!r})"

    @classmethod
    def new(cls) -> "DeviceIdentity":
        """Return a device that nobody has seen before."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_private_bytes(cls, key: bytes) -> "DeviceIdentity":
        """Return the device that `private_bytes` was kept of.

        Raises:
            ValueError: these are not the 32 bytes of a key.
        """
        return cls(Ed25519PrivateKey.from_private_bytes(key))

    def private_bytes(self) -> bytes:
        """Return the secret half of the key, for the caller to keep."""
        return self._key.private_bytes_raw()

    def signed(self, statement: Statement) -> dict[str, Any]:
        """Return the device block of `connect`."""
        text = "|".join(
            (
                "v3",
                self.id,
                statement.client_id,
                statement.mode,
                statement.role,
                ",".join(statement.scopes),
                str(statement.signed_at),
                statement.token,
                statement.nonce,
                statement.platform.strip().lower(),
                # The family of a device: programs have none.
                "",
            )
        )
        return {
            "id": self.id,
            "publicKey": _base64(self._public),
            "signature": _base64(self._key.sign(text.encode("utf-8"))),
            "signedAt": statement.signed_at,
            "nonce": statement.nonce,
        }


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")
