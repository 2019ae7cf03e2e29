"""What is looked at to answer a search: the nearest by meaning, and those with the rarest words.

Who may see what is part of each query, so that nothing that is hidden takes a place among the
candidates. PostgreSQL has an index of words, and a graph of half-precision vectors (HNSW of
pgvector) that it walks where there are many; a SQLite file keeps its vectors in memory, which is
enough for ten thousand skills. Up to there both look at every vector, and the score is worked out
here on either engine, so that they rank alike.

Each candidate gets the score that the router would give it among all skills of the catalogue, by
the router's own code: the statistics are the catalogue's, not those of the few that were looked at.
A skill whose name could be taken for that of an older one is never above it, however well it fits:
whoever imitates a name can write any description.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from prowess.host.store.hub_tables import DOCUMENTS, SKILLS, TERMS
from prowess.hub.tables import HubDatabase, cast_near
from prowess.routing import lexical_and_breadth as lexical
from prowess.routing.decision_triggers_and_follow_ups import fuse, weight_of_meaning
from prowess.routing.dense import DenseScores
from prowess.routing.handoffs_and_passages import read_evidence
from prowess.routing.lexical_and_breadth import Breadth, LexicalIndex, Terms, read_terms
from prowess.routing.words import (
    Words,
    find_asking_part,
    measure_shape,
    put_in_english,
    split_words,
)
from prowess.skills.model import Skill

Floats: TypeAlias = NDArray[np.float32]
# Of the body only so many: they are in the index of full text, and the first say what it is about.
_MOST_BODY = 80
# The least step by which an imitation stays below what it imitates.
_BELOW = 1e-4
FIELDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundText:
    """The texts by which one skill is found."""

    words: Terms
    # What an encoder reads.
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSkill:
    """A skill that may be what was asked for."""

    skill_id: int
    words: Terms
    # With the vector of what was asked.
    cosine: float
    # An older skill that its name could be taken for.
    resembles: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HubQuestion:
    """What somebody looks for, in words and as a text for the encoder."""

    text: str
    english: str
    words: Words

    @property
    def terms(self) -> tuple[str, ...]:
        """Every distinct word, in order."""
        return tuple(dict.fromkeys((*self.words.running, *self.words.joined, *self.words.grams)))


def read_asked(text: str) -> HubQuestion:
    """Prepare what somebody looks for."""
    ask = find_asking_part(text.replace("\0", " "))
    english = put_in_english(ask)
    return HubQuestion(text=ask, english=english, words=split_words(english))


def read_texts(skill: Skill) -> FoundText:
    """Return by what a skill is found, as the router reads it."""
    evidence = read_evidence(skill)
    terms = read_terms(evidence)
    body = Words(*(part[:_MOST_BODY] for part in terms.body))
    return FoundText(words=terms._replace(body=body), text=evidence.text)


def list_terms(words: Terms) -> tuple[str, ...]:
    """Return every distinct word of a skill, in the order in which writers take turns."""
    return tuple(sorted({term for field in words for part in field for term in part}))


def count_words(words: Terms) -> tuple[int, ...]:
    """Return how many words each field has."""
    return tuple(sum(len(part) for part in field) for field in words)


def dump_words(words: Terms) -> str:
    """Return words as a text that is kept."""
    return json.dumps([[" ".join(part) for part in field] for field in words])


@lru_cache(maxsize=4096)
def load_words(text: str) -> Terms:
    """Return the words that were kept; what is often found is read once."""
    fields = (Words(*(tuple(part.split()) for part in field)) for field in json.loads(text))
    return Terms(*fields)


def rank(
    asked: HubQuestion,
    candidates: Sequence[FoundSkill],
    collection: lexical.Collection,
    *,
    has_vectors: bool,
    english_only: bool,
) -> list[tuple[int, float]]:
    """Return the candidates, best first, with their scores."""
    if not candidates:
        return []
    index = LexicalIndex.build([one.words for one in candidates], collection)
    near = np.array([one.cosine for one in candidates], np.float32) if has_vectors else None
    total = weigh(asked, index, near, english_only=english_only)
    scores = {one.skill_id: float(score) for one, score in zip(candidates, total, strict=True)}
    held = _hold_below(scores, {one.skill_id: one.resembles for one in candidates})
    # By age where scores are equal, so that the order is the same on every engine.
    return sorted(held.items(), key=lambda pair: (-pair[1], pair[0]))


def weigh(
    asked: HubQuestion, index: LexicalIndex, near: Floats | None, *, english_only: bool
) -> Floats:
    """Return the score of each skill of an index; `near` are the cosines, None without vectors."""
    shape = measure_shape(asked.english if english_only else asked.text)
    weight = weight_of_meaning(index.words_per_skill, shape, english_only=english_only)
    nothing = np.zeros(index.size, np.float32)
    return fuse(
        index.score(asked.english),
        None if near is None else DenseScores(near, near, near, nothing - 1),
        # What is broad is measured among the skills of one agent; here imitation is what counts.
        breadth=Breadth(nothing, nothing),
        weight=0.0 if near is None else weight,
    ).total


def _hold_below(
    scores: Mapping[int, float], resembles: Mapping[int, int | None]
) -> dict[int, float]:
    """Put every imitation below the oldest of its kind that may be seen; ids grow with age."""
    held: dict[int, float] = {}
    eldest: dict[int, float] = {}
    for skill_id in sorted(scores):
        kind, score = resembles[skill_id] or skill_id, scores[skill_id]
        held[skill_id] = min(score, eldest[kind] - _BELOW) if kind in eldest else score
        eldest.setdefault(kind, score)
    return held


_HALF, _SENT_HALF = np.dtype("<f2"), np.dtype(">f2")
_SENT = sa.literal_column("halfvec_send(near)", sa.LargeBinary)
# So many are scored of what is nearest, and of what has the rarest words.
NEAREST, WORDIEST = 120, 100
# One word is enough where at most so many skills have it; otherwise two of the rarest are asked.
_MOST_MATCHED = 1_500
_MOST_PAIRED = 6
_AHEAD = 400
# A catalogue of so many is looked through without the graph, which may pass over one.
_MOST_LOOKED_THROUGH = 10_000
_STATISTICS_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Whose skills may be seen besides the public ones."""

    spaces: frozenset[int] = frozenset()
    is_everything: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NewDocument:
    """A skill as it is to be found."""

    skill_id: int
    space: int
    is_public: bool
    version: str
    words: Terms
    # None where there is no encoder.
    vector: Floats | None


