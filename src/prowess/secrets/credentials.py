"""Where a text holds what looks like a credential: one judge for what is kept and what is sent.

It reads the text as it is and as it is seen, because letters that cannot be seen, or that are drawn
wide, hide a key from a pattern and not from whoever copies it. A name for a credential is none, and
neither is a placeholder: only a value counts.

A scanner of skills must not cry at every example. Here a refusal costs a sentence, so the form of a
credential is enough, even where its letters say that it is made up; and people say a password as
they say anything else ("the password is ..."). A skill that exists is judged as the scanner does.

What the secrets of well-known issuers look like is in `formats.toml`. Whether a pattern is worth a
try is known by the few letters with which all its matches begin: to look for those costs a
hundredth, and most texts hold none of them.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Generic, NamedTuple, Self, TypeVar

from prowess.data import read_table
from prowess.errors import ProposalSecretError
from prowess.reading.views import Lines, View, fold

_FILE = "secrets/formats.toml"


@dataclass(frozen=True, slots=True)
class SecretAddress:
    """How addresses of one service look that are a secret by themselves."""

    # Plain small letters with which each of them begins.
    mark: str
    # What leads from the mark to the secret.
    lead: str
    # Matches one of them, from its mark on; its secret is the group `value`.
    pattern: re.Pattern[str]
    # Whether the mark is so much the service's own that whatever follows is the secret.
    sure: bool


@dataclass(frozen=True, slots=True)
class SecretFormat:
    """How the secrets of one issuer look."""

    issuer: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    reason: str
    # Whether a secret begins with its mark, so that only those places need a look.
    begins: bool
    # Whether it may have expired.
    faint: bool


class LiteralSecret(NamedTuple):
    """A secret that stands in a text in the clear."""

    span: tuple[int, int]
    # Who issues it and what it opens.
    about: str
    faint: bool


@cache
def read_addresses() -> tuple[SecretAddress, ...]:
    """Return the addresses that are a secret by themselves."""
    return tuple(
        SecretAddress(
            row["mark"],
            row["lead"],
            re.compile(f"{row['lead']}(?P<value>{row['value']})", re.IGNORECASE),
            row.get("sure", True),
        )
        for row in read_table(_FILE)["addresses"]
    )


@cache
def read_formats() -> tuple[SecretFormat, ...]:
    """Return the forms of secrets by issuer."""
    return tuple(map(_read_format, read_table(_FILE)["formats"]))


def read_patterns(group: str) -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    """Return the patterns of a group of `patterns.toml`, each with what its matches begin with."""
    return tuple(
        (tuple(row["cues"]), re.compile(row["pattern"].replace("\n", "")))
        for row in read_table("secrets/patterns.toml")[group]
    )


def _read_format(row: Mapping[str, str]) -> SecretFormat:
    marks = tuple(row["marks"].split())
    pattern = row.get("pattern", "").replace("\n", "")
    if rest := row.get("rest", "").replace("~", "[A-Za-z0-9_-]"):
        beginning = "|".join(map(re.escape, marks))
        pattern = rf"(?<![A-Za-z0-9_/+-])(?:{beginning})(?:{rest})(?![A-Za-z0-9_/+-])"
    return SecretFormat(
        row["issuer"], marks, re.compile(pattern), row["reason"], bool(rest), bool(row.get("faint"))
    )


# A value that is written down beside a name that says what it is; the name is looked for to the
# left of it, because the signs between are rarer than letters.
_ASSIGNMENT = re.compile(r"[:=]>?\s{0,4}[\"'](?P<value>[^\s\"']{12,128})[\"']")
_SECRET_NAME = re.compile(
    r"(?i)(?:passw(?:or)?d|passwd|secret|api_?key|auth_?token|access_?token|private_?key"
    r"|client_?secret|secret_?key)[\"']?\s{0,4}\Z"
)
_NAME_REACH = 40


_MADE_UP = re.compile(
    r"(?i)example|sample|dummy|fake|placeholder|redacted|changeme|change[-_]me|replace|insert|todo"
    r"|your[-_]?|[-_]here|x{4,}|\*{3,}|\.{3}|<|>|\$\{|\{\{|%\(|(.)\1{5,}|0123456789|1234567890"
    r"|abcdefgh|12345678|a1b2c3|1a2b3c|qwerty|deadbeef|test[-_]"
    r"|notreal|not[-_]a[-_]real|secret[-_]?value|localhost"
)
_PLAIN_PASSWORD = re.compile(
    r"(?i)\$?\{?(?:pass(?:word|wd)?|pwd|secret|token|key|user(?:name)?|postgres|admin|root|mysql"
    r"|mongo|redis|guest|rabbitmq|api[-_]?key|credentials?)\}?[0-9!]{0,4}|[$%{(\[].*|.*[})\]]"
    r"|(?-i:[A-Z_]+)|.*passw(?:or)?d.*"
)
_DISTINCT = 8
_ENTROPY = 3.0
_URL_ENTROPY = 2.5
_GENERIC_ENTROPY = 3.6


def find_literal_secrets(text: str) -> tuple[LiteralSecret, ...]:
    """Return where the text holds a secret that its issuer's form gives away, in order."""
    found: list[LiteralSecret] = []
    ends: set[int] = set()
    for row in read_formats():
        if any(mark in text for mark in row.marks):
            for span in _values(row, text):
                if span[1] not in ends:
                    ends.add(span[1])
                    found.append(LiteralSecret(span, f"{row.issuer}: {row.reason}.", row.faint))
    about = "A value that looks random is assigned to the name of a secret."
    found.extend(
        LiteralSecret(span, about, faint=True) for span in _find_set(text) if span[1] not in ends
    )
    return tuple(sorted(found, key=lambda one: one.span[0]))


