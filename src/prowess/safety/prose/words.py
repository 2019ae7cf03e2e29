"""Prose to words that carry concepts, in one pass whose time grows with the length alone.

A concept is a set of words and phrases ("tell", "let … know"). Rules look for concepts, not for
wordings, so that a new spelling of an old trick is one word in the lexicon.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from prowess.reading.views import View
from prowess.safety.hosts import (
    find_drop,
    find_host,
    find_installer,
    find_paste_site,
    find_service,
    is_free_host,
    is_local,
    is_page_host,
    is_raw_address,
)
from prowess.safety.sensitive import is_agent_path, path_label
from prowess.secrets.names import is_secret_name

_FILE_ENDINGS = (
    "sh|py|js|ts|mjs|json|ya?ml|toml|md|txt|exe|zip|dmg|pkg|msi|rar|7z|dat|bat|ps1|scpt|app|jar"
    "|deb|rpm|tar|gz|tgz|pem|key|env|db|sqlite|plist|lnk|hta|vbs"
)
_TOP_DOMAINS = (
    "com|net|org|io|dev|app|xyz|co|me|sh|cc|ru|cn|top|site|online|info|cloud|invalid|example|ai"
    "|so|to|pw|icu|club|live|pro|link|space"
)
# In this order: addresses, mail addresses, paths, words, numbers, and what ends a sentence.
_TOKEN = re.compile(
    # Most words are plain: letters up to a space or a comma. Trying that first halves the time.
    r"(?P<plain>[a-z]+(?=[ ,\n]))"
    r"|(?P<url>\b(?:https?|hxxps?|ftp|s3|smtp|wss?|gs)://[^\s<>\"'`|)\]}]{1,2000})"
    r"|(?P<mail>\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}\b)"
    r"|(?P<path>(?:~|\$\{?home\}?|%\w{1,30}%|\.{1,2})?[/\\][\w.$*@%+-]{1,200}"
    r"(?:[/\\][\w.$*@%+-]{1,200}){0,30}/?"
    r"|(?<![\w.])\.[a-z][\w-]{1,60}(?:[/.][\w.*-]{1,200}){0,10}"
    rf"|\b[\w-]{{1,60}}(?:/[\w.*-]{{1,200}}){{0,20}}\.(?:{_FILE_ENDINGS})\b)"
    rf"|(?P<host>\b(?:[a-z0-9-]{{1,63}}\.){{1,4}}(?:{_TOP_DOMAINS})\b(?![/\w]))"
    r"|(?P<name>\b(?:read|write|append)-only\b|\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b)"
    r"|(?P<word>[^\W\d_]+(?:['\u2019][^\W\d_]+)?)"
    r"|(?P<number>\d+)"
    r"|(?P<end>[.!?;\u3002\uff01\uff1f]+(?=[\s\"')\]*_`]|$)"
    r"|\n[ \t]*(?:[-*+>|#]|\d{1,3}[.)])|\n[ \t]*\r?\n|[ \t]\|[ \t])"
)
_EXECUTABLES = (".exe", ".msi", ".dmg", ".pkg", ".app", ".bat", ".scpt", ".lnk", ".hta")
_ARCHIVES = (".zip", ".rar", ".7z", ".tar", ".gz", ".tgz")


class Span(NamedTuple):
    """The first and the last token of a phrase."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Passage:
    """The words of a text, and for each concept where it stands among them.

    A word is anything that was read as one: an address and a path are single words. It is known by
    its index; lists side by side cost half of what an object for each word would.
    """

    view: View
    # Each word in small letters, and where it begins and ends in the text.
    words: list[str]
    places: list[tuple[int, int]]
    # What the words that are not plain ones are: "url", "path", "name" …
    kinds: dict[int, str]
    # For each end of a sentence, how many words stand before it.
    ends: list[int]
    # Sorted by where they begin.
    concepts: dict[str, list[Span]]

    def is_plain(self, index: int) -> bool:
        """Whether word `index` is a word of the language, not a number, path or address."""
        return index not in self.kinds and not self.words[index].isdigit()

    def sentence(self, index: int) -> int:
        """Return the number of the sentence that word `index` is in."""
        return bisect_right(self.ends, index)

    def sentence_of(self, index: int) -> tuple[int, int]:
        """Return the first and the last word of the sentence that word `index` is in."""
        number = bisect_right(self.ends, index)
        first = self.ends[number - 1] if number else 0
        return first, (self.ends[number] if number < len(self.ends) else len(self.words)) - 1

    def between(self, concept: str, first: int, last: int) -> list[Span]:
        """Return where `concept` begins between the words `first` and `last`."""
        spans = self.concepts.get(concept)
        if not spans:
            return []
        return spans[bisect_left(spans, (first,)) : bisect_left(spans, (last + 1,))]

    def has(self, concept: str, first: int, last: int) -> bool:
        """Whether `concept` begins between the words `first` and `last`."""
        return bool(self.between(concept, first, last))


