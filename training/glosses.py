"""Dictionaries for routing: which English words a word of another language stands for.

    python -m training.glosses --translations FILE --out src/prowess/model/glosses

Each language is learnt from its translations alone, by expectation maximisation over the words that
stand in both texts (the first model of IBM), in both directions. Interface texts lack the words of
everyday requests: those are written by hand in `everyday.tsv` and stand over what was learnt. Over
both stand the words that say nothing: "para" is not Paris.
"""

import argparse
import json
import lzma
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from Stemmer import Stemmer
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from prowess.data import read_table, read_words
from prowess.routing.words import DENSE_RUN, LONGEST_PIECE, STEMMERS, make_stem, split_run

_Ids = NDArray[np.int64]
_Texts = Sequence[tuple[str, str]]
_ENGLISH = re.compile(r"[a-z][a-z0-9]*(?:'[a-z]+)?")
_WORD = re.compile(r"[^\W\d_]+")
# Places for values, tags and the marks of keyboard shortcuts.
_MARKUP = re.compile(r"%[-+ #0-9.*]*[a-zA-Z]|\{[^}]*\}|<[^>]*>|\$\w+|[_&](?=\w)")
_PIECES, _MOST_WORDS, _ROUNDS = 16_000, 30, 6
# An English word counts with this share of a word's uses, so often; beside a better one with this
# share of its score. Words that everything is translated by count little.
_LEAST_SHARE, _LEAST_USES, _BESIDE, _RARITY = 0.2, 2.0, 0.25, 0.35
# A syllable of Korean or one or two kana stand in many words: nothing is learnt of them alone.
_FRAGMENT = re.compile("[\uac00-\ud7af]|[\u3040-\u30ff]{1,2}")


def read_translations(path: Path) -> dict[str, _Texts]:
    """Return pairs of English and translated texts by language."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        raw = json.load(file)
    return {
        language: [
            (one, _plain(other))
            for one, other in rows
            if one.strip().lower() != other.strip().lower()
        ]
        for language, rows in raw.items()
    }


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", _MARKUP.sub("", text)).lower()


class English:
    """The English side: stems for learning, and the commonest word of each for saying it."""

    def __init__(self) -> None:
        self._stemmer, self._forms = Stemmer("english"), defaultdict[str, Counter[str]](Counter)
        stop = read_table("routing/words.toml")["stop"]["english"]
        self._stop = frozenset(self._stemmer.stemWords(sorted(read_words(stop))))

    def read(self, text: str) -> list[str]:
        """Return the stems of a text."""
        words = _ENGLISH.findall(_MARKUP.sub("", text).lower())
        stems: list[str] = self._stemmer.stemWords(words)
        for stem, word in zip(stems, words, strict=True):
            self._forms[stem][word] += 1
        return stems

    def say(self, stems: Sequence[str]) -> str:
        """Return words for stems, without those that say nothing."""
        return " ".join(
            self._forms[stem].most_common(1)[0][0] for stem in stems if stem not in self._stop
        )


def split(language: str, texts: Sequence[str]) -> list[list[str]]:
    """Return the words of each text: stems, or pieces where a script has no blanks."""
    if language in STEMMERS:
        stem = make_stem(language)
        stems = {word: stem(word) for text in texts for word in _WORD.findall(text)}
        return [[stems[word] for word in _WORD.findall(text)] for text in texts]
    runs = re.compile(DENSE_RUN)
    pieces = _find_pieces(texts)
    cut = {run: split_run(run, pieces) for run in {r for text in texts for r in runs.findall(text)}}
    return [[piece for run in runs.findall(text) for piece in cut[run]] for text in texts]


def _find_pieces(texts: Sequence[str]) -> dict[str, str]:
    found = Tokenizer(models.Unigram())
    found.pre_tokenizer = pre_tokenizers.Split(pattern=Regex(r"[^\p{L}\p{M}]+"), behavior="removed")
    trainer = trainers.UnigramTrainer(
        vocab_size=_PIECES, unk_token="[UNK]", special_tokens=["[UNK]"],  # noqa: S106
        max_piece_length=LONGEST_PIECE, show_progress=False,
    )  # fmt: skip
    found.train_from_iterator(texts, trainer)
    # What stands alone more than once is a word.
    alone = Counter(text.strip() for text in texts)
    words = {text for text, times in alone.items() if times > 1 and len(text) <= LONGEST_PIECE}
    return {
        piece: "" for piece in words | found.get_vocab().keys() if re.fullmatch(DENSE_RUN, piece)
    }


class Links:
    """Every word of a translation with every word of its original, counted by pair of words."""

    def __init__(self, others: Sequence[Sequence[str]], originals: Sequence[Sequence[str]]) -> None:
        self.words: dict[str, int] = {}
        self.english: dict[str, int] = {}
        places, rows, columns = [], [], []
        for at, (other, original) in enumerate(zip(others, originals, strict=True)):
            one = _number(other, self.words)
            two = _number(original, self.english)
            places.append(np.full(len(one) * len(two), at))
            rows.append(np.repeat(one, len(two)))
            columns.append(np.tile(two, len(one)))
        self._texts: _Ids = np.concatenate(places)
        self._rows: _Ids = np.concatenate(rows).astype(np.int64)
        self._columns: _Ids = np.concatenate(columns).astype(np.int64)
        keys, self._pairs = np.unique(
            self._rows * len(self.english) + self._columns, return_inverse=True
        )
        self.row, self.column = keys // len(self.english), keys % len(self.english)

    def learn(self, *, back: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return for each pair the share that one word has of the other's uses, and its uses."""
        given, made = (self.column, self._rows) if back else (self.row, self._columns)
        share: NDArray[np.float64] = 1 / np.bincount(given)[given]
        uses = np.zeros_like(share)
        _, groups = np.unique(self._texts * (made.max() + 1) + made, return_inverse=True)
        for _ in range(_ROUNDS):
            weight = share[self._pairs]
            weight = weight / np.bincount(groups, weight)[groups]
            uses = np.asarray(np.bincount(self._pairs, weight), np.float64)
            share = uses / np.bincount(given, uses)[given]
        return share, uses


