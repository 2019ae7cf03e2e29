"""Names of drafts, made from the task: one for any script, one for the standard.

A slug is no identity. It is cut, and two tasks can have the same one, so nothing is ever removed
because of a slug alone. A credential in a task never becomes part of a file's name.
"""

import hashlib
import re
import unicodedata

from prowess.secrets.credentials import masked
from prowess.transcripts.traces_part import MOST_TASK

MOST_SLUG = 42
_NOTHING = "task"
_HASH_DIGITS = 8
_OTHERS = re.compile(r"[^a-z0-9]+")
_STEM = re.compile(r"(?P<timestamp>[0-9]{8}-[0-9]{6})-(?P<slug>[^/\\\0]+)")


def mixed_slug(task: str) -> str:
    """Return the name of a task with the letters and digits of every script."""
    text = unicodedata.normalize("NFKC", _sayable(task).lower())
    kept = "".join(letter if _is_kept(letter) else "-" for letter in text)
    # A mark belongs to the letter before it, and is nothing without one.
    words = (word.lstrip(_marks_of(word)) for word in kept.split("-"))
    return _cut("-".join(word for word in words if word)) or _NOTHING


def strict_slug(task: str) -> str:
    """Return the name of a task in the letters of the standard: a to z and digits.

    Where letters of another script are lost, a hash of the whole task stands for them, so that two
    tasks in such a script never meet.
    """
    text = _sayable(task)
    plain = unicodedata.normalize("NFKD", text.casefold())
    slug = _cut(_OTHERS.sub("-", "".join(c for c in plain if not unicodedata.combining(c))))
    if not any(letter.isalnum() and not letter.isascii() for letter in plain):
        return slug or _NOTHING
    spaced = " ".join(unicodedata.normalize("NFKC", text).split())
    digest = hashlib.sha256(spaced.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
    return f"{_cut(slug, MOST_SLUG - _HASH_DIGITS - 1) or _NOTHING}-{digest}"


def stem(timestamp: str, slug: str) -> str:
    """Return the name that a draft and its script share."""
    return f"{timestamp}-{slug}"


def split_stem(name: str) -> tuple[str, str] | None:
    """Return the timestamp and the slug of a stem, or None where a name is none."""
    found = _STEM.fullmatch(name)
    return (found["timestamp"], found["slug"]) if found else None


def _sayable(task: str) -> str:
    return unicodedata.normalize("NFKC", masked(task[:MOST_TASK]))


def _is_kept(letter: str) -> bool:
    return letter.isalnum() or unicodedata.category(letter) in {"Mn", "Mc"}


def _marks_of(word: str) -> str:
    return "".join({letter for letter in word if not letter.isalnum()})


def _cut(slug: str, most: int = MOST_SLUG) -> str:
    return slug.strip("-")[:most].strip("-")
