"""What a person types after a task: whether it objects, sets a rule, or asks for a skill.

Nobody presses a button for `that was wrong`; the next message has to tell. No word decides alone.
Groups of cues (`data/cues.toml`) are looked for at the beginning of a message and anywhere in it,
beside its shape, and for rules so are its words and short runs of letters. How much each counts was
fitted by `training/corrections.py`, on real messages above all, and stands in `data/weights.toml`
and `data/runs.txt`. Above zero a score means yes. Paths, addresses and code say what a message is
about and nothing of its kind, so they are not read.

What is asked about a skill is told by phrases (`data/corrections.toml`).

An agent's last words are read as well, for whether they admit that the task is not done; doubt
counts as not done. Each clause is read on its own, what is quoted is not read at all, and a failure
counts where the agent, its tests or its result has it now (`data/closings.toml`).
"""

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from itertools import pairwise
from zlib import crc32

from prowess.data import compile_group, join_phrases, join_pieces, read_pack, read_text

# Who objects or sets a rule does so soon; what comes after is material.
MOST_WEIGHED, _MOST_SEARCHED = 1200, 600
_EARLY, _MANY, _MANY_LINES = 16, 4, 7
_SHORT, _LONG = (24, 60, 150), (400, 900)
_MATERIAL = re.compile(
    r"```.*?(?:```|$)|\u300c[^\u300d]*\u300d|https?://\S+|@?[\w.~-]{0,80}[/\\][\w./\\()\[\]:~#-]+",
    re.DOTALL,
)
_SENTENCES = re.compile(r"[.!?\u3002\uff01\uff1f](?:\s|$)")
_ITEM = re.compile(r"(?:^|\n)\s{0,8}(?:[-*]|\d{1,2}[.)])\s")
_HAN = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]")
_ASKING = ("?", "\uff1f", "\u061f")
# How many weights there are for runs of words and letters, and how much of a message has some.
RUNS = 1 << 14
_MOST_WORDS, _MOST_LETTERS = 60, 300
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[?!:,.]")
# So many letters of a Latin script does one sign of a word or syllable stand for.
_LETTERS_A_SIGN = 3
# Of what is a rule, or can be none, whatever else it says.
_SURE = 99.0
# An objection below this is for the moment: more than nine of ten real ones are.
_FAR = -0.75
# Rules are short: of those that we have read one of 34 is longer.
_LONG_RULE = 300


@dataclass(frozen=True, slots=True)
class Weighed:
    """What the heads say of a message; above zero is a yes."""

    objects: float
    lasts: float


@lru_cache(maxsize=512)
def weigh(message: str) -> Weighed:
    """Return how far a message objects, and how far it sets a rule."""
    found, lasts = describe(message[:MOST_WEIGHED]), -_SURE
    if may_set_a_rule(message):
        is_plain = "chooses" in found or ("henceforth early" in found and "under 24" not in found)
        is_plain = is_plain and "under 150" in found
        lasts = _SURE if is_plain else _score("lasts", found) + _weigh_runs(message)
    # What was pasted speaks to anybody.
    objects = -_SURE if "template early" in found else _score("objects", found)
    return Weighed(objects, lasts)


def _score(head: str, found: Mapping[str, float]) -> float:
    table = read_pack("weights")[head]
    weights: dict[str, float] = table["weights"]
    total = sum(weights[name] * value for name, value in found.items() if name in weights)
    return float(total + table["bias"] - table["bar"])


def _weigh_runs(message: str) -> float:
    step, weights = _read_runs()
    runs = list_runs(message)
    return float(step * sum(weights[run] for run in runs) / max(len(runs), 1) ** 0.5)


@cache
def _read_runs() -> tuple[float, memoryview]:
    step, weights = read_text("language/data/runs.txt").split()
    return float(step), memoryview(b64decode(weights)).cast("b")


