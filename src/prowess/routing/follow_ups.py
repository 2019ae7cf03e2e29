"""Messages that begin nothing: "yes, go on" follows what was loaded last, "it works" ends it."""

import re
import unicodedata
from enum import Enum
from functools import cache, lru_cache

from prowess.data import read_table
from prowess.routing.words import split_words

_LONGEST = 40
_LONGEST_CLOSING = 120
_REMEMBERED = 64
# About as many n-grams as these are a word in a script without spaces.
_LETTERS = 4
_CLAUSE = re.compile(
    r"[\s\d]*(?:[.,;:!\n()\u3001\u3002\uff0c\uff01\uff1b\uff1a\u2013\u2014]|\s-\s)+[\s\d]*"
)
_ASKS = re.compile(r"[?\uff1f]")


class Closing(Enum):
    """What a message says that begins nothing."""

    THANKS = 0
    # It works now, the error is gone.
    OVER = 1


def is_follow_up(message: str) -> bool:
    """True for a message that only makes sense after another one: "yes, do it"."""
    text = message.strip()
    return len(text) <= _LONGEST and _follow_ups().fullmatch(text) is not None


# Whether a message needs an answer, and what it leans to, both ask.
@lru_cache(maxsize=_REMEMBERED)
def read_closing(message: str) -> Closing | None:
    """Say what a message of thanks, praise or good news ends; None where it says anything else."""
    if len(message) > _LONGEST_CLOSING or _ASKS.search(message):
        return None
    text = message.lower()
    if not message.isascii():
        marked = unicodedata.normalize("NFKD", text.replace("\u2019", "'"))
        text = unicodedata.normalize("NFC", "".join(filter(_is_no_accent, marked)))
    cues = _compile_closing("thanks", "over")
    if _compile_closing("open").search(text) or not cues.search(text):
        return None
    if not all(_only_closes(clause, cues) for clause in _CLAUSE.split(text)):
        return None
    return Closing.OVER if _compile_closing("over").search(text) else Closing.THANKS


def _only_closes(clause: str, cues: re.Pattern[str]) -> bool:
    """True where a clause says nothing else; what the news is about ("the error") may be named."""
    rest, found = cues.subn(" ", clause)
    words = split_words(_follow_ups().sub(" ", rest))
    return len(words.running) + len(words.grams) // _LETTERS <= bool(found)


def _is_no_accent(char: str) -> bool:
    return not "\u0300" <= char <= "\u036f"


@cache
def _compile_closing(*groups: str) -> re.Pattern[str]:
    table = read_table("routing/words.toml")["closing"]
    words = "|".join(word for group in groups for word in table[group]["words"])
    signs = "|".join(sign for group in groups for sign in table[group]["signs"])
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)|{signs}")


@cache
def _follow_ups() -> re.Pattern[str]:
    words = read_table("routing/words.toml")["follow_up"]
    either = "|".join(re.escape(word) for group in words.values() for word in group)
    # Scripts without spaces need no separator either.
    gap = r"(?:[\s,.!\uff0c\u3002\uff01\u3001\uff5e]+|$|(?<=[^\x00-\x7f]))"
    return re.compile(rf"(?:(?:{either}){gap})+", re.IGNORECASE)
