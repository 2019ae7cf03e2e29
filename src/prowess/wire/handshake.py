"""The first words of a connection, as both ends write and read them: `connect` and its answer.

Clients differ, so what is not known in `connect` is passed over; what is known must have the right
type. A device may sign the challenge with an ed25519 key: that proves that the same device is back
and does not replace the token. Several forms of the signed text are in use: with the platform (v3),
without (v2), and, from the same machine alone, without the nonce (v1), which a client sends when it
could not wait for the challenge.
"""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from typing import Annotated, Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

OLDEST_PROTOCOL, NEWEST_PROTOCOL = 3, 4
OPERATOR: Final = "operator"
NODE: Final = "node"
CHALLENGE = "connect.challenge"
_MOST_SKEW_MS = 10 * 60 * 1000
_KEY_BYTES, _SIGNATURE_BYTES = 32, 64

Short = Annotated[str, Field(max_length=256)]
Secret = Annotated[str, Field(max_length=4096)]


class _OpenParams(BaseModel):
    """Known fields are checked, unknown ones passed over."""

    model_config = ConfigDict(
        extra="ignore",
        strict=True,
        frozen=True,
        hide_input_in_errors=True,
        alias_generator=to_camel,
    )


class ConnectClient(_OpenParams):
    """What the client's program is."""

    id: Short
    version: Short | None = None
    platform: Short | None = None
    mode: Short | None = None
    instance_id: Short | None = None
    display_name: Short | None = None
    device_family: Short | None = None


class ConnectAuth(_OpenParams):
    """The secret that the client knows."""

    token: Secret | None = Field(default=None, repr=False)
    password: Secret | None = Field(default=None, repr=False)


class ConnectDevice(_OpenParams):
    """The device that signed the challenge."""

    id: Short
    public_key: Short
    signature: Short
    signed_at: int
    nonce: Short | None = None


class ConnectParams(_OpenParams):
    """The parameters of `connect`."""

    min_protocol: int
    max_protocol: int
    client: ConnectClient
    role: Short | None = None
    scopes: Annotated[tuple[Short, ...], Field(max_length=64)] | None = None
    device: ConnectDevice | None = None
    auth: ConnectAuth | None = None
    caps: Annotated[tuple[Short, ...], Field(max_length=256)] | None = None
    user_agent: Annotated[str, Field(max_length=4096)] | None = None
    locale: Short | None = None

    def dump(self) -> dict[str, Any]:
        """Return the parameters as they are sent; what was not given is left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


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

    @classmethod
    def read(cls, said: ConnectParams, device: ConnectDevice) -> "DeviceClaim":
        """Return what the device of a `connect` claims."""
        return cls(
            id=device.id,
            public_key=device.public_key,
            signature=device.signature,
            signed_at=device.signed_at,
            nonce=(device.nonce or "").strip(),
            client_id=said.client.id,
            client_mode=said.client.mode or "",
            role=(said.role or OPERATOR).strip(),
            scopes=said.scopes or (),
            platform=said.client.platform or "",
            family=said.client.device_family or "",
        )


class DeviceIdentity:
    """An ed25519 key, and the id that follows from it.

    The key is the caller's to keep: `private_bytes` gives it, to be stored where only its owner can
    read it. It never leaves this process otherwise.
    """

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

    def sign(self, said: ConnectParams, token: str, nonce: str, now_ms: int) -> ConnectParams:
        """Return a `connect` with the block of this device."""
        block = {"id": self.id, "publicKey": _encode(self._public), "signature": ""}
        unsigned = ConnectDevice.model_validate({**block, "signedAt": now_ms, "nonce": nonce})
        text, *_older = signed_texts(DeviceClaim.read(said, unsigned), token)
        signature = _encode(self._key.sign(text.encode("utf-8")))
        device = unsigned.model_copy(update={"signature": signature})
        return said.model_copy(update={"device": device})


def find_device_problem(
    claim: DeviceClaim, *, token: str, nonce: str, now_ms: int, local: bool
) -> tuple[str, str] | None:
    """Return why a device is not believed, for programs and for people, or None.

    No answer repeats what was signed.
    """
    key = _decode(claim.public_key, _KEY_BYTES)
    if key is None:
        problem = "device.publicKey must be a raw ed25519 key of 32 bytes in base64"
        return "DEVICE_AUTH_PUBLIC_KEY_INVALID", problem
    # As bytes: letters beyond ASCII cannot be compared as text.
    said = claim.id.lower().encode("utf-8", "surrogatepass")
    if not hmac.compare_digest(hashlib.sha256(key).hexdigest().encode("ascii"), said):
        return "DEVICE_AUTH_DEVICE_ID_MISMATCH", "device.id does not belong to device.publicKey"
    if abs(now_ms - claim.signed_at) > _MOST_SKEW_MS:
        problem = "device.signedAt is more than 10 minutes off: check the clocks and sign again"
        return "DEVICE_AUTH_SIGNATURE_EXPIRED", problem
    # From this machine a device may sign before the challenge has reached it.
    if not (claim.nonce or local) or claim.nonce not in {"", nonce}:
        kind = f"DEVICE_AUTH_NONCE_{'MISMATCH' if claim.nonce else 'REQUIRED'}"
        return kind, "device.nonce must be the one of this connection's connect.challenge"
    signature = _decode(claim.signature, _SIGNATURE_BYTES)
    texts = signed_texts(claim, token)
    if signature is None or not any(_is_signed(key, text, signature) for text in texts):
        problem = "device.signature does not fit: sign the nonce of connect.challenge again"
        return "DEVICE_AUTH_SIGNATURE_INVALID", problem
    return None


def signed_texts(claim: DeviceClaim, token: str) -> tuple[str, ...]:
    """Return the texts that the signature of this claim may be for, the newest form first."""
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
    return ("|".join(("v3", *base, claim.nonce, *machine)), "|".join(("v2", *base, claim.nonce)))


def _is_signed(key: bytes, text: str, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text.encode("utf-8"))
    except (InvalidSignature, ValueError):
        return False
    return True


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def _decode(text: str, length: int) -> bytes | None:
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
