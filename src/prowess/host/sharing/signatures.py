"""Who signed a skill: sigstore bundles inside it, verified without asking anybody.

A bundle lies in the skill's own folder and speaks for all other files of it, so it travels with
every kind of source and is verified again from what lies there. It names either the digest over
those files or each of them. Whom to believe (certificate authority, logs) is one TrustedRoot file:
the operator's, else the public one that comes with the library. Nothing is fetched.
"""

import base64
import json
import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from prowess.errors import PathError, explain_failure
from prowess.host.files.handles import stamp_file
from prowess.host.files.state_files import locked, read_mapping, write_private
from prowess.runtime.sharing.ports import Package, SignatureReading, hash_package
from prowess.safety.paths import shown
from prowess.sharing.lock import PREFIX, LockEntry, content_digest, digest_of

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
    from sigstore.models import Bundle
    from sigstore.verify import Verifier

# Ours, and that of OpenSSF model signing.
BUNDLES = ("skill.sigstore.json", "skill.oms.sig")
TRUST_ROOT = "trusted-root.json"
_KNOWN, _MOST_KNOWN = "signed.json", 10_000
_IN_TOTO, _STATEMENTS = "application/vnd.in-toto+json", "https://in-toto.io/Statement/"
_OF_FILES = "https://model_signing/signature/"
_ISSUER, _OLD_ISSUER = "1.3.6.1.4.1.57264.1.8", "1.3.6.1.4.1.57264.1.1"
_REPOSITORY = "1.3.6.1.4.1.57264.1.12"
_EXTRA = "its signature is not verified here: install prowess[sigstore]"


class SkillSignatures:
    """Verifies the signatures of skills, and knows which were verified on this machine."""

    def __init__(self, state: str) -> None:
        """Read nothing yet."""
        self._root = os.path.join(state, TRUST_ROOT)
        self._known = os.path.join(state, "sharing", _KNOWN)
        self._verifier: Verifier | None = None
        # What was read of the two files, as long as they are the same.
        self._read: tuple[object, Mapping[str, Any], str] | None = None

    def read(self, files: Package) -> SignatureReading:
        """Return who signed exactly these files, or what is wrong with the signature."""
        name = next((one for one in BUNDLES if one in files), "")
        if not name:
            return SignatureReading()
        signed = hash_package({path: one for path, one in files.items() if path not in BUNDLES})
        try:
            # An extra; whether it is there is all that is asked.
            import sigstore.errors  # noqa: F401
        except ImportError:
            return SignatureReading(notice=_EXTRA)
        from sigstore.errors import Error

        try:
            found = self._verify(files[name].content, signed)
        except (Error, _SignatureError, ValueError) as error:
            said = shown(" ".join(str(error).split())).removesuffix(".")
            return SignatureReading(problem=f"its signature {name} does not hold: {said}.")
        return SignatureReading(provenance=found)

    def remember(self, entry: LockEntry) -> None:
        """Take down that the signature of a locked skill was verified on this machine."""
        if not entry.signer:
            return
        try:
            with locked(self._known):
                known = dict(list(read_mapping(self._known).items())[-_MOST_KNOWN:])
                known[entry.digest] = _identify(entry, self._hash_root())
                write_private(self._known, json.dumps(known))
        except (OSError, ValueError) as error:
            said = explain_failure(error) if isinstance(error, OSError) else "it is damaged"
            raise PathError(shown(self._known), f"cannot be written: {said}.") from error

    def knows(self, entry: LockEntry) -> bool:
        """Return whether a locked skill's signature was verified here: a lock is only a claim."""
        try:
            stamp = stamp_file(self._known), stamp_file(self._root)
            if self._read is None or self._read[0] != stamp:
                self._read = stamp, read_mapping(self._known), self._hash_root()
            _, known, root = self._read
        except (OSError, ValueError):
            return False
        return bool(known.get(entry.digest) == _identify(entry, root))

    def _hash_root(self) -> str:
        """Return the digest of the operator's root of trust; empty where the public one counts."""
        if not os.path.exists(self._root):
            return ""
        with open(self._root, "rb") as file:
            return digest_of(file.read())

    def _verify(self, content: bytes, signed: Mapping[str, str]) -> dict[str, Any]:
        from sigstore.errors import Error
        from sigstore.hashes import Hashed
        from sigstore.models import Bundle
        from sigstore_models.common.v1 import HashAlgorithm

        try:
            bundle, identity = Bundle.from_json(content), _Identity()
        except (Error, ValueError) as error:
            raise _SignatureError("it is no sigstore bundle that can be read") from error
        digest, verifier, rows = content_digest(signed), self._open(), json.loads(content)
        _check_times(bundle, rows)
        if "dsseEnvelope" in rows:
            kind, payload = verifier.verify_dsse(bundle, identity)
            _check_statement(kind, payload, signed)
        else:
            raw = bytes.fromhex(digest.removeprefix(PREFIX))
            _check_digest(rows, raw)
            hashed = Hashed(algorithm=HashAlgorithm.SHA2_256, digest=raw)
            verifier.verify_artifact(hashed, bundle, identity)
        return identity.found

    def _open(self) -> "Verifier":
        if self._verifier is None:
            from sigstore.models import ClientTrustConfig, TrustedRoot
            from sigstore.verify import Verifier

            if os.path.exists(self._root):
                try:
                    root = TrustedRoot.from_file(self._root)
                except (OSError, ValueError) as error:
                    problem = f"{self._root} is no TrustedRoot file that can be read"
                    raise _SignatureError(problem) from error
            else:
                # It says that it is offline, which is what it was asked for.
                logging.getLogger("sigstore").addHandler(logging.NullHandler())
                root = ClientTrustConfig.production(offline=True).trusted_root
            self._verifier = Verifier(trusted_root=root)
        return self._verifier


