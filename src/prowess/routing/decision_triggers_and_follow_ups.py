"""What decides about a message: what it says outright, else one number per skill from all signals.

Triggers, names and files are certain where meaning and words are guesses, so they are looked at
first and apart. "Yes, go on" follows what was loaded last, and "it works" ends it.

Ranking and deciding are different questions. Words help to tell skills apart and say little about
whether any is meant, which has terms of its own: a lead over the next skill counts where texts are
long (everything shares words there), and so does how much the message says; one that any assistant
could answer needs more, and one that tells of an occasion less of a topic. The scale is fitted on
sets of very different catalogues, so that one half means "load" for all (`training.constants`).

For the ranking, meaning and words are weighed by how much words can say: skills of a line or two
are found by meaning, skills with long bodies by words. An English encoder has no say on other
scripts.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from enum import Enum, IntEnum
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.data import compile_late, dataclass, read_table
from prowess.routing.dense import DenseScores
from prowess.routing.lexical_and_breadth import Breadth, LexicalScores
from prowess.routing.model import Decision, Thresholds
from prowess.routing.words import MessageShape, has_dense_script, split_words
from prowess.skills.model import Skill

Floats: TypeAlias = NDArray[np.float32]

_MOST_PATHS = 32
_LONGEST_PATH = 200
_LONGEST_GLOB = 200
_MOST_FORMS = 32
_SHORTEST_WORD_TRIGGER = 3
_LOOK_BACK = 40

_COMMAND = compile_late(r"\s*[/$](?P<name>[^\s/$][^\s]*)")
# Where a name of one plain word counts: "the pdf skill", "use skill pdf", `pdf`, $pdf.
_AS_SKILL = r"(?:(?:\bskill |[`\"'$])(?:{0})(?!\w)|(?<![\w-])(?:{0}) skill\b)"
_REJECTED = compile_late(
    r"(?:\bnot|n['\u2019]t|\bno|\bnever|\bwithout|\binstead of|\bother than|\brather than|\bavoid|"
    # Within the same clause: "no problem, use it" rejects nothing.
    r"\bskip|\bexcept|\bunlike)(?:\s+[^\s,.;:!?]+){0,2}\s*[`\"'/$]?$",
    re.IGNORECASE,
)
# Of those what forbids it; who asks why it was not used does not.
_REFUSED = compile_late(
    r"(?:(?<!why )\bdo(?:n['\u2019]t| not)|\bnever|\bwithout|\binstead of|\brather than|\bavoid)"
    r"(?: (?:us(?:e|ing)|run(?:ning)?|load(?:ing)?|the|skill|my|our)){0,3}\s*[`\"'/$]?$",
    re.IGNORECASE,
)
_ASKING = compile_late(
    r"(?:^|[.!?:;,\n(-]\s*"
    r"|\b(?:please|you|and|then|should|must|let's|want to|like to|need to|you to) )"
    r"(?:use|run|invoke|load|apply|call|try|start|open|activate)\s+(?:(?:the|skill|my|our)\s+){0,2}"
    r"[`\"'/$]?$"
    r"|\b(?:using|with|via|through|by means of)\s+(?:(?:the|skill|my|our)\s+){0,2}[`\"'/$]?$",
    re.IGNORECASE,
)
_PATH = compile_late(
    r"[\w.@~*/-]{0,150}[\w*-]\.[A-Za-z][A-Za-z0-9]{0,9}|[\w.@~-]{1,80}/[\w.@~/-]{1,100}"
    # A dotfile, or a file type by itself: "convert all .docx files".
    r"|\.[A-Za-z][\w.-]{0,40}"
)
_WORD = compile_late(r"[^\W_]+")
_ODD = ""
_OPENING, _CLOSING = ",:;!?()[]{}<>`'\"", ".,:;!?()[]{}<>`'\""
_CHOICE = compile_late(r"\{([^{}]{0,100})\}")


class Named(IntEnum):
    """How a message names a skill."""

    NOT = 0
    # It says not to use it, and nothing else of it.
    REFUSED = 1
    # Somewhere in the message: perhaps only as what was done before.
    MENTIONED = 2
    ASKED_FOR = 3
    # The whole message, or the command that it begins with.
    CALLED = 4


class Hints(NamedTuple):
    """What a message says outright about one skill."""

    named: Named = Named.NOT
    trigger: str = ""
    veto: str = ""
    path: str = ""


def fold(text: str) -> str:
    """Return `text` as phrases are compared: compatible characters equal, case and spaces apart."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def find_paths(message: str) -> tuple[str, ...]:
    """Return what looks like a path or a file in `message`."""
    words = (word for word in message.split() if len(word) <= _LONGEST_PATH)
    plain = (word.lstrip(_OPENING).rstrip(_CLOSING).removeprefix("./") for word in words)
    found = (word for word in plain if _PATH.fullmatch(word))
    return tuple(dict.fromkeys(found))[:_MOST_PATHS]


