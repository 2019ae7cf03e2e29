"""Which wordings ask for the opposite of each other: to lock and to unlock, on and off.

The words of two such tasks are nearly all the same, and so may be their steps, down to the switch
that is tapped; only this tells them apart. A word with a prefix that turns it round is the opposite
of the bare word, whichever it is; a short list has the pairs that look nothing like each other. A
task that says both, or neither, is the opposite of nothing. The list is `data/opposites.toml`.
"""

import re
from functools import cache
from typing import NamedTuple

from prowess.data import join_pieces, read_pack, read_words

_WORD = re.compile(r"[^\W\d_]+")
_WIDE = r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]"
# In Chinese what is undone is named behind these.
_UNDONE = re.compile(r"(?:\u53d6\u6d88|\u89e3\u9664)(\w\w)")
# Of a verb in a person's words: `stops`, `stopping`.
_ENDINGS = r"(?:s|es|ed|d|ing|ping|ting)?"


class Sides(NamedTuple):
    """What a wording says, and what it says the opposite of."""

    said: frozenset[str]
    against: frozenset[str]


def _compile(words: str, more: str) -> re.Pattern[str]:
    listed = "|".join(map(re.escape, words.split()))
    return re.compile(rf"(?<!\w)(?:{listed}){_ENDINGS}(?!\w)" + (f"|{more}" if more else ""))


class _Family(NamedTuple):
    name: str
    one: re.Pattern[str]
    other: re.Pattern[str]


@cache
def _families() -> tuple[_Family, ...]:
    return tuple(
        _Family(
            f"{pair['one'].split()[0]}.",
            _compile(pair["one"], join_pieces(pair.get("one_form", ""))),
            _compile(pair["other"], join_pieces(pair.get("other_form", ""))),
        )
        for pair in read_pack("opposites")["pairs"]
    )


def find_sides(wording: str) -> Sides:
    """Return on which sides a task stands; give it without the values that were typed."""
    text = wording.casefold()
    words = set(_WORD.findall(text))
    undone = set(_UNDONE.findall(text))
    turned = {word[len(prefix) :] for word in words for prefix, _ in _find_fitting(word)}
    pairs = re.findall(rf"(?=({_WIDE}{_WIDE}))", _UNDONE.sub(" ", text))
    said, against = words | set(pairs), turned | undone
    for name, one, other in _families():
        is_one, is_other = bool(one.search(text)), bool(other.search(text))
        # Whoever turns something off may do it on a phone.
        if name == _families()[0].name and is_other and not _SURELY_ON.search(text):
            is_one = False
        said |= {name} if is_one else set()
        against |= {name} if is_other else set()
    both = said & against
    return Sides(frozenset(said - both), frozenset(against - both))


_SURELY_ON = re.compile(r"(?<!\w)(?:enabl|activat|aktivier|turn(?:s|ed|ing)? on(?!\w))")


def are_opposed(one: Sides, other: Sides) -> bool:
    """Return whether one wording asks for the opposite of what the other asks for."""
    return not (one.said.isdisjoint(other.against) and one.against.isdisjoint(other.said))


def find_undone(wording: str) -> frozenset[str]:
    """Return what a wording turns round, as far as that is certain; nothing for its opposite."""
    sides = find_sides(wording)
    listed = {one for one in sides.against if one.endswith(".")}
    words = _WORD.findall(wording.casefold())
    turned = {word for word in words if word.startswith("un") and word[2:] in sides.against}
    return frozenset(listed | turned | (set(_UNDONE.findall(wording)) & sides.against))


def join_sides(one: Sides, other: Sides) -> Sides:
    """Return the sides of two wordings of one goal together."""
    return Sides(one.said | other.said, one.against | other.against)


def _find_fitting(word: str) -> list[tuple[str, int]]:
    pack = read_pack("opposites")
    if word in read_words(pack["no_prefix"]["words"]):
        return []
    prefixes = [(name, fewest) for name, fewest in pack["prefixes"].items() if name != "reason"]
    return [
        (prefix, fewest)
        for prefix, fewest in prefixes
        if word.startswith(prefix) and len(word) - len(prefix) >= fewest
    ]
