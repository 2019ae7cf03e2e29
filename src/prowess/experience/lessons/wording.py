"""A goal and its steps in plain words: what it is called, how people asked for it, what to do.

Name and requests are made of what the runs share. Values of one run leave a gap, and what only one
run said beside the goal is left out; its verb stays, since people have many words for one thing.
The words of a goal are a person's own, so whatever has a meaning in Markdown or HTML is taken out.
A name is spelt in Latin letters; what it cannot hold is told apart by a hash.

Of a step, whatever comes from a trace stands in a code span or in a fenced block, on its own line
or lines and cleaned, so that it can break out of neither.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from prowess.data import join_phrases, read_table, read_word_group
from prowess.experience.commands import ValueKind, find_values, read_ending
from prowess.experience.lessons.moves import TOO_LONG, Move, name_element
from prowess.experience.lessons.parameters import Parameter
from prowess.experience.redaction import HIDDEN
from prowess.secrets.credentials import STARS
from prowess.skills.parse import MAX_NAME
from prowess.skills.text import clean, one_line
from prowess.transcripts.traces import Deed

_LONGEST_SPAN, _LONGEST_BLOCK, _MOST_LINES = 300, 1_500, 40
_SHORT_TEXT = 120
_MOST_FIELDS = 6
_TICKS = re.compile(r"`+")
_LONGER = re.compile(rf"\s*{TOO_LONG}[0-9a-f]*")
_ONE_NAME = re.compile(r"\{[a-z][a-z0-9_]*\}")
# A bang before backticks is a command that some harness runs while it reads a skill.
_BANG = re.compile(r"!(?=`)")
_FENCE_BANG = re.compile(r"(?<=```)!")
_COMMENT = re.compile(r"<(?=!--)|--(?=>)")
# What is filled in when a skill is called. One backslash more and it comes out as it was.
_PLACEHOLDER = re.compile(r"\$(?=ARGUMENTS(?!\w)|[0-9]|\{CLAUDE_[A-Z_]+\})")
Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Order:
    """One thing to do, and the text that it needs word for word."""

    text: str
    block: str = ""


def write_order(move: Move, texts: Texts) -> Order:
    """Return what to do for a move; `texts` are its fields with names in them."""
    return _ORDERS.get(move.shape.deed, _tool)(move, texts)


def format_code(text: str, longest: int = _LONGEST_SPAN) -> str:
    """Return a text as a code span that ends where it should."""
    line = _defuse(one_line(_LONGER.sub(" ...", text)))
    if len(line) > longest:
        line = f"{line[: longest - 3]}..."
    if not line:
        return '`""`'
    longest_run = max((len(hit) for hit in _TICKS.findall(line)), default=0)
    fence = "`" * (longest_run + 1)
    # A bang at the end would stand before the closing backtick.
    is_apart = longest_run or line.endswith("!")
    line = escape_placeholders(line)
    return f"{fence} {line} {fence}" if is_apart else f"`{line}`"


def escape_placeholders(text: str) -> str:
    """Return a text so that a call of the skill leaves it as it is, `$1` and all."""
    return _PLACEHOLDER.sub(r"\\$", text)


def format_block(text: str, indent: str = "   ") -> str:
    """Return a text as a block of code inside a list."""
    longest_run = max((len(hit) for hit in _TICKS.findall(text)), default=0)
    fence = "`" * max(longest_run + 1, 3)
    lines = [
        escape_placeholders(_defuse(clean(line)))
        for line in re.split(r"\r\n|[\n\r\v\f\x85\u2028\u2029]", text)
    ]
    return "\n".join(f"{indent}{line}".rstrip() for line in (f"{fence}text", *lines, fence))


def _defuse(text: str) -> str:
    text = _COMMENT.sub(lambda hit: f"{hit[0]} ", text)
    return _FENCE_BANG.sub(" !", _BANG.sub("! ", text))


def _is_quotable(text: str) -> bool:
    is_short = len(text) <= _LONGEST_BLOCK and text.count("\n") < _MOST_LINES
    return is_short and TOO_LONG not in text


def _fits_span(text: str) -> bool:
    return "\n" not in text.strip() and len(text) <= _LONGEST_SPAN


# What is told whole where it is short, and in a block of its own else: which field, and how.
_WHOLE: Mapping[Deed, tuple[str, str, str]] = MappingProxyType(
    {
        Deed.SHELL: ("command", "Run", "Run:"),
        Deed.DEVICE_SHELL: ("command", "On the device, run", "On the device, run:"),
        Deed.SCRIPT: ("content", "Run the script", "Run this script:"),
        Deed.PATCH: ("content", "Apply the patch", "Apply this patch:"),
    }
)


def _whole(move: Move, texts: Texts) -> Order:
    field, inline, above = _WHOLE[move.shape.deed]
    text = texts.get(field, "")
    if _fits_span(text) or not _is_quotable(text):
        most = _SHORT_TEXT if move.shape.deed is Deed.PATCH else _LONGEST_SPAN
        return Order(f"{inline} {format_code(text, most)}.")
    return Order(above, text.strip("\n"))


def _write(_move: Move, texts: Texts) -> Order:
    path, content = format_code(texts.get("path", "a file")), texts.get("content", "")
    if not content:
        return Order(f"Write {path}.")
    if _ONE_NAME.fullmatch(content) or _fits_span(content) or not _is_quotable(content):
        return Order(f"Write {path} with {format_code(content, _SHORT_TEXT)}.")
    return Order(f"Write {path} with this text:", content.strip("\n"))


def _edit(_move: Move, texts: Texts) -> Order:
    path, old, new = (
        format_code(texts.get("path", "the file")),
        texts.get("old", ""),
        texts.get("new", ""),
    )
    if not old and not new:
        return Order(f"Edit {path}.")
    if _fits_span(new) or not _is_quotable(new):
        change = f"replace {format_code(old, _SHORT_TEXT)} with {format_code(new, _SHORT_TEXT)}"
        return Order(f"In {path}, {change if old else f'put {format_code(new)}'}.")
    return Order(
        f"In {path}, put this in place of {format_code(old, _SHORT_TEXT)}:", new.strip("\n")
    )


def _gesture(move: Move, texts: Texts) -> Order:
    verb = move.shape.name.split(" ", 1)[0] or "tap"
    if verb == "swipe":
        way = move.shape.name.split(" ")[1:2]
        return Order(f"Swipe {''.join(way)}.".replace(" .", "."))
    said = {"tap": "Tap", "drag": "Drag", "long_press_drag": "Press, hold and drag"}.get(
        verb, "Tap"
    )
    label, known = texts.get("element", ""), move.target.resource_id if move.target else ""
    if label:
        return Order(
            f"{said} {format_code(label, _SHORT_TEXT)}"
            + (f" ({format_code(known)})." if known else ".")
        )
    if known or name_element(move.target):
        return Order(f"{said} the element {format_code(known or name_element(move.target))}.")
    return Order(f"{said} at about {move.place}." if move.place else f"{said} the screen.")


def _ask(move: Move, texts: Texts) -> Order:
    question = texts.get("question") or texts.get("instruction") or move.shape.name
    return Order(f"Ask the person: {format_code(question)}." if question else "Ask the person.")


def _tool(move: Move, texts: Texts) -> Order:
    name = move.shape.name or move.shape.deed.value
    given = [
        f"{format_code(field)} = {format_code(text)}"
        for field, text in list(texts.items())[:_MOST_FIELDS]
    ]
    return Order(f"Call {format_code(name)}" + (f" with {', '.join(given)}." if given else "."))


_ORDERS: Mapping[Deed, Callable[[Move, Texts], Order]] = MappingProxyType(
    {
        **dict.fromkeys(_WHOLE, _whole),
        Deed.READ: lambda _, texts: Order(f"Read {format_code(texts.get('path', 'the file'))}."),
        Deed.WRITE: _write,
        Deed.EDIT: _edit,
        Deed.GESTURE: _gesture,
        Deed.TYPE: lambda _, texts: Order(f"Type {format_code(texts.get('text', ''))}."),
        Deed.KEY: lambda move, _: Order(f"Press {format_code(move.shape.name)}."),
        Deed.LAUNCH: lambda move, _: Order(f"Open the app {format_code(move.shape.name)}."),
        Deed.WAIT: lambda _move, _texts: Order("Wait until it is ready."),
        Deed.ASK: _ask,
    }
)


_TABLE = "experience/lessons/words.toml"
_words = partial(read_word_group, _TABLE)
_LONGEST_TITLE = 90
_NAME_LENGTH, _NAME_WORDS, _HASH = 48, 7, 8
_SHORTEST_NAME = 3
_PLACE = re.compile(
    r"[\"'`\u201c\u300c]?[A-Za-z0-9_./~-]*\{([a-z][a-z0-9_]*)\}(?:\.(\w{1,8})\b)?"
    r"[\"'`\u201d\u300d]?"
)
_SENTENCE = re.compile(r"(?<=[^\s.]{2})[.!?;](?=\s|\Z)|[\u3002\uff01\uff1f\uff1b]|\s-\s|:\s")
# Scripts that put no space between words: an English word among them would say nothing.
_NO_SPACES = re.compile(r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]")
_SIGNS = re.compile(r"[`<>\[\]{}*#|\\_~\"\u201c\u201d\u27e6\u27e7]+")
_RESERVED = re.compile(r"anthropic|claude")
# What stands for a word that was another one in each run, and says nothing by itself.
GAP = "\u2026"
# Around what a parameter may be told by.
_OPEN, _CLOSE = "\u27e6", "\u27e7"
_TOKEN = re.compile(r"\{[a-z][a-z0-9_]*\}|[^\W_]+(?:[.'\u2019-][^\W_]+)*")
_NAME_OF_ONE = re.compile(r"[^\W\d_]*\d.*|[A-Z][^\W\dA-Z_]+")
_FEWEST_ALIKE, _MOST_APART = 0.6, 0.34
_MOST_PHRASES, _FEWEST_WORDS, _SHORT_PHRASE = 3, 2, 3
_PLURAL, _STEM = 4, 6


def remove_values(goals: Sequence[str], done: Sequence[str]) -> tuple[str, ...]:
    """Return the goals of several runs with gaps in place of names and other values of one run.

    A word is a value where its run used it and others did not, where it stands alone among words
    that other runs have around it, where it is written as a name, or where it says when. What most
    say belongs to the goal.

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
        is_name = in_goals[key] == 1 and _NAME_OF_ONE.fullmatch(word) is not None
        return is_used or is_name or key in _words("times")

    found = []
    for at, goal in enumerate(goals):
        apart = _find_odd(asked, at) | _find_enclosed(asked, at)
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
    is_small = any(word in _words(group) for group in ("no_end", "no_part", "small"))
    return not (is_first or is_small or word.startswith("{") or _NO_SPACES.search(word))


