"""A goal in plain words: a title, a phrase for a description, and the name of a skill.

The words are a person's own, so whatever has a meaning in Markdown or HTML is taken out. A goal in
a script that a name cannot hold is told apart by a hash.
"""

import hashlib
import re
import unicodedata
from collections.abc import Sequence

from prowess.learning.parameters import Parameter
from prowess.skills.standard import MAX_NAME
from prowess.skills.text import one_line

_LONGEST_TITLE = 90
_NAME_LENGTH, _NAME_WORDS, _HASH = 48, 7, 8
_SHORTEST_NAME = 3
_NAMED = re.compile(
    r"[\"'`\u201c\u300c]?[A-Za-z0-9_./~-]*\{([a-z][a-z0-9_]*)\}(?:\.(\w{1,8})\b)?"
    r"[\"'`\u201d\u300d]?"
)
_LEAD = re.compile(
    r"(?i)\A(?:please|hey|hi|hello|ok(?:ay)?|now|then|also|and|can you|could you|would you|will you"
    r"|i(?:'d| would) like (?:you )?to|i (?:want|need) (?:you )?to|help me(?: to)?|let'?s"
    r"|go ahead and|bitte|kannst du|\u8bf7|\u5e2e\u6211|\u9ebb\u70e6)(?![A-Za-z])[ ,:!]*"
)
_SENTENCE = re.compile(r"(?<=[^\s.]{2})[.!?;](?=\s|\Z)|[\u3002\uff01\uff1f\uff1b]|\s-\s|:\s")
# Scripts that put no space between words: an English word among them would say nothing.
_NO_SPACES = re.compile(r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]")
_SIGNS = re.compile(r"[`<>\[\]{}*#|\\_~\"\u201c\u201d]+")
_NO_PART = frozenset(("a", "an", "the", "my", "our", "your", "me", "us", "please", "this", "that"))
_NO_END = frozenset(
    ("to", "in", "of", "for", "and", "with", "from", "on", "at", "by", "as", "into", "or", "then")
)
_RESERVED = re.compile(r"anthropic|claude")


def plain_goal(goal: str, parameters: Sequence[Parameter]) -> str:
    """Return a goal as a short phrase, with kinds of things in place of parameters."""
    known = {one.name: one for one in parameters}
    sentence = _first_sentence(goal)

    def word(hit: re.Match[str]) -> str:
        if _NO_SPACES.search(sentence) and not (hit[2] or "_file" in hit[1]):
            return "\u2026"
        said = set(_SIGNS.sub(" ", sentence.replace(hit[0], " ")).casefold().split())
        return hit[2].upper() if hit[2] else _kind_word(known.get(hit[1]), hit[1], said)

    plain = one_line(_SIGNS.sub(" ", _NAMED.sub(word, sentence)))
    words: list[str] = []
    for one in plain.split(" "):
        if not words or words[-1].casefold() != one.casefold():
            words.append(one)
    phrase = " ".join(words).strip(" ,.;:!?-")
    return _cut(phrase) or "Repeat a task"


def title_of(phrase: str) -> str:
    """Return a phrase as a title."""
    return phrase[:1].upper() + phrase[1:]


def name_of_skill(phrase: str) -> str:
    """Return a valid name for a skill: ASCII, short, and its own where letters were lost."""
    letters = unicodedata.normalize("NFKD", phrase.casefold())
    ascii_only = re.sub(r"[^\x00-\x7f]+", " ", re.sub(r"[\u0300-\u036f]", "", letters))
    words = [one for one in re.findall(r"[a-z0-9]+", ascii_only) if one not in _NO_PART]
    words = [one for one in words if not _RESERVED.search(one)][:_NAME_WORDS]
    name = "-".join(words)[:_NAME_LENGTH].strip("-")
    if len("-".join(words)) > _NAME_LENGTH:
        name = name.rpartition("-")[0] or name
    while name.rpartition("-")[2] in _NO_END:
        name = name.rpartition("-")[0]
    is_whole = not re.search(r"[^\W\d_]", re.sub(r"[\x00-\x7f]", "", letters))
    if is_whole and len(name) >= _SHORTEST_NAME:
        return name
    digest = hashlib.sha256(phrase.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{name or 'learned'}-{digest}"[:MAX_NAME]


def _first_sentence(goal: str) -> str:
    rest = one_line(goal)
    while (lead := _LEAD.match(rest)) and lead.end():
        rest = rest[lead.end() :]
    first = _SENTENCE.split(rest, maxsplit=1)[0].strip()
    return first or rest


def _kind_word(parameter: Parameter | None, name: str, said: set[str]) -> str:
    if parameter is not None and name.rstrip("_0123456789").endswith("_file"):
        return parameter.kind.upper() if parameter.kind.isalnum() else "file"
    words = [word for word in name.rstrip("0123456789").split("_") if word]
    return " ".join([word for word in words if word not in said] or words[-1:])


def _cut(phrase: str) -> str:
    if len(phrase) <= _LONGEST_TITLE:
        return phrase
    return phrase[:_LONGEST_TITLE].rpartition(" ")[0] or phrase[:_LONGEST_TITLE]


def phrases_of(goals: Sequence[str], parameters: Sequence[Parameter]) -> tuple[str, ...]:
    """Return several ways to ask for a goal, each once whatever its capitals."""
    found: dict[str, str] = {}
    for goal in goals:
        phrase = plain_goal(goal, parameters)
        found.setdefault(phrase.casefold(), phrase)
    return tuple(found.values())
