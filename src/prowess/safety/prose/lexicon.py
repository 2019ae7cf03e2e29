"""The words of the prose rules, by concept, with verbs inflected and combinations written out.

They stand in `lexicon.toml`, where a synonym is added; here they are only spelled out.
"""

from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Any

from prowess.data import read_table

_FILE = "safety/prose/lexicon.toml"
_GROUPS = ("orders", "obedience", "secrecy", "data", "lasting")
_VOWELS = "aeiou"
_HISSING = ("s", "sh", "ch", "x", "ss")


def read_lexicon() -> dict[str, tuple[str, ...]]:
    """Return the words and phrases of each concept."""
    table = read_table(_FILE)
    return {
        concept: _spell_out(written)
        for group in _GROUPS
        for concept, written in table[group].items()
        if concept != "reason"
    }


def _spell_out(written: str | Mapping[str, Any]) -> tuple[str, ...]:
    if isinstance(written, str):
        return _split(written)
    found = [form for verb in _split(written.get("verbs", "")) for form in _inflect(verb)]
    found.extend(_split(written.get("phrases", "")))
    for slots in written.get("each", ()):
        # A dash leaves its slot out.
        found.extend(
            " ".join(word for word in words if word != "-")
            for words in product(*map(_split, slots))
        )
    return tuple(found)


def _split(text: str) -> tuple[str, ...]:
    """Return the phrases of a list; `{NAME}` is a list of its own, `{NAME ing}` its gerunds."""
    found: list[str] = []
    for phrase in filter(None, map(str.strip, text.split(","))):
        if not phrase.startswith("{"):
            found.append(phrase)
            continue
        name, _, form = phrase.strip("{}").partition(" ")
        words = _split(read_table(_FILE)["lists"][name])
        found.extend(_forms(word)[-1] if form else word for word in words)
    return tuple(found)


def _inflect(phrase: str) -> tuple[str, ...]:
    """Return a verb, or a verb with particles ("turn off"), with its regular forms."""
    verb, _, particle = phrase.partition(" ")
    return tuple(f"{form} {particle}".strip() for form in (verb, *_forms(verb)))


def _forms(verb: str) -> tuple[str, ...]:
    irregular, doubling = _odd_verbs()
    if verb in irregular:
        return irregular[verb]
    if verb.endswith("e"):
        return f"{verb}s", f"{verb}d", f"{verb[:-1]}ing"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"
    if verb in doubling:
        return f"{verb}s", f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing"
    return f"{verb}{'es' if verb.endswith(_HISSING) else 's'}", f"{verb}ed", f"{verb}ing"


@cache
def _odd_verbs() -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
    """Return the forms of the irregular verbs, and the verbs that double their last letter."""
    table = read_table(_FILE)["forms"]
    rows = (row.partition(":") for row in table["irregular"].split(","))
    irregular = {verb.strip(): tuple(forms.split()) for verb, _, forms in rows}
    return irregular, frozenset(table["doubling"].split())
