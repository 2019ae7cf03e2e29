"""A secret that stands beside its name: `DB_PASSWORD=...`, `"token": "..."`, `the password is ...`.

Meant for traces, where to miss one shows it and to hide too much costs a question when a script is
replayed. Still, most of a trace is code: a type, a variable or a word of a sentence behind the name
is no secret. Names are found by their cues, and judged with all their words.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from prowess.secrets.cues import Cued, CueTable, Reading
from prowess.secrets.secret_words import (
    ABOUT_SECRETS,
    KNOWN_BY_ALL,
    NO_VALUE,
    PARTS,
    SAFE_KEYS,
    SHORT,
    TRAILING,
    WEAK,
)


class Find(NamedTuple):
    """Where a secret stands, and whether it is looked for elsewhere too."""

    start: int
    end: int
    echoes: bool = True


# With these a name may begin or go on; the others of the list have a space in them or are common.
_FOREIGN = (
    *(word for word in PARTS if not word.isascii()),
    "\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2",
)
_CUES = (
    "pass", "pwd", "pword", "pw", "psw", "secret", "token", "key", "pat=", "auth", "credential",
    "cookie", "salt", "kennwort", "mot de passe", "contrasena", "senha", "wachtwoord", "clave",
    "parola", "haslo", "losenord", "heslo", "adgangskode", "salasana", "jelszo", "sifre", "geslo",
    "lozinka", "kata sandi", "pin=", "pin:", *_FOREIGN,
)  # fmt: skip
_TABLE = CueTable((Cued(None, _CUES),))
_WHOLE_CUES = tuple(sorted((cue for cue in _CUES if " " in cue or cue in _FOREIGN), key=len))[::-1]
_LONGEST_CUE = max(map(len, _WHOLE_CUES))
_BEFORE = re.compile(r"[\w.-]{0,60}\Z")
_REST = re.compile(r"[\w-]{0,40}")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_WORD = re.compile(r"[\W_]+")
# A sign, perhaps with what closes the name before it, and a value in quotes or as one word.
_SIGN = (
    r"(?P<sign>\\{0,3}[\"'`]?[\])]{0,2}(?:\.value)?(?P<gap>\s{0,3})"
    r"(?::=|=>|={1,3}|:|\uff1a)\s{0,4})"
)
_VALUE = (
    r"(?:(?P<quote>\\{0,3}[\"'`])(?P<quoted>[^\"'`\n\\]{1,256})(?P=quote)"
    r"|(?P<bare>[^\s\"'`,;<>&|\\]{1,512}))"
)
_ASSIGNED = re.compile(_SIGN + _VALUE)
_GIVEN = re.compile(rf"(?P<sign>(?P<gap>[ \t]{{1,4}})){_VALUE}")
_SAID = re.compile(
    r"(?i)[\"'`]?(?P<sign>\s{1,4}(?:is|to|was|ist|lautet|est|es|\u00e8|\u00e9):?\s{1,4}"
    rf"|\s?(?:\u662f|\u4e3a|\u70ba|\u306f)\s?)(?P<gap>)(?:{_VALUE})"
)
# What a call puts into a field, or a pair of name and value.
_PAIR = re.compile(rf"(?P<sign>\\{{0,3}}[\"'`](?P<gap>\s{{0,2}}),\s{{0,4}}){_VALUE}")
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"\d")
_REFERENCE = re.compile(
    r"(?i)\$[a-z_{(@*#?!0-9].*|\{.*|[<{%\[(*#.].*[>}%\])*#.]|\*+|(?:%[a-z]\W?)+|@.*|-.*|x{3,}|\.{2,}.*|\\.*"
    r"|.*(?:\u2026|your[-_ ]|example|placeholder|redacted|change[-_]?me|replace[-_]?me|environ"
    r"|getenv|process\.env|secrets?\.[a-z]|\$\{|\{\{|[-_]here\b).*"
    r"|(?-i:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"
)
# Part of a program: a call, a field of something, an index.
_CODE = re.compile(
    r".*[(){}\[\]].*|[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+!?|/.*|~.*|\.\.?/.*"
)
_SENTENCE = re.compile(r"(?i).*(?:ed|ing|able|ible|ly)")
_STRONG = (
    "password", "passwort", "passwd", "passphrase", "passcode", "passkey", "kennwort", "pwd",
    "pword", "secret", "token", "apikey", "storepass", "keypass", "authtoken", "senha",
    "wachtwoord", "heslo", "adgangskode", "salasana", "jelszo", "sifre", "lozinka", "passord",
    "contrasena", "haslo", "losenord", "passe", "sandi",
)  # fmt: skip
_MOST_NAMED = 80
_FEWEST, _FEWEST_ODD, _FEWEST_KEY, _FEWEST_DIGITS = 4, 6, 8, 4


def named_values(reading: Reading) -> Iterator[Find]:
    """Yield where a secret stands beside its name."""
    text, last = reading.text, 0
    for at in (place for _, places in _TABLE.found(reading) for place in places):
        if at < last:
            continue
        name, end = _name_at(text, at)
        weight = _weight(name)
        if not weight:
            continue
        if find := _value_of(text, name, end, weight):
            last = find.end
            yield find


def is_odd(value: str) -> bool:
    """Return whether a value is no word of a language: it has letters and digits."""
    return bool(_LETTER.search(value) and _DIGIT.search(value)) and len(value) >= _FEWEST_ODD


def is_reference(value: str) -> bool:
    """Return whether a value only stands for another, or everybody knows it."""
    plain = value.strip().rstrip(".,:;!?")
    return not plain or plain.casefold() in KNOWN_BY_ALL or bool(_REFERENCE.fullmatch(plain))


def _name_at(text: str, at: int) -> tuple[str, int]:
    before = _BEFORE.search(text, max(0, at - 60), at)
    rest = _REST.match(text, at)
    start = before.start() if before else at
    end = rest.end() if rest else at
    # A name of several words, or of letters that join to any others, is known by its cue alone.
    longest = text[at : at + _LONGEST_CUE].lower()
    whole = next((at + len(cue) for cue in _WHOLE_CUES if longest.startswith(cue)), end)
    return text[start:whole], whole


def _weight(name: str) -> int:
    """Return 2 for the name of a secret, 1 for one that may be, 0 for any other."""
    words = _words_of(name)
    while len(words) > 1 and (words[-1] in TRAILING or words[-1].isdigit()):
        words.pop()
    if not words or words[-1] in ABOUT_SECRETS:
        return 0
    last = words[-1].rstrip("0123456789")
    if last.endswith(_STRONG) or last in SHORT or _is_foreign(name):
        return 0 if words[0] in NO_VALUE or name == "1password" else 2
    if last not in WEAK:
        return 0
    qualified = len(words) > 1 and words[-2] not in SAFE_KEYS and last in {"key", "pat"}
    return 2 if qualified and (name.isupper() or words[-2] == "api") else 1


def _is_foreign(name: str) -> bool:
    small = name.lower()
    return not small.isascii() and any(word in small for word in _FOREIGN)


def _words_of(name: str) -> list[str]:
    apart = _NO_WORD.sub(" ", _CAMEL.sub(" ", name))
    letters = unicodedata.normalize("NFD", apart.casefold())
    return "".join(one for one in letters if not "\u0300" <= one <= "\u036f").split()


def _value_of(text: str, name: str, end: int, weight: int) -> Find | None:
    assigned = _ASSIGNED.match(text, end)
    if assigned:
        return _judged(text, name, assigned, weight)
    if name.startswith("-") or _before(text, end - len(name), 5) in {" set ", " put "}:
        given = _GIVEN.match(text, end)
        return _judged(text, name, given, weight) if given else None
    if weight > 1 and (pair := _PAIR.match(text, end)):
        value = pair["quoted"] or ""
        is_one = not is_reference(value) and (is_odd(value) or _is_call(text, end))
        return _find(pair) if is_one and not _CODE.match(value) and "/" not in value else None
    if weight > 1 and (said := _SAID.match(text, end)):
        return _said(text, said)
    return None


def _is_call(text: str, end: int) -> bool:
    return bool(
        re.search(
            r"(?i)\b\w*(?:fill|type|keys|set_?value|set_?text)\s?\([^()\n]{0,60}\Z",
            _before(text, end, 90),
        )
    )


def _judged(text: str, name: str, hit: re.Match[str], weight: int) -> Find | None:
    value = hit["quoted"] or hit["bare"]
    if is_reference(value) or _is_small_number(name, value):
        return None
    if hit["quoted"] and len(value) < _FEWEST - 1:
        return None
    if weight == 1 and not (is_odd(value) and len(value) >= _FEWEST_KEY):
        return None
    if hit["quoted"]:
        is_env = name.isupper() and hit["sign"] == "="
        return _find(hit) if is_env or _is_quoted_secret(value) else None
    return _find(hit) if _is_bare_secret(text, name, hit) else None


def _is_small_number(name: str, value: str) -> bool:
    is_count = value.isdigit() and (len(value) < _FEWEST_DIGITS or name in {"PASS", "pass"})
    return is_count or (name.lower().endswith("pwd") and value[:1] in "/~.\\")


def _is_quoted_secret(value: str) -> bool:
    words = value.split()
    if len(words) == 1:
        return bool(is_odd(value) or not _names_one(value))
    # A sentence about a secret is none.
    return not any(word.casefold().strip(".,:") in KNOWN_BY_ALL for word in words) and not any(
        _names_one(word) for word in words
    )


def _names_one(value: str) -> bool:
    words = (word.rstrip("0123456789") for word in _words_of(value[:_MOST_NAMED]))
    return any(word.endswith(_STRONG) or word in WEAK for word in words)


def _is_bare_secret(text: str, name: str, hit: re.Match[str]) -> bool:
    value, after = hit["bare"], text[hit.end() : hit.end() + 2]
    is_env = name.isupper() or name.startswith("-")
    if is_env and hit["sign"].strip() in {"=", ""} and not hit["sign"].endswith("= "):
        return len(value) >= _FEWEST - 1 or not name.startswith("-")
    if _CODE.fullmatch(value):
        return False
    if is_odd(value):
        is_name = value.isidentifier() and (after[:1] in {",", ";"} or _names_one(value))
        return not is_name
    ends = not after.strip() or after[:1] in "\"'&\n"
    is_ini = _before(text, hit.start() - len(name), 1) in {"", "\n"} or not hit["gap"]
    return (
        len(value) >= _FEWEST
        and ends
        and is_ini
        and not hit["gap"].strip("\t ")
        and not _names_one(value)
        and "_" not in value
    )


def _said(text: str, hit: re.Match[str]) -> Find | None:
    value = (hit["quoted"] or hit["bare"]).rstrip(".,:;!?)")
    if is_reference(value) or len(value) < _FEWEST or _names_one(value):
        return None
    after = text[hit.end() : hit.end() + 1]
    ends = bool(hit["quoted"]) or after in {"", "\n", ",", '"', "'"} or hit["bare"] != value
    is_surely = hit["quoted"] or hit["sign"].split()[:1] not in (["to"], ["was"])
    if not is_odd(value) and (
        not (ends and is_surely) or _SENTENCE.fullmatch(value) or _CODE.fullmatch(value)
    ):
        return None
    group = "quoted" if hit["quoted"] else "bare"
    return Find(hit.start(group), hit.start(group) + len(value), echoes=is_odd(value))


def _find(hit: re.Match[str]) -> Find:
    group = "quoted" if hit["quoted"] else "bare"
    # A plain word behind an option may be the next word of a sentence about it.
    is_sure = group == "quoted" or bool(hit["sign"].strip()) or not hit[group].isalpha()
    return Find(*hit.span(group), echoes=is_sure)


def _before(text: str, end: int, most: int) -> str:
    return text[max(0, end - most) : end]
