"""The table of the prose rules: which concepts, standing together, mean which rule.

The words are in `lexicon`, the rows in the `cues_` modules; here they are read once.
"""

from prowess.safety.prose.cue import Cue, Pattern, cues, pattern
from prowess.safety.prose.cues import ORDERS
from prowess.safety.prose.cues_data import DATA
from prowess.safety.prose.cues_secrecy import HIDDEN, SECRECY

# Concepts made of concepts; each may use those above it.
_COMPOUNDS: dict[str, tuple[str, ...]] = {
    # The person is not to learn of something.
    "HUSH": (
        "NOT_TELL > USER|FROM_VIEW; near 9; unless NOISE",
        "NOT_TELL|NOT_SHOW > THIS_STEP; near 6; unless NOISE",
        "USER > CONCEALED; near 6; unless NOISE",
        "CONCEALED > USER|FROM_VIEW; near 8; unless NOISE",
        "HIDE > FROM_VIEW; near 8; never negated",
        "BETWEEN_US",
    ),
    # Data leaves the machine.
    "LEAK": (
        "SEND_STRONG > URL|REMOTE_PLACE|MAIL; near 16",
        "SEND > REMOTE_PLACE > URL; near 16",
    ),
    # Secrets are gathered.
    "TAKE": ("HARVEST > SECRET_PATH|STRONG_SECRET; near 10",),
    # A secret is asked of the person.
    "PHISH": (
        "ASK + USER + PROVIDE + HUMAN_SECRET; near 14",
        "ASK > PROVIDE > HUMAN_SECRET; near 7",
    ),
    # Something is done without asking.
    "UNASKED": (
        "WITHOUT > APPROVAL; near 6",
        "BYPASS > APPROVAL; near 6",
    ),
}
COMPOUNDS: dict[str, tuple[Pattern, ...]] = {
    name: tuple(pattern(text) for text in texts) for name, texts in _COMPOUNDS.items()
}
CUES: tuple[Cue, ...] = cues((*ORDERS, *SECRECY, *DATA))
HIDDEN_CUES: tuple[Cue, ...] = cues(HIDDEN)