class _Phrase:
    """A trigger, ready to be found; its pattern is made once, when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._wanted = fold(text)
        self._pattern: re.Pattern[str] | None = None

    def is_in(self, message: str) -> bool:
        """True where the folded `message` has it as words of its own."""
        # The plain look first: nearly every trigger is in nearly no message.
        if not self._wanted or self._wanted not in message:
            return False
        # Scripts without spaces have no edges of words; a letter or two mean something only alone.
        if has_dense_script(self._wanted):
            return True
        if len(self._wanted) < _SHORTEST_WORD_TRIGGER:
            return message == self._wanted
        if self._pattern is None:
            self._pattern = re.compile(rf"(?<!\w){re.escape(self._wanted)}(?!\w)")
        return self._pattern.search(message) is not None


class _Triggers(NamedTuple):
    any: tuple[_Phrase, ...]
    all: tuple[_Phrase, ...]
    none: tuple[_Phrase, ...]

    def found_in(self, message: str) -> str:
        """Return the trigger that the message has: the longest of any, or all of all."""
        if self.all:
            if not all(phrase.is_in(message) for phrase in self.all):
                return ""
            if not self.any:
                return " + ".join(phrase.text for phrase in self.all)
        there = (phrase.text for phrase in self.any if phrase.is_in(message))
        return max(there, key=len, default="")


class HintIndex:
    """The names, triggers and globs of many skills, ready to be found in a message."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        # By the first word of the name: a message has few words, a catalogue many names.
        self._names: dict[str, list[tuple[int, str]]] = {}
        self._triggers: dict[int, _Triggers] = {}
        # What we ship is meant only where somebody speaks of us.
        self.ours = [index for index, skill in enumerate(skills) if skill.bundled]
        for index, skill in enumerate(skills):
            for name in {fold(skill.name), fold(skill.key)} - {""}:
                first = _WORD.search(name)
                word = _ODD if first is None else first.group()
                self._names.setdefault(word, []).append((index, name))
            triggers = skill.metadata.triggers
            kinds = triggers.any, triggers.all, triggers.none
            if any(kinds):
                self._triggers[index] = _Triggers(*(tuple(map(_Phrase, some)) for some in kinds))
        self._globs = {
            index: tuple(form for glob in skill.globs for form in _forms(glob))
            for index, skill in enumerate(skills)
            if skill.globs
        }

    def find_called(self, message: str) -> list[int]:
        """Return the skills whose name `message` is, or begins with as a command."""
        text = fold(message)
        said, words = _read_call(text), dict.fromkeys((_ODD, *_WORD.findall(text)))
        named = (pair for word in words for pair in self._names.get(word, ()))
        return list(dict.fromkeys(index for index, name in named if name in said))

    def of(self, message: str, paths: Sequence[str] = ()) -> dict[int, Hints]:
        """Return what `message` and the files at hand say outright, for the skills concerned."""
        text = fold(message)
        found: dict[int, Hints] = {}
        for word in dict.fromkeys((_ODD, *_WORD.findall(text))):
            for index, name in self._names.get(word, ()):
                named = _find_named(text, name) if name in text else Named.NOT
                if named > found.get(index, Hints()).named:
                    found[index] = Hints(named=named)
        for index, triggers in self._triggers.items():
            found[index] = found.get(index, Hints())._replace(
                trigger=triggers.found_in(text),
                veto=next((phrase.text for phrase in triggers.none if phrase.is_in(text)), ""),
            )
        here = (*paths, *find_paths(message)) if self._globs else ()
        for index, globs in self._globs.items() if here else ():
            path = next((path for path in here if _matches(path, globs)), "")
            found[index] = found.get(index, Hints())._replace(path=path)
        return {index: hints for index, hints in found.items() if hints != Hints()}


