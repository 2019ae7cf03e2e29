"""What kind of content a file of a skill has, by its name, and how it travels if it is no text."""

import base64
import mimetypes

from mcp_types import BlobResourceContents

MARKDOWN, TEXT, BYTES = "text/markdown", "text/plain", "application/octet-stream"
_TYPES = {".md": MARKDOWN, ".yaml": "application/yaml", ".yml": "application/yaml"}


def media_type(uri: str, otherwise: str) -> str:
    """Return the type of what is at an address, or another where its name says none."""
    ending = f".{uri.rpartition('.')[2].lower()}"
    return _TYPES.get(ending) or mimetypes.guess_type(uri.rpartition("/")[2])[0] or otherwise


def blob(uri: str, content: bytes) -> BlobResourceContents:
    """Return bytes that are no text as the protocol carries them."""
    encoded = base64.b64encode(content).decode("ascii")
    return BlobResourceContents(uri=uri, mime_type=media_type(uri, BYTES), blob=encoded)
