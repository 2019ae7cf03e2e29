"""A sigstore of our own: a certificate authority, its log, a transparency log, and bundles.

Everything is what the public one would give, with other keys: a certificate that names who signed
and who vouches for it, with a timestamp of the certificate log, and an entry of the transparency
log with promise, proof and checkpoint. So the real library verifies it, against a TrustedRoot file.
"""

import base64
import hashlib
import json
import struct
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import rfc8785
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from tests.integration.sharing_world import sha256

from prowess.sharing.lock import content_digest

ISSUER = "https://accounts.example.com"
BUNDLE = "skill.sigstore.json"
_NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
_SCT_LIST = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_ISSUER_OID = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
_REPOSITORY_OID = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.12")


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _der(key: ec.EllipticCurvePrivateKey) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.DER, form)


def _utf8(text: str) -> bytes:
    raw = text.encode()
    return bytes((0x0C, len(raw))) + raw


class Sigstore:
    """Signs as anybody, at any time; what it signs is true to the library."""

    def __init__(self) -> None:
        self.authority, self.certificates, self.log = (
            ec.generate_private_key(ec.SECP256R1()) for _ in range(3)
        )
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "our authority")])
        usage = dict.fromkeys(
            (
                "digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
                "key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
            ),
            False,
        )  # fmt: skip
        self._usage, public = usage, self.authority.public_key()
        self._root = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(public)
            .serial_number(1)
            .not_valid_before(_NOW - timedelta(days=365))
            .not_valid_after(_NOW + timedelta(days=3650))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(
                x509.KeyUsage(**{**usage, "key_cert_sign": True, "crl_sign": True}), critical=True
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self.authority, hashes.SHA256())
        )

    def trust(self, state: Path) -> None:
        """Have a state folder believe this one."""
        state.mkdir(parents=True, exist_ok=True)
        (state / "trusted-root.json").write_text(json.dumps(self.root()), encoding="utf-8")

    def root(self) -> dict[str, Any]:
        since = {"start": "2020-01-01T00:00:00Z"}

        def log(key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
            return {
                "baseUrl": "https://log.example.com",
                "hashAlgorithm": "SHA2_256",
                "publicKey": {
                    "rawBytes": _text(_der(key)),
                    "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                    "validFor": since,
                },
                "logId": {"keyId": _text(hashlib.sha256(_der(key)).digest())},
            }

        raw = self._root.public_bytes(serialization.Encoding.DER)
        return {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(self.log)],
            "ctlogs": [log(self.certificates)],
            "certificateAuthorities": [
                {
                    "subject": {"organization": "ours", "commonName": "our authority"},
                    "uri": "https://authority.example.com",
                    "certChain": {"certificates": [{"rawBytes": _text(raw)}]},
                    "validFor": since,
                }
            ],
        }

    def sign(
        self,
        files: Mapping[str, bytes],
        signer: str = "ann@example.com",
        issuer: str = ISSUER,
        late: timedelta = timedelta(minutes=1),
    ) -> bytes:
        """Return a bundle over the digest of files, logged so long after the certificate."""
        digest = content_digest({path: sha256(one) for path, one in files.items()})
        raw = bytes.fromhex(digest.removeprefix("sha256:"))
        key, leaf = self._certify(signer, issuer)
        signature = key.sign(raw, ec.ECDSA(_prehashed()))
        pem = leaf.public_bytes(serialization.Encoding.PEM)
        body = {
            "apiVersion": "0.0.1",
            "kind": "hashedrekord",
            "spec": {
                "data": {"hash": {"algorithm": "sha256", "value": raw.hex()}},
                "signature": {"content": _text(signature), "publicKey": {"content": _text(pem)}},
            },
        }
        message = {
            "messageDigest": {"algorithm": "SHA2_256", "digest": _text(raw)},
            "signature": _text(signature),
        }
        return self._bundle(leaf, body, {"messageSignature": message}, late)

    def state(self, statement: Mapping[str, Any], signer: str = "ann@example.com") -> bytes:
        """Return a bundle with a signed statement."""
        kind, payload = "application/vnd.in-toto+json", json.dumps(statement).encode()
        key, leaf = self._certify(signer, ISSUER)
        whole = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
        signature = key.sign(whole, ec.ECDSA(hashes.SHA256()))
        pem = leaf.public_bytes(serialization.Encoding.PEM)
        envelope = {
            "payload": _text(payload),
            "payloadType": kind,
            "signatures": [{"sig": _text(signature)}],
        }
        body = {
            "apiVersion": "0.0.1",
            "kind": "dsse",
            "spec": {
                "envelopeHash": {
                    "algorithm": "sha256",
                    "value": sha256(json.dumps(envelope).encode()),
                },
                "payloadHash": {"algorithm": "sha256", "value": sha256(payload)},
                "signatures": [{"signature": _text(signature), "verifier": _text(pem)}],
            },
        }
        return self._bundle(leaf, body, {"dsseEnvelope": envelope}, timedelta(minutes=1))

    def _certify(
        self, signer: str, issuer: str
    ) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
        """Return a key and its certificate, valid for ten minutes, with a log's timestamp."""
        key, public = ec.generate_private_key(ec.SECP256R1()), self.authority.public_key()
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(self._root.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_NOW)
            .not_valid_after(_NOW + timedelta(minutes=10))
            .add_extension(
                x509.KeyUsage(**{**self._usage, "digital_signature": True}), critical=True
            )
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False
            )
            .add_extension(x509.SubjectAlternativeName([x509.RFC822Name(signer)]), critical=True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False
            )
            .add_extension(x509.UnrecognizedExtension(_ISSUER_OID, _utf8(issuer)), critical=False)
            .add_extension(
                x509.UnrecognizedExtension(_REPOSITORY_OID, _utf8("https://git.example.com/ann")),
                critical=False,
            )
        )
        before = builder.sign(self.authority, hashes.SHA256()).tbs_certificate_bytes
        stamp = x509.UnrecognizedExtension(_SCT_LIST, self._stamp(before))
        leaf = builder.add_extension(stamp, critical=False).sign(self.authority, hashes.SHA256())
        return key, leaf

    def _stamp(self, certificate: bytes) -> bytes:
        """Return what the log of certificates says of one, as RFC 6962 has it."""
        moment = int(_NOW.timestamp() * 1000)
        issuer = hashlib.sha256(_der(self.authority)).digest()
        entry = issuer + len(certificate).to_bytes(3, "big") + certificate
        said = struct.pack("!BBQH", 0, 0, moment, 1) + entry + struct.pack("!H", 0)
        signature = self.certificates.sign(said, ec.ECDSA(hashes.SHA256()))
        log = hashlib.sha256(_der(self.certificates)).digest()
        one = struct.pack("!B32sQH", 0, log, moment, 0) + struct.pack("!BBH", 4, 3, len(signature))
        one += signature
        rows = struct.pack("!H", len(one)) + one
        listed = struct.pack("!H", len(rows)) + rows
        return bytes((0x04, len(listed))) + listed

    def _bundle(
        self,
        leaf: x509.Certificate,
        body: Mapping[str, Any],
        content: Mapping[str, Any],
        late: timedelta,
    ) -> bytes:
        raw, moment = rfc8785.dumps(dict(body)), int((_NOW + late).timestamp())
        log = hashlib.sha256(_der(self.log)).digest()
        said = {
            "body": _text(raw), "integratedTime": moment, "logID": log.hex(), "logIndex": 0,
        }  # fmt: skip
        # The log has one entry, so its leaf is its root.
        root = hashlib.sha256(b"\0" + raw).digest()
        note = f"log.example.com - 1\n1\n{_text(root)}\n"
        sealed = log[:4] + self.log.sign(note.encode(), ec.ECDSA(hashes.SHA256()))
        promise = self.log.sign(rfc8785.dumps(said), ec.ECDSA(hashes.SHA256()))
        entry = {
            "logIndex": "0",
            "logId": {"keyId": _text(log)},
            "kindVersion": {"kind": body["kind"], "version": body["apiVersion"]},
            "integratedTime": str(moment),
            "inclusionPromise": {"signedEntryTimestamp": _text(promise)},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": _text(root),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": f"{note}\n— log.example.com {_text(sealed)}\n"},
            },
            "canonicalizedBody": _text(raw),
        }
        der = leaf.public_bytes(serialization.Encoding.DER)
        return json.dumps(
            {
                "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
                "verificationMaterial": {
                    "certificate": {"rawBytes": _text(der)},
                    "tlogEntries": [entry],
                },
                **content,
            }
        ).encode()


def _prehashed() -> Prehashed:
    return Prehashed(hashes.SHA256())
