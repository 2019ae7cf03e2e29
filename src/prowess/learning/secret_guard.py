"""Keeps credentials out of what is learned: nothing that looks like one is stored anywhere.

A scanner of skills must not cry at every example. Here a refusal costs a sentence, so the form of a
credential is enough, even where its letters say that it is made up; and people say a password as
they say anything else ("the password is ..."). A skill that exists is judged as the scanner does.
"""

import re
from collections.abc import Iterator, Mapping

from prowess.errors import ProposalSecretError
from prowess.safety.secret_formats import FORMATS
from prowess.safety.secrets import literal_secrets, mask
from prowess.safety.views import Lines, View

_KEPT, _STARS = 4, "****"
_LONGEST_SHOWN = 80
_SAID = re.compile(
    r"(?i)\b(?:password|passphrase|passwd|pwd|secret|token|api[ _-]?key|access[ _-]?key)\b"
    r"(?:\s*[:=]\s*|\s+(?:is|to|of|as)?:?\s*)[\"'`]?(?P<value>[^\s\"'`,;<>${}()/\\]{8,128})"
)
_LETTER, _DIGIT = re.compile(r"[A-Za-z]"), re.compile(r"[0-9]")
_CASES = re.compile(r"(?=.*[a-z])(?=.*[A-Z])")


def refuse_secrets(texts: Mapping[str, str]) -> None:
    """Refuse new texts, each under the name that a person knows it by, with a credential in them.

    Raises:
        ProposalSecretError: one has; the message shows the line with the credential masked.
    """
    for name, text in texts.items():
        _refuse(name, text, (*_known(name, text), *_formed(text), *_said(text)))


def refuse_known_secrets(texts: Mapping[str, str]) -> None:
    """Refuse files in which the scanner sees a secret: no copy of it is kept.

    Raises:
        ProposalSecretError: there is one; the message shows the line with it masked.
    """
    for name, text in texts.items():
        _refuse(name, text, tuple(_known(name, text)))


def _refuse(name: str, text: str, spans: tuple[tuple[int, int], ...]) -> None:
    if spans:
        raise ProposalSecretError(name, _masked(text, *min(spans)))


def _known(name: str, text: str) -> Iterator[tuple[int, int]]:
    for sighting in literal_secrets(View.raw(name, text)):
        yield sighting.spot.start, sighting.spot.end


def _formed(text: str) -> Iterator[tuple[int, int]]:
    for row in FORMATS:
        if row.begins and any(mark in text for mark in row.marks):
            yield from (hit.span() for hit in row.pattern.finditer(text))


def _said(text: str) -> Iterator[tuple[int, int]]:
    for hit in _SAID.finditer(text):
        value = hit["value"]
        digits = len(_DIGIT.findall(value))
        mixed = bool(_CASES.match(value))
        # A word of the language has neither several digits nor capitals among its letters.
        if _LETTER.search(value) and (digits > 1 or (digits and mixed)):
            yield hit.span("value")


def _masked(text: str, start: int, end: int) -> str:
    """Return the line before a secret, and the secret cut to its first characters."""
    value = text[start:end]
    # Of a short one, and of a key over several lines, even the beginning is too much.
    kept = value[:_KEPT] if len(value) >= _KEPT * 3 and "\n" not in value else ""
    lines = Lines.of(text)
    number, column = lines.position(start)
    # Only what stands before it: behind it another one may follow.
    before = lines.line(number)[: column - 1]
    return mask(before)[-_LONGEST_SHOWN:] + kept + _STARS
