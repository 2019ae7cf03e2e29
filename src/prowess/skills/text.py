"""Text that strangers wrote, made safe to print and to show a model."""

import re

# Escape sequences first, as a whole; then what is left of control characters, but tab and newline;
# then characters that reorder, hide or split text without being seen. Joiners stay: scripts and
# emoji need them.
_UNSAFE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff"
    r"\U000e0000-\U000e007f]"
)
# A file name that is not UTF-8 arrives as lone surrogates, which no stream can encode.
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Return `text` without what could move a cursor or hide words."""
    if text.isascii() and text.isprintable():
        return text
    return _SURROGATE.sub("\ufffd", _UNSAFE.sub("", text))


def one_line(text: str) -> str:
    """Return `text` cleaned, on one line, with single spaces."""
    return " ".join(clean(text).split())