def _number(words: Sequence[str], known: dict[str, int]) -> list[int]:
    return [known.setdefault(word, len(known)) for word in list(dict.fromkeys(words))[:_MOST_WORDS]]


def learn(others: Sequence[Sequence[str]], texts: _Texts, english: English) -> dict[str, str]:
    """Return what each word of a language is in English; empty for words that say nothing."""
    links = Links(others, [english.read(one) for one, _ in texts])
    share, uses = links.learn(back=False)
    score = share * links.learn(back=True)[0] ** _RARITY
    found: dict[int, list[tuple[float, int]]] = defaultdict(list)
    kept = (share >= _LEAST_SHARE) & (uses >= _LEAST_USES)
    for row, column, points in zip(
        links.row[kept].tolist(), links.column[kept].tolist(), score[kept].tolist(), strict=True
    ):
        found[row].append((points, column))
    words, stems = list(links.words), list(links.english)
    learnt = {}
    for row, ways in found.items():
        best = max(ways)[0]
        said = [
            stems[way] for points, way in sorted(ways, reverse=True) if points >= _BESIDE * best
        ]
        if not _FRAGMENT.fullmatch(words[row]):
            learnt[words[row]] = english.say(said)
    return learnt


def read_everyday(path: Path, language: str) -> dict[str, str]:
    """Return the words of requests in one language that were written by hand."""
    first, *rows = path.read_text("utf-8").splitlines()
    column = first.split("|").index(language)
    stem = make_stem(language) if language in STEMMERS else None
    found: dict[str, str] = {}
    for cells in (row.split("|") for row in rows):
        for phrase in filter(None, cells[column].split("/")):
            key = phrase.lower().replace(" ", "")
            if stem is not None:
                key = " ".join(stem(word) for word in _WORD.findall(phrase))
            found.setdefault(key, cells[0])
    return found


def read_silent(language: str) -> dict[str, str]:
    """Return the words of one language that say nothing: short ones that all texts are full of."""
    words = read_words(read_table("routing/glosses.toml")["function_words"][language])
    if language not in STEMMERS:
        return dict.fromkeys(words, "")
    stem = make_stem(language)
    letters = {chr(place) for place in range(ord("a"), ord("z") + 1)}
    return dict.fromkeys({stem(word) for word in words | letters}, "")


def write(path: Path, words: Mapping[str, str]) -> None:
    """Write a dictionary."""
    rows = "".join(f"{word}\t{english}\n" for word, english in sorted(words.items()))
    path.write_text(rows, encoding="utf-8")


def main() -> None:
    """Make the dictionary of every language in the translations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("translations", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    options = parser.parse_args()
    everyday = Path(__file__).with_name("everyday.tsv")
    for language, texts in sorted(read_translations(options.translations).items()):
        others = split(language, [other for _, other in texts])
        learnt = learn(others, texts, English())
        words = learnt | read_everyday(everyday, language) | read_silent(language)
        write(options.out / f"{language}.tsv", words)
        print(f"{language}: {len(words)} words", flush=True)


if __name__ == "__main__":
    main()