def _spread(rows: Sequence[Iterable[str]]) -> Counter[str]:
    """Return in how many of the rows each word is."""
    return Counter(word for row in rows for word in frozenset(row))


def _find_odd(rows: Sequence[Sequence[str]], at: int) -> frozenset[int]:
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


def _find_enclosed(rows: Sequence[Sequence[str]], at: int) -> frozenset[int]:
    """Return the places whose neighbours most rows share, with another word between them in each.

    One of the neighbours must say something: between `the` and `to` anything may stand.
    """
    between = [
        {(before, after): word for before, word, after in zip(row, row[1:], row[2:], strict=False)}
        for row in rows
    ]
    found = set()
    for place, (before, word, after) in enumerate(
        zip(rows[at], rows[at][1:], rows[at][2:], strict=False), start=1
    ):
        said = [row[before, after] for row in between if (before, after) in row]
        tells = any(one not in _words("small") for one in (before, after))
        if tells and 2 * len(said) > len(rows) and len(set(said)) > 1 and said.count(word) == 1:
            found.add(place)
    return frozenset(found)


def _with_gaps(text: str, hits: Sequence[re.Match[str]]) -> str:
    parts, at = [], 0
    for hit in hits:
        parts += [text[at : hit.start()], GAP]
        at = hit.end()
    return "".join([*parts, text[at:]])


