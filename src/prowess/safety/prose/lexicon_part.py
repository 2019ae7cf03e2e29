"""The words of the prose rules, by concept.

Concepts in capitals are what the cues of `prose_cues` combine. Adding a synonym to one of the
tables widens every rule that uses it; no rule names a word itself.
"""

from prowess.safety.prose.lexicon import SECRECY
from prowess.safety.prose.lexicon_data import DATA
from prowess.safety.prose.lexicon_lasting import LASTING
from prowess.safety.prose.lexicon_obedience import OBEDIENCE
from prowess.safety.prose.lexicon_orders import ORDERS

LEXICON: dict[str, tuple[str, ...]] = {
    **ORDERS,
    **OBEDIENCE,
    **SECRECY,
    **DATA,
    **LASTING,
}
