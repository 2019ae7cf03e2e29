"""Words in their forms: verbs inflected, lists split, combinations written out."""

from collections.abc import Iterable
from itertools import product

_VOWELS = "aeiou"
_DOUBLING = frozenset(
    (
        "submit",
        "skip",
        "drop",
        "stop",
        "run",
        "put",
        "get",
        "grab",
        "omit",
        "tap",
        "let",
        "transmit",
        "exfil",
        "ship",
        "zip",
    )
)
_IRREGULAR = {
    "send": ("sends", "sent", "sending"),
    "tell": ("tells", "told", "telling"),
    "say": ("says", "said", "saying"),
    "hide": ("hides", "hid", "hidden", "hiding"),
    "forget": ("forgets", "forgot", "forgotten", "forgetting"),
    "override": ("overrides", "overrode", "overridden", "overriding"),
    "overwrite": ("overwrites", "overwrote", "overwritten", "overwriting"),
    "write": ("writes", "wrote", "written", "writing"),
    "read": ("reads", "reading"),
    "run": ("runs", "ran", "running"),
    "show": ("shows", "showed", "shown", "showing"),
    "steal": ("steals", "stole", "stolen", "stealing"),
    "give": ("gives", "gave", "given", "giving"),
    "get": ("gets", "got", "getting"),
    "put": ("puts", "putting"),
    "buy": ("buys", "bought", "buying"),
    "find": ("finds", "found", "finding"),
    "withhold": ("withholds", "withheld", "withholding"),
    "mislead": ("misleads", "misled", "misleading"),
    "keep": ("keeps", "kept", "keeping"),
    "pay": ("pays", "paid", "paying"),
    "exfil": ("exfils", "exfilled", "exfilling"),
}  # fmt: skip


def verbs(*bases: str) -> tuple[str, ...]:
    """Return each verb (or verb with particles: "turn off") with its regular forms."""
    found: list[str] = []
    for base in bases:
        verb, _, particle = base.partition(" ")
        found.extend(f"{form} {particle}".strip() for form in (verb, *_forms(verb)))
    return tuple(found)


def _forms(verb: str) -> tuple[str, ...]:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return f"{verb}s", f"{verb}d", f"{verb[:-1]}ing"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"
    if verb in _DOUBLING:
        return f"{verb}s", f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing"
    plural = "es" if verb.endswith(("s", "sh", "ch", "x", "ss")) else "s"
    return f"{verb}{plural}", f"{verb}ed", f"{verb}ing"


def gerund(verb: str) -> str:
    """Return the form in "ing"."""
    return _forms(verb)[-1]


def each(*slots: Iterable[str]) -> tuple[str, ...]:
    """Return every combination of one word of each slot ("" leaves the slot out)."""
    return tuple(" ".join(filter(None, words)) for words in product(*slots))


def plain(text: str) -> tuple[str, ...]:
    """Return the phrases of a comma-separated list."""
    return tuple(phrase.strip() for phrase in text.split(",") if phrase.strip())
