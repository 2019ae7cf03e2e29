"""A goal in plain words: a title, a phrase for a description, and the name of a skill.

The words are a person's own, so whatever has a meaning in Markdown or HTML is taken out. A goal in
a script that a name cannot hold is told apart by a hash.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from prowess.experience.lessons.parameters import Parameter
from prowess.experience.lessons.step_orders import unfilled
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
_SAYING = frozenset(("saying", "says", "called", "named", "titled", "reading"))
_RESERVED = re.compile(r"anthropic|claude")
# What stands for a word that was another one in each run, and says nothing by itself.
GAP = "\u2026"
# Names of parameters that say no more than that something is given.
_NO_NAMES = _NO_END | {
    "text", "word", "words", "value", "content", "input", "string", "argument", "parameter", "field"
}  # fmt: skip
_TOKEN = re.compile(r"\{[a-z][a-z0-9_]*\}|[^\W_]+(?:[.-][^\W_]+)*")
_NAME_OF_ONE = re.compile(r"[^\W\d_]*\d.*|[A-Z][^\W\dA-Z_]+")
_FEWEST_ALIKE, _MOST_APART = 0.6, 0.34


def without_values(goals: Sequence[str], done: Sequence[str]) -> tuple[str, ...]:
    """Return the goals of several runs with gaps in place of names and other values of one run.

    A word is a value where its run used it and others did not, where it stands alone among words
    that all runs share, or where it is written as a name. What most say belongs to the goal.

    Args:
        goals: what each run was asked for, with {names} of parameters in it.
        done: in the same order, all that its steps say.
    """
    asked = [[word.casefold() for word in _TOKEN.findall(goal)] for goal in goals]
    used = [frozenset(word.casefold() for word in re.findall(r"[^\W_]+", one)) for one in done]
    in_goals, in_steps = _spread(asked), _spread(used)

    def is_value(at: int, word: str) -> bool:
        key = word.casefold()
        is_used = key in used[at] and 2 * in_steps[key] <= len(goals)
        return is_used or (in_goals[key] == 1 and _NAME_OF_ONE.fullmatch(word) is not None)

    found = []
    for at, goal in enumerate(goals):
        apart = _apart(asked, at)
        hits = [
            hit
            for place, hit in enumerate(_TOKEN.finditer(goal))
            if _can_be_value(hit)
            and 2 * in_goals[hit[0].casefold()] <= len(goals)
            and (place in apart or is_value(at, hit[0]))
        ]
        found.append(_with_gaps(goal, hits))
    return tuple(found)


def _can_be_value(hit: re.Match[str]) -> bool:
    """Return whether a word could be a value; the first says what to do, however it is said."""
    word = hit[0].casefold()
    is_first = not _TOKEN.search(hit.string, _lead_end(hit.string), hit.start())
    is_small = word in _NO_END or word in _NO_PART
    return not (is_first or is_small or word.startswith("{") or _NO_SPACES.search(word))


def _spread(rows: Sequence[Iterable[str]]) -> Counter[str]:
    """Return in how many of the rows each word is."""
    return Counter(word for row in rows for word in frozenset(row))


def _apart(rows: Sequence[Sequence[str]], at: int) -> frozenset[int]:
    """Return the places in which a row differs from most of the others, where little else does."""
    same = [row for row in rows if len(row) == len(rows[at])]
    if len(same) < max(_FEWEST_ALIKE * len(rows), 2):
        return frozenset()
    columns = list(zip(*same, strict=True))
    apart = [place for place, column in enumerate(columns) if len(set(column)) > 1]
    if len(apart) > max(_MOST_APART * len(columns), 1):
        return frozenset()
    return frozenset(
        place for place in apart if 2 * columns[place].count(rows[at][place]) <= len(same)
    )


def _with_gaps(text: str, hits: Sequence[re.Match[str]]) -> str:
    parts, at = [], 0
    for hit in hits:
        parts += [text[at : hit.start()], GAP]
        at = hit.end()
    return "".join([*parts, text[at:]])


def plain_goal(goal: str, parameters: Sequence[Parameter]) -> str:
    """Return a goal as a short phrase, with kinds of things in place of parameters."""
    known = {one.name: one for one in parameters}
    sentence = _first_sentence(goal)

    def word(hit: re.Match[str]) -> str:
        if not (hit[2] or "_file" in hit[1]) and (
            _NO_SPACES.search(sentence) or _says_nothing(known.get(hit[1]), hit[1])
        ):
            return GAP
        said = set(_SIGNS.sub(" ", sentence.replace(hit[0], " ")).casefold().split())
        if hit[1] in said and not hit[2]:
            return GAP
        return hit[2].upper() if hit[2] else _kind_word(known.get(hit[1]), hit[1], said)

    plain = one_line(_SIGNS.sub(" ", _NAMED.sub(word, sentence)))
    words: list[str] = []
    for one in plain.split(" "):
        if one.startswith(GAP) and not _NO_SPACES.search(sentence):
            _close(words)
        elif not words or words[-1].casefold() != one.casefold():
            words.append(one)
    phrase = " ".join(words).strip(" ,.;:!?-")
    return _cut(phrase) or "Repeat a task"


def _says_nothing(parameter: Parameter | None, name: str) -> bool:
    base = parameter.derived_from or name if parameter else name
    return base.rstrip("_0123456789") in _NO_NAMES


def _close(words: list[str]) -> None:
    """Take away what led to a word that is left out: `to`, `as the`, `saying`."""
    for small in (_SAYING, _NO_PART, _NO_END):
        if len(words) > 1 and words[-1].casefold() in small:
            words.pop()


def title_of(phrase: str) -> str:
    """Return a phrase as a title, which a call of the skill leaves as it is."""
    return unfilled(phrase[:1].upper() + phrase[1:])


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


def _lead_end(text: str) -> int:
    """Return where a text comes to the point."""
    at = 0
    while (lead := _LEAD.match(text[at:])) and lead.end():
        at += lead.end()
    return at


def _first_sentence(goal: str) -> str:
    line = one_line(goal)
    rest = line[_lead_end(line) :]
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
