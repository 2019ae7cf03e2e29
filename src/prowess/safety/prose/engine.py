"""Prose to sightings: where the concepts of a cue stand together, and what stands around them.

Context lowers prose, and code within a sentence, and says so: a warning against a trick, a quoted
text among talk of attacks, a line under a heading about threats. A block of code has no context:
it is copied as it is, and whoever wrote the harm wrote the comment beside it. The original seven
rules ignore it in texts that agents wrote.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import combinations

from prowess.data import read_words
from prowess.reading.views import Spot, View
from prowess.safety.intake.markdown import MarkdownPart
from prowess.safety.model import Sighting
from prowess.safety.prose.words import (
    Cue,
    Passage,
    Pattern,
    Phrasebook,
    Span,
    Window,
    read_compounds,
    read_cues,
    read_hidden_cues,
    read_lexicon,
)

# Code has these words in its messages, options and test data; what it orders is another matter.
_MENTIONED = read_words(
    "prompt-injection-system prompt-injection-ignore-instructions prompt-injection-tool"
    " safety-override authority-claim disable-protection"
)
# One cue says the same of a passage a few times at most.
_PER_CUE = 3
_NEGATION_REACH = 4
_TAKING_BACK = read_words(
    "don't dont do not never avoid please ever just you should trust follow obey believe try"
    " it this that so them these"
)
_CLAUSE_ENDS = (":", ";", ",", ".", "!", "?", "\u2014", "\u2013", "\n\n", "|")
_DOUBLE_NEGATIVE = read_words(
    "forget forgetting hesitate fail failing worry skip skipping miss missing delay mind wait stop"
    " doubt omit neglect refuse"
)
_QUOTED = re.compile(
    # A quotation may go on in the next line of a paragraph.
    r"\"[^\"\n]{3,400}(?:\n[^\"\n]{1,200})?\"|\u201c[^\u201d\n]{3,400}(?:\n[^\u201d\n]{1,200})?\u201d"
    r"|\u00ab[^\u00bb\n]{3,400}(?:\n[^\u00bb\n]{1,200})?\u00bb"
    r"|`[^`\n]{3,400}`|(?<!\w)'[^'\n]{12,400}'(?!\w)"
)


@dataclass(frozen=True, slots=True)
class Passages:
    """A stretch of prose to be judged as one, with what is known of its place."""

    view: View
    headings: tuple[str, ...] = ()
    is_hidden: bool = False
    # A comment or a string in code: written for colleagues more often than for the agent.
    is_aside: bool = False
    # Whether quotation marks quote; around a value of YAML or of a hidden note they do not.
    has_quotes: bool = True


@cache
def phrasebook() -> Phrasebook:
    """Return the lexicon, indexed once."""
    return Phrasebook(read_lexicon())


class CueIndex:
    """Cues by their first need, so that a short passage tries only a handful of them."""

    def __init__(self, cues: Sequence[Cue]) -> None:
        self.cues = tuple(cues)
        self.by_need: dict[str, list[int]] = {}
        for number, cue in enumerate(self.cues):
            for concept in cue.groups[0]:
                self.by_need.setdefault(concept, []).append(number)


@cache
def _index(*, is_hidden: bool) -> CueIndex:
    return CueIndex((*read_cues(), *(read_hidden_cues() if is_hidden else ())))


@cache
def drawn_out_cues() -> CueIndex:
    """Return the cues that hold even where a phrase is drawn out over paragraphs."""
    rule = "prompt-injection-ignore-instructions"
    cues = (cue for cue in read_cues() if cue.rule == rule and cue.level is None and cue.ordered)
    return CueIndex(tuple(cues))


def judge(text: Passages, table: CueIndex | None = None) -> Iterator[Sighting]:
    """Yield what the prose of `text` is seen to ask of an agent."""
    passage = phrasebook().read(text.view)
    if not passage.concepts:
        return
    _compose(passage)
    quotes = _QUOTED.finditer(text.view.text) if text.has_quotes and not text.is_hidden else ()
    quoted = [found.span() for found in quotes]
    about_attacks = _is_about_attacks(text.headings)
    if table is None or text.is_hidden:
        table = _index(is_hidden=text.is_hidden)
    for cue in _find_candidates(table, passage):
        for count, spans in enumerate(_find_matches(cue, passage)):
            if count >= _PER_CUE:
                break
            seen = _make_sighting(cue, passage, spans)
            lowered = _find_contexts(cue, passage, spans, quoted, about_attacks=about_attacks)
            is_aside = text.is_aside and not text.is_hidden
            if is_aside and cue.rule in _MENTIONED and not lowered:
                lowered = ("quoted",)
            yield replace(seen, lowered_by=lowered)


_RUN_ON = re.compile(
    r"\b(?:ignor|disregard|forget|overrid|neglect|dismiss|set\s+aside|pay\s+no\s+attention"
    r"|stop\s+(?:follow|obey)|abandon)",
    re.IGNORECASE,
)


_CALL = re.compile(
    r"(?:note|message|instructions?|hint|attention)\s+(?:to|for)\s+(?:the\s+|any\s+|all\s+)?(?:ai"
    r"|agents?|assistants?|claude|llms?|models?)\b"
    r"|^\W*(?:ai|agents?|assistants?|claude|llms?|copilot|codex)\s*[:,]|\bdear\s+(?:ai|agent"
    r"|assistant|claude)\b",
    re.IGNORECASE,
)


def calls_agent(text: str) -> bool:
    """Whether a comment in code begins by speaking to an agent."""
    return _CALL.search(text[:400]) is not None


def may_run_on(text: str) -> bool:
    """Whether an order to set instructions aside may be drawn out over several paragraphs."""
    return _RUN_ON.search(text) is not None


def _find_candidates(table: CueIndex, passage: Passage) -> Iterator[Cue]:
    """Yield the cues whose first need is met at all."""
    by_need = table.by_need
    numbers = {number for concept in passage.concepts for number in by_need.get(concept, ())}
    for number in sorted(numbers):
        cue = table.cues[number]
        if _may_match(cue, passage):
            yield cue


def _may_match(cue: Pattern, passage: Passage) -> bool:
    """Whether all that `cue` needs stands somewhere in the passage."""
    concepts = passage.concepts
    for concept in cue.musts:
        if concept not in concepts:
            return False
    present = concepts.keys()
    return not any(group.isdisjoint(present) for group in cue.groups)


def _compose(passage: Passage) -> None:
    """Add the concepts that are made of concepts."""
    for name, patterns in read_compounds().items():
        spans = [
            Span(min(span.first for span in match), max(span.last for span in match))
            for pattern in patterns
            if _may_match(pattern, passage)
            for match in _find_matches(pattern, passage)
        ]
        if spans:
            passage.concepts[name] = sorted(spans)


def _make_sighting(cue: Cue, passage: Passage, spans: Sequence[Span]) -> Sighting:
    # Where an address or a path is meant, it is the line that a person wants to see.
    first = min(spans).first
    meant = next((span.first for span in spans if not passage.is_plain(span.first)), first)
    far = passage.sentence_of(first) != passage.sentence_of(meant)
    start = passage.places[meant if far else first][0]
    end = passage.places[max(span.last for span in spans)][1]
    spot = Spot(passage.view, start, max(start + 1, end))
    return Sighting(cue.rule, spot, cue.message, cue.confidence, cue.level)


def _find_matches(cue: Pattern, passage: Passage) -> Iterator[list[Span]]:
    found = [_find_spans(need, passage) for need in cue.needs]
    matches = (
        _match_in_order(cue, passage, found)
        if cue.ordered
        else _match_together(cue, passage, found)
    )
    taken = -1
    for spans in matches:
        first = min(span.first for span in spans)
        last = max(span.last for span in spans)
        if cue.never_negated and _is_negated(passage, spans[0]):
            continue
        if cue.must_order and not _is_told(passage, spans[0]):
            continue
        if first > taken and not _is_excluded(cue, passage, first, last):
            taken = last
            yield spans


def _find_spans(need: str, passage: Passage) -> list[Span]:
    if "|" not in need:
        return passage.concepts.get(need, [])
    joined = [span for concept in need.split("|") for span in passage.concepts.get(concept, ())]
    return sorted(joined)


def _match_in_order(
    cue: Pattern, passage: Passage, found: Sequence[list[Span]]
) -> Iterator[list[Span]]:
    """Each concept after the one before it, the whole within reach."""
    cursors = [0] * len(found)
    for number, begin in enumerate(found[0]):
        spans = [begin]
        for step in range(1, len(found)):
            # Starts only move forward, so each list is walked once.
            while (
                cursors[step] < len(found[step]) and found[step][cursors[step]].first <= begin.first
            ):
                cursors[step] += 1
            after = _find_after(found[step], cursors[step], spans[-1].last)
            if after is None:
                break
            spans.append(after)
        # "Do not forget this: ignore what …" begins with the word that stands nearest.
        following = found[0][number + 1] if number + 1 < len(found[0]) else None
        is_nearer = following and len(spans) > 1 and following.last < spans[1].first
        if len(spans) == len(found) and not is_nearer and _fits(cue, passage, spans):
            yield spans


def _find_after(spans: Sequence[Span], cursor: int, last: int) -> Span | None:
    # A handful of phrases may begin inside the one before; no more are looked at.
    for span in spans[cursor : cursor + 8]:
        if span.first > last:
            return span
    return None


def _match_together(
    cue: Pattern, passage: Passage, found: Sequence[list[Span]]
) -> Iterator[list[Span]]:
    """All concepts in any order: the shortest stretch that ends at each of them."""
    events = sorted(
        ((span, need) for need, spans in enumerate(found) for span in spans),
        key=lambda event: (event[0].first, -event[0].last),
    )
    latest: list[Span | None] = [None] * len(found)
    earlier: list[Span | None] = [None] * len(found)
    for span, need in events:
        # A word of another phrase only counts where there is no better one.
        if latest[need] is None or not any(one and _overlaps(one, span) for one in latest):
            earlier[need], latest[need] = latest[need], span
        spans = _choose_apart(latest, earlier)
        if len(spans) == len(found) and _are_apart(spans) and _fits(cue, passage, spans):
            yield spans


def _choose_apart(latest: Sequence[Span | None], earlier: Sequence[Span | None]) -> list[Span]:
    """Return the last span of each need, or the one before where the last holds another's."""
    known = [span for span in latest if span is not None]
    if len(known) < len(latest) or _are_apart(known):
        return known
    chosen: list[Span] = []
    for span, before in zip(known, earlier, strict=True):
        shared = any(_overlaps(span, other) for other in known if other is not span)
        chosen.append(before if before and shared else span)
    return chosen