def list_runs(message: str) -> set[int]:
    """Return the words, pairs of words and short runs of letters of a message, by their hash."""
    text = strip_material(message[:MOST_WEIGHED])
    words = ["^", *_WORD.findall(text)[:_MOST_WORDS]]
    found = {*words, *(f"{one} {other}" for one, other in pairwise(words))}
    # One sign says as much there as a short word elsewhere.
    sizes, letters = (1, 2, 3) if _HAN.search(text) else (3, 4), f" {text[:_MOST_LETTERS]} "
    for size in sizes:
        found |= {f"={letters[at : at + size]}" for at in range(len(letters) - size + 1)}
    return {crc32(one.encode()) % RUNS for one in found}


def describe(message: str) -> dict[str, float]:
    """Return what can be said of a message without understanding it; what is zero is left out."""
    text = strip_material(message)
    found: dict[str, float] = {}
    for name, pattern in _compile_cues().items():
        places = [match.start() for match in pattern.finditer(text[:_MOST_SEARCHED])]
        if places:
            found[name] = 1.0
            found[f"{name} many"] = min(len(places), _MANY) / _MANY
            if places[0] < _EARLY:
                found[f"{name} early"] = 1.0
    found.update(dict.fromkeys(_describe_shape(message, text), 1.0))
    found.update(dict.fromkeys(_describe_whole(message, found), 1.0))
    pairs = read_pack("cues")["together"]["pairs"]
    both = (pair for pair in pairs if all(one in found for one in pair.split(" + ")))
    return found | dict.fromkeys(both, 1.0)


# Who rejects by a phrase does so at once.
_MOST_PHRASE = 300


def _rejects_by_phrase(message: str) -> bool:
    """Return whether a message rejects what was done in words that hardly mean anything else."""
    text = _skip_praise(message)
    if _compile_begins().match(text) or compile_group("objections", "anywhere").search(text):
        return True
    if any(compile_group("corrections", one).search(text) for one in _REJECTING):
        return True
    fails = compile_group("objections", "fails").search(text)
    condition = compile_group("objections", "condition")
    return fails is not None and condition.search(text[: fails.start()]) is None


def _skip_praise(message: str) -> str:
    """Return the beginning of a message; of one that begins with praise, what follows a `but`."""
    text = " ".join(message[:_MOST_PHRASE].lower().replace("\u2019", "'").split())
    if not compile_group("objections", "praise", "phrases").match(text):
        return text
    turn = compile_group("objections", "praise", "turns").search(text)
    return "" if turn is None else text[turn.end() :]


_REJECTING = ("why", "should_have", "not_so")


@cache
def _compile_begins() -> re.Pattern[str]:
    filler = join_pieces(read_pack("objections")["places"]["FILLER"])
    return re.compile(rf"\W{{0,9}}{filler}(?:{join_phrases('objections', 'begins')})")


def _describe_whole(message: str, found: Mapping[str, float]) -> Iterator[str]:
    rejects, asks = _rejects_by_phrase(message), _is_question(message)
    of_the_agent = not {"you", "deed", "still", "meant", "why", "should_have"}.isdisjoint(found)
    claims = {
        "phrase": rejects,
        "phrase alone": rejects and "under 60" in found,
        "praise": not _skip_praise(message),
        "asks alone": asks,
        "asks of the world": asks and not of_the_agent,
        "asks of the agent": asks and of_the_agent,
    }
    return (name for name, holds in claims.items() if holds)


def strip_material(message: str) -> str:
    """Return the words of a message in small letters, without code, paths and addresses."""
    plain = _MATERIAL.sub(" ", message).lower().replace("\u2019", "'")
    return " ".join(plain.split())


