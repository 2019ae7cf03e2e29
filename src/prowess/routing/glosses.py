"""A message in another language, word by word in English.

The encoder and nearly all skills are English. A gloss is no translation, but its words are those
that skills are found by, and English itself stays exactly as it was. The dictionaries are made by
`training.glosses`; a name, an identifier and a word that no dictionary has stay as they are.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import TypeAlias

from Stemmer import Stemmer

from prowess.data import read_table, read_text, read_words
from prowess.late import compile_late

Stem: TypeAlias = Callable[[str], str]

# By the letters that only they have; Chinese last, since Japanese shares its letters.
_SCRIPTS = (
    ("ja", compile_late("[\u3040-\u30ff]")),
    ("ko", compile_late("[\uac00-\ud7af]")),
    ("zh", compile_late("[\u3400-\u4dbf\u4e00-\u9fff]")),
    ("ru", compile_late("[\u0400-\u04ff]")),
)
STEMMERS = {
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "pt": "portuguese",
    "ru": "russian",
}
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
_REMEMBERED = 64
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
@lru_cache(maxsize=_REMEMBERED)
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