def _are_apart(spans: Sequence[Span]) -> bool:
    """Whether each need is met by words of its own: one phrase does not meet two."""
    return not any(_overlaps(one, other) for one, other in combinations(spans, 2))


def _overlaps(one: Span, other: Span) -> bool:
    return one.first <= other.last and other.first <= one.last


def _fits(cue: Pattern, passage: Passage, spans: Sequence[Span]) -> bool:
    first, last = min(span.first for span in spans), max(span.last for span in spans)
    if last - first > cue.near:
        return False
    if cue.window is not Window.SECTION and _parts_rows(passage, first, last):
        return False
    if cue.window is not Window.SENTENCE:
        return True
    return passage.sentence(first) == passage.sentence(last)


_ROW_END = re.compile(r"\|[^\S\n]*\n[^\S\n]*\|")


def _parts_rows(passage: Passage, first: int, last: int) -> bool:
    """Whether a row of a table ends between two words: each row says something of its own."""
    view = passage.view
    between = view.text[passage.places[first][1] : passage.places[last][0]]
    if view.path.endswith((".csv", ".tsv")):
        return "\n" in between
    return "|" in between and _ROW_END.search(between) is not None


def _is_excluded(cue: Pattern, passage: Passage, first: int, last: int) -> bool:
    if not cue.unless:
        return False
    start, _ = passage.sentence_of(first)
    _, end = passage.sentence_of(last)
    return any(passage.has(concept, start, end) for concept in cue.unless)


