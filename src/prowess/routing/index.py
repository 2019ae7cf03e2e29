"""Everything about a set of skills that routing needs, made once and used for every message."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.routing import everyday
from prowess.routing.background import ERRANDS, EVERYDAY
from prowess.routing.dense import DenseIndex, texts_of
from prowess.routing.everyday import Everyday
from prowess.routing.hints import HintIndex
from prowess.routing.lexical import LexicalIndex, Terms
from prowess.routing.passages import Evidence
from prowess.skills.model import Skill

Floats: TypeAlias = NDArray[np.float32]

_MOST_HANDED_OVER = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SkillIndex:
    """The skills of one snapshot, ready to be matched; never changed, so threads may share it."""

    skills: tuple[Skill, ...]
    evidence: tuple[Evidence, ...]
    lexical: LexicalIndex
    hints: HintIndex
    # None without an encoder: then words and what is said outright are all there is.
    dense: DenseIndex | None
    everyday: Everyday | None
    english_only: bool

    @classmethod
    def build(
        cls,
        skills: Sequence[Skill],
        evidence: Sequence[Evidence],
        terms: Sequence[Terms],
        vectors: Mapping[str, Floats] | None,
        *,
        english_only: bool = True,
    ) -> Self:
        """Index `skills`; `vectors` has one for every text that `needed_texts` names."""
        dense, line = None, None
        if vectors is not None:
            strangers = np.array([vectors[text] for text in (*ERRANDS, *EVERYDAY)], np.float32)
            dense = DenseIndex.build(evidence, vectors, strangers)
            line = Everyday.between(vectors, dense.whole)
        return cls(
            skills=tuple(skills),
            # The bodies are in the lexical index by now.
            evidence=tuple(replace(one, body="") for one in evidence),
            lexical=LexicalIndex.build(terms),
            hints=HintIndex(skills),
            dense=dense,
            everyday=line,
            english_only=english_only,
        )


def needed_texts(evidence: Sequence[Evidence]) -> Iterator[str]:
    """Yield every text whose vector is needed, some of them more than once."""
    yield from everyday.texts()
    for one in evidence:
        yield from texts_of(one)


def with_handoffs(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Give each skill the requests that others hand to it: "for slides use deck-maker"."""
    places = {one.name.casefold(): index for index, one in enumerate(evidence)}
    handed: dict[int, list[str]] = {}
    for index, one in enumerate(evidence):
        for handoff in one.handoffs:
            target = places.get(handoff.target.casefold())
            if target is not None and target != index:
                handed.setdefault(target, []).append(handoff.request)
    result = list(evidence)
    for index, requests in handed.items():
        more = tuple(dict.fromkeys(requests))[:_MOST_HANDED_OVER]
        one = result[index]
        result[index] = replace(one, phrases=tuple(dict.fromkeys((*one.phrases, *more))))
    return result
