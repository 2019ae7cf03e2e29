"""Stars in place of what is a secret in a text of a trace, looked for eagerly.

A trace is what really happened, so what stands behind `PGPASSWORD=` was a password, whatever it
looks like. In a skill that somebody writes it is mostly an example: there `credentials` decides.

A command gives a secret to a program by an option of that program. The same option means something
else elsewhere (`mkdir -p`, `ssh -p 22`), so that only the programs named here are looked at, and of
a line only what belongs to the one command.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from prowess.data import read_table
from prowess.secrets.credentials import (
    STARS,
    Cued,
    CueTable,
    SearchedText,
    find_credentials_in,
    mask_credentials,
    read_addresses,
    read_patterns,
)
from prowess.secrets.names import SecretSpan, find_named_values, is_odd, is_reference

_WORD = (
    r"(?:(?P<quote>\\{0,2}[\"'])(?P<quoted>[^\"'\n]{1,256}?)(?P=quote)"
    r"|(?P<bare>[^\s\"'|;<>]{1,256}))"
)


_LAST = re.compile(rf"(?<=\s){_WORD}\s*\Z")
_Search = Callable[[str, Sequence[int]], Iterator[SecretSpan]]


class _Option(NamedTuple):
    """In which calls of a program a secret is given, and where it stands in them."""

    call: str
    pattern: re.Pattern[str]


@cache
def _read_programs() -> dict[str, tuple[_Option, ...]]:
    """Return the options by the program, as it begins a command."""
    found: dict[str, list[_Option]] = {}
    for row in read_table("secrets/patterns.toml")["programs"]:
        for name in row["names"].split():
            found.setdefault(name, []).append(_Option(row.get("call", ""), _read_option(row)))
    return {name: tuple(options) for name, options in found.items()}


def _read_option(row: Mapping[str, str]) -> re.Pattern[str]:
    if "last" in row:
        return _LAST
    if "pattern" in row:
        return re.compile(row["pattern"].replace("{WORD}", _WORD))
    gap = "" if "glued" in row else r"[ =]?\s{0,3}"
    return re.compile(rf"(?<=\s)(?:{row.get('glued') or row['option']}){gap}{_WORD}")


# The programs of Windows take theirs without an option.
_NET_USE = re.compile(rf"(?i)\bnet\s+use\s[^\n]{{0,200}}?/user:\S+\s+{_WORD}")
_BEGINS = re.compile(r"(?:\A|[\s;&|(\"'`/\\])\Z")
# A command goes to the end of its line or to the next one; what stands in quotes is one part.
_COMMAND = re.compile(
    r"[\w-]{0,20}(?:\"[^\"\n]{0,2000}\"|'[^'\n]{0,2000}'|\\\n|[^\n|;&\"']){0,400}"
)
# What takes a secret from what is written before it.
_TAKES = (
    "sudo -s", "sudo --stdin", "--password-stdin", "--passphrase-fd", "--stdin", "passwd",
    "chpasswd", "kinit", "cryptsetup", "su ", "--with-token", "smbpasswd", "--pass-stdin",
)  # fmt: skip
_ECHOED = re.compile(
    rf"\b(?:echo|printf|print)\s{{1,3}}(?:-\w+\s{{1,3}}){{0,3}}{_WORD}\s{{0,3}}\|[^|;&\n]{{0,80}}\Z"
)
_HERE = re.compile(rf"[^\n;|]{{0,80}}?<<<\s{{0,3}}{_WORD}")
_SEND = re.compile(
    r"(?:send|send_user)\s{1,3}(?:--\s{1,3})?\\{0,2}[\"'](?P<bare>[^\"'\n\\]{3,128})\\{1,3}[rn]"
)
_ECHO_REACH = 400
_USER_PARTS = 2


def _find_arguments(reading: SearchedText) -> Iterator[SecretSpan]:
    """Yield where a command holds a secret."""
    for search, places in _command_cues().found(reading):
        yield from search(reading.text, places)


def _search_options(name: str) -> _Search:
    options = _read_programs()[name]

    def search(text: str, places: Sequence[int]) -> Iterator[SecretSpan]:
        last = 0
        for at in places:
            begins = at >= last and _BEGINS.search(text, max(0, at - 1), at)
            command = _COMMAND.match(text, at) if begins else None
            if command is None or not command[0][len(name) :].strip():
                continue
            last = command.end()
            for call, pattern in options:
                if re.search(call, command[0]):
                    yield from _finds(pattern.finditer(text, at, last))

    return search


def _find_written_before(text: str, places: Sequence[int]) -> Iterator[SecretSpan]:
    yield from _finds(_ECHOED.search(text, max(0, at - _ECHO_REACH), at) for at in places)
    yield from _finds(_HERE.match(text, at) for at in places)


def _find_sent(text: str, places: Sequence[int]) -> Iterator[SecretSpan]:
    if "assword" in text or "spawn" in text or "expect" in text:
        yield from _finds(_SEND.match(text, at) for at in places)


def _find_net_use(text: str, places: Sequence[int]) -> Iterator[SecretSpan]:
    yield from _finds(_NET_USE.match(text, at) for at in places)


def _finds(hits: Iterable[re.Match[str] | None]) -> Iterator[SecretSpan]:
    for hit in hits:
        if hit is None:
            continue
        group = "quoted" if hit.re.groupindex.get("quoted") and hit["quoted"] else "bare"
        value = hit[group]
        if value and not value.startswith("-") and not is_reference(value):
            yield SecretSpan(*hit.span(group), echoes=len(value) > _USER_PARTS)


@cache
def _command_cues() -> CueTable[_Search]:
    return CueTable(
        (
            *(Cued(_search_options(name), (name,)) for name in _read_programs()),
            Cued(_find_written_before, _TAKES),
            Cued(_find_sent, ("send",)),
            Cued(_find_net_use, ("net use",)),
        )
    )


_PASSWORD_IN_URL = re.compile(r"://[^\s/:@\"'<>`]{0,64}:(?P<value>[^\s/@\"'<>`]{1,256})@(?=[\w\[])")
_TOKEN_IN_URL = re.compile(r"://(?P<value>[A-Za-z0-9_.-]{16,256})@(?=[\w\[])")
_BEFORE_HOST = re.compile(
    r"(?<![\w.:/-])(?!mailto|to|from|cc|email|npm|acct|sip|xmpp|user)[\w.+-]{1,64}:"
    r"(?P<value>[^\s/@:\"'<>`]{6,128})\Z"
)
_HOST = re.compile(r"@(?!sha\d)[A-Za-z][\w-]*")
_CODE_NAMES = (
    r"(?:verification|security|confirmation|one[- ]time|login|sms|auth\w*|access|2fa|your|ihr|dein"
    r"|best\u00e4tigungs|sicherheits|einmal|votre|tu|su|il tuo|seu)[- ]?(?:c[o\u00f3]d[eio]\w*|kod)"
    r"|m?tan|otp|pin|puk|passcode|einmalcode|\u9a8c\u8bc1\u7801|\uc778\uc99d\ubc88\ud638"
)
_CODE = re.compile(
    rf"(?i)(?<![^\W_])(?:{_CODE_NAMES})(?![^\W\d_])[^\w\n]{{0,4}}(?:(?:is|was|lautet|ist|est|es)\b[^\w\n]{{0,4}}"
    r"|[:=\uff1a\u662f]\s{0,3})(?:[A-Z]-)?(?P<value>\d{3}[ -]?\d{1,5})(?!\d)"
)
_CODE_FIRST = re.compile(r"(?i)(?<!\d)(?P<value>\d{4,8})\s(?:is your|ist ihr|ist dein)\b")
_CODE_CUES = (
    "code", "c\u00f3d", "kod", "tan", "otp", "pin", "puk", "\u9a8c\u8bc1\u7801",
    "\uc778\uc99d\ubc88\ud638",
)  # fmt: skip
_PHRASE = re.compile(
    r"(?:seed|mnemonic|recovery|backup|secret)(?:[ -]?(?:phrase|words?))?\b"
    r"[^\n]{0,40}?[:=\s]\s{0,4}[\"'`]?"
    r"(?P<value>(?:\d{1,2}[.):]?\s{1,3})?[a-z]{3,8}"
    r"(?:[\s,]{1,3}(?:\d{1,2}[.):]?\s{1,3})?[a-z]{3,8}){11,23})(?![a-z])",
    re.IGNORECASE,
)
_PHRASE_CUES = ("seed", "mnemonic", "recovery phrase", "backup phrase", "secret phrase")
# A number of a card, by its length and its beginning; the last digit proves the others.
_CARD = re.compile(
    r"[2-6]\d{3}(?<![\w.,/-]....)(?<=4...|5[1-5]..|2[2-7]..|6[05]..|3[47]..)(?:[ -]?\d){11,12}"
    r"(?![\w/-]|\.\d)"
)
_CARD_LENGTHS = (15, 16)
_ENCODED = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{16,4096}={0,2}(?![\w+/=-])")
_SHORTEST_ENCODED, _LONGEST_DECODED = 16, 4_096
_REACH, _SHORTEST_ECHO = 200, 3


class HiddenText(NamedTuple):
    """A text without its secrets, and those that are to be looked for elsewhere."""

    text: str
    taken: tuple[str, ...]


def hide_secrets(text: str) -> HiddenText:
    """Return a text of a trace with stars in place of every secret."""
    reading = SearchedText.of(text)
    found = sorted(
        {
            *_find_eagerly(reading),
            *_find_encoded(text),
            *(SecretSpan(*span) for span in find_credentials_in(reading)),
        }
    )
    parts, taken, at = list[str](), list[str](), 0
    for find in found:
        value = text[find.start : find.end]
        if find.end <= at or not _is_left(value):
            continue
        start = max(at, find.start)
        parts += [text[at:start], "" if parts and start == at and at else STARS]
        taken += [value] if find.echoes else []
        at = find.end
    return HiddenText("".join([*parts, text[at:]]), tuple(taken)) if parts else HiddenText(text, ())


def _is_left(value: str) -> bool:
    """Return whether more than the mark of an earlier find stands there."""
    rest = value.replace(STARS, "").replace("<hidden>", "")
    return rest == value or sum(letter.isalnum() for letter in rest) > 1


def _find_eagerly(reading: SearchedText) -> Iterator[SecretSpan]:
    yield from find_named_values(reading)
    yield from _find_arguments(reading)
    for find, places in _mask_table().found(reading):
        for at in places:
            yield from find(reading.text, at)
    cards = _CARD.finditer(reading.text)
    yield from (SecretSpan(*hit.span()) for hit in cards if _is_card(hit[0]))


def _search_value(pattern: re.Pattern[str], is_one: Callable[[str], bool]) -> "_Finder":
    def find(text: str, at: int) -> Iterator[SecretSpan]:
        hit = pattern.match(text, at)
        if hit and is_one(hit["value"]) and not is_reference(hit["value"]):
            yield SecretSpan(*hit.span("value"))

    return find


def _is_any(_value: str) -> bool:
    return True


def _find_in_address(text: str, at: int) -> Iterator[SecretSpan]:
    if hit := _PASSWORD_IN_URL.match(text, at):
        if not is_reference(hit["value"]):
            yield SecretSpan(*hit.span("value"), echoes=len(hit["value"]) >= _SHORTEST_ECHO)
    elif (hit := _TOKEN_IN_URL.match(text, at)) and is_odd(hit["value"]):
        yield SecretSpan(*hit.span("value"))


def _find_before_host(text: str, at: int) -> Iterator[SecretSpan]:
    hit = _BEFORE_HOST.search(text, max(0, at - _REACH), at) if _HOST.match(text, at) else None
    if hit and is_odd(hit["value"]):
        yield SecretSpan(*hit.span("value"))


def _find_code(text: str, at: int) -> Iterator[SecretSpan]:
    for hit in _CODE.finditer(text, max(0, at - 24), at + 60):
        yield SecretSpan(*hit.span("value"))
    for hit in _CODE_FIRST.finditer(text, max(0, at - 60), at + 20):
        yield SecretSpan(*hit.span("value"))


def _is_card(number: str) -> bool:
    digits = [int(digit) for digit in number if digit.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return len(digits) in _CARD_LENGTHS and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _find_encoded(text: str) -> Iterator[SecretSpan]:
    """Yield what is written in base64 and holds a secret once it is read."""
    # Few words are so long, and hardly one of them holds anything.
    words = " ".join([word for word in text.split() if len(word) >= _SHORTEST_ENCODED])
    if any(_holds_secret(hit[0]) for hit in _ENCODED.finditer(words)):
        for hit in _ENCODED.finditer(text):
            if _holds_secret(hit[0]):
                yield SecretSpan(*hit.span())


def _holds_secret(word: str) -> bool:
    inner = _decode(word)
    return bool(inner) and (
        any(_find_eagerly(SearchedText.of(inner))) or mask_credentials(inner) != inner
    )


def _decode(word: str) -> str:
    bare = word.rstrip("=").replace("-", "+").replace("_", "/")[:_LONGEST_DECODED]
    try:
        inner = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        # Most words of sixteen letters are none: no secret is lost with them.
        return ""
    return inner if inner.isprintable() or "\n" in inner else ""


_Finder = Callable[[str, int], Iterator[SecretSpan]]


@cache
def _mask_table() -> CueTable[_Finder]:
    sure = (*(((row.mark,), row.pattern) for row in read_addresses()), *read_patterns("sure"))
    return CueTable(
        (
            *(Cued(_search_value(pattern, _is_any), cues) for cues, pattern in sure),
            *(Cued(_search_value(pattern, is_odd), cues) for cues, pattern in read_patterns("odd")),
            Cued(_find_in_address, ("://",)),
            Cued(_find_before_host, ("@",)),
            Cued(_find_code, _CODE_CUES),
            Cued(_search_value(_PHRASE, _is_any), _PHRASE_CUES),
        )
    )