def _find_contexts(
    cue: Cue,
    passage: Passage,
    spans: Sequence[Span],
    quoted: Iterable[tuple[int, int]],
    *,
    about_attacks: bool,
) -> tuple[str, ...]:
    lowered: list[str] = []
    if cue.negatable and (_is_turned_around(passage, spans) or _is_taken_back(passage, spans)):
        lowered.append("negated")
    # A cue with a "not" of its own is forbidden only where all of it stands in the list.
    if all(_is_listed_as_forbidden(passage, one) for one in spans[: 1 if cue.negatable else None]):
        lowered.append("negated")
    start, end = passage.sentence_of(spans[0].first)
    talks = passage.has("TALK", start, end)
    # An address between backticks is no quotation; an order between quotation marks may be one.
    spoken = [passage.places[span.first][0] for span in spans if passage.is_plain(span.first)]
    at = spoken[0] if spoken else -1
    is_talk = talks or about_attacks or passage.has("CONTAINS_LIKE", start, end)
    if _stands_in_quotes(spoken, quoted, is_talk=is_talk):
        lowered.append("quoted, among talk of attacks" if talks or about_attacks else "quoted")
    # "Bypasses approval" in an audit's table says what is wrong; "bypass approval" gives an order.
    describes = passage.words[spans[0].first].endswith(("s", "ing"))
    reported = passage.has("REPORTED", start, end)
    if about_attacks and (talks or describes or reported):
        lowered.append("about attacks")
    if passage.has("REPORTED", start, min(spans).first - 1) or _is_shown_below(passage, start, at):
        lowered.append("reported")
    return tuple(lowered)