def _values(row: SecretFormat, text: str) -> Iterator[tuple[int, int]]:
    group = "value" if "value" in row.pattern.groupindex else 0
    for hit in _matches(row, text):
        value = hit[group]
        if not _MADE_UP.search(value) and (
            _is_password(value, hit["host"])
            if "host" in row.pattern.groupindex
            else len(set(value)) >= _DISTINCT and _entropy(value) >= _ENTROPY
        ):
            yield hit.span(group)


def _matches(row: SecretFormat, text: str) -> Iterator[re.Match[str]]:
    if not row.begins:
        yield from row.pattern.finditer(text)
        return
    for mark in row.marks:
        at = text.find(mark)
        while at >= 0:
            if hit := row.pattern.match(text, at):
                yield hit
            at = text.find(mark, at + len(mark))


def _is_password(value: str, host: str) -> bool:
    return (
        not _MADE_UP.search(host)
        and not _PLAIN_PASSWORD.fullmatch(value)
        and _entropy(value) >= _URL_ENTROPY
    )


def _find_set(text: str) -> Iterator[tuple[int, int]]:
    for hit in _ASSIGNMENT.finditer(text):
        if not _SECRET_NAME.search(text[max(0, hit.start() - _NAME_REACH) : hit.start()]):
            continue
        value = hit["value"]
        if _MADE_UP.search(value) or _PLAIN_PASSWORD.fullmatch(value):
            continue
        has_digit = any(letter.isdigit() for letter in value)
        has_letter = any(letter.isalpha() for letter in value)
        if has_digit and has_letter and _entropy(value) >= _GENERIC_ENTROPY:
            yield hit.span("value")