class WordedGoal(NamedTuple):
    """What a goal is called, and how people asked for it, each way once."""

    phrase: str
    asked: tuple[str, ...]


class _Word(NamedTuple):
    """A word of a goal; of a parameter what it may be told by, of a gap nothing."""

    text: str
    stem: str = ""
    # Whether it stands for a value.
    is_place: bool = False
    # Whether another part of the sentence begins behind it.
    ends: bool = False


def word_goals(goals: Sequence[str], parameters: Sequence[Parameter]) -> WordedGoal:
    """Return the words for a goal, of all that was asked; the most usual wording comes first."""
    if any(_NO_SPACES.search(goal) for goal in goals):
        phrases = list(
            dict.fromkeys(_shorten(_fill(_take_first_sentence(goal), parameters)) for goal in goals)
        )
        return WordedGoal(phrases[0], tuple(phrases[:_MOST_PHRASES]))
    rows = [_split(goal, parameters) for goal in goals]
    counts = _spread([[word.stem for word in row if word.stem] for row in rows])
    shared = {stem for stem, count in counts.items() if 2 * count >= max(len(rows), 3)}
    nouns = {
        word.stem
        for row in rows
        for before, word in pairwise(row)
        if before.is_place or before.text.casefold() in _words("no_part")
    }
    titles = [_entitle(row, shared) for row in rows]
    ranked = sorted(range(len(rows)), key=lambda at: (-_rate(rows[at], shared, nouns), at))
    phrase = next((titles[at] for at in ranked if titles[at]), "") or "Repeat a task"
    asked: dict[str, str] = {}
    for row in rows:
        told = _tell(_without_tail(row, shared))
        asked.setdefault(told.casefold(), told)
    said = [one for key, one in asked.items() if re.search(r"[^\W\d_]", key)]
    return WordedGoal(_shorten(phrase), tuple(said[:_MOST_PHRASES]) or (phrase,))


