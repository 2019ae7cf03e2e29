"""A stranger's text as one word of a bash script, as a word to show, and as a word of a comment.

`quote_bash` is the only way in which a text of a trace may stand in a script: bash reads the word
back as exactly that text, whatever it holds. The word never spans lines, and no character in it can
move a cursor or turn a line around, so that a script reads as it runs. Two things do not survive,
since bash has no place for them: a zero byte is left out, and half a surrogate pair becomes U+FFFD.
"""

import re
import unicodedata
from typing import Final

_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMED = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\\": r"\\", "'": r"\'"}
# What is not seen, or moves what is seen: controls, formats, separators of lines, private signs.
_HIDDEN_KINDS: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_NOT_IN_COMMENT = re.compile(r"[^A-Za-z0-9_.:-]+")
_MOST_IN_COMMENT = 40
_LAST_BYTE, _LAST_SHORT = 0xFF, 0xFFFF


def quote_bash(text: str) -> str:
    """Return `text` as one word of bash that stands for itself."""
    text = _SURROGATE.sub("\ufffd", text.replace("\0", ""))
    if not any(map(_is_hidden, text)):
        return _plainly_quoted(text)
    return "".join(_run_quoted(run) for run in _runs(text))


def show_hidden(text: str, *, one_line: bool = True) -> str:
    """Return `text` as it may be printed: what is not seen is written as an escape."""
    keep = "" if one_line else "\n\t"
    return "".join(
        _escape_to_see(letter) if _is_hidden(letter) and letter not in keep else letter
        for letter in text
    )


def clean_comment(text: str) -> str:
    """Return a name as it may stand in a comment: letters, digits and a few signs."""
    return _NOT_IN_COMMENT.sub("-", text)[:_MOST_IN_COMMENT].strip("-") or "unnamed"


def _is_hidden(letter: str) -> bool:
    if letter.isascii():
        return not letter.isprintable()
    return unicodedata.category(letter) in _HIDDEN_KINDS


def _plainly_quoted(text: str) -> str:
    return "'" + text.replace("'", r"'\''") + "'"


def _runs(text: str) -> list[str]:
    """Cut a text where it changes between plain letters beyond ASCII and all the rest."""
    runs: list[str] = []
    was_foreign = None
    for letter in text:
        is_foreign = not letter.isascii() and not _is_hidden(letter)
        if is_foreign == was_foreign:
            runs[-1] += letter
        else:
            runs.append(letter)
        was_foreign = is_foreign
    return runs


def _run_quoted(run: str) -> str:
    # Some encodings take a backslash behind a foreign byte for a part of a letter. So no escape
    # ever stands behind one within the same quotes.
    if not run.isascii() and not any(map(_is_hidden, run)):
        return _plainly_quoted(run)
    return "$'" + "".join(map(_escape, run)) + "'"


def _escape(letter: str) -> str:
    if letter in _NAMED:
        return _NAMED[letter]
    if letter.isascii() and letter.isprintable():
        return letter
    # Three octal digits end an escape, whatever follows.
    return "".join(f"\\{byte:03o}" for byte in letter.encode())


def _escape_to_see(letter: str) -> str:
    if letter in "\n\t\r":
        return _NAMED[letter]
    number = ord(letter)
    if number <= _LAST_BYTE:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= _LAST_SHORT else f"\\U{number:08x}"
