"""A text as the words by which messages and skills are matched.

Neighbours matter ("pull request" is not "pull" and "request"), so the plain words keep their
order. What has no neighbours stands beside them: the joined form of an identifier ("GitHub" is
also `github`) and the character n-grams of scripts that write no spaces.

The encoder and nearly all skills are English, so a message in another language has a gloss: word by
word, no translation, but its words are those that skills are found by. The dictionaries are made by
`training.glosses`; a name, an identifier and a word that no dictionary has stay as they are.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple, TypeAlias

from Stemmer import Stemmer

from prowess.data import compile_late, read_table, read_text, read_words

_LONGEST_WORD = 40
_LONGEST_TOKEN = 120
_SHORTEST_STEMMED = 3
_SHORTEST_NUMBER = 3
_REMEMBERED, _REMEMBERED_SHAPES = 16_384, 64
_SHORT_MESSAGE = 400
_WINDOW = 8_000
_LONGEST_ASK = 2_000
_LONGEST_PASTE = 300
_ENOUGH_WORDS = 4
_ENOUGH_BESIDE = 3
_MOST_LETTERS = 0.5
# Han, kana, hangul, and the scripts of South-East Asia: words are not set apart by spaces there,
# or, in Korean, carry their particles with them.
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003134f"
)
_FIRST_DENSE = "\u0e00"
_TOKEN = compile_late(rf"[{_DENSE}]+|[CcFf]#|[Cc]\+\+|[^\W_{_DENSE}]+(?:[-_.'][^\W_{_DENSE}]+)*")
_HUMP = compile_late(
    r"(?<=[a-z0-9])(?=[A-Z])"
    # The last capital of a run begins a word, but not in plurals such as APIs and PRs.
    r"|(?<=[A-Z])(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))"
)
_SEPARATORS = compile_late(r"[-_.]")
_CONTRACTION = compile_late(r"'(?:s|re|ve|ll|d|m)$")
_ACRONYMS = compile_late(r"[A-Z]{2,}s")
_INDIC_MARKS = "".join(
    f"{chr(block)}-{chr(block + 3)}{chr(block + 0x3A)}-{chr(block + 0x3C)}"
    f"{chr(block + 0x3E)}-{chr(block + 0x4F)}{chr(block + 0x51)}-{chr(block + 0x57)}"
    for block in range(0x0900, 0x0E00, 0x80)
)
# Accents and vowel signs: `\w` does not take them for letters, so they would tear words apart.
_MARKS = compile_late(f"[\u0300-\u036f\u0591-\u05c7\u064b-\u065f{_INDIC_MARKS}]")
# Addresses, paths with a folder in them, references to files, prompts of a shell. Where no blanks
# are written a sentence goes on at once after a path: only a name with an ending is part of it.
_BEYOND = f"{_DENSE}\u3000-\u303f\uff00-\uff65"
_ALPHABET = r"A-Za-z0-9_\u00c0-\u0dff"
_NAMED = rf"[{_DENSE}]{{1,40}}(?=[./_-])"
_MENTION = compile_late(
    rf"(?<![A-Za-z0-9_])https?://[^\s)\"'{_BEYOND}]{{1,500}}"
    rf"|(?<![{_ALPHABET}.])(?:[A-Za-z]:[\\/]|[~@]?\.{{0,2}}/|@)"
    rf"(?:[^\s\"'`){_BEYOND}]|{_NAMED}){{2,300}}"
    # A path without a beginning has two slashes, or the ending of a file; JPG/PNG/GIF is none.
    rf"|(?<![{_ALPHABET}./-])(?!(?:[A-Z]+/)+[A-Z]+(?![{_ALPHABET}./-]))"
    rf"[{_ALPHABET}.-]{{1,80}}(?:/(?:[{_ALPHABET}.-]|{_NAMED}){{1,80}}){{2,20}}"
    rf"|(?<![{_ALPHABET}./-])[{_ALPHABET}.-]{{1,80}}/(?:[{_ALPHABET}-]|{_NAMED}){{1,80}}"
    r"\.[A-Za-z][A-Za-z0-9]{0,9}"
    r"|^[\w.-]{1,40}@[\w.-]{1,60}[:~][^\n$%#]{0,100}[$%#]\s",
    re.MULTILINE,
)
_FENCE = compile_late(r"\s*(?:```|~~~)")
_PASTED = compile_late(
    r"\s*(?:>|\$ |<[/!?a-z]|[{}()\[\];]"
    r"|(?:at|File|import|from|def|class|const|let|var|return|function|public|private|#include)\s\S"
    r"[^?]{0,200}[(){};:=.\"']"
    # A compiler names file and line, a test runner marks what it found.
    r"|[\w/\\-]{0,100}[./\\][\w./\\-]{1,200}:\d{1,6}(?::\d{1,6})?:?\s|E {3,}\S"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d|\[?\d\d:\d\d:\d\d"
    r"|\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|TRACE)\b|Traceback |\w+(?:Error|Exception):)"
)
_LATIN = compile_late(r"[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]+")
_LETTERS = compile_late(r"[^\W\d_]+")
_DENSE_RUN = compile_late(f"[{_DENSE}]+")


@cache
def _read_stop_words() -> frozenset[str]:
    stop = read_table("routing/words.toml")["stop"]
    # Words lose their apostrophe when they are read, so the list does, too.
    return read_words(f"{stop['english']} {stop['other_latin']}".replace("'", ""))


@cache
def _read_stop_grams() -> frozenset[str]:
    stop = read_table("routing/words.toml")["stop"]
    return read_words(f"{stop['chinese']} {stop['japanese']}")


class Words(NamedTuple):
    """The words of a text: in running order, joined identifiers, and n-grams of dense scripts."""

    running: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    grams: tuple[str, ...] = ()


class MessageShape(NamedTuple):
    """What kind of text a message is: shares of its letters or words, and how much it says."""

    dense_script: float
    non_latin: float
    identifiers: float
    content_words: int
    # Words of any kind; a message of none is no language.
    words: int


def has_dense_script(text: str) -> bool:
    """True where `text` has characters of a script that writes no spaces between words."""
    return not text.isascii() and _DENSE_RUN.search(text) is not None


def is_foreign(text: str) -> bool:
    """True where most letters of `text` are of a script that an English encoder cannot read."""
    if text.isascii():
        return False
    shape = measure_shape(text)
    return max(shape.dense_script, shape.non_latin) > _MOST_LETTERS


def split_words(text: str) -> Words:
    """Return the words of `text`: folded, split, stemmed, without stop words."""
    running: list[str] = []
    joined: list[str] = []
    grams: list[str] = []
    # All tokens and not `_tokens`: what is remembered of a token says that it is endless, too.
    for words in map(_read, _TOKEN.findall(_fold(text))):
        running += words.running
        if words.joined or words.grams:
            joined += words.joined
            grams += words.grams
    return Words(tuple(running), tuple(joined), tuple(grams))


def find_spellings(text: str) -> dict[str, str]:
    """Return how each word that `words_of` finds in `text` is written there."""
    found: dict[str, str] = {}
    for token in _tokens(text):
        if _is_dense(token):
            found.update((gram, gram) for gram in _grams(token))
            continue
        read, parts = _read(token), _parts(token)
        content = [part for part in parts if _is_content(part, alone=len(parts) == 1)]
        found.update(zip(read.running, content, strict=True))
        found.update((word, token) for word in read.joined)
    return found


def is_mention(message: str) -> bool:
    """True for a message of nothing but paths, addresses, identifiers and commands.

    They say which project it is about, and not what is to be done with it.
    """
    said = _MENTION.sub(" ", _part_pasted(message)[0])
    plain = (token for token in _tokens(said) if _is_dense(token) or not _is_identifier(token))
    return not any(_read(token).running or _read(token).grams for token in plain)


def _drop_mentions(text: str) -> str:
    """Return `text` without paths and addresses, as far as enough is left to go by."""
    plain = _MENTION.sub(" ", text)
    return plain if measure_shape(plain).content_words >= _ENOUGH_BESIDE else text


def find_asking_part(message: str, *, mentions: bool = False) -> str:
    """Return the part of `message` that asks, at most about 2,000 characters: its prose.

    Code, logs and quotes are many words about something else, so they speak only where the
    prose hardly does ("fix this:").
    """
    if len(message) <= _SHORT_MESSAGE and "\n" not in message.strip():
        return message if mentions else _drop_mentions(message)
    if len(message) > 2 * _WINDOW:
        message = f"{message[:_WINDOW]}\n{message[-_WINDOW:]}"
    prose, pasted = _part_pasted(message)
    asked = _ends(prose if mentions else _drop_mentions(prose), _LONGEST_ASK)
    said = measure_shape(asked).content_words
    if said >= _ENOUGH_WORDS or not pasted:
        return asked or _ends(message, _LONGEST_ASK)
    some = _ends(pasted, _LONGEST_PASTE if said else _LONGEST_ASK)
    return _ends(f"{asked}\n{some}".strip(), _LONGEST_ASK)


def _part_pasted(message: str) -> tuple[str, str]:
    """Return what a person wrote in `message` and what was pasted into it: code, logs, quotes."""
    prose: list[str] = []
    pasted: list[str] = []
    fenced = False
    for line in message.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
            continue
        (pasted if fenced or _PASTED.match(line) else prose).append(line)
    return "\n".join(prose).strip(), "\n".join(pasted).strip()


def _ends(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    first = most * 3 // 5
    return f"{text[:first]}\n{text[first - most + 1 :]}"


# Each step that reads a message asks for it anew.
@lru_cache(maxsize=_REMEMBERED_SHAPES)
def measure_shape(text: str) -> MessageShape:
    """Return the statistics of `text` that tell which signals can be trusted on it."""
    folded = _fold(text)
    letters = max(_letter_count(_LETTERS, folded), 1)
    dense = _letter_count(_DENSE_RUN, folded)
    tokens = [token for token in _tokens(text) if not _is_dense(token)]
    return MessageShape(
        dense_script=min(dense / letters, 1.0),
        non_latin=1 - _letter_count(_LATIN, folded) / letters if _LETTERS.search(folded) else 0.0,
        identifiers=sum(map(_is_identifier, tokens)) / max(len(tokens), 1),
        # Two characters are about one word in the scripts that write no spaces.
        content_words=sum(len(_read(token).running) for token in tokens) + dense // 2,
        words=len(tokens) + (dense + 1) // 2,
    )


@lru_cache(maxsize=_REMEMBERED)
def _is_identifier(token: str) -> bool:
    """True for what only a program calls so: snake_case, camelCase, dotted, letters with digits."""
    if "_" in token or ("." in token and not token.endswith(".")):
        return True
    bare = token.rstrip("s")
    has_hump = any(part[:1].isupper() for part in _HUMP.split(bare)[1:])
    has_digit = any(char.isdigit() for char in token)
    return has_hump or (has_digit and not token.replace("-", "").isdigit())


def _tokens(text: str) -> Iterator[str]:
    """Yield the tokens of `text`, but for endless ones: nobody asks in base64."""
    for token in _TOKEN.findall(_fold(text)):
        if len(token) <= _LONGEST_TOKEN or _is_dense(token):
            yield token


def _is_dense(token: str) -> bool:
    return token[0] >= _FIRST_DENSE and _DENSE_RUN.match(token) is not None


# The same tokens come again and again, so reading each once makes indexing ten times faster.
@lru_cache(maxsize=_REMEMBERED)
def _read(token: str) -> Words:
    if _is_dense(token):
        return Words(grams=tuple(_grams(token)))
    if len(token) > _LONGEST_TOKEN:
        return Words()
    parts = _parts(token)
    alone = len(parts) == 1
    running = tuple(_stem(part) for part in parts if _is_content(part, alone=alone))
    return Words(running, () if alone else _join(parts))


@lru_cache(maxsize=_REMEMBERED)
def _stem(word: str) -> str:
    """Return the English stem of a lower-case `word`; what is no English word stays as it is."""
    if len(word) < _SHORTEST_STEMMED or not word.isascii() or not word.isalpha():
        return word
    # A stemmer keeps the word it works on in itself, so each thread needs its own; it is made anew,
    # which takes microseconds.
    return str(Stemmer("english", 0).stemWord(word))


def _letter_count(pattern: re.Pattern[str], text: str) -> int:
    return sum(len(run) for run in pattern.findall(text))


def _fold(text: str) -> str:
    """Return `text` with compatible characters made equal and accents removed."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKD", text.replace("\u2019", "'"))
    return unicodedata.normalize("NFC", _MARKS.sub("", plain))


