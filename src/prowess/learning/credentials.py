"""Where a text holds what looks like a credential: one judge for what is kept and what is sent.

It reads the text as it is and as it is seen, because letters that cannot be seen, or that are drawn
wide, hide a key from a pattern and not from whoever copies it. A name for a credential is none, and
neither is a placeholder: only a value counts.
"""

import re
from collections.abc import Iterator

from prowess.safety.folding import fold
from prowess.safety.secret_formats import FORMATS
from prowess.safety.secrets import literal_secrets
from prowess.safety.views import View

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
_CARRIED = (
    re.compile(r"://[^\s/:@\"'<>`]{0,64}:(?P<value>[^\s/@\"'<>`]{3,256})@(?=[\w\[])"),
    re.compile(
        r"(?i)\b(?:proxy-)?authorization[\"'`]?\s{0,4}[:=]\s{0,4}[\"'`]?"
        r"(?:(?:bearer|basic|token|digest)\s{1,4})?(?P<value>[^\s\"'`,;<>]{8,4096})"
    ),
    re.compile(
        r"(?i)\b(?:bearer|basic)[ \t]{1,4}(?P<value>(?=[^\s]{0,256}[0-9=])[^\s\"'`<>]{12,4096})"
    ),
    re.compile(
        r"(?:\bcurl\b[^\n]{0,400}?\s(?:-u|--user|-U|--proxy-user)[ =]?|\s--user[ =])"
        r"[\"'`]?[^\s:\"'`/]{1,64}:(?P<value>[^\s\"'`]{3,256})"
    ),
    re.compile(
        r"\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump)\b[^\n]{0,400}?\s-p"
        r"[\"'`]?(?P<value>[^\s\"'`-][^\s\"'`]{3,255})"
    ),
    re.compile(r"\bsshpass\s{1,4}-p\s{0,4}[\"'`]?(?P<value>[^\s\"'`]{3,256})"),
    re.compile(
        r"(?i)\s--?(?:password|passwd|pass|token|api-?key|secret)[ =][\"'`]?"
        r"(?P<value>(?=[^\s]{0,255}[0-9])[^\s\"'`]{6,256})"
    ),
)
# Forms that need no name beside them, and are looser than those of the table.
_FORMED = re.compile(
    # A line break or a mark behind the beginning hides nothing from whoever puts it together.
    r"(?<![A-Za-z0-9])(?:[0-9]{8,10}:AA[A-Za-z0-9_-]{30,40}"
    r"|(?:hf_|gh[pousr]_|npm_)[\s`\"'*+\\]{0,8}[A-Za-z0-9]{30,251}"
    r"|(?:glpat-|sk-(?:ant|proj|svcacct|admin|or)-)[\s`\"'*+\\]{0,8}[A-Za-z0-9_-]{18,256})"
    r"(?![A-Za-z0-9])"
    r"|(?i:\bkey\b[\"'`]?[ \t:=]{1,4}[\"'`]?(?P<value>[0-9a-f]{32,128})(?![0-9a-z]))"
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


def spans(text: str) -> tuple[Span, ...]:
    """Return where credentials stand in `text`, in order, without overlaps."""
    seen = View.raw("", text)
    folded = fold(seen)
    found = set(_found(text))
    if folded.text != text:
        found |= {
            (folded.origin(start), folded.origin(end - 1) + 1) for start, end in _found(folded.text)
        }
    return tuple(_apart(sorted(found)))


def masked(text: str) -> str:
    """Return `text` with stars in place of every credential."""
    parts, at = [], 0
    for start, end in spans(text):
        parts += [text[at:start], STARS]
        at = end
    return "".join([*parts, text[at:]])


def _apart(found: list[Span]) -> Iterator[Span]:
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


def _found(text: str) -> Iterator[Span]:
    for sighting in literal_secrets(View.raw("", text)):
        yield sighting.spot.start, sighting.spot.end
    for row in FORMATS:
        if row.begins and any(mark in text for mark in row.marks):
            yield from (hit.span() for hit in row.pattern.finditer(text))
    for hit in _FORMED.finditer(text):
        yield hit.span("value" if hit["value"] else 0)
    for pattern in _CARRIED:
        yield from (
            hit.span("value") for hit in pattern.finditer(text) if not _is_placeholder(hit["value"])
        )
    yield from (hit.span("value") for hit in _ASSIGNED.finditer(text) if _is_made(hit["value"]))
    yield from (hit.span("value") for hit in _SAID.finditer(text) if _is_word_like(hit["value"]))


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