def _describe_shape(message: str, text: str) -> Iterator[str]:
    size = len(text) * (_LETTERS_A_SIGN if _HAN.search(text) else 1)
    letters = sum(letter.isalpha() for letter in message)
    lines = message.strip().count("\n")
    claims = {
        "ends asking": text.endswith(_ASKING),
        "asking": any(sign in text for sign in _ASKING),
        "exclaiming": "!" in text or "\uff01" in text,
        **{f"under {bound}": size < bound for bound in _SHORT},
        **{f"over {bound}": size > bound for bound in _LONG},
        "material": len(text) < 0.6 * len(message),
        "lines": lines >= _TEMPLATE_ITEMS,
        "many lines": lines > _MANY_LINES,
        "capitals": sum(letter.isupper() for letter in message) > 0.5 * letters > 1,
        "trails off": "..." in message,
        "list": _ITEM.search(message) is not None,
        "small letter first": message[:1].islower(),
        "sentences": len(_SENTENCES.findall(text)) >= _MANY,
    }
    return (name for name, holds in claims.items() if holds)


@cache
def _compile_cues() -> dict[str, re.Pattern[str]]:
    return {
        name: _compile(group) for name, group in read_pack("cues").items() if name != "together"
    } | {name: compile_group("corrections", name) for name in ("why", "should_have")}


def _compile(group: Mapping[str, list[str]]) -> re.Pattern[str]:
    words, signs = "|".join(group.get("words", ())), "|".join(group.get("signs", ()))
    parts = (rf"(?<!\w)(?:{words})(?!\w)" if words else "", signs)
    return re.compile("|".join(part for part in parts if part))


# A dot inside of a name ends nothing: `Promise.all`.
_SENTENCE = re.compile(r"(?:[^.!?\u3002\uff01\uff1f\n]|[.!?](?=\w))+[.!?\u3002\uff01\uff1f]*")
_TEMPLATE_ITEMS, _TEMPLATE_LETTERS = 3, 700
# What a shell or a program printed, at the beginning of a line.
_LOG = re.compile(
    r"(?im)^\s{0,8}(?:[$%\u276f] \S|\w{0,40}(?:warning|error|exception)\b[^.\n]{0,60}:\s"
    r"|diff --git |@@ -\d|\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[(?:error|warn|info|debug|fatal)\w*\])"
)
_HEADING = re.compile(r"(?:^|\n)\s{0,3}(?:#{1,6}\s|\*\*[^*\n]{1,60}\*\*:?\s*(?:\n|$))")


def may_set_a_rule(message: str) -> bool:
    """Return whether a message can set a rule at all, whatever its words.

    A question cannot, nor what only tells how things are, nor a text that was pasted, nor a task
    about a thing that is being built, nor a favour that is asked for once, nor a long text that
    does not say that it is for longer.
    """
    text = message[:MOST_WEIGHED]
    tells = _compile(read_pack("corrections")["tells"])
    if is_question(text) or _is_question(text, tells):
        return False
    if _is_pasted(message) or _is_about_a_product(text):
        return False
    words = strip_material(text)
    if len(words) > _LONG_RULE:
        return _compile_cues()["henceforth"].search(words) is not None
    is_favour = compile_group("corrections", "requests").match(words) is not None
    return not is_favour or compile_group("corrections", "longer").search(words) is not None


def _is_question(text: str, tells: re.Pattern[str] | None = None) -> bool:
    """Return whether every sentence asks, or tells how things are, where that is looked for."""
    cues = _compile_cues()
    for match in _SENTENCE.finditer(text):
        words = strip_material(match.group())
        if any(letter.isalnum() for letter in words) and not (
            words.endswith(_ASKING)
            or cues["wonders_why"].match(words)
            or cues["interrogates"].search(words)
            or (tells is not None and tells.search(words))
        ):
            return False
    return True


def is_question(message: str) -> bool:
    """Return whether a message asks what is so, and not for something to be done."""
    words = strip_material(message[:MOST_WEIGHED])
    if compile_group("corrections", "orders").search(words):
        return False
    cues = _compile_cues()
    if cues["interrogates"].match(words) or cues["wonders_why"].match(words):
        return _is_question(message[:MOST_WEIGHED])
    plain, asked = _compile_inquiries()
    is_marked = words.endswith(_ASKING)
    return plain.match(words) is not None or (is_marked and asked.match(words) is not None)


