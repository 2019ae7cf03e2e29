"""How skills stand before a person's message in what the model gets.

The blocks come first and the person's own words last, so that both the model and whoever learns
from the words can tell them apart. A skill cannot close its own block: what would is defused.
"""

import re
from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

_CLOSING = re.compile(r"<(?=\s*/?\s*(?:skill_instructions|message)\b)", re.IGNORECASE)
_OPEN, _CLOSE = "<message>\n", "\n</message>"


def skill_block(name: str, text: str) -> str:
    """Return a skill's text as a block that names it."""
    inside = _CLOSING.sub("&lt;", text)
    return f"<skill_instructions name={quoteattr(name)}>\n{inside}\n</skill_instructions>"


def framed(blocks: Sequence[str], words: str) -> str:
    """Return what the model gets: the blocks, then the person's words."""
    if not blocks:
        return words
    return "\n\n".join([*blocks, f"{_OPEN}{words}{_CLOSE}"])


def words_of(prompt: str) -> str:
    """Return a person's own words from what the model got."""
    start = prompt.find(_OPEN)
    if start < 0 or not prompt.endswith(_CLOSE):
        return prompt
    return prompt[start + len(_OPEN) : -len(_CLOSE)]
