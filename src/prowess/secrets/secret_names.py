"""Whether a name in a config, an address or a command line is that of a secret.

A setting is judged more eagerly than a word of a sentence: what stands behind it was put there to
be used. Short names count only as words of their own: `pass` is also a part of `compass`, and
`pw` of `upwards`. Doubt hides, where what is hidden can be sent back as it was.
"""

import re
import unicodedata

from prowess.secrets.secret_words import (
    ABOUT_SECRETS,
    ENDINGS,
    MATERIAL,
    OWNERS,
    PARTS,
    SETTINGS,
    SHORT,
    STEMS,
    TEXTS,
    TRAILING,
    WEAK,
    WORDS,
)

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_WORD = re.compile(r"[\W_]+")
_SQUEEZED = re.compile(r"[^a-z0-9]")
_STEMS = re.compile(rf"{'|'.join(STEMS)}|(?:{'|'.join(ENDINGS)})\Z")
# `smtppass` and `dbpw`: two words that nothing sets apart.
_JOINED = re.compile(rf"(?:{'|'.join(OWNERS)})(?:{'|'.join(SHORT)})")
_LONGEST = 400


def plain_words(text: str) -> str:
    """Return the words of a name in small letters without accents, a space between each two."""
    apart = _NO_WORD.sub(
        " ", _CAMEL.sub(" ", text if text.isascii() else unicodedata.normalize("NFKC", text))
    )
    if apart.isascii():
        return apart.casefold()
    letters = unicodedata.normalize("NFD", apart.casefold())
    # Only of Latin letters: in other scripts a mark makes another letter.
    plain = "".join(letter for letter in letters if not "\u0300" <= letter <= "\u036f")
    return unicodedata.normalize("NFC", plain)


def names_setting(name: str) -> bool:
    """Return whether people keep a secret behind a setting of that name."""
    if not name or len(name) > _LONGEST:
        return bool(name)
    squeezed = _SQUEEZED.sub("", name.lower())
    if squeezed in SETTINGS or _STEMS.search(squeezed):
        return True
    words = plain_words(name).split()
    while len(words) > 1 and (words[-1] in TRAILING or words[-1].isdigit()):
        words.pop()
    if not words or words[-1] in ABOUT_SECRETS:
        return False
    last = words[-1].rstrip("0123456789")
    return last in _LAST or _JOINED.fullmatch(last) is not None or _has_part(" ".join(words))


def names_secret_text(name: str) -> bool:
    """Return whether a text behind that name is a secret, though a number is none."""
    return plain_words(name[-_LONGEST:]).rpartition(" ")[2] in TEXTS


def _has_part(words: str) -> bool:
    around = f" {words} "
    return any(part in around for part in _PARTS)


# In Latin letters as words of their own; elsewhere nothing sets words apart.
_PARTS = tuple(
    f" {part} " if part.isascii() else part for part in dict.fromkeys(map(plain_words, PARTS))
)
_LAST = frozenset(plain_words(word) for word in WORDS) | WEAK | MATERIAL
