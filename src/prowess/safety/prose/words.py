"""Prose to words that carry concepts, in one pass whose time grows with the length alone.

A concept is a set of words and phrases ("tell", "let … know"). Rules look for concepts, not for
wordings, so that a new spelling of an old trick is one word in `lexicon.toml`. Combinations of
concepts that meet a rule are the rows of `cues.toml`, where a slip is refused: it would be a rule
that never holds, or holds too often.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from itertools import product
from typing import Any, NamedTuple

from prowess.data import read_table
from prowess.reading.views import View
from prowess.safety.hosts import (
    find_borrowed_name,
    find_drop,
    find_host,
    find_installer,
    find_owner_label,
    find_paste_site,
    find_service,
    has_settled_name,
    is_cheap_host,
    is_free_host,
    is_local,
    is_page_host,
    is_raw_address,
)
from prowess.safety.model import Confidence, Level
from prowess.safety.paths import is_agent_path, path_label
from prowess.secrets.names import is_secret_in_environment, is_secret_name

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
    r"|(?P<ip>\d{1,3}(?:\.\d{1,3}){3}\b)"
    r"|(?P<number>\d+)"
    r"|(?P<end>[.!?;\u3002\uff01\uff1f]+(?=[\s\"')\]*_`]|$)"
    r"|\n[ \t]*(?:[-*+>|#]|\d{1,3}[.)])|\n[ \t]*\r?\n|[ \t]\|[ \t])"
)
# A gap in an address for something that opens something.
_LOADED = re.compile(r"[$%=](?:\w+_)?(?:token|key|secret|password|passwd|cookie|credentials?)\b")
_EXECUTABLES = (".exe", ".msi", ".dmg", ".pkg", ".app", ".bat", ".scpt", ".lnk", ".hta")
_ARCHIVES = (".zip", ".rar", ".7z", ".tar", ".gz", ".tgz")


# Files that no skill brings along, other than those of skills and projects that a user installed.
_OUTSIDE = re.compile(r"~[/\\]|\$\{?home|%\w+%|/(?:tmp|var|opt|etc|usr|home|users|dev|mnt|srv)/")
_INSTALLED = re.compile(r"[/\\](?:skills?|plugins?|agents?|commands|projects?|workspace)[/\\]")


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

    def is_linked(self, index: int) -> bool:
        """Whether an address stands behind a link or a "from": more to read, no place to go."""
        start = self.places[index][0]
        return self.view.text[max(0, start - 6) : start].lower().endswith(("](", "from ", "from `"))

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
        if "URL" in found and "name" in kinds.values():
            _name_owners(passage)
        linked = [one for one in found.get("URL", ()) if passage.is_linked(one.first)]
        if linked:
            found["LINKED_URL"] = linked
        return passage


def _name_owners(passage: Passage) -> None:
    """Add where an address is that of the service which a variable is named after."""
    names = (word for index, word in enumerate(passage.words) if passage.kinds.get(index) == "name")
    parts = {part for name in names for part in name.split("_")}
    for span in passage.concepts["URL"]:
        host = find_host(passage.words[span.first])
        if find_owner_label(host) in parts and has_settled_name(host):
            passage.concepts.setdefault("OWNER_URL", []).append(span)


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
            is_secret = is_secret_name(word) or is_secret_in_environment(word)
            return ("STRONG_SECRET",) if is_secret else ()
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
    elif _OUTSIDE.match(path) and not _INSTALLED.search(path):
        concepts.append("OUTSIDE_PATH")
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
        "API_URL": host.startswith("api."),
        "LOADED_URL": _LOADED.search(url) and not is_local(host),
        "CHEAP_URL": is_cheap_host(host),
        "BORROWED_URL": find_borrowed_name(host),
        "RELEASE_URL": "/releases" in url or "/raw/" in url,
        "UNKNOWN_URL": not (find_service(url) or has_owner),
    }
    return tuple(kind for kind, holds in kinds.items() if holds)


def _by_ending(text: str) -> tuple[str, ...]:
    if text.endswith(_EXECUTABLES):
        return ("EXECUTABLE",)
    return ("ARCHIVE",) if text.endswith(_ARCHIVES) else ()


_FILE = "safety/prose/lexicon.toml"
_GROUPS = ("orders", "obedience", "secrecy", "data", "lasting")
_VOWELS = "aeiou"
_HISSING = ("s", "sh", "ch", "x", "ss")


def read_lexicon() -> dict[str, tuple[str, ...]]:
    """Return the words and phrases of each concept."""
    table = read_table(_FILE)
    return {
        concept: _spell_out(written)
        for group in _GROUPS
        for concept, written in table[group].items()
        if concept != "reason"
    }


def _spell_out(written: str | Mapping[str, Any]) -> tuple[str, ...]:
    if isinstance(written, str):
        return _split(written)
    found = [form for verb in _split(written.get("verbs", "")) for form in _inflect(verb)]
    found.extend(_split(written.get("phrases", "")))
    for slots in written.get("each", ()):
        # A dash leaves its slot out.
        found.extend(
            " ".join(word for word in words if word != "-")
            for words in product(*map(_split, slots))
        )
    return tuple(found)


def _split(text: str) -> tuple[str, ...]:
    """Return the phrases of a list; `{NAME}` is a list of its own, `{NAME ing}` its gerunds."""
    found: list[str] = []
    for phrase in filter(None, map(str.strip, text.split(","))):
        if not phrase.startswith("{"):
            found.append(phrase)
            continue
        name, _, form = phrase.strip("{}").partition(" ")
        words = _split(read_table(_FILE)["lists"][name])
        found.extend(_forms(word)[-1] if form else word for word in words)
    return tuple(found)


def _inflect(phrase: str) -> tuple[str, ...]:
    """Return a verb, or a verb with particles ("turn off"), with its regular forms."""
    verb, _, particle = phrase.partition(" ")
    return tuple(f"{form} {particle}".strip() for form in (verb, *_forms(verb)))


def _forms(verb: str) -> tuple[str, ...]:
    irregular, doubling = _read_odd_verbs()
    if verb in irregular:
        return irregular[verb]
    if verb.endswith("e"):
        return f"{verb}s", f"{verb}d", f"{verb[:-1]}ing"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"
    if verb in doubling:
        return f"{verb}s", f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing"
    return f"{verb}{'es' if verb.endswith(_HISSING) else 's'}", f"{verb}ed", f"{verb}ing"


@cache
def _read_odd_verbs() -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
    """Return the forms of the irregular verbs, and the verbs that double their last letter."""
    table = read_table(_FILE)["forms"]
    rows = (row.partition(":") for row in table["irregular"].split(","))
    irregular = {verb.strip(): tuple(forms.split()) for verb, _, forms in rows}
    return irregular, frozenset(table["doubling"].split())


_CUES = "safety/prose/cues.toml"
# How many words a combination may span where its row does not say.
_NEAR = 40


class Window(StrEnum):
    """How far apart the concepts of a cue may stand."""

    SENTENCE = "sentence"
    BLOCK = "block"
    SECTION = "section"


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """Concepts that stand together."""

    # Each entry is a concept, or several with `|` of which one must be there.
    needs: tuple[str, ...]
    near: int = _NEAR
    ordered: bool = False
    window: Window = Window.SENTENCE
    # It does not hold where one of these stands in the same sentences.
    unless: tuple[str, ...] = ()
    # It does not hold where a "not" stands right before it.
    never_negated: bool = False
    # It holds only where its first concept is told to somebody: "disable", not "disables".
    must_order: bool = False

    @cached_property
    def musts(self) -> tuple[str, ...]:
        """The needs that are one concept; most combinations fail at the first of them."""
        return tuple(need for need in self.needs if "|" not in need)

    @cached_property
    def groups(self) -> tuple[frozenset[str], ...]:
        """The needs as sets, to see quickly that one of them is missing."""
        return tuple(frozenset(need.split("|")) for need in self.needs)


@dataclass(frozen=True, kw_only=True)
class Cue(Pattern):
    """A combination of concepts that meets a rule."""

    rule: str
    message: str
    # Whether a "not" before it turns the sentence around ("never ignore …").
    negatable: bool = True
    # None: the level of the rule's row.
    level: Level | None = None
    confidence: Confidence = Confidence.HIGH


@cache
def read_cues() -> tuple[Cue, ...]:
    """Return the cues for any text."""
    return _read_groups("orders", "secrecy", "data")


@cache
def read_hidden_cues() -> tuple[Cue, ...]:
    """Return the cues for a text that the reader of the page does not see, beyond all others."""
    return _read_groups("hidden")


@cache
def read_compounds() -> dict[str, tuple[Pattern, ...]]:
    """Return the concepts made of concepts; each may use those above it."""
    rows = read_table(_CUES)["compounds"].items()
    return {name: tuple(map(read_pattern, texts.strip().splitlines())) for name, texts in rows}


def _read_groups(*groups: str) -> tuple[Cue, ...]:
    rows = (row for group in groups for row in read_table(_CUES)[group])
    return tuple(
        read_cue(row["rule"], row["message"], text)
        for row in rows
        for text in row["patterns"].strip().splitlines()
    )


def read_pattern(text: str) -> Pattern:
    """Read one combination that meets no rule by itself."""
    return Pattern(**_read(text)[0])


def read_cue(rule: str, message: str, text: str) -> Cue:
    """Read one combination that meets a rule."""
    shape, words = _read(text)
    return Cue(
        **shape,
        rule=rule,
        message=message,
        negatable="even negated" not in words,
        level=next((level for level in Level if level.value in words), None),
        confidence=next((each for each in Confidence if each.value in words), Confidence.HIGH),
    )


_CONCEPT = re.compile(r"[A-Z][A-Z_]*")
_FLAGS = frozenset(("even negated", "never negated", "order", *map(str, (*Level, *Confidence))))


def _read(text: str) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a `Pattern`, and the words behind the concepts."""
    first, *words = (part.strip() for part in text.split(";"))
    separator = ">" if ">" in first else "+"
    shape: dict[str, Any] = {
        "needs": tuple(need.strip() for need in first.split(separator)),
        "ordered": separator == ">",
        "never_negated": "never negated" in words,
        "must_order": "order" in words,
    }
    for word in words:
        if word.startswith("near "):
            shape["near"] = int(word.removeprefix("near "))
        elif word.startswith("unless "):
            shape["unless"] = tuple(word.split()[1:])
        elif word in {Window.BLOCK, Window.SECTION}:
            shape["window"] = Window(word)
        elif word not in _FLAGS:
            raise ValueError(f"{text!r}: {word!r} means nothing here")
    named = [concept for need in shape["needs"] for concept in need.split("|")]
    for concept in (*named, *shape.get("unless", ())):
        if not _CONCEPT.fullmatch(concept):
            raise ValueError(f"{text!r}: {concept!r} is no concept")
    return shape, words
