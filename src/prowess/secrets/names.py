"""Whether a name is that of a secret, and where a secret stands beside its name.

The words are in `names.toml`. Several callers judge a name, each by its own risk: a setting is
judged more eagerly than a word of a sentence, because what stands behind it was put there to be
used; a variable of a program by its last words; one of the environment by the names that a skill
gets only where it declares them.

`find_named_values` is meant for traces, where to miss a secret shows it and to hide too much costs
a question when a script is replayed. Still, most of a trace is code: a type, a variable or a word
of a sentence behind the name is no secret.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from prowess.data import read_table, read_words
from prowess.secrets.credentials import Cued, CueTable, SearchedText

# Longer names of variables mean nothing; the patterns are not tried on them.
_LONGEST_VARIABLE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretNames:
    """The words by which people and programs name a secret; `names.toml` says which is which."""

    parts: tuple[str, ...]
    short: tuple[str, ...]
    words: tuple[str, ...]
    weak: frozenset[str]
    strong: tuple[str, ...]
    codes: tuple[str, ...]
    # Those that are not in Latin letters: nothing sets them apart from what stands around them.
    foreign: tuple[str, ...]
    cues: tuple[str, ...]
    # Cues that are a whole name, the longest first.
    whole_cues: tuple[str, ...]
    known_by_all: frozenset[str]
    about: frozenset[str]
    trailing: frozenset[str]
    safe_keys: frozenset[str]
    no_value: frozenset[str]


@cache
def read_names() -> SecretNames:
    """Return the words that name a secret, and those that only look so."""
    table = read_table("secrets/names.toml")
    words, others = table["words"], table["no_secrets"]
    parts, short = _split(words["parts"]), tuple(words["short"].split())
    alone = (*short, *words["alone"].split())
    foreign = tuple(word for word in (*parts, *alone) if not word.isascii())
    cues = (*_split(words["cues"]), *foreign)
    return SecretNames(
        parts=parts,
        short=short,
        words=alone,
        weak=read_words(words["weak"]),
        strong=tuple(words["strong"].split()),
        codes=_split(words["codes"]),
        foreign=foreign,
        cues=cues,
        whole_cues=tuple(
            sorted((cue for cue in cues if " " in cue or cue in foreign), key=len, reverse=True)
        ),
        **{name: read_words(text) for name, text in others.items() if name != "reason"},
    )


def _split(text: str) -> tuple[str, ...]:
    return tuple(" ".join(phrase.split()) for phrase in text.split(","))


@cache
def _compile_variable(where: str, flags: int = 0) -> re.Pattern[str]:
    table = read_table("secrets/names.toml")["variables"]
    return re.compile("".join(table[where].split()), flags)


def is_secret_name(variable: str) -> bool:
    """Whether a variable of that name holds a secret, in any program."""
    if len(variable) > _LONGEST_VARIABLE:
        return False
    return _compile_variable("any", re.IGNORECASE).search(variable) is not None


def is_secret_in_environment(name: str) -> bool:
    """Whether a skill gets a variable of the environment only where it declares it."""
    return _compile_variable("environment").search(name.strip().upper()) is not None


class SecretSpan(NamedTuple):
    """Where a secret stands, and whether it is looked for elsewhere too."""

    start: int
    end: int
    echoes: bool = True


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
_MOST_NAMED = 80
_FEWEST, _FEWEST_ODD, _FEWEST_KEY, _FEWEST_DIGITS = 4, 6, 8, 4


@cache
def _cue_table() -> CueTable[None]:
    return CueTable((Cued(None, read_names().cues),))


def find_named_values(reading: SearchedText) -> Iterator[SecretSpan]:
    """Yield where a secret stands beside its name."""
    text, last = reading.text, 0
    for at in (place for _, places in _cue_table().found(reading) for place in places):
        if at < last:
            continue
        name, end = _read_name(text, at)
        weight = _weigh_name(name)
        if not weight:
            continue
        if find := _find_value(text, name, end, weight):
            last = find.end
            yield find


def is_odd(value: str) -> bool:
    """Return whether a value is no word of a language: it has letters and digits."""
    return bool(_LETTER.search(value) and _DIGIT.search(value)) and len(value) >= _FEWEST_ODD


def is_reference(value: str) -> bool:
    """Return whether a value only stands for another, or everybody knows it."""
    plain = value.strip().rstrip(".,:;!?")
    return (
        not plain
        or plain.casefold() in read_names().known_by_all
        or bool(_REFERENCE.fullmatch(plain))
    )


def _read_name(text: str, at: int) -> tuple[str, int]:
    before = _BEFORE.search(text, max(0, at - 60), at)
    rest = _REST.match(text, at)
    start = before.start() if before else at
    end = rest.end() if rest else at
    # A name of several words, or of letters that join to any others, is known by its cue alone.
    cues = read_names().whole_cues
    longest = text[at : at + len(cues[0])].lower()
    whole = next((at + len(cue) for cue in cues if longest.startswith(cue)), end)
    return text[start:whole], whole


def _weigh_name(name: str) -> int:
    """Return 2 for the name of a secret, 1 for one that may be, 0 for any other."""
    names, words = read_names(), _drop_trailing(_words_of(name))
    if not words or words[-1] in names.about:
        return 0
    last = words[-1].rstrip("0123456789")
    if last.endswith(names.strong) or last in names.short or _is_foreign(name):
        return 0 if words[0] in names.no_value or name == "1password" else 2
    if last not in names.weak:
        return 0
    qualified = len(words) > 1 and words[-2] not in names.safe_keys and last in {"key", "pat"}
    return 2 if qualified and (name.isupper() or words[-2] == "api") else 1


def _drop_trailing(words: list[str]) -> list[str]:
    """Drop the last words that change nothing of what a name is of."""
    while len(words) > 1 and (words[-1] in read_names().trailing or words[-1].isdigit()):
        words.pop()
    return words


def _is_foreign(name: str) -> bool:
    small = name.lower()
    return not small.isascii() and any(word in small for word in read_names().foreign)


def _words_of(name: str) -> list[str]:
    apart = _NO_WORD.sub(" ", _CAMEL.sub(" ", name))
    letters = unicodedata.normalize("NFD", apart.casefold())
    return "".join(one for one in letters if not "\u0300" <= one <= "\u036f").split()


def _find_value(text: str, name: str, end: int, weight: int) -> SecretSpan | None:
    assigned = _ASSIGNED.match(text, end)
    if assigned:
        return _judge_value(text, name, assigned, weight)
    if name.startswith("-") or _text_before(text, end - len(name), 5) in {" set ", " put "}:
        given = _GIVEN.match(text, end)
        return _judge_value(text, name, given, weight) if given else None
    if weight > 1 and (pair := _PAIR.match(text, end)):
        value = pair["quoted"] or ""
        is_one = not is_reference(value) and (is_odd(value) or _is_call(text, end))
        return _make_span(pair) if is_one and not _CODE.match(value) and "/" not in value else None
    if weight > 1 and (said := _SAID.match(text, end)):
        return _judge_said(text, said)
    return None


def _is_call(text: str, end: int) -> bool:
    return bool(
        re.search(
            r"(?i)\b\w*(?:fill|type|keys|set_?value|set_?text)\s?\([^()\n]{0,60}\Z",
            _text_before(text, end, 90),
        )
    )


def _judge_value(text: str, name: str, hit: re.Match[str], weight: int) -> SecretSpan | None:
    value = hit["quoted"] or hit["bare"]
    if is_reference(value) or _is_small_number(name, value):
        return None
    if hit["quoted"] and len(value) < _FEWEST - 1:
        return None
    if weight == 1 and not (is_odd(value) and len(value) >= _FEWEST_KEY):
        return None
    if hit["quoted"]:
        is_env = name.isupper() and hit["sign"] == "="
        return _make_span(hit) if is_env or _is_quoted_secret(value) else None
    return _make_span(hit) if _is_bare_secret(text, name, hit) else None


def _is_small_number(name: str, value: str) -> bool:
    is_count = value.isdigit() and (len(value) < _FEWEST_DIGITS or name in {"PASS", "pass"})
    return is_count or (name.lower().endswith("pwd") and value[:1] in "/~.\\")


def _is_quoted_secret(value: str) -> bool:
    words = value.split()
    if len(words) == 1:
        return bool(is_odd(value) or not _names_one(value))
    # A sentence about a secret is none.
    return not any(
        word.casefold().strip(".,:") in read_names().known_by_all for word in words
    ) and not any(_names_one(word) for word in words)


def _names_one(value: str) -> bool:
    names = read_names()
    words = (word.rstrip("0123456789") for word in _words_of(value[:_MOST_NAMED]))
    return any(word.endswith(names.strong) or word in names.weak for word in words)


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
    is_ini = _text_before(text, hit.start() - len(name), 1) in {"", "\n"} or not hit["gap"]
    return (
        len(value) >= _FEWEST
        and ends
        and is_ini
        and not hit["gap"].strip("\t ")
        and not _names_one(value)
        and "_" not in value
    )


def _judge_said(text: str, hit: re.Match[str]) -> SecretSpan | None:
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
    return SecretSpan(hit.start(group), hit.start(group) + len(value), echoes=is_odd(value))


def _make_span(hit: re.Match[str]) -> SecretSpan:
    group = "quoted" if hit["quoted"] else "bare"
    # A plain word behind an option may be the next word of a sentence about it.
    is_sure = group == "quoted" or bool(hit["sign"].strip()) or not hit[group].isalpha()
    return SecretSpan(*hit.span(group), echoes=is_sure)


def _text_before(text: str, end: int, most: int) -> str:
    return text[max(0, end - most) : end]


_SQUEEZED = re.compile(r"[^a-z0-9]")
_LONGEST = 400


def plain_words(text: str) -> str:
    """Return the words of a name in small letters without accents, a space between each two."""
    apart = _NO_WORD.sub(
        " ", _CAMEL.sub(" ", text if text.isascii() else unicodedata.normalize("NFKC", text))
    )
    if apart.isascii():
        return apart.casefold()
    letters = unicodedata.normalize("NFD", apart.casefold())
    # Only of Latin letters: in other scripts a mark makes another letter.
    plain = "".join(letter for letter in letters if not "\u0300" <= letter <= "\u036f")
    return unicodedata.normalize("NFC", plain)


def names_setting(name: str) -> bool:
    """Return whether people keep a secret behind a setting of that name."""
    if not name or len(name) > _LONGEST:
        return bool(name)
    squeezed, known = _SQUEEZED.sub("", name.lower()), _read_settings()
    if squeezed in known.whole or known.stems.search(squeezed):
        return True
    words = _drop_trailing(plain_words(name).split())
    if not words or words[-1] in read_names().about:
        return False
    last, around = words[-1].rstrip("0123456789"), f" {' '.join(words)} "
    is_last = last in known.last or known.joined.fullmatch(last) is not None
    return is_last or any(part in around for part in known.parts)


def names_secret_text(name: str) -> bool:
    """Return whether a text behind that name is a secret, though a number is none."""
    return plain_words(name[-_LONGEST:]).rpartition(" ")[2] in _read_settings().texts


class _SettingNames(NamedTuple):
    """What names of settings are compared with, once nothing but their words is left."""

    whole: frozenset[str]
    texts: frozenset[str]
    last: frozenset[str]
    stems: re.Pattern[str]
    # `smtppass` and `dbpw`: two words that nothing sets apart.
    joined: re.Pattern[str]
    # In Latin letters as words of their own; elsewhere nothing sets words apart.
    parts: tuple[str, ...]


@cache
def _read_settings() -> _SettingNames:
    table, names = read_table("secrets/names.toml")["settings"], read_names()
    words = {name: table[name].split() for name in table if name != "reason"}
    plain = (plain_words(word) for word in names.words)
    return _SettingNames(
        frozenset(words["whole"]),
        frozenset(words["texts"]),
        frozenset((*plain, *names.weak, *words["material"])),
        re.compile(rf"{'|'.join(words['stems'])}|(?:{'|'.join(words['endings'])})\Z"),
        re.compile(rf"(?:{'|'.join(words['owners'])})(?:{'|'.join(names.short)})"),
        tuple(
            f" {part} " if part.isascii() else part
            for part in dict.fromkeys(map(plain_words, names.parts))
        ),
    )
