"""Where a text holds what looks like a credential: one judge for what is kept and what is sent.

It reads the text as it is and as it is seen, because letters that cannot be seen, or that are drawn
wide, hide a key from a pattern and not from whoever copies it. A name for a credential is none, and
neither is a placeholder: only a value counts.

A scanner of skills must not cry at every example. Here a refusal costs a sentence, so the form of a
credential is enough, even where its letters say that it is made up; and people say a password as
they say anything else ("the password is ..."). A skill that exists is judged as the scanner does.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from prowess.errors import ProposalSecretError
from prowess.reading.views import Lines, View, fold
from prowess.secrets.formats import (
    Cued,
    CueTable,
    SearchedText,
    find_literal_secrets,
    mask,
    read_formats,
    read_patterns,
)

STARS = "****"
Span = tuple[int, int]

_NAMES = (
    r"pass(?:word|wort|wd|phrase|code)|pass(?![a-z])|pwd|pword|kennwort|mot de passe"
    r"|contrase(?:n|\u00f1|n\u0303)a"
    r"|clave|senha|parola d.ordine|wachtwoord|has(?:l|\u0142)o|l(?:o|\u00f6)senord"
    r"|\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6\u7801|\u5bc6\u78bc|\u30d1\u30b9\u30ef\u30fc\u30c9"
    r"|\ube44\ubc00\ubc88\ud638|secret|token|api[ _-]?key|access[ _-]?key|auth[ _-]?key"
    r"|private[ _-]?key|secret[ _-]?key|client[ _-]?secret|credentials?"
)
# With one of these each of the names begins.
_NAME_CUES = (
    "pass", "pwd", "pword", "kennwort", "mot de passe", "contrase", "clave", "senha", "parola d",
    "wachtwoord", "hasl", "has\u0142", "losenord", "l\u00f6senord",
    "\u043f\u0430\u0440\u043e\u043b\u044c", "\u5bc6\u7801", "\u5bc6\u78bc",
    "\u30d1\u30b9\u30ef\u30fc\u30c9", "\ube44\ubc00\ubc88\ud638", "secret", "token", "api",
    "access", "auth", "private", "client", "credential",
)  # fmt: skip
_VALUE = r"[\"'`]?(?P<value>[^\s\"'`,;<>]{6,256})"
# A name, a sign, and a value.
_ASSIGNED = re.compile(
    rf"(?i)(?:(?<![^\W_])(?:{_NAMES})[a-z0-9_-]{{0,20}}[\"'`]?\s{{0,4}}(?::|=>?)\s{{0,4}}{_VALUE})"
)
# A name and a value as people say them.
_SAID = re.compile(
    rf"(?i)\b(?:{_NAMES})\b\s{{1,4}}(?:(?:is|to|of|as|ist|est|es|lautet|\u00e8|\u00e9)\b:?\s{{0,4}})?"
    r"[\"'`]?(?P<value>[^\s\"'`,;<>${}()/\\]{8,128})"
)
_PLACEHOLDER = re.compile(
    r"(?i)[<$%{(\[*#].*|.*[>}\])]|.*(?:x{3,}|\*{3,}|\.{3}|\u2026|your[-_ ]?|example|placeholder"
    r"|redacted|change[-_]?me|replace[-_]?me|dummy|environ|getenv|process\.env|secrets?\.[a-z]"
    r"|\$\{|\{\{|[-_]here\b).*"
    r"|(?:pass(?:word|wd|phrase)?|pwd|secret|token|key|user(?:name)?|api[-_]?key)[0-9!]{0,4}"
    r"|(?-i:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"
)
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"[0-9]")
_CASES = re.compile(r"(?=.*[a-z])(?=.*[A-Z])")
# Marks of a sentence that end a value and are no part of it.
_TAIL = ".,:;!?"


def find_credentials(text: str) -> tuple[Span, ...]:
    """Return where credentials stand in `text`, in order, without overlaps."""
    return find_credentials_in(SearchedText.of(text))


def find_credentials_in(reading: SearchedText) -> tuple[Span, ...]:
    """Return the same of a text that is ready to be looked through."""
    folded = fold(View.raw("", reading.text))
    found = set(_find_spans(reading))
    if folded.text != reading.text:
        seen = _find_spans(SearchedText.of(folded.text))
        found |= {(folded.origin(start), folded.origin(end - 1) + 1) for start, end in seen}
    return tuple(_merge_overlaps(sorted(found)))


def mask_credentials(text: str) -> str:
    """Return `text` with stars in place of every credential."""
    parts, at = [], 0
    for start, end in find_credentials(text):
        parts += [text[at:start], STARS]
        at = end
    return "".join([*parts, text[at:]])


def _merge_overlaps(found: list[Span]) -> Iterator[Span]:
    last: Span | None = None
    for start, end in found:
        if last is not None and start < last[1]:
            last = (last[0], max(end, last[1]))
            continue
        if last is not None:
            yield last
        last = (start, end)
    if last is not None:
        yield last


def _find_spans(reading: SearchedText) -> Iterator[Span]:
    text = reading.text
    for search, places in _read_searches().found(reading):
        yield from search(text, places)
    if any(True for _ in _scanner_cues().found(reading)) or any(
        len(word) > _LONG_WORD for word in text.split()
    ):
        yield from (found.span for found in find_literal_secrets(text))


def _match_at(
    pattern: re.Pattern[str], text: str, places: Sequence[int]
) -> Iterator[re.Match[str]]:
    """Yield what `finditer` would, for a pattern that can match at these places alone."""
    last = 0
    for at in places:
        if at >= last and (hit := pattern.match(text, at)):
            last = max(hit.end(), at + 1)
            yield hit


def _is_given(value: str) -> bool:
    return not _is_placeholder(value)


def _is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.fullmatch(value.rstrip(_TAIL)) is not None


def _is_made(value: str) -> bool:
    """Return whether a value that follows a name and a sign is one, and not the next word."""
    value = value.rstrip(_TAIL)
    has_both = bool(_LETTER.search(value)) and bool(_DIGIT.search(value))
    return has_both and not _is_placeholder(value)


def _is_word_like(value: str) -> bool:
    # A word of the language has neither several digits nor capitals among its letters.
    digits = len(_DIGIT.findall(value))
    is_odd = digits > 1 or bool(digits and _CASES.match(value))
    return is_odd and bool(_LETTER.search(value)) and not _is_placeholder(value)


_Search = Callable[[str, Sequence[int]], Iterator[Span]]


def _search_value(pattern: re.Pattern[str], is_one: Callable[[str], bool]) -> _Search:
    """Return what finds the values of a pattern; the whole match where it names none."""
    group = "value" if "value" in pattern.groupindex else 0

    def search(text: str, places: Sequence[int]) -> Iterator[Span]:
        for hit in _match_at(pattern, text, places):
            if is_one(hit[group]):
                yield hit.span(group)

    return search


def _is_any(_value: str) -> bool:
    return True


def _search_whole(pattern: re.Pattern[str]) -> _Search:
    def search(text: str, places: Sequence[int]) -> Iterator[Span]:
        yield from (hit.span() for hit in _match_at(pattern, text, places))

    return search


@cache
def _read_searches() -> CueTable[_Search]:
    formats = (row for row in read_formats() if row.begins)
    return CueTable(
        (
            *(Cued(_search_whole(row.pattern), row.marks, exact=True) for row in formats),
            *(
                Cued(_search_value(pattern, _is_any), cues)
                for cues, pattern in read_patterns("formed")
            ),
            *(
                Cued(_search_value(pattern, _is_given), cues)
                for cues, pattern in read_patterns("carried")
            ),
            Cued(_search_value(_ASSIGNED, _is_made), _NAME_CUES),
            Cued(_search_value(_SAID, _is_word_like), _NAME_CUES),
        )
    )


# Where the scanner can find anything at all, which costs more to ask it: by its marks, and by the
# names that it looks for. A mark that stands in every text begins no word shorter than this.
_LONG_WORD = 50
_SCANNED_NAMES = (
    "passwd", "password", "secret", "apikey", "api_key", "authtoken", "auth_token", "accesstoken",
    "access_token", "privatekey", "private_key",
)  # fmt: skip


@cache
def _scanner_cues() -> CueTable[None]:
    marks = [mark for row in read_formats() for mark in row.marks if mark != "."]
    return CueTable((Cued(None, marks, exact=True), Cued(None, _SCANNED_NAMES)))


_KEPT = 4
_LONGEST_SHOWN = 80


def refuse_secrets(texts: Mapping[str, str]) -> None:
    """Refuse new texts, each under the name that a person knows it by, with a credential in them.

    Raises:
        ProposalSecretError: one has; the message shows the line with the credential masked.
    """
    for name, text in texts.items():
        _refuse(name, text, find_credentials(text))


def refuse_known_secrets(texts: Mapping[str, str]) -> None:
    """Refuse files in which the scanner sees a secret: no copy of it is kept.

    Raises:
        ProposalSecretError: there is one; the message shows the line with it masked.
    """
    for name, text in texts.items():
        _refuse(name, text, tuple(found.span for found in find_literal_secrets(text)))


def _refuse(name: str, text: str, found: tuple[Span, ...]) -> None:
    if found:
        # The name can be the path of a file, which is a stranger's text too.
        raise ProposalSecretError(mask_credentials(name), _show_line(text, *min(found)))


def _show_line(text: str, start: int, end: int) -> str:
    """Return the line before a secret, and the secret cut to its first characters."""
    value = text[start:end]
    # Of a short one, and of a key over several lines, even the beginning is too much.
    kept = value[:_KEPT] if len(value) >= _KEPT * 3 and "\n" not in value else ""
    lines = Lines.of(text)
    number, column = lines.position(start)
    # Only what stands before it: behind it another one may follow.
    before = lines.line(number)[: column - 1]
    return mask(before)[-_LONGEST_SHOWN:] + kept + STARS
