"""Keeps credentials out of what is learned: nothing that looks like one is stored anywhere.

A scanner of skills must not cry at every example. Here a refusal costs a sentence, so the form of a
credential is enough, even where its letters say that it is made up; and people say a password as
they say anything else ("the password is ..."). A skill that exists is judged as the scanner does.
"""

from collections.abc import Mapping

from prowess.errors import ProposalSecretError
from prowess.safety.secrets import literal_secrets, mask
from prowess.safety.views import Lines, View
from prowess.secrets.credentials import STARS, Span, masked, spans

_KEPT = 4
_LONGEST_SHOWN = 80


def refuse_secrets(texts: Mapping[str, str]) -> None:
    """Refuse new texts, each under the name that a person knows it by, with a credential in them.

    Raises:
        ProposalSecretError: one has; the message shows the line with the credential masked.
    """
    for name, text in texts.items():
        _refuse(name, text, spans(text))


def refuse_known_secrets(texts: Mapping[str, str]) -> None:
    """Refuse files in which the scanner sees a secret: no copy of it is kept.

    Raises:
        ProposalSecretError: there is one; the message shows the line with it masked.
    """
    for name, text in texts.items():
        seen = literal_secrets(View.raw(name, text))
        _refuse(name, text, tuple((one.spot.start, one.spot.end) for one in seen))


def _refuse(name: str, text: str, found: tuple[Span, ...]) -> None:
    if found:
        # The name can be the path of a file, which is a stranger's text too.
        raise ProposalSecretError(masked(name), _shown(text, *min(found)))


def _shown(text: str, start: int, end: int) -> str:
    """Return the line before a secret, and the secret cut to its first characters."""
    value = text[start:end]
    # Of a short one, and of a key over several lines, even the beginning is too much.
    kept = value[:_KEPT] if len(value) >= _KEPT * 3 and "\n" not in value else ""
    lines = Lines.of(text)
    number, column = lines.position(start)
    # Only what stands before it: behind it another one may follow.
    before = lines.line(number)[: column - 1]
    return mask(before)[-_LONGEST_SHOWN:] + kept + STARS
