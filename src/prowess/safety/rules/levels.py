"""The seven rules as first written down, by their wording alone.

Texts that an agent wrote are held to them literally, whatever stands around the words; and they
are the baseline that the benchmark sets the scanner beside.
"""

import re
from collections.abc import Iterator
from itertools import islice

from prowess.safety.sighting import Sighting
from prowess.safety.views import Spot, View

_SEVEN: tuple[tuple[str, str, str], ...] = (
    (
        "prompt-injection-ignore-instructions",
        "tells the agent to set aside the instructions that it was given",
        (
            r"\b(?:ignore|disregard|forget|override|bypass)\b[\w\s,']{0,40}?"
            r"\b(?:previous|prior|above|earlier|preceding|higher|all|any|existing|system|other)\b"
            r"[\w\s,'-]{0,30}?\b(?:instructions?|rules|directions|guidelines|prompts?)\b"
        ),
    ),
    (
        "prompt-injection-system",
        "speaks of a system prompt, a developer message or hidden instructions",
        (
            r"\b(?:system|developer)[ \t_-]+(?:prompts?|messages?|instructions?)\b"
            r"|\bhidden[ \t_-]+(?:instructions?|prompts?|messages?)\b"
        ),
    ),
    (
        "prompt-injection-tool",
        "encourages going around a tool's permission or approval",
        (
            r"\b(?:bypass|skip|circumvent|disable|ignore|avoid|without)\b[^.\n]{0,60}?"
            r"\b(?:approvals?|permissions?|confirmations?|confirm(?:ing)?|consent"
            r"|authori[sz]ation)\b"
        ),
    ),
    (
        "shell-pipe-to-shell",
        "pipes a download into a shell",
        (
            r"\b(?:curl|wget)\b[^\n|]{0,400}\|[ \t]*(?:sudo[ \t]+(?:-\w+[ \t]+)*)?"
            r"(?:/(?:usr/)?bin/)?(?:env[ \t]+)?(?:ba|z|da|k)?sh\b"
        ),
    ),
    (
        "secret-exfiltration",
        "sends environment data over the network",
        (
            r"\b(?:process\.env|os\.environ|printenv|env)\b[^\n]{0,200}?"
            r"\b(?:curl|wget|fetch|https?\.request|requests\.post|axios|nc|POST)\b"
            r"|\b(?:curl|wget|fetch|requests\.post|axios(?:\.post)?|nc)\b[^\n]{0,200}?"
            r"(?:process\.env\b(?!\.\w)|os\.environ\b(?![\[.]\w)|\$\(\s*(?:env|printenv)\b)"
        ),
    ),
    (
        "destructive-delete",
        "deletes folders with all they hold",
        (
            r"\brm[ \t]+(?:-{1,2}[\w-]+[ \t]+){0,4}-(?:\w{0,6}r\w{0,6}f|\w{0,6}f\w{0,6}r)\w{0,6}\b"
            r"|\brm[ \t]+(?:-r[ \t]+-f|-f[ \t]+-r|--recursive[ \t]+--force"
            r"|--force[ \t]+--recursive)\b"
        ),
    ),
    (
        "unsafe-permissions",
        "opens files to everybody",
        r"\bchmod[ \t]+(?:-{1,2}[\w-]+[ \t]+){0,3}(?:[0-7]?777|a\+rwx|ugo\+rwx|o\+w)\b",
    ),
)
# A text that repeats itself is reported on a few times; the verdict needs one.
_PER_RULE = 5
_RULES = tuple((rule, message, re.compile(text, re.IGNORECASE)) for rule, message, text in _SEVEN)
SEVEN = tuple(rule for rule, _, _ in _SEVEN)


def literal_hits(view: View) -> Iterator[Sighting]:
    """Yield where `view` has the wording of one of the seven rules, the first few times each."""
    for rule, message, pattern in _RULES:
        for found in islice(pattern.finditer(view.text), _PER_RULE):
            yield Sighting(rule, Spot(view, found.start(), found.end()), message)
