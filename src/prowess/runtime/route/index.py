"""The index of an agent's skills, and the models that give it meaning.

Only what was never encoded is encoded. A model that fails is not asked again for a while.

An index is also kept as bytes, so that a process that answers one message need not make it. Only
what is costly to make travels. The bytes are data, never code: a tree in JSON, and the arrays
behind it. What cannot be read is no index, whatever the reason; then one is made.
"""

import hashlib
import json
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from operator import attrgetter
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.data import dataclass
from prowess.errors import EncoderError
from prowess.routing import router
from prowess.routing.decision_triggers_and_follow_ups import HintIndex
from prowess.routing.dense import DenseIndex, Encoded, PhraseGroup
from prowess.routing.handoffs_and_passages import (
    LONGEST_BODY,
    Handoff,
    SkillEvidence,
    add_handoffs,
    read_evidence,
)
from prowess.routing.lexical_and_breadth import Breadth, LexicalIndex, Postings, Terms, read_terms
from prowess.routing.message_kinds import Everyday, Occasions
from prowess.routing.router import Query, SkillIndex, list_index_texts
from prowess.routing.words import Words, measure_shape, split_words
from prowess.runtime.ports import (
    Encoder,
    Examples,
    IndexStore,
    Judge,
    ReferenceTexts,
    StaleSkill,
    Vectors,
    VectorStore,
)
from prowess.settings import EncoderSettings, RoutingSettings
from prowess.skills.model import Invocation, Skill, Triggers

_REMEMBERED_MESSAGES = 256
_JUDGED_SKILLS = 10
# A message of more words than these says by itself what it is about.
_SPEAKS_FOR_ITSELF = 24
# How long a failing model is left alone before it is tried again.
PAUSE_S = 30.0