def contains(message: str, phrase: str) -> bool:
    """True where the folded `message` has `phrase` as words of its own."""
    return _Phrase(phrase).is_in(message)


def is_called(message: str, name: str) -> bool:
    """True where the folded `message` is this name, or begins with it as a command."""
    return _find_named(message, fold(name)) is Named.CALLED


def _read_call(message: str) -> set[str]:
    """Return what a folded message calls if a skill is of that name."""
    command = _COMMAND.match(message)
    name = command.group("name").rstrip(".,:;!?") if command else ""
    return {message.strip(" .!?`\"'"), name} - {""}


def _find_named(message: str, name: str) -> Named:
    if name in _read_call(message):
        return Named.CALLED
    escaped = re.escape(name)
    # Only a name of several parts is unmistakable: "test" and "review" are words of any message.
    several = re.search(r"[\w][-_:./][\w]", name) is not None
    pattern = rf"(?<![\w-]){escaped}(?![\w-])" if several else _AS_SKILL.format(escaped)
    found = Named.NOT
    for match in re.finditer(pattern, message):
        before = message[max(0, match.start() - _LOOK_BACK) : match.start()]
        if _REJECTED.search(before):
            found = max(found, Named.REFUSED if _REFUSED.search(before) else Named.NOT)
            continue
        found = max(found, Named.ASKED_FOR if _ASKING.search(before) else Named.MENTIONED)
    return found


def _forms(glob: str) -> tuple[str, ...]:
    """Return the plain patterns that a glob stands for: each choice, and two stars as no folder."""
    forms = [glob[:_LONGEST_GLOB]]
    # Every choice multiplies what there is, so there is an end to both.
    while len(forms) < _MOST_FORMS and _CHOICE.search(forms[0]):
        forms = [chosen for form in forms for chosen in _choose(form)][:_MOST_FORMS]
    plain = (form for one in forms for form in (one, one.replace("**/", "")))
    return tuple(dict.fromkeys(plain))


def _choose(form: str) -> list[str]:
    """Return `form` once for each alternative of its first choice."""
    choice = _CHOICE.search(form)
    if choice is None:
        return [form]
    before, after = form[: choice.start()], form[choice.end() :]
    return [f"{before}{part.strip()}{after}" for part in choice.group(1).split(",")[:_MOST_FORMS]]


def _matches(path: str, forms: Sequence[str]) -> bool:
    name = path.rpartition("/")[2]
    # Programs give whole paths; a glob counts from some folder above the file.
    return any(
        fnmatchcase(path, form) or fnmatchcase(name, form) or fnmatchcase(path, f"*/{form}")
        for form in forms
    )


# What is said outright: enough to lift a likely skill to the top, not an unlikely one.
_BY_TRIGGER, _BY_WORD, _BY_PATH = 0.15, 0.06, 0.06
# A name that is asked for wins over whatever else the message is about; one that only occurs does
# not ("I just finished setup-db, what now?").
_BY_WISH, _BY_MENTION = 0.4, 0.06


def add_hints(hints: Mapping[int, Hints], size: int) -> Floats:
    """Return what is said outright for each of so many skills."""
    added = np.zeros(size, np.float32)
    for place, found in hints.items():
        added[place] = sum(weigh_hints(found).values())
    return added


