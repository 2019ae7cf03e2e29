"""What a finding shows of the text: at most a line, visible, with secrets masked."""

from prowess.safety.secrets import mask
from prowess.safety.views import Spot

_WIDTH = 160
_BEFORE = 40


def evidence_of(spot: Spot, line: str, column: int) -> str:
    """Return the raw line around `column`; for a decoded text, what it decodes to."""
    if spot.view.chain and spot.view.chain[-1] not in {"folded", "joined"}:
        return _shown(mask(spot.text[:_WIDTH]))
    start = max(0, column - 1 - _BEFORE)
    # A secret that begins before the cut must still be seen as one, so a little more is masked.
    early = max(0, start - _BEFORE)
    window = mask(line[early : start + _WIDTH])
    return _shown(window[start - early :].strip())


def _shown(text: str) -> str:
    """Control, invisible and direction characters are written out: a report must not be a stage."""
    return "".join(
        character if character.isprintable() else f"\\u{{{ord(character):x}}}" for character in text
    )