def word_task(task: str) -> WordedGoal:
    """Return the words for a goal of which one run is known: its values are told by their kind."""
    parts, at = [], 0
    for value in find_values(task):
        is_file = value.kind is ValueKind.FILE
        told = read_ending(value.text).upper() or "file" if is_file else GAP
        parts += [task[at : value.start], told]
        at = value.end
    goal = "".join([*parts, task[at:]])
    words = [hit for hit in _TOKEN.finditer(goal) if hit[0].casefold() in _words("times")]
    return word_goals([_with_gaps(goal, words)], [])


def describe_goal(phrase: str, asked: Sequence[str], with_what: str = "") -> str:
    """Return the description of a skill: what it does, and when it is to be used."""
    quoted = [f'"{escape_placeholders(one)}"' for one in asked]
    said = list_words(quoted, "or")
    return f"{make_title(phrase)}{with_what}. Use when the user asks for this in words like {said}."


def list_words(words: Sequence[str], last: str) -> str:
    """Return words as a list in a sentence."""
    if len(words) <= 1:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def _split(goal: str, parameters: Sequence[Parameter]) -> list[_Word]:
    """Return the words of a goal, without what is said before and behind it."""
    found: list[_Word] = []
    for one in _fill(_take_first_sentence(goal), parameters).split(" "):
        bare = one.strip(",.;:!?()-+/")
        if _OPEN in one:
            name = one[one.index(_OPEN) + 1 : one.index(_CLOSE)]
            found.append(_Word(name.replace("_", " "), is_place=True))
        elif bare.casefold() in _words("courtesy") or not re.search(rf"\w|{GAP}", one):
            # A sign alone belongs to the value beside it.
            continue
        elif GAP in one:
            found.append(_Word("", is_place=True))
        elif bare.casefold() in _words("day_halves") and found and found[-1].is_place:
            continue
        else:
            stem = "" if bare.casefold() in _words("small") else _find_stem(bare)
            found.append(_Word(bare, stem))
        if found and one.endswith((",", ";", ":")):
            found[-1] = found[-1]._replace(ends=True)
    while found and found[-1].text.casefold() in _words("polite"):
        found.pop()
    return found


def _find_stem(word: str) -> str:
    """Return by what a word is known whatever its ending; Russian has many."""
    folded = word.casefold()
    if not folded.isascii():
        return folded[:_STEM]
    return folded[:-1] if folded.endswith("s") and len(folded) >= _PLURAL else folded


