"""Touches that pay, buy, delete or send money: found by the words on and around what is touched.

Words are compared without accents and capitals, and names of elements are taken apart first. A word
that only looks so (`Replay`, `Display`) must not count, and neither must what every program has:
sending a message, saving, searching, going on.
"""

import re
import unicodedata
from collections.abc import Iterator

from prowess.experience.replay_tap_words import NOT, PARTS, PHRASES, WORDS
from prowess.transcripts.traces_part import Action, Step

_MOST_RESULT, _MOST_THOUGHT = 200, 600
_FIELDS = ("text", "label", "contentDesc", "content_desc", "resourceId", "resource_id", "element",
           "elementId", "element_id", "description", "target", "name", "reason")  # fmt: skip
# Letters with a stroke or without a dot have no accent that could be taken away.
_STROKED = str.maketrans({"\u0142": "l", "\u0131": "i", "\u00f8": "o", "\u0111": "d"})
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BREAK = re.compile(r"[\W_0-9]+")


def _plain(text: str) -> str:
    """Return a text without capitals, accents and what cannot be seen."""
    parted = unicodedata.normalize("NFKD", text.casefold().translate(_STROKED))
    return "".join(
        letter for letter in parted if unicodedata.category(letter) not in ("Mn", "Cf", "Cc")
    )


def _pattern(words: str) -> re.Pattern[str]:
    """Return what finds any of these words."""
    found: list[str] = []
    for word in words.split():
        bare = re.escape(_plain(word.strip("*")))
        begins, ends = word.startswith("*"), word.endswith("*")
        found.append(("" if begins else r"\b") + bare + ("" if ends else r"\b"))
    return re.compile("|".join(found))


_WORD = _pattern(WORDS)
_PHRASE = re.compile(
    "|".join(rf"\b{_plain(phrase.strip())}\b" for phrase in re.split(r"[|\n]", PHRASES.strip()))
)
_IS_NONE = re.compile("|".join(_plain(word) for word in NOT.split()))
_PART = re.compile("|".join(_plain(part).replace("_", " ") for part in PARTS.split()))


def touch_danger(action: Action, step: Step) -> str:
    """Return why a touch needs a confirmation, by all that is known of what it touches."""
    found = next(filter(None, map(_found, _texts(action, step))), "")
    return f"it touches something called {found}" if found else ""


def _texts(action: Action, step: Step) -> Iterator[str]:
    if step.target is not None:
        target = step.target
        yield from (target.text, target.content_desc, target.label, target.element_id)
        # The package of a program says nothing about one of its elements.
        yield target.resource_id.rpartition("/")[2]
    for name in _FIELDS:
        yield action.text(name).rpartition("/" if "esource" in name else "\0")[2]
    yield step.thought[:_MOST_THOUGHT]
    yield step.result[:_MOST_RESULT]


def _found(text: str) -> str:
    """Return the word in a text that pays, buys, deletes or sends money."""
    if not text:
        return ""
    apart = _plain(_CAPITAL.sub(" ", text))
    words = _IS_NONE.sub(" ", " ".join(_BREAK.split(apart)))
    numbered = " ".join(re.split(r"[\W_]+", apart))
    found = _WORD.search(words) or _PHRASE.search(numbered) or _PART.search(apart)
    return found[0] if found else ""