def allow(access: Access) -> sa.ColumnElement[bool]:
    """Return the part of a query that leaves out what may not be seen."""
    if access.is_everything:
        return sa.true()
    public = DOCUMENTS.c.is_public.is_(True)
    return sa.or_(public, DOCUMENTS.c.space.in_(access.spaces)) if access.spaces else public


class DocumentIndex:
    """Finds skills, and keeps what they are found by; safe for several threads."""

    def __init__(
        self, database: HubDatabase, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._database, self._seconds = database, seconds
        self._lock = threading.Lock()
        self._memory = _Memory()
        self._known: tuple[float, lexical.Collection] | None = None
        # How many skills have a word, as long as the statistics are not looked up again.
        self._counts: dict[str, int] = {}

    def put(self, connection: sa.Connection, documents: Sequence[NewDocument]) -> None:
        """Write documents, each in place of the one of its skill."""
        before = self._take_out(connection, [one.skill_id for one in documents])
        after = Counter(term for one in documents for term in list_terms(one.words))
        self._count(connection, after, before)
        stamp = self._count_stamp(connection)
        rows = [self._row(one, stamp) for one in documents]
        if self._database.is_server:
            connection.execute(_SERVER_INSERT, rows)
        else:
            connection.execute(sa.insert(DOCUMENTS), rows)
            connection.execute(_FTS_INSERT, [_fts_row(one) for one in documents])

    def remove(self, connection: sa.Connection, skill_id: int) -> None:
        """Let a skill be found no more."""
        self._count(connection, Counter(), self._take_out(connection, [skill_id]))

    def search(
        self, asked: HubQuestion, vector: Floats | None, access: Access, *, english_only: bool
    ) -> list[tuple[int, float]]:
        """Return the skills that fit best, with their scores."""
        with self._database.reading() as connection:
            statistics = self._read_statistics(connection)
            counts = self._count_terms(connection, asked.terms)
            is_small = statistics.size <= _MOST_LOOKED_THROUGH
            ids = set(self._find_near(connection, vector, access, is_small=is_small))
            ids |= set(self._find_words(connection, asked, counts, access))
            found = self._load(connection, ids, vector, access)
            named = {word for one in found for part in one.words.name for word in part}
            counts = {**counts, **self._count_terms(connection, sorted(named - counts.keys()))}
        return rank(
            asked,
            found,
            statistics._replace(counts={term: count for term, count in counts.items() if count}),
            has_vectors=vector is not None,
            english_only=english_only,
        )

    def _find_near(
        self, connection: sa.Connection, vector: Floats | None, access: Access, *, is_small: bool
    ) -> list[int]:
        if vector is None:
            return []
        if not self._database.is_server:
            with self._lock:
                self._memory.catch_up(connection)
                return self._memory.nearest(vector, access, NEAREST)
        distance = measure_distance(vector)
        query = sa.select(DOCUMENTS.c.skill_id).where(allow(access)).limit(NEAREST)
        if is_small:
            # Not as the graph has it, so that it is not walked.
            query = query.order_by(distance + 0.0, DOCUMENTS.c.skill_id)
            return list(connection.execute(query).scalars())
        connection.exec_driver_sql(f"SET LOCAL hnsw.ef_search = {_AHEAD:d}")
        # Walks on where most of what it meets may not be seen.
        connection.exec_driver_sql("SET LOCAL hnsw.iterative_scan = relaxed_order")
        return list(connection.execute(query.order_by(distance)).scalars())

    def _find_words(
        self,
        connection: sa.Connection,
        asked: HubQuestion,
        counts: Mapping[str, int],
        access: Access,
    ) -> list[int]:
        wanted = choose_terms(asked.terms, counts)
        if not wanted:
            return []
        quote, both, either, matches = _ON_SERVER if self._database.is_server else _IN_FILE
        terms = list(dict.fromkeys(term for some in wanted for term in some))
        most = max(counts[term] for term in terms) + 1
        # Whole numbers: sums of them are the same on every engine.
        worth = " + ".join(
            f"CASE WHEN {matches.format(f't{place}')} THEN"
            f" {round(10_000 * np.log1p(most / counts[term])):d} ELSE 0 END"
            for place, term in enumerate(terms)
        )
        given = {f"t{place}": quote(term) for place, term in enumerate(terms)}
        given["any"] = either.join(f"({both.join(map(quote, some))})" for some in wanted)
        query = (
            sa.select(DOCUMENTS.c.skill_id)
            .where(sa.text(matches.format("any")), allow(access))
            .order_by(sa.text(f"{worth} DESC"), DOCUMENTS.c.skill_id)
            .limit(WORDIEST)
        )
        return list(connection.execute(query, given).scalars())

    def _load(
        self, connection: sa.Connection, ids: Collection[int], vector: Floats | None, access: Access
    ) -> list[FoundSkill]:
        """Return candidates with the oldest of those like each of them that may be seen."""
        found = self._read(connection, ids, vector, access)
        kinds = {one.resembles for one in found if one.resembles}
        elders = self._find_eldest(connection, kinds, access) - {one.skill_id for one in found}
        return [*found, *self._read(connection, elders, vector, access)]

    def _find_eldest(
        self, connection: sa.Connection, kinds: Collection[int], access: Access
    ) -> set[int]:
        """Return the oldest of each kind: the first of all may be hidden from who asks."""
        if not kinds:
            return set()
        query = (
            sa.select(sa.func.min(SKILLS.c.id))
            .join(DOCUMENTS, DOCUMENTS.c.skill_id == SKILLS.c.id)
            .where(sa.or_(SKILLS.c.id.in_(kinds), SKILLS.c.resembles.in_(kinds)), allow(access))
            .group_by(sa.func.coalesce(SKILLS.c.resembles, SKILLS.c.id))
        )
        return set(connection.execute(query).scalars())

    def _read(
        self, connection: sa.Connection, ids: Collection[int], vector: Floats | None, access: Access
    ) -> list[FoundSkill]:
        if not ids:
            return []
        query = (
            sa.select(
                DOCUMENTS.c.skill_id,
                DOCUMENTS.c.words,
                SKILLS.c.resembles,
                _SENT if self._database.is_server else DOCUMENTS.c.vector,
            )
            .join(SKILLS, SKILLS.c.id == DOCUMENTS.c.skill_id)
            .where(DOCUMENTS.c.skill_id.in_(sorted(ids)), allow(access))
            .order_by(DOCUMENTS.c.skill_id)
        )
        kind = _SENT_HALF if self._database.is_server else _HALF
        return [
            FoundSkill(
                skill_id=skill_id,
                words=load_words(words),
                cosine=_cosine(raw, kind, vector),
                resembles=resembles,
            )
            for skill_id, words, resembles, raw in connection.execute(query)
        ]

    def _read_statistics(self, connection: sa.Connection) -> lexical.Collection:
        """Return how large the catalogue and its texts are; a little late, which changes little."""
        if self._known is not None and self._is_settled():
            return self._known[1]
        lengths = [DOCUMENTS.c[f"length{field}"] for field in range(FIELDS)]
        sums = [sa.func.coalesce(sa.func.sum(one), 0) for one in lengths]
        filled = [
            sa.func.coalesce(sa.func.sum(sa.case((one > 0, 1), else_=0)), 0) for one in lengths
        ]
        row = connection.execute(
            sa.select(sa.func.count(), *sums, *filled).select_from(DOCUMENTS)
        ).one()
        size, rest = int(row[0]), [float(value) for value in row[1:]]
        found = lexical.Collection(
            size=size,
            words_per_skill=sum(rest[:FIELDS]) / max(size, 1),
            typical=tuple(
                total / max(some, 1.0)
                for total, some in zip(rest[:FIELDS], rest[FIELDS:], strict=True)
            ),
            counts={},
        )
        # While it is small each skill counts, and counting is quick.
        self._counts = {}
        until = _STATISTICS_S if size > _MOST_MATCHED else 0.0
        self._known = (self._seconds() + until, found)
        return found

    def _count_terms(self, connection: sa.Connection, terms: Sequence[str]) -> dict[str, int]:
        kept = self._counts if self._is_settled() else {}
        unknown = [term for term in terms if term not in kept]
        if unknown:
            query = sa.select(TERMS).where(TERMS.c.term.in_(unknown))
            known = {row.term: int(row.documents) for row in connection.execute(query)}
            # Not that nobody has it: whoever publishes it now is found now.
            kept.update(known)
        return {term: kept.get(term, 0) for term in terms}

    def _is_settled(self) -> bool:
        """Return whether what was counted is still near enough."""
        return self._known is not None and self._seconds() < self._known[0]

    def _take_out(self, connection: sa.Connection, ids: Sequence[int]) -> Counter[str]:
        """Remove documents, and return how many had each word."""
        found: Counter[str] = Counter()
        query = sa.select(DOCUMENTS.c.skill_id, DOCUMENTS.c.words).where(
            DOCUMENTS.c.skill_id.in_(ids)
        )
        for row in connection.execute(query).all():
            found.update(list_terms(load_words(row.words)))
            if not self._database.is_server:
                connection.execute(
                    sa.text("DELETE FROM hub_fts WHERE rowid = :id"), {"id": row.skill_id}
                )
        connection.execute(sa.delete(DOCUMENTS).where(DOCUMENTS.c.skill_id.in_(ids)))
        return found

    def _count(self, connection: sa.Connection, after: Counter[str], before: Counter[str]) -> None:
        """Keep how many documents have each word; all writers go through them in one order."""
        changed = {term: after[term] - before[term] for term in sorted(after | before)}
        rows = [{"term": term, "documents": by} for term, by in changed.items() if by]
        if not rows:
            return
        added = self._database.insert(TERMS)
        again = {"documents": TERMS.c.documents + added.excluded.documents}
        connection.execute(added.on_conflict_do_update(index_elements=["term"], set_=again), rows)

    def _count_stamp(self, connection: sa.Connection) -> int:
        if self._database.is_server:
            return 0
        return int(connection.scalar(sa.select(sa.func.max(DOCUMENTS.c.stamp))) or 0) + 1

    def _row(self, one: NewDocument, stamp: int) -> dict[str, Any]:
        row = {
            "skill_id": one.skill_id,
            "space": one.space,
            "is_public": one.is_public,
            "version": one.version,
            "words": dump_words(one.words),
            "stamp": stamp,
            **{f"length{field}": size for field, size in enumerate(count_words(one.words))},
        }
        if not self._database.is_server:
            return {**row, "vector": None if one.vector is None else pack_vector(one.vector)}
        return {
            **row,
            "near": None if one.vector is None else write_vector(one.vector),
            "terms": [code_term(term) for term in list_terms(one.words)],
        }


_COLUMNS = (
    "skill_id", "space", "is_public", "version", "words", "stamp",
    *(f"length{field}" for field in range(FIELDS)),
)  # fmt: skip
_SERVER_INSERT = sa.text(
    # Names of ours alone; what strangers wrote is bound.
    f"INSERT INTO hub_documents ({', '.join(_COLUMNS)}, near, terms) VALUES"  # noqa: S608
    f" ({', '.join(f':{name}' for name in _COLUMNS)}, CAST(:near AS halfvec),"
    " array_to_tsvector(CAST(:terms AS text[])))"
)
_FTS_INSERT = sa.text("INSERT INTO hub_fts (rowid, terms) VALUES (:id, :terms)")


def _fts_row(one: NewDocument) -> dict[str, Any]:
    return {"id": one.skill_id, "terms": " ".join(map(code_term, list_terms(one.words)))}


class HalfVector(sa.types.UserDefinedType[str]):
    """The type of a vector of half precision, written as text."""

    cache_ok = True

    def __init__(self, width: int) -> None:
        self.width = width

    def get_col_spec(self, **_given: object) -> str:
        """Return its name in SQL."""
        return f"halfvec({self.width:d})"


def measure_distance(vector: Floats) -> sa.ColumnElement[float]:
    """Return how far a document is, as the index of vectors has it: the product, negated."""
    width = len(vector)
    there: sa.ColumnElement[Any] = sa.literal_column(cast_near(width))
    here = sa.cast(sa.literal(write_vector(vector), sa.Text), HalfVector(width))
    return there.op("<#>", return_type=sa.Float())(here)


def code_term(term: str) -> str:
    """Return a word as every index of full text takes it: letters and digits of ASCII."""
    if term.isascii() and term.isalnum():
        return term
    return "x" + term.encode("utf-8", "surrogatepass").hex()


def _quote_term(term: str) -> str:
    """Return a word as a query of SQLite takes it, which has words of its own."""
    return f'"{code_term(term)}"'


# How each engine writes a word, two words of which both are wanted or either is, and the condition.
_ON_SERVER = code_term, " & ", " | ", "terms @@ CAST(:{} AS tsquery)"
_IN_FILE = (
    _quote_term,
    " AND ",
    " OR ",
    "hub_documents.skill_id IN (SELECT rowid FROM hub_fts WHERE hub_fts MATCH :{})",
)


def choose_terms(terms: Iterable[str], counts: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Return the words to look for: the rarest alone, and two of them together where many have one.

    Half of a large catalogue has some word of a question; to look at all of them takes too long,
    and those with two of its words are the ones that can be best.
    """
    known = sorted(
        (term for term in terms if counts.get(term)), key=lambda term: (counts[term], term)
    )[:_MOST_PAIRED]
    alone, matched = [], 0
    for term in known:
        matched += counts[term]
        if matched > _MOST_MATCHED:
            break
        alone.append(term)
    pairs = [pair for pair in combinations(known, 2) if not set(pair) & set(alone)]
    # A question of one word that many have is answered all the same.
    return [*((term,) for term in alone), *pairs] or [(term,) for term in known]


def write_vector(vector: Floats) -> str:
    """Return a vector as PostgreSQL reads it: five digits are enough to give a half back."""
    return "[" + ",".join(f"{value:.5g}" for value in vector.astype(_HALF).tolist()) + "]"


def pack_vector(vector: Floats) -> bytes:
    """Return a vector as a file keeps it."""
    return vector.astype(_HALF).tobytes()


def _cosine(raw: bytes | None, kind: np.dtype[np.float16], vector: Floats | None) -> float:
    if raw is None or vector is None:
        return 0.0
    # Of what PostgreSQL sends the first bytes are no numbers of the vector.
    half = np.frombuffer(raw[-kind.itemsize * len(vector) :], kind)
    return float(half.astype(np.float32) @ vector)


class _Memory:
    """The vectors of a file, and who may see each."""

    def __init__(self) -> None:
        self._stamp = 0
        self._rows: dict[int, tuple[int, bool, bytes]] = {}
        self._ids = self._spaces = np.zeros(0, np.int64)
        self._public = np.zeros(0, np.bool_)
        self._vectors: Floats = np.zeros((0, 0), np.float32)

    def catch_up(self, connection: sa.Connection) -> None:
        """Read what was written since the last time."""
        newest, count = connection.execute(
            sa.select(sa.func.max(DOCUMENTS.c.stamp), sa.func.count(DOCUMENTS.c.vector))
        ).one()
        if (newest or 0) == self._stamp and count == len(self._rows):
            return
        query = sa.select(
            DOCUMENTS.c.skill_id, DOCUMENTS.c.space, DOCUMENTS.c.is_public, DOCUMENTS.c.vector
        ).where(DOCUMENTS.c.vector.is_not(None))
        fresh = connection.execute(query.where(DOCUMENTS.c.stamp > self._stamp)).all()
        self._rows.update({row[0]: (row[1], row[2], row[3]) for row in fresh})
        if len(self._rows) != count:
            # Something was taken out, which leaves no trace.
            self._rows = {row[0]: (row[1], row[2], row[3]) for row in connection.execute(query)}
        self._stamp = newest or 0
        self._arrange()

    def _arrange(self) -> None:
        self._ids = np.fromiter(self._rows, np.int64, len(self._rows))
        self._spaces = np.array([row[0] for row in self._rows.values()], np.int64)
        self._public = np.array([row[1] for row in self._rows.values()], np.bool_)
        raw = b"".join(row[2] for row in self._rows.values())
        found = np.frombuffer(raw, _HALF).astype(np.float32)
        self._vectors = found.reshape(len(self._rows), -1) if len(self._rows) else self._vectors[:0]

    def nearest(self, vector: Floats, access: Access, most: int) -> list[int]:
        """Return the nearest of those that may be seen."""
        seen = self._public | np.isin(self._spaces, list(access.spaces))
        places = np.arange(len(self._ids)) if access.is_everything else np.flatnonzero(seen)
        if not len(places):
            return []
        # As a server compares them: both as halves.
        half = vector.astype(_HALF).astype(np.float32)
        near = np.einsum("ij,j->i", self._vectors[places], half)
        best = places[np.lexsort((self._ids[places], -near))[:most]]
        return [int(one) for one in self._ids[best]]