@cache
def _compile_inquiries() -> tuple[re.Pattern[str], re.Pattern[str]]:
    group = read_pack("corrections")["inquires"]
    plain, asked = "|".join(group["plain"]), "|".join(group["asked"])
    return (
        re.compile(rf"(?:{plain})(?!\w)|.*(?:{'|'.join(group['signs'])})"),
        re.compile(rf"(?:{asked})(?!\w)"),
    )


def _is_pasted(message: str) -> bool:
    lines = message.strip().count("\n")
    return (
        (len(message) > _TEMPLATE_LETTERS and lines > _MANY_LINES)
        or len(_ITEM.findall(message)) >= _TEMPLATE_ITEMS
        or _LOG.search(message) is not None
        or sum(map(_bids, message[:MOST_WEIGHED].splitlines())) >= _TEMPLATE_ITEMS
        or _HEADING.search(message) is not None
        or _compile_cues()["template"].search(message.lower()[:MOST_WEIGHED]) is not None
    )


def _bids(line: str) -> bool:
    words, cues = strip_material(line), _compile_cues()
    return any(cues[name].search(words) for name in ("lasts", "forbids", "must"))


def _is_about_a_product(text: str) -> bool:
    found = describe(text)
    of_the_work = {"work", "deed", "own", "norms", "henceforth"}
    is_said_to_it = _compile(read_pack("corrections")["addressed"]).search(strip_material(text))
    is_product = "product" in found and of_the_work.isdisjoint(found) and not is_said_to_it
    return is_product or "builds" in found


# Who corrects does so at once.
MOST_READ = 300
_NEAR = 40
_CLAUSES = re.compile(r"(?<=[.!?:\u3002\uff01\uff1f])\s?")


class Correction(StrEnum):
    """What kind of correction a message is, in words that go on `the next message ...`."""

    WHY = "asked why it was not used"
    SHOULD_HAVE = "said what should have been done"
    NOT_SO = "was a correction"
    NEXT_TIME = "said how to work from now on"
    SKILL = "asked for the skill"


# What a phrase alone can tell, by the group that says so.
_KINDS = (
    (Correction.WHY, "why"),
    (Correction.SHOULD_HAVE, "should_have"),
    (Correction.SKILL, "we_have"),
)


@cache
def _compile_uses() -> re.Pattern[str]:
    skill, use = (f"(?:{join_phrases('corrections', group)})" for group in ("skill", "use"))
    return re.compile(f"{use}.{{0,{_NEAR}}}?{skill}|{skill}.{{0,{_NEAR}}}?{use}")


def find_correction(message: str) -> Correction | None:
    """Return how a message corrects the work before it, or says how to work, if it does."""
    text = _fold(message)
    for kind, group in _KINDS:
        if compile_group("corrections", group).search(text):
            return kind
    if any(map(_points_back, _CLAUSES.split(text))):
        return Correction.SKILL
    if sets_a_rule(message):
        return Correction.NEXT_TIME
    # Who asks why a test fails wants to know; who asks why the agent did it objects.
    asks = "asks of the world" in describe(message[:MOST_WEIGHED])
    return Correction.NOT_SO if objects(message) and not asks else None


def speaks_of_using_a_skill(message: str) -> bool:
    """Return whether a message is about the use of some skill.

    It is an order as often as a correction: it tells only where a skill is known to be unused.
    """
    return _compile_uses().search(_fold(message)) is not None


def _points_back(sentence: str) -> bool:
    """Return whether a sentence is about the use of a skill, and about what was just done."""
    return bool(_compile_uses().search(sentence)) and bool(
        compile_group("corrections", "of_before").search(sentence)
    )


def _fold(message: str) -> str:
    return " ".join(message[:MOST_READ].lower().replace("\u2019", "'").split())