class Meaning:
    """Gives messages their vectors, and the best skills a second look."""

    def __init__(
        self,
        settings: Callable[[], RoutingSettings],
        open_encoder: Callable[[], Encoder | None],
        open_judge: Callable[[str], Judge | None],
        seconds: Callable[[], float],
    ) -> None:
        self._settings, self._seconds = settings, seconds
        self._open_encoder, self._open_judge = open_encoder, open_judge
        self._lock = Lock()
        self._encoder: Encoder | None = None
        self._opened_for: EncoderSettings | None = None
        self._messages: OrderedDict[tuple[str, str], Vectors] = OrderedDict()
        self._prepared: dict[tuple[str, str], Vectors] = {}
        self._problem, self._failed_at = "", float("-inf")
        self._judge: Judge | None = None
        self._judge_for, self._judge_problem, self._judge_failed_at = "off", "", float("-inf")

    @property
    def problem(self) -> str:
        """Why meaning takes no part; empty where it does, or where nothing was asked yet."""
        return self._problem

    @property
    def judge_problem(self) -> str:
        """Why the cross-encoder of the settings takes no part."""
        return self._judge_problem if self._judge_for == self._settings().rerank else ""

    def failed(self, problem: str) -> None:
        """Remember that the encoder does not work, and leave it alone for a while."""
        self._problem, self._failed_at = problem, self._seconds()

    def worked(self) -> None:
        """Forget an earlier failure: the encoder has answered since."""
        self._problem, self._failed_at = "", float("-inf")

    def encoder(self) -> Encoder | None:
        """Return the encoder of the settings, not loaded yet; None where there is none."""
        wanted = self._settings().encoder
        with self._lock:
            is_settled = self._encoder is not None or not self._problem or self._pausing
            # Most often the very same: the settings are read anew only where the file changed.
            before = self._opened_for
            is_same = before is wanted or (before is not None and before == wanted)
            if is_same and is_settled:
                return self._encoder
            self._encoder, self._opened_for = None, wanted
            self.worked()
            try:
                opened = self._open_encoder()
                # Naming itself shows whether the model is there at all.
                self._encoder = opened if opened is None or opened.id else None
            except EncoderError as error:
                self.failed(str(error))
            return self._encoder

    def with_vector(self, index: SkillIndex, query: Query) -> Query:
        """Return `query` with its vector, if the index can use one and the encoder works."""
        encoder = self.encoder()
        # An index from before a change of encoder is asked by words alone.
        if encoder is None or index.dense is None or index.encoder_id != encoder.id:
            return query
        if not query.ask.strip():
            return query
        vector = self._vector(encoder, query.ask)
        if vector is None:
            return query
        around = self._look_around(encoder, query, vector)
        return self._judge_best(index, replace(query, vector=vector, around=around))

    def _look_around(self, encoder: Encoder, query: Query, vector: "Vectors") -> "Vectors | None":
        """Return the vector of a message with what it may refer to, as far as it needs that."""
        if measure_shape(query.ask).words > _SPEAKS_FOR_ITSELF:
            return None
        found = vector
        for text, weight in query.context.list_around():
            near = self._vector(encoder, text)
            if near is not None:
                found = found + np.float32(weight) * near
        return found / max(float(np.linalg.norm(found)), 1e-9)

    def prepare(self, encoder: Encoder, vectors: Mapping[str, Vectors]) -> None:
        """Know the vectors of some messages from now on, however many they are."""
        self._prepared.update({(encoder.id, ask): found for ask, found in vectors.items()})

    def _vector(self, encoder: Encoder, ask: str) -> "Vectors | None":
        key = (encoder.id, ask)
        if key in self._prepared:
            return self._prepared[key]
        with self._lock:
            known = self._messages.get(key)
        if known is not None:
            return known
        if self._pausing:
            return None
        try:
            vector: Vectors = encoder.encode([ask])[0]
        except EncoderError as error:
            self.failed(str(error))
            return None
        self.worked()
        with self._lock:
            self._messages[key] = vector
            while len(self._messages) > _REMEMBERED_MESSAGES:
                self._messages.popitem(last=False)
        return vector

    def _judge_best(self, index: SkillIndex, query: Query) -> Query:
        """Let a cross-encoder read the best skills with the message, where one is configured."""
        wanted = self._settings().rerank
        with self._lock:
            if self._judge_for != wanted:
                self._judge, self._judge_for = self._open_judge(wanted), wanted
                self._judge_problem, self._judge_failed_at = "", float("-inf")
            judge = self._judge
        if judge is None or self._seconds() - self._judge_failed_at < PAUSE_S:
            return query
        places = router.rank(index, query).order[:_JUDGED_SKILLS]
        try:
            judged = judge.judge(query.ask, [index.evidence[place].text for place in places])
        except EncoderError as error:
            self._judge_problem, self._judge_failed_at = str(error), self._seconds()
            return query
        self._judge_problem = ""
        return replace(query, judged=dict(zip(places, judged.tolist(), strict=True)))

    @property
    def _pausing(self) -> bool:
        return self._seconds() - self._failed_at < PAUSE_S


# Called with what is being done, how much of it is, and how much there is.
Progress = Callable[[str, int, int], None]
_AT_ONCE = 64
_MOST_PHRASES = 40


@dataclass(frozen=True, slots=True)
class Built:
    """An index, and why it has no vectors where it has none."""

    index: SkillIndex
    problem: str
    # Whether the encoder was asked for anything, and so has shown that it works.
    encoded: bool
    # The stamps of the reference files beside the skills.
    references: tuple[str, ...] = ()


class _Read(NamedTuple):
    evidence: SkillEvidence
    # Those of reference files count as words of the body.
    terms: Terms
    # How many words its page has, by which the decision knows whether texts are long.
    page_words: int


