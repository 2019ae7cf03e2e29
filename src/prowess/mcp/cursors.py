"""Cursors of lists: each names the list that it belongs to and the last item that was given.

Since it names an item and no place, it goes on correctly however the list changes meanwhile. It is
signed with a key of this process: what we never gave out, or gave out for another list, is refused
instead of being taken for the end of one.
"""

import base64
import binascii
import hmac
import secrets
from hashlib import sha256

from prowess.mcp.refusals import NotThere

_SIGNATURE = 16
_LONGEST = 16_384


class Cursors:
    """Makes cursors, and knows its own again."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def after(self, scope: str, last: str) -> str:
        """Return the cursor of a list for what comes after an item."""
        item = last.encode()
        return base64.urlsafe_b64encode(self._signed(scope, item) + item).decode("ascii")

    def last(self, scope: str, cursor: str | None) -> str:
        """Return the last item that was given; nothing where the list is at its beginning.

        Raises:
            NotThere: the cursor is none of this list.
        """
        if cursor is None:
            return ""
        signature, item = _parts(cursor)
        if not hmac.compare_digest(signature, self._signed(scope, item)):
            raise unknown_cursor()
        return item.decode()

    def _signed(self, scope: str, item: bytes) -> bytes:
        message = sha256(scope.encode()).digest() + item
        return hmac.digest(self._key, message, "sha256")[:_SIGNATURE]


def _parts(cursor: str) -> tuple[bytes, bytes]:
    if len(cursor) > _LONGEST:
        raise unknown_cursor()
    try:
        content = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
    except (UnicodeError, binascii.Error) as error:
        raise unknown_cursor() from error
    return content[:_SIGNATURE], content[_SIGNATURE:]


def unknown_cursor() -> NotThere:
    """Return what is said of a cursor that we never gave out."""
    return NotThere("the cursor is unknown: begin again without one.")