def _stands_in_quotes(
    spoken: Sequence[int], quoted: Iterable[tuple[int, int]], *, is_talk: bool
) -> bool:
    """Whether all of its words are quoted, or the first one where such texts are spoken of."""
    inside = [any(begin <= place < end for begin, end in quoted) for place in spoken]
    return bool(inside) and inside[0] and (is_talk or all(inside))


def _is_shown_below(passage: Passage, start: int, at: int) -> bool:
    """Whether it stands in a block quotation, below a sentence that speaks of attacks."""
    text = passage.view.text
    line = text[text.rfind("\n", 0, max(at, 0)) + 1 : max(at, 0)]
    if not line.lstrip().startswith(">") or start == 0:
        return False
    first, last = passage.sentence_of(start - 1)
    return passage.has("TALK", first, last)


# What stands before the verb of an order; before a verb that tells stands its subject.
_BEFORE_ORDER = read_words(
    "must should shall always then and or first please you to now also just please next finally"
    " step note important required silently secretly quietly immediately automatically periodically"
    " agent assistant ai claude simply not never but sure so that while finished done ready"
)
_CONDITIONS = read_words("if when whenever once after before unless where")
_ITSELF = read_words("skill it agent assistant claude")
_NEW_CLAUSE = (":", ",", ";", "-", "\u2014", "\u2013")
_BEFORE = 20
_LACKING = read_words("without avoid refrain")
_TOLD_ENDINGS = ("s", "ed", "ing")


def _is_cell(passage: Passage, span: Span) -> bool:
    """Whether it stands in a table, which shows what there is and tells nobody to do it."""
    text, at = passage.view.text, passage.places[span.first][0]
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip()
    return line.startswith("|")


def _is_told(passage: Passage, span: Span) -> bool:
    """Whether a verb is told to somebody: "disable" as an order, not "disables" or "disabling"."""
    verb, first = passage.words[span.first], passage.sentence_of(span.first)[0]
    if verb in _ITSELF or verb in _LACKING:
        return True
    if _is_cell(passage, span):
        return False
    if verb.endswith(_TOLD_ENDINGS) and not verb.endswith("ss"):
        # What a skill says of itself is as good as an order.
        return verb.endswith("s") and passage.words[span.first - 1] in _ITSELF
    # "A bypass-merge" is a thing.
    if passage.view.text[passage.places[span.first][1] :][:1] == "-":
        return False
    if span.first == first:
        return True
    start, _end = passage.places[span.first]
    before = passage.view.text[max(0, start - _BEFORE) : start].rstrip(" *_`\"'(")
    # "If you click Allow" says what happens then.
    condition, subject = passage.words[max(0, span.first - 2)], passage.words[span.first - 1]
    is_order = subject in _BEFORE_ORDER and not (subject == "you" and condition in _CONDITIONS)
    return is_order or before.endswith(_NEW_CLAUSE)