def may_last(message: str) -> bool:
    """Return whether a message may set a rule, also as an objection that is not far from one."""
    weighed = weigh(message)
    return sets_a_rule(message) or (weighed.objects > 0 and weighed.lasts > _FAR)


def objects(message: str) -> bool:
    """Return whether a message rejects what was done before it, instead of asking for more."""
    return weigh(message).objects > 0


def refuses(message: str) -> bool:
    """Return whether a message takes back what was done, also politely, or says how it is done.

    Here doubt counts: what a person would have had otherwise is nothing to do again.
    """
    polite = compile_group("objections", "polite").search(_fold(message))
    return polite is not None or objects(message) or sets_a_rule(message)


SHORTEST, LONGEST = 24, 1200


def states_a_rule(message: str) -> bool:
    """Return whether a message says how a thing is done from now on, by one of seven phrases.

    A question states none, nor does a text that was pasted, nor a task about a thing to be built.
    """
    text = " ".join(message.split())
    rules = compile_group("corrections", "rules", flags=re.IGNORECASE)
    is_said = SHORTEST <= len(text) <= LONGEST and rules.search(text) is not None
    return is_said and may_set_a_rule(message)


def sets_a_rule(message: str) -> bool:
    """Return whether a message sets a rule that should last, by its phrases or by its weights."""
    if len(" ".join(message.split())) > LONGEST:
        return False
    return weigh(message).lasts > 0 or states_a_rule(message)


# How much is read; who reports begins or ends with how it went.
MOST_CLOSING = 3_000
_MOST_CLAUSES = 400

_BULLET = re.compile(r"\s{0,9}(?:[-*\u2022+]|\d{1,3}[.)]|\[.\])\s")


def _phrases(group: str, flags: int = 0) -> re.Pattern[str]:
    return compile_group("closings", group, flags=flags)


def says_not_done(message: str) -> bool:
    """Return whether an agent's last words admit that its task is not done."""
    ends_well = False
    is_story = False
    if not _may_admit(message):
        return False
    for clause, is_bullet in _clauses(message):
        if not _may_admit(clause):
            ends_well = ends_well or _phrases("well").search(clause) is not None
            continue
        condition = _phrases("condition").search(clause)
        fact = clause[: condition.start()] if condition else clause
        if _admits(fact, is_bullet=is_bullet) or _phrases("asks").search(fact):
            return True
        if not clause.endswith(("?", "\uff1f")) and _is_there("now", fact):
            return True
        told = _is_there("then", fact)
        is_story |= told
        ends_well |= not told and _phrases("well").search(fact) is not None
    return is_story and not ends_well


def _may_admit(message: str) -> bool:
    """Return whether a text needs a closer look, which is slow."""
    if not message.isascii() or len(message) > MOST_CLOSING:
        return True
    text = message.lower()
    return any(stem in text for stem in read_pack("closings")["stems"]["words"])


def _clauses(message: str) -> Iterator[tuple[str, bool]]:
    """Yield each clause in small letters, and whether it is an item of a list."""
    if len(message) > MOST_CLOSING:
        half = MOST_CLOSING // 2
        message = f"{message[:half]}\n{message[-half:]}"
    text = (
        _phrases("quoted", re.DOTALL | re.MULTILINE)
        .sub(" x ", message)
        .replace("\u2019", "'")
        .replace("**", "")
        .replace("_", " ")
    )
    for clause in _phrases("end").split(text.lower(), maxsplit=_MOST_CLAUSES):
        words = " ".join(clause.split())
        if words:
            yield words, _BULLET.match(clause) is not None


def _admits(clause: str, *, is_bullet: bool) -> bool:
    if _phrases("own").search(clause):
        return _phrases("found_nothing").search(clause) is None
    return (
        not is_bullet
        and _phrases("start").match(clause) is not None
        and _phrases("over").search(clause) is None
    )


def _is_there(group: str, clause: str) -> bool:
    return _phrases(group).search(clause) is not None and _phrases("over").search(clause) is None
