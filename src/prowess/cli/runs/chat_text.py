"""Cleans text that arrives in pieces: a sequence that moves the cursor may be split over two."""

import re

from prowess.skills.text import clean, without_controls

# The beginning of an escape sequence whose end has not come yet.
_OPEN_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?)?\Z")
# Whether a joiner hides something shows only in what stands around it.
_OPEN_JOINERS = re.compile("(?:^|[^\u200c\u200d\ufe0e\ufe0f])[\u200c\u200d\ufe0e\ufe0f]+\\Z")
_MOST_HELD = 4_096


class StreamCleaner:
    """Gives out what is safe and holds back what the next piece may make unsafe."""

    def __init__(self) -> None:
        # What may be the beginning of a sequence, as it came; and joiners, free of sequences.
        self._raw, self._joined = "", ""
        # The last character that was shown: what a joiner hides stands before it, too.
        self._before = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown now."""
        text, self._raw = _split(self._raw + piece, _OPEN_SEQUENCE)
        ready, self._joined = _split(self._joined + without_controls(text), _OPEN_JOINERS)
        return self._shown(ready)

    def end(self) -> str:
        """Return what was held back, now that nothing follows."""
        text = self._joined + without_controls(self._raw)
        self._raw, self._joined = "", ""
        return self._shown(text)

    def _shown(self, text: str) -> str:
        shown = clean(self._before + text)[len(self._before) :]
        self._before = shown[-1:] or self._before
        return shown


def _split(text: str, is_open: re.Pattern[str]) -> tuple[str, str]:
    """Part what is done from what the next piece may change."""
    found = is_open.search(text)
    cut = len(text) if found is None else found.start()
    # Nobody waits for ever for the end of a sequence.
    return (text, "") if len(text) - cut > _MOST_HELD else (text[:cut], text[cut:])
