"""Device identity: which signatures are believed."""

import base64
import dataclasses
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.rows import each_row

from prowess.wire.handshake import DeviceClaim, find_device_problem, signed_texts

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
RAW = KEY.public_key().public_bytes_raw()
GIVEN = "tok"
NOW = 1_700_000_000_000


def _claim(**changes: object) -> DeviceClaim:
    claim = DeviceClaim(
        id=hashlib.sha256(RAW).hexdigest(),
        public_key=base64.urlsafe_b64encode(RAW).decode().rstrip("="),
        signature="",
        signed_at=NOW,
        nonce="nonce-1",
        client_id="openclaw-macos",
        client_mode="ui",
        role="operator",
        scopes=("operator.admin", "operator.read"),
        platform=" MacOS ",
        family="",
    )
    return dataclasses.replace(claim, **changes)  # type: ignore[arg-type]


def _signed(claim: DeviceClaim, version: str = "v2", token: str = GIVEN) -> DeviceClaim:
    text = next(one for one in signed_texts(claim, token) if one.startswith(version))
    signature = base64.b64encode(KEY.sign(text.encode())).decode()
    return dataclasses.replace(claim, signature=signature)


def _problem(claim: DeviceClaim, *, token: str = GIVEN, local: bool = False) -> str | None:
    found = find_device_problem(claim, token=token, nonce="nonce-1", now_ms=NOW, local=local)
    return None if found is None else found[1]


def test_the_signed_texts_are_those_that_clients_sign() -> None:
    claim = _claim(id="dev-1")

    v3, v2 = signed_texts(claim, "tok")

    rest = "dev-1|openclaw-macos|ui|operator|operator.admin,operator.read|1700000000000|tok|nonce-1"
    assert v2 == f"v2|{rest}"
    assert v3 == f"v3|{rest}|macos|"


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_both_forms_are_believed(version: str) -> None:
    assert _problem(_signed(_claim(), version)) is None


def test_the_key_may_be_padded_base64_of_the_other_alphabet() -> None:
    assert _problem(_signed(_claim(public_key=base64.b64encode(RAW).decode()))) is None


def test_without_a_nonce_only_this_machine_is_believed() -> None:
    claim = _signed(_claim(nonce=""), "v1")

    assert _problem(claim, local=True) is None
    assert "device.nonce" in str(_problem(claim))


@each_row(
    ("claim", "field"),
    [
        (_signed(_claim(public_key="short")), "device.publicKey"),
        (_signed(_claim(public_key="!" * 44)), "device.publicKey"),
        (_signed(_claim(id="0" * 64)), "device.id"),
        (_signed(_claim(signed_at=NOW - 600_001)), "device.signedAt"),
        (_signed(_claim(signed_at=NOW + 600_001)), "device.signedAt"),
        (_signed(_claim(nonce="nonce-2")), "device.nonce"),
        (_claim(signature="AAAA"), "device.signature"),
        (_claim(signature=base64.b64encode(bytes(64)).decode()), "device.signature"),
        (_signed(_claim(), token=GIVEN + "x"), "device.signature"),
        (dataclasses.replace(_signed(_claim()), role="node"), "device.signature"),
        (dataclasses.replace(_signed(_claim()), scopes=("operator.read",)), "device.signature"),
    ],
)
def test_anything_else_is_not_and_the_field_is_named(claim: DeviceClaim, field: str) -> None:
    problem = _problem(claim)

    assert problem is not None
    assert problem.startswith(field)


def test_a_point_that_is_no_key_is_a_problem_and_no_crash() -> None:
    weak = bytes(32)
    claim = _claim(
        id=hashlib.sha256(weak).hexdigest(),
        public_key=base64.b64encode(weak).decode(),
        signature=base64.b64encode(bytes(64)).decode(),
    )

    assert "device." in str(_problem(claim))