def weigh_hints(hints: Hints) -> dict[str, float]:
    """Return what each thing that is said outright about a skill adds."""
    # A trigger of one word proves little more than the word itself, which counts already.
    several = len(hints.trigger.split()) > 1 or not hints.trigger.isascii()
    trigger = (_BY_TRIGGER if several else _BY_WORD) if hints.trigger else 0.0
    named = _BY_WISH if hints.named >= Named.ASKED_FOR else _BY_MENTION if hints.named else 0.0
    return {"named": named, "trigger": trigger, "path": _BY_PATH if hints.path else 0.0}


_LONGEST = 40
_LONGEST_CLOSING = 120
_REMEMBERED = 64
# About as many n-grams as these are a word in a script without spaces.
_LETTERS = 4
_CLAUSE = re.compile(
    r"[\s\d]*(?:[.,;:!\n()\u3001\u3002\uff0c\uff01\uff1b\uff1a\u2013\u2014]|\s-\s)+[\s\d]*"
)
_ASKS = re.compile(r"[?\uff1f]")


class Closing(Enum):
    """What a message says that begins nothing."""

    THANKS = 0
    # It works now, the error is gone.
    OVER = 1


def is_follow_up(message: str) -> bool:
    """True for a message that only makes sense after another one: "yes, do it"."""
    text = message.strip()
    return len(text) <= _LONGEST and _follow_ups().fullmatch(text) is not None


# Whether a message needs an answer, and what it leans to, both ask.
@lru_cache(maxsize=_REMEMBERED)
def read_closing(message: str) -> Closing | None:
    """Say what a message of thanks, praise or good news ends; None where it says anything else."""
    if len(message) > _LONGEST_CLOSING or _ASKS.search(message):
        return None
    text = message.lower()
    if not message.isascii():
        marked = unicodedata.normalize("NFKD", text.replace("\u2019", "'"))
        text = unicodedata.normalize("NFC", "".join(filter(_is_no_accent, marked)))
    cues = _compile_closing("thanks", "over")
    if _compile_closing("open").search(text) or not cues.search(text):
        return None
    if not all(_is_closing(clause, cues) for clause in _CLAUSE.split(text)):
        return None
    return Closing.OVER if _compile_closing("over").search(text) else Closing.THANKS


def _is_closing(clause: str, cues: re.Pattern[str]) -> bool:
    """True where a clause says nothing else; what the news is about ("the error") may be named."""
    rest, found = cues.subn(" ", clause)
    words = split_words(_follow_ups().sub(" ", rest))
    return len(words.running) + len(words.grams) // _LETTERS <= bool(found)


def _is_no_accent(char: str) -> bool:
    return not "\u0300" <= char <= "\u036f"


@cache
def _compile_closing(*groups: str) -> re.Pattern[str]:
    table = read_table("routing/words.toml")["closing"]
    words = "|".join(word for group in groups for word in table[group]["words"])
    signs = "|".join(sign for group in groups for sign in table[group]["signs"])
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)|{signs}")


@cache
def _follow_ups() -> re.Pattern[str]:
    words = read_table("routing/words.toml")["follow_up"]
    either = "|".join(re.escape(word) for group in words.values() for word in group)
    # Scripts without spaces need no separator either.
    gap = r"(?:[\s,.!\uff0c\u3002\uff01\u3001\uff5e]+|$|(?<=[^\x00-\x7f]))"
    return re.compile(rf"(?:(?:{either}){gap})+", re.IGNORECASE)


# Against skills that are made to fit everything: no set of honest ones can say how much.
_BREADTH_SHARE, _MOST_BREADTH = 8.0, 0.06
_NEGATIVE_SHARE = 0.4
# Half of the letters in another script, and an English vector means nothing.
_FOREIGN_ENOUGH = 0.5