def _grams(run: str) -> list[str]:
    pairs = [run[start : start + 2] for start in range(len(run) - 1)]
    stop = _read_stop_grams()
    return [gram for gram in (*run, *pairs) if gram not in stop]


def _parts(token: str) -> list[str]:
    if token.isalpha() and (token.islower() or token.istitle()):
        return [token.lower()]
    plain = _CONTRACTION.sub("", token).replace("'", "")
    pieces = _SEPARATORS.split(_HUMP.sub("_", plain))
    return [
        (piece[:-1] if _ACRONYMS.fullmatch(piece) else piece).lower() for piece in pieces if piece
    ]


def _is_content(part: str, *, alone: bool) -> bool:
    if part in _read_stop_words() or len(part) > _LONGEST_WORD:
        return False
    # Short numbers count things and number lists; they say nothing about what is asked.
    if part.isdigit():
        return len(part) >= _SHORTEST_NUMBER
    return alone or len(part) > 1


def _join(parts: list[str]) -> tuple[str, ...]:
    """Return the parts as one word; a dot stays only between numbers, as in versions."""
    text = "".join(parts[:1])
    for part in parts[1:]:
        text += f".{part}" if text[-1].isdigit() and part[0].isdigit() else part
    return (_stem(text),) if 0 < len(text) <= _LONGEST_WORD else ()