class _SignatureError(Exception):
    """A signature says something else than it should."""


class _Identity:
    """Reads who a certificate was given to; one that names nobody is refused."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def verify(self, cert: "Certificate") -> None:
        """Take the identity down; the library calls this once the certificate is verified."""
        from cryptography import x509

        try:
            names = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound as error:
            raise _SignatureError("its certificate names nobody") from error
        signers = [
            *names.get_values_for_type(x509.RFC822Name),
            *names.get_values_for_type(x509.UniformResourceIdentifier),
        ]
        issuer = _read_extension(cert, _ISSUER) or _read_extension(cert, _OLD_ISSUER)
        if len(signers) != 1 or not issuer:
            raise _SignatureError("its certificate does not name one signer and who vouches")
        repository = _read_extension(cert, _REPOSITORY)
        self.found = {
            "signer": signers[0],
            "issuer": issuer,
            **({"repository": repository} if repository else {}),
        }


def _read_extension(cert: "Certificate", oid: str) -> str:
    from cryptography import x509
    from cryptography.hazmat import asn1

    try:
        found = cert.extensions.get_extension_for_oid(x509.ObjectIdentifier(oid)).value
    except x509.ExtensionNotFound:
        return ""
    raw = found.public_bytes()
    # The oldest one is plain text; those after it are DER.
    return raw.decode() if oid == _OLD_ISSUER else asn1.decode_der(str, raw)


# The library finds the same out, in words of its trade; these two are what people meet.
def _check_times(bundle: "Bundle", rows: Mapping[str, Any]) -> None:
    cert = bundle.signing_certificate
    start, end = cert.not_valid_before_utc.timestamp(), cert.not_valid_after_utc.timestamp()
    entries = rows.get("verificationMaterial", {}).get("tlogEntries", [])
    times = [int(one["integratedTime"]) for one in entries if "integratedTime" in one]
    if not all(start <= one <= end for one in times):
        raise _SignatureError(
            "its certificate had expired when it was signed, or was not yet valid"
        )


def _check_digest(rows: Mapping[str, Any], raw: bytes) -> None:
    said = rows.get("messageSignature", {}).get("messageDigest", {}).get("digest")
    if said is not None and base64.b64decode(said) != raw:
        raise _SignatureError("it was made for other files than these")


def _check_statement(kind: str, payload: bytes, signed: Mapping[str, str]) -> None:
    """Refuse a statement that is not about exactly these files."""
    try:
        _compare_statement(kind, json.loads(payload), signed)
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise _SignatureError("it is no statement about files") from error


# Whatever JSON holds.
def _compare_statement(kind: str, statement: Any, signed: Mapping[str, str]) -> None:  # noqa: ANN401
    is_known = kind == _IN_TOTO and str(statement.get("_type")).startswith(_STATEMENTS)
    if not is_known:
        raise _SignatureError("it is no statement about files")
    subjects = {str(one.get("digest", {}).get("sha256")) for one in statement.get("subject", [])}
    if content_digest(signed).removeprefix(PREFIX) in subjects:
        return
    if not str(statement.get("predicateType")).startswith(_OF_FILES):
        raise _SignatureError("it was made for something else than these files")
    rows = statement.get("predicate", {}).get("resources", [])
    listed = {str(one.get("name")): str(one.get("digest")) for one in rows}
    odd = sorted(path for path in {*listed, *signed} if listed.get(path) != signed.get(path))
    if odd or not listed:
        raise _SignatureError(f"{odd[0] if odd else 'no file'} is not as it was signed")


def _identify(entry: LockEntry, root: str) -> dict[str, str]:
    """Return who signed, and under which root of trust that was found out."""
    return {"signer": entry.signer, "issuer": entry.issuer, "root": root}