class Shares(NamedTuple):
    """What each signal weighs."""

    # The weight of meaning: this much at least, and more where skills have few words.
    least_meaning: float
    more_meaning: float
    few_words: float
    phrase: float
    opening: float
    name: float
    word_breadth: float
    # Of words that only paths, addresses and identifiers have: for the order, never for a load.
    mention: float


@cache
def read_shares() -> Shares:
    """Return the weights that were fitted for the model that ships."""
    return Shares(**read_table("model/constants.toml")["ranking"])


class Fused(NamedTuple):
    """What every signal adds for each skill; the total is their sum."""

    total: Floats
    parts: Mapping[str, Floats]
    # The weight that meaning had.
    meaning: float


def weight_of_meaning(words_per_skill: float, shape: MessageShape, *, english_only: bool) -> float:
    """Return how much meaning counts against words, from 0 to 1."""
    if not shape.words:
        return 0.0
    weight = weigh_meaning(words_per_skill, read_shares())
    foreign = max(shape.dense_script, shape.non_latin)
    if not english_only or foreign == 0:
        return weight
    return weight * max(0.0, 1 - foreign / _FOREIGN_ENOUGH)


def weigh_meaning(words_per_skill: float, shares: Shares) -> float:
    """Return how much meaning counts in a catalogue."""
    many = (words_per_skill / shares.few_words) ** 2
    return min(1.0, shares.least_meaning + shares.more_meaning / (1 + many))


def fuse(
    lexical: LexicalScores,
    dense: DenseScores | None,
    *,
    breadth: Breadth,
    weight: float,
    shares: Shares | None = None,
) -> Fused:
    """Weigh the scores of one message against each other, or of many, a row for each."""
    shares = shares or read_shares()
    parts: dict[str, Floats] = {}
    if dense is not None and weight > 0:
        phrase = shares.phrase * (dense.best - dense.whole)
        meant: Floats = dense.whole + shares.opening * (dense.opening - dense.whole)
        parts["meaning"] = weight * meant
        parts["phrase"] = weight * phrase
        # A skill that fits everything must fit better than one that fits this.
        parts["breadth"] = -np.minimum(weight * _BREADTH_SHARE * breadth.meaning, _MOST_BREADTH)
        parts["negation"] = -weight * _NEGATIVE_SHARE * np.maximum(dense.negative - dense.best, 0)
    parts["words"] = (1 - weight) * lexical.damped
    # The same for words: a description that has a word for every message must have more of them.
    common: Floats = np.minimum(breadth.words, lexical.damped)
    parts["common"] = (weight - 1) * shares.word_breadth * common
    parts["name"] = shares.name * lexical.names
    total = np.zeros_like(lexical.scores)
    for part in parts.values():
        total += part
    return Fused(total, parts, weight)


