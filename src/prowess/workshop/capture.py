"""A rule that a user set, told without a model: the same answer every time.

It is a signal and no author. What comes out is one instruction: in the imperative where that takes
no more than leaving words out, and as it was said everywhere else. The user's own words go with it
as evidence. Whole words count, so that `assets` is not `asset` and `scenarios` is no `scenario`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from prowess.data import read_table, read_word_group, read_words
from prowess.language.corrections import sets_a_rule
from prowess.transcripts.turns import ChatTurn, Role

_NOD = re.compile(r"ok[,. ]\s*", re.IGNORECASE)
# What every such skill says besides; it is written once, however many corrections follow.
_HOUSE_RULES = (
    "- Check the result against these steps before the final reply.",
    "- Keep lasting pitfalls here as short bullets.",
)
_SENTENCES = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Topic:
    """A kind of work with a skill of its own, and when it is meant."""

    skill: str
    title: str
    label: str
    when: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """A correction that is worth a proposal, and where it was said."""

    # What the user said, on one line.
    instruction: str
    topic: Topic
    turn: ChatTurn

    @property
    def reason(self) -> str:
        """Why this is proposed, in one line."""
        return f"User correction for {self.topic.label}"

    @property
    def bullet(self) -> str:
        """The instruction as a line of a skill."""
        return f"- {word_rule(self.instruction)}"

    @property
    def body(self) -> str:
        """The instruction as the body of a skill."""
        lines = (f"# {self.topic.title}", "", "## Workflow", "", self.bullet, *_HOUSE_RULES)
        return "\n".join(lines)

    @property
    def description(self) -> str:
        """When such a skill is meant."""
        label = self.topic.label
        return (
            f"{label[:1].upper()}{label[1:]}: rules that the user set. Use when {self.topic.when}."
        )


def capture(said: Iterable[ChatTurn]) -> Capture | None:
    """Return the last rule that a user set, if any."""
    for turn in reversed([turn for turn in said if turn.role is Role.USER]):
        # Lines and lists tell what was pasted, so the text is asked about as it came.
        if sets_a_rule(turn.text):
            text = " ".join(turn.text.split())
            instruction = _NOD.sub("", text, count=1) if _NOD.match(text) else text
            return Capture(instruction=instruction, topic=topic_of(instruction), turn=turn)
    return None


def topic_of(instruction: str) -> Topic:
    """Return the first topic that an instruction speaks of."""
    lowered, table = instruction.lower(), read_table("workshop/capture.toml")
    found = (row for row in table["topic"] if re.search(row["pattern"], lowered))
    row = next(found, table["learned"])
    return Topic(row["skill"], row["title"], row["label"], row["when"])


def holds_everywhere(instruction: str) -> bool:
    """Return whether a rule is a person's own, for all projects, and not one of this project."""
    phrases = read_table("workshop/capture.toml")["everywhere"]["phrases"]
    return re.search("|".join(phrases), instruction.lower()) is not None


def word_rule(instruction: str) -> str:
    """Return a rule as an order to the agent, by leaving out what only addresses it."""
    told = [one for one in _SENTENCES.split(instruction) if not one.endswith(("?", "\uff1f"))]
    text = " ".join(told or [instruction])
    before, after = _compile_around()
    text = after.sub("", before.sub("", text, count=1) or text).strip(" ,;:\u2014-")
    text = _turn_to_agent(text) or instruction
    ended = text if text[-1] in ".!\u3002\uff01" else f"{text}."
    # A name stays as it is written: `pdf-forms: ...`.
    is_word = re.match(r"[^\W\d_A-Z]['\w]*(?![\w:/.-])", ended) is not None
    return ended[:1].upper() + ended[1:] if is_word else ended


@cache
def _compile_around() -> tuple[re.Pattern[str], re.Pattern[str]]:
    table = read_table("workshop/capture.toml")["wording"]
    before, after = "|".join(table["before"]), "|".join(table["after"])
    return (
        re.compile(rf"\A\W*(?:(?:{before})\b[\s,.:;!\u2014-]*)+", re.IGNORECASE),
        re.compile(rf"(?:[\s,]*\b(?:{after}))+\W*$", re.IGNORECASE),
    )


def _turn_to_agent(text: str) -> str:
    for pattern, order in read_table("workshop/capture.toml")["wording"]["orders"]:
        match = re.fullmatch(rf"{pattern}\W*", text, re.IGNORECASE)
        if match:
            return match.expand(order).strip()
    return text


_WORD = re.compile(r"\d+|[^\W_]{2,}|[\u3040-\u9fff\uac00-\ud7af]")
_NEARLY = 0.6


def says_the_same(one: str, other: str) -> bool:
    """Return whether two wordings are of one rule: they want and refuse nearly the same."""
    mine, theirs = _subjects(one), _subjects(other)
    shared, every = mine.keys() & theirs.keys(), mine.keys() | theirs.keys()
    if any(word.isdigit() for word in mine.keys() ^ theirs.keys()):
        return False
    # `use pnpm, not npm` and `use npm, not pnpm` speak of the same.
    is_opposed = any(mine[word] != theirs[word] for word in shared)
    return bool(shared) and not is_opposed and len(shared) >= _NEARLY * len(every)


def name_rule(text: str) -> str:
    """Return what a rule is about, in a form by which another wording of it is known again."""
    found = _subjects(text)
    return " ".join(sorted(f"-{word}" if found[word] else word for word in found))


_CLAUSE = re.compile(r"[,.;:!?\u2014\uff0c\u3002]+|\s-\s|\b(?:but|and|sondern|\u0430)\b")
_STEM = 6


def _subjects(text: str) -> dict[str, bool]:
    """Return what a rule speaks of, and whether it refuses that."""
    table = read_table("workshop/capture.toml")["negations"]
    before, behind, wanted = (read_words(table[name]) for name in ("before", "behind", "wanted"))
    found: dict[str, bool] = {}
    for clause in _CLAUSE.split(text.lower().replace("n't", " not")):
        words = _WORD.findall(clause)
        is_refused = not behind.isdisjoint(words)
        for word in words:
            if word in before:
                is_refused = True
            elif word in wanted:
                is_refused = False
            if word not in read_word_group("workshop/capture.toml", "common"):
                found.setdefault(_as_one(word), is_refused)
    return found


def _as_one(word: str) -> str:
    """Return by what a word is known whatever its ending, or the word that stands for it."""
    rows: list[str] = read_table("workshop/capture.toml")["alike"]["rows"]
    for row in rows:
        if word in row.split():
            return row.split()[0]
    return word.rstrip("s") if word.isascii() else word[:_STEM]
