"""What a finding shows of the text, and the findings on secrets that stand in it in the clear."""

from prowess.reading.views import Spot, View
from prowess.safety.model import Confidence, Level, Sighting
from prowess.secrets.formats import find_literal_secrets, mask

_WIDTH = 160
_BEFORE = 40


def find_secrets(view: View) -> tuple[Sighting, ...]:
    """Return where the text holds a secret that its issuer's form gives away."""
    return tuple(
        Sighting(
            "literal-secret",
            Spot(view, *found.span),
            found.about,
            Confidence.LOW if found.faint else Confidence.HIGH,
            Level.INFO if found.faint else None,
        )
        for found in find_literal_secrets(view.text)
    )


def show_evidence(spot: Spot, line: str, column: int) -> str:
    """Return the raw line around `column`; for a decoded text, what it decodes to."""
    if spot.view.chain and spot.view.chain[-1] not in {"folded", "joined"}:
        return _spell_out(mask(spot.text[:_WIDTH]))
    start = max(0, column - 1 - _BEFORE)
    # A secret that begins before the cut must still be seen as one, so a little more is masked.
    early = max(0, start - _BEFORE)
    window = mask(line[early : start + _WIDTH])
    return _spell_out(window[start - early :].strip())


def _spell_out(text: str) -> str:
    """Control, invisible and direction characters are written out: a report must not be a stage."""
    return "".join(
        character if character.isprintable() else f"\\u{{{ord(character):x}}}" for character in text
    )
