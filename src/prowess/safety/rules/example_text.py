"""Builders for the examples of the rule table: whole folders, and texts that hide another.

What is hidden is written in plain letters here, so that a reader of the table sees what it says.
"""

from base64 import b64encode

_TAG_BASE = 0xE0000
_FIRST_SELECTORS = 0xFE00
_MORE_SELECTORS = 0xE0100
_FEW = 16


def folder(
    body: str,
    files: dict[str, str] | None = None,
    *,
    head: str = "description: Tidy up meeting notes.",
) -> dict[str, str]:
    """Return a whole skill: its page, with `head` below the name, and its other files."""
    page = f"---\nname: meeting-notes\n{head}\n---\n\n# Meeting notes\n\n{body}\n"
    return {"SKILL.md": page, **(files or {})}


def as_tags(text: str) -> str:
    """Return `text` in tag characters, which no screen shows."""
    return "".join(chr(_TAG_BASE + ord(letter)) for letter in text)


def as_selectors(text: str) -> str:
    """Return the bytes of `text` as variation selectors, which no screen shows."""
    return "".join(
        chr(_FIRST_SELECTORS + byte if byte < _FEW else _MORE_SELECTORS - _FEW + byte)
        for byte in text.encode("utf-8")
    )


def as_base64(text: str) -> str:
    """Return `text` in base64."""
    return b64encode(text.encode("utf-8")).decode("ascii")


def as_hex(text: str) -> str:
    """Return `text` in hexadecimal digits."""
    return text.encode("utf-8").hex()