def _is_negated(passage: Passage, span: Span) -> bool:
    first, _ = passage.sentence_of(span.first)
    return any(
        negates(passage, other, span.first)
        for other in passage.between(
            "NOT", max(first, span.first - _NEGATION_REACH), span.first - 1
        )
    )


def negates(passage: Passage, no: Span, index: int) -> bool:
    """Whether a "not" reaches the token at `index`: no other clause begins between the two.

    "Never skip this: run it" and "don't forget to run it" order what they seem to forbid.
    """
    if no.last + 1 < index and passage.words[no.last + 1] in _DOUBLE_NEGATIVE:
        return False
    between = passage.view.text[passage.places[no.last][1] : passage.places[index][0]]
    return not any(mark in between for mark in _CLAUSE_ENDS)


def _is_turned_around(passage: Passage, spans: Sequence[Span]) -> bool:
    """Whether a "not" reaches the match, or stands right before one of its words."""
    if _is_negated(passage, spans[0]) or _is_negated(passage, min(spans)):
        return True
    return any(
        negates(passage, no, span.first)
        for span in spans
        for no in passage.between("NOT", span.first - 1, span.first - 1)
    )


def _is_taken_back(passage: Passage, spans: Sequence[Span]) -> bool:
    """Whether the next sentence is a "don't" and no more: some people do this. Don't.

    "Don't ask questions" is an order of its own, and takes nothing back.
    """
    _, end = passage.sentence_of(max(span.last for span in spans))
    if not passage.has("NOT", end + 1, end + 1):
        return False
    first, last = passage.sentence_of(end + 1)
    return _TAKING_BACK.issuperset(passage.words[first : last + 1])


_ITEM = re.compile(r"\s*(?:[-*+\u2022\u274c]|\d+[.)])\s")
_MOST_ITEMS = 30


def _is_listed_as_forbidden(passage: Passage, span: Span) -> bool:
    """Whether it is an item of a list below a line such as "Must not:" or "Never:"."""
    text = passage.view.text
    lines = text[: passage.places[span.first][0]].rsplit("\n", _MOST_ITEMS)
    if not _ITEM.match(lines[-1] + " "):
        return False
    lead = next((line for line in reversed(lines) if line.strip() and not _ITEM.match(line)), "")
    plain = lead.strip().strip("*_# ").rstrip("*_")
    found = _FORBIDDING_LEAD.search(plain) if plain.endswith(":") else None
    return found is not None and _DOUBLE_NEGATIVE.isdisjoint(found[1].lower().split())


_FORBIDDING_LEAD = re.compile(
    r"\b(?:not|never|don'?t|avoid|forbidden|prohibited|anti-?patterns?|mistakes)\b([\w\s,']{0,30}):$",
    re.IGNORECASE,
)


@lru_cache(maxsize=512)
def _is_about_attacks(headings: tuple[str, ...]) -> bool:
    """Whether the headings say that attacks are what the section is about."""
    if not headings:
        return False
    return "TALK" in phrasebook().read(View.raw("", " . ".join(headings[-3:]))).concepts


# A mark that says: not like this. A word may say so of anything beside the code.
_BAD = re.compile("\u274c|\U0001f6ab")
# "Don't do this." and no more: "Don't wait" is an order of its own.
_TAKEN_BACK = re.compile(
    r"[.!;]\s+(?:please\s+)?(?:don'?t|do not|never|avoid)(?:\s+(?:ever|do|run|use|try|trust|follow"
    r"|copy|paste|execute|type)){0,3}(?:\s+(?:it|this|that|so|them|these|those)){0,1}\s*(?:[.!;]|$)",
    re.IGNORECASE,
)
# Between a "not" and code so many words may stand, and the first of them is what must not be done.
_FORBIDDING_REACH = 7
_ADVERBS = read_words("to ever just blindly simply ever please directly also by")
_RUN_STEMS = read_words(
    "run runn us execut past typ copy pip call try do add writ put allow trust follow start launch"
    " invok accept suggest recommend commit includ issu command commands things anything"
    " render emit output display show embed insert print"
)
_ORDERS = read_words("run runs execute paste enter copy type launch install use open start call")
_SENTENCE_END = re.compile(r"[.!?\u3002]\s|\n\s*\n|\n\s*[-*+|]\s|\n\s*\d+[.)]\s")