def _fill(goal: str, parameters: Sequence[Parameter]) -> str:
    """Put what a parameter may be told by in its place, in brackets; a file's kind as a word."""
    known = {one.name: one for one in parameters}
    goal = goal.replace(HIDDEN, GAP).replace(STARS, GAP)
    parts, at = [], 0
    for hit in _PLACE.finditer(goal):
        parts += [_SIGNS.sub(" ", goal[at : hit.start()]), _put(hit, known.get(hit[1]))]
        at = hit.end()
    return one_line("".join([*parts, _SIGNS.sub(" ", goal[at:])]))


def _put(hit: re.Match[str], parameter: Parameter | None) -> str:
    name = hit[1].rstrip("_0123456789")
    if hit[2]:
        return hit[2].upper()
    if name.endswith("_file"):
        return parameter.kind.upper() if parameter and parameter.kind.isalnum() else "file"
    if _NO_SPACES.search(hit.string):
        return GAP
    base = (parameter.derived_from or name) if parameter else name
    base = base.rstrip("_0123456789")
    is_any = base in _words("any_value") | _words("no_end")
    return _OPEN + ("" if is_any else base) + _CLOSE


def _rate(row: Sequence[_Word], shared: set[str], nouns: set[str]) -> float:
    """Return how well a wording says what all wanted: the shared words, a verb, little else."""
    words = [word for word in row if word.stem]
    own = sum(word.stem not in shared for word in words[1:])
    first = row[0] if row else _Word("")
    is_verb = bool(first.stem) and first.stem not in nouns
    places = sum(word.is_place for word in row)
    return 2 * len({word.stem for word in words} & shared) - own + 3 * is_verb + 0.5 * places


def _entitle(row: Sequence[_Word], shared: set[str]) -> str:
    """Return a wording without what is its own: clauses, and words within them, but for verbs."""
    kept: list[_Word] = []
    for clause in _clauses(row):
        has_shared = any(word.stem in shared for word in clause)
        if kept and shared and not has_shared:
            continue
        first = next((word for word in clause if word.stem), None)
        kept += [
            word
            for word in clause
            if not word.stem or word.stem in shared or word is first or not shared
        ]
    kept = _without_tail(kept, shared)
    return _join(list(_drop_places(kept)))


def _clauses(row: Sequence[_Word]) -> Iterator[list[_Word]]:
    clause: list[_Word] = []
    for word in row:
        if clause and word.text.casefold() in _words("joining"):
            yield clause
            clause = []
        clause.append(word)
        if word.ends:
            yield clause
            clause = []
    yield clause


def _drop_places(row: Sequence[_Word]) -> Iterator[_Word]:
    """Yield the words of a title; a value only where the verb has nothing else to act on."""
    needs = sum(bool(word.stem) for word in row) < _FEWEST_WORDS
    for at, word in enumerate(row):
        after = row[at + 1] if at + 1 < len(row) else _Word("")
        is_object = at == 1 and (not after.text or after.text.casefold() in _words("no_end"))
        if not word.is_place:
            yield word
        elif word.text and (needs or is_object):
            before = row[at - 1].text.casefold() if at else ""
            has_article = before in _words("no_part") or before == word.text.casefold()
            article = "" if has_article else ("an " if word.text[0] in "aeio" else "a ")
            yield word._replace(text=article + word.text, stem=word.text, is_place=False)
        else:
            yield _Word("", is_place=True)


def _join(row: Sequence[_Word]) -> str:
    """Return the words of a title on one line; what led to a value that is not told goes too."""
    words: list[str] = []
    for at, word in enumerate(row):
        after = row[at + 1] if at + 1 < len(row) else _Word("")
        if word.is_place:
            # `for the … table` is for the table.
            if not after.stem:
                _close(words)
            continue
        if words and words[-1].casefold() in _words("joining"):
            # What was said of each of two values that are left out is said once.
            again = words[-2:-1] and words[-2].casefold() == word.text.casefold()
            del words[len(words) - bool(again) :]
        if not words or words[-1].casefold() != word.text.casefold():
            words.append(word.text)
    open_ends = frozenset[str]().union(*map(_words, ("no_end", "no_tail", "no_part", "saying")))
    while words and words[-1].casefold() in open_ends:
        words.pop()
    return " ".join(words).strip(" ,.;:!?-")