def _entropy(value: str) -> float:
    """Return how many bits each character of `value` holds on average."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())


_STARS = "****"
_SEARCHES_KEPT = 4


# Looser than the table: a cut line shows the beginning of a secret, and that is masked too.
@cache
def _compile_loose() -> re.Pattern[str]:
    leads = "|".join(row.lead for row in read_addresses() if row.sure)
    return re.compile(
        r"(?<![A-Za-z0-9])(?:A(?:KIA|SIA|BIA|CCA)(?=[A-Z0-9]{6})[A-Z0-9]{6,}"
        r"|(?:gh[pousr]_|github_pat_|gl(?:pat|dt|rt|cbt|ptt)-|xox[abeoprs]-|xapp-|[sr]k_(?:live|test)_"
        r"|whsec_|xkeysib-|AIza|GOCSPX-|sk-|gsk_|xai-|r8_|hf_|npm_|pypi-|key-|dop_v1_"
        r"|doo_v1_|dapi|lin_api_|ntn_|secret_"
        r"|shp(?:at|ss|ca)_)[A-Za-z0-9_-]{12,}"
        r"|(?:ya29\.|SG\.|hv[sb]\.)[A-Za-z0-9_.-]{12,}"
        r"|eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]{4,}){0,2}"
        r"|SK[0-9a-f]{12,}|[0-9]{8,10}:AA[A-Za-z0-9_-]{12,}|AGE-SECRET-KEY-1[0-9A-Z]{6,}"
        r"|[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{10,})"
        r"|(?P<lead>(?i:-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\\nr]{0,8}"
        rf"|{leads}"
        r"|Key=(?=[A-Za-z0-9+/]{20})"
        r"|://[^\s/:@\"'<>`*]{1,64}:(?=[^\s/@\"'<>`]{1,128}@)"
        r"|secret_?access_?key[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?=[^\s\"']{8})"
        r"|(?:passw(?:or)?d|passwd|secret|api_?key|(?:auth|access)_?token|private_?key|secret_?key)"
        r"[\"']?\s{0,4}(?::|=>?)\s{0,4}[\"'](?!-----)(?=[^\s\"']{8})))(?P<value>[^\s@\"'<>`]+)"
    )


def mask(text: str) -> str:
    """Return `text` with every secret cut to its first four characters."""
    for _ in range(_SEARCHES_KEPT):
        masked = _compile_loose().sub(_cut, text)
        if masked == text:
            break
        text = masked
    return text


def _cut(hit: re.Match[str]) -> str:
    lead, value = hit["lead"] or "", hit["value"] or hit.group()
    if _STARS in value:
        return hit.group()
    # Of a short password four characters would be too much.
    kept = value[:_SEARCHES_KEPT] if len(value) >= _SEARCHES_KEPT * 3 else ""
    return f"{lead}{kept}{_STARS}"


_What = TypeVar("_What")
_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[a-z]+")
_MOST_WORDS, _FEW_WORDS = 20_000, 40


@dataclass(frozen=True, slots=True)
class SearchedText:
    """A text, the same in small letters, and its words of Latin letters, each once."""

    text: str
    small: str
    words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Self:
        """Return a text that is ready to be looked through."""
        small = small_letters(text)
        return cls(text, small, frozenset(_WORD.findall(small)))


class Cued(NamedTuple, Generic[_What]):
    """Something to look for, and the letters that it begins with."""

    what: _What
    cues: Sequence[str]
    # Whether large letters count; else the cues are in small ones.
    exact: bool = False


class CueTable(Generic[_What]):
    """Many things to look for at once."""

    def __init__(self, rows: Sequence[Cued[_What]]) -> None:
        """Remember which word belongs to which row."""
        self._rows = tuple(rows)
        self._by_core: dict[str, list[tuple[int, str]]] = {}
        for at, row in enumerate(self._rows):
            for cue in row.cues:
                self._by_core.setdefault(_core(cue), []).append((at, cue))
        self._coreless = self._by_core.pop("", [])
        # What stands in a text is kept no longer than its words are common.
        self._in_word = lru_cache(maxsize=_MOST_WORDS)(self._cores_in)

    def found(self, reading: SearchedText) -> Iterator[tuple[_What, list[int]]]:
        """Yield what may be there, with the places to try, in order."""
        there: dict[int, list[str]] = {}
        for core in self._cores(reading.words):
            for at, cue in self._by_core[core]:
                there.setdefault(at, []).append(cue)
        is_plain = reading.text.isascii()
        for at, cue in self._coreless:
            if not is_plain or cue.isascii():
                there.setdefault(at, []).append(cue)
        for at in sorted(there):
            row = self._rows[at]
            if places := _places(reading.text if row.exact else reading.small, there[at]):
                yield row.what, places

    def _cores(self, words: frozenset[str]) -> Iterable[str]:
        if len(words) > _FEW_WORDS:
            return self._cores_in("\n".join(words))
        return {core for word in words for core in self._in_word(word)}

    def _cores_in(self, word: str) -> tuple[str, ...]:
        return tuple(core for core in self._by_core if core in word)


def small_letters(text: str) -> str:
    """Return `text` in small letters, each at the place where it stands in `text`."""
    small = text.lower()
    if len(small) == len(text):
        return small
    # A few letters become two; those have no small form of one letter.
    return "".join(one if len(one := letter.lower()) == 1 else letter for letter in text)


def _places(text: str, cues: Sequence[str]) -> list[int]:
    places: set[int] = set()
    for cue in cues:
        at = text.find(cue)
        while at >= 0:
            places.add(at)
            at = text.find(cue, at + 1)
    return sorted(places)


def _core(cue: str) -> str:
    """Return the longest word of Latin letters of a cue; empty where it has none."""
    words = [word for word in _LETTERS.findall(cue.lower()) if word.isascii()]
    return max(words, key=len, default="")


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


@cache
def _read_searches() -> CueTable[_Search]:
    formats = (row for row in read_formats() if row.begins)
    return CueTable(
        (
            *(Cued(_search_value(row.pattern, _is_any), row.marks, exact=True) for row in formats),
            *(
                Cued(_search_value(pattern, _is_any), cues)
                for cues, pattern in read_patterns("formed")
            ),
            *(
                Cued(_search_value(pattern, lambda value: not _is_placeholder(value)), cues)
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
