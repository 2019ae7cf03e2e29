"""Builds the index of a set of skills, encoding only what was never encoded before.

Evidence and words are kept by the skill's content, vectors by the text: a changed skill is read
and encoded again alone. An index of the very same skills is not even made: it was kept whole.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import NamedTuple

import numpy as np

from prowess.errors import EncoderError
from prowess.routing.index import Encoded, SkillIndex, needed_texts, with_handoffs
from prowess.routing.index_pack import packed, unpacked
from prowess.routing.lexical import LexicalIndex, Terms, terms_of
from prowess.routing.passages import Evidence, evidence_of
from prowess.runtime.ports import Encoder, Examples, IndexStore, Vectors, VectorStore
from prowess.skills.model import Skill

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


class _Read(NamedTuple):
    evidence: Evidence
    terms: Terms


class IndexBuilder:
    """Keeps what was read of each skill from one index to the next."""

    def __init__(
        self,
        vectors: VectorStore,
        tidy: Callable[[], None] | None = None,
        indexes: IndexStore | None = None,
    ) -> None:
        self._vectors, self._tidy, self._indexes = vectors, tidy or _nothing, indexes
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
            return self._made(skills, encoder, examples, progress)
        key = _key(skills, encoder, examples)
        kept = self._indexes.load(key)
        found = None if kept is None else unpacked(kept, skills)
        if found is not None:
            return Built(found, problem="", encoded=False)
        built = self._made(skills, encoder, examples, progress)
        if not built.problem:
            self._indexes.save(key, packed(built.index))
        return built

    def _made(
        self,
        skills: Sequence[Skill],
        encoder: Encoder | None,
        examples: Mapping[str, Examples],
        progress: Progress | None,
    ) -> Built:
        with self._lock:
            read = self._read_all(skills, examples, progress or _silent)
        evidence = with_handoffs([one.evidence for one in read])
        # Before the vectors are there: the two together would take twice the memory.
        lexical = LexicalIndex.build([one.terms for one in read])
        encoded, problem, asked = None, "", False
        if encoder is not None:
            try:
                vectors, asked = self._encoded(encoder, needed_texts(evidence), progress or _silent)
                encoded = Encoded(vectors, encoder.id, encoder.english_only)
                del vectors
            except EncoderError as error:
                problem = str(error)
        index = SkillIndex.build(skills, evidence, lexical, encoded)
        del encoded
        self._tidy()
        return Built(index, problem, asked)

    def _read_all(
        self, skills: Sequence[Skill], examples: Mapping[str, Examples], progress: Progress
    ) -> list[_Read]:
        known, kept, found = self._read, {}, []
        for done, skill in enumerate(skills):
            mine = examples.get(skill.name, Examples())
            key = _name_of(skill, mine)
            one = known.get(key) or _read(skill, mine)
            kept[key] = one
            found.append(one)
            if done % _AT_ONCE == _AT_ONCE - 1:
                progress("reading skills", done + 1, len(skills))
        # Two agents' sets share one memory: forget only when it grows well beyond one set.
        self._read = kept if len(known) > 2 * len(kept) + _AT_ONCE else {**known, **kept}
        return found

    def _encoded(
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
            self._add(encoder, keys, vectors, progress)
        return vectors, known < len(vectors)

    def _add(
        self,
        encoder: Encoder,
        keys: Mapping[str, str],
        vectors: dict[str, Vectors],
        progress: Progress,
    ) -> None:
        """Encode what `vectors` lacks and keep it."""
        missing = [text for text in keys if text not in vectors]
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            # As the store gives them back, so that a first run and a second one answer alike.
            rows = encoder.encode(some).astype(np.float16).astype(np.float32)
            fresh = dict(zip(some, rows, strict=True))
            vectors |= fresh
            # Kept as they come: an interrupted indexing goes on where it stopped.
            self._vectors.save(encoder.id, {keys[text]: vector for text, vector in fresh.items()})
            progress("encoding texts", start + len(some), len(missing))


def _key(skills: Sequence[Skill], encoder: Encoder | None, examples: Mapping[str, Examples]) -> str:
    """Return a hash of all that an index is made from."""
    whose = "" if encoder is None else f"{encoder.id} {encoder.english_only}"
    parts = [whose]
    for skill in skills:
        mine = examples.get(skill.name, Examples())
        # The same file may be read in another mode, and then says something else.
        read = (skill.description, skill.when_to_use, len(skill.body), skill.globs)
        parts.append(f"{_name_of(skill, mine)}\0{read}{skill.metadata.triggers}{skill.invocation}")
    return text_key("\1".join(parts))


def _name_of(skill: Skill, examples: Examples) -> str:
    return f"{skill.name}\0{skill.content_hash}\0{examples!r}"


def text_key(text: str) -> str:
    """Return the hash by which a text's vector is kept."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _read(skill: Skill, examples: Examples) -> _Read:
    evidence = evidence_of(skill)
    more = (*examples.confirmed, *examples.generated)
    if examples:
        evidence = replace(
            evidence,
            requests=tuple(dict.fromkeys((*evidence.requests, *more))),
            phrases=tuple(dict.fromkeys((*more, *evidence.phrases)))[:_MOST_PHRASES],
            negatives=(*evidence.negatives, *examples.near_misses),
        )
    # The words are all that is needed of the body from here on.
    return _Read(replace(evidence, body=""), terms_of(evidence))


def _nothing() -> None:
    """Tidy nothing up."""


def _silent(_what: str, _done: int, _total: int) -> None:
    """Report nothing."""