def _close(words: list[str]) -> None:
    """Take away what led to a word that is left out: `to`, `as the`, `saying`."""
    for small in (_words("saying"), _words("no_part"), _words("no_end")):
        if len(words) > 1 and words[-1].casefold() in small:
            words.pop()


def _without_tail(row: Sequence[_Word], shared: set[str]) -> list[_Word]:
    """Return a wording up to the last word that others used too, where it has enough of them."""
    places = [at for at, word in enumerate(row) if word.stem in shared or word.is_place]
    if sum(word.stem in shared for word in row) < _FEWEST_WORDS or not places:
        return list(row)
    return list(row[: places[-1] + 1])


def _tell(row: Sequence[_Word]) -> str:
    """Return a wording as it was said, with a gap for each value."""
    words: list[str] = []
    for word in row:
        told = GAP if word.is_place else word.text
        if not (words and told == words[-1].rstrip(",")):
            words.append(f"{told}," if word.ends else told)
    return _shorten(" ".join(words).strip(" ,.;:!?-"))


def make_title(phrase: str) -> str:
    """Return a phrase as a title, which a call of the skill leaves as it is."""
    return escape_placeholders(phrase[:1].upper() + phrase[1:])


def make_skill_name(phrase: str, otherwise: str = "learned") -> str:
    """Return a valid name for a skill: ASCII, short, and its own where letters were lost.

    Args:
        phrase: what the goal is called.
        otherwise: what it is called where nothing of the phrase can be spelt.
    """
    letters = unicodedata.normalize("NFKD", _spell(phrase.casefold()))
    ascii_only = re.sub(r"[^\x00-\x7f]+", " ", re.sub(r"[\u0300-\u036f'\u2019]", "", letters))
    words = [one for one in re.findall(r"[a-z0-9]+", ascii_only) if one not in _words("no_part")]
    words = [one for one in words if not _RESERVED.search(one)][:_NAME_WORDS]
    name = "-".join(words)[:_NAME_LENGTH].strip("-")
    if len("-".join(words)) > _NAME_LENGTH:
        name = name.rpartition("-")[0] or name
    while name.rpartition("-")[2] in _words("no_end") | _words("no_tail"):
        name = name.rpartition("-")[0]
    is_whole = not re.search(r"[^\W\d_]", re.sub(r"[\x00-\x7f]", "", letters))
    if is_whole and len(name) >= _SHORTEST_NAME:
        return name
    digest = hashlib.sha256(phrase.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{name or otherwise}-{digest}"[:MAX_NAME]


@cache
def _read_letters() -> Mapping[int, str]:
    pairs = (pair.partition("=") for pair in read_table(_TABLE)["spelt"]["signs"].split())
    return str.maketrans({sign: letters for sign, _, letters in pairs})


def _spell(text: str) -> str:
    """Return a text with Latin letters for those of an alphabet that has a usual spelling."""
    return text.translate(_read_letters())


@cache
def _compile_leads() -> re.Pattern[str]:
    leads = join_phrases("small_talk", "leads")
    return re.compile(rf"\A(?:{leads})(?![^\W\d_])[ ,:!]*", re.IGNORECASE)


def _lead_end(text: str) -> int:
    """Return where a text comes to the point."""
    at = 0
    while (lead := _compile_leads().match(text[at:])) and lead.end():
        at += lead.end()
    return at


def _take_first_sentence(goal: str) -> str:
    """Return what a goal asks for first; where it begins with hardly a word, all of it."""
    line = one_line(goal)
    rest = line[_lead_end(line) :]
    first = _SENTENCE.split(rest, maxsplit=1)[0].strip()
    return first or rest


def _shorten(phrase: str) -> str:
    plain = one_line(phrase)
    if len(plain) <= _LONGEST_TITLE:
        return plain
    return plain[:_LONGEST_TITLE].rpartition(" ")[0] or plain[:_LONGEST_TITLE]