class IndexBuilder:
    """Keeps what was read of each skill from one index to the next."""

    def __init__(
        self,
        vectors: VectorStore,
        tidy: Callable[[], None] | None = None,
        indexes: IndexStore | None = None,
        stale: Callable[[], Mapping[str, StaleSkill]] = dict,
        references: ReferenceTexts | None = None,
    ) -> None:
        self._vectors, self._tidy, self._indexes = vectors, tidy or _do_nothing, indexes
        self._stale, self._references = stale, references
        self._read: dict[str, _Read] = {}
        self._lock = Lock()

    def build(
        self,
        skills: Sequence[Skill],
        encoder: Encoder | None,
        examples: Mapping[str, Examples],
        progress: Progress | None = None,
    ) -> Built:
        """Index `skills`; without a working encoder the index has words and no vectors."""
        if self._indexes is None or not skills:
            return self._make(skills, encoder, examples, progress)
        references = self.stamp_references(skills)
        key = _key(self._weigh(skills), encoder, examples, references)
        kept = self._indexes.load(key)
        found = None if kept is None else unpack_index(kept, skills)
        if found is not None:
            return Built(found, problem="", encoded=False, references=references)
        built = self._make(skills, encoder, examples, progress)
        if not built.problem:
            self._indexes.save(key, pack_index(built.index))
        return built

    def try_on(
        self, skills: Sequence[Skill], guests: Sequence[Skill], encoder: Encoder | None
    ) -> Built:
        """Index `skills` with others behind them that nothing else is measured by; not kept."""
        return self._make((*skills, *guests), encoder, {}, None, guests=len(guests))

    def _make(
        self,
        skills: Sequence[Skill],
        encoder: Encoder | None,
        examples: Mapping[str, Examples],
        progress: Progress | None,
        *,
        guests: int = 0,
    ) -> Built:
        references, progress = self.stamp_references(skills), progress or _show_nothing
        with self._lock:
            read = self._read_all(self._weigh(skills), examples, references, progress)
        evidence = add_handoffs([one.evidence for one in read], guests=guests)
        # Before the vectors are there: the two together would take twice the memory.
        words = [one.page_words for one in read[: len(read) - guests]]
        lexical = replace(
            LexicalIndex.build([one.terms for one in read], guests=guests),
            words_per_skill=sum(words) / max(len(words), 1),
        )
        encoded, problem, asked = None, "", False
        if encoder is not None:
            try:
                vectors, asked = self._encode(encoder, list_index_texts(evidence), progress)
                encoded = Encoded(vectors, encoder.id, encoder.english_only)
                del vectors
            except EncoderError as error:
                problem = str(error)
        index = SkillIndex.build(skills, evidence, lexical, encoded)
        del encoded
        self._tidy()
        return Built(index, problem, asked, references)

    def stamp_references(self, skills: Sequence[Skill]) -> tuple[str, ...]:
        """Return what changes when a reference file of one of the skills does."""
        if self._references is None:
            return ()
        return tuple(map(self._references.stamp, skills))

    def _weigh(self, skills: Sequence[Skill]) -> list[Skill]:
        """Return the skills as they are read: what is stale in them finds no message."""
        stale = self._stale()
        return [_without_stale(skill, stale.get(skill.path)) for skill in skills]

    def _read_all(
        self,
        skills: Sequence[Skill],
        examples: Mapping[str, Examples],
        references: Sequence[str],
        progress: Progress,
    ) -> list[_Read]:
        known, kept, found = self._read, {}, []
        stamps = references or ("",) * len(skills)
        for done, (skill, stamp) in enumerate(zip(skills, stamps, strict=True)):
            mine = examples.get(skill.name, Examples())
            key = f"{_name_of(skill, mine)}\0{stamp}"
            one = known.get(key) or _read(skill, mine, self._read_references(skill, stamp))
            kept[key] = one
            found.append(one)
            if done % _AT_ONCE == _AT_ONCE - 1:
                progress("reading skills", done + 1, len(skills))
        # Two agents' sets share one memory: forget only when it grows well beyond one set.
        self._read = kept if len(known) > 2 * len(kept) + _AT_ONCE else {**known, **kept}
        return found

    def _read_references(self, skill: Skill, stamp: str) -> str:
        if self._references is None or not stamp:
            return ""
        return self._references.read(skill, max(0, LONGEST_BODY - len(skill.body)))

    def encode(self, encoder: Encoder, texts: Iterable[str]) -> Mapping[str, Vectors]:
        """Return the vector of each text; only what was never encoded is.

        Raises:
            EncoderError: the model does not answer.
        """
        return self._encode(encoder, texts, _show_nothing)[0]

    def _encode(
        self, encoder: Encoder, texts: Iterable[str], progress: Progress
    ) -> tuple[Mapping[str, Vectors], bool]:
        """Return the vector of each text, and whether any had to be made."""
        keys = {text: text_key(text) for text in texts}
        stored = self._vectors.load(encoder.id, list(keys.values()))
        vectors = {text: stored[key] for text, key in keys.items() if key in stored}
        known = len(vectors)
        self._add(encoder, keys, vectors, progress)
        if len({len(vector) for vector in vectors.values()}) > 1:
            # Two widths under one name: the model behind it is another one now.
            vectors.clear()
            known = 0
            self._add(encoder, keys, vectors, progress, anew=True)
        return vectors, known < len(vectors)

    def _add(
        self,
        encoder: Encoder,
        keys: Mapping[str, str],
        vectors: dict[str, Vectors],
        progress: Progress,
        *,
        anew: bool = False,
    ) -> None:
        """Encode what `vectors` lacks and keep it; `anew`, also what others keep by now."""
        missing = [text for text in keys if text not in vectors]
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            with self._vectors.alone(encoder.id):
                # Whoever we waited for may have made them.
                made = {} if anew else self._vectors.load(encoder.id, [keys[one] for one in some])
                vectors |= {text: made[keys[text]] for text in some if keys[text] in made}
                left = [text for text in some if keys[text] not in made]
                # As the store gives them back, so that a first run and a second answer alike.
                if left:
                    rows = encoder.encode(left).astype(np.float16).astype(np.float32)
                    vectors |= zip(left, rows, strict=True)
                    # Kept as they come: an interrupted indexing goes on where it stopped.
                    self._vectors.save(encoder.id, {keys[text]: vectors[text] for text in left})
            progress("encoding texts", start + len(some), len(missing))