Stem: TypeAlias = Callable[[str], str]

# By the letters that only they have; Chinese last, since Japanese shares its letters.
_SCRIPTS = (
    ("ja", compile_late("[\u3040-\u30ff]")),
    ("ko", compile_late("[\uac00-\ud7af]")),
    ("zh", compile_late("[\u3400-\u4dbf\u4e00-\u9fff]")),
    ("ru", compile_late("[\u0400-\u04ff]")),
)
STEMMERS = {"de": "german", "es": "spanish", "fr": "french", "pt": "portuguese", "ru": "russian"}
DENSE_RUN = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
LONGEST_PIECE = 8
_LONGEST_PHRASE = 4
_CHUNK = compile_late(rf"{DENSE_RUN}|[^\s\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
_WORD = compile_late(r"[^\W\d_]+")
# What a program is called by is the same in every language.
_NAME = compile_late(r"[\d_/@\\]|[a-z][A-Z]|[A-Z]{2}|\.\w")
_EDGES = compile_late(r"^[^\w@#/.]+|[^\w+#]+$")
_FEW_WORDS = 4
# Shorter parts of a compound are found in every long word.
_SHORTEST_PART, _SHORTEST_COMPOUND, _LONGEST_COMPOUND = 4, 9, 40
# By so much two stems may differ at the end, and so much must be the same.
_MOST_CUT, _SHORTEST_BEGINNING, _MOST_NEAR = 3, 5, 20
_REMEMBERED_GLOSSES = 64
_MOST_LOOKED_AT = 400


def find_language(text: str) -> str | None:
    """Return the language of a text if there is a dictionary of it; None for English and others."""
    if not text.isascii():
        for language, letters in _SCRIPTS:
            if letters.search(text):
                return language
    words = [word.lower() for word in _WORD.findall(text)[:_MOST_LOOKED_AT]]
    counts = {
        language: sum(map(known.__contains__, words))
        for language, known in _read_function_words().items()
    }
    english = counts.pop("en")
    found = max(counts, key=counts.__getitem__)
    least = 1 if len(words) <= _FEW_WORDS or not text.isascii() else 2
    return found if counts[found] >= least and counts[found] > english else None


@cache
def _read_function_words() -> dict[str, frozenset[str]]:
    groups = read_table("routing/glosses.toml")["function_words"]
    return {language: read_words(words) for language, words in groups.items()}


# Who reads a message and the encoder that turns it into a vector both ask.
@lru_cache(maxsize=_REMEMBERED_GLOSSES)
def put_in_english(text: str) -> str:
    """Return the words of `text` in English as far as they are known; English stays as it is."""
    language = find_language(text)
    if language is None:
        return text
    plain = unicodedata.normalize("NFKC", text)
    return " ".join(filter(None, _gloss(plain, language))) or text


def _gloss(text: str, language: str) -> Iterator[str]:
    known = _read_dictionary(language)
    stem = make_stem(language) if language in STEMMERS else None
    words: list[tuple[str, str]] = []
    for chunk in _CHUNK.findall(text):
        core = _EDGES.sub("", chunk)
        if stem is None and re.fullmatch(DENSE_RUN, core):
            yield from (known.get(piece, "") for piece in split_run(core, known))
        elif stem is None or _NAME.search(core):
            words.append(("", core))
        else:
            words += ((stem(part), part) for part in _WORD.findall(core))
        if stem is None:
            yield from (word for _, word in words)
            words.clear()
    if stem is not None:
        yield from _say(words, known, stem, language)


def _say(
    words: list[tuple[str, str]], known: dict[str, str], stem: Stem, language: str
) -> Iterator[str]:
    """Yield each phrase or word in English, the longest phrase first."""
    joins_words = language == "de"
    at = 0
    while at < len(words):
        for length in range(_LONGEST_PHRASE, 0, -1):
            phrase = " ".join(key for key, _ in words[at : at + length])
            if at + length <= len(words) and phrase in known:
                yield known[phrase]
                break
        else:
            length, (key, word) = 1, words[at]
            parted = _part_compound(word, known, stem) if joins_words and key else word
            # A capital may begin a name, which is like no other word.
            alike = key and parted == word and word[0].islower()
            near = _find_near(key, language) if alike else None
            yield parted if near is None else known[near]
        at += length


def _find_near(stem: str, language: str) -> str | None:
    """Return a known stem that begins like an unknown one; None where their ends differ by much.

    Endings that make another kind of word of the same are left by stemmers.
    """
    known = _list_words(language)
    for length in range(len(stem), max(len(stem) - _MOST_CUT, _SHORTEST_BEGINNING) - 1, -1):
        beginning = stem[:length]
        at = bisect_left(known, beginning)
        alike = [word for word in known[at : at + _MOST_NEAR] if word.startswith(beginning)]
        near = [word for word in alike if len(word) <= length + _MOST_CUT]
        if near:
            return min(near, key=len)
    return None


@cache
def _list_words(language: str) -> list[str]:
    return sorted(word for word in _read_dictionary(language) if " " not in word)


def _part_compound(word: str, known: dict[str, str], stem: Stem) -> str:
    """Return the English of both parts of a compound; a word that is none as it is."""
    folded = word.lower()
    if not _SHORTEST_COMPOUND <= len(word) <= _LONGEST_COMPOUND:
        return word
    for cut in range(len(word) - _SHORTEST_PART, _SHORTEST_PART - 1, -1):
        last = known.get(stem(folded[cut:]))
        # "Arbeitsplatz": an s or n may join the two.
        firsts = (folded[:cut], folded[: cut - 1]) if folded[cut - 1] in "sn" else (folded[:cut],)
        first = next(filter(None, (known.get(stem(one)) for one in firsts)), None)
        if first and last:
            return f"{first} {last}"
    return word


def make_stem(language: str) -> Stem:
    """Return what gives the stem of a word without its accents, which many people do not type."""
    stemmer = Stemmer(STEMMERS[language], 0)

    def stem(word: str) -> str:
        short: str = stemmer.stemWord(word.lower())
        # A Russian word without an ending loses what looks like one, so every other loses it, too.
        if language == "ru":
            short = stemmer.stemWord(short)
        marked = unicodedata.normalize("NFKD", short)
        return "".join(char for char in marked if not unicodedata.combining(char))

    return stem


def split_run(run: str, known: dict[str, str]) -> list[str]:
    """Cut a run of a script without blanks into the fewest known pieces, the longest of them."""
    best: list[tuple[float, int, int]] = [(0.0, 0, 0)]
    for end in range(1, len(run) + 1):
        ways = []
        for start in range(max(0, end - LONGEST_PIECE), end):
            length = end - start
            if run[start:end] in known or length == 1:
                cost = 1.0 if run[start:end] in known else 1.2
                ways.append((best[start][0] + cost, best[start][1] - length * length, start))
        best.append(min(ways))
    pieces, end = [], len(run)
    while end:
        start = best[end][2]
        pieces.append(run[start:end])
        end = start
    return pieces[::-1]


@cache
def _read_dictionary(language: str) -> dict[str, str]:
    rows = read_text(f"model/glosses/{language}.tsv").splitlines()
    return {word: english for word, _, english in (row.partition("\t") for row in rows)}