DEFAULT = Thresholds(load=0.5, offer=0.2)
# A skill is loaded beside the best only if it fits nearly as well; an offer costs one line more.
_NEARLY = {Decision.LOAD: 0.75, Decision.OFFER: 0.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """From raw evidence to a score: the evidence that stands for one half, and how steep it is."""

    least: float
    # Meaning scores higher than words, and long texts share words with anything.
    by_meaning: float
    long_texts: float
    # Without an encoder only words are left, on a scale of their own.
    words_only: float
    long_words_only: float
    words_steepness: float
    steepness: float
    # Long texts differ more, so that what may fit lies further below what does.
    long_steepness: float
    lead: float
    everyday: float
    # How much a message says, in rare words, to be believed by half; where texts are long.
    half_said: float
    said: float
    # What kinds of messages that need no skill add to the bar; where texts are short, all ask.
    idle: float
    # What an occasion adds, and from which evidence of the topic on it is not asked.
    occasion: float
    topic_enough: float
    topic_steepness: float

    def half(self, words_per_skill: float, weight: float) -> float:
        """Return the evidence that is as likely enough as not; `weight` is that of meaning."""
        if weight <= 0:
            return self.words_only + self.long_words_only * _many(words_per_skill)
        more = max(0.0, weight - read_shares().least_meaning)
        return self.least + self.by_meaning * more + self.long_texts * _many(words_per_skill)


@cache
def read_scale() -> Scale:
    """Return the scale that was fitted for the model that ships."""
    return Scale(**read_table("model/constants.toml")["decision"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What is known of a message and of a catalogue when skills are scored.

    `mass` is how much the message says in rare words, `asked_so` how nearly it is a request that
    the author of each skill wrote, 2 in its very words, `leaning` how far it leans to errands,
    `idle` how far it is of a kind that needs no skill, `words_per_skill` how long the catalogue's
    texts are, and `weight` what meaning had; 0 without an encoder. All functions here take one
    message, or many: then what belongs to a message is a column, and evidence has a row for each.
    """

    mass: float | Floats
    asked_so: Floats
    words_per_skill: float
    weight: float
    leaning: float | Floats = 0.0
    idle: float | Floats = 0.0


def _many(words_per_skill: float) -> float:
    return words_per_skill / (words_per_skill + 400)


def weigh_topic(topic: Floats, outright: Floats, signs: Signs, scale: Scale) -> Floats:
    """Return by how much the evidence of each skill is above what is as likely enough as not.

    Args:
        topic: the fused total of each skill.
        outright: what the message says outright for each of them.
        signs: what is known of message and catalogue.
        scale: the constants that were fitted for encoder and fusion.
    """
    many = _many(signs.words_per_skill)
    believed: NDArray[np.floating] | float = 1.0
    if signs.weight > 0:
        # Among long texts a few words find something anywhere; among short ones they have to do.
        believed = (signs.mass / (signs.mass + scale.half_said)) ** (scale.said * many**2)
    raised: Floats = topic * (believed + (1 - believed) * signs.asked_so) + outright
    raised += scale.everyday * (1 - many) * signs.leaning - scale.idle * many * signs.idle
    if topic.shape[-1] > 1:
        total = topic + outright
        second = np.partition(total, -2, axis=-1)[..., -2:-1]
        raised += scale.lead * many * np.maximum(total - second, 0)
    above: Floats = raised - np.float32(scale.half(signs.words_per_skill, signs.weight))
    return above


def weigh_occasion(above: Floats, serving: Floats, scale: Scale) -> Floats:
    """Return what the occasion adds for each skill: the less, the more the topic says."""
    best = above.max(axis=-1, keepdims=True, initial=-1.0)
    steps = (best - scale.topic_enough) / scale.topic_steepness
    unsaid = 1 / (1 + np.exp(np.clip(steps, -40, 40)))
    found: Floats = (scale.occasion * unsaid * serving).astype(np.float32)
    return found


def scores(above: Floats, signs: Signs, scale: Scale) -> Floats:
    """Return the score of each skill, from 0 to 1, in the same order."""
    many = _many(signs.words_per_skill)
    steepness = scale.steepness + scale.long_steepness * many
    if signs.weight <= 0:
        steepness = scale.words_steepness * (1 + many)
    # Beyond these the exponential overflows, and the score is 0 or 1 anyway.
    steps = np.clip(above / steepness, -40, 40)
    scored: Floats = (1 / (1 + np.exp(-steps))).astype(np.float32)
    return scored


def decide(
    order: Sequence[int], scored: Floats, evidence: Floats, thresholds: Thresholds, most: int
) -> tuple[Decision, list[int]]:
    """Return what to do and with which skills, best first."""
    if not order or most < 1:
        return Decision.NONE, []
    top = order[0]
    for decision, least in ((Decision.LOAD, thresholds.load), (Decision.OFFER, thresholds.offer)):
        if scored[top] >= least:
            near = [
                index
                for index in order[:most]
                if (scored[index] >= least or decision is Decision.OFFER)
                and evidence[index] >= _NEARLY[decision] * evidence[top]
            ]
            return decision, near or [top]
    return Decision.NONE, []