@dataclass(slots=True)
class _Node:
    """A word within the phrases that begin alike."""

    following: "dict[str, _Node]"
    # Concepts of the phrase that ends here.
    concepts: list[str]


class Phrasebook:
    """The phrases of all concepts as one tree of words, walked once along a text."""

    def __init__(self, lexicon: Mapping[str, Iterable[str]]) -> None:
        self._root = _Node({}, [])
        for concept, phrases in lexicon.items():
            for words in {tuple(phrase.lower().split()) for phrase in phrases}:
                node = self._root
                for word in words:
                    node = node.following.setdefault(word, _Node({}, []))
                node.concepts.append(concept)

    def read(self, view: View) -> Passage:
        """Return the words of `view` with the concepts that they stand for."""
        passage = _split_words(view)
        words, found = passage.words, passage.concepts
        root = self._root.following
        kinds = passage.kinds
        after = iter((*words[1:], ""))
        for index, word in enumerate(words):
            node, following = root.get(word), next(after)
            # Most words that may begin a phrase do not: they are passed over at once.
            if node is not None and (node.concepts or following in node.following):
                _walk(node, passage, index)
            if index in kinds:
                for concept in _name_concepts(word, kinds[index]):
                    found.setdefault(concept, []).append(Span(index, index))
        return passage


def _walk(node: _Node, passage: Passage, index: int) -> None:
    """Follow the phrases that begin at `index` as far as the text goes along."""
    words, places, found = passage.words, passage.places, passage.concepts
    last = index
    while True:
        for concept in node.concepts:
            found.setdefault(concept, []).append(Span(index, last))
        if not node.following or last + 1 >= len(words):
            return
        following = node.following.get(words[last + 1])
        if following is None:
            return
        if passage.view.text.find(",", places[last][1], places[last + 1][0]) >= 0:
            return
        node, last = following, last + 1


def _split_words(view: View) -> Passage:
    passage = Passage(view, [], [], {}, [], {})
    words, places = passage.words, passage.places
    lowered = view.text.lower()
    # A few characters change their length when lowered; positions matter more than they do.
    text = lowered if len(lowered) == len(view.text) else view.text
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        if kind == "plain":
            words.append(found.group())
            places.append(found.span())
        elif kind == "end":
            passage.ends.append(len(words))
        else:
            word = found.group().lower().replace("\u2019", "'")
            if kind in {"url", "path"}:
                word = word.rstrip(".,;:")
            if kind not in {"word", "number"}:
                passage.kinds[len(words)] = kind or ""
            words.append(word)
            places.append((found.start(), found.start() + len(word)))
    return passage


def _name_concepts(word: str, kind: str) -> tuple[str, ...]:
    match kind:
        case "url":
            return ("URL", *_by_ending(word), *_by_host(word))
        case "name":
            return ("STRONG_SECRET",) if is_secret_name(word) else ()
        case "host":
            return () if find_service(word) or is_local(word) else ("REMOTE_PLACE",)
        case "path":
            return _by_path(word)
    return (kind.upper(),)


def _by_path(path: str) -> tuple[str, ...]:
    concepts = ["PATH", *_by_ending(path)]
    if path_label(path):
        concepts.append("SECRET_PATH")
    name = path.rpartition("/")[2]
    # The table knows these names as they are written: in capitals.
    if is_agent_path(path) or (name.endswith(".md") and is_agent_path(f"{name[:-3].upper()}.md")):
        concepts.append("AGENT_PATH")
        if path.endswith((".json", ".toml")):
            concepts.append("AGENT_SETTINGS")
    return tuple(concepts)


@lru_cache(maxsize=4096)
def _by_host(url: str) -> tuple[str, ...]:
    host = find_host(url)
    path = url.split("?", maxsplit=1)[0].partition("://")[2].partition("/")[2]
    runs = path.endswith((*_EXECUTABLES, *_ARCHIVES))
    is_free = is_free_host(host)
    has_owner = bool(find_installer(url)) or is_local(host)
    kinds = {
        "PASTE_URL": find_paste_site(url),
        "DROP_URL": find_drop(url),
        "BARE_URL": is_raw_address(host),
        "FREE_URL": is_free,
        "FREE_EXEC_URL": is_free and runs,
        "EXEC_URL": runs and not has_owner,
        "PAGE_URL": is_page_host(host),
        "RELEASE_URL": "/releases" in url or "/raw/" in url,
        "UNKNOWN_URL": not (find_service(url) or has_owner),
    }
    return tuple(kind for kind, holds in kinds.items() if holds)


def _by_ending(text: str) -> tuple[str, ...]:
    if text.endswith(_EXECUTABLES):
        return ("EXECUTABLE",)
    return ("ARCHIVE",) if text.endswith(_ARCHIVES) else ()