_read_parts = attrgetter(
    *("description", "when_to_use", "globs"),
    *(f"metadata.triggers.{one.name}" for one in fields(Triggers)),
    *(f"invocation.{one.name}" for one in fields(Invocation)),
)


def _key(
    skills: Sequence[Skill],
    encoder: Encoder | None,
    examples: Mapping[str, Examples],
    references: Sequence[str],
) -> str:
    """Return a hash of all that an index is made from."""
    whose = "" if encoder is None else f"{encoder.id} {encoder.english_only}"
    parts = [whose, *references]
    for skill in skills:
        mine = examples.get(skill.name, Examples())
        # The same file may be read in another mode, and then says something else.
        parts.append(f"{_name_of(skill, mine)}\0{_read_parts(skill)}")
    return text_key("\1".join(parts))


def _name_of(skill: Skill, examples: Examples) -> str:
    told = examples.generated, examples.confirmed, examples.near_misses
    return f"{skill.name}\0{skill.content_hash}\0{len(skill.body)}\0{told}"


def _without_stale(skill: Skill, found: StaleSkill | None) -> Skill:
    """Return a skill without the text of its stale sections; the headings still count."""
    if found is None or not found.spans or found.content_hash != skill.content_hash:
        return skill
    gone = {line for first, last in found.spans for line in range(first + 1, last + 1)}
    lines = enumerate(skill.body.split("\n"), start=skill.body_line)
    return replace(skill, body="\n".join(text for line, text in lines if line not in gone))