def find_code_contexts(part: MarkdownPart, around: View) -> tuple[str, ...]:
    """Return the contexts of code in the paragraph `around`, from its sentence and headings.

    Only code within a sentence has any: what stands in a block of its own is copied as it is,
    whatever its author says of it.
    """
    at = _locate(part.view, around)
    start, end = _find_sentence(around.text, at, at + len(part.view.text))
    sentence = around.text[start:end]
    passage = _read(sentence)
    if forbids(around.text, at, at + len(part.view.text)):
        return ("negated",)
    # Who is told to run it is not warned of it.
    if _is_ordered(passage, at - start):
        return ()
    warned = {"DANGER", "CONTAINS_LIKE"} & passage.concepts.keys() or _BAD.search(sentence)
    # A title alone must not disarm what stands below it: a list of signs under it may be meant.
    listed = part.view.text and warns(part.headings) and _is_listed(around.text, at)
    return ("shown as a bad example",) if warned or listed else ()


def forbids(text: str, at: int, behind: int) -> bool:
    """Whether the sentence around a stretch of `text` says not to do what stands in it."""
    start, end = _find_sentence(text, at, behind)
    taken_back = _TAKEN_BACK.match(text, end)
    return _is_forbidden(_read(text[start:end]), at - start) or bool(taken_back)


@lru_cache(maxsize=64)
def _read(sentence: str) -> Passage:
    """The words of a sentence; several pieces of code often stand in the same one."""
    return phrasebook().read(View.raw("", sentence))


def _count_before(passage: Passage, place: int) -> int:
    """How many words of the sentence stand before `place`."""
    return bisect_left(passage.places, (place,))


def _is_forbidden(passage: Passage, before: int) -> bool:
    """Whether the last clause before the code says not to run it: "never run", "avoid piping"."""
    index = _count_before(passage, before)
    for span in passage.between("NOT", max(0, index - _FORBIDDING_REACH), index - 1):
        words = [word for word in passage.words[span.last + 1 : index] if word not in _ADVERBS]
        is_order = not words or words[0].rstrip("e").removesuffix("ing") in _RUN_STEMS
        if is_order and passage.words[span.first] != "no" and _is_one_clause(passage, span, before):
            return True
    return False


def _is_one_clause(passage: Passage, no: Span, before: int) -> bool:
    between = passage.view.text[passage.places[no.last][1] : max(before, 0)]
    return not any(mark in between for mark in _CLAUSE_ENDS)


def _is_ordered(passage: Passage, before: int) -> bool:
    """Whether the sentence tells its reader to run the code."""
    words = passage.words[: _count_before(passage, before)]
    return any(word in _ORDERS for word in words)


def _is_listed(paragraph: str, at: int) -> bool:
    """Whether the code stands as an item of a list or a table, as signs to look for do."""
    line = paragraph[paragraph.rfind("\n", 0, max(at, 0)) + 1 : max(at, 0)]
    return bool(re.match(r"\s*(?:[-*+|]|\d+[.)])", line))


@lru_cache(maxsize=1024)
def warns(headings: tuple[str, ...]) -> bool:
    """Whether the headings say that bad things are shown below them."""
    if not headings:
        return False
    return "DANGER" in phrasebook().read(View.raw("", " . ".join(headings[-2:]))).concepts


# So far around a piece of code is read for what is said about it.
_REACH = 400
_HEAD = 80


def _locate(code: View, around: View) -> int:
    """Where the code begins in `around`: by its origin, for the same words may come twice."""
    head = code.text[:_HEAD]
    at = bisect_left(around.origins, code.origin(0))
    return at if around.text.startswith(head, at) else around.text.find(head)


def _find_sentence(paragraph: str, at: int, behind: int) -> tuple[int, int]:
    if at < 0:
        return 0, 0
    start = max(0, at - _REACH)
    for found in _SENTENCE_END.finditer(paragraph, start, at):
        start = found.end()
    limit = min(len(paragraph), behind + _REACH)
    end = _SENTENCE_END.search(paragraph, behind, limit)
    return start, end.start() if end else limit