def text_key(text: str) -> str:
    """Return the hash by which a text's vector is kept."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _read(skill: Skill, examples: Examples, references: str) -> _Read:
    evidence = read_evidence(skill)
    more = (*examples.confirmed, *examples.generated)
    if more or examples.near_misses:
        evidence = replace(
            evidence,
            requests=tuple(dict.fromkeys((*evidence.requests, *more))),
            phrases=tuple(dict.fromkeys((*more, *evidence.phrases)))[:_MOST_PHRASES],
            negatives=(*evidence.negatives, *examples.near_misses),
        )
    terms = read_terms(evidence)
    page_words = sum(len(part) for field in terms for part in field)
    if references:
        beside = zip(terms.body, split_words(references), strict=True)
        terms = terms._replace(body=Words(*(page + more for page, more in beside)))
    # The words are all that is needed of the body from here on.
    return _Read(replace(evidence, body=""), terms, page_words)


def _do_nothing() -> None:
    """Tidy nothing up."""


def _show_nothing(_what: str, _done: int, _total: int) -> None:
    """Report nothing."""


_Array: TypeAlias = NDArray[Any]

_MAGIC = b"prowess index 3\n"
_NUMBER = 8
_KINDS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        Breadth,
        DenseIndex,
        Everyday,
        SkillEvidence,
        PhraseGroup,
        Handoff,
        LexicalIndex,
        Occasions,
        Postings,
    )
}
# Made from the skills, which are at hand.
_FRESH = frozenset(("skills", "hints"))


def pack_index(index: SkillIndex) -> bytes:
    """Return `index` as bytes."""
    arrays: list[_Array] = []
    tree = {
        field.name: _tree(getattr(index, field.name), arrays)
        for field in fields(index)
        if field.name not in _FRESH
    }
    shapes = [(array.dtype.str, array.shape) for array in arrays]
    head = json.dumps([shapes, tree], separators=(",", ":")).encode()
    # Arrays begin at whole steps of their widest number.
    head += b" " * (-len(head) % _NUMBER)
    body = b"".join([_number(len(head)), head, *(_pad(array) for array in arrays)])
    return _MAGIC + _number(zlib.crc32(body)) + body


def unpack_index(raw: bytes, skills: Sequence[Skill]) -> SkillIndex | None:
    """Return the index of `skills` that was packed; None where the bytes hold none."""
    start = len(_MAGIC) + _NUMBER
    if not raw.startswith(_MAGIC) or raw[len(_MAGIC) : start] != _number(zlib.crc32(raw[start:])):
        return None
    # Whole, but perhaps written by another version.
    try:
        length = int.from_bytes(raw[start : start + _NUMBER], "little")
        at = start + _NUMBER
        shapes, tree = json.loads(raw[at : at + length])
        arrays = _arrays(raw, at + length, shapes)
        parts = {name: _make(part, arrays) for name, part in tree.items()}
        found = SkillIndex(skills=tuple(skills), hints=HintIndex(skills), **parts)
    except (KeyError, TypeError, ValueError, IndexError):
        return None
    return found if len(found.evidence) == found.lexical.size == len(skills) else None


def _tree(value: object, arrays: list[_Array]) -> object:
    if isinstance(value, np.ndarray):
        arrays.append(np.ascontiguousarray(value))
        return {"array": len(arrays) - 1}
    if is_dataclass(value) or hasattr(value, "_fields"):
        names = [one.name for one in fields(value)] if is_dataclass(value) else value._fields
        kind = type(value).__name__
        return {"kind": kind, "parts": [_tree(getattr(value, name), arrays) for name in names]}
    if isinstance(value, Mapping):
        return {"words": dict(value)}
    if isinstance(value, tuple):
        return [_tree(one, arrays) for one in value]
    return value


# Whatever JSON holds.
def _make(tree: Any, arrays: Sequence[_Array]) -> Any:  # noqa: ANN401
    if isinstance(tree, list):
        return tuple(_make(one, arrays) for one in tree)
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return arrays[tree["array"]]
    if "words" in tree:
        return tree["words"]
    kind, parts = _KINDS[tree["kind"]], [_make(one, arrays) for one in tree["parts"]]
    if not is_dataclass(kind):
        return kind(*parts)
    return kind(**dict(zip((one.name for one in fields(kind)), parts, strict=True)))


def _arrays(raw: bytes, at: int, shapes: Sequence[tuple[str, Sequence[int]]]) -> list[_Array]:
    found = []
    for kind, shape in shapes:
        dtype, size = np.dtype(kind), int(np.prod(shape, dtype=np.int64))
        found.append(np.frombuffer(raw, dtype, size, at).reshape(shape))
        at += dtype.itemsize * size
        at += -at % _NUMBER
    return found


def _pad(array: _Array) -> bytes:
    raw = array.tobytes()
    return raw + b" " * (-len(raw) % _NUMBER)


def _number(value: int) -> bytes:
    return value.to_bytes(_NUMBER, "little")
